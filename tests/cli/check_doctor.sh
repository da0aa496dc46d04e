#!/usr/bin/env bash
# ulpscope doctor: a planted cause is named first, with its reason; its mended twin is fine; what it writes is what it says; and the command
# to go on with does what it promises. That it never calls fine what cannot be judged is in check_gates.sh.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 "$source/tests/cli/gate_models.py" "$work" || exit 99

# named MODEL INPUTS NODE REASON [OPTION...]: the first line names that node, and says why
named() {
    local model=$1 inputs=$2 node=$3 reason=$4
    shift 4
    expect 1 "$model" "$program" doctor $model.onnx -i $inputs.npz -q "$@" --json said.json
    grep -qE "\"verdict\": \"broken in .*; node [0-9]+ $node \(.*$reason" said.json || {
        fail "$model: not '$node ... $reason'"
        head -5 out
    }
    tells 0 "$model, mended" 'r["grade"] == "fine" and not r["causes"]' doctor ${model}_mended.onnx -i $inputs.npz -q "$@"
}
for target in trt11 torch; do
    named epsilon zeros guard "has become 0 in fp16 .constant e is stored as 0., which makes node 2 quotient .Div. not finite in 3 of 8 elements" --for $target -a $target:fp16
done
# What became 0 is the divisor, where it did, in so many elements: none that only handed the zeros on, and no dividend that is 0, too.
zeroed() {
    named "$1" "$2" "$3" "has become 0 in fp16$4" -a fp16 --task signal --no-plan
    fields said.json "[(c['reason'], c['node'], c.get('value')) for c in r['causes'] if c['reason'] == 'zero'] == [('zero', '$3', '$5')]" "$1"
}
stored=" .constant e is stored as 0., which makes node"
zeroed root_epsilon zeros guard "$stored 5 quotient .Div. not finite in 3 of 8 elements" d
zeroed log_epsilon zeros guard "$stored 3 log .Log. not finite in 3 of 8 elements" d
zeroed root_epsilon quiet guard "$stored 5 quotient .Div. not finite in 8 of 8 elements" d
tells 1 "a constant that is 0" "[(c['reason'], c['node'], c['value']) for c in r['causes']] == [('zero', 'quotient', 'e')]" doctor stored_epsilon.onnx -i quiet.npz -a fp16 --task signal --no-plan -q
fields told.json "'constant e has become 0 in fp16, which makes node 1 quotient (Div) not finite in 8 of 8 elements' in r['verdict']" "a constant that is 0"
expect 0 "a constant that is 0, mended" "$program" doctor stored_epsilon_mended.onnx -i quiet.npz -a fp16 --task signal --no-plan -q
# An input too large for the format is named as one, also where a kernel that stores nothing reads it.
for target in trt11 torch; do
    tells 1 "an input beyond FP16, $target" '[(c["reason"], c["node"], c["value"], c.get("rule")) for c in r["causes"]] == [("overflow", "floor", "x", None)] and "floor (Relu) reads input x, which reaches 4e+06: the largest fp16 is 65504" in r["verdict"]' doctor units.onnx -i units.npz --for $target -a $target:fp16 -q --no-plan
done
# Node by node; one kernel of TensorRT's computes these in FP32.
named rms wide norm/square "overflows: its exact values reach" --for torch -a torch:fp16
named cancels fine shift "causes [0-9]+ % of the error" --for torch -a torch:fp16
expect 0 "rms, fused" "$program" doctor rms.onnx -i wide.npz --for trt -a trt11:fp16 -q --json said.json
# there is no BatchNormalization and no Conv; PyTorch's rules are recorded or documented
fields said.json 'r["rests_on"] == "rules that are inferred: fp16, acc=fp16"' "the weakest basis"
expect 1 "rms, recorded" "$program" doctor rms.onnx -i wide.npz --for torch -a torch:fp16 -q --json=recorded.json --no-plan
fields recorded.json '"rests_on" not in r' "nothing weak"
expect 1 "rms, of a version" "$program" doctor rms.onnx -i wide.npz --for torch@a100,version=2.11,tf32=off -a torch:fp16 -q --json=recorded.json --no-plan
fields recorded.json '"rests_on" not in r' "of the version"
expect 1 "rms, of another version" "$program" doctor rms.onnx -i wide.npz --for torch,version=2.1 -a torch:fp16 -q --json=recorded.json --no-plan
fields recorded.json 'r["rests_on"] == "rules recorded on PyTorch 2.11, H200, not on 2.1"' "not of the version"
expect 2 "no version" "$program" doctor rms.onnx -i wide.npz --for torch,version=new -q
expect 0 "cancels, fused" "$program" doctor cancels.onnx -i fine.npz --for trt -a trt11:fp16 -q

# The remedy is a plan, and the command that is printed writes the model that meets its tolerance; or, of a format that is no type of a
# graph, the plan's files.
expect 1 "with a remedy" "$program" doctor rms.onnx -i wide.npz --for torch -a torch:fp16 -q -o diagnosis --html diagnosis.html
fields diagnosis/doctor.json '"meets sqnr_db=40 " in r["remedy"]' "with a remedy"
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "next: $next"
[ -s fixed.onnx ] || fail "next wrote no model: $next"
expect 0 "the fix holds" "$program" doctor fixed.onnx -i wide.npz --for torch -q
expect 1 "no type" "$program" doctor rms.onnx -i wide.npz -a e5m9 -q
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "next: $next"
[ -s plan/plan.json ] || fail "next wrote no plan: $next"
expect 0 "the plan holds" "$program" audit rms.onnx -i wide.npz --plan plan/plan.json -q --no-attribute --fail-above sqnr_db=40
tells 1 "no plan" '"remedy" not in r' doctor rms.onnx -i wide.npz --for torch -a torch:fp16 -q --no-plan
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "next: $next"
[ -s fixed.onnx ] || fail "next wrote no model: $next"

