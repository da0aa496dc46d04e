"""A study as dataclasses. Fields have the names and meanings of study.h; NaN means "not defined"."""

from __future__ import annotations

import html
import json
import os
import pathlib
from ctypes import byref, c_bool
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _declarations as d
from ._audit import Metrics
from ._library import Owner, call, decode, lib, text
from ._shared import fill, flat, frame_of, output, table

if TYPE_CHECKING:
    import pandas

_KINDS = {d.ULP_PLACE_OUTPUT: "output", d.ULP_PLACE_NODE: "node", d.ULP_PLACE_GROUP: "group"}


@dataclass(frozen=True)
class StudyTrials:
    """Trials of stochastic rounding at one output."""

    count: int
    mean: float
    deviation: float
    elements: int
    left_out: int
    exact: int
    bits: float  #: significant ones of the median element
    bits_least: float
    bits_low: float  #: at least, with the study's probability and confidence
    bias: float  #: mean signed error, against the reference
    bias_error: float
    bias_width: float  #: of Student's interval
    bias_rms: float
    biased: float  #: share of elements


@dataclass(frozen=True)
class StudyPoint:
    """One setting at one place: an output, a node or a layer group."""

    place: str
    kind: str  #: "output", "node" or "group"
    relative: float  #: rms of the error over rms of the reference
    ref_rms: float
    nonfinite: int
    diverged: bool
    metrics: Metrics  #: as an audit's `entire`; of groups not defined
    trials: StudyTrials | None


@dataclass(frozen=True)
class StudySetting:
    name: str  #: of the arithmetic
    text: str  #: as the sweep has it
    overflows: str | None  #: node of the first overflow that does harm
    kept: bool  #: it was in the checkpoint folder
    points: list[StudyPoint]

    def __getitem__(self, place: str) -> StudyPoint:
        for point in self.points:
            if point.place == place:
                return point
        raise KeyError(place)


@dataclass(frozen=True)
class StudyFit:
    """log2(relative) = intercept + slope * x over the points first..last of a series, at one place."""

    place: str
    law: str  #: "none", "power", "linear", "root" or "flat"
    reason: str  #: why none fits
    slope: float
    intercept: float
    slope_error: float
    slope_low: float
    slope_high: float
    residual: float  #: rms distance from the line, in bits
    count: int
    first: int
    last: int
    lost: int
    unusable: int
    floored: int
    floor: float


@dataclass(frozen=True)
class StudySeries:
    """Settings of a sweep that differ in one pair of braces."""

    name: str
    axis: str  #: "words", "bits", "exponent" or "length"
    settings: list[StudySetting]
    x: list[float]
    fits: list[StudyFit]  #: of every place; empty where no law is fitted
    worst: str  #: the output that the conclusion is about


@dataclass(frozen=True)
class Study:
    """How the error follows bits, rounding or orders."""

    model_path: str
    reference: str
    sweeps: list[str]
    grouping: str
    trials: int
    seed: int
    probability: float
    confidence: float
    settings: list[StudySetting]
    series: list[StudySeries]
    seconds: float
    _owner: Owner = field(repr=False, compare=False)

    @classmethod
    def of(cls, owner: Owner) -> Study:
        struct = owner.value
        places = [struct.places[p] for p in range(struct.place_count)]
        settings = [_setting(struct.settings[i], places) for i in range(struct.setting_count)]
        series = [_series(struct, struct.series[i], settings, places) for i in range(struct.series_count)]
        sweeps = [decode(struct.sweeps[i]) for i in range(struct.sweep_count)]
        return fill(cls, struct, sweeps=sweeps, settings=settings, series=series, _owner=owner)

    def __getitem__(self, setting: str) -> StudySetting:
        """The setting of that name, as a sweep or the arithmetic has it."""
        for s in self.settings:
            if setting in (s.name, s.text):
                return s
        raise KeyError(setting)

    def summary(self, width: int = 0) -> str:
        """What the program prints, a conclusion for each series first."""
        return text("ulp_study_text", byref(self._owner.value), width, c_bool(False))

    def __str__(self) -> str:
        return self.summary(100)

    def write(self, path: str | os.PathLike[str]) -> None:
        """All figures as JSON (doc/study.md), as CSV where the name ends in .csv, as a page where it ends in .html.
        A file that a Model in use is read from is refused."""
        end = pathlib.Path(path).suffix
        writer = {".csv": "ulp_study_write_csv", ".html": "ulp_study_write_html"}.get(end, "ulp_study_write_json")
        call(writer, byref(self._owner.value), output(path))

    def report(self) -> dict[str, Any]:
        """What `write` writes as JSON, as Python's own."""
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "study.json"
            self.write(path)
            result: dict[str, Any] = json.loads(path.read_text())
        return result

    def frame(self) -> pandas.DataFrame:
        """A row for each setting and place: relative, metrics.max_abs, trials.bits, ..."""
        return frame_of(
            {"setting": s.text, "arithmetic": s.name, **{k: v for k, v in flat(p).items() if k != "trials"}}
            for s in self.settings
            for p in s.points
        )

    def laws(self) -> pandas.DataFrame:
        """A row for each series and place with a law."""
        return frame_of({"series": s.name, "axis": s.axis, **flat(f)} for s in self.series for f in s.fits)

    def _repr_html_(self) -> str:
        said = self.summary().split("\n\n")[0]
        shown = table(
            ["setting", "output", "relative", "max abs", "sqnr dB", "not finite"],
            (
                (s.text, p.place, p.relative, p.metrics.max_abs, p.metrics.sqnr_db, p.nonfinite)
                for s in self.settings
                for p in s.points
                if p.kind == "output"
            ),
        )
        return f"<pre>{html.escape(said)}</pre>{shown}"


def _point(struct: Any, place: Any) -> StudyPoint:
    trials = fill(StudyTrials, struct.trials) if struct.trials.count else None
    names = {"place": decode(place.name), "kind": _KINDS[place.kind]}
    return fill(StudyPoint, struct, metrics=fill(Metrics, struct.metrics), trials=trials, **names)


def _setting(struct: Any, places: list[Any]) -> StudySetting:
    points = [_point(struct.points[p], place) for p, place in enumerate(places)]
    overflows = decode(struct.overflows) if struct.overflows else None
    return fill(StudySetting, struct, points=points, overflows=overflows)


def _series(study: Any, struct: Any, settings: list[StudySetting], places: list[Any]) -> StudySeries:
    fits = [
        fill(StudyFit, struct.fits[p], place=decode(place.name), law=decode(lib.ulp_study_law_name(struct.fits[p].law)))
        for p, place in enumerate(places if struct.fits else [])
    ]
    return fill(
        StudySeries,
        struct,
        axis=decode(lib.ulp_study_axis_name(struct.axis)),
        settings=[settings[struct.settings[i]] for i in range(struct.count)],
        x=[struct.x[i] for i in range(struct.count)],
        fits=fits,
        worst=decode(places[lib.ulp_study_worst(byref(study), byref(struct))].name),
    )
