#!/usr/bin/env python3
"""test_energy.py BIOINFER SOURCE_ROOT - drives `bioinfer tensornet` as a user does.

Numbers to compare with are MatGL's in float64 (tools/golden_tensornet.py), with weights by a
formula and, where $BIOINFER_DATA has them, trained ones; and those that torchmd-net's own classes
gave in float64. Standard library only.
"""
import ast
import itertools
import json
import math
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

EXE = ROOT = ""
GPA = 160.2176634
LAUNCHES = 106  # two layers, forces, and five that find the edges


def setUpModule():
    global FOLDER, GOLDEN
    sys.path.insert(0, os.path.join(ROOT, "tools"))
    sys.dont_write_bytecode = True
    import tensornet_weights
    FOLDER = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(FOLDER.cleanup)
    tensornet_weights.write_matgl(path("formula"))
    tensornet_weights.write_matgl(path("formula-dgl"), "1-dgl")
    tensornet_weights.write_matgl(path("formula-2"), "2")
    tensornet_weights.write_torchmd(path("o3.ckpt"))
    tensornet_weights.write_torchmd(path("so3.ckpt"), True)
    with open(os.path.join(ROOT, "tests", "golden", "tensornet", "golden.json")) as file:
        GOLDEN = json.load(file)


def path(name):
    return os.path.join(FOLDER.name, name)


def run(*args, code=0, stdin="", preexec_fn=None):
    p = subprocess.run([EXE, *args], input=stdin.encode(), capture_output=True,
                       preexec_fn=preexec_fn)
    assert code in (p.returncode, None), (args, p.returncode, p.stdout[-500:], p.stderr[-1500:])
    return p.stdout.decode(), p.stderr.decode()


def rows(text):
    lines = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(lines[0], line)) for line in lines[1:]]


def xyz(frame, more=""):
    """The text of a frame as golden.json has it."""
    words = ""
    if frame["cell"]:
        words = 'Lattice="%s" ' % " ".join(repr(x) for row in frame["cell"] for x in row)
    words += 'Properties=species:S:1:pos:R:3 pbc="%s"' % " ".join("FT"[p] for p in frame["pbc"])
    atoms = "".join("%s %r %r %r\n" % (s, *p)
                    for s, p in zip(frame["symbols"], frame["positions"]))
    return "%d\n%s %s\n%s" % (len(frame["symbols"]), words, more, atoms)


def lines(text, *args, model="formula", code=0):
    """Results as objects, with forces and stress."""
    out, _ = run("tensornet", "-", "--weights", path(model), "--device", "cpu", "--format", "jsonl",
                 "--forces", "--stress", *args, stdin=text, code=code)
    return [json.loads(line) for line in out.splitlines()]


def content(name):
    with open(path(name), "rb") as file:
        return file.read()


def read_npz(name):
    """Members of an npz: (type, shape, values one behind the other), or text."""
    found = {}
    with zipfile.ZipFile(path(name)) as archive:
        assert archive.testzip() is None
        for member in archive.namelist():
            data = archive.read(member)
            if not member.endswith(".npy"):
                found[member] = data.decode()
                continue
            end = 10 + struct.unpack("<H", data[8:10])[0]
            head = ast.literal_eval(data[10:end].decode())
            kind, n = head["descr"], math.prod(head["shape"])
            letter = {"<f8": "d", "<f4": "f", "<i8": "q", "<i4": "i"}.get(kind, kind[2:] + "s")
            values = list(struct.iter_unpack("<" + letter, data[end:]))
            assert len(values) == n and not head["fortran_order"]
            found[member[:-4]] = kind, head["shape"], [v for v, in values]
    return found


def read_extxyz(name):
    """Frames of an output: words of the comment, and columns of each atom."""
    found = []
    with open(path(name)) as file:
        for line in file:
            words = next(file)
            words = {k: a or b for k, a, b in re.findall(r'(\w+)=(?:"([^"]*)"|(\S+))', words)}
            found.append((words, [next(file).split() for _ in range(int(line))]))
    return found


def voigt(s):
    return [GPA / 2 * (s[a][b] + s[b][a])
            for a, b in ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))]


