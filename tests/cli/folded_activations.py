#!/usr/bin/env python3
"""A network of three products with activations, and its quantised twin as quantisers write it: Relu and Clip are in the range of the pair behind them, and gone.

    folded_activations.py WRITER FOLDER RELU|CLIP|CLIP6 KEPT|FOLDED|RENAMED

FOLDED: the pair reads what the activation read; RENAMED: what the activation gave is the product's. CLIP6: bounds are attributes. KEPT: the activation is there,
and the three have the same numbers."""
import pathlib
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model  # noqa: E402

folder, kind, form = pathlib.Path(sys.argv[2]), sys.argv[3], sys.argv[4]
random = np.random.RandomState(11)
x = random.randn(16, 24).astype(np.float32)
weights = {f"w{i}": (random.randn(24, 24) / 4).astype(np.float32) for i in range(3)}
top = np.inf if kind == "RELU" else 1.0
opset = 10 if kind == "CLIP6" else 17
constants = {**weights, "low": np.float32(0), "high": np.float32(1), "zero": np.uint8(0)}
plain, quantised, value, at, read = [], [], x.astype(np.float64), "x", "x"
for i in range(3):
    plain.append(node("MatMul", f"{at} w{i}", f"y{i}", f"product{i}"))
    value = value @ weights[f"w{i}"]
    name = f"a{i}" if form == "RENAMED" and i < 2 else f"y{i}"
    quantised.append(node("MatMul", f"{read} w{i}", name, f"product{i}"))
    if i == 2:
        break
    value = np.clip(value, 0, top)
    activation = {"RELU": node("Relu", f"y{i}", f"a{i}", f"act{i}"), "CLIP": node("Clip", f"y{i} low high", f"a{i}", f"act{i}"),
                  "CLIP6": node("Clip", f"y{i}", f"a{i}", f"act{i}", min=0.0, max=1.0)}[kind]
    plain.append(activation)
    if form == "KEPT":
        quantised.append(activation)
        name = f"a{i}"
    # of Relus the second one's scale is four times too coarse: it is the pair that costs most
    constants[f"s{i}"] = np.float32(value.max() / 255 * (4 if i == 1 and kind == "RELU" else 1))
    quantised += [node("QuantizeLinear", f"{name} s{i} zero", f"{name}_QuantizeLinear_Output", f"q{i}"),
                  node("DequantizeLinear", f"{name}_QuantizeLinear_Output s{i} zero", f"{name}_DequantizeLinear_Output", f"d{i}")]
    at, read = f"a{i}", f"{name}_DequantizeLinear_Output"
used = {n: a for n, a in constants.items() if n in weights or (kind == "CLIP" and n in ("low", "high"))}
write_model(str(folder / "float.onnx"), plain, {"x": x.shape}, {"y2": None}, used, opset=opset)
write_model(str(folder / "quantised.onnx"), quantised, {"x": x.shape}, {"y2": None}, {**used, **constants}, opset=opset)
np.savez(folder / "inputs.npz", x=x)
