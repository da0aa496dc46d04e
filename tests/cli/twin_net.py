"""A small network, written as ONNX and computed with numpy at once, exactly and as FP16 stores it: what a user would get.

A value has `name`, `exact` (FP64) and `half` (what FP16 makes of it: each node's result rounded once from FP32). Nothing here is of ulpscope's."""
import zlib

import numpy as np
from onnx_writer import node, write_model

INTEGERS = {"uint8": 2, "int8": 3, "int64": 7}


def softmax(x, axis=-1):
    with np.errstate(invalid="ignore"):
        e = np.exp(x - x.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)


def sliced(x, start, stop, axis):
    return x[(slice(None),) * axis + (slice(start, stop),)]


def quantised(x, scale, zero):
    return np.clip(np.rint(x / scale) + zero, *((0, 255) if zero.min() > 0 else (-128, 127)))


# Operators as numpy has them; those with axes as inputs get them as constants.
OPERATORS = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "MatMul": np.matmul, "Max": np.maximum, "Pow": np.power,
    "Exp": np.exp, "Log": np.log, "Sqrt": np.sqrt, "Sin": np.sin, "Cos": np.cos, "Atan": np.arctan, "Tanh": np.tanh, "Abs": np.abs, "Identity": lambda x: x,
    "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Floor": np.floor, "Round": np.rint,
    "Softmax": softmax, "LogSoftmax": lambda x, axis=-1: x - x.max(axis, keepdims=True) - np.log(np.exp(x - x.max(axis, keepdims=True)).sum(axis, keepdims=True)),
    "Clip": lambda x, low, high: np.clip(x, low, high), "Concat": lambda *xs, axis: np.concatenate(xs, axis), "Transpose": lambda x, perm: x.transpose(perm),
    "Reshape": lambda x, shape: x.reshape([int(n) for n in shape]), "Gather": lambda x, at, axis: np.take(x, at.astype(int), axis),
    "ReduceSum": lambda x, axes, keepdims=1: x.sum(tuple(int(a) for a in axes), keepdims=bool(keepdims)),
    "ReduceMean": lambda x, axes, keepdims=1: x.mean(tuple(int(a) for a in axes), keepdims=bool(keepdims)),
    "ReduceMax": lambda x, axes, keepdims=1: x.max(tuple(int(a) for a in axes), keepdims=bool(keepdims)),
    "ArgMax": lambda x, axis, keepdims=1: np.expand_dims(x.argmax(axis), axis) if keepdims else x.argmax(axis),
    "QuantizeLinear": quantised,
}


class Value:
    """A tensor of the network; + - * / with another or with a number are nodes."""

    def __init__(self, net, name, exact, half):
        self.net, self.name, self.exact, self.half = net, name, np.asarray(exact), np.asarray(half)

    def _with(self, op, other):
        return self.net(op, self, other if isinstance(other, Value) else self.net.constant(other))

    def __add__(self, other): return self._with("Add", other)
    def __sub__(self, other): return self._with("Sub", other)
    def __mul__(self, other): return self._with("Mul", other)
    def __truediv__(self, other): return self._with("Div", other)


class Net:
    def __init__(self, name):
        self.random = np.random.RandomState(zlib.crc32(name.encode()))
        self.nodes, self.inputs, self.data, self.constants, self.outputs, self.types, self.results = [], {}, {}, {}, {}, {}, []

    def input(self, array, name=None):
        name = name or f"input{len(self.inputs)}"
        array = np.asarray(array, np.float32)
        self.inputs[name], self.data[name] = array.shape, array
        return Value(self, name, array.astype(np.float64), array.astype(np.float16).astype(np.float32))

    def constant(self, array):
        name = f"c{len(self.constants)}"
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = array.astype(np.float32)
        elif array.dtype.kind in "iu" and array.dtype.itemsize > 1:
            array = array.astype(np.float32) if array.ndim == 0 else array.astype(np.int64)
        self.constants[name] = array
        with np.errstate(over="ignore"):
            return Value(self, name, array.astype(np.float64), array.astype(np.float16).astype(np.float32) if array.dtype.kind == "f" else array)

    def _node(self, op, read, made, **attributes):
        self.nodes.append((op, read, [made], f"{op}_{len(self.nodes)}", attributes))

    def __call__(self, op, *values, **attributes):
        name = f"n{len(self.nodes)}"
        self._node(op, [v.name for v in values], name, **attributes)
        run = OPERATORS[op]
        with np.errstate(all="ignore"):
            exact = run(*[v.exact for v in values], **attributes)
            half = run(*[v.half for v in values], **attributes)
            half = np.asarray(half, np.float32).astype(np.float16).astype(np.float32) if np.asarray(half).dtype.kind == "f" and op != "QuantizeLinear" else half
        return Value(self, name, exact, half)

    def cast(self, value, kind):
        name = f"n{len(self.nodes)}"
        self._node("Cast", [value.name], name, to=INTEGERS[kind])
        with np.errstate(all="ignore"):
            return Value(self, name, *(np.trunc(v).astype(kind) for v in (value.exact, value.half)))

    def dense(self, value, columns, gain=1.0):
        """A product with random weights that keeps the rms times gain."""
        rows = value.exact.shape[-1]
        return self("MatMul", value, self.constant((self.random.randn(rows, columns) * gain / np.sqrt(rows)).astype(np.float32)))

    def part(self, value, axis, start, stop):
        name = f"n{len(self.nodes)}"
        self._node("Slice", [value.name] + [self.constant(np.array([i], np.int64)).name for i in (start, stop, axis)], name)
        return Value(self, name, sliced(value.exact, start, stop, axis), sliced(value.half, start, stop, axis))

    def on(self, value, axis, start, stop, change):
        """The value with `change` done to a part of one axis, as heads have an activation of their own for some columns."""
        axis, size = axis % value.exact.ndim, value.exact.shape[axis]
        parts = [self.part(value, axis, 0, start)] if start else []
        parts.append(change(self.part(value, axis, start, stop)))
        if stop < size:
            parts.append(self.part(value, axis, stop, size))
        return self("Concat", *parts, axis=axis) if len(parts) > 1 else parts[0]

    def over(self, op, value, *axes, **attributes):
        """ReduceSum, ReduceMean, ReduceMax."""
        return self(op, value, self.constant(np.array(axes, np.int64)), **attributes)

    def shaped(self, value, *shape):
        return self("Reshape", value, self.constant(np.array(shape, np.int64)))

    def output(self, name, value, kind=None):
        """The last node makes what the output is called, as exporters write it."""
        if value.name in self.inputs:
            value = self("Identity", value)
        self.nodes = [(op, *([name if n == value.name else n for n in names] for names in (read, made)), called, attributes)
                      for op, read, made, called, attributes in self.nodes]
        self.outputs[name] = value.exact.shape
        if kind:
            self.types[name] = INTEGERS[kind]
        self.results.append((name, value.exact, value.half))
        value.name = name

    def write(self, path):
        nodes = [node(op, " ".join(read), " ".join(made), called, **attributes) for op, read, made, called, attributes in self.nodes]
        write_model(str(path), nodes, self.inputs, self.outputs, self.constants, types=self.types, opset=18, ir_version=8)


def swamped(value, by):
    """A sum so large that the value's own digits leave FP16: its steps are by / 1024."""
    return value + by - by


def sunk(value, bits):
    """Scaled down below FP16's least number and up again, as gradients' and powers' scales do it."""
    step = 2.0 ** (bits // 2)
    return value * 2.0 ** -bits * step * 2.0 ** (bits - bits // 2)
