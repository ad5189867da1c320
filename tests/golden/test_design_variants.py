#!/usr/bin/env python3
"""test_design_variants.py BIOINFER WEIGHTS DATA MPNN_WEIGHTS - the rest of the ProteinMPNN family
and of its options.

variant.*: weights by formula (MPNN_WEIGHTS writes them) against the reference's classes in float64:
log-probabilities with cosine at least 0.99999 and the same top symbol everywhere, and what
LigandMPNN samples, symbol for symbol. script.*: what protein_mpnn_run.py writes with the weights
that come with bioinfer, byte for byte but for git_hash. tools/golden_mpnn.py made both.
"""
import os
import subprocess
import sys
import tempfile

import test_design as t
from test_design import EXE, WEIGHTS, arrays, check, path, without_hash

MPNN_WEIGHTS = sys.argv[4]


def run(weights, *args):
    p = subprocess.run([EXE, 'proteinmpnn', *args, '--weights', weights, '-q'], capture_output=True,
                       text=True)
    check(p.returncode == 0, '%s: exit %d: %s' % (' '.join(args), p.returncode, p.stderr))
    return p


def compare(what, got, want):
    check(got[0] == tuple(want[0][-2:]), '%s: shape %s, expected %s' % (what, got[0], want[0]))
    t.compare(what, got[1], want[1])


def residues(pdb):
    """Chain and number of each residue with a CA."""
    with open(path(pdb)) as f:
        return [line[21] + line[22:26].strip() for line in f
                if line.startswith('ATOM') and line[12:16] == ' CA ' and line[16] in ' A']


def rng_of(name):
    """The random numbers of the build of PyTorch that wrote the golden."""
    return 'torch-mkl' if name.endswith('mkl') else 'torch'


def variant(name, weights, pdb, tmp, *args):
    out = os.path.join(tmp, name + '.npz')
    golden = arrays(path('variant.%s.npz' % name))
    run(weights, path(pdb), '--score-only', '--rng', rng_of(name), '--rng-skip', '0', '--seed',
        '37', '--include', 'logprobs', '-o', out, *args)
    compare(name, arrays(out)[pdb[:-4] + '/log_probs'], golden['log_probs'])
    if golden['S'][1]:
        p = run(weights, path(pdb), '--rng', rng_of(name), '--rng-skip', '0', '--seed', '37', *args)
        got = p.stdout.split('\n')[3]
        want = ''.join('ACDEFGHIKLMNPQRSTVWYX'[c] for c in golden['S'][1])
        check(got == want, '%s: sampled\n%s, expected\n%s' % (name, got, want))


def script(name, pdb, *args):
    if os.path.exists(path('script.%s.npz' % name)):
        with tempfile.TemporaryDirectory() as tmp:
            out = os.path.join(tmp, 'out.npz')
            run(WEIGHTS, path(pdb), '--rng', 'torch', '--seed', '37', '--include', 'logprobs', '-o',
                out, *args)
            got = arrays(out)
            compare(name, got[pdb[:-4] + '/log_probs'],
                    arrays(path('script.%s.npz' % name))['log_p'])
        return
    got = run(WEIGHTS, path(pdb), '--rng', rng_of(name), '--seed', '37', '--num-seq', '3',
              '--temperature', '0.2', *args).stdout
    with open(path('script.%s.fa' % name)) as f:
        want = f.read()
    for g, w in zip(got.split('\n'), want.split('\n')):
        check(without_hash(g) == without_hash(w), '%s: %s\nexpected %s' % (name, g, w))
    check(got.count('\n') == want.count('\n'), name + ': number of lines')


