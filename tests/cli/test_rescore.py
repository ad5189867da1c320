#!/usr/bin/env python3
"""test_rescore.py BIOINFER SOURCE_ROOT - drives `bioinfer rescore` as a user does.

Numbers to compare with were made by AutoDock Vina (tools/golden_vina.py) and PoseBusters
(tools/golden_posebusters.py). Standard library only.
"""
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

EXE = ROOT = ""
POCKETS = ("1a46", "6ahs", "6moa", "6o5u", "6w70")
HEAD = ("id record affinity inter gauss1 gauss2 repulsion hydrophobic hydrogen rotors pairs "
        "ligand_atoms before moved steps clashes distance closest overlap internal checks status "
        "message").split()
TERMS = HEAD[4:9]


def golden(name):
    return os.path.join(ROOT, "tests", "golden", "rescore", name)


def table(name):
    """Rows of a golden table by (pocket, record); a cell that is not there is absent."""
    with open(golden(name), encoding="ascii") as file:
        lines = [line.rstrip("\n").split("\t") for line in file if line[0] != "#"]
    return {(row[0], row[1]): dict(zip(lines[0], row)) for row in lines[1:]}


def run(*args, code=0, stdin=b"", cwd=None):
    p = subprocess.run([EXE, "rescore", *args], input=stdin, capture_output=True, cwd=cwd)
    assert p.returncode == code, (args, p.returncode, p.stdout[-500:], p.stderr[-1500:])
    return p.stdout.decode(), p.stderr.decode()


def rows_of(text):
    lines = [line.split("\t") for line in text.splitlines()]
    assert lines[0] == HEAD, lines[0]
    assert {len(line) for line in lines} == {len(HEAD)}, lines
    return [dict(zip(HEAD, line)) for line in lines[1:]]


def rate(pocket, *more, poses=None, **other):
    return rows_of(run(golden(pocket + ".pdb.gz"), poses or golden(pocket + ".sdf.gz"), "--quiet",
                       *more, **other)[0])


def records(pocket):
    with gzip.open(golden(pocket + ".sdf.gz"), "rt") as file:
        return [text + "$$$$\n" for text in file.read().split("$$$$\n")[:-1]]


class Scores(unittest.TestCase):
    def test_vina(self):
        """Total, energy with the receptor and rotors of 100 poses, and terms of some."""
        wanted = table("poses.tsv")
        n_terms = 0
        for pocket in POCKETS:
            for row in rate(pocket):
                vina = wanted.pop((pocket, row["record"]))
                for name, ours in (("total", "affinity"), ("inter", "inter")):
                    self.assertLess(abs(float(vina[name]) - float(row[ours])), 1e-3, (row, vina))
                self.assertLess(abs(float(vina["rotors"]) - float(row["rotors"])), 1e-4, row)
                for name in TERMS:
                    if name in vina:
                        n_terms += 1
                        self.assertLess(abs(float(vina[name]) - float(row[name])), 1e-4, row)
        self.assertEqual((wanted, n_terms), ({}, 100))

    def test_alone_and_in_company(self):
        one = records("6moa")
        whole = rate("6moa")
        for k in (0, 7, 19):
            alone = rate("6moa", poses="-", stdin=one[k].encode())[0]
            self.assertEqual({**alone, "record": ""}, {**whole[k], "record": ""})

    def test_far_pose(self):
        """A pose without pairs has a row that says so."""
        lines = records("6moa")[0].splitlines()
        n = int(lines[3][:3])
        lines[4:4 + n] = ["%10.4f%s" % (float(line[:10]) + 500, line[10:]) for line in
                          lines[4:4 + n]]
        for more in ((), ("--minimize",)):
            row, = rate("6moa", *more, poses="-", stdin="\n".join(lines).encode())
            self.assertEqual((row["affinity"], row["pairs"], row["distance"], row["checks"]),
                             ("0.000000", "0", "", "far"))
            self.assertIn("no pair", row["message"])


