#!/usr/bin/env python3
"""Proofs of parts of real networks: what is said of a part for a box around its recorded inputs is held against runs.

    check_cuts.py PROGRAM DATA FOLDER SEEDS [--seconds S] [--networks N] [--only NAME]

A part (cut_networks.py) is proven in an arithmetic that the seed draws, every target's among them, for its recorded ranges times 1 to 1000,
and run there on the recorded values, at the ends of the box and at mixtures. Proven bounds hold always, conditional ones and those of what is not
proven while nothing that is not proven is infinite, or, in kernels, larger than the format has. A violation's files stay in FOLDER. Exit code 1: there was one."""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import time

import numpy as np
import onnx

import cut_networks
from check_written import Runtime

OWN = ["fp16", "bf16", "fp16-strict", "bf16-strict", "fp8-e5m2-strict", "fp16,acc=fp16,round=rz", "bf16-strict,round=ru", "fp16-strict,reduce=warp"]

LEAST_LARGEST = 57344.0  # of the formats of these and the targets' arithmetics, that of FP8 E5M2


def arithmetics():
    table = pathlib.Path(__file__).resolve().parents[2] / "src/number/format/target.def"
    return OWN + re.findall(r'^(?:ARITHMETIC|FLOATS)\("([^"]+)"', table.read_text(), re.MULTILINE)


