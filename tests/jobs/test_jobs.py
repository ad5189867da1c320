#!/usr/bin/env python3
"""test_jobs.py BIOINFER SOURCE_ROOT [CASE ...] - long runs: resume, shards, copies, formats.

Standard library only; h5py and torch are used where they are installed.
"""
import json
import os
import pickletools
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

from common import Command, change_middle, contents, make_fasta, write_head

COMMAND = None
# Records of an input. Under sanitizers a run of fewer lasts longer than one of all does without.
RECORDS = 400 if os.environ.get("BIOINFER_SANITIZED") == "1" else 1500


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-jobs-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.fasta = make_fasta(self.path("in.fasta"), RECORDS)

    def path(self, name):
        return os.path.join(self.dir, name)

    def whole(self, name, *more, fasta=None):
        """The bytes of an undisturbed run; once for all tests is not worth the state."""
        path = self.path("whole-" + name)
        COMMAND.run(fasta or self.fasta, "-o", path, *more, code=1)
        return contents(path)

    def unfinished(self, name, *more, fasta=None):
        """A run that was killed with a result in its journal; what fails at once comes before that.
        The journal is written every quarter of a second, then less often: a fast machine would be
        done, so the run pauses."""
        path = self.path(name)

        def has_result():
            try:
                with open(path + ".part/journal", "rb") as f:
                    raw = f.read()
            except FileNotFoundError:
                return False
            return any(struct.unpack_from("<i", raw, at + 36)[0] == 0
                       for at in range(0, len(raw) - 63, 64))
        for _ in range(20):
            p = COMMAND.start(fasta or self.fasta, "-o", path, "--threads", 1, *more)
            while p.poll() is None and not os.path.exists(path + ".part/journal"):
                time.sleep(0.001)
            for pause in (0.3, 0.6, 1.1, 2.1):
                if p.poll() is None and not has_result():
                    p.send_signal(signal.SIGSTOP)
                    time.sleep(pause)
                    p.send_signal(signal.SIGCONT)
                    time.sleep(0.03)
            while p.poll() is None and not has_result():
                time.sleep(0.002)
            p.kill()
            p.communicate()
            if has_result():
                return path
            shutil.rmtree(path + ".part", ignore_errors=True)
        self.fail("no run was slow enough to be killed")

    def manifest(self, path):
        with open(path + ".manifest.tsv", encoding="utf-8") as f:
            rows = [line.rstrip("\n").split("\t") for line in f]
        self.assertEqual(rows[0], ["ordinal", "id", "length", "status", "same_as", "message"])
        self.assertEqual([r[0] for r in rows[1:]], [str(i) for i in range(len(rows) - 1)])
        return rows[1:]


