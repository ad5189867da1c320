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
