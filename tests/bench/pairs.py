#!/usr/bin/env python3
"""Did a change move a time? Two programs or commits in paired turns, and what moved by more than its noise.

    tests/bench/pairs.py BASE NEW DATA [--networks mnist_8,...] [--commands WORD] [--turns 9]

BASE and NEW are ulpscope programs, or commits, which are built by scripts/build in trees of their own. DATA is the folder of measured data.
A turn of a command on a network is BASE, NEW and BASE again, in the next turn the other way round, one thread each. Its figures are the
processor's seconds of NEW over BASE and, for the noise, of BASE over BASE; that of all turns is the median, with three standard errors
behind it, which follow from the median deviation of both kinds of pairs. A machine that others load makes the error larger, not the figure
wrong. Exit code 1: something became slower by more than that."""
import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile

import process

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMANDS = {"fp32": ["run", "-a", "fp32"], "fp16": ["run", "-a", "fp16"], "mpfr:128": ["run", "-a", "mpfr:128"],
            "audit": ["audit", "-a", "fp16,tf32"], "audit without shares": ["audit", "-a", "fp16,tf32", "--no-attribute"]}
NETWORKS = "mnist_8,tinybert_1l,self_attention_ezkl,nanogpt_4l,gtcrn_simple,silero_vad_16k,fsanet_1x1,ultraface_rfb_320"
# A normal distribution's standard deviation is so many median deviations; the error of a median of n is so many times that of a mean.
OF_DEVIATION, OF_MEAN = 1.4826, 1.2533


def program_of(name, scratch):
    if os.path.isfile(name) and os.access(name, os.X_OK):
        return os.path.abspath(name)
    tree = tempfile.mkdtemp(dir=scratch)
    subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", "--force", tree, name], check=True, capture_output=True)
    try:
        build = tempfile.mkdtemp(dir=scratch)
        subprocess.run([os.path.join(tree, "scripts", "build"), "--disable-shared"], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, ULPSCOPE_BUILD=build))
        return os.path.join(build, "ulpscope")
    finally:
        subprocess.run(["git", "-C", ROOT, "worktree", "remove", "--force", tree], check=False)


def command_of(words, folder, out):
    inputs = os.path.join(folder, "inputs.npz")
    inputs = inputs if os.path.exists(inputs) else os.path.join(folder, "test_data_set_0")
    return [*words, os.path.join(folder, "model.onnx"), "-i", inputs, "-q", "-t", "1", *(["-o", out] if words[0] == "run" else [])]


def compare(base, new, command, turns):
    """log(new / base) of all turns: the median, three standard errors of it, and the median of the memory's."""
    pairs, same, memory = [], [], []
    for turn in range(turns):
        order = [base, new, base]
        costs = [process.run([program, *command]) for program in (order if turn % 2 else reversed(order))]
        middle = statistics.mean((costs[0].processor_seconds, costs[2].processor_seconds))
        pairs.append(math.log(costs[1].processor_seconds / middle))
        same.append(math.log(costs[2].processor_seconds / costs[0].processor_seconds))
        memory.append(costs[1].peak_bytes / costs[0].peak_bytes)
    median = statistics.median(pairs)
    # with one measurement's variance 1, a pair's with a mean of two has 3/2, one of two of them 2
    deviation = max(statistics.median(abs(p - median) for p in pairs), statistics.median(abs(s) for s in same) * math.sqrt(3 / 4))
    return median, 3 * OF_DEVIATION * OF_MEAN * deviation / math.sqrt(turns), statistics.median(memory)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("data")
    parser.add_argument("--networks", default=NETWORKS)
    parser.add_argument("--commands", default="")
    parser.add_argument("--turns", type=int, default=9)
    options = parser.parse_args()
    slower = 0
    print(f"{'network':22} {'command':22} {'time':>8} {'noise':>8} {'memory':>8}")
    with tempfile.TemporaryDirectory() as scratch:
        base, new = program_of(options.base, scratch), program_of(options.new, scratch)
        for network in options.networks.split(","):
            for name, words in COMMANDS.items():
                if options.commands not in name:
                    continue
                command = command_of(words, os.path.join(options.data, "models", network), os.path.join(scratch, "out.npz"))
                median, error, memory = compare(base, new, command, options.turns)
                moved = "" if abs(median) <= error else "slower" if median > 0 else "faster"
                slower += moved == "slower"
                print(f"{network:22} {name:22} {math.expm1(median):+8.1%} {error:8.1%} {memory - 1:+8.1%} {moved}".rstrip(), flush=True)
    sys.exit(1 if slower else 0)


main()
