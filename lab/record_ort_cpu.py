#!/usr/bin/env python3
"""Record what kernels of ONNX Runtime's CPU provider return in FP32, all of one small graph:

    python3 lab/record_ort_cpu.py tests/data/ort_cpu

model.onnx, inputs.npz, outputs.npz. The graph is not optimised, on one thread. QEMU plays other processors (qemu-x86_64 -cpu Haswell, or SandyBridge, which has no fused
multiply-add and other functions). Needs numpy, onnx and onnxruntime."""
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

    for op in "Sigmoid Tanh Exp".split():
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
    types = {name: T.FLOAT16 if name.startswith("MatMulNBits") else T.FLOAT for name in outputs}
    graph = h.make_graph(nodes, "kernels", [h.make_tensor_value_info(n, T.FLOAT16 if n == "h" else T.FLOAT, a.shape) for n, a in inputs.items()], [h.make_tensor_value_info(n, t, None) for n, t in types.items()],
                         [numpy_helper.from_array(a.astype(f32) if a.dtype == np.float64 else a, n) for n, a in constants.items()])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 18), h.make_opsetid("com.microsoft", 1)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    np.savez_compressed(folder / "inputs.npz", **inputs)
    np.savez_compressed(folder / "outputs.npz", **dict(zip(outputs, session.run(None, inputs))))


if __name__ == "__main__":
    main()
