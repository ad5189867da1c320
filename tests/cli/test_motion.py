#!/usr/bin/env python3
"""test_motion.py BIOINFER SOURCE_ROOT - `bioinfer md` and `bioinfer relax` over made-up weights."""
import json
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

EXE, ROOT = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tools"))
import tensornet_weights

WATER = """6
charge=0
O 0 0 0.12
H 0 0.76 -0.48
H 0 -0.76 -0.48
O 2.8 0 0.3
H 3.4 0.7 0.1
H 3.3 -0.8 0
"""
CRYSTAL = """crystal
1.0
0.1 1.9 2.0
2.1 0.0 1.9
1.9 2.1 0.1
C
1
Direct
0 0 0
"""


def run(*args, code=0):
    done = subprocess.run([EXE, *map(str, args)], capture_output=True, text=True)
    assert code in (done.returncode, None), (args, done.returncode, done.stdout, done.stderr)
    return done.stdout, done.stderr


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="bioinfer-motion-")
        os.chdir(cls.folder.name)
        tensornet_weights.write_matgl("model")
        write("water.xyz", WATER)
        write("POSCAR", CRYSTAL)

    @classmethod
    def tearDownClass(cls):
        os.chdir("/")
        cls.folder.cleanup()


class Motion(Frames):
    def md(self, *args, code=0, frame="water.xyz"):
        return run("md", frame, "--weights", "model", "--every", 10, *args, code=code)

    def test_goes_on(self):
        """A run that was shorter, or was cut, and goes on has the bytes of one that did not."""
        out, err = self.md("--steps", 45, "-o", "whole.extxyz")
        rows = [line.split("\t") for line in out.splitlines()]
        self.assertEqual([row[0] for row in rows], ["step", "10", "20", "30", "40", "45"])
        self.assertIn("steps 1 to 45", err)
        whole = read("whole.extxyz")
        self.assertEqual([int(n) for n in re.findall(rb" step=(\d+) ", whole)],
                         [0, 10, 20, 30, 40, 45])
        self.md("--steps", 25, "-o", "parts.extxyz")
        out, err = self.md("--steps", 45, "-o", "parts.extxyz", "--resume")
        self.assertIn("steps 21 to 45", err)
        self.assertEqual(read("parts.extxyz"), whole)
        with open("parts.extxyz", "r+b") as file:
            file.truncate(len(whole) * 2 // 3)
        self.md("--steps", 45, "-o", "parts.extxyz", "--resume")
        self.assertEqual(read("parts.extxyz"), whole)
        out, err = self.md("--steps", 44, "-o", "parts.extxyz", "--resume", code=64)
        self.assertIn("has step 45 already, and this run is to end at step 44", err)
        self.assertEqual(read("parts.extxyz"), whole)
        self.md("--steps", 40, "-o", "even.extxyz")
        out, err = self.md("--steps", 40, "-o", "even.extxyz", "--resume")
        self.assertIn("no step was made: even.extxyz has all 40", err)
        self.assertEqual(out, "")
        self.md("--steps", 45, "-o", "threads.extxyz", "--resume", "--threads", 1)
        self.assertEqual(read("threads.extxyz"), whole)
        self.md("--steps", 45, "-o", "seed.extxyz", "--seed", 2)
        self.assertNotEqual(read("seed.extxyz").split(b"run=")[0], whole.split(b"run=")[0])
        self.assertIn(b" seed=2 ", read("seed.extxyz"))

    def test_defaults(self):
        """A run without options is the one that the manual describes."""
        write("h.xyz", "1\ncharge=0\nH 0 0 0\n")
        out, err = run("md", "h.xyz", "--weights", "model", "-o", "h.extxyz")
        self.assertIn("steps 1 to 1000 ", err)
        self.assertEqual([line.split("\t")[0] for line in out.splitlines()[1:]],
                         [str(n) for n in range(100, 1001, 100)])
        self.assertIn(b'run="langevin dt=0.5 temperature=300 friction=1 seed=0 every=100 ',
                      read("h.extxyz"))

    def test_refuses(self):
        """Everything that cannot be done is said, and no trajectory is harmed."""
        self.md("--steps", 5, "-o", "kept.extxyz")
        before = read("kept.extxyz")
        for args, words in ((("-o", "kept.extxyz"), "is there already"),
                            (("-o", "kept.extxyz", "--resume", "--seed", 3), "of another run"),
                            (("-o", "kept.extxyz", "--resume=force"), "--resume"),
                            (("-o", "-"), "grows"), ((), "-o"),
                            (("-o", "a", "--dt", "x"), "--dt"),
                            (("-o", "a", "--dt", "0"), "--dt"),
                            (("-o", "a", "--temperature", "-1"), "--temperature"),
                            (("-o", "a", "--friction", "1", "--thermostat", "nve"), "nve")):
            out, err = self.md("--steps", 5, *args, code=65 if "--seed" in args else 64)
            self.assertIn(words, err)
            self.assertEqual(out, "")
            self.assertEqual(read("kept.extxyz"), before)
        write("two.xyz", WATER + WATER)
        self.assertIn("several frames", self.md("-o", "a", frame="two.xyz", code=64)[1])
        for option in ("--shard", "1/2"), ("--workers", 2):
            self.assertIn("-o FOLDER/", self.md("-o", "a", *option, code=64)[1])
        write("bad.xyz", WATER.replace("0.76", "nan"))
        self.assertIn("bad.xyz: frame 1: line 4", self.md("-o", "a", frame="bad.xyz", code=65)[1])
        write("gold.xyz", WATER.replace("O 2.8", "Au 2.8"))
        self.assertIn("Au", self.md("-o", "a", frame="gold.xyz", code=65)[1])
        self.md("-o", "a", frame="none.xyz", code=66)
        self.md("-o", "none/a", code=73)
        write("same.xyz", "2\n\nO 0 0 0\nO 0 0 0\n")
        self.assertIn("lie on each other", self.md("-o", "a", frame="same.xyz", code=65)[1])
        self.assertFalse(os.path.exists("a"))

    def test_other_weights(self):
        """Weights that differ in any number or setting are another run: the trajectory stays."""
        self.md("--steps", 5, "-o", "first.extxyz")
        before = read("first.extxyz")

        def refused(words):
            _, err = run("md", "water.xyz", "--weights", "other/model", "--every", 10, "--steps",
                         20, "-o", "first.extxyz", "--resume", code=65)
            self.assertIn("of another run", err, words)
            self.assertEqual(read("first.extxyz"), before)
            shutil.rmtree("other")
        for changed in ({"mean": 0.25}, {"std": 2}, {"references": [-3, -8.5, -7.25, -5]}):
            tensornet_weights.write_matgl("other/model", **changed)
            refused(changed)
        for key, value in (("cutoff", 4.5), ("equivariance_invariance_group", "SO(3)"),
                           ("element_types", ["H", "N", "C", "O"])):
            shutil.copytree("model", "other/model")
            with open("other/model/model.json", encoding="utf-8") as file:
                settings = json.load(file)
            settings["kwargs"]["model"]["init_args"][key] = value
            write("other/model/model.json", json.dumps(settings))
            refused(key)
        shutil.copytree("model", "other/model")
        run("md", "water.xyz", "--weights", "other/model", "--every", 10, "--steps", 20, "-o",
            "first.extxyz", "--resume")
        shutil.rmtree("other")

    def test_other_runs(self):
        """Another run is also one of other parameters, periodic axes, charges, momenta of the
        input, or rules; the first word that differs is named."""
        head = 'Lattice="6 0 0 0 7 0 0 0 8" pbc="%s"%s Properties=species:S:1:pos:R:3%s\n'
        atoms = ("O 0 0 0.12", "H 0 0.76 -0.48", "H 0 -0.76 -0.48")
        momenta = ("0 0.1 0", "0 0 0.1", "0.2 0 0")

        def frame(pbc="F F F", charge="", column="", momenta=("",) * 3):
            rows = ("%s %s\n" % row for row in zip(atoms, momenta, strict=True))
            write("other.xyz", "3\n" + head % (pbc, charge, column) + "".join(rows))
        moving = {"column": ":momenta:R:3", "momenta": momenta}
        pushed = {"column": ":momenta:R:3", "momenta": ("0 0.1 0.001", *momenta[1:])}
        for first, made, second, resumed, words in (
                ({}, (), {}, ("--pbc", "xyz"), ("pbc=FFF", "pbc=TTT")),
                ({"pbc": "T T F"}, (), {}, (), ("pbc=TTF", "pbc=FFF")),
                ({"pbc": "T T T"}, (), {"pbc": "T T T"}, ("--pbc", "none"), ("pbc=TTT", "pbc=FFF")),
                ({}, (), {}, ("--charge", 0), ("charge=none", "charge=0")),
                ({}, ("--charge", 0), {}, (), ("charge=0", "charge=none")),
                ({"charge": " charge=1"}, (), {"charge": " charge=2"}, (),
                 ("charge=1", "charge=2")),
                (moving, (), pushed, (), ("momenta=", "momenta=")),
                (moving, (), {}, (), ("momenta=", "momenta=drawn")),
                ({}, (), {}, ("--no-rule", "all"), ("no-rule=none", "no-rule=all")),
                ({}, (), {}, ("--dt", 0.25), ("dt=0.5", "dt=0.25")),
                ({}, (), {}, ("--temperature", 301), ("temperature=300", "temperature=301")),
                ({}, (), {}, ("--friction", 2), ("friction=1", "friction=2")),
                ({}, (), {}, ("--thermostat", "nve"), ("langevin", "nve")),
                ({}, (), {}, ("--seed", 1), ("seed=0", "seed=1")),
                ({}, (), {}, ("--every", 5), ("every=10", "every=5"))):
            frame(**first)
            self.md("--steps", 5, "-o", "other.extxyz", *made, frame="other.xyz")
            before = read("other.extxyz")
            frame(**second)
            _, err = self.md("--steps", 20, "-o", "other.extxyz", "--resume", *resumed,
                             frame="other.xyz", code=65)
            self.assertRegex(err, "of another run: it has '%s.*', this one '%s" % words)
            self.assertEqual(read("other.extxyz"), before)
            frame(**first)
            self.md("--steps", 20, "-o", "other.extxyz", "--resume", *made, frame="other.xyz")
            os.remove("other.extxyz")

    def test_other_atoms(self):
        """Atoms with other places, elements, cell or fixed components than the trajectory's are
        refused."""
        frame = ('3\nLattice="6 0 0 0 7 0 0 0 8" Properties=species:S:1:pos:R:3:move_mask:L:3\n'
                 "O 0 0 0.12 T T T\nH 0 0.76 -0.48 T T F\nH 0 -0.76 -0.48 T T T\n")
        write("other.xyz", frame)
        self.md("--steps", 5, "-o", "atoms.extxyz", frame="other.xyz")
        before = read("atoms.extxyz")
        for old, new in (("0.12 T", "0.13 T"), ("H 0 -", "N 0 -"), ("0 7 0", "0 7.5 0"),
                         ("T T F", "T F F"), ("T T F", "T T T")):
            self.assertIn(old, frame)
            write("other.xyz", frame.replace(old, new))
            err = self.md("--steps", 20, "-o", "atoms.extxyz", "--resume", frame="other.xyz",
                          code=65)[1]
            self.assertIn("frame 1 has other atoms than the input", err)
            self.assertEqual(read("atoms.extxyz"), before)
        write("other.xyz", frame)
        self.md("--steps", 20, "-o", "atoms.extxyz", "--resume", frame="other.xyz")

    def test_names_of_outputs(self):
        """A name says the format, and nothing but a file is replaced by one."""
        for command in "md", "relax":
            options = (command, "water.xyz", "--weights", "model", "--steps", 1, "-o")
            for name, words in ("a.npz", "the name says npz"), ("a.xyz.gz", "leave out .gz"):
                self.assertIn(words, run(*options, name, code=64)[1])
                self.assertFalse(os.path.exists(name))
        options = "relax", "water.xyz", "--weights", "model", "--steps", 1, "-o"
        run(*options, "none/a.xyz", code=73)
        write("plain", "a file")
        self.assertIn("plain/: Not a directory", run(
            "md", "water.xyz", "--weights", "model", "--steps", 1, "-o", "plain/", code=73)[1])
        os.mkfifo("pipe.xyz")
        self.assertIn("output is a device or pipe", run(*options, "pipe.xyz", code=74)[1])
        self.assertTrue(stat.S_ISFIFO(os.stat("pipe.xyz").st_mode))

    def test_explodes(self):
        """Atoms that fly apart end the run with the step; the trajectory is kept up to it."""
        out, err = self.md("--steps", 500, "--temperature", 1e6, "--dt", 50, "-o", "boom.extxyz",
                           code=65)
        self.assertRegex(err, r"step \d+: atom \d+ would move .* fly apart")
        self.assertIn(b" step=0 ", read("boom.extxyz"))

    def test_leaps(self):
        """Steps that one submission makes are those that are made one by one, to the bit, up to one
        that fails among them."""
        for more in (), ("--thermostat", "nve"):
            frames = set()
            for every in 1, 5, 20:
                run("md", "water.xyz", "--weights", "model", "--steps", 20, "--dt", 0.4, "--every",
                    every, "-o", "leap.extxyz", *more)
                last = read("leap.extxyz").split(b" step=20 ")[1]
                frames.add(re.sub(rb" every=\d+", b"", last))
                os.remove("leap.extxyz")
            self.assertEqual(len(frames), 1, more)
        errors = set()
        for every in 1, 100:
            err = run("md", "water.xyz", "--weights", "model", "--steps", 100, "--dt", 6,
                      "--temperature", 1500, "--friction", 5, "--every", every, "-o",
                      "leap.extxyz", code=65)[1]
            errors.add(re.search(r"step (\d+): atom \d+ would move .* apart", err).group(0))
            os.remove("leap.extxyz")
        self.assertEqual(len(errors), 1)
        self.assertGreater(int(re.search(r"step (\d+)", errors.pop()).group(1)), 2)

    def test_conserves(self):
        """Constant energy stays constant, far better than the energies that it is made of."""
        out, err = self.md("--steps", 100, "--thermostat", "nve", "--dt", 0.1, "-o", "nve.extxyz")
        rows = [line.split("\t") for line in out.splitlines()[1:]]
        total = [float(row[4]) for row in rows]
        kinetic = [float(row[3]) for row in rows]
        self.assertLess(max(total) - min(total), 1e-3)
        self.assertGreater(max(kinetic) - min(kinetic), 10 * (max(total) - min(total)))

    def test_relaxes(self):
        out, err = run("relax", "water.xyz", "--weights", "model", "-o", "r.extxyz", "--steps",
                       2000, "--fmax", 0.01)
        name, relaxed, steps, energy, largest = out.splitlines()[1].split("\t")
        self.assertEqual((name, relaxed), ("water:1", "yes"))
        self.assertLessEqual(float(largest), 0.01)
        table = run("tensornet", "r.extxyz", "--weights", "model")[0].splitlines()
        self.assertIn("%.3f" % float(energy), table[1])
        out, err = run("relax", "water.xyz", "--weights", "model", "-o", "few.extxyz", "--steps", 2,
                       code=1)
        self.assertIn("not relaxed after the steps", err)
        self.assertIn(b"relaxed=F", read("few.extxyz"))

    def test_relaxes_to_the_usual_force(self):
        """Without --fmax no force is above 0.05."""
        options = "relax", "water.xyz", "--weights", "model", "-o"
        table = run(*options, "usual.extxyz")[0]
        self.assertEqual(table, run(*options, "asked.extxyz", "--fmax", 0.05)[0])
        self.assertEqual(read("usual.extxyz"), read("asked.extxyz"))
        self.assertNotEqual(table, run(*options, "other.extxyz", "--fmax", 0.06)[0])

    def test_keeps_outputs(self):
        """An output that is there already stays, a link to nothing too."""
        options = "relax", "water.xyz", "--weights", "model", "--steps", 1, "-o"
        run(*options, "there.extxyz", code=1)
        before = read("there.extxyz")
        os.symlink("nothing", "link.extxyz")
        for name in "there.extxyz", "link.extxyz":
            out, err = run(*options, name, code=64)
            self.assertEqual(out, "")
            self.assertIn(name + ": is there already", err)
            self.assertNotIn("are kept", err)
        self.assertEqual(read("there.extxyz"), before)
        self.assertEqual(os.readlink("link.extxyz"), "nothing")
        self.assertEqual([f for f in os.listdir() if ".tmp." in f], [])
        self.assertIn("Properties=", run(*options, "-", code=1)[0])

    def test_relaxes_a_cell(self):
        out, err = run("relax", "POSCAR", "--weights", "model", "--cell", "-o", "c.extxyz",
                       "--steps", 3000, "--fmax", 0.005)
        self.assertEqual(out.splitlines()[1].split("\t")[:2], ["POSCAR", "yes"])
        stress = re.search(rb'stress="([^"]*)"', read("c.extxyz")).group(1).split()
        self.assertLess(max(abs(float(x)) for x in stress), 0.005)
        out, err = run("relax", "water.xyz", "--weights", "model", "--cell", "-o", "d.extxyz",
                       code=1)
        self.assertIn("not periodic along all", err)

    def test_fixed(self):
        """Fixed components stay to the bit, and go on to the output; flags that cannot be obeyed
        are refused by what moves, and by nothing else."""
        atoms = [line.split() for line in WATER.splitlines()[2:]]
        mask = ["F F F", "T T T", "F T F", "T T T", "T T T", "F F F"]
        write("mask.xyz", '6\nProperties=species:S:1:pos:R:3:move_mask:L:3 charge=0\n' +
              "".join(" ".join(a) + " " + m + "\n" for a, m in zip(atoms, mask)))
        slab = ["slab", "1", "9 0 0", "-4.5 7.8 0", "0 0 20", "O H", "2 4", "Selective", "Cart"]
        order = [0, 3, 1, 2, 4, 5]
        flags = ["F F F", "T T T", "T T T", "T T F", "F F T", "F F F"]
        write("SLAB", "\n".join(slab + [" ".join(atoms[i][1:]) + " " + f
                                        for i, f in zip(order, flags)]) + "\n")
        self.check_fixed("mask.xyz", [m.split() for m in mask], [a[1:] for a in atoms])
        self.check_fixed("SLAB", [f.split() for f in flags], [atoms[i][1:] for i in order])
        with open("SLAB", encoding="utf-8") as file:
            write("OBLIQUE", file.read().replace("F F T", "F T T"))
        for command in (("relax",), ("md", "--steps", 1)):
            err = run(command[0], "OBLIQUE", "--weights", "model", "-o", "no.extxyz", *command[1:],
                      code=1 if command[0] == "relax" else 65)[1]
            self.assertIn("oblique to x, y and z", err)
        run("tensornet", "OBLIQUE", "--weights", "model")

    def check_fixed(self, name, flags, places):
        """Atoms of all that moves them are where they were, but for the components with T."""
        runs = [("relax", name, "--weights", "model", "-o", "fixed.extxyz", "--steps", 300),
                *(("md", name, "--weights", "model", "-o", "fixed.extxyz", "--steps", 20, "--every",
                   every) for every in (1, 20))]
        ends = []
        for args in runs:
            run(*args)
            text = read("fixed.extxyz").decode()
            self.assertIn(":move_mask:L:3 ", text)
            ends.append([line.split() for line in text.splitlines()[-len(places):]])
            for words, flag, place in zip(ends[-1], flags, places, strict=True):
                self.assertEqual(words[-3:], flag)
                for x, f, x0, p in zip(words[1:4], flag, place, words[4:7]):
                    self.assertEqual(float(x) == float(x0), f == "F", (args, words, place))
                    if args[0] == "md" and f == "F":
                        self.assertEqual(float(p), 0)
            os.remove("fixed.extxyz")
        self.assertEqual(ends[1], ends[2])

    def test_fixed_with_a_cell(self):
        """Fixed atoms keep their fractions of a cell that moves."""
        write("cell.xyz", '2\nLattice="2.3 0 0 0.2 2.4 0 0 0 2.5" charge=0 '
              'Properties=species:S:1:pos:R:3:move_mask:L:1\nC 0 0 0 F\nC 1.2 1.1 1.3 F\n')
        run("relax", "cell.xyz", "--weights", "model", "--cell", "-o", "cell.extxyz", "--steps", 30,
            code=None)
        text = read("cell.extxyz").decode()
        cell = [float(x) for x in re.search('Lattice="([^"]*)"', text).group(1).split()]
        place = [float(x) for x in text.splitlines()[-1].split()[1:4]]
        z, y = 1.3 / 2.5, 1.1 / 2.4
        x = (1.2 - 0.2 * y) / 2.3
        for k in range(3):
            self.assertAlmostEqual(place[k], x * cell[k] + y * cell[3 + k] + z * cell[6 + k])
        self.assertGreater(abs(cell[0] - 2.3), 1e-3)

    def test_velocities(self):
        """A run begins with the velocities of the file, in angstrom per femtosecond, and says so;
        what else it does not follow is said, too."""
        write("vel.xyz", "1\nProperties=species:S:1:pos:R:3:vel:R:3:masses:R:1\n"
              "O 0 0 0 0 0.01 0 18\n")
        options = "--weights", "model", "--thermostat", "nve", "--steps", 10, "--every", 10, "-o"
        out, err = run("md", "vel.xyz", *options, "vel.extxyz")
        self.assertIn("velocities of the file, taken as angstrom per femtosecond", err)
        self.assertIn("the masses of the file are not used", err)
        words = read("vel.extxyz").decode().splitlines()[-1].split()
        self.assertAlmostEqual(float(words[2]), 10 * 0.5 * 0.01)
        # m v^2 / 3 k, by CODATA's dalton and k
        kelvin = 15.999 * 1.66053906892e-27 * (0.01e-10 / 1e-15) ** 2 / (3 * 1.380649e-23)
        self.assertAlmostEqual(float(re.search(r"femtosecond: (\S+) kelvin", err).group(1)), kelvin,
                               delta=0.1)
        write("CONTCAR", "O\n1\n9 0 0\n0 9 0\n0 0 9\nO\n1\nDirect\n0 0 0\nLattice velocities\n1\n" +
              "0 0 0\n" * 6 + "\n0 0.01 0\n")
        out, err = run("md", "CONTCAR", *options, "contcar.extxyz")
        self.assertIn("velocities of the cell are not used", err)
        words = read("contcar.extxyz").decode().splitlines()[-1].split()
        self.assertAlmostEqual(float(words[2]), 10 * 0.5 * 0.01)

    def test_stops(self):
        """A signal ends a relaxation and a molecular dynamics within a step; frames that were done
        stay in the output, and nothing else does."""
        n = 6
        large = ["%s %g %g %g" % ("CHON"[(i + j + k) % 4], 1.5 * i, 1.5 * j, 1.5 * k)
                 for i in range(n) for j in range(n) for k in range(n)]
        large = "%d\ncharge=0\n%s\n" % (n ** 3, "\n".join(large))
        write("stops.xyz", "1\ncharge=0\nO 0 0 0\n" + large)
        write("large.xyz", large)
        for number in signal.SIGTERM, signal.SIGINT:
            for name, kept in ("stops.xyz", 1), ("large.xyz", 0):
                err, code = self.stop(number, kept, "relax", name, "--weights", "model", "-o",
                                      "stopped.extxyz", "--steps", 100000, "--fmax", 1e-9,
                                      "--threads", 1)
                self.assertEqual(code, 128 + number, err)
                self.assertIn("stopped by " + number.name, err)
                self.assertEqual([f for f in os.listdir() if f.startswith("stopped")],
                                 ["stopped.extxyz"] * kept)
                if kept:
                    self.assertEqual(read("stopped.extxyz").count(b"Properties="), 1)
                    self.assertIn("1 frames were done, and are kept", err)
                    os.remove("stopped.extxyz")
        err, code = self.stop(signal.SIGTERM, 1, "relax", "stops.xyz", "--weights", "model", "-o",
                              "stopped.extxyz", "--steps", 100000, "--fmax", 1e-9, "--threads", 1,
                              then=lambda: os.mkdir("stopped.extxyz"))
        self.assertEqual(code, 74, err)  # the frame that was done has no place to go
        self.assertRegex(err, "stopped.extxyz: .*directory")
        self.assertNotIn("are kept", err)
        os.rmdir("stopped.extxyz")
        self.assertEqual([f for f in os.listdir() if f.startswith("stopped")], [])
        err, code = self.stop(signal.SIGTERM, 0, "md", "large.xyz", "--weights", "model", "-o",
                              "stopped.extxyz", "--steps", 100000, "--threads", 1, "--dt", 0.01)
        self.assertEqual(code, 128 + signal.SIGTERM, err)

    def stop(self, number, rows, *args, then=None):
        """Standard error and exit code of a run that has a signal after so many rows of its table,
        and some time to begin with the next."""
        terminal, table = pty.openpty()  # whose lines come at once
        self.addCleanup(os.close, terminal)
        with subprocess.Popen([EXE, *map(str, args)], stdout=table, stderr=subprocess.PIPE,
                              text=True) as child:
            os.close(table)
            got = b""
            while rows and got.count(b"\n") <= rows:
                got += os.read(terminal, 1000)
            if then:
                then()
            time.sleep(2)
            child.send_signal(number)
            begin = time.monotonic()
            err = child.communicate(timeout=100)[1]
            self.assertLess(time.monotonic() - begin, 20)
            return err, child.returncode

    def test_frames(self):
        """A frame that cannot be used costs itself; frames may go to standard output."""
        write("some.xyz", WATER + "0\nnone\n" + WATER)
        out, err = run("relax", "some.xyz", "--weights", "model", "-o", "-", "--steps", 1, code=1)
        self.assertEqual(out.count("Properties="), 2)
        self.assertIn("some.xyz: frame 2: line 10: a frame without atoms", err)


class Company(Frames):
    def company(self):
        """A library with a frame that explodes, one that cannot be used, atoms that lie on each
        other, one atom, fixed atoms, and a frame of each for files of one; their names."""
        atoms = [line.split() for line in WATER.splitlines()[2:]]
        held = '6\nProperties=species:S:1:pos:R:3:move_mask:L:1 charge=0\n' + "".join(
            " ".join(a) + (" F\n" if i < 2 else " T\n") for i, a in enumerate(atoms))
        small = ["%d\ncharge=0\n%s" % (n, "".join(
            "%s %g %g %g\n" % ("CHON"[i % 4], 1.2 * i, 0.3 * (i % 3) + 0.01 * k, 0.1 * i * (i % 2))
            for i in range(n))) for k, n in enumerate((2, 5, 9, 3, 12, 4, 7))]
        near = "3\ncharge=0\nO 0 0 0\nH 0.02 0 0\nH 0 0.03 0\n"
        on = "2\ncharge=0\nO 0 0 0\nO 0 0 0\n"
        frames = [WATER, *small[:4], near, "1\ncharge=0\nH 1 2 3\n", on, held, *small[4:],
                  WATER.replace("O 2.8", "Au 2.8"), WATER]
        write("library.xyz", "".join(frames))
        for i, frame in enumerate(frames):
            write("one_%d.xyz" % (i + 1), frame)
        return frames

    def test_company(self):
        """Frames that are relaxed together have the bytes that they have alone, whatever becomes of
        the others."""
        options = "--weights", "model", "--steps", 40, "--fmax", 0.02
        n = len(self.company())
        table, err = run("relax", "library.xyz", *options, "-o", "together.extxyz", code=1)
        alone, rows = b"", []
        for i in range(n):
            out, said = run("relax", "one_%d.xyz" % (i + 1), *options, "-o", "alone.extxyz",
                            code=None)
            lost = "no relaxed frame" in said
            if lost:
                self.assertIn(re.search("relaxed frame: .*", said).group(0).replace(
                    "one_%d:1" % (i + 1), "library:%d" % (i + 1)), err)
            else:
                rows += out.replace("one_%d:1" % (i + 1), "library:%d" % (i + 1)).splitlines()[1:]
                alone += read("alone.extxyz").replace(b"one_%d:1" % (i + 1),
                                                      b"library:%d" % (i + 1))
            if os.path.exists("alone.extxyz"):
                os.remove("alone.extxyz")
        self.assertEqual(read("together.extxyz"), alone)
        self.assertEqual(table.splitlines()[1:], rows)
        self.assertGreater(len(rows), 8)
        self.assertIn("no", [row.split("\t")[1] for row in rows])
        self.assertIn("yes", [row.split("\t")[1] for row in rows])
        self.assertIn("lie on each other", err)
        for more in ("--batch-tokens", 20), ("--threads", 1), ("--cpu-mask", "generic"):
            run("relax", "library.xyz", *options, "-o", "again.extxyz", *more, code=1)
            if more[0] != "--cpu-mask":
                self.assertEqual(read("again.extxyz"), alone)
            os.remove("again.extxyz")
        os.remove("together.extxyz")

    def test_job(self):
        """Shards, workers and a journal give the bytes of a plain run; tests/jobs/tasks.py kills
        such runs."""
        options = "--weights", "model", "--steps", 30, "--fmax", 0.02
        self.company()
        run("relax", "library.xyz", *options, "-o", "whole.xyz", code=1)
        whole = read("whole.xyz")
        run("relax", "library.xyz", *options, "-o", "job.extxyz", "--resume", code=1)
        self.assertEqual(read("job.extxyz"), whole)
        for i in 1, 2, 3:
            run("relax", "library.xyz", *options, "-o", "parts.extxyz", "--shard", "%d/3" % i,
                code=None)
        run("merge", "parts.extxyz", code=1)
        self.assertEqual(read("parts.extxyz"), whole)
        run("relax", "library.xyz", *options, "-o", "workers.extxyz", "--workers", 2, "--threads",
            2, code=1)
        self.assertEqual(read("workers.extxyz"), whole)
        write("empty.xyz", "")
        run("relax", "empty.xyz", *options, "-o", "empty.extxyz", code=1)
        for name in "whole.xyz", "job.extxyz", "workers.extxyz":
            os.remove(name)

    def test_cells_in_company(self):
        """Cells move each for itself, beside frames without a cell."""
        cell = ('2\nLattice="%g 0 0 0.2 2.4 0 0 0 2.5" charge=0 '
                'Properties=species:S:1:pos:R:3:move_mask:L:1\nC 0 0 0 F\nC 1.2 1.1 1.3 %s\n')
        frames = [cell % (2.3, "T"), WATER, cell % (2.35, "F"), cell % (2.25, "T")]
        write("cells.xyz", "".join(frames))
        options = "--weights", "model", "--cell", "--steps", 20
        err = run("relax", "cells.xyz", *options, "-o", "cells.extxyz", code=1)[1]
        self.assertIn("cells:2: no relaxed frame", err)
        alone = b""
        for i in 0, 2, 3:
            write("cell_one.xyz", frames[i])
            run("relax", "cell_one.xyz", *options, "-o", "cell_one.extxyz", code=None)
            alone += read("cell_one.extxyz").replace(b"cell_one:1", b"cells:%d" % (i + 1))
            os.remove("cell_one.extxyz")
        self.assertEqual(read("cells.extxyz"), alone)

    def test_many_trajectories(self):
        """Each of many frames has the trajectory that it has alone, by workers and shards, too, and
        all go on."""
        n = len(self.company())
        options = "--weights", "model", "--every", 10, "--temperature", 100
        table, err = run("md", "library.xyz", *options, "--steps", 25, "-o", "trajectories/",
                         code=1)
        names = sorted(os.listdir("trajectories"))
        self.assertIn("library:1.extxyz", names)
        rows = {row.split("\t")[0]: row.split("\t")[1] for row in table.splitlines()[1:]}
        self.assertEqual(set(rows.values()), {"25"})
        self.assertLess(len(rows), n)
        whole = {}
        for i in range(1, n + 1):
            out, said = run("md", "one_%d.xyz" % i, *options, "--steps", 25, "-o", "alone.extxyz",
                            code=None)
            name = "trajectories/library:%d.extxyz" % i
            self.assertEqual(os.path.exists(name), os.path.exists("alone.extxyz"), said)
            if os.path.exists(name):
                whole[name] = read(name)
                self.assertEqual(whole[name], read("alone.extxyz"))
                os.remove("alone.extxyz")
            self.assertEqual("library:%d" % i in rows, "steps 1 to 25" in said)
        for name in os.listdir("trajectories"):
            os.truncate("trajectories/" + name, os.path.getsize("trajectories/" + name) * 2 // 3)
        run("md", "library.xyz", *options, "--steps", 25, "-o", "trajectories", "--resume", code=1)
        for i, args in enumerate((("--workers", 2, "--threads", 2), ("--shard", "1/2"))):
            run("md", "library.xyz", *options, "--steps", 25, "-o", "many_%d/" % i, *args,
                code=1)
        run("md", "library.xyz", *options, "--steps", 25, "-o", "many_1/", "--shard", "2/2",
            code=None)
        for name, text in whole.items():
            for folder in "trajectories", "many_0", "many_1":
                self.assertEqual(read(name.replace("trajectories", folder)), text, (folder, name))
        err = run("md", "library.xyz", *options, "--steps", 25, "-o", "trajectories", code=1)[1]
        self.assertIn("is there already", err)
        run("md", "library.xyz", *options, "-o", "none/none/", code=73)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
