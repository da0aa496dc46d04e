"""What the library concludes, as dataclasses. Fields have the names and meanings of the public headers (analysis.h,
forecast.h, prove.h, plan.h, lint.h, tolerance.h); NaN means "not defined"."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import pathlib
from ctypes import byref, c_bool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Iterable, TypeVar

from . import _declarations as d
from ._library import Owner, call, decode, free, lib, text

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")


def fill(cls: type[T], struct: Any, **given: Any) -> T:
    """The dataclass with fields of the same names in the struct; `given` are those that need more."""
    values = dict(given)
    for f in dataclasses.fields(cls):  # type: ignore[arg-type]
        if f.name not in values and hasattr(struct, f.name):
            value = getattr(struct, f.name)
            values[f.name] = decode(value) if isinstance(value, bytes) else value
    return cls(**values)


def _frame(rows: Iterable[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise ImportError("frame() needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows))


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """A dataclass of numbers and of such dataclasses as one row: "entire.rms"."""
    row: dict[str, Any] = {}
    for f in dataclasses.fields(value):
        part = getattr(value, f.name)
        if dataclasses.is_dataclass(part):
            row.update(_flat(part, f"{prefix}{f.name}."))
        elif isinstance(part, (int, float, str, bool)) or part is None:
            row[prefix + f.name] = part
    return row


def _table(head: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """As HTML; names of a model are harmless in it."""

    def cell(value: Any) -> str:
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        return f"<td>{html.escape(shown)}</td>"

    lines = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{''.join(f'<th>{html.escape(h)}</th>' for h in head)}</tr></thead><tbody>{lines}</tbody></table>"


def _option(path: str | os.PathLike[str]) -> bytes:
    return os.fsencode(path)


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
        """Nodes by their share in the error of the outputs, the largest first."""
        return sorted((n for n in self.nodes if n.share == n.share), key=lambda n: -abs(n.share))


@dataclass(frozen=True)
class Crossing:
    """A limit that is not met."""

    text: str
    arithmetic: str
    output: str
    value: float
    limit: float


class _Written:
    """What has a text of its own and files."""

    _owner: Owner
    _summary: str
    _write: str

    def summary(self, width: int = 0) -> str:
        """What the program prints, the verdict first. width: columns; 0: names are not cut."""
        return text(self._summary, byref(self._owner.value), width, c_bool(False))

    def write(self, folder: str | os.PathLike[str]) -> None:
        """The files that the program writes, into the folder, which is made when missing."""
        call(self._write, byref(self._owner.value), _option(folder))

    def __str__(self) -> str:
        return self.summary(100)


@dataclass(frozen=True)
class Audit(_Written):
    """Which node introduces error, which only carries it, which overflows."""

    model_path: str
    reference: str
    samples: list[str]
    lanes: list[Lane]
    certified_digits: float | None  #: correct decimal digits of every output of the reference
    seconds: float
    _owner: Owner = field(repr=False, compare=False)
    _summary = "ulp_report_summary"
    _write = "ulp_report_write"

    @classmethod
    def of(cls, owner: Owner) -> Audit:
        struct = owner.value
        return fill(
            cls,
            struct,
            samples=[decode(struct.sample_names[i]) for i in range(struct.sample_count)],
            lanes=[Lane.of(struct.lanes[i]) for i in range(struct.lane_count)],
            certified_digits=struct.certificate.output_digits if struct.certificate.given else None,
            _owner=owner,
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
            {"lane": lane.name, **_flat(node), **_flat(output, "")} | {"node": node.name, "output": output.name}
            for lane in self.lanes
            for node in lane.nodes
            for output in node.outputs
        )
        return _frame({k: v for k, v in row.items() if k != "name"} for row in rows)

    def _repr_html_(self) -> str:
        outputs = _table(
            ["arithmetic", "output", "rms", "max abs", "max ulp", "sqnr dB", "not finite"],
            (
                (lane.name, o.name, o.entire.rms, o.entire.max_abs, o.entire.max_ulp, o.entire.sqnr_db, o.entire.nonfinite)
                for lane in self.lanes
                for o in lane.outputs
            ),
        )
        nodes = _table(
            ["arithmetic", "node", "operator", "share", "introduced rms", "headroom bits"],
            (
                (lane.name, n.name, n.op, n.share, n.outputs[0].introduced.rms, n.outputs[0].range.headroom_bits)
                for lane in self.lanes
                for n in [n for n in lane.ranking() if n.outputs][:5]
            ),
        )
        return f"<p>{html.escape(self.model_path)} against {html.escape(self.reference)}</p>{outputs}{nodes}"


@dataclass(frozen=True)
class ForecastOutput:
    name: str
    largest: float
    smallest: float
    headroom_bits: float
    verdict: str
    cause: str
    overflowed: float
    subnormal: float
    zero: float


@dataclass(frozen=True)
class ForecastNode:
    """What a format will do to one node."""

    index: int
    name: str
    op: str
    verdict: str
    born: bool
    reads_overflow: bool
    effect: str
    keep: bool
    outputs: list[ForecastOutput]


@dataclass(frozen=True)
class Remedy:
    """Something to try against overflows, and what came of it."""

    what: str
    node_count: int
    cast_count: int
    nonfinite: int
    sqnr_db: float


@dataclass(frozen=True)
class ForecastLane:
    name: str
    harmful_count: int
    keep_count: int
    nodes: list[ForecastNode]
    remedies: list[Remedy]

    @classmethod
    def of(cls, lane: Any) -> ForecastLane:
        nodes = []
        for i in range(lane.node_count):
            n = lane.nodes[i]
            outputs = [
                fill(
                    ForecastOutput,
                    n.outputs[o],
                    verdict=decode(lib.ulp_forecast_verdict_name(n.outputs[o].verdict)),
                    cause=decode(lib.ulp_forecast_cause_name(n.outputs[o].cause)),
                )
                for o in range(n.output_count)
            ]
            verdict, effect = lib.ulp_forecast_verdict_name(n.verdict), lib.ulp_forecast_effect_name(n.effect)
            nodes.append(fill(ForecastNode, n, outputs=outputs, verdict=decode(verdict), effect=decode(effect)))
        remedies = [fill(Remedy, lane.remedies[i]) for i in range(lane.remedy_count)]
        return fill(cls, lane, nodes=nodes, remedies=remedies)


@dataclass(frozen=True)
class Forecast(_Written):
    """What will overflow, from the reference's values alone."""

    model_path: str
    reference: str
    lanes: list[ForecastLane]
    seconds: float
    _owner: Owner = field(repr=False, compare=False)
    _summary = "ulp_forecast_summary"
    _write = "ulp_forecast_write"

    @classmethod
    def of(cls, owner: Owner) -> Forecast:
        struct = owner.value
        return fill(cls, struct, lanes=[ForecastLane.of(struct.lanes[i]) for i in range(struct.lane_count)], _owner=owner)

    def frame(self) -> pandas.DataFrame:
        return _frame(
            {"lane": lane.name, **_flat(node), **_flat(output)} | {"node": node.name, "output": output.name}
            for lane in self.lanes
            for node in lane.nodes
            for output in node.outputs
        )

    def _repr_html_(self) -> str:
        return _table(
            ["format", "node", "operator", "verdict", "headroom bits", "effect", "keep"],
            (
                (lane.name, n.name, n.op, n.verdict, min(o.headroom_bits for o in n.outputs), n.effect, n.keep)
                for lane in self.lanes
                for n in lane.nodes
                if n.outputs and n.verdict != "safe"
            ),
        )


