#!/usr/bin/env python3
"""Compares what perception makes of molecules with RDKit.

    molecules.py PROGRAM check FOLDER   compares with what FOLDER stores; needs no RDKit
    molecules.py PROGRAM all            compares every molecule of Debian's rdkit-data; prints the
                                        share that is equal and each one that is not
    molecules.py PROGRAM make FOLDER    writes FOLDER: few molecules that together have all features

PROGRAM is built from molecules.c. `all` and `make` need the Python package rdkit and the Debian
package rdkit-data; exit 77 where they are missing.
"""
import gzip
import os
import subprocess
import sys
import tempfile

DATA = '/usr/share/RDKit/'
SDF = ['Contrib/Fastcluster/testdata/cdk2.sdf', 'Contrib/PBF/testData/egfr.sdf',
       'Data/NCI/first_200.props.sdf', 'Projects/DbCLI/testData/bzr.sdf',
       'Projects/DbCLI/testData/pubchem.200.sdf']
SMILES = ['Contrib/FreeWilson/data/CHEMBL2321810.smi',
          'Contrib/fraggle/data/ChEMBL_11265_actives.smi', 'Data/NCI/first_5K.smi']
# (file, number of the molecule from 1): why it differs
KNOWN = {
    ('Data/NCI/first_5K.smi', 3396): 'a dative bond in the file, which is refused',
}
HYBRIDS = {'S': 's', 'SP': 'sp', 'SP2': 'sp2', 'SP3': 'sp3', 'SP3D': 'sp3d', 'SP3D2': 'sp3d2'}
ORDERS = {'SINGLE': 1, 'DOUBLE': 2, 'TRIPLE': 3, 'AROMATIC': 4, 'DATIVE': 5}


def describe(molecule):
    """The line that PROGRAM prints of a molecule, from RDKit's one."""
    from rdkit import Chem
    if molecule is None:
        return 'refused'
    words = ['ok']
    for a in molecule.GetAtoms():
        words.append('%s:%d:%d:%d:%d:%s:%s%s' % (
            a.GetSymbol(), a.GetFormalCharge(), a.GetTotalNumHs(), a.GetIsotope(),
            a.GetNumRadicalElectrons(), HYBRIDS.get(str(a.GetHybridization()), 'unknown'),
            'a' * a.GetIsAromatic(), 'r' * a.IsInRing()))
    words.append('|')
    for b in molecule.GetBonds():
        words.append('%d-%d:%d:%s%s%s' % (
            b.GetBeginAtomIdx(), b.GetEndAtomIdx(), ORDERS[str(b.GetBondType())],
            'a' * b.GetIsAromatic(), 'c' * b.GetIsConjugated(), 'r' * b.IsInRing()))
    return ' '.join(words + ['| %d' % len(Chem.GetSSSR(molecule))])


def printed(program, path):
    """The lines that PROGRAM prints of a file, without the messages of refused molecules."""
    run = subprocess.run([program, path], check=True, capture_output=True, text=True,
                         errors='replace')
    return [line if line.startswith('ok ') else 'refused' for line in run.stdout.splitlines()]


def blocks_of(name):
    """The records of a file of rdkit-data as text of MOL files."""
    from rdkit import Chem
    if name.endswith('.sdf'):
        with open(DATA + name, encoding='latin-1') as file:
            return [block for block in file.read().split('$$$$\n') if block.strip()]
    blocks = []
    with open(DATA + name) as file:
        for line in file:
            molecule = Chem.MolFromSmiles(line.split()[0]) if line.strip() else None
            if molecule is not None and molecule.GetNumAtoms():
                write = Chem.MolToV3KMolBlock if len(blocks) % 2 else Chem.MolToMolBlock
                blocks.append(write(molecule))
    return blocks


def compare(program, blocks):
    """(ours, RDKit's) of every record."""
    from rdkit import Chem
    with tempfile.NamedTemporaryFile('w', suffix='.sdf', encoding='latin-1') as file:
        file.write(''.join(block + '$$$$\n' for block in blocks))
        file.flush()
        ours = printed(program, file.name)
    assert len(ours) == len(blocks), '%d molecules, expected %d' % (len(ours), len(blocks))
    return [(line, describe(Chem.MolFromMolBlock(block))) for line, block in zip(ours, blocks)]


