#!/usr/bin/env bash
# What outputs are judged by: 80 outputs, 60 of them with known flips, beside numpy's own figures (judged_cases.py); limits on these figures;
# and doc/verdicts.md is what the table says.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 "$source/scripts/verdict_table.py" --check || fail "doc/verdicts.md"
python3 "$source/tests/cli/gate_models.py" "$work" || exit 99

tells 0 "no choice changes" '[(o["judged"]["task"], o["judged"]["text"]) for o in r["lanes"][0]["outputs"]] == [("text", "0 of 4 tokens change")] and not any(l["crossings"] for l in r["limits"])' audit "$model" -i "$inputs" -a fp32 -q --no-attribute --fail-above top1_flips=0 --fail-above kl=1 --task text
tells 1 "a score's figure" '["output" not in c and "no output has this figure" in c["text"] for l in r["limits"] for c in l["crossings"]] == [True]' audit square.onnx -i good.npz -a fp16 -q --no-attribute --fail-above top1_flips=0
expect 1 "asked of that output" "$program" audit square.onnx -i good.npz -a fp16 -q --no-attribute --fail-above y:top1_flips=0
expect 0 "as a class" "$program" audit square.onnx -i good.npz -a fp16 -q --no-attribute --fail-above top1_flips=0 --task classify
expect 0 "cosines" "$program" audit square.onnx -i good.npz -a fp16 -q --no-attribute --fail-above row_cosine=0.99 --task embed
expect 1 "cosines, too strict" "$program" audit square.onnx -i good.npz -a fp8-e5m2 -q --no-attribute --fail-above row_cosine=0.999999 --task embed
tells 0 "no task" '[(o["judged"]["task"], o["judged"]["grade"]) for o in r["lanes"][0]["outputs"]] == [("none", "fine")] and r["lanes"][0]["verdict"].startswith("fine: ")' audit square.onnx -i good.npz -a fp8-e5m2 -q --no-attribute --task none
says 2 "no such task" "none, classify, score" audit square.onnx -i good.npz --task sleep
expect 0 "an integer" "$program" audit decided.onnx -i far.npz -a fp16 -q --no-attribute --fail-above differing=0
tells 1 "an integer that differs" '[c["output"] for l in r["limits"] for c in l["crossings"]] == ["g"] and [(o["judged"]["differing"], o["judged"]["elements"]) for o in r["lanes"][0]["outputs"] if o["name"] == "g"] == [(2, 4)]' audit decided.onnx -i near.npz -a fp16 -q --no-attribute --fail-above differing=0

