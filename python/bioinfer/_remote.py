"""A client of `bioinfer serve`, with the calls of a model."""
import base64
import gzip
import http.client
import io
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, List, Mapping,
                    NamedTuple, Optional, Sequence, Tuple, Type, TypeVar, Union)

from . import _core
from ._errors import (CLASSES, BadFormat, Error, InvalidArgument, NoArray, NotFound, RecordError,
                      Status, Unsupported)
from ._model import _mutations, letters_of, new_context
from ._params import REQUEST, chosen, fields, takes
from ._results import Affinity, Design, Embedding, Fold, Progress, Result, Results, Tracks
from ._sources import (LETTERS_PAIRS, RESIDUES_COMPLEX, Sequences, ligands, record_of, structures,
                       told_records)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._keywords import (AffinityKeywords, DesignKeywords, EmbedKeywords, FoldKeywords,
                            ScoreKeywords)

R = TypeVar("R", bound=Result)
MOST_RECORDS, MOST_LETTERS = 256, 1 << 16  # in a request
MOST_TEXT = 1 << 30  # bytes that a file in gzip inflates to
AGAIN = (429, 503)
LEAST_WAIT = 0.1  # seconds


class TooLarge(Error):
    """A request has too much for the server, or its answer would (HTTP 413)."""


class RemoteScore(Result):
    """Scores of one sequence by a server: `scores` has the mutations that were asked for; without
    mutations there are `pseudo_log_likelihood` and `pseudo_perplexity`."""

    __slots__ = ("scores", "pseudo_log_likelihood", "pseudo_perplexity", "_lost")

    scores: Dict[str, float]
    pseudo_log_likelihood: float
    pseudo_perplexity: float

    def __init__(self, raw: Tuple[Any, ...], answer: Mapping[str, Any]):
        super().__init__(raw)
        nan = float("nan")
        told = answer.get("scores", ())
        self.scores = {row["mutation"]: row["score"] for row in told if "score" in row}
        self._lost = {row["mutation"]: row for row in told if "score" not in row}
        self.pseudo_log_likelihood = answer.get("log_likelihood", nan)
        self.pseudo_perplexity = answer.get("perplexity", nan)

    def mutation(self, mutation: str) -> float:
        """log p(mutant) - log p(wild type) of a mutation that was asked for."""
        self.check()
        if mutation in self._lost:
            row = self._lost[mutation]
            raise RecordError(row["message"], _status(row["status"]))
        if mutation not in self.scores:
            raise NoArray(f"record '{self.id}': '{mutation}' was not asked for (mutations=)",
                          Status.NOT_FOUND)
        return self.scores[mutation]

    def row(self) -> Dict[str, Any]:
        row = super().row()
        row.update(pseudo_log_likelihood=self.pseudo_log_likelihood,
                   pseudo_perplexity=self.pseudo_perplexity, **self.scores)
        return row


class RemoteResults(Results[R]):
    """Results that a server makes, a request at a time while they are asked for (see Results).

    A request that the server finds too large, or its answer, is sent again in halves. Later
    requests stay as small."""

    def __init__(self, remote: "Remote", task: str, params: Dict[str, Any], source: Any,
                 read: Callable[[Any], Iterator["Item"]],
                 body: Callable[[List["Item"]], Dict[str, Any]],
                 make: Callable[[Dict[str, Any], int], List[R]],
                 progress: Optional[Progress], most_records: int = MOST_RECORDS):
        super().__init__(remote, task, params, source, self._unmade, progress=progress)
        self._remote, self._read, self._body, self._results = remote, read, body, make
        self._most_records, self._most_letters = most_records, MOST_LETTERS

    @staticmethod
    def _unmade(raw: Tuple[Any, ...]) -> R:
        raise NotImplementedError  # answers make results

    def _computed(self, report: Optional[Callable[[int, int], Any]],
                  writer: Optional["_core.Writer"]) -> Iterator[R]:
        ordinal = residues = 0
        for batch in self._batches(self._read(self._source)):
            asked = [item for item in batch if item.known is None]
            rows = iter(self._rows(asked) if asked else ())
            for item in batch:
                row = next(rows) if item.known is None else item.known
                residues += len(item.text)
                yield from self._results(dict(row, id=item.id), ordinal)
                ordinal += 1
            if report is not None:
                report(ordinal, residues)

    def _batches(self, items: Iterable["Item"]) -> Iterator[List["Item"]]:
        """Items for one request each. An item counts by its letters and one more."""
        waiting: List[Item] = []
        letters = 0
        for item in items:
            size = len(item.text) + 1
            if waiting and (letters + size > self._most_letters or
                            len(waiting) == self._most_records):
                yield waiting
                waiting, letters = [], 0
            waiting.append(item)
            letters += size
        if waiting:
            yield waiting

    def _rows(self, asked: List["Item"]) -> List[Dict[str, Any]]:
        try:
            answer = self._remote._ask(self._task, dict(self._params, **self._body(asked)))
        except TooLarge:
            if len(asked) == 1:
                raise
            self._most_letters = sum(len(item.text) + 1 for item in asked) // 2
            return [row for part in self._batches(asked) for row in self._rows(part)]
        rows: List[Dict[str, Any]] = answer["results"]
        if len(rows) != len(asked):
            raise BadFormat(f"{self._remote.url}: {len(rows)} results for {len(asked)} records",
                            Status.BAD_FORMAT)
        return rows

    def save(self, *arguments: Any, **options: Any) -> Any:
        raise Unsupported("save: results of a server come over the network; ask /v1/"
                          f"{self._task}?format=npz for a file", Status.UNSUPPORTED)


