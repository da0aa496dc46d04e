"""Drives pages in a browser: drive.py BROWSER PROGRAM. The folder has report/ and page.html, an audit of examples/digits in fp16
and tf32, and hostile.html. What is expected is computed from report.json here, not from the page.
"""
import base64
import copy
import json
import math
import os
import subprocess
import sys
import time

from browser import Browser

program = sys.argv[2]
report = json.load(open('report/report.json'))
nodes, graph = report['lanes'][0]['nodes'], report['places']
shown_nodes = [[node['name'] for node in lane['nodes']] for lane in report['lanes']]

ROWS = "[...document.querySelectorAll('#nodes tbody tr')].filter(r => r.node >= 0)"
BOX = "[...document.querySelectorAll('.graph .item')].find(b => b.item.{})"
SELECT = "[...document.querySelectorAll('#graph select')]"


def relative(node, view):
    """Of the output that errs most: what is not finite, then the largest error over the reference's rms."""
    def part(output, v):
        rms, reference = output[v]['rms'], output['range']['ref_rms']
        return math.nan if rms is None or not reference else rms / reference
    worst = max(node['outputs'], key=lambda o: (o['entire']['nonfinite'] > 0, part(o, 'entire') if part(o, 'entire') > 0 else 0))
    return part(worst, view)


def check_page(browser, width, scheme):
    where = (width, scheme)
    browser.open('page.html', width, scheme=scheme)
    titles = browser.run("[...document.querySelectorAll('h2')].map(h => h.textContent)")
    assert titles == ['Verdict', 'Outputs', 'Graph', 'Error along the depth', 'Nodes', 'Overflows and schedules', 'How every number was obtained'], titles
    verdicts = browser.run("[...document.querySelectorAll('.verdict')].map(v => v.textContent)")
    for lane, text in zip(report['lanes'], verdicts, strict=True):
        assert lane['verdict'] in text and lane['name'] in text, text
    assert browser.run('document.documentElement.scrollWidth <= innerWidth'), f'the page is wider than its window: {where}'
    # no text leaves its box in the graph
    out = browser.run("[...document.querySelectorAll('.graph .node, .graph .group')].filter(b => [...b.querySelectorAll('text')].some(t => t.getBBox().x + t.getBBox().width > b.item.width + 0.5)).map(b => b.item.label)")
    assert not out, (where, out)
    # what is written on a colour can be read: WCAG 2's contrast is 4.5 or more
    worst = browser.run("""(() => {
        const light = (colour) => colour.match(/[0-9a-f]{2}/g).map(c => parseInt(c, 16) / 255).map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4).reduce((a, c, i) => a + c * [0.2126, 0.7152, 0.0722][i], 0);
        return Math.min(...[...document.querySelectorAll('.graph .node, .graph .group')].map(b => {
            const [x, y] = [light(b.querySelector('.frame').getAttribute('fill')), light(b.querySelector('text').getAttribute('fill'))];
            return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
        }));
    })()""")
    assert worst >= 4.5, (where, worst)
    paper = browser.run('getComputedStyle(document.body).backgroundColor')
    assert paper == ('rgb(255, 255, 255)' if scheme == 'light' else 'rgb(18, 23, 29)'), paper
    check_details(browser, where)
    check_graph(browser, where)
    check_table(browser, where)
    browser.check_silent(where)


def check_details(browser, where):
    """A click on a node shows its formula, the causes of its share, its histogram and inputs."""
    index = next(i for i, node in enumerate(nodes) if node['op'] == 'Softmax')
    browser.run(f"document.querySelector('#nodes .scroll').scrollTop = 0")
    browser.click(f"{ROWS}.find(r => r.node === 2).querySelector('button')")
    assert browser.wait("document.querySelector('.detail h3').textContent") == nodes[2]['name'], where
    browser.click("[...document.querySelectorAll('#graph button')].find(b => b.textContent === 'Open all')")
    browser.click(BOX.format(f'node === {index}'))
    assert browser.run("document.querySelector('.detail h3').textContent") == nodes[index]['name'], where
    formula = browser.run("document.querySelector('.detail pre').textContent")
    assert formula.split() == graph[index]['formula'].split(), formula
    bars = browser.run("[...document.querySelectorAll('.detail .histogram .bar title')].map(t => t.textContent)")
    want = [count for count in graph[index]['histograms'][0]['counts'] if count]
    assert [int(''.join(c for c in text.split(' elements')[0] if c.isdigit())) for text in bars] == want, bars
    inputs = browser.run("[...document.querySelectorAll('.detail .links')][0].innerText")
    for value in graph[index]['inputs']:
        assert (nodes[value['node']]['name'] if 'node' in value else value['name']) in inputs, inputs
    causes = browser.run("[...document.querySelectorAll('.causes dd .number')].map(t => t.textContent)")
    assert len(causes) == len(nodes[index].get('causes', {})), causes


