#!/usr/bin/env python3
"""Writes the list of what a release consists of and needs (an SBOM), as SPDX 2.3 in JSON.

    sbom.py --version=X --arch=ARCH --out=FILE RELEASE_FILE...

Each file of the release is a package of the list with its SHA-256, and so is all that it needs or
can use. Equal files and an equal SOURCE_DATE_EPOCH give an equal list.
"""
import hashlib
import json
import os
import sys
import time

# name, version, licence, home page, how it belongs to the files, comment
PARTS = (
    ("zlib", ">=1.2.9", "Zlib", "https://zlib.net/", "RUNTIME_DEPENDENCY_OF",
     "linked with the command and the library as libz.so.1"),
    ("glibc", ">=2.28", "LGPL-2.1-or-later", "https://www.gnu.org/software/libc/",
     "RUNTIME_DEPENDENCY_OF", "linked with the command and the library"),
    ("hdf5", "1.10 or newer", "BSD-3-Clause", "https://www.hdfgroup.org/solutions/hdf5/",
     "OPTIONAL_DEPENDENCY_OF", "libhdf5 is loaded when HDF5 is written or read"),
    ("libmicrohttpd", ">=0.9.71", "LGPL-2.1-or-later",
     "https://www.gnu.org/software/libmicrohttpd/", "OPTIONAL_DEPENDENCY_OF",
     "loaded by bioinfer serve"),
)
NUMPY = ("numpy", ">=1.19", "BSD-3-Clause", "https://numpy.org/", "RUNTIME_DEPENDENCY_OF",
         "imported by the Python package")


def sha256(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def part(name, version, licence, home, comment):
    return {"SPDXID": "SPDXRef-" + name, "name": name, "versionInfo": version,
            "downloadLocation": home, "filesAnalyzed": False, "licenseConcluded": licence,
            "licenseDeclared": licence, "copyrightText": "NOASSERTION", "comment": comment}


def make(version, arch, files):
    packages, relations, sums = [], [], []

    def relate(one, kind, other):
        relations.append({"spdxElementId": one, "relationshipType": kind,
                          "relatedSpdxElement": other})

    own = []
    for number, path in enumerate(files):
        name, digest = os.path.basename(path), sha256(path)
        sums.append(f"{digest}  {name}\n")
        entry = part(f"bioinfer-{number}", version, "MIT", "NOASSERTION", "")
        del entry["comment"]
        entry.update(name=name.split("_")[0] if name.endswith(".deb") else "bioinfer",
                     packageFileName=name,
                     checksums=[{"algorithm": "SHA256", "checksumValue": digest}],
                     primaryPackagePurpose="LIBRARY" if name.startswith("lib") else "APPLICATION")
        packages.append(entry)
        own.append((entry["SPDXID"], name))
        relate("SPDXRef-DOCUMENT", "DESCRIBES", entry["SPDXID"])
    packages.append(part("proteinmpnn-weights", "v_48", "MIT",
                         "https://github.com/dauparas/ProteinMPNN",
                         "the weights in share/bioinfer/proteinmpnn"))
    parts = [*PARTS] + [NUMPY] * any(name.endswith(".whl") for _, name in own)
    for name, which, licence, home, _, comment in parts:
        packages.append(part(name, which, licence, home, comment))
    for one, name in own:
        if name.startswith("libbioinfer-dev"):
            continue
        if not name.startswith("lib"):
            relate(one, "CONTAINS", "SPDXRef-proteinmpnn-weights")
        for other, *_, kind, _ in parts:
            if other != "numpy" or name.endswith(".whl"):
                relate(f"SPDXRef-{other}", kind, one)
    whole = hashlib.sha256("".join(sums).encode()).hexdigest()
    when = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return {"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
            "name": f"bioinfer-{version}-linux-{arch}",
            "documentNamespace": f"https://bioinfer.invalid/spdx/{version}-{arch}-{whole}",
            "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)),
                             "creators": ["Tool: bioinfer-sbom.py"]},
            "packages": packages, "relationships": relations}


def main(arguments):
    if arguments == ["--help"]:
        print(__doc__)
        return 0
    options = dict(argument[2:].split("=", 1) for argument in arguments
                   if argument.startswith("--") and "=" in argument)
    files = [argument for argument in arguments if not argument.startswith("--")]
    if set(options) != {"version", "arch", "out"} or not files or \
            len(options) + len(files) != len(arguments):
        print(__doc__, file=sys.stderr)
        return 2
    text = json.dumps(make(options["version"], options["arch"], files), indent=1) + "\n"
    with open(options["out"], "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
