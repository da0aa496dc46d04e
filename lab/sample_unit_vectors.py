#!/usr/bin/env python3
"""Cut the recorded GPU vectors down to the samples in tests/data/unit.

usage: sample_unit_vectors.py FOLDER OUT

FOLDER holds gemm16.npz, conv.npz, conv16.npz and units.npz (of lab/record_h200.py), recurrent.npz (of lab/record_recurrent.py), h200_mma.npz, h200_wgmma.npz, h200_gemm.npz, h200_unary.npz, h200_attention.npz (recorded on an H200 for this project) and other_gpus.npz
(north-numerical-computing/MATLAB-tensor-core, BSD-2: see tests/data/unit/SOURCES.md). Members keep their names, so the
tests read samples and whole files alike. No randomness: the same input gives the same samples.
"""
import json
import os
import sys

import numpy as np

MMA_TILES = 8      # tile t is in regime t mod 8
MMA_ROWS = 8       # of 16
WGMMA_BLOCKS = 8
WGMMA_ROWS = 8     # of 64
DOT_ROWS = 25      # of 2500, evenly spread
FUNCTIONS = ('f32.x', 'f32.erff', 'f32.expf', 'f32.rsqrtf', 'f32.tanhf', 'torch.f32.sigmoid', 'torch.f16.gelu', 'torch.bf16.gelu', 'torch.f16.sigmoid',
             'torch.bf16.sigmoid')
GEMM_SIDE = {1024: 3}
GEMM_SIDE_DEFAULT = 6
ATTENTION_KEYS, ATTENTION_ROWS = 300, 32
RECURRENT_NUMBERS = 5120  # a case: as many of its first steps as have them
RECURRENT_KERNELS = {'tile16': 'tile', 'HMMA': 'mma', 'blockPersist': 'block', 'elemWise': 'step'}
UNIT_TILES = 13    # of units.npz, one of each regime
RENAMED = {'gemm16.npz': 'h200_gemm16.npz', 'conv.npz': 'h200_conv_channels.npz', 'units.npz': 'h200_units.npz', 'recurrent.npz': 'h100_recurrent.npz'}
SLICED = ('64x64x128', '64x64x512', '64x64x768', '256x128x1024', '64x64x2048', '64x64x4096', '512x512x1024')
SLICED_SIDE = 3
PIXELS = ((0, 0), (0, 5), (4, 4), (7, 2), (9, 9), (3, 8))  # of recorded convolutions, 3x3, padded by 1
CHANNELS = {'wide': (1, 3), '96': (1, 4), '48': (2, 4)}  # stride, features


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


def sample_slices(path):
    for name, data in np.load(path).items():
        shape, part = name.split('.')
        rows = slice(SLICED_SIDE) if part in 'AD' else slice(None)
        columns = slice(SLICED_SIDE) if part in 'BD' else slice(None)
        if shape in SLICED:
            yield name, data if part == 'slices' else data[rows, columns].view(np.float16)


def sample_channels(path):
    """Patches of the input, as a batch, so that each gives one pixel. Kernels for channels last; FP32 operands are what TF32 rounds."""
    data, half = np.load(path), np.load(os.path.join(os.path.dirname(path), 'conv16.npz'))
    for name, (stride, features) in CHANNELS.items():
        x, w = np.pad(data[name + '.x'][0], ((0, 0), (1, 1), (1, 1))), data[name + '.w'][:features]
        label = str(w.shape[1])
        yield label + '.x', np.stack([x[:, i * stride:i * stride + 3, j * stride:j * stride + 3] for i, j in PIXELS])
        yield label + '.w', w
        results = {'f16': data[name + '.f16.nhwc'].view(np.float16), 'tf32': data[name + '.tf32.nhwc']}
        if name + '.acc16.nhwc.1' in half.files:
            results['f16.acc16'] = half[name + '.acc16.nhwc.1'].view(np.float16)
        for kind, y in results.items():
            yield f'{label}.{kind}', np.stack([y[0, :features, i, j] for i, j in PIXELS]).reshape(len(PIXELS), features, 1, 1)


def sample_functions(path):
    for name, data in np.load(path).items():
        if name in FUNCTIONS:
            yield name, data[::8 if len(data) == 16384 else 16]


