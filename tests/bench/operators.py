#!/usr/bin/env python3
"""Kinds of operators beside ONNX Runtime's, in one network.

    operators.py MODEL.onnx INPUTS.npz [--ulpscope PROGRAM] [--arith LIST] [--threads N] [--repeat N] [--whole]

ONNX Runtime runs the graph node by node (its optimisations off, so that nodes are the model's; --whole: on, only its time in all is
shown then), profiled; ulpscope runs it in each arithmetic with --timings. Milliseconds of one inference by kind of operator, the
fastest of the turns, and how many times ONNX Runtime's time each takes. Kinds that take more than ten times as long as there, and a hundredth
of the run, are listed below."""
import argparse
import collections
import json
import os
import re
import tempfile
import time

import process


def run_onnx_runtime(model, inputs, threads, repeat, whole):
    """(seconds of a run, {kind: seconds}), each the fastest."""
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    if not whole:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_profiling = True
    with tempfile.TemporaryDirectory() as folder:
        options.profile_file_prefix = os.path.join(folder, "profile")
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        wanted = {item.name for item in session.get_inputs()}
        arrays = {name: value for name, value in numpy.load(inputs).items() if name in wanted}
        best = float("inf")
        for _ in range(repeat + 1):
            begun = time.perf_counter()
            session.run(None, arrays)
            best = min(best, time.perf_counter() - begun)
        if whole:
            return best, {}
        with open(session.end_profiling(), encoding="utf-8") as file:
            events = json.load(file)
    nodes = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            nodes[event["name"], event["args"]["op_name"]].append(event["dur"] * 1e-6)
    kinds = collections.Counter()
    for (_, kind), times in nodes.items():
        kinds[kind] += min(times)
    return best, kinds


def run_ulpscope(program, model, inputs, arithmetic, threads, repeat):
    """The same."""
    cost = process.run([program, "run", model, "--inputs", inputs, "--arith", arithmetic, "--threads", str(threads), "--quiet", "--timings",
                        "--repeat", str(repeat)])
    table = cost.stderr[cost.stderr.index("\n  operator "):cost.stderr.index("\n  slowest nodes")]
    kinds = {kind: float(seconds) for kind, seconds in re.findall(r"^  (\S+) +\d+ +\S+ s +(\S+) s$", table, re.M)}
    return min(float(seconds) for seconds in re.findall(r"^run (\S+) s", cost.stderr, re.M)), kinds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("inputs")
    parser.add_argument("--ulpscope", default="ulpscope")
    parser.add_argument("--arith", default="fp32,mpfr:128")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=3, help="2 or more")
    parser.add_argument("--whole", action="store_true")
    args = parser.parse_args()
    theirs, peers = run_onnx_runtime(args.model, args.inputs, args.threads, args.repeat, args.whole)
    arithmetics = args.arith.split(",")
    ours = {a: run_ulpscope(args.ulpscope, args.model, args.inputs, a, args.threads, args.repeat) for a in arithmetics}
    print(f"{'ms':24}{'ONNX Runtime':>14}" + "".join(f"{a:>16}{'times':>8}" for a in arithmetics))
    print(f"{'in all':24}{1e3 * theirs:14.2f}" + "".join(f"{1e3 * ours[a][0]:16.2f}{ours[a][0] / theirs:8.2f}" for a in arithmetics))
    outliers = []
    for kind in sorted(set(peers) | {kind for a in arithmetics for kind in ours[a][1]}, key=lambda kind: -ours[arithmetics[0]][1].get(kind, 0)):
        line, peer = f"{kind:24}{1e3 * peers.get(kind, 0):14.3f}", peers.get(kind, 0)
        for a in arithmetics:
            seconds = ours[a][1].get(kind, 0)
            line += f"{1e3 * seconds:16.3f}" + (f"{seconds / peer:8.1f}" if peer else "       -")
            if peer and seconds > 10 * peer and seconds > 0.01 * ours[a][0]:
                outliers.append(f"{kind} in {a}: {seconds / peer:.0f} times, {100 * seconds / ours[a][0]:.0f} % of the run")
        print(line)
    print("\n".join(outliers) or "no kind takes ten times as long and a hundredth of the run")


if __name__ == "__main__":
    main()
