#!/usr/bin/env python3
"""Formats with scales on whole networks: the table of lab/scales.md and the picture of doc/scales.md.

    lab/scales_table.py PROGRAM DATA [--write]

DATA holds models/NAME/{model.onnx,inputs.npz}. Every float network of the list is run in FP64 and in each arithmetic on its nominal inputs, all of one network one after another: the least SQNR of its outputs, how many rows of the
largest output (those of its last axis) have another largest element, and seconds. --write puts them there."""
import argparse
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
NETWORKS = ["mnist_8", "fsanet_1x1", "magika_v3_3", "micro_kws_fp32", "resnet_4b_cifar10", "tinybert_1l", "self_attention_ezkl", "vit_pgd_2_3_16", "cct2_32_opset20", "t5_random_encoder", "nanogpt_4l", "ultraface_rfb_320"]
TABLE = ["fp16", "bf16", "bf16,factor=fp8-row", "bf16,factor=mxfp8", "bf16,factor=mxfp6", "bf16,factor=mxfp4", "bf16,factor=nvfp4", "bf16,factor=nvfp4,scale=four-six", "bf16,weights=nvfp4"]
# of the picture: (bits of a factor's value, arithmetic, places between its median and its name), with scales and without
SERIES = {
    "with scales": [(4.25, "bf16,factor=mxfp4", 18), (4.5, "bf16,factor=nvfp4", -10), (6.25, "bf16,factor=mxfp6", -10), (8, "bf16,factor=fp8-row", -14), (8.25, "bf16,factor=mxfp8", 18), (16, "bf16", -10)],
    "without": [(4, "bf16,factor=fp4-e2m1,unit=none", 18), (6, "bf16,factor=fp6-e2m3,unit=none", 18), (8, "bf16,factor=fp8-e4m3,unit=none", -26)],
}
BEGIN, END = "<!-- made by lab/scales_table.py -->\n", "<!-- end of the table -->"
PICTURE = "doc/scales-bits.svg"


def run(program, folder, arithmetic, out):
    begun = time.perf_counter()
    done = subprocess.run([program, "run", folder / "model.onnx", "-i", folder / "inputs.npz", "-a", arithmetic, "-o", out, "-q", "--threads", "1"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{folder.name}, {arithmetic}: {done.stderr.strip()}")
    seconds = time.perf_counter() - begun
    with np.load(out) as arrays:
        return {name: arrays[name].astype(np.float64) for name in arrays if arrays[name].dtype.kind == "f"}, seconds


def decibels(truth, value):
    least = np.inf
    for name, x in truth.items():
        error = np.sum((value[name] - x) ** 2)
        least = min(least, -np.inf if not np.isfinite(error) else 10 * np.log10(np.sum(x**2) / error) if error else np.inf)
    return least


def changed(truth, value):
    """(rows whose largest element is another one, rows) of the output with the most elements."""
    name = max(truth, key=lambda n: truth[n].size)
    rows = truth[name].reshape(-1, truth[name].shape[-1] if truth[name].ndim else 1)
    return int(np.sum(np.argmax(rows, axis=1) != np.argmax(value[name].reshape(rows.shape), axis=1))), len(rows)


def measure(program, data):
    arithmetics = [*TABLE, *(a for series in SERIES.values() for _, a, _ in series if a not in TABLE)]
    results = {}
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.npz"
        for network in NETWORKS:
            folder = data / "models" / network
            truth, _ = run(program, folder, "fp64", out)
            for arithmetic in arithmetics:
                value, seconds = run(program, folder, arithmetic, out)
                results[network, arithmetic] = (decibels(truth, value), *changed(truth, value), seconds)
            print(network, file=sys.stderr)
    return results


def short(arithmetic):
    return arithmetic.removeprefix("bf16,").replace("factor=", "").replace("weights=nvfp4", "nvfp4 weights").replace(",scale=", ", ")


def table(results):
    lines = ["| network | " + " | ".join(short(a) for a in TABLE) + " |", "|---|" + "--:|" * len(TABLE)]
    for network in NETWORKS:
        cells = []
        for arithmetic in TABLE:
            db, other, rows, seconds = results[network, arithmetic]
            cells.append(f"{db:.1f}" + (f"; {other}/{rows}" if other else ""))
        lines.append(f"| {network} | " + " | ".join(cells) + " |")
    medians = [statistics.median(results[n, a][0] for n in NETWORKS) for a in TABLE]
    lines.append("| **median dB** | " + " | ".join(f"{m:.1f}" for m in medians) + " |")
    totals = [sum(results[n, a][3] for n in NETWORKS) / sum(results[n, "fp16"][3] for n in NETWORKS) for a in TABLE]
    lines.append("| seconds over `fp16`'s | " + " | ".join(f"{t:.2f}" for t in totals) + " |")
    return "\n".join(lines) + "\n"


def picture(results):
    width, height, left, bottom, top_db = 640, 360, 60, 40, 60
    def x(bits):
        return left + (bits - 3) / 14 * (width - left - 20)
    def y(db):
        return height - bottom - max(min(db, top_db), -10) / (top_db + 10) * (height - bottom - 20) - 10 / (top_db + 10) * (height - bottom - 20)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
             f'<rect width="{width}" height="{height}" fill="white"/>']
    for db in range(-10, top_db + 1, 10):
        parts.append(f'<line x1="{left}" x2="{width - 20}" y1="{y(db):.1f}" y2="{y(db):.1f}" stroke="#ddd"/><text x="{left - 8}" y="{y(db) + 4:.1f}" text-anchor="end">{db} dB</text>')
    for bits in (4, 6, 8, 10, 12, 14, 16):
        parts.append(f'<text x="{x(bits):.1f}" y="{height - bottom + 18}" text-anchor="middle">{bits}</text>')
    parts.append(f'<text x="{(left + width) / 2}" y="{height - 6}" text-anchor="middle">bits of a factor\'s value, scales included; all else is BF16</text>')
    for (name, series), colour in zip(SERIES.items(), ("#0b66c3", "#c3480b")):
        points = []
        for bits, arithmetic, label_at in series:
            values = sorted(results[n, arithmetic][0] for n in NETWORKS)
            middle = statistics.median(values)
            points.append((x(bits), y(middle)))
            for value in values:
                parts.append(f'<circle cx="{x(bits):.1f}" cy="{y(value):.1f}" r="2" fill="{colour}" opacity="0.35"/>')
            label = short(arithmetic).removesuffix(",unit=none")
            parts.append(f'<text x="{x(bits):.1f}" y="{y(middle) + label_at:.1f}" text-anchor="middle" fill="{colour}" font-size="10">{label}</text>')
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"/>' for a, b in points]
        parts.append(f'<text x="{left + 12}" y="{34 if colour == "#0b66c3" else 50}" fill="{colour}">{name}: median of {len(NETWORKS)} networks (points: each)</text>')
    return "\n".join([*parts, "</svg>", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--write", action="store_true", help="write the table and the picture")
    options = parser.parse_args()
    results = measure(options.program, options.data)
    text = table(results)
    print(text)
    if options.write:
        page = ROOT / "lab/scales.md"
        before, rest = page.read_text().split(BEGIN)
        page.write_text(before + BEGIN + text + END + rest.split(END, 1)[1])
        (ROOT / PICTURE).write_text(picture(results))


main()