# Where the search for a plan is not finished in time, the verdict that is there is said, and the command that goes on; its time begins behind
# the audit, and a machine decides how long that takes.
python <<'END' || exit 99
random = np.random.RandomState(1)
weights = {f"w{i}": (random.randn(48, 48) / 7).astype("f4") for i in range(40)}
nodes = [n for i in range(40) for n in (node("MatMul", f"t{i} w{i}", f"m{i}", f"product{i}"), node("Tanh", f"m{i}", f"t{i + 1}", f"tanh{i}"))]
write_model("deep.onnx", nodes, {"t0": (8, 48)}, {"t40": None}, weights, opset=17)
np.savez("deep.npz", t0=random.randn(8, 48).astype("f4"))
END
ended=
for seconds in 0.1 0.15 0.2 0.3 0.4 0.6 0.8 1.2 1.6 2.4 3.2 4.8 6.4 9.6 12.8 20 40; do
    "$program" doctor deep.onnx -i deep.npz -a bf16 -q --max-time $seconds --json late.json >out 2>err
    code=$?
    [ $code = 6 ] && continue # not audited by then
    [ $code = 1 ] || fail "doctor in $seconds s: exit $code: $(cat err)"
    fields late.json 'r["grade"] == "borderline" and r["arithmetic"] == "bf16" and 0 < r["stopped"] <= r["seconds"]' "doctor in $seconds s"
    shows out "the search for what to keep was not finished in" "doctor in $seconds s"
    [ -n "$(sed -n 's/^  do    //p' out)" ] && [ "$(sed -n 's/^  do    //p' out)" = "$(sed -n 's/^  next *//p' out)" ] || fail "doctor in $seconds s: not what to do"
    ended=$(sed -n 's/^  next *ulpscope //p' out)
    break
done
[ -n "$ended" ] || fail "no time is enough for an audit and not for a plan"
rm -f fixed.onnx
(eval "$program $ended") >said 2>&1 || fail "the command that goes on: $ended: $(cat said)"
[ -s fixed.onnx ] || fail "the command that goes on wrote no model: $ended"

tells 1 "a plan that keeps nothing" '" of 4 tokens change" in r["reason"] and r["next"].startswith("ulpscope audit flat.onnx ") and " --keep softmax=fp32 " in r["next"] and "remedy" not in r' doctor flat.onnx -i flat.npz -a fp8-e5m2 -q

# What TensorRT refuses is said first, though what it would compute is fine. Where FP32 does not do either, nothing forbids TF32 or keeps every node.
python <<'END' || exit 99
random = np.random.default_rng(7)
write_model("asymmetric.onnx", [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "y")], {"x": (4, 8)}, ["y"], {"s": np.float32(.02), "z": np.int8(-43)}, opset=17)
for name, large in ("lost", 1e8), ("half", 300):
    write_model(f"{name}.onnx", [node("MatMul", "x w", "p", "product"), node("Add", "p large", "a", "added"), node("Sub", "a large", "y", "taken")], {"x": (4, 8)}, ["y"],
                {"w": random.standard_normal((8, 8)).astype("f4"), "large": np.float32(large)}, opset=17)
w = random.standard_normal((8, 8)).astype("f4")
write_model("near.onnx", [node("MatMul", "x w", "p", "one"), node("MatMul", "x v", "q", "other"), node("Sub", "p q", "y", "taken")], {"x": (4, 8)}, ["y"],
            {"w": w, "v": w * np.float32(1 + 2 ** -8)}, opset=17)
np.savez("x.npz", x=random.random((4, 8)).astype("f4"))
END
tells 1 "refused" 'r["grade"] == "broken" and "figures alone" not in r["verdict"] and [(c["reason"], c["rule"]) for c in r["causes"]] == [("graph", "qdq-asymmetric")] and r["causes"][0]["fix"].startswith("Quantise again with symmetric") and r["verdict"].startswith("trt10 refuses the model: ")' doctor asymmetric.onnx -i x.npz --for trt10 -q
tells 1 "refused, fix" 'not r.get("met") and r["refused"].endswith(" (qdq-asymmetric)") and r["refused"] in r["verdict"]' fix asymmetric.onnx -i x.npz --for trt10 -q -o fixed.onnx
shows out "  do    Quantise again with symmetric activations" "refused, fix, what to do"
tells 1 "refused, plan" 'not r.get("met") and r["runs"] == 0 and r["refused"].endswith(" (qdq-asymmetric)") and r["verdict"].startswith(r["refused"])' plan asymmetric.onnx -i x.npz --for trt10 -q
expect 1 "refused, audit" "$program" audit asymmetric.onnx -i x.npz --for trt10 -q
[[ $(head -1 out) == "trt10 refuses the model: "*" (qdq-asymmetric)" ]] || fail "refused, audit: $(head -1 out)"
tells 0 "not refused" 'not r["causes"] and "lint finds" not in r["verdict"]' doctor asymmetric.onnx -i x.npz --for torch -q
tells 1 "no FP32" 'r["beside"].startswith("as the graph is: broken in ort-cuda:tf32: ") and not r.get("fine_beside") and "o plan meets sqnr_db=40 (the default): with every node in " in r["remedy"] and "Keep " not in r["remedy"]' doctor lost.onnx -i x.npz --for ort-cuda -a ort-cuda:fp16 -q
says 1 "no remedy, and fine as it is" "leave the graph in FP32, in which it is fine" doctor half.onnx -i x.npz --for ort-cuda -a ort-cuda:fp16 --no-plan -q
# A graph in FP32 that nobody converts: exit code, causes and what to do are of that, and a conversion is a second line, for every target that leaves it so.
for target in torch ort-cuda ort-webgpu ort-dml; do
    expect 0 "$target, as it is" "$program" doctor half.onnx -i x.npz --for $target -q --json said.json
    grep -qE "^  (do    nothing|next .* -a (fp32|[a-z0-9-]+:tf32[a-z-]*) --fail-above sqnr_db=40)$" out || fail "$target: what to do: $(cat out)"
    fields said.json "r['grade'] == 'fine' and not r['causes'] and r['beside'].startswith(('if you convert it to FP16: broken in $target:fp16: ', 'if you convert it to FP16: borderline in $target:fp16: ')) and not r.get('fine_beside')" "$target, doctor.json"
done
tells 1 "TF32" '(r["grade"], r["arithmetic"]) == ("borderline", "ort-cuda:tf32") and r["remedy"].startswith("forbid TF32, use_tf32=0: fine in fp32: ")' doctor near.onnx -i x.npz --for ort-cuda -q
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "next: $next"
grep -q "^fine as the graph is, in fp32: " said || fail "TF32, forbidden: $(head -2 said)"
says 1 "TF32, fix" "leave the graph in FP32, and forbid TF32 by use_tf32=0: the plan keeps every node" fix near.onnx -i x.npz --for ort-cuda -o near_fixed.onnx -q
tells 1 "not TF32 alone" 'r["remedy"].startswith("use_tf32=0: broken in fp32: ") and " it is not TF32 alone" in r["remedy"]' doctor lost.onnx -i x.npz --for ort-cuda -q

