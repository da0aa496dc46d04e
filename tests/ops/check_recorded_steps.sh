#!/usr/bin/env bash
# ort-webgpu:fp16, rknn:fp16: single operators have the bits that ONNX Runtime's WebGPU provider gave (a sample), but for a few of which steps.def says how many, and fp16 alone has not;
# a convolution that the provider computes wrongly is an error of the lint there alone, and neither audit nor doctor call such a graph fine.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: operators are not compared"; exit 77; }
sample=$source/tests/data/webgpu/lavapipe_operators.npz
# of Erf 99.5 % of all numbers, 99.0 of the sample's; two that differ in a step that rounds otherwise have errors of that size
python3 "$source/lab/compare_operators.py" "$program" "$sample" ort-webgpu:fp16 --least 53 >out || fail "operators are not the recorded ones: $(cat out)"
[ "$(wc -l <out)" = 40 ] || fail "operators of the sample: $(wc -l <out)"
[ "$(grep -v ' 100.00 %' out | awk '{print $1}' | tr '\n' ' ')" = "f_Erf f_Gelu_none n_convtranspose_3 n_logsoftmax " ] || fail "operators without all bits: $(cat out)"
! grep 'error' out | grep -vE 'error (0\.99|1\.00)' || fail "errors of another size"
! python3 "$source/lab/compare_operators.py" "$program" "$sample" fp16,acc=fp16,unit=none --least 90 >out || fail "fp16 tells nothing: $(cat out)"
python <<'END' || fail "convolutions"
rng = np.random.default_rng(1)
for name, channels, features, kernel, more in (("wrong", 9, 16, 3, {}), ("stride", 9, 16, 1, {"strides": [2, 2]}), ("three", 3, 16, 3, {}), ("four", 12, 16, 3, {}),
                                               ("odd", 9, 15, 3, {}), ("one", 9, 16, 1, {}), ("whole", 9, 16, 5, {}), ("groups", 18, 16, 3, {"group": 2})):
    weights = rng.standard_normal((features, channels // more.get("group", 1), kernel, kernel)).astype("f4")
    y = {"stride": 3, "one": 5, "whole": 1}.get(name, 3)
    write_model(name + ".onnx", [node("Conv", "x w", "y", **more)], {"x": (1, channels, 5, 5)}, {"y": (1, features, y, y)}, {"w": weights}, opset=17)
    np.savez(name + ".npz", x=rng.standard_normal((1, channels, 5, 5)).astype("f4"))
END
for model in wrong stride; do
    says 1 "$model" "conv-webgpu" lint $model.onnx --for ort-webgpu -q
done
expect 0 "elsewhere" "$program" lint wrong.onnx -q
for model in three four odd one whole groups; do expect 0 "$model" "$program" lint $model.onnx --for ort-webgpu -q; done
says 1 "a diagnosis" "broken" doctor wrong.onnx -i wrong.npz --for ort-webgpu
says 0 "an audit" "ort-webgpu: the lint finds an error" audit wrong.onnx -i wrong.npz --for ort-webgpu
says 1 "a plan" "ort-webgpu: the lint finds an error" plan wrong.onnx -i wrong.npz --for ort-webgpu -q
! grep -q "Keep" out || fail "a plan of what is computed wrongly there: $(head -1 out)"
says 0 "another" "ort-webgpu: fine" audit four.onnx -i four.npz --for ort-webgpu
# rknn:fp16: products have the bits of Rockchip's simulator, but where a bias is added (in another place: errors of that size); one sum has not
sample=$source/tests/data/rknn/rk3588_products.npz
python3 "$source/lab/compare_operators.py" "$program" "$sample" rknn:fp16 n_conv_1 n_conv_256 n_conv_400 n_conv_64 transpose matmul --least 99 >out || fail "products are not the recorded ones: $(cat out)"
[ "$(wc -l <out)" = 15 ] || fail "products of the sample: $(wc -l <out)"
python3 "$source/lab/compare_operators.py" "$program" "$sample" rknn:fp16 gemm bias >out || fail "products with a bias: $(cat out)"
! grep -vE 'error (0\.[89]|1\.[01])' out || fail "errors of another size"
! python3 "$source/lab/compare_operators.py" "$program" "$sample" rknn:fp16,steps=alike n_conv_256 --least 90 >out || fail "one sum tells nothing: $(cat out)"
exit $failed
