"""Formats, arithmetics, and arrays without a model."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Union

import numpy as np

from . import _declarations as d
from ._arrays import BY_DTYPE, TYPES, Array, TensorSet, as_array, new_array, take_array, to_tensor, wrap
from ._errors import UsageError
from ._library import call, decode, lib

MODES = {
    "rne": d.ULP_ROUND_NEAREST_EVEN,
    "rna": d.ULP_ROUND_NEAREST_AWAY,
    "rz": d.ULP_ROUND_TOWARD_ZERO,
    "ru": d.ULP_ROUND_UP,
    "rd": d.ULP_ROUND_DOWN,
    "sr": d.ULP_ROUND_STOCHASTIC,
}


class Format:
    """A binary floating-point format by name: fp64, fp32, fp16, bf16, tf32, fp8-e4m3, ..., eXmY, mpfr:P.

    subnormals=False flushes results below the smallest normal number; saturate=True makes an overflow the largest number.

    >>> half = Format("fp16")
    >>> half.precision, half.emin, half.max_finite
    (11, -14, 65504.0)
    >>> half.ulp(1.0) == 2.0**-10
    True
    """

    def __init__(self, name: str, *, subnormals: bool | None = None, saturate: bool = False) -> None:
        self.struct = d.ulp_format()
        call("ulp_format_find", name.encode(), ctypes.byref(self.struct))
        if subnormals is not None:
            self.struct.subnormals = subnormals
        if saturate:
            self.struct.overflow = d.ULP_OVERFLOW_SATURATE

    @property
    def name(self) -> str:
        return decode(self.struct.name)

    @property
    def precision(self) -> int:
        """Significand bits with the hidden one."""
        return int(self.struct.precision)

    @property
    def emin(self) -> int:
        return int(self.struct.emin)

    @property
    def emax(self) -> int:
        return int(self.struct.emax)

    @property
    def max_finite(self) -> float:
        return float(self.struct.max_finite)

    @property
    def bits(self) -> int:
        """Of one encoded value; 0: the format has no encoding."""
        return int(self.struct.storage_bits)

    def ulp(self, x: float) -> float:
        """The distance between neighbouring values at x."""
        return float(lib.ulp_format_ulp(ctypes.byref(self.struct), x))

    def __repr__(self) -> str:
        return f"Format({self.name!r})"


class Arithmetic:
    """How every operator computes, by name: "fp16@h200", "tf32,order=pairwise", "mpfr:128" (`ulpscope list` explains them).

    >>> print(Arithmetic("fp16@h200").unit)
    h200.mma.f16.f32
    """

    def __init__(self, name: str) -> None:
        self.struct = d.ulp_arithmetic()
        call("ulp_arithmetic_find", name.encode(), ctypes.byref(self.struct))

    @property
    def name(self) -> str:
        return decode(self.struct.name)

    @property
    def storage(self) -> str:
        """The format of tensors."""
        return decode(self.struct.storage.name)

    @property
    def unit(self) -> str | None:
        """The matrix unit that products run on; None: scalar chains."""
        info = d.ulp_unit_info()
        return decode(info.name) if lib.ulp_arithmetic_unit(ctypes.byref(self.struct), ctypes.byref(info)) else None

    def change(self, part: str) -> Arithmetic:
        """With another part: "split-k=4", "@a100"."""
        changed = Arithmetic.__new__(Arithmetic)
        changed.struct = d.ulp_arithmetic()
        call("ulp_arithmetic_change", ctypes.byref(changed.struct), ctypes.byref(self.struct), part.encode())
        return changed

    def describe(self) -> str:
        """In English."""
        size = lib.ulp_arithmetic_describe(ctypes.byref(self.struct), None, 0) + 1
        buffer = ctypes.create_string_buffer(size)
        lib.ulp_arithmetic_describe(ctypes.byref(self.struct), buffer, size)
        return decode(buffer.value)

    def __repr__(self) -> str:
        return f"Arithmetic({self.name!r})"


FormatName = Union[str, Format]
ArithmeticName = Union[str, Arithmetic]


# shared by all calls that name it, which read it alone
_find_named = lru_cache(maxsize=64)(Format)


def _named(kind: str, name: Any) -> str:
    if not isinstance(name, str):
        raise UsageError(f"{kind} {name!r}: expected a name")
    return name


def find_format(name: FormatName) -> Format:
    return name if isinstance(name, Format) else _find_named(_named("format", name))


def find_arithmetic(name: ArithmeticName) -> Arithmetic:
    return name if isinstance(name, Arithmetic) else Arithmetic(_named("arithmetic", name))


def find_mode(mode: str) -> int:
    if mode not in MODES:
        raise UsageError(f"mode {mode!r}: expected one of {', '.join(MODES)}")
    return MODES[mode]


def _carrier(format_: Format, given: Array) -> str:
    wide = given.dtype == np.float64 or format_.struct.carrier != d.ULP_CARRIER_FLOAT
    return "float64" if wide or given.dtype.kind in "iu" else "float32"


def _result(array: Array) -> Any:
    """A tensor over memory that the library writes."""
    return wrap(BY_DTYPE[array.dtype][0], array, written=True)


def round(  # noqa: A001  the name that others have for it
    x: Any, format: FormatName, mode: str = "rne", *, seed: int = 0, out: Array | None = None, threads: int = 0
) -> Array:
    """Round every element of x to the format, once and correctly, from its exact value.

    mode: "rne" (nearest, ties to even), "rna" (ties away), "rz", "ru", "rd", or "sr" (stochastic: up with a probability equal to
    the fraction cut off; element i draws number i of the stream `seed`). The result has x's shape; it is float64 for
    float64 and integers and where the format needs it, else float32. out: an array for it, which may be x itself. Without it a
    large result takes the memory of the last one that nobody uses any more (of up to 256 MiB), as page faults take longer than rounding.

    >>> round([1.0, 1.0 + 2**-11, 1e6], "fp16").tolist()
    [1.0, 1.0, inf]
    >>> round(0.3, "fp8-e4m3", "ru").item()
    0.3125
    >>> sorted(set(round(np.full(1000, 1.25), "e5m1", "sr", seed=3).tolist()))
    [1.0, 1.5]
    """
    format_ = find_format(format)
    tensor, kept = to_tensor(x)
    if out is None:
        out = new_array(kept.shape, _carrier(format_, kept))
    elif not isinstance(out, np.ndarray) or out.dtype not in (np.float32, np.float64) or out.shape != kept.shape:
        raise UsageError("out: expected an array of float32 or float64 with the shape of x")
    elif np.may_share_memory(kept, out) and (kept.ctypes.data != out.ctypes.data or kept.dtype != out.dtype):
        raise UsageError("out: it overlaps x and is not x itself")
    wrapped = _result(out)
    call("ulp_array_round", *map(ctypes.byref, (wrapped, tensor, format_.struct)), find_mode(mode), seed, threads)
    return out


def encode(x: Any, format: FormatName, *, threads: int = 0) -> Array:
    """The bit patterns of x in the format (rounded to nearest first), as the smallest unsigned integers that hold them.

    >>> [hex(b) for b in encode([1.0, -448.0, float("nan")], "fp8-e4m3")]
    ['0x38', '0xfe', '0x7f']
    """
    format_ = find_format(format)
    tensor, kept = to_tensor(x if hasattr(x, "dtype") else as_array(x, np.float64))
    if kept.dtype.kind in "iu":
        tensor, kept = to_tensor(kept.astype(np.float64))
    bits = next((b for b in (8, 16, 32) if b >= format_.bits), 32)
    patterns = new_array(kept.shape, f"uint{bits}")
    wrapped = _result(patterns)
    call("ulp_array_encode", *map(ctypes.byref, (wrapped, tensor, format_.struct)), threads)
    return patterns


def _unsigned(patterns: Array) -> Array:
    """PyTorch has few unsigned types: x.view(torch.int16) are the patterns of BF16."""
    return patterns.view(f"{patterns.dtype.byteorder}u{patterns.itemsize}") if patterns.dtype.kind == "i" else patterns


def decode_bits(patterns: Any, format: FormatName, *, threads: int = 0) -> Array:
    """The values of bit patterns: integers, which are taken for unsigned ones.

    >>> decode_bits(np.array([0x38, 0xFE], np.uint8), "fp8-e4m3").tolist()
    [1.0, -448.0]
    """
    format_ = find_format(format)
    tensor, kept = to_tensor(_unsigned(as_array(patterns)))
    values = new_array(kept.shape, "float32" if format_.struct.carrier == d.ULP_CARRIER_FLOAT else "float64")
    wrapped = _result(values)
    call("ulp_array_decode", *map(ctypes.byref, (wrapped, tensor, format_.struct)), threads)
    return values


def _common(a: Array, b: Array) -> Any:
    """A dtype for both that MatMul has: FP32 where numpy knows none (ml_dtypes' beside each other) and of FP8, INT32 of short integers,
    which hold all of their values."""
    try:
        common = np.result_type(a, b)
    except TypeError:
        return np.dtype(np.float32)
    if common.kind in "iu" and common.itemsize < 4:
        return np.dtype(np.int32)
    return np.dtype(np.float32) if common.name.startswith(("float8", "float4")) else common


def matmul(a: Any, b: Any, arithmetic: ArithmeticName, *, threads: int = 0) -> Array:
    """a b with the shapes of numpy.matmul, as a MatMul node computes it in the arithmetic.

    >>> a, b = np.ones((1, 4096), np.float32), np.ones((4096, 1), np.float32)
    >>> matmul(a, b, "fp16@h200").item(), matmul(a, b, "fp16-strict").item()
    (4096.0, 2048.0)
    """
    arithmetic_ = find_arithmetic(arithmetic)
    given = [as_array(a), as_array(b)]
    common = _common(*given)
    (left, kept_left), (right, kept_right) = (to_tensor(array.astype(common, copy=False)) for array in given)
    out = d.ulp_tensor()
    call("ulp_array_matmul", *map(ctypes.byref, (out, arithmetic_.struct, left, right)), threads)
    del kept_left, kept_right
    return take_array(out)


@dataclass(frozen=True)
class Unit:
    """A GPU's matrix unit."""

    name: str
    block: int  #: products added at once
    fraction_bits: int  #: bits kept below the largest exponent of a block
    operand_bits: int
    accumulator_bits: int
    scale_block: int  #: products that share a pair of scales; 0: no scales
    source: str  #: of these parameters


def units() -> list[Unit]:
    """The matrix units that mma computes on."""
    found: list[Unit] = []
    info = d.ulp_unit_info()
    while lib.ulp_unit_info(len(found), ctypes.byref(info)):
        numbers = (info.block, info.fraction_bits, info.operand_bits, info.accumulator_bits, info.scale_block)
        found.append(Unit(decode(info.name), *numbers, decode(info.source)))
    return found


def _patterns(array: Any, bits: int) -> Array:
    """Raw patterns: integers as they are, floats of that width as their bits."""
    given = _unsigned(as_array(array))
    if given.dtype.kind not in "fV" or given.dtype.name not in TYPES or given.dtype.itemsize * 8 != bits:
        return given
    return np.require(given, given.dtype.newbyteorder("="), ["C"]).view(f"uint{bits}")


def mma(
    unit: str, a: Any, b: Any, c: Any = None, *, scale_a: Any = None, scale_b: Any = None, threads: int = 0
) -> Array:
    """d[t] = c[t] + a[t] b[t]^T on a matrix unit, bit for bit: a [T,M,K] or [M,K], b [T,N,K] or [N,K], c [T,M,N] or [M,N].

    Arrays are raw patterns (integers), or floats as wide as the unit's formats (numpy.float16, ml_dtypes.bfloat16,
    float32 for TF32 and accumulators). The result has the patterns of the accumulator; `.view(np.float32)` makes numbers of
    them where that is FP32.

    >>> a = np.ones((16, 16), np.float16)
    >>> mma("h200.mma.f16.f32", a, a).view(np.float32)[0, :2].tolist()
    [16.0, 16.0]
    """
    info = next((u for u in units() if u.name == unit), None)
    widths = (info.operand_bits, info.accumulator_bits) if info else (16, 32)
    given = {"a": (a, widths[0]), "b": (b, widths[0]), "c": (c, widths[1]), "scale_a": (scale_a, 8), "scale_b": (scale_b, 8)}
    arrays = {name: _patterns(array, bits) for name, (array, bits) in given.items() if array is not None}
    flat = arrays["a"].ndim == 2
    if flat:
        arrays = {name: array[None] for name, array in arrays.items()}
    tensors, out = TensorSet(arrays), d.ulp_tensor()
    call("ulp_unit_multiply", unit.encode(), ctypes.byref(tensors.value), threads, None, ctypes.byref(out))
    result = take_array(out)
    return result[0] if flat else result
