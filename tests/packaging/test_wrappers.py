#!/usr/bin/env python3
"""test_wrappers.py SOURCE_ROOT BIOINFER - the module of nf-core, the wrapper of Snakemake and the
tool of Galaxy do their work: the commands that they hold are run on the files of their own tests.

The systems themselves are not needed. Variables are filled in here as they would do it; YAML is
parsed where Python has a reader, Galaxy's tools are linted where planemo is found."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import xml.etree.ElementTree as tree

ROOT = EXE = ""
PDB = "tests/golden/proteinmpnn/5L33.pdb"


def path(*parts):
    return os.path.join(ROOT, *parts)


def read(*parts):
    with open(path(*parts), encoding="utf-8") as file:
        return file.read()


class Wrappers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        os.mkdir(os.path.join(self.dir, "bin"))
        os.symlink(EXE, os.path.join(self.dir, "bin", "bioinfer"))
        shutil.copy(path("packaging/galaxy/test-data/two.fasta"), self.dir)
        shutil.copy(path(PDB), self.dir)
        os.symlink(path("share/bioinfer-tiny"), os.path.join(self.dir, "weights"))

    def sh(self, script):
        env = dict(os.environ, PATH=os.path.join(self.dir, "bin") + ":" + os.environ["PATH"])
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=self.dir, env=env,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, script + "\n" + done.stderr)

    def made(self, name, records, command):
        """The output is there, and its description says what was asked for."""
        with open(os.path.join(self.dir, name + ".provenance.json"), encoding="utf-8") as file:
            made = json.load(file)
        self.assertEqual((made["records"], made["failed"]), (records, 0))
        self.assertEqual(made["output_size"], os.path.getsize(os.path.join(self.dir, name)))
        for word in command:
            self.assertIn(word, made["command"])

    def nextflow(self, name, script, values):
        """Runs a block of a module; Groovy's escapes are undone."""
        block = re.search(r'^    %s:\n(?:    def [^\n]*\n)+    """\n(.*?)^    """' % script,
                          read("packaging/nf-core/bioinfer", name, "main.nf"), re.M | re.S)[1]
        values = dict({"task.cpus": "2", "task.process": "P", "prefix": "s1"}, **values)
        block = re.sub(r"(?<!\\)\$\{?([a-z][\w.]*)\}?", lambda m: values[m[1]], block)
        self.sh(re.sub(r"^    ", "", block.replace("\\$", "$").replace("\\\\", "\\"), flags=re.M))
        with open(os.path.join(self.dir, "versions.yml"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r'^"P":\n    bioinfer: \d+\.\d+\.\d+\n$')
        os.remove(os.path.join(self.dir, "versions.yml"))

    def test_nextflow(self):
        embed = {"model": "esm2", "fasta": "two.fasta", "weights": "weights",
                 "args": "--include contacts"}
        design = {"structure": "5L33.pdb", "args": "--num-seq 2"}
        self.nextflow("embed", "script", embed)
        self.made("s1.npz", 2, ["--include", "contacts", "--threads"])
        self.nextflow("design", "script", design)
        self.made("s1.fasta", 1, ["--num-seq", "2"])
        for name, values in ("embed", embed), ("design", design):
            self.nextflow(name, "stub", values)
            text = read("packaging/nf-core/bioinfer", name, "main.nf")
            self.assertEqual([text.count(a) - text.count(b) for a, b in ("{}", "()", "[]")],
                             [0, 0, 0])
            told = read("packaging/nf-core/bioinfer", name, "meta.yml")
            for word in re.findall(r"emit: (\w+)", text):  # channels are described
                self.assertIn("  - %s:\n" % word, told)
            for used in re.findall(r'file\("\$moduleDir/(.*?)"\)',
                                   read("packaging/nf-core/bioinfer", name, "tests/main.nf.test")):
                self.assertTrue(os.path.exists(path("packaging/nf-core/bioinfer", name, used)))

    def snakemake(self, name, inputs, output, params):
        """Runs a wrapper as Snakemake does: `snakemake` is an object, shell() formats."""
        said = os.path.join(self.dir, "log.txt")
        job = types.SimpleNamespace(input=types.SimpleNamespace(**inputs), output=[output],
                                    threads=2, log_fmt_shell=lambda **_: "2> " + said)
        job.params = type("Params", (dict,), {"__getattr__": dict.__getitem__})(params)
        names = {"snakemake": job, "extra": "", "log": ""}
        module = types.ModuleType("snakemake.shell")
        module.shell = lambda text: self.sh(text.format(**names))
        kept = {key: sys.modules.get(key) for key in ("snakemake", "snakemake.shell")}
        sys.modules.update({"snakemake": types.ModuleType("snakemake"), "snakemake.shell": module})
        try:
            exec(compile(read("packaging/snakemake", name, "wrapper.py"), name, "exec"), names)
        finally:
            for key, value in kept.items():
                sys.modules.pop(key)
                if value:
                    sys.modules[key] = value
        self.assertTrue(os.path.getsize(said))

    def test_snakemake(self):
        self.snakemake("embed", {"fasta": "two.fasta", "weights": "weights"}, "e.npz",
                       {"model": "esm2", "extra": "--include mean,contacts"})
        self.made("e.npz", 2, ["mean,contacts"])
        self.snakemake("design", {"structure": "5L33.pdb"}, "d.fasta", {})
        self.made("d.fasta", 1, ["5L33.pdb"])
        for name in "embed", "design":
            rule = read("packaging/snakemake", name, "test/Snakefile")
            wrapper = read("packaging/snakemake", name, "wrapper.py")
            for word in re.findall(r"snakemake\.(?:input|params)\.(\w+)", wrapper):
                self.assertRegex(rule, r"(?m)^        %s=" % word if word != "get" else "params")

    def galaxy(self, name):
        """Runs a tool's own tests: its command with their values, and those by default."""
        tool = tree.parse(path("packaging/galaxy", name + ".xml")).getroot()
        command = tool.find("command").text
        params = {p.get("name"): p for p in tool.find("inputs")}
        self.assertEqual(set(re.findall(r"(?<!\\)\$(?!{)(\w+)", command)), set(params))
        for test in tool.find("tests"):
            values = {key: p.get("value") or next(
                (o.get("value") for o in p if o.get("selected")), "") for key, p in params.items()}
            values.update((p.get("name"), p.get("value")) for p in test.iter("param"))
            shutil.copy(path("packaging/galaxy/test-data", values["input"]), self.dir)
            values["input.ext"] = values["input"].split(".")[1]
            for key, value in values.items():  # a value is one that the tool's form would take
                choices = [o.get("value") for o in params.get(key, ()) if o.tag == "option"]
                self.assertTrue(not choices or set(value.split(",")) <= set(choices), key)
            script = re.sub(r"(?<!\\)\$(\w+(?:\.ext)?)", lambda m: values[m[1]], command)
            self.sh(" ".join(script.replace("\\$", "$").split()).replace(
                "ln -s '5L33.pdb'", "ln -sf 5L33.pdb"))
            outputs = {d.get("name"): d for d in tool.find("outputs")}
            self.assertEqual(int(test.get("expect_num_outputs")), len(outputs))
            for out in test.iter("output"):
                with open(os.path.join(self.dir, outputs[out.get("name")].get("from_work_dir")),
                          "rb") as file:
                    made = file.read()
                for check in out.find("assert_contents"):
                    got = {"has_size": len(made), "has_n_lines": made.count(b"\n"),
                           "has_n_columns": made.split(b"\n")[0].count(b"\t") + 1}.get(check.tag)
                    if check.tag == "has_text":
                        self.assertIn(check.get("text").encode(), made)
                    elif check.tag == "has_size":
                        self.assertGreaterEqual(got, int(check.get("min")))
                    else:
                        self.assertEqual(got, int(check.get("n")), check.tag)
        for node in tool.iter("expand"):
            self.assertIn('<xml name="%s">' % node.get("macro"),
                          read("packaging/galaxy/macros.xml"))

    def test_galaxy(self):
        os.unlink(os.path.join(self.dir, "5L33.pdb"))
        self.galaxy("bioinfer_embed")
        self.galaxy("bioinfer_design")

    def test_yaml(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no module yaml")
        files = [name for end in ("yml", "yaml") for folder in ("nf-core", "snakemake", "galaxy")
                 for name in glob.glob(path("packaging", folder, "**", "*." + end), recursive=True)]
        self.assertEqual(len(files), 8)
        for name in files:
            with open(name, encoding="utf-8") as file:
                self.assertIsInstance(yaml.safe_load(file), dict, name)

    def test_versions(self):
        version = re.search(r"^  version: '(.*)',$", read("meson.build"), re.M)[1]
        for name in ("nf-core/bioinfer/embed/environment.yml", "nf-core/bioinfer/embed/main.nf",
                     "nf-core/bioinfer/design/environment.yml", "nf-core/bioinfer/design/main.nf",
                     "snakemake/embed/environment.yaml", "snakemake/design/environment.yaml",
                     "galaxy/macros.xml"):
            found = re.findall(r"bioinfer(?: =|=|:)(\d[\d.]+)\b|TOOL_VERSION@\">([\d.]+)",
                               read("packaging", name))
            self.assertEqual(["".join(f) for f in found], [version], name)

    def test_linted(self):
        planemo = shutil.which("planemo")
        if not planemo:
            self.skipTest("no planemo")
        done = subprocess.run([planemo, "lint",
                               *glob.glob(path("packaging/galaxy/bioinfer_*.xml"))],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    ROOT, EXE = (os.path.abspath(name) for name in sys.argv[1:3])
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
