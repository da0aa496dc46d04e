#!/usr/bin/env python3
"""Nodes of language models as optimum, onnxruntime-genai and onnxruntime's optimiser write them, drawn at random, and what ONNX Runtime's CPU provider computes beside ulpscope:

    lab/compare_decoders.py PROGRAM [--draws N] [--seed N] [--family NAME] [--keep FOLDER]

For each family: drawn, refused by the runtime, right, wrong, refused by ulpscope alone; exit code 1 for any of the last two. A case is right when every element
lies within 2^-12 of its tensor's largest magnitude (2^-7 for FP16 tensors, whose steps the runtime takes in either format), integers and codes within one step of the runtime's in
1 % of the elements. Needs numpy, onnx, ml_dtypes and onnxruntime."""
import argparse
import collections
import os
import pathlib
import subprocess
import sys
import tempfile

import ml_dtypes
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MS = "com.microsoft"


class Draw:
    """Choices and arrays of one case."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.type = np.dtype(self.pick("f4", "f4", "f4", "f2"))

    def pick(self, *items):
        return items[self.rng.integers(len(items))]

    def odds(self, share):
        return self.rng.random() < share

    def f(self, *shape, scale=1.0):
        return (scale * self.rng.standard_normal(shape)).astype(self.type)

    def bytes(self, *shape):
        return self.rng.integers(0, 256, shape).astype(np.uint8)

    def scales(self, *shape, scale=0.05):
        return (scale * (0.5 + self.rng.random(shape))).astype(self.type)

    def angles(self, positions, half):
        a = np.outer(np.arange(positions), 100.0 ** (-np.arange(half) / half))
        return np.cos(a).astype(self.type), np.sin(a).astype(self.type)


def group_query(d):
    heads_kv = d.pick(1, 2)
    heads, size = heads_kv * d.pick(1, 2, 3), d.pick(16, 32)
    batch, past = d.pick(1, 1, 2), d.pick(0, 3, 7)
    new = d.pick(1, 4, 5) if past == 0 or batch == 1 else 1
    total = past + new
    quantised = d.pick(None, None, None, "PER_TENSOR", "PER_CHANNEL")
    bits = d.pick(4, 8) if quantised else 0
    attributes = dict(num_heads=heads, kv_num_heads=heads_kv)
    packed = d.odds(0.3)
    q, k, v = d.f(batch, new, heads * size), d.f(batch, new, heads_kv * size), d.f(batch, new, heads_kv * size)
    inputs = [np.concatenate([q, k, v], 2), None, None] if packed else [q, k, v]
    scales = [None, None]
    if quantised:
        attributes.update(k_quant_type=quantised, v_quant_type=quantised, kv_cache_bit_width=bits)
        shape = (1,) if quantised == "PER_TENSOR" else (heads_kv * size,)
        scales = [d.scales(*shape, scale=0.03 if bits == 8 else 0.4).astype("f4") for _ in range(2)]
        kind, width = (np.uint8, (size + 1) // 2) if bits == 4 else (np.int8, size)
        caches = [d.bytes(batch, heads_kv, past, width).view(kind) for _ in range(2)]
    else:
        caches = [d.f(batch, heads_kv, past, size) for _ in range(2)]
    if past == 0 and d.odds(0.5) and not quantised:
        caches = [None, None]
    inputs += caches
    last = np.full(batch, total - 1, np.int32)
    if batch > 1 and d.odds(0.5):
        last[1] -= 1
    inputs += [last, np.array(total, np.int32) if d.odds(0.5) else np.array([total], np.int32)]
    rotary = d.odds(0.5)
    inputs += list(d.angles(total + 3, size // 2)) if rotary else [None, None]
    if rotary:
        attributes.update(do_rotary=1, rotary_interleaved=d.pick(0, 1))
    inputs.append(np.tile(np.arange(past, total), (batch, 1)).astype(np.int64) if rotary and d.odds(0.3) else None)
    inputs.append(d.f(d.pick(1, batch), d.pick(1, heads), new, total) if d.odds(0.3) else None)
    if d.odds(0.3):
        inputs.append(d.f(heads))
    else:
        inputs.append(None)
        if d.odds(0.3):
            attributes["smooth_softmax"] = 1
    inputs += scales
    inputs += [None, None]  # q_norm_weight and k_norm_weight: CUDA alone
    if d.odds(0.15) and caches[0] is not None:  # all are valid: of padding nothing is said
        inputs.append(np.full(batch, new, np.int32))
        caches[0], caches[1] = inputs[3], inputs[4] = [np.concatenate([c, c[:, :, :1].repeat(new + 1, 2)], 2) if past else d.f(batch, heads_kv, new + 1, size) if not quantised else c for c in caches]
    if d.odds(0.3):
        attributes["local_window_size"] = d.pick(1, 2, 4, 100)
    elif d.odds(0.1):
        attributes["causal"] = 0
    if d.odds(0.3):
        attributes["softcap"] = d.pick(0.5, 5.0, 30.0)
    if d.odds(0.5):
        attributes["scale"] = 0.3
    outputs = 3
    if d.odds(0.3) and not quantised:
        attributes["qk_output"] = d.pick(1, 2)
        outputs = 4
    return "GroupQueryAttention", MS, 17, inputs, outputs, attributes


def multi_head(d):
    heads, size, batch, new, past = d.pick(1, 2, 4), d.pick(8, 16), d.pick(1, 2), d.pick(1, 3), d.pick(0, 0, 4)
    cross = d.pick(new, 5) if past == 0 else new
    width = heads * size
    causal = cross == new and d.odds(0.3)
    form = d.pick("apart", "apart", "heads") if past == 0 else "apart"
    if form == "heads":
        inputs = [d.f(batch, new, width), d.f(batch, heads, cross, size), d.f(batch, heads, cross, size)]
    else:
        inputs = [d.f(batch, new, width), d.f(batch, cross, width), d.f(batch, cross, width)]
    total = past + cross
    inputs.append(d.f(3 * width) if d.odds(0.3) else None)
    mask = d.pick(None, None, "ends", "keys", "pairs", "three")
    inputs.append({None: None, "ends": d.rng.integers(1, total + 1, batch).astype(np.int32), "keys": d.rng.integers(0, 2, (batch, total)).astype(np.int32),
                   "pairs": d.rng.integers(0, 2, (batch, new, total)).astype(np.int32),
                   "three": np.array([*[total] * batch, *np.arange(batch + 1) * new, *np.arange(batch + 1) * total], np.int32)}[mask])
    inputs.append(d.f(d.pick(1, batch), d.pick(1, heads), new, total) if d.odds(0.4) else None)
    if past:
        inputs += [d.f(batch, heads, past, size), d.f(batch, heads, past, size)]
    attributes = dict(num_heads=heads)
    if causal:
        attributes["unidirectional"] = 1
    if d.odds(0.3):
        attributes["scale"] = 0.4
    if d.odds(0.2):
        attributes["mask_filter_value"] = d.pick(-1e4, -3.4028234663852886e38)
    outputs = 3 if past else 1  # a past without a present is not read there
    return "MultiHeadAttention", MS, 17, inputs, outputs, attributes


def attention(d):
    opset = d.pick(23, 24, 24)
    kv = d.pick(1, 2)
    heads, size, batch, new = kv * d.pick(1, 2), d.pick(8, 16), d.pick(1, 2), d.pick(1, 3, 4)
    past = d.pick(0, 0, 5)
    cross = d.pick(new, 6) if past == 0 else new
    total = past + cross
    vsize = d.pick(size, size, size + 4)
    flat = d.odds(0.4)
    shape = (lambda n, h, w: (batch, n, h * w)) if flat else (lambda n, h, w: (batch, h, n, w))
    inputs = [d.f(*shape(new, heads, size)), d.f(*shape(cross, kv, size)), d.f(*shape(cross, kv, vsize))]
    attributes = dict(q_num_heads=heads, kv_num_heads=kv) if flat else {}
    mask = d.pick(None, "bool", "float")
    dims = d.pick((new, total), (batch, 1, new, total), (1, heads, new, total))
    m = d.rng.random(dims) < 0.7
    m[..., 0] = True
    inputs.append(None if mask is None else m if mask == "bool" else np.where(m, d.f(*dims), -np.inf).astype(d.type))
    inputs += [d.f(batch, kv, past, size), d.f(batch, kv, past, vsize)] if past else [None, None]
    if opset == 24 and not past and d.odds(0.4):
        inputs.append(d.rng.integers(new, cross + 1, batch).astype(np.int64))
    if d.odds(0.4):
        attributes["is_causal"] = 1
    if d.odds(0.4):
        attributes["softcap"] = d.pick(1.0, 20.0)
    if d.odds(0.3):
        attributes["scale"] = 0.3
    if d.odds(0.2):
        attributes["softmax_precision"] = 1
    outputs = d.pick(3, 4) if past else d.pick(1, 1, 4)
    if outputs == 4:
        attributes["qk_matmul_output_mode"] = d.pick(0, 1, 2, 3)
    return "Attention", "", opset, inputs, outputs, attributes


def rotary(d):
    heads, size, batch, new = d.pick(1, 2, 3), d.pick(8, 16), d.pick(1, 2), d.pick(1, 3, 5)
    part = d.pick(size, size, size // 2)
    cos, sin = d.angles(12, part // 2)
    four = d.odds(0.5)
    x = d.f(batch, heads, new, size) if four else d.f(batch, new, heads * size)
    ids = d.rng.integers(0, 12, (batch, new)).astype(np.int64)
    attributes = dict(interleaved=d.pick(0, 1))
    if part < size:
        attributes.update(rotary_embedding_dim=part, num_heads=heads)
    elif not four:
        attributes.update(num_heads=heads)
    if d.odds(0.5):
        if d.odds(0.2):
            attributes["scale"] = 1.0
        ids = np.array([3], np.int64) if d.odds(0.3) else ids
        if d.odds(0.2) and ids.size > 1:
            attributes["is_packed_batching"] = 1
        return "RotaryEmbedding", MS, 17, [x, ids, cos, sin], 1, attributes
    if d.odds(0.3):
        return "RotaryEmbedding", "", 23, [x, cos[ids], sin[ids]], 1, attributes
    return "RotaryEmbedding", "", 23, [x, cos, sin, ids], 1, attributes


def multi_rotary(d):
    heads, size, batch, new = 2, d.pick(8, 16), 1, d.pick(2, 5)
    cos, sin = d.angles(12, size // 2)
    half = size // 2
    sections = [half // 2, half // 4, half - half // 2 - half // 4]
    return "MRotaryEmbedding", MS, 17, [d.f(batch, new, heads * size), d.rng.integers(0, 12, (3, batch, new)).astype(np.int64), cos, sin], 1, \
        dict(num_heads=heads, mrope_section=sections, interleaved=d.pick(0, 0, 1), mrope_layout=d.pick(0, 1))


def nbits(d):
    bits, block = d.pick(2, 4, 4, 8, 8), d.pick(16, 32, 64)
    n, k = d.pick(5, 16), d.pick(32, 64, 80)
    blocks = -(-k // block)
    zero = d.pick(None, None, "packed", "float")
    zeros = {None: None, "packed": d.bytes(n, -(-blocks * bits // 8)), "float": (2 ** (bits - 1) + d.f(n, blocks)).astype(d.type)}[zero]
    flat = d.odds(0.3)
    scales = d.scales(n * blocks) if flat else d.scales(n, blocks)
    zeros = zeros.reshape(-1) if zeros is not None and flat else zeros
    order = d.rng.permutation(np.arange(k) // block).astype(np.int32) if d.odds(0.15) and bits > 2 else None  # 2 bits are read as 4 there
    bias = d.f(n) if d.odds(0.3) else None
    inputs = [d.f(*d.pick((3,), (2, 1), (1, 4)), k), d.bytes(n, blocks, block * bits // 8), scales, zeros, order, bias]
    attributes = dict(K=k, N=n, bits=bits, block_size=block)
    if d.odds(0.6):
        attributes["accuracy_level"] = d.pick(0, 1, 2, 3, 4, 4)
    return "MatMulNBits", MS, 17, inputs, 1, attributes


def gather(d):
    bits, block, width = d.pick(4, 8), d.pick(16, 32), d.pick(32, 64)
    rows, blocks = 10, -(-width // block)
    signed = d.odds(0.4)
    ids = d.rng.integers(0, rows, d.pick((3,), (2, 2))).astype(d.pick(np.int64, np.int32))
    if signed:
        kind = d.pick(ml_dtypes.int4, ml_dtypes.uint4)
        low, high = (-8, 8) if kind is ml_dtypes.int4 else (0, 16)
        data = d.rng.integers(low, high, (rows, width)).astype(kind)
        zeros = d.rng.integers(low, high, (rows, blocks)).astype(kind)
        bits = 4
    else:
        data, zeros = d.bytes(rows, width * bits // 8), d.bytes(rows, -(-blocks * bits // 8))
    inputs = [data, ids, d.scales(rows, blocks), zeros if d.odds(0.5) else None]
    return "GatherBlockQuantized", MS, 21, inputs, 1, dict(bits=bits, block_size=block, gather_axis=0, quantize_axis=1)


def skip_norm(d):
    batch, new, width = d.pick(1, 2), d.pick(1, 3), d.pick(8, 12)
    simple = d.odds(0.6)
    skip = d.f(batch, new, width) if d.odds(0.6) else d.f(new, width) if d.odds(0.5) else d.f(1, new, width)
    inputs = [d.f(batch, new, width), skip, d.f(width)] + ([] if simple else [d.f(width) if d.odds(0.5) else None])
    inputs.append(d.f(width) if d.odds(0.4) else None)
    if d.odds(0.15):
        inputs[:2] = [x.reshape(-1, width) for x in inputs[:2]]
    return ("SkipSimplifiedLayerNormalization" if simple else "SkipLayerNormalization"), MS, 17, inputs, d.pick((0,), (0, 3)), dict(epsilon=1e-6)


def rms_norm(d):
    shape = d.pick((2, 3, 8), (1, 2, 3, 16))
    if d.odds(0.5):
        return "RMSNormalization", "", 23, [d.f(*shape), d.f(shape[-1])], 1, dict(axis=-1, epsilon=1e-6, stash_type=1)
    return "SimplifiedLayerNormalization", "", 17, [d.f(*shape), d.f(shape[-1])], 1, dict(axis=-1, epsilon=1e-6, stash_type=1)


def experts(d):
    rows, hidden, inner, count = d.pick(1, 5), 32, 16, d.pick(2, 4)
    act = d.pick("relu", "gelu", "silu", "identity", "swiglu", "swiglu")
    gated = act == "swiglu"
    width = 2 * inner if gated else inner
    attributes = dict(k=d.pick(1, 2), activation_type=act)
    if gated:
        attributes.update(swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=d.pick(1.0, 7.0))
    if d.odds(0.4):
        attributes["normalize_routing_weights"] = 1
    x, router = d.f(rows, hidden), d.f(rows, count)
    b1, b2 = (d.f(count, width), d.f(count, hidden)) if d.odds(0.5) else (None, None)
    if d.odds(0.5):
        return "MoE", MS, 17, [x, router, d.f(count, width, hidden, scale=0.2), b1, d.f(count, hidden, inner, scale=0.2), b2], 1, attributes
    bits, block = d.pick(2, 4, 8), d.pick(0, 16, 32)
    inner = max(inner, block)
    width = 2 * inner if gated else inner
    b1 = d.f(count, width) if b1 is not None else None
    def layer(n, k):
        return d.bytes(count, n, k * bits // 8), d.scales(count, n, k // block, scale=0.5 / 2 ** bits) if block else d.scales(count, n, scale=0.5 / 2 ** bits)
    first, second = layer(width, hidden), layer(hidden, inner)
    attributes["expert_weight_bits"] = bits
    if block:
        attributes["block_size"] = block
    return "QMoE", MS, 17, [x, router, *first, b1, *second, b2], 1, attributes


def linear_attention(d):
    rule = d.pick("linear", "gated", "delta", "gated_delta")
    kv = d.pick(1, 2)
    q = kv * d.pick(1, 2)
    batch, new, dk, dv = d.pick(1, 2), d.pick(1, 4), 8, d.pick(8, 12)
    key = d.f(batch, new, kv, dk)
    key = (key / np.linalg.norm(key.astype("f4"), axis=-1, keepdims=True)).astype(d.type).reshape(batch, new, kv * dk)
    decay = -np.abs(d.f(batch, new, d.pick(kv, kv * dk))) if "gated" in rule else None
    beta = (1 / (1 + np.exp(-d.f(batch, new, d.pick(kv, 1))))).astype(d.type) if "delta" in rule else None
    state = d.f(batch, kv, dk, dv) if d.odds(0.6) else None
    return "LinearAttention", MS, 17, [d.f(batch, new, q * dk), key, d.f(batch, new, kv * dv), state, decay, beta], 2, \
        dict(update_rule=rule, q_num_heads=q, kv_num_heads=kv, **(dict(scale=0.5) if d.odds(0.3) else {}))


def causal_conv(d):
    batch, channels, length, k = d.pick(1, 2), 6, d.pick(1, 5), d.pick(2, 4)
    dilation = d.pick(1, 1, 2)
    return "CausalConvWithState", MS, 17, [d.f(batch, channels, length), d.f(channels, 1, k), d.f(channels) if d.odds(0.5) else None,
                                           d.f(batch, channels, (k - 1) * dilation) if d.odds(0.6) else None], 2, \
        dict(activation=d.pick("silu", "none", "swish"), ndim=1, **(dict(dilation=dilation) if dilation > 1 else {}))


def norm_heads(d):
    """q_norm as exporters write it: Reshape, a norm over a head's features, Reshape"""
    batch, new, heads, size = 1, 3, 2, 8
    nodes = [("Reshape", "", ["i0", "c0"], ["a"], {}), d.pick(("RMSNormalization", "", ["a", "i1"], ["b"], dict(axis=-1, epsilon=1e-6)),
             ("SimplifiedLayerNormalization", "", ["a", "i1"], ["b"], dict(axis=-1, epsilon=1e-6, stash_type=1))), ("Reshape", "", ["b", "c1"], ["o0"], {})]
    return nodes, 23, [d.f(batch, new, heads * size), d.f(size)], 1, [np.array([0, -1, heads, size]) if d.odds(0.5) else np.array([batch, new * heads, 1, size]), np.array([batch, new, -1])]


