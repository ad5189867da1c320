#!/usr/bin/env python3
"""option_products.py BIOINFER SOURCE_ROOT - options with each other: results of the plainest run,
or a refusal.

Standard library only. Of each kind of work every two values of two options meet in some run (of
embeddings also every three of --include, --layers and --format), chosen by a seeded greedy search.
A run either gives what the plainest run gives that has the arrays, or is refused with status 64,
words, and no file; nothing else is right. BIOINFER_SANITIZED=1 takes a seeded sample;
BIOINFER_PRODUCT_SEED=N another choice of rows.
"""
import ast
import base64
import csv
import itertools
import json
import math
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

EXE, ROOT = (os.path.abspath(p) for p in sys.argv[1:3])
GOLDEN = os.path.join(ROOT, "tests", "golden")
SEED = int(os.environ.get("BIOINFER_PRODUCT_SEED", "1"))
SAMPLE = 12 if os.environ.get("BIOINFER_SANITIZED") == "1" else None  # runs of each kind of work
FASTA = {"a": "MKTAYIAKQR", "b": "MKTAY", "c": "MKTAYIAKQR", "d": "GW"}
problems, done, wanted = [], {}, {}  # done, wanted: values of options in runs with results


# ---- which rows ----

def pairs_of(row):
    return set(itertools.combinations(sorted(row.items()), 2))


def rows_of(factors, triple=()):
    """Rows (name -> value) in which every pair of values meets, and every triple of the three named
    factors."""
    rng = random.Random(SEED)
    left = {((a, x), (b, y)) for a, b in itertools.combinations(sorted(factors), 2)
            for x in factors[a] for y in factors[b]}
    fixed = [dict(zip(triple, values))
             for values in itertools.product(*(factors[t] for t in triple))] if triple else []
    rng.shuffle(fixed)
    rows = []
    while fixed or left:
        base = fixed.pop() if fixed else dict(rng.choice(sorted(left, key=str)))
        row = max(({**{f: rng.choice(v) for f, v in factors.items()}, **base} for _ in range(12)),
                  key=lambda r: len(pairs_of(r) & left))
        left -= pairs_of(row)
        rows.append(row)
    plain = {f: values[0] for f, values in factors.items()}  # each value also comes alone
    rows += [{**plain, f: value} for f, values in factors.items() for value in values[1:]]
    rng.shuffle(rows)
    return rows[:SAMPLE]


# ---- running ----

def run(folder, args):
    env = {k: v for k, v in os.environ.items() if k not in ("HF_HUB_CACHE", "OMP_NUM_THREADS")}
    env["HF_HOME"] = os.path.join(folder, "no-cache")
    p = subprocess.run([EXE, *args], cwd=folder, env=env, capture_output=True, timeout=300,
                       check=False)
    return p.returncode, p.stdout, p.stderr.decode(errors="replace")


def leftovers(folder, stem="out"):
    return sorted(name for name in os.listdir(folder) if name.startswith(stem))


def results(folder):
    """The same, but how it was made, which has the command and the date."""
    return [name for name in leftovers(folder) if not name.endswith(".provenance.json")]


def clear(folder):
    for name in leftovers(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)


def tell(args, what):
    problems.append(f"bioinfer {' '.join(args)}\n    {what}")


def accepted(folder, args, fine=(0,)):
    """True: the run ended well. False: it was refused as it should be, or the fault is told."""
    before = leftovers(folder)  # the other shard may have some
    code, out, words = run(folder, args)
    strict = code == 65 and "--strict" in args  # a record that has no result ends the run
    if "Sanitizer" in words or "runtime error" in words:
        tell(args, f"sanitizer: {words[-1500:]}")
    elif code in fine:
        return True, out
    elif code != 64 and not strict:
        tell(args, f"status {code}: {words[-400:]}")
    elif "bioinfer: " not in words or out:
        tell(args, f"refused without words, or with output: {words[-400:]}")
    elif leftovers(folder) != before:
        tell(args, f"refused, and left {leftovers(folder)}")
    return False, b""


# ---- reading embeddings ----

