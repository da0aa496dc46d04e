#!/usr/bin/env python3
"""Record what Rockchip's simulator returns of products in FP16, as lab/compare_operators.py reads them: how RKNN cuts them along k.

    lab/record_rknn.py OUT.npz

Needs onnx and rknn-toolkit2 (2.5.0, of x86-64) with numpy below 1.26.5, onnx below 1.19 and protobuf below 4.25.5; PyTorch, which it imports and these cases do
not use, may be an empty module. The target is an rk3588; networks are FP16 without quantisation.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper
from rknn.api import RKNN

rng = np.random.default_rng(5)


def normal(*shape):
    return rng.standard_normal(shape).astype("f2")


def simulate(operator, inputs, fixed, **attributes):
    graph = h.make_graph([h.make_node(operator, list(inputs), ["o0"], **attributes)], "g",
                         [h.make_tensor_value_info(n, T.FLOAT, a.shape) for n, a in inputs.items() if n not in fixed], [h.make_tensor_value_info("o0", T.FLOAT, None)],
                         [numpy_helper.from_array(inputs[n].astype("f4"), n) for n in fixed])
    model = onnx.shape_inference.infer_shapes(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8))
    rknn = RKNN(verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        onnx.save(model, os.path.join(folder, "model.onnx"))
        rknn.config(target_platform="rk3588")
        if rknn.load_onnx(model=os.path.join(folder, "model.onnx")) or rknn.build(do_quantization=False) or rknn.init_runtime():
            sys.exit(f"{operator}: the simulator refuses it")
        given = [a.astype("f4") for n, a in inputs.items() if n not in fixed]
        result = rknn.inference(inputs=given, data_format=["nchw"] * len(given))[0]
    return np.asarray(result).reshape([d.dim_value for d in model.graph.output[0].type.tensor_type.shape.dim]).astype("f2")


def cases():
    """key, operator, inputs, attributes; inputs but the first are constants, but of keys with m."""
    for k in (1536, 1552, 1568, 2048, 3104, 5120):
        yield f"n_matmul_{k}", "MatMul", [normal(1, 4, k), normal(k, 3)], {}
    yield "m_matmul_computed", "MatMul", [normal(1, 4, 2048), normal(1, 2048, 3)], {}
    yield "n_gemm", "Gemm", [normal(8, 1600), normal(16, 1600), normal(16)], {"transB": 1}
    for channels, kernel, size in ((128, 3, 6), (168, 3, 5), (176, 3, 5), (256, 3, 5), (400, 3, 4), (64, 5, 7), (16, 11, 12)):
        yield f"n_conv_{channels}_{kernel}", "Conv", [normal(1, channels, size, size), normal(2, channels, kernel, kernel)], {}
    yield "n_conv_bias", "Conv", [normal(1, 64, 7, 7), normal(16, 64, 5, 5), normal(16)], {}
    yield "n_convtranspose", "ConvTranspose", [normal(1, 256, 3, 3), normal(256, 2, 3, 3)], {"strides": [2, 2]}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    out = {}
    for name, op, arrays, attrs in cases():
        named = {f"i{i}": a for i, a in enumerate(arrays)}
        constants = [] if name[0] == "m" else list(named)[1:]
        out.update({f"{name}|{n}": a for n, a in named.items()})
        out[name + "|op"] = np.array([op, "", repr(attrs), "17"])
        out[name + "|o0"] = simulate(op, named, constants, **attrs)
    np.savez_compressed(sys.argv[1], **out)
