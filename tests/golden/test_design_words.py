#!/usr/bin/env python3
"""test_design_words.py BIOINFER WEIGHTS DATA MPNN_WEIGHTS - what side files and structures of
designs can say that changes the meaning: obeyed, refused or named (docs/formats.md has the tables).

Right values: the names in the files themselves, and what the same question gives in other words.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.argv, ARGUMENTS = sys.argv[:4], sys.argv

import test_design as t
from test_design import EXE, WEIGHTS, check, path

MPNN_WEIGHTS = ARGUMENTS[4]
LETTERS = 'ACDEFGHIKLMNPQRSTVWYX'


def run(*args, weights=WEIGHTS, code=0):
    p = subprocess.run([EXE, 'proteinmpnn', *args, '--weights', weights], capture_output=True,
                       text=True)
    check(p.returncode == code,
          '%s: exit %d, expected %d: %s' % (' '.join(args), p.returncode, code, p.stderr))
    return p


def refused(words, *args, code=1):
    p = run(*args, code=code)
    check(all(w in p.stderr for w in words), '%s: %s, expected %s' % (args, p.stderr, words))
    check('>' not in p.stdout, '%s: designs all the same' % (args,))


def side_files(tmp):
    """Chains that are not there, positions off their chain, letters that are none, lists of other
    lengths: errors of the structure, with the name."""
    def side(value):
        name = os.path.join(tmp, 'side.jsonl')
        with open(name, 'w') as f:
            f.write(json.dumps({'plain': value}) + '\n')
        return name

    pdb = path('made/plain.pdb')  # chain A, 12 residues
    rows = [[0.0] * 21] * 12
    pssm = {'pssm_coef': [0.0] * 12, 'pssm_bias': rows, 'pssm_log_odds': rows}
    absent = ["no chain 'Z'; there are: A"]
    refused(absent + ['fixed positions'], pdb, '--fixed', side({'Z': [1]}))
    refused(absent + ['omit'], pdb, '--omit', side({'Z': [[[1], 'A']]}))
    refused(absent + ['bias'], pdb, '--bias-residue', side({'A': rows, 'Z': rows}))
    refused(absent + ['PSSM'], pdb, '--pssm', side({'Z': pssm}))
    refused(absent + ['tied positions'], pdb, '--tied', side([{'A': [1], 'Z': [1]}]))
    refused(absent, pdb, '--chains-file', side([['A'], ['Z']]))
    refused(["no chain 'Z'"], pdb, '--chains', 'A,Z')
    for option, value in (('--fixed', {'A': [13]}), ('--omit', {'A': [[[0], 'A']]}),
                          ('--tied', [{'A': [1, 13]}])):
        refused(['expected 1 to 12'], pdb, option, side(value))
    refused(["'AB'", 'expected some of'], pdb, '--omit', side({'A': [[[1], 'AB']]}))
    refused(['expected [[positions], "letters"]'], pdb, '--omit', side({'A': [[[1], 'A', 'C']]}))
    refused(['a list of [[positions]'], pdb, '--omit', side({'A': {'x': 1}}))
    refused(['list of as many weights'], pdb, '--tied', side([{'A': [[1, 2], [0.5]]}]))
    refused(['list of as many weights'], pdb, '--tied', side([{'A': [[1], [0.5], [1]]}]))
    refused(['a list of positions'], pdb, '--tied', side([{'A': 5}]))
    refused(['11 rows, expected 12'], pdb, '--bias-residue', side({'A': rows[1:]}))
    refused(['pssm_coef'], pdb, '--pssm', side({'A': {'pssm_bias': rows}}))
    refused(['3 lists, expected 2'], pdb, '--chains-file', side([['A'], [], []]))
    refused(['in the list to design and in that to keep'], pdb, '--chains-file',
            side([['A'], ['A']]))
    refused(['is in two groups'], pdb, '--tied', side([{'A': [1, 2]}, {'A': [2, 3]}]))
    with open(os.path.join(tmp, 'text.jsonl'), 'w') as f:
        f.write('[1]\n')
    refused(['expected an object on each line'], pdb, '--fixed', os.path.join(tmp, 'text.jsonl'),
            code=65)
    with open(os.path.join(tmp, 'text.jsonl'), 'w') as f:
        f.write('{"plain": {"A": [1]}}\r\n{\r\n"plain": {"A": [1]}}\r\n')
    refused(['(in line 2: expected an object on each line)'], pdb, '--fixed',
            os.path.join(tmp, 'text.jsonl'), code=65)
    name = side({'A': [1]})
    refused(['no entry of this name'], path('made/imgt.pdb'), '--fixed', name)
    # a chain that is there and left out of the run is no error
    run(path('3HTN.pdb'), '--score-only', '--max-length', '20', '-q', code=1)
    with open(name, 'w') as f:
        f.write('{"4GYT": [["A"], []]}\r{"4GYT": [["A"], []]}\r')  # lines end so, too
    with open(os.path.join(tmp, 'fixed.jsonl'), 'w') as f:
        f.write('{"4GYT": {"A": [1], "B": [1]}}\n')
    p = run(path('4GYT.pdb'), '--chains-file', name, '--fixed', os.path.join(tmp, 'fixed.jsonl'),
            '-q')
    first = [s[0] for s in p.stdout.split('\n')[1::2]]
    check(len(first) == 2 and first[0] == first[1], 'fixed beside a chain left out: %s' % first)


def letters(tmp):
    """No amino acid left: an error, not a design of all of them."""
    pdb = path('made/plain.pdb')
    for omit in (LETTERS, LETTERS[:-1], LETTERS[::-1]):
        refused(['none is left'], pdb, '--omit-aa', omit, code=64)
    name = os.path.join(tmp, 'omit.jsonl')
    with open(name, 'w') as f:
        f.write('{"plain": {"A": [[[3, 4], "ACDEFGHIKLMNPQRSTV"]]}}\n')
    refused(['chain A: position 3: no amino acid is left'], pdb, '--omit', name, '--omit-aa', 'WYX')
    got = run(pdb, '--omit', name, '--omit-aa', 'YX', '-q').stdout.split('\n')[3]
    check(got[2:4] == 'WW' and 'Y' not in got, 'the one that is left: ' + got)
    with open(name, 'w') as f:  # a position that is not designed
        f.write('{"plain": {"A": [[[3], "%s"]]}}\n' % LETTERS)
    with open(os.path.join(tmp, 'fixed.jsonl'), 'w') as f:
        f.write('{"plain": {"A": [3]}}\n')
    run(pdb, '--omit', name, '--fixed', os.path.join(tmp, 'fixed.jsonl'), '-q')


    # nothing is drawn, so there is nothing to omit; that is said
    want = run(pdb, '--score-only', '-q').stdout
    p = run(pdb, '--score-only', '--omit', name, '--omit-aa', LETTERS, '--temperature', '1')
    check(p.stdout == want, 'scores and omitted letters: %s, expected %s' % (p.stdout, want))
    check('no letters are drawn: --temperature, --omit-aa, --omit changes nothing' in p.stderr,
          'not said: ' + p.stderr)
    for mode in '--conditional', '--unconditional':
        out = os.path.join(tmp, 'out.npz')
        run(pdb, mode, '--omit-aa', LETTERS, '--omit', name, '-q', '-o', out)
        got = t.arrays(out)
        run(pdb, mode, '-q', '-o', out)
        check(got == t.arrays(out), mode + ' and omitted letters')


def groups(tmp):
    """Tied positions get one letter: omitted is what is omitted at any of them, and what else is
    asked of them alone is named."""
    def side(value):
        with open(name, 'w') as f:
            f.write(json.dumps({'4GYT': value}) + '\n')
        return name

    name, ties = os.path.join(tmp, 'side.jsonl'), os.path.join(tmp, 'ties.jsonl')
    pdb, some, none = path('4GYT.pdb'), list(range(1, 41)), [[0.0] * 21] * 177
    with open(ties, 'w') as f:
        f.write(json.dumps({'4GYT': [{c: [i] for c in pair} for pair, i in
                                     [('AB', i) for i in some] + [('BA', 50)]]}) + '\n')
    for chain, tied in ('A', 'homooligomer'), ('B', 'homooligomer'), ('A', ties), ('B', ties):
        p = run(pdb, '--tied', tied, '--omit', side({chain: [[some + [50], 'ACDEFGHIKLMN'],
                                                             [[2], 'PQRSTV']]}))
        a, b = p.stdout.split('\n')[3].split('/')
        bad = [i for i in some + [50] if a[i - 1] != b[i - 1] or a[i - 1] not in 'PQRSTVWY']
        check(not bad and a[1] in 'WY', 'omitted in %s, %s: %s, %s' % (chain, tied, bad, a))
        check('tied' not in p.stderr, 'nothing to say: ' + p.stderr)
    refused(['position 7: no amino acid is left'], pdb, '--tied', 'homooligomer', '--omit',
            side({'A': [[[7], 'ACDEFGHIKL']], 'B': [[[7], 'MNPQRSTVWY']]}))
    said = '4GYT: 1 of 177 groups of tied positions (the first: chain A, position 3) have '
    p = run(pdb, '--tied', 'homooligomer', '--fixed', side({'A': [3]}))
    check(said + 'positions that are fixed, or not of a designed chain, beside others' in p.stderr,
          'fixed: ' + p.stderr)
    p = run(pdb, '--tied', 'homooligomer', '--fixed', side({'A': [3], 'B': [3]}))
    check('tied' not in p.stderr, 'fixed in both: ' + p.stderr)
    p = run(pdb, '--tied', 'homooligomer', '--bias-residue',
            side({'A': none[:2] + [[1.0] * 21] + none[3:], 'B': none}))
    check(said + 'positions of different bias or PSSM' in p.stderr, 'bias: ' + p.stderr)
    with open(pdb) as f, open(os.path.join(tmp, '4GYT.pdb'), 'w') as g:
        lines = [line for line in f if line[12:16] != ' CA ' or line[21:26] != 'B   9']
        g.writelines(lines)
    p = run(os.path.join(tmp, '4GYT.pdb'), '--tied', 'homooligomer')
    check('residues with and without their atoms' in p.stderr, 'atoms: ' + p.stderr)


def orders():
    """ProteinMPNN's order is kept, and said; --residue-order file is that of the molecule."""
    plain = run(path('made/plain.pdb'), '--score-only', '-q').stdout.split('\n')
    p = run(path('made/imgt.pdb'), '--score-only')
    check('sorted by number' in p.stderr and 'first H112C' in p.stderr and
          "in the file's order 11" in p.stderr, 'order: ' + p.stderr)
    check(p.stdout.split('\n')[1] == 'GWSTKELEHREE', 'sorted: ' + p.stdout)
    p = run(path('made/imgt.pdb'), '--score-only', '--residue-order', 'file')
    check('sorted' not in p.stderr, 'order of the file: ' + p.stderr)
    got = p.stdout.split('\n')
    check(got[1] == plain[1] and got[0].split(', ')[3] == plain[0].split(', ')[3],
          '%s, expected %s' % (got, plain))