# The default tolerance leaves a score that crosses its threshold: finer ones are tried.
python <<'END' || exit 99
random = np.random.default_rng(11)
w, v, x = (random.standard_normal(shape).astype("f4") for shape in ((64, 1), (64, 64), (64, 64)))
w, v = w * np.float32(.3), v / np.float32(8)
bias = -np.sort((x.astype(float) @ v @ w).ravel())[32] - 2e-4
write_model("score.onnx", [node("MatMul", "x v", "h", "hidden"), node("MatMul", "h w", "p", "product"), node("Add", "p b", "q", "bias"), node("Sigmoid", "q", "scores", "sig")],
            {"x": (64, 64)}, ["scores"], {"w": w, "v": v, "b": np.float32(bias).reshape(1)}, opset=17)
np.savez("score.npz", x=x)
END
tells 0 "a score" "r['met'] and r['grade'] == 'fine'" plan score.onnx -i score.npz -a fp16 -q

# A first choice that stays is fine at less than the usual tolerance, and the gate for CI passes there.
tells 0 "fine below 40 dB" 'r["grade"] == "fine" and r["reason"].endswith(": 0 of 4 first choices change, at 39.2 dB")' doctor "$model" -i "$inputs" -a bf16 -q
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "next: $next"

# A normalisation that is written out before the cause, or behind it, is no part of it.
python <<'END' || exit 99
nodes = [node("ReduceMean", "x", "mean", axes=[-1]), node("Sub", "x mean", "d"), node("Mul", "d d", "square"), node("ReduceMean", "square", "variance", axes=[-1]),
         node("Add", "variance e", "sum"), node("Sqrt", "sum", "root"), node("Div", "d root", "unit"), node("Mul", "unit gain", "large"), node("Mul", "large large", "squares"),
         node("ReduceSum", "squares axis", "total"), node("Sqrt", "total", "length"), node("Div", "large length", "z")]
nodes += [node(op, reads.replace("x", "z"), gives + "2", **({"axes": [-1]} if op == "ReduceMean" else {})) for op, reads, gives in
          (("ReduceMean", "x", "mean"), ("Sub", "x mean2", "d"), ("Mul", "d2 d2", "square"), ("ReduceMean", "square2", "variance"), ("Add", "variance2 e", "sum"), ("Sqrt", "sum2", "root"), ("Div", "d2 root2", "unit"))]
write_model("lengths.onnx", nodes, {"x": (4, 64)}, ["unit2"], {"e": np.float32(1e-5), "gain": np.float32(60), "axis": np.array([-1])}, opset=17)
np.savez("lengths.npz", x=np.random.default_rng(2).standard_normal((4, 64)).astype("f4"))
END
tells 1 "a norm before" '[(c["node"], c["reason"]) for c in r["causes"]] == [("total", "overflow")] and "decomposed-layernorm" not in json.dumps(r)' doctor lengths.onnx -i lengths.npz --for torch -a torch:fp16 --no-plan -q

# The command to go on with is of the same inputs and judges by the same.
python <<'END' || fail "a model with an odd name"
write_model("odd.onnx", [node("Relu", "x", "y")], {"x": ["a b", "n"]}, ["y"])
END
tells 0 "given" "\" odd.onnx --dim 'a b=2' --dim n=3 --val-range -2.5,3 --seed 7 -a fp16 --reference fp64 --allow-nonfinite-inputs --task embed --fail\" in r['next']" doctor odd.onnx --dim "a b=2" --dim n=3 --val-range=-2.5,3 --seed 7 --task embed --reference fp64 --allow-nonfinite-inputs -q
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "next: $next"
tells 0 "a shape" '" odd.onnx --shape x=2x5 -a fp16 --fail" in r["next"]' doctor odd.onnx --shape x=2x5 -q

# Remedies are tried on the sample that overflows, also where it is not the first.
expect 1 "the second sample overflows" "$program" doctor rms.onnx -i fine.npz -i wide.npz --for torch -a torch:fp16 -q -o second
python <<'END' || fail "remedies of the first sample"
remedies = json.load(open("second/overflow.json"))["lanes"][0]["remedies"]
assert len(remedies) > 1 and all(r["sqnr_db"] is not None for r in remedies), remedies
END

# Files are what is printed.
python <<'END' || fail "doctor.json"
doctor = json.load(open("diagnosis/doctor.json"))
assert doctor["grade"] == "broken" and doctor["target"] == "torch" and doctor["arithmetic"] == "torch:fp16", doctor
first = doctor["causes"][0]
assert first["reason"] == "overflow" and first["node"] == "norm/square" and first["text"] in doctor["verdict"], first
assert first["rule"] and first["fix"], first
for name, member in {"report": "lanes", "lint": "findings", "overflow": "lanes", "plan": "keep"}.items():
    assert member in json.load(open(f"diagnosis/{name}.json")), name
END
for text in "broken in torch" "norm/square"; do shows diagnosis.html "$text" "page"; done
expect 0 "a page of the folder" "$program" show diagnosis --html again.html

# What another runtime recorded: explained by the target's arithmetic, or not.
expect 0 "a recording is made" "$program" run rms_mended.onnx -i wide.npz -a torch:fp16 -q -o recorded.npz
expect 0 "explained" "$program" doctor rms_mended.onnx -i wide.npz --for torch -a torch:fp16 --recorded recorded.npz -q
expect 0 "another is made" "$program" run rms_mended.onnx -i wide.npz -a fp8-e4m3 -q -o coarse.npz
tells 1 "not explained" 'r["grade"] == "broken" and r["causes"][0]["reason"] == "recording" and "coarse.npz: NOT explained" in r["reason"]' doctor rms_mended.onnx -i wide.npz --for torch -a torch:fp16 --recorded coarse.npz -q

# What was built: a kernel of two nodes, compared as that, or kernels of one node each, which fuse nothing.
python <<'END' || fail "an engine"
half = "Row major linear FP16 format"
def layer(name, read, made):
    return {"Name": name, "LayerType": "gemm", "TacticName": "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n", "Metadata": "\x1e".join(f"[ONNX Layer: {n}]" for n in name.split(" + ")),
            "Inputs": [{"Name": read, "Dimensions": [2, 8], "Format/Datatype": half}], "Outputs": [{"Name": made, "Dimensions": [2, 3], "Format/Datatype": half}]}
