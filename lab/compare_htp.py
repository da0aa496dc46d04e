#!/usr/bin/env python3
"""What QNN's HTP backend gives in FP16 on its simulator for x86-64 Linux, beside what ulpscope foresees: errors, not what the library does inside, which its licence keeps from being looked for.

    lab/compare_htp.py PROGRAM operators [NAME...]
    lab/compare_htp.py PROGRAM integers
    lab/compare_htp.py PROGRAM networks [--record FILE] MODEL.onnx=INPUTS.npz...

operators: single operators, alone and behind products: how many times as large the rms error of HTP is as that of qnn:fp16, and as that of fp16 with one rounding, and equal elements.
integers: products between QuantizeLinear of UINT16 and UINT8, beside exact sums.
networks: decibels of every output, as users run them (outputs alone, ONNX Runtime's optimiser on); --record: as a file of tests/data/targets. HTP takes static shapes: those of the inputs.
Results are rounded to FP16, as the conversion of outputs to FP32 adds a rounding of its own. Exit code 1 when an error is not half to twice as large but for those that WRONG names; or
when fewer than three quarters of the outputs lie within 3 dB. Needs onnx, onnxruntime and onnxruntime-qnn (recorded: 1.31.1, 2.7.0)."""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
import onnxruntime_qnn
from onnx import TensorProto, helper, numpy_helper

from targets_table import keep, rounded, within

PLAIN = "fp16,unit=none,constants=ieee"
# what steps.def does not follow: averages of other windows, Resize by 2, Softmax of far logits, gates of a value that is read again
WRONG = "HardSwish.named.x AveragePool.padded Resize.2 Softmax.far.64 Softmax.far.1000 Gelu.turned Tanh.glu Gelu.glu"
rng = np.random.default_rng(7)


def half(values):
    return np.asarray(values, np.float16).astype(np.float32)


def normal(*shape, scale=1.0):
    return half(scale * rng.standard_normal(shape))


def node(operator, inputs, output, **attributes):
    return helper.make_node(operator, inputs.split(), [output], **attributes)


def behind_products(operator, **attributes):
    """The operator behind what HTP makes one kernel of with it, and behind what it does not: nodes, shape, constants."""
    eye, square = np.eye(32, dtype=np.float32).reshape(32, 32, 1, 1), np.eye(32, dtype=np.float32)
    end, image, zero = node(operator, "c", "y", **attributes), (1, 32, 16, 16), np.zeros((1, 32, 1, 1), np.float32)
    conv, product = node("Conv", "x w", "c"), node("MatMul", "x w", "c")
    yield "alone", [node(operator, "x", "y", **attributes)], image, {}
    yield "conv", [conv, end], image, {"w": eye}
    yield "conv_long", [node("Conv", "x w", "c"), end], (1, 32, 256), {"w": eye[..., 0]}
    yield "conv_bias", [node("Conv", "x w", "d"), node("Add", "d b", "c"), end], image, {"w": eye, "b": zero}
    yield "conv_residual", [node("Conv", "x w", "d"), node("Add", "d x", "c"), end], image, {"w": eye}
    yield "conv_clip", [node("Conv", "x w", "d"), node("Clip", "d l h", "c"), end], image, {"w": eye, "l": np.float32(-7), "h": np.float32(7)}
    yield "depthwise", [node("Conv", "x w", "c", group=32), end], image, {"w": np.ones((32, 1, 1, 1), np.float32)}
    yield "turned", [node("Conv", "x w", "d"), node("Transpose", "d", "e", perm=[0, 2, 3, 1]), node("Reshape", "e s", "c"), end], image, {"w": eye, "s": np.array([1, 256, 32])}
    yield "conv_twice", [conv, node(operator, "c", "a", **attributes), node("Relu", "c", "b"), node("Add", "a b", "y")], image, {"w": eye}
    for rows in (1, 23, 100, 256):
        yield f"product_{rows}", [product, end], (1, rows, 32), {"w": square}
    yield "product_bias", [node("MatMul", "x w", "d"), node("Add", "b d", "c"), end], (1, 23, 32), {"w": square, "b": zero[0, :, 0, 0]}
    yield "gated", [conv, node(operator, "c", "a", **attributes), node("Mul", "c a", "y")], image, {"w": eye}
    yield "glu", [node("Conv", "x w", "c"), node("Conv", "x v", "d"), node(operator, "c", "a", **attributes), node("Mul", "d a", "y")], image, {"w": eye, "v": eye}


