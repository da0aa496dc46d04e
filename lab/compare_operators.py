#!/usr/bin/env python3
"""Bits of single operators in FP16 or BF16 beside those that a runtime gave.

    lab/compare_operators.py PROGRAM OPERATORS.npz ARITHMETIC [NAME...] [--bf16] [--least PERCENT] [--record FILE TARGET RUNTIME]

OPERATORS.npz (DATA/ort_cuda/operators.npz; a sample lies in tests/data/ort_cuda) holds `KEY|i0...` inputs, `|o0` the output, `|op`
[operator, domain, attributes, opset]; an operator without inputs is of every FP16 number, or of those in `every`. --bf16: what it gave for
`bf16.KEY|o0` (bits; lab/record_ort_cuda.py) of the same inputs, rounded to BF16. Printed: the share of
equal bits, and our error by the recorded one's; --record: the shares as a file of tests/data/targets. Exit code 1 when a share is below --least. Needs numpy.
"""
import argparse
import ast
import math
import os
import subprocess
import sys
import tempfile

import numpy as np
from targets_table import keep

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from onnx_writer import TYPES, block, node, write_model  # pylint: disable=wrong-import-position


def widen(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def round_to_bf16(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return widen(((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    for name in ("program", "data", "arithmetic"):
        parser.add_argument(name)
    parser.add_argument("name", nargs="*")
    parser.add_argument("--least", type=float)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--record", nargs=3)
    options = parser.parse_args()
    data = np.load(options.data)
    below, shares = False, {}

    def read(key):
        array = data[key]
        while array.dtype.kind == "U" and array.shape == ():  # "same as KEY"
            array = data[str(array)[8:]]
        return array
    for key in sorted(name[:-3] for name in data.files if name.endswith("|op")):
        if options.name and not any(name in key for name in options.name):
            continue
        recorded = f"bf16.{key}|o0" if options.bf16 else key + "|o0"
        if recorded not in data.files or (options.bf16 and key + "|i0" not in data.files):
            continue
        output = widen(data[recorded]) if options.bf16 else data[recorded]
        if options.bf16 and data[recorded].dtype != np.uint16:  # integers
            continue
        operator, domain, attributes, opset = map(str, data[key + "|op"])
        inputs = {f"i{i}": read(f"{key}|i{i}") for i in range(8) if f"{key}|i{i}" in data.files}
        if options.bf16:
            inputs = {name: round_to_bf16(array) if array.dtype.kind == "f" else array for name, array in inputs.items()}
        if not inputs:
            inputs = {"i0": data["every"] if "every" in data.files else np.arange(65536, dtype=np.uint16).view(np.float16)}
        fixed = {name: array for name, array in inputs.items() if array.dtype.kind != "f" or (name != "i0" and key[0] in "aln")}
        given = {name: array for name, array in inputs.items() if name not in fixed}
        read_names = " ".join(f"i{i}" if f"i{i}" in inputs else "-" for i in range(1 + max(int(name[1:]) for name in inputs)))
        made = node(operator, read_names, "o0", **ast.literal_eval(attributes)) + (block(7, domain) if domain else b"")
        with tempfile.TemporaryDirectory() as folder:
            write_model(folder + "/model.onnx", [made], {name: array.shape for name, array in given.items()}, {"o0": output.shape}, fixed,
                        opset=int(opset), types={**{name: TYPES[array.dtype.str[1:]] for name, array in given.items()}, "o0": TYPES["f4" if options.bf16 else "f2"]},
                        domains={domain: 1} if domain else None)
            np.savez(folder + "/in.npz", **given)
            results = []
            for arithmetic in (options.arithmetic, "fp64"):
                done = subprocess.run([options.program, "run", folder + "/model.onnx", "--inputs", folder + "/in.npz", "--arith", arithmetic, "--quiet",
                                       "--outputs", folder + "/out.npz"], capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{key:36} refused: {done.stderr.strip()[:80]}")
                    break
                results.append(np.load(folder + "/out.npz")["o0"].astype(np.float64).ravel())
        if len(results) < 2:
            below = True
            continue
        real, (ours, exact) = output.astype(np.float64).ravel(), results
        equal = 100 * np.mean((ours == real) | (np.isnan(ours) & np.isnan(real)))
        finite = np.isfinite(ours) & np.isfinite(real) & np.isfinite(exact)
        errors = [np.sqrt(np.mean((values[finite] - exact[finite])**2)) for values in (ours, real)]
        print(f"{key:36} {equal:6.2f} % of bits equal, error {errors[0] / errors[1] if errors[1] else math.nan:.3f} of the recorded one's")
        below |= bool(options.least and not equal >= options.least)
        shares[key] = round(equal, 2)
    if options.record:
        keep(*options.record[:2], options.arithmetic, options.record[2], "lab/compare_operators.py" + " --bf16" * options.bf16, {}, shares)
    return int(below)


if __name__ == "__main__":
    sys.exit(main())
