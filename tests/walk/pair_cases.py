#!/usr/bin/env python3
"""What pairs of doubles do not settle by themselves: each reason planted in a small model, run in "pair" and in mpfr:2048, whose outputs, as nearest
doubles, must be the same but for one last bit where two doubles are equally near; and random graphs (tests/walk) likewise in mpfr:512, all values of all nodes.
Python's standard library alone.

    pair_cases.py PROGRAM FOLDER [RANDOM_GRAPH SEEDS]"""
import ast
import json
import math
import os
import random
import struct
import subprocess
import sys
import zipfile

source = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(source, "..", "cli"), os.path.join(source, "..", "..", "examples")]
from onnx_writer import graph, node, number, block, write_model  # noqa: E402,F401
from plain_npz import npz  # noqa: E402

program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
os.chdir(folder)
random.seed(56)
inf, nan = float("inf"), float("nan")
LEAST = 2.0**-149


def read(path):
    """{name: (type, numbers)} of an npz of one's own."""
    arrays = {}
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            data = file.read(name)
            length = struct.unpack("<H", data[8:10])[0] if data[6] == 1 else struct.unpack("<I", data[8:12])[0]
            start = (10 if data[6] == 1 else 12) + length
            head = ast.literal_eval(data[start - length:start].decode())
            kind = head["descr"]
            code = {"<f8": "d", "<f4": "f", "<f2": "e", "<i8": "q", "<i4": "i", "<u8": "Q", "<u4": "I", "<i2": "h", "<u2": "H",
                    "|i1": "b", "|u1": "B", "|b1": "?"}[kind]
            body = data[start:]
            arrays[name] = kind, struct.unpack("<%d%s" % (len(body) // struct.calcsize(code), code), body)
    return arrays


def is_near(x, y, size, left):
    if x == y or (x != x and y != y):
        return True
    return math.isfinite(x) and math.isfinite(y) and abs(x - y) <= 2.0**-52 * abs(y) + 2.0**-70 * size + left


def run(model, inputs, arithmetic, *options):
    out = "out-%s.npz" % arithmetic.replace(":", "-")
    done = subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "-o", out, *options], capture_output=True, text=True)
    return (read(out) if done.returncode == 0 else None), done


failed = compared = 0


def same(name, model, inputs, *options, exact=True):
    """size: what a sum of a node may have lost of its largest value, as pairs know no more of it; planted models lose nothing. left: 512 bits leave as
    much of what cancels, and low parts of pairs are doubles of at least 2^-1074."""
    global failed, compared
    judge, left = ("mpfr:2048", 2.0**-1000) if exact else ("mpfr:512", 2.0**-400)
    (wanted, first), (got, second) = (run(model, inputs, arithmetic, *options) for arithmetic in (judge, "pair"))
    if first.returncode != second.returncode or second.returncode < 0:
        print("FAIL %s: exit %d in %s, %d in pair: %s" % (name, first.returncode, judge, second.returncode, second.stderr.strip()[-200:]))
        failed = 1
        return
    compared += wanted is not None
    for key in wanted or ():
        kind, numbers = wanted[key]
        size = 0 if exact else max([abs(x) for x in numbers if kind[1] == "f" and math.isfinite(x)], default=0)
        for i, (x, y) in enumerate(zip(got[key][1], numbers)):
            if not (is_near(x, y, size, left) if kind[1] == "f" else x == y):
                print("FAIL %s: %s[%d] is %r, %r in %s" % (name, key, i, x, y, judge))
                failed = 1
                return


def planted(name, nodes, values, shape=None, outputs=("y",), initialisers=None, **others):
    shape = shape or [len(values)]
    inputs = {"x": (shape, values), **others}
    write_model("model.onnx", nodes, {key: item[0] for key, item in inputs.items()}, list(outputs), initialisers)
    npz("inputs.npz", **inputs)
    same(name, "model.onnx", "inputs.npz", "--all-values")


wide = [random.uniform(-1500, 1500) for _ in range(60)] + [0, 1, -1, 1e-30, 700, -700, 710, -745.2, 88, 1500]
mean = [random.gauss(0, 1) for _ in range(64)]
planted("log of exp", [node("Exp", "x", "e"), node("Log", "e", "y")], wide)
planted("log of exp, moved", [node("Exp", "x", "e"), node("Transpose", "e", "t"), node("Concat", "t e", "c", axis=0), node("Log", "c", "y")], wide)
planted("log of softmax", [node("Softmax", "x", "s", axis=-1), node("Log", "s", "y")], wide)
tail = [-.1 * k for k in range(400)] + [.1, 1., 20., 700.]
planted("a sum of a function in its tail", [node("Gelu", "x", "y")], tail)
planted("a function in its tail, then a sum", [node("Tanh", "x", "t"), node("Add", "t o", "y")], [10 * x for x in tail], o=([1], [1.]))
# what is open in one element alone, and in the first of many that are computed in several parts
halved = [node("Tanh", "x", "t"), node("Add", "t o", "a"), node("Mul", "a h", "b"), node("Mul", "b x", "y")]
planted("a tail, halved", halved, [-352.5], o=([1], [1.]), h=([1], [.5]))
planted("a tail in the first of many, halved", halved, [-352.5, -315.] + [.5] * 20000, o=([1], [1.]), h=([1], [.5]))
planted("the logarithm of nearly 1", [node("Exp", "x", "e"), node("Add", "e o", "a"), node("Log", "a", "y")], [10 * x for x in tail if x < 10], o=([1], [1.]))
planted("softmax of masks", [node("Add", "x m", "a"), node("Softmax", "a", "s", axis=-1), node("MatMul", "s v", "y")], mean, [4, 16],
        m=([16], [0.] * 10 + [-1e4] * 3 + [-3.4e38] * 3), v=([16, 2], [random.gauss(0, 1) for _ in range(32)]))