class Resume(Case):
    def test_needs_to_be_asked(self):
        want = self.whole("a.npz")
        path = self.unfinished("a.npz")
        p = COMMAND.run(self.fasta, "-o", path, code=73)
        self.assertIn("a.npz.part: an unfinished job is there: --resume", p.words)
        COMMAND.run(self.fasta, "-o", path, "--resume=no", code=1)
        self.assertEqual(contents(path), want)
        self.assertFalse(os.path.exists(path + ".part"))
        os.remove(path)
        COMMAND.run(self.fasta, "-o", path, "--resume", code=1)  # nothing there: begins
        self.assertEqual(contents(path), want)

    def test_edited_weights(self):
        """A checkpoint of the same name in which one middle element differs: neither gone on with,
        nor merged."""
        model = shutil.copytree(COMMAND.model, self.path("model"))
        args = (self.fasta, "--workers", "1")
        for more in ((self.fasta,), args):
            path = self.path("a.npz")
            command = [COMMAND.exe, "esm2", *more, "-o", path, "--weights", model, "--quiet"]

            def run(*options, code):
                p = subprocess.run([*command, *options], capture_output=True, check=False,
                                   env=COMMAND.env())
                self.assertEqual(p.returncode, code, p.stderr.decode())
                return p.stderr.decode()
            run("--shard", "1/2", code=1)
            change_middle(os.path.join(model, "model.safetensors"))
            self.assertIn("fingerprint of model", run("--shard", "1/2", "--resume", code=73))
            run("--shard", "2/2", code=1)
            self.assertIn("fingerprint of model", COMMAND.run(path, merge=True, code=65).words)
            change_middle(os.path.join(model, "model.safetensors"))
            self.assertIn("fingerprint of model", run("--shard", "2/2", "--resume", code=73))
            shutil.rmtree(path + ".part-2-of-2")
            run("--shard", "2/2", code=1)
            run("--shard", "1/2", "--resume", code=1)
            COMMAND.run(path, merge=True, code=1)
            self.assertEqual(list(contents(path)), list(self.whole("a.npz")))
            shutil.rmtree(path + ".part-1-of-2")
            shutil.rmtree(path + ".part-2-of-2")
            os.remove(path)

    def test_other_shape_of_the_same_results(self):
        """Options that do not change results may change: format, threads, batches."""
        want = self.whole("b.safetensors")
        path = self.unfinished("a.npz")
        os.rename(path + ".part", self.path("b.safetensors.part"))
        COMMAND.run(self.fasta, "-o", self.path("b.safetensors"), "--resume", "--threads", 2,
                    "--batch-tokens", 333, code=1)
        self.assertEqual(contents(self.path("b.safetensors")), want)

    def test_refusals(self):
        """Each change is named, and nothing is lost by having tried."""
        want = self.whole("a.npz")
        path = self.unfinished("a.npz")
        other = make_fasta(self.path("other.fasta"), RECORDS, seed=2)
        tiny = os.path.join(COMMAND.root, "share", "bioinfer-tiny")
        resume = ("-o", path, "--resume")
        cases = [
            (73, "include=", (self.fasta, *resume, "--include", "bos")),
            (73, "layers=1", (self.fasta, *resume, "--layers", "1")),
            (73, "max-length=77", (self.fasta, *resume, "--max-length", "77")),
            (73, "raw-residues=1", (self.fasta, *resume, "--raw-residues")),
            (73, "no-rule=all", (self.fasta, *resume, "--no-rule=all")),
            (73, "fingerprint", (self.fasta, *resume, "--cpu-mask", "generic")),
            (73, "the model", (self.fasta, *resume, "--weights", tiny)),
            (73, "dedup", (self.fasta, *resume, "--dedup", "off")),
            (73, "the input", (other, *resume)),
            (65, "another input", (other, *resume[:2], "--resume=force")),
        ]
        for code, part, args in cases:
            # the option given first counts for nothing: the last one does
            if "--weights" in args:
                p = subprocess.run([COMMAND.exe, "esm2", *args], capture_output=True, check=False,
                                   env=COMMAND.env())
                p.words = p.stderr.decode()
                self.assertEqual(p.returncode, code, p.words)
            else:
                p = COMMAND.run(*args, code=code)
            self.assertIn(part, p.words)
        text = open(self.fasta, encoding="ascii").read()
        for change in (text.replace("A", "C", 1), text + ">more\nMKT\n"):
            with open(self.fasta, "w", encoding="ascii") as f:
                f.write(change)
            self.assertIn("of the input was", COMMAND.run(self.fasta, *resume, code=73).words)
        with open(self.fasta, "w", encoding="ascii") as f:
            f.write(text)
        self.assertIn("the time of the input", COMMAND.run(self.fasta, *resume, code=73).words)
        COMMAND.run(self.fasta, "-o", path, "--resume=force", code=1)
        self.assertEqual(contents(path), want)

    def test_input_that_changed(self):
        """Behind the first MB, at the same size and time; then, from pipes, in records that are not
        this shard's."""
        options = ("--max-length", 130)
        with open(self.fasta, "a", encoding="ascii") as f:
            for i in range(30):
                f.write(f">long{i}\n{'ACDEFGHIKL' * 10000}\n")
        want = self.whole("a.npz", *options)
        path = self.unfinished("a.npz", *options)
        facts = os.stat(self.fasta)
        with open(self.fasta, "r+b") as f:
            for last in (b"Y\n", b"L\n"):
                f.seek(-2, os.SEEK_END)
                f.write(last)
                f.flush()
                os.utime(self.fasta, ns=(facts.st_atime_ns, facts.st_mtime_ns))
                p = COMMAND.run(self.fasta, "-o", path, "--resume", *options,
                                code=73 if last == b"Y\n" else 1)
                self.assertEqual("the content of the input" in p.words, last == b"Y\n")
        self.assertEqual(contents(path), want)
        one = "".join(f">r{i}\nMKTAYI{'ACDEFGHIKL'[i % 10]}{'ACDEFGHIKL'[i // 10]}\n"
                      for i in range(60))
        other = one.replace(">r1\nMKT", ">r1\nMKY")
        path = self.path("s.jsonl")
        for i, text in ((1, one), (2, other)):
            COMMAND.run("-", "-o", path, "--shard", f"{i}/2", input=text.encode())
        self.assertIn("its input had other records than that of",
                      COMMAND.run(path, merge=True, code=65).words)
        os.truncate(path + ".part-1-of-2/journal", 64 * 20)
        p = COMMAND.run("-", "-o", path, "--shard", "1/2", "--resume", input=other.encode(),
                        code=65)
        self.assertIn("('r2') is not the one that this journal holds", p.words)
        COMMAND.run("-", "-o", path, "--shard", "1/2", "--resume", input=one.encode())
        COMMAND.run("-", "-o", path, "--shard", "2/2", "--resume=no", input=one.encode())
        COMMAND.run(path, merge=True)


