"""Names of arithmetics with braces, what they become, and the series of settings that differ in one pair of braces."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass
from typing import Any, Iterator, Sequence

from . import _declarations as d
from ._errors import UsageError
from ._numbers import Arithmetic

SETTINGS_MAX = 1000  # of all sweeps of a study
_NUMBER_MAX = 1_000_000


def _choices(text: str, inside: str) -> list[str]:
    """"4..12", "4..64..4" or "rne,rz"."""
    if ".." not in inside:
        words = inside.split(",")
        if not all(words):
            raise UsageError(f"sweep {text}: {{{inside}}}: a choice is empty")
        return words
    found = re.fullmatch(r"(-?[0-9]{1,8})\.\.(-?[0-9]{1,8})(?:\.\.([0-9]{1,8}))?", inside)
    first, last, step = (int(found[1]), int(found[2]), int(found[3] or 1)) if found else (0, 0, 0)
    if step < 1 or max(abs(first), abs(last), step) > _NUMBER_MAX:
        raise UsageError(f"sweep {text}: {{{inside}}}: expected {{A..B}} or {{A..B..STEP}}, whole numbers up to a million")
    return [str(n) for n in (range(first, last - 1, -step) if last < first else range(first, last + 1, step))]


class Sweep:
    """A text with braces."""

    def __init__(self, text: str) -> None:
        parts = re.split(r"\{([^{}]*)\}", text)
        self.text, self._around, self.braces = text, parts[::2], parts[1::2]
        if any(set(part) & set("{}") for part in self._around):
            raise UsageError(f"sweep {text}: braces that do not close, or are inside others")
        self.choices = [_choices(text, inside) for inside in self.braces]
        if math.prod(map(len, self.choices)) > SETTINGS_MAX:
            raise UsageError(f"sweep {text}: more than {SETTINGS_MAX} settings")

    def name(self, words: Sequence[str]) -> str:
        """With the words in place of the braces."""
        return "".join(part for pair in zip(self._around, [*words, ""]) for part in pair)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        """Every combination, the last braces changing fastest."""
        return itertools.product(*self.choices)


def expand(text: str) -> list[str]:
    """The names that a sweep becomes.

    >>> expand("e{4,5}m{1..3}")
    ['e4m1', 'e4m2', 'e4m3', 'e5m1', 'e5m2', 'e5m3']
    """
    sweep = Sweep(text)
    return [sweep.name(words) for words in sweep]


@dataclass
class Setting:
    """An arithmetic of a study."""

    text: str  #: as the first sweep has it
    arithmetic: Arithmetic
    trials: int  #: runs with drawn seeds; 0: one run


@dataclass
class Series:
    """Settings of one sweep that differ in one pair of braces only."""

    name: str  #: the sweep with that pair left as it was: "e5m{4..12}"
    axis: str  #: what changes: "bits", "length", "exponent" or "words"
    x: list[float]  #: NaN of words
    texts: list[str]
    settings: list[int]  #: indexes


def _blocked(order: str, block: str) -> Any:
    return lambda a: getattr(a, block) if getattr(a, order) == d.ULP_ORDER_BLOCKED else math.nan


# what a law can be about first; of a length, chains of sums: of how many products
_AXES: list[tuple[str, Any]] = [
    ("bits", lambda a: a.storage.precision - 1),
    ("length", _blocked("order", "order_block")),
    ("length", _blocked("reduce", "reduce_block")),
    ("length", lambda a: a.schedule.promote or math.nan),
    ("length", lambda a: a.schedule.split_k or math.nan),
    # of 2^bits patterns one or two are no exponents of normal numbers
    ("exponent", lambda a: math.ceil(math.log2(a.storage.emax - a.storage.emin + 2))),
]
_ORDER = ["bits", "length", "exponent", "words"]


def _find_axis(structs: Sequence[Any]) -> tuple[str, list[float]]:
    """What the settings differ in: all values are known, and each is another. Bits of formats that also differ in exponents are
    not swept; nor are exponents beside bits."""
    for axis, get in _AXES:
        x = [float(get(a)) for a in structs]
        other = {(a.storage.emin, a.storage.emax) if axis == "bits" else a.storage.precision if axis == "exponent" else 0 for a in structs}
        if len(structs) > 1 and len(other) == 1 and len(set(x)) == len(x) and not any(map(math.isnan, x)):
            return axis, x
    return "words", [math.nan] * len(structs)


def _series(sweep: Sweep, found: dict[tuple[str, ...], int], settings: Sequence[Setting], start: Sequence[str], brace: int) -> Series:
    """Combinations that differ from `start` in that pair alone."""
    choices = sweep.choices[brace] if sweep.choices else [""]
    combinations = [(*start[:brace], word, *start[brace + 1 :]) if sweep.choices else () for word in choices]
    indexes = [found[words] for words in combinations]
    axis, x = _find_axis([settings[i].arithmetic.struct for i in indexes])
    name = sweep.name([f"{{{sweep.braces[b]}}}" if b == brace else word for b, word in enumerate(start)])
    return Series(name, axis, x, [sweep.name(words) for words in combinations], indexes)


def make_settings(sweeps: Sequence[str], trials: int) -> tuple[list[Setting], list[Series]]:
    """Each setting once, in the order of the sweeps; and the series, of the pair of braces that a law can be about."""
    settings: list[Setting] = []
    series: list[Series] = []
    places: dict[tuple[str, int], int] = {}
    parsed = [Sweep(text) for text in sweeps]
    if not parsed:
        raise UsageError("a study needs a sweep, as e5m{4..12}")
    if sum(math.prod(map(len, sweep.choices)) for sweep in parsed) > SETTINGS_MAX:
        raise UsageError(f"the sweeps have more than {SETTINGS_MAX} settings")
    for sweep in parsed:
        found = {}
        for words in sweep:
            text = sweep.name(words)
            arithmetic = Arithmetic(text)
            drawn = trials if arithmetic.struct.rounding == d.ULP_ROUND_STOCHASTIC and "seed=" not in text else 0
            found[words] = places.setdefault((arithmetic.name, drawn), len(settings))
            if found[words] == len(settings):
                settings.append(Setting(text, arithmetic, drawn))
        first = next(iter(found))
        braces = range(max(len(sweep.choices), 1))
        brace = min(braces, key=lambda b: _ORDER.index(_series(sweep, found, settings, first, b).axis))
        starts = [words for words in found if not sweep.choices or words[brace] == sweep.choices[brace][0]]
        series += [_series(sweep, found, settings, words, brace) for words in starts]
    return settings, series
