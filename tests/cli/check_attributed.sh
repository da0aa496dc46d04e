#!/usr/bin/env bash
# What an error is said to come from: in a quantised model beside its original an activation that the quantiser took into a pair's range belongs to the pair; --verify holds
# the shares of nodes that only hand on a constant.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: skipped"; exit 77; }

for kind in RELU CLIP CLIP6; do
    for form in KEPT FOLDED RENAMED; do
        python3 "$source/tests/cli/folded_activations.py" "$source/examples" . $kind $form || fail "$kind $form"
        "$program" audit quantised.onnx -i inputs.npz -i inputs.npz -a fp32 --reference-model float.onnx -q --json $form.json >$form.out || [ $? -eq 1 ] || fail "$kind $form: audit"
        shows $form.out "without the pair of node" "$kind $form"
    done
    python <<'END2' || fail "$kind: folded and kept activations differ"
def figures(form):
    lane = json.load(open(form + ".json"))["lanes"][0]
    pairs = [(p["gained_db"], p["clipped"], p["step_rms"]) for p in lane["qdq_pairs"]]
    shares = {n["name"]: n.get("share", 0) or 0 for n in lane["nodes"]}
    return pairs, [shares[n] for n in ("product0", "q0", "d0", "product1", "q1", "d1", "product2")]

kept = figures("KEPT")
assert len(kept[0]) == 2 and kept[0][0][0] >= 5 and all(p[1] == 0 for p in kept[0]), kept
for form in ("FOLDED", "RENAMED"):
    got = figures(form)
    for a, b in zip(kept[0], got[0]):
        assert all(abs(x - y) <= 1e-9 * max(1, abs(x)) for x, y in zip(a, b)), (form, kept[0], got[0])
    assert all(abs(x - y) <= 1e-6 for x, y in zip(kept[1], got[1])), (form, kept[1], got[1])
END2
done

# An activation that another reads beside is there still: it is none of the pair's.
python <<'END2' || fail "shared"
random = np.random.RandomState(2)
x, w = random.randn(8, 16).astype("f4"), (random.randn(16, 16) / 4).astype("f4")
for name, read, pair in (("float", "p", []), ("quantised", "p_DequantizeLinear_Output", [node("QuantizeLinear", "p s z", "q"), node("DequantizeLinear", "q s z", "p_DequantizeLinear_Output")])):
    nodes = [node("MatMul", "x w", "p")] + pair + [node("Relu", read, "a"), node("Sigmoid", read, "b"), node("Add", "a b", "y")]
    constants = {"w": w, **({"s": np.float32(abs(x @ w).max() / 127), "z": np.int8(0)} if pair else {})}
    write_model(name + ".onnx", nodes, {"x": x.shape}, {"y": None}, constants, opset=17)
np.savez("inputs.npz", x=x)

# nodes that hand on a constant as it lies, and one that computes it
c, d = random.randn(8, 8).astype("f4"), random.randn(64).astype("f4")
np.savez("x.npz", x=random.randn(3, 8).astype("f4"))
hands = {"Identity": ([node("Identity", "c", "w")], {"c": c}), "Reshape": ([node("Reshape", "d s", "w")], {"d": d, "s": np.array([8, 8])}),
         "Unsqueeze": ([node("Unsqueeze", "c k", "u"), node("Squeeze", "u k", "w")], {"c": c, "k": np.array([0])}),
         "Flatten": ([node("Flatten", "e", "w", axis=1)], {"e": c.reshape(8, 2, 4)}), "Transpose": ([node("Transpose", "c", "w", perm=[1, 0])], {"c": c}),
         "twice": ([node("Identity", "c", "w"), node("MatMul", "x c", "z"), node("Add", "y z", "both")], {"c": c})}
for name, (nodes, constants) in hands.items():
    product = node("MatMul", "x w", "y")
    write_model(name + ".onnx", nodes[:1] + [product] + nodes[1:] if name == "twice" else nodes + [product], {"x": (3, 8)}, {"both" if name == "twice" else "y": None}, constants, opset=17)
