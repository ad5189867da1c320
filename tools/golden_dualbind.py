#!/usr/bin/env python3
"""Energies of DualBind by a statement of its formulas in NumPy, and the files of its tests.

    golden_dualbind.py FOLDER [RECEPTOR.pdb.gz LIGAND.sdf [POSES.sdf ...]]

Written from the formulas of a specification alone: no source of the authors, no weights of theirs.
Chemistry is RDKit's. Writes FOLDER/golden.json, whose energies are in float64, and the ligands that
it was made of. With a receptor and a ligand, these are copied, too, and the molecules of POSES are
moved into the pocket of that ligand, to be screened.

    python3 golden_dualbind.py tests/golden/dualbind 6w70.pdb.gz 6w70_ligand.sdf 1cbr_ligand.sdf ...
"""
import argparse
import gzip
import json
import os

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'numpy', 'rdkit')

import numpy as np

try:
    from rdkit import Chem, RDLogger
except ImportError:  # bench/dualbind.py has a use for the protein alone
    Chem = None

import dualbind_weights

LAYER = 'encoder.encoder.'
CUTOFF, POCKET = 10.0, 50
ALPHABET = '#ARNDCQEGHILKMFPSTWYV'
THREE = ('ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR VAL').split()
ONE = dict(zip(THREE, 'ARNDCQEGHILKMFPSTWYV'))
TYPES = (' N CA C O CB CG CG1 CG2 OG OG1 SG CD CD1 CD2 ND1 ND2 OD1 OD2 SD CE CE1 CE2 CE3 NE NE1 '
         'NE2 OE1 OE2 CH2 NH1 NH2 OH CZ CZ2 CZ3 NZ OXT').split(' ')
SIDE = {'A': 'CB', 'R': 'CB CG CD NE CZ NH1 NH2', 'N': 'CB CG OD1 ND2', 'D': 'CB CG OD1 OD2',
        'C': 'CB SG', 'Q': 'CB CG CD OE1 NE2', 'E': 'CB CG CD OE1 OE2', 'G': '',
        'H': 'CB CG ND1 CD2 CE1 NE2', 'I': 'CB CG1 CG2 CD1', 'L': 'CB CG CD1 CD2',
        'K': 'CB CG CD CE NZ', 'M': 'CB CG SD CE', 'F': 'CB CG CD1 CD2 CE1 CE2 CZ',
        'P': 'CB CG CD', 'S': 'CB OG', 'T': 'CB OG1 CG2',
        'W': 'CB CG CD1 CD2 NE1 CE2 CE3 CZ2 CZ3 CH2', 'Y': 'CB CG CD1 CD2 CE1 CE2 CZ OH',
        'V': 'CB CG1 CG2'}

# The ligand of the specification, in its pose beside 5L33.
ATOMS = '''
C 30.7210 16.0327 56.7635   C 29.6979 15.5914 57.7507   C 28.4186 15.9239 57.6617
C 27.4108 15.4593 58.6787   O 27.6952 14.1924 59.0983   C 26.0377 15.6917 58.2155
C 25.7122 16.9280 57.6556   C 24.4246 17.1677 57.2274   C 23.4328 16.2163 57.3340
C 22.0648 16.4733 56.8781   O 21.1341 15.6402 56.9549   O 21.7918 17.7138 56.3306
N 23.7672 15.0356 57.8746   C 25.0356 14.7692 58.3078   C 25.3345 13.4302 58.8828
N 24.0675 12.6793 58.8642'''.split()
BONDS = ('1-2 1; 2-3 2; 3-4 1; 4-5 1; 4-6 1; 6-7 2; 7-8 1; 8-9 2; 9-10 1; 10-11 2; 10-12 1; '
         '9-13 1; 13-14 2; 14-15 1; 15-16 1; 14-6 1')
EXPECTED = 4752.156888670989  # in float64


def ligand_text():
    atoms = [ATOMS[i:i + 4] for i in range(0, len(ATOMS), 4)]
    bonds = [b.replace('-', ' ').split() for b in BONDS.split(';')]
    lines = ['ligand', '  formula', '', '%3d%3d  0  0  1  0  0  0  0  0999 V2000' %
             (len(atoms), len(bonds))]
    for e, x, y, z in atoms:
        lines.append('%10.4f%10.4f%10.4f %-3s 0  0  0  0  0  0  0  0  0  0  0  0' %
                     (float(x), float(y), float(z), e))
    lines += ['%3d%3d%3d  0' % tuple(map(int, b)) for b in bonds]
    return '\n'.join(lines + ['M  CHG  1  12  -1', 'M  END', '$$$$', ''])


# ---- the receptor ----

def read(path):
    with (gzip.open if path.endswith('.gz') else open)(path, 'rt') as file:
        return file.read()


