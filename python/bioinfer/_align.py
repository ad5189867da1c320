"""Exact pairwise alignment."""
import collections
import heapq
import itertools
from typing import (TYPE_CHECKING, Any, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional,
                    Tuple, Union, overload)

import numpy as np

from . import _core
from ._errors import InvalidArgument, Status, error_of
from ._model import OneTask, shared_context
from ._params import checked, takes
from ._results import Results
from ._sources import Record, record_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import AlignKeywords

# keywords that align() had once, and what takes their place
FORMER = {
    "scale": "costs and scores are in points, as in gap_extend=0.5",
    "free_gaps": "gaps cost nothing with gap_open=0, gap_extend=0",
    "gap_open2": "both costs go into one, as in gap_open=(4, 24), gap_extend=(2, 1)",
    "gap_extend2": "both costs go into one, as in gap_open=(4, 24), gap_extend=(2, 1)",
    "any_letters": 'it is letters="any" now',
}

One = Union[str, bytes, Tuple[str, str], Tuple[str, bytes], Record]
Many = Iterable[One]


class Alignment(NamedTuple):
    """The best alignment of two sequences; positions are 0-based, ends not included."""

    query_id: str
    target_id: str
    status: int
    message: str
    score: float
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


# the first of these that fits is meant: a text is also an iterable of texts
@overload
def align(queries: One, targets: One, *,  # type: ignore[overload-overlap]
          matrix: Optional[str] = ..., traceback: bool = ..., threads: int = ..., top: None = ...,
          **params: "Unpack[AlignKeywords]") -> Alignment: ...


@overload
def align(queries: Union[One, Many], targets: Union[One, Many], *, matrix: Optional[str] = ...,
          traceback: bool = ..., threads: int = ..., top: Optional[int] = ...,
          **params: "Unpack[AlignKeywords]") -> Iterator[Alignment]: ...


@takes("align")
def align(queries: Any, targets: Any, *, matrix: Optional[str] = "BLOSUM62",
          traceback: bool = True, threads: int = 0, top: Optional[int] = None,
          **params: "Unpack[AlignKeywords]") -> Union[Alignment, Iterator[Alignment]]:
    """Aligns sequences (Needleman-Wunsch; affine gaps; `mode="ends-free"`: all ends are free;
    `local=True`: the best pieces, Smith-Waterman).

    Two sequences give an Alignment. Else each query is aligned with the target beside it, or with
    the one target, or the one query with all targets, and an iterator gives the alignments in
    their order. Sequences are str, pairs (id, sequence) or Biopython records; those of a file come
    from `bioinfer.read_fasta()`.

    `matrix` is a built-in matrix (`bioinfer.matrices()`) or a file, None for nucleotides by
    `match` and `mismatch`, with `letters="any"` for any letters. Costs and scores are in points,
    and may have decimals. A gap of k residues costs gap_open + (k - 1) gap_extend; of two costs
    each, as gap_open=(4, 24) and gap_extend=(2, 1), the less counts.

    `top=K` has each query meet all targets, which are read once and not kept, and gives the
    alignments with the K of the highest scores, best first, of equal ones those that come first;
    pairs without a result are left out.
    """
    options = _options(matrix, None if traceback else True, params)
    one_query, one_target = _is_one(queries), _is_one(targets)
    if top is not None:
        if top < 1:
            raise InvalidArgument(f"align: top is {top}, expected 1 or more",
                                  Status.INVALID_ARGUMENT)
        return _best([queries] if one_query else queries, [targets] if one_target else targets,
                     top, options, shared_context(threads))
    pairs = _Pairs([queries] if one_query and one_target else queries, one_query and not one_target,
                   [targets] if one_query and one_target else targets, one_target and not one_query)
    found = _run(OneTask(shared_context(threads), "align", options), pairs)
    if not (one_query and one_target):
        return found
    alignment = next(found)
    if alignment.status:
        raise error_of(alignment.status, alignment.message)
    return alignment


def _options(matrix: Optional[str], score_only: Optional[bool], params: Any) -> Dict[str, Any]:
    for name in params:
        if name in FORMER:
            raise TypeError(f"align has no option '{name}': {FORMER[name]}")
    return checked("align", matrix=matrix, score_only=score_only, **params)


def _is_one(sequences: Any) -> bool:
    return isinstance(sequences, (str, bytes)) or hasattr(sequences, "seq") or (
        isinstance(sequences, tuple) and len(sequences) == 2 and
        isinstance(sequences[0], str) and isinstance(sequences[1], (str, bytes)))


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


