#!/usr/bin/env python3
"""Integers of CMSIS-NN's golden sets beside requant=double.

    lab/compare_cmsis.py PROGRAM FOLDER [SET...]

FOLDER is Tests/UnitTest/TestCases/TestData of a checkout of CMSIS-NN (Apache-2.0; nothing of it is here). A set has multipliers and shifts, not scales: scales in
FP32 that give exactly these are searched for, and the layer is written as ONNX between DequantizeLinear and QuantizeLinear. Printed are the sets whose
integers are all equal, those that are not, and, by reason, those that are no such layer."""
import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))
from onnx_writer import node, write_model  # noqa: E402

RNG = np.random.default_rng(491)
CANDIDATES = (np.arange(1 << 23, dtype="i4") | 0x3F800000).view("f4").astype("f8")


def read_set(folder):
    """Constants and arrays of the headers that a test includes."""
    numbers, arrays = {}, {}
    name = folder.name
    for file in re.findall(r'#include "([^"]+)"', (folder / "test_data.h").read_text()):
        text = (folder / file).read_text()
        for key, number in re.findall(r"#define \w*?%s_(\w+) (-?\d+|SAME|VALID|INT4|INT8|true|false)\s" % name.upper(), text):
            numbers[key] = int(number) if re.match(r"-?\d", number) else number
        for key, body in re.findall(r"\b%s_(\w+)\[\w*\]\s*=\s*{([^}]*)}" % name, text):
            arrays[key] = np.array([int(n) for n in re.findall(r"-?\d+", body)], "i8")
    return numbers, arrays


def pick(arrays, *names):
    return next((arrays[n] for n in names if n in arrays), None)


def fixed(scale):
    m, e = np.frexp(scale)
    q = np.floor(m * 2.0**31 + 0.5)
    return np.where(q == 2.0**31, 2.0**30, q), np.where(q == 2.0**31, e + 1, e)


def find_scales(multipliers, shifts):
    """x, y and one w for each in FP32, of which x * w / y in FP64 is nearest to these multipliers and shifts; None: not found."""
    wanted = multipliers * 2.0 ** (shifts - 31.0)
    ratios = np.array([wanted[0]])
    if len(wanted) > 1:
        ratios = wanted[0] / CANDIDATES
        for e in wanted[1:]:
            w = e / ratios
            ratios = ratios[abs(w - w.astype("f4")) < w * 2.0**-29.5]
    for r in ratios[:1000]:
        x = RNG.choice(CANDIDATES, 4096).astype("f4")
        y = (x / r).astype("f4")
        w = np.ones((len(x), 1), "f4") if len(wanted) == 1 else (wanted[None] * (y.astype("f8") / x)[:, None]).astype("f4")
        q, e = fixed(x.astype("f8")[:, None] * w / y.astype("f8")[:, None])
        good = np.flatnonzero(((q == multipliers) & (e == shifts)).all(1))
        if good.size:
            return x[good[0]], y[good[0]], w[good[0]]
    return None


def unpack(weights, count):
    """Two of 4 bits in a byte, the lower first."""
    codes = np.stack([weights & 15, weights >> 4 & 15], -1).ravel()[:count]
    return np.where(codes > 7, codes - 16, codes)


