#!/usr/bin/env python3
"""Compare `ulpscope run` with results recorded on an NVIDIA H200, through small ONNX models written here.

    lab/compare_h200.py ULPSCOPE DATA [--parts gemm,slices,unary,layers]

DATA/gpu holds h200_gemm.npz, h200_unary.npz and h200_layers.npz. Three tables:
  gemm    MatMul with the schedules of the library's kernels: every bit must be equal.
  slices  products with FP16 accumulators of a file that does not say in how many slices k was cut (h200_gemm_acc16.npz):
          one of split-k=1 to 32 must give every bit.
  unary   functions of every FP16 and BF16 number: at least 99.9 % of the outputs must have equal bits (NaN as NaN); the others are
          listed and classified.
  layers  rms of emulated - GPU, of GPU - exact (mpfr:128 on the mode's rounded inputs), by what factor the emulation is closer to the GPU
          than the GPU is to the exact result, and the share of equal bits. The factor must be above 1 in FP16, BF16 and TF32. Layers
          labelled fp32, where the library did not use TF32 though allowed, are reported.
Exit code 1 when a product, a function or a layer is below its limit. Needs numpy.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from onnx_writer import node, write_model  # pylint: disable=wrong-import-position

UNARY_LIMIT = 0.999
# Schedules of the kernels that cuBLAS took: {K: count of split-K slices}; 1 where K is not named.
SLICES = {
    "f32": {8: 2, 16: 4, 256: 8, 1024: 16},
    "tf32": {8: 2, 16: 4, 64: 2, 256: 8, 1024: 16},
    "f16.acc16": {16: 2, 32: 4, 1024: 8},
}
# {recorded result: arithmetic}. E4M3 results are FP32, so those products are FP32 tensors with E4M3 factors.
GEMMS = {
    "f32": "fp32", "tf32": "tf32", "f16.red0": "fp16", "f16.red1": "fp16", "f16.acc16": "fp16,acc=fp16", "bf16": "bf16",
    "e4m3.fast1": "fp32,factor=fp8-e4m3,unit=wgmma", "e4m3.fast0": "fp32,factor=fp8-e4m3,unit=wgmma,promote=128",
}


def run(program, folder, arithmetic, inputs):
    """Outputs of folder/model.onnx."""
    np.savez(os.path.join(folder, "inputs.npz"), **inputs)
    out = os.path.join(folder, "out.npz")
    done = subprocess.run([program, "run", os.path.join(folder, "model.onnx"), "--inputs", os.path.join(folder, "inputs.npz"),
                           "--arith", arithmetic, "--quiet", "--outputs", out], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arithmetic}: exit {done.returncode}: {done.stderr.strip()}")
    with np.load(out) as file:
        return {name: file[name] for name in file.files}


def from_bf16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def to_bf16(values):
    """FP32 rounded to nearest even, as FP32. No NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def round_to_fp16(values):
    return values.astype(np.float16).astype(np.float32)


def from_e4m3(bits):
    bits = bits.astype(np.int32)
    exponent, fraction = bits >> 3 & 15, bits & 7
    value = np.where(exponent == 0, fraction * 2.0**-9, (8 + fraction) * 2.0**(exponent - 10.0))
    value = np.where(bits & 127 == 127, np.nan, value)
    return np.where(bits & 128, -value, value).astype(np.float32)


def equal(a, b):
    """Element by element: the same FP32 bits (so -0 differs from 0), or both NaN."""
    a, b = np.asarray(a, dtype=np.float32), np.asarray(b, dtype=np.float32)
    return (a.view(np.uint32) == b.view(np.uint32)) | (np.isnan(a) & np.isnan(b))


def read_bits(bits):
    """Recorded numbers of 16 bits as FP32: FP16, or BF16 when they are bare patterns."""
    return bits.astype(np.float32) if bits.dtype == np.float16 else from_bf16(bits) if bits.dtype == np.uint16 else bits


# ---- products ----

