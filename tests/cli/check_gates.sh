#!/usr/bin/env bash
# A gate never opens on nothing: every command that judges beside every way in which there is nothing to judge, and beside its
# good twin, which must exit with 0.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 "$source/tests/cli/gate_models.py" "$work" || exit 99

# shut NAME OUTPUT REASON COMMAND...: exit code 1, and a sentence that names the output and the reason.
shut() {
    local name=$1 output=$2 reason=$3
    shift 3
    expect 1 "$name" "$@"
    cat out err | tr -s '\n ' ' ' | grep -qE -- "$output.{0,150}$reason" || {
        fail "$name: no '$output ... $reason'"
        cat out err | head -8
    }
}
# gate COMMAND MODEL INPUTS OPTION...: that command as a gate on this model and input
gate() {
    local command=$1 model=$2 inputs=$3
    shift 3
    case $command in
    audit) "$program" audit "$model" -i "$inputs" -a fp16 -q --no-attribute --fail-above sqnr_db=20 "$@" ;;
    nonfinite) "$program" audit "$model" -i "$inputs" -a fp16 -q --no-attribute --fail-above nonfinite=0 "$@" ;;
    junit)
        "$program" audit "$model" -i "$inputs" -a fp16 -q --no-attribute --fail-above sqnr_db=20 --junit limits.xml "$@" || {
            code=$?
            grep -q '<failure' limits.xml || { echo "limits.xml has no failure"; return 9; }
            return $code
        }
        ;;
    plan) "$program" plan "$model" -i "$inputs" -q --tolerance sqnr_db=20 "$@" ;;
    formats) "$program" quantise "$model" -i "$inputs" -q --formats nvfp4,fp32 --tolerance sqnr_db=20 "$@" ;;
    plan-held) "$program" plan "$model" -i good.npz --validate "$inputs" -q --tolerance sqnr_db=20 "$@" ;;
    formats-held) "$program" quantise "$model" -i good.npz --validate "$inputs" -q --formats nvfp4,fp32 --tolerance sqnr_db=20 "$@" ;;
    diff)
        rm -rf report
        "$program" audit "$model" -i "$inputs" -a fp16 -q --no-attribute -o report >/dev/null &&
            "$program" diff report report --fail-if-worse "$@"
        ;;
    tolerance) "$program" tolerance "$model" -i "$inputs" -a fp16 -q --check atol=1 "$@" ;;
    overflow) "$program" overflow "$model" -i "$inputs" -q --fail-on overflows "$@" ;;
    doctor) "$program" doctor "$model" -i "$inputs" -q "$@" ;;
    fix) "$program" fix "$model" -i "$inputs" -q -o gate.onnx "$@" ;;
    scan) # the second of two
        rm -rf folder
        mkdir folder && cp "${first:-good.npz}" folder/a.npz && cp "$inputs" folder/b.npz &&
            "$program" overflow "$model" -i folder -q --fail-on overflows "$@"
        ;;
    compare)
        rm -f recorded.npz
        "$program" run "$model" -i "$inputs" -a fp16 -q -o recorded.npz &&
            "$program" compare "$model" -i "$inputs" recorded.npz -a fp16 -q "$@"
        ;;
    esac
}
# The doctor says at once why.
undefined() { [ $1 = doctor ] && echo "quotient \(Div\) is (0|a number) / 0" || echo "has no finite element"; }
GATES="audit nonfinite junit plan formats compare diff tolerance overflow doctor fix"
HELD="plan-held formats-held scan"

for command in $GATES $HELD; do
    expect 0 "$command: good" gate $command square.onnx good.npz
    for values in nan inf; do
        shut "$command: $values among the inputs" "input x" "holds NaN or infinity" gate $command square.onnx $values.npz
        expect 0 "$command: $values meant" gate $command square.onnx $values.npz --allow-nonfinite-inputs
    done
    shut "$command: empty batch" "y'?[ :(].*" "has no element to compare" gate $command square.onnx empty.npz
