#!/usr/bin/env python3
"""Record what kernels of ONNX Runtime's CPU provider return in FP32, all of one small graph:

    python3 lab/record_ort_cpu.py tests/data/ort_cpu

model.onnx, inputs.npz, outputs.npz. As users run it, on one thread: convolutions of images are laid out in blocks of channels, 16 with AVX-512, else 8. QEMU plays other processors
(qemu-x86_64 -cpu Haswell, or SandyBridge, which has no fused multiply-add and other functions). Needs numpy, onnx and onnxruntime, and a processor with AVX-512 for what the test reads."""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper

random = np.random.default_rng(9)
f32 = np.float32


def values():
    """Both signs, from where functions are all but constant to where they are beyond their ends."""
    x = random.standard_normal((64, 64)) * np.exp2(random.integers(-6, 6, (64, 64)))
    return x.astype(f32)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    constants = {"axis": np.array([-1]), "scale": random.standard_normal(64), "bias": random.standard_normal(64), "mean": random.standard_normal(64), "var": random.random(64)}
    nodes, outputs = [], []

    def add(op, inputs, **attributes):
        outputs.append(op)
        nodes.append(h.make_node(op, inputs.split(), [op], **attributes))

    for op in "Sigmoid Tanh Exp Erf Gelu Softmax".split():
        add(op, "x")
    for op in "ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceSumSquare".split():
        add(op, "r axis")
    add("BatchNormalization", "x scale bias mean var", epsilon=1e-3)
    add("GlobalAveragePool", "p")
    for op in "MaxPool AveragePool".split():  # a window that is larger than the input
        add(op, "q", kernel_shape=[2, 2], strides=[2, 2])
    inputs = {"x": values(), "r": random.random((64, 312)).astype(f32), "p": random.random((2, 6, 17, 20)).astype(f32), "q": random.random((1, 2, 1, 5)).astype(f32)}
    # FP16 activations and scales, which are widened
    inputs["h"] = random.standard_normal((5, 256)).astype(np.float16)
    constants |= {"b": random.integers(0, 256, (24, 8, 16)).astype(np.uint8), "s": (.01 + .02 * random.random(192)).astype(np.float16)}
    for level in (0, 4):
        outputs.append(f"MatMulNBits_{level}")
        nodes.append(h.make_node("MatMulNBits", ["h", "b", "s"], outputs[-1:], domain="com.microsoft", K=256, N=24, bits=4, block_size=32, accuracy_level=level))
    # products: by a matrix of weights and by one that is computed, of few columns, by weights in other rows; convolutions of few channels, of many, of one position, in groups, of signals
    inputs |= {"m": random.standard_normal((5, 300)).astype(f32), "t": random.standard_normal((5, 130)).astype(f32), "n": random.standard_normal((130, 65)).astype(f32), "i": random.standard_normal((1, 40, 6, 5)).astype(f32), "l": random.standard_normal((1, 60, 9)).astype(f32)}
    weights = {"mw": (300, 5), "gw": (5, 300), "gb": (5,), "few": (3, 5, 3, 3), "many": (3, 40, 3, 3), "wide": (3, 320, 1, 1), "points": (3, 5, 1, 1), "halves": (4, 20, 3, 3), "line": (3, 60, 3)}
    constants |= {name: random.standard_normal(shape) for name, shape in weights.items()} | {"five": np.array([5]), "zero": np.array([0]), "one": np.array([1])}
    for name, op, operands, attributes in [
            ("MatMul", "MatMul", "m mw", {}), ("MatMul_computed", "MatMul", "t n", {}), ("Gemm", "Gemm", "m gw gb", {"transB": 1, "beta": 0.0}),
            ("Conv_few", "Conv", "five_channels few", {"pads": [1] * 4}), ("Conv_many", "Conv", "i many", {"pads": [1] * 4}), ("Conv_point", "Conv", "wider wide", {}),
            ("Conv_points", "Conv", "five_channels points", {}), ("Conv_groups", "Conv", "i halves", {"group": 2, "pads": [1] * 4}), ("Conv_line", "Conv", "l line", {"pads": [1, 1]})]:
        outputs.append(name)
        nodes.append(h.make_node(op, operands.split(), [name], **attributes))
    nodes[:0] = [h.make_node("Slice", ["i", "zero", "five", "one"], ["five_channels"]), h.make_node("Concat", ["i"] * 8, ["wider"], axis=1)]
    # rows of lengths that are no whole vectors, of which not all begin where vectors do; a kernel's, and short ones
    for length in (5, 15, 77, 128):
        far, skip, scale, shift = (name + str(length) for name in ("far", "skip", "g", "o"))
        inputs |= {far: (30 + random.standard_normal((1, 16, length))).astype(f32), skip: random.standard_normal((1, 16, length)).astype(f32)}
        constants |= {scale: random.standard_normal(length), shift: random.standard_normal(length)}
        for op, operands, attributes in [("LayerNormalization", f"{far} {scale} {shift}", {}), ("SimplifiedLayerNormalization", f"{far} {scale}", {}),
                                         ("SkipLayerNormalization", f"{far} {skip} {scale} {shift}", {"domain": "com.microsoft"}),
                                         ("SkipSimplifiedLayerNormalization", f"{far} {skip} {scale}", {"domain": "com.microsoft"}),
                                         ("ReduceSum", f"{far} axis", {}), ("Softmax", skip, {}), ("LogSoftmax", skip, {})]:
            outputs.append(op + str(length))
            nodes.append(h.make_node(op, operands.split(), [outputs[-1]], **attributes))
    # images in blocks of channels, and not; sums onto a bias and onto an image
    inputs |= {"blocks": random.standard_normal((1, 32, 5, 7)).astype(f32), "odd": random.standard_normal((1, 5, 3, 3)).astype(f32)}
    constants |= {"long": random.standard_normal((6, 600)), "lb": random.standard_normal(6)}
    inputs["k"] = random.standard_normal((3, 600)).astype(f32)
    for name, op, operands, attributes in [
            ("GlobalAveragePool_blocks", "GlobalAveragePool", "blocks", {}), ("GlobalAveragePool_odd", "GlobalAveragePool", "odd", {}), ("Gemm_onto", "Gemm", "k long lb", {"transB": 1, "beta": .5})]:
        outputs.append(name)
        nodes.append(h.make_node(op, operands.split(), [name], **attributes))
    # attention in FP16: ai.onnx's, and com.microsoft's
    half = [random.standard_normal(shape).astype(np.float16) for shape in [(1, 2, 6, 32)] + [(1, 2, 20, 32)] * 2 + [(1, 6, 64)] * 3 + [(1, 2, 0, 32)] * 2]
    inputs |= dict(zip("aq ak av gq gk gv pk pv".split(), half))
    constants |= {"last": np.array([5], np.int32), "total": np.array(6, np.int32)}
    add("Attention", "aq ak av")
    outputs.append("GroupQueryAttention")
    nodes.append(h.make_node(outputs[-1], "gq gk gv pk pv last total".split(), [outputs[-1], "past", "values"], domain="com.microsoft", num_heads=2, kv_num_heads=2))
    # what the optimiser makes one operator of: Conv with BatchNormalization, a product with a bias, Gelu written out, and LayerNormalization behind a sum
    inputs["image"] = random.standard_normal((1, 16, 5, 6)).astype(f32)
    constants |= {"fw": random.standard_normal((16, 16, 3, 3)), "half": np.array(.5), "root": np.array(2 ** .5), "unit": np.array(1.0)}
    constants |= {"f" + name: .5 + random.random(16) for name in ("scale", "shift", "mean", "var")} | {"deep": random.standard_normal((600, 6))}
    for op, operands, result in [
            ("Conv", "image fw", "folded"), ("BatchNormalization", "folded fscale fshift fmean fvar", "Joined_conv"), ("MatMul", "k deep", "product"), ("Add", "product lb", "Joined_product"),
            ("Div", "x root", "g1"), ("Erf", "g1", "g2"), ("Add", "g2 unit", "g3"), ("Mul", "x g3", "g4"), ("Mul", "g4 half", "Joined_gelu"),
            ("Add", "far128 skip128", "sum"), ("LayerNormalization", "sum g128 o128", "Joined_skip")]:
        nodes.append(h.make_node(op, operands.split(), [result], **({"epsilon": 1e-5} if op == "LayerNormalization" else {})))
        outputs += [result] if result.startswith("Joined") else []
    inputs["steps"] = random.standard_normal((4, 1, 300)).astype(f32)
    constants |= {"cw": .1 * random.standard_normal((1, 24, 300)), "cr": random.standard_normal((1, 24, 6)), "cb": random.standard_normal((1, 48))}
    add("LSTM", "steps cw cr cb", hidden_size=6)
    # what it leaves as it is, though it looks alike: an axis that is not the last, squares as a product; a sum before LayerNormalization written out becomes one, too
    inputs |= {"beside": random.standard_normal((1, 6, 16)).astype(f32), "rows": random.standard_normal((1, 6, 16)).astype(f32)}
    constants |= {"rg": random.standard_normal((6, 16)), "ro": random.standard_normal((6, 16)), "two": np.array(2.0), "tiny": np.array(1e-5)}
    nodes += [h.make_node("Add", ["rows", "beside"], ["rowsum"]), h.make_node("LayerNormalization", ["rowsum", "rg", "ro"], ["Joined_axis"], axis=1)]
    outputs.append("Joined_axis")
    for name, squares, source in ("Joined_written", "Pow", ["beside", "rows"]), ("Joined_squares", "Mul", ["rows", "rows"]):
        s, m, d, q, v, e, r, n, g = (name[7:] + c for c in "smdqverng")
        for op, operands, result in [("Add", source, s), ("ReduceMean", [s, "axis"], m), ("Sub", [s, m], d), (squares, [d, "two" if squares == "Pow" else d], q), ("ReduceMean", [q, "axis"], v),
                                     ("Add", [v, "tiny"], e), ("Sqrt", [e], r), ("Div", [d, r], n), ("Mul", [n, "fscale"], g), ("Add", [g, "fshift"], name)]:
            nodes.append(h.make_node(op, operands, [result]))
        outputs.append(name)
    types = {name: T.FLOAT16 if name.startswith(("MatMulNBits", "Attention", "Group")) else T.FLOAT for name in outputs}
    graph = h.make_graph(nodes, "kernels", [h.make_tensor_value_info(n, T.FLOAT16 if a.dtype == np.float16 else T.FLOAT, a.shape) for n, a in inputs.items()], [h.make_tensor_value_info(n, t, None) for n, t in types.items()],
                         [numpy_helper.from_array(a.astype(f32) if a.dtype == np.float64 else a, n) for n, a in constants.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 23), h.make_opsetid("com.microsoft", 1)], ir_version=10)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    np.savez_compressed(folder / "inputs.npz", **inputs)
    np.savez_compressed(folder / "outputs.npz", **dict(zip(outputs, session.run(None, inputs))))


if __name__ == "__main__":
    main()
