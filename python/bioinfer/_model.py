"""Models: open one, and ask tasks of it."""
import collections.abc
import logging
import os
import threading
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping,
                    Optional, Sequence, Tuple, Type, Union)

import numpy as np

from . import _core
from ._atoms import Dynamics, Energy, Moved, Relaxed, frames
from ._errors import InvalidArgument, Misuse, Status, Unsupported
from ._params import checked, chosen, takes, texts
from ._places import Interval, Path, PlaceResults, Variant, Variants
from ._results import (Affinity, Design, Embedding, Fold, Progress, Result, Results, Score, Tracks,
                       task_key)
from ._sources import (LETTERS_PAIRS, LETTERS_RESIDUES, RESIDUES_COMPLEX, Sequences, ligands,
                       named_text, read_fasta, record_of, structures)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import (AffinityKeywords, ContributionsKeywords, DesignKeywords, EmbedKeywords,
                            EnergyKeywords, FoldKeywords, IntervalsKeywords, MdKeywords,
                            RelaxKeywords, ScoreKeywords, TracksKeywords, VariantsKeywords)

log = logging.getLogger("bioinfer")
LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.WARNING)

# Parameters of the task variants that are of one method alone.
OF_VARIANTS = "stats", "indel", "scorers", "gtf", "polya", "quantiles"
OF_INTERVALS = "contributions", "bins"
Outputs = Union[Sequence[str], Mapping[str, Optional[Sequence[int]]]]


def to_log(level: int, text: str) -> None:
    log.log(LEVELS[level] if 0 <= level < len(LEVELS) else logging.INFO, "%s", text)


def choice(what: str, value: Any, choices: Mapping[Any, int]) -> int:
    try:
        return choices[value]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in choices)
        raise InvalidArgument(f"{what}: {value!r} is none of {names}",
                              Status.INVALID_ARGUMENT) from None


def _mutations(given: Any) -> Any:
    """Mutations to be looked at again for each record: a list, or {id: list}."""
    def listed(value: Any) -> List[str]:
        if isinstance(value, (str, bytes)):
            raise InvalidArgument(f"mutations: expected a list of texts, got {value!r}",
                                  Status.INVALID_ARGUMENT)
        return list(value)
    if isinstance(given, collections.abc.Mapping):
        return {name: listed(value) for name, value in given.items()}
    return listed(given)


def _outputs(given: Optional[Outputs]) -> Optional[List[str]]:
    """Outputs as texts "NAME" and "NAME:0+3"."""
    if given is None:
        return None
    if isinstance(given, (str, bytes)):
        raise InvalidArgument("outputs: expected a list of names, or a dict, got a text",
                              Status.INVALID_ARGUMENT)
    of = given.items() if isinstance(given, collections.abc.Mapping) else (
        (name, None) for name in given)
    texts = [name if not tracks else name + ":" + "+".join(str(int(i)) for i in tracks)
             for name, tracks in of]
    if not texts:
        raise InvalidArgument("outputs: none is named", Status.INVALID_ARGUMENT)
    return texts


def _range(bins: Optional[Tuple[int, int]]) -> Optional[str]:
    """The first and the last as a text."""
    return None if bins is None else "-".join(map(str, bins))


def new_context(threads: int = 0, cpu_mask: Optional[str] = None) -> "_core.Context":
    return _core.Context({"n_threads": threads, "cpu_mask": cpu_mask}, to_log)


_contexts: Dict[Tuple[int, int], "_core.Context"] = {}


def shared_context(threads: int) -> "_core.Context":
    """The context of tasks without a model, for a number of threads."""
    key = os.getpid(), threads  # a context is of one process
    if key not in _contexts:
        _contexts[key] = new_context(threads)
    return _contexts[key]


class OneTask:
    """The task of one call, without a model, as Results asks a model for it."""

    def __init__(self, context: "_core.Context", name: str, options: Dict[str, Any]):
        self._context, self.task = context, _core.Task(context, None, name, options)
        self.name = "bioinfer"  # a model has its own

    def _take(self, key: Any, name: str, params: Dict[str, Any]) -> "_core.Task":
        return self.task

    def _give(self, key: Any, task: "_core.Task") -> None:
        pass