def compare_gemm(program, folder, data):
    """True when every product is equal."""
    print("MatMul, 64 x K times K x 64, against cuBLAS\n")
    print(f"{'recorded':12} {'K':>5}  {'equal':>17}  arithmetic")
    write_model(os.path.join(folder, "model.onnx"), [node("MatMul", "a b", "y")], {"a": (64, "k"), "b": ("k", 64)}, ["y"])
    good = True
    for name, arithmetic in GEMMS.items():
        for k in sorted(int(key.split(".")[1]) for key in data.files if key.startswith("gemm.") and key.endswith(".A") and
                        key.count(".") == 2):
            if f"gemm.{k}.{name}" not in data.files:
                continue
            slices = SLICES.get(name, {}).get(k, 1)
            full = arithmetic + (f",split-k={slices}" if slices > 1 else "")
            prefix = f"gemm.{k}.e4m3." if name.startswith("e4m3") else f"gemm.{k}."
            a, b = (from_e4m3(x) if x.dtype == np.uint8 else x for x in (data[prefix + "A"], data[prefix + "B"]))
            ours = run(program, folder, full, {"a": a, "b": b})["y"]
            same = equal(ours, read_bits(data[f"gemm.{k}.{name}"]))
            good &= bool(same.all())
            print(f"{name:12} {k:5}  {same.sum():5} {100 * same.mean():9.3f} %  {full}")
    print()
    return good


def find_slices(program, folder, data):
    """True when for every product one count of slices gives all recorded bits."""
    print("MatMul with FP16 accumulators: the fewest slices that give every recorded bit\n")
    write_model(os.path.join(folder, "model.onnx"), [node("MatMul", "a b", "y")], {"a": (64, "k"), "b": ("k", 64)}, ["y"])
    good = True
    for k in sorted({int(name.split(".")[1]) for name in data.files}):
        inputs = {name.lower(): data[f"gemm.{k}.{name}"].view(np.float16).astype(np.float32) for name in "AB"}
        recorded = data[f"gemm.{k}.f16.acc16"].view(np.float16).astype(np.float32)
        counts = [count for count in range(1, 33)
                  if equal(run(program, folder, f"fp16,acc=fp16,split-k={count}", inputs)["y"], recorded).all()]
        good &= bool(counts)
        print(f"K = {k:5}  {counts[:1] or 'none'} slices (the same: {counts[1:]})")
    print()
    return good


# ---- functions of one number ----

UNARY = {  # name of the recorded function: operator, inputs, attributes
    "exp": ("Exp", "x", {}), "log": ("Log", "x", {}), "tanh": ("Tanh", "x", {}), "sigmoid": ("Sigmoid", "x", {}), "erf": ("Erf", "x", {}),
    "gelu": ("Gelu", "x", {}), "silu": ("Swish", "x", {}), "sqrt": ("Sqrt", "x", {}), "reciprocal": ("Reciprocal", "x", {}),
    "sin": ("Sin", "x", {}), "cos": ("Cos", "x", {}), "pow2": ("Pow", "x two", {}),
}


def classify(x, ours, theirs, spacing):
    """What kind of difference: counts by name. spacing: of the format at theirs."""
    counts = {}
    for i in range(len(x)):
        if np.isnan(ours[i]) != np.isnan(theirs[i]):
            kind = "NaN on one side"
        elif np.isinf(ours[i]) != np.isinf(theirs[i]):
            kind = "Inf on one side"
        elif ours[i] == theirs[i]:
            kind = "sign of zero"
        else:
            steps = abs(float(ours[i]) - float(theirs[i])) / spacing(theirs[i])
            kind = "neighbours" if steps <= 1 else "2 to 8 ulps" if steps <= 8 else "more than 8 ulps"
        counts.setdefault(kind, []).append(i)
    return counts


def count_erf_neighbours(x, theirs, store):
    """How many of the GPU's GELU values come out when erf is one FP32 ulp off its rounded value: 1 + erf magnifies that where erf is
    near -1."""
    one, half, root = np.float32(1), np.float32(0.5), np.float32(math.sqrt(0.5))
    erf = np.array([math.erf(float(value)) for value in x * root], dtype=np.float32)
    hits = np.zeros(len(x), dtype=bool)
    for step in (-1, 1):
        hits |= equal(store(x * half * (one + (erf.view(np.int32) + step).view(np.float32))), theirs)
    return int(hits.sum())


def make_spacing(precision, emin):
    def spacing(value):
        exponent = max(int(np.frexp(abs(float(value)))[1]) - 1, emin) if value else emin
        return 2.0**(exponent - precision + 1)
    return spacing


