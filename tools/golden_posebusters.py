#!/usr/bin/env python3
"""Write tests/golden/rescore/checks.tsv: checks of the poses there by PoseBusters.

    tools/golden_posebusters.py tests/golden/rescore

Wants posebusters 0.6.5 and RDKit 2026.9.1 from PyPI. Runs the modules of its configuration "dock"
for the distance to the protein, the volume that they share, and the clashes within the molecule.
turned-NAME.sdf.gz and turned.tsv are molecules whose torsions are turned at random, and their
clashes alone."""
import gzip
import io
import pathlib
import random
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import posebusters
from posebusters.modules.distance_geometry import check_geometry
from posebusters.modules.intermolecular_distance import check_intermolecular_distance
from posebusters.modules.volume_overlap import check_volume_overlap
from rdkit import Chem
from rdkit.Chem import rdMolTransforms

IGNORED = {"hydrogens", "organic_cofactors", "inorganic_cofactors", "waters"}
BOUNDS = {"set15bounds": True, "scaleVDW": True, "doTriangleSmoothing": True,
          "useMacrocycle14config": False}


TURNS = Chem.MolFromSmarts("[!$([D1]);!$(*#*)]-!@[!$([D1]);!$(*#*)]")
TURNED = ("1a46", "6o5u")
N_TURNED = 20


def inner_clashes(pose):
    found = check_geometry(pose, threshold_bad_bond_length=.25, threshold_clash=.3,
                           threshold_bad_angle=.25, bound_matrix_params=BOUNDS)
    return found["results"]["number_clashes"]


def turn(mol, rng):
    """A copy with all torsions at random."""
    pose = Chem.Mol(mol)
    place = pose.GetConformer()
    for b, c in mol.GetSubstructMatches(TURNS):
        a = [n.GetIdx() for n in mol.GetAtomWithIdx(b).GetNeighbors() if n.GetIdx() != c]
        d = [n.GetIdx() for n in mol.GetAtomWithIdx(c).GetNeighbors() if n.GetIdx() != b]
        if a and d:
            rdMolTransforms.SetDihedralDeg(place, a[0], b, c, d[0], rng.uniform(-180, 180))
    return pose


def write_turned(folder):
    rng = random.Random(5)
    with open(folder / "turned.tsv", "w", encoding="ascii") as out:
        out.write("# posebusters 0.6.5, by tools/golden_posebusters.py\npocket\trecord\tinternal\n")
        for name in TURNED:
            mol = next(iter(Chem.ForwardSDMolSupplier(gzip.open(folder / (name + ".sdf.gz")))))
            text = io.StringIO()
            writer = Chem.SDWriter(text)
            for number in range(1, N_TURNED + 1):
                pose = turn(mol, rng)
                writer.write(pose)
                out.write("%s\t%d\t%d\n" % (name, number, inner_clashes(pose)))
            writer.close()
            packed = gzip.compress(text.getvalue().encode(), mtime=0)
            (folder / ("turned-%s.sdf.gz" % name)).write_bytes(packed)


def main(folder):
    folder = pathlib.Path(folder)
    assert posebusters.__version__ == "0.6.5", posebusters.__version__
    with open(folder / "checks.tsv", "w", encoding="ascii") as out:
        out.write("# posebusters 0.6.5, by tools/golden_posebusters.py\n"
                  "pocket\trecord\tclashes\tdistance\tclosest\tfar\toverlap\toverlaps\tinternal\n")
        for path in sorted(folder.glob("????.sdf.gz")):
            name = path.name[:4]
            text = "".join(line for line in gzip.open(folder / (name + ".pdb.gz"), "rt")
                           if not line.startswith("ATOM") or line[16] in " A1")
            protein = Chem.MolFromPDBBlock(text, sanitize=False, removeHs=False,
                                           proximityBonding=False)
            for number, pose in enumerate(Chem.ForwardSDMolSupplier(gzip.open(path)), 1):
                near = check_intermolecular_distance(pose, protein, ignore_types=IGNORED)["results"]
                shared = check_volume_overlap(pose, protein, clash_cutoff=0.075,
                                              ignore_types=IGNORED)["results"]
                out.write("%s\t%d\t%d\t%.4f\t%.4f\t%d\t%.4f\t%d\t%d\n" % (
                    name, number, near["num_pairwise_clashes"], near["smallest_distance"],
                    near["most_extreme_relative_distance"], not near["not_too_far_away"],
                    shared["volume_overlap"], not shared["no_volume_clash"], inner_clashes(pose)))
    write_turned(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
