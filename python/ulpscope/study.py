"""How the error of a model follows bits, directions of rounding, orders of sums, sizes and rows; pip install ulpscope[study].

    >>> from ulpscope import study
    >>> study.expand("fp16,round={rne,sr}")
    ['fp16,round=rne', 'fp16,round=sr']

doc/study.md has the meanings."""

from __future__ import annotations

import dataclasses
import difflib
import itertools
import math
import os
from ctypes import byref
from dataclasses import dataclass
from typing import Any, Iterator, Mapping, Sequence, Union

import numpy as np

from . import _declarations as d, records
from ._arrays import Array
from ._errors import MissingPackageError, NotFoundError, UsageError
from ._library import Owner, decode, lib
from ._loaded import Inputs, Samples, list_of
from ._model import Model
from ._numbers import Arithmetic, ArithmeticName, find_arithmetic
from ._progress import ProgressOption, make_progress
from ._tiles import axes

try:
    import pandas
    import scipy  # noqa: F401
except ImportError as missing:
    raise MissingPackageError(f"ulpscope.study needs pandas and scipy (no {missing.name}): pip install ulpscope[study]") from None

from ._laws import Law, conclude, fit, say_law
from ._rows import Rows, rows
from ._sweeps import Series, Setting, expand, make_settings
from ._trials import Spread, seed_of, significant_loss

__all__ = ["Law", "Rows", "Series", "Sizes", "Study", "expand", "fit", "rows", "significant_loss", "sizes", "sweep"]

ModelOption = Union[Model, str, "os.PathLike[str]", bytes]
_GROUPS_LEAST, _GROUPS_MOST, _PREFIX_MOST = 2, 12, 8
_FIGURES = ("max_abs", "rms", "mean", "max_rel", "max_ulp", "median_ulp", "cosine", "sqnr_db")
_GRADES = ["fine", "borderline", "not judged", "broken"]  # the worst last


@dataclass
class _Places:
    """What is looked at: outputs, nodes by their indexes, groups as lists of indexes."""

    outputs: list[str]
    nodes: dict[str, int]
    groups: dict[str, list[int]]
    grouping: str


def _group_of(name: str, op: str, parts: int) -> str:
    """The operator, or the first parts of the name but for the last one, which is the node's own, unless there is no other."""
    last, start = name.rfind("/"), int(name.startswith("/"))
    return op if not parts else name if last <= 0 else name[:start] + "/".join(name[start:last].split("/")[:parts])


def _find_groups(nodes: Sequence[tuple[str, str, bool]], parts: int) -> dict[str, list[int]]:
    """Nodes that compute floats; what only moves them has the errors of what it reads."""
    groups: dict[str, list[int]] = {}
    for i, (name, op, moves) in enumerate(nodes):
        if not moves and op != "Constant" and (group := _group_of(name, op, parts)):
            groups.setdefault(group, []).append(i)
    return groups


def _choose_groups(nodes: Sequence[tuple[str, str, bool]], by: str | None) -> tuple[str, dict[str, list[int]]]:
    """By default the first prefix:N with few groups, else op."""
    if by is not None:
        kind, _, parts = by.partition(":")
        if by != "op" and (kind != "prefix" or not parts.isdecimal() or not 1 <= int(parts) <= 100):
            raise UsageError(f"groups by {by} are not known: expected op, or prefix:N for names cut after the N-th part between '/', N from 1 to 100")
        return by, _find_groups(nodes, int(parts or 0))
    for n in range(1, _PREFIX_MOST + 1):
        groups = _find_groups(nodes, n)
        if len(groups) > _GROUPS_MOST:
            break
        if len(groups) >= _GROUPS_LEAST:
            return f"prefix:{n}", groups
    return "op", _find_groups(nodes, 0)


def _find_places(model: Model, program: Owner, wanted: Sequence[str], group: str | None) -> _Places:
    nodes = []
    for i in range(lib.ulp_program_node_count(program.value)):
        types = d.ulp_node_types()
        lib.ulp_program_node_types(program.value, 0, i, byref(types))
        nodes.append((decode(lib.ulp_program_node_name(program.value, i)), decode(lib.ulp_program_node_op(program.value, i)), bool(types.moves)))
    names: dict[str, int] = {f"#{i}": i for i in range(len(nodes))}
    names.update({name: i for i, (name, _, _) in reversed(list(enumerate(nodes)))})
    for name in wanted:
        if name not in names:
            near = difflib.get_close_matches(name, names, 3)
            raise NotFoundError(f"no node is called {name}" + (f": did you mean {', '.join(map(repr, near))}?" if near else ""))
    grouping, groups = _choose_groups(nodes, group)
    return _Places([value.name for value in model.outputs], {name: names[name] for name in wanted}, groups, grouping)


