#!/usr/bin/env python3
"""Checks what the tree promises about itself, read from the tree.

    structure.py SOURCE_ROOT SHARED_LIBRARY TEST... [--OPTION=VALUE...]
    structure.py SOURCE_ROOT - ops_table --write=FILE   writes the table of ops (build/docs/ops.md)

TEST is the name of a function below; exit 0 when it holds, 77 when a tool is missing.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = LIBRARY = ''

# Folder -> folders it may include beside itself. tests may include everything.
ARROWS = {
    'base': {'include'},
    'graph': {'base', 'kernels', 'ops'},
    'ops': {'graph', 'base', 'kernels'},
    'kernels': set(),
    'loaders': {'base'},
    'writers': {'base'},
    'report': {'writers', 'loaders', 'base'},
    'jobs': {'writers', 'loaders', 'base'},
    'models': {'ops', 'graph', 'kernels', 'loaders', 'base'},
    'engine': {'models', 'ops', 'graph', 'kernels', 'base'},
    'align': {'engine', 'ops', 'kernels', 'loaders', 'base'},
    'tasks': {'align', 'engine', 'models', 'kernels', 'loaders', 'writers', 'base'},
    'lib': {'tasks', 'engine', 'models', 'jobs', 'report', 'loaders', 'writers', 'base'},
    'cli': {'include', 'base', 'loaders', 'writers'},
    'serve': {'include', 'cli', 'base', 'loaders', 'writers'},
    'python': {'include'},
    'packaging': set(),
    'examples': {'include'},
    'bench': {'include', 'kernels', 'base'},
}
# A folder may include these files of a folder that its line above allows, and no others.
ONLY = {
    # sizes, kinds of sums, activations
    ('graph', 'kernels'): {'kernels/axes.inc', 'kernels/counts.h', 'kernels/linear.h',
                         'kernels/list_sums.h', 'kernels/norm_act.h'},
    # sizes of what a loop decides, and of blocks of attention
    ('models', 'kernels'): {'kernels/block_attention.h', 'kernels/decode.h', 'kernels/edges.h',
                            'kernels/edm.h'},
    ('graph', 'ops'): {'ops/op.h', 'ops/ops.inc'},  # the table of ops
    ('jobs', 'loaders'): {'loaders/json.h', 'loaders/fasta_index.h'},
    ('base', 'include'): {'include/bioinfer.h'},
    ('bench', 'base'): {'base/team.h'},
    ('cli', 'include'): {'include/bioinfer.h'},
    ('cli', 'base'): {'base/temp.h', 'base/sha256.h'},  # these need libc alone
    ('python', 'include'): {'include/bioinfer.h'},
    # one reader and one writer of JSON, one reader of tables, which bioinfer.h does not promise
    ('cli', 'loaders'): {'loaders/csv.h', 'loaders/json.h'},
    ('cli', 'writers'): {'writers/text.h', 'writers/units.h'},
    ('serve', 'include'): {'include/bioinfer.h'},
    ('serve', 'cli'): {'cli/shared.h'},
    ('serve', 'base'): {'base/temp.h'},
    ('serve', 'loaders'): {'loaders/gunzip.h', 'loaders/json.h', 'loaders/npy.h', 'loaders/zip.h'},
    ('serve', 'writers'): {'writers/text.h'},
    ('examples', 'include'): {'include/bioinfer.h'},
}


# Headers that files meson.build make.
GENERATED = {'kernels/list.h', 'kernels/gpu_list.h', 'kernels/emu_modules.h', 'loaders/roots.h',
             'tasks/tables.h'}


def sources(*folders, suffixes=('.c', '.h', '.inc')):
    """Path from the root and text of every source file in the folders."""
    found = []
    for folder in folders:
        for at, names, files in os.walk(os.path.join(ROOT, folder)):
            names.sort()
            for name in sorted(files):
                if name.endswith(suffixes):
                    path = os.path.join(at, name)
                    with open(path, encoding='utf-8') as file:
                        found.append((os.path.relpath(path, ROOT), file.read()))
    assert found, 'no sources in %s' % (folders,)
    return found


def without_comments(text, strings=True):
    """C text with comments, and with strings when asked to, blanked."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''

    def blank(match):
        token = match.group(0)
        if token[0] == '/' or strings:
            return re.sub(r'[^\n]', ' ', token)
        return token

    return re.sub(pattern, blank, text, flags=re.S)


