#!/usr/bin/env python3
"""Cut the recorded GPU vectors down to the samples in tests/data/unit.

usage: sample_unit_vectors.py FOLDER OUT

FOLDER holds h200_mma.npz, h200_wgmma.npz, h200_gemm.npz, h200_unary.npz (recorded on an H200 for this project) and other_gpus.npz
(north-numerical-computing/MATLAB-tensor-core, BSD-2: see tests/data/unit/SOURCES.md). Members keep their names, so the
tests read samples and whole files alike. No randomness: the same input gives the same samples.
"""
import os
import sys

import numpy as np

MMA_TILES = 8      # tile t is in regime t mod 8
MMA_ROWS = 8       # of 16
WGMMA_BLOCKS = 8
WGMMA_ROWS = 8     # of 64
DOT_ROWS = 25      # of 2500, evenly spread
FUNCTIONS = ('f32.x', 'f32.erff', 'f32.expf', 'torch.f32.sigmoid', 'torch.f16.gelu', 'torch.bf16.gelu', 'torch.f16.sigmoid',
             'torch.bf16.sigmoid')
GEMM_SIDE = {1024: 3}
GEMM_SIDE_DEFAULT = 6


def sample_products(path, tiles, rows):
    for name, data in np.load(path).items():
        data = data[:tiles]
        yield name, data if name.endswith('.B') else data[:, :rows]


def sample_dots(path):
    for name, data in np.load(path).items():
        yield name, data[:: len(data) // DOT_ROWS][:DOT_ROWS]


def sample_gemms(path):
    for name, data in np.load(path).items():
        part = name.split('.')
        side = GEMM_SIDE.get(int(part[1]), GEMM_SIDE_DEFAULT)
        rows = slice(None) if part[-1] == 'B' else slice(side)
        columns = slice(None) if part[-1] == 'A' else slice(side)
        yield name, data[rows, columns]


def sample_functions(path):
    for name, data in np.load(path).items():
        if name in FUNCTIONS:
            yield name, data[::8 if len(data) == 16384 else 16]


def main():
    folder, out = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    samples = {
        'h200_mma.npz': lambda path: sample_products(path, MMA_TILES, MMA_ROWS),
        'h200_wgmma.npz': lambda path: sample_products(path, WGMMA_BLOCKS, WGMMA_ROWS),
        'h200_gemm.npz': sample_gemms,
        'h200_unary.npz': sample_functions,
        'other_gpus.npz': sample_dots,
    }
    for file, sample in samples.items():
        np.savez_compressed(os.path.join(out, file), **dict(sample(os.path.join(folder, file))))


if __name__ == '__main__':
    main()
