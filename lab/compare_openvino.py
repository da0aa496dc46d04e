#!/usr/bin/env python3
"""Compare the arithmetics of the target openvino-cpu with OpenVINO's CPU plugin, node by node.

    lab/compare_openvino.py ULPSCOPE MODEL.onnx=INPUTS.npz ... [--outputs] [--record FILE]

Every result that the plugin's run with inference_precision=bf16 (or --precision) stores is recorded, from a run that ends with it, and computed in --arith
(openvino-cpu:bf16). Errors are taken from the reference: in how many results is the arithmetic's within 10 % of the plugin's, and in how many are the bits
equal. BatchNormalizations are folded into weights first. Needs openvino and onnx. A model that OpenVINO refuses is left out.
--outputs: of each model as it is the outputs instead, as users run it; --record keeps them for tests/data/targets.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import openvino

from targets_table import keep, rounded, within

SHOWN = 5  # of a model, the nodes that are furthest off
FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16}


def fold(model):
    """Each BatchNormalization of a Conv into its weights and bias, as the plugin does before anything is lowered (it is an arithmetic's part here only as a
    multiplier and a shift)."""
    graph = model.graph
    values = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    producers = {name: node for node in graph.node for name in node.output}
    uses = collections.Counter(name for node in graph.node for name in node.input)
    for i, node in enumerate(list(graph.node)):
        conv = producers.get(node.input[0]) if node.op_type == "BatchNormalization" else None
        if not conv or conv.op_type != "Conv" or uses[conv.output[0]] > 1:
            continue
        epsilon = next((item.f for item in node.attribute if item.name == "epsilon"), 1e-5)
        scale, shift, mean, variance = (values[name].astype("f8") for name in node.input[1:5])
        weight, multiplier = values[conv.input[1]], scale / np.sqrt(variance + epsilon)
        bias = shift - mean * multiplier + (values[conv.input[2]] * multiplier if len(conv.input) > 2 else 0)
        folded = {f"folded_weight_{i}": weight * multiplier.reshape((-1,) + (1,) * (weight.ndim - 1)), f"folded_bias_{i}": bias}
        graph.initializer.extend(onnx.numpy_helper.from_array(value.astype("f4"), name) for name, value in folded.items())
        del conv.input[1:]
        conv.input.extend(folded)
        conv.output[0] = node.output[0]
        graph.node.remove(node)


def compile_model(model, precision):
    core = openvino.Core()
    return core.compile_model(core.read_model(model.SerializeToString()), "CPU", {"INFERENCE_PRECISION_HINT": precision, "INFERENCE_NUM_THREADS": 1})


def stored(model, precision):
    """The ONNX nodes whose results the plugin stores: of each of its layers the last that it was made of."""
    names = {node.name or node.output[0] for node in model.graph.node}
    last = set()
    for layer in compile_model(model, precision).get_runtime_model().get_ordered_ops():
        info = layer.get_rt_info()
        made = [name for name in str(info["originalLayersNames"].astype(str)).split(",") if name in names] if "originalLayersNames" in info else []
        last.update(made[-1:])
    return last


def truncate(model, name):
    """The graph up to a value, which a product by a matrix of a single 1 reads: what stands between the last product and an output would stay in FP32
    (EnforceInferencePrecision in the plugin's graph.cpp)."""
    needed, kept = {name}, []
    for node in reversed(model.graph.node):
        if needed & set(node.output):
            kept.append(node)
            needed.update(node.input)
    part = onnx.ModelProto()
    part.CopyFrom(model)
    del part.graph.node[:], part.graph.output[:], part.graph.value_info[:]
    part.graph.node.extend(reversed(kept))
    part.graph.node.extend([onnx.helper.make_node("Shape", [name], ["tail_shape"]), onnx.helper.make_node("Reshape", [name, "tail_column"], ["tail_value"]),
                            onnx.helper.make_node("MatMul", ["tail_value", "tail_one"], ["tail_product"]),
                            onnx.helper.make_node("Reshape", ["tail_product", "tail_shape"], ["tail"])])
    part.graph.initializer.append(onnx.numpy_helper.from_array(np.array([-1, 1]), "tail_column"))
    part.graph.input.append(onnx.helper.make_tensor_value_info("tail_one", onnx.TensorProto.FLOAT, (1, 1)))
    part.graph.output.append(onnx.helper.make_tensor_value_info("tail", onnx.TensorProto.FLOAT, None))
    return part


def record(model, inputs, precision):
    """The results that the plugin stores, each from a run that ends with it."""
    given, seen = {**np.load(inputs)}, {}
    known = {value.name: value.type.tensor_type.elem_type for value in list(onnx.shape_inference.infer_shapes(model).graph.value_info) + list(model.graph.output)}
    last = stored(model, precision)
    for node in model.graph.node:
        if (node.name or node.output[0]) not in last or known.get(node.output[0]) not in FLOATS:
            continue
        compiled = compile_model(truncate(model, node.output[0]), precision)
        feed = {port.any_name: np.ones((1, 1), "f4") if "tail_one" in port.names else given[next(name for name in port.names if name in given)] for port in compiled.inputs}
        seen[node.output[0]] = next(iter(compiled(feed).values()))
    return seen


def compute(program, model, names, inputs, arithmetic, folder):
    """The same values in an arithmetic of ours; that they are outputs, too, changes no kernel."""
    wider = onnx.ModelProto()
    wider.CopyFrom(model)
    own = {value.name for value in wider.graph.output}
    wider.graph.output.extend(onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in names if name not in own)
    path, out = os.path.join(folder, "wider.onnx"), os.path.join(folder, "out.npz")
    onnx.save(wider, path)
    subprocess.run([program, "run", path, "-i", inputs, "-a", arithmetic, "-o", out, "-q"], check=True)
    return np.load(out)


def decibels(exact, value):
    exact, value = exact.astype("f8"), value.astype("f8").reshape(exact.shape)
    error = np.sqrt(np.mean(np.square(value - exact)))
    return 20 * np.log10(np.sqrt(np.mean(np.square(exact))) / error) if error else np.inf


def compare_outputs(options):
    """Of each float output what is foreseen, what the plugin gives, in decibels, and its elements."""
    networks = {}
    for path, inputs in (pair.split("=") for pair in options.pairs):
        model, given, name = onnx.load(path), {**np.load(inputs)}, os.path.basename(os.path.dirname(path))
        try:
            compiled = compile_model(model, options.precision)
            seen = compiled({port.any_name: given[next(key for key in port.names if key in given)] for port in compiled.inputs})
        except RuntimeError as error:
            print(f"{path}: OpenVINO refuses: {str(error).splitlines()[0][:90]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            truth, ours = (dict(compute(options.program, model, (), inputs, by, folder)) for by in ("fp64", options.arith))
        theirs = {key: seen[port] for port in compiled.outputs for key in port.names if key in truth and truth[key].dtype.kind == "f"}
        networks[name] = {"outputs": [[rounded(decibels(truth[key], ours[key])), rounded(decibels(truth[key], value)), value.size] for key, value in theirs.items()]}
        print(f"{name}: " + ", ".join(f"{ours} ({real})" for ours, real, _ in networks[name]["outputs"]), flush=True)
    rows = [row for network in networks.values() for row in network["outputs"]]
    print(f"outputs: {within(rows, 1)} of {len(rows)} within 1 dB, {within(rows, 2)} within 2 dB")
    if options.record:
        version = openvino.__version__.split("-")[0]
        keep(options.record, f"openvino-cpu,version={version}", options.arith, f"OpenVINO {version}, AVX512_BF16, as users run it",
             f"lab/compare_openvino.py --outputs --precision {options.precision}", networks)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("pairs", nargs="+")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--arith", default="openvino-cpu:bf16")
    parser.add_argument("--outputs", action="store_true")
    parser.add_argument("--record", metavar="FILE")
    options = parser.parse_args()
    if options.outputs:
        return compare_outputs(options)
    options.arith += ",steps=alike"  # each result is recorded away from the end
    totals = np.zeros(3, int)
    for pair in options.pairs:
        path, inputs = pair.split("=")
        model = onnx.load(path)
        fold(model)
        try:
            seen = record(model, inputs, options.precision)
        except RuntimeError as error:
            print(f"{path}: OpenVINO refuses: {str(error).splitlines()[0][:90]}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            ours, truth = (dict(compute(options.program, model, seen, inputs, name, folder)) for name in (options.arith, "mpfr:128"))
        close, equal, rows = 0, 0, []
        for name, theirs in seen.items():
            exact = truth[name].astype("f8")
            a, b = (np.sqrt(np.mean(np.square(x.astype("f8") - exact))) for x in (ours[name], theirs))
            ratio = 1.0 if a == b else b / a if a else np.inf
            same = np.array_equal(ours[name], theirs)
            close, equal = close + (abs(ratio - 1) <= 0.1), equal + same
            rows.append((abs(np.log(max(ratio, 1e-9))), f"{ratio:8.3f} {name}"))
        print(f"{path}: of {len(rows)} results {close} have an error within 10 %, {equal} equal bits")
        for _, text in sorted(rows, reverse=True)[:SHOWN]:
            print("   ", text)
        totals += (len(rows), close, equal)
    print("of {} results {} have an error within 10 %, {} equal bits".format(*totals))
    return 0


if __name__ == "__main__":
    sys.exit(main())
