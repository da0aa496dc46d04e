#!/usr/bin/env bash
# audit --between: figures of given tokens beside numpy's, of what `run` gives in each arithmetic; shares of planted differences; the change that closes most.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: there is nothing to compare with"; exit 77; }
python <<'END' || exit 99
turn = np.random.default_rng(5)
words, wide, positions = 40, 32, 24
e, a, b, h = (turn.standard_normal(s).astype("f4") * g for s, g in (((words, wide), 1), ((wide, wide), 0.2), ((wide, wide), 0.2), ((wide, words), 0.5)))
body = [node("Gather", "e ids", "x", "embed"), node("MatMul", "x a", "p", "first"), node("Tanh", "p", "q"), node("MatMul", "q b", "r", "second"), node("Tanh", "r", "s"),
        node("MatMul", "s h", "logits", "head")]
held = {"e": e, "a": a, "b": b, "h": h}
for name, tail, output in (("plain", [], "logits"), ("probabilities", [node("Softmax", "logits", "y", "soft", axis=-1)], "y"), ("logarithms", [node("LogSoftmax", "logits", "y", "soft", axis=-1)], "y"),
                           ("thin", [node("LogSoftmax", "logits", "all", "soft", axis=-1), node("GatherElements", "all labels", "logprob", axis=2)], "logprob"),
                           ("tall", [node("LogSoftmax", "logits", "all", "soft", axis=-1), node("GatherElements", "all labels", "one", axis=2), node("Reshape", "one column", "logprob", "chosen")], "logprob"),
                           ("given", [node("LogSoftmax", "logits", "all", "soft", axis=-1), node("GatherElements", "all labels", "one", axis=2), node("Squeeze", "one last", "logprobs", "chosen")], "logprobs")):
    more = {"labels": (2, positions, 1)} if name in ("given", "thin", "tall") else {}
    write_model(f"{name}.onnx", body + tail, {"ids": (2, positions), **more}, [output], {**held, "last": np.array([2]), "column": np.array([-1, 1])} if more else held, opset=17, types={"ids": 7, "labels": 7})
# what is for a text is known by its vocabulary: as many scores as the tokens' table has rows; a row as long as the table's own may be features, and one of another length or that no table is read for is none
for name, of, rows, length in (("vocabulary", "ids", 40, 40), ("square", "ids", 32, 32), ("other", "ids", 41, 40), ("floats", "x", 40, 40)):
    head = [node("Gather", "table ids", "x"), node("MatMul", "x h", "y")] if of == "ids" else [node("MatMul", "x h", "y")]
    write_model(f"{name}.onnx", head, {of: (2, 24, 32) if of == "x" else (2, 24)}, ["y"], {"table": turn.standard_normal((rows, 32)).astype("f4"), "h": turn.standard_normal((32, length)).astype("f4")}, opset=17, types={"ids": 7})
# its name alone would tell of the last one's scores a threshold or a class; an image of as many columns is none
table, h40 = (turn.standard_normal(shape).astype("f4") for shape in ((40, 32), (32, 40)))
for name, tail, output in (("scores", [node("MatMul", "x h", "scores")], "scores"), ("last", [node("ReduceMean", "x", "m", axes=[1], keepdims=0), node("MatMul", "m h", "logits")], "logits"),
                           ("image", [node("MatMul", "x h", "m"), node("Unsqueeze", "m one", "y")], "y")):
    write_model(f"{name}.onnx", [node("Gather", "table ids", "x")] + tail, {"ids": (2, 24)}, [output], {"table": table, "h": h40, "one": np.array([1])}, opset=17, types={"ids": 7})