def flat(values):
    for v in values:
        if isinstance(v, list):
            yield from flat(v)
        else:
            yield v


def floats(values):
    numbers = list(flat(values))
    return struct.pack(f"<{len(numbers)}f", *numbers)


def read_npy(raw):
    size = struct.unpack("<H", raw[8:10])[0]
    head = ast.literal_eval(raw[10:10 + size].decode("latin-1"))
    return head["shape"], raw[10 + size:]


def read_keyed(path, fmt):
    if fmt == "npz":
        with zipfile.ZipFile(path) as z:
            return {n.removesuffix(".npy"): read_npy(z.read(n))[1] for n in z.namelist()
                    if b"<f4" in z.read(n)[:100]}
    with open(path, "rb") as f:
        raw = f.read()
    size = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + size])
    return {k: raw[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]
            for k, t in head.items() if k != "__metadata__" and t["dtype"] == "F32"}


def find(folder, row, kinds, layers, wanted):
    """Reads what a run wrote: (id, kind, layer) -> bytes of float32. wanted: keys, and what each
    is to be."""
    fmt, path = row["format"], os.path.join(folder, "out." + row["format"])
    many_kinds, many_layers = len(kinds) > 1, len(layers) > 1
    if fmt in ("npz", "safetensors"):
        got = read_keyed(path, fmt)
        names = {}
        for i, kind, layer in wanted:
            parts = [i] + ([f"layer_{layer}"] if many_layers and layer is not None else []) + \
                ([kind] if many_kinds or many_layers else [])
            names["/".join(parts)] = (i, kind, layer)
        return {names.get(k, k): v for k, v in got.items()}
    if fmt == "npy":
        with open(path, "rb") as f:
            shape, raw = read_npy(f.read())
        with open(path.removesuffix(".npy") + ".ids.txt", encoding="utf-8") as f:
            ids = f.read().split()
        step = len(raw) // shape[0]
        return {(i, kinds[0], layers[0]): raw[n * step:(n + 1) * step] for n, i in enumerate(ids)}
    if fmt == "jsonl":
        out = {}
        with open(path, encoding="utf-8") as f:
            for line in map(json.loads, f):
                for a in line.get("arrays", []):
                    data = a["data"]
                    raw = base64.b64decode(data) if isinstance(data, str) else floats(data)
                    out[line["id"], a["kind"],
                        a.get("layer") if a["kind"] in LAYERED else None] = raw
        return out
    if fmt == "tsv":
        out = {}
        with open(path, encoding="utf-8", newline="") as f:
            for r in csv.DictReader(f, delimiter="\t"):
                if r["status"] != "ok":
                    continue
                key = (r["id"], r.get("kind", kinds[0]), int(r.get("layer", layers[0])))
                out[key] = floats([float(v) for k, v in r.items() if k[0] == "d" and
                                   k[1:].isdigit()])
        return out
    # h5 and esm-pt: contiguous values, found as they are
    raw = b""
    for name in [path] if os.path.isfile(path) else [os.path.join(path, n)
                                                     for n in sorted(os.listdir(path))]:
        if fmt == "esm-pt":
            with zipfile.ZipFile(name) as z:
                raw += b"".join(z.read(n) for n in z.namelist())
        else:
            with open(name, "rb") as f:
                raw += f.read()
    return {k: v if v in raw else b"not found" for k, v in wanted.items()}


LAYERED = ("mean", "per-residue", "bos")
FAMILIES = {"esm2": "hf-d16", "esmc": "split", "protbert": "pretraining", "prott5": "full"}
EMBED = {
    "family": list(FAMILIES),
    "include": ["mean", "per-residue", "bos", "logits", "contacts", "attentions",
                "mean,per-residue", "mean,bos"],
    "layers": ["", "0", "-1", "1", "0,-1"],
    "format": ["npz", "npy", "safetensors", "h5", "jsonl", "tsv", "esm-pt"],
    "precision": ["", "fp32"],
    "resume": ["", "=match", "=no"],
    "shard": ["", "", "2"],
    "workers": ["", "", "1"],
    "dedup": ["", "off"],
    "more": ["", "--threads=3", "--batch-tokens=8", "--no-rule=all", "--json-floats",
             "--max-length=9"],
}


