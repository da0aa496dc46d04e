#!/usr/bin/env python3
"""Write networks of real shape with random weights as ONNX, node for node about as PyTorch's exporter writes them:

    scripts/make_networks.py FOLDER --model rtdetr-r101|rtdetr-r50|resnet50|yolov8s|vit-b16|clip-l14-text|
                                     sd15-unet|depthwise|wave|looped [--batch N] [--small]

FOLDER gets model.onnx, its weights in external files, and inputs.npz; the multiply-adds of products and the parameters are
printed. Weights are scaled so that activations keep the size that they begin with; BatchNormalization is in the convolutions.
--small: the same graph with few channels, layers and pixels, for tests. Sizes are those of the models' papers and configurations.
The last three are no model's but a kind of convolution's, as networks for telephones, for sound and over frames have them."""
import argparse
import math
import os

import numpy as np

from network_files import Graph, onnx

OPSET = 20


class Network(Graph):
    """Values are names; shapes, without the batch, are kept beside them."""

    def __init__(self, folder, seed=1):
        super().__init__(folder, seed)
        self.shapes, self.products, self.serial, self.constants, self.scope = {}, 0, 0, {}, ""

    def name(self, what):
        self.serial += 1
        return f"{self.scope}/{what}_{self.serial}"

    def op(self, op, inputs, shape, **attributes):
        out = self.node(op, " ".join(inputs), self.name(op), **attributes)
        self.shapes[out] = tuple(shape)
        return out

    def ops(self, op, inputs, shapes, **attributes):
        outs = [self.name(op) for _ in shapes]
        self.node(op, " ".join(inputs), " ".join(outs), **attributes)
        self.shapes.update(zip(outs, map(tuple, shapes)))
        return outs

    def same(self, op, *inputs, **attributes):
        return self.op(op, inputs, self.shapes[inputs[0]], **attributes)

    def const(self, value):
        array = np.asarray(value)
        array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float32)
        key = (array.tobytes(), array.shape, array.dtype)
        if key not in self.constants:
            self.constants[key] = f"constant_{len(self.constants)}"
            self.weights.add_small(self.constants[key], array)
        return self.constants[key]

    def weight(self, shape, scale, offset=0.0):
        name = self.name("weight")
        self.weights.add(name, shape, "f4", (part + np.float32(offset) for part in self.weights.draw(int(np.prod(shape)), scale)))
        return name

    # ---- pictures: shapes are (channels, height, width) ----

    def conv(self, x, channels, k=1, stride=1, groups=1, gain=1.0, act=None):
        """gain: of the standard deviation that the result has beside the input's"""
        c, h, w = self.shapes[x]
        h, w = ((size + 2 * (k // 2) - k) // stride + 1 for size in (h, w))
        fan = c // groups * k * k
        self.products += self.batch * channels * h * w * fan
        pad = [k // 2] * 4
        y = self.op("Conv", [x, self.weight((channels, c // groups, k, k), gain * fan ** -0.5), self.weight((channels,), 0.1)], (channels, h, w),
                    kernel_shape=[k, k], strides=[stride] * 2, pads=pad, dilations=[1, 1], group=groups)
        return self.act(y, act)

    def conv_1d(self, x, channels, k, dilation=1):
        c, length = self.shapes[x]
        self.products += self.batch * channels * length * c * k
        return self.op("Conv", [x, self.weight((channels, c, k), (c * k) ** -0.5), self.weight((channels,), 0.1)], (channels, length),
                       kernel_shape=[k], strides=[1], pads=[k // 2 * dilation] * 2, dilations=[dilation], group=1)

    def act(self, x, act):
        if act == "relu":
            return self.same("Relu", x)
        if act == "silu":
            return self.same("Mul", x, self.same("Sigmoid", x))
        if act == "gelu":
            return self.same("Gelu", x)
        if act == "quick_gelu":
            return self.same("Mul", x, self.same("Sigmoid", self.same("Mul", x, self.const(1.702))))
        return x

    def resize(self, x):
        c, h, w = self.shapes[x]
        return self.op("Resize", [x, "-", self.const([1.0, 1.0, 2.0, 2.0])], (c, 2 * h, 2 * w), mode="nearest", nearest_mode="floor",
                       coordinate_transformation_mode="asymmetric")

    def concat(self, *parts, axis=0):
        shape = list(self.shapes[parts[0]])
        shape[axis] = sum(self.shapes[part][axis] for part in parts)
        return self.op("Concat", parts, shape, axis=axis + 1)

    def pool(self, op, x, k, stride, pad):
        c, h, w = self.shapes[x]
        return self.op(op, [x], (c, (h + 2 * pad - k) // stride + 1, (w + 2 * pad - k) // stride + 1), kernel_shape=[k, k],
                       strides=[stride] * 2, pads=[pad] * 4)

    def group_norm(self, x, groups=32):
        c, h, w = self.shapes[x]
        y = self.op("Reshape", [x, self.const([0, groups, -1])], (groups, c // groups * h * w))
        y = self.same("InstanceNormalization", y, self.const(np.ones(groups)), self.const(np.zeros(groups)), epsilon=1e-5)
        y = self.op("Reshape", [y, self.const([0, c, h, w])], (c, h, w))
        y = self.same("Mul", y, self.weight((c, 1, 1), 0.1, 1))
        return self.same("Add", y, self.weight((c, 1, 1), 0.1))

    # ---- sequences: (tokens, width) ----

    def linear(self, x, width, gain=1.0, act=None, bias=True):
        *rows, k = self.shapes[x]
        self.products += self.batch * math.prod(rows) * k * width
        y = self.op("MatMul", [x, self.weight((k, width), gain * k ** -0.5)], (*rows, width))
        return self.act(self.op("Add", [self.weight((width,), 0.1), y], (*rows, width)) if bias else y, act)

    def layer_norm(self, x):
        width = self.shapes[x][-1]
        return self.same("LayerNormalization", x, self.weight((width,), 0.1, 1), self.weight((width,), 0.1), axis=-1, epsilon=1e-5)

    def add(self, *parts):
        out = parts[0]
        for part in parts[1:]:
            out = self.same("Add", out, part)
        return out

    def transpose(self, x, order):
        """order: of the axes behind the batch, from 1"""
        return self.op("Transpose", [x], [self.shapes[x][axis - 1] for axis in order], perm=[0, *order])

    def reshape(self, x, shape):
        return self.op("Reshape", [x, self.const([self.batch, *shape])], shape)

    def attention(self, query, memory, value, heads, width=None, mask=None, bias=True):
        n, m, width = self.shapes[query][0], self.shapes[memory][0], width or self.shapes[query][-1]
        size = width // heads
        q = self.transpose(self.reshape(self.linear(query, width, bias=bias), (n, heads, size)), (2, 1, 3))
        k = self.transpose(self.reshape(self.linear(memory, width, bias=bias), (m, heads, size)), (2, 3, 1))
        v = self.transpose(self.reshape(self.linear(value, width, bias=bias), (m, heads, size)), (2, 1, 3))
        self.products += 2 * self.batch * heads * n * m * size
        scores = self.op("MatMul", [self.same("Mul", q, self.const(size ** -0.5)), k], (heads, n, m))
        if mask:
            scores = self.same("Add", scores, mask)
        mixed = self.op("MatMul", [self.same("Softmax", scores, axis=-1), v], (heads, n, size))
        mixed = self.reshape(self.transpose(mixed, (2, 1, 3)), (n, width))
        return self.linear(mixed, self.shapes[query][-1], 0.5)

    def block(self, x, heads, inner, act, mask=None):
        """A transformer's block, normalised before."""
        y = self.layer_norm(x)
        x = self.add(x, self.attention(y, y, y, heads, mask=mask))
        return self.add(x, self.linear(self.linear(self.layer_norm(x), inner, act=act), self.shapes[x][-1], 0.5))

    def tokens(self, x):
        """A picture as a sequence."""
        c, h, w = self.shapes[x]
        return self.transpose(self.reshape(x, (c, h * w)), (2, 1))

    def finish(self, name, inputs, outputs, arrays):
        dtype = {key: ("i8" if array.dtype.kind == "i" else "f4", array.shape) for key, array in arrays.items()}
        self.write(name, {key: dtype[key] for key in inputs},
                   {key: ("f4", [self.batch, *self.shapes[value]]) for key, value in outputs.items()}, {"": OPSET}, ir_version=9)
        np.savez(os.path.join(self.folder, "inputs.npz"), **arrays)
        print(f"{name}: {self.products / 1e9:.3g} GMAC, {self.weights.count / 1e6:.1f} M parameters, {len(self.nodes)} nodes")

    def output(self, x, name):
        self.shapes[name] = self.shapes[x]
        return self.node("Identity", x, name)


def image(batch, size, seed):
    """Smooth, with noise, of mean 0 and standard deviation 1."""
    turn = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size] / size
    planes = [sum(turn.normal() * np.cos(2 * np.pi * (turn.integers(-4, 5) * x + turn.integers(-4, 5) * y) + turn.normal()) for _ in range(6))
              for _ in range(batch * 3)]
    planes = np.reshape(planes, (batch, 3, size, size)) + 0.1 * turn.standard_normal((batch, 3, size, size))
    return ((planes - planes.mean()) / planes.std()).astype(np.float32)


def vit(net, small):
    size, width, layers, heads = (32, 64, 2, 4) if small else (224, 768, 12, 12)
    pixels = image(net.batch, size, 2)
    net.shapes["pixel_values"] = (3, size, size)
    side = size // 16
    net.products += net.batch * width * side * side * 768
    x = net.op("Conv", ["pixel_values", net.weight((width, 3, 16, 16), 768 ** -0.5), net.weight((width,), 0.1)], (width, side, side),
               kernel_shape=[16, 16], strides=[16, 16], pads=[0] * 4, dilations=[1, 1], group=1)
    first = net.op("Expand", [net.weight((1, 1, width), 1), net.const([net.batch, 1, 1])], (1, width))
    x = net.concat(first, net.tokens(x))
    x = net.same("Add", x, net.weight((1, side * side + 1, width), 0.5))
    for layer in range(layers):
        net.scope = f"/encoder/layer.{layer}"
        x = net.block(x, heads, 4 * width, "gelu")
    net.scope = "/head"
    x = net.op("Gather", [net.layer_norm(x), net.const(0)], (width,), axis=1)
    net.output(net.linear(x, 1000), "logits")
    net.finish("vit-b16", ["pixel_values"], {"logits": "logits"}, {"pixel_values": pixels})


def clip(net, small):
    words, width, layers, heads, length = (128, 64, 2, 4, 16) if small else (49408, 768, 12, 12, 77)
    ids = np.random.default_rng(2).integers(1, words - 2, (net.batch, length))
    ids[:, length // 2:] = words - 1  # the end, and padding with it
    x = net.op("Gather", [net.weight((words, width), 1), "input_ids"], (length, width), axis=0)
    x = net.same("Add", x, net.weight((length, width), 0.5))
    mask = net.const(np.triu(np.full((length, length), -3.4e38), 1)[None, None])
    for layer in range(layers):
        net.scope = f"/text_model/layers.{layer}"
        x = net.block(x, heads, 4 * width, "quick_gelu", mask)
    net.scope = "/text_model"
    x = net.layer_norm(x)
    end = net.op("ArgMax", ["input_ids"], (), axis=1, keepdims=0)
    places = net.op("Concat", [net.op("Unsqueeze", [net.const(np.arange(net.batch)), net.const([1])], (1,)),
                               net.op("Unsqueeze", [end, net.const([1])], (1,))], (2,), axis=1)
    net.output(net.linear(net.op("GatherND", [x, places], (width,)), width, bias=False), "text_embeds")
    net.output(x, "last_hidden_state")
    net.finish("clip-l14-text", ["input_ids"], {"text_embeds": "text_embeds", "last_hidden_state": "last_hidden_state"}, {"input_ids": ids})


def c2f(net, x, channels, depth, shortcut):
    y = net.conv(x, channels, act="silu")
    half = channels // 2
    _, h, w = net.shapes[y]
    parts = net.ops("Split", [y, net.const([half, half])], [(half, h, w)] * 2, axis=1)
    for _ in range(depth):
        z = net.conv(net.conv(parts[-1], half, 3, act="silu"), half, 3, act="silu")
        parts.append(net.add(parts[-1], z) if shortcut else z)
    return net.conv(net.concat(*parts), channels, act="silu", gain=1.5)


def yolo(net, small):
    size, widths, depths = (64, (8, 16, 32, 64, 64), (1, 1, 1, 1)) if small else (640, (32, 64, 128, 256, 512), (1, 2, 2, 1))
    net.shapes["images"] = (3, size, size)
    x = net.conv("images", widths[0], 3, 2, act="silu", gain=1.5)
    levels = []
    for level, depth in enumerate(depths):
        net.scope = f"/backbone.{level}"
        x = c2f(net, net.conv(x, widths[level + 1], 3, 2, act="silu", gain=1.5), widths[level + 1], depth, True)
        levels.append(x)
    net.scope = "/sppf"
    y = net.conv(x, widths[4] // 2, act="silu")
    pools = [y]
    for _ in range(3):
        pools.append(net.pool("MaxPool", pools[-1], 5, 1, 2))
    p5 = net.conv(net.concat(*pools), widths[4], act="silu")
    net.scope = "/neck"
    p4 = c2f(net, net.concat(net.resize(p5), levels[2]), widths[3], depths[3], False)
    p3 = c2f(net, net.concat(net.resize(p4), levels[1]), widths[2], depths[3], False)
    p4 = c2f(net, net.concat(net.conv(p3, widths[2], 3, 2, act="silu"), p4), widths[3], depths[3], False)
    p5 = c2f(net, net.concat(net.conv(p4, widths[3], 3, 2, act="silu"), p5), widths[4], depths[3], False)
    boxes, scores, anchors, strides = [], [], [], []
    for level, p in enumerate((p3, p4, p5)):
        net.scope = f"/head.{level}"
        _, h, w = net.shapes[p]
        box, score = max(16, widths[2] // 2), max(widths[2], 80)
        b = net.conv(net.conv(net.conv(p, box, 3, act="silu"), box, 3, act="silu"), 64, gain=2)
        s = net.conv(net.conv(net.conv(p, score, 3, act="silu"), score, 3, act="silu"), 80, gain=2)
        boxes.append(net.reshape(b, (64, h * w)))
        scores.append(net.reshape(s, (80, h * w)))
        y, x = np.mgrid[0:h, 0:w] + 0.5
        anchors.append(np.stack([x.ravel(), y.ravel()]))
        strides.append(np.full(h * w, size / h))
    net.scope = "/decode"
    box, score = net.concat(*boxes, axis=1), net.concat(*scores, axis=1)
    n = net.shapes[box][-1]
    y = net.transpose(net.reshape(box, (4, 16, n)), (2, 1, 3))
    y = net.op("Conv", [net.same("Softmax", y, axis=1), net.const(np.arange(16.0).reshape(1, 16, 1, 1))], (1, 4, n), kernel_shape=[1, 1])
    net.products += net.batch * 64 * n
    lt, rb = net.ops("Split", [net.reshape(y, (4, n)), net.const([2, 2])], [(2, n)] * 2, axis=1)
    places = net.const(np.concatenate(anchors, 1)[None])
    low, high = (net.op(op, [places, side], (2, n)) for op, side in (("Sub", lt), ("Add", rb)))
    middle = net.same("Div", net.add(low, high), net.const(2.0))
    box = net.same("Mul", net.concat(middle, net.same("Sub", high, low)), net.const(np.concatenate(strides)))
    net.output(net.concat(box, net.same("Sigmoid", score)), "output0")
    net.finish("yolov8s", ["images"], {"output0": "output0"}, {"images": image(net.batch, size, 2)})


def resnet_vd(net, x, depths, base):
    for i, channels in enumerate((base // 2, base // 2, base)):
        net.scope = f"/backbone/stem.{i}"
        x = net.conv(x, channels, 3, 2 if i == 0 else 1, act="relu", gain=1.4)
    return bottlenecks(net, net.pool("MaxPool", x, 3, 2, 1), depths, base, True)


def bottlenecks(net, x, depths, base, pooled):
    """ResNet's stages; pooled: what a stage halves is averaged, not left out, beside its blocks."""
    levels = []
    for stage, depth in enumerate(depths):
        width = base << stage
        for i in range(depth):
            net.scope = f"/backbone/stage.{stage}.{i}"
            stride = 2 if i == 0 and stage else 1
            y = net.conv(net.conv(x, width, act="relu", gain=1.4), width, 3, stride, act="relu", gain=1.4)
            y = net.conv(y, 4 * width, gain=0.5)
            if i == 0:
                x = net.conv(net.pool("AveragePool", x, 2, 2, 0) if pooled and stride == 2 else x, 4 * width, 1, 1 if pooled else stride)
            x = net.same("Relu", net.add(y, x))
        levels.append(x)
    return levels


def resnet50(net, small):
    size, base, depths = (32, 8, (1, 1, 2, 1)) if small else (224, 64, (3, 4, 6, 3))
    net.shapes["pixel_values"] = (3, size, size)
    x = net.pool("MaxPool", net.conv("pixel_values", base, 7, 2, act="relu", gain=1.4), 3, 2, 1)
    x = bottlenecks(net, x, depths, base, False)[-1]
    net.scope = "/head"
    width = net.shapes[x][0]
    x = net.op("Flatten", [net.op("GlobalAveragePool", [x], (width, 1, 1))], (width,), axis=1)
    net.output(net.linear(x, 1000), "logits")
    net.finish("resnet50", ["pixel_values"], {"logits": "logits"}, {"pixel_values": image(net.batch, size, 2)})


def csp(net, x, channels):
    """Its RepVGG blocks are one convolution, as deployed."""
    y = net.conv(x, channels, act="silu", gain=1.5)
    for _ in range(3):
        y = net.conv(y, channels, 3, act="silu", gain=1.5)
    return net.add(y, net.conv(x, channels, act="silu", gain=1.5))


def encode(net, levels, width, inner):
    levels = [net.conv(level, width) for level in levels]
    c, h, w = net.shapes[levels[2]]
    net.scope = "/encoder/aifi"
    x = net.tokens(levels[2])
    angles = np.outer(np.arange(h * w), 10000.0 ** (-np.arange(width // 2) * 2 / width))
    placed = net.same("Add", x, net.const(np.concatenate([np.sin(angles), np.cos(angles)], 1)[None]))
    x = net.layer_norm(net.add(x, net.attention(placed, placed, x, 8)))
    x = net.layer_norm(net.add(x, net.linear(net.linear(x, inner, act="gelu"), width, 0.5)))
    tops = [net.reshape(net.transpose(x, (2, 1)), (c, h, w))]
    for i, level in enumerate((levels[1], levels[0])):
        net.scope = f"/encoder/fpn.{i}"
        tops[-1] = net.conv(tops[-1], width, act="silu", gain=1.5)
        tops.append(csp(net, net.concat(net.resize(tops[-1]), level), width))
    outs = [tops.pop()]
    for i in range(2):
        net.scope = f"/encoder/pan.{i}"
        outs.append(csp(net, net.concat(net.conv(outs[-1], width, 3, 2, act="silu", gain=1.5), tops.pop()), width))
    return outs


def mlp(net, x, inner, width, gain=1.0):
    return net.linear(net.linear(net.linear(x, inner, 1.4, act="relu"), inner, 1.4, act="relu"), width, gain)


def sample_deformed(net, query, points, memory, sides, heads=8, count=4):
    """Deformable attention: count points in each level for each head, read by GridSample."""
    n, width = net.shapes[query]
    m, levels, size = net.shapes[memory][0], len(sides), net.shapes[memory][1] // heads
    value = net.reshape(net.linear(memory, width), (m, heads, size))
    offsets = net.reshape(net.linear(query, heads * levels * count * 2, 2), (n, heads, levels * count, 2))
    weights = net.reshape(net.linear(query, heads * levels * count), (n, heads, levels * count))
    weights = net.transpose(net.same("Softmax", weights, axis=-1), (2, 1, 3))
    centre, extent = net.ops("Split", [net.op("Unsqueeze", [points, net.const([2, 3])], (n, 1, 1, 4)), net.const([2, 2])], [(n, 1, 1, 2)] * 2, axis=-1)
    places = net.same("Mul", net.same("Mul", net.same("Mul", offsets, net.const(1 / count)), extent), net.const(0.5))
    grid = net.same("Sub", net.same("Mul", net.add(places, centre), net.const(2.0)), net.const(1.0))
    grid = net.transpose(grid, (2, 1, 3, 4))
    parts = net.ops("Split", [value, net.const([side * side for side in sides])], [(side * side, heads, size) for side in sides], axis=1)
    grids = net.ops("Split", [grid, net.const([count] * levels)], [(heads, n, count, 2)] * levels, axis=3)
    sampled = []
    for side, part, places in zip(sides, parts, grids):
        picture = net.op("Reshape", [net.transpose(part, (2, 3, 1)), net.const([net.batch * heads, size, side, side])], (size, side, side))
        flat = net.op("Reshape", [places, net.const([net.batch * heads, n, count, 2])], (n, count, 2))
        sampled.append(net.op("GridSample", [picture, flat], (size, n, count), mode="linear", padding_mode="zeros", align_corners=0))
    weights = net.op("Reshape", [weights, net.const([net.batch * heads, 1, n, levels * count])], (1, n, levels * count))
    mixed = net.same("Mul", net.concat(*sampled, axis=2), weights)
    mixed = net.op("ReduceSum", [mixed, net.const([-1])], (size, n), keepdims=0)
    mixed = net.transpose(net.reshape(mixed, (width, n)), (2, 1))
    return net.linear(mixed, width, 0.5)


def inverse_sigmoid(net, x):
    low, high = (net.same("Clip", value, net.const(1e-5)) for value in (x, net.same("Sub", net.op("Identity", [net.const(1.0)], ()), x)))
    return net.same("Log", net.op("Div", [low, high], net.shapes[x]))


def decode(net, levels, width, layers, queries, inner, classes=80):
    net.scope = "/decoder/input"
    sides = [net.shapes[level][1] for level in levels]
    memory = net.concat(*(net.tokens(net.conv(level, width)) for level in levels))
    m = net.shapes[memory][0]
    spots = []
    for level, side in enumerate(sides):
        y, x = (np.mgrid[0:side, 0:side] + 0.5) / side
        extent = np.full(side * side, 0.05 * 2.0 ** level)
        spots.append(np.stack([x.ravel(), y.ravel(), extent, extent], 1))
    spots = np.concatenate(spots).clip(0.01, 0.99)
    picked = net.layer_norm(net.linear(memory, width))
    scores = net.linear(picked, classes)
    boxes = net.same("Add", mlp(net, picked, width, 4, 0.3), net.const(np.log(spots / (1 - spots))[None]))
    best = net.op("ReduceMax", [scores, net.const([-1])], (m,), keepdims=0)
    _, index = net.ops("TopK", [best, net.const([queries])], [(queries,)] * 2, axis=1)
    index = net.op("Unsqueeze", [index, net.const([-1])], (queries, 1))
    points, x = (net.op("GatherElements", [source, net.op("Tile", [index, net.const([1, 1, size])], (queries, size))], (queries, size), axis=1)
                 for source, size in ((boxes, 4), (picked, width)))
    points = net.same("Sigmoid", points)
    for layer in range(layers):
        net.scope = f"/decoder/layers.{layer}"
        place = net.linear(net.linear(points, 2 * width, 1.4, act="relu"), width)
        query = net.add(x, place)
        x = net.layer_norm(net.add(x, net.attention(query, query, x, 8)))
        x = net.layer_norm(net.add(x, sample_deformed(net, net.add(x, place), points, memory, sides)))
        x = net.layer_norm(net.add(x, net.linear(net.linear(x, inner, 1.4, act="relu"), width, 0.5)))
        points = net.same("Sigmoid", net.add(mlp(net, x, width, 4, 0.3), inverse_sigmoid(net, points)))
    return net.linear(x, classes), points


def rtdetr(net, small, depths, encoder_width, encoder_inner):
    size, base = (64, 8) if small else (640, 64)
    width, layers, queries, inner = (32, 2, 10, 64) if small else (256, 6, 300, 1024)
    if small:
        depths, encoder_width, encoder_inner = (1, 1, 2, 1), 32, 64
    net.shapes["pixel_values"] = (3, size, size)
    levels = encode(net, resnet_vd(net, "pixel_values", depths, base)[1:], encoder_width, encoder_inner)
    scores, points = decode(net, levels, width, layers, queries, inner)
    net.output(scores, "logits")
    net.output(points, "pred_boxes")
    net.finish("rtdetr", ["pixel_values"], {"logits": "logits", "pred_boxes": "pred_boxes"}, {"pixel_values": image(net.batch, size, 2)})


def unet_resnet(net, x, emb, channels):
    y = net.conv(net.act(net.group_norm(x), "silu"), channels, 3)
    y = net.add(y, net.op("Unsqueeze", [net.linear(net.act(emb, "silu"), channels), net.const([2, 3])], (channels, 1, 1)))
    y = net.conv(net.act(net.group_norm(y), "silu"), channels, 3, gain=0.5)
    return net.add(net.conv(x, channels) if net.shapes[x][0] != channels else x, y)


def unet_attention(net, x, text, heads):
    c, h, w = net.shapes[x]
    y = net.tokens(net.conv(net.group_norm(x), c))
    z = net.layer_norm(y)
    y = net.add(y, net.attention(z, z, z, heads, bias=False))
    y = net.add(y, net.attention(net.layer_norm(y), text, text, heads, bias=False))
    value, gate = net.ops("Split", [net.linear(net.layer_norm(y), 8 * c), net.const([4 * c, 4 * c])], [(h * w, 4 * c)] * 2, axis=-1)
    y = net.add(y, net.linear(net.same("Mul", value, net.act(gate, "gelu")), c, 0.5))
    return net.add(x, net.conv(net.reshape(net.transpose(y, (2, 1)), (c, h, w)), c, gain=0.5))


def unet(net, small):
    side, widths, wide, heads = (8, (32, 64), 32, 4) if small else (64, (320, 640, 1280, 1280), 768, 8)
    turn = np.random.default_rng(2)
    arrays = {"sample": turn.standard_normal((net.batch, 4, side, side)).astype(np.float32), "timestep": np.full(net.batch, 500.0, np.float32),
              "encoder_hidden_states": turn.standard_normal((net.batch, 77, wide)).astype(np.float32)}
    net.shapes.update({name: array.shape[1:] for name, array in arrays.items()})
    text = "encoder_hidden_states"
    net.scope = "/time"
    angles = net.op("Mul", [net.op("Unsqueeze", ["timestep", net.const([1])], (1,)),
                            net.const(10000.0 ** (-np.arange(widths[0] // 2) / (widths[0] // 2))[None])], (widths[0] // 2,))
    emb = net.concat(net.same("Cos", angles), net.same("Sin", angles))
    emb = net.linear(net.linear(emb, 4 * widths[0], act="silu"), 4 * widths[0])
    x = net.conv("sample", widths[0], 3)
    skips, last = [x], len(widths) - 1
    for level, width in enumerate(widths):
        for i in range(2):
            net.scope = f"/down_blocks.{level}.{i}"
            x = unet_resnet(net, x, emb, width)
            x = unet_attention(net, x, text, heads) if level < last else x
            skips.append(x)
        if level < last:
            x = net.conv(x, width, 3, 2)
            skips.append(x)
    net.scope = "/mid_block"
    x = unet_resnet(net, unet_attention(net, unet_resnet(net, x, emb, widths[-1]), text, heads), emb, widths[-1])
    for level, width in reversed(list(enumerate(widths))):
        for i in range(3):
            net.scope = f"/up_blocks.{last - level}.{i}"
            x = unet_resnet(net, net.concat(x, skips.pop()), emb, width)
            x = unet_attention(net, x, text, heads) if level < last else x
        if level:
            x = net.conv(net.resize(x), width, 3)
    net.scope = "/out"
    net.output(net.conv(net.act(net.group_norm(x), "silu"), 4, 3), "out_sample")
    net.finish("sd15-unet", list(arrays), {"out_sample": "out_sample"}, arrays)


def depthwise(net, small):
    """MobileNet's pairs of a depthwise and a pointwise convolution, narrow, and large kernels as MobileNetV3 has them."""
    size, width, depth = (32, 8, 2) if small else (224, 16, 4)
    arrays = {"pixels": image(net.batch, size, 2)}
    net.shapes["pixels"] = (3, size, size)
    x = net.conv("pixels", width, 3, 2, act="relu")
    for stride in (1, 2, 2):
        for i in range(depth):
            x = net.conv(x, width, 5 if i % 2 else 3, stride if i == 0 else 1, groups=width, act="relu")
            width = 2 * width if i == 0 else width
            x = net.conv(x, width, 1, gain=2 ** 0.5, act="relu")
    net.output(x, "features")
    net.finish("depthwise", ["pixels"], {"features": "features"}, arrays)


def sound(net, length):
    time = np.arange(length) / 16000
    arrays = {"sound": np.float32([[0.5 * np.sin(2 * np.pi * 220 * (1 + b) * time) + 0.1 * np.random.default_rng(b).standard_normal(length)]
                                   for b in range(net.batch)])}
    net.shapes["sound"] = (1, length)
    return arrays


def wave(net, small):
    """Dilated convolutions over a second of sound, in residual blocks."""
    length, width, layers = (512, 8, 3) if small else (16000, 16, 10)
    arrays = sound(net, length)
    x = net.conv_1d("sound", width, 15)
    for i in range(layers):
        x = net.add(x, net.same("Relu", net.conv_1d(x, width, 3, 2 ** i)))
    net.output(net.conv_1d(x, 1, 15), "clean")
    net.finish("wave", ["sound"], {"clean": "clean"}, arrays)


def looped(net, small):
    """Two convolutions over each frame and a state, in a Loop."""
    frames, width, length = (4, 8, 16) if small else (200, 16, 32)
    arrays = sound(net, frames * length)
    whole = net.reshape("sound", (1, frames, length))
    state = net.op("Expand", [net.const(np.zeros((1, width, 1))), net.const([net.batch, width, length])], (width, length))
    outer, net.nodes = net.nodes, []
    net.shapes.update(state_in=(width, length))
    frame = net.op("Gather", [whole, "step"], (1, length), axis=2)
    x = net.same("Relu", net.conv_1d(net.concat(frame, "state_in"), width, 5))
    x = net.same("Tanh", net.add("state_in", net.conv_1d(x, width, 3)))
    net.products *= frames
    parts = {name: net.node("Identity", made, name) for name, made in {"going_out": "going", "state_out": x, "heard": x}.items()}
    values = {"step": (onnx.INT64, []), "going": (9, []), "state_in": (onnx.FLOAT, [net.batch, width, length])}
    body = onnx.graph(net.nodes, {key: shape for key, (_, shape) in values.items()}, {key: None for key in parts}, name="frame",
                      types={"step": onnx.INT64, "going": 9, "going_out": 9})
    net.nodes = outer
    net.node("Loop", f"{net.const(frames)} - {state}", "last heard_all", body=body)
    net.shapes["last"] = (width, length)
    net.finish("looped", ["sound"], {"last": "last"}, arrays)


MODELS = {
    "rtdetr-r101": lambda net, small: rtdetr(net, small, (3, 4, 23, 3), 384, 2048),
    "rtdetr-r50": lambda net, small: rtdetr(net, small, (3, 4, 6, 3), 256, 1024),
    "resnet50": resnet50,
    "yolov8s": yolo,
    "vit-b16": vit,
    "clip-l14-text": clip,
    "sd15-unet": unet,
    "depthwise": depthwise,
    "wave": wave,
    "looped": looped,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    net = Network(args.folder, args.seed)
    net.batch = args.batch
    MODELS[args.model](net, args.small)


if __name__ == "__main__":
    main()
