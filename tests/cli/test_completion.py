#!/usr/bin/env python3
"""test_completion.py BIOINFER - what bash, zsh and fish make of a command line that is begun.

bash and zsh run on a terminal and get the keys that a person presses; fish is asked by its own
`complete -C`. A shell that is not installed is skipped, bash never."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

EXE = ""
MARK = "[words]"


class Terminal:
    """A shell on a terminal of its own, in a folder with the files that lines complete to."""

    def __init__(self, folder, *command):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.execvpe(command[0], command, {
                "PATH": os.environ["PATH"], "HOME": folder, "TERM": "dumb", "PS1": "$ ",
                "LC_ALL": "C.UTF-8", "INPUTRC": os.path.join(folder, "inputrc"), "COLUMNS": "2000"})
        self.text = ""

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)

    def send(self, keys):
        os.write(self.fd, keys.encode())

    def until(self, pattern):
        """Reads until the pattern comes; its match. What is behind it stays."""
        end = time.monotonic() + 60
        while not (found := re.search(pattern, self.text)):
            assert time.monotonic() < end, (pattern, self.text)
            if select.select([self.fd], [], [], 1)[0]:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
        self.text = self.text[found.end():]
        return found


class Completion(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="bioinfer-completion-")
        self.addCleanup(shutil.rmtree, self.dir)
        for name in ("proteins.fasta", "inputrc"):
            with open(os.path.join(self.dir, name), "w") as f:
                f.write("set enable-bracketed-paste off\n" if name == "inputrc" else ">a\nMKT\n")

    def script(self, shell, name):
        path = os.path.join(self.dir, "scripts", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            subprocess.run([EXE, "completion", shell], check=True, stdout=f, timeout=60)
        return path

    def check(self, complete):
        """complete(line): the words that a line is completed to, the last of them."""
        for line, words in (
                ("bioinfer scor", ["score"]), ("bioinfer help exit", ["exit-status"]),
                ("bioinfer embed --part", ["--part-records"]),
                ("bioinfer proteinmpnn --side", ["--side-chain-context"]),
                ("bioinfer esm2 proteins.fasta --precision fp1", ["fp16"]),
                ("bioinfer align a.fasta --format need", ["needle"]),
                ("bioinfer score esm2 x.fasta --method ps", []),
                ("bioinfer score esm2 x.fasta --method pp", ["pppl"]),
                ("bioinfer esm2 prot", ["proteins.fasta"]),
                ("bioinfer esm2 --weights prot", ["proteins.fasta"]),
                ("bioinfer align --num-s", [])):
            self.assertEqual(complete(line), words, line)

    def test_bash(self):
        path = self.script("bash", "bioinfer.bash")
        subprocess.run(["bash", "-n", path], check=True)
        shell = Terminal(self.dir, "bash", "--norc", "--noprofile", "-i")
        self.addCleanup(shell.close)
        shell.send(f". {path}; echo ready\n")
        shell.until(r"\nready\r?\n")

        def complete(line):
            """Alt-* inserts all completions; then the line is printed instead of run."""
            shell.send(f"{line}\033*\001printf '{MARK[:-1]}%s]' \n")
            shell.send("echo end\n")
            found = shell.until(r"(?s)\n((?:\[words[^\r\n]*)?)\$ echo end\r?\nend\r?\n")[1]
            words, typed = re.findall(r"\[words([^]]*)\]", found), line.split()
            return words[len(typed) - 1:] if words[:len(typed)] != typed else words[len(typed):]

        self.check(complete)
        self.assertEqual(complete("bioinfer esm2 --d"),
                         ["--dedup", "--device", "--dry-run", "--dtype", "--dump-graph",
                          "--dup-ids"])
        self.assertEqual(complete("bioinfer esm2 --include mean,con"), ["mean,contacts"])
        self.assertEqual(complete("bioinfer esm2 --resume=f"), ["--resume=force"])
        everything = complete("bioinfer ")
        self.assertIn("esm2", everything)
        self.assertIn("devices", everything)
        self.assertNotIn("weights", everything)

    def test_zsh(self):
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        path = self.script("zsh", "_bioinfer")
        subprocess.run(["zsh", "-n", path], check=True)
        shell = Terminal(self.dir, "zsh", "-f", "-i")
        self.addCleanup(shell.close)
        shell.send(f"unsetopt zle_bracketed_paste; fpath=({os.path.dirname(path)} $fpath); "
                   "autoload -U compinit; compinit -D -u; setopt no_list_beep; echo ready\n")
        shell.until(r"\nready\r?\n")

        def complete(line):
            shell.send(f"{line}\t")
            shell.send(f"\001printf '{MARK[:-1]}%s]' \n")
            shell.send("echo end\n")
            found = shell.until(r"(?s)\n(\[words[^\r\n]*).*?echo end.*?\nend\r?\n")[1]
            words, typed = re.findall(r"\[words([^]]*)\]", found), line.split()
            return words[len(typed) - 1:] if words != typed else []

        self.check(complete)

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        path = self.script("fish", "bioinfer.fish")
        subprocess.run(["fish", "-n", path], check=True)

        def complete(line):
            script = f"source {path}; complete -C '{line}'"
            p = subprocess.run(["fish", "--no-config", "-c", script], check=True,
                               capture_output=True, text=True, cwd=self.dir, timeout=60,
                               env=dict(os.environ, HOME=self.dir))
            self.assertEqual(p.stderr, "")
            return [found.split("\t")[0] for found in p.stdout.splitlines()]

        self.check(complete)

    def test_unknown_shell(self):
        p = subprocess.run([EXE, "completion", "csh"], capture_output=True, text=True)
        self.assertEqual((p.returncode, p.stdout), (64, ""))
        self.assertIn("'csh' is not one of bash|zsh|fish", p.stderr)


if __name__ == "__main__":
    EXE = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
