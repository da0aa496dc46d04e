#!/usr/bin/env bash
# The program as a user meets it: exit codes, one-line errors, help, files written whole.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# A checksum of an npz's members, without the zip's times.
unzip_sum() { python3 -c 'import sys, zipfile, zlib
z = zipfile.ZipFile(sys.argv[1]); print([(n, zlib.crc32(z.read(n))) for n in z.namelist()])' "$1" | cksum; }

says 0 version "ulpscope $(cat "$source/VERSION")" --version
expect 0 help "$program" --help
for command in audit demo run compare extract plan lint tolerance show diff overflow list mma; do
    says 0 "help of $command" Examples $command --help
    shows <("$program" --help=all) "$command" "help names $command"
done
expect 2 "no command" "$program"
expect 2 "unknown command" "$program" frobnicate
lines err 1 "unknown command"
"$program" adit model.onnx 2>&1 | grep -q "no command 'adit' (did you mean \"audit\"" || fail "a command that is near is not named"
"$program" plan --tolernce 60 "$model" 2>&1 | grep -q "no option '--tolernce' (did you mean \"--tolerance\"" || fail "an option that is near is not named"
expect 2 "unknown option" "$program" plan --tolernce=60 "$model"
expect 0 "an option cut short" "$program" audit --he
expect 2 "no model" "$program" audit
expect 2 "unknown arithmetic" "$program" audit "$model" --arith fp17
lines err 3 "unknown arithmetic"
expect 2 "bad limit" "$program" audit "$model" --fail-above rmz=3
"$program" audit "$model" --fail-above sqnr=40 2>&1 | grep -q '(did you mean "sqnr_db"' || fail "a metric that is near is not named"
expect 0 "atol" "$program" audit "$model" -i "$inputs" -a fp32 -q --fail-above atol=10 --fail-above rtol=1e9
expect 2 "bad dim" "$program" audit "$model" --dim batch
says 3 "missing model" nowhere.onnx audit nowhere.onnx
lines err 1 "missing model"
head -c 1000 "$model" >cut.onnx
expect 3 "cut model" "$program" run cut.onnx
lines err 1 "cut model"
expect 3 "missing inputs" "$program" audit "$model" -i nowhere.npz
cp "$model" wrong.npz
expect 3 "inputs are no npz" "$program" run "$model" -i wrong.npz
says 5 "memory limit" max-memory run "$model" -i "$inputs" --max-memory 1K

expect 0 run "$program" run "$model" -i "$inputs" -o out.npz --quiet
[ -s out.npz ] || { echo "FAIL run: no out.npz"; failed=1; }
expect 0 tolerance "$program" tolerance "$model" -i "$inputs" -a bf16 --json tolerance.json -q
fields tolerance.json 'r["arithmetic"] == "bf16" and [(o["name"], 0 < o["max_abs"] <= o["atol"]) for o in r["outputs"]] == [("logits", True)]' tolerance
expect 1 "a tolerance that is too tight" "$program" tolerance "$model" -i "$inputs" -a bf16 --check atol=1e-9 -q
expect 0 "a wide tolerance" "$program" tolerance "$model" -i "$inputs" -a bf16 --check atol=1e9,rtol=0 -q
tells 0 "a mixed tolerance" 'r["arithmetic"] == "bf16,keep=*=fp32"' tolerance "$model" -i "$inputs" -a bf16 --keep '*=fp32' --check atol=1e-4 -q
expect 2 "two tolerances" "$program" tolerance "$model" -i "$inputs" -a bf16,fp16
lines err 1 "two tolerances"
expect 2 "no tolerance" "$program" tolerance "$model" --check 1e-5
says 0 "the arithmetics of a runtime" "tf32@a100" audit "$model" -i "$inputs" --for trt@a100 -q
shows out "assumed: FP16 kernels add products in FP16" "the arithmetics of a runtime"
shows out " dB  adds in FP32" "the arithmetics of a runtime"
# One verdict over the target, of verdicts that are those of report.json; the report is of the worst, with --all of each.
cat >target.py <<'END'
import json, re, sys
text, report, every = open(sys.argv[1]).read(), json.load(open(sys.argv[2])), sys.argv[3:] == ['all']
lanes = {lane['name']: re.match('fine|borderline|broken|not judged|no output', lane['headline'][len(lane['name']) + 2:])[0] for lane in report['lanes']}
rows = {row[3]: row for row in re.findall(r'^ *((-|not finite|[0-9.-]+)) +(fine|borderline|broken|not judged) +(\S+)$', text, re.M)}
headlines = [name for name in lanes if re.search('^' + re.escape(name) + ': ', text, re.M)]
if every:
    assert not rows and headlines == list(lanes), (rows, headlines)
    sys.exit()
assert {name: row[2] for name, row in rows.items()} == {name: grade.replace('no output', 'not judged') for name, grade in lanes.items()}, (rows, lanes)
order = ['fine', 'not judged', 'borderline', 'broken'].index
as_is, said, why = text.splitlines()[:3]
assert re.fullmatch(r'trt10@a100: fine as the graph is, in trt10:tf32@a100', as_is) and rows['trt10:tf32@a100'][2] == 'fine', as_is
grades = [row[2] for name, row in rows.items() if ':fp16' in name]
most, head = max(grades, key=order), '  if you convert it to FP16: '
assert said == head + (f'fine in each of its {len(grades)} arithmetics' if most == 'fine' else f'{most} in {grades.count(most)} of its {len(grades)} arithmetics'), said
most = max((row[2] for row in rows.values()), key=order)
worst = re.match('  why   the worst is ([^ ]+): ', why)[1]
assert headlines == [worst] and rows[worst][2] == most, (worst, headlines)
judged = {lane['name']: {output['name']: output for output in lane['outputs']} for lane in report['lanes']}
for name, (decibels, *_) in rows.items():
    outputs = judged[name].values()
    if decibels == 'not finite':
        assert any(output['entire']['nonfinite'] for output in outputs), name
    elif decibels != '-':
        assert any(f"{output['judged']['sqnr_db']:.1f}" == decibels and not output['entire']['nonfinite'] for output in outputs if output['judged']['sqnr_db'] is not None), (name, decibels)
END
target() { # NAME ARGUMENT...
    local name=$1
    shift
    expect 0 "$name" "$program" audit "$@" -q --no-attribute --json target.json
    python3 target.py out target.json || fail "$name: $(cat out)"
    expect 0 "$name, all" "$program" audit "$@" -q --no-attribute --all --json target.json
    python3 target.py out target.json all || fail "$name, all: $(cat out)"
}
target "one verdict over a target" "$model" -i "$inputs" --for trt10@a100
expect 2 "all of no target" "$program" audit "$model" -i "$inputs" -a fp16 --all
for runtime in torch ort trt8 trt10 trt11 trt-rtx torch-compile@a100 ort-cuda ort-webgpu ort-dml openvino-cpu openvino-gpu coreml-gpu ort-coreml qnn; do
    says 0 "the arithmetics of $runtime" "assumed: " audit "$model" -i "$inputs" --for $runtime -q --no-attribute
done
layer=$(printf '{"Name": "%s", "LayerType": "gemm", "Inputs": [{"Name": "i", "Dimensions": [1], "Format/Datatype": "Half"}], "Outputs": [{"Name": "o", "Dimensions": [1], "Format/Datatype": "Half"}], "TacticName": "sm80_xmma_gemm_f16f16_f16f16_f16_nn_n_tensor16x8x16"}' embed/MatMul)
echo "{\"Layers\": [$layer]}" >layers.json
says 0 "a runtime beside its engine" " dB  the engine" audit "$model" -i "$inputs" --for trt --engine layers.json -q --no-attribute
says 1 "a layer that ran otherwise" "not obeyed" engine "$model" layers.json --layer-precisions embed/MatMul:fp32 --fail-on disobeyed
expect 2 "nothing to obey" "$program" engine "$model" layers.json --fail-on disobeyed
lines err 1 "nothing to obey"
says 2 "no such runtime's arithmetics" "known: trt8, trt10, trt11 (trt), trt-rtx, torch, torch-compile, ort, ort-cuda, ort-webgpu, ort-dml, openvino-cpu, openvino-gpu, coreml-ane, coreml-gpu, ort-coreml, qnn, rknn, tflite; @GPU may follow" audit "$model" --for tensorrt
for command in audit doctor fix lint plan; do # in help, and so in completions, are those that the table has
    for target in $(sed -n 's/.*known: \(.*\); @GPU.*/\1/p' err | tr -d '(),'); do
        [ $command-$target != plan-ort ] || continue # quantized as a whole, no arithmetic of each node
        "$program" $command --help=all | grep -A5 -e '--for=TARGET' | tr -s ' \n' ' ' | grep -qE -- "[ (]$target[ ,:;]" || fail "$command --help does not list the target $target"
    done
done
says 2 "a plan for no target" "known: trt8" plan "$model" -i "$inputs" --for trt9 --tolerance sqnr_db=40
expect 2 "a plan for a target and an arithmetic" "$program" plan "$model" -i "$inputs" --for trt -a fp16 --tolerance sqnr_db=40
says 0 "a plan for a target" "torch:fp16@a100 then meets" plan "$model" -i "$inputs" --for torch@a100 --tolerance sqnr_db=30 -q
expect 2 "a runtime and arithmetics" "$program" audit "$model" --for trt -a fp16
says 0 "a target explained" "  product     TensorRT 11; the newest: also called trt." list trt
shows out "  documented  batchnorm=folded (onnx-tensorrt" "a target explained"
shows out "trt11:fp16 stands for" "a target explained"
says 0 "what a runtime's name stands on" "  inferred    acc=fp16 (layer informations" list trt:fp16
says 0 "rules of operators" "  recorded    CumSum: every step and sum" list fp16,steps=ort-cuda
echo '{"groups": [{"nodes": ["embed/MatMul", "head/Gem"]}]}' >groups.json
echo '{"groups": [{"nodes": ["embed/MatMul", "embed/Add"]}]}' >one.json
says 0 "groups of a file" "fp16,acc=fp16,fuse=one.json" audit "$model" -i "$inputs" -a fp16,fuse=./one.json,acc=fp16,fp16 -q
shows out "fused: 2 of 40 nodes in 1 kernel" "groups of a file"
says 2 "a group of an unknown node" "no node is called 'head/Gem' (did you mean" audit "$model" -i "$inputs" -a fp16,fuse=groups.json -q
expect 3 "no file of groups" "$program" run "$model" -i "$inputs" -a fp16,fuse=nowhere.json -o out.npz
says 2 "groups without a file" "fuse=groups.json" run "$model" -i "$inputs" -a fp16,fuse=groups -o out.npz
expect 2 "a negative tolerance" "$program" tolerance "$model" --check atol=-1
python tolerance.json <<'END' || fail "tolerance.json"
output, = json.load(open(sys.argv[1]))['outputs']
assert output['name'] == 'logits' and 1.5 * output['max_abs'] <= output['atol'] <= 1.65 * output['max_abs']
assert all(abs(e['error']) <= e['bound'] and e['random'] <= e['bound'] for e in output['elements'])
END
expect 2 "a file of --list" "$program" lint --list --json "$work/list.json"
expect 0 "rules of the lint" "$program" lint --list
for rule in $(cut -d" " -f1 out); do
    sed -n '/^## Rules/,$p' "$source/doc/lint.md" | grep -q "^| \`$rule\` |" || fail "the rules of doc/lint.md lack $rule"
done
says 0 "a rule explained" "Read the value before the first Cast" lint --explain cast-down-up
expect 2 "no such rule" "$program" lint --explain cast
lines err 1 "no such rule"
expect 2 "no model to lint" "$program" lint
says 2 "no such target" "known: trt8" lint "$model" --for trt9
expect 0 "lint for the newest" "$program" lint "$model" --for trt --for torch-compile --json lint.json --fail-on none
shows lint.json '"trt11",' "lint for the newest"
says 2 "options trtexec refuses" "it is called fp16" lint "$model" --layer-precisions "a:half"
expect 3 "lint of nothing" "$program" lint nowhere.onnx
says 1 lint "errors" lint "$model" --layer-precisions "block/norm1/Su:fp32,*:fp16,*:fp32" --json lint.json --sarif lint.sarif
shows out "did you mean" lint
says 1 "lint that fails" "FAIL --fail-on error" lint "$model" --layer-precisions "block/norm9:fp32" --fail-on error
expect 0 "lint that never fails" "$program" lint "$model" --layer-precisions "block/norm9:fp32" --fail-on none -q
lines out 8 "lint that never fails"
expect 0 "lint that does not fail" "$program" lint "$model" --fail-on error
expect 2 "lint over the model" "$program" lint "$model" --json "$model"
# The objects and properties of SARIF 2.1.0 that are used, from the standard's schema (all closed but property bags).
python lint.json lint.sarif <<'END' || fail "lint.json and lint.sarif"
found, log = (json.load(open(name)) for name in sys.argv[1:])
def only(thing, needed, allowed=''):
    keys = set(thing)
    assert set(needed.split()) <= keys <= set((needed + ' ' + allowed).split()), (keys, needed)
only(found, 'schema ulpscope verdict headline tiles why do model_path targets node_count counts places findings notes seconds', 'assumed unplanned')
only(log, 'version runs', '$schema')
assert log['version'] == '2.1.0' and len(log['runs']) == 1
run = log['runs'][0]
only(run, 'tool results')
only(run['tool'], 'driver')
driver = run['tool']['driver']
only(driver, 'name', 'version rules')
assert len({rule['id'] for rule in driver['rules']}) == len(driver['rules'])
levels = ('none', 'note', 'warning', 'error')
for rule in driver['rules']:
    only(rule, 'id', 'shortDescription fullDescription help defaultConfiguration properties')
    only(rule['defaultConfiguration'], 'level')
    assert rule['defaultConfiguration']['level'] in levels
    for text in (rule['shortDescription'], rule['fullDescription'], rule['help']):
        only(text, 'text')
assert len(run['results']) == len(found['findings']) == sum(found['counts'].values()) > 2
for result, finding in zip(run['results'], found['findings']):
    only(result, 'ruleId ruleIndex level message locations')
    only(finding, 'rule severity text what why fix', 'node op value')
    assert driver['rules'][result['ruleIndex']]['id'] == result['ruleId'] == finding['rule']
    assert result['level'] == finding['severity'] in levels
    only(result['message'], 'text')
    for place in result['locations']:
        only(place, 'physicalLocation', 'logicalLocations')
        only(place['physicalLocation'], 'artifactLocation')
        only(place['physicalLocation']['artifactLocation'], 'uri')
        for logical in place.get('logicalLocations', []):
            only(logical, 'name', 'kind')
END
python3 "$source/tests/support/sarif.py" lint.sarif || [ $? -eq 77 ] || fail "lint.sarif by sarif_om"
expect 0 "outputs as Polygraphy writes them" "$program" run "$model" -i "$inputs" -o out.json --quiet
shows out.json '"polygraphy_class": "RunResults"' "outputs as Polygraphy writes them"
expect 3 "outputs in no folder" "$program" run "$model" -i "$inputs" --outputs nowhere/out.npz
expect 3 "outputs to a folder" "$program" run "$model" -i "$inputs" --outputs .
says 0 "run prints" "logits FLOAT[4,10]" run "$model" -i "$inputs" --quiet
says 0 "random inputs" "logits FLOAT[3,10]" run "$model" --dim batch=3 --seed 5 --val-range 0,255

expect 0 "a range of one input" "$program" audit "$model" --val-range patches=-2,2 --val-range 0,9 -a fp32
shows err "patches in [-2, 2]" "a range of one input"
says 2 "a range of no input" "there are: patches" run "$model" --val-range patch=0,1
expect 2 "a bad range" "$program" run "$model" --val-range patches=1,0
says 0 "a shape" "logits FLOAT[5,10]" run "$model" --shape patches=5x16x4 --quiet
expect 2 "a shape of no input" "$program" run "$model" --shape patch=1x16x4
expect 2 "a shape of another rank" "$program" run "$model" --shape patches=16x4
expect 2 "no shape" "$program" run "$model" --shape patches=1x16xx4
says 2 "two shapes of an input" "run the command for each of patches's" audit "$model" --shape patches=1x16x4 --shape patches=2x16x4
expect 2 "a shape of given inputs" "$program" run "$model" -i "$inputs" --shape patches=1x16x4
expect 3 "a shape that the graph does not take" "$program" run "$model" --shape patches=1x15x4 -q
lines err 1 "a shape that the graph does not take"
if command -v python3 >/dev/null; then
    python3 -c 'import sys, zipfile
zipfile.ZipFile("other_name.npz", "w").writestr("patch.npy", zipfile.ZipFile(sys.argv[1]).read("patches.npy"))' "$inputs"
    says 3 "an array of another name" "other_name.npz: input 'patches'" run "$model" -i other_name.npz
fi

# Equal bits for every instruction set and any number of threads, over the whole network.
for arith in fp32 fp16 fp16-strict tf32 bf16-strict mpfr:128; do
    for setting in "" avx512 avx512,avx2; do
        for threads in 1 2 7; do
            ULPSCOPE_DISABLE_CPU=$setting "$program" run "$model" -i "$inputs" -a $arith -t $threads --all-values --outputs "isa.npz" --quiet ||
                { echo "FAIL $arith without '$setting'"; failed=1; }
            sum=$(unzip_sum isa.npz)
            [ -n "${first:-}" ] || first=$sum
            [ "$sum" = "$first" ] || { echo "FAIL $arith: bits differ without '$setting', $threads threads"; failed=1; }
        done
    done
    first=
done

says 0 audit "block/norm1/Sum" audit "$model" -i "$inputs" -a fp32,fp16,tf32 -o report --certify
shows out "digits on the outputs" "audit certifies"
shows report/summary.txt "block/norm1/Sum" "summary.txt"
[ -s report/report.json ] && [ -s report/layers.csv ] || { echo "FAIL audit: report files are missing"; failed=1; }
[ "$(find report -type f | wc -l)" -eq 3 ] || { echo "FAIL audit: something was left beside the report"; failed=1; }
if [ "$(awk '{ if (length($0) > 100 && $2 != "ulpscope") print }' report/summary.txt | wc -l)" -ne 0 ]; then echo "FAIL summary is wider than 100 columns"; failed=1; fi
shows out "  do    ulpscope audit $model -i $inputs -a fp16 --keep 'block/norm1/Sum=fp32' --keep 'block/norm1/Variance=fp32'" "what to try"
shows report/report.json "Try ulpscope audit $model -i $inputs -a fp16 --keep 'block/norm1/Sum=fp32'" "what to try in report.json"

expect 0 overflow "$program" overflow "$model" -i "$inputs" -o overflow
fields overflow/overflow.json '[n["name"] for n in r["lanes"][0]["nodes"] if n["verdict"] == "overflows"][0] == "block/norm1/Sum"' "what overflows"
fields overflow/overflow.json '{x["what"]: x["sqnr_db"] > 60 for x in r["lanes"][0]["remedies"]}.items() >= {"as it is": False, "keep 2 nodes in FP32": True}.items()' "remedies are tried"
awk 'length($0) > 100' out | grep -v -e --keep && fail "overflow has lines of more than 100 columns"
expect 1 "overflow --fail-on" "$program" overflow "$model" -i "$inputs" --fail-on overflows --no-remedies
expect 0 "overflow of bf16" "$program" overflow "$model" -i "$inputs" -f bf16 --fail-on 3bits
expect 2 "bad --fail-on" "$program" overflow "$model" --fail-on 2bits
expect 0 "what was to try" "$program" audit "$model" -i "$inputs" -a fp16 --keep '...norm1/Sum=fp32' --keep 'block/norm1/Variance=fp32' --fail-above nonfinite=0 --fail-above sqnr_db=40
expect 0 "shares of the error" "$program" audit "$model" -i "$inputs" -a tf32,fp16 --attribute --verify 2 -o shares
fields shares/report.json 'all(abs(v["held"] / v["share"] - 1) < .1 for v in r["lanes"][0]["attribution"]["verified"]) and len(r["lanes"][0]["attribution"]["verified"]) > 1' "what --verify found"
fields shares/report.json 'len(r["lanes"][1]["remedy"]["nodes"]) == 2 and 60 < r["lanes"][1]["remedy"]["sqnr_db"] < 70' "what keeping these nodes gives where an arithmetic overflows"
fields shares/report.json 'all(l["attribution"]["residual"] < .1 and any(n["causes"] for n in l["nodes"]) for l in r["lanes"])' "the sum of shares, and their causes"
says 0 "shares by cause" "rounding of inputs: factors of products, Casts" audit "$model" -i "$inputs" -a tf32 --group-by cause
expect 2 "an output there is not" "$program" audit "$model" -i "$inputs" --attribute --output nothing
expect 2 "--output without shares" "$program" audit "$model" -i "$inputs" --output logits --no-attribute
tells 1 "limit crossed" '[(l["limit"], c["arithmetic"], c["output"]) for l in r["limits"] for c in l["crossings"]] == [("nonfinite=0", "fp16", "block/norm1/Sum_out")]' audit "$model" -i "$inputs" --arith fp16 --fail-above nonfinite=0 -q
expect 1 "one of two limits crossed" "$program" audit "$model" -i "$inputs" --arith fp16 --fail-above rms=1e300 --fail-above sqnr_db=40
tells 1 "limit crossed at an output" '[(c["output"], c["text"].endswith(", limit 40")) for l in r["limits"] for c in l["crossings"]] == [("logits", True)]' audit "$model" -i "$inputs" --arith fp16 --fail-above sqnr_db=40 -q
tells 1 "fine, but for the limit" '"and crosses the limit sqnr_db=90" in r["lanes"][0]["verdict"] and r["lanes"][0]["do"] != "nothing"' audit "$model" -i "$inputs" --arith tf32 --fail-above tf32:sqnr_db=90 -q
says 1 "nothing to compare" "no element to compare" audit "$model" --dim batch=0 --arith fp32 --fail-above nonfinite=0
if command -v python3 >/dev/null; then
    python3 -c 'import struct, sys, zipfile
array = zipfile.ZipFile(sys.argv[1]).read("patches.npy")
zipfile.ZipFile("nan.npz", "w").writestr("patches.npy", array[:128] + struct.pack("<f", float("nan")) + array[132:])' "$inputs"
    says 1 "NaN in an input" "NaN or infinity" audit "$model" -i nan.npz --arith fp32 --fail-above nonfinite=0 -o nan_report
    shows out "--allow-nonfinite-inputs" "NaN in an input"
    shows nan_report/report.json '"count": 1' "NaN in an input"
    says 0 "NaN in an input without a limit" "NaN or infinity in input" audit "$model" -i nan.npz --arith fp32
fi
expect 0 "two --arith" "$program" audit "$model" -i "$inputs" -a fp32 -a tf32,bf16 -o two_report
grep -c '^   "name": "\(fp32\|tf32\|bf16\)"' two_report/report.json | grep -qx 6 || fail "one --arith drops another"
expect 2 "one arithmetic in two --arith" "$program" audit "$model" -i "$inputs" -a fp32 -a fp32
expect 2 "two arithmetics for run" "$program" run "$model" -i "$inputs" -a fp32 -a fp16
expect 0 "limit kept" "$program" audit "$model" -i "$inputs" --arith fp32 --fail-above nonfinite=0 --fail-above sqnr_db=60

expect 1 "limits of one output and arithmetic" "$program" audit "$model" -i "$inputs" -a fp16,fp32 -q --fail-above fp16:logits:sqnr_db=40 --fail-above fp32:sqnr_db=60 \
    --fail-above diverged=0 --fail-above outputs.nonfinite=0 --junit limits.xml --json crossed.json
fields crossed.json '[(l["limit"], [c["output"] for c in l["crossings"]]) for l in r["limits"] if l["crossings"]] == [("fp16:logits:sqnr_db=40", ["logits"])]' "limits of one output and arithmetic"
shows limits.xml 'tests="4" failures="1"' "limits as XML"
expect 0 "limits as XML are XML" python3 -c 'import xml.etree.ElementTree as e; assert len(e.parse("limits.xml").getroot().findall("testcase/failure")) == 1'
says 2 "a limit of no output" "outputs: logits" audit "$model" -i "$inputs" -a fp16 -q --fail-above fp16:logit:sqnr_db=40
lines err 1 "a limit of no output"
expect 2 "a limit of no arithmetic" "$program" audit "$model" -i "$inputs" -a fp16 -q --fail-above bf16:sqnr_db=40
expect 2 "XML of no limits" "$program" audit "$model" -i "$inputs" -a fp16 -q --junit limits.xml

# Nodes kept in another arithmetic.
says 0 "nodes kept" "fp16,keep=block/norm1/Sum=fp32,keep=#6-8=fp32" audit "$model" -i "$inputs" -a fp16 --keep 'block/norm1/Sum=fp32' --keep '#6-8=fp32' -o kept_report -q
shows out "cross" "the borders"
shows kept_report/report.json '"borders"' "the borders in report.json"
shows kept_report/report.json '"arithmetic": "fp32"' "kept nodes in report.json"
shows kept_report/layers.csv '"fp16,keep=block/norm1/Sum=fp32,keep=#6-8=fp32"' "what is kept in layers.csv"
echo '{"arithmetic": "fp16", "keep": [{"nodes": ["op:Softmax", "between:block/norm1/Sum,block/norm1/Sqrt"], "arithmetic": "fp32"}]}' >plan.json
says 0 "a plan" "fp16,keep=plan.json,keep=op:Gemm=bf16" audit "$model" -i "$inputs" --plan plan.json --keep 'op:Gemm=bf16' -q
expect 0 "a plan beside arithmetics" "$program" audit "$model" -i "$inputs" -a fp16,tf32 --plan plan.json --fail-above rms=1e300 -q -o kept_report
grep -c '^   "name": "\(fp16\|tf32\|fp16,keep=plan.json\)"' kept_report/report.json | grep -qx 6 || fail "a plan drops an arithmetic"
expect 0 "run with nodes kept" "$program" run "$model" -i "$inputs" -a fp16 --keep 'before:block/norm1/Sum=fp32'
shows err "border: " "run lists borders"
expect 0 "run with a plan" "$program" run "$model" -i "$inputs" --plan plan.json -o kept.npz
expect 0 "all nodes kept" "$program" run "$model" -i "$inputs" -a fp16 --keep '*=fp32' --all-values -o kept.npz -q
expect 0 "no node kept" "$program" run "$model" -i "$inputs" -a fp32 --all-values -o whole.npz -q
[ "$(unzip_sum kept.npz)" = "$(unzip_sum whole.npz)" ] || fail "all nodes kept in fp32 are not fp32"
says 2 "a name near another" 'did you mean "block/norm1/Sum"' audit "$model" -i "$inputs" -a fp16 --keep 'block/norm1/Suum=fp32'
lines err 1 "a name near another"
says 2 "a value's name" "it is a value, of node" run "$model" -i "$inputs" -a fp16 --keep 'logits=fp32'
for keep in 'op:Sofmax=fp32' 'before:nothing=fp32' 'after:nothing=fp32' 'between:block/norm1/Sum=fp32' '#4000=fp32' '#7-5=fp32' 'op:Softmax' '=fp32' 'op:Softmax=fp17'; do
    expect 2 "--keep $keep" "$program" audit "$model" -i "$inputs" -a fp16 --keep "$keep"
done
expect 3 "no such plan" "$program" audit "$model" -i "$inputs" --plan nowhere.json
echo '{"keep": []}' >no.json
says 3 "a plan without an arithmetic" no.json audit "$model" -i "$inputs" --plan no.json

# A plan that is found is one that --plan takes, and keeps what it promises.
expect 0 "a plan is found" "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=60 --out found -q --validate "$inputs"
fields found/plan.json 'r["met"] and r["kept"] and [t["held_count"] for t in r["targets"]] == [50] and 0 < r["kept_macs"] < r["macs"] and 0 < r["kept_bytes"] < r["bytes"]' "a plan is found"
fields found/plan.json 'r["validated_met"] == 1 and len(r["casts"]) == r["mixed"]["cast_count"] > 0' "held-out samples, and Casts"
expect 0 "a found plan is audited" "$program" audit "$model" -i "$inputs" --plan found/plan.json --fail-above sqnr_db=60 -q
expect 0 "nothing to keep" "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=1 -q --out none
fields none/plan.json 'r["met"] and not r["kept"]' "nothing to keep"
# What an earlier plan has written and this one has not is gone; another command's result stays.
cp -r found later
for file in quantised.onnx quantised.onnx.data modelopt.yaml; do echo old >later/$file; done
expect 1 "a plan without files" "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=300 -q --out later
fields later/plan.json 'not r.get("met")' "no plan"
[ "$(LC_ALL=C ls later | tr '\n' ' ')" = "autocast.txt exclude.txt npps.py plan.json strongly_typed.txt trtexec.txt " ] ||
    fail "beside a plan without files stand $(ls later)"
expect 0 "a plan with files" "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=60 -q --out later
[ -s later/mixed.onnx ] && [ ! -e later/modelopt.yaml ] || fail "a plan with files wrote $(ls later)"
# Modules of PyTorch that kept nodes are of: the exporter's metadata, else the node's name, else that of its weights; one tool keeps all of a module.
python <<'END' || fail "no model of modules"
scopes = lambda text: block(9, block(1, "pkg.torch.onnx.name_scopes") + block(2, text))
write_model("modules.onnx", [
    node("Add", "x x", "a", "/elsewhere/Add") + scopes("['', 'body', 'body.0', 'add']"), node("Mul", "a x", "b", "node_mul") + scopes("['', 'body', 'body.0', 'mul']"),
    node("Exp", "b", "c", "node_exp") + scopes("not a list"), node("Relu", "c", "d", "/body/body.1/Relu"), node("Tanh", "d", "e", "/Tanh"),
    node("MatMul", "e body.fc.weight", "y", "dense")], {"x": [2, 4]}, ["y"], {"body.fc.weight": np.ones((4, 4), "f4") / 8})
END
expect 0 "a plan by modules" "$program" plan modules.onnx --for trt11 --tolerance sqnr_db=1 --always node_mul --always node_exp --always /body/body.1/Relu --always /Tanh --always dense --out modules -q
[ "$(tail -2 modules/exclude.txt)" = '# torch_tensorrt.compile with use_explicit_typing and enable_autocast, which keeps modules whole: of their 5 nodes the plan keeps 4; of what it keeps 1 are of no module that is known, and missing
data_max=float("inf"), nodes_to_exclude=["^body\\.0$", "^body\\.1$", "^$", "^body\\.fc$"]' ] || fail "modules: $(cat modules/exclude.txt)"
echo '{"arithmetic": "fp16", "keep": [{"nodes": "*", "arithmetic": "fp32"}]}' >all.json
"$program" plan "$model" -i "$inputs" --apply all.json -o later -q >out 2>err
[ ! -e later/mixed.onnx ] || fail "an applied plan of no types leaves an earlier mixed.onnx"
says 2 "formats that no quantiser has" "formats without scales alone" quantise "$model" -i "$inputs" --formats bf16,fp16
lines err 1 "formats that no quantiser has"
targets='[(t["name"], t["held_count"], t.get("kept_apart", False)) for t in r["targets"]]'
tells 0 "a plan of fused kernels" "$targets"' == [("trt:fp16", 50, True)]' plan "$model" -i "$inputs" -a trt:fp16 --tolerance sqnr_db=60 -q
tells 0 "a plan for two targets" "$targets"' == [("trt11:fp16", 50, True), ("torch-compile:fp16", 50, False)]' plan "$model" -i "$inputs" --for trt,torch-compile --tolerance sqnr_db=60 -q
expect 2 "a plan for no target" "$program" plan "$model" -i "$inputs" --for trt,nowhere --tolerance sqnr_db=60
says 2 "a plan for one target twice" "trt11:fp16 is there already" plan "$model" -i "$inputs" --for trt,trt11 --tolerance sqnr_db=60
for option in --confidence=0.5 --budget=3 --keep-in=nonsense --for=trt --arith=fp16 --cost=macs --always=nobody --never=nobody \
    --reference=fp64 --validate="$inputs" --stop-after=9 --task=none --html=page.html --tolerance=sqnr_db=60; do
    says 2 "a plan applied with $option" "does not go with ${option%%=*}: " plan "$model" -i "$inputs" --apply found/plan.json -o applied $option
done
for share in 0 1 nan -0.5 1.5 much; do
    expect 2 "a confidence of $share" "$program" plan "$model" -i "$inputs" --confidence=$share --tolerance sqnr_db=60
done
expect 2 "a tolerance of no figure" "$program" plan "$model" -i "$inputs" --tolerance nonfinite=0
expect 2 "a pattern of no node" "$program" plan "$model" -i "$inputs" --tolerance sqnr_db=60 --never nobody

# So is a format of each product.
list=nvfp4,mxfp8,fp32
expect 0 "a list" "$program" quantise "$model" -i "$inputs" --tolerance sqnr_db=40 --formats $list --cost macs --out list -q --validate "$inputs"
fields list/plan.json 'r["met"] and r["validated_met"] == 1 and {l["format"] for l in r["layers"]} <= set("'$list'".split(","))' "a list"
expect 0 "an allocation is audited" "$program" audit "$model" -i "$inputs" --plan list/plan.json --fail-above sqnr_db=40 -q
tells 0 "little time" 'r["timed_out"]' quantise "$model" -i "$inputs" --tolerance sqnr_db=40 --formats $list --stop-after 0.001 -q
expect 1 "no time, and no tolerance" "$program" quantise "$model" -i "$inputs" --for ort --stop-after 0.001 -q
shows out "an allocation was found that has 8 bits on average" "no time, and no tolerance"
tells 1 "no allocation" 'not r.get("met") and not r["layers"]' quantise "$model" -i "$inputs" --formats $list --tolerance sqnr_db=300 -q
expect 2 "a list with no format" "$program" quantise "$model" -i "$inputs" --tolerance sqnr_db=40 --formats fp16,nothing
cp "$model" searched.onnx
expect 2 "a page instead of the model" "$program" plan searched.onnx -i "$inputs" --tolerance sqnr_db=40 -q --html searched.onnx
cmp -s "$model" searched.onnx || fail "plan wrote over its model"

says 2 "no such cost" "a cost is nodes, nodes+macs, bits, macs, bytes or weights: gold" plan "$model" -i "$inputs" --tolerance sqnr_db=40 --cost gold

# Masks of finfo.min: finite constants saturate, and a Softmax absorbs them.
regressions=${ULPSCOPE_TEST_DATA:-/nowhere}/regressions
if [ -d "$regressions" ]; then
    for name in mask-times-finfo-min-nan-in-fp16 fully-masked-row-nan-in-fp16; do
        expect 0 "$name" "$program" audit "$regressions/$name.onnx" -i "$regressions/$name.npz" -a fp16,bf16 -o mask_report --fail-above nonfinite=0 --fail-above sqnr_db=45
        fields mask_report/report.json '[(o["fate"], o["absorbed_by"][:7], l["constants"][o["constant"]]["name"], l["constants"][o["constant"]]["largest"] > 3.4e38) for l in r["lanes"] for o in l["overflows"]] == 2 * [("absorbed", "Softmax", "min", True)]' "$name"
        grep -q "overflows at" out && fail "$name: the verdict speaks of an overflow"
        tells 1 "$name in ieee" '[(o["fate"], l["constants"][o["constant"]]["name"]) for l in r["lanes"] for o in l["overflows"]] == [("reaches output", "min")]' audit "$regressions/$name.onnx" -i "$regressions/$name.npz" -a fp16,constants=ieee --fail-above nonfinite=0 -q
    done
    tells 0 "a mask of infinity" '[(o["fate"], o["node"], l["constants"][o["constant"]]["name"]) for l in r["lanes"] for o in l["overflows"]] == [("absorbed", "Where_0", "neg")]' audit "$regressions/mask-fill-first-nonfinite.onnx" -a fp16,constants=ieee -q
    grep -q "first non-finite" out && fail "a mask that is absorbed is the first non-finite value"
fi
for rule in saturated ieee tensorrt onnxcommon-converter onnxconverter-common; do
    code=0; [ $rule != onnxcommon-converter ] || code=2
    expect $code "constants=$rule" "$program" audit "$model" -i "$inputs" -a "fp16,constants=$rule" -q
done
shows <("$program" list bf16,constants=onnxconverter-common 2>&1) "makes FP16 and no bf16" "onnxconverter-common of bf16"

says 0 "schedules" "Schedules of tf32" audit "$model" -i "$inputs" --arith fp32,tf32,fp16 --schedules --out report2
shows report2/report.json '"other_gpu": ' "schedules in report.json"
expect 3 "report folder cannot be made" "$program" audit "$model" -i "$inputs" --arith fp32 --out "$inputs/x"

expect 0 "the example in C" ${ULPSCOPE_EMULATOR:-} "$program_folder"/layer_error "$model" "$inputs" fp16 block/norm1/Sum
shows out "block/norm1/Sum (ReduceSum) in fp16 against pair" "the example in C"
expect 1 "the example in C: no such node" ${ULPSCOPE_EMULATOR:-} "$program_folder"/layer_error "$model" "$inputs" fp16 nothing

expect 2 "one arithmetic twice" "$program" audit "$model" -i "$inputs" --arith fp16,fp16
says 2 "a part of no meaning" "fp16,round=up" audit "$model" -i "$inputs" --arith fp16,round=up,bf16
expect 2 "certify another reference" "$program" audit "$model" -i "$inputs" --certify --reference fp64
expect 2 "dim with inputs" "$program" audit "$model" -i "$inputs" --dim batch=2
expect 2 "report folder without a name" "$program" audit "$model" -i "$inputs" --out ""
expect 3 "report folder is a file" "$program" audit "$model" -i "$inputs" --out "$inputs"
expect 3 "no such model, report folder kept" "$program" audit nowhere.onnx --out "a b/new"
expect 0 "a folder of another name" "$program" audit "$model" --dim batch=3 --arith fp16,fp32,order=pairwise --out "a b/report" -q
shows "a b/report/summary.txt" "batch = 3" "the summary says how open dimensions were taken"
shows "a b/report/layers.csv" '"fp32,order=pairwise"' "layers.csv quotes names"

says 0 "the operators" "Softmax" list operators
says 4 "an operator that there is not" "no operator 'Sofmax' (did you mean \"Softmax\"" list Sofmax
says 0 "names of every kind" "rtx3090  has the units of a2" list fp16 tf32@a100 mpfr:200 trt10 Softmax h200.mma.f16.f32 rtx3090
says 0 "what there is" "instruction sets" list
for what in arithmetics parts targets; do expect 0 "all $what" "$program" list $what; done
expect 2 "an arithmetic that there is not" "$program" list fp17
says 0 "list of units" h200.mma.f16.f32 list units

# Recordings beside the truth.
expect 0 "record" "$program" run "$model" -i "$inputs" -a fp32,split-k=4 -o fp32.npz --all-values -q
expect 0 "record in fp16" "$program" run "$model" -i "$inputs" -a bf16 -o bf16.json -q
for pair in bf16/fp16 bf16/tf32 fp16/tf32; do # the smaller of two formats passes for none of more bits
    expect 0 "a recording in ${pair%/*}" "$program" run "$model" -i "$inputs" -a "${pair%/*}" -o coarse.npz -q
    expect 1 "${pair%/*} is no ${pair#*/}" "$program" compare "$model" -i "$inputs" coarse.npz -a "${pair#*/}" --trials 4 -q
    [ "$pair" != bf16/fp16 ] || shows out "all its values are numbers of bf16, in" "${pair%/*} is no ${pair#*/}"
    expect 0 "${pair%/*} is ${pair%/*}" "$program" compare "$model" -i "$inputs" coarse.npz -a "${pair%/*}" --trials 4 -q
done
# what explained leaves open stands in the same sentence
expect 0 "inner values in fp16" "$program" run "$model" -i "$inputs" -a fp16 -o coarse.npz --all-values -q
expect 0 "explained, and no more" "$program" compare "$model" -i "$inputs" coarse.npz -a fp16 --trials 4 -q
sed -i '/^  why/,$d' out
shows out "explained by fp16 (40 tensors): all 61224 values have its bits, but 'pool_out' is off by 0.82 of its rms, and fp16 by itself by 0.82; outputs: broken (logits, " "explained, and no more"
says 0 "an honest recording" "explained by fp32" compare "$model" -i "$inputs" fp32.npz -a fp32 --trials 4 -o compared -q
shows compared/compare.json '"first_unexplained": null' "an honest recording"
says 1 "another format" "ask about it: --arith bf16" compare "$model" -i "$inputs" bf16.json fp32.npz --trials 4 -o compared -q
shows out "furthest apart in 'logits'" "two recordings"
shows compared/compare.json '"kind": "format"' "another format"
expect 0 "two arithmetics" "$program" compare "$model" -i "$inputs" bf16.json fp32.npz -a fp32 -a bf16 --trials 2 -q
expect 0 "without inputs of its own" "$program" compare "$model" fp32.npz --recorded-inputs "$inputs" --trials 2 -q
expect 2 "nothing recorded" "$program" compare "$model" -i "$inputs"
expect 2 "one trial" "$program" compare "$model" -i "$inputs" fp32.npz --trials 1
expect 2 "which inputs" "$program" compare "$model" fp32.npz
expect 3 "no such recording" "$program" compare "$model" -i "$inputs" nowhere.npz
says 3 "nothing to compare" "nothing to compare" compare "$model" -i "$inputs" "$inputs"
lines err 1 "nothing to compare"
expect 3 "no such iteration" "$program" compare "$model" -i "$inputs" bf16.json --iteration 3
expect 5 "compare within a budget" "$program" compare "$model" -i "$inputs" fp32.npz --max-memory 200K

expect 2 "unknown unit" "$program" mma h300.mma.f16.f32 out.npz d.npz
expect 3 "arrays of another kind" "$program" mma h200.mma.f16.f32 out.npz d.npz
if command -v python3 >/dev/null && python3 -c 'import numpy' 2>/dev/null; then
    expect 0 "report.json has the names others build on" python3 - <<'PY'
import json, math, numpy
r = json.load(open("report/report.json"))
assert {"model_path", "reference", "sample_names", "lanes"} <= set(r)
measures = {"max_abs", "rms", "mean", "max_rel", "max_ulp", "median_ulp", "cosine", "sqnr_db", "nonfinite", "worst_index"}
assert [a["name"] for a in r["lanes"]][0] == "fp32"
for a in r["lanes"]:
    assert {"name", "nodes", "outputs"} <= set(a) and a["nodes"] and a["outputs"]
    for n in a["nodes"]:
        assert {"index", "name", "op", "outputs"} <= set(n)
        for o in n["outputs"]:
            assert {"name", "dims", "single", "entire", "introduced", "carried", "range"} <= set(o)
            assert {"ref_rms", "ref_max", "ref_min_nonzero", "headroom_bits"} <= set(o["range"])
            for view in ("single", "entire", "introduced", "carried"):
                assert measures <= set(o[view]), o[view]
logits = numpy.load("out.npz")["logits"]
assert logits.shape == (4, 10) and logits.dtype == numpy.float32 and numpy.isfinite(logits).all()
PY
    # tensor-cores.md's known short vector: exact -0.875, a V100 gives 0, an A100 -0.5, an H100 -0.75.
    python3 -c 'import numpy as np
f = lambda x: np.array(x, np.float16).view(np.uint16).reshape(1, 1, -1)
np.savez("in.npz", a=f([-2**13, -.5, -.25, -.125]), b=f([2**10, 1, 1, 1]), c=np.array([[[2**23]]], np.float32).view(np.uint32))'
    for row in v100:0 a100:-0.5 h100:-0.75; do
        expect 0 "mma on ${row%%:*}" "$program" mma "${row%%:*}.mma.f16.f32" in.npz d.npz
        expect 0 "mma gives ${row##*:}" python3 -c "import numpy as np; assert np.load('d.npz')['d'].view(np.float32).item() == ${row##*:}"
    done
fi
# With shares the verdict names the cause.
expect 0 "audit --attribute" "$program" audit "$model" -i "$inputs" -a tf32 --attribute -q
grep -qE "causes [0-9]+ % of" out || fail "the verdict of audit --attribute names no cause"

# ort-cpu against ONNX Runtime, where a Python has it (ULPSCOPE_TEST_PYTHON names another one than python3).
data=${ULPSCOPE_TEST_DATA:-/nowhere}
if [ -d "$data/mixed" ] && python3 -c 'import numpy, onnxruntime' 2>/dev/null; then
    pairs=()
    for name in tinybert_1l_fp16 resnet_4b_cifar10_fp16 tinybert_1l_mixed magika_v3_3_mixed cct2_32_opset20_mixed gtcrn_simple_mixed; do
        pairs+=("$data/mixed/$name/model.onnx=$data/models/${name%_*}/inputs.npz")
    done
    expect 0 "ort-cpu is ONNX Runtime" python3 "$source/lab/compare_ort.py" "$program" "${pairs[@]}" --close 1e-5
fi
[ $failed -eq 0 ] && echo "all command line checks passed"
exit $failed
