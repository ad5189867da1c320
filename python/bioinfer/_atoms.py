"""Atoms in their places: what users have, as records, and results of energy, relax and md."""
import collections.abc
import copy
import os
import tempfile
from typing import Any, Callable, Dict, Iterator, Optional, Tuple, Union

import numpy as np

from . import _core
from ._errors import InvalidArgument, Status
from ._results import F64, I32, Key, Result, Results

NAMES = ("numbers", "positions", "cell", "pbc", "charge", "id", "momenta", "fixed")


def _refuse(what: str) -> InvalidArgument:
    return InvalidArgument(f"atoms: {what}", Status.INVALID_ARGUMENT)


def _reals(name: str, values: Any, shape: Tuple[int, ...]) -> "np.ndarray":
    if np.ma.isMaskedArray(values) or np.iscomplexobj(values):
        raise _refuse(f"{name}: expected real numbers, got an array that is "
                      f"{'complex' if np.iscomplexobj(values) else 'masked'}")
    array = np.ascontiguousarray(values, F64)
    if array.shape != shape:
        raise _refuse(f"{name}: shape {list(array.shape)}, expected {list(shape)}")
    return array


def _held(fixed: Any, n: int) -> Optional[bytes]:
    """Which components of places are fixed, as the library has it."""
    mask = np.asarray(fixed)
    if mask.dtype.kind != "b" or mask.shape not in ((n,), (n, 3)):
        raise _refuse(f"fixed: {list(mask.shape)} of {mask.dtype}, expected [{n}] or [{n}, 3] of "
                      "bool")
    bits = (mask if mask.ndim == 2 else np.repeat(mask[:, None], 3, 1)) @ np.array([1, 2, 4])
    return bits.astype(np.uint8).tobytes() if mask.any() else None


def _packed(numbers: Any, positions: Any, cell: Any, pbc: Any, charge: Any, momenta: Any = None,
            fixed: Any = None) -> Tuple[Any, ...]:
    """Atoms as the extension module takes them."""
    kinds = np.asarray(numbers)
    if kinds.ndim != 1 or (kinds.size and kinds.dtype.kind not in "iu"):
        raise _refuse(f"numbers: {kinds.ndim} dimensions of {kinds.dtype}, expected one of "
                      "integers")
    if kinds.size and not (0 <= int(kinds.min()) and int(kinds.max()) < 1 << 15):
        raise _refuse("numbers: expected atomic numbers of elements")
    places = _reals("positions", np.reshape(positions, (0, 3)) if not kinds.size else positions,
                    (kinds.size, 3))
    vectors = None
    if cell is not None:
        vectors = _reals("cell", np.diag(cell) if np.shape(cell) == (3,) else cell, (3, 3))
        vectors = vectors if vectors.any() else None
    periodic = np.asarray(False if pbc is None else pbc)
    if periodic.dtype.kind not in "biu" or periodic.shape not in ((), (1,), (3,)):
        raise _refuse(f"pbc: {pbc!r}, expected True, False, or three of these")
    periodic = np.broadcast_to(periodic.astype(bool), (3,))
    return (kinds.astype(I32).tobytes(), places.tobytes(),
            None if vectors is None else vectors.tobytes(),
            sum(int(on) << k for k, on in enumerate(periodic)),
            None if charge is None else float(charge),
            None if momenta is None else _reals("momenta", momenta, (kinds.size, 3)).tobytes(),
            None if fixed is None else _held(fixed, kinds.size))


def is_atoms(value: Any) -> bool:
    """One frame: an Atoms of ASE or what looks like it, or a dict of arrays."""
    if isinstance(value, collections.abc.Mapping):
        return "positions" in value
    return hasattr(value, "numbers") and hasattr(value, "positions")


