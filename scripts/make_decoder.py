#!/usr/bin/env python3
"""Write a decoder of real shape with random weights as ONNX, as onnxruntime-genai's and Hugging Face's exporters lay it out:

    scripts/make_decoder.py FOLDER --model qwen2.5-7b [--weights fp16|bf16|fp32|int4] [--layers N] [--tokens N] [--past N]

FOLDER gets model.onnx, its weights in several external files, and inputs.npz. GroupQueryAttention turns the positions and
appends to the caches; int4 weights are MatMulNBits, blocks of 32. Sizes from the models' configurations (config.json)."""
import argparse
import os
import struct
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples"))
import onnx_writer as onnx  # noqa: E402

MODELS = {  # hidden, layers, heads, heads of keys and values, head size, inner size of the MLP, vocabulary, base of the angles, biases
    "tiny": (64, 2, 4, 2, 16, 128, 320, 10000.0, True),
    "llama-3.2-1b": (2048, 16, 32, 8, 64, 8192, 128256, 500000.0, False),
    "qwen2.5-7b": (3584, 28, 28, 4, 128, 18944, 152064, 1000000.0, True),
}
TYPES = {np.dtype("f4"): 1, np.dtype("u1"): 2, np.dtype("i4"): 6, np.dtype("i8"): 7, np.dtype("f2"): 10,
         np.dtype("u2"): 16}  # numpy has no BFLOAT16: its codes
MICROSOFT = "com.microsoft"
FILE_BYTES = 2 << 30  # of one external file: the next begins beyond it
BLOCK = 32
DRAWN = 1 << 22


def encode(part, dtype):
    """numbers as a tensor of that type has them"""
    if np.dtype(dtype) != np.dtype("u2"):
        return np.ascontiguousarray(part, dtype=dtype)
    codes = np.ascontiguousarray(part, dtype="f4").view("u4")
    return ((codes + 0x7fff + (codes >> 16 & 1)) >> 16).astype("u2")  # to nearest, ties to even


