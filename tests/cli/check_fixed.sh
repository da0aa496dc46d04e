#!/usr/bin/env bash
# ulpscope fix: what it writes is fine where the model was broken, is accepted by onnx and ONNX Runtime, and changes nothing in exact arithmetic
# but what was allowed; what gains nothing is not made; what is fine has types alone; a goal that cannot be met is said.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: fix is not tried"; exit 77; }
python3 "$source/examples/causes/causes.py" w >/dev/null || exit 99
# where a fix holds only without TF32 it says so, and that is how it is judged
setting() { ! tr -s ' \n' ' ' <out | grep -qF "with TF32 forbidden" || echo ",tf32=off"; }

# every cause at its target: fixed.onnx where there is one, which is fine; fix.json says so
while IFS=$'\t' read -r name target node says thread; do
    [ "$name" != name ] || continue
    model=w/$name/broken.onnx wanted=0
    [ -n "$node" ] || model=w/$name/sound.onnx
    # the weights are lost: its exact result is NaN
    case $name in 12-nan-scale) wanted=1 ;; esac
    expect $wanted "$name" "$program" fix $model -i w/$name/inputs.npz --for $target -o w/$name/fixed.onnx --json w/$name/fix.json -q
    if [ $wanted = 1 ]; then
        [ ! -e w/$name/fixed.onnx ] || fail "$name: there is a file"
        continue
    fi
    # what is fine as it is has the target's types, where that takes any
    if [ -z "$node" ]; then
        fields w/$name/fix.json 'r["met"] and not r["edits"] and r["made_count"] == 0 and not r["kept"] and ("path" in r) == r.get("types", False)' "$name"
        [ -e w/$name/fixed.onnx ] || continue
        typed=$((${typed:-0} + 1))
    else
        fields w/$name/fix.json 'r["met"] and r["before"]["grade"] in ("broken", "borderline") and r["after"]["grade"] == "fine"' "$name, what was made"
    fi
    expect 0 "$name, fixed" "$program" doctor w/$name/fixed.onnx -i w/$name/inputs.npz --for $target"$(setting)" --no-plan -q
done <"$source/examples/causes/causes.tsv"
[ "${typed:-0}" -gt 0 ] || fail "no sound model has a file with types"