planted("infinite masks", [node("Add", "x m", "a"), node("Softmax", "a", "s", axis=-1), node("MatMul", "s v", "y")], mean, [4, 16],
        m=([16], [0.] * 10 + [-inf] * 6), v=([16, 2], [random.gauss(0, 1) for _ in range(32)]))
powers = [node("Mul", "x x", "a")] + [node("Mul", "%s %s" % (p, p), q) for p, q in zip("abcd", "bcde")] + [node("Mul", "e e", "f"), node("Sqrt", "f", "y")]
planted("products of large and small", powers, [2., 1e10, 1e20, 1e30, 1e38, 1e-10, 1e-20, 1e-30, 1e-38, 0., -3e5])
planted("products into sums", [node("Mul", "x x", "a"), node("Mul", "a a", "b"), node("Mul", "b b", "c"), node("MatMul", "c w", "d"), node("Log", "d", "y")],
        [1e38, 1e37, 1e30, 1e-38, 1e-37, 1e-30], [2, 3], w=([3, 3], [1e38, 1e-38, 1, 1e-38, 1e38, 1, 1, 1, LEAST]))
planted("the least number, then softmax", [node("Add", "x l", "a"), node("Softmax", "a", "s", axis=-1), node("Sub", "a x", "y")], mean, l=([1], [LEAST]))
planted("zeros", [node("Mul", "x z", "a"), node("Div", "a x", "b"), node("MatMul", "a w", "c"), node("Add", "b c", "y")],
        [1., -1., 0., -0., 1e38, 1e-38, 3., -3., 5.], [3, 3], z=([3], [0., -0., 1.]), w=([3, 3], [0., 1., -1.] * 3))
planted("not finite", [node("Add", "x x", "a"), node("Sub", "a x", "b"), node("Mul", "b x", "c"), node("Relu", "c", "d"), node("Exp", "d", "y")],
        [inf, -inf, nan, 0., -0., 1., 3e38, -3e38])
planted("sums that are not finite", [node("MatMul", "x w", "y")], [inf, 1., 2., 3., nan, 1., -inf, inf, 1.], [3, 3], w=([3, 2], [1., 0., -1., 2., 1., 0.]))
planted("rows that are all alike", [node("LayerNormalization", "x s", "y", axis=-1, epsilon=0.0)], [.1] * 7 + [1e10] * 7 + [3.] * 7, [3, 7], s=([7], [1.] * 7))
planted("a difference of squares", [node("Mul", "x x", "a"), node("Add", "x o", "p"), node("Sub", "x o", "m"), node("Mul", "p m", "b"), node("Sub", "a b", "y")],
        [3., 7e5, 1.5, 1e10], o=([1], [1.]))
ties = [node("Div", "x s", "q"), node("Round", "q", "r"), node("Floor", "q", "f"), node("Ceil", "q", "c"), node("Sub", "r f", "d"), node("Add", "d c", "y")]
planted("ties of rounding", ties, [k * .1 for k in range(-25, 25)], s=([1], [.2]))
planted("ties of decisions", [node("Mul", "x t", "p"), node("Div", "p t", "q"), node("ArgMax", "q", "a", axis=-1), node("TopK", "q k", "v i", axis=-1),
                              node("Equal", "q x", "e"), node("Less", "q x", "y")], [.1, .3, .1, .3, .7, .7, .2, .1], [2, 4],
        outputs=("y", "a", "v", "i", "e"), initialisers={"k": [3]}, t=([1], [3.]))


def counts(nodes, values, by_mpfr):
    """How many numbers of an audit's reference MPFR computed: nobody's where nothing is open."""
    global failed
    write_model("model.onnx", nodes, {"x": [len(values)]}, ["y"])
    npz("inputs.npz", x=([len(values)], values))
    subprocess.run([program, "audit", "model.onnx", "-i", "inputs.npz", "-a", "fp32", "--reference", "pair", "--out", "counted"], check=True,
                   capture_output=True)
    with open("counted/report.json") as file:
        cost = json.load(file)["costs"][0]
    if cost["by_pairs"] == 0 or (cost["by_mpfr"] > 0) != by_mpfr:
        print("FAIL %d numbers by pairs, %d by MPFR" % (cost["by_pairs"], cost["by_mpfr"]))
        failed = 1


counts([node("Tanh", "x", "t"), node("Exp", "t", "e"), node("Log", "e", "y")], mean, False)
counts([node("Tanh", "x", "t"), node("Mul", "x t", "m"), node("Exp", "x", "e"), node("Log", "e", "l"), node("Sub", "l m", "y")], wide, True)

# what a softmax leaves of a row beside what lies below all doubles, times values that are pairs in the node
heads = node("MultiHeadAttention", "x x v", "y", num_heads=1, unidirectional=1) + block(7, "com.microsoft")
write_model("model.onnx", [heads], {"x": (1, 8, 4), "v": (1, 8, 4)}, ["y"], domains={"com.microsoft": 1})
npz("inputs.npz", x=([1, 8, 4], [100 * random.gauss(0, 1) for _ in range(32)]), v=([1, 8, 4], mean[:32]))
same("a product of records and pairs", "model.onnx", "inputs.npz")

for seed in sys.argv[4:] and range(*(int(x) for x in sys.argv[4].split("-"))):
    subprocess.run([sys.argv[3], "-n", "1", "-o", "graphs", "%d-%d" % (seed, seed)], check=True, capture_output=True)
    path = "graphs/%d" % seed
    same("random graph %d" % seed, path + "/model.onnx", path + "/inputs.npz", "--all-values", exact=False)
print("%d models compared" % compared)
sys.exit(failed or compared < 90)
