#!/usr/bin/env python3
"""Do plans give on a GPU what is predicted here? Errors of recorded plans' outputs beside those of ulpscope audit --plan.

    lab/compare_plans.py ULPSCOPE DATA FILE [MODEL...] [--at-least SHARE]

FILE, of lab/record_plans.py, has the nodes that each plan keeps in FP32, and the errors of PyTorch's outputs, eager and compiled, over some samples. DATA has models/NAME, generated/NAME,
pretrained/NAME with model.onnx and inputs.npz or test_data_set_0. A network is judged by its worst output. Prints a row for each (lab/plans.md), and how many lie within 0.2, 0.5 and 2 dB, and meet the tolerance
that the plan was made for; --at-least: exit code 1 when fewer than SHARE of the eager ones lie within 0.5 dB, or none was compared. Needs numpy and onnx."""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "support"))
from samples import samples  # noqa: E402

KINDS = {"eager": "torch:fp16@h200", "compiled": "torch-compile:fp16@h200,fuse-constants=stored,fuse-casts=inner"}


def predicted(program, folder, arithmetic, keep, inputs, work):
    """By output: the squares of its values and of its error."""
    (work / "plan.json").write_text(json.dumps({"arithmetic": arithmetic, "keep": keep}))
    done = subprocess.run([program, "audit", folder / "model.onnx", "-i", inputs, "--plan", work / "plan.json", "-q", "--no-attribute", "-o", work / "report"],
                          capture_output=True, text=True)  # fmt: skip
    if done.returncode not in (0, 1):
        sys.exit(f"{folder}: {done.stderr}")
    outputs = json.loads((work / "report" / "report.json").read_text())["lanes"][0]["outputs"]
    return {output["name"]: (output["range"]["ref_rms"] ** 2, output["entire"]["rms"] ** 2) for output in outputs}


def predict(program, folder, arithmetic, keep, count):
    """By output: dB of all samples together."""
    sums = {}
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        for inputs in samples(folder, count):
            numpy.savez(work / "inputs.npz", **inputs)
            for output, squares in predicted(program, folder, arithmetic, keep, work / "inputs.npz", work).items():
                sums[output] = [a + b for a, b in zip(sums.get(output, (0, 0)), squares)]
    return {output: 10 * math.log10(signal / error) for output, (signal, error) in sums.items() if error > 0 and signal > 0}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--at-least", type=float)
    options = parser.parse_args()
    recording = json.loads(options.file.read_text())
    print(f"PyTorch {recording['torch']} on {recording['device']}; dB of the worst output")
    print("| network | kept in FP32 | FP16 alone | eager: GPU | predicted | compiled: GPU | predicted |\n|---|---|---|---|---|---|---|")
    off = {kind: [] for kind in KINDS}
    for name, plan in recording["plans"].items():
        folders = [options.data / kind / name for kind in ("models", "generated", "pretrained")]
        folder = next((f for f in folders if f.exists()), None)
        if folder is None or options.models and name not in options.models:
            continue
        cells = []
        for kind, arithmetic in KINDS.items():
            measured = {output: figures[kind] for output, figures in plan["outputs"].items() if figures.get(kind) is not None}
            if not measured:
                cells += ["-", "-"]
                continue
            figures = predict(options.program, folder, arithmetic, plan["keep"], recording["samples"])
            worst = min(measured, key=measured.get)
            guess = min((figures[output] for output in measured if output in figures), default=float("nan"))
            cells += [f"{measured[worst]:.2f}", f"{guess:.2f}"]
            off[kind].append(abs(measured[worst] - guess))
        half = [figures["half"] for figures in plan["outputs"].values()]
        alone = "not finite" if None in half else f"{min(half):.2f}"
        print(f"| {name} | {sum(len(kept['nodes']) for kept in plan['keep'])} | {alone} | {' | '.join(cells)} |", flush=True)
    for kind, values in off.items():
        print(f"{kind}: " + ", ".join(f"{sum(v <= limit for v in values)} of {len(values)} within {limit} dB" for limit in (0.2, 0.5, 2)))
    eager = off["eager"]
    return 1 if options.at_least is not None and not (eager and sum(v <= 0.5 for v in eager) >= options.at_least * len(eager)) else 0


if __name__ == "__main__":
    sys.exit(main())
