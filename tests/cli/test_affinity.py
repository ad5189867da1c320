#!/usr/bin/env python3
"""test_affinity.py BIOINFER SOURCE_ROOT - drives `bioinfer dualbind` as a user does.

Weights follow a formula (tools/dualbind_weights.py); energies to compare with were made by a
statement of the formulas in NumPy (tools/golden_dualbind.py). Standard library only.
"""
import gzip
import json
import math
import os
import pickle
import random
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

EXE = ROOT = ""
SANITIZED = os.environ.get("BIOINFER_SANITIZED") == "1"  # where a ligand takes twenty times as long
TOLERANCE = 1e-6  # relative: results are computed in float32
HEAD = ["id", "record", "energy", "pairs", "ligand_atoms", "pocket_atoms", "distance", "status",
        "message"]


def setUpModule():
    global FOLDER, GOLDEN
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    sys.dont_write_bytecode = True
    import dualbind_weights
    FOLDER = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(FOLDER.cleanup)
    for width, member in ((64, 0), (64, 1), (256, 0)):
        dualbind_weights.write(weights(width, member), width, member)
    GOLDEN = os.path.join(ROOT, "tests", "golden", "dualbind")


def weights(width=64, member=0):
    return os.path.join(FOLDER.name, f"w{width}-{member}.safetensors")


def golden(name):
    return os.path.join(GOLDEN, name)


def receptor(name):
    return golden("6w70.pdb.gz") if name == "6w70" else os.path.join(
        ROOT, "tests", "golden", "proteinmpnn", name + ".pdb")


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        return file.read()


def run(*args, code=0, stdin="", cwd=None):
    p = subprocess.run([EXE, *args], input=stdin.encode(), capture_output=True, cwd=cwd)
    assert p.returncode == code, (args, p.returncode, p.stdout[-500:], p.stderr[-1500:])
    return p.stdout.decode(), p.stderr.decode()


def rows_of(text):
    lines = [line.split("\t") for line in text.splitlines()]
    assert lines[0] == HEAD, lines[0]
    assert {len(line) for line in lines} == {len(HEAD)}, lines
    return [dict(zip(HEAD, line)) for line in lines[1:]]


def rate(protein, ligands, *more, code=0, stdin="", **other):
    text, words = run("dualbind", protein, ligands, "--weights", weights(), *more, code=code,
                      stdin=stdin, **other)
    return rows_of(text), words


def energy(rows):
    return [float(row["energy"]) for row in rows]


class Molecule:
    """Atoms and bonds of an SDF record, to be moved and shuffled."""

    def __init__(self, text):
        lines = text.splitlines()
        n, m = int(lines[3][:3]), int(lines[3][3:6])
        self.head, self.tail = lines[:4], lines[4 + n + m:]
        self.atoms = [([float(line[k:k + 10]) for k in (0, 10, 20)], line[30:])
                      for line in lines[4:4 + n]]
        self.bonds = [(int(line[:3]), int(line[3:6]), line[6:]) for line in lines[4 + n:4 + n + m]]

    def text(self):
        return "\n".join(
            self.head + ["%10.4f%10.4f%10.4f" % tuple(x) + rest for x, rest in self.atoms] +
            ["%3d%3d%s" % bond for bond in self.bonds] + self.tail) + "\n"

    def move(self, f):
        self.atoms = [(f(x), rest) for x, rest in self.atoms]
        return self

    def shuffle(self, rng):
        """Another order of the atoms; bonds stay in theirs, which chirality depends on."""
        order = list(range(len(self.atoms)))
        rng.shuffle(order)
        to = {old + 1: new + 1 for new, old in enumerate(order)}
        self.atoms = [self.atoms[old] for old in order]
        self.bonds = [(to[a], to[b], rest) for a, b, rest in self.bonds]
        for k, line in enumerate(self.tail):
            if line.startswith("M  CHG"):
                pairs = line[9:].split()
                pairs[::2] = [str(to[int(a)]) for a in pairs[::2]]
                self.tail[k] = line[:9] + "".join("%4s" % p for p in pairs)
        return self


def records(path):
    return [part + "$$$$\n" for part in re.split(r"\$\$\$\$\n", read(path))[:-1]]


def moved_pdb(text, f):
    out = []
    for line in text.splitlines():
        if line.startswith(("ATOM", "HETATM")):
            x = f([float(line[k:k + 8]) for k in (30, 38, 46)])
            line = line[:30] + "%8.3f%8.3f%8.3f" % tuple(x) + line[54:]
        out.append(line)
    return "\n".join(out) + "\n"


