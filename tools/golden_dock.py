#!/usr/bin/env python3
"""Golden files of docking's inputs and sampler, tests/golden/dock.

    golden_dock.py space OUT.sdf [EVERY]       molecules of RDKit's own data, with all hydrogens and
                                               coordinates by RDKit, of the wheel or rdkit-data
    golden_dock.py scatter OUT.sdf             all of them without hydrogens, atoms anywhere: turns
                                               follow from these places, in a moment
    golden_dock.py count DOCK_TEST FILE.sdf    compares features, bonds and torsions of all of them
    golden_dock.py make FILE.sdf ORACLE        writes few of them that have all features, and paths
                                               of the sampler by the statement ORACLE/dd.py

Needs the Python packages rdkit, networkx and numpy. Features follow the published program
(gcorso/DiffDock b4704d9, datasets/process_mols.py): the molecule is read from its file, gets all
hydrogens, and loses them again. Its stereo is cleaned, so that atoms that are no centres have no
turn.
"""
import collections
import glob
import gzip
import io
import os
import subprocess
import sys

from usage import usage

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FOLDER = os.path.join(ROOT, "tests", "golden", "dock")
NAMES = ("element turn degree charge implicit hydrogens radicals hybrid aromatic rings "
         "ring3 ring4 ring5 ring6 ring7 ring8").split()
HYBRIDS = ["SP", "SP2", "SP3", "SP3D", "SP3D2"]
TURNS = ["CHI_UNSPECIFIED", "CHI_TETRAHEDRAL_CW", "CHI_TETRAHEDRAL_CCW"]
TYPES = ["SINGLE", "DOUBLE", "TRIPLE", "AROMATIC"]


def within(value, least, most):
    """The place of a number in a table of least to most, whose last row is for all others."""
    return value - least if least <= value <= most else most - least + 1


def features(molecule):
    from rdkit import Chem
    rings = molecule.GetRingInfo()
    rows = []
    for i, a in enumerate(molecule.GetAtoms()):
        hybrid, turn = str(a.GetHybridization()), str(a.GetChiralTag())
        rows.append([
            within(a.GetAtomicNum(), 1, 118), TURNS.index(turn) if turn in TURNS else 3,
            within(a.GetTotalDegree(), 0, 10), within(a.GetFormalCharge(), -5, 5),
            within(a.GetValence(Chem.ValenceType.IMPLICIT), 0, 6),
            within(a.GetTotalNumHs(), 0, 8), within(a.GetNumRadicalElectrons(), 0, 4),
            HYBRIDS.index(hybrid) if hybrid in HYBRIDS else 5, int(a.GetIsAromatic()),
            within(rings.NumAtomRings(i), 0, 6),
            *(int(rings.IsAtomInRingOfSize(i, size)) for size in range(3, 9))])
    return rows


def torsions(molecule):
    """(u, v, which atoms turn) of each bond that turns, by networkx."""
    import networkx
    graph = networkx.Graph()
    graph.add_nodes_from(range(molecule.GetNumAtoms()))
    graph.add_edges_from((b.GetBeginAtomIdx(), b.GetEndAtomIdx()) for b in molecule.GetBonds())
    found = []
    for b in molecule.GetBonds():
        u, v = b.GetBeginAtomIdx(), b.GetEndAtomIdx()
        graph.remove_edge(u, v)
        if not networkx.is_connected(graph):
            small = min(networkx.connected_components(graph), key=len)
            if len(small) > 1:
                ends = (v, u) if u in small else (u, v)
                found.append([*map(str, ends),
                              "".join(str(int(i in small)) for i in range(len(graph)))])
        graph.add_edge(u, v)
    return found


def described(block):
    """The lines of a molecule as dock_test prints them; None: RDKit or the networks take none."""
    from rdkit import Chem
    molecule = Chem.MolFromMolBlock(block, removeHs=False)
    if molecule is None:
        return None
    molecule = Chem.RemoveHs(Chem.AddHs(molecule))
    lines = ["atom " + " ".join(map(str, row)) for row in features(molecule)]
    for b in molecule.GetBonds():
        ends = b.GetBeginAtomIdx(), b.GetEndAtomIdx()
        if str(b.GetBondType()) not in TYPES:
            return None
        for u, v in (ends, ends[::-1]):
            lines.append(f"bond {u} {v} {TYPES.index(str(b.GetBondType()))}")
    if len(Chem.GetMolFrags(molecule)) != 1:
        return None
    return lines + ["torsion " + " ".join(t) for t in torsions(molecule)]


