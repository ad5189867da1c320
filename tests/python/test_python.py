"""The Python package has the numbers of the command, and behaves as Python users expect."""
import copy
import gc
import gzip
import logging
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
import weakref

import numpy as np
import pytest

import bioinfer
from conftest import ROOT, TINY

FASTA = os.path.join(TINY, "golden", "sequences.fasta")
PDB = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
WINDOWS = os.path.join(ROOT, "tests", "golden", "enformer", "half")


FEW = {"a": "MKTAYIAKQRQISFVKSHFSRQ", "b": "GSHMSLFDFFKNKGSAATATDRLKLILAKERTLNLPYMEEMRKEI",
       "c": "MKV", "d": "ACDEFGHIKLMNPQRSTVWYX" * 4}


def sequences():
    return dict(bioinfer.read_fasta(FASTA))


# ---- embeddings ----

def test_equals_the_command(tiny, command, tmp_path):
    out = tmp_path / "o.npz"
    command("esm2", FASTA, "--weights", TINY, "--device", "cpu", "--include",
            "mean,per-residue,logits,contacts", "-o", out)
    expected = np.load(out)
    results = list(tiny.embed(FASTA, "mean,per-residue,logits,contacts"))
    assert len(results) == len(expected.files) // 4 == 12
    for result in results:
        assert result.ok and len(result) == 4
        for kind, array in result.items():
            assert array.dtype == np.float32 and array.flags.writeable
            assert array.tobytes() == expected[f"{result.id}/{kind}"].tobytes()


def test_every_source_gives_the_same(tiny, tmp_path):
    by_path = {name: tiny.embed([text]).one().array for name, text in FEW.items()}

    class Record:  # as Biopython's
        def __init__(self, name, text):
            self.id, self.seq = name, text

    text = "".join(f">{name}\n{text}\n" for name, text in FEW.items())
    (tmp_path / "a.fa").write_text(text)
    (tmp_path / "a.fa.gz").write_bytes(gzip.compress(text.encode()))
    for source in (FEW, list(FEW.items()), iter(FEW.items()), tmp_path / "a.fa",
                   str(tmp_path / "a.fa.gz"), (Record(*item) for item in FEW.items()),
                   [(name, text.encode()) for name, text in FEW.items()]):
        other = tiny.embed(source).dict()
        assert list(other) == list(by_path)
        assert all(np.array_equal(other[name], by_path[name]) for name in by_path)
    numbered = tiny.embed(list(FEW.values())).dict()
    assert list(numbered) == ["0", "1", "2", "3"]
    assert np.array_equal(numbered["1"], by_path["b"])


def test_letters_are_taken_as_a_reader_takes_them(tiny, tmp_path):
    odd = ["mkta", "MK TA\tQ", "MK-TA..", "MKTA*", "*", "MK*TA", "MK1TA", "MKT<mask>", "MKTÄ", "",
           "MKTA**", "-", "MK\x01TA"]
    path = tmp_path / "odd.fa"
    path.write_bytes(b"".join(b">%d\n%s\n" % (i, text.encode()) for i, text in enumerate(odd)))
    for one, two in zip(tiny.embed(odd), tiny.embed(path), strict=True):
        assert (one.id, one.length, one.status) == (two.id, two.length, two.status)
        if one.ok:
            assert np.array_equal(one.array, two.array)
        else:
            # a reader says where in the file; the reason is the same
            assert one.message and (one.status.name == "EMPTY" or one.message in two.message or
                                    "byte" in one.message)


