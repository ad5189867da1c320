#!/usr/bin/env python3
"""man_page.py BIOINFER PAGE - writes the manual page: PAGE and, from the help of the command, what
it leaves out.

The line `.\\" usages` stands for the usage of every command, `.\\" commands` for the commands that
have no section in PAGE, and `.\\" options` for the options that no list there has.
"""
import re
import subprocess
import sys


def help_of(exe, *words):
    return subprocess.run([exe, "help", *words], check=True, stdout=subprocess.PIPE,
                          text=True).stdout


def block(text, title):
    """The lines under a title, up to the next empty one."""
    return text.split("\n" + title + ":\n")[1].split("\n\n")[0].splitlines()


def plain(text):
    """Words as a line of a page."""
    text = text.replace("\\", "\\e") or '.\\"'
    return "\\&" + text if text.startswith((".", "'")) else text


def macros(words):
    """The macros of a usage: [embed] MODEL -o FILE."""
    line, value = [], False
    for word in words:
        if re.match(r"--?\w", word):
            macro = "Fl " + re.sub("^-", r"\\-", word[1:])
        elif re.fullmatch(r"[a-z]+", word) and word != "options" and not value:
            macro = "Cm " + word
        elif word in ("|", "..."):
            macro = word if line else "No " + word
        else:
            macro = "Ar " + word.replace("|", " | ").replace("...", " ...")
        value = macro.startswith("Fl")
        line.append(macro)
    return " ".join(line)


def synopsis(usage):
    """The lines of SYNOPSIS for `bioinfer COMMAND ...`."""
    lines = [".Nm"]
    for part in re.findall(r"\[[^]]*\]|\S+", usage)[1:]:
        inner = part.strip("[]").split()
        lines.append("." + ("Op " if part[0] == "[" else "") + macros(inner))
    return lines


def section(exe, name):
    """The section of a command: its usage, summary, input and examples."""
    text = help_of(exe, name)
    words = [line.strip() for line in text.split("\n\n")[1].splitlines()]
    return [".Ss " + text.split("\n")[0][len("Usage: "):],
            plain(words[0][0].upper() + words[0][1:] + "."), plain(" ".join(words[1:])),
            ".Bd -literal -offset indent",
            *(plain(line.strip()) for line in block(text, "Examples")), ".Ed"]


def options_of(exe, name):
    """(letter, option, value, help) of each option of a command."""
    found = []
    for line in block(help_of(exe, name, "all"), "Options"):
        beside = line[25:27] == "  "
        match = re.fullmatch(r"  (?:-(\w), |    )--([\w-]+) ?(.*)", line[:27].rstrip() if beside
                             else line)
        if match:
            found.append([*match.groups(), line[27:] if beside else ""])
        else:
            found[-1][3] = (found[-1][3] + " " + line.strip()).strip()
    return found


def entries(exe, commands, page):
    """The list of options without a place in the page."""
    meanings = {}  # (letter, option, value) -> {help: commands}
    for command in commands:
        for *option, words in options_of(exe, command):
            meanings.setdefault(tuple(option), {}).setdefault(words, []).append(command)
    lines = []
    for (letter, name, value), texts in meanings.items():
        if re.search(r"^\.It .*Fl \\-%s\b(?!-)" % name, page, re.M):
            continue
        value = " Ns Op = Ns Ar " + value[2:-1] if value[:1] == "[" else " Ar " + value if value \
            else ""
        lines.append(".It " + ("Fl %s%s , " % (letter, value) if letter else "") +
                     "Fl \\-" + name + value)
        for i, (text, names) in enumerate(texts.items()):
            text = ", ".join(names) + ": " + text if len(texts) > 1 else text
            lines += [".br"] * (i > 0) + [plain(text[0].upper() + text[1:] + ".")]
    return [".Ss Other options", ".Bl -tag -width Ds", *lines, ".El"] if lines else []


def main(exe, path):
    with open(path, encoding="utf-8") as file:
        page = file.read()
    usages = [line.strip() for line in block("\n" + help_of(exe, "all"), "Usage")]
    names = [re.sub(r"[][]", "", usage.split()[1]) for usage in usages]
    sections = [name for name in names
                if not re.search(r'^\.(?:Ss bioinfer|\\" of) %s\b' % name, page, re.M)]
    made = {"usages": [line for usage in usages for line in synopsis(usage)],
            "commands": [line for name in sections for line in section(exe, name)],
            "options": entries(exe, names, page.split(".Sh OPTIONS")[1])}
    for line in page.splitlines():
        mark = re.fullmatch(r'\.\\" (\w+)', line)
        print("\n".join(made.pop(mark[1])) if mark and made.get(mark[1]) else line)


if __name__ == "__main__":
    main(*sys.argv[1:])
