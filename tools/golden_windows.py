#!/usr/bin/env python3
"""Writes scores of long proteins that ProteinGym's own program gives.

  golden_windows.py PROTEINGYM SOURCE_ROOT OUT.json

PROTEINGYM is a checkout of OATML-Markslab/ProteinGym, whose
proteingym/baselines/esm/compute_fitness.py is run as it is, on the CPU, but for the number of
tokens that a model takes at once, 1024 there, which is made smaller, and with it the numbers that
hang on it: steps of 511, weights of 256, 128 and 16.
OUT.json is a list of {weights, family, method, window, sequence, scores: {mutant: score}}. The file
of the tests was made at commit bb685245 of ProteinGym with fair-esm 2.0.0 and PyTorch 2.15.0, its
windows of less than 1024 tokens that overlap with PyTorch 2.2.1:

  python3 tools/golden_windows.py ProteinGym . tests/golden/windows.json
"""
import argparse
import json
import math
import os
import random
import re
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
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "wt-marginals", 61, 11),
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "wt-marginals", 97, 40),
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "wt-marginals", 118, 64),
    ("esm2/fair-d16/esm2_t2_tiny.pt", "esm2", "wt-marginals", 250, 127),
]


def scaled(text, tokens):
    """The program with so many tokens at once: the numbers of its windows, which all follow from
    1024, and stand nowhere else in the loop that averages windows."""
    half, quarter = tokens // 2, tokens // 4
    numbers = {"1024": tokens, "1023": tokens - 1, "1022": tokens - 2, "512": half,
               "511": half - 1, "257": quarter + 1, "256": quarter, "128": tokens / 8,
               "16": tokens / 64}
    begin = text.index('if args.scoring_strategy == "wt-marginals"')
    end = text.index('elif args.scoring_strategy == "masked-marginals"')
    loop = re.sub(r"\b(%s)\b" % "|".join(numbers), lambda m: str(numbers[m[0]]), text[begin:end])
    return (text[:begin] + loop + text[end:]).replace("1024", str(tokens))


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
    exec(scaled(text, tokens), module.__dict__)
    return module


def main():
    root, source, out = sys.argv[1:]
    torch.set_num_threads(1)
    torch.Tensor.cuda = lambda self: self
    if hasattr(torch.serialization, "add_safe_globals"):  # from PyTorch 2.4 on
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