class Resumed(Case):
    def test_damaged_and_foreign_journals(self):
        want = self.whole("a.npz")

        def journal(change):
            path = self.unfinished("a.npz")
            with open(path + ".part/journal", "r+b") as f:
                raw = bytearray(f.read())
                change(raw)
                f.seek(0)
                f.truncate()
                f.write(raw)
            return path

        def flip(raw):
            raw[len(raw) // 128 * 64 + 20] ^= 1

        for change in (flip, lambda raw: raw.clear(), lambda raw: raw.__delitem__(slice(100, None)),
                       lambda raw: raw.extend(b"x" * 1000), lambda raw: raw.reverse()):
            path = journal(change)
            COMMAND.run(self.fasta, "-o", path, "--resume", code=1)
            self.assertEqual(contents(path), want)
        path = self.unfinished("a.npz")
        other = make_fasta(self.path("other.fasta"), RECORDS, seed=2)
        foreign = self.unfinished("f.npz", fasta=other)
        for name in ("journal", "data"):
            shutil.copy(f"{foreign}.part/{name}", f"{path}.part/{name}")
        p = COMMAND.run(self.fasta, "-o", path, "--resume", code=65)
        self.assertIn("is not the one that this journal holds", p.words)
        for text in ("", "{", "[]", '{"format": 2}', '{"format": 3}'):
            with open(path + ".part/job.json", "w", encoding="ascii") as f:
                f.write(text)
            self.assertIn("job.json",
                          COMMAND.run(self.fasta, "-o", path, "--resume", code=73).words)

    def test_two_jobs_on_one_output(self):
        path = self.path("a.npz")
        p = COMMAND.start(make_fasta(self.path("long.fasta"), 20000), "-o", path, "--threads", 1)
        while not os.path.exists(path + ".part/lock"):
            time.sleep(0.002)
        time.sleep(0.02)
        q = COMMAND.run(self.path("long.fasta"), "-o", path, "--resume", code=73)
        self.assertIn("another job is writing this output", q.words)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(60), 143)
        p.communicate()

    def test_stdin(self):
        """The same records from a pipe: known by their content alone."""
        make_fasta(self.fasta, 4000)
        want = self.whole("a.jsonl")
        path = self.path("a.jsonl")
        with open(self.fasta, "rb") as f:
            raw = f.read()
        p = COMMAND.start("-", "-o", path, "--batch-tokens", 64, "--threads", 1,
                          stdin=subprocess.PIPE)
        at = 0
        journal = path + ".part/journal"
        deadline = time.monotonic() + 60
        while not (os.path.exists(journal) and os.path.getsize(journal)):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
            p.stdin.write(raw[at:at + 2000])
            p.stdin.flush()
            at += 2000
        p.kill()
        p.communicate()
        COMMAND.run("-", "-o", path, "--resume", code=65, input=b">x\nMKT\n" + raw)
        COMMAND.run("-", "-o", path, "--resume", code=1, input=raw)
        got = contents(path)
        name = self.fasta.encode()
        self.assertEqual({k: v.replace(b"standard input", name) for k, v in got.items()}, want)

    def test_signal_keeps_what_is_done(self):
        want = self.whole("a.tsv")
        path = self.path("a.tsv")
        p = COMMAND.start(self.fasta, "-o", path, "--threads", 1, "--batch-tokens", 64)
        while not os.path.exists(path + ".part/data"):
            time.sleep(0.002)
        time.sleep(0.05)
        p.send_signal(signal.SIGINT)
        words = p.communicate()[1].decode()
        self.assertEqual(p.returncode, 130, words)
        COMMAND.run(self.fasta, "-o", path, "--resume", code=1)
        self.assertEqual(contents(path), want)

    def test_share_of_a_resumed_run(self):
        """Records of the journal count as done."""
        path = self.unfinished("a.tsv")
        p = COMMAND.run(self.fasta, "-o", path, "--resume", "--progress", "on", code=1)
        self.assertIn("residues/s, 100 %, 0:00:00 left", p.words)

    def test_usage(self):
        for args, part in ((("--resume", "--format", "tsv"), "file"),
                           (("--shard", "1/2", "--format", "tsv"), "file"),
                           (("--resume=maybe",), "match|force|no"), (("--shard", "3/2"), "I/N"),
                           (("--shard", "0/2"), "I/N"), (("--shard", "x"), "I/N"),
                           (("--shard", "1/2", "--strict"), "--strict")):
            self.assertIn(part, COMMAND.run(self.fasta, *args, code=64).words)

    def test_output_that_cannot_be(self):
        os.mkdir(self.path("folder.npz"))
        self.assertIn("folder",
                      COMMAND.run(self.fasta, "-o", self.path("folder.npz"), code=73).words)
        os.mkfifo(self.path("fifo.npz"))
        self.assertIn("device", COMMAND.run(self.fasta, "-o", self.path("fifo.npz"), code=73).words)
        COMMAND.run(self.fasta, "-o", self.path("no/such/a.npz"), code=73)
        os.mkdir(self.path("pt"))
        p = COMMAND.run(self.fasta, "-o", self.path("pt"), "--format", "esm-pt", code=73)
        self.assertIn("there already", p.words)
        self.assertEqual([n for n in os.listdir(self.dir) if ".part" in n], [])


class Disk(Case):
    def test_full_disk(self):
        """Too little room, three times over; with enough of it the run goes on."""
        for name, more in COMMAND.formats.items():
            want = self.whole("d." + name, "--format", name, *more)
            path = self.path("disk." + name)
            size = sum(map(len, want.values()))
            for limit in (4096, size // 4, size // 2):
                p = COMMAND.run(self.fasta, "-o", path, "--format", name, *more, "--resume",
                                code=74, preexec_fn=lambda n=limit: resource.setrlimit(
                                    resource.RLIMIT_FSIZE,
                                    (n if name != "esm-pt" else 4096, resource.RLIM_INFINITY)))
                self.assertIn("disk." + name, p.words)
                self.assertFalse(os.path.exists(path))
            COMMAND.run(self.fasta, "-o", path, "--format", name, *more, "--resume", code=1)
            self.assertEqual(list(contents(path).values()), list(want.values()), name)

    def test_small_file_system(self):
        disk = self.path("disk")
        os.mkdir(disk)
        mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]
        if not shutil.which("mount") or subprocess.run(mount, capture_output=True,
                                                       check=False).returncode:
            self.skipTest("cannot mount a small disk")
        self.addCleanup(subprocess.run, ["umount", disk], capture_output=True, check=False)
        want = self.whole("a.npz")
        path = os.path.join(disk, "a.npz")
        for size in ("64k", "128k", "256k"):
            subprocess.run(["mount", "-o", f"remount,size={size}", disk], check=True)
            COMMAND.run(self.fasta, "-o", path, "--resume", code=74)
            self.assertFalse(os.path.exists(path))
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        COMMAND.run(self.fasta, "-o", path, "--resume", code=1)
        self.assertEqual(list(contents(path).values()), list(want.values()))


