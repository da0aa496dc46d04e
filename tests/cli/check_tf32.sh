#!/usr/bin/env bash
# FP32 on a GPU is TF32 unless someone says no: what is kept in FP32 is judged as it is computed there, the choice is made and stands in every file and sentence.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: TF32 is not tried"; exit 77; }
python3 - "$source/examples" <<'END' || exit 99
import sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model
random = np.random.default_rng(3)
draw = lambda *shape: random.standard_normal(shape).astype(np.float32)
# products: what FP16 loses in them TF32 loses, too; and a node that loses nothing
write_model("products.onnx", [node("MatMul", "x a", "p", "first"), node("Relu", "p", "r", "relu"), node("MatMul", "r b", "y", "second"), node("Neg", "c", "z", "exact")], {"x": (8, 64), "c": (2, 4)}, ["y", "z"],
            {"a": draw(64, 64), "b": draw(64, 16)}, opset=17)
np.savez("products.npz", x=draw(8, 64), c=np.arange(8, dtype=np.float32).reshape(2, 4))
# a square that overflows between them: its nodes are no products
write_model("square.onnx", [node("MatMul", "x a", "p", "product"), node("Mul", "p s", "m", "large"), node("Mul", "m m", "q", "square"), node("Sqrt", "q", "r", "root"), node("Div", "r s", "y", "small")], {"x": (8, 64)}, ["y"],
            {"a": draw(64, 64), "s": np.array(100, np.float32)}, opset=17)
np.savez("square.npz", x=draw(8, 64))
# a vector: no library has a kernel of TF32 for it; and a Conv of 3 channels
write_model("vector.onnx", [node("MatMul", "x a", "y", "vector")], {"x": (1, 64)}, ["y"], {"a": draw(64, 16)}, opset=17)
np.savez("vector.npz", x=draw(1, 64))
END
flat() { tr -s ' \n' ' ' <"$1"; }

# TF32 does not meet it: it is forbidden, and every file says so. One row a target: what forbids it, a line of the script for it
while IFS='|' read -r target forbids python; do
    expect 0 "$target" "$program" plan products.onnx -i products.npz --for "$target" --tolerance sqnr_db=90 -q -o "plan-$target"
    fields "plan-$target/plan.json" "{k['format'] for k in r['kept']} == {'fp32'} and r['tf32'] == 'forbidden' and r['tf32_forbidden_by'] == '$forbids'" "$target"
    grep -qxF "$python" "plan-$target/tf32.py" || fail "$target: tf32.py"
    python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "plan-$target/tf32.py" || fail "$target: tf32.py is no Python"
    if [ "$target" = ort-cuda ]; then
        [ ! -e "plan-$target/trtexec.txt" ] && [ ! -e "plan-$target/npps.py" ] || fail "$target: files of TensorRT"
    else
        grep -q "^--fp16 --noTF32 " "plan-$target/trtexec.txt" || fail "$target: trtexec.txt"
        grep -q "^TF32 stays forbidden" "plan-$target/npps.py" || fail "$target: npps.py"
        grep -q -- "--stronglyTyped --noTF32 --onnx=mixed.onnx" "plan-$target/strongly_typed.txt" || fail "$target: strongly_typed.txt"
    fi
    # with it forbidden the plan is what it says, and with TF32 it is not
    expect 0 "$target, audited" "$program" audit products.onnx -i products.npz --plan "plan-$target/plan.json" -q --fail-above sqnr_db=90
    expect 1 "$target, in TF32" "$program" plan products.onnx -i products.npz --for "$target" --keep-in trt:tf32 --tolerance sqnr_db=90 -q
    # asked for at once: the same
    expect 0 "$target,tf32=off" "$program" plan products.onnx -i products.npz --for "$target,tf32=off" --tolerance sqnr_db=90 -q -o off
    fields off/plan.json 'r["tf32"] == "forbidden"' "$target,tf32=off"
    expect 1 "$target,tf32=on" "$program" plan products.onnx -i products.npz --for "$target,tf32=on" --tolerance sqnr_db=90 -q