def letters_of(family: str) -> int:
    """How the family's records are written, of enum bioinfer_family_letters."""
    found = _core.family(family)
    return found[3] if found is not None else LETTERS_RESIDUES


class Model:
    """Weights that were opened. `bioinfer.open()` makes one.

    Any number of threads may use a model at the same time, each call computes with `threads`
    threads. A model belongs to the process that opened it. Close it with `close()` or use it in a
    `with` block; iterations that are under way keep what they need until they end.
    """

    MAX_IDLE = 8  # tasks that wait for their next call, with their buffers

    def __init__(self, weights: Optional[str], context: "_core.Context", params: Dict[str, Any]):
        self._context = context
        self._opened: Optional["_core.Model"] = _core.Model(context, weights, params)
        self._idle: Dict[Any, List["_core.Task"]] = {}
        self._lock = threading.Lock()
        self._letters: Optional["np.ndarray"] = None
        self._opened_by: Dict[str, Any] = {}  # arguments of open_model(), where it made this
        self.info: Dict[str, Any] = self._opened.info()
        self.letters = letters_of(self.info["family"])

    # ---- life ----

    @property
    def _handle(self) -> "_core.Model":
        if self._opened is None:
            raise Misuse("the model is closed", Status.MISUSE)
        return self._opened

    def close(self) -> None:
        """Gives the memory back. Further calls raise Misuse."""
        with self._lock:
            self._idle.clear()
            self._opened = None

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError("a model cannot be pickled: open it in the process that uses it")

    # Weights are never written to, so that a copy is the model itself.
    def __copy__(self) -> "Model":
        return self

    def __deepcopy__(self, memo: Any) -> "Model":
        return self

    def __repr__(self) -> str:
        state = "" if self._opened else ", closed"
        return (f"<bioinfer.Model {self.info['name']!r}, {self.info['architecture']}, "
                f"{self.info['device']}, {self.info['precision']}{state}>")

    def _take(self, key: Any, name: str, params: Dict[str, Any]) -> "_core.Task":
        """A task for one call: one that waits, or a new one."""
        model = self._handle
        with self._lock:
            waiting = self._idle.get(key)
            if waiting:
                return waiting.pop()
        if "genome" in params:  # each task reads its own, without the lock
            genome = _core.Genome(self._context, params["genome"])
            return _core.Task(self._context, model, name, dict(params, genome=genome))
        return _core.Task(self._context, model, name, params)

    def _give(self, key: Any, task: "_core.Task") -> None:
        with self._lock:
            if self._opened is None:
                return
            waiting = self._idle.setdefault(key, [])
            waiting.append(task)
            if len(waiting) > 1 or len(self._idle) > 1:
                self._trim(key)

    def _trim(self, key: Any) -> None:
        """Forgets tasks that wait, first those that were used longest ago."""
        self._idle[key] = self._idle.pop(key)
        while sum(map(len, self._idle.values())) > self.MAX_IDLE:
            oldest = next(iter(self._idle))
            self._idle[oldest].pop(0)
            if not self._idle[oldest]:
                del self._idle[oldest]

    # ---- facts ----

    @property
    def family(self) -> str:
        return str(self.info["family"])

    @property
    def name(self) -> str:
        return str(self.info["name"])

    @property
    def width(self) -> int:
        return int(self.info["width"])

    @property
    def n_layers(self) -> int:
        return int(self.info["n_layers"])

    @property
    def device(self) -> str:
        return str(self.info["device"])

    @property
    def threads(self) -> int:
        return self._context.threads()

    def fingerprint(self) -> str:
        """All that decides this model's numbers, as 49 characters; reads all weights once."""
        return self._handle.fingerprint()

    @property
    def vocabulary(self) -> List[str]:
        """Symbols of the tokens, the columns of logits and of log p."""
        return [self._handle.token(i) or "" for i in range(self.info["vocab_size"])]

    @property
    def heads(self) -> Dict[str, int]:
        """Heads of a model of DNA windows: {name: number of tracks}."""
        found: Dict[str, int] = {}
        head = self._handle.head(0)
        while head is not None:
            found[head[0]] = head[1]
            head = self._handle.head(len(found))
        return found

    @property
    def outputs(self) -> List[Dict[str, Any]]:
        """The table of outputs of a model of DNA windows: name, output, organism, resolution,
        n_tracks and kind ("bins", "grid", "junctions") of each."""
        found: List[Dict[str, Any]] = []
        row = self._handle.output(0)
        while row is not None:
            found.append(row)
            row = self._handle.output(len(found))
        return found

    def _token_ids(self, sequence: str) -> "np.ndarray":
        if self.letters != LETTERS_RESIDUES:
            raise Unsupported(f"{self.name}: its tokens are not single residues",
                              Status.UNSUPPORTED)
        if self._letters is None:
            ids = {token: i for i, token in enumerate(self.vocabulary) if len(token) == 1}
            self._letters = np.full(256, ids.get("X", 0), np.intp)
            for letter, i in ids.items():
                if letter.isascii():
                    self._letters[ord(letter)] = i
        return self._letters[np.frombuffer(sequence.encode("latin-1", "replace"), np.uint8)]

    # ---- tasks ----

    def run(self, task: str, records: Sequences, *, raw: bool = False,
            progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
            **params: Any) -> "Results[Result]":
        """Any task of the library by its name, with the fields of its parameters in bioinfer.h as
        options."""
        return Results(self, task, checked(task, **params), records, Result, raw, progress,
                       max_bytes)

    def prepare(self, task: str = "embed", **params: Any) -> None:
        """Loads the weights that a task needs now, instead of with its first record."""
        params = checked(task, **params)
        key = task_key(task, params)
        taken = self._take(key, task, params)
        try:
            taken.prepare()
        finally:
            self._give(key, taken)

    @takes("embed")
    def embed(self, sequences: Sequences, include: Union[str, Iterable[str], None] = None, *,
              progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
              **params: "Unpack[EmbedKeywords]") -> "Results[Embedding]":
        """Embeddings and other arrays of sequences.

        `sequences` is the path of a FASTA file, or an iterable of sequences, of pairs (id,
        sequence), of Biopython records, or a dict; `include` names kinds: "mean", "per-residue",
        "bos", "logits", "contacts", "attentions", "head", "class-logits" (None: as the command
        does).

        Nothing is computed before the results are asked for. `progress(records, residues)` is
        called now and then; what it raises ends the run. About `max_bytes` of results are in
        memory at a time besides those the caller keeps.
        """
        raw = params["raw_residues"] = self._raw(params.get("raw_residues"))
        if include is not None and not isinstance(include, str):
            include = tuple(include)
        return Results(self, "embed", checked("embed", include=include, **params), sequences,
                       Embedding, raw, progress, max_bytes)

    @takes("score")
    def score(self, sequences: Sequences, method: str = "masked-marginals", *,
              mutations: Union[Sequence[str], Mapping[str, Sequence[str]], None] = None,
              offset: int = 1, progress: Optional[Progress] = None,
              **params: "Unpack[ScoreKeywords]") -> "Results[Score]":
        """log p of residues by a masked language model: `method` is "masked-marginals" (each
        position masked in a pass of its own) or "wt-marginals" (one pass).

        With `mutations`, a list or {id: list}, only the positions that these touch are computed;
        `result.mutation("A12G")` is the score of one. docs/scores.md has more about windows.
        """
        raw = params["raw_residues"] = self._raw(params.get("raw_residues"))
        if mutations is not None:
            asked = _mutations(mutations)
            sequences = Lazy(lambda what: self._with_positions(what, asked, offset), sequences)
        return Results(self, "score", checked("score", method=method, **params), sequences,
                       lambda raw: Score(raw, self), raw, progress, 1 << 28, 1024)

    @takes("fold")
    def fold(self, sequences: Sequences, text: str = "cif", include: Union[str, Iterable[str]] =
             ("plddt", "coordinates"), *, progress: Optional[Progress] = None,
             max_bytes: int = 1 << 28, **params: "Unpack[FoldKeywords]") -> "Results[Fold]":
        """Structures of complexes, whose chains have ":" or "|" between: "EVQ...:DIQ...".

        `sequences` is as in `embed`. `text` is the file that each result has as its `text`: "cif",
        "pdb" or "none". A model that draws structures gives all samples of a record, the best one
        first, each a result of its own. docs/folding.md has more.
        """
        if not isinstance(include, str):
            include = tuple(include)
        return Results(self, "fold", checked("fold", text=text, include=include, **params),
                       sequences, Fold, RESIDUES_COMPLEX, progress, max_bytes)

    def _raw(self, raw_residues: Optional[bool]) -> bool:
        """Records are read as they stand: asked for, or lower case has a meaning of its own."""
        return bool(raw_residues) or self.letters == LETTERS_PAIRS

    @staticmethod
    def _with_positions(sequences: Sequences, mutations: Any, offset: int) -> Iterator[Any]:
        items: Any = (read_fasta(sequences) if isinstance(sequences, (str, os.PathLike)) else
                      sequences.items() if isinstance(sequences, Mapping) else sequences)
        for ordinal, item in enumerate(items):
            name, sequence = record_of(item, ordinal)[:2]
            wanted = mutations.get(name, ()) if isinstance(mutations, Mapping) else mutations
            positions = sorted({position for mutation in wanted
                                for position in _core.mutation_positions(mutation, offset)})
            yield name, sequence, {"positions": positions}

    @takes("tracks")
    def tracks(self, windows: Sequences, *, outputs: Optional[Outputs] = None,
               progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
               **params: "Unpack[TracksKeywords]") -> "Results[Tracks]":
        """Tracks [bins, tracks] of windows of DNA, which have the length that `tracks_info()` says.

        outputs: names of `model.outputs` ("rna_seq", "rna_seq.128"), computed together, or a dict
        {name: tracks}, where None means all tracks. A result of several outputs has an array for
        each by its name, one of a single output "tracks". head and tracks mean one output, too.

        A window may be a tuple (id, bases, {"changes": changes}): each change (first, bases) makes
        another window, whose tracks are in `result.changed`.
        """
        return Results(self, "tracks", checked("tracks", outputs=_outputs(outputs), **params),
                       windows, Tracks, True, progress, max_bytes, 1)

    def tracks_info(self, *, outputs: Optional[Outputs] = None,
                    **params: "Unpack[TracksKeywords]") -> Dict[str, Any]:
        """Bases of a window, size and number of bins, number of tracks, of the first output; the
        same of each output stands in the list "outputs". It takes the parameters of `tracks`."""
        given = checked("tracks", outputs=_outputs(outputs), **params)
        key = task_key("tracks", given)
        task = self._take(key, "tracks", given)
        found: List[Dict[str, Any]] = []
        try:
            row = task.tracks_info(0)
            while row is not None:
                found.append(row)
                row = task.tracks_info(len(found))
        finally:
            self._give(key, task)
        return dict(found[0], outputs=found)

    @takes("contributions")
    def contributions(self, windows: Sequences, *, bins: Optional[Tuple[int, int]] = None,
                      progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
                      **params: "Unpack[ContributionsKeywords]") -> "Results[Result]":
        """Which bases of windows of DNA the mean of some tracks comes from: "contributions"
        [bases], "gradient" [bases, 4] and "value" [1], the mean of `tracks` over `bins` (first,
        last). Windows are as in `tracks`; `intervals` takes them from a genome."""
        return Results(self, "contributions", checked("contributions", bins=_range(bins), **params),
                       windows, Result, True, progress, max_bytes, 1)

    @takes("variants", but=("kind", *OF_INTERVALS))
    def variants(self, vcf: Path, *, genome: Path, cluster: int = 0,
                 progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
                 **params: "Unpack[VariantsKeywords]") -> Variants:
        """Scores of the variants of a VCF, by models of DNA windows: docs/genomics.md has more.

        `genome` is a FASTA with its index beside it (`bioinfer.index_genome()`). A result has an
        array [tracks] for each of `stats`, of several `outputs` "cage.SAD" and so on. With
        `scorers` a result has columns of rows instead. Lists may be texts with commas between.
        `cluster`: variants that start within as many bases share a window.
        """
        given = self._places_params("variants", genome, params, OF_INTERVALS)
        return Variants(self, given, vcf, cluster,
                        lambda raw, place: Variant(raw, place, "scorers" in given), progress,
                        max_bytes)

    @takes("variants", but=("kind", *OF_VARIANTS))
    def intervals(self, bed: Path, *, genome: Path, mutagenesis: bool = False,
                  bins: Optional[Tuple[int, int]] = None, progress: Optional[Progress] = None,
                  max_bytes: int = 1 << 28,
                  **params: "Unpack[IntervalsKeywords]") -> "PlaceResults[Interval]":
        """Tracks of the windows around intervals of a BED; with `mutagenesis` SAD of each base in
        them ("ism", [bases, 4, tracks], in the order A, C, G, T); with `contributions` which bases
        of a window the mean of `tracks` comes from, over `bins` (first, last). The rest is as in
        `variants`."""
        if bins is not None and not params.get("contributions"):
            raise InvalidArgument("bins: they say what contributions explain",
                                  Status.INVALID_ARGUMENT)
        given = {**params, "bins": _range(bins)}
        return PlaceResults(self, self._places_params(
            "mutagenesis" if mutagenesis else "intervals", genome, given, OF_VARIANTS), bed, 0,
            Interval, progress, max_bytes)

    @staticmethod
    def _places_params(kind: str, genome: Path, params: Mapping[str, Any],
                       but: Sequence[str]) -> Dict[str, Any]:
        for name in ("kind", *but):
            if name in params:
                raise TypeError(f"{kind} have no option '{name}'")
        return checked("variants", kind=kind, genome=os.fsdecode(genome),
                       **texts("variants", dict(params)))

    @takes("design")
    def design(self, source: Any, n: int = 1, *, temperature: Union[float, Sequence[float]] = 0.1,
               progress: Optional[Progress] = None,
               **params: "Unpack[DesignKeywords]") -> "Results[Design]":
        """Sequences for protein structures: `n` for each structure and temperature, and the native
        one with its score. `source` is the path of a PDB or mmCIF file or of a folder, or an
        iterable of paths and of pairs (id, text). Parameters that are files take a path, a pair
        (name, text), or values that become JSON."""
        temperatures = tuple(map(float, np.atleast_1d(temperature)))
        if not temperatures:  # to the library this means the default
            raise InvalidArgument("design: temperature is empty", Status.INVALID_ARGUMENT)
        given: Dict[str, Any] = {**params, "n_sequences": n, "temperatures": temperatures}
        for name in given:
            if given[name] is not None and (name == "sequences" or name.endswith("_json")):
                given[name] = named_text(given[name])
        return Results(self, "design", checked("design", **given), Lazy(structures, source),
                       Design, True, progress, 1 << 28, 1 << 18)

    @takes("affinity")
    def affinity(self, source: Any, receptor: Union[str, "os.PathLike[str]", None] = None, *,
                 progress: Optional[Progress] = None,
                 **params: "Unpack[AffinityKeywords]") -> "Results[Affinity]":
        """Binding energies of ligands in their poses beside a receptor (PDB or mmCIF).

        `source` is the path of a file of molecules (SDF, MOL2, PDB), or an iterable of pairs (id,
        text); with tuples (id, text, {"receptor": path}) each brings a receptor of its own.
        """
        path = None if receptor is None else os.fspath(receptor)
        return Results(self, "affinity", checked("affinity", receptor=path, **params),
                       Lazy(lambda what: ligands(self._context, what), source), Affinity, True,
                       progress, 1 << 28, 1 << 18)

    @takes("energy")
    def energy(self, source: Any, forces: bool = True, stress: bool = False, *,
               pbc: Union[bool, str, None] = None, progress: Optional[Progress] = None,
               max_bytes: int = 1 << 28,
               **params: "Unpack[EnergyKeywords]") -> "Results[Energy]":
        """Energies of atoms in their places, forces on them, and the stress of their cell.

        `source` is an Atoms of ASE, a dict of arrays ("numbers" [N], "positions" [N, 3], and
        perhaps "cell" [3, 3], "pbc", "charge", "id"), the path of a file of frames or of a folder
        of such (extended XYZ, XYZ, POSCAR, PDB), or an iterable of these and of pairs (id, atoms).
        `pbc` is True ("xyz") or False ("none") for all frames, instead of what each says ("file").
        `progress(frames, atoms)` is called now and then.
        """
        want = bool(forces), bool(stress)
        given = checked("energy", energy_only=not any(want), pbc=_axes("energy", pbc), **params)
        return Results(self, "energy", given,
                       Lazy(lambda what: frames(self._context, what), source),
                       lambda raw: Energy(raw, want), True, progress, max_bytes, 1 << 10)

    @takes("relax")
    def relax(self, source: Any, *, pbc: Union[bool, str, None] = None,
              progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
              **params: "Unpack[RelaxKeywords]") -> "Results[Relaxed]":
        """Atoms, or with `cell=True` atoms and cell, moved to a minimum of the energy.

        `source`, `pbc` and `progress` are as in `energy`. Atoms stay that are fixed by constraints
        (FixAtoms and FixCartesian of ASE), by "fixed" of a dict ([N] or [N, 3] of bool), or by a
        file.
        Frames are relaxed together, and none changes the numbers of another one.
        """
        given = checked("relax", pbc=_axes("relax", pbc), **params)
        return Results(self, "relax", given,
                       Lazy(lambda what: frames(self._context, what, True), source),
                       Relaxed, True, progress, max_bytes, 1 << 10)

    @takes("md", but=("folder",))
    def md(self, source: Any, trajectory: Union[str, "os.PathLike[str]", None] = None, *,
           resume: bool = False, pbc: Union[bool, str, None] = None,
           progress: Optional[Progress] = None, max_bytes: int = 1 << 28,
           **params: "Unpack[MdKeywords]") -> "Results[Moved]":
        """Molecular dynamics: where each frame is after the last step.

        `source`, `pbc` and `progress` are as in `energy`, and fixed atoms as in `relax`. Momenta
        come with the frame ("momenta" of a dict, ASE's), or are drawn. `trajectory` is a file that
        grows, an extended XYZ, or the path of a folder, with "/" at its end or there already, which
        gets ID.extxyz for each frame; None: they are not kept. With `resume` a trajectory that is
        there is taken up; without, it is refused.
        """
        given: Dict[str, Any] = {"resume": resume or None}
        kind: Any = Results
        if trajectory is None:
            if resume:
                raise InvalidArgument("md: resume, and no trajectory is named",
                                      Status.INVALID_ARGUMENT)
            kind = Dynamics
        else:
            path = os.fspath(trajectory)
            if path.endswith(os.sep):
                os.makedirs(path, exist_ok=True)
            given.update(trajectory=path, folder=os.path.isdir(path) or None)
        given = checked("md", pbc=_axes("md", pbc), **given, **params)
        results: "Results[Moved]" = kind(
            self, "md", given, Lazy(lambda what: frames(self._context, what, True), source), Moved,
            True, progress, max_bytes, 1 << 10)
        return results


