#!/usr/bin/env python3
"""Networks with one planted culprit each, audited: is it named first?

    planted.py PROGRAM [FIRST COUNT]

Number n is of kind n % 4: a pair whose scale is 24 times too coarse; one that clips at a quarter of the largest value; weights with a channel that is 64 times as wide as the
others, quantised with one scale; a BatchNormalization whose variance FP16 does not hold. Blocks of a product, its bias and a Relu, with a residual every other one; 48 nodes and more.
The first three are audited in FP32 beside their float original, the fourth in FP16. Of the first three the largest share must be the pair's, too, and shares must make the whole
within 2 %. The last line says how many were named first; exit 1 below 95 %. Without FIRST and COUNT: 20."""
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import node, write_model  # noqa: E402

WIDTH, BLOCKS, ROWS = 48, 10, 32
KINDS = ("bad scale", "clipped pair", "wide channel", "BatchNormalization")


def draw(turn):
    """Weights and biases of each block, and an input."""
    weights = [(turn.normal(size=(WIDTH, WIDTH)) * np.sqrt(2 / WIDTH)).astype("f") for _ in range(BLOCKS)]
    return weights, [(turn.normal(size=WIDTH) / 8).astype("f") for _ in range(BLOCKS)], turn.normal(size=(ROWS, WIDTH)).astype("f")


def forward(weights, biases, x):
    """What each block reads; values as the float network has them."""
    read, before = [], x
    for k, (weight, bias) in enumerate(zip(weights, biases)):
        read.append(x)
        x = np.maximum(x @ weight + bias, 0)
        if k % 2:
            x, before = x + before, x + before
    return read


def build(path, weights, biases, scales=None, sizes=None):
    """Scales of what blocks read and of weights: quantised; else the float original. Both have the same names."""
    nodes, constants, value, before = [], {"zero": np.int8(0)}, "x", "x"
    for k, (weight, bias) in enumerate(zip(weights, biases)):
        constants[f"b{k}"], factor = bias, f"w{k}"
        if scales:
            constants[f"s{k}"], constants[f"t{k}"] = np.float32(scales[k]), np.float32(sizes[k])
            constants[f"w{k}_quantized"] = np.clip(np.rint(weight / sizes[k]), -127, 127).astype("i1")
            nodes.append(node("QuantizeLinear", f"{value} s{k} zero", f"q{k}", f"quantise{k}"))
            nodes.append(node("DequantizeLinear", f"q{k} s{k} zero", f"d{k}", f"dequantise{k}"))
            nodes.append(node("DequantizeLinear", f"w{k}_quantized t{k} zero", f"f{k}", f"weights{k}"))
            value, factor = f"d{k}", f"f{k}"
        else:
            constants[factor] = weight
        nodes += [node("MatMul", f"{value} {factor}", f"m{k}"), node("Add", f"m{k} b{k}", f"a{k}"), node("Relu", f"a{k}", f"r{k}")]
        value = f"r{k}"
        if k % 2:
            nodes.append(node("Add", f"r{k} {before}", f"u{k}"))
            value = before = f"u{k}"
    write_model(path, nodes, {"x": [ROWS, WIDTH]}, [value], constants, opset=13)
    return len(nodes)


def build_normalised(path, turn, culprit, x):
    """Products and normalisations; one has a variance of 3e5."""
    nodes, constants, value = [], {"one": np.ones(WIDTH, "f"), "none": np.zeros(WIDTH, "f")}, "x"
    for k in range(16):
        size = np.sqrt(2 / WIDTH) * (600 if k == culprit else 1)
        constants[f"w{k}"] = (turn.normal(size=(WIDTH, WIDTH)) * size).astype("f")
        x = x @ constants[f"w{k}"]
        constants[f"v{k}"] = x.var(axis=0).astype("f")
        x = np.maximum(x / np.sqrt(constants[f"v{k}"] + 1e-5), 0)
        nodes += [node("MatMul", f"{value} w{k}", f"m{k}"), node("BatchNormalization", f"m{k} one none none v{k}", f"n{k}", f"norm{k}"), node("Relu", f"n{k}", f"r{k}")]
        value = f"r{k}"
    write_model(path, nodes, {"x": [ROWS, WIDTH]}, [value], constants, opset=15)
    return len(nodes)


def plant(number):
    """(the arguments of the audit, the names that may be named, nodes)"""
    turn = np.random.default_rng(1000 + number)
    kind, culprit = number % 4, int(turn.integers(1, BLOCKS))
    weights, biases, x = draw(turn)
    np.savez("x.npz", x=x)
    if kind == 3:
        return ["quantised.onnx", "-a", "fp16"], {f"norm{culprit}"}, build_normalised("quantised.onnx", turn, culprit, x)
    if kind == 2:
        weights[culprit][:, int(turn.integers(WIDTH))] *= 64
    scales = [np.abs(read).max() / 127 for read in forward(weights, biases, x)]
    sizes = [np.abs(weight).max() / 127 for weight in weights]
    scales[culprit] *= (24, 1 / 4, 1)[kind]
    build("float.onnx", weights, biases)
    count = build("quantised.onnx", weights, biases, scales, sizes)
    return ["quantised.onnx", "-a", "fp32", "--reference-model", "float.onnx"], {f"weights{culprit}"} if kind == 2 else {f"quantise{culprit}"}, count


def has_share(culprit):
    """In r: what a pair does to a value is the share of its DequantizeLinear."""
    with open("r/report.json", encoding="utf-8") as file:
        lane = json.load(file)["lanes"][0]
    first = max(lane["nodes"], key=lambda record: record["share"] or 0)
    whole = abs(lane["attribution"]["sum"] - 1) <= .02
    if not whole or first["name"] != culprit.replace("quantise", "dequantise"):
        print("SHARES", culprit, first["name"], first["share"], lane["attribution"]["sum"])
    return whole and first["name"] == culprit.replace("quantise", "dequantise")


def main():
    program, first, count = os.path.abspath(sys.argv[1]), *(int(number) for number in sys.argv[2:4] or (0, 20))
    found = shared = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for number in range(first, first + count):
            arguments, names, nodes = plant(number)
            assert nodes >= 40, nodes
            ran = subprocess.run([program, "audit", *arguments, "-i", "x.npz", "-q", "-t", "1", "-o", "r"], check=True, capture_output=True, text=True)
            verdict = " ".join(ran.stdout.split("\n\n")[0].split())
            named = re.search(r"node \d+ (\S+)", verdict)
            right = bool(named) and named[1] in names
            found += right
            shared += number % 4 == 3 or has_share(*names)
            print("named " if right else "MISSED", number, KINDS[number % 4], *sorted(names), f"{nodes} nodes:", verdict)
    print(f"{found} of {count} culprits are named first, {shared} have the largest share")
    return min(found, shared) < .95 * count


sys.exit(main())
