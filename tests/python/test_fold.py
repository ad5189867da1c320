"""Structures of chains: arrays, text and figures of Model.fold, and the command's own files."""
import os

import numpy as np
import pytest

import bioinfer
from conftest import ROOT

WEIGHTS = os.path.join(ROOT, "share", "flashabb", "flashabb.safetensors")
H = ("EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAEDT"
     "AVYYCSRWGGDGFYAMDYWGQGTLVTVSS")
L = ("DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSGTDFTLTISSLQPEDFATYYCQQH"
     "YTTPPTFGQGTKVEIK")


@pytest.fixture(scope="module")
def model():
    with bioinfer.open(WEIGHTS, device="cpu", threads=1) as opened:
        yield opened


def test_result(model):
    result = model.fold([H + ":" + L]).one()
    assert isinstance(result, bioinfer.Fold)
    assert result.plddt.shape == (227,) and result.coordinates.shape == (227, 37, 3)
    assert abs(result.mean_plddt - 0.9451) < 1e-3  # the published program's
    assert abs(result.mean_plddt - float(result.plddt.mean())) < 1e-5
    np.testing.assert_allclose(result.coordinates[0, 1], [10.6037, -0.7091, -16.5513], atol=0.02)
    assert result.sequence == H + L
    assert [chain[:3] for chain in result.chains] == [("H", 0, 120), ("L", 120, 107)]
    assert np.isnan(result.ptm) and 0 < result.shortest_bond < result.longest_bond < 1.8
    assert "_atom_site.Cartn_x" in result.text
    assert result.row()["chains"] == "H,L"


def test_texts_and_arrays(model):
    pairs = [("a", H + "|" + L), ("b", H.lower() + ":" + L)]
    first, second = model.fold(pairs, text="pdb", include="plddt")
    assert list(first) == ["plddt"]
    with pytest.raises(KeyError):
        first["coordinates"]
    assert first.text.replace("TITLE     a", "TITLE     b") == second.text
    assert model.fold(pairs[:1], text="none").one().text is None
    plain = model.fold(pairs[:1], uncorrected=True).one()
    assert not np.array_equal(plain.plddt, first.plddt)


def test_file(model, command, tmp_path):
    """The records of a file give the bytes of the command's files."""
    path = tmp_path / "in.fasta"
    path.write_text(">x\n%s:\n%s\n>two\n%s|%s\n" % (H, L, H, L[:-1]))
    command("flashabb", path, "-o", "out", "--device", "cpu", "--threads", "1")
    results = list(model.fold(path))
    assert [result.id for result in results] == ["x", "two"]
    for result in results:
        assert (tmp_path / "out" / (result.id + ".cif")).read_text() == result.text


def test_samples(command, tmp_path):
    """A result for each sample, the best one first, as the command's files have them."""
    tiny = os.path.join(ROOT, "tests", "golden", "esmfold2", "tiny")
    path = tmp_path / "in.fasta"
    path.write_text(">x\nMKWGA:WH\n>y\nMKXGWH\n")
    command("esmfold2", path, "-o", "out", "--weights", tiny, "--device", "cpu", "--samples", "3",
            "--seeds", "0,5", "--steps", "12", "--cycles", "2", "--include", "pae")
    with bioinfer.open(tiny, device="cpu", threads=1) as folds:
        results = list(folds.fold(path, samples=3, seeds=[0, 5], steps=12, cycles=2,
                                  include=("plddt", "pae")))
        few = list(folds.fold(path, samples=1, seeds=(5,), steps=12, cycles=2))
        for word in ({"samples": 0}, {"steps": 1001}, {"seeds": [-1]}, {"samples": 1.5}):
            with pytest.raises(bioinfer.InvalidArgument):
                folds.fold(path, **word)
        with pytest.raises(bioinfer.InvalidArgument, match="twice"):
            list(folds.fold(path, seeds=[4, 4]))
    rows = [line.split("\t") for line in (tmp_path / "out/scores.tsv").read_text().splitlines()]
    assert [result.id for result in results] == ["x"] * 6 + ["y"] * 6
    for row, result in zip(rows[1:], results):
        of = dict(zip(rows[0], row))
        assert (of["id"], of["sample"], of["seed"]) == (result.id, str(result.sample),
                                                        str(result.seed))
        assert of["ptm"] == "%.5f" % result.ptm
        assert of["iptm"] == ("%.5f" % result.iptm if result.id == "x" else "")
        name = "%s_seed-%d_sample-%d" % (result.id, result.seed, result.sample)
        assert (tmp_path / "out" / (name + ".cif")).read_text() == result.text
        with np.load(tmp_path / "out" / (name + ".npz")) as arrays:
            np.testing.assert_array_equal(arrays["pae"], result["pae"])
    assert np.isnan(results[-1].iptm) and results[-1].row()["seed"] in (0, 5)
    for one in few:
        assert [result.text for result in results
                if (result.id, result.seed, result.sample) == (one.id, 5, 0)] == [one.text]


def test_alignments(command, tmp_path):
    """As the command has them; a record whose alignment is missing says so."""
    weights = os.path.join(ROOT, "tests", "golden", "esmfold2", "msa")
    rows = os.path.join(ROOT, "tests", "golden", "esmfold2", "rows")
    path = tmp_path / "in.fasta"
    path.write_text(">ACDXFGHI\nACDXFGHI\n>A:G\nA:G\n")
    command("esmfold2", path, "-o", "out", "--weights", weights, "--device", "cpu", "--msa", rows)
    with bioinfer.open(weights, device="cpu", threads=1) as folds:
        texts = [result.text for result in folds.fold(path, msa=rows)]
        first = [result.text for result in folds.fold(path, msa=rows, msa_depth=1)]
        assert first == [result.text for result in folds.fold(path)] != texts
        missing = folds.fold(["MKV"], msa=rows).one
        with pytest.raises(bioinfer.RecordError, match="expected the alignment of chain A"):
            missing().check()
        with pytest.raises(bioinfer.InvalidArgument, match="without a folder of them"):
            list(folds.fold(path, msa_depth=3))
    assert texts == [(tmp_path / "out" / (name + "_seed-0_sample-0.cif")).read_text()
                     for name in ("ACDXFGHI", "A_G")]


def test_refusals(model):
    pair = [H + ":" + L]
    alone = model.fold([H]).one
    with pytest.raises(bioinfer.RecordError, match="1 chain"):
        alone().check()
    with pytest.raises(bioinfer.InvalidArgument, match="pdb"):
        model.fold(pair, include="pdb")
    with pytest.raises(bioinfer.Unsupported, match="pae"):
        model.fold(pair, include="pae").one()
    with pytest.raises(bioinfer.InvalidArgument, match="text"):
        model.fold(pair, text="xyz")
    with pytest.raises(bioinfer.Unsupported):
        model.embed([H]).one()