def test_families_whose_letters_are_no_residues(command, tmp_path):
    golden = os.path.join(ROOT, "tests", "golden", "saprot")
    fasta, out = os.path.join(golden, "sequences.fasta"), tmp_path / "o.npz"
    weights = os.path.join(golden, "af2")
    command("saprot", fasta, "--weights", weights, "--device", "cpu", "-o", out)
    expected = np.load(out)
    with open(fasta) as file:
        parts = [part.split("\n", 1) for part in ("\n" + file.read()).split("\n>")[1:]]
    pairs = [(head.split()[0], "".join(text.split())) for head, text in parts]
    with bioinfer.open(weights, device="cpu", threads=1) as model:
        for source in (fasta, pairs):
            found = [result for result in model.embed(source) if result.ok]
            assert len(found) == len(expected.files)
            assert all(np.array_equal(r.array, expected[r.id]) for r in found)
        with pytest.raises(bioinfer.Unsupported):
            model._token_ids("MdEv")


def test_arrays_are_not_copied_again(tiny):
    result = tiny.embed(["MKTAYIAKQR"], "per-residue").one()
    base = result.array
    while isinstance(base, np.ndarray):
        base = base.base
    assert isinstance(base if isinstance(base, bytearray) else base.obj, bytearray)
    assert np.asarray(result) is result.array and result.array.shape == (10, 320)
    assert result.__array__(np.float64).dtype == np.float64  # NumPy casts what a method did not
    copied = result.__array__(copy=True)
    assert not np.shares_memory(copied, result.array) and np.array_equal(copied, result.array)


def test_layers_and_names(tiny):
    result = tiny.embed(["MKTAYIAKQR"], ["mean"], layers=[0, -1]).one()
    assert list(result) == [("mean", 0), ("mean", 6)]
    with pytest.raises(bioinfer.InvalidArgument, match="2 arrays"):
        result.array
    assert np.array_equal(result["mean", 6], tiny.embed(["MKTAYIAKQR"]).one().array)
    with pytest.raises(bioinfer.InvalidArgument, match="include: 'maen' is not one of mean"):
        tiny.embed(["MKT"], "maen")


def test_matrix_and_failures(tiny):
    good = tiny.embed(["MKTAYIAKQR", "GSHM"])
    assert good.matrix().shape == (2, 320)
    bad = list(tiny.embed(["MKTAYIAKQR", "", "MK1"]))
    assert [r.status for r in bad] == [0, bioinfer.Status.EMPTY, bioinfer.Status.BAD_RESIDUE]
    with pytest.raises(bioinfer.RecordError, match="record '2'.*'1'") as caught:
        bad[2]["mean"]
    assert caught.value.status == bioinfer.Status.BAD_RESIDUE
    assert pickle.loads(pickle.dumps(caught.value)).status == caught.value.status
    with pytest.raises(ValueError):
        tiny.embed(["MK", ""]).matrix()
    for empty in ([], {}, iter(())):
        none = tiny.embed(empty).matrix()
        assert none.shape == (0, 320) and none.dtype == np.float32
    assert tiny.embed([], "mean,bos").matrix("bos").shape == (0, 320)
    for include in ("per-residue", "mean,bos"):
        with pytest.raises(bioinfer.InvalidArgument):
            tiny.embed([], include).matrix()


def test_attributes_that_are_none(tiny):
    """hasattr() answers for arrays that a result has not; what is raised is told by its classes."""
    names = ("array", "log_probs", "own", "pseudo_log_likelihood", "pseudo_perplexity", "tracks",
             "changed")
    good, bad = tiny.embed(["MKT", "MK1"])
    several = tiny.embed(["MKT"], "mean,bos").one()
    scored, failed = tiny.score(["MKT", "MK1"])
    assert [name for name in names if hasattr(good, name)] == ["array"]
    assert [name for name in names if hasattr(scored, name)] == list(names[:5])
    for result in (bad, several, failed):
        assert not [name for name in names if hasattr(result, name)]
    for result, kind, status in ((bad, bioinfer.RecordError, "BAD_RESIDUE"),
                                 (several, bioinfer.InvalidArgument, "INVALID_ARGUMENT")):
        with pytest.raises(kind) as caught:
            result.array
        assert isinstance(caught.value, bioinfer.NoArray)
        assert caught.value.status.name == status
        again = pickle.loads(pickle.dumps(caught.value))
        assert type(again) is bioinfer.NoArray and str(again) == str(caught.value)
    with pytest.raises(bioinfer.InvalidArgument, match="2 arrays"):
        np.asarray(several)
    tracks = bioinfer.Tracks(several._raw)
    assert not hasattr(tracks, "tracks") and hasattr(tracks, "changed")
    assert good.status is bioinfer.Status.OK and good.status.name == "OK"