def residues(text):
    """(letter, {atom: xyz}) of each residue, as Biopython's parser finds them."""
    chains, n_models = {}, 0
    for line in text.splitlines():
        n_models += line.startswith('MODEL ')
        if not line.startswith(('ATOM', 'HETATM')) or line[17:20].strip() in ('HOH', 'WAT'):
            continue
        het = line.startswith('HETATM')
        name, altloc, residue = line[12:16].strip(), line[16], line[17:20].strip()
        key = (het and residue, line[22:27])
        atoms = chains.setdefault(line[21], {}).setdefault(key, {})
        atoms = atoms.setdefault(residue, {})
        x = np.array([line[30:38], line[38:46], line[46:54]], np.float32)
        occupancy = float(line[54:60] or 1)
        old = atoms.get(name)
        if old is None or (altloc != ' ' and old[0] != ' ' and occupancy > old[1]):
            atoms[name] = (altloc, occupancy, x)
    assert n_models < 2
    for chain in chains.values():
        for of in chain.values():
            name, atoms = list(of.items())[-1]
            yield ONE.get(name, '#'), {k: v[2] for k, v in atoms.items()}


def pocket(text, centroid, drop_unknown=False):
    """Coordinates, residue and type of the tokens of the pocket, and its sequence."""
    found = []
    for letter, atoms in residues(text):
        names = 'N CA C O'.split() + SIDE.get(letter, '').split() if letter != '#' else []
        ca = atoms.get('CA', np.zeros(3)) if letter != '#' else np.zeros(3)
        if letter != '#' or not drop_unknown:
            found.append((letter, names, atoms, np.linalg.norm(ca - centroid)))
    nearest = sorted(np.argsort([f[3] for f in found], kind='stable')[:POCKET])
    x, residue, kind = [], [], []
    for i in nearest:
        letter, names, atoms, _ = found[i]
        for name in names:
            if name in atoms and np.linalg.norm(atoms[name]) > 1e-4:
                x.append(atoms[name])
                residue.append(ALPHABET.index(letter))
                kind.append(TYPES.index(name))
    return (np.array(x, float).reshape(-1, 3), residue, kind,
            ''.join(found[i][0] for i in nearest))


# ---- the ligand ----

def one_hot(value, choices):
    v = [0.0] * (len(choices) + 1)
    v[choices.index(value) if value in choices else len(choices)] = 1.0
    return v


def atom_features(a):
    H = Chem.HybridizationType
    return (one_hot(a.GetAtomicNum() - 1, list(range(100))) +
            one_hot(a.GetTotalDegree(), [0, 1, 2, 3, 4, 5]) +
            one_hot(a.GetFormalCharge(), [-1, -2, 1, 2, 0]) +
            one_hot(int(a.GetChiralTag()), [0, 1, 2, 3]) +
            one_hot(a.GetTotalNumHs(), [0, 1, 2, 3, 4]) +
            one_hot(a.GetHybridization(), [H.SP, H.SP2, H.SP3, H.SP3D, H.SP3D2]) +
            [float(a.GetIsAromatic()), a.GetMass() * 0.01])


def bond_features(b):
    T = Chem.BondType
    t = b.GetBondType()
    return ([0.0, t == T.SINGLE, t == T.DOUBLE, t == T.TRIPLE, t == T.AROMATIC,
             b.GetIsConjugated(), b.IsInRing()] + one_hot(int(b.GetStereo()), list(range(6))))


def embed(mol, w):
    """Embeddings of the atoms of a molecule: messages along directed bonds."""
    f = np.array([atom_features(a) for a in mol.GetAtoms()], float)
    bonds, rows = [], []
    for b in mol.GetBonds():
        for s, t in ((b.GetBeginAtomIdx(), b.GetEndAtomIdx()),
                     (b.GetEndAtomIdx(), b.GetBeginAtomIdx())):
            bonds.append((s, t))
            rows.append(np.concatenate([f[s], np.array(bond_features(b), float)]))
    into = np.zeros((len(f), len(bonds)))
    for k, (s, t) in enumerate(bonds):
        into[t, k] = 1
    source = np.array([s for s, t in bonds], int)
    reverse = np.arange(len(bonds)) ^ 1
    start = np.array(rows).reshape(-1, 147) @ w['mpn.W_i.weight'].T
    m = np.maximum(start, 0)
    for _ in range(2):
        m = np.maximum(start + ((into @ m)[source] - m[reverse]) @ w['mpn.W_h.weight'].T, 0)
    return np.maximum(np.hstack([f, into @ m]) @ w['mpn.W_o.weight'].T + w['mpn.W_o.bias'], 0)


# ---- the energy ----

def linear(x, w, name):
    return x @ w[name + '.weight'].T + w[name + '.bias']


def norm(x, w, name):
    mean, var = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * w[name + '.weight'] + w[name + '.bias']


def silu(x):
    return x / (1 + np.exp(-x))


