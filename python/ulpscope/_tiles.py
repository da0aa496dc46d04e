"""Results as notebooks show them: one sentence, tiles of figures, the program's text behind them; and pictures, where matplotlib is."""

from __future__ import annotations

import html
from typing import Any

from ._errors import MissingPackageError

#: paper and ink, which can be told apart without red and green; words say the same
_COLOURS = {"bad": ("#fff3ea", "#a83600"), "warn": ("#fdf7e3", "#7a5a00"), "good": ("#eef5fc", "#0b5cad"), "plain": ("#f6f8fa", "#1a2129")}
_LEVELS = list(_COLOURS)


def _tile(tile: dict[str, Any]) -> str:
    paper, ink = _COLOURS[tile["level"]]
    title, value, note = (html.escape(tile[key]) for key in ("title", "value", "note"))
    return (
        f'<div style="background:{paper};color:{ink};border:1px solid {ink}40;border-radius:8px;padding:8px 12px;min-width:9em">'
        f'<div style="font-size:0.8em">{title}</div><strong style="font-size:1.2em">{value}</strong><div style="font-size:0.8em">{note}</div></div>'
    )


def page(parts: list[dict[str, Any]], text: str) -> str:
    """parts: what the report has "tiles" of, itself or its arithmetics, of which the worst is shown."""
    none: dict[str, Any] = {"tiles": []}
    worst: dict[str, Any] = min(parts, key=lambda part: min((_LEVELS.index(tile["level"]) for tile in part["tiles"]), default=len(_LEVELS)), default=none)
    headline = worst.get("headline") or text.partition("\n")[0]
    row = f'<div style="display:flex;flex-wrap:wrap;gap:8px;margin:8px 0">{"".join(map(_tile, worst["tiles"]))}</div>' if worst["tiles"] else ""
    return f"<div><strong>{html.escape(headline)}</strong>{row}<details{'' if row else ' open'}><summary>in full</summary><pre>{html.escape(text)}</pre></details></div>"


def axes(ax: Any) -> Any:
    """The axes to draw into: those given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingPackageError("plot() needs matplotlib: pip install matplotlib") from None
    return pyplot.subplots(figsize=(8, 4), layout="constrained")[1]
