#!/usr/bin/env python3
"""Write what the public headers declare, for Python: python/ulpscope/_declarations.py for ctypes, and records.py, results as dataclasses.

    scripts/python_declarations.py [FOLDER]

setup.py and the tests run it; the files are in no commit. The headers use a small part of C: enums, structs (also inside structs), functions marked ULP_API, integer and
string constants. tests/python/check_declarations.py compares the declarations with what a C compiler says. The dataclasses are made of the tables by which results become
JSON (scripts/result_fields.py), so they have the same members: lists know their own length, an index of nothing and a text of nothing are None."""
import keyword
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from headers import ROOT, parse_headers  # noqa: E402
from result_fields import LEAVES, Tables  # noqa: E402


class Writer:
    def __init__(self, parser):
        self.parser = parser

    def pointer(self, base, stars):
        kind, name = base if base[0] != "enum" else ("scalar", "c_int")
        if stars == 0:
            return "None" if kind == "void" else f"c.{name}" if kind == "scalar" else name
        if kind == "void" or (kind == "struct" and name not in self.parser.structs):
            result, stars = "c.c_void_p", stars - 1
        elif (kind, name) == ("scalar", "c_char"):
            result, stars = "c.c_char_p", stars - 1
        else:
            result = f"c.{name}" if kind == "scalar" else name
        for _ in range(stars):
            result = f"c.POINTER({result})"
        return result

    def kind(self, kind, argument=False):
        if kind[0] == "function":
            arguments = [self.pointer(*kind[1])] + [self.kind(k, True) for k in kind[2]]
            return f"c.CFUNCTYPE({', '.join(arguments)})"
        _, (base, stars), lengths = kind
        if argument and lengths:
            return self.pointer(base, stars + 1)
        result = self.pointer(base, stars)
        for length in reversed(lengths):
            result = f"{result} * {length}"
        return result

    def write(self):
        lines = ['"""The public headers for ctypes. Written by scripts/python_declarations.py: change it there."""', "",
                 "import ctypes as c", "from typing import Any", "", "from ._checked import Structure", ""]
        lines += [f"{name} = {value}" for name, value in self.parser.constants.items()]
        for name in self.parser.structs:
            lines += ["", "", f"class {name}(Structure):", "    pass"]
        lines += ["", ""]
        for name, fields in self.parser.structs.items():
            lines.append(f"{name}._fields_ = [")
            lines += [f'    ("{field}", {self.kind(kind)}),' for field, kind in fields]
            lines.append("]")
        lines += ["", "# name: (result, arguments)", "FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {"]
        for name, (result, arguments) in self.parser.functions.items():
            lines.append(f'    "{name}": (')
            lines.append(f"        {self.pointer(*result)},")
            lines.append(f"        [{', '.join(self.kind(a, True) for a in arguments)}],")
            lines.append("    ),")
        lines += ["}", ""]
        lines += ["STRUCTURES: list[type[c.Structure]] = [", *(f"    {name}," for name in self.parser.structs), "]", ""]
        return "\n".join(lines)


# what result[NAME] looks in, and what the rows of a frame go down to
ELEMENTS = {
    "ulp_audit": "lanes", "ulp_audit_lane": "nodes", "ulp_audit_node": "outputs", "ulp_overflow_forecast": "lanes", "ulp_overflow_lane": "nodes",
    "ulp_overflow_node": "outputs", "ulp_proof": "nodes", "ulp_proof_node": "outputs", "ulp_lint_result": "findings", "ulp_tolerance": "outputs", "ulp_scales": "tensors",
    "ulp_comparison": "files", "ulp_search": "layers",
    "ulp_doctor": "causes", "ulp_fix": "edits",
}
# structs that are told as one of their lists
LISTS = {"ulp_unjudged_list": "items", "ulp_audit_lane.outputs": "outputs"}
NUMBERS = {"c_bool": "bool", "c_double": "float"}
THERE = {"c_bool": "", "c_size_t": "", "c_ssize_t": " >= 0"}  # of a struct's first member: whether it says anything


