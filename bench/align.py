#!/usr/bin/env python3
"""Times alignment beside parasail, KSW2, WFA2 and edlib on one core, or on a GPU beside the CPU.

  align.py --build BUILD [--quick] [--near] [--human MT-human.fa --orang MT-orang.fa]
  align.py --build BUILD [--quick] --ours
  align.py --build BUILD --device cuda:0 [--pairs 1000000]

BUILD: a meson build folder in which `ninja bench/align_peers bench/align_files cli/bioinfer` has
run, with Debian's libparasail-dev, libminimap2-dev, libwfa2-dev and libedlib-dev installed for the
contenders. Sequences are random, pairs related by 10 % substitutions; the cost of the whole matrix
does not depend on them. Times on the CPU are those of the processor, one thread, after reading;
every contender's sum of scores is compared with ours. Of parasail all of scan, striped and diag in
8 and 16 bits are measured, with and without CIGARs, and the best is printed. The two mitochondria
are those of KSW2's test folder; without them a random pair of 16.6 kb stands in.

A second table (--near: it alone) has DNA whose pairs differ by 1, 5 and 30 %, 7 in 10 of it
substitutions and the rest single bases more or less; its contenders run in turns, and a row's ratio
is that of their fastest runs. A third one has reads in windows, both of whose ends are free, a
fourth one gaps of two pieces and proteins; there, pairs at 100 % take what their matrix takes.

--ours: a table of bioinfer alone, related and unrelated pairs: scores, columns and identities
without a path, CIGARs, and scores and CIGARs of gaps of two pieces; the fastest of --repeat turns.

On a GPU: `kernels` is their time by events, `call` the library call (codes, sorting, upload,
kernels, download, CIGARs), `files` the command from FASTA files to TSV with the device open
(bench/align_files), `command` that with the start of process and driver. All results are compared
with the CPU's. Needs numpy.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

CHUNK = 1 << 14  # pairs made at a time
# each is measured, the best counts; those of 8 bits saturate, so that their scores differ, and do
# not count then
PARASAIL = ["parasail-%s-%s" % (method, bits) for method in ("scan", "striped", "diag")
            for bits in ("8", "16", "sat")]
PARASAIL_CIGAR = [who.replace("parasail-", "parasail-cigar-") for who in PARASAIL]
AA, NT = "ARNDCQEGHILKMFPSTWYV", "ACGT"
# batch, length 1, length 2, seconds of the Triton kernel (Triton-Needleman-Wunsch, README and
# notebook, 2025)
TRITON = [(32, 32, 32, .000355), (64, 48, 48, .000687), (128, 64, 64, .001299),
          (256, 96, 96, .004690), (512, 128, 128, .015211), (1024, 128, 128, .030219),
          (2048, 192, 192, .135129), (4096, 256, 256, .475797), (1024, 512, 512, .499893)]


def make_pairs(folder, name, letters, length, pairs, spread=0.0, related=True):
    """Two FASTA files of related random sequences; lengths are uniform within `spread` of the
    length."""
    rng = np.random.default_rng(length * 7919 + pairs)
    files = folder / (name + ".a.fasta"), folder / (name + ".b.fasta")
    codes = np.frombuffer(letters.encode(), np.uint8)
    most = int(length * (1 + spread))
    with open(files[0], "wb") as fa, open(files[1], "wb") as fb:
        for first in range(0, pairs, CHUNK):
            n = min(CHUNK, pairs - first)
            q = codes[rng.integers(0, len(codes), (n, most), np.uint8)]
            t = np.where(rng.integers(0, 10 if related else 1, (n, most), np.uint8) == 0,
                         codes[rng.integers(0, len(codes), (n, most), np.uint8)], q)
            lengths = rng.integers(int(length * (1 - spread)), most + 1,
                                   n) if spread else np.full(n, length)
            heads = np.frombuffer(b"".join(b">s%08d\n" % i for i in range(first, first + n)),
                                  np.uint8).reshape(n, -1)
            ends = np.full((n, 1), 10, np.uint8)
            keep = np.concatenate([np.ones(heads.shape, bool), np.arange(most) < lengths[:, None],
                                   np.ones((n, 1), bool)], 1)
            for f, x in ((fa, q), (fb, t)):
                f.write(np.concatenate([heads, x, ends], 1)[keep].tobytes())
    return files


def peer(args, who, files, scoring, repeat, device="cpu"):
    """(GCUPS, seconds, sum of scores, GCUPS of the kernels, seconds of packing), None where the
    contender is not built in."""
    done = subprocess.run([args.build / "bench/align_peers", who, *files, *scoring, str(repeat),
                           device, str(args.threads if device != "cpu" else 1)],
                          capture_output=True, text=True)
    if done.returncode == 77:
        return None
    if done.returncode:
        sys.exit(done.stderr)
    _, _, cells, seconds, total, kernel, packing = done.stdout.split("\t")
    return (float(cells) / float(seconds) / 1e9, float(seconds), int(total),
            float(cells) / float(kernel) / 1e9 if float(kernel) else 0, float(packing))


def row(args, what, files, scoring, ours, others, repeat):
    """One line: ours, the others (of many only the best), and the ratio to the best of these with
    the same scores."""
    if args.only and args.only not in what:
        return
    figures = {who: peer(args, who, files, scoring, repeat) for who in ours + others}
    base = figures[ours[0]]
    fair = [who for who in others if figures[who] and
            (figures[who][2] == base[2] or who.startswith("ksw2"))]
    best = max(fair, key=lambda who: figures[who][0], default=None)
    text = ["%-28s" % what]
    for who in ours + (others if len(others) < 4 else [best] if best else []):
        f = figures[who]
        same = who in ours + fair
        text.append("%s %s" %
                    (who, "-" if not f else "%.2f%s" % (f[0], "" if same else " (other scores)")))
    print("  ".join(text), "  ratio %s" % ("%.2f" % (base[0] / figures[best][0]) if best else "-"),
          flush=True)


def on_cpu(args, folder):
    print("GCUPS (billions of cells a second), one core; ratio: bioinfer to the best of the others")
    blosum = ("BLOSUM62", "11", "1")
    cells = 2e8 if args.quick else 1e9
    for length in (100, 200, 400, 1000, 2000, 4000):
        pairs = max(64, int(cells / length ** 2) // 64 * 64)
        files = make_pairs(folder, "aa%d" % length, AA, length, pairs)
        row(args, "proteins %d, %d pairs" % (length, pairs), files, blosum,
            ["bioinfer", "bioinfer-avx2"], PARASAIL, args.repeat)
    files = make_pairs(folder, "mixed", AA, 400, int(cells / 160000), 0.8)
    row(args, "proteins 80 to 720", files, blosum, ["bioinfer", "bioinfer-avx2"],
        PARASAIL, args.repeat)
    files = make_pairs(folder, "nt150", NT, 150, int(cells / 22500) // 64 * 64)
    row(args, "DNA 150", files, ("2,-4", "6", "2"), ["bioinfer", "bioinfer-avx2"],
        PARASAIL + ["ksw2"], args.repeat)
    files = make_pairs(folder, "aac", AA, 400, 128)
    row(args, "proteins 400, CIGAR", files, blosum, ["bioinfer-cigar", "bioinfer-avx2-cigar"],
        PARASAIL_CIGAR, args.repeat)
    files = make_pairs(folder, "ntc", NT, 150, 1024)
    row(args, "DNA 150, CIGAR", files, ("2,-4", "6", "2"),
        ["bioinfer-cigar", "bioinfer-avx2-cigar"], PARASAIL_CIGAR + ["ksw2-cigar"], args.repeat)
    files = (args.human, args.orang) if args.human else make_pairs(folder, "mt", NT, 16534, 1)
    what = "MT-human x MT-orang" if args.human else "DNA 16.5 kb"
    row(args, what, files, ("2,-4", "6", "2"), ["bioinfer", "bioinfer-avx2"],
        ["ksw2", "parasail-scan-32"], args.repeat)
    row(args, what + ", CIGAR", files, ("2,-4", "6", "2"),
        ["bioinfer-cigar", "bioinfer-avx2-cigar"],
        ["ksw2-cigar", "parasail-cigar-scan-32", "parasail-cigar-striped-32"], args.repeat)


def alone(args, folder):
    """Measures identities beside CIGARs, and gaps of two pieces beside those of one."""
    print("GCUPS, one core, bioinfer alone, in turns")
    kinds = [("scores", "bioinfer", False), ("identities", "bioinfer-identity", False),
             ("CIGARs", "bioinfer-cigar", False), ("two pieces: scores", "bioinfer", True),
             ("CIGARs", "bioinfer-cigar", True)]
    blosum, nt = ("BLOSUM62", "11", "1"), ("2,-4", "6", "2")
    for name, letters, scoring, two in (
            ("proteins", AA, blosum, ("BLOSUM62", "11,25", "3,1")),
            ("DNA", NT, nt, ("2,-4", "6,26", "2,1"))):
        for length in (150, 400):
            pairs = int((2e8 if args.quick else 1e9) / length ** 2) // 64 * 64
            for related in (True, False):
                files = make_pairs(folder, "ours", letters, length, pairs, related=related)
                best = [0.0] * len(kinds)
                for _ in range(args.repeat):
                    for i, (_, who, pieces) in enumerate(kinds):
                        best[i] = max(best[i], peer(args, who, files, two if pieces else scoring,
                                                    1)[0])
                print("%-29s" % ("%s %d, %s" % (name, length, "related" if related else
                                                "unrelated")),
                      "  ".join("%s %.2f" % (kind[0], f) for kind, f in zip(kinds, best)),
                      flush=True)


def make_near(folder, length, pairs, share, beside=0, letters=NT):
    """Two FASTA files: random sequences, and the same with this share of their letters changed;
    with so many letters `beside` a window and a read of it, at any place."""
    rng = np.random.default_rng(length * 31 + int(share * 1000))
    codes, n = np.frombuffer(letters.encode(), np.uint8), len(letters)
    files = folder / "near.a.fasta", folder / "near.b.fasta"
    with open(files[0], "wb") as fa, open(files[1], "wb") as fb:
        for i in range(pairs):
            q = rng.integers(0, n, length, np.uint8)
            dice = rng.random(length)
            t = np.where(dice < .7 * share, (q + rng.integers(1, n, length, np.uint8)) % n, q)
            copies = np.where((dice >= .7 * share) & (dice < .85 * share), 0, 1)
            copies += (dice >= .85 * share) & (dice < share)
            t = np.repeat(t, copies)
            if beside:
                before = int(rng.integers(0, beside + 1))
                around = rng.integers(0, n, beside, np.uint8)
                q, t = t, np.concatenate([around[:before], q, around[before:]])
            fa.write(b">q%d\n%s\n" % (i, codes[q].tobytes()))
            fb.write(b">t%d\n%s\n" % (i, codes[t].tobytes()))
    return files


def in_turns(args, files, scoring, names, pairs, what, repeat):
    """One line: microseconds a pair of the first of names and the others, in turns."""
    if args.only and args.only not in what:
        return
    best = {}
    for _ in range(args.repeat):
        for who in names:
            f = peer(args, who, files, scoring, repeat)
            if f and (who not in best or f[1] < best[who][0]):
                best[who] = f[1], f[2]
    ours = names[0]
    fair = {who: s for who, (s, total) in best.items() if who != ours and
            (total == best[ours][1] or who.startswith("ksw2"))}
    if len(names) > 1 and not fair:
        return
    text = ["%s %.1f%s" % (who, 1e6 * s / pairs,
                           "" if who == ours or who in fair else " (other scores)")
            for who, (s, _) in best.items()]
    if fair:
        text.append(" ratio %.2f" % (min(fair.values()) / best[ours][0]))
    print("%s " % what, "  ".join(text), flush=True)


def near(args, folder):
    """Pairs that differ little, beside the aligners whose cost grows with the difference."""
    print("microseconds a pair, one core, in turns; ratio: the fastest of the others to bioinfer")
    kinds = [("affine 0,-4,8,2", ("0,-4", "8", "2"), ["wfa2", "ksw2"],
              ["wfa2-cigar", "wfa2-low-cigar", "ksw2-cigar"]),
             ("unit costs", ("0,-1", "1", "1"), ["edlib", "wfa2"], ["edlib-cigar", "wfa2-cigar"]),
             ("affine 5,-4,10,1", ("5,-4", "10", "1"), ["ksw2", "parasail-scan-16"],
              ["ksw2-cigar"])]
    for length in (256, 1000, 10000, 100000):
        for share in (.01, .05, .3):
            pairs = max(1, int((2e5 if args.quick else 1e6) / length * (1 if share < .3 else .2)))
            files = make_near(folder, length, pairs, share)
            for name, scoring, score, cigar in kinds:
                for ours, others in (("bioinfer", score), ("bioinfer-cigar", cigar)):
                    if length == 100000:  # their time or memory is that of the whole matrix
                        others = [who for who in others
                                  if not who.startswith(("ksw2", "parasail"))
                                  and (who != "wfa2-cigar" or share < .05)]
                    in_turns(args, files, scoring, [ours] + others, pairs,
                             "%6d at %2.0f %%  %-17s" % (length, 100 * share, name),
                             1 if length > 10000 else 5)


def windows(args, folder):
    """Reads in windows of their reference: both ends of the target are free."""
    print("reads in windows, microseconds a pair, one core, in turns; ratio: as above")
    kinds = [("affine 0,-4,8,2", ("0,-4", "8", "2"), ["wfa2-in"], ["wfa2-cigar-in"]),
             ("two pieces", ("0,-4", "8,28", "2,1"), ["wfa2-in"], ["wfa2-cigar-in"]),
             ("unit costs", ("0,-1", "1", "1"), ["edlib-in"], ["edlib-cigar-in"]),
             ("affine 5,-4,10,1", ("5,-4", "10", "1"), ["parasail-scan-16-in"],
              ["parasail-cigar-scan-16-in"])]
    for length, beside, pairs in ((150, 250, 4000), (1000, 500, 300), (10000, 2000, 6)):
        for share in (.01, .05, .3):
            files = make_near(folder, length, pairs, share, beside)
            for name, scoring, score, cigar in kinds:
                for names in (["bioinfer-in"] + score, ["bioinfer-cigar-in"] + cigar):
                    in_turns(args, files, scoring, names, pairs, "%6d in %d at %2.0f %%  %-17s" %
                             (length, length + beside, 100 * share, name), 3)


def bands(args, folder):
    """Gaps of two pieces, and costs that wavefronts do not take, which are those of proteins."""
    print("two pieces and proteins, microseconds a pair, one core, in turns; ratio: as above")
    low, both = ["wfa2-low-cigar"], ["wfa2-cigar", "wfa2-low-cigar"]
    kinds = [("two pieces", NT, ("2,-4", "6,26", "2,1"), (1000, 300), (10000, 6),
              {.01: (["wfa2"], both), .05: (["wfa2"], both), .15: (["wfa2"], low), 1: ([], [])}),
             ("proteins", AA, ("BLOSUM62", "11", "1"), (400, 600), (3000, 40),
              dict.fromkeys((.05, .3, 1), (["parasail-scan-16"], ["parasail-cigar-scan-16"])))]
    for name, letters, scoring, *sizes, shares in kinds:
        for length, pairs in sizes:
            for share, (score, cigar) in shares.items():
                files = make_near(folder, length, pairs, share, letters=letters)
                for names in (["bioinfer"] + score, ["bioinfer-cigar"] + cigar):
                    in_turns(args, files, scoring, names, pairs,
                             "%6d at %3.0f %%  %-10s" % (length, 100 * share, name), 3)


def command(args, files, scoring, out, device, score_only=True, more=(), repeat=0):
    """Seconds from FASTA to TSV: of the command, or with the device open the least of `repeat`
    runs."""
    matrix = ["--matrix", scoring[0]]
    if "," in scoring[0]:
        matrix = ["--match=" + scoring[0].split(",")[0], "--mismatch=" + scoring[0].split(",")[1]]
    options = [*files, *matrix, "--gap-open", scoring[1], "--gap-extend", scoring[2],
               *["--score-only"] * score_only, *more, "-q", "-o", out]
    if repeat:
        done = subprocess.run([args.build / "bench/align_files", device, str(repeat), *options],
                              check=True, stdout=subprocess.PIPE, text=True)
        return min(map(float, done.stdout.split()))
    begun = time.perf_counter()
    subprocess.run([args.build / "cli/bioinfer", "align", *options, "--device", device], check=True)
    return time.perf_counter() - begun


def on_gpu(args, folder):
    print("GCUPS on %s: kernels, library call, FASTA to TSV with the device open and as a command; "
          "results against the CPU" % args.device)
    nt, aa = ("2,-4", "6", "2"), ("BLOSUM62", "11", "1")
    n = args.pairs
    # a name, letters, length, pairs, spread, scoring, score only, more options
    shapes = [("DNA 256", NT, 256, n, 0, nt, True, ()),
              ("DNA 100 to 400", NT, 250, n // 4, 0.6, nt, True, ()),
              ("proteins 400", AA, 400, n // 4, 0, aa, True, ()),
              ("proteins 80 to 720", AA, 400, n // 8, 0.8, aa, True, ()),
              ("proteins 2000", AA, 2000, n // 100, 0, aa, True, ()),
              ("proteins 400, ends free", AA, 400, n // 16, 0, aa, True, ("--mode", "ends-free")),
              ("DNA 256, CIGAR", NT, 256, n // 4, 0, nt, False, ()),
              ("proteins 400, CIGAR", AA, 400, n // 10, 0, aa, False, ()),
              ("ends free, CIGAR", AA, 300, n // 32, 0.8, aa, False,
               ("--mode", "ends-free", "--ties", "emboss")),
              ("DNA 300, CIGAR as WFA2", NT, 300, n // 64, 0.8, ("0,-4", "8", "2"), False,
               ("--ties", "wfa")),
              ("DNA 16.5 kb, one", NT, 16534, 1, 0, nt, True, ()),
              ("DNA 16.5 kb, one, CIGAR", NT, 16534, 1, 0, nt, False, ()),
              ("DNA 16.5 kb, CIGAR, kept", NT, 16534, 1, 0, nt, False, ("--memory-limit", "64")),
              ("DNA 16.5 kb", NT, 16534, 64, 0, nt, True, ())]
    for what, letters, length, pairs, spread, scoring, score_only, more in shapes:
        if args.only and args.only not in what:
            continue
        files = make_pairs(folder, "gpu", letters, length, max(pairs, 1), spread)
        call = peer(args, "bioinfer" if score_only else "bioinfer-cigar", files, scoring,
                    args.repeat, args.device)
        whole = min(command(args, files, scoring, folder / "gpu.tsv", args.device, score_only, more)
                    for _ in range(3))
        opened = command(args, files, scoring, folder / "gpu.tsv", args.device, score_only, more,
                         repeat=4)
        command(args, files, scoring, folder / "cpu.tsv", "cpu", score_only, more)
        same = (folder / "gpu.tsv").read_bytes() == (folder / "cpu.tsv").read_bytes()
        cells = call[0] * call[1]
        print("%-25s %8d pairs  kernels %7.1f  call %7.1f (packing %.3f of %.3f s)  files %7.1f "
              "(%.3f s)  command %7.1f (%.3f s)  %s" %
              (what, max(pairs, 1), call[3], call[0], call[4], call[1], cells / opened, opened,
               cells / whole, whole, "equal" if same else "DIFFER"), flush=True)
        if not same:
            args.failed = True
    print("\nThe nine shapes of the Triton table (match 1, mismatch -1, gap 2; correct borders, "
          "which theirs are not):")
    for batch, n, m, seconds in TRITON:
        files = make_pairs(folder, "triton", NT, max(n, m), batch)
        call = peer(args, "bioinfer", files, ("1,-1", "2", "2"), 20, args.device)
        cells = call[0] * call[1]
        print("%5d x %3d x %3d  call %9.1f us  kernel %7.1f us  Triton %9.1f us  ratio %6.1f" %
              (batch, n, m, 1e6 * call[1], 1e6 * cells / call[3], 1e6 * seconds, seconds / call[1]),
              flush=True)
    if args.failed:
        sys.exit("results differ")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pairs", type=int, default=1000000, help="of the first shape on a GPU")
    parser.add_argument("--repeat", type=int, default=3, help="the fastest of so many runs")
    parser.add_argument("--near", action="store_true",
                        help="the tables of pairs that differ little alone")
    parser.add_argument("--ours", action="store_true",
                        help="the table of bioinfer alone: identities, gaps of two pieces")
    parser.add_argument("--quick", action="store_true", help="a fifth of the pairs")
    parser.add_argument("--threads", type=int, default=os.cpu_count(),
                        help="of the library beside a GPU")
    parser.add_argument("--only", help="rows whose names have this, no others")
    parser.add_argument("--human")
    parser.add_argument("--orang")
    args = parser.parse_args()
    args.failed = False
    with tempfile.TemporaryDirectory() as folder:
        if args.ours:
            alone(args, pathlib.Path(folder))
            return
        if args.device != "cpu":
            on_gpu(args, pathlib.Path(folder))
            return
        if not args.near:
            on_cpu(args, pathlib.Path(folder))
        near(args, pathlib.Path(folder))
        windows(args, pathlib.Path(folder))
        bands(args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
