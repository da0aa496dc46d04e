#!/usr/bin/env python3
"""Random graphs in ONNX Runtime's CPU provider, optimised as users run them, beside what `--for ort` foresees.

usage: check_runtime.py [--record FOLDER] ULPSCOPE RANDOM_GRAPH|- FOLDER FIRST-LAST

Of each seed a chain of quantised operators, pairs of QuantizeLinear and DequantizeLinear between them, whose scales make ties frequent: in ort-cpu,qdq=integer (with saturating sums where this
processor has no VNNI) every element must be equal, or, where an operator stays in floats (ReduceMean), be at most a step away in one of eight: a mean of 8 or more bytes is a tie so often. A product with
dequantised weights of 2 to 16 bits, beside floats or quantised values: of which ONNX Runtime makes MatMulNBits, and of which not. And RANDOM_GRAPH's graph in FP32, not
optimised: no output may be further from FP64 than 64 times what ort-cpu is, or 64 roundings of its rms, nor be finite where that is not. Graphs with a random operator, and what ONNX Runtime
refuses or leaves unwritten, are left out. Prints a line for each violation; exits with 1 for any. --record: instead the chains as archives of test cases, of those that the seeds give."""
import argparse
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "lab"))
from case_archive import add_case, pack  # pylint: disable=wrong-import-position

KINDS = ["Add", "AveragePool", "Concat", "Conv", "GlobalAveragePool", "LeakyRelu", "MatMul", "MaxPool", "Mul", "ReduceMean", "Relu", "Sigmoid", "Softmax"]
FLOATS = {"ReduceMean"}
RANDOM = {"Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Dropout"}
RANDOM |= {"MeanVarianceNormalization"}  # its variance is a difference of two means there, which cancels; here it is not
IMAGES = {"AveragePool", "Conv", "GlobalAveragePool", "MaxPool"}
LEVELS = ort.GraphOptimizationLevel


