"""Energies of atoms: every source gives the numbers of the command, in float64."""
import copy
import itertools
import json
import os
import pickle
import shutil
import subprocess
import sys
import threading
import types

import numpy as np
import pytest

import bioinfer
from conftest import ROOT

with open(os.path.join(ROOT, "tests", "golden", "tensornet", "golden.json")) as _file:
    GOLDEN = json.load(_file)
NUMBERS = {"H": 1, "C": 6, "N": 7, "O": 8}
WATER = {"numbers": [8, 1, 1], "positions": [[0, 0, 0.119], [0, 0.763, -0.477],
                                             [0, -0.763, -0.477]]}


def frame(name):
    told = GOLDEN["frames"][name]
    return {"numbers": [NUMBERS[s] for s in told["symbols"]], "positions": told["positions"],
            "cell": told["cell"], "pbc": told["pbc"]}


def like_ase(atoms, charge=None):
    """An object that has what the package reads of ASE's Atoms."""
    cell = types.SimpleNamespace(array=np.asarray(atoms.get("cell") or np.zeros((3, 3)), float))
    return types.SimpleNamespace(numbers=np.array(atoms["numbers"]), cell=cell,
                                 positions=np.array(atoms["positions"], float),
                                 pbc=np.array(atoms.get("pbc") or [False] * 3),
                                 info={} if charge is None else {"charge": charge})


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("tensornet") / "model"
    tool = os.path.join(ROOT, "tools", "tensornet_weights.py")
    subprocess.run([sys.executable, tool, str(path)], check=True)
    return path


@pytest.fixture(scope="session")
def net(folder):
    with bioinfer.open(folder, device="cpu", threads=1) as model:
        yield model


def test_numbers_are_those_of_the_reference(net):
    for name, want in GOLDEN["golden"]["formula"].items():
        got = net.energy(frame(name), stress=True).one()
        assert got.network == pytest.approx(want["network"], rel=5e-6)
        assert got.energy == pytest.approx(want["energy"], rel=5e-6)
        assert got.forces.dtype == np.float64
        assert np.abs(got.forces - want["forces"]).max() < 2e-5
        assert got.largest == pytest.approx(np.linalg.norm(got.forces, axis=1).max(), rel=1e-12)
        if all(GOLDEN["frames"][name]["pbc"]):
            assert np.abs(got.stress - want["stress"]).max() < 2e-5
        assert got.numbers.tolist() == frame(name)["numbers"]
        assert got.positions.tolist() == np.asarray(frame(name)["positions"], float).tolist()


def test_every_source_gives_the_same(net, command, folder, tmp_path):
    names = list(GOLDEN["golden"]["formula"])
    known = [frame(name) for name in names]
    want = [r.energy for r in net.energy(known)]
    assert len(set(want)) == len(names)
    assert [r.energy for r in net.energy(like_ase(a) for a in known)] == want
    named = list(net.energy(dict(zip(names, known))))
    assert [r.id for r in named] == names and [r.energy for r in named] == want
    assert [r.id for r in net.energy([("x", known[0]), {**known[1], "id": "y"}])] == ["x", "y"]
    path = tmp_path / "frames.xyz"
    symbols = {n: s for s, n in NUMBERS.items()}
    with open(path, "w") as file:
        for a in known:
            lattice = ("" if not a["cell"] else
                       'Lattice="%s" ' % " ".join(repr(float(x)) for x in np.ravel(a["cell"])))
            file.write("%d\n%spbc=\"%s\" Properties=species:S:1:pos:R:3\n" % (
                len(a["numbers"]), lattice, " ".join("FT"[p] for p in a["pbc"])))
            for n, x in zip(a["numbers"], a["positions"]):
                file.write("%s %r %r %r\n" % (symbols[n], *map(float, x)))
    read = list(net.energy(path))
    assert [r.energy for r in read] == want
    assert [r.energy for r in net.energy([str(path), known[0]])] == want + want[:1]
    lines = command("tensornet", path, "--weights", folder).splitlines()
    head = lines[0].split("\t")
    assert [line.split("\t")[head.index("id")] for line in lines[1:]] == [r.id for r in read]
    told = [float(line.split("\t")[head.index("energy")]) for line in lines[1:]]
    assert told == pytest.approx(want, abs=1e-6)


