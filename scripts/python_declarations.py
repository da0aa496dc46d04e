#!/usr/bin/env python3
"""Write what the public headers declare, for ctypes: python/ulpscope/_declarations.py, or the file named.

    scripts/python_declarations.py [OUT.py]

setup.py and the tests run it; the file is in no commit. The headers use a small part of C: enums, structs (also inside structs), functions marked ULP_API, integer and
string constants. tests/python/check_declarations.py compares the result with what a C compiler says."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from headers import ROOT, parse_headers  # noqa: E402


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


def main():
    parser = parse_headers()
    parser.functions["ulp_version"] = ((("scalar", "c_char"), 1), [])
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python" / "ulpscope" / "_declarations.py"
    out.write_text(Writer(parser).write())


main()
