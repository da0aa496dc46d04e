#!/usr/bin/env python3
"""A decoder in small, for doc/language-models.md: attention written out, a head for 48 tokens, and keys of the first layer with one channel that stands out.

    python3 decoder.py FOLDER

model.onnx  the network, with random weights
text.npz    64 tokens
"""
import numpy as np
from model import INT64, Graph, Random, folder, save

LENGTH, WIDTH, HEADS, LAYERS, WORDS = 64, 48, 3, 2, 48
SIZE = WIDTH // HEADS


def attend(g, random, name, x, first):
    parts = {}
    for part in "qkv":
        bias = np.zeros(WIDTH)
        if part == "k" and first:
            bias[2 * SIZE + 5] = 24  # feature 5 of head 2
        y = g.linear(f"{name}/{part}", x, random.matrix(WIDTH, WIDTH, 2 if part == "q" else 1), bias)
        y = g.add("Reshape", f"{name}/{part}/Reshape", y, g.constant("heads", [0, 0, HEADS, SIZE], np.int64))
        parts[part] = g.add("Transpose", f"{name}/{part}/Transpose", y, perm=[0, 2, 3, 1] if part == "k" else [0, 2, 1, 3])
    scores = g.add("Mul", name + "/Mul", g.add("MatMul", name + "/MatMul", parts["q"], parts["k"]), g.constant("scale", np.float32(SIZE ** -0.5)))
    scores = g.add("Add", name + "/Add", scores, g.constant("mask", np.where(np.tri(LENGTH, dtype=bool), 0, -1e9)))
    y = g.add("MatMul", name + "/MatMul_1", g.add("Softmax", name + "/Softmax", scores, axis=-1), parts["v"])
    y = g.add("Reshape", name + "/Reshape", g.add("Transpose", name + "/Transpose", y, perm=[0, 2, 1, 3]), g.constant("join", [0, 0, WIDTH], np.int64))
    return g.linear(name + "/out", y, random.matrix(WIDTH, WIDTH))


def main():
    name, random = folder(), Random(61)
    g = Graph("decoder")
    x = g.add("Gather", "embed", g.constant("embed.weight", random.normal(WORDS, WIDTH)), "input_ids")
    for i in range(LAYERS):
        at = f"layers.{i}"
        n = g.layer_norm(at + "/norm1", x, np.ones(WIDTH), np.zeros(WIDTH))
        x = g.add("Add", at + "/Add", x, attend(g, random, at + "/attention", n, i == 0))
        n = g.layer_norm(at + "/norm2", x, np.ones(WIDTH), np.zeros(WIDTH))
        up = g.add("Relu", at + "/Relu", g.linear(at + "/up", n, random.matrix(WIDTH, 2 * WIDTH)))
        x = g.add("Add", at + "/Add_1", x, g.linear(at + "/down", up, random.matrix(2 * WIDTH, WIDTH)))
    x = g.layer_norm("norm", x, np.ones(WIDTH), np.zeros(WIDTH))
    g.add("MatMul", "lm_head", x, g.constant("lm_head.weight", random.matrix(WIDTH, WORDS, 2)), output="logits")
    g.write(name("model.onnx"), {"input_ids": (1, LENGTH)}, {"logits": (1, LENGTH, WORDS)}, opset=17, input_ids=INT64)
    np.savez(name("text.npz"), input_ids=random.integers(0, WORDS, 1, LENGTH).astype(np.int64))


if __name__ == "__main__":
    main()
