#!/usr/bin/env python3
"""Writes scores of long proteins that ProteinGym's own program gives.

  golden_windows.py PROTEINGYM SOURCE_ROOT OUT.json

PROTEINGYM is a checkout of OATML-Markslab/ProteinGym, whose
proteingym/baselines/esm/compute_fitness.py is run as it is, on the CPU, but for the number of
tokens that a model takes at once, 1024 there, which is made smaller for models with fewer places.
OUT.json is a list of {weights, family, method, window, sequence, scores: {mutant: score}}. The file
of the tests was made at commit bb685245 of ProteinGym with fair-esm 2.0.0 and PyTorch 2.15.0:

  python3 tools/golden_windows.py ProteinGym . tests/golden/windows.json
"""
import argparse
import json
import math
import os
import random
import sys
import tempfile
import types

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "torch", "esm", "pandas")

import esm
import pandas
import torch

LETTERS = "ACDEFGHIKLMNPQRSTVWY"
# weights, family, method, residues, tokens at once
CASES = [
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "masked-marginals", 300, 130),
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "wt-marginals", 1100, 1024),
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "wt-marginals", 1600, 1024),
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "wt-marginals", 2500, 1024),
    ("esm1v/fair/esm1v_t2_tiny.pt", "esm1v", "masked-marginals", 151, 67),
    ("esm1v/fair/esm1v_t2_tiny.pt", "esm1v", "masked-marginals", 64, 66),
]


def program(root, tokens):
    """The module, with so many tokens at once."""
    def read(*path):
        with open(os.path.join(root, "proteingym", *path), encoding="utf-8") as file:
            return file.read()
    utils = {name: types.ModuleType(name) for name in (
        "utils", "utils.scoring_utils", "utils.data_utils", "utils.msa_utils", "baselines",
        "baselines.esm")}
    exec(read("utils", "scoring_utils.py"), utils["utils.scoring_utils"].__dict__)
    utils["utils.data_utils"].DMS_file_cleanup = utils["utils.msa_utils"].MSA_processing = None
    utils["baselines.esm"].esm = esm
    sys.modules.update(utils)
    module = types.ModuleType("compute_fitness")
    module.__file__ = os.path.join(root, "proteingym", "baselines", "esm", "compute_fitness.py")
    text = read("baselines", "esm", "compute_fitness.py")
    exec(text.replace("1024", str(tokens)), module.__dict__)
    return module


def main():
    root, source, out = sys.argv[1:]
    torch.set_num_threads(1)
    torch.Tensor.cuda = lambda self: self
    torch.serialization.add_safe_globals([argparse.Namespace])
    results = []
    for seed, (weights, family, method, length, tokens) in enumerate(CASES):
        rng = random.Random(seed)
        sequence = "".join(rng.choice(LETTERS) for _ in range(length))
        half = tokens // 2
        places = {0, 1, half - 2, half - 1, half, length - half, length - half + 1, length - 1}
        places |= set(rng.sample(range(length), 12))
        terms = ["%s%d%s" % (sequence[i], i + 1, rng.choice(LETTERS))
                 for i in sorted(places) if 0 <= i < length]
        mutants = terms + [":".join((terms[0], terms[-1])), ":".join(terms[2:5])]
        with tempfile.TemporaryDirectory() as folder:
            table = os.path.join(folder, "dms.csv")
            pandas.DataFrame({"mutant": mutants}).to_csv(table, index=False)
            module = program(root, tokens)
            path = os.path.join(source, "tests", "golden", weights)
            module.main(argparse.Namespace(
                dms_output=os.path.join(folder, "out"), dms_index=None, dms_input=table,
                mutation_col="mutant",
                offset_idx=1, target_seq=sequence, sequence=None, MSA_start=None, MSA_end=None,
                msa_path=None, msa_weights_folder=None, model_location=[path],
                model_type=["ESM1b"], nogpu=True, scoring_strategy=method,
                scoring_window="optimal" if method == "masked-marginals" else "overlapping",
                overwrite_prior_scores=False))
            scores = pandas.read_csv(os.path.join(folder, "out", "dms.csv"))
        column = [float(x) for x in scores[scores.columns[-1]]]
        assert not any(map(math.isnan, column))
        results.append({"weights": weights, "family": family, "method": method,
                        "window": tokens - 2, "sequence": sequence,
                        "scores": dict(zip(mutants, column))})
    with open(out, "w", encoding="ascii") as file:
        json.dump(results, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