class Item(NamedTuple):
    """A record of a request, or one that the server is not asked for, whose result is `known`:
    a reader has refused it, for one."""

    id: str
    text: str
    known: Optional[Dict[str, Any]] = None


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the token is for the server alone, and a POST would become a GET."""

    def redirect_request(self, req: urllib.request.Request, fp: Any, code: int, msg: str,
                         headers: Any, newurl: str) -> None:
        raise urllib.error.HTTPError(req.full_url, code, f"leads to {newurl}, which is not "
                                     "followed: connect to that address", headers, fp)


def _status(word: str) -> Status:
    return Status.__members__.get(word.upper(), Status.IO_ERROR)


def _raw(row: Mapping[str, Any], ordinal: int, sequence: Optional[str] = None,
         **more: Any) -> Tuple[Any, ...]:
    """The tuple that a result is made of, as the library gives it."""
    arrays = [(a["kind"], a.get("layer"), bytearray(base64.b64decode(a["data"])),
               tuple(a["shape"])) for a in row.get("arrays", ())]
    layers = {a[1] for a in arrays if a[1] is not None}
    status = 0 if row["status"] == "ok" else int(_status(row["status"]))
    return (ordinal, row["id"], row.get("length", 0), status, row.get("message", ""), None,
            row.get("labels"), 0, False, arrays, more.get("texts", {}), sequence, None,
            more.get("design"), len(layers), None, more.get("affinity"), None, more.get("fold"),
            None, None)


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogateescape") if isinstance(value, (bytes, bytearray)) \
        else str(value)


def _inflated(name: str, value: Any) -> str:
    """The text of a file, which may be in gzip. BadFormat where that is broken."""
    if not isinstance(value, (bytes, bytearray)) or value[:2] != b"\x1f\x8b":
        return _text(value)
    try:
        with gzip.open(io.BytesIO(value)) as file:
            value = file.read(MOST_TEXT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadFormat(f"{name}: gzip: {error}", Status.BAD_FORMAT) from None
    if len(value) > MOST_TEXT:
        raise BadFormat(f"{name}: it inflates to more than {MOST_TEXT >> 20} MiB",
                        Status.BAD_FORMAT)
    return _text(value)


def _file_item(name: Any, value: Any) -> Item:
    try:
        return Item(_text(name), _inflated(_text(name), value))
    except BadFormat as error:
        return Item(_text(name), "", {"status": "BAD_FORMAT", "message": error.text})


class Remote:
    """A server that answers (`bioinfer serve`). `bioinfer.connect()` makes one.

    It has the calls of a Model, as far as requests have them. Results are computed by the server
    while they are asked for, some hundred records at a time.
    """

    def __init__(self, url: str, token: Optional[str], timeout: float):
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidArgument(f"connect: '{url}' is no address http://HOST:PORT",
                                  Status.INVALID_ARGUMENT)
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        near = parts.hostname in ("localhost", "127.0.0.1", "::1")
        handlers = [urllib.request.ProxyHandler({})] if near else []
        self._opener = urllib.request.build_opener(NoRedirects, *handlers)
        self._context = new_context(1)
        self.info: Dict[str, Any] = self._get("/health")

    # ---- life ----

    def close(self) -> None:
        """Nothing is kept open; here for programs that close models."""

    def __enter__(self) -> "Remote":
        return self

    def __exit__(self, *what: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        return (f"<bioinfer.Remote {self.url}, {self.info.get('model')!r}, "
                f"{self.info.get('device')}, {self.info.get('precision')}>")

    # ---- facts ----

    @property
    def family(self) -> str:
        return str(self.info["family"])

    @property
    def name(self) -> str:
        return str(self.info["model"])

    @property
    def letters(self) -> int:
        return letters_of(self.family)

    @property
    def width(self) -> int:
        return int(self.info["width"])

    @property
    def n_layers(self) -> int:
        return int(self.info["layers"])

    @property
    def device(self) -> str:
        return str(self.info["device"])

    def fingerprint(self) -> str:
        """All that decides this model's numbers."""
        return str(self.info["fingerprint"])

    def openapi(self) -> Dict[str, Any]:
        """The description of the server's interface (OpenAPI 3.1)."""
        return self._get("/openapi.json")

    # ---- requests ----

    def _get(self, path: str) -> Dict[str, Any]:
        return self._send(urllib.request.Request(self.url + path, headers=self._headers))

    def _ask(self, task: str, body: Dict[str, Any]) -> Dict[str, Any]:
        request = urllib.request.Request(
            f"{self.url}/v1/{task}", json.dumps(body).encode(),
            dict(self._headers, **{"Content-Type": "application/json"}))
        return self._send(request)

    def _send(self, request: urllib.request.Request) -> Dict[str, Any]:
        """The answer as JSON. A server that is busy is asked again for `timeout` seconds."""
        end = time.monotonic() + self._timeout
        while True:
            try:
                with self._opener.open(request, timeout=self._timeout) as answer:
                    found: Dict[str, Any] = json.load(answer)
                    return found
            except urllib.error.HTTPError as error:
                with error:
                    word, text = _reason(error)
                    again = error.headers.get("Retry-After", "1")
                wait = max(float(again) if again.isdecimal() else 1.0, LEAST_WAIT)
                if error.code not in AGAIN or word == "draining" or \
                        time.monotonic() + wait > end:
                    raise _error(error.code, word, f"{self.url}: {text}") from None
            except (OSError, ValueError, http.client.HTTPException) as error:
                reason = getattr(error, "reason", error)
                raise Error(f"{self.url}: {reason or type(reason).__name__}",
                            Status.IO_ERROR) from None
            time.sleep(wait)

    def _params(self, task: str, given: Dict[str, Any], **more: Any) -> Dict[str, Any]:
        """Members of a request, by the names that it has for keywords of Python."""
        names = {row["member"]: row for row in fields(task)}
        found: Dict[str, Any] = {name: value for name, value in more.items() if value is not None}
        for member, value in chosen(**given).items():
            row = names.get(member)
            if row is None:
                raise TypeError(f"{task}: '{member}' is no parameter")
            if not row["takers"] & REQUEST:
                raise Unsupported(f"{task}: a request to a server has no '{member}'",
                                  Status.UNSUPPORTED)
            found[row["name"]] = list(value) if isinstance(value, tuple) else value
        return found

    def _records(self, sequences: Sequences, raw: int) -> Iterator[Item]:
        """Records of the file at a path, read by the policy `raw`, or those given, as they are."""
        if isinstance(sequences, (str, os.PathLike)):
            for name, text, status, message in told_records(self._context, os.fspath(sequences),
                                                            raw):
                yield Item(name, text, {"status": Status(status).name, "message": message}
                           if status else None)
            return
        if isinstance(sequences, (bytes, bytearray)):
            raise TypeError("a sequence goes in a list: [sequence]")
        items: Any = sequences.items() if isinstance(sequences, Mapping) else sequences
        for ordinal, item in enumerate(items):
            name, sequence = record_of(item, ordinal)[:2]
            yield Item(_text(name), _text(sequence))

    # ---- tasks ----

    @takes("embed")
    def embed(self, sequences: Sequences, include: Union[str, Iterable[str], None] = None, *,
              progress: Optional[Progress] = None,
              **params: "Unpack[EmbedKeywords]") -> "Results[Embedding]":
        """Embeddings and other arrays of sequences, as of a Model."""
        wanted = include if include is None or isinstance(include, str) else tuple(include)
        return self._sequences("embed", sequences, self._params(
            "embed", dict(params, include=wanted), floats="base64"),
            lambda row, ordinal: [Embedding(_raw(row, ordinal))], progress)

    def _sequences(self, task: str, source: Sequences, params: Dict[str, Any],
                   make: Callable[[Dict[str, Any], int], List[R]],
                   progress: Optional[Progress], mutations: Any = None) -> "Results[R]":
        raw = task == "tracks" or self.letters == LETTERS_PAIRS
        each = isinstance(mutations, Mapping)

        def read(what: Any) -> Iterator[Item]:
            for item in self._records(what, raw):
                wanted = mutations.get(item.id) if each else mutations
                yield item if wanted or mutations is None or item.known else \
                    item._replace(known=self._unasked(item, raw))

        def body(batch: List[Item]) -> Dict[str, Any]:
            items: List[Dict[str, Any]] = [{"id": item.id, "sequence": item.text}
                                           for item in batch]
            for item in items if each else ():
                item["mutations"] = mutations[item["id"]]
            return {"sequences": items} if each or mutations is None else {
                "sequences": items, "mutations": mutations}
        return RemoteResults(self, task, params, source, read, body, make, progress)

    def _unasked(self, item: Item, raw: int) -> Dict[str, Any]:
        """The result of a record no mutation of which is asked for: the server, without mutations,
        would compute all its positions."""
        _, _, length, message, status = _core.Records(
            self._context, [(item.id, item.text)], 0, raw).describe(0)
        return {"length": length, "status": Status(status).name if status else "ok",
                "message": message}

    @takes("score")
    def score(self, sequences: Sequences, method: Optional[str] = None, *,
              mutations: Union[Sequence[str], Mapping[str, Sequence[str]], None] = None,
              offset: int = 1, progress: Optional[Progress] = None,
              **params: "Unpack[ScoreKeywords]") -> "Results[RemoteScore]":
        """Scores of `mutations`, a list or {id: list}, or without them the pseudo-perplexity. A
        record without mutations in the dict has no scores, as of a Model."""
        asked = None if mutations is None else _mutations(mutations)
        return self._sequences(
            "score", sequences, self._params("score", dict(params, method=method),
                                             offset=None if offset == 1 else offset),
            lambda row, ordinal: [RemoteScore(_raw(row, ordinal), row)], progress, asked)

    def tracks(self, windows: Sequences, *, head: Optional[str] = None,
               tracks: Optional[Sequence[int]] = None, reverse_complement: bool = False,
               progress: Optional[Progress] = None) -> "Results[Tracks]":
        """Tracks [bins, tracks] of windows of DNA, of one head."""
        params: Dict[str, Any] = chosen(head=head, floats="base64", rc=reverse_complement or None)
        if tracks is not None:
            params["tracks"] = [int(i) for i in tracks]
        return self._sequences("tracks", windows, params,
                               lambda row, ordinal: [Tracks(_raw(row, ordinal))], progress)

    @takes("fold")
    def fold(self, sequences: Sequences, text: str = "cif", include: Union[str, Iterable[str]] =
             ("plddt", "coordinates"), *, progress: Optional[Progress] = None,
             **params: "Unpack[FoldKeywords]") -> "Results[Fold]":
        """Structures of complexes, whose chains have ":" between."""
        def make(row: Dict[str, Any], ordinal: int) -> List[Fold]:
            return [structure({**row, **sample}, ordinal) for sample in row.get("samples", [{}])]

        def structure(row: Dict[str, Any], ordinal: int) -> Fold:
            first, chains = 0, []
            for chain in row.get("chains", ()):
                chains.append((chain["name"], first, chain["length"], chain["plddt"]))
                first += chain["length"]
            nan = float("nan")
            fold = (row.get("sample", 0), row.get("sequence"), row.get("plddt", nan),
                    row.get("shortest_bond", nan), row.get("longest_bond", nan),
                    row.get("ptm", nan), tuple(chains), row.get("iptm", nan), row.get("seed", -1))
            texts = {text: row["structure"].encode()} if "structure" in row else {}
            return Fold(_raw(row, ordinal, fold=fold, texts=texts))

        wanted = include if isinstance(include, str) else tuple(include)
        return RemoteResults(
            self, "fold", self._params("fold", dict(params, text=text, include=wanted),
                                       floats="base64"),
            sequences, lambda what: self._records(what, RESIDUES_COMPLEX),
            lambda batch: {"complexes": [{"id": item.id, "chains": item.text}
                                         for item in batch]}, make, progress, 1)

    @takes("design")
    def design(self, source: Any, n: int = 1, *, temperature: Union[float, Sequence[float]] = 0.1,
               progress: Optional[Progress] = None,
               **params: "Unpack[DesignKeywords]") -> "Results[Design]":
        """Sequences for protein structures, as of a Model."""
        nan = float("nan")
        warm = [temperature] if isinstance(temperature, (int, float)) else list(temperature)

        def make(row: Dict[str, Any], ordinal: int) -> List[Design]:
            made = []
            for design in row.get("designs", ()):
                numbers = [nan if design.get(key) is None else design[key] for key in
                           ("temperature", "score", "global_score", "seq_recovery")]
                made.append(Design(_raw(
                    row, ordinal, design["sequence"],
                    design=(None, None, design["source"] == "native", design["sample"], *numbers,
                            None, None, None, None))))
            return made or [Design(_raw(row, ordinal))]

        def read(what: Any) -> Iterator[Item]:
            for name, text in structures(what):
                yield _file_item(name, text)

        return RemoteResults(
            self, "design", self._params("design", {**params, "n_sequences": n,
                                                    "temperatures": tuple(map(float, warm))}),
            source, read, lambda batch: {"structures": [{"id": item.id, "structure": item.text}
                                                        for item in batch]},
            make, progress)

    @takes("affinity")
    def affinity(self, source: Any, receptor: Union[str, "os.PathLike[str]", None] = None, *,
                 progress: Optional[Progress] = None,
                 **params: "Unpack[AffinityKeywords]") -> "Results[Affinity]":
        """Binding energies of ligands in their poses beside a receptor (PDB or mmCIF). `source`
        is the path of a file of molecules, or an iterable of pairs (id, text)."""
        if receptor is None:
            raise InvalidArgument("affinity: a request to a server has one receptor",
                                  Status.INVALID_ARGUMENT)
        with open(receptor, "rb") as file:
            pocket = _inflated(os.fspath(receptor), file.read())

        def read(what: Any) -> Iterator[Item]:
            for item in ligands(self._context, what):
                yield _file_item(item[0], item[1])

        def make(row: Dict[str, Any], ordinal: int) -> List[Affinity]:
            numbers = None if "energy" not in row else (
                row["energy"], row["pairs"], row["ligand_atoms"], row["pocket_atoms"], 0,
                row["distance"])
            return [Affinity(_raw(row, ordinal, affinity=numbers))]

        return RemoteResults(
            self, "affinity", self._params("affinity", dict(params)), source, read,
            lambda batch: {"receptor": pocket, "ligands": [item.text for item in batch]}, make,
            progress)


def _reason(error: urllib.error.HTTPError) -> Tuple[str, str]:
    """Word and words of an error that the server sent as JSON."""
    try:
        told = json.load(error)["error"]
        return str(told["status"]), str(told["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return "", f"HTTP {error.code} {error.reason}"


def _error(code: int, word: str, text: str) -> Error:
    if code == 404:
        return NotFound(text, Status.NOT_FOUND)
    if code == 413:
        return TooLarge(text, Status.LIMIT)
    status = _status(word)
    kind: Type[Error] = CLASSES.get(int(status), Error)
    return kind(text, status)


def connect(url: str, *, token: Optional[str] = None, timeout: float = 600) -> Remote:
    """A server that was started by `bioinfer serve`, at "http://HOST:PORT".

    `token` is the first line of its --token-file. A server that is busy is asked again for
    `timeout` seconds; a longer answer is an error, too.
    """
    return Remote(url, token, timeout)
