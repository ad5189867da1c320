"""A client of `bioinfer serve` has the numbers of a model that is opened here."""
import gzip
import http.server
import json
import os
import re
import subprocess
import threading
import time

import numpy as np
import pytest

import bioinfer
from conftest import ROOT, TINY

FEW = {"a": "MKTAYIAKQRQISFVKSHFSRQ", "b": "GSHMSLFDFFKNKG", "c": "MKV"}
PDB = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")


class Server:
    """A server that listens on a port of its own."""

    def __init__(self, folder, *model):
        exe = os.environ.get("BIOINFER_COMMAND")
        if not exe:
            pytest.skip("BIOINFER_COMMAND does not name the command")
        log = folder / ("log%d" % len(os.listdir(folder)))
        with open(log, "w") as file:
            self.process = subprocess.Popen(
                [exe, "serve", *model, "--device", "cpu", "--threads", "1", "--listen",
                 "127.0.0.1:0"], stderr=file, env=dict(os.environ, TMPDIR=str(folder)))
        while True:
            found = re.search(r"http://\S+", log.read_text())
            if found:
                self.url = found.group(0)
                return
            if self.process.poll() is not None:
                words = log.read_text()
                if "libmicrohttpd" in words:
                    pytest.skip(words)
                raise AssertionError(words)
            time.sleep(0.02)

    def stop(self):
        self.process.terminate()
        return self.process.wait(timeout=120)


class Scripted:
    """A server that keeps what it is asked, and answers by `answer(path, body)`: (status, headers,
    bytes)."""

    def __init__(self, answer, **health):
        facts = dict({"family": "esm2", "model": "none", "width": 4, "layers": 1, "device": "cpu",
                      "precision": "fp32", "fingerprint": "f"}, **health)
        self.asked = asked = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.give(200, {}, json.dumps(facts).encode())

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                asked.append((self.path, body, self.headers.get("Authorization")))
                self.give(*answer(self.path, body))

            def give(self, status, headers, text):
                self.send_response(status)
                for name, value in dict({"Content-Length": str(len(text))}, **headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *what):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def rows(path, body):
    """An answer with a result for each record, which has nothing but a length."""
    key, = {"sequences", "complexes", "structures", "ligands"} & set(body)
    return 200, {}, json.dumps({"results": [{"status": "ok", "length": 1}
                                            for _ in body[key]]}).encode()


def refusal(status, word="", **headers):
    text = json.dumps({"error": {"status": word, "message": "so it is"}}).encode()
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, text


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("servers")


@pytest.fixture(scope="module")
def server(folder):
    running = Server(folder, "esm2", "--weights", TINY)
    yield running
    assert running.stop() == 0


@pytest.fixture(scope="module")
def remote(server):
    with bioinfer.connect(server.url) as client:
        yield client


def same(ours, theirs):
    """Results are equal: facts and arrays."""
    for one, two in zip(ours, theirs, strict=True):
        assert type(one).__name__ == type(two).__name__
        assert (one.id, one.length, one.status, one.ordinal) == (two.id, two.length, two.status,
                                                                 two.ordinal)
        assert list(one) == list(two)
        for key in one.arrays:
            assert one.arrays[key].tobytes() == two.arrays[key].tobytes()
            assert one.arrays[key].shape == two.arrays[key].shape


def test_facts(remote, tiny):
    assert (remote.family, remote.name, remote.width, remote.n_layers, remote.device) == (
        tiny.family, tiny.name, tiny.width, tiny.n_layers, tiny.device)
    assert remote.fingerprint() == tiny.fingerprint()
    assert "bioinfer-tiny" in repr(remote) and remote.url in repr(remote)


