"""Nearest neighbours: the command's table, from files and from what lies in memory."""
import numpy as np
import pytest

import bioinfer
from conftest import TINY

FEW = {"a": "MKTAYIAKQRQISFVKSHFSRQ", "b": "GSHMSLFDFFKNKGSAATATDRLKLILAKERTLNLPYMEEMRKEI",
       "c": "MKV", "d": "ACDEFGHIKLMNPQRSTVWYX" * 4}


def rows(table):
    return [tuple(line.split("\t")) for line in table.splitlines()[1:]]


def told(found):
    return [(n.query, str(n.rank), n.hit, f"{n.value:.9g}") for n in found]


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_equals_the_command(tiny, command, tmp_path, metric):
    fasta, path = tmp_path / "in.fasta", tmp_path / "o.npz"
    fasta.write_text("".join(f">{name}\n{text}\n" for name, text in FEW.items()))
    command("esm2", fasta, "--weights", TINY,
            "--device", "cpu", "-o", path)
    want = rows(command("nearest", path, "--metric", metric))
    results = tiny.embed(FEW)
    for source in path, str(path), results, results.dict(), dict(np.load(path)):
        assert told(bioinfer.nearest(source, metric=metric)) == want
    two = bioinfer.nearest(path, results, 2, metric=metric)
    assert told(two) == rows(command("nearest", path, path, "-k", "2", "--metric", metric))
    assert two.queries == list(FEW) and two.indices.shape == two.values.shape == (4, 2)
    assert [two.queries[i] for i in two.indices[:, 0]] == list(FEW) and len(two) == 8


def test_arrays():
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(5, 7)), rng.normal(size=(20, 7)).astype(np.float32)
    found = bioinfer.nearest(a, b, 3, metric="euclidean", threads=1)
    far = np.sqrt(((a.astype(np.float32)[:, None] - b[None].astype(float)) ** 2).sum(2))
    assert np.array_equal(found.indices, np.argsort(far, axis=1)[:, :3])
    assert np.allclose(found.values, np.sort(far, axis=1)[:, :3])
    assert [n.hit for n in found] == [str(i) for i in found.indices.flat]
    pandas = pytest.importorskip("pandas")
    assert isinstance(found.to_pandas(), pandas.DataFrame)
    assert list(found.to_pandas().columns) == ["query", "rank", "hit", "distance"]


def test_progress_and_its_end():
    shares = []
    bioinfer.nearest(np.ones((3, 2)), progress=shares.append)
    assert shares == [1.0]

    def stop(share):
        raise KeyError(share)
    with pytest.raises(KeyError):
        bioinfer.nearest(np.ones((3, 2)), progress=stop)


@pytest.mark.parametrize("arguments, words", [
    (([[1, 2]], [[1, 2, 3]]), "2 values"), (([[1, float("nan")]],), "record '0'"),
    (([[0, 0], [1, 1]],), "record '0'"), (([1, 2],), "shape"), ((np.zeros((0, 3)),), "shape"),
    (({"a": [1, 2], "b": [1]},), "'b'"), (([[1, 2]], None, 0), "k is 0")])
def test_refusals(arguments, words):
    with pytest.raises(bioinfer.Error, match=words):
        bioinfer.nearest(*arguments)
    with pytest.raises(bioinfer.InvalidArgument, match="euclidean"):
        bioinfer.nearest([[1, 2]], metric="dot")
    with pytest.raises(bioinfer.NotFound):
        bioinfer.nearest("no/such.npz")