@dataclass(frozen=True)
class KeptNode:
    index: int
    name: str
    op: str
    always: bool
    without: float  #: the ratio when this node alone is released


@dataclass(frozen=True)
class PlanResult:
    """The nodes to keep in a wider arithmetic so that the tolerances hold."""

    met: bool
    reaches: bool
    minimal: bool
    before: float  #: worst ratio of error and tolerance without, with every node, and with the kept ones
    full: float
    after: float
    kept: list[KeptNode]
    node_count: int
    runs: int
    seconds: float
    frontier: list[tuple[int, float]]  #: nodes kept, least ratio
    _owner: Owner = field(repr=False, compare=False)

    @classmethod
    def of(cls, owner: Owner) -> PlanResult:
        struct = owner.value
        kept = [fill(KeptNode, struct.kept[i]) for i in range(struct.kept_count)]
        frontier = [(struct.frontier[i].count, struct.frontier[i].ratio) for i in range(struct.frontier_count)]
        return fill(cls, struct, kept=kept, frontier=frontier, _owner=owner)

    def summary(self) -> str:
        return text("ulp_found_text", byref(self._owner.value))

    __str__ = summary

    def write(self, folder: str | os.PathLike[str]) -> None:
        """plan.json and the options for runtimes (doc/plan.md)."""
        call("ulp_found_write", byref(self._owner.value), _option(folder))

    def frame(self) -> pandas.DataFrame:
        return _frame(_flat(node) for node in self.kept)

    def _repr_html_(self) -> str:
        table = _table(["node", "operator", "ratio without it"], ((n.name, n.op, n.without) for n in self.kept))
        return f"<p>{'met' if self.met else 'not met'}, {len(self.kept)} of {self.node_count} nodes kept</p>{table}"


