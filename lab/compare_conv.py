#!/usr/bin/env python3
"""Convolutions and products of drawn numbers that an NVIDIA GPU computed, against conv=torch with split-k=cublas and against neither: results with all recorded bits.

    lab/compare_conv.py ULPSCOPE FILE [--types TYPE,...] [--list] [--least NUMBER] [--largest ELEMENTS]
    lab/compare_conv.py --sample RECORDED FILE [TYPE...]      cut what lab/record_sum_order.py recorded down to what is compared: convolutions of FP16 and BF16, of tf32 and f32 products, too

FILE has cases {op, x, w, strides, dilations, group, bias} and of each the first bits of the result; operands are drawn by the case's number (operands() of that script). --largest leaves out inputs of more elements. Exit code 1: in one of the types fewer than NUMBER
results are equal with these kernels. Needs numpy."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from record_sum_order import operands  # noqa: E402
from onnx_writer import node, write_model  # noqa: E402

KINDS = {"f16": "fp16,epilogue=rounded", "bf16": "bf16,epilogue=rounded", "tf32": "tf32,vectors=scalar", "f32": "fp32"}
OURS = {"f16": "conv=torch", "bf16": "conv=torch", "tf32": "conv=torch,split-k=cublas", "f32": "split-k=cublas"}
KEPT = {"f16": 256, "bf16": 256, "tf32": 64, "f32": 64}


def sample(recorded, out, *kinds):
    data, kinds = np.load(recorded), kinds or ("f16", "bf16")
    facts = json.loads(bytes(data["meta"]))
    wanted = {"f16": ("conv",), "bf16": ("conv",), "tf32": ("conv", "matmul"), "f32": ("matmul",)}
    ops = {op for kind in kinds for op in wanted[kind]}
    cases = {str(i): {key: value for key, value in case.items() if key in ("op", "x", "w", "strides", "dilations", "group", "bias")} for i, case in enumerate(facts["cases"]) if case["op"] in ops}
    facts["cases"] = cases
    arrays = {f"{i}.{kind}": data[f"c{i}.{kind}.value"][:KEPT[kind]] for i in cases for kind in kinds if cases[i]["op"] in wanted[kind]}
    np.savez_compressed(out, meta=np.frombuffer(json.dumps(facts).encode(), np.uint8), **arrays)


def stored(values, kind):
    if kind == "f16":
        return values.astype(np.float16).view(np.int16), values.astype(np.float16).astype(np.float32)
    if kind in ("tf32", "f32"):
        return np.ascontiguousarray(values, np.float32).view(np.int32), values
    wide = np.ascontiguousarray(values, np.float32).view(np.uint32)
    codes = ((wide + 0x7FFF + (wide >> 16 & 1)) >> 16).astype(np.uint16)
    return codes.view(np.int16), (codes.astype(np.uint32) << 16).view(np.float32)


def compute(program, work, kind, cases, arithmetic):
    nodes, arrays, weights = [], {}, {}
    for name, case in cases.items():
        given = [stored(array, kind)[1] for array in operands(case, int(name))]
        names = [f"{name}.{part}" for part in ("x", "w", "b")][:len(given)]
        arrays[names[0]] = given[0]
        weights.update(zip(names[1:], given[1:]))
        if case.get("op") == "matmul":
            nodes.append(node("MatMul", " ".join(names), f"{name}.y", name))
            continue
        nodes.append(node("Conv", " ".join(names), f"{name}.y", name, strides=case["strides"], dilations=case["dilations"], group=case["group"]))
    path, inputs, out = (os.path.join(work, name) for name in ("model.onnx", "in.npz", "out.npz"))
    write_model(path, nodes, {name: array.shape for name, array in arrays.items()}, [f"{name}.y" for name in cases], weights, opset=14)
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
    parser.add_argument("--types", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--least", type=int, default=0)
    parser.add_argument("--largest", type=int, default=1 << 40)
    given = parser.parse_args()
    recorded = np.load(given.file)
    cases = {name: case for name, case in json.loads(bytes(recorded["meta"]))["cases"].items() if np.prod(case["x"]) <= given.largest}
    kinds = given.types.split(",") if given.types else [kind for kind in KINDS if any(name.endswith("." + kind) for name in recorded.files)]
    fewest = len(cases)
    with tempfile.TemporaryDirectory() as work:
        for kind in kinds:
            own = {name: case for name, case in cases.items() if f"{name}.{kind}" in recorded.files}
            for how in (KINDS[kind], f"{KINDS[kind]},{OURS[kind]}"):
                got, equal = compute(given.program, work, kind, own, how), 0
                for name, case in own.items():
                    bits, want = stored(got[f"{name}.y"].ravel()[:KEPT[kind]], kind)[0], recorded[f"{name}.{kind}"]
                    same = np.array_equal(np.where(bits == np.iinfo(bits.dtype).min, 0, bits), np.where(want == np.iinfo(want.dtype).min, 0, want))
                    equal += same
                    if given.list and how != KINDS[kind] and not same:
                        print("  ", kind, name, case)
                print(f"{how}: {equal} of {len(own)} results have every recorded bit")
            fewest = min(fewest, equal)
    sys.exit(fewest < given.least)


if __name__ == "__main__":
    main()
