#!/usr/bin/env python3
"""Do plans hold where roundings fall otherwise? Plans of ulpscope plan, judged by ONNX Runtime in draws that no search has seen.

    measure_draws.py ULPSCOPE DATA EMULATOR.py [--before PROGRAM] [--for trt --for torch-compile] [--samples 8] [--only NAME ...] [--page lab/plans.md]

Needs numpy, onnx, onnxruntime and GNU time. DATA holds KIND/NAME/{model.onnx,inputs.npz or test_data_set_0}. EMULATOR.py has raise_(model), which makes of a graph with types an FP32
graph that rounds every FLOAT16 value by a pair of Casts, and run(model, inputs).

The tolerance is what plain FP16 gives, and 8 dB; 60 dB where FP16 is not finite. A draw multiplies the float inputs and constants of the model by random factors within
1 +- 2^-9, in mixed.onnx before they are rounded; the model itself on the same inputs is the truth. A plan holds when 49 of 50 draws meet the tolerance, 20 of 20 new inputs with
--samples 8 (19 count as holding), of which --page has the table, in the lines that say so. --before: a program whose plans are judged beside it, with the multiply-adds that both keep in FP32, and how many times its processor time and
its memory (largest resident set) the program takes."""
import argparse
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tests" / "support"))
from samples import read_inputs, vary  # noqa: E402

DRAWS = 50
NETWORKS = [
    "models/mnist_8", "models/self_attention_ezkl", "models/micro_kws_fp32", "models/resnet_4b_cifar10", "models/magika_v3_3", "models/tinybert_1l",
    "models/fsanet_1x1", "models/nanogpt_4l", "models/t5_random_encoder", "models/cct2_32_opset20", "models/vit_pgd_2_3_16", "models/gtcrn_simple",
    "generated/torch_mha_op14", "generated/torch_encoder_layer_op17", "generated/vit_tiny_op14", "generated/vit_tiny_op17", "generated/clip_text_tiny_op14",
    "generated/clip_text_tiny_op17", "pretrained/mtcnn_onet", "pretrained/ppocr2_cls", "pretrained/crepe_tiny", "models/residual_block",
    "models/yunet_n_320", "pretrained/resemblyzer", "pretrained/swift_f0", "pretrained/rxnmapper", "models/ppocr_v2_rec_en_crnn", "models/ultraface_rfb_320",
]  # fmt: skip


def move(value, random):
    """What a draw makes of a float array; whole numbers and single elements stay, as they are parts of formulas."""
    if value.dtype.kind != "f" or value.size < 16 or (value == numpy.floor(value)).all():
        return value
    return (value.astype(numpy.float64) * (1 + random.uniform(-(2.0**-9), 2.0**-9, value.shape))).astype(value.dtype)


def constants(model):
    for tensor in model.graph.initializer:
        yield tensor.name, tensor
    for node in model.graph.node:
        for attribute in node.attribute if node.op_type == "Constant" else []:
            if attribute.name == "value":
                yield node.output[0], attribute.t


def redraw(model, mixed, seed):
    random, moved, out = numpy.random.default_rng([seed, 1]), onnx.ModelProto(), onnx.ModelProto()
    moved.CopyFrom(model)
    out.CopyFrom(mixed)
    values = {}
    for name, tensor in constants(moved):
        value = numpy_helper.to_array(tensor)
        values[name] = move(value, random)
        if values[name] is not value:
            tensor.CopyFrom(numpy_helper.from_array(values[name], tensor.name))
    for name, tensor in constants(out):
        while name not in values and "_" in name:  # the second of a constant in two types
            name = name.rpartition("_")[0]
        kind = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        if name in values and numpy.dtype(kind).kind == "f" and list(values[name].shape) == list(tensor.dims):
            value = values[name] if kind != numpy.float16 else numpy.clip(values[name], -65504, 65504)
            tensor.CopyFrom(numpy_helper.from_array(value.astype(kind), tensor.name))
    return moved, out


