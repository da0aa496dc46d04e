#!/usr/bin/env bash
# Why a rounding counts: the node behind it that makes errors count for more is said, by figures that numpy computes in another way; the twin
# that computes the same in the stable form is fine, and the command to go on with helps. FP32, TF32 and FP16.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python <<'END' || exit 99
x = np.random.RandomState(3).standard_normal((4, 16)).astype("f4")
np.savez("x.npz", x=x)
for name, high in (("fp32", 2e6), ("fp16", 150.0)):
    nodes = [node("Add", "x high", "far", "up"), node("Sub", "far high", "near", "down"), node("Tanh", "near", "y", "bend")]
    write_model(f"offset_{name}.onnx", nodes, {"x": x.shape}, ["y"], {"high": np.float32(high)}, opset=17)
write_model("offset_mended.onnx", [node("Tanh", "x", "y", "bend")], {"x": x.shape}, ["y"], {}, opset=17)
# E[x^2] - E[x]^2, by products of which TF32 rounds the factors
nodes = [node("Add", "x high", "far", "up"), node("Mul", "far far", "square", "square"), node("MatMul", "square mean", "of", "mean_of_squares"),
         node("MatMul", "far mean", "m", "mean"), node("Mul", "m m", "mm", "square_of_mean"), node("Sub", "of mm", "y", "variance")]
write_model("variance.onnx", nodes, {"x": x.shape}, ["y"], {"high": np.float32(24), "mean": np.full((16, 1), 1 / 16, "f4")}, opset=17)
END
causes() { # FILE NODE WORDS: the first cause
    fields "$1" "r['causes'][0]['node'] == '$2' and r['causes'][0]['reason'] == 'error' and all(w in r['causes'][0]['text'] for w in '$3'.split('|'))" "$1: $2, $3"
}
for name in fp32 fp16; do
    expect 1 "offset, $name" "$program" doctor offset_$name.onnx -i x.npz -a $name --task signal --no-plan -q --json doctor_$name.json
    causes doctor_$name.json up "by the rounding of its result|where $name has steps of|(Sub) subtracts nearly equal values"
    fields doctor_$name.json 'len(r["causes"]) == 1' "one cause"
    expect 0 "offset, $name, mended" "$program" doctor offset_mended.onnx -i x.npz -a $name --task signal --no-plan -q
    expect 0 "offset, $name, audit" "$program" audit offset_$name.onnx -i x.npz -a $name --task signal -q --json $name.json
done
# an input of the model, of two, whose rounding makes most: its reader is named, by a share that numpy computes
python <<'END' || exit 99
far, side = np.load("x.npz")["x"] + np.float32(200), np.load("x.npz")["x"] / np.float32(3)
np.savez("given.npz", side=side, far=far)
nodes = [node("Mul", "side third", "small", "scaled"), node("Sub", "far high", "near", "down"), node("Add", "near small", "y", "both")]
write_model("given.onnx", nodes, {"side": side.shape, "far": far.shape}, ["y"], {"third": np.float32(1 / 3), "high": np.float32(200)}, opset=17)
END
expect 1 "an input is rounded" "$program" doctor given.onnx -i given.npz -a fp16 --task signal --no-plan -q --json said.json
causes said.json down "the rounding of input far to fp16 causes"
expect 0 "an input is rounded" "$program" audit given.onnx -i given.npz -a fp16 --task signal -q --json said.json
python <<'END' || fail "the share of an input"
given = np.load("given.npz")
far, side, third = given["far"].astype("f8"), given["side"].astype("f8"), float(np.float32(1 / 3))
half = lambda x: x.astype("f2").astype("f8")
small = half(half(side) * float(np.float16(third)))
error = half(half(half(far) - 200) + small) - (far - 200 + side * third)
shares = [np.sum(error * part) / np.sum(error**2) for part in ((half(side) - side) * float(np.float16(third)), half(far) - far)]
lane = json.load(open("said.json"))["lanes"][0]
found = [next(node["given"] for node in lane["nodes"] if node["name"] == name) for name in ("scaled", "down")]
assert np.allclose(found, shares, rtol=0, atol=1e-3), (found, shares)
assert abs(sum(found) - lane["attribution"]["inputs"]) < 1e-12, found
END

