#!/usr/bin/env bash
# ulpscope fix: what it writes is fine where the model was broken, is accepted by onnx and ONNX Runtime, and changes nothing in exact arithmetic
# but what was allowed; what gains nothing is not made; nothing to fix is no file; a goal that cannot be met is said.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$python" -c 'import numpy' 2>/dev/null || { echo "no numpy: fix is not tried"; exit 77; }
"$python" "$source/examples/causes/causes.py" w >/dev/null || exit 99

# every cause at its target: fixed.onnx where there is one, which is fine; fix.json says so
while IFS=$'\t' read -r name target node says thread; do
    [ "$name" != name ] || continue
    model=w/$name/broken.onnx wanted=0
    [ -n "$node" ] || model=w/$name/sound.onnx
    [ "$name" != 12-nan-scale ] || wanted=1 # the weights are lost: its exact result is NaN
    expect $wanted "$name" "$program" fix $model -i w/$name/inputs.npz --for $target -o w/$name/fixed.onnx --json w/$name/fix.json -q
    if [ -z "$node" ]; then
        shows out "nothing to fix" "$name"
        lines out 1 "$name"
    fi
    if [ -z "$node" ] || [ $wanted = 1 ]; then
        [ ! -e w/$name/fixed.onnx ] || fail "$name: there is a file"
        continue
    fi
    grep -qE "^fixed: it was (broken|borderline) in $target" out || fail "$name: not fixed"
    # a target that lowers every model has to be told which nodes: then its types are followed
    judged="--for $target"
    ! grep -q "lowers every model itself" out || judged="-a model"
    expect 0 "$name, fixed" "$program" doctor w/$name/fixed.onnx -i w/$name/inputs.npz $judged --no-plan -q
done <"$source/examples/causes/causes.tsv"
"$python" "$source/tests/cli/accept_fixed.py" "$program" w/*/ || failed=1

# what was asked
broken=w/15-min-max-epsilon given="-i w/15-min-max-epsilon/inputs.npz --for torch -q"
expect 0 "only" "$program" fix w/01-layernorm-square/broken.onnx -i w/01-layernorm-square/inputs.npz --for torch -q -o only.onnx --only log-of-softmax
shows out "nodes in FP32 it is fine" "only"
shows out "left out" "only"
expect 2 "a rule that is none" "$program" fix $broken/broken.onnx $given -o none.onnx --without eps-zeros
shows err "no edit answers a rule 'eps-zeros': expected decomposed-layernorm," "a rule that is none"
expect 2 "onto itself" "$program" fix $broken/broken.onnx $given -o $broken/broken.onnx
expect 2 "no name" "$program" fix $broken/broken.onnx $given
expect 1 "beyond FP32" "$program" fix $broken/broken.onnx $given --tolerance sqnr_db=200 -o none.onnx
shows out "not fixed" "beyond FP32"
shows out "best writes" "beyond FP32"
[ ! -e none.onnx ] || fail "beyond FP32: there is a file"
expect 1 "the best" "$program" fix w/01-layernorm-square/broken.onnx -i w/01-layernorm-square/inputs.npz --for torch -q --tolerance sqnr_db=200 -o best.onnx --best
[ -s best.onnx ] || fail "the best: there is no file"
exit $failed
