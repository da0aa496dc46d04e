#!/usr/bin/env bash
# The HTML page: its structure by Python's parser, its data beside report.json, also of hostile models and damaged reports.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

says 0 "a page" "page: page.html" audit "$model" -i "$inputs" -a fp16,tf32 --schedules --certify -q -o report --html page.html
expect 0 "a page afterwards" "$program" show report --html later.html
expect 0 "of the file" "$program" show report/report.json --html file.html
cmp -s later.html file.html || fail "a folder with one report gives another page than the report"
expect 1 "a limit that is crossed" "$program" audit "$model" -i "$inputs" -a fp16,tf32 -q --fail-above logits:sqnr_db=40 --fail-above tf32:max_abs=1 -o limits --html limits.html
expect 2 "a page instead of the model" "$program" audit "$model" -i "$inputs" -q --html "$model"
expect 3 "no report" "$program" show nowhere --html a.html
mkdir nothing
says 3 "a folder without reports" "there is no report in it" show nothing --html a.html
echo '{"schema": 1}' >other.json
expect 3 "another document" "$program" show other.json --html a.html
[ ! -e a.html ] || fail "a page was written of nothing"
expect 2 "two shapes" "$program" audit "$model" --shape patches=1x16x16 --shape patches=2x16x16 --html a.html

python3 - "$program" "$source" <<'END' || fail "pages"
import copy, hashlib, json, os, random, struct, subprocess, sys, zipfile
program, source = sys.argv[1:]
sys.path.insert(0, source + '/tests/html')
from page import Page, check_report, make_hostile

def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, timeout=120)

# the data are those of report.json, whether the audit writes the page or the report afterwards
report = json.load(open('report/report.json'))
with open(source + '/examples/digits/model.onnx', 'rb') as file:
    model_bytes = file.read()
for path in ('page.html', 'later.html'):
    page = Page(path).check()
    # the model's file may be another when a page is made of an old report
    own = {'sha256': hashlib.sha256(model_bytes).hexdigest(), 'bytes': len(model_bytes)}
    assert page.data.get('model') == (own if path == 'page.html' else None) and len(page.data['date']) == 10
    check_report(page, report)
    assert 'model.onnx' in page.text['title']
    assert len(page.bytes) < 400_000, len(page.bytes)

limits = json.load(open('limits/report.json'))
check_report(Page('limits.html').check(), limits)
assert [(limit['limit'], [(c['arithmetic'], c['output']) for c in limit['crossings']]) for limit in limits['limits']] == \
    [('logits:sqnr_db=40', [('fp16', 'logits')]), ('tf32:max_abs=1', [])], limits['limits']
assert 'sqnr_db' in limits['limits'][0]['crossings'][0]['text']

# the graph: every link is to a node before it, which has that output
nodes, graph = report['lanes'][0]['nodes'], report['places']
assert len(graph) == len(nodes)
made = {output['name']: node['index'] for node in nodes for output in node['outputs']}
links = 0
for i, place in enumerate(graph):
    for value in place['inputs']:
        assert value.get('node') == made.get(value['name']), (i, value)
        assert not (value.get('constant') and 'node' in value)
        links += 'node' in value
    for output, histogram in zip(nodes[i]['outputs'], place['histograms'], strict=True):
        elements = 1
        for size in output['dims']:
            elements *= size
        assert sum(histogram['counts']) + histogram['zeros'] + histogram['nonfinite'] == elements
        if histogram['counts']:
            assert 2.0 ** histogram['first'] <= output['range']['ref_min_nonzero'] < 2.0 ** (histogram['first'] + 1)
            last = histogram['first'] + len(histogram['counts']) - 1
            assert 2.0 ** last <= output['range']['ref_max'] < 2.0 ** (last + 1)
assert links > len(nodes) // 2
formulas = subprocess.run([program, 'list', 'Softmax'], capture_output=True, text=True).stdout
softmax = next(place['formula'] for node, place in zip(nodes, graph) if node['op'] == 'Softmax')
assert softmax and all(line in formulas for line in softmax.split('\n')), softmax

# two samples: the counts are the sums of each one's
def counts(place):
    found = {}
    for h in place['histograms']:
        for k, count in enumerate(h['counts']):
            found[h['first'] + k] = found.get(h['first'] + k, 0) + count
    return found
def audit(folder, *inputs):
    assert run('audit', source + '/examples/digits/model.onnx', *inputs, '-a', 'tf32', '-q', '-o', folder, '--no-attribute').returncode == 0
    return json.load(open(folder + '/report.json'))['places']
with zipfile.ZipFile(source + '/examples/digits/inputs.npz') as archive:
    array = archive.read('patches.npy')
