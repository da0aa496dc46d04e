#!/usr/bin/env python3
"""The tables of doc/verdicts.md, of analysis/measure/verdict.def: written where they differ, or with --check an error then."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r"^(TASK|BASIS|KNOWN|FIGURE|RULE)\((.*)\)$", re.M)


def cells(text):
    return [next(filter(None, found), "") for found in re.findall(r'"([^"]*)"|([^\s,][^,]*)', text)]


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows)])


def between(low, high):
    return low if low == high else f"{low} and more" if high in ("INT64_MAX", "INT_MAX") else f"{low} to {high}"


def make():
    rows = {}
    for kind, text in ROW.findall((ROOT / "analysis/measure/verdict.def").read_text()):
        rows.setdefault(kind, []).append(cells(text))
    word = {name: said for name, said, _ in rows["TASK"]} | {"ANY": "any"}
    said = {"ANY": "–", "ROWS": "the last axis adds up to 1", "PLACES": "the second axis adds up to 1", "UNBOUND": "some not from 0 to 1", "LOGS": "none above 0, the exponentials along the last axis do not add up to 1",
            "BOXES": "the last axis at most twice as long as that before it"}
    known = [[f"`{word[task]}`", words.replace(" ", ", ") or "–", ops.replace(" ", ", ") or "–", between(low, high), between(shortest, longest), said[what]]
             for task, words, ops, low, high, shortest, longest, what in rows["KNOWN"]]
    smallest = {name for name, worst, _ in rows["FIGURE"] if worst == "SMALLEST"} | {"sqnr_db"}
    rules = []
    for task, figure, of, fine, broken, sentence in rows["RULE"]:
        said = f"`{figure}`" + ("" if of == "one" else f" / `{of}`")
        bounds = [f"from {fine} on", f"below {broken}"] if figure in smallest else [f"up to {fine}", f"above {broken}"]
        bounds = [bound.replace("below -INFINITY", "never") for bound in bounds]
        rules.append([f"`{word[task]}`", said, *bounds, re.sub(r"%(.)", lambda m: {"v": "N", "f": "N", "o": "M", "r": "M", "m": "D", "c": "N", "g": "column C", "s": "S", "k": "", "p": ""}[m[1]], sentence).replace("|", "")])
    return {"tasks": table(["task", "the output is"], [[f"`{said}`", what] for _, said, what in rows["TASK"]]),
            "known": table(["task", "the name has", "or the last operator is", "axes", "length of the last", "elements"], known),
            "figures": table(["figure", "is"], [[f"`{name}`", what] for name, _, what in rows["FIGURE"]]),
            "rules": table(["task", "figure", "fine", "broken", "sentence"], rules)}


def main():
    page = ROOT / "doc/verdicts.md"
    text = page.read_text()
    made = text
    for name, content in make().items():
        made = re.sub(rf"(<!-- {name}, made by scripts/verdict_table.py -->\n).*?(<!-- end -->)", lambda m: m[1] + content + "\n" + m[2], made, flags=re.S)
    if made != text and "--check" in sys.argv:
        sys.exit("doc/verdicts.md is not what analysis/measure/verdict.def says: run scripts/verdict_table.py")
    if made != text:
        page.write_text(made)


main()
