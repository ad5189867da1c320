#!/usr/bin/env python3
"""test_molecules.py BIOINFER - drives `bioinfer molecule info` as a user does.

Standard library only.
"""
import gzip
import os
import re
import subprocess
import sys
import tempfile
import unittest

EXE = ""
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ATOMS = ["    0.0000    0.0000    0.5000 C   0  0", "    1.5000    0.0000    0.0000 C   0  0",
         "    2.1000    1.1000    0.0000 O   0  0", "    2.1000   -1.1000    0.0000 O   0  5"]
GOOD = "\n".join(["acetate\tion", "", "", "  4  3  0  0  0  0  0  0  0  0999 V2000", *ATOMS,
                  "  1  2  1", "  2  3  2", "  2  4  1", "M  END", "$$$$", ""])
BAD = GOOD.replace("  2  3  2", "  2  9  2")


def with_aromatic_bonds(text, row):
    """A record of V2000 whose aromatic bonds have type 4; None: it has none, or another form."""
    lines = text.split("\n")
    if row["status"] != "ok" or row["format"] != "SDF V2000" or row["aromatic"] == "0":
        return None
    n, m = int(lines[3][:3]), int(lines[3][3:6])
    kept = [k + 1 for k in range(n) if lines[4 + k][31:34].strip() != "H"]
    if len(kept) != int(row["atoms"]):
        return None
    words = [bond.split(":") for bond in row["bond_list"].split()]
    aromatic = {frozenset(kept[int(a) - 1] for a in ends.split("-"))
                for ends, _, flags in words if "a" in flags}
    for k in range(4 + n, 4 + n + m):
        if {int(lines[k][:3]), int(lines[k][3:6])} in aromatic:
            lines[k] = lines[k][:6] + "  4" + lines[k][9:]
    return "\n".join(lines)


class Molecules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def write(self, name, text):
        opened = gzip.open if name.endswith(".gz") else open
        with opened(os.path.join(self.dir, name), "wt", newline="") as file:
            file.write(text)

    def run_info(self, *args, code=0, stdin=""):
        p = subprocess.run([EXE, *args], input=stdin.encode(), capture_output=True, cwd=self.dir)
        self.assertEqual(p.returncode, code, p.stderr)
        return p.stdout.decode(), p.stderr.decode()

    def rows(self, text):
        lines = [line.split("\t") for line in text.splitlines()]
        self.assertEqual({len(line) for line in lines}, {len(lines[0])})
        return [dict(zip(lines[0], line)) for line in lines[1:]]

    def test_tells_what_perception_made(self):
        self.write("l.sdf", GOOD + BAD + GOOD.replace("\n", "\r\n"))
        text, words = self.run_info("molecule", "info", "l.sdf", "--atoms", code=1)
        rows = self.rows(text)
        self.assertEqual([row["status"] for row in rows], ["ok", "bad_format", "ok"])
        self.assertEqual([row["name"] for row in rows], ["acetate ion"] * 3)
        self.assertIn("l.sdf: record 2, line 23: bond of atom 9, expected 1 to 4",
                      rows[1]["message"])
        self.assertIn("molecules without a result: 1;", words)
        want = {"formula": "C2H3O2", "charge": "-1", "fragments": "1", "atoms": "4", "bonds": "3",
                "hydrogens": "3", "rings": "0", "coordinates": "space", "format": "SDF V2000",
                "bond_list": "1-2:1: 2-3:2:c 2-4:1:c",
                "atom_list": "C:0:3:0:0:sp3: C:0:0:0:0:sp2: O:0:0:0:0:sp2: O:-1:0:0:0:sp2:"}
        for row in (rows[0], rows[2]):
            self.assertEqual({key: row[key] for key in want}, want)

    def test_reads_gzip_and_standard_input(self):
        self.write("l.sdf", GOOD)
        self.write("l.sdf.gz", GOOD)
        plain, words = self.run_info("molecule", "info", "l.sdf")
        self.assertEqual(words, "")
        self.assertEqual(self.run_info("molecule", "info", "l.sdf.gz")[0], plain)
        self.assertEqual(self.run_info("molecule", "info", "-", stdin=GOOD)[0], plain)
        self.assertNotIn("atom_list", plain)

    def test_aromatic_bonds_are_those_of_a_kekule_structure(self):
        """Real molecules with bonds of type 4 give what they give with single and double ones.
        Those are refused of which the file does not say what nitrogen has the hydrogen."""
        path = os.path.join(ROOT, "golden", "molecules", "rdkit-data.sdf.gz")
        with gzip.open(path, "rt", encoding="latin-1", newline="") as file:
            records = re.split(r"\$\$\$\$\r?\n", file.read())[:-1]
        plain = self.rows(self.run_info("molecule", "info", "--atoms", "-q", path)[0])
        pairs = [(row, with_aromatic_bonds(text, row))
                 for text, row in zip(records, plain, strict=True)]
        pairs = [(row, text) for row, text in pairs if text]
        self.write("aromatic.sdf", "".join(text + "$$$$\n" for _, text in pairs))
        rows = self.rows(self.run_info("molecule", "info", "--atoms", "-q", "aromatic.sdf",
                                       code=1)[0])
        n_refused = 0
        for (want, _), got in zip(pairs, rows, strict=True):
            if got["status"] == "ok":
                for key in ("atom_list", "formula", "charge", "rings"):
                    self.assertEqual(got[key], want[key], want)
                self.assertEqual(*(re.sub(":[12]:a", ":4:a", row["bond_list"])
                                   for row in (got, want)))
                continue
            n_refused += 1
            self.assertIn("is a hydrogen missing?", got["message"])
            self.assertRegex(want["atom_list"], r"N:0:1:0:0:sp2:a")
        self.assertGreater(len(rows), 200)
        self.assertLess(n_refused, 10)

    def test_is_quiet(self):
        self.assertEqual(self.run_info("molecule", "info", "-", "-q", code=1, stdin=BAD)[1], "")

    def test_refuses(self):
        self.write("l.sdf", GOOD)
        self.write("empty.sdf", "\n")
        for code, part, args in ((64, "usage: bioinfer molecule info", ("molecule", "l.sdf")),
                                 (64, "usage: bioinfer molecule info", ("molecule", "info")),
                                 (64, "--atoms", ("info", "l.sdf", "--atoms")),
                                 (66, "none.sdf", ("molecule", "info", "none.sdf")),
                                 (65, "no molecule", ("molecule", "info", "empty.sdf"))):
            self.assertIn(part, self.run_info(*args, code=code)[1])


if __name__ == "__main__":
    EXE = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
