#!/usr/bin/env python3
"""test_install.py MESON BUILD SOURCE_ROOT - what `meson install` puts down is enough: the
command runs, a C program is built by pkg-config, the header is C11 and C++, and the shared
library exports bioinfer_* only."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile


def run(*args, **more):
    p = subprocess.run(args, capture_output=True, text=True, **more)
    if p.returncode:
        sys.exit(f"{args}: exit {p.returncode}\n{p.stdout}{p.stderr}")
    return p.stdout


def main(meson, build, root, folder):
    cc = shutil.which("cc") or shutil.which("gcc")
    if not cc or not shutil.which("pkg-config"):
        print("no C compiler or no pkg-config")
        return 77
    run(meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder)
    pc = glob.glob(folder + "/**/bioinfer.pc", recursive=True)
    exe = glob.glob(folder + "/**/bin/bioinfer", recursive=True)
    lib = glob.glob(folder + "/**/libbioinfer.so", recursive=True)
    man = glob.glob(folder + "/**/man1/bioinfer.1*", recursive=True)
    tiny = glob.glob(folder + "/**/bioinfer-tiny/model.safetensors", recursive=True)
    for name, found in (("bioinfer.pc", pc), ("bioinfer", exe), ("libbioinfer.so", lib),
                        ("bioinfer.1", man), ("bioinfer-tiny", tiny)):
        assert len(found) == 1, f"{name}: {found}"
    model = os.path.dirname(tiny[0])
    fasta = os.path.join(model, "golden", "sequences.fasta")

    out = os.path.join(folder, "out.npz")
    run(exe[0], "esm2", fasta, "--weights", model, "-o", out)
    assert os.path.getsize(out) > 12 * 1280

    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc[0]), PKG_CONFIG_SYSROOT_DIR=folder)
    flags = run("pkg-config", "--cflags", "--libs", "bioinfer", env=env).split()
    program = os.path.join(folder, "embed_fasta")
    run(cc, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic",
        os.path.join(root, "examples", "embed_fasta.c"), *flags, "-lm", "-o", program)
    lines = run(program, model, fasta,
                env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(lib[0]))).splitlines()
    assert len(lines) == 12, lines

    include = [f for f in flags if f.startswith("-I")]
    for language, standard in (("c", "c11"), ("c++", "c++11"), ("c++", "c++20")):
        if language == "c" or shutil.which("g++"):
            run("g++" if language == "c++" else cc, "-x", language, f"-std={standard}", "-Wall",
                "-Wextra", "-Werror", *include, "-fsyntax-only", "-", input="#include <bioinfer.h>\n")
    if shutil.which("nm"):
        symbols = [line.split()[-1].split("@")[0]
                   for line in run("nm", "-D", "--defined-only", lib[0]).splitlines()]
        foreign = [s for s in symbols if not s.startswith("bioinfer_")]
        assert symbols and not foreign, foreign
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bioinfer-install-") as temporary:
        sys.exit(main(*sys.argv[1:4], temporary))
