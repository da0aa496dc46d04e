#!/usr/bin/env python3
"""Record which kernels PyTorch's convolutions launch on an NVIDIA GPU, by shape, in FP16, BF16 and FP32 with TF32 allowed.

    lab/record_conv_kernels.py OUT.json [f16|bf16|tf32...]

OUT.json: rows [type, channels, features, size, kernel, stride, dilation, padding, kernels...]: one image of size x size results, the kernels in order, without those that only change a layout or add a bias; one of several slices of k ends in " zN".
padding: apart, the input has it already (as a Pad node before leaves it), or own, the convolution adds it. Shapes are a grid; contents do not matter."""
import json
import re
import sys

import torch

from record_h200 import DEVICE, HALVES, launches_each

CHANNELS = [4, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512]
FEATURES = [8, 16, 24, 32, 64, 96, 128, 256, 512]
SIZES = [2, 4, 5, 8, 10, 14, 20, 30, 40, 56, 80, 112, 160, 224]  # of the result
WINDOWS = [(1, 2, 1), (2, 1, 1), (3, 1, 1), (3, 2, 1), (3, 1, 2), (5, 1, 1), (5, 2, 1)]  # kernel, stride, dilation
PLAIN = (1, 1, 1)  # a product of matrices, which FP16 and BF16 leave to cuBLAS
TYPES = {**HALVES, "tf32": torch.float32}
MOST = 2e10  # multiply-adds of one
MOVES = re.compile("nchwToNhwc|nhwcToNchw|tensorTransform|elementwise")


def cases(kinds):
    for kind in kinds:
        for channels in CHANNELS:
            for features in FEATURES:
                for size in SIZES:
                    for window in WINDOWS + [PLAIN] * (kind == "tf32"):
                        if channels * features * size * size * window[0]**2 <= MOST:
                            yield kind, channels, features, size, *window, "apart"
                            if window != PLAIN and (channels, features) in ((32, 32), (64, 64), (96, 24), (128, 128), (16, 16)):
                                yield kind, channels, features, size, *window, "own"


def call(memory, kind, channels, features, size, kernel, stride, dilation, padding):
    extent = (kernel - 1) * dilation
    side = (size - 1) * stride + extent + 1
    own = extent // 2 if padding == "own" and extent % 2 == 0 else 0
    side -= 2 * own
    if side < 1:
        return lambda: None
    x, w = memory[kind][:channels * side * side].view(1, channels, side, side), memory[kind][:features * channels * kernel**2].view(features, channels, kernel, kernel)
    return lambda: torch.nn.functional.conv2d(x, w, None, stride, own, dilation)


def names(kernels):
    cut = any("splitKreduce" in name for name, _ in kernels)
    return [name[:150] + (f" z{grid[2]}" if cut and grid[2] > 1 else "") for name, grid in kernels if not MOVES.search(name)]


def main(out, *kinds):
    print(torch.cuda.get_device_name(), torch.__version__, torch.backends.cudnn.version(), flush=True)
    kinds = kinds or tuple(TYPES)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = True
    memory = {kind: torch.zeros(1 << 27, dtype=TYPES[kind], device=DEVICE) for kind in kinds}
    every, rows = list(cases(kinds)), []
    print(len(every), "convolutions", flush=True)
    with open(out, "w", encoding="utf-8") as file:
        for first in range(0, len(every), 500):
            part = every[first:first + 500]
            for case, kernels in zip(part, launches_each([call(memory, *case) for case in part])):
                row = [*case, *names(kernels)]
                file.write(json.dumps(row) + "\n")
                rows.append(row)
            file.flush()
    print(len(rows), "recorded", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__.splitlines()[2].strip())
    main(*sys.argv[1:])
