#!/usr/bin/env python3
"""End-to-end fidelity report: bioinfer against the references, layer by layer.

  fidelity.py --bioinfer build/cli/bioinfer [--sizes 8M,35M,150M] [--tiny tests/golden/esm2] [--dir
              FOLDER]

For each size: random weights and reference outputs are made in FOLDER/SIZE (kept; made once),
bioinfer runs on the FASTA, and every layer, mean, logits, contacts and attentions are compared.
--tiny adds the committed tiny models. Exit 0 all gates hold, 1 a gate missed or bioinfer failed, 77
(skipped) without torch, transformers or bioinfer.
"""
import argparse
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
KINDS = "per-residue,mean,logits,contacts,attentions"


def have(*modules):
    return all(importlib.util.find_spec(m) for m in modules)


def make_golden(size, folder):
    """Weights and goldens of a published size, unless they are there already."""
    if not (folder / "golden.safetensors").exists():
        print(f"{size}: writing weights and reference outputs to {folder}", flush=True)
        subprocess.run([sys.executable, HERE / "golden.py", "seeded", size, folder], check=True)


def layer_count(folder):
    """Layers, from config.json or, for a fair-esm file, from its name esm2_t<L>_...pt."""
    if (folder / "config.json").exists():
        return json.loads((folder / "config.json").read_text())["num_hidden_layers"]
    name = next(p.name for p in sorted(folder.glob("esm2_t*.pt")) if "contact" not in p.name)
    return int(re.match(r"esm2_t(\d+)_", name)[1])


def weights_argument(folder):
    """Returns what --weights gets: the folder, or the .pt file of a fair-esm folder."""
    points = [p for p in sorted(folder.glob("esm2_t*.pt")) if "contact" not in p.name]
    return points[0] if points else folder


def run(bioinfer, fasta, weights, kinds, layers, out, extra):
    command = [bioinfer, "esm2", fasta, "--weights", weights, "--include", kinds, "--layers",
               layers, "-o", out, *extra]
    child = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if child.returncode:
        print(f"  failed ({child.returncode}): {' '.join(map(str, command))}\n"
              f"  {child.stderr.strip()[-600:]}")
    return child.returncode == 0


def report(name, folder, fasta, args):
    """Runs one model, prints its table; True when every gate holds."""
    import compare
    golden, n_layers = compare.load_golden(folder / "golden.safetensors"), layer_count(folder)
    kinds = KINDS if any("contacts" in g
                         for g in golden.values()) else KINDS.replace(",contacts", "")
    extra = ["--device", args.device, *args.extra.split()]
    if args.precision:
        extra += ["--precision", args.precision]
    print(f"\n{name}: {n_layers} layers, sequences " + ", ".join(golden), flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "out.npz"
        layers = ",".join(str(i) for i in range(n_layers)) + ",-1"
        if not run(args.bioinfer, fasta, weights_argument(folder), kinds, layers, out, extra):
            return False
        results, missing = compare.compare_files(out, golden, tie=args.tie)
    groups = {}
    for r in results:
        kind = next((r.name[len(i) + 1:]
                     for i in sorted(golden, key=len, reverse=True) if r.name.startswith(i + "/")))
        groups.setdefault(kind.split(":")[0], []).append(r)
    print(f"  {'array':24}{'min cosine':>13}{'max rel. L2':>13}{'top-1':>7}")
    order = lambda kind: (not kind.startswith("layer_"),
                          [int(x) % 10 ** 6 for x in re.findall(r"-?\d+", kind)], kind)
    good = not missing and bool(results)
    for kind in sorted(groups, key=order):
        rows = groups[kind]
        bad = [r for r in rows if not compare.passes(r, args.gate)]
        top1 = f"{sum(r.top1 for r in rows)}" if kind == "logits" else ""
        print(f"  {kind:24}{min(r.cosine for r in rows):13.9f}{max(r.l2 for r in rows):13.2e}"
              f"{top1:>7}" + ("".join(f"  FAIL {r.name}" for r in bad[:3])))
        good &= not bad
    wanted = {k for k in kinds.split(",") if k != "per-residue"} | {"per-residue"}
    absent = {k for k in wanted if not any(g.endswith(k) for g in groups)}
    if absent or missing:
        print("  missing:", ", ".join(sorted(absent) + missing))
    return good and not absent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bioinfer", required=True)
    parser.add_argument("--sizes", default="8M,35M,150M", help="comma-separated; empty for none")
    parser.add_argument("--tiny", type=pathlib.Path, help="folder of the committed tiny models")
    parser.add_argument("--dir", type=pathlib.Path,
                        default=pathlib.Path(tempfile.gettempdir()) / "bioinfer-fidelity",
                        help="where weights and goldens are kept")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", help="passed on to bioinfer")
    parser.add_argument("--gate", default="fp32", choices=["fp32", "16bit", "none"])
    parser.add_argument("--tie", type=float, default=1e-4,
                        help="top-1 is judged where the reference's gap is larger")
    parser.add_argument("--extra", default="", help="further options for bioinfer")
    args = parser.parse_args()
    if not pathlib.Path(args.bioinfer).exists() or not have("numpy", "safetensors"):
        print("skipped: needs the bioinfer command, numpy and safetensors")
        return SKIPPED
    good, ran = True, 0
    if args.tiny:
        for folder in sorted(p.parent for p in args.tiny.glob("*/golden.safetensors")):
            good &= report(folder.name, folder, args.tiny / "sequences.fasta", args)
            ran += 1
    for size in filter(None, args.sizes.split(",")):
        folder = args.dir / size
        if not (folder / "golden.safetensors").exists() and not have("torch", "transformers"):
            print(f"{size}: skipped, needs torch and transformers")
            continue
        make_golden(size, folder)
        good &= report(size, folder, folder / "sequences.fasta", args)
        ran += 1
    if not ran:
        return SKIPPED
    print("\nall gates hold" if good else "\nFAILED")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