weights = {"w": (1, (8, 3), struct.pack("<24f", *((i * 7 % 11 - 5) / 8 + 1e-4 for i in range(24))))}
for name, nodes, layers in (("two", [node("MatMul", "x w", "h", "mm"), node("Relu", "h", "y", "act")], [layer("mm + act", "x", "y")]),
                            ("one", [node("MatMul", "x w", "y", "mm")], [layer("mm", "x", "y")])):
    write_model(name + ".onnx", nodes, {"x": (2, 8)}, ["y"], weights, opset=17)
    json.dump({"Layers": layers, "Bindings": ["x", "y"]}, open(name + ".json", "w"))
END
for built in two one; do
    expect 0 "$built: its outputs" "$program" run $built.onnx --seed 3 -a fp16 -q -o built.npz
    tells 0 "$built built" "' --engine $built.json -G a100 -a fp32 --fail-above ' in r['next']" doctor $built.onnx --seed 3 --engine $built.json -G a100 --recorded built.npz -q
    next=$(sed -n 's/^  next *ulpscope //p' out)
    (eval "$program $next -q") >said 2>&1 || fail "next: $next"
    grep -q "^engine: fine" said || fail "$built: the engine is not audited"
done
expect 0 "another is made" "$program" run two.onnx --seed 3 -a fp8-e4m3 -q -o coarse.npz
expect 1 "not what was built" "$program" doctor two.onnx --seed 3 --engine two.json --recorded coarse.npz -q --json said.json
fields said.json 'r["causes"][0]["reason"] == "recording" and r["reason"].startswith("coarse.npz: NOT explained")' "not what was built"
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "next: $next"

# A divisor that is formed below the normal numbers; a constant that is another one than the original's.
python <<'END' || exit 99
random = np.random.default_rng(11)
np.savez("faint.npz", x=(random.standard_normal((8, 64)) * 2e-5).astype("f4"))
scale = [node("Abs", "u", "a"), node("ReduceMax", "a", "m", axes=[1]), node("Div", "m most", "s", "scale"), node("Div", "u s", "y", "quotient")]
for name, up in ("faint", 1), ("faint_mended", 4096):
    write_model(f"{name}.onnx", [node("Mul", "x up", "u"), *scale], {"x": (8, 64)}, ["y"], {"up": np.float32(up), "most": np.float32(448)}, opset=17)
w, bias = random.standard_normal((64, 4)).astype("f4"), np.float32([3, -2, 1, .5])
codes = np.int32([2**31 - 1, -2000000000, 1000000000, 500000000])
write_model("float.onnx", [node("MatMul", "x w", "p"), node("Add", "p b", "y", "added")], {"x": (8, 64)}, ["y"], {"w": w, "b": bias}, opset=17)
for name, change in ("cut", 0), ("shifted", 0), ("cut_mended", 1):
    held = np.int32([1500000000, *codes[1:]]) if change else codes + (np.int32([-1, 0, 500000000, 500000000]) if name == "shifted" else 0)
    write_model(f"{name}.onnx", [node("DequantizeLinear", "c s", "b", "biased", axis=0), node("MatMul", "x w", "p"), node("Add", "p b", "y", "added")], {"x": (8, 64)}, ["y"],
                {"w": w, "c": held, "s": np.float32([2e-9 if change else 1e-9, 1e-9, 1e-9, 1e-9])}, opset=17)
steps = np.float32(np.abs(w).max(0) / 7)  # of MatMulNBits: (N, blocks, bytes), the first of two codes in the low bits
four = np.clip(np.rint(w / steps), -8, 7).astype(int).T.reshape(4, 4, 16) + 8
packed = (four[..., 0::2] | four[..., 1::2] << 4).astype("u1")
write_model("plain.onnx", [node("MatMul", "x w", "y", "product")], {"x": (8, 64)}, ["y"], {"w": w}, opset=17)
for name, held in ("packed", packed), ("packed_signed", packed ^ 0x88):
    write_model(f"{name}.onnx", [node("MatMulNBits", "x c s", "y", "product", N=4, K=64, bits=4, block_size=16) + block(7, "com.microsoft")], {"x": (8, 64)}, ["y"],
                {"c": held, "s": np.repeat(steps[:, None], 4, 1).ravel()}, opset=17, domains={"com.microsoft": 1})
pair = [node("Mul", "x x", "q", "square"), node("Sqrt", "q", "r"), node("Add", "x large", "p", "shifted"), node("Sub", "p large", "d", "taken"), node("Mul", "d up", "e"),
        node("Add", "r e", "y")]
write_model("pair.onnx", pair, {"x": (8, 64)}, ["y"], {"large": np.float32(30000), "up": np.float32(8)}, opset=17)
np.savez("wide64.npz", x=(300 + 9 * random.standard_normal((8, 64))).astype("f4"))
signed = np.clip(np.rint(w * 40), -127, 127).astype("i1")
for name, held in ("signed", signed), ("lost_signs", np.maximum(signed, 0)), ("unsigned", signed.view("u1")):
    write_model(f"{name}.onnx", [node("DequantizeLinear", "c s", "v", "weights"), node("MatMul", "x v", "y", "product")], {"x": (8, 64)}, ["y"],
                {"c": held, "s": np.float32(1 / 40)}, opset=17)
square, steps = np.clip(np.rint(random.standard_normal((64, 64)) * 40), 1, 127).astype("u1"), np.linspace(1, 3, 64) / 40
for name, axis, held, step, zero in (("along", 0, square, steps, 7), ("across", 1, square, steps, 7), ("single", 0, square, steps * 0 + steps[0], 7),
                                     ("plainer", 0, square, steps, 0), ("turned", 1, square.T, steps, 7)):
    write_model(f"{name}.onnx", [node("DequantizeLinear", "c s z", "v", "weights", axis=axis), node("MatMul", "x v", "y", "product")], {"x": (8, 64)}, ["y"],
                {"c": held, "s": step.astype("f4"), "z": np.full(64, zero, "u1")}, opset=17)
