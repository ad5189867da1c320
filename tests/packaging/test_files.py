#!/usr/bin/env python3
"""test_files.py SOURCE_ROOT - the version is the same everywhere, what packages are made of is in
the tree, and their descriptions are well-formed as far as the tools at hand can tell."""
import os
import re
import shutil
import subprocess
import sys

ROOT = ""


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def check_version():
    version = re.search(r"^  version: '(.*)',$", read("meson.build"), re.M)[1]
    header = dict(re.findall(r"#define BIOINFER_VERSION_(MAJOR|MINOR|PATCH) (\d+)",
                             read("include", "bioinfer.h")))
    assert version == "{MAJOR}.{MINOR}.{PATCH}".format(**header), (version, header)
    for path, pattern in (
            ("CHANGELOG.md", rf"^## {re.escape(version)}\b"),
            ("docs/install.md", rf"bioinfer-{re.escape(version)}-cp39-abi3-"),
            ("packaging/bioconda/meta.yaml", rf'set version = "{re.escape(version)}"'),
            ("docs/python.md", rf"bioinfer-{re.escape(version)}-cp39-abi3-")):
        assert re.search(pattern, read(path), re.M), f"{path} is not of {version}"
    for path in ("packaging/docker/Dockerfile", "packaging/apptainer/bioinfer.def",
                 "docs/install.md", "docs/python.md", "README.md"):
        for found in re.findall(r"bioinfer[-_](\d+\.\d+\.\d+)", read(path)):
            assert found == version, f"{path} names {found}, this is {version}"


def check_recipe():
    text = read("packaging", "bioconda", "meta.yaml")
    for variable, value in re.findall(r'{% set (\w+) = "(.*)" %}', text):
        text = text.replace("{{ %s }}" % variable, value)
    text = re.sub(r"^{%.*%}$", "", text, flags=re.M)
    text = re.sub(r"{{ (.*?) }}", lambda m: "'%s'" % m[1].replace("'", ""), text)
    try:
        import yaml
    except ImportError:
        print("the recipe is not parsed: no module yaml")
        return
    recipe = yaml.safe_load(text)
    assert set(recipe) == {"package", "source", "build", "requirements", "test", "about", "extra"}
    assert recipe["package"]["name"] == "bioinfer"
    for path in recipe["about"]["license_file"]:
        assert os.path.exists(os.path.join(ROOT, path)), path
    options = set(re.findall(r"option\('(\w+)'", read("meson_options.txt")))
    used = set(re.findall(r"-D(\w+)=", read("packaging", "bioconda", "build.sh")))
    assert used and used <= options, used - options


def check_images():
    """Instructions of the Dockerfile are known ones; both take files that a release has."""
    release = read("tools", "release.sh") + read("tools", "wheel.py")
    docker = read("packaging", "docker", "Dockerfile").replace("\\\n", " ")
    known = {"FROM", "RUN", "COPY", "ENV", "USER", "WORKDIR", "ENTRYPOINT", "CMD"}
    words = [line.split()[0] for line in docker.splitlines() if line and line[0] not in "#"]
    assert words[0] == "FROM" and set(words) <= known, words
    assert 'docker run --rm -u "$(id -u):$(id -g)"' in docker  # nobody cannot write to /data
    for page in (("README.md",), ("docs", "python.md")):  # PEP 668: pip refuses Debian's own Python
        assert "python3 -m venv env" in read(*page), page
    apptainer = read("packaging", "apptainer", "bioinfer.def")
    sections = re.findall(r"^%(\w+)$", apptainer, re.M)
    assert sections == ["files", "post", "environment", "runscript", "test"], sections
    assert re.search(r"^Bootstrap: docker\nFrom: debian:12-slim$", apptainer, re.M)
    for text in (docker, apptainer):
        names = set(re.findall(r"dist/(\S+)", text)) - {"made"}
        files = {name for name in names if name.endswith((".deb", ".whl"))}
        assert len(files) == 2, names
    for pattern in ('bioinfer_${version}_amd64.deb', 'bioinfer-{version}-{tag}.whl',
                    'manylinux_2_28_x86_64', 'cp39-abi3-'):
        assert pattern in release, f"releases no longer have {pattern}"


def check_shell():
    scripts = [os.path.join(ROOT, *path) for path in
               (("tools", "release.sh"), ("tools", "deb.sh"),
                ("packaging", "bioconda", "build.sh"))]
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", *scripts], check=True)
    else:
        print("scripts are not checked further: no shellcheck")


def check_control():
    fields = dict(re.findall(r"^([\w-]+): (.*)$", read("packaging", "debian", "control"), re.M))
    for name in ("Package", "Version", "Architecture", "Maintainer", "Depends", "Description"):
        assert fields.get(name), name
    # the oldest glibc is one figure in all places
    oldest = re.search(r"libc6 \(>= ([\d.]+)\)", fields["Depends"])[1]
    script = read("tools", "release.sh")
    assert f"--glibc={oldest} " in script
    assert f"manylinux_{oldest.replace('.', '_')}_x86_64" in script


if __name__ == "__main__":
    ROOT = sys.argv[1]
    for check in (check_version, check_recipe, check_images, check_shell, check_control):
        check()