def resolve(path, name):
    """The file of the tree that #include "name" in `path` means, or None."""
    if name in GENERATED:
        return name
    places = [os.path.dirname(path), '', 'include']
    for place in places:
        candidate = os.path.normpath(os.path.join(place, name))
        if os.path.exists(os.path.join(ROOT, candidate)):
            return candidate
    return None


MOST_CORE = 6000  # lines of engine/
MOST_COMMAND = 300  # lines of a file of cli/ that belongs to the command of one task
MOST_CLI = 13900  # lines of cli/ without cli/align, whose task reads its own input, ...
CLI_TASKS, MORE_CLI = 14, 70  # ... with the commands of 14 tasks, and for each further one


def commands():
    """Files of a task's command are short, as cli/run.c has the frame; cli/ stays small."""
    tasks = set(re.findall(r'^(?:TASK|DIRECT|SETTLED)\((\w+)', text_of('tasks/tasks.inc'), re.M))
    assert 'embed' in tasks, tasks
    files = sources('cli')
    mine = r'cli/(align/\w+|(%s)(_\w+)?)\.[ch]$' % '|'.join(sorted(tasks | {'motion'}))
    problems = ['%s has %d lines: at most %d' % (path, text.count('\n'), MOST_COMMAND)
                for path, text in files
                if re.match(mine, path) and text.count('\n') > MOST_COMMAND]
    n = sum(text.count('\n') for path, text in files if not path.startswith('cli/align/'))
    most = MOST_CLI + MORE_CLI * (len(tasks) - CLI_TASKS)
    if n > most:
        problems.append('cli/ without cli/align has %d lines: at most %d' % (n, most))
    return problems


def arrows():
    """#includes go the way the table says, and the core stays small."""
    problems = []
    n_core = sum(text.count('\n') for _, text in sources('engine'))
    if n_core > MOST_CORE:
        problems.append('engine/ has %d lines: at most %d' % (n_core, MOST_CORE))
    folders = sorted(entry.name for entry in os.scandir(ROOT)
                     if entry.is_dir() and not entry.name.startswith(('.', 'build')))
    for folder in folders:
        if folder in ('tests', 'docs', 'share', 'tools', 'include'):
            continue
        if folder not in ARROWS:
            problems.append('%s/: a folder without a line in the table' % folder)
    for path, text in sources(*ARROWS):
        folder = path.split('/')[0]
        family_op = re.match(r'models/\w+/ops/', path)  # as ops/, beside its family
        for name in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            target = resolve(path, name)
            if not target:
                problems.append('%s: "%s" is not in the tree' % (path, name))
                continue
            to = target.split('/')[0]
            if to == folder or (family_op and to in {'ops'} | ARROWS['ops']):
                continue
            if to not in ARROWS[folder]:
                problems.append('%s includes %s: %s may include %s' %
                                (path, target, folder, sorted(ARROWS[folder]) or 'nothing else'))
            elif target not in ONLY.get((folder, to), {target}):
                problems.append('%s includes %s' % (path, target))
        if folder in ('cli', 'examples', 'serve') and re.search(r'#\s*include\s+"[^"]*bi_', text):
            problems.append('%s includes an internal header' % path)
    return problems


def ops_list():
    """(kind, NAME, stem, inputs, outputs, kernel, comment) of every op of ops.inc."""
    text = text_of('ops', 'ops.inc')
    found = re.findall(r'(?:/\* ((?:(?!\*/).)*) \*/\n)?^(CORE|FAMILY|FUSED)'
                       r'\((\w+), (\w+), (\d+), (\d+), (\w+)[,)]', text, re.M | re.S)
    assert len(found) > 15
    return [(kind.lower(), *line, re.sub(r'\n \* ', ' ', comment))
            for comment, kind, *line in found]