@dataclass(frozen=True)
class ProofOutput:
    node: str
    op: str
    name: str
    verdict: str
    bound: float
    low: float
    high: float
    reason: str


@dataclass(frozen=True)
class Proof(_Written):
    """That nothing overflows, for every input of a box."""

    model_path: str
    arithmetic: str
    outputs: list[ProofOutput]
    seconds: float
    _owner: Owner = field(repr=False, compare=False)
    _summary = "ulp_proof_summary"
    _write = "ulp_proof_write"

    @classmethod
    def of(cls, owner: Owner) -> Proof:
        outputs = []
        for i in range(owner.value.node_count):
            n = owner.value.nodes[i]
            for o in range(n.output_count):
                verdict = decode(lib.ulp_proof_verdict_name(n.outputs[o].verdict))
                node = {"node": decode(n.name), "op": decode(n.op), "reason": decode(n.reason)}
                outputs.append(fill(ProofOutput, n.outputs[o], verdict=verdict, **node))
        return fill(cls, owner.value, outputs=outputs, _owner=owner)

    @property
    def proven(self) -> bool:
        """Of every value."""
        return all(o.verdict == "proven" for o in self.outputs)

    def frame(self) -> pandas.DataFrame:
        return _frame(_flat(o) for o in self.outputs)

    def _repr_html_(self) -> str:
        return _table(["node", "value", "verdict", "bound"], ((o.node, o.name, o.verdict, o.bound) for o in self.outputs))


@dataclass(frozen=True)
class Finding:
    rule: str
    severity: str
    node: str
    op: str
    value: str
    text: str
    fix: str


@dataclass(frozen=True)
class LintResult:
    """What in a model is known to cost accuracy."""

    model_path: str
    findings: list[Finding]
    _owner: Owner = field(repr=False, compare=False)

    @classmethod
    def of(cls, owner: Owner) -> LintResult:
        findings, rule = [], d.ulp_lint_rule()
        for i in range(owner.value.finding_count):
            found = owner.value.findings[i]
            lib.ulp_lint_rule(found.rule, byref(rule))
            names = {name: decode(getattr(found, name)) for name in ("node", "op", "value", "text")}
            severity = decode(lib.ulp_severity_name(rule.severity))
            findings.append(Finding(rule=decode(rule.id), severity=severity, fix=decode(rule.fix), **names))
        return cls(decode(owner.value.model_path), findings, owner)

    def summary(self, width: int = 0) -> str:
        return text("ulp_lint_summary", byref(self._owner.value), 0, width, c_bool(False))

    def __str__(self) -> str:
        return self.summary(100)

    def frame(self) -> pandas.DataFrame:
        return _frame(_flat(f) for f in self.findings)

    def _repr_html_(self) -> str:
        return _table(["severity", "rule", "node", "finding"], ((f.severity, f.rule, f.node, f.text) for f in self.findings))