def _axes(task: str, pbc: Union[bool, str, None]) -> Optional[str]:
    """The parameter pbc, which Python also takes as True or False for all frames."""
    if pbc is None or isinstance(pbc, str):
        return pbc
    if np.ndim(pbc) or pbc not in (False, True):
        raise InvalidArgument(f"{task}: pbc is {pbc!r}, expected True or False for all frames",
                              Status.INVALID_ARGUMENT)
    return "xyz" if pbc else "none"


class Lazy:
    """Records that a function reads from a source, again for each iteration."""

    def __init__(self, read: Callable[[Any], Iterator[Any]], source: Any):
        self.read, self.source = read, source

    def __iter__(self) -> Iterator[Any]:
        return self.read(self.source)


def open_model(weights: Union[str, "os.PathLike[str]", None] = None, *,
               family: Optional[str] = None, device: Optional[str] = None,
               precision: Optional[str] = None, threads: int = 0,
               cpu_mask: Optional[str] = None, **params: Any) -> Model:
    """Opens weights: a file, a folder in Hugging Face layout, a hub name ("org/name") that is in
    the user's cache, or "tiny", the small model that comes with bioinfer. None with a `family`:
    its usual weights. Nothing is ever fetched.

    `device` is "cpu", "cuda:0", "hip:0" or "auto" (default: the first GPU that fits, else the
    CPU), `precision` "fp32", "fp16" or "bf16x2", `threads` the number of CPU threads of each call
    (0: all processors this process may use). Further options are the fields of
    bioinfer_model_params.
    """
    options = chosen(family=family, device=device, precision=precision, **params)
    path = None if weights is None else os.fspath(weights)
    model = Model(path, new_context(threads, cpu_mask), options)
    if path is not None and os.path.exists(path):
        path = os.path.abspath(path)
    model._opened_by = {"weights": path, "threads": threads, "cpu_mask": cpu_mask, **options}
    return model
