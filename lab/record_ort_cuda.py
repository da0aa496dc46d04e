#!/usr/bin/env python3
"""Networks and single operators in ONNX Runtime's CUDA provider.

    lab/record_ort_cuda.py FOLDER [--data DATA] [--parts networks,operators] [--provider cpu]

Needs onnxruntime-gpu, onnx, and a GPU; --provider cpu tries the script without one. FOLDER gets
  networks.json.gz      by network of DATA/models and DATA/pretrained: errors of every float tensor against the CPU provider in FP32, for VARIANT = f32 (use_tf32=0), tf32 (the default), f16
                        (onnxruntime.transformers.float16): VARIANT.off without the optimiser, VARIANT.all the outputs by default, VARIANT.inner the tensors of the graph that the optimiser saved,
                        VARIANT.graph its nodes [operator, domain, name, inputs, outputs, attributes]; *.error where it was refused
  operators.npz         as DATA/ort_cuda/operators.npz, `bf16.KEY|o0` (bits) and `tf32.KEY|o0`; operators.json: what was refused, and which
                        results of DATA/ort_cuda/operators.npz are the same bits here
"""
import argparse
import ast
import concurrent.futures
import gzip
import json
import pathlib
import subprocess
import sys
import time
import traceback

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

OFF, ALL = ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL
VARIANTS = {"f32": 0, "tf32": 1, "f16": 1}
PROVIDER = ["CUDAExecutionProvider"]
RANDOM = np.random.default_rng(55)


def open_session(model, level, tf32=1, saved=None, provider=None):
    options = ort.SessionOptions()
    options.log_severity_level, options.graph_optimization_level = 4, level
    if saved:
        options.optimized_model_filepath = saved
    provider = provider or PROVIDER[0]
    settings = {"use_tf32": str(tf32), "cudnn_conv_algo_search": "EXHAUSTIVE"} if provider.startswith("CUDA") else {}
    providers = [(provider, settings)] + ([] if provider.startswith("CPU") else ["CPUExecutionProvider"])
    return ort.InferenceSession(model if isinstance(model, (bytes, str)) else model.SerializeToString(), options, providers=providers)


def run(session, given):
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {value.name: given[value.name] for value in session.get_inputs()})))


def with_all_tensors(model):
    every = onnx.ModelProto()
    every.CopyFrom(model)
    have = {value.name for value in every.graph.output}
    for node in every.graph.node:
        for name in node.output:
            if name and name not in have:
                have.add(name)
                every.graph.output.add().name = name
    return every


def measure(values, reference):
    """By tensor: rms and largest error over finite elements, rms of the reference, elements that are not finite, elements."""
    figures = {}
    for name, value in values.items():
        other = reference.get(name)
        if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or other is None or other.shape != value.shape or not value.size:
            continue
        value, other = value.astype(np.float64), other.astype(np.float64)
        finite = np.isfinite(value) & np.isfinite(other)
        error = (value - other)[finite]
        figures[name] = {"rms": float(np.sqrt(np.mean(error**2))) if error.size else None, "max": float(np.abs(error).max()) if error.size else None,
                         "ref": float(np.sqrt(np.mean(other[finite]**2))) if error.size else None, "nonfinite": int((~finite & np.isfinite(other)).sum()), "n": int(value.size)}  # fmt: skip
    return figures


def describe(model):
    def plain(attribute):
        if attribute.type in (onnx.AttributeProto.TENSOR, onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS, onnx.AttributeProto.SPARSE_TENSOR):
            return f"({attribute.name})"
        value = helper.get_attribute_value(attribute)
        value = value.decode(errors="replace") if isinstance(value, bytes) else list(value) if not isinstance(value, (int, float, str)) else value
        return [item.decode() if isinstance(item, bytes) else item for item in value] if isinstance(value, list) else value
    return [[node.op_type, node.domain, node.name, list(node.input), list(node.output), {a.name: plain(a) for a in node.attribute}] for node in model.graph.node]


