#!/usr/bin/env python3
"""test_cli.py BIOINFER SOURCE_ROOT [CASE ...] - drives the command as a user does.

Standard library only. Each case is a class; every test runs in a folder of its own, and
afterwards no temporary file may be left in it.
"""
import array
import ast
import base64
import csv
import gzip
import io
import json
import math
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

EXE = ROOT = TINY = ""
FASTA = {"one": "MKTAYIAKQRQISFVKSHFSRQ", "two": "ENFVGGCTPGYQRTADGRCKPTF",
         "three": "MDILALGWVSMLALF"}
WIDTH, VOCAB, LAYERS = 320, 33, 6
SANITIZED = os.environ.get("BIOINFER_SANITIZED") == "1"  # several times slower


# ---- readers of what the command writes ----

def floats(raw):
    out = array.array("f", raw)
    if sys.byteorder == "big":
        out.byteswap()
    return out


def read_npy(raw):
    assert raw[:6] == b"\x93NUMPY", raw[:6]
    size = struct.unpack("<H", raw[8:10])[0]
    header = ast.literal_eval(raw[10:10 + size].decode("latin-1"))
    assert header["descr"] == "<f4" and header["fortran_order"] is False, header
    data = floats(raw[10 + size:])
    assert len(data) == math.prod(header["shape"])
    return header["shape"], data


def read_npz(path):
    with zipfile.ZipFile(path) as z:
        assert z.testzip() is None
        return {name.removesuffix(".npy"): read_npy(z.read(name)) for name in z.namelist()
                if z.read(name)[:6] == b"\x93NUMPY" and b"'<f4'" in z.read(name)[:128]}


def read_safetensors(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    header.pop("__metadata__", None)
    out = {}
    for name, t in header.items():
        if t["dtype"] == "F32":
            begin, end = t["data_offsets"]
            out[name] = (tuple(t["shape"]), floats(raw[8 + size + begin:8 + size + end]))
    return out


def write_safetensors(path, header, data):
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def split_safetensors(path):
    raw = open(path, "rb").read()
    size = struct.unpack("<Q", raw[:8])[0]
    return json.loads(raw[8:8 + size]), raw[8 + size:]


def relative(a, b):
    return math.sqrt(sum((x - y) ** 2 for x, y in zip(a, b, strict=True)) / sum(y * y for y in b))


# ---- the frame of a test ----

class Case(unittest.TestCase):
    maxDiff = 4000

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-cli-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.fasta = self.write("in.fasta", "".join(f">{k} text\n{v}\n" for k, v in FASTA.items()))

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, content):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content if isinstance(content, bytes) else content.encode())
        return path

    def env(self, **more):
        env = dict(os.environ, HF_HOME=self.path("no-cache"), **more)
        env.pop("HF_HUB_CACHE", None)
        return env

    def run_raw(self, *args, code=0, stdin=b"", **more):
        p = subprocess.run([EXE, *args], input=stdin, capture_output=True, timeout=600,
                           cwd=self.dir, env=self.env(), **more)
        p.words = p.stderr.decode(errors="replace")
        self.assertEqual(p.returncode, code, f"{args}\n{p.words}\n{p.stdout[:500]!r}")
        if code not in (0, 141):
            self.assertTrue(p.words.startswith("bioinfer: ") or "\nbioinfer: " in p.words, p.words)
        self.assertNotIn("Sanitizer", p.words)
        return p

    def run_tiny(self, *args, **more):
        return self.run_raw(*args, "--weights", TINY, **more)

    def files(self):
        return sorted(os.path.relpath(os.path.join(d, f), self.dir)
                      for d, _, names in os.walk(self.dir) for f in names)

    def check_fails(self, args, code, *parts):
        """The exit code, each part in the message, and no file more or less than before,
        but for the journal that a run of some length says it keeps."""
        before = self.files()
        p = self.run_raw(*args, code=code)
        for part in parts:
            self.assertIn(part, p.words)
        for folder in re.findall(r"(\S+\.part) keeps \d+ records", p.words):
            shutil.rmtree(self.path(folder))
        self.assertEqual(self.files(), before)
        return p


# ---- the command lines of the manual ----

