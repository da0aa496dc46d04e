#!/usr/bin/env python3
"""Record products of matrices on an NVIDIA GPU, with operands: random ones, or given ones.

    lab/record_gemms.py OUT.npz [--operands PROBES.npz] [--shapes 64x64x1024,128x128x2048] [--sample N]

OUT.npz gets KIND.LABEL.{a,b,c}: a [m, k], b [k, n], c = a b as cuBLAS computes it through PyTorch. KIND is one of f32, tf32 (FP32 arrays),
f16, f16.acc16 (float16; acc16: FP16 accumulation allowed), bf16 (bit patterns in uint16), e4m3.fast, e4m3.slow (patterns in uint8, c FP32).
PROBES.npz holds KIND.LABEL.{a,b} of the same types, as tests/data/unit/h200_probes.npz; without it operands are random, LABEL is the
shape. With --sample N only the first N rows and columns are written. OUT.npz.log has versions, and of each product the kernels with their grids, whose third number counts the slices of k where it is cut.
"""
import argparse

import numpy as np
import torch

from record_h200 import DEVICE, Log, bits, launches

TYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "f16.acc16": torch.float16, "bf16": torch.bfloat16,
         "e4m3.fast": torch.float8_e4m3fn, "e4m3.slow": torch.float8_e4m3fn}
SHAPES = "64x64x256,64x64x1024,64x64x4096,128x128x2048,96x80x768,256x256x512,16x512x1024,1024x1024x256"


def numbers(kind, array):
    """The tensor of an array of numbers or patterns."""
    tensor = torch.from_numpy(np.ascontiguousarray(array))
    if array.dtype in (np.uint8, np.uint16):
        tensor = tensor.view(TYPES[kind])
    return tensor.to(DEVICE, TYPES[kind])


def stored(tensor):
    """float16 as numpy has it, else as bits."""
    return tensor.cpu().numpy() if tensor.dtype == torch.float16 else bits(tensor)


def multiply(kind, a, b):
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    torch.backends.cuda.matmul.allow_fp16_accumulation = kind == "f16.acc16"
    if not kind.startswith("e4m3"):
        return launches(lambda: a @ b)
    one, columns = torch.ones((), device=DEVICE), b.t().contiguous()
    return launches(lambda: torch._scaled_mm(a, columns.t(), one, one, out_dtype=torch.float32, use_fast_accum=kind == "e4m3.fast"))


def random_operands(shapes):
    for text in shapes.split(","):
        m, n, k = (int(number) for number in text.split("x"))
        generator = np.random.default_rng(k)
        a, b = generator.standard_normal((m, k)).astype(np.float32), generator.standard_normal((k, n)).astype(np.float32)
        for kind, dtype in TYPES.items():
            yield kind, text, *(stored(torch.from_numpy(array).to(dtype)) for array in (a, b))


def given_operands(path):
    with np.load(path) as file:
        for name in file.files:
            if name.endswith(".a"):
                kind = next(k for k in sorted(TYPES, key=len, reverse=True) if name.startswith(k + "."))
                yield kind, name[len(kind) + 1:-2], file[name], file[name[:-1] + "b"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--operands")
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--sample", type=int)
    options = parser.parse_args()
    log, arrays = Log(options.out + ".log"), {}
    log(f"{torch.cuda.get_device_name()} torch {torch.__version__} cuda {torch.version.cuda}")
    for kind, label, a, b in given_operands(options.operands) if options.operands else random_operands(options.shapes):
        try:
            result, seen = multiply(kind, numbers(kind, a), numbers(kind, b))
        except RuntimeError as error:
            log(f"{kind} {label}: {str(error).splitlines()[0][:200]}")
            continue
        arrays.update({f"{kind}.{label}.{part}": array for part, array in
                       (("a", a[:options.sample]), ("b", b[:, :options.sample]), ("c", stored(result)[:options.sample, :options.sample]))})
        log(f"{kind} {label}: {seen}")
    np.savez_compressed(options.out, **arrays)


if __name__ == "__main__":
    main()