def refs(value):
    """All references of a description."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner] if key == "$ref" else refs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from refs(inner)


def test_openapi(remote):
    """The description names what the server takes, and nothing else."""
    api = remote.openapi()
    assert api["openapi"].startswith("3.1") and api["info"]["version"] == bioinfer.__version__
    assert set(api["paths"]) == {"/health", "/metrics", "/openapi.json", "/v1/embed", "/v1/score",
                                 "/v1/align"}
    for ref in refs(api):
        found = api
        for part in ref[2:].split("/"):
            found = found[part]
    records = {"sequences": ["MKTAYIAK"], "pairs": [["ACGT", "ACGA"]]}
    for path in "embed", "score", "align":
        post = api["paths"]["/v1/" + path]["post"]
        body = post["requestBody"]["content"]["application/json"]["schema"]
        needed, = body["required"]
        right = {needed: records[needed]}
        settings = {p["name"]: p["schema"] for p in post["parameters"]}
        assert set(settings) | {needed, "mutations"} >= set(body["properties"]) > set(settings)
        assert remote._ask(path, right)["results"][0]["status"] == "ok"
        for name, schema in settings.items():
            assert body["properties"][name] == schema
            one = schema["anyOf"][0]["items"] if "anyOf" in schema else schema
            with pytest.raises(bioinfer.Error) as refused:  # it is known: the value is wrong
                remote._ask(path, dict(right, **{name: {"no": "such"}}))
            assert "not known here" not in refused.value.text and name in refused.value.text
            if "enum" in one:
                with pytest.raises(bioinfer.InvalidArgument, match=name):
                    remote._ask(path, dict(right, **{name: "no-such-word"}))
            if name != "format":
                for word in one.get("enum", ()):
                    try:
                        remote._ask(path, dict(right, **{name: word}))
                    except bioinfer.Error as error:  # a model may lack what a word asks for
                        assert "not one of" not in error.text and "known" not in error.text
            if "minimum" in one:
                with pytest.raises(bioinfer.InvalidArgument):
                    remote._ask(path, dict(right, **{name: one["minimum"] - 1}))
        with pytest.raises(bioinfer.InvalidArgument, match="'batch' is not known here"):
            remote._ask(path, dict(right, batch=1))


@pytest.mark.parametrize("include, more", [
    (None, {}), ("mean,contacts", {}), (["per-residue"], {}), ("mean", {"layers": [0, -1]})])
def test_embed(remote, tiny, include, more):
    odd = dict(FEW, bad="MK1", empty="")
    same(remote.embed(odd, include, **more), tiny.embed(odd, include, **more))


def test_embed_sources(remote, tiny, tmp_path):
    text = "".join(f">{name} words\n{letters}\n" for name, letters in FEW.items()) + ">x\nM1\n"
    path = tmp_path / "a.fa.gz"
    path.write_bytes(gzip.compress(text.encode()))
    same(remote.embed(path), tiny.embed(path))
    same(remote.embed(list(FEW.values())), tiny.embed(list(FEW.values())))
    assert np.array_equal(remote.embed(FEW).matrix(), tiny.embed(FEW).matrix())
    assert list(remote.embed(FEW).dict()) == list(FEW)
    seen = []
    many = [("r%d" % i, "MKTAYIAKQR") for i in range(600)]  # more than a request has
    assert [r.id for r in remote.embed(many, progress=lambda n, m: seen.append((n, m)))] == [
        name for name, _ in many]
    assert seen[-1] == (600, 6000) and len(seen) > 2
    assert list(remote.embed([])) == []


def test_score(remote, tiny):
    mine = tiny.score(FEW)
    for one, two in zip(remote.score(FEW), mine, strict=True):
        assert one.pseudo_perplexity == pytest.approx(two.pseudo_perplexity, rel=1e-5)
        assert one.pseudo_log_likelihood == pytest.approx(two.pseudo_log_likelihood, abs=1e-5)
    asked = {"a": ["K2A", "M1A:T3V"], "b": ["G1A"], "c": ["K1A"]}
    found = {r.id: r for r in remote.score(FEW, "wt-marginals", mutations=asked)}
    for two in tiny.score(FEW, "wt-marginals", mutations={"a": asked["a"], "b": asked["b"]}):
        for mutation in asked[two.id] if two.id != "c" else ():
            assert found[two.id].mutation(mutation) == pytest.approx(two.mutation(mutation),
                                                                     abs=2e-6)
    with pytest.raises(bioinfer.RecordError, match="expected K"):
        found["c"].mutation("K1A")
    with pytest.raises(bioinfer.NoArray, match="not asked"):
        found["a"].mutation("K2V")
    moved = remote.score({"a": FEW["a"]}, mutations=["K12A"], offset=11).one()
    assert moved.scores["K12A"] == pytest.approx(
        tiny.score({"a": FEW["a"]}, mutations=["K12A"], offset=11).one().mutation("K12A", 11),
        abs=2e-6)


def test_score_of_a_part(remote, tiny):
    """A record without mutations in the dict is not computed, here as by a model."""
    few = dict(FEW, bad="M1", low="mkv-\n")
    for asked in {"a": ["K2A"], "b": []}, []:
        theirs, mine = (list(which.score(few, mutations=asked)) for which in (remote, tiny))
        assert [(r.id, r.status, r.length, r.ordinal) for r in theirs] == [
            (r.id, r.status, r.length, r.ordinal) for r in mine]
        for one, two in zip(theirs, mine):
            assert np.isnan(one.pseudo_perplexity)
            assert not two.ok or np.isnan(two.pseudo_perplexity)
            assert list(one.scores) == (asked["a"] if asked and one.id == "a" else [])
    assert theirs[3].status == bioinfer.Status.BAD_RESIDUE and "0x31" in theirs[3].message


def test_mutations_of_all_are_sent_once():
    with Scripted(rows) as scripted:
        remote = bioinfer.connect(scripted.url)
        list(remote.score(FEW, mutations=["M1A"]))
        list(remote.score(FEW, mutations={"b": ["G1A"]}))
        list(remote.score(FEW))
    shared, own, none = (body for _, body, _ in scripted.asked)
    assert shared["mutations"] == ["M1A"] and len(shared["sequences"]) == 3
    assert not any("mutations" in record for record in shared["sequences"] + none["sequences"])
    assert own["sequences"] == [{"id": "b", "sequence": FEW["b"], "mutations": ["G1A"]}]
    assert "mutations" not in own and "mutations" not in none


@pytest.mark.parametrize("task, family, letters", [
    ("fold", "flashabb", "EVQ:D|Q"), ("embed", "saprot", "MdKv#p"), ("score", "saprot", "MdKv"),
    ("tracks", "enformer", "ACgtN")])
def test_files_are_read_as_by_a_model(tmp_path, task, family, letters):
    path = tmp_path / "in.fasta"
    path.write_text(f">x\n{letters}\n>y\n{letters}\n")
    with Scripted(rows, family=family) as scripted:
        results = list(getattr(bioinfer.connect(scripted.url), task)(path))
    assert [(r.id, r.status) for r in results] == [("x", 0), ("y", 0)]
    key, text = ("complexes", "chains") if task == "fold" else ("sequences", "sequence")
    sent = [record for _, body, _ in scripted.asked for record in body[key]]
    assert sent == [{"id": "x", text: letters}, {"id": "y", text: letters}]
    assert len(scripted.asked) == (2 if task == "fold" else 1)  # one complex a request


def test_long_answers(folder, tiny):
    """A request whose answer is too long is asked for in parts."""
    running = Server(folder, "esm2", "--weights", TINY, "--max-answer", "1")
    remote = bioinfer.connect(running.url)
    many = {"r%d" % i: "MKTAYIAKQR" * 3 for i in range(12)}
    theirs, mine = (list(which.embed(many, "attentions")) for which in (remote, tiny))
    assert sum(r.array.nbytes for r in mine) > 1 << 20
    same(theirs, mine)
    with pytest.raises(bioinfer.Error, match="max-answer") as refused:
        list(remote.embed(dict(FEW, long="MKTAYIAKQR" * 12), "attentions"))
    assert refused.value.status == bioinfer.Status.LIMIT
    assert running.stop() == 0


def test_halves():
    """Requests are halved down to one record, and stay as small; a proxy's words are not needed."""
    def answer(path, body):
        records = body["sequences"]
        most = 1 if "odd" in [record["id"] for record in records] else 3
        return (413, {}, b"<html>") if len(records) > most else rows(path, body)

    names = [str(i) for i in range(8)] + ["odd", "empty"]
    records = [(name, "" if name == "empty" else "MK") for name in names]
    with Scripted(answer) as scripted:
        remote = bioinfer.connect(scripted.url)
        results = remote.embed(records)
        assert [r.id for r in results] == names
        sizes = [len(body["sequences"]) for _, body, _ in scripted.asked]
        assert sizes[0] == 10 and sizes.count(10) == 1 and sum(sizes) > 20
        del scripted.asked[:]
        assert [r.id for r in results] == names
        assert [len(body["sequences"]) for _, body, _ in scripted.asked] == [1] * 10
    with Scripted(lambda path, body: refusal(413, "limit")) as scripted:
        with pytest.raises(bioinfer.Error, match="so it is") as refused:
            list(bioinfer.connect(scripted.url).embed(records))
    assert refused.value.status == bioinfer.Status.LIMIT
    assert [len(body["sequences"]) for _, body, _ in scripted.asked] == [10, 4, 2, 1]


