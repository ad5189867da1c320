"""Variants and intervals of a genome: results by place, and tables of them."""
import os
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Tuple, TypeVar, Union

import numpy as np

from . import _core
from ._errors import InvalidArgument, Status
from ._results import F32, F64, Key, Progress, Result, Results, Tracks, task_key

I64 = np.dtype(np.int64)
DTYPES = (F32, F64, I64)  # by enum bioinfer_column_type, of which the last is text
MISSING = np.iinfo(np.int64).min
Path = Union[str, "os.PathLike[str]"]
R = TypeVar("R", bound=Result)


class Columns(Mapping[Key, "np.ndarray"]):
    """Columns of a table by name, made when they are asked for: numbers as float32, float64 or
    int64, texts as an array of str. An int64 that is missing is masked (numpy.ma), a missing float
    is NaN and a missing text empty."""

    __slots__ = ("n_rows", "_raw")

    def __init__(self, n_rows: int, raw: Tuple[Any, ...]):
        self.n_rows = n_rows
        self._raw = {name: column for name, *column in raw}

    def __getitem__(self, key: Key) -> "np.ndarray":
        kind, data, texts = self._raw[key]
        if kind < len(DTYPES):
            numbers = np.frombuffer(data, DTYPES[kind])
            return np.ma.masked_equal(numbers, MISSING) if DTYPES[kind] is I64 else numbers
        ends = np.frombuffer(data, I64).tolist()
        known: Dict[bytes, str] = {}  # most columns have few texts
        column = np.empty(self.n_rows, object)
        for i in range(self.n_rows):
            text = bytes(texts[ends[i]:ends[i + 1]])
            if text not in known:
                known[text] = text.decode("utf-8", "surrogateescape")
            column[i] = known[text]
        return column

    def __iter__(self) -> Iterator[Key]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame; int64 are pandas' Int64, which knows missing values."""
        import pandas

        def plain(column: "np.ndarray") -> Any:
            if column.dtype != I64:
                return column
            mask = np.ma.getmaskarray(column)
            return pandas.arrays.IntegerArray(np.ma.getdata(column), mask) if mask.any() else \
                np.ma.getdata(column)
        return pandas.DataFrame({name: plain(self[name]) for name in self})


class Variant(Result):
    """The scores of one variant: an array [tracks] for each statistic ("SAD"), or with
    scorers the columns of its rows ("raw_score", "track_name", ...). `pos` counts from 1, as in
    the VCF, and `line` is its line there."""

    __slots__ = ("line", "chrom", "pos", "ref", "alt", "columns", "_name")

    line: int
    chrom: str
    pos: int
    ref: str
    alt: str
    columns: Columns

    def __init__(self, raw: Tuple[Any, ...], place: List[str], scorers: bool):
        super().__init__(raw)
        line, self.chrom, start, self._name, self.ref, self.alt = place
        self.line, self.pos = int(line), int(start) + 1
        self.columns = Columns(*(raw[19] or (0, ())))
        if scorers:
            self.arrays = self.columns

    def __repr__(self) -> str:
        what = (f"status={Status(self.status).name}" if self.status else
                f"{self.columns.n_rows} rows" if self.arrays is self.columns else
                ", ".join(f"{key}: {len(array)}" for key, array in self.arrays.items()))
        return f"<Variant {self.id!r}, {self.chrom}:{self.pos} {self.ref}>{self.alt}, {what}>"

    def row(self) -> Dict[str, Any]:
        return {"chrom": self.chrom, "pos": self.pos, "id": self._name, "ref": self.ref,
                "alt": self.alt, "status": Status(self.status).name.lower()}


class Interval(Tracks):
    """Arrays of the window around one interval of BED, [start, end): `tracks`
    [bins, tracks], or of several outputs an array for each; with mutagenesis "ism"
    [bases, 4, tracks]; with contributions "contributions", "gradient" and "value".

    `bins` has for each array along the contig where its first row begins there, and how many bases
    a row has."""

    __slots__ = ("line", "chrom", "start", "end", "bins")

    line: int
    chrom: str
    start: int
    end: int
    bins: Dict[Key, Tuple[int, int]]

    def __init__(self, raw: Tuple[Any, ...], place: List[str]):
        super().__init__(raw)
        line, self.chrom, start, end, _ = place
        self.line, self.start, self.end = int(line), int(start), int(end)
        lines = self.texts.get("window", b"").decode("utf-8", "surrogateescape").split("\n")
        self.bins = {}
        for key, words in zip(self.arrays, lines):
            first, size = words.split("\t")[2:]
            self.bins[key] = int(first), int(size)

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update(chrom=self.chrom, start=self.start, end=self.end)
        return row


