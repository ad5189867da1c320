#!/usr/bin/env python3
"""test_report_browser.py BIOINFER [SCREENSHOTS] - pages of reports in Chromium, without a window.

Exit 77 where Chromium is not installed. With a folder SCREENSHOTS pages are also saved as pictures.
"""
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import zipfile

import chromium

N = 10000
ANTIBODY = \
    'EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAED' \
    'TAVYYCSRWGGDGFYAMDYWGQGTLVTVSSDIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPS' \
    'RFSGSRSGTDFTLTISSLQPEDFATYYCQQHYTTPPTFGQGTKVEIK'
HOSTILE = '<img src=x onerror=window.hacked=1>'


def npy(shape, values):
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }" % \
        ''.join('%d, ' % n for n in shape)
    head += ' ' * (63 - (10 + len(head)) % 64) + '\n'
    return b'\x93NUMPY\x01\0' + struct.pack('<H', len(head)) + head.encode() + \
        struct.pack('<%df' % len(values), *values)


def make(folder):
    """An output of N records, with maps and tracks and substitutions; returns the files' names."""
    rng = random.Random(1)
    path = os.path.join(folder, 'many.npz')
    with zipfile.ZipFile(path, 'w') as z:
        for i in range(N):
            z.writestr('r%05d/mean.npy' % i, npy((4,), [rng.gauss(i % 3, 1) for _ in range(4)]))
        for k in range(3):
            z.writestr('r%05d/contacts.npy' % k,
                       npy((40, 40), [1 / (1 + abs(i - j)) for i in range(40) for j in range(40)]))
    with open(path + '.manifest.tsv', 'w', encoding='utf-8') as f:
        f.write('ordinal\tid\tlength\tstatus\tsame_as\tmessage\n')
        for i in range(N):
            f.write('%d\tr%05d\t%d\t%s\t\t%s\n' % (i, i, 40 + (i * 7919) % 1000,
                                                  'ok' if i % 100 else 'too_long',
                                                  '' if i % 100 else HOSTILE))
    with open(os.path.join(folder, 's.tsv'), 'w', encoding='utf-8') as f:
        f.write('id\tposition\twildtype\tmutant\tscore\n')
        for p in range(1, 121):
            for a in 'ACDEFGHIKLMNPQRSTVWY':
                score = 0 if a == 'A' else rng.gauss(-3, 3)
                f.write('%s\t%d\tA\t%s\t%.4f\n' % (HOSTILE, p, a, score))
    with zipfile.ZipFile(os.path.join(folder, 't.npz'), 'w') as z:
        z.writestr('window.npy', npy((64, 3), [abs(rng.gauss(0, 2)) for _ in range(192)]))
        z.comment = b'bioinfer 0.1.0 m f\nkinds tracks'
    with open(os.path.join(folder, 'd.fa'), 'w', encoding='utf-8') as f:
        f.write('>x, score=1.5, global_score=1.5\nACDEFGHIKLMNPQRSTVWY\n')
        for i in range(8):
            f.write('>T=0.1, sample=%d, score=1.%d, global_score=1, seq_recovery=0.5\n%s\n' %
                    (i + 1, i, 'ACDEFGHIKL' + ''.join(rng.choice('ACDE') for _ in range(10))))
    with open(os.path.join(folder, 'a.tsv'), 'w', encoding='utf-8') as f:
        f.write('query\ttarget\tscore\tidentity\tcigar\n'
                '%s\tt\t10\t0.5\t5=2X3I2D\nq\tt\t1\t0\t2X\n' % HOSTILE)
    with open(os.path.join(folder, 'e.tsv'), 'w', encoding='utf-8') as f:
        f.write('id\trecord\tenergy\tpairs\tligand_atoms\tpocket_atoms\tdistance\tstatus\t'
                'message\n')
        for i in range(200):
            f.write('%s\t%d\t%.3f\t%d\t%d\t380\t%.2f\tok\t\n' % (
                HOSTILE if i == 1 else 'l%d' % i, i + 1, rng.gauss(-7, 2), rng.randint(1, 5000),
                rng.randint(9, 60), rng.uniform(2, 4)))
    with zipfile.ZipFile(os.path.join(folder, 'packed.npz'), 'w', zipfile.ZIP_DEFLATED) as z:
        for i in range(50):
            z.writestr('r%d.npy' % i, npy((4,), [rng.gauss(i % 3, 1) for _ in range(4)]))
    return ['many.npz', 's.tsv', 't.npz', 'd.fa', 'a.tsv', 'e.tsv', 'packed.npz']


