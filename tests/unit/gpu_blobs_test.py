#!/usr/bin/env python3
"""gpu_blobs_test.py SOURCE_ROOT - the list of GPU kernels that one build hands to another
(-Dgpu_blobs=FILE) is taken when it is of the same sources, else refused with the reason."""
import os
import shutil
import subprocess
import sys
import tempfile

PTX = ".version 7.0\n.visible .entry copy_f32()\n{ ret; }\n.visible .entry add_f32()\n{ ret; }\n"


def make(root, out, *paths, says=None):
    p = subprocess.run([sys.executable, os.path.join(root, "tools", "gpu_blobs.py"), out, *paths],
                       capture_output=True, text=True)
    assert (p.returncode != 0) == bool(says), (paths, p.returncode, p.stderr)
    assert not says or says in p.stderr, p.stderr
    assert not says or not os.path.exists(out), out


def main(source, folder):
    root, at = os.path.join(folder, "tree"), lambda name: os.path.join(folder, name)
    for part in ("kernels", "tools"):
        shutil.copytree(os.path.join(source, part), os.path.join(root, part))
    with open(at("copy.sm_80.ptx"), "w") as f:
        f.write(PTX)
    with open(at("copy.gfx942.hsaco"), "wb") as f:
        f.write(bytes(1000))
    files = at("copy.sm_80.ptx"), at("copy.gfx942.hsaco")
    make(root, at("first.c"), *files)
    make(root, at("second.c"), at("first.c"))
    first = open(at("first.c")).read()
    assert first == open(at("second.c")).read()
    for name in ("copy_copy_f32_sm_80", "copy_add_f32_sm_80", "copy_all_gfx942"):
        assert f"static const unsigned char {name}[" in first, name

    make(root, at("none.c"))
    make(root, at("x.c"), at("none.c"), says="holds no kernel")
    with open(at("old.c"), "w") as f:
        f.write("/* Made by tools/gpu_blobs.py. */\n" + first.split("\n", 1)[1])
    make(root, at("x.c"), at("old.c"), says="not a list of GPU kernels")
    # sources of the CPU's kernels play no part, those of a GPU's do
    for path, says in (("cpu/simd.h", None), ("gpu/gpu_entries.h", None),
                       ("gpu/lib/gpu.h", "made of other sources in kernels/")):
        with open(os.path.join(root, "kernels", path), "a") as f:
            f.write("\n")
        make(root, at("x.c"), at("first.c"), says=says)
        if not says:
            os.remove(at("x.c"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bioinfer-blobs-") as temporary:
        main(os.path.abspath(sys.argv[1]), temporary)
