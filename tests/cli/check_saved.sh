#!/usr/bin/env bash
# Saved reports: show, diff and report beside what report.json says, also of hostile and damaged ones.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

expect 0 "two reports" "$program" audit "$model" -i "$inputs" -a tf32,bf16 -q -o before
expect 0 "one arithmetic" "$program" audit "$model" -i "$inputs" -a tf32 -q -o narrow
expect 0 "another" "$program" audit "$model" -i "$inputs" -a bf16 -q -o wide
expect 0 "a report is shown" "$program" show before
shows out "tf32: fine (classify by name): 0 of 4 first choices change, logits is at 66.4 dB" "a report is shown"
expect 0 "a node is shown" "$program" show before/report.json '#3'
expect 2 "no such node" "$program" show before nobody
lines err 1 "no such node"
expect 2 "a misspelt node" "$program" show before block/norm1/Su
shows err "did you mean" "a misspelt node"
expect 2 "show nothing" "$program" show
expect 3 "show no file" "$program" show nowhere
expect 3 "show a model" "$program" show "$model"
shows err "model.onnx: a binary file, expected JSON" "show a model"
echo '{"schema": 3, "lanes": [{}]}' >new.json
expect 3 "show a later report" "$program" show new.json
shows err "has schema 3, which ulpscope of another version reads; this version reads 2" "show a later report"
echo '{"schema": 1, "ulpscope": "0.0.9", "arithmetics": [{}]}' >old.json
expect 3 "show an earlier report" "$program" show old.json
shows err "has schema 1, which ulpscope 0.0.9 reads; this version reads 2" "show an earlier report"
lines err 1 "show an earlier report"
for kind in '"sweeps": []' '"keep": []' '"tensors": []' '"layers": []' '"lanes": [{}]'; do
    echo "{\"schema\": 1, \"ulpscope\": \"0.0.9\", $kind}" >old.json
    for command in "show old.json" "diff old.json old.json" "show old.json --html old.html" "audit $model --plan old.json"; do
        expect 3 "$command of schema 1 with $kind" "$program" $command
        shows err "old.json: has schema 1, which ulpscope 0.0.9 reads; this version reads 2" "$command of schema 1 with $kind"
    done
done
[ ! -e old.html ] || fail "a page was written of another schema"
echo '{"verdict": ["x"], "keep": []}' >old.json
expect 3 "a plan without a schema" "$program" show old.json --html old.html
shows err "has schema 1, which ulpscope 0.1.0 reads" "a plan without a schema"
echo '{"schema": 2, "lanes": []}' >empty.json
expect 3 "show an empty report" "$program" show empty.json
expect 0 "the same report" "$program" diff before before --fail-if-worse
shows out "tf32: no change at 1 output" "the same report"
expect 1 "a worse report" "$program" diff narrow wide --fail-if-worse
shows out "tf32 -> bf16: worse at 1 of 1 outputs" "a worse report"
shows out "FAIL --fail-if-worse: 1 output" "a worse report"
expect 0 "a better report" "$program" diff wide narrow --fail-if-worse
shows out "bf16 -> tf32: better at 1 of 1 outputs" "a better report"
expect 1 "an arithmetic that is gone" "$program" diff before narrow --fail-if-worse
shows out "bf16: only in the first report" "an arithmetic that is gone"
expect 2 "one report" "$program" diff before
expect 2 "a factor below 1" "$program" diff before before --factor 0.5
expect 2 "a node of a page" "$program" show before --html page.html op:MatMul

python3 - "$program" <<'END' || fail "saved reports"
import copy, json, random, re, subprocess, sys
program = sys.argv[1]
report = json.load(open('before/report.json'))
lanes = report['lanes']

def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, timeout=60)

def write(name, changed):
    with open(name, 'w') as file:
        json.dump(changed, file)
    return name

# show: every figure of a node, as printed
node = lanes[0]['nodes'][3]
text = run('show', 'before', node['name']).stdout.decode()
for lane in lanes:
    views = [lane['nodes'][3]['outputs'][0][view] for view in ('single', 'entire', 'introduced', 'carried')]
    for figure in ('max_abs', 'rms', 'mean', 'max_rel', 'max_ulp', 'median_ulp', 'cosine', 'sqnr_db'):
        row = f'      {figure:10}' + ''.join('          -' if m[figure] is None else '%11.3g' % m[figure] for m in views)
        assert row in text, (figure, row)

