#!/usr/bin/env python3
"""What the program is right and wrong about, counted: doc/scorecard.md and the figures of README.md, of tests/data/scorecard.json, tests/data/targets and lab/plans.md.

    lab/scorecard.py [--check]                      write the page and README's lines where they differ, or say so
    lab/scorecard.py measure PROGRAM [--corpus] [--aside FOLDER] [--data DATA] [--peer]

measure counts anew what it is asked for: with --corpus the public causes of examples/causes; with --aside causes whose models are not in the tree, by
whoever has them (a folder for each: model.onnx, twin.onnx, inputs.npz, EXPECT.json with target and nodes); with --data networks that run well in FP32 (models/, pretrained/),
of which none may be called anything but fine; with --peer what onnxsim's numeric_lint says of the public causes, given the range of their inputs and the sample to confirm by."""
import argparse
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT, PAGE, README = ROOT / "tests/data/scorecard.json", ROOT / "doc/scorecard.md", ROOT / "README.md"
BEGIN, END = "<!-- made by lab/scorecard.py -->", "<!-- end -->"

# ---- counting


def corpus(program, work):
    """Rows of the public causes that are made in work, as tests/doc/check_corpus.py asks of them."""
    sys.path.insert(0, str(ROOT / "tests/doc"))
    import check_corpus

    import csv

    causes = ROOT / "examples/causes"
    subprocess.run([sys.executable, str(causes / "causes.py"), work], stdout=subprocess.DEVNULL, check=True)
    rows = list(csv.DictReader((causes / "causes.tsv").read_text().splitlines(), delimiter="\t"))
    found = {"named": [0, 0], "named_again": [0, 0], "sound_called": [0, 0]}
    for row in rows:
        folder = str(pathlib.Path(work, row["name"]))
        for model in ("mended", "sound"):
            if pathlib.Path(folder, f"{model}.onnx").exists():
                diagnosis, _ = check_corpus.examine(program, folder, model, row["target"])
                found["sound_called"][0] += diagnosis["grade"] != "fine"
                found["sound_called"][1] += 1
        if row["node"]:
            for key in ("named", "named_again"):
                diagnosis, _ = check_corpus.examine(program, folder, "broken", row["target"])
                found[key][0] += check_corpus.names(row, diagnosis)
                found[key][1] += 1
                check_corpus.redraw(folder)
    return found


SECONDS = 120  # for a network of others: what takes longer is not judged


def ask(program, folder, *words):
    done = subprocess.run([program, *words, "-q", "--json", "-"], cwd=folder, capture_output=True, text=True, timeout=1800, check=False)
    return json.loads(done.stdout) if done.stdout.startswith("{") else None


def diagnose(program, folder, model, target):
    """The grade, and the node that is named first with the value of it that is; None: the target is none of doctor's or audit's."""
    if target.startswith("--reference-model "):
        said = ask(program, folder, "audit", f"{model}.onnx", "-i", "inputs.npz", "-a", "fp32", *target.split()[:2])
        named = re.search(r"node \d+ (\S+)", said["lanes"][0]["verdict"])
        return said["lanes"][0]["tiles"][0]["value"], {named.group(1)} if named else set()
    name = re.match(r"(--for |-a model \(|-a |)([a-z0-9-]+)\)?$", target)
    if not name:
        return None
    kind, word = name.groups()
    ways = [["-a", word]] if kind == "-a " else [["--for", word, "-a", f"{word}:fp16"], ["--for", word]] if kind == "" else [["--for", word]]
    for way in ways:
        said = ask(program, folder, "doctor", f"{model}.onnx", "-i", "inputs.npz", "--no-plan", *way)
        if said:
            first = (said["causes"] or [{}])[0]
            return said["grade"], {first.get("node"), first.get("value")} - {None}
    return None


