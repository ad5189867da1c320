#!/usr/bin/env python3
"""new_task.py STEM [ROOT] - begins a task: writes its files and its rows.

The task works: one number for each sequence, the mean entropy of what a model predicts, with one
parameter. Change it into the task that is wanted. New files: tasks/STEM.c, tasks/STEM.inc,
cli/STEM.c, tests/cli/task_STEM.py, docs/STEM.md. Rows and sections: tasks/tasks.inc,
cli/commands.inc, include/bioinfer.h. Where there is a C compiler, docs/api-history.md gets the
lines of tests/unit/api.py. Nothing is written where one of the files exists.
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
HEADER = 'include/bioinfer.h'
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


def main():
    task = begin.Begun('new_task', __doc__, 'task')
    task.make(FILES)
    for path, word in ('tasks/tasks.inc', '(' + task.stem), ('cli/commands.inc', ' ' + task.stem):
        if re.search(r'^[A-Z]+\(.*%s[,)]' % re.escape(word), task.text_of(path), re.M):
            task.refuse('%s has the task already' % path)
    task.insert('tasks/tasks.inc', 'TASK(%s, ALL)\n' % task.stem, '\n#undef TASK\n')
    task.insert('cli/commands.inc', task.template('row.inc.in'), 'TASK(RELAX, relax,')
    number_section(task)
    task.write()
    history = os.path.join(task.root, 'tests', 'unit', 'api.py')
    subprocess.run([sys.executable, history, task.root, 'note', 'The task %s:' % task.stem],
                   check=False)  # it says where it needs a compiler


if __name__ == '__main__':
    main()
