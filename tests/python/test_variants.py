"""Variants and intervals of a genome: Model.variants and Model.intervals beside the command."""
import base64
import csv
import io
import itertools
import json
import os
import random

import numpy as np
import pytest

import bioinfer
from conftest import ROOT

WEIGHTS = os.path.join(ROOT, "tests", "golden", "alphagenome", "small")
WINDOW, GENOME = 8192, 30000
TRACKS = {  # outputs with scorers of their own: name and strand
    "atac.1": ["A0.", "A1."], "contact_maps.2048": ["C0.", "C1.", "C2."], "dnase.1": ["D0."],
    "chip_tf.128": ["T0.", "T1.", "T2."], "chip_histone.128": ["H0.", "H1."], "cage.1": ["CAGE+"],
    "procap.1": ["PROCAP-"], "rna_seq.1": ["R0+", "R0-"],
    "splice_sites.1": ["donor+", "acceptor+", "donor-", "acceptor-", "none."],
    "splice_site_usage.1": ["U0+", "U1+", "U0-", "U1-"],
    "splice_junctions.1": ["J0+", "J1+", "J0-", "J1-"]}
HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n"


@pytest.fixture(scope="module")
def model():
    with bioinfer.open(WEIGHTS, device="cpu", threads=1) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    return make_folder(tmp_path)


def make_folder(tmp_path):
    """A genome with its index, genes, a table of tracks, variants and intervals."""
    bases = "".join(random.Random(5).choices("ACGT", k=GENOME))
    (tmp_path / "g.fa").write_text(f">chr1\n{bases}\n")
    bioinfer.index_genome(tmp_path / "g.fa")
    about = 'gene_id "G1.7"; gene_type "protein_coding"; gene_name "ONE";'
    more = about + ' transcript_id "T1";'
    rows = [("gene", 11001, 14000, about), ("transcript", 11001, 14000, more),
            ("exon", 11001, 11200, more), ("exon", 12901, 14000, more)]
    (tmp_path / "g.gtf").write_text("".join(
        f"chr1\tT\t{what}\t{first}\t{last}\t.\t+\t.\t{words}\n"
        for what, first, last, words in rows))
    (tmp_path / "t.tsv").write_text("head\tidentifier\tname\tstrand\n" + "".join(
        f"human.{head}\t{track}\t{track[:-1]}\t{track[-1]}\n"
        for head, tracks in TRACKS.items() for track in tracks))
    other = dict(zip("ACGT", "CGTA"))
    lines = [(13001, "snv", bases[13000], other[bases[13000]]),
             (13006, "ins", bases[13005], bases[13005] + "GATTACA"),
             (13041, "del", bases[13040:13052], bases[13040]),
             (13061, "wrong", other[bases[13060]], bases[13060]),
             (101, ".", bases[100], other[bases[100]])]
    (tmp_path / "v.vcf").write_text(HEAD + "".join(
        f"chr1\t{pos}\t{name}\t{ref}\t{alt}\n" for pos, name, ref, alt in lines))
    (tmp_path / "i.bed").write_text("chr1\t13000\t13004\tfour\nchr1\t29998\t30000\tend\n")
    return tmp_path


def table(text):
    rows = list(csv.reader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))
    return rows[0], rows[1:]


def same(cell, value):
    """A cell of the command's table is this value, to the bit."""
    if value is np.ma.masked or str(value) == "<NA>":  # numpy's and pandas' words
        return cell == ""
    if isinstance(value, np.floating):
        return cell in ("", "nan") if np.isnan(value) else value.dtype.type(cell) == value
    return cell == str(value)


def compared(text, frame):
    """The command's table and the frame have the same columns, rows and cells."""
    head, rows = table(text)
    assert head == list(frame.columns) and len(rows) == len(frame)
    for i, name in enumerate(head):
        for row, value in zip(rows, frame.iloc[:, i].to_numpy()):
            assert same(row[i], value), (name, row)


