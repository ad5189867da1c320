#!/usr/bin/env python3
"""test_wheel.py SOURCE_ROOT PACKAGE LIBRARY BIOINFER - the wheel of this build, or that of the
folder BIOINFER_DIST, installed by pip into a fresh virtual environment and tested by pytest."""
import filecmp
import glob
import os
import signal
import subprocess
import sys
import tempfile
import zipfile

VERSION = "0.0.1"  # says that the build is no release
PYTHONS = (sys.executable, "/usr/bin/python3")


def skip(why):
    print(why)
    sys.exit(77)


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def python_with(*modules):
    for python in PYTHONS:
        if not subprocess.run([python, "-c", "import " + ", ".join(modules)],
                              capture_output=True).returncode:
            return python
    return skip(f"no Python has {', '.join(modules)} (Debian: python3-venv, python3-numpy, "
                "python3-pytest)")


def wheel_of(root, package, library, exe, folder):
    dist = os.environ.get("BIOINFER_DIST")
    if dist:
        found = glob.glob(os.path.join(os.path.abspath(root), dist, "*_x86_64.whl"))
        assert len(found) == 1, found
        return found[0]
    share = os.path.join(root, "share")
    return run(sys.executable, os.path.join(root, "tools", "wheel.py"), "--package=" + package,
               "--library=" + library, "--command=" + exe, "--share=" + share,
               "--version=" + VERSION,
               "--platform=linux_x86_64", "--out=" + folder).strip()


def check_record(wheel):
    """RECORD lists every file, and nothing that only a build folder has is in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = [name for name in names if name.endswith("/RECORD")]
        listed = [line.split(",")[0] for line in archive.read(record[0]).decode().splitlines()]
    assert sorted(listed) == sorted(names) and len(set(names)) == len(names)
    assert not [name for name in names if "__pycache__" in name or name.endswith(".p")], names
    for name in ("bioinfer/_core.abi3.so", "bioinfer/bin/bioinfer", "_bioinfer_command.py",
                 "bioinfer/__main__.py", "bioinfer/lib/libbioinfer.so.0", "bioinfer/py.typed",
                 "bioinfer/share/bioinfer/bioinfer-tiny/model.safetensors"):
        assert name in names, f"{name} is not in the wheel"


def check_command(venv, root, exe, folder, env):
    """`bioinfer` and `python -m bioinfer` are the program of the wheel, whatever PATH says."""
    own, script = (os.path.join(venv, "bin", name) for name in ("python", "bioinfer"))
    package = glob.glob(os.path.join(venv, "lib", "*", "site-packages", "bioinfer"))[0]
    program = os.path.join(package, "bin", "bioinfer")
    assert os.access(program, os.X_OK), program
    if not os.environ.get("BIOINFER_DIST"):
        assert filecmp.cmp(program, exe, shallow=False)
    # a PATH whose only bioinfer fails, and a folder that has one more
    false = os.path.join(folder, "false")
    os.mkdir(false)
    with open(os.path.join(false, "bioinfer"), "w", encoding="ascii") as file:
        file.write("#!/bin/sh\nexit 9\n")
    os.chmod(file.name, 0o755)
    env = dict(env, PATH=false)
    fasta = os.path.join(root, "share", "bioinfer-tiny", "golden", "sequences.fasta")
    for i, start in enumerate(([script], [own, "-m", "bioinfer"])):
        assert run(*start, "--version", env=env, cwd=false) == run(program, "--version", env=env)
        # the weights that come with it are found, and workers are started as the command does
        run(*start, "esm2", fasta, "--weights", "tiny", "--device", "cpu", "--workers", "2", "-o",
            os.path.join(folder, f"{i}.npz"), env=env, cwd=false)
        done = subprocess.run([*start, "esm2", "/no/such.fasta", "--weights", "tiny"], env=env,
                              capture_output=True, text=True, cwd=false)
        direct = subprocess.run([program, "esm2", "/no/such.fasta", "--weights", "tiny"], env=env,
                                capture_output=True, text=True, cwd=false)
        assert (done.returncode, done.stderr) == (direct.returncode, direct.stderr)
        assert done.returncode > 0 and "/no/such.fasta" in done.stderr
    run(program, "esm2", fasta, "--weights", "tiny", "--device", "cpu", "-o",
        os.path.join(folder, "direct.npz"), env=env, cwd=false)
    for i in range(2):
        assert filecmp.cmp(os.path.join(folder, f"{i}.npz"), os.path.join(folder, "direct.npz"),
                           shallow=False)
    # Signals that Python ignores are not handed on: a program in its place tells of its start.
    with open(program, "rb") as file:
        content = file.read()
    with open(program, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\ngrep SigIgn /proc/$$/status\n[ \"$*\" = \"a  b c\" ]\n")
    ignored = int(run(script, "a  b", "c", env=dict(env, PATH="/usr/bin:/bin")).split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGXFSZ - 1), hex(ignored)
    with open(program, "wb") as file:
        file.write(content)
    os.chmod(program, 0o644)
    done = subprocess.run([script, "--version"], env=env, capture_output=True, text=True)
    assert done.returncode == 1 and program in done.stderr, done
    os.chmod(program, 0o755)


def main(root, package, library, exe):
    python = python_with("ensurepip", "numpy", "pytest")
    root = os.path.abspath(root)
    with tempfile.TemporaryDirectory(prefix="bioinfer-wheel-") as folder:
        wheel = wheel_of(root, package, library, os.path.abspath(exe), folder)
        check_record(wheel)
        venv = os.path.join(folder, "venv")
        # NumPy and pytest are those of the system: no index is asked
        run(python, "-m", "venv", "--system-site-packages", venv)
        own = os.path.join(venv, "bin", "python")
        env = {name: value for name, value in os.environ.items()
               if name not in ("PYTHONPATH", "LD_LIBRARY_PATH")}
        run(own, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", wheel, env=env)
        where = run(own, "-c", "import bioinfer; print(bioinfer.__file__); "
                    "m = bioinfer.open('tiny'); print(m.info['path'])", cwd=folder, env=env)
        assert all(line.startswith(os.path.realpath(venv)) for line in where.splitlines()), where
        check_command(venv, root, exe, folder, env)
        env.update(BIOINFER_COMMAND=os.path.abspath(exe), BIOINFER_ROOT=root,
                   PYTHONDONTWRITEBYTECODE="1")
        print(run(own, "-m", "pytest", "-q", "-p", "no:cacheprovider",
                  os.path.join(root, "tests", "python"), cwd=folder, env=env))
        run(own, "-m", "pip", "uninstall", "--yes", "--quiet", "bioinfer", env=env)
        left = glob.glob(os.path.join(venv, "lib", "*", "site-packages", "*bioinfer*"))
        left += glob.glob(os.path.join(venv, "bin", "bioinfer*"))
        assert not left, left
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
