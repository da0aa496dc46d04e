#!/usr/bin/env bash
# Annotated copies of models (ulpscope report --to onnx): beside the model field by field, in the order of their numbers, by a
# reader of protobuf's wire format of its own; figures beside the report. Where the Python of ULPSCOPE_TEST_PYTHON has onnx, onnx.checker takes them; where it
# has onnxruntime, they compute the same bits.
. "${top_srcdir:-.}/tests/support/program.sh" || exit 99

expect 0 "a report" "$program" audit "$model" -i "$inputs" -a fp16,bf16 -q -o digits
expect 0 "a copy" "$program" report digits --to onnx -o digits.onnx
expect 2 "a copy without a file" "$program" report digits --to onnx
expect 2 "a model for a table" "$program" report digits --to csv --model "$model"
cp "$model" moved.onnx
expect 2 "a copy onto the model" "$program" report digits --to onnx --model moved.onnx -o moved.onnx
cmp -s "$model" moved.onnx || fail "a copy onto the model changed it"
expect 3 "no model" "$program" report digits --to onnx --model nowhere.onnx -o no.onnx
lines err 1 "no model"
expect 3 "no folder" "$program" report digits --to onnx -o nowhere/copy.onnx
lines err 1 "no folder"

PYTHONPATH=$source/examples python3 - "$program" "$model" <<'END' || fail "annotated copies"
import json, os, random, struct, subprocess, sys
from onnx_writer import attribute, block, node, number, value, varint
program, digits = sys.argv[1:]
MARK = 'Errors found by ulpscope'

def run(*arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120)

# ---- reading

def fields(data, raw=False):
    """(number, payload of a block or None, what it says or, raw, all bytes) of each field, in the order of numbers, in which protobuf writes."""
    def read(at):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value, at
    at, found = 0, []
    while at < len(data):
        start = at
        tag, at = read(at)
        payload = said = None
        if tag & 7 == 0:
            said, at = read(at)
        elif tag & 7 == 2:
            length, at = read(at)
            payload, at = data[at:at + length], at + length
            assert len(payload) == length
        else:
            at += {1: 8, 5: 4}[tag & 7]
        found.append((tag >> 3, payload, data[start:at] if raw or payload is said is None else said if payload is None else payload))
    return sorted(found, key=lambda field: field[0])

INNER = {('model', 7): 'graph', ('model', 25): 'function', ('graph', 1): 'node', ('function', 7): 'node', ('node', 5): 'attribute',
         ('attribute', 6): 'graph', ('attribute', 11): 'graph'}

def text(found, wanted):
    return next((payload.decode(errors='surrogateescape') for n, payload, _ in reversed(found) if n == wanted), '')

def entry(payload):
    found = fields(payload)
    return text(found, 1), text(found, 2)

def entry_doc(payload, before):
    return payload.decode(errors='surrogateescape').startswith((before + '\n\n' if before else '') + MARK)

def compare(kind, old, new, said):
    """new is old with annotations among each node's fields and the model's; said: (name, op, output, entries, doc) of each node."""
    old, new = fields(old), fields(new)
    entries, docs = {}, []
    before = text(old, 6) if kind == 'node' else ''
    for field in list(new):
        if field[0] == {'node': 9, 'model': 14}.get(kind) and entry(field[1])[0].startswith('ulpscope.'):
            entries.update([entry(field[1])])
            new.remove(field)
        elif field[0] == 6 and kind == 'node' and entry_doc(field[1], before):
            docs.append(field[1].decode(errors='surrogateescape'))
            new[new.index(field)] = (6, before.encode(errors='surrogateescape'), before.encode(errors='surrogateescape'))
            if not any(number == 6 for number, _, _ in old):
                del new[[n for n, _, _ in new].index(6)]
    assert bool(docs) == bool(entries) or kind != 'node'
    assert [field[0] for field in old] == [field[0] for field in new], kind
    for was, now in zip(old, new):
        inner = was[1] is not None and INNER.get((kind, was[0]))
        if inner:
            compare(inner, was[1], now[1], said)
        else:
            assert was[2] == now[2], (kind, was[0])
    if kind == 'node':
        said.append((text(old, 3), text(old, 4), text([f for f in old if f[0] == 2][:1], 2), entries, docs[0] if docs else ''))
    if kind == 'model':
        said.append(entries)

def check_copy(report, model, copy):
    """What was said of each node is what the report says; returns it."""
    said = []
    compare('model', open(model, 'rb').read(), open(copy, 'rb').read(), said)
    lanes = json.load(open(report + '/report.json'))['lanes']
    entries = said.pop()
    for lane in lanes:
        assert entries[f'ulpscope.{lane["name"]}.verdict'] == lane['verdict']
    return said, lanes