def test_what_is_wanted(net):
    box = frame("box")
    full = net.energy(box, stress=True).one()
    assert full.forces.shape == (9, 3) and full.stress.shape == (3, 3)
    assert list(full) == ["forces", "stress"] and full["stress"] is full.stress
    plain = net.energy(box).one()
    assert plain.stress is None and plain.array is plain.forces
    alone = net.energy(box, forces=False).one()
    assert alone.forces is None and not alone.arrays and np.isnan(alone.largest)
    assert alone.energy == pytest.approx(full.energy, rel=1e-6)
    assert net.energy(box, forces=False, stress=True).one().stress.tolist() == full.stress.tolist()
    assert net.energy(WATER, stress=True).one().stress is None  # no cell
    free = net.energy(box, pbc=False, stress=True).one()
    assert free.stress is None and free.energy != full.energy and not free.pbc.any()
    assert net.energy({**box, "pbc": None}, pbc=True).one().energy == full.energy
    assert net.energy({**box, "cell": box["cell"]}).arrays("forces")[0].tolist() == \
        full.forces.tolist()
    assert net.energy({**WATER, "cell": [9, 9, 9], "pbc": True}).one().cell.tolist() == \
        np.diag([9.0] * 3).tolist()
    row = full.row()
    assert row["energy"] == full.energy and row["length"] == 9


def test_charges(net):
    for source in (like_ase(WATER, 1), {**WATER, "charge": 1}):
        assert net.energy(source).one().charge == 1
        assert net.energy(source, charge=0).one().charge == 1
    assert net.energy(WATER).one().charge is None
    assert net.energy(WATER, charge=0).one().charge == 0
    # weights of MatGL know no charge
    with pytest.raises(bioinfer.Error, match="charge of 2"):
        net.energy(WATER, charge=2).one()


def test_cells(net):
    """Three lengths are a box; an axis without a vector cannot repeat."""
    box = {**WATER, "cell": [3, 4, 5], "pbc": True}
    whole = net.energy({**box, "cell": np.diag([3, 4, 5])}).one().energy
    assert net.energy(box).one().energy == whole
    chain = {**WATER, "cell": [[3, 0, 0], [0, 0, 0], [0, 0, 0]]}
    along, across = net.energy([{**chain, "pbc": [True, False, False]},
                                {**chain, "pbc": [False, False, True]}])
    assert along.ok and not across.ok and "axis 3" in across.message


def test_frames_that_fail(net, tmp_path):
    far = {**WATER, "positions": np.full((3, 3), np.nan)}
    gold = {"numbers": [79], "positions": [[0, 0, 0]]}
    none = {"numbers": [], "positions": []}
    good, nan, unknown, empty, last = net.energy([WATER, far, gold, none, WATER])
    assert good.ok and last.ok and good.energy == last.energy
    assert not nan.ok and "nan" in nan.message
    assert unknown.status == bioinfer.Status.UNSUPPORTED and "Au" in unknown.message
    assert empty.status == bioinfer.Status.EMPTY
    assert np.isnan(unknown.energy) and unknown.forces is None
    with pytest.raises(bioinfer.RecordError, match="Au"):
        unknown["forces"]
    path = tmp_path / "bad.xyz"
    path.write_text("1\nx\nO 0 0 0\n1\ny\nXx 0 0 0\n")
    first, second = net.energy(path)
    assert first.ok and not second.ok and "Xx" in second.message
    with pytest.raises(bioinfer.NotFound):
        net.energy(tmp_path / "absent.xyz").one()


@pytest.mark.parametrize("wrong, error", [
    ({"numbers": [8, 1], "positions": WATER["positions"]}, ValueError),
    ({**WATER, "numbers": [8.0, 1.0, 1.0]}, ValueError),
    ({**WATER, "numbers": [8, 1, -1]}, ValueError),
    ({**WATER, "numbers": [8, 1, 1 << 40]}, ValueError),
    ({**WATER, "cell": [[1, 2], [3, 4]]}, ValueError),
    ({**WATER, "symbols": "OHH"}, ValueError),
    ({"positions": WATER["positions"]}, ValueError),
    ({**WATER, "charge": "one"}, ValueError),
    ([("x", 3)], TypeError), ([None], TypeError), (3, TypeError)])
def test_wrong_atoms_raise(net, wrong, error):
    with pytest.raises(error):
        list(net.energy(wrong))


def test_other_models_have_no_energies(tiny, net):
    with pytest.raises(bioinfer.Unsupported, match="energies"):
        tiny.energy(WATER).one()
    with pytest.raises(bioinfer.Error):
        net.embed(["MKT"]).one()


def test_memory_is_bounded_and_progress_is_told(net):
    """A source without an end is read as far as results are asked for."""
    read = itertools.count()

    def endless():
        for _ in read:
            yield WATER

    told = []
    found = list(itertools.islice(
        net.energy(endless(), max_bytes=1 << 12, progress=lambda n, m: told.append((n, m))), 300))
    assert len(found) == 300 and all(r.forces.tolist() == found[0].forces.tolist() for r in found)
    assert next(read) < 1000
    assert told[-1][0] >= 300 and all(m == 3 * n for n, m in told)

    def stop(frames, atoms):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(net.energy([WATER] * 3, progress=stop))


