#!/usr/bin/env python3
"""Errors of networks in ONNX Runtime's CUDA provider, node by node without its optimiser, beside those that ulpscope foresees.

    lab/compare_ort_cuda.py ULPSCOPE DATA --plans [--networks a,b]
    lab/compare_ort_cuda.py ULPSCOPE DATA [--variant tf32|f16|f32] [--level off|inner] [--recorded FILE] [--arith NAME] [--low 0.8] [--high 1.25] [--networks a,b] [--list] [--at-least SHARE] [--draws]

DATA/ort_cuda/networks.json.gz has of each network of DATA/models and DATA/pretrained the error of every tensor against the CPU provider in FP32, so that a figure counts only where the provider's own FP32 (f32)
lies 20 dB above it; networks with QuantizeLinear, DequantizeLinear or weights in FP16 are left out. The arithmetic is by default what the provider does: ort-cuda:tf32 (its default for FP32), ort-cuda:fp16, with fuse=none where its optimiser was off. Prints a row for each
network, then how many outputs lie within 0.5, 1 and 2 dB, those of 32 elements or more by themselves, and how many tensors within --low to --high; --list names the tensors outside; --at-least: exit code 1 when
fewer outputs than this share lie within 1 dB, or none was compared; --record: the comparison as a file of tests/data/targets. Needs onnx.

--draws: of outputs of fewer than 32 elements, whose error is a matter of chance, how many lie where tolerance says that 95 % of runs do.

--level inner: the tensors of the graph that its optimiser makes, as record_ort_cuda.py records them (--recorded FILE). DATA may be any folder with models/NAME/{model.onnx,inputs.npz} that record_ort_cuda.py had.

--plans: DATA/ort_cuda/plans.json has what plans that keep nodes in FP32 gave with use_tf32=0 and 1. plan --for ort-cuda is asked for the same tolerances: how many recorded plans hold by default and with TF32
forbidden, and of those that keep as many nodes now how many hold as they say TF32 is to be set."""
import argparse
import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import onnx
from targets_table import keep, rounded

ARITHMETICS = {"tf32": "ort-cuda:tf32", "f16": "ort-cuda:fp16", "f32": "fp32"}
CLEAR_DB = 20
LARGE = 32


def decibels(figures):
    return 20 * math.log10(figures["ref"] / figures["rms"]) if (figures["rms"] or 0) > 0 and (figures["ref"] or 0) > 0 and not figures["nonfinite"] else math.nan


def foresee(program, folder, arithmetic):
    """By tensor: (operator, rms of its error, of its values)."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, "audit", folder / "model.onnx", "-i", folder / "inputs.npz", "-a", arithmetic, "-q", "--no-attribute", "-o", out], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            print(f"{folder.name}: {done.stderr.strip()}", file=sys.stderr)
            return {}
        lane = json.loads((pathlib.Path(out) / "report.json").read_text())["lanes"][0]
    tensors = {output["name"]: (node["op"], output["entire"]["rms"], output["range"]["ref_rms"]) for node in lane["nodes"] for output in node["outputs"] if output.get("entire")}
    for output in lane["outputs"]:
        tensors.setdefault(output["name"], ("output", output["entire"]["rms"], output["range"]["ref_rms"]))
    return tensors


def is_clear(recorded, variant, level, name):
    """Is what was recorded the arithmetic's error, and not that of two FP32 runs?"""
    own, base = (recorded.get(key, {}).get(name) for key in (f"{variant}.{level}", "f32.off"))
    if not own or not base or math.isnan(decibels(own)):
        return False
    return variant == "f32" or not base["rms"] or decibels(base) - decibels(own) >= CLEAR_DB


