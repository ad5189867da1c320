#!/usr/bin/env python3
"""test_no_memory.py BIOINFER_NO_MEMORY SOURCE_ROOT [NAME ...] - each of the command's own
allocations fails once (no_memory.c): the command says why it ends, with the exit code for want of
memory, or does without. NAME: a test. Standard library only."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

EXE, ROOT = (os.path.abspath(path) for path in sys.argv[1:3])
GOLDEN = os.path.join(ROOT, "tests", "golden")
NO_MEMORY = 71
# Under sanitizers a run takes many times as long.
STEP = 7 if os.environ.get("BIOINFER_SANITIZED") == "1" else 1

sys.path.insert(0, os.path.join(ROOT, "tools"))
sys.dont_write_bytecode = True


class Memory(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as f:
            f.write(text)

    def run_it(self, args, **env):
        p = subprocess.run([EXE, *args, "--threads", "1"], cwd=self.folder, check=False,
                           env={**os.environ, **{k: str(v) for k, v in env.items()}},
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        return p.returncode, p.stdout, p.stderr.decode()

    def sweep(self, output, *args):
        """Each place once. Output: the file that -o names; None: standard output."""
        path = os.path.join(self.folder, output) if output else None

        def run(**env):
            code, text, words = self.run_it(args, **env)
            if path and os.path.exists(path):
                with open(path, "rb") as f:
                    text = f.read()
                os.remove(path)
            elif path:
                text = None
            return code, text, words

        code, want, words = run(BIOINFER_COUNT_PLACES="places")
        self.assertEqual(code, 0, words)
        with open(os.path.join(self.folder, "places"), encoding="ascii") as f:
            n = int(f.read())
        self.assertGreater(n, 4)
        bad, n_ended = [], 0
        for place in range(1, n + 1, STEP):
            code, text, words = run(BIOINFER_NO_MEMORY=place)
            n_ended += code == NO_MEMORY
            if code == NO_MEMORY:
                # the output is whole before its description is written
                good = re.search("(?m)^bioinfer: .*memory", words) and (not path or
                                                                        text in (None, want))
            else:  # done without; a want that is said ends a run
                good = code == 0 and text == want and "memory" not in words
            if not good:
                bad.append(f"place {place} of {n}: exit code {code}, {words!r}")
        self.assertEqual(bad, [], "\n".join(bad))
        self.assertGreater(n_ended, 0)

    def test_tracks(self):
        self.write("g.fa", ">chrA\n" + "ACGTTGCATC" * 2000 + "\n")
        self.write("g.fa.fai", "chrA\t20000\t6\t20000\t20001\n")
        self.write("i.bed", "chrA\t10000\t10000\tx\n")
        self.write("t.txt", "index\tidentifier\tdescription\tontology\n" + "".join(
            f"{i}\tENC{i}\tDNASE:cell {i}\tCL:{i % 2}\n" for i in range(8)))
        args = ("enformer", "i.bed", "--weights", os.path.join(GOLDEN, "enformer", "half"),
                "--positions", "formula-pt", "--genome", "g.fa", "--targets", "t.txt", "--outputs",
                "human", "--tracks", "1,3-5,*cell 7", "--ontology", "CL:1", "-o", "x.npz")
        self.sweep("x.npz", *args)
        code, _, words = self.run_it(args, BIOINFER_NO_BYTES=1)
        self.assertEqual(code, 66, words)
        self.assertIn("i.bed: read after 0 bytes: Bad file descriptor", words)

    def test_table_of_its_own(self):
        """Whether the table that comes with bioinfer is of these weights is not guessed."""
        model = os.path.join(GOLDEN, "alphagenome", "small")
        self.sweep("x.npz", "alphagenome", os.path.join(model, "window.fa"), "--weights", model,
                   "--outputs", "human.atac.128", "--rc", "-o", "x.npz")

    def test_structures(self):
        os.mkdir(os.path.join(self.folder, "s"))
        for to in ("a.pdb", "s/b.pdb"):
            os.symlink(os.path.join(GOLDEN, "proteinmpnn", "5L33.pdb"),
                       os.path.join(self.folder, to))
        self.write("list.txt", "a.pdb\n")
        self.sweep("x.fa", "proteinmpnn", "list.txt", "s", "a.pdb", "--dup-ids", "suffix", "-o",
                   "x.fa")
        os.symlink("/proc/self/mem", os.path.join(self.folder, "bad.txt"))  # byte 0 is not there
        code, _, words = self.run_it(("proteinmpnn", "bad.txt", "-o", "x.fa"))
        self.assertEqual(code, 74, words)
        self.assertIn("bad.txt: cannot read this list to its end: Input/output error", words)

    def test_sequences(self):
        os.mkdir(os.path.join(self.folder, "s"))
        self.write("s/a.fasta", ">a\nMKTAY\n")
        self.write("b.fasta", ">b\nMKTAYI\n")
        args = ("esm2", "s", "b.fasta", "--weights", os.path.join(GOLDEN, "esm2", "hf-d16"), "-o",
                "x.npz")
        self.sweep("x.npz", *args)
        self.write("s/c.fasta", ">c\nMKTA\n")  # three of ".", ".." and these two are read
        code, _, words = self.run_it(args, BIOINFER_NO_NAMES=1)
        self.assertEqual(code, 74, words)
        self.assertIn("s: cannot read this folder to its end: Input/output error", words)

    def test_workers(self):
        self.write("a.fasta", ">a\nMKTAY\n>b\nMKTAYI\n")
        args = ("esm2", "a.fasta", "--weights", os.path.join(GOLDEN, "esm2", "hf-d16"), "-o",
                "x.npz")
        self.sweep("x.npz", *args, "--workers", "2")
        for device in ("all", "cpu"):
            code, _, words = self.run_it((*args, "--device", device, "--workers", "2"),
                                         BIOINFER_NO_PIPES=1)
            self.assertEqual(code, 69, words)
            self.assertIn("Too many open files", words)

    def test_server(self):
        """A server that gets no thread closes its socket once, and says what it lacks."""
        code, _, words = self.run_it(
            ("serve", "esm2", "--weights", os.path.join(GOLDEN, "esm2", "hf-d16"), "--listen",
             "unix:" + os.path.join(self.folder, "socket")), BIOINFER_NO_THREADS=1)
        if "without libmicrohttpd" in words or "serving needs libmicrohttpd" in words:
            self.skipTest(words)
        self.assertEqual(code, 69, words)
        self.assertIn("does not start: Resource temporarily unavailable", words)
        self.assertFalse(os.path.exists(os.path.join(self.folder, "socket")))

    def test_matrix(self):
        self.write("a.fasta", ">a\nMKTAY\n>b\nMKTAYI\n>c\nKTAY\n")
        args = ("align", "a.fasta", "--matrix", "BLOSUM62", "--block-pairs", "4", "--values")
        self.sweep(None, *args, "distance", "--format", "phylip")
        self.sweep("x.tsv", *args, "identity", "-o", "x.tsv", "--resume=no")

    def test_best(self):
        self.write("a.fasta", ">a\nMKTAY\n>b\nMKTAYI\n>c\nKTAY\n")
        args = ("align", "a.fasta", "--all-vs-all", "--top", "1", "--matrix", "BLOSUM62",
                "--block-pairs", "2")
        self.sweep(None, *args)
        self.sweep("x.tsv", *args, "--workers", "2", "-o", "x.tsv")

    def test_pairs(self):
        import dualbind_weights
        dualbind_weights.write(os.path.join(self.folder, "w.safetensors"), 64, 0)
        for to, name in (("a.pdb", "proteinmpnn/5L33.pdb"), ("a.sdf", "dualbind/ligand.sdf")):
            os.symlink(os.path.join(GOLDEN, name), os.path.join(self.folder, to))
        self.write("pairs.csv", "pdb_id,protein_path,ligand_path\na,a.pdb,a.sdf\n")
        args = ("dualbind", "pairs.csv", "--weights", "w.safetensors")
        self.sweep(None, *args)
        self.sweep("x.top.tsv", *args, "-o", "x.tsv", "--top", "1")
        # a shard that is finished is no other one
        self.sweep(None, *args, "-o", "y.tsv", "--shard", "1/1", "--resume")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *(f"Memory.{name}" for name in sys.argv[3:])], verbosity=2)
