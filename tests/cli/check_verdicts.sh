#!/usr/bin/env bash
# What verdicts say, against the graph: the node that is blamed reaches the output that is named, in random graphs of several outputs and in
# the networks of $ULPSCOPE_TEST_DATA; a variance beyond FP16 and an epsilon that becomes 0 have one cause and one Try in audit, overflow and
# plan, which works as it is printed; inputs that are not finite are named.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: verdicts are not checked"; exit 77; }

cat >walk.py <<'END'
import json
import os
import re
import shlex
import subprocess
import sys

import numpy as np
from onnx_writer import node, write_model

GRADE = r"(?:fine|borderline|broken|not judged)(?: \(.*?\))?: "
program, data = sys.argv[1], os.environ.get("ULPSCOPE_TEST_DATA")
checked = failures = 0

def judge(name, model, inputs):
    """Each arithmetic's verdict, and its shares of each output."""
    global checked, failures
    ran = subprocess.run([program, "audit", model, "-i", inputs, "-a", "fp16,bf16", "-o", "r", "-q", "-t", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ran.returncode:
        failures += 1
        return print(f"FAIL {name}: {ran.stderr}")
    with open("r/report.json") as file:
        report = json.load(file)
    makers = {}
    for lane in report["lanes"]:
        for record in lane["nodes"]:
            for output in record["outputs"]:
                makers.setdefault(output["name"], record["index"])
    before = {}
    for index, place in enumerate(report["places"]):
        links = {link["node"] for link in place.get("inputs", []) if link.get("node") is not None}
        before[index] = links | set().union(*[before.get(link, set()) for link in links], set())
    for lane in report["lanes"]:
        said = re.match(GRADE + r"(?:[^;]*?, )?(\S+) is (?:off by|at) .*?; node (\d+) .* causes ", lane["verdict"])
        shares = {entry["output"]: entry for entry in lane.get("attribution", {}).get("outputs", [])}
        claims = [(entry["output"], share["index"]) for entry in shares.values() for share in entry["nodes"]]
        if said:
            claims.append((said[1], int(said[2])))
        for output, blamed in claims:
            last = makers.get(output)
            checked += 1
            if last is not None and blamed != last and blamed not in before[last]:
                failures += 1
                print(f"FAIL {name} in {lane['name']}: node {blamed} does not reach {output}")
        for entry in shares.values():
            total = entry["inputs"] + entry["decisions"] + sum(share["share"] for share in entry["nodes"])
            if not abs(total - entry["sum"]) <= 1e-9:
                failures += 1
                print(f"FAIL {name} in {lane['name']}: shares of {entry['output']} are not its sum")
        for share in re.findall(r"(\d+) %", lane["verdict"]):
            if int(share) > 150:
                failures += 1
                print(f"FAIL {name} in {lane['name']}: {lane['verdict']}")

def follow(name, model, inputs, arithmetic):
    """Runs what Try says, as a shell takes it: its figure is that of the run."""
    global checked, failures

    def audit(*more):
        return subprocess.run([program, "audit", model, "-i", inputs, "-a", arithmetic, "-q", "-t", "2", "-o", "r", *more], check=True, capture_output=True, text=True).stdout

    tried = re.search(r"^  (?:try|do) +ulpscope (audit .* --keep .* # .*)$", audit(), re.M)
    if not tried:
        return False
    figure = re.search(r" # (.*) is at (.*) dB then, (.*) dB more$", tried[1])
    subprocess.run([program, *shlex.split(tried[1], comments=True), "-q", "-t", "2", "-o", "r"], check=True, capture_output=True)
    with open("r/report.json") as file:
        said = json.load(file)["lanes"][0]["verdict"]
    checked += 1
    if not figure or not re.match(GRADE, said) or f"{figure[1]} is at {figure[2]} dB" not in said or float(figure[3]) < 1:
        failures += 1
        print(f"FAIL {name} in {arithmetic}: {tried[1]}: {said}")
    return True

def random_graph(turn, path):
    """A graph of matrices 4 x 8 in which some values are outputs."""
    values, nodes, constants = ["x", "z"], [], {}
    for i in range(turn.integers(4, 14)):
        op = turn.choice(["MatMul", "Add", "Mul", "Tanh", "Sigmoid", "Softmax", "Relu"])
        first, second = turn.choice(values), turn.choice(values)
        if op == "MatMul":
            constants[f"w{i}"] = (turn.standard_normal((8, 8)) / 3).astype("f4")
            second = f"w{i}"
        nodes.append(node(op, f"{first} {second}" if op in ("MatMul", "Add", "Mul") else first, f"v{i}"))
        values.append(f"v{i}")
    outputs = sorted({values[-1], *turn.choice(values[2:], turn.integers(1, 5))})
    write_model(path, nodes, {"x": (4, 8), "z": (4, 8)}, outputs, constants, opset=13)

turn = np.random.default_rng(5)
tries = 0
for graph in range(40):
    random_graph(turn, "m.onnx")
    np.savez("m.npz", x=turn.standard_normal((4, 8)).astype("f4"), z=turn.standard_normal((4, 8)).astype("f4"))
    judge(f"graph {graph}", "m.onnx", "m.npz")
    tries += sum(follow(f"graph {graph}", "m.onnx", "m.npz", arithmetic) for arithmetic in ("fp16", "tf32"))
# What the graph returns before its computed output is in no lane's outputs.
np.savez("m.npz", x=np.sin(np.arange(8)).astype("f4"))
for first in ("x", "c"):
    write_model("m.onnx", [node("Add", "x big", "a"), node("Sub", "a big", "y")], {"x": (8,)}, [first, "y"], {"big": np.float32(2048), "c": np.float32([1, 2, 3])}, opset=13)
    if not follow(f"{first} returned first", "m.onnx", "m.npz", "fp16"):
        failures += 1
        print(f"FAIL {first} returned first: nothing to try")
for network in ("ultraface_rfb_320", "fsanet_1x1", "mtcnn_onet", "silero_vad_sequence"):
    for folder in ("models", "pretrained") if data else ():
        path = os.path.join(data, folder, network)
        if os.path.exists(path + "/model.onnx") and os.path.exists(path + "/inputs.npz"):
            judge(network, path + "/model.onnx", path + "/inputs.npz")
if not data:
    print("ULPSCOPE_TEST_DATA is unset: no networks are walked")
if tries < 40:
    failures += 1
    print(f"FAIL only {tries} of 80 audits have a Try with a figure")
print(f"{checked} claims about outputs and of {tries} runs, {failures} wrong")

# a variance beyond FP16; an epsilon that becomes 0; a divisor two nodes behind one
eight = np.ones(8, "f4")
write_model("variance.onnx", [node("BatchNormalization", "x g b m v", "n", "bn"), node("Relu", "n", "y", "relu")], {"x": (1, 8, 2, 2)}, ["y"],
            {"g": eight, "b": eight, "m": eight, "v": eight * np.float32(7e7)}, opset=14)
np.savez("variance.npz", x=(turn.standard_normal((1, 8, 2, 2)) * 1e4).astype("f4"))
write_model("log.onnx", [node("Mul", "x x", "s", "square"), node("Add", "s e", "a", "add_eps"), node("Log", "a", "y", "log")], {"x": (4, 8)}, ["y"],
            {"e": np.float32(1e-10)}, opset=13)
write_model("root.onnx", [node("Mul", "x x", "s", "square"), node("Add", "s e", "a", "add_eps"), node("Sqrt", "a", "r", "root"), node("Div", "x1 r", "y", "divide")],
            {"x": (4, 8), "x1": (4, 8)}, ["y"], {"e": np.float32(1e-10)}, opset=13)
write_model("mask.onnx", [node("Add", "x low", "m", "mask"), node("Softmax", "m", "y", "soft")], {"x": (1, 4)}, ["y"], {"low": np.array([0, -65504, 0, 0], "f4")}, opset=13)
np.savez("mask.npz", x=np.array([[1, 0, 0, 1]], "f4"))
# a variance by a difference that cancels; a norm whose root is 0; an overflow behind another decision; an angle of many turns
write_model("cancels.onnx", [node("ReduceMean", "x", "m", "mean", axes=[1]), node("Mul", "x x", "p", "squares"), node("ReduceMean", "p", "q", "mean_squares", axes=[1]),
                             node("Mul", "m m", "n", "square"), node("Sub", "q n", "v", "variance"), node("Sqrt", "v", "s", "root"), node("Sub", "x m", "c", "centre"),
                             node("Div", "c s", "y", "divide")], {"x": (64, 16)}, ["y"], {}, opset=13)
np.savez("cancels.npz", x=(turn.standard_normal((64, 16)) * .5 + 20).astype("f4"))
w = turn.standard_normal((8, 8)).astype("f4")
write_model("norm.onnx", [node("MatMul", "x w", "a", "first"), node("MatMul", "x w", "b", "second"), node("Sub", "a b", "d", "difference"), node("Mul", "d d", "e", "square"),
                          node("ReduceSum", "e", "f", "sum", keepdims=1), node("Sqrt", "f", "g", "root"), node("Add", "g a", "y", "end")], {"x": (4, 8)}, ["y"], {"w": w}, opset=11)
np.savez("norm.npz", x=turn.standard_normal((4, 8)).astype("f4"))
write_model("behind.onnx", [node("MatMul", "x w", "a", "product"), node("Greater", "a half", "g", "flag"), node("Cast", "g", "h", "number", to=1), node("Mul", "h tiny", "i", "harmless"),
                            node("Add", "a i", "k", "join"), node("Mul", "k big", "b", "up"), node("Mul", "b big", "y", "over")], {"x": (512, 8)}, ["y"],
            {"w": w, "half": np.float32(.5), "tiny": np.float32(1e-4), "big": np.float32(300)}, opset=13)
np.savez("behind.npz", x=turn.standard_normal((512, 8)).astype("f4"))
write_model("picks.onnx", [node("MatMul", "x w", "a", "product"), node("TopK", "a k", "v i", "top"), node("Gather", "table i", "y", "pick")], {"x": (512, 8)}, ["y"],
            {"w": w, "k": np.array([1], np.int64), "table": turn.standard_normal((8, 4)).astype("f4")}, opset=13)
np.savez("picks.npz", x=turn.standard_normal((512, 8)).round(2).astype("f4"))
write_model("angle.onnx", [node("Mul", "t f", "a", "angles"), node("Sin", "a", "s", "sine"), node("MatMul", "s w", "y", "product")], {"t": (1, 1)}, ["y"],
            {"f": np.exp2(-np.arange(8)).astype("f4")[None], "w": w}, opset=13)
np.savez("angle.npz", t=np.array([[998.39]], "f4"))
# exact in FP32; names that are patterns, with a quote and with an arithmetic's
write_model("exact.onnx", [node("Mul", "x x", "a", "sq*are?"), node("Sqrt", "a", "r", "it's=bf16"), node("Add", "r x", "y", "add")], {"x": (1, 4)}, ["y"], {}, opset=13)
np.savez("exact.npz", x=np.array([[300, 512, 1, 2]], "f4"))
x = turn.standard_normal((4, 8)).astype("f4")
x[2] = 0
np.savez("log.npz", x=x)
np.savez("root.npz", x=x, x1=np.full((4, 8), 1e-3, "f4"))
x[0, 0] = np.nan
np.savez("nan.npz", x=x)
sys.exit(failures > 0)
END
PYTHONPATH=$source/examples python3 walk.py "$program" || fail "a verdict blames a node that cannot be to blame"

# verdict FILE EXPRESSION NAME: of v and l, the verdict and the rest of what an audit has of its arithmetic
verdict() { fields "$1" "[$2 for l in r['lanes'] for v in (l['verdict'],)] == [True]" "$3"; }

# one MODEL ARITHMETIC SENTENCE CAUSE NODES...: audit and overflow name the cause; Try keeps these nodes and heals, and is overflow's; plan keeps them, too
one() {
    local model=$1 lane=$2 sentence=$3 word=$4 keep figure
    shift 4
    expect 0 "audit $model" "$program" audit "$model.onnx" -i "$model.npz" -a "$lane" -q -o "r_$model"
    verdict "r_$model/report.json" "'$sentence' in v and [l['nodes'][n]['name'] for n in l['remedy']['nodes']] == '$*'.split()" "the verdict of $model"
    keep=$(sed -n 's/^  do    ulpscope \(audit .*\)/\1/p' out | sed 's/ # .*//')
    figure=$(sed -n 's/.* # .* at \(.*\) dB then.*/\1/p' out)
    eval "expect 0 'the Try of $model' \"\$program\" $keep -q --fail-above sqnr_db=50 --json said.json"
    verdict said.json "'is at $figure dB' in v" "the figure of the Try of $model"
    tells 0 "overflow $model" "'$word' in [o['cause'] + ' ' + o.get('culprit', '') for n in r['lanes'][0]['nodes'] for o in n['outputs']]" overflow "$model.onnx" -i "$model.npz" -a "$lane" -q
    shows out "  do    ulpscope $keep" "overflow keeps in $model what audit keeps"
    expect 0 "plan $model" "$program" plan "$model.onnx" -i "$model.npz" -a fp16 -q --tolerance sqnr_db=50 -o "p_$model"
}
one variance fp16 "by constant v, which reaches 7e+07" "constant v" bn
one log fp16 "(Add) has become 0 in fp16 (constant " "becomes zero a" add_eps log
one variance trt:fp16,batchnorm=computed "by constant v, which reaches 7e+07" "constant v" bn
expect 0 "a variance that TensorRT folds away" "$program" audit variance.onnx -i variance.npz -a trt8:fp16,trt:fp16 -q --fail-above sqnr_db=50
expect 0 "a plan for TensorRT keeps nothing there" "$program" plan variance.onnx -i variance.npz --for trt -q --tolerance sqnr_db=50 -o p_trt
fields p_trt/plan.json 'not r["kept"] and [(w["name"], w["why"]) for w in r["mixed"]["widened"]] == [("bn", "parameters")]' "a variance that FLOAT16 does not hold"
expect 0 "its file" "$program" audit p_trt/mixed.onnx -i variance.npz -a model --reference-model variance.onnx -q --fail-above sqnr_db=50
one root fp16 "has become 0 in fp16" "becomes zero r" add_eps root divide
"$program" overflow root.onnx -i root.npz -a fp16 -q >out || fail "overflow of a divisor of 0"
grep -q "overflows" r_log/summary.txt out && fail "a logarithm of 0 is called an overflow"

# judges MODEL ARITHMETIC WORDS: in the verdict
judges() {
    expect 0 "audit $1 in $2" "$program" audit "$1.onnx" -i "$1.npz" -a "$2" -q --json said.json
    verdict said.json "'$3' in v" "the verdict of $1 in $2"
}
judges exact fp16 "With 2 nodes in FP32 y equals the reference"
keep=$(sed -n 's/^  do    ulpscope \(audit .*\)/\1/p' out | sed 's/ # .*//')
verdict said.json "v.endswith(' # y is exact then')" "FP32 that leaves no error helps"
eval "expect 0 'names that are patterns' \"\$program\" $keep -q --json said.json"
verdict said.json "'y equals the reference' in v" "names that are patterns"
says 0 "overflow of such names" "  do    ulpscope $keep" overflow exact.onnx -i exact.npz -a fp16 -q
judges cancels fp16 "which makes node 5 root (Sqrt) not finite"
judges cancels fp16 "node 4 variance (Sub) "
judges cancels bf16 "node 4 variance (Sub) "
verdict said.json "' --keep \'#0-5=fp32\'' in v and l['remedy']['nodes'] == [*range(6)]" "what a difference cancelled of is kept in BF16"
judges picks bf16 "and the error of that is "
# A Cast to FP8 decides which of its numbers comes out; by how much follows from the list of all of them.
python <<'END' >eight || fail "a Cast to FP8"
x = np.random.default_rng(8).standard_normal((16, 64)).astype("f2").astype("f4")
w = np.random.default_rng(9).standard_normal((64, 8)).astype("f2").astype("f4")
write_model("eight.onnx", [node("Add", "x far", "a", "shift"), node("Sub", "a far", "b", "back"), node("Cast", "b", "c", "cast", to=17), node("Cast", "c", "d", "wide", to=1),
                           node("MatMul", "d w", "y", "product")], {"x": x.shape}, ["y"], {"far": np.float32(900), "w": w}, opset=21)
np.savez("eight.npz", x=x)
codes = np.arange(127)  # E4M3: of 4 and 3 bits, 7 the bias, subnormals of exponent 0
values = np.where(codes < 8, codes / 8 * 2.0**-6, (1 + codes % 8 / 8) * 2.0 ** (codes // 8 - 7.0))
middles = (values[1:] + values[:-1]) / 2
code = lambda x: np.where(np.isin(np.abs(x), middles), 2 * ((np.searchsorted(middles, np.abs(x)) + 1) // 2), np.searchsorted(middles, np.abs(x))) * np.sign(x)
read = (x.astype("f2") + np.float16(900)) - np.float16(900)
others = np.flatnonzero(code(x.astype("f8")) != code(read.astype("f8")))
first = x.ravel()[others[0]].astype("f8")
print(f"in {others.size} of {x.size} elements: what the reference decides is ahead by {np.abs(middles - abs(first)).min():.3g} in the first, "
      f"and the error of that is {read.ravel()[others[0]].astype('f8') - first:.3g}")
END
judges eight fp16 "node 0 shift (Add) causes 100 % of the error"
judges eight fp16 "it shows at node 2 cast (Cast), which decides otherwise than the reference $(cat eight)"
judges picks bf16 "it shows at node 1 top (TopK), which decides otherwise than the reference in "
verdict said.json "' Try ulpscope plan picks.onnx -i picks.npz -a bf16 --tolerance sqnr_db=40' in v" "something to try behind a decision"
judges norm fp16 "node 0 first (MatMul) causes"
grep -q "nan" out && fail "a root at 0 leaves nan"
judges behind fp16 "overflows at node 6 over (Mul)"
grep -q "no overflow" out && fail "a decision hides an overflow"
judges angle bf16 "the rounding of input t to bf16 causes 100 % of the error"
verdict said.json "' --keep \'angles=fp32\' --keep \'sine=fp32\'' in v and l['remedy']['nodes'][:2] == [0, 1]" "an angle's readers are kept"

# -65504 - 1 rounds to -65504: nothing overflows inside a Softmax whose mask is the least number
expect 0 "overflow of a mask" "$program" overflow mask.onnx -i mask.npz -a fp16 -q
grep -q "values inside .* overflow" out && fail "the least number, less 1, is called an overflow"

expect 0 "an input with NaN" "$program" audit log.onnx -i nan.npz -a fp16 -q --json said.json
verdict said.json "'Input x has 1 value that is not finite (when that is meant: --allow-nonfinite-inputs)' in v and [i['count'] for i in r['nonfinite_inputs'] if i['name'] == 'x'] == [1]" "NaN in the verdict"
# an output that equals the reference, NaN and all, says nothing
python <<'END' || fail "a network with NaN"
write_model("passed.onnx", [node("Relu", "x", "y")], {"x": (4, 8)}, ["y"], {}, opset=13)
x = np.ones((4, 8), "f")
x[1, 2] = np.nan
np.savez("passed.npz", x=x)
END
expect 0 "NaN passed on" "$program" audit passed.onnx -i passed.npz -a fp32 -q --json said.json
verdict said.json "v.startswith('not judged: y equals the reference; Input x has 1 value')" "NaN passed on"
expect 0 "NaN that is meant" "$program" audit passed.onnx -i passed.npz -a fp32 -q --allow-nonfinite-inputs --json said.json
verdict said.json "v.startswith('fine')" "NaN that is meant"
# a sample of which nothing can be measured hides no figure of the others, before them or behind them
python <<'END' || fail "samples"
write_model("root.onnx", [node("Exp", "x", "y")], {"x": (4, 8)}, ["y"], {}, opset=13)
np.savez("some.npz", x=np.random.default_rng(3).random((4, 8), "f"))
np.savez("none.npz", x=np.full((4, 8), np.nan, "f"))
END
for order in "some none" "none some" some; do
    inputs=()
    for sample in $order; do inputs+=(-i $sample.npz); done
    expect 0 "$order" "$program" audit root.onnx "${inputs[@]}" -a fp16 -q --allow-nonfinite-inputs -o "${order// /-}"
done
python <<'END' || fail "the order of samples decides"
some, before, behind = (json.load(open(f"{folder}/report.json"))["lanes"][0]["outputs"][0] for folder in ("some", "none-some", "some-none"))
figures = [(output["entire"], output["judged"]["grade"], output["judged"]["text"], output["judged"]["sqnr_db"]) for output in (some, before, behind)]
assert figures[1] == figures[2] and figures[1][1] == "not judged", figures[1:]
assert figures[1][0] == figures[0][0] and figures[1][3] == figures[0][3], figures
END
exit $failed