def _relative(output: records.AuditOutput) -> float:
    """rms of the error over rms of the reference."""
    entire, rms = output.entire, output.range.ref_rms
    if entire.diverged or entire.nonfinite or not entire.count:
        return math.nan
    return (entire.rms / rms if rms > 0 else math.inf) if entire.rms > 0 else 0.0


def _floats(node: records.AuditNode) -> list[records.AuditOutput]:
    return [output for output in node.outputs if "FLOAT" in output.type or output.type == "DOUBLE"]


def _one_point(output: records.AuditOutput, judged: bool) -> dict[str, Any]:
    entire, rms = output.entire, output.range.ref_rms
    return {"relative": _relative(output), "ref_rms": 0.0 if math.isnan(rms) else rms, **{name: getattr(entire, name) for name in _FIGURES},
            "nonfinite": entire.nonfinite, "diverged": entire.diverged, "grade": output.judged.grade if judged and output.judged.text else "not judged",
            "measured": entire.count > 0}  # fmt: skip


def _group_point(nodes: Sequence[records.AuditNode]) -> dict[str, Any]:
    """Root mean square over the nodes, of each its first float output."""
    outputs = [floats[0] for node in nodes if (floats := _floats(node))]
    squares = [r * r for r in map(_relative, outputs) if math.isfinite(r)]
    nonfinite, diverged = sum(o.entire.nonfinite for o in outputs), any(o.entire.diverged for o in outputs)
    known = squares and not nonfinite and not diverged
    return {"relative": math.sqrt(sum(squares) / len(squares)) if known else math.nan, "nonfinite": nonfinite, "diverged": diverged}


def _points(lane: records.AuditLane, places: _Places, judged: bool) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Of one run: kind, name and figures of each place; of an output that no node computes nothing."""
    for output in lane.outputs:
        yield "output", output.name, _one_point(output, judged)
    for name, index in places.nodes.items():
        outputs = _floats(lane.nodes[index]) or lane.nodes[index].outputs
        if outputs:
            yield "node", name, _one_point(min(outputs, key=lambda o: (not o.entire.nonfinite, o.entire.sqnr_db)), judged)
    for name, indexes in places.groups.items():
        yield "group", name, _group_point([lane.nodes[i] for i in indexes])


def _join(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The runs of a setting at a place: root mean square of the errors, figures of the worst trial."""
    worst = max(runs, key=lambda p: (p["diverged"], p["nonfinite"], p.get("measured", False), p.get("rms", 0.0)))
    relative = np.array([p["relative"] for p in runs])
    grade = max((p["grade"] for p in runs if "grade" in p), key=_GRADES.index, default=None)
    return {**{name: figure for name, figure in worst.items() if name != "measured"}, "relative": float(np.sqrt(np.mean(relative**2))),
            "nonfinite": max(p["nonfinite"] for p in runs), "diverged": any(p["diverged"] for p in runs),
            "grade": grade, "trials": len(runs) if len(runs) > 1 else 0,
            "deviation": float(np.std(relative, ddof=1)) if len(runs) > 1 else math.nan}  # fmt: skip


@dataclass
class Study:
    """What a sweep gave."""

    frame: Any  #: pandas: a row for each setting and place
    laws: Any  #: pandas: a row for each series of bits or lengths and place
    series: list[Series]
    grouping: str  #: "op" or "prefix:N"
    reference: str
    tolerance: float | None

    @property
    def outputs(self) -> Any:
        """The rows of the graph's outputs."""
        return self.frame[self.frame.kind == "output"]

    def points(self, series: int, place: str, kind: str = "output") -> Any:
        """The rows of a series at a place, in its order."""
        rows_ = self.frame[(self.frame.kind == kind) & (self.frame.place == place)].set_index("index")
        return rows_.loc[[i for i in self.series[series].settings if i in rows_.index]].assign(setting=self.series[series].texts)

    def worst(self, series: int) -> str | None:
        """The output whose error is largest over the series; None: no node computes an output."""
        rows_ = self.outputs[self.outputs["index"].isin(self.series[series].settings)]
        weights = np.log2(rows_.relative.where(rows_.relative > 0, 2.0**-1000)).clip(upper=64)
        weights = weights.where((rows_.nonfinite == 0) & ~rows_.diverged, 64.0).groupby(rows_.place, sort=False).sum()
        return None if weights.empty else str(weights.idxmax())

    def conclusions(self) -> list[str]:
        """Of each series a line and what limits it."""
        said = []
        for i, series in enumerate(self.series):
            if (place := self.worst(i)) is None:
                said.append(f"{series.name}: cannot be judged: no node computes an output")
                continue
            found = self.laws[(self.laws.series == series.name) & (self.laws.kind == "output") & (self.laws.place == place)]
            law = Law(**{f.name: found.iloc[0][f.name] for f in dataclasses.fields(Law)}) if len(found) else None
            lines = conclude(series, self.points(i, place), self.outputs, law, self.tolerance)
            said.append(".\n  ".join(lines) + ".")
        return said

    def __str__(self) -> str:
        return "\n".join(self.conclusions())

    def plot(self, series: int = 0, ax: Any = None) -> Any:
        """The error at each place over what the series sweeps, laws dashed. Needs matplotlib; returns the axes."""
        ax, swept = axes(ax), self.series[series]
        for kind, place in dict.fromkeys(zip(self.frame.kind, self.frame.place)):
            rows_ = self.points(series, place, kind)
            at = swept.x if swept.axis != "words" else swept.texts
            if len(rows_) == len(at):
                ax.plot(at, rows_.relative.to_numpy(), "o-" if kind == "output" else ".:", label=place)
        ax.set_yscale("log", base=2)
        ax.set(xlabel=swept.axis, ylabel="rms error / rms", title=swept.name)
        ax.legend()
        return ax


