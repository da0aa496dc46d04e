#!/usr/bin/env python3
"""Walkthrough 3: a text encoder like CLIP's in small: causal attention, QuickGelu, the end-of-text token picked by ArgMax, a unit vector.

    python3 text_encoder.py FOLDER

As in large transformers one channel of the residual stream has become some hundred times larger than the others; FP32 does not mind. Batch and length are
free. The attention mask holds the least FP32 number, as masked_fill(finfo.min) leaves it.

model.onnx    the network
opset17.onnx  the same weights, exported with LayerNormalization and with a mask of -10000
prompts/      twelve prompts of 16 tokens
"""
import os

import numpy as np
from model import Graph, INT64, Random, folder, grid

VOCABULARY, CONTEXT, WIDTH, HEADS, LAYERS, JOINT = 200, 32, 48, 4, 2, 32
LARGE = 11  # the channel


def network(random, newer):
    """newer: with LayerNormalization (opset 17) and a mask that FP16 holds."""
    g = Graph("text_encoder")
    g.newer = newer
    g.constant("two", 2.0), g.constant("zero", [0], np.int64), g.constant("axis0", 0, np.int64), g.constant("one", 1, np.int64)
    g.constant("split", [0, 0, HEADS, WIDTH // HEADS], np.int64), g.constant("join", [0, 0, WIDTH], np.int64)

    length = g.add("Gather", "embeddings/Gather_length", g.add("Shape", "embeddings/Shape", "tokens"), "one", axis=0)
    end = g.add("Unsqueeze", "embeddings/Unsqueeze", length, "zero")
    table = random.normal(VOCABULARY, WIDTH, scale=0.5)
    table[:, LARGE] += grid(np.where(random.uniform(VOCABULARY) < 0.1, 290, 150) + 10 * random.uniform(VOCABULARY), 2.0**-6)
    x = g.add("Gather", "embeddings/token/Gather", g.constant("token_embedding", table), "tokens", axis=0)
    position = g.add("Slice", "embeddings/position/Slice", g.constant("position_embedding", random.normal(CONTEXT, WIDTH, scale=0.2)), "zero", end, "zero")
    x = g.add("Add", "embeddings/Add", x, position)

    mask = np.triu(np.full((CONTEXT, CONTEXT), -1e4 if newer else np.finfo(np.float32).min), 1)
    rows = g.add("Slice", "mask/Slice", g.constant("causal_mask", mask), "zero", end, "zero")
    mask = g.add("Slice", "mask/Slice_1", rows, "zero", end, g.constant("second", [1], np.int64))
    for i in range(LAYERS):
        x = block(g, random, f"layers.{i}", x, mask)

    x = norm(g, random, "final_layer_norm", x)
    last = g.add("ArgMax", "pool/ArgMax", g.add("Cast", "pool/Cast", "tokens", to=6), axis=-1, keepdims=1)
    spread = g.add("Unsqueeze", "pool/Unsqueeze", last, g.constant("third", [2], np.int64))
    wide = g.add("Expand", "pool/Expand", spread, g.constant("row", [1, 1, WIDTH], np.int64))
    picked = g.add("GatherElements", "pool/GatherElements", x, wide, axis=1)
    features = g.linear("projection", g.add("Squeeze", "pool/Squeeze", picked, g.constant("middle", [1], np.int64)), random.matrix(WIDTH, JOINT))
    length = g.add("ReduceL2", "unit/ReduceL2", features, axes=[-1])
    g.add("Div", "unit/Div", features, length, output="text_embeds")
    return g


def norm(g, random, name, x):
    scale, bias = random.normal(WIDTH, scale=0.1) + 1, random.normal(WIDTH, scale=0.1)
    if not g.newer:
        return g.layer_norm(name, x, scale, bias)
    return g.add("LayerNormalization", name, x, g.constant(name + ".scale", scale), g.constant(name + ".bias", bias), axis=-1, epsilon=1e-5)


def block(g, random, name, x, mask):
    h = norm(g, random, name + "/norm1", x)
    heads = {}
    for part, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        y = g.linear(f"{name}/attn/{part}", h, random.matrix(WIDTH, WIDTH), random.normal(WIDTH, scale=0.1))
        heads[part] = g.add("Transpose", f"{name}/attn/{part}/Transpose", g.add("Reshape", f"{name}/attn/{part}/Reshape", y, "split"), perm=order)
    scaled = g.add("Mul", name + "/attn/Mul", heads["q"], g.constant("scale", np.float32((WIDTH // HEADS) ** -0.5)))
    scores = g.add("Add", name + "/attn/Add", g.add("MatMul", name + "/attn/MatMul", scaled, heads["k"]), mask)
    mixed = g.add("MatMul", name + "/attn/MatMul_1", g.add("Softmax", name + "/attn/Softmax", scores, axis=-1), heads["v"])
    y = g.add("Reshape", name + "/attn/Reshape", g.add("Transpose", name + "/attn/Transpose", mixed, perm=[0, 2, 1, 3]), "join")
    x = g.add("Add", name + "/Add", x, g.linear(name + "/attn/out", y, random.matrix(WIDTH, WIDTH)))
    h = norm(g, random, name + "/norm2", x)
    up = g.linear(name + "/mlp/fc1", h, random.matrix(WIDTH, 4 * WIDTH), random.normal(4 * WIDTH, scale=0.1))
    gate = g.add("Sigmoid", name + "/mlp/Sigmoid", g.add("Mul", name + "/mlp/Mul", up, g.constant("quick", 1.702)))
    down = g.linear(name + "/mlp/fc2", g.add("Mul", name + "/mlp/Mul_1", up, gate), random.matrix(4 * WIDTH, WIDTH))
    return g.add("Add", name + "/Add_1", x, down)


def main():
    name, random = folder(), Random(3618)
    shapes = {"tokens": ("batch", "sequence")}, {"text_embeds": ("batch", JOINT)}
    network(random, False).write(name("model.onnx"), *shapes, tokens=INT64)
    network(Random(3618), True).write(name("opset17.onnx"), *shapes, opset=17, tokens=INT64)
    os.makedirs(name("prompts"), exist_ok=True)
    for i in range(12):
        words = random.integers(0, VOCABULARY - 1, 1, 15)
        np.savez(name(f"prompts/{i:02}.npz"), tokens=np.concatenate([words, [[VOCABULARY - 1]]], axis=1))  # the largest token ends the text
    print(name("prompts") + ": 12 prompts of 16 tokens")


if __name__ == "__main__":
    main()
