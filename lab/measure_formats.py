#!/usr/bin/env python3
"""What a format for each product gains over the same format everywhere at no more bits: the table of lab/scales.md.

    measure_formats.py ULPSCOPE DATA [--bits 5] [--formats nvfp4,mxfp8,bf16] [--only NAME ...] [--write]

DATA holds KIND/NAME/{model.onnx,inputs.npz or test_data_set_0}. Every network is searched on its nominal input; what is found and the best of one format everywhere are then run on that input and on three that the search has not seen (rolled, scaled by up to
20 %, with noise), against FP64: the SQNR of the worst output. Needs numpy and onnx."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy
import onnx
from measure_draws import read_inputs, vary

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- made by lab/measure_formats.py -->\n", "<!-- end of the table -->"
NETWORKS = [
    "models/tinybert_1l", "models/resnet_4b_cifar10", "models/magika_v3_3", "models/fsanet_1x1", "models/cct2_32_opset20", "models/nanogpt_4l", "models/self_attention_ezkl",
    "models/t5_random_encoder", "models/micro_kws_fp32", "models/residual_block", "pretrained/mtcnn_onet", "generated/vit_tiny_op17", "generated/clip_text_tiny_op17", "generated/torch_encoder_layer_op17",
]  # fmt: skip


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "-q", "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip()}")


def read(path):
    with numpy.load(path) as arrays:
        return {name: arrays[name].astype(numpy.float64) for name in arrays if arrays[name].dtype.kind == "f"}


def decibels(truth, value):
    least = numpy.inf
    for name, x in truth.items():
        error = numpy.sum((value[name] - x) ** 2)
        least = min(least, 10 * numpy.log10(numpy.sum(x**2) / error) if error else numpy.inf)
    return least


def measure(program, folder, formats, bits, scratch):
    inputs = read_inputs(folder, onnx.load(folder / "model.onnx"))
    samples = [inputs, *(vary(inputs, seed) for seed in range(3))]
    for number, sample in enumerate(samples):
        numpy.savez(scratch / f"{number}.npz", **sample)
    run(program, "quantise", folder / "model.onnx", "-i", scratch / "0.npz", "--formats", formats, "--budget", f"bits={bits}", "--out", scratch)
    plan = json.loads((scratch / "plan.json").read_text())
    within = [u for u in plan["uniforms"] if u["bits"] <= bits]
    uniform = min(within, key=lambda u: u["ratio"])
    arithmetic = next(f["arithmetic"] for f in plan["formats"] if f["name"] == uniform["format"])
    everywhere = {"arithmetic": plan["arithmetic"], "keep": [{"nodes": [layer["name"] for layer in plan["layers"]], "arithmetic": arithmetic}]}
    (scratch / "uniform.json").write_text(json.dumps(everywhere))
    result = {"bits": plan["bits"], "uniform": uniform["format"], "uniform_bits": uniform["bits"], "unit": -20 * numpy.log10(plan["unit_ratio"]), "counts": {f["name"]: f["layer_count"] for f in plan["formats"]}}
    for which in ("plan", "uniform"):
        result[f"{which}_db"] = []
        for number in range(len(samples)):
            out = scratch / "out.npz"
            run(program, "run", folder / "model.onnx", "-i", scratch / f"{number}.npz", "-a", "fp64", "-o", out)
            truth = read(out)
            run(program, "run", folder / "model.onnx", "-i", scratch / f"{number}.npz", "--plan", scratch / f"{which}.json", "-o", out)
            result[f"{which}_db"].append(decibels(truth, read(out)))
    printed = -20 * numpy.log10(plan["ratio"])
    assert abs(printed - result["plan_db"][0]) < 0.05, (folder, printed, result["plan_db"][0])
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--bits", type=float, default=5)
    parser.add_argument("--formats", default="nvfp4,mxfp8,bf16")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    names = asked.formats.split(",")
    lines = [f"| network | {' / '.join(names)} | bits | dB | everywhere | its bits | dB | gain | unseen inputs | gain there | in the unit |", "|---|---|--:|--:|---|--:|--:|--:|--:|--:|--:|"]
    gains, unseen = [], []
    for network in NETWORKS:
        if asked.only and not any(name in network for name in asked.only):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            found = measure(asked.program, asked.data / network, asked.formats, asked.bits, pathlib.Path(scratch))
        gains.append(found["plan_db"][0] - found["uniform_db"][0])
        others = [a - b for a, b in zip(found["plan_db"][1:], found["uniform_db"][1:])]
        unseen.append(statistics.median(others))
        counts = " / ".join(str(found["counts"].get(name, 0)) for name in names)
        lines.append(
            f"| {network.split('/')[1]} | {counts} | {found['bits']:.2f} | {found['plan_db'][0]:.1f} | {found['uniform']} | {found['uniform_bits']:.2f} | {found['uniform_db'][0]:.1f} | {gains[-1]:.1f} | "
            f"{', '.join(f'{x:.1f}' for x in found['plan_db'][1:])} | {unseen[-1]:.1f} | {found['unit']:.1f} |"
        )
        print(lines[-1], flush=True)
    lines.append(f"| **median** | | | | | | | **{statistics.median(gains):.1f}** | | **{statistics.median(unseen):.1f}** | |")
    print(lines[-1], f"least gain {min(gains):.2f}")
    if asked.write:
        page = ROOT / "lab" / "scales.md"
        text = page.read_text()
        at = text.index(BEGIN) + len(BEGIN)
        page.write_text(text[:at] + "\n".join(lines) + "\n" + text[text.index(END, at) :])


if __name__ == "__main__":
    main()
