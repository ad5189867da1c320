"""Arguments are used, or refused: nothing is passed over in silence."""
import gzip
import os
import subprocess
import sys

import numpy as np
import pytest

import bioinfer
from conftest import ROOT, TINY


def test_scores_of_mutations_come_again(tiny):
    scores = tiny.score([("a", "MKTAYIAK"), ("b", "MKV")],
                        mutations=(text for text in ["K2R"]))
    first, again = ([score.mutation("K2R") for score in scores] for _ in range(2))
    assert len(first) == 2 and first == again
    assert scores.to_pandas().shape[0] == 2


def test_one_value_is_no_list(tiny):
    """A list for a parameter that takes one value is refused, and no value dropped."""
    nested = [1]
    nested.append(nested)
    with bioinfer.open(family="proteinmpnn", device="cpu", threads=1) as design:
        path = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
        for method, wrong in ((tiny.score, {"method": ["pppl", "wt-marginals"]}),
                              (tiny.score, {"window": (9, 12)}), (tiny.embed, {"layers": nested}),
                              (tiny.embed, {"layers": [[1, 2], [3]]}),
                              (design.design, {"omit_aa": ["A", "C"]}),
                              (design.design, {"seed": [3, 4]})):
            with pytest.raises(TypeError, match=f"{next(iter(wrong))}: expected one value"):
                method(path if method == design.design else ["MKTAYIAK"], **wrong)
        for both in (["homooligomer", "tied_json"], ["tied_json", "homooligomer"]):
            values = {"homooligomer": True, "tied_json": {"5L33": [{"A": [1, 2]}]}}
            with pytest.raises(bioinfer.InvalidArgument, match="homo-oligomer"):
                design.design(path, **{name: values[name] for name in both}).one()


def test_mutations_are_a_list(tiny):
    for mutations in ("K2R", b"K2R", {"a": "K2R"}):
        with pytest.raises(bioinfer.InvalidArgument, match="expected a list of texts, got b?'K2R'"):
            list(tiny.score([("a", "MKTAYIAK")], mutations=mutations))


def test_a_copy_is_a_copy(tiny):
    """NumPy 2 asks for a copy by copy=True, and makes none of its own then."""
    result = tiny.embed(["MKTAYIAK"]).one()
    for dtype in (None, np.float32, np.float64):
        copy = result.__array__(dtype, copy=True)
        assert np.array_equal(copy, result.array) and not np.shares_memory(copy, result.array)
    assert np.shares_memory(result.__array__(copy=False), result.array)
    assert np.shares_memory(np.asarray(result), result.array)
    with pytest.raises(ValueError, match="float64 is a copy"):
        result.__array__(np.float64, copy=False)


def test_what_is_said_of_a_failed_record(tiny):
    failed = tiny.score([("x", "MK1")]).one()
    for name in ("own", "pseudo_log_likelihood", "log_probs"):
        with pytest.raises(bioinfer.NoArray, match="record 'x': character '1'"):
            getattr(failed, name)
    raw = tiny.score([("x", "mk")], raw_residues=True).one()
    for ask in (lambda: raw.own, raw.check, lambda: raw["log-probs"]):
        with pytest.raises(bioinfer.RecordError) as caught:
            ask()
        assert caught.value.text.count("record 'x'") == 1


def test_paths_of_every_kind(tmp_path):
    path = tmp_path / "a.fa"
    path.write_text(">a\nMKT\n")
    said = bioinfer.info(str(path))
    assert bioinfer.info(path) == bioinfer.info(bytes(path)) == said
    with pytest.raises(TypeError, match="not int"):
        bioinfer.info(3)
    with bioinfer.open(TINY.encode(), threads=1) as model:
        assert model.embed(path).one().length == 3


def test_a_receptor_that_has_changed_is_read_again(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "tools"))
    weights = pytest.importorskip("dualbind_weights")
    weights.write(str(tmp_path / "w.safetensors"), 64, 0)
    golden = os.path.join(ROOT, "tests", "golden", "dualbind")
    poses = os.path.join(golden, "poses.sdf")
    with gzip.open(os.path.join(golden, "6w70.pdb.gz"), "rt") as file:
        lines = file.readlines()
    receptor = tmp_path / "r.pdb"

    def energies(kept):
        receptor.write_text("".join(kept))
        return [a.energy for a in model.affinity(poses, receptor)]

    with bioinfer.open(tmp_path / "w.safetensors", device="cpu", threads=1) as model:
        whole = energies(lines)
        half = energies(line for line in lines if line[:4] != "ATOM" or int(line[22:26]) % 2)
        assert energies(lines) == whole != half


