"""Where the tree and the command are; the package itself is on PYTHONPATH, or installed."""
import os
import subprocess

import pytest

ROOT = os.environ.get("BIOINFER_ROOT", os.path.join(os.path.dirname(__file__), "..", ".."))
TINY = os.path.join(ROOT, "share", "bioinfer-tiny")


@pytest.fixture(scope="session")
def tiny():
    import bioinfer
    with bioinfer.open(TINY, device="cpu", threads=1) as model:
        yield model


@pytest.fixture
def command(tmp_path):
    """Runs the command and gives what it writes to standard output."""
    exe = os.environ.get("BIOINFER_COMMAND")
    if not exe:
        pytest.skip("BIOINFER_COMMAND does not name the command")

    def run(*arguments, code=0):
        done = subprocess.run([exe, *map(str, arguments)], capture_output=True, text=True,
                              cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done.stdout

    return run
