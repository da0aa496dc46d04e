#!/usr/bin/env python3
"""80 outputs, of which 60 have known flips, for check_judged.sh: judged_cases.py PROGRAM FOLDER. Each is a pair of models over one input x: the
original gives x, the other x + c, where numpy made c so that choices, boxes, tokens, elements of a mask, scores, vectors, rows or integers
change, or so that nothing of that does. What the program says in report.json is compared with numpy's own count of it, which shares nothing with
the program but the definitions in doc/verdicts.md."""
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import node, write_model  # noqa: E402

program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
os.chdir(folder)
random = np.random.default_rng(20261126)


def log_softmax(rows):
    rows = rows - rows.max(axis=-1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))


def choices(b, v):
    """Figures of rows of scores."""
    first, other = b.argmax(-1), v.argmax(-1)
    flipped = first != other
    margin = np.take_along_axis(b, first[..., None], -1)[..., 0] - np.take_along_axis(b, other[..., None], -1)[..., 0]
    five = [np.argsort(-rows, axis=-1, kind="stable")[..., :5] for rows in (b, v)]
    clear = flipped & (margin >= .01 * np.sqrt((b * b).mean(-1)))
    return {"top1_flips": flipped.sum(), "top1_clear": clear.sum(), "top1_margin": margin[flipped].max(initial=0), "top5_changes": (five[0] != five[1]).any(-1).sum(),
            "rows": flipped.size}


def tokens(b, v):
    p, q = log_softmax(b), log_softmax(v)
    first = b.argmax(-1)[..., None]
    error = np.abs(np.take_along_axis(q, first, -1) - np.take_along_axis(p, first, -1))
    return {**choices(b, v), "kl": (np.exp(p) * (p - q)).sum(-1).mean(), "logprob": error.max()}


def boxes(b, v):
    low, high = np.maximum(b[..., :2], v[..., :2]), np.minimum(b[..., 2:4], v[..., 2:4])
    area = [np.prod(np.maximum(r[..., 2:4] - r[..., :2], 0), -1) for r in (b, v)]
    shared = np.prod(np.maximum(high - low, 0), -1)
    return {"iou": (shared / (area[0] + area[1] - shared)).min()}


def places(b, v):
    return {"mask_flips": (b.argmax(1) != v.argmax(1)).sum(), "elements": b.argmax(1).size}


def scores(b, v):
    return {"mask_flips": ((b > .5) != (v > .5)).sum(), "score_shift": np.abs(b - v).max(), "elements": b.size}


def vectors(b, v):
    return {"row_cosine": ((b * v).sum(-1) / np.linalg.norm(b, axis=-1) / np.linalg.norm(v, axis=-1)).min()}


def dead(b, v):
    """Parts that are constant, and are not in the original; lines of images where they carry a sixteenth."""
    def count(b, v, least=0):
        spread, size = b.max(-1) - b.min(-1), np.abs(b).max(-1)
        return ((v.max(-1) == v.min(-1)) & (spread >= .1 * size) & (np.sqrt(np.mean(b * b, -1)) >= least * np.sqrt(np.mean(b * b)))).sum()
    figures = {"constant_rows": count(b, v, 2**-4 if b.ndim > 3 else 0)} if b.shape[-1] > 1 else {}
    if b.ndim == 2:
        figures["constant_columns"] = count(b.T, v.T)
    if b.ndim == 4:
        figures["constant_channels"] = count(*(r.swapaxes(0, 1).reshape(r.shape[1], -1) for r in (b, v)))
    return figures


def integers(b, v):
    return {"differing": (b.argmax(-1) != v.argmax(-1)).sum()}


def swap_firsts(b, rows):
    """The first and second choice of these rows change places."""
    v = b.copy()
    for r in rows:
        first, second = np.argsort(-b[r])[:2]
        v[r][first], v[r][second] = b[r][second], b[r][first]
    return v


def noise(b, size):
    return b + size * b.std() * random.standard_normal(b.shape)


