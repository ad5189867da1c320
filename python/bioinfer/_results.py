"""Results: what a task gives for each record, and ways to keep many of them."""
import collections
import copy
import os
import time
from typing import (Any, Callable, Counter, Dict, Generic, Iterator, List, Mapping, Optional,
                    Tuple, TypeVar, Union)

import numpy as np

from . import _core, _provenance
from ._errors import InvalidArgument, NoArray, Status, Unsupported, error_of
from ._params import paths
from ._show import Bar, length_of, number, shapes, table
from ._sources import LETTERS_PAIRS, Pace, Sequences, blocks, size_of

F32 = np.dtype(np.float32)
F64 = np.dtype(np.float64)
I32 = np.dtype(np.int32)
CODES = np.frombuffer(b"ACDEFGHIKLMNPQRSTVWYX", dtype="S1")
Key = Union[str, Tuple[str, int]]
Progress = Union[Callable[[int, int], Any], bool]


def array_of(values: Any, shape: Tuple[int, ...], dtype: "np.dtype" = F32) -> "np.ndarray":
    """The array over memory that the library filled; nothing is copied."""
    return np.frombuffer(values, dtype).reshape(shape)


class Result(Mapping[Key, "np.ndarray"]):
    """The result of a task for one record: a mapping of names to arrays.

    The names are kinds ("mean"), or pairs (kind, layer) where several layers were asked for. A
    record that has no result has a `status` other than OK and a `message`; asking it for an array
    raises RecordError. Attributes that are arrays raise NoArray, which is also an AttributeError,
    where they are none.
    """

    __slots__ = ("ordinal", "id", "length", "status", "message", "description", "labels", "arrays",
                 "texts", "sequence", "_raw", "__weakref__")

    ordinal: int
    id: str
    length: int
    status: Status
    message: str
    description: Optional[str]
    labels: Optional[str]
    texts: Dict[str, bytes]
    sequence: Optional[str]

    def __init__(self, raw: Tuple[Any, ...]):
        (self.ordinal, self.id, self.length, status, self.message, self.description,
         self.labels, _, _, arrays, self.texts, self.sequence, _, _, n_layers, *_) = raw
        self._raw = raw
        found: Dict[Key, "np.ndarray"] = {}
        for kind, layer, values, shape in arrays:
            key = kind if n_layers <= 1 or layer is None else (kind, layer)
            found[key] = np.frombuffer(values, F32).reshape(shape)
        self.arrays: Mapping[Key, "np.ndarray"] = found
        self.status = Status(status) if status else Status.OK

    @property
    def ok(self) -> bool:
        return not self.status

    def check(self) -> "Result":
        """The result itself; raises RecordError where the record has none."""
        if self.status:
            raise error_of(self.status, self._words())
        return self

    def __getitem__(self, key: Key) -> "np.ndarray":
        self.check()
        return self.arrays[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.arrays)

    def __len__(self) -> int:
        return len(self.arrays)

    @property
    def array(self) -> "np.ndarray":
        """The one array of the result; raises NoArray where there is none, or several."""
        self._computed()
        if len(self.arrays) != 1:
            raise NoArray(f"record '{self.id}' has {len(self.arrays)} arrays: "
                          f"{', '.join(map(str, self.arrays))}", Status.INVALID_ARGUMENT)
        return next(iter(self.arrays.values()))

    def _computed(self) -> None:
        if self.status:
            raise NoArray(self._words(), self.status)

    def _words(self) -> str:
        """The message, which may begin with the record already."""
        named = f"record '{self.id}': "
        return self.message if self.message.startswith(named) else named + self.message

    def _named(self, key: Key) -> "np.ndarray":
        """The array that an attribute is."""
        self._computed()
        if key not in self.arrays:
            raise NoArray(f"record '{self.id}' has no array {key!r}, but {list(self.arrays)}",
                          Status.NOT_FOUND)
        return self.arrays[key]

    # a result is itself alone, whatever its arrays
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __array__(self, dtype: Any = None, copy: Any = None) -> "np.ndarray":
        array = self.array
        other = dtype is not None and dtype != array.dtype
        if other and copy is False:
            raise ValueError(f"an array of {np.dtype(dtype)} is a copy of this, of {array.dtype}")
        return array.astype(dtype) if other else array.copy() if copy else array

    def __repr__(self) -> str:
        what = (f"status={Status(self.status).name}" if self.status else
                ", ".join(f"{key}: {'x'.join(map(str, a.shape))}"
                          for key, a in self.arrays.items()))
        return f"<{type(self).__name__} {self.id!r}, length {self.length}, {what}>"

    def _repr_html_(self) -> str:
        facts = [f"{name} {number(value)}" for name, value in self.row().items()
                 if name != "id" and value not in ("", None)]
        return table(f"{type(self).__name__} {self.id}", ("array", "shape", "type"),
                     shapes(self.arrays), ", ".join(facts))

    def row(self) -> Dict[str, Any]:
        """Scalars of the record, for a table."""
        return {"id": self.id, "length": self.length,
                "status": Status(self.status).name.lower(),
                "message": self.message}