start = 10 + int.from_bytes(array[8:10], 'little')
for seed in (1, 2):
    random.seed(seed)
    values = struct.pack(f'<{(len(array) - start) // 4}f', *(random.gauss(0, 4.0 ** seed) for _ in range((len(array) - start) // 4)))
    with zipfile.ZipFile(f'{seed}.npz', 'w') as archive:
        archive.writestr('patches.npy', array[:start] + values)
one, two, both, turned = audit('one', '-i', '1.npz'), audit('two', '-i', '2.npz'), audit('both', '-i', '1.npz', '-i', '2.npz', '-t', '1'), audit('turned', '-i', '2.npz', '-i', '1.npz', '-t', '2')
assert both == turned
for a, b, c in zip(one, two, both):
    want = counts(a)
    for e, count in counts(b).items():
        want[e] = want.get(e, 0) + count
    assert {e: n for e, n in want.items() if n} == {e: n for e, n in counts(c).items() if n}

# other reports: the page holds the JSON
def other(kind, path, *arguments):
    result = run(*arguments, '--html', 'other.html')
    assert result.returncode in (0, 1), result
    page = Page('other.html').check()
    assert page.data['reports'][0]['kind'] == kind
    check_report(page, json.load(open(path)))
    assert len(json.load(open(path))['verdict']) > 20
model, inputs = source + '/examples/digits/model.onnx', source + '/examples/digits/inputs.npz'
other('overflow', 'all/overflow.json', 'overflow', model, '-i', inputs, '-f', 'fp16,bf16', '-q', '-o', 'all')
other('plan', 'all/plan.json', 'plan', model, '-i', inputs, '--tolerance', 'sqnr_db=50', '-q', '-o', 'all')
other('formats', 'formats/plan.json', 'quantise', model, '-i', inputs, '--tolerance', 'sqnr_db=20', '--formats', 'nvfp4,fp32', '-q', '-o', 'formats')
other('compare', 'all/compare.json', 'compare', model, '-i', inputs, source + '/examples/digits/expected.npz', '-q', '-o', 'all')
other('lint', 'all/lint.json', 'lint', model, '--json', 'all/lint.json')
other('scales', 'all/scales.json', 'quantise', model, '-i', inputs, '-a', 'bf16,factor=nvfp4', '--json', 'all/scales.json')
# an engine of one layer, whose name is a node's
json.dump({'Layers': [{'Name': 'embed/MatMul', 'LayerType': 'MatrixMultiply', 'Inputs': [{'Name': 'patches', 'Dimensions': [4, 16, 16], 'Format/Datatype': 'Row major linear FP32'}],
                       'Outputs': [{'Name': 'embed/MatMul_out', 'Dimensions': [4, 16, 32], 'Format/Datatype': 'Row major linear FP32'}], 'TacticName': 'sm80_xmma_gemm_f32f32_f32f32_f32', 'Metadata': ''}], 'Bindings': ['patches']},
          open('layers.json', 'w'))
other('engine', 'all/engine.json', 'engine', model, 'layers.json', '-q', '-o', 'all')
other('proof', 'all/proof.json', 'prove', model, '-q', '-o', 'all')
assert run('show', 'all', '--html', 'all.html').returncode == 0
page = Page('all.html').check()
assert [part['kind'] for part in page.data['reports']] == ['plan', 'overflow', 'scales', 'compare', 'engine', 'proof', 'lint']
for i, part in enumerate(page.data['reports']):
    check_report(page, json.load(open(f'all/{part["kind"]}.json')), i)

# hostile names: markup, ends of scripts, control characters, bidirectional overrides, line separators, a megabyte, broken UTF-8
hostile = make_hostile(report)
json.dump(hostile, open('hostile.json', 'w'))
assert run('show', 'hostile.json', '--html', 'hostile.html').returncode == 0
page = Page('hostile.html').check()
check_report(page, hostile)
assert not any(c in page.source for c in '\u2028\u202e\x1b\x07')

# damaged reports end in a page or a sentence, never in a crash, and what is written is a page
random.seed(4)
def damage(value, depth=0):
    if random.random() < 0.04:
        return random.choice([None, True, 3, -1e300, 'x', [], {}, [[]], {'': {}}])
    if isinstance(value, dict):
        return {(k if random.random() < 0.98 else k + 'x'): damage(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list):
        return [damage(v, depth + 1) for v in value if random.random() < 0.97]
    return value
small = copy.deepcopy(report)
for lane in small['lanes']:
    del lane['nodes'][12:]
del small['places'][12:]
for turn in range(60):
    json.dump(damage(small), open('damaged.json', 'w'))
    if os.path.exists('damaged.html'):
        os.remove('damaged.html')
    result = run('show', 'damaged.json', '--html', 'damaged.html')
    assert result.returncode in (0, 3), result
    if result.returncode == 0:
        Page('damaged.html').check()
    else:
        assert result.stderr.count(b'\n') == 1 and not os.path.exists('damaged.html')
END

exit $failed