STATS = [{}, {"stats": ["SAR", "ALT"], "tracks": [1, "0"], "indel": "left"},
         {"outputs": ["atac.128", "cage.128"], "stats": "SAD,REF", "cluster": 60},
         {"outputs": "chip_tf", "shifts": [0, 3], "reverse_complement": True}]


@pytest.mark.parametrize("options", STATS)
def test_statistics(model, folder, command, options):
    words = {"reverse_complement": "rc"}
    given = []
    for name, value in options.items():
        given.append("--" + words.get(name, name))
        if value is not True:
            given.append(",".join(map(str, value)) if isinstance(value, list) else str(value))
    head, rows = table(command("alphagenome", "v.vcf", "--genome", "g.fa", "--weights", WEIGHTS,
                               "--threads", "1", "-q", *given, code=1))
    found = model.variants(folder / "v.vcf", genome=folder / "g.fa", **options)
    results = list(found)
    assert [r.id for r in results] == ["snv", "ins", "del", "wrong", rows[4][2]]
    assert [r.line for r in results] == [3, 4, 5, 6, 7]
    for row, r in zip(rows, results):
        assert row[:6] == [r.chrom, str(r.pos), r.id, r.ref, r.alt, r.status.name.lower()]
        assert [r.columns[name].tolist() for name in head[:5]] == \
            [[r.chrom], [r.pos], [r.id], [r.ref], [r.alt]]
        assert isinstance(r, bioinfer.Variant) and r.length == WINDOW
        if r.ok:
            scores = np.concatenate([r[key] for key in r])
            assert scores.dtype == np.float32 and len(scores) == len(row) - 6 > 0
            assert all(map(same, row[6:], scores))
    assert not results[3].ok and "REF is" in results[3].message
    with pytest.raises(bioinfer.RecordError, match="wrong"):
        results[3]["SAD"]
    n = sum(map(len, found.track_names.values()))
    assert n * len(list(results[0])) == (len(head) - 6) * len(found.track_names)


def test_statistics_as_a_frame(model, folder, command):
    pytest.importorskip("pandas")
    for options in ({"outputs": "atac.128,cage.128", "stats": "SAD,REF"},
                    {"outputs": "chip_tf", "targets": "t.tsv"}):
        given = [word for name, text in options.items() for word in ("--" + name, text)]
        text = command("alphagenome", "v.vcf", "--genome", "g.fa", "--weights", WEIGHTS,
                       "--threads", "1", "-q", *given, code=1)
        if "targets" in options:
            options["targets"] = folder / "t.tsv"
        frame = model.variants(folder / "v.vcf", genome=folder / "g.fa", **options).to_pandas()
        compared(text, frame)


def test_scorers(model, folder, command):
    use = ["--genome", "g.fa", "--gtf", "g.gtf", "--targets", "t.tsv", "--weights", WEIGHTS, "-q",
           "--scorers", "recommended"]
    head, rows = table(command("alphagenome", "v.vcf", *use, code=1))
    found = model.variants(folder / "v.vcf", genome=folder / "g.fa", gtf=folder / "g.gtf",
                           targets=folder / "t.tsv", scorers="recommended")
    results = list(found)
    assert [(r.id, r.pos, r.ok) for r in results][:4] == [
        ("snv", 13001, True), ("ins", 13006, True), ("del", 13041, True), ("wrong", 13061, False)]
    assert sum(r.columns.n_rows for r in results) == len(rows) > 100
    at = 0
    for r in results:
        mine = rows[at:at + r.columns.n_rows]
        at += len(mine)
        assert not r.ok or list(r) == head
        for i, name in enumerate(r.columns):
            column = r.columns[name]
            assert all(same(row[i], value) for row, value in zip(mine, column)), name
        if r.ok:
            assert r["raw_score"].dtype.kind == "f" and r["gene_id"].dtype == object
            assert np.ma.is_masked(r["junction_Start"])
    assert any(row[head.index("junction_Start")] for row in rows)
    assert {row[head.index("gene_name")] for row in rows} == {"", "ONE"}
    pytest.importorskip("pandas")
    compared(command("alphagenome", "v.vcf", *use, code=1), found.to_pandas())


