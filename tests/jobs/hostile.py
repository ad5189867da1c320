#!/usr/bin/env python3
"""hostile.py BIOINFER SOURCE_ROOT [CASE ...] - journals whose checksums are right and whose
contents are not.

What a file says decides no allocation: peak memory stays below 64 MiB and 16 bytes for each byte
that is there.
"""
import json
import os
import resource
import shutil
import struct
import sys
import tempfile
import unittest

from common import Command, contents

COMMAND = None
TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def record(ordinal, offset=0, size=0, crc=0, status=0, flags=0, hashes=(0, 0)):
    body = struct.pack("<QQQIiQQQ", ordinal, offset, size, crc, status, flags, *hashes)
    return struct.pack("<II", 0x324A4942, crc32c(body)) + body


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-hostile-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.fasta = self.path("in.fasta")
        with open(self.fasta, "w", encoding="ascii") as f:
            f.write(">a\nMKTAYIAKQR\n>b\nACDEF\n>c\nMKTAYIAKQR\n")
        self.out = self.path("a.npz")
        self.part = self.out + ".part-1-of-1"
        COMMAND.run(self.fasta, "-o", self.out, "--shard", "1/1")
        with open(self.part + "/journal", "rb") as f:
            raw = f.read()
        self.records = [raw[at:at + 64] for at in range(0, len(raw), 64)]
        with open(self.part + "/data", "rb") as f:
            self.data = f.read()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, data):
        with open(os.path.join(self.part, name), "wb") as f:
            f.write(data)

    def peak(self, args):
        """Exit status, peak resident bytes and words of a child of its own."""
        with open(self.path("words"), "wb+") as words:
            pid = os.posix_spawn(args[0], args, COMMAND.env(),
                                 file_actions=[(os.POSIX_SPAWN_DUP2, words.fileno(), 2)])
            _, status, usage = os.wait4(pid, 0)
            words.seek(0)
            # a sanitizer's own memory would count
            peak = 0 if os.environ.get("BIOINFER_SANITIZED") else usage.ru_maxrss * 1024
            return os.waitstatus_to_exitcode(status), peak, words.read().decode(errors="replace")

    def bounded(self, codes=(65, 73), base=0):
        """A merge, then the job itself resumed: refused in little memory, and nothing is
        written."""
        n = sum(os.path.getsize(os.path.join(self.part, name)) for name in os.listdir(self.part))
        code, peak, words = self.peak([COMMAND.exe, "merge", self.out])
        self.assertIn(code, codes, words)
        self.assertLess(peak, base + (64 << 20) + 16 * n, words)
        os.rename(self.part, self.out + ".part")
        code, peak, resumed = self.peak(COMMAND.args(self.fasta, "-o", self.out, "--resume"))
        os.rename(self.out + ".part", self.part)
        self.assertLess(peak, base + self.usual + (64 << 20) + 16 * n, resumed)
        self.assertFalse(os.path.exists(self.out))
        self.assertIn(code, codes, resumed)
        return words

    @property
    def usual(self):
        return self.peak(COMMAND.args(self.fasta, "-o", self.path("usual.npz")))[1]