class Energies(unittest.TestCase):
    def test_dry_run(self):
        """Frames are counted and measured, and nothing is written."""
        frame = "2\n\n%s 0 0 0\nH 0.9 0 0\n"
        text = frame % "O" + frame % "Xx" + frame % "U" + frame % "H"
        out, said = run("tensornet", "-", "--weights", path("formula"), "--dry-run", "-o",
                        path("dry.npz"), stdin=text)
        told = dict(line.split("\t") for line in out.splitlines())
        self.assertEqual(list(told), ["records", "unusable", "model", "device", "memory", "batches",
                                      "no result", "time"])
        self.assertEqual((told["records"], told["unusable"], told["no result"]),
                         ("4", "1", "1 of 3 measured"))
        self.assertRegex(said, "Xx")
        self.assertEqual(len(re.findall("no result: .*U", said)), 1, said)
        self.assertFalse(os.path.exists(path("dry.npz")))

    def compare(self, model, names, energy, force):
        golden = GOLDEN["golden"][model]
        got = lines("".join(xyz(GOLDEN["frames"][n]) for n in names), model=model)
        self.assertEqual(len(got), len(names))
        for name, g in zip(names, got):
            want = golden[name]
            refs = want["energy"] - want["network"]
            self.assertAlmostEqual(g["energy"] - refs, want["network"], delta=energy, msg=name)
            for a, b in zip(g["forces"], want["forces"], strict=True):
                for x, y in zip(a, b, strict=True):
                    self.assertAlmostEqual(x, y, delta=force, msg=name)
            self.assertLess(max(abs(sum(c)) for c in zip(*g["forces"])), 1e-5)
            self.assertEqual("stress" in g, "stress" in want)
            for x, y in zip(g.get("stress", []), voigt(want["stress"]) if "stress" in g else [],
                            strict=True):
                self.assertAlmostEqual(x, y, delta=GPA * force / 10, msg=name)

    def test_more_edges_than_guessed(self):
        # 42 pairs an atom are more than are guessed, but there is room for them
        dice, a = random.Random(1), 3.5
        cell = [[0, a / 2, a / 2], [a / 2, 0, a / 2], [a / 2, a / 2, 0]]
        places = [[sum(n[v] * cell[v][k] for v in range(3)) + dice.uniform(-.02, .02)
                   for k in range(3)] for n in itertools.product(range(6), range(6), range(3))]
        frame = {"cell": [[n * x for x in row] for n, row in zip((6, 6, 3), cell)],
                 "pbc": [1, 1, 1], "symbols": ["H"] * len(places), "positions": places}
        forces = []
        for device in "cpu", "reference":
            out, _ = run("tensornet", "-", "--weights", path("formula"), "--device", device,
                         "--format", "jsonl", "--forces", stdin=xyz(frame))
            forces.append(json.loads(out)["forces"])
        for f, g in zip(*forces):
            self.assertTrue(all(abs(x - y) < 1e-4 for x, y in zip(f, g)), (f, g))

    def test_formula(self):
        self.compare("formula", list(GOLDEN["golden"]["formula"]), 5e-6, 2e-5)

    def test_formula_of_dgl(self):
        """Version 1 of MatGL's DGL code: a message is of the atom that gets it."""
        pyg, dgl = (GOLDEN["golden"][model] for model in ("formula", "formula-dgl"))
        for frame in "methane", "ethanol", "box":
            self.assertGreater(abs(pyg[frame]["network"] - dgl[frame]["network"]), 0.01)
        self.compare("formula-dgl", list(dgl), 5e-6, 2e-5)

    def test_goldens_say_what_made_them(self):
        for model, program, weights in (
                ("formula", "MatGL 2.0.4, PyG", "--rule 1-pyg"),
                ("formula-dgl", "MatGL 1.3.0, DGL 1.1.3", "--rule 1-dgl"),
                ("formula-2", "MatGL 4.1.2, without Warp", "--rule 2"),
                ("pbe", "MatGL 2.0.4, PyG", "TensorNet-MatPES-PBE-v2025.1-PES"),
                ("ani", "MatGL 1.3.0, DGL 1.1.3", "TensorNet-ANI-1x-Subset-PES")):
            self.assertTrue(GOLDEN["made"][model].startswith(program), model)
            self.assertTrue(GOLDEN["made"][model].endswith(weights), model)
        self.assertEqual(set(GOLDEN["made"]), set(GOLDEN["golden"]))

    def test_formula_of_version_2(self):
        """MatGL 2.2 sums the embedding at the source and joins the two elements the other way."""
        first, second = (GOLDEN["golden"][model] for model in ("formula", "formula-2"))
        self.assertGreater(abs(first["water"]["network"] - second["water"]["network"]), 0.01)
        self.compare("formula-2", list(second), 5e-6, 2e-5)

    def trained(self, model, file):
        data = os.path.join(os.environ.get("BIOINFER_DATA", ""), "tensornet")
        if not os.path.exists(os.path.join(data, file + ".state.pt")):
            self.skipTest("no trained weights in $BIOINFER_DATA")
        os.makedirs(path(model), exist_ok=True)
        for name in ("model.json", "state.pt"):
            shutil.copy(os.path.join(data, "%s.%s" % (file, name)), os.path.join(path(model), name))

    def test_trained_on_crystals(self):
        self.trained("pbe", "matpes-pbe")
        self.compare("pbe", list(GOLDEN["golden"]["pbe"]), 5e-5, 4e-5)
        # the value of MatGL's own tests
        got = lines(xyz(GOLDEN["frames"]["peptide"]), model="pbe")
        self.assertAlmostEqual(got[0]["energy"], -247.286789, delta=2e-4)

    def test_trained_on_molecules(self):
        """These weights are of MatGL's DGL code."""
        self.trained("ani", "ani-1x")
        self.compare("ani", list(GOLDEN["golden"]["ani"]), 5e-5, 4e-5)
        got = lines(xyz(GOLDEN["frames"]["methane"]), model="ani")
        self.assertAlmostEqual(got[0]["energy"], -1102.060073, delta=2e-4)
        self.assertAlmostEqual(got[0]["largest_force"], 0.105, delta=1e-3)

    def test_torchmd(self):
        """The network of torchmd-net with charges, in a cell, and in SO(3)."""
        nine, box = (GOLDEN["frames"][n] for n in ("nine", "box"))
        for model, charge, alone, periodic in (
                ("o3.ckpt", 0, 0.175678993285, 0.175296965127),
                ("o3.ckpt", 2, 0.149730161612, 0.149326657022),
                ("so3.ckpt", 0, 0.175664124380, 0.175283023888),
                ("so3.ckpt", 2, 0.175576099411, 0.175194848143)):
            got = lines(xyz(nine, "charge=%d" % charge) + xyz(box), "--charge", str(charge),
                        model=model)
            self.assertAlmostEqual(got[0]["energy"], alone, delta=1e-6)
            self.assertAlmostEqual(got[1]["energy"], periodic, delta=1e-6)
            if model == "o3.ckpt" and not charge:
                for x, y in zip(got[0]["forces"][0], (0.036470615, 0.850315336, 0.035979275)):
                    self.assertAlmostEqual(x, y, delta=2e-6)
        out = lines(xyz(nine), model="o3.ckpt", code=1)
        self.assertIn("charge", out[0]["message"])

    def test_order_of_factors(self):
        """One file, by torchmd-net 2.6.2 (and 2.5.0), which has the old order of factors, and by
        3.0.0: their own classes in float64, PyTorch 2.2.2. The file does not say which it is."""
        for charge, old, new in ((0, -0.944292204198, 0.175678898300),
                                 (2, -0.957385558519, 0.149730067171)):
            text = xyz(GOLDEN["frames"]["nine"], "charge=%d" % charge)
            for order, want in ("old", old), ("new", new), (None, new):
                more = ("--factor-order", order) if order else ()
                out, err = run("tensornet", "-", "--weights", path("o3.ckpt"), "--device", "cpu",
                               "--format", "jsonl", "--forces", *more, stdin=text)
                got = json.loads(out)
                self.assertAlmostEqual(got["energy"], want, delta=1e-6)
                self.assertEqual(err.count("2.6.2 or by 3.0"), int(order is None), err)
                if order == "old" and not charge:
                    for x, y in zip(got["forces"][0], (0.182159019, 0.457738015, -0.016955820)):
                        self.assertAlmostEqual(x, y, delta=2e-6)
        self.assertIn("note: factors in the new order, but the file does not say",
                      run("info", path("o3.ckpt"))[0])
        _, err = run("tensornet", "-", "--weights", path("formula"), "--factor-order", "old",
                     stdin=text, code=None)
        self.assertIn("one order alone", err)

    def test_forces_are_derivatives(self):
        frame, step = json.loads(json.dumps(GOLDEN["frames"]["box"])), 0.01
        forces = lines(xyz(frame))[0]["forces"]
        for atom, axis in ((0, 0), (4, 1), (8, 2)):
            e = []
            at = frame["positions"][atom][axis]
            for k in (-2, -1, 1, 2):
                frame["positions"][atom][axis] = at + k * step
                e.append(lines(xyz(frame))[0]["energy"])
            frame["positions"][atom][axis] = at
            slope = (8 * (e[2] - e[1]) - (e[3] - e[0])) / (12 * step)
            self.assertAlmostEqual(-slope, forces[atom][axis], delta=1e-4)

    def test_symmetries(self):
        """Rotations, other orders of atoms, and other images of them change nothing."""
        frame = GOLDEN["frames"]["box"]
        want = lines(xyz(frame))[0]
        a, b = 0.7, -1.9
        turn = [[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]]
        tilt = [[1, 0, 0], [0, math.cos(b), -math.sin(b)], [0, math.sin(b), math.cos(b)]]

        def by(m, v):
            return [sum(m[i][k] * v[k] for k in range(3)) for i in range(3)]
        turned = dict(frame, positions=[by(tilt, by(turn, p)) for p in frame["positions"]],
                      cell=[by(tilt, by(turn, p)) for p in frame["cell"]])
        got = lines(xyz(turned))[0]
        self.assertAlmostEqual(got["energy"], want["energy"], delta=2e-5)
        for f, g in zip(want["forces"], got["forces"], strict=True):
            for x, y in zip(by(tilt, by(turn, f)), g):
                self.assertAlmostEqual(x, y, delta=2e-5)
        order = list(range(len(frame["symbols"])))
        random.Random(3).shuffle(order)
        other = dict(frame, symbols=[frame["symbols"][i] for i in order],
                     positions=[[x + k * v for x, v in zip(frame["positions"][i],
                                                           frame["cell"][i % 3])]
                                for k, i in enumerate(order)])
        got = lines(xyz(other))[0]
        self.assertAlmostEqual(got["energy"], want["energy"], delta=2e-5)
        for k, i in enumerate(order):
            for x, y in zip(want["forces"][i], got["forces"][k]):
                self.assertAlmostEqual(x, y, delta=2e-5)

    def test_company_changes_no_byte(self):
        known = [xyz(GOLDEN["frames"][n]) for n in GOLDEN["golden"]["formula"]]
        alone = [lines(text)[0] for text in known]
        order = [random.Random(5).randrange(len(known)) for _ in range(200)]
        text = "".join(known[i] for i in order)
        for args in ((), ("--threads", "1"), ("--batch-tokens", "16")):
            got = lines(text, *args)
            for k, i in enumerate(order):
                self.assertEqual(dict(got[k], id=""), dict(alone[i], id=""))