def _run(aligner: OneTask, pairs: Union[_Pairs, "_Listed"]) -> Iterator[Alignment]:
    scale = aligner.task.scale()

    def make(raw: Tuple[Any, ...]) -> Any:
        score, *rest = raw[15] or (0,) * 9 + (None, False)
        return Alignment(raw[1], pairs.targets.popleft(), raw[3], raw[4],
                         score if scale == 1 else score / scale, *rest)

    return iter(Results(aligner, "align", {}, pairs, make, True, start_residues=1 << 14))


class _Listed:
    """Pairs of records (id, letters) as _Pairs gives them."""

    def __init__(self, pairs: Any):
        self.pairs = pairs
        self.targets: Deque[str] = collections.deque()

    def __iter__(self) -> Iterator[Tuple[str, Any, Dict[str, Any]]]:
        for (query_id, letters), (target_id, others) in self.pairs:
            self.targets.append(target_id)
            yield query_id, letters, {"target": others}


def _records(sequences: Any) -> Iterator[Tuple[str, Any]]:
    for ordinal, sequence in enumerate([sequences] if _is_one(sequences) else sequences):
        yield record_of(sequence, ordinal)[:2]


def _best(queries: Any, targets: Any, top: int, options: Dict[str, Any],
          context: "_core.Context") -> Iterator[Alignment]:
    asked = list(_records(queries))
    heaps: List[List[Any]] = [[] for _ in asked]
    met: Deque[Any] = collections.deque()

    def every() -> Iterator[Any]:
        for ordinal, target in enumerate(_records(targets)):
            for k, query in enumerate(asked):
                met.append((k, ordinal, target))
                yield query, target

    for found in _run(OneTask(context, "align", {**options, "score_only": True}), _Listed(every())):
        k, ordinal, target = met.popleft()
        if found.status:
            continue
        hit = found.score, -ordinal, target
        if len(heaps[k]) < top:
            heapq.heappush(heaps[k], hit)
        elif hit[:2] > heaps[k][0][:2]:
            heapq.heapreplace(heaps[k], hit)
    kept = ((query, hit[2]) for query, heap in zip(asked, heaps)
            for hit in sorted(heap, key=lambda hit: hit[:2], reverse=True))
    yield from _run(OneTask(context, "align", options), _Listed(kept))


VALUES = ("identity", "distance", "score")


@takes("align")
def align_matrix(sequences: Any, others: Any = None, *, values: str = "identity",
                 identity_of: str = "columns", matrix: Optional[str] = "BLOSUM62",
                 threads: int = 0, **params: "Unpack[AlignKeywords]") -> "np.ndarray":
    """The matrix of all pairs of `sequences` and `others`, or of `sequences` among themselves.

    `values` is "identity", the share of equal columns (of all, those of free ends included, or
    with identity_of="shorter" of the residues of the shorter sequence), "distance", which is
    1 - identity, or "score". A pair without a result is nan. Costs are those of `align()`.
    """
    for name, given, known in (("values", values, VALUES),
                               ("identity_of", identity_of, ("columns", "shorter"))):
        if given not in known:
            raise InvalidArgument(f"align_matrix: {name} is {given!r}, expected one of "
                                  f"{', '.join(known)}", Status.INVALID_ARGUMENT)
    options = _options(matrix, values == "score" or None, params)
    rows = list(_records(sequences))
    columns = rows if others is None else list(_records(others))
    cells = np.full((len(rows), len(columns)), np.nan)
    places = [(i, j) for i in range(len(rows))
              for j in range(i if others is None else 0, len(columns))]
    pairs = _Listed((rows[i], columns[j]) for i, j in places)
    for (i, j), a in zip(places, _run(OneTask(shared_context(threads), "align", options), pairs)):
        if a.status:
            continue
        if values == "score":
            cells[i, j] = a.score
        else:
            n, m = len(rows[i][1]), len(columns[j][1])
            inside = a.query_end - a.query_begin + a.target_end - a.target_begin
            total = a.columns + (0 if params.get("local") else n + m - inside)
            of = min(n, m) if identity_of == "shorter" else total
            share = a.identities / of if of else 0.0
            cells[i, j] = share if values == "identity" else 1 - share
        if others is None:
            cells[j, i] = cells[i, j]
    return cells