def without_copies(model):
    """The saved graph without the copies between host and device, which a new session makes for itself."""
    renamed = {}
    for node in list(model.graph.node):
        if node.op_type.startswith("Memcpy"):
            renamed[node.output[0]] = node.input[0]
            model.graph.node.remove(node)

    def source(name):
        while name in renamed:
            name = renamed[name]
        return name
    results = {output.name for output in model.graph.output} & set(renamed)
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = source(name)
    for name in results:
        model.graph.node.append(helper.make_node("Identity", [source(name)], [name]))
    return model


def in_half(model):
    from onnxruntime.transformers.float16 import convert_float_to_float16
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return convert_float_to_float16(copy, keep_io_types=True, min_positive_val=5.97e-8, max_finite_val=65504.0)


class Entry(dict):
    """What was recorded of a network, written after each step, since the runtime may crash in the next."""

    def __init__(self, path):
        super().__init__()
        self.path = path

    def attempt(self, key, what):
        try:
            self[key] = what()
        except Exception as error:  # whatever the runtime refuses is a result
            self[key + ".error"] = repr(error)[:600]
        self.path.write_text(json.dumps(self))
        return self.get(key)


def record_network(entry, folder, model, given):
    reference = run(open_session(with_all_tensors(model), OFF, provider="CPUExecutionProvider"), given)
    for variant, tf32 in VARIANTS.items():
        made = model
        if variant == "f16":
            try:
                made = in_half(model)
            except Exception as error:
                entry["f16.error"] = repr(error)[:300]
                continue
        saved = str(folder / "saved.onnx")
        entry.attempt(f"{variant}.off", lambda: measure(run(open_session(with_all_tensors(made), OFF, tf32), given), reference))
        entry.attempt(f"{variant}.all", lambda: measure(run(open_session(made, ALL, tf32, saved=saved), given), reference))
        if f"{variant}.all" in entry:
            optimised = onnx.load(saved)
            if variant != "tf32":
                entry[f"{variant}.graph"] = describe(optimised)
            entry.attempt(f"{variant}.inner", lambda: measure(run(open_session(with_all_tensors(without_copies(optimised)), OFF, tf32), given), reference))


def record_networks(data, folder, jobs, only):
    """Each in a process of its own, since a runtime may crash."""
    if only:
        model, given = onnx.load(data / only / "model.onnx"), dict(np.load(data / only / "inputs.npz"))
        entry = Entry(folder / "entry.json")
        entry.attempt("outputs", lambda: [output.name for output in model.graph.output])
        entry.attempt("done", lambda: record_network(entry, folder, model, given))
        return
    names = [f"{kind}/{found.name}" for kind in ("models", "pretrained") for found in sorted((data / kind).iterdir()) if (found / "inputs.npz").exists() and (found / "model.onnx").exists()]
    recorded = {}

    def start(name):
        begun, own = time.time(), folder / "networks" / name.replace("/", ".")
        command = [sys.executable, __file__, str(own), "--data", str(data), "--parts", "networks", "--provider", "cpu" if PROVIDER[0].startswith("CPU") else "cuda", "--only", name]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=240)
            ended = f"exit {done.returncode}: {done.stderr[-300:]}"
        except subprocess.TimeoutExpired:
            ended = "longer than 240 s"
        entry = json.loads((own / "entry.json").read_text()) if (own / "entry.json").exists() else {}
        if "done" not in entry:
            entry["error"] = ended
        entry.pop("done", None)
        recorded[name.split("/")[1]] = entry
        print(f"{name}: {time.time() - begun:.1f} s {[key for key in entry if key.endswith('error')]}", flush=True)
        with gzip.open(folder / "networks.json.gz", "wt") as file:
            json.dump(dict(recorded), file)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(start, names))


# Single operators: key -> (operator, domain, attributes, opset, inputs). Float inputs are float32 here and get the operator's type by a Cast or in FP16.
def normal(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float16).astype(np.float32)


