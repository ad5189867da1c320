#!/usr/bin/env python3
"""bench/dualbind.py --bioinfer EXE - energies of ligands beside a statement in PyTorch.

The statement is written from the formulas of the specification: tokens of a batch are padded to the
longest, messages go by index_add, attention is scaled_dot_product_attention, and the eight frames
are eight entries of a batch. Chemistry is RDKit's. Weights follow a formula; the ligands are copies
of tests/golden/dualbind/poses.sdf, each moved a little. Needs numpy and torch, and RDKit where
there is one; without it the features are those that `bioinfer molecule info` says, and the time
with features is not measured.

One run prints, for complexes of 6W70:
  - the process: bioinfer from its start to its end, SDF to TSV;
  - the library: the same ligands where a model is open already, from the text of SDF to energies;
  - the start and end of a process, which is the difference, and `bioinfer devices` beside it, which
    is the start of the driver and little else;
  - the sum over kernels, where --profile has it;
  - PyTorch with features, and without them; ratios; and the largest difference of an energy.
--profile also prints how long ops take.

    python bench/dualbind.py --bioinfer build/cli/bioinfer --device cuda:0 --n 800 --repeat 3
"""
import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
sys.path.insert(0, os.path.join(ROOT, 'tools'))
sys.dont_write_bytecode = True


def arguments():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--bioinfer', required=True)
    p.add_argument('--device', default='cpu', help='cpu (default), cuda:0')
    p.add_argument('--precision', default=None, help='of bioinfer: fp32, fp16')
    p.add_argument('--n', type=int, default=64, help='ligands (default: 64)')
    p.add_argument('--batch', type=int, default=0, help='of PyTorch (default: 4, on a GPU 96)')
    p.add_argument('--threads', type=int, default=2, help='on the CPU (default: 2)')
    p.add_argument('--repeat', type=int, default=2, help='the fastest of so many runs')
    p.add_argument('--skip-torch', action='store_true')
    p.add_argument('--screen', type=int, default=0,
                   help='also read so many ligands from a pipe and print the peak memory')
    return p.parse_args()


