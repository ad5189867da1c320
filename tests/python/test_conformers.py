"""Conformers from SMILES: `python3 -m bioinfer.conformers`. What needs RDKit is skipped where it is
missing; the rest is not."""
import gzip
import io
import os
import subprocess
import sys

import pytest

from bioinfer import conformers

LIBRARY = """\
SMILES name
CCO ethanol

C[C@H](N)C(=O)O |c:1| L alanine
C1CC
CC(C)(C)(C)C
CC(=O)[O-].[Na+] acetate
[H][H]
CC(F)Cl\tone\tmore
c1ccccc1
C/C=C/C trans
C/C=C\\C cis
"""
LOST = {"3": ("5", "molecule_3", "bad_format"), "4": ("6", "molecule_4", "unsupported"),
        "5": ("7", "acetate", "unsupported"), "6": ("8", "molecule_6", "empty")}


def run(*arguments, stdin="", code=0, **environment):
    done = subprocess.run([sys.executable, "-m", "bioinfer.conformers", *map(str, arguments)],
                          input=stdin.encode(), capture_output=True,
                          env={**os.environ, **environment})
    assert done.returncode == code, done.stderr.decode()
    return done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "library.smi"
    path.write_text(LIBRARY)
    return path


# ---- without RDKit ----

def test_lines():
    text = "\ufeffsmiles\r\nCCO  an alcohol \r\n\r\nC\tm\tx\nCC |c:1| y\nN a\x07b\n"
    found = list(conformers.entries(io.BytesIO(text.encode())))
    assert found == [(1, 2, "CCO", "an alcohol"), (2, 4, "C", "m"), (3, 5, "CC |c:1|", "y"),
                     (4, 6, "N", "a b")]
    assert list(conformers.entries(io.BytesIO(b"C\n")))[0].name == "molecule_1"


def test_seeds():
    seeds = {conformers.seed_of(record, seed) for record in range(1, 2000) for seed in (0, 1, 7)}
    assert len(seeds) == 3 * 1999 and 0 <= min(seeds) and max(seeds) < 1 << 31
    assert 0 <= conformers.seed_of(10**12, 2**31 - 1) < 1 << 31


def test_needs_rdkit(library, tmp_path):
    """Where RDKit is missing, the words say how to install it."""
    (tmp_path / "rdkit.py").write_text("raise ImportError('none here')\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    out, err = run(library, code=1, PYTHONPATH=path)
    assert out == "" and "pip install 'bioinfer[chem]'" in err and "Traceback" not in err


def test_arguments(library):
    for wrong in ((), (library, "--jobs", "0"), (library, "--seed", "-1"), (library, "x")):
        assert "usage:" in run(*wrong, code=2)[1]


# ---- with RDKit ----

@pytest.fixture
def chem():
    return pytest.importorskip("rdkit.Chem", reason="RDKit makes the conformers")


def rows_of(text):
    """Rows of the table of failures by record, and the lines that are none."""
    lines = text.splitlines()
    assert lines[0] == "\t".join(conformers.FAILURE)
    rows = [line.split("\t") for line in lines[1:] if line.count("\t") == 4]
    return {row[0]: row[1:] for row in rows}, [line for line in lines if "\t" not in line]


def test_library(chem, library, tmp_path):
    out, err = run(library, code=1)
    rows, words = rows_of(err)
    assert {record: tuple(row[:3]) for record, row in rows.items()} == LOST
    assert "--strip-salts" in rows["5"][3] and "valence" in rows["4"][3]
    assert words == ["bioinfer.conformers: molecules whose SMILES leave a stereocentre open: 1; "
                     "one form of each was taken",
                     "bioinfer.conformers: molecules without a conformer: 4 of 10"]
    # the molecules that the SMILES say, in their order, in space and with all hydrogens
    reader = chem.SDMolSupplier()
    reader.SetData(out, removeHs=False)
    made = list(reader)
    assert [m.GetProp("_Name") for m in made] == ["ethanol", "L alanine", "one", "molecule_8",
                                                  "trans", "cis"]
    for molecule in made:
        conformer = molecule.GetConformer()
        assert conformer.Is3D() and conformer.GetPositions().std(axis=0).min() > 1e-3
        wanted = chem.MolFromSmiles(molecule.GetProp("smiles"))
        chem.AssignStereochemistryFrom3D(molecule)
        assert all(a.GetTotalNumHs() == 0 for a in molecule.GetAtoms())
        isomeric = molecule.GetProp("_Name") != "one"  # the SMILES leaves its centre open
        assert (chem.MolToSmiles(chem.RemoveHs(molecule), isomericSmiles=isomeric) ==
                chem.MolToSmiles(wanted, isomericSmiles=isomeric))
    assert [m.GetProp("record") for m in made] == ["1", "2", "7", "8", "9", "10"]

    # the same bytes by any number of processes, from gzip and from a pipe, and in files
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(LIBRARY.encode()))
    for arguments in ((library, "--jobs", 3), (packed,), ("-",)):
        assert run(*arguments, code=1, stdin=LIBRARY) == (out, err)
    sdf, table = tmp_path / "a.sdf", tmp_path / "a.tsv"
    assert run(library, "-o", sdf, "--failures", table, code=1)[0] == ""
    assert sdf.read_text() == out and rows_of(table.read_text())[0] == rows


