"""A browser without a window, driven over its DevTools protocol through a pipe, with nothing but the standard library."""
import base64
import importlib.util
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time


def find():
    for name in (os.environ.get('ULPSCOPE_TEST_BROWSER'), 'chromium', 'chromium-browser', 'google-chrome', 'chrome'):
        if name and shutil.which(name):
            return shutil.which(name)
    return None


def find_axe():
    """The rules of axe-core (Deque), as the Python packages around it have them; None: neither is installed."""
    for package in ('axe_playwright_python', 'axe_core_python'):
        spec = importlib.util.find_spec(package)
        for folder in spec.submodule_search_locations if spec else []:
            if (path := pathlib.Path(folder, 'axe.min.js')).exists():
                return path.read_text()
    return None


class Browser:
    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        from_here, self.to = os.pipe()
        self.back, to_here = os.pipe()

        def connect():
            one, other = os.dup(from_here), os.dup(to_here)
            os.dup2(one, 3)
            os.dup2(other, 4)
        self.process = subprocess.Popen(
            [program, '--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run', '--hide-scrollbars', '--remote-debugging-pipe',
             f'--user-data-dir={self.folder.name}', 'about:blank'],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(from_here)
        os.close(to_here)
        self.number, self.buffer, self.events, self.session = 0, b'', [], None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self.call(domain + '.enable')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.session = None
            self.call('Browser.close')
        except (OSError, EOFError, TimeoutError):
            self.process.kill()
        self.process.wait()
        self.folder.cleanup()

    def read(self):
        while b'\0' not in self.buffer:
            if not select.select([self.back], [], [], 120)[0]:
                raise TimeoutError('the browser says nothing')
            part = os.read(self.back, 1 << 20)
            if not part:
                raise EOFError('the browser has ended')
            self.buffer += part
        message, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': parameters}
        if self.session:
            message['sessionId'] = self.session
        os.write(self.to, json.dumps(message).encode() + b'\0')
        while True:
            answer = self.read()
            if answer.get('id') == self.number:
                assert 'error' not in answer, (method, answer)
                return answer['result']
            if 'method' in answer:
                self.events.append(answer)

    def run(self, script):
        answer = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        assert 'exceptionDetails' not in answer, (script, answer)
        return answer['result'].get('value')

    def wait(self, script, seconds=60):
        end = time.monotonic() + seconds
        while not (value := self.run(script)):
            thrown = [event for event in self.events if event['method'] == 'Runtime.exceptionThrown']
            assert not thrown, json.dumps(thrown[0])[:3000]
            assert time.monotonic() < end, f'never true: {script}'
            time.sleep(0.03)
        return value

    def open(self, path, width, height=1000, scheme='light', media=''):
        """Seconds until the page is ready."""
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call('Emulation.setEmulatedMedia', media=media, features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.events.clear()
        start = time.monotonic()
        self.call('Page.navigate', url='file://' + os.path.abspath(path))
        self.wait("document.readyState === 'complete' && document.body.classList.contains('ready')")
        return time.monotonic() - start

    def check_silent(self, where):
        """Nothing on the console, no dialog, nothing fetched but the page itself."""
        for event in self.events:
            method, parameters = event['method'], event['params']
            assert method not in ('Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Page.javascriptDialogOpening'), (where, json.dumps(event)[:3000])
            assert method != 'Log.entryAdded' or parameters['entry']['level'] in ('info', 'verbose'), (where, json.dumps(event)[:3000])
            assert method != 'Network.requestWillBeSent' or parameters['request']['url'].startswith('file://') and parameters['type'] == 'Document', (where, json.dumps(event)[:3000])

    def check_axe(self, axe, where):
        """No rule of WCAG 2.2 (A and AA), and none of good practice, is broken."""
        self.run(axe + ';0')
        found = self.run("axe.run().then(r => r.violations.map(v => [v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 160) + ' ' + n.failureSummary.slice(0, 300))]))")
        assert not found, (where, json.dumps(found, indent=1)[:3000])

    def click(self, place):
        """place: a script whose value is an element."""
        box = self.run(f"(() => {{ const e = {place}; e.scrollIntoView({{block: 'center', inline: 'center'}}); const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + Math.min(b.height / 2, 14)]; }})()")
        for kind in ('mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=box[0], y=box[1], button='left', clickCount=1)

    def key(self, name):
        codes = {'Enter': 13, 'ArrowDown': 40, 'ArrowUp': 38, 'Tab': 9, 'Backspace': 8}
        text = {'text': '\r'} if name == 'Enter' else {}
        self.call('Input.dispatchKeyEvent', type='keyDown', key=name, code=name, windowsVirtualKeyCode=codes[name], **text)
        self.call('Input.dispatchKeyEvent', type='keyUp', key=name, code=name, windowsVirtualKeyCode=codes[name])

    def choose(self, place, index):
        self.run(f"(() => {{ const s = {place}; s.selectedIndex = {index}; s.dispatchEvent(new Event('change', {{bubbles: true}})); }})()")

    def picture(self, path, whole=True, clip=None):
        options = {}
        if whole and not clip:
            size = self.call('Page.getLayoutMetrics')['cssContentSize']
            clip = (0, 0, size['width'], min(size['height'], 9000))
        if clip:
            options = {'captureBeyondViewport': True, 'clip': dict(zip(('x', 'y', 'width', 'height'), clip), scale=1)}
        with open(path, 'wb') as file:
            file.write(base64.b64decode(self.call('Page.captureScreenshot', format='png', **options)['data']))
