#!/usr/bin/env python3
"""What ONNX Runtime's CUDA provider chooses by shape, and what it makes of files that ulpscope wrote.

    lab/record_ort_choices.py list FOLDER --data DATA                      shapes.json: the convolutions of DATA's networks, and a grid of others; needs no GPU
    lab/record_ort_choices.py make FOLDER --data DATA --program ULPSCOPE   plans/NAME: a plan for ort-cuda of each network, 8 dB above plain FP16, and what it refuses to write; needs no GPU
    lab/record_ort_choices.py record FOLDER OUT [--parts convolutions,states,plans,optimiser]

Needs onnx and onnxruntime; record: onnxruntime-gpu and a GPU. OUT gets
  convolutions.json, convolutions_bias.json   of FOLDER/shapes.json [shape, distance from use_tf32=0 of: operands rounded to TF32, two sessions by default, and of these from the rounded one]
  states.json      LSTM and GRU by [operator, batch, hidden, width]: the same distance of the second step, whose product with the state alone could be TF32
  plans.json       of FOLDER/plans: by optimiser (off, all) and use_tf32 (0, 1) the decibels of each output against FP64, or why it was refused
  optimiser.json   of each FOLDER/refused/*.onnx: which levels of the optimiser refuse it, and without which of its steps it is taken
"""
import argparse
import itertools
import json
import math
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from record_ort_cuda import ALL, OFF, open_session, to_tf32

RANDOM = np.random.default_rng(7)
PART = 60  # convolutions in one graph
STEPS = """LayerNormFusion SimplifiedLayerNormFusion GeluFusionL2 GeluFusionL1 QuickGeluFusion BiasGeluFusion SkipLayerNormFusion FastGeluFusion MatMulScaleFusion MatMulAddFusion BiasSoftmaxFusion
AttentionFusion EmbedLayerNormFusion MatmulTransposeFusion ConvActivationFusion GemmActivationFusion PropagateCastOps InsertCastTransformer CommonSubexpressionElimination ConstantFolding ConstantSharing
TransposeOptimizer GatherSliceToSplitFusion GatherToSliceFusion ConvAddFusion ConvMulFusion ConvBNFusion PadFusion ReshapeFusion UnsqueezeElimination CastElimination CastChainElimination
DoubleQDQPairsRemover NhwcTransformer GroupQueryAttentionFusion ReluClipFusion DivMulFusion QDQPropagationTransformer ConcatSliceElimination NotWhereFusion WhereDummyDq""".split()


def networks(data):
    return [(f"{kind}/{found.name}", found) for kind in ("models", "pretrained", "generated") if (data / kind).exists() for found in sorted((data / kind).iterdir())
            if (found / "inputs.npz").exists() and (found / "model.onnx").exists() and (found / "model.onnx").stat().st_size < 60e6]  # fmt: skip


