#!/usr/bin/env bash
# written-attention=kernel: which graphs are joined and which are not, and why; the values against the same graph node by node in FP64, and the reference's own.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
python3 -c 'import numpy' 2>/dev/null || { echo "no numpy: nothing is compared"; exit 77; }
python3 - "$program" "$source/examples" <<'END' || fail "written attention"
import json, subprocess, sys
import numpy as np
program, examples = sys.argv[1:]
sys.path.insert(0, examples)
from onnx_writer import node, write_model
random = np.random.default_rng(1)
HEADS = {"q": (2, 3, 20, 16), "k": (2, 3, 300, 16), "v": (2, 3, 300, 16)}
product = [node("Transpose", "k", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q kt", "s")]
scale = {"c": np.array(0.25, np.float32)}
low = {**scale, "low": np.array(-65504, np.float32)}
seen = random.random((2, 1, 20, 300)) < 0.7
added = np.where(random.random((20, 300)) < 0.7, 0, -10000).astype(np.float32)
end = [node("Softmax", "m", "p", axis=-1), node("MatMul", "p v", "y")]
# name: nodes, constants, inputs, outputs, what the report says of it (None: joined)
CASES = {
    "scaled": (product + [node("Mul", "s c", "m")] + end, scale, HEADS, ["y"], None),
    "added": (product + [node("Div", "s d", "t"), node("Add", "t a", "m")] + end, {"d": np.array(4, np.float32), "a": added}, HEADS, ["y"], None),
    "where": (product + [node("Mul", "s c", "t"), node("Where", "seen t low", "m")] + end, {**low, "seen": seen}, HEADS, ["y"], None),
    "rank 3": ([node("Transpose", "k", "kt", perm=[0, 2, 1]), node("MatMul", "q kt", "s"), node("Mul", "s c", "m")] + end, scale, {name: shape[1:] for name, shape in HEADS.items()}, ["y"], None),
    "hidden": (product + [node("Mul", "s c", "t"), node("Where", "seen low t", "m")] + end, {**low, "seen": seen}, HEADS, ["y"], None),
    "no keys": (product + [node("Mul", "s c", "m"), node("Softmax", "m", "p", axis=-1), node("MatMul", "p w", "y")], {**scale, "w": random.standard_normal((300, 4)).astype(np.float32)}, HEADS, ["y"], "no attention"),
    "weak": (product + [node("Mul", "s c", "t"), node("Where", "seen t low", "m")] + end, {**scale, "low": np.array(-5, np.float32), "seen": seen}, HEADS, ["y"], None),
    "weights out": (product + [node("Mul", "s c", "m")] + end, scale, HEADS, ["y", "p"], "read elsewhere"),
    "shared": (product + [node("Mul", "s c", "m")] + end, scale, {**HEADS, "k": (2, 1, 300, 16)}, ["y"], None),
    "no heads": (product + [node("Mul", "s c", "m")] + end, scale, {name: (2, 0, *shape[2:]) for name, shape in HEADS.items()}, ["y"], "it has no heads"),
    "negative": (product + [node("Mul", "s c", "m")] + end, {"c": np.array(-0.25, np.float32)}, HEADS, ["y"], None),
    "axis": (product + [node("Mul", "s c", "m"), node("Softmax", "m", "p", axis=-2), node("MatMul", "p v", "y")], scale, HEADS, ["y"], "not over the keys"),
    "tanh": (product + [node("Tanh", "s", "m")] + end, {}, HEADS, ["y"], None),
    # what the kernel would read and take the place of at once
    "twice": (product + [node("Mul", "s c", "t"), node("Add", "t t", "m")] + end, scale, HEADS, ["y"], "read elsewhere"),
    "gated": (product + [node("Tanh", "s", "t"), node("Mul", "t s", "m")] + end, {}, HEADS, ["y"], "read elsewhere"),
    # rows of one product that are batches or queries of the other
    "folded batches": (product + [node("Reshape", "s flat", "m"), node("Softmax", "m", "p", axis=-1), node("MatMul", "p v", "y")], {"flat": np.array([1, 1, 40, 300])},
                       {"q": (2, 1, 20, 16), "k": (2, 1, 300, 16), "v": (1, 1, 300, 16)}, ["y"], "not as many"),
    # a low that another mask reaches, too
    "two lows": (product + [node("Mul", "s c", "t"), node("Where", "seen t low", "u"), node("Add", "u a", "m")] + end,
                 {**scale, "low": np.array(-1e4, np.float32), "seen": seen, "a": added}, HEADS, ["y"], None),
    "dropped": (product + [node("Mul", "s c", "m"), node("Softmax", "m", "o", axis=-1), node("Mul", "o gate", "p"), node("MatMul", "p v", "y")], {**scale, "gate": np.array(1.25, np.float32)}, HEADS, ["y"], "no attention"),
}

def run(arithmetic, *more):
    done = subprocess.run([program, "run", "m.onnx", "-i", "i.npz", "-a", arithmetic, "-q", "-o", "o.npz", *more], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arithmetic}: {done.stderr}")
    return np.load("o.npz")

for name, (nodes, constants, shapes, outputs, why) in CASES.items():
    write_model("m.onnx", nodes, shapes, outputs, constants, opset=17)
    inputs = {key: random.standard_normal(shape).astype(np.float16).astype(np.float32) for key, shape in shapes.items()}
    np.savez("i.npz", **inputs)
    exact, wide = run("fp64")["y"], run("fp64,written-attention=kernel")["y"]
    # both FP64: scores of 16 products, 300 keys; each of some 40 roundings of 2^-53 at the scores' size of at most 20 moves a probability by 20 * 2^-53 of itself
    if not np.all(np.abs(wide - exact) <= 1e-12 * np.abs(exact).max(initial=0)):
        sys.exit(f"{name}: {np.abs(wide - exact).max()} away in FP64")
    kernel, plain = (run(f"fp16,attention=cudnn{part}")["y"] for part in (",written-attention=kernel", ""))
    # FP16: values, probabilities and the result are rounded to 11 bits: 300 keys of weight 1 in all, each product by 2^-11 of itself twice, the scores (node by node: below 16) by 2^-8; four times that as exp has slope 1
    if not np.all(np.abs(kernel - exact) <= 2.0 ** -5 * np.abs(inputs["v"]).max(initial=0)):
        sys.exit(f"{name}: {np.abs(kernel - exact).max()} away in FP16")
    if (why is None) == np.array_equal(kernel, plain):
        sys.exit(f"{name}: the kernel gives {'the' if why is None else 'other'} bits of the nodes")
    page = subprocess.run([program, "audit", "m.onnx", "-i", "i.npz", "-a", "fp16,attention=cudnn,written-attention=kernel", "--json", "a.json"], capture_output=True, text=True)
    if page.returncode:
        sys.exit(f"{name}: {page.stderr}")
    report, text = json.load(open("a.json")), " ".join(page.stdout.split())
    wanted = (1, 0) if why is None else (0, 0) if why == "no attention" else (0, 1)
    found = (report["attentions_joined"], report["attentions_apart"])
    inner = subprocess.run([program, "audit", "m.onnx", "-i", "i.npz", "-a", "fp16,written-attention=kernel", "--keep", "p=fp32", "-q"], capture_output=True, text=True)
    if why is None and "a step of the attention 'y', one kernel here" not in inner.stderr:
        sys.exit(f"{name}: {inner.stderr or inner.stdout}")
    if found != wanted or (why and why not in text) or (why is None and "1 attention that the graph writes out: one kernel each" not in text):
        sys.exit(f"{name}: {found} for {wanted}; {text}")
END
python3 "$source/tests/run/attention_spellings.py" "$program" || fail "spellings"
expect 2 "lanes that differ" "$program" run m.onnx -i i.npz -a "fp16,fp16,written-attention=kernel"
expect 0 "described" "$program" list torch:fp16,written-attention=kernel
shows out "one Attention" "what it means"
exit $failed