def relative(node, view):
    return max((o[view]['rms'] / o['range']['ref_rms'] for o in node['outputs'] if o[view]['rms'] is not None and o['range']['ref_rms']), default=None)

def check_figures(entries, lane, nodes):
    """Of a node in these calls."""
    shares = [n['share'] for n in nodes if n.get('share') is not None]
    for key, expected in (('share', sum(shares) if shares else None),
                          ('error', max((v for v in (relative(n, 'entire') for n in nodes) if v is not None), default=None)),
                          ('introduced', max((v for v in (relative(n, 'introduced') for n in nodes) if v is not None), default=None)),
                          ('headroom_bits', min((o['range']['headroom_bits'] for n in nodes for o in n['outputs'] if o['range']['headroom_bits'] is not None), default=None))):
        got = entries.get(f'ulpscope.{lane["name"]}.{key}')
        if expected is None:
            assert got is None, (key, got)
        else:
            assert got is not None and abs(float(got) - expected) <= 1e-8 * abs(expected), (key, got, expected)
    born = any(n.get('born') for n in nodes)
    assert ('makes Inf or NaN' in entries[f'ulpscope.{lane["name"]}.verdict']) >= born

# ---- one graph: each node is said once
said, lanes = check_copy('digits', digits, 'digits.onnx')
by_name = {name: (entries, doc) for name, op, output, entries, doc in said if entries}
assert set(by_name) == {n['name'] for n in lanes[0]['nodes']}
for lane in lanes:
    for n in lane['nodes']:
        entries, doc = by_name[n['name']]
        check_figures(entries, lane, [n])
        assert f'\n{lane["name"]}: {entries["ulpscope." + lane["name"] + ".verdict"]}' in doc

# a copy of a copy is the copy; and so it is where another tool has put the fields into its own order
assert run('report', 'digits', '--to', 'onnx', '--model', 'digits.onnx', '-o', 'again.onnx').returncode == 0
assert open('again.onnx', 'rb').read() == open('digits.onnx', 'rb').read()

# ---- bodies, functions, names that are missing or twice, comments, unknown fields, lengths in more bytes than they need
def named(data, name):
    """The node with another name ('': without one)."""
    return b''.join(raw for n, _, raw in fields(data, True) if n != 3) + (block(3, name) if name else b'')
def graph(name, nodes, inputs=(), outputs=(), more=b''):
    return b''.join(block(1, n) for n in nodes) + block(2, name) + more + b''.join(block(11, i) for i in inputs) + b''.join(block(12, o) for o in outputs)
def body(name, content):
    return block(5, block(1, name) + block(6, content) + number(20, 5))
def int_value(name, kind, shape=()):
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, b''.join(block(1, number(1, d)) for d in shape))))
def constant(name, kind, data, dims=()):
    return block(5, b''.join(number(1, d) for d in dims) + number(2, kind) + block(8, name) + block(9, data))
unknown = varint(5000 << 3 | 2) + b'\x84\x80\x00' + b'odd!' + varint(5001 << 3) + b'\x07' + varint(5002 << 3 | 5) + b'abcd' + varint(5003 << 3 | 1) + b'12345678'
x = [2, 4]
commented = node('Tanh', 'x', 'commented') + block(6, 'A comment.') + block(9, block(1, 'kept') + block(2, 'yes')) + unknown
tricky = node('Neg', 'commented', 'tricky') + block(6, f'A comment of 2019: {MARK} nothing.\n\n')
branch = lambda op, out: graph(out, [named(node(op, 'tricky', out), 'inner'), named(node('Tanh', out, out + '_2'), '')], [], [value(out + '_2', x)])
choose = node('If', 'flag', 'chosen') + body('then_branch', branch('Exp', 'a')) + body('else_branch', branch('Sin', 'b'))
loop_body = graph('loop', [named(node('Mul', 'state half', 'scaled'), 'mul'), named(node('Tanh', 'scaled', 'next'), '/absolute'),
                           named(node('Identity', 'go', 'going'), 'identity')],
                  [int_value('i', 7), int_value('go', 9), value('state', x)], [int_value('going', 9), value('next', x)])
