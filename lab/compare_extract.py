#!/usr/bin/env python3
"""Parts of models as `ulpscope extract` writes them, in ONNX Runtime and Polygraphy.

    lab/compare_extract.py ULPSCOPE [--polygraphy POLYGRAPHY] MODEL INPUTS PART [MODEL INPUTS PART...]

onnx.checker accepts each, ONNX Runtime loads and runs it on the inputs beside it, and its FP32 outputs are within 1e-4 of the exact
outputs' rms (some thousand FP32 roundings of 6e-8, random; integers equal). With --polygraphy also its comparison with outputs.json passes, with the
same tolerance.
"""
import argparse
import glob
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

TOLERANCE = 1e-4


def run_part(folder):
    """Failures of one part; the number of its outputs."""
    path = os.path.join(folder, "model.onnx")
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = dict(np.load(os.path.join(folder, "inputs.npz")))
    exact = np.load(os.path.join(folder, "outputs.npz"))
    names = [output.name for output in session.get_outputs()]
    failures = []
    if sorted(inputs) != sorted(value.name for value in session.get_inputs()) or sorted(names) != sorted(exact.files):
        failures.append(f"names differ: {sorted(inputs)}, {sorted(exact.files)}")
        return failures, 0
    for i, value in enumerate(session.get_inputs()):
        stored = onnx.load_tensor(os.path.join(folder, "test_data_set_0", f"input_{i}.pb"))
        if stored.name != value.name or not np.array_equal(numpy_helper.to_array(stored), inputs[value.name], equal_nan=True):
            failures.append(f"input_{i}.pb is not {value.name}")
    for name, given in zip(names, session.run(None, inputs)):
        truth = exact[name]
        if given.shape != truth.shape:
            failures.append(f"{name}: {given.shape} for {truth.shape}")
        elif given.dtype.kind == "f":
            gap = np.abs(given.astype("f8") - truth).max(initial=0)
            limit = TOLERANCE * max(np.sqrt(np.mean(np.square(truth.astype("f8")))) if truth.size else 0, 1e-30)
            if not gap <= limit:
                failures.append(f"{name}: off by {gap:.3g}, {limit:.3g} allowed")
        elif not np.array_equal(given, truth):
            failures.append(f"{name}: integers differ")
    return failures, len(names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--polygraphy")
    parser.add_argument("parts", nargs="+")
    options = parser.parse_args()
    failures = outputs = 0
    for model, inputs, part in zip(*[iter(options.parts)] * 3):
        with tempfile.TemporaryDirectory() as folder:
            command = [options.program, "extract", model, part, "-i", inputs, "-o", folder, "-q"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                found, count = [done.stderr.strip()], 0
            else:
                found, count = run_part(folder)
            outputs += count
            if options.polygraphy and not found:
                command = [options.polygraphy, "run", "model.onnx", "--onnxrt", "--data-loader-script", "load_data.py", "--load-outputs",
                           "outputs.json", "--atol", str(TOLERANCE), "--rtol", str(TOLERANCE), "--check-error-stat", "median"]
                done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
                if done.returncode:
                    found.append("polygraphy: " + (done.stdout + done.stderr)[-600:])
            size = sum(os.path.getsize(file) for file in glob.glob(folder + "/model.onnx*"))
            print(f"{'FAIL' if found else 'ok'}  {os.path.basename(os.path.dirname(model))} {part}: {size} bytes of {os.path.getsize(model)}")
            for failure in found:
                print("    " + failure)
            failures += bool(found)
    print(f"{len(options.parts) // 3} parts, {outputs} outputs, {failures} failures")
    return 1 if failures or not outputs else 0


if __name__ == "__main__":
    sys.exit(main())
