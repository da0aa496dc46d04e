#!/usr/bin/env python3
"""A small language model, trained on the text of a folder in minutes on a CPU, as ONNX with GroupQueryAttention and with attention written out:

    lab/train_text_model.py DOC OUT [--steps N]

Characters are tokens. OUT gets grouped.onnx, written.onnx, and inputs of both, grouped.npz and text.npz: one row of the part of the text that was not trained on. Needs jax, numpy and onnx; bits depend on the machine, so that nothing of it is a test's."""
import argparse
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
from onnx import TensorProto, helper, numpy_helper

WIDE, LAYERS, HEADS, GROUPS, SIZE, INNER = 96, 3, 6, 2, 16, 256
LENGTH, BATCH, RATE = 128, 8, 3e-3


def start(turn, words):
    draw = lambda *s: (turn.standard_normal(s) * s[0] ** -0.5).astype("f4")
    layer = lambda: dict(n1=np.ones(WIDE, "f4"), q=draw(WIDE, HEADS * SIZE), k=draw(WIDE, GROUPS * SIZE), v=draw(WIDE, GROUPS * SIZE), kb=np.zeros(GROUPS * SIZE, "f4"),
                         o=draw(HEADS * SIZE, WIDE), n2=np.ones(WIDE, "f4"), gate=draw(WIDE, INNER), up=draw(WIDE, INNER), down=draw(INNER, WIDE))
    return dict(embed=0.5 * draw(words, WIDE) * words ** 0.5, layers=[layer() for _ in range(LAYERS)], norm=np.ones(WIDE, "f4"), head=draw(WIDE, words))


def angles(length):
    a = np.outer(np.arange(length), 10000.0 ** (-np.arange(0, SIZE, 2) / SIZE))
    return np.cos(a).astype("f4"), np.sin(a).astype("f4")


def rms(x, w):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6) * w