def _find_laws(frame: Any, series: Sequence[Series]) -> Any:
    columns = ["series", "axis", "kind", "place", *(f.name for f in dataclasses.fields(Law))]
    found: list[dict[str, Any]] = []
    for swept in series:
        if swept.axis not in ("bits", "length"):
            continue
        for (kind, place), rows_ in frame.groupby(["kind", "place"], sort=False):
            relative = rows_.set_index("index").relative.reindex(swept.settings)
            law = fit(swept.x, relative, swept.axis == "length")
            found.append({"series": swept.name, "axis": swept.axis, "kind": kind, "place": place, **dataclasses.asdict(law)})
    return pandas.DataFrame(found, columns=columns)


class _Runs:
    """Settings, and the trials of each, side by side beside one reference. Figures do not depend on which run together."""

    def __init__(self, model: Model, settings: Sequence[Setting], places: _Places, seed: int) -> None:
        self.model, self.settings, self.places, self.seed = model, settings, places, seed
        self.runs = [(s, trial) for s, setting in enumerate(settings) for trial in range(max(setting.trials, 1))]
        self.points: dict[tuple[int, str, str], list[dict[str, Any]]] = {}
        self.overflows: dict[int, str] = {}
        self.spreads: dict[tuple[int, str], Spread] = {}

    def _arithmetic(self, setting: int, trial: int) -> Arithmetic:
        arithmetic = self.settings[setting].arithmetic
        return arithmetic.change(f"seed={seed_of(self.seed, trial)}") if self.settings[setting].trials else arithmetic

    def _add_outputs(self, runs: Sequence[tuple[int, int]], sample: int, lanes: Sequence[Mapping[str, Array]]) -> None:
        for (setting, trial), outputs in zip(runs, lanes[1:]):
            if not self.settings[setting].trials:
                continue
            for name, reference in lanes[0].items():
                if reference.dtype.kind == "f":
                    spread = self.spreads.setdefault((setting, name), Spread(self.settings[setting].trials))
                    spread.add(sample, trial, outputs[name], reference)

    def walk(self, samples: Samples, reference: Arithmetic, runs: Sequence[tuple[int, int]], **options: Any) -> None:
        drawn = any(self.settings[setting].trials for setting, _ in runs)
        audit = self.model.audit(samples, [self._arithmetic(*run) for run in runs], reference=reference, attribute=False, entire_only=True,
                                 outputs=(lambda sample, lanes: self._add_outputs(runs, sample, lanes)) if drawn else None, **options)  # fmt: skip
        judged = not audit.nonfinite_inputs or options["allow_nonfinite_inputs"]
        for (setting, _), lane in zip(runs, audit.lanes):
            for kind, name, point in _points(lane, self.places, judged):
                self.points.setdefault((setting, kind, name), []).append(point)
            if lane.first_born is not None:
                self.overflows.setdefault(setting, lane.nodes[lane.first_born].name)

    def frame(self, probability: float, confidence: float) -> Any:
        found: list[dict[str, Any]] = []
        for (index, kind, place), points in sorted(self.points.items(), key=lambda item: item[0][0]):
            setting, spread = self.settings[index], self.spreads.get((index, place)) if kind == "output" else None
            spreads = spread.conclude(probability, confidence) if spread else {}
            found.append({"index": index, "setting": setting.text, "arithmetic": setting.arithmetic.name, "kind": kind, "place": place,
                          "overflows": self.overflows.get(index, ""), **_join(points), **spreads})  # fmt: skip
        trials = ["bits", "bits_low", "bits_least", "bias", "bias_error", "bias_width", "bias_rms", "biased", "elements", "left_out", "exact"]
        first = ["index", "setting", "arithmetic", "kind", "place", "relative", "ref_rms", *_FIGURES, "nonfinite", "diverged", "grade", "overflows", "trials", "deviation"]
        return pandas.DataFrame(found, columns=first + trials)


