"""numpy arrays as tensors of the library, and back, without copying where memory allows it."""

from __future__ import annotations

import ctypes
import math
import weakref
from typing import Any, Mapping

import numpy as np
import numpy.typing as npt

from . import _declarations as d
from ._errors import InputError, UsageError
from ._library import call, decode, lib

Array = npt.NDArray[Any]

# numpy's dtype (ml_dtypes' by name) -> ONNX's type, and the dtype in which its elements lie in memory here
TYPES: dict[str, tuple[int, str]] = {
    "float32": (d.ULP_TYPE_FLOAT, "float32"),
    "float64": (d.ULP_TYPE_DOUBLE, "float64"),
    "float16": (d.ULP_TYPE_FLOAT16, "float32"),
    "bfloat16": (d.ULP_TYPE_BFLOAT16, "float32"),
    "float8_e4m3fn": (d.ULP_TYPE_FLOAT8E4M3FN, "float32"),
    "float8_e4m3fnuz": (d.ULP_TYPE_FLOAT8E4M3FNUZ, "float32"),
    "float8_e5m2": (d.ULP_TYPE_FLOAT8E5M2, "float32"),
    "float8_e5m2fnuz": (d.ULP_TYPE_FLOAT8E5M2FNUZ, "float32"),
    "float8_e8m0fnu": (d.ULP_TYPE_FLOAT8E8M0, "float32"),
    "float4_e2m1fn": (d.ULP_TYPE_FLOAT4E2M1, "float32"),
    "bool": (d.ULP_TYPE_BOOL, "uint8"),
    "int4": (d.ULP_TYPE_INT4, "int8"),
    "uint4": (d.ULP_TYPE_UINT4, "uint8"),
    "int2": (d.ULP_TYPE_INT2, "int8"),
    "uint2": (d.ULP_TYPE_UINT2, "uint8"),
    **{
        f"{sign}int{bits}": (getattr(d, f"ULP_TYPE_{sign.upper()}INT{bits}"), f"{sign}int{bits}")
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    },
}
# by dtype, whose name takes microseconds to make
BY_DTYPE: dict[Any, tuple[int, str]] = {np.dtype(name): row for name, row in TYPES.items() if hasattr(np, name + "_" if name == "bool" else name)}
_DTYPES = {type_: name for name, (type_, _) in TYPES.items()}

# how an element lies in memory -> numpy's dtype
_ELEMENTS = {
    d.ULP_ELEMENT_F32: "float32",
    d.ULP_ELEMENT_F64: "float64",
    d.ULP_ELEMENT_I8: "int8",
    d.ULP_ELEMENT_U8: "uint8",
    d.ULP_ELEMENT_I16: "int16",
    d.ULP_ELEMENT_U16: "uint16",
    d.ULP_ELEMENT_I32: "int32",
    d.ULP_ELEMENT_U32: "uint32",
    d.ULP_ELEMENT_I64: "int64",
    d.ULP_ELEMENT_U64: "uint64",
    d.ULP_ELEMENT_BOOL: "bool",
}


def type_name(type_: int) -> str:
    return decode(lib.ulp_type_name(type_))


def dtype_of(type_: int) -> np.dtype[Any] | None:
    """numpy's own dtype for an ONNX type; None: it has none (BFLOAT16, FP8, ...)."""
    name = _DTYPES.get(type_)
    return np.dtype(name) if name is not None and hasattr(np, name + "_" if name == "bool" else name) else None


def as_array(x: Any, dtype: Any = None) -> Array:
    """What numpy makes of it; of a tensor of PyTorch, on any device, its values."""
    if type(x).__module__.partition(".")[0] == "torch":
        x = x.detach().cpu()
        if str(x.dtype) in _TORCH:
            x = x.float()  # which holds every value of these types
    try:
        return np.asarray(x, dtype)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(f"numpy makes no array of a {type(x).__name__}: {error}") from None


# PyTorch's dtypes that numpy has not
_TORCH = {f"torch.{name}": name for name in ("bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu")}


def to_tensor(array: Any) -> tuple[Any, Array]:
    """A tensor over the array's memory, and the array that must outlive it."""
    given = as_array(array)
    row = BY_DTYPE.get(given.dtype) if given is array else None
    if row is None:
        row = TYPES.get(_TORCH.get(str(getattr(array, "dtype", "")), given.dtype.name))
    if row is None:
        raise InputError(f"arrays of {given.dtype} are not numbers that ONNX has a type for")
    type_, memory = row
    kept = given if given.dtype == memory and given.flags.carray else np.require(given, memory, ["C", "A"])
    return wrap(type_, kept), kept


def _check_memory(array: Array, written: bool) -> None:
    """C takes elements as they lie, and writes wherever it is told to."""
    if array.flags.carray and array.dtype.isnative:
        return
    faults = {
        "it has the other byte order": not array.dtype.isnative,
        "it is not contiguous": not array.flags.c_contiguous,
        "its elements are not aligned": not array.flags.aligned,
        "it is read-only": written and not array.flags.writeable,
    }
    if any(faults.values()):
        raise UsageError(f"an array for the library: {next(fault for fault, found in faults.items() if found)}")


# shapes by their rank, of which numpy has 64 at most
_DIMS = [ctypes.c_int64 * max(rank, 1) for rank in range(65)]