def test_bounded(model, folder):
    """An iteration reads no further than what is computed, and tasks are used again."""
    with open(folder / "many.vcf", "w", encoding="ascii") as file:
        file.write(HEAD)
        for i in range(20000):
            file.write(f"chr1\t{i % 20000 + 5000}\tv{i}\tN\tC\n")  # a REF that is not the genome's
    seen = []
    found = model.variants(folder / "many.vcf", genome=folder / "g.fa", tracks=[0], max_bytes=1,
                           progress=lambda windows, bases: seen.append(windows))
    first = list(itertools.islice(found, 3))
    assert [r.id for r in first] == ["v0", "v1", "v2"] and max(seen) < 100
    before = {key: len(tasks) for key, tasks in model._idle.items()}
    assert [r.pos for r in itertools.islice(found, 2)] == [5000, 5001]
    assert {key: len(tasks) for key, tasks in model._idle.items()} == before


@pytest.mark.parametrize("given, options, keys", [
    (["--tracks", "0"], {"tracks": "0"}, ["tracks"]),
    (["--outputs", "cage.128,atac.128"], {"outputs": ["cage.128", "atac.128"]}, ["cage", "atac"]),
    (["--tracks", "0-1", "--ism"], {"tracks": [0, 1], "mutagenesis": True}, ["ism"]),
    (["--tracks", "0", "--contributions", "--bins", "2-5"],
     {"tracks": "0", "contributions": True, "bins": (2, 5)},
     ["contributions", "gradient", "value"])])
def test_intervals(model, folder, command, given, options, keys):
    """Arrays of the command's own files, with the place of each."""
    if "--outputs" not in given:
        given = [*given, "--outputs", "atac.128"]
        options = dict(options, outputs="atac.128")
    command("alphagenome", "i.bed", "--genome", "g.fa", "--weights", WEIGHTS, "-q", "-o",
            "o.jsonl", *given)
    with open(folder / "o.jsonl", encoding="utf-8") as file:
        lines = [line for line in map(json.loads, file) if "arrays" in line]
    results = list(model.intervals(folder / "i.bed", genome=folder / "g.fa", **options))
    assert [line["id"] for line in lines] == [r.id for r in results] == ["four", "end"]
    for line, r in zip(lines, results):
        assert list(r) == [array["kind"] for array in line["arrays"]] == keys
        for array in line["arrays"]:
            want = np.frombuffer(base64.b64decode(array["data"]), np.float32)
            assert np.array_equal(want.reshape(array["shape"]), r[array["kind"]]) and want.any()
            if "start" in array:
                assert (r.chrom, *r.bins[array["kind"]]) == tuple(
                    array[name] for name in ("contig", "start", "bin_size"))
        assert len(r.bins) == sum("start" in array for array in line["arrays"]) > 0
    r = results[0]
    assert (r.chrom, r.start, r.end, r.line) == ("chr1", 13000, 13004, 1)
    assert r.row()["start"] == 13000


