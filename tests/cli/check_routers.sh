#!/usr/bin/env bash
# What a router's decisions need is searched in front of them: of 54 nodes, with six routers whose logits have a common offset that costs
# FP16 their last bits, a few are kept; by mean powers alone all were.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: no router is made"; exit 77; }
python <<'END' || exit 99
random, wide, experts = np.random.RandomState(8), 16, 8
constants, nodes, state = {"two": np.array([2], "i8"), "third": np.array([2], "i8")}, [], "x"
for l in range(6):
    for name, shape in (("a", (wide, wide)), ("r", (wide, experts)), ("e", (experts, wide)), ("offset", (experts,))):
        constants[f"{name}{l}"] = (random.standard_normal(shape) / shape[0]**0.5 + (60 if name == "offset" else 0)).astype("f4")
    nodes += [node("MatMul", f"{state} a{l}", f"h{l}"), node("Tanh", f"h{l}", f"t{l}"), node("MatMul", f"t{l} r{l}", f"scores{l}"),
              node("Add", f"scores{l} offset{l}", f"logits{l}"), node("TopK", f"logits{l} two", f"v{l} i{l}", f"router{l}"),
              node("Gather", f"e{l} i{l}", f"g{l}"), node("ReduceSum", f"g{l} third", f"s{l}", keepdims=0), node("Mul", f"t{l} s{l}", f"m{l}"),
              node("Add", f"{state} m{l}", f"y{l}")]
    state = f"y{l}"
write_model("router.onnx", nodes, {"x": (2, 4, wide)}, [state], constants, opset=18)
np.savez("x.npz", x=random.standard_normal((2, 4, wide)).astype("f4"))
END
for command in "plan --out plan --json said.json" "fix -o fixed.onnx --json said.json"; do
    # shellcheck disable=SC2086 # words
    set -- $command
    expect 0 "$1" "$program" "$1" router.onnx -i x.npz -a fp16 --tolerance sqnr_db=40 -q "${@:2}"
    fields said.json 'r["kept_count"] <= 12 if "kept_count" in r else len(r["kept"]) <= 12' "$1 keeps few nodes"
done
expect 0 "what fix writes" "$program" doctor fixed.onnx -i x.npz -a model --no-plan -q
# What compare tells of a choice: the recorded ones are replayed (of 40 tokens two went to another expert by a margin of 1e-7, and what they
# give is explained), an arithmetic's own are, so that a mistake in the input shows, and a TopK that takes the later of equal scores is named.
python <<'END' || exit 99
random = np.random.RandomState(3)
router, experts, scale = random.standard_normal((16, 4)), random.standard_normal((4, 16)), np.float32(30)
x = random.standard_normal((40, 16))
for t in (5, 9):  # two experts as good as equal
    order = np.argsort(-(x[t] @ router))
    apart = router[:, order[0]] - router[:, order[1]]
    x[t] -= apart * ((x[t] @ apart - 2e-7) / (apart @ apart))
x = x.astype("f4")
constants = {"router": router.astype("f4"), "experts": experts.astype("f4"), "one": np.array([1], "i8"), "axis": np.array([1], "i8")}
nodes = [node("MatMul", "x router", "logits"), node("TopK", "logits one", "v chosen", "router"), node("Gather", "experts chosen", "g"), node("Squeeze", "g axis", "s"),
         node("Mul", "x s", "m"), node("Mul", "m v", "y")]
write_model("chosen.onnx", nodes, {"x": x.shape}, ["y", "chosen"], constants, opset=18)
logits = (x.astype("f8") @ constants["router"]).astype("f4")
chosen = np.argmax(logits, 1)
chosen[[5, 9]] = [np.argsort(-logits[t])[1] for t in (5, 9)]
y = (x * constants["experts"][chosen] * logits[np.arange(40), chosen][:, None]).astype("f4")
np.savez("chosen.npz", x=x)
np.savez("took.npz", y=y, chosen=chosen[:, None])
np.savez("took_wrong.npz", y=y * np.where(np.arange(40) == 7, 1.01, 1).astype("f4")[:, None], chosen=chosen[:, None])
tall = {"k": np.array([3], "i8"), "last": np.array([-1], "i8"), "w": random.standard_normal((3, 4)).astype("f4")}
nodes = [node("ReduceSum", "images last", "sums", keepdims=0), node("Mul", "sums big", "z"), node("Sigmoid", "z", "scores"), node("TopK", "scores k", "best place", "select", axis=1),
         node("MatMul", "images w", "boxes"), node("Unsqueeze", "place last", "p"), node("Expand", "p shape", "e"), node("GatherElements", "boxes e", "y", axis=1)]
images = random.uniform(0, 1, (1, 30, 3)).astype("f4")
write_model("ties.onnx", nodes, {"images": images.shape}, ["y", "best"], {**tall, "big": scale, "shape": np.array([1, 3, 4], "i8")}, opset=18)
scores = np.float32(1) / (1 + np.exp(-scale * images.sum(-1), dtype="f4"))
boxes = (images.astype("f8") @ tall["w"]).astype("f4")
np.savez("ties.npz", images=images)
for name, order in (("earlier", np.argsort(-scores[0], kind="stable")), ("later", 29 - np.argsort(-scores[0, ::-1], kind="stable")), ("random", random.permutation(30))):
    np.savez(name + ".npz", y=boxes[:, order[:3]], best=scores[:, order[:3]])