# ---- other tasks ----

def test_scores_are_those_of_the_command(tiny, command, tmp_path):
    few = tmp_path / "few.fa"
    few.write_text(">a\nMKTAYIAKQRQISFVK\n>b\nGSHMSLFDFFKNKG\n")
    lines = command("score", "esm2", few, "--weights", TINY, "--device", "cpu", "--method", "pppl")
    rows = {line.split("\t")[0]: line.split("\t") for line in lines.splitlines()[1:]}
    for score in tiny.score(few):
        assert score.pseudo_log_likelihood == pytest.approx(float(rows[score.id][2]), rel=1e-5)
        assert score.pseudo_perplexity == pytest.approx(float(rows[score.id][3]), rel=1e-5)
        assert score.log_probs.shape == (score.length, len(tiny.vocabulary))
    one = tiny.score(few, mutations={"a": ["K2A", "K2A:Y5W"], "b": []})
    a, b = one
    whole = next(iter(tiny.score(few)))
    assert a.mutation("K2A:Y5W") == whole.mutation("K2A:Y5W")
    assert np.isnan(a.log_probs[0]).all() and not np.isnan(a.log_probs[1]).any()
    assert np.isnan(b.log_probs).all()
    with pytest.raises(bioinfer.Error, match="expected C") as caught:
        whole.mutation("C2A")
    assert caught.value.status == bioinfer.Status.MISMATCH
    marginals = tiny.score({"a": "MKTAYIAKQRQISFVK"}, "wt-marginals").one()
    assert not np.array_equal(marginals.log_probs, whole.log_probs)
    with pytest.raises(bioinfer.InvalidArgument, match="is not one of masked-marginals"):
        tiny.score(few, "wild")


def test_designs_are_those_of_the_command(command):
    lines = command("proteinmpnn", PDB, "--num-seq", "2").splitlines()
    with bioinfer.open(family="proteinmpnn", device="cpu") as model:
        designs = list(model.design(PDB, 2))
        assert [d.sequence for d in designs] == lines[1::2]
        assert [">" + d.header for d in designs] == lines[0::2]
        assert [d.is_native for d in designs] == [True, False, False]
        assert designs[1]["probs"].shape == (106, 21) and designs[1].codes.dtype == np.int32
        with open(PDB, "rb") as file:
            text = file.read()
        fixed = next(d for d in model.design(PDB, fixed_json={"5L33": {"A": [1, 2, 3]}})
                     if not d.is_native)
        assert fixed.sequence[:3] == designs[0].sequence[:3]
        again = list(model.design([("5L33", text), ("none", b"")], 2))
        assert [d.sequence for d in again[:3]] == lines[1::2]
        assert not again[3].ok and again[3].id == "none"


def test_tracks_are_those_of_the_reference():
    with open(os.path.join(WINDOWS, "window.fa")) as file:
        bases = "".join(line.strip() for line in file if not line.startswith(">"))
    with bioinfer.open(WINDOWS, device="cpu") as model:
        heads = model.heads
        info = model.tracks_info()
        assert heads and info["window"] == len(bases)
        result = model.tracks([("w", bases, {"changes": [(100, "A"), (100, "C")]})]).one()
        expected = np.load(os.path.join(WINDOWS, info["head"] + ".npy"))
        assert result.tracks.shape == (info["n_bins"], info["n_tracks"])
        cosine = (result.tracks * expected.reshape(result.tracks.shape)).sum() / np.sqrt(
            (result.tracks ** 2).sum() * (expected ** 2).sum())
        assert cosine > 0.99999
        assert len(result.changed) == 2
        alone = model.tracks([bases[:100] + "A" + bases[101:]]).one()
        assert np.array_equal(result.changed[0], alone.tracks)


