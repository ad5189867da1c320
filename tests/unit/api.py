#!/usr/bin/env python3
"""Sees that every symbol of include/bioinfer.h is used, and that every change has its line.

    api.py ROOT used               every function, struct and constant is used: by an example, a
                                   usage in the header, or a test
    api.py ROOT history            docs/api-history.md leads to the header as it is
    api.py ROOT note WORDS         adds to docs/api-history.md the lines that it lacks, under WORDS
    api.py ROOT state              the lines that the header needs, for that file
    api.py --self-test

A line of the history is "+ NAME NUMBER", "~ NAME NUMBER" or "- NAME", and then words. NUMBER is the
value of a constant or the bytes of a struct where pointers have 64 bits; a function has none.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HISTORY = ('docs', 'api-history.md')


def without_comments(text):
    return re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)


class Header:
    """Names of functions, structs and constants that a header declares."""

    def __init__(self, text):
        text = without_comments(text)
        statuses = re.findall(r'^ *X\((\w+), -?\d+, "', text, re.M)
        self.functions = re.findall(r'BIOINFER_API[^;{]*?\b(bioinfer_\w+)\s*\(', text)
        self.structs = re.findall(r'^struct (bioinfer_\w+) \{', text, re.M)
        self.constants = ['BIOINFER_' + name for name in statuses]
        for body in re.findall(r'^enum\b[^{;]*\{(.*?)\}', text, re.S | re.M):
            if '#define' not in body:
                self.constants += re.findall(r'\b(BIOINFER_\w+)\b(?=\s*(?:=|,|$|\n))', body)
        self.types = re.findall(r'typedef [^;]*?\b(bioinfer_\w+)(?:;|\)\()', text)
        self.names = self.functions + self.structs + self.constants


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def used(root):
    """Names that no example, usage or test has; the command and the Python package do not count."""
    header = Header(read(root, 'include', 'bioinfer.h'))
    words = set()
    for top in ('examples', 'tests'):
        for folder, _, files in os.walk(os.path.join(root, top)):
            for name in files:
                if name.endswith(('.c', '.cpp', '.h', '.py', '.inc')) and name != 'api.py':
                    words |= set(re.findall(r'\bbioinfer_\w+|\bBIOINFER_\w+', read(folder, name)))
    # usages that tests/unit/usages.py runs, and statuses that tests compare by their words
    words |= set(re.findall(r'\w+', ' '.join(re.findall(
        r'/\* usage:(.*?)\*/', read(root, 'include', 'bioinfer.h'), re.S))))
    return ['%s is used by no example and no test' % name for name in header.names
            if name not in words]


def numbers(root, header):
    """{name: bytes of a struct or value of a constant}, by a compiler."""
    lines = ['#include <bioinfer.h>', '#include <stdio.h>', 'int main(void)', '{']
    lines += ['    printf("%s %%zu\\n", sizeof(struct %s));' % (n, n) for n in header.structs]
    lines += ['    printf("%s %%d\\n", (int)%s);' % (n, n) for n in header.constants]
    with tempfile.TemporaryDirectory() as folder:
        source, program = os.path.join(folder, 'a.c'), os.path.join(folder, 'a')
        with open(source, 'w', encoding='utf-8') as file:
            file.write('\n'.join(lines + ['    return 0;', '}']) + '\n')
        subprocess.run(['cc', '-I', os.path.join(root, 'include'), source, '-o', program],
                       check=True)
        out = subprocess.run([program], check=True, stdout=subprocess.PIPE, text=True).stdout
    return {line.split()[0]: int(line.split()[1]) for line in out.splitlines()}


def replay(text):
    """({name: number or None}, problems) after all lines of a history."""
    state, problems = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r' {4}([+~-]) (\w+)(?: (-?\d+))?(?:  (.*))?$', line)
        if not match:
            if line.startswith('    '):
                problems.append('line %d is none of the history: %s' % (number, line.strip()))
            continue
        sign, name, value, _ = match.groups()
        if (name in state) != (sign in '~-'):
            problems.append('line %d: %s %s' % (number, name, 'is there already' if name in state
                                                else 'was never there'))
        if sign == '-':
            state.pop(name, None)
        else:
            state[name] = None if value is None else int(value)
    return state, problems


def compare(state, now):
    """[(the line of the history that is missing, more words)]"""
    lines = [(' '.join(str(x) for x in ('+', name, now[name]) if x is not None), '')
             for name in now if name not in state]
    lines += [('- ' + name, '') for name in state if name not in now]
    lines += [('~ %s %s' % (name, now[name]), ': it was %s' % state[name])
              for name in now if name in state and state[name] != now[name]]
    return lines


def state_of(root):
    header = Header(read(root, 'include', 'bioinfer.h'))
    values = numbers(root, header)
    return {name: values.get(name) for name in header.names}


def missing(root):
    """Problems of the history, and what compare() finds."""
    if sys.maxsize < 2**32 or not shutil.which('cc'):
        print('skipped: needs a compiler and pointers of 64 bits')
        sys.exit(77)
    state, problems = replay(read(root, *HISTORY))
    return problems, compare(state, state_of(root))


def history(root):
    problems, lines = missing(root)
    return problems + ['"%s" is missing%s' % line for line in lines]


def noted(text, words, lines):
    """A history with the lines that it lacked."""
    return text + ('\n%s\n\n' % words + ''.join('    %s\n' % line for line, _ in lines) if lines
                   else '')


def note(root, words):
    lines = missing(root)[1]
    text = noted(read(root, *HISTORY), words, lines)
    with open(os.path.join(root, *HISTORY), 'w', encoding='utf-8') as file:
        file.write(text)


def self_test():
    header = Header('/* BIOINFER_API int bioinfer_no(void); */\n'
                    'BIOINFER_API int bioinfer_a(\n    int x);\n'
                    '#define L(X) \\\n    X(OK, 0, "ok") /* */ \\\n'
                    'enum bioinfer_e { BIOINFER_A, BIOINFER_B = 3 };\n'
                    'enum { BIOINFER_C = 1 << 2 };\n'
                    'struct bioinfer_s {\n    int n;\n};\nstruct bioinfer_t;\n')
    assert header.functions == ['bioinfer_a'], header.functions
    assert header.structs == ['bioinfer_s'], header.structs
    assert header.constants == ['BIOINFER_OK', 'BIOINFER_A', 'BIOINFER_B', 'BIOINFER_C'], \
        header.constants
    state, problems = replay('text\n\n    + f\n    + s 8  words\n    + K -3\n    ~ s 16  more\n'
                             '    - f  gone\n')
    assert state == {'s': 16, 'K': -3} and not problems, (state, problems)
    assert len(replay('    + f\n    + f\n    - g\n    nonsense here\n')[1]) == 3
    assert not compare(state, {'s': 16, 'K': -3})
    assert compare(state, {'s': 24, 'K': -3}) == [('~ s 24', ': it was 16')]
    assert compare(state, {'s': 16, 'f': None}) == [('+ f', ''), ('- K', '')]
    now = {'s': 24, 'f': None, 'g': 3}
    text = noted('    + s 16\n    + K -3\n', 'Why:', compare(state, now))
    assert replay(text) == (now, []) and '\n\nWhy:\n\n    + f\n' in text, text
    assert noted(text, 'No more:', compare(now, now)) == text


def main():
    if sys.argv[1:] == ['--self-test']:
        self_test()
        return
    if sys.argv[2:3] == ['note'] and len(sys.argv) == 4:
        note(sys.argv[1], sys.argv[3])
        return
    if len(sys.argv) != 3 or sys.argv[2] not in ('used', 'history', 'state'):
        sys.exit(__doc__)
    root, what = sys.argv[1:]
    if what == 'state':
        for name, number in state_of(root).items():
            print('    + ' + name + ('' if number is None else ' %d' % number))
        return
    problems = used(root) if what == 'used' else history(root)
    if problems and what == 'history':
        print('docs/api-history.md lacks lines: tests/unit/api.py ROOT note "why" adds them')
    for problem in problems:
        print(problem)
    sys.exit(len(problems) > 0)


if __name__ == '__main__':
    main()
