#!/usr/bin/env python3
"""design_device.py BIOINFER DEVICE - ProteinMPNN on a device against the CPU, whole commands.

One structure, several of different lengths in a batch, chains with context, tied positions, two
temperatures, scores and unconditional probabilities: log-probabilities cosine >= 0.99999 with equal
top symbols, sequences of the own generator the same, and the same bytes for a structure alone and
in company. Needs numpy and the device.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WEIGHTS = ROOT / "share/proteinmpnn/proteinmpnn_v_48_020.mpnn"
GATE = 0.99999
CASES = (("one structure", ["5L33"], ["--num-seq", 8]),
         ("temperature 1", ["5L33"], ["--num-seq", 8, "--temperature", 1]),
         ("five in a batch", ["5L33", "6MRR", "3HTN", "4GYT", "6EHB"], ["--num-seq", 2]),
         ("chains with context", ["3HTN"], ["--chains", "A,B", "--num-seq", 2]),
         ("tied", ["6EHB", "4GYT"], ["--tied", "homooligomer", "--num-seq", 2]),
         ("scores", ["3HTN"], ["--score-only"]))


def run(bioinfer, device, names, options, out):
    files = [ROOT / "tests/golden/proteinmpnn" / f"{n}.pdb" for n in names]
    command = [bioinfer, "proteinmpnn", *files, *options, "--weights", WEIGHTS, "--device", device,
               "--quiet", "-o", out]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
    with np.load(out) as f:
        return {k: f[k] for k in f.files}


def compare(name, ours, theirs):
    """True: within the gate."""
    assert set(ours) == set(theirs), set(ours) ^ set(theirs)
    worst, flips, symbols, designs, other = 1.0, 0, 0, 0, 0
    for key, x in theirs.items():
        y = ours[key]
        assert x.shape == y.shape, (key, x.shape, y.shape)
        if key.endswith("log_probs"):
            worst = min(worst,
                        float(((x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))).min()))
            flips += int((x.argmax(-1) != y.argmax(-1)).sum())
            symbols += x[..., 0].size
        elif key.endswith("/S"):
            designs += 1
            other += int((x != y).any())
    print(f"{name:22} worst cosine {worst:.9f}, {flips} of {symbols} top symbols and {other} of "
          f"{designs} sequences differ", flush=True)
    return symbols > 0 and worst >= GATE and not flips and not other


def main(bioinfer, device):
    good = True
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.npz")
        for name, names, options in CASES:
            good &= compare(name, run(bioinfer, device, names, options, out),
                            run(bioinfer, "cpu", names, options, out))
        alone = run(bioinfer, device, ["6MRR"], ["--num-seq", 2], out)
        company = run(bioinfer, device, ["5L33", "6MRR", "3HTN"], ["--num-seq", 2], out)
        same = all(np.array_equal(company[k], v) for k, v in alone.items())
        print(f"alone and in company: {'equal' if same else 'DIFFERENT'}, {len(alone)} arrays")
    return 0 if good and same else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
