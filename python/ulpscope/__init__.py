"""ulpscope in Python: rounding, matrix units and whole ONNX models in exact low-precision arithmetic.

    >>> import numpy as np, ulpscope
    >>> ulpscope.round([1.0, 1.0004], "fp16").tolist()
    [1.0, 1.0]

doc/python.md has the rest. The functions are the library's (libulpscope); errors are exceptions with its texts.
"""

from . import records
from ._errors import CancelledError, Error, InputError, LimitError, MissingPackageError, NotFoundError, OutOfMemoryError, UnsupportedError, UsageError
from ._library import decode as _decode, lib as _lib
from ._loaded import Value
from ._lowering import check, fix
from ._model import Model
from ._numbers import Arithmetic, Format, Unit, decode_bits, encode, matmul, mma, round, units
from ._results import Audit, Comparison, Doctor, Fix, LintResult, Overflow, Proof, Scales, Search, Tolerance

__version__: str = _decode(_lib.ulp_version())

__all__ = [
    "Arithmetic",
    "Audit",
    "CancelledError",
    "Comparison",
    "Error",
    "Format",
    "InputError",
    "LimitError",
    "Doctor",
    "Fix",
    "LintResult",
    "MissingPackageError",
    "Model",
    "NotFoundError",
    "OutOfMemoryError",
    "Overflow",
    "Proof",
    "Scales",
    "Search",
    "Tolerance",
    "Unit",
    "UnsupportedError",
    "UsageError",
    "Value",
    "check",
    "decode_bits",
    "encode",
    "fix",
    "matmul",
    "mma",
    "records",
    "round",
    "units",
]
