#!/usr/bin/env python3
"""Record the special-function unit of an NVIDIA GPU for every significand: ex2, rcp, rsqrt and lg2 (.approx.ftz.f32); and PyTorch's tanh.

    lab/record_mufu.py FOLDER [NAME...]

Writes FOLDER/mufu_NAME.npz with `low`, `high` (the first input's bits, and one behind the last's) and `ulps`: by how many units in the last place the
result is away from the correctly rounded one, input by input in the order of bits; FOLDER/tanh_NAME.npz, too, for every `step`-th float. Needs CuPy (tanh: PyTorch) and, for the correctly rounded values, numpy's doubles:
a double rounded to FP32 is not the correctly rounded value where it lies within 2^-52 of a tie, which moves such an entry by one and no result
(the result is the correctly rounded double's rounding plus `ulps`)."""
import pathlib
import sys

import cupy
import numpy as np

FUNCTIONS = {  # name: instruction, function in FP64, first input, one behind the last
    "ex2": ("ex2.approx.ftz.f32", cupy.exp2, 0.0, 1.0),
    "ex2_fraction": ("ex2.approx.ftz.f32", cupy.exp2, 1.0, 2.0),
    "ex2_negative": ("ex2.approx.ftz.f32", cupy.exp2, -0.0, -1.0),
    "rcp": ("rcp.approx.ftz.f32", lambda x: 1 / x, 1.0, 2.0),
    "rsqrt": ("rsqrt.approx.ftz.f32", lambda x: 1 / cupy.sqrt(x), 1.0, 4.0),
    "lg2": ("lg2.approx.ftz.f32", cupy.log2, 0.5, 4.0),
}

TANH = {"tanh_near": (2.0**-7, 0.59, 7), "tanh_edge": (0.59, 0.61, 1), "tanh_far": (0.61, 16.0, 28)}  # first input, one behind the last, every so many-th


def bits_of(x):
    return int(np.float32(x).view(np.uint32))


def record_tanh(path, low, high, step):
    import torch
    first, behind = bits_of(low), bits_of(high)
    x = torch.arange(first, behind, step, dtype=torch.int32, device="cuda").view(torch.float32)
    ulps = torch.tanh(x).view(torch.int32) - torch.tanh(x.double()).float().view(torch.int32)
    np.savez_compressed(path, low=np.uint32(first), high=np.uint32(behind), step=np.uint32(step), ulps=ulps.clamp(-127, 127).to(torch.int8).cpu().numpy())


def main(folder, *names):
    out = pathlib.Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    for name in names or [*FUNCTIONS, *TANH]:
        if name in TANH:
            record_tanh(out / f"{name}.npz", *TANH[name])
            continue
        instruction, exact, low, high = FUNCTIONS[name]
        kernel = cupy.RawKernel(
            'extern "C" __global__ void f(const float *x, float *y, size_t n) {'
            " for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)"
            f' asm("{instruction} %0, %1;" : "=f"(y[i]) : "f"(x[i])); }}', "f")
        first, behind = bits_of(low), bits_of(high)
        if name in ("ex2", "ex2_negative"):  # below 2^-24 the result is 1; every exponent from there
            first += bits_of(2.0**-25)
        x = cupy.arange(first, behind, dtype=cupy.uint32).view(cupy.float32)
        y = cupy.empty_like(x)
        kernel((1024,), (256,), (x, y, np.uint64(x.size)))
        right = exact(x.astype(cupy.float64)).astype(cupy.float32)

        def order(v):
            b = v.view(cupy.int32).astype(cupy.int64)
            return cupy.where(b < 0, -(b & 0x7FFFFFFF), b)

        ulps = cupy.asnumpy(cupy.clip(order(y) - order(right), -127, 127).astype(cupy.int8))
        np.savez_compressed(out / f"mufu_{name}.npz", low=np.uint32(first), high=np.uint32(behind), ulps=ulps)
        print(name, x.size, {int(k): int(c) for k, c in zip(*np.unique(ulps, return_counts=True))}, flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[2].strip())
    main(*sys.argv[1:])
