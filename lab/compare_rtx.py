#!/usr/bin/env python3
"""Which nodes TensorRT-RTX puts into one kernel, beside what the program foresees (fuse=tensorrt).

    lab/compare_rtx.py PROGRAM DATA RECORDED.json [-a trt-rtx:fp16] [--least PERCENT] [--keep FILE]
    lab/compare_rtx.py --record RECORDED.json DATA [NETWORK...]

Its builder needs no GPU (pip: tensorrt_rtx_cu13_bindings, tensorrt_rtx_cu13_libs): --record builds networks of DATA in FP16, of the sizes of
their inputs, and keeps of each layer that the builder's log lists its name, its kind and the nodes that it is made of. Layers that move
elements alone are left out. Of two nodes of which one reads the other, through nodes that move elements or not, it is counted whether one kernel
has both; a product is where it is multiplied, not where its bias is added. Needs onnx.
"""
import argparse
import json
import os
import re
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper

from targets_table import keep

MOVES = {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity", "Slice", "Split", "Expand", "Cast", "Dropout", "Constant", "Shape",
         "Gather", "Concat", "Pad", "Tile", "ConstantOfShape", "Range"}
MOVE_TOKENS = {"Move", "Conc", "Slic", "Resh", "Tran", "Repl", "Gath", "Cast"}
PRODUCTS = {"Conv", "ConvTranspose", "MatMul", "Gemm"}


def find(data, name):
    for folder in ("models", "pretrained", "generated"):
        path = os.path.join(data, folder, name)
        if os.path.exists(os.path.join(path, "model.onnx")):
            return path
    sys.exit(f"{data} has no network {name}")


def find_inputs(path):
    sample = os.path.join(path, "inputs.npz")
    return sample if os.path.exists(sample) else os.path.join(path, "test_data_set_0")


def name_nodes(model):
    """As reports call them."""
    for i, node in enumerate(model.graph.node):
        node.name = node.name or f"{node.op_type}_{i}"


def halve(graph):
    """Every FLOAT as FP16, but the sizes of Resize."""
    sizes = {name for node in graph.node if node.op_type in ("Resize", "Upsample") for name in node.input[1:3]}
    def lower(tensor):
        if tensor.data_type == onnx.TensorProto.FLOAT and tensor.name not in sizes:
            with np.errstate(over="ignore"):
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float16), tensor.name))
    for tensor in graph.initializer:
        lower(tensor)
    for value in (*graph.input, *graph.output):
        if value.type.tensor_type.elem_type == onnx.TensorProto.FLOAT:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT16
    for attribute in (attribute for node in graph.node for attribute in node.attribute):
        if attribute.type == onnx.AttributeProto.TENSOR:
            lower(attribute.t)
        if attribute.type == onnx.AttributeProto.GRAPH:
            halve(attribute.g)
        if attribute.name == "to" and attribute.i == onnx.TensorProto.FLOAT:
            attribute.i = onnx.TensorProto.FLOAT16


def read_sizes(path, model):
    if path.endswith(".npz"):
        with np.load(path) as sample:
            return {name: sample[name].shape for name in sample.files}
    known = {tensor.name for tensor in model.graph.initializer}
    inputs = [value.name for value in model.graph.input if value.name not in known]
    return {name: tuple(onnx.load_tensor(os.path.join(path, f"input_{i}.pb")).dims) for i, name in enumerate(inputs)}


def build(path):
    """The builder's layers: name, kind, nodes; or what it said."""
    import tensorrt_rtx_bindings as trt
    class Log(trt.ILogger):
        def __init__(self):
            trt.ILogger.__init__(self)
            self.lines = []
        def log(self, severity, message):
            self.lines.append(message)
    model, log = onnx.load(os.path.join(path, "model.onnx")), Log()
    name_nodes(model)
    sizes = read_sizes(find_inputs(path), model)
    halve(model.graph)
    del model.graph.value_info[:]
    builder = trt.Builder(log)
    network, config = builder.create_network(0), builder.create_builder_config()
    if not trt.OnnxParser(network, log).parse(model.SerializeToString()):
        return "not parsed"
    for i in range(network.num_inputs):
        network.get_input(i).shape = sizes[network.get_input(i).name]
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    if not builder.build_serialized_network(network, config):
        return "not built"
    listed = [line for message in log.lines for line in message.split("\n") if line.startswith("Name: ") and "LayerType: " in line]
    layers = [[re.match(r"Name: (.*?)(_myl\d+_\d+)?, LayerType: (\w+)", line).group(1, 3), re.findall(r"\[ONNX Layer: (.*?)\]", line)] for line in listed]
    warned = any("layernorm after self-attention" in message for message in log.lines)
    return {"warned": warned, "layers": [[name, kind, nodes] for (name, kind), nodes in layers if nodes and not moves(name)]}


