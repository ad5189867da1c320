#!/usr/bin/env python3
"""parts.py BIOINFER SOURCE_ROOT [TEST] - a partitioned output: parts, shards, resume and the index.

The parts together hold what one output holds; shards, interrupted runs and resumed ones leave the
same bytes; what is missing or of another job is named. The index of 10^7 records is made from
descriptions that the test writes, in memory that does not grow with them.
"""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

from common import Command, make_fasta

COMMAND = None
N, SIZE = 60, 7  # records of the input and of a part


def crc32c(data):
    table = []
    for i in range(256):
        for _ in range(8):
            i = i >> 1 ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ table[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def flip(path, at):
    """Turns a bit of the byte at a place, which counts from the end where it is negative."""
    with open(path, "r+b") as f:
        f.seek(at, os.SEEK_END if at < 0 else os.SEEK_SET)
        byte = f.read(1)[0]
        f.seek(-1, os.SEEK_CUR)
        f.write(bytes([byte ^ 4]))


def read_all(folder):
    """name -> bytes of every file but what a shard says of itself."""
    out = {}
    for name in os.listdir(folder):
        if not name.startswith("shard-"):
            with open(os.path.join(folder, name), "rb") as f:
                out[name] = f.read()
    return out


def members(path):
    with zipfile.ZipFile(path) as z:
        return {name: z.read(name) for name in z.namelist()}


class Parts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.dir = tempfile.mkdtemp(prefix="bioinfer-parts-")
        cls.fasta = make_fasta(os.path.join(cls.dir, "in.fasta"), N)
        cls.whole = os.path.join(cls.dir, "whole.parts")
        cls.command(cls, "-o", cls.whole + "/", code=1)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.dir)

    def command(self, *more, code=0, fasta=None):
        return COMMAND.run(fasta or self.fasta, "--part-records", SIZE, *more, code=code)

    def path(self, name):
        path = os.path.join(self.dir, name)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def check_index(self, folder, n=N):
        with open(os.path.join(folder, "index.json"), encoding="utf-8") as f:
            index = json.load(f)
        self.assertEqual((index["input_records"], index["part_records"]), (n, SIZE))
        for k, part in enumerate(index["parts"]):
            self.assertEqual((part["part"], part["first"]), (k, k * SIZE))
            self.assertEqual(part["records"], min(SIZE, n - k * SIZE))
            self.assertEqual(part["first_id"], f"r{k * SIZE}")
            for file in part["files"]:
                with open(os.path.join(folder, file["name"]), "rb") as f:
                    data = f.read()
                self.assertEqual((file["size"], int(file["crc32c"], 16)), (len(data), crc32c(data)))
        self.assertEqual(len(index["parts"]), -(-n // SIZE))
        return index

    def test_holds_what_one_output_holds(self):
        one = os.path.join(self.dir, "one.npz")
        COMMAND.run(self.fasta, "-o", one, code=1)
        index = self.check_index(self.whole)
        found, rows = {}, []
        for part in index["parts"]:
            found.update(members(os.path.join(self.whole, part["files"][0]["name"])))
            with open(os.path.join(self.whole, part["files"][-1]["name"]), encoding="utf-8") as f:
                rows += [line.split("\t") for line in f][1:]
        self.assertEqual(found, members(one))
        with open(one + ".manifest.tsv", encoding="utf-8") as f:
            expected = [line.split("\t") for line in f][1:]
        self.assertEqual([r[1:4] for r in rows], [r[1:4] for r in expected])
        failed = sum(r[3] != "ok" for r in expected)
        self.assertEqual(sum(p["failed"] for p in index["parts"]), failed)
        self.assertEqual(index["parts"][0]["arrays"][0]["kind"], "mean")

    def test_every_format(self):
        for form in COMMAND.formats:
            folder = self.path(form + ".parts")
            if form == "esm-pt":
                p = self.command("-o", folder, "--format", form, code=64)
                self.assertIn("esm-pt is a folder of files itself", p.words)
                continue
            self.command("-o", folder, "--format", form, code=1)
            index = self.check_index(folder)
            self.assertEqual(index["format"], form)
        folder = self.path("matrix.parts")
        self.command("-o", folder, "--layout", "matrix", "--dtype", "f16", code=1)
        self.assertEqual([self.check_index(folder)[k] for k in ("dtype", "layout")],
                         ["f16", "matrix"])

    def test_shards(self):
        folder = self.path("shards.parts")
        for shard in "2/3", "1/3":
            COMMAND.run(self.fasta, "--part-records", SIZE, "-o", folder, "--shard", shard, code=1)
        p = COMMAND.run(folder, merge=True, code=65)
        self.assertIn("shard 3 of 3 is not finished", p.words)
        self.assertNotIn("index.json", os.listdir(folder))
        COMMAND.run(self.fasta, "--part-records", SIZE, "-o", folder, "--shard", "3/3")
        COMMAND.run(folder, merge=True, code=1)
        index = self.check_index(folder)
        whole, mine = read_all(self.whole), read_all(folder)
        self.assertEqual(mine, whole)
        name = index["parts"][3]["files"][0]["name"]
        COMMAND.run(folder, "--check", merge=True, code=1)
        self.assertEqual(read_all(folder), whole)
        flip(os.path.join(folder, name), -30)  # the size is as it was
        os.remove(os.path.join(folder, "index.json"))
        words = COMMAND.run(folder, "--check", merge=True, code=65).words
        self.assertIn(name + ": its checksum is ", words)
        self.assertIn(f"expected {index['parts'][3]['files'][0]['crc32c']}", words)
        self.assertNotIn("index.json", os.listdir(folder))
        COMMAND.run(folder, merge=True, code=1)  # which compares sizes
        flip(os.path.join(folder, name), -30)
        COMMAND.run(folder, "--check", merge=True, code=1)
        self.assertEqual(read_all(folder), whole)
        os.truncate(os.path.join(folder, name), 100)
        self.assertIn("100 bytes, expected ", COMMAND.run(folder, merge=True, code=65).words)
        os.remove(os.path.join(folder, "part-000003.json"))
        self.assertIn("part 3 of 9 is missing", COMMAND.run(folder, merge=True, code=65).words)

    def test_resume(self):
        """Killed at any moment, the same bytes; what is done stays, and is not computed again."""
        rng = random.Random(3)
        folder = self.path("resume.parts")
        for _ in range(6):
            p = COMMAND.start(self.fasta, "--part-records", str(SIZE), "-o", folder, "--resume")
            time.sleep(rng.uniform(0.01, 0.3))
            p.send_signal(signal.SIGKILL)
            p.communicate()
        self.command("-o", folder, "--resume", code=1)
        self.assertEqual(read_all(folder), read_all(self.whole))
        kept = os.stat(os.path.join(folder, "part-000004.npz")).st_mtime_ns
        for name in "part-000001.json", "part-000008.npz", "part-000008.json":
            os.remove(os.path.join(folder, name))
        self.command("-o", folder, "--resume", code=1)
        self.assertEqual(read_all(folder), read_all(self.whole))
        self.assertEqual(os.stat(os.path.join(folder, "part-000004.npz")).st_mtime_ns, kept)

    def test_refuses_what_is_other(self):
        folder = self.path("other.parts")
        self.command("-o", folder, code=1)
        before = read_all(folder)
        p = self.command("-o", folder, code=73)
        self.assertIn("parts are there already: --resume", p.words)
        self.assertEqual(read_all(folder), before)
        p = self.command("-o", folder, "--resume", "--include", "bos", code=65)
        self.assertIn("part 0 is of another model, of other options", p.words)
        other = make_fasta(os.path.join(self.dir, "other.fasta"), N, seed=2)
        p = self.command("-o", folder, "--resume", code=65, fasta=other)
        self.assertIn("part 0 is of another input", p.words)
        with open(os.path.join(folder, "mine.txt"), "w", encoding="ascii") as f:
            f.write("a file of the user")
        self.command("-o", folder, "--resume=no", code=1)
        after = read_all(folder)
        self.assertEqual(after.pop("mine.txt"), b"a file of the user")
        self.assertEqual(after, before)

    def test_folder_of_somebody_else(self):
        folder = self.path("theirs.parts")
        os.mkdir(folder)
        with open(os.path.join(folder, "index.json"), "w", encoding="ascii") as f:
            f.write("{}")
        p = self.command("-o", folder, code=73)
        self.assertIn("an index.json is there without parts", p.words)
        self.assertEqual(read_all(folder), {"index.json": b"{}"})

    def test_journal_beside_a_part_that_is_done(self):
        folder = self.path("left.parts")
        self.command("-o", folder, code=1)
        before = read_all(folder)
        name = next(n for n in sorted(before) if n.startswith("part-") and n.endswith(".npz"))
        left = os.path.join(folder, name + ".part")
        os.mkdir(left)
        for file in "job.json", "journal", "data", "lock":
            with open(os.path.join(left, file), "w", encoding="ascii") as f:
                f.write("{}")
        self.command("-o", folder, "--resume", code=1)
        self.assertEqual(read_all(folder), before)

    def test_refuses_names(self):
        self.assertIn("names one file", self.command("-o", "x.npz", code=64).words)
        self.assertIn("name the folder", self.command("--format", "tsv", code=64).words)
        twice = os.path.join(self.dir, "twice.fasta")
        with open(twice, "w", encoding="ascii") as f:
            f.write("".join(f">r{i % 20}\nMKTAYIAK\n" for i in range(40)))
        folder = self.path("twice.parts")
        self.command("-o", folder, fasta=twice)  # repeated ids are in different parts
        with open(twice, "a", encoding="ascii") as f:
            f.write(">r19\nMKT\n")
        p = self.command("-o", self.path("twice.parts"), fasta=twice, code=65)
        self.assertIn("r19", p.words)

    def test_input_that_ends_with_a_part(self):
        for n in SIZE, 2 * SIZE:
            fasta = make_fasta(os.path.join(self.dir, "even.fasta"), n, bad=False)
            folder = self.path("even.parts")
            self.command("-o", folder, fasta=fasta)
            self.assertEqual(len(self.check_index(folder, n)["parts"]), n // SIZE)
            self.assertNotIn(f"part-{n // SIZE:06}.npz.part", os.listdir(folder))


class Index(unittest.TestCase):
    """10,000 parts of 1,000 records, whose files are as small as files can be."""

    def test_ten_million_records(self):
        parts, size = 10000, 1000
        with tempfile.TemporaryDirectory(prefix="bioinfer-parts-") as outer:
            # provenance stands beside the folder that is merged
            folder = os.path.join(outer, "parts")
            os.mkdir(folder)
            for k in range(parts):
                name = f"part-{k:06}"
                line = {"part": k, "first": k * size, "records": size, "failed": 0,
                        "residues": 250 * size, "copied": 0, "first_id": f"r{k * size}",
                        "last_id": f"r{k * size + size - 1}", "arrays": [],
                        "input": f"{k:016x}", "job": "00000000000000ab",
                        "files": [{"name": name + ".npy", "size": 1, "crc32c": "00000000"}]}
                with open(os.path.join(folder, name + ".npy"), "wb") as f:
                    f.write(b"x")
                with open(os.path.join(folder, name + ".json"), "w", encoding="ascii") as f:
                    f.write(json.dumps(line) + "\n")
            for i in range(1, 65):
                line = {"bioinfer": "0.1.0", "model": "m", "fingerprint": "f", "task": "embed",
                        "options": "", "format": "npy", "dtype": "f32", "layout": "matrix",
                        "part_records": size, "input_records": parts * size,
                        "input": f"{parts - 1:016x}", "job": "00000000000000ab"}
                name = f"shard-{i}-of-64.json"
                with open(os.path.join(folder, name), "w", encoding="ascii") as f:
                    f.write(json.dumps(line) + "\n")
            p = subprocess.Popen([COMMAND.exe, "merge", folder], stderr=subprocess.PIPE)
            words = p.stderr.read().decode()
            _, status, usage = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
            p.stderr.close()
            self.assertEqual(p.returncode, 0, words)
            self.assertIn("10000000 records, 2500000000 residues", words)
            with open(os.path.join(folder, "index.json"), encoding="ascii") as f:
                index = json.load(f)
            self.assertEqual([x["part"] for x in index["parts"]], list(range(parts)))
            self.assertEqual(index["input_records"], parts * size)
            if os.environ.get("BIOINFER_SANITIZED") != "1":
                self.assertLess(usage.ru_maxrss, 32 * 1024)  # KiB
            with open(os.path.join(folder, "part-000077.json"), "r+", encoding="ascii") as f:
                f.write('{"part": 78')
            words = COMMAND.run(folder, merge=True, code=65).words
            self.assertIn("part-000077.json", words)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    COMMAND = Command(sys.argv[1], sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