def printed(program, path):
    """(status, lines, words) of each molecule of a file."""
    out = subprocess.run([program, "ligands", path], check=True, capture_output=True).stdout
    found = []
    for line in out.decode("utf-8", "replace").splitlines():
        if line.startswith("molecule "):
            found.append((line.split()[2], [], line))
        else:
            found[-1][1].append(line)
    return found


def blocks(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8",
                                                       errors="replace") as file:
        return [block for block in file.read().split("$$$$\n") if block.strip()]


# ---- molecules ----

def sources():
    """Texts of SMILES and SDF of RDKit's data, each molecule once."""
    import rdkit
    from rdkit import Chem
    home = os.path.dirname(rdkit.__file__)
    places = [home, "/usr/share/RDKit"]
    seen = set()
    for place in places:
        for path in sorted(glob.glob(place + "/**/*", recursive=True)):
            if path.endswith((".sdf", ".mol")):
                found = (Chem.MolFromMolBlock(block) for block in blocks(path))
            elif path.endswith(".smi"):
                with open(path, encoding="latin-1") as file:
                    found = [Chem.MolFromSmiles(line.split()[0]) for line in file if line.strip()]
            else:
                continue
            for molecule in found:
                key = Chem.MolToSmiles(molecule) if molecule else ""
                for part in sorted(set(key.split(".")), key=len)[-1:] if key else []:
                    if part not in seen:
                        seen.add(part)
                        yield part


def placed(smiles):
    from rdkit import Chem
    from rdkit.Chem import AllChem
    molecule = Chem.MolFromSmiles(smiles)
    if molecule is None:
        return None
    molecule = Chem.AddHs(molecule)
    settings = AllChem.ETKDGv3()
    settings.randomSeed, settings.maxIterations, settings.timeout = 1, 2, 2
    try:
        if molecule.GetNumAtoms() > 250 or AllChem.EmbedMolecule(molecule, settings):
            return None
        return Chem.MolToMolBlock(molecule)
    except RuntimeError:
        return None


def scatter(out):
    import numpy
    from rdkit import Chem
    from rdkit.Geometry import Point3D
    rng, n = numpy.random.default_rng(7), 0
    with open(out, "w", encoding="utf-8") as file:
        for smiles in sources():
            molecule = Chem.MolFromSmiles(smiles)
            if molecule is None or molecule.GetNumAtoms() > 150:
                continue
            conformer = Chem.Conformer(molecule.GetNumAtoms())
            conformer.Set3D(True)
            for i, x in enumerate(rng.uniform(-9, 9, (molecule.GetNumAtoms(), 3)).round(4)):
                conformer.SetAtomPosition(i, Point3D(*map(float, x)))
            molecule.RemoveAllConformers()
            molecule.AddConformer(conformer)
            for bond in molecule.GetBonds():  # the places alone say what is E or Z
                bond.SetStereo(Chem.BondStereo.STEREONONE)
            file.write(Chem.MolToMolBlock(molecule) + "$$$$\n")
            n += 1
    print(n, "molecules")


def space(out, every=1):
    import multiprocessing
    found = list(sources())[::every]
    n = 0
    with open(out, "w", encoding="utf-8") as file, multiprocessing.Pool() as pool:
        for block in pool.imap(placed, found, 16):
            if block:
                n += 1
                file.write(block + "$$$$\n")
    print(f"{len(found)} molecules, {n} with coordinates")


# ---- comparison ----

