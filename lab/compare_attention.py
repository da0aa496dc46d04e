#!/usr/bin/env python3
"""Attention in tiles against an NVIDIA H200's kernels: how many bits of every recorded result are equal.

    lab/compare_attention.py ULPSCOPE FILE [--all] [--form attention|written|multihead]

FILE, DATA/gpu/h200_attention.npz or the sample of it in tests/data/unit, has results of scaled_dot_product_attention (PyTorch 2.11, cuDNN 9.19) by its four back ends. For each the graph of one
Attention node runs with `attention=` that kernel, and with attention=whole. Limits: 99 % of flash2 and cudnn, 97 % of the others, a case each; what is
below is listed. Exit code 1 when there is any. --form: the graph has one Attention, or writes it out (MatMul, Mul, Where, Softmax, MatMul) for written-attention=kernel, or has one MultiHeadAttention. Needs numpy."""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
from onnx_writer import block, node, write_model  # pylint: disable=wrong-import-position

KERNELS = {"FLASH_ATTENTION": ("flash2", 0.99), "CUDNN_ATTENTION": ("cudnn", 0.99), "EFFICIENT_ATTENTION": ("efficient", 0.97), "MATH": ("math", 0.97)}


def round_to(values, kind):
    if kind == "float16":
        return values.astype(np.float16).astype(np.float32)
    bits = values.view(np.uint32).astype(np.uint64)
    return (((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) << 16).astype(np.uint32).view(np.float32)


def bits_of(values, kind):
    return values.astype(np.float16).view(np.int16) if kind == "float16" else (values.view(np.uint32) >> 16).astype(np.uint16).view(np.int16)


def build(form, path, arrays, causal):
    """The graph of q, k and v, heads first, and what it is given."""
    shape = {name: array.shape for name, array in arrays.items()}
    heads, queries, keys, size = shape["q"][1], shape["q"][2], shape["k"][2], shape["q"][3]
    if form == "attention":
        write_model(path, [node("Attention", "q k v", "y", "attention", is_causal=causal)], shape, ["y"], {}, opset=23)
        return arrays
    if form == "multihead":
        packed = {name: np.ascontiguousarray(array.transpose(0, 2, 1, 3)).reshape(len(array), -1, heads * array.shape[3]) for name, array in arrays.items()}
        write_model(path, [node("MultiHeadAttention", "q k v", "out", "attention", num_heads=heads, unidirectional=causal) + block(7, "com.microsoft"), node("Reshape", "out split", "apart"), node("Transpose", "apart", "y", perm=[0, 2, 1, 3])],
                    {name: array.shape for name, array in packed.items()}, ["y"], {"split": np.array([0, 0, heads, size])}, opset=17, domains={"com.microsoft": 1})
        return packed
    constants = {"scale": np.array(np.float32(1 / np.sqrt(size)), np.float32), "seen": np.tri(queries, keys, dtype=bool), "low": np.array(-np.inf, np.float32)}
    nodes = [node("Transpose", "k", "kt", perm=[0, 1, 3, 2]), node("MatMul", "q kt", "scores"), node("Mul", "scores scale", "scaled")]
    nodes += [node("Where", "seen scaled low", "masked")] if causal else []
    nodes += [node("Softmax", "masked" if causal else "scaled", "p", axis=-1), node("MatMul", "p v", "y")]
    write_model(path, nodes, shape, ["y"], {name: value for name, value in constants.items() if causal or name == "scale"}, opset=17)
    return arrays


def run(program, arithmetic, model, inputs, folder):
    out = os.path.join(folder, "out.npz")
    done = subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "-q", "-o", out], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{arithmetic}: {done.stderr.strip()}")
    with np.load(out) as file:
        return file["y"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("file")
    parser.add_argument("--all", action="store_true", help="list every case")
    parser.add_argument("--form", choices=("attention", "written", "multihead"), default="attention")
    given = parser.parse_args()
    program = os.path.abspath(given.program)
    recorded = np.load(given.file)
    equal, below = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        for case in json.loads(bytes(recorded["meta"]))["cases"]:
            kernel, limit = KERNELS[case["backend"]]
            batch, heads, queries, keys, size = case["shape"]
            random, kind = np.random.default_rng(case["seed"]), case["type"]
            arrays = {}
            for name, length, amplitude in (("q", queries, case["amplitude"]), ("k", keys, case["amplitude"]), ("v", keys, 1)):
                drawn = random.standard_normal((batch, heads, length, size)).astype(np.float32)
                arrays[name] = round_to(drawn * np.float32(amplitude), kind)
            model, inputs = os.path.join(folder, "model.onnx"), os.path.join(folder, "inputs.npz")
            np.savez(inputs, **build(given.form, model, arrays, int(case["causal"])))
            base = {"float16": "fp16", "bfloat16": "bf16"}[kind]
            shares = []
            for part in (kernel, "whole"):
                joined = ",written-attention=kernel" if given.form == "written" else ""
                mine = bits_of(run(program, f"{base},attention={part}{joined}", model, inputs, folder), kind)
                if case["rows"] != "all":
                    mine = mine[:, :, :: int(case["rows"][2:])]
                shares.append(float(np.mean(mine == recorded[case["key"]])))
            equal.setdefault(kernel, []).append(shares)
            below += shares[0] < limit
            if given.all or shares[0] < limit:
                print(f"{kernel} {case['shape']}{' causal' if case['causal'] else ''} {kind} x {case['amplitude']:g}: {shares[0]:.2%} of bits equal, whole {shares[1]:.2%}")
    print("kernel     cases  least    mean     whole rows at once: least, mean")
    for kernel, shares in equal.items():
        own, whole = np.array(shares).T
        print(f"{kernel:10} {len(own):5}  {own.min():.2%}  {own.mean():.2%}  {whole.min():.2%}  {whole.mean():.2%}")
    sys.exit(below > 0)


if __name__ == "__main__":
    main()
