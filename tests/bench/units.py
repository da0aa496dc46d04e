#!/usr/bin/env python3
"""Matrix units beside MMA-Sim (mmasim of PyPI), on the same operands in one run: equal bits, and multiplications a second.

    PYTHONPATH=python ULPSCOPE_LIBRARY=build/libulpscope.so tests/bench/units.py [SIZE]

For each unit of Hopper's that both have a product [SIZE, SIZE] [SIZE, SIZE] (default 256), as normal numbers of like exponents, and as bit patterns at
random, with subnormals, infinities and NaN. MMA-Sim computes the whole product in one call of its vectorised operation, which is its fastest
use; it is timed on all of torch's threads, ulpscope on all of its own, and with SIZE 1024, too. Exit code 1: bits differ (NaN equals NaN)."""
import sys
import time

import numpy as np
import torch
from mmasim.nv_ptx import sim

import ulpscope

# ulpscope's unit, MMA-Sim's operation, and the dtypes of numpy's patterns and of torch
UNITS = (
    ("h200.mma.f16.f32", sim.MMA, "m16n8k16.f32.f16.f16.f32", "u2", torch.float16, torch.float32),
    ("h200.mma.f16.f16", sim.MMA, "m16n8k16.f16.f16.f16.f16", "u2", torch.float16, torch.float16),
    ("h200.mma.bf16.f32", sim.MMA, "m16n8k16.f32.bf16.bf16.f32", "u2", torch.bfloat16, torch.float32),
    ("h200.wgmma.f16.f32", sim.WGMMA, "m64n8k16.f32.f16.f16", "u2", torch.float16, torch.float32),
    ("h200.wgmma.e4m3.f32", sim.WGMMA, "m64n8k32.f32.e4m3.e4m3", "u1", torch.float8_e4m3fn, torch.float32),
)


def best(function, times=3):
    least = np.inf
    for _ in range(times):
        start = time.perf_counter()
        result = function()
        least = min(least, time.perf_counter() - start)
    return least, result


def operands(size, kind, patterns, dtype, seed):
    rng = np.random.default_rng(seed)
    if kind == "patterns":
        return [rng.integers(0, 256 ** np.dtype(patterns).itemsize, (size, size)).astype(patterns) for _ in range(2)]
    return [torch.tensor(rng.normal(size=(size, size)), dtype=torch.float32).to(dtype).view(torch.uint8).numpy().view(patterns) for _ in range(2)]


def as_torch(array, dtype):
    return torch.from_numpy(np.ascontiguousarray(array).view(np.uint8)).view(dtype)


def compare(a, b, float_type):
    a, b = a.view(float_type), b.view(float_type)
    return int((~((a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")) | (np.isnan(a) & np.isnan(b)))).sum())


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    known, bad = {unit.name for unit in ulpscope.units()}, 0
    for name, operation, shape, patterns, dtype, accumulator in UNITS:
        if name not in known:
            print(f"{name}: ulpscope has no such unit")
            continue
        try:
            unit = operation("Hopper", shape)
        except AssertionError:
            print(f"{name}: MMA-Sim has no Hopper {shape}")
            continue
        float_type = np.float32 if accumulator is torch.float32 else np.float16
        for kind in ("numbers", "patterns"):
            a, b = operands(size, kind, patterns, dtype, 1)
            ours, d = best(lambda: ulpscope.mma(name, a, b))
            c = torch.zeros((size, size), dtype=accumulator)
            ta, tb = as_torch(a, dtype), as_torch(b, dtype).T
            theirs, td = best(lambda: unit(ta, tb, c), 1)
            differing = compare(d, td.contiguous().numpy(), float_type)
            bad += differing
            count = size**3
            print(f"{name:20} {kind:8} {size}^3: {differing} of {d.size} differ; ulpscope {count / ours / 1e9:.3g} G multiplications/s, "
                  f"MMA-Sim {count / theirs / 1e9:.3g} G: {theirs / ours:.0f}x", flush=True)
    # a product as users ask for it, in its natural size
    rng = np.random.default_rng(3)
    a, b = (rng.normal(size=(1024, 1024)).astype(np.float32) for _ in range(2))
    seconds, product = best(lambda: ulpscope.matmul(a, b, "fp16@h200"))
    half_a, half_b = (torch.from_numpy(x).to(torch.float16) for x in (a, b))
    unit = sim.MMA("Hopper", "m16n8k16.f32.f16.f16.f32")
    theirs, td = best(lambda: unit(half_a[:64], half_b, torch.zeros((64, 1024))), 1)
    wrong = compare(product[:64].copy(), td.to(torch.float16).to(torch.float32).numpy(), np.float32)
    print(f"matmul fp16@h200 1024^3: {1024**3 / seconds / 1e9:.3g} G multiplications/s, rounding of operands and result included; MMA-Sim on 64 of the rows "
          f"{64 * 1024**2 / theirs / 1e9:.3g} G: {theirs * 16 / seconds:.0f}x; {wrong} of {td.numel()} differ")
    sys.exit(bool(bad or wrong))


main()
