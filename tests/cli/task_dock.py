#!/usr/bin/env python3
"""task_dock.py BIOINFER SOURCE_ROOT BUILD_ROOT - drives `bioinfer dock` as a user does.

Networks are small, of tools/diffdock_weights.py. The path of samples through the networks is
compared with a statement of them by tests/golden/diffdock.c. Standard library only.
"""
import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

EXE = ROOT = ""
HEAD = ("id record rank confidence affinity seed sample ligand_atoms before moved clashes distance "
        "closest overlap internal checks status message").split()
FEW = ("--samples", "2", "--steps", "4", "--quiet")
SHARED = tempfile.TemporaryDirectory()


def shared(name):
    return os.path.join(SHARED.name, name)


def golden(*name):
    return os.path.join(ROOT, "tests", "golden", *name)


def read(path, mode="r"):
    with open(path, mode) as file:
        return file.read()


def run(*args, code=0, stdin=b"", cwd=None):
    p = subprocess.run([EXE, "dock", *args], input=stdin, capture_output=True, cwd=cwd)
    assert p.returncode == code, (args, p.returncode, p.stdout[-500:], p.stderr[-1500:])
    return p.stderr.decode()


def rows_of(folder):
    lines = [line.split("\t") for line in read(os.path.join(folder, "scores.tsv")).splitlines()]
    assert lines[0] == HEAD, lines[0]
    assert {len(line) for line in lines} == {len(HEAD)}, lines
    return [dict(zip(HEAD, line)) for line in lines[1:]]


def places(sdf):
    """Places of the atoms of each molecule of a text."""
    found = []
    for text in sdf.split("$$$$\n")[:-1]:
        lines = text.split("\n")
        found.append([tuple(map(float, line.split()[:3])) for line in
                      lines[4:4 + int(lines[3][:3])]])
    return found


def contents(folder):
    return {name: read(os.path.join(folder, name), "rb") for name in os.listdir(folder)}


def sdf(atoms, bonds, name="m"):
    """A molecule of (element, x, y, z) and (a, b, order)."""
    lines = [name, "", "", "%3d%3d  0  0  0  0  0  0  0  0999 V2000" % (len(atoms), len(bonds))]
    lines += ["%10.4f%10.4f%10.4f %-3s 0  0" % (x, y, z, e) for e, x, y, z in atoms]
    lines += ["%3d%3d%3d  0" % bond for bond in bonds]
    return "\n".join(lines + ["M  END", "$$$$", ""])


BUTANE = [("C", 0, 0, 0.1), ("C", 1.5, 0, 0), ("C", 2.1, 1.4, 0), ("C", 3.6, 1.4, 0.3)]
CHAIN = [(1, 2, 1), (2, 3, 1), (3, 4, 1)]
PROPANOL = [("O", 0, 0, 0.1), ("C", 1.4, 0, 0), ("C", 2.0, 1.4, 0), ("C", 3.5, 1.4, 0.3)]


def setUpModule():
    for name, more in (("v10", ()), ("v11", ("--release", "v1.1")), ("nan", ("--nan",)),
                       ("lm", ("--lm", "320"))):
        subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "diffdock_weights.py"),
                        shared(name), *more], check=True)
    with gzip.open(golden("rescore", "6moa.pdb.gz")) as file, open(shared("r.pdb"), "wb") as to:
        to.write(file.read())
    with open(shared("two.sdf"), "w", encoding="ascii") as file:
        file.write(sdf(BUTANE, CHAIN, "butane") + sdf(PROPANOL, CHAIN, "propanol"))


def weights(name, confidence=True):
    score = shared(os.path.join(name, "score.safetensors"))
    return score + ("," + shared(os.path.join(name, "confidence.safetensors"))
                    if confidence else "")


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name

    def path(self, name, content=None):
        path = os.path.join(self.dir, name)
        if content is not None:
            with open(path, "wb") as file:
                file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def dock(self, out, ligands, *more, net="v10", receptor=None, code=0, **other):
        out = self.path(out)
        words = run(receptor or shared("r.pdb"), ligands, "--weights", weights(net), *FEW, *more,
                    "-o", out, code=code, **other)
        return (out, words) if code in (64, 65, 66, 74) else (rows_of(out), contents(out))


