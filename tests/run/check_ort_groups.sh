#!/usr/bin/env bash
# fuse=ort: which nodes ONNX Runtime's optimiser makes one operator of, as the graphs that it saved show, and what it computes then: the bits of that operator alone,
# whose bits are recorded (tests/ops/check_ort_cuda.sh), and of a Conv with the weights that it made of those before a BatchNormalization (lab/record_ort_cuda.py).
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: skipped"; exit 77; }
cat >both.py <<'END_OF_PYTHON'
import ast, json, subprocess, sys
import numpy as np
source, program = sys.argv[1:]
sys.path.insert(0, source + "/examples")
from onnx_writer import TYPES, block, node, write_model
random = np.random.default_rng(2)
bad = 0
def check(what, ok):
    global bad
    if not ok:
        print("FAIL", what)
        bad = 1
def made(name, nodes, given, outputs, fixed, kind="f4", **more):
    write_model(name + ".onnx", nodes, {k: v.shape for k, v in given.items()}, outputs, fixed, types={**{k: TYPES[kind] for k in given}, **{k: TYPES[kind] for k in outputs}}, **more)
    np.savez(name + ".npz", **{k: v.astype(kind) for k, v in given.items()})
def run(name, arithmetic):
    subprocess.run([program, "run", name + ".onnx", "-i", name + ".npz", "-a", arithmetic, "-q", "-o", "out.npz"], check=True)
    return np.load("out.npz")["y"]
def kernels(name, arithmetic="ort-cuda:fp16"):
    subprocess.run([program, "audit", name + ".onnx", "-i", name + ".npz", "-a", arithmetic, "-q", "--no-attribute", "-o", "audit"], check=False, stdout=subprocess.DEVNULL)
    of = {}
    for n in json.load(open("audit/report.json"))["lanes"][0]["nodes"]:
        if n.get("kernel"):
            of.setdefault(n["kernel"]["kernel"], []).append(n["op"])
    return sorted(of.values())
half = lambda *shape: random.standard_normal(shape).astype(np.float16).astype(np.float32)

# a BatchNormalization in a Conv's weights: the sums' last bit hangs on a tie where x / k * k is a rounding of FP32 beside x (two of 2^-24), so a few bits may differ
data = np.load(source + "/tests/data/ort_cuda/folded.npz")
for case in sorted({name.split("|")[0] for name in data.files}):
    operator, attributes = str(data[case + "|op"][0]), ast.literal_eval(str(data[case + "|op"][1]))
    part = lambda name: data[f"{case}|{name}"].astype(np.float32)
    group = attributes.get("group", 1)
    channels = data[case + "|w"].shape[1] * group if operator == "Conv" else data[case + "|w"].shape[0]
    x = half(2, channels, 9, 9)
    biased = case + "|b" in data.files
    norm = {n: part(n) for n in ("scale", "shift", "mean", "variance")}
    nodes = [node(operator, "x w b" if biased else "x w", "c", **attributes), node("BatchNormalization", "c scale shift mean variance", "n", epsilon=float(data[case + "|epsilon"])), node("Neg", "n", "y")]
    made("norm", nodes, {"x": x}, {"y": list("NCHW")}, {"w": part("w"), **({"b": part("b")} if biased else {}), **norm}, opset=14)
    made("one", [node(operator, "x w b", "n", **attributes), node("Neg", "n", "y")], {"x": x}, {"y": list("NCHW")}, {"w": part("folded_w"), "b": part("folded_b")}, opset=14)
    share = lambda a: np.mean(run("norm", a) == run("one", "ort-cuda:fp16"))
    check(f"{case}: bits {share('ort-cuda:fp16')}, without {share('ort-cuda:fp16,fuse=none')}", share("ort-cuda:fp16") >= 0.97 and share("ort-cuda:fp16,fuse=none") < 0.8)
    check(f"{case}: kernels", kernels("norm") == [[operator, "BatchNormalization"]] and not kernels("norm", "ort-cuda:fp16,fuse=none") and not kernels("norm", "ort-cuda:bf16"))
    # in FP32 the same values but for roundings: 8 of 2^-24 in the parameters and as many as there are products in the sums
    k = (norm["scale"] / np.sqrt(norm["variance"] + data[case + "|epsilon"])).astype(np.float32)
    exact, size = run("norm", "fp64"), np.abs(run("norm", "fp64")).max()
    check(f"{case}: FP32", np.abs(run("norm", "fp32,fuse=ort") - exact).max() <= (8 + data[case + "|w"].size) * 2**-24 * size * (1 + np.abs(k).max()))
    made("read", nodes + [node("Relu", "c", "r")], {"x": x}, {"y": list("NCHW"), "r": list("NCHW")}, {"w": part("w"), **({"b": part("b")} if biased else {}), **norm}, opset=14)
    check(f"{case}: read elsewhere, too", not kernels("read"))
    if case == "plain":
        made("open", nodes, {"x": x, "scale": norm["scale"]}, {"y": list("NCHW")}, {"w": part("w"), **norm}, opset=14)
        check("a scale that is an input of the graph, too", not kernels("open"))