def test_answers_that_are_none():
    def cut(path, body):
        return 200, {"Content-Length": "99"}, b"{"

    with Scripted(cut) as scripted:
        with pytest.raises(bioinfer.Error, match="IncompleteRead") as refused:
            list(bioinfer.connect(scripted.url).embed(FEW))
    assert refused.value.status == bioinfer.Status.IO_ERROR


def test_busy():
    """`Retry-After: 0` is no busy loop."""
    for wait in "0", "\u00b2", "0.5":
        with Scripted(lambda path, body: refusal(429, "limit", Retry_After=wait)) as scripted:
            with pytest.raises(bioinfer.Error, match="so it is"):
                list(bioinfer.connect(scripted.url, timeout=1).embed(FEW))
        assert 1 <= len(scripted.asked) <= 11


def test_redirects_are_not_followed():
    with Scripted(rows) as other:
        for status in 301, 302, 303, 307, 308:
            with Scripted(lambda path, body: (status, {"Location": other.url + "/v1/embed"}, b"")
                          ) as scripted:
                with pytest.raises(bioinfer.Error, match=str(status) if status == 308 else
                                   "HTTP .*leads to " + other.url):
                    list(bioinfer.connect(scripted.url, token="secret").embed(FEW))
            assert [token for _, _, token in scripted.asked] == ["Bearer secret"]
    assert other.asked == []


