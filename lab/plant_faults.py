#!/usr/bin/env python3
"""Numerical faults planted into parts of real networks: what judge_faults.py judges `doctor`, `audit --reference-model` and `compare` by.

    lab/plant_faults.py DATA FOLDER [--late | --floats | --public | --kinds KIND,...] [--parts 5] [--seed 0] [--nodes 60]

DATA holds models/, pretrained/ and zoo4/ with NAME/{model.onnx,inputs.npz}. A part is at most so many nodes of a network, with its weights and with inputs that ONNX Runtime
recorded from the network's own. Into each a fault of one kind (fault_kinds*.py) is planted in the middle, as FOLDER/KIND-N:

    model.onnx, inputs.npz    with the fault
    twin.onnx                 the same part with the fault mended: must be fine, by the same command
    reference.onnx            only of kinds that are exported wrongly: the model before the export, for --reference-model
    recorded.npz              only of kinds that `compare` judges: every tensor of reference.onnx, by ONNX Runtime
    EXPECT.json               kind, command, arithmetic, node (names, any of which is right: what was planted, or the rounding that feeds it), reason (WORDS), late, cost_db

Nothing here knows how the program finds causes. That a fault is real is shown by ONNX Runtime with a Cast to FP16 and back behind every tensor (storage in FP16, operators in FP32):
twin.onnx keeps TWIN_DB, model.onnx has at most FAULT_DB and loses COST_DB more than its twin, or an output is not finite. That the named nodes are the cause is shown, too: with
their results alone in FP32 the output is above FAULT_DB, and gains COST_DB. In FP32 and TF32 (factors of products split by Veltkamp) the judge is the same model with the planted nodes in FP64.
What is exported wrongly runs as it is, beside the reference. Parts where any of this does not hold are
dropped. Kinds marked late are for the end alone, so that nothing is fitted to them.
"""
import argparse
import itertools
import json
import pathlib
import zlib

import numpy as np
import onnx
import onnxruntime
import fault_kinds_floats as floats
import fault_kinds_public as public
from fault_kinds import COMPARE, KINDS, Edit, Misfit
from onnx import TensorProto, helper, numpy_helper, version_converter

TWIN_DB, FAULT_DB, COST_DB, OPSET = 40, 25, 20, 17
ERRORS = tuple(error for error in vars(onnxruntime.capi.onnxruntime_pybind11_state).values() if isinstance(error, type) and issubclass(error, Exception))
REFUSALS = (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, version_converter.ConvertError, RuntimeError, ValueError, IndexError)


# Networks and their parts


def session(model):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def compute(model, inputs):
    try:
        ready = session(model)
        given = {value.name: inputs[value.name] for value in ready.get_inputs()}
        return dict(zip([value.name for value in ready.get_outputs()], ready.run(None, given)))
    except ERRORS as error:
        raise Misfit("ONNX Runtime refuses it") from error


def record_all(model, inputs):
    """Every tensor of the main graph."""
    shown = onnx.ModelProto.FromString(model.SerializeToString())
    outputs = {value.name for value in shown.graph.output}
    shown.graph.output.extend(onnx.ValueInfoProto(name=name) for node in shown.graph.node for name in node.output if name and name not in outputs)
    return compute(shown, inputs)


