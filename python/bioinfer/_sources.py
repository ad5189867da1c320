"""Where records come from: paths, sequences in Python, structures; in blocks a task can take."""
import collections.abc
import json
import os
import time
from typing import Any, Callable, Iterable, Iterator, List, Mapping, Protocol, Tuple, Union

from . import _core
from ._errors import Error, Status, error_of

Sequences = Union[str, "os.PathLike[str]", Mapping[str, str], Iterable[Any]]


class Record(Protocol):
    """Biopython's SeqRecord, and its like."""

    @property
    def id(self) -> Any: ...

    @property
    def seq(self) -> Any: ...


RESIDUES_COMPLEX = 4  # enum bioinfer_residue_policy; 0 and 1 are False and True of `raw`
LETTERS_RESIDUES, LETTERS_BASES, LETTERS_PAIRS = 0, 1, 2  # enum bioinfer_family_letters


def record_of(item: Any, ordinal: int) -> Tuple[Any, Any]:
    """(id, sequence) of what users have: text, a pair, or Biopython's SeqRecord and its like."""
    if isinstance(item, (str, bytes)):
        return str(ordinal), item
    if isinstance(item, tuple):
        if len(item) < 2 or len(item) > 3 or (len(item) == 3 and not isinstance(item[2], dict)):
            raise TypeError("a record is a sequence, or a tuple (id, sequence)")
        for what, text in zip(("id", "sequence"), item):
            if not isinstance(text, (str, bytes)):
                raise TypeError(f"record {ordinal}: its {what} is {text!r:.60}, expected str or "
                                "bytes")
        return item
    if hasattr(item, "seq") and hasattr(item, "id"):
        return str(item.id), str(item.seq)
    raise TypeError(f"a record is a sequence, a tuple (id, sequence) or has .id and .seq, "
                    f"not {type(item).__name__}")


def size_of(record: Any) -> int:
    """Residues of a record, or its atoms."""
    atoms = record[2].get("atoms") if len(record) > 2 else None
    return len(record[1]) if atoms is None else len(atoms[0]) // 4


class Pace:
    """How much is computed in one call: enough to keep the machine busy, little enough for results
    to come at once and to fit into memory. It grows while calls are short."""

    FAST, SLOW = 1.0, 4.0  # seconds
    MOST = 1 << 21         # residues

    def __init__(self, residues: int, max_bytes: int):
        self.residues, self.max_bytes = residues, max_bytes
        self.started = 0.0

    def start(self) -> None:
        self.started = time.monotonic()

    def done(self, residues: int, result_bytes: int) -> None:
        seconds = time.monotonic() - self.started
        if seconds < self.FAST:
            self.residues = min(2 * self.residues, self.MOST)
        elif seconds > self.SLOW:
            self.residues //= 2
        if residues and result_bytes:
            self.residues = min(self.residues, self.max_bytes * residues // result_bytes)
        self.residues = max(self.residues, 1)


def is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def blocks(context: "_core.Context", source: Sequences, raw: int, pace: Pace,
           size_of: Callable[[Any], int] = size_of) -> Iterator[Tuple["_core.Records", int, int]]:
    """(records, first, n) for calls of Task.compute(), as much at once as `pace` says, in what
    size_of counts; of a file in residues."""
    if isinstance(source, (str, os.PathLike)):
        reader = _open_reader(context, os.fspath(source), raw)
        records = reader.next()
        while records is not None:
            first = 0
            while first < len(records):
                n = records.take(first, pace.residues)
                yield records, first, n
                first += n
            records = reader.next()
        return
    if isinstance(source, (bytes, bytearray)):
        raise TypeError("a sequence goes in a list: [sequence]")
    items: Any = source.items() if isinstance(source, collections.abc.Mapping) else source
    ordinal = 0
    waiting: List[Tuple[Any, Any]] = []
    residues = 0
    for item in items:
        record = record_of(item, ordinal + len(waiting))
        size = size_of(record)
        if waiting and residues + size > pace.residues:
            yield _core.Records(context, waiting, ordinal, raw), 0, len(waiting)
            ordinal += len(waiting)
            waiting, residues = [], 0
        waiting.append(record)
        residues += size
    if waiting:
        yield _core.Records(context, waiting, ordinal, raw), 0, len(waiting)


def _open_reader(context: "_core.Context", path: str, raw: int) -> "_core.Reader":
    try:
        return _core.Reader(context, path, int(raw), 1)
    except Error as error:
        if error.status == Status.NOT_FOUND and path.isalpha() and path.isupper():
            error.text += "; a sequence goes in a list: ['" + path[:8] + "...']"
            error.args = (error.text,)
        raise


def read_fasta(path: Union[str, "os.PathLike[str]"]) -> Iterator[Tuple[str, str]]:
    """(id, sequence) of each record of a FASTA file: plain, gzip or BGZF."""
    reader = _open_reader(_core.Context({"n_threads": 1}, None), os.fspath(path), False)
    records = reader.next()
    while records is not None:
        for i in range(len(records)):
            name, _, _, message, status = records.describe(i)
            if status:
                raise error_of(status, message)
            yield name, records.sequence(i).decode("ascii")
        records = reader.next()


def told_records(context: "_core.Context", path: str,
                 raw: int) -> Iterator[Tuple[str, str, int, str]]:
    """(id, sequence, status, message) of each record of a FASTA file, those that failed, too."""
    reader = _open_reader(context, path, raw)
    records = reader.next()
    while records is not None:
        for i in range(len(records)):
            name, _, _, message, status = records.describe(i)
            yield name, "" if status else records.sequence(i).decode("ascii"), status, message
        records = reader.next()


def ligands(context: "_core.Context", source: Any) -> Iterator[Any]:
    """Molecules of a file (SDF, MOL2, PDB; plain or gzip), or pairs (id, text) as they are."""
    if not is_path(source):
        yield from source
        return
    reader = _core.Ligands(context, os.fspath(source))
    record = reader.next()
    while record is not None:
        yield record
        record = reader.next()


def named_text(value: Any) -> Tuple[str, bytes]:
    """(name, text) of a side input: the path of a file, such a pair, or values for JSON."""
    if isinstance(value, tuple):
        return value
    if is_path(value):
        with open(value, "rb") as file:
            return os.fspath(value), file.read()
    return "values given", json.dumps(value).encode()


STRUCTURES = (".pdb", ".cif", ".mmcif", ".ent", ".pdb.gz", ".cif.gz", ".mmcif.gz", ".ent.gz")


def structures(source: Any) -> Iterator[Tuple[str, bytes]]:
    """(id, text) of PDB or mmCIF files: a path, a folder, or an iterable of paths and of pairs
    (id, text)."""
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if os.path.isdir(path):
            names = sorted(name for name in os.listdir(path) if name.lower().endswith(STRUCTURES))
            if not names:
                raise FileNotFoundError(f"{path}: no structure ({', '.join(STRUCTURES[:4])}) in it")
            source = [os.path.join(path, name) for name in names]
        else:
            source = [path]
    for item in source:
        if isinstance(item, tuple):
            yield item
            continue
        path = os.fspath(item)
        name = os.path.basename(path)
        for suffix in sorted(STRUCTURES, key=len, reverse=True):
            if name.lower().endswith(suffix):
                name = name[:-len(suffix)]
                break
        with open(path, "rb") as file:
            yield name, file.read()