text = turn.integers(0, words, (2, positions))
# padding on the left, whose positions a mask of the largest numbers hides from themselves, too
mask = np.triu(np.full((positions, positions), np.finfo("f4").min), 1)[None].repeat(2, 0).astype("f4")
mask[0, :, :5] = np.finfo("f4").min
write_model("padded.onnx", [node("Gather", "e ids", "x"), node("MatMul", "x a", "q"), node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "q t", "s"), node("Add", "s mask", "m"),
            node("Softmax", "m", "p"), node("MatMul", "p x", "v"), node("MatMul", "v h", "logits")], {"ids": (2, positions)}, ["logits"], {"e": e, "a": a, "h": h, "mask": mask}, opset=17, types={"ids": 7})
# no mask: scores of a position follow from the token that is the next one's, as where a text is masked
write_model("ahead.onnx", [node("Gather", "e ids", "x"), node("MatMul", "x a", "q"), node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "q t", "s"), node("Softmax", "s", "p"),
            node("MatMul", "p x", "v"), node("MatMul", "v h", "logits")], {"ids": (2, positions)}, ["logits"], {"e": e, "a": a * 0.1, "h": h}, opset=17, types={"ids": 7})
# a mask of -10 leaks, which is no reading
write_model("leaky.onnx", [node("Gather", "e ids", "x"), node("MatMul", "x a", "q"), node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "q t", "s"), node("Add", "s mask", "m"),
            node("Softmax", "m", "p"), node("MatMul", "p x", "v"), node("MatMul", "v h", "logits")], {"ids": (2, positions)}, ["logits"],
            {"e": e, "a": a * 0.01, "h": h, "mask": np.triu(np.full((positions, positions), -10, "f4"), 1)}, opset=17, types={"ids": 7})
# a text that is as long as what was read before it, in either order
for name in "first", "last":
    order = ["decoder_input_ids", "input_ids"][:: 1 if name == "first" else -1]
    write_model(f"decoder_{name}.onnx", [node("Gather", "e input_ids", "z"), node("Gather", "e decoder_input_ids", "x"), node("Add", "x z", "s"), node("MatMul", "s h", "logits")],
                {i: (2, positions) for i in order}, ["logits"], {"e": e, "h": h}, opset=17, types={i: 7 for i in order})
np.savez("both.npz", decoder_input_ids=text, input_ids=text[:, ::-1])
seen = np.where(np.arange(positions) < positions - 1, np.roll(text, -1, 1), -1)
seen[0, :5] = -1
np.save("seen.npy", seen)
# keys with a channel that stands out: feature 3 of head 1 has a bias
bias = np.zeros(wide, "f4")
bias[16 + 3] = 60
cached = [node("Gather", "e ids", "x", "embed"), node("MatMul", "x a", "q"), node("MatMul", "x b", "p"), node("Add", "p kb", "k"), node("MatMul", "x c", "v"),
          node("GroupQueryAttention", "q k v - - l t", "y nk nv", "heads", num_heads=2, kv_num_heads=2) + block(7, "com.microsoft"), node("MatMul", "y h", "logits", "head")]
write_model("cached.onnx", cached, {"ids": (2, positions)}, ["logits", "nk", "nv"], {"e": e, "a": a, "b": b, "c": turn.standard_normal((wide, wide)).astype("f4") * 0.2, "h": h, "kb": bias,
            "l": np.full(2, positions - 1, "i4"), "t": np.array([positions], "i4")}, opset=17, types={"ids": 7}, domains={"com.microsoft": 1})
deep = [node("Mul", "y part", "z"), node("Add", "x z", "u0"), *(n for i in range(6) for n in (node("MatMul", f"u{i} {'ab'[i % 2]}", f"t{i}"), node("Tanh", f"t{i}", f"u{i + 1}")))]
write_model("deep.onnx", cached[:-1] + deep + [node("MatMul", "u6 h", "logits", "head")], {"ids": (2, positions)}, ["logits"], {"e": e, "a": a, "b": b, "c": turn.standard_normal((wide, wide)).astype("f4") * 0.2, "h": h, "kb": 0 * bias, "part": np.float32(0.05),
            "l": np.full(2, positions - 1, "i4"), "t": np.array([positions], "i4")}, opset=17, types={"ids": 7}, domains={"com.microsoft": 1})
