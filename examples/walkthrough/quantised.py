#!/usr/bin/env python3
"""Walkthrough 2: a small image network, quantised to INT8 with QuantizeLinear and DequantizeLinear.

    python3 quantised.py FOLDER

float.onnx   the original
qdq.onnx     every convolution quantised, with one scale for each tensor: as a tool exports it
first.onnx   the same without Q/DQ around the first two convolutions, which are then free to run in FP16
channels.onnx  as qdq.onnx, with a scale for each channel of the weights
layers.json  layer information as trtexec writes it, of an engine of qdq.onnx whose builder was asked for FP16 in the first two
layers_first.json  the same of an engine of first.onnx
inputs.npz   eight images
"""
import numpy as np
from model import Graph, Random, evaluate, folder, grid, layer, save, save_layers

SIZE, CLASSES = 16, 10
CONVOLUTIONS = (("stem", 3, 16, 1), ("block0/conv", 16, 16, 1), ("block1/conv", 16, 32, 2), ("block2/conv", 32, 32, 1))  # name, channels, stride


def draw_weights(random):
    weights = {}
    for name, channels, outputs, _ in CONVOLUTIONS:
        weights[name] = random.normal(outputs, channels, 3, 3, scale=np.sqrt(2 / (9 * channels)))
    # Batch normalisation folded into a first layer leaves channels of unlike size.
    weights["stem"] = grid(weights["stem"] * np.exp2(random.integers(-6, 1, 16)).reshape(16, 1, 1, 1))
    weights["block0/conv"] = grid(weights["block0/conv"] / np.sqrt(np.mean(weights["stem"].reshape(16, -1) ** 2, axis=1) * 27 / 2).reshape(1, 16, 1, 1))
    return weights


def calibrate(weights, images):
    """The largest magnitude that each convolution reads."""
    g = network(weights, {}, Random(0), (), False)
    values = evaluate(g, image=images)
    return {name: np.abs(values[node[2][0]]).max() for (name, *_), node in zip(CONVOLUTIONS, [node for node in g.nodes if node[0] == "Conv"])}


def step(largest):
    """A scale on a grid, so that every machine finds the same."""
    return np.asarray(np.ceil(largest / 127 * 65536) / 65536, np.float32)


def network(weights, largest, random, quantised, by_channel):
    g = Graph("classifier")
    x = "image"
    for name, _, _, stride in CONVOLUTIONS:
        weight = weights[name]
        if name in quantised:
            q = name.rsplit("/", 1)[0] if "/" in name else name
            scale = g.constant(q + ".input_scale", step(largest[name]))
            zero = g.constant("zero_point", 0, np.int8)
            x = g.add("DequantizeLinear", q + "/input/DequantizeLinear", g.add("QuantizeLinear", q + "/input/QuantizeLinear", x, scale, zero), scale, zero)
            size = step(np.abs(weight).max(axis=(1, 2, 3) if by_channel else None))
            stored = g.constant(name + ".weight", np.clip(np.round(weight / size.reshape(-1, 1, 1, 1)), -127, 127), np.int8)
            zeros = g.constant(q + ".weight_zero_point", np.zeros(size.shape), np.int8)
            w = g.add("DequantizeLinear", q + "/weight/DequantizeLinear", stored, g.constant(q + ".weight_scale", size), zeros,
                      axis=0 if by_channel else 1)
        else:
            w = g.constant(name + ".weight", weight)
        x = g.add("Conv", name + "/Conv", x, w, pads=[1, 1, 1, 1], strides=[stride, stride])
        x = g.add("Relu", name + "/Relu", x)
    x = g.add("Flatten", "head/Flatten", g.add("GlobalAveragePool", "head/GlobalAveragePool", x))
    g.add("Gemm", "head/Gemm", x, g.constant("head.weight", random.matrix(32, CLASSES)), g.constant("head.bias", random.normal(CLASSES)), output="scores")
    return g


def engine(weights, first):
    """INT8 kernels for the convolutions, FP16 for the head; FP16 for the first two where they have no Q/DQ."""
    int8, half, single = "Row major Int8 format", "Row major linear FP16 format", "Row major linear FP32"
    layers, value = [], ("image", (8, 3, SIZE, SIZE), single)
    names = [name.rsplit("/", 1)[0] if "/" in name else name for name, *_ in CONVOLUTIONS]
    for i, (name, _, outputs, _) in enumerate(CONVOLUTIONS):
        size, wide = SIZE if i < 2 else SIZE // 2, first and i < 2
        if i == 0 or (first and i == 2):  # a copy into the type that is read
            nodes = [] if wide else [names[i] + "/input/QuantizeLinear"]
            copied = (nodes[0] + "_out" if nodes else "Reformatted image", value[1], half if wide else int8)
            layers.append(layer(nodes[0] if nodes else "Reformatting CopyNode for Input Tensor 0 to stem/Conv", "Reformat", [value], [copied], nodes))
            value = copied
        more = i + 1 < len(names) and not (first and i < 2)  # the next reads integers of this kernel
        output = (names[i + 1] + "/input/QuantizeLinear_out" if more else name + "/Relu_out", (8, outputs, size, size), int8 if more else half)
        nodes = [] if wide else [names[i] + "/weight/DequantizeLinear", names[i] + "/input/DequantizeLinear"]
        nodes += [name + "/Conv", name + "/Relu"] + ([names[i + 1] + "/input/QuantizeLinear"] if more else [])
        kernel = "f16f16_f16f32_f32_nhwckrsc_nhwc" if wide else "i8i8_i8i32_f32_nchw_vect_c_32kcrs_vect_c_32_nchw_vect_c_32"
        layers.append(layer(f"{name}.weight + {name}/Conv + {name}/Relu", "CaskConvolution", [value], [output], nodes,
                            f"sm80_xmma_fprop_implicit_gemm_{kernel}_tilesize96x64x64_stage3", ("Half" if wide else "Int8", weights[name].size)))
        value = output
    pooled = ("head/GlobalAveragePool_out", (8, 32, 1, 1), half)
    layers.append(layer("head/GlobalAveragePool", "CaskPooling", [value], [pooled], ["head/GlobalAveragePool"]))
    layers.append(layer("head/Gemm", "CaskGemmMatrixMultiply", [pooled], [("scores", (8, CLASSES), single)], ["head/Gemm"],
                        "sm80_xmma_gemm_f16f16_f16f16_f16_tn_n_tilesize32x32x64_stage3", ("Half", 32 * CLASSES)))
    return layers


def main():
    name, random = folder(), Random(3719)
    weights = draw_weights(random)
    images = grid(random.uniform(8, 3, SIZE, SIZE))
    largest = calibrate(weights, images)
    everything = [item[0] for item in CONVOLUTIONS]
    shapes = {"image": ("batch", 3, SIZE, SIZE)}, {"scores": ("batch", CLASSES)}
    state = random.generator.get_state()
    for file, quantised in (("float.onnx", ()), ("qdq.onnx", everything), ("channels.onnx", everything), ("first.onnx", everything[2:])):
        random.generator.set_state(state)  # the same head in all
        network(weights, largest, random, quantised, file == "channels.onnx").write(name(file), *shapes)
    save_layers(name("layers.json"), engine(weights, False), ["image", "scores"])
    save_layers(name("layers_first.json"), engine(weights, True), ["image", "scores"])
    save(name("inputs.npz"), image=images)


if __name__ == "__main__":
    main()
