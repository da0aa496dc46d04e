#!/usr/bin/env bash
# Shares through QuantizeLinear and DequantizeLinear: a node in front of three pairs has its share, of errors that clipping takes nothing is left
# upstream, and where all errors are below a step decisions make the whole. Then 20 networks with a planted culprit (planted.py).
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: shares through Q/DQ are not checked"; exit 77; }
python "$program" <<'END' || failed=1
turn = np.random.default_rng(3)
failures = 0


def network(path, offset, scale, moved=False):
    """Three products with pairs around them; `offset` is added and taken away before the first pair, which FP16 rounds to 2^-10 of it."""
    nodes, constants = [], {"zero": np.int8(0), "offset": np.float32(offset)}

    def pair(x, name, size):
        constants[name + "_s"] = np.float32(size)
        nodes.append(node("QuantizeLinear", f"{x} {name}_s zero", name + "_q", name + "_Q"))
        read = name + "_q"
        if moved:  # integers that are moved and cast are amounts still
            nodes.append(node("Transpose", read, name + "_t", name + "_T", perm=[1, 0]))
            nodes.append(node("Transpose", name + "_t", name + "_b", name + "_B", perm=[1, 0]))
            nodes.append(node("Cast", name + "_b", name + "_c", name + "_C", to=3))
            read = name + "_c"
        nodes.append(node("DequantizeLinear", f"{read} {name}_s zero", name + "_d", name + "_DQ"))
        return name + "_d"

    nodes += [node("Add", "x offset", "up", "culprit"), node("Sub", "up offset", "down", "back")]
    value = pair("down", "a0", scale)
    for k in (1, 2):
        constants[f"w{k}"] = (turn.normal(size=(64, 64)) / 8).astype("f")
        nodes.append(node("MatMul", f"{value} w{k}", f"m{k}", f"mm{k}"))
        value = pair(f"m{k}", f"a{k}", scale)
    nodes.append(node("ReduceMean", value, "y", "mean", axes=[1], keepdims=0))
    write_model(path, nodes, {"x": [16, 64]}, ["y"], constants, opset=13)


def audit(path, arithmetic):
    subprocess.run([sys.argv[1], "audit", path, "-i", "x.npz", "-a", arithmetic, "-q", "-t", "1", "-o", "r"], check=True, stdout=subprocess.DEVNULL)
    with open("r/report.json") as file:
        lane = json.load(file)["lanes"][0]
    return lane, {record["name"]: record for record in lane["nodes"]}


def claim(true, what):
    global failures
    if not true:
        failures += 1
        print("FAIL", what)


np.savez("x.npz", x=turn.normal(size=(16, 64)).astype("f"))
for moved in (False, True):
    # FP16 rounds 1000 + x to 1/2: 25 steps of 0.02. The products' errors are 2^-11 of values of about 1, a 40th of a step.
    network("far.onnx", 1000, .02, moved)
    lane, nodes = audit("far.onnx", "fp16")
    claim("node 0 culprit (Add) causes 9" in lane["verdict"] or "node 0 culprit (Add) causes 100" in lane["verdict"], lane["verdict"])
    claim(abs(lane["attribution"]["sum"] - 1) <= .02, f"the sum of shares is {lane['attribution']['sum']}")
    claim(nodes["culprit"]["share"] >= .9, f"the culprit's share is {nodes['culprit']['share']}")
    # without it errors are far below a step: what crosses one does by chance
    network("near.onnx", 0, .02, moved)
    lane, nodes = audit("near.onnx", "fp16")
    claim("shows in quantised values that come out a step otherwise" in lane["verdict"], lane["verdict"])
    claim(abs(lane["attribution"]["sum"] - 1) <= .02, f"the sum with decisions is {lane['attribution']['sum']}")
    shows = sum(node.get("shows") or 0 for node in nodes.values())
    claim(shows >= .8 and abs(lane["attribution"]["decisions"]) <= .01, f"{shows} of the error shows, decisions are {lane['attribution']['decisions']}")
# values above 1 where 0.254 is the largest, clipped at both ends: nothing of the culprit is left, nor handed on
np.savez("x.npz", x=(1 + abs(turn.normal(size=(16, 64)))).astype("f"))
network("clipped.onnx", 1000, .002)
lane, nodes = audit("clipped.onnx", "fp16")
claim(abs(nodes["culprit"].get("share") or 0) <= 1e-3, f"what is clipped has a share of {nodes['culprit'].get('share')}")
sys.exit(failures > 0)
END
# a product has the causes that it has without a lane beside, which computes it from the integers
python3 "$source/examples/walkthrough/quantised.py" beside >beside.log || { cat beside.log; failed=1; }
for lanes in fp32 fp32,fp32,qdq=integer; do
    expect 0 "$lanes" "$program" audit beside/qdq.onnx -i beside/inputs.npz -a $lanes -q -o "beside/$lanes"