def references(folder):
    """family -> {(id, kind, layer): bytes}, and the number of the last layer."""
    out = {}
    for family, name in FAMILIES.items():
        weights = os.path.join(GOLDEN, family, name)
        base = ("embed", "in.fasta", "--weights", weights, "--device", "cpu", "--quiet", "-o",
                "out.npz", "--include")
        all_of, last = {}, None
        for kind in ("mean", "per-residue", "bos", "logits", "contacts", "attentions"):
            code, _, words = run(folder, (*base, kind, "--layers", "0,1,-1"))
            if code == 64:
                continue
            assert not code, words
            for key, raw in read_keyed(os.path.join(folder, "out.npz"), "npz").items():
                parts = key.split("/")
                layer = int(parts[1].removeprefix("layer_")) if kind in LAYERED else None
                all_of[parts[0], kind, layer] = raw
                last = max(last or 0, layer or 0)
            clear(folder)
        out[family] = (all_of, last)
    return out


def close(a, b):
    """Unfused graphs round differently: equal to five digits of the largest value."""
    x, y = (struct.unpack(f"<{len(r) // 4}f", r) for r in (a, b))
    return len(x) == len(y) and all(abs(p - q) <= 2e-5 * max(map(abs, y)) for p, q in zip(x, y))


def embeddings(folder):
    known = references(folder)
    done["embed"] = set()
    # may be left out of a build
    wanted["embed"] = {(k, v) for k, values in EMBED.items() for v in values if v != "h5"}
    for row in rows_of(EMBED, ("include", "layers", "format")):
        family, kinds = row["family"], row["include"].split(",")
        all_of, last = known[family]
        layers = [last if n < 0 else n
                  for n in (int(x) for x in (row["layers"] or "-1").split(","))]
        args = ["embed", "in.fasta", "--weights", os.path.join(GOLDEN, family, FAMILIES[family]),
                "--device", "cpu", "--include", row["include"], "--format", row["format"], "-o",
                "out." + row["format"], "--quiet"]
        args += [f"--{k}={row[k]}" for k in ("layers", "precision", "workers", "dedup") if row[k]]
        args += ["--resume" + row["resume"]] if row["resume"] else []
        args += [row["more"]] if row["more"] else []
        short = row["more"] == "--max-length=9"
        ids = [i for i, s in FASTA.items() if not short or len(s) <= 9]
        expected = {(i, kind, layer): all_of.get((i, kind, layer)) for i in ids for kind in kinds
                  for layer in (layers if kind in LAYERED else [None])}
        clear(folder)
        if row["shard"]:
            # a shard may hold records without result, or with results alone
            ok = all(accepted(folder, args + ["--shard", f"{i}/2"], (0, 1))[0] for i in (1, 2))
            if ok:
                merge = ("merge", "out." + row["format"], "--format", row["format"], "--quiet")
                code, _, words = run(folder, merge)
                ok = code == (1 if short else 0)
                if not ok:
                    tell(args + ["--shard I/2; merge"], f"merge: status {code}: {words[-300:]}")
        else:
            ok = accepted(folder, args, (1,) if short else (0,))[0]
        if not ok:
            continue
        done["embed"] |= set(row.items())
        if None in expected.values():
            tell(args, "is done, and refused in the plainest run")
            continue
        try:
            got = find(folder, row, kinds, layers, expected)
        except (OSError, ValueError, KeyError, IndexError, struct.error, zipfile.BadZipFile) as e:
            tell(args, f"the output cannot be read: {e!r}")
            continue
        same = close if row["more"] == "--no-rule=all" else bytes.__eq__
        if row["more"] == "--no-rule=all" and row["format"] in ("h5", "esm-pt"):
            continue  # values are found by their bytes there
        if set(got) != set(expected):
            tell(args, f"has {sorted(map(str, got))}, expected {sorted(map(str, expected))}")
        elif not all(same(got[k], expected[k]) for k in expected):
            tell(args, f"differs in {[k for k in expected if not same(got[k], expected[k])]}")


