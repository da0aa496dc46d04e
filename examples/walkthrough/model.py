"""What the walkthroughs' models share: a graph that is built node by node, and numbers that every machine draws alike.

Weights and inputs lie on a coarse grid: sums in another order, or another numpy, then give the same files.
"""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_writer import FLOAT, FLOAT16, INT64, node, write_model  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import


def grid(values, step=2.0**-12):
    return (np.round(np.asarray(values, np.float64) / step) * step).astype(np.float32)


class Random:
    """numpy's frozen generator, and normal numbers without a function whose last bit varies between machines."""

    def __init__(self, seed):
        self.generator = np.random.RandomState(seed)

    def normal(self, *shape, scale=1.0):
        total = np.zeros(shape)
        for _ in range(12):
            total = total + self.generator.random_sample(shape)
        return grid((total - 6) * scale)

    def matrix(self, rows, columns, scale=1.0):
        """Weights that keep the variance of a row of inputs."""
        return self.normal(rows, columns, scale=scale / np.sqrt(rows))

    def uniform(self, *shape):
        return self.generator.random_sample(shape)

    def integers(self, low, high, *shape):
        return self.generator.randint(low, high, shape)


class Graph:
    """Nodes named after the module that they come from, as exporters do; every value is called as its node, with _out."""

    def __init__(self, name):
        self.name, self.nodes, self.constants = name, [], {}

    def constant(self, name, value, dtype=np.float32):
        self.constants[name] = np.asarray(value, dtype)
        return name

    def add(self, op, name, *inputs, output=None, **attributes):
        output = output or name + "_out"
        self.nodes.append((op, name, list(inputs), output, attributes))
        return output

    def linear(self, name, x, weight, bias=None):
        y = self.add("MatMul", name + "/MatMul", x, self.constant(name + ".weight", weight))
        return y if bias is None else self.add("Add", name + "/Add", y, self.constant(name + ".bias", bias))

    def layer_norm(self, name, x, scale, bias, epsilon=1e-5):
        """As exporters write it out before opset 17."""
        self.constant("two", 2.0)
        d = self.add("Sub", name + "/Sub", x, self.add("ReduceMean", name + "/ReduceMean", x, axes=[-1]))
        variance = self.add("ReduceMean", name + "/ReduceMean_1", self.add("Pow", name + "/Pow", d, "two"), axes=[-1])
        deviation = self.add("Sqrt", name + "/Sqrt", self.add("Add", name + "/Add", variance, self.constant(name + ".epsilon", epsilon)))
        y = self.add("Mul", name + "/Mul", self.add("Div", name + "/Div", d, deviation), self.constant(name + ".scale", scale))
        return self.add("Add", name + "/Add_1", y, self.constant(name + ".bias", bias))

    def write(self, path, inputs, outputs, opset=13, **types):
        nodes = [node(op, " ".join(values), output, called=name, **attributes) for op, name, values, output, attributes in self.nodes]
        write_model(path, nodes, inputs, outputs, self.constants, opset, ir_version=8, name=self.name, types=types)
        print(f"{path}: {len(self.nodes)} nodes, {os.path.getsize(path) // 1024} KiB")


def convolve(x, w, strides=(1, 1), pads=(0, 0, 0, 0)):
    x = np.pad(x, ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    rows, columns = ((x.shape[2 + i] - w.shape[2 + i]) // strides[i] + 1 for i in (0, 1))
    return sum(np.einsum("nchw,oc->nohw", x[:, :, i:i + strides[0] * rows:strides[0], j:j + strides[1] * columns:strides[1]], w[:, :, i, j])
               for i in range(w.shape[2]) for j in range(w.shape[3]))


def softmax(x, axis=-1):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


OPERATORS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Sqrt": np.sqrt, "MatMul": np.matmul,
    "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Softmax": softmax, "Conv": convolve,
    "ReduceMean": lambda x, axes, keepdims=1: np.mean(x, axis=tuple(axes), keepdims=bool(keepdims)),
    "Reshape": lambda x, shape: np.reshape(x, [x.shape[i] if size == 0 else size for i, size in enumerate(shape)]),
    "Transpose": lambda x, perm: np.transpose(x, perm), "Gather": lambda x, i, axis=0: np.take(x, i, axis=axis),
    "Gemm": lambda x, w, b: x @ w + b, "Flatten": lambda x: x.reshape(len(x), -1),
    "GlobalAveragePool": lambda x: np.mean(x, axis=(2, 3), keepdims=True),
}


def evaluate(g, **inputs):
    """All values of a graph in FP64, for calibration and training."""
    values = {name: np.asarray(value, np.float64 if value.dtype.kind == "f" else value.dtype) for name, value in {**g.constants, **inputs}.items()}
    for op, _, names, output, attributes in g.nodes:
        values[output] = OPERATORS[op](*(values[name] for name in names), **attributes)
    return values


def folder():
    """The folder named on the command line, made if need be; and a function that names a file in it."""
    path = sys.argv[1] if len(sys.argv) > 1 else "."
    os.makedirs(path, exist_ok=True)
    return lambda name: os.path.join(path, name)


def save(path, **arrays):
    np.savez(path, **arrays)
    print(path + ": " + ", ".join(f"{name} {'x'.join(map(str, value.shape))}" for name, value in arrays.items()))


def layer(name, kind, inputs, outputs, nodes, tactic="", weights=None):
    """One entry of TensorRT's layer information; inputs and outputs: [(name, shape, format and type)]."""
    entry = {"Name": name, "LayerType": kind, "TacticName": tactic, "Metadata": "\x1e".join(f"[ONNX Layer: {item}]" for item in nodes)}
    for key, tensors in (("Inputs", inputs), ("Outputs", outputs)):
        entry[key] = [{"Name": tensor, "Dimensions": list(shape), "Format/Datatype": text} for tensor, shape, text in tensors]
    if weights:
        entry["Weights"] = {"Type": weights[0], "Count": int(weights[1])}
    return entry


def save_layers(path, layers, bindings):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"Layers": layers, "Bindings": bindings}, file, indent=1)
    print(f"{path}: {len(layers)} layers")
