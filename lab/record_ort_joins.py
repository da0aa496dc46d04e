#!/usr/bin/env python3
"""What ONNX Runtime's CUDA provider computes of small FP16 graphs that its optimiser joins (their epsilons among them), and of sums over the first axis.

    lab/record_ort_joins.py record OUT.npz [--provider cpu]           needs onnx, onnxruntime-gpu and a GPU; --provider cpu tries the script without one
    lab/record_ort_joins.py compare PROGRAM OUT.npz ARITHMETIC [NAME...] [--level off|all]

Graphs and inputs are those that this file makes. OUT.npz: KEY|off0..., KEY|all0... the output without and with the optimiser, of sums in three sessions; KEY|graph what the optimiser made (operators, in JSON). compare:
by case the share of equal bits, our error and the recorded ones' (those of all sessions: where they differ, the order of sums is not fixed), against FP64; and whether each element is one of the sessions'.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(2911)
SESSIONS = 3
HALF, BF16 = TensorProto.FLOAT16, TensorProto.BFLOAT16


def normal(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float16)


class Graph:
    """Nodes by calls; arrays become inputs, numbers and lists constants."""

    def __init__(self, kind=HALF, opset=18):
        self.kind, self.opset, self.nodes, self.inputs, self.constants, self.last = kind, opset, [], {}, [], None

    def constant(self, value):
        integers = isinstance(value, list)
        array = np.array(value, np.int64) if integers else np.asarray(value)
        name = f"c{len(self.constants)}"
        if integers or array.dtype.kind in "ib":
            self.constants.append(numpy_helper.from_array(array, name))
        else:
            self.constants.append(helper.make_tensor(name, self.kind, array.shape, np.asarray(array, np.float32).ravel().tolist()))
        return name

    def given(self, array):
        name = f"x{len(self.inputs)}"
        self.inputs[name] = array
        return name

    def __call__(self, op, *inputs, domain="", **attributes):
        names = [value if isinstance(value, str) else self.constant(value) for value in inputs]
        self.last = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [self.last], name=f"n{len(self.nodes)}", domain=domain, **attributes))
        return self.last

    def model(self):
        values, nodes = [], list(self.nodes)
        for name, array in self.inputs.items():
            held = array.dtype.kind == "f"
            kind = TensorProto.FLOAT if held and self.kind == BF16 else self.kind if held else helper.np_dtype_to_tensor_dtype(array.dtype)
            if held and self.kind == BF16:
                nodes.insert(0, helper.make_node("Cast", ["in_" + name], [name], to=BF16))
            values.append(helper.make_tensor_value_info("in_" + name if held and self.kind == BF16 else name, kind, array.shape))
        out = self.last
        if self.kind == BF16:
            nodes.append(helper.make_node("Cast", [out], ["y"], to=TensorProto.FLOAT))
            out = "y"
        graph = helper.make_graph(nodes, "small", values, [helper.make_tensor_value_info(out, TensorProto.FLOAT if self.kind == BF16 else self.kind, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset), helper.make_opsetid("com.microsoft", 1)], ir_version=10)

    def feeds(self):
        return {("in_" + name if self.kind == BF16 and array.dtype.kind == "f" else name): array.astype(np.float32) if self.kind == BF16 and array.dtype.kind == "f" else array for name, array in self.inputs.items()}


def cases():
    """KEY, Graph."""
    for kind, title in ((HALF, ""), (BF16, "bf16.")):
        for rows in (64, 200, 256, 400, 768, 1000, 4096, 16384):
            for columns in (1, 7, 16, 32, 100, 600):
                if rows * columns > 2**20 or (kind == BF16 and rows in (64, 400, 1000)):
                    continue
                for op in ("ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceLogSum") if columns in (16, 100) else ("ReduceSum",):
                    g = Graph(kind)
                    x = g.given(np.abs(normal(rows, columns)) if op == "ReduceLogSum" else normal(rows, columns))
                    g(op, x, [0], keepdims=0)
                    yield f"first.{title}{op}.{rows}.{columns}", g
        g = Graph(kind)
        g("ReduceSum", g.given(normal(16, 32, 12)), [0, 1], keepdims=1)
        yield f"first.{title}two", g
        g = Graph(kind)
        g("ReduceSum", g.given(normal(600, 1, 12)), [0, 1], keepdims=1)
        yield f"first.{title}one", g
        g = Graph(kind)
        g("ReduceSum", g.given(normal(1, 600, 12)), [1], keepdims=0)
        yield f"first.{title}second", g
        g = Graph(kind)
        g("ReduceSum", g.given(normal(700, 40)), [0, 1], keepdims=0)
        yield f"first.{title}all", g
    for alpha in (1.702, 1.0, 0.7):
        for first in (False, True):
            for before in ("", "MatMul", "Conv", "Add"):
                g = Graph()
                if before == "MatMul":
                    x = g("MatMul", g.given(normal(16, 64)), normal(64, 64, scale=0.2))
                elif before == "Conv":
                    x = g("Conv", g.given(normal(1, 8, 12, 12)), normal(16, 8, 3, 3, scale=0.2), normal(16))
                elif before == "Add":
                    x = g("Add", g.given(normal(16, 64, scale=3)), normal(64))
                else:
                    x = g.given(normal(16, 256, scale=3))
                v = x if alpha == 1.0 else g("Mul", x, np.float16(alpha)) if first else g("Mul", np.float16(alpha), x)
                s = g("Sigmoid", v)
                g("Mul", x, s) if first else g("Mul", s, x)
                yield f"quick.{alpha}.{int(first)}.{before}", g
    heads, q, k, size = 4, 33, 40, 32
    for title, shape in (("4d", (2, heads)), ("3d", (heads,)), ("2d", ())):
        for scaled in ("q", "q/", "k", "both", "after", "after/", "q+after", "none"):
            for turned in (False, True):
                g = Graph()
                a, b = g.given(normal(*shape, q, size)), g.given(normal(*shape, *((k, size) if turned else (size, k))))
                if turned:
                    b = g("Transpose", b, perm=list(range(len(shape))) + [len(shape) + 1, len(shape)])
                if scaled in ("q", "both", "q+after"):
                    a = g("Mul", a, np.float16(0.1768))
                if scaled == "q/":
                    a = g("Div", a, np.float16(5.657))
                if scaled in ("k", "both"):
                    b = g("Mul", b, np.float16(0.4204))
                y = g("MatMul", a, b)
                if scaled in ("after", "q+after"):
                    y = g("Mul", y, np.float16(0.1768))
                if scaled == "after/":
                    y = g("Div", y, np.float16(5.657))
                yield f"scale.{title}.{scaled}{'.turned' * turned}", g
    for title, shape, mask in (("row", (2, heads, q, k), (1, 1, 1, k)), ("batch", (2, heads, q, k), (2, 1, 1, k)), ("square", (2, heads, q, k), (1, 1, q, k)), ("full", (2, heads, q, k), (2, heads, q, k)), ("heads", (2, heads, q, k), (1, heads, q, k)), ("long", (1, 2, 5, 1500), (1, 1, 1, 1500)), ("line", (6, k), (k,))):
        for how in ("Add", "Where", "Sub", "scaled", "plain", "float"):
            g = Graph()
            x = g.given(normal(*shape, scale=3))
            hidden = RANDOM.random(mask) < 0.2
            if how == "scaled":
                x = g("Mul", x, np.float16(0.1768))
            if how == "float":
                x = g("Cast", x, to=TensorProto.FLOAT)
                g.last = g("Cast", g("Softmax", x, axis=-1), to=HALF)
            elif how == "Where":
                g("Softmax", g("Where", g.constant(hidden), np.float16(-10000), x), axis=-1)
            elif how == "plain":
                g("Softmax", x, axis=-1)
            else:
                g("Softmax", g("Sub" if how == "Sub" else "Add", x, np.where(hidden, np.float16(10000 if how == "Sub" else -10000), np.float16(0)) + normal(*mask)), axis=-1)
            yield f"softmax.{title}.{how}", g
    yield from attentions()
    for rows, heads, size in ((8, 4, 32), (40, 4, 64), (64, 2, 128), (33, 2, 24), (300, 2, 64)):
        hidden, batch = heads * size, 2
        for title, mask in (("keys", np.array([[1] * rows, [1] * (rows - 3) + [0] * 3], np.int32)), ("pairs", (RANDOM.random((batch, rows, rows)) < 0.8).astype(np.int32)), ("ends", np.array([rows, rows - 3], np.int32))):
            for op in ("Attention", "MultiHeadAttention"):
                for kind in (HALF, BF16):
                    if (kind == BF16 and size not in (24, 64)) or (op == "MultiHeadAttention" and title == "pairs"):
                        continue
                    g = Graph(kind)
                    if op == "Attention":
                        g(op, g.given(normal(batch, rows, hidden)), normal(hidden, 3 * hidden, scale=hidden**-0.5), normal(3 * hidden, scale=0.1), g.given(mask), domain="com.microsoft", num_heads=heads)
                    else:
                        g(op, *(g.given(normal(batch, rows, hidden)) for _ in "qkv"), "", g.given(mask), domain="com.microsoft", num_heads=heads)
                    yield f"masked.{'bf16.' * (kind == BF16)}{op}.{title}.{rows}.{heads}.{size}", g

    yield from norms()

def norms():
    """Normalisations written out of small values, beside which the epsilon counts."""
    for kind, title in ((HALF, ""), (BF16, "bf16.")):
        for op in ("layer", "rms"):
            for epsilon in (1e-5, 1e-6, 1e-4):
                for cast in (False, True):
                    g = Graph(kind, opset=17)
                    x = g("Mul", g.given(normal(24, 64, scale=0.004)), np.float16(1))
                    y = g("Cast", x, to=kind) if cast else x
                    if op == "layer":
                        y = g("Sub", y, g("ReduceMean", y, axes=[-1]))
                    y = g("Div", y, g("Sqrt", g("Add", g("ReduceMean", g("Pow", y, np.float16(2)), axes=[-1]), np.float16(epsilon))))
                    y = g("Mul", y, np.abs(normal(64)))
                    y = g("Add", y, normal(64)) if op == "layer" else y
                    g("Add", y, x)
                    yield f"norm.{title}{op}.{epsilon}{'.cast' * cast}", g


def attentions():
    """BERT's layer as exporters write it, with and without a mask: which operator it becomes, and its steps."""
    for batch, rows, heads, size in ((1, 16, 4, 16), (2, 33, 4, 32), (1, 200, 2, 64)):
        hidden = heads * size
        for mask in ("bert", "float", "none", "causal"):
            for where in ("after/", "q/", "after*"):
                g = Graph(opset=17)  # the optimiser looks for attention between two LayerNormalizations
                x = g("LayerNormalization", g.given(normal(batch, rows, hidden)), np.abs(normal(hidden)), normal(hidden))

                def split(perm):
                    y = g("Add", g("MatMul", x, normal(hidden, hidden, scale=hidden**-0.5)), normal(hidden, scale=0.1))
                    return g("Transpose", g("Reshape", y, [0, 0, heads, size]), perm=perm)
                query, key, value = split([0, 2, 1, 3]), split([0, 2, 3, 1]), split([0, 2, 1, 3])
                root = np.float16(size**0.5)
                query = g("Div", query, root) if where == "q/" else query
                score = g("MatMul", query, key)
                score = g("Div", score, root) if where == "after/" else g("Mul", score, np.float16(size**-0.5)) if where == "after*" else score
                if mask == "bert":
                    m = g.given((np.arange(rows) < rows - 3).astype(np.int64)[None].repeat(batch, 0))
                    m = g("Unsqueeze", g("Unsqueeze", m, [1]), [2])
                    score = g("Add", score, g("Mul", g("Sub", np.float16(1), g("Cast", m, to=HALF)), np.float16(-10000)))
                elif mask == "float":
                    score = g("Add", score, g.given(np.where(RANDOM.random((batch, 1, 1, rows)) < 0.2, np.float16(-10000), np.float16(0))))
                elif mask == "causal":
                    score = g("Add", score, np.triu(np.full((1, 1, rows, rows), -10000, np.float16), 1))
                y = g("MatMul", g("Softmax", score, axis=3), value)
                y = g("Reshape", g("Transpose", y, perm=[0, 2, 1, 3]), [0, 0, hidden])
                y = g("Add", g("MatMul", y, normal(hidden, hidden, scale=hidden**-0.5)), normal(hidden, scale=0.1))
                g("LayerNormalization", g("Add", y, x), np.abs(normal(hidden)), normal(hidden))
                yield f"attention.{batch}.{rows}.{heads}.{size}.{mask}.{where}", g