def text_of(*parts):
    with open(os.path.join(ROOT, *parts), encoding='utf-8') as file:
        return file.read()


def op_path(stem):
    """Where the file of an op is: in ops/, or with the family that alone has a use for it."""
    own = glob.glob(os.path.join(ROOT, 'models', '*', 'ops', stem + '.c'))
    return os.path.relpath(own[0], ROOT) if own else os.path.join('ops', stem + '.c')


def entry_of(stem):
    """Name of the kernel that an op launches; its file may hand over to another op's."""
    text = text_of(op_path(stem))
    match = re.search(r'BI_LAUNCH\(launch, "(\w+)", struct (\w+)', text)
    if match:
        return match.group(1), match.group(2)
    if 'bi_launch_unary(g, node, bind, launch' in text:
        return entry_of('gelu')
    if 'bi_launch_linear(g, node, b, launch' in text and stem != 'linear':
        return entry_of('linear')
    if '.launch = bi_launch_tensor_map' in text:
        return entry_of('tensor_map')
    if 'bi_launch_unary_grad(' in text:
        return entry_of('shared')
    match = re.search(r'bi_op_(\w+)\.launch\(', text)
    return entry_of(match.group(1)) if match else (None, None)


def family_ops():
    """Path and text of the ops of families."""
    return [(path, text) for path, text in sources('models', suffixes=('.c',))
            if re.match(r'models/\w+/ops/', path)]


def op_files():
    """Every op has its file, its parameters, a kernel, a reference and a case."""
    problems = []
    stems = set()
    for kind, name, stem, _, _, kernel, _ in ops_list():
        stems.add(stem)
        if name != stem.upper():
            problems.append('ops.inc: %s is not the upper case of %s' % (name, stem))
        path = op_path(stem)
        if not os.path.exists(os.path.join(ROOT, path)):
            problems.append('%s is missing' % path)
            continue
        if kind == 'core' and not path.startswith('ops/'):
            problems.append('ops.inc: %s is core, and its file is %s' % (name, path))
        text = text_of(path)
        if ('const struct bi_op bi_op_%s = {' % stem not in text or
            '.name = "%s"' % stem not in text):
            problems.append('%s does not end in bi_op_%s named "%s"' % (path, stem, stem))
        entry, params = entry_of(stem)
        if kernel != (entry or 'none') and (kernel != 'gpu' or entry != stem):
            problems.append('%s launches %s, ops.inc says %s' % (path, entry, kernel))
        elif kernel == 'none':
            if '.view = BI_VIEW_' not in text:
                problems.append('%s: a view launches nothing' % path)
        else:
            headers = [header for header, body in sources('kernels', suffixes=('.h',))
                       if re.search(r'^struct %s \{' % params, body, re.M)]
            if len(headers) != 1:
                problems.append('struct %s is in %s' % (params, headers))
            if '.reference = ' not in text:
                problems.append('%s: no reference' % path)
        if not os.path.exists(os.path.join(ROOT, 'tests', 'ops', stem + '.c')):
            problems.append('tests/ops/%s.c is missing' % stem)
    for path, text in sources('ops', suffixes=('.c',)) + family_ops():
        stem = os.path.basename(path)[:-2]
        # align is an op without a place in graphs: ops/align.h says why
        if stem not in stems and stem not in ('op', 'shared', 'align', 'atom_edges', 'tensor_edges',
                                              'tensor_map'):
            problems.append('%s has no line in ops.inc' % path)
    return problems


