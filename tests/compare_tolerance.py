#!/usr/bin/env python3
"""The tolerances of `ulpscope tolerance` beside an H200's recorded outputs.

    compare_tolerance.py PROGRAM DATA FOLDER [MODEL...]

For each network of DATA/gpu/h200_net_outputs.npz, each of fp16, bf16 and tf32, and each float output: is the recorded error within the
first-order bound at every element that has one, is it within the recommended atol, and how many times larger is that? Outputs where TF32 was
not used (equal to FP32's) and those with no finite error are left out. FOLDER keeps the results of the program, which are not made again. Needs
numpy.
"""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

MODES = {'f16': 'fp16', 'bf16': 'bf16', 'tf32': 'tf32'}


def main():
    program, data, kept, only = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:]
    recorded = np.load(data / 'gpu/h200_net_outputs.npz')
    names = {}
    for key in recorded.files:
        model, mode = key.split('/')[0], key.split('/')[1].split('.', 1)
        names.setdefault(model, {}).setdefault(mode[1], set()).add(mode[0])
    ratios, beyond_bound, beyond_atol, elements, open_outputs = [], [], [], 0, []
    for model in sorted(names):
        folder = data / 'models' / model
        if only and model not in only or not (folder / 'inputs.npz').exists():
            continue
        for mode, arithmetic in MODES.items():
            out = kept / f'{model}-{mode}.json'
            if not out.exists():
                try:
                    run = subprocess.run([program, 'tolerance', folder / 'model.onnx', '-i', folder / 'inputs.npz', '-a',
                                          arithmetic, '--reference', 'fp64', '-q', '--threads', '1', '--json', out],
                                         capture_output=True, text=True, timeout=300)
                except subprocess.TimeoutExpired:
                    print(f'{model} {mode}: more than 300 s', flush=True)
                    continue
                if run.returncode:
                    print(f'{model} {mode}: {run.stderr.strip()}', flush=True)
                    continue
            with open(out) as file:
                tolerance = json.load(file)
            for output in tolerance['outputs']:
                keys = [f'{model}/{m}.{output["name"]}' for m in (mode, 'f64', 'f32')]
                if not all(key in recorded for key in keys):
                    continue
                got, truth, single = (recorded[key].astype(np.float64).ravel() for key in keys)
                if mode == 'tf32' and np.array_equal(got, single) or got.size != output['count']:
                    continue
                error = np.abs(got - truth)
                where = f'{model} {mode} {output["name"]}'
                seen = np.nanmax(np.where(np.isfinite(error), error, np.nan)) if np.isfinite(error).any() else 0
                if not seen or output['nonfinite']:
                    print(f'{where}: left out, error {seen}, {output["nonfinite"]} not finite', flush=True)
                    continue
                ratios.append(output['atol'] / seen)
                open_outputs.append(output['open'])
                if seen > output['atol']:
                    beyond_atol.append(where)
                for element in output['elements']:
                    elements += element['bound'] is not None
                    if element['bound'] is not None and error[element['index']] > element['bound']:
                        beyond_bound.append(f'{where}[{element["index"]}] {error[element["index"]]:.3g} > {element["bound"]:.3g}')
                print(f'{where}: seen {seen:.3g}, atol {output["atol"]:.3g} ({output["atol"] / seen:.2f} x)'
                      f'{" open" if output["open"] else ""}', flush=True)
    ratios = np.array(ratios)
    print(f'{len(ratios)} outputs; beyond the recommended atol: {len(beyond_atol)} {beyond_atol}')
    print(f'factor at most 4: {100 * np.mean(ratios <= 4):.1f} %, median {np.median(ratios):.2f}, largest {ratios.max():.2f}; '
          f'{sum(open_outputs)} open')
    print(f'{elements} elements; beyond the first-order bound: {len(beyond_bound)} {beyond_bound}')
    return 1 if beyond_atol or beyond_bound else 0


if __name__ == '__main__':
    sys.exit(main())
