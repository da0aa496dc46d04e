#!/usr/bin/env python3
"""A network of three products with quantised weights, and a fault in the scales of one of them, which the seed chooses.

    planted_scales.py WRITER FOLDER SEED FAULT

FAULT: none; nan: a scale is NaN; power: the weights of a block are rounded by a scale twice as large; stored: the scales of a row of blocks are stored
twice as large as they were when the weights were rounded; axis: blocks lie along the axis that is not summed; outlier: an input's channel is 64 times as large,
and its weights are so much smaller. Writes float.onnx, quantised.onnx, inputs.npz, of an outlier smooth.onnx, where a power of two for each channel goes from the value to its weights, and prints the number of the product with the fault, and what the output gains in dB when its weights are quantised
again, by the largest magnitude of each block along the summed axis over 127."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model  # noqa: E402

BLOCK, LAYERS, ROWS, CHANNEL = 32, 3, 8, 7


def quantise(w, fault):
    """INT8 codes and scales; the largest code is 126, so that half of it is below half of 127."""
    flat = w.T if fault == "axis" else w
    blocks = flat.reshape(flat.shape[0] // BLOCK, BLOCK, -1)
    scale = np.abs(blocks).max(1) / 126
    if fault == "power":
        scale[1, 5] *= 2
    codes = np.rint(blocks / scale[:, None]).astype(np.int8).reshape(flat.shape)
    scale = scale.astype(np.float32)
    if fault == "nan":
        scale[1, 9] = np.nan
    if fault == "stored":
        scale[1] *= 2
    return (codes.T, scale.T) if fault == "axis" else (codes, scale)


def gain(x, floats, read, faulty):
    """In FP64, whose roundings are 2^-45 of the quantisers' and show in no digit that is compared."""
    def error(weights):
        outputs = []
        for chosen in (floats, weights):
            y = x.astype(np.float64)
            for w in chosen:
                y = np.maximum(y @ w, 0)
            outputs.append(y)
        return ((outputs[1] - outputs[0]) ** 2).sum()

    blocks = floats[faulty].reshape(-1, BLOCK, floats[faulty].shape[1])
    scale = (abs(blocks).max(1, keepdims=True) / 127).astype(np.float32).astype(np.float64)
    again = (np.rint(blocks / scale) * scale).reshape(floats[faulty].shape)
    return 10 * np.log10(error(read) / error([again if i == faulty else w for i, w in enumerate(read)]))


def main():
    folder, seed, fault = pathlib.Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    random = np.random.RandomState(seed)
    size, faulty = 64 + 32 * (seed % 2), seed % LAYERS if fault != "outlier" else 0
    x = random.uniform(-1, 1, (ROWS, size)).astype(np.float32)
    plain, quantised, floats, codes = [], [], {}, {}
    for layer in range(LAYERS):
        w = (random.uniform(-2, 2, (size, size)) / np.sqrt(size)).astype(np.float32)
        if fault == "outlier" and layer == faulty:
            x[:, CHANNEL] *= 64
            w[CHANNEL] /= 64
        floats[f"w{layer}"] = w
        codes[f"c{layer}"], codes[f"s{layer}"] = quantise(w, fault if layer == faulty else "none")
        quantised.append(node("DequantizeLinear", f"c{layer} s{layer}", f"w{layer}", f"dequantize{layer}", axis=int(fault == "axis" and layer == faulty), block_size=BLOCK))
        for nodes in (plain, quantised):
            nodes += [node("MatMul", f"x{layer} w{layer}", f"y{layer}", f"product{layer}"), node("Relu", f"y{layer}", f"x{layer + 1}", f"relu{layer}")]
    for name, nodes, constants in (("float", plain, floats), ("quantised", quantised, codes)):
        write_model(str(folder / f"{name}.onnx"), nodes, {"x0": (ROWS, size)}, {f"x{LAYERS}": (ROWS, size)}, constants)
    np.savez(folder / "inputs.npz", x0=x)
    if fault == "outlier":
        power = np.log2(abs(x).max(0).astype(np.float64) / abs(floats["w0"]).max(1)) / 2
        scale = 2.0 ** np.rint(power - power.mean())
        smooth = [node("Mul", "x0 down", "scaled", "scale"), node("MatMul", "scaled up", "y0", "product0"), *plain[1:]]
        floats |= {"down": (1 / scale).astype(np.float32), "up": (floats["w0"] * scale[:, None]).astype(np.float32)}
        write_model(str(folder / "smooth.onnx"), smooth, {"x0": (ROWS, size)}, {f"x{LAYERS}": (ROWS, size)}, {n: v for n, v in floats.items() if n != "w0"})
    read = []
    for i in range(LAYERS):
        axis = int(fault == "axis" and i == faulty)
        read.append(codes[f"c{i}"] * np.repeat(codes[f"s{i}"].astype(np.float64), BLOCK, axis))
    print(faulty, gain(x, [floats[f"w{i}"].astype(np.float64) for i in range(LAYERS)], read, faulty))


main()