def test_outputs_of_one_run():
    with open(os.path.join(WINDOWS, "window.fa")) as file:
        bases = "".join(line.strip() for line in file if not line.startswith(">"))
    window = ("w", bases, {"changes": [(100, "A"), (100, "C")]})
    with bioinfer.open(WINDOWS, device="cpu") as model:
        table = model.outputs
        assert [row["name"] for row in table] == list(model.heads) and len(table) == 2
        assert table[0]["kind"] == "bins" and table[0]["organism"] == table[0]["name"]
        first, second = (row["name"] for row in table)
        info = model.tracks_info(outputs={first: None, second: [1]})
        assert [row["array"] for row in info["outputs"]] == [first, second]
        assert info["outputs"][1]["n_tracks"] == 1
        both = model.tracks([window], outputs={first: None, second: [1]}).one()
        assert list(both) == [first, second]
        alone = model.tracks([window], outputs=[first]).one()
        assert np.array_equal(both[first], alone.tracks)
        column = model.tracks([window], head=second, tracks=[1]).one()
        assert np.array_equal(both[second], column.tracks)
        for i in range(2):
            assert np.array_equal(both.changed[i][first], alone.changed[i])
            assert np.array_equal(both.changed[i][second], column.changed[i])
        for wrong in ({"outputs": first}, {"outputs": []}, {"outputs": [first], "head": second},
                      {"outputs": ["martian"]}, {"organism": "martian"}, {"resolution": 7}):
            with pytest.raises(bioinfer.InvalidArgument):
                model.tracks([window], **wrong).one()


def test_best_alignments(command, tmp_path):
    queries, targets = str(tmp_path / "q.fa"), str(tmp_path / "t.fa")
    letters = "ARNDCQEGHILKMFPSTWYV"
    for path, n in ((queries, 5), (targets, 60)):
        with open(path, "w", encoding="ascii") as f:
            f.writelines(f">{path[-4]}{i}\n{(letters * 2)[i % 20:][:3 + i % 7]}\n"
                         for i in range(n))
    rows = [line.split("\t") for line in
            command("align", queries, targets, "--all-vs-all", "--top", "3", "--matrix",
                    "BLOSUM62").splitlines()[1:]]
    found = list(bioinfer.align(bioinfer.read_fasta(queries), bioinfer.read_fasta(targets), top=3))
    assert [[a.query_id, a.target_id, str(a.score), a.cigar] for a in found] == [
        [*row[:3], row[4]] for row in rows]
    best = list(bioinfer.align("MKTAYI", ["MKT", "MKTAYI", "M!"], top=2))
    assert [a.cigar for a in best] == ["6=", "3=3I"]
    with pytest.raises(bioinfer.InvalidArgument, match="top is 0"):
        bioinfer.align("MK", ["MK"], top=0)
    for more in ({}, {"mode": "ends-free"}, {"local": 1}):
        words = [] if not more else ["--local"] if "local" in more else ["--mode", "ends-free"]
        for values in ("identity", "distance", "score"):
            text = command("align", targets, "--values", values, "--matrix", "BLOSUM62", *words)
            want = [[float(x) for x in line.split("\t")[1:]] for line in text.splitlines()[1:]]
            got = bioinfer.align_matrix(bioinfer.read_fasta(targets), values=values, **more)
            assert got.shape == (60, 60) and abs(got - want).max() < 6e-7
    part = bioinfer.align_matrix(["MK", "M!"], ["MKV"], identity_of="shorter")
    assert part[0, 0] == 1 and part[1, 0] != part[1, 0]
    with pytest.raises(bioinfer.InvalidArgument, match="values is 'x'"):
        bioinfer.align_matrix(["MK"], values="x")