def differences(ours, theirs):
    a, b = ours.split(), theirs.split()
    if len(a) != len(b):
        return 'ours: %.60s\n    RDKit: %.60s' % (ours, theirs)
    return ', '.join('%s, RDKit: %s' % pair for pair in zip(a, b) if pair[0] != pair[1])


def check_all(program):
    n = equal = 0
    unknown = []
    for name in SDF + SMILES:
        pairs = compare(program, blocks_of(name))
        same = sum(a == b for a, b in pairs)
        print('%s: %d of %d' % (name, same, len(pairs)))
        n += len(pairs)
        equal += same
        for number, (a, b) in enumerate(pairs, 1):
            if a != b:
                why = KNOWN.get((name, number))
                print('  %d: %s' % (number, why or differences(a, b)))
                unknown += [] if why else [(name, number)]
    print('equal: %d of %d (%.2f %%)' % (equal, n, 100 * equal / n))
    return 1 if unknown else 0


def make(program, folder):
    """Keeps a molecule when an atom with its neighbours, or a bond with its atoms, is new."""
    seen, kept = {}, []
    for name in SDF + SMILES:
        blocks = blocks_of(name)
        for block, (ours, theirs) in zip(blocks, compare(program, blocks)):
            if ours != theirs or len(block) > 8000:
                continue
            atoms, bonds, _ = theirs.split(' | ')
            atoms = atoms.split()[1:]
            around = {}
            for bond in bonds.split():
                ends, order, flags = bond.split(':')
                i, j = map(int, ends.split('-'))
                around.setdefault(i, []).append((order + flags, atoms[j].split(':')[0]))
                around.setdefault(j, []).append((order + flags, atoms[i].split(':')[0]))
            features = {(a, tuple(sorted(around.get(i, ())))) for i, a in enumerate(atoms)}
            if any(seen.get(f, 0) < 1 for f in features):
                kept.append((len(block), block, theirs, features))
                for f in features:
                    seen[f] = seen.get(f, 0) + 1
    # a molecule goes when others have all its features, large ones first
    for entry in sorted(kept, key=lambda e: -e[0]):
        if all(seen[f] > 1 for f in entry[3]):
            kept.remove(entry)
            for f in entry[3]:
                seen[f] -= 1
    os.makedirs(folder, exist_ok=True)
    for name, parts in (('rdkit-data.sdf.gz', [block + '$$$$\n' for _, block, _, _ in kept]),
                        ('rdkit-data.txt.gz', [theirs + '\n' for _, _, theirs, _ in kept])):
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(gzip.compress(''.join(parts).encode('latin-1'), 9, mtime=0))
    print('%d molecules, %d features' % (len(kept), len(seen)))
    return 0


def check(program, folder):
    ours = printed(program, os.path.join(folder, 'rdkit-data.sdf.gz'))
    with gzip.open(os.path.join(folder, 'rdkit-data.txt.gz'), 'rt') as file:
        want = file.read().splitlines()
    wrong = 0 if len(ours) == len(want) > 100 else 1
    for number, (a, b) in enumerate(zip(ours, want), 1):
        if a != b:
            print('molecule %d: %s' % (number, differences(a, b)))
            wrong += 1
    print('%d molecules, expected %d; %d differences' % (len(ours), len(want), wrong))
    return 1 if wrong else 0


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ('check', 'all', 'make'):
        print(__doc__)
        return 2
    program, what = sys.argv[1:3]
    if what == 'check':
        return check(program, sys.argv[3])
    try:
        from rdkit import RDLogger
    except ImportError:
        print('skipped: the Python package rdkit is not installed')
        return 77
    if not os.path.exists(DATA + SDF[0]):
        print('skipped: the Debian package rdkit-data is not installed')
        return 77
    RDLogger.DisableLog('rdApp.*')
    return check_all(program) if what == 'all' else make(program, sys.argv[3])


if __name__ == '__main__':
    sys.exit(main())