loop = node('Loop', 'three flag chosen', 'looped') + body('body', loop_body)
call = lambda name, i, o: named(node('Outer', i, o), name) + block(7, 'local')
inner = (block(1, 'Inner') + block(4, 'p') + block(5, 'q') + block(7, named(node('Sigmoid', 'p', 'q'), '')) + block(9, block(1, '') + number(2, 17)) + block(10, 'local'))
outer = (block(1, 'Outer') + block(4, 'p') + block(5, 'r') + block(7, named(node('Inner', 'p', 'm') + block(7, 'local'), 'deep')) +
         block(7, named(node('Tanh', 'm', 'm2'), '/slash')) + block(7, named(node('Inner', 'm2', 'r') + block(7, 'local'), 'deeper')) +
         block(9, block(1, '') + number(2, 17)) + block(9, block(1, 'local') + number(2, 1)) + block(10, 'local'))
nodes = [commented, tricky, choose, loop, call('first', 'looped', 'one'), call('second', 'one', 'two'), named(node('Abs', 'two', 'y'), '')]
weights = constant('half', 1, struct.pack('<f', 0.5)) + constant('three', 7, struct.pack('<q', 3)) + constant('flag_1', 9, b'\1')
main = graph('main', nodes, [value('x', x), int_value('flag', 9)], [value('y', x)], weights + unknown)
data = number(1, 8) + unknown + block(7, main) + block(8, block(1, '') + number(2, 17)) + block(8, block(1, 'local') + number(2, 1)) + block(25, inner) + block(25, outer) + unknown
open('nested.onnx', 'wb').write(data)
result = run('audit', 'nested.onnx', '-a', 'fp16,bf16', '-q', '-o', 'nested')
assert result.returncode == 0, result.stderr
result = run('report', 'nested', '--to', 'onnx', '-o', 'nested-copy.onnx')
assert result.returncode == 0, result.stderr
said, lanes = check_copy('nested', 'nested.onnx', 'nested-copy.onnx')
# which nodes of the report each node of the file is, written down by hand
expected = {('commented', 'Tanh', 'commented'): ['commented'], ('tricky', 'Neg', 'tricky'): ['tricky'],
            ('chosen', 'If', 'chosen'): ['chosen'], ('inner', 'Exp', 'a'): ['chosen/inner'], ('inner', 'Sin', 'b'): ['chosen/inner'],
            ('', 'Tanh', 'a_2'): ['chosen/Tanh_1'], ('', 'Tanh', 'b_2'): ['chosen/Tanh_1'],
            ('looped', 'Loop', 'looped'): ['looped'], ('mul', 'Mul', 'scaled'): ['looped/mul'], ('/absolute', 'Tanh', 'next'): ['/absolute'],
            ('identity', 'Identity', 'going'): ['looped/identity'],
            ('', 'Sigmoid', 'q'): ['first/deep/Sigmoid_0', 'first/deeper/Sigmoid_0', 'second/deep/Sigmoid_0', 'second/deeper/Sigmoid_0'],
            ('/slash', 'Tanh', 'm2'): ['first//slash', 'second//slash'], ('', 'Abs', 'y'): ['Abs_6']}
listed = sum(len(names) for names in expected.values())
assert listed == len(lanes[0]['nodes']), [n['name'] for n in lanes[0]['nodes']]
for name, op, output, entries, doc in said:
    names = expected.pop((name, op, output), None)
    if names is None:
        assert op in ('Inner', 'Outer') and not entries, (name, op, entries)
        continue
    assert (f'in {len(names)} calls' in doc) == (len(names) > 1)
    for lane in lanes:
        mine = [n for n in lane['nodes'] if n['name'] in names and n['op'] == op]
        if op in ('Tanh',) and output in ('a_2', 'b_2'):
            mine = [n for n in mine if not n['outputs'] or n['outputs'][0]['name'].endswith(output)]
            mine = mine if len(mine) == 1 else [n for n in mine if bool(n['outputs']) == (output == 'a_2')][:1] or mine[:1]
        assert len(mine) == len(names), (name, op, output, [n['name'] for n in mine])
        if mine[0]['outputs']:
            check_figures(entries, lane, mine)
assert not expected, expected
assert run('report', 'nested', '--to', 'onnx', '--model', 'nested-copy.onnx', '-o', 'nested-again.onnx').returncode == 0
assert open('nested-again.onnx', 'rb').read() == open('nested-copy.onnx', 'rb').read()

# ---- external data: beside the model only
os.mkdir('kept')
other = graph('g', [node('MatMul', 'x w', 'y')], [value('x', [2, 4])], [value('y', [2, 4])],
              block(5, number(1, 4) + number(1, 4) + number(2, 1) + block(8, 'w') + block(13, block(1, 'location') + block(2, 'sub/w.bin')) + number(14, 1)))
