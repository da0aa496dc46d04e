#!/usr/bin/env python3
"""Outputs of kinds that users have, each with a right and a wrong twin, for check_judged.sh: judged_twins.py PROGRAM FOLDER. The original gives
x through a tail (Softmax, Cast, ...), the twin x + c through the same: a right twin has an error that its users do not see, a wrong one has
lost what they use. Right twins must be fine, wrong ones must not be; broken where nobody would call it borderline."""
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from onnx_writer import node, write_model  # noqa: E402

program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
os.chdir(folder)
random = np.random.default_rng(53)
normal = random.standard_normal
BROKEN, NOT_FINE = {"broken"}, {"broken", "borderline"}


def noise(db):
    """An error so many decibels below the rms."""
    return lambda b: b + np.sqrt(np.mean(b * b)) * 10 ** (-db / 20) * normal(b.shape)


def put(b, at, value):
    v = b.copy()
    v[at] = value
    return v


def lost(*at, value=0.):
    """The same with one value there."""
    return lambda b: put(b, at, value)


def half(b):
    """As FP16 rounds."""
    return b.astype("f2").astype("f8")


def third(b):
    """A third too large."""
    return b * 1.33


def boxes(*shape):
    corner = random.uniform(0, 500, (*shape, 2))
    return np.concatenate([corner, corner + random.uniform(20, 140, (*shape, 2))], -1)


def join(*parts):
    return np.concatenate(parts, -1)


def columns(rows, *sizes):
    return normal((rows, len(sizes))) * sizes


def judge(name, b, v, tail=(), task=None, types=None):
    """The program's verdict of v against b."""
    last = "sum" if tail else name
    b = np.asarray(b, "f4")
    change = (np.asarray(v, "f8") - b).astype("f4")
    for path, c in ("original.onnx", np.zeros_like(change)), ("twin.onnx", change):
        write_model(path, [node("Add", "x c", last, "add"), *tail], {"x": b.shape}, {name: None}, {"c": c, "votes": votes, "most": np.int64(20), "which": np.int64([2]), "scale": np.float32(.05), "zero": np.uint8(128)}, opset=13,
                    types=types)
    np.savez("x.npz", x=b)
    run = subprocess.run([program, "audit", "twin.onnx", "--reference-model", "original.onnx", "-i", "x.npz", "-a", "fp32", "-q", "--no-attribute", "-o", "report",
                          *(["--task", task] if task else [])], capture_output=True, text=True)
    assert run.returncode == 0, (name, run.stderr)
    with open("report/report.json") as file:
        return json.load(file)["lanes"][0]["outputs"][0]["judged"]


def ends(op, name, **attributes):
    return [node(op, "sum", name, op.lower(), **attributes)]


image = random.uniform(20, 230, (1, 1, 48, 48))
coordinates = random.uniform(0, 640, (40, 2))
border = put(normal((1, 1, 48, 48)) * 2, np.s_[..., :3], -14.)
same = normal((8, 100)) + put(np.zeros(100), 0, 30.)
winners = put(np.zeros((20, 50)), (range(20), np.arange(20) % 7), 12.) + normal((20, 50))
faces = np.repeat([[8., -8.]], 300, 0) + normal((300, 2))
faces[:20] = faces[:20, ::-1]
detections = join(boxes(1, 100), random.uniform(0, 1, (1, 100, 2)))
heads = np.concatenate([boxes(1, 400), random.beta(.2, 4, (1, 400, 5))], -1).swapaxes(1, 2)
near = normal((12, 10)) * 3
near[:, 1] = near[:, 0] = 9
near[:, 1] -= 1e-3
far = put(near, np.s_[:, 1], 4.)
classes = normal((1, 5, 24, 24)) * 4
words = normal((1, 20, 30)) * 4
words -= np.log(np.exp(words).sum(-1, keepdims=True))
ranked = np.sort(random.beta(.3, 2, (1, 300)))[:, ::-1]
ranked = np.where(np.abs(ranked - .5) < .02, .4, ranked)
maps = normal((1, 64, 16, 16)) * np.where(np.arange(64) == 9, .1, 1)[:, None, None]
dim = put(normal((1, 8, 8, 8)), np.s_[:, 2, 3], 2e-3 * normal((1, 8)))
vectors = normal((6, 128))
narrow = columns(16, 1, 1, 1, 1, 1, 1, 1e-7, 1)
picture = normal((1, 32, 32, 3)) * [1, 1, .01]
mask = put(normal((1, 1, 32, 32)) * 4, np.s_[..., :4], -20.)
mask = np.where(np.abs(mask) < .2, .5, mask)
confidence = random.uniform(.05, .45, (30, 1))

every = np.s_[:]
small = boxes(1, 20)
small[..., 2:] = small[..., :2] + 8
votes = random.uniform(.5, 1, (1, 1, 20)).astype("f4")
suppressed = [node("NonMaxSuppression", "sum votes most", "chosen", "nms"), node("Gather", "chosen which", "column", "column", axis=1),
              node("Squeeze", "column", "rows", "rows"), node("Gather", "sum rows", "picked", "pick", axis=1)]
