#!/usr/bin/env python3
"""Walkthrough 5: torch.nn.MultiheadAttention in a transformer decoder layer, as PyTorch's exporter writes it.

    python3 attention.py FOLDER

zero.onnx   as exported: Reshape with allowzero=1 and a zero that was to copy a dimension
fixed.onnx  without allowzero. It declares a free batch, but the exporter wrote the batch of its example into the shapes of Reshape
model.onnx  with shapes that follow the input
inputs.npz, other.npz  two inputs
"""
import numpy as np
from model import Graph, Random, folder, save

LENGTH, MEMORY, WIDTH, HEADS, LAYERS = 24, 48, 64, 8, 2
SIZE = WIDTH // HEADS


def attend(g, random, name, query, memory, fixed, zero):
    """Time first, as nn.MultiheadAttention computes: [length, batch * heads, size]."""
    parts = {}
    for part, source, length in (("q", query, LENGTH), ("k", memory, MEMORY if memory == "memory" else LENGTH), ("v", memory, MEMORY if memory == "memory" else LENGTH)):
        y = g.linear(f"{name}/{part}", source, random.matrix(WIDTH, WIDTH, 2 if part != "v" else 1), random.normal(WIDTH, scale=0.2))
        if part == "q":
            y = g.add("Mul", name + "/Mul", y, g.constant("scale", np.float32(SIZE ** -0.5)))
        shape = g.constant(f"shape_{length}_heads", [length, HEADS, SIZE] if fixed else [0, -1, SIZE], np.int64)
        y = g.add("Reshape", f"{name}/{part}/Reshape", y, shape)
        parts[part] = g.add("Transpose", f"{name}/{part}/Transpose", y, perm=[1, 2, 0] if part == "k" else [1, 0, 2])
    weights = g.add("Softmax", name + "/Softmax", g.add("MatMul", name + "/MatMul", parts["q"], parts["k"]), axis=-1)
    y = g.add("Transpose", name + "/Transpose", g.add("MatMul", name + "/MatMul_1", weights, parts["v"]), perm=[1, 0, 2])
    y = g.add("Reshape", name + "/Reshape", y, g.constant("join", [0, -1, WIDTH], np.int64), **({"allowzero": 1} if zero else {}))
    return g.linear(name + "/out_proj", y, random.matrix(WIDTH, WIDTH), random.normal(WIDTH, scale=0.2))


def network(random, fixed, zero):
    g = Graph("decoder")
    x = "target"
    for i in range(LAYERS):
        name = f"layers.{i}"

        def norm(part, value):
            return g.layer_norm(f"{name}/{part}", value, random.normal(WIDTH, scale=0.1) + 1, random.normal(WIDTH, scale=0.1))

        x = norm("norm1", g.add("Add", name + "/Add", x, attend(g, random, name + "/self_attn", x, x, fixed, zero)))
        x = norm("norm2", g.add("Add", name + "/Add_1", x, attend(g, random, name + "/multihead_attn", x, "memory", fixed, zero)))
        up = g.add("Relu", name + "/Relu", g.linear(name + "/linear1", x, random.matrix(WIDTH, 2 * WIDTH), random.normal(2 * WIDTH, scale=0.2)))
        x = norm("norm3", g.add("Add", name + "/Add_2", x, g.linear(name + "/linear2", up, random.matrix(2 * WIDTH, WIDTH), random.normal(WIDTH, scale=0.2))))
    g.add("Mul", "filter/Mul", x, g.constant("filter", random.normal(WIDTH)), output="output")
    return g


def main():
    name, random = folder(), Random(3596)
    state = random.generator.get_state()
    for file, fixed, zero in (("zero.onnx", True, True), ("fixed.onnx", True, False), ("model.onnx", False, False)):
        random.generator.set_state(state)  # the same weights
        network(random, fixed, zero).write(name(file), {"target": (LENGTH, "batch", WIDTH), "memory": (MEMORY, "batch", WIDTH)}, {"output": (LENGTH, "batch", WIDTH)}, opset=14)
    for file in ("inputs.npz", "other.npz"):
        save(name(file), target=random.normal(LENGTH, 2, WIDTH), memory=random.normal(MEMORY, 2, WIDTH))


if __name__ == "__main__":
    main()