def make_by_command(exe, folder):
    """Outputs in formats that the command writes best: HDF5 where it is there, needle, BigWig."""
    rng = random.Random(2)
    bases = ''.join(rng.choices('ACGT', k=9000))
    files = {'p.fa': '>a%s\nMKTAYIAKQRQISFVKS\n>b\nMKTAYAKQRQISFVHFSRQ\n>c\nGEVIL\n' % HOSTILE[:4],
             'g.fa': '>chr1\n%s\n' % bases, 'g.fa.fai': 'chr1\t9000\t6\t9000\t9001\n',
             'i.bed': 'chr1\t3000\t3100\tone\n', 'ab.fa': '>%s\n%s:%s\n' % (
                 HOSTILE, ANTIBODY[:120], ANTIBODY[120:])}
    for name, text in files.items():
        with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
            f.write(text)
    half = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'golden', 'enformer',
                        'half')
    runs = {'e.h5': ('esm2', 'p.fa', '--weights', 'tiny', '--include', 'mean,contacts'),
            'p.needle': ('align', 'p.fa', '--all-vs-all', '--format', 'needle'),
            'wig': ('enformer', 'i.bed', '--genome', 'g.fa', '--weights', half, '--positions',
                    'formula-pt', '--tracks', '0,2', '--format', 'bigwig'),
            'folds': ('flashabb', 'ab.fa')}
    made = []
    for name, run in runs.items():
        done = subprocess.run([exe, *run, '-o', name, '-q'], cwd=folder, check=False,
                              stderr=subprocess.PIPE, text=True)
        assert done.returncode == 0 or (name == 'e.h5' and 'HDF5' in done.stderr), done.stderr
        made += [name] if done.returncode == 0 else []
    return made


# the colours that the first canvas of the page shows; a canvas that was not drawn on has one
COLOURS = '''(() => { const c = document.querySelector("canvas[role=img]");
  if (!c) return 99;
  const p = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, s = new Set();
  for (let i = 0; i < p.length; i += 4) s.add(p[i] << 16 | p[i + 1] << 8 | p[i + 2]);
  return s.size; })()'''
FRAME = 'new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))'


def rows_of(browser):
    return browser.run('[...document.querySelectorAll("section:last-of-type .body .row")].map(r => '
                       '[...r.children].map(c => c.textContent))')


def check_table(b):
    """Sorting, filtering and scrolling 10,000 records, of which the page holds a screenful."""
    assert b.run('document.querySelectorAll(".body .row").length') < 100
    names = b.run('[...document.querySelectorAll("section:last-of-type [role=columnheader]")]'
                  '.map(h => h.textContent)')
    assert names == ['ordinal', 'id', 'length', 'norm', 'status', 'message'], names
    click = '[...document.querySelectorAll("section:last-of-type [role=columnheader] button")]' \
        '[%d].click()'
    b.run(click % 2)
    lengths = [int(r[2].replace(',', '')) for r in rows_of(b)]
    assert lengths[0] == 1039 and lengths == sorted(lengths, reverse=True), lengths[:5]
    assert b.run('document.querySelectorAll("[aria-sort=descending]").length') == 1
    b.run(click % 2)
    lengths = [int(r[2]) for r in rows_of(b)]
    assert lengths[0] == 40 and lengths == sorted(lengths), lengths[:5]
    b.run('document.querySelector("section:last-of-type .grid").scrollTop = 1e7')
    b.run(FRAME)
    assert rows_of(b)[-1][2] == '1,039', rows_of(b)[-1]
    b.run('(f => { f.value = "onerror"; f.dispatchEvent(new Event("input")); })'
          '(document.querySelector("section:last-of-type input"))')
    b.run('new Promise(r => setTimeout(r, 400))')
    rows = rows_of(b)
    assert rows and all(r[5] == HOSTILE for r in rows), rows[:2]
    count = b.run('document.querySelector("section:last-of-type .count").textContent')
    assert count == '100 of 10,000 rows', count


