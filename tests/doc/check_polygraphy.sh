#!/usr/bin/env bash
# doc/polygraphy.md: its commands, one after the other, as they stand, on the example. Those of Polygraphy are run where a Python has it and
# onnxruntime; what needs a GPU is run by ONNX Runtime in its place. Options of the table are options.
set -u
source=$(cd "${top_srcdir:-.}" && pwd)
program=${ULPSCOPE_PROGRAM:-$(cd "${top_builddir:-.}" && pwd)/ulpscope}
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "$python has no numpy: skipped"; exit 77; }
"$python" -c 'import polygraphy, onnx, onnxruntime' 2>/dev/null && theirs=1 || theirs=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
mkdir bin
ln -s "$program" bin/ulpscope
{ echo '#!/bin/sh'; echo "exec '$python' -c 'import sys; from polygraphy.tools import main; sys.argv[0] = \"polygraphy\"; sys.exit(main())' \"\$@\""; } >bin/polygraphy
chmod +x bin/polygraphy
PATH=$work/bin:$PATH
cp "$source/examples/digits/model.onnx" .
fail() { echo "doc/polygraphy.md: $1:"; tail -5 said; exit 1; }
# Polygraphy's inputs: its own writer's where it is there, else what the program writes of a run with all values
if [ -n "$theirs" ]; then
    "$python" - "$source/examples/digits/inputs.npz" <<'END' || exit 1
import sys
import numpy as np
from polygraphy.json import save_json
save_json([dict(np.load(sys.argv[1]))], "inputs.json")
END
else
    cp "$source/examples/digits/inputs.npz" inputs.json.npz
fi
ran=0
while IFS= read -r command; do
    case $command in
        *"debug precision"*) continue ;; # what it is about: it needs a GPU and TensorRT up to 10
        polygraphy*)
            [ -n "$theirs" ] || continue
            # in place of the GPU; the emulation's own outputs are then not what is compared
            command=${command/--trt --strongly-typed/--onnxrt}
            case $command in *emulated.json) command="$command --atol 1 --rtol 0" ;; esac
            ;;
        ulpscope*)
            [ -n "$theirs" ] || command=${command/inputs.json/inputs.json.npz}
            [ -n "$theirs" ] || case $command in *compare*) continue ;; esac
            ;;
    esac
    bash -c "$command" >said 2>&1
    code=$?
    # 1 of compare: ONNX Runtime's CPU computes FP16 in FP32, which is no TensorRT
    case $code:$command in 0:* | 1:*compare*) ran=$((ran + 1)) ;; *) fail "'$command' exits $code" ;; esac
    case $command in *" compare "*) grep -q "fp32 on the inputs given explains all of it" said || fail "compare does not say what it was computed in" ;; esac
done < <(sed -n 's/^    //p' "$source/doc/polygraphy.md" | sed -e ':more' -e '/\\$/{N;s/\\\n */ /;b more' -e '}')
[ "$ran" -ge $([ -n "$theirs" ] && echo 8 || echo 3) ] || fail "only $ran commands were run"
[ -s plan/npps.py ] && [ -s plan/trtexec.txt ] && [ -s plan/mixed.onnx ] || fail "files of the plan are missing"
# words: every option on the right is one of plan's, or of the command named before it
"$program" plan --help=all >help
"$program" lint --help=all >>help
for option in $(sed -n 's/^|[^|]*|\([^|]*\)|$/\1/p' "$source/doc/polygraphy.md" | grep -oE -- '--[a-z][a-z-]+' | sort -u); do
    grep -q -- "$option\b" help || [ "$option" = --fail-above ] || fail "$option is no option of plan or lint"
done
if [ -n "$theirs" ]; then
    { polygraphy debug precision --help; polygraphy run --help; } >help 2>&1
    for option in $(sed -n 's/^| \(`--[^|]*\)|[^|]*|$/\1/p' "$source/doc/polygraphy.md" | grep -oE -- '--[a-z][a-z0-9-]+' | sort -u) --strongly-typed; do
        grep -q -- "$option\b" help || fail "Polygraphy has no $option"
    done
else
    echo "$python has no polygraphy: its commands were not run"
fi
echo "$ran commands ran"