class Energies(unittest.TestCase):
    def test_golden(self):
        with open(golden("golden.json"), encoding="utf-8") as file:
            wanted = json.load(file)["energies"]
        runs = {}
        for w in wanted:
            key = (w["width"], w["member"], w["receptor"], w["ligands"], w["drop_unknown"])
            if key not in runs:
                more = ["--drop-unknown"] if w["drop_unknown"] else []
                text, _ = run("dualbind", receptor(w["receptor"]), golden(w["ligands"]),
                              "--weights", weights(w["width"], w["member"]), *more)
                runs[key] = rows_of(text)
            row = runs[key][w["record"]]
            self.assertEqual((row["status"], int(row["pairs"])), ("ok", w["pairs"]), w)
            self.assertLess(abs(float(row["energy"]) / w["energy"] - 1), TOLERANCE, (row, w))
        self.assertGreater(len(runs), 10)

    def test_weights_have_no_default(self):
        """They are not to be had from the hub: the words say from where."""
        _, words = run("dualbind", receptor("6w70"), golden("poses.sdf"), code=78)
        self.assertIn("no weights are named", words)
        self.assertIn("NGC", words)
        self.assertNotIn("huggingface.co", words)

    def test_definitions_of_the_ops(self):
        rows, _ = rate(receptor("5L33"), golden("ligand.sdf"))
        defined, _ = rate(receptor("5L33"), golden("ligand.sdf"), "--device", "reference")
        self.assertLess(abs(energy(rows)[0] / energy(defined)[0] - 1), TOLERANCE)

    def test_ensembles_are_means(self):
        names = [weights(64, 0), weights(64, 1)]
        of = []
        for name in (*names, ",".join(names)):
            text, _ = run("dualbind", receptor("6w70"), golden("poses.sdf"), "--weights", name)
            of.append(energy(rows_of(text)))
        self.assertGreater(len(of[0]), 1)
        for a, b, both in zip(*of, strict=True):
            self.assertLess(abs(both - (a + b) / 2), TOLERANCE * max(abs(a), abs(b)))
        wrapped = os.path.join(FOLDER.name, "wrapped.safetensors")
        with open(names[1], "rb") as f:
            header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
            data = f.read()
        head = json.dumps({k if k == "__metadata__" else "module._orig_mod." + k: v
                           for k, v in header.items()}).encode()
        with open(wrapped, "wb") as f:
            f.write(struct.pack("<Q", len(head)) + head + data)
        text, _ = run("dualbind", receptor("6w70"), golden("poses.sdf"), "--weights",
                      names[0] + "," + wrapped)
        self.assertEqual(energy(rows_of(text)), of[2])
        _, words = run("dualbind", receptor("6w70"), golden("poses.sdf"), "--weights",
                       names[0] + "," + weights(256), code=78)
        self.assertIn("256 wide, the first checkpoint is 64 wide", words)

    def test_weights_say_what_the_model_is(self):
        text, _ = run("affinity", receptor("6w70"), golden("poses.sdf"), "--weights", weights())
        self.assertEqual(rows_of(text), rate(receptor("6w70"), golden("poses.sdf"))[0])
        _, words = run("affinity", receptor("6w70"), golden("poses.sdf"), "--weights",
                       os.path.join(ROOT, "tests", "golden", "esm2", "hf-d16"), code=64)
        self.assertIn("esm2 rates no complexes", words)

    def test_alone_and_together(self):
        together, _ = rate(receptor("6w70"), golden("poses.sdf"))
        for more in (("--batch-tokens", "1"), ("--threads", "1"), ("--batch-tokens", "100000")):
            self.assertEqual(rate(receptor("6w70"), golden("poses.sdf"), *more)[0], together)
        for row, text in zip(together, records(golden("poses.sdf")), strict=True):
            alone, _ = rate(receptor("6w70"), "-", stdin=text)
            self.assertEqual([alone[0][k] for k in HEAD[2:]], [row[k] for k in HEAD[2:]])

    def test_hypervalent_ligands_among_others(self):
        """Atoms of more bonds make another graph: no batch mixes the two."""
        around = ((0, 0, 0), (1.56, 0, 0), (-1.56, 0, 0), (0, 1.56, 0), (0, -1.56, 0),
                  (0, 0, 1.56), (0, 0, -1.56))
        poses = records(golden("poses.sdf"))
        x, y, z = Molecule(poses[0]).atoms[0][0]
        fluoride = "sf6\n\n\n  7  6  0  0  0  0  0  0  0  0999 V2000\n" + "".join(
            "%10.4f%10.4f%10.4f %-3s 0  0\n" % (x + dx, y + dy, z + dz, "F" if k else "S")
            for k, (dx, dy, dz) in enumerate(around)) + "".join(
                "%3d%3d  1  0\n" % (1, k) for k in range(2, 8)) + "M  END\n$$$$\n"
        texts = [text for pose in poses for text in (pose, fluoride)]
        mixed, words = rate(receptor("6w70"), "-", "--batch-tokens", "100000", "--profile",
                            stdin="".join(texts))
        self.assertRegex(words, r"tokens in 2 batches")
        self.assertNotIn("no atom near", words)
        alone = {text: rate(receptor("6w70"), "-", stdin=text)[0][0] for text in set(texts)}
        self.assertEqual({row["status"] for row in alone.values()}, {"ok"})
        for row, text in zip(mixed, texts, strict=True):
            self.assertEqual([row[k] for k in HEAD[2:]], [alone[text][k] for k in HEAD[2:]])

    def test_one_transfer_for_each_batch(self):
        copies, tokens = (3, "5000") if SANITIZED else (12, "20000")
        many = "".join(records(golden("poses.sdf")) * copies)
        for name in (weights(), weights() + "," + weights(64, 1)):
            _, words = run("dualbind", receptor("6w70"), "-", "--weights", name, "--profile",
                           "--batch-tokens", tokens, stdin=many)
            batches = int(re.search(r"tokens in (\d+) batches", words).group(1))
            counts = re.search(r"(\d+) uploads, (\d+) submits, (\d+) downloads", words).groups()
            self.assertGreater(batches, 5)
            self.assertEqual([int(n) for n in counts], [batches] * 3)

    def test_order_of_atoms(self):
        rng = random.Random(3)
        for text in records(golden("poses.sdf")):
            first = energy(rate(receptor("6w70"), "-", stdin=text)[0])[0]
            other = energy(rate(receptor("6w70"), "-",
                                stdin=Molecule(text).shuffle(rng).text())[0])[0]
            self.assertLess(abs(other / first - 1), 2 * TOLERANCE)

    def test_rotations_and_reflections(self):
        # coordinates in a file are rounded, so only moves that round nothing are exact: exchanged
        # axes, signs, whole numbers; the ligand has no chirality that a reflection would change
        pdb, sdf = read(receptor("5L33")), read(golden("ligand.sdf"))
        achiral = sdf.replace("O   0", "C   0", 1).replace("C   0  0", "C   0  0")
        moves = {"turned": lambda x: [x[1], x[2], x[0]],
                 "turned by half": lambda x: [-x[0], -x[1], x[2]],
                 "moved": lambda x: [x[0] + 20, x[1] - 13, x[2] + 5]}
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "p.pdb")
            first = energy(rate(receptor("5L33"), "-", stdin=achiral)[0])[0]
            for name, move in moves.items():
                with open(path, "w", encoding="ascii") as file:
                    file.write(moved_pdb(pdb, move))
                other = energy(rate(path, "-", stdin=Molecule(achiral).move(move).text())[0])[0]
                self.assertLess(abs(other / first - 1), 5 * TOLERANCE, name)
            # mirrored: two atoms that make a centre are apart, so no atom has a hand
            mirror = lambda x: [-x[0], x[1], x[2]]
            flat = Molecule(achiral)
            flat.bonds = [b for b in flat.bonds if b[:2] not in ((4, 5), (3, 4))]
            flat.head[3] = "%3d%3d" % (len(flat.atoms), len(flat.bonds)) + flat.head[3][6:]
            first = energy(rate(receptor("5L33"), "-", stdin=flat.text())[0])[0]
            with open(path, "w", encoding="ascii") as file:
                file.write(moved_pdb(pdb, mirror))
            other = energy(rate(path, "-", stdin=flat.move(mirror).text())[0])[0]
            self.assertLess(abs(other / first - 1), 5 * TOLERANCE)

    def test_pocket(self):
        few, _ = rate(receptor("6w70"), golden("6w70_ligand.sdf"), "--pocket", "10")
        many, _ = rate(receptor("6w70"), golden("6w70_ligand.sdf"), "--pocket", "100000")
        self.assertLess(int(few[0]["pocket_atoms"]), 100)
        self.assertGreater(int(many[0]["pocket_atoms"]), 900)
        self.assertGreater(int(many[0]["pairs"]), int(few[0]["pairs"]))

    def test_lightning_checkpoint(self):
        """A dict of PyTorch's with the tensors under state_dict, as Lightning writes it."""
        import dualbind_weights
        path = os.path.join(FOLDER.name, "w.ckpt")
        write_torch(path, dualbind_weights.weights(64))
        text, _ = run("dualbind", receptor("6w70"), golden("poses.sdf"), "--weights", path)
        self.assertEqual(rows_of(text), rate(receptor("6w70"), golden("poses.sdf"))[0])