done <<'TABLE'
trt8|--noTF32|config.clear_flag(trt.BuilderFlag.TF32)
trt10|--noTF32|config.clear_flag(trt.BuilderFlag.TF32)
trt11|--noTF32|config.clear_flag(trt.BuilderFlag.TF32)
trt-rtx|config.clear_flag(trt.BuilderFlag.TF32)|config.clear_flag(trt.BuilderFlag.TF32)
ort-cuda|use_tf32=0|providers = [("CUDAExecutionProvider", {"use_tf32": "0"})]
TABLE
# PyTorch allows it to cuDNN alone: a MatMul is FP32 there, and nothing is forbidden
expect 0 "torch" "$program" plan products.onnx -i products.npz --for torch --tolerance sqnr_db=90 -q -o torch
fields torch/plan.json '{k["format"] for k in r["kept"]} == {"torch:tf32-convs"} and r["tf32"] == "allowed" and "tf32_forbidden_by" not in r' "torch"
expect 1 "torch,tf32=on" "$program" plan products.onnx -i products.npz --for torch,tf32=on --tolerance sqnr_db=90 -q
# several, each with what it makes of FP32: the condition names both
expect 0 "two targets" "$program" plan products.onnx -i products.npz --for trt10,ort-cuda --tolerance sqnr_db=90 -q -o two
fields two/plan.json 'r["tf32"] == "forbidden" and r["tf32_forbidden_by"] == "--noTF32, use_tf32=0"' "two targets"
grep -q clear_flag two/tf32.py && grep -q use_tf32 two/tf32.py || fail "two targets: tf32.py"
# no product is kept: nothing depends on it
expect 0 "no product" "$program" plan square.onnx -i square.npz --for trt10 --tolerance sqnr_db=50 --never product -q -o square
fields square/plan.json '"tf32" not in r' "no product"
[ ! -e square/tf32.py ] || fail "no product: tf32.py"
! grep -q TF32 square/trtexec.txt square/npps.py square/strongly_typed.txt || fail "no product: files speak of TF32"
# a product is kept, and TF32 is enough: it is allowed, and Polygraphy, which forbids it by default, is told
expect 0 "enough" "$program" plan square.onnx -i square.npz --for trt10 --tolerance sqnr_db=50 --always product -q -o enough
fields enough/plan.json 'r["tf32"] == "allowed"' "enough"
! grep -q noTF32 enough/trtexec.txt && grep -q -- "--trt --fp16 --tf32 " enough/npps.py || fail "enough: files"
# a GPU without TF32, and a CPU: nothing to forbid
for target in trt8@t4 ort; do
    expect 0 "$target" "$program" plan products.onnx -i products.npz --for $target --tolerance sqnr_db=90 -q -o none
    fields none/plan.json '"tf32" not in json.dumps(r).lower()' "$target"
done
# without a target kept nodes are FP32: TensorRT's files say it, too
expect 0 "no target" "$program" plan products.onnx -i products.npz -a fp16 --tolerance sqnr_db=90 -q -o alone
grep -q -- --noTF32 alone/trtexec.txt || fail "no target: trtexec.txt"

# fix writes types; the file is what it says with the setting alone
expect 0 "fix" "$program" fix products.onnx -i products.npz --for ort-cuda --tolerance sqnr_db=90 -q -o fixed.onnx
flat out | grep -qF "in FP32, with TF32 forbidden (use_tf32=0)" || fail "fix: $(head -3 out)"
expect 1 "fixed, by default" "$program" audit fixed.onnx -i products.npz -a ort-cuda:fp16,types=declared -q --fail-above sqnr_db=90
expect 0 "fixed, forbidden" "$program" audit fixed.onnx -i products.npz -a ort-cuda:fp16,types=declared,floats=fp32 -q --fail-above sqnr_db=90