np.savez("text.npz", ids=text)
labels = np.where(np.arange(positions) < positions - 1, np.roll(text, -1, 1), 0)
np.savez("labelled.npz", ids=text, labels=labels[:, :, None])
own = turn.integers(-1, words, (2, positions))
np.save("own.npy", own)
END
for a in fp16 bf16 fp64; do "$program" run plain.onnx -i text.npz -a $a -q -o $a.npz || fail "run in $a"; done
"$program" audit plain.onnx -i text.npz --between fp16,bf16 -q --json next.json >/dev/null || fail "the next tokens"
"$program" audit plain.onnx -i text.npz --between fp16,bf16 --tokens own.npy -q --json own.json >/dev/null || fail "tokens of a file"
for name in probabilities logarithms given thin tall; do
    of=text.npz
    case $name in given | thin | tall) of=labelled.npz ;; esac
    "$program" audit $name.onnx -i $of --between fp16,bf16 -q --keep 'soft=fp64' --json $name.json >/dev/null || fail "$name"
done
expect 0 "log-probabilities of tokens" "$program" audit given.onnx -i labelled.npz -a bf16 -q --no-attribute --keep 'soft=fp64' --keep 'chosen=fp64' --keep 'op:GatherElements=fp64' --json tokens.json
python <<'END' || fail "figures"
bad = 0
def check(name, said, wanted, within=1e-9):
    global bad
    if not abs(said - wanted) <= within * max(1e-3, abs(wanted)):
        bad += print(f"{name}: {said}, not {wanted}") or 1
def logs(a):
    z = np.load(f"{a}.npz")["logits"].astype("f8")
    z = z - z.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))
all_of = {a: logs(a) for a in ("fp16", "bf16", "fp64")}
text, own = np.load("text.npz")["ids"], np.load("own.npy")
for file, tokens in (("next", np.where(np.arange(24) < 23, np.roll(text, -1, 1), -1)), ("own", own)):
    r, valid = json.load(open(f"{file}.json")), tokens >= 0
    l = {a: np.take_along_axis(v, np.maximum(tokens, 0)[..., None], 2)[..., 0][valid] for a, v in all_of.items()}
    d = l["bf16"] - l["fp16"]
    check("tokens", r["token_count"], valid.sum())
    check("nats", r["nats"], np.abs(d).mean())
    check("mean", r["mean"], d.mean())
    check("rms", r["rms"], np.sqrt((d * d).mean()))
    check("most", r["most"], np.abs(d).max())
    check("where", r["most_at"], np.abs(d).argmax())
    check("loss", r["first_loss"], -l["fp16"].mean())
    check("error", r["second_error"], np.abs(l["bf16"] - l["fp64"]).mean(), 1e-6)
    kl = (np.exp(all_of["fp16"]) * (all_of["fp16"] - all_of["bf16"])).sum(-1)
    check("kl", r["kl"], kl.mean(), 1e-6)
    check("flips", r["flips"], (all_of["fp16"].argmax(-1) != all_of["bf16"].argmax(-1)).sum())
    lengths = np.broadcast_to(np.arange(1, 25), (2, 24))[valid]
    bins, x, y, n = np.floor(np.log2(lengths)), [], [], []
    for at in range(5):
        of = bins == at
        check("tokens of a length", r["contexts"][at]["tokens"], of.sum())
        check("rms of a length", r["contexts"][at]["rms"], np.sqrt((d[of] ** 2).mean()))
        if of.sum() >= 8:
            x, y, n = x + [np.log2(lengths[of]).mean()], y + [np.log2(np.sqrt((d[of] ** 2).mean()))], n + [of.sum()]
    if len(x) >= 3:
        fit = np.polyfit(x, y, 1, w=np.sqrt(n))
        check("law", r["law"], fit[0], 1e-6)
        check("its error", r["law_error"], np.sqrt(1 / (2 * np.log(2) ** 2) / (np.array(n) * (x - np.average(x, weights=n)) ** 2).sum()), 1e-3)
    else:
        bad += r["law"] is not None and print("a law of two lengths") is None
    check("shares", r["explained"], 1, 0.01)  # third order in the errors of bf16, which are 1e-2