s = np.exp(random.standard_normal(64)).astype("f4")  # scales moved from a constant into the next; the second time the next was forgotten
moved = {"g": np.ones(64, "f4"), "u": w @ w.T, "h": np.ones(64, "f4"), "v": w}
for name, data in ("unmoved", moved), ("moved", {**moved, "g": 1 / s, "u": s[:, None] * moved["u"]}), ("forgotten", {**moved, "g": 1 / s, "u": s[:, None] * moved["u"], "h": 1 / s}):
    write_model(f"{name}.onnx", [node("Mul", "x g", "a", "first"), node("MatMul", "a u", "b", "product"), node("Mul", "b h", "c", "second"), node("MatMul", "c v", "y", "last")],
                {"x": (8, 64)}, ["y"], data, opset=17)
for name, step in ("coarse", 0.5), ("dense", 1 / 255):  # probabilities of 1 / 64 by steps of 1 / 2
    write_model(f"{name}.onnx", [node("Softmax", "x", "p"), node("QuantizeLinear", "p s z", "q", "quantiser"), node("DequantizeLinear", "q s z", "d", "dequantiser"),
                                 node("MatMul", "d w", "y", "product")], {"x": (8, 64)}, ["y"], {"s": np.float32(step), "z": np.uint8(0), "w": w}, opset=17)
write_model("plain_softmax.onnx", [node("Softmax", "x", "p"), node("MatMul", "p w", "y", "product")], {"x": (8, 64)}, ["y"], {"w": w}, opset=17)
np.savez("x64.npz", x=random.standard_normal((8, 64)).astype("f4"))
END
named faint faint scale "is subnormal or 0 in fp16 in 8 of 8 elements, and node 4 quotient .Div. divides by it" -a fp16 --task signal --no-plan
fields said.json 'r["causes"][0]["fix"].startswith("compute scale and quotient in FP32")' "what to do, with its nodes"
tells 0 "a faint divisor, audited" '"node 3 scale (Div) is subnormal or 0 in fp16 in 8 of 8 elements" in r["lanes"][0]["verdict"]' audit faint.onnx -i faint.npz -a fp16 --task signal -q
named cut x64 biased "1 of 4 INT32 codes of 'c' are the largest there is" -a fp32 --task signal
tells 1 "beside the original" '[(c["rule"], c["node"]) for c in r["causes"]][:1] == [("constant-off", "biased")] and "another zero point" not in r["verdict"]' doctor shifted.onnx -i x64.npz -a fp32 --task signal --reference-model float.onnx -q
tells 1 "no plan of another model" 'r["runs"] == 0 and r["refused"].startswith("the model is not its original: ") and r["refused_why"].startswith("node biased: ")' plan shifted.onnx -i x64.npz -a fp16 --reference-model float.onnx -q
expect 1 "no fix of another model" "$program" fix shifted.onnx -i x64.npz -a fp16 --reference-model float.onnx -q -o none.onnx
[[ $(head -1 out) == "the model is not its original: "* ]] && [ ! -e none.onnx ] || fail "no fix of another model: $(head -1 out)"
expect 0 "as the original" "$program" doctor cut_mended.onnx -i x64.npz -a fp32 --task signal --reference-model float.onnx -q

# What a runtime has otherwise, or the graph, is told from a recording: signs, types of codes, a bias.
said() { # MODEL RECORDED WORDS
    expect 0 "$2, recorded" "$program" run $2.onnx -i x64.npz -a fp32 -q -o recorded.npz
    tells 1 "$1 and $2" "r['files'][0]['cause']['nodes'] in [['weights'], ['product'], ['added']] and '$3' in r['files'][0]['cause']['text'].replace(chr(39), '')" compare $1.onnx recorded.npz -i x64.npz --task signal -q
}
said signed lost_signs "the negative ones of its weights as 0: with that everything"
said signed unsigned "the codes of its weights read with the other sign"
said unsigned signed "the codes of its weights read with the other sign"
said along across "computed with axis="
said along single "computed with its first scale for all: with that everything"
said along plainer "computed without its input 2"
said along turned "computed with its input 1 turned"
said cut float "node added (Add) was computed with another bias: with that everything"

expect 0 "moved" "$program" doctor moved.onnx -i x64.npz -a fp32 --task signal --reference-model unmoved.onnx -q --no-plan
tells 1 "forgotten" '[(c["rule"], c["node"]) for c in r["causes"]][:1] == [("constant-off", "second")]' doctor forgotten.onnx -i x64.npz -a fp32 --task signal --reference-model unmoved.onnx -q --no-plan
tells 1 "coarse" 'r["causes"][0]["node"] in ("quantiser", "dequantiser") and "of it by its scale" in r["causes"][0]["text"] and r["causes"][0]["fix"].startswith("give quantiser the scale that its largest value asks for")' doctor coarse.onnx -i x64.npz -a fp32 --task signal --reference-model plain_softmax.onnx -q --no-plan

expect 0 "packed" "$program" lint packed.onnx --reference-model plain.onnx --fail-on warning -q
tells 1 "packed otherwise" '[(f["rule"], f["node"]) for f in r["findings"] if f["rule"] == "constant-off"] == [("constant-off", "product")] and any("the highest bit of a code" in f["text"] for f in r["findings"])' lint packed_signed.onnx --reference-model plain.onnx --fail-on warning -q

# Who mends only the first of two faults is still wrong: both are named.
tells 1 "two faults" '[(c["reason"], c["node"]) for c in r["causes"]][:2] in [[("overflow", "square"), ("error", n)] for n in ("shifted", "taken")]' doctor pair.onnx -i wide64.npz -a fp16 --task signal --no-plan -q
rm -f fixed.onnx
next=$(sed -n 's/^  next *ulpscope //p' out)
(eval "$program $next -q") >said 2>&1 || fail "two faults, what to go on with: $next: $(cat said)"
expect 0 "two faults, mended" "$program" run fixed.onnx -i wide64.npz -q -a model
expect 1 "two faults, of a target that keeps nothing" "$program" doctor pair.onnx -i wide64.npz --for coreml-ane --task signal -q --json said.json
next=$(sed -n 's/^  next *ulpscope //p' out)
[[ $next == audit* && $next != *--keep* ]] || fail "two faults, what to go on with: $next"

# What FP32 makes wrong: FP64 in the nodes that are named is run, and the figure is what an audit with these gives. A recurrence's error is said by its steps.
python <<'END' || fail "FP32's own"
random = np.random.default_rng(6)
write_model("raw.onnx", [node("Add", "x far", "s", "shift"), node("Mul", "s s", "q", "square"), node("ReduceMean", "q", "a", "mean_square", axes=[-1], keepdims=1),
                         node("ReduceMean", "s", "m", "mean", axes=[-1], keepdims=1), node("Mul", "m m", "b", "square_mean"), node("Sub", "a b", "v", "variance"), node("Mul", "v up", "y")],
            {"x": (8, 64)}, ["y"], {"far": np.float32(2000), "up": np.float32(2)}, opset=17)
