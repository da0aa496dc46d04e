"""The kinds of faults that plant_faults.py plants: how a part of a network is changed for each, with the fault, without it, and for some as it was before the export."""
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WORDS = ("overflow", "underflow", "cancellation", "rounding", "decision", "constant", "quantiser", "sum", "state")
KINDS = {}  # name: (function, reason, late, command)
DOCTOR = "doctor {model} -i inputs.npz -a fp16 --task signal"
AUDIT = "audit {model} -i inputs.npz -a %s --reference-model reference.onnx --task signal"
COMPARE = "compare {model} recorded.npz -i inputs.npz -a fp32 --task signal"


def kind(reason, late=False, command=DOCTOR):
    def keep(function):
        KINDS[function.__name__] = (function, reason, late, command)
        return function

    assert reason in WORDS
    return keep


class Misfit(Exception):
    """This part cannot have this fault."""


# A part that is changed


class Edit:
    """A part with nodes put behind the tensor `at`, which the nodes after it then read instead."""

    def __init__(self, part, at, bad, values):
        self.model = onnx.ModelProto.FromString(part.SerializeToString())
        self.graph, self.at, self.bad, self.values = self.model.graph, at, bad, values
        self.x = values[at].astype("f8")
        self.rms = float(np.sqrt(np.mean(np.square(self.x))))
        self.n = self.x.shape[-1] if self.x.ndim else 1
        self.added, self.right = [], []  # right: names of nodes that are a right answer

    def const(self, array, dtype="f4"):
        array = np.asarray(array)
        name = f"{self.at}_c{len(self.graph.initializer)}"
        self.graph.initializer.append(numpy_helper.from_array(array.astype(dtype), name))
        return name

    def op(self, op, *reads, right=False, dtype="f4", output=None, **attributes):
        """One node; numbers among what it reads become constants."""
        reads = [read if isinstance(read, str) else self.const(read, dtype) for read in reads]
        name = f"{op}_{self.at}_{sum(node.op_type == op for node in self.added)}"  # the reference calls the same node the same
        self.added.append(helper.make_node(op, reads, [output or name + "_out"], name=name, **attributes))
        if right:
            self.right.append(name)
        return self.added[-1].output[0]

    def mean(self, read, right=False):
        return self.op("ReduceMean", read, axes=[-1], keepdims=1, right=right)

    def total(self, read, right=False):
        return self.op("ReduceSum", read, self.const([-1], "i8"), keepdims=1, right=right)

    def need(self, condition):
        if not condition:
            raise Misfit("tensor")

    def put(self, result):
        """Lets the later nodes read `result`; the new nodes go behind the one that makes `at`."""
        place = 1 + next(i for i, node in enumerate(self.graph.node) if self.at in node.output)
        for node in self.graph.node:
            for i, read in enumerate(node.input):
                if read == self.at and result != self.at:
                    node.input[i] = result
        nodes = list(self.graph.node)
        del self.graph.node[:]
        self.graph.node.extend(nodes[:place] + self.added + nodes[place:])

    def weights(self, least_rank=2, square=False, bias=False):
        """A product of this part with a constant factor, by chance of `at`: node, place of the factor, its array."""
        held = {tensor.name: numpy_helper.to_array(tensor) for tensor in self.graph.initializer}
        found = []
        for node in self.graph.node:
            if node.op_type not in ("Conv", "Gemm", "MatMul"):
                continue
            i = 2 if bias else 1
            array = held.get(node.input[i]) if len(node.input) > i else None
            if array is None or array.dtype != np.float32 or array.ndim < (1 if bias else least_rank) or not array.any():
                continue
            if not square or (array.shape[0] == array.shape[1] > 3):
                found.append((node, i, array))
        self.need(found)
        return found[zlib.crc32(self.at.encode()) % len(found)]

    def dequantise(self, node, place, codes, scale, reference, **attributes):
        """The constant that `node` reads comes from codes; in the reference it is the array that they mean."""
        name = node.input[place]
        for tensor in [tensor for tensor in self.graph.initializer if tensor.name == name]:
            self.graph.initializer.remove(tensor)
        if reference is not None:
            self.graph.initializer.append(numpy_helper.from_array(reference.astype("f4"), name))
            return
        zero = np.zeros(np.shape(scale), codes.dtype)
        made = helper.make_node("DequantizeLinear", [self.const(codes, codes.dtype), self.const(scale), self.const(zero, codes.dtype)], [name], name=f"Dequantize_{name}", **attributes)
        self.graph.node.insert(0, made)
        self.right += [made.name, node.name]


# The kinds: each gives the tensor that takes the place of e.at, or None. e.bad: True the fault, False its twin, None the reference


