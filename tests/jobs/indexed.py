#!/usr/bin/env python3
"""indexed.py BIOINFER SOURCE_ROOT [TEST] - shards and parts of a FASTA file that has an index.

They leave the bytes of a run without one, read no more than their blocks, and refuse a file that
is not the one that was indexed. Records with long descriptions make a file large enough for blocks
that are jumped over, and for bytes that no sample of the file covers.
"""
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from common import ACIDS, Command, contents
from parts import read_all

COMMAND = None
N, SIZE = 700, 60  # records of the input, and of a part


def make(path, n=N, width=60000):
    """n records whose headers have `width` bytes; some sequences come twice, some are bad."""
    rng = random.Random(4)
    made = []
    with open(path, "w", encoding="ascii") as f:
        for i in range(n):
            if made and rng.random() < 0.2:
                sequence = rng.choice(made)
            else:
                sequence = "".join(rng.choices(ACIDS, k=rng.randint(1, 9)))
                made.append(sequence)
            if i % 37 == 11:
                sequence = rng.choice(["", "MK1A"])
            f.write(f">r{i} {'d' * width}\n{sequence}\n")
    return path


class Indexed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="bioinfer-indexed-")
        cls.fasta = make(os.path.join(cls.dir, "in.fasta"))
        cls.whole = os.path.join(cls.dir, "whole.npz")
        COMMAND.run(cls.fasta, "-o", cls.whole, code=1)
        cls.want = contents(cls.whole)
        cls.index(cls.fasta)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    @staticmethod
    def index(fasta, code=0):
        p = subprocess.run([COMMAND.exe, "index", fasta], capture_output=True, check=False)
        words = p.stderr.decode()
        assert p.returncode == code and "Sanitizer" not in words, (p.returncode, words)
        return words

    def path(self, name):
        path = os.path.join(self.dir, name)
        for left in os.listdir(self.dir):
            if left.startswith(name):
                left = os.path.join(self.dir, left)
                shutil.rmtree(left) if os.path.isdir(left) else os.remove(left)
        return path

    def shard(self, path, i, n, fasta=None, *more):
        """A shard ends with 1 when a record of its own has no result."""
        args = COMMAND.args(fasta or self.fasta, "-o", path, "--shard", f"{i}/{n}", *more)
        p = subprocess.run(args, capture_output=True, check=False)
        self.assertIn(p.returncode, (0, 1), p.stderr.decode()[-2000:])

    def shards(self, path, n, fasta=None, *more):
        for i in range(n, 0, -1):
            self.shard(path, i, n, fasta, *more)

    def test_shards(self):
        """40 shards jump over the records of others, 3 read them: the bytes of one run."""
        for n in (3, 40):
            path = self.path("s.npz")
            self.shards(path, n)
            COMMAND.run(path, merge=True, code=1)
            self.assertEqual(contents(path), self.want)

    def test_killed(self):
        rng = random.Random(2)
        path = self.path("k.npz")
        for i in range(12):
            p = COMMAND.start(self.fasta, "-o", path, "--shard", f"{i % 2 + 1}/2", "--resume")
            time.sleep(rng.uniform(0.01, 0.25))
            p.send_signal(signal.SIGKILL)
            p.communicate()
        self.shards(path, 2, None, "--resume")
        COMMAND.run(path, merge=True, code=1)
        self.assertEqual(contents(path), self.want)

    def test_reads_its_own_blocks(self):
        """A byte that changed is met by the shard that reads it, and by no other one."""
        path = self.path("r.npz")
        with open(self.fasta, "r+b") as f:
            text = f.read()
            step = (len(text) - 65536) // 255  # samples have 64 KiB
            record, at = next((i, at) for i in range(300, N)
                              for at in [text.index(b">r%d " % i) + 30000] if at % step > 65536)
            f.seek(at)
            f.write(b"D")
        try:
            other = record % 40 + 20 if record % 40 < 20 else record % 40 - 20
            self.shard(path, other + 1, 40)
            p = COMMAND.run(self.fasta, "-o", path, "--shard", f"{record % 40 + 1}/40", code=65)
            self.assertIn("the input has changed since its index was made", p.words)
        finally:
            with open(self.fasta, "r+b") as f:
                f.seek(at)
                f.write(b"d")
        self.shards(path, 40, None, "--resume=no")
        COMMAND.run(path, merge=True, code=1)
        self.assertEqual(contents(path), self.want)

    def test_parts(self):
        whole = self.path("whole.parts")
        plain = shutil.copy(self.fasta, self.path("plain.fasta"))  # without an index
        COMMAND.run(plain, "-o", whole, "--part-records", SIZE, code=1)
        want = {k: v.replace(b"plain.fasta", b"in.fasta") for k, v in read_all(whole).items()}
        for n in (2, 5):
            folder = self.path("n.parts")
            self.shards(folder, n, None, "--part-records", SIZE)
            COMMAND.run(folder, merge=True, code=1)
            got = read_all(folder)
            manifests = [name for name in got if name.endswith(".tsv")]
            self.assertEqual(sorted(got), sorted(want))
            for name in manifests:  # whose messages name the input
                self.assertEqual(got[name], want[name], name)
            for name in set(got) - set(manifests):
                if name.endswith(".npz"):
                    self.assertEqual(got[name], want[name], name)
            for name in "part-000003.json", "part-000008.npz", "part-000008.json":
                os.remove(os.path.join(folder, name))
            kept = os.stat(os.path.join(folder, "part-000004.npz")).st_mtime_ns
            self.shards(folder, n, None, "--part-records", SIZE, "--resume")
            COMMAND.run(folder, merge=True, code=1)
            self.assertEqual(read_all(folder), got)
            self.assertEqual(os.stat(os.path.join(folder, "part-000004.npz")).st_mtime_ns, kept)

    def test_blocks(self):
        """Beyond 2^16 records a block has two."""
        fasta = self.path("many.fasta")
        with open(fasta, "w", encoding="ascii") as f:
            for i in range(66001):
                f.write(f">r{i}\n{ACIDS[i % 20]}{ACIDS[i // 20 % 20]}{ACIDS[i // 400 % 20]}\n")
        one, path = self.path("one.tsv"), self.path("b.tsv")
        COMMAND.run(fasta, "-o", one)
        self.assertIn("66001 records in blocks of 2", self.index(fasta))
        self.shards(path, 3, fasta)
        COMMAND.run(path, merge=True)
        self.assertEqual(contents(path), contents(one))

    def test_other_state_of_the_file(self):
        fasta = shutil.copy(self.fasta, self.path("o.fasta"))
        path = self.path("o.npz")
        self.index(fasta)
        with open(fasta, "a", encoding="ascii") as f:
            f.write(">more\nMKT\n")
        p = COMMAND.run(fasta, "-o", path, "--shard", "1/2", code=65)
        self.assertIn("o.fasta.bfi: the file has changed since this index of it was made", p.words)
        p = COMMAND.run(fasta, "-o", path, "--shard", "1/2", "--raw-residues", code=65)
        self.index(fasta)
        p = COMMAND.run(fasta, "-o", path, "--shard", "1/2", "--raw-residues", code=65)
        self.assertIn("read with other options", p.words)
        COMMAND.run(fasta, "-o", path, "--shard", "1/2", code=1)
        os.remove(fasta + ".bfi")
        p = COMMAND.run(fasta, "-o", path, "--shard", "1/2", "--resume", code=73)
        self.assertIn("the blocks of the input's index", p.words)
        p = COMMAND.run(fasta, "-o", path, "--shard", "1/2", "--resume=force", code=73)
        COMMAND.run(fasta, "-o", path, "--shard", "2/2", code=1)
        p = COMMAND.run(path, merge=True, code=65)
        self.assertIn("the blocks of the input's index", p.words)

    def test_damaged_index(self):
        fasta = make(self.path("d.fasta"), 20, 10)
        self.index(fasta)
        with open(fasta + ".bfi", "rb") as f:
            good = f.read()
        for at in [*range(0, len(good), 13), len(good) - 1]:
            with open(fasta + ".bfi", "wb") as f:
                f.write(good[:at] + bytes([good[at] ^ 16]) + good[at + 1:])
            p = COMMAND.run(fasta, "-o", self.path("d.npz"), "--shard", "1/2", code=65)
            self.assertIn("make it again: bioinfer index", p.words)
        for text in (b"", good[:-1], good + b"x", b"x" * 4096):
            with open(fasta + ".bfi", "wb") as f:
                f.write(text)
            p = COMMAND.run(fasta, "-o", self.path("d.npz"), "--shard", "1/2", code=65)
            self.assertIn("d.fasta.bfi: this is no index", p.words)

    def test_made_by_many_at_once(self):
        with open(self.fasta + ".bfi", "rb") as f:
            good = f.read()
        running = [subprocess.Popen([COMMAND.exe, "index", self.fasta], stderr=subprocess.DEVNULL)
                   for _ in range(4)]
        while any(p.poll() is None for p in running):
            with open(self.fasta + ".bfi", "rb") as f:
                self.assertEqual(f.read(), good)
        self.assertEqual([p.returncode for p in running], [0] * 4)
        self.assertEqual([n for n in os.listdir(self.dir) if ".bfi." in n], [])

    def test_no_index(self):
        """A file that cannot be read from its middle on, and one that is no FASTA."""
        for name, text in (("a.fa.gz", gzip.compress(b">a\nMKT\n")), ("b.fa", b">a\rMKT\r"),
                           ("c.fa", b"\n"), ("d.fa", b"@a\nMKT\n+\nIII\n")):
            path = self.path(name)
            with open(path, "wb") as f:
                f.write(text)
            self.index(path, code=65)
            self.assertFalse(os.path.exists(path + ".bfi"))
        self.index("-", code=64)
        self.index(self.path("missing"), code=66)


if __name__ == "__main__":
    COMMAND = Command(sys.argv[1], sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, warnings="ignore")
