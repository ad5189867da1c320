#!/usr/bin/env python3
"""names.py BIOINFER_FAULTS SOURCE_ROOT - outputs named like a job's own files, and folders that are
not a job's.

Every run is killed at each of its renames in turn and resumed: the output has the bytes of an
undisturbed run.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

from common import Command, contents

COMMAND = None


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-names-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.fasta = self.path("in.fasta")
        with open(self.fasta, "w", encoding="ascii") as f:
            f.write(">a one\nMKTAYIAKQR\n>b\nM*K\n>c\nACDEF\n>d\nMKTAYIAKQR\n")

    def path(self, name):
        return os.path.join(self.dir, name)

    def run_in(self, folder, *args, code=1):
        return COMMAND.run(self.fasta, *args, code=code, cwd=folder)

    def tree(self, folder):
        return sorted(os.path.relpath(os.path.join(at, n), folder)
                      for at, _, names in os.walk(folder) for n in names)

    def values(self, path):
        return sorted(contents(path).values())

    def unbuilt(self, path, *args):
        """A job whose journal is complete and whose output was not built: a shard of one,
        renamed."""
        COMMAND.run(self.fasta, "-o", path, *args, "--shard", "1/1", code=1)
        os.rename(path + ".part-1-of-1", path + ".part")


class Names(Case):
    def test_names_of_the_journal(self):
        plans = [(name, form) for name in ("manifest", "data", "journal", "named", "lock", "output")
                 for form in ("jsonl", "esm-pt")]
        plans += [("manifest", form) for form in COMMAND.formats if form not in ("jsonl", "esm-pt")]
        for name, form in plans:
            args = ["--format", form, *COMMAND.formats[form]]
            want_dir = self.path(f"want-{name}-{form}")
            os.mkdir(want_dir)
            self.run_in(want_dir, "-o", "w." + form, *args)
            want = self.values(os.path.join(want_dir, "w." + form))
            for at in range(1, 40):
                folder = self.path(f"{name}-{form}-{at}")
                os.mkdir(folder)
                p = subprocess.run(COMMAND.args(self.fasta, "-o", name, *args), cwd=folder,
                                   capture_output=True, check=False,
                                   env=COMMAND.env(BIOINFER_KILL_AT_RENAME=str(at)))
                if p.returncode != -signal.SIGKILL:
                    break
                q = subprocess.run(COMMAND.args(self.fasta, "-o", name, *args, "--resume"),
                                   cwd=folder, capture_output=True, check=False, env=COMMAND.env())
                if form == "esm-pt" and q.returncode == 73:  # killed when all was in its place
                    self.assertIn(b"output is there already", q.stderr)
                    shutil.rmtree(os.path.join(folder, name + ".part"), ignore_errors=True)
                    q.returncode = 1
                self.assertEqual(q.returncode, 1, (name, form, at, q.stderr))
                self.assertEqual(self.values(os.path.join(folder, name)), want, (name, form, at))
                self.assertFalse(os.path.exists(os.path.join(folder, name + ".part")))
            self.assertEqual(p.returncode, 1, (name, form, p.stderr))
            self.assertGreaterEqual(at, 4 if form != "esm-pt" else 6)
            self.assertEqual(self.values(os.path.join(folder, name)), want, (name, form))

    def test_complete_and_unbuilt(self):
        """The same names where the journal is read again after the output was begun."""
        for name in ("journal", "data", "manifest"):
            folder = self.path("u-" + name)
            os.mkdir(folder)
            path = os.path.join(folder, name)
            self.unbuilt(path, "--format", "jsonl")
            p = subprocess.run(COMMAND.args(self.fasta, "-o", path, "--format", "jsonl",
                                            "--resume"), check=False, capture_output=True,
                               env=COMMAND.env(BIOINFER_KILL_AT_RENAME="2"))
            self.assertEqual(p.returncode, -signal.SIGKILL, p.stderr)
            q = COMMAND.run(self.fasta, "-o", path, "--format", "jsonl", "--resume", code=1)
            self.assertNotIn("damaged", q.words)
            COMMAND.run(self.fasta, "-o", self.path("w.jsonl"), code=1)
            self.assertEqual(self.values(path), self.values(self.path("w.jsonl")))


class Folders(Case):
    """Nothing that a run did not make is removed."""

    def mine(self, folder):
        for name in ("thesis.txt", "mydata/x", "mydata/deep/y", "mydata/deep/er/z"):
            os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
            with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                f.write(name)
        return self.tree(folder)

    def test_output_of_a_complete_job(self):
        """Killed behind the end of the journal; then the user makes a folder of that name."""
        args = ("--format", "esm-pt", "--include", "mean,per-residue")
        path = self.path("out")
        self.unbuilt(path, *args)
        mine = self.mine(path)
        for empty in (False, True):
            p = COMMAND.run(self.fasta, "-o", path, *args, "--resume", code=73)
            self.assertIn("output is there already", p.words)
            self.assertEqual(self.tree(path), [] if empty else mine)
            shutil.rmtree(path)
            os.mkdir(path)
        os.rmdir(path)
        COMMAND.run(self.fasta, "-o", path, *args, "--resume", code=1)
        self.assertEqual(len(os.listdir(path)), 3)
        self.assertFalse(os.path.exists(path + ".part"))

    def test_part_that_is_no_job(self):
        """A folder, or a link to one, where the journal would be."""
        path = self.path("a.npz")
        mine = self.mine(path + ".part")
        for args in ((), ("--resume",), ("--resume=no",)):
            p = COMMAND.run(self.fasta, "-o", path, *args, code=73)
            self.assertIn("a.npz.part: this folder is in the way", p.words)
            self.assertEqual(self.tree(path + ".part"), mine)
        os.rename(path + ".part", self.path("other"))
        os.symlink("other", path + ".part")
        p = COMMAND.run(self.fasta, "-o", path, code=73)
        self.assertIn("is a link", p.words)
        self.assertEqual(self.tree(self.path("other")), mine)
        os.remove(path + ".part")
        COMMAND.run(self.fasta, "-o", path, "--shard", "1/1", code=1)
        os.symlink("other", path + ".part")
        COMMAND.run(path, merge=True, code=74)
        self.assertEqual(self.tree(self.path("other")), mine)

    def test_files_beside_the_journal(self):
        """A file that a user has put into the folder of a job stays there."""
        path = self.path("a.npz")
        self.unbuilt(path)
        mine = self.mine(path + ".part/notes")
        with open(path + ".part/notes.txt", "w", encoding="ascii") as f:
            f.write("mine")
        COMMAND.run(self.fasta, "-o", path, "--resume", code=1)
        self.assertEqual(sorted(os.listdir(path + ".part")), ["notes", "notes.txt"])
        self.assertEqual(self.tree(path + ".part/notes"), mine)

    def test_links_in_it(self):
        """Links under the names of a job's files lead nowhere."""
        path = self.path("a.npz")
        mine = self.mine(self.path("other"))
        os.mkdir(path + ".part")
        for name in ("lock", "journal", "data"):
            os.symlink("../other/" + name, f"{path}.part/{name}")
        os.symlink("../other", path + ".part/output")
        p = COMMAND.run(self.fasta, "-o", path, code=73)
        self.assertIn("lock", p.words)
        self.assertEqual(self.tree(self.path("other")), mine)
        os.remove(path + ".part/lock")
        open(path + ".part/lock", "wb").close()
        COMMAND.run(self.fasta, "-o", path, code=1)
        self.assertEqual(self.tree(self.path("other")), mine)
        self.assertFalse(os.path.exists(path + ".part"))


if __name__ == "__main__":
    COMMAND = Command(sys.argv[1], sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, warnings="ignore")
