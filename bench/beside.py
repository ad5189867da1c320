#!/usr/bin/env python3
"""beside.py BUILD [N [BUSY]] - what processes cost each other that share the machine's processors.

Runs a window of Borzoi (tests/golden/borzoi/final, about 0.3 s) once, then N times side by side
(4), and prints the seconds of both and their ratio over N: 1 where nothing is lost. Each takes
the lowest of three. BUSY threads (0) that compute all the while stand for other users' work."""
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def seconds(command, n):
    begin = time.monotonic()
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(n)]
    if any(process.wait() for process in running):
        sys.exit('%s: failed' % ' '.join(command))
    return time.monotonic() - begin


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    command = [os.path.join(sys.argv[1], 'tests', 'golden', 'tracks'),
               os.path.join(ROOT, 'tests', 'golden', 'borzoi', 'final'), '--device', 'cpu']
    busy = [subprocess.Popen([sys.executable, '-c', 'while True: pass'])
            for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 0)]
    try:
        alone, beside = (min(seconds(command, k) for _ in range(3)) for k in (1, n))
    finally:
        for process in busy:
            process.kill()
    print('alone %.2f s, %d side by side %.2f s, ratio %.2f' %
          (alone, n, beside, beside / n / alone))


if __name__ == '__main__':
    main()
