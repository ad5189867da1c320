#!/usr/bin/env python3
"""temp.py BIOINFER SOURCE_ROOT [CASE ...] - temporary files beside outputs: whose they are, and
that no two runs share one.

Links: others have planted links under every name that a temporary file of a process id could have.
Namespaces: two runs with equal process ids on one output (needs the right to make PID namespaces).
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

EXE = ROOT = ""


def design(*args):
    return [EXE, "proteinmpnn", os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb"),
            "--threads", "1", "-q", *args]


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-temp-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()


class Links(Case):
    def test_planted(self):
        """Commands whose output grows beside its final name, with the links of this very process
        id."""
        with open(self.path("in.fasta"), "w", encoding="ascii") as f:
            f.write(">a\nMKTAYIAKQR\n>b\nACDEFGH\n")
        esm = [EXE, "esm2", self.path("in.fasta"), "-q", "--weights",
               os.path.join(ROOT, "tests", "golden", "esm2", "hf-d16"), "-o"]
        commands = {"o.npz": design("--unconditional", "--include", "logprobs", "-o"),
                    "o.safetensors": design("--unconditional", "--include", "logprobs", "-o"),
                    "o.tsv": design("--score-only", "-o"), "o.fa": design("--num-seq", "1", "-o"),
                    "e.npz": esm, "e.npy": esm, "e.tsv": esm}
        for name, command in commands.items():
            path = self.path(name)
            with open(self.path("victim"), "w", encoding="ascii") as f:
                f.write("mine")

            def plant(path=path):
                for base in (path, path + ".data", path + ".index", path + ".manifest.tsv"):
                    for middle in (".tmp.", ".part."):
                        os.symlink(self.path("victim"), f"{base}{middle}{os.getpid()}")
            p = subprocess.run([*command, path], capture_output=True, check=False, preexec_fn=plant)
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertEqual(self.read("victim"), b"mine", name)
            self.assertFalse(os.path.islink(path), name)
            self.assertGreater(os.path.getsize(path), 10)
            left = [n for n in os.listdir(self.dir) if ".tmp." in n and
                    not os.path.islink(self.path(n))]
            self.assertEqual(left, [], name)

    def test_rights(self):
        """A temporary file has the rights that the umask leaves, as the final one."""
        for name, command in (("o.npz", design("--unconditional", "--include", "logprobs", "-o")),
                              ("o.tsv", design("--score-only", "-o"))):
            subprocess.run([*command, self.path(name)], check=True, capture_output=True,
                           preexec_fn=lambda: os.umask(0o027))
            self.assertEqual(os.stat(self.path(name)).st_mode & 0o777, 0o640)

    def test_devices(self):
        """An output that is no file is written in place, and is still there."""
        os.mkfifo(self.path("fifo"))
        with subprocess.Popen(["cat", self.path("fifo")], stdout=subprocess.PIPE) as cat:
            p = subprocess.run(design("--score-only", "-o", self.path("fifo"), "--format", "tsv"),
                               capture_output=True, check=False)
            self.assertEqual(p.returncode, 0, p.stderr)
            self.assertIn(b"5L33", cat.stdout.read())
        self.assertEqual(os.listdir(self.dir), ["fifo"])


class Namespaces(Case):
    def test_equal_process_ids(self):
        """Each output is absent or complete, and what one of the two wrote."""
        if not shutil.which("unshare") or subprocess.run(["unshare", "-pf", "true"],
                                                         capture_output=True,
                                                         check=False).returncode:
            print("no right to make PID namespaces: skipped")
            os._exit(77)
        want = {}
        for seed in (1, 2):
            subprocess.run(design("--score-only", "--seed", str(seed), "-o",
                                  self.path(f"{seed}.npz")), check=True, capture_output=True)
            want[seed] = self.read(f"{seed}.npz")
        self.assertNotEqual(want[1], want[2])
        for k in range(8):
            both = [subprocess.Popen(["unshare", "-pf", *design("--score-only", "--seed", str(seed),
                                                                "-o", self.path(f"both{k}.npz"))],
                                     stderr=subprocess.PIPE) for seed in (1, 2)]
            for p in both:
                words = p.communicate()[1]
                self.assertEqual(p.returncode, 0, words)
            self.assertIn(self.read(f"both{k}.npz"), want.values())
        self.assertEqual([n for n in os.listdir(self.dir) if ".tmp" in n], [])


if __name__ == "__main__":
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