def own_shapes(data):
    """Of every Conv and ConvTranspose with constant weights: operator, dims of input and weights, strides, pads, dilations, groups."""
    for _, folder in networks(data):
        model, given = onnx.load(folder / "model.onnx"), dict(np.load(folder / "inputs.npz"))
        constants = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
        constants.update({node.output[0]: list(a.t.dims) for node in model.graph.node if node.op_type == "Constant" for a in node.attribute if a.name == "value"})
        convolutions = [node for node in model.graph.node if node.op_type in ("Conv", "ConvTranspose") and node.input[1] in constants]
        known = {value.name for value in (*model.graph.input, *model.graph.output)}
        for name in dict.fromkeys(node.input[0] for node in convolutions):
            if name not in known:
                model.graph.output.add().name = name
        try:
            session = open_session(model, OFF, provider="CPUExecutionProvider")
            found = dict(zip([o.name for o in session.get_outputs()], session.run(None, {i.name: given[i.name] for i in session.get_inputs()})))
        except Exception as error:  # what ONNX Runtime does not run has no shapes
            print(folder.name, repr(error)[:100], file=sys.stderr)
            continue
        for node in convolutions:
            x, w = found.get(node.input[0], given.get(node.input[0])), constants[node.input[1]]
            said, rank = {a.name: helper.get_attribute_value(a) for a in node.attribute}, len(w) - 2
            pads = [(d - 1) // 2 for d in w[2:]] * 2 if said.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID") else list(said.get("pads", [0] * 2 * rank))
            if isinstance(x, np.ndarray) and x.dtype.kind == "f" and x.size < 3e6:
                yield node.op_type, tuple(x.shape), tuple(w), tuple(said.get("strides", [1] * rank)), tuple(pads), tuple(said.get("dilations", [1] * rank)), said.get("group", 1)


def grid_shapes():
    for c, o, k, length in itertools.product((1, 2, 4, 8, 16, 32, 64, 128, 256), (16, 64, 258), (1, 3, 5, 9, 16, 64, 256), (200, 1600)):
        for stride in (1, 2, k // 2 if k > 4 else 4):
            if k * c <= 8192:
                yield "Conv", (1, c, length), (o, c, k), (stride,), (k // 2, k // 2), (1,), 1
    for c, o, k, size in itertools.product((3, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192), (8, 24, 32, 96), ((2, 2), (3, 1), (1, 3), (4, 4), (7, 7), (1, 5)), (12, 40)):
        yield "Conv", (1, c, size, size), (o, c) + k, (1, 1), (k[0] // 2, k[1] // 2) * 2, (1, 1), 1
    for c, o in itertools.product((8, 16, 32, 64), (8, 32)):
        for k in (2, 3, 4):
            yield "ConvTranspose", (1, c, 20, 20), (c, o, k, k), (2, 2), (0,) * 4, (1, 1), 1
        for d in (2, 4):
            yield "Conv", (1, c, 30, 30), (o, c, 3, 3), (1, 1), (d,) * 4, (d, d), 1
    for batch, c, k, size in itertools.product((2, 8, 32), (3, 16, 32, 64, 128), (1, 3, 5), (14, 28)):
        yield "Conv", (batch, c, size, size), (32, c, k, k), (1, 1), (k // 2,) * 4, (1, 1), 1


def distance(values, other, base):
    return float(np.sqrt(np.mean((values.astype(np.float64) - other)**2) / np.mean(base.astype(np.float64)**2)))


def record_convolutions(folder, out):
    shapes = json.loads((folder / "shapes.json").read_text())
    for biased in (False, True):
        rows, begun = [], time.time()
        for at in range(0, len(shapes), PART):
            nodes, values, given, weights = [], [], {}, {}
            for i, (operator, x, w, strides, pads, dilations, group) in enumerate(shapes[at:at + PART]):
                given[f"x{i}"], weights[f"w{i}"] = (RANDOM.standard_normal(s).astype(np.float32) for s in (x, w))
                if biased:
                    weights[f"b{i}"] = RANDOM.standard_normal(w[0] if operator == "Conv" else w[1] * group).astype(np.float32)
                values.append(helper.make_tensor_value_info(f"x{i}", TensorProto.FLOAT, x))
                nodes.append(helper.make_node(operator, [f"x{i}", f"w{i}"] + [f"b{i}"] * biased, [f"y{i}"], strides=strides, pads=pads, dilations=dilations, group=group))

            def evaluate(change, tf32):
                held = [numpy_helper.from_array(array if name[0] == "b" else change(array), name) for name, array in weights.items()]
                graph = helper.make_graph(nodes, "shapes", values, [onnx.ValueInfoProto(name=node.output[0]) for node in nodes], held)
                model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
                return open_session(model, OFF, tf32).run(None, {name: change(array) for name, array in given.items()})
            try:
                base, rounded, one, two = evaluate(np.asarray, 0), evaluate(to_tf32, 0), evaluate(np.asarray, 1), evaluate(np.asarray, 1)
            except Exception as error:  # whatever the runtime refuses is a result
                print("convolutions", at, repr(error)[:300], flush=True)
                continue
            rows += [[shape, *(distance(found[i], base[i], base[i]) for found in (rounded, one, two)), distance(one[i], rounded[i], base[i])] for i, shape in enumerate(shapes[at:at + PART])]
        (out / f"convolutions{'_bias' * biased}.json").write_text(json.dumps(rows))
        print("convolutions", len(rows), round(time.time() - begun), flush=True)


def record_states(_, out):
    rows = []
    for (operator, gates), batch, hidden, width in itertools.product((("LSTM", 4), ("GRU", 3)), (2, 3, 4, 8, 16, 32, 64), (32, 48, 64, 128, 200, 256, 512), (40, 64, 128)):
        x = to_tf32(RANDOM.standard_normal((2, batch, width)).astype(np.float32) / 2)  # exact in TF32, as w is: the product with the input is the same in both
        w, r, b = (RANDOM.standard_normal(s).astype(np.float32) / 5 for s in ((1, gates * hidden, width), (1, gates * hidden, hidden), (1, 2 * gates * hidden)))
        node = helper.make_node(operator, ["x", "w", "r", "b"], ["y"], hidden_size=hidden, **({"linear_before_reset": 1} if operator == "GRU" else {}))
        held = [numpy_helper.from_array(array, name) for name, array in (("w", to_tf32(w)), ("r", r), ("b", b))]
        graph = helper.make_graph([node], "state", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)], [onnx.ValueInfoProto(name="y")], held)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
        try:
            base, one = (open_session(model, OFF, tf32).run(None, {"x": x})[0][1] for tf32 in (0, 1))
            rows.append([operator, batch, hidden, width, distance(one, base, base)])
        except Exception as error:
            rows.append([operator, batch, hidden, width, repr(error)[:100]])
    (out / "states.json").write_text(json.dumps(rows))


def decibels(value, reference):
    error, size = np.sum((value.astype(np.float64) - reference)**2), np.sum(reference.astype(np.float64)**2)
    return None if not np.isfinite(error) or not size else 999.0 if error == 0 else round(float(10 * np.log10(size / error)), 2)


def record_plans(folder, out):
    said = {}
    for found in sorted((folder / "plans").iterdir()):
        given, reference = dict(np.load(found / "inputs.npz")), dict(np.load(found / "reference.npz"))
        row = said[found.name] = json.loads((found / "asked.json").read_text())
        for (level, word), tf32 in itertools.product(((OFF, "off"), (ALL, "all")), (0, 1)):
            try:
                session = open_session(str(found / "mixed.onnx"), level, tf32)
                feed = {i.name: given[i.name].astype(np.float16) if i.type == "tensor(float16)" else given[i.name] for i in session.get_inputs()}
                values = dict(zip([o.name for o in session.get_outputs()], session.run(None, feed)))
                row[f"{word}.{tf32}"] = {name: [decibels(value, reference[name]), int(value.size)] for name, value in values.items()
                                         if isinstance(value, np.ndarray) and value.dtype.kind == "f" and name in reference and reference[name].dtype.kind == "f"}  # fmt: skip
            except Exception as error:
                row[f"{word}.{tf32}"] = repr(error)[:1500]
        (out / "plans.json").write_text(json.dumps(said, indent=1))
    held = {tf32: sum(all(isinstance(row[key], dict) and all(figure[0] is not None and figure[0] >= row["tolerance"] for figure in row[key].values()) for key in (f"off.{tf32}", f"all.{tf32}"))
                      for row in said.values() if tf32 == 0 or row["tf32"] != "forbidden") for tf32 in (0, 1)}  # fmt: skip
    print(f"plans: of {len(said)} {held[0]} hold with TF32 off; of {sum(row['tf32'] != 'forbidden' for row in said.values())} that allow TF32 {held[1]} by default", flush=True)


def record_optimiser(folder, out):
    said = {}
    for path in sorted((folder / "refused").glob("*.onnx")):
        def tries(level=ALL, without=None):
            options = ort.SessionOptions()
            options.log_severity_level, options.graph_optimization_level = 4, level
            try:
                ort.InferenceSession(str(path), options, providers=["CUDAExecutionProvider", "CPUExecutionProvider"], **({"disabled_optimizers": [without]} if without else {}))
                return "ok"
            except Exception as error:
                return str(error)[:3000]
        row = said[path.name] = {str(level): tries(level) for level in (OFF, ort.GraphOptimizationLevel.ORT_ENABLE_BASIC, ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, ALL)}
        if row[str(ALL)] != "ok":
            row["taken without"] = [step for step in STEPS if tries(without=step) == "ok"]
    (out / "optimiser.json").write_text(json.dumps(said, indent=1))


def make_plans(folder, data, program):
    def ask(*words, limit=300):
        return subprocess.run([program, *map(str, words), "-q"], capture_output=True, text=True, timeout=limit)
    for name, found in sorted(networks(data), key=lambda each: (each[1] / "model.onnx").stat().st_size):
        model, out = (found / "model.onnx", "-i", found / "inputs.npz"), folder / "plans" / name.replace("/", ".")
        if (found / "model.onnx").stat().st_size > 12e6 or out.exists():
            continue
        with tempfile.TemporaryDirectory() as room:
            try:
                if ask("audit", *model, "-a", "ort-cuda:fp16", "--no-attribute", "-o", f"{room}/plain").returncode not in (0, 1):
                    continue
                rows = json.loads(pathlib.Path(f"{room}/plain/report.json").read_text())["lanes"][0]["outputs"]
                sizes = [(row["entire"]["rms"], row["range"]["ref_rms"]) for row in rows if row.get("entire") and row.get("range")]
                plain = min((20 * math.log10(ref / rms) for rms, ref in sizes if rms and ref), default=0)
                tolerance = round(plain + 8, 1)
                if not 20 <= tolerance <= 100:
                    continue
                done = ask("plan", *model, "--for", "ort-cuda", "--tolerance", f"sqnr_db={tolerance}", "--stop-after", 100, "-o", f"{room}/plan")
            except subprocess.TimeoutExpired:
                print(name, "takes too long", flush=True)
                continue
            plan = pathlib.Path(room) / "plan"
            if done.returncode or not (plan / "mixed.onnx").exists() or ask("run", *model, "-a", "fp64", "-o", f"{room}/reference.npz").returncode:
                print(name, tolerance, "no plan", done.stderr[-200:], flush=True)
                continue
            said = json.loads((plan / "plan.json").read_text())
            out.mkdir(parents=True)
            (out / "asked.json").write_text(json.dumps({"tolerance": tolerance, "tf32": said.get("tf32"), "kept": len(said["kept"])}))
            reference = {key: value.astype(np.float32) if value.dtype == np.float64 else value for key, value in np.load(f"{room}/reference.npz").items()}
            np.savez_compressed(out / "reference.npz", **reference)
            for path in (plan / "mixed.onnx", found / "inputs.npz"):
                shutil.copy(path, out)
        print(name, (out / "asked.json").read_text(), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("list", "make", "record"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path, nargs="?")
    parser.add_argument("--data", type=pathlib.Path)
    parser.add_argument("--program")
    parser.add_argument("--parts", default="convolutions,states,plans,optimiser")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.what == "list":
        rest = list(grid_shapes())
        shapes = sorted(set(own_shapes(given.data))) + [rest[i] for i in np.random.default_rng(1).permutation(len(rest))]
        (given.folder / "shapes.json").write_text(json.dumps(shapes))
    elif given.what == "make":
        make_plans(given.folder, given.data, given.program)
    else:
        given.out.mkdir(parents=True, exist_ok=True)
        parts = {"convolutions": record_convolutions, "states": record_states, "plans": record_plans, "optimiser": record_optimiser}
        for part in given.parts.split(","):
            begun = time.time()
            parts[part](given.folder, given.out)
            print(part, round(time.time() - begun), flush=True)


if __name__ == "__main__":
    main()