def layer(n, a):
    """(op, codes of x, weights, bias, multipliers, shifts, attributes) in ONNX's order, or why there is none."""
    x, w, bias, y = pick(a, "input"), pick(a, "weights", "input_weights"), pick(a, "biases", "bias", "input_bias"), pick(a, "output_ref", "output")
    mult, shift = pick(a, "output_mult", "output_multiplier"), pick(a, "output_shift")
    if mult is None and "OUTPUT_MULTIPLIER" in n:
        mult, shift = np.array([n["OUTPUT_MULTIPLIER"]]), np.array([n["OUTPUT_SHIFT"]])
    if w is None or x is None or y is None or mult is None:
        return "no product with weights"
    batch = n.get("INPUT_BATCHES", n.get("BATCH_SIZE", 1))
    if "FILTER_X" not in n:
        k, out = n["ACCUMULATION_DEPTH"], n["OUT_CH"]
        w = unpack(w, k * out) if n.get("W_TYPE") == "INT4" or w.size < k * out else w
        return "Gemm", x.reshape(-1, k), w.reshape(out, k), bias, mult, shift, {"transB": 1}, y.reshape(-1, out)
    channels, out, ky, kx = n["IN_CH"], n["OUT_CH"], n["FILTER_Y"], n["FILTER_X"]
    depthwise = "CH_MULT" in n
    inner = 1 if depthwise else n.get("FILTER_CH", n.get("GROUPED_CH", 0)) or channels
    count = out * inner * ky * kx
    if not depthwise and w.size not in (count, (count + 1) // 2) and channels * out * ky * kx % w.size == 0:
        inner = w.size // (out * ky * kx)
        count = w.size
    w = unpack(w, count) if w.size < count else w
    if w.size != count:
        return "weights of another size"
    w = w.reshape(ky, kx, out).transpose(2, 0, 1)[:, None] if depthwise else w.reshape(out, ky, kx, inner).transpose(0, 3, 1, 2)
    sides = (n["INPUT_H"], n["INPUT_W"])
    x = x.reshape(batch, *sides, channels).transpose(0, 3, 1, 2)
    steps, gaps, before = (n["STRIDE_Y"], n["STRIDE_X"]), (n.get("DILATION_Y", 1), n.get("DILATION_X", 1)), (n["PAD_Y"], n["PAD_X"])
    after = [max(0, (o - 1) * s + (k - 1) * g + 1 - i - b) for o, s, k, g, i, b in zip((n["OUTPUT_H"], n["OUTPUT_W"]), steps, (ky, kx), gaps, sides, before)]
    return ("Conv", x, w, bias, mult, shift, {"strides": list(steps), "dilations": list(gaps), "pads": [*before, *after], "group": channels // inner},
            y.reshape(batch, n["OUTPUT_H"], n["OUTPUT_W"], out).transpose(0, 3, 1, 2))


def constant(code, array):
    dtype = {5: "<i2", 3: "i1"}[code]
    array = np.asarray(array, dtype)
    return code, array.shape, array.tobytes()


def foresee(program, n, found):
    op, x, w, bias, mult, shift, attributes, y = found
    scales = find_scales(mult.astype("f8"), shift.astype("f8"))
    if scales is None:
        return None
    xs, ys, ws = scales
    wide = abs(x).max() > 128 or n.get("OUT_ACTIVATION_MIN", 0) < -128 or n.get("OUT_ACTIVATION_MAX", 0) > 127
    code = 5 if wide else 3
    one = lambda s: s[0] if s.size == 1 else s  # noqa: E731
    constants = {"xs": xs, "xz": constant(code, -n.get("INPUT_OFFSET", 0)), "ys": ys, "yz": constant(code, n.get("OUTPUT_OFFSET", 0)), "w": constant(3, w),
                 "ws": one(ws), "wz": constant(3, one(np.full(ws.shape, -n.get("FILTER_OFFSET", 0))))}
    nodes = [node("DequantizeLinear", "x xs xz", "xf"), node("DequantizeLinear", "w ws wz", "wf", axis=0)]
    args = "xf wf"
    if bias is not None and bias.size:
        constants |= {"b": bias.astype("i4"), "bs": one((xs * ws).astype("f4"))}
        nodes.append(node("DequantizeLinear", "b bs", "bf", axis=0))
        args += " bf"
    nodes += [node(op, args, "p", **attributes), node("QuantizeLinear", "p ys yz", "q")]
    with tempfile.TemporaryDirectory() as folder:
        write_model(f"{folder}/m.onnx", nodes, {"x": x.shape}, {"q": None}, constants, opset=21, types={"x": code, "q": code})
        np.savez(f"{folder}/x.npz", x=x.astype("i2" if wide else "i1"))
        done = subprocess.run([program, "run", f"{folder}/m.onnx", "-i", f"{folder}/x.npz", "-a", "fp32,qdq=integer,requant=double", "-o", f"{folder}/q.npz"],
                              capture_output=True, text=True)
        if done.returncode:
            return done.stderr
        made = np.load(f"{folder}/q.npz")["q"].astype("i8")
    return np.clip(made, n.get("OUT_ACTIVATION_MIN", -32768), n.get("OUT_ACTIVATION_MAX", 32767)), y


def main():
    program, folder, only = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    outcomes, integers, skipped = collections.defaultdict(list), 0, collections.Counter()
    for path in sorted(p for p in folder.iterdir() if p.is_dir() and (not only or p.name in only)):
        if re.search(r"_f(16|32)\b|_f(16|32)_|transpose_conv", path.name):
            skipped["transposed Conv" if "transpose" in path.name else "floats"] += 1
            continue
        try:
            n, a = read_set(path)
            found = layer(n, a)
            made = found if isinstance(found, str) else foresee(program, n, found)
        except (KeyError, ValueError, FileNotFoundError, OverflowError) as e:
            made = f"not read: {e}"[:60]
        if made is None:
            outcomes["no scales found"].append(path.name)
        elif isinstance(made, str):
            skipped[made[:60]] += 1
            if only:
                print(path.name, made)
        else:
            same = made[0].shape == made[1].shape and int((made[0] == made[1]).sum())
            integers += made[1].size if same else 0
            outcomes["equal" if same == made[1].size else "other"].append(path.name if same == made[1].size else f"{path.name} ({same} of {made[1].size})")
    print(f"{len(outcomes['equal'])} sets with all of {integers} integers equal;", *(f"{len(v)} {k}: {', '.join(v)};" for k, v in outcomes.items() if k != "equal"))
    print("no such layer:", ", ".join(f"{k} {v}" for k, v in skipped.most_common()))
    return len(outcomes["other"]) > 0


if __name__ == "__main__":
    sys.exit(main())
