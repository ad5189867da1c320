#!/usr/bin/env python3
"""Times alignment beside parasail and KSW2 on one core, or on a GPU beside the CPU, and prints ratios.

  align.py --build BUILD [--quick] [--human MT-human.fa --orang MT-orang.fa]
  align.py --build BUILD --device cuda:0 [--pairs 1000000]

BUILD: a meson build folder in which `ninja bench/align_peers cli/bioinfer` has run, with Debian's libparasail-dev and
libminimap2-dev installed for the contenders. Sequences are random, pairs related by 10 % substitutions; the cost
of exact alignment does not depend on them. Times on the CPU are those of the processor, one thread, after reading;
every contender's sum of scores is compared with ours. The two mitochondria are those of KSW2's test folder; without
them a random pair of 16.6 kb stands in.

On a GPU: `kernel and copies` is the library call (codes, sorting, upload, kernel, download), `FASTA to TSV` the whole
command. Scores are compared with the CPU's, all of them.
"""
import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import time

AA, NT = "ARNDCQEGHILKMFPSTWYV", "ACGT"
# batch, length 1, length 2, seconds of the Triton kernel (Triton-Needleman-Wunsch, README and notebook, 2025)
TRITON = [(32, 32, 32, .000355), (64, 48, 48, .000687), (128, 64, 64, .001299), (256, 96, 96, .004690),
          (512, 128, 128, .015211), (1024, 128, 128, .030219), (2048, 192, 192, .135129), (4096, 256, 256, .475797),
          (1024, 512, 512, .499893)]


