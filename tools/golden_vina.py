#!/usr/bin/env python3
"""Write tests/golden/rescore: pockets, poses, and their scores by AutoDock Vina.

    tools/golden_vina.py STRUCTURES tests/golden/rescore

STRUCTURES has NAME_protein*.pdb.gz and NAME_ligand.sdf. Wants vina 1.2.7, meeko 0.8.0 and RDKit
2026.9.1, all from PyPI. Pockets are whole residues near the ligand; of one of them the hydrogens
are taken away. Poses are the ligand shifted, turned and with its torsions changed, in thousandths
of an angstrom, as PDBQT holds them. The ligand's PDBQT is meeko's. The receptor's states the rules
of docs/docking.md once more: hydrogens bonded to N and O are HD, as are those that names of atoms
add in a residue without hydrogens.

poses.tsv has a row a pose: pocket, number, then Vina's numbers without rounding: total, inter,
rotors, and of some the sum of each term (by weights that single it out). local.tsv has the end of
Vina's own minimisation from that pose."""
import gzip
import io
import math
import pathlib
import random
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np
import vina
from meeko import MoleculePreparation, PDBQTWriterLegacy
from rdkit import Chem
from rdkit.Chem import rdMolTransforms

NAMES = ("1a46", "6ahs", "6moa", "6o5u", "6w70")
WITHOUT_HYDROGENS = "6ahs"
N_POSES = 20
N_TERMS = 4  # poses whose terms are asked for
POCKET = 9.0  # angstrom
WEIGHTS = (-0.035579, -0.005156, 0.840245, -0.035069, -0.587439)
ROTOR = 0.05846
RADII = {"C": .77, "N": .75, "O": .73, "S": 1.02, "P": 1.06, "H": .37, "F": .71, "CL": .99,
         "BR": 1.14, "I": 1.33}
NO_ACCEPTORS = {("LYS", "NZ"), ("ARG", "NE"), ("ARG", "NH1"), ("ARG", "NH2"), ("ASN", "ND2"),
                ("GLN", "NE2"), ("TRP", "NE1")}
TEMPLATE = NO_ACCEPTORS | {
    ("SER", "OG"), ("THR", "OG1"), ("TYR", "OH"), ("HIS", "NE2"), ("HID", "ND1"), ("HIE", "NE2"),
    ("HIP", "ND1"), ("HIP", "NE2")}


def read_pdb(path):
    atoms = []
    for line in gzip.open(path, "rt"):
        if not line.startswith("ATOM") or line[16] not in " A1":
            continue
        x = np.array([float(line[30:38]), float(line[38:46]), float(line[46:54])])
        atoms.append({"line": line, "name": line[12:16].strip(), "residue": line[17:20].strip(),
                      "key": line[21:27], "element": line[76:78].strip().upper(), "x": x})
    return atoms


def pocket_of(atoms, ligand):
    near = {a["key"] for a in atoms if np.min(np.linalg.norm(ligand - a["x"], axis=1)) < POCKET}
    return [a for a in atoms if a["key"] in near]


def pdbqt_of(atoms):
    """Heavy atoms with AutoDock's types, and a hydrogen on each donor."""
    x = np.array([a["x"] for a in atoms])
    has_h = {a["key"] for a in atoms if a["element"] == "H"}
    out, n = [], 0

    def put(name, a, at, kind):
        nonlocal n
        n += 1
        out.append("ATOM  %5d %-4s %3s %s   %8.3f%8.3f%8.3f  1.00  0.00    %6.3f %-2s\n" % (
            n, name[:4], a["residue"], a["key"], *at, 0.0, kind))

    first = {}
    for a in atoms:
        first.setdefault(a["key"][0], a["key"])
    for i, a in enumerate(atoms):
        e = a["element"]
        if e == "H":
            continue
        bonded = [b for k, b in enumerate(atoms) if k != i and np.linalg.norm(x[k] - x[i]) < 1.1 * (
            RADII[e] + RADII[b["element"]])]
        place = a["residue"], a["name"]
        if a["key"] in has_h:
            donor = any(b["element"] == "H" for b in bonded)
        else:
            heavy = sum(b["element"] != "H" for b in bonded)
            donor = place in TEMPLATE or (a["name"] == "N" and (a["residue"] != "PRO" or heavy < 3))
        kind = {"O": "OA", "S": "S"}.get(e, e.title())
        if e == "N":
            accepts = a["name"] != "N" and place not in NO_ACCEPTORS and not donor
            kind = "NA" if accepts else "N"
        put(a["name"], a, a["x"], kind)
        if donor and e in "NO":
            away = sum((a["x"] - b["x"] for b in bonded if b["element"] != "H"), np.zeros(3))
            put("H", a, a["x"] + away / np.linalg.norm(away), "HD")
    return "".join(out)


def turn(x, axis, angle):
    axis = axis / np.linalg.norm(axis)
    k = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return x @ (np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k).T


