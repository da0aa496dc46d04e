#!/usr/bin/env python3
"""Train the example: a one-block transformer that reads 8x8 handwritten digits, written as ONNX with its LayerNorms decomposed.

    pip install numpy scikit-learn autograd onnx && python3 train.py

The images are scikit-learn's digits scaled to percent of ink (0 to 100) and, as careless pipelines do, not normalised: the first
LayerNorm takes care of the scale, so FP32 is fine. But the LayerNorm is exported as Sub, Mul, ReduceSum, ... and the sum
of squares of 32 such activations passes 65504: in FP16 it is infinite, its reciprocal root zero, and the network
answers from nothing. `ulpscope audit` names that node. Deterministic: seeded, plain numpy.
Writes model.onnx, inputs.npz (four test images) and expected.npz (their FP32 logits) beside this script.
"""
import os

import autograd.numpy as np
import numpy
import onnx
from autograd import grad
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

TOKENS, PATCH, WIDTH, HIDDEN, CLASSES, EPSILON = 16, 4, 32, 64, 10, 1e-5
HERE = os.path.dirname(os.path.abspath(__file__))


def patches(images):
    """[n, 8, 8] -> [n, 16 tokens, 4 pixels], in percent."""
    tiles = images.reshape(-1, 4, 2, 4, 2).transpose(0, 1, 3, 2, 4).reshape(-1, TOKENS, PATCH)
    return tiles * (100 / 16)


def layer_norm(x, scale, bias):
    d = x - np.mean(x, axis=-1, keepdims=True)
    return d / np.sqrt(np.sum(d * d, axis=-1, keepdims=True) / WIDTH + EPSILON) * scale + bias


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def network(p, x):
    x = np.dot(x, p["embed"]) + p["position"]
    h = layer_norm(x, p["norm1_scale"], p["norm1_bias"])
    q, k, v = np.dot(h, p["query"]), np.dot(h, p["key"]), np.dot(h, p["value"])
    a = softmax(np.matmul(q, np.swapaxes(k, 1, 2)) / np.sqrt(float(WIDTH)))
    h = h + np.dot(np.matmul(a, v), p["project"])
    g = layer_norm(h, p["norm2_scale"], p["norm2_bias"])
    h = h + np.dot(np.maximum(np.dot(g, p["up"]) + p["up_bias"], 0), p["down"]) + p["down_bias"]
    return np.dot(np.mean(h, axis=1), p["head"]) + p["head_bias"]


def initial(random):
    def matrix(rows, columns):
        return random.standard_normal((rows, columns)) / numpy.sqrt(rows)

    return {
        "embed": matrix(PATCH, WIDTH), "position": random.standard_normal((TOKENS, WIDTH)) * 16,
        "norm1_scale": numpy.ones(WIDTH), "norm1_bias": numpy.zeros(WIDTH),
        "query": matrix(WIDTH, WIDTH), "key": matrix(WIDTH, WIDTH), "value": matrix(WIDTH, WIDTH), "project": matrix(WIDTH, WIDTH),
        "norm2_scale": numpy.ones(WIDTH), "norm2_bias": numpy.zeros(WIDTH),
        "up": matrix(WIDTH, HIDDEN), "up_bias": numpy.zeros(HIDDEN), "down": matrix(HIDDEN, WIDTH), "down_bias": numpy.zeros(WIDTH),
        "head": matrix(WIDTH, CLASSES), "head_bias": numpy.zeros(CLASSES),
    }


def train(x, y, steps=2000, batch=64, rate=1e-2):
    random = numpy.random.default_rng(0)
    p = initial(random)

    def loss(p, x, y):
        z = network(p, x)
        z = z - np.max(z, axis=1, keepdims=True)
        return np.mean(np.log(np.sum(np.exp(z), axis=1)) - z[np.arange(len(y)), y])

    gradient = grad(loss)
    m = {name: numpy.zeros_like(value) for name, value in p.items()}
    v = {name: numpy.zeros_like(value) for name, value in p.items()}
    for step in range(1, steps + 1):
        pick = random.integers(0, len(x), batch)
        g = gradient(p, x[pick], y[pick])
        for name in p:  # Adam, the rate falling linearly
            m[name] = 0.9 * m[name] + 0.1 * g[name]
            v[name] = 0.99 * v[name] + 0.01 * g[name] ** 2
            p[name] = p[name] - rate * (1 - step / (steps + 1)) * (m[name] / (1 - 0.9**step)) / (numpy.sqrt(v[name] / (1 - 0.99**step)) + 1e-8)
    return {name: value.astype(numpy.float32) for name, value in p.items()}