def test_defaults_are_not_taken_for_what_was_asked():
    path = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
    with bioinfer.open(family="proteinmpnn", device="cpu", threads=1) as model:
        for name, value, words in (
                ("n", 0, "n_sequences: '0'"), ("n", -1, "n_sequences: '-1'"),
                ("temperature", [], "temperature is empty"), ("seed", 0, "seed: '0'"),
                ("chains", "", "chains: the value is empty")):
            with pytest.raises(bioinfer.InvalidArgument, match=words):
                model.design(path, **{name: value})
        same = [[design.sequence for design in model.design(path, temperature=value)]
                for value in (1, np.float32(1), np.int64(1), [1], np.array([1.0]))]
        assert all(one == same[0] for one in same)


def test_atoms_are_taken_as_they_are_or_refused(tmp_path):
    subprocess.run([sys.executable, os.path.join(ROOT, "tools", "tensornet_weights.py"),
                    str(tmp_path / "net")], check=True)
    atoms = {"numbers": [8, 1], "positions": [[0.0, 0, 0], [0, 0, 1]],
             "cell": np.diag([1.9, 1.9, 1.9])}
    wrong = [("positions", np.ma.masked_equal(atoms["positions"], 1), "masked"),
             ("positions", np.array(atoms["positions"]) + 1j, "complex"),
             ("cell", np.ma.masked_equal(atoms["cell"], 0), "masked"),
             ("pbc", "FFF", "pbc: 'FFF'"), ("pbc", ["F", "F", "F"], "pbc"),
             ("pbc", float("nan"), "pbc: nan"), ("pbc", [True, False], "pbc")]
    with bioinfer.open(tmp_path / "net", device="cpu", threads=1) as model:
        for name, value, words in wrong:
            with pytest.raises(bioinfer.InvalidArgument, match=words):
                list(model.energy({**atoms, name: value}))
        for value in ("x", [True, True, True], np.ones(3, bool), 2, "TTT"):
            with pytest.raises(bioinfer.InvalidArgument, match="pbc( is|: '(x|TTT)' is not)"):
                model.energy(atoms, pbc=value)
        alone, within = (model.energy({**atoms, "pbc": pbc}).one().energy for pbc in (False, True))
        assert alone != within
        for pbc in (True, np.True_, 1):
            assert model.energy(atoms, pbc=pbc).one().energy == within
        for pbc in (False, np.False_, 0):
            assert model.energy({**atoms, "pbc": True}, pbc=pbc).one().energy == alone


def test_what_is_no_record_is_named(tiny):
    for extra, words in (({"changes": [[0, "A"]]}, r"a change: expected a tuple, got \[0, 'A'\]"),
                         ({"changes": ["0A"]}, "a change: expected a tuple, got '0A'"),
                         ({"failed": 5}, "failed: expected a tuple, got 5")):
        with pytest.raises(TypeError, match=words):
            tiny.run("embed", [("a", "MK", extra)]).one()
    with pytest.raises(TypeError, match="atoms: expected a tuple"):
        tiny.run("embed", [("a", "MK", {"atoms": [b"", b"", None, 0, None]})]).one()
    with pytest.raises(bioinfer.InvalidArgument, match="outputs: '' is not a whole number"):
        tiny.run("tracks", ["ACGT"], outputs=("cage:",)).one()
    with pytest.raises(TypeError, match="fixed_json: expected a tuple, got 5"):
        tiny.run("design", ["MK"], fixed_json=5).one()
    for record, words in ((("a", None), "record 1: its sequence is None"),
                          ((7, "MK"), "record 1: its id is 7"),
                          (("a", 3), "record 1: its sequence is 3")):
        with pytest.raises(TypeError, match=words):
            list(tiny.embed(["MK", record]))
    with pytest.raises(bioinfer.InvalidArgument, match="include: '109' is not one of mean, "):
        tiny.embed(["MK"], b"mean")