def count(program, path):
    n = same = rows = same_rows = refused = n_torsions = 0
    classes = collections.Counter()
    shown = collections.Counter()
    for block, (status, lines, words) in zip(blocks(path), printed(program, path)):
        want = described(block)
        if want is None or status != "0":
            refused += want is not None
            if want is not None:
                print("refused here:", words)
            continue
        n += 1
        same += lines == want
        mine = [line.split()[1:] for line in lines if line.startswith("atom")]
        theirs = [line.split()[1:] for line in want if line.startswith("atom")]
        rows += len(theirs)
        n_torsions += sum(line.startswith("torsion") for line in want)
        if len(mine) != len(theirs):
            classes["number of atoms"] += 1
            continue
        for i, (a, b) in enumerate(zip(mine, theirs)):
            same_rows += a == b
            if a != b:
                kind = " ".join(f"{name}:{x}-{y}" for name, x, y in zip(NAMES, a, b) if x != y)
                classes[f"{int(b[0]) + 1} {kind}"] += 1
                shown[kind] += 1
                if shown[kind] <= 3:
                    print(block.split("\n")[0], words, i + 1, kind, "of element", int(b[0]) + 1)
        for what in ("bond", "torsion"):
            if [x for x in lines if x.startswith(what)] != [x for x in want if x.startswith(what)]:
                classes[what] += 1
                print(words, what)
    print(f"{n} molecules, {same} equal ({100 * same / n:.2f} %); {rows} rows, {same_rows} equal "
          f"({100 * same_rows / rows:.3f} %); {n_torsions} torsions; {refused} refused here alone")
    for kind, k in classes.most_common():
        print(k, kind)


# ---- golden files ----

def write(name, text):
    path = os.path.join(FOLDER, name)
    data = text.encode()
    if name.endswith(".gz"):
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file:
            file.write(data)
        data = packed.getvalue()
    with open(path, "wb") as file:
        file.write(data)
    print(name, len(data), "bytes")


def choose(path, most):
    """Molecules that have a value of a feature, or a number of torsions, which none before has."""
    seen, chosen = set(), []
    for block in blocks(path):
        want = described(block)
        if want is None or len(chosen) == most:
            continue
        words = [line.split()[1:] for line in want if line.startswith("atom")]
        if any(int(row[0]) + 1 in METALS for row in words):
            continue
        facts = {(row[0], k, x) for row in words for k, x in enumerate(row)}
        facts.add(("torsions", sum(line.startswith("torsion") for line in want)))
        facts.update(line for line in want if line.startswith("bond") and line[-1] == "2")
        if facts - seen:
            seen |= facts
            chosen.append((block, want))
    return chosen


def ligands(path):
    with open(os.path.join(FOLDER, "ligand.sdf"), encoding="ascii") as file:
        first = file.read().split("$$$$\n")[0]
    chosen = [(first, described(first))] + choose(path, 120)
    write("ligands.sdf.gz", "".join(block + "$$$$\n" for block, _ in chosen))
    write("ligands.txt.gz", "".join(f"molecule {i} 0\n" + "".join(line + "\n" for line in want)
                                    for i, (_, want) in enumerate(chosen, 1)))


def philox(key, counter):
    """Philox4x32-10 (Salmon and others, 2011)."""
    keys, words = [key & 0xffffffff, key >> 32], list(counter)
    for _ in range(10):
        a, b = 0xD2511F53 * words[0], 0xCD9E8D57 * words[2]
        words = [(b >> 32) ^ words[1] ^ keys[0], b & 0xffffffff,
                 (a >> 32) ^ words[3] ^ keys[1], a & 0xffffffff]
        keys = [(keys[0] + 0x9E3779B9) & 0xffffffff, (keys[1] + 0xBB67AE85) & 0xffffffff]
    return words


def normal(seed, record, sample, step, kind, k):
    import math
    w = philox(seed, [kind << 16 | k, sample << 16 | step, record & 0xffffffff, record >> 32])
    u = [(((w[2 * i] << 32 | w[2 * i + 1]) >> 12) + 0.5) * 2.0 ** -52 for i in range(2)]
    return math.sqrt(-2 * math.log(u[0])) * math.cos(2 * math.pi * u[1])