def make(kind, flips):
    """b, v, the name of the output, the task, its last operator that only says what the output is."""
    if kind in ("classify", "integer"):
        b = random.standard_normal((random.integers(8, 40), random.integers(5, 50))) * 3
        v = noise(b, 1e-6)
        return b, swap_firsts(v, random.choice(len(b), random.integers(1, 4), False)) if flips else v, "logits"
    if kind == "text":
        b = random.standard_normal((1, random.integers(4, 20), random.integers(64, 300))) * 3
        v = noise(b, 1e-6)
        return b, swap_firsts(v[0], random.choice(b.shape[1], 2, False))[None] if flips else v, "logits"
    if kind == "detect":
        corner = random.uniform(0, 300, (20, 2))
        b = np.concatenate([corner, corner + random.uniform(20, 80, (20, 2)), random.uniform(0, 1, (20, 1))], -1)
        v = noise(b, 1e-6)
        if flips:
            v[random.integers(20), :4] += random.choice([15, 30, 200])
        return b, v, "boxes"
    if kind == "segment":
        b = random.standard_normal((1, 4, 16, 16)) * 3
        v = noise(b, 1e-6)
        if flips:
            v[:, :, 4:8, 4:8] = np.roll(v[:, :, 4:8, 4:8], 1, axis=1)
        return b, v, "mask"
    if kind == "score":
        b = random.uniform(.05, .95, (30, 1))
        b[np.abs(b - .5) < .02] = .4
        v = noise(b, 1e-6)
        if flips:
            v[random.integers(30)] = 1 - b[random.integers(30)] if random.integers(2) else .5 + .2 * np.sign(.5 - b[0])
            v[0] = 1 - b[0]
        return b, v, "scores"
    if kind == "embed":
        b = random.standard_normal((6, 128))
        v = noise(b, 1e-5)
        if flips:
            v[random.integers(6)] += .5 * random.standard_normal(128)
        return b, v, "embedding"
    b = random.standard_normal((12, 24) if random.integers(2) else (2, 6, 5, 7)) * 4
    v = noise(b, 1e-5)
    if flips and b.ndim == 2:  # rows, or a column that hardly weighs
        if random.integers(2):
            v[:random.integers(1, 9)] = 1.25
        else:
            b[:, 3] *= 1e-3
            v[:, 3] = 0
    elif flips:
        b[:, 2] *= 1e-3
        v[:, 2] = 0
    return b, v, "y"


MEASURES = {"classify": choices, "integer": integers, "text": tokens, "detect": boxes, "segment": places, "score": scores, "embed": vectors, "signal": dead}
right = wrong_figures = total = 0
for index in range(80):
    kind, flips = list(MEASURES)[index % 8], index < 60
    b, v, name = make(kind, flips)
    b = b.astype(np.float32)
    v = (b + (v - b).astype(np.float32)).astype(np.float32)  # as FP32 adds
    change = (v.astype(np.float64) - b).astype(np.float32)
    v = b + change
    tail = [node("ArgMax", "sum", "index", "argmax", axis=-1, keepdims=0)] if kind == "integer" else []
    made = "index" if tail else name
    for path, c in ("original.onnx", np.zeros_like(change)), ("changed.onnx", change):
        write_model(path, [node("Add", "x c", "sum" if tail else name, "add"), *tail], {"x": b.shape}, {made: None}, {"c": c},
                    types={made: 7} if tail else None)
    np.savez("x.npz", x=b)
    task = ["--task", kind] if index % 2 and kind != "integer" else []
    run = subprocess.run([program, "audit", "changed.onnx", "--reference-model", "original.onnx", "-i", "x.npz", "-a", "fp32", "-q", "--no-attribute",
                          "-o", "report", *task], capture_output=True, text=True)
    assert run.returncode == 0, (index, kind, run.stderr)
    with open("report/report.json") as file:
        judged = json.load(file)["lanes"][0]["outputs"][0]["judged"]
    total += 1
    good = judged["task"] == kind and (judged["grade"] == "fine") == (not flips)
    right += good
    if not good:
        print(index, kind, "with flips" if flips else "without", judged, file=sys.stderr)
    for figure, expected in {**MEASURES[kind](b.astype(np.float64), v.astype(np.float64)), **({} if kind == "integer" else dead(b, v))}.items():
        # counts are equal; sums of at most 300 doubles, exponentials and logarithms of some ulps: 1e-12 of the terms, which are below 1e2
        if judged[figure] is None or abs(judged[figure] - float(expected)) > 1e-9 * max(1, abs(float(expected))):
            wrong_figures += 1
            print(index, kind, figure, judged[figure], "and numpy has", expected, file=sys.stderr)
print(f"{right} of {total} judged right, {wrong_figures} figures are not numpy's")
sys.exit(not (right >= 76 and total == 80 and wrong_figures == 0))
