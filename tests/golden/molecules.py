#!/usr/bin/env python3
"""Compares what perception makes of molecules with RDKit.

    molecules.py BIOINFER check FOLDER   compares with what FOLDER stores; needs no RDKit
    molecules.py BIOINFER all            compares every molecule of Debian's rdkit-data; prints the
                                         share that is equal and each one that is not
    molecules.py BIOINFER space          does so for its SMILES, to which RDKit gives coordinates
    molecules.py BIOINFER make FOLDER    writes FOLDER: few molecules that have all features
    molecules.py BIOINFER classes FOLDER writes the molecules of kinds that rdkit-data lacks
    molecules.py BIOINFER files FILE...  compares every record of SDF and MOL files that both read,
                                         and prints those that are not equal

BIOINFER is the command. All but `check` need the Python package rdkit and the Debian package
rdkit-data; exit 77 where they are missing.
"""
import gzip
import os
import re
import subprocess
import sys
import tempfile

DATA = '/usr/share/RDKit/'
SDF = ['Contrib/Fastcluster/testdata/cdk2.sdf', 'Contrib/PBF/testData/egfr.sdf',
       'Data/NCI/first_200.props.sdf', 'Projects/DbCLI/testData/bzr.sdf',
       'Projects/DbCLI/testData/pubchem.200.sdf']
SMILES = ['Contrib/FreeWilson/data/CHEMBL2321810.smi',
          'Contrib/fraggle/data/ChEMBL_11265_actives.smi', 'Data/NCI/first_5K.smi']
PDB = 'Contrib/CalcLigRMSD/data/*.pdb'
# (file, number of the molecule from 1, mode): why it differs
KNOWN = {
    ('Data/NCI/first_5K.smi', 3396, 0): 'a dative bond in the file, which is refused',
    (PDB, 2, 0): 'no CONECT record, which is refused',
    (PDB, 12, 0): 'no CONECT record, which is refused',
}
# Kinds of which rdkit-data has few or none; RDKit gives them coordinates.
CLASSES = '''
    CC1CN1C CON1CC1C C1N2CC2CN1C CC1CN2CCC1C(C)C2 C1CN2CCC1CC2 CC1CCN2CCCC2C1 N12CN3CN(C1)CN(C2)C3
    CP1CCCC1C ClP1Nc2ccccc2S1 CC1P2CCC1CC2 CCP(C)c1ccccc1 C[As](CC)CCC CC(C)(C)P1CP(C(C)(C)C)NN1
    CCS(C)=O CC[Se](C)=O CC[S+](C)[O-] C[S+2](=O)CC CCC1CCOC(C)[S+2]1=O CS(=N)CC
    CCP(C)(=O)[O-] CCOP(C)(=O)[O-] CNP(C)(=O)[O-] CC1(C)OP(=O)([O-])C=C1C OP(=O)([O-])C(F)(F)C
    CCP(C)(=S)[O-] CCP(C)(=O)O CP(=O)(O)OP(C)(=O)[O-]
    O=C1C2(CC2)C(=O)C2(CC2)C(=O)C12CC2 COC(=O)C1C2C(C(=O)OC)C1C21OCCO1 C1CC12CC2
    ClC(Cl)(Cl)C12CC(I)(C1)C2 CC12CC3CC(CC(C3)C1)C2 OC12CC3CC(CC(Cl)(C3)C1)C2 C12CC3CC(CC(C3)C1)C2
    FC12CCC(Cl)(CC1)CC2 CC1CCC(C)CC1 CC1CC(O)C1 CC1(O)CCC(C)(O)CC1
    CC(Cl)=S=O CC1(C)N=C(C)SC1=S=O CCC(C)=S(=O)=O CC=CC CC(F)=NO CC=S CN=S=O
    CCOP(=O)=C1CSC(C)C1 FP(=O)=C(C)C
'''.split()
METALS = 'a metal, or phosphorus with five bonds, around which RDKit looks at the shape'
HYBRIDS = {'S': 's', 'SP': 'sp', 'SP2': 'sp2', 'SP3': 'sp3', 'SP3D': 'sp3d', 'SP3D2': 'sp3d2'}
TURNS = {'CHI_TETRAHEDRAL_CW': '@@', 'CHI_TETRAHEDRAL_CCW': '@'}
SIDES = {'STEREOANY': '?', 'STEREOZ': 'Z', 'STEREOE': 'E'}
ORDERS = {'SINGLE': 1, 'DOUBLE': 2, 'TRIPLE': 3, 'AROMATIC': 4, 'DATIVE': 5, 'ZERO': 0}


