#!/usr/bin/env python3
"""Write src/kernels/cublas_split.def from what lab/record_split_k.py recorded: into how many slices cuBLAS cuts k, by shape.

    lab/split_k_table.py OUT.json > src/kernels/cublas_split.def
    lab/split_k_table.py OUT.json --check     how often the table, read as src/kernels/cublas.c reads it, tells the drawn shapes' counts
    lab/split_k_table.py --floats SHALLOW.json OUT.json > src/kernels/cublas_floats.def     FP32 and TF32

The number of slices is the number of blocks in the grid over the tiles of the result, rounded up to clusters, all of which the kernel's name says. Where it is
no multiple (a kernel that takes tiles from a queue) the count is unknown: the table has that of fewer rows."""
import json
import re
import sys

SLICE_LEAST = 1280  # slices are longer: what cublas.c assumes, of all that were recorded
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def slices(m, n, kernel, grid, cut):
    if not cut:
        return 1
    tile_n, tile_m, _, _, cluster_n, cluster_m = (int(number) for number in re.search(r"_(\d+)x(\d+)_(\d+)x(\d+)_(\d+)x(\d+)_", kernel).groups())
    tiles = 1
    for size, tile, cluster in ((n, tile_n, cluster_n), (m, tile_m, cluster_m)):
        tiles *= -(-(-(-size // tile)) // cluster) * cluster
    blocks = grid[0] * grid[1] * grid[2]
    return blocks // tiles if blocks % tiles == 0 and blocks > tiles and "coop" not in kernel else None


def read(path):
    """{(type, op, m, n, k): slices}, and the three axes of the grid of shapes, which come first."""
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)
    counts = {(kind, op, m, n, k): slices(m, n, kernel, grid, cut) for kind, op, m, n, k, kernel, grid, cut in rows}
    shapes = [row[2:5] for row in rows]
    axes = [sorted({shape[axis] for shape in shapes[:len(shapes) - 1600]}) for axis in range(3)]
    return counts, axes


def line(counts, op, rows, n, k):
    found = []
    for m in rows:
        count = counts["f16", op, m, n, k]
        found.append(count or (found[-1] if found else next(filter(None, (counts["f16", op, other, n, k] for other in rows)), 1)))
    return "".join(DIGITS[count] for count in found)


def nearest(axis, value):
    """As cublas.c: the larger where the ratios are equal."""
    return min(axis, key=lambda one: (max(one / value, value / one), -one))


def predict(counts, axes, op, m, n, k):
    at = nearest([depth for depth in axes[2] if depth > 2 * SLICE_LEAST], k)
    n = nearest([one for one in axes[1] if ("f16", op, axes[0][0], one, at) in counts], n)
    if k <= 2 * SLICE_LEAST:
        return 1
    found = DIGITS.index(line(counts, op, axes[0], n, at)[axes[0].index(nearest(axes[0], m))])
    most, most_there = (max(1, (depth - 1) // SLICE_LEAST) for depth in (k, at))
    return most if found >= most_there else min(found, most)


# ---- FP32 and TF32: the slices are the grid's third number ----
FLOAT_ROWS = [2, 5, 8, 16, 17, 32, 48, 64, 100, 128, 256, 512, 1024]
FLOAT_COLUMNS = [10, 16, 32, 48, 64, 65, 96, 128, 192, 256, 512, 1024, 4096]


def code(kernel, grid, cut):
    """Two hexadecimal digits: 00: a chain in FP32; 01..fc: so many slices, of which what is over whole tiles of 16 comes first; fd: two halves in FP32; fe: one, and tiles of 32; ff: one, the rest at the end."""
    unit = re.search(r"tensorop_s1688gemm_\d+x\d+_(\d+)x", kernel)
    if cut:
        return min(grid[2], 0xfc)
    if "gemmSN" in kernel:
        return 0xfd
    return 0xff if "tf32f32" in kernel else 0 if not unit else 0xfe if unit[1] == "32" else 1


def write_floats(paths):
    found = {}  # (type, op, k): {(n, m): code}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for kind, op, m, n, k, kernel, grid, cut in json.load(file):
                if op in ("matmul", "linear") and m > 1 and n > 1:
                    found.setdefault((kind, op, k), {})[n, m] = code(kernel, grid, cut)
    print("/* PRODUCTS(type, k, matmul, linear): how cuBLAS's FP32 and TF32 products go through k on an H200, two digits for each of COLUMNS and, of each, of ROWS (what they say: lab/split_k_table.py);\n"
          " * what was not recorded has those of the nearest that was, and is a multiple of 4 as well or not. Made by lab/split_k_table.py of what lab/record_split_k.py recorded (PyTorch 2.11, CUDA 13.0). */")
    print(f"AXIS(ROWS, {', '.join(map(str, FLOAT_ROWS))})\nAXIS(COLUMNS, {', '.join(map(str, FLOAT_COLUMNS))})")
    for kind, name in (("f32", "fp32"), ("tf32", "tf32")):
        for k in sorted(key[2] for key, own in found.items() if key[:2] == (kind, "matmul") and len(own) > 9):
            texts = []
            for op in ("matmul", "linear"):
                own = found[kind, op, k]
                text = ""
                for n in FLOAT_COLUMNS:
                    columns = {key[0] for key in own}
                    near = nearest([one for one in columns if (one % 4 == 0) == (n % 4 == 0)] or columns, n)
                    text += "".join(f"{own[near, nearest([key[1] for key in own if key[0] == near], m)]:02x}" for m in FLOAT_ROWS)
                texts.append(text)
            print(f'PRODUCTS("{name}", {k}, "{texts[0]}", "{texts[1]}")')


def main():
    if sys.argv[1] == "--floats":
        write_floats(sys.argv[2:])
        return
    counts, axes = read(sys.argv[1])
    if sys.argv[2:] == ["--check"]:
        drawn = [(key, count) for key, count in counts.items() if count and not all(size in axis for size, axis in zip(key[2:], axes))]
        for title, part in (("all", drawn), ("cut", [one for one in drawn if one[1] > 1]), ("not cut", [one for one in drawn if one[1] == 1])):
            off = [abs(predict(counts, axes, *key[1:]) - count) for key, count in part]
            print(f"{title}: {len(off)} drawn products, {sum(not one for one in off) / len(off):.1%} as predicted, {sum(one < 2 for one in off) / len(off):.1%} within one slice")
        return
    print("/* CUT(k, n, matmul, linear): slices of k in cuBLAS's FP16 products on an H100, a digit (base 36) for each number of rows of ROWS; matmul: the second\n"
          " * factor is [k, n]; linear: it is [n, k]. Made by lab/split_k_table.py of what lab/record_split_k.py recorded (PyTorch 2.11, CUDA 13.0). */")
    print(f"ROWS({', '.join(str(m) for m in axes[0])})")
    for k in axes[2]:
        for n in axes[1]:
            if ("f16", "matmul", axes[0][0], n, k) in counts:
                both = [line(counts, op, axes[0], n, k) for op in ("matmul", "linear")]
                if k > SLICE_LEAST * 2:
                    print(f'CUT({k}, {n}, "{both[0]}", "{both[1]}")')
                elif set("".join(both)) != {"1"}:
                    sys.exit(f"{k} products are cut, for {n} columns: a slice is shorter than SLICE_LEAST")


if __name__ == "__main__":
    main()