# a function of a large value is not named before what rounded that, be it in three parts; a difference is
python <<'END' || exit 99
t = np.arange(40, 104, dtype="f4")[:, None]
np.savez("turns.npz", t=t)
nodes = [node("Mul", "t r", "a", "first"), node("Mul", "a r", "b", "second"), node("Mul", "b r", "c", "third"), node("Sin", "c", "y", "sine")]
write_model("turns.onnx", nodes, {"t": t.shape}, ["y"], {"r": np.float32(1 + 85 / 1024)}, opset=17)
END
tells 1 "many turns" 'r["causes"][0]["node"] in ("first", "second", "third") and "(Sin) reads values far above" in r["causes"][0]["text"]' doctor turns.onnx -i turns.npz -a fp16 --task signal --no-plan -q

# where keeping in FP32 changes nothing, FP64 does, and the command at next says so
expect 1 "next" "$program" doctor offset_fp32.onnx -i x.npz -a fp32 --task signal --no-plan -q
next=$(sed -n 's/^  next *ulpscope //p' out)
[[ $next == audit*=fp64* ]] || fail "next: $next"
(eval "$program $next -q --json after.json") >said 2>&1
fields after.json 'r["lanes"][0]["tiles"][0]["value"] == "fine"' "next helps"
tells 1 "TF32" '"(Sub) subtracts nearly equal values" in r["causes"][0]["text"] and r["causes"][0]["node"] in ("mean", "mean_of_squares", "variance")' doctor variance.onnx -i x.npz -a tf32 --task signal --no-plan -q

# A state: undone in the direction in which errors grow.
python <<'END' || exit 99
y = np.random.RandomState(5).standard_normal((24, 4))
u = (y[1:] - 1.7 * y[:-1]).astype("f4")
body = graph([node("Mul", "s a", "carried", "carry"), node("Add", "carried u", "t", "add"), node("Identity", "t", "o", "out")], {"s": (4,), "u": (4,)}, {"t": (4,), "o": (4,)}, {"a": np.float32(1.7)})
write_model("state.onnx", [node("Scan", "first rows", "last all", "scan", body=body, num_scan_inputs=1)], {"first": (4,), "rows": u.shape}, ["all"], {}, opset=17)
np.savez("state.npz", first=y[0].astype("f4"), rows=u)
END
tells 1 "a state" '"of its first iteration" in r["causes"][0]["text"] or "in its first iteration and of" in r["causes"][0]["text"]' doctor state.onnx -i state.npz -a fp16 --task signal --no-plan -q
# One held in BF16 between the steps of a Scan, and of a Loop: its rounding is the state's; what is read off it, and what goes into it, are none.
python <<'END' || exit 99
turn = np.random.RandomState(6)
x, c = (turn.standard_normal(s).astype("f4") for s in ((64, 8), (8, 4)))
step = [node("Mul", "xt g", "u", "into"), node("Mul", "s a", "d", "decay"), node("Add", "d u", "f", "update"), node("Cast", "f", "h", "hold", to=16), node("Cast", "h", "w", "widen", to=1),
        node("Identity", "w", "o", "hand"), node("MatMul", "w c", "y", "read")]
held = {"a": (1 - np.exp(turn.uniform(-4, -1, 8))).astype("f4"), "g": np.float32(0.7), "c": c}
scan = graph(step, {"s": (8,), "xt": (8,)}, {"o": (8,), "y": (4,)}, held)
write_model("held_scan.onnx", [node("Scan", "zero x", "last all", "scan", body=scan, num_scan_inputs=1)], {"x": x.shape}, ["all"], {"zero": np.zeros(8, "f4")}, opset=18)
loop = graph([node("Gather", "x i", "xt", "take"), node("Identity", "go", "on", "on"), *step], {"i": (), "go": (), "s": (8,)}, {"on": (), "o": (8,), "y": (4,)}, held, types={"i": 7, "go": 9, "on": 9})
write_model("held_loop.onnx", [node("Loop", "n go0 zero", "last all", "loop", body=loop)], {"x": x.shape}, ["all"], {"zero": np.zeros(8, "f4"), "n": np.int64(64), "go0": np.array(True)}, opset=18)
np.savez("held.npz", x=x)
END
for of in scan loop; do
    tells 0 "a held state, $of" '"/hold (Cast) causes" in r["lanes"][0]["why"] and "rounding of its result in the state that every iteration reads" in r["lanes"][0]["why"]' audit held_$of.onnx -i held.npz -a model --task signal -q
    fields told.json 'sorted(n["name"].split("/")[-1] for n in r["lanes"][0]["nodes"] if n.get("state")) == ["decay", "hand", "hold", "update", "widen"]' "the state's circle, $of"
done
expect 0 "a state, audit" "$program" audit state.onnx -i state.npz -a fp16 --task signal -q --json audit.json

