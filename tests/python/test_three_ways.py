"""Every parameter of a task's table, set by the command line, by a request to the server and by
Python's keyword, gives the same numbers. The cases are made from the rows."""
import gzip
import io
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

import bioinfer
from bioinfer import _core
from bioinfer._atoms import voigt
from conftest import ROOT, TINY
from test_fold import H, L, WEIGHTS
from test_variants import WEIGHTS as GENOMICS, make_folder

COMMAND, REQUEST, SERVE, PYTHON = 1, 2, 4, 8
GPA = 160.2176634
FLAG, INT, REAL, CHOICE, BITS, TEXT, NAMES, FILE, OUTPUT, PATH, RANGE, COST = range(12)
TASKS = ("affinity", "align", "embed", "score", "design", "fold", "energy", "tracks",
         "contributions", "variants", "relax", "md")
SEQUENCES = {"a": "MKTAYIAKQR", "b": "GSHMSLFDFFKNKGSHM", "c": "mk-tayu"}
FASTA = "".join(f">{name}\n{sequence}\n" for name, sequence in SEQUENCES.items())
WINDOWS = os.path.join(ROOT, "tests", "golden", "enformer", "half")
with open(os.path.join(WINDOWS, "window.fa"), encoding="ascii") as _file:
    BASES = _file.read().split("\n", 1)[1].replace("\n", "")
CHAINS = {"a": f"{H}:{L}", "short": f"{H}:{L[:60]}"}
NUMBERS = {"max_length": ("9", "12"), "window": ("9", "12"), "tokens_at_once": ("12", "40"),
           "memory_limit": ("100000000",), "layers": ("0", "-1", "0,3,-1"), "no_rules": ("all",),
           "n_sequences": ("2",), "temperatures": ("0.5", "0.1,1"), "seed": ("5",),
           "rng_skip": ("0", "3"), "per_draw": ("1",), "chains": ("A", "B"), "omit_aa": ("ACL",),
           "pssm_multi": ("0.5",), "pssm_threshold": ("1",), "backbone_noise": ("0.2",),
           "pocket": ("1", "7"), "cycles": ("0", "1"), "samples": ("2",),
           "seeds": ("1,2",), "msa_depth": ("3",),
           "charge": ("0", "1.5"), "head": ("mouse",), "tracks": ("0", "2,1"),
           "outputs": ("human", "human,mouse:1+0"), "organism": ("mouse",), "shifts": ("1", "0,-2"),
           "bins": ("2-5", "7-7"), "resolution": ("128",),
           "transmembrane": ("1",), "buried": ("A3 A4",),
           "interface_": ("A3",), "fmax": ("0.2",), "steps": ("2", "6"), "every": ("2",),
           "dt": ("0.1",), "temperature": ("0", "50"), "friction": ("0.5",),
           "matrix": ("BLOSUM62", "EDNAFULL", "PAM30"),
           "match": ("0", "2", "0.125"), "mismatch": ("-4", "-0.5"),
           "gap_open": ("7", "12.5", "0", "4,24"), "gap_extend": ("1", "0.25", "2,1"),
           "device": ("cpu",)}
FRAMED = "energy", "relax", "md"
PATHS = "trajectory", "folder", "resume"  # the command has them from -o and --resume
DUALBIND = os.path.join(ROOT, "tests", "golden", "dualbind")
RECEPTOR, POSES = (os.path.join(DUALBIND, name) for name in ("6w70.pdb.gz", "poses.sdf"))
NUMBERS["receptor"] = (RECEPTOR,)
PAIRS = os.path.join(ROOT, "tests", "golden", "esmfold2", "pairs")
NUMBERS["msa"] = (PAIRS,)
COMPONENTS = os.path.join(ROOT, "share", "components", "components.txt")
NUMBERS["ccd"] = (COMPONENTS,)
PDB = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
SCORER = "CenterMaskScorer(requested_output=CHIP_TF, width=501, aggregation_type=DIFF_LOG2_SUM)"
# Files of variants beside make_folder()'s, and the cases: values, and what goes with them.
FOLDER = {"pas.tsv": "gene_id\tpas_strand\tStart\tEnd\n" + "".join(
              f"G1\t+\t{start}\t{start + 1}\n" for start in (12990, 13500, 13900)),
          "q.tsv": "variant_scorer\ttrack_name\ttrack_strand\t-1\t0\t1\n"
                   f"{SCORER}\tT0\t.\t-1\t0\t1\n",
          "o.tsv": "head\tidentifier\tontology\n" + "".join(
              f"human.atac.128\t{name}\tCL:{i + 1}\n" for i, name in enumerate("AB"))}
