"""What dataclasses of results share: filling them from structs, frames, tables, and results that write themselves."""

from __future__ import annotations

import dataclasses
import html
import os
import weakref
from ctypes import byref, c_bool
from typing import TYPE_CHECKING, Any, Iterable, TypeVar

from ._errors import UsageError
from ._library import Owner, call, decode, lib, text

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


def unjudged_of(struct: Any) -> list[str]:
    """What the result says nothing of, a sentence each."""
    return [text("ulp_unjudged_text", byref(struct.unjudged.items[i])) for i in range(struct.unjudged.count)]


def frame_of(rows: Iterable[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise ImportError("frame() needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows))


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """A dataclass of numbers and of such dataclasses as one row: "entire.rms"."""
    row: dict[str, Any] = {}
    for f in dataclasses.fields(value):
        part = getattr(value, f.name)
        if dataclasses.is_dataclass(part):
            row.update(flat(part, f"{prefix}{f.name}."))
        elif isinstance(part, (int, float, str, bool)) or part is None:
            row[prefix + f.name] = part
    return row


def table(head: list[str], rows: Iterable[Iterable[Any]]) -> str:
    """As HTML; names of a model are harmless in it."""

    def cell(value: Any) -> str:
        shown = f"{value:.4g}" if isinstance(value, float) else str(value)
        return f"<td>{html.escape(shown)}</td>"

    lines = "".join(f"<tr>{''.join(map(cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{''.join(f'<th>{html.escape(h)}</th>' for h in head)}</tr></thead><tbody>{lines}</tbody></table>"


def option(path: str | os.PathLike[str]) -> bytes:
    return os.fsencode(path)


#: Those in use: the files that they are read from are mapped.
models: weakref.WeakSet[Any] = weakref.WeakSet()


def output(path: str | os.PathLike[str]) -> bytes:
    """A file to write, which is none that a model in use is read from."""
    name = os.fsencode(path)
    for model in list(models):
        if lib.ulp_model_is_read_from(model._model, name):
            raise UsageError(f"{os.fspath(path)}: is read as (part of) the model {model.path}, so nothing is written to it")
    return name


class Written:
    """What has a text of its own and files."""

    _owner: Owner
    _summary: str
    _write: str

    def summary(self, width: int = 0) -> str:
        """What the program prints, the verdict first. width: columns; 0: names are not cut."""
        return text(self._summary, byref(self._owner.value), width, c_bool(False))

    def write(self, folder: str | os.PathLike[str]) -> None:
        """The files that the program writes, into the folder, which is made when missing."""
        call(self._write, byref(self._owner.value), option(folder))

    def __str__(self) -> str:
        return self.summary(100)