class Minimised(unittest.TestCase):
    def test_vina(self):
        """Vina's own minimisation from the same poses ends no lower, but for other minima."""
        wanted = table("local.tsv")
        lower = 0
        for pocket in POCKETS:
            for row in rate(pocket, "--minimize"):
                vina = wanted[pocket, row["record"]]
                lower += float(row["affinity"]) <= float(vina["total"]) + 0.05
                self.assertGreater(int(row["steps"]), 0)
        self.assertGreaterEqual(lower, 95)

    def test_comes_back(self):
        """The crystal's pose, moved by half an angstrom, ends below the crystal's energy."""
        rows = rate("6moa", "--minimize")
        crystal = float(rows[0]["before"])
        for row in rows:
            self.assertLess(float(row["affinity"]), crystal + 0.1, row)

    def test_poses_are_written(self):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.sdf")
            rows = rate("6w70", "--minimize", "--poses", out)
            again = rate("6w70", poses=out)
            self.assertEqual([row["id"] for row in rows], [row["id"] for row in again])
            for a, b in zip(rows, again):
                for name in ("before", "moved", "steps"):
                    b[name] = a[name]
                self.assertEqual(a, b)
            with open(out, encoding="ascii") as file:
                fields = file.read().split("> <affinity>\n")[1:]
            self.assertEqual([f.split("\n")[0] for f in fields], [row["affinity"] for row in rows])
            with open(out + ".provenance.json", encoding="utf-8") as file:
                self.assertEqual(json.load(file)["output"], "out.sdf")
            # without --minimize the poses stay, and a description of others goes
            run("--no-provenance", golden("6w70.pdb.gz"), golden("6w70.sdf.gz"), "--quiet",
                "--poses", out)
            self.assertEqual(os.listdir(folder), ["out.sdf"])
            for a, b in zip(rate("6w70"), rate("6w70", poses=out)):
                self.assertEqual(a, b)


class Checks(unittest.TestCase):
    def test_posebusters(self):
        wanted = table("checks.tsv")
        n = {"clash": 0, "overlap": 0}
        for pocket in POCKETS:
            for row in rate(pocket):
                bust = wanted.pop((pocket, row["record"]))
                failed = row["checks"].split(",")
                self.assertEqual(row["clashes"], bust["clashes"], row)
                for name in ("distance", "closest"):
                    self.assertAlmostEqual(float(row[name]), float(bust[name]), delta=6e-4)
                self.assertAlmostEqual(float(row["overlap"]), float(bust["overlap"]), delta=5e-3)
                self.assertEqual("far" in failed, bust["far"] == "1")
                self.assertEqual("clash" in failed, bust["clashes"] != "0")
                self.assertEqual("overlap" in failed, bust["overlaps"] == "1", (row, bust))
                self.assertEqual("internal" in failed, bust["internal"] != "0")
                for name in n:
                    n[name] += name in failed
        self.assertFalse(wanted)
        self.assertGreater(min(n.values()), 20, n)

    def test_internal(self):
        """Molecules whose torsions are turned at random: of 40 one verdict may differ."""
        wanted = table("turned.tsv")
        same = found = 0
        for pocket in ("1a46", "6o5u"):
            for row in rate(pocket, poses=golden("turned-%s.sdf.gz" % pocket)):
                bust = int(wanted[pocket, row["record"]]["internal"])
                found += bust > 0
                same += (int(row["internal"]) > 0) == (bust > 0)
        self.assertGreaterEqual(same, 39)
        self.assertGreater(found, 10)