def make_pairs(folder, name, letters, length, pairs, spread=0.0):
    """Two FASTA files; lengths are uniform within `spread` of the length."""
    rng = random.Random(length * 7919 + pairs)
    a, b = folder / (name + ".a.fasta"), folder / (name + ".b.fasta")
    pool = ["".join(rng.choices(letters, k=2 * length)) for _ in range(64)]
    with open(a, "w", encoding="ascii") as fa, open(b, "w", encoding="ascii") as fb:
        for i in range(pairs):
            n = length if not spread else rng.randint(int(length * (1 - spread)), int(length * (1 + spread)))
            at = rng.randrange(2 * length - n + 1) if spread else rng.randrange(length)
            q = rng.choice(pool)[at:at + n]
            t = list(q)
            for _ in range(n // 10):
                t[rng.randrange(n)] = rng.choice(letters)
            fa.write(">q%d\n%s\n" % (i, q))
            fb.write(">t%d\n%s\n" % (i, "".join(t)))
    return a, b


def peer(args, who, files, scoring, repeat, device="cpu"):
    """(GCUPS, seconds, sum of scores), None where the contender is not built in."""
    done = subprocess.run([args.build / "bench/align_peers", who, *files, *scoring, str(repeat), device],
                          capture_output=True, text=True)
    if done.returncode == 77:
        return None
    if done.returncode:
        sys.exit(done.stderr)
    _, _, cells, seconds, total = done.stdout.split("\t")
    return float(cells) / float(seconds) / 1e9, float(seconds), int(total)


def row(args, what, files, scoring, ours, others, repeat):
    figures = {who: peer(args, who, files, scoring, repeat) for who in ours + others}
    base = figures[ours[0]]
    text = ["%-34s" % what]
    for who in ours + others:
        f = figures[who]
        same = f and (f[2] == base[2] or who == "ksw2")
        text.append("%s %s" % (who, "-" if not f else "%.2f%s" % (f[0], "" if same else " (other scores)")))
    best = max((figures[who][0] for who in others if figures[who] and (figures[who][2] == base[2] or who == "ksw2")),
               default=0)
    print("  ".join(text), "  ratio %s" % ("%.1f" % (base[0] / best) if best else "-"), flush=True)


def on_cpu(args, folder):
    print("GCUPS (billions of cells a second), one core; ratio: bioinfer to the best of the others")
    blosum = ("BLOSUM62", "11", "1")
    cells = 2e8 if args.quick else 1e9
    for length in (100, 200, 400, 1000, 2000, 4000):
        pairs = max(64, int(cells / length ** 2) // 64 * 64)
        files = make_pairs(folder, "aa%d" % length, AA, length, pairs)
        row(args, "proteins %d, %d pairs" % (length, pairs), files, blosum, ["bioinfer", "bioinfer-avx2"],
            ["parasail-scan-16", "parasail-striped-16", "parasail-diag-16"], args.repeat)
    files = make_pairs(folder, "mixed", AA, 400, int(cells / 160000), 0.8)
    row(args, "proteins 80 to 720", files, blosum, ["bioinfer", "bioinfer-avx2"],
        ["parasail-scan-16", "parasail-striped-16"], args.repeat)
    files = make_pairs(folder, "nt150", NT, 150, int(cells / 22500) // 64 * 64)
    row(args, "DNA 150", files, ("2,-4", "6", "2"), ["bioinfer", "bioinfer-avx2"],
        ["parasail-scan-16", "parasail-striped-16", "ksw2"], args.repeat)
    files = make_pairs(folder, "aac", AA, 400, 128)
    row(args, "proteins 400, CIGAR", files, blosum, ["bioinfer-cigar", "bioinfer-avx2-cigar"], ["parasail-cigar"],
        args.repeat)
    files = make_pairs(folder, "ntc", NT, 150, 1024)
    row(args, "DNA 150, CIGAR", files, ("2,-4", "6", "2"), ["bioinfer-cigar", "bioinfer-avx2-cigar"],
        ["parasail-cigar", "ksw2-cigar"], args.repeat)
    files = (args.human, args.orang) if args.human else make_pairs(folder, "mt", NT, 16534, 1)
    what = "MT-human x MT-orang" if args.human else "DNA 16.5 kb"
    row(args, what, files, ("2,-4", "6", "2"), ["bioinfer", "bioinfer-avx2"], ["ksw2", "parasail-scan-32"], args.repeat)
    row(args, what + ", CIGAR", files, ("2,-4", "6", "2"), ["bioinfer-cigar", "bioinfer-avx2-cigar"], ["ksw2-cigar"],
        args.repeat)


def command(args, files, scoring, out, device):
    matrix = ["--matrix", scoring[0]]
    if "," in scoring[0]:
        matrix = ["--match=" + scoring[0].split(",")[0], "--mismatch=" + scoring[0].split(",")[1]]
    begun = time.perf_counter()
    subprocess.run([args.build / "cli/bioinfer", "align", *files, *matrix, "--gap-open", scoring[1], "--gap-extend",
                    scoring[2], "--score-only", "-q", "--device", device, "-o", out], check=True)
    return time.perf_counter() - begun


def on_gpu(args, folder):
    print("GCUPS on %s: kernel and copies (library call), FASTA to TSV (whole command); scores against the CPU"
          % args.device)
    shapes = [("DNA 256", NT, 256, args.pairs, 0, ("2,-4", "6", "2")),
              ("DNA 100 to 400", NT, 250, args.pairs // 4, 0.6, ("2,-4", "6", "2")),
              ("proteins 400", AA, 400, args.pairs // 4, 0, ("BLOSUM62", "11", "1")),
              ("proteins 80 to 720", AA, 400, args.pairs // 8, 0.8, ("BLOSUM62", "11", "1")),
              ("proteins 2000", AA, 2000, args.pairs // 100, 0, ("BLOSUM62", "11", "1")),
              ("DNA 16.5 kb", NT, 16534, 64, 0, ("2,-4", "6", "2"))]
    for what, letters, length, pairs, spread, scoring in shapes:
        files = make_pairs(folder, "gpu", letters, length, max(pairs, 1), spread)
        call = peer(args, "bioinfer", files, scoring, args.repeat, args.device)
        whole = min(command(args, files, scoring, folder / "gpu.tsv", args.device) for _ in range(2))
        command(args, files, scoring, folder / "cpu.tsv", "cpu")
        same = (folder / "gpu.tsv").read_bytes() == (folder / "cpu.tsv").read_bytes()
        print("%-22s %9d pairs  call %8.1f  FASTA to TSV %8.1f  scores %s" %
              (what, pairs, call[0], call[0] * call[1] / whole, "equal" if same else "DIFFER"), flush=True)
        if not same:
            sys.exit("scores differ")
    print("\nThe nine shapes of the Triton table (match 1, mismatch -1, gap 2; correct borders, which theirs are not):")
    for batch, n, m, seconds in TRITON:
        files = make_pairs(folder, "triton", NT, max(n, m), batch)
        call = peer(args, "bioinfer", files, ("1,-1", "2", "2"), 20, args.device)
        print("%5d x %3d x %3d  %9.1f us  Triton %9.1f us  ratio %6.1f" %
              (batch, n, m, 1e6 * call[1], 1e6 * seconds, seconds / call[1]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--pairs", type=int, default=1000000, help="of the first shape on a GPU")
    parser.add_argument("--repeat", type=int, default=3, help="the fastest of so many runs")
    parser.add_argument("--quick", action="store_true", help="a fifth of the pairs")
    parser.add_argument("--human")
    parser.add_argument("--orang")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (on_cpu if args.device == "cpu" else on_gpu)(args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