def write_torch(path, tensors):
    """A zip file as torch.save() makes it, without PyTorch: classes of its pickle are stand-ins."""
    class Storage:
        def __init__(self, key, n):
            self.key, self.n = key, n

    class Tensor:
        def __init__(self, storage, shape):
            self.storage, self.shape = storage, shape

        def __reduce__(self):
            strides, at = [], 1
            for n in reversed(self.shape):
                strides.insert(0, at)
                at *= n
            return rebuild, (self.storage, 0, tuple(self.shape), tuple(strides), False, {})

    class Pickler(pickle._Pickler):
        def persistent_id(self, obj):
            return ("storage", FloatStorage, obj.key, "cpu", obj.n) if isinstance(obj, Storage) \
                else None

        def save_global(self, obj, name=None):
            if obj is rebuild:
                self.write(b"ctorch._utils\n_rebuild_tensor_v2\n")
            elif obj is FloatStorage:
                self.write(b"ctorch\nFloatStorage\n")
            else:
                super().save_global(obj, name)

        dispatch = dict(pickle._Pickler.dispatch)
        dispatch[type(write_torch)] = save_global
        dispatch[type] = save_global

    import io
    state, data = {}, {}
    for k, (name, (shape, values)) in enumerate(tensors.items()):
        state[name] = Tensor(Storage(str(k), len(values)), shape)
        data[str(k)] = values.tobytes()
    text = io.BytesIO()
    Pickler(text, 2).dump({"epoch": 104, "global_step": 36960, "state_dict": state,
                           "pytorch-lightning_version": "2.5.0", "callbacks": {},
                           "optimizer_states": [], "lr_schedulers": [], "loops": {}})
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("w/data.pkl", text.getvalue())
        z.writestr("w/byteorder", "little")
        for key, value in data.items():
            z.writestr("w/data/" + key, value)
        z.writestr("w/version", "3\n")


class FloatStorage:
    pass


def rebuild():
    pass