class Embedding(Result):
    """Arrays of one sequence."""

    __slots__ = ()

    def row(self) -> Dict[str, Any]:
        row = super().row()
        if self.labels is not None:
            row["labels"] = self.labels
        return row


class Score(Result):
    """log p over the vocabulary at every position of one sequence: `log_probs`, [length, V]."""

    __slots__ = ("_model", "_own")

    def __init__(self, raw: Tuple[Any, ...], model: Any):
        super().__init__(raw)
        self._model = model
        self._own: Optional["np.ndarray"] = None

    @property
    def log_probs(self) -> "np.ndarray":
        return self._named("log-probs")

    @property
    def own(self) -> "np.ndarray":
        """log p of the record's own residue at each position, [length]."""
        if self._own is None:
            self._computed()
            ids = self._model._token_ids(self.sequence)
            self._own = self.log_probs[np.arange(len(ids)), ids]
        return self._own

    @property
    def pseudo_log_likelihood(self) -> float:
        return float(self.own.sum(dtype=np.float64))

    @property
    def pseudo_perplexity(self) -> float:
        return float(np.exp(-self.own.mean(dtype=np.float64)))

    def mutation(self, mutation: str, offset: int = 1) -> float:
        """log p(mutant) - log p(wild type), summed over terms: "A12G", "A12G:K15R"."""
        self.check()
        score: float = self._model._handle.mutation_score(
            self.id, self.sequence, self._raw[9][0][2], mutation, offset)
        return score

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row["pseudo_log_likelihood"] = self.pseudo_log_likelihood if self.ok else float("nan")
        row["pseudo_perplexity"] = self.pseudo_perplexity if self.ok else float("nan")
        return row


class Tracks(Result):
    """Tracks of one window of DNA: `tracks`, [bins, tracks]; of several outputs, an array of each
    by its name."""

    __slots__ = ()

    @property
    def tracks(self) -> "np.ndarray":
        return self._named("tracks")

    @property
    def changed(self) -> List[Any]:
        """Tracks of the windows that its changes make, in their order, of several outputs a dict
        of them; None: not finite."""
        self._computed()
        if self._raw[12] is None:
            return []
        _, statuses, values = self._raw[12]
        status = np.frombuffer(statuses, I32)
        flat = array_of(values, (len(status), sum(a.size for a in self.arrays.values())))
        found: List[Any] = []
        for i, row in enumerate(flat):
            parts: Dict[Key, "np.ndarray"] = {}
            at = 0
            for name, array in self.arrays.items():
                parts[name] = row[at:at + array.size].reshape(array.shape)
                at += array.size
            found.append(None if status[i] else parts.get("tracks", parts))
        return found


