#!/usr/bin/env bash
# --metric: a user's command judges the outputs of each sample: what it is given, means and losses as numpy has them, the exit code, plan and quantise held by it, and every way in which
# the command may be wrong; not in a sandbox, nor for agents.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy for python3: skipped"; exit 77; }
python <<'END2' || fail "models"
turn = np.random.default_rng(5)
write_model("m.onnx", [node("MatMul", "x w", "a"), node("Relu", "a", "b"), node("MatMul", "b v", "y")], {"x": (4, 64)}, ["y"],
            {"w": turn.normal(size=(64, 64)).astype("f"), "v": turn.normal(size=(64, 8)).astype("f")}, opset=17)
for i in range(2):
    np.savez(f"{i}.npz", x=turn.normal(size=(4, 64)).astype("f"))
END2
cat >score.py <<'END2'
import sys

import numpy as np

print(float(np.load(sys.argv[1])["y"].sum()))
END2
export TMPDIR=$PWD
python=${ULPSCOPE_TEST_PYTHON:-python3}
"$program" audit m.onnx -i 0.npz -i 1.npz -a bf16 --no-attribute --metric "$python score.py {outputs}" --metric-loss 1000 --json fine.json >fine.out || fail "a loss that is allowed: $(cat fine.out)"
grep -q '^bf16: fine by --metric' fine.out || fail "no line: $(head -2 fine.out)"
for i in 0 1; do
    "$program" run m.onnx -i $i.npz -a bf16 -o bf16_$i.npz && "$program" run m.onnx -i $i.npz -a fp64 -o exact_$i.npz || fail "run"
done
python <<'END2' || fail "means and losses"
own, exact = ([float(np.load(f"{name}_{i}.npz")["y"].sum()) for i in range(2)] for name in ("bf16", "exact"))
score = json.load(open("fine.json"))["lanes"][0]["score"]
# the reference's outputs are FP64 in both, and correctly rounded in one: sums of 32 numbers of up to 2^9 differ by far less
assert score["sample_count"] == 2 and abs(score["mean"] - sum(own) / 2) < 1e-9 and abs(score["reference"] - sum(exact) / 2) < 1e-9, (score, own, exact)
assert abs(score["lost"] - max(e - o for e, o in zip(exact, own))) < 1e-9, (score, own, exact)
END2
# the largest error, as a loss: what is allowed decides
cat >near.py <<'END2'
import array
import sys
import zipfile


def read(path):  # numpy would take a second to start
    data = zipfile.ZipFile(path).read("y.npy")
    end = 10 + int.from_bytes(data[8:10], "little")
    values = array.array("d" if b"<f8" in data[:end] else "f")
    values.frombytes(data[end:])
    return values