ATAC, SCORED = {"outputs": "atac.128"}, {"targets": "t.tsv", "gtf": "g.gtf"}
VARIANTS = {"outputs": (("atac.128", "cage.128,atac.128"), {}), "tracks": (("0", "1,0", "B*"), {
                **ATAC, "targets": "o.tsv"}), "targets": (("o.tsv",), {**ATAC, "tracks": "B*"}),
            "ontology": (("CL:2", "CL:2,CL:1"), {**ATAC, "targets": "o.tsv"}),
            "stats": (("SAR", "ALT,SAD"), ATAC), "indel": (("both", "left", "right"), ATAC),
            "scorers": (("center", "gene,contact"), SCORED), "gtf": (("g.gtf",), {
                "targets": "t.tsv", "scorers": "gene"}),
            "polya": (("pas.tsv",), {**SCORED, "scorers": "polya"}),
            "quantiles": (("q.tsv",), {**SCORED, "scorers": "center"}),
            "contributions": (("true", "false"), {**ATAC, "tracks": "0"}),
            "bins": (("2-5", "7-7"), {**ATAC, "tracks": "0", "contributions": "true"}),
            "kind": (("variants", "intervals", "mutagenesis", "windows"), {**ATAC, "tracks": "1"}),
            "organism": (("human", "mouse"), {}), "resolution": (("128",), {"outputs": "atac"}),
            "shifts": (("1", "0,-2"), ATAC), "reverse_complement": (("true", "false"), ATAC),
            "memory_limit": (("4000000000",), ATAC), "no_rules": (("all",), ATAC)}
# options tell the charge of the second frame, and the periodic axes of both
FRAMES = "".join(f"""3
Lattice="5 0 0 0 5 0 0 0 5" pbc="T F F" {charge}
O 0 0 0.119
H 0 0.763 -0.477
H 0 -0.763 -0.477
""" for charge in ("charge=1", ""))
FILES = {"chains-file": '{"5L33": [["A"], []]}', "fixed": '{"5L33": {"A": [1, 2, 3]}}',
         "tied": '{"5L33": [{"A": [1]}, {"A": [2, 3]}]}',
         "omit": '{"5L33": {"A": [[[1, 2], "GA"]]}}',
         "bias": '{"A": 2.5}', "bias-residue": None, "pssm": None,
         "sequences": ">x\n" + 106 * "A" + "\n"}


def rows(task):
    found = []
    while (row := _core.params_field(task, len(found))) is not None:
        found.append(row)
    return found


def values(task, row):
    """Texts that the parameter may have."""
    if task == "variants":
        return VARIANTS[row["member"]][0]
    if row["kind"] in (CHOICE, BITS):
        words = [word.split("=")[0] for word in row["choices"].split("|")]
        return words + ([",".join(words[:3])] if row["kind"] == BITS else [])
    if row["kind"] == FILE:
        return () if FILES[row["name"]] is None else (FILES[row["name"]],)
    return ("true", "false") if row["kind"] == FLAG else NUMBERS[row["member"]]


CASES = [(task, row["name"], text) for task in TASKS for row in rows(task)
         if task != "md" or row["name"] not in PATHS for text in values(task, row)]