def samples(inputs, box, dice):
    """Values within the box, by name."""
    random_numbers = np.random.default_rng(dice.randrange(1 << 30))

    def make(name, value, kind):
        if name not in box:
            return value
        low, high = box[name]
        if kind == "mixed":
            return np.where(random_numbers.random(value.shape) < 0.5, low, high).astype(value.dtype)
        if kind == "apart":
            out = np.clip(np.full(value.shape, 0 if low <= 0 <= high else low, value.dtype), low, high).astype(value.dtype)
            out.reshape(-1)[random_numbers.integers(0, max(value.size, 1), max(value.size // 16, 1))] = high if abs(high) >= abs(low) else low
            return out
        return {"recorded": value, "low": np.full_like(value, low), "high": np.full_like(value, high),
                "inside": (low + (high - low) * random_numbers.random(value.shape)).clip(low, high).astype(value.dtype)}[kind]
    for kind in ["recorded", "low", "high", "mixed", "apart", "inside", "mixed"]:
        yield {name: make(name, value, kind) for name, value in inputs.items()}


def left(output, values):
    """Whether a value is outside of what is said."""
    values = values[np.isfinite(values)] if output.get("infinite") else values
    low, high = output.get("low"), output.get("high")
    if output["verdict"] == "not proven":
        return output.get("bound") is not None and bool((np.abs(values) > output["bound"]).any())
    return values.size > 0 and (low is None or high is None or not bool(((values >= low) & (values <= high)).all()))


def hold(proof, feeds, made, most):
    """(the outputs that were left, how many tensors were held)"""
    beyond = any(abs(feeds[i["name"]]).max() > LEAST_LARGEST for i in proof["inputs"] if i.get("beyond"))  # itself not proven
    wrong, held, overflowed = [], 0, beyond
    for node in proof["nodes"]:
        for output in node["outputs"]:
            if output["name"] not in made:
                continue
            values, held = made[output["name"]].astype(np.float64).reshape(-1), held + 1
            if output["verdict"] == "not proven":
                overflowed |= not bool((np.abs(values) <= most).all())
            if (output["verdict"] == "proven" or not overflowed) and left(output, values):
                wrong.append(f"{output['verdict']} {output['name']} of {node['name']}: [{values.min()}, {values.max()}] is not in "
                             f"[{output.get('low')}, {output.get('high')}], bound {output.get('bound')}")
    return wrong, held


def program(options, *words):
    return subprocess.run([options.program, *words], capture_output=True, text=True, timeout=120)


def walk(network, seed, options, counts):
    dice = random.Random(f"{network.name} {seed}")
    part = cut_networks.cut(network, dice)
    if not part:
        return []
    model, inputs, outputs = part
    cut_networks.declare(model, inputs, {}, {name: (onnx.helper.np_dtype_to_tensor_dtype(network.values[name].dtype), None) for name in outputs})
    folder = options.folder / f"{network.name}-{seed}"
    folder.mkdir(exist_ok=True)
    file, arithmetic, factor = folder / "part.onnx", dice.choice(arithmetics()), dice.choice([1, 1, 2, 10, 100, 1000])
    onnx.save(model, str(file))
    box = {name: (float(value.min()) * factor, float(value.max()) * factor) for name, value in inputs.items()
           if value.dtype == np.float32 and value.size and np.isfinite(value).all()}
    box = {name: (float(np.float32(low)), float(np.float32(high))) for name, (low, high) in box.items()}
    box = {name: (min(low, float(inputs[name].min())), max(high, float(inputs[name].max()))) for name, (low, high) in box.items()}
    ranges = [f"--input-range={name}={low!r},{high!r}" for name, (low, high) in box.items()]
    ranges += [f"--input-range={name}={int(value.min())},{int(value.max())}" for name, value in inputs.items()
               if value.dtype.kind in "iu" and value.size]
    np.savez(folder / "x.npz", **inputs)
    proven = program(options, "prove", str(file), "-i", str(folder / "x.npz"), "-f", arithmetic, *ranges, "-q", "--json", str(folder / "proof.json"))
    if proven.returncode not in (0, 1):
        counts["refused"] += 1
        return [] if proven.returncode > 0 else [f"{network.name} {seed} in {arithmetic}: ended by {proven.returncode}"]
    proof = json.loads((folder / "proof.json").read_text())
    # what a kernel holds is shown as it is inside; whether it is finite where it is stored, too, random graphs ask
    most = 65504.0 if "fuse=" in proof["arithmetic"] and proof["format"] == "fp16" else sys.float_info.max
    counts["proofs"] += 1
    for feeds in samples(inputs, box, dice):
        np.savez(folder / "x.npz", **feeds)
        run = program(options, "run", str(file), "-i", str(folder / "x.npz"), "-a", arithmetic, "--all-values", "-q", "-o", str(folder / "made.npz"))
        if run.returncode:
            continue
        with np.load(folder / "made.npz") as made:
            wrong, held = hold(proof, feeds, {name: made[name] for name in made.files}, most)
        counts["tensors"] += held
        if wrong:
            np.savez(folder / "left.npz", **feeds)
            return [f"{network.name} {seed} in {arithmetic}, times {factor}: {wrong[0]}"]
    for made in folder.iterdir():
        made.unlink()
    folder.rmdir()
    return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--networks", type=int, default=10**9, help="so many of the smallest")
    parser.add_argument("--only", help="networks whose names have this")
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("seeds")
    options = parser.parse_args()
    options.program = str(pathlib.Path(options.program).resolve())
    options.folder.mkdir(parents=True, exist_ok=True)
    first, _, last = options.seeds.partition("-")
    runtime, until = Runtime(), time.monotonic() + options.seconds
    counts, lines = {"proofs": 0, "refused": 0, "tensors": 0}, []
    folders = sorted(cut_networks.networks(options.data), key=lambda folder: sum(f.stat().st_size for f in folder.glob("model.onnx*")))
    for folder in [f for f in folders if not options.only or options.only in f.name][:options.networks]:
        if time.monotonic() > until:
            break
        try:
            network = cut_networks.Network(folder, runtime.run)
        except ValueError as error:
            print(f"left out: {str(error)[:150]}")
            continue
        for seed in range(int(first), int(last or first) + 1):
            for line in walk(network, seed, options, counts) if time.monotonic() < until else []:
                lines.append(line)
                print(line, flush=True)
    print(f"{counts['proofs']} proofs ({counts['refused']} refused), {counts['tensors']} tensors held, {len(lines)} violations")
    return 1 if lines or not counts["proofs"] else 0


if __name__ == "__main__":
    sys.exit(main())
