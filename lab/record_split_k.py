#!/usr/bin/env python3
"""Record into how many slices of k cuBLAS cuts products on an NVIDIA GPU, by shape and type, and some results.

    lab/record_split_k.py OUT.json VALUES.npz [TYPE...]
    lab/record_split_k.py --shallow OUT.json [TYPE...]       products of few terms, one and several at once, in FP32 and TF32

OUT.json: rows [type, op, m, n, k, kernel, grid, cut]: the product's kernel with its grid, and whether a second one adds slices; op is matmul
(x [m, k] times w [k, n]), linear (w [n, k], transposed) or bmmB (B such products of matrices). Shapes are a grid of m, n and k, and 400 drawn ones; the contents do not matter.
VALUES.npz: TYPE.OP.MxNxK, the first rows and columns of a result, bits as integers; x and w are drawn by numpy's generator of seed k, see operands().
"""
import json
import sys

import numpy as np
import torch

from record_h200 import DEVICE, launches_each

ROWS = [1, 8, 9, 16, 17, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024]
COLUMNS = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384]
DEPTHS = [2048, 2304, 2560, 2816, 3072, 3584, 4096, 5120, 6144, 8192, 11008, 14336, 16384, 28672]
VALUES = """1x64x3072 1x64x4096 17x64x4096 512x128x4096 1x64x8192 512x64x8192 8x1024x4096 17x1024x4096 64x1024x4096 8x2048x4096 8x3072x3072 16x4096x4096 17x512x8192 64x768x8192
    256x768x8192 1x1024x8192 64x1024x8192 256x1024x8192 1x2048x8192 64x2048x8192 100x2048x8192 1x3072x8192 64x3072x8192 8x4096x8192 64x4096x8192 128x512x8192 512x512x8192 256x256x8192
    1x192x5600 7x152x7696 8x256x6144 16x1024x11008 1x4096x11008 1x4096x14336 16x4096x14336 128x4096x14336 1x1024x28672 4x64x3200""".split()
SHALLOW = ([1, 2, 5, 8, 16, 17, 32, 48, 64, 100, 128, 256, 512, 1024], [1, 4, 10, 16, 32, 48, 64, 65, 96, 128, 192, 256, 512, 1024, 4096],
           [4, 5, 8, 10, 16, 17, 20, 32, 48, 50, 64, 80, 96, 100, 128, 192, 200, 256, 384, 512, 768, 1024, 1536])
BATCHES, BATCHED = (4, 8, 64), ([1, 2, 5, 10, 16, 17, 32, 64, 100, 128, 256], [1, 5, 10, 16, 17, 32, 50, 64, 100, 128, 256], [4, 5, 8, 10, 16, 17, 32, 50, 64, 100, 128, 256])
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "tf32": torch.float32}
KEPT = 256  # elements of a result


def operands(m, n, k):
    generator = np.random.default_rng(k)
    return generator.standard_normal((m, k), np.float32), generator.standard_normal((k, n), np.float32)


def multiply(kind, op, x, w):
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    return x @ w if op == "matmul" else torch.nn.functional.linear(x, w)


def shapes():
    generator = np.random.default_rng(0)
    for k in DEPTHS:
        for n in COLUMNS:
            for m in ROWS:
                if k * n <= 28672 * 8192:
                    yield m, n, k
    for _ in range(400):
        m, n, k = (2 ** generator.uniform(low, high) for low, high in ((0, 10), (6, 13), (11, 14)))
        yield int(m), int(n) // 8 * 8, int(k) // 8 * 8


def shallow(kinds):
    for kind in kinds:
        for op in ("matmul", "linear"):
            yield from ((kind, op, m, n, k) for k in SHALLOW[2] for n in SHALLOW[1] for m in SHALLOW[0])
        for batch in BATCHES:
            yield from ((kind, f"bmm{batch}", m, n, k) for k in BATCHED[2] for n in BATCHED[1] for m in BATCHED[0])


def record(cases, memory):
    def call(kind, op, m, n, k):
        batch = [int(op[3:])] if op.startswith("bmm") else []
        count = batch[0] if batch else 1
        x, w = memory[kind][:count * m * k].view(*batch, m, k), memory[kind][:count * n * k].view((n, k) if op == "linear" else (*batch, k, n))
        return lambda: multiply(kind, "linear" if op == "linear" else "matmul", x, w)
    return launches_each([call(*case) for case in cases])


def write(out, cases, memory):
    """All in turn, one type after the other as the cases have them."""
    rows = []
    for first in range(0, len(cases), 500):
        part = cases[first:first + 500]
        for case, kernels in zip(part, record(part, memory)):
            main_one = next((one for one in kernels if "splitKreduce" not in one[0]), ("", []))
            rows.append([*case, main_one[0][:100], main_one[1], len(kernels) > 1])
    with open(out, "w", encoding="utf-8") as file:
        file.write("[" + ",\n".join(json.dumps(row) for row in rows) + "]\n")
    print(len(rows), "products", flush=True)


def main_shallow(out, *kinds):
    kinds = kinds or ("f32", "tf32")
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    write(out, list(shallow(kinds)), {kind: torch.zeros(1 << 23, dtype=TYPES[kind], device=DEVICE) for kind in kinds})


def main(out, values, *types):
    types = {kind: TYPES[kind] for kind in types or TYPES}
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    memory = {kind: torch.zeros(28672 * 8192, dtype=dtype, device=DEVICE) for kind, dtype in types.items()}
    cases = [(kind, op, *shape) for shape in shapes() for op in ("matmul", "linear") for kind in types]
    write(out, cases, memory)
    arrays = {}
    for text in VALUES:
        m, n, k = (int(number) for number in text.split("x"))
        x, w = (torch.from_numpy(array) for array in operands(m, n, k))
        for kind, dtype in types.items():
            for op in ("matmul", "linear"):
                y = multiply(kind, op, x.to(DEVICE, dtype), (w if op == "matmul" else w.t().contiguous()).to(DEVICE, dtype))
                part = y[:max(1, KEPT // n), :KEPT].contiguous()
                arrays[f"{kind}.{op}.{text}"] = part.view(torch.int16 if part.element_size() == 2 else torch.int32).cpu().numpy()
    np.savez_compressed(values, **arrays)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__.splitlines()[2].strip())
    (main_shallow if sys.argv[1] == "--shallow" else main)(*sys.argv[1 + (sys.argv[1] == "--shallow"):])