def packed_atoms(value: Any, moves: bool = False) -> Tuple[Any, ...]:
    """Atoms of ASE, or a dict of arrays, as the extension module takes them; momenta and what is
    fixed where they move."""
    if isinstance(value, collections.abc.Mapping):
        strange = [name for name in value if name not in NAMES]
        if strange:
            raise _refuse(f"no array is called '{strange[0]}'; there are {', '.join(NAMES)}")
        if "numbers" not in value:
            raise _refuse("a dict without 'numbers'")
        return _packed(value["numbers"], value["positions"], value.get("cell"), value.get("pbc"),
                       value.get("charge"), *(value.get(name) if moves else None
                                              for name in ("momenta", "fixed")))
    cell = getattr(value, "cell", None)
    return _packed(value.numbers, value.positions, getattr(cell, "array", cell),
                   getattr(value, "pbc", None), getattr(value, "info", {}).get("charge"),
                   getattr(value, "arrays", {}).get("momenta") if moves else None,
                   _constrained(value) if moves else None)


def _constrained(value: Any) -> Optional["np.ndarray"]:
    """Components that constraints of ASE fix: FixAtoms, and FixCartesian."""
    constraints = getattr(value, "constraints", None) or ()
    if not constraints:
        return None
    fixed = np.zeros((len(value.numbers), 3), bool)
    for constraint in constraints:
        name = type(constraint).__name__
        if name not in ("FixAtoms", "FixCartesian"):
            raise _refuse(f"constraint {name}: FixAtoms and FixCartesian alone are known")
        fixed[constraint.get_indices()] |= np.asarray(getattr(constraint, "mask", True), bool)
    return fixed


def _record(name: str, value: Any, moves: bool) -> Tuple[str, bytes, Dict[str, Any]]:
    if not is_atoms(value):
        raise TypeError("a frame is an Atoms of ASE, a dict of arrays, or a path, not "
                        f"{type(value).__name__}")
    if isinstance(value, collections.abc.Mapping):
        name = str(value.get("id", name))
    return name, b"", {"atoms": packed_atoms(value, moves)}


def _file(context: "_core.Context", path: Union[str, "os.PathLike[str]"],
          moves: bool) -> Iterator[Any]:
    reader = _core.Frames(context, os.fspath(path), moves)
    record = reader.next()
    while record is not None:
        yield record
        record = reader.next()


def frames(context: "_core.Context", source: Any, moves: bool = False) -> Iterator[Any]:
    """Records of one frame, of a path, or of an iterable of frames, paths and pairs (id, frame)."""
    if isinstance(source, (str, os.PathLike)):
        yield from _file(context, source, moves)
        return
    if is_atoms(source):
        yield _record("0", source, moves)
        return
    items: Any = source.items() if isinstance(source, collections.abc.Mapping) else source
    ordinal = 0
    for item in items:
        if isinstance(item, (str, os.PathLike)):
            for record in _file(context, item, moves):
                yield record
                ordinal += 1
            continue
        name, value = item if isinstance(item, tuple) else (str(ordinal), item)
        yield _record(str(name), value, moves)
        ordinal += 1


class Energy(Result):
    """Energy of a frame in eV, forces in eV/angstrom, stress of its cell in eV/angstrom^3.

    `energy` has the references of the elements in it, `network` has not; `largest` is the length
    of the largest force. `forces` is [N, 3] and `stress`, the derivative of the energy by the
    strain over the volume, is [3, 3]; each is None where it was not asked for, and `stress` also
    where no axis is periodic. Both are arrays of the result by these names, too. Numbers are
    float64. `numbers`, `positions`, `cell`, `pbc` and `charge` are those of the frame.
    """

    __slots__ = ("energy", "network", "largest", "forces", "stress", "numbers", "positions",
                 "cell", "pbc", "charge")

    energy: float
    network: float
    largest: float
    # None where not asked for, which type checkers need not be told at each use
    forces: Union["np.ndarray", Any]
    stress: Union["np.ndarray", Any]
    numbers: "np.ndarray"
    positions: "np.ndarray"
    cell: Optional["np.ndarray"]
    pbc: "np.ndarray"
    charge: Optional[float]

    def __init__(self, raw: Tuple[Any, ...], want: Tuple[bool, bool]):
        super().__init__(raw)
        nan = float("nan")
        self.energy, self.network, self.largest, forces, stress, atoms = raw[17] or (
            nan, nan, nan, None, None, (b"", b"", None, 0, None, None, None))
        numbers, positions, cell, periodic, self.charge, _, _ = atoms
        self.numbers = np.frombuffer(numbers, I32)
        self.positions = np.frombuffer(positions, F64).reshape(-1, 3)
        self.cell = None if cell is None else np.frombuffer(cell, F64).reshape(3, 3)
        self.pbc = np.array([bool(periodic >> k & 1) for k in range(3)])
        self.forces = self.stress = None
        found: Dict[Key, "np.ndarray"] = {}
        self.arrays = found
        if want[0] and forces is not None:
            self.forces = found["forces"] = np.frombuffer(forces, F64).reshape(-1, 3)
        else:
            self.largest = nan
        if want[1] and stress is not None:
            self.stress = found["stress"] = np.frombuffer(stress, F64).reshape(3, 3)

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update(energy=self.energy, network=self.network, largest=self.largest)
        return row

    def to_ase(self) -> Any:
        """The frame as ase.Atoms, whose calculator has these numbers."""
        from ase import Atoms
        from ase.calculators.singlepoint import SinglePointCalculator
        self.check()
        atoms = Atoms(self.numbers, self.positions, cell=self.cell, pbc=self.pbc)
        if self.charge is not None:
            atoms.info["charge"] = self.charge
        stress = self.stress
        atoms.calc = SinglePointCalculator(
            atoms, energy=self.energy, forces=self.forces,
            stress=None if stress is None else voigt(stress))
        return atoms


