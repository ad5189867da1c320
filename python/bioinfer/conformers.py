"""Makes an SDF of conformers from SMILES: `python3 -m bioinfer.conformers library.smi > out.sdf`.

RDKit makes them: `pip install 'bioinfer[chem]'`. The rest of the package does not need it.
"""
import argparse
import collections
import concurrent.futures
import gzip
import importlib
import itertools
import os
import sys
import zlib
from concurrent.futures.process import BrokenProcessPool
from typing import IO, Any, Deque, Iterable, Iterator, List, NamedTuple, Optional, Sequence

CHUNK = 8  # molecules that a process takes at a time
FAILURE = ("record", "line", "id", "status", "message")


class Entry(NamedTuple):
    """A line of SMILES: `record` counts molecules from 1, `line` the lines of the file."""

    record: int
    line: int
    smiles: str
    name: str


class Settings(NamedTuple):
    seed: int = 0
    strip_salts: bool = False
    max_atoms: int = 300  # heavier than hydrogen


class Conformer(NamedTuple):
    """The record of an SDF, or why there is none: `sdf` is empty then."""

    entry: Entry
    sdf: str = ""
    status: str = "ok"
    message: str = ""
    n_guessed: int = 0  # stereocentres that the SMILES leaves open


class Refused(ValueError):
    """A molecule without a conformer: a status and a reason."""

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status = status


def rdkit() -> Any:
    """RDKit's module Chem. ImportError says how to install it."""
    try:
        chem: Any = importlib.import_module("rdkit.Chem")
        log: Any = importlib.import_module("rdkit.RDLogger")
    except ImportError as error:
        raise ImportError("conformers are made by RDKit: pip install 'bioinfer[chem]' "
                          f"(or the package rdkit): {error}") from None
    log.DisableLog("rdApp.*")  # each failure has its row
    return chem


# ---- SMILES ----

def split(line: str) -> "tuple[str, str]":
    """SMILES and name of a line: fields between tabs, or words. An extension `|...|` after the
    SMILES belongs to it."""
    head, *rest = line.split("\t") if "\t" in line else line.split(None, 1)
    smiles, name = head.strip(), rest[0].strip() if rest else ""
    end = name.find("|", 1)
    if name.startswith("|") and end > 0:
        smiles, name = f"{smiles} {name[:end + 1]}", name[end + 1:].strip()
    return smiles, name


def entries(lines: Iterable[bytes]) -> Iterator[Entry]:
    """The molecules of a file of SMILES. Empty lines and a first line `smiles` are passed over."""
    record = 0
    for number, raw in enumerate(lines, 1):
        line = raw.decode("utf-8", "replace").strip("\ufeff\r\n")
        if not line.strip():
            continue
        smiles, name = split(line)
        if number == 1 and smiles.lower() == "smiles":
            continue
        record += 1
        plain = "".join(c if c.isprintable() else " " for c in name)
        yield Entry(record, number, smiles, plain or f"molecule_{record}")


def seed_of(record: int, seed: int) -> int:
    """The seed of a record's random numbers: below 2^31, and another one for each record."""
    return (seed * 1_000_003 + record) % (1 << 31)


# ---- a conformer ----

def parse(chem: Any, smiles: str) -> Any:
    """The molecule of a SMILES."""
    molecule = chem.MolFromSmiles(smiles, sanitize=False) if smiles else None
    if molecule is None:
        raise Refused("bad_format", f"no SMILES: {smiles[:80]!r}")
    problems = [problem.Message() for problem in chem.DetectChemistryProblems(molecule)]
    if problems:
        raise Refused("unsupported", "; ".join(problems))
    chem.SanitizeMol(molecule)
    # without this, tags of atoms that are no centres would stay
    chem.AssignStereochemistry(molecule, cleanIt=True, force=True)
    return molecule


def largest(chem: Any, molecule: Any, settings: Settings) -> Any:
    """The fragment of the most heavy atoms, the first of equal ones."""
    fragments = chem.GetMolFrags(molecule, asMols=True)
    if len(fragments) > 1 and not settings.strip_salts:
        raise Refused("unsupported", f"{len(fragments)} fragments; --strip-salts keeps the largest")
    kept = max(fragments, key=lambda fragment: fragment.GetNumHeavyAtoms(), default=molecule)
    n = kept.GetNumHeavyAtoms()
    if not n:
        raise Refused("empty", "no atom heavier than hydrogen")
    if n > settings.max_atoms:
        raise Refused("limit", f"{n} heavy atoms, more than --max-atoms {settings.max_atoms}")
    return kept


def embed(molecule: Any, seed: int) -> None:
    """Gives the molecule coordinates: ETKDGv2; where that fails, from random places, and MMFF
    then moves them."""
    distances: Any = importlib.import_module("rdkit.Chem.rdDistGeom")
    fields: Any = importlib.import_module("rdkit.Chem.rdForceFieldHelpers")
    settings = distances.ETKDGv2()
    settings.randomSeed = seed
    try:
        if distances.EmbedMolecule(molecule, settings) == 0:
            return
        settings.useRandomCoords = True
        if distances.EmbedMolecule(molecule, settings) != 0:
            raise Refused("failed", "no conformer was found, from random coordinates either")
        if fields.MMFFHasAllMoleculeParams(molecule):
            fields.MMFFOptimizeMolecule(molecule)
    except (RuntimeError, ValueError) as error:
        if isinstance(error, Refused):
            raise
        raise Refused("failed", f"RDKit: {error}") from None


