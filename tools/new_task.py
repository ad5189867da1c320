#!/usr/bin/env python3
"""new_task.py STEM [ROOT] - begins a task: writes its files and its rows.

The task works: one number for each sequence, the mean entropy of what a model predicts, with one
parameter. Change it into the task that is wanted. New files: tasks/STEM.c, tasks/STEM.inc,
cli/STEM.c, tests/cli/task_STEM.py, docs/STEM.md. Rows and sections: tasks/tasks.inc,
cli/commands.inc, include/bioinfer.h, docs/man/bioinfer.1; docs/api-history.md where there is a C
compiler. Nothing is written where one of the files exists.
"""
import os
import re
import subprocess
import sys

import begin

FILES = {
    'task.c.in': 'tasks/%s.c',
    'table.inc.in': 'tasks/%s.inc',
    'command.c.in': 'cli/%s.c',
    'test.py.in': 'tests/cli/task_%s.py',
    'page.md.in': 'docs/%s.md',
}
HEADER, MAN, HISTORY = 'include/bioinfer.h', 'docs/man/bioinfer.1', 'docs/api-history.md'
END_OF_HEADER = '#ifdef __cplusplus\n}\n'
MEMBERS = ' *\n * Everything that is computed is a task,'  # the list of sections stands above this


def number_section(task):
    """The section of the header, and its number in the list of sections."""
    text = task.text_of(HEADER)
    number = 1 + max(map(int, re.findall(r'^/\* ---- (\d+) ', text, re.M)))
    title = '/* ---- %d %s ' % (number, task.stem)
    task.insert(HEADER, '%s%s */\n' % (title, '-' * (97 - len(title))) +
                task.template('header.h.in'), END_OF_HEADER)
    task.insert(HEADER, ' *           %d %s\n' % (number, task.stem), MEMBERS)


def note_history(task):
    """Adds what the header has now to the history of the header."""
    test = os.path.join(task.root, 'tests', 'unit', 'api.py')
    done = subprocess.run([sys.executable, test, task.root, 'history'], stdout=subprocess.PIPE,
                          text=True, check=False)
    lines = re.findall(r'"(\+ bioinfer_%s_\w+.*?)" is missing' % task.stem, done.stdout)
    if done.returncode == 77 or not lines:
        print('%s: add what tests/unit/api.py ROOT history asks for' % HISTORY)
        return
    with open(os.path.join(task.root, HISTORY), 'a', encoding='utf-8') as file:
        file.write('\nThe task %s:\n\n%s' % (task.stem, ''.join('    %s\n' % x for x in lines)))


def main():
    task = begin.Begun('new_task', __doc__, 'task')
    task.make(FILES)
    for path, word in ('tasks/tasks.inc', '(' + task.stem), ('cli/commands.inc', ' ' + task.stem):
        if re.search(r'^[A-Z]+\(.*%s[,)]' % re.escape(word), task.text_of(path), re.M):
            task.refuse('%s has the task already' % path)
    task.insert('tasks/tasks.inc', 'TASK(%s, ALL)\n' % task.stem, '\n#undef TASK\n')
    task.insert('cli/commands.inc', task.template('row.inc.in'), 'TASK(RELAX, relax,')
    number_section(task)
    task.insert(MAN, task.template('synopsis.in'), '.Nm\n.Cm relax\n')
    task.insert(MAN, task.template('section.in'), '.Ss bioinfer relax [MODEL] FRAMES\n')
    if '\n.It Fl \\-log-base ' not in task.text_of(MAN):
        task.insert(MAN, task.template('option.in'), '.It Fl \\-forces\n')
    task.write()
    note_history(task)


if __name__ == '__main__':
    main()