def test_alignments(command, tmp_path):
    one = bioinfer.align("MKTAYIAKQR", "MKTAYIKQR")
    assert (one.score, one.cigar, one.identities, one.gaps) == (34, "6=1I3=", 9, 1)
    path = tmp_path / "a.fa"
    path.write_text("".join(f">{name}\n{text}\n" for name, text in sequences().items()))
    found = list(bioinfer.align(("q", "MKTAYIAKQRQISFVKSHFSRQ"), bioinfer.read_fasta(path)))
    assert [a.target_id for a in found] == list(sequences()) and found[0].query_id == "q"
    pairs = list(bioinfer.align(bioinfer.read_fasta(path), bioinfer.read_fasta(path),
                                traceback=False))
    assert all(a.cigar is None and a.score > 0 for a in pairs) and len(pairs) == 12
    table = command("align", path, path, "--matrix", "BLOSUM62", "--score-only").splitlines()
    column = table[0].split("\t").index("score")
    assert [str(a.score) for a in pairs] == [row.split("\t")[column] for row in table[1:]]
    assert bioinfer.align("ACGT", "ACGA", matrix=None).score == 11
    nothing = bioinfer.align("WWW", "AAA", local=1)
    assert (nothing.columns, nothing.identity) == (0, 0)
    for query in ("MK", b"MK", ("x", "MK"), ("x", b"MK")):
        alone = bioinfer.align(query, ("y", b"MK"))
        assert (alone.cigar, alone.target_id) == ("2=", "y")
    with pytest.raises(bioinfer.Error):
        list(bioinfer.align(["MK", "MK"], ["MK"]))
    with pytest.raises(bioinfer.InvalidArgument):
        bioinfer.align("MK", "MK", mode="local")
    with pytest.raises(TypeError, match="no option 'gap'"):
        bioinfer.align("MK", "MK", gap=1)
    for former, now in (("scale", "points"), ("free_gaps", "gap_open=0"),
                        ("gap_open2", r"gap_open=\(4, 24\)"), ("any_letters", 'letters="any"')):
        with pytest.raises(TypeError, match="no option '%s': .*%s" % (former, now)):
            bioinfer.align_matrix(["MK"], **{former: 1})
    with pytest.raises(bioinfer.RecordError):
        bioinfer.align("M1", "MK")
    assert "BLOSUM62" in bioinfer.matrices()


def test_affinities_are_those_of_the_command(tmp_path, monkeypatch, command):
    monkeypatch.syspath_prepend(os.path.join(ROOT, "tools"))
    weights = pytest.importorskip("dualbind_weights")
    path, golden = tmp_path / "w.safetensors", os.path.join(ROOT, "tests", "golden", "dualbind")
    weights.write(str(path), 64, 0)
    receptor, poses = os.path.join(golden, "6w70.pdb.gz"), os.path.join(golden, "poses.sdf")
    with bioinfer.open(path, device="cpu") as model:
        found = list(model.affinity(poses, receptor))
        lines = command("dualbind", receptor, poses, "--weights", path).splitlines()
        column = lines[0].split("\t").index("energy")
        assert [a.energy for a in found] == pytest.approx(
            [float(line.split("\t")[column]) for line in lines[1:]], rel=1e-5)
        assert found and all(a.n_atoms > 0 and a.row()["energy"] == a.energy for a in found)
        again = list(model.affinity([("x", open(poses, "rb").read())], receptor))
        assert again[0].energy == found[0].energy
        with pytest.raises(bioinfer.NotFound):
            list(model.affinity(poses, tmp_path / "absent.pdb"))


