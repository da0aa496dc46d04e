"""What the library concludes: the records of the public headers, with what can be asked of a whole result."""

from __future__ import annotations

import json
import math
import os
import pathlib
import re
import tempfile
from ctypes import byref, c_bool
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from . import _declarations as d, records
from ._arrays import Array
from ._errors import UsageError
from ._library import Owner, call, decode, free, lib, text
from ._shared import Record, elements, frame_of, output
from ._tiles import axes, page

if TYPE_CHECKING:
    import pandas

R = TypeVar("R", bound="Result")


@dataclass(frozen=True)
class Saved:
    """In place of the library's object, of a result that was pickled."""

    text: str
    narrow: str
    files: dict[str, bytes]

    @property
    def value(self) -> Any:
        raise UsageError("this result was pickled: it has its figures, summary(), report(), write() and frame(); for more the library needs the result itself")


class Result(Record):
    """What has a text of its own and files."""

    _owner: Owner | Saved
    _text: ClassVar[str]
    _write: ClassVar[str]
    _as: ClassVar[tuple[int, ...]] = (d.ULP_OUTPUT_FOLDER,)  # how; (): the function writes in one way alone
    _file: ClassVar[str]  # its JSON

    def __init_subclass__(cls) -> None:
        cls.__repr__ = Result._line  # type: ignore[assignment]  # a dataclass's own would have every figure

    def _line(self) -> str:
        return f"<ulpscope.{type(self).__name__}: {self._headline()}>"

    @classmethod
    def take(cls: type[R], *owners: Owner | None) -> R:
        """Of the first; the others are what it points to."""
        assert owners[0]
        result: R = cls.of(owners[0].value, owners[0].value)  # type: ignore[attr-defined]
        vars(result).update(_owner=owners[0], _owners=owners)
        return result

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and joblib: the figures, the text and the files, which need no library where they are read."""
        state = dict(vars(self))
        owner = state.pop("_owner")
        state.pop("_owners", None)
        if not isinstance(owner, Saved):
            with tempfile.TemporaryDirectory() as folder:
                if hasattr(self, "_write"):
                    self.write(pathlib.Path(folder, self._file) if isinstance(self, OneFile) else folder)
                files = {path.name: path.read_bytes() for path in sorted(pathlib.Path(folder).iterdir())}
            owner = Saved(self.summary(), self.summary(100), files)
        return {**state, "_owner": owner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def summary(self, width: int = 0) -> str:
        """What the program prints, the verdict first. width: columns; 0: names are not cut."""
        if isinstance(self._owner, Saved):
            return self._owner.narrow if width else self._owner.text
        return self._summary(width)

    def _summary(self, width: int) -> str:
        return text(self._text, byref(self._owner.value), width, c_bool(False))

    def write(self, path: str | os.PathLike[str]) -> None:
        """The files that the program writes, into the folder, which is made when missing."""
        if isinstance(self._owner, Saved):
            pathlib.Path(path).mkdir(exist_ok=True)
            for name, data in self._owner.files.items():
                pathlib.Path(path, name).write_bytes(data)
            return
        call(self._write, byref(self._owner.value), *self._as, os.fsencode(path))

    def report(self) -> dict[str, Any]:
        """The JSON that `write` writes, as Python's own."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, self._file)
            self.write(path if isinstance(self, OneFile) else folder)
            result: dict[str, Any] = json.loads(path.read_text())
        return result

    def frame(self) -> pandas.DataFrame:
        """A row for each element of its lowest level (of an audit: each output of each node in each arithmetic), with the figures of all that it lies in:
        entire.rms, range.headroom_bits, ..."""
        return frame_of(self._rows())

    def __str__(self) -> str:
        return self.summary(100)

    def _headline(self) -> str:
        """The verdict up to where it goes on with more."""
        first = self.summary().partition("\n")[0]
        return re.split(r"; |\. (?=[A-Z])", first)[0].rstrip(".;:")

    def _repr_html_(self) -> str:
        """The first screen of the program's page: of several arithmetics the one whose tiles are worst."""
        said = self.report()
        return page([said] if "tiles" in said else said.get("lanes", said.get("files", [])), self.summary(100))


class OneFile(Result):
    """What is written into one file."""

    _as: ClassVar[tuple[int, ...]] = (d.ULP_OUTPUT_JSON,)

    def write(self, path: str | os.PathLike[str]) -> None:
        """All figures as JSON. A file that a Model in use is read from is refused."""
        if isinstance(self._owner, Saved):
            pathlib.Path(os.fsdecode(output(path))).write_bytes(self._owner.files[self._file])
            return
        call(self._write, byref(self._owner.value), *self._as, output(path))


_NAME = 72  # of an arithmetic in one line: that of bits has a part for each layer
_RANK = ["broken", "borderline", "fine", "not judged"]


@dataclass(frozen=True)
class Crossing(records.AuditCrossing):
    """A limit that is not met."""

    value: float
    limit: float


