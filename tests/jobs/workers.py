#!/usr/bin/env python3
"""workers.py BIOINFER SOURCE_ROOT KILLS [SEED] - worker processes that die, hang and lose
their device, and commands that die before their workers. CPU workers take the same path as
those of GPUs."""
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import Command, contents, make_fasta


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as f:
                    words = f.read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(words[1]) == pid and words[0] != "Z":
                found.append(int(name))
    return found


def gone(pids, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        alive = []
        for pid in pids:
            try:
                with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
                    if f.read().rsplit(")", 1)[1].split()[0] != "Z":
                        alive.append(pid)
            except OSError:
                pass
        if not alive:
            return True
        time.sleep(0.02)
    return False


def kill(pid, number):
    try:
        os.kill(pid, number)
        return 1
    except ProcessLookupError:
        return 0


class Run:
    def __init__(self, exe, root, folder, seed):
        self.command, self.rng = Command(exe, root), random.Random(seed)
        self.folder = folder
        self.fasta = make_fasta(os.path.join(folder, "in.fasta"), 4000)
        self.n = 0
        whole = os.path.join(folder, "whole.npz")
        begun = time.monotonic()
        self.command.run(self.fasta, "-o", whole, code=1)
        self.seconds = time.monotonic() - begun
        self.want = contents(whole)

    def path(self):
        self.n += 1
        return os.path.join(self.folder, f"out{self.n}.npz")

    def check(self, path, words):
        got = contents(path)
        assert got == self.want, (list(got), words[-3000:])
        for name in ("", ".manifest.tsv"):
            os.remove(path + name)

    def kills(self, count):
        """kill -9 of workers at random moments."""
        done = jobs = 0
        while done < count:
            path = self.path()
            p = self.command.start(self.fasta, "-o", path, "--workers", 2, "--threads", 2)
            while p.poll() is None:
                time.sleep(self.rng.uniform(0.01, max(0.1, self.seconds / 3)))
                pids = children(p.pid) if p.poll() is None else []
                if pids and done < count:
                    done += kill(self.rng.choice(pids), signal.SIGKILL)
            words = p.communicate()[1].decode()
            assert p.returncode == 1, (p.returncode, words[-3000:])
            self.check(path, words)
            jobs += 1
        print(f"{done} workers killed over {jobs} jobs: all outputs equal")

    def stops(self, count):
        """SIGSTOP: the watchdog replaces the worker."""
        for _ in range(count):
            path = self.path()
            p = self.command.start(self.fasta, "-o", path, "--workers", 2, "--watchdog", 2)
            time.sleep(self.rng.uniform(0, self.seconds))
            for pid in children(p.pid)[:1]:
                kill(pid, signal.SIGSTOP)
            words = p.communicate()[1].decode()
            assert p.returncode == 1, (p.returncode, words[-3000:])
            self.check(path, words)
        print(f"{count} workers stopped: all outputs equal")

    def supervisors(self, count):
        """kill -9 of the command: its workers leave within 2 s, a stopped one too."""
        for i in range(count):
            path = self.path()
            p = self.command.start(self.fasta, "-o", path, "--workers", 2)
            pids = []
            while len(pids) < 2 and p.poll() is None:
                pids = children(p.pid)
            time.sleep(self.rng.uniform(0, self.seconds))
            if i % 4 == 3:
                kill(pids[0], signal.SIGSTOP)
            kill(p.pid, signal.SIGKILL)
            p.communicate()
            assert gone(pids, 2), "a worker is still there"
            words = self.command.run(self.fasta, "-o", path, "--workers", 2, "--resume", code=1).words
            self.check(path, words)
        print(f"{count} commands killed: their workers left, the resumed outputs are equal")

    def faults(self):
        """A record that ends its worker costs itself only; a fault that passes costs nothing."""
        rows = self.want[".manifest.tsv"].decode().splitlines()
        wanted = rows[2001].split("\t")
        assert wanted[3] == "ok" and wanted[4] == "", wanted
        for kind, more in (("crash", ()), ("lost", ()), ("hang", ("--watchdog", 2))):
            path = self.path()
            p = subprocess.run(self.command.args(self.fasta, "-o", path, "--workers", 2, "--dedup", "off", *more),
                               env=self.command.env(BIOINFER_WORKER_FAULT=f"{kind}:{wanted[1]}"),
                               capture_output=True, check=False, timeout=300)
            assert p.returncode == 1, p.stderr.decode()[-3000:]
            with open(path + ".manifest.tsv", encoding="utf-8") as f:
                got = f.read().splitlines()
            differ = [(a, b) for a, b in zip(got, rows, strict=True)
                      if a.split("\t")[:4] != b.split("\t")[:4]]
            assert len(differ) == 1, differ[:5]
            assert differ[0][0].split("\t")[:4] == [*wanted[:3], "device_error"], differ
            assert "ended twice" in differ[0][0], differ
            # what failed for want of a device is computed by a resume of a shard
            shard = self.path()
            p = subprocess.run(self.command.args(self.fasta, "-o", shard, "--workers", 1, "--shard", "1/1", *more),
                               env=self.command.env(BIOINFER_WORKER_FAULT=f"{kind}:{wanted[1]}"),
                               capture_output=True, check=False, timeout=300)
            assert p.returncode == 1, p.stderr.decode()[-3000:]
            self.command.run(self.fasta, "-o", shard, "--shard", "1/1", "--resume", code=1)
            self.command.run(shard, merge=True, code=1)
            self.check(shard, "")
            shutil.rmtree(shard + ".part-1-of-1")
        print("3 kinds of faults: one record each, the others equal")

    def broken(self):
        """A worker that dies at every record is not replaced for ever; the job goes on later."""
        path = self.path()
        p = subprocess.run(self.command.args(self.fasta, "-o", path, "--workers", 1),
                           env=self.command.env(BIOINFER_WORKER_FAULT="crash:*"), capture_output=True,
                           check=False, timeout=300)
        words = p.stderr.decode()
        assert p.returncode == 69 and "given up" in words and "no device is left" in words, \
            (p.returncode, words[-3000:])
        assert not os.path.exists(path)
        p = self.command.run(self.fasta, "-o", path, "--resume", code=1)
        self.check(path, p.words)
        print("a worker that dies at every record is given up; resumed, the output is equal")

    def refusals(self):
        path = self.path()
        for code, part, args in ((69, "cuda:0", ("--device", "cuda:0")),
                                 (69, "abacus", ("--device", "cpu,abacus")),
                                 (64, "twice", ("--device", "cpu,cpu")),
                                 (78, "nowhere", ("--workers", 2, "--weights", "./nowhere")),
                                 (64, "layer", ("--workers", 2, "--layers", 99)),
                                 (64, "256", ("--workers", 1000))):
            args = [self.command.exe, "esm2", self.fasta, "-o", path, *map(str, args)]
            if "--weights" not in args:
                args += ["--weights", self.command.model]
            p = subprocess.run(args, capture_output=True, check=False, timeout=120)
            words = p.stderr.decode()
            assert p.returncode == code and part in words, (args, p.returncode, words)
            assert not os.path.exists(path + ".part") and not os.path.exists(path)
        whole = os.path.join(self.folder, "whole.npz")
        for device in ("all", "auto"):  # no GPU here: the CPU
            self.command.run(self.fasta, "-o", path, "--device", device, "--workers", 2, code=1)
            self.check(path, "")
        a = self.command.run(self.fasta, "--format", "jsonl", "--workers", 3, code=1)
        b = self.command.run(self.fasta, "--format", "jsonl", code=1)
        assert a.stdout == b.stdout and len(a.stdout) > 10000, "order"
        p = self.command.start(self.fasta, "--format", "tsv", "--workers", 2, stdout=subprocess.PIPE)
        p.stdout.readline()
        pids = children(p.pid)
        p.stdout.close()
        assert p.wait(60) == 141 and gone(pids, 2)
        p.communicate()
        assert os.path.exists(whole)
        print("refusals, order and a closed pipe")


def main(exe, root, count, seed=1):
    with tempfile.TemporaryDirectory(prefix="bioinfer-workers-") as folder:
        run = Run(exe, root, folder, seed)
        run.refusals()
        run.faults()
        run.broken()
        run.kills(count)
        run.stops(max(1, count // 20))
        run.supervisors(max(2, count // 8))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *map(int, sys.argv[4:5]))