def state_space(d):
    """h = a h + b x, y = c h over positions, in a Scan or a Loop, as exporters of Mamba write it"""
    length, width = d.pick(4, 9), 6
    d.type = np.dtype("f4")
    a, b, x, start = np.exp(-np.abs(d.f(length, width))), d.f(length, width), d.f(length, width), d.f(width)
    body = [helper.make_node("Mul", ["h", "a_t"], ["ha"]), helper.make_node("Mul", ["b_t", "x_t"], ["bx"]), helper.make_node("Add", ["ha", "bx"], ["h_out"]),
            helper.make_node("Identity", ["h_out"], ["y_t"])]
    info = lambda name, *shape: helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
    if d.odds(0.5):
        graph = helper.make_graph(body, "step", [info(n, width) for n in ("h", "a_t", "b_t", "x_t")], [info("h_out", width), info("y_t", width)])
        return [("Scan", "", ["i3", "i0", "i1", "i2"], ["o0", "o1"], dict(num_scan_inputs=3, body=graph))], 17, [a, b, x, start], 2, []
    body = [helper.make_node("Gather", [outer, "t"], [inner], axis=0) for outer, inner in (("i0", "a_t"), ("i1", "b_t"), ("i2", "x_t"))] + body
    body.append(helper.make_node("Identity", ["on"], ["on_out"]))
    t, on = helper.make_tensor_value_info("t", TensorProto.INT64, []), helper.make_tensor_value_info("on", TensorProto.BOOL, [])
    graph = helper.make_graph(body, "step", [t, on, info("h", width)], [helper.make_tensor_value_info("on_out", TensorProto.BOOL, []), info("h_out", width), info("y_t", width)])
    return [("Loop", "", ["c0", "c1", "i3"], ["o0", "o1"], dict(body=graph))], 17, [a, b, x, start], 2, [np.array(length, np.int64), np.array(True)]


