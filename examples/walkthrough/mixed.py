#!/usr/bin/env python3
"""Walkthrough 1: a network that finds speech in noise, whose blocks divide each frame by its length; and the same with mixed types.

    python3 mixed.py FOLDER

model.onnx      FP32
converted.onnx  what converters make of it when they are told to keep ReduceSum and Pow in FP32: each between Casts of its own, so that
                one of them still hands an FP16 value to the next
mixed.onnx      the same, where these Casts were set to FP32 by hand
layers.json     layer information as trtexec writes it, of an engine that runs all of it in FP16
layers_plan.json the same of an engine that keeps Pow and ReduceSum in FP32
inputs.npz, other.npz  two inputs
"""
import numpy as np
from model import FLOAT, FLOAT16, Graph, Random, folder, grid, layer, save, save_layers

FRAMES, BANDS, WIDTH, BLOCKS = 50, 40, 64, 2
KEPT = ("Pow", "ReduceSum")


def network(random):
    g = Graph("mask")
    g.constant("two", 2.0), g.constant("half", 0.5), g.constant("last", [-1], np.int64)
    h = g.add("Relu", "encoder/Relu", g.linear("encoder", "mixture", random.matrix(BANDS, WIDTH, 40), random.normal(WIDTH)))
    for i in range(BLOCKS):
        name = f"block{i}"
        squares = g.add("Pow", name + "/norm/Pow", h, "two")
        length = g.add("Pow", name + "/norm/Pow_1", g.add("ReduceSum", name + "/norm/ReduceSum", squares, "last"), "half")
        n = g.add("Mul", name + "/norm/Mul", g.add("Div", name + "/norm/Div", h, length), g.constant(name + ".scale", random.normal(WIDTH) + 8))
        up = g.add("Relu", name + "/up/Relu", g.linear(name + "/up", n, random.matrix(WIDTH, 2 * WIDTH), random.normal(2 * WIDTH)))
        h = g.add("Add", name + "/Add", h, g.linear(name + "/down", up, random.matrix(2 * WIDTH, WIDTH, 8)))
    g.add("Sigmoid", "mask/Sigmoid", g.linear("mask", g.add("Div", "scale/Div", h, g.constant("loudness", 32.0)), random.matrix(WIDTH, BANDS)), output="mask")
    return g


def convert(g, between):
    """All in FP16, but the operators of KEPT between Casts of their own; what one of these hands to another is cast to `between`."""
    m = Graph(g.name)
    floats = {name: value for name, value in g.constants.items() if value.dtype == np.float32}
    m.constants = {name: value.astype(np.float16) if name in floats else value for name, value in g.constants.items()}
    kept = {output for op, _, _, output, _ in g.nodes if op in KEPT}
    inner = {value for op, _, inputs, _, _ in g.nodes if op in KEPT for value in inputs if value in kept}
    m.add("Cast", "graph_input_cast0", "mixture", to=FLOAT16)
    for op, name, inputs, output, attributes in g.nodes:
        if op in KEPT:
            m.add(op, name, *(wide(m, name, i, value, floats) for i, value in enumerate(inputs)), output=output + "_fp32", **attributes)
            m.add("Cast", name + "_output_cast0", output + "_fp32", to=between if output in inner else FLOAT16, output=output)
        else:
            inputs = ["graph_input_cast0_out" if value == "mixture" else value for value in inputs]
            m.add(op, name, *inputs, output="mask_fp16" if output == "mask" else output, **attributes)
    m.add("Cast", "graph_output_cast0", "mask_fp16", to=FLOAT, output="mask")
    return m


def wide(m, name, i, value, floats):
    """Input i of node `name` in FP32."""
    if value in floats:
        return m.constant(value + "_fp32", floats[value])
    return value if value in m.constants else m.add("Cast", f"{name}_input_cast{i}", value, to=FLOAT)


def engine(g, kept):
    """One layer for each product with what follows it, and for each step of a norm."""
    half, single, layers, group = "Row major linear FP16 format", "Row major linear FP32", [], []
    for position, (op, name, inputs, output, _) in enumerate(g.nodes):
        value = [item for item in inputs if item not in g.constants]
        group.append((name, value, op))
        following = g.nodes[position + 1][0] if position + 1 < len(g.nodes) else ""
        if following in ("Add", "Relu", "Sigmoid", "Mul") and g.nodes[position + 1][2][0] == output and op not in KEPT:
            continue
        names, product = [item[0] for item in group], group[0][2] == "MatMul"
        made = {name + "_out" for name in names}
        read = [item for part in group for item in part[1] if item not in made]
        type_in = single if kept and op in KEPT else half
        weights = ("Half", g.constants[g.nodes[position - len(group) + 1][2][1]].size) if product else None
        layers.append(layer(" + ".join(names) if product else names[0] if op == "ReduceSum" else "PWN(" + ", ".join(names) + ")",
                            "CaskGemmMatrixMultiply" if product else "Reduce" if op == "ReduceSum" else "PointWiseV2",
                            [(item, (1, FRAMES, 0), single if item == "mixture" else type_in) for item in read],
                            [(output, (1, FRAMES, 0), single if output == "mask" else type_in)], names,
                            "sm80_xmma_gemm_f16f16_f16f16_f16_nn_n_tilesize64x64x64_stage3_warpsize2x2x1_tensor16x8x16" if product else "",
                            weights))
        group = []
    return layers


def main():
    name, random = folder(), Random(4019)
    g = network(random)
    shapes = {"mixture": ("batch", FRAMES, BANDS)}, {"mask": ("batch", FRAMES, BANDS)}
    g.write(name("model.onnx"), *shapes)
    convert(g, FLOAT16).write(name("converted.onnx"), *shapes)
    convert(g, FLOAT).write(name("mixed.onnx"), *shapes)
    save_layers(name("layers.json"), engine(g, False), ["mixture", "mask"])
    save_layers(name("layers_plan.json"), engine(g, True), ["mixture", "mask"])
    for file in ("inputs.npz", "other.npz"):
        loud = np.abs(random.normal(1, FRAMES, 1)) + 0.5  # some frames are louder than others
        save(name(file), mixture=grid(random.normal(1, FRAMES, BANDS) * loud))


if __name__ == "__main__":
    main()