def blocks(tmp):
    """The first data block of an mmCIF file counts, and that is said; models too."""
    head = ('data_a\nloop_\n' + ''.join('_atom_site.%s\n' % n for n in (
        'group_PDB', 'label_atom_id', 'label_comp_id', 'label_asym_id', 'label_seq_id', 'Cartn_x',
        'Cartn_y', 'Cartn_z', 'pdbx_PDB_model_num')))
    atoms = []
    with open(path('made/plain.pdb')) as f:
        for line in f:
            atoms.append(['ATOM', line[12:16].strip(), line[17:20], 'A', line[22:26].strip(),
                          *line[30:54].split()])
    name = os.path.join(tmp, 'blocks.cif')
    with open(name, 'w') as f:
        f.write(head + ''.join(' '.join([*a, m]) + '\n' for m in '12' for a in atoms) +
                'data_b\n_entry.id b\n')
    p = run(name, '--score-only')
    check('a further data block is not read' in p.stderr, 'blocks: ' + p.stderr)
    check('2 models: all are read as one' in p.stderr, 'models: ' + p.stderr)
    plain = run(path('made/plain.pdb'), '--score-only', '-q').stdout.split('\n')
    check(p.stdout.split('\n')[1] == plain[1], 'mmCIF: ' + p.stdout)


def chains():
    """--all-chains: the context too, behind what is designed."""
    three = path('3HTN.pdb')
    native = dict(zip('ABC', run(three, '--score-only', '-q').stdout.split('\n')[1].split('/')))
    some = run(three, '--chains', 'B', '-q').stdout.split('\n')
    every = run(three, '--chains', 'B', '--all-chains', '-q').stdout.split('\n')
    check(some[1] == native['B'] and every[0] == some[0] and every[2] == some[2], 'headers differ')
    check(every[1] == '/'.join(native[c] for c in 'BAC'), 'native: ' + every[1])
    check(every[3] == '/'.join([some[3], native['A'], native['C']]), 'design: ' + every[3])


def main():
    with tempfile.TemporaryDirectory() as tmp:
        side_files(tmp)
        letters(tmp)
        groups(tmp)
        orders()
        blocks(tmp)
        chains()
    print('%d checks, %d failed' % (t.checks, t.failures))
    return 1 if t.failures else 0


if __name__ == '__main__':
    sys.exit(main())