# Values that these weights refuse. All others give numbers.
REFUSED = {("embed", "include", "head"), ("embed", "include", "class-logits"),
           ("design", "no-ligand", "true"), ("design", "side-chain-context", "true"),
           ("design", "transmembrane", "1"), ("design", "buried", "A3 A4"),
           ("design", "interface", "A3"), ("fold", "cycles", "1"), ("fold", "include", "pae"),
           ("fold", "loops", "1"), ("fold", "recycles", "1"), ("fold", "samples", "2"),
           ("fold", "steps", "2"), ("fold", "steps", "6"), ("fold", "seeds", "1,2"),
           ("fold", "seed", "1,2"), ("fold", "include", "plddt,coordinates,pae"),
           ("fold", "msa", PAIRS), ("fold", "msa-depth", "3"), ("fold", "ccd", COMPONENTS)}
MODELS = {"embed": ("esm2", "--weights", TINY), "score": ("esm2", "--weights", TINY),
          "design": ("proteinmpnn",), "fold": ("flashabb",),
          "tracks": ("enformer", "--weights", WINDOWS),
          "contributions": ("enformer", "--weights", WINDOWS),
          "variants": ("alphagenome", "--weights", GENOMICS)}
SOURCES = {"affinity": POSES, "design": PDB, "embed": list(SEQUENCES.items()),
           "score": list(SEQUENCES.items()), "fold": list(CHAINS.items()), "tracks": [("w", BASES)],
           "contributions": [("w", BASES)]}
PAIRS = [(("q", "ACGTTGCATGCAGTACGTTT"), ("t", "TTACGTTGCGCAGTCACGAA")),
         (("r", "ACGTRYKMACGTACGT"), ("u", "ACGTACGTACG"))]
# Options without which one is refused.
COMPANY = {("align", "match"): {"mismatch": "-3"}, ("align", "mismatch"): {"match": "5"},
           ("align", "letters"): {"match": "5", "mismatch": "-4"},
           ("align", "gap-open", "4,24"): {"gap-extend": "2,1"},
           ("align", "gap-extend", "2,1"): {"gap-open": "4,24"},
           ("align", "gap-convention"): {"gap-open": "3.5"},
           ("design", "sequences"): {"score-only": "true"}}
# affinity and energy come later, with weights that are made


class Server:
    def __init__(self, exe, folder, task, *options):
        if task == "variants":
            options += ("--genome", os.path.join(SOURCES[task], "g.fa"))
        self.log = os.path.join(folder, "log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [exe, "serve", *MODELS.get(task, MODELS["embed"]), "--device", "cpu", "--threads",
                 "1", "--listen", "127.0.0.1:0", *options], stderr=log)

    def address(self):
        while not (found := re.search(r" at (http://\S+)", open(self.log).read())):
            assert self.process.poll() is None, open(self.log).read()
            time.sleep(0.02)
        return found[1]

    def ask(self, task, body):
        """The body of the answer, or the words of the error; and whether there is an answer."""
        request = urllib.request.Request(f"{self.address()}/v1/{task}", json.dumps(body).encode())
        try:
            return urllib.request.urlopen(request).read(), True
        except urllib.error.HTTPError as error:
            return json.loads(error.read())["error"]["message"], False