def check_graph(browser, where):
    """Groups open and close, by mouse and by keyboard; colours follow the figure."""
    browser.click("[...document.querySelectorAll('#graph button')].find(b => b.textContent === 'Close all')")
    closed = browser.run("document.querySelectorAll('.graph .item').length")
    assert not browser.run("document.querySelectorAll('.graph .open').length")
    browser.click(BOX.format("label === 'block'"))
    opened = browser.run("document.querySelectorAll('.graph .item').length")
    assert opened > closed and browser.run(BOX.format("label === 'block'") + ".getAttribute('aria-expanded')") == 'true', (closed, opened)
    assert browser.run("document.activeElement.item.label") == 'block'
    browser.key('Enter')
    assert browser.run("document.querySelectorAll('.graph .item').length") == closed, where
    browser.key('ArrowDown')
    assert browser.run("document.activeElement.item.label") == 'pool', where
    browser.click("[...document.querySelectorAll('#graph button')].find(b => b.textContent === 'Open all')")
    leaves = browser.run("document.querySelectorAll('.graph .node').length")
    assert leaves == len(nodes), leaves
    edges = browser.run("document.querySelectorAll('.graph .edge').length")
    assert edges > len(nodes) / 2, edges
    fills = {}
    names = browser.run(f"[...{SELECT}.at(-1).options].map(o => o.textContent)")
    for measure in ('share', 'introduced', 'headroom'):
        browser.choose(f'{SELECT}.at(-1)', names.index(measure))
        fills[measure] = browser.run("Object.fromEntries([...document.querySelectorAll('.graph .node')].map(b => [b.item.node, b.querySelector('.frame').getAttribute('fill')]))")
    assert len({json.dumps(f, sort_keys=True) for f in fills.values()}) == 3
    known = [i for i in range(len(nodes)) if nodes[i].get('share') is not None]
    first = max(known, key=lambda i: abs(nodes[i]['share']))
    assert list(fills['share'].values()).count(fills['share'][str(first)]) == 1, 'the largest share has a colour of its own'


def check_table(browser, where):
    """Sorting, filtering, the other arithmetic."""
    top = f"{ROWS}.slice(0, 8).map(r => r.node)"
    head = "[...document.querySelectorAll('#nodes th button')].find(b => b.textContent === '{}')"
    browser.choose("document.querySelector('#nodes select')", 0)
    browser.click(head.format('introduced'))
    for lane in range(2):
        browser.choose("document.querySelector('#nodes select')", lane)
        values = [relative(node, 'introduced') for node in report['lanes'][lane]['nodes']]
        order = sorted((i for i in range(len(nodes)) if not math.isnan(values[i])), key=lambda i: (-values[i], i))
        assert browser.run(top) == order[:8], (where, browser.run(top), order[:8])
    browser.choose("document.querySelector('#nodes select')", 0)
    browser.click(head.format('node'))
    assert browser.run(top) == sorted(range(len(nodes)), key=lambda i: nodes[i]['name'])[:8]
    assert browser.run("document.querySelector('#nodes th[aria-sort]').getAttribute('aria-sort')") == 'ascending'
    browser.click(head.format('node'))
    assert browser.run(top) == sorted(range(len(nodes)), key=lambda i: nodes[i]['name'], reverse=True)[:8]
    browser.click("document.querySelector('#nodes input')")
    browser.call('Input.insertText', text='op:MatMul')
    want = [i for i, node in enumerate(nodes) if node['op'] == 'MatMul']
    assert sorted(browser.run(f"{ROWS}.map(r => r.node)")) == want
    assert browser.run("document.querySelector('#nodes [role=status]').textContent") == f'{len(want)} of {len(nodes)} nodes'
    for _ in 'op:MatMul':
        browser.key('Backspace')
    assert browser.run("document.querySelector('#nodes [role=status]').textContent") == f'{len(nodes)} nodes'


def check_print(browser):
    browser.open('page.html', 900)
    pdf = base64.b64decode(browser.call('Page.printToPDF', printBackground=True)['data'])
    assert pdf.startswith(b'%PDF') and len(pdf) > 20_000, len(pdf)
    browser.check_silent('print')
    browser.open('page.html', 900, media='print', scheme='dark')
    assert browser.run("getComputedStyle(document.body).backgroundColor") == 'rgb(255, 255, 255)'
    assert browser.run("getComputedStyle(document.querySelector('.tools')).display") == 'none'
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.run(f'{ROWS}.length') == len(nodes)
    browser.check_silent('print')


