#!/usr/bin/env python3
"""Compares an output file of `bioinfer esm2` with reference outputs; exit 1 when a gate is missed.

  compare.py out.npz golden.safetensors [--gate fp32|16bit|none] [--kind per-residue] [--require
             mean,logits]

npz names: ID/kind, ID/layer_N/per-residue when several layers were asked for, or plain ID when only
one kind was (--kind says which). Golden names: see tools/golden.py; sequences or arrays in only one
file are not compared, but sequences of the golden file that the npz lacks are an error unless
--partial.

Layer N counts as in fair-esm: 0 the scaled embedding, 1..L-1 after layer N, L (or -1) after the
final LayerNorm.

Per array: smallest cosine over rows (residues), relative L2 of the whole array, largest absolute
difference, and for logits the rows whose largest entry differs, counted only where the reference's
gap between first and second exceeds --tie.
"""
import argparse
import collections
import pathlib
import re
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "numpy")

import numpy as np

GATES = {"fp32": (0.99999, 5e-6), "16bit": (0.99999, None), "none": (None, None)}
Result = collections.namedtuple("Result", "name cosine l2 largest top1 ties")


def load_golden(path):
    """{sequence id: {array: value}}"""
    from safetensors.numpy import load_file
    out = collections.defaultdict(dict)
    for key, value in load_file(path).items():
        name, kind = key.rsplit("/", 1)
        out[name][kind] = value
    return dict(out)


def expected(golden, kind):
    """The reference array that an output called kind must equal, or None when it was not kept."""
    if kind == "per-residue":
        return golden["last_hidden_state"][1:-1]
    if kind == "bos":
        return golden["last_hidden_state"][0]
    if kind == "logits":
        return golden["logits"][1:-1]
    if kind in ("mean", "contacts", "attentions"):
        return golden.get(kind)
    m = re.fullmatch(r"layer_(-?\d+)/(per-residue|mean|bos)", kind)
    if not m:
        raise ValueError(f"unknown output {kind!r}")
    if "hidden_states" not in golden:  # only the last layer was kept
        states, n_layers = {-1: golden["last_hidden_state"]}, None
    else:
        n_layers = len(golden["hidden_states"]) - 2
        states = {i: golden["hidden_states"][i] for i in range(n_layers)}
        states[n_layers] = states[-1] = golden["hidden_states"][-1]
        states.update({i - n_layers - 1: states[i] for i in range(n_layers)})
    state = states.get(int(m[1]))
    if state is None:
        return None
    return {"per-residue": state[1:-1], "mean": state[1:-1].mean(0), "bos": state[0]}[m[2]]


def compare(name, ours, theirs, tie=1e-4):
    """One Result; a wrong shape or a non-finite value counts as infinitely far."""
    if ours.shape != theirs.shape:
        return Result(f"{name}: shape {list(ours.shape)}, expected {list(theirs.shape)}", -1,
                      np.inf, np.inf, 0, 0)
    a, b = ours.astype(np.float64), theirs.astype(np.float64)
    if not np.isfinite(a).all():
        return Result(f"{name}: not finite", -1, np.inf, np.inf, 0, 0)
    rows_a, rows_b = a.reshape(-1, a.shape[-1]), b.reshape(-1, b.shape[-1])
    norms = np.linalg.norm(rows_a, axis=1) * np.linalg.norm(rows_b, axis=1)
    cosine = 1.0
    if (norms > 0).any():
        cosine = float(((rows_a * rows_b).sum(1)[norms > 0] / norms[norms > 0]).min())
    l2 = float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-30))
    top1 = ties = 0
    if name.endswith("/logits"):
        top = np.sort(rows_b, axis=1)
        differs, clear = rows_a.argmax(1) != rows_b.argmax(1), top[:, -1] - top[:, -2] > tie
        top1, ties = int((differs & clear).sum()), int((~clear).sum())
    return Result(name, cosine, l2, float(np.abs(a - b).max()), top1, ties)


def compare_files(npz, golden, kind="per-residue", tie=1e-4):
    """(results, missing ids). golden: as load_golden returns it."""
    results, seen = [], set()
    with np.load(npz) as file:
        for key in file.files:
            name, what = (key, kind) if key in golden else split_key(key, golden)
            if name is None:
                continue
            seen.add(name)
            reference = expected(golden[name], what)
            if reference is not None:
                results.append(compare(f"{name}/{what}", file[key], reference, tie))
    return results, sorted(set(golden) - seen)


def split_key(key, golden):
    """ID/kind -> (ID, kind). IDs may hold slashes."""
    for i in (i for i, c in enumerate(key) if c == "/"):
        if key[:i] in golden:
            return key[:i], key[i + 1:]
    return None, None


def passes(result, gate):
    least, most = GATES[gate]
    return (least is None or result.cosine >= least) and (most is None or result.l2 < most) and \
           (gate == "none" or result.top1 == 0)


def summary(results):
    """One line for a whole set of results."""
    return (f"min cosine {min(r.cosine for r in results):.9f}, max relative L2 "
            f"{max(r.l2 for r in results):.2e}, top-1 differing {sum(r.top1 for r in results)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npz")
    parser.add_argument("golden")
    parser.add_argument("--gate", choices=GATES, default="fp32")
    parser.add_argument("--kind", default="per-residue", help="meaning of names without a kind")
    parser.add_argument("--require", default="", help="kinds that must occur, comma-separated")
    parser.add_argument("--tie", type=float, default=1e-4)
    parser.add_argument("--partial", action="store_true",
                        help="sequences may be missing from the npz")
    parser.add_argument("--quiet", action="store_true", help="print failures and the summary only")
    args = parser.parse_args()
    golden = load_golden(args.golden)
    results, missing = compare_files(args.npz, golden, args.kind, args.tie)
    failures = [r for r in results if not passes(r, args.gate)]
    width = max([len(r.name) for r in results], default=4)
    print(f"{'array':{width}} {'min cosine':>12} {'rel. L2':>9} {'max diff':>9} {'top-1':>6}")
    for r in results:
        if r in failures or not args.quiet:
            top1 = f"{r.top1}" if r.name.endswith("/logits") else ""
            print(f"{r.name:{width}} {r.cosine:12.9f} {r.l2:9.2e} {r.largest:9.2e} {top1:>6}"
                  f"{'' if passes(r, args.gate) else '  FAIL'}")
    if results:
        print(f"{len(results)} arrays of {pathlib.Path(args.npz).name}: {summary(results)}; "
              f"{len(failures)} failed")
    kinds = {k for k in args.require.split(",") if k}
    absent = [k for k in kinds if not any(r.name.split("/")[-1] == k for r in results)]
    if missing and not args.partial:
        print("missing sequences:", ", ".join(missing))
    if absent:
        print("missing arrays:", ", ".join(absent))
    return 1 if failures or absent or not results or (missing and not args.partial) else 0


if __name__ == "__main__":
    sys.exit(main())