def ops_table_text():
    lines = [
        '# Ops', '',
        '<!-- Made by tests/unit/structure.py from ops/ops.inc. -->', '',
        'Models are written in core ops, and in those of their family; fused ops are made by the',
        'rules of `graph/rules/` alone. Every op has a reference in `ops/<op>.c` that defines it',
        '(sums in double) and a case in `tests/ops/<op>.c` that compares every kernel with it.',
        'Plain arrays are float32, ids and starts int32; `?` marks what may be left out.', '',
        '`T` tokens, `B` sequences, `R` rows of any kind, `H` heads of width `d`, `V` symbols;',
        '`longest` is the longest sequence of the batch.', '',
        '| op | kind | inputs | outputs | meaning | kernel |', '|---|---|---|---|---|---|']
    for kind, _, stem, n_in, n_out, kernel, comment in ops_list():
        meaning = comment.replace('|', 'or').replace('->', '→').strip()
        lines.append('| `%s` | %s | %s | %s | %s | %s |' % (
            stem, kind, n_in, n_out, meaning or 'element by element',
            {'none': 'a view', 'gpu': '`%s`, on GPUs' % stem}.get(kernel, '`%s`' % kernel)))
    return '\n'.join(lines) + '\n'


def ops_table():
    """Every op has a line in the table that the documents show."""
    text = ops_table_text()
    for arg in sys.argv:
        if arg.startswith('--write='):
            with open(arg.split('=', 1)[1], 'w', encoding='utf-8') as file:
                file.write(text)
    names = re.findall(r'^\| `(\w+)` \| (?:core|family|fused) \| \d+ \| \d+ \| [^|]+ \| [^|]+ \|$',
                       text, re.M)
    lines = re.findall(r'^(?:CORE|FAMILY|FUSED)\(', text_of('ops', 'ops.inc'), re.M)
    return [] if len(names) == len(lines) else ['%d ops, %d lines of the table' %
                                                (len(lines), len(names))]


def glossary():
    """Every word of docs/glossary.md has one sentence with its subject, and a place that exists."""
    problems, words = [], []
    for number, line in enumerate(text_of('docs', 'glossary.md').splitlines(), 1):
        cells = [cell.strip() for cell in line.strip('|').split('|')]
        if not line.startswith('|') or cells[0] in ('word', '---'):
            continue
        where = 'docs/glossary.md:%d' % number
        if len(cells) != 3:
            problems.append('%s: %d cells, expected word, meaning and place' % (where, len(cells)))
            continue
        word, meaning, place = cells
        if word in words:
            problems.append('%s: "%s" is there twice' % (where, word))
        if not re.match(r'(A|An|The) %s (\w+s|is) [^.]*\.$' % re.escape(word), meaning):
            problems.append('%s: "%s" is not one sentence about "%s"' % (where, meaning, word))
        path = place.strip('`').replace('<family>.c', '')
        if place != '-' and not os.path.exists(os.path.join(ROOT, path)):
            problems.append('%s: %s is not in the tree' % (where, place))
        words.append(word)
    assert len(words) > 20, words
    return problems


def family_names():
    """Only a family's own file, the list of families and tests spell its name. debt.py looks at the
    folders of the product that are not models/. A digit after a name makes it another one. A
    file that includes models/NAME.h has that family as a part of its own, and may name it."""
    problems = []
    stems = [stem + r'(?!\d)' for stem in
             re.findall(r'^MODEL\((\w+)\)', text_of('models', 'models.inc'), re.M)]
    assert stems
    for path, text in sources('bench', 'examples'):
        text = without_comments(text, strings=False)
        for stem in stems:
            if re.search(stem, text, re.I):
                problems.append('%s spells %s' % (path, stem))
    for name in stems:
        stem = name.partition('(')[0]
        for path, text in sources('models'):
            own = (path in ('models/%s.c' % stem, 'models/%s.h' % stem) or
                   path.startswith('models/%s/' % stem) or '"../%s.h"' % stem in text)
            if not own and path != 'models/models.inc' and \
                    re.search(name, without_comments(text, strings=False), re.I):
                problems.append('%s spells %s' % (path, stem))
    return problems