def describe(molecule):
    """The words of a molecule: its atoms, bonds, and how many rings a smallest set has."""
    from rdkit import Chem
    if molecule is None:
        return ['refused']
    words = ['ok']
    turns = TURNS if molecule.GetConformer().Is3D() else {}
    for a in molecule.GetAtoms():
        words.append('%s:%d:%d:%d:%d:%s:%s%s%s' % (
            a.GetSymbol(), a.GetFormalCharge(), a.GetTotalNumHs(), a.GetIsotope(),
            a.GetNumRadicalElectrons(), HYBRIDS.get(str(a.GetHybridization()), 'unknown'),
            'a' * a.GetIsAromatic(), 'r' * a.IsInRing(), turns.get(str(a.GetChiralTag()), '')))
    words.append('|')
    for b in molecule.GetBonds():
        words.append('%d-%d:%d:%s%s%s%s' % (
            b.GetBeginAtomIdx() + 1, b.GetEndAtomIdx() + 1, ORDERS[str(b.GetBondType())],
            'a' * b.GetIsAromatic(), 'c' * b.GetIsConjugated(), 'r' * b.IsInRing(),
            SIDES.get(str(b.GetStereo()), '')))
    return words + ['|', str(len(Chem.GetSSSR(molecule)))]


def printed(program, path):
    """The molecules of a file as BIOINFER sees them, in the form that describe() gives."""
    run = subprocess.run([program, 'molecule', 'info', '--atoms', '--quiet', path],
                         capture_output=True, text=True, errors='replace')
    assert run.returncode in (0, 1), run.stderr
    lines = [line.split('\t') for line in run.stdout.splitlines()]
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    return [' '.join(['ok', r['atom_list'], '|', r['bond_list'], '|', r['rings']]).split()
            if r['status'] == 'ok' else ['refused'] for r in rows]


def place(molecule):
    """A MOL file of the molecule with coordinates in space, which alone say what is E or Z; None:
    RDKit finds none."""
    from rdkit import Chem
    from rdkit.Chem import AllChem
    molecule = Chem.AddHs(molecule)
    settings = AllChem.ETKDGv3()
    settings.randomSeed, settings.maxIterations, settings.timeout = 1, 2, 2
    try:
        if AllChem.EmbedMolecule(molecule, settings):
            return None
    except RuntimeError:  # some complexes of metals
        return None
    lines = Chem.MolToMolBlock(molecule).split('\n')
    n_atoms, n_bonds = int(lines[3][:3]), int(lines[3][3:6])
    for k in range(4 + n_atoms, 4 + n_atoms + n_bonds):
        lines[k] = lines[k][:9] + '  0'
    return '\n'.join(lines)


def blocks_of(name, space=0):
    """The records of a file of rdkit-data as text of MOL files; of SMILES every space-th one with
    coordinates in space, when that is not 0."""
    from rdkit import Chem
    if name.endswith('.sdf'):
        with open(DATA + name, encoding='latin-1') as file:
            return [block for block in file.read().split('$$$$\n') if block.strip()]
    blocks = []
    with open(DATA + name) as file:
        for number, line in enumerate(file):
            if space and number % space:
                continue
            molecule = Chem.MolFromSmiles(line.split()[0]) if line.strip() else None
            if molecule is None or not molecule.GetNumAtoms():
                continue
            if space:
                blocks.append(place(molecule))
            else:
                write = Chem.MolToV3KMolBlock if len(blocks) % 2 else Chem.MolToMolBlock
                blocks.append(write(molecule))
    return [block for block in blocks if block]


def compare(program, blocks):
    """(ours, RDKit's) of every record."""
    from rdkit import Chem
    with tempfile.NamedTemporaryFile('w', suffix='.sdf', encoding='latin-1') as file:
        file.write(''.join(block + '$$$$\n' for block in blocks))
        file.flush()
        ours = printed(program, file.name)
    assert len(ours) == len(blocks), '%d molecules, expected %d' % (len(ours), len(blocks))
    return [(line, describe(Chem.MolFromMolBlock(block))) for line, block in zip(ours, blocks)]


def compare_pdb(program):
    """(ours, RDKit's) of every small PDB file of a folder; RDKit reads CONECT records alone."""
    from rdkit import Chem
    folder = DATA + 'Contrib/CalcLigRMSD/data/'
    pairs = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith('.pdb') and os.path.getsize(path) < 20000:
            molecule = Chem.MolFromPDBFile(path, proximityBonding=False)
            Chem.AssignStereochemistryFrom3D(molecule)  # the reader keeps turns of any atom
            pairs += [(ours, describe(molecule)) for ours in printed(program, path)]
    return pairs


def has_shape(words):
    """Is there an atom whose hybridisation RDKit takes from the shape around it?"""
    return any(re.match('Mn|Co|Ni|Cu|P:0:0:0:0:sp3d', word) for word in words)


def differences(ours, theirs):
    if len(ours) != len(theirs):
        return '%d words, RDKit has %d' % (len(ours), len(theirs))
    return ', '.join('%s (RDKit: %s)' % pair for pair in zip(ours, theirs) if pair[0] != pair[1])