print(-max(abs(a - b) for a, b in zip(read(sys.argv[1]), read("exact_0.npz"))))
END2
expect 0 "a loss that is allowed" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --metric "$python -S -E near.py {outputs}" --metric-loss 1000
expect 1 "a loss that is not allowed" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --metric "$python -S -E near.py {outputs}" --metric-loss 1e-3
grep -q '^bf16: broken by --metric' out || fail "no line: $(head -2 out)"
# the verdict is the metric's, wherever one is said
expect 1 "a verdict" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --metric "$python -S -E near.py {outputs}" --metric-loss 1e-3 --task signal --json lost.json --markdown lost.md --html lost.html --fail-above sqnr_db=1 --junit lost.xml
fields lost.json 'r["lanes"][0]["score"]["allowed"] == 1e-3 and r["lanes"][0]["verdict"].startswith("broken") and r["lanes"][0]["tiles"][0]["value"] == "broken" and "by --metric" in r["lanes"][0]["headline"]' "a verdict"
grep -q 'bf16: broken.*by --metric' out || fail "no verdict: $(head -4 out)"
grep -q '^\*\*✕ bf16: broken' lost.md && grep -q 'failures="1"' lost.xml && grep -q 'by --metric' lost.xml || fail "no verdict in files: $(cat lost.xml)"
expect 0 "shown again" "$program" show lost.json
grep -q 'broken' out || fail "shown again: $(head -4 out)"
tells 1 "doctor" 'r["grade"] == "broken" and "by --metric" in r["reason"]' doctor m.onnx -i 0.npz -a bf16 --metric "$python -S -E near.py {outputs}" --metric-loss 1e-3 --max-time 60
expect 0 "doctor, a loss that is allowed" "$program" doctor m.onnx -i 0.npz -a bf16 --task score --metric "$python -S -E near.py {outputs}" --metric-loss 1000 --json doctor.json || true
ls ./*-??????.npz >left 2>/dev/null && fail "files are left: $(cat left)"
mkdir "a space"
for quoted in '"{outputs}"' "'{outputs}'" '"./{outputs}"'; do
    expect 0 "$quoted" env TMPDIR=. "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --metric "test -s $quoted && echo 1"
done
expect 0 "a space" env TMPDIR="a space" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --metric "test -s {outputs} && echo 1"
mkdir '$(touch ran)'
expect 2 "what a shell would run" env TMPDIR='$(touch ran)' "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --metric 'test -s "{outputs}" && echo 1'
[ ! -e ran ] || fail "the name of TMPDIR was run"
expect 6 "its time" env TMPDIR="a space" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --max-time 0.5 --metric 'exec sleep 3 # {outputs}'
[ -z "$(ls "a space")" ] || fail "a file is left: $(ls "a space")"
expect 6 "what it started" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --max-time 0.5 --metric '(sleep 2; touch late) & wait # {outputs}'
sleep 2.5; [ ! -e late ] || fail "what the metric started went on"
# numbers without an end are not waited for, and a closed terminal ends what was started, too
rm -f begun
expect 6 "its session" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --max-time 1 --metric 'setsid sh -c "touch begun; (sleep 2; touch late) & wait" & sleep 9 # {outputs}'
[ -e begun ] || fail "the metric's session did not begin"
sleep 2.5; [ ! -e late ] || fail "what the metric started in a session of its own went on"
# no figure, and a loss that is not allowed, of a search that has no tolerance
cat >none.sh <<'END2'
"$2" -S -E near.py "$1" | awk '{ print ($1 > -1e-3 ? 1 : "nan") }'
END2
tells 1 "quantise: no figure" 'not r.get("met") and r["verdict"].startswith("No allocation meets --metric")' quantise m.onnx -i 0.npz --for ort -q --metric "sh none.sh {outputs} $python"
expect 1 "quantise: too much lost" "$program" quantise m.onnx -i 0.npz --for ort -q --metric "$python -S -E near.py {outputs}" --metric-loss 1e-3
expect 0 "quantise: a loss that is allowed" "$program" quantise m.onnx -i 0.npz --for ort -q --metric "$python -S -E near.py {outputs}" --metric-loss 1000
expect 3 "no end" "$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --max-time 20 --metric 'yes {outputs}'
tells 1 "no figure" '[l["score"]["mean"] for l in r["lanes"]] == [None, 1] and r["lanes"][0]["score"]["lost"] is None' audit m.onnx -i 0.npz -a bf16,fp32 --no-attribute --metric "case \$(cat seen) in 1) echo nan; echo 2 >seen;; *) echo 1; echo 1\$(cat seen) >seen;; esac; : {outputs}"
grep -q '^bf16: broken by --metric' out && grep -q '^fp32: fine by --metric' out || fail "no figure of one: $(cat out)"
"$program" audit m.onnx -i 0.npz -a bf16 --no-attribute --metric '(sleep 2; touch late) & wait # {outputs}' 2>hup.err & pid=$!
sleep 0.5; kill -HUP $pid; wait $pid; [ $? = 129 ] || fail "a closed terminal: $(cat hup.err)"
sleep 2; [ ! -e late ] || fail "what the metric started went on"
ls ./*-??????.npz >left 2>/dev/null && fail "files are left: $(cat left)"
for wrong in 'false {outputs}' 'echo {outputs}' 'echo nan; : {outputs}' 'echo 1 2; : {outputs}' ': {outputs}' 'echo; : {outputs}' 'printf %0300d 1; : {outputs}' 'printf "1\0002"; : {outputs}'; do
    expect 3 "$wrong" "$program" audit m.onnx -i 0.npz -a bf16 --metric "$wrong"
done
for wrong in 'echo 1' '{outputs} {outputs}'; do
    expect 2 "$wrong" "$program" audit m.onnx -i 0.npz -a bf16 --metric "$wrong"
    expect 2 "plan: $wrong" "$program" plan m.onnx -i 0.npz -a bf16 --metric "$wrong"
done
expect 2 "nothing is searched" "$program" quantise m.onnx -i 0.npz -a bf16,factor=int8-row --metric 'echo 1; : {outputs}'
expect 2 "--metric-loss alone" "$program" plan m.onnx -i 0.npz --metric-loss 1
"$program" --help >/dev/null; "$program" audit --sandbox=try m.onnx -i 0.npz -a bf16 --metric "echo 1 {outputs}" >/dev/null 2>sandbox
case $? in 2) grep -q "does not allow" sandbox || fail "a sandbox: $(cat sandbox)" ;; *) grep -q "no Landlock" sandbox || fail "a sandbox: $(cat sandbox)" ;; esac
grep -q metric "$source/src/cli/mcp/mcp_tool.def" && fail "agents are offered --metric"
# what a tolerance lets pass the metric does not, and its twin does
tells 0 "plan" 'r["scored"] and r["met"]' plan m.onnx -i 0.npz -a bf16 --tolerance sqnr_db=10 --metric 'echo 1; : {outputs}'
for command in "quantise --formats uint8,fp32"; do
    expect 0 "$command, loose" "$program" $command m.onnx -i 0.npz --tolerance sqnr_db=10 --metric "$python -S -E near.py {outputs}" --metric-loss 1000 --json loose.json
    expect 0 "$command, tight" "$program" $command m.onnx -i 0.npz --tolerance sqnr_db=10 --metric "$python -S -E near.py {outputs}" --metric-loss 1e-3 --json tight.json
    python "$command" <<'END2' || fail "$command is not held by --metric"
loose, tight = (json.load(open(name + ".json")) for name in ("loose", "tight"))
assert loose["scored"] and tight["scored"] and loose["met"] and tight["met"], (loose["met"], tight["met"])
wide = lambda found: sum(layer["format"] == "fp32" for layer in found["layers"])
assert wide(tight) > wide(loose), (sys.argv[1], wide(tight), wide(loose))
END2
done
exit $failed
