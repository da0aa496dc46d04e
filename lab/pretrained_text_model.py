#!/usr/bin/env python3
"""AntiBERTy as ONNX, a pretrained language model of antibodies (BERT, 8 layers, 26 million parameters, 25 tokens), whose package of version 0.1.3 has the weights, and what it loses in arithmetics:

    lab/pretrained_text_model.py pytorch_model.bin OUT
    lab/pretrained_text_model.py --judge PROGRAM OUT [ARITH...]

OUT gets model.onnx, text.npz (the heavy chains' variable domains of two known antibodies, every seventh residue masked) and labels.npy, the masked ones, for `audit --tokens`. --judge: means of the
difference of their log-probabilities from ONNX Runtime's in FP32, divergence and first choices that change: INT4 in ONNX Runtime (and what that makes of 16 tables of embeddings that differ by at
most one step of FP32) and here, and ARITH here.
Needs numpy, onnx and onnxruntime, for INT4 its quantiser's onnx_ir; no torch."""
import collections
import io
import os
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDE, HEADS, LAYERS, MASKED = 512, 8, 8, 7
TOKENS = "[PAD] [UNK] [CLS] [SEP] [MASK] A C D E F G H I K L M N P Q R S T V W Y".split()
CHAINS = ("EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS",
          "EVQLVESGGGLVQPGRSLRLSCAASGFTFDDYAMHWVRQAPGKGLEWVSAITWNSGHIDYADSVEGRFTISRDNAKNSLYLQMNSLRAEDTAVYYCAKVSYLSTASSLDYWGQGTLVTVSS")


def load(path):
    """The tensors of a file of torch.save, by name."""
    archive = zipfile.ZipFile(path)
    index = next(name for name in archive.namelist() if name.endswith("data.pkl"))

    class Reader(pickle.Unpickler):
        def persistent_load(self, pid):
            kind = {"FloatStorage": "f4", "LongStorage": "i8"}[pid[1].__name__]
            return np.frombuffer(archive.read(index[:-len("data.pkl")] + "data/" + pid[2]), kind)

        def find_class(self, module, name):
            if name == "_rebuild_tensor_v2":
                return lambda data, at, size, stride, *_: np.lib.stride_tricks.as_strided(data[at:], size, [k * data.itemsize for k in stride]).copy()
            return collections.OrderedDict if name == "OrderedDict" else type(name, (), {})

    return Reader(io.BytesIO(archive.read(index))).load()