def compare_draws(program, folder, arithmetic, recorded, names):
    """Of these outputs: how many lie where tolerance says that 95 % of runs do."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([program, "tolerance", folder / "model.onnx", "-i", folder / "inputs.npz", "-a", arithmetic, "--elements", "1", "--json", f"{out}/said.json"], capture_output=True)
        said = pathlib.Path(out) / "said.json"
        rows = json.loads(said.read_text())["outputs"] if said.exists() else []
    good = 0
    for row in rows:
        if row["name"] in names:
            rms, ends = recorded[row["name"]]["rms"], (row["most"], row["least"])
            good += ends[1] <= rms <= ends[0]
            low, high, there = (20 * math.log10(row["ref_rms"] / error) for error in (*ends, rms))
            print(f"{folder.name}: {row['name']}, {row['count']} elements: {low:.1f} to {high:.1f} dB, recorded {there:.1f}", flush=True)
    return good


def find_folder(data, name):
    return next((data / kind / name for kind in ("models", "pretrained") if (data / kind / name / "inputs.npz").exists()), None)


def compare_plans(program, data, chosen):
    counts = dict.fromkeys(("recorded", "by default", "forbidden", "as many", "as said"), 0)
    for name, recorded in json.loads((data / "ort_cuda" / "plans.json").read_text()).items():
        folder, was = find_folder(data, name), recorded["plan"]
        if folder is None or (chosen and name not in chosen):
            continue
        worst = {mode: min(min(figures.values()) for key, figures in recorded.items() if key.endswith(f"tf32={mode}") and isinstance(figures, dict)) for mode in (0, 1)}
        limit = float(was["tol"][0].split("=")[1])
        with tempfile.TemporaryDirectory() as out:
            done = subprocess.run([program, "plan", folder / "model.onnx", "-i", folder / "inputs.npz", "--for", "ort-cuda", "--tolerance", was["tol"][0], "-q", "--json", f"{out}/plan.json", "--stop-after", "100"],
                                  capture_output=True, text=True)  # fmt: skip
            if done.returncode not in (0, 1):
                print(f"{name}: {done.stderr.strip()}", file=sys.stderr)
                continue
            plan = json.loads((pathlib.Path(out) / "plan.json").read_text())
        kept, said = len(plan["kept"]), plan.get("tf32")
        as_said = worst[0 if said == "forbidden" else 1] >= limit
        rows = {"recorded": True, "by default": worst[1] >= limit, "forbidden": worst[0] >= limit, "as many": kept == was["kept"], "as said": kept == was["kept"] and as_said}
        counts = {key: counts[key] + row for key, row in rows.items()}
        print(f"{name}: {kept} kept ({was['kept']}), TF32 {said or 'no matter'}; {limit:.1f} dB asked, recorded by default {worst[1]:.1f}, forbidden {worst[0]:.1f}", flush=True)
    print(f"of {counts['recorded']} recorded plans {counts['by default']} hold by default, {counts['forbidden']} with TF32 forbidden; of {counts['as many']} with as many nodes {counts['as said']} hold as they say")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--variant", default="tf32", choices=ARITHMETICS)
    parser.add_argument("--arith")
    parser.add_argument("--level", default="off", choices=("off", "inner"))
    parser.add_argument("--recorded", type=pathlib.Path)
    parser.add_argument("--low", type=float, default=0.8)
    parser.add_argument("--high", type=float, default=1.25)
    parser.add_argument("--networks", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--at-least", type=float)
    parser.add_argument("--plans", action="store_true")
    parser.add_argument("--draws", action="store_true")
    parser.add_argument("--record")
    parser.add_argument("--runtime", help="of --record, where FILE is another recording: the runtime, the GPU, of which networks")
    given = parser.parse_args()
    if given.plans:
        compare_plans(given.program, given.data, given.networks.split(",") if given.networks else [])
        return
    arithmetic = given.arith or ARITHMETICS[given.variant] + (",fuse=none" if given.level == "off" and given.variant != "f32" else "")
    with gzip.open(given.recorded or given.data / "ort_cuda" / "networks.json.gz", "rt", encoding="utf-8") as file:
        networks = json.load(file)
    off, inside, counted, rows = [], 0, 0, {}
    for name, recorded in networks.items():
        folder = find_folder(given.data, name)
        if folder is None or f"{given.variant}.{given.level}" not in recorded or (given.networks and name not in given.networks.split(",")):
            continue
        graph = onnx.load(folder / "model.onnx", load_external_data=False).graph
        if any(node.op_type in ("QuantizeLinear", "DequantizeLinear") for node in graph.node) or any(held.data_type == onnx.TensorProto.FLOAT16 for held in graph.initializer):
            continue
        if given.draws:
            found = recorded[f"{given.variant}.{given.level}"]
            names = {output for output in recorded["outputs"] if output in found and found[output]["n"] < LARGE and is_clear(recorded, given.variant, given.level, output)}
            counted += len(names)
            inside += compare_draws(given.program, folder, arithmetic, found, names) if names else 0
            continue
        ours = foresee(given.program, folder, arithmetic)
        cells, row = [], rows.setdefault(name, {"outputs": [], "nodes": [0, 0]})
        for tensor, figures in recorded[f"{given.variant}.{given.level}"].items():
            if tensor not in ours or not is_clear(recorded, given.variant, given.level, tensor) or not ours[tensor][1]:
                continue
            op, rms, ref = ours[tensor]
            if tensor in recorded["outputs"]:
                foreseen = 20 * math.log10(ref / rms)
                off.append((abs(foreseen - decibels(figures)), figures["n"]))
                cells.append(f"{tensor} {foreseen:.1f} ({decibels(figures):.1f})")
                row["outputs"].append([rounded(foreseen), rounded(decibels(figures)), figures["n"]])
            ratio = rms / figures["rms"]
            good = given.low <= ratio <= given.high
            counted += 1
            inside += good
            row["nodes"] = [row["nodes"][0] + good, row["nodes"][1] + 1]
            if given.list and not good:
                print(f"    {name} {op} {tensor}: ratio {ratio:.3g}, {decibels(figures):.1f} dB recorded")
        print(f"{name}: {', '.join(cells) or '-'}", flush=True)
    if given.draws:
        print(f"outputs of fewer than {LARGE} elements: {inside} of {counted} where 95 % of runs lie")
        return
    for title, chosen in (("outputs", off), (f"outputs of {LARGE} elements or more", [o for o in off if o[1] >= LARGE])):
        print(f"{title}: " + ", ".join(f"{sum(o[0] <= limit for o in chosen)} of {len(chosen)} within {limit} dB" for limit in (0.5, 1, 2)))
    print(f"tensors: {inside} of {counted} within {given.low} to {given.high}")
    if given.record:
        runtime, level = {"off": ("ONNX Runtime 1.31.1, H100, no optimiser", ""), "inner": ("ONNX Runtime 1.31.1, H200, optimised", " --level inner")}[given.level]
        if given.runtime:
            runtime, level = given.runtime, level + " --recorded FILE"
        keep(given.record, f"ort-cuda@{'h100' if 'H100' in runtime else 'h200'},version=1.31", arithmetic, runtime, f"lab/compare_ort_cuda.py --variant {given.variant}{level}", rows, limits=[given.low, given.high])
    if given.at_least is not None:
        sys.exit(not off or sum(o[0] <= 1 for o in off) < given.at_least * len(off))


if __name__ == "__main__":
    main()
