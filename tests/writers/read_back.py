"""Reads what the tests wrote with --samples, with the libraries users have.

usage: read_back.py WRITERS_TEST ARRAYS_TEST. Exits with 77 when NumPy is missing; formats whose
library is missing are named and left out."""
import base64
import io
import json
import os
import subprocess
import sys
import tempfile
import zipfile

try:
    import numpy as np
except ImportError:
    print("skipped: no numpy")
    sys.exit(77)

IDS = ["\u00e9", "a/b", "sp|P1|X Y", "..", '"q"'] + ["id%d" % k for k in range(5, 50)]
FAILED = 7
KINDS = {
    "one": [("mean", 6, (5,))],
    "two": [("mean", 6, (5,)), ("per-residue", 6, (3, 5))],
    "half": [("mean", 6, (5,))],  # as float16
    "layers": [("mean", 0, (4,)), ("mean", 6, (4,)), ("logits", -1, (3, 2))],
}
checked = 0


def values(i, shape):
    """Makes the values that value() of writers_test.c gives for record i."""
    k = np.arange(int(np.prod(shape)), dtype=np.int64)
    return (((i * 31 + k * 7) % 1000 - 500).astype(np.float32) / np.float32(7)).reshape(shape)


def arrays(name):
    """(record, suffix of the key, kind, layer, values) of every array of a sample."""
    for i in range(len(IDS)):
        if i == FAILED:
            continue
        for k, (kind, layer, shape) in enumerate(KINDS[name]):
            suffix = ""
            if name == "layers" and layer >= 0:
                suffix = "/layer_%d" % layer
            if name not in ("one", "half"):
                suffix += "/" + kind
            found = values(i + k, shape)
            yield i, suffix, kind, layer, found.astype(np.float16) if name == "half" else found


def check(found, expected, what):
    global checked
    checked += 1
    found = np.asarray(found)
    if found.dtype != expected.dtype or found.shape != expected.shape or (found != expected).any():
        sys.exit("%s: got %r, expected %r" % (what, found, expected))


def check_npz(folder, name):
    path = os.path.join(folder, name + ".npz")
    with np.load(path) as npz, zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        n = 0
        for i, suffix, _, _, expected in arrays(name):
            key = {"..": "_"}.get(IDS[i], IDS[i]) + suffix
            check(npz[key], expected, key)
            saved = io.BytesIO()
            np.save(saved, expected)
            assert archive.read(key + ".npy") == saved.getvalue(), key
            n += 1
        assert len(npz.files) == n


def check_npy(folder, name):
    path = os.path.join(folder, name + ".npy")
    expected = np.stack([a[4] for a in arrays(name)])
    check(np.load(path), expected, path)
    saved = io.BytesIO()
    np.save(saved, expected)
    with open(path, "rb") as f:
        assert f.read() == saved.getvalue(), "not the bytes of numpy.save"
    with open(os.path.join(folder, name + ".ids.txt"), encoding="utf-8") as f:
        assert f.read().split("\n")[:-1] == [x for i, x in enumerate(IDS) if i != FAILED]


def check_safetensors(folder, name):
    from safetensors import safe_open

    with safe_open(os.path.join(folder, name + ".safetensors"), "np") as f:
        n = 0
        for i, suffix, _, _, expected in arrays(name):
            check(f.get_tensor(IDS[i] + suffix), expected, IDS[i])
            n += 1
        assert len(list(f.keys())) == n and f.metadata()["model"] == 'esm2 "tiny"'


def check_h5(folder, name):
    import h5py

    with h5py.File(os.path.join(folder, name + ".h5"), "r") as f:
        assert f.attrs["model"] == 'esm2 "tiny"'
        for i, suffix, _, _, expected in arrays(name):
            key = IDS[i].replace("/", "_")
            check(f[key + suffix][...], expected, key)
            assert f[key].attrs.get("original_id", key) == IDS[i]


def check_matrix(folder, format, rows):
    """One array of all records and their ids, as write_matrix() of arrays_test.c makes them."""
    global checked
    path = os.path.join(folder, "matrix%d.%s" % (rows, format))
    kept = [k for k in range(rows) if k != 9]
    ids = ["id%d" % (k - (k == 7)) for k in kept]
    if rows:
        ids[3:6] = ["seq_3", "seq_4", "\ufffd\u00e9"]
    if format == "npz":
        with np.load(path) as npz:
            assert sorted(npz.files) == ["embeddings", "ids"]
            found, names = npz["embeddings"], [x.decode() for x in npz["ids"]]
    elif format == "h5":
        import h5py
        with h5py.File(path) as f:
            found, names = f["embeddings"][...], list(f["ids"].asstr()[...])
    elif format == "safetensors":
        from safetensors import safe_open
        with safe_open(path, "np") as f:
            found, raw = f.get_tensor("embeddings"), f.get_tensor("ids")
            assert sorted(f.keys()) == ["embeddings", "ids"]
        names = [bytes(row).rstrip(b"\0").decode() for row in raw]
    assert names == ids, (path, names[:12])
    expected = np.stack([values(k, (5,)) for k in kept]) if rows else np.zeros((0, 0), np.float32)
    check(found, expected, path)


def check_jsonl(folder, name):
    with open(os.path.join(folder, name + ".jsonl"), encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    assert [r["ordinal"] for r in rows] == list(range(len(IDS))) and [r["id"] for r in rows] == IDS
    assert rows[FAILED]["status"] == "empty" and "arrays" not in rows[FAILED]
    found = [a for r in rows for a in r.get("arrays", [])]
    for (_, _, kind, layer, expected), a in zip(arrays(name), found, strict=True):
        assert a["kind"] == kind and a.get("layer", -1) == layer
        check(np.frombuffer(base64.b64decode(a["data"]), "<f4").reshape(a["shape"]), expected, kind)


def check_tsv(folder):
    with open(os.path.join(folder, "one.tsv"), encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    assert rows[0] == ["id", "length", "status", "message", "d0", "d1", "d2", "d3", "d4"]
    assert [r[0] for r in rows[1:]] == IDS and all(len(r) == 9 for r in rows)
    for i, _, _, _, expected in arrays("one"):
        check(np.array(rows[i + 1][4:], np.float32), expected, IDS[i])


def main():
    with tempfile.TemporaryDirectory() as folder:
        for test in sys.argv[1:]:
            subprocess.run([test, "--samples", folder], check=True)
        check_npy(folder, "one")
        check_npy(folder, "half")
        check_tsv(folder)
        for rows in 0, 20, 20000:
            check_matrix(folder, "npz", rows)
        for name in KINDS:
            check_npz(folder, name)
            if name != "half":
                check_jsonl(folder, name)
        for library, suffix, function in (("safetensors", ".safetensors", check_safetensors),
                                          ("h5py", ".h5", check_h5)):
            try:
                __import__(library)
            except ImportError:
                print("not checked: %s files (no %s)" % (suffix, library))
                continue
            if not os.path.exists(os.path.join(folder, "one" + suffix)):
                print("not checked: %s files (not in this build)" % suffix)
                continue
            for name in KINDS:
                function(folder, name)
            for rows in 0, 20, 20000:
                check_matrix(folder, suffix[1:], rows)
    print("%d arrays equal" % checked)


main()