def aside(program, folder):
    found = {"named": [0, 0], "sound_called": [0, 0], "not_asked": 0}
    for path in sorted(pathlib.Path(folder).glob("*/EXPECT.json")):
        expected = json.loads(path.read_text())
        asked = diagnose(program, path.parent, "model", expected.get("target", ""))
        if asked is None:
            found["not_asked"] += 1
            continue
        grade, names = asked
        causes = [cause for key in ("nodes", "cause_nodes", "cause_values") for cause in expected.get(key) or []]
        right = grade in ("broken", "borderline") and any(fnmatch.fnmatchcase(name, cause.split(" ")[0]) for name in names for cause in causes)
        found["named"][0] += right
        found["named"][1] += 1
        twin = diagnose(program, path.parent, "twin", expected["target"]) if (path.parent / "twin.onnx").exists() else None
        found["sound_called"][0] += bool(twin) and twin[0] != "fine"
        found["sound_called"][1] += bool(twin)
        print(f"{path.parent.name}: {grade}, {sorted(names)}{'' if right else ', expected another'}; twin {twin and twin[0]}", flush=True)
    return found


def sound(program, data):
    """Networks of others as they are, in FP32."""
    found = {"called": [], "of": 0, "not_judged": []}
    for path in sorted([*pathlib.Path(data).glob("models/*/inputs.npz"), *pathlib.Path(data).glob("pretrained/*/inputs.npz")]):
        said = ask(program, path.parent, "audit", "model.onnx", "-i", "inputs.npz", "-a", "fp32", "--no-attribute", "--max-time", str(SECONDS))
        grades = {output["judged"]["grade"] for lane in said["lanes"] for output in lane["outputs"]} if said else set()
        if not grades - {"not judged"}:
            found["not_judged"].append(path.parent.name)
            continue
        found["of"] += 1
        found["called"] += [path.parent.name] if grades & {"broken", "borderline"} else []
    return found


def peer(work):
    """onnxsim's numeric_lint on the public causes in FP16: the first finding, a confirmed one before others, and all of them."""
    import numpy
    import onnx
    import onnxsim
    from onnxsim import numeric_lint

    import csv

    found = {"name": f"onnxsim {onnxsim.__version__.lstrip('v')}, numeric_lint", "named": [0, 0], "among": [0, 0], "sound_called": [0, 0], "failed": 0}
    for row in csv.DictReader((ROOT / "examples/causes/causes.tsv").read_text().splitlines(), delimiter="\t"):
        folder = pathlib.Path(work, row["name"])
        inputs = dict(numpy.load(folder / "inputs.npz"))
        ranges = {name: (float(value.min()), float(value.max())) for name, value in inputs.items() if value.dtype.kind == "f"}
        for model in ("broken", "mended", "sound"):
            if not (folder / f"{model}.onnx").exists() or (model == "broken" and not row["node"]):
                continue
            graph = onnx.load(str(folder / f"{model}.onnx"))
            try:
                report = numeric_lint.lint(graph, ranges, "fp16", witness=8, witness_data=[inputs])
            except Exception as error:
                print(f"{row['name']} {model}: {type(error).__name__}: {str(error)[:80]}", flush=True)
                found["failed"] += 1
                continue
            serious = [finding for finding in report.findings if finding.severity != numeric_lint.INFO]
            serious.sort(key=lambda finding: finding.certainty != numeric_lint.CONFIRMED)
            if model != "broken":
                found["sound_called"][0] += any(finding.severity == numeric_lint.CAN_FAIL for finding in serious)
                found["sound_called"][1] += 1
                continue
            # of a constant or a value what is said is of the node that reads or makes it, too
            nodes = [node for node in graph.graph.node if fnmatch.fnmatchcase(node.name, row["node"])]
            right = {name for node in nodes for name in (node.name, *node.input, *node.output)} - {""}
            hits = [finding.node in right or finding.tensor in right for finding in serious]
            for key, hit in (("named", any(hits[:1])), ("among", any(hits))):
                found[key] = [found[key][0] + hit, found[key][1] + 1]
    return found