class Chain:
    """Nodes one after another; bytes between them."""

    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)
        self.type = self.draw.choice([np.uint8, np.int8])
        self.low = int(np.iinfo(self.type).min)
        self.nodes, self.constants, self.kinds, self.serial = [], {}, [], 0
        images = self.draw.random() < 0.5
        self.shape = (1, int(self.draw.choice([3, 4, 8])), 8, 9) if images else (int(self.draw.integers(2, 12)), int(self.draw.choice([8, 17, 32])))
        self.scale = np.float32(np.exp(self.draw.uniform(-5, -1)))
        self.zero = self.any_zero()
        self.inputs = {"x": self.grid()}
        self.value = self.quantised("x", self.scale, self.zero)
        for _ in range(int(self.draw.integers(1, 4))):
            kinds = [kind for kind in KINDS if (images or kind not in IMAGES) and (not images or kind != "MatMul")]
            self.step(str(self.draw.choice(kinds)))
            if self.kinds[-1] in FLOATS:
                break  # what follows would multiply its steps
            images = len(self.shape) == 4 and min(self.shape[2:]) > 3

    def any_zero(self):
        return self.low + int(self.draw.integers(0, 256))

    def grid(self):
        return ((self.draw.integers(self.low, self.low + 256, self.shape) - self.zero) * self.scale).astype(np.float32)

    def constant(self, what, array):
        self.serial += 1
        self.constants[f"{what}{self.serial}"] = array
        return f"{what}{self.serial}"

    def node(self, op, inputs, **attributes):
        self.serial += 1
        self.nodes.append(helper.make_node(op, inputs, [f"v{self.serial}"], **attributes))
        return f"v{self.serial}"

    def quantised(self, value, scale, zero):
        parameters = [self.constant("s", np.float32(scale)), self.constant("z", self.type(zero))]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [value, *parameters]), *parameters])

    def weight(self, shape):
        return self.node("DequantizeLinear", [self.constant("w", self.draw.integers(-60, 61, shape).astype(np.int8)), self.constant("s", np.float32(2.0 ** self.draw.integers(-9, -4))), self.constant("z", np.int8(0))])

    def step(self, kind):
        self.kinds.append(kind)
        scale, zero, ratio = self.scale, self.zero, 2.0 ** self.draw.integers(-1, 2)
        if kind in ("Add", "Concat", "Mul"):
            other = f"y{self.serial}"
            self.inputs[other] = self.grid()
            made = self.node(kind, [self.value, self.quantised(other, self.scale, self.zero)], **({"axis": 0} if kind == "Concat" else {}))
            scale = self.scale * self.scale * np.float32(32) if kind == "Mul" else scale
            ratio = 1 if kind == "Concat" else ratio
        elif kind == "Conv":
            channels, size = int(self.draw.choice([4, 8])), int(self.draw.choice([1, 3]))
            made = self.node("Conv", [self.value, self.weight((channels, self.shape[1], size, size))], pads=[size // 2] * 4)
        elif kind == "MatMul":
            made = self.node("MatMul", [self.value, self.weight((self.shape[-1], int(self.draw.choice([8, 15]))))])
        elif kind in ("AveragePool", "MaxPool"):
            made = self.node(kind, [self.value], kernel_shape=[2, 2], strides=[int(self.draw.integers(1, 3))] * 2)
        else:
            attributes = {"LeakyRelu": {"alpha": 0.25}, "Softmax": {"axis": -1}, "ReduceMean": {"axes": [len(self.shape) - 1]}}.get(kind, {})
            made = self.node(kind, [self.value], **attributes)
        if kind in ("Sigmoid", "Softmax"):
            scale, ratio, zero = np.float32(1 / 256), 1, self.low
        elif self.draw.random() < 0.5:
            zero = self.any_zero()
        self.shape = run(self.model([made]), self.inputs, LEVELS.ORT_DISABLE_ALL)[0].shape
        self.scale, self.zero = np.float32(scale * np.float32(ratio)), zero
        self.value = self.quantised(made, self.scale, self.zero)

    def model(self, outputs):
        graph = helper.make_graph(self.nodes, "chain", [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in self.inputs.items()],
                                  [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs], [numpy_helper.from_array(np.asarray(array), name) for name, array in self.constants.items()])
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)).SerializeToString()


INTEGERS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT4": (-8, 7), "UINT4": (0, 15), "INT16": (-32768, 32767), "UINT16": (0, 65535)}


