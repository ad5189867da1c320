#!/usr/bin/env python3
"""test_serve_tasks.py BIOINFER ROOT - `bioinfer serve` for structures and variants."""
import base64
import concurrent.futures
import io
import json
import math
import os
import random
import struct
import subprocess
import sys
import unittest
import zipfile

import test_serve
from test_fold import H, L
from test_serve import Case


class Shared(Case):
    """Cases that have one server."""
    alone = False
    options, model = (), ()

    @classmethod
    def setUpClass(cls):
        cls.of_all = cls("setUp")
        Case.setUp(cls.of_all)
        cls.of_all.prepare()
        cls.of_all.server = cls.of_all.start(*cls.options, model=cls.model)

    @classmethod
    def tearDownClass(cls):
        cls.of_all.doCleanups()

    def prepare(self):
        """Makes files that the server reads."""

    def setUp(self):
        self.folder, self.server = self.of_all.folder, self.of_all.server


class Folds(Shared):
    """Structures of FlashABB, whose weights come with bioinfer."""
    options, model = ("--max-body", "1", "--max-answer", "8"), ["flashabb"]

    def test_structures_are_the_same_by_the_command(self):
        fasta = self.fasta("in.fa", [("a", H + ":" + L), ("b", L + "|" + H), ("short", H)])
        for form in ("cif", "pdb"):
            done = subprocess.run([test_serve.EXE, "flashabb", fasta, "-o", self.path(form),
                                   "--format", form, "--threads", "1", "--quiet", "--include",
                                   "plddt,coordinates"], check=False)
            self.assertEqual(done.returncode, 1)
            got = self.server.results("/v1/fold?text=%s&include=plddt,coordinates&floats=base64" %
                                      form, self.read(fasta))
            self.assertEqual([r["status"] for r in got], ["ok", "ok", "unsupported"])
            for r in got[:2]:
                self.assertEqual(r["structure"].encode(),
                                 self.read(self.path("%s/%s.%s" % (form, r["id"], form))))
                with zipfile.ZipFile(self.path("%s/%s.npz" % (form, r["id"]))) as arrays:
                    for array in r["arrays"]:
                        data = base64.b64decode(array["data"])
                        self.assertTrue(arrays.read(array["kind"] + ".npy").endswith(data))
                        self.assertGreater(len(data), 800)
        rows = self.read(self.path("cif/scores.tsv"))
        self.assertEqual(self.server.post("/v1/fold?format=tsv", self.read(fasta))[2], rows)
        first = dict(zip(*(line.split("\t") for line in rows.decode().splitlines()[:2])))
        self.assertEqual(first["plddt"], "%.5f" % got[0]["plddt"])
        self.assertEqual(first["chains"], ",".join(c["name"] for c in got[0]["chains"]))
        self.assertEqual(first["chain_plddt"],
                         ",".join("%.5f" % c["plddt"] for c in got[0]["chains"]))

    def test_forms_of_complexes(self):
        whole = H + ":" + L
        got = self.server.results("/v1/fold", {"text": "none", "complexes": [
            whole, [H, L], {"id": "x", "chains": [H, L[:50] + "\n " + L[50:]]},
            {"id": "y", "chains": whole.lower()}]})
        self.assertEqual([r["id"] for r in got], ["0", "1", "x", "y"])
        for r in got:
            self.assertEqual((r["status"], r["sequence"], r["plddt"], r["arrays"]),
                             ("ok", H + L, got[0]["plddt"], []))
            self.assertNotIn("structure", r)

    def test_files(self):
        body = {"complexes": [{"id": "a", "chains": [H, L]}, {"id": "b", "chains": [H]}]}
        status, headers, data = self.server.post("/v1/fold?format=npz", body)
        self.assertEqual((status, headers["Bioinfer-Failed"]), (200, "1"))
        with zipfile.ZipFile(io.BytesIO(data)) as arrays:
            self.assertEqual(sorted(arrays.namelist()), ["a/coordinates.npy", "a/plddt.npy"])
            self.assertIn(b"(227, 37, 3)", arrays.read("a/coordinates.npy")[:128])
        status, headers, data = self.server.post("/v1/fold?format=cif", {"complexes": [[H, L]]})
        self.assertEqual((status, headers["Content-Type"]), (200, "chemical/x-mmcif"))
        self.assertTrue(data.startswith(b"data_0\n"))
        self.refused(400, "/v1/fold?format=cif", body, "for one complex, the request has 2")
        self.refused(400, "/v1/fold?format=pdb", {"complexes": [[H]]}, "1 chain")
        self.refused(400, "/v1/fold?format=npz", {"complexes": [[H, L]] * 2, "include": "pae"},
                     "flashabb gives no aligned errors")

    def test_what_a_request_cannot_say(self):
        for body, words in (
                ({}, 'no array "complexes"'), ({"complexes": H}, 'no array "complexes"'),
                ({"complexes": []}, "no complexes"), ({"complexes": [1]}, "number 0 has no chains"),
                ({"complexes": [{"id": "a"}]}, "number 0 has no chains"),
                ({"complexes": [[H, 1]]}, "no text"), ({"complexes": [[H, [L]]]}, "no text"),
                ({"complexes": [{"chains": [H], "chain": L}]}, "'chain' is not known"),
                ({"complexes": [{"chains": [H], "id": "a\nb"}]}, "control"),
                ({"complexes": [H], "sequences": [H]}, "not known"),
                ({"complexes": [H], "text": "exe"}, "exe"),
                ({"complexes": [H], "cycles": -1}, "-1"),
                ({"complexes": [H], "include": []}, "empty list"),
                ({"complexes": [H], "include": "plddt", "format": "tsv"}, "format of arrays"),
                ({"complexes": [H], "format": "jsonl"}, "jsonl"),
                ({"complexes": [H], "weights": "/etc/passwd"}, "not known")):
            self.refused(400, "/v1/fold", body, words)
        got = self.server.results("/v1/fold", {"complexes": [
            [], "", [H, ""], [H, L + ":" + L], "M\u0000K:MK", "M\u00e9:MK", [H, "1" * 100],
            "A" * 200000 + ":" + L, ":".join(["A"] * 5000)]})
        self.assertEqual([r["status"] for r in got],
                         ["empty", "empty", "empty", "bad_residue", "bad_residue", "bad_residue",
                          "bad_residue", "bad_residue", "limit"])
        self.refused(413, "/v1/fold", {"complexes": ["A"] * 100001}, "100001 complexes")
        self.refused(413, "/v1/fold", {"complexes": [[H, L]] * 100, "include": "coordinates"},
                     "--max-answer")
        rng = random.Random(4)
        whole = json.dumps({"complexes": [[H, L], {"id": "a", "chains": "A:C"}]}).encode()
        for _ in range(60):
            body = bytearray(whole)
            for _ in range(rng.randint(1, 4)):
                body[rng.randrange(len(body))] = rng.choice(b'\x00\xff"{}[],:0A')
            self.assertIn(self.server.post("/v1/fold", bytes(body))[0], (200, 400))
        self.assertIsNone(self.server.process.poll())