def measure(options):
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    program = str(pathlib.Path(options.program).resolve())
    kept["version"] = subprocess.run(f"{program} --version".split(), capture_output=True, text=True, check=True).stdout.split("\n")[0]
    with tempfile.TemporaryDirectory() as work:
        if options.corpus:
            kept["corpus"] = corpus(program, work)
    with tempfile.TemporaryDirectory() as work:
        if options.peer:
            subprocess.run([sys.executable, str(ROOT / "examples/causes/causes.py"), work], stdout=subprocess.DEVNULL, check=True)
            kept["peer"] = peer(work)
    if options.aside:
        kept["aside"] = aside(program, options.aside)
    if options.data:
        kept["sound"] = sound(program, options.data)
    KEPT.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


# ---- the page


def of(pair):
    return f"{pair[0]} of {pair[1]}"


def fidelity():
    """By target of tests/data/targets: outputs within 2 dB, nodes within their limits."""
    sys.path.insert(0, str(ROOT / "lab"))
    import targets_table

    rows = {}
    for path in sorted(targets_table.FILES.glob("*.json")):
        recorded = json.loads(path.read_text())
        name = recorded["target"].split(",")[0].split("@")[0] or "rknn"
        networks = recorded.get("networks", {})
        outputs = [output for network in networks.values() for output in network.get("outputs", [])]
        nodes = [network["nodes"] for network in networks.values() if "nodes" in network]
        row = rows.setdefault(name, {"outputs": [0, 0], "nodes": [0, 0], "operators": [0, 0], "runtimes": set()})
        for key, pair in (("outputs", (targets_table.within(outputs, 2), len(outputs))), ("nodes", [sum(n[i] for n in nodes) for i in (0, 1)])):
            row[key] = [a + b for a, b in zip(row[key], pair)]
        exact = recorded.get("operators", {})
        row["operators"] = [row["operators"][0] + sum(v >= 99 for v in exact.values()), row["operators"][1] + len(exact)]
        row["runtimes"].add(recorded["runtime"].split(",")[0])
    return rows


def table(heading, column):
    """Rows of the first table behind a heading of lab/plans.md, whose head has the column."""
    text = (ROOT / "lab/plans.md").read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows, head = [], None
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else None
        if cells is None:
            if rows:
                break
            head = None
        elif head is None:
            head = cells
        elif column in head and not set(cells[0]) <= set("-"):
            rows.append(dict(zip([f"{name} {head[:i].count(name)}" if head.count(name) > 1 else name for i, name in enumerate(head)], cells)))
    assert rows, heading
    return rows


def plans():
    draws = table("In draws", "held")
    held = sum(int(row[key]) >= 49 for row in draws for key in ("held 1", "held 2"))
    gpu = table("On an H200", "eager: GPU")
    near = sum(abs(float(row["eager: GPU"]) - float(row["predicted 0"])) <= 2 for row in gpu)
    beside = table("Beside AutoCast", "AutoCast")
    percent = lambda cell: float(re.search(r"\(([\d.]+)\)", cell)[1])
    fewer = sum(percent(row["plan"]) <= percent(row["AutoCast"]) and float(row["dB 1"]) >= float(row["dB 0"]) - 0.15 for row in beside)
    fixes = table("Fixes", "edits")
    causes = [row for row in fixes if re.match(r"\d\d-", row["network"])]
    return [
        ("plans for `trt` and `torch-compile`, in 50 draws of ONNX Runtime's, every FP16 value rounded: 49 and more hold", (held, 2 * len(draws))),
        ("plans' `mixed.onnx` on an H200 in PyTorch, within 2 dB of what was predicted", (near, len(gpu))),
        ("plans with no more multiply-adds in FP32 than AutoCast's (ModelOpt 0.47), as accurate to a tenth of a dB", (fewer, len(beside))),
        ("public causes that `fix` mends", (sum(bool(re.match(r"[\d.]+$", row["after, dB"])) for row in causes), len(causes))),
    ]  # fmt: skip


