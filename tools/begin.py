#!/usr/bin/env python3
"""begin.py - what new_op.py and new_task.py share: templates become files, and rows of lists."""
import os
import re
import sys


class Begun:
    """Files and rows that are to be written into a tree, all or none."""

    def __init__(self, tool, doc, places):
        """Reads the command line, STEM [ROOT]; `places` are words that stand for it."""
        self.tool = tool
        if len(sys.argv) not in (2, 3) or sys.argv[1].startswith('-'):
            print(doc.strip())
            sys.exit(0 if sys.argv[1:] in (['--help'], ['-h']) else 2)
        self.stem = sys.argv[1]
        here = os.path.dirname(os.path.abspath(__file__))
        self.templates = os.path.join(here, tool)
        self.root = sys.argv[2] if len(sys.argv) > 2 else os.path.dirname(here)
        self.words = {'@%s@' % places: self.stem, '@%s@' % places.upper(): self.stem.upper()}
        self.written = {}  # path -> text
        if not re.fullmatch(r'[a-z][a-z0-9_]*', self.stem):
            self.refuse('%s: expected lower case letters, digits and _' % self.stem)

    def refuse(self, words):
        sys.exit('%s.py: %s' % (self.tool, words))

    def template(self, name):
        """The text of a template, with the words of this stem."""
        with open(os.path.join(self.templates, name), encoding='utf-8') as file:
            text = file.read()
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text

    def text_of(self, path):
        if path not in self.written:
            with open(os.path.join(self.root, path), encoding='utf-8') as file:
                self.written[path] = file.read()
        return self.written[path]

    def make(self, files):
        """New files, {template: path with %s for the stem}."""
        for template, path in files.items():
            if os.path.exists(os.path.join(self.root, path % self.stem)):
                self.refuse('%s is there already' % (path % self.stem))
            self.written[path % self.stem] = self.template(template)

    def insert(self, path, text, before):
        """Puts text before the one place of a file that is `before`."""
        old = self.text_of(path)
        if old.count(before) != 1:
            self.refuse('%s: expected one "%s", there are %d' % (path, before.strip(),
                                                                 old.count(before)))
        self.written[path] = old.replace(before, text + before)

    def write(self):
        for path, text in self.written.items():
            with open(os.path.join(self.root, path), 'w', encoding='utf-8') as file:
                file.write(text)


if __name__ == '__main__':
    print(__doc__.strip())
