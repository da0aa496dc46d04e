#!/usr/bin/env python3
"""Record what ONNX Runtime's WebGPU provider returns in FP16, on a machine without a GPU.

    lab/record_webgpu.py operators OUT.npz [STEP]
    lab/record_webgpu.py networks PROGRAM MODEL=INPUTS...
    lab/record_webgpu.py convolutions

operators: single operators, as lab/compare_operators.py reads them; functions of every STEPth finite number (1: all). networks: every value of a network whose
floats are made FP16, beside `ort-webgpu:fp16` of PROGRAM: outputs within 2 dB of each other, errors of nodes within 0.8 to 1.25, equal bits. convolutions: which
ones are wrong, in FP32, by their channels. Needs onnx, onnxruntime-webgpu and a Vulkan driver named by VK_ICD_FILENAMES, a JSON file
{"file_format_version": "1.0.0", "ICD": {"library_path": "libshim.so", "api_version": "1.3.0"}}: lavapipe behind lab/vulkan_shim.c; SwiftShader has FP32 alone.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T, helper as h, numpy_helper

rng = np.random.default_rng(7)
TYPES = {np.dtype("f2"): T.FLOAT16, np.dtype("f4"): T.FLOAT, np.dtype("i8"): T.INT64}


def run(model, feed, alone=True):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    if alone:
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["WebGpuExecutionProvider"])
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))


def single(operator, inputs, opset, fixed=(), **attributes):
    graph = h.make_graph([h.make_node(operator, list(inputs), ["o0"], **attributes)], "g",
                         [h.make_tensor_value_info(n, TYPES[a.dtype], a.shape) for n, a in inputs.items() if n not in fixed],
                         [h.make_tensor_value_info("o0", TYPES[inputs["i0"].dtype], None)], [numpy_helper.from_array(inputs[n], n) for n in fixed])
    model = onnx.shape_inference.infer_shapes(h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=8))
    return run(model, {n: a for n, a in inputs.items() if n not in fixed})["o0"]


def normal(*shape, mean=0, scale=1):
    return (mean + scale * rng.standard_normal(shape)).astype("f2")


FUNCTIONS = ["Elu", "Erf", "Exp", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Reciprocal", "Sigmoid", "Softplus", "Sqrt", "Tanh"]


def cases():
    """key, operator, inputs, opset, attributes; inputs but the first are constants."""
    rows, wide = normal(16, 64, scale=3), normal(4, 1024, scale=3)
    yield "softmax", "Softmax", [rows], 17, {"axis": -1}
    yield "softmax_1024", "Softmax", [wide], 17, {"axis": -1}
    yield "logsoftmax", "LogSoftmax", [rows], 17, {"axis": -1}
    yield "layernorm", "LayerNormalization", [normal(16, 256, mean=3), normal(256), normal(256)], 17, {"axis": -1}
    yield "instancenorm", "InstanceNormalization", [normal(1, 8, 16, 16, mean=3), normal(8), normal(8)], 17, {}
    yield "batchnorm", "BatchNormalization", [normal(1, 32, 8, 8), normal(32), normal(32), normal(32), np.abs(normal(32)) + np.float16(.1)], 17, {}
    for operator in ("ReduceMean", "ReduceL2", "ReduceSumSquare"):
        yield operator.lower(), operator, [normal(16, 512, mean=1)], 13, {"axes": [-1]}
    yield "reducesum", "ReduceSum", [np.abs(normal(16, 1024)), np.array([-1])], 17, {}
    yield "averagepool", "AveragePool", [normal(1, 16, 16, 16)], 17, {"kernel_shape": [4, 4], "strides": [4, 4]}
    yield "globalaveragepool", "GlobalAveragePool", [normal(1, 16, 16, 16, mean=2)], 17, {}
    yield "globalaveragepool_small", "GlobalAveragePool", [normal(1, 16, 7, 7, mean=2)], 17, {}
    yield "matmul", "MatMul", [normal(8, 512), normal(512, 32)], 17, {}
    yield "matmul_vector", "MatMul", [normal(1, 512), normal(512, 32)], 17, {}
    yield "gemm", "Gemm", [normal(8, 256), normal(256, 32), normal(32)], 17, {}
    yield "gemm_transposed", "Gemm", [normal(8, 256), normal(32, 256), normal(32)], 17, {"transB": 1}
    for name, channels, features, kernel, more in (("conv", 32, 16, 3, {}), ("conv_1x1", 128, 16, 1, {}), ("conv_3", 3, 16, 3, {}), ("conv_1", 1, 8, 5, {}),
                                                   ("conv_stride", 12, 8, 3, {"strides": [2, 2]}), ("conv_group", 32, 16, 3, {"group": 2}),
                                                   ("conv_depthwise", 32, 32, 3, {"group": 32})):
        shape = (features, channels // more.get("group", 1), kernel, kernel)
        yield name, "Conv", [normal(1, channels, 8, 8), normal(*shape), normal(features)], 17, {"pads": [kernel // 2] * 4} | more
    yield "convtranspose", "ConvTranspose", [normal(1, 32, 8, 8), normal(32, 8, 2, 2), normal(8)], 17, {"strides": [2, 2]}
    yield "convtranspose_3", "ConvTranspose", [normal(1, 16, 6, 6), normal(16, 8, 3, 3), normal(8)], 17, {"strides": [2, 2]}


def record_operators(path, step=1):
    every = np.arange(65536, dtype=np.uint16).view("f2")
    every = every[np.isfinite(every)][::int(step)]
    out = {"every": every}

    def keep(key, operator, opset, attributes, got, inputs=()):
        out.update({f"{key}|op": np.array([operator, "", repr(attributes), str(opset)]), f"{key}|o0": got} | {f"{key}|i{i}": a for i, a in enumerate(inputs)})
    for operator in FUNCTIONS:
        keep("f_" + operator, operator, 14, {}, single(operator, {"i0": every}, 14))
    for approximate in ("none", "tanh"):
        keep("f_Gelu_" + approximate, "Gelu", 20, {"approximate": approximate}, single("Gelu", {"i0": every}, 20, approximate=approximate))
    for key, operator, inputs, opset, attributes in cases():
        named = {f"i{i}": a for i, a in enumerate(inputs)}
        keep("n_" + key, operator, opset, attributes, single(operator, named, opset, list(named)[1:], **attributes), inputs)
    np.savez_compressed(path, **out)


def to_half(model):
    """All floats FP16, but the scales of Resize."""
    graph = model.graph
    kept = {name for node in graph.node if node.op_type == "Resize" for name in node.input[1:3]}
    tensors = [item for item in graph.initializer if item.name not in kept]
    for node in graph.node:
        tensors += [a.t for a in node.attribute if a.type == onnx.AttributeProto.TENSOR and not kept & set(node.output)]
        for a in node.attribute:
            if node.op_type == "Cast" and a.name == "to" and a.i == T.FLOAT:
                a.i = T.FLOAT16
    for tensor in tensors:
        if tensor.data_type == T.FLOAT:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype("f2"), tensor.name))
    for value in [*graph.input, *graph.output, *graph.value_info]:
        if value.type.tensor_type.elem_type == T.FLOAT:
            value.type.tensor_type.elem_type = T.FLOAT16


def open_network(path, given):
    """With every value an output, all shapes those of the inputs."""
    model = onnx.load(path)
    graph = model.graph
    constants = {item.name for item in graph.initializer}
    for value in [item for item in graph.input if item.name in constants]:
        graph.input.remove(value)
    for value in graph.input:
        del value.type.tensor_type.shape.dim[:]
        for n in given[value.name].shape:
            value.type.tensor_type.shape.dim.add().dim_value = n
    own = [item.name for item in graph.output]
    graph.output.extend(onnx.ValueInfoProto(name=name) for node in graph.node for name in node.output if name and name not in own)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    values = dict(zip([o.name for o in session.get_outputs()], session.run(None, {i.name: given[i.name] for i in session.get_inputs()})))
    del graph.value_info[:], graph.output[:]
    graph.output.extend(h.make_tensor_value_info(name, h.np_dtype_to_tensor_dtype(a.dtype), a.shape) for name, a in values.items())
    return model, own


def compare(program, path, inputs):
    given = dict(np.load(inputs))
    model, own = open_network(path, given)
    to_half(model)
    real = run(model, {i.name: given[i.name].astype("f2") if given[i.name].dtype == np.float32 else given[i.name] for i in model.graph.input}, False)
    with tempfile.TemporaryDirectory() as folder:
        def ours(arithmetic):
            subprocess.run([program, "run", path, "--inputs", inputs, "--arith", arithmetic, "--all-values", "--quiet", "--outputs", folder + "/out.npz"], check=True)
            return dict(np.load(folder + "/out.npz"))
        exact, foreseen = ours("fp64"), ours("ort-webgpu:fp16")
    count = near = equal = 0
    for name, values in foreseen.items():
        if name not in real or values.dtype.kind != "f" or not values.size or real[name].size != values.size:
            continue
        a, b = real[name].reshape(values.shape).astype("f8"), values.astype("f8")
        errors = [float(np.sqrt(np.mean((x - exact[name])**2))) for x in (a, b)]
        count, equal = count + 1, equal + np.array_equal(a, b, equal_nan=True)
        near += errors[0] == errors[1] or (errors[1] > 0 and .8 <= errors[0] / errors[1] <= 1.25)
        if name in own:
            size = float(np.sqrt(np.mean(exact[name]**2)))
            decibels = [20 * np.log10(size / e) if e else np.inf for e in errors]
            print(f"{path} {name}: {decibels[0]:.1f} dB, foreseen {decibels[1]:.1f}{'' if abs(decibels[0] - decibels[1]) <= 2 or errors[0] == errors[1] else ' <<'}")
    print(f"{path}: {near} of {count} errors within 0.8 to 1.25, {equal} results have all bits")


def try_convolutions():
    for channels, features, kernel in [(c, 16, (3, 3)) for c in (1, 2, 3, 4, 5, 6, 7, 9, 12, 13, 15, 18, 21, 24, 27, 129)] + [(9, 16, (1, 5)), (9, 8, (3, 3)), (9, 15, (3, 3)), (9, 16, (1, 1)), (9, 16, (5, 5))]:
        x, w = (rng.standard_normal(s).astype("f4") for s in ((1, channels, 8, 8), (features, channels) + kernel))
        got = single("Conv", {"i0": x, "i1": w}, 17, ["i1"])
        exact = sum(np.einsum("nchw,fc->nfhw", x[:, :, i:i + got.shape[2], j:j + got.shape[3]], w[:, :, i, j]) for i in range(kernel[0]) for j in range(kernel[1]))
        print(f"{kernel[0]}x{kernel[1]}, {channels} channels, {features} features: error {np.max(np.abs(got - exact)):.1e} of {np.max(np.abs(exact)):.0f}")


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in ("operators", "networks", "convolutions"):
        sys.exit(__doc__)
    if sys.argv[1] == "operators":
        record_operators(*sys.argv[2:4])
    elif sys.argv[1] == "networks":
        for item in sys.argv[3:]:
            compare(os.path.abspath(sys.argv[2]), *item.split("=", 1))
    else:
        try_convolutions()