done
for command in $GATES; do
    shut "$command: NaN everywhere" "y'?[ :(].*" "$(undefined $command)" gate $command undefined.onnx good.npz
    shut "$command: infinite everywhere" "y'?[ :(].*" "$(undefined $command)" gate $command infinite.onnx positive.npz
    expect 0 "$command: two outputs" gate $command part.onnx part.npz
    shut "$command: one of two outputs is empty" "e'?[ :(].*" "has no element to compare" gate $command part.onnx part_empty.npz
    expect 0 "$command: decided alike" gate $command decided.onnx far.npz
done
for command in audit nonfinite junit plan formats diff tolerance overflow doctor fix; do
    shut "$command: no output" "" "there is no output to compare" gate $command mute.onnx good.npz
    shut "$command: nothing computes the output" "" "no node computes one" gate $command given.onnx good.npz
done
for command in $GATES; do
    expect 0 "$command: an output beside constants and inputs" gate $command beside.onnx good.npz
done
for command in plan "quantise --formats nvfp4,fp32"; do
    # shellcheck disable=SC2086
    shut "$command: a constant" "output c" "is computed by no node" \
        "$program" $command beside.onnx -i good.npz -q --tolerance c:sqnr_db=20
done

# An output that is itself the decision is not compared with itself.
shut "tolerance: a decision" "output g" "has diverged" gate tolerance decided.onnx near.npz
for command in audit junit; do
    shut "$command: a decision" "output g" "has diverged" gate $command decided.onnx near.npz
    shut "$command: a decision as a number" "output h" "has diverged" gate $command cast.onnx near.npz
    expect 0 "$command: the same, decided alike" gate $command cast.onnx far.npz
done
shut "a decision, by itself" "output g" "has diverged" "$program" audit decided.onnx -i near.npz -a fp16 -q --fail-above g:max_abs=9
expect 0 "beside a decision" "$program" audit decided.onnx -i near.npz -a fp16 -q --fail-above y:sqnr_db=20
# Among samples, too: what one of them has no figure of, others do not stand for.
for bad in empty undefined; do
    rm -rf several && mkdir several && cp good.npz several/a.npz && cp good.npz several/c.npz
    reason="has no element to compare" graph=square.onnx
    if [ $bad = empty ]; then
        cp empty.npz several/b.npz
    else
        cp zero.npz several/b.npz
        reason="has no finite element to compare" graph=ratio.onnx
    fi
    for command in audit nonfinite junit plan formats overflow diff doctor fix; do
        says=$reason
        [ $bad = undefined ] && says=$(undefined $command)
        shut "$command: $bad among samples" "y'?[ :(].*" "$says" gate $command $graph several
    done
    for command in plan-held formats-held; do
        shut "$command: $bad among samples" "y'?[ :(].*" "$reason" gate $command $graph several
    done
    "$program" audit $graph -i several -a fp16 -q --json several.json >out
    fields several.json '" in 1 of 3 samples" in r["lanes"][0]["verdict"]' "the verdict: $bad among samples"
    rm several/b.npz
    for command in audit nonfinite junit plan formats overflow diff doctor fix; do
        expect 0 "$command: $bad among samples, without it" gate $command $graph several
    done
done

# Scales judges what it recommends.
scales() { "$program" quantise "$1.onnx" -i "$2.npz" -a bf16,factor=nvfp4 -q "${@:3}"; }
expect 0 "scales: good" scales gram good
shut "scales: zeros" "" "every product is 0" scales gram zero
expect 0 "scales: infinite gains" scales gram same
grep -q nan out && fail "scales: a gain is not a number"
for values in nan inf; do
    shut "scales: $values among the inputs" "input x" "holds NaN or infinity" scales gram $values
    expect 0 "scales: $values meant" scales gram $values --allow-nonfinite-inputs