def cases():
    """Name, nodes, inputs, constants."""
    image, spread = (1, 32, 16, 16), lambda shape: half(rng.uniform(-8, 8, shape))
    for operator in ("Sigmoid", "Tanh", "Gelu"):
        for name, nodes, shape, constants in behind_products(operator):
            yield f"{operator}.{name}", nodes, {"x": spread(shape)}, constants
    for name, nodes, shape, constants in behind_products("HardSwish"):
        if name in ("alone", "conv", "conv_bias"):
            yield f"HardSwish.{name}", nodes, {"x": spread(shape)}, constants
    for operator in ("Elu", "Selu", "Softplus", "Mish", "HardSigmoid", "LeakyRelu", "Exp"):
        yield operator, [node(operator, "x", "y")], {"x": spread(image) / (2 if operator == "Exp" else 1)}, {}
    written = [node("Div", "c root", "a"), node("Erf", "a", "e"), node("Add", "e one", "g"), node("Mul", "c g", "m"), node("Mul", "m half", "y")]
    gelu = {"root": np.float32(2**.5), "one": np.float32(1), "half": np.float32(.5)}
    yield "Gelu.written", [node("Identity", "x", "c")] + written, {"x": spread(image)}, gelu
    yield "Gelu.written_conv", [node("Conv", "x w", "c")] + written, {"x": spread(image)}, {**gelu, "w": np.eye(32, dtype=np.float32).reshape(32, 32, 1, 1)}
    for operator in ("Log", "Sqrt", "Reciprocal"):
        yield operator, [node(operator, "x", "y")], {"x": half(rng.uniform(.01, 60, image))}, {}
    for operator in ("Sin", "Cos"):
        yield operator, [node(operator, "x", "y")], {"x": spread(image)}, {}
    for operator in ("Add", "Sub", "Mul", "Div"):
        yield operator, [node(operator, "x z", "y")], {"x": normal(*image), "z": half(rng.uniform(.3, 3, image))}, {}
    for name, scale in (("near", .3), ("usual", 3), ("far", 30)):
        for length in (2, 10, 64, 1000):
            x = {"x": normal(1, max(4, 4000 // length), length, scale=scale)}
            yield f"Softmax.{name}.{length}", [node("Softmax", "x", "y", axis=-1)], x, {}
            yield f"LogSoftmax.{name}.{length}", [node("LogSoftmax", "x", "y", axis=-1)], x, {}
    for operator, count, more in (("LSTM", 4, {}), ("GRU", 3, {"linear_before_reset": 1})):
        w, r, b = normal(1, 32 * count, 16, scale=.3), normal(1, 32 * count, 32, scale=.3), normal(1, 64 * count, scale=.1)
        yield operator, [helper.make_node(operator, ["x", "w", "r", "b"], ["y", ""], hidden_size=32, **more)], {"x": normal(8, 4, 16)}, {"w": w, "r": r, "b": b}
    yield "MatMul", [node("MatMul", "x w", "y")], {"x": normal(1, 16, 512)}, {"w": normal(512, 32)}
    yield "MatMul.constants", [node("MatMul", "x w", "c"), node("Add", "c b", "y")], {"x": normal(1, 256, 32)}, {"w": normal(32, 32), "b": normal(32)}
    yield "MatMul.values", [node("MatMul", "x z", "y")], {"x": normal(1, 16, 512), "z": normal(1, 512, 32)}, {}
    conv, w = node("Conv", "x w", "c", pads=[1] * 4), normal(32, 32, 3, 3, scale=.1)
    # wrong in onnxruntime-qnn 2.7.0 where the first node has a name and is read second (lint: hardswish-qnn)
    sigmoid = helper.make_node("HardSigmoid", ["x"], ["h"], name="h", alpha=1 / 6)
    for order in ("x h", "h x"):
        yield f"HardSwish.named.{order[0]}", [sigmoid, node("Mul", order, "y")], {"x": normal(*image)}, {}
    yield "Conv", [node("Conv", "x w b", "y", pads=[1] * 4)], {"x": normal(*image)}, {"w": w, "b": normal(32)}
    yield "Conv.constants", [conv, node("Add", "c b", "y")], {"x": normal(*image)}, {"w": w, "b": normal(1, 32, 1, 1)}
    yield "Conv.residual", [conv, node("Add", "c x", "y")], {"x": normal(*image)}, {"w": w}
    norm = {"s": normal(32), "b": normal(32), "m": normal(32), "v": half(np.abs(normal(32)) + .1)}
    yield "Conv.norm", [conv, node("BatchNormalization", "c s b m v", "y")], {"x": normal(*image)}, {"w": w, **norm}
    yield "BatchNormalization", [node("BatchNormalization", "x s b m v", "y")], {"x": normal(*image)}, norm
    yield "ConvTranspose", [node("ConvTranspose", "x w", "y", strides=[2, 2])], {"x": normal(*image)}, {"w": normal(32, 16, 2, 2)}
    yield "LayerNormalization", [node("LayerNormalization", "x s b", "y")], {"x": normal(1, 64, 256)}, {"s": normal(256), "b": normal(256)}
    yield "ReduceMean", [node("ReduceMean", "x a", "y")], {"x": normal(1, 16, 512)}, {"a": np.array([-1])}
    yield "CumSum", [node("CumSum", "x a", "y")], {"x": normal(*image)}, {"a": np.int64(1)}
    yield "AveragePool", [node("AveragePool", "x", "y", kernel_shape=[2, 2], strides=[2, 2])], {"x": normal(*image)}, {}
    yield "AveragePool.padded", [node("AveragePool", "x", "y", kernel_shape=[3, 3], pads=[1] * 4)], {"x": normal(*image)}, {}
    for scale in (2, 3):
        yield f"Resize.{scale}", [helper.make_node("Resize", ["x", "", "s"], ["y"], mode="linear")], {"x": normal(1, 8, 16, 16)}, {"s": np.array([1, 1, scale, scale], np.float32)}


def run_htp(model, feed, rounded_to=np.float16):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "QNNExecutionProvider"]
    options.add_provider_for_devices(devices[:1], {"backend_path": onnxruntime_qnn.get_qnn_htp_path(), "offload_graph_io_quantization": "0",
                                                   "enable_htp_fp16_precision": "1", "soc_model": "60", "htp_arch": "73"})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    values = session.run(None, {value.name: feed[value.name] for value in session.get_inputs()})
    return {value.name: array.astype(rounded_to).astype(np.float64) for value, array in zip(session.get_outputs(), values) if array.dtype.kind == "f"}


def foresee(program, model, inputs, arithmetic, folder):
    out = f"{folder}/{abs(hash(arithmetic))}.npz"
    subprocess.run([program, "run", model, "-i", inputs, "-a", arithmetic, "-o", out, "-q"], check=True)
    return {name: array.astype(np.float64) for name, array in np.load(out).items()}


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


def times(error, of):
    return 1.0 if error == of else math.inf if of == 0 else error / of


def compare_operators(program, names, folder):
    bad = 0
    for name, nodes, feed, constants in cases():
        if names and not any(name.startswith(given) for given in names):
            continue
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(k, TensorProto.FLOAT, v.shape) for k, v in feed.items()],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], [numpy_helper.from_array(v, k) for k, v in constants.items()])
        model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9))
        onnx.save(model, f"{folder}/m.onnx")
        np.savez(f"{folder}/m.npz", **feed)
        truth, ours, plain = (foresee(program, f"{folder}/m.onnx", f"{folder}/m.npz", arithmetic, folder)["y"] for arithmetic in ("fp64", "qnn:fp16", PLAIN))
        theirs = run_htp(model, feed)["y"].reshape(truth.shape)
        ratio, before = (times(rms(theirs - truth), rms(values - truth)) for values in (ours, plain))
        good = .5 <= ratio <= 2 or name in WRONG.split()
        bad += not good
        print(f"{'' if good else 'BAD '}{name}: error {ratio:.2f} of ours, {before:.2f} of one rounding; {100 * np.mean(theirs == ours):.1f} % equal", flush=True)
    return bad


