#!/usr/bin/env python3
"""What AutoCast (NVIDIA ModelOpt) keeps in FP32, and how accurate that is, beside ulpscope's plan and fix of the same accuracy: the table of lab/plans.md.

    compare_autocast.py ULPSCOPE DATA EMULATOR.py [--only NAME ...]

Needs modelopt, numpy, onnx, onnxruntime and GNU time; DATA and EMULATOR.py are those of measure_draws.py. AutoCast converts to FP16 by its defaults, with the
network's inputs as calibration data, and as plan leaves the types of inputs and outputs (keep_io_types). What its nodes in FP32 reach, on the inputs and in half of plan's own draws
(targets[].median), is the tolerance of `plan -a fp16 --cost macs --confidence 0.5` and of fix. AutoCast's graph as it is and plan's mixed.onnx are then judged by ONNX Runtime in
FP32 with every FP16 value rounded, in the same eight draws of inputs and constants: the median of the worst output's dB. Prints rows for lab/plans.md; a network that AutoCast
refuses, or whose graph ONNX Runtime does, is said."""
import argparse
import csv
import importlib.util
import json
import logging
import pathlib
import statistics
import tempfile

import measure_draws as draws
import numpy
import onnx
from onnx import numpy_helper

FLOAT = onnx.TensorProto.FLOAT
DRAWS = 8
MORE = [
    "models/acopf_14", "models/ppocr_v3_det", "models/super_resolution_10", "models/silero_vad_16k", "models/deimv2_atto_coco", "pretrained/silero_vad",
    "pretrained/silero_vad_sequence", "pretrained/plcmos", "pretrained/ppocr4_det", "generated/resnet50_slim_op13", "generated/resnet101_slim_op13",
]  # fmt: skip


def convert(path, inputs):
    logging.disable(logging.CRITICAL)
    from modelopt.onnx.autocast import convert_to_mixed_precision

    return convert_to_mixed_precision(str(path), calibration_data=str(inputs), keep_io_types=True)


def find_wide(options, path, inputs, typed, out):
    """Indexes of the model's nodes that the typed graph computes in FP32: those with a result of that type."""
    draws.call(options.program, "audit", path, "-i", inputs, "-a", "fp16", "--reference", "fp64", "--no-attribute", "--out", out)
    with open(out / "layers.csv", newline="") as file:
        index_of = {row["output"]: int(row["index"]) for row in csv.DictReader(file)}
    inferred = onnx.shape_inference.infer_shapes(typed).graph
    types = {value.name: value.type.tensor_type.elem_type for value in [*inferred.value_info, *inferred.input, *inferred.output]}
    wide = [o for node in typed.graph.node if node.op_type not in ("Cast", "Constant") for o in node.output if types.get(o) == FLOAT]
    names = {o.split("_cast_to_")[0] for o in wide}
    return sorted({index_of[name] for name in names if name in index_of})


def sources(model, typed):
    """Of each float constant of the typed graph the model's that it was made of: that of its name, or of its value; a constant without one is of no draw."""
    given, found = {name: numpy_helper.to_array(tensor) for name, tensor in draws.constants(model)}, {}
    for name, tensor in draws.constants(typed):
        value = numpy_helper.to_array(tensor)
        if value.dtype.kind != "f":
            continue
        first = [name, *(n for n in given if n != name)]
        for other in first:
            if other in given and given[other].dtype.kind == "f" and given[other].shape == value.shape:
                lowered = numpy.clip(given[other], -65504, 65504).astype(value.dtype) if value.dtype == numpy.float16 else given[other]
                if numpy.allclose(lowered.astype(numpy.float64), value.astype(numpy.float64), rtol=2e-3, atol=1e-7):
                    found[name] = other
                    break
    return found


class Judge:
    """A model in draws in which the constants move that all its typed graphs have."""

    def __init__(self, emulator, model, inputs, graphs):
        self.emulator, self.model, self.inputs = emulator, model, inputs
        self.sources = [sources(model, graph) for graph in graphs]
        self.graphs = graphs
        self.moving = set.intersection(*(set(found.values()) for found in self.sources))

    def fill(self, graph, values, names):
        out = onnx.ModelProto()
        out.CopyFrom(graph)
        for name, tensor in draws.constants(out):
            value = values.get(names.get(name))
            if value is not None:
                kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
                value = numpy.clip(value, -65504, 65504) if kind == numpy.float16 else value
                tensor.CopyFrom(numpy_helper.from_array(value.astype(kind), tensor.name))
        return out

    def medians(self):
        """Of each graph the median over the draws of the worst output's sqnr_db."""
        found = []
        for seed in range(DRAWS):
            random, values = numpy.random.default_rng([seed, 1]), {}
            for name, tensor in draws.constants(self.model):
                value = numpy_helper.to_array(tensor)
                moved = draws.move(value, random)
                if name in self.moving and moved is not value:
                    values[name] = moved
            inputs = {name: draws.move(value, random) for name, value in self.inputs.items()}
            truth = self.emulator.run(self.fill(self.model, values, {n: n for n in values}), inputs)
            found.append([self.compare(truth, self.fill(graph, values, names), inputs) for graph, names in zip(self.graphs, self.sources)])
        return [statistics.median(column) for column in zip(*found)]

    def compare(self, truth, graph, inputs):
        value, worst = self.emulator.run(self.emulator.raise_(graph), inputs), numpy.inf
        for (_, exact), found in zip(truth.items(), value.values()):
            if exact.dtype.kind != "f":
                worst = worst if (exact == found).all() else -numpy.inf
                continue
            db = self.emulator.sqnr(found, exact)
            worst = min(worst, db if db == db else -numpy.inf)
        return worst


