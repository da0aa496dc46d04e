#!/usr/bin/env python3
"""Write what the public headers declare, for ctypes: python/ulpscope/_declarations.py, or the file named.

    scripts/python_declarations.py [OUT.py]

python/setup.py and the tests run it; the file is in no commit. The headers use a small part of C: enums, structs (also inside structs), functions marked ULP_API, integer and
string constants. tests/python/check_declarations.py compares the result with what a C compiler says."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCALARS = {
    "bool": "c_bool", "char": "c_char", "int": "c_int", "double": "c_double", "float": "c_float",
    "size_t": "c_size_t", "ptrdiff_t": "c_ssize_t", "int64_t": "c_int64", "uint64_t": "c_uint64", "uint32_t": "c_uint32",
}


class Parser:
    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
        text = text.replace("\\\n", " ")
        self.constants = {}
        for name, value in re.findall(r"^#define (ULP_\w+) +(\d+|\d+\.\d+)\s*$", text, flags=re.M):
            self.constants[name] = value
        text = re.sub(r"^#.*$", "", text, flags=re.M)
        self.tokens = re.findall(r"\w+|[{}()\[\];,*=]|\.\.\.|[-+]", text)
        self.at = 0
        self.structs = {}  # name -> fields, in order of their completion
        self.functions = {}  # name -> (result, arguments)

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    def take(self, expected=None):
        token = self.tokens[self.at]
        if expected and token != expected:
            raise SystemExit(f"expected {expected!r} at {' '.join(self.tokens[max(0, self.at - 9):self.at + 9])}")
        self.at += 1
        return token

    def accept(self, token):
        if self.peek() == token:
            self.at += 1
            return True
        return False

    def parse(self):
        while self.peek() is not None:
            if self.accept("ULP_API"):
                self.function()
            elif self.peek() in ("enum", "struct"):
                self.base_type()
                self.take(";")
            else:
                raise SystemExit(f"not understood: {' '.join(self.tokens[self.at:self.at + 12])}")

    def enum_body(self):
        value = 0
        while not self.accept("}"):
            name = self.take()
            if self.accept("="):
                value = int(self.take())
            self.constants[name] = str(value)
            value += 1
            self.accept(",")

    def base_type(self):
        """(kind, name): ("scalar", ctypes' name), ("struct", name) or ("void", "")."""
        while self.accept("const"):
            pass
        word = self.take()
        if word == "enum":
            if self.peek() != "{":
                self.take()
            if self.accept("{"):
                self.enum_body()
            result = ("scalar", "c_int")
        elif word == "struct":
            name = self.take()
            if self.accept("{"):
                fields = []
                while not self.accept("}"):
                    fields += self.declaration()
                self.structs[name] = fields
            result = ("struct", name)
        elif word == "void":
            result = ("void", "")
        elif word == "unsigned":
            result = ("scalar", "c_ubyte" if self.accept("char") else "c_uint")
        else:
            result = ("scalar", SCALARS[word])
        while self.accept("const"):
            pass
        return result

    def declaration(self):
        base = self.base_type()
        fields = []
        while True:
            name, kind = self.declarator(base)
            fields.append((name, kind))
            if not self.accept(","):
                break
        self.take(";")
        return fields

    def declarator(self, base):
        stars = self.stars()
        if self.accept("("):  # a pointer to a function
            self.take("*")
            name = self.take()
            self.take(")")
            return name, ("function", (base, stars), self.arguments())
        name = self.take() if re.match(r"\w+$", self.peek() or "") else ""
        lengths = []
        while self.accept("["):
            lengths.append(self.number())
        return name, ("value", (base, stars), lengths)

    def number(self):
        """A sum of numbers and constants, up to "]"."""
        total = 0
        while not self.accept("]"):
            word = self.take()
            total += 0 if word == "+" else int(self.constants.get(word, word))
        return total

    def stars(self):
        stars = 0
        while self.accept("*"):
            stars += 1
            while self.accept("const"):
                pass
        return stars

    def arguments(self):
        self.take("(")
        arguments = []
        if self.peek() == "void" and self.tokens[self.at + 1] == ")":
            self.take()
        while not self.accept(")"):
            base = self.base_type()
            arguments.append(self.declarator(base)[1])
            self.accept(",")
        return arguments

    def function(self):
        base = self.base_type()
        stars = self.stars()
        name = self.take()
        self.functions[name] = ((base, stars), self.arguments())
        self.take(";")


class Writer:
    def __init__(self, parser):
        self.parser = parser

    def pointer(self, base, stars):
        kind, name = base
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
    umbrella = (ROOT / "include" / "ulpscope.h").read_text()
    parser = Parser("".join((ROOT / "include" / name).read_text() for name in re.findall(r"#include <(ulpscope/\w+\.h)>", umbrella)))
    parser.parse()
    parser.functions["ulp_version"] = ((("scalar", "c_char"), 1), [])
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "python" / "ulpscope" / "_declarations.py"
    out.write_text(Writer(parser).write())


main()
