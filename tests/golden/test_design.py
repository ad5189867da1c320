#!/usr/bin/env python3
"""test_design.py BIOINFER WEIGHTS DATA [float32] - designs against the reference's own outputs.

Sequences must be equal where half precision weights reproduce the reference's; with float32
weights ("float32") whole files must be equal but for git_hash. Log-probabilities: cosine at least
0.99999 and the same top symbol at every position.
"""
import gzip
import io
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

EXE, WEIGHTS, DATA = sys.argv[1:4]
HELP = subprocess.run([EXE, 'help', 'proteinmpnn', 'all'], capture_output=True, text=True).stdout
EXACT = 'float32' in sys.argv[4:]
failures = checks = 0


def check(ok, text):
    global failures, checks
    checks += 1
    if not ok:
        failures += 1
        print('FAILED: ' + text)


def path(name):
    return os.path.join(DATA, name)


def run(*args, code=0):
    p = subprocess.run([EXE, 'proteinmpnn', *args, '--weights', WEIGHTS], capture_output=True,
                       text=True)
    if p.returncode != code:
        check(False,
              '%s: exit %d, expected %d: %s' % (' '.join(args), p.returncode, code, p.stderr))
    return p


def fasta(text):
    lines = text.splitlines()
    return list(zip(lines[::2], lines[1::2]))


def without_hash(header):
    return ', '.join(p for p in header.split(', ') if not p.startswith('git_hash='))


def design(names, expected, *args, same=None):
    """Sequences of the files equal the reference's; `same`: how many at least, when not all."""
    got = fasta(run(*[path(n + '.pdb') for n in names], '--rng', 'torch', '--seed', '37',
                    '--num-seq', '2', '-q', *args).stdout)
    want = [r for e in expected for r in fasta(open(path(e)).read())]
    equal = sum(g[1] == w[1] for g, w in zip(got, want))
    check(len(got) == len(want), '%s: %d records, expected %d' % (names, len(got), len(want)))
    least = len(want) if EXACT or same is None else same
    check(equal >= least, '%s: %d of %d sequences are the reference\'s, expected %d' %
          (names, equal, len(want), least))
    for g, w in zip(got, want):
        if g[1] != w[1]:
            continue
        if EXACT:
            check(without_hash(g[0]) == without_hash(w[0]), '%s\nis not\n%s' % (g[0], w[0]))
        score = [float(h.split('score=')[1].split(',')[0]) for h in (g[0], w[0])]
        check(abs(score[0] - score[1]) < 0.002, 'score %g, expected %g' % tuple(score))
    return got