TASKS = 'tasks'
# Kind of a parameter -> types of its member.
KINDS = {'FLAG': {'int'}, 'INT': {'int', 'int64_t', 'uint64_t'}, 'REAL': {'double'},
         'CHOICE': {'int'}, 'BITS': {'unsigned'}, 'TEXT': {'const char *'},
         'NAMES': {'const char *'}, 'FILE': {'const struct bioinfer_text *'},
         'OUTPUT': {'struct bioinfer_tracks_output'}, 'PATH': {'const char *'},
         'RANGE': {'int64_t'}, 'COST': {'int'}}


def table_of(name):
    """The text of a table of parameters, with what it includes."""
    return re.sub(r'^#include "([^"]+)"', lambda found: table_of(found[1]), text_of(TASKS, name),
                  flags=re.M)


def parameter_rows(table):
    """{member: (kind, is it a list, counter of a list or length of a range, or None)} of the text
    of a table."""
    found = re.findall(r'^PARAM(_LIST)?\((\w+), (?:([a-z]\w*), )?([A-Z]+),', table, re.M)
    rows = {member: (kind, bool(several), counter or None)
            for several, member, counter, kind in found}
    rows.update({first: ('RANGE', False, n) for first, n in
                 re.findall(r'^PARAM_RANGE\((\w+), (\w+), ', table, re.M)})
    assert len(re.findall(r'^PARAM', table, re.M)) >= len(rows)
    return rows


def parameters():
    """Each member of a task's struct has a row of its kind, and the other way round."""
    problems = []
    header = re.sub(r'/\*.*?\*/', '', text_of('include', 'bioinfer.h'), flags=re.S)
    tables = [name[:-4] for name in os.listdir(os.path.join(ROOT, TASKS))
              if name.endswith('.inc') and 'struct bioinfer_%s_params {' % name[:-4] in header]
    assert 'embed' in tables
    for task in tables:
        table = table_of(task + '.inc')
        rows = parameter_rows(table)
        body = re.search(r'struct bioinfer_%s_params \{(.*?)\n\};' % task, header, re.S)[1]
        members = {}
        for kind, names in re.findall(r'^ +((?:const )?(?:struct )?\w+) ([^;()]+);', body, re.M):
            for name in names.split(','):
                stars, name = re.fullmatch(r'\s*(\**)(\w+)', name).groups()
                members[name] = kind + (' ' + stars if stars else '')
        rest = {m for m in members if m != 'struct_size' and not m.endswith('_user')}
        rest -= {c for _, _, c in rows.values()}
        rest -= set(re.findall(r'AT\((\w+)\)', table)) - set(rows)
        rest -= set(re.findall(r'\w+', ' '.join(re.findall(r'^NO_ROW\((.*)\)', table, re.M))))
        problems += ['%s.inc: %s of the struct has no row' % (task, m) for m in rest - set(rows)]
        alone = set(re.findall(r'\w+', ' '.join(re.findall(r'^ROW_ALONE\((.*)\)', table, re.M))))
        problems += ['%s.inc: the struct has no %s' % (task, m) for m in set(rows) - rest - alone]
        problems += ['%s.inc: %s is no row alone' % (task, m)
                     for m in alone - set(rows) | alone & rest]
        for member in sorted(rest & set(rows)):
            kind, several, counter = rows[member]
            have = members[member]
            if kind == 'RANGE' and members.get(counter) != have:
                problems.append('%s.inc: %s and %s are of two types' % (task, member, counter))
            if several:
                have = re.sub(r'^const (.*) \*$', r'\1', have)
            if have not in KINDS[kind]:
                problems.append('%s.inc: %s is %s, and %s in the struct' %
                                (task, member, kind, have))
    return problems


def tags():
    """A tag of a struct, union or enum that crosses files is defined in one header."""
    places = {}
    for path, text in sources(*ARROWS):
        if path.endswith('.h'):
            code = without_comments(text)
            for tag in re.findall(r'\b(?:struct|union|enum)\s+(bi_\w+)\s*\{', code):
                places.setdefault(tag, []).append(path)
    assert len(places) > 100, len(places)
    return ['%s is defined in %s' % (tag, ' and '.join(paths))
            for tag, paths in sorted(places.items()) if len(paths) > 1]


