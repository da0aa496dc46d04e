#!/usr/bin/env python3
"""Audits of stacks of equal layers: time per layer must not grow with their number, nor memory.

    stack.py [--ulpscope PROGRAM] [--arith LIST] [--layers 25,50,...] [--width N] [--json FILE]

A layer is LayerNormalization, MatMul, Gelu, MatMul and a residual Add; all layers share their weights' values but not their tensors,
as trained networks do. Prints processor and wall seconds a layer and peak resident memory; what grows with the model itself (its
file, which is held in memory) is printed beside it.
"""
import argparse
import json
import os
import sys
import tempfile

import process


def make_model(path, layers, width):
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    generator = numpy.random.default_rng(1)
    nodes, weights, value = [], [], "x"

    def weight(name, *shape):
        weights.append(numpy_helper.from_array((generator.standard_normal(shape) / shape[0] ** 0.5).astype(numpy.float32), name))
        return name

    for i in range(layers):
        scale = numpy_helper.from_array(numpy.ones(width, numpy.float32), f"scale{i}")
        weights.append(scale)
        nodes += [
            helper.make_node("LayerNormalization", [value, f"scale{i}"], [f"norm{i}"], name=f"norm{i}"),
            helper.make_node("MatMul", [f"norm{i}", weight(f"up{i}", width, 2 * width)], [f"wide{i}"], name=f"up{i}"),
            helper.make_node("Gelu", [f"wide{i}"], [f"gelu{i}"], name=f"gelu{i}"),
            helper.make_node("MatMul", [f"gelu{i}", weight(f"down{i}", 2 * width, width)], [f"narrow{i}"], name=f"down{i}"),
            helper.make_node("Add", [value, f"narrow{i}"], [f"y{i}"], name=f"add{i}"),
        ]
        value = f"y{i}"
    shape = [1, 32, width]
    graph = helper.make_graph(nodes, "stack", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)], weights)
    onnx.save(helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)]), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ulpscope", default="./ulpscope")
    parser.add_argument("--arith", default="fp16,fp32")
    parser.add_argument("--layers", default="25,50,100,200,400")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    try:
        import onnx  # noqa: F401
    except ImportError as missing:
        print(f"stack: not measured: {missing} (pip install onnx)")
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model, output = os.path.join(folder, "stack.onnx"), os.path.join(folder, "audit")
        for layers in map(int, options.layers.split(",")):
            make_model(model, layers, options.width)
            command = [options.ulpscope, "audit", model, "--arith", options.arith, "--seed", "1", "--quiet", "--threads",
                       str(options.threads), "--out", output]
            best = min((process.run(command) for _ in range(2)), key=lambda cost: cost.processor_seconds)
            rows.append({"layers": layers, "seconds": best.seconds, "processor_seconds": best.processor_seconds,
                         "peak_bytes": best.peak_bytes, "model_bytes": os.path.getsize(model)})
    print(f"audit -a {options.arith} of a stack of layers, width {options.width}")
    print("layers  ms a layer  processor ms a layer  peak MiB  model MiB  peak less model")
    for row in rows:
        print(f"{row['layers']:6}  {row['seconds'] / row['layers'] * 1e3:10.2f}  {row['processor_seconds'] / row['layers'] * 1e3:20.2f}  "
              f"{row['peak_bytes'] / 2**20:8.1f}  {row['model_bytes'] / 2**20:9.1f}  {(row['peak_bytes'] - row['model_bytes']) / 2**20:15.1f}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"stack": rows}, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