@pytest.fixture(scope="module")
def models(tiny, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("weights") / "w.safetensors")
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    pytest.importorskip("dualbind_weights").write(path, 64, 0)
    MODELS["affinity"] = ("dualbind", "--weights", path)
    atoms = str(tmp_path_factory.mktemp("weights") / "o3.ckpt")
    pytest.importorskip("tensornet_weights").write_torchmd(atoms)
    SOURCES["energy"] = str(tmp_path_factory.mktemp("frames") / "in.xyz")
    with open(SOURCES["energy"], "w") as file:
        file.write(FRAMES)
    for task in FRAMED:
        MODELS[task] = ("tensornet", "--weights", atoms, "--factor-order", "new")
    folder = make_folder(tmp_path_factory.mktemp("genome"))
    for name, text in FOLDER.items():
        (folder / name).write_text(text)
    SOURCES["variants"] = str(folder)
    with bioinfer.open(family="proteinmpnn", device="cpu", threads=1) as design, \
            bioinfer.open(path, device="cpu", threads=1) as affinity, \
            bioinfer.open(atoms, device="cpu", threads=1, factor_order="new") as energy, \
            bioinfer.open(WINDOWS, device="cpu", threads=1) as tracks, \
            bioinfer.open(GENOMICS, device="cpu", threads=1) as variants, \
            bioinfer.open(WEIGHTS, device="cpu", threads=1) as fold:
        yield {"affinity": affinity, "embed": tiny, "score": tiny, "design": design, "fold": fold,
               "tracks": tracks, "contributions": tracks, "variants": variants,
               **dict.fromkeys(FRAMED, energy)}


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server for each list of options, started when it is first asked for."""
    servers = {}

    def of(task, *options):
        key = MODELS.get(task), options
        if key not in servers:
            servers[key] = Server(os.environ["BIOINFER_COMMAND"],
                                  str(tmp_path_factory.mktemp("serve")), task, *options)
        return servers[key]
    yield of
    for server in servers.values():
        server.process.terminate()
        server.process.wait()


def arrays(npz):
    with np.load(io.BytesIO(npz)) as file:
        return {name: file[name] for name in file.files}


# ---- variants ----

PLACES = {"variants": ("v.vcf",), "intervals": ("i.bed",), "mutagenesis": ("i.bed", "--ism"),
          "windows": ("w.fa",)}


def kind_of(given):
    """The kind of the records, by the parameters."""
    return given.get("kind", "intervals" if "contributions" in given else "variants")


def lines_of(table):
    """Cells of each line of a table."""
    return dict(enumerate(tuple(line.split("\t")) for line in table.splitlines()))


def variants_by_command(given, folder):
    kind, exe, out = kind_of(given), os.environ["BIOINFER_COMMAND"], os.path.join(folder, "out.npz")
    if kind == "windows":
        with open(os.path.join(SOURCES["variants"], "g.fa")) as genome, \
                open(os.path.join(SOURCES["variants"], "w.fa"), "w") as file:
            file.write(">w\n" + genome.read().split("\n")[1][:8192] + "\n")
    options = [f"--{name}" if text == "true" else f"--{name}={text}"
               for name, text in given.items() if name != "kind" and text != "false"]
    options += [] if kind == "windows" else ["--genome", "g.fa"]
    done = subprocess.run([exe, *MODELS["variants"], *PLACES[kind], "--device", "cpu", "--threads",
                           "1", "-q", "-o", "-" if kind == "variants" else out, *options],
                          capture_output=True, text=True, cwd=SOURCES["variants"])
    if done.returncode not in (0, 1):
        return done.stderr
    if kind == "variants":
        return lines_of(done.stdout)
    with open(out, "rb") as file:
        return {name: array for name, array in arrays(file.read()).items()
                if isinstance(array, np.ndarray)}


def variants_by_server(served, given, more, fields):
    """By a server: parameters that it takes on its command line stand there."""
    options, members = [], {}
    for name, text in more.items():
        if fields[name]["takers"] & REQUEST:
            members[name] = text
        else:
            options += [f"--{name}", os.path.join(SOURCES["variants"], text)]
    with open(os.path.join(SOURCES["variants"], "v.vcf")) as file:
        body = {"variants": file.read(), "format": "tsv", **members, **given}
    said, there = served("variants", *options).ask("variants", body)
    return lines_of(said.decode()) if there else said


def cell(value):
    """A cell of the table."""
    if value is np.ma.masked:
        return ""
    if isinstance(value, np.floating):
        return "nan" if np.isnan(value) else "%.9g" % value
    return str(value)


def variants_by_python(model, given):
    """Lines of the table, or arrays."""
    folder = SOURCES["variants"]
    keywords = {name: os.path.join(folder, value) if str(value)[-4:] in (".tsv", ".gtf") else value
                for name, value in given.items() if name != "kind"}
    kind = kind_of(given)
    paths = [os.path.join(folder, name) for name in (PLACES[kind][0], "g.fa")]
    try:
        if kind == "windows":
            with open(paths[1]) as genome:
                bases = genome.read().split("\n")[1][:8192]
            found = model.run("variants", [("w", bases)], raw=True, kind=kind, **keywords)
        elif kind == "variants":
            found = model.variants(paths[0], genome=paths[1], **keywords)
        else:
            found = model.intervals(paths[0], genome=paths[1], mutagenesis=kind == "mutagenesis",
                                    **keywords)
        results = list(found)
    except bioinfer.Error as error:
        return str(error)
    if kind != "variants":
        return {r.id: dict(r) for r in results}
    if "scorers" in given:
        rows = [tuple(results[0])]
        for r in results:
            columns = [r.columns[name] for name in r.columns]
            rows += [tuple(map(cell, row)) for row in zip(*columns)]
        return dict(enumerate(rows))
    names, titles = found.track_names, []
    for key in results[0]:
        output, _, stat = key.rpartition(".")
        titles += [":".join([stat, output, track] if output else [stat, track])
                   for track in names[output or next(iter(names))]]
    rows = [("chrom", "pos", "id", "ref", "alt", "status", *titles)]
    for r in results:
        numbers = [cell(x) for key in r for x in r[key]] if r.ok else [""] * len(titles)
        rows.append((r.chrom, str(r.pos), r.columns["id"][0], r.ref, r.alt,
                     r.status.name.lower(), *numbers))
    return dict(enumerate(rows))


@pytest.mark.parametrize("name,text", [case[1:] for case in CASES if case[0] == "variants"])
def test_three_ways_of_variants(models, served, tmp_path, name, text):
    """The same for variants of a genome, whose other parameters each row has with it."""
    fields = {row["name"]: row for row in rows("variants")}
    more = VARIANTS[fields[name]["member"]][1]
    takers, found = fields[name]["takers"], {}
    if takers & COMMAND or name == "kind":
        found["command"] = variants_by_command({**more, name: text}, str(tmp_path))
    if takers & REQUEST:
        member = text.split(",") if fields[name]["kind"] == NAMES else text
        for value in (member, text):
            found[f"request {value}"] = variants_by_server(served, {name: value}, more, fields)
    if takers & SERVE:
        serves = ("--no-rule", text) if name == "no-rule" else ()
        found["serve"] = variants_by_server(
            lambda task, *options: served(task, *serves, *options), {},
            more if serves else {**more, name: text}, fields)
    assert takers & PYTHON
    keywords = [text == "true"] if fields[name]["kind"] == FLAG else [text]
    keywords += [text.split(",")] if fields[name]["kind"] == NAMES else []
    if name == "bins":
        keywords = [tuple(map(int, text.split("-")))]
    for keyword in keywords:
        python = variants_by_python(models["variants"],
                                    {**more, fields[name]["member"]: keyword})
        assert not isinstance(python, str), python
        for way, numbers in found.items():
            mine = flat(python, list(numbers)) if kind_of({**more, name: text}) != "variants" else \
                python
            assert same(mine, numbers), (way, mine, numbers)
    assert found or takers == PYTHON


# ---- other tasks ----

def by_command(task, options, folder):
    """Arrays, or rows of likelihoods, by the command; a text where it refuses."""
    exe, out = os.environ["BIOINFER_COMMAND"], os.path.join(folder, "out.npz")
    fasta = os.path.join(folder, "in.fasta")
    with open(fasta, "w") as file:
        file.write("".join(f">{name}\n{chains}\n" for name, chains in CHAINS.items())
                   if task == "fold" else FASTA)
    for k, path in enumerate(sides := [os.path.join(folder, "q.fa"), os.path.join(folder, "t.fa")]):
        with open(path, "w") as file:
            file.writelines(">%s\n%s\n" % pair[k] for pair in PAIRS)
    more = {"align": sides, "affinity": (RECEPTOR, POSES), "embed": (fasta, "-o", out),
            "score": (fasta, "-o", "-", "--method", "pppl"),
            "design": (PDB, "-o", "-", "--format", "tsv"),
            "energy": (SOURCES["energy"], "--format", "jsonl", "--forces", "--stress"),
            "relax": (SOURCES["energy"], "-o", os.path.join(folder, "out.extxyz")),
            "md": (SOURCES["energy"], "-o", os.path.join(folder, "out/")),
            "fold": (fasta, "-o", os.path.join(folder, "out"))}[task]
    done = subprocess.run([exe, task, *MODELS.get(task, ()), "--device", "cpu", "--threads", "1",
                           *more, *options], capture_output=True, text=True, cwd=folder)
    if done.returncode not in (0, 1):
        return done.stderr
    if task == "embed":
        with open(out, "rb") as file:
            return arrays(file.read())
    if task == "fold":
        return structures(os.path.join(folder, "out"))
    if task == "relax":
        with open(os.path.join(folder, "out.extxyz")) as file:
            return {"frames": file.read()}
    if task == "md":
        return {"ends": done.stdout}
    return {"affinity": energies, "align": alignments, "design": designs, "energy": forces,
            "score": likelihoods}[task](done.stdout)


def structures(folder):
    """The text and the arrays of each structure."""
    found = {}
    for name in os.listdir(folder):
        path, (stem, suffix) = os.path.join(folder, name), os.path.splitext(name)
        if suffix == ".npz":
            with np.load(path) as file:
                found.update({f"{stem}.{array}": file[array] for array in file.files})
        elif suffix == ".cif":
            with open(path) as file:
                found[name] = file.read()
    return found


def structures_of(results):
    """The same of an answer in JSON, whose numbers tell float32 apart."""
    found = {}
    for r in results:
        for array in r.get("arrays", ()):
            found[f"{r['id']}.{array['kind']}"] = np.array(array["data"], np.float32)
        if not r["status"] == "ok":
            continue
        found[f"{r['id']}.cif"] = r.get("structure", "")
    return found


def likelihoods(table):
    return {line.split("\t")[0]: line.split("\t")[2] for line in table.splitlines()[1:]}


def alignments(table):
    """Score and CIGAR, as inside() gives it, of each pair in a table."""
    lines = [line.split("\t") for line in table.splitlines()]
    found = [dict(zip(lines[0], line)) for line in lines[1:]]
    return {f["query"]: (f["score"], inside(f.get("cigar", ""))) for f in found}


def inside(cigar):
    """A CIGAR without gaps at its ends: tables have those that cost nothing, Python has not."""
    return re.sub(r"^(\d+[ID])+|(\d+[ID])+$", "", cigar)


def energies(table):
    """The energy of each ligand."""
    lines = [line.split("\t") for line in table.splitlines()]
    return {number: columns[lines[0].index("energy")] for number, columns in enumerate(lines[1:])}


def forces(lines):
    """Energy, forces and stress of each frame that has them."""
    return {number: tuple(np.ravel([frame["energy"], *sum(frame["forces"], []),
                                    *frame.get("stress", [])]))
            for number, frame in enumerate(map(json.loads, lines.splitlines()))
            if "energy" in frame}


def designs(table):
    """The sequence and the score of each row."""
    return {number: (columns[6], columns[3]) for number, columns in
            enumerate(line.split("\t") for line in table.splitlines()[1:])}


def by_server(server, task, members):
    if task == "affinity":
        with gzip.open(RECEPTOR, "rt") as receptor, open(POSES) as poses:
            said, there = server.ask(task, {"receptor": receptor.read(), "ligands": poses.read(),
                                            "format": "tsv", **members})
        return energies(said.decode()) if there else said
    if task == "align":
        pairs = [{"id": q, "query": query, "target_id": t, "target": target}
                 for (q, query), (t, target) in PAIRS]
        said, there = server.ask(task, {"pairs": pairs, "format": "tsv", **members})
        return alignments(said.decode()) if there else said
    if task == "fold":
        complexes = [{"id": name, "chains": chains} for name, chains in CHAINS.items()]
        said, there = server.ask(task, {"complexes": complexes, **members})
        return structures_of(json.loads(said)["results"]) if there else said
    if task == "design":
        with open(PDB) as file:
            structure = {"id": "5L33", "structure": file.read()}
        said, there = server.ask(task, {"structures": [structure], "format": "tsv", **members})
        return designs(said.decode()) if there else said
    body = {"sequences": [{"id": n, "sequence": s} for n, s in dict(SOURCES[task]).items()],
            **members}
    if task in ("embed", "tracks", "contributions"):
        said, there = server.ask(task, {**body, "format": "npz"})
        return arrays(said) if there else said
    said, there = server.ask(task, body)
    return said if not there else {r["id"]: "%.6f" % r["log_likelihood"]
                                   for r in json.loads(said)["results"] if "log_likelihood" in r}


def by_python(model, task, keywords):
    names = {"n_sequences": "n", "temperatures": "temperature"} if task == "design" else {}
    keywords = {names.get(name, name): value for name, value in keywords.items()}
    if task == "energy":
        every = not keywords.pop("energy_only", False)
        keywords.update(forces=every, stress=every)
    if task == "align":
        return aligned(keywords)
    if task == "fold":
        keywords.setdefault("include", ())
    if task == "affinity":
        keywords.setdefault("receptor", RECEPTOR)
    try:
        results = list(getattr(model, task)(SOURCES["energy" if task in FRAMED else task],
                                            **keywords))
    except bioinfer.Error as error:
        return str(error)
    usable = [r for r in results if not r.status]
    if task == "affinity":
        return {number: "%.6f" % r.energy for number, r in enumerate(usable)}
    if task == "energy":
        return {number: frame_of(r) for number, r in enumerate(results) if not r.status}
    if task == "relax":
        return {"frames": "".join(r.text for r in usable)}
    if task == "md":
        head = "id\tstep\ttime_fs\tenergy_eV\tkinetic_eV\ttotal_eV\ttemperature_K\n"
        return {"ends": head + "".join(
            "%s\t%d\t%.10g\t%.6f\t%.6f\t%.6f\t%.2f\n" %
            (r.id, r.steps, r.time, r.energy, r.kinetic, r.energy + r.kinetic, r.temperature)
            for r in usable)}
    if task == "design":
        return {number: (r.sequence, "%.6g" % r.score) for number, r in enumerate(usable)}
    if task == "fold":
        return {f"{r.id}.{name}": array for r in usable
                for name, array in (*r.items(), ("cif", r.text or ""))}
    if task == "score":
        return {r.id: "%.6f" % r.pseudo_log_likelihood for r in usable}
    return {r.id: dict(r) for r in usable}


def aligned(keywords):
    """The same as alignments() of the command's table, which guesses the letters."""
    if "match" not in keywords:
        keywords.setdefault("matrix", "EDNAFULL")
    keywords["traceback"] = not keywords.pop("score_only", False)
    try:
        found = list(bioinfer.align(*map(list, zip(*PAIRS)), threads=1,
                                    **{"matrix": None, **keywords}))
    except bioinfer.Error as error:
        return str(error)
    return {a.query_id: ("%.10g" % a.score, inside(a.cigar or "")) for a in found if not a.status}