# name, original, right twin, wrong twin, what the wrong one may be; more for judge()
CASES = [
    ("image", image, lambda b: b + random.integers(-1, 2, b.shape) * .5, noise(12), BROKEN, {"tail": ends("Cast", "image", to=2), "types": {"image": 2}}),
    ("steps", normal((4, 32)), half, noise(10), NOT_FINE, {"tail": [node("QuantizeLinear", "sum scale zero", "steps", "q")], "types": {"steps": 2}}),
    ("pixels", coordinates, lambda b: b + 1, lambda b: b[::-1], BROKEN, {"tail": ends("Cast", "pixels", to=7), "types": {"pixels": 7}, "task": "signal"}),
    ("index", near, half, lost(np.s_[:5], 4, value=20), BROKEN, {"tail": ends("ArgMax", "index", axis=1, keepdims=0), "types": {"index": 7}}),
    ("painted", border[0], noise(70), noise(5), BROKEN, {"tail": ends("Sigmoid", "painted")}),
    ("y", border, lost(..., np.s_[:3], value=-60.), lost(..., np.s_[10:30], value=-60.), BROKEN, {"tail": ends("Sigmoid", "y")}),
    ("y", narrow, lost(every, 6), lost(every, 5), BROKEN, {}),
    ("z", columns(4, 1, 1, 1, 1e-12), lost(every, 3), lost(every, 2), BROKEN, {}),
    ("probs", same, lost(every, np.s_[1:], value=-40.), lost(np.s_[2:], 5, value=50.), BROKEN, {"tail": ends("Softmax", "probs", axis=-1)}),
    ("output", winners, lost(every, np.s_[9:], value=-40.), lost(every, 3, value=-20.), BROKEN, {"tail": ends("Softmax", "output", axis=-1)}),
    ("faces", faces[None], noise(55), lost(every, np.s_[:20], 1, value=-9.), BROKEN, {"tail": ends("Softmax", "faces", axis=-1)}),
    ("logp", far, noise(60), lost(np.s_[:4], 3, value=30.), BROKEN, {"tail": ends("LogSoftmax", "logp", axis=-1)}),
    ("planes", classes, noise(70), lambda b: np.roll(b, 1, 1), BROKEN, {"tail": ends("Softmax", "planes", axis=1)}),
    ("attention", normal((1, 4, 20, 20)), noise(60), lambda b: 0 * b, BROKEN, {"tail": ends("Softmax", "attention", axis=-1)}),
    ("landmarks", random.uniform(.1, .9, (4, 136)), half, noise(12), BROKEN, {}),
    ("y", normal((8, 64)), noise(60), third, BROKEN, {}),
    ("embedding", vectors, noise(50), third, BROKEN, {}),
    ("pooler_output", vectors, noise(45), noise(8), BROKEN, {}),
    ("dets", detections, half, lambda b: join(b[..., :4], b[..., 4:].round()), BROKEN, {}),
    ("y", columns(64, 1000, 1), half, lost(every, 1), BROKEN, {}),
    ("output0", heads, half, lost(every, 6), NOT_FINE, {}),
    ("boxes", boxes(20), noise(60), third, BROKEN, {}),
    ("bbox_pred", normal((1, 50, 4)), noise(50), noise(10), BROKEN, {}),
    ("picture", picture, half, lost(..., 2), BROKEN, {}),
    ("log_probs", words, noise(80), lambda b: b[..., ::-1], BROKEN, {}),
    ("scores", ranked, noise(70), lost(every, np.s_[:6], value=.2), BROKEN, {}),
    ("confidence", confidence, lambda b: b + 1e-3, lost(np.s_[:9], value=.6), BROKEN, {}),
    ("logits", near, lost(every, 1, value=9.0005), lost(np.s_[:9], 4, value=14.), BROKEN, {}),
    ("logits", far, noise(60), lost(np.s_[:3], 2, value=14.), BROKEN, {}),
    ("segments", classes, noise(70), lambda b: np.roll(b, 1, 1), BROKEN, {}),
    ("mask", mask, noise(60), lambda b: b * np.where(np.arange(32) // 4 == 5, -1, 1), BROKEN, {"tail": ends("Sigmoid", "mask")}),
    ("features", maps, noise(45), lost(every, 9), BROKEN, {}),
    ("features", dim, lambda b: np.round(b * 32) / 32, lost(every, 4), BROKEN, {}),
    ("hidden", normal((1, 16, 768)), noise(45), noise(15), BROKEN, {}),
    ("image_tokens", normal((1, 16, 256)), noise(45), noise(10), BROKEN, {}),
    ("picked", small, half, lambda b: b + [6, 6, 6, 6] * (np.arange(20) == 3)[None, :, None], BROKEN, {"tail": suppressed}),
    ("pose", np.array([[30., -12., 1e-3]]), lambda b: b + [.01, -.01, .008], lambda b: b * [.8, 1, 0], BROKEN, {}),
]


def swept(size):
    """A column of that size among others that is lost: broken from half a step of FP16 at the output's rms on, nothing below the square of that."""
    b = columns(32, 1, 1, size, 1)
    carries = np.sqrt(np.mean(b[:, 2] ** 2) / np.mean(b ** 2))
    return b, put(b, np.s_[:, 2], 0.), {"broken"} if carries >= 2 ** -11 else {"borderline"} if carries >= 2 ** -22 else {"fine"}


alarms = peace = right = total = 0


def count(name, judged, wanted):
    global alarms, peace, right, total
    total += 1
    right += judged["grade"] in wanted
    if judged["grade"] not in wanted:
        alarms += "fine" in wanted
        peace += judged["grade"] == "fine"
        print(f"{name}, to be {' or '.join(sorted(wanted))}, is {judged['grade']}: {judged['task']} {judged['basis']}, {judged['text']}", file=sys.stderr)


for name, b, good, bad, wanted, more in CASES:
    count(f"a right {name}", judge(name, b, good(b), **more), {"fine"})
    count(f"a wrong {name}", judge(name, b, bad(b), **more), wanted)
for exponent in np.linspace(0, -12, 25):
    b, v, wanted = swept(10 ** exponent)
    count(f"a column of 1e{exponent:.1f}", judge("y", b, v), wanted)
print(f"{total} twins: {right} judged right, {alarms} false alarms, {peace} false peace")
sys.exit(right < total)