def turn_heads(x, cos, sin):
    a, b = jnp.split(x, 2, -1)
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def forward(p, ids):
    length = ids.shape[1]
    cos, sin = angles(length)
    x = p["embed"][ids]
    heads = lambda t, n: t.reshape(*t.shape[:2], n, SIZE).transpose(0, 2, 1, 3)
    for l in p["layers"]:
        h = rms(x, l["n1"])
        q, k, v = heads(h @ l["q"], HEADS), heads(h @ l["k"] + l["kb"], GROUPS), heads(h @ l["v"], GROUPS)
        q, k = turn_heads(q, cos, sin), turn_heads(k, cos, sin)
        k, v = (jnp.repeat(t, HEADS // GROUPS, 1) for t in (k, v))
        s = jnp.where(np.tri(length, dtype=bool), q @ k.swapaxes(2, 3) * SIZE ** -0.5, -1e30)
        y = (jax.nn.softmax(s) @ v).transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
        x = x + y @ l["o"]
        h = rms(x, l["n2"])
        x = x + (jax.nn.silu(h @ l["gate"]) * (h @ l["up"])) @ l["down"]
    return rms(x, p["norm"]) @ p["head"]


def loss(p, ids):
    logs = jax.nn.log_softmax(forward(p, ids[:, :-1]))
    return -jnp.take_along_axis(logs, ids[:, 1:, None], 2).mean()


@jax.jit
def step(p, m, v, n, ids):
    value, grads = jax.value_and_grad(loss)(p, ids)
    tree = jax.tree_util.tree_map
    m, v = tree(lambda a, g: 0.9 * a + 0.1 * g, m, grads), tree(lambda a, g: 0.99 * a + 0.01 * g * g, v, grads)
    rate = RATE * jnp.minimum(1, n / 50)
    p = tree(lambda w, a, b: w - rate * (a / (1 - 0.9 ** n)) / (jnp.sqrt(b / (1 - 0.99 ** n)) + 1e-8), p, m, v)
    return p, m, v, value


class Writer:
    def __init__(self):
        self.nodes, self.held = [], []

    def node(self, op, inputs, outputs, domain="", **attributes):
        self.nodes.append(helper.make_node(op, inputs, outputs if isinstance(outputs, list) else [outputs], domain=domain, name=(outputs[0] if isinstance(outputs, list) else outputs), **attributes))
        return outputs if isinstance(outputs, str) else outputs[0]

    def hold(self, name, array):
        self.held.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name


def write(path, p, words, grouped, most):
    w = Writer()
    cos, sin = angles(most)
    cos, sin = w.hold("cos", cos), w.hold("sin", sin)
    inputs, outputs = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])], [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", "tokens", words])]
    if grouped:
        inputs.append(helper.make_tensor_value_info("attention_mask", TensorProto.INT64, ["batch", "total"]))
        w.hold("one", np.ones(1, "i8")), w.hold("place", np.int64(1))
        w.node("Shape", ["attention_mask"], "shape")
        w.node("Gather", ["shape", "place"], "total_long", axis=0)
        w.node("Cast", ["total_long"], "total", to=TensorProto.INT32)
        w.node("ReduceSum", ["attention_mask", "one"], "lengths", keepdims=0)
        w.node("Sub", ["lengths", "one"], "less")
        w.node("Cast", ["less"], "seqlens", to=TensorProto.INT32)
    else:
        w.hold("mask", np.where(np.tri(most, dtype=bool), 0, -1e9).astype("f4"))
        for name, value in (("zero", [0]), ("axes", [0, 1]), ("last", [1]), ("split", [0, 0, HEADS, SIZE]), ("keys", [0, 0, GROUPS, SIZE]), ("join", [0, 0, HEADS * SIZE])):
            w.hold(name, np.array(value, "i8"))
        w.node("Shape", ["input_ids"], "shape")
        w.node("Slice", ["shape", "last", w.hold("two", np.array([2], "i8"))], "length")
        w.node("Slice", ["cos", "zero", "length", "zero"], "cos_now")
        w.node("Slice", ["sin", "zero", "length", "zero"], "sin_now")
        w.node("Slice", ["mask", w.hold("zeros", np.zeros(2, "i8")), w.node("Concat", ["length", "length"], "both", axis=0), "axes"], "mask_now")
    w.hold("embed", p["embed"])
    x = w.node("Gather", ["embed", "input_ids"], "x")
    for i, l in enumerate(p["layers"]):
        at = f"layers.{i}"
        for key, value in l.items():
            w.hold(f"{at}.{key}", np.asarray(value))
        h = w.node("RMSNormalization" if not grouped else "SimplifiedLayerNormalization", [x, f"{at}.n1"], f"{at}.h", axis=-1, epsilon=1e-6)
        q = w.node("MatMul", [h, f"{at}.q"], f"{at}.queries")
        k = w.node("Add", [w.node("MatMul", [h, f"{at}.k"], f"{at}.keys_product"), f"{at}.kb"], f"{at}.keys")
        v = w.node("MatMul", [h, f"{at}.v"], f"{at}.values")
        if grouped:
            past = [f"past_key_values.{i}.key", f"past_key_values.{i}.value"]
            present = [f"present.{i}.key", f"present.{i}.value"]
            y = w.node("GroupQueryAttention", [q, k, v, *past, "seqlens", "total", cos, sin], [f"{at}.attention", *present], "com.microsoft", num_heads=HEADS, kv_num_heads=GROUPS, do_rotary=1)
            inputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", GROUPS, "past", SIZE]) for n in past]
            outputs += [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", GROUPS, "total", SIZE]) for n in present]
        else:
            parts = []
            for name, value, shape, heads in (("q", q, "split", HEADS), ("k", k, "keys", GROUPS), ("v", v, "keys", GROUPS)):
                t = w.node("Transpose", [w.node("Reshape", [value, shape], f"{at}.{name}_apart")], f"{at}.{name}_heads", perm=[0, 2, 1, 3])
                if name != "v":
                    t = w.node("RotaryEmbedding", [t, w.node("Unsqueeze", ["cos_now", "zero"], f"{at}.{name}_cos"), w.node("Unsqueeze", ["sin_now", "zero"], f"{at}.{name}_sin")], f"{at}.{name}_turned")
                if heads < HEADS:
                    t = w.node("Gather", [t, w.hold(f"{at}.{name}_which", np.repeat(np.arange(GROUPS), HEADS // GROUPS))], f"{at}.{name}_repeated", axis=1)
                parts.append(t)
            s = w.node("MatMul", [parts[0], w.node("Transpose", [parts[1]], f"{at}.k_across", perm=[0, 1, 3, 2])], f"{at}.scores")
            s = w.node("Add", [w.node("Mul", [s, w.hold(f"{at}.scale", np.float32(SIZE ** -0.5))], f"{at}.scaled"), "mask_now"], f"{at}.masked")
            y = w.node("MatMul", [w.node("Softmax", [s], f"{at}.probabilities", axis=-1), parts[2]], f"{at}.attention")
            y = w.node("Reshape", [w.node("Transpose", [y], f"{at}.y_back", perm=[0, 2, 1, 3]), "join"], f"{at}.joined")
        x = w.node("Add", [x, w.node("MatMul", [y, f"{at}.o"], f"{at}.out")], f"{at}.middle")
        h = w.node("RMSNormalization" if not grouped else "SimplifiedLayerNormalization", [x, f"{at}.n2"], f"{at}.h2", axis=-1, epsilon=1e-6)
        g = w.node("MatMul", [h, f"{at}.gate"], f"{at}.gated")
        g = w.node("Mul", [g, w.node("Sigmoid", [g], f"{at}.sigmoid")], f"{at}.silu")
        g = w.node("Mul", [g, w.node("MatMul", [h, f"{at}.up"], f"{at}.upped")], f"{at}.inner")
        x = w.node("Add", [x, w.node("MatMul", [g, f"{at}.down"], f"{at}.downed")], f"{at}.residual")
    w.hold("norm", p["norm"]), w.hold("head", p["head"])
    x = w.node("RMSNormalization" if not grouped else "SimplifiedLayerNormalization", [x, "norm"], "normal", axis=-1, epsilon=1e-6)
    w.node("MatMul", [x, "head"], "logits")
    model = helper.make_model(helper.make_graph(w.nodes, "text", inputs, outputs, w.held), opset_imports=[helper.make_opsetid("", 17 if grouped else 23), helper.make_opsetid("com.microsoft", 1)])
    model.ir_version = 10
    path.write_bytes(model.SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("doc", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--tokens", type=int, default=256)
    args = parser.parse_args()
    text = "\n".join(f.read_text() for f in sorted(args.doc.glob("*.md")))
    letters = sorted(set(text))
    ids = np.array([letters.index(c) for c in text], np.int32)
    train, held = ids[:-20000], ids[-20000:]
    turn = np.random.default_rng(1)
    p = start(turn, len(letters))
    zeros = jax.tree_util.tree_map(jnp.zeros_like, p)
    m, v = zeros, zeros
    for n in range(1, args.steps + 1):
        at = turn.integers(0, len(train) - LENGTH - 1, BATCH)
        p, m, v, value = step(p, m, v, n, np.stack([train[a:a + LENGTH + 1] for a in at]))
        if n % 50 == 0:
            print(f"step {n}: {value:.3f} nats", flush=True)
    test = held[:20 * LENGTH].reshape(20, LENGTH)
    print(f"{len(letters)} characters, held out: {loss(p, test):.3f} nats")
    args.out.mkdir(parents=True, exist_ok=True)
    p = jax.tree_util.tree_map(np.asarray, p)
    write(args.out / "grouped.onnx", p, len(letters), True, 1024)
    write(args.out / "written.onnx", p, len(letters), False, 1024)
    row = held[None, 5000:5000 + args.tokens].astype(np.int64)
    empty = {f"past_key_values.{i}.{n}": np.zeros((1, GROUPS, 0, SIZE), "f4") for i in range(LAYERS) for n in ("key", "value")}
    np.savez(args.out / "text.npz", input_ids=row)
    np.savez(args.out / "grouped.npz", input_ids=row, attention_mask=np.ones_like(row), **empty)


if __name__ == "__main__":
    main()
