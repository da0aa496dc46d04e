#!/usr/bin/env python3
"""Models that declare their types, into FOLDER: as .half() exports them (every value FLOAT16, BatchNormalization among them), and mixed (FLOAT outside, Casts
around FLOAT16 nodes). In `broken` ones a square is beyond 65504, in `sound` ones it is not: which node, and what mends it, follows."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import FLOAT, FLOAT16, node, write_model  # noqa: E402

ROWS, CHANNELS, LENGTH = 2, 8, 16


def build(path, mixed, reach):
    random = np.random.RandomState(3)
    half = lambda values: np.asarray(values, np.float16)  # noqa: E731
    constants = {"w": half(random.randn(CHANNELS, CHANNELS, 1) / 3), "scale": half(1 + random.rand(CHANNELS) / 4), "shift": half(random.randn(CHANNELS) / 8),
                 "mean": half(random.randn(CHANNELS) / 8), "variance": half(0.5 + random.rand(CHANNELS))}
    x = (random.randn(ROWS, CHANNELS, LENGTH) * reach).astype(np.float32 if mixed else np.float16)
    inner = "x16" if mixed else "x"
    nodes = [node("Conv", inner + " w", "c", called="conv"), node("BatchNormalization", "c scale shift mean variance", "b", called="norm"),
             node("Mul", "b b", "square", called="square"), node("ReduceMean", "square", "m", called="mean", axes=[2]),
             node("Sqrt", "m", "root", called="root"), node("Div", "b root", "y16" if mixed else "y", called="out")]
    if mixed:
        nodes = [node("Cast", "x", "x16", called="lower", to=FLOAT16)] + nodes + [node("Cast", "y16", "y", called="widen", to=FLOAT)]
    io = FLOAT if mixed else FLOAT16
    write_model(path + ".onnx", nodes, {"x": x.shape}, {"y": x.shape}, constants, 13, types={"x": io, "y": io})
    np.savez(path + ".npz", x=x)


if __name__ == "__main__":
    for kind in ("half", "mixed"):
        for name, reach in (("sound", 1), ("broken", 400)):
            build(os.path.join(sys.argv[1], f"{kind}-{name}"), kind == "mixed", reach)
