#!/usr/bin/env python3
"""bioinfer as a calculator of ASE.

    python3 ase_calculator.py WEIGHTS frame.xyz

relaxes the frame with ASE's optimizer and prints energy and largest force of each step. Needs ASE
and the Python package bioinfer (docs/python.md). In a program of your own:

    atoms.calc = Calculator("TensorNet-MatPES-PBE-v2025.1-PES")
"""
import sys

import ase.io
from ase.optimize import FIRE

from bioinfer.ase import Calculator


def main(weights, path):
    atoms = ase.io.read(path)
    calculator = Calculator(weights)
    atoms.calc = calculator
    FIRE(atoms).run(fmax=0.05, steps=100)
    print("energy", atoms.get_potential_energy(), "eV")
    calculator.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