class Shards(Case):
    def test_every_format(self):
        for name, more in COMMAND.formats.items():
            want = self.whole("s." + name, "--format", name, *more)
            path = self.path("s." + name)
            for i in (3, 1, 2):
                COMMAND.run(self.fasta, "-o", path, "--format", name, *more, "--shard", f"{i}/3",
                            code=1)
            self.assertFalse(os.path.exists(path))
            COMMAND.run(path, "--format", name, merge=True, code=1)
            self.assertEqual(list(contents(path).values()), list(want.values()), name)

    def test_named_parts_from_elsewhere(self):
        """Shards of one input at two places, with parts that were moved."""
        want = self.whole("a.npz")
        parts = []
        for i in (1, 2, 3, 4, 5):
            folder = self.path(f"node{i}")
            os.mkdir(folder)
            shutil.copy(self.fasta, folder)
            COMMAND.run("in.fasta", "-o", "o.npz", "--shard", f"{i}/5", code=1, cwd=folder)
            os.rename(f"{folder}/o.npz.part-{i}-of-5", f"{folder}/part")
            parts.append(f"{folder}/part/")
        COMMAND.run(self.path("m.npz"), *reversed(parts), merge=True, code=1)
        self.assertEqual(contents(self.path("m.npz"))[""], want[""])

    def test_refusals(self):
        path = self.path("a.npz")
        part = path + ".part-%d-of-%d"
        self.assertIn("part-1-of-N", COMMAND.run(path, merge=True, code=66).words)
        COMMAND.run(self.fasta, "-o", path, "--shard", "1/3", code=1)
        COMMAND.run(self.fasta, "-o", path, "--shard", "3/3", code=1)
        self.assertIn("1 of 3 shards missing: 2", COMMAND.run(path, merge=True, code=65).words)
        first = part % (1, 3)
        self.assertIn("twice", COMMAND.run(path, first, first, merge=True, code=65).words)
        self.assertIn("no such folder",
                      COMMAND.run(path, self.path("x"), merge=True, code=66).words)
        shutil.copytree(first, part % (2, 3))
        self.assertIn("there twice", COMMAND.run(path, merge=True, code=65).words)
        shutil.rmtree(part % (2, 3))
        for option, word in ((("--layers", "1"), "option"), (("--dedup", "off"), "dedup"),
                             (("--cpu-mask", "generic"), "fingerprint")):
            COMMAND.run(self.fasta, "-o", path, "--shard", "2/3", *option, code=1)
            self.assertIn(word, COMMAND.run(path, merge=True, code=65).words)
            shutil.rmtree(part % (2, 3))
        other = make_fasta(self.path("other.fasta"), RECORDS, seed=2)
        COMMAND.run(other, "-o", path, "--shard", "2/3", code=1)
        self.assertIn("input", COMMAND.run(path, merge=True, code=65).words)
        shutil.rmtree(part % (2, 3))
        COMMAND.run(self.fasta, "-o", path, "--shard", "2/4", code=1)
        self.assertIn("shard", COMMAND.run(path, merge=True, code=65).words)
        shutil.rmtree(part % (2, 4))
        COMMAND.run(self.fasta, "-o", path, "--shard", "2/3", code=1)
        os.truncate(part % (2, 3) + "/journal", 64 * 5)
        self.assertIn("shard 2 is not finished", COMMAND.run(path, merge=True, code=65).words)
        self.assertFalse(os.path.exists(path))
        COMMAND.run(self.fasta, "-o", path, "--shard", "2/3", "--resume", code=1)
        COMMAND.run(path, merge=True, code=1)
        self.assertEqual(contents(path), self.whole("a.npz"))

    def test_more_shards_than_records(self):
        fasta = make_fasta(self.path("few.fasta"), 3, bad=False)
        path = self.path("a.jsonl")
        for i in range(1, 6):
            COMMAND.run(fasta, "-o", path, "--shard", f"{i}/5")
        COMMAND.run(path, merge=True)
        COMMAND.run(fasta, "-o", self.path("b.jsonl"))
        self.assertEqual(contents(path), contents(self.path("b.jsonl")))

    def test_options_of_any_length(self):
        """Options behind a long one tell jobs apart as well."""
        with open(self.path("few.fasta"), "w", encoding="ascii") as f:
            f.write(">a\nMKTAYIAK\n>b\nMKTAYIAL\n>c\nMKTWYIAK\n")
        for part in "1", "2":
            subprocess.run([COMMAND.exe, "align", "few.fasta", "few.fasta", "--all-vs-all", "-q",
                            "--min-score", 5000 * "0" + "1", "--top", part, "--shard", part + "/2",
                            "-o", "a.tsv"], cwd=self.path(""), check=True)
        p = COMMAND.run(self.path("a.tsv"), merge=True, code=65)
        self.assertRegex(p.words, "an option was 'top=[12]', now 'top=[12]'")

    def test_one_shard(self):
        path = self.path("a.npz")
        COMMAND.run(self.fasta, "-o", path, "--shard", "1/1", code=1)
        COMMAND.run(path, merge=True, code=1)
        self.assertEqual(contents(path), self.whole("a.npz"))


