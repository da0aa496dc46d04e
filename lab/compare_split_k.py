#!/usr/bin/env python3
"""Products whose k cuBLAS cut, against what split-k=cublas gives: every element of the recorded rows.

    lab/compare_split_k.py ULPSCOPE FILE [--largest ELEMENTS]

FILE is of lab/record_split_k.py. A shape that is not in its grid may be cut otherwise than the nearest one that is: it is said and not counted.
--largest: leave out products with a second factor of more elements. Exit code 1: a product of a recorded shape differs. Needs numpy and onnx."""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper

NAMES = {"f16": "fp16", "bf16": "bf16"}
ROWS = [1, 8, 9, 16, 17, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024]  # of cublas_split.def


def bits(values, kind):
    if kind == "f16":
        return values.astype(np.float16).view(np.int16)
    return (values.view(np.uint32) >> 16).astype(np.uint16).view(np.int16)  # values of the format


def multiply(program, work, kind, op, x, w, rows):
    path, inputs, out = (os.path.join(work, name) for name in ("m.onnx", "i.npz", "o.npz"))
    node = helper.make_node("MatMul", ["x", "w"], ["y"]) if op == "matmul" else helper.make_node("Gemm", ["x", "w"], ["y"], transB=1)
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in (("x", x), ("w", w))]
    graph = helper.make_graph([node], "g", info, [helper.make_empty_tensor_value_info("y")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    np.savez(inputs, x=x, w=w)
    subprocess.run([program, "run", path, "-i", inputs, "-a", f"{NAMES[kind]}@h100,split-k=cublas,rows={rows}", "-q", "-o", out], check=True)
    return np.load(out)["y"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--largest", type=int, default=1 << 40)
    given = parser.parse_args()
    recorded = np.load(given.file)
    counted = differing = 0
    with tempfile.TemporaryDirectory() as work:
        for name in recorded.files:
            kind, op, shape = name.split(".")
            m, n, k = (int(number) for number in shape.split("x"))
            want = recorded[name]
            if n * k > given.largest or m % want.shape[0]:
                continue
            generator = np.random.default_rng(k)
            x, w = generator.standard_normal((m, k), np.float32)[:want.shape[0]], generator.standard_normal((k, n), np.float32)
            got = bits(multiply(given.program, work, kind, op, x, w if op == "matmul" else np.ascontiguousarray(w.T), m // want.shape[0])[:, :want.shape[1]], kind)
            wrong = int((got != want).sum())
            known = m in ROWS
            counted += known
            differing += known and wrong > 0
            if wrong or not known:
                print(f"{name}: {wrong} of {want.size} elements differ" + ("" if known else "; these rows were not recorded"))
    print(f"{counted - differing} of {counted} products of recorded shapes have equal bits")
    return 1 if differing or not counted else 0


if __name__ == "__main__":
    sys.exit(main())
