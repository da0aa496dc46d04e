#!/usr/bin/env python3
"""Run every command that the documentation shows, and compare what it prints with what the page says.

    check_walkthroughs.py PROGRAM SOURCE [--update] [PAGE...]

A block of a page is checked when its first line is indented by four spaces and begins with "$ ". Lines behind a command are its output,
of which "..." stands for any lines. All figures must be equal; times and sizes of memory are not compared. The commands of a page run in one
shell, in an empty folder with a link to examples/. One that fails must be followed by "$ echo $?". doc/walkthrough-*.md and doc/causes.md are taken whole; of other pages
the commands on files of examples/. --update writes what is printed now into the pages: between the same "..." lines, where they can be found again.
"""
import argparse
import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile

MARK = "\x1eulpscope-page"
INDENT = "    "
VOLATILE = [(re.compile(r"\b[\d.]+ (s|MiB|KiB|GiB)\b"), r"N \1"), (re.compile(r"\b[\d.]+ in all\b"), "N in all")]


class Command:
    def __init__(self, line, text):
        self.line, self.text, self.says, self.prints, self.status = line, text, [], [], None


def read_blocks(lines):
    """Blocks of commands: lists of Command. Command.says are (line number, text)."""
    blocks, block, command = [], None, None
    for number, line in enumerate(lines):
        if not line.startswith(INDENT):
            if line.strip():
                block = None
            elif block is not None:
                command.says.append((number, ""))
            continue
        text = line[len(INDENT):].rstrip("\n")
        begins = text.startswith("$ ")
        if block is None and begins and (number == 0 or not lines[number - 1].strip()):
            block = []
            blocks.append(block)
        if block is None:
            continue
        if begins:
            command = Command(number, text[2:])
            block.append(command)
        elif command.text.endswith("\\") and not command.says:
            command.text += "\n" + text
        else:
            command.says.append((number, text))
    for command in (command for block in blocks for command in block):
        while command.says and not command.says[-1][1].strip():
            command.says.pop()
        while command.says and not command.says[0][1].strip():
            command.says.pop(0)
    return blocks


def run(commands, options, folder):
    """All commands of a page in one shell; fills in prints and status."""
    tools = os.path.join(folder, ".bin")
    os.makedirs(tools)
    for name, path in (("ulpscope", options.program), ("python3", sys.executable)):
        with open(os.path.join(tools, name), "w", encoding="utf-8") as file:
            file.write(f'#!/bin/sh\nexec {shlex.quote(os.path.abspath(path))} "$@"\n')
        os.chmod(os.path.join(tools, name), 0o755)
    os.symlink(os.path.join(os.path.abspath(options.source), "examples"), os.path.join(folder, "examples"))
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "TMPDIR")}
    environment.update(PATH=tools + ":" + environment["PATH"], LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1", PYTHONPATH="")
    script = "".join(f"{command.text}\nstatus=$?; printf '\\n%s %d %d\\n' '{MARK}' {i} $status; (exit $status)\n" for i, command in enumerate(commands))
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=1800, check=False)
    part, i = [], 0
    for line in done.stdout.decode("utf-8", "replace").split("\n"):
        if line.startswith(MARK):
            commands[i].status, commands[i].prints = int(line.split()[2]), [item.rstrip() for item in part]
            while commands[i].prints and not commands[i].prints[-1]:
                commands[i].prints.pop()
            while commands[i].prints and not commands[i].prints[0]:
                commands[i].prints.pop(0)
            part, i = [], i + 1
        else:
            part.append(line)


def plain(text):
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    return text.rstrip()


def parts_of(texts):
    """The lines between "..." lines."""
    parts = [[]]
    for text in texts:
        if text.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(text)
    return parts


def place(part, prints, start):
    """Where the lines of part stand in prints, from start on; -1: nowhere."""
    for at in range(start, len(prints) - len(part) + 1):
        if prints[at:at + len(part)] == part:
            return at
    return -1