def scores():
    """--score-only of sequences in a file, '/' between chains or none; rows say what they are
    of."""
    lines = run(WEIGHTS, path('4GYT.pdb'), '--score-only', '--sequences',
                path('script.fasta.fasta'), '--rng', 'torch', '--seed', '37', '--num-seq', '3',
                '--format', 'tsv').stdout.splitlines()
    names = lines[0].split('\t')
    rows = [dict(zip(names, line.split('\t'))) for line in lines[1:]]
    check([(r['source'], r['sample']) for r in rows] ==
          [(s, str(i)) for s in ('native', 'short', 'two', 'one') for i in (1, 2, 3)],
          'scores: rows %s' % [(r['source'], r['sample']) for r in rows])
    golden = arrays(path('script.fasta.npz'))
    want = [v for i in '123' for v in golden[i][1]]
    got = [float(r['score']) for r in rows[3:]]
    check(len(got) == len(want) and all(abs(a - b) < 2e-5 for a, b in zip(got, want)),
          'scores: %s, expected %s' % (got, want))
    p = subprocess.run([EXE, 'proteinmpnn', path('4GYT.pdb'), '--score-only', '--num-seq', '2',
                        '--weights', WEIGHTS], capture_output=True, text=True)
    check('1 structures, 2 scores' in p.stderr, 'scores: ' + p.stderr)
    heads = [h.split(', ')[:3] for h in p.stdout.split('\n')[::2] if h]
    check(heads == [['>4GYT', 'sequence=native', 'sample=%d' % i] for i in (1, 2)],
          'scores: headers %s' % heads)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        weights = {}
        for name in ('vanilla', 'ca', 'membrane', 'ligand'):
            weights[name] = os.path.join(tmp, name + '.safetensors')
            subprocess.run([MPNN_WEIGHTS, name, weights[name]], check=True)
        variant('vanilla', weights['vanilla'], '6MRR.pdb', tmp)
        variant('ca', weights['ca'], '6MRR.pdb', tmp)
        names = residues('6MRR.pdb')
        variant('membrane', weights['membrane'], '6MRR.pdb', tmp, '--interface',
                ' '.join(names[1::3]), '--buried', ' '.join(names[2::3]))
        names = residues('1BC8.pdb')  # chain C is the protein; A and B are DNA
        variant('membrane-dna', weights['membrane'], '1BC8.pdb', tmp, '--interface',
                ' '.join(names[1::3]), '--buried', ' '.join(names[2::3]))
        variant('ligand', weights['ligand'], '1BC8.pdb', tmp)
        variant('ligand-mkl', weights['ligand'], '1BC8.pdb', tmp)
        variant('ligand-none', weights['ligand'], '1BC8.pdb', tmp, '--no-ligand')
        fixed = os.path.join(tmp, 'fixed.jsonl')
        with open(fixed, 'w') as f:
            f.write('{"1BC8":{"C":%s}}' % list(range(11, 41)))
        variant('ligand-sides', weights['ligand'], '1BC8.pdb', tmp, '--side-chain-context',
                '--chains', 'C', '--fixed', fixed)

        # the rules, the plain ops, company
        plain = run(weights['ligand'], path('1BC8.pdb'), '--no-rule', 'all').stdout
        alone = run(weights['ligand'], path('1BC8.pdb')).stdout
        check(plain == alone and alone, 'ligand: plain ops give other sequences')
        both = run(weights['ligand'], path('5L33.pdb'), path('1BC8.pdb')).stdout
        check(both.endswith(alone), 'ligand: company shows')

        p = subprocess.run([EXE, 'proteinmpnn', path('6MRR.pdb'), '--no-ligand', '--weights',
                            weights['vanilla']], capture_output=True, text=True)
        check(p.returncode == 64 and 'no ligand context' in p.stderr, 'no ligand to hide: %d %s' %
              (p.returncode, p.stderr))

        # membrane weights: what LigandMPNN's parser calls no protein is left out, and said
        p = subprocess.run([EXE, 'proteinmpnn', path('1BC8.pdb'), '--weights', weights['membrane']],
                           capture_output=True, text=True)
        check("designed_chains=['C']" in p.stdout and 'X' not in p.stdout.split('\n')[3],
              'membrane: chains of DNA are designed: ' + p.stdout)
        check('neither protein nor water' in p.stderr,
              'membrane: DNA is not mentioned: ' + p.stderr)

        # messages: a ligand that is not seen, one that is not there
        p = subprocess.run([EXE, 'proteinmpnn', path('1BC8.pdb'), '--weights', weights['vanilla']],
                           capture_output=True, text=True)
        check('no ligand context' in p.stderr, 'ligand without context: ' + p.stderr)
        p = subprocess.run([EXE, 'proteinmpnn', path('6MRR.pdb'), '--weights', weights['ligand']],
                           capture_output=True, text=True)
        check('no ligand atoms' in p.stderr, 'context without ligand: ' + p.stderr)

        # an alternate of the ligand that is left out
        name = os.path.join(tmp, 'alternate.pdb')
        with open(path('6MRR.pdb')) as f, open(name, 'w') as out:
            lines = [line for line in f if line.startswith('ATOM')]
            out.writelines(lines)
            for k, alt in enumerate('ABB'):
                out.write('HETATM 900%d  C%d %sLIG A 301    %8.3f%8.3f%8.3f  0.50%18s\n'
                          % (k, 1 + k // 2, alt, *(float(lines[0][30 + 8 * i:38 + 8 * i]) + 3
                                                  for i in range(3)), 'C'))
        p = subprocess.run([EXE, 'proteinmpnn', name, '--weights', weights['ligand']],
                           capture_output=True, text=True)
        check('2 atoms around the protein are left out' in p.stderr, 'alternates: ' + p.stderr)

    scores()
    script('conditional', '6MRR.pdb', '--conditional')
    script('backbone', '6MRR.pdb', '--conditional-backbone')
    script('unconditional', '6MRR.pdb', '--unconditional', '--backbone-noise', '0.1')
    script('mkl', '6MRR.pdb')
    script('noise', '6MRR.pdb', '--backbone-noise', '0.2')
    script('pssm', '6MRR.pdb', '--pssm', path('script.pssm.jsonl'), '--pssm-multi', '0.4',
           '--pssm-bias', '--pssm-log-odds', '--pssm-threshold', '-0.5')
    script('omit', '6MRR.pdb', '--omit', path('script.omit.jsonl'), '--bias-residue',
           path('script.bias.jsonl'))
    script('tied', '4GYT.pdb', '--tied', path('script.tied.jsonl'), '--fixed',
           path('script.fixed.jsonl'))
    print('%d checks, %d failed' % (t.checks, t.failures))
    return 1 if t.failures else 0


sys.exit(main())
