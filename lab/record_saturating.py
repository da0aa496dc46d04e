#!/usr/bin/env python3
"""Record what ONNX Runtime's integer operators return on a processor without VNNI, an archive an operator, each with folders in the layout of ONNX's test cases:

    qemu-x86_64 -cpu Haswell python3 lab/record_saturating.py tests/data/saturating

ONNX Runtime asks the processor by cpuid, so QEMU (7.2 or later has AVX2) runs the kernels of any; so does a machine of that kind. The first case ends it where sums are exact.
Needs numpy, onnx and onnxruntime. Inputs come from a fixed seed; graph optimisation is on, as users have it, so that Q/DQ graphs become integer kernels.
`--exact` sets session.x64quantprecision=1 and says which cases are exact by it."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper
from case_archive import pack

rng = np.random.default_rng(5)
TYPE = h.np_dtype_to_tensor_dtype
f32 = np.float32


def any_of(kind, *shape):
    return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape).astype(kind)


def node(op, inputs, domain="", **attributes):
    return h.make_node(op, inputs.split(), ["y"], domain=domain, **attributes)


def case(op, variant, nodes, inputs, constants, type=T.UINT8):
    """inputs, constants: arrays by name; the output is y."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    graph = h.make_graph(nodes, op, [h.make_tensor_value_info(n, TYPE(a.dtype), a.shape) for n, a in inputs.items()],
                         [h.make_tensor_value_info("y", type, None)], [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    opsets = [h.make_opsetid("", 17), h.make_opsetid("com.microsoft", 1)]
    return op, f"{op.lower()}_{variant}", onnx.shape_inference.infer_shapes(h.make_model(graph, opset_imports=opsets, ir_version=8)), inputs


def matrix_cases():
    scales = {"s": f32(.01), "t": f32(.2), "zy": np.uint8(120), "za": np.uint8(77)}
    for k in (64, 65):
        a, b = any_of(np.uint8, 7, k), any_of(np.int8, k, 19)
        weights = scales | {"b": b, "zb": np.int8(0)}
        for variant, zero in ((k, np.int8(3)), (f"columns_{k}", any_of(np.int8, 19))):
            yield case("MatMulInteger", variant, node("MatMulInteger", "a b za zb"), {"a": a}, {"b": b, "za": np.uint8(77), "zb": zero}, T.INT32)
        yield case("QLinearMatMul", k, node("QLinearMatMul", "a s za b s zb t zy"), {"a": a}, weights)
        yield case("QGemm", k, node("QGemm", "a s za b s zb c t zy", "com.microsoft", transB=1), {"a": a},
                   weights | {"b": np.ascontiguousarray(b.T), "c": rng.integers(-9999, 9999, 19).astype(np.int32)})
        yield case("MatMulIntegerToFloat", k, node("MatMulIntegerToFloat", "a b s t za zb", "com.microsoft"), {"a": a}, weights, T.FLOAT)
        yield case("DynamicQuantizeMatMul", k, node("DynamicQuantizeMatMul", "x b s zb", "com.microsoft"), {"x": rng.standard_normal((7, k)).astype(f32)}, weights, T.FLOAT)
    a, b = any_of(np.uint8, 3, 5, 32), any_of(np.int8, 3, 32, 9)
    yield case("MatMulInteger", "batch", node("MatMulInteger", "a b za"), {"a": a, "b": b}, {"za": np.uint8(5)}, T.INT32)
    yield case("MatMulInteger", "rows", node("MatMulInteger", "a b za"), {"a": a, "b": b[0]}, {"za": np.uint8(5)}, T.INT32)
    for first, second in ((np.uint8, np.uint8), (np.int8, np.uint8), (np.int8, np.int8)):  # these are exact
        yield case("MatMulInteger", f"{first.__name__}_{second.__name__}", node("MatMulInteger", "a b"),
                   {"a": any_of(first, 7, 64), "b": any_of(second, 64, 9)}, {}, T.INT32)


def conv_cases():
    def conv(variant, x, w, y_scale, **attributes):
        count = w.shape[0]
        constants = {"w": w, "s": f32(.01), "zx": x.dtype.type(93), "sw": (.01 * (1 + rng.random(count))).astype(f32), "zw": np.zeros(count, w.dtype),
                     "t": f32(y_scale), "zy": x.dtype.type(20), "bias": rng.integers(-9999, 9999, count).astype(np.int32)}
        return case("QLinearConv", variant, node("QLinearConv", "x s zx w sw zw t zy bias", **attributes), {"x": x}, constants, TYPE(x.dtype))

    for variant, channels, out, group, kernel, pad, stride in (
            ("packed", 32, 32, 1, 3, 1, 1), ("odd", 3, 16, 1, 3, 1, 2), ("five", 5, 7, 1, 3, 1, 1), ("depthwise", 16, 16, 16, 3, 1, 1), ("depthwise_7", 7, 7, 7, 3, 1, 1),
            ("twice", 8, 16, 8, 3, 1, 1), ("groups", 12, 6, 3, 3, 0, 1), ("point", 32, 64, 1, 1, 0, 1), ("point_33", 33, 8, 1, 1, 0, 1), ("single", 1, 1, 1, 5, 2, 1),
            ("single_8", 1, 8, 1, 5, 2, 1)):
        yield conv(variant, any_of(np.uint8, 2, channels, 9, 9), any_of(np.int8, out, channels // group, kernel, kernel), .021 * (channels / group) ** .5,
                   pads=[pad] * 4, strides=[stride] * 2, group=group)
    yield conv("3d", any_of(np.uint8, 1, 6, 5, 6, 7), any_of(np.int8, 8, 6, 3, 3, 3), .1, pads=[1] * 6)
    yield conv("1d", any_of(np.uint8, 1, 6, 50), any_of(np.int8, 8, 6, 5), .1, pads=[4, 4], dilations=[2])
    yield conv("signed", any_of(np.int8, 1, 6, 9, 9), any_of(np.int8, 8, 6, 3, 3), .1)
    yield case("ConvInteger", "signed", node("ConvInteger", "x w zx", pads=[1] * 4), {"x": any_of(np.uint8, 1, 6, 9, 9)},
               {"w": any_of(np.int8, 8, 6, 3, 3), "zx": np.uint8(7)}, T.INT32)


def qdq_cases():
    """Activations of either type; the signed ones become unsigned."""
    for kind in (np.uint8, np.int8):
        for op, shape, weights in (("MatMul", (7, 64), (64, 19)), ("Gemm", (7, 64), (64, 19)), ("Conv", (2, 6, 9, 9), (8, 6, 3, 3))):
            nodes = [h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), h.make_node("DequantizeLinear", ["q", "s", "z"], ["f"]),
                     h.make_node("DequantizeLinear", ["w", "sw", "zw"], ["g"]), h.make_node(op, ["f", "g"], ["p"], **({"pads": [1] * 4} if op == "Conv" else {})),
                     h.make_node("QuantizeLinear", ["p", "t", "zy"], ["r"]), node("DequantizeLinear", "r t zy")]
            yield case(f"QDQ{op}", kind.__name__, nodes, {"x": (rng.integers(-128, 128, shape) * .02).astype(f32)},
                       {"w": any_of(np.int8, *weights), "s": f32(.02), "z": kind(121 if kind == np.uint8 else 3), "sw": f32(.01), "zw": np.int8(0), "t": f32(.9),
                        "zy": kind(4)}, T.FLOAT)


def network_cases():
    """A cell of one row, whose state is quantised as here, and attention."""
    hidden, inputs = 8, 12
    x = rng.standard_normal((5, 1, inputs)).astype(f32)
    yield case("DynamicQuantizeLSTM", "row", h.make_node("DynamicQuantizeLSTM", ["x", "w", "r", *[""] * 5, "s", "z", "s", "z"], ["y"], domain="com.microsoft", hidden_size=hidden),
               {"x": x}, {"w": any_of(np.int8, 1, inputs, 4 * hidden), "r": any_of(np.int8, 1, hidden, 4 * hidden), "s": np.full(1, .01, f32), "z": np.zeros(1, np.int8)}, T.FLOAT)
    yield case("QAttention", "heads", h.make_node("QAttention", ["a", "w", "b", "s", "s", "", "za", "zb"], ["y"], domain="com.microsoft", num_heads=2),
               {"a": any_of(np.uint8, 2, 6, 16)}, {"w": any_of(np.int8, 16, 48), "b": rng.standard_normal(48).astype(f32), "s": f32(.01), "za": np.uint8(77), "zb": np.int8(0)}, T.FLOAT)


def bits_cases():
    """accuracy_level 4 quantises activations in blocks, where B is a constant, has no g_idx and zero points of bits; else they stay floats."""
    def bits(variant, count=4, block=32, k=96, zeros=None, groups=False, level=4, constant=True):
        n, blocks = 24, -(-k // block)
        b, scales = any_of(np.uint8, n, blocks, block * count // 8), (.01 + .02 * rng.random(n * blocks)).astype(f32)
        names, inputs, constants = ["a", "b", "s", "z" if zeros is not None else ""], {"a": rng.standard_normal((5, k)).astype(f32)}, {"s": scales}
        (constants if constant else inputs)["b"] = b
        if zeros is not None:
            constants["z"] = rng.integers(0, 16, (n, blocks)).astype(f32) if zeros == "floats" else any_of(np.uint8, n * ((blocks * count + 7) // 8))
        if groups:
            names.append("g")
            constants["g"] = (np.arange(k) // block).astype(np.int32)
        return case("MatMulNBits", variant, h.make_node("MatMulNBits", names, ["y"], domain="com.microsoft", K=k, N=n, bits=count, block_size=block, accuracy_level=level),
                    inputs, constants, T.FLOAT)

    for count in (2, 4, 8):
        yield bits(f"{count}", count)
    yield bits("blocks_of_16", block=16)
    yield bits("one_block", block=128)
    yield bits("rest", k=100)
    yield bits("zeros", zeros="bits")
    yield bits("zeros_floats", zeros="floats")
    yield bits("groups", groups=True)
    yield bits("computed", constant=False)
    yield bits("level_0", level=0)


def run(model, inputs, exact):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    if exact:
        options.add_session_config_entry("session.x64quantprecision", "1")
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, inputs)[0]


def saturates():
    a, b = np.full((1, 2), 255, np.uint8), np.full((2, 1), 127, np.int8)
    return run(case("MatMulInteger", "", node("MatMulInteger", "a b"), {"a": a, "b": b}, {}, T.INT32)[2], {"a": a, "b": b}, False)[0, 0] == 32767


def main():
    arguments = [a for a in sys.argv[1:] if a != "--exact"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    if not saturates():
        sys.exit("this processor has VNNI: its sums are exact")
    archives = {}
    for make in (matrix_cases, conv_cases, qdq_cases, network_cases, bits_cases):
        for op, name, model, inputs in make():
            out = run(model, inputs, False)
            members = archives.setdefault(op.lower(), {})
            members[f"{name}/model.onnx"] = model.SerializeToString()
            for i, array in enumerate(inputs.values()):
                members[f"{name}/test_data_set_0/input_{i}.pb"] = numpy_helper.from_array(array).SerializeToString()
            members[f"{name}/test_data_set_0/output_0.pb"] = numpy_helper.from_array(out).SerializeToString()
            if "--exact" in sys.argv:
                print(name, "changed" if (run(model, inputs, True) != out).any() else "the same")
    folder = pathlib.Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for op, members in archives.items():
        pack(folder / f"{op}.zip", members)


if __name__ == "__main__":
    main()
