#!/usr/bin/env python3
"""29 quantised layers, one after the other: products of 64 values, every third a sum with what came before.

    python3 stack.py FOLDER

stack.onnx   the layers between DequantizeLinear and QuantizeLinear, INT8 with a scale for each tensor
inputs.npz   sixteen rows
"""
import numpy as np
from model import Graph, Random, folder, grid, save

WIDTH, LAYERS, ROWS = 64, 29, 16


def step(largest):
    return np.asarray(np.ceil(largest / 127 * 65536) / 65536, np.float32)


def main():
    name_of, random, g = folder(), Random(29), Graph("stack")
    x = grid(random.normal(ROWS, WIDTH))
    given, zero, size = x, g.constant("zero_point", 0, np.int8), step(np.abs(x).max())

    def pair(value, size, name):
        scale = g.constant(name + ".scale", size)
        return g.add("DequantizeLinear", name + "/DequantizeLinear", g.add("QuantizeLinear", name + "/QuantizeLinear", value, scale, zero), scale, zero)

    value = before = pair("x", size, "in")
    seen = x
    for layer in range(LAYERS):
        name = f"layer{layer:02}"
        if layer % 3 == 2:
            seen = seen + x
            made = g.add("Add", name + "/Add", value, before)
        else:
            w = grid(random.matrix(WIDTH, WIDTH))
            scale = step(np.abs(w).max())
            q = g.constant(name + ".weight", np.clip(np.round(w / scale), -127, 127), np.int8)
            weight = g.add("DequantizeLinear", name + "/weight/DequantizeLinear", q, g.constant(name + ".weight_scale", scale), zero)
            x = seen
            before = value
            seen = seen @ w
            made = g.add("MatMul", name + "/MatMul", value, weight)
        value = pair(made, step(np.abs(seen).max()), name)
    g.add("Identity", "last", value, output="y")
    g.write(name_of("stack.onnx"), {"x": (ROWS, WIDTH)}, {"y": (ROWS, WIDTH)})
    save(name_of("inputs.npz"), x=given)


if __name__ == "__main__":
    main()
