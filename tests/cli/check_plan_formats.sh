#!/usr/bin/env bash
# quantise --formats: the least error for a mean of bits, beside numpy's run of every allocation; what is refused.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
formats=nvfp4,mxfp8,bf16
plan() { "$program" quantise model.onnx -i inputs.npz --formats "$formats" --cost weights -q "$@"; }
oracle() { python3 "$source/tests/cli/plan_formats.py" "$source/examples" "$@"; }

"$program" quantise "$model" -i "$inputs" --formats nvfp4,fp32 --budget bits=6 -q -o digits >out 2>err || fail "the example: $(cat err)"
shows out "(6 allowed)" "what is allowed"
"$program" audit "$model" -i "$inputs" --plan digits/plan.json -q >/dev/null || fail "audit reads what plan wrote"
while IFS='|' read -r text options; do
    # shellcheck disable=SC2086
    says 2 "$options" "$text" quantise "$model" -i "$inputs" -q $options
done <<'TABLE'
expected bits=MEAN|--formats nvfp4,bf16 --budget 5
the fewest that these formats have|--formats nvfp4,bf16 --budget bits=4
--arith does not go with|--formats nvfp4,bf16 --budget bits=5 -a fp16
give bf16, fp16 or fp32 beside them, here there are several|--formats nvfp4,bf16,fp32 --budget bits=5
here fp8-e4m3|--formats nvfp4,fp8-e4m3 --budget bits=5
mxfp4: TensorRT's operators have nvfp4|--formats mxfp4,bf16 --budget bits=5 --for trt
is there twice|--formats nvfp4,nvfp4 --budget bits=5
a budget of bits is a mean|--formats nvfp4,bf16 --budget bits=5 --cost bytes
TABLE
plan_digits() { "$program" quantise "$model" -i "$inputs" -q --budget bits=9 -o digits "$@" >out 2>err; }
plan_digits --formats mxfp6,bf16 || fail "mxfp6: $(cat err)"
shows out "and ONNX has no such element" "a format that no file has"
plan_digits --formats nvfp4,mxfp8,bf16 || fail "the example's file: $(cat err)"
shows out "(opset 24) quantises" "an old opset"
export COLUMNS=1000 # sentences are on one line
plan_digits --formats nvfp4,mxfp8,bf16 || fail "in wide lines: $(cat err)"
# one format everywhere: what a run has, whether a tolerance or a budget is searched for
grep "^ *The same format" out >budget.line
expect 1 "no tolerance is met" "$program" quantise "$model" -i "$inputs" -q --formats nvfp4,mxfp8,bf16 --tolerance sqnr_db=300
! grep -q "Rests on 0" out || fail "no tolerance is met: it rests on nothing"
expect 0 "a tolerance of formats" "$program" quantise "$model" -i "$inputs" -q --formats nvfp4,mxfp8,bf16 --tolerance sqnr_db=30
grep "^ *The same format" out | cmp -s - budget.line || fail "one format everywhere depends on what is searched for: $(cat out)"
"$program" audit "$model" -i "$inputs" -q --no-attribute -a bf16@h200,factor=nvfp4 >audited || fail "the audit of nvfp4 everywhere"
shows budget.line "bits and $(grep -o "[0-9.]* dB" audited | head -1)," "one format everywhere"

python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: no allocation is run beside"; [ "$failed" -eq 0 ] && exit 77; exit 1; }
# nothing is lost of a product with zeros
python <<'END' || exit 99
write_model("zeros.onnx", [node("MatMul", "x w", "p"), node("Add", "p x", "y")], {"x": [2, 32]}, {"y": [2, 32]}, {"w": np.zeros((32, 32), "f4")}, opset=25, ir_version=11)
write_model("default.onnx", [node("MatMul", "x w", "y")], {"x": [2, 32], "w": [32, 32]}, ["y"], {"w": np.eye(32, dtype="f4")}, opset=25, ir_version=11)
np.savez("zeros.npz", x=np.random.default_rng(1).standard_normal((2, 32)).astype("f4"))
END
says 0 "a product with zeros" "in its declared types no error." quantise zeros.onnx -i zeros.npz -q --formats nvfp4,bf16 --budget bits=5 -o zeros
# a weight that a caller may give in another way is read
says 0 "a weight that is an input" "quantises 0 constants and 2 values" quantise default.onnx -i zeros.npz -q --formats nvfp4,bf16 --budget bits=5 -o default