def check_hostile(browser):
    for width in (400, 2000):
        browser.open('hostile.html', width)
        assert browser.run("document.querySelectorAll('script').length === 2 && !document.querySelector('img')")
        assert browser.run('document.documentElement.scrollWidth <= innerWidth')
        for i in range(14):
            browser.run(f"document.querySelector('#nodes .scroll').scrollTop = {30 * i}")
            browser.click(f"{ROWS}.find(r => r.node === {i}).querySelector('button')")
        assert '\u202e' not in browser.run('document.body.innerText')
        browser.run(f"document.querySelector('#nodes .scroll').scrollTop = 0")
        for i, text in ((4, '\\u{1b}[31mred\\u{1b}[0m\\u{7}'), (6, '\\u{2028}\\u{2029}\\u{202e}abc\\u{202c}\\u{feff}'), (12, '\u65e5\u672c/\u8a9e \U0001f600')):
            browser.click(f"{ROWS}.find(r => r.node === {i}).querySelector('button')")
            assert browser.run("document.querySelector('.detail h3').textContent") == text, i
        browser.check_silent(('hostile', width))


def check_large(browser):
    """10,000 nodes: opened, sorted, filtered and scrolled within seconds, on a busy machine too."""
    large = {**report, 'lanes': [copy.copy(report['lanes'][0])], 'places': [], 'spreads': []}
    lane, count = large['lanes'][0], 10_000
    lane['nodes'], lane['attribution'] = [], None
    for i in range(count):
        node, place = nodes[i % len(nodes)], graph[i % len(nodes)]
        start = i - i % len(nodes)
        lane['nodes'].append({**node, 'index': i, 'name': f"layer_{i // len(nodes)}/{node['name']}"})
        inputs = [{**value, 'node': value['node'] + start} if 'node' in value else value for value in place['inputs']]
        if i and i == start:
            inputs.append({'name': 'before', 'node': i - 1})
        large['places'].append({**place, 'inputs': inputs})
    with open('large.json', 'w') as file:
        json.dump(large, file)
    subprocess.run([program, 'report', 'large.json', '--html', 'large.html'], check=True)
    times = {'open': browser.open('large.html', 1400)}
    # rendered on this side of the pipe, so with what the protocol adds
    def timed(name, action):
        start = time.monotonic()
        action()
        browser.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
        times[name] = time.monotonic() - start
    assert browser.run(f'{ROWS}.length') < 100
    timed('filter', lambda: browser.run("(() => { const s = document.querySelector('#nodes input'); s.value = 'layer_77/'; s.dispatchEvent(new Event('input')); })()"))
    assert browser.run(f'{ROWS}.length') == len(nodes)
    timed('no filter', lambda: browser.run("(() => { const s = document.querySelector('#nodes input'); s.value = ''; s.dispatchEvent(new Event('input')); })()"))
    timed('sort', lambda: browser.run("[...document.querySelectorAll('#nodes th button')].find(b => b.textContent === 'carried').click()"))
    timed('scroll', lambda: browser.run("(() => { const s = document.querySelector('#nodes .scroll'); s.scrollTop = s.scrollHeight / 2; })()"))
    timed('choose', lambda: browser.run(f"{ROWS}[20].querySelector('button').click()"))
    timed('open groups', lambda: browser.run("[...document.querySelectorAll('#graph button')].find(b => b.textContent === 'Open all').click()"))
    print('10,000 nodes:', f"{os.path.getsize('large.html') / 1e6:.1f} MB;", ', '.join(f'{name} {seconds:.2f} s' for name, seconds in times.items()))
    assert times['open'] < 30 and all(seconds < 8 for name, seconds in times.items() if name != 'open'), times
    browser.check_silent('large')


def check_long(browser):
    """A table of 5,000 rows has all of them, and only those in the page that are seen."""
    count = 5000
    with open('long.json', 'w') as file:
        json.dump({'schema': 2, 'model': 'm.onnx', 'verdict': 'Many.', 'counts': {}, 'findings': [{'severity': 'note', 'rule': 'r', 'node': f'n{i}', 'text': 'word ' * 60, 'fix': 'none'} for i in range(count)]}, file)
    subprocess.run([program, 'report', 'long.json', '--html', 'long.html'], check=True)
    rows = "[...document.querySelectorAll('#findings tbody tr')].filter(r => !r.hasAttribute('aria-hidden'))"
    for width in (400, 2000):
        browser.open('long.html', width)
        assert browser.run('document.documentElement.scrollWidth <= innerWidth')
        assert 10 < browser.run(f'{rows}.length') < 200
        browser.run("(() => { const s = document.querySelector('#findings .scroll'); s.scrollTop = s.scrollHeight; })()")
        browser.run('new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))')
        assert browser.run(f"{rows}.at(-1).cells[2].textContent") == f'n{count - 1}'
        browser.check_silent(('long', width))


with Browser(sys.argv[1]) as browser:
    for width in (400, 2000):
        for scheme in ('light', 'dark'):
            check_page(browser, width, scheme)
    check_print(browser)
    check_hostile(browser)
    check_large(browser)
    check_long(browser)
    for path in sys.argv[3:]:
        for width in (400, 2000):
            browser.open(path, width)
            assert browser.run("document.querySelectorAll('h2').length") > 1, path
            assert browser.run('document.documentElement.scrollWidth <= innerWidth'), (path, width)
            browser.check_silent((path, width))
