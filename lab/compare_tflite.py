#!/usr/bin/env python3
"""Integers of TensorFlow Lite's kernels beside requant=, of single operators and of stacks of random sizes, scales and zero points.

    lab/compare_tflite.py PROGRAM [COUNT [SEED]]
    lab/compare_tflite.py --record FOLDER

needs ai-edge-litert (`pip install ai-edge-litert`). --record: tests/data/tflite, cases of the reference kernels, in `double` and of Gemm, which rounds once, in
`single`. Each network is written twice, as a .tflite file and as ONNX with DequantizeLinear and QuantizeLinear around
the operators, whose inputs are integers. Printed are the integers that are equal to those foreseen, for each kind of network: of the reference kernels, and of those
that LiteRT takes by default (XNNPACK), beside requant=double, =single and =float."""
import collections
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

try:
    import flatbuffers
    from ai_edge_litert import schema_py_generated as schema
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as e:
    print(f"skipped: {e}")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "examples"))
from case_archive import pack  # noqa: E402
from onnx_writer import initialiser, node, write_model  # noqa: E402

TYPES = {np.dtype("i1"): schema.TensorType.INT8, np.dtype("i2"): schema.TensorType.INT16, np.dtype("i4"): schema.TensorType.INT32, np.dtype("i8"): schema.TensorType.INT64}
CODES = {"Conv": schema.BuiltinOperator.CONV_2D, "Depthwise": schema.BuiltinOperator.DEPTHWISE_CONV_2D, "Gemm": schema.BuiltinOperator.FULLY_CONNECTED,
         "Add": schema.BuiltinOperator.ADD, "Mul": schema.BuiltinOperator.MUL}