class Records:
    """Results as dataclasses that copy themselves from the structs. Of a member and where it lies, methods give Python's type and expression."""

    def __init__(self, parser):
        self.tables = Tables(parser)
        self.structs = [s for order in self.tables.files.values() for s in order if s not in LEAVES and s not in LISTS]

    @staticmethod
    def name(struct):
        return "".join(part.capitalize() for part in struct.split("_")[1:])

    def named(self, tag, value):
        function, count = self.tables.words[tag]
        return f"decode(lib.{function}({value}{', None' * (count - 1)}))"

    def struct(self, m, at):
        list_ = LISTS.get(m.tag) or LISTS.get(f"{m.struct}.{m.name}")
        if list_:
            return self.many(next(e for e in self.tables.members(m.tag) if e.name == list_), at)
        return ("str", f"decode({at}.name)") if m.tag in LEAVES else (self.name(m.tag), f"{self.name(m.tag)}.of({at}, root)")

    def one(self, m, at):
        if m.base == "struct":
            return self.struct(m, at)
        if m.text:
            return ("str | None", f"decode({at}) if {at} is not None else None") if "NULL:" in m.meaning else ("str", f"decode({at})")
        kind, value = NUMBERS.get(m.tag, "int"), at
        if m.directive("in"):
            kind, value = "str", f"name_of(root.{m.directive('in')}, {at})"
        elif m.base == "enum" and m.tag in self.tables.words:
            kind, value = "str", self.named(m.tag, at)
        return (f"{kind} | None", f"{value} if {at} >= 0 else None") if m.tag == "c_ssize_t" else (kind, value)

    def many(self, m, at):
        kind, value = self.one(m, "e")
        each, at, count = m.directive("each"), f"{at}.{m.name}", m.count and f"{at}.{m.count}"
        if each:
            of = next(e for s in self.structs for e in self.tables.members(s) if e.name == each and e.count)
            return f"dict[str, {kind}]", f"{{name_of(root.{each}, i): {value} for i, e in enumerate(elements({at}, root.{of.count}))}}"
        if m.directive("by"):
            return f"dict[str, {kind}]", f"{{{self.named(m.directive('by'), 'i')}: {value} for i, e in enumerate({at})}}"
        all_ = f"elements({at}, {count})" if count else at
        return f"list[{kind}]", all_ if value == "e" else f"[{value} for e in {all_}]"

    def field(self, m):
        """None: Python has no such field."""
        at = f's.{m.name}' if not keyword.iskeyword(m.name) else f'getattr(s, "{m.name}")'
        if m.counts and (not self.tables.said(m) or "apart" in m.flags):
            return None
        if m.count or m.directive("each") or m.lengths and not m.text:
            return self.many(m, "s")
        if m.base != "struct":
            return self.one(m, at)
        if m.stars:
            kind, value = self.struct(m, f"{at}[0]")
            return None if "apart" in m.flags else (f"{kind} | None", f"{value} if {at} else None")
        kind, value = self.struct(m, at)
        first = self.tables.members(m.tag)[0]
        if first.base == "scalar" and first.tag in THERE and not first.array() and "node" not in first.flags and kind == self.name(m.tag):
            return f"{kind} | None", f"{value} if {at}.{first.name}{THERE[first.tag]} else None"
        return kind, value

    def record(self, struct):
        fields = [(m, self.field(m)) for m in self.tables.members(struct)]
        fields = [(m.name + "_" * keyword.iskeyword(m.name), *field, re.sub(r"(NULL|-1): ", "None: ", m.meaning)) for m, field in fields if field]
        lines = ["", "", "@dataclass(frozen=True)", f"class {self.name(struct)}(Record):", f'    """struct {struct}"""', ""]
        lines += [f"    {name}: {kind}" + (f"  #: {meaning}" if meaning else "") for name, kind, _, meaning in fields]
        elements = next((f for f in fields if f[0] == ELEMENTS.get(struct)), None)
        if elements:
            kind = re.sub(r"^(list\[|dict\[str, )|\]$", "", elements[1])
            lines += ["", f'    _elements: ClassVar[str] = "{elements[0]}"', "",
                      f"    def __getitem__(self, key: str | int) -> {kind}:", f"        return find(self.{elements[0]}, key)"]
        values = [f"            {value}," for _, _, value, _ in fields]
        return lines + ["", "    @classmethod", "    def of(cls, s: Any, root: Any) -> Any:", "        return cls(", *values, "        )"]

    def write(self):
        lines = ['"""Results as dataclasses, copied from the structs of the public headers. Written by scripts/python_declarations.py: change it there.', "",
                 "Texts and indexes of nothing are None, NaN is \"not defined\", and result[NAME] is the element of that name in a result's list.", '"""', "",
                 "from __future__ import annotations", "", "from dataclasses import dataclass", "from typing import Any, ClassVar", "",
                 "from ._library import decode, lib", "from ._shared import Record, elements, find, name_of"]
        return "\n".join(lines + [line for struct in self.structs for line in self.record(struct)]) + "\n"


def main():
    parser = parse_headers()
    parser.functions["ulp_version"] = ((("scalar", "c_char"), 1), [])
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python" / "ulpscope"
    (folder / "_declarations.py").write_text(Writer(parser).write())
    (folder / "records.py").write_text(Records(parser).write())


main()
