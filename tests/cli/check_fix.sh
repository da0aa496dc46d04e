#!/usr/bin/env bash
# lint --fix: what it writes computes the same in exact arithmetic, is accepted, and holds where the model did not; what changes values is
# asked for; nothing to mend is no file.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: lint --fix is not tried"; exit 77; }
python3 "$source/examples/causes/causes.py" w >/dev/null || exit 99
pairs=()
for path in w/*/*.onnx; do pairs+=("$path=${path%/*}/inputs.npz"); done
python3 "$source/tests/cli/compare_fixed.py" "$program" "${pairs[@]}" || failed=1

# mended NAME TARGET [OPTION...]: broken as it is, fine as it is written
mended() {
    local name=$1 target=$2
    shift 2
    expect 0 "$name" "$program" lint w/$name/broken.onnx --fix w/$name/fixed.onnx --fail-on none "$@" -q
    expect 1 "$name before" "$program" doctor w/$name/broken.onnx -i w/$name/inputs.npz --for $target -a $target:fp16 --no-plan -q
    expect 0 "$name after" "$program" doctor w/$name/fixed.onnx -i w/$name/inputs.npz --for $target --no-plan -q
}
mended 01-layernorm-square ort-webgpu
mended 07-log-softmax torch
mended 17-unscaled-scores ort-webgpu
mended 20-running-variance coreml-gpu
mended 06-mask-sentinel coreml-ane --allow-value-change
mended 14-normalize-epsilon torch --allow-value-change
mended 15-min-max-epsilon torch --allow-value-change

says 0 "values stay" "left: 1 edit that changes values (--allow-value-change)" lint w/14-normalize-epsilon/broken.onnx --fix values.onnx --fail-on none -q
says 0 "nothing to mend" "nothing that it mends; no file is written" lint w/sound-convolutions/sound.onnx --fix none.onnx -q
[ -e none.onnx ] && fail "nothing to mend: there is a file"
cp w/01-layernorm-square/broken.onnx own.onnx
expect 2 "onto itself" "$program" lint own.onnx --fix own.onnx --fail-on none -q
cmp -s own.onnx w/01-layernorm-square/broken.onnx || fail "onto itself: the model is another"
expect 2 "a change of nothing" "$program" lint own.onnx --allow-value-change

# Weights in another file, nodes that a body reads, constants that others read, too, and an old model whose initializers are inputs.
python <<'END' || exit 99
norm = [node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d"), node("Pow", "d two", "s"), node("ReduceMean", "s", "v", axes=[-1]),
        node("Add", "v e", "t"), node("Sqrt", "t", "r"), node("Div", "d r", "n"), node("Mul", "n g", "h"), node("Add", "h b", "y")]
x = np.random.RandomState(1).random_sample((4, 8)).astype("f4")
np.savez("x.npz", x=x)
constants = {"two": np.float32(2), "e": np.float32(1e-5), "g": x[0] + 1, "b": x[1]}
write_model("shared.onnx", norm + [node("Mul", "d e", "z")], {"x": (4, 8)}, ["y", "z"], constants, opset=17)
write_model("old.onnx", norm, {"x": (4, 8), **{name: value.shape for name, value in constants.items()}}, ["y"], constants, opset=17, ir_version=3)
write_model("outputs.onnx", norm, {"x": (4, 8)}, ["y", "n"], constants, opset=17)
gelu = [node("Div", "x r", "q"), node("Erf", "q", "f"), node("Add", "f one", "a"), node("Mul", "x a", "m"), node("Mul", "m half", "y")]
root = {"r": np.float32(2**0.5), "one": np.float32(1)}
write_model("gelu.onnx", gelu, {"x": (4, 8)}, ["y"], {**root, "half": np.float32(0.5)}, opset=20)
write_model("raised.onnx", gelu, {"x": (4, 8)}, ["y"], {**root, "half": np.full((1, 1, 1), 0.5, "f4")}, opset=20)
scaled = [node("MatMul", "x k", "s"), node("Mul", "s c", "y")]
write_model("matrices.onnx", scaled, {"x": (4, 8), "k": (8, 4)}, ["y"], {"c": np.float32([0.125])}, opset=17)
write_model("vectors.onnx", scaled, {"x": (8,), "k": (8,)}, ["y"], {"c": np.float32([0.125])}, opset=17)
np.savez("matrices.npz", x=x, k=x.T)
norm_of = [node("BatchNormalization", "x g b m v", "y")]
figures = {"g": np.ones(8, "f4"), "b": np.zeros(8, "f4"), "m": np.zeros(8, "f4"), "v": np.full(8, 1e6, "f4")}
write_model("batch.onnx", norm_of, {"x": (4, 8)}, ["y"], figures, opset=17)
write_model("returned.onnx", norm_of, {"x": (4, 8)}, {"y": None, "g": (8,)}, figures, opset=17)
write_model("old_opset.onnx", norm, {"x": (4, 8)}, ["y"], constants, opset=13)
END
python3 "$source/tests/cli/compare_fixed.py" "$program" shared.onnx=x.npz old.onnx=x.npz outputs.onnx=x.npz || failed=1
for model in gelu=x matrices=matrices batch=x; do
    python3 "$source/tests/cli/compare_fixed.py" "$program" "${model%=*}.onnx=${model#*=}.npz" || fail "$model: not mended"
done
# Their twins would have an output of another shape, or a constant of other values.
for model in raised vectors returned; do
    says 0 "$model" "no file is written" lint $model.onnx --fix none.onnx --fail-on none -q
done
says 0 "an opset without it" "no file is written" lint old_opset.onnx --fix none.onnx --fail-on none -q
exit $failed
