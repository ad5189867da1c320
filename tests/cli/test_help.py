#!/usr/bin/env python3
"""test_help.py BIOINFER - the help of every command, model and topic: it fits a screen, names
each option, and its examples are commands that bioinfer takes."""
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

EXE = ""
LINES, ALL, COLUMNS = 50, 62, 80  # ALL: of the page with every model and command


def run(*args, code=0):
    with tempfile.TemporaryDirectory(prefix="bioinfer-help-") as folder:
        env = dict(os.environ, HF_HOME=folder, HF_HUB_CACHE=folder)
        p = subprocess.run([EXE, *args], capture_output=True, text=True, cwd=folder, env=env,
                           stdin=subprocess.DEVNULL, timeout=60)
    assert code is None or p.returncode == code, (args, p.returncode, p.stderr)
    return p


def section(text, title):
    """The first words of the lines behind a title, up to the next empty line."""
    lines = text.split(f"\n{title}:\n")[1].split("\n\n")[0].splitlines()
    return [re.match(r"  (\S+)", line)[1] for line in lines if re.match(r"  \S", line)]


def options(text):
    return re.findall(r"(?m)^  (?:-\w, |    )--([a-z0-9-]+)", text)


class Help(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.overview = run("--help").stdout
        cls.commands = section(cls.overview, "Commands")
        cls.models = section(cls.overview, "Models")
        cls.topics = section(cls.overview, "and `bioinfer help TOPIC` has these topics")

    def test_names(self):
        self.assertGreater(len(self.commands), 11)
        self.assertGreater(len(self.models), 6)
        self.assertEqual(self.topics, ["all", "exit-status", "weights", "jobs", "models", "version",
                                       "completion"])

    def test_same_text(self):
        """`help NAME` and `NAME --help` are one text, and so are those of everything."""
        for args in (("help",), ("-h",)):
            self.assertEqual(run(*args).stdout, self.overview)
        for name in self.commands + self.models:
            text = run("help", name).stdout
            for args in ((name, "--help"), ("--help", name), (name, "in.fasta", "-h")):
                self.assertEqual(run(*args).stdout, text, args)

    def test_one_screen(self):
        for name in ("", *self.commands, *self.models, *self.topics):
            lines = run("help", *name.split()).stdout.splitlines()
            self.assertLessEqual(max(map(len, lines)), COLUMNS, name)
            most = 1000 if name == "all" else LINES if name else ALL
            self.assertLessEqual(len(lines), most, name)
            self.assertGreater(len(lines), 4, name)

    def test_options(self):
        """Help of a command explains or names all of its options; `help all` explains every one."""
        known = set()
        for name in self.commands:
            whole = options(run("help", name, "all").stdout)
            text = run("help", name).stdout
            rest = re.search(r"Other options \(.*\n((?:  .*\n)+)", text)
            rest = re.findall(r"--([a-z0-9-]+)", rest[1]) if rest else []
            self.assertEqual(sorted(options(text) + rest), sorted(whole), name)
            self.assertEqual(len(set(whole)), len(whole), name)
            self.assertTrue({"help", "version", "quiet"} <= set(whole), name)
            known |= set(whole)
        self.assertEqual(sorted(options(run("help", "all").stdout)), sorted(known))

    def test_texts(self):
        """No option is without words, for any command."""
        for name in self.commands:
            for topic in ((name, "all"), (name,)):
                lines = run("help", *topic).stdout.splitlines()
                for i, line in enumerate(lines):
                    if options(line + "\n"):
                        words = line[27:] or lines[i + 1][27:]
                        self.assertRegex(words, r"\S", (topic, line))
        self.assertNotRegex(run("help", "all").stdout, r"(?m)(^ {27}|  )[a-z, ]+: *$")

    def test_of_the_command_alone(self):
        """Help of a model or a command has the options and models of that command alone."""
        for name, has, has_not in (
                ("esm2", "--include", ("--num-seq", "--genome", "--matrix", "VCF", "  esmc")),
                ("enformer", "--genome", ("--num-seq", "--matrix", "STRUCTURE is", "  borzoi")),
                ("proteinmpnn", "--num-seq", ("--genome", "--matrix", "BED or VCF", "  esm2")),
                ("score", "--mutations", ("--num-seq", "--genome", "  enformer", "  proteinmpnn"))):
            text = run("help", name).stdout
            self.assertIn(has, text)
            for word in has_not:
                self.assertNotIn(word, text, name)
        text = run("help", "score", "esm2").stdout
        self.assertIn("--mutations", text)
        self.assertNotIn("  esmc", text)
        self.assertIn("bioinfer score esm2", text)
        for name, formats in (("align", "paf"), ("design", "fasta"), ("tracks", "bigwig")):
            text = run("help", name, "all").stdout.split("--format")[1].split("--")[0]
            self.assertIn(formats, text)

    def test_examples(self):
        """Every example is a command line that bioinfer takes, though its files are not there."""
        seen = 0
        for name in ("", *self.commands, *self.models):
            text = run("help", *name.split()).stdout
            text = text.split("Examples:" if name else "First steps:")[1]
            examples = [line for line in text.splitlines() if line.startswith("  bioinfer ")]
            self.assertTrue(examples, name)
            for line in examples:
                p = run(*shlex.split(line, comments=True)[1:], code=None)
                seen += 1
                if p.returncode == 64 and "this build cannot serve" in p.stderr:
                    continue  # a build without libmicrohttpd knows the command, and says so
                self.assertIn(p.returncode, (0, 66, 69, 78), (line, p.stderr))
        self.assertGreater(seen, 35)

    def test_the_small_model(self):
        """It is offered where it can be computed, and nowhere else."""
        for name in ("esm2", "score", "serve"):
            self.assertIn("'tiny' is the small model", run("help", name).stdout, name)
        for name in ("proteinmpnn", "enformer", "dualbind", "tensornet", "relax", "md"):
            self.assertNotIn("tiny", run("help", name).stdout, name)

    def test_topics(self):
        self.assertIn("HF_HOME", run("help", "weights").stdout)
        self.assertRegex(run("help", "exit-status").stdout, r"(?m)^  130  stopped by SIGINT$")
        self.assertIn("bioinfer merge", run("help", "jobs").stdout)
        for word in "models", "version", "completion":  # commands that are no runs
            text = run("help", word).stdout
            self.assertIn("`bioinfer " + word, text)
            self.assertEqual(run(word, "--help").stdout, text)

    def test_unknown(self):
        for word, part in (("wieghts", "did you mean 'weights'"), ("scroe", "did you mean 'score'"),
                           ("emsm2", "did you mean 'esm2'"), ("zzzzzz", "see `bioinfer --help`")):
            self.assertIn(part, run("help", word, code=64).stderr)


if __name__ == "__main__":
    EXE = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