def matches(says, prints):
    """True when prints has the parts of says in order, the first at the beginning and the last at the end."""
    says, prints = [plain(text) for text in says], [plain(text) for text in prints]
    parts = parts_of(says)
    if len(parts) == 1:
        return parts[0] == prints
    if prints[:len(parts[0])] != parts[0]:
        return False
    at = len(parts[0])
    for part in parts[1:-1]:
        found = place(part, prints, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(prints) - len(parts[-1]) >= at and (not parts[-1] or prints[-len(parts[-1]):] == parts[-1])


def renew(says, prints):
    """What is printed now, cut as says is cut; None where a part cannot be found again."""
    parts = parts_of(says)
    if len(parts) == 1:
        return prints
    new, at = [], 0
    for i, part in enumerate(parts):
        if i > 0:
            new.append("...")
        if not part:
            continue
        if i == 0:
            found = 0
        elif i == len(parts) - 1:
            found = len(prints) - len(part)
        else:
            found = place([plain(text) for text in part], [plain(text) for text in prints], at)
        if found < 0:
            near = [(difflib.SequenceMatcher(None, plain(part[0]), plain(text)).ratio(), -k) for k, text in enumerate(prints) if k >= at]
            score, negative = max(near, default=(0, 0))
            if score < 0.6:
                return None
            found = -negative
        new += prints[found:found + len(part)]
        at = found + len(part)
    return new


def other_figure(text):
    """The same text with one digit changed."""
    found = re.search(r"\d", plain(text))
    return None if not found or plain(text) != text else text[:found.start()] + str((int(found.group()) + 1) % 10) + text[found.end():]


def check_page(path, options):
    with open(path, encoding="utf-8") as file:
        lines = file.readlines()
    whole = os.path.basename(path).startswith("walkthrough-") or os.path.basename(path) == "causes.md"
    blocks = [block for block in read_blocks(lines) if whole or any("examples/" in command.text for command in block)]
    commands = [command for block in blocks for command in block]
    shown = os.path.relpath(path, options.source)
    bad = []
    if whole:
        bad = [f"{shown}:{number + 1}: a command without '$'" for number, line in enumerate(lines) if re.match(r"    (ulpscope|python3) ", line)]
        bad += [] if commands else [f"{shown}: no commands"]
    if not commands:
        return bad, 0
    with tempfile.TemporaryDirectory() as folder:
        run(commands, options, folder)
    edits = []
    for i, command in enumerate(commands):
        where = f"{shown}:{command.line + 1}: {command.text.splitlines()[0]}"
        says = [text for _, text in command.says]
        if command.status is None:
            bad.append(f"{where}\n    was not run to its end")
            continue
        if command.status and not (i + 1 < len(commands) and commands[i + 1].text == "echo $?"):
            bad.append(f"{where}\n    exit code {command.status}:\n    " + "\n    ".join(command.prints[:5]))
        if not matches(says, command.prints):
            if options.update:
                edits.append((command, renew(says, command.prints)))
            else:
                bad.append(f"{where}\n" + "\n".join("    " + text for text in difflib.unified_diff(says, command.prints, "the page says", "is printed", lineterm="", n=1)))
            continue
        changed = next((k for k, text in enumerate(says) if other_figure(text)), None)
        if changed is not None and matches(says[:changed] + [other_figure(says[changed])] + says[changed + 1:], command.prints):
            bad.append(f"{where}\n    another figure would not be noticed")
    for command, new in reversed(edits):
        first, last = (command.says[0][0], command.says[-1][0] + 1) if command.says else (command.line + 1 + command.text.count("\n"),) * 2
        if new is None:
            print(f"{shown}:{command.line + 1}: what stands between '...' was not found again: cut it anew")
            new = command.prints
        lines[first:last] = [(INDENT + text).rstrip() + "\n" for text in new]
    if edits:
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(lines)
        print(f"{shown}: {len(edits)} outputs written")
    return bad, len(commands)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("source")
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_intermixed_args()
    doc = os.path.join(options.source, "doc")
    pages = options.pages or [os.path.join(options.source, "README.md")] + sorted(os.path.join(doc, name) for name in os.listdir(doc) if name.endswith(".md"))
    wrong, count = [], 0
    for page in pages:
        bad, commands = check_page(page, options)
        wrong, count = wrong + bad, count + commands
    print("\n".join(wrong + [f"{count} commands of {len(pages)} pages, {len(wrong)} findings"]))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
