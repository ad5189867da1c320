#!/usr/bin/env python3
"""The form of commits: subject "area: what it does now" of at most 72 columns, and a body.

    commits.py SOURCE_ROOT      judges the commits since the last release, or since START
    commits.py --self-test      judges made-up messages and a small made-up history

tests/unit/debt.txt may not grow by a commit either: a rule that has more places than before needs a
line "Debt grows: why" in the body. Exit 0 when all is well, 77 where there is no history to judge.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

START = 'c52c3fd596a79e4ca8fe8b1993a1b6403e860ebe'  # the commits before it had no such test
AREA = r'[a-z0-9][a-z0-9_./+-]*'
SUBJECT = re.compile(r'%s(, %s)*: \S' % (AREA, AREA))
MAX_SUBJECT = 72
DEBT = 'tests/unit/debt.txt'
TRAILER = re.compile(r'[A-Z][\w-]+: \S+.*$|\(cherry picked from ')


class NoHistory(Exception):
    """Says why there is nothing to judge."""


def git(root, *command, check=True):
    run = subprocess.run(['git', '-C', root, *command], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, encoding='utf-8', errors='replace')
    if run.returncode and check:
        raise NoHistory('git %s: %s' % (command[0], run.stderr.strip()))
    return run.stdout.rstrip('\n') if run.returncode == 0 else None


def form(subject, body):
    """Say what is wrong with a message."""
    problems = []
    if not SUBJECT.match(subject):
        problems.append('the subject is not "area: what it does now", with an area in lower case')
    if len(subject) > MAX_SUBJECT:
        problems.append('the subject has %d columns, expected at most %d' %
                        (len(subject), MAX_SUBJECT))
    if subject.endswith('.'):
        problems.append('the subject ends with a full stop')
    if not [line for line in body.split('\n') if line.strip() and not TRAILER.match(line)]:
        problems.append('there is no body that says why, and how it was checked')
    return problems


def totals(text):
    """Rule -> places of all files, of the text of debt.txt."""
    counts = {}
    for line in (text or '').split('\n'):
        words = line.split()
        if len(words) == 3 and words[2].isdigit() and not line.startswith('#'):
            counts[words[0]] = counts.get(words[0], 0) + int(words[2])
    return counts


def grown(root, commit, body):
    """Say what is wrong with a commit's change of debt.txt."""
    if re.search(r'^Debt grows: \S', body, re.M):
        return []
    before = git(root, 'show', '%s^:%s' % (commit, DEBT), check=False)
    after = git(root, 'show', '%s:%s' % (commit, DEBT), check=False)
    if before is None or after is None:
        return []
    was = totals(before)
    return ['debt.txt: %s grows from %d to %d, and no line "Debt grows: ..." says why' %
            (rule, was.get(rule, 0), count)
            for rule, count in sorted(totals(after).items()) if count > was.get(rule, 0)]


def base(root, start):
    """The commit behind which commits are judged: the last release, or `start`."""
    if not os.path.exists(os.path.join(root, '.git')):
        raise NoHistory('%s is not the root of a git repository' % root)
    git(root, 'rev-parse', 'HEAD')
    release = git(root, 'describe', '--tags', '--abbrev=0', '--match', 'v[0-9]*', check=False)
    if release:
        return release
    if git(root, 'cat-file', '-t', start, check=False) != 'commit':
        raise NoHistory('commit %s is not here: the history is cut off' % start[:12])
    return git(root, 'merge-base', start, 'HEAD')


