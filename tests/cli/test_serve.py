#!/usr/bin/env python3
"""test_serve.py BIOINFER ROOT - `bioinfer serve`: answers, limits, hostile clients, the end."""
import base64
import concurrent.futures
import gzip
import http.client
import io
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

EXE = ROOT = ""
AMINO = "ACDEFGHIKLMNPQRSTVWY"


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.host)


class Server:
    """A running server; `stop` sends SIGTERM and gives its exit status."""

    def __init__(self, folder, *options, listen="127.0.0.1:0", model=("esm2", "--weights", "tiny")):
        self.log = os.path.join(folder, "log%d" % random.getrandbits(48))
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [EXE, "serve", *model, "--threads", "1", "--listen", listen, *options], stderr=log,
                env=dict(os.environ, TMPDIR=folder))
        while not re.search(r" at (http|unix):", self.text()):
            if self.process.poll() is not None:
                raise AssertionError(self.text())
            time.sleep(0.02)
        self.address = re.search(r" at (?:http://|unix:)(\S+)", self.text()).group(1)

    def text(self):
        with open(self.log) as file:
            return file.read()

    def connect(self):
        if "/" in self.address:
            return UnixConnection(self.address, timeout=120)
        return http.client.HTTPConnection(self.address, timeout=120)

    def ask(self, method, path, body=None, headers=None):
        """Status, headers and body of an answer."""
        connection = self.connect()
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def post(self, path, body, headers=None):
        body = body if isinstance(body, (bytes, str)) else json.dumps(body)
        return self.ask("POST", path, body, headers)

    def results(self, path, body):
        status, _, text = self.post(path, body)
        assert status == 200, text
        return json.loads(text)["results"]

    def metric(self, name):
        text = self.ask("GET", "/metrics")[2].decode()
        found = re.search(r"^bioinfer_%s (\S+)$" % re.escape(name), text, re.M)
        return float(found.group(1)) if found else 0

    def raw(self, data=b""):
        host, port = self.address.rsplit(":", 1)
        sock = socket.create_connection((host, int(port)), timeout=120)
        sock.sendall(data)
        return sock

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=120)


def held(n=20):
    """The beginning of a request whose body is not there yet."""
    return b"POST /v1/embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % n


CHUNKED = held(10).replace(b"Content-Length: 10", b"Transfer-Encoding: chunked")


