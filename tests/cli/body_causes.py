#!/usr/bin/env python3
"""Models whose cause stands in the body of a Loop, a Scan or an If: FOLDER/body-NAME/broken.onnx and inputs.npz.

    body_causes.py FOLDER
"""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import FLOAT, INT64, block, graph, node, number, write_model

BOOL, OPSET, N = 9, 17, 32
turn = np.random.default_rng(37)


def weights(rows=N, columns=N):
    return (turn.standard_normal((rows, columns)) / rows**0.5).astype("f4")


def write(folder, name, nodes, given, outputs, constants, types=None):
    path = os.path.join(folder, f"body-{name}")
    os.makedirs(path, exist_ok=True)
    write_model(os.path.join(path, "broken.onnx"), nodes, {key: array.shape for key, array in given.items()}, outputs, constants, opset=OPSET, types=types)
    np.savez(os.path.join(path, "inputs.npz"), **given)


def loop(folder):
    """LayerNormalization written out, of values whose squares FP16 does not hold."""
    body = [
        node("MatMul", "h w", "p"), node("ReduceMean", "p", "mean", axes=[-1]), node("Sub", "p mean", "d"), node("Pow", "d two", "square"),
        node("ReduceMean", "square", "variance", axes=[-1]), node("Add", "variance small", "sum"), node("Sqrt", "sum", "root"), node("Div", "d root", "unit"),
        node("Mul", "unit gamma", "scaled"), node("Add", "scaled beta", "next"), node("Mul", "next large", "h_next"), node("Identity", "go", "go_on"),
    ]  # fmt: skip
    step = graph(body, {"i": [], "go": [], "h": [2, N]}, {"go_on": [], "h_next": [2, N]}, {"two": np.float32(2), "w": weights(), "gamma": 1 + weights(1)[0] / 4},
                 "step", {"i": INT64, "go": BOOL, "go_on": BOOL, "h": FLOAT})
    # what the body reads from around it: the epsilon, and the scale that makes the squares large
    constants = {"count": np.int64(3), "true": np.array(True), "small": np.float32(1e-5), "beta": weights(1)[0], "large": np.float32(900), "v": weights(N, 4)}
    write(folder, "loop", [node("Loop", "count true x", "last", body=step), node("MatMul", "last v", "logits")], {"x": 900 * turn.standard_normal((2, N)).astype("f4")},
          {"logits": (2, 4)}, constants)


def scan(folder):
    """The logarithm of a Softmax of which most is below what FP16 holds; the body's weights are in another file."""
    os.makedirs(os.path.join(folder, "body-scan"), exist_ok=True)
    raw = (12 * weights()).tobytes()
    with open(os.path.join(folder, "body-scan", "weights.bin"), "wb") as file:
        file.write(raw)
    entries = (("location", "weights.bin"), ("offset", "0"), ("length", str(len(raw))))
    outside = number(1, N) * 2 + number(2, FLOAT) + block(8, "w") + number(14, 1) + b"".join(block(13, block(1, key) + block(2, what)) for key, what in entries)
    body = [node("MatMul", "row w", "p"), node("Softmax", "p", "share", axis=-1), node("Log", "share", "score"), node("Identity", "state", "state_out")]
    step = graph(body, {"state": [1], "row": [4, N]}, {"state_out": [1], "score": [4, N]}, name="step") + block(5, outside)
    write(folder, "scan", [node("Scan", "zero x", "end scores", body=step, num_scan_inputs=1), node("MatMul", "scores v", "y")],
          {"x": turn.standard_normal((5, 4, N)).astype("f4")}, {"y": (5, 4, 4)}, {"zero": np.zeros(1, "f4"), "v": weights(N, 4)})


def branch(folder):
    """x / sqrt(mean(x^2) + e), and an epsilon that FP16 does not hold, of a row of zeros."""
    wide = graph([node("Mul", "x x", "square"), node("ReduceMean", "square", "mean", axes=[-1]), node("Add", "mean e", "sum"), node("Sqrt", "sum", "root"),
                  node("Div", "x root", "unit"), node("MatMul", "unit w", "out")], {}, ["out"], {"e": np.float32(1e-5), "w": weights()}, "wide")
    plain = graph([node("ReduceSum", "ones axis", "all"), node("Abs", "x", "size"), node("Mul", "size all", "many"), node("Add", "many tiny", "sum2"),
                   node("Div", "x sum2", "unit2"), node("Mul", "unit2 all", "out2")], {}, ["out2"], {"ones": np.ones(N, "f4"), "axis": np.array([0])}, "plain")
    x = 900 * turn.standard_normal((3, N)).astype("f4")
    for name, rows, chosen in (("branch", x, True), ("epsilon", np.where(np.arange(3)[:, None] == 1, 0, x / 900).astype("f4"), False)):
        write(folder, name, [node("If", "chosen", "y", then_branch=wide, else_branch=plain)], {"x": rows, "chosen": np.array(chosen)}, {"y": (3, N)}, {"tiny": np.float32(1e-12)},
              {"chosen": BOOL})


if __name__ == "__main__":
    loop(sys.argv[1])
    scan(sys.argv[1])
    branch(sys.argv[1])