def test_poses_are_rated_as_by_the_command(tmp_path, command):
    golden = os.path.join(ROOT, "tests", "golden", "rescore")
    receptor, poses = (os.path.join(golden, "6w70." + end) for end in ("pdb.gz", "sdf.gz"))
    lines = [line.split("\t") for line in
             command("rescore", receptor, poses, "--minimize").splitlines()]
    rows = [dict(zip(lines[0], line)) for line in lines[1:]]
    found = list(bioinfer.rescore(receptor, poses, minimize=True, text=True, threads=2))
    assert len(found) == len(rows) == 20
    for pose, row in zip(found, rows):
        assert f"{pose.affinity:.6f}" == row["affinity"] and pose.id == row["id"]
        assert f"{pose.gauss2:.6f}" == row["gauss2"] and pose.n_steps == int(row["steps"])
        assert f"{pose.overlap:.4f}" == row["overlap"] and f"{pose.moved:.3f}" == row["moved"]
        assert (",".join(pose.failed) or "ok") == row["checks"]
        assert pose.row()["failed"] == ",".join(pose.failed)
    again = bioinfer.rescore(receptor, [("x", found[3].sdf)])
    assert again.one().affinity == found[3].affinity and again.one().sdf is None
    broken = list(bioinfer.rescore(receptor, [("x", "none"), ("y", found[0].sdf)]))
    assert [bool(pose.status) for pose in broken] == [True, False]
    with pytest.raises(bioinfer.NotFound):
        bioinfer.rescore(tmp_path / "absent.pdb", poses)


def test_tasks_by_name(tiny):
    """The general call reaches all of bioinfer.h: tasks to come need no words of their own."""
    by_name = tiny.run("embed", ["MKTAYIAKQR"], include="mean").one()
    assert np.array_equal(by_name.array, tiny.embed(["MKTAYIAKQR"]).one().array)
    with pytest.raises(ValueError, match="no task is called 'dream'"):
        tiny.run("dream", ["MK"]).one()
    with pytest.raises(TypeError, match="a record has no 'depth'"):
        tiny.run("embed", [("a", "MK", {"depth": 3})]).one()
    with pytest.raises(TypeError, match="embed has no option 'depth'"):
        tiny.run("embed", ["MK"], depth=3).one()
    for record in (("a", "MK", "words of it"), ("a", "MK", {}, 4), ("a",)):
        with pytest.raises(TypeError, match=r"a tuple \(id, sequence\)"):
            tiny.embed([record]).one()
    for name, value in (("max_length", 1 << 40), ("max_length", 0), ("layers", [0.5]),
                        ("raw_residues", "perhaps"), ("no_rules", ""), ("include", 1)):
        with pytest.raises(bioinfer.InvalidArgument, match=f"{name.split('_')[0]}.*: "):
            tiny.run("embed", ["MK"], **{name: value})
    tiny.prepare("embed", include="mean")


# ---- behaviour ----

def test_memory_is_bounded(tiny):
    """Results are handed out while later records are still to be read, and are not kept."""
    read, alive = [], weakref.WeakSet()

    def endless():
        for i in range(100000):
            read.append(i)
            yield "MKTAYIAKQRQISFVKSHFSRQ"

    results = iter(tiny.embed(endless(), "per-residue", max_bytes=1 << 20))
    most = 0
    for i, result in enumerate(results):
        alive.add(result)
        del result
        if i % 20 == 0:
            gc.collect()
            most = max(most, len(alive))
        if i == 600:
            break
    results.close()
    # 22 residues of 320 floats are 28 KB: some 37 records are 1 MiB, and the first calls are larger
    assert most <= 4 and len(read) < 601 + 400


def test_progress(tiny):
    seen = []
    list(tiny.embed(FASTA, progress=lambda records, residues: seen.append((records, residues))))
    assert seen == sorted(seen) and seen[-1][0] == 12
    assert seen[-1][1] == sum(map(len, sequences().values()))

    class Enough(Exception):
        pass

    def stop(records, residues):
        raise Enough

    with pytest.raises(Enough):
        list(tiny.embed(FASTA, progress=stop))
    assert len(list(tiny.embed(FASTA))) == 12  # the model goes on