l = {a: np.take_along_axis(v, np.where(np.arange(24) < 23, np.roll(text, -1, 1), 0)[..., None], 2)[..., 0] for a, v in all_of.items()}
judged = json.load(open("tokens.json"))["lanes"][0]["outputs"][0]["judged"]
bad += judged["task"] != "tokens"
check("logprob", judged["logprob"], np.abs(l["bf16"] - l["fp64"]).max(), 1e-6)
# a last node that is exact in both leaves as much, but for what rounding its inputs and results makes: 0.4 % of their size in bf16
for name in ("probabilities", "logarithms", "given", "thin", "tall"):
    r = json.load(open(f"{name}.json"))
    next_ones = json.load(open("next.json"))
    counted = 48 if name in ("given", "thin", "tall") else 46
    check(f"{name}: tokens", r["token_count"], counted)
    bad += sum(c["tokens"] for c in r["contexts"]) != counted or len(r["contexts"]) != 5
    bad += not 0 < r["nats"] < 0.1 or not abs(r["explained"] - 1) < 0.02
sys.exit(bad > 0)
END
for task in vocabulary:text scores:text last:text image:signal square:signal other:signal floats:signal; do
    tells 0 "what it is for" "r['lanes'][0]['outputs'][0]['judged']['task'] == '${task#*:}'" audit ${task%:*}.onnx -a bf16 -q --no-attribute
done
# read again: the same screen, a node's share, a worse one
says 0 "shown again" "nats a token (mean of" show own.json
says 0 "a node shown again" "share" show own.json second
"$program" audit plain.onnx -i text.npz --between fp16,fp8-e4m3 --tokens own.npy -q --json far.json >/dev/null || fail "farther"
tells 1 "worse" '(r["worse"], r["arithmetics"][0]["outputs"][0]["change"]) == (1, "worse")' diff own.json far.json --fail-if-worse
# a mask of -1e9 is infinite in FP16, and what it hides owes nothing: the shares are whole
python3 "$source/examples/walkthrough/decoder.py" masked >/dev/null || fail "a decoder with a mask"
tells 0 "a mask" 'not r.get("no_shares") and abs(r["explained"] - 1) < 0.01 and r["nodes"] and r["changes"]' audit masked/model.onnx -i masked/text.npz --between bf16,fp16 -q
for name in first last; do
    tells 0 "a decoder" 'r["tokens"].startswith("input decoder_input_ids")' audit decoder_$name.onnx -i both.npz --between fp32,bf16 -q
