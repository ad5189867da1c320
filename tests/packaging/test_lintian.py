#!/usr/bin/env python3
"""test_lintian.py MESON BUILD SOURCE_ROOT - lintian finds no error in the Debian packages of this
build, or in the folder BIOINFER_DIST, and a library with other symbols is refused."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_tree(meson, build, folder):
    """The tree that tools/release.sh makes packages of: bin, include, lib, share."""
    run(meson, "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", folder)
    exe, = glob.glob(folder + "/**/bin/bioinfer", recursive=True)
    prefix, tree = os.path.dirname(os.path.dirname(exe)), os.path.join(folder, "tree")
    for name in ("bin", "include", "share"):
        shutil.copytree(os.path.join(prefix, name), os.path.join(tree, name))
    library, = glob.glob(prefix + "/lib*/**/libbioinfer.so", recursive=True)
    os.mkdir(os.path.join(tree, "lib"))
    for path in glob.glob(library + "*"):
        shutil.copy(path, os.path.join(tree, "lib"), follow_symlinks=False)
    shutil.copytree(os.path.join(os.path.dirname(library), "pkgconfig"),
                    os.path.join(tree, "lib", "pkgconfig"))
    run("strip", os.path.join(tree, "bin", "bioinfer"),
        os.path.realpath(os.path.join(tree, "lib", "libbioinfer.so")))
    return tree


def make_packages(meson, build, root, folder):
    dist = os.environ.get("BIOINFER_DIST")
    if dist:
        return glob.glob(os.path.join(os.path.abspath(root), dist, "*.deb"))
    script = os.path.join(root, "tools", "deb.sh")
    tree, out = make_tree(meson, build, folder), os.path.join(folder, "out")
    architecture = run("dpkg", "--print-architecture").strip()
    os.mkdir(out)
    run(script, tree, os.path.join(folder, "work"), out, architecture, "-z0")
    check_contents(out, glob.glob(out + "/*.deb"))
    check_symbols(script, tree, folder, architecture)
    return glob.glob(out + "/*.deb")


def check_contents(out, debs):
    """Each file is in one package, and the library's package tells its symbols."""
    owners = {}
    for deb in debs:
        for line in run("dpkg-deb", "--contents", deb).splitlines():
            if not line.startswith("d"):
                name = line.split(" -> ")[0].split()[-1]
                assert owners.setdefault(name, deb) == deb, (name, deb, owners[name])
    paths = "\n".join(f"{os.path.basename(deb).split('_')[0]} {name}"
                      for name, deb in owners.items())
    for package, end in (("bioinfer", "/bin/bioinfer"), ("libbioinfer0", "/libbioinfer.so.0"),
                         ("libbioinfer-dev", "/libbioinfer.so"),
                         ("libbioinfer-dev", "/bioinfer.h"), ("libbioinfer-dev", "/bioinfer.pc"),
                         ("bioinfer", "/share/bioinfer/bioinfer-tiny/heldout.fasta")):
        assert re.search(rf"^{package} \S*{end}$", paths, re.M), (package, end)
    library, = glob.glob(out + "/libbioinfer0_*.deb")
    symbols = run("dpkg-deb", "--info", library, "symbols")
    assert re.search(r"^ bioinfer_embed_open@Base 0\.1\.0$", symbols, re.M), symbols


def check_symbols(script, tree, folder, architecture):
    """A library with one symbol more or fewer than the list is refused, and the symbol named."""
    library = os.path.realpath(os.path.join(tree, "lib", "libbioinfer.so"))
    names = re.findall(r" (bioinfer_\w+)@Base", run("cat", os.path.join(
        os.path.dirname(script), "..", "packaging", "debian", "libbioinfer0.symbols")))
    source = os.path.join(folder, "other.c")
    for others, named in ((names[1:], names[0]), (names + ["bioinfer_other"], "bioinfer_other")):
        with open(source, "w") as file:
            file.writelines(f"int {name}(void) {{ return 0; }}\n" for name in others)
        run("cc", "-shared", "-fPIC", "-Wl,-soname,libbioinfer.so.0", source, "-o", library)
        done = subprocess.run([script, tree, os.path.join(folder, "work"), folder, architecture],
                              capture_output=True, text=True)
        assert done.returncode and f" {named}@Base" in done.stdout + done.stderr, done


def main(meson, build, root):
    if not (shutil.which("lintian") and shutil.which("dpkg-deb") and
            shutil.which("dpkg-gensymbols") and shutil.which("strip")):
        print("no lintian, dpkg-deb, dpkg-gensymbols or strip")
        return 77
    with tempfile.TemporaryDirectory(prefix="bi-") as folder:
        debs = make_packages(meson, build, root, folder)
        assert debs
        done = subprocess.run(["lintian", "--fail-on", "error", *debs], capture_output=True,
                              text=True)
    print(done.stdout, done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
