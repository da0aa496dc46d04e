"""What a search found, of a plan or of bits, as dataclasses. Fields have the names and meanings of search.h; NaN means "not defined"."""

from __future__ import annotations

import os
from ctypes import byref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ._library import Owner, call, decode, text
from ._shared import fill, flat, frame_of, option, table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class SearchNode:
    index: int
    name: str
    op: str
    format: str
    always: bool
    never: bool
    without: float  #: the ratio when its layer alone gets a cheaper format


@dataclass(frozen=True)
class SearchLayer:
    """What one layer gets: a node, or a node with those behind it that only hand its values on."""

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
    cost: float
    largest: float
    smallest: float
    share: float
    predicted: float  #: the error in units of what is allowed when it alone has a cheaper format: by the model, and emulated
    without: float
    fewer: str | None  #: that format


@dataclass(frozen=True)
class SearchPoint:
    """The cheapest emulated for an error `allowed` times the tolerance."""

    allowed: float
    ratio: float
    cost: float
    bits: float
    mantissa: float
    uniform_bits: float


@dataclass(frozen=True)
class Search:
    """The cheapest allocation that was found with which the outputs meet the tolerances."""

    by_node: bool  #: a plan
    met: bool
    minimal: bool
    timed_out: bool
    before: float  #: ratios of error and tolerance: in the narrowest format, in the widest, with the allocation, and by the model
    full: float
    ratio: float
    predicted: float
    bits: float  #: means over layers, weighted
    mantissa: float
    exponent: float
    relaxed: float
    total_cost: float
    total_weight: float
    uniform: str | None  #: the smallest format that does for all layers
    uniforms: list[tuple[str, float, float]]  #: format, bits, ratio
    layers: list[SearchLayer]
    kept: list[SearchNode]  #: nodes that are not in the narrowest format
    node_count: int
    frontier: list[SearchPoint]
    validated_count: int
    validated_met: int
    runs: int
    seconds: float
    _owner: Owner = field(repr=False, compare=False)

    @classmethod
    def of(cls, owner: Owner) -> Search:
        struct = owner.value
        uniforms = [struct.uniforms[i] for i in range(struct.uniform_count)]
        names = [decode(struct.formats[i].name) for i in range(struct.format_count)]
        kept = [struct.kept[i] for i in range(struct.kept_count)]
        return fill(
            cls,
            struct,
            uniform=names[uniforms[struct.uniform].format] if struct.uniform >= 0 else None,
            uniforms=[(names[u.format], u.bits, u.ratio) for u in uniforms],
            layers=[_layer(struct, struct.layers[i], names) for i in range(struct.layer_count)],
            kept=[fill(SearchNode, node, format=names[node.format]) for node in kept],
            frontier=[fill(SearchPoint, struct.frontier[i]) for i in range(struct.point_count)],
            _owner=owner,
        )

    def summary(self) -> str:
        return text("ulp_search_text", byref(self._owner.value))

    __str__ = summary

    def write(self, folder: str | os.PathLike[str]) -> None:
        """plan.json or bits.json, a plan for `keep` and --plan, and the files for runtimes (doc/plan.md)."""
        call("ulp_search_write", byref(self._owner.value), option(folder))

    def frame(self) -> pandas.DataFrame:
        """A row for each kept node of a plan, else for each layer."""
        return frame_of(flat(row) for row in (self.kept if self.by_node else self.layers))

    def _repr_html_(self) -> str:
        if self.by_node:
            shown = table(["node", "operator", "ratio without it"], ((n.name, n.op, n.without) for n in self.kept))
            return f"<p>{'met' if self.met else 'not met'}, {len(self.kept)} of {self.node_count} nodes kept</p>{shown}"
        rows = ((n.name, n.op, n.format, n.mantissa, n.exponent, n.share, n.without) for n in self.layers)
        head = ["node", "operator", "format", "mantissa", "exponent", "share", "error with fewer"]
        state = f"met with {self.bits:.4g} bits on average" if self.met else "not met"
        return f"<p>{state}</p>{table(head, rows)}"


def _layer(struct: Any, layer: Any, names: list[str]) -> SearchLayer:
    chosen = struct.formats[layer.format]
    return fill(
        SearchLayer,
        layer,
        format=names[layer.format],
        arithmetic=decode(chosen.arithmetic),
        mantissa=layer.bits - 1 - chosen.exponent,
        exponent=chosen.exponent,
        fewer=names[layer.fewer] if layer.fewer >= 0 else None,
    )