class Samples(Shared):
    """Structures that are drawn, by a small random ESMFold2."""

    def prepare(self):
        type(self).model = ["esmfold2", "--weights",
                            os.path.join(test_serve.ROOT, "tests", "golden", "esmfold2", "tiny")]

    def test_samples_are_those_of_the_command(self):
        chains = [("a", "MKWGA:WH"), ("b", "MKX"), ("bad", "MK*")]
        fasta = self.fasta("in.fa", chains)
        done = subprocess.run([test_serve.EXE, *self.model, fasta, "-o", self.path("out"),
                               "--samples", "3", "--seeds", "4,2", "--steps", "9", "--quiet",
                               "--include", "pae"], check=False)
        self.assertEqual(done.returncode, 1)
        ask = "/v1/fold?samples=3&seeds=4,2&steps=9"
        rows = self.read(self.path("out/scores.tsv"))
        self.assertEqual(self.server.post(ask + "&format=tsv", self.read(fasta))[2], rows)
        got = self.server.results(ask + "&include=pae&floats=base64", self.read(fasta))
        self.assertEqual([r["status"] for r in got], ["ok", "ok", "bad_residue"])
        self.assertNotIn("samples", got[2])
        names = []
        for r in got[:2]:
            self.assertEqual(len(r["samples"]), 6)
            for s in r["samples"]:
                names.append("%s_seed-%d_sample-%d" % (r["id"], s["seed"], s["sample"]))
                self.assertEqual("iptm" in s, r["id"] == "a")
                self.assertEqual(s["structure"].encode(),
                                 self.read(self.path("out/%s.cif" % names[-1])))
                with zipfile.ZipFile(self.path("out/%s.npz" % names[-1])) as arrays:
                    self.assertTrue(arrays.read("pae.npy").endswith(
                        base64.b64decode(s["arrays"][0]["data"])))
        order = [row.split("\t") for row in rows.decode().splitlines()[1:]]
        self.assertEqual(names, ["%s_seed-%s_sample-%s" % (row[0], row[-1], row[1])
                                 for row in order])
        status, _, data = self.server.post(ask + "&format=npz&include=pae", self.read(fasta))
        self.assertEqual(status, 200)
        with zipfile.ZipFile(io.BytesIO(data)) as arrays:
            self.assertEqual(arrays.namelist(), [name + "/pae.npy" for name in names])
        best = self.server.post(ask + "&format=cif", {"complexes": ["MKWGA:WH"]})[2]
        self.assertEqual(best.splitlines()[5:],
                         self.read(self.path("out/%s.cif" % names[0])).splitlines()[5:])
        self.assertEqual(self.server.results(ask.replace("seeds", "seed").replace("4,2", "2"),
                                             self.read(fasta))[0]["samples"][0]["seed"], 2)
        self.refused(400, "/v1/fold?samples=0", self.read(fasta), "from 1 to")
        self.refused(400, "/v1/fold?seeds=2,2", self.read(fasta), "seed 2 is given twice")


