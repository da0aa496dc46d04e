#!/usr/bin/env python3
"""Compare the arithmetic ort-cpu with ONNX Runtime's CPU provider on FP16 and mixed graphs, or fp32 on FP32 graphs.

    lab/compare_ort.py ULPSCOPE MODEL.onnx=INPUTS.npz ...
    lab/compare_ort.py ULPSCOPE --fp32 100 MODEL.onnx=INPUTS.npz ...
    lab/compare_ort.py ULPSCOPE --outputs ort-cpu,qdq=integer [--record FILE PROCESSOR] MODEL.onnx=INPUTS.npz ...

With --fp32 DB every output in fp32 must agree with ONNX Runtime's to so many decibels (its rms over that of the difference), integers exactly. Both add in
another order, and where a value lies between two integers QuantizeLinear may take the other one: a graph that quantises values is given those that
ONNX Runtime has quantised, so that what is compared is arithmetic. Needs onnx, too.

With --outputs ARITHMETIC: the error of every output in decibels that the arithmetic foresees, beside that of ONNX Runtime as users run it (ORT_ENABLE_ALL), both from
FP64, and equal elements; --record: as a file of tests/data/targets.

Without these: needs numpy and onnxruntime. Both give the graph's outputs; the distance is the rms of their difference over the outputs' rms, beside that of the
arithmetic model, which obeys every declared FP16. ONNX Runtime adds in another order in FP32, so bits differ; where a value is rounded to FP16
that flips a rounding now and then. Exit code 1 when ort-cpu is not at least --factor times (default 4) closer than model, and further than --close
(default 2e-5, a few hundred FP32 roundings). A model that ONNX Runtime refuses is left out. Without fusions: ORT_DISABLE_ALL.
"""
import argparse
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
from targets_table import keep, rounded, within

TYPES = {"tensor(float16)": np.float16, "tensor(float)": np.float32}


def run_runtime(model, inputs, level):
    """model: a path, or a model's bytes."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = level
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    feed = {value.name: inputs[value.name].astype(TYPES.get(value.type, inputs[value.name].dtype)) for value in session.get_inputs()}
    return dict(zip([value.name for value in session.get_outputs()], session.run(None, feed)))


def without_quantizing(path, inputs, folder):
    """The model whose quantised values are inputs, and its inputs with these as ONNX Runtime has them: their paths."""
    import onnx

    model = onnx.load(path)
    nodes = model.graph.node
    quantizing = [node for node in nodes if node.op_type in ("QuantizeLinear", "DynamicQuantizeLinear")]
    if not quantizing:
        return path, inputs
    names = [name for node in quantizing for name in node.output if name]
    own = [value.name for value in model.graph.output]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names if name not in own)
    arrays = dict(np.load(inputs))
    seen = run_runtime(model.SerializeToString(), arrays, onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
    del model.graph.output[len(own):]
    kept = [node for node in nodes if node not in quantizing]
    del nodes[:]
    nodes.extend(kept)
    for name in names:
        element = onnx.helper.np_dtype_to_tensor_dtype(seen[name].dtype)
        model.graph.input.append(onnx.helper.make_tensor_value_info(name, element, seen[name].shape))
        arrays[name] = seen[name]
    paths = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.npz")
    onnx.save(model, paths[0])
    np.savez(paths[1], **arrays)
    return paths


def compare_fp32(program, pairs, limit):
    """Every output of every model in decibels: 0 when all reach the limit."""
    good = True
    print(f"{'model':24} {'output':32} {'dB':>7}")
    for pair in pairs:
        path, inputs = pair.split("=")
        with tempfile.TemporaryDirectory() as folder:
            theirs = run_runtime(path, np.load(inputs), onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL)
            ours = run_ours(program, *without_quantizing(path, inputs, folder), "fp32")
        for name, value in theirs.items():
            if value.dtype.kind == "f":
                off = distance({name: ours[name]}, {name: value})
                decibels = -20 * np.log10(off) if off else np.inf
            else:
                decibels = np.inf if np.array_equal(ours[name], value) else -np.inf
            good &= bool(decibels >= limit)  # NaN fails
            print(f"{os.path.basename(os.path.dirname(path)) or path:24} {name:32} {decibels:7.1f}")
    return 0 if good else 1


def decibels(truth, value):
    if not np.isfinite(value).all():
        return math.nan
    off = distance({"": value}, {"": truth})
    return -20 * math.log10(off) if off else math.inf


def compare_outputs(program, pairs, arithmetic, record):
    """Of float outputs decibels, of all equal elements."""
    networks = {}
    for pair in pairs:
        path, inputs = pair.split("=")
        name = os.path.basename(os.path.dirname(path)) or path
        try:
            theirs = run_runtime(path, np.load(inputs), onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL)
        except Exception as error:  # of ONNX Runtime's many kinds
            print(f"{name}: left out: {str(error).splitlines()[0][:100]}")
            continue
        truth, ours = (run_ours(program, path, inputs, by) for by in ("fp64", arithmetic))
        rows = [[rounded(decibels(truth[key], ours[key])), rounded(decibels(truth[key], value)), value.size] for key, value in theirs.items() if value.dtype.kind == "f"]
        bits = [int(sum(np.count_nonzero(ours[key] == value) for key, value in theirs.items())), int(sum(value.size for value in theirs.values()))]
        networks[name] = {"outputs": rows, "bits": bits}
        print(f"{name}: " + ", ".join(f"{ours} ({real})" for ours, real, _ in rows) + f"; {bits[0]} of {bits[1]} elements equal", flush=True)
    outputs = [row for network in networks.values() for row in network["outputs"]]
    print(f"outputs: {within(outputs, 1)} of {len(outputs)} within 1 dB, {within(outputs, 2)} within 2 dB")
    if record:
        version = onnxruntime.__version__
        keep(record[0], f"ort,version={version}", arithmetic, f"ONNX Runtime {version}, {record[1]}", f"lab/compare_ort.py --outputs {arithmetic}", networks)
    return 0


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
    parser.add_argument("--fp32", type=float, metavar="DB")
    parser.add_argument("--outputs", metavar="ARITHMETIC")
    parser.add_argument("--record", nargs=2)
    options = parser.parse_args()
    if options.outputs:
        return compare_outputs(options.program, options.pairs, options.outputs, options.record)
    if options.fp32 is not None:
        return compare_fp32(options.program, options.pairs, options.fp32)
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
