#!/usr/bin/env python3
"""How often a command's first line names a planted fault: a table by kind.

    lab/judge_faults.py PROGRAM FOLDER [--late] [--kinds KIND,...] [--no-plan] [--audit] [--misses]

FOLDER is what plant_faults.py has written. The command of each EXPECT.json is run on model.onnx and on twin.onnx, with --json. Counted are: first, where the first node that is
named is one of those expected; reason, where what is said of it also has a word of the expected reason's (WORDS); later, where such a node is named behind another; twins that are
fine. Late kinds are run with --late only. --no-plan spares doctor the search for a remedy; --misses shows what was said instead.
Exit code 1: nothing was found to judge.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys

import onnx

WORDS = {
    "overflow": r"overflow|infinit|-inf\b|\+inf\b|beyond the largest",
    "underflow": r"underflow|subnormal|becomes? (0|zero)|divisor|divides? by (0|zero)|too small",
    "cancellation": r"cancel|nearly equal|subtract|difference",
    "rounding": r"round|resolution|spacing|beside each other|integers|cast|coordinate|position",
    "decision": r"deci(de|sion)|index|indices|comparison|argmax|topk|another (class|choice)",
    "constant": r"constant|weight|bias|scale|zero point|codes",
    "quantiser": r"quanti[sz]|clip|saturat|range|codes",
    "sum": r"terms|running sum|rows|elements long|cancel",
    "state": r"state|recurren|iteration|step \d|every step|carried|at each of \d+ nodes",
}
SECONDS = 120


def run(program, folder, words, file, extra):
    """The document, the exit code and what was printed."""
    words = [word.replace("{model}", file) for word in words] + ["-q", "--json", "-"]
    if words[0] == "doctor":
        words += extra
    try:
        done = subprocess.run([program, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS)
        return json.loads(done.stdout), done.returncode, done.stderr
    except subprocess.TimeoutExpired:
        return None, -1, f"more than {SECONDS} s"
    except json.JSONDecodeError:
        return None, done.returncode, done.stderr


def named(document, model):
    """Groups of names of nodes and what is said of them, the first first."""
    if "causes" in document:
        return [({cause.get("node")}, f"{cause.get('reason')} {cause.get('text')}") for cause in document["causes"] if cause.get("node")]
    if "files" in document:
        makes = {name: node.name for node in model.graph.node for name in node.output}
        said, found = document["files"][0], []
        cause = said.get("cause") or {}
        if said.get("first_unexplained"):
            found.append(({makes.get(said["first_unexplained"])}, cause.get("text", "")))
        return found + [({name}, cause.get("text", "")) for name in cause.get("nodes", [])]
    text = document["lanes"][0]["verdict"]
    names = {node["index"]: node["name"] for node in document["lanes"][0]["nodes"]}
    return [({names.get(int(index))}, text) for index in re.findall(r"\bnode (\d+)", text)]


def says(text, reason, model):
    """Whether a text has a word of the reason; names and operators of nodes are none."""
    for name in sorted({node.name for node in model.graph.node}, key=len, reverse=True):
        text = text.replace(f"{name} (", "(")
    return bool(re.search(WORDS[reason], re.sub(r"\(\w+\)|'[^']*'", "", text), re.I))


def fine(document, code):
    if document is None:
        return False
    if "causes" in document:
        return document["grade"] == "fine"
    return code == 0 if "files" in document else document["lanes"][0]["tiles"][0]["value"] == "fine"


def judge(program, folder, expected, extra):
    """What a row adds up, and what was said."""
    model = onnx.load(folder / "model.onnx")
    document, code, text = run(program, folder, expected["command"], "model.onnx", extra)
    groups = named(document, model) if document else []
    hits = [i for i, (names, _) in enumerate(groups) if names & set(expected["node"])]
    first = hits[:1] == [0]
    twin, twin_code, twin_text = run(program, folder, expected["command"], "twin.onnx", extra)
    marks = {
        "parts": 1,
        "first": first,
        "reason": first and says(groups[0][1], expected["reason"], model),
        "later": bool(hits) and not first,
        "called fine": fine(document, code),
        "twins fine": fine(twin, twin_code),
        "refused": document is None or twin is None,
    }
    lines = (text if document is None else document.get("verdict") or document.get("lanes", [{}])[0].get("verdict", "")).strip().splitlines()
    twin_lines = (twin_text if twin is None else twin.get("verdict") or twin.get("lanes", [{}])[0].get("verdict", "")).strip().splitlines()
    return marks, (lines or ["nothing"])[0], (twin_lines or ["nothing"])[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=lambda path: str(pathlib.Path(path).resolve()))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--late", action="store_true", help="the late kinds, too")
    parser.add_argument("--kinds", help="separated by commas")
    parser.add_argument("--no-plan", action="store_true")
    parser.add_argument("--audit", action="store_true", help="audit where the command is doctor")
    parser.add_argument("--misses", action="store_true")
    asked = parser.parse_args()
    rows = {}
    for path in sorted(asked.folder.glob("*/EXPECT.json")):
        expected = json.loads(path.read_text())
        if (expected["late"] and not asked.late) or (asked.kinds and expected["kind"] not in asked.kinds.split(",")):
            continue
        if asked.audit and expected["command"][0] == "doctor":
            expected["command"][0] = "audit"
        marks, said, twin = judge(asked.program, path.parent, expected, ["--no-plan"] if asked.no_plan else [])
        row = rows.setdefault((expected["late"], expected["kind"]), dict.fromkeys(marks, 0))
        for key, value in marks.items():
            row[key] += int(value)
        if asked.misses and not marks["first"]:
            print(f"{path.parent.name}: expected {' or '.join(expected['node'])}\n  {said}", file=sys.stderr)
        if asked.misses and not marks["twins fine"]:
            print(f"{path.parent.name}, twin: {twin}", file=sys.stderr)
    if not rows:
        sys.exit("nothing to judge")
    keys = list(next(iter(rows.values())))
    print("| kind | " + " | ".join(keys) + " |\n|---|" + "--:|" * len(keys))
    for (_, kind), row in sorted(rows.items()):
        print(f"| {kind} | " + " | ".join(str(row[key]) for key in keys) + " |")
    print("| all | " + " | ".join(str(sum(row[key] for row in rows.values())) for key in keys) + " |")


if __name__ == "__main__":
    main()