class Audit(records.Audit, Result):
    """Which node introduces error, which only carries it, which overflows."""

    _text, _write, _file = "ulp_report_text", "ulp_report_write", "report.json"
    _as = ()

    @property
    def fine(self) -> bool:
        """Every output that can be judged, of which there is one at least, is good for what it is for in every arithmetic."""
        grades = {output.judged.grade for lane in self.lanes for output in lane.outputs} - {"not judged"}
        return grades == {"fine"}

    def check(self, limit: str, *, allow_nonfinite_inputs: bool = False) -> list[Crossing]:
        """What does not meet "METRIC=VALUE", as --fail-above takes it; empty: everything does."""
        found = d.ulp_crossing_list()
        call("ulp_audit_check", byref(self._owner.value), limit.encode(), allow_nonfinite_inputs, byref(found))
        crossings = []
        for c in elements(found.items, found.count):
            said = text("ulp_crossing_text", byref(c), limit.encode())
            crossings.append(Crossing(decode(c.arithmetic), decode(c.output), said, c.value, c.limit))
        free(found.items)
        return crossings

    def ranking(self, arithmetic: str) -> list[records.AuditNode]:
        """The arithmetic's nodes by their share in the error of the outputs (of several: of attribution.output), the largest first."""
        return sorted((n for n in self[arithmetic].nodes if not math.isnan(n.share)), key=lambda n: -abs(n.share))

    def _headline(self) -> str:
        names = [lane.name if len(lane.name) <= _NAME else lane.name[: max(lane.name.rfind(",", 0, _NAME), _NAME // 2)] + ",..." for lane in self.lanes]
        grades = [{o.judged.grade for o in lane.outputs} for lane in self.lanes]
        said = (" ".join([name, *[grade for grade in _RANK if grade in found][:1]]) for name, found in zip(names, grades))
        return f"{os.path.basename(self.model_path)}: {', '.join(said)}"

    def plot(self, arithmetic: str | int = 0, ax: Any = None) -> Any:
        """Error along the depth: what each node introduces and carries, over the rms of its result. Needs matplotlib; returns the axes."""
        ax, lane = axes(ax), self[arithmetic]
        for view, style in (("introduced", "."), ("carried", "-")):
            points = [max((getattr(o, view).rms / o.range.ref_rms for o in n.outputs if o.range.ref_rms > 0), default=math.nan) for n in lane.nodes]
            ax.semilogy([n.index for n in lane.nodes], [p if p > 0 else math.nan for p in points], style, label=view)
        ax.set(xlabel="node", ylabel="rms error / rms", title=f"{os.path.basename(self.model_path)} in {lane.name}")
        ax.legend()
        return ax


class Overflow(records.OverflowForecast, Result):
    """What will overflow, from the reference's values alone."""

    _text, _write, _file = "ulp_overflow_text", "ulp_overflow_write", "overflow.json"


class Proof(records.Proof, Result):
    """That nothing overflows, for every input of a box."""

    _text, _write, _file = "ulp_proof_text", "ulp_proof_write", "proof.json"

    @property
    def proven(self) -> bool:
        """Of every value, of which there is one at least."""
        outputs = [output for node in self.nodes for output in node.outputs]
        return bool(outputs) and all(output.verdict == "proven" for output in outputs)


class LintResult(records.LintResult, OneFile):
    """What in a model is known to cost accuracy."""

    _write, _file = "ulp_lint_write", "lint.json"

    def _summary(self, width: int) -> str:
        return text("ulp_lint_text", byref(self._owner.value), 0, width, c_bool(False))


class Doctor(records.Doctor, Result):
    """Whether a model comes out right where it is to run, and if not, why."""

    _text, _write, _file = "ulp_doctor_text", "ulp_doctor_write", "doctor.json"

    @property
    def fine(self) -> bool:
        return self.grade == "fine"

    def html(self, path: str | os.PathLike[str]) -> None:
        """One page of all steps."""
        call(self._write, byref(self._owner.value), d.ULP_OUTPUT_HTML, output(path))


class Fix(records.Fix, OneFile):
    """What was done to a model so that it comes out right."""

    _text, _write, _file = "ulp_fix_text", "ulp_fix_write", "fix.json"

    def html(self, path: str | os.PathLike[str]) -> None:
        """The same as one page."""
        call(self._write, byref(self._owner.value), d.ULP_OUTPUT_HTML, output(path))


class Scales(records.Scales, OneFile):
    """What formats with scales do to the factors of products."""

    _text, _write, _file = "ulp_scales_text", "ulp_scales_write", "scales.json"


class Tolerance(records.Tolerance, OneFile):
    """What tolerance an arithmetic can meet."""

    _text, _write, _file = "ulp_tolerance_text", "ulp_tolerance_write", "tolerance.json"

    def excess(self, output: str, atol: float, rtol: float = 0.0) -> float:
        """How many times too tight |x - reference| <= atol + rtol |reference| is for the output, in its tightest sample; at most 1: it is met."""
        index = self.outputs.index(self[output])
        return float(lib.ulp_tolerance_excess(byref(self._owner.value.outputs[index]), atol, rtol))


class Comparison(records.Comparison, Result):
    """Whether recordings differ from the reference as their arithmetic does."""

    _text, _write, _file = "ulp_comparison_text", "ulp_comparison_write", "compare.json"


class Search(records.Search, Result):
    """The cheapest plan that was found with which the outputs meet the tolerances. The files are those for runtimes, too (doc/plan.md)."""

    _write, _file = "ulp_search_write", "plan.json"

    #: its nodes by the patterns of --keep, in the arithmetics that it gives them: for `keep=` and `plan=` of a Model's methods
    keep: dict[str, str]

    @classmethod
    def take(cls, *owners: Owner | None) -> Search:
        result: Search = super().take(*owners)
        struct = result._owner.value
        vars(result)["keep"] = {decode(e.pattern): decode(e.arithmetic) for e in elements(struct.entries, struct.entry_count)}
        return result

    def _summary(self, width: int) -> str:
        return text("ulp_search_text", byref(self._owner.value), width, c_bool(False))

    def _headline(self) -> str:
        return re.sub(r" \([^()]*\)", "", super()._headline())

    def frame(self) -> pandas.DataFrame:
        """A row for each kept node of a plan, else for each layer."""
        return frame_of(row for part in (self.kept if self.by_node else self.layers) for row in part._rows("node"))
