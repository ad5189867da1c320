#!/usr/bin/env python3
"""bioinfer as a calculator of ASE, through ctypes and the shared library.

    python3 ase_calculator.py libbioinfer.so WEIGHTS frame.xyz

relaxes the frame with ASE's optimizer, and prints energy and largest force of each step. In a
program of your own:

    atoms.calc = Bioinfer("libbioinfer.so", "TensorNet-MatPES-PBE-v2025.1-PES")

The structs repeat bioinfer.h. The first field of a parameter struct is its size; zero in any other
field means "default".
"""
import ctypes as c
import sys

import numpy as np
from ase.calculators.calculator import Calculator, all_changes
from ase.stress import full_3x3_to_voigt_6_stress


class Error(c.Structure):
    _fields_ = [("status", c.c_int), ("text", c.c_char * 1020)]


class Atoms(c.Structure):
    _fields_ = [("n", c.c_size_t), ("numbers", c.POINTER(c.c_int32)),
                ("positions", c.POINTER(c.c_double)), ("cell", c.POINTER(c.c_double)),
                ("periodic", c.c_int * 3), ("charge", c.c_double), ("has_charge", c.c_int)]


class Record(c.Structure):
    _fields_ = [("id", c.c_char_p), ("description", c.c_char_p), ("sequence", c.c_char_p),
                ("length", c.c_size_t), ("ordinal", c.c_uint64), ("status", c.c_int),
                ("message", c.c_char_p), ("positions", c.c_void_p), ("n_positions", c.c_size_t),
                ("changes", c.c_void_p), ("n_changes", c.c_size_t), ("skip", c.c_int),
                ("target", c.c_char_p), ("target_length", c.c_size_t), ("receptor", c.c_char_p),
                ("file", c.c_char_p), ("number", c.c_uint64), ("line", c.c_uint64),
                ("atoms", c.POINTER(Atoms))]


class Energy(c.Structure):
    _fields_ = [("energy", c.c_double), ("network", c.c_double), ("n_atoms", c.c_size_t),
                ("largest", c.c_double), ("forces", c.POINTER(c.c_double)),
                ("stress", c.POINTER(c.c_double)), ("atoms", c.POINTER(Atoms))]


class Result(c.Structure):
    _fields_ = [("ordinal", c.c_uint64), ("id", c.c_char_p), ("length", c.c_int64),
                ("status", c.c_int), ("message", c.c_char_p), ("n_arrays", c.c_int),
                ("arrays", c.c_void_p), ("n_layers_kept", c.c_int), ("n_kinds", c.c_int),
                ("description", c.c_char_p), ("labels", c.c_char_p), ("piece", c.c_uint32),
                ("more", c.c_int), ("n_texts", c.c_int), ("texts", c.c_void_p),
                ("sequence", c.c_char_p), ("changed", c.c_void_p), ("design", c.c_void_p),
                ("alignment", c.c_void_p), ("affinity", c.c_void_p), ("energy", c.POINTER(Energy))]


class ModelParams(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("family", c.c_char_p), ("device", c.c_char_p)]


SINK = c.CFUNCTYPE(c.c_int, c.c_void_p, c.POINTER(Result), c.POINTER(Error))


def pointer(array, kind):
    return array.ctypes.data_as(c.POINTER(kind))


class Bioinfer(Calculator):
    """Energy in eV, forces in eV/angstrom, stress of a cell in eV/angstrom^3."""

    implemented_properties = ["energy", "free_energy", "forces", "stress"]

    def __init__(self, library, weights, charge=None, device=None, **more):
        super().__init__(**more)
        self.lib, self.charge = c.CDLL(library), charge
        self.context, self.model, self.task = c.c_void_p(), c.c_void_p(), c.c_void_p()
        self.err = Error()
        params = ModelParams(c.sizeof(ModelParams), None, device.encode() if device else None)
        try:
            self._call("bioinfer_context_new", c.byref(self.context), None)
            self._call("bioinfer_model_open", c.byref(self.model), self.context, weights.encode(),
                       c.byref(params))
            self._call("bioinfer_energy_open", c.byref(self.task), self.model, None)
        except Exception:
            self.close()
            raise

    def _call(self, name, *args):
        if getattr(self.lib, name)(*args, c.byref(self.err)):
            raise RuntimeError(self.err.text.decode(errors="replace"))

    def calculate(self, atoms=None, properties=("energy",), system_changes=all_changes):
        super().calculate(atoms, properties, system_changes)
        numbers = np.ascontiguousarray(self.atoms.numbers, np.int32)
        positions = np.ascontiguousarray(self.atoms.positions, np.float64)
        cell = np.ascontiguousarray(self.atoms.cell.array, np.float64)
        given = Atoms(len(numbers), pointer(numbers, c.c_int32), pointer(positions, c.c_double),
                      pointer(cell, c.c_double), (c.c_int * 3)(*map(int, self.atoms.pbc)),
                      self.charge or 0, self.charge is not None)
        record = Record(id=b"atoms", description=b"", sequence=b"", message=b"",
                        atoms=c.pointer(given))
        results, said = {}, []

        @SINK
        def take(user, result, err):
            r = result.contents
            if r.status:
                said.append(r.message.decode(errors="replace"))
                return 0
            e = r.energy.contents  # the arrays are valid during the callback only: copy them
            results["energy"] = results["free_energy"] = e.energy
            results["forces"] = np.ctypeslib.as_array(e.forces, (e.n_atoms, 3)).copy()
            if e.stress:
                full = np.ctypeslib.as_array(e.stress, (3, 3))
                results["stress"] = full_3x3_to_voigt_6_stress((full + full.T) / 2)
            return 0

        self._call("bioinfer_task_compute", self.task, c.byref(record), c.c_size_t(1), take, None)
        if said:
            raise RuntimeError(said[0])
        self.results = results

    def close(self):
        self.lib.bioinfer_task_close(c.byref(self.task))
        self.lib.bioinfer_model_close(c.byref(self.model))
        self.lib.bioinfer_context_free(c.byref(self.context))


def main(library, weights, path):
    import ase.io
    from ase.optimize import FIRE

    atoms = ase.io.read(path)
    atoms.calc = Bioinfer(library, weights, charge=atoms.info.get("charge"))
    FIRE(atoms).run(fmax=0.05, steps=100)
    print("energy", atoms.get_potential_energy(), "eV")
    atoms.calc.close()


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
