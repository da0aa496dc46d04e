#!/usr/bin/env python3
"""Compute what TensorRT's quantisation operators (domain trt) give, as an archive in the layout of ONNX's test cases:

    lab/record_tensorrt_ops.py tests/data/tensorrt/cases.zip tests/data/tensorrt/refused.zip

The second archive gets models of one node that are refused, and in NAME.txt what is said.

Needs numpy, ml_dtypes and onnx. TensorRT has no kernels for a CPU: elements are rounded by ml_dtypes, scales are found in exact fractions,
from the definitions in TensorRT's documentation (quantised types) and ModelOpt's rule for scales of MXFP8 (rounded up)."""
import fractions
import pathlib
import sys

import ml_dtypes
import numpy as np
from onnx import helper, numpy_helper

from case_archive import add_case, pack

FP8, FP4, INT4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn, ml_dtypes.int4
rng = np.random.default_rng(35)
# every finite number of E4M3, without sign
STEPS = [fractions.Fraction(float(x)) for x in np.arange(127, dtype=np.uint8).view(FP8).astype(float)]
spread = np.repeat  # of scales over the elements of their blocks


def f32(*shape, exponents=(-3, 3)):
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(*exponents, shape)).astype(np.float32)


def to_fp8(x):
    return np.clip(x, -448, 448).astype(FP8)


def nearest_step(x):
    """The code of the number of E4M3 next to a fraction, the even one of two, 448 where it is more."""
    return min(range(127), key=lambda code: (abs(STEPS[code] - x), code % 2))


def blocks_of(x, size):
    return x.reshape(*x.shape[:-1], -1, size)


def dynamic_mxfp8(x, size=32):
    codes = []
    for block in blocks_of(x, size).reshape(-1, size):
        if not np.isfinite(block).all():
            codes.append(255)
            continue
        largest = fractions.Fraction(float(np.abs(block).max()))
        codes.append(next(p for p in range(255) if p == 254 or largest <= 448 * fractions.Fraction(2) ** (p - 127)))
    codes = np.array(codes, np.uint8).reshape(*x.shape[:-1], -1)
    return [to_fp8(x / spread(numbers_of(codes), size, axis=-1)), codes]


def numbers_of(codes):
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(int) - 127))


def dynamic_fp4(x, scale, size=16):
    codes = []
    for block in blocks_of(x, size).reshape(-1, size):
        largest = np.abs(block).max() / np.float32(6) / scale
        codes.append(nearest_step(fractions.Fraction(float(largest))) if np.isfinite(block).all() else 127)
    codes = np.array(codes, np.uint8).reshape(*x.shape[:-1], -1).view(FP8)
    each = spread(codes.astype(np.float32) * scale, size, axis=-1)
    return [np.clip(np.divide(x, each, out=np.zeros_like(x), where=each != 0), -6, 6).astype(FP4), codes]


