#!/usr/bin/env python3
"""Chains of products in FP32 of which one is computed in FP16 between Casts, beside the original: is the node named first whose rounding costs most?

    planted_borders.py PROGRAM [COUNT]

What numpy finds when only one of them rounds says which that is: the Cast in front (of values with a large offset that weights cancel), the product (by its weights in FP16, or by a
result with a large offset); the Cast behind it never. Number n is of kind n % 4; in the fourth a Slice stands between Cast and product. A network in which no one costs half as much
again as the next is not counted. The last line says how many of the others were named; exit 1 below 95 %, or where fewer than half of COUNT (12) are counted."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import node, write_model  # noqa: E402

WIDTH, BLOCKS, ROWS = 48, 8, 32


def build(path, weights, biases, culprit=None, sliced=False):
    nodes, value = [], "x"
    constants = {"starts": np.array([0]), "ends": np.array([WIDTH]), "axes": np.array([1])}
    for k, (weight, bias) in enumerate(zip(weights, biases)):
        constants |= {f"w{k}": weight if k != culprit else weight.astype("f2"), f"b{k}": bias}
        if k == culprit:
            nodes.append(node("Cast", value, "half", "lower", to=10))
            nodes += [node("Slice", "half starts ends axes", "part", "slice")] if sliced else []
            nodes.append(node("MatMul", f"{'part' if sliced else 'half'} w{k}", "low", "product"))
            nodes.append(node("Cast", "low", f"m{k}", "raise", to=1))
        else:
            nodes.append(node("MatMul", f"{value} w{k}", f"m{k}", f"product{k}"))
        nodes += [node("Add", f"m{k} b{k}", f"a{k}", f"bias{k}"), node("Relu", f"a{k}", f"r{k}", f"relu{k}")]
        value = f"r{k}"
    write_model(path, nodes, {"x": [ROWS, WIDTH]}, [value], constants, opset=13)


def run(weights, biases, x, culprit=None, part=None):
    """In FP64, but one rounding of the culprit's."""
    value = x.astype("f8")
    for k, (weight, bias) in enumerate(zip(weights, biases)):
        half = {name: (lambda a, on=k == culprit and name == part: a.astype("f2").astype("f8") if on else a) for name in ("lower", "weights", "result")}
        value = np.maximum(half["result"](half["lower"](value) @ half["weights"](weight.astype("f8"))) + bias, 0)
    return value


def plant(number):
    turn, kind = np.random.default_rng(number), number % 4
    culprit = int(turn.integers(1, BLOCKS))
    weights = [(turn.normal(size=(WIDTH, WIDTH)) * np.sqrt(2 / WIDTH)).astype("f") for _ in range(BLOCKS)]
    biases, x = [(turn.normal(size=WIDTH) / 8).astype("f") for _ in range(BLOCKS)], turn.normal(size=(ROWS, WIDTH)).astype("f")
    weight, before = weights[culprit], weights[culprit - 1]
    if kind in (0, 3):  # offsets of what is read, small weights of few bits that cancel them
        biases[culprit - 1] += np.float32(60)
        weight[:] = np.rint(64 * weight) / 64
        weight[-1] -= weight.sum(0)
    elif kind == 1:  # weights that cancel in pairs of equal values
        before[:, 1::2], biases[culprit - 1][1::2] = before[:, ::2], biases[culprit - 1][::2]
        weight += (30 * np.sign(np.arange(WIDTH) % 2 - .5)[:, None]).astype("f")
    else:  # a result that the bias makes small
        weight += np.float32(2)
        biases[culprit] -= (run(weights[:culprit], biases[:culprit], x) @ weight).mean(0).astype("f")
    np.savez("x.npz", x=x)
    build("original.onnx", weights, biases)
    build("typed.onnx", weights, biases, culprit, kind == 3)
    truth = run(weights, biases, x)
    costs = {part: ((run(weights, biases, x, culprit, part) - truth) ** 2).mean() for part in ("lower", "weights", "result")}
    costs = {"lower": costs["lower"], "product": costs["weights"] + costs["result"]}
    most = max(costs, key=costs.get)
    return most if costs[most] > 1.5**2 * min(costs.values()) else None


def main():
    program, count = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 12
    clear = found = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(count):
            culprit = plant(number)
            if not culprit:
                continue
            ran = subprocess.run([program, "audit", "typed.onnx", "--reference-model", "original.onnx", "-i", "x.npz", "-a", "model", "-q", "-t", "1"], check=True, capture_output=True, text=True)
            verdict = " ".join(ran.stdout.split("\n\n")[0].split())
            named = re.search(r"node \d+ (\S+) \(", verdict)
            right = bool(named) and named[1] == culprit
            clear += 1
            found += right
            print("named " if right else "MISSED", number, culprit, verdict)
    print(f"{found} of {clear} borders are named first")
    return found < .95 * clear or clear < count / 2


sys.exit(main())