def make_static(model, feed):
    """With the inputs' shapes, and no initializer among the inputs."""
    known = {value.name for value in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in known]
    del model.graph.input[:]
    for value in inputs:
        del value.type.tensor_type.shape.dim[:]
        for size in feed[value.name].shape:
            value.type.tensor_type.shape.dim.add().dim_value = size
    model.graph.input.extend(inputs)
    shown = list(model.graph.output)
    del model.graph.value_info[:]
    made = [name for step in model.graph.node for name in step.output if name]
    everything = onnx.ModelProto()
    everything.CopyFrom(model)
    del everything.graph.output[:]
    everything.graph.output.extend(onnx.ValueInfoProto(name=name) for name in made)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(everything.SerializeToString(), options, providers=["CPUExecutionProvider"])
    values = session.run(None, {value.name: feed[value.name] for value in session.get_inputs()})
    infos = {o.name: helper.make_tensor_value_info(o.name, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for o, v in zip(session.get_outputs(), values)}
    del model.graph.output[:]
    model.graph.output.extend(infos[value.name] for value in shown)
    model.graph.value_info.extend(info for name, info in infos.items() if name not in {value.name for value in shown})
    return model


def compare_integers():
    """MatMul and Conv between QuantizeLinear of UINT16 or UINT8, by INT8 weights: elements that are the exact sum's rounding, and decibels."""
    for step, sizes, weights in (("MatMul", (16, 64), (64, 24)), ("Conv", (1, 8, 9, 9), (24, 8, 1, 1))):
        for kind in (np.uint16, np.uint8):
            middle = (np.iinfo(kind).max + 1) // 2
            x, w = rng.integers(-middle, middle, sizes), rng.integers(-127, 128, weights).astype(np.int8)
            sums = x @ w.astype(np.int64) if step == "MatMul" else np.einsum("bchw,oc->bohw", x, w[..., 0, 0].astype(np.int64))
            scale, out = np.float32(1 / middle), np.float32(4 * sums.std() * .01 / middle**2)
            ends = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "f"), node("DequantizeLinear", "w t", "g"), node(step, "f g", "p"),
                    node("QuantizeLinear", "p u z", "e"), node("DequantizeLinear", "e u z", "y")]
            constants = {"s": scale, "t": np.float32(.01), "u": out, "z": np.array(middle, kind), "w": w}
            graph = helper.make_graph(ends, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, sizes)], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                                      [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
            model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))
            exact = sums * (float(scale) * float(constants["t"]))
            given = run_htp(model, {"x": (x * scale).astype(np.float32)}, np.float32)["y"]
            away = np.rint(given / float(out)) - np.clip(np.rint(exact / float(out)), -middle, middle - 1)
            print(f"{step}, {kind.__name__}: {100 * np.mean(away == 0):.1f} % exact, at most {np.abs(away).max():.0f} steps off, {-20 * math.log10(rms(given - exact) / rms(exact)):.1f} dB", flush=True)


