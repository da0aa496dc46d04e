"""Results as notebooks show them: one sentence, tiles of figures, the program's text behind them; and pictures, where matplotlib is."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Any, Iterable

from ._errors import MissingPackageError

#: paper and ink, which can be told apart without red and green; words say the same
_COLOURS = {"bad": ("#fff3ea", "#a83600"), "warn": ("#fdf7e3", "#7a5a00"), "good": ("#eef5fc", "#0b5cad"), "plain": ("#f6f8fa", "#1a2129")}
GRADES = {"fine": "good", "borderline": "warn", "broken": "bad"}


@dataclass(frozen=True)
class Tile:
    title: str
    value: str
    note: str = ""
    level: str = "plain"


def decibels(before: float | None, after: float, note: str, level: str = "plain") -> Tile:
    def said(value: float) -> str:
        return f"{value:.1f}" if math.isfinite(value) else "–"

    return Tile("signal to error", f"{said(before)} → {said(after)} dB" if before is not None else f"{said(after)} dB", note, level)


def kept(count: int, all_: int, note: str = "") -> Tile:
    return Tile("kept in the wider format", f"{count} of {all_} node{'' if all_ == 1 else 's'}", note)


def page(headline: str, tiles: Iterable[Tile], text: str) -> str:
    boxes = []
    for tile in tiles:
        paper, ink = _COLOURS[tile.level]
        boxes.append(
            f'<div style="background:{paper};color:{ink};border:1px solid {ink}40;border-radius:8px;padding:8px 12px;min-width:9em">'
            f'<div style="font-size:0.8em">{html.escape(tile.title)}</div><strong style="font-size:1.2em">{html.escape(tile.value)}</strong>'
            f'<div style="font-size:0.8em">{html.escape(tile.note)}</div></div>'
        )
    row = f'<div style="display:flex;flex-wrap:wrap;gap:8px;margin:8px 0">{"".join(boxes)}</div>' if boxes else ""
    return f"<div><strong>{html.escape(headline)}</strong>{row}<details{'' if boxes else ' open'}><summary>in full</summary><pre>{html.escape(text)}</pre></details></div>"


def axes(ax: Any) -> Any:
    """The axes to draw into: those given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingPackageError("plot() needs matplotlib: pip install matplotlib") from None
    return pyplot.subplots(figsize=(8, 4), layout="constrained")[1]
