#!/usr/bin/env python3
"""Runs one example over small weights and compares what it prints.

    test.py ROOT NAME PROGRAM
"""
import os
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = sys.argv[1]
TINY = os.path.join(ROOT, 'share', 'bioinfer-tiny')
MPNN = os.path.join(ROOT, 'share', 'proteinmpnn', 'proteinmpnn_v_48_020.mpnn')
PDB = os.path.join(ROOT, 'tests', 'golden', 'proteinmpnn', '5L33.pdb')
WINDOWS = os.path.join(ROOT, 'tests', 'golden', 'enformer', 'half')


def write(path, text):
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def run(program, *args):
    done = subprocess.run([program, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True)
    return done.returncode, done.stdout, done.stderr


def align_search(program):
    rng = random.Random(4)
    words = [''.join(rng.choices('ARNDCQEGHILKMFPSTWYV', k=60)) for _ in range(40)]
    write('q.fa', ''.join(f'>q{k}\n{words[k][:50]}\n' for k in range(3)))
    write('db.fa', ''.join(f'>t{k}\n{word}\n' for k, word in enumerate(words)))
    code, out, err = run('sh', os.path.join(ROOT, 'examples', 'align_search.sh'), program, 'q.fa',
                         'db.fa')
    assert code == 0 and not out, (code, out, err)
    with open('hits.m8', encoding='utf-8') as file:
        rows = [line.split('\t') for line in file]
    first = {row[0]: row for row in reversed(rows)}
    assert sorted(first) == ['q0', 'q1', 'q2'] and len(rows) <= 15, rows
    for k in range(3):
        row = first[f'q{k}']
        assert row[1:4] == [f't{k}', '100.000', '50'] and float(row[10]) < 1e-20, row
    with open('found.phy', encoding='utf-8') as file:
        count, *lines = file.read().splitlines()
    assert int(count) == len(lines) == len({row[1] for row in rows}), (count, lines)
    assert all(len(line.split()) == 1 + len(lines) for line in lines), lines


def score_mutations(program):
    write('wild.fa', '>wild\nMKTAYIAKQRQISFVKSHFSRQ\n')
    code, out, err = run(program, TINY, 'wild.fa', 'K2G:T3W', 'K2G', 'K9L')
    rows = [line.split('\t') for line in out.splitlines()]
    assert code == 0 and [row[:2] for row in rows] == [
        ['wild', 'K2G:T3W'], ['wild', 'K2G'], ['wild', 'K9L']], (code, out, err)
    assert -20 < float(rows[0][2]) < float(rows[1][2]) < 5, out
    assert 'has Q at position 9' in rows[2][2], out
    assert run(program, TINY)[0] == 2


def track_regions(program):
    random.seed(1)
    letters = ''.join(random.choice('ACGT') for _ in range(6000))
    write('g.fa', '>chr1\n%s\n' % '\n'.join(letters[i:i + 60] for i in range(0, 6000, 60)))
    write('g.fa.fai', 'chr1\t6000\t6\t60\t61\n')
    write('r.bed', 'chr1\t1500\t1600\tone\nchr1\t4000\t4100\ttwo\nchr9\t1\t2\tnone\n')
    code, out, err = run(program, WINDOWS, '1', 'g.fa', 'r.bed', 'o.bw')
    rows = [line.split('\t') for line in out.splitlines()]
    assert code == 0 and [row[0] for row in rows] == ['one', 'two', 'none'], (code, out, err)
    for row, middle in zip(rows, (1550, 4050)):
        contig, start = row[1].split(':')
        assert contig == 'chr1' and middle - 2560 < int(start) < middle, row
        assert float(row[2]) > 1, row
    assert rows[0][2] != rows[1][2] and "no contig 'chr9'" in rows[2][1], out
    with open('o.bw', 'rb') as file:
        assert file.read(4) == b'\x26\xfc\x8f\x88'  # how a BigWig file begins
    code, out, err = run(program, WINDOWS, '99', 'g.fa', 'r.bed', 'p.bw')
    assert code == 1 and 'track' in err and not os.path.exists('p.bw'), (code, out, err)


def score_variants(program):
    random.seed(2)
    letters = ''.join(random.choice('ACGT') for _ in range(6000))
    write('g.fa', '>chr1\n%s\n' % '\n'.join(letters[i:i + 60] for i in range(0, 6000, 60)))
    write('g.fa.fai', 'chr1\t6000\t6\t60\t61\n')
    base, other = letters[2999], 'A' if letters[2999] != 'A' else 'C'
    write('v.vcf', '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n'
          'chr1\t3000\trs1\t%s\t%s\nchr1\t3000\tno\t%s\t%s\n' % (base, other, other, base))
    code, out, err = run(program, WINDOWS, 'g.fa', 'v.vcf')
    rows = [line.split('\t') for line in out.splitlines()]
    assert code == 0 and 'no: line 4: REF is %s' % other in err, (code, out, err)
    assert rows[0] == ['chrom', 'pos', 'id', 'ref', 'alt', 'track', 'SAD'], out
    for i, row in enumerate(rows[1:]):
        assert row[:6] == ['chr1', '3000', 'rs1', base, other, 'track_%d' % i], row
    assert len(rows) > 2 and any(float(row[6]) for row in rows[1:]), out
    code, out, err = run(program, WINDOWS, 'g.fa', 'v.vcf', 'none.gtf', 'center')
    assert code == 1 and 'scorers' in err, (code, out, err)


def design_sequences(program):
    code, out, err = run(program, MPNN, '2', PDB)
    lines = out.splitlines()
    assert code == 0 and len(lines) == 6, (code, out, err)
    native = lines[1]
    assert lines[0].startswith('>5L33') and native.startswith('HMPEEEKAARLFIEALEKGDPEL'), out
    for header, sequence in ((lines[2], lines[3]), (lines[4], lines[5])):
        recovered = sum(a == b for a, b in zip(sequence, native))
        assert len(sequence) == len(native) and sequence[0] == native[0], sequence
        assert 30 < recovered < 70 and 'seq_recovery=0.' in header, (recovered, header)
    assert lines[3] != lines[5]
    code, out, err = run(program, MPNN, '2', 'no.pdb')
    assert code == 1 and 'no.pdb' in err, (code, out, err)


def align_records(program):
    write('q.fa', '>one\nHEAGAWGHEE\n>two\nMKTAYIAKQR\n>bad\nMK?\n>four\nM\n')
    write('t.fa', '>a\nPAWHEAE\n>b\nMKTAYAKQR\n>c\nMKT\n')
    code, out, err = run(program, 'q.fa', 't.fa')
    rows = [line.split('\t') for line in out.splitlines()]
    assert code == 1 and [row[0] for row in rows] == ['one', 'two', 'bad'], (code, out, err)
    assert rows[1] == ['two', '34', '9', '5=1I4='], rows
    assert "'?'" in rows[2][1], rows
    for query, target, cigar in ((10, 7, rows[0][3]), (10, 9, rows[1][3])):
        runs = re.findall(r'(\d+)([ID=X])', cigar)
        assert sum(int(n) for n, op in runs if op != 'D') == query, cigar
        assert sum(int(n) for n, op in runs if op != 'I') == target, cigar


def serve_lines(program):
    """Answers come while the input is open, before a line that is only half there."""
    with subprocess.Popen([program, TINY], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, bufsize=1) as server:
        server.stdin.write('a MKTAYIAKQR\nb MKT')
        server.stdin.flush()
        first = server.stdout.readline()
        server.stdin.write('AYIAKQR\nc \n')
        server.stdin.flush()
        second, third = server.stdout.readline(), server.stdout.readline()
        time.sleep(0.1)
        server.stdin.write('d MMM\n')
        server.stdin.close()
        rest = server.stdout.read().splitlines()
        assert server.wait() == 0
    assert first.split()[0] == 'a' and len(first.split()) == 4, first
    assert second.split() == ['b'] + first.split()[1:], second
    assert third == "c error record 'c' has no residues\n", third
    assert len(rest) == 1 and rest[0].startswith('d ') and rest[0].split()[1:] != first.split()[1:]


def list_families(program):
    code, out, err = run(program)
    rows = [line.split('\t') for line in out.splitlines()]
    families = {row[1]: row[2] for row in rows if row[0] == 'family'}
    assert code == 0 and families['esm2'] == 'sequences of amino acids', (code, out, err)
    assert families['nt'] == 'sequences of bases' and families['borzoi'] == 'windows of DNA'
    assert families['saprot'] == 'sequences of amino acids and states of structure', families
    assert families['proteinmpnn'] == 'structures' and families['dualbind'] == 'ligands'
    assert families['tensornet'] == 'frames of atoms', families
    assert ['matrix', 'BLOSUM62'] in rows and 'facebook/esm2_t6_8M_UR50D' in out


def embed_job(program):
    random.seed(2)
    records = [''.join(random.choice('ACDEFGHIKLMNPQRSTVWY') for _ in range(5 + i % 40))
               for i in range(150)]
    write('in.fa', ''.join('>r%d\n%s\n' % pair for pair in enumerate(records)))
    code, out, err = run(program, TINY, 'in.fa', 'whole.npz')
    assert code == 0 and out.startswith('150 records, 0 without'), (code, out, err)
    for shard in ('1/2', '2/2'):
        assert run(program, TINY, 'in.fa', 'cut.npz', shard)[0] == 0
    assert os.path.exists('in.fa.bfi')
    assert run(program, 'merge', 'cut.npz')[0] == 0
    with open('whole.npz', 'rb') as a, open('cut.npz', 'rb') as b:
        assert a.read() == b.read()
    # a shard that waits for its merge goes on, is begun anew, or is forgotten
    assert run(program, TINY, 'in.fa', 'again.npz', '1/2')[0] == 0
    code, out, err = run(program, TINY, 'in.fa', 'again.npz', '1/2')
    assert code == 0 and not out.endswith(' 0 of an earlier run\n'), (code, out, err)
    # killed, and gone on with
    with subprocess.Popen([program, TINY, 'in.fa', 'killed.npz'], stdout=subprocess.PIPE) as job:
        while not os.path.exists('killed.npz.part/journal') and job.poll() is None:
            time.sleep(0.001)
        job.kill()
    assert run(program, TINY, 'in.fa', 'killed.npz')[0] == 0
    with open('whole.npz', 'rb') as a, open('killed.npz', 'rb') as b:
        assert a.read() == b.read()
    with subprocess.Popen([program, TINY, 'in.fa', 'ended.npz'], stdout=subprocess.PIPE) as job:
        while not os.path.exists('ended.npz.part/journal') and job.poll() is None:
            time.sleep(0.001)
        job.kill()
    assert run(program, TINY, 'in.fa', 'ended.npz', 'forget')[0] == 0
    assert not os.path.exists('ended.npz.part')
    write('twice.fa', '>a\nMKT\n>a\nMKV\n')
    code, out, err = run(program, TINY, 'twice.fa', 'twice.npz')
    assert code == 1 and "'a'" in err, (code, out, err)
    write('twice.fa', '>a\nMKT\n>b\nMKV\n')
    assert run(program, TINY, 'twice.fa', 'twice.npz', 'anew')[0] == 0
    assert run(program)[0] == 2


def rank_ligands(program):
    folder = os.path.join(ROOT, 'tests', 'golden', 'dualbind')
    sys.path.insert(0, os.path.join(ROOT, 'tools'))
    sys.dont_write_bytecode = True
    import dualbind_weights
    dualbind_weights.write('w.safetensors', 16)
    code, out, err = run(program, 'w.safetensors', os.path.join(folder, '6w70.pdb.gz'),
                         os.path.join(folder, 'poses.sdf'))
    rows = [line.split('\t') for line in out.splitlines()]
    assert code == 0 and len(rows) > 3, (code, out, err)
    assert [float(row[0]) for row in rows] == sorted(float(row[0]) for row in rows), rows
    assert all(int(row[1]) > 0 for row in rows) and 'trained on' in err, (rows, err)
    code, out, err = run(program, 'w.safetensors', 'no.pdb', 'no.sdf')
    assert code == 1 and 'no.pdb' in err, (code, out, err)


def fold_antibodies(program):
    weights = os.path.join(ROOT, 'share', 'flashabb', 'flashabb.safetensors')
    with open(os.path.join(ROOT, 'tests', 'golden', 'flashabb', 'trastuzumab.txt')) as file:
        heavy, light = file.readline().split()
    write('in.fasta', '>trastuzumab\n%s:\n%s\n>alone\n%s\n' % (heavy, light, heavy))
    code, out, err = run(program, weights, 'in.fasta')
    assert code == 0 and out == 'trastuzumab\t0.945\tH103\n', (code, out, err)
    assert err.startswith('alone: ') and '1 chain' in err, err
    with open('trastuzumab.pdb', encoding='ascii') as file:
        atoms = [line for line in file if line.startswith('ATOM')]
    assert len(atoms) == 1751 and {line[21] for line in atoms} == {'H', 'L'}, len(atoms)
    code, out, err = run(program, weights, 'no.fasta')
    assert code == 1 and 'no.fasta' in err, (code, out, err)


def move_atoms(program):
    sys.path.insert(0, os.path.join(ROOT, 'tools'))
    sys.dont_write_bytecode = True
    import tensornet_weights
    tensornet_weights.write_matgl('model')
    write('in.xyz', '3\nwater\nO 0 0 0.119\nH 0 0.763 -0.477\nH 0 -0.763 -0.477\n')
    code, out, err = run(program, 'model', 'in.xyz', 'r.extxyz', 'whole.extxyz', '60')
    steps = [line for line in out.splitlines() if '\tlargest force ' in line]
    assert code == 0 and steps and 'eV, largest force 0.0' in out, (code, out, err)
    assert out.splitlines()[-1].startswith('60\t30.0 fs'), out
    assert run(program, 'model', 'in.xyz', 'r2.extxyz', 'parts.extxyz', '30')[0] == 0
    assert run(program, 'model', 'in.xyz', 'r2.extxyz', 'parts.extxyz', '60')[0] == 0
    with open('whole.extxyz') as a, open('parts.extxyz') as b:
        assert a.read() == b.read()
    write('gold.xyz', '1\ngold\nAu 0 0 0\n')
    code, out, err = run(program, 'model', 'gold.xyz', 'g.extxyz', 'g2.extxyz', '10')
    assert code == 1 and 'Au' in out, (code, out, err)


def main():
    name, program = sys.argv[2], os.path.abspath(sys.argv[3])
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        globals()[name](program)
        os.chdir('/')


if __name__ == '__main__':
    main()
