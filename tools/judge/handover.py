"""Jobs that one build begins and another one finishes. Standard library only.

OLD begins each shard of a job and is killed, NEW resumes them and merges; a trajectory is resumed
alone. The output must have the bytes of NEW without a job. So a change of what a journal means, or
of what a fingerprint is made of, is seen.
"""

import glob
import os
import shutil
import signal
import subprocess
import time

SHARDS = 2
WAIT = 120  # seconds for a journal to begin
TRIES = 8


class Failed(Exception):
    """A command that does not end as it should."""


def output_of(words):
    return words[words.index('-o') + 1]


def finish(exe, words, folder, env, codes):
    done = subprocess.run(
        [exe, *words], cwd=folder, env=env, capture_output=True, timeout=1800, check=False
    )
    if done.returncode not in codes:
        raise Failed(
            '%s: status %d: %s'
            % (
                ' '.join(words[-3:]),
                done.returncode,
                done.stderr.decode(errors='replace').strip()[-300:],
            )
        )


def begin_and_kill(exe, words, folder, env, grows, least):
    """True where the run was killed after the file had grown beyond `least` bytes."""
    path = os.path.join(folder, grows)
    with subprocess.Popen(
        [exe, *words],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as p:
        end = time.monotonic() + WAIT
        grown = False
        while not grown and p.poll() is None and time.monotonic() < end:
            grown = os.path.exists(path) and os.path.getsize(path) > least
            time.sleep(0 if grown else 0.001)
        p.kill()
    return grown and p.returncode == -signal.SIGKILL


def hand_over(old, new, words, folder, env, codes):
    """Leaves the output of a job in the folder; False where OLD was never killed midway."""
    out = output_of(words)
    if words[0] == 'md':
        killed = begin_and_kill(old, words, folder, env, out, 5000)
        finish(new, [*words, '--resume'], folder, env, codes)
        return killed
    killed = False
    for i in range(1, SHARDS + 1):
        shard = [*words, '--shard', '%d/%d' % (i, SHARDS)]
        journal = '%s.part-%d-of-%d/journal' % (out, i, SHARDS)
        killed |= begin_and_kill(old, shard, folder, env, journal, 0)
        finish(new, [*shard, '--resume'], folder, env, codes)
    finish(new, ['merge', out, '--quiet'], folder, env, codes)
    return killed


def run(old, new, words, folder, env, codes):
    """Bytes of the output without a job, and of the job's; None where OLD was never killed."""
    path = os.path.join(folder, output_of(words))
    os.makedirs(folder, exist_ok=True)
    finish(new, words, folder, env, codes)
    with open(path, 'rb') as f:
        want = f.read()
    for _ in range(TRIES):
        os.remove(path)
        for shard in glob.glob(glob.escape(path) + '.part-*'):
            shutil.rmtree(shard)
        if hand_over(old, new, words, folder, env, codes):
            with open(path, 'rb') as f:
                return want, f.read()
    return None
