#!/usr/bin/env python3
"""test_install.py MESON BUILD SOURCE_ROOT - what `meson install` puts down is enough: the
command runs, pkg-config and the loader look where it lies, C programs are built by the lines that
README and the programs themselves give, the header is C11 and C++, and the shared library exports
bioinfer_* only."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(*args, **more):
    p = subprocess.run(args, capture_output=True, text=True, **more)
    if p.returncode:
        sys.exit(f"{args}: exit {p.returncode}\n{p.stdout}{p.stderr}")
    return p.stdout


def check_places(meson, build, pc, lib, folder):
    """Under a usual prefix, pkg-config and ld.so know the folders without being told."""
    options = {o["name"]: o["value"]
               for o in json.loads(run(meson, "introspect", build, "--buildoptions"))}
    if options["prefix"] not in ("/usr", "/usr/local") or not os.path.exists("/etc/debian_version"):
        return
    known = run("pkg-config", "--variable", "pc_path", "pkg-config").strip().split(":")
    assert os.path.dirname(pc)[len(folder):] in known, f"{pc} is in none of {known}"
    known = [line.strip() for name in glob.glob("/etc/ld.so.conf.d/*.conf") for line in open(name)]
    known += ["/lib", "/usr/lib"]
    assert os.path.dirname(lib)[len(folder):] in known, f"{lib} is in none of {known}"


def lines_that_build(root):
    """(program, line): `cc` lines of README and of the comments in the examples."""
    for name in ("README.md", "examples/embed_fasta.c", "examples/stream_threads.c"):
        text = open(os.path.join(root, name), encoding="utf-8").read()
        found = re.findall(r"^(?: \*)?     ?(cc .*bioinfer\).*)$", text, re.M)
        assert len(found) == 1, f"{name}: {found}"
        yield found[0].split()[-1], found[0]


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
    bash = glob.glob(folder + "/**/bash-completion/completions/bioinfer.bash", recursive=True)
    zsh = glob.glob(folder + "/**/zsh/site-functions/_bioinfer", recursive=True)
    fish = glob.glob(folder + "/**/fish/vendor_completions.d/bioinfer.fish", recursive=True)
    for name, found in (("bioinfer.bash", bash), ("_bioinfer", zsh), ("bioinfer.fish", fish),
                        ("bioinfer.pc", pc), ("bioinfer", exe), ("libbioinfer.so", lib),
                        ("bioinfer.1", man), ("bioinfer-tiny", tiny)):
        assert len(found) == 1, f"{name}: {found}"
    model = os.path.dirname(tiny[0])
    fasta = os.path.join(model, "golden", "sequences.fasta")

    out = os.path.join(folder, "out.npz")
    run(exe[0], "esm2", fasta, "--weights", model, "-o", out)
    assert os.path.getsize(out) > 12 * 1280

    # a tree finds its own weights wherever it lies, by the place of the program ...
    moved = os.path.join(folder, "a moved tree")
    shutil.copytree(os.path.dirname(os.path.dirname(exe[0])), moved, symlinks=True)
    command = [os.path.join(moved, "bin", "bioinfer"), "esm2", fasta, "--weights", "tiny", "-o",
               out]
    run(*command)
    assert os.path.realpath(moved) + "/share/" in run(command[0], "info", "tiny")
    # ... and does not look into the one that it was built from
    shutil.rmtree(os.path.join(moved, "share"))
    if (not os.path.exists("/usr/local/share/bioinfer") and
        not os.path.exists("/usr/share/bioinfer")):
        for command in ([command[0], "info", "tiny"], command):
            p = subprocess.run(command, capture_output=True, text=True)
            assert (p.returncode in (65, 66, 78) and
                    "tiny: no such file" in p.stderr), (command, p.stdout, p.stderr)

    env = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(pc[0]), PKG_CONFIG_SYSROOT_DIR=folder)
    flags = run("pkg-config", "--cflags", "--libs", "bioinfer", env=env).split()
    check_places(meson, build, pc[0], lib[0], folder)
    shutil.copytree(os.path.join(root, "examples"), os.path.join(folder, "examples"))
    for program, line in lines_that_build(root):
        at = folder if "examples/" in line else os.path.join(folder, "examples")
        line = line.replace("cc ", cc + " -Wall -Wextra -Werror -pedantic ", 1)
        run("sh", "-c", line, env=env, cwd=at)
        program = os.path.join(at, program)
        lines = run(program, model, fasta, *(["2"] if "threads" in program else []),
                    env=dict(os.environ, LD_LIBRARY_PATH=os.path.dirname(lib[0]))).splitlines()
        assert len(lines) == 12, lines

    # the id of README's first result is one of the file that it names
    readme = open(os.path.join(root, "README.md"), encoding="utf-8").read()
    name, key = re.search(r"bioinfer esm2 (share/\S+) -o.*?numpy.load\(\S+\)\[\"(.*?)\"\]", readme,
                          re.S).groups()
    assert f">{key}\n" in open(os.path.join(root, name)).read(), f"{key} is not in {name}"

    include = [f for f in flags if f.startswith("-I")]
    for language, standard in (("c", "c11"), ("c++", "c++11"), ("c++", "c++20")):
        if language == "c" or shutil.which("g++"):
            run("g++" if language == "c++" else cc, "-x", language, f"-std={standard}", "-Wall",
                "-Wextra", "-Werror", *include, "-fsyntax-only", "-",
                input="#include <bioinfer.h>\n")
    if shutil.which("nm"):
        symbols = [line.split()[-1].split("@")[0]
                   for line in run("nm", "-D", "--defined-only", lib[0]).splitlines()]
        foreign = [s for s in symbols if not s.startswith("bioinfer_")]
        assert symbols and not foreign, foreign
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bioinfer-install-") as temporary:
        sys.exit(main(*sys.argv[1:4], temporary))