for seed in 0 1 2; do
    oracle make "$seed" || fail "making $seed"
    for bits in 4.6 5 6 8.5 12; do
        plan --budget "bits=$bits" -o out.d >out || fail "plan of $seed at $bits: $(cat out)"
        oracle judge out.d/plan.json "$bits" || fail "the allocation of $seed at $bits"
    done
    # the file: the plan's bits, ONNX's checker and reference evaluator; 6 bits have all three formats
    plan --budget bits=6 -o file.d >out || fail "the file of $seed: $(cat out)"
    shows out "file.d/quantised.onnx (opset 24)" "the file of $seed"
    # products are named after modules, as PyTorch's exporters do
    shows file.d/modelopt.yaml '{quantizer_name: "*", enable: false}' "ModelOpt's configuration"
    shows file.d/modelopt.yaml '{quantizer_name: "blocks.0.input_quantizer", cfg: {num_bits: [2, 1], block_sizes: {-1: 16, type: dynamic, scale_bits: [4, 3]}}}' "ModelOpt's configuration"
    ! grep -q bf16 file.d/modelopt.yaml || fail "ModelOpt's configuration of $seed has what is not quantised"
    "$program" run model.onnx -i inputs.npz --plan file.d/plan.json -o plan.npz -q || fail "the plan of $seed"
    "$program" run file.d/quantised.onnx -i inputs.npz -a bf16 --keep 'quantise/*=fp32' -o file.npz -q || fail "the file of $seed is read"
    python3 -c "import numpy as np; a, b = np.load('plan.npz')['y3'], np.load('file.npz')['y3']; assert a.tobytes() == b.tobytes()" || fail "the file of $seed has other bits"
    "$program" lint file.d/quantised.onnx >out || fail "lint of the file of $seed: $(cat out)"
    ! python3 -c 'import onnx.reference' 2>/dev/null || oracle file file.d || fail "ONNX on the file of $seed"
    # TensorRT's operators: of one sample constant scales are those of the values, so the bits are the plan's, too. Two of the products fill their blocks
    plan --budget bits=7 --for trt -o trt.d >out || fail "TensorRT's file of $seed: $(cat out)"
    shows out "Of 2 products" "TensorRT's file of $seed"
    grep -aq TRT_FP4DynamicQuantize trt.d/quantised.onnx && grep -aq TRT_MXFP8DynamicQuantize trt.d/quantised.onnx || fail "TensorRT's operators are not in the file of $seed: $(head -1 out)"
    "$program" run model.onnx -i inputs.npz --plan trt.d/plan.json -o plan.npz -q || fail "TensorRT's plan of $seed"
    "$program" run trt.d/quantised.onnx -i inputs.npz -a bf16 --keep 'quantise/*=fp32' -o file.npz -q || fail "TensorRT's file of $seed is read"
    python3 -c "import numpy as np; a, b = np.load('plan.npz')['y3'], np.load('file.npz')['y3']; assert a.tobytes() == b.tobytes()" || fail "TensorRT's file of $seed has other bits"
    # the figures of a run with another number of threads are the same
    plan --budget bits=5 -t 1 >one && plan --budget bits=5 -t 3 >three && cmp one three || fail "threads change the plan of $seed"
    for decibels in 13 18 22; do
        plan --tolerance "sqnr_db=$decibels" -o fewest.d >out || fail "the fewest bits for $decibels dB: $(cat out)"
        oracle fewest fewest.d/plan.json "$decibels" || fail "the fewest bits of $seed for $decibels dB: $(head -1 out)"
    done
done
exit $failed
