#!/usr/bin/env bash
# A model whose every name is hostile goes through every command: what is printed and written is visible UTF-8 in whole lines, JSON and
# XML that parse, and no markup of a name is markup of a page.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99
command -v python3 >/dev/null || { echo "no python3: hostile models cannot be made"; exit 77; }

python <<'END' || exit 99
marks = '"><script>alert(1)</script><img src=x onerror=alert(2)>\'&amp;`$(x)`%s%n,;=\\'
kinds = {
    # an escape, a bell, a line end; C1's CSI, bidi overrides and isolates, a tag, a zero-width space, DEL
    "utf8": (marks + '\x1b[2J\x1b]0;t\x07\nulpscope: \r\t\x7f\u009b2J\u202e\u2066\U000e0041\u200b').encode(),
    "bytes": b'a\x1b[31m\xff\xfe\n\xc3"<b>\xed\xa0\x80\x80' + marks.encode(),
}
for kind, evil in kinds.items():
    def name(n):
        return evil + b"%d" % n
    def one(op, inputs, output):
        return block(1, b"".join(block(1, n) for n in inputs) + block(2, output) + block(3, name(9) + output) + block(4, op) + block(6, evil))
    weights = number(1, 4) + number(1, 4) + number(2, 1) + block(8, name(1)) + block(4, b"\x00\x00\x80\x3f" * 15 + b"\x00\x60\xea\x49")
    graph = (one("MatMul", [name(0), name(1)], name(2)) + one("Softmax", [name(2)], name(3)) + one("Relu", [name(3)], name(4)) +
             block(2, evil) + block(5, weights) + block(11, value(name(0), [2, 4])) + block(12, value(name(4), [2, 4])) + block(12, value(name(2), [2, 4])))
    model = number(1, 8) + block(2, evil) + block(3, evil) + block(6, evil) + block(7, graph) + block(8, block(1, "") + number(2, 17))
    open(kind + ".onnx", "wb").write(model)
END

cat >harmless.py <<'END'
"""Whether files, given with what they are called, are harmless."""
import json, os, sys, unicodedata
import xml.etree.ElementTree as tree
def check(path):
    data = open(path, 'rb').read()
    text = data.decode()  # UTF-8, or this fails
    for c in text:
        if c != '\n' and (c < ' ' or c == '\x7f' or unicodedata.category(c) in ('Cc', 'Cf', 'Cs', 'Zl', 'Zp')):
            raise ValueError('holds %r near %r' % (c, text[max(0, text.index(c) - 40):][:80]))
    if path.endswith(('.json', '.sarif')):
        json.loads(text)
    if path.endswith('.xml'):
        tree.fromstring(text)
    if path.endswith('.py'):
        compile(text, path, 'exec')
    if path.endswith(('.html', '.svg', '.xml')) and ('<img' in text or 'alert(1)</script>' in text):
        raise ValueError('holds markup of a name')
bad = 0
for path in sys.argv[1:]:
    for folder, _, files in (os.walk(path) if os.path.isdir(path) else [('.', [], [path])]):
        for file in files:
            if file.endswith(('.npz', '.npy', '.onnx', '.part')):
                continue
            try:
                check(os.path.join(folder, file))
            except Exception as wrong:
                print(f'{os.path.join(folder, file)}: {wrong}')
                bad = 1
