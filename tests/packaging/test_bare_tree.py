#!/usr/bin/env python3
"""test_bare_tree.py SOURCE_ROOT - both commands of README, ./quickstart and ./run-tests, in a bare
Debian 12 without git: below /root, which only root can enter, with none of the packages that
run-tests can do without, and below /home with all of them. Takes hours and the network, so it is
asked for:

    BIOINFER_BARE=all meson test -C build --timeout-multiplier 0 'packaging bare tree'

BIOINFER_BARE=root and =home ask for one of the two. BIOINFER_ROOT_TAR may name a tar file of a bare
root that mmdebstrap has made."""
import os
import re
import shutil
import sys
import tempfile

from test_bare_root import Root, skip

PLACES = {"root": ("/root/bioinfer", False), "home": ("/home/user/bioinfer", True)}


def optional_packages(source):
    """Packages that run-tests installs, or that tests use where they are there."""
    with open(os.path.join(source, "run-tests"), encoding="utf-8") as file:
        lines = re.findall(r"^\.ci/packages (.*?) \|\|", file.read(), re.M)
    assert len(lines) > 3, lines
    return sorted({"git", *" ".join(lines).split()})


def check(source, place, packages):
    at, with_packages = PLACES[place]
    with tempfile.TemporaryDirectory(prefix="bioinfer-bare-") as folder:
        os.chmod(folder, 0o755)
        root = Root(folder)
        os.chmod(root.path("root"), 0o700)
        shutil.copytree(source, root.path(at[1:]), symlinks=True,
                        ignore=lambda at, names: [
                            name for name in names if name == "__pycache__" or at == source and
                            (name in (".git", "dist") or name.startswith("build"))])
        if not with_packages:
            with open(root.path("etc", "apt", "preferences.d", "without"), "w") as file:
                file.write(f"Package: {' '.join(packages)}\nPin: release *\nPin-Priority: -1\n")
        assert "build/cli/bioinfer for the CPU" in root.run(f"cd {at} && ./quickstart")
        out = root.run(f"cd {at} && ./run-tests")
        print(out)
        assert re.search(r"\n\d{3,} passed, 0 failed, \d+ skipped\n$", out), place
        assert "NO REASON IS GIVEN" not in out
        has_git = os.path.exists(root.path("usr", "bin", "git"))
        assert not has_git, "something installed git: this test is to do without"


def main(source):
    asked = os.environ.get("BIOINFER_BARE")
    if not asked:
        skip("BIOINFER_BARE does not ask for hours in bare roots: skipped")
    if os.geteuid():
        skip("only root can enter another root: skipped")
    for tool in ["unshare", "chroot"] + ["mmdebstrap"] * ("BIOINFER_ROOT_TAR" not in os.environ):
        if not shutil.which(tool):
            skip(f"{tool} is not installed: skipped")
    for place in PLACES if asked == "all" else [asked]:
        check(source, place, optional_packages(source))
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
