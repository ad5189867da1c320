#!/usr/bin/env python3
"""ESM-2 on a processor with AMX: what only such a machine can show, in one call under five minutes.

  bench/amx.py BUILD [--fasta proteins.fasta] [--sizes 8M,150M,650M] [--threads 16,1]
               [--skip checks,matmul,models]

BUILD is a build folder, made here or carried along, in which there are
  cli/bioinfer tests/ops/amx_test tests/ops/checkkernel tests/golden/golden bench/matmul bench/calls
(`ninja -C BUILD` and these names; they need libc, libm and libz alone). Python needs numpy,
safetensors, torch and transformers. Without --fasta the proteins are random ones of lengths like
those of esm2_cpu.py.

  checks   the chip's tile instruction and whole layers against the emulation, bit for bit
           (amx_test); the cases of checkkernel on AMX; the goldens of tests/golden/esm2 and of
           bioinfer-tiny in two and in three terms
  matmul   GFLOP/s of linear layers and their share of the probed peak, on AVX-512 and AMX
  models   residues per second with the weights loaded: bioinfer on AVX-512, on AMX in two terms
           (bf16x2) and in three (fp32), transformers in float32 and in bfloat16, each in a
           process of its own; and how far mean embeddings and residues are from transformers'
           float32
Steps that would begin behind --budget seconds are skipped, which is told.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
SHAPES = ((1280, 320), (2560, 640), (3840, 1280), (5120, 1280), (1280, 5120))
RESIDUES = {"8M": 475_000, "150M": 40_000, "650M": 12_000}  # for many threads
ALONE = {"8M": 12_000, "150M": 2_000, "650M": 600}  # for one
WAYS = (
    ("avx512", ("--cpu-mask", "avx512")),
    ("amx bf16x2", ("--cpu-mask", "amx", "--precision", "bf16x2")),
    ("amx fp32", ("--cpu-mask", "amx", "--precision", "fp32")),
)
KEPT = 3  # proteins whose residues are compared
begun = time.monotonic()


def elapsed():
    return time.monotonic() - begun


def run(command, threads=None):
    """stdout of a command, or None, with its last words told."""
    env = dict(os.environ, TRANSFORMERS_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")
    if threads:
        env.update(OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads))
    done = subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, env=env, check=False
    )
    if done.returncode:
        print(
            f"    {pathlib.Path(command[0]).name}: exit {done.returncode}\n    "
            + "\n    ".join((done.stdout + done.stderr).strip().split("\n")[-8:]),
            flush=True,
        )
        return None
    return done.stdout


# ---- proteins ----


def read_fasta(path):
    records = [r.partition("\n") for r in ("\n" + pathlib.Path(path).read_text()).split("\n>")[1:]]
    return [(h.split()[0], s.replace("\n", "")) for h, _, s in records]


def random_proteins():
    """1,000 proteins of log-normal lengths from 82 on, 475 on average."""
    import numpy as np

    rng = np.random.default_rng(1)
    lengths = np.clip(np.exp(rng.normal(5.9, 0.72, 1000)), 82, 5533).astype(int)
    return [
        (f"p{i}", "".join(rng.choice(list("LAGVSERTIDPKQNFYMHWC"), n)))
        for i, n in enumerate(lengths)
    ]


def some(records, residues):
    """Every n-th of the proteins by length, of about so many residues."""
    records = sorted(records, key=lambda r: len(r[1]))
    total = sum(len(s) for _, s in records)
    step = max(1, round(total / residues))
    return records[step // 2 :: step]


def write_fasta(path, records):
    path.write_text("".join(f">{n}\n{s}\n" for n, s in records))


def kept(records):
    """Some of ordinary length, to compare residues of."""
    return sorted(records, key=lambda r: abs(len(r[1]) - 200))[:KEPT]


# ---- transformers, in a process of its own ----


def worker(args):
    import numpy as np
    import torch
    from transformers import EsmModel

    sys.path.insert(0, str(ROOT / "tools"))
    import golden

    torch.set_num_threads(args.worker_threads)
    dtype = torch.bfloat16 if args.worker == "bfloat16" else torch.float32
    model = EsmModel.from_pretrained(
        args.model, dtype=torch.float32, attn_implementation="sdpa", add_pooling_layer=False
    ).eval()
    for m in model.modules():
        if hasattr(m, "inv_freq"):  # transformers 5 recomputes them
            m.inv_freq = torch.from_numpy(golden.inv_freq(2 * len(m.inv_freq)).copy())
    model = model.to(dtype)
    records = sorted(read_fasta(args.fasta), key=lambda r: -len(r[1]))
    residues = {n for n, _ in kept(records)}
    seconds, out = None, {}
    for _ in range(2 if args.twice else 1):
        start = time.perf_counter()
        for i in range(0, len(records), 8):
            batch = records[i : i + 8]
            ids = torch.ones((len(batch), len(batch[0][1]) + 2), dtype=torch.long)
            for row, (_, s) in enumerate(batch):
                ids[row, : len(s) + 2] = torch.from_numpy(golden.encode(s))
            with torch.no_grad():
                hidden = model(
                    input_ids=ids, attention_mask=(ids != 1).long()
                ).last_hidden_state.float()
            for (name, s), h in zip(batch, hidden):
                out[name] = h[1 : len(s) + 1].mean(0).numpy()
                if name in residues:
                    out["residues/" + name] = h[1 : len(s) + 1].numpy()
        seconds = time.perf_counter() - start
    np.savez(args.out, **out)
    print(json.dumps({"seconds": seconds}))


# ---- checks ----


def checks(build):
    ok = True

    def step(name, command):
        nonlocal ok
        start = elapsed()
        text = run(command)
        ok &= text is not None
        print(
            f"{name:34}{'ok' if text is not None else 'FAILED':8}{elapsed() - start:5.1f} s  "
            f"{(text or '').strip().splitlines()[-1] if text else ''}",
            flush=True,
        )

    step("tiles of the chip", (build / "tests/ops/amx_test", "--chip"))
    step("checkkernel linear",
         (build / "tests/ops/checkkernel", "--isa=amx", "--op=linear", "--seed=1"))
    folder = ROOT / "tests/golden/esm2"
    tiny = ROOT / "share/bioinfer-tiny"
    models = [(f, f, folder / "sequences.fasta") for f in sorted(folder.glob("hf-*"))]
    models.append((tiny, tiny / "golden", tiny / "golden/sequences.fasta"))
    for model, at, fasta in models:
        for precision in "bf16x2", "fp32":
            text = run(
                (
                    build / "tests/golden/golden",
                    model,
                    at / "golden.safetensors",
                    fasta,
                    "--cpu-mask",
                    "amx",
                    "--precision",
                    precision,
                )
            )
            ok &= text is not None
            print(
                f"golden {model.name:18} {precision:8}{(text or 'FAILED').splitlines()[0]}",
                flush=True,
            )
    return ok


def matmul(build, threads):
    for n_threads in threads:
        for isa, precision in ("avx512", "fp32"), ("amx", "bf16x2"), ("amx", "fp32"):
            print(
                f"\n{isa} {precision}, {n_threads} threads: model rows n k, peak; GFLOP/s, share "
                "of it: plain, gelu, residual"
            )
            for n, k in SHAPES if n_threads > 1 else SHAPES[::3]:
                text = run(
                    (
                        build / "bench/matmul",
                        "--isa",
                        isa,
                        "--precision",
                        precision,
                        "--threads",
                        n_threads,
                        "--rounds",
                        5,
                        "--rows",
                        2048,
                        n,
                        k,
                    )
                )
                print("   ", text.strip().splitlines()[-1] if text else "failed", flush=True)


# ---- models ----


def apart(got, want):
    """1 - smallest cosine of a row, and relative L2 over all of it."""
    import numpy as np

    a, b = got.astype("f8"), want.astype("f8")
    cosine = (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))
    return 1 - cosine.min(), np.sqrt(((a - b) ** 2).sum() / (b * b).sum())


def fidelity(build, name, options, model, few, out, want, threads):
    """Worst residue and relative L2 of some proteins."""
    import numpy as np

    if name.startswith("torch"):
        with np.load(out) as x:
            found = {r: x["residues/" + r] for r in want}
    else:
        residues = out.with_suffix(".residues.npz")
        if (
            run(
                (
                    build / "cli/bioinfer",
                    "esm2",
                    few,
                    "--weights",
                    model,
                    "--device",
                    "cpu",
                    "--threads",
                    threads,
                    *options,
                    "--include",
                    "per-residue",
                    "--quiet",
                    "-o",
                    residues,
                )
            )
            is None
        ):
            return None
        with np.load(residues) as x:
            found = {r: x[r] for r in want}
    all_apart = [apart(found[r], want[r]) for r in want]
    return max(a for a, _ in all_apart), max(b for _, b in all_apart)


def measure(build, name, options, model, fasta, out, threads, twice):
    """Seconds of the work with the weights loaded."""
    if name.startswith("torch"):
        text = run(
            (
                sys.executable,
                __file__,
                build,
                "--worker",
                name.split()[1],
                "--model",
                model,
                "--fasta",
                fasta,
                "--out",
                out,
                "--worker-threads",
                threads,
                *(("--twice",) if twice else ()),
            ),
            threads,
        )
        return json.loads(text.strip().splitlines()[-1])["seconds"] if text else None
    text = run(
        (
            build / "bench/calls",
            "--device",
            "cpu",
            "--threads",
            threads,
            *options,
            "--fasta",
            fasta,
            "-o",
            out,
            model,
        )
    )
    return float(text.split()[text.split().index("again_s") + 1]) if text else None


def models(args, build, folder, records, sizes, threads):
    import numpy as np

    for n_threads in threads:
        for size in sizes:
            chosen = some(records, (RESIDUES if n_threads > 1 else ALONE)[size])
            residues = sum(len(s) for _, s in chosen)
            fasta, few = folder / "in.fasta", folder / "few.fasta"
            write_fasta(fasta, chosen)
            write_fasta(few, kept(chosen))
            print(
                f"\nESM-2 {size}, {n_threads} threads: {len(chosen)} proteins, "
                f"{residues} residues\n"
                f"{'':16}{'seconds':>9}{'residues/s':>12}{'of avx512':>11}"
                f"{'worst residue':>15}{'relative L2':>13}"
                f"{'means':>9}",
                flush=True,
            )
            seconds, want = {}, None
            for name, options in (("torch float32", ()), *WAYS, ("torch bfloat16", ())):
                out = folder / f"{name.replace(' ', '-')}.npz"
                if elapsed() > args.budget:
                    print(f"{name:16}skipped, {elapsed():.0f} s are over")
                    continue
                took = measure(
                    build, name, options, folder / size, fasta, out, n_threads, n_threads > 1
                )
                if took is None:
                    continue
                seconds[name] = took
                if name == "torch float32":
                    with np.load(out) as x:
                        want = {r: x["residues/" + r] for r, _ in kept(chosen)}
                        means = {r: x[r] for r, _ in chosen}
                words = ""
                if want and name != "torch float32":
                    with np.load(out) as x:
                        far = max(apart(x[r], means[r])[1] for r in means)
                    near = fidelity(build, name, options, folder / size, few, out, want, n_threads)
                    words = f"{near[0]:15.1e}{near[1]:13.1e}{far:9.1e}" if near else ""
                ratio = f"{seconds['avx512'] / took:10.2f}x" if "avx512" in seconds else f"{'':11}"
                print(f"{name:16}{took:9.2f}{residues / took:12.0f}{ratio}{words}", flush=True)
            for ours in "amx bf16x2", "amx fp32":
                print(
                    "   ",
                    ours,
                    "is faster than",
                    ", ".join(
                        f"{peer} {seconds[peer] / seconds[ours]:.2f}x"
                        for peer in seconds
                        if ours in seconds and peer != ours and not peer.startswith("amx")
                    ),
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--fasta", type=pathlib.Path)
    parser.add_argument("--sizes", default="8M,150M,650M")
    parser.add_argument("--threads", default=f"{len(os.sched_getaffinity(0))},1")
    parser.add_argument("--skip", default="")
    parser.add_argument("--budget", type=float, default=260)
    parser.add_argument("--twice", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--worker-threads", type=int, help=argparse.SUPPRESS)
    for hidden in "--worker", "--model", "--out":
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args)
    build, skip, sizes = args.build.resolve(), args.skip.split(","), args.sizes.split(",")
    threads = [int(t) for t in args.threads.split(",")]
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        writers = (
            []
            if "models" in skip
            else [
                subprocess.Popen(
                    [
                        sys.executable,
                        str(ROOT / "tools/golden.py"),
                        "seeded",
                        size,
                        str(folder / size),
                        "--no-golden",
                    ],
                    stdout=subprocess.DEVNULL,
                )
                for size in sizes
            ]
        )
        ok = "checks" in skip or checks(build)
        for w in writers:
            ok &= w.wait() == 0
        print(f"checks and weights: {elapsed():.0f} s", flush=True)
        if "matmul" not in skip:
            matmul(build, threads)
            print(f"matmul: {elapsed():.0f} s", flush=True)
        if "models" not in skip:
            records = read_fasta(args.fasta) if args.fasta else random_proteins()
            models(args, build, folder, records, sizes, threads)
    print(f"\n{'all checks passed' if ok else 'CHECKS FAILED'}; {elapsed():.0f} s in all")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
