#!/usr/bin/env python3
"""Write src/ops/product/cudnn_conv.def from what scripts/record_conv_kernels.py recorded: which kernel a convolution gets, by shape.

    scripts/conv_kernel_table.py OUT.json > src/ops/product/cudnn_conv.def
    scripts/conv_kernel_table.py OUT.json --check     how often the nearest other size tells the kernel of one that is left out

What a kernel's name says of the order of its sums was found by scripts/record_sum_order.py, for one or more kernels of each letter: A, B: tiles of 64 and 32 channels, in each the positions; d: all channels of a position (indexed kernels whose tile
of k is 16); i: the same, 32 neighbours in two blocks (indexed kernels without shared memory whose tile of k is 64); s: scalar chains in the weight's order; W: Winograd's 4x4 in FP32, t: BF16 as TF32, of which the order is not modelled; -: not recorded."""
import json
import math
import re
import sys

KINDS = {"f16": "fp16", "bf16": "bf16"}


def letter(names):
    text = " ".join(names)
    if "winograd" in text:
        return "W"
    if "tf32" in text:
        return "t"
    indexed = re.search(r"indexed_wo_smem_\w*tilesize\d+x\d+x(\d+)", text)
    if indexed:
        return "i" if indexed[1] == "64" else "d"
    tile = re.search(r"tilesize\d+x\d+x(\d+)", text) or re.search(r"fprop_optimized_\w*_\d+x\d+_(\d+)x\d+", text)
    if tile:
        return "A" if tile[1] == "64" else "B"
    return "s" if re.search("sgemm|direct|convolve", text) else "-"


def read(path):
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    return {(KINDS[row[0]], tuple(row[4:7]), row[1], row[2], row[3]): letter(row[8:]) for row in rows if row[7] == "apart"}


def main():
    found = read(sys.argv[1])
    channels, features, sizes = (sorted({key[axis] for key in found}) for axis in (2, 3, 4))
    if sys.argv[2:] == ["--check"]:
        asked = right = 0
        for key, own in found.items():
            others = [size for size in sizes if size != key[4] and (*key[:4], size) in found]
            asked += 1
            right += found[(*key[:4], min(others, key=lambda size: abs(math.log(size / key[4]))))] == own
        print(f"{right / asked:.1%} of {asked}")
        return
    print("/* KERNELS(type, kernel, stride, dilation, channels, letters): which kernel cuDNN 9.19 takes on an H200 (PyTorch 2.11), a letter for each of FEATURES and, of each, of SIZES, the sides of the result; the letters: scripts/conv_kernel_table.py, which\n"
          " * made this of what scripts/record_conv_kernels.py recorded. */")
    for name, axis in (("CHANNELS", channels), ("FEATURES", features), ("SIZES", sizes)):
        print(f"AXIS({name}, {', '.join(map(str, axis))})")
    for kind, window, inner in sorted({key[:3] for key in found}):
        letters = ""
        for out in features:
            last = "-"
            for size in sizes:  # what was too large to record has the kernel of the size before
                last = found.get((kind, window, inner, out, size), last)
                letters += last
        print(f'KERNELS("{kind}", {", ".join(map(str, window))}, {inner}, "{letters}")')


if __name__ == "__main__":
    main()