done
python <<'END' || failed=1
alone, beside = ({node["name"]: node.get("causes") for node in json.load(open(f"beside/{lanes}/report.json"))["lanes"][0]["nodes"]}
                 for lanes in ("fp32", "fp32,fp32,qdq=integer"))
if alone != beside or not any(alone.values()):
    sys.exit(f"FAIL causes are {alone} alone, beside integers {beside}")
END
# a weight that the original has under another name, and in another node's place
python <<'END' || failed=1
turn = np.random.default_rng(1)
weight = turn.normal(size=(8, 8)).astype("f")
write_model("float.onnx", [node("MatMul", "x weight", "product"), node("Relu", "product", "y")], {"x": (4, 8)}, ["y"], {"weight": weight}, opset=13)
write_model("named.onnx", [node("DequantizeLinear", "q s z", "w", "weights"), node("MatMul", "x w", "other"), node("Relu", "other", "y")], {"x": (4, 8)}, ["y"],
            {"q": np.rint(weight / .1).clip(-127, 127).astype("i1"), "s": np.float32(.1), "z": np.int8(0)}, opset=13)
np.savez("named.npz", x=turn.normal(size=(4, 8)).astype("f"))
END
expect 0 "weights without a partner" "$program" audit named.onnx --reference-model float.onnx -i named.npz -a fp32 -q
grep -q "gains dB" out && fail "weights that have no partner are compared"
expect 0 "weights with --pair" "$program" audit named.onnx --reference-model float.onnx --pair w=weight -i named.npz -a fp32 -q
tr -s ' \n' '  ' <out >flat
shows flat "without the quantised weights of node 0 weights (DequantizeLinear) it gains" "weights with --pair"
# a converted graph beside its original: shares of a linear network are those that numpy finds, and the Cast is named, not the Slice behind it
python "$program" <<'END' || failed=1
turn = np.random.default_rng(7)
x, w, v = turn.normal(size=(8, 32)).astype("f"), turn.normal(size=(16, 16)).astype("f"), turn.normal(size=(16, 16)).astype("f")
near = (w * (1 + 1e-4 * turn.normal(size=w.shape))).astype("f")  # another weight: a third of FP16's roundings
bounds = {"begin": np.array([3], "i8"), "end": np.array([19], "i8"), "axis": np.array([1], "i8")}
products = [node("MatMul", "s w", "h", "first"), node("MatMul", "h v", "y", "second")]
write_model("whole.onnx", [node("Slice", "x begin end axis", "s", "cut"), *products], {"x": x.shape}, ["y"], {"w": w, "v": v, **bounds}, opset=13)
write_model("cast.onnx", [node("Cast", "x", "half", "border", to=10), node("Slice", "half begin end axis", "part", "cut"), node("Cast", "part", "s", "back", to=1), *products],
            {"x": x.shape}, ["y"], {"w": near, "v": v, **bounds}, opset=13)
np.savez("linear.npz", x=x)
subprocess.run([sys.argv[1], "audit", "cast.onnx", "--reference-model", "whole.onnx", "-i", "linear.npz", "-a", "model", "-q", "-o", "r"], check=True, stdout=subprocess.DEVNULL)
with open("r/report.json") as file:
    lane = json.load(file)["lanes"][0]
nodes = {record["name"]: record for record in lane["nodes"]}
exact, other, behind = x.astype("d")[:, 3:19], near.astype("d"), v.astype("d")
rounded = x.astype("f2").astype("d")[:, 3:19]
parts = {"border": (rounded - exact) @ other @ behind, "first": exact @ (other - w) @ behind}
error = sum(parts.values())
failures = 0
# FP32's own roundings are 2^-24 of values whose errors are 2^-12 and more: a thousandth of them
for name, part in parts.items():
    share, wanted = nodes[name]["share"], (part * error).sum() / (error * error).sum()
    causes = nodes[name]["causes"]
    if not (abs(share - wanted) <= 1e-3 and abs(causes.get("graph", 0) + causes.get("result", 0) * (name == "border") - wanted) <= 2e-3):
        failures += 1
        print(f"FAIL {name}: share {share}, numpy has {wanted}; {causes}")
