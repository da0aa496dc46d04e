"""Reads a page as anyone's parser would: html.parser for its structure, zlib and json for its data. Nothing of the page's own script is used."""
import base64
import copy
import hashlib
import html.parser
import json
import re
import zlib


class Page(html.parser.HTMLParser):
    """Elements of a page with their attributes; the text of title, style and the two scripts; text that stands in the body."""
    EMPTY = {'meta', 'link', 'br', 'hr', 'img', 'input'}

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        with open(path, 'rb') as file:
            self.bytes = file.read()
        self.source = self.bytes.decode('utf-8')
        self.elements, self.open, self.text, self.comments = [], [], {}, []
        self.feed(self.source)
        self.close()
        assert not self.open, f'not closed: {self.open}'
        assert self.source.startswith('<!DOCTYPE html>')
        self.data = json.loads(zlib.decompress(base64.b64decode(self.text['script:data'])))

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag not in self.EMPTY:
            name = 'script:data' if attributes.get('id') == 'data' else tag
            self.open.append((tag, name))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f'</{tag}> closes {self.open[-1:]}'
        self.open.pop()

    def handle_data(self, data):
        name = self.open[-1][1] if self.open else ''
        self.text[name] = self.text.get(name, '') + data

    def handle_comment(self, data):
        self.comments.append(data)

    def check(self):
        """One file, whose script is the only one that may run, and which fetches nothing."""
        tags = [tag for tag, _ in self.elements]
        assert tags.count('script') == 2 and tags.count('style') == 1 and tags.count('title') == 1, tags
        assert not {'link', 'img', 'iframe', 'object', 'embed', 'base', 'form', 'svg', 'audio', 'video'} & set(tags), tags
        assert not self.comments
        for tag, attributes in self.elements:
            assert not {'src', 'srcset', 'data', 'action', 'style'} & set(attributes), (tag, attributes)
            assert not [key for key in attributes if key.startswith('on')], (tag, attributes)
            assert attributes.get('href', '#').startswith('#'), (tag, attributes)
        # an address in the style or script, but for the name of SVG's namespace, would be fetched
        for part in ('style', 'script'):
            found = set(re.findall(r'https?://[^"\'\s)]*|url\([^#)]*\)', self.text[part]))
            assert found <= {'http://www.w3.org/2000/svg', 'url('}, found
        assert '@import' not in self.text['style']
        policy = next(a['content'] for tag, a in self.elements if a.get('http-equiv') == 'Content-Security-Policy')
        digest = base64.b64encode(hashlib.sha256(self.text['script'].encode()).digest()).decode()
        assert policy.startswith("default-src 'none'") and f"script-src 'sha256-{digest}'" in policy, policy
        for word in ('innerHTML', 'outerHTML', 'insertAdjacentHTML', 'document.write', 'eval(', 'new Function', 'fetch(', 'XMLHttpRequest', 'import('):
            assert word not in self.text['script'], word
        # what the data hold can end no element
        assert re.fullmatch(r'[A-Za-z0-9+/=\n]*', self.text['script:data'])
        return self


def shown(value):
    """As a page has it: figures with nine digits."""
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    if isinstance(value, list):
        return [shown(part) for part in value]
    return float(f'{value:.9g}') if isinstance(value, float) else value


def check_report(page, report, index=0):
    """The page holds all of report.json."""
    assert page.data['reports'][index]['root'] == shown(report)


NAMES = ['</script><script>alert(1)</script>', '<!-- ', ']]>', '<img src=x onerror=alert(1)>', '\x1b[31mred\x1b[0m\x07', 'a\nb\r\tc', '\u2028\u2029\u202eabc\u202c\ufeff',
         '"&quot;&lt;\\u003c\\', "__proto__", "constructor", 'a/' * 3000, 'n' * 1_000_000, '日本/語 \U0001f600', '${alert(1)}`']


def make_hostile(report):
    """The report with names that mean something to HTML, JSON, terminals or scripts."""
    hostile = copy.deepcopy(report)
    for lane in hostile['lanes']:
        for i, name in enumerate(NAMES):
            lane['nodes'][i]['name'] = name
            lane['nodes'][i]['outputs'][0]['name'] = name
        lane['verdict'] = NAMES[0]
    hostile['lanes'][0]['name'] = NAMES[3]
    hostile['places'][3]['formula'] = NAMES[0]
    hostile['model_path'] = 'x/' + NAMES[0]
    return hostile
