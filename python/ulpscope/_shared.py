"""What dataclasses of results share: copying structs, elements by name, frames."""

from __future__ import annotations

import dataclasses
import difflib
import os
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, Iterator, TypeVar

from ._errors import MissingPackageError, NotFoundError, UsageError
from ._library import decode, lib

if TYPE_CHECKING:
    import pandas

T = TypeVar("T")


def elements(array: Any, count: int) -> list[Any]:
    """What lies behind a pointer, which may be NULL."""
    return array[:count] if array else []


def name_of(array: Any, index: int) -> str:
    """Of an element of a list of texts, or of structs that have names."""
    element = array[index]
    return decode(element if element is None or isinstance(element, bytes) else element.name)


def find(items: list[T] | dict[str, T], key: str | int) -> T:
    """The element of that name, or at that place."""
    if isinstance(key, str) and isinstance(items, list):
        for item in items:
            if getattr(item, "name", None) == key:
                return item
    else:
        try:
            return items[key]  # type: ignore[index]
        except (LookupError, TypeError):
            pass
    names = list(items) if isinstance(items, dict) else [name for item in items if (name := getattr(item, "name", None)) is not None]
    near = difflib.get_close_matches(str(key), names, 3) or names[:3]
    told = f"{'there are' if len(names) > 1 else 'there is'} {', '.join(map(repr, near))}{f' and {len(names) - len(near)} more' if len(names) > len(near) else ''}" if near else "there is none at all"
    raise NotFoundError(f"there is no {key!r}: {told}")


class Record:
    """A struct of the library's as a dataclass."""

    _elements: ClassVar[str] = ""

    def _flat(self, nested: bool = True) -> dict[str, Any]:
        """Its figures by name; those of records in it as "entire.rms"."""
        row: dict[str, Any] = {}
        for f in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, f.name)
            if isinstance(value, Record):
                row |= {f"{f.name}.{name}": part for name, part in value._flat().items()} if nested else {}
            elif not isinstance(value, (list, dict)):
                row[f.name] = value
        return row

    def _rows(self, level: str = "", name: str = "") -> Iterator[dict[str, Any]]:
        """A row for each element of the lowest level, with the names and figures of all that it lies in."""
        own = self._flat(nested=not self._elements) if level else {}
        if level:
            own = {level: own.pop("name", name), **own}
        inside = getattr(self, self._elements, None)
        if inside is None:
            yield own
            return
        named = inside if isinstance(inside, dict) else {i: item for i, item in enumerate(inside)}
        for key, item in named.items():
            for row in item._rows(self._elements.rstrip("s"), key):
                yield {**own, **row}


def frame_of(rows: Iterator[dict[str, Any]]) -> pandas.DataFrame:
    try:
        import pandas
    except ImportError:
        raise MissingPackageError("frame() needs pandas: pip install pandas") from None
    return pandas.DataFrame(list(rows))


#: Those in use: the files that they are read from are mapped.
models: weakref.WeakSet[Any] = weakref.WeakSet()


def output(path: str | os.PathLike[str]) -> bytes:
    """A file to write, which is none that a model in use is read from."""
    name = os.fsencode(path)
    for model in list(models):
        if lib.ulp_model_is_read_from(model._model, name):
            raise UsageError(f"{os.fspath(path)}: is read as (part of) the model {model.path}, so nothing is written to it")
    return name