np.savez("raw.npz", x=random.standard_normal((8, 64)).astype("f4"))
turn = np.linalg.qr(random.standard_normal((16, 16)))[0][None] * 2.6
write_model("cell.onnx", [node("RNN", "x w r", "states", "cell", hidden_size=16), node("MatMul", "states o", "y", "out")], {"x": (60, 2, 8)}, ["states", "y"],
            {"w": (random.standard_normal((1, 16, 8)) * 0.15).astype("f4"), "r": turn.astype("f4"), "o": (random.standard_normal((16, 4)) / 4).astype("f4")}, opset=17)
np.savez("cell.npz", x=random.standard_normal((60, 2, 8)).astype("f2").astype("f4"))
END
expect 1 "FP32's own" "$program" doctor raw.onnx -i raw.npz -a fp32 --task signal -q --json said.json
range=$(sed -n 's/.* with nodes \([0-9]*\) to \([0-9]*\) in FP64 y is at .* dB, without them at .*/\1-\2/p' out)
expect 0 "nodes in FP64" "$program" audit raw.onnx -i raw.npz -a fp32 --task signal --keep "#$range=fp64" -q --json kept.json
python <<'END' || fail "FP64 in nodes is another figure"
said = float(re.search(r"in FP64 y is at ([0-9.]+) dB", json.load(open("said.json"))["remedy"])[1])
kept = json.load(open("kept.json"))["lanes"][0]["outputs"][0]["entire"]["sqnr_db"]
assert abs(said - kept) <= 0.06, (said, kept)
END
expect 0 "states" "$program" run cell.onnx -i cell.npz -a fp16 -q -o cell16.npz
expect 0 "states" "$program" run cell.onnx -i cell.npz -a fp64 -q -o cell64.npz
expect 0 "steps" "$program" audit cell.onnx -i cell.npz -a fp16 --task signal -q --json said.json
python <<'END' || fail "the first step and the last"
a, b = np.load("cell16.npz")["states"].astype("f8"), np.load("cell64.npz")["states"].astype("f8")
relative = [np.sqrt(np.sum((a[t] - b[t]) ** 2) / np.sum(b[t] ** 2)) for t in (0, -1)]
cell = json.load(open("said.json"))["lanes"][0]["nodes"][0]
assert np.allclose([cell["first_error"], cell["last_error"]], relative, rtol=1e-6, atol=0), (cell["first_error"], cell["last_error"], relative)
END

# What a fused kernel need not store overflows where it is moved: named is the node that made it; behind one overflow another is named, too, which keeps
# the result wrong where the first alone is mended; and a target that keeps nothing is not asked to.
python <<'END' || exit 99
turn = np.random.RandomState(5)
near, far = turn.uniform(1, 9, (8, 1)).astype("f4"), turn.uniform(280, 400, (8, 1)).astype("f4")
np.savez("areas.npz", near=near, far=far)
np.savez("far.npz", far=far)
nodes = [node("Sub", "far near", "w", "wide"), node("Sub", "far near", "h", "high"), node("Mul", "w h", "a", "area"), node("Transpose", "a", "t", "turn", perm=[1, 0]),
         node("Add", "a t", "s", "sum"), node("Div", "h s", "q", "part"), node("ReduceMax", "q", "y", "most", axes=[1], keepdims=1)]
write_model("areas.onnx", nodes, {"near": near.shape, "far": far.shape}, ["y"], {}, opset=17)
nodes = [node("Mul", "far far", "a", "area"), node("Mul", "a small", "s", "scaled"), node("Mul", "s s", "q", "square"), node("Mul", "q tiny", "y", "back")]
write_model("two.onnx", nodes, {"far": far.shape}, ["y"], {"small": np.float32(0.01), "tiny": np.float32(1e-3)}, opset=17)
# of sums that overflow inside by an arithmetic's rule alone; and which are what overflows surely
large = turn.uniform(900, 1100, (8, 128)).astype("f4")
np.savez("large.npz", large=large)
nodes = [node("ReduceMean", "large", "m", "mean", axes=[1], keepdims=1), node("Mul", "m m", "q", "power"), node("Mul", "q tiny", "y", "scaled")]
write_model("inside.onnx", nodes, {"large": large.shape}, ["y"], {"tiny": np.float32(1e-3)}, opset=17)
many, mixed = turn.uniform(1, 9, (8, 64)).astype("f4"), turn.standard_normal((64, 4)) * [1e-9, 1, 1, 1]
np.savez("many.npz", many=many)
nodes = [node("MatMul", "many mixed", "s", "sum"), node("Div", "s e", "y", "part")]
write_model("kept.onnx", nodes, {"many": many.shape}, ["y"], {"mixed": mixed.astype("f4"), "e": np.float32([1e-9, 1, 1, 1])}, opset=17)
END
tells 1 "another behind it" '[(c["node"], c["reason"]) for c in r["causes"]] == [("area", "overflow"), ("square", "overflow")]' doctor two.onnx -i far.npz -a fp16 --task signal --no-plan -q
tells 1 "surely first" '[(c["node"], "inside" in c["text"]) for c in r["causes"]] == [("power", False), ("mean", True)]' doctor inside.onnx -i large.npz -a fp16-strict --task signal --no-plan -q
tells 1 "moved" 'r["causes"][0]["node"] == "area" and "overflows where node 3 turn (Transpose) stores it: its exact values reach" in r["causes"][0]["text"]' doctor areas.onnx -i areas.npz -a trt11:fp16 --task signal --no-plan -q
tells 1 "kept nowhere" '"=fp32" not in r["next"] and {c["node"] for c in r["causes"]} == {"part", "sum"}' doctor kept.onnx -i many.npz --for coreml-ane --task signal --no-plan -q

# Where what overflows does no harm, there is a cause all the same; and a threshold that is rounded is what a comparison turns by.
python <<'END' || exit 99
turn = np.random.RandomState(7)
low = turn.uniform(0.1, 0.8, (64, 2))
box, z = np.concatenate([low, low + turn.uniform(0.004, 0.01, (64, 2))], 1), turn.uniform(-2, 4, (64, 4))
z[0] = 12
for name, corner in (("refined", 1 - 1e-6), ("cornered", 0.9)):
    box[0] = (corner, corner, 1 - 1e-6, 1 - 1e-6)
    np.savez(f"{name}.npz", z=z.astype("f4"), d=(np.log(box / (1 - box)) - z).astype("f4"))