class Graph:
    """Nodes named after the module they come from, as exporters do."""

    def __init__(self, parameters):
        self.nodes, self.weights = [], [numpy_helper.from_array(value, name) for name, value in parameters.items()]

    def constant(self, name, value, type=numpy.float32):
        self.weights.append(numpy_helper.from_array(numpy.asarray(value, type), name))
        return name

    def add(self, op, name, *inputs, **attributes):
        self.nodes.append(helper.make_node(op, list(inputs), [name + "_out"], name=name, **attributes))
        return name + "_out"

    def layer_norm(self, name, x, scale, bias):
        mean = self.add("ReduceMean", name + "/Mean", x, axes=[-1])
        d = self.add("Sub", name + "/Sub", x, mean)
        square = self.add("Mul", name + "/Square", d, d)
        total = self.add("ReduceSum", name + "/Sum", square, "axis_last")
        variance = self.add("Div", name + "/Variance", total, "width")
        root = self.add("Sqrt", name + "/Sqrt", self.add("Add", name + "/Epsilon", variance, "epsilon"))
        y = self.add("Div", name + "/Div", d, root)
        return self.add("Add", name + "/Bias", self.add("Mul", name + "/Scale", y, scale), bias)


def export(parameters, path):
    g = Graph(parameters)
    g.constant("axis_last", [-1], numpy.int64)
    g.constant("width", WIDTH), g.constant("epsilon", EPSILON), g.constant("root_width", numpy.sqrt(WIDTH))
    x = g.add("Add", "embed/Add", g.add("MatMul", "embed/MatMul", "patches", "embed"), "position")
    h = g.layer_norm("block/norm1", x, "norm1_scale", "norm1_bias")
    q, k, v = (g.add("MatMul", "block/attention/" + n, h, n) for n in ("query", "key", "value"))
    scores = g.add("MatMul", "block/attention/scores", q, g.add("Transpose", "block/attention/Transpose", k, perm=[0, 2, 1]))
    weights = g.add("Softmax", "block/attention/Softmax", g.add("Div", "block/attention/Div", scores, "root_width"), axis=-1)
    mixed = g.add("MatMul", "block/attention/mix", weights, v)
    h = g.add("Add", "block/attention/Add", h, g.add("MatMul", "block/attention/project", mixed, "project"))
    n = g.layer_norm("block/norm2", h, "norm2_scale", "norm2_bias")
    up = g.add("Relu", "block/mlp/Relu", g.add("Add", "block/mlp/up_bias", g.add("MatMul", "block/mlp/up", n, "up"), "up_bias"))
    down = g.add("Add", "block/mlp/down_bias", g.add("MatMul", "block/mlp/down", up, "down"), "down_bias")
    pooled = g.add("ReduceMean", "pool", g.add("Add", "block/mlp/Add", h, down), axes=[1], keepdims=0)
    g.nodes.append(helper.make_node("Gemm", [pooled, "head", "head_bias"], ["logits"], name="head/Gemm"))
    graph = helper.make_graph(
        g.nodes, "digits",
        [helper.make_tensor_value_info("patches", TensorProto.FLOAT, ["batch", TOKENS, PATCH])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", CLASSES])], g.weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8, producer_name="ulpscope examples/digits")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def main():
    digits = load_digits()
    x, y = patches(digits.images), digits.target
    order = numpy.random.default_rng(1).permutation(len(x))
    train_part, test_part = order[:1500], order[1500:]
    parameters = train(x[train_part], y[train_part])
    answers = network(parameters, x[test_part].astype(numpy.float32))
    print(f"accuracy on {len(test_part)} unseen digits: {numpy.mean(answers.argmax(1) == y[test_part]):.3f}")
    export(parameters, os.path.join(HERE, "model.onnx"))
    numpy.savez(os.path.join(HERE, "inputs.npz"), patches=x[test_part[:4]].astype(numpy.float32))
    numpy.savez(os.path.join(HERE, "expected.npz"), logits=answers[:4].astype(numpy.float32), digits=y[test_part[:4]])


if __name__ == "__main__":
    main()
