"""bioinfer: biological foundation models from Python.

    import bioinfer
    with bioinfer.open("tiny") as m:
        for r in m.embed(["MKTAYIAKQR", "GSHMSLFDFF"], include="per-residue"):
            print(r.id, r.array.shape)

Arrays are NumPy's, over memory that the library filled. docs/python.md explains it all.
"""
import os
from typing import Any, Dict, List, NamedTuple

from . import _core
from ._align import Alignment, align, align_matrix
from ._atoms import Energy, Moved, Relaxed
from ._errors import (BadFormat, DeviceError, Error, Forked, InvalidArgument, Misuse, NoArray,
                      NotFound, OutOfMemory, RecordError, Status, Unsupported)
from ._model import Model, new_context
from ._model import open_model as open
from ._nearest import Neighbour, Neighbours, nearest
from ._places import Interval, PlaceResults, Variant, Variants
from ._remote import Remote, RemoteScore, connect
from ._rescore import Rescored, rescore
from ._results import Affinity, Design, Embedding, Fold, Result, Results, Score, Tracks
from ._sources import read_fasta

__version__: str = _core.version()


class Device(NamedTuple):
    """A device that `open(device=...)` takes; `reason` says why it is not usable."""

    name: str
    description: str
    usable: bool
    reason: str
    memory_size: int
    memory_free: int


def devices() -> List[Device]:
    """Devices of this machine, usable or not."""
    return [Device(*device) for device in _all(new_context(1).device)]


def families() -> Dict[str, str]:
    """Families of models that this build knows: {name: what it is}."""
    return {name: summary for name, summary, _, _ in _all(_core.family)}


def matrices() -> List[str]:
    """Built-in substitution matrices of `align()`."""
    return _all(_core.align_matrix)


def info(path: Any) -> str:
    """Says what a file is, by its content: weights, outputs, sequences. As `bioinfer info`."""
    return new_context(1).file_info(os.fspath(path))


def index_genome(path: Any) -> None:
    """Writes the index of a FASTA beside it, over one that is there: path.fai and, where it is
    compressed by bgzip, path.gzi. As `bioinfer index --fai`."""
    _core.Genome.index(new_context(1), os.fspath(path))


def _all(get: Any) -> List[Any]:
    found: List[Any] = []
    value = get(0)
    while value is not None:
        found.append(value)
        value = get(len(found))
    return found


__all__ = ["Affinity", "Alignment", "BadFormat", "Design", "Device", "DeviceError", "Embedding",
           "Energy", "Error", "Fold", "Forked", "Interval", "InvalidArgument", "Misuse", "Model",
           "Moved", "Neighbour", "Neighbours", "NoArray", "NotFound", "OutOfMemory", "PlaceResults",
           "RecordError", "Relaxed", "Remote", "RemoteScore", "Rescored", "Result", "Results",
           "Score", "Status", "Tracks", "Unsupported", "Variant", "Variants", "align",
           "align_matrix", "connect", "devices", "families", "index_genome", "info", "matrices",
           "nearest", "open", "read_fasta", "rescore"]