def sample_attention(path):
    """Every ATTENTION_ROWS-th row of cases of few keys; meta says so. Inputs are drawn again from their seeds."""
    data, cases = np.load(path), []
    for case in json.loads(bytes(data['meta']))['cases']:
        if case['shape'][3] <= ATTENTION_KEYS and case['rows'] == 'all':
            cases.append({**case, 'rows': f'::{ATTENTION_ROWS}'})
            yield case['key'], data[case['key']][:, :, ::ATTENTION_ROWS]
    yield 'meta', np.frombuffer(json.dumps({'cases': cases}).encode(), np.uint8)


def sample_scaled(path):
    """Two rows and two columns of each product: operands drawn again from its seed."""
    import ml_dtypes
    file = np.load(path)
    types = {'e4m3': ml_dtypes.float8_e4m3fn, 'e5m2': ml_dtypes.float8_e5m2}
    results = {'f32': np.float32, 'f16': np.float16, 'bf16': ml_dtypes.bfloat16}
    for case in json.loads(bytes(file['meta']).decode())['cases']:
        if case['key'] not in file.files or (case['K'] > 512 and case['scales'] != 'block' and case['out'] != 'f32'):
            continue
        random, rows, columns, k = np.random.default_rng(case['seed']), case['M'], case['N'], case['K']
        a, b = (random.standard_normal((lines, k)).astype(np.float32) * np.float32(2) for lines in (rows, columns))
        if case['scales'] == 'tensor':
            scales = [np.repeat(np.float32(random.uniform(.5, 2)), 2)[:, None] for _ in range(2)]
        elif case['scales'] == 'row':
            scales = [random.uniform(.5, 2, lines).astype(np.float32)[:2, None] for lines in (rows, columns)]
        else:
            scales = [random.uniform(.5, 2, (k // 128, lines)).astype(np.float32).T[:2] for lines in (rows, columns)]
        name = f"{case['key']}.{case['scales']}.{case['a']}.{case['b']}.{case['out']}.{'fast' if case['fast'] else 'slow'}"
        yield name + '.a', a[:2].astype(types[case['a']]).view(np.uint8)
        yield name + '.b', b[:2].astype(types[case['b']]).view(np.uint8)
        yield name + '.scale_a', scales[0]
        yield name + '.scale_b', scales[1]
        yield name + '.d', file[case['key']].view(results[case['out']])[:2, :2].astype(np.float32)


def sample_recurrent(path):
    """The first steps of a case of every shape, type and kernel; inputs are drawn again from their seeds."""
    data, cases = np.load(path), {}
    for case in json.loads(bytes(data['meta']))['cases']:
        steps, batch, _, hidden = case['shape']
        kernel = next(name for word, name in RECURRENT_KERNELS.items() if any(word in called for called in case['kernels']))
        if f"{case['key']}.y" in data.files and case['type'] != 'float32' and batch * hidden <= RECURRENT_NUMBERS // 2:
            cases.setdefault((case['kind'], case['type'], kernel, hidden), {**case, 'kernel': kernel, 'kernels': sorted(case['kernels'])})
    for case in cases.values():
        _, batch, _, hidden = case['shape']
        yield case['key'], data[f"{case['key']}.y"][:RECURRENT_NUMBERS // (batch * hidden)]
    yield 'meta', np.frombuffer(json.dumps({'cases': list(cases.values())}).encode(), np.uint8)


def main():
    folder, out = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    samples = {
        'gemm16.npz': sample_slices,
        'conv.npz': sample_channels,
        'h200_mma.npz': lambda path: sample_products(path, MMA_TILES, MMA_ROWS),
        'h200_wgmma.npz': lambda path: sample_products(path, WGMMA_BLOCKS, WGMMA_ROWS),
        'h200_gemm.npz': sample_gemms,
        'h200_unary.npz': sample_functions,
        'units.npz': lambda path: sample_products(path, UNIT_TILES, MMA_ROWS),
        'other_gpus.npz': sample_dots,
        'h200_attention.npz': sample_attention,
        'h200_fp8_scaled.npz': sample_scaled,
        'recurrent.npz': sample_recurrent,
    }
    for file, sample in samples.items():
        np.savez_compressed(os.path.join(out, RENAMED.get(file, file)), **dict(sample(os.path.join(folder, file))))


if __name__ == '__main__':
    main()
