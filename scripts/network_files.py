"""What the scripts that write large networks share: weights in external files, and a graph that they are part of."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
import onnx_writer as onnx  # noqa: E402

TYPES = {np.dtype(kind): number for kind, number in onnx.TYPES.items()}
BF16 = np.dtype("u2")  # numpy has no BFLOAT16: its codes
TYPES[BF16] = 16
INT4 = np.dtype("V1")  # bytes of two codes, which numpy has no type for
TYPES[INT4] = 22
FILE_BYTES = 2 << 30  # of one external file: the next begins beyond it
DRAWN = 1 << 22


def encode(part, dtype):
    """Numbers as a tensor of that type has them."""
    if np.dtype(dtype) == INT4:
        return np.ascontiguousarray(part).view(INT4)
    if np.dtype(dtype) != BF16:
        return np.ascontiguousarray(part, dtype=dtype)
    codes = np.ascontiguousarray(part, dtype="f4").view("u4")
    return ((codes + 0x7fff + (codes >> 16 & 1)) >> 16).astype(BF16)  # to nearest, ties to even


class Weights:
    """External files that weights are appended to, and the initialisers that point there."""

    def __init__(self, folder, seed):
        self.folder, self.initialisers, self.files, self.at, self.count = folder, [], [], FILE_BYTES, 0
        self.drawn = np.random.default_rng(seed).standard_normal(DRAWN).astype(np.float32)
        self.turn = np.random.default_rng(seed + 1)

    def draw(self, count, scale):
        """count normal numbers: one block over and over, each time from another place and with another sign."""
        while count:
            first = int(self.turn.integers(DRAWN // 2))
            part = self.drawn[first:first + count] * np.float32(scale * self.turn.choice((-1, 1)))
            count -= len(part)
            yield part

    def add(self, name, shape, dtype, parts):
        if self.at >= FILE_BYTES:
            self.files.append(open(os.path.join(self.folder, f"model.onnx.data{len(self.files)}"), "wb"))
            self.at = 0
        self.at += -self.at % 4096
        first = self.at
        self.files[-1].seek(first)
        for part in parts:
            data = encode(part, dtype)
            self.files[-1].write(data.data)
            self.at += data.nbytes
            self.count += data.size
        entries = {"location": os.path.basename(self.files[-1].name), "offset": first, "length": self.at - first}
        self.initialisers.append(b"".join(onnx.number(1, size) for size in shape) + onnx.number(2, TYPES[np.dtype(dtype)]) + onnx.block(8, name) +
                                 b"".join(onnx.block(13, onnx.block(1, key) + onnx.block(2, str(value))) for key, value in entries.items()) +
                                 onnx.number(14, 1))

    def add_small(self, name, array):
        """In the model itself: sizes, axes, scalars."""
        self.initialisers.append(onnx.initialiser(name, array))


class Graph:
    """Nodes, and the weights that they read."""

    def __init__(self, folder, seed=1):
        os.makedirs(folder, exist_ok=True)
        self.folder, self.nodes, self.weights = folder, [], Weights(folder, seed)

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(onnx.node(op, inputs, outputs, **attributes) + (onnx.block(7, domain) if domain else b""))
        return outputs

    def write(self, name, inputs, outputs, opsets, ir_version=8):
        """inputs, outputs: {name: (dtype, shape)}; opsets: {domain: version}. Writes model.onnx beside the weights."""
        for file in self.weights.files:
            file.flush()

        def values(field, infos):
            return b"".join(onnx.block(field, onnx.value(key, shape, TYPES[np.dtype(dtype)])) for key, (dtype, shape) in infos.items())
        graph = (b"".join(onnx.block(1, item) for item in self.nodes) + onnx.block(2, name) +
                 b"".join(onnx.block(5, item) for item in self.weights.initialisers) + values(11, inputs) + values(12, outputs))
        with open(os.path.join(self.folder, "model.onnx"), "wb") as file:
            file.write(onnx.number(1, ir_version) + onnx.block(7, graph) +
                       b"".join(onnx.block(8, onnx.block(1, domain) + onnx.number(2, version)) for domain, version in opsets.items()))
