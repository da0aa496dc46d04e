#!/usr/bin/env bash
# Models that declare their types are models, too: at every target every command gives an answer, in the types that the nodes declare; a plan's file keeps the
# interface, and what fix calls fixed is fine at that target when it is opened again.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: no models are made"; exit 77; }
mkdir m
python3 "$source/tests/cli/declared_models.py" m || exit 99


for target in trt8 trt10 trt10@a100 trt11 torch torch-compile ort ort-cuda@h100 ort-webgpu ort-dml openvino-cpu openvino-gpu coreml-ane coreml-gpu ort-coreml qnn; do
    for kind in half mixed; do
        for name in sound broken; do
            model=m/$kind-$name.onnx inputs=m/$kind-$name.npz about="$kind-$name for $target"
            for command in "doctor --for $target" "audit --for $target" "plan --for $target --tolerance sqnr_db=40 --out p" "fix --for $target -o f.onnx"; do
                rm -rf p f.onnx
                "$program" ${command%% *} $model -i $inputs ${command#* } -q >out 2>err
                code=$?
                [ $code -le 1 ] || fail "$about, $command: exit $code: $(cat err)"
                ! grep -q "largest fp32" out || fail "$about, $command: a format that no node has: $(grep 'largest fp32' out)"
                ! { [ $name = sound ] && [ $code != 0 ]; } || fail "$about, $command: $(head -1 out)"
                if [ -e f.onnx ]; then
                    expect 0 "$about, fixed" "$program" doctor f.onnx -i $inputs --for $target --no-plan -q
                fi
                if [ -e p/mixed.onnx ]; then
                    expect 0 "$about, its plan's file" "$program" run p/mixed.onnx -i $inputs -a model -q -o p/y.npz
                fi
            done
        done
    done
done

# by default, and by name
for kind in half mixed; do
    says 1 "$kind, overflow" "largest fp16 is 65504" overflow m/$kind-broken.onnx -i m/$kind-broken.npz --fail-on overflows -q
    expect 0 "$kind, overflow of the sound one" "$program" overflow m/$kind-sound.onnx -i m/$kind-sound.npz --fail-on overflows -q
    expect 0 "$kind, run" "$program" run m/$kind-sound.onnx -i m/$kind-sound.npz -a model -q -o recorded.npz
    says 0 "$kind, compare" "explained by model" compare m/$kind-sound.onnx recorded.npz -i m/$kind-sound.npz -q
    says 1 "$kind, doctor" "square (Mul) overflows: its exact values reach" doctor m/$kind-broken.onnx -i m/$kind-broken.npz -q
    shows out "largest fp16 is 65504" "$kind, doctor"
    expect 0 "$kind, plan" "$program" plan m/$kind-broken.onnx -i m/$kind-broken.npz -a model --tolerance sqnr_db=40 --out plan-$kind -q
    [ -e plan-$kind/mixed.onnx ] || fail "$kind: no file"
    expect 0 "$kind, the plan's file" "$program" doctor plan-$kind/mixed.onnx -i m/$kind-broken.npz --no-plan -q
    expect 0 "$kind, fix" "$program" fix m/$kind-broken.onnx -i m/$kind-broken.npz -o fixed-$kind.onnx -q
    expect 0 "$kind, fixed" "$program" doctor fixed-$kind.onnx -i m/$kind-broken.npz --no-plan -q
done

# A weight that is an input of the graph, too, keeps its type, and a Cast rounds what the arithmetic raises: its reader stays in FP32, and the file gives the plan's bits.
python <<'END' || fail "overridable weights"
random = np.random.default_rng(5)
a, b = (random.standard_normal((16, 16)).astype("f4") for _ in "ab")
a[::2] *= 1e-8
write_model("overridable.onnx", [node("MatMul", "x a", "m"), node("Mul", "m c", "s"), node("MatMul", "s b", "y")], {"x": (4, 16), "a": (16, 16), "b": (16, 16)}, {"y": (4, 16)},
            {"a": a, "b": b, "c": np.float32(3)})
np.savez("overridable.npz", x=random.standard_normal((4, 16)).astype("f4") * np.where(np.arange(16) % 2, 1e-6, 1e3).astype("f4"))
END
echo '{"schema": 2, "arithmetic": "fp16,constants=tensorrt", "keep": [{"nodes": ["s"], "arithmetic": "fp32"}]}' >kept.json
says 0 "overridable weights" "1 more node is FLOAT, of which an initializer is an input, too, and has values beyond FLOAT16: m (MatMul)" plan overridable.onnx -i overridable.npz --apply kept.json -o overridable
exit $failed
