#!/usr/bin/env python3
"""Networks with one fault each, whose cause was found and stated in public: doc/causes.md has the threads.

    python3 causes.py FOLDER [NAME...]

Each is written to FOLDER/NAME: broken.onnx, mended.onnx (the same weights, without the fault) and inputs.npz. Those here are called sound-* and have no
fault: sound.onnx. Python and numpy alone; every machine makes the same files.
"""
import os
import sys

import beyond  # noqa: F401  pylint: disable=unused-import
import numpy as np
import within
from parts import CAUSES, SOUND, INT64, LENGTH, Network, block, classifier, conv, head, image, residual, sequence, sound


@sound("sound-convolutions")
def sound_convolutions(n):
    x = conv(n, "stem", image(n), 3, 16)
    for i in range(8):
        x = residual(n, f"blocks.{i}", x, 16)
    classifier(n, x, 16)


@sound("sound-transformer")
def sound_transformer(n):
    mask = n.constant("mask.causal", np.triu(np.full((LENGTH, LENGTH), -1e4), 1))
    x = sequence(n)
    for i in range(2):
        x = block(n, f"layers.{i}", x, mask=mask)
    head(n, x)


@sound("sound-gelu-cube")
def sound_gelu_cube(n):
    """Cubes beyond FP16 inside a tanh, which is 1 there: nothing is lost (facebookresearch/fairseq#2235 says so of the forward pass)."""
    def activation(n, name, x):
        x = n.apply("Mul", name + "/gain", x, 64.0)
        cube = n.apply("Pow", name + "/Pow", x, 3.0)
        inner = n.apply("Mul", name + "/Mul_1", n.add("Add", name + "/Add", x, n.apply("Mul", name + "/Mul", cube, 0.044715)), 0.79788456)
        y = n.apply("Add", name + "/Add_1", n.add("Tanh", name + "/Tanh", inner), 1.0)
        return n.apply("Mul", name + "/Mul_3", n.add("Mul", name + "/Mul_2", n.apply("Mul", name + "/half", x, 0.5), y), 1 / 64)
    x = sequence(n)
    for i in range(2):
        x = block(n, f"layers.{i}", x, activation=activation)
    head(n, x)


@sound("sound-quantised")
def sound_quantised(n):
    x = conv(n, "stem", image(n), 3, 16)
    for i in range(6):
        scale, zero = n.scalar(0.0625), n.scalar(0, np.int8)
        x = n.add("DequantizeLinear", f"blocks.{i}/DequantizeLinear", n.add("QuantizeLinear", f"blocks.{i}/QuantizeLinear", x, scale, zero), scale, zero)
        x = residual(n, f"blocks.{i}", x, 16)
    classifier(n, x, 16)


@sound("sound-lengths")
def sound_lengths(n):
    """Lengths in integers, a mask by Where, and a division by a sum that cannot be zero."""
    length = n.input("length", np.array([1201]), kind=INT64)
    n.add("Identity", "encoded_lengths/Identity", within.lengths(n, "pre_encode", length, True), output="encoded_lengths")
    n.output("encoded_lengths", (1,), INT64)
    x = block(n, "layers.0", sequence(n))
    total = n.apply("Add", "share/Add", n.add("ReduceSum", "share/ReduceSum", n.add("Exp", "share/Exp", n.add("Tanh", "share/Tanh", x)), n.axes(-1)), 1e-3)
    head(n, n.add("Div", "share/Div", x, total))


def build(function, name, *arguments):
    n = Network(1000 + sum(map(ord, name)))
    function(n, *arguments)
    return n


def main():
    folder, wanted = (sys.argv[1] if len(sys.argv) > 1 else "."), sys.argv[2:]
    if folder.startswith("-"):
        sys.exit(__doc__.strip())
    if unknown := set(wanted) - set(CAUSES) - set(SOUND):
        sys.exit(f"no cause is called {', '.join(sorted(unknown))}; known: {', '.join([*sorted(CAUSES), *SOUND])}")
    for name, function in sorted(CAUSES.items()):
        if not wanted or name in wanted:
            path = os.path.join(folder, name)
            for word, mended in (("broken", False), ("mended", True)):
                build(function, name, mended).save(path, word + ".onnx")
            build(function, name, False).save_inputs(path)
    for name, function in SOUND.items():
        if not wanted or name in wanted:
            path, n = os.path.join(folder, name), build(function, name)
            n.save(path, "sound.onnx")
            n.save_inputs(path)


if __name__ == "__main__":
    main()