def test_text_in_gzip(tmp_path):
    path, broken = tmp_path / "5L33.pdb.gz", tmp_path / "broken.pdb.gz"
    with open(PDB, "rb") as file:
        text = file.read()
    path.write_bytes(gzip.compress(text))
    broken.write_bytes(gzip.compress(text)[:999])
    pairs = [("z", gzip.compress(b"SDF \xff"))]
    with Scripted(rows) as scripted:
        remote = bioinfer.connect(scripted.url)
        good, bad = remote.design([path, broken])
        assert remote.affinity(pairs, path).one().id == "z"
        with pytest.raises(bioinfer.BadFormat, match="broken.pdb.gz: gzip"):
            remote.affinity(pairs, broken)
    assert (good.id, good.ok, bad.id) == ("5L33", True, "broken")
    assert bad.status == bioinfer.Status.BAD_FORMAT and "gzip" in bad.message
    design, affinity = (body for _, body, _ in scripted.asked)
    assert design["structures"] == [{"id": "5L33", "structure": text.decode()}]
    assert affinity["receptor"] == text.decode() and affinity["ligands"] == ["SDF \udcff"]


def test_results_know_their_server(remote, tiny):
    results = remote.embed([], "mean")
    assert results.matrix().shape == tiny.embed([], "mean").matrix().shape == (0, tiny.width)
    assert (remote.letters, remote.name) == (tiny.letters, tiny.name)
    assert f"Results of embed by {tiny.name}<" in results._repr_html_()


def test_design(folder):
    running = Server(folder, "proteinmpnn")
    remote = bioinfer.connect(running.url)
    options = dict(temperature=[0.1, 0.3], seed=5)
    with bioinfer.open(family="proteinmpnn", device="cpu") as model:
        mine = list(model.design(PDB, 2, **options))
    theirs = list(remote.design(PDB, 2, **options))
    assert [d.sequence for d in theirs] == [d.sequence for d in mine] and len(mine) == 5
    assert [(d.id, d.is_native) for d in theirs] == [(d.id, d.is_native) for d in mine]
    assert [d.score for d in theirs] == pytest.approx([d.score for d in mine], rel=1e-5)
    bad = remote.design([("x", b"nothing")]).one()
    assert not bad.ok and bad.message
    with pytest.raises(bioinfer.NotFound, match="/v1/design"):
        list(remote.embed(["MKT"]))
    with pytest.raises(bioinfer.Unsupported, match="bias_json"):
        remote.design(PDB, bias_json={})
    assert running.stop() == 0


