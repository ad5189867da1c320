#!/usr/bin/env python3
"""test_fold.py BIOINFER SOURCE_ROOT - drives `bioinfer fold` as a user does.

Numbers are compared with the published program in tests/golden/fold.c. Standard library only.
"""
import glob
import gzip
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zipfile

EXE = ROOT = ""
H = ("EVQLVESGGGLVQPGGSLRLSCAASGFNIKDTYIHWVRQAPGKGLEWVARIYPTNGYTRYADSVKGRFTISADTSKNTAYLQMNSLRAEDT"
     "AVYYCSRWGGDGFYAMDYWGQGTLVTVSS")
L = ("DIQMTQSPSSLSASVGDRVTITCRASQDVNTAVAWYQQKPGKAPKLLIYSASFLYSGVPSRFSGSRSGTDFTLTISSLQPEDFATYYCQQH"
     "YTTPPTFGQGTKVEIK")


def setUpModule():
    global FOLDER, WEIGHTS
    FOLDER = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(FOLDER.cleanup)
    WEIGHTS = os.path.join(ROOT, "share", "flashabb", "flashabb.safetensors")


def path(name):
    return os.path.join(FOLDER.name, name)


def write(name, *records):
    """A FASTA file of (id, sequence)."""
    with open(path(name), "w", encoding="utf-8") as file:
        for record in records:
            file.write(">%s\n%s\n" % record)
    return path(name)


def run(*args, code=0, stdin=""):
    p = subprocess.run([EXE, *args], input=stdin.encode(), capture_output=True)
    assert code == p.returncode, (args, p.returncode, p.stdout[-500:], p.stderr[-1500:])
    return p.stderr.decode()


def fold(source, out, *args, code=0, stdin=""):
    return run("flashabb", source, "-o", path(out), "--device", "cpu", "--threads", "1", *args,
               code=code, stdin=stdin)


def files(name):
    """{name: bytes} of a folder."""
    found = {}
    for file in sorted(os.listdir(path(name))):
        with open(os.path.join(path(name), file), "rb") as data:
            found[file] = data.read()
    return found