def screen(o, receptor, ligands, weights, out):
    """Seconds and peak MiB of a process that reads o.screen ligands from a pipe: those of the file
    again and again."""
    with open(ligands, 'rb') as f:
        text = f.read()
    command = [o.bioinfer, 'dualbind', receptor, '-', '--weights', weights, '--device', o.device,
               '--threads', str(o.threads), '--quiet', '-o', out]
    start = time.monotonic()
    with subprocess.Popen(command, stdin=subprocess.PIPE) as p:
        for _ in range(o.screen // o.n):
            p.stdin.write(text)
        p.stdin.close()
        _, status, usage = os.wait4(p.pid, 0)
        p.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - start
    with open(out, 'rb') as f:
        rows = sum(b'\tok\t' in line for line in f)
    if p.returncode or rows != o.screen // o.n * o.n:
        sys.exit('screen: status %d, %d energies, expected %d' % (p.returncode, rows, o.screen))
    return seconds, usage.ru_maxrss / 1024


def make_ligands(path, n):
    """Copies of the poses, each 0.01 angstrom further along x."""
    with open(os.path.join(ROOT, 'tests', 'golden', 'dualbind', 'poses.sdf')) as f:
        poses = [p for p in f.read().split('$$$$\n') if p.strip()]
    with open(path, 'w') as f:
        for i in range(n):
            lines = poses[i % len(poses)].splitlines()
            lines[0] = 'ligand%d' % i
            for k in range(4, 4 + int(lines[3][:3])):
                lines[k] = '%10.4f' % (float(lines[k][:10]) + i % 100 * 0.01) + lines[k][10:]
            f.write('\n'.join(lines) + '\n$$$$\n')


def ours(o, receptor, ligands, weights, out):
    """Seconds of the fastest process; the fewest that a run tells without start-up, and those of
    its kernels; energies."""
    command = [o.bioinfer, 'dualbind', receptor, ligands, '--weights', weights, '--device',
               o.device, '--threads', str(o.threads), '-o', out]
    if o.precision:
        command += ['--precision', o.precision]
    process = inside = kernels = math.inf
    for _ in range(o.repeat):
        start = time.monotonic()
        subprocess.run(command, check=True, capture_output=True)
        process = min(process, time.monotonic() - start)
        p = subprocess.run(command + ['--profile'], check=True, capture_output=True, text=True)
        inside = min(inside, float(re.search(r'batches, ([\d.]+) s', p.stderr).group(1)))
        ops = re.findall(r'^\w+ +\d+ +([\d.]+)(?: +[\d.]+){3}$', p.stderr, re.M)
        kernels = min(kernels, sum(map(float, ops)) / 1000)
    print(p.stderr)
    with open(out) as f:
        return (process, inside, kernels,
                [float(line.split('\t')[2]) for line in f.readlines()[1:]])


def start_of_driver(o):
    """Seconds of the fastest `bioinfer devices`."""
    best = math.inf
    for _ in range(o.repeat):
        start = time.monotonic()
        subprocess.run([o.bioinfer, 'devices'], check=True, capture_output=True)
        best = min(best, time.monotonic() - start)
    return best


# ---- features without RDKit ----

HYBRIDS, STEREO = ('sp', 'sp2', 'sp3', 'sp3d', 'sp3d2'), {'?': 1, 'Z': 2, 'E': 3}
MASSES = {'H': (1, 1.008), 'C': (6, 12.011), 'N': (7, 14.007), 'O': (8, 15.999),
          'F': (9, 18.998), 'P': (15, 30.974), 'S': (16, 32.067), 'Cl': (17, 35.453),
          'Br': (35, 79.904), 'I': (53, 126.904)}  # number, RDKit's weight


def atom_row(word, degree):
    """The features of an atom as `bioinfer molecule info --atoms` prints it."""
    import golden_dualbind as g
    symbol, charge, hydrogens, _, _, hybrid, flags = word.split(':')
    number, mass = MASSES[symbol]
    turn = {0: 0, 1: 2, 2: 1}[flags.count('@')]  # '@' is counterclockwise
    return (g.one_hot(number - 1, list(range(100))) +
            g.one_hot(degree + int(hydrogens), [0, 1, 2, 3, 4, 5]) +
            g.one_hot(int(charge), [-1, -2, 1, 2, 0]) + g.one_hot(turn, [0, 1, 2, 3]) +
            g.one_hot(int(hydrogens), [0, 1, 2, 3, 4]) + g.one_hot(hybrid, list(HYBRIDS)) +
            [float('a' in flags), mass * 0.01])


def bond_row(word):
    """(two atoms from 0, features) of a bond."""
    import golden_dualbind as g
    ends, order, flags = word.split(':')
    a, b = (int(n) - 1 for n in ends.split('-'))
    stereo = next((code for flag, code in STEREO.items() if flag in flags), 0)
    order = 4 if 'a' in flags else int(order)
    return (a, b), ([0.0] + [float(order == k) for k in (1, 2, 3, 4)] +
                    [float('c' in flags), float('r' in flags)] +
                    g.one_hot(stereo, list(range(6))))


class Perceived:
    """A molecule as bioinfer perceives it, for Statement.features()."""

    def __init__(self, row, text):
        atoms = row['atom_list'].split()
        self.bonds = [bond_row(word) for word in row['bond_list'].split()]
        degree = [0] * len(atoms)
        for ends, _ in self.bonds:
            for end in ends:
                degree[end] += 1
        self.atoms = [atom_row(word, n) for word, n in zip(atoms, degree)]
        lines = text.splitlines()
        self.x = [[float(line[k:k + 10]) for k in (0, 10, 20)]
                  for line in lines[4:4 + int(lines[3][:3])] if line[31:33] != 'H ']


class FromRDKit:
    def __init__(self, mol):
        import golden_dualbind as g
        self.x = mol.GetConformer().GetPositions()
        self.atoms = [g.atom_features(a) for a in mol.GetAtoms()]
        self.bonds = [((b.GetBeginAtomIdx(), b.GetEndAtomIdx()), g.bond_features(b))
                      for b in mol.GetBonds()]


def perceived(o, ligands):
    p = subprocess.run([o.bioinfer, 'molecule', 'info', '--atoms', ligands], check=True,
                       capture_output=True, text=True)
    lines = [line.split('\t') for line in p.stdout.splitlines()]
    with open(ligands) as f:
        texts = f.read().split('$$$$\n')
    return [Perceived(dict(zip(lines[0], line)), text) for line, text in zip(lines[1:], texts)]


class Statement:
    def __init__(self, device):
        import dualbind_weights
        import torch
        self.torch, self.device = torch, device
        self.w = {name: torch.tensor(values, dtype=torch.float32).reshape(shape).to(device)
                  for name, (shape, values) in dualbind_weights.weights(256).items()}

    @staticmethod
    def features(mol, protein):
        """Everything of a complex that is made on the host."""
        import golden_dualbind as g
        import numpy as np
        x = np.array(mol.x, np.float32)
        xp, residue, kind, _ = g.pocket(protein, x.mean(0))
        f = np.array(mol.atoms, np.float32)
        source, target, rows = [], [], []
        for (i, j), row in mol.bonds:
            for s, t in ((i, j), (j, i)):
                source.append(s)
                target.append(t)
                rows.append(np.concatenate([f[s], np.array(row, np.float32)]))
        return x, xp.astype(np.float32), residue, kind, f, source, target, np.array(rows)

    def linear(self, x, name):
        return self.torch.nn.functional.linear(x, self.w[name + '.weight'],
                                               self.w.get(name + '.bias'))

    def embed(self, batch):
        """Embeddings of the atoms of all ligands, one behind the other."""
        torch = self.torch
        first = [0]
        for c in batch:
            first.append(first[-1] + len(c[4]))
        to = dict(device=self.device)
        f = torch.cat([torch.from_numpy(c[4]) for c in batch]).to(self.device)
        rows = torch.cat([torch.from_numpy(c[7]) for c in batch]).to(self.device)
        source = torch.tensor([s + a for c, a in zip(batch, first) for s in c[5]], **to)
        target = torch.tensor([t + a for c, a in zip(batch, first) for t in c[6]], **to)
        reverse = torch.arange(len(source), **to) ^ 1

        def into(m):
            return torch.zeros(first[-1], m.shape[1], **to).index_add_(0, target, m)
        start = self.linear(rows, 'mpn.W_i')
        m = start.relu()
        for _ in range(2):
            m = (start + self.linear(into(m)[source] - m[reverse], 'mpn.W_h')).relu()
        return self.linear(torch.cat([f, into(m)], 1), 'mpn.W_o').relu(), first

    def energies(self, batch):
        torch, w = self.torch, self.w
        d, n = 256, len(batch)
        longest = max(len(c[0]) + len(c[1]) for c in batch)
        to = dict(device=self.device)
        s, first = self.embed(batch)
        s = self.linear(s, 'encoder.W_bind')
        tokens = torch.zeros(n, longest, 2 * d, **to)
        x, is_ligand = torch.zeros(n, longest, 3), torch.zeros(n, longest, dtype=torch.bool)
        is_pocket = torch.zeros(n, longest, dtype=torch.bool)
        for i, c in enumerate(batch):
            a, p = len(c[0]), len(c[1])
            x[i, :a], x[i, a:a + p] = torch.from_numpy(c[0]), torch.from_numpy(c[1])
            is_ligand[i, :a] = is_pocket[i, a:a + p] = True
            tokens[i, :a, :d] = s[first[i]:first[i + 1]]
            tokens[i, :a, d:] = w['encoder.A_bind.weight'][1]
            tokens[i, a:a + p, :d] = w['encoder.W_tgt.weight'].T[c[2]] + w['encoder.W_tgt.bias']
            tokens[i, a:a + p, d:] = w['encoder.A_tgt.weight'][c[3]]
        x, is_ligand, is_pocket = (v.to(self.device) for v in (x, is_ligand, is_pocket))
        valid = is_ligand | is_pocket
        y = (x - (x * valid[..., None]).sum(1, True) / valid.sum(1)[:, None, None]) * \
            valid[..., None]
        y = y @ torch.linalg.eigh(y.transpose(1, 2) @ y)[1]
        signs = torch.tensor([[-1. if f >> k & 1 else 1. for k in range(3)] for f in range(8)],
                             **to)
        y = (y[:, None] * signs[None, :, None]).flatten(0, 1)
        h = self.linear(torch.cat([y, tokens.repeat_interleave(8, 0)], 2), 'encoder.linear')
        h = self.layer(h, valid.repeat_interleave(8, 0)).unflatten(0, (n, 8)).mean(1)
        silu = torch.nn.functional.silu
        u = self.linear(silu(self.linear(h, 'binder_output.0')), 'binder_output.2')
        v = silu(self.linear(h, 'target_output.0'))
        near = (torch.cdist(x, x) < 10) & is_ligand[:, :, None] & is_pocket[:, None]
        return ((u @ v.transpose(1, 2)) * near).sum((1, 2)).tolist()

    def layer(self, h, valid):
        torch, F = self.torch, self.torch.nn.functional
        name = 'encoder.encoder.'
        q, k, v = (self.linear(h, name + 'multihead_attention.w' + c).unflatten(2, (4, 64))
                   .transpose(1, 2) for c in 'qkv')
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=valid[:, None, None])
        o = self.linear(o.transpose(1, 2).flatten(2), name + 'multihead_attention.dense')

        def norm(x, which):
            return F.layer_norm(x, x.shape[-1:], self.w[name + which + '.weight'],
                                self.w[name + which + '.bias'])
        h = norm(h + o, 'norm1')
        return norm(h + self.linear(self.linear(h, name + 'linear1').relu(), name + 'linear2'),
                    'norm2')