python <<'END' || fail "other figures"
# passes and the magnification by their definitions, of x + high - high
x = np.load("x.npz")["x"].astype("f8")
for name, high, kind in (("fp32", 2e6, "f4"), ("fp16", 150.0, "f2")):
    given = x.astype(kind).astype("f8")
    far = (given + high).astype(kind).astype("f8")
    near = (far - high).astype(kind).astype("f8")
    out = np.tanh(near).astype(kind).astype("f8")
    slope = 1 - np.tanh((near + x) / 2) ** 2
    e = out - np.tanh(x)
    owed = e / np.sum(e * e) * slope
    nodes = {n["name"]: n for n in json.load(open(f"{name}.json"))["lanes"][0]["nodes"]}
    for node, error in (("up", far - high - x), ("down", near - x)):
        # a derivative at the middle is exact up to the third order: (largest error)^2
        assert abs(nodes[node]["passes"] - np.sum(owed * error)) < np.abs(near - x).max() ** 2, (name, node, nodes[node]["passes"])
    assert abs(nodes["bend"]["passes"] - 1) < 1e-6
    before = np.sqrt(np.sum((owed * (far + (x + high)) / 2) ** 2))
    behind = np.sqrt(np.sum((owed * (near + x) / 2) ** 2))
    text = json.load(open(f"doctor_{name}.json"))["causes"][0]["text"]
    said = float(re.search(r"counts for (\S+) times", text)[1])
    assert abs(said / (before / behind) - 1) < 0.06, (said, before / behind)  # two digits, and slopes of the third order

# the state in FP16, by numpy's rounding
data = np.load("state.npz")
s, exact, errors = data["first"].astype("f2"), data["first"].astype("f8"), []
for row in data["rows"]:
    s = (s.astype("f4") * np.float32(np.float16(1.7))).astype("f2")
    s = (s.astype("f4") + row.astype("f2").astype("f4")).astype("f2")
    exact = np.float64(np.float32(1.7)) * exact + row
    errors.append(np.sqrt(np.mean((s - exact) ** 2) / np.mean(exact**2)))
nodes = {n["name"]: n for n in json.load(open("audit.json"))["lanes"][0]["nodes"]}
add = nodes["scan/add"]
assert abs(add["first_error"] / errors[0] - 1) < 1e-9 and abs(add["last_error"] / errors[-1] - 1) < 1e-9, (add["first_error"], add["last_error"], errors[0], errors[-1])
assert nodes["scan/add"]["passes"] == 0 and abs(nodes["scan"]["passes"] - 1) < 1e-6
END

# Sums inside an operator that nobody recorded: both ways are computed, and where one of them is fine that is said, with the size.
python <<'END' || exit 99
turn = np.random.RandomState(7)
for name, terms in (("long", 8192), ("short", 32)):
    x = turn.uniform(0.5, 1, (4, terms)).astype("f4")
    nodes = [node("MatMul", "x w", "m", "long_sum"), node("MatMul", "m v", "y", "short_sum")]
    write_model(f"{name}.onnx", nodes, {"x": x.shape}, ["y"], {"w": turn.uniform(0.5, 1, (terms, 8)).astype("f4") / terms, "v": np.eye(8, dtype="f4")}, opset=17)
    np.savez(f"{name}.npz", x=x)
# beyond FP16 on the way alone
w = np.concatenate([np.full((512, 2), 200, "f4"), np.full((512, 2), -200, "f4")])
write_model("beyond.onnx", [node("MatMul", "x w", "y", "turns")], {"x": (3, 1024)}, ["y"], {"w": w + np.rint(turn.standard_normal(w.shape) * 8).astype("f4") / 8}, opset=17)
np.savez("beyond.npz", x=np.ones((3, 1024), "f4"))
END
for name in long short beyond; do "$program" audit $name.onnx -i $name.npz --for openvino-gpu --task signal -q --json $name.json >$name.out 2>err; done
fields long.json '[(s["rule"], s["known"], s["fine"], s["wrong"], s["terms"], s.get("node")) for s in r["assumed_sums"]] == [("acc=fp16", "stated", "openvino-gpu:fp16,acc=fp32", "openvino-gpu:fp16", 8192, None)]' "long sums"
shows long.out "the answer depends on a rule that is stated, acc=fp16" "long sums"
fields beyond.json '[(s["fine"], s["terms"], s["node"]) for s in r["assumed_sums"]] == [("openvino-gpu:fp16,acc=fp32", 1024, "turns")]' "sums beyond the format"
fields short.json '"assumed_sums" not in r' "short sums"
grep -q "depends on a rule" short.out && fail "short sums: the answer does not depend on it"
exit $failed
