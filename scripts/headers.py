"""The public headers, parsed: what scripts/python_declarations.py and scripts/result_fields.py have in common.

The headers use a small part of C: enums, structs (also inside structs), functions marked ULP_API, integer and string constants. Each
field of a struct has the comment that stands before it or behind it, which may end in a directive (scripts/result_fields.py)."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCALARS = {
    "bool": "c_bool", "char": "c_char", "int": "c_int", "double": "c_double", "float": "c_float",
    "size_t": "c_size_t", "ptrdiff_t": "c_ssize_t", "int64_t": "c_int64", "uint64_t": "c_uint64", "uint32_t": "c_uint32",
}
COMMENT = re.compile(r"/\*.*?\*/", re.S)
TOKEN = re.compile(r"/\*.*?\*/|\n|\w+|[{}()\[\];,*=]|\.\.\.|[-+]", re.S)


class Parser:
    def __init__(self, text):
        self.constants = {}
        for name, value in re.findall(r"^#define (ULP_\w+) +(\d+|\d+\.\d+)\s*$", COMMENT.sub(" ", text), flags=re.M):
            self.constants[name] = value
        text = re.sub(r"^#.*(\\\n.*)*$", "", text, flags=re.M)
        self.tokens = []
        self.comments = []  # (number of tokens before it, whether one of them is on its line, text)
        own_line = True
        for token in TOKEN.findall(text):
            if token == "\n":
                own_line = True
            elif token.startswith("/*"):
                words = re.sub(r"\n\s*\*", "\n", token[2:-2])
                self.comments.append((len(self.tokens), not own_line, " ".join(words.split())))
            else:
                self.tokens.append(token)
                own_line = False
        self.at = 0
        self.structs = {}  # name -> fields, in order of their completion
        self.said = {}  # (struct, field) -> comment
        self.enums = {}  # tag -> enumerators
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
        value, names = 0, []
        while not self.accept("}"):
            names.append(self.take())
            if self.accept("="):
                value = int(self.take())
            self.constants[names[-1]] = str(value)
            value += 1
            self.accept(",")
        return names

    def base_type(self):
        """(kind, name): ("scalar", ctypes' name), ("enum", tag), ("struct", name) or ("void", "")."""
        while self.accept("const"):
            pass
        word = self.take()
        if word == "enum":
            tag = self.take() if self.peek() != "{" else ""
            if self.accept("{"):
                self.enums[tag] = self.enum_body()
            result = ("enum", tag)
        elif word == "struct":
            name = self.take()
            if self.accept("{"):
                self.struct_body(name)
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

    def struct_body(self, name):
        fields = []
        while not self.accept("}"):
            first = self.at
            declared = self.declaration()
            fields += declared
            of_these = [text for at, behind, text in self.comments
                        if (first <= at < self.at and not (at == first and behind)) or (at == self.at and behind)]
            if self.tokens[first] == "struct" and "{" in self.tokens[first:self.at]:  # those inside are of its own fields
                inside = first + self.tokens[first:self.at].index("{")
                end = self.at - 1 - self.tokens[first:self.at][::-1].index("}")
                of_these = [text for at, behind, text in self.comments
                            if (at <= inside and at >= first and not (at == first and behind)) or (end < at <= self.at and behind)]
            for field, _ in declared:
                self.said[name, field] = " ".join(of_these)
        self.structs[name] = fields

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


def parse_headers():
    umbrella = (ROOT / "include" / "ulpscope.h").read_text()
    names = re.findall(r"#include <(ulpscope/\w+\.h)>", umbrella)
    parser = Parser("".join((ROOT / "include" / name).read_text() for name in names))
    parser.parse()
    return parser