def features(o, receptor, ligands):
    """Features of all complexes, and the seconds that making them took with RDKit; nan: without."""
    import golden_dualbind
    protein = golden_dualbind.read(receptor)
    start = time.monotonic()
    try:
        from rdkit import Chem
    except ImportError:
        return [Statement.features(m, protein) for m in perceived(o, ligands)], math.nan
    complexes = [Statement.features(FromRDKit(Chem.RemoveHs(m)), protein)
                 for m in Chem.SDMolSupplier(ligands)]
    return complexes, time.monotonic() - start


def theirs(o, receptor, ligands):
    """Seconds with features and without them, energies."""
    import torch
    torch.set_num_threads(o.threads)
    torch.set_grad_enabled(False)
    complexes, making = features(o, receptor, ligands)
    statement = Statement(o.device)
    size = o.batch or (4 if o.device == 'cpu' else 96)
    best = math.inf
    for _ in range(o.repeat):
        start, energies = time.monotonic(), []
        for i in range(0, len(complexes), size):
            energies += statement.energies(complexes[i:i + size])
        best = min(best, time.monotonic() - start)
    return making + best, best, energies


def main():
    o = arguments()
    import dualbind_weights
    receptor = os.path.join(ROOT, 'tests', 'golden', 'dualbind', '6w70.pdb.gz')
    with tempfile.TemporaryDirectory() as folder:
        ligands, weights, out = (os.path.join(folder, name)
                                 for name in ('l.sdf', 'w.safetensors', 'o.tsv'))
        make_ligands(ligands, o.n)
        dualbind_weights.write(weights)
        whole, inside, kernels, mine = ours(o, receptor, ligands, weights, out)
        rows = [('bioinfer, the process', whole), ('bioinfer, the library', inside),
                ('bioinfer, kernels', kernels)]
        apart = [('start and end of a process', whole - inside)]
        if o.device != 'cpu':
            apart += [('bioinfer devices', start_of_driver(o))]
        if o.screen:
            print('screen of %d ligands, %.1f s, at most %.0f MiB' % (
                o.screen // o.n * o.n, *screen(o, receptor, ligands, weights, out)))
        if not o.skip_torch:
            with_features, without, other = theirs(o, receptor, ligands)
            rows += [('PyTorch, without features', without)]
            if not math.isnan(with_features):
                rows += [('PyTorch, with features', with_features)]
        print('%d complexes, %s' % (o.n, o.device))
        for name, seconds in rows:
            print('%-28s %9.3f s %10.1f/s' % (name, seconds, o.n / seconds))
        for name, seconds in apart:
            print('%-28s %9.3f s' % (name, seconds))
        if not o.skip_torch:
            if not math.isnan(with_features):
                print('ratio of the whole: %.1f' % (with_features / whole))
            print('ratio without start-up and features: %.1f, of kernels: %.1f' % (
                without / inside, without / kernels))
            print('largest difference: %.2g of the energy' % max(
                abs(a / b - 1) for a, b in zip(mine, other, strict=True)))


if __name__ == '__main__':
    main()