def test_threads_share_a_model(net):
    known = [frame(name) for name in GOLDEN["golden"]["formula"]]
    want = [r.energy for r in net.energy(known)]
    found = {}

    def work(i):
        found[i] = [r.energy for r in net.energy(known)]

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(4)] == [want] * 4


def test_pandas(net):
    pytest.importorskip("pandas")
    table = net.energy({"a": WATER, "b": WATER}).to_pandas()
    assert list(table.index) == ["a", "b"] and table["energy"].iloc[0] == table["energy"].iloc[1]


def test_ase(net, folder):
    """Atoms and the calculator, where ASE is installed (PyPI)."""
    ase = pytest.importorskip("ase")
    from bioinfer.ase import Calculator
    water = ase.Atoms("OH2", WATER["positions"])
    want = net.energy(WATER).one()
    assert net.energy(water).one().energy == want.energy
    calculator = Calculator(net)
    water.calc = calculator
    assert water.get_potential_energy() == want.energy
    assert water.get_forces().tolist() == want.forces.tolist()
    with pytest.raises(NotImplementedError):
        water.get_stress()
    a = frame("box")
    box = ase.Atoms(numbers=a["numbers"], positions=a["positions"], cell=a["cell"], pbc=a["pbc"],
                    calculator=calculator)
    stress = net.energy(a, stress=True).one().stress
    assert np.allclose(box.get_stress(voigt=False), (stress + stress.T) / 2, atol=1e-12)
    copy = net.energy(box, stress=True).one().to_ase()
    assert copy.get_potential_energy() == box.get_potential_energy()
    assert (copy.get_stress() == box.get_stress()).all() and (copy.cell == box.cell).all()
    with pytest.raises(bioinfer.RecordError, match="Au"):
        ase.Atoms("Au", calculator=calculator).get_potential_energy()
    with pytest.raises(TypeError, match="device"):
        Calculator(net, device="cpu")
    own = Calculator(folder, device="cpu")
    water.calc = own
    assert water.get_potential_energy() == want.energy
    # another charge is another calculation
    water.info["charge"] = 1
    assert own.calculation_required(water, ["energy"])
    own.close()
    calculator.close()
    assert net.energy(WATER).one().energy == want.energy


def test_ase_copies(net, folder, tmp_path, monkeypatch):
    """ASE's scripts copy calculators, and its parallel ones pickle them."""
    ase = pytest.importorskip("ase")
    from bioinfer.ase import Calculator
    water = ase.Atoms("OH2", WATER["positions"])
    want = net.energy(WATER).one().energy
    monkeypatch.chdir(folder.parent)
    for calculator in (Calculator(net, charge=0), Calculator(folder.name, device="cpu", charge=0)):
        water.calc = calculator
        assert water.get_potential_energy() == want
        other = copy.deepcopy(water)
        other.calc = copy.deepcopy(water.calc)
        assert other.calc is not calculator and other.calc.model is calculator.model
        assert other.calc.results is not calculator.results
        assert not other.calc.calculation_required(water, ["energy"])
        # Changes of the copy leave the calculator as it is.
        other.calc.charge = None
        other.positions[0, 0] += 1
        other.get_potential_energy()
        other.calc.close()
        assert not calculator.calculation_required(water, ["energy"])
        calculator.reset()
        assert water.get_potential_energy() == want
        assert copy.copy(calculator).model is calculator.model
        monkeypatch.chdir(tmp_path)  # a relative path is of the folder where it was opened
        again = pickle.loads(pickle.dumps(calculator))
        assert again.charge == 0 and again.model is not calculator.model
        assert again.model.device == "cpu"
        water.calc = again
        again.reset()
        assert water.get_potential_energy() == want
        again.close()
        with pytest.raises(bioinfer.Misuse):
            again.model.energy(WATER).one()
        assert calculator.model.energy(WATER).one().energy == want


def test_a_pickled_calculator_wants_its_weights(folder, tmp_path):
    pytest.importorskip("ase")
    from bioinfer.ase import Calculator
    place = tmp_path / "weights"
    shutil.copytree(folder, place)
    calculator = Calculator(place, device="cpu", threads=1)
    kept = pickle.dumps(calculator)
    calculator.close()
    shutil.rmtree(place)
    with pytest.raises(bioinfer.NotFound):
        pickle.loads(kept)
    shutil.copytree(folder, place)
    assert pickle.loads(kept).charge is None
    told = json.loads((place / "model.json").read_text())
    told["kwargs"]["model"]["init_args"]["cutoff"] = 4.5
    (place / "model.json").write_text(json.dumps(told))
    with pytest.raises(bioinfer.BadFormat, match="expected that of the pickled calculator"):
        pickle.loads(kept)