class Relaxed(Energy):
    """A frame at a minimum of its energy, or where the steps ended: `converged` says which.

    It has the numbers of Energy at the last places, with forces and, of periodic frames, stress.
    `steps` were made, and `largest` is the largest force on what is not fixed. `text` is the frame
    as an extended XYZ, as the command writes it.
    """

    __slots__ = ("converged", "steps")

    converged: bool
    steps: int

    def __init__(self, raw: Tuple[Any, ...]):
        super().__init__(raw, (True, True))
        self.converged, self.steps, _, self.largest = raw[21] or (False, 0, 0, self.largest)

    @property
    def text(self) -> str:
        return self.check().texts["extxyz"].decode()

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update(converged=self.converged, steps=self.steps)
        return row


class Moved(Energy):
    """Where a molecular dynamics ended: numbers of Energy at the last places, with forces and
    `momenta` [N, 3] in ASE's units.

    `steps` were made in all, which are `time` femtoseconds; `kinetic` is in eV and `temperature`
    in kelvin.
    """

    __slots__ = ("steps", "time", "kinetic", "temperature", "momenta")

    steps: int
    time: float
    kinetic: float
    temperature: float
    momenta: Union["np.ndarray", Any]  # None in a failed record

    def __init__(self, raw: Tuple[Any, ...]):
        super().__init__(raw, (True, True))
        nan = float("nan")
        self.steps, self.time, _, self.kinetic, self.temperature = raw[22] or (
            0, nan, nan, nan, nan)
        momenta = raw[17][5][5] if raw[17] else None
        self.momenta = None if momenta is None else np.frombuffer(momenta, F64).reshape(-1, 3)

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update({name: getattr(self, name) for name in Moved.__slots__[:-1]})
        return row

    def to_ase(self) -> Any:
        """As of Energy, with the momenta."""
        atoms = super().to_ase()
        atoms.arrays["momenta"] = self.momenta.copy()
        return atoms


class Dynamics(Results[Moved]):
    """Results of a molecular dynamics whose trajectories nobody asked for: each iteration keeps
    them in a folder of its own, which is gone at its end."""

    def _computed(self, report: Optional[Callable[[int, int], Any]],
                  writer: Optional["_core.Writer"]) -> Iterator[Moved]:
        with tempfile.TemporaryDirectory(prefix="bioinfer-md-") as folder:
            run = copy.copy(self)
            run._params = dict(self._params, trajectory=folder, folder=True)
            yield from Results._computed(run, report, writer)


def voigt(stress: "np.ndarray") -> "np.ndarray":
    """xx, yy, zz, yz, xz, xy of the symmetric part, as ASE orders them."""
    even = (stress + stress.T) / 2
    return np.array([even[0, 0], even[1, 1], even[2, 2], even[1, 2], even[0, 2], even[0, 1]])
