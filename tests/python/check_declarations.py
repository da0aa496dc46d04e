"""The package's declarations beside what a C compiler says of the public headers: sizes of structs, places and sizes of their
fields, constants, and calls of every function with arguments of the declared types."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import ulpscope._declarations as d

include = pathlib.Path(sys.argv[1])
compiler = os.environ.get("CC", "cc").split()


def c_type(kind):
    """As C writes a ctypes type; structures that the headers hide are void."""
    if kind is None:
        return "void"
    if isinstance(kind, type) and issubclass(kind, ctypes.Structure):
        return f"struct {kind.__name__}"
    if kind is ctypes.c_char_p:
        return "const char *"
    if kind is ctypes.c_void_p:
        return "void *"
    target = getattr(kind, "_type_", None)
    if isinstance(target, type):
        return f"{c_type(target)} *" if target is not ctypes.c_char_p else "const char *const *"
    names = {
        ctypes.c_bool: "_Bool", ctypes.c_int: "int", ctypes.c_double: "double", ctypes.c_size_t: "size_t",
        ctypes.c_int64: "int64_t", ctypes.c_uint64: "uint64_t", ctypes.c_uint: "unsigned", ctypes.c_uint32: "uint32_t",
        ctypes.c_ssize_t: "ptrdiff_t", ctypes.c_float: "float", ctypes.c_char: "char", ctypes.c_ubyte: "unsigned char",
    }
    return names[kind]


def argument(kind):
    text = c_type(kind)
    if text.startswith("struct ") and not text.endswith("*"):
        return f"*({text} *)0"
    # what is written through two stars has no one type in ctypes
    return "(void *)0" if text.count("*") > 1 or text == "void *" else f"({text})0"


constants = {name: value for name, value in vars(d).items() if name.startswith("ULP_")}
lines = ["#include <stdio.h>", "#include <ulpscope.h>", "int main(int argc, char **argv)", "{", "(void)argv;"]
expected = []
for struct in d.STRUCTURES:
    name = struct.__name__
    lines.append(f'printf("%zu\\n", sizeof(struct {name}));')
    expected.append((f"sizeof {name}", ctypes.sizeof(struct)))
    for field, *_ in struct._fields_:
        place = getattr(struct, field)
        lines.append(f'printf("%zu\\n%zu\\n", offsetof(struct {name}, {field}), sizeof(((struct {name} *)0)->{field}));')
        expected += [(f"{name}.{field} offset", place.offset), (f"{name}.{field} size", place.size)]
for name, value in constants.items():
    lines.append(f'printf("%.17g\\n", (double){name});')
    expected.append((name, value))
lines.append("if (argc < 0) {")
for name, (result, arguments) in d.FUNCTIONS.items():
    call = f"{name}({', '.join(map(argument, arguments))})"
    if result is None:
        lines.append(f"{call};")
    else:
        lines.append(f"{{ __auto_type result = {call}; _Static_assert(sizeof result == {ctypes.sizeof(result)}, \"{name}\"); (void)result; }}")
lines += ["}", "return 0;", "}"]

assert len(d.FUNCTIONS) > 150 and len(d.STRUCTURES) > 80 and len(constants) > 100, "too little was declared"
with tempfile.TemporaryDirectory() as folder:
    source, program = pathlib.Path(folder) / "all.c", pathlib.Path(folder) / "all"
    source.write_text("\n".join(lines) + "\n")
    strict = ["-Werror=incompatible-pointer-types", "-Werror=int-conversion", "-Werror=implicit-function-declaration"]
    # calls are compiled, not linked: an undefined symbol is the linker's, which is left out
    subprocess.run([*compiler, "-std=gnu11", "-w", *strict, f"-I{include}", "-c", str(source), "-o", f"{program}.o"], check=True)
    cut = lines[: lines.index("if (argc < 0) {")] + ["return 0;", "}"]
    source.write_text("\n".join(cut) + "\n")
    subprocess.run([*compiler, "-std=gnu11", "-w", f"-I{include}", str(source), "-o", str(program)], check=True)
    said = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.split()
assert len(said) == len(expected)
wrong = [f"{what}: {value} here, {c} in C" for (what, value), c in zip(expected, said) if float(c) != value]
print("\n".join(wrong) or f"{len(d.STRUCTURES)} structs, {len(constants)} constants and {len(d.FUNCTIONS)} functions as in C")
sys.exit(bool(wrong))