def judge(root, start):
    """(number of commits, problems) of everything since the base."""
    if not shutil.which('git'):
        raise NoHistory('git is not installed')
    since = base(root, start)
    log = git(root, 'log', '--no-merges', '--format=%H%x00%s%x00%b%x1e', '%s..HEAD' % since)
    changed = set(git(root, 'log', '--format=%H', '%s..HEAD' % since, '--', DEBT).split())
    problems, n = [], 0
    for record in log.split('\x1e'):
        if record.strip():
            commit, subject, body = record.strip('\n').split('\x00')
            if not n and ' ' not in subject and not body.strip():
                n += 1  # on top: a snapshot that a tool made of the tree, to test it
                continue
            wrong = form(subject, body) + (grown(root, commit, body) if commit in changed else [])
            problems += ['%s "%s": %s' % (commit[:12], subject, words) for words in wrong]
            n += 1
    return n, problems


BODY = 'Says why.\n\nChecked by a test.\n'
# Subject, body, a word of what is wrong, or None.
MESSAGES = [
    ('cli: takes two files', BODY, None),
    ('docs, tests/unit: measured once more', BODY, None),
    ('cli: ' + 'x' * 67, BODY, None),
    ('cli: ' + 'x' * 68, BODY, '73 columns'),
    ('takes two files', BODY, 'not "area'),
    ('CLI: takes two files', BODY, 'not "area'),
    ('cli:takes two files', BODY, 'not "area'),
    ('Revert "cli: takes two files"', BODY, 'not "area'),
    ('cli: takes two files.', BODY, 'full stop'),
    ('cli: takes two files', '', 'no body'),
    ('cli: takes two files', '\n', 'no body'),
    ('cli: takes two files', 'Signed-off-by: A <a@b>\n', 'no body'),
]


def self_test():
    for subject, body, words in MESSAGES:
        problems = form(subject, body)
        assert len(problems) == (words is not None), (subject, problems)
        assert words is None or words in problems[0], (subject, problems)
    if not shutil.which('git'):
        print('git is not installed: skipped')
        return 77
    with tempfile.TemporaryDirectory() as root:
        def commit(message, debt):
            os.makedirs(os.path.join(root, 'tests', 'unit'), exist_ok=True)
            with open(os.path.join(root, DEBT), 'w', encoding='utf-8') as file:
                file.write(debt)
            git(root, 'add', '.')
            git(root, 'commit', '-q', '--allow-empty', '-m', message)
            return git(root, 'rev-parse', 'HEAD')

        def skipped():
            try:
                return str(judge(root, START))
            except NoHistory as why:
                return str(why)

        assert 'is not the root' in skipped(), skipped()
        git(root, 'init', '-q')
        for setting in ('core.hooksPath none', 'commit.gpgSign false', 'tag.gpgSign false',
                        'user.name a', 'user.email a@b'):
            git(root, 'config', *setting.split())
        first = commit('before the rules', '# a list\nfile-lines a.c 12\n')
        assert 'is not here' in skipped(), skipped()
        assert judge(root, first) == (0, [])
        commit('a: moves a file\n\n' + BODY, 'file-lines b.c 12\n')
        assert judge(root, first) == (1, [])
        commit('a: grows\n\n' + BODY, 'file-lines b.c 13\n')
        n, problems = judge(root, first)
        assert n == 2 and len(problems) == 1 and 'grows from 12 to 13' in problems[0], problems
        commit('a: grows\n\n%s\nDebt grows: a reason.\n' % BODY, 'file-lines b.c 14\n')
        commit('no area', 'file-lines b.c 1\n')
        n, problems = judge(root, first)
        assert n == 4 and len(problems) == 3 and ' "no area": ' in problems[0], problems
        git(root, 'tag', 'v0.1.0')
        commit('a: of the next release\n\n' + BODY, 'file-lines b.c 1\n')
        assert judge(root, first) == (1, [])
    print('%d messages, and a history' % len(MESSAGES))
    return 0


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    if len(sys.argv) != 2 or sys.argv[1].startswith('-'):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        n, problems = judge(os.path.abspath(sys.argv[1]), START)
    except NoHistory as why:
        print('%s: skipped' % why)
        return 77
    for problem in problems:
        print(problem, file=sys.stderr)
    print('%d commits' % n)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
