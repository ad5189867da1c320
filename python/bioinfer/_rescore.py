"""Poses of ligands, rated by Vina's scoring function."""
import os
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple, Union

from ._model import Lazy, OneTask, shared_context
from ._params import checked, takes
from ._results import Progress, Result, Results
from ._sources import ligands

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import RescoreKeywords

CHECKS = ("clash", "overlap", "internal", "far", "chirality")


class Rescored(Result):
    """The score of one pose, after minimisation where that was asked for, and what is wrong with
    it: `failed` has the names of checks."""

    __slots__ = ("affinity", "inter", "gauss1", "gauss2", "repulsion", "hydrophobic", "hydrogen",
                 "n_rotors", "n_pairs", "n_atoms", "before", "moved", "n_steps", "n_clashes",
                 "n_internal", "distance", "closest", "overlap", "failed")

    affinity: float
    inter: float
    gauss1: float
    gauss2: float
    repulsion: float
    hydrophobic: float
    hydrogen: float
    n_rotors: float
    n_pairs: int
    n_atoms: int
    before: float
    moved: float
    n_steps: int
    n_clashes: int
    n_internal: int
    distance: float
    closest: float
    overlap: float
    failed: Tuple[str, ...]

    def __init__(self, raw: Tuple[Any, ...]):
        super().__init__(raw)
        nan = float("nan")
        values = raw[20] or (nan,) * 8 + (0, 0, nan, nan, 0, 0, 0, nan, nan, nan, 0)
        for name, value in zip(Rescored.__slots__[:-1], values):
            setattr(self, name, value)
        self.failed = tuple(name for i, name in enumerate(CHECKS) if values[-1] >> i & 1)

    @property
    def sdf(self) -> Optional[str]:
        """The pose as it was rated, heavy atoms alone; None without `text=True`."""
        for text in self.check().texts.values():
            return text.decode("utf-8", "replace")
        return None

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update({name: getattr(self, name) for name in Rescored.__slots__})
        row["failed"] = ",".join(self.failed)
        return row


@takes("rescore")
def rescore(receptor: Union[str, "os.PathLike[str]"], poses: Any, *, threads: int = 0,
            progress: Optional[Progress] = None,
            **params: "Unpack[RescoreKeywords]") -> "Results[Rescored]":
    """Scores of poses beside a receptor (PDB or mmCIF), by the function of AutoDock Vina 1.2.7;
    with `minimize=True` each pose is moved to a minimum first.

    `poses` is the path of a file of molecules (SDF, MOL2, PDB), or an iterable of pairs (id, text).
    """
    context = shared_context(threads)
    options = checked("rescore", receptor=os.fspath(receptor), **params)
    return Results(OneTask(context, "rescore", options), "rescore", {},
                   Lazy(lambda what: ligands(context, what), poses), Rescored, True, progress,
                   1 << 28, 1 << 18)
