#!/usr/bin/env python3
"""Compare which outputs are finite in FP16 with an H200, node by node and fused (gpu/h200_fused_overflow.json.gz).

    lab/compare_fused_overflow.py ULPSCOPE DATA [--models a,b] [--share 0.98] [--list]

The recordings are of PyTorch, eager and by torch.compile, float inputs multiplied by 1 to 10,000. An output agrees when it has elements that are
not finite in both or in none, in `torch:fp16` for the eager run and `torch-compile:fp16` for the compiled one. Exit code 1 when the share of
outputs that agree is below --share in one of them. Needs numpy and onnx.
"""
import argparse
import glob
import gzip
import json
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

import compare_fused

RUNS = {"eager": "torch:fp16", "fused": "torch-compile:fp16"}


def read_inputs(model, path):
    if path.endswith(".npz"):
        with np.load(path) as arrays:
            return {name: arrays[name] for name in arrays.files}
    graph = onnx.load(model).graph
    constants = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in constants]
    arrays = {}
    for file in glob.glob(os.path.join(path, "input_*.pb")):
        with open(file, "rb") as data:
            tensor = onnx.TensorProto.FromString(data.read())
        index = int(os.path.basename(file)[len("input_"):-len(".pb")])
        arrays[names[index]] = numpy_helper.to_array(tensor)
    return arrays


def scale_inputs(arrays, scale, path):
    scaled = {name: (array * np.float32(scale)).astype(array.dtype) if array.dtype == np.float32 else array for name, array in arrays.items()}
    np.savez(path, **scaled)


def compare(options, recorded, totals):
    model, inputs = compare_fused.find_model(options.data, recorded["model"])
    if not model:
        return
    arrays = read_inputs(model, inputs)
    for scale, outputs in recorded["scales"].items():
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "inputs.npz")
            scale_inputs(arrays, float(scale), path)
            for kind, arithmetic in RUNS.items():
                ours = compare_fused.run(options.ulpscope, model, path, arithmetic)
                for name, figures in outputs.items():
                    count = int(np.count_nonzero(~np.isfinite(ours[name])))
                    there = figures[kind]["nonfinite"]
                    same = (count > 0) == (there > 0)
                    totals[kind].append((same, there > 0))
                    if options.list or not same:
                        print(f"{kind:6} {recorded['model']:26} x {scale:8} {name[:24]:24} not finite: {count} here, {there} there, "
                              f"of {figures[kind]['n']}{'' if same else '  DIFFERS'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ulpscope")
    parser.add_argument("data")
    parser.add_argument("--models")
    parser.add_argument("--share", type=float, default=0.98)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    with gzip.open(os.path.join(options.data, "gpu", "h200_fused_overflow.json.gz")) as file:
        networks = json.load(file)
    wanted = options.models.split(",") if options.models else None
    totals = {kind: [] for kind in RUNS}
    for recorded in networks:
        if not wanted or recorded["model"] in wanted:
            compare(options, recorded, totals)
    failed = False
    for kind, seen in totals.items():
        agree, overflows = sum(same for same, _ in seen), sum(there for _, there in seen)
        print(f"{kind} ({RUNS[kind]}): {agree} of {len(seen)} outputs are finite or not as on the H200, where {overflows} are not")
        failed |= agree < options.share * len(seen)
    sys.exit(failed)


if __name__ == "__main__":
    main()