def frame_of(result):
    """The same as forces() of a line that the command writes."""
    stress = [] if result.stress is None else GPA * voigt(result.stress)
    numbers = [result.energy, *np.ravel([] if result.forces is None else result.forces), *stress]
    return tuple(float("%.9g" % number) for number in numbers)


def same(left, right):
    if isinstance(left, str) or isinstance(right, str):  # refused by all
        return isinstance(left, str) and isinstance(right, str)
    return left.keys() == right.keys() and all(
        left[name] == right[name] if isinstance(left[name], (str, tuple)) else
        np.array_equal(left[name], right[name], equal_nan=True) for name in left)


def flat(found, names):
    """Arrays of Python in the order of a file's."""
    if isinstance(found, str):
        return found
    listed = [array for arrays in found.values() for array in arrays.values()]
    assert len(listed) == len(names), (len(listed), names)
    return dict(zip(names, listed))


def test_the_tables_are_walked():
    for task in TASKS:
        assert len({row["name"] for row in rows(task)}) == len(rows(task)) > 4
        assert all(row["takers"] and row["help"] for row in rows(task))
    assert len(CASES) > 80


@pytest.mark.parametrize("task,name,text", [case for case in CASES if case[0] != "variants"])
def test_three_ways(models, command, served, tmp_path, task, name, text):
    row = next(row for row in rows(task) if row["name"] == name)
    flag, takers = row["kind"] == FLAG, row["takers"]
    if flag and text == "false":
        option = ()
    else:
        option = (f"--{name}",) if flag else (f"--{name}={text}",)
    if row["kind"] == FILE:
        (tmp_path / "file").write_text(text)
        option = (f"--{name}", str(tmp_path / "file"))
    beside = COMPANY.get((task, name), COMPANY.get((task, name, text), {}))
    more = {"mode": "score"} if name == "sequences" else {
        other.replace("-", "_"): value for other, value in beside.items()}
    option += tuple(f"--{other}" if value == "true" else f"--{other}={value}"
                    for other, value in beside.items())
    if task in ("relax", "md") and name != "steps":
        more["steps"] = 4
        option += ("--steps", "4")
    several = row["is_list"] or row["kind"] == BITS
    found = {}
    if takers & COMMAND and not (task == "score" and name == "method" and text != "pppl"):
        found["command"] = by_command(task, option, str(tmp_path))
    if takers & REQUEST:
        number = row["kind"] in (INT, REAL, COST)
        typed = [json.loads(part) if number else part for part in text.split(",")]
        member = typed if several else typed[0] if number else text
        found["request"] = by_server(served(task), task, {name: member, **beside})
        assert same(found["request"],
                    by_server(served(task), task, {name: text, **beside})), "as one text"
    if takers & SERVE:
        found["serve"] = by_server(served(task, *option), task, {})
    keywords = [text == "true"] if flag else [text, int(text)] if text.isdigit() else [text]
    keywords += [text.split(",")] if several else []
    if row["kind"] == FILE:
        keywords = [str(tmp_path / "file")]
    elif row["kind"] == OUTPUT:
        keywords = [text.split(",")]
    elif row["kind"] == RANGE:
        keywords = [tuple(map(int, text.split("-")))]
    elif row["member"] == "temperatures":
        keywords = [[float(part) for part in text.split(",")]]
    elif not takers & PYTHON:  # one keyword has the words of several flags
        assert row["member"] == "mode" or row["help"].startswith("the same as --")
        if row["member"] == "mode":
            keywords = [name.replace("-only", "") if text == "true" else "sample"]
    for keyword in keywords:
        python = by_python(models.get(task), task, {row["member"]: keyword, **more})
        assert isinstance(python, str) == ((task, name, text) in REFUSED), python
        for way, numbers in found.items():
            mine = python
            if task in ("embed", "tracks", "contributions") and not isinstance(numbers, str):
                mine = flat(python, list(numbers))
            assert same(mine, numbers), (way, mine, numbers)
    assert found or takers == PYTHON or (task, name) == ("score", "method")


