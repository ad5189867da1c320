"""Chromium without a window, driven through a pipe (DevTools protocol); standard library only."""
import base64
import json
import os
import select
import shutil
import subprocess
import time


def find():
    """The program, or None."""
    return shutil.which('chromium') or shutil.which('chromium-browser') or \
        shutil.which('google-chrome')


class Browser:
    """One process with one page. Everything that the page logs as an error is in `errors`."""

    def __init__(self, profile, width=1280, height=900):
        to_read, self.write_fd = os.pipe()
        self.read_fd, to_write = os.pipe()

        def descriptors():  # the protocol's: 3 is read, 4 is written
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [find(), '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-dev-shm-usage', '--disable-background-networking', '--disable-extensions',
             '--hide-scrollbars', '--user-data-dir=' + profile, '--remote-debugging-pipe',
             '--window-size=%d,%d' % (width, height), 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=descriptors, pass_fds=(3, 4), close_fds=True)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.session = b'', 0, None
        self.errors, self.requests, self.loaded = [], [], False
        targets = self.call('Target.getTargets')['targetInfos']
        page = [t['targetId'] for t in targets if t['type'] == 'page'][0]
        self.session = self.call('Target.attachToTarget', targetId=page, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log', 'Network':
            self.call(domain + '.enable')

    def event(self, message):
        method, params = message.get('method', ''), message.get('params', {})
        if method == 'Runtime.exceptionThrown':
            details = params['exceptionDetails']
            self.errors.append(details.get('exception', {}).get('description') or details['text'])
        elif method == 'Runtime.consoleAPICalled' and params['type'] in ('error', 'warning'):
            self.errors.append(str([a.get('value') for a in params['args']]))
        elif method == 'Log.entryAdded' and params['entry']['level'] in ('error', 'warning'):
            self.errors.append(params['entry']['text'])
        elif method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])
        elif method == 'Page.loadEventFired':
            self.loaded = True

    def receive(self, limit):
        """The next message; None when there is none in time."""
        end = time.monotonic() + limit
        while b'\0' not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                return None
            piece = os.read(self.read_fd, 1 << 20)
            if not piece:
                raise EOFError('chromium ended')
            self.buffer += piece
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.write_fd, data):]
        while True:
            answer = self.receive(60)
            if answer is None:
                raise TimeoutError(method)
            if answer.get('id') == self.number:
                if 'error' in answer:
                    raise RuntimeError('%s: %s' % (method, answer['error']))
                return answer['result']
            self.event(answer)

    def run(self, expression):
        """The value of an expression in the page; promises are waited for."""
        result = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(str(result['exceptionDetails']))
        return result['result'].get('value')

    def open(self, path, scheme='light', width=1280, height=900):
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': scheme}])
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.errors, self.requests, self.loaded = [], [], False
        self.call('Page.navigate', url='file://' + os.path.abspath(path))
        end = time.monotonic() + 60
        while not self.loaded and time.monotonic() < end:
            message = self.receive(1)
            if message:
                self.event(message)
        assert self.loaded, 'the page did not load'

    def screenshot(self, path, whole=True):
        data = self.call('Page.captureScreenshot', format='png', captureBeyondViewport=whole,
                         **({'clip': dict(self.call('Page.getLayoutMetrics')['cssContentSize'],
                                          scale=1)} if whole else {}))['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))

    def close(self):
        try:
            self.session = None
            self.call('Browser.close')
        except (EOFError, TimeoutError, OSError):
            pass
        self.process.wait(30)
        os.close(self.read_fd)
        os.close(self.write_fd)
