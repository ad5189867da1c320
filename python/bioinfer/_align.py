"""Exact pairwise alignment."""
import os
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Union

from . import _core
from ._errors import RecordError, Status, error_of
from ._model import choice, chosen, new_context
from ._sources import Pace, record_of

MODES = {"global": 0, "ends-free": 15}
TIES = {"parasail": 0, "emboss": 1, "wfa": 2}

_contexts: Dict[Tuple[int, int], "_core.Context"] = {}


class Alignment(NamedTuple):
    """The best alignment of two sequences; positions are 0-based, ends not included."""

    query_id: str
    target_id: str
    status: int
    message: str
    score: int
    query_begin: int
    query_end: int
    target_begin: int
    target_end: int
    columns: int
    identities: int
    similarities: int
    gaps: int
    cigar: Optional[str]
    sparse: bool

    @property
    def identity(self) -> float:
        """Part of the columns whose letters are equal."""
        return self.identities / self.columns if self.columns else 0.0


def align(queries: Any, targets: Any, *, matrix: Optional[str] = "BLOSUM62",
          gap_open: Optional[int] = None, gap_extend: Optional[int] = None,
          match: Optional[int] = None, mismatch: Optional[int] = None, mode: str = "global",
          ties: str = "parasail", traceback: bool = True, device: Optional[str] = None,
          threads: int = 0, **params: Any) -> Union[Alignment, Iterator[Alignment]]:
    """Aligns sequences (Needleman-Wunsch; affine gaps; `mode="ends-free"`: all ends are free).

    Two sequences give an Alignment. Else each query is aligned with the target beside it, or with
    the one target, or the one query with all targets, and an iterator gives the alignments in
    their order. Sequences are str, pairs (id, sequence) or Biopython records; those of a file come
    from `bioinfer.read_fasta()`.

    `matrix` is a built-in matrix (`bioinfer.matrices()`) or a file, None for nucleotides by
    `match` and `mismatch`. A gap of k residues costs gap_open + (k - 1) gap_extend.
    """
    options = chosen(matrix=matrix, gap_open=gap_open, gap_extend=gap_extend, match=match,
                     mismatch=mismatch, free_ends=choice("mode", mode, MODES),
                     ties=choice("ties", ties, TIES), traceback=int(traceback), device=device,
                     **params)
    aligner = _core.Aligner(_context(threads), options)
    single_query, single_target = _is_one(queries), _is_one(targets)
    if single_query and single_target:
        found = next(_run(aligner, _pairs([queries], [targets])))
        if found.status:
            raise error_of(found.status, found.message)
        return found
    if single_query:
        return _run(aligner, _pairs(_same(queries), targets))
    return _run(aligner, _pairs(queries, _same(targets) if single_target else targets))


def _context(threads: int) -> "_core.Context":
    key = os.getpid(), threads  # a context is of one process
    if key not in _contexts:
        _contexts[key] = new_context(threads)
    return _contexts[key]


def _is_one(sequences: Any) -> bool:
    return isinstance(sequences, (str, bytes)) or hasattr(sequences, "seq") or (
        isinstance(sequences, tuple) and len(sequences) == 2 and
        all(isinstance(part, str) for part in sequences))


def _same(sequence: Any) -> Iterator[Any]:
    while True:
        yield sequence


def _letters(item: Any, ordinal: int) -> Tuple[str, bytes]:
    name, sequence = record_of(item, ordinal)[:2]
    if isinstance(sequence, str):
        sequence = sequence.encode("utf-8", "surrogateescape")
    return name, sequence


_END = object()


def _pairs(queries: Iterable[Any], targets: Iterable[Any],
           ) -> Iterator[Tuple[str, str, Tuple[bytes, bytes]]]:
    endless = (type(_same(None)),)
    first, second = iter(queries), iter(targets)
    ordinal = 0
    while True:
        query, target = next(first, _END), next(second, _END)
        if query is _END or target is _END:
            short = "queries" if query is _END else "targets"
            if (query is _END) != (target is _END) and not isinstance(queries, endless) and \
                    not isinstance(targets, endless):
                raise RecordError(f"align: fewer {short} than the other sequences",
                                  Status.INVALID_ARGUMENT)
            return
        query_id, query_letters = _letters(query, ordinal)
        target_id, target_letters = _letters(target, ordinal)
        yield query_id, target_id, (query_letters, target_letters)
        ordinal += 1


def _run(aligner: "_core.Aligner", pairs: Iterable[Tuple[str, str, Tuple[bytes, bytes]]],
         ) -> Iterator[Alignment]:
    pace = Pace(1 << 14, 1 << 28)
    names: List[Tuple[str, str]] = []
    waiting: List[Tuple[bytes, bytes]] = []
    letters = 0

    def results() -> Iterator[Alignment]:
        pace.start()
        tuples = aligner.run(waiting)
        pace.done(letters, 64 * len(waiting))
        for (query, target), values in zip(names, tuples):
            yield Alignment(query, target, *values[:12], bool(values[12]))

    for query, target, pair in pairs:
        names.append((query, target))
        waiting.append(pair)
        letters += len(pair[0]) + len(pair[1])
        if letters >= pace.residues:
            yield from results()
            names, waiting, letters = [], [], 0
    if waiting:
        yield from results()