END2
"$program" audit quantised.onnx -i inputs.npz -a fp32 --reference-model float.onnx -q --json shared.json >/dev/null
python3 -c '
import json
pair = json.load(open("shared.json"))["lanes"][0]["qdq_pairs"][0]
assert pair["clipped"] == 0 and pair["gained_db"] is None or pair["gained_db"] > 20, pair' || fail "an activation beside another reader"
# A pair whose error another one cancels in the second sample: what it gains in the first is said with that, and with what the worst of both loses.
python <<'END2' || fail "cancelling"
pairs = [node("QuantizeLinear", f"{v} s z", f"{v}q", f"q_{v}") for v in "ab"] + [node("DequantizeLinear", f"{v}q s z", f"{v}d", f"d_{v}") for v in "ab"]
shapes = {"a": (1, 64), "b": (1, 64)}
write_model("float.onnx", [node("Sub", "a b", "y", "difference")], shapes, {"y": None}, {}, opset=17)
write_model("quantised.onnx", pairs + [node("Sub", "ad bd", "y", "difference")], shapes, {"y": None}, {"s": np.float32(0.125), "z": np.int8(0)}, opset=17)
a = np.random.RandomState(3).uniform(-3, 3, (1, 64)).astype("f4")
np.savez("first.npz", a=a, b=np.full_like(a, 0.02))
np.savez("second.npz", a=a, b=a - np.float32(0.25))
END2
"$program" audit quantised.onnx -i first.npz -i second.npz -a fp32 --reference-model float.onnx -q >two.out || [ $? -eq 1 ] || fail "cancelling: audit"
tr -s '\n ' ' ' <two.out | grep -qE 'without the pair of node 0 q_a \(QuantizeLinear\), by its steps \(its range clips nothing\), it gains [0-9.]+ dB in sample first.npz, but the worst of 2 samples loses [0-9.]+ dB' ||
    fail "a pair that helps one sample and harms another: $(head -4 two.out)"
"$program" audit quantised.onnx -i first.npz -a fp32 --reference-model float.onnx -q >one.out || [ $? -eq 1 ] || fail "cancelling: audit of one"
grep -q "in sample\|worst of" one.out && fail "a pair of one sample: $(head -4 one.out)"
# Two sums that FP16 rounds to one number, 2000, from 2000.6 and 2000.6011: the margin's error, 0.0011, is the difference of errors 500 times as large, by different nodes. The error of y is 0.30005 - 0.3011
# = -0.00105: 0.071 of it is the rounding of 0.3011 itself, and of the rest, the decision, 0.112 is that of both inputs: (4.9e-5 + 7.5e-5) / 0.0011. Together they cause 0.929 * 0.888.
python <<'END2' || fail "a margin"
x = np.linspace(-60, -5, 8, dtype="f4")[:, None]
x[1], x[6] = 0.3, 0.3011
far = {"far": np.float32(2000.3), "zero": np.array([0]), "half": np.array([4]), "all": np.array([8])}
write_model("margin.onnx", [node("Slice", "x zero half zero", "a"), node("Slice", "x half all zero", "b"), node("Add", "a far", "A", "first"), node("Add", "b far", "B", "second"),
                            node("Concat", "A B", "c", axis=0), node("ArgMax", "c", "i", axis=0, keepdims=0), node("Gather", "x i", "y", axis=0)], {"x": x.shape}, ["y"], far)
np.savez("margin.npz", x=x)
END2
"$program" audit margin.onnx -i margin.npz -a fp16 -q --json margin.json >margin.out || [ $? -eq 1 ] || fail "a margin: audit"
fields margin.json 'abs(sum(n["share"] for n in r["lanes"][0]["nodes"] if n["name"] in ("first", "second")) - 0.929 * 0.888) < 0.001' "the joint share"
tr -s '\n ' ' ' <margin.out | grep -q "together cause 82 % of the error" || fail "a margin's shares: $(head -5 margin.out)"
for name in Identity Reshape Unsqueeze Flatten Transpose twice; do
    "$program" audit $name.onnx -i x.npz -a fp16 --verify 3 -q --json verified.json >/dev/null || [ $? -eq 1 ] || fail "$name: audit"
    python3 -c '
