#!/usr/bin/env python3
"""Walkthrough 4: a detector in small. Residual convolutions, a transformer layer on their 64 tokens, and queries that look at them.

    python3 detector.py FOLDER              writes the files below
    python3 detector.py FOLDER OUTPUTS.npz  says how many images these outputs tell right

The images show a square, a frame or a cross in one of three colours on grey ground; the nine classes are told by a last layer that is
trained here, by least squares. The network takes values from 0 to 1.

model.onnx  the network
right.npz   12 images as the network was trained on them: divided by 255
app.npz     the same as an application prepares them: ImageNet's mean and deviation in addition
labels.npz  what they show
"""
import sys

import numpy as np
from model import Graph, Random, evaluate, folder, grid, save

SIZE, WIDTH, QUERIES, CLASSES, COUNT = 32, 32, 4, 9, 12
MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def draw_images(random, count):
    """Images from 0 to 255, and their classes."""
    y, x = np.mgrid[0:SIZE, 0:SIZE]
    images, labels = np.zeros((count, 3, SIZE, SIZE)), random.integers(0, CLASSES, count)
    for image, label in zip(images, labels):
        image += random.integers(70, 130, 1, 1, 1) + random.integers(-20, 21, 3, SIZE, SIZE)
        radius, (cy, cx) = random.integers(7, 10), random.integers(14, 19, 2)
        dy, dx = np.abs(y - cy), np.abs(x - cx)
        far, near = np.maximum(dy, dx), np.minimum(dy, dx)
        inside = (far <= radius, (far >= radius // 2) & (far <= radius - 1), near <= 2)[label // 3]
        image[:, inside] += np.roll([[90], [-20], [-40]], label % 3, axis=0)
    return np.clip(images, 0, 255).astype(np.uint8), labels


def prepare(images):
    return grid(images / 255, 2.0**-20)


def network(random):
    g = Graph("detector")
    x = "image"
    for i, (channels, outputs, stride) in enumerate(((3, 16, 2), (16, 16, 1), (16, WIDTH, 2), (WIDTH, WIDTH, 1))):
        name = f"backbone/{i}"
        w = g.constant(name + ".weight", random.normal(outputs, channels, 3, 3, scale=np.sqrt(2 / (9 * channels))))
        y = g.add("Relu", name + "/Relu", g.add("Conv", name + "/Conv", x, w, strides=[stride, stride], pads=[1, 1, 1, 1]))
        x = g.add("Add", name + "/Add", x, y) if channels == outputs else y
    tokens = g.add("Transpose", "encoder/Transpose", g.add("Reshape", "encoder/Reshape", x, g.constant("tokens", [0, WIDTH, -1], np.int64)), perm=[0, 2, 1])
    h = g.add("Add", "encoder/Add", tokens, g.constant("position", random.normal(64, WIDTH, scale=0.2)))

    def norm(name, value):
        return g.layer_norm(name, value, np.ones(WIDTH), np.zeros(WIDTH))

    def attend(name, query, memory):
        q, k, v = (g.linear(f"{name}/{part}", source, random.matrix(WIDTH, WIDTH)) for part, source in (("q", query), ("k", memory), ("v", memory)))
        scores = g.add("MatMul", name + "/MatMul", q, g.add("Transpose", name + "/Transpose", k, perm=[0, 2, 1]))
        weights = g.add("Softmax", name + "/Softmax", g.add("Div", name + "/Div", scores, g.constant("root", np.sqrt(np.float32(WIDTH)))), axis=-1)
        return g.linear(name + "/out", g.add("MatMul", name + "/MatMul_1", weights, v), random.matrix(WIDTH, WIDTH))

    n = norm("encoder/norm1", h)
    h = g.add("Add", "encoder/attention/Add", h, attend("encoder/attention", n, n))
    n = norm("encoder/norm2", h)
    up = g.add("Relu", "encoder/ffn/Relu", g.linear("encoder/ffn/up", n, random.matrix(WIDTH, 2 * WIDTH)))
    h = g.add("Add", "encoder/ffn/Add", h, g.linear("encoder/ffn/down", up, random.matrix(2 * WIDTH, WIDTH)))
    memory = norm("encoder/norm3", h)
    queries = g.add("MatMul", "decoder/queries", g.constant("mixing", random.matrix(QUERIES, 64)), memory)
    found = g.add("Add", "decoder/Add", queries, attend("decoder/attention", queries, memory))
    g.add("Reshape", "head/Reshape", found, g.constant("flat", [0, -1], np.int64), output="features")
    return g


def train(g, random):
    """The last layer, by least squares on 600 images; on a grid."""
    images, labels = draw_images(random, 600)
    features = evaluate(g, image=prepare(images))["features"]
    features = np.concatenate([features, np.ones((len(features), 1))], axis=1)
    weights = np.linalg.solve(features.T @ features + 3 * np.eye(features.shape[1]), features.T @ np.eye(CLASSES)[labels])
    g.add("Gemm", "head/Gemm", "features", g.constant("head.weight", grid(weights[:-1])), g.constant("head.bias", grid(weights[-1])), output="scores")


def main():
    name, random = folder(), Random(3700)
    if len(sys.argv) > 2:
        with np.load(name("labels.npz")) as labels, np.load(sys.argv[2]) as outputs:
            good = outputs["scores"].argmax(1) == labels["labels"]
            print(f"{good.sum()} of {len(good)} images are told right")
        return
    g = network(random)
    train(g, random)
    g.write(name("model.onnx"), {"image": ("batch", 3, SIZE, SIZE)}, {"scores": ("batch", CLASSES)})
    images, labels = draw_images(random, COUNT)
    right, mean, deviation = prepare(images), np.reshape(MEAN, (3, 1, 1)), np.reshape(DEVIATION, (3, 1, 1))
    save(name("right.npz"), image=right)
    save(name("app.npz"), image=grid((right - mean) / deviation, 2.0**-18))
    save(name("labels.npz"), labels=labels)


if __name__ == "__main__":
    main()