class Design(Result):
    """One sequence for a structure."""

    __slots__ = ("header", "sequence_id", "is_native", "sample", "temperature", "score",
                 "global_score", "recovery", "chain_order", "mask", "design_mask", "codes")

    sequence: Union[str, Any]  # None in a failed record, which type checkers need not be told
    header: Optional[str]
    sequence_id: Optional[str]
    is_native: bool
    sample: int
    temperature: float
    score: float
    global_score: float
    recovery: float
    chain_order: Optional[str]
    mask: Optional["np.ndarray"]
    design_mask: Optional["np.ndarray"]
    codes: Optional["np.ndarray"]

    def __init__(self, raw: Tuple[Any, ...]):
        super().__init__(raw)
        design = raw[13] or (None, None, False, 0, 0.0, float("nan"), float("nan"), float("nan"),
                             None, None, None, None)
        (self.header, self.sequence_id, self.is_native, self.sample, self.temperature, self.score,
         self.global_score, self.recovery, self.chain_order, codes, mask, design_mask) = design
        self.codes, self.mask, self.design_mask = (
            None if values is None else np.frombuffer(values, dtype)
            for values, dtype in ((codes, I32), (mask, F32), (design_mask, F32)))

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update(sample=self.sample, is_native=self.is_native, temperature=self.temperature,
                   score=self.score, global_score=self.global_score, recovery=self.recovery,
                   sequence=self.sequence)
        return row


R = TypeVar("R", bound=Result)


class Affinity(Result):
    """The estimated binding energy of one ligand in its pose."""

    __slots__ = ("energy", "n_pairs", "n_atoms", "n_pocket_atoms", "n_pocket_residues", "distance")

    energy: float
    n_pairs: int
    n_atoms: int
    n_pocket_atoms: int
    n_pocket_residues: int
    distance: float

    def __init__(self, raw: Tuple[Any, ...]):
        super().__init__(raw)
        nan = float("nan")
        (self.energy, self.n_pairs, self.n_atoms, self.n_pocket_atoms, self.n_pocket_residues,
         self.distance) = raw[16] or (nan, 0, 0, 0, 0, nan)

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update({name: getattr(self, name) for name in Affinity.__slots__})
        return row


class Fold(Result):
    """The structure of a complex: chains H and L of an antibody, for one.

    `text` is the file that was asked for, "pdb" or "cif". The arrays are "plddt" [L], from 0 to 1,
    and "coordinates" [L, 37, 3] in angstrom, in the order of AlphaFold's list atom37, NaN where a
    residue has no such atom: `coordinates[:, 1]` are the CA. `chains` has (name, first residue,
    residues, mean pLDDT) of each; bonds are from a C to the N of the next residue. `sample` and
    `seed` tell structures of one record apart; `seed` is -1 where nothing is drawn.
    """

    __slots__ = ("sample", "mean_plddt", "shortest_bond", "longest_bond", "ptm", "chains", "iptm",
                 "seed")

    sample: int
    mean_plddt: float
    shortest_bond: float
    longest_bond: float
    ptm: float
    chains: Tuple[Tuple[str, int, int, float], ...]
    iptm: float
    seed: int

    def __init__(self, raw: Tuple[Any, ...]):
        super().__init__(raw)
        nan = float("nan")
        (self.sample, self.sequence, self.mean_plddt, self.shortest_bond, self.longest_bond,
         self.ptm, self.chains, self.iptm, self.seed) = raw[18] or (0, None, nan, nan, nan, nan, (),
                                                                    nan, -1)

    @property
    def text(self) -> Optional[str]:
        """The structure as PDB or mmCIF; None where no text was asked for."""
        for text in self.check().texts.values():
            return text.decode("ascii")
        return None

    @property
    def coordinates(self) -> "np.ndarray":
        return self["coordinates"]

    @property
    def plddt(self) -> "np.ndarray":
        return self["plddt"]

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update(plddt=self.mean_plddt, chains=",".join(chain[0] for chain in self.chains),
                   shortest_bond=self.shortest_bond, longest_bond=self.longest_bond, ptm=self.ptm,
                   iptm=self.iptm, sample=self.sample, seed=self.seed)
        return row


def task_key(task: str, params: Dict[str, Any]) -> Any:
    """A key that tells one task from another, also by the files that it has read."""
    key: Tuple[Any, ...] = (task, *params.items())
    files = [params[name] for name in paths(task) if name in params]
    if "genome" in params:
        files += [os.fsdecode(params["genome"]) + suffix for suffix in ("", ".fai", ".gzi")]
    for path in files:
        try:
            file = os.stat(path)
        except OSError:  # the task says it
            continue
        key = (*key, path, file.st_dev, file.st_ino, file.st_size, file.st_mtime_ns)
    return key