def reached(options, path, inputs, nodes, out):
    """Of a plan that is told to keep these nodes alone: its share of the multiply-adds, and the dB that its samples and half of its draws reach; where they are not finite, 40."""
    low = -1000.0
    draws.call(options.program, "plan", path, "-i", inputs, "-a", "fp16", "--tolerance", f"sqnr_db={low}", *(f"--always=#{n}" for n in nodes), "--out", out)
    told = json.loads((out / "plan.json").read_text())
    target = told["targets"][0] if told["targets"] else None
    ratio = max(target["own"] or numpy.inf, target["median"] or numpy.inf) if target else numpy.inf
    db = numpy.floor(100 * (low - 20 * numpy.log10(ratio))) / 100  # as much as is said of it
    return told["kept_macs"] / told["macs"] if told["macs"] else 0, db if target and len(told["kept"]) == len(nodes) and numpy.isfinite(db) else 40


def search(options, command, model, inputs, tolerance, out):
    how = ["-a", "fp16", "--tolerance", f"sqnr_db={tolerance:.2f}", "--confidence", "0.5"]
    where = ["--out", out, "--cost", "macs"] if command == "plan" else ["-o", out / "fixed.onnx", "--json", out / "fix.json", "--best"]
    out.mkdir()
    _, seconds, _ = draws.call(options.program, command, model, "-i", inputs, *how, *where)
    file, told = (out / "mixed.onnx", out / "plan.json") if command == "plan" else (out / "fixed.onnx", out / "fix.json")
    told = json.loads(told.read_text())
    return told, onnx.load(str(file)) if file.exists() else None, seconds


def measure(options, emulator, name, work):
    folder = options.data / name
    path, inputs = folder / "model.onnx", work / "inputs.npz"
    model = onnx.load(str(path))
    given = draws.read_inputs(folder, model)
    numpy.savez(inputs, **given)
    typed = convert(path, inputs)
    wide = find_wide(options, path, inputs, typed, work / "audit")
    price, tolerance = reached(options, path, inputs, wide, work / "price")
    plan, mixed, seconds = search(options, "plan", path, inputs, tolerance, work / "plan")
    judge = Judge(emulator, model, given, [typed, mixed or model])
    autocast, planned = judge.medians()
    fix, _, fix_seconds = search(options, "fix", path, inputs, tolerance, work / "fix")
    share = plan["kept_macs"] / plan["macs"] if plan["macs"] else 0
    fixed_share = fix["kept_macs"] / fix["macs"] if fix["macs"] else 0
    return [
        f"`{name.rpartition('/')[2]}`", str(plan["node_count"]), f"{len(wide)} ({100 * price:.2f})", f"{autocast:.1f}", f"{len(plan['kept'])} ({100 * share:.2f})", f"{planned:.1f}",
        f"{len(fix['kept'])} ({100 * fixed_share:.2f})", f"{seconds:.1f}, {fix_seconds:.1f}",
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("emulator", type=pathlib.Path)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    spec = importlib.util.spec_from_file_location("emulator", options.emulator)
    emulator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(emulator)
    print("| network | nodes | AutoCast: FP32 nodes (% of multiply-adds) | dB | plan | dB | fix | seconds: plan, fix |\n|---|---|---|---|---|---|---|---|")
    for name in draws.NETWORKS + MORE:
        if options.only and name not in options.only:
            continue
        with tempfile.TemporaryDirectory() as work:
            try:
                print("| " + " | ".join(measure(options, emulator, name, pathlib.Path(work))) + " |", flush=True)
            except Exception as problem:  # AutoCast refuses the network, or the emulator its graph
                print(f"{name}: {type(problem).__name__}: {' '.join(str(problem).split())[:160]}", flush=True)


if __name__ == "__main__":
    main()