class Judge:
    def __init__(self, emulator, model, inputs):
        self.emulator, self.model, self.inputs = emulator, model, inputs

    def run(self, truth_model, mixed, inputs):
        """The least sqnr_db of the outputs; minus infinity where a whole number differs or something is not finite."""
        truth, value = self.emulator.run(truth_model, inputs), self.emulator.run(self.emulator.raise_(mixed), inputs)
        worst = numpy.inf
        for name, exact in truth.items():
            if exact.dtype.kind != "f":
                worst = worst if (exact == value[name]).all() else -numpy.inf
                continue
            found = self.emulator.sqnr(value[name], exact)
            worst = min(worst, found if found == found else -numpy.inf)
        return worst

    def draw(self, mixed, seed):
        random = numpy.random.default_rng([seed, 2])
        return self.run(*redraw(self.model, mixed, seed), {name: move(value, random) for name, value in self.inputs.items()})


def call(program, *arguments):
    """What it printed on stderr, its processor time, and its memory in MiB. GNU time, as a child of this process begins with this one's memory."""
    command = ["time", "-q", "-f", "%U %M", program, *map(str, arguments), "-q", "--threads", "1"]
    *said, used = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr.splitlines()
    seconds, memory = used.split()
    return "\n".join(said), float(seconds), float(memory) / 1024


def find_tolerance(options, model, inputs, out):
    call(options.program, "audit", model, "-i", inputs[0], "-a", "fp16", "--reference", "fp64", "--no-attribute", "--out", out)
    worst = numpy.inf
    for output in json.loads((out / "report.json").read_text())["lanes"][0]["outputs"]:
        figures = (output.get("divergence") or {}).get("followed") or output["entire"]
        if output["type"].startswith("FLOAT"):
            worst = min(worst, -numpy.inf if figures["nonfinite"] or figures["sqnr_db"] is None else figures["sqnr_db"])
    return worst + 8 if worst > 0 else 60


def count_kept(options, model, inputs, plan, out):
    """The multiply-adds of these nodes, of all: a plan that is told to keep them says it."""
    kept = [f"--always=#{node['index']}" for node in plan["kept"]]
    call(options.program, "plan", model, "-i", inputs[0], "--tolerance", "sqnr_db=-1000", *kept, "--out", out)
    told = json.loads((out / "plan.json").read_text())
    return told["kept_macs"] / told["macs"]


def judge_plan(options, judge, program, model, inputs, how, limit, new, out):
    samples = [part for file in inputs for part in ("-i", file)]
    said, seconds, memory = call(program, "plan", model, *samples, *how, "--tolerance", f"sqnr_db={limit:.3f}", "--out", out)
    if not (out / "plan.json").exists():
        return None, said.strip().splitlines()[0]
    plan = json.loads((out / "plan.json").read_text())
    path = out / "mixed.onnx"
    mixed = onnx.load(str(path)) if path.exists() else judge.model  # all is kept
    if new:
        held = sum(judge.run(judge.model, mixed, sample) >= limit for sample in new)
    else:
        held = sum(judge.draw(mixed, seed) >= limit for seed in range(DRAWS))
    macs = count_kept(options, model, inputs, plan, out / "price")
    return {"held": held, "kept": len(plan["kept"]), "macs": macs, "seconds": seconds, "memory": memory, "nodes": plan["node_count"], "met": plan["met"], "limit": limit}, ""


