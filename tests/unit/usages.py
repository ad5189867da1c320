#!/usr/bin/env python3
"""The usages that include/bioinfer.h shows, compiled as C11, C++17 and C++20 and run.

    usages.py ROOT LIBRARY COMMAND [COMPILER_FLAG...]

A usage is a comment that begins with "usage: TASK". Code before its dots stands outside of a
function, code behind them within one. It has at most 12 lines, and the program that it becomes
prints what is known otherwise: golden values, or what the command gives.
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT, LIBRARY, COMMAND = sys.argv[1:4] if len(sys.argv) > 3 else (None, None, None)
MOST_LINES = 12
LANGUAGES = (('cc', 'c', 'c11'), ('c++', 'cpp', 'c++17'), ('c++', 'cpp', 'c++20'))

HEAD = '''#include <bioinfer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bioinfer_context *ctx;
static bioinfer_model *model;
static bioinfer_reader *reader;
static bioinfer_task *task;
static bioinfer_frames *frames;
static struct bioinfer_error err;
static const char *structure, *poses, *chains, *weights;
static char bases[1 << 20];
static size_t n_bases;
static int st;
'''

MAIN = '''
/* arguments: task, weights ("-" = none), input, of poses also the ligands */
int main(int argc, char **argv)
{
    struct bioinfer_model_params params = BIOINFER_PARAMS(struct bioinfer_model_params);
    struct bioinfer_record record;
    const char *name = argv[1];

    if (argc < 4)
        return 2;
    poses = argv[argc - 1];
    weights = argv[2];
    params.device = "cpu";
    params.positions = name[0] == 't' ? "formula-pt" : NULL;
    structure = chains = argv[3];
    if ((st = bioinfer_context_new(&ctx, NULL, &err)) ||
        (argv[2][0] != '-' && strcmp(name, "dock") &&
         (st = bioinfer_model_open(&model, ctx, argv[2], &params, &err))))
        goto out;
    if (!strcmp(name, "embed") || name[0] == 'p' || name[0] == 't')
        st = bioinfer_reader_open(&reader, ctx, argv[3], NULL, &err);
    if (!st && name[0] == 't' && bioinfer_reader_next(reader, &record, &err) == 1)
        for (; n_bases < record.length && n_bases < sizeof bases; n_bases++)
            bases[n_bases] = record.sequence[n_bases];
    if (st)
        goto out;
    %sout:
    if (st)
        fprintf(stderr, "%%s: %%s: %%s\\n", name, bioinfer_status_name(st), err.text);
    bioinfer_reader_close(&reader);
    bioinfer_model_close(&model);
    bioinfer_context_free(&ctx);
    return st != 0;
}
'''


def usages():
    """{task: (code outside of a function, code within one)}"""
    with open(os.path.join(ROOT, 'include', 'bioinfer.h'), encoding='utf-8') as file:
        text = file.read()
    found = {}
    for task, body in re.findall(r'^/\* usage: (\w+)\n(.*?) \*/$', text, re.S | re.M):
        lines = [re.sub(r'^ \*(?:     )?', '', line) for line in body.splitlines()]
        assert lines.count('...') == 1, '%s: no line of dots' % task
        n_lines = len(lines) - 1
        assert n_lines <= MOST_LINES, '%s: %d lines, at most %d' % (task, n_lines, MOST_LINES)
        dots = lines.index('...')
        assert task not in found, '%s: there are two' % task
        found[task] = '\n'.join(lines[:dots]), '\n'.join(lines[dots + 1:])
    checks = {name[6:] for name in globals() if name.startswith('check_')}
    assert set(found) == checks, 'usages of %s, checks of %s' % (sorted(found), sorted(checks))
    return found


def program():
    """One program of all usages: its first argument picks one."""
    text, calls = HEAD, ''
    for task, (outside, within) in usages().items():
        text += '\n#define take take_%s\n%s\n\n' % (task, outside)
        text += 'static void run_%s(void)\n{\n%s\n}\n#undef take\n' % (task, within)
        calls += 'if (!strcmp(name, "%s"))\n        run_%s();\n    ' % (task, task)
    return text + MAIN % calls


def run(*args):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert not done.returncode, '%s: exit %d\n%s' % (' '.join(args), done.returncode, done.stderr)
    return done.stdout


def build(folder, compiler, suffix, standard, flags):
    source = os.path.join(folder, 'usages.' + suffix)
    out = os.path.join(folder, 'usages_' + standard.replace('+', 'p'))
    with open(source, 'w', encoding='utf-8') as file:
        file.write(program())
    run(compiler, '-std=' + standard, '-Wall', '-Wextra', '-Werror', '-Wno-unused-parameter',
        '-Wno-missing-field-initializers', *flags, '-I', os.path.join(ROOT, 'include'), source,
        '-o', out, LIBRARY, '-Wl,-rpath,' + os.path.dirname(LIBRARY))
    return out


def float_of(path, index):
    """A value of an array of float32 in a .npy file."""
    with open(path, 'rb') as file:
        data = file.read()
    assert b"'descr': '<f4'" in data[:128], path
    return struct.unpack_from('<f', data, 10 + struct.unpack_from('<H', data, 8)[0] + 4 * index)[0]


def near(what, got, expected):
    assert abs(float(got) - expected) < 1e-3 * abs(expected) + 1e-4, \
        '%s: %s, expected %.6g' % (what, got, expected)


TINY = os.path.join(ROOT or '', 'share', 'bioinfer-tiny')
FASTA = os.path.join(TINY, 'golden', 'sequences.fasta')
ENFORMER = os.path.join(ROOT or '', 'tests', 'golden', 'enformer', 'half')
MPNN = os.path.join(ROOT or '', 'share', 'proteinmpnn', 'proteinmpnn_v_48_020.mpnn')
PDB = os.path.join(ROOT or '', 'tests', 'golden', 'proteinmpnn', '5L33.pdb')
INPUTS = {'params': (TINY, FASTA), 'embed': (TINY, FASTA), 'score': (TINY, '-'),
          'tracks': (ENFORMER, os.path.join(ENFORMER, 'window.fa')), 'design': (MPNN, PDB),
          'align': ('-', '-')}
FLASHABB = os.path.join(ROOT or '', 'share', 'flashabb', 'flashabb.safetensors')
FV = ('EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSL'
      'RAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS:DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASF'
      'LYSGVPSRFSGSRSGTDFTLTISSLQPEDFATYYCQQHYTTPPTFGQGTKVEIK')
INPUTS['fold'] = FLASHABB, FV
DUALBIND = os.path.join(ROOT or '', 'tests', 'golden', 'dualbind')


WATER = '3\nwater\nO 0 0 0.119\nH 0 0.763 -0.477\nH 0 -0.763 -0.477\n'


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)
    return path


def check_embed(said, folder):
    rows = run(COMMAND, 'embed', FASTA, '--weights', TINY, '--device', 'cpu', '--format', 'tsv')
    rows = [line.split('\t') for line in rows.splitlines()]
    lines = said.splitlines()
    assert len(lines) == len(rows) - 1 > 2, said
    for line, row in zip(lines, rows[1:]):
        assert line.split()[0] == row[0], (line, row[0])
        near('embed ' + row[0], line.split()[1], float(row[rows[0].index('d0')]))


check_params = check_embed


def check_score(said, folder):
    wild_type = write(os.path.join(folder, 'wild.fa'), '>wild\nMKTAYIAKQRQISFVKSHFSRQ\n')
    table = write(os.path.join(folder, 'mutants.csv'), 'mutant\nK2G:T3W\n')
    out = run(COMMAND, 'score', wild_type, '--weights', TINY, '--device', 'cpu', '--mutations',
              table, '--method', 'masked-marginals')
    near('score', said.split()[-1], float(re.split(r'[,\t]', out.splitlines()[-1])[-1]))


def check_tracks(said, folder):
    near('tracks', said.split()[1], float_of(os.path.join(ENFORMER, 'human.npy'), 1))


def check_design(said, folder):
    assert said.count('>') == 2, said
    assert said == run(COMMAND, 'proteinmpnn', PDB, '--weights', MPNN, '--device', 'cpu'), said


def check_align(said, folder):
    files = [write(os.path.join(folder, name), '>%s\n%s\n' % (name, letters))
             for name, letters in (('a', 'HEAGAWGHEE'), ('b', 'PAWHEAE'))]
    rows = run(COMMAND, 'align', *files, '--matrix', 'BLOSUM62').splitlines()
    score = rows[1].split('\t')[rows[0].lstrip('#').split('\t').index('score')]
    assert said == 'pair %s\n' % score, (said, rows)


def check_affinity(said, folder):
    weights, *files = INPUTS['affinity']
    rows = run(COMMAND, 'dualbind', *files, '--weights', weights, '--device', 'cpu').splitlines()
    assert len(said.splitlines()) == len(rows) - 1 > 2, said
    for line, row in zip(said.splitlines(), rows[1:]):
        assert line.split()[0] == row.split('\t')[0], (line, row)
        near('affinity ' + line, line.split()[1], float(row.split('\t')[2]))


def check_rescore(said, folder):
    rows = run(COMMAND, 'rescore', *INPUTS['rescore'][1:]).splitlines()
    assert len(said.splitlines()) == len(rows) - 1 == 20, said
    for line, row in zip(said.splitlines(), rows[1:]):
        assert line.split()[0] == row.split('\t')[0], (line, row)
        near('rescore ' + line, line.split()[1], float(row.split('\t')[2]))


def check_dock(said, folder):
    weights, *files = INPUTS['dock']
    out = os.path.join(folder, 'docked')
    run(COMMAND, 'dock', *files, '--weights', weights, '--samples', '2', '-o', out)
    with open(os.path.join(out, 'scores.tsv'), encoding='utf-8') as file:
        row = file.read().splitlines()[1].split('\t')
    assert said.split()[0] == row[0] and len(said.splitlines()) == 1, said
    assert abs(float(said.split()[1]) - float(row[3])) < 0.006, (said, row)


def check_energy(said, folder):
    """MatGL gives these numbers in float64, with the same weights by a formula."""
    energy, largest = said.split()
    near('energy', energy, -11.546524)
    near('largest force', largest, 2.002466)


def check_relax(said, folder):
    weights, frames = INPUTS['relax']
    out = os.path.join(folder, 'relaxed.extxyz')
    run(COMMAND, 'relax', frames, '--weights', weights, '--device', 'cpu', '-o', out)
    with open(out, encoding='utf-8') as file:
        assert said == file.read(), said


def check_fold(said, folder):
    """The published program gives this mean pLDDT of trastuzumab."""
    assert said.split()[0] == 'fv' and abs(float(said.split()[1]) - 0.9451) < 2e-3, said


def main():
    if not COMMAND:
        sys.exit(__doc__)
    sys.path.insert(0, os.path.join(ROOT, 'tools'))
    sys.dont_write_bytecode = True
    import diffdock_weights
    import dualbind_weights
    import tensornet_weights
    with tempfile.TemporaryDirectory() as folder:
        first = {}
        weights = os.path.join(folder, 'dualbind.safetensors')
        dualbind_weights.write(weights, 64)
        INPUTS['affinity'] = (weights, os.path.join(DUALBIND, '6w70.pdb.gz'),
                              os.path.join(DUALBIND, 'poses.sdf'))
        rescored = os.path.join(ROOT, 'tests', 'golden', 'rescore', '6moa.')
        INPUTS['rescore'] = ('-', rescored + 'pdb.gz', rescored + 'sdf.gz')
        networks = os.path.join(folder, 'diffdock')
        diffdock_weights.write(networks)
        INPUTS['dock'] = (','.join(os.path.join(networks, name + '.safetensors')
                                   for name in ('score', 'confidence')), rescored + 'pdb.gz',
                          os.path.join(ROOT, 'tests', 'golden', 'dock', 'ligand.sdf'))
        tensornet_weights.write_matgl(os.path.join(folder, 'tensornet'))
        INPUTS['energy'] = (os.path.join(folder, 'tensornet'), '-')
        INPUTS['relax'] = (os.path.join(folder, 'tensornet'),
                           write(os.path.join(folder, 'water.xyz'), WATER))
        for compiler, suffix, standard in LANGUAGES:
            if not shutil.which(compiler):
                print('skipped: no %s' % compiler)
                sys.exit(77)
            out = build(folder, compiler, suffix, standard, sys.argv[4:])
            for task, inputs in INPUTS.items():
                said = run(out, task, *inputs)
                if task not in first:
                    globals()['check_' + task](said, folder)
                    first[task] = said
                assert said == first[task], '%s as %s: %s' % (task, standard, said)
    print('%d usages, each as C11, C++17 and C++20' % len(first))


if __name__ == '__main__':
    main()