class BadInput(unittest.TestCase):
    """Every molecule has its row, with a status, record and line where it cannot be used."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        self.good = records(golden("poses.sdf"))[1]

    def path(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        return path

    def test_ligands(self):
        lines = self.good.splitlines(keepends=True)
        counts = lines[3]
        n = int(counts[:3])

        def with_atom(k, element):
            line = lines[4 + k]
            return "".join(lines[:4 + k] + [line[:31] + "%-3s" % element + line[34:]] +
                           lines[5 + k:])

        def with_counts(text):
            return "".join(lines[:3] + [text + "\n"] + lines[4:])
        far = Molecule(self.good).move(lambda x: [x[0] + 100, x[1], x[2]]).text()
        flat = Molecule(self.good).move(lambda x: [x[0], x[1], 0]).text()
        metal = ("metal\n\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n" +
                 lines[4][:31] + "N  " + lines[4][34:] + lines[5][:31] + "Zn " + lines[5][34:] +
                 "  1  2  9\nM  END\n$$$$\n")
        hydrogens = ("h\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n" + lines[4][:31] + "H  " +
                     lines[4][34:] + "M  END\n$$$$\n")
        salt = ("salt\n\n\n  2  0  0  0  0  0  0  0  0  0999 V2000\n" + lines[4][:31] + "Na " +
                lines[4][34:] + lines[5][:31] + "Cl " + lines[5][34:] +
                "M  CHG  2   1   1   2  -1\nM  END\n$$$$\n")
        isotope = self.good.replace("M  END", "M  ISO  1   1  13\nM  END")
        cases = [  # name, text, status, part of the message
            ("good", self.good, "ok", ""),
            ("counts broken", with_counts("garbage"), "bad_format", "line"),
            ("no atoms", with_counts("  0  0" + counts[6:].rstrip("\n")), None, "record 3"),
            ("too many atoms", with_counts("%3d" % (n + 1) + counts[3:].rstrip("\n")), "bad_format",
             "record 4"),
            ("query atom", with_atom(0, "Q"), None, "record 5"),
            ("R group", with_atom(0, "R#"), None, "record 6"),
            ("dative", metal, None, "record 7"),
            ("isotope", isotope, "ok", ""),
            ("salt", salt, "ok", ""),
            ("no place in space", flat, "bad_format", "z is 0"),
            ("hydrogens", hydrogens, "empty", "none of them heavier than hydrogen"),
            ("far away", far, "ok", "no pair"),
            ("naïve ü", "naïve ü" + self.good[self.good.index("\n"):], "ok", ""),
            ("carriage returns", self.good.replace("\n", "\r\n"), "ok", ""),
            ("last", self.good[:self.good.index("$$$$")], "ok", ""),
        ]
        rows, words = self.rows_with_record_and_line(cases)
        path = os.path.join(self.dir, "l.sdf")
        good = rows[0]
        for k in (13, 14):
            self.assertEqual(rows[k]["energy"], good["energy"])
        self.assertNotEqual(rows[7]["energy"], good["energy"])
        self.assertEqual((float(rows[11]["energy"]), rows[11]["pairs"]), (0, "0"))
        self.assertEqual(rows[12]["id"], "naïve ü")
        self.assertIn("1 ligands have no atom near the protein", words)
        run("dualbind", receptor("6w70"), path, "--weights", weights(), "--strict", "-o",
            os.path.join(self.dir, "o.tsv"), code=65)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "o.tsv")))

    def test_places_that_are_no_angstrom(self):
        """A ligand with all atoms on one point, and a protein in nanometres, are rated and told."""
        good = Molecule(self.good)
        _, words = rate(receptor("6w70"), self.path("good.sdf", good.text()))
        self.assertNotIn("angstrom", words)
        center = list(good.atoms[0][0])
        point = Molecule(self.good).move(lambda x: center).text()
        small = Molecule(self.good).move(
            lambda x: [c + 0.1 * (v - c) for c, v in zip(center, x)]).text()
        _, words = rate(receptor("6w70"), self.path("point.sdf", self.good + point + small))
        self.assertIn("a bond of 0, which is none in angstrom", words)
        self.assertIn("2 ligands have bonds shorter than 0.4 angstrom", words)
        self.assertEqual(words.count("nanometres"), 1)
        nano = moved_pdb(read(receptor("5L33")), lambda x: [v / 10 for v in x])
        _, words = rate(self.path("nano.pdb", nano), self.path("good.sdf", good.text()))
        self.assertIn("nano.pdb: residue 1: two atoms are 0.1", words)
        self.assertEqual(words.count("nanometres"), 1)

    def rows_with_record_and_line(self, cases):
        """Rates `cases`, (name, text, status or None = any failure, part of the message), as one
        file: each has its row with its number, and where it has no energy the reason with the line
        of its own."""
        path = self.path("l.sdf", "".join(text for _, text, _, _ in cases))
        rows, words = rate(receptor("6w70"), path,
                           code=int(any(status != "ok" for _, _, status, _ in cases)))
        self.assertEqual([row["record"] for row in rows], [str(k + 1) for k in range(len(cases))])
        first = 1
        for row, (name, text, status, part) in zip(rows, cases, strict=True):
            if status:
                self.assertEqual(row["status"], status, (name, row))
            else:
                self.assertNotIn(row["status"], ("ok", "internal_error"), (name, row))
            self.assertIn(part, row["message"], name)
            end = first + text.count("\n")
            if row["status"] != "ok":
                self.assertEqual([row[k] for k in HEAD[2:7]], [""] * 5, name)
                found = re.match(r".*l\.sdf: record (\d+), line (\d+): ", row["message"])
                self.assertEqual(found and found.group(1), row["record"], (name, row))
                self.assertTrue(first <= int(found.group(2)) <= end, (name, row, first, end))
            first = end
        return rows, words

    def with_bond(self, k, order):
        """The good ligand with another order of bond k."""
        lines = self.good.splitlines(keepends=True)
        at = 4 + int(lines[3][:3]) + k
        lines[at] = lines[at][:6] + "%3d" % order + lines[at][9:]
        return "".join(lines)

    def test_counts_and_ends(self):
        lines = self.good.splitlines(keepends=True)
        n, m = int(lines[3][:3]), int(lines[3][3:6])

        def with_counts(atoms, bonds):
            return "".join(lines[:3] + ["%3d%3d" % (atoms, bonds) + lines[3][6:]] + lines[4:])
        body = "".join(lines[:-1])
        rows, _ = self.rows_with_record_and_line([
            ("no atoms, their lines are there", with_counts(0, 0), None, ""),
            ("an atom too few", with_counts(n - 1, m), "bad_format", ""),
            ("an atom too many", with_counts(n + 1, m), "bad_format", ""),
            ("a bond too few", with_counts(n, m - 1), "bad_format", "are the counts right?"),
            ("a bond too many", with_counts(n, m + 1), "bad_format", ""),
            ("$$$$ is missing before the next one", body + self.good, "bad_format", "$$$$"),
            ("cut in its atoms", "".join(lines[:10]) + "$$$$\n", "bad_format", "ends here"),
            ("M  END is missing", "".join(lines[:4 + n + m]) + "$$$$\n", "bad_format", "M  END"),
            ("the last one, without $$$$", body, "ok", "")])
        self.assertEqual(energy([rows[-1]]), energy(rate(receptor("6w70"), "-",
                                                         stdin=self.good)[0]))

    def test_types_of_bonds(self):
        """Query bonds have no features, aromatic ones (type 4) those of a Kekule structure."""
        pyrrole = ["%10.4f%10.4f%10.4f %-3s 0  0\n" % (26 + math.cos(a), 16 + math.sin(a), 57, e)
                   for a, e in zip((0, 1.26, 2.51, 3.77, 5.03), "NCCCC")]
        ring = ["%3d%3d  4  0\n" % (k + 1, (k + 1) % 5 + 1) for k in range(5)]
        head = "pyrrole\n\n\n  5  5  0  0  0  0  0  0  0  0999 V2000\n"
        hydrogen = "%10.4f%10.4f%10.4f H   0  0\n" % (27.9, 16, 57)
        self.rows_with_record_and_line([
            *((f"query bond {k}", self.with_bond(1, k), "unsupported", "a query")
              for k in (5, 6, 7, 8)),
            ("dative bond 9", self.with_bond(1, 9), "unsupported", "dative"),
            ("hydrogen bond 10", self.with_bond(1, 10), "unsupported", "hydrogen bond"),
            ("bond 0", self.with_bond(1, 0), "bad_format", "type 0"),
            ("bond 77", self.with_bond(1, 77), "bad_format", "type 77"),
            ("an aromatic bond out of a ring", self.with_bond(5, 4), "bad_format", "of atoms"),
            ("aromatic, the hydrogen of its nitrogen is missing",
             head + "".join(pyrrole + ring) + "M  END\n$$$$\n", "bad_format", "hydrogen missing"),
            ("aromatic, with it", head.replace("  5  5", "  6  6") +
             "".join(pyrrole + [hydrogen] + ring) + "  1  6  1  0\nM  END\n$$$$\n", "ok", "")])

    def test_metals(self):
        x = ["%10.4f%10.4f%10.4f" % (26 + 2 * k, 16, 57) for k in range(5)]

        def record(name, elements, bonds, more=""):
            return (name + "\n\n\n%3d%3d  0  0  0  0  0  0  0  0999 V2000\n" % (
                len(elements), len(bonds)) + "".join(
                    "%s %-3s 0  0\n" % (at, e) for at, e in zip(x, elements)) + "".join(
                        "%3d%3d%3d  0\n" % b for b in bonds) + more + "M  END\n$$$$\n")
        self.rows_with_record_and_line([
            ("an ion", record("zn", ["Zn"], [], "M  CHG  1   1   2\n"), "ok", ""),
            ("a metal with carbons", record("hg", ["C", "Hg", "C"], [(1, 2, 1), (2, 3, 1)]), "ok",
             ""),
            ("a bond beyond a valence is dative",
             record("amine", ["Zn", "N", "C", "C", "C"],
                    [(2, 3, 1), (2, 4, 1), (2, 5, 1), (2, 1, 1)]), "unsupported",
             "atoms 2 and 1 are joined by a dative bond")])

    def test_v3000(self):
        """The same molecules and faults in the other version of the format."""
        def v3000(text):
            m = Molecule(text)
            head = ["%s" % line for line in m.head[:3]] + [
                "  0  0  0     0  0            999 V3000", "M  V30 BEGIN CTAB",
                "M  V30 COUNTS %d %d 0 0 0" % (len(m.atoms), len(m.bonds)), "M  V30 BEGIN ATOM"]
            atoms = ["M  V30 %d %s %.4f %.4f %.4f 0" % (k + 1, rest[1:4].strip(), *x)
                     for k, (x, rest) in enumerate(m.atoms)]
            bonds = ["M  V30 %d %s %d %d" % (k + 1, rest[:3].strip(), a, b)
                     for k, (a, b, rest) in enumerate(m.bonds)]
            return "\n".join(head + atoms + ["M  V30 END ATOM", "M  V30 BEGIN BOND"] + bonds + [
                "M  V30 END BOND", "M  V30 END CTAB", "M  END", "$$$$"]) + "\n"
        plain = re.sub(r"M  (CHG|RAD|ISO).*\n", "", self.good)
        good = v3000(plain)
        n = len(Molecule(plain).atoms)
        rows, _ = self.rows_with_record_and_line([
            ("good", good, "ok", ""),
            ("an atom too many", good.replace("COUNTS %d" % n, "COUNTS %d" % (n + 1)),
             "bad_format", ""),
            ("a query bond", re.sub(r"(M  V30 1) \d (\d+ \d+\n)", r"\1 8 \2", good),
             "unsupported", "a query"),
            ("a group", re.sub(r"M  V30 1 [A-Z]\S* ", "M  V30 1 R# ", good), "unsupported", "R#"),
            ("a list of atoms", re.sub(r"M  V30 1 [A-Z]\S* ", "M  V30 1 [C,N] ", good), None, ""),
            ("the end is missing", good.replace("M  V30 END CTAB\n", ""), "bad_format", "")])
        self.assertEqual(energy(rows[:1]), energy(rate(receptor("6w70"), "-", stdin=plain)[0]))

    def test_residues_without_ca(self):
        """They stand at the origin, which the command says; a ligand far from every CA has no
        pairs and a warning."""
        pdb = read(receptor("5L33"))
        atoms = [line for line in pdb.splitlines() if line.startswith("ATOM")]
        path = self.path("p.pdb", "\n".join(a for a in atoms if a[12:16] != " CA ") + "\n")
        rows, words = rate(path, golden("ligand.sdf"))
        self.assertEqual(rows[0]["status"], "ok")
        self.assertIn("106 of 106 residues have no CA", words)
        far = Molecule(read(golden("ligand.sdf"))).move(lambda x: [x[0] + 100, x[1], x[2]]).text()
        rows, words = rate(receptor("5L33"), "-", stdin=far)
        self.assertEqual((float(rows[0]["energy"]), rows[0]["pairs"]), (0, "0"))
        self.assertGreater(float(rows[0]["distance"]), 70)
        self.assertIn("1 ligands have no atom near the protein", words)

    def test_aromatic_bonds(self):
        """Bonds of type 4 give what the bonds of one Kekule structure give."""
        ring = [(math.cos(k * math.pi / 3) * 1.39, math.sin(k * math.pi / 3) * 1.39)
                for k in range(6)]
        x, y, z = Molecule(self.good).atoms[0][0]

        def benzene(orders):
            return ("ring\n\n\n  6  6  0  0  0  0  0  0  0  0999 V2000\n" + "".join(
                "%10.4f%10.4f%10.4f C   0  0\n" % (x + a, y + b, z) for a, b in ring) + "".join(
                    "%3d%3d%3d  0\n" % (k + 1, (k + 1) % 6 + 1, order)
                    for k, order in enumerate(orders)) + "M  END\n$$$$\n")
        rows, _ = rate(receptor("6w70"), "-", stdin=benzene([1, 2] * 3) + benzene([4] * 6))
        self.assertEqual(rows[0]["energy"], rows[1]["energy"])

    def test_receptors(self):
        pdb = read(receptor("5L33"))
        atoms = [line for line in pdb.splitlines() if line.startswith("ATOM")]
        ligand = golden("ligand.sdf")
        first = rate(receptor("5L33"), ligand)[0][0]

        def energy_of(text):
            return rate(self.path("p.pdb", text), ligand)[0][0]["energy"]
        self.assertEqual(energy_of("\n".join(atoms)), first["energy"])
        self.assertEqual(energy_of("\r\n".join(atoms)), first["energy"])
        # waters are none, ions and ligands have no atoms and stand at the origin
        water = "\n".join(atoms[0][:17] + name + " W%4d " % k + atoms[0][27:]
                          for k, name in ((9998, "WAT"), (9999, "HOH")))
        ion = "HETATM" + atoms[0][6:12] + " ZN   ZN Z 900 " + atoms[0][27:]
        self.assertEqual(energy_of("\n".join([*atoms, water.replace("ATOM  ", "HETATM"), ion])),
                         first["energy"])
        # the alternate location of the highest occupancy, the first one of equal ones
        k = next(i for i, line in enumerate(atoms) if line[12:16].strip() == "CB" and
                 line[17:20] == "LEU")
        away = atoms[k][:16] + "B" + atoms[k][17:30] + "   1.000   2.000   3.000"
        mine = atoms[k][:16] + "A" + atoms[k][17:54]
        for a, b, same in ((" 0.60", " 0.40", True), (" 0.50", " 0.50", True),
                           (" 0.40", " 0.60", False)):
            text = atoms[:k] + [mine + " " + a + atoms[k][60:], away + " " + b + atoms[k][60:]] + \
                atoms[k + 1:]
            self.assertEqual(energy_of("\n".join(text)) == first["energy"], same, (a, b))
        # other names of histidine, and selenomethionine, are unknown: fewer atoms, and with
        # --drop-unknown other residues take their places
        for name, other in (("HIS", "HIE"), ("HIS", "HID"), ("MET", "MSE")):
            renamed = [line.replace(f" {name} ", f" {other} ") for line in atoms]
            path = self.path("p.pdb", "\n".join(renamed))
            rows, words = rate(path, ligand)
            self.assertNotEqual(rows[0]["energy"], first["energy"])
            self.assertRegex(words, r"p.pdb: [1-9]\d* of 106 residues have names")
        for text, part in (("", "empty"), ("REMARK nothing\n", "no ATOM record"),
                           ("\n".join(["MODEL        1", *atoms, "ENDMDL", "MODEL        2", *atoms,
                                       "ENDMDL"]), "2 models, expected one"),
                           ("\n".join(line[:17] + "UNK" + line[20:] for line in atoms),
                            "no atom of a residue with a standard name")):
            _, words = run("dualbind", self.path("bad.pdb", text), ligand, "--weights", weights(),
                           code=65)
            self.assertIn(part, words)
        _, words = run("dualbind", "none.pdb", ligand, "--weights", weights(), code=66)
        self.assertIn("none.pdb", words)

    def test_unknown_residues_at_the_origin(self):
        """Unknown residues stand at the origin; a ligand there finds them first."""
        move = lambda x: [x[0] - 26, x[1] - 16, x[2] - 57]
        pdb = moved_pdb(read(receptor("5L33")), move).splitlines()
        atoms = [line for line in pdb if line.startswith("ATOM")]
        ions = ["HETATM" + atoms[0][6:12] + " ZN   ZN Z%4d " % k + atoms[0][27:]
                for k in range(900, 930)]
        path = self.path("p.pdb", "\n".join(atoms + ions) + "\n")
        sdf = self.path("l.sdf", Molecule(read(golden("ligand.sdf"))).move(move).text())
        kept, _ = rate(path, sdf)
        dropped, words = rate(path, sdf, "--drop-unknown")
        self.assertIn("30 of 136 residues have names", words)
        self.assertLess(int(kept[0]["pocket_atoms"]), 300)
        self.assertEqual(int(dropped[0]["pocket_atoms"]), 431)

    def test_smiles(self):
        """SMILES are refused with the command that makes conformers of them; in a table of pairs
        they cost their rows alone."""
        smiles = self.path("library.smi", "CCO ethanol\nc1ccccc1 benzene\n")
        command = "python3 -m bioinfer.conformers " + smiles
        err = run("dualbind", receptor("6w70"), smiles, "--weights", weights(), "-o", "-",
                  code=65)[1]
        self.assertIn(command, err)
        table = self.path("pairs.csv", "protein_path,ligand_path\n" +
                          "".join(f"{receptor('6w70')},{ligand}\n"
                                  for ligand in (smiles, self.path("good.sdf", self.good))))
        out = run("dualbind", table, "--weights", weights(), "-o", "-", "--quiet", code=1)[0]
        bad, good = [dict(zip(HEAD, line.split("\t"))) for line in out.splitlines()[1:]]
        self.assertEqual((bad["status"], good["status"]), ("unsupported", "ok"))
        self.assertIn(command, bad["message"])

    def test_pairs(self):
        for name in ("6w70.pdb.gz", "ligand.sdf", "poses.sdf"):
            os.symlink(golden(name), os.path.join(self.dir, name))
        os.symlink(receptor("5L33"), os.path.join(self.dir, "5L33.pdb"))
        table = self.path("pairs.csv", "pdb_id,protein_path,ligand_path,is_test\n"
                          "a,5L33.pdb,ligand.sdf,1\n"
                          "b,6w70.pdb.gz,poses.sdf,1\n"
                          "c,none.pdb,ligand.sdf,1\n"
                          "d,5L33.pdb,none.sdf,1\n"
                          ",5L33.pdb,ligand.sdf,1\n"
                          "f,,ligand.sdf,1\n"
                          "g,6w70.pdb.gz," + golden("6w70_ligand.sdf") + ",1\n"
                          "h,6w70.pdb.gz,poses,2.sdf,1\n")
        text, words = run("dualbind", table, "--weights", weights(), code=1)
        rows = rows_of(text)
        self.assertEqual([row["id"] for row in rows], ["a", "b", "c", "d", "ligand", "f", "g",
                                                    "pair"])
        self.assertEqual([row["status"] for row in rows],
                         ["ok", "ok", "not_found", "not_found", "ok", "bad_format", "ok",
                          "bad_format"])
        self.assertEqual(rows[0]["energy"],
                         rate(receptor("5L33"), golden("ligand.sdf"))[0][0]["energy"])
        self.assertEqual(rows[1]["energy"],
                         rate(receptor("6w70"), golden("poses.sdf"))[0][0]["energy"])
        self.assertIn("pairs.csv: line 7: the row names no protein", rows[5]["message"])
        self.assertIn("pairs.csv: line 9: 5 fields, the header has 4", rows[7]["message"])
        _, words = run("dualbind", self.path("bad.csv", "a,b\n1,2\n"), "--weights", weights(),
                       code=65)
        self.assertIn("protein_path and ligand_path", words)

    def test_weights(self):
        import dualbind_weights
        path = os.path.join(self.dir, "w.safetensors")
        dualbind_weights.write(path, 64, leave_out=("mpn.W_h.weight",))
        _, words = run("dualbind", receptor("5L33"), golden("ligand.sdf"), "--weights", path,
                       code=78)
        self.assertIn("mpn.W_h.weight", words)
        dualbind_weights.write(path, 64, leave_out=("encoder.linear.bias",))
        _, words = run("dualbind", receptor("5L33"), golden("ligand.sdf"), "--weights", path,
                       code=78)
        self.assertIn("encoder.linear.bias is missing", words)

    def test_refuses(self):
        good = (receptor("5L33"), golden("ligand.sdf"), "--weights", weights())
        for code, part, args in (
                (64, "the name says npz, and tsv is written", ("dualbind", *good, "-o", "x.npz")),
                (64, "--top needs a file", ("dualbind", *good, "--top", "3")),
                (64, "--top and --shard", ("dualbind", *good, "--top", "3", "--shard", "1/2", "-o",
                                           os.path.join(self.dir, "o.tsv"))),
                (64, "usage: bioinfer [affinity]", ("dualbind", "--weights", weights())),
                (64, "one argument too many", ("dualbind", "a", "b", "c")),
                (64, "rates ligands", ("embed", "dualbind", "x")),
                (64, "rates no ligands", ("affinity", "esm2", "x")),
                (64, "--pocket", ("esm2", "x", "--pocket", "3")),
                (65, "no ligands", ("dualbind", good[0], "-", *good[2:])),
                (66, "none.sdf", ("dualbind", good[0], "none.sdf", *good[2:]))):
            self.assertIn(part, run(*args, code=code)[1])


class Screens(unittest.TestCase):
    def test_top(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "s.tsv")
            ligands = os.path.join(folder, "l.sdf")
            poses = records(golden("poses.sdf"))
            far = Molecule(poses[0]).move(lambda x: [x[0] + 500, x[1], x[2]]).text()
            with open(ligands, "w", encoding="utf-8") as file:
                file.write("".join(poses * 3) + "broken\n\n\nnothing\n$$$$\n" + far)
            for more in ((), ("--resume",)):
                run("dualbind", receptor("6w70"), ligands, "--weights", weights(), "-o", out,
                    "--top", "4", *more, code=1)
                rows = rows_of(read(out))
                ranked = sorted((row for row in rows if row["energy"] and row["pairs"] != "0"),
                                key=lambda row: (float(row["energy"]), int(row["record"])))
                self.assertEqual(rows_of(read(os.path.join(folder, "s.top.tsv"))), ranked[:4])
                made = json.loads(read(os.path.join(folder, "s.top.tsv.provenance.json")))
                whole = json.loads(read(out + ".provenance.json"))
                self.assertEqual((made.pop("output"), whole.pop("output")), ("s.top.tsv", "s.tsv"))
                self.assertLess(made.pop("output_size"), whole.pop("output_size"))
                self.assertEqual(made, whole)

    def test_threads_share_molecules(self):
        """Molecules are read ahead and shared by threads: rows keep their order and bytes, and a
        file that ends in the middle of gzip gives the rows in front of that."""
        poses = records(golden("poses.sdf"))
        copies, threads = (3, ("3", "40")) if SANITIZED else (12, ("2", "3", "40"))
        text = "".join("".join(poses) + "broken %d\n\n\nnothing\n$$$$\n" % k
                       for k in range(copies))
        alone, _ = run("dualbind", receptor("6w70"), "-", "--weights", weights(), "-q",
                       "--threads", "1", stdin=text, code=1)
        for n in threads:
            self.assertEqual(run("dualbind", receptor("6w70"), "-", "--weights", weights(), "-q",
                                 "--threads", n, stdin=text, code=1)[0], alone)
        self.assertEqual([row["record"] for row in rows_of(alone)],
                         [str(k + 1) for k in range(copies * (len(poses) + 1))])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "cut.sdf.gz")
            with open(path, "wb") as file:
                file.write(gzip.compress(text.encode())[:-200])
            said = []
            for n in ("1", "3"):
                p = subprocess.run([EXE, "dualbind", receptor("6w70"), path, "--weights", weights(),
                                    "--threads", n], capture_output=True)
                said.append((p.returncode, p.stdout, p.stderr.count(b"cut.sdf.gz")))
            self.assertEqual(said[0], said[1])
            self.assertGreaterEqual(said[0][0], 64)
            self.assertGreater(said[0][2], 0)

    def test_rdkit_data(self):
        """Molecules of all kinds near a protein: none is lost, and none has a wrong status."""
        path, every = os.path.join(ROOT, "tests", "golden", "molecules", "rdkit-data.sdf.gz"), 1
        if SANITIZED:  # "cli molecules" reads all of them there
            every = 3
            some = os.path.join(FOLDER.name, "some.sdf")
            with open(some, "w", encoding="utf-8") as file:
                file.write("".join(records(path)[::every]))
            path = some
        text, _ = run("molecule", "info", path)
        lines = [line.split("\t") for line in text.splitlines()]
        readable = [dict(zip(lines[0], line)) for line in lines[1:]]
        rows, _ = rate(receptor("6w70"), path, "-q", code=1)
        self.assertEqual(len(rows), len(readable))
        n_ok = 0
        for row, molecule in zip(rows, readable, strict=True):
            n_ok += row["status"] == "ok"
            if molecule["coordinates"] == "plane":
                self.assertIn(row["status"], ("bad_format", "empty"), row)
            if row["status"] == "ok":
                self.assertTrue(math.isfinite(float(row["energy"])), row)
        self.assertGreater(n_ok, 100 // every)


if __name__ == "__main__":
    EXE, ROOT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