class Poses(Folder):
    def test_ranks(self):
        """Poses stand by confidence, and what is written is what was rated."""
        for net in ("v10", "v11"):
            rows, files = self.dock(net, shared("two.sdf"), "--top", "2", net=net)
            self.assertEqual(set(files), {"butane.sdf", "propanol.sdf", "scores.tsv"})
            self.assertEqual([(r["id"], r["record"], r["rank"]) for r in rows],
                             [("butane", "1", "1"), ("butane", "1", "2"),
                              ("propanol", "2", "1"), ("propanol", "2", "2")])
            for a, b in (rows[:2], rows[2:]):
                self.assertGreaterEqual(float(a["confidence"]), float(b["confidence"]))
                self.assertEqual({a["sample"], b["sample"]}, {"0", "1"})
            p = subprocess.run([EXE, "rescore", shared("r.pdb"), "-", "--quiet"], check=True,
                               input=files["butane.sdf"] + files["propanol.sdf"],
                               capture_output=True)
            again = [line.split("\t") for line in p.stdout.decode().splitlines()]
            for row, line in zip(rows, again[1:]):
                line = dict(zip(again[0], line))
                for name in ("affinity", "clashes", "distance", "overlap", "internal", "checks"):
                    self.assertEqual(row[name], line[name], (net, name))
            text = files["butane.sdf"].decode()
            self.assertIn("> <confidence>\n%s\n" % rows[0]["confidence"], text)
            self.assertIn("> <rank>\n2\n", text)

    def test_alone_and_in_company(self):
        """A ligand has its poses wherever it stands, a sample whatever is drawn beside it, and
        both with any number of threads and workers."""
        rows, files = self.dock("a", shared("two.sdf"), "--top", "2", "--seeds", "0,5")
        alone, one = self.dock("b", self.path("p.sdf", sdf(PROPANOL, CHAIN, "propanol")),
                               "--top", "2", "--seeds", "0,5", "--threads", "1")
        self.assertEqual(one["propanol.sdf"], files["propanol.sdf"])
        self.assertEqual([{**r, "record": ""} for r in rows[2:]],
                         [{**r, "record": ""} for r in alone])
        three, _ = self.dock("c", shared("two.sdf"), "--samples", "3", "--top", "3")
        two, _ = self.dock("d", shared("two.sdf"), "--top", "2")
        by_sample = {(r["id"], r["sample"]): {**r, "rank": ""} for r in three}
        for r in two:
            self.assertEqual({**r, "rank": ""}, by_sample[r["id"], r["sample"]])
        _, pooled = self.dock("e", shared("two.sdf"), "--top", "2", "--seeds", "0,5", "--workers",
                              "2")
        self.assertEqual(pooled, files)

    def test_minimize(self):
        rows, _ = self.dock("a", shared("two.sdf"), "--top", "2")
        lower, files = self.dock("b", shared("two.sdf"), "--top", "2", "--minimize")
        for a, b in zip(rows, lower):
            self.assertEqual((a["affinity"], a["confidence"]), (b["before"], b["confidence"]))
            self.assertLessEqual(float(b["affinity"]), float(b["before"]) + 1e-6)
        self.assertTrue(any(float(r["moved"]) > 0.1 for r in lower))
        self.assertEqual(len(places(files["butane.sdf"].decode())), 2)

    def test_without_confidence(self):
        """Vina's energy ranks then."""
        out = self.path("a")
        run(shared("r.pdb"), shared("two.sdf"), "--weights", weights("v10", False), *FEW, "--top",
            "2", "-o", out)
        rows = rows_of(out)
        self.assertEqual({r["confidence"] for r in rows}, {""})
        for a, b in (rows[:2], rows[2:]):
            self.assertLessEqual(float(a["affinity"]), float(b["affinity"]))

    def test_bonds_are_kept(self):
        _, files = self.dock("a", shared("two.sdf"))
        place, = places(files["butane.sdf"].decode())
        for a, b, _ in CHAIN:
            length = lambda x: sum((p - q) ** 2 for p, q in zip(x[a - 1], x[b - 1])) ** .5
            self.assertAlmostEqual(length(place), length([x[1:] for x in BUTANE]), 3)

    def test_recorded_noise(self):
        """Random numbers of a file take the place of a seed's; another ligand wants another
        number of them."""
        noise = golden("dock", "noise_v1.0.npz")
        ligand = golden("dock", "ligand.sdf")
        rows, first = self.dock("a", ligand, "--reference-noise", noise)
        again, second = self.dock("b", ligand, "--reference-noise", noise, "--seed", "7")
        other, _ = self.dock("d", ligand)
        self.assertEqual([{**r, "seed": ""} for r in rows], [{**r, "seed": ""} for r in again])
        self.assertEqual(*(places(files["molecule_1.sdf"].decode()) for files in (first, second)))
        self.assertNotEqual(rows[0]["affinity"], other[0]["affinity"])
        rows, _ = self.dock("c", shared("two.sdf"), "--reference-noise", noise, code=1)
        self.assertIn("numbers of noise a step", rows[0]["message"])


