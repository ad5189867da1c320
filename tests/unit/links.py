#!/usr/bin/env python3
"""links.py SOURCE_ROOT - what the documents name is there: the targets of their links, headings
that links point to, and files, folders and programs of the tree between backticks."""
import glob
import os
import re
import sys

LINK = re.compile(r'\]\(([^)\s]+)\)')
PATH = re.compile(r'`(\w[\w.-]*(?:/[\w.-]+)+)(?::[^`]*)?`')
MADE = re.compile(r'build/|kernels/gpu_blobs\.c$|share/bioinfer$')  # by a build, an installation


def documents(root):
    found = [os.path.relpath(path, root) for room in ('', 'docs/**/', 'bench/**/', 'share/**/')
             for path in glob.glob(f'{root}/{room}*.md', recursive=True)]
    return sorted(name for name in found if name != 'docs/api-history.md')


def headings(text):
    """Anchors of the headings of a document, as a forge makes them."""
    return {re.sub(r'[^\w -]', '', line.lstrip('# ').lower()).replace(' ', '-')
            for line in text.splitlines() if line.startswith('#')}


def faults(root, name, text):
    for target in LINK.findall(text):
        path, _, anchor = target.partition('#')
        to = os.path.join(root, os.path.dirname(name), path) if path else os.path.join(root, name)
        if re.match(r'\w+:', target):
            continue
        if not os.path.exists(to):
            yield f'{name}: a link to {target}, which is not there'
        elif anchor:
            with open(to, encoding='utf-8') as f:
                if anchor not in headings(f.read()):
                    yield f'{name}: a link to {target}: {path or name} has no such heading'
    for path in PATH.findall(text):
        if os.path.exists(os.path.join(root, path.split('/')[0])) and not MADE.match(path) and \
                not any(os.path.exists(os.path.join(root, path + end)) for end in ('', '.c')):
            yield f'{name}: `{path}`, which is not there'


def main(root):
    names, found = documents(root), []
    assert 'README.md' in names and len(names) > 20, names
    for name in names:
        with open(os.path.join(root, name), encoding='utf-8') as f:
            found += faults(root, name, f.read())
    assert [fault.split(': ')[1] for fault in faults(
        root, 'README.md', '[a](docs/none.md) [b](LICENSE) [c](#none) `docs/none.md`')] == [
            'a link to docs/none.md, which is not there', 'a link to #none',
            '`docs/none.md`, which is not there'], 'the test sees nothing'
    print('\n'.join(found))
    return bool(found)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1]))
