#!/usr/bin/env python3
"""dock.py DOCK_TEST SOURCE_ROOT - docking's inputs and sampler against the published rules.

Golden files are made by tools/golden_dock.py: RDKit, networkx, and a statement of the sampler in
NumPy. Standard library only.
"""
import gzip
import math
import os
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

EXE = ROOT = ""


def golden(name):
    return os.path.join(ROOT, "tests", "golden", "dock", name)


def text_of(name):
    opened = gzip.open if name.endswith(".gz") else open
    with opened(golden(name), "rt", encoding="utf-8") as file:
        return file.read()


def run(*args, code=0):
    p = subprocess.run([EXE, *map(str, args)], capture_output=True, text=True)
    assert p.returncode == code, (args, p.returncode, p.stdout[-500:], p.stderr)
    return p.stdout if code == 0 else p.stderr


def rows(text, name):
    return [line.split()[1:] for line in text.splitlines() if line.split()[0] == name]


def floats(words):
    return [float(word) for word in words]


def sdf(atoms, bonds, name="m"):
    """A molecule of (element, x, y, z) and (a, b, order)."""
    lines = [name, "", "", "%3d%3d  0  0  0  0  0  0  0  0999 V2000" % (len(atoms), len(bonds))]
    lines += ["%10.4f%10.4f%10.4f %-3s 0  0" % (x, y, z, e) for e, x, y, z in atoms]
    lines += ["%3d%3d%3d  0" % bond for bond in bonds]
    return "\n".join(lines + ["M  END", "$$$$", ""])


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def path(self, name, content):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path


class Ligands(Folder):
    def test_rdkit(self):
        """Features, bonds and torsions of molecules that have all values of features."""
        got = run("ligands", golden("ligands.sdf.gz"))
        self.assertEqual([line.rstrip() for line in got.splitlines()],
                         text_of("ligands.txt.gz").splitlines())
        self.assertGreater(len(rows(got, "atom")), 1200)
        self.assertGreater(len(rows(got, "torsion")), 200)
        for column, least in enumerate((12, 3, 4, 3, 4, 4, 2, 3, 2, 4, 2, 2, 2, 2, 1, 1)):
            self.assertGreaterEqual(len({row[column] for row in rows(got, "atom")}), least, column)

    def test_ties(self):
        """Where two parts are equal, the one with the first atom turns, in whichever order a bond
        names its atoms."""
        atoms = [("C", 1.5 * i, i % 2, 0.1 * i) for i in range(4)]
        for bond, want in (((2, 3, 1), ["2", "1", "1100"]), ((3, 2, 1), ["2", "1", "1100"])):
            path = self.path("a.sdf", sdf(atoms, [(1, 2, 1), bond, (3, 4, 1)]))
            self.assertEqual(rows(run("ligands", path), "torsion"), [want])
        path = self.path("a.sdf", sdf(atoms, [(4, 3, 1), (3, 1, 1), (1, 2, 1)]))
        self.assertEqual(rows(run("ligands", path), "torsion"), [["2", "0", "1100"]])

    def test_refusals(self):
        chain = lambda n, z=0.1: [("C", 1.2 * i, i % 2, z * i) for i in range(n)]
        line = lambda n, order=1: [(i, i + 1, order) for i in range(1, n)]
        cases = (
            (chain(3, 0), line(3), -4, "z is 0"),
            (chain(4), [(1, 2, 1), (3, 4, 1)], -5, "several parts"),
            ([("N", 0, 0, 1), ("Zn", 2, 0, 0)], [(1, 2, 9)], -5, "dative bond"),
            ([("H", 0, 0, 1), ("H", .7, 0, 0)], [(1, 2, 1)], None, "heavier than hydrogen"),
            ([("C", 10001, 0, 1), ("C", 10000, 0, 0)], [(1, 2, 1)], -4, "beyond 10000"),
            (chain(151), line(151), None, "151 atoms, at most 150"),
            (chain(66), line(66), None, "more than 60 bonds that turn"),
            (chain(1), [], 0, ""), (chain(63), line(63), 0, ""))
        path = self.path("a.sdf", "".join(sdf(atoms, bonds) for atoms, bonds, _, _ in cases))
        got = rows(run("ligands", path), "molecule")
        self.assertEqual(len(got), len(cases))
        for row, (_, _, status, words) in zip(got, cases):
            self.assertIn(words, " ".join(row[2:]))
            self.assertEqual(row[1] == "0", status == 0, row)