@kind("decision")
def argmax_after_bias(e):
    """A bias far above the logits is added before ArgMax: logits that differ become equal."""
    e.need(e.n >= 8)
    z = e.op("Mul", e.at, 1 / e.rms)
    if e.bad:
        z = e.op("Add", z, 700.0, right=True)
    hot = e.op("OneHot", e.op("ArgMax", z, axis=-1, keepdims=0), e.const(e.n, "i8"), e.const([0, 4 * e.rms]), axis=-1)
    return e.op("Add", e.at, hot)


@kind("underflow")
def epsilon_vanishes(e):
    """A normalisation whose epsilon is 0 in FP16, over padded rows: 0 / 0."""
    e.need(e.n >= 8 and e.x.ndim >= 2 and e.x.shape[-2] >= 4)
    keep = np.ones((e.x.shape[-2], 1))
    keep[-2:] = 0
    x = e.op("Mul", e.op("Mul", e.at, 1 / e.rms), keep)
    d = e.op("Sub", x, e.mean(x))
    v = e.op("Add", e.mean(e.op("Mul", d, d)), 1e-8 if e.bad else 1e-3, right=True)
    return e.op("Mul", e.op("Div", d, e.op("Sqrt", v), right=True), e.rms)


@kind("cancellation")
def square_variance(e):
    """E[x^2] - E[x]^2 of channels with a mean far above their spread."""
    e.need(e.n >= 8)
    x = e.op("Add", e.op("Mul", e.at, 1 / e.rms), 31.0)
    m = e.mean(x, right=e.bad)
    d = e.op("Sub", x, m)
    if e.bad:
        v = e.op("Sub", e.mean(e.op("Mul", x, x, right=True), right=True), e.op("Mul", m, m, right=True), right=True)
    else:
        v = e.mean(e.op("Mul", d, d))
    return e.op("Mul", e.op("Div", d, e.op("Sqrt", e.op("Add", v, 1e-2))), e.rms)


@kind("overflow")
def softmax_without_max(e):
    """exp(x) / sum(exp(x)), written out without the maximum."""
    e.need(e.n >= 8 and e.x.max() > e.rms)
    z = e.op("Mul", e.at, 13.5 / e.x.max())
    if e.bad:
        exp = e.op("Exp", z, right=True)
        p = e.op("Div", exp, e.total(exp, right=True))
    else:
        p = e.op("Softmax", z, axis=-1)
    return e.op("Add", e.at, e.op("Mul", p, e.rms))


