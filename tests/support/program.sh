# What tests of the program share: where it is, a folder to work in that goes away, and what is expected.
set -u
program_folder=$(cd "${top_builddir:-.}" && pwd)
program=${ULPSCOPE_PROGRAM:-$program_folder/ulpscope}
source=$(cd "${top_srcdir:-.}" && pwd)
model=$source/examples/digits/model.onnx
inputs=$source/examples/digits/inputs.npz
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
failed=0
# The Python of tests: one that comes first on PATH may lack what ULPSCOPE_TEST_PYTHON has.
python3() { command "${ULPSCOPE_TEST_PYTHON:-python3}" "$@"; }
# python ARGUMENT... <<'END': a script that need not import what most do: modules of the standard's, numpy as np, examples/onnx_writer
python() {
    PYTHONPATH=$source/examples python3 -c 'import sys
from onnx_writer import *
text = sys.stdin.read()
for name in "json", "math", "os", "re", "struct", "subprocess", "zipfile":
    if name + "." in text:
        globals()[name] = __import__(name)
if "np." in text:
    import numpy as np
exec(compile(text, "<stdin>", "exec"))' "$@"
}
fail() { echo "FAIL $1"; failed=1; }

# expect CODE NAME COMMAND...: runs it, keeps stdout in out and stderr in err.
expect() {
    local code=$1 name=$2 got
    shift 2
    "$@" >out 2>err
    got=$?
    [ "$got" -eq "$code" ] || { fail "$name: exit $got, expected $code"; sed 's/^/    /' err | head -5; }
}
# shows FILE TEXT NAME
# (a sentence may go on in the next line)
shows() { grep -qF -- "$2" "$1" || tr -s '\n ' '  ' <"$1" | tr -s ' ' | grep -qF -- "$2" || { fail "$3: '$2' is not in $1:"; sed 's/^/    /' "$1" | head -20; }; }
# fields FILE EXPRESSION NAME: what Python says of r, the JSON in the file
fields() { python3 -c 'import json, sys
r = json.load(open(sys.argv[1])); sys.exit(not eval(sys.argv[2]))' "$1" "$2" || fail "$3: not $2 in $1"; }
lines() { [ "$(wc -l <"$1")" -le "$2" ] || fail "$3: more than $2 lines in $1"; }
# says CODE NAME TEXT ARGUMENT...: what the program prints, or its error, has the text
says() {
    expect "$1" "$2" "$program" "${@:4}"
    shows "$([ "$1" -lt 2 ] && echo out || echo err)" "$3" "$2"
}
# tells CODE NAME EXPRESSION ARGUMENT...: so has its result, in told.json
tells() {
    expect "$1" "$2" "$program" "${@:4}" --json told.json
    fields told.json "$3" "$2"
}