sys.exit(bad)
END
# walk NAME CODES COMMAND...: ends in one of the exit codes; out, err and the folder "made" are harmless
walk() {
    local name=$1 codes=$2 got
    shift 2
    mkdir -p made
    "$@" >out 2>err </dev/null
    got=$?
    [[ " $codes " == *" $got "* ]] || { fail "$name: exit $got, expected $codes"; head -3 err; }
    python3 harmless.py out err made || fail "$name is not harmless"
}
for kind in utf8 bytes; do
    m=$kind.onnx
    rm -rf made
    walk "$kind: audit" 0 "$program" audit $m -a fp16,bf16 --group-by cause --certify --schedules --verify 2 -o made/report
    walk "$kind: audit's limits" 1 "$program" audit $m -a fp16 -q --fail-above max_abs=0 --junit made/limits.xml
    walk "$kind: audit of a keep" 0 "$program" audit $m -a fp16 -q --keep 'op:MatMul=fp32' -o made/kept
    walk "$kind: audit against itself" 0 "$program" audit $m -a fp16 -q --reference-model $m -o made/original
    walk "$kind: run" 0 "$program" run $m --all-values -o values.npz
    walk "$kind: run, printed" 0 "$program" run $m
    walk "$kind: lint" "0 1" "$program" lint $m
    for format in json sarif; do
        "$program" lint $m --help 2>&1 | grep -q -- "--$format" && walk "$kind: lint to $format" "0 1" "$program" lint $m --$format made/lint.$format
    done
    walk "$kind: formats" "0 1" "$program" quantise $m --formats nvfp4,mxfp8,bf16 --tolerance sqnr_db=50 -o made/formats
    walk "$kind: plan" "0 1" "$program" plan $m --tolerance sqnr_db=50 -o made/plan
    walk "$kind: overflow" "0 1" "$program" overflow $m -q
    walk "$kind: tolerance" 0 "$program" tolerance $m -a fp16 -q
    walk "$kind: prove" "0 1" "$program" prove $m -q
    walk "$kind: compare" "0 1 2 3" "$program" compare $m values.npz -q
    walk "$kind: show" 0 "$program" show made/report
    walk "$kind: show a node" 0 "$program" show made/report '*'
    walk "$kind: diff" "0 1" "$program" diff made/report made/kept
    walk "$kind: a checkpoint" 0 "$program" audit $m -a fp16 -q --shard 1/1 --checkpoint made/parts
    walk "$kind: merge" 0 "$program" audit --merge made/parts -o made/merged
    walk "$kind: no such node" 2 "$program" show made/report nobody
    walk "$kind: no such dimension" "0 2" "$program" audit $m -q --dim nobody=3
    walk "$kind: an engine of it" "2 3" "$program" engine $m
done

# What audit, overflow and plan print or write to keep nodes keeps, run again, just those: a square that overflows in FP16 and its
# root, called by names that look like patterns, options or each other, beside nodes that such patterns would name.
python "$program" <<'END' || fail "kept nodes"
import json, os, re, shlex, subprocess, sys
names = ["plain", "a*", "a?", "*", "#3", "#2-4", "op:Relu", "before:ab", "after:ab", "between:ab,zz", "it's", "x=fp16,acc", "=", "ab=fp32", "...b", "ab", " a b ", "-k", "é", "tab\there", ""]
def run(*arguments):
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout
def kept(*arguments):
    run("audit", "n.onnx", "--val-range", "x=299,300", "-a", "fp16", "-q", "--no-attribute", "-o", "kept", *arguments)
    lane = json.load(open("kept/report.json"))["lanes"][-1]  # behind the one without a plan
    return {n["index"] for n in lane["nodes"] if "kept" in n}, lane
for name in names:
    for twin in (["ab", "a"], [name, "zz"]):  # a name that another node has is none
        write_model("n.onnx", [node("Mul", "x x", "y", name), node("Sqrt", "y", "z", "root"), node("Relu", "x", "r", twin[0]), node("Neg", "x", "n", twin[1])],
                    {"x": [4]}, ["z", "r", "n"])
        nodes = json.loads(run("overflow", "n.onnx", "--val-range", "x=299,300", "-q", "-o", "over") and open("over/overflow.json").read())["lanes"][0]["nodes"]
        wanted = {n["index"] for n in nodes if n.get("keep")}
        assert 0 in wanted and wanted <= {0, 1}, (name, wanted)
        for command in (["overflow", "n.onnx", "--val-range", "x=299,300"], ["audit", "n.onnx", "--val-range", "x=299,300", "-a", "fp16"]):
            line = next(line for line in run(*command).splitlines() if " --keep " in line)
            options = shlex.split(line[line.index("ulpscope ") + 9:], comments=True)
            run(*options, "-q", "--no-attribute", "-o", "kept")
            lane = json.load(open("kept/report.json"))["lanes"][0]
            got = {n["index"] for n in lane["nodes"] if "kept" in n}
            assert got == wanted and "first_born" not in lane, (command[0], name, twin, options, got, wanted)
        run("plan", "n.onnx", "--val-range", "x=299,300", "--tolerance", "sqnr_db=40", "-q", "-o", "planned")
        plan = json.load(open("planned/plan.json"))
        got, _ = kept("--plan", "planned/plan.json")
        assert got == {n["index"] for n in plan["kept"]} and 0 in got, ("plan", name, twin, got)
END
exit $failed
