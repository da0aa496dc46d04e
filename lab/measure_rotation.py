#!/usr/bin/env python3
"""What a rotation, and smooth scales, in front of every product of a value with weights would gain in formats with scales: the table of lab/scales.md.

    lab/measure_rotation.py PROGRAM DATA NETWORK...

DATA holds models/NAME/{model.onnx,inputs.npz}. x W = (x H) (H' W), H of Hadamard blocks of the largest power of two, up to 128, that divides k; the rotation itself is computed in BF16. Smooth scales are those of `ulpscope fix`,
but in front of every product, outlier or not. Needs onnx."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper, numpy_helper

FORMATS = ["mxfp4", "nvfp4", "mxfp8", "fp8-tensor"]


def run(program, model, inputs, arithmetic, *more):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.npz"
        subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "-o", out, "-q", "--threads", "1", *more], check=True)
        with np.load(out) as arrays:
            return {name: arrays[name].astype(np.float64) for name in arrays if arrays[name].dtype.kind == "f"}


def decibels(truth, value):
    return min(10 * np.log10((x**2).sum() / ((value[name] - x) ** 2).sum()) for name, x in truth.items())


def rotation(k):
    size = next(n for n in (128, 64, 32, 16, 8, 4, 2, 1) if k % n == 0)
    block = np.ones((1, 1))
    while len(block) < size:
        block = np.block([[block, block], [block, -block]]) / np.sqrt(2)
    return np.kron(np.eye(k // size), block)


def smooth(x, w):
    value, weight = abs(x).max(0), abs(w).max(1)
    there = (value > 0) & (weight > 0)
    powers = np.log2(np.where(there, value, 1) / np.where(there, weight, 1)) / 2
    return np.diag(2.0 ** np.where(there, -np.rint(powers - powers[there].mean()), 0))


def change(path, values, make, op, out):
    """Each product reads its value times make(...), and weights that take that back; how many there are."""
    model = onnx.load(path)
    graph, count = model.graph, 0
    constants = {tensor.name: tensor for tensor in graph.initializer}
    for at, node in reversed(list(enumerate(graph.node))):
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type not in ("MatMul", "Gemm") or node.input[1] not in constants or node.input[0] not in values or attributes.get("transA"):
            continue
        weights = numpy_helper.to_array(constants[node.input[1]]).astype(np.float64)
        if weights.ndim != 2:
            continue
        w = weights.T if attributes.get("transB") else weights
        by = make(values[node.input[0]].reshape(-1, len(w)).astype(np.float64), w)
        back = np.linalg.inv(by) @ w
        names = [f"made/{at}/{part}" for part in ("by", "weights", "value")]
        graph.initializer.append(numpy_helper.from_array((by if op == "MatMul" else by.diagonal()).astype(np.float32), names[0]))
        graph.initializer.append(numpy_helper.from_array(np.ascontiguousarray(back.T if attributes.get("transB") else back, np.float32), names[1]))
        made = helper.make_node(op, [node.input[0], names[0]], [names[2]], name=f"made/{at}")
        node.input[0], node.input[1] = names[2], names[1]
        graph.node.insert(at, made)
        count += 1
    onnx.save(model, out)
    return count


def main():
    program, data, networks = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    ways = {"rotation": (lambda x, w: rotation(len(w)), "MatMul"), "smooth scales": (smooth, "Mul")}
    print("| network | products |" + "".join(f" {f} | {' | '.join(ways)} |" for f in FORMATS))
    print("|---|--:|" + "--:|" * len(FORMATS) * (1 + len(ways)))
    for network in networks:
        path, inputs = data / "models" / network / "model.onnx", data / "models" / network / "inputs.npz"
        truth = run(program, path, inputs, "fp64")
        values = {**run(program, path, inputs, "fp32", "--all-values"), **np.load(inputs)}
        cells, count = [], 0
        for name in FORMATS:
            arithmetic = f"bf16,factor={name}"
            before = decibels(truth, run(program, path, inputs, arithmetic))
            cells.append(f"{before:.1f}")
            for make, op in ways.values():
                with tempfile.TemporaryDirectory() as folder:
                    changed = pathlib.Path(folder) / "model.onnx"
                    count = change(path, values, make, op, changed)
                    cells.append(f"{decibels(truth, run(program, changed, inputs, arithmetic, '--keep', 'made/*=bf16')) - before:+.1f}")
        print(f"| {network} | {count} | {' | '.join(cells)} |", flush=True)


main()