def poses_of(mol, rng):
    """The molecule with hydrogens in N_POSES poses; the first one is as given."""
    pattern = Chem.MolFromSmarts("[!$([D1]);!$(*#*)]-!@[!$([D1]);!$(*#*)]")
    heavy = Chem.RemoveHs(mol)
    ends = heavy.GetSubstructMatches(pattern)
    for k in range(N_POSES):
        pose = Chem.Mol(mol)
        c = pose.GetConformer()
        if k:
            for b, d in ends:  # heavy atoms come first, in the same order
                a = [n.GetIdx() for n in heavy.GetAtomWithIdx(b).GetNeighbors() if n.GetIdx() != d]
                e = [n.GetIdx() for n in heavy.GetAtomWithIdx(d).GetNeighbors() if n.GetIdx() != b]
                if a and e and rng.random() < .6:
                    t = rdMolTransforms.GetDihedralDeg(c, a[0], b, d, e[0])
                    width = (8 if k % 2 else 40) / math.sqrt(len(ends))
                    rdMolTransforms.SetDihedralDeg(c, a[0], b, d, e[0], t + rng.gauss(0, width))
            x = c.GetPositions()
            middle = x.mean(0)
            axis = np.array([rng.gauss(0, 1) for _ in range(3)])
            shift = np.array([rng.gauss(0, .25 if k % 2 else .7) for _ in range(3)])
            angle = math.radians(rng.gauss(0, 4 if k % 2 else 15))
            x = turn(x - middle, axis, angle) + middle + shift
            c.SetPositions(x)
        c.SetPositions(np.round(c.GetPositions(), 3))
        yield pose


def engine(receptor, ligand, weights, rotor, box):
    v = vina.Vina(sf_name="vina", cpu=1, verbosity=0, seed=1)
    if weights:
        v.set_weights(list(weights) + [0.0, rotor])
    v.set_receptor(receptor)
    v.set_ligand_from_string(ligand)
    v.compute_vina_maps(center=list(box), box_size=[44, 44, 44], spacing=1.0)
    return v


def main(structures, out):
    structures, out = pathlib.Path(structures), pathlib.Path(out)
    assert vina.__version__ == "1.2.7", vina.__version__
    rng = random.Random(20261130)
    rows, local = [], []
    for name in NAMES:
        protein = next(p for p in structures.glob(name + "*.pdb.gz"))
        file = str(structures / (name + "_ligand.sdf"))
        mol = next(m for m in Chem.SDMolSupplier(file, removeHs=False) if m)
        mol = Chem.AddHs(Chem.RemoveHs(mol), addCoords=True)
        heavy = [a.GetIdx() for a in mol.GetAtoms() if a.GetAtomicNum() > 1]
        atoms = pocket_of(read_pdb(protein), mol.GetConformer().GetPositions()[heavy])
        if name == WITHOUT_HYDROGENS:
            atoms = [a for a in atoms if a["element"] != "H"]
        text = io.BytesIO()
        with gzip.GzipFile(fileobj=text, mode="wb", mtime=0) as f:
            f.write("".join(a["line"] for a in atoms).encode())
        (out / (name + ".pdb.gz")).write_bytes(text.getvalue())
        receptor = str(out / (name + ".tmp.pdbqt"))
        pathlib.Path(receptor).write_text(pdbqt_of(atoms))
        text = io.StringIO()
        writer = Chem.SDWriter(text)
        for k, pose in enumerate(poses_of(mol, rng), 1):
            pose.SetProp("_Name", "%s_%d" % (name, k))
            writer.write(Chem.RemoveHs(pose))
            setup = MoleculePreparation().prepare(pose)[0]
            ligand, fine, why = PDBQTWriterLegacy.write_string(setup)
            assert fine, why
            box = pose.GetConformer().GetPositions()[heavy].mean(0)
            v = engine(receptor, ligand, None, 0, box)
            total, inter, _flex, _, intra, torsion = list(v._vina.score())[:6]
            terms = []
            for t in range(5 if k <= N_TERMS else 0):
                one = [0.0] * 5
                one[t] = -1e-3  # a negative sum is not curled
                terms.append(engine(receptor, ligand, one, 0.0, box)._vina.score()[1] / -1e-3)
            rotors = (inter / total - 1) / ROTOR
            rows.append([name, k, total, inter, rotors, *terms])
            best = list(v._vina.optimize(0))
            local.append([name, k, best[0], best[1], best[5]])
            print(name, k, "%.4f %.4f rotors %.3f" % (total, inter, rotors), best[:6], flush=True)
        writer.close()
        (out / (name + ".sdf.gz")).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
        pathlib.Path(receptor).unlink()
    terms = "\tgauss1\tgauss2\trepulsion\thydrophobic\thydrogen"
    for file, head, lines in (
            ("poses.tsv", "pocket\trecord\ttotal\tinter\trotors" + terms, rows),
            ("local.tsv", "pocket\trecord\ttotal\tinter\tintra", local)):
        with open(out / file, "w", encoding="ascii") as f:
            f.write("# vina 1.2.7, by tools/golden_vina.py\n" + head + "\n")
            for r in lines:
                f.write("\t".join([r[0], str(r[1])] + ["%.6f" % v for v in r[2:]]) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
