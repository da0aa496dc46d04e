#!/usr/bin/env python3
"""Write src/ops/product/cudnn_conv.def from what lab/record_conv_kernels.py recorded: which kernel a convolution gets, by shape.

    lab/conv_kernel_table.py OUT.json... > src/ops/product/cudnn_conv.def
    lab/conv_kernel_table.py OUT.json... --check     how often the nearest other size tells the kernel of one that is left out

What a kernel's name says of the order of its sums was found by lab/record_sum_order.py, for one or more kernels of each letter: A, B: tiles of 64 and 32 channels, in each the positions; d: all channels of a position (indexed kernels whose tile
of k is 16); i: the same, 32 neighbours in two blocks (indexed kernels without shared memory whose tile of k is 64); s: scalar chains in the weight's order; W: Winograd's 4x4 in FP32, t: BF16 as TF32, of which the order is not modelled; -: not recorded.
In TF32: a, b, j: as A, B, i, by the sm80 kernels, which round factors with ties away from zero. Of 1x1 kernels, products of matrices: P, Q: what is over tiles of 16 or 32 comes first; 2 to 9, g: so many slices (g: 16)."""
import json
import math
import re
import sys

KINDS = {"f16": "fp16", "bf16": "bf16", "tf32": "tf32"}
SLICES = "0123456789abcdefg"


def letter(kind, names):
    text = " ".join(names)
    if "winograd" in text or "fft" in text:
        return "W"
    if "tf32" in text and kind != "tf32":
        return "t"
    if kind == "tf32" and re.search("f32f32_f32f32_f32|sgemm|gemmSN", text):
        return "s"
    cut, plain = re.search(r" z(\d+)", text), re.search(r"tensorop_s1688gemm_\d+x\d+_(\d+)x", text)
    if plain:
        return SLICES[int(cut[1])] if cut else "Q" if plain[1] == "32" else "P"
    away = "tf32f32_tf32f32_f32" in text
    indexed = re.search(r"indexed_wo_smem_\w*tilesize\d+x\d+x(\d+)", text)
    if indexed:
        return "d" if indexed[1] != "64" else "j" if away else "i"
    tile = re.search(r"tilesize\d+x\d+x(\d+)", text) or re.search(r"fprop_optimized_\w*_\d+x\d+_(\d+)x\d+", text)
    if tile:
        return ("ab" if away else "AB")[tile[1] != "64"]
    return "s" if re.search("sgemm|direct|convolve", text) else "-"


def read(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rows += [json.loads(line) for line in file]
    return {(KINDS[row[0]], tuple(row[4:7]), row[1], row[2], row[3]): letter(row[0], row[8:]) for row in rows if row[7] == "apart"}


def main():
    found = read([path for path in sys.argv[1:] if path != "--check"])
    channels, features, sizes = (sorted({key[axis] for key in found}) for axis in (2, 3, 4))
    if "--check" in sys.argv:
        asked = right = 0
        for key, own in found.items():
            others = [size for size in sizes if size != key[4] and (*key[:4], size) in found]
            asked += 1
            right += found[(*key[:4], min(others, key=lambda size: abs(math.log(size / key[4]))))] == own
        print(f"{right / asked:.1%} of {asked}")
        return
    print("/* KERNELS(type, kernel, stride, dilation, channels, letters): which kernel cuDNN 9.19 takes on an H200 (PyTorch 2.11), a letter for each of FEATURES and, of each, of SIZES, the sides of the result.\n"
          " * Made by lab/conv_kernel_table.py, which says what letters are, of what lab/record_conv_kernels.py recorded. */")
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