done
shut "scales: NaN everywhere" "output q" "has no finite element" scales gram_undefined good
expect 0 "scales: NaN in one of two outputs" scales gram_part good
shut "scales: integers alone" "" "no output has float elements" scales gram_integer good
shut "scales: nothing computes the output" "" "no node computes one" scales gram_given good
expect 1 "scales: empty batch" scales gram empty
expect 0 "scales: another shape" scales gram_shape fractions --json scales.json
fields scales.json 'any(c["words"] == "factor=mxfp4" and c["sqnr_db"] is None for c in r["choices"])' "scales: another shape"
expect 0 "audit: a quote in a name" "$program" audit gram_quoted.onnx -i good.npz -a bf16,factor=nvfp4 -q
keep=$(grep -m 1 -o -- "--keep .*=fp32'" out) && eval "expect 0 'audit: a quote, given' \"$program\" audit gram_quoted.onnx -i good.npz -a bf16,factor=nvfp4 -q $keep" ||
    fail "audit: a quote in a name"
expect 0 "scales: shapes of two inputs" "$program" quantise rms.onnx -a bf16,factor=nvfp4 --shape x=2x8 --shape w=8x8 -q
expect 2 "scales: two shapes" "$program" quantise rms.onnx -a bf16,factor=nvfp4 --shape x=2x8 --shape x=3x8 -q

