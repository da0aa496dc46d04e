#!/usr/bin/env python3
"""Compare every matrix unit of NVIDIA's that mmasim has with `ulpscope mma`, on random bit patterns.

usage: compare_mmasim.py ULPSCOPE [--count N] [--only TEXT] [--sample FILE]

mmasim 2.1.1 (MMA-Sim, arXiv 2511.10909; it needs torch) lists instructions by architecture, shape and types; those that differ only in
rows and columns are one class. For each class N dot products are drawn by half from all bit patterns (NaN, infinities and subnormals
come by themselves) and by half with exponents near each other, so that terms are cut, cancel and underflow; every bit of the results
must be equal, signs of zero included. --sample writes some rows of each class for the
tests: the bytes of a, b, c, scale_a, scale_b (of units that have them) and d. Exits with 1 where a bit differs.
"""
import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import torch
from mmasim.nv_ptx import isa_mma, isa_tcgen05mma, isa_wgmma, sim

GPUS = {"Volta": "v100", "Turing": "t4", "Ampere": "a100", "Ada Lovelace": "ada", "Hopper": "h200", "Blackwell": "b200",
        "RTX Blackwell": "rtx5090"}
TABLES = (("mma", isa_mma.mma_shape_and_type, sim.MMA), ("wgmma", isa_wgmma.wgmma_shape_and_type, sim.WGMMA),
          ("tcgen05", isa_tcgen05mma.tcgen05mma_shape_and_type, sim.TCGen05MMA),
          ("mma", isa_mma.mma_block_scale_shape_and_type, sim.MMABlockScale),
          ("tcgen05", isa_tcgen05mma.tcgen05mma_block_scale_shape_and_type, sim.TCGen05MMABlockScale))
# bits of an element, of its fraction, and numpy's type of a raw pattern
TYPES = {"f64": (64, 52, np.uint64), "tf32": (32, 23, np.uint32), "f16": (16, 10, np.uint16), "bf16": (16, 7, np.uint16),
         "e4m3": (8, 3, np.uint8), "e5m2": (8, 2, np.uint8), "e3m2": (6, 2, np.uint8), "e2m3": (6, 3, np.uint8),
         "e2m1": (4, 1, np.uint8), "f32": (32, 23, np.uint32)}
TORCH = {np.uint64: (np.int64, torch.float64), np.uint32: (np.int32, torch.float32), np.uint16: (np.int16, None)}


def classes():
    """(name of ours, operation of mmasim's, k): one for each class, the smallest shape standing for all."""
    found = {}
    for unit_class, table, make in TABLES:
        for arch, names in table.items():
            for name in names:
                operation = make(arch, name)
                scaled = hasattr(operation, "block_size")
                a, b = operation.a_type_ptx, operation.b_type_ptx
                if scaled and operation.k == 64:
                    scale = name.split(".")[-1]
                    a = b = "nvf4" if scale == "ue4m3" else "mxf4" if operation.block_size == 32 else "mxf4x16"
                elif scaled:
                    a, b = "mx" + a, "mx" + b
                own = "m8n8k4" if arch == "Turing" and operation.k == 4 else unit_class
                accumulator = {torch.float16: "f16", torch.float32: "f32", torch.float64: "f64"}[operation.d_type]
                mixed = "f32" if operation.c_type != operation.d_type else accumulator
                key = (GPUS[arch], own, a if a == b else f"{a}-{b}", mixed, operation.k, name.split(".")[1] if "kind" in name else "",
                       "" if operation.c_type == operation.d_type else "c in FP16")
                found.setdefault(key, operation)
    return found


def draw(random, kind, shape, narrow):
    """Raw patterns: all of them, or finite ones with exponents near each other."""
    bits, fraction, dtype = TYPES[kind]
    raw = random.integers(0, 1 << min(bits, 63), shape, dtype=np.uint64)
    if bits == 64:
        raw |= random.integers(0, 2, shape, dtype=np.uint64) << np.uint64(63)
    if narrow and bits >= 8:
        exponent_bits = bits - 1 - fraction
        low = (1 << (exponent_bits - 1)) - 2
        field = random.integers(low, low + 4, shape, dtype=np.uint64) << np.uint64(fraction)
        mask = np.uint64((1 << bits - 1) - (1 << fraction))
        raw = (raw & ~mask) | field
    return raw.astype(dtype)


def as_torch(raw, kind, torch_type):
    if kind == "e2m1":
        raw = raw << 2  # mmasim holds FP4 in bits 5 to 2 of a byte, FP6 in bits 5 to 0
    signed = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}[raw.dtype.itemsize]
    tensor = torch.from_numpy(raw.view(signed).copy())
    return tensor.view(torch.uint8) if torch_type == torch.uint8 else tensor.view(torch_type)


