"""An allocation of bits as dataclasses. Fields have the names and meanings of bits.h; NaN means "not defined"."""

from __future__ import annotations

import os
from ctypes import byref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._errors import UsageError
from ._library import Owner, call, decode, lib, text
from ._shared import fill, flat, frame_of, option, table

if TYPE_CHECKING:
    import pandas


def find_weight(name: str) -> int:
    """Its value in enum ulp_bits_weight."""
    names: list[str] = []
    while (known := lib.ulp_bits_weight_name(len(names))) is not None:
        names.append(decode(known))
    if name not in names:
        raise UsageError(f"weigh={name!r}: expected one of {', '.join(names)}")
    return names.index(name)


@dataclass(frozen=True)
class LayerBits:
    """What one layer gets: a node with those behind it that only hand its values on."""

    index: int
    name: str
    op: str
    node_count: int
    format: str
    arithmetic: str
    mantissa: int
    exponent: int
    bits: int
    exponent_needed: int
    weight: float
    largest: float
    smallest: float
    share: float
    predicted: float  #: the error in units of what is allowed when it alone has fewer bits: by the model, and emulated
    without: float
    fewer: str | None  #: that format


@dataclass(frozen=True)
class BitsPoint:
    """The fewest bits emulated for an error `allowed` times the tolerance."""

    allowed: float
    ratio: float
    bits: float
    mantissa: float
    uniform_bits: float


@dataclass(frozen=True)
class BitsResult:
    """The fewest bits for each layer with which the outputs meet the tolerances."""

    met: bool
    minimal: bool
    timed_out: bool
    full: float  #: ratios of error and tolerance: in the widest formats, with the allocation, and by the model
    ratio: float
    predicted: float
    bits: float  #: means over layers, weighted
    mantissa: float
    exponent: float
    relaxed: float
    total_bits: float
    total_weight: float
    uniform: str | None  #: the smallest format that does for all layers
    uniforms: list[tuple[str, float, float]]  #: format, bits, ratio
    layers: list[LayerBits]
    frontier: list[BitsPoint]
    validated_count: int
    validated_met: int
    runs: int
    seconds: float
    _owner: Owner = field(repr=False, compare=False)

    @classmethod
    def of(cls, owner: Owner) -> BitsResult:
        struct = owner.value
        uniforms = [struct.uniforms[i] for i in range(struct.uniform_count)]
        names = [decode(struct.formats[i].name) for i in range(struct.format_count)]
        return fill(
            cls,
            struct,
            uniform=names[uniforms[struct.uniform].format] if struct.uniform >= 0 else None,
            uniforms=[(names[u.format], u.bits, u.ratio) for u in uniforms],
            layers=[_layer(struct, struct.layers[i], names) for i in range(struct.layer_count)],
            frontier=[fill(BitsPoint, struct.frontier[i]) for i in range(struct.point_count)],
            _owner=owner,
        )

    def summary(self) -> str:
        return text("ulp_bits_text", byref(self._owner.value))

    __str__ = summary

    def write(self, folder: str | os.PathLike[str]) -> None:
        """bits.json, a plan for `keep` and --plan, and frontier.csv (doc/bits.md)."""
        call("ulp_bits_write", byref(self._owner.value), option(folder))

    def frame(self) -> pandas.DataFrame:
        return frame_of(flat(layer) for layer in self.layers)

    def _repr_html_(self) -> str:
        rows = ((n.name, n.op, n.format, n.mantissa, n.exponent, n.share, n.without) for n in self.layers)
        head = ["node", "operator", "format", "mantissa", "exponent", "share", "error with fewer"]
        state = f"met with {self.bits:.4g} bits on average" if self.met else "not met"
        return f"<p>{state}</p>{table(head, rows)}"


def _layer(struct: Any, layer: Any, names: list[str]) -> LayerBits:
    chosen = struct.formats[layer.format]
    return fill(
        LayerBits,
        layer,
        format=names[layer.format],
        arithmetic=decode(chosen.arithmetic),
        mantissa=layer.bits - 1 - chosen.exponent,
        exponent=chosen.exponent,
        fewer=names[layer.fewer] if layer.fewer >= 0 else None,
    )