class Bert:
    def __init__(self, weights):
        self.w, self.nodes, self.held = weights, [], {}

    def hold(self, name, array):
        self.held[name] = np.asarray(array)
        return name

    def node(self, op, inputs, out, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [out], name=out, **attributes))
        return out

    def linear(self, x, key, out, matrix=None, bias=None):
        matrix, bias = self.w[key + ".weight"] if matrix is None else matrix, self.w[key + ".bias"] if bias is None else bias
        self.node("MatMul", [x, self.hold(key + ".weight", matrix.T.copy())], out + "/MatMul")
        return self.node("Add", [out + "/MatMul", self.hold(key + ".bias", bias)], out)

    def norm(self, x, key, out):
        return self.node("LayerNormalization", [x, self.hold(key + ".weight", self.w[key + ".weight"]), self.hold(key + ".bias", self.w[key + ".bias"])], out, axis=-1, epsilon=1e-12)

    def gelu(self, x, at):
        self.node("Erf", [self.node("Div", [x, self.hold("root of 2", np.float32(2 ** 0.5))], at + "/Div")], at + "/Erf")
        self.node("Add", [at + "/Erf", self.hold("1", np.float32(1))], at + "/Add")
        return self.node("Mul", [self.node("Mul", [x, at + "/Add"], at + "/Mul"), self.hold("half", np.float32(0.5))], at)

    def layer(self, i, x):
        key, at = f"bert.encoder.layer.{i}.", f"layer.{i}/"
        for part in ("query", "key", "value"):
            self.linear(x, key + "attention.self." + part, at + part)
            self.node("Reshape", [at + part, self.hold("split", np.array([0, 0, HEADS, WIDE // HEADS]))], at + part + "/heads")
            self.node("Transpose", [at + part + "/heads"], at + part + "/turned", perm=[0, 2, 3, 1] if part == "key" else [0, 2, 1, 3])
        self.node("MatMul", [at + "query/turned", at + "key/turned"], at + "scores")
        self.node("Div", [at + "scores", self.hold("root", np.float32((WIDE // HEADS) ** 0.5))], at + "scaled")
        self.node("MatMul", [self.node("Softmax", [at + "scaled"], at + "weights", axis=-1), at + "value/turned"], at + "context")
        self.node("Transpose", [at + "context"], at + "context/turned", perm=[0, 2, 1, 3])
        joined = self.node("Reshape", [at + "context/turned", self.hold("join", np.array([0, 0, WIDE]))], at + "joined")
        middle = self.norm(self.node("Add", [self.linear(joined, key + "attention.output.dense", at + "out"), x], at + "Add"), key + "attention.output.LayerNorm", at + "norm")
        inner = self.gelu(self.linear(middle, key + "intermediate.dense", at + "inner"), at + "gelu")
        return self.norm(self.node("Add", [self.linear(inner, key + "output.dense", at + "outer"), middle], at + "Add_1"), key + "output.LayerNorm", at + "norm_1")

    def make(self):
        key, head = "bert.embeddings.", "cls.predictions."
        words = self.w[key + "word_embeddings.weight"]
        self.node("Gather", [self.hold("words", words), "input_ids"], "embedded")
        self.node("Gather", [self.node("Shape", ["input_ids"], "shape"), self.hold("one", np.int64(1))], "length", axis=0)
        self.node("Gather", [self.hold("positions", self.w[key + "position_embeddings.weight"]), self.node("Range", [self.hold("zero", np.int64(0)), "length", "one"], "places")], "placed")
        kinds = self.hold("kind 0", self.w[key + "token_type_embeddings.weight"][0])
        x = self.norm(self.node("Add", [self.node("Add", ["embedded", "placed"], "Add"), kinds], "Add_1"), key + "LayerNorm", "norm")
        for i in range(LAYERS):
            x = self.layer(i, x)
        x = self.norm(self.gelu(self.linear(x, head + "transform.dense", "head/dense"), "head/gelu"), head + "transform.LayerNorm", "head/norm")
        self.linear(x, head + "decoder", "logits", self.w.get(head + "decoder.weight", words), self.w[head + "bias"])
        value = helper.make_tensor_value_info
        graph = helper.make_graph(self.nodes, "antiberty", [value("input_ids", TensorProto.INT64, ["batch", "length"])], [value("logits", TensorProto.FLOAT, ["batch", "length", len(TOKENS)])],
                                  [numpy_helper.from_array(array, name) for name, array in self.held.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write(weights, out):
    os.makedirs(out, exist_ok=True)
    onnx.save(Bert(load(weights)).make(), out + "/model.onnx")
    ids, labels = [], []
    for chain in CHAINS:
        chain = [TOKENS.index(letter) for letter in chain[:min(map(len, CHAINS))]]
        hidden = [i % MASKED == 3 for i in range(len(chain))]
        ids.append([TOKENS.index("[CLS]"), *(TOKENS.index("[MASK]") if h else t for h, t in zip(hidden, chain)), TOKENS.index("[SEP]")])
        labels.append([-1, *(t if h else -1 for h, t in zip(hidden, chain)), -1])
    np.savez(out + "/text.npz", input_ids=np.array(ids))
    np.save(out + "/labels.npy", np.array(labels))


def judge(program, out, arithmetics):
    import onnxruntime as ort
    ids, labels = np.load(out + "/text.npz")["input_ids"], np.load(out + "/labels.npy")

    def logs(y):
        y = y.astype("f8") - y.max(-1, keepdims=True)
        return y - np.log(np.exp(y).sum(-1, keepdims=True))

    def given(l):
        return np.take_along_axis(l, np.maximum(labels, 0)[..., None], 2)[..., 0][labels >= 0]

    def run(name):
        return logs(ort.InferenceSession(f"{out}/{name}", providers=["CPUExecutionProvider"]).run(None, {"input_ids": ids})[0])

    def run_here(arithmetic, name="model.onnx"):
        subprocess.run([program, "run", f"{out}/{name}", "-i", out + "/text.npz", "-a", arithmetic, "-q", "-o", out + "/outputs.npz"], check=True)
        return logs(np.load(out + "/outputs.npz")["logits"])

    base = run("model.onnx")

    def say(name, l):
        print(f"{name}: {np.abs(given(l) - given(base)).mean():.4g} nats, KL {(np.exp(base) * (base - l)).sum(-1).mean():.3g}, {(l.argmax(-1) != base.argmax(-1)).sum()} of {labels.size} first choices", flush=True)

    right = (base.argmax(-1) == labels)[labels >= 0].mean()
    print(f"{(labels >= 0).sum()} given tokens, {right:.2f} of them the first choice, {-given(base).mean():.3f} nats")
    for arithmetic in arithmetics:
        say(arithmetic, run_here(arithmetic))
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    for level in (0, 4):
        quantiser = MatMulNBitsQuantizer(onnx.load(out + "/model.onnx"), block_size=32, is_symmetric=True, accuracy_level=level)
        quantiser.process()
        onnx.save(quantiser.model.model, f"{out}/int4.onnx")
        say(f"INT4, level {level}, ONNX Runtime", run("int4.onnx"))
        say(f"INT4, level {level}, ort-cpu", run_here("ort-cpu", "int4.onnx"))
        table = next(i for i in quantiser.model.model.graph.initializer if i.name == "words")
        words, turn, drawn = numpy_helper.to_array(table), np.random.default_rng(1), []
        for _ in range(16):
            table.CopyFrom(numpy_helper.from_array((words * (1 + turn.integers(-1, 2, words.shape) * 2.0 ** -23)).astype("f4"), "words"))
            onnx.save(quantiser.model.model, f"{out}/drawn.onnx")
            drawn.append(np.abs(given(run("drawn.onnx")) - given(base)).mean())
        print(f"INT4, level {level}, ONNX Runtime, 16 tables one step apart: {min(drawn):.4g} to {max(drawn):.4g} nats, mean {np.mean(drawn):.4g}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--judge"] and len(sys.argv) > 3:
        judge(sys.argv[2], sys.argv[3], sys.argv[4:])
    elif len(sys.argv) == 3:
        write(*sys.argv[1:])
    else:
        sys.exit(__doc__)