def forbidden_calls():
    """No call that writes without bounds, cannot report, or ends the process."""
    everywhere = ('gets strtok alloca setjmp longjmp abort exit _exit quick_exit system popen '
                  'signal setlocale rand srand putenv setenv printf puts putchar perror').split()
    unbounded = 'strcpy stpcpy strcat sprintf vsprintf atoi atol atoll atof'.split()
    parsers = 'assert scanf sscanf fscanf strncpy'.split()
    problems = []
    for path, text in sources('base', 'graph', 'ops', 'kernels', 'loaders', 'writers', 'jobs',
                              'models', 'report', 'engine', 'align', 'tasks', 'lib'):
        body = without_comments(text)
        names = everywhere + (unbounded if not path.startswith('kernels/') else []) + \
            (parsers if path.startswith('loaders/') else [])
        call = re.compile(r'(?<![\w.>])(%s)\s*\(' % '|'.join(names))
        for number, line in enumerate(body.splitlines(), 1):
            problems += ['%s:%d: %s()' % (path, number, name) for name in call.findall(line)]
            if path.startswith('loaders/') and re.search(r'#\s*include\s*<assert.h>', line):
                problems.append('%s:%d: assert.h' % (path, number))
    return problems


def temporary_files():
    """Files are created in base/temp.c, which takes no name that is there; journals and locks,
    which are opened again, follow no link."""
    problems = []
    for path, text in sources(*(set(ARROWS) - {'kernels'})):
        if path == 'base/temp.c' or path.startswith(('bench/', 'examples/')):
            continue
        for number, line in enumerate(without_comments(text, strings=False).splitlines(), 1):
            if (re.search(r'\b(mkstemp|mkostemp|mkdtemp|mktemp|tmpfile|tmpnam|tempnam|creat'
                          r'|freopen)\s*\(', line) or
                    re.search(r'\bfopen\s*\([^"]*"[wa]', line) or 'H5F_ACC_TRUNC' in line or
                    ('O_CREAT' in line and 'O_NOFOLLOW' not in line)):
                problems.append('%s:%d: %s' % (path, number, line.strip()))
    body = text_of('base', 'temp.c')
    assert body.count('O_CREAT | O_EXCL | O_NOFOLLOW') == body.count('O_CREAT') == 1
    return problems


def vendor_macros():
    """kernels/gpu/lib/gpu.h alone asks which vendor compiles."""
    macros = r'__(?:HIP\w*|CUDA\w*|NVCC\w*|AMDGCN\w*|AMDGPU\w*|NVPTX\w*|gfx\w*)'
    problems = []
    for path, text in sources(*ARROWS, suffixes=('.c', '.h', '.inc', '.cu', '.hip', '.cuh')):
        if path != 'kernels/gpu/lib/gpu.h':
            for found in re.findall(macros, without_comments(text, strings=False)):
                problems.append('%s: %s' % (path, found))
    return problems


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            print('%s is not installed: skipped' % tool)
            sys.exit(77)


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def exports():
    """The shared library shows bioinfer_* and nothing else, and all the header declares."""
    need('nm')
    names = {line.split()[-1].split('@')[0]
             for line in output('nm', '-D', '--defined-only', LIBRARY).splitlines()}
    declared = set(re.findall(r'BIOINFER_API[^;{]*?\b(bioinfer_\w+)\s*\(',
                              without_comments(text_of('include', 'bioinfer.h'))))
    assert len(declared) > 30
    problems = ['exported: %s' % name for name in sorted(names)
                if not name.startswith('bioinfer_') and not name.startswith(('__asan', '__ubsan'))]
    problems += ['declared, not exported: %s' % name for name in sorted(declared - names)]
    problems += ['exported, not declared: %s' % name for name in sorted(names - declared)
                 if name.startswith('bioinfer_')]
    return problems


