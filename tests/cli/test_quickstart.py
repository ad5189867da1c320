#!/usr/bin/env python3
"""test_quickstart.py BIOINFER SOURCE_ROOT - ./quickstart installs the compiler of the GPU kernels
where there is a GPU and only there, says what was built, and its words fit a screen. Installing and
building are played by stubs."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile

STUBS = {
    ".ci/packages": 'echo "packages $*" >>calls; [ -z "$REFUSE" ] || [ $# = 0 ]',
    "bin/meson": 'echo "meson $*" >>calls; mkdir -p build/meson-logs build/cli; : '
                 '>build/build.ninja\n'
                 'echo "    GPU kernels  : $KERNELS" >>build/meson-logs/meson-log.txt; seq 200',
    "bin/ninja": 'echo "ninja $*" >>calls; ln -sf "$EXE" build/cli/bioinfer; seq 200',
}


def run(folder, **env):
    calls = os.path.join(folder, "calls")
    if os.path.exists(calls):
        os.remove(calls)
    p = subprocess.run(["./quickstart"], cwd=folder, capture_output=True, text=True, timeout=300,
                       env=dict(os.environ, PATH=folder + "/bin:" + os.environ["PATH"], **env))
    assert p.returncode == 0, p.stdout + p.stderr
    text = p.stdout + p.stderr
    assert len(text.splitlines()) <= 24 and all(len(line) <= 160
                                                for line in text.splitlines()), text
    assert "4 records" in text and "... 4 in all" in text, text
    return text, open(calls).read().splitlines()


def main(exe, root, folder):
    shutil.copy(os.path.join(root, "quickstart"), folder)
    tiny = os.path.join(os.path.abspath(root), "share", "bioinfer-tiny")
    model = os.path.join(folder, "share", "bioinfer-tiny")
    shutil.copytree(tiny, model)
    with open(os.path.join(tiny, "heldout.fasta")) as f, open(os.path.join(model, "heldout.fasta"),
                                                              "w") as few:
        few.writelines(f.readlines()[:8])  # all 200 would take long
    for name, text in STUBS.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write("#!/bin/sh\n" + text + "\n")
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    gpu = os.path.join(folder, "nvidiactl")
    open(gpu, "w").close()
    env = dict(EXE=os.path.abspath(exe), REFUSE="", KERNELS="none (not found)")

    text, calls = run(folder, BIOINFER_QUICKSTART_GPU="/none " + gpu + "x", **env)
    assert calls == ["packages ", "meson setup build --buildtype=release",
                     "ninja -C build cli/bioinfer"], calls
    assert "GPU kernels: none (not found)" in text, text

    # a build folder from before is configured again, as the compiler is there now
    env["KERNELS"] = "sm_80, sm_90a, gfx90a"
    text, calls = run(folder, BIOINFER_QUICKSTART_GPU="/none " + gpu, **env)
    assert (calls[0] == "packages clang-19 lld-19" and
            "meson setup --reconfigure build" in calls), calls
    assert gpu in text and "GPU kernels: sm_80, sm_90a, gfx90a" in text, text

    shutil.rmtree(os.path.join(folder, "build"))
    text, calls = run(folder, BIOINFER_QUICKSTART_GPU=gpu, **env)
    assert calls == ["packages clang-19 lld-19", "meson setup build --buildtype=release",
                     "ninja -C build cli/bioinfer"], calls

    env.update(REFUSE="yes", KERNELS="none (not found)")
    shutil.rmtree(os.path.join(folder, "build"))
    text, calls = run(folder, BIOINFER_QUICKSTART_GPU=gpu, **env)
    assert calls[:2] == ["packages clang-19 lld-19", "packages "], calls
    assert "going on without GPU kernels" in text and "GPU kernels: none" in text, text
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="bioinfer-quickstart-") as temporary:
        sys.exit(main(*sys.argv[1:3], temporary))
