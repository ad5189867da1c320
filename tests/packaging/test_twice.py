#!/usr/bin/env python3
"""test_twice.py SOURCE_ROOT - two releases of equal sources, made in folders of other names, at
other times and with another time zone, language and umask, are equal to the byte. Compiles the
whole library twice, so it is asked for:

    BIOINFER_TWICE=x86_64 meson test -C build --timeout-multiplier 0 'packaging twice'

or =aarch64. BIOINFER_SYSROOT may name the sysroot of a release, BIOINFER_BLOBS its GPU kernels
(otherwise they are left out)."""
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time


def skip(why):
    print(why)
    sys.exit(77)


def release(source, place, arch, more):
    # build folders lie in the root of the tree; files named so lie below
    shutil.copytree(source, place, symlinks=True, ignore=lambda folder, names: [
        name for name in names if name == "__pycache__" or
        folder == source and (name in (".git", "dist") or name.startswith("build"))])
    command = ["tools/release.sh", "--arch=" + arch,
               "--blobs=" + os.environ.get("BIOINFER_BLOBS", "none")]
    if os.environ.get("BIOINFER_SYSROOT"):
        command.append("--sysroot=" + os.environ["BIOINFER_SYSROOT"])
    # 2023-11-14; ccache would take the first one's files for the second
    env = dict(os.environ, SOURCE_DATE_EPOCH="1700000000", CCACHE_DISABLE="1", **more)
    umask = os.umask(0o077 if "TZ" in more else 0o022)
    try:
        done = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True)
    finally:
        os.umask(umask)
    if done.returncode:
        sys.exit(f"{command} in {place}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    sums = {}
    for path in sorted(glob.glob(os.path.join(place, "dist", "*"))):
        with open(path, "rb") as file:
            sums[os.path.basename(path)] = hashlib.sha256(file.read()).hexdigest()
    return sums


def main(source):
    arch = os.environ.get("BIOINFER_TWICE")
    if not arch:
        skip("BIOINFER_TWICE does not ask for two releases: skipped")
    with tempfile.TemporaryDirectory(prefix="bi-twice-") as folder:
        first = release(source, os.path.join(folder, "a"), arch, {})
        time.sleep(2)  # the times of files are of seconds
        second = release(source, os.path.join(folder, "another-place"), arch,
                         {"TZ": "Asia/Tokyo", "LC_ALL": "C"})
        for name in sorted({*first, *second}):
            same = first.get(name) == second.get(name)
            print(name, "equal" if same else "DIFFERS", first.get(name), second.get(name))
    assert len(first) == 7 and first == second
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