# ---- the other kinds of work: options that change no result, beside those that do ----

def flags(row, names):
    out = []
    for name in names:
        if row[name]:
            out += row[name].split(" ")
    return out


def compare(folder, what, head, meaning, neutral, tail=(), refused=()):
    """Rows of both; the bytes of a run are those of the run without the options that mean
    nothing."""
    plain = {}
    done[what] = set()
    wanted[what] = {(k, v) for k, values in meaning.items() for v in values if v not in refused}
    for row in rows_of({**meaning, **neutral}):
        args = [*head, *flags(row, meaning)]
        key = tuple(args)
        if key not in plain:
            clear(folder)
            ok, out = accepted(folder, [*args, *tail, "--quiet"], (0, 1))
            plain[key] = (ok, out, contents(folder))
        clear(folder)
        more = [*args, *flags(row, neutral), *tail, "--quiet"]
        ok, out = accepted(folder, more, (0, 1))
        if ok != plain[key][0]:
            tell(more, "is done, and refused without the neutral options"
                 if ok else "is refused with a neutral option")
        elif ok and (out, contents(folder)) != plain[key][1:]:
            tell(more, f"differs from the run without {flags(row, neutral)}")
        if ok:
            done[what] |= {(k, v) for k, v in row.items() if k in meaning}


def contents(folder):
    out = {}
    for name in results(folder):
        path = os.path.join(folder, name)
        for at in [path] if os.path.isfile(path) else [os.path.join(path, n)
                                                       for n in sorted(os.listdir(path))]:
            with open(at, "rb") as f:
                out[os.path.relpath(at, folder)] = f.read()
    return out


THREADS = ["", "--threads=1", "--threads=3"]


def scores(folder):
    compare(folder, "score", ["score", "one.fasta", "--weights",
                              os.path.join(GOLDEN, "esm2", "hf-d16"), "--device=cpu"],
            {"method": ["", "--method=pppl", "--method=wt-marginals", "--method=masked-marginals"],
             "mutations": ["", "--mutations=m.csv", "--mutations=m.csv --mutation-col=mutant"],
             "offset": ["", "--offset=1", "--offset-idx=3"], "strict": ["", "--strict"],
             "residues": ["", "--raw-residues"], "precision": ["", "--precision=fp32"],
             "length": ["", "--max-length=16"]},
            {"threads": THREADS, "workers": ["", "--workers=2"], "batch": ["", "--batch-tokens=8"],
             "check": ["", "--check-weights", "--strict-pickle"]},
            ("-o", "out.txt"))


def designs(folder):
    compare(folder, "design", ["proteinmpnn", "two.pdb", "--device=cpu", "--seed=5"],
            {"do": ["", "--score-only", "--conditional", "--conditional-backbone",
                    "--unconditional"],
             "include": ["", "--include=logprobs", "--include=probs,logprobs"],
             "format": ["-o out.fa", "-o out.npz", "-o out.tsv", "-o out.jsonl", "-o out.h5"],
             "n": ["", "--num-seq=3"], "temperature": ["", "--temperature=0.1,0.5"],
             "chains": ["", "--chains=A"], "rng": ["", "--rng=torch", "--rng=torch-mkl"],
             "omit": ["", "--omit-aa=CX"], "tied": ["", "--tied=homooligomer"],
             "noise": ["", "--backbone-noise=0.1"]},
            {"threads": THREADS, "batch": ["", "--batch=1"], "check": ["", "--check-weights"]})


def alignments(folder):
    compare(folder, "align", ["align"],
            {"format": ["", "--format=tsv", "--format=paf", "--format=sam", "--format=needle",
                        "--format=fasta"],
             "pairs": ["in.fasta other.fasta", "in.fasta --all-vs-all",
                       "one.fasta other.fasta --one-vs-all"], "score": ["", "--score-only"],
             "mode": ["", "--mode=ends-free"], "ties": ["", "--ties=emboss", "--ties=wfa"],
             "cigar": ["", "--cigar=plain"],
             "matrix": ["", "--matrix=BLOSUM45", "--match=2 --mismatch=-3"],
             "gaps": ["", "--gap-open=5", "--gap-extend=2", "--gap-convention=w"]},
            {"threads": THREADS, "memory": ["", "--memory-limit=1"],
             "mask": ["", "--cpu-mask=generic"],
             "progress": ["", "--progress=on"]}, ("-o", "out.txt"), refused=("",))