# A figure of the finite elements says nothing of the one that is not.
shut "audit: one infinite element" "output y" "is not finite where the reference is" gate audit square.onnx big.npz
shut "junit: one infinite element" "output y" "is not finite where the reference is" gate junit square.onnx big.npz
tells 0 "target: one infinite element" '[(o["judged"]["grade"], o["judged"]["sqnr_db"], o["entire"]["nonfinite"]) for l in r["lanes"] if l["name"] == "trt10:fp16" for o in l["outputs"]] == [("broken", None, 1)]' audit square.onnx -i big.npz --for trt10 -q --no-attribute
! grep -E "dB$" out | grep -q "the worst" || fail "target: decibels of an output that is not finite"
tells 0 "target: NaN among the inputs" '[(i["name"], i["count"]) for i in r["nonfinite_inputs"]] == [("x", 1)] and [l["verdict"].split(":")[0] for l in r["lanes"]] == 5 * ["not judged"]' audit square.onnx -i nan.npz --for trt10 -q --no-attribute
shows out "  do    give inputs that are finite" "target: NaN among the inputs"
shut "doctor: one infinite element" "y \\(signal\\)" "1 element is not finite where the reference is" gate doctor square.onnx big.npz
# signal NAME VALUE FILE: the tile of the decibels
signal() {
    local found
    found=$(python3 -c 'import json, sys
report = json.load(open(sys.argv[1]))
said = (report.get("lanes") or report.get("arithmetics") or [report])[0]
print(*[tile["value"] for tile in said["tiles"] if tile["title"] == "Signal to error"])' "$3")
    [[ $found =~ ^$2$ ]] || fail "$1: the tile says '$found'"
}
for values in good big; do
    expect 0 "tiles: audit of $values" "$program" audit square.onnx -i $values.npz -a fp16 -q --no-attribute -o tiles.$values
done
signal "tiles: equal to the reference" "" tiles.good/report.json
signal "tiles: one infinite element" "not finite" tiles.big/report.json
expect 0 "tiles: with a remedy" "$program" audit square.onnx -i big.npz -a fp16 -q --json tiles.json
signal "tiles: with a remedy" "not finite → ([0-9.]+ dB|equal)" tiles.json
expect 0 "tiles: of a plan" "$program" plan square.onnx -i big.npz -q --tolerance sqnr_db=20 --json tiles.json
signal "tiles: of a plan" "not finite → ([0-9.]+ dB|equal)" tiles.json
"$program" diff tiles.good tiles.big --json tiles.json >out
signal "tiles: became infinite" "equal → not finite" tiles.json
"$program" diff tiles.big tiles.good --json tiles.json >out
signal "tiles: became finite" "not finite → equal" tiles.json
shut "doctor: a decision" "output g" "2 of 4 integers differ" gate doctor decided.onnx near.npz

shut "tolerance: one infinite element" "at y" "not every element is finite" gate tolerance square.onnx big.npz
# What overflows in FP64, too, is looked at again in a wider reference.
shut "overflow: beyond FP64" "fp16: overflows at 1 of 2 nodes:" "exp \(Exp\)" gate overflow softplus.onnx x800.npz
shut "overflow: beyond the reference given" "node exp" "is beyond the reference fp64" gate overflow softplus.onnx x800.npz --reference fp64
expect 0 "overflow: no gate" "$program" overflow softplus.onnx -i x800.npz --json said.json
beyond='all(text in %s["verdict"] for text in ("node 0 exp (Exp)", "reach more than 1.8e+308", "FP32 cannot hold that either"))'
fields said.json "r['lanes'][0]['nodes'][0]['outputs'][0]['largest'] > 1.79e308 and $(printf "${beyond/node 0 /}" r)" "overflow: no gate"
tells 0 "audit: no gate" "$(printf "$beyond" 'r["lanes"][0]')" audit softplus.onnx -i x800.npz -a fp16
tells 0 "overflow: NaN meant" '[(n["verdict"], n["outputs"][0]["largest"]) for n in r["lanes"][0]["nodes"]] == [("cannot tell", 0)]' overflow square.onnx -i nan_only.npz --allow-nonfinite-inputs
expect 0 "overflow: within" gate overflow softplus.onnx x5.npz
first=x5.npz shut "scan: beyond FP64" "fp16: overflows at 1 of 2 nodes:" "exp \(Exp\)" gate scan softplus.onnx x800.npz
# What only comparisons read counts as well, where it turns them.
for word in above below; do
    shut "overflow: $word" "fp16,constants=ieee: overflows at 1 of 1 nodes: $word" "3 of its results turn" gate overflow $word.onnx above.npz --format fp16,constants=ieee --json said.json
    fields said.json '[(t["what"], t["turned"]) for t in r["lanes"][0]["remedies"][:2]] == [("as it is", 3), ("keep 1 node in FP32", 0)] and r["lanes"][0]["keep_count"] == 1' "overflow: $word"
    expect 0 "overflow: $word, within" gate overflow $word.onnx within.npz
done
first=within.npz shut "scan: above" "overflows at 1 of 1 nodes: above" "x reaches 3e\+05" gate scan above.onnx above.npz --format fp16,constants=ieee
for values in nan inf; do
    gate overflow square.onnx $values.npz --json said.json >out
    fields said.json "[(u['kind'], u['name'], u['sample']) for u in r['unjudged']] == [('input', 'x', '$values.npz')] and r['lanes'][0]['headline'].startswith('fp16: not judged: input x of $values.npz holds NaN or infinity')" "overflow: $values"
done
# An infinity behind a decision that is open.
shut "audit: behind a decision" "output y" "is not finite where the reference is" gate audit behind.onnx behind.npz
shut "doctor: behind a decision" "broken in fp16" "1 element is not finite" gate doctor behind.onnx behind.npz
# Of an output without an element everything is proven, and nothing.
shut "prove: nothing" "nothing is proven of output y" "has no element" "$program" prove nothing.onnx -i good.npz --fail-on unproven
expect 0 "prove: something" "$program" prove square.onnx -i good.npz --fail-on unproven -q
# Random inputs of which a mask leaves nothing; those that somebody gave are taken as they are.
shut "audit: random, masked" "y'?[ :(].*" "is 0 everywhere in the reference" "$program" audit idle.onnx -a fp16 -q --fail-above sqnr_db=20
shut "plan: random, masked" "output y" "is 0 everywhere in the reference" "$program" plan idle.onnx -q --tolerance sqnr_db=20
shut "fix: random, masked" "output y" "is 0 everywhere in the reference" "$program" fix idle.onnx -a fp16 -q -o mended.onnx
[ ! -e mended.onnx ] || fail "fix: random, masked: a file was written"
shut "tolerance: random, masked" "output y" "is 0 everywhere in the reference" "$program" tolerance idle.onnx -q -a fp16 --check atol=1
expect 0 "audit: given, masked" gate audit idle.onnx good.npz
expect 0 "plan: given, masked" gate plan idle.onnx good.npz
shut "doctor: random, masked" "do +" "give inputs for which output y has something" "$program" doctor idle.onnx -q

# Two reports: what says nothing in both is not equal, and what differs alike is.
expect 0 "diff: a decision, as before" gate diff decided.onnx near.npz
"$program" audit decided.onnx -i far.npz -a fp16 -q --no-attribute -o before >/dev/null
expect 1 "diff: a decision that differs now" "$program" diff before report --fail-if-worse
expect 0 "diff: a decision that differs no more" "$program" diff report before --fail-if-worse

# One infinity of the arithmetic explains that infinity: its place, its sign.
expect 0 "compare: the arithmetic's own" "$program" compare square.onnx -i big.npz as_fp16.npz -a fp16 -q
for file in minus not_a_number elsewhere nothing; do
    shut "compare: $file" "'y'" "[1-8] of its values do not agree with fp16" "$program" compare square.onnx -i big.npz $file.npz -a fp16 -q
done
"$program" compare square.onnx -i big.npz nothing.npz -a fp16 -q --json said.json >out
fields said.json '[v["nonfinite"] for t in r["tensors"] for v in t["values"]] == [8] and "In being finite, infinite or NaN 8 of its values differ" in r["cause"]["text"]' "compare: nothing"
# Of a reference that is NaN in part these elements must be NaN, and no other; nor is what is explained so fine.
tells 1 "compare: NaN in part" '(r["files"][0]["explained"], r["files"][0]["by"]) == (True, "fp16") and r["ill"].startswith("node 0 quotient (Div) is 0 / 0, in the reference already: ") and r["ill"] in r["verdict"]' compare ratio.onnx -i ratio.npz ratio_same.npz -a fp16 -q
for file in more less other; do
    shut "compare: NaN in part, $file" "'y'" "1 of its values do not agree with fp16" \
        "$program" compare ratio.onnx -i ratio.npz ratio_$file.npz -a fp16 -q
done
# Whatever memory ends: one error, or the result.
"$program" run square.onnx -i good.npz -a fp16 -q -o recorded.npz
for memory in {16000..60000..1000}; do
    timeout 20 "$program" compare square.onnx -i good.npz recorded.npz -a fp16 -q --threads 1 --max-memory $memory >/dev/null 2>&1
    case $? in 0 | 5) ;; *) fail "compare within $memory bytes: neither a result nor an error" ;; esac
