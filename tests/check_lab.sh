#!/usr/bin/env bash
# The lab, which nothing else runs: README.md has a row for each file, each is Python that parses, the commands of the program that
# they start are there, and so are the files of the tree that they name, and the scripts by which rules of targets are said to be known.
set -u
program=${ULPSCOPE_PROGRAM:-$(cd "${top_builddir:-.}" && pwd)/ulpscope}
cd "${top_srcdir:-.}" || exit 99
command -v python3 >/dev/null || { echo "there is no python3: skipped"; exit 77; }
exec python3 - lab "$("$program" --help=all)" <<'END'
import ast, pathlib, re, sys
lab, said = pathlib.Path(sys.argv[1]), sys.argv[2]
commands = set(re.findall(r"^  ([a-z]+) ", said.split("\nCommands:\n")[1].split("\n\n")[0], re.M))
readme, bad, starts = (lab / "README.md").read_text(), [], 0
files = sorted(lab.glob("*.py"))
for path in files:
    text = path.read_text()
    if f"`{path.name}`" not in readme:
        bad.append(f"{path.name} is not in README.md")
    for node in ast.walk(ast.parse(text, str(path))):
        # subprocess.run([program, "audit", ...]): a list whose first element is the program, its second a text
        first, second = node.elts[:2] if isinstance(node, ast.List) and len(node.elts) > 1 else (None, None)
        name = getattr(first, "id", getattr(first, "attr", ""))
        if name.lower() == "program" and isinstance(second, ast.Constant):
            starts += 1
            if second.value not in commands:
                bad.append(f"{path.name}:{second.lineno}: there is no command {second.value}")
    for name in re.findall(r"(?<![\w/])(?:doc|lab|tests|scripts|src)/[\w./-]*\w\.(?:md|py|sh|c|h|def)\b", text):
        if not pathlib.Path(name).exists():
            bad.append(f"{path.name}: there is no {name}")
for name in re.findall(r"`([a-z0-9_]+\.py)`", readme):
    if not (lab / name).exists():
        bad.append(f"README.md: there is no lab/{name}")
for path in pathlib.Path("src/number/format").glob("*.def"):
    bad += [f"{path}: there is no {name}" for name in re.findall(r'"(lab/[^"]*)"', path.read_text()) if not pathlib.Path(name.split()[0]).exists()]
if len(files) < 30 or len(commands) < 12 or starts < 15:
    bad.append(f"too little was seen: {len(files)} files, {len(commands)} commands, {starts} starts")
print("\n".join(bad) or f"{len(files)} files, {starts} starts of a command")
sys.exit(bool(bad))
END