def tracks(folder):
    head = ["enformer", "--weights", os.path.join(GOLDEN, "enformer", "half"), "--device=cpu"]
    neutral = {"threads": ["", "--threads=3"], "check": ["", "--check-weights"]}
    some = {"rc": ["", "--rc"], "shifts": ["", "--shifts=0,1"], "tracks": ["", "--tracks=1"],
            "precision": ["", "--precision=fp32"]}
    compare(folder, "tracks of windows", [*head, "window.fa"],
            {"format": ["-o out.npz", "-o out.h5", "-o out.safetensors", "-o out.jsonl",
                        "-o out.tsv"], **some}, neutral, refused=("-o out.h5", "-o out.tsv"))
    compare(folder, "tracks of intervals", [*head, "g.bed", "--genome", "genome.fa"],
            {"format": ["-o out.npz", "-o out.jsonl", "--format=bedgraph -o out",
                        "--format=bigwig -o out"], "ism": ["", "--ism"], **some}, neutral)
    compare(folder, "tracks of variants", [*head, "v.vcf", "--genome", "genome.fa"],
            {"format": ["-o out.tsv", "-o out.npz", "-o out.jsonl"],
             "stats": ["", "--stats=SAD", "--stats=SAD,SAR"], "cluster": ["", "--cluster=1"],
             **some}, neutral)


def prepare(folder):
    def write(name, text):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)
    rng = random.Random(4)
    write("in.fasta", "".join(f">{k}\n{v}\n" for k, v in FASTA.items()))
    write("one.fasta", f">a\n{FASTA['a']}\n")
    write("other.fasta", "".join(f">o{k}\n{v[::-1]}\n" for k, v in FASTA.items()))
    write("m.csv", "mutant,dms\nM1A,0.5\nK2R:T3S,1\nM2A,2\n")
    write("window.fa", ">w\n" + "".join(rng.choices("ACGT", k=5120)) + "\n")
    genome = "".join(rng.choices("ACGT", k=9000))
    write("genome.fa", f">chr1\n{genome}\n")
    write("genome.fa.fai", "chr1\t9000\t6\t9000\t9001\n")
    write("g.bed", "chr1\t4000\t4128\tone\n")
    write("v.vcf", "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n"
          f"chr1\t4200\tv1\t{genome[4199]}\tG\t.\t.\t.\n"
          f"chr1\t4300\tv2\t{genome[4299]}\tT\t.\t.\t.\n" "chr1\t4300\tbad\tN\tT\t.\t.\t.\n")
    with open(os.path.join(GOLDEN, "proteinmpnn", "5L33.pdb"), encoding="ascii") as f:
        rows = [line for line in f if line.startswith("ATOM") and int(line[22:26]) <= 14]
    shifted = [line[:21] + "B" + line[22:30] + f"{float(line[30:38]) + 40:8.3f}" + line[38:]
               for line in rows]
    write("two.pdb", "".join(rows) + "TER\n" + "".join(shifted) + "END\n")


def main():
    folder = tempfile.mkdtemp(prefix="bioinfer-products-")
    try:
        prepare(folder)
        for work in sys.argv[3:] or ("embeddings", "scores", "designs", "alignments", "tracks"):
            globals()[work](folder)
            clear(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for what, values in done.items():
        print(f"{what}: {len(values)} values of options took part in runs with results")
    for what in () if SAMPLE else done:  # nothing is right because all of it is refused
        problems.extend(f"{what}: no run with {name} '{value}' gave results"
                        for name, value in sorted(wanted[what] - done[what]))
    for p in problems[:40]:
        print(p)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
