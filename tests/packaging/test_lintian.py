#!/usr/bin/env python3
"""test_lintian.py MESON BUILD SOURCE_ROOT - lintian finds no error in the Debian package of this
build, or in the one of the folder BIOINFER_DIST."""
import glob
import os
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


def make_package(meson, build, root, folder):
    dist = os.environ.get("BIOINFER_DIST")
    if dist:
        deb, = glob.glob(os.path.join(os.path.abspath(root), dist, "*.deb"))
        return deb
    deb = os.path.join(folder, "bioinfer.deb")
    run(os.path.join(root, "tools", "deb.sh"), make_tree(meson, build, folder),
        os.path.join(folder, "work"), deb, "-z0")
    return deb


def main(meson, build, root):
    if not (shutil.which("lintian") and shutil.which("dpkg-deb") and shutil.which("strip")):
        print("no lintian, dpkg-deb or strip")
        return 77
    with tempfile.TemporaryDirectory(prefix="bi-") as folder:
        deb = make_package(meson, build, root, folder)
        done = subprocess.run(["lintian", "--fail-on", "error", deb], capture_output=True,
                              text=True)
    print(done.stdout, done.stderr)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]))