def array(data):
    """An array of an .npy file: shape, values."""
    assert data[:6] == b'\x93NUMPY'
    n, at = (struct.unpack('<H', data[8:10])[0], 10) if data[6] == 1 else \
            (struct.unpack('<I', data[8:12])[0], 12)
    header = eval(data[at:at + n].decode(), {'__builtins__': {}})
    kind = {'<f4': 'f', '<f8': 'd', '<i4': 'i'}[header['descr']]
    raw = data[at + n:]
    return header['shape'], list(struct.unpack('<%d%s' % (len(raw) // struct.calcsize(kind), kind),
                                               raw))


def arrays(file):
    with zipfile.ZipFile(file) as z:
        found = {}
        for name in z.namelist():
            try:
                found[name[:-4]] = array(z.read(name))
            except KeyError:  # text is not needed
                pass
        return found


def rows(values, n=21):
    return [values[i:i + n] for i in range(0, len(values), n)]


def compare(what, got, want):
    check(len(got) == len(want) > 0, '%s: %d values, expected %d' % (what, len(got), len(want)))
    for i, (a, b) in enumerate(zip(rows(got), rows(want))):
        dot = sum(x * y for x, y in zip(a, b))
        cosine = dot / (sum(x * x for x in a) * sum(y * y for y in b)) ** 0.5
        check(cosine >= 0.99999, '%s: position %d: cosine %.8f' % (what, i + 1, cosine))
        check(a.index(max(a)) == b.index(max(b)), '%s: position %d: top symbol' % (what, i + 1))


def inputs(tmp):
    """gzip by name in a folder, alone and in a list; what is skipped is named; what is absent is
    66."""
    folder = os.path.join(tmp, 'folder')
    os.mkdir(folder)
    with open(path('6MRR.pdb'), 'rb') as f:
        text = f.read()
    for name in ('a.pdb.gz', 'b.ent.gz'):
        with gzip.open(os.path.join(folder, name), 'wb') as f:
            f.write(text)
    with open(os.path.join(folder, 'c.pdb'), 'wb') as f:
        f.write(text)
    with open(os.path.join(folder, 'notes.md'), 'wb') as f:
        f.write(b'x')
    with open(os.path.join(tmp, 'list.txt'), 'w') as f:
        f.write(os.path.join(folder, 'a.pdb.gz') + '\n')

    def scores(what, names):
        p = run(what, '--score-only', '--format', 'tsv')
        rows = [line.split('\t') for line in p.stdout.splitlines()[1:]]
        check([r[0] for r in rows] == names,
              '%s: %s, expected %s' % (what, [r[0] for r in rows], names))
        check(len({r[3] for r in rows}) == 1, what + ': scores differ')
        return p

    p = scores(folder, ['a', 'b', 'c'])
    check('1 skipped' in p.stderr and 'notes.md' in p.stderr, 'skipped files: ' + p.stderr)
    scores(os.path.join(tmp, 'list.txt'), ['a'])
    scores(os.path.join(folder, 'b.ent.gz'), ['b'])
    with open(os.path.join(folder, 'a.pdb.gz'), 'rb') as f:
        cut = f.read()[:-100]
    with open(os.path.join(folder, 'a.pdb.gz'), 'wb') as f:
        f.write(cut)
    p = run(os.path.join(folder, 'a.pdb.gz'), code=1)
    check('truncated' in p.stderr, 'cut gzip: ' + p.stderr)
    run(os.path.join(folder, 'a.pdb.gz'), path('6MRR.pdb'), '--score-only', '-q', code=1)
    p = run(os.path.join(tmp, 'nosuch.pdb'), code=66)
    check('nosuch.pdb' in p.stderr, 'absent structure: ' + p.stderr)
    run(os.path.join(tmp, 'nosuch.pdb'), path('6MRR.pdb'), '--score-only', '-q', code=1)


def options(tmp):
    """Names of the reference's options are answered, as in the manual; biases of no residue are
    ignored."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'docs',
                           'designs.md')) as f:
        table = re.findall(r'^\| `--(\w+)` \| (.*) \|$', f.read(), re.M)
    check(len(table) > 40, 'table of options: %d rows' % len(table))
    for theirs, ours in table:
        p = run(path('6MRR.pdb'), '--' + theirs, '1', code=64)
        check("'--%s'; here it is" % theirs in p.stderr and
              (ours in p.stderr or theirs == 'batch_size'), 'option %s: %s' % (theirs, p.stderr))
        for option in re.findall(r'--[a-z][a-z-]+', ours):
            check(option in p.stderr + HELP and option in HELP, '%s is no option' % option)
    p = run(path('6MRR.pdb'), '--raw-residues', code=64)
    check('leave it out' in p.stderr, 'raw residues: ' + p.stderr)
    run(path('6MRR.pdb'), '--max-length', '50', code=1)

    with open(os.path.join(tmp, 'bias.jsonl'), 'w') as f:
        f.write('{"B": 9, "A": -50.0, "AA": 1.0}\n')
    with open(os.path.join(tmp, 'plain.jsonl'), 'w') as f:
        f.write('{"A": -50.0}\n')
    p = run(path('6MRR.pdb'), '--bias', os.path.join(tmp, 'bias.jsonl'))
    want = run(path('6MRR.pdb'), '--bias', os.path.join(tmp, 'plain.jsonl'))
    check(p.stdout == want.stdout and "'B' is ignored" in p.stderr and
          "'AA' is ignored" in p.stderr, 'bias of no residue: ' + p.stderr)


def remarks(tmp):
    """Many structures with one remark: named once or ten times, then counted. Ties are told."""
    with open(path('1BC8.pdb')) as f:
        atoms = [line for line in f if line.startswith(('ATOM', 'HETATM'))]
    some = [line for line in atoms if line[21] == 'C' and
            (line.startswith('ATOM') or ' ZN ' in line)]
    for i in range(12):  # 60 residues, of which residue 5 lacks its O
        with open(os.path.join(tmp, 'r%02d.pdb' % i), 'w') as f:
            f.writelines(line for line in some if line.startswith('HETATM') or
                         (int(line[22:26]) <= 60 and line[12:26] != ' O   %s C   5' % line[17:20]))
    p = run(*[os.path.join(tmp, 'r%02d.pdb' % i) for i in range(12)], '--score-only')
    check(p.stderr.count('lack a backbone atom') == 10, 'ten remarks: ' + p.stderr)
    check('2 more structures were read with remarks' in p.stderr, 'their count: ' + p.stderr)
    check(p.stderr.count('not seen: these weights') == 1, 'one remark on ions: ' + p.stderr)
    check('11 more structures hold residues' in p.stderr, 'their count: ' + p.stderr)
    check('neighbours' not in p.stderr, 'no ties: ' + p.stderr)

    with open(os.path.join(tmp, 'masked.pdb'), 'w') as f:  # 30 of 60 residues have all atoms
        f.writelines(line for line in some if line.startswith('ATOM') and int(line[22:26]) <= 60 and
                     (line[12:16] != ' O  ' or int(line[22:26]) % 2))
    p = run(os.path.join(tmp, 'masked.pdb'), '--score-only')
    check('masked: only 30 of 60 residues' in p.stderr, 'masked neighbours: ' + p.stderr)

    with open(os.path.join(tmp, 'twice.pdb'), 'w') as f:  # a lattice is full of equal distances
        for i in range(64):
            for k, name in enumerate(('N', 'CA', 'C', 'O')):
                f.write('ATOM  %5d  %-3s GLY A%4d    %8.3f%8.3f%8.3f  1.00  0.00\n' %
                        (4 * i + k + 1, name, i + 1, 4 * (i % 4) + k % 2, 4 * (i // 4 % 4) + k // 2,
                         4 * (i // 16)))
    p = run(os.path.join(tmp, 'twice.pdb'), '--score-only')
    check('is as near as the next' in p.stderr, 'equal distances: ' + p.stderr)
    p = run(os.path.join(tmp, 'twice.pdb'), '--score-only', '--backbone-noise', '0.1')
    check('as near' not in p.stderr, 'equal distances under noise: ' + p.stderr)


def main():
    tmp = tempfile.mkdtemp()
    npz = os.path.join(tmp, 'out.npz')
    one = design(['6MRR', '5L33'], ['6MRR.example1.fa', '5L33.example1.fa'])
    design(['3HTN'], ['3HTN.example3.fa'], '--chains', 'A,B')
    design(['3HTN'], ['3HTN.example4.fa'], '--chains-file', path('example4.assigned.jsonl'),
           '--fixed', path('example4.fixed.jsonl'))
    design(['6EHB', '4GYT'], ['6EHB.example6.fa', '4GYT.example6.fa'], '--tied', 'homooligomer',
           '--temperature', '0.2', same=5)
    design(['6MRR', '5L33'], ['6MRR.example8.fa', '5L33.example8.fa'], '--bias',
           path('example8.bias.jsonl'))

    run(path('6MRR.pdb'), path('5L33.pdb'), '--unconditional', '--include', 'logprobs', '-q',
        '-o', npz)
    got = arrays(npz)
    for name in ('6MRR', '5L33'):
        compare(name, got[name + '/log_probs'][1], arrays(path(name + '.example7.npz'))['log_p'][1])

    scores = run(path('3HTN.pdb'), '--chains', 'A,B', '--rng', 'torch', '--score-only', '--num-seq',
                 '10', '--format', 'tsv', '-q').stdout.splitlines()[1:]
    want = arrays(path('3HTN.scores.npz'))['score'][1]
    for line, score in zip(scores, want):
        check(abs(float(line.split('\t')[3]) - score) < 1e-3,
              '3HTN: score %s, expected %g' % (line.split('\t')[3], score))
    check(len(scores) == len(want) == 10, '3HTN: %d scores' % len(scores))

    # our own generator: company, order and rules change nothing; plain ops give the same
    alone = run(path('5L33.pdb'), '--num-seq', '2', '-q').stdout
    both = run(path('6MRR.pdb'), path('5L33.pdb'), '--num-seq', '2', '-q').stdout
    turned = run(path('5L33.pdb'), path('6MRR.pdb'), '--num-seq', '2', '--threads', '1',
                 '-q').stdout
    check(alone and both.endswith(alone) and turned.startswith(alone), 'company shows')
    more = run(path('5L33.pdb'), '--num-seq', '3', '-q').stdout
    check(more.startswith(alone), 'the first sequences depend on how many are asked for')
    plain = fasta(run(path('6MRR.pdb'), '--rng', 'torch', '--num-seq', '2', '--no-rule', 'all',
                      '-q').stdout)
    check([r[1] for r in plain] == [r[1] for r in one[:3]], 'unfused sequences differ')
    rules = dict(line.split()[:2] for line in run(path('6MRR.pdb'), '--trace-rules')
                 .stdout.splitlines() if len(line.split()) == 2)
    for name, times in (('edge_linear', '6'), ('edge_sum_gelu', '3'), ('neighbor_sum_linear', '6'),
                        ('edge_message', '6')):
        check(rules.get(name) == times, 'rule %s fires %s times, expected %s' %
              (name, rules.get(name), times))

    # a message says what is wrong, and nothing is taken silently
    p = run(path('5L33.pdb'), '--chains', 'Q', code=1)
    check('no chain' in p.stderr and "there are: A" in p.stderr, 'absent chain: ' + p.stderr)
    p = run(path('5L33.pdb'), '--fixed', path('none.jsonl'), code=66)
    check('none.jsonl' in p.stderr, 'absent side file: ' + p.stderr)
    p = run(path('3HTN.pdb'), '--tied', 'homooligomer', '--chains', 'A,B', '--num-seq', '1', '-q')
    p = run(path('1BC8.pdb'), '--score-only')
    check('2 residues that are neither protein nor water are not seen' in p.stderr,
          'ions are not mentioned: ' + p.stderr)
    p = run(path('5L33.pdb'), '--score-only')
    check('not seen' not in p.stderr, 'water is mentioned: ' + p.stderr)
    run(path('5L33.pdb'), '--fixed', path('example4.fixed.jsonl'), code=1)
    inputs(tmp)
    remarks(tmp)
    options(tmp)
    print('%d checks, %d failed' % (checks, failures))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
