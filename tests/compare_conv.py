#!/usr/bin/env python3
"""Convolutions of drawn numbers that an NVIDIA GPU computed, in FP16 and BF16, against conv=torch and conv=plain: results with all recorded bits.

    tests/compare_conv.py ULPSCOPE FILE [--list] [--least NUMBER] [--largest ELEMENTS]
    tests/compare_conv.py --sample RECORDED FILE      cut what scripts/record_sum_order.py recorded down to what is compared

FILE has cases {x, w, strides, dilations, group, bias} and of each the first bits of the result; operands are drawn by the case's number (operands() of that script). --largest leaves out inputs of more elements. Exit code 1: fewer than NUMBER results are equal with
conv=torch. Needs numpy."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "scripts"), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples")]
from record_sum_order import operands  # noqa: E402
from onnx_writer import node, write_model  # noqa: E402

KINDS = {"f16": "fp16", "bf16": "bf16"}
KEPT = 256


def sample(recorded, out):
    data = np.load(recorded)
    facts = json.loads(bytes(data["meta"]))
    cases = {str(i): {key: value for key, value in case.items() if key in ("x", "w", "strides", "dilations", "group", "bias")} for i, case in enumerate(facts["cases"]) if case["op"] == "conv"}
    facts["cases"] = cases
    arrays = {f"{i}.{kind}": data[f"c{i}.{kind}.value"][:KEPT] for i in cases for kind in KINDS}
    np.savez_compressed(out, meta=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


def stored(values, kind):
    if kind == "f16":
        return values.astype(np.float16).view(np.int16), values.astype(np.float16).astype(np.float32)
    wide = np.ascontiguousarray(values, np.float32).view(np.uint32)
    codes = ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16)
    return codes.view(np.int16), (codes.astype(np.uint32) << 16).view(np.float32)


def compute(program, work, kind, cases, arithmetic):
    nodes, arrays = [], {}
    for name, case in cases.items():
        given = [stored(array, kind)[1] for array in operands(case, int(name))]
        names = [f"{name}.{part}" for part in ("x", "w", "b")][:len(given)]
        arrays.update(zip(names, given))
        nodes.append(node("Conv", " ".join(names), f"{name}.y", name, strides=case["strides"], dilations=case["dilations"], group=case["group"]))
    path, inputs, out = (os.path.join(work, name) for name in ("model.onnx", "in.npz", "out.npz"))
    write_model(path, nodes, {name: array.shape for name, array in arrays.items()}, [f"{name}.y" for name in cases], {}, opset=14)
    np.savez(inputs, **arrays)
    subprocess.run([program, "run", path, "-i", inputs, "-a", arithmetic, "-q", "-o", out], check=True)
    return np.load(out)


def main():
    if sys.argv[1:2] == ["--sample"]:
        sample(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1 << 40)
    given = parser.parse_args()
    recorded = np.load(given.file)
    cases = {name: case for name, case in json.loads(bytes(recorded["meta"]))["cases"].items() if np.prod(case["x"]) <= given.largest}
    fewest = len(cases)
    with tempfile.TemporaryDirectory() as work:
        for kind, base in KINDS.items():
            for how in ("plain", "torch"):
                got, equal = compute(given.program, work, kind, cases, f"{base},epilogue=rounded,conv={how}"), 0
                for name, case in cases.items():
                    same = np.array_equal(stored(got[f"{name}.y"].ravel()[:KEPT], kind)[0], recorded[f"{name}.{kind}"])
                    equal += same
                    if given.list and how == "torch" and not same:
                        print("  ", kind, name, case)
                print(f"{kind}, conv={how}: {equal} of {len(cases)} results have every recorded bit")
                fewest = min(fewest, equal) if how == "torch" else fewest
    sys.exit(fewest < given.least)


if __name__ == "__main__":
    main()
