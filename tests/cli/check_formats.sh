#!/usr/bin/env bash
# Limits as JUnit's XML; saved reports as JSON and Markdown, and as tables: beside what the audit itself wrote, and what Python's own
# readers make of them. Reports of many nodes within a limit of memory.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

# ---- JUnit: a failure for each crossing that is said: one sample, several, NaN in an input
limits=(--fail-above sqnr_db=60 --fail-above fp16:nonfinite=0 --fail-above outputs.nonfinite=0 --fail-above introduced.max_ulp=0.1
    --fail-above logits:max_abs=1e9 --fail-above bf16:logits:cosine=0.999 --fail-above diverged=0 --fail-above single.mean=0)
python3 - "$inputs" <<'END' || fail "inputs"
import array, sys, zipfile
def write(name, change):
    with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(name, 'w') as new:
        for member in old.namelist():
            data = old.read(member)
            end = 10 + int.from_bytes(data[8:10], 'little')
            if b"'<f4'" in data[:end]:
                values = array.array('f', data[end:])
                change(values)
                data = data[:end] + values.tobytes()
            new.writestr(member, data)
def shrink(values):
    for i in range(len(values)):
        values[i] *= 0.01
def spoil(values):
    values[0] = float('nan')
write('small.npz', shrink)
write('nan.npz', spoil)
END
while read -r name files; do
    # shellcheck disable=SC2086
    expect 1 "$name" "$program" audit "$model" $files -a fp16,bf16 -q -o "$name" --junit "$name.xml" "${limits[@]}"
    cp out audit.out
    [ "$(grep -c '^limit crossed' out)" = "$(grep -c '<failure' "$name.xml")" ] || fail "$name: crossings that are said are not those of JUnit's XML"
done <<END
one -i $inputs
several -i $inputs -i small.npz
nan -i nan.npz
nan-among -i $inputs -i nan.npz
END
# ---- show --json and diff --json
for where in node.json -; do
    expect 0 "a node as JSON, $where" "$program" show several 'op:MatMul' --json $where
    [ $where != - ] || cmp -s out node.json || fail "show NODE --json - is not show NODE --json FILE"
done
expect 0 "the whole as JSON" "$program" show several --json whole.json
cp whole.json kept.json
expect 2 "no such node as JSON" "$program" show several nobody --json whole.json
cmp -s whole.json kept.json || fail "show wrote whole.json without a node"
expect 3 "JSON into no folder" "$program" diff one several --json nowhere/diff.json
expect 0 "differences as JSON" "$program" diff one several --json -
cp out diff.json
for command in "run $model" "extract $model" list mma; do
    says 2 "$command as JSON" "there is no option '--json'" $command --json -
done
expect 0 "differences as Markdown" "$program" diff one several --markdown diff.md
expect 0 "one arithmetic" "$program" audit "$model" -i "$inputs" -a tf32 -q --no-attribute -o narrow
expect 0 "another" "$program" audit "$model" -i "$inputs" -a bf16 -q --no-attribute -o wide
expect 1 "worse" "$program" diff narrow wide --json=- --markdown worse.md --fail-if-worse
shows err "FAIL --fail-if-worse" "worse"
grep -q '^\*\*✕ tf32 -\\> bf16: worse at 1 of 1 outputs\*\*$' worse.md || fail "not the headline of what is worse: $(head -3 worse.md)"
expect 0 "a comparison as Markdown" "$program" compare "$model" -i "$inputs" "$source/examples/digits/expected.npz" -q --markdown compared.md
sed -n 3p compared.md | grep -q "^Why: at 'logits' its largest error is" && [ "$(sed -n 5p compared.md)" = "Do: nothing" ] &&
    ! grep -F '\n' compared.md || fail "a comparison as Markdown: $(head -5 compared.md)"
expect 0 "an audit as Markdown" "$program" show several --markdown several.md