corner = np.arange(30, dtype="f4")[:, None] * 8  # boxes that do not overlap, and scores of which many are equal
given = {"b": np.concatenate([corner, corner, corner + 4, corner + 4], 1)[None].astype("f4"), "s": (random.randint(2, 5, (1, 1, 30)) / 4).astype("f4")}
write_model("taken.onnx", [node("Mul", "b one", "c"), node("Mul", "s one", "t"), node("NonMaxSuppression", "c t three half half", "taken", "suppress")], {"b": (1, 30, 4), "s": (1, 1, 30)},
            {"taken": (7, None, 3)}, {"one": np.ones(1, "f4"), "three": np.array([3], "i8"), "half": np.array([0.5], "f4")}, opset=18)
np.savez("taken.npz", **given)
last = sorted(range(30), key=lambda i: (-given["s"][0, 0, i], -i))[:3]
np.savez("taken_later.npz", taken=np.array([[0, 0, i] for i in last]))
write_model("many.onnx", [node("Mul", "s one", "t"), node("TopK", "t ten", "v i", "pick")], {"s": (40, 30)}, {"i": (7, None, None)}, {"one": np.ones(1, "f4"), "ten": np.array([10], "i8")}, opset=18)
scores = random.uniform(0, 1, (40, 30)).astype("f4")
index = np.argsort(-scores, 1, kind="stable")
np.savez("many.npz", s=scores)
np.savez("many_right.npz", i=np.argsort(-scores.astype("f2").astype("f4"), 1, kind="stable")[:, :10])
index[7, 4] = index[7, 29]
np.savez("many_worst.npz", i=index[:, :10])
np.savez("taken_outside.npz", taken=np.array([[0, 0, i] for i in (*last[:2], 30)]))
np.savez("taken_across.npz", taken=np.array([[0] * 4, [0] * 4, [1, 2, 3, 4]]))
END
expect 0 "recorded choices" "$program" compare chosen.onnx -i chosen.npz took.npz -a fp32 -q --json said.json
fields said.json 'r["files"][0]["choices"] == "the 40 choices recorded, of which 2 are not the reference\x27s (the first in \x27chosen\x27)" and r["tensors"][-1]["values"][0]["ratio"] < 3' "two other choices"
expect 1 "recorded choices and another value" "$program" compare chosen.onnx -i chosen.npz took_wrong.npz -a fp32 -q
expect 0 "an arithmetic's own choices" "$program" compare ties.onnx -i ties.npz earlier.npz -a fp32 -q --json said.json
fields said.json 'r["files"][0]["choices"] == "the choices that fp32 makes"' "own choices"
expect 1 "the later of equal scores" "$program" compare ties.onnx -i ties.npz later.npz -a fp32 -q --json said.json
fields said.json 'r["files"][0]["cause"]["nodes"] == ["select"] and "the later of values that are equal" in r["files"][0]["cause"]["text"]' "ties"
expect 1 "the later of equal boxes" "$program" compare taken.onnx -i taken.npz taken_later.npz -a fp32 -q --json said.json
fields said.json 'r["files"][0]["cause"]["nodes"] == ["suppress"] and "the later of values that are equal" in r["files"][0]["cause"]["text"]' "ties of boxes"
expect 1 "an index outside its axis" "$program" compare taken.onnx -i taken.npz taken_outside.npz -a fp32 -q --json said.json
fields said.json '"an index outside its axis: 30 at element 8 of \x27taken\x27, of an axis of 30" in r["files"][0]["cause"]["text"]' "outside"
expect 1 "indices in another layout" "$program" compare taken.onnx -i taken.npz taken_across.npz -a fp32 -q --json said.json
fields said.json '"outside its axis" not in r["files"][0]["cause"]["text"]' "another layout"
expect 0 "choices that roundings take" "$program" compare many.onnx -i many.npz many_right.npz -a fp16 -q
expect 1 "a choice that none takes" "$program" compare many.onnx -i many.npz many_worst.npz -a fp16 -q
expect 0 "any of equal scores" "$program" compare ties.onnx -i ties.npz random.npz -a fp32 -q --json said.json
fields said.json '"choices" not in r["files"][0] and "behind a decision" in r["verdict"]' "no order of ties"

# What no reading tells: where along an axis errors lie, and what a dropout leaves.
python <<'END' || exit 99
random = np.random.RandomState(4)
x = random.standard_normal((2, 2200)).astype("f4")
write_model("long.onnx", [node("Tanh", "x", "t"), node("Dropout", "t", "d", "drops"), node("Mul", "d a", "y")], {"x": x.shape}, ["y", "d"], {"a": np.float32(1.7)}, opset=13)
right = np.tanh(x.astype("f8"))
np.savez("long.npz", x=x)
np.savez("later.npz", y=(1.7 * np.where(np.arange(2200) < 2046, right, random.standard_normal(x.shape))).astype("f4"))
np.savez("dropped.npz", d=(right * (random.uniform(size=x.shape) > 0.3) / 0.7).astype("f4"))
END
for case in "later|Its errors lie from place 2046 of 2200 on along axis 1, about where fp16|drops (Dropout) may have been left on" "dropped|the others 1.43 times as large, as by a dropout|values are 0"; do
    IFS="|" read -r name first second <<<"$case"
    expect 1 "$name" "$program" compare long.onnx -i long.npz "$name.npz" -a fp32 -q --json said.json
    fields said.json "all(t in r['files'][0]['cause']['text'] for t in ('$first', '$second'))" "$name"
done
exit $failed