def cases():
    one = np.float32(0.07)
    x = f32(5, 6, exponents=(-12, 12))
    x[0, :4] = 448 * one, 464 * one, 1e6, -np.float32(2) ** -10 * one
    yield "TRT_FP8QuantizeLinear", "", [x, one], {}, [to_fp8(x / one)]
    each = np.abs(f32(6)) + np.float32(0.01)
    yield "TRT_FP8QuantizeLinear", "axis", [x, each], dict(axis=-1), [to_fp8(x / each)]
    codes = np.delete(np.arange(256, dtype=np.uint8), [127, 255]).view(FP8)  # without NaN
    numbers = codes.astype(np.float32)
    yield "TRT_FP8DequantizeLinear", "", [codes, one], {}, [numbers * one]
    rows = np.abs(f32(2)) + np.float32(0.01)
    yield "TRT_FP8DequantizeLinear", "axis", [codes.reshape(2, 127), rows], dict(axis=0), [numbers.reshape(2, 127) * rows[:, None]]

    nibbles = rng.integers(-8, 8, (6, 8)).astype(np.int8)
    for axis, shape in ((0, (2, 8)), (-1, (6, 2))):
        scales = np.abs(f32(*shape))
        size = 3 if axis == 0 else 4
        yield "TRT_INT4DequantizeLinear", f"blocks{axis % 2}", [nibbles.astype(INT4), scales], dict(axis=axis, block_size=size), \
            [nibbles * spread(scales, size, axis=axis)]
    yield "TRT_INT4DequantizeLinear", "axis", [nibbles.astype(INT4), each], dict(axis=0), [nibbles * each[:, None]]
    scales = np.abs(f32(5, 2)) + np.float32(0.01)
    yield "TRT_INT4QuantizeLinear", "blocks", [x, scales], dict(axis=1, block_size=3), \
        [np.clip(np.rint(x / spread(scales, 3, axis=1)), -8, 7).astype(np.int8).astype(INT4)]

    wide = f32(12, 64, exponents=(-60, 60))
    # the largest of a block: at the edge of two scales, one number above it, zero, the smallest, the largest, not finite
    for row, edge in enumerate((448.0, 3.5, 2.0 ** -20 * 448)):
        wide[row, :32] = np.linspace(-edge, edge, 32)
        wide[row, 32:] = np.linspace(-edge, np.nextafter(np.float32(edge), np.float32(np.inf)), 32)
    wide[3, :32], wide[3, 32:] = 0, np.linspace(-2.0 ** -140, 2.0 ** -140, 32)
    wide[4, :32], wide[4, 32:] = np.linspace(-3.4e38, np.finfo(np.float32).max, 32), np.float32(2.0 ** -149)
    wide[5, 3], wide[6, 40] = np.nan, -np.inf
    yield "TRT_MXFP8DynamicQuantize", "", [wide], {}, dynamic_mxfp8(wide)
    cube = f32(2, 3, 32)
    yield "TRT_MXFP8DynamicQuantize", "blocks16", [cube], dict(axis=2, block_size=16, output_dtype=17), dynamic_mxfp8(cube, 16)
    small = np.concatenate([codes, codes[:2]]).reshape(4, 64)
    exponents = np.array([[127, 100], [150, 1], [0, 126], [128, 255]], np.uint8)
    result = small.astype(float) * spread(numbers_of(exponents), 32, axis=1)
    yield "TRT_MXFP8DequantizeLinear", "", [small, exponents], dict(axis=-1, block_size=32, output_dtype=1), [result.astype(np.float32)]
    exponents = np.array([[127] * 64, [130] * 64], np.uint8)
    result = small.astype(float) * spread(numbers_of(exponents), 2, axis=0)
    yield "TRT_MXFP8DequantizeLinear", "half", [small, exponents], dict(axis=0, block_size=2, output_dtype=10), [result.astype(np.float16)]

    scale = np.float32(2) ** -9
    x = f32(8, 64, exponents=(-4, 4))
    x[0, :16], x[0, 16:32] = 0, scale * np.float32(2) ** -9   # a scale that rounds to zero
    x[1, :16] = np.linspace(-9000, 9000, 16) * scale          # one beyond 448
    for block in range(4):                                    # between two scales: to the even one
        x[2, 16 * block:][:16] = np.linspace(-6, 6, 16) * scale * (17 + 2 * block) / 16
    x[3, 5], x[4, 20] = np.nan, np.inf
    finite = x[[0, 1, 2, 5, 6, 7]]
    yield "TRT_FP4DynamicQuantize", "", [finite, scale], {}, dynamic_fp4(finite, scale)
    yield "TRT_FP4DynamicQuantize", "scales", [x, np.float32(0.0123)], dict(axis=-1, block_size=16, scale_type=17, outputs=",sx"), \
        dynamic_fp4(x, np.float32(0.0123))[1:]
    four = f32(3, 32).astype(FP4)
    scales = np.abs(f32(3, 2))
    yield "DequantizeLinear", "trt", [four, scales], dict(axis=-1, block_size=16), [four.astype(np.float32) * spread(scales, 16, axis=1)]
    # as ModelOpt writes FP8: the zero point, which names the type, has one element
    yield "QuantizeLinear", "trt", [finite, scale, np.zeros(1, FP8)], dict(saturate=1), [to_fp8(finite / scale)]