class Command(unittest.TestCase):
    def test_formats(self):
        text = xyz(GOLDEN["frames"]["nine"]) + xyz(GOLDEN["frames"]["box"])
        args = ("tensornet", "-", "--weights", path("formula"))
        table = rows(run(*args, "--stress", stdin=text)[0])
        self.assertEqual([r["atoms"] for r in table], ["9", "9"])
        self.assertEqual(table[0]["stress_xx"], "")
        kcal = rows(run(*args, "--units", "kcal", stdin=text)[0])
        for short in "kcal", "kJ":
            self.assertEqual(run(*args, "--units", short, stdin=text)[0],
                             run(*args, "--units", short + "/mol", stdin=text)[0])
        self.assertAlmostEqual(float(kcal[0]["energy"]), 23.060548 * float(table[0]["energy"]),
                               delta=1e-3)
        run(*args, "-o", path("out.extxyz"), stdin=text)
        again = rows(run("tensornet", path("out.extxyz"), "--weights", path("formula"))[0])
        self.assertEqual([r["energy"] for r in again], [r["energy"] for r in table])
        with open(path("out.extxyz")) as file:
            self.assertIn("forces:R:3", file.readlines()[1])
        run(*args, "-o", path("out.json"), stdin=text, code=64)
        run(*args, "--forces", stdin=text, code=64)
        run(*args, "--units", "kJ", "-o", path("x.extxyz"), stdin=text, code=64)
        run(*args, "--charge", "many", stdin=text, code=64)

    def test_charges_that_weights_do_not_know(self):
        """--charge is refused; a frame's is named once, as its energy is that of any charge."""
        water, nine = (xyz(GOLDEN["frames"][n], "charge=%d" % q) for n, q in (("water", 3),
                                                                              ("nine", -1)))
        neutral = xyz(GOLDEN["frames"]["water"])
        args = ("tensornet", "-", "--weights", path("formula"), "--device", "cpu")
        out, err = run(*args, stdin=neutral + water + nine)
        self.assertEqual(err.count("these weights do not know"), 1, err)
        self.assertIn("standard input:2: a charge of 3", err)
        self.assertEqual(rows(out)[0]["energy"], rows(out)[1]["energy"])
        for text in neutral, xyz(GOLDEN["frames"]["water"], "charge=0"):
            out, err = run(*args, "--charge", "0", stdin=text)
            self.assertNotIn("charge", err)
        for verb in ("tensornet",), ("relax", "tensornet"):
            with open(path("neutral.xyz"), "w") as file:
                file.write(neutral)
            out, err = run(*verb, path("neutral.xyz"), "--weights", path("formula"), "--charge",
                           "3", "-o", path("charged.extxyz"), code=None)
            self.assertIn("a charge of 3 is given, and these weights know none", err)
            self.assertFalse(os.path.exists(path("charged.extxyz")))
        # weights that know one follow it
        both = lines(water + xyz(GOLDEN["frames"]["water"], "charge=0"), model="o3.ckpt")
        self.assertNotEqual(both[0]["energy"], both[1]["energy"])

    def test_periodic_axes(self):
        text = xyz(GOLDEN["frames"]["layer"])
        energy = {p: lines(text, "--pbc", p)[0]["energy"] for p in ("file", "none", "xyz")}
        nine = lines(xyz(GOLDEN["frames"]["nine"]))[0]["energy"]
        self.assertEqual(energy["none"], nine)
        self.assertEqual(energy["file"], energy["xyz"])  # far apart along the third vector
        self.assertNotEqual(energy["file"], nine)

    def test_bad_frames_cost_themselves(self):
        good = xyz(GOLDEN["frames"]["water"])
        text = (good + "2\n\nH 0 0 0\nXx 0 0 1\n" + good + "1\n\nAu 0 0 0\n" +
                "2\n\nH 0 0 0\nH 0 0 0\n" + "1\n\nH nan 0 0\n" + good)
        out, err = run("tensornet", "-", "--weights", path("formula"), stdin=text, code=1)
        table = rows(out)
        self.assertEqual([r["status"] == "ok" for r in table],
                         [True, False, True, False, False, False, True])
        self.assertIn("Au", table[3]["message"])
        self.assertIn("H C N O", table[3]["message"])
        self.assertEqual(table[0]["energy"], table[6]["energy"])
        self.assertIn("4 of 7 frames", err)

    def test_info_says_what_was_withdrawn(self):
        for model, rule, withdrawn in (("formula", "1-pyg", True), ("formula-dgl", "1-dgl", True),
                                       ("formula-2", "2", False)):
            out, _ = run("info", path(model))
            self.assertIn("model: tensornet", out)
            notes = [line for line in out.splitlines() if line.startswith("note: ")]
            self.assertEqual(len(notes), 1, model)
            self.assertIn("rule %s:" % rule, notes[0])
            self.assertEqual("no longer numerically valid" in notes[0], withdrawn)

    def test_too_many_pairs(self):
        """A cell of 1 angstrom, as PDB files of no crystal have, is refused at once."""
        atoms = "".join("H %d 0 0.%03d\n" % (i, i) for i in range(999)) * 3
        out, _ = run("tensornet", "-", "--weights", path("formula"), code=1,
                     stdin='2997\nLattice="1 0 0 0 1 0 0 0 1"\n' + atoms +
                     xyz(GOLDEN["frames"]["water"]))
        first, second = rows(out)
        self.assertIn("pairs of atoms within the cutoff", first["message"])
        self.assertEqual(second["status"], "ok")

    def test_launches(self):
        """A frame with forces is so many launches, which a small molecule waits for on a GPU: more
        are to be meant."""
        text = run("tensornet", "-", "--weights", path("formula"), "--device", "cpu", "--forces",
                   "--profile", "-o", path("launches.jsonl"),
                   stdin=xyz(GOLDEN["frames"]["water"]))[1]
        ops = dict(re.findall(r"^(\w+) +(\d+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+$", text, re.M))
        self.assertEqual([ops[op] for op in ("atom_cells", "edge_list", "edge_forces")], ["1"] * 3)
        self.assertLessEqual(sum(map(int, ops.values())), LAUNCHES)

    def test_sums(self):
        """Derivatives that take what others gave are those that are added behind them."""
        text = "".join(xyz(GOLDEN["frames"][n]) for n in GOLDEN["golden"]["formula"])
        files = []
        for more in (), ("--no-rule", "tensor_sums"):
            run("tensornet", "-", "--weights", path("formula"), "--stress", "-o",
                path("sums.extxyz"), *more, stdin=text)
            with open(path("sums.extxyz"), "rb") as file:
                files.append(file.read())
        self.assertEqual(*files)

    def test_resume_shards_and_workers(self):
        text = "".join(xyz(GOLDEN["frames"][n]) for n in GOLDEN["golden"]["formula"]) * 5
        with open(path("many.xyz"), "w") as file:
            file.write(text)
        args = ("tensornet", path("many.xyz"), "--weights", path("formula"), "--stress")
        plain, _ = run(*args)
        for name, more in (("a.tsv", ("--resume",)), ("b.tsv", ("--workers", "2"))):
            run(*args, "-o", path(name), *more)
            with open(path(name)) as file:
                self.assertEqual(file.read(), plain)
        for i in "123":
            run(*args, "-o", path("c.tsv"), "--shard", i + "/3")
        run("merge", path("c.tsv"))
        with open(path("c.tsv")) as file:
            self.assertEqual(file.read(), plain)

    def test_shards_of_two_models(self):
        """Shards of models of one name that differ in a mean are not merged."""
        import tensornet_weights
        with open(path("four.xyz"), "w") as file:
            file.write(xyz(GOLDEN["frames"][min(GOLDEN["golden"]["formula"])]) * 4)
        for n, mean in enumerate((0, 0.25)):
            tensornet_weights.write_matgl(path("%d/W" % n), mean=mean)

        def shard(i, model, *more, code=0):
            return run("tensornet", path("four.xyz"), "--weights", path("%d/W" % model), "-o",
                       path("two.tsv"), "--shard", "%d/2" % i, *more, code=code)[1]
        shard(1, 0)
        shard(2, 1)
        self.assertIn("fingerprint of model", run("merge", path("two.tsv"), code=65)[1])
        self.assertFalse(os.path.exists(path("two.tsv")))
        self.assertIn("fingerprint of model", shard(2, 0, "--resume", code=73))
        shutil.rmtree(path("two.tsv.part-2-of-2"))
        shard(2, 0)
        run("merge", path("two.tsv"))

    def many(self, name, copies=1):
        """Writes a file of all golden frames and two bad ones."""
        frames = [xyz(GOLDEN["frames"][n]) for n in GOLDEN["golden"]["formula"]] * copies
        with open(path(name), "w") as file:
            file.writelines([frames[0], "1\n\nAu 0 0 0\n", *frames[1:], "1\n\nXx 0 0 0\n"])
        return "tensornet", path(name), "--weights", path("formula")

    def test_arrays(self):
        """The arrays of a file have the numbers of extended XYZ to the last bit, and those of jsonl
        to the digits that it has."""
        args = self.many("arrays.xyz")
        run(*args, "-o", path("all.extxyz"), code=1)
        run(*args, "-o", path("all.jsonl"), "--forces", "--stress", code=1)
        _, err = run(*args, "-o", path("all.npz"), "--forces", "--stress", code=1)
        self.assertIn("2 of 11 frames", err)
        frames = read_extxyz("all.extxyz")
        with open(path("all.jsonl")) as file:
            lines = [o for o in map(json.loads, file) if o["status"] == "ok"]
        got, n, atoms = read_npz("all.npz"), len(frames), sum(len(a) for _, a in frames)
        self.assertEqual({k: v[:2] for k, v in got.items() if not k.endswith(".tsv")}, {
            "frames": ("<i8", (n,)), "energy": ("<f8", (n,)), "largest_force": ("<f8", (n,)),
            "stress": ("<f8", (n, 3, 3)),
            "numbers": ("<i4", (atoms,)), "forces": ("<f4", (atoms, 3)),
            "offsets": ("<i8", (n + 1,)), "ids": ("|S9", (n,))})
        values = {k: v[2] for k, v in got.items() if not k.endswith(".tsv")}
        self.assertEqual([i.rstrip(b"\0").decode() for i in values["ids"]],
                         ["arrays:%d" % i for i in range(1, 12) if i not in (2, 11)])
        self.assertEqual(values["frames"], [i for i in range(11) if i not in (1, 10)])
        self.assertEqual(values["energy"], [float(w["energy"]) for w, _ in frames])
        self.assertEqual(values["offsets"][0], 0)
        for i, (words, rows_of) in enumerate(frames):
            first, end = values["offsets"][i:i + 2]
            self.assertEqual(end - first, len(rows_of))
            symbols = {1: "H", 6: "C", 7: "N", 8: "O"}
            self.assertEqual([symbols[z] for z in values["numbers"][first:end]],
                             [r[0] for r in rows_of])
            self.assertEqual(struct.pack("<%df" % (3 * (end - first)),
                                         *(float(x) for r in rows_of for x in r[4:])),
                             struct.pack("<%df" % (3 * (end - first)),
                                         *values["forces"][3 * first:3 * end]))
            stress = values["stress"][9 * i:9 * i + 9]
            if "stress" in words:
                self.assertEqual(stress, [float(x) for x in words["stress"].split()])
                self.assertEqual([float("%.9g" % x) for x in
                                  voigt([stress[k:k + 3] for k in (0, 3, 6)])], lines[i]["stress"])
            else:
                self.assertTrue(all(map(math.isnan, stress)))
            for key in "energy", "largest_force":
                self.assertEqual(float("%.9g" % values[key][i]), lines[i][key])
        self.assertEqual(got["units.tsv"], "array\tunit\nenergy\teV\nlargest_force\teV/angstrom\n"
                         "stress\teV/angstrom^3\nforces\teV/angstrom\n")
        with open(path("all.npz.manifest.tsv")) as file:
            self.assertEqual([r["status"] == "ok" for r in rows(file.read())],
                             [i not in (1, 10) for i in range(11)])
        out, _ = run("info", path("all.npz"))
        self.assertIn("  energy float64 [%d]\n" % n, out)
        _, err = run("report", path("all.npz"), "-o", path("report.html"), code=65)
        self.assertIn("arrays over all records", err)

    def test_names_that_are_no_utf_8(self):
        """A line of JSON is JSON, whatever the name of its file."""
        name = os.path.join(FOLDER.name.encode(), b"bad\xff\"\\.xyz")
        with open(name, "w") as file:
            file.write(xyz(GOLDEN["frames"]["water"]) + "1\n\nXx 0 0 0\n")
        out = subprocess.run([EXE, "tensornet", name, "--weights", path("formula"), "--format",
                              "jsonl"], capture_output=True).stdout
        first, second = map(json.loads, out.decode("utf-8").splitlines())
        self.assertEqual(first["id"], 'bad\ufffd"\\:1')
        self.assertIn('bad\ufffd"\\.xyz: frame 2', second["message"])

    def has_hdf5(self):
        _, err = run("tensornet", "-", "--weights", path("formula"), "-o", path("has.h5"),
                     stdin=xyz(GOLDEN["frames"]["water"]), code=None)
        if "HDF5" in err:
            self.skipTest(err.strip())

    def test_hdf5(self):
        """HDF5 has the arrays of npz; units are attributes."""
        self.has_hdf5()
        args = (*self.many("sets.xyz"), "--forces", "--stress")
        run(*args, "-o", path("sets.h5"), code=1)
        run(*args, "-o", path("sets.npz"), code=1)
        out, _ = run("info", path("sets.h5"))
        wanted = read_npz("sets.npz")
        del wanted["units.tsv"]
        for name, (kind, shape, _) in wanted.items():
            kind = {"<f8": "float64", "<f4": "float32", "<i8": "int64",
                    "<i4": "int32"}.get(kind, "string")
            self.assertIn("  %s %s %s\n" % (name, kind, list(shape)), out)
        _, err = run("report", path("sets.h5"), "-o", path("report.html"), code=65)
        self.assertIn("arrays over all records", err)
        run("tensornet", "-", "--weights", path("formula"), "--forces", "-o", path("none.h5"),
            stdin="1\n\nAu 0 0 0\n", code=1)
        self.assertIn("  forces float32 [0, 3]\n", run("info", path("none.h5"))[0])
        try:
            import h5py
        except ImportError:
            self.skipTest("no h5py: values were not read")
        run(*args, "-o", path("packed.h5"), "--shard", "1/1", code=1)
        run("merge", path("packed.h5"), "--compression", "gzip", code=1)
        units = {"energy": "eV", "largest_force": "eV/angstrom", "forces": "eV/angstrom",
                 "stress": "eV/angstrom^3"}
        with h5py.File(path("sets.h5")) as file, h5py.File(path("packed.h5")) as packed:
            for name, (_, _, want) in wanted.items():
                got = file[name][:].ravel().tolist()
                self.assertEqual(repr(packed[name][:].ravel().tolist()), repr(got))
                self.assertEqual(packed[name].compression, None if name == "ids" else "gzip")
                self.assertEqual(file[name].attrs.get("unit"), units.get(name))
                if name == "ids":
                    want = [i.rstrip(b"\0") for i in want]
                self.assertEqual(repr(got), repr(want))

    def test_fewer_arrays_and_other_units(self):
        args = self.many("few.xyz")
        run(*args, "-o", path("few.npz"), code=1)
        run(*args, "-o", path("kcal.npz"), "--units", "kcal", "--forces", code=1)
        few, kcal = read_npz("few.npz"), read_npz("kcal.npz")
        self.assertEqual(set(few), {"frames", "energy", "largest_force", "numbers", "offsets",
                                    "ids", "units.tsv"})
        self.assertIn("energy\tkcal/mol\n", kcal["units.tsv"])
        self.assertIn("forces\tkcal/mol/angstrom\n", kcal["units.tsv"])
        for x, y in zip(few["energy"][2], kcal["energy"][2]):
            self.assertAlmostEqual(23.060547830619 * x, y, delta=1e-9 * abs(y))
        self.assertEqual(few["numbers"], kcal["numbers"])
        # no frame at all has a result
        args = ("tensornet", "-", "--weights", path("formula"), "--forces")
        run(*args, "-o", path("none.npz"), stdin="1\n\nAu 0 0 0\n", code=1)
        none = read_npz("none.npz")
        self.assertEqual(none["forces"], ("<f4", (0, 3), []))
        self.assertEqual(none["offsets"], ("<i8", (1,), [0]))
        run(*args, "--format", "npz", code=64)
        run(*args, "-o", path("x.npy"), code=64)
        run(*args, "-o", path("strict.npz"), "--strict", stdin="1\n\nAu 0 0 0\n", code=65)
        self.assertFalse([n for n in os.listdir(FOLDER.name) if n.startswith("strict")])

    def test_npz_of_jobs(self):
        self.jobs("npz")

    def test_hdf5_of_jobs(self):
        self.has_hdf5()
        self.jobs("h5")

    def jobs(self, ending):
        """A full disk, a run that goes on, workers, and shards: the same bytes."""
        args = self.many("jobs.xyz", 20)
        more = ("--forces", "--stress")
        run(*args, *more, "-o", path("whole." + ending), code=1)
        want = content("whole." + ending)
        run(*args, *more, "-o", path("two." + ending), "--workers", "2", code=1)
        self.assertEqual(content("two." + ending), want)
        run(*args, *more, "-o", path("full." + ending), "--shard", "1/1", code=1)
        os.rename(path("full.%s.part-1-of-1" % ending), path("full.%s.part" % ending))
        for limit in 4096, len(want) // 2, len(want) - 1:
            _, err = run(*args, *more, "-o", path("full." + ending), "--resume", code=74,
                         preexec_fn=lambda n=limit: resource.setrlimit(
                             resource.RLIMIT_FSIZE, (n, resource.RLIM_INFINITY)))
            self.assertIn("full." + ending, err)
            self.assertFalse(os.path.exists(path("full." + ending)))
        _, err = run(*args, "-o", path("full." + ending), "--resume", code=73)
        self.assertIn("another job", err)  # which has other arrays
        run(*args, *more, "-o", path("full." + ending), "--resume", code=1)
        self.assertEqual(content("full." + ending), want)
        for i in "123":
            run(*args, *more, "-o", path("parts." + ending), "--shard", i + "/3",
                code=int(i == "2"))
        parts = [path("parts.%s.part-%d-of-3" % (ending, i)) for i in (1, 2, 3)]
        _, err = run("merge", path("parts.npy"), *parts, code=64)
        self.assertIn("npy holds no arrays of all records", err)
        run("merge", path("parts." + ending), "--layout", "matrix", code=64)
        run("merge", path("parts." + ending), code=1)
        self.assertEqual(content("parts." + ending), want)
        self.assertEqual(content("parts.%s.manifest.tsv" % ending),
                         content("whole.%s.manifest.tsv" % ending))

    def test_other_models_are_told(self):
        _, err = run("embed", "tensornet", path("many.xyz"), code=64)
        self.assertIn("energy", err)
        _, err = run("energy", "esm2", path("many.xyz"), code=64)
        self.assertIn("esm2", err)


if __name__ == "__main__":
    EXE, ROOT = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1], verbosity=2)