class Runs(Folder):
    def test_resume_and_shards(self):
        ligands = self.path("l.sdf", "".join(sdf(BUTANE[:n], CHAIN[:n - 1], "m%d" % n)
                                             for n in (4, 3, 2, 1)))
        rows, whole = self.dock("whole", ligands)
        self.assertEqual([r["status"] for r in rows], 4 * ["ok"])
        out = self.path("parts")
        for i in (2, 1):
            run(shared("r.pdb"), ligands, "--weights", weights("v10"), *FEW, "--shard",
                "%d/2" % i, "-o", out)
        subprocess.run([EXE, "merge", out], check=True, capture_output=True)
        self.assertEqual(contents(out), whole)
        again, files = self.dock("again", ligands, "--resume")
        self.assertEqual((again, files), (rows, whole))

    def test_pairs(self):
        self.path("b.sdf", sdf(BUTANE, CHAIN))
        table = self.path("pairs.csv", "complex_name,protein_path,ligand_description\n"
                          f"one,{shared('r.pdb')},b.sdf\ntwo,{shared('r.pdb')},none.sdf\n"
                          f"three,none.pdb,b.sdf\nfour,{shared('r.pdb')},b.sdf\n")
        out = self.path("out")
        run(table, "--weights", weights("v10"), *FEW, "-o", out, code=1)
        rows = rows_of(out)
        self.assertEqual([(r["id"], r["status"]) for r in rows],
                         [("one", "ok"), ("two", "not_found"), ("three", "not_found"),
                          ("four", "ok")])
        self.assertEqual(rows[0]["affinity"], rows[3]["affinity"])
        self.assertIn("none.pdb", rows[2]["message"])
        _, files = self.dock("screen", os.path.join(self.dir, "b.sdf"))
        self.assertEqual(files["m.sdf"], contents(out)["one.sdf"])

    def test_equal_names(self):
        rows, files = self.dock("a", self.path("l.sdf", sdf(BUTANE, CHAIN) + sdf(PROPANOL, CHAIN)))
        self.assertEqual(set(files), {"m.sdf", "m_2.sdf", "scores.tsv"})
        self.assertEqual([r["record"] for r in rows], ["1", "2"])

    def test_language_model(self):
        """The embeddings of the language model that comes with bioinfer, which are 320 wide."""
        rows, _ = self.dock("a", shared("two.sdf"), "--esm", "tiny", net="lm")
        self.assertEqual([r["status"] for r in rows], ["ok", "ok"])
        _, err = self.dock("c", shared("two.sdf"), net="lm", code=64)
        self.assertIn("embeddings of 320 columns", err)
        other, _ = self.dock("b", shared("two.sdf"))
        self.assertNotEqual(rows[0]["confidence"], other[0]["confidence"])

    def test_other_language_model(self):
        """A folder whose weights change between two shards gives no one output."""
        folder, out = self.path("model"), self.path("out")
        shutil.copytree(os.path.join(ROOT, "share", "bioinfer-tiny"), folder)
        for i in (1, 2):
            run(shared("r.pdb"), shared("two.sdf"), "--weights", weights("lm"), *FEW, "--esm",
                folder, "--shard", "%d/2" % i, "-o", out)
            with open(os.path.join(folder, "model.safetensors"), "r+b") as file:
                file.seek(-4, 2)
                file.write(b"\0\0\0\x3f")
        done = subprocess.run([EXE, "merge", out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 65, done.stderr)
        self.assertIn("an option was 'language=", done.stderr)


class Refusals(Folder):
    def test_ligands(self):
        """Each has a row with its reason, and the others are docked."""
        line = lambda n: [(i, i + 1, 1) for i in range(1, n)]
        chain = lambda n: [("C", 1.2 * i, i % 2, .1 * i) for i in range(n)]
        flat = [(e, x, y, 0) for e, x, y, _ in BUTANE]
        cases = ((sdf(BUTANE, CHAIN, "good"), "ok", ""),
                 (sdf(flat, CHAIN, "flat"), "bad_format", "a conformer is needed"),
                 (sdf(BUTANE, CHAIN[:1] + CHAIN[2:], "salt"), "unsupported", "several parts"),
                 (sdf([("N", 0, 0, 1), ("Zn", 2, 0, 0)], [(1, 2, 9)], "dative"), "unsupported",
                  "dative bond"),
                 (sdf(chain(151), line(151), "large"), "limit", "151 atoms"),
                 (sdf(chain(66), line(66), "long"), "limit", "more than 60 bonds"),
                 (sdf([("C", 0, 0, 1)], [], "atom"), "ok", ""),
                 (sdf([("H", 0, 0, 1), ("H", .7, 0, 0)], [(1, 2, 1)], "h2"), "empty", "heavier"),
                 ("broken\n\n\n  x  y\nM  END\n$$$$\n", "bad_format", "l.sdf"),
                 (sdf([("Ni", 0, 0, 1)], [], "nickel"), "ok", ""),
                 (sdf(BUTANE, CHAIN, "good"), "ok", ""))
        rows, files = self.dock("a", self.path("l.sdf", "".join(text for text, *_ in cases)),
                                code=1)
        self.assertEqual(len(rows), len(cases))
        for row, (_, status, words) in zip(rows, cases):
            self.assertEqual(row["status"], status, row)
            self.assertIn(words, row["message"])
            self.assertEqual(row["rank"], "1" if status == "ok" else "")
        self.assertIn("good_2.sdf", files)
        self.assertEqual({**rows[0], "record": ""}, {**rows[-1], "record": ""})

    def test_scores_that_are_not_finite(self):
        rows, files = self.dock("a", shared("two.sdf"), net="nan", code=1)
        self.assertEqual([r["status"] for r in rows], ["nan", "nan"])
        self.assertIn("none of 2 samples", rows[0]["message"])
        self.assertEqual(set(files), {"scores.tsv"})

    def test_receptors(self):
        lines = read(shared("r.pdb")).splitlines()
        atoms = [line for line in lines if line.startswith("ATOM")]
        first = [line for line in atoms if line[17:27] == atoms[0][17:27]]
        for name, text, code, words in (
                ("none.pdb", None, 66, "none.pdb"),
                ("empty.pdb", "END\n", 65, "empty.pdb"),
                ("one.pdb", "\n".join(first), 64, "one.pdb: a single residue"),
                ("water.pdb", "\n".join(line[:17] + "HOH" + line[20:] for line in atoms), 65,
                 "water.pdb: no residue of a protein"),
                ("far.pdb", atoms[0][:30] + "20000.00" + atoms[0][38:] + "\n" +
                 "\n".join(atoms[1:]), 65, "beyond")):
            path = self.path(name, text)
            _, err = self.dock("o", shared("two.sdf"), receptor=path, code=code)
            self.assertIn(words, err)

    def settings(self, change, code, net="v10"):
        """Words about a score.yml with lines changed."""
        text = read(shared(os.path.join(net, "score.yml")))
        path = self.path("changed.yml", change(text))
        out = self.path("out")
        return run(shared("r.pdb"), shared("two.sdf"), "--weights", weights(net, False),
                   "--settings", path, *FEW, "-o", out, code=code)

    def test_settings(self):
        add = lambda line: lambda text: text + line + "\n"
        put = lambda old, new: lambda text: text.replace(old, new)
        for change, code, words in (
                (put("ns: 8\n", ""), 65, "no setting ns"),
                (put("ns: 8\n", "ns: eight\n"), 65, "line 15: ns is 'eight', expected a whole"),
                (put("ns: 8\n", "ns: 8.5\n"), 65, "expected a whole number from 1 to 128"),
                (put("ns: 8\n", "ns: 9\n"), 65, "expected ["),
                (put("ns: 8\n", "ns: 8\nns: 8\n"), 65, "line 16: a key that comes twice"),
                (put("ns: 8\n", "ns: \x01\n"), 65, "line 15: a control character"),
                (put("all_atoms: false", "all_atoms: true"), 65, "settings of other weights"),
                (put("remove_hs: true", "remove_hs: false"), 64, "remove_hs is 'false'"),
                (put("tr_sigma_max: 3.0", "tr_sigma_max: 0.05"), 65, "more than the least noise"),
                (put("max_radius: 5.0", "max_radius: -5.0"), 65, "max_radius is '-5.0'"),
                (put("embeddings_path: null", "embeddings_path: a.pt"), 65, "no tensor rec_node"),
                (add("use_second_order_repr: true"), 64, "this is not computed"),
                (add("crop_beyond: 20.0"), 64, "crop_beyond is '20.0'")):
            self.assertIn(words, self.settings(change, code))
        out = self.path("named")
        path = self.path("more.yml", read(shared("v10/score.yml")) + "new_key: 1\nother: x\n")
        err = run(shared("r.pdb"), shared("two.sdf"), "--weights", weights("v10", False),
                  "--settings", path, "--samples", "1", "--steps", "3", "-o", out)
        self.assertEqual(err.count("2 settings are not known and not used: new_key, other"), 1)

    def test_weights(self):
        score, confidence = weights("v10").split(",")
        both = self.path("both.pt", b"none")
        for given, code, words in (
                (confidence + "," + score, 65, "SCORE,CONFIDENCE"),
                (score + "," + score, 65, "SCORE,CONFIDENCE"),
                (self.path("none.pt"), 66, "its settings are needed"),
                (",".join(3 * [score]), 65, "two files at most"),
                (both, 66, "model_parameters.yml")):
            out = self.path("out")
            p = subprocess.run([EXE, "dock", shared("r.pdb"), shared("two.sdf"), "--weights", given,
                                *FEW, "-o", out], capture_output=True, text=True)
            self.assertIn(words, p.stderr)
            self.assertGreaterEqual(p.returncode, 64, given)

    def test_usage(self):
        for args, words in (
                ((), "RECEPTOR"), (("--samples", "0"), "--samples"),
                (("--steps", "2"), "--steps"), (("--seeds", "1,1"), "comes twice"),
                (("-o", self.path("out.sdf")), "the output is a folder"),
                (("--convention", "v2"), "v1.0"), (("-o", "-"), "name it with -o")):
            p = subprocess.run([EXE, "dock", *((shared("r.pdb"), shared("two.sdf")) if args else
                                               ()), "--weights", weights("v10"), "-o",
                                self.path("out"), *args], capture_output=True, text=True)
            self.assertIn(words, p.stderr)
            self.assertGreaterEqual(p.returncode, 64)
        err = run(shared("r.pdb"), shared("two.sdf"), "-o", self.path("o"), code=64)
        self.assertIn("--weights SCORE", err)
        _, err = self.dock("o", self.path("l.smi", "CCO ethanol\n"), code=65)
        self.assertIn("bioinfer.conformers", err)


if __name__ == "__main__":
    EXE, ROOT = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
    sys.argv.pop(1)
    unittest.main(verbosity=2)