def sweep(
    model: ModelOption,
    samples: Samples,
    sweeps: str | Sequence[str],
    *,
    nodes: Sequence[str] = (),
    group: str | None = None,
    trials: int = 30,
    seed: int = 0,
    probability: float = 0.95,
    confidence: float = 0.95,
    tolerance: float | None = None,
    reference: ArithmeticName = "pair",
    lanes: int = 32,
    task: str | None = None,
    allow_nonfinite_inputs: bool = False,
    threads: int = 0,
    progress: ProgressOption = None,
) -> Study:
    """The error of each setting of the sweeps ("e5m{4..12}", "fp16,round={rne,rz,sr}") against one reference, at the outputs, at
    nodes (by name, or "#12") and in layer groups ("op", "prefix:N"); and the law that it follows.

    A setting with round=sr and no seed is run `trials` times, trial t with the number t of the stream `seed`. tolerance: the
    relative error that conclusions are about. lanes: at most so many settings and trials side by side, which decides the memory
    and no figure. Other options are those of Model.audit."""
    if not 2 <= trials <= 10000:
        raise UsageError(f"{trials} trials: from 2 to 10000 are possible")
    for name, share in (("probability", probability), ("confidence", confidence)):
        if not 0 < share < 1:
            raise UsageError(f"{name} {share}: a number between 0 and 1 is needed, as 0.95")
    if tolerance is not None and not 0 < tolerance < math.inf:
        raise UsageError(f"tolerance {tolerance}: a relative error is needed, as 1e-3")
    if not 0 <= seed < 2**63 or lanes < 1:
        raise UsageError(f"seed {seed}, lanes {lanes}: a seed below 2^63 and at least one lane are needed")
    model = model if isinstance(model, Model) else Model(model)
    settings, series = make_settings(list_of(sweeps), trials)
    exact = find_arithmetic(reference)
    first = model._samples(samples)[1][0]
    # what cannot be computed is refused before hours of work
    programs = [model._plan([exact, setting.arithmetic], first, None, 0) for setting in settings]
    work = _Runs(model, settings, _find_places(model, programs[0], nodes, group), seed)
    del programs
    walks = [work.runs[start : start + lanes] for start in range(0, len(work.runs), lanes)]
    shown = make_progress(progress, len(walks))
    for i, walk in enumerate(walks):
        if shown is not None:
            shown.run = i
        work.walk(samples, exact, walk, task=task, allow_nonfinite_inputs=allow_nonfinite_inputs, threads=threads, progress=shown.update if shown is not None else None)
    if shown is not None:
        shown.end()
    frame = work.frame(probability, confidence)
    return Study(frame, _find_laws(frame, series), series, work.places.grouping, exact.name, tolerance)


@dataclass
class Sizes:
    """How the error grows with the size of the inputs."""

    frame: Any  #: pandas: a row for each size, setting and output; n: elements of the inputs
    laws: Any  #: pandas: a row for each setting and output

    def __str__(self) -> str:
        n = list(dict.fromkeys(self.frame.n))
        return "\n".join(f"{row.setting}: {say_law(row, 'size', row.place, n)}." for row in self.laws.itertuples())


def sizes(model: ModelOption, inputs: Sequence[Inputs], sweeps: str | Sequence[str], **options: Any) -> Sizes:
    """The law over the size of the inputs: n u, when all roundings go in one direction, sqrt(n) u, when they are independent.
    inputs: of each size one sample; options: those of `sweep`."""
    model = model if isinstance(model, Model) else Model(model)
    parts = []
    for sample in inputs:
        arrays = sample.values() if isinstance(sample, Mapping) else sample
        parts.append(sweep(model, [sample], sweeps, **options).outputs.assign(n=sum(np.size(array) for array in arrays)))
    frame = pandas.concat(parts, ignore_index=True)
    laws = [{"setting": setting, "place": place, **dataclasses.asdict(fit(rows_.n, rows_.relative, lengths=True))} for (setting, place), rows_ in frame.groupby(["setting", "place"], sort=False)]
    return Sizes(frame[["n", "setting", "place", "relative"]], pandas.DataFrame(laws))
