#!/usr/bin/env python3
"""What `ulpscope fix` makes of networks, against what `ulpscope plan` makes of them: the table of lab/plans.md.

    measure_fix.py PROGRAM CAUSES [DATA] [--for trt --for torch] [--only NAME...] [--minutes N] [--update lab/plans.md]

CAUSES is the folder that examples/causes/causes.py has written: each cause at its own target, to be fine. DATA holds KIND/NAME/{model.onnx,inputs.npz or test_data_set_0}: each
network in each target, to 60 dB. Plans are searched by the same tolerance, 40 dB for a cause. The seconds are the processor's, of each command; an audit with shares is
measured beside them. A command is ended after 60 of them, and after N minutes no more networks are begun. --update writes the table between the lines that begin with <!--."""
import argparse
import json
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

NETWORKS = [
    "models/mnist_8", "models/self_attention_ezkl", "models/micro_kws_fp32", "models/tinybert_1l", "models/fsanet_1x1", "models/nanogpt_4l",
    "models/t5_random_encoder", "models/residual_block", "models/vit_pgd_2_3_16", "generated/torch_mha_op14", "generated/torch_encoder_layer_op17", "generated/vit_tiny_op14", "generated/vit_tiny_op17",
    "generated/clip_text_tiny_op14", "generated/clip_text_tiny_op17", "pretrained/mtcnn_onet", "pretrained/ppocr2_cls", "pretrained/crepe_tiny", "pretrained/resemblyzer",
    "pretrained/silero_vad_sequence", "pretrained/rxnmapper", "pretrained/swift_f0",
]  # fmt: skip
SECONDS = 60
BEGIN, END = "<!-- made by lab/measure_fix.py -->\n", "<!-- end -->"


def run(command):
    """Its exit code and processor seconds; below 0: it was ended."""

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    code = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, preexec_fn=limit).returncode
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return code, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def read(path):
    return json.loads(path.read_text()) if path.exists() else None


def level(state):
    """The worst output's dB, as its tolerance has it."""
    if state["metric"] == "sqnr_db":
        return f"{state['value']:.1f}"
    return "not finite" if state["metric"] == "nonfinite" else "decides otherwise"


def share(kept, macs):
    return f"{100 * kept / macs:.3g} %" if macs else "0 %"


def measure(program, name, model, inputs, target, tolerance, work):
    given = [str(model), "-i", str(inputs), "--for", target, "-q"]
    fix, plan = work / "fix.json", work / "plan" / "plan.json"
    for old in (fix, plan):
        old.unlink(missing_ok=True)
    asked = ["--tolerance", tolerance] if tolerance else []
    code, seconds = run([program, "fix", *given, *asked, "-o", str(work / "fixed.onnx"), "--json", str(fix)])
    said = read(fix)
    if said is None:
        return [name, target, "stopped" if code < 0 else "refused", *["–"] * 7]
    before = level(said["before"])
    if not said["edits"] and not said.get("plan_seconds"):
        return [name, target, before, "nothing to fix", *["–"] * 6]
    tried, planned = run([program, "plan", *given, "--tolerance", tolerance or "sqnr_db=40", "-o", str(work / "plan")])
    alone = read(plan)
    _, audited = run([program, "audit", str(model), "-i", str(inputs), "-a", said["arithmetic"], "-q"])
    made = sum(edit["done"] == "made" for edit in said["edits"])
    nodes = f"{len(alone['kept'])}{'' if tried == 0 else ' (not met)'}" if alone and "kept" in alone else "stopped"
    return [
        name, target, before, level(said["after"]) + ("" if code == 0 else " (not met)"), str(made), str(len(said["kept"])), share(said["kept_macs"], said["macs"]),
        nodes, share(alone["kept_macs"], alone["macs"]) if alone and "macs" in alone else "–", f"{seconds:.1f}, {planned:.1f}, {audited:.1f}",
    ]  # fmt: skip


def rows_of(arguments, work):
    with open(pathlib.Path(__file__).resolve().parent.parent / "examples/causes/causes.tsv", encoding="utf-8") as file:
        causes = [line.split("\t") for line in file][1:]
    for name, target, node, *_ in causes:
        folder = arguments.causes / name
        if node and (not arguments.only or name in arguments.only):
            yield measure(arguments.program, name, folder / "broken.onnx", folder / "inputs.npz", target, None, work)
    for name in NETWORKS if arguments.data else []:
        folder = arguments.data / name
        inputs = folder / "inputs.npz" if (folder / "inputs.npz").exists() else folder / "test_data_set_0"
        for target in arguments.targets or ["trt", "torch"]:
            if arguments.only and name not in arguments.only:
                continue
            if time.monotonic() > arguments.end:
                yield [name, target, "not run", *["–"] * 7]
                continue
            yield measure(arguments.program, name, folder / "model.onnx", inputs, target, "sqnr_db=60", work)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("causes", type=pathlib.Path)
    parser.add_argument("data", type=pathlib.Path, nargs="?")
    parser.add_argument("--for", dest="targets", action="append")
    parser.add_argument("--only", action="append")
    parser.add_argument("--update", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=1e9)
    arguments = parser.parse_args()
    arguments.end = time.monotonic() + 60 * arguments.minutes
    titles = ["network", "target", "before, dB", "after, dB", "edits", "nodes in FP32", "multiply-adds", "nodes, plan alone", "multiply-adds", "s: fix, plan, audit"]
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    print("\n".join(lines), flush=True)
    with tempfile.TemporaryDirectory() as work:
        for row in rows_of(arguments, pathlib.Path(work)):
            lines.append("| " + " | ".join(row) + " |")
            print(lines[-1], flush=True)
    if arguments.update:
        page = arguments.update.read_text()
        table = BEGIN + "\n".join(lines) + "\n" + END
        arguments.update.write_text(re.sub(re.escape(BEGIN) + ".*?" + re.escape(END), lambda _: table, page, flags=re.S))
    return 0


if __name__ == "__main__":
    sys.exit(main())
