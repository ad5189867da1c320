"""Exact pairwise alignment."""
import collections
import itertools
import os
from typing import Any, Deque, Dict, Iterator, NamedTuple, Optional, Tuple, Union

from . import _core
from ._errors import InvalidArgument, Status, error_of
from ._model import choice, chosen, new_context
from ._results import Results
from ._sources import record_of

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
    `match` and `mismatch`. A gap of k residues costs gap_open + (k - 1) gap_extend. `local=1`
    aligns the best pieces (Smith-Waterman).
    """
    options = chosen(matrix=matrix, gap_open=gap_open, gap_extend=gap_extend, match=match,
                     mismatch=mismatch, free_ends=choice("mode", mode, MODES),
                     ties=choice("ties", ties, TIES), traceback=int(traceback), device=device,
                     **params)
    one_query, one_target = _is_one(queries), _is_one(targets)
    pairs = _Pairs([queries] if one_query and one_target else queries, one_query and not one_target,
                   [targets] if one_query and one_target else targets, one_target and not one_query)
    found = _run(_Aligner(_context(threads), options), pairs)
    if not (one_query and one_target):
        return found
    alignment = next(found)
    if alignment.status:
        raise error_of(alignment.status, alignment.message)
    return alignment


class _Aligner:
    """The task of one call, as Results asks a model for it."""

    def __init__(self, context: "_core.Context", options: Dict[str, Any]):
        self._context, self._task = context, _core.Task(context, None, "align", options)

    def _take(self, key: Any, name: str, params: Dict[str, Any]) -> "_core.Task":
        return self._task

    def _give(self, key: Any, task: "_core.Task") -> None:
        pass


def _context(threads: int) -> "_core.Context":
    key = os.getpid(), threads  # a context is of one process
    if key not in _contexts:
        _contexts[key] = new_context(threads)
    return _contexts[key]


def _is_one(sequences: Any) -> bool:
    return isinstance(sequences, (str, bytes)) or hasattr(sequences, "seq") or (
        isinstance(sequences, tuple) and len(sequences) == 2 and
        all(isinstance(part, str) for part in sequences))


class _Pairs:
    """Records of pairs, and the targets' ids of those that no result has come for."""

    def __init__(self, queries: Any, same_query: bool, targets: Any, same_target: bool):
        self.first = itertools.repeat(queries) if same_query else iter(queries)
        self.second = itertools.repeat(targets) if same_target else iter(targets)
        self.endless = same_query or same_target
        self.targets: Deque[str] = collections.deque()

    def __iter__(self) -> Iterator[Tuple[str, Any, Dict[str, Any]]]:
        for ordinal in itertools.count():
            query, target = next(self.first, _END), next(self.second, _END)
            if query is _END or target is _END:
                if query is not target and not self.endless:
                    short = "queries" if query is _END else "targets"
                    raise InvalidArgument(f"align: there are fewer {short}",
                                          Status.INVALID_ARGUMENT)
                return
            query_id, letters = record_of(query, ordinal)[:2]
            target_id, others = record_of(target, ordinal)[:2]
            self.targets.append(target_id)
            yield query_id, letters, {"target": others}


_END = object()


def _run(aligner: _Aligner, pairs: _Pairs) -> Iterator[Alignment]:
    def make(raw: Tuple[Any, ...]) -> Any:
        values = raw[15] or (0,) * 9 + (None, False)
        return Alignment(raw[1], pairs.targets.popleft(), raw[3], raw[4], *values)

    return iter(Results(aligner, "align", {}, pairs, make, True, start_residues=1 << 14))