class Aligned(Shared):
    """Structures of ESMFold2 with alignments."""
    options = ("--threads", "1")
    texts = {"one": [">q\nMKWGHE\n>b\nMR-GHE\n>c\n-KlvWGHE\n"],
             "two": [">q\nMKW\n>b key=5\nMKF\n>c\nM-W\n", ">q\nAC\n>b key=5\nSC\n", None]}
    chains = {"one": "MKWGHE", "two": "MKW:AC:MKW"}

    def prepare(self):
        type(self).model = ["esmfold2", "--weights",
                            os.path.join(test_serve.ROOT, "tests", "golden", "esmfold2", "msa")]

    def ask(self, *complexes):
        return self.server.results("/v1/fold?steps=2", {"complexes": list(complexes)})

    def test_alignments_are_as_in_files(self):
        os.mkdir(self.path("msa"))
        for name in ("one", "two_A", "two_B"):
            with open(self.path("msa/" + name + ".a3m"), "w") as file:
                file.write(self.texts[name[:3]][name.endswith("B")])
        fasta = self.fasta("in.fa", list(self.chains.items()))
        subprocess.run([test_serve.EXE, *self.model, fasta, "-o", self.path("out"), "--steps", "2",
                        "--msa", self.path("msa"), "--quiet"], check=True)
        ends = {name: self.read(self.path("out/%s_seed-0_sample-0.cif" % name))
                for name in self.chains}
        got = self.ask(*({"id": name, "chains": chains, "alignments": self.texts[name]}
                         for name, chains in self.chains.items()))
        for r in got:
            self.assertEqual(r["samples"][0]["structure"].encode(), ends[r["id"]])
        alone = {"id": "one", "chains": "MKWGHE", "alignments": self.texts["one"][0]}
        got = self.ask(alone, dict(alone, alignments=None), dict(alone, alignments=[None]),
                       dict(alone, alignments=">q\nMKWGHE\n"))
        structures = [r["samples"][0]["structure"].encode() for r in got]
        self.assertEqual(structures[0], ends["one"])
        self.assertNotEqual(structures[1], ends["one"])
        self.assertEqual(len(set(structures[1:])), 1)

    def test_bad_alignments(self):
        one = {"id": "x", "chains": "MK:AC:MK"}
        for texts, words in ((">q\nMK\n", "1 alignments, expected one for each of 3 chains"),
                             ([None, ">q\nAD\n", None],
                              "alignment of chain B: the first row has D"),
                             ([">q\nMK\n", None, ">q\nMK\n>b\nMR\n"],
                              "chains A and C are equal, and their alignments differ"),
                             ([None, "AC", None],
                              "alignment of chain B: line 1: expected a header")):
            got = self.ask(dict(one, alignments=texts), {"id": "good", "chains": "G"})
            self.assertIn(words, got[0]["message"])
            self.assertEqual(got[1]["status"], "ok")
        for texts in (1, [1], {}, [[]]):
            self.refused(400, "/v1/fold", {"complexes": [dict(one, alignments=texts)]},
                         "expected a text in A3M")