# what is written out, beside the operator
MS = block(7, "com.microsoft")
def pair(name, nodes, operator, shape, groups, fixed=None, given=None, opset=17):
    given = {"x": half(*shape), **(given or {})}
    made(name, nodes, given, {"y": list("abcd")[:len(shape)]}, fixed or {}, opset=opset)
    check(f"{name}: {kernels(name)}", kernels(name) == groups)
    if operator:
        made(name + "1", [operator], given, {"y": list("abcd")[:len(shape)]}, {k: v for k, v in (fixed or {}).items() if k in OWN}, opset=opset, domains={"com.microsoft": 1})
        check(name + ": bits", np.array_equal(run(name, "ort-cuda:fp16"), run(name + "1", "ort-cuda:fp16"), equal_nan=True))
        check(name + ": bits without", not np.array_equal(run(name, "ort-cuda:fp16,fuse=none"), run(name + "1", "ort-cuda:fp16"), equal_nan=True))
OWN = ("g", "b", "w", "m")
written = [node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d"), node("Pow", "d two", "q"), node("ReduceMean", "q", "v", axes=[-1]), node("Add", "v e", "ve"), node("Sqrt", "ve", "s"),
           node("Div", "d s", "n"), node("Mul", "n g", "ng"), node("Add", "ng b", "y")]
parts = {"two": np.array(2, "f4"), "e": np.array(1e-3, np.float16).astype("f4"), "g": half(96), "b": half(96)}
layer = node("LayerNormalization", "x g b", "y", axis=-1, epsilon=float(parts["e"]))
pair("layer", written, layer, (5, 96), [["ReduceMean", "Sub", "Pow", "ReduceMean", "Add", "Sqrt", "Div", "Mul", "Add"]], parts)
pair("bare", written[:6] + [node("Div", "d s", "y")], None, (5, 96), [], parts)
parts = {"r": np.array(np.sqrt(2), "f4"), "one": np.array(1, "f4"), "h": np.array(0.5, "f4")}
begun = [node("Div", "x r", "d"), node("Erf", "d", "e"), node("Add", "e one", "a")]
gelu = node("Gelu", "x", "y") + MS
pair("gelu", begun + [node("Mul", "x a", "m"), node("Mul", "m h", "y")], gelu, (5, 96), [["Div", "Erf", "Add", "Mul", "Mul"]], parts)
pair("halved", begun + [node("Mul", "x h", "m"), node("Mul", "m a", "y")], gelu, (5, 96), [["Div", "Erf", "Add", "Mul", "Mul"]], parts)
pair("late", begun + [node("Mul", "h a", "m"), node("Mul", "x m", "y")], None, (5, 96), [], parts)
pair("scaled", [node("MatMul", "x w", "p"), node("Mul", "p k", "y")], node("FusedMatMul", "x w", "y", alpha=0.1767578125) + MS, (3, 64), [["MatMul", "Mul"]], {"w": half(64, 48), "k": np.array(0.1767578125, "f4")})
pair("vector", [node("MatMul", "x w", "p"), node("Mul", "p k", "y")], None, (3, 64), [], {"w": half(64, 48), "k": half(48)})
for name, x, mask, inner, groups in (("keys", (2, 3, 4, 40), (2, 1, 1, 40), 1, 1), ("causal", (2, 3, 4, 40), (1, 1, 4, 40), 0, 1), ("few", (2, 3, 4, 40), (4, 40), None, 0), ("crossed", (2, 3, 4, 40), (2, 1, 4, 40), None, 0),
                                     ("short", (1, 2, 1024), (1, 1, 1024), 1, 1), ("long", (1, 2, 1025), (1, 1, 1025), None, 0)):
    operator = None if inner is None else node("BiasSoftmax", "x m", "y", axis=len(x) - 1, is_inner_broadcast=inner) + MS
    pair(name, [node("Add", "x m", "a"), node("Softmax", "a", "y", axis=-1)], operator, x, [["Add", "Softmax"]] * groups, None, {"m": half(*mask)})
# a Transpose, a Cast and a MatMul are refused when a session for CUDA is opened (MatmulTransposeFusion): the Cast stands first, and the Transpose once for each type
try:
    from onnx import load
    for target, first in (("ort-cuda", True), ("trt11", False)):
        for always in ("op:MatMul", "op:Neg"):
            made("turned", [node("Relu", "x", "r"), node("Transpose", "r", "t", perm=[0, 2, 1]), node("MatMul", "t w", "y", "product"), node("Neg", "t", "z", "other")], {"x": half(1, 6, 8)},
                 {"y": list("abc"), "z": list("abd")}, {"w": half(6, 5)})
            subprocess.run([program, "plan", "turned.onnx", "-i", "turned.npz", "--for", target, "--tolerance", "sqnr_db=20", "--always", always, "-q", "-o", "turned"], check=True, stdout=subprocess.DEVNULL)
            nodes = load("turned/mixed.onnx").graph.node
            by = {name: n.op_type for n in nodes for name in n.output}
            behind = [n for n in nodes if n.op_type == "Cast" and by.get(n.input[0]) == "Transpose"]
            check(f"{target}, {always}: Casts {[n.op_type for n in nodes]}", bool(behind) != first and sum(n.op_type == "Transpose" for n in nodes) == 1 + first)
except ImportError:
    print("no onnx: written files are not read")
# a graph that it saved has copies between memories
x = half(3, 4)
made("copied", [node("MemcpyFromHost", "x", "c"), node("Neg", "c", "n"), node("MemcpyToHost", "n", "y")], {"x": x}, {"y": list("ab")}, {})
check("copies", np.array_equal(run("copied", "ort-cuda:fp16"), -x))
sys.exit(bad)
END_OF_PYTHON
python3 both.py "$source" "$program" >out || fail "what ONNX Runtime fuses: $(cat out)"
grep "^no onnx" out
exit $failed