def measure(options, emulator, name, table):
    folder = options.data / name
    model = onnx.load(str(folder / "model.onnx"))
    given = read_inputs(folder, model)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        many = [given] + [vary(given, seed) for seed in range(1, options.samples)]
        inputs = [scratch / f"{i}.npz" for i in range(len(many))]
        for file, sample in zip(inputs, many):
            numpy.savez(file, **sample)
        new = [vary(given, 1000 + seed) for seed in range(20)] if options.samples > 1 else []
        judge = Judge(emulator, model, given)
        limit = find_tolerance(options, folder / "model.onnx", inputs, scratch / "audit")
        runs = [(target, options.program, ["--for", target]) for target in options.targets]
        runs += [("before", options.before, ["-a", "fp16"])] if options.before else []
        for what, program, how in runs:
            found, reason = judge_plan(options, judge, program, folder / "model.onnx", inputs, how, limit, new, scratch / what)
            if not found:
                print(f"| {name} | {what} | {reason} |", flush=True)
                continue
            table.setdefault(what, {})[name] = found
            print(f"| {name} | {what} | {limit:.1f} | {found['held']} of {len(new) or DRAWS} | {found['kept']} of {found['nodes']} | {100 * found['macs']:.2f} % | "
                  f"{found['seconds']:.1f} | {found['memory']:.0f} |{'' if found['met'] else ' said not to hold'}", flush=True)  # fmt: skip


PAGE = re.compile(r"(<!-- plans of several samples, made by lab/measure_draws.py -->\n).*?(<!-- end -->)", re.S)


def write_page(page, table, least):
    """A row a network; what holds of all; medians."""
    targets = list(table)
    lines = ["| network | tolerance, dB | nodes |" + "".join(f" `--for {t}`: kept (% of multiply-adds) | held of 20 |" for t in targets) + " seconds |",
             "|---|---|---|" + "---|---|" * len(targets) + "---|"]  # fmt: skip
    names = [name for name in NETWORKS if all(name in table[t] for t in targets)]
    for name in names:
        rows = [table[t][name] for t in targets]
        cells = [f"`{name.partition('/')[2]}`", f"{rows[0]['limit']:.1f}", str(rows[0]["nodes"])]
        cells += [cell for row in rows for cell in (f"{row['kept']} ({100 * row['macs']:.2f})", str(row["held"]))]
        lines.append("| " + " | ".join([*cells, ", ".join(f"{row['seconds']:.1f}" for row in rows)]) + " |")
    said = []
    for target in targets:
        rows = [table[target][name] for name in names]
        holding, macs = sum(row["held"] >= least for row in rows), numpy.median([row["macs"] for row in rows])
        said.append(f"{holding} of {len(rows)} plans hold for {target} (median of the multiply-adds kept {100 * macs:.0f} %)")
    lines += ["", "; ".join(said) + "."]
    text = page.read_text()
    page.write_text(PAGE.sub(lambda m: m[1] + "\n".join(lines) + "\n" + m[2], text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("emulator", type=pathlib.Path)
    parser.add_argument("--before")
    parser.add_argument("--for", dest="targets", action="append")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--page", type=pathlib.Path)
    options = parser.parse_args()
    options.targets = options.targets or ["trt", "torch-compile"]
    spec = importlib.util.spec_from_file_location("emulator", options.emulator)
    emulator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(emulator)
    table = {}
    print("| network | plan | tolerance, dB | held | kept | multiply-adds kept | seconds | MiB |\n|---|---|---|---|---|---|---|---|")
    for name in NETWORKS:
        if not options.only or name in options.only:
            try:
                measure(options, emulator, name, table)
            except Exception as problem:  # a graph that the emulator does not take
                print(f"| {name} | {type(problem).__name__}: {str(problem)[:100]} |", flush=True)
            if options.page:
                write_page(options.page, table, 19)
    before = table.get("before", {})
    for what, of in table.items():
        rows, least = of.values(), 19 if options.samples > 1 else DRAWS - 1
        holding, macs = sum(row["held"] >= least for row in rows), numpy.median([row["macs"] for row in rows])
        print(f"{what}: {holding} of {len(rows)} plans hold; median of the multiply-adds kept {100 * macs:.2f} %; {sum(row['seconds'] for row in rows):.0f} s", flush=True)
        for figure in ("seconds", "memory"):
            ratios = [row[figure] / before[name][figure] for name, row in of.items() if name in before and before[name][figure] > 0]
            if ratios and what != "before":
                print(f"  {figure} over before's: median {numpy.median(ratios):.2f}, most {max(ratios):.2f}", flush=True)


if __name__ == "__main__":
    main()