def check_all(program, names, space):
    n = equal = 0
    unknown = []
    for name in names:
        pairs = compare_pdb(program) if name == PDB else compare(program, blocks_of(name, space))
        same = sum(a == b for a, b in pairs)
        print('%s: %d of %d' % (name, same, len(pairs)))
        n += len(pairs)
        equal += same
        for number, (a, b) in enumerate(pairs, 1):
            if a != b:
                why = METALS if space and has_shape(b) else KNOWN.get((name, number, space))
                print('  %d: %s' % (number, why or differences(a, b)))
                unknown += [] if why else [(name, number)]
    print('equal: %d of %d (%.2f %%)' % (equal, n, 100 * equal / n))
    return 1 if unknown else 0


def store(folder, stem, kept):
    """Writes (block, words) of each molecule as STEM.sdf.gz and STEM.txt.gz."""
    for name, parts in ((stem + '.sdf.gz', [block + '$$$$\n' for block, _ in kept]),
                        (stem + '.txt.gz', [' '.join(words) + '\n' for _, words in kept])):
        with open(os.path.join(folder, name), 'wb') as file:
            file.write(gzip.compress(''.join(parts).encode('latin-1'), 9, mtime=0))


def make_classes(folder):
    """Writes CLASSES with RDKit's coordinates in space and in a plane, and what it sees there."""
    from rdkit import Chem
    from rdkit.Chem import AllChem
    kept = []
    for smiles in CLASSES:
        molecule = Chem.MolFromSmiles(smiles)
        block = place(molecule)
        AllChem.Compute2DCoords(molecule)
        for text in (block, Chem.MolToMolBlock(molecule)):
            if text:
                kept.append((text, describe(Chem.MolFromMolBlock(text))))
    store(folder, 'classes', kept)
    print('%d molecules' % len(kept))
    return 0


def records_of(path):
    """The records of an SDF or MOL file."""
    with open(path, encoding='latin-1', newline=None) as file:
        records, lines = [], []
        for line in file:
            if line.startswith('$$$$'):
                records.append(''.join(lines))
                lines = []
            else:
                lines.append(line)
    return records + [''.join(lines)] * any(line.strip() for line in lines)


def compare_files(program, paths):
    """Compares the records that both read; a share of 99.8 % is asked for."""
    n = equal = refused = 0
    for path in paths:
        blocks = records_of(path)
        if not blocks:
            continue
        for number, (a, b) in enumerate(compare(program, blocks), 1):
            if a == ['refused'] or b == ['refused']:
                refused += a != b
                continue
            n += 1
            equal += a == b
            if a != b:
                print('%s, %d: %s' % (path, number, differences(a, b)))
    print('equal: %d of %d (%.2f %%); read by one alone: %d' % (equal, n, 100 * equal / n, refused))
    return 0 if equal >= 0.998 * n else 1


def make(program, folder):
    """Keeps a molecule when an atom with its neighbours, or a bond with its atoms, is new."""
    seen, kept = {}, []
    for name, space in [(name, 0) for name in SDF + SMILES] + [(name, 8) for name in SMILES]:
        blocks = blocks_of(name, space)
        for block, (ours, theirs) in zip(blocks, compare(program, blocks)):
            if ours != theirs or len(block) > 8000 or ours == ['refused']:
                continue
            first, second = (k for k, word in enumerate(theirs) if word == '|')
            atoms, bonds = theirs[1:first], theirs[first + 1:second]
            around = {}
            for bond in bonds:
                ends, order, flags = bond.split(':')
                i, j = (int(end) - 1 for end in ends.split('-'))
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
    store(folder, 'rdkit-data', [(block, words) for _, block, words, _ in kept])
    print('%d molecules, %d features' % (len(kept), len(seen)))
    return 0


def check(program, folder):
    n = wrong = 0
    for stem, least in (('rdkit-data', 500), ('classes', 90)):
        ours = printed(program, os.path.join(folder, stem + '.sdf.gz'))
        with gzip.open(os.path.join(folder, stem + '.txt.gz'), 'rt') as file:
            want = [line.split() for line in file]
        wrong += 0 if len(ours) == len(want) > least else 1
        n += len(ours)
        for number, (a, b) in enumerate(zip(ours, want), 1):
            if a != b:
                print('%s %d: %s' % (stem, number, differences(a, b)))
                wrong += 1
    print('%d molecules; %d differences' % (n, wrong))
    return 1 if wrong else 0


def main():
    if len(sys.argv) < 3 or sys.argv[2] not in ('check', 'all', 'space', 'make', 'classes',
                                                'files'):
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
    RDLogger.DisableLog('rdApp.*')
    if what == 'classes':
        return make_classes(sys.argv[3])
    if what == 'files':
        return compare_files(program, sys.argv[3:])
    if not os.path.exists(DATA + SDF[0]):
        print('skipped: the Debian package rdkit-data is not installed')
        return 77
    if what == 'make':
        return make(program, sys.argv[3])
    return check_all(program, *((SDF + SMILES + [PDB], 0) if what == 'all' else (SMILES, 1)))


if __name__ == '__main__':
    sys.exit(main())