open('kept/model.onnx', 'wb').write(number(1, 8) + block(7, other) + block(8, block(1, '') + number(2, 17)))
os.mkdir('kept/sub')
open('kept/sub/w.bin', 'wb').write(struct.pack('<16f', *range(16)))
assert run('audit', 'kept/model.onnx', '-a', 'fp16', '-q', '-o', 'external').returncode == 0
result = run('report', 'external', '--to', 'onnx', '-o', 'elsewhere.onnx')
assert result.returncode == 3 and "model's folder" in result.stderr and result.stderr.count('\n') == 1, result.stderr
assert not os.path.exists('elsewhere.onnx')
assert run('report', 'external', '--to', 'onnx', '-o', 'kept/copy.onnx').returncode == 0
check_copy('external', 'kept/model.onnx', 'kept/copy.onnx')
assert run('audit', 'kept/copy.onnx', '-a', 'fp16', '-q', '-o', 'external-copy').returncode == 0
figures = [json.load(open(folder + '/report.json'))['lanes'][0]['nodes'] for folder in ('external', 'external-copy')]
assert figures[0] == figures[1]

# ---- another model, and damaged ones: refused in a line, nothing is left behind, or a copy that holds
result = run('report', 'digits', '--to', 'onnx', '--model', 'nested.onnx', '-o', 'wrong.onnx')
assert result.returncode == 3 and 'another one' in result.stderr and result.stderr.count('\n') == 1, result.stderr
before = sorted(os.listdir('.'))
random.seed(7)
for i in range(80):
    broken = bytearray(data)
    for _ in range(random.choice((1, 2, 8))):
        broken[random.randrange(len(broken))] = random.choice((0, 1, 2, 8, 10, 0x7f, 0x80, 0xff, random.randrange(256)))
    if i % 4 == 0:
        del broken[random.randrange(len(broken)):]
    open('broken.onnx', 'wb').write(broken)
    result = run('report', 'nested', '--to', 'onnx', '--model', 'broken.onnx', '-o', 'broken-copy.onnx')
    assert result.returncode in (0, 3) and result.stderr.count('\n') == (result.returncode != 0), (i, result)
    if result.returncode == 0:
        check_copy('nested', 'broken.onnx', 'broken-copy.onnx')
        os.remove('broken-copy.onnx')
    os.remove('broken.onnx')
    assert sorted(os.listdir('.')) == before

# ---- others' readers
try:
    import onnx.checker  # a folder of that name is no package
except ImportError:
    print('onnx is not installed: copies are read by this test alone')
    sys.exit(0)
def strip(nodes):
    for n in nodes:
        if any(p.key.startswith('ulpscope.') for p in n.metadata_props):
            kept = [p for p in n.metadata_props if not p.key.startswith('ulpscope.')]
            del n.metadata_props[:]
            n.metadata_props.extend(kept)
            n.doc_string = n.doc_string[:n.doc_string.rindex(MARK)].removesuffix('\n\n')
            if not n.doc_string:
                n.ClearField('doc_string')
        for a in n.attribute:
            strip(a.g.node)
for model, copy in ((digits, 'digits.onnx'), ('nested.onnx', 'nested-copy.onnx'), ('kept/model.onnx', 'kept/copy.onnx')):
    onnx.checker.check_model(copy, full_check=True)
    read = onnx.load(copy, load_external_data=False)
    # written again by protobuf, in its order, it is annotated anew all the same
    onnx.save(read, 'kept/ordered.onnx')
    strip(read.graph.node)
    for function in read.functions:
        strip(function.node)
    del read.metadata_props[:]
    assert read.SerializeToString(deterministic=True) == onnx.load(model, load_external_data=False).SerializeToString(deterministic=True), model
    report = {'digits.onnx': 'digits', 'nested-copy.onnx': 'nested', 'kept/copy.onnx': 'external'}[copy]
    assert run('report', report, '--to', 'onnx', '--model', 'kept/ordered.onnx', '-o', 'kept/anew.onnx').returncode == 0
    first, second = (onnx.load(path, load_external_data=False) for path in ('kept/ordered.onnx', 'kept/anew.onnx'))
    assert first.SerializeToString(deterministic=True) == second.SerializeToString(deterministic=True)
try:
    import numpy, onnxruntime
except ImportError:
    print('onnxruntime is not installed: copies are not run')
    sys.exit(0)
onnxruntime.set_default_logger_severity(3)
for model, copy, given in ((digits, 'digits.onnx', dict(numpy.load(os.path.join(os.path.dirname(digits), 'inputs.npz')))),
                           ('kept/model.onnx', 'kept/copy.onnx', {'x': numpy.arange(8, dtype=numpy.float32).reshape(2, 4)})):
    results = [onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider']).run(None, given) for path in (model, copy)]
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*results, strict=True)), model
END
exit $failed
