#!/usr/bin/env python3
"""Compare fused arithmetics with what an H200 made of networks compiled by torch.compile (gpu/h200_fused.json.gz,
h200_fused_outputs.npz).

    lab/compare_fused.py ULPSCOPE DATA [--modes f16,bf16] [--models a,b] [--arith f16=NAME] [--groups] [--low 0.8] [--high 1.25] [--list]

For every output of every network two figures: the rms error against the exact outputs, ours over the GPU's, for the
arithmetic NAME against the fused run and, for comparison, node by node against the eager one; and whether our output is
nearer to the GPU's than the GPU's is to the exact one. The exact outputs are those of the arithmetic fp64. The
recordings are PyTorch's (--groups: the fused arithmetic has the recorded kernels instead of rules, fused_groups.py): epilogue=rounded, for a bias is added in a kernel of its own; constants=ieee. Needs numpy.
Exit code 1 when the share of fused outputs inside [low, high] is below --share.
"""
import argparse
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

import fused_groups

FORMATS = {"f16": "fp16", "bf16": "bf16"}


def run(program, model, inputs, arithmetic):
    """{output: array as float64}"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "out.npz")
        done = subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "--outputs", path, "--quiet"],
                              capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{model} {arithmetic}: exit {done.returncode}: {done.stderr.strip()}")
        with np.load(path) as arrays:
            return {name: arrays[name].astype(np.float64) for name in arrays.files}


def rms(a, b):
    with np.errstate(all="ignore"):
        difference = np.asarray(a, np.float64).ravel() - np.asarray(b, np.float64).ravel()
    finite = difference[np.isfinite(difference)]
    return math.sqrt(float(np.mean(finite * finite))) if finite.size else math.nan


def find_model(data, name):
    for folder, inputs in (("models", "inputs.npz"), ("generated", "test_data_set_0")):
        path = os.path.join(data, folder, name)
        if os.path.isdir(path):
            return os.path.join(path, "model.onnx"), os.path.join(path, inputs)
    return None, None


def compare(options, recorded, mode, kept, totals):
    model, inputs = find_model(options.data, recorded["model"])
    outputs = recorded["modes"].get(mode, {}).get("outputs")
    if not model or not outputs:
        return
    exact = run(options.ulpscope, model, inputs, "fp64")
    base = FORMATS[mode] + ",constants=ieee,epilogue=rounded"
    eager = run(options.ulpscope, model, inputs, base)
    with tempfile.TemporaryDirectory() as folder:
        rule = "reduce"
        if options.groups:
            rule = os.path.join(folder, "groups.json")
            fused_groups.write(options.data, recorded["model"], "f16", rule)
        fused = run(options.ulpscope, model, inputs, options.arith.get(mode, base + ",fuse=" + rule))
    for name, figures in outputs.items():
        if name not in fused or not figures["fused"]["rms"]:
            continue
        ratio = rms(fused[name], exact[name]) / figures["fused"]["rms"]
        before = rms(eager[name], exact[name]) / figures["eager"]["rms"] if figures["eager"]["rms"] else math.nan
        key = f"{recorded['model']}/{mode}/{name}"
        near = ""
        if key in kept:
            gpu = kept[key]
            apart, error = rms(fused[name], gpu), rms(gpu, exact[name])
            near = apart < error
            totals["near"].append(near)
            near = f"{apart / error:7.3f}"
        inside = options.low <= ratio <= options.high
        totals["fused"].append(inside)
        totals["eager"].append(options.low <= before <= options.high)
        totals["eager_as_fused"].append(options.low <= rms(eager[name], exact[name]) / figures["fused"]["rms"] <= options.high)
        if options.list or not inside:
            print(f"{mode:5} {recorded['model']:24} {name[:24]:24} fused {ratio:7.3f}  eager {before:7.3f}"
                  f"  eager for fused {rms(eager[name], exact[name]) / figures['fused']['rms']:7.3f}  apart/error {near:7}  {'' if inside else 'OUTSIDE'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ulpscope")
    parser.add_argument("data")
    parser.add_argument("--modes", default="f16,bf16")
    parser.add_argument("--models")
    parser.add_argument("--arith", action="append", default=[], metavar="MODE=NAME")
    parser.add_argument("--groups", action="store_true")
    parser.add_argument("--low", type=float, default=0.8)
    parser.add_argument("--high", type=float, default=1.25)
    parser.add_argument("--share", type=float, default=0.9)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    options.arith = dict(text.split("=", 1) for text in options.arith)
    with gzip.open(os.path.join(options.data, "gpu", "h200_fused.json.gz")) as file:
        networks = json.load(file)
    kept = np.load(os.path.join(options.data, "gpu", "h200_fused_outputs.npz"))
    wanted = options.models.split(",") if options.models else None
    worst = 1.0
    for mode in options.modes.split(","):
        totals = {"fused": [], "eager": [], "eager_as_fused": [], "near": []}
        for recorded in networks:
            if not wanted or recorded["model"] in wanted:
                compare(options, recorded, mode, kept, totals)
        count = len(totals["fused"])
        print(f"{mode}: {sum(totals['fused'])} of {count} fused outputs within {options.low} to {options.high} of the H200's error; node by"
              f" node {sum(totals['eager'])} of the eager run's, {sum(totals['eager_as_fused'])} of the fused run's; "
              f"{sum(totals['near'])} of {len(totals['near'])} nearer to the H200's than that is to the exact")
        worst = min(worst, sum(totals["fused"]) / count if count else 1.0)
    sys.exit(worst < options.share)


if __name__ == "__main__":
    main()