def _address(memory: Any) -> int:
    """Of its first element, by the buffer that it is (numpy makes an object for .ctypes, in four times as long)."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(memory))
    except (TypeError, ValueError):  # read-only, empty
        return int(memory.ctypes.data)


def wrap(type_: int, memory: Array, *, written: bool = False) -> Any:
    """A tensor over the array's memory; written: by the library."""
    _check_memory(memory, written)
    tensor = d.ulp_tensor()
    dims = _DIMS[memory.ndim](*memory.shape)
    call("ulp_tensor_wrap", ctypes.byref(tensor), type_, memory.ndim, dims, _address(memory))
    return tensor


_FRESH_BYTES = 1 << 20  # smaller arrays are not worth keeping
_KEPT_BYTES = 256 << 20
_kept: list[Array] = []  # memory of a result that nobody uses any more: pages that need not be made and cleared again


class _Memory:
    """Memory of a result, kept when the last array on it goes."""

    def __init__(self, raw: Array, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._raw = raw
        self.__array_interface__ = {**raw.__array_interface__, "shape": shape, "typestr": dtype.str, "descr": [("", dtype.str)]}

    def __del__(self, kept: list[Array] = _kept) -> None:
        kept[:] = [self._raw] if self._raw.nbytes <= _KEPT_BYTES else kept


def new_array(shape: tuple[int, ...], dtype: str) -> Array:
    """As numpy.empty; the memory of the last large result (of up to 256 MiB) is used again once it is free."""
    type_ = np.dtype(dtype)
    size = math.prod(shape) * type_.itemsize
    if size < _FRESH_BYTES:
        return np.empty(shape, type_)
    try:
        raw = _kept.pop()  # which only one thread gets
    except IndexError:
        raw = np.empty(size, np.uint8)
    if not size <= raw.nbytes <= 2 * size:
        raw = np.empty(size, np.uint8)
    return np.asarray(_Memory(raw, shape, type_))


class TensorSet:
    """A set of the library's over arrays of the caller's, which it keeps alive."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.value = d.ulp_tensor_set()
        self._kept: list[Any] = []
        for name, array in arrays.items():
            tensor, kept = to_tensor(array)
            self._kept.append(kept)
            call("ulp_tensor_set_add", ctypes.byref(self.value), name.encode(), ctypes.byref(tensor))

    def keep(self, owner: Any) -> None:
        """Alive, as long as the set is."""
        self._kept.append(owner)

    @property
    def shapes(self) -> tuple[tuple[bytes, tuple[int, ...]], ...]:
        items = [self.value.items[i] for i in range(self.value.count)]
        return tuple((item.name, tuple(item.tensor.dims[a] for a in range(item.tensor.rank))) for item in items)

    def __del__(self) -> None:
        lib.ulp_tensor_set_free(ctypes.byref(self.value))


def _free_tensor(tensor: Any) -> None:
    lib.ulp_tensor_free(ctypes.byref(tensor))


def _narrow(tensor: Any, array: Array) -> Array:
    """FLOAT16 as numpy's float16 where that holds every value."""
    if tensor.type == d.ULP_TYPE_FLOAT16 and array.dtype == np.float32:
        with np.errstate(over="ignore"):
            half = array.astype(np.float16)
        if np.array_equal(half.astype(np.float32), array, equal_nan=True):
            return half
    return array


def _view(tensor: Any) -> tuple[Any, Array]:
    """The tensor's memory as an array, and what numpy keeps for its base."""
    shape = tuple(tensor.dims[i] for i in range(tensor.rank))
    dtype = np.dtype(_ELEMENTS[tensor.element])
    buffer = (ctypes.c_char * (tensor.count * tensor.element_bytes)).from_address(tensor.data or 0)
    return buffer, np.frombuffer(buffer, dtype=dtype).reshape(shape)


def _nearest_doubles(tensor: Any) -> Array:
    """Values of the MPFR reference."""
    out = np.empty(tuple(tensor.dims[i] for i in range(tensor.rank)))
    fp64 = d.ulp_format()
    call("ulp_format_find", b"fp64", ctypes.byref(fp64))
    wrapped = wrap(d.ULP_TYPE_DOUBLE, out, written=True)
    call("ulp_array_round", *map(ctypes.byref, (wrapped, tensor, fp64)), d.ULP_ROUND_NEAREST_EVEN, 0, 0)
    return out


def copy_array(tensor: Any) -> Array:
    """The values of a tensor that is someone else's."""
    if tensor.element in (d.ULP_ELEMENT_PAIR, d.ULP_ELEMENT_WIDE):
        return _nearest_doubles(tensor)
    if tensor.count == 0:
        return np.empty(tuple(tensor.dims[i] for i in range(tensor.rank)), _ELEMENTS[tensor.element])
    return _narrow(tensor, _view(tensor)[1].copy())


def take_array(tensor: Any) -> Array:
    """The values of a tensor whose memory the array takes over."""
    if not tensor.owned or tensor.count == 0 or tensor.element in (d.ULP_ELEMENT_PAIR, d.ULP_ELEMENT_WIDE):
        array = copy_array(tensor)
        _free_tensor(tensor)
        return array
    mine = d.ulp_tensor()
    ctypes.memmove(ctypes.byref(mine), ctypes.byref(tensor), ctypes.sizeof(mine))
    tensor.owned = False
    buffer, array = _view(mine)
    weakref.finalize(buffer, _free_tensor, mine)
    return _narrow(mine, array)


def take_set(tensors: Any) -> dict[str, Array]:
    """The arrays of a set that the library made; the set is freed."""
    arrays = {}
    for i in range(tensors.count):
        item = tensors.items[i]
        arrays[decode(item.name)] = take_array(item.tensor)
    lib.ulp_tensor_set_free(ctypes.byref(tensors))
    return arrays