# what is called fixed is fine where it is to run, and so is what needs nothing, in other targets, too; where no file helps, what the target has is said
mapfile -t targets < <(sed -n 's/^TARGET([A-Z0-9_]*, "\([a-z0-9-]*\)".*/\1/p' "$source/src/number/format/target.def")
[ ${#targets[@]} -ge 17 ] || fail "there are ${#targets[@]} targets"
at=0 fixed=0
while IFS=$'\t' read -r name _; do
    [ -f "w/$name/broken.onnx" ] || continue
    for step in 0 5 10; do
        target=${targets[$(((at + step) % ${#targets[@]}))]}
        rm -f there.onnx
        "$program" fix w/$name/broken.onnx -i w/$name/inputs.npz --for $target -o there.onnx -q >out 2>err
        code=$? model=there.onnx
        # what the doctor promises to keep is what fix keeps
        if [ $step = 0 ] && [ $code != 0 ]; then
            "$program" doctor w/$name/broken.onnx -i w/$name/inputs.npz --for $target -a $target:fp16 -q >promised || [ $? = 1 ] || fail "doctor $name --for $target"
            ! grep -q 'next *ulpscope fix .*' promised || grep -q 'lowers every' <(tr -s ' \n' ' ' <promised) || fail "$name in $target: $(head -1 out), and $(grep next promised)"
            # nor does it say to keep nodes of what keeps none
            ! tr -s ' \n' ' ' <promised | grep -q 'lowers every .* next .*=fp32' || fail "$name in $target: $(grep next promised)"
        fi
        case $code in
        0) [ -e there.onnx ] || model=w/$name/broken.onnx
            expect 0 "$name in $target, $(head -1 out)" "$program" doctor $model -i w/$name/inputs.npz --for $target"$(setting)" --no-plan -q
            fixed=$((fixed + 1)) ;;
        1) [ ! -e there.onnx ] || fail "$name in $target: not fixed, and there is a file" ;;
        *) fail "fix $name --for $target: exit $code: $(cat err)" ;;
        esac
    done
    at=$((at + 1))
done <"$source/examples/causes/causes.tsv"
[ $fixed -ge 40 ] || fail "only $fixed pairs of a cause and a target are fine or fixed"
# causes in bodies; the weights of one are in another file
python3 "$source/tests/cli/body_causes.py" w || exit 99
while read -r name rule; do
    folder=w/body-$name
    expect 1 "$name in a body, before" "$program" doctor $folder/broken.onnx -i $folder/inputs.npz --for torch -a torch:fp16 --no-plan -q
    expect 0 "$name in a body" "$program" fix $folder/broken.onnx -i $folder/inputs.npz --for torch -q -o $folder/fixed.onnx --json $folder/fix.json
    fields $folder/fix.json "'$rule' in [e['rule'] for e in r['edits'] if e['done'] == 'made'] and not r['kept']" "$name in a body"
    expect 0 "$name in a body, fixed" "$program" doctor $folder/fixed.onnx -i $folder/inputs.npz -a model --no-plan -q
done <<'END'
loop square-in-half
scan log-of-softmax
branch square-in-half
epsilon eps-zero
END
[ -s w/body-scan/fixed.onnx.data ] || fail "a body's weights stay in the old file"
python3 "$source/tests/cli/accept_fixed.py" "$program" w/*/ || failed=1

# edits that hold as the sample rounds, and in few draws (a plan of TF32 keeps less without them): nodes are kept, too, and what is reported is judged as a plan's
# where no fewer nodes hold in all draws than all of them, the plan says which smaller number nearly does
tells 0 "all nodes" 'len(r["kept"]) == r["node_count"] and 0 < r["nearly_kept"] < 10 and 0 < r["nearly_held"] < r["nearly_drawn"]' plan w/17-unscaled-scores/broken.onnx -i w/17-unscaled-scores/inputs.npz --for ort-webgpu -q
expect 0 "FP32 that is no TF32" "$program" fix w/17-unscaled-scores/broken.onnx -i w/17-unscaled-scores/inputs.npz --for ort-webgpu -q -o there.onnx --json w/17-unscaled-scores/fix.json
python <<'END' || fail "edits alone are not judged in draws"
said, alone = (json.load(open(f"w/{name}/fix.json")) for name in ("17-unscaled-scores", "01-layernorm-square"))
assert said["edited"]["grade"] == "fine" and said["edited"]["ratio"] < 1 and said["made_count"] and said["kept"], said["verdict"]
assert alone["made_count"] and not alone["kept"], alone["verdict"]
for one in (said, alone):
    assert one["held_count"] == one["draw_count"] == 50 and ", and holds in 50 of 50 draws (worst " in one["verdict"], one["verdict"]
    assert "on other inputs: unknown" in one["verdict"], one["verdict"]
END

tells 0 "a plan's own default" 'r["met"] and r["by_default"] and r["tolerances"] == ["sqnr_db=40"]' plan w/20-running-variance/broken.onnx -i w/20-running-variance/inputs.npz --for coreml-gpu -q
shows out "op_selector; coreml-gpu lowers every model itself" "a plan of what obeys no file"

# edits after which a plan keeps more than of the model as it is are not made; others are
for name in 20-running-variance 17-unscaled-scores; do
    given="w/$name/broken.onnx -i w/$name/inputs.npz --for torch --tolerance sqnr_db=60 -q"
    expect 0 "$name, a plan by itself" "$program" plan $given -o alone
    expect 0 "$name, a fix beside it" "$program" fix $given -o beside.onnx --json beside.json
    python <<'END' || fail "$name: a fix keeps more than a plan by itself"
said, alone = json.load(open("beside.json")), len(json.load(open("alone/plan.json"))["kept"])
assert said["without_edits_count"] == alone and len(said["kept"]) == min(alone, said["with_edits_count"]), said["verdict"]
dropped = [edit for edit in said["edits"] if edit["done"] == "dearer"]
assert bool(dropped) == (said["made_count"] == 0) == (alone < said["with_edits_count"]), said["edits"]
END
done
fields beside.json '"dearer" not in [e["done"] for e in r["edits"]]' "17-unscaled-scores"
tr -s ' \n' ' ' <out | grep -q '; without edits it would keep [0-9]' || fail "17-unscaled-scores: what the other plan keeps is not said"

# what was asked
broken=w/15-min-max-epsilon given="-i w/15-min-max-epsilon/inputs.npz --for torch -q"
tells 0 "only" 'r["kept"] and not r["made_count"] and "left out" in [e["done"] for e in r["edits"]]' fix w/01-layernorm-square/broken.onnx -i w/01-layernorm-square/inputs.npz --for torch -q -o only.onnx --only log-of-softmax
says 2 "a rule that is none" "no edit answers a rule 'eps-zeros': expected constant-beyond-fp16," fix $broken/broken.onnx $given -o none.onnx --without eps-zeros
expect 2 "onto itself" "$program" fix $broken/broken.onnx $given -o $broken/broken.onnx
expect 2 "no name" "$program" fix $broken/broken.onnx $given
tells 1 "beyond FP32" 'not r.get("met") and "path" not in r and "--best" in r["reason"]' fix $broken/broken.onnx $given --tolerance sqnr_db=200 -o none.onnx
[ ! -e none.onnx ] || fail "beyond FP32: there is a file"
expect 1 "the best" "$program" fix w/01-layernorm-square/broken.onnx -i w/01-layernorm-square/inputs.npz --for torch -q --tolerance sqnr_db=200 -o best.onnx --best --json best.json
[ -s best.onnx ] || fail "the best: there is no file"
fields best.json 'not r.get("met") and r["path"] == "best.onnx" and r["after"]["ratio"] > 1' "the best"

# the model's own files are never written to, under whatever name its weights are; what has no file is not fixed; another shape is not fine
python <<'END' || exit 99
turn = np.random.default_rng(1)
w = turn.standard_normal((8, 8)).astype("<f4")
raw = w.tobytes()
open("copy.onnx.data", "wb").write(raw)
weights = b"".join(number(1, 8) for _ in "ab") + number(2, 1) + block(8, "w") + number(14, 1) + b"".join(
    block(13, block(1, entry) + block(2, what)) for entry, what in (("location", "copy.onnx.data"), ("offset", "0"), ("length", str(len(raw)))))
graph = b"".join(block(1, item) for item in (node("MatMul", "x w", "p"), node("Softmax", "p", "s", axis=-1), node("Log", "s", "y")))
graph += block(2, "g") + block(5, weights) + block(11, value("x", [3, 8])) + block(12, value("y", [3, 8]))
open("own.onnx", "wb").write(number(1, 8) + block(7, graph) + block(8, block(1, "") + number(2, 17)))
np.savez("own.npz", x=(20 * turn.standard_normal((3, 8))).astype("f4"))
write_model("square.onnx", [node("Mul", "x x", "y", "square")], {"x": [2, 4]}, ["y"])
np.savez("square.npz", x=np.arange(300, 308, dtype="f4").reshape(2, 4))
# what is stored between the product and its normalisation, FP16 does not hold
norm = {"w": 3e4 * turn.standard_normal((4, 4, 1, 1)).astype("f4"), "s": np.full(4, 1e-5, "f4"), "t": turn.standard_normal(4).astype("f4"), "m": np.zeros(4, "f4"), "v": np.ones(4, "f4")}
write_model("norm.onnx", [node("Conv", "x w", "c"), node("BatchNormalization", "c s t m v", "n"), node("Relu", "n", "y")], {"x": [1, 4, 5, 5]}, {"y": (1, 4, 5, 5)}, norm, opset=17)
np.savez("norm.npz", x=4 * turn.standard_normal((1, 4, 5, 5)).astype("f4"))
write_model("count.onnx", [node("Mul", "x k", "q"), node("NonZero", "q", "n"), node("Cast", "n", "y", to=1)], {"x": [8]}, ["y"],
            {"k": np.float32(1e-7)}, opset=17)
np.savez("count.npz", x=np.array([1, 1e-3, 1e-4, 2, 3, 4, 5, 6], "f4"))
# near 64 FP16 has multiples of 1/16: the first choice, 1.02, becomes 1 beside another, at more than 50 dB
scores = turn.choice([-1.0, 0.5], (1, 64))
scores[0, 3], scores[0, 63] = 1, 0
write_model("choice.onnx", [node("Add", "x big", "up"), node("Sub", "up big", "x1"), node("Add", "x1 scores", "logits", "last")], {"x": [1, 64]}, ["logits"],
            {"big": np.eye(1, 64, 63, dtype="f4") * 64, "scores": scores.astype("f4")}, opset=17)
write_model("zero.onnx", [node("Mul", "x k", "up"), node("Mul", "x k", "up2"), node("Sub", "up up2", "d"), node("Mul", "d half", "y")], {"x": [4]}, ["y"],
            {"k": np.float32(3e4), "half": np.float32(0.5)}, opset=17)
np.savez("zero.npz", x=np.full(4, 3, "f4"))
write_model("lost.onnx", [node("Add", "x k", "up"), node("Sub", "up x", "d"), node("Sub", "d k", "y")], {"x": [4], "k": [4]}, ["y"], opset=17)
np.savez("lost.npz", x=np.full(4, 2048, "f4"), k=np.full(4, 0.5, "f4"))
# attention to values that FP16 lacks, which a norm takes in, under a mask that it lacks, too
write_model("masked.onnx", [node("Sub", "one keep", "not"), node("Mul", "not least", "bias"), node("MatMul", "x w", "scores"), node("Add", "scores bias", "sum"),
                            node("Softmax", "sum", "p", axis=-1), node("MatMul", "p v", "mixed"), node("Mul", "mixed mixed", "square"),
                            node("ReduceMean", "square", "mean", axes=[-1]), node("Sqrt", "mean", "root"), node("Div", "mixed root", "y")],
            {"x": [4, 8], "keep": [4, 8]}, {"y": (4, 8)},
            {"one": np.float32(1), "least": np.float32(-3.4e38), "w": turn.standard_normal((8, 8)).astype("f4"), "v": (3e5 * turn.standard_normal((8, 8))).astype("f4")}, opset=17)
for name, shown in ("masked", [8, 5, 3, 1]), ("hidden", [0] * 4):
    np.savez(name, x=turn.standard_normal((4, 8)).astype("f4"), keep=(np.arange(8) < np.array(shown)[:, None]).astype("f4"))
np.savez("choice.npz", x=np.eye(1, 64, 63, dtype="f4") * np.float32(1.02))
END
cp copy.onnx.data kept
for out in copy.onnx ./copy.onnx; do
    says 2 "weights under the copy's name" "copy.onnx.data: is read as part of the model own.onnx, so nothing is written to it" fix own.onnx -i own.npz --for torch -q -o $out
    cmp -s kept copy.onnx.data || fail "the model's weights are written over"
done
# what stands beside the copy stays, whatever it is
mkfifo typed.onnx.draft
ln -s nowhere typed.onnx.draft.data
expect 0 "weights in a file, no folder" "$program" fix own.onnx -i own.npz --for torch -q -o typed.onnx --json typed.json
[ -p typed.onnx.draft ] && [ -L typed.onnx.draft.data ] || fail "what stands beside the copy is gone"
[ -s typed.onnx.data ] || fail "weights in a file, no folder"
expect 0 "weights in a file, fixed" "$program" doctor typed.onnx -i own.npz -a model --no-plan -q
tells 0 "a normalisation apart" 'r["after"]["grade"] == "fine" and [e["rule"] for e in r["edits"] if e["done"] == "made"] == ["batchnorm-apart"] and "rests_on" not in r' fix norm.onnx -i norm.npz --for torch -q -o norm.fixed.onnx
expect 0 "a normalisation apart, fixed" "$program" doctor norm.fixed.onnx -i norm.npz -a model --no-plan -q
"$program" fix norm.onnx -i norm.npz --for trt10 -q -o norm.trt.onnx --json folded.json >out 2>err
fields folded.json '"batchnorm-apart" not in [e["rule"] for e in r["edits"]]' "what TensorRT folds is folded"
# outputs of zeros: exact in every draw, and with an error that is no part of them
tells 0 "exact" 'r["after"]["ratio"] == 0 and r["held_count"] == r["draw_count"] == 50' fix zero.onnx -i zero.npz -a fp16 -q -o exact.onnx
tells 1 "an error beside zeros" 'r["before_samples"][0]["ratio"] is None and r["ratio"] <= 1 and not r.get("met") and r["by_default"]' plan lost.onnx -i lost.npz -a fp16 -q
tells 1 "every node in FP32" 'not r.get("met") and r["before"]["grade"] == "broken" and "path" not in r and len(r["kept"]) == r["node_count"]' fix square.onnx -i square.npz -a fp16 -q -o all.onnx
[ ! -e all.onnx ] || fail "every node in FP32: there is a file"
tells 1 "nothing wider" 'not r.get("met") and r["before"]["grade"] == "broken" and "path" not in r and not r["kept"]' fix own.onnx -i own.npz -a fp32 --tolerance sqnr_db=250 --only eps-zero -q -o all.onnx
expect 1 "stopped" "$program" fix square.onnx -i square.npz -a fp16 -q -o all.onnx --stop-after 0.001
expect 2 "stopped at once" "$program" fix square.onnx -i square.npz -a fp16 -q -o all.onnx --stop-after 0
# 40 dB are met, and what the outputs are for is not: finer ones are tried, unless they are what was asked for
tells 0 "a finer tolerance" 'r["met"] and r["before"]["grade"] == "broken" and r["after"]["grade"] == "fine" and r["kept"]' fix choice.onnx -i choice.npz -a fp16 -q -o choice.fixed.onnx
tells 0 "as asked for" 'r["met"] and r["after"]["grade"] == "broken"' fix choice.onnx -i choice.npz -a fp16 -q -o choice.fixed.onnx --tolerance sqnr_db=40
tells 0 "more asked for" 'r["met"] and r["before"]["grade"] == "broken" and r["after"]["grade"] == "fine"' fix choice.onnx -i choice.npz -a fp16 -q -o choice.fixed.onnx --tolerance sqnr_db=65
"$program" fix count.onnx -i count.npz -a fp16 -q -o count.fixed.onnx --json count.json >out 2>err
fields count.json 'r["before"]["grade"] == "broken"' "another shape"
# no power of two makes a mask fit: its own edit goes with them, and rows that are masked as a whole stay finite
tells 0 "a mask beside powers" '[e["rule"] for e in r["edits"] if e["done"] == "made"] == ["constant-beyond-fp16", "out-of-range"] and not r["kept"] and "inferred" in r["rests_on"]' fix masked.onnx -i masked.npz --for trt11 -q -o masked.fixed.onnx
expect 0 "masked as a whole" "$program" run masked.fixed.onnx -i hidden.npz -a model -o hidden.out.npz
python3 -c 'import numpy as np; assert np.isfinite(np.load("hidden.out.npz")["y"]).all()' || fail "masked as a whole: not finite"
expect 2 "rules of no name" "$program" fix own.onnx -i own.npz -q -o none.onnx --only ,
exit $failed