def new_operators():
    every, MS = {}, "com.microsoft"

    def add(key, operator, *inputs, domain="", opset=18, outputs=1, **attributes):
        every[key] = (operator, domain, attributes, opset, inputs, outputs)
    for shape in ((1, 8, 64), (1, 1, 1024), (2, 5, 33), (1, 8, 96, 96), (3, 4, 7, 9)):
        channels, title = shape[1], "x".join(map(str, shape))
        add(f"n.InstanceNormalization.{title}", "InstanceNormalization", normal(*shape) + 0.5, normal(channels), normal(channels), epsilon=1e-5)
        add(f"n.InstanceNormalization.plain.{title}", "InstanceNormalization", normal(*shape), np.ones(channels, np.float32), np.zeros(channels, np.float32), epsilon=1e-5)
        add(f"n.BatchNormalization.{title}", "BatchNormalization", normal(*shape), normal(channels), normal(channels), normal(channels), np.abs(normal(channels)) + 0.1, epsilon=1e-5)
    add("n.GroupNormalization", "GroupNormalization", normal(2, 16, 24, 20), normal(16), normal(16), opset=21, num_groups=4, epsilon=1e-5)
    data = normal(4, 32, 12, 10)
    for operator in ("ReduceSum", "ReduceMean", "ReduceLogSumExp", "ReduceLogSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceMax"):
        values = np.abs(data) if operator == "ReduceLogSum" else 1 + data / 16 if operator == "ReduceProd" else data
        for axes in ([0], [1], [2, 3], [0, 2], [1, 2, 3], [3], [0, 1, 2, 3]):
            add(f"r.{operator}.4d.{''.join(map(str, axes))}", operator, values, np.array(axes, np.int64), keepdims=1)
    for rows, columns in ((64, 256), (768, 256), (4096, 100), (12, 5)):
        add(f"r.ReduceSum0.{rows}x{columns}", "ReduceSum", normal(rows, columns), np.array([0], np.int64), keepdims=0)
        add(f"r.ReduceMean0.{rows}x{columns}", "ReduceMean", normal(rows, columns), np.array([0], np.int64), keepdims=0)
        add(f"r.ReduceMean1.{rows}x{columns}", "ReduceMean", normal(rows, columns), np.array([1], np.int64), keepdims=0)
    for title, axis, shape in (("mid", 1, (2, 100, 5)), ("mid", 1, (4, 33, 5, 7)), ("alone", 1, (1, 96, 8))):
        add(f"r.ReduceMean.{title}.{'x'.join(map(str, shape))}.{axis}", "ReduceMean", normal(*shape), np.array([axis], np.int64), keepdims=0)
    for shape in ((2, 96, 4), (1, 96, 4)):  # sums beyond FP16's largest number
        add(f"r.ReduceMean.sum.{'x'.join(map(str, shape))}.1", "ReduceMean", normal(*shape, scale=4) + 1500, np.array([1], np.int64), keepdims=0)
    for exact in (2, 3, 5, 48, 100, 1000):  # one row each of which the sum is exact in FP32: the mean's division alone is seen
        add(f"r.ReduceMean.exact.{exact}", "ReduceMean", np.floor(normal(512, exact, scale=20)), np.array([1], np.int64), keepdims=0)
    for mode in ("linear", "cubic"):
        for how in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
            for title, sizes in (("up", (2, 4, 24, 20)), ("odd", (2, 4, 17, 23)), ("down", (2, 4, 7, 5))):
                add(f"p.Resize.{mode}.{how}.{title}", "Resize", normal(2, 4, 12, 10), None, None, np.array(sizes, np.int64), mode=mode, coordinate_transformation_mode=how)
    add("p.Resize.linear.3d", "Resize", normal(1, 2, 6, 5, 4), None, None, np.array((1, 2, 9, 10, 6), np.int64), mode="linear", coordinate_transformation_mode="half_pixel")
    for size in (1, 3, 5, 7):
        add(f"p.AveragePool.{size}", "AveragePool", normal(1, 8, 20, 20), kernel_shape=[size, size])
    for rows, inner, columns in ((1, 512, 64), (2, 512, 64), (16, 256, 64), (128, 96, 200), (64, 64, 1)):
        a, b, c = normal(rows, inner), normal(inner, columns), normal(columns)
        title = f"{rows}.{inner}.{columns}"
        add(f"m.MatMul.{title}", "MatMul", a, b)
        add(f"m.Gemm.plain.{title}", "Gemm", a, b, c)
        add(f"m.Gemm.scaled.{title}", "Gemm", a, b, c, alpha=0.7, beta=1.3)
        add(f"m.Gemm.alpha.{title}", "Gemm", a, b, c, alpha=0.3)
        add(f"m.Gemm.full.{title}", "Gemm", a, b, normal(rows, columns), beta=1.7)
        add(f"m.Gemm.alone.{title}", "Gemm", a, np.ascontiguousarray(b.T), alpha=1.1, transB=1)
        add(f"m.FusedMatMul.{title}", "FusedMatMul", a, b, domain=MS, alpha=0.125, transA=0, transB=0)
        add(f"m.Gemm.small.{title}", "Gemm", a[:, :1].copy(), b[:1].copy(), c, alpha=0.7, beta=1.3)
    add("m.MatMul.batched", "MatMul", normal(2, 4, 33, 64), normal(2, 4, 64, 33))
    add("m.MatMul.fewRows", "MatMul", normal(4, 1, 64), normal(4, 64, 33))
    add("m.Einsum", "Einsum", normal(2, 9, 16), normal(2, 16, 11), equation="bij,bjk->bik")
    for activation in (None, "Relu", "Sigmoid", "Tanh", "LeakyRelu", "Clip", "HardSigmoid"):
        extra = {"LeakyRelu": {"activation_params": [0.1]}, "Clip": {"activation_params": [0.0, 6.0]}, "HardSigmoid": {"activation_params": [0.2, 0.5]}}.get(activation, {})
        x, w, bias, z = normal(1, 32, 14, 14), normal(48, 32, 3, 3, scale=0.1), normal(48), normal(1, 48, 12, 12)
        extra = {**extra, **({"activation": activation} if activation else {})}
        add(f"f.FusedConv.{activation}", "FusedConv", x, w, bias, domain=MS, **extra)
        if activation in (None, "Relu"):
            add(f"f.FusedConv.z.{activation}", "FusedConv", x, w, bias, z, domain=MS, **extra)
            add(f"f.FusedConv.nobias.{activation}", "FusedConv", x, w, domain=MS, **extra)
        add("f.Conv", "Conv", x, w, bias)
        add("f.Conv.nobias", "Conv", x, w)
        add("f.Conv.depthwise", "Conv", x, normal(32, 1, 3, 3), normal(32), group=32)
        add("f.FusedConv.depthwise", "FusedConv", x, normal(32, 1, 3, 3), normal(32), group=32, domain=MS, activation="Relu")
    x, bias = normal(64, 256, scale=2), normal(256)
    add("f.BiasGelu", "BiasGelu", x, bias, domain=MS)
    add("f.FastGelu.bias", "FastGelu", x, bias, domain=MS)
    add("f.Gelu", "Gelu", x, domain=MS)
    add("f.QuickGelu.one", "QuickGelu", x, domain=MS, alpha=1.0)
    add("f.BiasSoftmax", "BiasSoftmax", normal(4, 8, 33), normal(4, 1, 33), domain=MS, axis=2, is_inner_broadcast=0)
    for width in (64, 128, 256, 768, 1000, 1024, 4096):
        x, skip, gamma, beta, bias = normal(1, 16, width), normal(1, 16, width), normal(width), normal(width), normal(width)
        add(f"f.SkipLayerNormalization.{width}", "SkipLayerNormalization", x, skip, gamma, beta, bias, domain=MS, outputs=4, epsilon=1e-5)
        add(f"f.SkipLayerNormalization.nobias.{width}", "SkipLayerNormalization", x, skip, gamma, beta, domain=MS, outputs=4, epsilon=1e-5)
        add(f"f.SkipSimplified.{width}", "SkipSimplifiedLayerNormalization", x, skip, gamma, domain=MS, outputs=4, epsilon=1e-6)
        add(f"f.LayerNormalization.{width}", "LayerNormalization", x, gamma, beta, epsilon=1e-5)
    for rows, heads, size in ((8, 4, 32), (40, 4, 64), (128, 2, 64), (300, 2, 64), (700, 1, 64), (64, 2, 128), (33, 2, 24)):
        hidden, title = heads * size, f"{rows}.{heads}.{size}"
        q, k, v = (normal(1, rows, hidden) for _ in "qkv")
        add(f"a.MultiHeadAttention.{title}", "MultiHeadAttention", q, k, v, domain=MS, num_heads=heads)
        add(f"a.MultiHeadAttention.causal.{title}", "MultiHeadAttention", q, k, v, domain=MS, num_heads=heads, unidirectional=1)
        add(f"a.MultiHeadAttention.bias.{title}", "MultiHeadAttention", q, k, v, normal(3 * hidden), domain=MS, num_heads=heads)
        add(f"a.MultiHeadAttention.added.{title}", "MultiHeadAttention", q, k, v, None, None, normal(1, heads, rows, rows), domain=MS, num_heads=heads)
        add(f"a.MultiHeadAttention.one.{title}", "MultiHeadAttention", q[:, :1].copy(), k, v, domain=MS, num_heads=heads)
        weights, bias = normal(hidden, 3 * hidden, scale=hidden**-0.5), normal(3 * hidden)
        add(f"a.Attention.{title}", "Attention", q, weights, bias, domain=MS, num_heads=heads)
        add(f"a.Attention.mask.{title}", "Attention", q, weights, bias, np.array([[1] * (rows - 3) + [0] * 3], np.int32), domain=MS, num_heads=heads)
        split = [array.reshape(1, heads, rows, size) for array in (q, k, v)]
        add(f"a.Attention23.{title}", "Attention", *split, opset=23)
        add(f"a.Attention23.causal.{title}", "Attention", *split, opset=23, is_causal=1)
        add(f"a.GroupQueryAttention.{title}", "GroupQueryAttention", q, k[..., :size].copy(), v[..., :size].copy(), np.zeros((1, 1, 0, size), np.float32), np.zeros((1, 1, 0, size), np.float32),
            np.array([rows - 1], np.int32), np.array(rows, np.int32), domain=MS, num_heads=heads, kv_num_heads=1, outputs=3)  # fmt: skip
    for rows in (1, 4, 64):
        for bits, block in ((4, 32), (4, 128), (8, 32), (8, 128)):
            for zeros in (False, True):
                inner, columns = 512, 128
                packed = RANDOM.integers(0, 256, (columns, inner // block, block * bits // 8), dtype=np.uint8)
                scales = np.abs(normal(columns * inner // block, scale=0.05)) + np.float32(0.01)
                points = (RANDOM.integers(0, 256, columns * inner // block * bits // 8, dtype=np.uint8),) if zeros else ()
                add(f"q.MatMulNBits.{rows}.{bits}.{block}.{int(zeros)}", "MatMulNBits", normal(rows, inner), packed, scales.astype(np.float16).astype(np.float32), *points, domain=MS, K=inner, N=columns,
                    bits=bits, block_size=block)  # fmt: skip
    add("q.QuantizeLinear", "QuantizeLinear", normal(64, 64, scale=3), np.float32(0.021), np.int8(3), opset=19)
    add("q.DequantizeLinear", "DequantizeLinear", RANDOM.integers(-128, 128, (64, 64), dtype=np.int8), np.float32(0.021), np.int8(3), opset=19)
    add("q.MatMulInteger", "MatMulInteger", RANDOM.integers(-128, 128, (16, 256), dtype=np.int8), RANDOM.integers(-128, 128, (256, 64), dtype=np.int8))
    add("q.DynamicQuantizeLinear", "DynamicQuantizeLinear", normal(64, 64), outputs=3)
    for alpha, beta in ((0.2, 0.5), (1 / 6, 0.5), (0.3, 0.1)):
        add(f"v.HardSigmoid.{alpha:.2f}", "HardSigmoid", None, alpha=alpha, beta=beta)
    add("v.Selu", "Selu", None, alpha=1.5, gamma=1.1)
    add("v.Elu", "Elu", None, alpha=0.7)
    add("v.QuickGelu", "QuickGelu", None, domain=MS, alpha=1.0)
    add("v.Celu", "Celu", None, alpha=0.7)
    for steps, batch, width, hidden in ((1, 1, 32, 64), (2, 1, 32, 64), (20, 1, 32, 64), (20, 8, 64, 128), (50, 1, 128, 64)):
        for operator, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
            w, r, b = normal(1, gates * hidden, width, scale=0.3), normal(1, gates * hidden, hidden, scale=0.3), normal(1, 2 * gates * hidden, scale=0.3)
            extra = {"linear_before_reset": 1} if operator == "GRU" else {}
            add(f"l.{operator}.{steps}.{batch}.{width}.{hidden}", operator, normal(steps, batch, width), w, r, b, hidden_size=hidden, outputs=3 if operator == "LSTM" else 2, **extra)
            add(f"l.{operator}.input.{steps}.{batch}.{width}.{hidden}", operator, normal(steps, batch, width), w, 0 * r, 0 * b, hidden_size=hidden, outputs=3 if operator == "LSTM" else 2, **extra)
    odd = {"peephole": ("LSTM", 4, {"direction": "bidirectional"}), "clip": ("LSTM", 4, {"clip": 0.5}), "hard": ("LSTM", 4, {"activations": ["HardSigmoid", "Tanh", "Tanh"]}), "couple": ("LSTM", 4, {"input_forget": 1}),
           "before": ("GRU", 3, {"linear_before_reset": 0}), "unsaid": ("GRU", 3, {}), "clip3": ("GRU", 3, {"clip": 0.5, "linear_before_reset": 1}), "relu": ("RNN", 1, {"activations": ["Relu"]})}
    for title, (operator, gates, extra) in odd.items():  # what cuDNN has not
        both = 1 + ("direction" in extra)
        x, w, r, b, p = normal(6, 2, 16), normal(both, gates * 12, 16, scale=0.3), normal(both, gates * 12, 12, scale=0.3), normal(both, 2 * gates * 12, scale=0.3), normal(both, 36, scale=0.3)
        add(f"l.{operator}.{title}", operator, x, w, r, b, *((None, None, None, p) if title == "peephole" else ()), hidden_size=12, outputs=3 if operator == "LSTM" else 2, **extra)
    hidden, high = 512, 30.0
    for gate in range(4):  # what each gate's function is, the others being 0 or 1
        open_gates = {0: (0, high, -high, high), 1: (high, 0, -high, high), 2: (high, high, 0, high), 3: (high, high, -high, 0)}[gate]  # i, o, f, c
        bias = np.zeros((1, 8 * hidden), np.float32)
        for part, value in enumerate(open_gates):
            bias[0, part * hidden:(part + 1) * hidden] = normal(hidden, scale=2) if part == gate else value
        add(f"l.LSTM.gate.{'iofc'[gate]}", "LSTM", np.zeros((1, 1, 8), np.float32), np.zeros((1, 4 * hidden, 8), np.float32), np.zeros((1, 4 * hidden, hidden), np.float32), bias, None,
            np.zeros((1, 1, hidden), np.float32), np.full((1, 1, hidden), 0.7, np.float16).astype(np.float32), hidden_size=hidden, outputs=3)  # fmt: skip
    for title, rows, line, extra in (("inner", (2, 4, 33, 50), (2, 1, 1, 50), 1), ("outer", (2, 4, 33, 50), (1, 1, 33, 50), 0), ("long", (1, 2, 8, 1500), (1, 1, 8, 1500), 0), ("row", (1, 2, 8, 1024), (1, 1, 8, 1024), 0)):
        add(f"f.BiasSoftmax.{title}", "BiasSoftmax", normal(*rows, scale=4), normal(*line), domain=MS, axis=3, is_inner_broadcast=extra)
    for rows, inner, columns in ((1, 256, 64), (16, 256, 64), (64, 800, 128)):
        for title, shape in (("line", (columns,)), ("row", (1, columns)), ("whole", (rows, columns)), ("one", (1,))):
            add(f"m.Gemm.{title}.{rows}.{inner}.{columns}", "Gemm", normal(rows, inner), normal(inner, columns), normal(*shape))
    for rows in (100, 200, 256, 257, 400, 512, 767, 768, 1000, 2000, 16384):
        for columns in (1, 7, 32, 100, 600):
            add(f"r.first.{rows}.{columns}", "ReduceSum", normal(rows, columns), np.array([0], np.int64), keepdims=0)
    for rows, inner, columns, bits, block in [(rows, 512, 64, bits, 32) for rows in (2, 3, 5, 7, 8, 9, 16, 17, 32) for bits in (4, 8)] + [
            (rows, *rest) for rows in (1, 3) for rest in ((336, 64, 4, 16), (328, 64, 8, 32), (1024, 24, 4, 64), (320, 64, 4, 256), (512, 20, 4, 32), (500, 64, 4, 32), (512, 20, 8, 32), (4096, 32, 4, 128))]:
        blocks = -(-inner // block)
        packed = RANDOM.integers(0, 256, (columns, blocks, block * bits // 8), dtype=np.uint8)
        points = RANDOM.integers(0, 256, columns * (-(-blocks * bits // 8)), dtype=np.uint8)
        scales = (np.abs(normal(columns * blocks, scale=0.05)) + np.float32(0.01)).astype(np.float16).astype(np.float32)
        add(f"q.MatMulNBits.{rows}.{inner}.{columns}.{bits}.{block}", "MatMulNBits", normal(rows, inner), packed, scales, points, domain=MS, K=inner, N=columns, bits=bits, block_size=block)
    return every


def known_operators(data):
    file = np.load(data / "ort_cuda" / "operators.npz")

    def read(key):
        array = file[key]
        return read(str(array)[8:]) if array.dtype.kind == "U" and array.shape == () else array
    for key in sorted(name[:-3] for name in file.files if name.endswith("|op")):
        operator, domain, attributes, opset = map(str, file[key + "|op"])
        inputs = [read(f"{key}|i{i}") if f"{key}|i{i}" in file.files else None for i in range(1 + max([int(n.split("|i")[1]) for n in file.files if n.startswith(key + "|i")], default=0))]
        outputs = sum(f"{key}|o{i}" in file.files for i in range(4))
        yield key, (operator, domain, ast.literal_eval(attributes), int(opset), inputs, outputs), [file[f"{key}|o{i}"] for i in range(outputs)]


KINDS = {"f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16, "f32": TensorProto.FLOAT, "tf32": TensorProto.FLOAT}


def every_number(kind):
    bits = np.arange(65536, dtype=np.uint16)
    return bits.view(np.float16).astype(np.float32) if kind == "f16" else (bits.astype(np.uint32) << 16).view(np.float32)


def run_operator(case, kind, tf32=1):
    """One operator in its type, between Casts: its inputs as given, its outputs."""
    operator, domain, attributes, opset, inputs, outputs = case
    names, nodes, values, given = [], [], [], {}
    for i, array in enumerate(inputs):
        if array is None and any(other is not None for other in inputs):
            names.append("")
            continue
        array = every_number(kind) if array is None else np.asarray(array)
        held = array.dtype.kind == "f"
        array = array.astype(np.float32) if held else array
        given[f"x{i}"] = array
        values.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT if held else helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        if held and KINDS[kind] != TensorProto.FLOAT:
            nodes.append(helper.make_node("Cast", [f"x{i}"], [f"i{i}"], to=KINDS[kind]))
            names.append(f"i{i}")
        else:
            names.append(f"x{i}")
    results = [f"o{i}" for i in range(outputs)]
    if operator in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization") and outputs > 1:
        results[1] = results[2] = ""
    nodes.append(helper.make_node(operator, names, results, name="it", domain=domain, **attributes))
    results = [name for name in results if name]
    integer = operator in ("QuantizeLinear", "MatMulInteger", "DynamicQuantizeLinear")
    nodes += [] if integer else [helper.make_node("Cast", [name], ["y" + name], to=TensorProto.FLOAT) for name in results]
    graph = helper.make_graph(nodes, "single", values, [onnx.ValueInfoProto(name=name if integer else "y" + name) for name in results])
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return [values for values in run(open_session(model, OFF, tf32), given).values()]


def pack(values, kind):
    if values.dtype.kind != "f":
        return values
    return values.astype(np.float16) if kind == "f16" else (values.view(np.uint32) >> 16).astype(np.uint16) if kind == "bf16" else values


def record_operators(data, folder):
    arrays, stored, said = {}, {}, {"refused": {}, "same": [], "differs": []}
    known = list(known_operators(data)) if data and (data / "ort_cuda" / "operators.npz").exists() else []
    for key, case, before in known:
        try:
            got = [pack(values, "f16") for values in run_operator(case, "f16")]
            same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(got, before))
            said["same" if same else "differs"].append(key)
            if not same:
                arrays[f"h200.{key}|o0"] = got[0]
        except Exception as error:
            said["refused"][key] = repr(error)[:200]
        try:
            arrays[f"bf16.{key}|o0"] = pack(run_operator(case, "bf16")[0], "bf16")
        except Exception as error:
            said["refused"]["bf16." + key] = repr(error)[:200]
    for key, case in new_operators().items():
        operator, domain, attributes, opset, inputs, _ = case
        arrays[key + "|op"] = np.array([operator, domain, repr(attributes), str(opset)])
        for i, array in enumerate(inputs):
            if array is not None:
                array = np.asarray(array)
                array = array.astype(np.float16) if array.dtype.kind == "f" else array
                first = stored.setdefault((array.shape, array.dtype.str, array.tobytes()), f"{key}|i{i}")
                arrays[f"{key}|i{i}"] = array if first == f"{key}|i{i}" else np.array("same as " + first)
        for kind in ("f16", "bf16") if key[0] in "v" else KINDS:
            if kind == "f32" or (kind == "tf32" and key[0] not in "mal"):
                continue
            try:
                got = [pack(values, kind) for values in run_operator(case, kind)]
                arrays.update({f"{kind}.{key}|o{i}" if kind != "f16" else f"{key}|o{i}": values for i, values in enumerate(got)})
            except Exception as error:
                said["refused"][f"{kind}.{key}"] = repr(error)[:200]
    np.savez_compressed(folder / "operators.npz", **arrays)
    (folder / "operators.json").write_text(json.dumps(said, indent=1))
    print(f"operators: {len(said['same'])} the same bits, {len(said['differs'])} others, {len(said['refused'])} refused", flush=True)


def to_tf32(values):
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--parts", default="networks,operators")
    parser.add_argument("--provider", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--jobs", type=int, default=2, help="networks at a time")
    parser.add_argument("--only")
    given = parser.parse_args()
    PROVIDER[0] = "CUDAExecutionProvider" if given.provider == "cuda" else "CPUExecutionProvider"
    given.folder.mkdir(parents=True, exist_ok=True)
    for part in given.parts.split(","):
        begun = time.time()
        try:
            if part == "networks":
                record_networks(given.data, given.folder, given.jobs, given.only)
            elif part == "operators":
                record_operators(given.data, given.folder)
        except Exception:
            traceback.print_exc()
        print(f"{part}: {time.time() - begun:.0f} s", flush=True)
    print(ort.__version__, ort.get_available_providers(), file=sys.stderr)


if __name__ == "__main__":
    main()
