#!/usr/bin/env python3
"""The least error for a mean of bits, by numpy: every allocation of three formats to a network's four products.

    plan_formats.py WRITER make SEED              write model.onnx and inputs.npz
    plan_formats.py WRITER judge PLAN BUDGET      compare plan.json with all 81 allocations
    plan_formats.py WRITER fewest PLAN DECIBELS   the same of the fewest bits for an SQNR
    plan_formats.py WRITER file FOLDER            ONNX's checker accepts quantised.onnx, and its reference evaluator has the SQNR that plan.json says

Values are stored in BF16. A factor's k values are cut into blocks of 16 (nvfp4: E2M1 elements, E4M3 scales, FP32 for the tensor) or 32 (mxfp8: E4M3, powers of two), the last one shorter, rounded, scaled back and rounded to BF16; a value's
bits are its own and its part of its block's 8. Sums are of doubles: the program's differ in the last of FP32's bits, by which a result may round to another BF16 number. That is 2^-9 of it at most, where 4-bit elements err by 2^-4: of errors 0.3 % or
0.03 dB where all results rounded so, and 0.3 dB where they are BF16's own, 2^-9 in each of four layers."""
import itertools
import json
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
from onnx_writer import node, write_model  # noqa: E402

SIZES = [64, 96, 48, 40, 16]
FORMATS = ["nvfp4", "mxfp8", "bf16"]
SLACK = {"nvfp4": 0.03, "mxfp8": 0.1, "bf16": 0.3}


def make(seed):
    random = np.random.RandomState(seed)
    weights = {f"w{i}": (random.standard_normal((a, b)) * np.exp(random.standard_normal((a, 1))) / np.sqrt(a)).astype(np.float32) for i, (a, b) in enumerate(zip(SIZES, SIZES[1:]))}
    x = random.standard_normal((32, SIZES[0])).astype(np.float32)
    nodes = []
    for i in range(4):
        nodes += [node("MatMul", f"x{i} w{i}", f"y{i}", f"/blocks/blocks.{i}/MatMul"), node("Relu", f"y{i}", f"x{i + 1}", f"relu{i}")]
    write_model("model.onnx", nodes[:-1], {"x0": x.shape}, {"y3": (32, SIZES[-1])}, weights)
    np.savez("inputs.npz", x0=x)
    np.savez("weights.npz", **weights)


def rounded(x, precision, least, largest=np.inf):
    """To nearest even, of so many bits, exponents of at least `least`."""
    exponent = np.maximum(np.frexp(np.asarray(x, np.float64))[1] - 1, least)
    step = np.ldexp(1.0, exponent - precision + 1)
    return np.clip(np.rint(np.asarray(x, np.float64) / step) * step, -largest, largest)


def bf16(x):
    return rounded(np.float32(x), 8, -126)