# a graph in FP32 is first what the runtime makes of it by default, then what a conversion would
while read -r target floats; do
    says 0 "audit --for $target" "$target: fine as the graph is, in $floats" audit products.onnx -i products.npz --for "$target" -q --no-attribute
    sed -n 2p out | grep -qx "  if you convert it to FP16: fine in each of its [0-9] arithmetics" || fail "audit --for $target, converted: $(sed -n 2p out)"
    expect 0 "run --for $target" "$program" run products.onnx -i products.npz --for "$target" -q -o for.npz
    expect 0 "run in $floats" "$program" run products.onnx -i products.npz -a "$floats" -q -o named.npz
    cmp -s for.npz named.npz || fail "run --for $target"
    tells 0 "compare --for $target" "r['arithmetics'][0] == '$floats' and r['files'][0]['explained']" compare products.onnx -i products.npz for.npz --for "$target" -q
    tells 0 "tolerance --for $target" "r['arithmetic'] == '$floats'" tolerance products.onnx -i products.npz --for "$target" --trials 2 -q
    expect 0 "doctor --for $target" "$program" doctor products.onnx -i products.npz --for "$target" --no-plan -q --json said.json
    converted=${target%%[,@]*}:fp16
    fields said.json "r['grade'] == 'fine' and r['arithmetic'] == '$floats' and r['fine_beside'] and 'FP16: fine in $converted: ' in r['beside']" "doctor --for $target"
    expect 0 "doctor --for $target, converted" "$program" doctor products.onnx -i products.npz --for "$target" -a "$converted" --no-plan -q --json said.json
    fields said.json "r['arithmetic'] == '$converted' and r['fine_beside'] and r['beside'].endswith(': fine in $floats')" "doctor --for $target -a"
    # of a graph with types there is no second, where types are obeyed
    [ "$target" != trt8 ] || continue
    expect 0 "doctor --for $target, types" "$program" doctor fixed.onnx -i products.npz --for "$target" --no-plan -q --json said.json
    fields said.json '"beside" not in r and "as the graph is" not in r["verdict"]' "doctor --for $target, types"
done <<'TABLE'
trt8 trt8:tf32
trt10 trt10:tf32
trt11 trt11:tf32
trt-rtx trt-rtx:tf32
torch torch:tf32-convs
torch-compile torch:tf32-convs
ort-cuda ort-cuda:tf32
ort-cuda,tf32=off fp32
TABLE
says 0 "a GPU without TF32, audited" "as the graph is, in fp32" audit products.onnx -i products.npz --for trt10@t4 -q --no-attribute

# shapes: a vector is FP32 with TF32 allowed
expect 0 "a vector" "$program" audit vector.onnx -i vector.npz -a ort-cuda:tf32 -q --fail-above sqnr_db=120
expect 1 "a vector on the unit" "$program" audit vector.onnx -i vector.npz -a tf32 -q --fail-above sqnr_db=120
# what has no such setting
says 2 "a CPU" "no target is called so" plan products.onnx -i products.npz --for ort,tf32=off -q
says 2 "another word" ",tf32=on or ,tf32=off" plan products.onnx -i products.npz --for trt10,tf32=no -q

# the recording: by default what is judged in TF32 is what ONNX Runtime gave, and with use_tf32=0 the plan in FP32
[ -n "${ULPSCOPE_TEST_DATA:-}" ] || { echo "ULPSCOPE_TEST_DATA is not set: no recording of ONNX Runtime's CUDA provider"; exit $failed; }
python3 -c 'import onnx; onnx.load' 2>/dev/null || { echo "no onnx: recordings are not read"; exit $failed; }
python3 "$source/lab/compare_ort_cuda.py" "$program" "$ULPSCOPE_TEST_DATA" --networks mtcnn_onet,residual_block,resnet_4b_cifar10,vit_pgd_2_3_16,tinybert_1l,mnist_8,yunet_n_320 --at-least 0.7 >recorded || fail "recorded TF32: $(cat recorded)"
# a model whose half types are BF16 is judged in the target's BF16, of FP16 or both in its FP16, and no choice is of the other
for types in 16 10 "16 10"; do
    python $types <<'END' || exit 99
nodes = [node("Cast", f"{'x' if i == 1 else 'f%s' % (i - 1)}", f"h{i}", f"to{i}", to=int(to)) for i, to in enumerate(sys.argv[1:], 1)]
body = [n for i, cast in enumerate(nodes, 1) for n in (cast, node("Mul", f"h{i} h{i}", f"m{i}", f"square{i}"), node("Cast", f"m{i}", f"f{i}", f"back{i}", to=1))]
write_model("half.onnx", body, {"x": (8,)}, [f"f{len(nodes)}"], {}, opset=17)
END
    [ "$types" = 16 ] && half=bf16 || half=fp16
    for target in torch trt11; do
        says 0 "judged in $half" "$target:$half,types=declared" doctor half.onnx --for $target --task none --no-plan -q
        expect 0 "audited in $half" "$program" audit half.onnx --for $target -q --json half.json
        fields half.json "all('16' not in l['name'].split(',')[0] or ':$half' in l['name'] for l in r['lanes']) and any(l['name'] == '$target:$half,types=declared' for l in r['lanes'])" "audited in $half"
    done
done
exit $failed
