#!/usr/bin/env python3
"""test_antiberty.py BIOINFER SOURCE_ROOT - the trained AntiBERTy, as protbert, against what its own
program gives (tools/golden_antiberty.py).

The weights are those of the package antiberty of PyPI: of its folder trained_models, which
$BIOINFER_ANTIBERTY names, or of the package where it is installed. Skipped without them.
"""
import importlib.util
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

EXE, ROOT = sys.argv[1:3]


def trained_models():
    folder = os.environ.get('BIOINFER_ANTIBERTY')
    if not folder:
        spec = importlib.util.find_spec('antiberty')
        folder = spec and os.path.join(os.path.dirname(spec.origin), 'trained_models')
    return folder if folder and os.path.exists(os.path.join(folder, 'vocab.txt')) else None


def run(*args):
    p = subprocess.run([EXE, *args], capture_output=True, text=True)
    assert p.returncode == 0, (args, p.stderr)
    return p.stdout


def distance(got, want):
    assert len(got) == len(want) == 512, (len(got), len(want))
    return math.sqrt(sum((a - b) ** 2 for a, b in zip(got, want)) / sum(b * b for b in want))


def main():
    models = trained_models()
    if not models:
        print('skipped: no BIOINFER_ANTIBERTY, and no package antiberty (PyPI)')
        return 77
    with open(os.path.join(ROOT, 'tests', 'golden', 'antiberty.json'), encoding='ascii') as file:
        golden = json.load(file)
    assert len(golden) == 2
    with tempfile.TemporaryDirectory() as folder:
        weights, fasta = os.path.join(folder, 'w'), os.path.join(folder, 'in.fa')
        shutil.copytree(os.path.join(models, 'AntiBERTy_md_smooth'), weights)
        shutil.copy(os.path.join(models, 'vocab.txt'), weights)
        with open(fasta, 'w', encoding='ascii') as file:
            for name, of in golden.items():
                file.write('>%s\n%s\n' % (name, of['sequence']))
        model = ('protbert', fasta, '--weights', weights, '-q')
        rows = [json.loads(line) for line in run(
            *model, '--include', 'mean,per-residue', '--format', 'jsonl',
            '--json-floats').splitlines()]
        likelihoods = {line.split('\t')[0]: line.split('\t')[1:3] for line in run(
            'score', *model, '--method', 'pppl').splitlines()[1:]}
    assert [row['id'] for row in rows] == list(golden)
    for row in rows:
        want = golden[row['id']]
        arrays = {a['kind']: a['data'] for a in row['arrays']}
        for kind, values in (('mean', arrays['mean']), ('first', arrays['per-residue'][0])):
            off = distance(values, want[kind])
            assert off < 1e-5, (row['id'], kind, off)
        length, likelihood = likelihoods[row['id']]
        # the program leaves special tokens out of the softmax, whose part is below 1e-4
        off = float(likelihood) / int(length) - want['pll']
        assert abs(off) < 1e-4, (row['id'], off)
        print('%s: mean %.1e, likelihood %.1e off' % (row['id'], distance(
            arrays['mean'], want['mean']), off))
    return 0


if __name__ == '__main__':
    sys.exit(main())