# diff: what was changed by hand is what is said
def changed(change, *options):
    other = copy.deepcopy(report)
    change(other['lanes'])
    result = run('diff', 'before', write('changed.json', other), '--fail-if-worse', *options)
    return result.returncode, result.stdout.decode()
def scale(by):
    def change(other):
        other[0]['outputs'][0]['entire']['rms'] *= by
    return change
code, text = changed(scale(2))
assert code == 1 and 'tf32: worse at 1 of 1' in text and re.search(r' 2  worse$', text, re.M) and 'bf16: no change' in text
assert changed(scale(2), '--factor', '2.5')[0] == 0 and changed(scale(1.05))[0] == 0
code, text = changed(scale(0.5))
assert code == 0 and 'tf32: better at 1 of 1' in text and re.search(r' 0.5  better$', text, re.M)
code, text = changed(lambda other: other[1]['outputs'][0]['entire'].update(nonfinite=3))
assert code == 1 and re.search(r' 3  no +\S+ +\S*worse$', text, re.M) and 'bf16: worse' in text
code, text = changed(lambda other: other[1]['outputs'][0]['entire'].update(diverged=True))
assert code == 1 and re.search(r' yes .*worse$', text, re.M)
code, text = changed(lambda other: other[0].update(outputs=[]))
assert code == 1 and re.search(r'  logits .* - .* worse$', text, re.M)
def introduce(other):
    for output in other[0]['nodes'][3]['outputs']:
        output['introduced']['rms'] = 10 * output['range']['ref_rms']
    other[1]['nodes'][4]['born'] = True
code, text = changed(introduce)
assert code == 0 and re.search(r'Nodes that introduce more in tf32\n(?:.*\n)+? +3  ' + re.escape(lanes[0]["nodes"][3]["name"]) + r' .* 10$', text, re.M)
assert re.search(r'Newly Inf or NaN in bf16\n.*\n +4  ' + re.escape(lanes[0]["nodes"][4]["name"]), text, re.M)

# hostile names and a megabyte: one line stays one line, nothing reaches a terminal, JSON stays JSON
hostile = copy.deepcopy(report)
evil = 'a\x1b[31m"b\'\n<script>\\u{202e}\u202e,{}=%s\r'
for lane in hostile['lanes']:
    lane['outputs'][0]['name'] = evil
    lane['nodes'][3]['name'] = evil
    lane['nodes'][4]['name'] = 'n' * 1000000
    lane['verdict'] = evil
write('hostile.json', hostile)
for arguments in (['show', 'hostile.json'], ['show', 'hostile.json', '#3'], ['show', 'hostile.json', '#4'], ['diff', 'before', 'hostile.json'],
                  ['show', 'hostile.json', '#5']):
    result = run(*arguments)
    assert result.returncode == 0, (arguments, result.stderr)
    assert not re.search(rb'[\x00-\x09\x0b-\x1f\x7f]|\xe2\x80\xae', result.stdout + result.stderr), arguments

# damaged files: an exit code, never a crash
random.seed(3)
small = copy.deepcopy(report)
for lane in small['lanes']:
    del lane['nodes'][3:]
whole = json.dumps(small).encode()
for i in range(60):
    broken = bytearray(whole)
    for _ in range(random.choice((1, 3, 30))):
        broken[random.randrange(len(broken))] = random.choice(b'0-{}[]",:en\xff ')
    open('broken.json', 'wb').write(broken)
    for arguments in (['show', 'broken.json', '*'], ['diff', 'broken.json', 'broken.json']):
        assert run(*arguments).returncode in (0, 2, 3), (i, arguments)
def kinds(thing):
    """The report with each member of another kind, one at a time."""
    for key in list(thing) if isinstance(thing, dict) else range(len(thing)):
        kept = thing[key]
        for other in (None, 'x', 7, [], {}):
            thing[key] = other
            yield
        thing[key] = kept
        if isinstance(kept, (dict, list)):
            yield from kinds(kept)
for i, _ in enumerate(kinds(small)):
    if i % 23 == 0:
        write('odd.json', small)
        for arguments in (['show', 'odd.json'], ['show', 'odd.json', '#1'], ['diff', 'before', 'odd.json']):
            assert run(*arguments).returncode in (0, 2, 3), (i, arguments)
END
exit $failed
