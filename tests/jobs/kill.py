#!/usr/bin/env python3
"""kill.py BIOINFER SOURCE_ROOT N [SEED] [option of bioinfer ...]

Kills jobs with SIGKILL at random moments, N times in all, every other time when the journal holds
something, and resumes each until it is complete: its output and manifest must have the bytes of an
undisturbed run, in every format by turns, and with annotation heads for residues and for proteins.
Behind every other kill the tails of the journal's files are damaged as by a loss of power: garbage
behind the last record, half a record, or the last records gone. Where that happened twice, the
second may have put garbage where the first took a payload: then the output is refused, and one more
resume computes that record again.
"""
import os
import random
import shutil
import signal
import sys
import tempfile
import time

from common import Command, contents, has_bytes, lasting_fasta, write_head


def damage(folder, rng):
    """Bytes that were not committed may be anything; committed ones may be lost from their end."""
    journal, data = os.path.join(folder, "journal"), os.path.join(folder, "data")
    if not os.path.exists(journal) or not os.path.exists(data):
        return
    how = rng.randrange(4)
    size = os.path.getsize(journal)
    if how == 0:
        with open(data, "ab") as f:
            f.write(rng.randbytes(rng.randint(1, 5000)))
        with open(journal, "ab") as f:
            f.write(rng.randbytes(rng.choice([1, 63, 64, 65, 640])))
    elif how == 1:
        os.truncate(journal, max(0, size - rng.randint(1, 63)))
    elif how == 2:
        os.truncate(journal, max(0, size - 64 * rng.randint(1, 20)))
    elif size:  # the last payload did not reach the disk
        os.truncate(data, max(0, os.path.getsize(data) - rng.randint(1, 100)))


def main(exe, root, count, seed, options):
    command, rng = Command(exe, root), random.Random(seed)
    kills = jobs = damaged = midway = 0
    with tempfile.TemporaryDirectory(prefix="bioinfer-kill-") as folder:
        options = ["--threads", "1", "--batch-tokens", "64", *options]
        fasta = lasting_fasta(command, os.path.join(folder, "in.fasta"), 0.8, *options)
        residues = write_head(os.path.join(folder, "residues"), 48, mean=False)
        proteins = write_head(os.path.join(folder, "proteins"), 48, mean=True)
        plans = [*command.formats.items(), ("tsv", ["--head", residues]),
                 ("jsonl", ["--head", proteins]),
                 ("npz", ["--head", residues, "--include", "mean,head"])]
        want = {}
        while kills < count:
            plan = (jobs + seed) % len(plans)
            name, more = plans[plan]
            args = ["--format", name, *more, *options]
            if plan not in want:
                path = os.path.join(folder, f"whole.{name}")
                begun = time.monotonic()
                command.run(fasta, "-o", path, *args, code=1)
                want[plan] = contents(path), time.monotonic() - begun
                assert len(want[plan][0]) >= 2
            whole, seconds = want[plan]
            path = os.path.join(folder, f"out{jobs}.{name}")
            last = min(count, kills + max(3, count // 20))  # then this job may end: others follow
            before = damaged
            while True:
                p = command.start(fasta, "-o", path, *args, "--resume")
                journal, delay = path + ".part/journal", rng.uniform(0, seconds)
                if kills < last and kills % 2 and not has_bytes(journal):
                    while p.poll() is None and not has_bytes(journal):
                        time.sleep(.0005)
                    delay /= 3
                try:
                    p.wait(delay if kills < last else 600)
                except Exception:
                    p.send_signal(signal.SIGKILL)
                words = p.communicate()[1].decode(errors="replace")
                if p.returncode == 65 and damaged > before + 1 and "computes it again" in words:
                    continue
                if p.returncode != -signal.SIGKILL:
                    break
                kills += 1
                midway += has_bytes(journal)
                if rng.random() < 0.5:
                    damage(path + ".part", rng)
                    damaged += 1
            if p.returncode == 73 and "output is there already" in words:
                # killed while it was cleaning up: a folder is not computed a second time
                shutil.rmtree(path + ".part", ignore_errors=True)
                p.returncode = 1
            assert p.returncode == 1, (p.returncode, words)  # some records are bad on purpose
            assert not os.path.exists(path + ".part"), os.listdir(path + ".part")
            got = contents(path)
            assert list(got) == list(whole), (name, list(got), list(whole))
            for key in whole:
                assert got[key] == whole[key], f"seed {seed}, job {jobs}: {name}{key} differs"
            for left in os.listdir(folder):
                if left.startswith("out"):
                    left = os.path.join(folder, left)
                    shutil.rmtree(left) if os.path.isdir(left) else os.remove(left)
            jobs += 1
    print(f"{kills} kills over {jobs} jobs of {len(want)} kinds, {midway} with a journal to go "
          f"on from, {damaged} with damaged tails: all outputs equal (seed {seed})")
    assert midway * 4 > kills, "the runs are too short to be killed midway"


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1,
         sys.argv[5:])
