#!/usr/bin/env python3
"""Compare the audit's single.rms with the errors a real H200 made (gpu/h200_net_errors.json.gz), node by node.

    lab/compare_gpu.py ULPSCOPE DATA [--modes f16,tf32,bf16] [--low 0.9] [--high 1.1] [--share 0.9] [--models a,b] [--list] [--record FOLDER] [--f16 NAME] [--tf32 NAME] [--bf16 NAME] [--f32 NAME]

For every node output with a nonzero error on the GPU, the ratio ours / GPU's of the rms of P(r) - R(r) is taken. Prints the share inside
[low, high] per network and mode, and how many are outside for which reason; exit code 1 when the share over all networks is below --share in
some mode. Where the GPU's tf32 and f32 figures are equal its library did not use TF32 for that node: that node is compared with our fp32 (--f32).
--record: each mode as a file of tests/data/targets, by the names torch:fp16, torch:bf16, torch:tf32 (and torch:fp32) that are then to be given. The recordings were made with PyTorch, which adds a bias in a kernel of its own: hence epilogue=rounded; its half() and
bfloat16() round constants to infinity: constants=ieee. Only the Python library is used.
"""
import argparse
import collections
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile

from targets_table import keep

OURS = {"f16": "fp16,epilogue=rounded,constants=ieee", "tf32": "tf32", "bf16": "bf16,epilogue=rounded,constants=ieee", "f32": "fp32,reduce=warp,functions=cuda"}
FUNCTIONS = "Sigmoid Tanh Exp Erf Pow Softmax Gelu Log Softplus Elu Mish Swish".split()
FORMULAS = "HardSigmoid BatchNormalization LayerNormalization InstanceNormalization GroupNormalization".split()
PRODUCTS = "MatMul Gemm Conv ConvTranspose".split()


def find_reason(label, op, ratio):
    """Why a node lies outside. label: the mode, or "fp32" where the library did not use TF32."""
    if math.isnan(ratio):
        return "no figure here"
    if label == "tf32" and op in PRODUCTS and ratio > 100:
        return "the library did not use TF32, and its FP32 figures differ slightly from those with TF32 off"
    if label in ("f16", "bf16") and op in PRODUCTS:
        return "the library added the bias before it rounded (within the limits with epilogue=fused)"
    if label == "fp32" and op in PRODUCTS:
        return "the library's order of the FP32 products: split-K, tiles, another algorithm"
    if op in FUNCTIONS:
        return "CUDA's FP32 functions err by 1 to 2 ulps; ours are rounded correctly"
    if op in FORMULAS:
        return "the library's formula: Welford's updates, a reciprocal root, fused multiply-adds, relu6(x + 3) / 6"
    if op.startswith("Reduce") or op.startswith("GlobalAverage"):
        return "the library's order of the sum: rows of few outputs are shared between more threads"
    return "not looked into"


def audit(program, data, model, inputs, arithmetics):
    """{arithmetic: {output name: (node name, op, entry)}}"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(data, "models", model)
        done = subprocess.run([program, "audit", os.path.join(path, "model.onnx"), "--inputs", os.path.join(path, inputs), "--quiet",
                               "--arith", ",".join(arithmetics), "--out", folder], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{model} {inputs}: exit {done.returncode}: {done.stderr.strip()}")
        with open(os.path.join(folder, "report.json"), encoding="utf-8") as file:
            report = json.load(file)
    return {lane["name"]: {output["name"]: (node["name"], node["op"], output) for node in lane["nodes"] for output in node["outputs"]}
            for lane in report["lanes"]}


def canonical(program, name):
    """The name that the report uses."""
    return subprocess.run([program, "list", name], capture_output=True, text=True, check=True).stdout.split()[0]


def same_figures(a, b):
    return all(a["single"][key] == b["single"][key] for key in ("rms", "max_abs"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--modes", default="f16,tf32,bf16")
    parser.add_argument("--low", type=float, default=0.9)
    parser.add_argument("--high", type=float, default=1.1)
    parser.add_argument("--share", type=float, default=0.9)
    parser.add_argument("--models", default="", help="only these, separated by commas")
    parser.add_argument("--list", action="store_true", help="list the nodes outside")
    parser.add_argument("--record")
    for mode, name in OURS.items():
        parser.add_argument("--" + mode, default=name, metavar="NAME", help=f"our arithmetic for mode {mode} (default {name})")
    options = parser.parse_args()
    arithmetic_of = {mode: canonical(options.program, getattr(options, mode)) for mode in OURS}
    modes = options.modes.split(",")
    arithmetics = sorted({arithmetic_of[mode] for mode in modes + ["f32"] if mode in modes or "tf32" in modes})
    with gzip.open(os.path.join(options.data, "gpu", "h200_net_errors.json.gz"), "rt", encoding="utf-8") as file:
        runs = [run for run in json.load(file) if not options.models or run["model"] in options.models.split(",")]
    total = {mode: [0, 0] for mode in modes}
    outside, networks = collections.Counter(), {mode: {} for mode in modes}
    for run in runs:
        ours = audit(options.program, options.data, run["model"], run["inputs"], arithmetics)
        line = []
        for mode in modes:
            inside = counted = 0
            for node in run["nodes"]:
                theirs = node.get(mode)
                if not theirs or not theirs["single"]["rms"]:
                    continue
                lane, label = arithmetic_of[mode], mode
                if mode == "tf32" and "f32" in node and same_figures(theirs, node["f32"]):
                    lane, label = arithmetic_of["f32"], "fp32"
                name, op, entry = ours[lane].get(node["output"], (None, None, None))
                rms = entry["single"]["rms"] if entry else None
                ratio = rms / theirs["single"]["rms"] if rms is not None else float("nan")
                good = options.low <= ratio <= options.high
                counted += 1
                inside += good
                if good:
                    continue
                reason = find_reason(label, node["op"], ratio)
                outside[mode, reason, node["op"], "lower" if ratio < options.low else "higher"] += 1
                if options.list:
                    print(f"    {label} {run['model']} {run['inputs']} {node['op']} {node['node']}: ratio {ratio:.3g}, "
                          f"GPU rms {theirs['single']['rms']:.3g}: {reason}")
            kept = networks[mode].setdefault(run["model"], {"nodes": [0, 0]})
            kept["nodes"] = [kept["nodes"][0] + inside, kept["nodes"][1] + counted]
            total[mode][0] += inside
            total[mode][1] += counted
            line.append(f"{mode} {inside}/{counted}" + (f" = {100 * inside / counted:.1f} %" if counted else ""))
        print(f"{run['model']:22} {run['inputs']:15} " + "   ".join(line), flush=True)
    failed = 0
    print("outside, ours lower or higher than the GPU's:")
    for mode, reason in dict.fromkeys((mode, reason) for mode, reason, _, _ in sorted(outside)):
        ops = ", ".join(f"{count} {op} {side}" for (m, r, op, side), count in sorted(outside.items()) if (m, r) == (mode, reason))
        print(f"  {mode:5} {reason}: {ops}")
    for mode in modes:
        inside, counted = total[mode]
        share = inside / counted if counted else float("nan")
        print(f"{mode}: {inside} of {counted} nodes within {options.low}-{options.high} of the H200's rms: {100 * share:.2f} %")
        failed |= not share >= options.share
        if options.record:
            keep(os.path.join(options.record, f"torch_{mode}.json"), "torch@h200,version=2.11", getattr(options, mode), "PyTorch 2.11, H200", "lab/compare_gpu.py", networks[mode], limits=[options.low, options.high])
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
