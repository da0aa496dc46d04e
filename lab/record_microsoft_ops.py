#!/usr/bin/env python3
"""Record what ONNX Runtime computes for its own operators (domain com.microsoft), an archive an operator, each with folders in the layout of ONNX's test cases:

    lab/record_microsoft_ops.py tests/data/microsoft tests/data/declared

The second folder gets QuantizeLinear of FP16, whose steps have the type of the scale from opset 23 on.

Needs numpy, onnx and onnxruntime. Inputs come from a fixed seed; graph optimisation is off, so that the operator itself runs."""
import functools
import pathlib
import sys

import ml_dtypes
import numpy as np
import onnxruntime as ort
from onnx import helper

from case_archive import add_case, pack

rng = np.random.default_rng(20)
TYPE = helper.np_dtype_to_tensor_dtype


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def u8(*shape):
    return rng.integers(0, 256, shape).astype(np.uint8)


def i8(*shape):
    return rng.integers(-128, 128, shape).astype(np.int8)


def i64(*values):
    return np.array(values[0] if len(values) == 1 else values, np.int64)


def s(value):
    return np.array(value, np.float32)


def z(value, kind=np.uint8):
    return np.array(value, kind)


def experts_cases():
    """QMoE: weights of so many bits, in blocks or by outputs, each activation; a tie of router values, and weights of their own."""
    rows, hidden, inter, count = 5, 32, 16, 4

    def layer(n, k, bits, block, zeros):
        scale = np.abs(f32(count, n, k // block) if block else f32(count, n)) / (4 << bits)
        zero = None
        if zeros:
            zero = u8(count, n, -(-k // block * bits // 8)) if block else u8(count, -(-n * bits // 8))
        return u8(count, n, k * bits // 8), scale, zero

    def case(bits=4, block=0, zeros=False, bias=False, shape=(rows,), weights=False, **attributes):
        gated = attributes.get("activation_type") == "swiglu"
        width = 2 * inter if gated else inter
        first, second = layer(width, hidden, bits, block, zeros), layer(hidden, inter, bits, block, zeros)
        router = f32(rows, count)
        router[0, :2] = router[0].max() + 1
        inputs = [f32(*shape, hidden), router, *first[:2], f32(count, width) if bias else None, *second[:2],
                  f32(count, hidden) if bias else None, None, None, None, first[2], second[2], None]
        inputs.append(np.abs(f32(rows, count)) if weights else None)
        while inputs[-1] is None:
            inputs.pop()
        if block:
            attributes["block_size"] = block
        return inputs, dict(attributes, expert_weight_bits=bits)

    yield "QMoE", "relu", *case(k=2)
    yield "QMoE", "8", *case(bits=8, bias=True, k=1, activation_type="gelu")
    yield "QMoE", "zeros", *case(zeros=True, bias=True, k=4, activation_type="silu")
    yield "QMoE", "8_zeros", *case(bits=8, zeros=True, k=2, activation_type="identity", shape=(1, rows))
    yield "QMoE", "blocks", *case(block=16, zeros=True, k=2)
    yield "QMoE", "8_blocks", *case(bits=8, block=16, zeros=True, k=3, activation_type="silu")
    yield "QMoE", "swiglu", *case(bias=True, k=2, activation_type="swiglu", swiglu_fusion=1, activation_alpha=1.702, activation_beta=1.0, swiglu_limit=0.5)
    yield "QMoE", "swiglu_blocks", *case(bits=8, block=16, k=2, activation_type="swiglu", swiglu_fusion=1)
    yield "QMoE", "weights", *case(k=2, weights=True)
    yield "QMoE", "normal_weights", *case(k=2, weights=True, normalize_routing_weights=1)


def cases():
    relu = dict(kernel_shape=[2, 2], strides=[2, 2])
    yield "QLinearAdd", "u8", [u8(3, 5), s(0.02), z(120), u8(5), s(0.03), z(7), s(0.04), z(100)], {}
    yield "QLinearAdd", "i8", [i8(3, 5), s(0.02), z(-3, np.int8), i8(3, 1), s(0.03), z(7, np.int8), s(0.05), z(0, np.int8)], {}
    yield "QLinearMul", "u8", [u8(3, 5), s(0.02), z(120), u8(5), s(0.03), z(7), s(0.08), z(100)], {}
    yield "QLinearAveragePool", "u8", [u8(1, 3, 6, 6), s(0.02), z(120), s(0.013), z(101)], relu
    yield "QLinearAveragePool", "pad", [i8(1, 2, 5, 5), s(0.02), z(-5, np.int8), s(0.013), z(3, np.int8)], \
        dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    yield "QLinearGlobalAveragePool", "u8", [u8(2, 3, 6, 6), s(0.02), z(120), s(0.01), z(101)], {}
    yield "QLinearSigmoid", "u8", [u8(3, 7), s(0.02), z(120), s(1 / 256), z(0)], {}
    yield "QLinearLeakyRelu", "i8", [i8(3, 7), s(0.02), z(10, np.int8), s(0.02), z(-20, np.int8)], dict(alpha=0.1)
    yield "QLinearSoftmax", "u8", [u8(3, 7), s(0.05), z(120), s(1 / 256), z(0)], dict(opset=13)
    yield "QLinearSoftmax", "flat", [i8(2, 3, 4), s(0.05), z(2, np.int8), s(1 / 256), z(-128, np.int8)], dict(opset=12, axis=1)
    yield "QLinearConcat", "u8", [s(0.03), z(110), u8(2, 3, 2), s(0.02), z(120), u8(2, 4, 2), s(0.04), z(100)], dict(axis=1)
    yield "MatMulIntegerToFloat", "u8", [u8(3, 8), i8(8, 5), s(0.02), s(0.01), z(128), z(3, np.int8), f32(5)], {}
    yield "MatMulIntegerToFloat", "columns", [u8(3, 8), i8(8, 5), s(0.02), np.abs(f32(5)) / 64], {}
    yield "DynamicQuantizeMatMul", "bias", [f32(3, 8), i8(8, 5), s(0.01), z(3, np.int8), f32(5)], {}
    yield "DynamicQuantizeMatMul", "columns", [f32(2, 3, 8), u8(8, 5), np.abs(f32(5)) / 64], {}
    yield "DequantizeLinear", "ms", [u8(3, 5), s(0.02), z(120)], {}
    yield "QuantizeLinear", "ms", [f32(3, 5), s(0.02), z(120)], {}
    yield "Gelu", "", [f32(3, 7)], {}
    yield "FastGelu", "", [f32(3, 7)], {}
    yield "FastGelu", "bias", [f32(3, 7), f32(7)], {}
    yield "BiasGelu", "", [f32(3, 7), f32(7)], {}
    yield "QuickGelu", "", [f32(3, 7)], dict(alpha=1.5)
    yield "LayerNormalization", "", [f32(2, 3, 8), f32(8), f32(8)], dict(domain="", opset=16)
    yield "SimplifiedLayerNormalization", "", [f32(2, 3, 8), f32(8)], dict(domain="", opset=16, epsilon=1e-6)
    yield "SkipLayerNormalization", "", [f32(2, 3, 8), f32(2, 3, 8), f32(8), f32(8), f32(8)], dict(outputs="y,,,sum")
    yield "SkipLayerNormalization", "broadcast", [f32(2, 3, 8), f32(3, 8), f32(8)], {}
    yield "SkipSimplifiedLayerNormalization", "", [f32(2, 3, 8), f32(2, 3, 8), f32(8)], dict(outputs="y,,,sum")
    yield "FusedMatMul", "alpha", [f32(2, 3, 4), f32(2, 4, 5)], dict(alpha=0.125)
    yield "FusedMatMul", "turned", [f32(2, 4, 3), f32(5, 4)], dict(transA=1, transB=1)
    yield "FusedConv", "relu", [f32(1, 2, 5, 5), f32(3, 2, 3, 3), f32(3)], dict(activation="Relu")
    yield "FusedConv", "tanh", [f32(1, 2, 5, 5), f32(3, 2, 3, 3), f32(3), f32(1, 3, 3, 3)], dict(activation="Tanh")
    yield "MatMulNBits", "4", [f32(3, 32), u8(5, 2, 8), np.abs(f32(5, 2))], dict(K=32, N=5, bits=4, block_size=16)
    yield "MatMulNBits", "zeros", [f32(3, 40), u8(5, 3, 8), np.abs(f32(5, 3)), u8(5, 2), None, f32(5)], \
        dict(K=40, N=5, bits=4, block_size=16)
    yield "MatMulNBits", "8", [f32(3, 32), u8(5, 2, 16), np.abs(f32(5, 2))], dict(K=32, N=5, bits=8, block_size=16)
    heads = dict(num_heads=2)
    yield "MultiHeadAttention", "", [f32(2, 3, 8), f32(2, 5, 8), f32(2, 5, 8)], heads
    yield "MultiHeadAttention", "bias", [f32(2, 3, 8), f32(2, 5, 8), f32(2, 5, 8), f32(24), None, f32(2, 2, 3, 5)], heads
    yield "MultiHeadAttention", "causal", [f32(2, 4, 8), f32(2, 4, 8), f32(2, 4, 8)], dict(num_heads=2, unidirectional=1, scale=0.5)
    yield "MultiHeadAttention", "past", [f32(1, 2, 8), f32(1, 2, 8), f32(1, 2, 8), None, None, None, f32(1, 2, 3, 4), f32(1, 2, 3, 4)], \
        dict(num_heads=2, outputs="y,present_key,present_value")
    yield "Attention", "", [f32(2, 3, 8), f32(8, 24), f32(24)], heads
    yield "Attention", "mask", [f32(2, 3, 8), f32(8, 24), f32(24), np.array([[1, 1, 0], [1, 1, 1]], np.int32)], heads
    yield from attention_cases()
    yield from layer_cases()
    yield from decoder_cases()
    yield from quantized_cases()
    yield "Trilu", "", [f32(2, 3, 5)], {}
    yield "Trilu", "lower", [f32(3, 4), i64(-1)], dict(upper=0)
    yield from experts_cases()


def channels_last(x):
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def layer_cases():
    ids, tables = np.array([[1, 3, 0], [5, 5, 2]], np.int32), [f32(6, 8), f32(4, 8)]
    norm = [f32(8), f32(8)]
    embed = dict(outputs="y,mask_index,embedding_sum")
    yield "EmbedLayerNormalization", "", [ids, ids % 2, *tables, f32(2, 8), *norm], dict(outputs="y,mask_index")
    yield "EmbedLayerNormalization", "sum", [ids, None, *tables, None, *norm], dict(embed, epsilon=1e-5)
    yield "EmbedLayerNormalization", "mask", [ids, ids % 2, *tables, f32(2, 8), *norm, np.array([[1, 1, 0], [1, 0, 0]], np.int32)], embed
    yield "EmbedLayerNormalization", "places", [ids, None, *tables, None, *norm, None, np.array([[3, 2, 1], [0, 0, 1]], np.int32)], embed
    x, w = f32(1, 3, 5, 6), f32(4, 3, 3, 3)
    for name, parameters in (("LeakyRelu", [0.2]), ("Clip", [-0.5, 1.5]), ("HardSigmoid", [0.2, 0.4]), ("Sigmoid", None)):
        yield "FusedConv", name.lower(), [x, w, f32(4)], dict(activation=name, **({"activation_params": parameters} if parameters else {}))
    yield "FusedConv", "none", [x, w, f32(4), f32(1, 4, 3, 4)], {}
    x, w, b = f32(2, 4, 5, 6), f32(6, 2, 3, 2), f32(6)
    how = dict(group=2, pads=[1, 0, 0, 1], strides=[2, 1])
    yield "NhwcConv", "", [channels_last(x), channels_last(w), b], \
        dict(how, twin=("Conv", [x, w, b], dict(how, domain=""), channels_last))
    x, w = f32(1, 3, 7), f32(5, 3, 3)
    yield "NhwcConv", "line", [channels_last(x), channels_last(w)], dict(twin=("Conv", [x, w], dict(domain=""), channels_last))
    yield "FusedMatMul", "batch", [f32(3, 2, 4), f32(4, 2, 5)], dict(transBatchA=1, transBatchB=1)
    yield "FusedMatMul", "batch_turned", [f32(4, 2, 3), f32(5, 2, 4)], dict(transBatchA=1, transBatchB=1, transA=1, transB=1, alpha=2.0)
    bits = dict(K=32, N=5, block_size=16)
    groups = (np.arange(32, dtype=np.int32) * 7 // 3) % 2
    yield "MatMulNBits", "groups", [f32(3, 32), u8(5, 2, 8), np.abs(f32(5, 2)), None, groups.astype(np.int32)], dict(bits, bits=4)
    yield "MatMulNBits", "float_zeros", [f32(3, 32), u8(5, 2, 8), np.abs(f32(5, 2)), f32(5, 2)], dict(bits, bits=4)
    yield "MatMulNBits", "8_zeros", [f32(3, 32), u8(5, 2, 16), np.abs(f32(5, 2)), u8(5, 2)], dict(bits, bits=8)
    yield "MatMulNBits", "2", [f32(3, 32), u8(5, 2, 4), np.abs(f32(5, 2))], dict(bits, bits=2)
    yield "MatMulNBits", "2_zeros", [f32(3, 96), u8(5, 6, 4), np.abs(f32(5, 6)), u8(5, 2)], dict(K=96, N=5, block_size=16, bits=2)
    conv = [s(0.02), z(120), i8(3, 4, 3, 3), np.abs(f32(3)) / 64, i8(3) * 0, s(0.05), z(110), np.array([100, -200, 300], np.int32)]
    yield "QLinearConv", "ms", [u8(1, 4, 5, 6), *conv], dict(pads=[1, 1, 1, 1])
    yield "QLinearConv", "ms_last", [u8(2, 5, 6, 4), *conv], dict(channels_last=1, strides=[2, 2])
    pool = dict(kernel_shape=[2, 3], strides=[2, 1], channels_last=1)
    yield "QLinearAveragePool", "last", [u8(2, 6, 5, 3), s(0.02), z(120), s(0.013), z(101)], pool
    yield "QLinearAveragePool", "last_pad", [u8(1, 6, 5, 3), s(0.02), z(120), s(0.013), z(101)], dict(pool, pads=[1, 1, 0, 1], ceil_mode=1)
    yield "QLinearGlobalAveragePool", "last", [u8(2, 6, 5, 3), s(0.02), z(120), s(0.01), z(101)], dict(channels_last=1)


def beside(*parts):
    """Features of two heads from several tensors beside each other, head by head."""
    return np.stack([p.reshape(*p.shape[:2], 2, -1) for p in parts], axis=3)


def i32(*values):
    return np.array(values, np.int32)


def attention_cases():
    heads = dict(num_heads=2)
    present = dict(num_heads=2, outputs="y,present")
    keys = dict(num_heads=2, outputs="y,present_key,present_value")
    x, w, b = (2, 3, 8), (8, 24), (24,)
    left = i32([0, 0, 1], [1, 1, 1])
    yield "Attention", "ends", [f32(*x), f32(*w), f32(*b), i32(2, 3)], heads
    yield "Attention", "starts", [f32(*x), f32(*w), f32(*b), i32(2, 3, 1, 0)], heads
    yield "Attention", "pairs", [f32(*x), f32(*w), f32(*b), (rng.random((2, 3, 3)) < 0.7).astype(np.int32)], heads
    yield "Attention", "causal", [f32(*x), f32(*w), f32(*b)], dict(num_heads=2, unidirectional=1)
    yield "Attention", "left_padding", [f32(*x), f32(*w), f32(*b), left], dict(num_heads=2, unidirectional=1, mask_filter_value=-100.0)
    yield "Attention", "sizes", [f32(*x), f32(8, 28), f32(28)], dict(num_heads=2, qkv_hidden_sizes=[8, 8, 12])
    yield "Attention", "attention_bias", [f32(*x), f32(*w), f32(*b), None, None, f32(1, 2, 3, 3)], heads
    yield "Attention", "scale", [f32(*x), f32(*w), f32(*b)], dict(num_heads=4, scale=0.3)
    yield "Attention", "past", [f32(*x), f32(*w), f32(*b), None, f32(2, 2, 2, 5, 4)], present
    yield "Attention", "past_mask", [f32(*x), f32(*w), f32(*b), (rng.random((2, 8)) < 0.7).astype(np.int32), f32(2, 2, 2, 5, 4)], \
        dict(present, unidirectional=1)
    q, k = (2, 3, 8), (2, 5, 8)
    yield "MultiHeadAttention", "padding", [f32(*q), f32(*k), f32(*k), None, i32([1, 1, 0, 1, 0], [1, 1, 1, 1, 1])], heads
    yield "MultiHeadAttention", "ends", [f32(*q), f32(*k), f32(*k), None, i32(3, 5)], heads
    yield "MultiHeadAttention", "pairs", [f32(*q), f32(*k), f32(*k), None, (rng.random((2, 3, 5)) < 0.7).astype(np.int32)], heads
    yield "MultiHeadAttention", "padding_causal", [f32(*q), f32(*q), f32(*q), f32(24), left], dict(num_heads=2, unidirectional=1)
    yield "MultiHeadAttention", "crossed", [f32(*q), f32(2, 2, 5, 4), f32(2, 2, 5, 4)], heads
    apart = [f32(*q), f32(*q), f32(*q)], [f32(*q), f32(*k), f32(*k)]
    packed = beside(*apart[0])
    yield "MultiHeadAttention", "packed", [packed], dict(num_heads=2, twin=("MultiHeadAttention", apart[0], heads))
    bias = f32(24)
    yield "MultiHeadAttention", "packed_bias", [packed, None, None, bias], \
        dict(num_heads=2, twin=("MultiHeadAttention", [*apart[0], bias], heads))
    yield "MultiHeadAttention", "packed_keys", [apart[1][0], beside(*apart[1][1:])], \
        dict(num_heads=2, twin=("MultiHeadAttention", apart[1], heads))
    yield "MultiHeadAttention", "values", [f32(*q), f32(*k), f32(2, 5, 12)], heads
    yield "MultiHeadAttention", "past_padding", [f32(2, 2, 8), f32(2, 2, 8), f32(2, 2, 8), f32(24), (rng.random((2, 5)) < 0.7).astype(np.int32),
                                                 f32(2, 2, 2, 5), f32(2, 2, 3, 4), f32(2, 2, 3, 4)], keys
    group = dict(num_heads=4, kv_num_heads=2, outputs="y,present_key,present_value")
    cos, sin = f32(16, 8), f32(16, 8)
    past = [f32(2, 2, 6, 16), f32(2, 2, 6, 16)]
    prompt = [f32(2, 5, 64), f32(2, 5, 32), f32(2, 5, 32), None, None, i32(4, 4), i32(5)]
    later = [f32(2, 1, 64), f32(2, 1, 32), f32(2, 1, 32), *past, i32(4, 6), i32(7)]
    yield "GroupQueryAttention", "prompt", prompt, group
    yield "GroupQueryAttention", "later", later, group
    yield "GroupQueryAttention", "rotary", [*prompt, cos, sin], dict(group, do_rotary=1)
    yield "GroupQueryAttention", "rotary_later", [*later, cos, sin], dict(group, do_rotary=1)
    yield "GroupQueryAttention", "interleaved", [*prompt, cos, sin], dict(group, do_rotary=1, rotary_interleaved=1)
    yield "GroupQueryAttention", "packed", [f32(1, 4, 128), None, None, f32(1, 2, 3, 16), f32(1, 2, 3, 16), i32(6), i32(7), cos, sin], \
        dict(group, do_rotary=1, scale=0.2)
    yield "GroupQueryAttention", "window", prompt, dict(group, local_window_size=2)
    yield "GroupQueryAttention", "softcap", prompt, dict(group, softcap=1.5)
    yield "GroupQueryAttention", "smooth", prompt, dict(group, smooth_softmax=1)
    yield "GroupQueryAttention", "sink", [*prompt, None, None, None, None, f32(4)], group
    yield "GroupQueryAttention", "bias", [*prompt, None, None, None, f32(2, 1, 5, 5)], group
    yield "GroupQueryAttention", "places", [*prompt, cos, sin, np.array([[3, 4, 5, 6, 7], [0, 1, 2, 3, 9]], np.int64)], dict(group, do_rotary=1)
    yield "GroupQueryAttention", "places_later", [*later, cos, sin, np.array([[9], [4]], np.int64)], dict(group, do_rotary=1)
    quantized = [u8(2, 3, 8), i8(8, 24), f32(24), s(0.02), s(0.03)]
    yield "QAttention", "", quantized, heads
    yield "QAttention", "zeros", [*quantized, left, z(120), z(3, np.int8)], dict(num_heads=2, unidirectional=1)
    yield "QAttention", "columns", [u8(2, 3, 8), u8(8, 24), f32(24), s(0.02), np.abs(f32(24)) / 32, i32(2, 3), z(120), u8(24)], heads
    yield "QAttention", "past", [*quantized, None, z(7), z(0, np.int8), f32(2, 2, 2, 4, 4)], present
    yield "RotaryEmbedding", "ms", [f32(2, 3, 32), np.array([[0, 1, 2], [5, 6, 7]]), cos, sin], {}
    yield "RotaryEmbedding", "ms_first", [f32(2, 2, 3, 16), np.array([4]), cos, sin], dict(interleaved=1)
    yield "RotaryEmbedding", "ms_part", [f32(2, 3, 40), np.array([[0, 1, 2], [5, 6, 7]]), cos, sin], dict(num_heads=2, rotary_embedding_dim=16)


def turned_attention(x, w, b, heads, past=None, turned=None, **_):
    """Attention with do_rotary in FP64, by its definition: there is no kernel on a CPU. Feature i of a head's first half is turned with
    feature i of the second by place / 10000^(2 i / turned); places go on behind the past, whose keys are turned already."""
    batch, length, size = *x.shape[:2], w.shape[1] // 3 // heads
    q, k, v = (np.moveaxis(part.reshape(batch, length, heads, size), 1, 2) for part in np.split(x.astype(float) @ w + b, 3, axis=2))
    first = 0 if past is None else past.shape[3]
    half = (turned or size) // 2
    angle = np.arange(first, first + length)[:, None] / 10000.0 ** (np.arange(half) / half)

    def turn(t):
        one, two, rest = t[..., :half], t[..., half:2 * half], t[..., 2 * half:]
        return np.concatenate([one * np.cos(angle) - two * np.sin(angle), two * np.cos(angle) + one * np.sin(angle), rest], axis=-1)
    q, k = turn(q), turn(k)
    if past is not None:
        k, v = np.concatenate([past[0], k], axis=2), np.concatenate([past[1], v], axis=2)
    scores = q @ np.swapaxes(k, 2, 3) / np.sqrt(size)
    scores = np.where(np.arange(first + length) <= first + np.arange(length)[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    y = np.moveaxis(weights / weights.sum(axis=-1, keepdims=True) @ v, 1, 2).reshape(batch, length, -1)
    return [r.astype(np.float32) for r in ([y] if past is None else [y, np.stack([k, v])])]


def decoder_cases():
    """What decoders have: rotation inside Attention, caches of codes."""
    causal = dict(num_heads=2, unidirectional=1, do_rotary=1)
    x, w, b = f32(2, 3, 16), f32(16, 48) / 4, f32(48)
    yield "Attention", "rotary", [x, w, b], dict(causal, twin=lambda: turned_attention(x, w, b, 2))
    past, one = f32(2, 2, 2, 5, 8), f32(2, 1, 16)
    yield "Attention", "rotary_past", [one, w, b, None, past], \
        dict(causal, outputs="y,present", twin=lambda: turned_attention(one, w, b, 2, past))
    wide = f32(1, 4, 16), f32(16, 192) / 4, f32(192)
    yield "Attention", "rotary_part", [*wide], dict(causal, rotary_embedding_dim=16, twin=lambda: turned_attention(*wide, 2, turned=16))
    # scales so large that some codes reach the ends of their range
    group = dict(num_heads=4, kv_num_heads=2, outputs="y,present_key,present_value")
    cos, sin = f32(16, 8), f32(16, 8)
    for bits, draw, size, scale in ((8, i8, 16, 0.015), (4, u8, 8, 0.25)):
        for kind, shape in (("PER_TENSOR", (1,)), ("PER_CHANNEL", (1, 2, 1, 16))):
            quantized = dict(group, k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=bits)
            scales = [((0.5 + np.abs(f32(*shape))) * scale).astype(np.float32) for _ in range(2)]
            name = f"codes{bits}_{kind[4:].lower()}"
            yield "GroupQueryAttention", name, [f32(2, 5, 64), f32(2, 5, 32), f32(2, 5, 32), draw(2, 2, 0, size), draw(2, 2, 0, size),
                                                i32(4, 4), i32(5), None, None, None, None, None, *scales], quantized
            yield "GroupQueryAttention", f"{name}_later", \
                [f32(1, 2, 64), f32(1, 2, 32), f32(1, 2, 32), draw(1, 2, 6, size), draw(1, 2, 6, size), i32(7), i32(8), cos, sin,
                 None, None, None, *scales], dict(quantized, do_rotary=1)
    prompt = [f32(2, 5, 64), f32(2, 5, 32), f32(2, 5, 32), None, None, i32(4, 3), i32(5)]
    later = [f32(2, 1, 64), f32(2, 1, 32), f32(2, 1, 32), f32(2, 2, 6, 16), f32(2, 2, 6, 16), i32(4, 6), i32(7)]
    yield "GroupQueryAttention", "both_ways", prompt, dict(group, causal=0)
    norms = [np.abs(f32(16)), np.abs(f32(16))]
    for name, inputs, epsilons in (("", prompt, {}), ("_later", later, {"qk_norm_epsilon": 0.25}),
                                   ("_epsilons", prompt, {"q_norm_epsilon": 0.5, "k_norm_epsilon": 0.125})):
        eps = [epsilons.get(e, epsilons.get("qk_norm_epsilon", 1e-6)) for e in ("q_norm_epsilon", "k_norm_epsilon")]
        turned = dict(group, do_rotary=1)
        normal = [normalized(t, w, e) for t, w, e in zip(inputs, norms, eps)] + inputs[2:]
        yield "GroupQueryAttention", "norm" + name, [*inputs, cos, sin, None, None, None, None, None, *norms], \
            dict(turned, **epsilons, twin=("GroupQueryAttention", [*normal, cos, sin], turned))
    for kind, shape in (("PER_TENSOR", (1,)), ("PER_CHANNEL", (1, 2, 1, 16))):
        # scales so small that some codes reach the end of their range
        scales = [((0.5 + np.abs(f32(*shape))) * 0.004).astype(np.float32) for _ in range(2)]
        codes = [to_fp8(f32(1, 2, 6, 16) * 100) for _ in range(2)]
        new = [f32(1, 2, 64), f32(1, 2, 32), f32(1, 2, 32)]
        quantized = dict(group, k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=8)
        yield "GroupQueryAttention", f"fp8_{kind[4:].lower()}_later", \
            [*new, *codes, i32(7), i32(8), None, None, None, None, None, *scales], \
            dict(quantized, twin=functools.partial(attention_of_fp8, new, codes, scales, group))


def quantized_cases():
    """What static quantisation writes: QGemm, and tables of codes."""
    a = u8(3, 8) // 2  # UINT8 by INT8 saturates pairs of products on processors without VNNI; these stay below
    b = [i8(8, 5), (0.5 + np.abs(f32(5))) / 64, i8(5) * 0, i32(100, -200, 300, 0, 7)]
    b[1] = b[1].astype(np.float32)
    yield "QGemm", "", [a, s(0.02), z(120), *b, s(0.05), z(110)], dict(alpha=0.5)
    yield "QGemm", "turned", [i8(8, 3), s(0.02), z(-3, np.int8), i8(5, 8), s(0.01), z(4, np.int8), None, s(0.06), z(5, np.int8)], \
        dict(transA=1, transB=1)
    yield "QGemm", "float", [a, s(0.02), z(120), *b], {}
    yield "QGemm", "zeros", [u8(3, 8), s(0.02), z(120), u8(5, 8), b[1], u8(5), b[3]], dict(transB=1)
    scales = np.abs(f32(6, 3)) / 8
    ids = np.array([[0, 5], [3, 3]], np.int64)
    yield "GatherBlockQuantized", "bytes", [u8(6, 40), ids, scales, u8(6, 3)], dict(bits=8, block_size=16)
    yield "GatherBlockQuantized", "middle", [u8(6, 40), ids, scales], dict(bits=8, block_size=16)
    yield "GatherBlockQuantized", "nibbles", [u8(6, 20), i32(-1, 2), scales, u8(6, 2)], dict(bits=4, block_size=16)
    for name, kind in (("int4", ml_dtypes.int4), ("uint4", ml_dtypes.uint4)):
        low = -8 if name == "int4" else 0
        codes = [rng.integers(low, low + 16, shape).astype(np.int8) for shape in ((6, 40), (6, 3), (3, 40, 5), (3, 3, 5))]
        table = [c.astype(kind) for c in codes]
        yield "GatherBlockQuantized", name, [table[0], ids, scales, table[1]], \
            dict(block_size=16, twin=functools.partial(gather_blocks, codes[0], ids, scales, codes[1], 0, 1))
        wide = (np.abs(f32(3, 3, 5)) / 8).astype(np.float32)
        for axis in (0, 1, 2):
            yield "GatherBlockQuantized", f"{name}_{axis}", [table[2], i32(2, 0), wide, table[3]], \
                dict(block_size=16, gather_axis=axis, quantize_axis=1,
                     twin=functools.partial(gather_blocks, codes[2], i32(2, 0), wide, codes[3], axis, 1))


    def codes(*shape):
        return rng.integers(-60, 60, shape).astype(np.int8)  # see above
    zero = z([0], np.int8)
    lstm = dict(hidden_size=6, outputs="y,y_h,y_c")
    x, w, r, b = f32(4, 1, 5), codes(1, 5, 24), codes(1, 6, 24), f32(1, 48) / 4
    yield "DynamicQuantizeLSTM", "", [x, w, r, b, None, None, None, None, s([0.01]), zero, s([0.012]), zero], lstm
    each = [((0.5 + np.abs(f32(2, 24))) / 100).astype(np.float32) for _ in range(2)]
    zeros = [z([[0] * 24] * 2, np.int8)] * 2
    both = [codes(2, 5, 24), codes(2, 6, 24), f32(2, 48) / 4]
    yield "DynamicQuantizeLSTM", "both_ways", \
        [f32(4, 1, 5), *both, None, f32(2, 1, 6), f32(2, 1, 6), f32(2, 18) / 4, each[0], zeros[0], each[1], zeros[1]], \
        dict(lstm, direction="bidirectional")
    w, r = u8(1, 5, 24) // 2, u8(1, 6, 24) // 2
    yield "DynamicQuantizeLSTM", "zeros", [f32(4, 1, 5), w, r, b, i32(3), None, None, None, s([0.01]), z([60]), s([0.012]), z([66])], \
        dict(lstm, direction="reverse", clip=1.5)
    yield "DynamicQuantizeLSTM", "items", [f32(4, 3, 5), w, r, b, i32(3, 2, 1), None, None, None, s([0.01]), z([60]), s([0.012]), z([66])], lstm
    yield from state_cases()


def state_cases():
    """Gated linear attention, and caches that drop positions or are read by blocks"""
    norm = lambda x: x / np.linalg.norm(x, axis=-1, keepdims=True)
    ends = np.array([0, 1, 4], np.int32)
    yield "GatedDeltaNet", "ragged", [f32(4, 1, 8), norm(f32(4, 1, 8)), f32(4, 2, 6), ends, f32(4, 2), f32(4, 2), f32(2, 2, 6, 8), f32(2), f32(2)], \
        dict(gate_activation="softplus", beta_activation="sigmoid", qk_l2_norm=1, outputs="y,state")
    yield "GatedDeltaNet", "kda", [f32(2, 3, 2, 4), norm(f32(2, 3, 2, 4)), f32(2, 3, 2, 4), None, f32(2, 3, 2, 4), f32(2, 3, 2), f32(2, 2, 4, 4), f32(2), f32(2)], \
        dict(gate_activation="kda", scale=0.5, outputs="y,state")
    yield "GatedDeltaNet", "packed", [f32(3, 2 * 8 + 2 * 6), None, None, None, -np.abs(f32(3, 2)), None, f32(1, 2, 6, 8)], dict(update_rule="gated", outputs="y,state")
    yield "LinearAttentionGate", "", [f32(2, 3, 4), f32(4), -np.exp(f32(4)), f32(2, 3, 4)], dict(outputs="y,beta")
    yield "GatedRMSNorm", "", [f32(2, 3, 8), f32(4), f32(2, 3, 8)], dict(activation="silu", epsilon=1e-6)
    yield "GatedRMSNorm", "sigmoid", [f32(2, 3, 8), f32(8), f32(2, 3, 8)], dict(activation="sigmoid")
    yield "ScaledSiLU", "", [f32(2, 3, 4)], dict(alpha=1.702)
    yield "GatedAdd", "", [f32(2, 3, 4), f32(2, 3, 4), f32(2, 3, 1)], {}
    yield "BranchwiseRMSNorm", "", [f32(2, 3, 2, 4), f32(8)], {}
    yield "BranchwiseRMSNorm", "flat", [f32(2, 3, 8), f32(4)], dict(num_branches=2)
    heads = dict(num_heads=2, kv_num_heads=1, outputs="y,keys,values")
    caches = lambda n: [f32(1, 1, n, 16), f32(1, 1, n, 16)]
    turned = [np.cos(f32(40, 8)), np.sin(f32(40, 8))]
    query = lambda n: [f32(1, n, 32), f32(1, n, 16), f32(1, n, 16)]
    # 3 of 4 places are held after 7 positions, 4 of 4 after 6: all that is resident is specified
    full = [*query(2), *caches(4), i32(5), i32(6), *turned]
    yield "GroupQueryAttention", "window_cache", full, dict(heads, local_window_size=3, sliding_window_cache=1, do_rotary=1)
    blocks = [np.array([[0, 1, 2], [0, 1, 3]], np.int32), np.array([[0, 1, -1], [0, 0, 1]], np.int32)]
    sparse = [*query(1), *caches(32), *blocks, i32(18), i32(18), *turned]
    attributes = dict(heads, sparse_block_size=16, do_rotary=1)
    yield "SparseAttention", "", sparse, dict(attributes, twin=functools.partial(in_place, "SparseAttention", sparse, attributes, {1: 3, 2: 4}))


def declared_cases():
    """Values whose quotient is another integer's when it is rounded to FP16 first, and their neighbours."""
    x, scale = (f32(4000) * 30).astype(np.float16), np.array(0.27, np.float16)
    wide = np.rint(x.astype(np.float32) / np.float32(scale))
    off = np.flatnonzero((np.rint(x / scale) != wide) & (wide > 0))
    x = x[np.unique([off - 1, off])]
    for opset in (21, 23):
        yield "QuantizeLinear", f"half_{opset}", [x, scale], dict(domain="", opset=opset)


def gather_blocks(data, ids, scales, zeros, axis, along):
    """In FP32 by its definition: ONNX Runtime takes no 4-bit types from Python."""
    spread = [np.repeat(t, 16, axis=along).take(range(data.shape[along]), axis=along) for t in (scales, zeros)]
    return [((data - spread[1].astype(np.float32)) * spread[0]).take(ids, axis=axis)]


def normalized(x, weight, epsilon):
    """The features of each head over their root mean square, times a weight, in FP64."""
    heads = x.reshape(*x.shape[:2], -1, 16).astype(float)
    return (heads / np.sqrt((heads ** 2).mean(axis=-1, keepdims=True) + epsilon) * weight).reshape(x.shape).astype(np.float32)


def to_fp8(x):
    """Rounded to nearest, 448 where it is more."""
    return np.clip(x, -448, 448).astype(ml_dtypes.float8_e4m3fn)


def attention_of_fp8(new, codes, scales, group):
    """GroupQueryAttention with caches of FLOAT8E4M3FN, of two new positions behind six: there is no kernel on a CPU. Codes are what the caches
    have, attention reads what they stand for."""
    fresh = [to_fp8(np.moveaxis(x.reshape(1, 2, 2, 16), 1, 2) * (np.float32(1) / scale)) for x, scale in zip(new[1:], scales)]
    past = [c.astype(np.float32) * scale for c, scale in zip(codes, scales)]
    now = [np.moveaxis(c.astype(np.float32) * scale, 2, 1).reshape(1, 2, 32) for c, scale in zip(fresh, scales)]
    y = run("GroupQueryAttention", [new[0], *now, *past, i32(7), i32(8)], group)[0]
    return [y, *(np.concatenate([c, f], axis=2) for c, f in zip(codes, fresh))]


def make_model(op, arrays, attributes):
    """The model of one node, its given inputs by name, and its outputs' names."""
    attributes = dict(attributes)
    attributes.pop("twin", None)
    domain = attributes.pop("domain", "com.microsoft")
    opset = attributes.pop("opset", 13) if domain == "" else 13
    outputs = attributes.pop("outputs", "y").split(",")
    names = ["" if a is None else f"x{i}" for i, a in enumerate(arrays)]
    node = helper.make_node(op, names, outputs, op, domain=domain, **attributes)
    given = {n: a for n, a in zip(names, arrays) if a is not None}
    wanted = [o for o in outputs if o]
    graph = helper.make_graph([node], op, [helper.make_tensor_value_info(n, TYPE(a.dtype), a.shape) for n, a in given.items()],
                              [helper.make_empty_tensor_value_info(o) for o in wanted])
    return helper.make_model(graph, ir_version=8, producer_name="", opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]), given, wanted


def run(op, arrays, attributes, change=np.asarray):
    runnable, feed, _ = make_model(op, arrays, attributes)
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1  # DynamicQuantizeLSTM's ranges are those of a thread's items
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(runnable.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [np.ascontiguousarray(change(r)) for r in session.run(None, feed)]


def in_place(op, arrays, attributes, shared):
    """Outputs that are inputs' buffers, by the numbers of both"""
    model, feed, wanted = make_model(op, arrays, attributes)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    values = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in feed.items()}
    binding = session.io_binding()
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for i, name in enumerate(wanted):
        if i in shared:
            binding.bind_ortvalue_output(name, list(values.values())[shared[i]])
        else:
            binding.bind_output(name)
    session.run_with_iobinding(binding)
    return [np.array(value.numpy()) for value in binding.get_outputs()]


def record(members, op, variant, arrays, attributes):
    """twin=(operator, inputs, attributes[, change]): another form of the same values, for which there is a kernel; change, if given,
    turns its results into the operator's. A function: it gives the results."""
    model, given, wanted = make_model(op, arrays, attributes)
    twin = attributes.get("twin", (op, arrays, attributes))
    results = twin() if callable(twin) else run(*twin)
    del model.graph.output[:]
    model.graph.output.extend(helper.make_tensor_value_info(o, TYPE(r.dtype), r.shape) for o, r in zip(wanted, results))
    case = "test_" + "_".join(filter(None, [op.lower(), variant]))
    add_case(members, case, model, given.items(), zip(wanted, results))


def main():
    failed = 0
    archives = {}
    for folder, (op, variant, arrays, attributes) in [*((1, case) for case in cases()), *((2, case) for case in declared_cases())]:
        try:
            record(archives.setdefault(pathlib.Path(sys.argv[folder]) / f"{op.lower()}.zip", {}), op, variant, arrays, attributes)
        except Exception as error:
            failed += 1
            print(f"{op} {variant}: {error}", file=sys.stderr)
    for path, members in archives.items():
        pack(path, members)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
