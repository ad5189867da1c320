"""A calculator of ASE over a model of energies: `from bioinfer.ase import Calculator`.

The rest of the package does not need ASE; this module does.
"""
import os
from typing import Any, List, Optional, Union

from ase.calculators import calculator
from ase.calculators.calculator import all_changes

from ._atoms import voigt
from ._model import Model, open_model


class Calculator(calculator.Calculator):
    """Energy in eV, forces in eV/angstrom, stress of a periodic cell in eV/angstrom^3.

    `model` is a Model, or what `bioinfer.open()` takes, with its options. The charge is that of
    `atoms.info["charge"]`, and `charge` where that is not set.
    """

    implemented_properties = ["energy", "free_energy", "forces", "stress"]

    def __init__(self, model: Union[Model, str, "os.PathLike[str]"], *,
                 charge: Optional[float] = None, **options: Any):
        super().__init__()
        if isinstance(model, Model):
            if options:
                raise TypeError(f"'{next(iter(options))}' is an option of a model that is opened "
                                "here")
            self.model, self._own = model, False
        else:
            self.model, self._own = open_model(model, **options), True
        self.charge = charge

    def check_state(self, atoms: Any, tol: float = 1e-15) -> List[str]:
        changes = super().check_state(atoms, tol)
        if self.atoms is not None and atoms.info.get("charge") != self.atoms.info.get("charge"):
            changes.append("info")
        return changes

    def calculate(self, atoms: Any = None, properties: Any = ("energy",),
                  system_changes: Any = all_changes) -> None:
        """Computes energy, forces and stress in one pass; raises bioinfer.RecordError or another
        bioinfer.Error where they cannot be."""
        super().calculate(atoms, properties, system_changes)
        result = self.model.energy(self.atoms, stress=True, charge=self.charge).one()
        result.check()
        self.results = {"energy": result.energy, "free_energy": result.energy,
                        "forces": result.forces}
        if result.stress is not None:
            self.results["stress"] = voigt(result.stress)

    def close(self) -> None:
        """Closes a model that was opened here."""
        if self._own:
            self.model.close()