def table(text):
    lines = [line.split("\t") for line in text.decode().splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def manifest(name):
    with open(path(name) + ".manifest.tsv", "rb") as file:
        return {row["id"]: row for row in table(file.read())}


def mutants(n):
    """Pairs that differ in a residue each, and in their lengths."""
    return [("m%d" % i, H[:30] + "ACDEFGHIKL"[i % 10] + H[31:len(H) - i % 3] + ":" + L)
            for i in range(n)]


class Outputs(unittest.TestCase):
    def test_files(self):
        """A folder has a file of each structure and a table; arrays where they are asked for."""
        source = write("three.fasta", ("r1", H + ":" + L), ("r2", H.lower() + "|" + L),
                       ("three_H", H), ("three_L", L))
        fold(source, "cif/")
        fold(source, "pdb", "--format", "pdb", "--include", "plddt")
        fold(source, "npz", "--format", "npz")
        cif, pdb, npz = files("cif"), files("pdb"), files("npz")
        names = ["r1", "r2", "three"]
        self.assertEqual(list(cif), ["r1.cif", "r2.cif", "scores.tsv", "three.cif"])
        self.assertEqual(sorted(pdb), sorted([n + s for n in names for s in (".npz", ".pdb")] +
                                             ["scores.tsv"]))
        self.assertEqual(list(npz), ["r1.npz", "r2.npz", "scores.tsv", "three.npz"])
        self.assertEqual(cif["scores.tsv"], pdb["scores.tsv"])
        rows = table(cif["scores.tsv"])
        self.assertEqual([row["id"] for row in rows], ["r1", "r2", "three"])
        for row in rows:
            self.assertEqual((row["chains"], row["chain_lengths"], row["length"], row["sample"]),
                             ("H,L", "120,107", "227", "0"))
            self.assertAlmostEqual(float(row["plddt"]), 0.945, delta=2e-3)
        self.assertEqual(cif["r1.cif"].replace(b"r1", b"r2"), cif["r2.cif"])
        atoms = [line for line in pdb["r1.pdb"].decode().splitlines() if line[:4] == "ATOM"]
        self.assertEqual({line[21] for line in atoms}, {"H", "L"})
        self.assertEqual(atoms[0][12:26], " N   GLU H   1")
        with zipfile.ZipFile(os.path.join(path("npz"), "r1.npz")) as arrays:
            self.assertEqual(arrays.namelist(), ["plddt.npy", "coordinates.npy"])
            plddt, places = arrays.read("plddt.npy"), arrays.read("coordinates.npy")
        self.assertIn(b"'shape': (227,)", plddt[:128])
        self.assertIn(b"'shape': (227, 37, 3)", places[:128])
        first = struct.unpack_from("<f", plddt, 10 + struct.unpack_from("<H", plddt, 8)[0])[0]
        self.assertAlmostEqual(100 * first, float(atoms[0][60:66]), delta=0.006)
        ca = struct.unpack_from("<3f", places, 10 + struct.unpack_from("<H", places, 8)[0] + 12)
        for x, text in zip(ca, (atoms[1][30:38], atoms[1][38:46], atoms[1][46:54])):
            self.assertAlmostEqual(x, float(text), delta=6e-4)

    def test_correction(self):
        source = write("one.fasta", ("one", H + ":" + L))
        fold(source, "with")
        fold(source, "without", "--no-dlc")
        self.assertNotEqual(files("with")["one.cif"], files("without")["one.cif"])

    def test_weights(self):
        """The command without a model's name finds the family by the weights."""
        source = write("w.fasta", ("one", H + ":" + L))
        fold(source, "by-name")
        run("fold", source, "--weights", WEIGHTS, "-o", path("by-weights"), "--device", "cpu")
        self.assertEqual(files("by-name"), files("by-weights"))

    def test_standard_input(self):
        fold("-", "stdin", stdin=">a\n%s:%s\n" % (H, L))
        self.assertEqual(list(files("stdin")), ["a.cif", "scores.tsv"])


class Jobs(unittest.TestCase):
    def test_equal_bytes(self):
        """Batches, workers, shards and their merge give the bytes of one run."""
        source = write("many.fasta", *mutants(9))
        fold(source, "whole", "--include", "plddt,coordinates")
        whole = files("whole")
        self.assertEqual(len(whole), 19)
        fold(source, "small", "--include", "plddt,coordinates", "--batch-tokens", "230")
        self.assertEqual(files("small"), whole)
        fold(source, "workers", "--include", "coordinates,plddt", "--workers", "2")
        self.assertEqual(files("workers"), whole)
        for i in ("2/3", "1/3", "3/3"):
            fold(source, "shards", "--include", "plddt,coordinates", "--shard", i)
        run("merge", path("shards"))
        self.assertEqual(files("shards"), whole)
        with open(path("whole.manifest.tsv"), "rb") as a, open(path("shards.manifest.tsv"),
                                                               "rb") as b:
            self.assertEqual(a.read(), b.read())

    def test_shards_of_other_options(self):
        source = write("few.fasta", *mutants(4))
        fold(source, "mixed", "--shard", "1/2")
        fold(source, "mixed", "--shard", "2/2", "--no-dlc")
        said = run("merge", path("mixed"), code=65)
        has, other = ("0", "1") if "mixed.part-1-of-2: this journal" in said else ("1", "0")
        self.assertIn("was 'no-dlc=" + has, said)
        self.assertIn("now 'no-dlc=" + other, said)

    def test_resume(self):
        """A run that is killed goes on, and gives the bytes of one that was not."""
        source = write("long.fasta", *mutants(60))
        fold(source, "undisturbed")
        args = [EXE, "flashabb", source, "-o", path("killed"), "--device", "cpu", "--threads", "1",
                "--batch-tokens", "460", "--resume"]
        journal = os.path.join(path("killed.part"), "journal")
        with subprocess.Popen(args, stderr=subprocess.DEVNULL) as p:
            end = time.time() + 100
            while p.poll() is None and time.time() < end and not (
                    os.path.exists(journal) and os.path.getsize(journal) > 300):
                time.sleep(0.01)
            p.send_signal(signal.SIGTERM)
        self.assertFalse(os.path.exists(path("killed")))
        said = fold(source, "killed", "--resume")
        self.assertLess(int(said.split(" structures")[0].split()[-1]), 60)
        self.assertEqual(files("killed"), files("undisturbed"))
        self.assertFalse(os.path.exists(path("killed.part")))

    def test_folder_in_the_way(self):
        source = write("way.fasta", ("one", H + ":" + L))
        os.mkdir(path("way"))
        said = fold(source, "way", code=73)
        self.assertIn("there already", said)
        self.assertEqual(os.listdir(path("way")), [])


class Refusals(unittest.TestCase):
    def test_records(self):
        """Each bad record is named with its reason, and costs the others nothing."""
        bad = {"empty_light": (H + ":", "empty", "chain 2 has no residues"),
               "two_colons": (H + "::" + L, "empty", "chain 2 has no residues"),
               "alone": (H, "unsupported", "1 chain"),
               "three": (H + ":" + L + ":" + L, "unsupported", "3 chains"),
               "one_residue": (H + ":D", "unsupported", "chain 2 has 1 residue"),
               "stop": (H + "*:" + L, "bad_residue", "chain 1, residue 121 is '*'"),
               "letter": (H + ":" + L[:9] + "U" + L[10:], "bad_residue",
                          "chain 2, residue 10 is 'U'"),
               "digit": (H + "7:" + L, "bad_residue", "'7'"),
               "dna": ("ACGT" * 30 + ":" + L, "bad_residue", "looks like DNA"),
               "whole": (H * 40 + ":" + L, "too_long", "chain 1 has 4800 residues"),
               "lone_H": (H, "unsupported", "no record 'lone_L' follows it"),
               "other_L": (L, "unsupported", "no record 'other_H'")}
        source = write("bad.fasta", *((name, text) for name, (text, _, _) in bad.items()),
                       ("good", H.replace("W", "X") + ":" + L))
        fold(source, "bad", code=1)
        self.assertEqual(list(files("bad")), ["good.cif", "scores.tsv"])
        self.assertIn(b"UNK", files("bad")["good.cif"])
        found = manifest("bad")
        for name, (_, status, words) in bad.items():
            self.assertEqual(found[name]["status"], status, name)
            self.assertIn(words, found[name]["message"])
        self.assertEqual(found["good"]["status"], "ok")

    def test_any_length(self):
        source = write("short.fasta", ("short", "EVQ:DIQ"))
        fold(source, "short", code=1)
        fold(source, "short-forced", "--any-length")
        self.assertIn("short.cif", files("short-forced"))

    def test_memory(self):
        source = write("large.fasta", ("large", H * 40 + ":" + L), ("fits", H + ":" + L))
        said = fold(source, "large", "--any-length", "--memory-limit", "40", code=1)
        self.assertIn("MiB beside the weights, 40.0 MiB are allowed", said)
        self.assertEqual(list(files("large")), ["fits.cif", "scores.tsv"])

    def test_names(self):
        """Equal names are found before anything is computed."""
        source = write("twice.fasta", ("a", H + ":" + L), ("a_H", H), ("a_L", L))
        said = fold(source, "twice", code=65)
        self.assertIn("'a'", said)
        self.assertFalse(glob.glob(path("twice*") + "/"))
        fold(source, "suffixed", "--dup-ids", "suffix")
        self.assertEqual(list(files("suffixed")), ["a.cif", "a_2.cif", "scores.tsv"])

    def test_tables(self):
        """Rows with a heavy and a light chain, as repertoires come."""
        fold(write("w.fasta", ("one", H + ":" + L), ("two", H[:-1] + ":" + L)), "rows_want")
        want = files("rows_want")

        def table_of(name, text):
            with (gzip.open if name.endswith("gz") else open)(path(name), "wt") as file:
                file.write(text)
            return path(name)
        rows = [("one", H, L), ("two", H[:-1], L)]
        oas = "sequence_id_heavy,v_call_heavy,sequence_alignment_aa_heavy," \
            "sequence_alignment_aa_light\n"
        for name, text in (
                ("a.csv", "id,heavy,light\n" + "".join("%s,%s,%s\n" % r for r in rows)),
                ("a.tsv", "VL\tnote\tVH\tID\n" + "".join(f"{v}\t-\t{h}\t{i}\n"
                                                          for i, h, v in rows)),
                ("oas.csv.gz", '"{""Run"": ""SRR1"", ""Species"": ""human""}"\n' + oas +
                 "".join(f"{i},IGHV1,{h},{v}\n" for i, h, v in rows))):
            fold(table_of(name, text), "rows_" + name[:3])
            self.assertEqual(files("rows_" + name[:3]), want, name)
        fold(table_of("noid.csv", "heavy,light\n%s,%s\n" % (H, L)), "rows_noid")
        self.assertEqual(files("rows_noid")["row_1.cif"].replace(b"row_1", b"one"), want["one.cif"])
        bad = "id,heavy,light\nx,%s,\ny,,%s\nz,%s\nw,%s:%s,%s\nu,%sJ,%s\none,%s,%s\n" % (
            H, L, H, H, L, L, H, L, H, L)
        fold(table_of("bad.csv", bad), "rows_bad", code=1)
        self.assertEqual(files("rows_bad")["one.cif"], want["one.cif"])
        for i, words in (("x", "bad.csv: line 2: the light chain is missing"),
                         ("y", "bad.csv: line 3: the heavy chain is missing"),
                         ("row_3", "bad.csv: line 4: 2 fields"),
                         ("w", "line 5: the heavy chain has ':' or '|'"), ("u", "is 'J'")):
            self.assertIn(words, manifest("rows_bad")[i]["message"], i)
        said = fold(table_of("odd.csv", "name,sequence\na,%s\n" % H), "rows_odd", code=65)
        self.assertIn("odd.csv: line 1: no columns of chains, expected heavy and light", said)
        self.assertIn("two columns", fold(table_of("dup.csv", "heavy,light,Heavy\n%s,%s,%s\n" %
                                                   (H, L, H)), "rows_dup", code=65))
        for i in (1, 2):
            fold(path("a.csv"), "rows_cut", "--shard", "%d/2" % i)
        run("merge", path("rows_cut"))
        self.assertEqual(files("rows_cut"), want)

    def test_options(self):
        source = write("o.fasta", ("one", H + ":" + L))
        for args, words in ((("--steps", "3"), "draws nothing, so it has no steps"),
                            (("--samples", "3"), "draws nothing, so it has no samples"),
                            (("--seed", "3"), "draws nothing, so it has no seeds"),
                            (("--recycles", "3"), "folds in one pass"),
                            (("--friction", "3"), "--friction does not belong"),
                            (("--cycles", "3"), "folds in one pass"),
                            (("--format", "xyz"), "cif (mmcif), pdb or npz"),
                            (("--include", "mean"), "not one of plddt, coordinates, pae"),
                            (("--include", "pae"), "pae")):
            self.assertIn(words, fold(source, "o", *args, code=64), args)
        self.assertIn("is a folder", fold(source, "o.pdb", code=64))
        self.assertIn("name it with -o", run("flashabb", source, code=64))
        self.assertIn("'plddt' is not one of",
                      run("esm2", source, "--include", "plddt", "-o", path("o.npz"), code=64))

    def test_other_weights(self):
        source = write("other.fasta", ("one", H + ":" + L))
        tiny = os.path.join(ROOT, "share", "bioinfer-tiny")
        self.assertIn("no flashabb weights", fold(source, "o", "--weights", tiny, code=78))
        said = run("fold", source, "--weights", tiny, "-o", path("o"), code=64)
        self.assertIn("folds no chains", said)
        said = run("embed", source, "--weights", WEIGHTS, "-o", path("o.npz"), code=64)
        self.assertIn("takes no sequences of residues", said)

    def test_nan(self):
        """Weights that are not finite give no structure, and are refused where they are checked."""
        with open(WEIGHTS, "rb") as file:
            data = bytearray(file.read())
        size = struct.unpack("<Q", data[:8])[0]
        at = json.loads(data[8:8 + size])["model.linear_in_node.bias"]["data_offsets"][0]
        data[8 + size + at:12 + size + at] = struct.pack("<f", float("nan"))
        with open(path("nan.safetensors"), "wb") as file:
            file.write(data)
        source = write("nan.fasta", ("one", H + ":" + L))
        weights = ("--weights", path("nan.safetensors"))
        said = fold(source, "nan", *weights, code=1)
        self.assertIn("one: no structure: nan", said)
        self.assertEqual(list(files("nan")), ["scores.tsv"])
        said = fold(source, "checked", *weights, "--check-weights", code=78)
        self.assertIn("linear_in_node.bias", said)


if __name__ == "__main__":
    EXE, ROOT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