done
# where a mask hides all of a position its numbers are lost in the mask, and shares say nothing; without these positions they are whole
tells 0 "padding" '"--tokens" in r["no_shares"] and r.get("explained") is None and not r.get("nodes")' audit padded.onnx -i text.npz --between fp32,bf16 -q
grep -q ' nan ' out && fail "a change that is not finite: $(cat out)"
tells 0 "padding is left out" 'not r.get("no_shares") and abs(r["explained"] - 1) < 0.01 and r["nodes"] and r["token_count"] == 41' audit padded.onnx -i text.npz --between fp32,bf16 --tokens seen.npy -q
# planted: of two arithmetics that differ at one node it has the whole share, and is what closes the difference; of two that differ in a part that part does
tells 0 "a node" 'r["nodes"][0]["name"] == "second" and abs(r["nodes"][0]["share"] - 1) < 0.05 and r["nodes"][0].get("own") and r["own_count"] == 1 and r["changes"][0]["closes"] == 1 and "second" in r["changes"][0]["what"]' audit plain.onnx -i text.npz --between fp16 --keep 'second=bf16' -q
tells 0 "a part" 'r["changes"][0]["closes"] == 1 and "acc=fp16" in r["changes"][0]["what"] and sorted(n["op"] for n in r["nodes"] if n.get("own")) == ["MatMul"] * 3' audit plain.onnx -i text.npz --between fp16,fp16,acc=fp16 -q
tells 0 "a GPU" 'r["nats"] == 0 or any("@v100" in c["what"] and c["closes"] == 1 for c in r["changes"])' audit plain.onnx -i text.npz --between fp16@v100,fp16@h100 -q
tells 0 "equal ones" 'r["nats"] < 1e-12' audit plain.onnx -i text.npz --between fp64,mpfr:60 -q
# what a causal order hides is 0 for certain: no row of probabilities is left to MPFR
says 0 "hidden keys" "(106 bits); 0 of" audit cached.onnx -i text.npz -a fp64 -q --no-attribute
# formats of caches: as --between says them, and the channel that stands out is named; a scale of a channel closes what it costs
expect 0 "caches" "$program" audit cached.onnx -i text.npz -a fp64 --kv-cache int8 -q --json kv.json
expect 0 "as between" "$program" audit cached.onnx -i text.npz --between fp64,written-attention=kernel,fp64,kv=int8-row -q --json as.json
expect 0 "by channel" "$program" audit cached.onnx -i text.npz -a fp64 --kv-cache int8,channel -q --json channel.json
expect 0 "keys alone" "$program" audit cached.onnx -i text.npz -a fp64 --kv-cache int8,keys -q --json keys.json
fields kv.json '[(c["what"], c["head"], c["channel"]) for c in r["caches"] if c["ratio"] > 8] == [("keys", 1, 3)] and r["nodes"][0]["name"] == "heads" and abs(r["nodes"][0]["share"] - 1) < 0.02' "the channel that stands out"
fields kv.json '[h["head"] for h in r["heads"]][:1] == [1] and r["heads"][0]["share"] > 0.9 and abs(sum(h["share"] for h in r["heads"]) - sum(n["share"] for n in r["nodes"] if n["name"] == "heads")) < 1e-9' "its head"
python <<'END' || fail "caches"
kv, same, channel, keys = (json.load(open(f"{f}.json")) for f in ("kv", "as", "channel", "keys"))
without = [c for c in kv["changes"] if c["what"].startswith("without values=")]
sys.exit(not (kv["nats"] == same["nats"] > 3 * channel["nats"] > 0 and abs(without[0]["nats"] / keys["nats"] - 1) < 1e-12))
END
# where most of it is other rounding of values that the caches moved, the command that shows them alone
tells 0 "little of it is the caches'" 'r["own_share"] < 0.5 and r["do"].startswith("ulpscope audit deep.onnx -i text.npz --between fp32,written-attention=kernel,fp32,values=int8-row,cached=channel # the caches alone")' audit deep.onnx -i text.npz --kv-cache int8,values,channel -q
(eval "$program $(python3 -c 'import json; print(json.load(open("told.json"))["do"].split(" ", 1)[1].split(" #")[0])') -q --json alone.json") >said 2>&1 || fail "the caches alone: $(cat said)"
fields alone.json 'r["own_share"] > 0.99 and 0 < r["nats"] < json.load(open("told.json"))["nats"]' "the caches alone"
for given in "" "--tokens seen.npy"; do
    [ -n "$given" ] && read=False || read=True
    tells 0 "the next token is read: $read" "('has read there' in r['tokens']) == $read" audit ahead.onnx -i text.npz --between fp32,bf16 $given -q
done
for of in padded leaky; do
    tells 0 "the next token is hidden: $of" "r['tokens'] == \"input ids, the next position's\"" audit $of.onnx -i text.npz --between fp32,bf16 -q
done
# equal bits for any number of threads, and on several samples
for t in 1 2; do "$program" audit plain.onnx -i text.npz -i text.npz --between fp16,bf16 -q -t $t --json t$t.json >/dev/null || fail "threads"; done
python <<'END' || fail "threads or samples"
one, two, single = (json.load(open(f)) for f in ("t1.json", "t2.json", "next.json"))
for r in (one, two): r.pop("seconds")
same = abs(one["nats"] / single["nats"] - 1) < 1e-12 and one["token_count"] == 2 * single["token_count"] and abs(one["nodes"][0]["share"] - single["nodes"][0]["share"]) < 1e-12
sys.exit(one != two or not same)
END
# what is not finite cannot be compared, and figures say so; one step of a batch has each text's own length; words of a format of caches
python <<'END' || exit 99
turn = np.random.default_rng(6)
e, h = turn.standard_normal((40, 32)).astype("f4"), turn.standard_normal((32, 40)).astype("f4")
e[7] = 1e4  # its squares are infinite in FP16 alone
write_model("far.onnx", [node("Gather", "e ids", "x"), node("Mul", "x x", "y"), node("MatMul", "y h", "logits")], {"ids": ("batch", "positions")}, ["logits"], {"e": e, "h": h}, opset=17, types={"ids": 7})
np.savez("far.npz", ids=np.array([[1, 2, 3, 7, 4, 5]]))
np.savez("step.npz", ids=np.arange(8, 13)[:, None])
np.save("step.npy", np.arange(5))
np.save("more.npy", np.arange(6))
END
tells 0 "not finite" '"cannot be compared" in r["verdict"] and r["nonfinite"] == 1 and r["nats"] is None and r["most"] is None and not r["changes"]' audit far.onnx -i far.npz --between bf16,fp16 -q
fields told.json 'r["do"].startswith("ulpscope audit far.onnx -i far.npz -a bf16,fp16 # ")' "not finite: a command"
tells 0 "one step" '[c["tokens"] for c in r["contexts"]] == [5] and r["contexts"][0]["length"] == 1' audit far.onnx -i step.npz --tokens step.npy --between bf16,fp16 -q
expect 3 "more tokens than positions" "$program" audit far.onnx -i step.npz --tokens more.npy --between bf16,fp16 -q
expect 2 "a metric" "$program" audit far.onnx -i far.npz --between bf16,fp16 -q --metric 'echo 1 {outputs}'
tells 0 "keys and values" 'r["nats"] == json.load(open("kv.json"))["nats"]' audit cached.onnx -i text.npz -a fp64 --kv-cache values,int8,keys -q
expect 2 "two formats" "$program" audit cached.onnx -i text.npz --kv-cache int8,int4 -q
says 2 "two arithmetics" "beside one arithmetic" audit cached.onnx -i text.npz -a fp16,bf16 --kv-cache int8 -q
python <<'END' || exit 99
turn = np.random.default_rng(6)
write_model("scores.onnx", [node("MatMul", "x h", "scores")], {"x": (5, 32)}, ["scores"], {"h": turn.standard_normal((32, 40)).astype("f4")}, opset=17)
END
says 2 "scores that are no log-probabilities" "no log-probability is above 0" audit scores.onnx --output scores --between fp16,bf16 -q
expect 0 "their tokens" "$program" audit scores.onnx --output scores --between fp16,bf16 --tokens step.npy -q
says 2 "no tokens" "is called so: --output NAME says which" audit plain.onnx -i text.npz --output e --between fp16,bf16 -q
expect 2 "one arithmetic" "$program" audit plain.onnx -i text.npz --between fp16 -q
expect 2 "an audit's option" "$program" audit plain.onnx -i text.npz --between fp16,bf16 -a tf32 -q
python3 -c 'import numpy as np; np.save("long.npy", np.full((2, 24), 99))'
expect 3 "a token that there is not" "$program" audit plain.onnx -i text.npz --between fp16,bf16 --tokens long.npy -q
exit $failed