def layer(h, w):
    n, d = h.shape
    split = [linear(h, w, LAYER + 'multihead_attention.w' + c).reshape(n, 4, d // 4) for c in 'qkv']
    scores = np.einsum('ihd,jhd->hij', split[0], split[1]) / np.sqrt(d // 4)
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    scores /= scores.sum(-1, keepdims=True)
    o = np.einsum('hij,jhd->ihd', scores, split[2]).reshape(n, d)
    h = norm(h + linear(o, w, LAYER + 'multihead_attention.dense'), w, LAYER + 'norm1')
    f = linear(np.maximum(linear(h, w, LAYER + 'linear1'), 0), w, LAYER + 'linear2')
    return norm(h + f, w, LAYER + 'norm2')


def energy(receptor, mol, w, drop_unknown=False):
    """Energy, pairs and the sequence of the pocket."""
    xl = np.array(mol.GetConformer().GetPositions(), np.float32).astype(float)
    xp, residue, kind, sequence = pocket(receptor, xl.mean(0).astype(np.float32), drop_unknown)
    keep = np.linalg.norm(xl, axis=1) > 1e-4
    s = embed(mol, w)[keep]
    xl = xl[keep]
    S = np.vstack([np.hstack([linear(s, w, 'encoder.W_bind'),
                              np.tile(w['encoder.A_bind.weight'][1], (len(s), 1))]),
                   np.hstack([w['encoder.W_tgt.weight'].T[residue] + w['encoder.W_tgt.bias'],
                              w['encoder.A_tgt.weight'][kind]])])
    x = np.vstack([xl, xp])
    y = x - x.mean(0)
    axes = np.linalg.eigh(y.T @ y)[1]
    h = 0
    for f in range(8):
        signs = [-1 if f >> k & 1 else 1 for k in range(3)]
        h = h + layer(linear(np.hstack([y @ axes * signs, S]), w, 'encoder.linear'), w) / 8
    u = linear(silu(linear(h[:len(s)], w, 'binder_output.0')), w, 'binder_output.2')
    v = silu(linear(h[len(s):], w, 'target_output.0'))
    near = np.linalg.norm(xl[:, None] - xp[None], axis=-1) < CUTOFF
    return float((near * (u @ v.T)).sum()), int(near.sum()), sequence


def weights(width, member=0):
    return {name: np.array(values, np.float64).reshape(shape)
            for name, (shape, values) in dualbind_weights.weights(width, member).items()}


# ---- files ----

def molecules(text):
    return list(Chem.ForwardSDMolSupplier(__import__('io').BytesIO(text.encode())))


def moved(path, centre):
    """The molecules of a file with their centres near `centre`, each a little elsewhere."""
    for k, mol in enumerate(molecules(read(path))):
        if mol is None:
            continue
        mol = Chem.RemoveHs(mol)
        conformer = mol.GetConformer()
        x = np.array(conformer.GetPositions())
        shift = 1.5 * np.array([np.sin(7 * k + 1), np.cos(5 * k), np.sin(3 * k)])
        x = np.round(x - x.mean(0) + centre + shift, 4)
        for i, p in enumerate(x):
            conformer.SetAtomPosition(i, [float(c) for c in p])
        yield Chem.MolToMolBlock(mol) + '$$$$\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('folder')
    parser.add_argument('receptor', nargs='?')
    parser.add_argument('ligand', nargs='?')
    parser.add_argument('poses', nargs='*')
    a = parser.parse_args()
    RDLogger.DisableLog('rdApp.*')
    here = os.path.dirname(os.path.abspath(__file__))
    backbone = os.path.join(here, '..', 'tests', 'golden', 'proteinmpnn', '5L33.pdb')
    files = {'ligand.sdf': ligand_text()}
    cases = [('5L33', read(backbone), 'ligand.sdf')]
    if a.ligand:
        receptor, ligand = read(a.receptor), read(a.ligand)
        centre = np.array(Chem.RemoveHs(molecules(ligand)[0]).GetConformer().GetPositions()).mean(0)
        files['6w70_ligand.sdf'] = ligand
        files['poses.sdf'] = ''.join(''.join(moved(path, centre)) for path in a.poses)
        with gzip.GzipFile(os.path.join(a.folder, '6w70.pdb.gz'), 'wb', 9, mtime=0) as file:
            file.write(receptor.encode())
        cases += [('6w70', receptor, '6w70_ligand.sdf'), ('6w70', receptor, 'poses.sdf')]
    out = {'cutoff': CUTOFF, 'energies': []}
    for width in (64, 256):
        for member in (0, 1) if width == 64 else (0,):
            w = weights(width, member)
            for name, text, sdf in cases:
                for k, mol in enumerate(molecules(files[sdf])):
                    for drop in (False, True) if width == 64 and not member else (False,):
                        e, pairs, sequence = energy(text, Chem.RemoveHs(mol), w, drop)
                        out['energies'].append(
                            {'width': width, 'member': member, 'receptor': name, 'ligands': sdf,
                             'record': k, 'drop_unknown': drop, 'energy': e, 'pairs': pairs,
                             'pocket': sequence})
                        print(out['energies'][-1])
                    if width == 256 and name == '5L33':
                        assert abs(e / EXPECTED - 1) < 1e-9, (e, EXPECTED)
    for name, text in files.items():
        with open(os.path.join(a.folder, name), 'w', encoding='utf-8') as file:
            file.write(text)
    with open(os.path.join(a.folder, 'golden.json'), 'w', encoding='utf-8') as file:
        json.dump(out, file, indent=1)
        file.write('\n')


if __name__ == '__main__':
    main()
