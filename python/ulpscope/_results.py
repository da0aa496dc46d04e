"""What the library concludes beside audits and studies, as dataclasses. Fields have the names and meanings of the public headers
(overflow.h, prove.h, lint.h, tolerance.h, compare.h); NaN means "not defined"."""

from __future__ import annotations

import os
from ctypes import byref, c_bool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _declarations as d
from ._library import Owner, call, decode, lib, text
from ._shared import Written, fill, flat, frame_of, option, table, unjudged_of

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class OverflowOutput:
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
class OverflowNode:
    """What a format will do to one node."""

    index: int
    name: str
    op: str
    verdict: str
    born: bool
    reads_overflow: bool
    effect: str
    keep: bool
    outputs: list[OverflowOutput]


@dataclass(frozen=True)
class Remedy:
    """Something to try against overflows, and what came of it."""

    what: str
    node_count: int
    cast_count: int
    nonfinite: int
    sqnr_db: float


@dataclass(frozen=True)
class OverflowLane:
    name: str
    harmful_count: int
    keep_count: int
    nodes: list[OverflowNode]
    remedies: list[Remedy]

    @classmethod
    def of(cls, lane: Any) -> OverflowLane:
        nodes = []
        for i in range(lane.node_count):
            n = lane.nodes[i]
            outputs = [
                fill(
                    OverflowOutput,
                    n.outputs[o],
                    verdict=decode(lib.ulp_overflow_verdict_name(n.outputs[o].verdict)),
                    cause=decode(lib.ulp_overflow_cause_name(n.outputs[o].cause)),
                )
                for o in range(n.output_count)
            ]
            verdict, effect = lib.ulp_overflow_verdict_name(n.verdict), lib.ulp_overflow_effect_name(n.effect)
            nodes.append(fill(OverflowNode, n, outputs=outputs, verdict=decode(verdict), effect=decode(effect)))
        remedies = [fill(Remedy, lane.remedies[i]) for i in range(lane.remedy_count)]
        return fill(cls, lane, nodes=nodes, remedies=remedies)


@dataclass(frozen=True)
class Overflow(Written):
    """What will overflow, from the reference's values alone."""

    model_path: str
    reference: str
    lanes: list[OverflowLane]
    unjudged: list[str]  #: inputs that are not finite, outputs that are empty or have no finite element
    seconds: float
    _owner: Owner = field(repr=False, compare=False)
    _summary = "ulp_overflow_text"
    _write = "ulp_overflow_write"

    @classmethod
    def of(cls, owner: Owner) -> Overflow:
        struct = owner.value
        lanes = [OverflowLane.of(struct.lanes[i]) for i in range(struct.lane_count)]
        return fill(cls, struct, lanes=lanes, unjudged=unjudged_of(struct), _owner=owner)

    def frame(self) -> pandas.DataFrame:
        return frame_of(
            {"lane": lane.name, **flat(node), **flat(output)} | {"node": node.name, "output": output.name}
            for lane in self.lanes
            for node in lane.nodes
            for output in node.outputs
        )

    def _repr_html_(self) -> str:
        return table(
            ["format", "node", "operator", "verdict", "headroom bits", "effect", "keep"],
            (
                (lane.name, n.name, n.op, n.verdict, min(o.headroom_bits for o in n.outputs), n.effect, n.keep)
                for lane in self.lanes
                for n in lane.nodes
                if n.outputs and n.verdict != "safe"
            ),
        )


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
class Proof(Written):
    """That nothing overflows, for every input of a box."""

    model_path: str
    arithmetic: str
    outputs: list[ProofOutput]
    seconds: float
    _owner: Owner = field(repr=False, compare=False)
    _summary = "ulp_proof_text"
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
        """Of every value, of which there is one at least."""
        return bool(self.outputs) and all(o.verdict == "proven" for o in self.outputs)

    def frame(self) -> pandas.DataFrame:
        return frame_of(flat(o) for o in self.outputs)

    def _repr_html_(self) -> str:
        return table(["node", "value", "verdict", "bound"], ((o.node, o.name, o.verdict, o.bound) for o in self.outputs))


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
        return text("ulp_lint_text", byref(self._owner.value), 0, width, c_bool(False))

    def __str__(self) -> str:
        return self.summary(100)

    def frame(self) -> pandas.DataFrame:
        return frame_of(flat(f) for f in self.findings)

    def _repr_html_(self) -> str:
        return table(["severity", "rule", "node", "finding"], ((f.severity, f.rule, f.node, f.text) for f in self.findings))


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
    atol: float  #: recommended; NaN: no tolerance holds
    nonfinite: int
    open: bool
    sample: str  #: which these figures are of


@dataclass(frozen=True)
class Tolerance:
    """What tolerance an arithmetic can meet."""

    model_path: str
    arithmetic: str
    reference: str
    trials: int
    sample_count: int
    outputs: list[ToleranceOutput]
    unjudged: list[str]  #: inputs that are not finite, outputs that are empty, have no finite element or have diverged
    _owner: Owner = field(repr=False, compare=False)

    @classmethod
    def of(cls, owner: Owner) -> Tolerance:
        outputs = [fill(ToleranceOutput, owner.value.outputs[i]) for i in range(owner.value.output_count)]
        return fill(cls, owner.value, outputs=outputs, unjudged=unjudged_of(owner.value), _owner=owner)

    def excess(self, output: str, atol: float, rtol: float = 0.0) -> float:
        """How many times too tight |x - reference| <= atol + rtol |reference| is for the output, in its tightest sample; at most 1: it is met."""
        for i, o in enumerate(self.outputs):
            if o.name == output:
                return float(lib.ulp_tolerance_excess(byref(self._owner.value.outputs[i]), atol, rtol))
        raise KeyError(output)

    def summary(self, width: int = 0) -> str:
        return text("ulp_tolerance_text", byref(self._owner.value), width, c_bool(False))

    def __str__(self) -> str:
        return self.summary(100)

    def frame(self) -> pandas.DataFrame:
        return frame_of(flat(o) for o in self.outputs)

    def _repr_html_(self) -> str:
        return table(["output", "rms", "max abs", "atol"], ((o.name, o.rms, o.max_abs, o.atol) for o in self.outputs))


@dataclass(frozen=True)
class ComparedFile:
    """One recording of another framework's tensors."""

    name: str
    tensor_count: int
    explained: bool  #: every tensor, by some arithmetic
    by: str | None  #: the first arithmetic that explains every tensor
    first_unexplained: str | None  #: a tensor's name
    cause: str  #: "none", "preprocessing", "inputs", "format", "node", "shape", "unjudged"
    cause_text: str


@dataclass(frozen=True)
class Comparison(Written):
    """Whether recordings differ from the reference as their arithmetic does."""

    model_path: str
    reference: str
    files: list[ComparedFile]
    _owner: Owner = field(repr=False, compare=False)
    _summary = "ulp_comparison_text"
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
        return table(["recording", "explained by", "first unexplained", "cause"], rows)