# Writable objects the library may have, and why.
STATE = {
    'library_lock': 'writers/hdf5_library.c: libhdf5 is one per process and not safe with threads',
    'completed.0': 'C runtime', '__TMC_END__': 'C runtime', '__dso_handle': 'C runtime',
    '_edata': 'linker', '_end': 'linker', '__bss_start': 'linker',
}


def no_state():
    """No object of ours can be written at run time."""
    need('readelf')
    sections = {}
    for number, name in re.findall(r'^\s*\[\s*(\d+)\]\s+(\S+)', output('readelf', '-SW', LIBRARY),
                                   re.M):
        sections[number] = name
    problems, seen = [], 0
    for line in output('readelf', '-sW', LIBRARY).splitlines():
        words = line.split()
        if len(words) < 8 or not words[0].endswith(':'):
            continue
        name, section, kind = words[7], sections.get(words[6], ''), words[3]
        if '__asan' in name or '__odr_asan' in name:
            print('built with a sanitizer, which adds state: skipped')
            sys.exit(77)
        seen += kind == 'OBJECT'
        if kind == 'TLS' or (section in ('.data', '.bss', '.tdata', '.tbss') and
                             kind in ('OBJECT', 'TLS') and name not in STATE):
            problems.append('%s in %s can be written' % (name, section))
    assert seen > 50, 'the library was stripped'
    return problems


def option(name):
    """The value of --name=VALUE."""
    return next(a.split('=', 1)[1] for a in sys.argv if a.startswith('--%s=' % name))


def cet(path):
    """Files (or members of an archive) in all, and the names of those that lack the note of IBT and
    SHSTK, which the linker drops when one object lacks it."""
    text = output('readelf', '-nW', path)
    parts = re.split(r'^File: ', text, flags=re.M)[1:] or [path + '\n' + text]
    return len(parts), [part.split('\n', 1)[0] for part in parts
                        if not re.search(r'Properties:.*\bIBT, SHSTK\b', part)]


def hardening():
    """The command and the library: position-independent, read-only after relocation, no writable
    code, no executable stack; canaries, checked copies and landing pads where the compiler has
    them."""
    need('nm', 'readelf')
    problems, flags = [], option('flags').split()
    for path in LIBRARY, option('command'):
        name = os.path.basename(path)
        if re.search('__[am]san', output('nm', '-D', '--undefined-only', path)):
            print('built with a sanitizer: skipped')
            sys.exit(77)
        segments = re.findall(r'^  (\w+) +(?:0x\w+ ){5}([R ][W ][E ])',
                              output('readelf', '-lW', path), re.M)
        assert len([kind for kind, _ in segments if kind == 'LOAD']) > 1, segments
        if 'DYN (' not in output('readelf', '-hW', path):
            problems.append('%s is not position-independent' % name)
        if 'GNU_RELRO' not in [kind for kind, _ in segments]:
            problems.append('%s: no RELRO' % name)
        if not re.search(r'BIND_NOW|FLAGS_1.*\bNOW\b', output('readelf', '-dW', path)):
            problems.append('%s: no BIND_NOW' % name)
        if [kind for kind, rights in segments if 'W' in rights and 'E' in rights]:
            problems.append('%s: a segment is both writable and code' % name)
        if 'GNU_STACK' not in [kind for kind, _ in segments]:
            problems.append('%s: an executable stack' % name)
        taken = output('nm', '-D', '--undefined-only', path)
        if '-fstack-protector-strong' in flags and '__stack_chk_fail' not in taken:
            problems.append('%s: no stack protector' % name)
        checked = re.findall(r'\b__\w+_chk\b', taken)
        print('%s: %d functions with checked sizes' % (name, len(set(checked))))
        if option('fortify') != '0' and not checked:
            problems.append('%s: built without _FORTIFY_SOURCE' % name)
    if '-fcf-protection=full' in flags:
        n, lacking = cet(option('archive'))
        print('%d objects' % n)
        assert n > 100
        problems += ['%s has no note of IBT and SHSTK' % name for name in lacking]
        starts = [output(option('compiler'), '-print-file-name=' + name).strip()
                  for name in ('crti.o', 'crtn.o', 'crtbeginS.o', 'crtendS.o')]
        if any(cet(path)[1] for path in starts if os.path.exists(path)):
            print("the C library's own objects have no such note: the linker drops it")
        else:
            problems += ['%s has no note of IBT and SHSTK' % path for path in cet(LIBRARY)[1]]
    return problems