import json
verified = json.load(open("verified.json"))["lanes"][0]["attribution"]["verified"]
assert verified and all(abs(v["held"] - v["share"]) <= 0.01 for v in verified), verified' || fail "$name: held is not share"
done
# One network as Q/DQ and as QLinear operators beside its floats: the same operator is the first cause, shares are the same and add up. The network is linear, so that what numpy finds by
# propagating what each layer does otherwise to the output is its share.
python "$program" <<'END2' || fail "QLinear operators"
turn = np.random.default_rng(7)
f, rows, width, layers, worst = np.float32, 32, 48, 4, 2
x = turn.normal(size=(rows, width)).astype(f)
weights = [(turn.normal(size=(width, width)) / 7).astype(f) for _ in range(layers)]
write_model("float.onnx", [node("MatMul", f"v{k} w{k}", f"v{k + 1}", f"mm{k}") for k in range(layers)], {"v0": x.shape}, [f"v{layers}"], {f"w{k}": w for k, w in enumerate(weights)}, opset=17)
values = [x]
for w in weights:
    values.append(values[-1] @ w)
scales = [f(abs(v).max() / 127) for v in values]
steps = [f(abs(w).max() / (7 if k == worst else 127)) for k, w in enumerate(weights)]  # the planted one: 4 bits
codes = [np.rint(w / s).astype("i1") for w, s in zip(weights, steps)]
constants = {"z": np.int8(0), **{f"s{k}": s for k, s in enumerate(scales)}, **{f"t{k}": s for k, s in enumerate(steps)}, **{f"w{k}_quantized": c for k, c in enumerate(codes)}}
begin, end = node("QuantizeLinear", "v0 s0 z", "v0_quantized", "first"), node("DequantizeLinear", f"v{layers}_quantized s{layers} z", f"v{layers}", "last")
write_model("qoperator.onnx", [begin, *(node("QLinearMatMul", f"v{k}_quantized s{k} z w{k}_quantized t{k} z s{k + 1} z", f"v{k + 1}_quantized", f"mm{k}_quant") for k in range(layers)), end],
            {"v0": x.shape}, [f"v{layers}"], constants, opset=17)
chain = [begin]
for k in range(layers):
    chain += [node("DequantizeLinear", f"v{k}_quantized s{k} z", f"v{k}_DequantizeLinear_Output", f"mm{k}_quant/input"), node("DequantizeLinear", f"w{k}_quantized t{k} z", f"w{k}_d", f"mm{k}_quant/weights"),
              node("MatMul", f"v{k}_DequantizeLinear_Output w{k}_d", f"p{k}", f"mm{k}_quant/MatMul"), node("QuantizeLinear", f"p{k} s{k + 1} z", f"v{k + 1}_quantized", f"mm{k}_quant/QuantizeLinear")]
pairs = [f"--pair=w{k}_d=w{k}" for k in range(layers)]
write_model("qdq.onnx", [*chain, end], {"v0": x.shape}, [f"v{layers}"], constants, opset=17)
np.savez("x.npz", v0=x)


def audit(form, *more):
    subprocess.run([sys.argv[1], "audit", form + ".onnx", "--reference-model", "float.onnx", "-i", "x.npz", "-a", "fp32", "-q", "--json", form + ".json", *more], stdout=subprocess.DEVNULL)
    lane = json.load(open(form + ".json"))["lanes"][0]
    return lane, {n["name"]: n.get("share") or 0 for n in lane["nodes"]}


lane, shares = audit("qoperator")
assert abs(lane["attribution"]["sum"] - 1) <= 0.01, lane["attribution"]
other, theirs = audit("qdq", *pairs)
assert all(abs(shares[n] - theirs[n]) <= 1e-6 for n in shares), [(n, shares[n], theirs.get(n)) for n in shares if abs(shares[n] - theirs.get(n, 9)) > 1e-6]
assert max(shares, key=shares.get) == max(theirs, key=theirs.get) == f"mm{worst}_quant/weights", shares
assert f"mm{worst}_quant/weights" in lane["verdict"] and f"mm{worst}_quant/weights" in other["verdict"], (lane["verdict"], other["verdict"])
# numpy: floats of the codes
exact, read = [v.astype("f8") for v in values], [c.astype("f8") * float(s) for c, s in zip(codes, steps)]
got = [np.rint(x.astype("f8") / scales[0]).clip(-128, 127)]
for k in range(layers):
    got.append(np.rint(got[-1] * float(scales[k]) @ read[k] / float(scales[k + 1])).clip(-128, 127))