class Weights:
    """External files that weights are appended to, and the initialisers that point there."""

    def __init__(self, folder, seed):
        self.folder, self.initialisers, self.files, self.at = folder, [], [], FILE_BYTES
        self.drawn = np.random.default_rng(seed).standard_normal(DRAWN).astype(np.float32)
        self.turn = np.random.default_rng(seed + 1)

    def draw(self, count, scale):
        """count normal numbers: one block over and over, each time from another place and with another sign."""
        while count:
            first = int(self.turn.integers(DRAWN // 2))
            part = self.drawn[first:first + count] * np.float32(scale * self.turn.choice((-1, 1)))
            count -= len(part)
            yield part

    def add(self, name, shape, dtype, parts):
        if self.at >= FILE_BYTES:
            self.files.append(open(os.path.join(self.folder, f"model.onnx.data{len(self.files)}"), "wb"))
            self.at = 0
        self.at += -self.at % 4096
        first = self.at
        self.files[-1].seek(first)
        for part in parts:
            data = encode(part, dtype)
            self.files[-1].write(data.data)
            self.at += data.nbytes
        entries = {"location": os.path.basename(self.files[-1].name), "offset": first, "length": self.at - first}
        self.initialisers.append(b"".join(onnx.number(1, size) for size in shape) + onnx.number(2, TYPES[np.dtype(dtype)]) + onnx.block(8, name) +
                                 b"".join(onnx.block(13, onnx.block(1, key) + onnx.block(2, str(value))) for key, value in entries.items()) +
                                 onnx.number(14, 1))


def value(name, dtype, shape):
    sizes = b"".join(onnx.block(1, onnx.block(2, size) if isinstance(size, str) else onnx.number(1, size)) for size in shape)
    return onnx.block(1, name) + onnx.block(2, onnx.block(1, onnx.number(1, TYPES[np.dtype(dtype)]) + onnx.block(2, sizes)))


class Decoder:
    def __init__(self, args):
        (self.hidden, self.layers, self.heads, self.kv, self.size, self.inner, self.words, self.base, self.bias) = MODELS[args.model]
        self.layers = args.layers or self.layers
        self.int4, self.type = args.weights == "int4", np.dtype({"fp32": "f4", "bf16": "u2"}.get(args.weights, "f2"))
        self.weights, self.nodes, self.args = Weights(args.folder, args.seed), [], args

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(onnx.node(op, inputs, outputs, **attributes) + (onnx.block(7, domain) if domain else b""))

    def floats(self, name, shape, scale):
        self.weights.add(name, shape, self.type, self.weights.draw(int(np.prod(shape)), scale))

    def linear(self, x, y, k, n, name, bias=False):
        """y = x W + b with W of k rows and n columns"""
        out = y if not bias else f"{name}.product"
        if self.int4:
            self.weights.add(f"{name}.q", (n, k // BLOCK, BLOCK // 2), "u1", self.nibbles(n * k // 2))
            self.floats(f"{name}.scales", (n * (k // BLOCK),), 0.2 * k ** -0.5)
            self.node("MatMulNBits", f"{x} {name}.q {name}.scales", out, MICROSOFT, K=k, N=n, bits=4, block_size=BLOCK)
        else:
            self.floats(f"{name}.weight", (k, n), k ** -0.5)
            self.node("MatMul", f"{x} {name}.weight", out)
        if bias:
            self.floats(f"{name}.bias", (n,), 0.1)
            self.node("Add", f"{out} {name}.bias", y)

    def nibbles(self, count):
        while count:
            part = self.weights.turn.integers(0, 256, min(count, DRAWN), dtype=np.uint8)
            count -= len(part)
            yield part

    def norm(self, inputs, outputs, name):
        self.weights.add(name, (self.hidden,), self.type, (1 + 0.1 * part for part in self.weights.draw(self.hidden, 1)))
        if " " in inputs:  # the residual is added before
            self.node("SkipSimplifiedLayerNormalization", f"{inputs} {name}", outputs, MICROSOFT, epsilon=1e-6)
        else:
            self.node("SimplifiedLayerNormalization", f"{inputs} {name}", outputs, axis=-1, epsilon=1e-6, stash_type=1)

    def layer(self, i, residual):
        """x{i}: normalised, residual: not; both are replaced"""
        path, query, keys = f"layers.{i}", self.heads * self.size, self.kv * self.size
        for name, count in (("q", query), ("k", keys), ("v", keys)):
            self.linear(f"x{i}", f"{path}.{name}", self.hidden, count, f"{path}.attn.{name}_proj", self.bias)
        self.node("GroupQueryAttention", f"{path}.q {path}.k {path}.v past_key_values.{i}.key past_key_values.{i}.value seqlens_k total_sequence_length "
                  "cos_cache sin_cache", f"{path}.heads present.{i}.key present.{i}.value", MICROSOFT, num_heads=self.heads,
                  kv_num_heads=self.kv, scale=self.size ** -0.5, do_rotary=1, local_window_size=-1)
        self.linear(f"{path}.heads", f"{path}.o", query, self.hidden, f"{path}.attn.o_proj")
        self.norm(f"{residual} {path}.o", f"{path}.x - - {path}.middle", f"{path}.post_attention_layernorm")
        self.linear(f"{path}.x", f"{path}.gate", self.hidden, self.inner, f"{path}.mlp.gate_proj")
        self.linear(f"{path}.x", f"{path}.up", self.hidden, self.inner, f"{path}.mlp.up_proj")
        self.node("Sigmoid", f"{path}.gate", f"{path}.sigmoid")
        self.node("Mul", f"{path}.gate {path}.sigmoid", f"{path}.silu")
        self.node("Mul", f"{path}.silu {path}.up", f"{path}.gated")
        self.linear(f"{path}.gated", f"{path}.down", self.inner, self.hidden, f"{path}.mlp.down_proj")
        self.norm(f"{path}.middle {path}.down", f"x{i + 1} - - {path}.residual", f"{path}.next_layernorm")
        return f"{path}.residual"

    def write(self):
        total = self.args.past + self.args.tokens
        angles = np.outer(np.arange(total), self.base ** (-np.arange(0, self.size, 2) / self.size))
        for name, function in (("cos_cache", np.cos), ("sin_cache", np.sin)):
            self.weights.add(name, angles.shape, self.type, [function(angles)])
        self.floats("embed_tokens.weight", (self.words, self.hidden), 1)
        self.node("Gather", "embed_tokens.weight input_ids", "embedded")
        # the sums over attention_mask are what exporters compute of it
        self.node("ReduceSum", "attention_mask one", "lengths", keepdims=0)
        self.node("Sub", "lengths one", "lengths_less")
        self.node("Cast", "lengths_less", "seqlens_k", to=TYPES[np.dtype("i4")])
        self.node("Shape", "attention_mask", "mask_shape")
        self.node("Gather", "mask_shape place", "total_long", axis=0)
        self.node("Cast", "total_long", "total_sequence_length", to=TYPES[np.dtype("i4")])
        for name, shape, number in (("one", (1,), 1), ("place", (), 1)):
            self.weights.initialisers.append(b"".join(onnx.number(1, size) for size in shape) + onnx.number(2, 7) + onnx.block(8, name) +
                                             onnx.block(9, struct.pack("<q", number)))
        self.norm("embedded", "x0", "layers.0.input_layernorm")
        residual = "embedded"
        for i in range(self.layers):
            residual = self.layer(i, residual)
        self.linear(f"x{self.layers}", "logits", self.hidden, self.words, "lm_head")
        cache = ["batch", self.kv, "past", self.size]
        inputs = [value("input_ids", "i8", ["batch", "tokens"]), value("attention_mask", "i8", ["batch", "total"])]
        inputs += [value(f"past_key_values.{i}.{what}", self.type, cache) for i in range(self.layers) for what in ("key", "value")]
        outputs = [value("logits", self.type, ["batch", "tokens", self.words])]
        outputs += [value(f"present.{i}.{what}", self.type, ["batch", self.kv, "total", self.size]) for i in range(self.layers) for what in ("key", "value")]
        graph = (b"".join(onnx.block(1, item) for item in self.nodes) + onnx.block(2, self.args.model) +
                 b"".join(onnx.block(5, item) for item in self.weights.initialisers) +
                 b"".join(onnx.block(11, item) for item in inputs) + b"".join(onnx.block(12, item) for item in outputs))
        opsets = onnx.block(8, onnx.block(1, "") + onnx.number(2, 17)) + onnx.block(8, onnx.block(1, MICROSOFT) + onnx.number(2, 1))
        with open(os.path.join(self.args.folder, "model.onnx"), "wb") as file:
            file.write(onnx.number(1, 8) + onnx.block(7, graph) + opsets)
        self.write_inputs(total)

    def write_inputs(self, total):
        turn = np.random.default_rng(self.args.seed + 2)
        arrays = {"input_ids": turn.integers(0, self.words, (1, self.args.tokens)), "attention_mask": np.ones((1, total), np.int64)}
        for i in range(self.layers):
            for what in ("key", "value"):
                arrays[f"past_key_values.{i}.{what}"] = turn.standard_normal((1, self.kv, self.args.past, self.size)).astype("f4" if self.type == np.dtype("u2") else self.type)
        np.savez(os.path.join(self.args.folder, "inputs.npz"), **arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--model", choices=MODELS, default="llama-3.2-1b")
    parser.add_argument("--weights", choices=("fp16", "bf16", "fp32", "int4"), default="fp16")
    parser.add_argument("--layers", type=int, help="fewer than the model has")
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--past", type=int, default=0, help="tokens in the caches")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.makedirs(args.folder, exist_ok=True)
    Decoder(args).write()


if __name__ == "__main__":
    main()
