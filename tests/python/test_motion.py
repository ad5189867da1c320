"""Relaxation and molecular dynamics: the frames and the trajectories of the command, as arrays."""
import glob
import os
import signal
import subprocess
import sys
import tempfile
import time
import types

import numpy as np
import pytest

import bioinfer
from test_energy import WATER, folder, like_ase, net  # noqa: F401  fixtures

BOX = {"numbers": [8, 1, 1, 8, 1, 1], "cell": [4.5, 4.5, 4.5], "pbc": True,
       "positions": WATER["positions"] + [[x + 2.2 for x in p] for p in WATER["positions"]]}


def write(path, *frames, more="", columns=("",)):
    """Frames as extended XYZ."""
    names = {1: "H", 8: "O"}
    with open(path, "w") as file:
        for f in frames:
            cell = f.get("cell")
            words = "" if cell is None else (
                f'Lattice="{cell[0]} 0 0 0 {cell[1]} 0 0 0 {cell[2]}" pbc="T T T" ')
            print(len(f["numbers"]), words + more, sep="\n", file=file)
            for i, (n, p) in enumerate(zip(f["numbers"], f["positions"])):
                print(names[n], *p, columns[i % len(columns)], file=file)
    return str(path)


def test_relax_is_the_command(net, command, folder, tmp_path):
    path = write(tmp_path / "in.xyz", WATER, BOX)
    table = command("relax", path, "--weights", str(folder), "--device", "cpu", "--fmax", "0.1",
                    "-o", "out.extxyz")
    with open(tmp_path / "out.extxyz") as file:
        want = file.read()
    names = ["in:1", "in:2"]
    ase = [like_ase(WATER), like_ase({**BOX, "cell": np.diag(BOX["cell"]).tolist(),
                                      "pbc": [True] * 3})]
    for source in path, dict(zip(names, [WATER, BOX])), zip(names, ase):
        found = list(net.relax(source, fmax=0.1))
        assert "".join(r.text for r in found) == want
    for r, row in zip(found, table.splitlines()[1:]):
        columns = row.split("\t")
        assert ("yes" if r.converged else "no", str(r.steps)) == tuple(columns[1:3])
        assert ("%.6f" % r.energy, "%.6f" % r.largest) == tuple(columns[3:])
        assert r.converged and 0 < r.largest < 0.1 and r.steps > 1


def test_numbers_are_of_the_last_places(net):
    for r in net.relax([WATER, BOX]):
        e = net.energy({"numbers": r.numbers, "positions": r.positions, "cell": r.cell,
                        "pbc": r.pbc}, stress=True).one()
        assert e.energy == pytest.approx(r.energy, abs=1e-5)
        assert np.abs(e.forces - r.forces).max() < 1e-4
        assert (e.stress is None) == (r.stress is None)
        assert e.stress is None or np.abs(e.stress - r.stress).max() < 1e-5
        assert r.largest == pytest.approx(np.linalg.norm(r.forces, axis=1).max())
        assert r.row()["converged"] and r.row()["steps"] == r.steps
    few = net.relax(WATER, steps=2).one()
    assert few.ok and not few.converged and few.steps == 2
    assert few.energy < net.energy(WATER).one().energy


def test_a_cell_is_relaxed(net):
    still, moved = (net.relax(BOX, cell=cell, steps=30).one() for cell in (None, True))
    assert np.array_equal(still.cell, np.diag(BOX["cell"]))
    assert np.abs(moved.cell - still.cell).max() > 1e-3
    refused = net.relax([WATER, BOX], cell=True, steps=3)
    assert [r.ok for r in refused] == [False, True]
    with pytest.raises(bioinfer.RecordError, match="not periodic along all"):
        next(iter(refused)).check()


class FixAtoms:
    def __init__(self, indices):
        self.indices = indices

    def get_indices(self):
        return np.array(self.indices)


class FixCartesian(FixAtoms):
    mask = (True, False, False)


class Hookean(FixAtoms):
    pass


def test_what_is_fixed_stays(net, tmp_path):
    start = np.array(WATER["positions"], float)
    atoms = like_ase(WATER)
    atoms.constraints = [FixAtoms([0])]
    # a column of an extended XYZ: may an atom move?
    path = write(tmp_path / "fixed.xyz", WATER, columns=("F", "T", "T"),
                 more="Properties=species:S:1:pos:R:3:move_mask:L:1")
    for source in {**WATER, "fixed": [True, False, False]}, atoms, path:
        for r in net.relax(source).one(), net.md(source, steps=5).one():
            assert np.array_equal(r.positions[0], start[0]), source
            assert not np.array_equal(r.positions[1], start[1])
    assert not np.array_equal(net.relax(WATER).one().positions[0], start[0])
    sideways = np.zeros((3, 3), bool)
    sideways[:, 1] = True
    atoms.constraints = [FixCartesian([1])]
    for source, fixed in ({**WATER, "fixed": sideways}, sideways), (atoms, None):
        r = net.relax(source).one()
        fixed = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 0]], bool) if fixed is None else fixed
        assert np.array_equal(r.positions[fixed], start[fixed])
        assert np.abs(r.positions - start).max() > 1e-3
    atoms.constraints = [Hookean([1])]
    with pytest.raises(bioinfer.InvalidArgument, match="constraint Hookean: FixAtoms and"):
        list(net.relax(atoms))
    assert net.energy(atoms).one().ok  # nothing moves there
    for wrong in [1, 0, 0], [True, False], np.zeros((3, 2), bool):
        with pytest.raises(bioinfer.InvalidArgument, match="fixed: "):
            list(net.md({**WATER, "fixed": wrong}))


