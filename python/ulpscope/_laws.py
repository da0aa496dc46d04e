"""The law that errors follow over bits, lengths or sizes, with its floor; and what is said of a series."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Iterable, Sequence

import numpy as np
from scipy import stats

from ._sweeps import Series

_LOST = 0.5  # of the reference's rms: there is nothing left that a law is about
_RESIDUAL_MOST = 0.5  # bits: a factor of sqrt(2)
_SLOPE_NEAR = 0.15  # beside a law's own
_FLOOR_SPREAD = 0.5  # bits between the points of a floor
_FLOOR_LEAST = _FIT_LEAST = 3


@dataclass(frozen=True)
class Law:
    """log2(error) = intercept + slope * x, x the bits, or log2 of the length or size, by least squares over the points first to last."""

    law: str  #: "linear", "root", "flat", "power"; "none": no law fits, and `reason` says why
    reason: str
    slope: float
    intercept: float
    slope_error: float  #: standard error
    slope_low: float  #: 95 % interval of Student's t
    slope_high: float
    residual: float  #: rms of log2(error) beside the line
    count: int  #: points on the line
    lost: int  #: left out: errors above half the reference's rms
    unusable: int  #: left out: 0, not finite, diverged
    floored: int  #: left out: at the end of many bits, within half a bit of each other
    first: int  #: of the points on the line, indexes into the series
    last: int
    floor: float  #: rms of the errors of the floor


def _cut_floor(points: list[tuple[int, float, float]]) -> list[tuple[int, float, float]]:
    """The points at the end of larger x that lie within half a bit of each other, when there is one before them that is above."""
    ordered = points[::-1] if points and points[-1][1] > points[0][1] else points
    length = 0
    while length < len(points) and np.ptp([y for _, _, y in ordered[: length + 1]]) <= _FLOOR_SPREAD:
        length += 1
    return ordered[:length] if _FLOOR_LEAST <= length < len(points) else []


def _line(points: list[tuple[int, float, float]]) -> dict[str, float]:
    """Ordinary least squares."""
    found = dict.fromkeys(("slope", "intercept", "slope_error", "slope_low", "slope_high", "residual"), math.nan)
    x, y = np.array([p[1] for p in points]), np.array([p[2] for p in points])
    if len(x) < 2 or not np.ptp(x) > 0:
        return found
    squares = np.sum((x - x.mean()) ** 2)
    slope = np.sum((x - x.mean()) * (y - y.mean())) / squares
    intercept = y.mean() - slope * x.mean()
    found.update(slope=float(slope), intercept=float(intercept))
    if len(x) > 2:
        rest = np.sum((y - (intercept + slope * x)) ** 2)
        error = math.sqrt(rest / (len(x) - 2) / squares)
        half = error * float(stats.t.ppf(0.975, len(x) - 2))
        found.update(slope_error=error, slope_low=float(slope) - half, slope_high=float(slope) + half, residual=math.sqrt(rest / len(x)))
    return found


def fit(x: Iterable[float], relative: Iterable[float], lengths: bool = False) -> Law:
    """The law of errors beside the reference's rms, over bits, or over lengths or sizes n.

    >>> law = fit([4, 5, 6, 7], [2**-4, 2**-5, 2**-6, 2**-7])
    >>> law.law, law.slope
    ('linear', -1.0)
    """
    given = list(zip(map(float, x), map(float, relative)))
    usable = [math.isfinite(e) and e > 0 and math.isfinite(at) and (not lengths or at > 0) for at, e in given]
    lost = sum(good and e > _LOST for good, (_, e) in zip(usable, given))
    points = [(i, math.log2(at) if lengths else at, math.log2(e)) for i, (good, (at, e)) in enumerate(zip(usable, given)) if good and e <= _LOST]
    floor = [] if lengths else _cut_floor(points)
    points = [point for point in points if point not in floor]
    line = _line(points)
    law, reason, unusable = "none", "", len(given) - sum(usable)
    if len(points) >= _FIT_LEAST and line["residual"] <= _RESIDUAL_MOST:
        laws = {"linear": 1.0 if lengths else -1.0, **({"root": 0.5} if lengths else {}), "flat": 0.0}
        law = next((name for name, slope in laws.items() if abs(line["slope"] - slope) <= _SLOPE_NEAR), "power")
    elif len(points) < _FIT_LEAST:
        reason = "fewer than three points can follow one"
        if 2 * lost >= len(given):
            reason = "the error is as large as the values"
        elif 2 * unusable >= len(given):
            reason = "errors are zero, not finite or diverged"
    else:
        reason = "points lie more than half a bit beside a line" if math.isfinite(line["slope"]) else "all points are at one place"
    ends = (points[0][0], points[-1][0]) if points else (0, 0)
    rms = math.sqrt(sum(4.0**y for _, _, y in floor) / len(floor)) if floor else math.nan
    return Law(law, reason, **line, count=len(points), lost=lost, unusable=unusable, floored=len(floor), first=ends[0], last=ends[1], floor=rms)


_BITS = {
    "linear": "each further bit halves the error of {}: it is proportional to u",
    "flat": "mantissa bits do not change the error of {}: something else limits it",
    "power": "each further bit changes the error of {} by a factor of {factor:.2f}",
}
_LENGTHS = {
    "linear": "the error of {} grows as n",
    "root": "the error of {} grows as sqrt(n)",
    "flat": "the error of {} does not depend on n",
    "power": "the error of {} goes with n^{slope:.2f}",
}


def say_law(law: Law, axis: str, name: str, x: Sequence[float]) -> str:
    """What errors over bits, lengths or sizes follow."""
    if law.law == "none":
        return f"no law fits the error of {name}: {law.reason}"
    said = (_BITS if axis == "bits" else _LENGTHS)[law.law].format(name, factor=2.0**law.slope, slope=law.slope)
    return f"{said} (slope {law.slope:.2f} +- {law.slope_error:.2f} from {x[law.first]:g} to {x[law.last]:g}, residual {law.residual:.2f} bits)"


def _least(points: Any) -> str:
    """Of exponent bits the fewest with an error like the least; of words all beside the best one."""
    name, known = points.place.iloc[0], points[np.isfinite(points.relative)]
    if known.empty:
        return f"no setting has an error of {name} that can be measured"
    best = known.loc[known.relative.idxmin()]
    if len(points) == 1:
        return f"the error of {name} is {best.relative:.2g} of its rms"
    if points.x.notna().all():
        fewest = known.loc[known.x[known.relative <= 1.1 * best.relative].idxmin()]
        return f"{fewest.x:g} exponent bits are enough for {name}: {fewest.setting} has an error of {fewest.relative:.2g} of its rms"
    if len(known) == len(points) and (known.relative <= 1.05 * best.relative).all():
        return f"the choice does not change the error of {name} by more than 5 %: {best.relative:.2g} of its rms"
    others = known.drop(best.name).head(6).itertuples()
    factors = ", ".join(f"{o.setting} {o.relative / best.relative:.3g} x" if best.relative > 0 else f"{o.setting} {o.relative:.2g}" for o in others)
    return f"{best.setting} has the least error of {name}, {best.relative:.2g} of its rms" + (f"; {factors}" if factors else "")


def _limits(points: Any, axis: str) -> list[str]:
    """What keeps errors from following a law, and the first overflow there."""
    bad = points.nonfinite > 0
    kinds = {"some values are not finite": bad, "the error is as large as the values": points.relative > _LOST,
             "a decision differs from the reference's": points.diverged & ~bad}  # fmt: skip
    lines = []
    for what, which in kinds.items():
        rows = points[which]
        node = next((node for node in rows.overflows if node), "")
        names = ", ".join(rows.setting.head(3)) + (f" and {len(rows) - 3} more" if len(rows) > 3 else "")
        missing = ": exponent bits are missing, not mantissa bits" if node and axis == "bits" else ""
        lines += [f"{names}: {what}{', after an overflow at ' + node if node else ''}{missing}"] if names else []
    return lines


def _floor(points: Any, law: Law) -> str:
    above = points.x.iloc[[law.first, law.last]].max() if law.count else -math.inf
    start = points.loc[points.x[(points.x > above) & (points.relative <= _LOST)].idxmin()]
    return f"from {start.setting} on more bits do not help: the error stays at {law.floor:.2g} of {start.place}'s rms"


def _tolerance(points: Any, outputs: Any, tolerance: float) -> str:
    """Which settings keep every output within it; of numbers the least from which on all do."""
    name = "every output" if outputs.place.nunique() > 1 else points.place.iloc[0]
    points = points.assign(met=(outputs.relative <= tolerance).groupby(outputs["index"]).all()[points.index])
    known = points[np.isfinite(points.relative)]
    if points.x.isna().any() and points.met.any():
        return f"{', '.join(points.setting[points.met])} keep{'s' if points.met.sum() == 1 else ''} {name} within {tolerance:g}"
    enough = [row for row in points.itertuples() if points.met[points.x >= row.x].all()]
    if known.empty or points.x.isna().any() or not enough:
        best = "" if known.empty else ": {0.setting} has the least error, {0.relative:.2g}".format(known.loc[known.relative.idxmin()])
        return f"none keeps {name} within {tolerance:g}{best}"
    least = min(enough, key=lambda row: float(row.x))
    below = known[known.x < least.x]
    beside = "" if below.empty else "; {0.setting} has {0.relative:.2g}".format(below.loc[below.x.idxmax()])
    return f"{least.setting} suffices for {tolerance:g}: its error is {least.relative:.2g}{beside}"


def _trials(row: Any) -> str:
    bits = "equal bits in most elements" if row.bits == math.inf else f"{row.bits:.1f} significant bits ({row.bits_low:.1f} at least)"
    return f"{row.setting}: {row.trials} trials, {bits}; bias {row.bias:.1e} +- {row.bias_width:.1e}: {'biased' if abs(row.bias) > row.bias_width else 'none seen'}"


def conclude(series: Series, points: Any, outputs: Any, law: Law | None, tolerance: float | None) -> list[str]:
    """Sentences about a series. points: of its worst output, by setting in its order; outputs: those of all outputs."""
    points = points.assign(x=series.x)
    lines = [f"{series.name}: " + (say_law(law, series.axis, points.place.iloc[0], series.x) if law else _least(points))]
    lines += _limits(points, series.axis)
    if law and law.floored:
        lines.append(_floor(points, law))
    if tolerance is not None:
        lines.append(_tolerance(points, outputs, tolerance))
    return lines + [_trials(row) for row in points.itertuples() if row.trials and not math.isnan(row.bits)]
