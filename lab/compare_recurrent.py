#!/usr/bin/env python3
"""Recurrences against cuDNN on an NVIDIA GPU: the relative error and the equal bits of every recorded LSTM and GRU.

    lab/compare_recurrent.py ULPSCOPE FILE [--limit SHARE] [--all]

FILE, DATA/gpu/h200_recurrent.npz or the sample of it in tests/data/unit, has the outputs of torch.nn.LSTM and GRU (PyTorch 2.11, cuDNN 9.19) in FP16 and BF16. For each the graph of one node runs
with `recurrence=cudnn` and with `recurrence=plain`. The relative rms error, against mpfr:128 on the same weights, must be within SHARE (0.05) of the GPU's, and with cudnn no fewer bits may be equal than with
plain; of the sample, whose sequences are short, as many as BITS says. Exit code 1 when a case is not so. Needs numpy."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from onnx_writer import node, write_model  # pylint: disable=wrong-import-position

BASES = {"float16": "fp16", "bfloat16": "bf16"}
# What is left of kernels that do not store all in between are the last bits of their functions (mma: and what its products lose), which a sequence carries on.
BITS = {"step": 0.995, "block": 0.975, "tile": 0.975, "mma": 0.875}
ORDERS = {"lstm": (0, 3, 1, 2), "gru": (1, 0, 2)}  # ONNX's gates as places in PyTorch's order: i f g o, r z n


def round_to(values, kind):
    if kind == "float16":
        return values.astype(np.float16).astype(np.float32)
    bits = values.view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)


def bits_of(values, kind):
    return values.astype(np.float16).view(np.int16) if kind == "float16" else (values.view(np.uint32) >> 16).astype(np.uint16).view(np.int16)


def values_of(bits, kind):
    return bits.view(np.float16).astype(np.float32) if kind == "float16" else (bits.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def run(program, arithmetic, model, inputs, folder):
    out = os.path.join(folder, "out.npz")
    done = subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "-q", "-o", out], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arithmetic}: {done.stderr.strip()}")
    with np.load(out) as file:
        return file["y"]


def draw(case):
    """x, w, r and b as ONNX has them."""
    steps, batch, size, hidden = case["shape"]
    random, gates = np.random.default_rng(case["seed"]), len(ORDERS[case["kind"]])
    uniform = lambda *shape: random.uniform(-3 / np.sqrt(hidden), 3 / np.sqrt(hidden), shape).astype(np.float32)
    x = random.standard_normal((steps, batch, size)).astype(np.float32)
    w, r, b, b_r = uniform(gates * hidden, size), uniform(gates * hidden, hidden), uniform(gates * hidden), uniform(gates * hidden)
    order = lambda a: a.reshape(gates, hidden, -1)[list(ORDERS[case["kind"]])].reshape(gates * hidden, -1)
    arrays = {"x": x, "w": order(w)[None], "r": order(r)[None], "b": np.concatenate([order(b), order(b_r)]).reshape(1, -1)}
    return {name: round_to(np.ascontiguousarray(a), case["type"]) for name, a in arrays.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--limit", type=float, default=0.05)
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    recorded, failed = np.load(given.file), 0
    print("                                        rms error: GPU  cudnn over it  plain over it   equal bits: cudnn  plain")
    with tempfile.TemporaryDirectory() as folder:
        model, inputs = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.npz")
        for case in json.loads(bytes(recorded["meta"]))["cases"]:
            kind, base, hidden = case["type"], BASES[case["type"]], case["shape"][3]
            arrays = draw(case)
            theirs = recorded[case.get("key", f"s{case['seed']}")]
            arrays["x"] = arrays["x"][: len(theirs)]
            extra = {"linear_before_reset": 1} if case["kind"] == "gru" else {}
            write_model(model, [node(case["kind"].upper(), "x w r b", "y", "cell", hidden_size=hidden, **extra)], {n: a.shape for n, a in arrays.items()}, ["y"], {}, opset=14)
            np.savez(inputs, **arrays)
            exact = run(program, "mpfr:128", model, inputs, folder).astype(np.float64).reshape(theirs.shape)
            error = lambda values: np.sqrt(np.mean((values - exact) ** 2) / np.mean(exact ** 2))
            gpu = error(values_of(theirs, kind))
            ours = [run(program, f"{base},recurrence={part}", model, inputs, folder).reshape(theirs.shape) for part in ("cudnn", "plain")]
            ratios, equal = [error(y) / gpu for y in ours], [np.mean(bits_of(y, kind) == theirs) for y in ours]
            right = abs(ratios[0] - 1) <= given.limit and equal[0] >= max(equal[1], BITS.get(case.get("kernel"), 0))
            failed += not right
            print(f"{case['kind']:4} {base} {str(case['shape']):20} {case.get('kernel', ''):6} {gpu:10.3e}  {ratios[0]:13.3f}  {ratios[1]:13.3f}   {equal[0]:17.2%} {equal[1]:6.2%}{'' if right else '  FAILED'}")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
