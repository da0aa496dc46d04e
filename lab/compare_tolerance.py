#!/usr/bin/env python3
"""The tolerances of `ulpscope tolerance` beside an H200's recorded outputs.

    compare_tolerance.py PROGRAM DATA FOLDER [MODEL...]

For each network of DATA/gpu/h200_net_outputs.npz, each arithmetic of RUNS and each float output: is the recorded error within the
first-order bound at every element that has one, is it within the recommended atol, and how many times larger is that? Outputs where TF32 was
not used (equal to FP32's) and those with no finite error are left out. `tf32 as used` keeps in FP32 the products that the recording of single
nodes (h200_net_errors.json.gz) shows to be FP32: their error there is below ten times that of FP32, where TF32's is some thousands.
FOLDER keeps the results of the program, which are not made again. Needs numpy. Exit code 1: an output is beyond its atol or its bound.
"""
import gzip
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

# name: recorded mode, arithmetic, whether FP32 products are kept
RUNS = {'fp16': ('f16', 'torch:fp16', False), 'bf16': ('bf16', 'torch:bf16', False), 'tf32 everywhere': ('tf32', 'tf32', False),
        'tf32': ('tf32', 'torch:tf32', False), 'tf32 as used': ('tf32', 'torch:tf32', True)}
PRODUCTS = {'Conv', 'ConvTranspose', 'MatMul', 'Gemm'}
LIMIT = 4


def find_fp32_products(data):
    """By model: the options that keep the products which the library left in FP32."""
    with gzip.open(data / 'gpu/h200_net_errors.json.gz') as file:
        runs = json.load(file)
    return {run['model']: [f'--keep={node["node"]}=fp32' for node in run['nodes'] if node['op'] in PRODUCTS and 'tf32' in node
                           and node['tf32']['single']['rms'] <= 10 * node['f32']['single']['rms']]
            for run in runs if run['inputs'] == 'inputs.npz'}


def measure(program, folder, arithmetic, keeps, out):
    """The program's result, or None and a line that says why."""
    if not out.exists():
        run = subprocess.run([program, 'tolerance', folder / 'model.onnx', '-i', folder / 'inputs.npz', '-a', arithmetic, '--reference',
                              'fp64', '-q', '--threads', '1', '--json', out, *keeps], capture_output=True, text=True)
        if run.returncode:
            print(f'{folder.name} {arithmetic}: {run.stderr.strip()}', flush=True)
            return None
    with open(out) as file:
        return json.load(file)


def compare(recorded, model, mode, output):
    """(factor, elements with a bound, those beyond it); None: nothing to compare."""
    keys = [f'{model}/{m}.{output["name"]}' for m in (mode, 'f64', 'f32')]
    if not all(key in recorded for key in keys):
        return None
    got, truth, single = (recorded[key].astype(np.float64).ravel() for key in keys)
    if mode == 'tf32' and np.array_equal(got, single) or got.size != output['count']:
        return None
    error = np.abs(got - truth)
    seen = np.nanmax(np.where(np.isfinite(error), error, np.nan)) if np.isfinite(error).any() else 0
    if not seen or output['nonfinite']:
        print(f'{model} {mode} {output["name"]}: left out, error {seen}, {output["nonfinite"]} not finite', flush=True)
        return None
    bounded = [element for element in output['elements'] if element['bound'] is not None]
    beyond = [f'{output["name"]}[{e["index"]}] {error[e["index"]]:.3g} > {e["bound"]:.3g}' for e in bounded
              if error[e['index']] > e['bound']]
    return output['atol'] / seen, seen, len(bounded), beyond


def summarise(name, rows):
    factors = np.array([row[0] for row in rows])
    beyond = [text for row in rows for text in row[3]]
    quantiles = ' '.join(f'{q:6.2f}' for q in np.percentile(factors, [0, 10, 50, 90, 100]))
    print(f'{name:16s} {len(rows):3d} outputs, {np.sum(factors >= 1):3d} within atol, {np.sum(factors <= LIMIT):3d} by at most {LIMIT} '
          f'({100 * np.mean(factors <= LIMIT):.1f} %); factor min, 10 %, median, 90 %, max: {quantiles}; '
          f'{sum(row[2] for row in rows)} elements with a bound, beyond: {beyond}', flush=True)
    return bool(beyond) or bool(np.any(factors < 1))


def main():
    program, data, kept, only = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
    recorded = np.load(data / 'gpu/h200_net_outputs.npz')
    fp32_products = find_fp32_products(data)
    models = sorted({key.split('/')[0] for key in recorded.files})
    failed, results = False, {}
    for name, (mode, arithmetic, keep) in RUNS.items():
        rows = results[name] = []
        for model in models:
            folder = data / 'models' / model
            if only and model not in only or not (folder / 'inputs.npz').exists():
                continue
            tolerance = measure(program, folder, arithmetic, fp32_products.get(model, []) if keep else [],
                                kept / f'{model}-{name.replace(" ", "-")}.json')
            for output in tolerance['outputs'] if tolerance else []:
                row = compare(recorded, model, mode, output)
                if not row:
                    continue
                rows.append(row)
                print(f'{model} {name} {output["name"]}: seen {row[1]:.3g}, atol {output["atol"]:.3g} ({row[0]:.2f} x)'
                      f'{" open" if output.get("open") else ""}', flush=True)
    for name, rows in results.items():
        failed |= bool(rows) and summarise(name, rows)
    failed |= summarise('fp16, bf16, tf32', results['fp16'] + results['bf16'] + results['tf32'])
    summarise('... as used', results['fp16'] + results['bf16'] + results['tf32 as used'])
    return failed


if __name__ == '__main__':
    sys.exit(main())