nodes = [node("Sigmoid", "z", "p", "score"), node("Sub", "one p", "q", "rest"), node("Max", "q least", "m", "guard"), node("Div", "p m", "o", "odds"), node("Log", "o", "l", "logit"),
         node("Add", "l d", "r", "refined"), node("Sigmoid", "r", "s", "place"), node("Mul", "s wide", "boxes", "pixels")]
write_model("refined.onnx", nodes, {"z": z.shape, "d": z.shape}, ["boxes"], {"one": np.float32(1), "least": np.float32(1e-5), "wide": np.float32(640)}, opset=17)
s, x = turn.choice(np.float32([0.296875, 0.30078125, 0.5]), (64, 1)), turn.uniform(1, 2, (64, 4)).astype("f4")
np.savez("gate.npz", s=s, x=x)
for name, limit in (("gate", 0.3003), ("gate_mended", 0.298828125)):
    nodes = [node("Greater", "s limit", "g", "gate"), node("Where", "g x none", "y", "pick")]
    write_model(f"{name}.onnx", nodes, {"s": s.shape, "x": x.shape}, ["y"], {"limit": np.float32(limit), "none": np.float32(0)}, opset=17)
END
tells 1 "no harm" 'r["causes"][0]["node"] == "score" and "makes errors count for more" in r["causes"][0]["text"]' doctor refined.onnx -i refined.npz -a fp16 --task detect --no-plan -q
expect 0 "no overflow" "$program" audit refined.onnx -i cornered.npz -a fp16 --keep '#3-6=fp32' --task detect -q --json said.json
fields said.json '"node 0 score (Sigmoid) causes" in r["lanes"][0]["verdict"] and "(Sub) subtracts nearly equal values" in r["lanes"][0]["verdict"]' "no overflow"
# The same overflow where the exact corner is no end of the picture: a Sigmoid makes 1 of it, and that is nearly all of the error.
tells 1 "an end of the picture" 'r["causes"][0]["node"] == "odds" and "finite results are wrong by it from node 6 place" in r["causes"][0]["text"]' doctor refined.onnx -i cornered.npz -a fp16 --task detect --no-plan -q
tells 1 "a threshold" 'r["causes"][0]["node"] == "gate" and "as constant limit that it compares with is rounded" in r["causes"][0]["text"]' doctor gate.onnx -i gate.npz -a bf16 --task signal --no-plan -q
expect 0 "a threshold, mended" "$program" doctor gate_mended.onnx -i gate.npz -a bf16 --task signal --no-plan -q

# What left the domain of a function; what is not finite and chosen by; the worse of two outputs; values whose range is a mask's; a converted node.
PYTHONPATH=$source/examples python3 - <<'END' || exit 99
import numpy as np
from onnx_writer import INT64, node, write_model

turn = np.random.default_rng(5)
q = turn.standard_normal((256, 4))
q = (q / np.linalg.norm(q, axis=1, keepdims=True) * (1 - 1e-6)).astype("f4")
np.savez("turns.npz", q=q)
for name, last in (("turns", [node("Acos", "c", "y", "angle")]), ("turns_mended", [node("Clip", "c low high", "k"), node("Cos", "k", "y")])):
    nodes = [node("Mul", "q q", "p", "product"), node("ReduceSum", "p axis", "c", "dot", keepdims=0), *last]
    write_model(f"{name}.onnx", nodes, {"q": q.shape}, ["y"], {"axis": np.array([1]), "low": np.float32(-1), "high": np.float32(1)}, opset=17)
p = turn.uniform(0.2, 1, (4, 16)).astype("f4")
u = turn.uniform(0.05, 0.9, (4, 16)).astype("f4")
u[:, 3] = 1 - 1e-4
p[:, 3] = 1e-6
np.savez("noise.npz", p=p, u=u)
nodes = [node("Log", "u", "l", "log"), node("Abs", "l", "e", "size"), node("Div", "p e", "s", "odds"), node("ArgMax", "s", "token", "pick", axis=-1, keepdims=0)]
write_model("noise.onnx", nodes, {"p": p.shape, "u": u.shape}, ["token"], opset=17, types={"token": INT64})
rows = turn.standard_normal((512, 8)).astype("f4")
rows[7] *= np.float32(1e-5)
np.savez("rows.npz", x=rows)
nodes = [node("Mul", "x x", "p", "square"), node("ReduceSum", "p axis", "s"), node("Sqrt", "s", "n"), node("Div", "x n", "u", "unit"), node("Clip", "u low high", "y", "cut")]
write_model("rows.onnx", nodes, {"x": rows.shape}, ["y"], {"axis": np.array([1]), "low": np.float32(-1), "high": np.float32(1)}, opset=17)
x = turn.standard_normal((64, 8)).astype("f4")
x[:, 0] = -600
np.savez("masked.npz", x=x)
w = {k: turn.standard_normal((8, 8)).astype("f4") for k in "vw"}
steps = {"s": np.float32(600 / 255), "z": np.uint8(255), "t": np.float32(0.08), "o": np.uint8(128)}
coded = [node("QuantizeLinear", "x s z", "c", "codes"), node("DequantizeLinear", "c s z", "d", "values"), node("Softmax", "d", "p", axis=-1), node("MatMul", "p w", "y"),
         node("MatMul", "x v", "f"), node("Mul", "f small", "g"), node("Add", "f g", "first")]