class Pair:
    """One network, as it grows in both forms. A value is (name in ONNX, tensor in TFLite, shape NHWC, scale, zero point)."""

    def __init__(self, dtype):
        self.dtype, self.nodes, self.constants, self.inputs = np.dtype(dtype), [], {}, {}
        self.tensors, self.buffers, self.operators, self.codes, self.values = [], [schema.BufferT()], [], [], 0

    def tensor(self, name, shape, dtype, scales, zeros, data=None, axis=0):
        t = schema.TensorT()
        t.name, t.shape, t.type, t.buffer = name, [int(n) for n in shape], TYPES[np.dtype(dtype)], 0
        if data is not None:
            b = schema.BufferT()
            b.data = np.frombuffer(np.ascontiguousarray(data).tobytes(), "u1")
            self.buffers.append(b)
            t.buffer = len(self.buffers) - 1
        q = t.quantization = schema.QuantizationParametersT()
        q.scale, q.zeroPoint, q.quantizedDimension = np.atleast_1d(np.float32(scales)), np.atleast_1d(np.int64(zeros)), axis
        self.tensors.append(t)
        return len(self.tensors) - 1

    def constant(self, name, value):
        array = np.asarray(value)
        self.constants[name] = (5, array.shape, array.tobytes()) if array.dtype == np.int16 else value
        return name

    def value(self, name, shape, scale, zero):
        self.constant(name + "_s", np.float32(scale))
        self.constant(name + "_z", self.dtype.type(zero))
        self.nodes.append(node("DequantizeLinear", f"{name} {name}_s {name}_z", name + "_f"))
        return name, self.tensor(name, shape, self.dtype, scale, zero), shape, np.float32(scale), zero

    def given(self, shape, scale, zero):
        name = f"x{len(self.inputs)}"
        order = (0, 3, 1, 2) if len(shape) == 4 else (0, 1)
        self.inputs[name] = tuple(shape[i] for i in order)
        return self.value(name, shape, scale, zero)

    def made(self, op, options, tensors, onnx, shape, scale, zero, relu):
        """The operator's result, quantised. onnx: its node."""
        name, self.values = f"v{self.values}", self.values + 1
        self.nodes.append(onnx(name + "_p"))
        if relu:
            self.nodes.append(node("Relu", name + "_p", name + "_r"))
        self.nodes.append(node("QuantizeLinear", f"{name}_{'r' if relu else 'p'} {name}_s {name}_z", name, f"{name}_Q"))
        out = self.value(name, shape, scale, zero)
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = CODES[op]
        code.version = 4 if self.dtype == np.int16 else 3
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = len(self.codes), tensors, [out[1]]
        if relu:
            options.fusedActivationFunction = schema.ActivationFunctionType.RELU
        operator.builtinOptionsType, operator.builtinOptions = getattr(schema.BuiltinOptions, type(options).__name__[:-1]), options
        self.codes.append(code)
        self.operators.append(operator)
        return out

    def product(self, op, x, weights, w_scale, bias, scale, zero, relu, stride=1):
        """weights: OIHW or OI. VALID padding."""
        own = f"w{len(self.operators)}"
        scales = np.atleast_1d(np.float32(w_scale))
        self.constant(own, weights), self.constant(own + "_s", scales if scales.size > 1 else scales[0])
        self.constant(own + "_z", np.zeros(scales.shape, "i1") if scales.size > 1 else np.int8(0))
        self.constant(own + "_b", bias.astype("i4"))
        bias_scales = (x[3] * scales).astype("f4")
        self.constant(own + "_bs", bias_scales if scales.size > 1 else bias_scales[0])
        self.nodes.append(node("DequantizeLinear", f"{own} {own}_s {own}_z", own + "_f", axis=0))
        self.nodes.append(node("DequantizeLinear", f"{own}_b {own}_bs", own + "_bf", axis=0))
        args = f"{x[0]}_f {own}_f {own}_bf"
        if op == "Gemm":
            data, axis, options, shape = weights, 0, schema.FullyConnectedOptionsT(), (x[2][0], weights.shape[0])
            made = lambda y: node("Gemm", args, y, transB=1)  # noqa: E731
        else:
            side = [(x[2][1 + i] - weights.shape[2 + i]) // stride + 1 for i in range(2)]
            depthwise = op == "Depthwise"
            data, axis = (weights.transpose(1, 2, 3, 0), 3) if depthwise else (weights.transpose(0, 2, 3, 1), 0)
            options, shape = (schema.DepthwiseConv2DOptionsT if depthwise else schema.Conv2DOptionsT)(), (x[2][0], *side, weights.shape[0])
            options.padding, options.strideH, options.strideW = schema.Padding.VALID, stride, stride
            options.dilationHFactor = options.dilationWFactor = 1
            if depthwise:
                options.depthMultiplier = weights.shape[0] // x[2][3]
            made = lambda y: node("Conv", args, y, group=x[2][3] if depthwise else 1, strides=[stride, stride])  # noqa: E731
        w = self.tensor(own, data.shape, "i1", scales, np.zeros(scales.shape), data, axis)
        wide = self.dtype == np.int16
        b = self.tensor(own + "_b", bias.shape, "i8" if wide else "i4", bias_scales, np.zeros(scales.shape), bias.astype("i8" if wide else "i4"))
        return self.made(op, options, [x[1], w, b], made, shape, scale, zero, relu)

    def pairwise(self, op, a, b, scale, zero, relu):
        options = schema.AddOptionsT() if op == "Add" else schema.MulOptionsT()
        return self.made(op, options, [a[1], b[1]], lambda y: node(op, f"{a[0]}_f {b[0]}_f", y), a[2], scale, zero, relu)

    def write(self, folder, out):
        sub, model = schema.SubGraphT(), schema.ModelT()
        sub.tensors, sub.operators, sub.name = self.tensors, self.operators, "main"
        names = [t.name for t in self.tensors]
        sub.inputs, sub.outputs = [names.index(n) for n in self.inputs], [out[1]]
        model.version, model.subgraphs, model.buffers, model.operatorCodes = 3, [sub], self.buffers, self.codes
        builder = flatbuffers.Builder(1 << 16)
        builder.Finish(model.Pack(builder), b"TFL3")
        (folder / "model.tflite").write_bytes(builder.Output())
        element = 5 if self.dtype == np.int16 else 3
        write_model(str(folder / "model.onnx"), self.nodes, self.inputs, {out[0]: None}, self.constants, opset=21, types={n: element for n in self.inputs})


def log_uniform(rng, low, high):
    return np.float32(np.exp(rng.uniform(np.log(low), np.log(high))))


def grow(rng, pair, kind, layers):
    wide = pair.dtype == np.int16
    top = 32767 if wide else 127
    zero = lambda: 0 if wide else int(rng.integers(-128, 128))  # noqa: E731
    size = int(rng.integers(2, 9)) * 4
    shape = (64, size) if kind == "Gemm" else (1, 9, 9, int(rng.integers(1, 9)))
    x = pair.given(shape, log_uniform(rng, 1e-3, 0.1), zero())
    if kind in ("Add", "Mul"):
        y = pair.given(shape, log_uniform(rng, 1e-3, 0.1), zero())
        scale = (x[3] + y[3]) * rng.uniform(0.5, 1.2) if kind == "Add" else x[3] * y[3] * 127 * rng.uniform(0.5, 1.5)
        return pair.pairwise(kind, x, y, np.float32(scale), zero(), rng.random() < 0.3)
    for layer in range(layers):
        op = kind if layers == 1 else "Conv" if len(x[2]) == 4 else "Gemm"
        if layers > 1 and layer % 3 == 2:  # a residual
            x = pair.pairwise("Add", x, x, np.float32(x[3] * 2), zero(), False)
            continue
        channels = x[2][-1] * int(rng.integers(1, 3)) if op == "Depthwise" else x[2][-1] if layers > 1 else int(rng.integers(1, 17))
        kernel = (1, 1) if layers > 1 else tuple(int(n) for n in rng.integers(1, 4, 2))
        weight_shape = (channels, x[2][-1]) if op == "Gemm" else (channels, 1 if op == "Depthwise" else x[2][-1], *kernel)
        per_channel = op != "Gemm" and rng.random() < 0.7 or op == "Depthwise"
        w_scale = np.array([log_uniform(rng, 1e-3, 0.05) for _ in range(channels if per_channel else 1)], "f4")
        weights = rng.integers(-127, 128, weight_shape).astype("i1")
        k = int(np.prod(weight_shape[1:]))
        bias = rng.integers(-2000, 2000, channels)
        scale = np.float32(x[3] * np.max(w_scale) * np.sqrt(k) * 74 * (top / 2) / top * rng.uniform(0.7, 2))
        x = pair.product(op, x, weights, w_scale, bias, scale, zero(), rng.random() < 0.3, int(rng.integers(1, 3)) if op != "Gemm" and layers == 1 else 1)
    return x


def first_last(value):
    return value.transpose(0, 2, 3, 1) if value.ndim == 4 else value


def interpret(folder, resolver, inputs):
    interpreter = Interpreter(str(folder / "model.tflite"), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    for detail in interpreter.get_input_details():
        interpreter.set_tensor(detail["index"], first_last(inputs[detail["name"]]))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def foresee(program, folder, requant, out):
    done = subprocess.run([program, "run", folder / "model.onnx", "-i", folder / "inputs.npz", "-a", f"fp32,qdq=integer,requant={requant}".replace(",requant=float", ""),
                           "-o", folder / "out.npz"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{folder}: {done.stderr}")
    return first_last(np.load(folder / "out.npz")[out])


KINDS = [(dtype, kind, layers) for dtype in ("i1", "i2") for kind, layers in (("Conv", 1), ("Depthwise", 1), ("Gemm", 1), ("Add", 1), ("Mul", 1), ("Conv", 29), ("Gemm", 29))
         if dtype == "i1" or (layers == 1 and kind not in ("Add", "Mul"))]  # sums of INT16 are not followed


def draw(rng, folder, dtype, kind, layers):
    """A network in both forms, and inputs: the name of its output in ONNX, inputs."""
    pair = Pair(dtype)
    out = grow(rng, pair, kind, layers)
    pair.write(folder, out)
    info = np.iinfo(pair.dtype)
    inputs = {name: rng.integers(info.min, info.max + 1, shape).astype(pair.dtype) for name, shape in pair.inputs.items()}
    np.savez(folder / "inputs.npz", **inputs)
    return out[0], inputs


def message(name, array):
    return initialiser(name, (5, array.shape, array.tobytes()) if array.dtype == np.int16 else array)


def record(target):
    rng, members = np.random.default_rng(1), collections.defaultdict(dict)
    for dtype, kind, layers in KINDS:
        for i in range(4 if layers == 1 else 1 if kind == "Conv" else 0):
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                out, inputs = draw(rng, folder, dtype, kind, layers)
                made = interpret(folder, OpResolverType.BUILTIN_REF, inputs)
                made = np.ascontiguousarray(made.transpose(0, 3, 1, 2) if made.ndim == 4 else made)
                case, into = f"{kind.lower()}_{dtype}_{layers}_{i}", members["single" if kind == "Gemm" else "double"]
                into[f"{case}/model.onnx"] = (folder / "model.onnx").read_bytes()
                for n, (name, array) in enumerate(inputs.items()):
                    into[f"{case}/test_data_set_0/input_{n}.pb"] = message(name, array)
                into[f"{case}/test_data_set_0/output_0.pb"] = message(out, made)
    for name, files in members.items():
        pack(target / name / "cases.zip", files)


def main():
    if sys.argv[1] == "--record":
        return record(pathlib.Path(sys.argv[2]))
    program, count, seed = sys.argv[1], int((sys.argv[2:] or [40])[0]), int((sys.argv[3:] or [59])[0])
    rng = np.random.default_rng(seed)
    for dtype, kind, layers in KINDS:
        equal, total = collections.Counter(), 0
        for _ in range(count if layers == 1 else max(1, count // 10)):
            with tempfile.TemporaryDirectory() as temporary:
                folder = pathlib.Path(temporary)
                out, inputs = draw(rng, folder, dtype, kind, layers)
                double, single, plain = (foresee(program, folder, r, out) for r in ("double", "single", "float"))
                reference, usual = (interpret(folder, r, inputs) for r in (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN))
                total += double.size
                for kernels, made in ("reference", reference), ("default", usual):
                    for rule, foreseen in ("double", double), ("single", single), ("float", plain):
                        equal[f"{kernels} = {rule}"] += int((made == foreseen).sum())
        print(f"{'INT8' if dtype == 'i1' else '16x8'} {kind}{'' if layers == 1 else f' x {layers}'}: {total} integers; "
              + "; ".join(f"{name}: {100 * n / total:.3f} %" for name, n in equal.items()), flush=True)


if __name__ == "__main__":
    main()