class Ahead(Case):
    """A message says what an output cannot hold before anything is computed, with the command that
    does."""

    def again(self, words, **how):
        """Runs the command that a message says."""
        line = [n for n in words.splitlines() if "with a suffix they differ: " in n][0]
        p = subprocess.run(line.split("differ: ")[1], shell=True, capture_output=True, check=False,
                           env=COMMAND.env(), **how)
        self.assertEqual(p.returncode, 0, p.stderr)
        return line

    def test_repeated_ids(self):
        os.mkdir(self.path("it's a folder"))
        fasta = self.path("it's a folder/dup.fasta")
        make_fasta(fasta, 3000, bad=False)
        with open(fasta, "a", encoding="ascii") as f:
            f.write(">r7\nMKTAYI\n")
        with open(fasta, "rb") as f:
            text = f.read()
        path = self.path("a.npz")
        p = COMMAND.run(fasta, "-o", path, code=65)
        self.assertIn("id 'r7' of record 3000 and the id of record 7 are both stored as 'r7'\n",
                      p.words)
        self.assertNotIn("suffix_duplicates", p.words)
        self.assertFalse(os.path.exists(path + ".part"))
        self.assertNotIn("--resume", self.again(p.words))
        with zipfile.ZipFile(path) as z:
            self.assertIn("r7_2.npy", z.namelist())
        # from a pipe it is met when it is reached: what was committed is not lost
        path = self.path("b.npz")
        p = COMMAND.start("-", "-o", path, stdin=subprocess.PIPE)
        p.stdin.write(text[:-len(">r7\nMKTAYI\n")])
        p.stdin.flush()
        while not (os.path.exists(path + ".part/journal") and
                   os.path.getsize(path + ".part/journal")):
            time.sleep(0.02)
            now = time.monotonic_ns()  # as many as a reader waits for
            p.stdin.write(b"".join(b">x%d_%d\nMKT\n" % (now, i) for i in range(5000)))
            p.stdin.flush()
        words = p.communicate(b">r7\nMKTAYI\n")[1].decode()
        self.assertEqual(p.returncode, 65, words)
        self.assertIn("--dup-ids suffix --resume", words)
        COMMAND.run(fasta, "-o", self.path("c.jsonl"))  # which takes repeats as they are

    def test_a_file_is_spoken_of_once(self):
        with open(self.fasta, "w", encoding="ascii") as f:
            f.write(">a\nMKT*\n>b\nMKTA*\n")
        p = subprocess.run([COMMAND.exe, "esm2", self.fasta, "-o", self.path("a.npz"), "--weights",
                            COMMAND.model], capture_output=True, check=False, env=COMMAND.env())
        self.assertEqual(p.stderr.count(b"a final '*' was removed"), 1, p.stderr)

    def test_more_than_a_header_names(self):
        """safetensors ends at a header of 100 MB; the names alone need more."""
        fasta, path = self.path("many.fasta"), self.path("a.safetensors")
        with open(fasta, "w", encoding="ascii") as f:
            f.write("".join(f">a_long_name_of_a_protein_of_some_database_that_likes_them_{i}\n"
                            "M\n" for i in range(850_000)))
        p = COMMAND.run(fasta, "-o", path, code=65)
        self.assertIn("npz has no such limit", p.words)
        self.assertFalse(os.path.exists(path + ".part"))

    def test_more_than_a_header_names_by_shapes(self):
        """The names leave room for tensors of one number each, but not for the shapes and places of
        these: the first result tells, and nothing else is computed."""
        fasta, path = self.path("many.fasta"), self.path("a.safetensors")
        with open(fasta, "w", encoding="ascii") as f:
            f.writelines(f">a_long_name_of_a_protein_of_some_database_that_likes_{i:07}\nM\n"
                         for i in range(798_000))
        p = COMMAND.run(fasta, "-o", path, "--include", "mean", code=65)
        self.assertIn(f"{path}: more tensors than a safetensors header of 100000000 bytes", p.words)
        self.assertIn("npz has no such limit, nor has the layout matrix", p.words)
        self.assertFalse(os.path.exists(path + ".part"))

    def test_kinds_that_a_format_does_not_hold(self):
        """They are refused also where no record has a result that would show it."""
        fasta = self.path("bad.fasta")
        with open(fasta, "w", encoding="ascii") as f:
            f.write(">a\nMK1\n")
        for name, kinds, expected in (
                ("npy", ("--include", "per-residue"), "one vector per record, not per-residue"),
                ("npy", ("--include", "mean,bos"), "--include: npy holds one vector per record"),
                ("npy", ("--layers", "0,1"), "--layers: npy holds one vector per record, of one"),
                ("tsv", ("--include", "mean,logits"), "vectors of each record, not logits"),
                ("esm-pt", ("--include", "attentions"), "of each record, not attentions")):
            path = self.path("a." + name)
            p = COMMAND.run(fasta, "-o", path, "--format", name, "--shard", "1/1", *kinds,
                            code=64)
            self.assertIn(expected, p.words)
            self.assertFalse(os.path.exists(path + ".part-1-of-1"))
        for name, kinds in (("npy", ["--layers", "1,1"]), ("tsv", ["--include", "mean,bos"])):
            COMMAND.run(fasta, "-o", self.path("a." + name), *kinds, code=1)

    def test_another_output_of_a_complete_job(self):
        want = self.whole("a.npz")
        path = self.path("b.tsv")
        COMMAND.run(self.fasta, "-o", path, "--shard", "1/1", code=1)
        os.rename(path + ".part-1-of-1", path + ".part")
        limit = os.path.getsize(path + ".part/data") + 4096
        p = COMMAND.run(self.fasta, "-o", path, "--resume", code=74,
                        preexec_fn=lambda: resource.setrlimit(
                            resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY)))
        self.assertIn(f"keeps {RECORDS} records", p.words)
        self.assertIn(f"'bioinfer merge FILE {path}.part'", p.words)
        COMMAND.run(self.path("c.npz"), path + ".part", merge=True, code=1)
        self.assertEqual(list(contents(self.path("c.npz")).values()), list(want.values()))
        COMMAND.run(self.fasta, "-o", path, "--resume", code=1)