class Receptors(Folder):
    def receptor(self, lines, release, code=0):
        return run("receptor", self.path("r.pdb", "\n".join(lines) + "\n"), release, code=code)

    def test_published(self):
        """A pocket that the published program made graphs of lies in the receptor, as it is."""
        got = run("receptor", golden("6moa.pdb.gz"), "v1.1")
        want = text_of("pocket.txt.gz")
        place = lambda words: tuple(round(x, 2) for x in floats(words))
        mine = rows(got, "residue")
        theirs = rows(want, "residue")
        for first in mine:  # the golden pocket has an origin of its own
            by = [a - b for a, b in zip(floats(first[1:]), floats(theirs[0][1:]))]
            near = lambda words, a: all(abs(x - y - b) < 2e-3 for x, y, b in
                                        zip(floats(words), floats(a), by))
            found = [next((i for i, row in enumerate(mine) if near(row[1:], a[1:])), None)
                     for a in theirs]
            if None not in found:
                break
        self.assertNotIn(None, found)
        self.assertEqual([mine[i][0] for i in found], [row[0] for row in theirs])
        atoms = [row for row in rows(got, "atom") if int(row[0]) in found]
        self.assertEqual(len(atoms), len(rows(want, "atom")))
        for a, b in zip(atoms, rows(want, "atom")):
            self.assertEqual([found.index(int(a[0])), *a[1:5]], [int(b[0]), *b[1:5]])
            self.assertTrue(near(a[5:], b[5:]), (a, b))
        self.assertEqual(len(found), 59)
        # the receptor is centred
        for k in range(1, 4):
            self.assertLess(abs(sum(float(row[k]) for row in mine)), 1e-4)
        self.assertTrue(place(first[1:]))

    # names, element, chain and number of residues; x = 10 number + place of the atom
    def residue(self, name, chain, number, atoms="N CA C O", het=False, alternate=" ", most=1.0):
        return ["%-6s%5d  %-3s%s%3s %s%4d    %8.3f%8.3f%8.3f%6.2f%6.2f          %2s" %
                ("HETATM" if het else "ATOM", 1, atom, alternate, name, chain, number,
                 10 * number + k, k % 3, number % 5, most, 0, atom.strip("123")[0])
                for k, atom in enumerate(atoms.split())]

    def test_names(self):
        lines = sum((self.residue(name, "A", i, het=i > 4) for i, name in enumerate(
            "ALA VAL HIE CYX MSE SEP HOH UNK SEC HIP".split(), 1)), [])
        got = self.receptor(lines, "v1.0")
        self.assertEqual([row[0] for row in rows(got, "residue")],
                         ["0", "19", "8", "4", "12", "29", "37", "37", "8"])
        self.assertEqual(rows(got, "chain"), [["AVHCM--UH"]])
        self.assertEqual(rows(got, "counts"), [["1", "2", "4", "0", "0"]])
        got = self.receptor(lines, "v1.1")  # without UNK, which ProDy does not call protein
        self.assertEqual([row[0] for row in rows(got, "residue")],
                         ["0", "19", "8", "4", "12", "15", "37", "8"])
        self.assertEqual(rows(got, "chain"), [["AVHCMSGH"]])
        self.assertEqual(rows(got, "counts"), [["1", "1", "4", "1", "0"]])
        misc = [row[1:5] for row in rows(got, "atom") if row[1] == "37"]
        self.assertEqual(misc, 4 * [["37", "118", "22", "37"]])

    def test_atoms(self):
        full = "N CA C O CB OG HG OXT 1HB"
        lines = self.residue("SER", "A", 1, full) + self.residue("SEP", "A", 2, "N CA C O CB OG P")
        types = lambda text: [row[1:5] for row in rows(text, "atom")]
        got = types(self.receptor(lines, "v1.1"))
        self.assertEqual([row[3] for row in got], ["17", "1", "0", "26", "2", "31"] +
                         ["17", "1", "0", "26"])
        self.assertEqual(got[5], ["15", "7", "16", "31"])
        got = types(self.receptor(lines, "v1.0"))
        self.assertEqual([row[3] for row in got], ["17", "1", "0", "26", "2", "31", "34"] +
                         ["17", "1", "0", "26", "2", "31", "37"])
        self.assertEqual(got[-1], ["29", "14", "22", "37"])

    def test_incomplete_and_alternates(self):
        lines = (self.residue("ALA", "B", 1) + self.residue("GLY", "B", 2, "N CA O") +
                 self.residue("ALA", "A", 3, "N C O") + self.residue("TRP", "A", 4) +
                 self.residue("LEU", "B", 5))
        ten, eleven = self.receptor(lines, "v1.0"), self.receptor(lines, "v1.1")
        self.assertEqual(rows(ten, "chain"), [["AL"], ["W"]])  # chains as they begin in the file
        self.assertEqual(rows(eleven, "chain"), [["AGL"], ["W"]])
        self.assertEqual((rows(ten, "counts")[0][4], rows(eleven, "counts")[0][4]), ("2", "1"))
        lines = (self.residue("ALA", "A", 1) +
                 self.residue("SER", "A", 2, "N CA C", False, "B", .6) +
                 self.residue("SER", "A", 2, "CA C O", False, "A", .4) +
                 self.residue("GLY", "A", 3))
        place = lambda text: [float(row[1]) for row in rows(text, "residue")]
        ten, eleven = self.receptor(lines, "v1.0"), self.receptor(lines, "v1.1")
        # the highest occupancy has its CA second in its residue, A has it first
        self.assertAlmostEqual(place(ten)[1] - place(ten)[0], 10, 3)
        self.assertAlmostEqual(place(eleven)[1] - place(eleven)[0], 9, 3)

    def test_refusals(self):
        good = self.residue("ALA", "A", 1) + self.residue("GLY", "A", 2)
        for release in ("v1.0", "v1.1"):
            for lines, words in (
                    (self.residue("HOH", "A", 1, "O"), "no residue of a protein"),
                    (good[:4], "a single residue"),
                    ([good[0].replace("  10.000", "20000.00"), *good[1:]], "beyond 10000"),
                    ([*good[:1], good[1].replace("  11.000", "     abc"), *good[2:]], "abc"),
                    (sum((self.residue("GLY", "A", i % 9000) for i in range(3001)), []),
                     "more than 3000 residues"),
                    (good + 251 * self.residue("GLY", "A", 3), "more than 1000 atoms")):
                self.assertIn(words, self.receptor(lines, release, code=1))


