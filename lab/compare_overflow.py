#!/usr/bin/env python3
"""Compare `ulpscope overflow` with what overflowed on a real H200 (gpu/h200_overflow.json.gz), node by node.

    lab/compare_overflow.py ULPSCOPE DATA [--format NAME] [--models a,b] [--recall 0.995] [--precision 0.98] [--list]

The recordings are of PyTorch in FP16, every node on the FP64 run's inputs rounded to FP16, for inputs multiplied by 1 to 10,000. A node output
counts as overflowing there when some element is not finite in FP16 and all are in FP32; here, when the forecast's verdict on that output says
so. Prints recall and precision over all outputs that both sides have; exit code 1 when one of them is below its limit. Only the Python library
is used.
"""
import argparse
import array
import ast
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

FORMAT = "fp16,epilogue=rounded,constants=ieee"  # PyTorch's half() rounds constants to infinity; its Conv adds the bias in a kernel of its own
CODES = {"<f4": "f", "<f2": "e", "<f8": "d"}


def scale_array(data, scale):
    """The bytes of an .npy whose floats are multiplied by scale, the product rounded once to FP32."""
    length_at, size = (8, 2) if data[6] == 1 else (8, 4)
    start = length_at + size + int.from_bytes(data[length_at:length_at + size], "little")
    header = ast.literal_eval(data[length_at + size:start].decode("latin1"))
    code = CODES.get(header["descr"])
    if not code:
        return data
    count = (len(data) - start) // struct.calcsize("<" + code)
    values = struct.unpack(f"<{count}{code}", data[start:])
    scaled = array.array("f", (value * scale for value in values))
    return data[:start] + struct.pack(f"<{count}{code}", *scaled)


def scale_inputs(source, target, scale):
    with zipfile.ZipFile(source) as inputs, zipfile.ZipFile(target, "w") as out:
        for name in inputs.namelist():
            out.writestr(name, scale_array(inputs.read(name), scale))


def forecast(program, data, model, scale, format_name):
    """{output name: (node name, op, output)} of the model on its inputs times scale."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(data, "models", model)
        inputs = os.path.join(folder, "inputs.npz")
        scale_inputs(os.path.join(path, "inputs.npz"), inputs, scale)
        done = subprocess.run([program, "overflow", os.path.join(path, "model.onnx"), "--inputs", inputs, "--quiet", "--threads", "1",
                               "--format", format_name, "--out", folder], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{model} times {scale}: exit {done.returncode}: {done.stderr.strip()}")
        with open(os.path.join(folder, "overflow.json"), encoding="utf-8") as file:
            report = json.load(file)
    return {output["name"]: (node["name"], node["op"], output)
            for node in report["lanes"][0]["nodes"] for output in node["outputs"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--format", default=FORMAT)
    parser.add_argument("--models", default="", help="only these, separated by commas")
    parser.add_argument("--recall", type=float, default=0.995)
    parser.add_argument("--precision", type=float, default=0.98)
    parser.add_argument("--list", action="store_true", help="list the outputs that differ")
    options = parser.parse_args()
    with gzip.open(os.path.join(options.data, "gpu", "h200_overflow.json.gz"), "rt", encoding="utf-8") as file:
        runs = [run for run in json.load(file) if not options.models or run["model"] in options.models.split(",")]
    both = missed = extra = quiet = absent = 0
    for run in runs:
        ours = forecast(options.program, options.data, run["model"], run["scale"], options.format)
        counts = [0, 0, 0]
        for row in run["nodes"]:
            node = dict(zip(run["columns"], row))
            if node["f32_nonfinite"] or node["f64_nonfinite"]:
                continue
            theirs = node["f16_single_nonfinite"] > 0
            if node["output"] not in ours:
                absent += theirs
                continue
            name, op, output = ours[node["output"]]
            predicted = output["verdict"] == "overflows"
            counts[0] += theirs and predicted
            counts[1] += theirs and not predicted
            counts[2] += predicted and not theirs
            quiet += not theirs and not predicted
            if options.list and theirs != predicted:
                print(f"    {'missed' if theirs else 'extra'}: {run['model']} times {run['scale']}: {op} {name}: FP64 reaches {node['f64_absmax']:.7g}, "
                      f"{node['f16_single_nonfinite']} elements on the GPU, {output['overflowed']} here, by {output['cause']} {output.get('culprit')}")
        if sum(counts):
            print(f"{run['model']:22} x{run['scale']:<6} overflow on both {counts[0]:4}, on the GPU alone {counts[1]}, here alone {counts[2]}", flush=True)
        both, missed, extra = both + counts[0], missed + counts[1], extra + counts[2]
    recall = both / (both + missed) if both + missed else float("nan")
    precision = both / (both + extra) if both + extra else float("nan")
    print(f"{both + missed + extra + quiet} node outputs compared, {absent} overflowing ones are not computed here")
    print(f"recall {both} of {both + missed} = {100 * recall:.2f} %, precision {both} of {both + extra} = {100 * precision:.2f} %")
    return int(not (recall >= options.recall and precision >= options.precision))


if __name__ == "__main__":
    sys.exit(main())
