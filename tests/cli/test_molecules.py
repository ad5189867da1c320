#!/usr/bin/env python3
"""test_molecules.py BIOINFER - drives `bioinfer molecule info` as a user does.

Standard library only.
"""
import gzip
import os
import subprocess
import sys
import tempfile
import unittest

EXE = ""
ATOMS = ["    0.0000    0.0000    0.5000 C   0  0", "    1.5000    0.0000    0.0000 C   0  0",
         "    2.1000    1.1000    0.0000 O   0  0", "    2.1000   -1.1000    0.0000 O   0  5"]
GOOD = "\n".join(["acetate\tion", "", "", "  4  3  0  0  0  0  0  0  0  0999 V2000", *ATOMS,
                  "  1  2  1", "  2  3  2", "  2  4  1", "M  END", "$$$$", ""])
BAD = GOOD.replace("  2  3  2", "  2  9  2")


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
    unittest.main()
