#!/usr/bin/env bash
# Processors without VNNI, beside which sums of unsigned by signed bytes saturate in ONNX Runtime: doctor --for ort judges the worse of both kinds,
# says both and which this machine is; audit --for ort has a column of each; compare names what a recording from the other kind was computed in.
# Weights of 7 bits, and the same numbers as UINT8, are what the lint says of them: nothing to choose.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

python <<'END' || exit 99
random = np.random.RandomState(3)
x = (random.randint(-128, 128, (16, 64)) * np.float32(.02)).astype("f4")
w = random.randint(-127, 128, (64, 24))

def write(name, weights, zero):
    nodes = [node("QuantizeLinear", "x sx zx", "q"), node("DequantizeLinear", "q sx zx", "f"), node("DequantizeLinear", "w sw zw", "g"), node("MatMul", "f g", "p", "product"),
             node("QuantizeLinear", "p sy zy", "r"), node("DequantizeLinear", "r sy zy", "y")]
    write_model(name, nodes, {"x": x.shape}, {"y": None}, {"w": weights, "zw": zero, "sx": np.float32(.02), "zx": np.uint8(128), "sw": np.float32(.01), "sy": np.float32(.1),
                                                          "zy": np.uint8(128)}, opset=17)

write("full.onnx", w.astype("i1"), np.int8(0))
write("narrow.onnx", (w // 2).astype("i1"), np.int8(0))
write("unsigned.onnx", (w + 128).astype("u1"), np.uint8(128))
np.savez("x.npz", x=x)
# bytes of at most 10, whose sums do not saturate; and beside them digits that FP32 does not have
nodes = [node("QuantizeLinear", "x sx zx", "q"), node("DequantizeLinear", "q sx zx", "f"), node("DequantizeLinear", "w sw zw", "g"), node("MatMul", "f g", "p", "product"),
         node("QuantizeLinear", "p sy zy", "r"), node("DequantizeLinear", "r sy zy", "y"), node("Add", "y large", "a", "added"), node("Sub", "a large", "z", "taken")]
write_model("lost.onnx", nodes, {"x": x.shape}, {"z": None}, {"w": w.astype("i1"), "zw": np.int8(0), "sx": np.float32(.02), "zx": np.uint8(128), "sw": np.float32(.01),
                                                             "sy": np.float32(.3), "zy": np.uint8(128), "large": np.float32(1e8)}, opset=17)
# ONNX Runtime looks behind a Relu for QuantizeLinear, and leaves the product in FP32 where there is none (recorded: 1.32's optimised graph)
write_model("relu.onnx", [node("QuantizeLinear", "x sx zx", "q"), node("DequantizeLinear", "q sx zx", "f"), node("DequantizeLinear", "w sw zw", "g"), node("MatMul", "f g", "p", "product"),
                          node("Relu", "p", "r", "relu"), node("Neg", "r", "y", "negative")],
            {"x": x.shape}, {"y": None}, {"w": w.astype("i1"), "zw": np.int8(0), "sx": np.float32(.02), "zx": np.uint8(128), "sw": np.float32(.01)}, opset=17)
# operators that multiply bytes themselves
constants = {"sx": np.float32(.02), "zx": np.uint8(128), "sw": np.float32(.01), "zw": np.int8(0), "sy": np.float32(.5), "zy": np.uint8(128), "w": w.astype("i1"), "wt": w.T.astype("i1"),
             "wc": random.randint(-127, 128, (8, 16, 2, 2)).astype("i1"), "image": np.array([16, 16, 2, 2])}
first, last = node("QuantizeLinear", "x sx zx", "q"), node("DequantizeLinear", "p sy zy", "y")
own = lambda *arguments, **attributes: node(*arguments, **attributes) + block(7, "com.microsoft")
for name, nodes in {"MatMulInteger": [first, node("MatMulInteger", "q w zx", "p"), node("Cast", "p", "y", to=1)], "QLinearMatMul": [first, node("QLinearMatMul", "q sx zx w sw zw sy zy", "p"), last],
                    "QLinearConv": [node("Reshape", "x image", "i"), node("QuantizeLinear", "i sx zx", "q"), node("QLinearConv", "q sx zx wc sw zw sy zy", "p"), last],
                    "QGemm": [first, own("QGemm", "q sx zx wt sw zw", "y", transB=1)], "DynamicQuantizeMatMul": [own("DynamicQuantizeMatMul", "x w sw", "y")]}.items():
    write_model(f"{name}.onnx", nodes, {"x": x.shape}, {"y": None}, constants, opset=17, domains={"com.microsoft": 1})
np.savez("low.npz", x=((random.randint(0, 11, (16, 64)) - 128) * np.float32(.02)).astype("f4"))
END

this="without VNNI"
[ "$(uname -m)" = x86_64 ] && ! grep -qwE 'avx512_vnni|avx_vnni' /proc/cpuinfo && grep -qw avx2 /proc/cpuinfo || this="with VNNI"
expect 1 "both kinds" "$program" doctor full.onnx -i x.npz --for ort -q --json said.json
python "$this" <<'END' || fail "doctor.json"
said = json.load(open("said.json"))
assert said["arithmetic"] == "ort-cpu,qdq=integer,integers=saturating16" and said["grade"] == "broken", said
assert said["processor"] == "without VNNI" and said["this_processor"] == sys.argv[1] and said["other_processor"].startswith("with VNNI it is fine: "), said
# the option, by a run
assert said["remedy"].startswith("session.x64quantprecision=1, ") and said["other_processor"] in said["remedy"], said["remedy"]
cause = said["causes"][0]
assert cause["rule"] == "bytes-saturate" and cause["node"] == "product" and "weights add up to" in cause["text"], cause
assert "session.x64quantprecision=1" in cause["fix"] and "UINT8" in cause["fix"], cause
END
# Where nothing saturates both kinds are one, and what is wrong is not the sums of bytes.
expect 0 "alike" "$program" doctor full.onnx -i low.npz --for ort -q --json alike.json
alike='r["processor"] == "with VNNI and without VNNI alike" and "this_processor" not in r and "other_processor" not in r'
fields alike.json "$alike and 'this machine' not in r['verdict']" "alike"
tells 1 "alike, and wrong" "$alike"' and r["causes"][0]["node"] == "added" and "saturate" not in json.dumps([r["causes"], r.get("remedy")])' doctor lost.onnx -i low.npz --for ort --no-plan -q
for twin in narrow unsigned; do
    tells 0 "$twin" '"processor" not in r and "VNNI" not in json.dumps(r)' doctor $twin.onnx -i x.npz --for ort -q
    tells 0 "$twin" 'not r["findings"]' lint $twin.onnx --for ort
done
# The edit gives UINT8 weights: fine, in every sum of bytes the same as with VNNI.
tells 0 "fix" '[(e["rule"], e["done"]) for e in r["edits"]] == [("bytes-saturate", "made")] and r["made_count"] == 1' fix full.onnx -i x.npz --for ort -o fixed.onnx -q
expect 0 "fixed" "$program" doctor fixed.onnx -i x.npz --for ort -q --json fixed.json
fields fixed.json '"processor" not in r and "VNNI" not in json.dumps(r)' "fixed"
expect 0 "exact" "$program" run full.onnx -i x.npz -a ort-cpu,qdq=integer -o exact.npz
expect 0 "fixed, run" "$program" run fixed.onnx -i x.npz -a ort-cpu,qdq=integer,integers=saturating16 -o fixed.npz
python3 -c "import numpy as np; assert (np.load('exact.npz')['y'] == np.load('fixed.npz')['y']).all()" || fail "fixed: other numbers"

# A plan is judged on the worse of both, too; no file keeps a node in FP32 that is between DequantizeLinear and QuantizeLinear.
tells 0 "plan" 'r["narrow"] == "ort-cpu,qdq=integer,integers=saturating16" and r["met"] and r["before"] > 1 and r["kept"] and r["verdict"].startswith("No file keeps nodes at ort")' plan full.onnx -i x.npz --for ort --tolerance sqnr_db=20 -q
tells 0 "plan, fixed" 'r["met"] and r["before"] <= 1 and not r["kept"]' plan fixed.onnx -i x.npz --for ort -q

for operator in MatMulInteger QLinearMatMul QLinearConv QGemm DynamicQuantizeMatMul; do
    tells 0 "fix, $operator" '[(e["rule"], e["done"]) for e in r["edits"]] == [("bytes-saturate", "made")] and r["change"] == 0' fix $operator.onnx -i x.npz --for ort -o mended.onnx -q
    for run in "$operator ort-cpu,qdq=integer own" "mended ort-cpu,qdq=integer,integers=saturating16 mended" "$operator ort-cpu,qdq=integer,integers=saturating16 less"; do
        set -- $run
        expect 0 "$run" "$program" run $1.onnx -i x.npz -a $2 -o $3.npz
    done
    python3 -c "
import numpy as np
own, mended, less = (np.load(name + '.npz')['y'] for name in ('own', 'mended', 'less'))
assert (own == mended).all() and (own != less).mean() > .2" || fail "$operator: other numbers"
done

tells 0 "an arithmetic that is named" '"processor" not in json.dumps(r)' doctor full.onnx -i x.npz --for ort -a ort-cpu -q

says 0 "audit --for" " dB  without VNNI" audit full.onnx -i x.npz --for ort -q
grep -q "^ort-cpu,qdq=integer,integers=saturating16: " out || fail "audit --for: the arithmetic's name is cut"
for lane in qdq=integer qdq=integer,integers=saturating16; do
    expect 0 "a Relu" "$program" run relu.onnx -i x.npz -a ort-cpu,$lane -o "$lane.npz"
done
python3 -c 'import numpy as np; a, b = (np.load(n + ".npz")["y"] for n in ("qdq=integer", "qdq=integer,integers=saturating16")); assert (a == b).all()' || fail "a product behind which a Relu stands saturates"
tells 0 "audit --for, unsigned" '[lane["name"] for lane in r["lanes"]] == ["ort-cpu,qdq=integer", "model"]' audit unsigned.onnx -i x.npz --for ort -q

# A recording from the other kind, beside what was asked; and the exact one's is explained by what was asked.
expect 0 "recorded" "$program" run full.onnx -i x.npz -a ort-cpu,qdq=integer,integers=saturating16 -o saturated.npz
expect 1 "compare" "$program" compare full.onnx saturated.npz -i x.npz -a fp32 --json compared.json
saturated='r["cause"]["kind"] == "format" and r["cause"]["arithmetic"] == "fp32,qdq=integer,integers=saturating16" and "without VNNI" in r["cause"]["text"]'
fields compared.json "$saturated" "compare"
python <<'END' || fail "roundings between"
y = np.load("saturated.npz")["y"].copy()
y.reshape(-1)[::40] += np.float32(.1)  # steps
np.savez("near.npz", y=y)
END
tells 1 "compare, some elements a step off" "$saturated" compare full.onnx near.npz -i x.npz -a fp32
expect 0 "compare, exact" "$program" compare full.onnx exact.npz -i x.npz -a fp32,qdq=integer

# weights that 60 sums of themselves make have 2^60 ways back to the first: whether a caller may give it is told by one walk
python <<'END' || exit 99
sums = [node("Add", f"c{i} c{i}", f"c{i + 1}") for i in range(60)]
for name, inputs in ("fixed", {}), ("given", {"c0": (32, 8)}):
    write_model(f"{name}.onnx", [*sums, node("DequantizeLinear", "c60 s", "w"), node("MatMul", "x w", "y", "product")], {"x": (4, 32), **inputs}, ["y"],
                {"c0": np.ones((32, 8), "i1"), "s": np.float32(.1)}, opset=17, types={"c0": 3})
chain = [node("Relu", f"r{i}", f"r{i + 1}") for i in range(50000)]
write_model("chain.onnx", [node("DequantizeLinear", "c s", "w"), node("MatMul", "x w", "r0"), *chain], {"x": (4, 32)}, ["r50000"], {"c": np.ones((32, 8), "i1"), "s": np.float32(.1)}, opset=17)
END
for name in fixed given; do
    expect 0 "weights by many ways, $name" timeout 60 "$program" lint $name.onnx --for ort --json $name.json
done
fields fixed.json '[f["node"] for f in r["findings"] if f["rule"] == "weights-coded"] == ["product"]' "weights by many ways"
fields given.json 'not any(f["rule"] == "weights-coded" for f in r["findings"])' "weights that a caller may give"

# what is behind a product is walked, not descended into: 50,000 Relus in a stack of 1 MiB
expect 0 "a long chain behind a product" bash -c "ulimit -s 1024; exec timeout 60 '$program' lint chain.onnx --for ort"

# Beside fp32 a recording with all bits of ort-cpu,qdq=integer is of FP32, where the integers change nothing: weights alone are dequantised.
python <<'END' || exit 99
turn = np.random.default_rng(3)
x, draw = turn.standard_normal((2, 32, 6, 6)).astype("f4"), lambda low, high: turn.uniform(low, high, 32).astype("f4")
nodes, values, last = [], {"s": np.float32(0.001), "shape": np.array([32, 32, 3, 3])}, "x"
for i in range(4):
    values |= {f"w{i}": turn.integers(-128, 128, (32, 288)).astype("i1"), f"g{i}": draw(0.5, 2), f"b{i}": draw(-1, 1), f"m{i}": draw(-1, 1), f"v{i}": draw(0.2, 3)}
    nodes += [node("DequantizeLinear", f"w{i} s", f"d{i}"), node("Reshape", f"d{i} shape", f"k{i}"), node("BatchNormalization", f"{last} g{i} b{i} m{i} v{i}", f"n{i}"),
              node("Conv", f"n{i} k{i}", f"h{i}", pads=[1, 1, 1, 1])]
    last = f"h{i}"
write_model("coded.onnx", nodes, {"x": x.shape}, [last, "h2", "h1"], values, opset=17)
np.savez("coded.npz", x=x)
END
expect 0 "recorded" "$program" run coded.onnx -i coded.npz -a ort-cpu,qdq=integer -q -o recorded.npz
expect 0 "of FP32" "$program" compare coded.onnx recorded.npz -i coded.npz -a fp32 -q --json said.json
fields said.json 'r["files"][0]["explained"] and "first_unexplained" not in r["files"][0]' "of FP32"
exit "$failed"
