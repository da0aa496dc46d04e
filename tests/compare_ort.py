#!/usr/bin/env python3
"""Compare the arithmetic ort-cpu with ONNX Runtime's CPU provider on FP16 and mixed graphs.

    tests/compare_ort.py ULPSCOPE MODEL.onnx=INPUTS.npz ...

Needs numpy and onnxruntime. Both give the graph's outputs; the distance is the rms of their difference over the outputs' rms, beside that of the
arithmetic model, which obeys every declared FP16. ONNX Runtime adds in another order in FP32, so bits differ; where a value is rounded to FP16
that flips a rounding now and then. Exit code 1 when ort-cpu is not at least --factor times (default 4) closer than model, and further than --close
(default 2e-5, a few hundred FP32 roundings). A model that ONNX Runtime refuses is left out. Without fusions: ORT_DISABLE_ALL.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

TYPES = {"tensor(float16)": np.float16, "tensor(float)": np.float32}


def run_runtime(path, inputs, level):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {value.name: inputs[value.name].astype(TYPES.get(value.type, inputs[value.name].dtype)) for value in session.get_inputs()}
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, feed)))


def run_ours(program, path, inputs, arithmetic):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.npz")
        done = subprocess.run([program, "run", path, "--inputs", inputs, "--arith", arithmetic, "--outputs", out, "--quiet"], capture_output=True,
                              text=True)
        if done.returncode:
            sys.exit(f"{path}: exit {done.returncode}: {done.stderr.strip()}")
        return dict(np.load(out))


def distance(ours, theirs):
    """The largest relative rms over float outputs."""
    worst = 0.0
    for name, value in theirs.items():
        if value.dtype.kind != "f":
            continue
        a, b = np.asarray(ours[name], np.float64), np.asarray(value, np.float64)
        rms = np.sqrt(np.mean(np.square(b)))
        worst = max(worst, np.sqrt(np.mean(np.square(a - b))) / rms if rms else np.abs(a).max(initial=0))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--factor", type=float, default=4)
    parser.add_argument("--close", type=float, default=2e-5)
    options = parser.parse_args()
    good = True
    print(f"{'model':40} {'ort-cpu':>10} {'model':>10} {'all fused':>10}")
    for pair in options.pairs:
        path, inputs = pair.split("=")
        name = os.path.basename(os.path.dirname(path)) or path
        try:
            plain = run_runtime(path, np.load(inputs), onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
            fused = run_runtime(path, np.load(inputs), onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
        except Exception as error:  # of ONNX Runtime's many kinds
            print(f"{name:40} left out: {str(error).splitlines()[0][:100]}")
            continue
        ours = run_ours(options.program, path, inputs, "ort-cpu")
        near, far = distance(ours, plain), distance(run_ours(options.program, path, inputs, "model"), plain)
        good &= bool(near <= options.close or near * options.factor <= far)  # NaN fails
        print(f"{name:40} {near:10.1e} {far:10.1e} {distance(ours, fused):10.1e}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