@kind("overflow")
def masks_added(e):
    """Two masks, each within the format, are added: a row that both mask is all -inf, and its Softmax NaN."""
    e.need(e.n >= 8 and e.x.ndim >= 2 and e.x.shape[-2] >= 4)
    padding, causal = np.zeros((2, e.x.shape[-2], e.n), bool)
    padding[:, e.n // 2 :] = True
    causal[0], padding[0] = True, True
    z = e.op("Mul", e.at, 1 / e.rms)
    if e.bad:
        z = e.op("Add", z, np.where(padding, -4e4, 0), right=True)
        z = e.op("Add", z, np.where(causal, -4e4, 0), right=True)
    else:
        z = e.op("Where", e.const(padding | causal, bool), e.const(-1e4), z)
    return e.op("Add", e.at, e.op("Mul", e.op("Softmax", z, axis=-1), e.rms))


@kind("rounding")
def subpixel_coordinates(e):
    """A small displacement is added to a large pixel coordinate; the weights of an interpolation are what is behind the point."""
    e.need(4 <= e.n <= 900)
    c = e.op("Mul", e.at, 0.3 / e.rms)
    if e.bad:
        c = e.op("Add", c, 1100.0 + np.arange(e.n), right=True)
    weight = e.op("Sub", c, e.op("Floor", c))
    return e.op("Mul", e.at, e.op("Add", weight, 0.25))


def codes_of(array, axis=None):
    others = None if axis is None else tuple(i for i in range(array.ndim) if i != axis)
    scale = np.maximum(np.abs(array).max(axis=others), 1e-9).astype("f4") / np.float32(127)
    wide = scale if axis is None else scale.reshape([-1 if i == axis else 1 for i in range(array.ndim)])
    codes = np.clip(np.rint(array / wide), -127, 127).astype("i1")
    return codes, scale, codes.astype("f4") * wide


@kind("constant", command=AUDIT % "fp32")
def codes_unsigned(e):
    """Weights' signed codes are declared as unsigned: the negative ones wrap around."""
    node, place, array = e.weights()
    codes, scale, meant = codes_of(array)
    e.dequantise(node, place, codes.view("u1") if e.bad else codes, scale, meant if e.bad is None else None)


@kind("constant", command=COMPARE)
def bias_clipped(e):
    """Some channels' scale is so small that their bias does not fit INT32, and is clipped."""
    node, place, bias = e.weights(bias=True)
    small = np.arange(bias.size) % 3 == 0
    scale = np.maximum(np.abs(bias), np.abs(bias).max() / 50) * np.where(small, 2.0**-36 if e.bad else 2.0**-24, 2.0**-24)
    scale = np.where(bias == 0, 2.0**-24, scale).astype("f4")
    codes = np.clip(np.rint(bias / scale.astype("f8")), -(2**31), 2**31 - 1).astype("i4")
    e.dequantise(node, place, codes, scale, bias if e.bad is None else None, axis=0)


def quantised(e, read, low, high, right=True):
    """Through UINT8 with one scale, or one for each element of the last axis."""
    low, high = np.minimum(low, 0), np.maximum(high, 0)
    scale = np.maximum((high - low) / 255, 1e-7)
    zero = np.clip(np.rint(-low / scale), 0, 255)
    parameters = [e.const(scale), e.const(zero, "u1")]
    q = e.op("QuantizeLinear", read, *parameters, right=right, axis=-1)
    return e.op("DequantizeLinear", q, *parameters, right=right, axis=-1)


def ranges(x):
    return x.min(axis=tuple(range(x.ndim - 1))), x.max(axis=tuple(range(x.ndim - 1)))


@kind("quantiser", command=AUDIT % "fp32")
def outlier_scale(e):
    """One channel far above the others takes the whole range of an INT8 tensor."""
    e.need(e.n >= 8 and e.x.ndim >= 2 and e.x.max() > 0)
    gain = np.ones(e.n)
    gain[int(np.abs(e.x).max(axis=tuple(range(e.x.ndim - 1))).argmax())] = 250
    x = e.op("Mul", e.at, gain)
    if e.bad is not None:
        low, high = ranges(e.x * gain)
        x = quantised(e, x, low.min(), high.max()) if e.bad else quantised(e, x, low, high)
    return e.op("Mul", x, 1 / gain)


@kind("rounding", command=AUDIT % "model")
def cast_too_early(e):
    """A Cast to FP16 stands before the subtraction of a mean, not behind it."""
    e.need(e.n >= 8)
    x = e.op("Add", e.op("Mul", e.at, 1 / e.rms), 900.0)

    def cast(read, right):
        return e.op("Cast", e.op("Cast", read, to=TensorProto.FLOAT16, right=right), to=TensorProto.FLOAT, right=right)

    if e.bad:
        x = cast(x, True)
    d = e.op("Sub", x, e.mean(x))
    return e.op("Mul", cast(d, False) if e.bad is False else d, e.rms)


@kind("decision", late=True)
def class_offsets(e):
    """An offset for each class is added to boxes, as before one NMS for all classes; their widths then decide."""
    e.need(e.n >= 4 and e.x.ndim >= 2)
    b = e.op("Abs", e.op("Mul", e.at, 10 / e.rms))
    shape = e.x.shape[:-1] + (1,)
    wide = np.abs(e.x * 10 / e.rms)
    wide = np.sort((wide - wide.min(axis=-1, keepdims=True)).ravel())
    middle = wide[wide.size // 3 : 1 + 2 * wide.size // 3]
    e.need(middle.size >= 3 and np.diff(middle).max() > 0)
    at = int(np.diff(middle).argmax())
    if e.bad:
        b = e.op("Add", b, 4096.0 * (1 + np.arange(np.prod(shape)).reshape(shape) % 14), right=True)
    width = e.op("Sub", b, e.op("ReduceMin", b, axes=[-1], keepdims=1), right=e.bad)
    return e.op("Where", e.op("Greater", width, (middle[at] + middle[at + 1]) / 2), e.at, e.op("Mul", e.at, -0.5))


@kind("underflow", late=True)
def tiny_vector_norm(e):
    """The squares of a small vector underflow, so its norm is 0 or coarse."""
    e.need(e.n >= 8 and np.abs(e.x).max(axis=-1).min() > 1e-2 * e.rms)
    q = e.op("Mul", e.at, (1.5e-4 if e.bad else 0.1) / e.rms)
    norm = e.op("Sqrt", e.total(e.op("Mul", q, q, right=True), right=True))
    return e.op("Mul", e.op("Div", q, norm), e.rms * e.n**0.5)


@kind("underflow", late=True)
def scale_in_half(e):
    """A dynamic scale, largest / 32767, is a subnormal number of FP16 with one bit."""
    e.need(e.n >= 4)
    most = 2.93e-3 if e.bad else 1.0
    q = e.op("Mul", e.at, most / np.abs(e.x).max())
    scale = e.op("Mul", e.op("ReduceMax", e.op("Abs", q), keepdims=0), 1 / 32767, right=True)
    return e.op("Mul", e.op("Div", q, scale), np.abs(e.x).max() / 32767)


@kind("overflow", late=True)
def scores_before_scale(e):
    """Attention's scores are scaled after the product, and overflow before."""
    e.need(e.x.ndim >= 2 and 4 <= e.x.shape[-2] <= 256 and e.n >= 8)
    size = np.square(e.x).sum(axis=-1).max() / e.rms**2
    grow = float(np.sqrt(1.2e5 / size))
    q = e.op("Mul", e.at, grow / e.rms)
    order = list(range(e.x.ndim - 2)) + [e.x.ndim - 1, e.x.ndim - 2]
    k = e.op("Transpose", q, perm=order)
    if e.bad:
        s = e.op("Mul", e.op("MatMul", q, k, right=True), 4 / 1.2e5)
    else:
        s = e.op("MatMul", e.op("Mul", q, 4 / 1.2e5), k)
    return e.op("MatMul", e.op("Softmax", s, axis=-1), e.at)


@kind("rounding", late=True)
def phase_sum(e):
    """A phase is summed over time without taking whole turns off."""
    e.need(e.n >= 48)
    rate = e.op("Mul", e.at, 0.2 / np.abs(e.x).max())
    if e.bad:
        rate = e.op("Add", rate, 7.0, right=True)
    turns = e.op("CumSum", rate, e.const(e.x.ndim - 1, "i8"), right=e.bad)
    s = e.op("Sin", e.op("Mul", turns, 2 * np.pi, right=e.bad))
    return e.op("Mul", s, e.rms)


@kind("cancellation", late=True)
def bias_into_norm(e):
    """A convolution's bias far above its signal, which the normalisation behind it takes off again."""
    makes = next(node for node in e.graph.node if e.at in node.output)
    e.need(makes.op_type in ("Conv", "Gemm") and e.x.ndim in (2, 4))
    channels = e.x.shape[1]
    held = {tensor.name: numpy_helper.to_array(tensor) for tensor in e.graph.initializer}
    old = held.get(makes.input[2]) if len(makes.input) > 2 else np.zeros(channels)
    e.need(old is not None and old.shape == (channels,))
    shift = 900 * e.rms * (1 + np.arange(channels) % 2) if e.bad else np.zeros(channels)
    new = e.const(old + shift)
    if len(makes.input) > 2:
        makes.input[2] = new
    else:
        makes.input.append(new)
    e.right.append(makes.name)
    return e.op("BatchNormalization", e.at, np.ones(channels), np.zeros(channels), shift, np.ones(channels), right=True, epsilon=0.0)


@kind("rounding", late=True)
def index_in_half(e):
    """row x width + column is computed in floats, beyond the integers that FP16 has."""
    e.need(e.n >= 40 and e.x.ndim >= 2)
    width = 101
    rng = np.random.default_rng(zlib.crc32(e.at.encode()))
    row = e.op("ArgMax", e.at, axis=-1, keepdims=1)
    if e.bad:
        place = e.op("Add", e.op("Mul", e.op("Cast", row, to=TensorProto.FLOAT), float(width), right=True), 37.0, right=True)
        place = e.op("Cast", place, to=TensorProto.INT64)
    else:
        place = e.op("Add", e.op("Mul", row, width, dtype="i8"), 37, dtype="i8")
    return e.op("Add", e.at, e.op("Gather", 4 * e.rms * rng.standard_normal(e.n * width), place, axis=0))


@kind("constant", late=True, command=COMPARE)
def wrong_axis(e):
    """The scales of a square matrix of weights are laid along its other axis."""
    node, place, array = e.weights(square=True)
    codes, scale, meant = codes_of(array, 0)
    e.dequantise(node, place, codes, scale, meant if e.bad is None else None, axis=1 if e.bad else 0)


@kind("quantiser", late=True, command=AUDIT % "fp32")
def shared_range(e):
    """A tensor is quantised twice, the second time with the far wider range of a sibling that it is concatenated with."""
    e.need(e.n >= 4)
    x, (low, high) = e.at, ranges(e.x)
    if e.bad is not None:
        x = quantised(e, x, low, high, right=False)
        x = quantised(e, x, 60 * low.min(), 60 * high.max()) if e.bad else quantised(e, x, low, high, right=False)
    return e.op("Mul", x, 1.0)


@kind("underflow", late=True)
def product_of_probabilities(e):
    """The logarithm of a product of probabilities, which is 0 in FP16."""
    e.need(32 <= e.n <= 90)
    p = e.op("Sigmoid", e.op("Mul", e.at, 1 / e.rms))
    if e.bad:
        log = e.op("Log", e.op("ReduceProd", p, axes=[-1], keepdims=1, right=True))
    else:
        log = e.total(e.op("Log", p))
    return e.op("Add", e.at, e.op("Mul", log, e.rms / e.n))