class Case(unittest.TestCase):
    options = ()
    alone = True  # the case needs a server of its own

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bi-")
        self.addCleanup(self.folder.cleanup)
        if self.alone:
            self.server = self.start(*self.options)

    def start(self, *options, **more):
        server = Server(self.folder.name, *options, **more)
        self.addCleanup(server.process.stderr.close if server.process.stderr else lambda: None)
        self.addCleanup(server.process.wait)
        self.addCleanup(server.process.kill)
        return server

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def command(self, *arguments):
        done = subprocess.run([EXE, *arguments, "--weights", "tiny", "--threads", "1"],
                              capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        return done.stdout

    def fasta(self, name, records):
        with open(self.path(name), "w") as file:
            for key, sequence in records:
                file.write(">%s\n%s\n" % (key, sequence))
        return self.path(name)

    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def refused(self, status, path, body, words, **more):
        got, headers, text = self.server.post(path, body, **more)
        self.assertEqual(got, status, text)
        self.assertIn(words, json.loads(text)["error"]["message"])
        return headers


def random_records(seed, n, longest=60):
    rng = random.Random(seed)
    return [("r%d" % i, "".join(rng.choices(AMINO, k=rng.randint(1, longest)))) for i in range(n)]


class Answers(Case):
    def test_files_have_the_bytes_of_the_command(self):
        fasta = self.fasta("a.fa", random_records(1, 12) + [("bad", "MK1T")])
        body = self.read(fasta)
        for name in ("npz", "jsonl", "safetensors", "tsv"):
            for query in ([], ["--layers", "0,-1"] if name != "tsv" else ["--include", "bos"]):
                out = self.path("out." + name)
                self.command("esm2", fasta, "-o", out, "--resume=no", *query,
                             *(["--json-floats"] if name == "jsonl" else []))
                address = "/v1/embed?format=%s" % name
                if query:
                    address += "&%s=%s" % (query[0][2:], query[1])
                status, headers, answer = self.server.post(address, body)
                self.assertEqual(status, 200, answer)
                expected = self.read(out)
                if name in ("jsonl", "tsv"):  # the name of the file is in the reason
                    expected = expected.replace(fasta.encode(), b"request")
                self.assertEqual(answer, expected, (name, query))
                self.assertEqual((headers["Bioinfer-Records"], headers["Bioinfer-Failed"]),
                                 ("13", "1"))

    def test_json(self):
        got = self.server.results("/v1/embed", {
            "sequences": ["MKTAY", {"id": "P1 é", "sequence": " mk-t\nay* "}, {"sequence": "M7"},
                          ""],
            "include": ["mean", "bos"], "layers": [0, -1]})
        self.assertEqual([r["id"] for r in got], ["0", "P1 é", "2", "3"])
        self.assertEqual([r["status"] for r in got], ["ok", "ok", "bad_residue", "empty"])
        self.assertIn("0x37 at position 2", got[2]["message"])
        self.assertEqual(got[0]["arrays"], got[1]["arrays"])
        self.assertEqual([(a["kind"], a["layer"]) for a in got[0]["arrays"]],
                         [("mean", 0), ("bos", 0), ("mean", 6), ("bos", 6)])
        raw = self.server.results("/v1/embed", {"sequences": ["MKTAY"], "floats": "base64"})
        self.assertEqual(len(base64.b64decode(raw[0]["arrays"][0]["data"])), 4 * 320)

    def test_raw_residues(self):
        """Each character is a residue with --raw-residues, of JSON as of FASTA."""
        server = self.start("--raw-residues")
        got = server.results("/v1/embed", {"sequences": ["MKTAY", "MKTAY*", "mKTAY"]})
        self.assertEqual([r["status"] for r in got], ["ok", "bad_residue", "bad_residue"])
        self.assertIn("residue 6 is '*'", got[1]["message"])
        self.assertIn("residue 1 is 'm'", got[2]["message"])

    def test_compressed_fasta(self):
        body = b">a\nMKT\n>b\nMKTAY\n"
        self.assertEqual(self.server.post("/v1/embed", gzip.compress(body))[2],
                         self.server.post("/v1/embed", body)[2])

    def test_scores_are_those_of_the_command(self):
        records = random_records(2, 4, 20) + [("wt", "MKTAYIAKQR")]
        fasta = self.fasta("s.fa", records)
        lines = self.command("score", "esm2", fasta, "--method", "pppl").decode().splitlines()[1:]
        got = self.server.results("/v1/score?method=pppl", self.read(fasta))
        self.assertEqual(["%s\t%d\t%.6f\t%.6f" % (r["id"], r["length"], r["log_likelihood"],
                                                   r["perplexity"]) for r in got], lines)
        table = self.path("m.csv")
        with open(table, "w") as file:
            file.write("mutant\nM1A\nK2R:T3S\nA1M\n")
        for method in ("masked-marginals", "wt-marginals"):
            scored = self.command("score", "esm2", self.fasta("w.fa", records[-1:]), "--mutations",
                                  table, "--method", method).decode().splitlines()[1:]
            got, = self.server.results("/v1/score", {
                "sequences": [{"id": "wt", "sequence": records[-1][1]}], "method": method,
                "mutations": ["M1A", "K2R:T3S", "A1M"]})
            self.assertEqual([line.split(",")[1] for line in scored],
                             ["%.6f" % s["score"] if "score" in s else "" for s in got["scores"]])
            self.assertEqual(got["scores"][2]["status"], "mismatch")

    def test_many_clients_share_batches_and_change_no_byte(self):
        work = []
        for i in range(60):
            body = "".join(">%s\n%s\n" % r for r in random_records(i, 1 + i % 4))
            work.append(("/v1/score?method=wt-marginals" if i % 5 == 0 else
                         "/v1/embed?format=%s&include=%s" %
                         (("json", "npz")[i % 2], ("mean", "mean,bos")[i % 3 == 0]), body))
        alone = [self.server.post(*item) for item in work]
        before = self.server.metric("batches_total")
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            together = list(pool.map(lambda item: self.server.post(*item), work))
        for one, other in zip(alone, together):
            self.assertEqual((one[0], one[2]), (other[0], other[2]))
            self.assertEqual(one[0], 200)
        self.assertLess(self.server.metric("batches_total") - before, before)
        self.assertEqual(self.server.metric("queue_requests"), 0)

    def test_more_kinds_of_work_than_tasks_are_kept(self):
        for layer in range(7):
            for include in ("mean", "bos"):
                got = self.server.results("/v1/embed?layers=%d&include=%s" % (layer, include),
                                          ">a\nMKT\n")
                self.assertEqual(got[0]["arrays"][0]["layer"], layer)
                self.assertEqual(got[0]["arrays"][0]["kind"], include)

    def test_a_connection_serves_many_requests(self):
        connection = self.server.connect()
        for i in range(5):
            connection.request("POST", "/v1/embed", ">a\nMKT\n" if i % 2 else "{")
            answer = connection.getresponse()
            self.assertEqual(answer.status, 200 if i % 2 else 400)
            answer.read()
        connection.close()

    def test_pages(self):
        status, _, text = self.server.ask("GET", "/health")
        self.assertEqual((status, json.loads(text)["model"]), (200, "bioinfer-tiny"))
        for page in ("/health", "/metrics"):  # a HEAD is a GET without the text
            status, headers, text = self.server.ask("HEAD", page)
            self.assertEqual((status, text), (200, b""))
            self.assertGreater(int(headers["Content-Length"]), 0)
        self.assertEqual(self.server.ask("GET", "/v1/embed")[0], 405)
        self.assertEqual(self.server.ask("POST", "/health", "x")[0], 405)
        self.assertEqual(self.server.ask("GET", "/v2")[0], 404)
        self.server.post("/v1/embed", ">a\nMKT\n")
        text = self.server.ask("GET", "/metrics")[2].decode()
        self.assertIn('bioinfer_requests_total{code="405"} 2', text)
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE) bioinfer_\w+ .*|"
                             r"bioinfer_\w+(\{\w+=\"[^\"]*\"\})? [0-9.e+-]+)$")
        self.assertEqual(self.server.metric("records_total"), 1)


