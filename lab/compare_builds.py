#!/usr/bin/env python3
"""Compare two builds bit for bit: every value of every node of the networks in DATA/models, in several arithmetics.

    lab/compare_builds.py BASE NEW DATA [--arith fp32,fp16,...] [--networks mnist_8,...] [--threads N] [--repeat N] [--outputs]

BASE and NEW are ulpscope programs, DATA the folder of measured data. Each network runs on its inputs.npz (or its
test_data_set_0) with `run --all-values`; members of the two archives must have equal names and bytes. A network that both
refuse with the same words is equal, too. With --outputs only what
the graph gives, of runs that show no values between and so compute nodes together. Exit code 1: something differs. For changes that must change no result."""
import argparse
import os
import subprocess
import sys
import tempfile
import zipfile

ARITHMETICS = "mpfr:128,fp32,fp16,bf16-strict,tf32,model"


def run(program, folder, arithmetic, options, out):
    """The members of the archive by name, or the message of a refusal."""
    inputs = os.path.join(folder, "inputs.npz")
    if not os.path.exists(inputs):
        inputs = os.path.join(folder, "test_data_set_0")
    command = [program, "run", os.path.join(folder, "model.onnx"), "-i", inputs, "-a", arithmetic, "-q",
               *([] if options.outputs else ["--all-values"]), "-t", str(options.threads),
               "--repeat", str(options.repeat), "-o", out]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr.strip()}"
    with zipfile.ZipFile(out) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def compare(base, new):
    """What differs, or None."""
    if isinstance(base, str) or isinstance(new, str):
        return None if base == new else f"base: {base if isinstance(base, str) else 'runs'}; new: {new if isinstance(new, str) else 'runs'}"
    gone, come = sorted(base.keys() - new.keys()), sorted(new.keys() - base.keys())
    if gone or come:
        return f"{len(gone)} values are missing ({', '.join(gone[:3])}), {len(come)} are new ({', '.join(come[:3])})"
    wrong = [name for name in base if base[name] != new[name]]
    return f"{len(wrong)} of {len(base)} values differ, first {wrong[0]}" if wrong else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("data")
    parser.add_argument("--arith", default=ARITHMETICS)
    parser.add_argument("--networks", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeat", type=int, default=1, help="runs, of which the last counts")
    parser.add_argument("--outputs", action="store_true")
    options = parser.parse_args()
    models = os.path.join(options.data, "models")
    chosen = [name for name in options.networks.split(",") if name]
    networks = [n for n in sorted(os.listdir(models)) if os.path.exists(os.path.join(models, n, "model.onnx"))]
    runs = values = differ = refused = 0
    arithmetics = [a for a in options.arith.split(";" if ";" in options.arith else ",") if a]
    with tempfile.TemporaryDirectory() as scratch:
        for network in networks:
            for arithmetic in arithmetics:
                if chosen and network not in chosen:
                    continue
                folder, out = os.path.join(models, network), os.path.join(scratch, "out.npz")
                base = run(options.base, folder, arithmetic, options, out)
                new = run(options.new, folder, arithmetic, options, out)
                wrong = compare(base, new)
                runs += 1
                values += len(base) if isinstance(base, dict) else 0
                refused += isinstance(base, str)
                if wrong:
                    differ += 1
                    print(f"{network} {arithmetic}: {wrong}", flush=True)
    print(f"{runs} runs of {len(networks)} networks in {len(arithmetics)} arithmetics, {values} values, {refused} refused alike: "
          f"{differ} differ")
    sys.exit(1 if differ or not runs else 0)


main()