class Journals(Case):
    def setUp(self):
        super().setUp()
        if not os.path.exists(self.part + "/journal"):
            self.skipTest("no journal")

    def test_whole(self):
        """These records as they are make the output: the checksums of this file are right."""
        self.write("journal", b"".join(record(*self.fields(r)) for r in self.records))
        COMMAND.run(self.out, merge=True)
        COMMAND.run(self.fasta, "-o", self.path("b.npz"))
        self.assertEqual(list(contents(self.out).values()),
                         list(contents(self.path("b.npz")).values()))

    def fields(self, raw):
        *most, first, second = struct.unpack("<QQQIiQQQ", raw[8:])
        return *most, (first, second)

    def test_two_ends(self):
        """A job that was complete, and was gone on with: the last end counts."""
        end = self.fields(self.records[-1])
        early = record(end[0] - 1, *end[1:-1], (12345, end[-1][1]))
        self.write("journal", b"".join(self.records[:-1]) + early + self.records[-1])
        COMMAND.run(self.out, merge=True)
        COMMAND.run(self.fasta, "-o", self.path("b.npz"))
        self.assertEqual(list(contents(self.out).values()),
                         list(contents(self.path("b.npz")).values()))

    def test_ordinals(self):
        """20 records, of which one is far away."""
        for far in (1 << 31, (1 << 32) - 3, 1 << 40, (1 << 64) - 2, 10 << 20):
            good = [record(*self.fields(self.records[0])) for _ in range(19)]
            end = self.fields(self.records[-1])
            self.write("journal", b"".join(good) + record(far, *self.fields(self.records[0])[1:]) +
                       record(far + 1 & (1 << 64) - 1, *end[1:]))
            self.bounded()

    def test_sizes(self):
        """Payloads beyond the data, ends that promise records, copies of copies, offsets that
        overflow."""
        first, end = self.fields(self.records[0]), self.fields(self.records[-1])
        for change in ({"offset": (1 << 64) - 8, "size": 64}, {"size": 1 << 40},
                       {"size": (1 << 64) - 1}):
            fields = dict(zip(("ordinal", "offset", "size", "crc", "status", "flags", "hashes"),
                              first), **change)
            self.write("journal", record(**fields) + record(*end))
            code, peak, words = self.peak([COMMAND.exe, "merge", self.out])
            self.assertEqual(code, 65, words)
            self.assertLess(peak, 64 << 20)
        for n in (4, 1 << 32, (1 << 64) - 1):
            self.write("journal", b"".join(self.records[:-1]) + record(n, *end[1:]))
            code, peak, words = self.peak([COMMAND.exe, "merge", self.out])
            self.assertEqual(code, 65, words)
            self.assertLess(peak, 64 << 20)

    def test_payloads(self):
        """Packed results that say they hold more than they do."""
        for at, value in ((36, (1 << 32) - 1), (48, (1 << 31) - 1), (40, 1 << 30), (36, 1 << 20)):
            out, data = [], b""
            for raw in self.records[:-1]:
                ordinal, offset, size, _, *more = self.fields(raw)
                payload = bytearray(self.data[offset:offset + size])
                struct.pack_into("<I", payload, 16 + at, value & 0xFFFFFFFF)
                out.append(record(ordinal, len(data), size, crc32c(payload), *more))
                data += payload
            self.write("journal", b"".join(out) + self.records[-1])
            self.write("data", data)
            code, peak, words = self.peak([COMMAND.exe, "merge", self.out])
            self.assertIn(code, (0, 65), words)
            self.assertLess(peak, (64 << 20) + 16 * len(data), words)
            for name in (self.out, self.out + ".manifest.tsv"):
                if os.path.exists(name):
                    os.remove(name)

    def test_shards(self):
        """A job that says it has very many shards: they are missing, and nothing is allocated for
        them."""
        with open(self.part + "/job.json", encoding="utf-8") as f:
            job = json.load(f)
        for n in (1 << 20, 1 << 31, (1 << 53) - 1):
            job["shards"] = n
            self.write("job.json", json.dumps(job).encode())
            code, peak, words = self.peak([COMMAND.exe, "merge", self.out, self.part])
            self.assertEqual(code, 65, words)
            self.assertIn("shards missing: 2, 3, 4", words)
            self.assertLess(peak, 64 << 20)


class Merges(Case):
    def test_missing_comes_first(self):
        """A shard that is not there is named before any journal is read."""
        for i in (1, 3):
            COMMAND.run(self.fasta, "-o", self.path("s.npz"), "--shard", f"{i}/3")
        for i in (1, 3):
            os.truncate(self.path(f"s.npz.part-{i}-of-3/journal"), 0)
        p = COMMAND.run(self.path("s.npz"), merge=True, code=65)
        self.assertIn("1 of 3 shards missing: 2", p.words)

    def test_more_shards_than_open_files(self):
        """600 shards, 40 open files."""
        path, n = self.path("s.npz"), 600
        COMMAND.run(self.fasta, "-o", path)
        want = contents(path)
        for i in (1, 2, 3, 4):
            COMMAND.run(self.fasta, "-o", path, "--shard", f"{i}/{n}")
        with open(f"{path}.part-4-of-{n}/job.json", encoding="utf-8") as f:
            text = f.read()
        for i in range(5, n + 1):  # as empty as the fourth
            folder = f"{path}.part-{i}-of-{n}"
            shutil.copytree(f"{path}.part-4-of-{n}", folder)
            with open(folder + "/job.json", "w", encoding="utf-8") as f:
                f.write(text.replace('"shard": 4,', f'"shard": {i},'))
        for limit in (40, 12):
            for name in (path, path + ".manifest.tsv"):
                os.remove(name)
            COMMAND.run(path, merge=True, preexec_fn=lambda m=limit: resource.setrlimit(
                resource.RLIMIT_NOFILE, (m, m)))
            self.assertEqual(contents(path), want)


if __name__ == "__main__":
    COMMAND = Command(sys.argv[1], sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, warnings="ignore")