def moves(name):
    tokens = re.findall("....", name[6:]) if name.startswith("__myl_") else ["?"]
    return set(tokens) <= MOVE_TOKENS


def multiplies(name, kind):
    return kind in ("correlation", "deconv", "gemm", "runtime_fusion") or "MulSum" in name or "mha" in name


def find_pairs(model):
    """(producer, reader) of nodes that compute, through those that move."""
    made = {value: node for node in model.graph.node for value in node.output}
    def origin(value):
        while value in made and made[value].op_type in MOVES and made[value].input:
            value = made[value].input[0]
        return made.get(value)
    for node in model.graph.node:
        for source in () if node.op_type in MOVES else (origin(value) for value in node.input):
            if source and source.op_type not in MOVES:
                yield source, node


def foresee(program, path, arithmetic):
    command = [program, "audit", os.path.join(path, "model.onnx"), "-i", find_inputs(path), "-a", arithmetic, "--reference=fp64", "--json=-", "-q"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        sys.exit(f"{path}: {done.stderr}")
    return {node["name"]: node.get("kernel", {}) for node in json.loads(done.stdout)["lanes"][0]["nodes"]}


def compare(program, path, layers, arithmetic):
    """Pairs that are as built, of how many; those that are not."""
    model = onnx.load(os.path.join(path, "model.onnx"), load_external_data=False)
    name_nodes(model)
    operators, built = {node.name: node.op_type for node in model.graph.node}, {}
    for i, (_, _, nodes) in enumerate(layers):
        for node in nodes:
            built.setdefault(node, set()).add(i)
    for node, at in built.items():
        if operators.get(node) in PRODUCTS:
            built[node] = {i for i in at if multiplies(*layers[i][:2])} or at
    kernels, count, wrong = foresee(program, path, arithmetic), 0, []
    for source, node in find_pairs(model):
        if {source.name, node.name} <= built.keys() & kernels.keys():
            ours, other = kernels[source.name], kernels[node.name]
            inside = ours.get("unstored", False) or ours.get("kernel", 0) == other.get("kernel", -1)
            count += 1
            if inside != bool(built[source.name] & built[node.name]):
                wrong.append(f"{source.name} ({source.op_type}) and {node.name} ({node.op_type}): {'foreseen' if inside else 'built'}")
    return count - len(wrong), count, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", metavar="RECORDED.json")
    parser.add_argument("arguments", nargs="+")
    parser.add_argument("-a", "--arithmetic", default="trt-rtx:fp16")
    parser.add_argument("--least", type=float, default=0)
    parser.add_argument("--show", action="store_true", help="pairs that are otherwise")
    parser.add_argument("--keep", help="a row of doc/targets.md, for tests/data/targets")
    options = parser.parse_args()
    if options.record:
        data, names = options.arguments[0], options.arguments[1:]
        recorded = {name: build(find(data, name)) for name in names}
        for name in [name for name in names if isinstance(recorded[name], str)]:
            print(name, recorded.pop(name))
        with open(options.record, "w", encoding="utf-8") as file:
            json.dump(recorded, file, separators=(",", ":"))
        return
    program, data, path = options.arguments
    with open(path, encoding="utf-8") as file:
        recorded = json.load(file)
    pairs = {}
    for name, network in recorded.items():
        as_built, count, wrong = compare(program, find(data, name), network["layers"], options.arithmetic)
        print(f"{name:28} {as_built} of {count}")
        if options.show:
            print(*(f"    {line}" for line in wrong), sep="\n")
        pairs[name] = {"pairs": [as_built, count]}
    right, total = (sum(row["pairs"][i] for row in pairs.values()) for i in (0, 1))
    print(f"as built: {right} of {total} pairs ({100 * right / total:.1f} %), {len(recorded)} networks; the builder warns of layernorm in {sum(network['warned'] for network in recorded.values())}")
    if options.keep:
        keep(options.keep, "trt-rtx,version=1.7", options.arithmetic, "TensorRT-RTX 1.7.1, its builder", "lab/compare_rtx.py", pairs)
    sys.exit(0 if 100 * right / total >= options.least else 1)


main()