def pack_pairs(raw):
    return torch.from_numpy((raw[:, 0::2] << 4 | raw[:, 1::2]).astype(np.uint8))


def case(operation, count, seed):
    random = np.random.default_rng(seed)
    k, half = operation.k, count // 2
    arrays = {}
    for side, kind in (("a", operation.a_type_ptx), ("b", operation.b_type_ptx)):
        arrays[side] = np.concatenate([draw(random, kind, (count - half, k), False), draw(random, kind, (half, k), True)])
    accumulator = {torch.float16: "f16", torch.float32: "f32", torch.float64: "f64"}[operation.c_type]
    arrays["c"] = np.concatenate([draw(random, accumulator, count - half, False), draw(random, accumulator, half, True)])
    arrays["c"][::5] = 0
    if hasattr(operation, "block_size"):
        for side in ("scale_a", "scale_b"):
            wide = random.integers(0, 256, (count - half, k // operation.block_size))
            near = random.integers(120, 135, (half, k // operation.block_size)) if "ue8m0" in operation.shape_and_type else \
                random.integers(40, 80, (half, k // operation.block_size))
            arrays[side] = np.concatenate([wide, near]).astype(np.uint8)
    return arrays, accumulator


def mmasim(operation, arrays, accumulator):
    parts = [as_torch(arrays["a"], operation.a_type_ptx, operation.a_type), as_torch(arrays["b"], operation.b_type_ptx, operation.b_type),
             as_torch(arrays["c"], accumulator, operation.c_type)]
    if hasattr(operation, "block_size"):
        if operation.packing == 2:
            parts[:2] = [pack_pairs(arrays["a"]), pack_pairs(arrays["b"])]
        parts += [torch.from_numpy(arrays[side].copy()).view(operation.s_type) for side in ("scale_a", "scale_b")]
    out = operation.dpa(*parts).contiguous()
    width = {2: (torch.int16, np.uint16), 4: (torch.int32, np.uint32), 8: (torch.int64, np.uint64)}[out.element_size()]
    return out.view(width[0]).numpy().view(width[1])


def ours(program, unit, arrays, folder):
    source, out = os.path.join(folder, "in.npz"), os.path.join(folder, "out.npz")
    np.savez(source, a=arrays["a"][:, None], b=arrays["b"][:, None], c=arrays["c"][:, None, None],
             **{side: arrays[side][:, None] for side in ("scale_a", "scale_b") if side in arrays})
    subprocess.run([program, "mma", "--threads", "1", unit, source, out], check=True, stdout=subprocess.DEVNULL)
    return next(iter(np.load(out).values())).ravel()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=1000000)
    parser.add_argument("--only", default="")
    parser.add_argument("--sample")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = {line.split()[0] for line in subprocess.run([options.program, "list", "units"], check=True, capture_output=True,
                                                        text=True).stdout.splitlines() if line.strip()}
    covered = total = compared = different = 0
    samples = {}
    with tempfile.TemporaryDirectory() as folder:
        for seed, (key, operation) in enumerate(sorted(classes().items(), key=lambda row: row[0])):
            unit = ".".join(key[:4])
            if options.only not in unit:
                continue
            total += 1
            if unit not in known:
                print(f"{unit} k{key[4]} {key[5]}: not there")
                continue
            covered += 1
            wrong = 0
            for part in range(0, options.count, 100000):
                arrays, accumulator = case(operation, min(100000, options.count - part), (seed, part))
                want = mmasim(operation, arrays, accumulator)
                if want.dtype != arrays["c"].dtype:  # FP16 read, FP32 written: the unit reads that FP16 as it is in FP32
                    arrays["c"] = arrays["c"].view(np.float16).astype(np.float32).view(np.uint32)
                got = ours(options.program, unit, arrays, folder)
                wide = {2: np.float16, 4: np.float32, 8: np.float64}[want.dtype.itemsize]
                nan = np.isnan(want.view(wide)) & np.isnan(got.view(wide))
                wrong += int(((got != want) & ~(nan if wide == np.float64 else got != got)).sum())
                if part == 0 and options.sample:
                    rows = np.r_[0:4, len(want) // 2:len(want) // 2 + 4]
                    samples[f"{unit} k{key[4]} {key[5]}{key[6]}"] = np.concatenate(
                        [np.ascontiguousarray(data[rows]).reshape(len(rows), -1).view(np.uint8)
                         for data in (*arrays.values(), want)], axis=1)
            compared += options.count
            different += wrong
            print(f"{unit} k{key[4]} {key[5]}{key[6]}: {options.count} results, {wrong} differ", flush=True)
    print(f"{covered} of {total} classes, {compared} results, {different} differ")
    if options.sample:
        np.savez_compressed(options.sample, **samples)
    return 1 if different or covered < total else 0


if __name__ == "__main__":
    sys.exit(main())