def npz(**arrays):
    """An archive of arrays: dtype, shape and numbers."""
    body = directory = b""
    for name, (dtype, shape, values) in arrays.items():
        head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (dtype, tuple(shape))
        head = head.ljust(117) + "\n"
        data = (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
                struct.pack("<%d%s" % (len(values), "fd"[dtype == "<f8"]), *values))
        file = (name + ".npy").encode()
        sizes = struct.pack("<IIIHH", zlib.crc32(data), len(data), len(data), len(file), 0)
        directory += (b"PK\1\2" + struct.pack("<HHHHHH", 20, 20, 0, 0, 0, 0x21) + sizes +
                      struct.pack("<HHHII", 0, 0, 0, 0, len(body)) + file)
        body += b"PK\3\4" + struct.pack("<HHHHH", 20, 0, 0, 0, 0x21) + sizes + file + data
    n = len(arrays)
    return body + directory + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, n, n, len(directory),
                                                      len(body), 0)


class Sampler(Folder):
    def test_steps(self):
        """Noise, factors and expected scores of each step."""
        for release, n in (("v1.0", 18), ("v1.1", 19)):
            got = [floats(row) for row in rows(run("steps", release), "step")]
            want = [floats(row) for row in rows(text_of("steps.txt"), release)]
            self.assertEqual(len(got), n)
            for i, (a, b) in enumerate(zip(got, want)):
                last = i == n - 1
                for k, (x, y) in enumerate(zip(a, b)):
                    if last and release == "v1.0" and k in (2, 3, 5, 6, 8, 9):
                        continue  # the golden path goes on
                    self.assertLessEqual(abs(x - y), 2e-6 * abs(y), (release, i, k))
                if last:
                    self.assertEqual((a[3], a[6], a[9]), (0, 0, 0))
        # the last step of v1.0's documented command goes from 0.15 to 0
        last = floats(rows(run("steps", "v1.0"), "step")[-1])
        self.assertAlmostEqual(last[0], 0.15)
        self.assertAlmostEqual(last[2] / (last[1] ** 2 * 2 * math.log(190)), 0.15, 12)

    def test_published_tables(self):
        """Norms of rotations as the published tables have them, to the digits that are known."""
        for release, known in (("v1.0", ((1.55, .01846),)), ("v1.1", ((1.55, .203081),))):
            first = floats(rows(run("steps", release), "step")[0])
            self.assertAlmostEqual(first[4], known[0][0], 9)
            self.assertLess(abs(first[10] - known[0][1]), 1e-5 if release == "v1.0" else 1e-6)

    def test_paths(self):
        """Poses after each step, from recorded scores and random numbers."""
        farthest = n = 0
        for release in ("v1.0", "v1.1"):
            got = rows(run("path", golden("ligand.sdf"), release, golden(f"noise_{release}.npz"),
                           golden(f"scores_{release}.npz")), "pose")
            want = rows(text_of("paths.txt.gz"), release)
            self.assertEqual(len(got), len(want))
            for a, b in zip(got, want):
                n += 1
                farthest = max(farthest, *(abs(x - y) for x, y in zip(floats(a), floats(b))))
                self.assertEqual(len(a), len(b))
        self.assertEqual(n, 78)
        self.assertLess(farthest, 1e-5)

    def test_draws(self):
        """Random numbers follow from their place alone, whatever came before them."""
        for row in text_of("draws.txt").splitlines():
            seed, record, sample, *want = row.split()
            got = run("start", golden("ligand.sdf"), "v1.1", seed, record, int(sample) + 1
                      if int(sample) < 100 else 3)
            drawn = rows(got, "draw")
            if int(sample) < 100:
                for a, b in zip(floats(drawn[-1]), floats(want)):
                    self.assertLess(abs(a - b), 1e-10)
        again = rows(run("start", golden("ligand.sdf"), "v1.1", 0, 0, 9), "draw")
        self.assertEqual(again[0], rows(run("start", golden("ligand.sdf"), "v1.1", 0, 0, 1),
                                        "draw")[0])
        self.assertEqual(len({tuple(row) for row in again}), 9)

    def test_starts(self):
        """Starts keep bonds' lengths, differ by release in their spread, and turn all ways."""
        atoms = rows(run("ligands", golden("ligand.sdf")), "bond")
        bonds = {(int(a), int(b)) for a, b, _ in atoms}
        with open(golden("ligand.sdf"), encoding="ascii") as file:
            lines = file.read().splitlines()
        n = int(lines[3][:3])
        places = [floats(line.split()[:3]) for line in lines[4:4 + n] if line.split()[3] != "H"]
        for release, spread in (("v1.0", 19.0), ("v1.1", 1.4602 * 10 / 1.73)):
            square, ways = 0.0, [0.0] * 3
            for row in rows(run("start", golden("ligand.sdf"), release, 3, 1, 400), "pose"):
                x = [floats(row[3 * i:3 * i + 3]) for i in range(len(places))]
                for a, b in bonds:
                    self.assertAlmostEqual(math.dist(x[a], x[b]),
                                           math.dist(places[a], places[b]), 5)
                mean = [sum(p[k] for p in x) / len(x) for k in range(3)]
                square += sum(m * m for m in mean) / 1200
                # rings of the ligand are rigid: the way from atom 0 to its neighbour turns about
                a, b = min(bonds)
                ways = [w + (q - p) / math.dist(x[a], x[b]) / 400
                        for w, p, q in zip(ways, x[a], x[b])]
            self.assertLess(abs(math.sqrt(square) / spread - 1), 0.08)
            self.assertLess(max(map(abs, ways)), 0.12)

    def test_recorded_refusals(self):
        ligand, scores = golden("ligand.sdf"), golden("scores_v1.1.npz")
        numbers = lambda n: [0.25] * n
        start = ("<f4", (2, 30, 3), numbers(180))
        noise = ("<f8", (19, 2, 9), numbers(342))
        good = self.path("good.npz", npz(noise=noise, start=start))
        self.assertEqual(len(rows(run("path", ligand, "v1.1", good, scores), "pose")), 38)
        for arrays, words in (
                ({"start": start}, "no array 'noise'"),
                ({"noise": ("<f8", (18, 2, 9), numbers(324))}, "18 steps of noise, expected 19"),
                ({"noise": ("<f8", (19, 1, 9), numbers(171))}, "1 samples of noise, expected 2"),
                ({"noise": ("<f8", (19, 2, 8), numbers(304))}, "8 numbers of noise a step"),
                ({"noise": ("<f8", (19, 18), numbers(342))}, "2 axes"),
                ({"noise": ("<f8", (19, 2, 9), numbers(341))}, "bytes, expected"),
                ({"noise": ("<f8", (1 << 40, 2, 9), numbers(9))}, "more than"),
                ({"noise": ("<f8", (19, 2, 9), [*numbers(341), math.nan])}, "number 341 is not"),
                ({"noise": noise, "start": ("<f4", (2, 29, 3), numbers(174))}, "29 atoms"),
                ({"noise": noise, "start": ("<f4", (1, 30, 3), numbers(90))}, "1 samples that")):
            path = self.path("bad.npz", npz(**arrays))
            self.assertIn(words, run("path", ligand, "v1.1", path, scores, code=1))
        self.assertIn("bad.npz", run("path", ligand, "v1.1", self.path("bad.npz", b"PK"), scores,
                                     code=1))
        self.assertIn("none.npz", run("path", ligand, "v1.1", "none.npz", scores, code=1))

    def test_scores_that_are_not_finite(self):
        """Such a step moves nothing."""
        huge = npz(noise=("<f8", (19, 2, 9), [1e308] * 342))
        args = golden("ligand.sdf"), "v1.1", golden("noise_v1.1.npz"), self.path("huge.npz", huge)
        poses = rows(run("path", *args), "pose")
        self.assertEqual(run("path", *args).count("lost\n"), 38)
        self.assertEqual([len({tuple(pose) for pose in poses[i:i + 19]}) for i in (0, 19)], [1, 1])


if __name__ == "__main__":
    EXE, ROOT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