def refused():
    """Nodes that are refused, with what is said about each."""
    x, one, codes = f32(2, 32), np.float32(1), np.zeros((2, 1), np.uint8)
    yield "TRT_FP4DynamicQuantize", [x, one], dict(block_size=24), "blocks of 24 along axis 1 of 2: they must fill the last axis"
    yield "TRT_FP4DynamicQuantize", [x, one], dict(axis=0), "blocks of 16 along axis 0 of 2: they must fill the last axis"
    yield "TRT_FP4DynamicQuantize", [x, one], dict(scale_type=19), "scale_type is 19; only 17 (FLOAT8E4M3FN) is supported"
    yield "TRT_FP4DynamicQuantize", [x, f32(2)], {}, "scale has 2 elements; the tensor has one"
    yield "TRT_MXFP8DynamicQuantize", [x], dict(block_size=0), "blocks of 0 along axis 1 of 2: they must fill the last axis"
    yield "TRT_MXFP8DynamicQuantize", [x], dict(axis=2), "axis 2"
    yield "TRT_MXFP8DynamicQuantize", [one], {}, "x is a scalar"
    yield "TRT_MXFP8DynamicQuantize", [codes], {}, "x has type UINT8"
    yield "TRT_MXFP8DequantizeLinear", [x, codes], {}, "x has type FLOAT; only FLOAT8E4M3FN is supported"
    yield "TRT_MXFP8DequantizeLinear", [to_fp8(x), codes.astype(np.int32)], {}, "x_scale has type INT32; only UINT8 is supported"
    yield "TRT_MXFP8DequantizeLinear", [to_fp8(x), codes], dict(output_dtype=3), "output_dtype is INT8; it must be a type of floats"
    yield "TRT_MXFP8DequantizeLinear", [to_fp8(x), codes], dict(block_size=16), "does not fit axis 1"
    yield "TRT_INT4DequantizeLinear", [x, one], {}, "x has type FLOAT; only INT4 is supported"
    yield "TRT_INT4DequantizeLinear", [codes.astype(INT4), one], dict(block_size=-1), "block_size is -1"
    yield "TRT_FP8QuantizeLinear", [x, one, np.uint8(0)], {}, "y_zero_point has type UINT8; only FLOAT8E4M3FN is supported"
    yield "QuantizeLinear", [x, one, np.uint8(0)], dict(domain="", output_dtype=3), "output_dtype is INT8, but y_zero_point has type UINT8"


def model_of(graph):
    return helper.make_model(graph, ir_version=11, producer_name="",
                             opset_imports=[helper.make_opsetid("", 23), helper.make_opsetid("trt", 1)])


def refuse(members, name, op, arrays, attributes, said):
    names = [f"x{i}" for i in range(len(arrays))]
    outputs = ["y", "y_scale"] if "Dynamic" in op else ["y"]
    domain = attributes.pop("domain", "trt")
    constants = [numpy_helper.from_array(np.array(a, order="C"), n) for n, a in zip(names, arrays)]
    graph = helper.make_graph([helper.make_node(op, names, outputs, op, domain=domain, **attributes)], op, [],
                              [helper.make_empty_tensor_value_info("y")], constants)
    members[f"{name}.onnx"] = model_of(graph).SerializeToString()
    members[f"{name}.txt"] = said + "\n"


def record(members, op, variant, arrays, attributes, results):
    outputs = attributes.pop("outputs", "y,y_scale" if len(results) == 2 else "y").split(",")
    names = [f"x{i}" for i in range(len(arrays))]

    def values(names, arrays):
        return [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in zip(names, arrays)]
    arrays, wanted = [np.asarray(a) for a in arrays], [o for o in outputs if o]
    node = helper.make_node(op, names, outputs, op, domain="trt", **attributes)
    model = model_of(helper.make_graph([node], op, values(names, arrays), values(wanted, results)))
    arrays, results = ([np.array(array, order="C") for array in given] for given in (arrays, results))
    add_case(members, "test_" + "_".join(filter(None, [op.lower(), variant])), model, zip(names, arrays), zip(wanted, results))


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        passed, left = {}, {}
        for case in cases():
            record(passed, *case)
        for number, (op, arrays, attributes, said) in enumerate(refused()):
            refuse(left, f"{op.lower()}_{number}", op, arrays, attributes, said)
        pack(pathlib.Path(sys.argv[1]), passed)
        pack(pathlib.Path(sys.argv[2]), left)
