#!/usr/bin/env python3
"""Write a decoder of real shape with random weights as ONNX, as onnxruntime-genai's and Hugging Face's exporters lay it out:

    scripts/make_decoder.py FOLDER --model qwen2.5-7b [--weights fp16|bf16|fp32|int4|int4-qdq] [--layers N] [--tokens N] [--past N] [--apart]

FOLDER gets model.onnx, its weights in several external files, and inputs.npz. GroupQueryAttention turns the positions and
appends to the caches; int4 weights are MatMulNBits, blocks of 32, and int4-qdq INT4 initialisers behind DequantizeLinear. Sizes from the models' configurations (config.json)."""
import argparse
import os

import numpy as np

from network_files import BF16, DRAWN, INT4, TYPES, Graph

MODELS = {  # hidden, layers, heads, heads of keys and values, head size, inner size of the MLP, vocabulary, base of the angles, biases
    "tiny": (64, 2, 4, 2, 16, 128, 320, 10000.0, True),
    "smollm-135m": (576, 30, 9, 3, 64, 1536, 49152, 10000.0, False),
    "qwen2.5-1.5b": (1536, 28, 12, 2, 128, 8960, 151936, 1000000.0, True),
    "llama-3.2-1b": (2048, 16, 32, 8, 64, 8192, 128256, 500000.0, False),
    "qwen2.5-7b": (3584, 28, 28, 4, 128, 18944, 152064, 1000000.0, True),
}
MICROSOFT = "com.microsoft"
BLOCK = 32


class Decoder(Graph):
    def __init__(self, args):
        (self.hidden, self.layers, self.heads, self.kv, self.size, self.inner, self.words, self.base, self.bias) = MODELS[args.model]
        self.layers = args.layers or self.layers
        self.int4, self.qdq = args.weights == "int4", args.weights == "int4-qdq"
        self.type = {"fp32": np.dtype("f4"), "bf16": BF16}.get(args.weights, np.dtype("f2"))
        self.args = args
        super().__init__(args.folder, args.seed)

    def floats(self, name, shape, scale):
        self.weights.add(name, shape, self.type, self.weights.draw(int(np.prod(shape)), scale))

    def linear(self, x, y, k, n, name, bias=False):
        """y = x W + b with W of k rows and n columns"""
        out = y if not bias else f"{name}.product"
        if self.int4:
            self.weights.add(f"{name}.q", (n, k // BLOCK, BLOCK // 2), "u1", self.nibbles(n * k // 2))
            self.floats(f"{name}.scales", (n * (k // BLOCK),), 0.2 * k ** -0.5)
            self.node("MatMulNBits", f"{x} {name}.q {name}.scales", out, MICROSOFT, K=k, N=n, bits=4, block_size=BLOCK)
        elif self.qdq:
            self.weights.add(f"{name}.q", (k, n), INT4, self.nibbles(n * k // 2))
            self.floats(f"{name}.scales", (k // BLOCK, n), 0.2 * k ** -0.5)
            self.node("DequantizeLinear", f"{name}.q {name}.scales", f"{name}.weight", axis=0, block_size=BLOCK)
            self.node("MatMul", f"{x} {name}.weight", out)
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
        if " " in inputs and self.args.apart:
            y, total = outputs.split()[0], outputs.split()[-1]
            self.node("Add", inputs, total)
            self.node("SimplifiedLayerNormalization", f"{total} {name}", y, axis=-1, epsilon=1e-6, stash_type=1)
        elif " " in inputs:  # the residual is added before
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

    def make(self):
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
        self.weights.add_small("one", np.ones(1, np.int64))
        self.weights.add_small("place", np.int64(1))
        self.norm("embedded", "x0", "layers.0.input_layernorm")
        residual = "embedded"
        for i in range(self.layers):
            residual = self.layer(i, residual)
        self.linear(f"x{self.layers}", "logits", self.hidden, self.words, "lm_head")
        cache = ["batch", self.kv, "past", self.size]
        inputs = {"input_ids": ("i8", ["batch", "tokens"]), "attention_mask": ("i8", ["batch", "total"])}
        outputs = {"logits": (self.type, ["batch", "tokens", self.words])}
        for i in range(self.layers):
            for what in ("key", "value"):
                inputs[f"past_key_values.{i}.{what}"] = (self.type, cache)
                outputs[f"present.{i}.{what}"] = (self.type, ["batch", self.kv, "total", self.size])
        super().write(self.args.model, inputs, outputs, {"": 21 if self.qdq else 17, MICROSOFT: 1}, ir_version=10 if self.qdq else 8)
        self.write_inputs(total)

    def write_inputs(self, total):
        turn = np.random.default_rng(self.args.seed + 2)
        arrays = {"input_ids": turn.integers(0, self.words, (1, self.args.tokens)), "attention_mask": np.ones((1, total), np.int64)}
        for i in range(self.layers):
            for what in ("key", "value"):
                arrays[f"past_key_values.{i}.{what}"] = turn.standard_normal((1, self.kv, self.args.past, self.size)).astype("f4" if self.type == BF16 else self.type)
        np.savez(os.path.join(self.args.folder, "inputs.npz"), **arrays)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--model", choices=MODELS, default="llama-3.2-1b")
    parser.add_argument("--weights", choices=("fp16", "bf16", "fp32", "int4", "int4-qdq"), default="fp16")
    parser.add_argument("--layers", type=int, help="fewer than the model has")
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--past", type=int, default=0, help="tokens in the caches")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--apart", action="store_true", help="residuals are added by nodes of their own, as PyTorch stores them")
    args = parser.parse_args()
    Decoder(args).make()


if __name__ == "__main__":
    main()
