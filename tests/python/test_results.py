"""Files of results, bars of progress, and what notebooks show."""
import builtins
import json
import os
import sys
import types

import numpy as np
import pytest

import bioinfer
from conftest import ROOT, TINY

FEW = {"a": "MKTAYIAKQRQISFVKSHFSRQ", "b": "GSHMSLFDFFKNKG", "bad": "MK1", "c": "MKV"}


@pytest.fixture
def fasta(tmp_path):
    path = tmp_path / "in.fasta"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in FEW.items()))
    return path


@pytest.mark.parametrize("name, include, options, flags", [
    ("x.npz", "mean", {}, ()), ("x.npz", "mean,contacts", {}, ()), ("x.jsonl", "mean", {}, ()),
    ("x.tsv", "mean", {}, ()), ("x.npy", "mean", {}, ()),
    ("x.safetensors", "per-residue", {"dtype": "f16"}, ("--dtype", "f16")),
    ("x.npz", "mean", {"layout": "matrix"}, ("--layout", "matrix"))])
def test_save_is_what_the_command_writes(tiny, command, fasta, tmp_path, name, include, options,
                                         flags):
    ours, theirs = tmp_path / "ours" / name, tmp_path / "theirs" / name
    for path in ours, theirs:
        path.parent.mkdir()
    command("esm2", fasta, "--weights", TINY, "--device", "cpu", "--include", include, "-o",
            theirs, *flags, code=1)
    lost = tiny.embed(fasta, include).save(ours, **options)
    assert ours.read_bytes() == theirs.read_bytes()
    assert [(r.id, r.ok) for r in lost] == [("bad", False)]


def test_save_says_how(tiny, command, fasta, tmp_path, monkeypatch):
    ours, theirs = tmp_path / "ours.npz", tmp_path / "theirs.npz"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    command("esm2", fasta, "--weights", TINY, "--device", "cpu", "--include", "mean,logits", "-o",
            theirs, code=1)
    tiny.embed(fasta, "mean,logits").save(ours)
    made, wanted = (json.loads((tmp_path / f"{name}.npz.provenance.json").read_text())
                    for name in ("ours", "theirs"))
    assert wanted.pop("units") == {"logits": "logit"}  # which save() leaves to the file
    assert list(made) == list(wanted)  # the same words in the same order
    assert made["columns"]["logits"] == tiny.vocabulary
    assert made["command"] == ["python"] and "raw_residues=" in made["options"]
    for name in "command", "options", "output":
        del made[name], wanted[name]
    if tiny.info["kernels"] == wanted["kernels"]:
        del made["device_name"], wanted["device_name"]  # which counts threads
        assert made == wanted
    assert "model: bioinfer-tiny" in bioinfer.info(ours)
    raw = ours.read_bytes()
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    tiny.embed(["MKT"]).save(ours)
    made = json.loads((tmp_path / "ours.npz.provenance.json").read_text())
    assert made["inputs"] == [{"role": "input", "name": "values of Python"}]
    assert made["seconds"] > 0
    tiny.embed(fasta, "mean,logits").save(ours, provenance=False)
    assert ours.read_bytes() == raw
    assert not (tmp_path / "ours.npz.provenance.json").exists()


def test_save_other_tasks(tiny, tmp_path):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "s.h5"
    try:
        assert tiny.score(["MKTAYIAKQR"]).save(path) == []
    except bioinfer.Unsupported as error:
        pytest.skip(str(error))
    with h5py.File(path) as file:
        found = file["0/log-probs"] if "0/log-probs" in file else file["0"]
        assert np.array_equal(found[...], tiny.score(["MKTAYIAKQR"]).one().log_probs)


def test_save_refuses(tiny, tmp_path):
    with pytest.raises(bioinfer.InvalidArgument):
        tiny.embed(["MKT"]).save(tmp_path / "x.txt")
    with pytest.raises(bioinfer.Error, match="twice|again|id"):
        tiny.embed([("a", "MKT"), ("a", "MKV")]).save(tmp_path / "x.npz")

    def stop(n, m):
        raise KeyError(n)
    with pytest.raises(KeyError):
        tiny.embed(["MKT"], progress=stop).save(tmp_path / "x.npz")
    assert os.listdir(tmp_path) == []
    with bioinfer.open(family="proteinmpnn", device="cpu") as model:
        with pytest.raises(bioinfer.Unsupported, match="design"):
            model.design([], 1).save(tmp_path / "x.npz")


class Drawn:
    """Stands for tqdm, and says what it was told."""

    made = []

    def __init__(self, total=None, unit=""):
        self.total, self.unit, self.n, self.words, self.closed = total, unit, 0, "", False
        self.made.append(self)

    def set_postfix_str(self, words, refresh=True):
        self.words = words

    def update(self, n):
        self.n += n

    def close(self):
        self.closed = True


def test_progress_draws_a_bar(tiny, fasta, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Drawn))
    Drawn.made = []
    assert len(list(tiny.embed(FEW, progress=True))) == 4
    assert len(list(tiny.embed(fasta, progress=True))) == 4
    bioinfer.nearest(np.ones((3, 2)), progress=True)
    assert [(bar.total, bar.n, bar.closed) for bar in Drawn.made] == [
        (4, 4, True), (None, 4, True), (1, 1, True)]
    assert Drawn.made[0].words == f"{sum(len(FEW[name]) for name in 'abc')} residues"
    list(tiny.embed(FEW, progress=False))
    assert len(Drawn.made) == 3


def test_names_in_results(tiny, monkeypatch):
    """Results name the model, or the package where no model is open."""
    class Data:
        def __init__(self, X, obs):
            self.X, self.obs, self.obsm, self.uns = X, obs, {}, {}

    monkeypatch.setitem(sys.modules, "anndata", types.SimpleNamespace(AnnData=Data))
    pytest.importorskip("pandas")
    data = tiny.embed(FEW, "mean").to_anndata()
    assert data.X.shape == (3, tiny.width) and data.uns["bioinfer"]["model"] == tiny.name
    assert f"Results of embed by {tiny.name}<" in tiny.embed(FEW)._repr_html_()
    receptor = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
    page = bioinfer.rescore(receptor, [])._repr_html_()
    assert "Results of rescore by bioinfer<" in page
    seen = []
    assert tiny.embed([], "mean", progress=lambda n, m: seen.append(n)).matrix().shape == (
        0, tiny.width)
    assert seen == []


def test_progress_without_tqdm(tiny, monkeypatch):
    real = builtins.__import__

    def none(name, *arguments):
        if name.startswith("tqdm"):
            raise ImportError(name)
        return real(name, *arguments)
    monkeypatch.setattr(builtins, "__import__", none)
    with pytest.raises(ImportError, match="not installed"):
        list(tiny.embed(["MKT"], progress=True))


def test_what_notebooks_show(tiny):
    results = tiny.embed({"<a>": "MKTAYIAKQR", "b": "MK1"}, "mean,contacts")
    good, bad = results
    for text in results, good, bad, bioinfer.nearest(np.ones((12, 2))):
        page = text._repr_html_()
        assert page.startswith("<div>") and page.endswith("</div>") and "<a>" not in page
    assert "&lt;a&gt;" in good._repr_html_() and "<td>10 x 10</td>" in good._repr_html_()
    assert "is not a residue" in bad._repr_html_()
    assert "10 of 120 hits" in bioinfer.nearest(np.ones((12, 2)))._repr_html_()
    score = tiny.score(["MKTAYIAKQR"]).one()
    assert "pseudo_perplexity" in score._repr_html_()
