#!/usr/bin/env python3
"""test_bare_root.py SOURCE_ROOT - the files of a release in a bare Debian 12: unpacked or
installed, and used. Takes some minutes and the network, so it is asked for:

    tools/release.sh && BIOINFER_DIST=dist meson test -C build 'packaging bare root'

BIOINFER_ROOT_TAR may name a tar file of a bare root that mmdebstrap has made."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

PROTEINS = "share/bioinfer-tiny/heldout.fasta"
USE = """
import bioinfer, numpy
saved = numpy.load("/tmp/out.npz")
with bioinfer.open("tiny", device="cpu") as m:
    found = m.embed("/tmp/heldout.fasta").dict()
assert len(found) == len(saved.files) == 200
assert all(numpy.array_equal(found[name], saved[name]) for name in found)
print(bioinfer.__file__)
"""

USE_C = """
#include <bioinfer.h>
#include <stdio.h>
int main(void)
{
    bioinfer_context *context = NULL;
    if (bioinfer_context_new(&context, NULL, NULL))
        return 1;
    puts(bioinfer_version());
    bioinfer_context_free(&context);
    return 0;
}
"""


def skip(why):
    print(why)
    sys.exit(77)


class Root:
    """A folder with a system in it; commands run there with /proc, in a namespace of their own."""

    def __init__(self, folder):
        self.folder = folder
        tar = os.environ.get("BIOINFER_ROOT_TAR")
        if tar:
            subprocess.run(["tar", "-C", folder, "-xf", tar], check=True)
        else:
            subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "bookworm", folder],
                           check=True)
        shutil.copy("/etc/resolv.conf", os.path.join(folder, "etc", "resolv.conf"))

    def run(self, command):
        inside = 'mount -t proc proc "$0/proc" && exec chroot "$0" /bin/sh -ec "$1"'
        env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
               "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        env.update({name: value for name, value in os.environ.items() if name.endswith("_proxy")})
        done = subprocess.run(["unshare", "--mount", "sh", "-ec", inside, self.folder, command],
                              capture_output=True, text=True, env=env)
        if done.returncode:
            sys.exit(f"in the root: {command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def path(self, *parts):
        return os.path.join(self.folder, *parts)


def one(dist, pattern):
    found = glob.glob(os.path.join(dist, pattern))
    assert len(found) == 1, (pattern, found)
    return found[0]


def check_tarball(root, tarball):
    """Unpacked by one who is not root, in a folder with a blank, moved, and run from elsewhere."""
    root.run("mkdir -p '/opt/a place'")
    subprocess.run(["tar", "-C", root.path("opt", "a place"), "-xzf", tarball], check=True)
    name = os.path.basename(tarball)[:-len(".tar.gz")]
    at = f"/opt/a place/{name}"
    for path in ("bin/bioinfer", "lib/libbioinfer.so", "include/bioinfer.h",
                 "lib/pkgconfig/bioinfer.pc", "share/man/man1/bioinfer.1", "LICENSE", "README.md",
                 "share/bash-completion/completions/bioinfer.bash",
                 "share/zsh/site-functions/_bioinfer",
                 "share/fish/vendor_completions.d/bioinfer.fish",
                 "share/bioinfer/proteinmpnn/proteinmpnn_v_48_020.mpnn"):
        assert os.path.exists(root.path(at[1:], path)), f"{path} is not in the tarball"
    root.run(f"cd /tmp && '{at}/bin/bioinfer' esm2 heldout.fasta --weights tiny -o out.npz")
    root.run(f"ln -s '{at}/bin/bioinfer' /usr/local/bin/bioinfer && cd / && "
             "bioinfer proteinmpnn /tmp/5L33.pdb -o /tmp/5L33.fa && rm /usr/local/bin/bioinfer")
    assert root.run("cat /tmp/5L33.fa").count(">") == 2
    kernels = root.run(f"'{at}/bin/bioinfer' devices")
    assert "no NVIDIA driver" in kernels or "usable" in kernels, kernels
    # a release can serve where the library is, which a bare root has not
    serves = root.run(f"'{at}/bin/bioinfer' serve esm2 --weights tiny 2>&1 || :")
    assert "serving needs libmicrohttpd" in serves, serves
    root.run(f"mv /tmp/out.npz /tmp/tarball.npz && rm -r '{at}'")


def check_debs(root, debs):
    """Installed with all that they depend on, used, and removed without a trace."""
    for deb in debs:
        shutil.copy(deb, root.path("tmp"))
    command, library, header = ("/tmp/" + os.path.basename(deb) for deb in debs)
    # a bare root has all that the first two depend on
    root.run(f"dpkg -i {command} {library}")
    root.run("cd /tmp && bioinfer esm2 heldout.fasta --weights tiny -o out.npz")
    root.run("cmp /tmp/out.npz /tmp/tarball.npz")
    assert "libbioinfer.so.0" in root.run("ldconfig -p")
    root.run("apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc pkgconf "
             f"libc6-dev {header}")
    with open(root.path("tmp", "use.c"), "w") as file:
        file.write(USE_C)
    root.run("cd /tmp && gcc use.c $(pkg-config --cflags --libs bioinfer) -o use && ./use && "
             "rm use")
    assert not root.run("dpkg --verify bioinfer libbioinfer0 libbioinfer-dev")
    root.run("dpkg -P bioinfer libbioinfer-dev libbioinfer0")
    left = root.run("find / -xdev -name '*bioinfer*' -not -path '/tmp/*' -not -path '/proc/*'")
    assert not left, left


def check_wheel(root, wheel):
    shutil.copy(wheel, root.path("tmp"))
    root.run("apt-get update -qq && "
             "apt-get install -y -qq --no-install-recommends python3-venv python3-numpy")
    root.run("python3 -m venv --system-site-packages /opt/venv")
    root.run(f"/opt/venv/bin/pip install --quiet --no-index /tmp/{os.path.basename(wheel)}")
    with open(root.path("tmp", "use.py"), "w") as file:
        file.write(USE)
    assert root.run("cd /tmp && /opt/venv/bin/python use.py").startswith("/opt/venv/")


def main(source):
    dist = os.environ.get("BIOINFER_DIST")
    if not dist:
        skip("BIOINFER_DIST does not name the folder that tools/release.sh has made: skipped")
    if os.geteuid():
        skip("only root can enter another root: skipped")
    for tool in ["unshare", "chroot"] + ["mmdebstrap"] * ("BIOINFER_ROOT_TAR" not in os.environ):
        if not shutil.which(tool):
            skip(f"{tool} is not installed: skipped")
    dist = os.path.join(source, dist)  # a relative one is of the tree
    subprocess.run(["sha256sum", "--quiet", "-c", "SHA256SUMS"], cwd=dist, check=True)
    with tempfile.TemporaryDirectory(prefix="bioinfer-root-") as folder:
        os.chmod(folder, 0o755)
        root = Root(folder)
        shutil.copy(os.path.join(source, PROTEINS), root.path("tmp"))
        shutil.copy(os.path.join(source, "tests/golden/proteinmpnn/5L33.pdb"), root.path("tmp"))
        check_tarball(root, one(dist, "*-x86_64.tar.gz"))
        check_debs(root, [one(dist, f"{package}_*_amd64.deb")
                          for package in ("bioinfer", "libbioinfer0", "libbioinfer-dev")])
        check_wheel(root, one(dist, "*_x86_64.whl"))
    return 0


if __name__ == "__main__":
    sys.exit(main(os.path.abspath(sys.argv[1])))
