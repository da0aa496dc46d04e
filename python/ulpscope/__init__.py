"""ulpscope in Python: rounding, matrix units and whole ONNX models in exact low-precision arithmetic.

    >>> import numpy as np, ulpscope
    >>> ulpscope.round([1.0, 1.0004], "fp16").tolist()
    [1.0, 1.0]

doc/python.md has the rest. The functions are the library's (libulpscope); errors are exceptions with its texts.
"""

from ._audit import Audit, Lane, Metrics, Node, Output, QuickCheck, Time, Timings
from ._errors import CancelledError, Error, InputError, LimitError, OutOfMemoryError, UnsupportedError, UsageError
from ._fit import Candidate, Fit, Probe, fit
from ._library import decode as _decode, lib as _lib
from ._model import Model, Value
from ._numbers import Arithmetic, Format, Unit, decode_bits, encode, matmul, mma, round, units
from ._results import Comparison, Overflow, LintResult, Proof, Tolerance
from ._search import Search, SearchLayer, SearchNode, SearchPoint
from ._study import Study, StudyFit, StudyPoint, StudySeries, StudySetting, StudyTrials

__version__: str = _decode(_lib.ulp_version())

__all__ = [
    "Arithmetic",
    "Audit",
    "CancelledError",
    "Candidate",
    "Comparison",
    "Error",
    "Fit",
    "Overflow",
    "Format",
    "InputError",
    "Lane",
    "LimitError",
    "LintResult",
    "Metrics",
    "Model",
    "Node",
    "OutOfMemoryError",
    "Output",
    "Probe",
    "Proof",
    "QuickCheck",
    "Search",
    "SearchLayer",
    "SearchNode",
    "SearchPoint",
    "Study",
    "StudyFit",
    "StudyPoint",
    "StudySeries",
    "StudySetting",
    "StudyTrials",
    "Time",
    "Timings",
    "Tolerance",
    "Unit",
    "UnsupportedError",
    "UsageError",
    "Value",
    "decode_bits",
    "encode",
    "fit",
    "matmul",
    "mma",
    "round",
    "units",
]
