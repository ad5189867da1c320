#!/usr/bin/env python3
"""test_files.py SOURCE_ROOT - the version is the same everywhere, what packages are made of is in
the tree, and their descriptions are well-formed as far as the tools at hand can tell."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

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
    for pattern in ('bioinfer_${version}_$debian.deb', 'bioinfer-{version}-{tag}.whl',
                    'x86_64) debian=amd64', 'manylinux_2_28_$arch', 'cp39-abi3-'):
        assert pattern in release, f"releases no longer have {pattern}"


def check_shell():
    scripts = [os.path.join(ROOT, *path) for path in
               (("tools", "release.sh"), ("tools", "deb.sh"), ("tests", "packaging", "arm.sh"),
                ("packaging", "bioconda", "build.sh"))]
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)
    if shutil.which("shellcheck"):
        subprocess.run(["shellcheck", *scripts], check=True)
    else:
        print("scripts are not checked further: no shellcheck")


def check_control():
    paragraphs = [dict(re.findall(r"^([\w-]+): (.*)$", text, re.M))
                  for text in read("packaging", "debian", "control").split("\n\n")]
    assert [fields["Package"] for fields in paragraphs] == ["bioinfer", "libbioinfer0",
                                                            "libbioinfer-dev"]
    script = read("tools", "release.sh")
    for fields in paragraphs:
        for name in ("Section", "Depends", "Description"):
            assert fields.get(name), (fields, name)
        # the oldest glibc is one figure in all places
        for oldest in re.findall(r"libc6 \(>= ([\d.]+)\)", fields["Depends"]):
            assert f"--glibc={oldest} " in script
            assert f"manylinux_{oldest.replace('.', '_')}_$arch" in script
    assert "libc6 (>= " in paragraphs[0]["Depends"] and "libc6 (>= " in paragraphs[1]["Depends"]


def check_symbols():
    """The package of the library tells the functions of the header."""
    listed = re.findall(r"^ (\w+)@Base \d", read("packaging", "debian", "libbioinfer0.symbols"),
                        re.M)
    header = re.sub(r"/\*.*?\*/", "", read("include", "bioinfer.h"), flags=re.S)
    declared = re.findall(r"^BIOINFER_API\b[^;{]*?\b(bioinfer_\w+)\(", header, re.M)
    assert listed == sorted(declared), set(listed) ^ set(declared)


def check_sbom():
    """The list of a release has all of its files with their sums, and what each of them needs."""
    with tempfile.TemporaryDirectory(prefix="bi-") as folder:
        names = ["bioinfer-1.2.3-linux-x86_64.tar.gz", "bioinfer-1.2.3-cp39-abi3-x.whl",
                 "libbioinfer-dev_1.2.3_amd64.deb"]
        for name in names:
            with open(os.path.join(folder, name), "w") as file:
                file.write(name)
        out = os.path.join(folder, "out.json")
        command = [sys.executable, os.path.join(ROOT, "tools", "sbom.py"), "--version=1.2.3",
                   "--arch=x86_64", "--out=" + out, *(os.path.join(folder, n) for n in names)]
        env = dict(os.environ, SOURCE_DATE_EPOCH="1700000000")
        subprocess.run(command, check=True, env=env)
        with open(out) as file:
            first = json.load(file)
        subprocess.run(command, check=True, env=env)
        with open(out) as file:
            assert json.load(file) == first
    assert first["spdxVersion"] == "SPDX-2.3"
    assert first["creationInfo"]["created"] == "2023-11-14T22:13:20Z"
    ids = {package["SPDXID"]: package for package in first["packages"]}
    assert len(ids) == len(first["packages"])
    files = {package["packageFileName"]: package["SPDXID"] for package in ids.values()
             if "packageFileName" in package}
    assert sorted(files) == sorted(names)
    for name, which in files.items():
        assert ids[which]["checksums"][0]["checksumValue"] == \
            hashlib.sha256(name.encode()).hexdigest()
    needs = set()
    for relation in first["relationships"]:
        ends = relation["spdxElementId"], relation["relatedSpdxElement"]
        assert {*ends} <= {*ids, "SPDXRef-DOCUMENT"}, relation
        if relation["relationshipType"].endswith("DEPENDENCY_OF"):
            needs.add((ends[0].split("-")[1], next(n for n in files if files[n] == ends[1])))
    assert ("zlib", names[0]) in needs and ("numpy", names[1]) in needs
    assert ("numpy", names[0]) not in needs and not [n for n in needs if n[1] == names[2]]


if __name__ == "__main__":
    ROOT = sys.argv[1]
    for check in (check_version, check_recipe, check_images, check_shell, check_control,
                  check_symbols, check_sbom):
        check()