def test_options(chem, library):
    first = run("-", stdin="CCCCCC\n")[0]
    # a record has its own conformer, whatever comes before it
    again = run("-", stdin="X\nCCCCCC\n", code=1)[0]
    other = run("-", "--seed", 1, stdin="CCCCCC\n")[0]
    assert len({first, again, other}) == 3
    assert run("-", "--seed", 1, stdin="CCCCCC\n")[0] == other
    assert run("-", stdin="CCCCCC\nC\n")[0].startswith(first)
    out = run("-", "--strip-salts", stdin="[Na+].CC(=O)[O-] acetate\n")[0]
    assert chem.MolFromMolBlock(out).GetNumAtoms() == 4
    assert "4 heavy atoms, more than --max-atoms 3" in run("-", "--max-atoms", 3, stdin="CCCC\n",
                                                          code=1)[1]


def test_inputs(chem, library, tmp_path):
    for path, words in ((tmp_path / "none.smi", "none.smi"), (tmp_path, str(tmp_path))):
        out, err = run(path, code=1)
        assert out == "" and words in err and "Traceback" not in err
    cut = tmp_path / "cut.smi.gz"
    cut.write_bytes(gzip.compress(LIBRARY.encode())[:-9])
    assert "Traceback" not in run(cut, code=1)[1]
    assert "no molecule" in run("-", stdin="\n\n", code=1)[1]
    hostile = "C" * 5000 + " long\n" + "[" * 3000 + "\n\x00\x01\n(((((\n" + "C%" * 50 + "\n"
    out, err = run("-", stdin=hostile, code=1)
    rows, _ = rows_of(err)
    assert out == "" and len(rows) == 5 and rows["1"][2] == "limit"
    # a reader that goes away early
    done = subprocess.run([sys.executable, "-c", f"""
import subprocess, sys
p = subprocess.Popen([sys.executable, "-m", "bioinfer.conformers", {str(library)!r}],
                     stdout=subprocess.PIPE)
p.stdout.close()
sys.exit(p.wait())"""], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr


def test_the_command_reads_them(chem, library, command):
    """Conformers are what `bioinfer` reads; SMILES are refused with the line that makes them."""
    out, _ = run(library, code=1)
    sdf = os.path.join(os.path.dirname(library), "library.sdf")
    with open(sdf, "w", encoding="utf-8") as file:
        file.write(out)
    table = [line.split("\t") for line in command("molecule", "info", sdf).splitlines()]
    assert [row[1] for row in table[1:]] == ["ethanol", "L alanine", "one", "molecule_8", "trans",
                                             "cis"]
    assert {(row[2], row[4]) for row in table[1:]} == {("ok", "space")}