class PlaceResults(Results[R]):
    """Results of the places of a file, made while they are asked for (see Results). A place that
    cannot be used is a result with a status."""

    def __init__(self, model: Any, params: Dict[str, Any], path: Path, cluster: int,
                 make: Callable[[Tuple[Any, ...], List[str]], R], progress: Optional[Progress],
                 max_bytes: int):
        super().__init__(model, "variants", params, (), self._unmade, True, progress, max_bytes, 1)
        self._path, self._cluster, self._of = os.fspath(path), cluster, make

    @staticmethod
    def _unmade(raw: Tuple[Any, ...]) -> R:
        raise NotImplementedError  # each iteration has a function of its own

    def _facts(self) -> Tuple[int, List[str], List[Any]]:
        """Bases of a window, names of columns, and outputs with their tracks."""
        key = task_key(self._task, self._params)
        task = self._model._take(key, self._task, self._params)
        try:
            found: Tuple[int, List[str], List[Any]] = task.variants_info()
            return found
        finally:
            self._model._give(key, task)

    def _places(self) -> "_core.Places":
        kind = self._params["kind"]
        genome = _core.Genome(self._model._context, self._params["genome"])
        places = _core.Places(genome, self._path, self._facts()[0], self._cluster,
                              kind == "mutagenesis", "scorers" in self._params)
        if places.are_variants() != (kind == "variants"):
            raise InvalidArgument(
                f"{self._path} holds intervals: variants() takes a VCF, intervals() a BED"
                if kind == "variants" else
                f"{self._path} holds variants: intervals() takes a BED, variants() a VCF",
                Status.INVALID_ARGUMENT)
        return places

    def _made(self, writer: Optional["_core.Writer"]) -> Iterator[R]:
        waiting: Dict[int, List[bytes]] = {}  # places of the records that are computed

        def read() -> Iterator[Any]:
            places = self._places()
            ordinal = 0
            record = places.next()
            while record is not None:
                waiting[ordinal] = record[1].split(b"\n")
                yield record
                ordinal += 1
                record = places.next()

        def make(raw: Tuple[Any, ...]) -> R:
            ordinal, piece, more = raw[0], raw[7], raw[8]
            place = waiting[ordinal][piece]
            if not more:
                del waiting[ordinal]
            return self._of(raw, place.decode("utf-8", "surrogateescape").split("\t"))

        return iter(Results(self._model, self._task, self._params, read(), make, True,
                            self._progress, self._max_bytes, self._start,
                            size=lambda record: record[1].count(b"\n")))

    @property
    def track_names(self) -> Dict[str, List[str]]:
        """The names of the tracks of each output, in the order of its arrays, which the command
        gives its columns: identifiers of the table of tracks, or "track_3" where there are none.
        Empty with scorers."""
        return {array: [f"track_{number}" if name is None else name for number, name in tracks]
                for array, tracks in self._facts()[2]}


class Variants(PlaceResults[Variant]):
    """Results for the variants of a VCF."""

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the columns of the command's table: with scorers its rows, which
        a variant without a result lacks, else a row for each variant, with a status, and NaN where
        there are no scores."""
        import pandas
        if "scorers" in self._params:
            frames = [result.columns.to_pandas() for result in self if result.columns.n_rows]
            return pandas.concat(frames, ignore_index=True) if frames else \
                pandas.DataFrame(columns=self._facts()[1])
        outputs = self.track_names
        stats = self._params.get("stats", "SAD").split(",")
        names = [":".join([stat, output, track] if len(outputs) > 1 else [stat, track])
                 for stat in stats for output, tracks in outputs.items() for track in tracks]
        rows, scores = [], []
        for result in self:
            rows.append(result.row())
            scores.append(np.concatenate(list(result.arrays.values())) if result.ok else
                          np.full(len(names), np.nan, F32))
        table = pandas.DataFrame(rows, columns=["chrom", "pos", "id", "ref", "alt", "status"])
        numbers = np.stack(scores) if scores else np.zeros((0, len(names)), F32)
        return pandas.concat([table, pandas.DataFrame(numbers, columns=names)], axis=1)