def test_fold(folder, tmp_path):
    heavy = ("EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMN"
             "SLRAEDTAVYYCSRWGGDGFYAMDYWGQGTLVTVSS")
    light = ("DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSGTDFTLTISSLQPEDFAT"
             "YYCQQHYTTPPTFGQGTKVEIK")
    running = Server(folder, "flashabb")
    with bioinfer.open(family="flashabb", device="cpu", threads=1) as model:
        mine = model.fold({"fv": f"{heavy}:{light}"}).one()
    path = tmp_path / "complexes.fasta"
    path.write_text(f">fv\n{heavy}:{light}\n")
    theirs = bioinfer.connect(running.url).fold(path).one()
    same([theirs], [mine])
    assert (theirs.text, theirs.sequence) == (mine.text, mine.sequence)
    assert [chain[:3] for chain in theirs.chains] == [chain[:3] for chain in mine.chains]
    assert theirs.mean_plddt == pytest.approx(mine.mean_plddt, abs=1e-5)
    assert running.stop() == 0


def test_samples(folder):
    tiny = os.path.join(ROOT, "tests", "golden", "esmfold2", "tiny")
    running = Server(folder, "esmfold2", "--weights", tiny)
    chains = {"a": "MKWGA:WH", "b": "MKX", "bad": "MK*"}
    with bioinfer.open(tiny, device="cpu", threads=1) as model:
        mine = list(model.fold(chains, samples=2, seeds=[3, 1], include=("plddt", "pae")))
    theirs = list(bioinfer.connect(running.url).fold(chains, samples=2, seeds=[3, 1],
                                                     include=("plddt", "pae")))
    assert len(mine) == 9
    same(theirs, mine)
    for one, other in zip(theirs[:-1], mine):
        assert (one.text, one.sample, one.seed) == (other.text, other.sample, other.seed)
        assert one.ptm == pytest.approx(other.ptm, abs=1e-5)
        assert one.iptm == pytest.approx(other.iptm, abs=1e-5, nan_ok=True)
    assert running.stop() == 0


def test_affinity(folder):
    tool = os.path.join(ROOT, "tools", "dualbind_weights.py")
    weights = str(folder / "dualbind.pt")
    subprocess.run([os.environ.get("PYTHON", "python3"), tool, weights, "--width", "64"],
                   check=True)
    golden = os.path.join(ROOT, "tests", "golden", "dualbind")
    receptor, ligand = folder / "r.pdb", os.path.join(golden, "6w70_ligand.sdf")
    with gzip.open(os.path.join(golden, "6w70.pdb.gz")) as file:
        receptor.write_bytes(file.read())
    running = Server(folder, "dualbind", "--weights", weights)
    with bioinfer.open(weights, device="cpu") as model:
        mine = model.affinity(ligand, receptor).one()
    theirs = bioinfer.connect(running.url).affinity(ligand, receptor).one()
    assert theirs.energy == pytest.approx(mine.energy, rel=1e-5)
    assert (theirs.id, theirs.n_pairs, theirs.n_atoms, theirs.n_pocket_atoms) == (
        mine.id, mine.n_pairs, mine.n_atoms, mine.n_pocket_atoms)
    assert running.stop() == 0


def test_refusals(remote, server):
    for url in "127.0.0.1:80", "ftp://x", "http://", "unix:socket":
        with pytest.raises(bioinfer.InvalidArgument, match="HOST:PORT"):
            bioinfer.connect(url)
    with pytest.raises(bioinfer.Error, match="127.0.0.1:1"):
        bioinfer.connect("http://127.0.0.1:1", timeout=5)
    with pytest.raises(bioinfer.InvalidArgument, match="include"):
        list(remote.embed(["MKT"], "means"))
    with pytest.raises(TypeError, match="windows"):
        remote.score(["MKT"], windows=3)
    with pytest.raises(bioinfer.Unsupported, match="save"):
        remote.embed(["MKT"]).save("x.npz")
    with pytest.raises(TypeError, match="list"):
        list(remote.embed(b"MKT"))


def test_token(folder):
    token = folder / "token"
    token.write_text("secret-of-some-length\n")
    token.chmod(0o600)
    running = Server(folder, "esm2", "--weights", TINY, "--token-file", str(token))
    with pytest.raises(bioinfer.Error, match="token"):
        list(bioinfer.connect(running.url).embed(["MKT"]))
    good = bioinfer.connect(running.url, token="secret-of-some-length")
    assert good.embed(["MKT"]).one().ok
    assert running.stop() == 0
