"""An audit as dataclasses. Fields have the names and meanings of audit.h; NaN means "not defined"."""

from __future__ import annotations

import html
import json
import pathlib
from ctypes import byref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _declarations as d
from ._library import Owner, call, decode, free, lib, text
from ._shared import Written, fill, flat, frame_of, table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Metrics:
    """Measures of a difference, value - base."""

    max_abs: float
    rms: float
    mean: float
    max_rel: float
    max_ulp: float
    median_ulp: float
    cosine: float
    sqnr_db: float
    nonfinite: int
    worst_index: int
    count: int
    diverged: bool


@dataclass(frozen=True)
class Range:
    """Magnitudes in the reference."""

    ref_rms: float
    ref_max: float
    ref_min_nonzero: float
    headroom_bits: float


@dataclass(frozen=True)
class Output:
    """An output of a node: its error, and the parts that the node introduces and carries."""

    name: str
    type: str
    shape: tuple[int, ...]
    single: Metrics
    entire: Metrics
    introduced: Metrics
    carried: Metrics
    range: Range
    worst_sample: int

    @classmethod
    def of(cls, struct: Any) -> Output:
        views = {view: fill(Metrics, getattr(struct, view)) for view in ("single", "entire", "introduced", "carried")}
        shape = tuple(struct.dims[i] for i in range(struct.rank))
        type_ = decode(lib.ulp_type_name(struct.type))
        return fill(cls, struct, shape=shape, type=type_, range=fill(Range, struct.range), **views)


@dataclass(frozen=True)
class Node:
    """One node in one arithmetic."""

    index: int
    name: str
    op: str
    arithmetic: str
    outputs: list[Output]
    born: bool
    poisoned: bool
    executions: int
    share: float
    gain: float
    condition: float
    causes: dict[str, float]

    @classmethod
    def of(cls, struct: Any, lane: Any) -> Node:
        outputs = [Output.of(struct.outputs[i]) for i in range(struct.output_count)]
        arithmetic = lib.ulp_audit_node_arithmetic(byref(lane), byref(struct)).contents if lane is not None else None
        causes = {decode(lib.ulp_share_cause_name(c, None, None)): struct.causes[c] for c in range(d.ULP_SHARE_CAUSES)}
        return fill(
            cls, struct, outputs=outputs, causes=causes, arithmetic=decode(arithmetic.name) if arithmetic is not None else ""
        )


@dataclass(frozen=True)
class Lane:
    """One audited arithmetic."""

    name: str
    nodes: list[Node]
    outputs: list[Output]  #: the graph's
    explained: str | None  #: the output that the nodes' shares are of: of several the worst; None: the only one
    output_shares: dict[str, list[float]]  #: of each of several outputs, by node
    attribution_residual: float  #: of the error of the outputs, what no share explains; NaN: no shares
    no_attribution: str | None  #: why there are no shares
    first_born: Node | None  #: where the first overflow that does harm appears

    @classmethod
    def of(cls, struct: Any) -> Lane:
        nodes = [Node.of(struct.nodes[i], struct) for i in range(struct.node_count)]
        attribution = struct.attribution
        return cls(
            name=decode(struct.name),
            nodes=nodes,
            outputs=[Output.of(struct.outputs.outputs[i]) for i in range(struct.outputs.output_count)],
            explained=decode(attribution.output) if attribution.output else None,
            output_shares={
                decode(of.output): [of.nodes[n].share for n in range(struct.node_count)]
                for of in (attribution.outputs[i] for i in range(attribution.output_count))
                if of.sample_count
            },
            attribution_residual=attribution.residual if attribution.given else float("nan"),
            no_attribution=decode(attribution.reason) if not attribution.given and attribution.reason else None,
            first_born=next((n for n in nodes if n.index == struct.first_born), None),
        )

    def __getitem__(self, name: str) -> Node:
        """The node of that name."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def ranking(self) -> list[Node]:
        """Nodes by their share in the error of the outputs (of several: of `explained`), the largest first."""
        return sorted((n for n in self.nodes if n.share == n.share), key=lambda n: -abs(n.share))


@dataclass(frozen=True)
class Crossing:
    """A limit that is not met."""

    text: str
    arithmetic: str
    output: str
    value: float
    limit: float


@dataclass(frozen=True)
class QuickCheck:
    """What is known of an FP64 reference's own error (doc/report.md)."""

    exact: int  #: nodes that only move values
    sampled: int  #: of which some elements were recomputed at 128 bits
    whole: int  #: of which all were
    unjudged: int
    elements: int  #: recomputed
    worst_ratio: float  #: of the reference's error, as estimated, to the least error of an arithmetic at the same node
    doubtful: int  #: nodes where that is above a tenth: FP64 is not known to be enough


@dataclass(frozen=True)
class Time:
    """Of a node, or of all nodes of one operator (name: None)."""

    name: str | None
    op: str
    index: int
    nodes: int
    executions: int
    seconds: float
    fastest: float
    measuring: float
    attributing: float
    lanes: dict[str, float]

    @classmethod
    def of(cls, struct: Any, lanes: list[str], node: bool) -> Time:
        seconds = {lane: struct.lanes[i] for i, lane in enumerate(lanes)}
        return fill(cls, struct, name=decode(struct.name) if node else None, lanes=seconds)