error = got[-1] * float(scales[-1]) - exact[-1]
alone = (exact[worst] @ (read[worst] - weights[worst]))  # this layer alone, quantised
middle = [(w + r) / 2 for w, r in zip(weights, read)]
for k in range(worst + 1, layers):
    alone = alone @ middle[k]
share = float((alone * error).sum() / (error * error).sum())
assert abs(share - shares[f"mm{worst}_quant/weights"]) <= 0.03, (share, shares[f"mm{worst}_quant/weights"])
# the same codes of weights where ranges are found while running, with both scales in one product or one after another, and beside floats in blocks (codes are 128 higher)
nodes, blocks = [], []
for k in range(layers):
    nodes += [node("DynamicQuantizeLinear", f"v{k}", f"q{k} r{k} z{k}", f"find{k}"), node("MatMulInteger", f"q{k} w{k}_quantized z{k}", f"i{k}", f"mm{k}_quant"), node("Cast", f"i{k}", f"f{k}", f"cast{k}", to=1)]
    nodes += [node("Mul", f"r{k} t{k}", f"p{k}", f"scales{k}"), node("Mul", f"f{k} p{k}", f"v{k + 1}", f"scale{k}")] if k % 2 else [node("Mul", f"f{k} r{k}", f"p{k}", f"scales{k}"), node("Mul", f"t{k} p{k}", f"v{k + 1}", f"scale{k}")]
    blocks += [node("MatMulNBits", f"v{k} w{k}_blocks t{k}_blocks", f"v{k + 1}", f"mm{k}_quant", bits=8, block_size=16, K=width, N=width) + block(7, "com.microsoft")]
    constants[f"w{k}_blocks"], constants[f"t{k}_blocks"] = (codes[k].T.astype("i4") + 128).astype("u1").reshape(width, 3, 16), np.full(width * 3, steps[k])
write_model("dynamic.onnx", nodes, {"v0": x.shape}, [f"v{layers}"], {n: v for n, v in constants.items() if n[0] in "wt" and "blocks" not in n}, opset=17)
write_model("blocks.onnx", blocks, {"v0": x.shape}, [f"v{layers}"], {n: v for n, v in constants.items() if "blocks" in n}, opset=17, domains={"com.microsoft": 1})
for form, first in ("dynamic", f"mm{worst}_quant/weights"), ("blocks", f"mm{worst}_quant"):
    lane, found = audit(form)
    assert abs(lane["attribution"]["sum"] - 1) <= 0.01 and max(found, key=found.get) == first and first in lane["verdict"], (form, lane["verdict"], found)
    assert abs(found[first] - share) <= 0.05, (form, found[first], share)
# what is none of these forms is computed, or refused in a line, as without an original: a second factor that is computed, an operator of others, of too many inputs or none
def form(name, inputs=1, domain="", made=()):
    first = node("DynamicQuantizeLinear", " ".join(["v0"] * inputs), "q0 r0 z0", "find") + (block(7, domain) if domain else b"")
    rest = [node("MatMulInteger", "q0 w z0", "i0", "sums"), node("Cast", "i0", "f0", "cast", to=1), node("Mul", "r0 t", "p0", "scales"), node("Mul", "f0 p0", "y", "scale")]
    write_model(name, [first, *made, *rest], {"v0": x.shape}, ["y"], {"t": steps[0]} | ({} if made else {"w": codes[0]}), opset=17, domains={domain: 1} if domain else {})

form("made.onnx", made=[node("Transpose", "v0", "turned", "turn", perm=[1, 0]), node("Cast", "turned", "w", "bytes", to=3)])
form("many.onnx", inputs=4000)
form("none.onnx", inputs=0)
form("others.onnx", domain="of.others")
END2
for form in made:0 many:3 none:3 others:4; do
    "$program" audit ${form%:*}.onnx --reference-model float.onnx -i x.npz -a fp32 -q >out 2>err
    [ $? = "${form#*:}" ] || fail "${form%:*}: $(head -3 out err)"
done
exit $failed
