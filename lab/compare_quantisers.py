#!/usr/bin/env python3
"""Elements that libraries quantise on a CPU beside ulpscope's: NVIDIA ModelOpt (quantised tensors and fake quantisers) and torchao.

    lab/compare_quantisers.py [PROGRAM]

The numbers stand as a weight, in blocks along k, which `weights=` rounds and scales back; its product with the identity hands each of them on, in
FP32. Rows of numbers are compared bit for bit: normal, of 40 binades, halfway cases, beside powers of two, beside zeros and at the ends of FP32's range.
What differs has its reason in this file, and another count fails (ModelOpt 0.47, torchao 0.18); a library that is not there is skipped."""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    import onnx
    import torch
    from onnx import helper, numpy_helper
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

K = 256
PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "ulpscope"


def numbers():
    """Families of rows of K numbers; a tensor's scale is of one family."""
    rng = np.random.default_rng(35)
    normal = rng.standard_normal((512, K))
    wide = normal * 2.0 ** rng.integers(-20, 20, (512, K))
    steps = np.ldexp(1.0, rng.integers(-6, 7, (512, K))) * rng.integers(1, 64, (512, K)) / 32 * rng.choice([-1, 1], (512, K))
    largest = np.repeat(np.ldexp(1 + np.arange(512 * K // 32) % 512 / 512, np.arange(512 * K // 32) % 9 - 4), 32).reshape(512, K)
    edges = largest * np.where(np.arange(K) % 32 == 7, 1, rng.uniform(-1, 1, (512, K)))
    zeros = np.where(rng.uniform(size=(512, K)) < 0.9, 0, normal)
    zeros[::3] = 0
    ends = normal * 2.0 ** rng.choice([-130, -120, 100, 120], (512, 1))
    return {"normal": normal, "40 binades": wide, "steps": steps, "edges": edges, "zeros": zeros, "ends of FP32": np.clip(ends, -3e38, 3e38)}


def ours(x, arithmetic):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        nodes = [helper.make_node("MatMul", ["x", "w"], ["y"], "product")]
        graph = helper.make_graph(nodes, "weight", [helper.make_tensor_value_info("x", 1, [K, K])], [helper.make_tensor_value_info("y", 1, [K, len(x)])],
                                  [numpy_helper.from_array(np.ascontiguousarray(x.T), "w")])
        onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), scratch / "w.onnx")
        np.savez(scratch / "x.npz", x=np.eye(K, dtype=np.float32))
        subprocess.run([PROGRAM, "run", scratch / "w.onnx", "-i", scratch / "x.npz", "-a", arithmetic, "-o", scratch / "y.npz", "-q"], check=True)
        with np.load(scratch / "y.npz") as arrays:
            return arrays["y"].T


def modelopt_cases():
    from modelopt.torch.quantization.qtensor import MXFP4QTensor, MXFP8QTensor, NVFP4QTensor
    from modelopt.torch.quantization.tensor_quant import scaled_e4m3

    def mxfp8(x):
        q, scale = MXFP8QTensor.quantize(x)
        return q.dequantize(torch.float32, scale=scale)

    def mxfp4(x):
        q, scale = MXFP4QTensor.quantize(x, 32)
        return q.dequantize(torch.float32, scale=scale, block_sizes={-1: 32})

    def nvfp4(x):
        q, scale, second = NVFP4QTensor.quantize(x, 16)
        return q.dequantize(torch.float32, scale=scale, double_scale=second, block_sizes={-1: 16})

    yield "ModelOpt MXFP8QTensor", "weights=mxfp8,scale=up", mxfp8
    yield "ModelOpt MXFP4QTensor", "weights=mxfp4,scale=up", mxfp4
    yield "ModelOpt NVFP4QTensor", "weights=nvfp4", nvfp4
    yield "ModelOpt scaled_e4m3, of the tensor", "weights=fp8-tensor", lambda x: scaled_e4m3(x, x.abs().max(), None, 4, 3)
    yield "ModelOpt scaled_e4m3, of rows", "weights=fp8-row", lambda x: scaled_e4m3(x, x.abs().amax(1, keepdim=True), None, 4, 3)


def torchao_cases():
    from torchao.prototype.mx_formats.config import ScaleCalculationMode as Mode
    from torchao.prototype.mx_formats.mx_tensor import to_dtype, to_mx
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale

    def mx(element, mode):
        def quantise(x):
            scale, data = to_mx(x, element, 32, mode)
            return to_dtype(data, scale, element, 32, torch.float32)
        return quantise

    for element, name in ((torch.float8_e4m3fn, "mxfp8"), (torch.float8_e5m2, "mxfp8-e5m2"), (torch.float4_e2m1fn_x2, "mxfp4")):
        for mode, rule in ((Mode.FLOOR, "floor"), (Mode.RCEIL, "up"), (Mode.EVEN, "even")):
            yield f"torchao to_mx {mode.name} {name}", f"weights={name},scale={rule}", mx(element, mode)
    yield "torchao NVFP4Tensor", "weights=nvfp4", \
        lambda x: NVFP4Tensor.to_nvfp4(x, per_tensor_scale=per_tensor_amax_to_scale(x.abs().max())).dequantize(torch.float32)


# Elements that differ by more than the last bits of an FP32 scale, in family: count, and why.
TINY = "a scale of 2^-127: elements are found with 2^-126 or are 0, and scaled back by 2^-127"
EXPECTED = {
    "ModelOpt MXFP4QTensor": ({"steps": 1437, "edges": 8}, "ties go toward zero (1.75 to 1.5), not to even"),
    "ModelOpt NVFP4QTensor": ({"40 binades": 1, "ends of FP32": 11836}, "a block's scale is at least 2^-9; here one that rounds to zero is zero"),
    "ModelOpt scaled_e4m3, of rows": ({"steps": 221, "ends of FP32": 67926},
                                      "factors 448 / largest are rounded, so that ties fall otherwise; rows whose largest is at most 2^-24 have a scale of 1"),
    "torchao NVFP4Tensor": ({"40 binades": 79}, "a block's scale is at least 2^-6, E4M3's smallest normal number"),
    **{f"torchao to_mx {mode} {element}": ({"ends of FP32": count}, TINY) for mode, counts in
       (("FLOOR", (67887, 68352, 1586)), ("RCEIL", (67743, 68352, 1591)), ("EVEN", (67823, 68352, 1586)))
       for element, count in zip(("mxfp8", "mxfp8-e5m2", "mxfp4"), counts)},
}


def compare(name, words, quantise, families):
    """One line; true: as expected."""
    counts, bits = {}, 0
    for family, x in families.items():
        theirs, mine = quantise(torch.from_numpy(x.copy())).float().numpy().reshape(x.shape), ours(x, "fp32," + words)
        near = (theirs == mine) | np.isnan(theirs) & np.isnan(mine)
        bits += np.sum(~near)
        near |= np.abs(theirs.astype(float) - mine) <= 2.0**-21 * np.abs(mine)  # two roundings of the scale
        if not near.all():
            counts[family] = int(np.sum(~near))
    expected, why = EXPECTED.get(name, ({}, ""))
    total = sum(x.size for x in families.values())
    print(f"{name}; {words}; {total} numbers, {bits} with other bits, of another element {sum(counts.values())}"
          + (f" ({', '.join(f'{f}: {n}' for f, n in counts.items())}): {why}" if counts else ""))
    if counts != expected:
        print(f"  expected: {expected}")
    return counts == expected


def main():
    families = {family: x.astype(np.float32) for family, x in numbers().items()}
    right, compared = True, 0
    for library in (modelopt_cases, torchao_cases):
        try:
            cases = list(library())
        except ImportError as e:
            print(f"{library.__name__.split('_')[0]}: skipped: {e}")
            continue
        for name, words, quantise in cases:
            right &= compare(name, words, quantise, families)
            compared += 1
    return 0 if right and compared else 1 if compared else 77


if __name__ == "__main__":
    sys.exit(main())