if abs(lane["attribution"]["sum"] - 1) > 1e-3 or "node 0 border (Cast) causes 75 %" not in lane["verdict"] or nodes["cut"]["share"] or nodes["back"]["share"]:
    failures += 1
    print("FAIL beside the original:", lane["attribution"]["sum"], lane["verdict"], nodes["cut"]["share"], nodes["back"]["share"])
sys.exit(failures > 0)
END
# a channel 30 times as wide: what floats, and a scale for each channel, would gain is what numpy finds
python "$program" <<'END' || failed=1
turn, failures = np.random.default_rng(11), 0
x = turn.normal(size=(16, 24)).astype("f")
np.savez("wide.npz", x=x)
for rows in (False, True):
    weight = turn.normal(size=(24, 12)).astype("f")
    weight[:, 5] *= 30
    step = np.float32(abs(weight).max() / 127)
    channels = (abs(weight).max(axis=0) / 127).astype("f")
    product = node("Gemm", "x w", "y", "product", transB=1) if rows else node("MatMul", "x w", "y", "product")
    read = weight.T.copy() if rows else weight
    write_model("narrow.onnx", [product], {"x": x.shape}, ["y"], {"w": read}, opset=13)
    write_model("wide.onnx", [node("DequantizeLinear", "q s z", "w", "weights"), product], {"x": x.shape}, ["y"],
                {"q": np.rint(read / step).astype("i1"), "s": step, "z": np.int8(0)}, opset=13)
    subprocess.run([sys.argv[1], "audit", "wide.onnx", "--reference-model", "narrow.onnx", "-i", "wide.npz", "-a", "fp32", "-q", "-o", "r"], check=True, stdout=subprocess.DEVNULL)
    with open("r/report.json") as file:
        lane = json.load(file)["lanes"][0]
    exact = x.astype("d") @ weight.astype("d")
    decibels = [10 * np.log10((exact ** 2).sum() / ((x.astype("d") @ (np.rint(weight / s) * s).astype("d") - exact) ** 2).sum()) for s in (step, channels)]
    pair, gained = lane["qdq_pairs"][0], decibels[1] - decibels[0]
    # FP32 rounds 2^-24 of values whose errors are 2^-8 and more of them: far below 0.01 dB
    if not abs(pair["channels_db"] - gained) <= .01 or f"and with a scale for each of their channels {gained:.1f} dB" not in lane["verdict"]:
        failures += 1
        print("FAIL channels:", pair, gained, lane["verdict"])
# a vector has no output channels; and what a scale for each makes exact has no decibels
tenth = np.float32(.1)
for name, weight, step, said in (("vector", turn.normal(size=24).astype("f"), tenth, None),
                                 ("exact", np.diag(2.0 ** np.arange(-11, 1)).astype("f") * 127, np.float32(1), ", and with a scale for each of their channels too"),):
    given = turn.integers(-8, 9, size=(16, len(weight))).astype("f") # small integers: FP32 forms their products without a rounding
    np.savez("wide.npz", x=given)
    product = node("MatMul", "x w", "y", "product")
    write_model("narrow.onnx", [product], {"x": given.shape}, ["y"], {"w": weight}, opset=13)
    write_model("wide.onnx", [node("DequantizeLinear", "q s z", "w", "weights"), product], {"x": given.shape}, ["y"],
                {"q": np.rint(weight / step).astype("i1"), "s": step, "z": np.int8(0)}, opset=13)
    subprocess.run([sys.argv[1], "audit", "wide.onnx", "--reference-model", "narrow.onnx", "-i", "wide.npz", "-a", "fp32", "-q", "-o", "r"], check=True, stdout=subprocess.DEVNULL)
    with open("r/report.json") as file:
        lane = json.load(file)["lanes"][0]
    if not (said in lane["verdict"] if said else lane["qdq_pairs"][0]["channels_db"] is None and "channels" not in lane["verdict"]):
        failures += 1
        print("FAIL", name, lane["qdq_pairs"][0], lane["verdict"])
sys.exit(failures > 0)
END
expect 2 "a pair with a name that the original has not" "$program" audit named.onnx --reference-model float.onnx --pair w=missing -i named.npz -a fp32 -q
python3 "$source/tests/cli/planted.py" "$program" >planted || { fail "culprits that were planted are not named first"; grep -v '^named' planted; }
exit $failed