def compare_unary(program, folder, data):
    """True when every function reaches the limit."""
    print("Functions of all 65,536 numbers against PyTorch on the GPU\n")
    print(f"{'function':18} {'equal':>7} {'share':>10}  the others")
    bits = np.arange(65536, dtype=np.uint16)
    modes = {"f16": ("fp16", bits.view(np.float16).astype(np.float32), make_spacing(11, -14), lambda y: y.view(np.float16),
                     round_to_fp16),
             "bf16": ("bf16", from_bf16(bits), make_spacing(8, -126), from_bf16, to_bf16)}
    good = True
    for mode, (arithmetic, x, spacing, decode, store) in modes.items():
        recorded = [key.split(".")[2] for key in data.files if key.startswith(f"torch.{mode}.")]
        for name in sorted(set(recorded) - set(UNARY)):
            print(f"{mode + '.' + name:18} no ONNX operator of this name")
        names = sorted(set(recorded) & set(UNARY))
        write_model(os.path.join(folder, "model.onnx"), [node(UNARY[name][0], UNARY[name][1], name, **UNARY[name][2]) for name in names],
                    {"x": (65536,)}, names, {"two": np.float32(2)})
        ours = run(program, folder, arithmetic, {"x": x})
        for name in names:
            theirs = np.asarray(decode(data[f"torch.{mode}.{name}"]), dtype=np.float32)
            y = np.asarray(ours[name], dtype=np.float32)
            same = equal(y, theirs)
            good &= bool(same.mean() >= UNARY_LIMIT)
            rest = np.flatnonzero(~same)
            kinds = classify(x[rest], y[rest], theirs[rest], spacing)
            text = "; ".join(f"{len(where)} {kind} (x = {x[rest[where[0]]]:.6g}: {y[rest[where[0]]]:.6g}, GPU {theirs[rest[where[0]]]:.6g})"
                             for kind, where in kinds.items())
            if name == "gelu":
                text += f"; {count_erf_neighbours(x[rest], theirs[rest], store)} of these as the GPU's with erf one FP32 ulp off"
            print(f"{mode + '.' + name:18} {same.sum():7} {100 * same.mean():8.3f} %  {text}")
    print()
    return good


# ---- layers ----