def header_compiles():
    """bioinfer.h alone, and used, in every mode; what BIOINFER_PARAMS fills in is right."""
    problems, modes = [], 0
    body = ('#include "bioinfer.h"\nint main(void)\n{\n    int layer = 6;\n'
            '    struct bioinfer_embed_params p = BIOINFER_PARAMS(struct bioinfer_embed_params);\n'
            '    struct bioinfer_embed_params q = BIOINFER_PARAMS(%s);\n'
            '    return p.struct_size != sizeof p || p.layers || q.struct_size != sizeof q ||\n'
            '           %s || (q.layers && *q.layers != layer);\n}\n')
    named = ('struct bioinfer_embed_params, .include = 1, .layers = &layer, .n_layers = 1',
             'q.include != 1 || q.n_layers != 1 || q.max_length')
    plain = ('struct bioinfer_embed_params', 'q.include || q.max_length || layer != 6')
    flags = ['-Wall', '-Wextra', '-pedantic', '-Wshadow', '-Wundef', '-Werror',
             '-I', os.path.join(ROOT, 'include')]
    compilers = [('cc', 'c', s) for s in ('c99', 'c11', 'c17')] + \
                [('clang', 'c', s) for s in ('c99', 'c11', 'c17')] + \
                [('c++', 'cpp', s) for s in ('c++11', 'c++17', 'c++20')] + \
                [('clang++', 'cpp', s) for s in ('c++11', 'c++17', 'c++20')]
    with tempfile.TemporaryDirectory() as folder:
        for compiler, suffix, standard in compilers:
            if not shutil.which(compiler):
                continue
            fields = named if suffix == 'c' or standard == 'c++20' else plain
            for kind, text in (('alone', '#include "bioinfer.h"\n'), ('used', body % fields)):
                path = os.path.join(folder, 'header.' + suffix)
                with open(path, 'w', encoding='utf-8') as file:
                    file.write(text)
                made = ['-fsyntax-only'] if kind == 'alone' else ['-o', path + '.out']
                # g++ says it of every field that is not named
                if suffix == 'cpp' and fields is named:
                    made.append('-Wno-missing-field-initializers')
                run = subprocess.run([compiler, '-std=' + standard] + flags + made + [path],
                                     stderr=subprocess.PIPE, text=True)
                modes += 1
                if run.returncode:
                    problems.append('%s -std=%s, %s:\n%s' % (compiler, standard, kind, run.stderr))
                elif kind == 'used' and subprocess.run([path + '.out']).returncode:
                    problems.append('%s -std=%s: the fields are not as given' %
                                    (compiler, standard))
    print('%d modes' % modes)
    if not modes:
        sys.exit(77)
    return problems


def tools_help():
    """Every tool says what it is for, also where no package of Python is installed."""
    problems = []
    for name in sorted(os.listdir(os.path.join(ROOT, 'tools'))):
        path = os.path.join(ROOT, 'tools', name)
        if not name.endswith('.py') or name == 'usage.py':
            continue
        run = subprocess.run([sys.executable, '-S', '-E', '-s', path, '--help'],
                             capture_output=True, text=True, timeout=20)
        if run.returncode or name not in run.stdout:
            problems.append('%s --help: exit %d: %s' %
                            (name, run.returncode, (run.stderr or run.stdout)[-300:]))
    return problems


def main():
    global ROOT, LIBRARY
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    ROOT, LIBRARY = os.path.abspath(sys.argv[1]), sys.argv[2]
    failed = 0
    for name in sys.argv[3:]:
        if name.startswith('--'):
            continue
        problems = globals()[name]()
        for problem in problems:
            print('%s: %s' % (name, problem), file=sys.stderr)
        failed += len(problems)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