# ---- tables
python <<'END' || exit 99
names = "=1+1", "+1", "-1", "@SUM(A1)", "plain", 'a"b,c', "a-b=c", "\t=x", "="
write_model("evil.onnx", [node("Neg", f"v{i}" if i else "x", f"v{i + 1}", name) for i, name in enumerate(names)], {"x": [2]}, [f"v{len(names)}"])
END
expect 0 "names that are formulas" "$program" audit evil.onnx -a fp16 -q -o evil
python3 - "$program" "$model" <<'END' || fail "formats of saved reports"
import copy, csv, json, re, subprocess, sys, xml.etree.ElementTree as tree
program, model = sys.argv[1:]
report = json.load(open('several/report.json'))
one = json.load(open('one/report.json'))

suite = tree.parse('several.xml').getroot()
assert suite.tag == 'testsuite' and int(suite.get('tests')) == len(suite) == 8 and suite.get('name') == model
assert int(suite.get('failures')) == sum(case.find('failure') is not None for case in suite) > 0

# show --json: the report's own members
def same_but_nodes(shown, chosen):
    assert {k: v for k, v in shown.items() if k != 'lanes'} == {k: v for k, v in report.items() if k != 'lanes'}
    for got, lane in zip(shown['lanes'], report['lanes'], strict=True):
        assert got == {**lane, 'nodes': [n for n in lane['nodes'] if chosen(n)]}
same_but_nodes(json.load(open('node.json')), lambda node: node['op'] == 'MatMul')
same_but_nodes(json.load(open('whole.json')), lambda node: False)

# diff --json
found = json.load(open('diff.json'))
assert found['factor'] == 1.1 and len(found['arithmetics']) == 2
assert found['worse'] + found['better'] + found['equal'] == sum(len(lane['outputs']) for lane in found['arithmetics'])
for got, old, new in zip(found['arithmetics'], one['lanes'], report['lanes'], strict=True):
    assert got['before'] == got['after'] == old['name']
    for o, a, b in zip(got['outputs'], old['outputs'], new['outputs'], strict=True):
        ratio = b['entire']['rms'] / a['entire']['rms']
        assert o['output'] == a['name'] and abs(o['error_ratio'] - ratio) <= 1e-12 * ratio
        assert o['before']['rms'] == a['entire']['rms'] and o['after']['sqnr_db'] == b['entire']['sqnr_db']
        if a['entire']['nonfinite'] == b['entire']['nonfinite']:
            assert o['change'] == ('worse' if ratio > 1.1 else 'better' if ratio < 1 / 1.1 else 'equal'), o
    grown = [n['node'] for n in got['introduce_more']]
    by_name = {n['name']: n for n in old['nodes']}
    def introduced(node):
        return max((o['introduced']['rms'] / o['range']['ref_rms'] for o in node['outputs'] if o['introduced']['rms'] is not None), default=None)
    expected = {n['name'] for n in new['nodes'] if introduced(n) is not None and introduced(by_name[n['name']]) is not None
                and introduced(n) > 1.1 * introduced(by_name[n['name']])}
    assert set(grown) == expected, (grown, expected)

# Markdown: a table whose rows have as many cells, whatever the names are
hostile = copy.deepcopy(report)
evil = ['a|b', '`x`', '<img src=x onerror=alert(1)>', 'x\n\n# heading', '``|', '']
for lane in hostile['lanes']:
    lane['outputs'] = [dict(lane['outputs'][0], name=name) for name in evil]
    lane['nodes'][3]['born'] = True
    lane['nodes'][3]['name'] = evil[2]
json.dump(hostile, open('hostile.json', 'w'))
plain = copy.deepcopy(hostile)
for lane in plain['lanes']:
    del lane['nodes'][3]['born']
json.dump(plain, open('plain.json', 'w'))
result = subprocess.run([program, 'diff', 'plain.json', 'hostile.json', '--markdown', 'hostile.md'], capture_output=True, text=True, timeout=60)
assert result.returncode == 0, result.stderr
code = re.compile(r'(?<![`\\])(`+)(?!`)(?:.*?[^`])(\1)(?!`)')
for name in 'hostile.md', 'several.md':
    text = open(name).read()
    for table in re.split('</details>', text)[:-1]:
        rows = [line for line in table.split('\n') if line.startswith('|')]
        assert len(rows) >= 3 and len({len(re.findall(r'(?<!\\)\|', row)) for row in rows}) == 1, rows
        for row in rows:
            assert not re.search(r'(?<!\\)[<`]', code.sub('', row)), row
    assert '# heading' not in [line.strip() for line in text.split('\n')]
    assert not re.search(r'(?<!\\)<img', code.sub('', text))
