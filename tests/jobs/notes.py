#!/usr/bin/env python3
"""notes.py BIOINFER SOURCE_ROOT - what is named on standard error stands in manifests, too.

A job in the command, with workers, killed and resumed, of shards that are merged, and in parts; no
byte of an output depends on it, and neither does what a journal is taken for.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from common import Command, contents

COMMAND = None
HEAD = "ordinal\tid\tlength\tstatus\tsame_as\tmessage"
LETTER = "\u00e9"  # two bytes


class Notes(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-notes-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as f:
            f.write(text)
        return self.path(name)

    def manifest(self, path):
        """Rows of records, and notes."""
        with open(path + ".manifest.tsv", encoding="utf-8") as f:
            head, *rows = [line.rstrip("\n") for line in f]
        self.assertEqual(head, HEAD)
        rows = [row.split("\t") for row in rows]
        n = sum(row[3] != "note" for row in rows)
        self.assertTrue(all(row[:5] == ["", "", "", "note", ""] for row in rows[n:]))
        self.assertTrue(all(row[0] for row in rows[:n]))
        notes = [row[5] for row in rows[n:]]
        self.assertEqual(notes, sorted(set(notes), key=os.fsencode))
        return rows[:n], notes

    def fasta(self, n=40):
        return self.write("in.fasta", "".join(f">r{i}\nMKT{'acd' if i == 3 else 'ACD'}\n>\nMK-T*\n"
                                              for i in range(n)))

    def named(self, n=40):
        path = self.path("in.fasta")
        return [f"{path}: 3 lower-case residues in 1 records were upper-cased",
                f"{path}: {n} gap characters were removed",
                f"{path}: a final '*' was removed from {n} records",
                f"{path}: line 3: record without an id is called seq_1"]

    def test_fasta(self):
        fasta = self.fasta()
        one, two = self.path("one.npz"), self.path("two.npz")
        COMMAND.run(fasta, "-o", one)  # which is --quiet
        self.assertEqual(self.manifest(one)[1], self.named())
        COMMAND.run(fasta, "-o", two, "--workers", "2")
        self.assertEqual(self.manifest(two), self.manifest(one))
        self.assertEqual(contents(two), contents(one))
        upper = self.write("upper.fasta", ">a\nMKT\n")
        COMMAND.run(upper, "-o", self.path("none.npz"))
        self.assertEqual(self.manifest(self.path("none.npz"))[1], [])

    def test_shards(self):
        fasta = self.fasta()
        one, out = self.path("one.npz"), self.path("out.npz")
        COMMAND.run(fasta, "-o", one)
        COMMAND.run(fasta, "-o", out, "--shard", "1/2")
        COMMAND.run(fasta, "-o", out, "--shard", "2/2")
        # a note of one shard alone is not lost
        with open(out + ".part-2-of-2/named", "a", encoding="utf-8") as f:
            f.write("z: seen by the second shard\n")
        COMMAND.run(fasta, "-o", out, "--shard", "2/2", "--resume")
        COMMAND.run(out, merge=True)
        self.assertEqual(self.manifest(out),
                         (self.manifest(one)[0], [*self.named(), "z: seen by the second shard"]))
        with open(one, "rb") as a, open(out, "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_parts(self):
        fasta = self.fasta()
        folder = self.path("parts")
        more = ("--format", "npz", "--part-records", "30")
        for shard in ("1/2", "2/2"):
            COMMAND.run(fasta, "-o", folder, *more, "--shard", shard)
        COMMAND.run(folder, merge=True)
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as f:
            index = json.load(f)
        self.assertEqual(index["notes"], self.named())
        self.assertEqual(len(index["parts"]), 3)
        self.assertIn(self.named()[3], self.manifest(os.path.join(folder, "part-000000.npz"))[1])
        # parts that are done are not read again, and what was named of them stays
        os.remove(os.path.join(folder, "shard-1-of-2.json"))
        with open(os.path.join(folder, "part-000000.json"), encoding="utf-8") as f:
            part = f.read()
        with open(os.path.join(folder, "part-000000.json"), "w", encoding="utf-8") as f:
            f.write(part.replace('"notes": [', '"notes": ["a: only this part", '))
        COMMAND.run(fasta, "-o", folder, *more, "--shard", "1/2", "--resume")
        COMMAND.run(folder, merge=True)
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f)["notes"], [*self.named(), "a: only this part"])

    def structures(self, n):
        """Structures that a worker reads, each with alternate locations."""
        folder = self.path("backbones")
        os.mkdir(folder)
        source = os.path.join(COMMAND.root, "tests", "golden", "proteinmpnn", "5L33.pdb")
        with open(source, encoding="ascii") as f:
            atoms = [line for line in f if line.startswith("ATOM")]
        for i in range(n):
            with open(os.path.join(folder, f"s{i}.pdb"), "w", encoding="ascii") as f:
                for line in atoms[:100]:
                    f.write(line)
                    if line[12:16] == " CA ":
                        f.write(line[:16] + "B" + line[17:])
        return folder

    def design(self, out, *more, code=0):
        p = subprocess.run([COMMAND.exe, "proteinmpnn", self.path("backbones"), "-o", out,
                            "--seed", "1", "-q", *more], capture_output=True, check=False)
        self.assertEqual(p.returncode, code, p.stderr)

    def test_workers(self):
        """The command does not read these files, and a resume not those that are done."""
        self.structures(4)
        one, out = self.path("one.fa"), self.path("out.fa")
        self.design(one, "--resume")
        notes = self.manifest(one)[1]
        self.assertEqual(len(notes), 4, notes)
        self.design(out, "--resume", "--workers", "2")
        self.assertEqual(self.manifest(out), self.manifest(one))
        os.remove(out)
        os.remove(out + ".manifest.tsv")
        for shard in ("1/2", "2/2"):
            self.design(out, "--resume", "--shard", shard, "--workers", "2")
        self.design(out, "--resume", "--shard", "1/2")  # nothing is read now
        COMMAND.run(out, merge=True)
        self.assertEqual(self.manifest(out), self.manifest(one))
        with open(one, "rb") as a, open(out, "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_killed(self):
        """A run is killed when some structures are done: their notes are in the manifest of the run
        that goes on, which does not read them."""
        self.structures(8)
        out = self.path("out.fa")
        words = [COMMAND.exe, "proteinmpnn", self.path("backbones"), "-o", out, "--seed", "1", "-q",
                 "--num-seq", "200", "--batch-tokens", "40", "--threads", "1"]
        p = subprocess.Popen([*words, "--resume"], stderr=subprocess.PIPE)
        journal = out + ".part/journal"
        while p.poll() is None and not (os.path.exists(journal) and os.path.getsize(journal)):
            time.sleep(0.005)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        with open(out + ".part/named", encoding="utf-8") as f:
            before = f.read().splitlines()
        self.assertTrue(before)
        with open(out + ".part/named", "a", encoding="utf-8") as f:
            f.write("z: of the run that was killed\n")
        self.design(out, "--num-seq", "200", "--batch-tokens", "40", "--resume")
        notes = self.manifest(out)[1]
        self.assertEqual(notes[-1], "z: of the run that was killed")
        self.assertEqual(len(notes), 9, notes)
        self.assertLessEqual(set(before), set(notes))

    def test_bounds(self):
        """256 notes, of 511 bytes, are kept; that there were more is said."""
        out = self.path("out.npz")
        COMMAND.run(self.fasta(2), "-o", out, "--shard", "1/1")
        with open(out + ".part-1-of-1/named", "w", encoding="utf-8") as f:
            f.writelines(f"{i:03}: {LETTER * (1 if i else 300)}\n" for i in range(300))
        COMMAND.run(out, merge=True)
        notes = self.manifest(out)[1]
        self.assertEqual(len(notes), 257)
        self.assertEqual(notes[0], "000: " + LETTER * 253)
        self.assertEqual(notes[255][:3], "255")
        self.assertIn("256 notes", notes[256])


if __name__ == "__main__":
    COMMAND = Command(sys.argv[1], sys.argv[2])
    unittest.main(argv=sys.argv[:1], verbosity=2)