@dataclass(frozen=True)
class Timings:
    """Where the time went, in seconds of the clock: phases and lanes add up to `seconds`."""

    seconds: float
    phases: dict[str, float]
    lanes: dict[str, float]
    operators: list[Time]  #: the longest first, as nodes
    nodes: list[Time]
    summary: str

    @classmethod
    def of(cls, struct: Any) -> Timings:
        lanes = [decode(struct.lanes[i]) for i in range(struct.lane_count)]
        return cls(
            struct.seconds,
            {decode(lib.ulp_timed_name(i)): struct.phases[i] for i in range(d.ULP_TIMED_COUNT)},
            {lane: struct.lane_seconds[i] for i, lane in enumerate(lanes)},
            [Time.of(struct.operators[i], lanes, False) for i in range(struct.operator_count)],
            [Time.of(struct.nodes[i], lanes, True) for i in range(struct.node_count)],
            text("ulp_timings_text", byref(struct), 1),
        )

    def __str__(self) -> str:
        return self.summary

    def frame(self) -> pandas.DataFrame:
        """A row for each node."""
        return frame_of(flat(node) | {f"lanes.{lane}": s for lane, s in node.lanes.items()} for node in self.nodes)


@dataclass(frozen=True)
class Audit(Written):
    """Which node introduces error, which only carries it, which overflows."""

    model_path: str
    reference: str
    samples: list[str]
    lanes: list[Lane]
    certified_digits: float | None  #: correct decimal digits of every output of the reference
    seconds: float
    quick: QuickCheck | None  #: of quick=True
    timings: Timings | None  #: of timings=True
    _owner: Owner = field(repr=False, compare=False)
    _times: Owner | None = field(repr=False, compare=False)
    _summary = "ulp_report_text"
    _write = "ulp_report_write"

    @classmethod
    def of(cls, owner: Owner, times: Owner | None = None) -> Audit:
        """times: what owner's own points to."""
        struct = owner.value
        return fill(
            cls,
            struct,
            samples=[decode(struct.sample_names[i]) for i in range(struct.sample_count)],
            lanes=[Lane.of(struct.lanes[i]) for i in range(struct.lane_count)],
            certified_digits=struct.certificate.output_digits if struct.certificate.given else None,
            quick=fill(QuickCheck, struct.quick) if struct.quick.given else None,
            timings=Timings.of(times.value) if times is not None else None,
            _owner=owner,
            _times=times,
        )

    def __getitem__(self, arithmetic: str) -> Lane:
        """The lane of that arithmetic."""
        for lane in self.lanes:
            if lane.name == arithmetic:
                return lane
        raise KeyError(arithmetic)

    def check(self, limit: str, *, allow_nonfinite_inputs: bool = False) -> list[Crossing]:
        """What does not meet "METRIC=VALUE", as --fail-above takes it; empty: everything does."""
        found = d.ulp_crossing_list()
        call("ulp_audit_check", byref(self._owner.value), limit.encode(), allow_nonfinite_inputs, byref(found))
        crossings = []
        for i in range(found.count):
            item = found.items[i]
            said = text("ulp_crossing_text", byref(item), limit.encode())
            crossings.append(fill(Crossing, item, text=said, arithmetic=decode(item.arithmetic), output=decode(item.output)))
        free(found.items)
        return crossings

    def report(self) -> dict[str, Any]:
        """report.json as Python's own (doc/report.md)."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            self.write(folder)
            result: dict[str, Any] = json.loads((pathlib.Path(folder) / "report.json").read_text())
        return result

    def frame(self) -> pandas.DataFrame:
        """A row for each output of each node in each arithmetic: entire.rms, introduced.max_ulp, range.headroom_bits, ..."""
        rows = (
            {"lane": lane.name, **flat(node), **flat(output, "")} | {"node": node.name, "output": output.name}
            for lane in self.lanes
            for node in lane.nodes
            for output in node.outputs
        )
        return frame_of({k: v for k, v in row.items() if k != "name"} for row in rows)

    def _repr_html_(self) -> str:
        outputs = table(
            ["arithmetic", "output", "rms", "max abs", "max ulp", "sqnr dB", "not finite"],
            (
                (lane.name, o.name, o.entire.rms, o.entire.max_abs, o.entire.max_ulp, o.entire.sqnr_db, o.entire.nonfinite)
                for lane in self.lanes
                for o in lane.outputs
            ),
        )
        nodes = table(
            ["arithmetic", "node", "operator", "share", "introduced rms", "headroom bits"],
            (
                (lane.name, n.name, n.op, n.share, n.outputs[0].introduced.rms, n.outputs[0].range.headroom_bits)
                for lane in self.lanes
                for n in [n for n in lane.ranking() if n.outputs][:5]
            ),
        )
        return f"<p>{html.escape(self.model_path)} against {html.escape(self.reference)}</p>{outputs}{nodes}"
