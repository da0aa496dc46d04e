#!/usr/bin/env python3
"""Outputs of networks, recorded in runtimes that run without their hardware (QNN's HTP simulator, ONNX Runtime's WebGPU provider on a processor), beside what ulpscope foresees.

    lab/compare_recorded.py ULPSCOPE DATA [RUNTIME...] [--record FOLDER]

DATA/runtimes/results/{qnn,wg}.jsonl have the decibels of every output of networks of DATA/models and DATA/pretrained against FP64, as users run them (qnn_fused: HTP fuses) or with
all values as outputs; probes_*.jsonl the share of equal bits of single operators. --record: each as a file of tests/data/targets. Of RKNN's simulator there are single operators alone."""
import argparse
import json
import math
import pathlib

from compare_ort_cuda import find_folder
from targets_table import foresee, keep, rounded, within

HTP = "ONNX Runtime 1.31.1, QNN 2.7.0, HTP v73's simulator"
# name: results, what a line's tag begins with, target, arithmetic, runtime
RUNTIMES = {
    "qnn_values": ("qnn.jsonl", "all fp16", "qnn,version=2.7", "qnn:fp16", HTP + ", all values are outputs"),
    "webgpu_values": ("wg.jsonl", "webgpu fp16 all", "ort-webgpu,version=1.27", "ort-webgpu:fp16", "ONNX Runtime 1.27.0, lavapipe 22.3, all values are outputs"),
    "rknn_operators": ("probes_rk.jsonl", None, "", "fp16,unit=none,constants=ieee", "RKNN 2.5.0, RK3588's simulator"),
}


def compare(program, data, lines, tag, arithmetic):
    networks = {}
    for line in lines:
        folder = find_folder(data, line["net"])
        if not line["tag"].startswith(tag) or not line.get("outputs") or folder is None:
            continue
        ours = foresee(program, folder, arithmetic)
        outputs = []
        for name, figures in line["outputs"].items():
            if name in ours and "runtime" in figures:
                recorded = figures["runtime"]
                foreseen = ours[name]["sqnr_db"]
                outputs.append([rounded(math.inf if foreseen is None else foreseen), rounded(math.nan if recorded == "nonfinite" else recorded), ours[name]["count"]])
        networks[line["net"]] = {"outputs": outputs}
        print(f"{line['net']}: {', '.join(f'{a} ({b})' for a, b, _ in outputs)}", flush=True)
    return networks


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("runtimes", nargs="*", metavar="runtime", help=", ".join(RUNTIMES))
    parser.add_argument("--record", type=pathlib.Path)
    given = parser.parse_args()
    for name in given.runtimes or RUNTIMES:
        file, tag, target, arithmetic, runtime = RUNTIMES[name]
        lines = [json.loads(line) for line in (given.data / "runtimes/results" / file).read_text().splitlines()]
        networks = compare(given.program, given.data, lines, tag, arithmetic) if tag else {}
        operators = None if tag else {line["probe"]: round(100 * line["equal bits"], 2) for line in lines if "equal bits" in line}
        outputs = [output for network in networks.values() for output in network["outputs"]]
        print(f"{name}: " + (f"{within(outputs, 1)} of {len(outputs)} outputs within 1 dB, {within(outputs, 3)} within 3" if tag else f"{len(operators)} operators"))
        if given.record:
            keep(given.record / f"{name}.json", target, arithmetic, runtime, "lab/compare_recorded.py", networks, operators)


if __name__ == "__main__":
    main()