HEAD = "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n"
TRACKS = {  # outputs with scorers of their own: name and strand
    "atac.1": ["A0.", "A1."], "contact_maps.2048": ["C0.", "C1.", "C2."], "dnase.1": ["D0."],
    "chip_tf.128": ["T0.", "T1.", "T2."], "chip_histone.128": ["H0.", "H1."], "cage.1": ["CAGE+"],
    "procap.1": ["PROCAP-"], "rna_seq.1": ["R0+", "R0-"],
    "splice_sites.1": ["donor+", "acceptor+", "donor-", "acceptor-", "none."],
    "splice_site_usage.1": ["U0+", "U1+", "U0-", "U1-"],
    "splice_junctions.1": ["J0+", "J1+", "J0-", "J1-"]}


class Variants(Shared):
    """Variants by a small AlphaGenome with random weights, over a random genome."""

    def prepare(self):
        cls, bases = type(self), "".join(random.Random(5).choices("ACGT", k=30000))
        cls.model = ["alphagenome", "--weights",
                     os.path.join(test_serve.ROOT, "tests", "golden", "alphagenome", "small")]
        cls.genome, cls.genes, cls.table = map(self.path, ("g.fa", "g.gtf", "t.tsv"))
        self.fasta("g.fa", [("chr1", bases)])
        subprocess.run([test_serve.EXE, "index", "--fai", self.genome, "--quiet"], check=True)
        about = 'gene_id "G1.7"; gene_type "protein_coding"; gene_name "ONE";'
        more = about + ' transcript_id "T1";'
        with open(self.genes, "w") as file:
            for what, first, last, words in (
                    ("gene", 11001, 14000, about), ("transcript", 11001, 14000, more),
                    ("exon", 11001, 11200, more), ("exon", 12901, 14000, more)):
                file.write("chr1\tT\t%s\t%d\t%d\t.\t+\t.\t%s\n" % (what, first, last, words))
        with open(self.table, "w") as file:
            file.write("head\tidentifier\tname\tstrand\n" + "".join(
                "human.%s\t%s\t%s\t%s\n" % (output, track, track[:-1], track[-1])
                for output, tracks in TRACKS.items() for track in tracks))
        other = dict(zip("ACGT", "CGTA"))
        cls.variants = [
            ("snv", "chr1", 13001, bases[13000], other[bases[13000]]),
            ("ins", "chr1", 13006, bases[13005], bases[13005] + "GATTACA"),
            ("del", "chr1", 13041, bases[13040:13052], bases[13040]),
            ("wrong", "chr1", 13061, other[bases[13060]], bases[13060]),
            ("far", "chr1", 40000, "A", "C"), ("nowhere", "chrX", 5, "A", "C"),
            (None, "chr1", 101, bases[100], other[bases[100]])]
        cls.vcf = HEAD + "".join("%s\t%d\t%s\t%s\t%s\n" % (v[1], v[2], v[0] or ".", v[3], v[4])
                                 for v in cls.variants)
        with open(self.path("v.vcf"), "w") as file:
            file.write(cls.vcf)
        cls.listed = [dict(zip(("id", "chrom", "pos", "ref", "alt"), v)) for v in cls.variants]
        del cls.listed[-1]["id"]
        cls.options = ("--genome", self.genome, "--gtf", self.genes, "--targets", self.table,
                       "--max-body", "1", "--max-answer", "1")

    def by_command(self, name, *options):
        done = subprocess.run(
            [test_serve.EXE, *self.model, self.path("v.vcf"), "--genome", self.genome, "--targets",
             self.table, "--threads", "1", "-q", "-o", self.path(name), *options],
            capture_output=True, check=False)
        self.assertEqual(done.returncode, 1, done.stderr)
        return self.read(self.path(name))

    def test_tables_and_arrays_are_the_same_by_the_command(self):
        for options, query in (
                (["--tracks", "0"], "tracks=0"),
                (["--outputs", "atac,cage", "--stats", "SAD,REF", "--tracks", "0"],
                 "outputs=atac,cage&stats=SAD,REF&tracks=0"),
                (["--outputs", "chip_tf", "--resolution", "128", "--shifts", "0,3", "--indel",
                  "left"], "outputs=chip_tf&resolution=128&shifts=0,3&indel=left")):
            for form in ("tsv", "npz"):
                status, headers, got = self.server.post(
                    "/v1/variants?format=%s&%s" % (form, query), self.vcf)
                self.assertEqual((status, headers["Bioinfer-Records"], headers["Bioinfer-Failed"]),
                                 (200, "7", "3"), got)
                self.assertEqual(got, self.by_command("out." + form, *options), (form, query))
        table = self.by_command("scores.tsv", "--scorers", "recommended", "--gtf", self.genes)
        status, _, got = self.server.post("/v1/variants?format=tsv&scorers=recommended", self.vcf)
        self.assertEqual((status, got), (200, table))
        self.assertGreater(table.count(b"\n"), 100)

    def test_json(self):
        """It has the numbers of the table and the places of the request."""
        lines = self.by_command("j.tsv", "--outputs", "atac,cage", "--tracks",
                                "0").decode().splitlines()
        body = {"outputs": ["atac", "cage"], "tracks": [0]}
        forms = [self.listed, self.vcf, self.vcf[len(HEAD):]]
        answers = [json.loads(self.server.post("/v1/variants", dict(body, variants=form))[2])
                   for form in forms]
        names = [name for output in answers[0]["tracks"] for name in output["names"]]
        self.assertEqual(names, [cell.split(":")[2] for cell in lines[0].split("\t")[6:]])
        for line, *results in zip(lines[1:], *(answer["results"] for answer in answers)):
            cells = line.split("\t")
            for r in results:
                self.assertEqual([r["chrom"], str(r["pos"]), r["id"], r["ref"], r["alt"],
                                  r["status"]], cells[:6])
                if r["status"] == "ok":
                    got = [x for array in r["arrays"] for x in array["data"]]
                    self.assertEqual([struct.pack("f", x) for x in got],
                                     [struct.pack("f", float(cell)) for cell in cells[6:]])
        told = [[r["message"] for r in answer["results"] if "message" in r] for answer in answers]
        for words, place in zip(told, ("number %d: ", "line %d: ", "line %d: ")):
            first = {"number": 3, "line": 6}[place.split()[0]]
            first -= 2 * (words is told[2])
            self.assertEqual([text.startswith(place % (first + i))
                              for i, text in enumerate(words)], [True] * 3, words)

    def test_typed_columns_of_scorers(self):
        table = self.by_command("c.tsv", "--scorers", "recommended", "--gtf",
                                self.genes).decode().splitlines()
        head, rows = table[0].split("\t"), [line.split("\t") for line in table[1:]]
        got = self.server.results("/v1/variants", {"variants": self.listed,
                                                   "scorers": ["recommended"]})
        self.assertEqual([r["status"] for r in got], ["ok"] * 3 + ["mismatch"] +
                         ["invalid_argument"] * 2 + ["ok"])
        at, types = 0, set()
        for r in (r for r in got if r["status"] == "ok"):
            mine, at = rows[at:at + r["rows"]], at + r["rows"]
            self.assertEqual([c["name"] for c in r["columns"]], head)
            for i, column in enumerate(r["columns"]):
                types.add(column["dtype"])
                self.assertEqual(len(column["data"]), r["rows"])
                for row, value in zip(mine, column["data"]):
                    self.same(column["dtype"], row[i], value)
        self.assertEqual((at, types), (len(rows), {"f4", "i8", "text"} | (types & {"f8"})))

    def same(self, dtype, cell, value):
        if value is None:
            self.assertIn(cell, ("", "nan"))
        elif dtype == "f4":
            self.assertEqual(struct.pack("f", float(cell)), struct.pack("f", value))
        elif dtype == "f8":
            self.assertTrue(math.isclose(float(cell), value, rel_tol=1e-8, abs_tol=1e-30), cell)
        else:
            self.assertEqual(cell, str(value))

    def test_many_clients(self):
        work = [("/v1/variants?format=tsv&tracks=%d" % (i % 2),
                 HEAD + "".join(self.vcf[len(HEAD):].splitlines(True)[i % 3:4])) for i in range(8)]
        alone = [self.server.post(*item)[::2] for item in work]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda item: self.server.post(*item)[::2], work))
        self.assertEqual(alone, together)
        self.assertEqual({status for status, _ in alone}, {200})

    def test_what_a_request_cannot_say(self):
        one = [["chr1", 1, "A", "C"]]
        for body, words in (
                ({}, '"variants"'), ({"variants": 1}, '"variants"'),
                ({"variants": []}, "no variants"),
                ({"variants": ""}, "no variants"), ({"variants": "chr1\t5\t9\n"}, "no variants"),
                ({"variants": [1]}, "number 0 is not"), ({"variants": one + [["chr1", 1, "A"]]},
                                                        "number 1 is not"),
                ({"variants": [["chr1", "1", "A", "C"]]}, "number 0 has no pos"),
                ({"variants": [[1, 1, "A", "C"]]}, "number 0 has no chrom"),
                ({"variants": [["", 1, "A", "C"]]}, "number 0 has no chrom"),
                ({"variants": [{"chrom": "chr1", "pos": 1, "ref": "A"}]}, "number 0 has no alt"),
                ({"variants": [{"chrom": "chr1", "pos": 1, "ref": "A", "alt": "C", "gt": 1}]},
                 "'gt' is not known"),
                ({"variants": one + [["#chr1", 1, "A", "C"]]}, "number 1: character 0x23"),
                ({"variants": [["chr1\tx", 1, "A", "C"]]}, "number 0: character 0x09"),
                ({"variants": [["chr1", 1, "A\nchr1\t2", "C"]]}, "number 0: character 0x0A"),
                ({"variants": [["chr1", 1, "A", "C,G"]]}, "number 0: character 0x2C"),
                ({"variants": [dict(self.listed[0], id="a\u0000b")]}, "number 0: character 0x00"),
                ({"variants": one, "genome": "/etc/passwd"}, "'genome' is not known"),
                ({"variants": one, "gtf": "g.gtf"}, "'gtf' is not known"),
                ({"variants": one, "targets": "t.tsv"}, "'targets' is not known"),
                ({"variants": one, "tracks": []}, "empty list"),
                ({"variants": one, "tracks": "a\nzrecommended"}, "control character"),
                ({"variants": one, "tracks": "nothing*"}, "nothing*"),
                ({"variants": one, "outputs": ""}, "outputs: the value is empty"),
                ({"variants": one, "outputs": "x" * 9000}, "no output 'xxx"),
                ({"variants": one, "outputs": "nope"}, "no output 'nope'"),
                ({"variants": one, "stats": "MAX"}, "expected SAD"),
                ({"variants": one, "indel": "up"}, "is not one of both, left, right"),
                ({"variants": one, "rc": "maybe"}, "true or false"),
                ({"variants": one, "shifts": ["a"]}, "shifts: 'a' is not a whole number"),
                ({"variants": one, "shifts": list(range(65))}, "64"),
                ({"variants": one, "resolution": "1x"}, "resolution: '1x' is not a whole number"),
                ({"variants": one, "scorers": "polya"}, "--polya"),
                ({"variants": one, "scorers": "none"}, "none"),
                ({"variants": one, "scorers": "center", "stats": "SAD"}, "without stats"),
                ({"variants": one, "scorers": "center", "format": "npz"}, "json or tsv"),
                ({"variants": one, "format": "jsonl"}, "jsonl")):
            status, _, text = self.server.post("/v1/variants", body)
            self.assertEqual(status, 400, (body, text[:300]))
            message = json.loads(text)["error"]["message"]
            self.assertIn(words, message)
            self.assertNotIn(self.folder.name, message)
        for names in "x" * (1 << 17), ["1" * 999] * 140:
            status, _, text = self.server.post("/v1/variants", {"variants": one, "tracks": names})
            self.assertEqual(status, 413, text[:300])
            self.assertIn(b"tracks: more than 131071 characters", text)
        self.assertIsNone(self.server.process.poll())

    def test_what_a_variant_cannot_be(self):
        """Each costs itself only, and is named by its number or its line."""
        got = self.server.results("/v1/variants?tracks=0", {"variants": [
            ["chr1", 0, "A", "C"], ["chr1", -1, "A", "C"], ["chr1", 1.5, "A", "C"],
            ["chr1", 10 ** 18, "A", "C"], ["chr1", 29999, "ACGT", "A"], ["chr1", 5, "Q", "C"],
            ["chr1", 5, "A", "<DEL>"], ["chr1", 5, "A" * 5000, "A"], ["chr2", 5, "A", "C"],
            ["chr1", 5, "\u00e9", "C"], list(self.variants[0][1:])]})
        self.assertEqual([r["status"] for r in got[:-1]], [
            "invalid_argument", "bad_format", "bad_format", "bad_format", "invalid_argument",
            "bad_format", "unsupported", "too_long", "invalid_argument", "bad_format"])
        for i, r in enumerate(got[:-1]):
            self.assertIn("number %d: " % i, r["message"])
        self.assertEqual(got[-1]["status"], "ok")
        two = self.server.results("/v1/variants?tracks=0", HEAD + "chr1\t13001\tx\t%s\tA,C,G,T\n"
                                  % self.variants[0][3])
        self.assertEqual([r["id"] for r in two], ["x_A", "x_C", "x_G", "x_T"])

    def test_limits(self):
        line = "chr1\t5\t.\tA\tC\n"
        self.refused(413, "/v1/variants", line * 10001, "more than 10000 variants")
        self.refused(413, "/v1/variants", {"variants": [["chr1", 1, "A", "C"]] * 10001},
                     "10001 variants")
        self.refused(413, "/v1/variants", "chr1\t5\t.\tA\t" + "C" * (1 << 20), "--max-body")
        self.refused(413, "/v1/variants?scorers=recommended", HEAD + 40 * self.vcf[len(HEAD):],
                     "--max-answer")
        rng = random.Random(4)
        for whole in (self.vcf.encode(), json.dumps({"variants": self.listed[:2]}).encode()):
            for _ in range(30):
                body = bytearray(whole)
                for _ in range(rng.randint(1, 4)):
                    body[rng.randrange(len(body))] = rng.choice(b'\x00\xff"{}[],:0A\t\n#')
                self.assertIn(self.server.post("/v1/variants?tracks=0", bytes(body))[0],
                              (200, 400))
        self.assertIsNone(self.server.process.poll())

    def test_servers_without_a_genome(self):
        server = test_serve.Server(self.folder.name, model=self.model)
        try:
            status, _, text = server.post("/v1/variants", self.vcf)
            self.assertEqual(status, 404)
            self.assertNotIn(b"/v1/variants", text)
        finally:
            server.process.kill()
            server.process.wait()
        for options, words in ((["--gtf", self.genes], "--genome"),
                               (["--genome", self.genome, "--gtf", self.path("none")], "No such"),
                               (["--genome", self.genes], "index"),
                               (["--genome", self.path("none")], "none")):
            done = subprocess.run([test_serve.EXE, "serve", *self.model, "--listen",
                                   "127.0.0.1:0", *options], capture_output=True, text=True,
                                  timeout=60, check=False)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
        done = subprocess.run([test_serve.EXE, "serve", "esm2", "--weights", "tiny", "--genome",
                               self.genome], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertIn("models of DNA", done.stderr)


if __name__ == "__main__":
    test_serve.EXE, test_serve.ROOT = sys.argv[1:3]
    if test_serve.cannot_serve():
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