assert len([line for line in open('hostile.md') if re.match(r'\| `', line)]) >= 2 * (len(evil) - 1)

# the verdicts begin what the terminal shows, and are the report's
shown = ' '.join(open('audit.out').read().split())
for lane in json.load(open('nan-among/report.json'))['lanes']:
    told = re.sub(r'^(?:fine|borderline|broken|not judged)(?: \(.*?\))?: ', '', lane['verdict'])
    for part in re.split(r'[.;,] ', told.split('. Try')[0]):  # a headline goes on in a line of its own
        assert ' '.join(part.split()) in shown or ' is off by ' in part, part
assert shown.startswith(f'{one["lanes"][0]["name"]}: ')

# CSV: RFC 4180 with lines that end in LF; a name that a spreadsheet would take for a formula is none
for path, names in (('evil/layers.csv', ['\\x3d1+1', '\\x2b1', '\\x2d1', '\\x40SUM(A1)', 'plain', 'a"b,c', 'a-b=c', '\\t=x', '\\x3d']),
                    ('several/layers.csv', None)):
    text = open(path, newline='').read()
    assert '\r' not in text and text.endswith('\n')
    rows = list(csv.reader(text.split('\n')[:-1], strict=True))
    assert all(len(row) == len(rows[0]) for row in rows), path
    assert len(set(rows[0])) == len(rows[0])
    if names:
        assert [row[2] for row in rows[1:]] == names, path
    for cell in sum(rows, []):
        if cell[:1] in ('=', '+', '-', '@'):
            float(cell)
try:
    import pandas
except ImportError:
    print('pandas is not installed: CSV is read by the csv module only')
else:
    for path in ('several/layers.csv', 'evil/layers.csv'):
        frame = pandas.read_csv(path)
        rows = list(csv.DictReader(open(path, newline='')))
        assert list(frame.columns) == list(rows[0]) and len(frame) == len(rows)
        for column in frame.columns:
            if any(word in column for word in ('rms', 'sqnr', 'share', 'entire', 'introduced', 'headroom', 'nonfinite')):
                assert frame[column].dtype.kind in 'fi', (path, column, frame[column].dtype)
                for got, row in zip(frame[column], rows):
                    assert (got != got) if row[column] == '' else got == float(row[column])

# a report of 10,000 nodes in three arithmetics, more than 64 MiB: read within the limit, refused below it in a line
node = json.dumps(report['lanes'][0]['nodes'][0])
wanted = 65 * 2 ** 20 // (3 * len(node)) + 1
with open('long.json', 'w') as file:
    head = {k: v for k, v in report.items() if k not in ('lanes', 'spreads')}
    file.write(json.dumps(head)[:-1] + ', "lanes": [')
    for l, name in enumerate(('fp16', 'bf16', 'tf32')):
        file.write((', ' if l else '') + json.dumps({'name': name, 'verdict': 'v', 'outputs': report['lanes'][0]['outputs']})[:-1] + ', "nodes": [')
        file.write(', '.join([node] * wanted) + ']}')
    file.write(']}')
result = subprocess.run([program, 'show', 'long.json'], capture_output=True, text=True, timeout=300)
assert result.returncode == 0 and f'{wanted} nodes' in result.stdout, result.stderr
result = subprocess.run([program, 'show', 'long.json', '--max-memory', '200M'], capture_output=True, text=True, timeout=300)
assert result.returncode == 5 and result.stderr.count('\n') == 1 and 'raise --max-memory' in result.stderr, result.stderr
# few bytes that ask for much, and depth: refused
for text, code in (('{"a": [' + '{},' * 3000000 + '{}]}', 5), ('{"a":' * 100000, 3), ('[' * 100000, 3)):
    open('greedy.json', 'w').write(text)
    result = subprocess.run([program, 'show', 'greedy.json', '--max-memory', '500M'], capture_output=True, text=True, timeout=300)
    assert result.returncode == code and result.stderr.count('\n') == 1, (code, result)
END

exit $failed