class Lost(Case):
    """Records without a result, on standard error."""

    def test_the_first_are_named(self):
        fasta = self.path("bad.fasta")
        with open(fasta, "w", encoding="ascii") as f:
            f.writelines(f">r{i}\n{'MK1' if i % 2 else 'MKT'}\n" for i in range(800))
        mutants = self.path("mutants.csv")
        with open(mutants, "w", encoding="ascii") as f:
            f.write("mutant\n" + "".join(f"{'A' if i % 2 else 'M'}1C\n" for i in range(60)))
        with open(self.path("wt.fasta"), "w", encoding="ascii") as f:
            f.write(">wt\nMKTAYI\n")
        model = ["--weights", COMMAND.model]
        path = self.path("a.npz")
        cases = [(["esm2", fasta, "-o", path, *model], "400 of 800 records have no result",
                  f"; see {path}.manifest.tsv"),
                 (["esm2", fasta, "--format", "tsv", *model], "400 of 800 records have no result",
                  ""),
                 (["score", "esm2", fasta, "--method", "pppl", *model],
                  "400 of 800 records have no score", ""),
                 (["score", "esm2", self.path("wt.fasta"), "--mutations", mutants, *model],
                  "30 of 60 mutants have no score", ""),
                 (["align", fasta, fasta, "--matrix", "BLOSUM62"],
                  "400 of 800 pairs have no result", "")]
        for args, count, end in cases:
            for quiet in (False, True):
                p = subprocess.run([COMMAND.exe, *args, *(["--quiet"] if quiet else [])],
                                   capture_output=True, check=False, env=COMMAND.env())
                lines = p.stderr.decode().splitlines()
                self.assertEqual(p.returncode, 1, lines[-3:])
                self.assertTrue(count in lines[-1] and lines[-1].endswith(end), lines[-1])
                named = [n for n in lines if "no result: " in n and n != lines[-1] or
                         "mutants.csv:" in n]
                self.assertEqual(len(named), 0 if quiet else 10, args)
                self.assertEqual(sum("counted, not named" in n for n in lines), 0 if quiet else 1)
                if quiet:
                    self.assertEqual(len(lines), 1, lines)
        self.assertEqual(sum(row[3] == "bad_residue" for row in self.manifest(path)), 400)
        p = COMMAND.run(fasta, "-o", path, "--strict", code=65)  # which ends the run, so it is said
        self.assertIn("r1: no result", p.words)


