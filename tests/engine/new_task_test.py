#!/usr/bin/env python3
"""new_task_test.py ROOT [COMPILER] - does a new task cost eight places?

Copies the tree, adds a task with tools/new_task.py, and sees that it is five new files and rows
of three lists, that a tool wrote what else has changed, and that the tree keeps its promises. With
COMPILER it then builds the command, its manual page and the Python package of the copy, without
optimisation, and runs the test that the task came with: the command, its help, a job in shards,
the server, a program in C, and Python.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir))
import begun

STEM = 'entropy'
NEW = ['cli/entropy.c', 'docs/entropy.md', 'tasks/entropy.c', 'tasks/entropy.inc',
       'tests/cli/task_entropy.py']
ROWS = ['cli/commands.inc', 'include/bioinfer.h', 'tasks/tasks.inc']
PLACES = 8
WRITTEN = ['docs/api-history.md']  # by `tests/unit/api.py ROOT note`


def history_is_made(tree, before, after):
    """The tool alone gives the history its lines."""
    path = os.path.join(tree, *WRITTEN[0].split('/'))
    with open(path, 'wb') as file:
        file.write(before)
    begun.run(sys.executable, '-B', os.path.join(tree, 'tests', 'unit', 'api.py'), tree, 'note',
              'The task %s:' % STEM)
    with open(path, 'rb') as file:
        if file.read() != after:
            sys.exit('%s: api.py gives other lines' % WRITTEN[0])


def main():
    root = os.path.abspath(sys.argv[1])
    with begun.copy_of(root, len(sys.argv) > 2) as tree:
        assert len(NEW + ROWS) == PLACES
        before, after = begun.add(tree, 'new_task.py', STEM, NEW, ROWS + WRITTEN)
        history_is_made(tree, before[WRITTEN[0]], after[WRITTEN[0]])
        for path in ROWS + WRITTEN:  # lines are added, and none is changed
            old, new = before[path].splitlines(), iter(after[path].splitlines())
            if not all(line in new for line in old):
                sys.exit('%s: a line that was there has changed' % path)
        begun.promises(root, tree, 'arrows', 'parameters', 'commands', 'forbidden_calls', 'tags')
        for what in 'used', 'history':
            begun.run(sys.executable, '-B', os.path.join(tree, 'tests', 'unit', 'api.py'), tree,
                      what)
        if len(sys.argv) < 3:
            return
        folder = begun.build(tree, sys.argv[2], ['cli/bioinfer', 'cli/bioinfer.1', 'python'])
        exe = os.path.join(folder, 'cli', 'bioinfer')
        print(begun.run(sys.executable, '-B', os.path.join(tree, NEW[4]), exe, tree, folder))
        print(begun.run(sys.executable, '-B', os.path.join(tree, 'tests', 'cli', 'check_man.py'),
                        exe, exe + '.1', tree))


if __name__ == '__main__':
    main()
