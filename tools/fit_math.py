#!/usr/bin/env python3
"""Fits the polynomials of kernels/cpu/math.h and prints them as C.

    fit_math.py

Each fit is a weighted minimax fit by Remez exchange on a fine grid, in mpmath with 50 digits;
the leading coefficients that must be exact are fixed. Needs mpmath.

    exp      e^r = 1 + r + r^2 q(r)          |r| <= ln 2 / 2, relative error
    exp2     2^f = 1 + f q(f)                |f| <= 1/2, relative error
    gelu     log2 erfc(t / sqrt 2) = t q(t)  0 <= t <= 12
"""
import struct

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

from mpmath import cos, erfc, exp, expm1, log, lu_solve, matrix, mp, mpf, pi, sqrt

mp.dps = 50
HALF = mpf(1) / 2


def f32(x):
    return struct.unpack("f", struct.pack("f", float(x)))[0]


def remez(f, weight, lo, hi, degree, points=3000, rounds=60):
    """q of this degree with least max |weight (q - f)| on [lo, hi]; (coefficients, error)."""
    grid = [lo + (hi - lo) * (1 - cos(pi * i / points)) / 2 for i in range(points + 1)]
    fs, ws = [f(t) for t in grid], [weight(t) for t in grid]
    n = degree + 2
    at = [i * points // (n - 1) for i in range(n)]
    for _ in range(rounds):
        a, b = matrix(n, n), matrix(n, 1)
        for row, i in enumerate(at):
            for k in range(degree + 1):
                a[row, k] = grid[i] ** k
            a[row, degree + 1] = (-1) ** row / ws[i]
            b[row] = fs[i]
        solution = lu_solve(a, b)
        c, level = [solution[k] for k in range(degree + 1)], abs(solution[degree + 1])
        error = []
        for t, y, w in zip(grid, fs, ws):
            q = mpf(0)
            for k in reversed(c):
                q = q * t + k
            error.append(w * (q - y))
        runs, start = [], 0  # one extremum for each run of one sign
        for i in range(1, points + 2):
            if i > points or (error[i] > 0) != (error[start] > 0):
                runs.append(max(range(start, i), key=lambda j: abs(error[j])))
                start = i
        while len(runs) > n:
            runs.pop(0 if abs(error[runs[0]]) < abs(error[runs[-1]]) else -1)
        if len(runs) < n:
            raise SystemExit("too few alternations")
        at = runs
        worst = max(abs(e) for e in error)
        if worst < level * (1 + mpf(10) ** -6):
            break
    return c, worst


def show(name, c, error):
    print(f"{name}: weighted error {float(error):.2e}")
    for k, x in enumerate(c):
        print(f"    {f32(x):+.9e}f, /* {k} */")


def fit_exp():
    h = log(mpf(2)) / 2 * (1 + mpf(2) ** -12)

    def q(r):
        return (expm1(r) - r) / r**2 if abs(r) > mpf(10) ** -12 else mpf(1) / 2 + r / 6

    show("exp", *remez(q, lambda r: r**2 / exp(r) + mpf(10) ** -9, -h, h, 4))


def fit_exp2():
    l2 = log(mpf(2))

    def q(f):
        return expm1(f * l2) / f if abs(f) > mpf(10) ** -15 else l2

    show("exp2", *remez(q, lambda f: abs(f) / exp(f * l2) + mpf(10) ** -9, -HALF, HALF, 4))


def fit_gelu():
    l2 = log(mpf(2))

    def p(t):
        return -log(erfc(t / sqrt(mpf(2)))) / l2

    def q(t):
        return -p(t) / t if t > mpf(10) ** -20 else -sqrt(2 / pi) / l2

    # Rounding alone costs about 1 + p/2 units; the fit may cost less. Beyond t = 3, where
    # gelu(-t) > -0.004, relative precision is let go; absolute precision stays.
    def weight(t):
        return (t + mpf(10) ** -9) / (1 + p(t) / 2) * exp(-2 * max(t - 3, 0))

    c, error = remez(q, weight, mpf(0), mpf(12), 9)
    show("gelu", c, error)
    for t in (3, 4, 5, 6, 8, 11.5, 12):
        fit = t * sum(float(k) * t**i for i, k in enumerate(c))
        print(f"    t = {t}: {fit:.6f}, exact {float(-p(mpf(t))):.6f}")


if __name__ == "__main__":
    fit_exp()
    fit_exp2()
    fit_gelu()