def test_quarters_of_bases(models):
    """A dot, which requests and files do not keep, is no base or a quarter of each."""
    window = "." + BASES[1:]
    usual, none, quarter = (models["tracks"].tracks([window], quarter=given).one().tracks
                            for given in (None, False, True))
    assert np.array_equal(usual, none) and not np.array_equal(none, quarter)


@pytest.mark.parametrize("method", ("masked-marginals", "wt-marginals"))
def test_methods_of_mutations(tiny, command, served, tmp_path, method):
    """A method without --mutations makes a table of all substitutions: scores of a few instead."""
    mutants = ["M1A", "K2R:T3S"]
    (tmp_path / "m.csv").write_text("mutant\n" + "\n".join(mutants) + "\n")
    (tmp_path / "wt.fa").write_text(">wt\nMKTAYIAKQR\n")
    table = command("score", "esm2", "wt.fa", "--weights", TINY, "--device", "cpu", "--mutations",
                    "m.csv", "--method", method).splitlines()[1:]
    scores = [line.split(",")[1] for line in table]
    said, there = served("score").ask("score", {"sequences": ["MKTAYIAKQR"], "method": method,
                                         "mutations": mutants})
    assert there, said
    assert scores == ["%.6f" % s["score"] for s in json.loads(said)["results"][0]["scores"]]
    one = tiny.score(["MKTAYIAKQR"], method, mutations=mutants).one()
    assert scores == ["%.6f" % one.mutation(mutant) for mutant in mutants]
