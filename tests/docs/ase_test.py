#!/usr/bin/env python3
"""ase_test.py FOLDER BIOINFER SOURCE_ROOT - the calculator of ASE, and frames that ASE reads.

Exit 77 where ASE is not installed (PyPI: ase).
"""
import os
import subprocess
import sys
import tempfile

try:
    import ase.io
    import numpy as np
    from ase import Atoms, units
    from ase.md.verlet import VelocityVerlet
    from ase.optimize import FIRE
    from ase.stress import voigt_6_to_full_3x3_stress
except ImportError as error:
    print("skipped:", error)
    sys.exit(77)

FOLDER, EXE, ROOT = map(os.path.abspath, sys.argv[1:4])
sys.path.insert(0, FOLDER)
sys.dont_write_bytecode = True
import bioinfer  # noqa: E402
from bioinfer.ase import Calculator  # noqa: E402


def run(*args):
    subprocess.run([EXE, *args], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def water():
    return Atoms("OH2OH2", [[0, 0, 0.12], [0, 0.76, -0.48], [0, -0.76, -0.48], [2.8, 0, 0.3],
                            [3.4, 0.7, 0.1], [3.3, -0.8, 0]])


def crystal():
    return Atoms("CO", [[0, 0, 0], [1.1, 0.9, 1.2]], pbc=True,
                 cell=[[0.1, 1.9, 2.0], [2.1, 0.0, 1.9], [1.9, 2.1, 0.1]])


def check_derivatives(atoms):
    """Forces and stress are the derivatives of the energy by places and by the strain."""
    step, forces = 1e-3, atoms.get_forces()
    for i in (0, len(atoms) - 1):
        for k in range(3):
            energies = []
            for sign in (1, -1):
                moved = atoms.copy()
                moved.positions[i, k] += sign * step
                moved.calc = atoms.calc
                energies.append(moved.get_potential_energy())
            assert abs((energies[1] - energies[0]) / (2 * step) - forces[i, k]) < 2e-3
    if not atoms.pbc.all():
        return
    stress = atoms.get_stress(voigt=False)
    for i, k in ((0, 0), (1, 2)):
        energies = []
        for sign in (1, -1):
            strain = np.eye(3)
            strain[i, k] += sign * step / 2
            strain[k, i] += sign * step / 2
            moved = atoms.copy()
            moved.set_cell(atoms.cell.array @ strain, scale_atoms=True)
            moved.calc = atoms.calc
            energies.append(moved.get_potential_energy())
        slope = (energies[0] - energies[1]) / (2 * step) / atoms.get_volume()
        assert abs(slope - stress[i, k]) < 2e-3, (slope, stress)


def main():
    tool = os.path.join(ROOT, "tools", "tensornet_weights.py")
    subprocess.run([sys.executable, tool, "model"], check=True)
    calculator = Calculator("model", device="cpu")
    for name, atoms in (("water", water()), ("crystal", crystal())):
        atoms.calc = calculator
        check_derivatives(atoms)
        # the command writes the numbers that the calculator gives
        ase.io.write(name + ".extxyz", atoms.copy(), format="extxyz")
        run("tensornet", name + ".extxyz", "--weights", "model", "-o", "out.extxyz")
        read = ase.io.read("out.extxyz")
        assert (read.pbc == atoms.pbc).all() and np.allclose(read.cell, atoms.cell)
        assert abs(read.get_potential_energy() - atoms.get_potential_energy()) < 1e-6
        assert np.abs(read.get_forces() - atoms.get_forces()).max() < 1e-5
        if atoms.pbc.all():
            assert np.abs(read.get_stress() - atoms.get_stress()).max() < 1e-5
            assert np.allclose(voigt_6_to_full_3x3_stress(read.get_stress()),
                               atoms.get_stress(voigt=False), atol=1e-5)
    # a trajectory has the momenta that ASE goes on from, to the step of the command
    run("md", "water.extxyz", "--weights", "model", "--thermostat", "nve", "--steps", "20",
        "--every", "10", "--dt", "0.5", "-o", "t.extxyz")
    first, middle, last = ase.io.read("t.extxyz", index=":")
    assert abs(first.get_temperature() - first.info["temperature"]) < 0.1
    middle.calc = calculator
    VelocityVerlet(middle, 0.5 * units.fs).run(10)
    assert np.abs(middle.positions - last.positions).max() < 1e-6
    assert np.abs(middle.get_momenta() - last.get_momenta()).max() < 1e-5
    # both come to a minimum
    atoms = water()
    atoms.calc = calculator
    assert FIRE(atoms, logfile=None).run(fmax=0.05, steps=500)
    run("relax", "water.extxyz", "--weights", "model", "--fmax", "0.05", "-o", "r.extxyz")
    relaxed = ase.io.read("r.extxyz")
    assert relaxed.info["relaxed"] and np.linalg.norm(relaxed.get_forces(), axis=1).max() < 0.051
    assert abs(relaxed.get_potential_energy() - atoms.get_potential_energy()) < 0.1
    # an element that the model lacks is named
    atoms = Atoms("Au", calculator=calculator)
    try:
        atoms.get_potential_energy()
        raise AssertionError("gold has an energy")
    except bioinfer.RecordError as error:
        assert "Au" in str(error), error
    calculator.close()
    # the example tells the energy that the command comes to
    example = os.path.join(ROOT, "examples", "ase_calculator.py")
    done = subprocess.run([sys.executable, example, "model", "water.extxyz"], check=True,
                          stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, PYTHONPATH=FOLDER))
    last = done.stdout.splitlines()[-1].split()
    assert last[0] == "energy" and last[2] == "eV", last
    assert abs(float(last[1]) - relaxed.get_potential_energy()) < 0.1


with tempfile.TemporaryDirectory(prefix="bioinfer-ase-") as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
print("ok")