def record(given):
    from record_ort_cuda import ALL, OFF, describe, open_session
    arrays, refused = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for key, graph in cases():
            model = graph.model()
            for level, word in ((OFF, "off"), (ALL, "all")):
                if key.startswith("first") and word == "all":
                    continue
                try:
                    saved = f"{folder}/saved.onnx" if word == "all" else None
                    for turn in range(SESSIONS if key.startswith("first") else 1):
                        session = open_session(model, level, saved=saved, provider="CPUExecutionProvider" if given.provider == "cpu" else None)
                        arrays[f"{key}|{word}{turn}"] = session.run(None, graph.feeds())[0]
                    if saved:
                        arrays[key + "|graph"] = np.array(json.dumps([[n[0], n[1], {k: v for k, v in n[5].items() if k not in ("value",)}] for n in describe(onnx.load(saved))]))
                except Exception as error:  # of its many kinds
                    refused[f"{key}|{word}"] = repr(error)[:200]
    np.savez_compressed(given.file, refused=np.array(json.dumps(refused)), **arrays)
    print(f"{len(arrays)} results, {len(refused)} refused")


def compare(given):
    data = np.load(given.file)
    for key, graph in cases():
        if given.name and not any(word in key for word in given.name):
            continue
        turns = [data[name].astype(np.float64) for name in data.files if name.startswith(f"{key}|{given.level}") and name[-1].isdigit()]
        if not turns:
            continue
        with tempfile.TemporaryDirectory() as folder:
            onnx.save(graph.model(), folder + "/model.onnx")
            np.savez(folder + "/in.npz", **graph.feeds())
            made = []
            for arithmetic in (given.arithmetic, "fp64"):
                done = subprocess.run([given.program, "run", folder + "/model.onnx", "-i", folder + "/in.npz", "-a", arithmetic, "-q", "-o", folder + "/out.npz"], capture_output=True, text=True, check=False)
                if done.returncode:
                    print(f"{key}: {done.stderr.strip()}")
                    break
                made.append(list(np.load(folder + "/out.npz").values())[0].astype(np.float64))
        if len(made) < 2:
            continue
        ours, exact = made
        errors = [float(np.sqrt(np.nanmean((values - exact) ** 2))) for values in (ours, *turns)]
        equal = np.mean((turns[0] == ours) | (np.isnan(turns[0]) & np.isnan(ours)))
        operators = [n[0] for n in json.loads(str(data[key + "|graph"]))] if key + "|graph" in data.files and given.level == "all" else []
        print(f"{key:44s} {100 * equal:6.1f} %  ours {errors[0]:.3e}  recorded {' '.join(f'{e:.3e}' for e in errors[1:])}  {errors[0] / max(errors[1], 1e-300):.2f}  {' '.join(operators)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tools = parser.add_subparsers(required=True)
    part = tools.add_parser("record")
    part.set_defaults(function=record)
    part.add_argument("file", type=pathlib.Path)
    part.add_argument("--provider", default="cuda", choices=("cuda", "cpu"))
    part = tools.add_parser("compare")
    part.set_defaults(function=compare)
    for name in ("program", "file", "arithmetic"):
        part.add_argument(name)
    part.add_argument("name", nargs="*")
    part.add_argument("--level", default="all", choices=("off", "all"))
    given = parser.parse_args()
    given.function(given)


if __name__ == "__main__":
    sys.exit(main())
