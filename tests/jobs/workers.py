#!/usr/bin/env python3
"""workers.py BIOINFER BIOINFER_FAULTS SOURCE_ROOT KILLS [SEED [DEVICE [PART ...]]] - worker
processes that die, hang and lose their device, and commands that die before their workers. CPU
workers take the same path as those of GPUs; with DEVICE (cuda:0) it is the device's own, on
bioinfer-tiny in small batches, beside the CPU's, and with a real illegal access among the faults.
BIOINFER_FAULTS: fault.c. PART: together, refusals, absent, shared, faults, broken, kills, stops,
supervisors."""
import io
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile

from common import ACIDS, Command, children, contents, gone, kill, make_fasta


# Under sanitizers a run of fewer records lasts longer than one of all does without.
RECORDS = 1000 if os.environ.get("BIOINFER_SANITIZED") == "1" else 4000


def words_behind(row):
    return row.split("\t")[5].rsplit("computing it: ", 1)[-1]


def arrays_of(npz):
    with zipfile.ZipFile(io.BytesIO(npz)) as z:
        return {name: z.read(name) for name in z.namelist()}


class Run:
    def __init__(self, exe, faulty, root, folder, seed, device):
        self.command, self.faulty, self.rng = (Command(exe, root), Command(faulty, root),
                                               random.Random(seed))
        self.folder, self.device = folder, device
        self.on = () if device == "cpu" else ("--device", device, "--batch-tokens", 64)
        # seconds of a start, of a hang
        self.first, self.silent = (0.01, 2) if device == "cpu" else (0.5, 10)
        if device != "cpu":
            self.command.model = self.faulty.model = os.path.join(root, "share", "bioinfer-tiny")
        self.fasta = make_fasta(os.path.join(folder, "in.fasta"), RECORDS)
        self.n = 0
        whole = os.path.join(folder, "whole.npz")
        for _ in range(1 if device == "cpu" else 2):  # the driver compiles kernels in the first
            begun = time.monotonic()
            self.command.run(self.fasta, "-o", whole, *self.on, code=1)
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
            p = self.command.start(self.fasta, "-o", path, "--workers", 2, "--threads", 2, *self.on)
            while p.poll() is None:
                time.sleep(self.rng.uniform(self.first, max(0.1, self.seconds / 3, 2 * self.first)))
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
            p = self.command.start(self.fasta, "-o", path, "--workers", 2, "--watchdog",
                                   self.silent, *self.on)
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
            p = self.command.start(self.fasta, "-o", path, "--workers", 2, *self.on)
            pids = []
            while len(pids) < 2 and p.poll() is None:
                pids = children(p.pid)
            time.sleep(self.rng.uniform(0, self.seconds))
            if i % 4 == 3:
                kill(pids[0], signal.SIGSTOP)
            kill(p.pid, signal.SIGKILL)
            p.communicate()
            assert gone(pids, 2), "a worker is still there"
            words = self.command.run(self.fasta, "-o", path, "--workers", 2, "--resume", *self.on,
                                     code=1).words
            self.check(path, words)
        print(f"{count} commands killed: their workers left, the resumed outputs are equal")

    def faults(self, *chosen):
        """A record that ends its worker costs itself only; a fault that passes costs nothing."""
        rows = self.want[".manifest.tsv"].decode().splitlines()
        of_middle = (row.split("\t") for row in rows[RECORDS // 2 + 1:])
        wanted = next(row for row in of_middle if row[3] == "ok" and row[4] == "")
        kinds = [("crash", ()), ("lost", ()), ("hang", ("--watchdog", self.silent))]
        kinds += [("illegal", ())] if self.device.startswith("cuda") else []
        for kind, more in kinds:
            if chosen and kind not in chosen:
                continue
            path = self.path()
            more += self.on
            p = subprocess.run(self.faulty.args(self.fasta, "-o", path, "--workers", 2, "--dedup",
                                                "off", *more),
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
            # records that failed for want of a device are computed by a resume of a shard
            shard = self.path()
            p = subprocess.run(self.faulty.args(self.fasta, "-o", shard, "--workers", 1, "--shard",
                                                "1/1", *more),
                               env=self.command.env(BIOINFER_WORKER_FAULT=f"{kind}:{wanted[1]}"),
                               capture_output=True, check=False, timeout=300)
            assert p.returncode == 1, p.stderr.decode()[-3000:]
            self.command.run(self.fasta, "-o", shard, "--shard", "1/1", "--resume", *self.on,
                             code=1)
            self.command.run(shard, merge=True, code=1)
            self.check(shard, "")
            shutil.rmtree(shard + ".part-1-of-1")
            print(f"{kind}: one record lost ({words_behind(differ[0][0])}), the others equal, "
                  "resumed all equal")
        path = self.path()  # the command that is installed meets none
        p = subprocess.run(self.command.args(self.fasta, "-o", path, "--workers", 2, *self.on),
                           check=False, env=self.command.env(BIOINFER_WORKER_FAULT="crash:*"),
                           capture_output=True, timeout=300)
        self.check(path, p.stderr.decode())

    def broken(self):
        """A worker that dies at every record is not replaced for ever; the job goes on later."""
        path = self.path()
        p = subprocess.run(self.faulty.args(self.fasta, "-o", path, "--workers", 1, *self.on),
                           env=self.command.env(BIOINFER_WORKER_FAULT="crash:*"),
                           capture_output=True, check=False, timeout=300)
        words = p.stderr.decode()
        assert p.returncode == 69 and "given up" in words and "no device is left" in words, \
            (p.returncode, words[-3000:])
        assert not os.path.exists(path)
        p = self.command.run(self.fasta, "-o", path, "--resume", *self.on, code=1)
        self.check(path, p.words)
        print("a worker that dies at every record is given up; resumed, the output is equal")

    def absent(self):
        """One of two workers never becomes ready: it is given up, and the other one does all."""
        path = self.path()
        p = subprocess.run(self.faulty.args(self.fasta, "-o", path, "--device", "cpu,cuda:0"),
                           env=self.command.env(BIOINFER_NO_WORKER="cuda:0"),
                           capture_output=True, check=False, timeout=120)
        words = p.stderr.decode()
        assert p.returncode == 1, (p.returncode, words[-3000:])
        assert words.count("given up") == 1, words[-3000:]
        assert "cuda:0 is given up after 7 failures in a row: exit status 3" in words, \
            words[-3000:]
        self.check(path, words)
        print("a worker that never becomes ready is given up, the other one computes all")

    def together(self):
        """The device and the CPU over one queue: each record is what one of them makes of it
        alone."""
        outputs = []
        for device in ("cpu", f"{self.device},cpu"):
            path = self.path()
            self.command.run(self.fasta, "-o", path, "--device", device, "--batch-tokens", 64,
                             code=1)
            outputs.append(arrays_of(contents(path)[""]))
        device, (cpu, both) = arrays_of(self.want[""]), outputs
        assert list(both) == list(device) == list(cpu)
        assert all(both[k] in (device[k], cpu[k]) for k in both)
        sources = [sum(both[k] == a[k] for k in both) for a in (device, cpu)]
        print(f"{self.device} and cpu together: of {len(both)} records {sources[0]} as the device "
              f"computes them, {sources[1]} as the CPU")

    def shared(self):
        """Results of more than a MiB: through shared memory, through the pipe where there is none
        or too little of it, and from workers that are killed."""
        rng = random.Random(3)
        fasta = os.path.join(self.folder, "long.fasta")
        with open(fasta, "w", encoding="ascii") as f:
            for i in range(10):
                f.write(f">l{i}\n{''.join(rng.choices(ACIDS, k=rng.randint(500, 700)))}\n")
        args = (fasta, "--include", "contacts", "--batch-tokens", 64, *self.on)
        whole, used = self.path(), 0
        self.command.run(*args, "-o", whole)
        want = contents(whole)
        for room in (None, "1", "1500000"):
            path = self.path()
            more = {} if room is None else {"BIOINFER_NO_MEMFD": room}
            p = subprocess.run(self.faulty.args(*args, "-o", path, "--workers", 2), check=False,
                               env=self.command.env(**more), capture_output=True, timeout=300)
            assert p.returncode == 0 and contents(path) == want, (room, p.stderr.decode()[-3000:])
        for job in range(2):
            path, killed = self.path(), 0
            p = self.command.start(*args, "-o", path, "--workers", 2, "--threads", 2)
            while p.poll() is None:
                for pid in children(p.pid):
                    try:
                        used += os.stat(f"/proc/{pid}/fd/3").st_blocks > 0
                    except OSError:
                        continue
                    if used and killed < 3 and self.rng.random() < 0.3:
                        killed += kill(pid, signal.SIGKILL)
                time.sleep(0.01)
            words = p.communicate()[1].decode()
            assert p.returncode == 0 and contents(path) == want, (job, words[-3000:])
        assert used, "no result went through shared memory"
        print("results of more than a MiB: equal, with and without shared memory")

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
        p = self.command.start(self.fasta, "--format", "tsv", "--workers", 2,
                               stdout=subprocess.PIPE)
        p.stdout.readline()
        pids = children(p.pid)
        p.stdout.close()
        assert p.wait(60) == 141 and gone(pids, 2)
        p.communicate()
        assert os.path.exists(whole)
        print("refusals, order and a closed pipe")


def main(exe, faulty, root, count, seed=1, device="cpu", *parts):
    with tempfile.TemporaryDirectory(prefix="bioinfer-workers-") as folder:
        run = Run(exe, faulty, root, folder, int(seed), device)
        print(f"an undisturbed run takes {run.seconds:.2f} s", flush=True)
        for part, counts in (*((("refusals", ()), ("absent", ())) if device == "cpu" else
                               (("together", ()),)),
                             ("faults", ()), ("broken", ()), ("shared", ()), ("kills", (count,)),
                             ("stops", (max(1, count // 20),)),
                             ("supervisors", (max(2, count // 8),))):
            if not parts or part in parts:
                begun = time.monotonic()
                getattr(run, part)(*counts)
                print(f"  {part}: {time.monotonic() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:4], int(sys.argv[4]), *sys.argv[5:])
