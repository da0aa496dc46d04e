"""Showing how far a run is: a bar in a notebook, a line on a terminal, or the caller's own function."""

from __future__ import annotations

import sys
import time
from typing import Any, Callable, Union

# True: shown; a function gets the share done, 0 to 1, and the name of the node that was computed
ProgressOption = Union[bool, Callable[[float, str], None], None]


class Progress:
    """Of one call, which may be several runs one after the other: update's share is of the current one."""

    def __init__(self, runs: int = 1) -> None:
        self.runs, self.run = max(runs, 1), 0

    def begin(self) -> None:
        pass

    def end(self) -> None:
        pass

    def update(self, share: float, name: str) -> None:
        self.show(min((self.run + share) / self.runs, 1.0), name)

    def show(self, share: float, name: str) -> None:
        raise NotImplementedError


class _Function(Progress):
    def __init__(self, function: Callable[[float, str], None], runs: int) -> None:
        super().__init__(runs)
        self._function = function

    def show(self, share: float, name: str) -> None:
        self._function(share, name)


class _Slowly(Progress):
    """Shown ten times a second at most."""

    _last = 0.0

    def show(self, share: float, name: str) -> None:
        now = time.monotonic()
        if now - self._last >= 0.1:
            self._last = now
            self.draw(share, name)

    def draw(self, share: float, name: str) -> None:
        raise NotImplementedError


class _Terminal(_Slowly):
    def draw(self, share: float, name: str) -> None:
        sys.stderr.write(f"\r{share:4.0%} {name:.60}\x1b[K")
        sys.stderr.flush()

    def end(self) -> None:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


class _Notebook(_Slowly):
    def __init__(self, runs: int, display: Any) -> None:
        super().__init__(runs)
        self._display, self._handle = display, None

    def draw(self, share: float, name: str) -> None:
        import html

        from IPython.display import HTML

        bar = HTML(f"<progress max='1' value='{share:.3f}'></progress> {share:.0%} <code>{html.escape(name)}</code>")
        if self._handle is None:
            self._handle = self._display(bar, display_id=True)
        else:
            self._handle.update(bar)

    def end(self) -> None:
        if self._handle is not None:
            from IPython.display import HTML

            self._handle.update(HTML(""))


def _notebook_display() -> Any:
    """IPython's display when this is a notebook's kernel."""
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    if current is None or not hasattr(current, "kernel"):
        return None
    from IPython.display import display

    return display


def make_progress(option: ProgressOption, runs: int = 1) -> Progress | None:
    if callable(option):
        return _Function(option, runs)
    if not option:
        return None
    display = _notebook_display()
    return _Notebook(runs, display) if display is not None else _Terminal(runs)