class Results(Generic[R]):
    """Results of a task, made while they are asked for: iterate over it, or collect them.

    Memory stays bounded whatever the number of records: a part of the records is computed at a
    time, and what was handed out is the caller's. Each iteration computes anew; keep the results
    with `list(results)`. The interpreter lock is released while the library computes.
    """

    def __init__(self, model: Any, task: str, params: Dict[str, Any], source: Sequences,
                 make: Callable[[Tuple[Any, ...]], R], raw: int = False,
                 progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
                 start_residues: int = 4096, size: Callable[[Any], int] = size_of):
        self._model, self._task, self._params, self._source = model, task, params, source
        self._make, self._raw, self._progress = make, raw, progress
        self._max_bytes, self._start, self._size = max_bytes, start_residues, size

    def __iter__(self) -> Iterator[R]:
        return self._made(None)

    def _made(self, writer: Optional["_core.Writer"]) -> Iterator[R]:
        if self._progress is True:
            with Bar(length_of(self._source), "records") as bar:
                yield from self._computed(bar.records, writer)
        else:
            yield from self._computed(self._progress or None, writer)

    def _computed(self, report: Optional[Callable[[int, int], Any]],
                  writer: Optional["_core.Writer"]) -> Iterator[R]:
        model, make = self._model, self._make
        pace = Pace(self._start, self._max_bytes)
        key = task_key(self._task, self._params)
        records = residues = 0
        progress: Optional[Callable[[int, int], Any]] = None
        if report is not None:
            told = report

            def progress(n: int, m: int) -> None:
                told(records + n, residues + m)

        for block, first, n in blocks(model._context, self._source, self._raw, pace,
                                      self._size):
            task = model._take(key, self._task, self._params)
            pace.start()
            try:
                tuples = task.compute(block, first, n, progress, writer)
            finally:
                model._give(key, task)
            n_residues = n_bytes = 0
            for raw in tuples:
                n_residues += raw[2]
                for array in raw[9]:
                    n_bytes += len(array[2])
                for column in raw[19][1] if raw[19] else ():
                    n_bytes += len(column[2]) + len(column[3] or b"")
                if raw[17]:
                    n_bytes += 64 * raw[2]  # places, forces and numbers of atoms
            pace.done(n_residues if self._size is size_of else len(tuples), n_bytes)
            records, residues = records + n, residues + n_residues
            if report is not None:
                report(records, residues)
            del block
            tuples.reverse()
            while tuples:  # nothing that was handed out is kept here
                yield make(tuples.pop())

    def save(self, path: Union[str, "os.PathLike[str]"], *, format: Optional[str] = None,
             dtype: Optional[str] = None, layout: Optional[str] = None,
             compression: Optional[str] = None, suffix_duplicates: bool = False,
             provenance: bool = True) -> List[R]:
        """Writes the file that the command would write: npz, npy, safetensors, h5, jsonl or tsv by
        the suffix of the path, or `format`. The options are the command's. Results of embed(),
        score() and tracks() alone. Memory stays bounded; the file gets its name when it is whole.
        Gives the records that have no result, which are not in it, jsonl and tsv aside. How it was
        made is written beside it, as PATH.provenance.json, unless `provenance` is False."""
        if self._task not in ("embed", "score", "tracks"):
            raise Unsupported(f"save: results of {self._task} are no arrays alone: keep them with "
                              "to_pandas(), or use the command", Status.UNSUPPORTED)
        options = dict(format=format, dtype=dtype, layout=layout, compression=compression,
                       suffix_duplicates=int(suffix_duplicates), model=self._model.name,
                       fingerprint=self._model.fingerprint())
        writer = _core.Writer(self._model._context, os.fspath(path), options)
        statuses: Counter[str] = collections.Counter()
        lost, start, name = [], time.monotonic(), os.fsdecode(path)
        try:
            for result in self._made(writer):
                statuses[result.status.name.lower()] += 1
                if not result.ok:
                    lost.append(result)
            writer.finish()
        finally:
            writer.close()
        if provenance and name != "-" and os.path.isfile(name):
            _provenance.write(name, _provenance.describe(
                name, self._task, self._params, self._source, self._model, statuses,
                time.monotonic() - start))
        elif os.path.isfile(name + _provenance.SUFFIX):
            os.unlink(name + _provenance.SUFFIX)  # a file was replaced
        return lost

    def _repr_html_(self) -> str:
        facts = [(name, value) for name, value in self._params.items()]
        return table(f"Results of {self._task} by {self._model.name}",
                     ("option", "value"), facts,
                     "Computed when they are asked for: list(), dict(), matrix(), to_pandas().")

    def one(self) -> R:
        """The only result."""
        results = list(self)
        if len(results) != 1:
            raise InvalidArgument(f"{len(results)} results, expected one", Status.INVALID_ARGUMENT)
        return results[0]

    def arrays(self, key: Optional[Key] = None) -> List["np.ndarray"]:
        """The arrays alone, in input order; raises where a record has none."""
        return [result.array if key is None else result[key] for result in self]

    def dict(self, key: Optional[Key] = None) -> Dict[str, "np.ndarray"]:
        """Arrays by id; raises where a record has none or an id comes twice."""
        found: Dict[str, "np.ndarray"] = {}
        for result in self:
            if result.id in found:
                raise InvalidArgument(f"id '{result.id}' comes twice", Status.DUPLICATE_ID)
            found[result.id] = result.array if key is None else result[key]
        return found

    def matrix(self, key: Optional[Key] = None) -> "np.ndarray":
        """Vectors of all records as one array [N, D]; raises where a record has none. Without
        records a pass over one residue tells D."""
        rows = self.arrays(key)
        if not rows and self._task == "embed":
            one = copy.copy(self)
            one._source = ["Ad" if self._model.letters == LETTERS_PAIRS else "A"]
            one._progress = None
            return one.matrix(key)[:0]
        if any(row.ndim != 1 for row in rows):
            raise InvalidArgument("a matrix needs vectors, one for each record (include='mean')",
                                  Status.INVALID_ARGUMENT)
        return np.stack(rows) if rows else np.zeros((0, 0), F32)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with a row for each result: scalars, and for each vector its values
        in columns "mean_0" ... Arrays of more dimensions have no place in it."""
        import pandas
        results = list(self)
        table = pandas.DataFrame([result.row() for result in results])
        vectors = _vectors(results)
        frames = [table]
        for key, rows in vectors.items():
            name = key if isinstance(key, str) else f"{key[0]}_layer{key[1]}"
            frames.append(pandas.DataFrame(rows, columns=[f"{name}_{i}" for i in
                                                          range(rows.shape[1])]))
        table = pandas.concat(frames, axis=1)
        return table.set_index("id") if "id" in table else table

    def to_anndata(self, key: Optional[Key] = None) -> Any:
        """An anndata.AnnData whose X has the vectors of `key` (the first), whose obs has the
        scalars, and whose obsm has all further vectors. Records without a result are left out."""
        import anndata
        import pandas
        results = [result for result in self if result.ok]
        vectors = _vectors(results)
        if not vectors:
            raise InvalidArgument("AnnData needs vectors, one for each record (include='mean')",
                                  Status.INVALID_ARGUMENT)
        first = next(iter(vectors)) if key is None else key
        if first not in vectors:
            raise InvalidArgument(f"no vectors {first!r}; there are {list(vectors)}",
                                  Status.INVALID_ARGUMENT)
        obs = pandas.DataFrame([result.row() for result in results]).set_index("id")
        data = anndata.AnnData(X=vectors.pop(first), obs=obs.drop(columns=["status", "message"]))
        for other, rows in vectors.items():
            data.obsm[other if isinstance(other, str) else f"{other[0]}_layer{other[1]}"] = rows
        data.uns["bioinfer"] = {"version": _core.version(), "model": self._model.name,
                                "vectors": str(first)}
        return data


def _vectors(results: List[Any]) -> Dict[Key, "np.ndarray"]:
    """{key: [N, D]} of arrays of one dimension and one size, NaN where a record has none."""
    sizes: Dict[Key, Any] = {}
    for result in results:
        for key, array in result.arrays.items():
            if array.ndim != 1 or sizes.setdefault(key, len(array)) != len(array):
                sizes[key] = None
    found: Dict[Key, "np.ndarray"] = {}
    for key, size in sizes.items():
        if size is not None:
            rows = np.full((len(results), size), np.nan, F32)
            for i, result in enumerate(results):
                if key in result.arrays:
                    rows[i] = result.arrays[key]
            found[key] = rows
    return found

