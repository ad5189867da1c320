#!/usr/bin/env python3
"""Makes a Python wheel of what was built; tools/release.sh and tests call it.

    wheel.py --package=DIR --library=FILE --command=FILE --share=DIR --version=X --platform=TAG
             --out=DIR

--package is the folder with _core.abi3.so and the modules, beside _bioinfer_command.py, --library
libbioinfer.so, --command the program bioinfer, --share the folder with bioinfer-tiny and
proteinmpnn. The wheel has the program, and `bioinfer` and `python -m bioinfer` start it. It is for
every CPython from 3.9 on (abi3), needs NumPy, and has the same bytes for the same files
(SOURCE_DATE_EPOCH is the time in it).
"""
import base64
import hashlib
import os
import sys
import time
import zipfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
METADATA = """\
Metadata-Version: 2.1
Name: bioinfer
Version: %s
Summary: Inference engine for biological foundation models: embeddings, scores, tracks, designs
License: MIT
Keywords: protein,language model,embedding,bioinformatics
Classifier: License :: OSI Approved :: MIT License
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: C
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Bio-Informatics
Classifier: Typing :: Typed
Requires-Python: >=3.9
Requires-Dist: numpy>=1.19
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Provides-Extra: anndata
Requires-Dist: anndata; extra == "anndata"
Provides-Extra: chem
Requires-Dist: rdkit; extra == "chem"
Description-Content-Type: text/markdown

%s"""


def files_of(folder, place, skip=()):
    """(path, name in the wheel) of all files of a folder."""
    for at, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name != "__pycache__")
        for name in sorted(files):
            path = os.path.join(at, name)
            inside = os.path.relpath(path, folder)
            if inside not in skip and not name.endswith(".pyc"):
                yield path, f"{place}/{inside}"


def soname(path):
    """libbioinfer.so.0, the name by which the extension module asks for libbioinfer.so.0.1.0."""
    parts = os.path.basename(path).split(".")
    return ".".join(parts[:3])


def main(arguments):
    if arguments == ["--help"]:
        print(__doc__)
        return 0
    options = dict(argument[2:].split("=", 1) for argument in arguments)
    version, tag = options["version"], "cp39-abi3-" + options["platform"]
    when = time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time())))[:6]
    info = f"bioinfer-{version}.dist-info"
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
        description = file.read()
    entries = list(files_of(options["package"], "bioinfer", ("bin", "lib", "share")))
    entries.append((os.path.join(options["package"], "..", "_bioinfer_command.py"),
                    "_bioinfer_command.py"))
    entries.append((options["command"], "bioinfer/bin/bioinfer"))
    entries.append((options["library"], "bioinfer/lib/" + soname(options["library"])))
    entries += files_of(options["share"], "bioinfer/share/bioinfer")
    entries.append((os.path.join(ROOT, "LICENSE"), f"{info}/LICENSE"))
    texts = [(f"{info}/METADATA", METADATA % (version, description)),
             (f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: bioinfer\n"
                               f"Root-Is-Purelib: false\nTag: {tag}\n"),
             (f"{info}/entry_points.txt",
              "[console_scripts]\nbioinfer = _bioinfer_command:main\n")]
    out = os.path.join(options["out"], f"bioinfer-{version}-{tag}.whl")
    record = []
    with zipfile.ZipFile(out + ".new", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:

        def add(name, content, mode):
            entry = zipfile.ZipInfo(name, when)
            entry.external_attr = (0o100000 | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode().rstrip("=")
            record.append(f"{name},sha256={digest},{len(content)}\n")

        for path, name in entries:
            with open(path, "rb") as file:
                runs = "/bin/" in name or ".so" in os.path.basename(name)
                add(name, file.read(), 0o755 if runs else 0o644)
        for name, text in texts:
            add(name, text.encode(), 0o644)
        record.append(f"{info}/RECORD,,\n")
        entry = zipfile.ZipInfo(f"{info}/RECORD", when)
        entry.external_attr = 0o100644 << 16
        wheel.writestr(entry, "".join(record))
    os.replace(out + ".new", out)
    print(out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