# judged MODEL INPUTS SAYS OPTION...: the verdict in FP16
judged() {
    rm -rf judged
    expect 0 "$1" "$program" audit $1.onnx -i $2 -a fp16 -q --no-attribute -o judged "${@:4}"
    grep -qF "\"verdict\": \"$3" judged/report.json || {
        fail "$1: not '$3'"
        head -3 out
    }
}
meant=--allow-nonfinite-inputs
judged masked masked.npz "broken (classify by name): 1 of 1 first choices change, by a margin of up to 0.9, logits is at 36.8 dB; " $meant
judged born_masked born_masked.npz "broken: node 0 mask (Log) is log 0, in the reference already; 1 of 6 elements of m is 0; 1 of its 6 elements is not finite, nor is output logits, in the reference as in fp16"
judged vanished vanished.npz "broken (embed by name): the least cosine is 0.000000, embedding is off by 0.9 where it should be 0; "
expect 1 "a vanished vector's cosine" "$program" audit vanished.onnx -i vanished.npz -a fp16 -q --no-attribute --fail-above row_cosine=0.99
judged points points.npz "fine (segment by LogSoftmax): 0 of 8 elements of the mask flip, "
judged large large.npz "broken (integer): y follows other decisions, y: 4 of 4 integers differ; "
fields judged/report.json '"no output can be compared" not in r["lanes"][0]["verdict"]' "integers are compared"
judged holes_mask holes_mask.npz "fine (segment by name): 0 of 7 elements of the mask flip, mask is at 75.2 dB; " $meant
judged holes_mask born_mask.npz "broken: node 0 root (Sqrt) is the root of a negative number, in the reference already; 1 of 8 elements of x is negative"
judged holes_mask_2 holes_mask_2.npz "fine (segment by name): 0 of 3 elements of the mask flip, mask_2 is at 75.2 dB; " $meant
judged holes_mask_2 born_mask_2.npz "broken: node 0 root (Sqrt) is the root of a negative number, in the reference already; 1 of 8 elements of x is negative"
judged holes_logits holes_logits.npz "fine (classify by name): logits is at 75.2 dB, 0 of 1 first choices change; " $meant
judged holes_logits born_logits.npz "broken: node 0 root (Sqrt) is the root of a negative number, in the reference already; 1 of 8 elements of x is negative"
judged part part_empty.npz "not judged: e has no element to compare; "
judged undefined good.npz "broken: node 1 quotient (Div) is 0 / 0, in the reference already; all of z is 0"
mkdir orders
for order in "corners distances" "distances corners"; do
    cp ${order% *}.npz orders/a.npz && cp ${order#* }.npz orders/b.npz
    judged boxes orders "broken (detect by name): the worst of 4 boxes keeps an IoU of 0, boxes is at 78.7 dB; "
done

# A plan says what its outputs are for, by the same rules.
expect 0 "a plan" "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=50 -q -o plan
fields plan/plan.json 'r["grade"] == "fine" and r["grade_text"] == "fine (classify by name: 0 of 4 first choices change)" and r["grade_text"] in r["verdict"]' "a plan"

# The doctor's next command asks for the same, and a fix hears it.
tells 1 "a doctor of signals" 'r["next"].startswith("ulpscope fix ") and " --task signal " in r["next"]' doctor "$model" -i "$inputs" -a fp16 -q --task signal
tells 0 "a fix as asked" 'all(r[when]["text"].startswith("output logits: no rule is applied") for when in ("before", "after"))' fix "$model" -i "$inputs" -a fp16 -q --task none -o fixed.onnx

# So does a comparison of what was recorded.
expect 0 "a recording" "$program" run "$model" -i "$inputs" -a fp16 -q -o fp16.npz
expect 0 "a recording that is explained and broken" "$program" compare "$model" -i "$inputs" fp16.npz -a fp16 -q -o compared
explained="[(f['by'], f['tensor_count'], f['ranked'][0]['equal'], f['ranked'][0]['elements']) for f in r['files'] if f['explained']] == [('fp16', 1, 40, 40)]"
judged="[[t['name'], *(t['values'][0]['judged'][what] for what in ('task', 'basis', 'grade'))] for t in r['tensors']]"
fields compared/compare.json "($explained and $judged == [['logits', 'classify', 'by name', 'broken']] and r['tensors'][0]['values'][0]['judged']['top1_flips'] == 1
    and \"but 'logits' is off by \" in r['verdict'].split('; outputs: broken (logits, classify by name: 1 of 4 ')[0])" "a recording's verdict"
tells 0 "a recording as a signal" "$explained and $judged == [['logits', 'signal', 'as asked', 'broken']]" compare "$model" -i "$inputs" fp16.npz -a fp16 -q --task signal

if python3 -c 'import numpy' 2>/dev/null; then
    # numbers of classes and indices are counted, and have no decibels
    python <<'END' || fail "no models of class numbers"
random = np.random.default_rng(1)
known = {"w": random.standard_normal((16, 40)).astype("f4") * 30, "k": np.array([3], "i8")}
product = node("MatMul", "x w", "l", "product")
write_model("first.onnx", [product, node("ArgMax", "l", "y", "first", axis=1, keepdims=0)], {"x": (64, 16)}, ["y"], known, types={"y": 7})
write_model("three.onnx", [product, node("TopK", "l k", "v y", "three", axis=1)], {"x": (64, 16)}, ["y", "v"], known, types={"y": 7, "v": 1})
np.savez("rows.npz", x=random.standard_normal((64, 16)).astype("f4"))
END
    cat >look.py <<'END'
import json

def look(x):
    if isinstance(x, dict):
        rest = json.dumps({key: value for key, value in x.items() if key != "divergence"})
        assert not (x.get("name") == "y" or x.get("task") == "integer") or '"sqnr_db": ' not in rest.replace('"sqnr_db": null', ""), rest
        assert not (x.get("title") == "Signal to error" and x["note"].startswith("of y")), x
    for y in x.values() if isinstance(x, dict) else x if isinstance(x, list) else ():
        look(y)

look(json.load(open("told.json")))
END
    for name in first three; do
        "$program" run $name.onnx -i rows.npz -a e5m4 -q -o $name.npz
        for line in "audit $name.onnx" "doctor $name.onnx" "compare $name.onnx $name.npz"; do
            "$program" $line -i rows.npz -a e5m4 -q --json told.json >out 2>err || [ $? = 1 ] || fail "$line: $(cat err)"
            tr -s '\n ' ' ' <out | grep -q 'integer.* [0-9]* of [0-9]* integers differ' || fail "$line: $(head -3 out)"
            grep -E "integers differ, at|'y' is off|as a list.*rms" out && fail "$line: class numbers are measured"
            python3 look.py || fail "$line: decibels of class numbers"
        done
    done
    # Objects of a detector: the order of what has no score to speak of is no error; a box that moves, another class and an object more are.
    python <<'END' || fail "no objects"
random = np.random.default_rng(5)
corner = random.uniform(0, 500, (1, 40, 2)).astype("f4")
rows = np.concatenate([corner, corner + 64, np.sort(random.uniform(0, 1e-4, (1, 40, 1)).astype("f4"), 1)[:, ::-1], random.integers(0, 5, (1, 40, 1))], 2).astype("f4")
rows[0, :2, 4], rows[0, :2, 5] = (0.9, 0.6), (3, 1)
write_model("objects.onnx", [node("Mul", "x one", "y", "rows")], {"x": (1, None, 6)}, ["y"], {"one": np.ones(1, "f4")})
def record(name, change=lambda y: None):
    y = rows.copy()
    change(y[0])
    np.savez(name, y=y)
def shuffle(y): y[2:] = y[2:][::-1]
def swap(y): y[:2] = y[1::-1].copy()
def move(y): y[1, [0, 2]] += 32
def score(y): y[0, 4] += 0.03125
def other(y): y[0, 5] = 2
def more(y): y[9, 4] = 0.5
np.savez("objects.npz", x=rows)
np.savez("faint.npz", x=rows[:, 2:])
for change in shuffle, swap, move, score, other, more:
    record(f"{change.__name__}.npz", change)
END
    objects="of 2 objects (score of 0.25 or more, of 40 rows) are lost, moved or named otherwise"
    by="y, objects by its columns:"
    for line in "shuffle|fine ($by 0 $objects)" "swap|fine ($by 0 $objects (2 in another row))" "move|broken ($by 1 $objects (1 moved))" "other|broken ($by 1 $objects (1 named otherwise))" \
        "score|borderline (y, objects by its columns: an object's score is off by 0.0312)" "more|broken (y, objects by its columns: an object's score is off by 0.5)"; do
        "$program" compare objects.onnx -i objects.npz "${line%%|*}.npz" --task detect -q >out
        tr -s '\n ' ' ' <out | grep -qF "outputs: ${line#*|}" || fail "objects, ${line%%|*}: $(head -3 out)"
    done
    says 0 "a fix of objects" "0 $objects" fix objects.onnx -i objects.npz --for torch -q -o objects_fixed.onnx
    grep -q "objects.* dB" out && fail "objects have decibels"
    # Three outputs behind a TopK, in its rows; the planted changes are counted by who made them.
    python <<'END' || fail "no lists"
random = np.random.default_rng(6)
low = random.uniform(0, 500, (1, 30, 2))
given = {"b": np.concatenate([low, low + random.uniform(40, 90, (1, 30, 2))], 2).astype("f4"), "s": random.permutation(np.linspace(0.1, 0.95, 90)).reshape(1, 90).astype("f4")}
integers = {"k": [20], "three": [3], "last": [-1], "wide": [1, 1, 4]}
write_model("list.onnx", [node("TopK", "s k", "scores index", "take"), node("Mod", "index three", "labels", "class"), node("Div", "index three", "of", "query"), node("Unsqueeze", "of last", "column", "column"),
                          node("Expand", "column wide", "four", "four"), node("GatherElements", "b four", "boxes", "boxes", axis=1)],
            {"b": (1, 30, 4), "s": (1, 90)}, {"labels": (7, None), "boxes": None, "scores": None}, {n: np.array(v, np.int64) for n, v in integers.items()}, opset=17)
np.savez("list.npz", **given)
index = np.argsort(-given["s"][0], kind="stable")
def record(name, change, index=index[:20]):
    y = {"labels": index % 3, "boxes": given["b"][0, index // 3].copy(), "scores": given["s"][0, index].copy()}
    change(y)
    np.savez(name + "_recorded.npz", **{n: v[None] for n, v in y.items()})
def lose(y):
    for n in y: y[n][3] = y[n][11]
def move(y): y["boxes"][[2, 5]] += 30
def name(y): y["labels"][4] = 7
record("order", lambda y: None, index[:20][::-1])
record("end", lambda y: None, np.append(index[:19], index[20]))
record("lose", lose)
record("move", move)
record("name", name)
# Behind more choices than are followed.
many = [n for i in range(70) for n in (node("TopK", f"s{i} two", f"v{i} i{i}", f"top{i}"), node("ReduceMax", f"v{i}", f"r{i}"), node("Max", f"s{i} r{i}", f"m{i}"), node("Min", f"s{i} m{i}", f"s{i + 1}"))]
write_model("many.onnx", many + [node("TopK", "s70 k", "scores i"), node("Gather", "b i", "four", axis=1), node("Squeeze", "four front", "boxes")], {"s0": (1, 30), "b": (1, 30, 4)},
            {"boxes": None, "scores": None}, {"k": np.array([20]), "two": np.array([2]), "front": np.array([0])}, opset=17)
index, scores = np.arange(30)[:9:-1], np.linspace(0.3, 0.9, 30, dtype="f4")[None]
np.savez("many.npz", s0=scores, b=given["b"])
np.savez("many_recorded.npz", scores=scores[:, index[::-1]], boxes=given["b"][:, index[::-1]])
# Ten rows: of few the last one is no end, nor is any of equal scores; a score that is none from 0 to 1 is a number, and
# without boxes or classes no score makes an object.
random = np.random.default_rng(1)
low, index = random.uniform(0, 300, (1, 40, 2)), np.arange(30, 40)[::-1]
boxes, vectors = np.concatenate([low, low + random.uniform(20, 80, (1, 40, 2))], 2).astype("f4"), random.normal(size=(1, 40, 16)).astype("f4")
nodes = [node("TopK", "s k", "scores i", "take"), node("Squeeze", "i front", "j", "j"), node("Gather", "table j", "rows", "rows", axis=1)]
def write(name, scores, table, more=0, times=1):
    write_model(name + ".onnx", nodes, {"s": (1, 40), "table": table.shape}, {"scores": None, "rows": None}, {"k": np.array([10]), "front": np.array([0])}, opset=17)
    np.savez(name + ".npz", s=scores, table=table)
    np.savez(name + "_recorded.npz", scores=scores[:, index] * np.float32(times), rows=table[:, index] + np.asarray(more, "f4"))
rising = np.linspace(0.3, 0.9, 40, dtype="f4")[None]
row = np.arange(10)[:, None]
write("last", rising, boxes, 1000 * (row == 9))
write("logits", 20 * rising - 3, boxes, times=0.5)
write("items", np.where(rising == rising.max(), 0.6, rising / 10).astype("f4"), vectors, 5 * (row > 0))
write("near", rising, vectors, 0.03 * vectors[0, 0].std())
# An overflow by which every box is 0, in its place.
swollen = [node("Mul", "table big", "over", "over"), node("Reciprocal", "over", "small"), node("Mul", "table small", "part"), node("Mul", "part big", "t")]
write_model("swollen.onnx", swollen + nodes[:2] + [node("Gather", "t j", "rows", axis=1)], {"s": (1, 40), "table": boxes.shape}, {"scores": None, "rows": None},
            {"k": np.array([10]), "front": np.array([0]), "big": np.array(200, "f4")}, opset=17)
np.savez("swollen.npz", s=rising, table=boxes + np.float32(700))
index = np.arange(10)
write("equal", np.full((1, 40), 0.9, "f4"), boxes, 1000)
END
    named="objects are lost, moved or named otherwise"
    for line in "list|order|fine|0 of 20 $named (20 in another row)" "list|end|fine|0 of 20 $named (1 other at the list's end)" "list|lose|broken|1 of 20 $named (1 lost)" \
        "list|move|broken|2 of 20 $named (2 moved)" "list|name|broken|1 of 20 $named (1 named otherwise)" "many|many|fine|0 of 20 $named (20 in another row)" "last|last|broken|1 of 10" "logits|logits|broken|10 of 10" \
        "items|items|broken|9 of 10" "equal|equal|broken|10 of 10" "near|near|borderline|an object's numbers are off by 0.0"; do
        IFS='|' read -r model name grade what <<<"$line"
        "$program" compare "$model.onnx" -i "$model.npz" "${name}_recorded.npz" -q >out
        tr -s '\n ' ' ' <out | grep -qF "outputs: $grade (scores, objects by its list: $what" || fail "a list, $name: $(head -3 out)"
    done
    "$program" audit swollen.onnx -i swollen.npz -a fp16 -q --no-attribute >out
    tr -s '\n ' ' ' <out | grep -q "overflows at node 0 over (Mul), whose exact values reach [^ ]*. rows differs from the reference" || fail "objects behind an overflow: $(head -5 out)"
    # As many experts of each token as there are tokens, or a choice for each column: no rows.
    python <<'END' || fail "no experts"
random = np.random.default_rng(1)
write_model("experts.onnx", [node("MatMul", "x gate", "l"), node("TopK", "l k", "v i"), node("MatMul", "v w", "y")], {"x": (3, 8)}, ["y"],
            {"gate": random.normal(size=(8, 8)).astype("f4"), "k": np.array([3]), "w": random.normal(size=(3, 64)).astype("f4")})
np.savez("experts.npz", x=random.normal(size=(3, 8)).astype("f4"))
write_model("columns.onnx", [node("TopK", "x k", "y i", axis=0)], {"x": (30, 4)}, ["y"], {"k": np.array([10])})
np.savez("columns.npz", x=np.stack([random.permutation(30) * 1.1 for _ in range(4)], 1).astype("f4"))
END
    says 0 "a choice for each column" "fine (signal)" audit columns.onnx -i columns.npz -a fp16 -q --no-attribute
    says 0 "experts" "fine (signal)" audit experts.onnx -i experts.npz -a fp16 -q --no-attribute
    says 0 "no objects" "not judged: y has no object with a score of 0.25" audit objects.onnx -i faint.npz -a fp16 -q --no-attribute
    python <<<'write_model("places.onnx", [node("NonZero", "x", "n"), node("Cast", "n", "y", to=6)], {"x": (2, 6)}, ["y"], {}, opset=13)' || fail "no places"
    says 0 "rows of NonZero are axes" "fine (integer): y: 0 of" audit places.onnx -a fp16 -q
    # A tile says the figure that the headline says: of several samples that of the worst, which is judged.
    python <<'END' || fail "no deep network"
random = np.random.RandomState(1)
weights = {f"w{i}": (random.randn(48, 48) / 7).astype("f4") for i in range(20)}
nodes = [n for i in range(20) for n in (node("MatMul", f"t{i} w{i}", f"m{i}", f"product{i}"), node("Tanh", f"m{i}", f"t{i + 1}", f"tanh{i}"))]
write_model("deep.onnx", nodes, {"t0": (8, 48)}, {"t20": None}, weights, opset=17)
for sample in range(4):
    np.savez(f"deep{sample}.npz", t0=random.randn(8, 48).astype("f4") / 10**sample)
END
    for arithmetic in fp16 bf16 e5m3 e8m4; do
        "$program" audit deep.onnx -i deep0.npz -i deep1.npz -i deep2.npz -i deep3.npz -a $arithmetic -q --json tiles.json >out || fail "tiles: $arithmetic"
        python <<'END' || fail "tiles: $arithmetic"
lane = json.load(open("tiles.json"))["lanes"][0]
said = re.search(r"is at (\S+) dB", lane["headline"])[1]
tile, = [t["value"] for t in lane["tiles"] if t["title"] == "Signal to error"]
assert tile.split()[0] == said, (lane["headline"], tile)
output = lane["outputs"][0]
assert said == f'{output["judged"]["sqnr_db"]:.1f}' == f'{output["samples"]["entire_limit"]["sqnr_db"]:.1f}', (said, output["samples"])
assert f'{output["entire"]["sqnr_db"]:.1f}' != said, "the samples are alike"
END
    done

    mkdir cases twins
    python3 "$source/tests/cli/judged_cases.py" "$program" cases || fail "verdicts of known flips"
    python3 "$source/tests/cli/judged_twins.py" "$program" twins || fail "right and wrong twins"
else
    echo "SKIP cases: no numpy (ULPSCOPE_TEST_PYTHON)"
fi
exit $failed
