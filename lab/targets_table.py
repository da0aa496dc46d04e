#!/usr/bin/env python3
"""The table of doc/targets.md, of the comparisons that lie in tests/data/targets: written where they differ, or with --check an error then.

    lab/targets_table.py [--check]
    lab/targets_table.py --again PROGRAM DATA

A file of tests/data/targets is one comparison of an arithmetic with a runtime, as `keep` writes it for the scripts that compare (their option --record FILE): by network
the outputs as [decibels foreseen, decibels recorded, elements] (null: no error; false: not finite), nodes or tensors as [within the limits, compared], and equal elements
as [equal, compared], pairs of nodes as [in one kernel or not as there, compared]; of single operators the share of equal bits.
--again: what PROGRAM foresees now for the outputs of two small networks of each file is what the file says, to a tenth of a decibel (DATA/models, DATA/pretrained)."""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILES, PAGE = ROOT / "tests/data/targets", ROOT / "doc/targets.md"
LARGE = 32


def rounded(decibels):
    """Of a figure in a file: null where there is no error, false where something is not finite."""
    return False if math.isnan(decibels) or decibels == -math.inf else None if decibels == math.inf else round(decibels, 2)


def keep(path, target, arithmetic, runtime, script, networks, operators=None, limits=None):
    """A comparison as a file of tests/data/targets, a line a network so that two can be told apart. target: as --for takes it, or "" where there is none; runtime: with the hardware."""
    head = {"target": target, "arithmetic": arithmetic, "runtime": runtime, "script": script, "limits": limits}
    lines = [json.dumps(head)[:-1]]
    for name, rows in (("networks", networks), ("operators", operators)):
        if rows:
            lines.append(f'"{name}": {{\n' + ",\n".join(f" {json.dumps(key)}: {json.dumps(row)}" for key, row in sorted(rows.items())) + "\n}")
    pathlib.Path(path).write_text(",\n".join(lines) + "}\n", encoding="utf-8")


def within(outputs, limit):
    """Of [foreseen, recorded, elements]: how many agree so well. What is exact or not finite must be so in both."""
    return sum(foreseen == recorded if None in (foreseen, recorded) or False in (foreseen, recorded) else abs(foreseen - recorded) <= limit for foreseen, recorded, _ in outputs)


def share(inside, of):
    return f"{inside:,} of {of:,} ({100 * inside / of:.0f} %)" if of else "–"


def row(recorded):
    networks = recorded.get("networks", {})
    outputs = [output for network in networks.values() for output in network.get("outputs", [])]
    large = [output for output in outputs if output[2] >= LARGE]
    sums = {key: [sum(network[key][i] for network in networks.values() if key in network) for i in (0, 1)] for key in ("nodes", "bits", "pairs")}
    operators = recorded.get("operators", {})
    exact = sum(value >= 99 for value in operators.values())
    kernels = f"{share(*sums['pairs'])} of pairs in one kernel or not" if sums["pairs"][1] else ""
    return [f"`{recorded['target']}`" if recorded["target"] else "–", f"`{recorded['arithmetic']}`", recorded["runtime"], str(len(networks)) if networks else "–",
            kernels or share(*sums["nodes"]) + (" within {} to {}".format(*recorded["limits"]) if sums["nodes"][1] else ""),
            share(within(outputs, 1), len(outputs)), share(within(outputs, 2), len(outputs)), share(within(large, 1), len(large)),
            share(*sums["bits"]) if sums["bits"][1] else f"{exact} of {len(operators)} operators" if operators else "–", f"`{recorded['script']}`"]


def make(recordings):
    head = ["target", "arithmetic", "runtime", "networks", "nodes", "outputs within 1 dB", "within 2 dB", f"of {LARGE} elements or more within 1 dB", "bits", "by"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row(recorded)) + " |" for recorded in recordings])


def foresee(program, folder, arithmetic):
    """By output of the graph, what the program says in decibels."""
    with tempfile.TemporaryDirectory() as out:
        done = subprocess.run([program, "audit", folder / "model.onnx", "-i", folder / "inputs.npz", "-a", arithmetic, "-q", "--no-attribute", "-o", out], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"{folder.name}: {done.stderr.strip()}")
        outputs = json.loads((pathlib.Path(out) / "report.json").read_text())["lanes"][0]["outputs"]
    return {output["name"]: output["entire"] for output in outputs}


def look_again(program, data, recordings):
    """Networks with the fewest bytes, whose forecasts cost least."""
    bad = []
    for recorded in recordings:
        if recorded["target"] and subprocess.run([program, "list", recorded["target"]], capture_output=True).returncode:
            bad.append(f"{recorded['target']} is no target")
        folders = [folder for name in recorded.get("networks", {}) for kind in ("models", "pretrained") if (folder := data / kind / name).is_dir()]
        for folder in sorted(folders, key=lambda folder: (folder / "model.onnx").stat().st_size)[:2]:
            seen = [entire["sqnr_db"] for entire in foresee(program, folder, recorded["arithmetic"]).values() if isinstance(entire.get("sqnr_db"), (int, float))]
            for foreseen, _, _ in recorded["networks"][folder.name].get("outputs", []):
                if isinstance(foreseen, float) and not any(abs(foreseen - decibels) <= 0.1 for decibels in seen):
                    bad.append(f"{folder.name}, {recorded['arithmetic']}: {foreseen} dB in the file, {', '.join(f'{d:.2f}' for d in seen)} now: {recorded['script']} is to be run again")
    return bad


def main():
    recordings = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FILES.glob("*.json"))]
    if "--again" in sys.argv:
        sys.exit("\n".join(look_again(sys.argv[2], pathlib.Path(sys.argv[3]), recordings)) or None)
    page = PAGE.read_text(encoding="utf-8")
    made = re.sub(r"(<!-- made by lab/targets_table.py -->\n).*?(<!-- end -->)", lambda m: m[1] + make(recordings) + "\n" + m[2], page, flags=re.S)
    if "--check" in sys.argv and (made != page or len(recordings) < 3):
        sys.exit("doc/targets.md is not what tests/data/targets says: run lab/targets_table.py")
    if made != page:
        PAGE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