def test_refusals(model, folder):
    vcf, genome = folder / "v.vcf", folder / "g.fa"
    with pytest.raises(TypeError, match="genome"):
        model.variants(vcf)
    for method, wrong in ((model.variants, "contributions"), (model.variants, "bins"),
                          (model.variants, "kind"), (model.variants, "nothing"),
                          (model.intervals, "stats"), (model.intervals, "gtf")):
        with pytest.raises(TypeError, match=f"no option '{wrong}'"):
            method(vcf, genome=genome, **{wrong: "x"})
    for wrong, error, words in (
            ({"genome": folder / "none.fa"}, bioinfer.NotFound, "none.fa"),
            ({"gtf": folder / "none.gtf", "targets": folder / "t.tsv", "scorers": "gene"},
             bioinfer.NotFound, "none.gtf"),
            ({"stats": ["SAD", "SAX"]}, bioinfer.InvalidArgument, "SAX"),
            ({"scorers": "center", "stats": "SAD"}, bioinfer.InvalidArgument, "scorers"),
            ({"outputs": "nothing"}, bioinfer.Error, "nothing"),
            ({"tracks": [99]}, bioinfer.InvalidArgument, "99"),
            ({"cluster": 4096}, bioinfer.InvalidArgument, "cluster")):
        with pytest.raises(error, match=words):
            list(model.variants(vcf, **{"genome": genome, **wrong}))
    for wrong in {"tracks": []}, {"stats": b"SAD"}:
        with pytest.raises(bioinfer.InvalidArgument):
            model.variants(vcf, genome=genome, **wrong)
    with pytest.raises(bioinfer.NotFound, match="none.vcf"):
        list(model.variants(folder / "none.vcf", genome=genome))
    with pytest.raises(bioinfer.InvalidArgument, match="holds intervals"):
        list(model.variants(folder / "i.bed", genome=genome))
    with pytest.raises(bioinfer.InvalidArgument, match="holds variants"):
        list(model.intervals(vcf, genome=genome))
    with pytest.raises(bioinfer.InvalidArgument, match="bins"):
        model.intervals(folder / "i.bed", genome=genome, bins=(0, 1))
    for bins in (3, 1), (1,), (-1, 2), ("1", "x"):
        with pytest.raises(bioinfer.InvalidArgument, match="bins: '.*expected FIRST-LAST"):
            model.intervals(folder / "i.bed", genome=genome, contributions=True, bins=bins)
    (folder / "no_index.fa").write_text(">c\nACGT\n")
    with pytest.raises(bioinfer.NotFound, match="fai"):
        list(model.variants(vcf, genome=folder / "no_index.fa"))
    with bioinfer.open(os.path.join(ROOT, "share", "bioinfer-tiny"), device="cpu") as tiny:
        with pytest.raises(bioinfer.Unsupported):
            list(tiny.variants(vcf, genome=genome))


def test_places_that_fail(model, folder, command):
    """A contig that the genome lacks and broken lines cost themselves alone."""
    good = (folder / "v.vcf").read_text().splitlines()[2]
    (folder / "b.vcf").write_text(HEAD + f"chrQ\t5\tq\tA\tC\nchr1\tx\tbroken\tA\tC\nchr1\n{good}\n")
    for scorers in None, "center":
        results = list(model.variants(folder / "b.vcf", genome=folder / "g.fa", scorers=scorers,
                                      targets=folder / "t.tsv" if scorers else None))
        assert [r.ok for r in results] == [False, False, False, True]
        assert "no contig 'chrQ'" in results[0].message and "line 3" in results[0].message
        assert (results[0].chrom, results[0].pos, results[0].id) == ("chrQ", 5, "q")
        assert "line 4" in results[1].message and "line 5" in results[2].message
        with pytest.raises(bioinfer.RecordError, match="chrQ"):
            results[0].check()
        assert "chrQ:5 A>C, status=INVALID_ARGUMENT" in repr(results[0])
        assert repr(results[3]).startswith("<Variant 'snv', chr1:13001 ")
    (folder / "b.bed").write_text("chrQ\t1\t5\tq\nchr1\nchr1\t7\t3\tback\nchr1\t5\t9\tgood\n")
    for mutagenesis in False, True:
        results = list(model.intervals(folder / "b.bed", genome=folder / "g.fa", tracks=[0],
                                       outputs="atac.128", mutagenesis=mutagenesis))
        assert [r.ok for r in results] == [False, False, False, True]
        assert "no contig 'chrQ'" in results[0].message and not results[0].bins
        assert "line 2" in results[1].message and "line 3" in results[2].message
    (folder / "none.vcf").write_text(HEAD)
    assert not list(model.variants(folder / "none.vcf", genome=folder / "g.fa"))
    pytest.importorskip("pandas")
    text = command("alphagenome", "b.vcf", "--genome", "g.fa", "--weights", WEIGHTS, "--threads",
                   "1", "--tracks", "1", "-q", code=1)
    some = model.variants(folder / "b.vcf", genome=folder / "g.fa", tracks=[1])
    compared(text, some.to_pandas())
    none = model.variants(folder / "none.vcf", genome=folder / "g.fa", tracks="1")
    assert list(none.to_pandas().columns) == table(text)[0]