class Commands(Case):
    def test_default_output(self):
        self.run_tiny("esm2", "in.fasta")
        out = read_npz(self.path("in.fasta.esm2.npz"))
        self.assertEqual(list(out), list(FASTA))
        self.assertEqual(self.files(), ["in.fasta", "in.fasta.esm2.npz",
                                        "in.fasta.esm2.npz.manifest.tsv",
                                        "in.fasta.esm2.npz.provenance.json"])

    def test_embed_word(self):
        self.run_tiny("embed", "esm2", "in.fasta", "-o", "out.npz")
        self.run_tiny("esm2", "in.fasta", "--output=again.npz")
        self.assertEqual(open(self.path("out.npz"), "rb").read(),
                         open(self.path("again.npz"), "rb").read())

    def test_per_residue(self):
        self.run_raw("esm2", "in.fasta", "--weights", TINY, "--device", "cpu", "--include",
                     "per-residue", "-o", "out.npz")
        out = read_npz(self.path("out.npz"))
        self.assertEqual({k: v[0] for k, v in out.items()},
                         {k: (len(s), WIDTH) for k, s in FASTA.items()})

    def test_several_kinds(self):
        self.run_tiny("esm2", "in.fasta", "--include", "mean,logits,contacts", "-o", "out.npz")
        out = read_npz(self.path("out.npz"))
        expected = {}
        for k, s in FASTA.items():
            n = len(s)
            expected |= {f"{k}/mean": (WIDTH,), f"{k}/logits": (n, VOCAB), f"{k}/contacts": (n, n)}
        self.assertEqual({k: v[0] for k, v in out.items()}, expected)
        for key, (shape, data) in out.items():
            if key.endswith("/contacts"):
                self.assertTrue(all(0 <= x <= 1 for x in data))

    def test_layers(self):
        self.run_tiny("esm2", "in.fasta", "--layers", "0,3,-1", "--include", "mean", "-o",
                      "out.npz")
        out = read_npz(self.path("out.npz"))
        self.assertEqual(set(out), {f"{k}/layer_{n}/mean" for k in FASTA for n in (0, 3, LAYERS)})

    def test_layer_twice(self):
        self.run_tiny("esm2", "in.fasta", "--layers", "0,6,-1", "--include", "mean", "-o",
                      "out.npz")
        out = read_npz(self.path("out.npz"))
        self.assertEqual(set(out), {f"{k}/layer_{n}/mean" for k in FASTA for n in (0, 6)})

    def test_bos_and_attentions(self):
        self.run_tiny("esm2", "in.fasta", "--include", "bos,attentions", "-o", "out.npz")
        out = read_npz(self.path("out.npz"))
        n = len(FASTA["two"]) + 2
        self.assertEqual(out["two/bos"][0], (WIDTH,))
        self.assertEqual(out["two/attentions"][0], (LAYERS, 20, n, n))

    def test_stdin_gzip_to_h5(self):
        formats = self.run_raw("esm2", "x", "--format", "nothing", code=64).words
        if "h5" not in formats:
            self.skipTest("built without HDF5")
        self.run_tiny("esm2", "-", "-o", "out.h5",
                      stdin=gzip.compress(open(self.fasta, "rb").read()))
        raw = open(self.path("out.h5"), "rb").read()
        self.assertEqual(raw[:8], b"\x89HDF\r\n\x1a\n")
        for key in FASTA:
            self.assertIn(key.encode(), raw)
        self.assertEqual(self.files(), ["in.fasta", "out.h5", "out.h5.manifest.tsv",
                                        "out.h5.provenance.json"])
        script = ("import h5py, sys; f = h5py.File(sys.argv[1]); print(*(f'{k}:{f[k].shape}' for k "
                  "in f))")
        for python in (sys.executable, "/usr/bin/python3"):  # where h5py is installed
            p = subprocess.run([python, "-c", script, self.path("out.h5")], capture_output=True)
            if p.returncode == 0:
                self.assertEqual(set(p.stdout.decode().split()), {f"{k}:({WIDTH},)" for k in FASTA})

    def test_tsv_on_stdout(self):
        p = self.run_tiny("esm2", "in.fasta", "--format", "tsv")
        lines = p.stdout.decode().splitlines()
        self.assertEqual(len(lines), 1 + len(FASTA))
        self.assertTrue(all(line.count("\t") == lines[0].count("\t") for line in lines))
        self.assertGreaterEqual(lines[0].count("\t"), WIDTH)
        self.assertEqual(self.files(), ["in.fasta"])

    def test_jsonl_on_stdout(self):
        p = self.run_tiny("esm2", "-", "--format", "jsonl", stdin=open(self.fasta, "rb").read())
        rows = [json.loads(line) for line in p.stdout.splitlines()]
        self.assertEqual([r["id"] for r in rows], list(FASTA))
        self.assertEqual([r["length"] for r in rows], [len(s) for s in FASTA.values()])
        self.assertEqual({r["status"] for r in rows}, {"ok"})

    def test_formats_agree(self):
        for name in ("a.npz", "a.safetensors", "a.npy", "a.tsv", "a.jsonl"):
            self.run_tiny("esm2", "in.fasta", "--include", "mean", "-o", name, "--json-floats")
        npz = read_npz(self.path("a.npz"))
        st = read_safetensors(self.path("a.safetensors"))
        shape, npy = read_npy(open(self.path("a.npy"), "rb").read())
        ids = open(self.path("a.ids.txt")).read().splitlines()
        self.assertEqual(shape, (len(FASTA), WIDTH))
        self.assertEqual(ids, list(FASTA))
        tsv = [line.split("\t") for line in open(self.path("a.tsv")).read().splitlines()]
        rows = [json.loads(line) for line in open(self.path("a.jsonl"))]
        for i, key in enumerate(FASTA):
            want = npz[key][1]
            self.assertEqual(st[key][1], want)
            self.assertEqual(npy[i * WIDTH:(i + 1) * WIDTH], want)
            line = next(r for r in tsv[1:] if key in r)
            self.assertEqual(array.array("f", map(float, line[-WIDTH:])), want)
            numbers = find_numbers(rows[i])
            self.assertEqual(array.array("f", numbers), want)

    def test_jsonl_base64(self):
        self.run_tiny("esm2", "in.fasta", "--include", "mean", "-o", "a.jsonl")
        self.run_tiny("esm2", "in.fasta", "--include", "mean", "-o", "a.npz")
        want = read_npz(self.path("a.npz"))
        for line in open(self.path("a.jsonl")):
            row = json.loads(line)
            self.assertEqual(floats(find_base64(row)), want[row["id"]][1])

    def test_golden_means(self):
        folder = os.path.join(TINY, "golden")
        self.run_tiny("esm2", os.path.join(folder, "sequences.fasta"), "--include", "mean",
                      "-o", self.path("out.npz"))
        golden = read_safetensors(os.path.join(folder, "golden.safetensors"))
        out = read_npz(self.path("out.npz"))
        self.assertEqual(len(out), 12)
        for key, (shape, data) in out.items():
            self.assertLess(relative(data, golden[key + "/mean"][1]), 5e-6, key)

    def test_same_bytes_in_any_company(self):
        args = ("esm2", "in.fasta", "--include", "per-residue,logits", "-o")
        self.run_tiny(*args, "a.npz")
        want = read_npz(self.path("a.npz"))
        for more in (("--batch-tokens", "32"), ("--threads", "1"), ("--batch-tokens", "40000")):
            self.run_tiny(*args, "b.npz", *more)
            self.assertEqual(read_npz(self.path("b.npz")), want, more)
        self.write("alone.fasta", f">two\n{FASTA['two']}\n")
        self.run_tiny("esm2", "alone.fasta", "--include", "per-residue,logits", "-o", "c.npz")
        for key, value in read_npz(self.path("c.npz")).items():
            self.assertEqual(value, want[key], key)

    def test_no_rules_is_close(self):
        args = ("esm2", "in.fasta", "--include", "mean", "-o")
        self.run_tiny(*args, "a.npz")
        self.run_tiny(*args, "b.npz", "--no-rule=all")
        a, b = read_npz(self.path("a.npz")), read_npz(self.path("b.npz"))
        for key in FASTA:
            self.assertLess(relative(a[key][1], b[key][1]), 5e-6)

    def test_tiny_by_name(self):
        p = self.run_raw("esm2", "in.fasta", "--weights", "tiny", "-o", "out.npz")
        self.assertIn("tiny", p.words)

    def test_odd_input(self):
        text = ("\ufeff; a comment\r\n>lower first\r\nmktayiak\r\nqrqisfv\r\n\r\n"
                ">gaps\r\nMK-TA.YI AK*\r\n>odd\r\nMKBXUZOJ\r\n").encode()
        self.write("odd.fasta", text)
        self.run_tiny("esm2", "odd.fasta", "--include", "per-residue", "-o", "out.npz")
        out = read_npz(self.path("out.npz"))
        self.assertEqual({k: v[0][0] for k, v in out.items()}, {"lower": 15, "gaps": 8, "odd": 8})

    def test_default_seed(self):
        pdb = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
        default = self.run_raw("proteinmpnn", pdb).stdout
        self.assertIn(b"seed=37", default)
        self.assertEqual(self.run_raw("proteinmpnn", pdb, "--seed", "37").stdout, default)

    def test_nucleotides_in_place_of_proteins(self):
        dna = "ACGTTGCANNACGTACGTAC"
        self.write("dna.fasta", f">short\n{dna[:19]}\n>dna\n{dna}\n>more\n{dna}\n")
        self.write("protein.fasta", f">p\n{dna[:19]}M\n")
        for command in ("esm2",), ("score", "esm2"):
            more = () if command == ("esm2",) else ("--method", "pppl")
            p = self.run_tiny(*command, "dna.fasta", *more, "-o", "x.npz" if not more else "x.tsv")
            self.assertEqual(p.words.count("as of nucleotides"), 1, p.words)
            self.assertIn("warning: dna.fasta, dna: all letters", p.words)
            p = self.run_tiny(*command, "protein.fasta", *more, "-o",
                              "y.npz" if not more else "y.tsv")
            self.assertNotIn("nucleotides", p.words)

    def test_devices(self):
        p = self.run_raw("devices")
        self.assertRegex(p.stdout.decode(), r"(?m)^cpu\tyes\t")

    def test_info(self):
        p = self.run_raw("info", os.path.join(TINY, "model.safetensors"))
        self.assertIn(b"lm_head.dense.weight", p.stdout)
        self.assertIn(b"320", p.stdout)
        self.assertIn(b"3", self.run_raw("info", self.fasta).stdout)

    def test_info_of_outputs(self):
        """Names, types and shapes of what bioinfer itself writes."""
        formats = ["npz", "safetensors", "npy"]
        if "h5" in self.run_raw("esm2", "x", "--format", "nothing", code=64).words:
            formats.append("h5")
        for name in formats:
            kinds = () if name == "npy" else ("--include", "mean,per-residue")
            self.run_tiny("esm2", "in.fasta", "-o", f"o.{name}", *kinds)
            text = self.run_raw("info", f"o.{name}").stdout.decode()
            for key, sequence in FASTA.items():
                for kind, shape in (("mean", "320"), ("per-residue", f"{len(sequence)}, 320")):
                    line = ("  float32 [3, 320]\n" if name == "npy"
                            else f"  {key}/{kind} float32 [{shape}]\n")
                    self.assertIn(line, text)
        self.write("empty.npz", b"PK\5\6" + bytes(18))
        self.assertIn(b"arrays: 0", self.run_raw("info", "empty.npz").stdout)
        with zipfile.ZipFile(self.path("small.npz"), "w", zipfile.ZIP_DEFLATED) as z:
            z.writestr("x.npy", open(self.path("o.npy"), "rb").read())
        self.assertRegex(self.run_raw("info", "small.npz").stdout,
                         rb"  x \(\d+ bytes, compressed\)")

    def test_info_of_tables(self):
        self.write("b.fa", ">q\nMKTAYIAKQR\n>r\nMKTVY\n")
        for run in (("esm2", "b.fa", "-o", "o.tsv"), ("esm2", "b.fa", "-o", "o.jsonl"),
                    ("score", "esm2", "b.fa", "-o", "s.tsv", "--method", "pppl")):
            self.run_tiny(*run)
        for name in ("a.tsv", "a.sam", "a.paf"):
            self.run_raw("align", "b.fa", "--all-vs-all", "-o", name)
        for name, parts in (("o.tsv", ("embeddings", "Records: 2", "norm")),
                            ("o.jsonl", ("embeddings", "Format: jsonl, 2 arrays")),
                            ("s.tsv", ("pseudo-perplexities", "Rows: 2", "id, length, pll, pppl")),
                            ("a.tsv", ("alignments", "Pairs: 1", "query, target, score")),
                            ("a.sam", ("alignments", "Pairs: 1")),
                            ("a.paf", ("alignments", "Pairs: 1"))):
            text = self.run_raw("info", name).stdout.decode()
            for part in parts:
                self.assertIn(part, text, name)

    def test_info_by_content(self):
        golden = os.path.join(ROOT, "tests", "golden", "proteinmpnn")
        vcf = ("##fileformat=VCFv4.2\n"
               "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\nchr1\t5\t.\tA\tC,<DEL>\t.\t.\t.\n")
        for name, content, part in (
                ("a.vcf", vcf, "VCF\n  alternatives  2\n  unusable      1"),
                ("a.vcf.gz", gzip.compress(vcf.encode()), "VCF"),
                ("a.bed", "chr1\t5\t9\nchr1\t9\t5\n", "BED or bedGraph\n"
                                                      "  intervals  2\n  unusable   1"),
                ("b.bed", "# text\nchr1\t5\t9\tx\t0\t+\n", "BED"),
                ("c.bed", "chr1\t5\t9\tx\t0\t+\t5\t9\t0\t1\t4,\t0,\n", "BED"),
                ("d.bed", "chr1 5 9\n", "BED or bedGraph\n  intervals  1\n  unusable   0"),
                ("b.vcf", "chr1\t9000\t19500\tG\tA\n", "VCF\n  alternatives  1"),
                ("c.vcf", "chr1\t9000\trs1\tG\tA\n", "VCF\n  alternatives  1"),
                ("d.vcf", "##source=x\n" + vcf, "VCF\n  alternatives  2"),
                ("a.cif", "# text\ndata_X\n_entry.id X\n", "mmCIF, a structure"),
                ("a.fa.gz", gzip.compress(b">a\nMKT\n"), "FASTA"),
                ("b.fa", b"\xef\xbb\xbf\n>a\nMKT\n", "FASTA"),
                ("a", open(os.path.join(golden, "5L33.pdb")).read(), "PDB, a structure")):
            self.write(name, content)
            self.assertIn(part, self.run_raw("info", name).stdout.decode(), name)
        npy = b"\x93NUMPY\1\0"
        for name, content, part in (
                ("a.fq", "@r\nACGT\n+\nIIII\n", "this is FASTQ"),
                ("a.sam", "@HD\tVN:1.6\n", "this is SAM"),
                ("a.bam", gzip.compress(b"BAM\1\0\0\0\0"), "this is BAM"),
                ("a.gff", "##gff-version 3\n", "this is GFF"),
                ("a.bw", b"\x26\xfc\x8f\x88" + bytes(60), "BigWig"),
                ("a.json", '{"a": 1}', "JSON"),
                ("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(600), "HDF5"), ("1.npy", npy, "NumPy array"),
                ("2.npy", npy + b"\xff\xff{}", "header is longer"),
                ("3.npy", npy + b"\2\0{}", "without descr and shape"),
                ("4.npy", npy + b"\x26\0{'descr': '<f4', 'shape': (99999999999",
                 "without descr and shape"),
                ("5.npy",
                 npy + b"\x37\0" + b"{'descr': '<f4', 'shape': (99999999999999999999999,), }",
                 "without descr and shape")):
            self.write(name, content)
            p = self.check_fails(("info", name), 65)
            self.assertRegex(p.words, f"{name}: .*({part}|libhdf5)")
        p = self.run_raw("info", "tiny")
        self.assertIn(b"bioinfer-tiny", p.stdout)

    def test_info_of_frames(self):
        cell = 'Lattice="10 0 0 0 10 0 0 0 10" Properties=species:S:1:pos:R:3:forces:R:3 ' \
            'energy=-1.5 note="a = b" pbc="T T T"\n'
        frames = ("3\n" + cell + "O 0 0 0.1 0 0 0\nH 0 0.7 -0.4 0 0 0\nH 0 -0.7 -0.4 0 0 0\n"
                  "1\nProperties=species:S:1:pos:R:3\nXx 0 0 0\n"
                  "1\nProperties=pos:R:3:species:S:1\n0 0 0 Cl\n")
        self.write("a.xyz", frames)
        self.write("a", gzip.compress(frames.encode()))
        told = self.run_raw("info", "a.xyz").stdout.decode()
        self.assertEqual(told.splitlines(), [
            "a.xyz: extended XYZ", "  frames: 3", "  unusable: 1",
            "  the first of these: a.xyz: frame 2: line 8: 'Xx' is no element: expected a symbol "
            "as in Cl, or its number", "  atoms: 4, 1 to 3 in a frame", "  elements: H O Cl",
            "  periodic: 1", "  keys: Lattice, Properties, energy, note, pbc",
            "  columns: species:S:1:pos:R:3:forces:R:3"])
        self.assertEqual(self.run_raw("info", "a").stdout.decode().replace("a:", "a.xyz:"), told)
        self.write("b", " 2 \r\nhydrogen\r\nH 0 0 0\r\nH 0 0 7.4e-1\r\n")
        described, = json.loads(self.run_raw("info", "--json", "b").stdout)
        self.assertEqual(described["value"], "XYZ")
        self.assertEqual({i["name"]: i["value"] for i in described["items"]},
                         {"frames": "1", "unusable": "0", "atoms": "2", "elements": "H"})
        self.write("c", "1\nProperties=species:S:1:pos:R:3\nC 0 0\n")  # no frame can be used
        self.assertIn("atoms: 0\n", self.run_raw("info", "c").stdout.decode())
        for name, text in (("d", "5\n"), ("e", "2\nwords\nnot atoms\n")):
            self.write(name, text)
            self.assertNotIn("XYZ", self.check_fails(("info", name), 65).words)

    def test_help_and_version(self):
        self.assertIn(b"esm2", self.run_raw("--help").stdout)
        self.assertIn(b"--mutations", self.run_raw("score", "--help").stdout)
        for version in ("--version", "-V", "version"):
            self.assertRegex(self.run_raw(version).stdout, rb"^bioinfer \d+\.\d+\.\d+\n$")

    def test_models(self):
        models, weights = self.run_raw("models").stdout.split(b"\n\n")
        models = models.split(b"\n")
        self.assertIn(b"esm2", models[0])
        whole = self.run_raw("--help").stdout
        self.assertTrue(all(line in whole for line in models))
        rows = [line.split(b"\t") for line in weights.splitlines()]
        self.assertEqual({len(row) for row in rows}, {7})
        row, = [row for row in rows if row[1] == b"facebook/esm2_t33_650M_UR50D"]
        self.assertEqual(row[2:6], [b"652 M", b"2.6 GB", b"2.6 GB", b"MIT"])
        names = {line.split()[0] for line in models if line[2:3] != b" "}
        self.assertEqual({row[0] for row in rows[1:]}, names)  # no family without a row
        for family, name in ("esm2", "tiny"), ("proteinmpnn", "proteinmpnn_v_48_020.mpnn"):
            row, = [row for row in rows if row[1].endswith(name.encode())]
            self.assertEqual(row[0].decode(), family)
            self.assertTrue(os.path.exists(row[6]), row)
            self.assertIn(b"comes with bioinfer", row[5])
        pdb = os.path.join(ROOT, "tests", "golden", "proteinmpnn", "5L33.pdb")
        self.run_raw("proteinmpnn", pdb, "--score-only", "--weights", row[1].decode(), "-o", "s.fa")

    def test_profile(self):
        p = self.run_tiny("esm2", "in.fasta", "-o", "out.npz", "--profile")
        for part in ("attention", "launches", "activations", "peak memory", "1 uploads"):
            self.assertIn(part, p.words)
        p = self.run_tiny("esm2", "in.fasta", "-o", "out.npz", "--profile", "--workers", "2")
        rows = re.findall(r"cpu: ready after (.*) s, first result after (.*) s, (\d+) records",
                          p.words)
        self.assertEqual((len(rows), sum(int(row[2]) for row in rows)), (2, 3), p.words)
        for ready, first, n in rows:  # a worker may have had no record
            self.assertEqual(float(first) > float(ready), n != "0")

    def test_dump_and_trace(self):
        plain = self.run_tiny("esm2", "in.fasta", "--dump-graph=plain").stdout
        fused = self.run_tiny("esm2", "in.fasta", "--dump-graph").stdout
        self.assertIn(b"softmax", plain)
        self.assertIn(b"attention", fused)
        self.assertLess(len(fused.splitlines()), len(plain.splitlines()))
        self.assertTrue(self.run_tiny("esm2", "in.fasta", "--trace-rules").stdout)
        self.assertEqual(self.files(), ["in.fasta"])

    def test_progress_and_quiet(self):
        p = self.run_tiny("esm2", "in.fasta", "-o", "out.npz", "--progress", "on")
        self.assertIn("residues/s", p.words)
        p = self.run_tiny("esm2", "in.fasta", "-o", "out.npz", "--quiet")
        self.assertEqual(p.words, "")
        p = self.run_tiny("esm2", "in.fasta", "-o", "out.npz")
        self.assertNotIn("\r", p.words)
        self.assertIn("3 records, 60 residues", p.words)

    def test_progress_of_a_part(self):
        """Copies count as done, records of other shards do not count (journals: test_jobs.py)."""
        with open(os.path.join(TINY, "golden", "sequences.fasta")) as f:
            text = f.read()
        self.write("some.fasta", text)
        self.write("twice.fasta", 2 * text)
        for args in (("some.fasta", "--shard", "1/2"), ("twice.fasta", "--dup-ids", "suffix")):
            p = self.run_tiny("esm2", *args, "-o", args[0] + ".jsonl", "--progress", "on")
            self.assertIn("residues/s, 100 %, 0:00:00 left", p.words)


def find_numbers(row):
    """The one list of numbers in a jsonl object, wherever it lies."""
    stack = [row]
    while stack:
        x = stack.pop()
        if isinstance(x, list) and x and all(isinstance(v, (int, float)) for v in x) and len(x) > 8:
            return x
        stack += x.values() if isinstance(x, dict) else x if isinstance(x, list) else []
    raise AssertionError("no numbers")


def find_base64(row):
    stack = [row]
    while stack:
        x = stack.pop()
        if isinstance(x, str) and len(x) > 4 * WIDTH:
            return base64.b64decode(x, validate=True)
        stack += x.values() if isinstance(x, dict) else x if isinstance(x, list) else []
    raise AssertionError("no base64")


# ---- the other families ----

class Heads(Case):
    """Annotation heads of docs/heads.md against tools/golden_plm.py."""

    MODELS = {"prott5": "full", "esmc": "split", "prostt5": "prostt5"}

    def head(self, name):
        return os.path.join(ROOT, "tests", "golden", "prott5", "heads", name)

    def run_head(self, family, name, *args, **more):
        command = family.replace("prost", "prot")  # ProstT5 is read by the family of ProtT5
        folder = os.path.join(ROOT, "tests", "golden", command)
        return self.run_raw(command, os.path.join(folder, "sequences.fasta"), "--weights",
                            os.path.join(folder, self.MODELS[family]),
                            # ESM C has a token <mask>
                            *(["--raw-residues"] if family == "esmc" else []),
                            "--head", self.head(f"{family}-{name}.safetensors"), *args, **more)

    def test_values_and_labels(self):
        expected = read_safetensors(self.head("expected.safetensors"))
        labels = json.load(open(self.head("labels.json")))
        for family in self.MODELS:
            for name in "dssp3", "3di", "location":
                self.run_head(family, name, "-o", "out.npz")
                out = read_npz(self.path("out.npz"))
                rows = self.run_head(family, name, "--format", "tsv").stdout.decode().splitlines()
                self.assertEqual(rows[0], "id\tlength\tstatus\tmessage\tlabels")
                found = {r.split("\t")[0]: r.split("\t")[4] for r in rows[1:]}
                lines = self.run_head(family, name, "--format",
                                      "jsonl").stdout.decode().splitlines()
                self.assertEqual({j["id"]: j["labels"] for j in map(json.loads, lines)}, found)
                self.assertEqual(set(out), set(found))
                for key, (shape, data) in out.items():
                    want_shape, want = expected[f"{family}-{name}/{key}"]
                    self.assertEqual(tuple(shape), tuple(want_shape))
                    self.assertLess(max(abs(a - b) for a, b in zip(data, want)), 2e-5)
                    self.assertEqual(found[key], labels[f"{family}-{name}/{key}"])

    def test_beside_others(self):
        self.run_head("prott5", "3di", "--include", "mean,head", "-o", "out.npz")
        out = read_npz(self.path("out.npz"))
        self.assertEqual(out["len37/mean"][0], (32,))
        self.assertEqual(out["len37/head"][0], (37, 20))

    def test_refused(self):
        weights = os.path.join(ROOT, "tests", "golden", "esmc", "split")
        for name, text in ((self.head("prott5-3di.safetensors"), "width 32"),
                           (os.path.join(weights, "model.safetensors"), "no entry bioinfer.head"),
                           ("nothing.safetensors", "nothing.safetensors")):
            self.check_fails(("esmc", "in.fasta", "--weights", weights, "--head", name, "-o",
                              "x.npz"), 78, text)
        self.check_fails(("esmc", "in.fasta", "--weights", weights, "--include", "head", "-o",
                          "x.npz"), 64, "head")


class Families(Case):
    """The other protein language models: found by their weights, or named."""

    def folder(self, family, name):
        return os.path.join(ROOT, "tests", "golden", family, name)

    def test_found_and_named(self):
        models = {"esmc": ("split", 128), "protbert": ("pretraining", 64), "prott5": ("full", 32),
                  "esm2": ("hf-d16", 48)}
        for family, (name, width) in models.items():
            folder = self.folder(family, name)
            self.run_raw("embed", "in.fasta", "--weights", folder, "-o", "found.npz")
            self.run_raw(family, "in.fasta", "--weights", folder, "-o", "named.npz")
            found = read_npz(self.path("found.npz"))
            self.assertEqual(found, read_npz(self.path("named.npz")))
            self.assertEqual({shape for shape, _ in found.values()}, {(width,)})
            other = "esmc" if family == "esm2" else "esm2"
            self.check_fails((other, "in.fasta", "--weights", folder, "-o", "x.npz"), 78,
                             f"these are no {other} weights")

    def test_input_embeddings_alone(self):
        """A graph without attention has no use for where sequences begin; cutting results out
        has."""
        models = {"esmc": "split", "protbert": "pretraining", "prott5": "full", "esm2": "hf-d16"}
        for family, name in models.items():
            run = (family, "in.fasta", "--weights", self.folder(family, name), "--include",
                   "per-residue", "-o", "x.npz", "--layers")
            self.run_raw(*run, "0,-1")
            both = read_npz(self.path("x.npz"))
            for more in (), ("--no-rule=all",), ("--batch-tokens", "30"):
                self.run_raw(*run, "0", *more)
                alone = read_npz(self.path("x.npz"))
                self.assertEqual(alone, {k: both[f"{k}/layer_0/per-residue"] for k in FASTA},
                                 (family, more))

    def test_default_name(self):
        self.run_raw("embed", "in.fasta", "--weights", self.folder("prott5", "full"))
        self.assertEqual(list(read_npz(self.path("in.fasta.embed.npz"))), list(FASTA))
        self.check_fails(("embed", "in.fasta"), 64, "in.fasta")

    def test_rare_letters(self):
        self.write("in.fasta", ">rare\nMUZOBK\n>plain\nMXXXXK\n")
        for family, name in ("protbert", "trunk"), ("prott5", "gated"):
            weights = ("--weights", self.folder(family, name))
            self.assertIn("read as X",
                          self.run_raw(family, "in.fasta", *weights, "-o", "x.npz").words)
            out = read_npz(self.path("x.npz"))
            self.assertEqual(out["rare"], out["plain"])
            self.run_raw(family, "in.fasta", *weights, "--raw-residues", "-o", "x.npz")
            out = read_npz(self.path("x.npz"))
            self.assertNotEqual(out["rare"], out["plain"])

    def test_places_end(self):
        self.write("in.fasta", f">fits\n{'M' * 94}\n>long\n{'M' * 95}\n")
        p = self.run_raw("protbert", "in.fasta", "--weights", self.folder("protbert", "trunk"),
                         "-o", "x.npz", code=1)
        self.assertIn("the model has places for 94", p.words)
        self.assertEqual(list(read_npz(self.path("x.npz"))), ["fits"])

    def test_prostt5(self):
        """A token in front that says the language: residues, or 3Di states in lower case when read
        raw."""
        shutil.copytree(self.folder("prott5", "prostt5"), self.path("w"))
        self.write("in.fasta", ">rare\nMUZOBK\n>plain\nMXXXXK\n>small\nmxxxxk\n")
        run = ("embed", "in.fasta", "--weights", "w", "-o", "x.npz")
        self.run_raw(*run)
        out = read_npz(self.path("x.npz"))
        self.assertEqual(out["rare"], out["plain"])
        self.assertEqual(out["small"], out["plain"])
        self.write("in.fasta", ">residues\nDVVL\n>states\ndvvl\n")
        self.run_raw(*run, "--include", "per-residue", "--raw-residues")
        out = read_npz(self.path("x.npz"))
        self.assertEqual([shape for shape, _ in out.values()], [(4, 32), (4, 32)])
        self.assertNotEqual(out["residues"], out["states"])
        os.rename(self.path("w/added_tokens.json"), self.path("added"))
        self.check_fails(run, 78, "names <AA2fold>")
        added = json.load(open(self.path("added")))
        for change, text in (({"<AA2fold>": 5}, "id 5 is '"),
                             ({"<AA2fold>": "x"}, "is not a token and its id"),
                             ({"<AA2fold>": 1 << 40}, "pieces"),
                             ({"<AA2fold>": 151}, "152 pieces")):
            self.write("w/added_tokens.json", json.dumps({**added, **change}))
            self.check_fails(run, 78, text)
        os.remove(self.path("w/added_tokens.json"))
        decoder = {str(i): {"content": t, "special": False} for t, i in added.items()}
        self.write("w/tokenizer_config.json", json.dumps({"added_tokens_decoder": decoder}))
        # as later releases have it
        self.run_raw(*run, "--include", "per-residue", "--raw-residues")
        self.assertEqual(read_npz(self.path("x.npz")), out)
        for bad in ({"14x": {"content": "a"}}, {"148": {}}, []):
            self.write("w/tokenizer_config.json", json.dumps({"added_tokens_decoder": bad}))
            self.check_fails(run, 78, "tokenizer_config.json")

    def test_missing_vocabulary(self):
        shutil.copytree(self.folder("prott5", "full"), self.path("w"))
        os.remove(self.path("w/spiece.model"))
        self.check_fails(("embed", "in.fasta", "--weights", "w", "-o", "x.npz"), 78,
                         "neither spiece.model nor")
        self.write("w/spiece.model", b"\x0a\x05")
        self.check_fails(("embed", "in.fasta", "--weights", "w", "-o", "x.npz"), 78,
                         "not a SentencePiece model")


# ---- scores ----

class Scores(Case):
    def setUp(self):
        super().setUp()
        self.wild = FASTA["one"]
        self.write("wt.fasta", f">wt\n{self.wild}\n")

    def table(self, raw, separator=","):
        return list(csv.reader(io.StringIO(raw.decode(), newline=""), delimiter=separator))

    def scan(self, method):
        p = self.run_tiny("score", "esm2", "wt.fasta", "--method", method)
        rows = self.table(p.stdout, "\t")
        self.assertEqual(rows[0], ["id", "position", "wildtype", "mutant", "score"])
        self.assertEqual(len(rows), 1 + 20 * len(self.wild))
        out = {f"{r[2]}{r[1]}{r[3]}": float(r[4]) for r in rows[1:]}
        for i, wild in enumerate(self.wild):
            self.assertEqual(out[f"{wild}{i + 1}{wild}"], 0)
        return out

    def test_mutations(self):
        for method in ("masked-marginals", "wt-marginals"):
            scan = self.scan(method)
            self.write("m.csv", "mutant,dms\nM1A,0.5\nK2R:T3S,-1\nQ22A,\n")
            p = self.run_tiny("score", "esm2", "wt.fasta", "--mutations", "m.csv", "--method",
                              method)
            rows = self.table(p.stdout)
            self.assertEqual(rows[0][:2], ["mutant", "dms"])
            self.assertIn("tiny", rows[0][2])
            self.assertEqual([r[:2] for r in rows[1:]],
                             [["M1A", "0.5"], ["K2R:T3S", "-1"], ["Q22A", ""]])
            want = [scan["M1A"], scan["K2R"] + scan["T3S"], scan["Q22A"]]
            for row, value in zip(rows[1:], want):
                self.assertAlmostEqual(float(row[2]), value, delta=3e-6)

    def test_methods_differ(self):
        self.assertNotEqual(self.scan("masked-marginals"), self.scan("wt-marginals"))

    def test_marginals_from_logits(self):
        """wt-marginals again, from the logits of a plain run."""
        scan = self.scan("wt-marginals")
        self.run_tiny("esm2", "wt.fasta", "--include", "logits", "-o", "l.npz")
        data = read_npz(self.path("l.npz"))["wt"][1]
        vocab = "LAGVSERTIDPKQNFYMHWC"
        for i, wild in enumerate(self.wild):
            row = data[i * VOCAB:(i + 1) * VOCAB]
            for m in vocab:
                want = row[4 + vocab.index(m)] - row[4 + vocab.index(wild)]
                self.assertAlmostEqual(scan[f"{wild}{i + 1}{m}"], want, delta=2e-5)

    def test_table_is_kept(self):
        text = "\ufeffname\tmutant\tnote\r\n\"a\tb\"\tM1A\tx\r\n\r\nc\tK2R\t\r\n"
        self.write("m.tsv", text)
        self.run_tiny("score", "esm2", "wt.fasta", "--mutations", "m.tsv", "-o", "out.tsv")
        lines = open(self.path("out.tsv"), "rb").read().decode().split("\r\n")
        for new, old in zip(lines, text.split("\r\n"), strict=True):
            self.assertTrue(new.startswith(old))
            self.assertEqual(new.count("\t") - old.count("\t"), 1 if old else 0)
        self.assertEqual(self.files(), ["in.fasta", "m.tsv", "out.tsv", "out.tsv.provenance.json",
                                        "wt.fasta"])

    def test_column_and_offset(self):
        self.write("m.csv", 'id,"the, mutation"\n1,M0A\n2,"K1R:T2S"\n')
        p = self.run_tiny("score", "esm2", "wt.fasta", "--mutations", "m.csv", "--mutation-col",
                          "the, mutation", "--offset-idx", "0")
        self.assertEqual(len(self.table(p.stdout)), 3)
        p = self.run_tiny("score", "esm2", "wt.fasta", "--mutations", "m.csv", "--mutation-col",
                          "the, mutation", code=1)
        self.assertIn("--offset 0", p.words)
        self.write("none.csv", "mutant\nW99A\n")  # no offset is better
        p = self.run_tiny("score", "esm2", "wt.fasta", "--mutations", "none.csv", code=1)
        self.assertNotIn("would match", p.words)
        self.write("m.csv", "mutant\nM101A\n")
        self.run_tiny("score", "esm2", "wt.fasta", "--mutations", "m.csv", "--offset", "101")

    def test_bad_rows(self):
        bad = ["A1G", "M1", "1A", "M99A", "M1A:", "", "M1?", "MM1A", "M1A:K9R",
               "M99999999999999999999A"]
        self.write("m.csv", "mutant,n\nM1A,0\n" + "".join(f"{m},{i}\n" for i, m in enumerate(bad)) +
                   "K2R,1\n")
        p = self.run_tiny("score", "esm2", "wt.fasta", "--mutations", "m.csv", code=1)
        rows = self.table(p.stdout)
        self.assertEqual(len(rows), len(bad) + 3)
        self.assertEqual([r[2] for r in rows[2:-1]], [""] * len(bad), rows)
        self.assertTrue(rows[1][2] and rows[-1][2])
        for i in range(len(bad)):
            self.assertIn(f"m.csv: line {i + 3}: ", p.words)
        self.check_fails(("score", "esm2", "wt.fasta", "--mutations", "m.csv", "--strict", "-o",
                          "o.csv", "--weights", TINY), 65, "m.csv: line 3: ")

    def test_rows_of_other_fields(self):
        """A comma without quotes, a field too few, a position twice: rows without a score."""
        self.write("m.csv", "mutant\nM1A:K2R\nM1A,K2R\n\"M1A,K2R\"\nK2R\n")
        self.write("two.csv", "# of a screen\n\nmutant,n\nM1A\nM1A,1,2\nK2A:K2C,3\nK2A:T3C,4\n")
        for name, scored, words in (
                ("m.csv", (1, 4), ("line 3: 2 fields, the header has 1",
                                   "line 4: mutation 'M1A,K2R'")),
                ("two.csv", (6,), ("line 4: 1 fields, the header has 2", "line 5: 3 fields, the ",
                                   "line 6: mutation 'K2A:K2C': position 2 is there twice"))):
            p = self.run_tiny("score", "esm2", "wt.fasta", "--mutations", name, code=1)
            old = open(self.path(name), encoding="ascii").read().splitlines()
            new = p.stdout.decode().splitlines()
            self.assertEqual(len(new), len(old))
            if name == "two.csv":
                self.assertEqual(new[:2], old[:2])
            for i, (a, b) in enumerate(zip(new, old, strict=True)):
                if i in scored:
                    self.assertRegex(a, "^" + b + r",-?\d+\.\d{6}$")
                elif b not in ("", "# of a screen", "mutant", "mutant,n"):
                    self.assertEqual(a, b + ",")
            for part in words:
                self.assertIn(name + ": " + part, p.words)

    def test_pppl(self):
        p = self.run_tiny("score", "esm2", "in.fasta", "--method", "pppl")
        rows = self.table(p.stdout, "\t")
        self.assertEqual(rows[0], ["id", "length", "pll", "pppl"])
        self.assertEqual([r[0] for r in rows[1:]], list(FASTA))
        for r in rows[1:]:
            self.assertLess(float(r[2]), 0)
            self.assertAlmostEqual(math.exp(-float(r[2]) / int(r[1])), float(r[3]), delta=1e-4)
            self.assertTrue(1 < float(r[3]) < 100)
        self.write("odd.fasta", ">j\nMKTJYIAK\n>x\nMKTXYIAK\n>a\nMKTAYIAK\n")  # J is read as X
        p = self.run_tiny("score", "esm2", "odd.fasta", "--method", "pppl")
        j, x, a = [r[2] for r in self.table(p.stdout, "\t")[1:]]
        self.assertEqual(j, x)
        self.assertNotEqual(j, a)

    def test_records_that_fail(self):
        self.write("bad.fasta", f">a\nMKTA\n>empty\n>c\nMK1A\n>d\n{FASTA['two']}\n")
        p = self.run_tiny("score", "esm2", "bad.fasta", "--method", "pppl", code=1)
        self.assertEqual([r[0] for r in self.table(p.stdout, "\t")[1:]], ["a", "d"])
        self.assertIn("empty", p.words)

    def test_bad_tables(self):
        score = ("score", "esm2", "wt.fasta", "--weights", TINY, "--mutations")
        self.check_fails(score + ("none.csv",), 66, "none.csv")
        self.check_fails(score + (self.dir,), 66)
        self.write("empty.csv", "")
        self.check_fails(score + ("empty.csv",), 65, "empty.csv")
        for text, words in (("mutant\n\n", "no row below the header"),
                            ('mutant\n"M1A\n', "line 2: a quote begins here that is not closed"),
                            ("mutant,mutant\nM1A,K2R\n", "line 1: two columns 'mutant'")):
            self.write("x.csv", text)
            self.check_fails(score + ("x.csv",), 65, words)
        self.check_fails(score + ("-",), 64, "standard input")
        self.write("col.csv", "a,b\nM1A,2\n")
        self.check_fails(score + ("col.csv",), 65, "mutant", "a,b")
        self.write("nul.csv", b"mutant\nM1A\0\n")
        self.check_fails(score + ("nul.csv",), 65)
        self.write("m.csv", "mutant\nM1A\n")
        self.check_fails(("score", "esm2", "in.fasta", "--weights", TINY, "--mutations", "m.csv"),
                         65, "second record")
        self.check_fails(score + ("m.csv", "-o", "no/out.csv"), 73, "no/out.csv")


if __name__ == "__main__":
    EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    TINY = os.path.join(ROOT, "share", "bioinfer-tiny")
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2, warnings="ignore")
