#!/usr/bin/env python3
"""Writes what AntiBERTy's own program gives of two antibodies: embeddings and log-likelihoods.

  golden_antiberty.py OUT.json

The package antiberty of PyPI holds the program and its trained weights (MIT). OUT.json has, for
each sequence: sequence, mean (of AntiBERTyRunner.embed() over the residues), first (the row of the
first residue) and pll (of pseudo_log_likelihood(), a mean over the residues, for which special
tokens are left out of the softmax). The file of the tests was made with antiberty 0.1.3,
transformers 4.46.3 and PyTorch 2.15.0:

  python3 tools/golden_antiberty.py tests/golden/antiberty.json
"""
import json
import sys

from usage import usage

if __name__ == "__main__":
    usage(__doc__, "torch", "transformers", "antiberty")

from antiberty import AntiBERTyRunner

SEQUENCES = {
    "heavy": "EVQLVESGGGLVQPGGSLRLSCAASGFTFSSYAMSWVRQAPGKGLEWVSAISGSGGSTYYADSVKGRFTISRDNSKNTLYLQMN"
             "SLRAEDTAVYYCAK",
    "light": "DIQMTQSPSSLSASVGDRVTITCRASQSISSYLNWYQQKPGKAPKLLIYAASSLQSGVPSRFSGSGSGTDFTLTISSLQPEDFAT"
             "YYCQQSYSTP",
}


def rounded(row):
    return [float("%.7g" % x) for x in row]


def main():
    runner = AntiBERTyRunner()
    golden = {}
    for name, sequence in SEQUENCES.items():
        rows = runner.embed([sequence])[0][1:-1]
        golden[name] = {
            "sequence": sequence,
            "mean": rounded(rows.mean(0).tolist()),
            "first": rounded(rows[0].tolist()),
            "pll": float(runner.pseudo_log_likelihood([sequence], batch_size=16)[0]),
        }
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump(golden, file, indent=0)
        file.write("\n")


if __name__ == "__main__":
    main()