def resident(total, capacity, window):
    """How many positions a cache of that capacity holds after so many"""
    spare = capacity - window + 1
    return total if total <= capacity else total - spare * -(-(total - capacity) // spare)


def windowed(d):
    """GroupQueryAttention whose caches are as long as the window, and which drops what is older"""
    heads_kv, size = d.pick(1, 2), 16
    heads, batch = heads_kv * d.pick(1, 2), d.pick(1, 1, 2)
    window = d.pick(2, 4, 5)
    capacity = window + d.pick(0, 0, 1, 3)
    past = d.pick(0, 1, 3, 4, 9)
    new = d.pick(1, 3, 7) if past == 0 or batch == 1 else 1
    total = past + new
    caches = [d.f(batch, heads_kv, capacity, size) for _ in range(2)]
    for c in caches:
        c[:, :, resident(past, capacity, window):] = 0
    inputs = [d.f(batch, new, heads * size), d.f(batch, new, heads_kv * size), d.f(batch, new, heads_kv * size), *caches,
              np.full(batch, total - 1, np.int32), np.array([total], np.int32)]
    attributes = dict(num_heads=heads, kv_num_heads=heads_kv, local_window_size=window, sliding_window_cache=1)
    if d.odds(0.5):
        inputs += list(d.angles(total + 3, size // 2))
        attributes["do_rotary"] = 1
    if d.odds(0.3):
        attributes["softcap"] = 5.0
    return "GroupQueryAttention", MS, 17, inputs, 3, attributes


def sparse(d):
    heads_kv, size, block = d.pick(1, 2), 16, 16
    heads, batch, layouts = heads_kv * 2, d.pick(1, 2), d.pick(1, 2)
    blocks = 3
    past = d.pick(0, 0, 5, 20)
    new = d.pick(1, 17, 30) if past == 0 else 1
    total = past + new
    masks = np.tril(d.rng.random((layouts, blocks, blocks)) < 0.6)
    masks[:, np.arange(blocks), np.arange(blocks)] = True
    rows = np.zeros((layouts, blocks + 1), np.int32)
    rows[:, 1:] = np.cumsum(masks.sum(2), 1)
    columns = np.full((layouts, rows.max()), -1, np.int32)
    for n, mask in enumerate(masks):
        columns[n, :rows[n, -1]] = np.nonzero(mask)[1]
    attributes = dict(num_heads=heads, kv_num_heads=heads_kv, sparse_block_size=block)
    q, k, v = d.f(batch, new, heads * size), d.f(batch, new, heads_kv * size), d.f(batch, new, heads_kv * size)
    inputs = [np.concatenate([q, k, v], 2), None, None] if d.odds(0.3) else [q, k, v]
    inputs += [*(d.f(batch, heads_kv, block * blocks, size) for _ in range(2)), rows, columns, np.array([total], np.int32), np.full(batch, total, np.int32)]
    if d.odds(0.5):
        inputs += list(d.angles(block * blocks, size // 2))
        attributes.update(do_rotary=1, rotary_interleaved=d.pick(0, 1))
    if d.odds(0.5):
        attributes["scale"] = 0.3
    return "SparseAttention", MS, 17, inputs, 3, attributes


def delta_net(d):
    rule = d.pick("linear", "gated", "delta", "gated_delta", "gated_delta")
    q = d.pick(1, 2)
    v = q * d.pick(1, 2)
    batch, new, dk, dv = d.pick(1, 2), d.pick(1, 4), 8, d.pick(8, 12)
    four, packed = d.odds(0.4), d.odds(0.2)
    lengths = d.rng.integers(1, 4, batch) if d.odds(0.3) and not four else np.full(batch, new)
    tokens = int(lengths.sum())
    shape = (lambda *rest: (batch, new, *rest)) if four else (lambda *rest: (tokens, *rest))
    norm = lambda x: (x / np.linalg.norm(x.astype("f4"), axis=-1, keepdims=True)).astype(d.type)
    query, key, value = d.f(*shape(q, dk)), norm(d.f(*shape(q, dk))), d.f(*shape(v, dv))
    if packed:
        query, key, value = np.concatenate([a.reshape(*shape(-1)) for a in (query, key, value)], -1), None, None
    gated, delta = "gated" in rule, "delta" in rule
    gate = d.pick("none", "softplus", "sigmoid") if gated else "none"
    wide = d.type if d.odds(0.5) else np.dtype("f4")
    decay = d.f(*shape(v, *d.pick((), (dk,)))).astype(wide) if gated else None
    decay = -np.abs(decay) if gated and gate == "none" else decay
    beta = d.f(*shape(v)).astype(wide) if delta else None
    attributes = dict(update_rule=rule)
    if delta and d.odds(0.5):
        attributes["beta_activation"] = "sigmoid"
    elif delta:
        beta = (1 / (1 + np.exp(-beta))).astype(wide)
    if gate != "none":
        attributes["gate_activation"] = gate
    if d.odds(0.5):
        attributes["qk_l2_norm"] = 1
    if d.odds(0.3):
        attributes["scale"] = 0.5
    uneven = not four and (lengths != new).any()
    state = d.f(batch, v, dv, dk).astype("f4") if packed or not uneven or d.odds(0.5) else None
    return "GatedDeltaNet", MS, 17, [query, key, value, np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32) if uneven else None, decay, beta, state,
                                     d.f(v).astype("f4") if gate != "none" else None, d.f(v).astype("f4") if gate != "none" else None], 2, attributes


def gates(d):
    """The steps around linear attention and residual streams"""
    batch, new, width = d.pick(1, 2), d.pick(1, 3), 12
    x = d.f(batch, new, width)
    op = d.pick("gate", "norm", "silu", "add", "branch")
    if op == "gate":
        d.type, kind = np.dtype("f4"), d.type
        return "LinearAttentionGate", MS, 17, [x, d.f(width), -np.exp(d.f(width)), d.f(batch, new, width).astype(kind)], 2, {}
    if op == "norm":
        return "GatedRMSNorm", MS, 17, [x, d.f(d.pick(width, 4)), d.f(batch, new, width)], 1, dict(epsilon=1e-6, activation=d.pick("silu", "swish", "sigmoid"))
    if op == "silu":
        return "ScaledSiLU", MS, 17, [x, np.array(0.7, d.type) if d.odds(0.4) else None], 1, dict(alpha=1.702) if d.odds(0.5) else {}
    if op == "add":
        return "GatedAdd", MS, 17, [x, d.f(batch, new, width), d.f(batch, new, 1)], 1, {}
    return "BranchwiseRMSNorm", MS, 17, [x.reshape(batch, new, 3, 4), d.f(*d.pick((4,), (3, 4), (12,)))], 1, dict(epsilon=1e-5)


FAMILIES = dict(group_query=group_query, multi_head=multi_head, attention=attention, rotary=rotary, multi_rotary=multi_rotary, nbits=nbits, gather=gather, skip_norm=skip_norm, rms_norm=rms_norm,
                experts=experts, linear_attention=linear_attention, causal_conv=causal_conv, norm_heads=norm_heads, state_space=state_space,
                windowed=windowed, sparse=sparse, delta_net=delta_net, gates=gates)
WEIGHTS = {"MatMulNBits": (1, 2, 3, 4, 5), "GatherBlockQuantized": (0, 2, 3), "MoE": (2, 3, 4, 5), "QMoE": tuple(range(2, 11))}


def cut(drawn, name, value):
    """What the operator specifies of an output: of a cache that drops positions those that it holds"""
    attributes = drawn[5] if isinstance(drawn[0], str) else {}
    if not attributes.get("sliding_window_cache") or name == "o0":
        return value
    return value[:, :, :resident(int(drawn[3][6][0]), value.shape[2], attributes["local_window_size"])]


def onnx_type(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def build(drawn):
    """The model, its inputs by name"""
    constants = []
    if isinstance(drawn[0], str):
        op, domain, opset, inputs, count, attributes = drawn
        count = range(count) if isinstance(count, int) else count
        while inputs[-1] is None:
            inputs = inputs[:-1]
        nodes = [(op, domain, ["" if a is None else f"i{i}" for i, a in enumerate(inputs)], [f"o{i}" if i in count else "" for i in range(max(count) + 1)], attributes)]
    else:
        nodes, opset, inputs, count, constants = drawn
        count = range(count)
        op, domain = nodes[0][0], ""
    held = WEIGHTS.get(op, ())
    initializers = [numpy_helper.from_array(a, f"i{i}") for i, a in enumerate(inputs) if a is not None and i in held]
    initializers += [numpy_helper.from_array(a, f"c{i}") for i, a in enumerate(constants)]
    given = {f"i{i}": a for i, a in enumerate(inputs) if a is not None and i not in held}
    graph = helper.make_graph([helper.make_node(n[0], n[2], n[3], domain=n[1], name=f"n{i}", **n[4]) for i, n in enumerate(nodes)], "g",
                              [helper.make_tensor_value_info(n, onnx_type(a), a.shape) for n, a in given.items()],
                              [helper.ValueInfoProto(name=f"o{i}") for i in count], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), helper.make_opsetid(MS, 1)])
    model.ir_version = 10
    return model, given


def reference(path, given, shared=()):
    """shared: inputs that are outputs, too, in one buffer"""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(path, options, ["CPUExecutionProvider"])
    if not shared:
        return {o.name: value for o, value in zip(session.get_outputs(), session.run(None, given))}
    binding = session.io_binding()
    arrays = {name: value.copy() for name, value in given.items()}
    values = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in arrays.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for o in session.get_outputs():
        if o.name in shared:
            binding.bind_ortvalue_output(o.name, values[shared[o.name]])
        else:
            binding.bind_output(o.name)
    session.run_with_iobinding(binding)
    return {o.name: np.array(value.numpy()) for o, value in zip(session.get_outputs(), binding.get_outputs())}


def differ(ours, theirs):
    """What is wrong with a value, or nothing"""
    if ours.shape != theirs.shape:
        return f"shape {ours.shape} for {theirs.shape}"
    if not theirs.size:
        return ""
    if theirs.dtype.kind in "iu":
        apart = np.abs(ours.astype(int) - theirs.astype(int))
        return f"{(apart > 0).mean():.1%} of codes" if (apart > 0).mean() > 0.01 else ""
    a, b = ours.astype("f8"), theirs.astype("f8")
    b[b == float(np.finfo(theirs.dtype).min)] = -np.inf  # what a mask hides
    if ((np.isfinite(a) != np.isfinite(b)) | (np.isnan(a) != np.isnan(b))).any():
        return "not finite elsewhere"
    good = np.isfinite(b)
    top = np.abs(b[good]).max(initial=0)
    worst = np.abs(a[good] - b[good]).max(initial=0)
    bound = 2.0 ** (-7 if theirs.dtype == np.float16 else -12)
    return "" if worst <= bound * top else f"{worst / top if top else worst:.2g} of the largest"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--draws", type=int, default=20, help="of each family")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", choices=FAMILIES)
    parser.add_argument("--keep", help="folder that the cases are left in")
    args = parser.parse_args()
    ort.set_default_logger_severity(4)
    folder = pathlib.Path(args.keep or tempfile.mkdtemp())
    bad = 0
    print(f"{'family':18}{'drawn':>6}{'no ORT':>7}{'right':>6}{'wrong':>6}{'refused':>8}")
    for family in args.family or FAMILIES:
        counts, why = collections.Counter(), collections.Counter()
        for n in range(args.draws):
            case = folder / f"{family}_{args.seed}_{n}"
            case.mkdir(parents=True, exist_ok=True)
            drawn = FAMILIES[family](Draw([args.seed, n, len(family)]))
            model, given = build(drawn)
            path = str(case / "model.onnx")
            pathlib.Path(path).write_bytes(model.SerializeToString())
            np.savez(case / "inputs.npz", **given)
            try:
                theirs = reference(path, given, {"o1": "i3", "o2": "i4"} if drawn[0] == "SparseAttention" else {})
            except Exception as e:
                counts["no ORT"] += 1
                why["ORT: " + str(e).split("\n")[0][-150:]] += 1
                continue
            done = subprocess.run([args.program, "run", path, "-i", str(case / "inputs.npz"), "-a", "ort-cpu", "-q", "-o", str(case / "out.npz")], capture_output=True, text=True)
            if done.returncode:
                counts["refused"] += 1
                why[f"refused ({n}): " + done.stderr.strip()[-170:]] += 1
                continue
            ours = np.load(case / "out.npz")
            said = [f"{name} {text}" for name, value in theirs.items() if (text := differ(cut(drawn, name, ours[name]), cut(drawn, name, value)))]
            counts["wrong" if said else "right"] += 1
            if said:
                why[f"wrong ({n}): " + "; ".join(said)] += 1
        bad += counts["wrong"] + counts["refused"]
        print(f"{family:18}{args.draws:6}{counts['no ORT']:7}{counts['right']:6}{counts['wrong']:6}{counts['refused']:8}", flush=True)
        for text, count in why.items():
            if not text.startswith("ORT") or args.keep:
                print(f"    {count} x {text}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
