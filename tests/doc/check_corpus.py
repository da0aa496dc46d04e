#!/usr/bin/env python3
"""What `ulpscope doctor` names first of networks whose cause was found in public: examples/causes.

    check_corpus.py PROGRAM SOURCE [NAME...]

The models are made by examples/causes/causes.py. Of each row of causes.tsv the broken model must be called broken or borderline, and the cause that is
named first be the node of the row (a pattern) with the row's word in its reason, sentence or rule. No mended twin and no sound
model may be called anything but fine. Of other inputs, each the same numbers drawn anew, a model may be fine (the cause may need a row of zeros, say), but
nothing else may be named first. How many are named, either way, is what the scorecard says (tests/data/scorecard.json). With ULPSCOPE_TEST_DATA so are causes whose decisions were moved (DECIDED), of which the node that decides is not what is right.
"""
import csv
import fnmatch
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

DECIDED = {  # of causes4: the command, and who decides
    "A01-nms-offset": ("doctor -a torch:fp16 --no-plan", "nms/NonMaxSuppression"),
    "B02-router-bias-bf16": ("doctor -a torch:bf16 --no-plan", "*/TopK"),
    "B03-router-cast": ("doctor --for torch --no-plan", "*/TopK"),
    "B10-router-int4": ("audit -a fp32 --reference-model float.onnx", "*/TopK"),
}


def examine(program, folder, model, target):
    """The diagnosis, and its exit code."""
    out = os.path.join(folder, model + ".doctor")
    done = subprocess.run([program, "doctor", os.path.join(folder, model + ".onnx"), "-i", os.path.join(folder, "inputs.npz"), "--for", target, "-a", f"{target}:fp16", "--no-plan", "-q", "-o", out],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    try:
        with open(os.path.join(out, "doctor.json"), encoding="utf-8") as file:
            return json.load(file), done.returncode
    except OSError:
        return {"grade": "none", "reason": done.stdout.strip(), "causes": []}, done.returncode


def names(row, diagnosis):
    """Is the cause that is named first that of the row?"""
    first = diagnosis["causes"][0] if diagnosis["causes"] else {}
    said = " ".join(first.get(key, "") for key in ("reason", "text", "rule", "value"))
    return diagnosis["grade"] in ("broken", "borderline") and fnmatch.fnmatchcase(first.get("node", ""), row["node"]) and row["says"] in said


def examine_decided(program, folder, model, words):
    """The grade, and the node that is named first."""
    done = subprocess.run([program, words[0], model + ".onnx", "-i", "inputs.npz", *words[1:], "-q", "--json", "-"], cwd=folder, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    if words[0] == "doctor":
        return said["grade"], (said.get("causes") or [{}])[0].get("node", "")
    named = re.search(r"node \d+ (\S+)", said["lanes"][0]["verdict"])
    return said["lanes"][0]["tiles"][0]["value"], named.group(1) if named else ""


def look_at_decided(program, data):
    """What is wrong of the causes in DECIDED, a sentence each."""
    bad = []
    for name, (command, decides) in DECIDED.items():
        folder = os.path.join(data, name)
        with open(os.path.join(folder, "EXPECT.json"), encoding="utf-8") as file:
            expected = json.load(file)
        right = [node for node in expected.get("nodes", expected.get("cause_nodes")) if not fnmatch.fnmatchcase(node, decides)]
        grade, node = examine_decided(program, folder, "model", command.split())
        if grade == "fine" or node not in right:
            bad.append(f"{name}: {grade}, named is {node}, not {' or '.join(right)}")
        grade, _ = examine_decided(program, folder, "twin", command.split())
        bad += [] if grade == "fine" else [f"{name}: its twin is {grade}"]
    return bad


def redraw(folder):
    """Every float input anew, of its own numbers."""
    path, turn = os.path.join(folder, "inputs.npz"), np.random.default_rng(37)
    with np.load(path) as given:
        drawn = {name: turn.choice(value.ravel(), value.shape) if value.dtype.kind == "f" else value for name, value in given.items()}
    np.savez(path, **drawn)


def main():
    program, source, wanted = sys.argv[1], sys.argv[2], sys.argv[3:]
    causes = os.path.join(source, "examples", "causes")
    with open(os.path.join(causes, "causes.tsv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if not wanted or row["name"] in wanted]
    bad, named, count, again = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([sys.executable, os.path.join(causes, "causes.py"), work] + wanted, stdout=subprocess.DEVNULL, check=True)
        made = sorted(name for name in os.listdir(work))
        bad += [] if wanted or made == sorted(row["name"] for row in rows) else ["causes.tsv has other names than causes.py makes"]
        for row in rows:
            folder = os.path.join(work, row["name"])
            for model in ("mended", "sound"):
                if os.path.exists(os.path.join(folder, model + ".onnx")):
                    diagnosis, status = examine(program, folder, model, row["target"])
                    if diagnosis["grade"] != "fine" or status:
                        bad.append(f"{row['name']}: {model} is called {diagnosis['grade']}, exit code {status}: {diagnosis['reason']}")
            if row["node"]:
                diagnosis, status = examine(program, folder, "broken", row["target"])
                good = names(row, diagnosis)
                first = diagnosis["causes"][0]["text"] if diagnosis["causes"] else diagnosis["reason"]
                count, named = count + 1, named + good
                bad += [] if status == 1 else [f"{row['name']}: broken ends with exit code {status}"]
                redraw(folder)
                other, _ = examine(program, folder, "broken", row["target"])
                again += names(row, other)
                if other["grade"] != "fine" and not names(row, other):
                    bad.append(f"{row['name']}, other inputs: named is {other['causes'][0]['text'] if other['causes'] else other['reason']}")
                print(f"{row['name']:26} {'' if good else 'NOT NAMED: expected ' + row['node'] + ' (' + row['says'] + '): '}{first}")
    data = os.path.join(os.environ.get("ULPSCOPE_TEST_DATA", ""), "causes4")
    if not wanted and os.path.isdir(data):
        bad += look_at_decided(program, data)
    elif not wanted:
        print("no ULPSCOPE_TEST_DATA with causes4: causes of moved decisions are not looked for")
    if not wanted:
        with open(os.path.join(source, "tests", "data", "scorecard.json"), encoding="utf-8") as file:
            said = json.load(file)["corpus"]
        if [named, count] != said["named"] or [again, count] != said["named_again"]:
            bad.append(f"{named} of {count} causes are named first, {again} with other inputs, and the scorecard has others: lab/scorecard.py measure PROGRAM --corpus, then lab/scorecard.py")
    print("\n".join(bad + [f"{named} of {count} causes named first, {again} with other inputs; {len(bad)} findings"]))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