class Runs(unittest.TestCase):
    def test_same_bytes(self):
        with tempfile.TemporaryDirectory() as folder:
            library = os.path.join(folder, "library.sdf")
            broken = ("broken\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n    1.0000\n"
                      "M  END\n$$$$\n")
            with open(library, "w", encoding="ascii") as file:
                file.write("".join(records("6w70")[:9]) + broken + "".join(records("6moa")))
            receptor, out = golden("6w70.pdb.gz"), os.path.join(folder, "out.tsv")

            def table_of(*more, name="out.tsv"):
                run(receptor, library, "--minimize", "--quiet", "-o", os.path.join(folder, name),
                    *more, code=1)
                with open(os.path.join(folder, name), "rb") as file:
                    return file.read()

            first = table_of("--threads", "1")
            self.assertEqual(len(first.splitlines()), 31)
            self.assertEqual(first, table_of("--threads", "3"))
            self.assertEqual(first, table_of("--resume", name="resumed.tsv"))
            for i in (1, 2, 3):
                subprocess.run([EXE, "rescore", receptor, library, "--minimize", "--quiet", "-o",
                                out, "--shard", f"{i}/3"], check=False, capture_output=True)
            os.remove(out)
            subprocess.run([EXE, "merge", out, "--quiet"], check=False, capture_output=True)
            with open(out, "rb") as file:
                self.assertEqual(first, file.read())

    def test_failures_have_rows(self):
        one = records("6moa")[0]
        flat = one.splitlines()
        n = int(flat[3][:3])
        flat[4:4 + n] = ["%s%10.4f%s" % (line[:20], 0, line[30:]) for line in flat[4:4 + n]]
        texts = {
            "flat": "\n".join(flat) + "\n",
            "arsenic": "As\n\n\n  1  0  0  0  0  0  0  0  0  0999 V2000\n"
                       "    1.0000    2.0000    3.0000 As  0  0\nM  END\n$$$$\n",
            "hydrogen": "H\n\n\n  2  1  0  0  0  0  0  0  0  0999 V2000\n"
                        "    1.0000    2.0000    3.0000 H   0  0\n"
                        "    1.7000    2.0000    3.0000 H   0  0\n  1  2  1  0\nM  END\n$$$$\n",
            "good": one}
        rows = rows_of(run(golden("6moa.pdb.gz"), "-", stdin="".join(texts.values()).encode(),
                           code=1)[0])
        self.assertEqual([row["status"] for row in rows],
                         ["bad_format", "unsupported", "empty", "ok"], rows)
        for row, word in zip(rows, ("z is 0", "As", "hydrogen")):
            self.assertIn(word, row["message"])
            self.assertIn("record " + row["record"], row["message"])
            self.assertEqual([row[name] for name in HEAD[2:-2]], [""] * (len(HEAD) - 4))

    def test_refusals(self):
        receptor, poses = golden("6moa.pdb.gz"), golden("6moa.sdf.gz")
        with tempfile.TemporaryDirectory() as folder:
            out, sdf = os.path.join(folder, "a.tsv"), os.path.join(folder, "a.sdf")
            for args, code, words in (
                    ((receptor,), 64, "POSES is missing"),
                    ((receptor, poses, "x"), 64, "too many"),
                    ((os.path.join(folder, "no.pdb"), poses), 66, "no.pdb"),
                    ((receptor, os.path.join(folder, "no.sdf")), 66, "no.sdf"),
                    ((receptor, poses, "-o", out, "--poses", sdf, "--resume"), 64, "--poses"),
                    ((receptor, poses, "-o", out, "--poses", out), 64, "--poses"),
                    ((receptor, poses, "-o", receptor), 64, receptor),
                    ((receptor, poses, "--poses", poses), 64, poses)):
                self.assertIn(words, run(*args, code=code)[1])
            empty = os.path.join(folder, "water.pdb")
            with open(empty, "w", encoding="ascii") as file:
                file.write("HETATM    1  O   HOH A   1       0.000   0.000   0.000  1.00  0.00"
                           "           O\n")
            self.assertIn("no atom", run(empty, poses, code=65)[1])
            for x in ("    nan", "1e7    "):
                with open(empty, "w", encoding="ascii") as file:
                    file.write("ATOM      1  CA  ALA A   1    %8s   0.000   0.000  1.00  0.00"
                               "           C\n" % x)
                self.assertIn("water: ", run(empty, poses, code=65)[1])

    def test_smiles(self):
        """SMILES are refused with the command that makes conformers of them."""
        with tempfile.TemporaryDirectory() as folder:
            path, text = os.path.join(folder, "library.smi"), "CCO ethanol\nc1ccccc1 benzene\n"
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            for poses in (path, "-"):
                for more in ((), ("--minimize",)):
                    out, err = run(golden("6moa.pdb.gz"), poses, *more, stdin=text.encode(),
                                   code=65)
                    self.assertEqual(out.splitlines()[1:], [])
                    self.assertIn("python3 -m bioinfer.conformers " +
                                  (path if poses == path else "library.smi"), err)

    def test_hetero(self):
        """A group beside the ligand counts where --hetero says so; water never does."""
        with gzip.open(golden("6moa.pdb.gz"), "rt") as file:
            text = file.read()
        lines = records("6moa")[0].splitlines()
        at = [float(lines[4][k:k + 10]) for k in (0, 10, 20)]
        group = "".join("HETATM%5d  %s   %s A 900    %8.3f%8.3f%8.3f  1.00  0.00           %s\n" % (
            9000 + i, element, name, at[0] + i, at[1], at[2] + 2, element)
                        for i, (element, name) in enumerate((("C", "ACT"), ("O", "ACT"))))
        zinc = "HETATM 9003 ZN    ZN A 901    %8.3f%8.3f%8.3f  1.00  0.00          ZN\n" % (
            at[0], at[1] + 3, at[2])
        water = "HETATM 9004  O   HOH A 902    %8.3f%8.3f%8.3f  1.00  0.00           O\n" % (
            *at,)
        with tempfile.TemporaryDirectory() as folder:
            def pairs(more, *options):
                path = os.path.join(folder, "r.pdb")
                with open(path, "w", encoding="ascii") as file:
                    file.write(text + more)
                return float(rows_of(run(path, golden("6moa.sdf.gz"), "--quiet",
                                         *options)[0])[0]["inter"])
            plain = pairs("")
            self.assertEqual(plain, pairs(water, "--hetero"))
            self.assertEqual(plain, pairs(group))
            self.assertNotEqual(plain, pairs(group, "--hetero"))
            self.assertNotEqual(plain, pairs(zinc))
            self.assertFalse(math.isnan(plain))

    def test_alternates(self):
        """One alternate location of a residue counts: A, else 1, else the first."""
        with gzip.open(golden("6moa.pdb.gz"), "rt") as file:
            lines = [line for line in file if line.startswith(("ATOM", "HETATM"))]
        with tempfile.TemporaryDirectory() as folder:
            def rated(first, then):
                """Atoms in their places by one letter, and 3 angstrom away by another one."""
                path, text = os.path.join(folder, "r.pdb"), ""
                for line in lines:
                    away = line[:30] + "%8.3f" % (float(line[30:38]) + 3) + line[38:]
                    for where, letter in ((line, first), (away, then)) if first < then else (
                            (away, then), (line, first)):
                        text += where[:16] + letter + where[17:] if letter else ""
                with open(path, "w", encoding="ascii") as file:
                    file.write(text)
                out, said = run(path, golden("6moa.sdf.gz"))
                return [(row["affinity"], row["clashes"]) for row in rows_of(out)], said
            plain, said = rated(" ", "")
            self.assertNotIn("alternate", said)
            for first, then in ("A", "B"), ("B", "C"), ("A", "1"), ("1", "2"), ("1", " "):
                if then == " ":
                    self.assertNotEqual(rated(first, then)[0], plain)
                    continue
                got, said = rated(first, then)
                self.assertEqual(got, plain, (first, then))
                self.assertIn("%d atoms of further alternate" % len(lines), said)


if __name__ == "__main__":
    EXE, ROOT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