def conformer(entry: Entry, settings: Settings = Settings()) -> Conformer:
    """One conformer of a molecule, with all hydrogens, or the reason why there is none."""
    chem = rdkit()
    try:
        molecule = largest(chem, parse(chem, entry.smiles), settings)
        centres = chem.FindMolChiralCenters(molecule, includeUnassigned=True,
                                            useLegacyImplementation=False)
        molecule = chem.AddHs(molecule)
        embed(molecule, seed_of(entry.record, settings.seed))
        molecule.SetProp("_Name", entry.name)
        block = chem.MolToMolBlock(molecule)
    except Refused as error:
        return Conformer(entry, "", error.status, " ".join(str(error).split()))
    fields = (("record", entry.record), ("smiles", entry.smiles))
    data = "".join(f"> <{key}>\n{value}\n\n" for key, value in fields)
    return Conformer(entry, f"{block}{data}$$$$\n", n_guessed=sum(c[1] == "?" for c in centres))


def conformers_of(chunk: Sequence[Entry], settings: Settings) -> List[Conformer]:
    return [conformer(entry, settings) for entry in chunk]


def conformers(found: Iterable[Entry], settings: Settings = Settings(),
               jobs: int = 1) -> Iterator[Conformer]:
    """A conformer of each molecule, in their order; equal ones with any number of processes."""
    if jobs < 2:
        yield from (conformer(entry, settings) for entry in found)
        return
    waiting: Deque["concurrent.futures.Future[List[Conformer]]"] = collections.deque()
    molecules = iter(found)
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        try:
            while True:
                chunk = list(itertools.islice(molecules, CHUNK))
                if chunk:
                    waiting.append(pool.submit(conformers_of, chunk, settings))
                if not waiting:
                    return
                if not chunk or len(waiting) >= 4 * jobs:
                    yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


# ---- the command ----

def opened(path: str) -> Any:
    """The file, or standard input for `-`, inflated where it is gzip."""
    file: Any = sys.stdin.buffer if path == "-" else open(path, "rb")
    return gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == b"\x1f\x8b" else file


def lines_of(paths: Sequence[str]) -> Iterator[bytes]:
    for path in paths:
        with opened(path) as file:
            yield from file


def whole(least: int, most: int) -> Any:
    def read(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{text}: {least} to {most} is wanted")
        return value
    read.__name__ = "number"
    return read


def arguments(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m bioinfer.conformers",
        description="Makes an SDF of conformers from SMILES, one of each molecule, by RDKit's "
        "ETKDG. A line has a SMILES and perhaps a name. Molecules without a conformer are rows "
        "of --failures, and make the exit status 1.")
    parser.add_argument("file", help="file of SMILES, plain or gzip; - is standard input")
    parser.add_argument("-o", "--output", default="-", metavar="FILE",
                        help="SDF to write; - is standard output (default)")
    parser.add_argument("--failures", default="-", metavar="FILE",
                        help="table of molecules without a conformer; - is standard error "
                        "(default)")
    parser.add_argument("--jobs", type=whole(1, 1024), default=1, metavar="N",
                        help="processes (default 1); the output does not depend on it")
    parser.add_argument("--seed", type=whole(0, 2**31 - 1), default=0, metavar="N",
                        help="another seed gives other conformers (default 0)")
    parser.add_argument("--strip-salts", action="store_true",
                        help="keep the largest fragment; else molecules of several are refused")
    parser.add_argument("--max-atoms", type=whole(1, 10000), default=300, metavar="N",
                        help="refuse molecules of more heavy atoms (default 300)")
    return parser.parse_args(argv)


class Failures:
    """The table of failures; its header is written with the first row."""

    def __init__(self, path: str):
        self.file = sys.stderr if path == "-" else open(path, "w", encoding="utf-8")
        self.n = 0

    def add(self, lost: Conformer) -> None:
        if not self.n:
            print(*FAILURE, sep="\t", file=self.file)
        self.n += 1
        print(lost.entry.record, lost.entry.line, lost.entry.name, lost.status, lost.message,
              sep="\t", file=self.file)

    def close(self) -> None:
        if self.file is not sys.stderr:
            self.file.close()


def write(options: argparse.Namespace, out: IO[str], failures: Failures) -> int:
    settings = Settings(options.seed, options.strip_salts, options.max_atoms)
    n = n_open = 0
    for made in conformers(entries(lines_of([options.file])), settings, options.jobs):
        n += 1
        n_open += made.n_guessed > 0
        if made.status == "ok":
            out.write(made.sdf)
        else:
            failures.add(made)
    if not n:
        print(f"bioinfer.conformers: {options.file}: no molecule", file=sys.stderr)
        return 1
    if n_open:
        print(f"bioinfer.conformers: molecules whose SMILES leave a stereocentre open: {n_open}; "
              "one form of each was taken", file=sys.stderr)
    if failures.n:
        print(f"bioinfer.conformers: molecules without a conformer: {failures.n} of {n}",
              file=sys.stderr)
    return 1 if failures.n else 0


def main(argv: Optional[Sequence[str]] = None) -> int:
    options = arguments(argv)
    try:
        rdkit()
        failures = Failures(options.failures)
        out = sys.stdout if options.output == "-" else open(options.output, "w", encoding="utf-8")
        try:
            return write(options, out, failures)
        finally:
            failures.close()
            if out is not sys.stdout:
                out.close()
            else:
                out.flush()
    except BrokenPipeError:  # the reader has gone, and has said why
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ImportError, OSError, EOFError, zlib.error, BrokenProcessPool) as error:
        print(f"bioinfer.conformers: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