def paths(oracle):
    """Poses of both releases after each step, from recorded scores and random numbers."""
    import numpy as np
    sys.path.insert(0, oracle)
    import dd
    import make_golden
    # CGModel's ranges are its golden file's; ours are v1.0's in both
    ranges = make_golden.RANGES["score_v10"]
    lines, steps = [], []
    for name, release in (("score_v10", "1.0"), ("score_v11", "1.1")):
        c, poses = make_golden.complex_(release)
        n_steps, n = (20, 19)[release == "1.1"], int(c.marked.sum())
        temps = make_golden.TEMPS if release == "1.1" else ((1., 0., .5),) * 3
        z = np.load(f"{oracle}/{name}.npz")["noise"]
        rng = np.random.default_rng(20 + n_steps)
        scores = rng.normal(size=(n_steps, 2, 6 + n))
        times = [1 - i / 20 for i in range(n_steps)]
        so3 = dd.so3_norm_v10 if release == "1.0" else dd.so3_norm_v11
        for i, t in enumerate(times):
            sigma = [dd.sigma_of(t, x) for x in ranges]
            norms = so3(sigma[1]), dd.torus_norm(sigma[2])
            scores[i, :, :3] /= sigma[0]
            scores[i, :, 3:6] *= norms[0]
            scores[i, :, 6:] *= np.sqrt(norms[1])
            dt = t - times[i + 1] if i + 1 < n_steps else t
            parts = [f"{x:.17g}" for k in range(3) for x in
                     (sigma[k], dd.deltas(1., t, dt, ranges[k], 0., release, k, *temps[k]),
                      0. if i + 1 == n_steps else
                      dd.deltas(0., t, dt, ranges[k], 1., release, k, *temps[k]))]
            steps.append(" ".join(["v" + release, f"{t:.17g}", *parts,
                                   *(f"{x:.17g}" for x in norms)]))
        part = lambda a, i: (a[i][:, :3], a[i][:, 3:6], a[i][:, 6:])
        keep = []
        at = iter(range(n_steps))
        dd.sample(lambda p, t, s: part(scores, next(at)), poses, c, times, ranges,
                  [part(z, i) for i in range(n_steps)], release, temps, keep)
        np.savez(f"{FOLDER}/noise_v{release}.npz", noise=z, start=poses.astype(np.float32))
        np.savez(f"{FOLDER}/scores_v{release}.npz", noise=scores)
        for sample in range(2):
            lines += [f"v{release} " + " ".join(f"{x:.9g}" for x in pose[sample].ravel())
                      for pose in keep]
    write("paths.txt.gz", "\n".join(lines) + "\n")
    write("steps.txt", "\n".join(steps) + "\n")


def pocket(oracle):
    """Residues and atoms of a pocket, as the published program saw them."""
    import numpy as np
    z = np.load(oracle + "/inputs.npz")
    lines = ["residue %d %.4f %.4f %.4f" % (t, *x) for t, x in zip(z["res_type"], z["ca"])]
    lines += ["atom %d %d %d %d %d %.4f %.4f %.4f" % (r, *t, *x) for r, t, x in
              zip(z["atom_residue"], z["atom_types"], z["atom_pos"])]
    write("pocket.txt.gz", "\n".join(lines) + "\n")


def make(path, oracle):
    ligands(path)
    paths(oracle)
    pocket(oracle)
    rows = []
    for seed, record, sample in ((0, 0, 0), (7, 1 << 33, 2), (2**64 - 1, 5, 65535)):
        draws = [normal(seed, record, sample, 3, kind, k) for kind in (0, 1, 2) for k in range(3)]
        rows.append(" ".join(map(str, (seed, record, sample))) + " " +
                    " ".join(f"{x:.12g}" for x in draws))
    write("draws.txt", "\n".join(rows) + "\n")


METALS = {*range(3, 5), *range(11, 14), *range(19, 32), *range(37, 51), *range(55, 85),
          *range(87, 119)}

if __name__ == "__main__":
    usage(__doc__)
    if sys.argv[1] == "space":
        space(sys.argv[2], int((sys.argv[3:] or ["1"])[0]))
    elif sys.argv[1] == "scatter":
        scatter(sys.argv[2])
    elif sys.argv[1] == "count":
        count(*sys.argv[2:4])
    else:
        make(*sys.argv[2:4])