def check_keyboard(b):
    """Figures and controls are reached and read without a mouse."""
    said = b.run('''(() => { const c = document.querySelector("canvas[role=img]");
      c.focus();
      c.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
      const t = document.getElementById("tip");
      return [t.hidden, t.textContent, t.getAttribute("aria-live"),
              c.getAttribute("aria-label")]; })()''')
    assert said[0] is False and 'residue 1' in said[1] and said[2] == 'polite' and said[3], said
    unnamed = b.run('''[...document.querySelectorAll(
      "button, input, canvas[role=img], [role=table]")].filter(
      e => !(e.textContent || e.getAttribute("aria-label")).trim()).length''')
    assert unnamed == 0, unnamed
    b.run('[...document.querySelectorAll("button")].find(x => x.textContent === "Enlarge").click()')
    assert b.run('document.querySelector("dialog").open')
    b.run('document.querySelector("dialog button").click()')
    b.run(FRAME)
    assert not b.run('document.querySelector("dialog")')


def contrast(b):
    """The least contrast between text and what lies below it (WCAG asks for 4.5)."""
    return b.run('''(() => {
      const parse = c => c.match(/[\\d.]+/g).map(Number);
      const light = c => {
        const [r, g, u] = parse(c).map(x =>
          (x /= 255) <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * u; };
      const below = e => { for (; e; e = e.parentElement) {
        const c = getComputedStyle(e).backgroundColor;
        if (parse(c).length < 4 || parse(c)[3] > 0) return c; } return "rgb(255, 255, 255)"; };
      let least = 99;
      for (const e of document.querySelectorAll(
          "h1, h2, h3, p, dt, dd, button, .cell, nav a, .legend span, summary span")) {
        if (!e.textContent.trim()) continue;
        const a = light(getComputedStyle(e).color), c = light(below(e));
        least = Math.min(least, (Math.max(a, c) + .05) / (Math.min(a, c) + .05));
      }
      return least; })()''')


def main(exe, shots=None):
    if not chromium.find():
        print('chromium is not installed: skipped')
        return 77
    with tempfile.TemporaryDirectory() as folder:
        names = make(folder) + make_by_command(exe, folder)
        for name in names:
            subprocess.run([exe, 'report', name, '-o', name + '.html'], cwd=folder, check=True)
        b = chromium.Browser(os.path.join(folder, 'profile'))
        for name in names:
            for scheme in 'light', 'dark':
                b.open(os.path.join(folder, name + '.html'), scheme)
                state = json.loads(b.run(
                    'JSON.stringify([document.documentElement.dataset.ready, '
                    'document.documentElement.dataset.theme, window.hacked || 0, '
                    'document.querySelectorAll("img").length])'))
                assert state[0] and state[1:] == [scheme, 0, 0], (name, state)
                assert b.run(COLOURS) > 4, name
                assert contrast(b) >= 4.5, (name, scheme, contrast(b))
                if shots:
                    b.screenshot(os.path.join(shots, '%s-%s.png' % (name, scheme)))
                assert not b.errors, (name, b.errors)
                assert len(b.requests) == 1, b.requests  # the page itself
                print('%s, %s: %s ms' % (name, scheme, state[0]))
        b.open(os.path.join(folder, 'many.npz.html'))
        check_table(b)
        check_keyboard(b)
        b.run('document.getElementById("theme").click()')
        assert b.run('document.documentElement.dataset.theme') == 'dark'
        b.open(os.path.join(folder, 'many.npz.html'), width=420, height=800)
        assert b.run('document.documentElement.scrollWidth') <= 420
        assert not b.errors, b.errors
        b.close()
    return 0


if __name__ == '__main__':
    sys.exit(main(*(os.path.abspath(a) for a in sys.argv[1:])))