def rows_of(kept):
    """Each figure: what, how many of how many, by what."""
    corpus, aside, sound = kept["corpus"], kept["aside"], kept["sound"]
    return [
        ("public causes of which `doctor` names the stated node and reason first", corpus["named"], "`tests/doc/check_corpus.sh`"),
        ("the same with inputs drawn anew (the others are fine there)", corpus["named_again"], "`tests/doc/check_corpus.sh`"),
        ("mended twins and sound networks of these called anything but fine", corpus["sound_called"], "`tests/doc/check_corpus.sh`"),
        ("public causes whose models are not in the tree, of which the node or a value of it is named first", aside["named"], "`lab/scorecard.py --aside`"),
        ("their twins called anything but fine", aside["sound_called"], "`lab/scorecard.py --aside`"),
        ("networks of others, in FP32 as they are, called anything but fine", (len(sound["called"]), sound["of"]), "`lab/scorecard.py --data`"),
        *((text, pair, "`lab/plans.md`") for text, pair in plans()),
    ]


def page(kept):
    lines = [f"Counted by {kept['version']}.", "", "| | | by |", "|---|--:|---|", *(f"| {what} | {of(pair)} | {by} |" for what, pair, by in rows_of(kept)), ""]
    lines += ["| target | recorded in | nodes within their limits | outputs within 2 dB | operators with 99 % of their bits |", "|---|---|--:|--:|--:|"]
    show = lambda pair: of(pair) if pair[1] else "–"
    for name, row in sorted(fidelity().items()):
        if row["nodes"][1] + row["outputs"][1] + row["operators"][1]:
            lines.append(f"| `{name}` | {'; '.join(sorted(row['runtimes']))} | {show(row['nodes'])} | {show(row['outputs'])} | {show(row['operators'])} |")
    other = kept["peer"]
    lines += ["", "| on the public causes, in FP16 | the node, or a value of it, first | among its findings | twins and sound networks that it says can fail |", "|---|--:|--:|--:|"]
    lines += [f"| `ulpscope doctor` | {of(kept['corpus']['named'])} | – | {of(kept['corpus']['sound_called'])} |"]
    lines += [f"| {other['name']} | {of(other['named'])} | {of(other['among'])} | {of(other['sound_called'])} |"]
    return "\n".join(lines)


def short(kept):
    corpus, aside = kept["corpus"], kept["aside"]
    outputs = [sum(row["outputs"][i] for row in fidelity().values()) for i in (0, 1)]
    runtimes = sum(row["outputs"][1] > 0 for row in fidelity().values())
    torch = fidelity()["torch"]["nodes"]
    made = dict((pair, text) for text, pair in plans())
    held, near, fewer, _ = made
    return "\n".join([
        "| | |", "|---|--:|",
        f"| networks that went wrong in public: the stated cause is named first | {of(corpus['named'])} |",
        f"| the same of others, whose models are not in the tree | {of(aside['named'])} |",
        f"| their mended twins and sound networks: called anything but fine | {corpus['sound_called'][0] + aside['sound_called'][0]} of {corpus['sound_called'][1] + aside['sound_called'][1]} |",
        f"| errors of nodes in PyTorch on an H200 within 10 % of what is said | {torch[0]:,} of {torch[1]:,} |",
        f"| outputs in {runtimes} runtimes within 2 dB of what is said | {of(outputs)} |",
        f"| plans that hold when every rounding falls anew, judged by ONNX Runtime | {of(held)} |",
    ])  # fmt: skip


def renew(path, text, check):
    old = path.read_text()
    first, rest = old.split(BEGIN)
    new = f"{first}{BEGIN}\n{text}\n{END}{rest.split(END, 1)[1]}"
    if new != old and check:
        print(f"{path.name} is not what lab/scorecard.py makes")
    elif new != old:
        path.write_text(new)
    return new != old


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measure", nargs="?", choices=["measure"])
    parser.add_argument("program", nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--corpus", action="store_true")
    parser.add_argument("--aside")
    parser.add_argument("--data")
    parser.add_argument("--peer", action="store_true")
    options = parser.parse_args()
    if options.measure:
        measure(options)
        return 0
    kept = json.loads(KEPT.read_text())
    stale = [renew(path, text, options.check) for path, text in ((PAGE, page(kept)), (README, short(kept)))]
    return options.check and any(stale)


if __name__ == "__main__":
    sys.exit(main())
