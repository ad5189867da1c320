"""Nearest neighbours between embeddings, in files or in memory."""
import itertools
import os
import tempfile
from typing import Any, Callable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _core
from ._errors import InvalidArgument, Status
from ._model import choice, new_context
from ._results import Results
from ._show import Bar, table

METRICS = {"cosine": 0, "euclidean": 1}


class Neighbour(NamedTuple):
    """A hit of a query: rank 1 is the nearest; value is a similarity or a distance."""

    query: str
    rank: int
    hit: str
    value: float


class Neighbours:
    """Neighbours of all queries: iterate over it for one `Neighbour` a hit.

    `queries` are their ids. `indices` [queries, k] are places among the targets, `values` their
    cosines, or distances, the nearest first.
    """

    def __init__(self, found: Tuple[Any, ...], metric: str, queries: Optional[List[str]],
                 targets: Optional[List[str]]):
        ids, names, places, values = found
        self.metric = metric
        self.queries: List[str] = ids if queries is None else queries
        self.indices = np.frombuffer(b"".join(places), np.uint64).astype(np.int64)
        self.indices = self.indices.reshape(len(ids), -1)
        self.values = np.frombuffer(b"".join(values), np.float64).reshape(self.indices.shape)
        self._names: Mapping[int, str] = names if targets is None else dict(enumerate(targets))

    def __iter__(self) -> Iterator[Neighbour]:
        for query, places, values in zip(self.queries, self.indices, self.values):
            for rank, (place, value) in enumerate(zip(places, values), 1):
                yield Neighbour(query, rank, self._names[int(place)], float(value))

    def __len__(self) -> int:
        return int(self.indices.size)

    def __repr__(self) -> str:
        return (f"<bioinfer.Neighbours, {self.metric}, {len(self.queries)} queries, "
                f"{self.indices.shape[1]} hits each>")

    def _repr_html_(self) -> str:
        most = 10
        rows = [(n.query, n.rank, n.hit, f"{n.value:.6g}") for n in itertools.islice(self, most)]
        return table(repr(self)[1:-1], ("query", "rank", "hit", self.metric), rows,
                     f"{most} of {len(self)} hits." if len(self) > most else "")

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the columns of the command's table."""
        import pandas
        names = ["query", "rank", "hit",
                 "similarity" if self.metric == "cosine" else "distance"]
        return pandas.DataFrame(list(self), columns=names)


def nearest(queries: Any, targets: Any = None, k: int = 10, *, metric: str = "cosine",
            array: Optional[str] = None, threads: int = 0,
            progress: Union[Callable[[float], Any], bool, None] = None) -> Neighbours:
    """Exact nearest neighbours of `queries` among `targets`, or among themselves without the
    query. Each is the path of a file of embeddings that bioinfer wrote (npz, npy, h5,
    safetensors, jsonl), results of `embed()`, a mapping of ids to vectors, or an array [N, D].

    `metric` is "cosine" or "euclidean". `array` names the vectors where a file has several kinds
    ("mean", "layer_6/mean"). `progress` is called with the share that is done; True draws a bar.
    """
    if progress is True:
        with Bar(1, "") as bar:
            return nearest(queries, targets, k, metric=metric, array=array, threads=threads,
                           progress=bar.share)
    if k < 1:
        raise InvalidArgument(f"nearest: k is {k}, expected 1 or more", Status.INVALID_ARGUMENT)
    number = choice("metric", metric, METRICS)
    with tempfile.TemporaryDirectory(prefix="bioinfer-") as folder:
        first, ids = _file(queries, os.path.join(folder, "queries.npz"))
        second, others = ((None, ids) if targets is None else
                          _file(targets, os.path.join(folder, "targets.npz")))
        found = _core.nearest(new_context(threads), first, second, k, number, array,
                              progress or None)
    return Neighbours(found, metric, ids, others)


def _file(vectors: Any, path: str) -> Tuple[Any, Optional[List[str]]]:
    """The file of the vectors, and their ids where it had to be written."""
    if isinstance(vectors, (str, bytes, os.PathLike)):
        return os.fspath(vectors), None
    if isinstance(vectors, Results):
        vectors = vectors.dict()
    if isinstance(vectors, Mapping):
        ids = [str(name) for name in vectors]
        rows = [np.asarray(row, np.float32) for row in vectors.values()]
        wrong = next((i for i, row in enumerate(rows)
                      if row.ndim != 1 or row.shape != rows[0].shape), None)
        if wrong is not None:
            raise InvalidArgument(f"nearest: '{ids[wrong]}' has shape {rows[wrong].shape}, "
                                  f"expected a vector as '{ids[0]}', {rows[0].shape}",
                                  Status.INVALID_ARGUMENT)
        matrix = np.stack(rows) if rows else np.zeros((0, 0), np.float32)
    else:
        matrix = np.asarray(vectors, np.float32)
        ids = [str(i) for i in range(len(matrix) if matrix.ndim else 0)]
    if matrix.ndim != 2 or not matrix.size:
        raise InvalidArgument(f"nearest: vectors of shape {matrix.shape}, expected [N, D]",
                              Status.INVALID_ARGUMENT)
    names = [name.encode("utf-8", "surrogateescape") for name in ids]
    np.savez(path, embeddings=np.ascontiguousarray(matrix), ids=np.array(names, "S"))
    return path, ids