class Weights:
    """A MatMul or Gemm with dequantised weights; its other factor, its result may be quantised, too."""

    def __init__(self, seed):
        draw = self.draw = np.random.default_rng(seed)
        self.nodes, self.constants, self.kinds = [], [], []
        self.rows, self.k, self.n = (int(draw.choice(some)) for some in ([1, 4, 9], [8, 33, 64, 100], [1, 4, 32]))
        self.inputs = {"x": draw.standard_normal((self.rows, self.k)).astype(np.float32)}
        gemm, turned = draw.random() < 0.5, draw.random() < 0.3
        value, self.step = "x", 0.0
        if draw.random() < 0.6:
            value, _ = self.quantised("x", 8, ["INT16", "UINT16", "UINT8"])
        weight = self.weight(str(draw.choice(["INT8", "UINT8", "INT4", "UINT4", "INT16"])), turned)
        attributes = {"transB": 1} if gemm and turned else {}
        if gemm and draw.random() < 0.2:
            attributes["beta"] = 0.5
        if turned and not gemm:
            weight = self.node("Transpose", [weight], perm=[1, 0])
        value = self.node("Gemm" if gemm else "MatMul", [value, weight], **attributes)
        if draw.random() < 0.5:
            value = self.node(str(draw.choice(["Clip", "Relu", "Tanh"])), [value])
            if draw.random() < 0.5:
                value = self.node(*(("Add", [value, value]) if draw.random() < 0.3 else ("Neg", [value])))
        if draw.random() < 0.4:
            value, self.step = self.quantised(value, 16 * self.k**0.5, ["INT16", "UINT16"])
        self.value = value
        self.given = [helper.make_tensor_value_info(c.name, c.data_type, c.dims) for c in self.constants if draw.random() < 0.05]

    def node(self, op, inputs, **attributes):
        self.kinds.append(op)
        self.nodes.append(helper.make_node(op, inputs, [f"v{len(self.nodes)}"], **attributes))
        return f"v{len(self.nodes) - 1}"

    def integers(self, kind, array):
        self.constants.append(helper.make_tensor(f"c{len(self.constants)}", getattr(TensorProto, kind), array.shape, array.astype(int).ravel().tolist()))
        return self.constants[-1].name

    def floats(self, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array, np.float32), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def quantised(self, value, width, kinds):
        kind = str(self.draw.choice(kinds))
        self.kinds.append(kind)
        low, high = INTEGERS[kind]
        step = width / (high - low)
        parameters = [self.floats(step), self.integers(kind, np.array(low if self.kinds[-2:-1] == ["Relu"] and self.draw.random() < 0.5 else (low + high + 1) // 2))]
        return self.node("DequantizeLinear", [self.node("QuantizeLinear", [value, *parameters]), *parameters]), step

    def weight(self, kind, turned):
        shape, axis = ((self.n, self.k), 0) if turned else ((self.k, self.n), 1)
        low, high = INTEGERS[kind]
        block = int(self.draw.choice([8, 16, 32, 0, 0, 0]))
        parts = tuple(-(-size // block) if at != axis else size for at, size in enumerate(shape)) if block else (self.n,) if self.draw.random() < 0.5 else ()
        attributes = {"axis": 1 - axis, "block_size": block} if block else {"axis": axis}
        self.kinds.append(kind + f" blocks of {block}" * bool(block))
        codes = self.integers(kind, self.draw.integers(low, high + 1, shape))
        return self.node("DequantizeLinear", [codes, self.floats(self.draw.uniform(1, 2, parts) / high), self.integers(kind, np.full(parts, (low + high + 1) // 2))], **attributes)

    def model(self):
        graph = helper.make_graph(self.nodes, "weights", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [self.rows, self.k]), *self.given], [helper.make_tensor_value_info(self.value, TensorProto.FLOAT, None)], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def run(model, inputs, level):
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads, options.graph_optimization_level = 4, 1, level
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, {value.name: inputs[value.name] for value in session.get_inputs()})


def ours(program, folder, arithmetic):
    done = subprocess.run([program, "run", folder / "model.onnx", "-i", folder / "inputs.npz", "-a", arithmetic, "-o", folder / "out.npz", "-q"], capture_output=True, text=True, check=False)
    return dict(np.load(folder / "out.npz")) if done.returncode == 0 else None


def kernels():
    """As this processor's multiply bytes."""
    flags = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    return "ort-cpu,qdq=integer" + (",integers=saturating16" if " avx2 " in flags and "vnni" not in flags else "")


def check_chain(program, folder, seed):
    chain = Chain(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(chain.model([chain.value]))
    np.savez(folder / "inputs.npz", **chain.inputs)
    made = ours(program, folder, kernels())
    if made is None:
        return f"{'-'.join(chain.kinds)}: refused"
    steps = np.rint(np.abs(made[chain.value] - run(str(folder / "model.onnx"), chain.inputs, LEVELS.ORT_ENABLE_ALL)[0]) / chain.scale)
    off = np.count_nonzero(steps)
    if off and not (FLOATS & set(chain.kinds) and steps.max() == 1 and off <= max(1, steps.size / 8)):
        return f"{'-'.join(chain.kinds)} in {chain.type.__name__}: {off} of {steps.size} elements differ, by up to {int(steps.max())} steps"
    return ""


def check_weights(program, folder, seed):
    product = Weights(seed)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(product.model())
    np.savez(folder / "inputs.npz", **product.inputs)
    made = ours(program, folder, kernels())
    theirs = run(product.model(), product.inputs, LEVELS.ORT_ENABLE_ALL)[0].astype(np.float64)
    # FP32 sums in another order, of which the last quantiser may make a step: where values are coded and here are not, the error is 2^-9 of theirs
    bound = 2.0**-16 * np.sqrt(np.mean(np.square(theirs))) + product.step
    error = np.sqrt(np.mean(np.square(made[product.value] - theirs))) if made else np.inf
    return "" if error <= bound else f"{'-'.join(product.kinds)}: an error of {error:.2e}, {bound:.2e} at most"


def check_graph(program, folder):
    """In a process of its own: ONNX Runtime may end it."""
    model = onnx.load(folder / "model.onnx")
    # the CPU provider does not write what SkipSimplifiedLayerNormalization has beside its first output
    if any(node.op_type in RANDOM or (node.op_type.startswith("SkipSimplified") and len(node.output) > 1) for node in model.graph.node):
        return ""
    try:
        theirs = dict(zip([value.name for value in model.graph.output], run(str(folder / "model.onnx"), dict(np.load(folder / "inputs.npz")), LEVELS.ORT_DISABLE_ALL)))
    except Exception:  # of ONNX Runtime's many kinds
        return ""
    near, exact = ours(program, folder, "ort-cpu"), ours(program, folder, "fp64")
    for name, value in theirs.items():
        if not near or not exact or not isinstance(value, np.ndarray) or value.dtype.kind != "f" or not value.any() or near[name].shape != value.shape:
            continue  # zeros: outputs that it leaves as they were
        a, b, truth = (array.astype(np.float64) for array in (near[name], value, exact[name]))
        if (np.isfinite(a) != np.isfinite(b)).any():
            return f"{name}: {np.count_nonzero(np.isfinite(a) != np.isfinite(b))} elements are finite in one alone"
        a[~np.isfinite(a)] = b[~np.isfinite(b)] = np.nan
        finite = np.isfinite(a) & np.isfinite(truth)
        foreseen, real, size = (np.sqrt(np.mean(np.square(part[finite]))) if finite.any() else 0 for part in (a - truth, b - truth, truth))
        if real > 64 * max(foreseen, size * 2.0**-24):
            return f"{name}: its error is {real:.2e}, {foreseen:.2e} foreseen, values {size:.2e}"
    return ""


def alone(function, *arguments):
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, function(*arguments).encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        text = said.read()
    os.wait()
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=pathlib.Path)
    for name in ("program", "random_graph", "folder", "seeds"):
        parser.add_argument(name)
    given = parser.parse_args()
    first, last = map(int, given.seeds.split("-"))
    folder, bad, archives = pathlib.Path(given.folder), 0, {}
    ort.set_default_logger_severity(4)
    folder.mkdir(parents=True, exist_ok=True)
    if given.random_graph != "-":
        subprocess.run([given.random_graph, "-n", "1", "-o", folder / "graphs", given.seeds], check=True, capture_output=True)
    for seed in range(first, last + 1):
        if given.record:
            chain = Chain(seed)
            if FLOATS & set(chain.kinds):
                continue
            model = chain.model([chain.value])
            add_case(archives.setdefault("chain", {}), f"chain_{seed}", onnx.load_from_string(model), list(chain.inputs.items()), [(chain.value, run(model, chain.inputs, LEVELS.ORT_ENABLE_ALL)[0])])
            continue
        said = [alone(check_chain, given.program, folder / f"chain{seed}", seed), alone(check_weights, given.program, folder / f"weights{seed}", seed)]
        if (folder / f"graphs/{seed}/model.onnx").exists():
            said.append(alone(check_graph, given.program, folder / f"graphs/{seed}"))
        bad += sum(map(bool, said))
        for text in filter(None, said):
            print(f"seed {seed}: {text}", flush=True)
    for name, members in archives.items():
        pack(given.record / f"{name}.zip", members)
    print(f"{last + 1 - first} seeds, {bad} violations")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