def quantise(x, name):
    """Along the last axis."""
    if name == "bf16":
        return x
    block = 16 if name == "nvfp4" else 32
    padded = np.zeros((*x.shape[:-1], -(-x.shape[-1] // block) * block), np.float32)
    padded[..., : x.shape[-1]] = x
    blocks = padded.reshape(*x.shape[:-1], -1, block)
    m = np.abs(blocks).max(-1, keepdims=True)
    if name == "mxfp8":
        scale = np.where(m > 0, np.ldexp(1.0, np.maximum(np.frexp(m)[1] - 1 - 8, -127)), 1)
        back = rounded(blocks / scale, 4, -6, 448) * scale
    else:
        t = np.float32(m.max()) / np.float32(6 * 448)
        scale = np.float32(rounded(m / np.float32(6) / t, 4, -6, 448)) * t
        back = np.where(scale > 0, rounded(blocks / np.where(scale > 0, scale, 1), 2, 0, 6) * scale, 0)
    return bf16(back.reshape(padded.shape)[..., : x.shape[-1]])


def bits(name, k):
    return 16 if name == "bf16" else 4 + 8 * -(-k // 16) / k if name == "nvfp4" else 8 + 8 * -(-k // 32) / k


def judge(path, budget, decibels_asked=None):
    weights, plan = np.load("weights.npz"), json.load(open(path, encoding="utf-8"))
    inputs = np.load("inputs.npz")["x0"]
    factors = {(i, f): quantise(bf16(weights[f"w{i}"]).T, f) for i in range(4) for f in FORMATS}

    def run(formats):
        x = bf16(inputs)
        for i, name in enumerate(formats):
            y = bf16(quantise(x, name) @ factors[i, name].T)
            x = np.maximum(y, 0)
        return y

    truth = np.float64(inputs)
    for i in range(4):
        result = truth @ np.float64(weights[f"w{i}"])
        truth = np.maximum(result, 0)
    counts = [weights[f"w{i}"].size for i in range(4)]

    def mean(formats):
        return sum(c * bits(f, k) for c, f, k in zip(counts, formats, SIZES)) / sum(counts)

    def power(formats):
        return np.sum((run(formats) - result) ** 2)

    def decibels(formats):
        return 10 * np.log10(np.sum(result**2) / power(formats))

    plain = ["bf16"] * 4
    alone = {(i, f): max(power(plain[:i] + [f] + plain[i + 1 :]) - power(plain), 0) for i in range(4) for f in FORMATS}

    def judged(formats):
        """The error of the run, or what its products' errors add up to when each alone is known, if that is more."""
        return min(decibels(formats), 10 * np.log10(np.sum(result**2) / max(sum(alone[i, f] for i, f in enumerate(formats)), 1e-300)))

    found = tuple(layer["format"] for layer in plan["layers"])
    assert len(found) == 4 and abs(mean(found) - plan["bits"]) < 1e-9 and plan["bits"] <= budget, (found, mean(found), plan["bits"])
    printed, own = (decibels_asked or 0) - 20 * np.log10(plan["ratio"]), decibels(found)
    slack = max(SLACK[f] for f in found)
    assert abs(printed - own) <= slack, (found, printed, own)
    if decibels_asked is not None:
        fewest, surely = (min(mean(f) for f in itertools.product(FORMATS, repeat=4) if judged(f) >= decibels_asked + more) for more in (-slack, slack))
        assert own >= decibels_asked - slack and fewest <= mean(found) <= surely, (found, own, mean(found), fewest, surely)
        return
    best = max((f for f in itertools.product(FORMATS, repeat=4) if mean(f) <= budget), key=judged)
    assert judged(found) >= judged(best) - slack, (found, judged(found), best, judged(best))
    print(f"{budget} bits: {' '.join(found)}, {judged(found):.1f} dB; the best of all: {judged(best):.1f} dB")


def read_file(folder):
    import onnx  # needed here alone
    from onnx.reference import ReferenceEvaluator

    file, plan = onnx.load(folder + "/quantised.onnx"), json.load(open(folder + "/plan.json", encoding="utf-8"))
    onnx.checker.check_model(file, full_check=True)
    x = np.load("inputs.npz")["x0"]
    exact, weights = np.float64(x), np.load("weights.npz")
    for i in range(4):
        truth = exact @ np.float64(weights[f"w{i}"])
        exact = np.maximum(truth, 0)
    got = ReferenceEvaluator(file).run(None, {"x0": x})[0]
    own, said = 10 * np.log10(np.sum(truth**2) / np.sum((got - truth) ** 2)), -20 * np.log10(plan["declared_ratio"])
    # both compute in FP32: an element near a tie of 4 bits may fall the other way, one of the thousands of a layer
    assert abs(own - said) < 0.1, (own, said)
    print(f"ONNX's reference evaluator: {own:.2f} dB, said {said:.2f}")


if sys.argv[2] == "make":
    make(int(sys.argv[3]))
elif sys.argv[2] == "file":
    read_file(sys.argv[3])
elif sys.argv[2] == "judge":
    judge(sys.argv[3], float(sys.argv[4]))
else:
    judge(sys.argv[3], 16, float(sys.argv[4]))