def test_sources_that_fail(tiny, tmp_path):
    def broken():
        yield "MKTAYIAKQR"
        raise KeyError("source")

    with pytest.raises(KeyError, match="source"):
        list(tiny.embed(broken()))
    for item in (3, ("only",), None):
        with pytest.raises(TypeError):
            list(tiny.embed([item]))
    with pytest.raises(TypeError, match="in a list"):
        list(tiny.embed(b"MKT"))
    with pytest.raises(FileNotFoundError, match="goes in a list"):
        list(tiny.embed("MKTAYIAKQR"))
    with pytest.raises(bioinfer.NotFound) as caught:
        list(tiny.embed(tmp_path / "absent.fa"))
    assert caught.value.status == bioinfer.Status.NOT_FOUND and "absent.fa" in str(caught.value)
    with pytest.raises(ValueError, match="NUL"):
        list(tiny.embed([("a\0b", "MKT")]))


def test_opening_fails():
    with pytest.raises(bioinfer.NotFound, match="no such"):
        bioinfer.open("/nonexistent/weights")
    with pytest.raises(bioinfer.Error):
        bioinfer.open(TINY, device="cuda:99")
    with pytest.raises(bioinfer.InvalidArgument):
        bioinfer.open(TINY, family="no such family")
    with pytest.raises(TypeError, match="model has no option 'colour'"):
        bioinfer.open(TINY, colour="red")
    with pytest.raises((ValueError, TypeError)):
        bioinfer.open("a\0b")


def test_closing():
    model = bioinfer.open(TINY, device="cpu", threads=1)
    results = iter(model.embed(FASTA))
    next(results)
    model.close()
    model.close()
    assert len(list(results)) >= 1  # the results of the call that was done
    with pytest.raises(bioinfer.Misuse, match="closed"):
        list(model.embed(["MKT"]))
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(model)
    assert copy.deepcopy(model) is model and copy.copy(model) is model
    assert "closed" in repr(model)


def test_idle_tasks_are_few(tiny):
    for most in range(4, 24):
        list(tiny.embed(["MKTAYIAKQR"], max_length=most))
    assert sum(map(len, tiny._idle.values())) <= tiny.MAX_IDLE


def test_threads_share_a_model(tiny):
    expected = tiny.embed(FEW).dict()
    wrong = []

    def work():
        for _ in range(3):
            found = tiny.embed(FEW).dict()
            if any(not np.array_equal(found[name], expected[name]) for name in expected):
                wrong.append(found)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_lock_is_released(tiny):
    """While the library computes, another thread of Python goes on."""
    steps = []
    done = threading.Event()

    def count():
        while not done.is_set():
            steps.append(1)
            time.sleep(0)

    counter = threading.Thread(target=count)
    task = bioinfer._core.Task(tiny._context, tiny._handle, "embed", {})
    records = bioinfer._core.Records(tiny._context, [("a", "MKTAYIAKQR" * 100)], 0, False)
    counter.start()
    try:
        before = len(steps)
        task.compute(records, 0, 1, None)  # one call into C: nothing else gives the lock away
        during = len(steps) - before
    finally:
        done.set()
        counter.join()
    assert during > 5


def test_one_task_is_of_one_thread(tiny):
    task = bioinfer._core.Task(tiny._context, tiny._handle, "embed", {})
    records = bioinfer._core.Records(tiny._context, [("a", "MKTAYIAKQR")] * 3, 0, False)
    caught = []

    def again(*_):
        try:
            task.compute(records, 0, 1, None)
        except bioinfer.Misuse as error:
            caught.append(error)

    task.compute(records, 0, 3, again)
    assert caught and "running already" in str(caught[0])
    with pytest.raises(IndexError):
        task.compute(records, 2, 2, None)