done
# An output with nothing to compare is no node's fault; what differs beside it is named first.
gate compare undefined.onnx good.npz --json said.json >out
fields said.json 'r["cause"]["kind"] == "unjudged" and not r["cause"]["nodes"]' "compare: NaN everywhere"
tells 1 "compare: wrong, beside nothing" 'r["first_unexplained"] == "y" and "explained" not in r["files"][0]' compare part.onnx -i part_empty.npz part_wrong.npz -a fp16 -q

# Of no element no overflow is promised to stay away.
"$program" overflow square.onnx -i empty.npz >out || fail "overflow: empty batch"
shows out "fp16: not judged: no result has an element" "overflow: empty batch"

# What does not fit into memory is named where nothing is computed, too.
says 5 "lint: no memory" "than the memory limit" lint vast.onnx

# Where there is no figure, no text has a hole or a word of the C library instead.
plain() {
    "$@" >out 2>&1
    [ $? -le 1 ] || { fail "plain: $*"; head -5 out; }
    grep -nE '\(null\)|(^|[ (=-])-?nan([ ,.)]|$)|at most inf' out && fail "plain: $*"
}
for pair in "undefined.onnx good.npz" "infinite.onnx positive.npz" "square.onnx empty.npz" "mute.onnx good.npz" \
    "given.onnx good.npz" constant.onnx bare.onnx; do
    given=(${pair/ / -i })
    plain "$program" audit "${given[@]}" -a fp16 -o figures
    plain "$program" show figures
    plain "$program" diff figures figures
    plain "$program" overflow "${given[@]}"
    [ "${pair#* }" = empty.npz ] || plain "$program" prove "${given[@]}" -a fp16
    plain "$program" plan "${given[@]}" --tolerance sqnr_db=20
    plain "$program" quantise "${given[@]}" --formats nvfp4,fp32 --tolerance sqnr_db=20
    plain "$program" tolerance "${given[@]}" -a fp16 --trials 2
    plain "$program" lint "${given[0]}"
    plain "$program" doctor "${given[@]}" -o diagnosis --html diagnosis.html
