"""A calculator of ASE over a model of energies: `from bioinfer.ase import Calculator`.

The rest of the package does not need ASE; this module does.
"""
import copy
import os
from typing import Any, Dict, List, Optional, Union

from ase.calculators import calculator
from ase.calculators.calculator import all_changes

from ._atoms import voigt
from ._errors import BadFormat, Status
from ._model import Model, open_model


class Calculator(calculator.Calculator):
    """Energy in eV, forces in eV/angstrom, stress of a periodic cell in eV/angstrom^3.

    `model` is a Model, or what `bioinfer.open()` takes, with its options. The charge is that of
    `atoms.info["charge"]`, and `charge` where that is not set.

    Copies, by `copy.copy()`, `copy.deepcopy()` or ASE, share the model; `close()` of a copy leaves
    it open. A pickled calculator opens the weights anew where it is unpickled, with the options of
    this model, and raises BadFormat where they are not the same weights.
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
        changes: List[str] = super().check_state(atoms, tol)
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

    def _copied(self, state: Dict[str, Any]) -> "Calculator":
        made = type(self).__new__(type(self))
        made.__dict__.update(state, _own=False)
        return made

    def __copy__(self) -> "Calculator":
        return self._copied(self.__dict__)

    def __deepcopy__(self, memo: Any) -> "Calculator":
        return self._copied(copy.deepcopy(self.__dict__, memo))

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__)
        state["model"] = self.model._opened_by, self.model.fingerprint()[:32]
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        how, weights = state["model"]
        model = open_model(**how)
        found = model.fingerprint()[:32]
        if found != weights:
            model.close()
            raise BadFormat(f"{how['weights']}: fingerprint of the weights: expected that of the "
                            f"pickled calculator, {weights}, got {found}",
                            Status.MISMATCH)
        self.__dict__.update(state, model=model, _own=True)

    def close(self) -> None:
        """Closes a model that was opened here."""
        if self._own:
            self.model.close()