@dataclass(frozen=True)
class ToleranceOutput:
    """Of one output, all against the reference."""

    name: str
    count: int
    ref_rms: float
    ref_max: float
    rms: float
    max_abs: float
    own_max: float
    random: float
    bound: float
    atol: float  #: recommended
    nonfinite: int
    open: bool


@dataclass(frozen=True)
class Tolerance:
    """What tolerance an arithmetic can meet."""

    model_path: str
    arithmetic: str
    reference: str
    trials: int
    outputs: list[ToleranceOutput]
    _owner: Owner = field(repr=False, compare=False)

    @classmethod
    def of(cls, owner: Owner) -> Tolerance:
        outputs = [fill(ToleranceOutput, owner.value.outputs[i]) for i in range(owner.value.output_count)]
        return fill(cls, owner.value, outputs=outputs, _owner=owner)

    def excess(self, output: str, atol: float, rtol: float = 0.0) -> float:
        """How many times too tight |x - reference| <= atol + rtol |reference| is for the output; at most 1: it is met."""
        for i, o in enumerate(self.outputs):
            if o.name == output:
                return float(lib.ulp_tolerance_excess(byref(self._owner.value.outputs[i]), atol, rtol))
        raise KeyError(output)

    def summary(self, width: int = 0) -> str:
        return text("ulp_tolerance_summary", byref(self._owner.value), width, c_bool(False))

    def __str__(self) -> str:
        return self.summary(100)

    def frame(self) -> pandas.DataFrame:
        return _frame(_flat(o) for o in self.outputs)

    def _repr_html_(self) -> str:
        return _table(["output", "rms", "max abs", "atol"], ((o.name, o.rms, o.max_abs, o.atol) for o in self.outputs))


@dataclass(frozen=True)
class ComparedFile:
    """One recording of another framework's tensors."""

    name: str
    tensor_count: int
    explained: bool  #: every tensor, by some arithmetic
    by: str | None  #: the first arithmetic that explains every tensor
    first_unexplained: str | None  #: a tensor's name
    cause: str  #: "none", "preprocessing", "inputs", "format", "node", "shape"
    cause_text: str


@dataclass(frozen=True)
class Comparison(_Written):
    """Whether recordings differ from the reference as their arithmetic does."""

    model_path: str
    reference: str
    files: list[ComparedFile]
    _owner: Owner = field(repr=False, compare=False)
    _summary = "ulp_comparison_summary"
    _write = "ulp_comparison_write"

    @classmethod
    def of(cls, owner: Owner) -> Comparison:
        struct, files = owner.value, []
        for i in range(struct.file_count):
            file = struct.files[i]
            by = decode(struct.arithmetics[file.by]) if file.by >= 0 else None
            first = decode(struct.tensors[file.first_unexplained].name) if file.first_unexplained >= 0 else None
            cause = decode(lib.ulp_cause_name(file.cause.kind))
            said = decode(file.cause.text)
            files.append(fill(ComparedFile, file, by=by, first_unexplained=first, cause=cause, cause_text=said))
        return fill(cls, struct, files=files, _owner=owner)

    def _repr_html_(self) -> str:
        rows = ((f.name, f.by or ("several" if f.explained else "none"), f.first_unexplained or "", f.cause_text) for f in self.files)
        return _table(["recording", "explained by", "first unexplained", "cause"], rows)