done
# A constant that the format does not hold is no mask where it is an output.
"$program" audit handed.onnx -a fp16 -q --json said.json >out
fields said.json '[(c["name"], c["largest"], c["overflowed"]) for c in r["lanes"][0]["constants"]] == [("c", 1e10, 1)] and "by constant c, which reaches 1e+10" in r["lanes"][0]["verdict"]' "audit: a constant handed on"
tells 1 "overflow: a constant handed on" '[(o["cause"], o["culprit"]) for n in r["lanes"][0]["nodes"] for o in n["outputs"]] == [("constant", "c")] and [(t["what"], t["output"]) for t in r["lanes"][0]["remedies"] if t["sqnr_db"] is None] == [("keep 1 node in FP32", "y")]' overflow handed.onnx --fail-on overflows
rm -rf done && expect 0 "audit: constants alone" "$program" audit constant.onnx -a fp16 -q --checkpoint done
expect 0 "merge: constants alone" "$program" audit --merge done
rm -rf done mixed && mkdir mixed && cp good.npz nan.npz mixed
expect 0 "a shard with NaN" "$program" audit square.onnx -i mixed -a fp16 -q --shard 1/1 --checkpoint done --fail-above sqnr_db=20
shut "merge: NaN among the inputs" "input x" "holds NaN or infinity" "$program" audit --merge done
expect 0 "merge: NaN meant" "$program" audit --merge done --allow-nonfinite-inputs
tells 0 "audit: no inputs" 'r["sample_names"] == ["no inputs"]' audit constant.onnx -a fp16
grep -q "no --inputs" err && fail "audit: inputs of none are drawn: $(cat err)"
says 1 "fix: one node" "with its one node in FP32" fix square.onnx -i big.npz -a fp16 -o fixed.onnx
"$program" prove constant.onnx --json said.json >out
fields said.json 'not r["inputs"] and "for every" not in r["verdict"]' "prove: every of no inputs"
"$program" run constant.onnx -a fp16 -q -o constant.npz
says 3 "compare: constants alone" "no node computes an output of the graph" compare constant.onnx constant.npz -a fp16
# No tolerance holds for an infinity: none is recommended.
"$program" tolerance square.onnx -i big.npz -a fp16 --trials 2 --json said.json >out
fields said.json '[o["atol"] for o in r["outputs"]] == [None] and "--atol" not in r["verdict"]' "tolerance: recommended where none holds"

# Plans that keep nothing by mistake.
layer() { printf '{"Layers": [{"Name": "embed/MatMul", "LayerType": "gemm", "Inputs": [{"Name": "i", "Dimensions": [1], "Format/Datatype": "%s"}], "Outputs": [{"Name": "o", "Dimensions": [1], "Format/Datatype": "%s"}], "TacticName": "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tensor16x8x16"}]}' "$1" "$1"; }
layer Float >layers.json
obeyed() { "$program" engine "$model" layers.json -q --fail-on disobeyed "$@"; }
echo '{"arithmetic": "fp16", "keep": [{"nodes": "embed/MatMul", "arithmetic": "fp32"}]}' >good.json
echo '{"arithmetic": "fp16"}' >no_keep.json
echo '{"arithmetic": "fp16", "Keep": [{"nodes": "embed/MatMul", "arithmetic": "fp32"}]}' >typo.json
echo '{"arithmetic": "fp16", "keep": [{"node": "embed/MatMul", "arithmetic": "fp32"}]}' >typo_inside.json
echo '{"arithmetic": "fp16", "keep": [{"nodes": [], "arithmetic": "fp32"}]}' >no_nodes.json
echo '{"arithmetic": "fp16", "keep": ["embed/MatMul"]}' >no_object.json
echo '{"arithmetic": "fp16", "keep": []}' >nothing.json
expect 0 "engine: a plan obeyed" obeyed --plan good.json
for plan in no_keep typo typo_inside no_nodes no_object; do
    expect 3 "engine: plan $plan" obeyed --plan $plan.json
    lines err 1 "engine: plan $plan"
    expect 3 "audit: plan $plan" "$program" audit "$model" -i "$inputs" --plan $plan.json -q