write_model("masked.onnx", coded, {"x": x.shape}, ["first", "y"], {**w, **steps, "small": np.float32(0.2)}, opset=17)
plain = [node("Softmax", "x", "p", axis=-1), node("MatMul", "p w", "y"), node("MatMul", "x v", "first")]
write_model("plain.onnx", plain, {"x": x.shape}, ["first", "y"], w, opset=17)
write_model("made.onnx", [node("MatMul", "x v2", "h2", "other"), node("Add", "x h2", "y", "sum")], {"x": x.shape}, ["y"], {"v2": w["v"] * np.float32(1.3)}, opset=17)
write_model("given.onnx", [node("MatMul", "x v", "h"), node("Add", "x h", "y", "sum")], {"x": x.shape}, ["y"], w, opset=17)
END
expect 1 "a domain" "$program" doctor turns.onnx -i turns.npz -a fp16-strict --task signal --no-plan -q --json said.json
fields said.json '"node 1 dot (ReduceSum) has passed 1 or -1 in fp16, which makes node 2 angle (Acos) not finite" in r["verdict"]' "a domain"
expect 0 "a domain, mended" "$program" doctor turns_mended.onnx -i turns.npz -a fp16-strict --task signal --no-plan -q
expect 1 "chosen by" "$program" doctor noise.onnx -i noise.npz -a fp16 --no-plan -q --json said.json
fields said.json '"node 0 log (Log) has become 0 in fp16, which makes node 2 odds (Div) not finite in 4 of 64 elements" in r["verdict"]' "chosen by"
# Clip makes infinities finite, and 1 row of 512 wrong: less than rounding may do to all of them.
tells 1 "cut to the range" "'node 0 square (Mul) has become 0 in fp16, which makes node 3 unit (Div) not finite in 8 of 4096 elements' in r['verdict']" doctor rows.onnx -i rows.npz -a fp16 --task signal --no-plan -q
says 0 "a forecast of it" "as its n becomes 0; keep 4 nodes in FP32" overflow rows.onnx -i rows.npz -q
expect 1 "a mask's range" "$program" doctor masked.onnx -i masked.npz -a fp32 --task signal --reference-model plain.onnx -q --json said.json
fields said.json 'r["verdict"].startswith("b") and ": output y (signal" in r["verdict"]' "the worse of two outputs"
fields said.json 'r["causes"][0]["node"] == "values" and "those that count are small beside its steps" in r["causes"][0]["text"]' "a mask's range"
expect 1 "converted" "$program" doctor made.onnx -i masked.npz -a fp32 --task signal --reference-model given.onnx -q --json said.json
fields said.json 'r["causes"][0]["node"] == "other" and len(r["causes"]) == 1' "converted"

# What the graph or a runtime does wrong is beyond the figures: the first line says so of both.
python <<'END' || exit 99
x = np.random.default_rng(2).uniform(-4, 4, (2, 64)).astype("f4")
np.savez("hard.npz", x=x)
write_model("hard.onnx", [node("HardSigmoid", "x", "g", "gate", alpha=1 / 6, beta=0.5), node("Mul", "x g", "y", "swish")], {"x": x.shape}, ["y"], opset=14)
np.savez("hard_said.npz", y=x * x * np.clip(x / 6 + 0.5, 0, 1))
END
tells 1 "a runtime's own" '"(hardswish-qnn); by its figures alone it is fine: " in r["verdict"] and r["causes"][0]["text"].endswith("figures here are without it")' \
    doctor hard.onnx -i hard.npz --for qnn --no-plan -q
tells 1 "a runtime's own, recorded" 'r["reason"].startswith("hard_said.npz: NOT explained") and "(hardswish-qnn); by its figures alone it is fine: " in r["reason"] and r["reason"].count("alone") == 1' \
    doctor hard.onnx -i hard.npz --recorded hard_said.npz --for qnn --no-plan -q

# A sum that leaves the format has zeros in it, too: they are not what makes it infinite.
python <<'END' || exit 99
x = np.full((2, 4096), 100, "f4")
x[:, ::7] = 1e-9
write_model("sparse.onnx", [node("Relu", "x", "r", "kept"), node("ReduceMean", "r", "y", "pooled", axes=[-1])], {"x": x.shape}, ["y"], opset=17)
np.savez("sparse.npz", x=x)
END
tells 1 "zeros in a sum" '[(c["reason"], c["node"]) for c in r["causes"]] == [("overflow", "pooled")]' doctor sparse.onnx -i sparse.npz -a fp16-strict --task signal --no-plan -q

# Rows inside an operator: in which format a target adds them nobody recorded; both are computed, and from which size on that matters is said.
python <<'END' || exit 99
turn = np.random.default_rng(19)
for name, side in ("large", 256), ("small", 20):
    write_model(f"{name}.onnx", [node("InstanceNormalization", "x s b", "n", "norm"), node("Relu", "n", "y")], {"x": (1, 2, side, side)}, ["y"],
                {"s": np.ones(2, "f4"), "b": np.zeros(2, "f4")}, opset=17)
    np.savez(f"{name}.npz", x=turn.standard_normal((1, 2, side, side)).astype("f4") * 4)
# sums of squares leave FP16 where they are 65504
x = np.load("large.npz")["x"].astype(np.float64)
print(np.max(np.argmax(np.cumsum((x - x.mean((2, 3), keepdims=True)).reshape(2, -1) ** 2, 1) > 65504, 1)), file=open("least", "w"))
END
for target in openvino-gpu ort-dml coreml-gpu; do
    tells 1 "rows, $target" '[(c["reason"], c["node"]) for c in r["causes"]] == [("inside", "norm")] and r["grade"] == "borderline" and "assumed: rows in FP32 (rows in FP16: broken, " in r["reason"]' doctor large.onnx -i large.npz --for $target -a $target:fp16 --task signal -q
    fields told.json "abs(int(r['causes'][0]['text'].split(' terms of such')[0].split()[-1]) - $(cat least)) < 0.02 * $(cat least)" "rows, $target: the size"
    tells 0 "rows, $target, fewer" 'r["grade"] == "fine" and not r["causes"]' doctor small.onnx -i small.npz --for $target -a $target:fp16 --task signal -q
done
tells 0 "rows, recorded" 'r["grade"] == "fine"' doctor large.onnx -i large.npz --for torch -a torch:fp16 --task signal -q
expect 0 "rows, in an audit" "$program" audit large.onnx -i large.npz --for openvino-gpu --task signal -q --json rows.json
fields rows.json '[(s["rule"], s["fine"], s["wrong"], s["terms"]) for s in r["assumed_sums"]] == [("rows in FP32", "openvino-gpu:fp16", "openvino-gpu:fp16,steps=stored-moments", 65536)]' "rows, in an audit"

expect 2 "an unknown target" "$program" doctor rms.onnx -i wide.npz --for nothing
expect 2 "a tolerance without a plan" "$program" doctor rms.onnx -i wide.npz --no-plan --tolerance 60
expect 3 "no file" "$program" doctor none.onnx -i wide.npz
expect 3 "no recording" "$program" doctor rms.onnx -i wide.npz --recorded none.npz
exit $failed