def compare_networks(program, pairs, record, folder):
    networks = {}
    for model, inputs in (pair.split("=", 1) for pair in pairs):
        feed, name = dict(np.load(inputs)), pathlib.Path(model).parent.name
        try:
            theirs = run_htp(make_static(onnx.load(model), feed), feed)
        except Exception as error:  # of ONNX Runtime's many kinds
            print(f"{name}: not run: {str(error).splitlines()[0][:120]}", flush=True)
            continue
        truth, ours = (foresee(program, model, inputs, arithmetic, folder) for arithmetic in ("fp64", "qnn:fp16"))
        rows = []
        for output, given in theirs.items():
            size, errors = rms(truth[output]), [rms(values[output].reshape(given.shape) - truth[output].reshape(given.shape)) for values in (ours, {output: given})]
            rows.append([rounded(20 * math.log10(times(size, e)) if math.isfinite(e) and e else math.inf if e == 0 else math.nan) for e in errors] + [given.size])
        networks[name] = {"outputs": rows}
        print(f"{name}: {', '.join(f'{a} ({b})' for a, b, _ in rows)}", flush=True)
    outputs = [row for network in networks.values() for row in network["outputs"]]
    large = [row for row in outputs if row[2] >= 32]
    print(f"within 3 dB {within(outputs, 3)} of {len(outputs)}, of 32 elements or more {within(large, 3)} of {len(large)}; within 1 dB {within(outputs, 1)}, {within(large, 1)}")
    if record:
        keep(record, "qnn,version=2.7", "qnn:fp16", "ONNX Runtime 1.31.1, QNN 2.7.0, HTP v73's simulator, as users run it", "lab/compare_htp.py networks", networks)
    return within(outputs, 3) < .75 * len(outputs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("what", choices=("operators", "integers", "networks"))
    parser.add_argument("names", nargs="*")
    parser.add_argument("--record")
    given = parser.parse_intermixed_args()
    onnxruntime.register_execution_provider_library("QNNExecutionProvider", onnxruntime_qnn.get_library_path())
    if given.what == "integers":
        return compare_integers()
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(bool(compare_operators(given.program, given.names, folder) if given.what == "operators" else compare_networks(given.program, given.names, given.record, folder)))


if __name__ == "__main__":
    main()