done
expect 2 "engine: a plan that keeps nothing" obeyed --plan nothing.json
expect 2 "engine: nothing to obey" obeyed
expect 2 "engine: two engines" obeyed layers.json
expect 0 "engine: precisions obeyed" obeyed --layer-precisions embed/MatMul:fp32

# A plan whose draws were not all made when the time was over is not known to hold.
sixty() { "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=60 -q "$@"; }
expect 1 "plan: no time" sixty --stop-after 0.001 --json plan.json
fields plan.json 'r["timed_out"] and not r["targets"] and not r.get("met") and not any(text in r["verdict"] for text in ("No plan meets", "Without any single"))' "plan: no time"
# Where the samples meet it with nothing kept, and no draw spoke against that, that is the best so far.
tells 1 "plan: no time for nothing" 'r["timed_out"] and not r["kept"] and not r.get("met")' plan "$model" -i "$inputs" -q --tolerance max_abs=100 --stop-after 0.001
for seconds in 0.02 0.04 0.08 0.16 0.32; do
    sixty --stop-after $seconds --json plan.json >out
    code=$?
    fields plan.json "(r.get('timed_out', False) and $code == 1) or [(t['held_count'], t['draw_count']) for t in r['targets']] == [(50, 50)]" "plan: in $seconds s"
done
expect 0 "plan: as documented" sixty
while IFS= read -r line; do
    [ -n "$line" ] || break # a table follows
    grep -qxF "    $line" "$source/doc/plan.md" || fail "doc/plan.md does not have: $line"
done <out
tells 1 "plan: nothing allowed" 'r["full"] is None and not r.get("met")' plan "$model" -i "$inputs" --tolerance max_abs=0 -q
# What the target does with nothing kept is said as it fuses, beside the figure node by node.
tells 0 "plan: as it fuses" '"inferred" in r["targets"][0]["rests_on"]' plan "$model" -i "$inputs" --for trt11 -q
expect 0 "audit: as it fuses" "$program" audit "$model" -i "$inputs" -a trt11:fp16,trt11:fp16,fuse=none --no-attribute -q --json audit.json
python <<'END' || fail "plan: as it fuses"
plan, audit = (json.load(open(f"{name}.json")) for name in ("told", "audit"))
fused, alone = (lane["outputs"][0]["entire"]["sqnr_db"] for lane in audit["lanes"])
said = plan["targets"][0]["fused_sample"]["value"], plan["before_samples"][0]["value"]
assert all(abs(x - y) < 1e-9 for x, y in zip(said, (fused, alone))) and fused > 40 > alone, (said, fused, alone)  # sums of squares in another order
END

# The value of a shell's variable that is not set.
empty() {
    local name=$1
    shift
    expect 2 "empty: $name" "$@"
    shows err "the value is empty" "empty: $name"
}
empty layer-precisions obeyed --layer-precisions ""
empty lint "$program" lint "$model" --layer-precisions ""
empty plan obeyed --plan=
for option in --html --out -o; do
    says 2 "standard output: $option" "standard output takes JSON or Markdown alone" plan "$model" $option -
done
for option in --fail-above --keep --plan --arith --reference --out --html --inputs; do
    empty "audit $option" "$program" audit "$model" -i "$inputs" $option ""
    empty "audit $option=" "$program" audit "$model" -i "$inputs" $option=
done
for command in plan tolerance overflow compare prove run; do
    empty "$command -i" "$program" $command "$model" -i ""
done
empty "diff --factor" "$program" diff a b --factor ""
expect 2 "empty: a path" "$program" audit ""

# The lint is a gate by itself.
wrong=(--layer-precisions block/norm9:fp32)
tells 1 "lint: an error" 'r["counts"]["error"] == 1' lint "$model" "${wrong[@]}"
expect 0 "lint: no error" "$program" lint "$model"
expect 0 "lint: an error, and no gate" "$program" lint "$model" "${wrong[@]}" --fail-on none
expect 1 "lint: a note" "$program" lint "$model" --fail-on note -q
[ "$(awk 'BEGIN { RS = "" } END { print NR }' out)" = 2 ] || fail "lint: the verdict alone: more than it and the gate"
exit $failed
