"""What the models of examples/causes are built around: a transformer, a convolutional network, and their inputs.

They are ordinary networks with ordinary errors: normalisations written out, an epsilon that FP16 holds as a subnormal number only, masks of -10000, squares
and exponentials that stay in range. None of that is a fault.
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "walkthrough"))
from model import FLOAT, INT64, Graph, Random, grid  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import

WIDTH, HEADS, LENGTH = 32, 4, 12
LARGE = 11  # the channel of a residual stream that outgrows the others
CAUSES, SOUND = {}, {}


def cause(name):
    return lambda function: CAUSES.setdefault(name, function)


def sound(name):
    return lambda function: SOUND.setdefault(name, function)


class Network(Graph):
    """A graph with its inputs: what it is given, and the types and shapes of that."""

    def __init__(self, seed, opset=17):
        super().__init__("network")
        self.random, self.opset = Random(seed), opset
        self.inputs, self.outputs, self.types = {}, {}, {}

    def input(self, name, value, shape=None, kind=FLOAT):
        self.inputs[name] = (np.asarray(value), np.shape(value) if shape is None else shape)
        self.types[name] = kind
        return name

    def scalar(self, value, dtype=np.float32):
        """A constant, named by its value as exporters name them by a counter."""
        return self.constant(f"const_{str(value).replace('-', 'm')}_{np.dtype(dtype).name}", value, dtype)

    def axes(self, *axes):
        return self.constant("axes_" + "_".join(map(str, axes)).replace("-", "m"), list(axes), np.int64)

    def apply(self, op, name, x, value, **attributes):
        """A node of a value and a number."""
        return self.add(op, name, x, self.scalar(value), **attributes)

    def output(self, name, shape, kind=FLOAT):
        self.outputs[name], self.types[name] = shape, kind

    def save(self, folder, name):
        os.makedirs(folder, exist_ok=True)
        self.write(os.path.join(folder, name), {key: shape for key, (_, shape) in self.inputs.items()}, self.outputs, self.opset, **self.types)

    def save_inputs(self, folder):
        np.savez(os.path.join(folder, "inputs.npz"), **{key: value for key, (value, _) in self.inputs.items()})


def sequence(n, name="features", length=LENGTH, scale=1.0):
    return n.input(name, n.random.normal(1, length, WIDTH, scale=scale))


def dense(n, name, x, rows=WIDTH, columns=WIDTH, scale=1.0, bias=True):
    return n.linear(name, x, n.random.matrix(rows, columns, scale), n.random.normal(columns, scale=0.1) if bias else None)


def norm(n, name, x, width=WIDTH, operator=False):
    """A LayerNormalization, written out unless operator is set."""
    scale, bias = n.random.normal(width, scale=0.1) + 1, n.random.normal(width, scale=0.1)
    if not operator:
        return n.layer_norm(name, x, scale, bias)
    return n.add("LayerNormalization", name, x, n.constant(name + ".scale", scale), n.constant(name + ".bias", bias), axis=-1, epsilon=1e-5)


def rms_norm(n, name, x, width=WIDTH, epsilon=1e-6):
    square = n.add("Mul", name + "/Mul", x, x)
    root = n.add("Sqrt", name + "/Sqrt", n.apply("Add", name + "/Add", n.add("ReduceMean", name + "/ReduceMean", square, axes=[-1]), epsilon))
    return n.add("Mul", name + "/Mul_1", n.add("Div", name + "/Div", x, root), n.constant(name + ".weight", n.random.normal(width, scale=0.1) + 1))


def heads(n, name, x, part, order, scale=1.0):
    y = dense(n, f"{name}/{part}", x, scale=scale)
    split = n.constant("split", [0, 0, HEADS, WIDTH // HEADS], np.int64)
    return n.add("Transpose", f"{name}/{part}/Transpose", n.add("Reshape", f"{name}/{part}/Reshape", y, split), perm=order)


def join(n, name, x):
    y = n.add("Transpose", name + "/Transpose", x, perm=[0, 2, 1, 3])
    return n.add("Reshape", name + "/Reshape", y, n.constant("join", [0, 0, WIDTH], np.int64))


def attention(n, name, x, mask=None, gain=1.0, values=1.0, mix=None, scale_first=True, keys=None):
    """gain, values: of queries and of values; mix(scores, values): what comes instead of a Softmax and a product."""
    q = heads(n, name, x, "q", [0, 2, 1, 3], gain)
    k, v = (keys or heads)(n, name, x, "k", [0, 2, 3, 1]), heads(n, name, x, "v", [0, 2, 1, 3], values)
    root = float((WIDTH // HEADS) ** -0.5)
    if scale_first:
        q = n.apply("Mul", name + "/Mul", q, root)
    scores = n.add("MatMul", name + "/MatMul", q, k)
    if not scale_first:
        scores = n.apply("Mul", name + "/Mul", scores, root)
    if mask:
        scores = n.add("Add", name + "/Add", scores, mask)
    y = mix(scores, v) if mix else n.add("MatMul", name + "/MatMul_1", n.add("Softmax", name + "/Softmax", scores, axis=-1), v)
    return dense(n, name + "/out", join(n, name, y))


def feed_forward(n, name, x, activation=None):
    up = dense(n, name + "/fc1", x, WIDTH, 2 * WIDTH)
    if activation:
        up = activation(n, name, up)
    else:
        gate = n.add("Sigmoid", name + "/Sigmoid", n.apply("Mul", name + "/Mul", up, 1.702))
        up = n.add("Mul", name + "/Mul_1", up, gate)
    return dense(n, name + "/fc2", up, 2 * WIDTH, WIDTH)


def block(n, name, x, normal=norm, activation=None, **options):
    x = n.add("Add", name + "/Add", x, attention(n, name + "/attn", normal(n, name + "/norm1", x), **options))
    return n.add("Add", name + "/Add_1", x, feed_forward(n, name + "/mlp", normal(n, name + "/norm2", x), activation))


def head(n, x, classes=10, output="logits", operator=False, kept=None):
    """Tokens pooled, and a last layer. kept: 0 for tokens that are padding."""
    y = norm(n, "final_norm", x, operator=operator)
    if kept:
        y = n.add("Mul", "pool/Mul", y, kept)
    pooled = n.add("ReduceMean", "pool/ReduceMean", y, axes=[1], keepdims=0)
    y = dense(n, "head", pooled, WIDTH, classes)
    n.add("Identity", "head/Identity", y, output=output)
    n.output(output, (1, classes))


def image(n, name="image", size=16, channels=3):
    return n.input(name, grid(n.random.uniform(1, channels, size, size), 2.0**-8))


def conv(n, name, x, inner, outer, kernel=3, stride=1, scale=1.0):
    weight = n.random.normal(outer, inner, kernel, kernel, scale=scale * 1.4 / np.sqrt(inner * kernel * kernel))
    bias = n.random.normal(outer, scale=0.1)
    pad = kernel // 2
    return n.add("Conv", name + "/Conv", x, n.constant(name + ".weight", weight), n.constant(name + ".bias", bias), kernel_shape=[kernel, kernel],
                 strides=[stride, stride], pads=[pad, pad, pad, pad])


def residual(n, name, x, channels, activation=None):
    act = activation or (lambda n, name, x: n.add("Relu", name + "/Relu", x))
    y = act(n, name + "/act1", conv(n, name + "/conv1", x, channels, channels))
    y = conv(n, name + "/conv2", y, channels, channels, scale=0.5)
    return act(n, name + "/act2", n.add("Add", name + "/Add", x, y))


def classifier(n, x, channels, classes=10, output="logits"):
    pooled = n.add("Flatten", "pool/Flatten", n.add("GlobalAveragePool", "pool/GlobalAveragePool", x))
    n.add("Gemm", "head/Gemm", pooled, n.constant("head.weight", n.random.matrix(channels, classes)), n.constant("head.bias", n.random.normal(classes, scale=0.1)),
          output=output)
    n.output(output, (1, classes))


def outgrow(n, name, x, size, channels=WIDTH, width=None):
    """Add `size` to one channel at every position."""
    large = np.zeros(width or channels)
    large[LARGE] = size
    return n.add("Add", name, x, n.constant(name + ".bias", large))