def npz(fortran=False, **arrays):
    """An archive as numpy.savez() makes it, of arrays given as (dtype, shape, bytes)."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, (dtype, shape, data) in arrays.items():
            head = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }" % (dtype, fortran, shape)
            head = head.ljust(117) + "\n"
            archive.writestr(name + ".npy", b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
                             head.encode() + data)
    return file.getvalue()


def texts(values, wide=False):
    """An array of texts of type U or S."""
    size = max(map(len, values))
    data = b"".join(v.ljust(size, "\0").encode("utf-32-le" if wide else "latin-1")
                    for v in values)
    return ("<U%d" if wide else "|S%d") % size, (len(values),), data


class Works(Case):
    """Models of other kinds answer, and every server makes alignments."""
    alone = False
    golden = property(lambda self: os.path.join(ROOT, "tests", "golden"))

    def compare(self, path, body, *arguments, name="out"):
        """An answer has the bytes of a command; {} among its arguments is the output."""
        out = self.path(name)
        done = subprocess.run([EXE, *(a.replace("{}", out) for a in arguments), "--threads", "1",
                               "--quiet"], capture_output=True, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)
        status, headers, answer = self.server.post(path, body)
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer, self.read(out), path)
        return headers

    def test_designs(self):
        self.server = self.start(model=["proteinmpnn"])
        pdb = os.path.join(self.golden, "proteinmpnn", "5L33.pdb")
        body = self.read(pdb)
        for name in ("fasta", "tsv", "npz"):
            self.compare("/v1/design?num-seq=2&temperature=0.1,0.3&seed=5&id=5L33&format=" + name,
                         body, "proteinmpnn", pdb, "--num-seq", "2", "--temperature", "0.1,0.3",
                         "--seed", "5", "-o", "{}", "--format", name)
        self.compare("/v1/design?score-only=true&id=5L33&format=tsv", body, "proteinmpnn", pdb,
                     "--score-only", "-o", "{}", "--format", "tsv")
        bad, good = self.server.results("/v1/design", {
            "structures": ["junk", {"id": "x", "structure": body.decode()}]})
        self.assertEqual((bad["status"], bad["designs"]), ("empty", []))
        self.assertEqual((good["id"], good["status"], good["length"]), ("x", "ok", 106))
        self.assertEqual([d["source"] for d in good["designs"]], ["native", "design"])
        self.refused(404, "/v1/embed", ">a\nM\n", "/v1/design, /v1/align")
        self.refused(400, "/v1/design", {"structures": [body.decode()], "id": "x"},
                     "name it in structures")
        self.refused(413, "/v1/design?num-seq=10000&temperature=1,2", body, "20000 sequences")
        self.refused(413, "/v1/design?id=a&temperature=" + ",".join(["0.1"] * 4000), body,
                     "structure 'a': 4000 sequences of about 109 residues")
        for query in ("num-seq=0", "num-seq=x", "temperature=-1", "seed=0", "format=paf",
                      "include=logprobs", "chains="):
            self.assertEqual(self.server.post("/v1/design?" + query, body)[0], 400, query)
        self.assertEqual(self.server.post("/v1/design?format=npz", "junk")[1]["Bioinfer-Failed"],
                         "1")

    def test_windows(self):
        model = ["enformer", "--weights", os.path.join(self.golden, "enformer", "half"),
                 "--positions", "formula-pt"]
        self.server = self.start(model=model)
        rng = random.Random(3)
        short, = self.server.results("/v1/tracks", {"sequences": ["ACGT"]})
        window = int(re.search(r"expected (\d+)", short["message"]).group(1))
        bases = ["".join(rng.choices("ACGT", k=window)) for _ in range(2)]
        fasta = self.fasta("w.fa", [("w%d" % i, b) for i, b in enumerate(bases)])
        ids = texts(["w0", "w1"])
        forms = [self.read(fasta), npz(sequences=texts(bases, True), ids=ids),
                 npz(sequences=("|u1", (2, window), "".join(bases).encode()), ids=ids)]
        for body in forms:
            self.compare("/v1/tracks?tracks=0,2&rc=true&format=npz", body, *model, fasta, "--rc",
                         "--tracks", "0,2", "-o", "{}", name="out.npz")
        got, = self.server.results("/v1/tracks", {"sequences": bases[:1], "tracks": [1]})
        self.assertEqual(got["arrays"][0]["shape"][1], 1)
        self.refused(400, "/v1/tracks?tracks=1000000", forms[0], "track")

    def test_energies(self):
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        import dualbind_weights
        weights = self.path("dualbind.pt")
        dualbind_weights.write(weights, 64, 0)
        self.server = self.start(model=["dualbind", "--weights", weights])
        poses = os.path.join(self.golden, "dualbind", "poses.sdf")
        receptor = os.path.join(self.golden, "dualbind", "6w70.pdb.gz")
        with gzip.open(receptor, "rt") as file:
            protein = file.read()
        ligands = self.read(poses).decode()
        body = {"receptor": protein, "ligands": ligands}
        self.compare("/v1/affinity?format=tsv", json.dumps(body), "dualbind", receptor, poses,
                     "--weights", weights, "-o", "{}")
        pocket = self.server.results("/v1/affinity?pocket=20", json.dumps(body))
        whole = self.server.results("/v1/affinity", dict(body, ligands=[ligands, "junk"]))
        self.assertEqual(len(whole), len(pocket) + 1)
        self.assertNotEqual(whole[0]["energy"], pocket[0]["energy"])
        self.assertNotEqual(whole[-1]["status"], "ok")
        got = self.server.results("/v1/affinity", {"receptor": "junk", "ligands": ligands})
        self.assertEqual({r["message"].split(":")[0] for r in got}, {"receptor"})
        for wrong in ({}, {"receptor": protein}, {"receptor": 1, "ligands": ligands},
                      {"receptor": protein, "ligands": [1]}, dict(body, pocket=0),
                      {"receptor": protein, "ligands": ""}):
            self.assertEqual(self.server.post("/v1/affinity", wrong)[0], 400, list(wrong))
        self.assertEqual(self.server.post("/v1/affinity", protein)[0], 400)
        self.assertEqual(self.server.stop(), 0)
        self.assertFalse([n for n in os.listdir(self.folder.name) if "serve" in n])

    def test_alignments(self):
        self.server = self.start()
        queries, targets = random_records(5, 6), random_records(6, 6)
        queries[5], targets[5] = ("q", "HEAGAWGHEE"), ("t", "PAWHEAE")
        fasta = self.fasta("q.fa", queries), self.fasta("t.fa", targets)
        body = "".join(">%s\n%s\n>%s\n%s\n" % (q + t) for q, t in zip(queries, targets))
        for query in ([], ["--mode", "ends-free"], ["--gap-open", "10.5", "--gap-extend", "0.5"],
                      ["--score-only"], ["--free-ends", "query-begin,target-end"]):
            asked = "".join("&%s=%s" % (name[2:], value) for name, value
                            in zip(query[::2], query[1::2] or ["true"]))
            for name in ("tsv",) if "--score-only" in query else ("tsv", "paf"):
                self.compare("/v1/align?format=%s%s" % (name, asked), body, "align", *fasta,
                             "--format", name, "-o", "{}", *query)
        got = self.server.results("/v1/align", {
            "pairs": [["heagawghee", "PAWHEAE"],
                      {"id": "a", "query": "MK1", "target_id": "b", "target": "MK"}]})
        self.assertEqual((got[0]["score"], got[0]["cigar"]), (2, "3I1X2=3X1="))
        self.assertEqual((got[1]["id"], got[1]["target"], got[1]["status"]),
                         ("a", "b", "bad_residue"))
        dna, = self.server.results("/v1/align", {"pairs": [["ACGTACGT", "ACGTACGT"]]})
        self.assertEqual(dna["score"], 40)  # EDNAFULL, as the letters are those of DNA
        for wrong in ({}, {"pairs": [["A"]]}, {"pairs": ["A"]}, {"pairs": [["A", 1]]},
                      {"pairs": [{"query": "A"}]}, {"pairs": [{"query": "A", "taget": "A"}]},
                      {"pairs": [["A", "A"]], "mode": "local"},
                      {"pairs": [["A", "A"]], "gap-open": "x"},
                      {"pairs": [["A", "A"]], "matrix": "/etc/passwd"}):
            self.assertEqual(self.server.post("/v1/align", wrong)[0], 400, wrong)
        for query, words in (("match=5&mismatch=-4&matrix=BLOSUM62", "matrix excludes match"),
                             ("mismatch=-4&matrix=BLOSUM62", "matrix excludes match"),
                             ("match=5", "come together"), ("mismatch=-4", "come together"),
                             ("score-only=1&format=paf", "no alignment to write as paf")):
            self.refused(400, "/v1/align?" + query, '{"pairs":[["ACGT","ACG"]]}', words)
        self.refused(400, "/v1/align", {"pairs": []}, "no pairs")
        self.refused(400, "/v1/align", {"pairs": [{"query": "A", "target": "A", "target_id": 1}]},
                     "pairs: the id of number 0")
        self.refused(400, "/v1/align", ">a\nM\n", "a pair is")
        self.refused(413, "/v1/align", {"pairs": [["A" * 400000, "A" * 400000]]}, "products")

    def test_arrays_of_texts(self):
        self.server = self.start()
        records = random_records(7, 4)
        names, sequences = zip(*records)
        expected = self.server.post("/v1/embed?format=npz",
                                    "".join(">%s\n%s\n" % r for r in records))[2]
        for wide in (False, True):
            body = npz(sequences=texts(sequences, wide), ids=texts(names, wide))
            self.assertEqual(self.server.post("/v1/embed?format=npz", body)[2], expected)
        got = self.server.results("/v1/score?method=pppl", npz(sequences=texts(["MKT", "M\x01"])))
        self.assertEqual([r["status"] for r in got], ["ok", "bad_residue"])
        self.texts_are_taken_whole()
        good = npz(sequences=texts(sequences))
        for body in (npz(other=texts(["M"])), npz(sequences=("<f4", (1,), b"1234")),
                     npz(sequences=("|S0", (1,), b"")), npz(sequences=("|S8", (9,), b"M")),
                     npz(sequences=("|S99999999", (99999999,), b"M")),
                     npz(sequences=("|S", (1,), b"M")), npz(sequences=("|u1", (4,), b"MKTA")),
                     npz(sequences=texts(["M"]), ids=texts(["a", "b"])), good[:-30], good[:60]):
            self.assertEqual(self.server.post("/v1/embed", body)[0] // 100,
                             2 if b"|S0" in body else 4, body[:200])
        rng = random.Random(1)
        for _ in range(100):
            body = bytearray(good)
            for _ in range(3):
                body[rng.randrange(len(body))] = rng.randrange(256)
            self.assertIn(self.server.post("/v1/embed", bytes(body))[0], (200, 400, 413))
        self.assertIsNone(self.server.process.poll())

    def texts_are_taken_whole(self):
        """Neither characters nor arrays are passed over in silence."""
        for wide in (False, True):
            got = self.server.results("/v1/score", npz(sequences=texts(["MK\0T", "MKT"], wide)))
            self.assertEqual([r["status"] for r in got], ["bad_residue", "ok"])
            self.refused(400, "/v1/score", npz(sequences=texts(["MKT"]),
                                               ids=texts(["a\0b"], wide)), "control character")
        for name in ("\u00e9", "\u20ac", "\U0001f9ec", "a"):
            point, utf8 = struct.pack("<I", ord(name)), name.encode()
            for ids in (("<U1", (1,), point), ("|S%d" % len(utf8), (1,), utf8)):
                got, = self.server.results("/v1/score", npz(sequences=texts(["MKT"]), ids=ids))
                self.assertEqual((got["id"], got["status"]), (name, "ok"))
            got, = self.server.results("/v1/score", npz(sequences=("<U1", (1,), point)))
            self.assertEqual(got["status"], "bad_residue" if name != "a" else "ok")
        for point in (0xd800, 0x110000, 0xffffffff):
            self.refused(400, "/v1/score", npz(sequences=texts(["M"]), ids=(
                "<U1", (1,), struct.pack("<I", point))), "control character")
        self.refused(400, "/v1/score", npz(True, sequences=("|u1", (2, 3), b"MAKBTC")), "Fortran")
        self.refused(400, "/v1/score", npz(sequences=texts(["MKT"]), mutations=texts(["K2R"])),
                     "'mutations.npy' is not known")

    def test_kinds_of_work_side_by_side(self):
        self.server = self.start(model=["proteinmpnn"])
        body = self.read(os.path.join(self.golden, "proteinmpnn", "5L33.pdb"))
        work = [("/v1/design?format=fasta&num-seq=%d" % (1 + i % 2), body) if i % 3 else
                ("/v1/align", '{"pairs":[["MKTAY%s","MKAY"]]}' % ("A" * i)) for i in range(12)]
        alone = [self.server.post(*item)[::2] for item in work]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            together = list(pool.map(lambda item: self.server.post(*item)[::2], work))
        self.assertEqual(alone, together)
        self.assertEqual({status for status, _ in alone}, {200})


class Hostile(Case):
    options = ("--max-body", "1", "--max-answer", "1", "--timeout", "2")

    def test_what_a_request_cannot_say(self):
        for body, words in (
                ("", "no body"), (" \n", "no body"), ("{", "request"),
                ("[1]", 'list of JSON, expected an object: {"sequences": [...]}'),
                ("{}", "sequences"), ('{"sequences":1}', "sequences"),
                ('{"sequences":[]}', "no seq"),
                ('{"sequences":[1]}', "number 0"), ('{"sequences":[{}]}', "number 0"),
                ('{"sequences":["M"],"sequences":["K"]}', "twice"),
                ('{"sequences":["M"],"incldue":"mean"}', "not known"),
                ('{"sequences":["M"],"method":"pppl"}', "not known"),
                ('{"sequences":["M"],"include\\u0000x":"mean"}', "not known"),
                ('{"sequences":["M"],"sequences\\u0000":["K"]}', "not known"),
                ('{"sequences":[{"sequence":"M","id\\u0000":"a"}]}', "not known"),
                ('{"sequences":[{"sequence":"M","seq":"M"}]}', "not known"),
                ('{"sequences":[{"sequence":"M","id":""}]}', "id"),
                ('{"sequences":[{"sequence":"M","id":"a\\nb"}]}', "control"),
                ('{"sequences":[{"sequence":"M","id":"a\\u0000b"}]}', "control"),
                ('{"sequences":["M"],"include":["mean",[]]}', "include"),
                ('{"sequences":["M"],"include":"mean\\u0000"}', "include"),
                ('{"sequences":["M"],"include":"none"}', "none"),
                ('{"sequences":["M"],"layers":[0.5]}', "layer"),
                ('{"sequences":["M"],"layers":[]}', "layers: an empty list"),
                ('{"sequences":["M"],"include":[]}', "include: an empty list"),
                ('{"sequences":["M"],"layers":[99]}', "99"),
                ('{"sequences":["M"],"format":"exe"}', "exe"),
                ('{"sequences":["M"],"format":"../x"}', "../x"),
                ('{"sequences":["M"]} x', "request"), (b'{"sequences":["\xff"]}', "UTF-8"),
                ("[" * 100000, "list"), ('{"sequences":[' + "1" * 5000, "request"),
                (">a\nMKT\n>a\nMKT\n", "a"), ("MKT", "not FASTA"), (b"\x1f\x8b\x08junk", "")):
            headers = self.refused(400, "/v1/embed?format=npz" if body[:1] == ">" else "/v1/embed",
                                   body, words)
            self.assertEqual(headers["Content-Type"], "application/json")
        self.refused(413, "/v1/embed", '{"sequences":' + "[" * 5000, "deeper")
        for query in ("fromat=npz", "method=pppl", "sequences=M"):
            self.refused(400, "/v1/embed?" + query, ">a\nM\n", "not known here")
        for query in ("format", "layers&format=npz", "include=mean&layers"):
            self.refused(400, "/v1/embed?" + query, ">a\nM\n", "has no value")
        self.refused(400, "/v1/embed?format=json&format=npz", ">a\nM\n", "'format' is there twice")
        self.refused(400, "/v1/embed?layers=%s1" % ("0" * 63), ">a\nM\n", "not a whole number")
        for query in ("include=none", "layers=x", "format=", "offset=1&layers=", "format=%00"):
            self.assertEqual(self.server.post("/v1/embed?" + query, ">a\nM\n")[0], 400, query)
        for more in ({"mutations": [1]}, {"format": "npz"}):
            body = dict(more, sequences=["M"])
            self.assertEqual(self.server.post("/v1/score", body)[0], 400)
        self.alive()

    def test_a_character_that_is_no_residue_costs_its_record(self):
        texts = ["M\u0000K", "MK\u0000", "\u00e9", "M>K", "MKT"]
        got = self.server.results("/v1/embed", {"sequences": texts})
        self.assertEqual([r["status"] for r in got], ["bad_residue"] * 4 + ["ok"])

    def alive(self):
        self.assertEqual(self.server.post("/v1/embed", ">a\nMKT\n")[0], 200)

    def test_large_bodies(self):
        self.refused(413, "/v1/embed", b">a\n" + b"M" * (1 << 20), "--max-body")
        sock = self.server.raw(held(1 << 40))
        self.assertIn(b" 413 ", sock.recv(100))
        sock.close()
        sock = self.server.raw(CHUNKED)
        for _ in range(40):
            sock.sendall(b"10000\r\n" + b"M" * 65536 + b"\r\n")
        sock.sendall(b"0\r\n\r\n")
        self.assertIn(b" 413 ", sock.recv(100))
        sock.close()
        self.alive()

    def answer(self, data):
        """All that comes until the server ends the connection, for the bytes of a request."""
        with self.server.raw(data) as sock:
            return b"".join(iter(lambda: sock.recv(65536), b""))

    def test_requests_that_can_be_read_in_two_ways(self):
        """RFC 9112, 6.3 and 3.2: a proxy may see another end, or another server."""
        body, name = b">a\nMKT\n", b"POST /v1/embed HTTP/1.1\r\nHost: localhost\r\n"
        length = b"Content-Length: %d\r\n" % len(body)
        whole = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        for heads, data, words in (
                (length + length, body, b"two headers Content-Length"),
                (length + b"Content-Length: 2\r\n", body, b"two headers Content-Length"),
                (length + b"Transfer-Encoding: chunked\r\n", whole, b"both headers"),
                (length + b"Host: 127.0.0.1\r\n", body, b"two headers Host"),
                (length + b"Authorization: Bearer a\r\nauthorization: Bearer b\r\n", body,
                 b"two headers Authorization"),
                (b"Transfer-Encoding: gzip, chunked\r\n", whole, b"other than chunked"),
                (b"Transfer-Encoding: xchunked\r\n", whole, b"other than chunked")):
            got = self.answer(name + heads + b"\r\n" + data + held(3) + b"abc")
            self.assertRegex(got, rb"^HTTP/1.1 400 ")
            self.assertIn(words, got)
            self.assertEqual(got.count(b"HTTP/1.1"), 1, got)  # the rest is not a request
        self.alive()

    def test_addresses_with_a_nul(self):
        for path in ("/v1/embed%00x", "/v1/embed?format=json%00x", "/v1/embed?format%00=json",
                     "/health%00"):
            self.refused(400, path, ">a\nMKT\n", "%00")
        self.alive()

    def test_addresses_with_many_names(self):
        """The HTTP library gives no answer where it has no memory for all."""
        for n in (129, 3000, 20000):
            query = b"&".join(b"%x=" % i for i in range(n))[:60000]
            got = self.answer(b"POST /v1/embed?%s HTTP/1.1\r\nHost: localhost\r\n"
                              b"Content-Length: 0\r\n\r\n" % query)
            self.assertRegex(got, rb"^HTTP/1.1 414 ", n)
            self.assertIn(b"too many names", got)
        self.refused(400, "/v1/embed?" + "&".join("a%d=" % i for i in range(128)), ">a\nM\n",
                     "not known here")
        self.alive()

    def test_a_query_and_a_body_do_not_name_one_setting(self):
        for query, member in (("format=npz", {"format": "jsonl"}), ("layers=1", {"layers": [2]}),
                              ("include=mean", {"include": "bos"})):
            name = query.split("=")[0]
            self.refused(400, "/v1/embed?" + query, dict(member, sequences=["MKT"]),
                         "'%s' stands in the query of the address and in the body" % name)
        status, _, text = self.server.post("/v1/embed?layers=1", {"sequences": ["MKT"],
                                                                  "include": "bos"})
        array = json.loads(text)["results"][0]["arrays"][0]
        self.assertEqual((status, array["kind"], array["layer"]), (200, "bos", 1))

    def test_answers_name_no_path(self):
        for name in ("npz", "safetensors"):
            self.refused(400, "/v1/embed?format=" + name, ">a\nMKT\n>a\nMKT\n", "answer: id 'a'")

        self.refused(400, "/v1/embed", "MKT".encode("utf-16"), "-t UTF-8 request")

    def test_ids_that_are_no_utf8(self):
        for path in ("/v1/embed", "/v1/score"):
            got, = self.server.results(path, b">a\xff\nMKT\n")
            self.assertEqual((got["id"], base64.b64decode(got["id_b64"])), ("a\ufffd", b"a\xff"))

    def test_bodies_are_inflated_within_the_limit(self):
        for text in (b">a\n" + b"\n" * (1 << 20) + b"MKT\n", b" " * (1 << 20) + b'{"sequences":[]}',
                     b"\n" * (64 << 20)):
            self.refused(413, "/v1/embed", gzip.compress(text, 9), "inflates to more than 1048576")
        self.assertEqual(self.server.post("/v1/embed", gzip.compress(
            b'{"sequences":["MKT"]}'))[0], 200)
        self.alive()

    def test_large_answers(self):
        body = "".join(">%d\n%s\n" % (i, "M" * 200) for i in range(8))
        self.refused(413, "/v1/embed?include=per-residue", body, "--max-answer")
        self.alive()

    def test_mutations_of_many_sequences(self):
        body = {"sequences": ["MKT"] * 2000, "mutations": ["K2R"] * 6000}
        self.refused(413, "/v1/score", body, "12000000 terms")
        body["mutations"] = [":".join(["K2R"] * 6000)]
        self.refused(413, "/v1/score", body, "12000000 terms")
        own, none, shared = self.server.results("/v1/score", {"mutations": ["K2R"], "sequences": [
            {"sequence": "MKT", "mutations": ["K2A", "M1K"]}, {"sequence": "MKT", "mutations": []},
            "MKT"]})
        self.assertEqual([s["mutation"] for s in own["scores"]], ["K2A", "M1K"])
        self.assertEqual([s["mutation"] for s in shared["scores"]], ["K2R"])
        self.assertIn("perplexity", none)
        self.assertNotIn("scores", none)

    def test_a_request_that_has_failed_is_not_computed_on(self):
        body = {"sequences": ["M" * 60] * 4000, "include": ["per-residue"], "format": "npz"}
        self.refused(413, "/v1/embed", body, "--max-answer")
        self.assertLess(self.server.metric("residues_total"), 30 * 4000)

    def test_many_sequences(self):
        body = '{"sequences":[%s]}' % ",".join(['"M"'] * 100001)
        self.refused(413, "/v1/embed", body, "100001")
        self.alive()

    def test_slow_clients_are_ended(self):
        socks = [self.server.raw(data) for data in
                 (b"", b"POST /v1/em", held(), held() + b">a\nMK",
                  CHUNKED + b"5\r\n>a\nM")]
        for sock in socks:
            while sock.recv(100):
                pass
            sock.close()
        self.assertGreaterEqual(self.server.metric("slow_connections_total"), 5)
        self.assertEqual(self.server.metric("queue_requests"), 0)
        self.alive()

    def test_a_client_that_trickles_is_ended(self):
        sock = self.server.raw(held(100000))
        with self.assertRaises(OSError):
            while True:
                sock.sendall(b"x")
                time.sleep(0.05)
        sock.close()
        self.alive()

    def test_clients_that_go_away(self):
        for data in (held() + b">a\nMK", held(7) + b">a\nMKT\n", b"GET /metrics HTTP/1.1\r\n\r\n"):
            for _ in range(10):
                self.server.raw(data).close()
        self.alive()
        while self.server.metric("queue_requests"):
            time.sleep(0.02)

    def test_requests_changed_at_random(self):
        rng = random.Random(5)
        whole = (b"POST /v1/embed?include=mean&format=json HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Length: 53\r\nConnection: close\r\n\r\n"
                 b'{"sequences":["MKT",{"id":"a","sequence":"MKTAY"}]}  ')
        for _ in range(150):
            data = bytearray(whole)
            for _ in range(rng.randint(1, 6)):
                at = rng.randrange(len(data))
                kind = rng.randrange(3)
                if kind == 0:
                    data[at] = rng.choice(b"\x00\xff\r\n\"{}[],:0Mz%")
                elif kind == 1:
                    del data[at:at + rng.randint(1, 9)]
                else:
                    data[at:at] = bytes(rng.choices(b"\x00\xff\r\n\"{}[],:0", k=rng.randint(1, 9)))
            sock = self.server.raw(bytes(data))
            sock.shutdown(socket.SHUT_WR)
            try:
                while sock.recv(65536):
                    pass
            except ConnectionResetError:
                pass
            sock.close()
        self.alive()

    def test_web_pages_may_not_ask(self):
        for headers in ({"Origin": "http://example.org"}, {"Host": "example.org"},
                        {"Host": "localhost.example.org"}, {"Host": "127.0.0.1.example.org"},
                        {"Host": "127.0.0.1x"}, {"Host": "10.0.0.1"}):
            self.refused(403, "/v1/embed", ">a\nMKT\n", "web pages", headers=headers)
        for name in ("LOCALHOST:1", "127.0.0.1", "127.0.0.2:80", "[::1]:8080"):
            self.assertEqual(self.server.post("/v1/embed", ">a\nM\n", {"Host": name})[0], 200, name)


class Limits(Case):
    options = ("--max-queue", "1")

    def test_other_answers_do_not_wait_for_a_body(self):
        """A body that takes long to read: 32 MiB of blank lines."""
        server = self.start("--max-body", "64")
        body = gzip.compress(b">a\n" + b"\n" * (32 << 20) + b"MKT\n", 1)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            begin = time.monotonic()
            long = pool.submit(server.post, "/v1/embed", body)
            waits = []
            while not long.done():
                at = time.monotonic()
                self.assertEqual(server.ask("GET", "/health")[0], 200)
                waits.append(time.monotonic() - at)
                time.sleep(0.01)
            self.assertEqual(long.result()[0], 200)
            self.assertLess(max(waits), (time.monotonic() - begin) / 2, waits)

    def test_a_full_queue(self):
        sock = self.server.raw(held(7))
        while self.server.metric("queue_requests") < 1:
            time.sleep(0.02)
        headers = self.refused(429, "/v1/embed", ">a\nMKT\n", "--max-queue")
        self.assertEqual(headers["Retry-After"], "1")
        sock.sendall(b">a\nMKT\n")
        self.assertIn(b" 200 ", sock.recv(100))
        sock.close()
        while self.server.metric("queue_requests"):
            time.sleep(0.02)
        self.assertEqual(self.server.post("/v1/embed", ">a\nMKT\n")[0], 200)

    def test_a_request_that_waits_too_long(self):
        """A request that is computed as its time ends is answered; one that waits is refused."""
        server = self.start("--timeout", "1")
        for length in (5, 10, 20, 40):  # until the first takes long enough to be seen
            long = {"sequences": ["MKTAYIAKQRGLSV" * length], "method": "pppl"}
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                first = pool.submit(server.post, "/v1/score", long)
                while server.metric("computing_requests") < 1 and not first.done():
                    time.sleep(0.001)
                begun = not first.done()
                second = pool.submit(server.post, "/v1/embed", ">a\nMKT\n")
                while server.metric("queue_requests") < 2 and not first.done():
                    time.sleep(0.001)
                server.process.send_signal(signal.SIGSTOP)
                time.sleep(1.2)
                server.process.send_signal(signal.SIGCONT)
                if begun:
                    self.assertEqual(first.result()[0], 200)
                if begun and second.result()[0] != 200:
                    self.assertEqual(second.result()[0], 503)
                    return
        self.fail("no request had to wait")

    def begin(self, server, body):
        """A socket whose request is being computed."""
        text = json.dumps(body).encode()
        sock = server.raw(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\n"
                          b"Content-Length: %d\r\n\r\n" % len(text) + text)
        while server.metric("computing_requests") < 1:
            time.sleep(0.002)
        return sock

    def test_what_no_client_waits_for_is_not_computed(self):
        """Many records end between two of them, one record between two batches."""
        server = self.start("--max-queue", "10")
        for body in ({"sequences": ["MKTAYIAKQRGLSV" * 6] * 4000, "method": "wt-marginals"},
                     {"sequences": ["MKTAYIAKQRGLSV" * 80], "method": "pppl"}):
            before = server.metric("residues_total")
            self.begin(server, body).close()
            while server.metric("queue_requests"):  # which counts requests that are computed, too
                time.sleep(0.01)
            self.assertEqual(server.metric("computing_requests"), 0)
            length = sum(map(len, body["sequences"]))
            self.assertLess(server.metric("residues_total") - before, length / 2)
        while server.metric('requests_total{code="499"}') < 2:
            time.sleep(0.01)

    def test_a_client_that_goes_takes_no_other_with_it(self):
        """Requests of one lane share a run, which goes on while one client waits."""
        server = self.start("--max-queue", "10", "--batch-tokens", "512")
        body = {"sequences": ["MKTAYIAKQRGLSV" * 3] * 200, "method": "wt-marginals"}
        alone = server.post("/v1/score", body)
        self.assertEqual(alone[0], 200)
        sock = self.begin(server, dict(body, sequences=body["sequences"] * 8))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            other = pool.submit(server.post, "/v1/score", body)
            while server.metric("queue_requests") < 2:
                time.sleep(0.002)
            sock.close()
            self.assertEqual(other.result()[2], alone[2])

    def test_many_records_give_way(self):
        """A request of another kind is answered before a long one, which has the same bytes."""
        server = self.start("--max-queue", "10", "--batch-tokens", "512")
        body = {"sequences": ["MKTAYIAKQRGLSV" * 3] * 500, "method": "wt-marginals"}
        seconds = 0
        while seconds < 4:  # it gives way after each second
            begun = time.monotonic()
            alone = server.post("/v1/score", body)
            seconds = time.monotonic() - begun
            body["sequences"] *= 1 if seconds >= 4 else 2
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            long = pool.submit(server.post, "/v1/score", body)
            while server.metric("computing_requests") < 1:
                time.sleep(0.002)
            for _ in range(2):
                self.assertEqual(server.post("/v1/embed", ">a\nMKT\n")[0], 200)
            self.assertFalse(long.done())
            self.assertEqual(long.result()[2], alone[2])

    def test_the_end_loses_no_request(self):
        server = self.start("--max-queue", "300", "--timeout", "600")
        body = {"sequences": ["MKTAYIAKQRGLSV" * 3], "method": "pppl"}
        sock = server.raw(held(7))
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = [pool.submit(server.post, "/v1/score", body) for _ in range(20)]
            while server.metric("queue_requests") + server.metric("request_seconds_count") < 21:
                time.sleep(0.02)
            server.process.send_signal(signal.SIGTERM)
            while server.ask("GET", "/health")[0] == 200:
                time.sleep(0.02)
            status, headers, _ = server.post("/v1/embed", ">a\nMKT\n")
            self.assertEqual((status, headers["Retry-After"]), (503, "1"))
            sock.sendall(b">a\nMKT\n")  # it was taken before, and is still received
            self.assertEqual({a.result()[0] for a in answers}, {200})
        self.assertIn(b" 200 ", sock.recv(100))
        sock.close()
        self.assertEqual(server.process.wait(timeout=120), 0)
        self.assertIn("stopped: 21 records", server.text())
        self.server.stop()
        self.assertEqual([name for name in os.listdir(self.folder.name) if "serve" in name], [])

    def test_many_clients_lose_nothing(self):
        server = self.start()
        bodies = ["".join(">%s\n%s\n" % r for r in random_records(i, 2, 30)) for i in range(100)]
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            answers = list(pool.map(lambda body: server.post("/v1/embed", body), bodies * 2))
        self.assertEqual({a[0] for a in answers}, {200})
        self.assertEqual([a[2] for a in answers[:100]], [a[2] for a in answers[100:]])
        self.assertEqual(server.stop(), 0)
        self.assertIn("stopped: 400 records", server.text())


class Doors(Case):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="bi-")
        self.addCleanup(self.folder.cleanup)

    def test_a_token(self):
        token = self.path("token")
        with open(token, "w") as file:
            file.write("0123456789abcdefghij\n")
        os.chmod(token, 0o600)
        self.server = self.start("--token-file", token, listen="0.0.0.0:0")
        self.server.address = self.server.address.replace("0.0.0.0", "127.0.0.1")
        for given in (None, "Bearer ", "Bearer 0123456789abcdefghi", "Bearer 0123456789abcdefghijk",
                      "0123456789abcdefghij", "Bearer 1123456789abcdefghij",
                      "Basic 0123456789abcdefghij"):
            headers = {"Authorization": given} if given else {}
            self.assertEqual(self.server.post("/v1/embed", ">a\nMKT\n", headers)[0], 401, given)
            self.assertEqual(self.server.ask("GET", "/metrics", headers=headers)[0], 401)
        good = {"Authorization": "Bearer 0123456789abcdefghij", "Host": "gpu.example.org"}
        self.assertEqual(self.server.post("/v1/embed", ">a\nMKT\n", good)[0], 200)
        self.assertEqual(self.server.ask("GET", "/metrics", headers=good)[0], 200)
        self.assertEqual(self.server.ask("GET", "/health")[0], 200)

    def refused_start(self, words, *options):
        done = subprocess.run([EXE, "serve", "esm2", "--weights", "tiny", *options],
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(words, done.stderr)

    def test_what_does_not_start(self):
        token = self.path("token")
        self.refused_start("need a token", "--listen", "0.0.0.0:0")
        self.refused_start("need a token", "--listen", "[::]:0")
        self.refused_start("expected ADDRESS:PORT", "--listen", "localhost")
        self.refused_start("expected ADDRESS:PORT", "--listen", "127.0.0.1:99999999")
        self.refused_start("a path has", "--listen", "unix:" + "x" * 200)
        self.refused_start("No such file", "--token-file", token)
        self.refused_start("Is a directory", "--token-file", self.folder.name)
        for text, mode, words in (("short", 0o600, "first line"),
                                  ("0123456789abcdef", 0o644, "chmod"),
                                  ("0123456789 abcdef\n", 0o600, "first line")):
            with open(token, "w") as file:
                file.write(text)
            os.chmod(token, mode)
            self.refused_start(words, "--token-file", token)

    def test_a_socket_file(self):
        path = self.path("socket")
        server = self.start(listen="unix:" + path)
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o700)
        self.assertEqual(server.post("/v1/embed", ">a\nMKT\n")[0], 200)
        self.refused_start("Address already in use", "--listen", "unix:" + path)
        self.assertEqual(server.post("/v1/embed", ">a\nMKT\n")[0], 200)
        server.process.kill()
        server.process.wait()
        self.assertTrue(os.path.exists(path))  # a dead one is replaced
        server = self.start(listen="unix:" + path)
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(path))
        with open(path, "w") as file:
            file.write("precious")
        self.refused_start("Address already in use", "--listen", "unix:" + path)
        self.assertEqual(self.read(path), b"precious")


def cannot_serve():
    """Whether the build has no server, which it says."""
    probe = subprocess.run([EXE, "serve", "esm2", "--weights", "tiny", "--listen", "unix:"],
                           capture_output=True, text=True, check=False).stderr
    if "cannot serve" in probe:
        print(probe)
    return "cannot serve" in probe


if __name__ == "__main__":
    EXE, ROOT = sys.argv[1:3]
    if cannot_serve():
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