def test_a_forked_child_is_told(tiny):
    list(tiny.embed(["MKTAYIAKQR"]))
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            list(tiny.embed(["MKTAYIAKQR"]))
            text = "no error"
        except bioinfer.Forked as error:
            text = f"{error.status.name}: {error}"
            with bioinfer.open(TINY, device="cpu", threads=1) as own:  # one that it opens works
                text += f" {own.embed(['MKTAYIAKQR']).one().array.shape}"
        except BaseException as error:
            text = repr(error)
        os.write(write, text.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    assert text.startswith("FORKED: ") and "in the child process itself" in text
    assert text.endswith("(320,)")
    assert tiny.embed(["MKTAYIAKQR"]).one().ok  # the parent's is as it was


def test_control_c_ends_a_run():
    script = ("import bioinfer, sys\n"
              f"m = bioinfer.open({TINY!r}, device='cpu', threads=1)\n"
              "try:\n"
              "    print('go', flush=True)\n"
              "    for r in m.embed(('MKTAYIAKQR' * 20 for _ in range(10**9))): pass\n"
              "except KeyboardInterrupt:\n"
              "    print('interrupted', len(list(m.embed(['MKT']))))\n")
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted 1\n"


def test_nothing_leaks(tiny):
    list(tiny.embed(FEW, "per-residue"))
    tracemalloc.start()
    try:
        for _ in range(3):
            list(tiny.embed(FEW, "per-residue"))
            tiny.score(["MKTAYI"]).one()
            bioinfer.align("MKTA", "MKTA")
            with pytest.raises(bioinfer.NotFound):
                list(tiny.embed("/nonexistent"))
            if _ == 0:
                gc.collect()
                first = tracemalloc.get_traced_memory()[0]
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - first < 100000
    finally:
        tracemalloc.stop()


def test_log(caplog):
    with caplog.at_level(logging.INFO, logger="bioinfer"):
        with bioinfer.open(TINY, threads=1) as model:
            list(model.embed(["MKTAYIAKQR"]))
    assert all(record.name == "bioinfer" for record in caplog.records)


def test_facts(tiny):
    assert bioinfer.__version__ == bioinfer._core.version()
    # the statuses of the header, and no others
    assert {s.name.lower(): int(s) for s in bioinfer.Status} == bioinfer._core.STATUSES
    assert tiny.family == "esm2" and tiny.width == 320 and tiny.n_layers == 6 and tiny.threads == 1
    assert len(tiny.fingerprint()) == 49 and tiny.info["has_contacts"] is True
    assert tiny.info["longest"] == 1022
    assert len(tiny.vocabulary) == 33 and "esm2" in bioinfer.families()
    cpu = bioinfer.devices()[0]
    assert cpu.name == "cpu" and cpu.usable and cpu.memory_size > 0
    assert "safetensors" in bioinfer.info(TINY)
    assert os.path.exists(os.path.join(os.path.dirname(bioinfer.__file__), "py.typed"))


def test_the_model_that_comes_with_it():
    with bioinfer.open("tiny", device="cpu", threads=1) as model:
        assert model.embed(["MKTAYIAKQR"]).one().array.shape == (320,)


# ---- tables ----

def test_pandas(tiny):
    pytest.importorskip("pandas")
    table = tiny.embed(["MKTAYIAKQR", ""]).to_pandas()
    assert list(table.index) == ["0", "1"] and list(table["status"]) == ["ok", "empty"]
    assert table.loc["0", "mean_0"] == tiny.embed(["MKTAYIAKQR"]).one().array[0]
    assert np.isnan(table.loc["1", "mean_319"])
    assert list(tiny.score(["MKT"]).to_pandas().columns)[-1] == "pseudo_perplexity"


def test_anndata(tiny):
    pytest.importorskip("anndata")
    data = tiny.embed(["MKTAYIAKQR", "GSHM", ""], "mean,bos").to_anndata()
    assert data.shape == (2, 320) and list(data.obs["length"]) == [10, 4]
    assert data.obsm["bos"].shape == (2, 320)
    assert np.array_equal(data.X[0], tiny.embed(["MKTAYIAKQR"]).one().array)