# Layers of which PyTorch makes several kernels, each with a rounding of its own: nodes before the named one.
BEFORE = {
    "qk": [node("Transpose", "k", "kt", perm=[0, 1, 3, 2])],
    "reduce_sum_outlier": [node("Mul", "t3o t3o", "squares")],
    "logsumexp": [node("ReduceMax", "t3 last", "top"), node("Sub", "t3 top", "below"), node("Exp", "below", "powers"),
                  node("ReduceSum", "powers last", "sum"), node("Log", "sum", "log")],
}
LAYERS = {  # recorded layer: operator, inputs, attributes
    "conv3x3": ("Conv", "x4 w3", {"pads": [1, 1, 1, 1]}),
    "convdw": ("Conv", "x4 wd", {"pads": [1, 1, 1, 1], "group": 32}),
    "linear": ("Gemm", "t2 wl bias", {"transB": 1}),
    "linear_outlier": ("Gemm", "t2o wl bias", {"transB": 1}),
    "qk": ("MatMul", "q kt", {}),
    "sdpa": ("Attention", "q k v", {}),
    "batchnorm": ("BatchNormalization", "x4 ga be mu va", {}),
    "layernorm": ("LayerNormalization", "t3 gl bl", {}),
    "instancenorm": ("InstanceNormalization", "x4 ones zeros", {}),
    "softmax": ("Softmax", "t3", {}),
    "logsumexp": ("Add", "log top", {}),
    "reduce_sum": ("ReduceSum", "t3 last", {"keepdims": 0}),
    "reduce_sum_outlier": ("ReduceSum", "squares last", {"keepdims": 0}),
    "reduce_mean": ("ReduceMean", "t3 last", {"keepdims": 0}),
    "cumsum": ("CumSum", "t3 axis", {}),
    "avgpool": ("AveragePool", "x4", {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "bilinear": ("Resize", "x4 - twice", {"mode": "linear"}),
    "gelu": ("Gelu", "t3", {}),
    "add": ("Add", "t3 t3o", {}),
    "mul": ("Mul", "t3 t3o", {}),
    "div": ("Div", "t3 t3o", {}),
}
LAYER_MODES = {"f16": ("fp16,constants=ieee", round_to_fp16), "tf32": ("tf32", lambda x: x), "bf16": ("bf16,constants=ieee", to_bf16)}


def rms(values):
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def compare_layers(program, folder, data, options):
    """One model with all layers; a line per layer and mode; true when all are closer. Labelled fp32: TF32 was allowed, but the library did
    not use it."""
    good = True
    print("Layers against PyTorch on the GPU: rms over all elements; exact is mpfr:128 on the mode's inputs\n")
    print(f"{'layer':20} {'mode':5} {'ours - GPU':>11} {'GPU - exact':>11} {'factor':>8} {'equal':>9}")
    inputs = {key[3:]: data[key] for key in data.files if key.startswith("in.")}
    for name in ("t3", "t3o"):
        inputs[name.replace("3", "2")] = inputs[name].reshape(inputs[name].shape[1:])
    constants = {"last": np.array([-1]), "axis": np.array(-1), "twice": np.array([1, 1, 2, 2], dtype=np.float32),
                 "ones": np.ones(32, dtype=np.float32), "zeros": np.zeros(32, dtype=np.float32)}
    used = [name for name in inputs if name != "x4o"]
    known = subprocess.run([program, "list", "operators"], capture_output=True, text=True, check=True).stdout.split("\n")
    known = {line.split()[0] for line in known if line}
    names = [name for name in LAYERS if LAYERS[name][0] in known]
    nodes = [item for name in names for item in BEFORE.get(name, []) + [node(LAYERS[name][0], LAYERS[name][1], name, **LAYERS[name][2])]]
    write_model(os.path.join(folder, "model.onnx"), nodes, {name: inputs[name].shape for name in used}, names, constants)
    for mode, (arithmetic, round_inputs) in LAYER_MODES.items():
        values = {name: round_inputs(inputs[name]) for name in used}
        exact = run(program, folder, "mpfr:128", values)
        ours = run(program, folder, options.arithmetics.get(mode, arithmetic), values)
        plain = run(program, folder, options.arithmetics.get("f32", "fp32,reduce=warp,functions=cuda"), values) if mode == "tf32" else None
        for name in names:
            theirs = data[f"{mode}.{name}"]
            lane, label = ours, mode
            if plain and np.array_equal(theirs, data[f"f32.{name}"]):  # the library did not use TF32 here
                lane, label = plain, "fp32"
            y = np.asarray(lane[name], dtype=np.float64).reshape(theirs.shape)
            emulated, gpu = rms(y - theirs), rms(theirs - exact[name].reshape(theirs.shape))
            factor = gpu / emulated if emulated else math.inf
            close = factor > 1
            good &= close or label == "fp32"
            print(f"{name:20} {label:5} {emulated:11.3g} {gpu:11.3g} {factor:8.3g} {100 * equal(y, theirs).mean():7.2f} %"
                  + ("" if close else "  not closer"))
    for name in LAYERS:
        if name not in names:
            good = False
            print(f"{name:20} {LAYERS[name][0]} is no operator of this ulpscope")
    print()
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("--parts", default="gemm,slices,unary,layers")
    parser.add_argument("--arith", action="append", default=[], metavar="MODE=NAME", help="layers: take this arithmetic for a mode")
    options = parser.parse_args()
    options.arithmetics = dict(item.split("=", 1) for item in options.arith)
    parts = options.parts.split(",")
    gpu = os.path.join(options.data, "gpu")
    good = True
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        if "gemm" in parts:
            good &= compare_gemm(options.program, folder, np.load(os.path.join(gpu, "h200_gemm.npz")))
        if "slices" in parts:
            good &= find_slices(options.program, folder, np.load(os.path.join(gpu, "h200_gemm_acc16.npz")))
        if "unary" in parts:
            good &= compare_unary(options.program, folder, np.load(os.path.join(gpu, "h200_unary.npz")))
        if "layers" in parts:
            good &= compare_layers(options.program, folder, np.load(os.path.join(gpu, "h200_layers.npz")), options)
    print("all limits kept" if good else "below the limit: see above")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