def test_md_is_the_command(net, command, folder, tmp_path):
    path = write(tmp_path / "in.xyz", WATER)
    options = ("--weights", str(folder), "--device", "cpu", "--temperature", "200", "--seed", "7",
               "--every", "5")
    command("md", path, *options, "--steps", "20", "-o", "t.extxyz")
    with open(tmp_path / "t.extxyz") as file:
        want = file.read()
    given = {"temperature": 200, "seed": 7, "every": 5}
    mine = tmp_path / "mine.extxyz"
    r = net.md(path, mine, steps=20, **given).one()
    assert mine.read_text() == want
    again = net.md(WATER, mine, steps=20, **given).one()
    assert not again.ok and "is there already" in again.message
    # stopped and taken up; the last frame is where it ended
    os.remove(mine)
    assert net.md(path, mine, steps=10, **given).one().steps == 10
    last = net.md(path, mine, steps=20, resume=True, **given).one()
    assert mine.read_text() == want
    kept = net.md(WATER, steps=20, **given).one()
    rows = [line.split() for line in want.splitlines()[-3:]]
    for end in r, last, kept:
        assert (end.steps, end.time) == (20, 10.0)
        assert end.positions.tolist() == [[float(x) for x in row[1:4]] for row in rows]
        assert end.momenta.tolist() == [[float(x) for x in row[4:7]] for row in rows]
        assert np.array_equal(np.float32(end.forces), [np.float32(row[7:10]) for row in rows])
        assert f"energy={end.energy!r} step=20 " in want
        assert end.row()["kinetic"] == end.kinetic > 0 and end.temperature > 0


def test_many_trajectories(net, tmp_path, monkeypatch):
    frames = {"a": WATER, "b": BOX}
    found = list(net.md(frames, str(tmp_path / "out") + "/", steps=4))
    assert [r.id for r in found] == ["a", "b"] and all(r.ok for r in found)
    assert sorted(os.listdir(tmp_path / "out")) == ["a.extxyz", "b.extxyz"]
    assert all(r.ok for r in net.md(frames, tmp_path / "out", steps=6, resume=True))
    # one file has room for one frame
    with pytest.raises(bioinfer.InvalidArgument, match="several frames"):
        list(net.md(frames, tmp_path / "t.extxyz", steps=2))
    # nobody asked for trajectories, and none is left
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    results = net.md(frames, steps=4)
    for _ in range(2):
        assert [r.positions.tolist() for r in results] == [r.positions.tolist() for r in found]
    assert not glob.glob(str(tmp_path / "bioinfer-md-*"))


def test_momenta(net):
    still = {**WATER, "momenta": np.zeros((3, 3))}
    r = net.md(still, steps=1, thermostat="nve", dt=0.001).one()
    assert r.temperature < 1e-3 and np.abs(r.momenta).max() < 1e-3
    thrown = like_ase(WATER)
    thrown.arrays = {"momenta": np.full((3, 3), 0.5)}
    r = net.md(thrown, steps=1, thermostat="nve", dt=0.001).one()
    assert np.abs(r.momenta - 0.5).max() < 1e-3
    with pytest.raises(bioinfer.InvalidArgument, match="momenta: shape"):
        list(net.md({**WATER, "momenta": [[0, 0, 0]]}))
    assert not net.md({**WATER, "momenta": np.full((3, 3), np.nan)}).one().ok


def test_refused(net, tiny):
    for call in (lambda: net.relax(WATER, fmax=-1), lambda: net.md(WATER, thermostat="none"),
                 lambda: net.md(WATER, resume=True), lambda: net.md(WATER, steps=0),
                 lambda: net.relax(WATER, pbc=2)):
        with pytest.raises(bioinfer.InvalidArgument):
            call()
    for call in (lambda: tiny.relax(WATER).one(), lambda: tiny.md(WATER).one(),
                 lambda: tiny.prepare("relax")):
        with pytest.raises(bioinfer.Unsupported):
            call()
    with pytest.raises(TypeError):
        net.md(WATER, folder=True, trajectory="x", steps=1, nothing=1)
    with pytest.raises(bioinfer.NotFound):
        list(net.relax("/nonexistent.xyz"))
    failed = net.relax([{**WATER, "numbers": [8, 1, 79]}]).one()
    assert not failed.ok and failed.positions.size == 0 and failed.steps == 0


def test_ase(net):
    ase = pytest.importorskip("ase")
    from ase.constraints import FixAtoms as Fixed
    atoms = ase.Atoms(WATER["numbers"], WATER["positions"], constraint=Fixed([0]))
    end = net.md(atoms, steps=3).one().to_ase()
    assert np.array_equal(end.positions[0], atoms.positions[0]) and end.get_momenta().any()
    relaxed = net.relax(atoms).one()
    assert relaxed.to_ase().get_potential_energy() == relaxed.energy


def test_interrupted_between_steps(folder):
    """Ctrl-C ends a run of one frame, which nothing else would for hours."""
    script = ("import bioinfer, sys\n"
              "m = bioinfer.open(sys.argv[1], device='cpu', threads=1)\n"
              f"water = {WATER!r}\n"
              "try:\n"
              "    print('go', flush=True)\n"
              "    m.md(water, steps=10**9, every=10**9).one()\n"
              "except KeyboardInterrupt:\n"
              "    print('interrupted', m.md(water, steps=2).one().steps)\n")
    child = subprocess.Popen([sys.executable, "-c", script, str(folder)], stdout=subprocess.PIPE,
                             text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted 2\n"
