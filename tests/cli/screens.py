"""What commands show on a terminal of so many columns: screens.py PROGRAM EXAMPLES GOLDEN [--update]. A file for each command, with its
screen at 80 and at 100 columns; seconds, and what varies between machines, are written as #. No line is longer, but for what is to be
copied: commands, options, paths."""
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios
import fcntl

program, examples, golden = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
update = '--update' in sys.argv[4:]
MODEL, INPUTS = 'digits.onnx', 'inputs.npz'
for name, own in ((MODEL, 'model.onnx'), (INPUTS, 'inputs.npz'), ('expected.npz', 'expected.npz')):
    pathlib.Path(name).write_bytes((examples / own).read_bytes())


def run(*words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode <= 1, (words, done.stderr)
    return done.stdout


run('audit', MODEL, '-i', INPUTS, '-a', 'fp16,tf32', '-q', '-o', 'before')
run('audit', MODEL, '-i', INPUTS, '-a', 'fp16,tf32', '--keep', '#0-20=fp32', '-q', '-o', 'after')
nodes = [node['name'] for node in json.loads(pathlib.Path('before/report.json').read_text())['lanes'][0]['nodes']]
half = {'Location': 'Device', 'Dimensions': [1, 16], 'Format/Datatype': 'Half'}
pathlib.Path('engine.json').write_text(json.dumps({'Layers': [
    {'Name': name, 'LayerType': 'kgen', 'Inputs': [{'Name': f'i{i}', **half}], 'Outputs': [{'Name': f'o{i}', **half}], 'TacticName': 'sm80_xmma_gemm_f16f16_f16f16_f16_tn_n',
     'Metadata': f'[ONNX Layer: {name}]'} for i, name in enumerate(nodes[::2])], 'Bindings': []}))
SCREENS = {
    'audit': ['audit', MODEL, '-i', INPUTS, '-a', 'fp16,fp8-e4m3', '--schedules', '-q'],
    'compare': ['compare', MODEL, 'expected.npz', '-i', INPUTS, '-a', 'fp16', '-q'],
    'diff': ['diff', 'before', 'after'],
    'doctor': ['doctor', MODEL, '-i', INPUTS, '-a', 'fp8-e4m3', '-q'],
    'engine': ['engine', MODEL, 'engine.json', '--layer-precisions', f'{nodes[0]}:fp32,{nodes[2]}:fp16,none:fp32'],
    'extract': ['extract', MODEL, nodes[4], '-i', INPUTS, '-o', 'part', '-q'],
    'fix': ['fix', MODEL, '-i', INPUTS, '-a', 'fp8-e4m3', '-o', 'fixed.onnx', '-q'],
    'lint': ['lint', MODEL],
    'list': ['list', 'fp16@h200'],
    'overflow': ['overflow', MODEL, '-i', INPUTS, '--format', 'fp16,fp8-e4m3,e3m2', '-q'],
    'plan': ['plan', MODEL, '-i', INPUTS, '-a', 'fp16', '--tolerance', 'sqnr_db=65', '-q'],
    'quantise-formats': ['quantise', MODEL, '-i', INPUTS, '--formats', 'nvfp4,mxfp8,fp32', '--tolerance', 'sqnr_db=30', '-q'],
    'prove': ['prove', MODEL, '--format', 'fp16', '-q'],
    'run': ['run', MODEL, '-i', INPUTS, '-a', 'fp16', '-q'],
    'quantise': ['quantise', MODEL, '-i', INPUTS, '--for', 'ort', '-q'],
    'quantise-arith': ['quantise', MODEL, '-i', INPUTS, '-a', 'bf16,factor=nvfp4', '-q'],
    'show': ['show', 'before'],
    'show-node': ['show', 'before', '#4'],
    'tolerance': ['tolerance', MODEL, '-i', INPUTS, '-a', 'fp16', '-q'],
}


def screen(words, columns):
    """As a terminal has it, its ends of lines aside."""
    for path in ('fixed.onnx',):
        pathlib.Path(path).unlink(missing_ok=True)
    child, columns_of = pty.fork()
    if child == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', 50, columns, 0, 0))
        os.execve(program, [program, *words], {**os.environ, 'NO_COLOR': '1', 'LC_ALL': 'C.UTF-8'})
    text = b''
    while True:
        try:
            part = os.read(columns_of, 65536)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) <= 1, (words, text)
    text = text.decode().replace('\r\n', '\n')
    text = re.sub(r'\d+(\.\d+)? s\b', '# s', text)
    return f"$ ulpscope {' '.join(words)}   ({columns} columns)\n{text}"


def wide(words, columns, text):
    """The lines that do not fit."""
    return [f"{' '.join(words)}: a line of {len(line)} columns, not {columns}: {line}" for line in text.splitlines()[1:]
            if len(line) > columns and len(line.split()) > 1 and not re.search(r'ulpscope |--atol |np\.allclose|^(report|page|plan): ', line)]


bad = []
commands = {line.split('\t')[1] for line in run('--describe').splitlines() if line.startswith('command\t')}
missing = commands - {name.split('-')[0] for name in SCREENS} - {'demo', 'mcp', 'mma'}
if missing:
    bad.append(f'no screen of {missing}')
for name, words in SCREENS.items():
    screens = {columns: screen(words, columns) for columns in (80, 100)}
    have = '\n'.join(screens.values())
    bad += [line for columns, text in screens.items() for line in wide(words, columns, text)]
    path = golden / f'{name}.txt'
    if update:
        path.write_text(have)
    elif not path.exists() or path.read_text() != have:
        pathlib.Path('have').write_text(have)
        bad.append(f'the screen of {name} is another (tests/cli/check_screens.sh --update writes it anew):\n' +
                   subprocess.run(['diff', str(path), 'have'], capture_output=True, text=True).stdout)
# COLUMNS says it where there is no terminal
for words in (['audit', MODEL, '-i', INPUTS, '--for', 'trt10', '-q'], ['audit', MODEL, '-i', INPUTS, '--for', 'ort-cuda', '-q'],
              ['audit', MODEL, '-i', INPUTS, '-a', 'fp16', '--keep', '#1=fp32', '--verify', '3', '--group-by', 'op', '-q'],
              ['audit', MODEL, '-i', INPUTS, '-a', 'bf16,factor=nvfp4', '--certify', '-q'], ['doctor', MODEL, '-i', INPUTS, '--for', 'ort-cuda', '-q'],
              ['fix', MODEL, '-i', INPUTS, '-a', 'fp16', '-o', 'again.onnx', '-q'], ['lint', MODEL, '--for', 'trt10', '--layer-precisions', f'{nodes[0]}:fp16,*:fp32'],
              ['overflow', MODEL, '-i', INPUTS, '--format', 'fp8-e4m3,bf16', '-q'], ['prove', MODEL, '--format', 'fp8-e4m3', '-q'],
              ['tolerance', MODEL, '-i', INPUTS, '-a', 'tf32', '-q'], ['plan', MODEL, '-i', INPUTS, '-a', 'fp8-e4m3', '-q']):
    for columns in (80, 100):
        pathlib.Path('again.onnx').unlink(missing_ok=True)
        done = subprocess.run([program, *words], capture_output=True, text=True, env={**os.environ, 'COLUMNS': str(columns)})
        if done.returncode > 1 or not done.stdout:
            bad.append(f'{words}: {done.stderr}')
        bad += wide(words, columns, '\n' + done.stdout)
print('\n'.join(bad))
sys.exit(bool(bad))