class Network:
    """A model's nodes in order, its constants, and all its tensors as ONNX Runtime computes them."""

    def __init__(self, folder):
        self.name = folder.name
        model = onnx.load(folder / "model.onnx")
        self.opset = next(entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx"))
        if self.opset > OPSET or any(entry.domain not in ("", "ai.onnx") for entry in model.opset_import):
            raise Misfit("opset")
        self.constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        self.nodes = []
        for i, node in enumerate(model.graph.node):
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
            elif any(attribute.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for attribute in node.attribute):
                raise Misfit("bodies")
            else:
                node.name = f"{node.op_type}_{i}"
                self.nodes.append(node)
        inputs = dict(np.load(folder / "inputs.npz"))
        self.values = {**inputs, **record_all(model, inputs)}
        self.source = {name: i for i, node in enumerate(self.nodes) for name in node.output if name}
        self.given = set(inputs)

    def floats(self, name):
        return name in self.values and self.values[name].dtype == np.float32

    def part(self, name, most):
        """Up to so many nodes before the tensor `name`, which is the output; integers are made constants."""
        taken, waiting = set(), [self.source[name]]
        while waiting and len(taken) < most:
            index = max(waiting)
            waiting.remove(index)
            taken.add(index)
            for read in self.nodes[index].input:
                made = self.source.get(read)
                if made is not None and made not in taken and made not in waiting and self.floats(read) and self.values[read].size:
                    waiting.append(made)
        nodes = [self.nodes[i] for i in sorted(taken)]
        made = {output for node in nodes for output in node.output}
        reads = sorted({read for node in nodes for read in node.input if read and read not in made})
        inputs = {read: self.values[read] for read in reads if read not in self.constants and self.floats(read)}
        fixed = {read: self.constants.get(read, self.values.get(read)) for read in reads if read not in inputs}
        if not inputs or any(array is None for array in fixed.values()):
            raise Misfit("inputs")
        graph = helper.make_graph(
            nodes,
            "part",
            [helper.make_tensor_value_info(read, TensorProto.FLOAT, array.shape) for read, array in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, self.values[name].shape)],
            [numpy_helper.from_array(np.ascontiguousarray(array), read) for read, array in fixed.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        if self.opset < OPSET:
            model = version_converter.convert_version(model, OPSET)
        for i, node in enumerate(model.graph.node):  # the converter's own nodes have no names
            node.name = node.name or f"{node.op_type}_new_{i}"
        onnx.checker.check_model(model, full_check=True)
        return model, inputs


# Whether a fault is real


def halved(model, inputs, kept=()):
    """The model with every float tensor stored in FP16 but the results of nodes that are kept, and its inputs: operators compute in FP32."""

    def narrow(array):
        with np.errstate(over="ignore"):  # converters clip constants
            return np.asarray(np.clip(array, -65504, 65504), "f2").astype("f4") if array.dtype == np.float32 else array

    half = onnx.ModelProto.FromString(model.SerializeToString())
    wide = {tensor.name: numpy_helper.to_array(tensor) for tensor in half.graph.initializer}
    del half.graph.initializer[:]
    half.graph.initializer.extend(numpy_helper.from_array(narrow(array), name) for name, array in wide.items())
    half.graph.initializer.extend(numpy_helper.from_array(array, name + "_exact") for name, array in wide.items())
    types = {value.name: value.type.tensor_type.elem_type for value in onnx.shape_inference.infer_shapes(model).graph.value_info}
    types.update((value.name, value.type.tensor_type.elem_type) for value in model.graph.output)
    nodes = list(half.graph.node)
    del half.graph.node[:]
    for node in nodes:
        half.graph.node.append(node)
        node = half.graph.node[-1]
        if node.name in kept:
            node.input[:] = [name + "_exact" if name in wide else name for name in node.input]
        for i, name in enumerate(node.output):
            if name and types[name] == TensorProto.FLOAT and node.name not in kept:
                node.output[i] = name + "_wide"
                half.graph.node.append(helper.make_node("Cast", [name + "_wide"], [name + "_half"], to=TensorProto.FLOAT16))
                half.graph.node.append(helper.make_node("Cast", [name + "_half"], [name], to=TensorProto.FLOAT))
    return half, {name: narrow(array) for name, array in inputs.items()}


def sqnr(given, truth):
    """The worst output's; below all where it is not finite."""
    worst = 300.0
    for name, array in truth.items():
        if not np.isfinite(given[name]).all():
            return -300.0
        wanted = np.sum(np.square(array.astype("f8")))
        gap = np.sum(np.square(given[name].astype("f8") - array))
        worst = min(worst, 300.0 if not gap else 10 * np.log10(wanted / gap) if wanted else -300.0)
    return float(worst)


def in_double(model, names):
    """The model with the named nodes, and the bodies in them, in FP64."""

    def widen(array):
        return numpy_helper.from_array(numpy_helper.to_array(array).astype("f8"), array.name) if array.data_type == TensorProto.FLOAT else array

    wide = onnx.ModelProto.FromString(model.SerializeToString())
    types = {value.name: value.type.tensor_type.elem_type for value in onnx.shape_inference.infer_shapes(model).graph.value_info}
    types.update((value.name, value.type.tensor_type.elem_type) for value in (*model.graph.output, *model.graph.input))
    types.update((tensor.name, tensor.data_type) for tensor in model.graph.initializer)
    nodes, made = list(wide.graph.node), set()
    del wide.graph.node[:]
    for node in nodes:
        if node.name not in names:
            wide.graph.node.append(node)
            continue
        for i, name in enumerate(node.input):
            if types.get(name) == TensorProto.FLOAT:
                if name + "_double" not in made:
                    wide.graph.node.append(helper.make_node("Cast", [name], [name + "_double"], to=TensorProto.DOUBLE))
                    made.add(name + "_double")
                node.input[i] = name + "_double"
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                for value in (*attribute.g.input, *attribute.g.output):
                    value.type.tensor_type.elem_type = TensorProto.DOUBLE
                constants = [widen(tensor) for tensor in attribute.g.initializer]
                del attribute.g.initializer[:]
                attribute.g.initializer.extend(constants)
        wide.graph.node.append(node)
        node = wide.graph.node[-1]
        for i, name in enumerate(node.output):
            if name and types.get(name) == TensorProto.FLOAT:
                node.output[i] = name + "_double"
                made.add(name + "_double")
                wide.graph.node.append(helper.make_node("Cast", [name + "_double"], [name], to=TensorProto.FLOAT))
    return wide


def with_tf32(graph, names=()):
    """Factors of products in place rounded to 11 bits (x - (x - (2^13 + 1) x) of steps in FP32), but of the named nodes."""
    nodes = list(graph.node)
    del graph.node[:]
    if any(node.op_type in ("MatMul", "Gemm", "Conv", "ConvTranspose") for node in nodes):
        graph.initializer.append(numpy_helper.from_array(np.float32(2**13 + 1), "split_factor"))
    for at, node in enumerate(nodes):
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH and node.name not in names:
                with_tf32(attribute.g)
        if node.op_type in ("MatMul", "Gemm", "Conv", "ConvTranspose") and node.name not in names:
            for i in range(2):
                read, new = node.input[i], f"{node.input[i]}_split_{at}_{i}"
                graph.node.append(helper.make_node("Mul", [read, "split_factor"], [new + "_c"]))
                graph.node.append(helper.make_node("Sub", [new + "_c", read], [new + "_d"]))
                graph.node.append(helper.make_node("Sub", [new + "_c", new + "_d"], [new]))
                node.input[i] = new
        graph.node.append(node)


def level_of_floats(model, inputs, planted, arithmetic):
    """Decibels of FP32 or TF32 beside the planted nodes in FP64; and of the other nodes' roundings alone."""
    truth, lane = compute(in_double(model, planted), inputs), model
    if arithmetic == "tf32":
        lane, others = (onnx.ModelProto.FromString(model.SerializeToString()) for _ in range(2))
        with_tf32(lane.graph)
        with_tf32(others.graph, planted)
        if sqnr(compute(in_double(others, planted), inputs), truth) < TWIN_DB:
            raise Misfit("another node's roundings take part")
    return sqnr(compute(lane, inputs), truth) if all(np.isfinite(array).all() for array in truth.values()) else float("nan")


def level(model, inputs, reference, kept=()):
    """Decibels of a model: of FP16 beside itself, or of itself beside the reference."""
    if reference is not None:
        truth = compute(reference, inputs)
        return sqnr(compute(model, inputs), truth) if all(np.isfinite(array).all() for array in truth.values()) else float("nan")
    truth = compute(model, inputs)
    if not all(np.isfinite(array).all() for array in truth.values()):
        return float("nan")
    return sqnr(compute(*halved(model, inputs, kept)), truth)


def plant(name, most, part, inputs, at, values):
    """Three models, right names and the cost of one fault; Misfit where it costs too little."""
    function, _, _, command = KINDS[name]
    made = {}
    for bad in (True, False) if command.startswith("doctor") else (True, False, None):
        edit = Edit(part, at, bad, values)
        edit.need(edit.rms > 1e-6 and 64 <= edit.x.size <= 60000 and np.isfinite(edit.x).all())
        result = function(edit)
        edit.put(result or at)
        onnx.checker.check_model(edit.model, full_check=True)
        made[bad] = edit
    reference = made[None].model if None in made else None
    model, twin = made[True].model, made[False].model
    edit.need(5 <= len(model.graph.node) <= most)
    arithmetic = getattr(made[True], "arithmetic", "fp16")

    def measure(edit):
        wide = arithmetic != "fp16"
        return level_of_floats(edit.model, inputs, {node.name for node in edit.added}, arithmetic) if wide else level(edit.model, inputs, reference)

    fault = measure(made[True])
    if not fault <= FAULT_DB:
        raise Misfit("costs too little")
    sound = measure(made[False])
    if not (sound >= TWIN_DB and sound - fault >= COST_DB):
        raise Misfit("its twin is not fine")
    right = made[True].right
    if reference is None and arithmetic == "fp16":
        kept = set(right)
        wide = {name for node in model.graph.node if node.name in kept for name in node.output}
        for node in model.graph.node:  # what only picks or moves values holds what it is handed
            if node.op_type in ("ReduceMin", "ReduceMax", "Transpose", "Abs", "Slice", "Gather") and wide & set(node.input):
                kept.add(node.name)
        mended = level(model, inputs, None, kept)
        if not (mended > FAULT_DB and mended - fault >= COST_DB):
            raise Misfit("another node's roundings take part")
    return model, twin, reference, right, fault, sound


def write(folder, name, planted, inputs, network):
    model, twin, reference, right, fault, sound = planted
    _, reason, late, command = KINDS[name]
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    onnx.save(twin, folder / "twin.onnx")
    np.savez(folder / "inputs.npz", **inputs)
    if reference is not None:
        onnx.save(reference, folder / "reference.onnx")
    if command == COMPARE:
        np.savez(folder / "recorded.npz", **{key: array for key, array in record_all(reference, inputs).items() if array.dtype == np.float32})
    words = command.split()
    said = {"kind": name, "command": words, "arithmetic": words[words.index("-a") + 1], "node": right, "reason": reason, "late": late}
    said |= {"network": network, "nodes": len(model.graph.node), "fault_db": round(fault, 1), "twin_db": round(sound, 1), "cost_db": round(sound - fault, 1)}
    (folder / "EXPECT.json").write_text(json.dumps(said, indent=1) + "\n")


def candidates(networks, rng, most):
    """Without end: a network, a part of it, its inputs and a tensor in its middle."""
    while True:
        for name in rng.permutation(sorted(networks)):
            network = networks[name]
            names = [key for key, i in network.source.items() if network.floats(key) and network.nodes[i].op_type not in ("Shape", "Reshape", "Unsqueeze", "Identity")]
            try:
                part, inputs = network.part(names[rng.integers(len(names))], int(rng.integers(4, most - 15)))
            except (Misfit, *REFUSALS):
                yield None
                continue
            read = {key for node in part.graph.node for key in node.input}
            inner = [key for node in part.graph.node for key in node.output if key in read and network.floats(key)]
            yield (str(name), part, inputs, inner[rng.integers(len(inner))]) if len(part.graph.node) >= 4 and inner else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--kinds", help="separated by commas (default: all that are not late)")
    parser.add_argument("--late", action="store_true", help="the late kinds instead")
    parser.add_argument("--floats", action="store_true", help="the kinds of FP32 and TF32 instead, with --late the late ones of them")
    parser.add_argument("--public", action="store_true", help="the kinds that public threads tell of instead")
    parser.add_argument("--parts", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--nodes", type=int, default=60)
    parser.add_argument("--tries", type=int, default=600)
    asked = parser.parse_args()
    networks = {}
    for path in sorted(itertools.chain.from_iterable((asked.data / room).glob("*/model.onnx") for room in ("models", "pretrained", "zoo4"))):
        if path.stat().st_size < 4e6 and (path.parent / "inputs.npz").exists():
            try:
                networks[path.parent.name] = Network(path.parent)
            except (Misfit, KeyError, ValueError, RuntimeError):
                continue
    print(f"{len(networks)} networks")
    for name, (_, _, late, _) in KINDS.items():
        if name not in asked.kinds.split(",") if asked.kinds else (name in floats.NAMES, name in public.NAMES, late) != (asked.floats, asked.public, asked.late):
            continue
        rng, done, why = np.random.default_rng([asked.seed, zlib.crc32(name.encode())]), 0, {}
        for found in itertools.islice(candidates(networks, rng, asked.nodes), asked.tries):
            if done == asked.parts:
                break
            try:
                if found is None:
                    raise Misfit("no part")
                planted = plant(name, asked.nodes, *found[1:], networks[found[0]].values)
            except Misfit as misfit:
                why[str(misfit)] = why.get(str(misfit), 0) + 1
                continue
            write(asked.folder / f"{name}-{done}", name, planted, found[2], found[0])
            done += 1
        print(f"{name}: {done} planted; dropped: {', '.join(f'{count} {reason}' for reason, count in why.items()) or 'none'}", flush=True)


if __name__ == "__main__":
    main()