class Copies(Case):
    def test_manifest_and_bytes(self):
        path = self.path("a.jsonl")
        COMMAND.run(self.fasta, "-o", path, code=1)
        COMMAND.run(self.fasta, "-o", self.path("b.jsonl"), "--dedup", "off", code=1)
        with open(path, "rb") as a, open(self.path("b.jsonl"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        first, same = {}, 0
        sequences = open(self.fasta, encoding="ascii").read().split(">")[1:]
        rows = self.manifest(path)
        self.assertEqual(len(rows), len(sequences))
        for row, record in zip(rows, sequences):
            head, sequence = record.split("\n")[:2]
            self.assertEqual(row[1], head.split()[0])
            if row[3] == "ok":
                self.assertEqual(row[4], first.get(sequence, ""), row)
                self.assertEqual((row[2], row[5]), (str(len(sequence)), ""))
                first.setdefault(sequence, row[0])
                same += row[4] != ""
            else:
                self.assertEqual(row[4], "")
                self.assertIn(row[1], row[5])
        self.assertGreater(same, RECORDS // 15)
        self.assertEqual({r[4] for r in self.manifest(self.path("b.jsonl"))}, {""})

    def test_copies_of_what_fails(self):
        with open(self.path("f.fasta"), "w", encoding="ascii") as f:
            for i in range(6):
                f.write(f">a{i}\n{'MKTAYIAKQR' * 10}\n>b{i}\nMKT\n")
        path = self.path("a.jsonl")
        COMMAND.run(self.path("f.fasta"), "-o", path, "--max-length", 50, code=1)
        COMMAND.run(self.path("f.fasta"), "-o", self.path("b.jsonl"), "--max-length", 50, "--dedup",
                    "off", code=1)
        with open(path, "rb") as a, open(self.path("b.jsonl"), "rb") as b:
            self.assertEqual(a.read(), b.read())
        rows = [json.loads(line) for line in open(path, encoding="utf-8")]
        self.assertEqual([r["status"] for r in rows], ["too_long", "ok"] * 6)
        for row in rows[::2]:
            self.assertIn(f"'{row['id']}'", row["message"])


class Heads(Case):
    """Annotation heads are jobs as all else is."""

    def setUp(self):
        super().setUp()
        self.heads = {"residues": write_head(self.path("residues.safetensors"), 48, mean=False),
                      "proteins": write_head(self.path("proteins.safetensors"), 48, mean=True)}

    def labels(self, path):
        with open(path, encoding="utf-8") as f:
            return {r["ordinal"]: r.get("labels") for r in map(json.loads, f)}

    def test_labels(self):
        """A job writes what a run without a journal writes; copies have labels too."""
        for name, head in self.heads.items():
            for form in ("jsonl", "tsv"):
                path = self.path("a." + form)
                p = COMMAND.run(self.fasta, "--format", form, "--head", head, code=1)
                COMMAND.run(self.fasta, "-o", path, "--head", head, code=1)
                with open(path, "rb") as f:
                    self.assertEqual(f.read(), p.stdout)
            rows, labels = self.manifest(path), self.labels(self.path("a.jsonl"))
            self.assertEqual(len(rows), len(labels))
            copies = [r for r in rows if r[4]]
            self.assertGreater(len(copies), RECORDS // 30)
            for r in copies:
                self.assertEqual(labels[int(r[0])], labels[int(r[4])])
            for r in rows:
                if r[3] != "ok":
                    self.assertIsNone(labels[int(r[0])])
                elif name == "residues":
                    self.assertEqual(len(labels[int(r[0])]), int(r[2]))
            self.assertGreater(len({x for x in labels.values() if x}), 1)

    def test_resume_shards_workers(self):
        for form, args in (("jsonl", ["--head", self.heads["residues"]]),
                           ("tsv", ["--head", self.heads["proteins"]]),
                           ("h5" if "h5" in COMMAND.formats else "npz",
                            ["--head", self.heads["residues"], "--include", "mean,head"])):
            want = list(self.whole("w." + form, *args).values())
            path = self.unfinished("r." + form, "--batch-tokens", 64, *args)
            COMMAND.run(self.fasta, "-o", path, "--resume", *args, code=1)
            self.assertEqual(list(contents(path).values()), want)
            path = self.path("s." + form)
            for i in (2, 1):
                COMMAND.run(self.fasta, "-o", path, "--shard", f"{i}/2", *args, code=1)
            COMMAND.run(path, merge=True, code=1)
            self.assertEqual(list(contents(path).values()), want)
            path = self.path("p." + form)
            COMMAND.run(self.fasta, "-o", path, "--workers", 2, *args, code=1)
            self.assertEqual(list(contents(path).values()), want)
        p = COMMAND.run(self.fasta, "--format", "jsonl", "--workers", 2, "--head",
                        self.heads["residues"], code=1)
        self.assertEqual(p.stdout, COMMAND.run(self.fasta, "--format", "jsonl", "--head",
                                               self.heads["residues"], code=1).stdout)

    def test_another_head_is_refused(self):
        """Other weights, other names of classes, another activation, none at all."""
        head, path = self.heads["residues"], None
        want = self.whole("w.jsonl", "--head", head)
        path = self.unfinished("a.jsonl", "--head", head)
        with open(head, "rb") as f:
            kept = f.read()
        for change in ({"seed": 2}, {"classes": list("HEX")}, {"activation": "sigmoid"},
                       {"mean": True}, None):
            if change:
                write_head(head, 48, **{"mean": False, **change})
            p = COMMAND.run(self.fasta, "-o", path, "--resume",
                            *(["--head", head] if change else []), code=73)
            self.assertIn("fingerprint of model, head", p.words)
        with open(head, "wb") as f:
            f.write(kept)
        COMMAND.run(self.fasta, "-o", path, "--resume", "--head", head, code=1)
        self.assertEqual(contents(path), want)


class Formats(Case):
    def test_nothing_to_write(self):
        """All records fail: an output without arrays, which its readers take."""
        fasta = self.path("none.fasta")
        with open(fasta, "w", encoding="ascii") as f:
            f.write(">a\nMKTAYIAK\n>b\nACDEF\n")
        for name, more in COMMAND.formats.items():
            path = self.path("none." + name)
            COMMAND.run(fasta, "-o", path, "--format", name, *more, "--max-length", 2, code=1)
            self.assertEqual([row[3] for row in self.manifest(path)], ["too_long"] * 2)
        with open(self.path("none.npz"), "rb") as f:
            self.assertEqual(f.read(4), b"PK\5\6")  # NumPy looks for it
        with zipfile.ZipFile(self.path("none.npz")) as z:
            self.assertEqual((z.namelist(), z.testzip()), ([], None))
            self.assertTrue(z.comment.startswith(b"bioinfer "))
        self.assertEqual(os.listdir(self.path("none.esm-pt")), [])
        script = "import numpy, sys; print(list(numpy.load(sys.argv[1])))"
        for python in (sys.executable, "/usr/bin/python3"):
            p = subprocess.run([python, "-c", script, self.path("none.npz")], capture_output=True,
                               check=False)
            if p.returncode == 0 or b"No module" not in p.stderr:
                self.assertEqual((p.stdout, p.stderr), (b"[]\n", b""))

    def test_esm_pt(self):
        fasta = self.path("l.fasta")
        with open(fasta, "w", encoding="utf-8") as f:
            f.write(">sp|P1|X A protein/with é\nMKTAYIAK\n>b\nACDEF\n>c\n\n>" + "d" * 300 +
                    "\nMK\n")
        kinds = ["--include", "mean,per-residue,bos,contacts", "--layers", "0,2"]
        path = self.path("pt")
        COMMAND.run(fasta, "-o", path, "--format", "esm-pt", *kinds, code=1)
        names = ["b.pt", "seq_3.pt", "sp|P1|X A protein_with é.pt"]
        self.assertEqual(sorted(os.listdir(path)), names)
        for name in names:
            with zipfile.ZipFile(os.path.join(path, name)) as z:
                self.assertIsNone(z.testzip())
                self.assertEqual(z.read("archive/version"), b"3\n")
                raw = z.read("archive/data.pkl")
            ops = [(op.name, arg) for op, arg, _ in pickletools.genops(raw)]
            self.assertEqual({arg for op, arg in ops if op == "GLOBAL"},
                             {"torch._utils _rebuild_tensor_v2", "torch FloatStorage",
                              "collections OrderedDict"})
            keys = [arg for op, arg in ops if op == "BINUNICODE"]
            for key in ("label", "representations", "mean_representations", "bos_representations",
                        "contacts"):
                self.assertEqual(keys.count(key), 1)
        self.assertIn("contacts", COMMAND.run(fasta, "-o", self.path("q"), "--format", "esm-pt",
                                              "--include", "logits", code=64).words)
        try:
            import torch
        except ImportError:
            return
        d = torch.load(os.path.join(path, names[2]), weights_only=True)
        self.assertEqual(list(d), ["label", "representations", "mean_representations",
                                   "bos_representations", "contacts"])
        self.assertEqual(d["label"], "sp|P1|X A protein/with é")
        self.assertEqual([tuple(d[k][2].shape) for k in list(d)[1:4]], [(8, 48), (48,), (48,)])
        self.assertEqual(d["contacts"].shape, (8, 8))

    def test_one_vocabulary(self):
        """Manifest, tsv and jsonl say the same of a record in the same words."""
        for name in ("tsv", "jsonl"):
            COMMAND.run(self.fasta, "-o", self.path("v." + name), code=1)
        rows = self.manifest(self.path("v.tsv"))  # which checks its names
        with open(self.path("v.tsv"), encoding="utf-8") as f:
            names = next(f).split("\t")[:4]
            table = [dict(zip(names, line.rstrip("\n").split("\t"))) for line in f]
        with open(self.path("v.jsonl"), encoding="utf-8") as f:
            objects = [json.loads(line) for line in f]
        self.assertEqual(names, ["id", "length", "status", "message"])
        self.assertEqual(len(rows), len(table))
        for row, cells, fields in zip(rows, table, objects, strict=True):
            want = dict(zip(("ordinal", "id", "length", "status", "same_as", "message"), row))
            self.assertEqual({k: want[k] for k in names}, cells)
            self.assertEqual(set(fields), {"ordinal", "id", "length", "status"} |
                             {"arrays" if row[3] == "ok" else "message"})
            for k in set(fields) - {"arrays"}:
                self.assertEqual(str(fields[k]), want[k])

    def test_library_that_is_not_there(self):
        """A libhdf5 that cannot be loaded is named before anything is computed; a shard does
        without."""
        if "h5" not in COMMAND.formats:
            self.skipTest("built without HDF5")
        os.mkdir(self.path("lib"))
        for name in ("_serial.so.103", ".so.103", ".so.200", "_serial.so.310", ".so.310",
                     "_serial.so", ".so"):
            open(self.path("lib/libhdf5" + name), "wb").close()  # too short to be a library
        env = COMMAND.env(LD_LIBRARY_PATH=self.path("lib"))
        path = self.path("a.h5")
        p = subprocess.run(COMMAND.args(self.fasta, "-o", path), env=env, capture_output=True,
                           check=False)
        self.assertEqual(p.returncode, 64, p.stderr)
        self.assertIn(b"needs libhdf5", p.stderr)
        self.assertNotIn(b"no result", p.stderr)  # no record is said to have none
        self.assertFalse(os.path.exists(path + ".part"))
        p = subprocess.run(COMMAND.args(self.fasta, "-o", path, "--shard", "1/1"), env=env,
                           capture_output=True, check=False)
        self.assertEqual(p.returncode, 1, p.stderr)
        COMMAND.run(path, merge=True, code=1)

    def test_h5_names(self):
        if "h5" not in COMMAND.formats:
            self.skipTest("built without HDF5")
        fasta = self.path("l.fasta")
        with open(fasta, "w", encoding="utf-8") as f:
            f.write(">sp|P1.2|X A p>rotein/with.dots \nMKTAYIAK\n>b/c\nACDEF\n")
        for rule, names in (("id", ["b_c", "sp|P1.2|X"]),
                            ("prottrans", ["b_c", "sp|P1_2|X A protein_with_dots"])):
            path = self.path(rule + ".h5")
            COMMAND.run(fasta, "-o", path, "--h5-names", rule, "--include", "per-residue")
            script = "import h5py, sys; f = h5py.File(sys.argv[1]); print(*f, sep=';'); " \
                     "print([f[k].shape for k in f])"
            for python in (sys.executable, "/usr/bin/python3"):
                p = subprocess.run([python, "-c", script, path], capture_output=True, check=False)
                if p.returncode == 0:
                    self.assertEqual(p.stdout.decode().splitlines(),
                                     [";".join(names), "[(5, 48), (8, 48)]"])
                    break


if __name__ == "__main__":
    COMMAND = Command(sys.argv[1], sys.argv[2])
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, warnings="ignore")
