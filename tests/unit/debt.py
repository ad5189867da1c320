#!/usr/bin/env python3
"""The rules of the tree's form, and the list of what still breaks them.

    debt.py SOURCE_ROOT                      fails where the tree and debt.txt differ
    debt.py SOURCE_ROOT --places RULE [FILE] prints each place that breaks a rule
    debt.py SOURCE_ROOT --lower              removes from debt.txt what has been mended, and gives
                                             the counts of files that are gone to new ones, as a
                                             moved file needs
    debt.py SOURCE_ROOT --rewrite            writes debt.txt anew; for a commit that moves or
                                             formats files and changes nothing else
    debt.py --self-test                      breaks each rule in a small made-up tree

tests/unit/debt.txt has a line "RULE FILE COUNT" for each file that breaks a rule. The list may
only shrink: a place that it does not cover fails the test, and so does a line that asks for more
than is there, but for the rules of words, whose lines may ask for more until somebody runs --lower,
and whose counts follow files that move. The rules:

op-name          Outside ops/, the graph's rules, models/ and kernels/gpu/, which has the rows of
                 ops' kernels, no BI_OP_X but COPY, ADD, FILL, COUNT.
op-string        There, too, no string literal equals the name of an op, an entry or its module.
                 The command, readers and writers do not know ops: their words are those of users.
family-op        An op of one family (FAMILY of ops.inc) stands in models/<family>/ops, not in ops/.
family-name      Names of families, in code and in comments, are in models/ alone. Words of file
                 formats are allowed (FORMAT_WORDS).
exec-call        engine/runner.c alone calls bi_exec_...(), beside the executor itself.
file-lines       No file has more than 1,000 lines; counted in hundreds of lines. Usages of a
                 header (/* usage: ... */), which are programs, do not count. The public header
                 is one file by design, as users install and read it, and its comments are their
                 manual: of include/bioinfer.h the lines of declarations alone count, 1,200
                 at most, as each task has structs there.
function-lines   No function has more than 100 lines, from its first brace to its last.
line-columns     No line has more than 100 columns.
blank-line       A function of C has no blank line after the declarations that it begins with.
comment-opening  No comment, and no paragraph or list item of a document, opens with Of, Those,
                 And, With, What, Its or Theirs.
declaration      A function that a header of the product declares has a comment directly above it,
                 behind it on its last line, or above the block that it stands in, which has no
                 blank line. Headings (/* ---- text ---- */) and clang-format's switches are none.
turn             Comments and documents have none of the turns of tests/unit/prose.py, which a
                 newcomer has to decode: say which thing is meant, and "after" or "before".
long-sentence    No sentence of bioinfer.h, the manual page, README and docs/ has more than 25
                 words.
"""
import ast
import bisect
import contextlib
import io
import os
import re
import sys
import tempfile
import tokenize

sys.dont_write_bytecode = True
import prose  # noqa: E402

C_SUFFIXES = ('.c', '.h', '.inc', '.cu', '.cpp')
# Folders that are part of the product; the others are its tests, examples and documents.
PRODUCT = ('align', 'base', 'cli', 'engine', 'graph', 'include', 'jobs', 'kernels', 'lib',
           'loaders', 'models', 'ops', 'python', 'report', 'serve', 'tasks', 'writers')
KNOWS_OPS = re.compile(r'ops/|models/|graph/rules|kernels/gpu/\w+\.[ch]$')
NOT_OPS = ('cli/', 'include/', 'loaders/', 'python/', 'report/', 'serve/', 'writers/')
COMMON_OPS = ('COPY', 'ADD', 'FILL', 'COUNT')
HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, '..', '..', 'models', 'models.inc'), encoding='utf-8') as models_inc:
    STEMS = re.findall(r'^MODEL\((\w+)\)', models_inc.read(), re.M)
# Every family of the list, its parts with a blank, a hyphen or nothing between them; other names of
# families, and of models that they compute.
FAMILIES = re.compile(
    '|'.join(stem.replace('_', '[-_ ]?') for stem in STEMS if len(stem) > 4 or stem[-1].isdigit()) +
    r'|esm[-_ ]?2|esm[-_ ]?1[bv]|esm[ _]?c(?![a-z])|esm\+\+|prot_?bert|prot_?t5|prost_?t5|antiberty'
    r'|dual[-_ ]?bind|tensor[-_ ]?net|(?:protein_?|ligand_?)?mpnn'
    r'|(?<![a-z])(?:bert|t5|esm|ankh)(?![a-z0-9])', re.I)
# Folders (or everywhere), and the words of file formats that are allowed there.
FORMAT_WORDS = [
    ('', re.compile(r'esm[-_]pt', re.I)),                        # --format esm-pt
    ('loaders/', re.compile(r'(?<![a-z])mpnn(?![a-z])', re.I)),  # the container .mpnn
    ('loaders/', re.compile(r'fair-esm', re.I)),                 # whose checkpoints are .pt files
    ('loaders/', re.compile(r'dauparas/\w+MPNN:')),              # sources whose reading is followed
    ('cli/suggest.c', re.compile(r'ligand-mpnn')),               # options of other programs
    ('tasks/dock', re.compile(r'esm\b|ESM-2')),                  # --esm, another model's weights
    ('cli/commands.inc', re.compile(r' esm ')),
    # scores as another program has them
    ('tasks/variants.inc', re.compile(r"AlphaGenome's tool")),
    ('writers/', re.compile(r'fair-esm', re.I)),
    ('include/', re.compile(r'fair-esm', re.I)),
]
OPENINGS = {'of', 'those', 'and', 'with', 'what', 'its', 'theirs'}
MAX_FILE, MAX_FUNCTION, MAX_COLUMNS = 1000, 100, 100
MAX_MANUAL = 1200
PAGES = ('.md', '.1')
MANUAL = 'include/bioinfer.h'  # comments of this file are not counted

C_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*(?:\n[ \t]*//[^\n]*)*|/\*.*?\*/)'  # lines of // are one comment
    r'|(?P<string>"(?:\\.|[^"\\\n])*")|(?P<char>\'(?:\\.|[^\'\\\n])*\')'
    r'|(?P<directive>^[ \t]*\#[ \t]*\w+)|(?P<continued>\\\n)|(?P<newline>\n)'
    r'|(?P<word>[A-Za-z_]\w*)|(?P<number>\.?\d[\w.]*)|(?P<mark>[^\s\w])', re.S | re.M)


class Source:
    """A file: its path from the root, its text, and for C its tokens (kind, text, line)."""

    def __init__(self, path, text):
        self.path, self.text = path, text
        self.is_c = path.endswith(C_SUFFIXES)
        self.product = path.split('/')[0] in PRODUCT
        self.tokens = []
        if self.is_c:
            starts = [0] + [m.end() for m in re.finditer('\n', text)]
            self.tokens = [(m.lastgroup, m.group(0), bisect.bisect(starts, m.start()))
                           for m in C_TOKEN.finditer(text)]

    def code(self):
        """Tokens of C without comments and without the lines of directives."""
        inside = False
        for kind, text, line in self.tokens:
            if kind == 'directive':
                inside = True
            elif kind == 'newline':
                inside = False
            elif kind not in ('comment', 'continued') and not inside:
                yield kind, text, line


def read_tree(root):
    """Every source and document of the tree that the rules are about."""
    found = []
    for at, folders, files in os.walk(root):
        if at == root:
            folders[:] = [f for f in folders if not f.startswith(('.', 'build'))]
        folders.sort()
        for name in sorted(files):
            path = os.path.relpath(os.path.join(at, name), root)
            if name.endswith(C_SUFFIXES + ('.py', '.sh', '.md')) or \
                    name in ('meson.build', 'bioinfer.1'):
                with open(os.path.join(at, name), encoding='utf-8') as file:
                    found.append(Source(path, file.read()))
    return found


def names_of_ops(tree):
    """Names of all ops, entries of kernels and modules of entries."""
    names = set()
    for source in tree:
        if source.path == 'ops/ops.inc':
            for op in re.findall(r'^(?:CORE|FAMILY|FUSED)\(\w+, (\w+), \d+, \d+, (\w+)',
                                 source.text, re.M):
                names |= set(op) - {'none'}
        elif source.path.startswith('kernels/gpu/'):
            for entry in re.findall(r'^ +(?:E\(|S\(E, )(\w+), +(\w+), +\w+, +\d+, +\d+,',
                                    source.text, re.M):
                names |= set(entry)
    return names


def op_name(source, tree):
    if not source.product or KNOWS_OPS.match(source.path):
        return []
    return [(line, text) for kind, text, line in source.tokens
            if kind == 'word' and text.startswith('BI_OP_') and text[6:] not in COMMON_OPS and
            text not in ('BI_OP_', 'BI_OP_H')]  # BI_OP_##name, the guard of ops/op.h


def op_string(source, tree):
    if not source.product or KNOWS_OPS.match(source.path) or source.path.startswith(NOT_OPS):
        return []
    names = tree.op_names
    return [(line, text) for kind, text, line in source.tokens
            if kind == 'string' and text[1:-1] in names]


def family_op(source, tree):
    stem = re.match(r'ops/(\w+)\.c$', source.path)
    return [(1, stem[1])] if stem and stem[1] in tree.family_ops else []


def family_name(source, tree):
    if not source.product or source.path.startswith('models/'):
        return []
    found = []
    for kind, text, line in source.tokens:
        if kind in ('comment', 'string', 'word'):
            for folder, allowed in FORMAT_WORDS:
                if source.path.startswith(folder):
                    text = allowed.sub(lambda m: ' ' * len(m.group(0)), text)
            found += [(line + text.count('\n', 0, m.start()), m.group(0))
                      for m in FAMILIES.finditer(text)]
    return found


def exec_call(source, tree):
    if not source.product or source.path == 'engine/runner.c' or \
            re.match(r'engine/exec\w*\.[ch]$', source.path):
        return []
    code = list(source.code())
    return [(line, text) for (kind, text, line), after in zip(code, code[1:])
            if kind == 'word' and text.startswith('bi_exec_') and after[1] == '(']


def file_lines(source, tree):
    # usages in bioinfer.h are programs, which tests/unit/usages.py compiles and runs
    lines = re.sub(r'/\* usage:.*?\*/\n', '', source.text, flags=re.S).count('\n')
    if source.path == MANUAL:
        lines = len({line for kind, _, line in source.tokens if kind not in ('comment', 'newline')})
    most = MAX_MANUAL if source.path == MANUAL else MAX_FILE
    if source.path.endswith(PAGES) or lines <= most:
        return []
    return [(1, '%d lines' % lines)] * ((lines + 99) // 100)


def c_functions(source):
    """(name, first line, last line) of every function's body. A branch of #if begins with the
    braces that were open in front of the #if, so braces of two branches are not added up."""
    found, name, start = [], '', None
    depth = parens = around = 0  # around: braces of extern "C" and of namespaces
    branches, directive = [], False
    last, last_kind, last_but_one = '', '', ''
    for kind, text, line in source.tokens:
        if kind == 'directive':
            directive, word = True, text.strip(' \t#')
            if word in ('if', 'ifdef', 'ifndef'):
                branches.append((depth, parens))
            elif word in ('else', 'elif') and branches:
                depth, parens = branches[-1]
            elif word == 'endif' and branches:
                branches.pop()
        elif kind == 'newline':
            directive = False
        if directive or kind in ('newline', 'continued', 'comment'):
            continue
        if text == '{':
            if depth == 0 and (last_kind == 'string' or 'namespace' in (last, last_but_one)):
                around += 1
            else:
                if depth == 0 and last == ')':
                    start = line
                depth += 1
        elif text == '}':
            if depth:
                depth -= 1
            elif around:
                around -= 1
            if depth == 0 and start is not None:
                found.append((name, start, line))
                start = None
        elif depth == 0 and text == '(':
            if parens == 0:
                name = last
            parens += 1
        elif depth == 0 and text == ')':
            parens -= 1
        last, last_kind, last_but_one = text, kind, last
    return found


def function_lines(source, tree):
    functions = []
    if source.is_c:
        functions = c_functions(source)
    elif source.path.endswith('.py'):
        functions = [(node.name, node.lineno, node.end_lineno)
                     for node in ast.walk(ast.parse(source.text))
                     if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(first, '%s(): %d lines' % (name, last - first + 1))
            for name, first, last in functions if last - first + 1 > MAX_FUNCTION]


def line_columns(source, tree):
    if source.path.endswith(PAGES):
        return []
    return [(number, '%d columns' % len(line))
            for number, line in enumerate(source.text.split('\n'), 1) if len(line) > MAX_COLUMNS]


STATEMENT = re.compile(r' *(?:(?:if|for|while|return|switch|do|goto)\b|[a-z_]\w*\('
                       r'|\(?\*?[\w.>\[\]-]+ ?[-+|&*/^]?= |\+\+|--)')


def blank_line(source, tree):
    lines, found = source.text.split('\n'), []
    for _, first, last in c_functions(source) if source.is_c else []:
        for number in range(first, last):
            if not lines[number] and number > first and lines[first - 1] == '{':
                found.append((number + 1, 'blank'))
            if not lines[number] or STATEMENT.match(lines[number]):
                break
    return found


def python_comments(text):
    """(line, text) of comments and documentation strings; neighbouring lines are one comment."""
    found, last = [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            alone = not token.line[:column].strip()
            if not (alone and last == row - 1):
                found.append((row, token.string))
            last = row if alone else None
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and \
                ast.get_docstring(node):
            found.append((node.body[0].lineno, ast.get_docstring(node)))
    return found


def plain_comments(text):
    """(line, text) of comments of meson and the shell; neighbouring lines are one comment."""
    found, last = [], None
    for number, line in enumerate(text.split('\n'), 1):
        code = re.sub(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"",
                      lambda m: '_' * len(m.group(0)), line)
        match = re.search(r'(?:^|\s)#', code)
        if match:
            alone = not code[:match.start()].strip()
            if not (alone and last == number - 1):
                found.append((number, line[match.start():]))
            last = number if alone else None
    return found


def paragraphs(text):
    """(line, text) of the first line of each paragraph and list item of a document."""
    found, before, fenced = [], '', False
    text = re.sub(r'<!--.*?-->', lambda m: re.sub(r'[^\n]', ' ', m.group(0)), text, flags=re.S)
    for number, line in enumerate(text.split('\n'), 1):
        if line.startswith('```'):
            fenced = not fenced
            before = ''
            continue
        item = re.match(r'\s*(?:[-*+]|\d+\.)\s+', line)
        opens = not before.strip() or before.lstrip().startswith(('#', '|')) or item
        before = line
        if fenced or line.lstrip().startswith(('#', '|')) or (line.startswith('    ') and not item):
            continue
        if opens and line.strip():
            found.append((number, line[item.end():] if item else line))
    return found


def comments_of(source):
    """(line, text) of each comment of a source."""
    if source.is_c:
        return [(line, text) for kind, text, line in source.tokens if kind == 'comment']
    if source.path.endswith('.py'):
        return python_comments(source.text)
    return plain_comments(source.text)


def comment_opening(source, tree):
    if source.path.endswith('.1'):
        return []
    found = []
    for line, text in paragraphs(source.text) if source.path.endswith('.md') else \
            comments_of(source):
        match = re.match(r'[\s/*#!<`"\'({\[]*([A-Za-z]+)\b', text)
        if match and match.group(1).lower() in OPENINGS:
            found.append((line, match.group(1)))
    return found


def texts_of(source):
    """(line, text) of each paragraph of a document, or comment of a source."""
    if source.path.endswith('.md'):
        return prose.document(source.text)
    if source.path.endswith('.1'):
        return prose.manual(source.text)
    return comments_of(source)


def turn(source, tree):
    return prose.turns(texts_of(source)) if source.path != 'tests/unit/prose.py' else []


def long_sentence(source, tree):
    if source.path == MANUAL:
        texts = [part for line, text in comments_of(source) if not text.startswith('/* usage')
                 for part in prose.comment(line, text)]
    elif source.path.endswith(PAGES) and ('/' not in source.path or
                                          source.path.startswith('docs/')):
        texts = texts_of(source)
    else:
        return []
    return prose.long_sentences(texts)


def header_functions(source):
    """(name, first line, last line) of every function that a header declares or defines, and the
    lines that begin inside of braces. Functions that a macro makes are not seen."""
    found, inside = [], set()
    code = [token for token in source.code() if token[0] != 'newline']
    words, name, first = [], '', None
    depth = parens = around = 0
    for at, (kind, text, line) in enumerate(code):
        before, after = code[at - 1] if at else ('', '', 0), code[at + 1:at + 2]
        ends = False
        if depth:
            depth += (text == '{') - (text == '}')
            inside |= set(range(before[2] + 1, line + 1))
            ends = depth == 0 and name
        elif parens or text == '(':
            named = words[-1:] == [before[1]] and (before[0] == 'word' or 'operator' in words)
            least = 3 if words[:1] == ['struct'] else 2  # struct L(cell) {} is none
            if text == '(' and not parens and named and not name and len(words) >= least and \
                    after[0][1] != '*' and not {'=', 'typedef', 'sizeof'} & set(words) and \
                    words[-1] not in ('__attribute__', 'alignas'):
                name = words[-1]
            parens += (text == '(') - (text == ')')
            # the use of a macro on a line of its own
            if parens == 0 and len(words) == 1 and after and after[0][2] > line and \
                    words[0] != '__attribute__':
                words, first = [], None
        elif text == '{' and (before[0] == 'string' or 'namespace' in words):
            around, words, first = around + 1, [], None
        elif text == '}':
            around -= 1
        elif text == '{':
            depth = 1
            name = name if '=' not in words else ''
        else:
            words.append(text)
            first = first or line
            ends = text == ';'
        if ends:
            if name:
                found.append((name, first, line))
            words, name, first = [], '', None
    return found, inside


def declaration(source, tree):
    if not source.product or not source.path.endswith('.h'):
        return []
    functions, inside = header_functions(source)
    lines = source.text.split('\n')
    above, behind = set(), set()  # last lines of comments above code; lines that have one behind
    for kind, text, line in source.tokens:
        if kind != 'comment' or re.match(r'/\*\s*(---.*---|clang-format \w+)\s*\*/$', text, re.S):
            continue
        if lines[line - 1].lstrip().startswith(text[:2]):
            above |= {line + text.count('\n')} - inside
        else:
            behind.add(line)
    found = []
    for name, first, last in functions:
        line = first - 1
        while line not in above and (line in inside or lines[line - 1].strip()) and line > 0:
            line -= 1
        if line not in above and last not in behind:
            found.append((first, name + '()'))
    return found


RULES = {
    'op-name': op_name, 'op-string': op_string, 'family-op': family_op,
    'family-name': family_name, 'exec-call': exec_call,
    'file-lines': file_lines, 'function-lines': function_lines, 'line-columns': line_columns,
    'blank-line': blank_line,
    'comment-opening': comment_opening, 'declaration': declaration,
    'turn': turn, 'long-sentence': long_sentence,
}


WORDS = ('turn', 'long-sentence')


class Tree(list):
    def __init__(self, root):
        super().__init__(read_tree(root))
        self.op_names = names_of_ops(self)
        self.family_ops = {stem for source in self if source.path == 'ops/ops.inc'
                           for stem in re.findall(r'^FAMILY\(\w+, (\w+),', source.text, re.M)}


def places(root):
    """(rule, file) -> list of (line, words): everything that breaks a rule."""
    tree = Tree(root)
    found = {}
    for source in tree:
        for rule, function in RULES.items():
            broken = function(source, tree)
            if broken:
                found[rule, source.path] = sorted(broken)
    return found


def list_path(root):
    return os.path.join(root, 'tests', 'unit', 'debt.txt')


def read_list(root):
    """(rule, file) -> count of debt.txt."""
    listed = {}
    with open(list_path(root), encoding='utf-8') as file:
        for number, line in enumerate(file, 1):
            if not line.strip() or line.startswith('#'):
                continue
            words = line.split()
            if len(words) != 3 or words[0] not in RULES or not re.match(r'[1-9]\d*$', words[2]):
                sys.exit('debt.txt:%d: "%s" is not RULE FILE COUNT' % (number, line.strip()))
            if (words[0], words[1]) in listed:
                sys.exit('debt.txt:%d: %s %s is there twice' % (number, words[0], words[1]))
            listed[words[0], words[1]] = int(words[2])
    return listed


def write_list(root, counts):
    order = list(RULES)
    with open(list_path(root), 'w', encoding='utf-8') as file:
        file.write('# Files that still break a rule of the tree: RULE FILE COUNT. The list only\n'
                   '# shrinks. tests/unit/debt.py has the rules, shows places, lowers the list.\n')
        for rule, path in sorted(counts, key=lambda key: (order.index(key[0]), key[1])):
            file.write('%s %s %d\n' % (rule, path, counts[rule, path]))


def moved(root, found, listed, rules):
    """The list after the counts of files that are gone went to files that are not in it."""
    listed = dict(listed)
    for rule in rules:
        gone = sum(n for (name, path), n in listed.items()
                   if name == rule and not os.path.exists(os.path.join(root, path)))
        for key in sorted(found):
            if key[0] == rule and key not in listed and len(found[key]) <= gone:
                listed[key] = len(found[key])
                gone -= listed[key]
    return listed


def compare(found, listed):
    """Say what is wrong: places that are not listed, and lines of the list that ask for too
    much. The list of words may ask for more, as nobody is to stop for a phrase that is gone."""
    problems = []
    for rule, path in sorted(found):
        count, allowed = len(found[rule, path]), listed.get((rule, path), 0)
        if count > allowed:
            problems.append('%s: %s has %d, debt.txt allows %d%s' % (
                rule, path, count, allowed,
                '' if allowed or rule in WORDS else
                ' (of a file that moved: tests/unit/debt.py . --lower)'))
            problems += ['    %s:%d: %s' % (path, line, words)
                         for line, words in sorted(set(found[rule, path]))[:20]]
    for rule, path in sorted(listed):
        count = len(found.get((rule, path), []))
        if count < listed[rule, path] and rule not in WORDS:
            do = 'lower its count to %d' % count if count else 'remove the line'
            problems.append('%s: %s has %d, debt.txt says %d: %s (tests/unit/debt.py . --lower)' %
                            (rule, path, count, listed[rule, path], do))
    return problems


def check(root):
    found = places(root)
    problems = compare(found, moved(root, found, read_list(root), WORDS))
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def lower(root):
    found, listed = places(root), read_list(root)
    listed = moved(root, found, listed, RULES)
    counts = {key: min(n, len(found.get(key, []))) for key, n in listed.items()}
    write_list(root, {key: n for key, n in counts.items() if n})
    return check(root)


# Small made-up files: path -> text that keeps every rule.
GOOD = {
    'ops/ops.inc': 'CORE(ADD, add, 2, 1, add, int a,\n    int b)\n'
                   'FUSED(GELU, gelu, 1, 1, unary)\nCORE(VIEW, view, 1, 1, none, int x)\n'
                   'FAMILY(NEAR, near, 1, 1, near, int x)\n',
    'ops/gelu.c': 'int kind = BI_OP_GELU;\nconst char *name = "gelu";\n',
    'kernels/gpu/unary.h': '#define LIST(E) \\\n    E(unary_f16, tiles, unary, 256, 0, unary)\n',
    'engine/a.c': '/* Makes y of x; BI_OP_GELU in a comment is no use of it. */\n'
                  'int f(void)\n{\n    return BI_OP_ADD + BI_OP_COUNT; /* "gelu" */\n}\n',
    'engine/runner.c': 'int g(void)\n{\n    return bi_exec_begin(1);\n}\n',
    'engine/exec.c': 'int bi_exec_begin(int n)\n{\n    return n;\n}\n',
    'writers/w.c': 'const char *format = "esm-pt", *other = "gelu";\n',
    'models/esm2/ops/near.c': 'int kind = BI_OP_NEAR;\n',
    'models/esm2.c': '/* ESM-2. */\nint kind = BI_OP_GELU;\n',
    'tests/t.c': 'int kind = BI_OP_GELU; /* ESM-2 */\n',
    'tools/t.py': '"""Says what it does."""\nx = "# Of"\n',
    'docs/d.md': '# What it is\n\nA page\nof words.\n\n- one\n\n    Of code\n\n| What | it |\n',
}
BODY = 'int h(void)\n{\n%s    return 0;\n}\n'
LONG = BODY % ('    f();\n' * 98)
BRANCHES = '#ifdef B\n    if (x) {\n#else\n    if (y) {\n#endif\n    }\n'
# A header whose functions have comments, and what looks like functions and is none.
DECLARED = '''#define CALL(x) f(x)
extern "C" {
typedef int (*take)(void *user);

struct ops {
    int (*open)(void);
};
extern int (*hook)(void);

static const int size = sizeof(int), more[] = {CALL(1)};
_Static_assert(sizeof(int) == 4, "words");
enum { TWO = CALL(2) };

LIST(E)

struct L(cell) {
    int of;
};

/* Gives 1. */
static inline int f(void)
{
    int a = 1;
    return a;
}
#if A
int g(int (*a)(void), struct x *b); /* 2 */
#endif

int h(int a,
      int b); /* the sum */

// Makes one of x.
__attribute__((pure)) struct x *i(struct x *a);
}
'''
# Rule, file that breaks it, its text, how often.
BAD = [
    ('op-name', 'engine/b.c', 'int kind = BI_OP_GELU;\n', 1),
    ('op-name', 'graph/lower.c', 'int kind = BI_OP_MATMUL + BI_OP_GELU + BI_OP_ADD;\n', 2),
    ('op-string', 'engine/b.c', 'const char *x = "gelu", *y = "unary", *z = "gelus";\n', 2),
    ('op-string', 'kernels/gpu/b.cu', 'const char *x = "unary_f16", *y = "tiles";\n', 2),
    ('family-op', 'ops/near.c', 'int kind = BI_OP_NEAR;\n', 1),
    ('family-name', 'engine/b.c', '/* As ESM-2\n * and ProtT5 do. */\n', 2),
    ('family-name', 'ops/b.c', 'int esm2_heads;\nconst char *s = "LigandMPNN";\n', 2),
    ('family-name', 'engine/c.c', 'const char *s = "fair-esm";\n', 1),
    ('exec-call', 'engine/b.c', BODY % '    bi_exec_begin(2); /* bi_exec_wait(2) */\n', 1),
    ('exec-call', 'tasks/score.c', BODY % '    bi_exec_wait\n        (2);\n', 1),
    ('file-lines', 'cli/b.c', 'int x;\n' * 1001, 11),
    ('file-lines', 'tests/b.py', 'x = 1\n' * 1101, 12),
    ('file-lines', 'include/b.h',
     'int x;\n' * 1001 + '/* usage: a\n' + ' * x\n' * 200 + ' */\n', 11),
    ('file-lines', MANUAL, '/* a */\nint x; /* b */\n\n' * 1201, 13),
    ('function-lines', 'cli/b.c', LONG + BODY % '', 1),
    ('function-lines', 'cli/c.c', '#if A\n' + BODY % BRANCHES + LONG + '#endif\n' + LONG, 2),
    ('function-lines', 'cli/d.cpp', 'extern "C" {\nnamespace n {\n' + LONG + '}\n}\n', 1),
    ('function-lines', 'tests/b.py', 'def f():\n' + '    g()\n' * 100, 1),
    ('line-columns', 'base/b.h', '/* ' + 'x' * 95 + ' */\n' + '/* ' + 'x' * 94 + ' */\n', 1),
    ('line-columns', 'tests/meson.build', '# ' + 'x' * 99 + '\n', 1),
    ('blank-line', 'cli/b.c', BODY % '    int a = f(1);\n    int b;\n\n    b = a;\n\n' +
     BODY % '    b = a;\n\n    f();\n', 1),
    ('comment-opening', 'base/b.h',
     '/* Of the first. */\nint n; // what it is\n// of it\n/*\n * Theirs */\n', 3),
    ('comment-opening', 'tests/b.py', 'x = 1  # with one\n# A sentence\n# of two lines.\n\n\n'
     'def f():\n    """Those it has."""\n', 2),
    ('comment-opening', 'tests/b.sh', 'echo "# of"\n# And more\n', 1),
    ('comment-opening', 'docs/b.md',
     'Of these.\n\n- With one\n1. Its two\nand\n\n```\nOf\n```\n', 3),
    ('declaration', 'base/b.h',
     '/* Gives 1. */\nint f(void);\nint g(void);\n\nint h(int a);\n\n/* ---- part ---- */\n'
     'static inline int i(void)\n{\n    int a; /* 2 */\n    return f();\n}\n', 2),
    ('turn', 'base/b.c', '/* The sum is that\n * of x. */\nint n; // so many\n', 2),
    ('turn', 'docs/b.md', 'It is behind `behind`.\n\n| a | what a file says |\n\n    behind\n', 2),
    ('turn', 'docs/man/bioinfer.1', '.Sh A\nIt has none.\n.Bd\nso many\n.Ed\n', 1),
    ('long-sentence', 'docs/b.md', 'a ' * 26 + '`b c`.\n\n' + 'a ' * 20 + '. ' + 'a ' * 20, 1),
    ('long-sentence', MANUAL, '/* %s*/\nint x;\n/* usage: %s*/\n' % ('a ' * 26, 'a ' * 30), 1),
    ('declaration', 'kernels/b.h', 'int n; /* a number */\nLIST(E)\ntemplate <int n> DEV quad\n'
     'f(int a)\n{\n}\n\n/* clang-format off */\nTYPE L(g)(int a) { return h(a); }\n', 2),
]
UNDER = [('function-lines', 'cli/b.c', BODY % ('    f();\n' * 97)),
         ('file-lines', 'cli/b.c', 'int x;\n' * 1000),
         ('file-lines', MANUAL, '/* a\n * manual */\nint x; /* b */\n' * 1000),
         ('line-columns', 'base/b.h', '/* ' + 'x' * 94 + ' */\n'),
         ('declaration', 'base/b.h', DECLARED), ('declaration', 'tests/b.h', 'int f(void);\n'),
         ('declaration', 'cli/b.c', 'int f(void)\n{\n    return 0;\n}\n'),
         ('turn', 'base/b.c', 'const char *s = "so many"; /* behindhand, those two of it */\n'),
         ('long-sentence', 'docs/b.md', 'a ' * 24 + '`b c d`.\n\n    ' + 'a ' * 30 + '\n'),
         ('long-sentence', 'base/b.h', '/* %s*/\nint x;\n' % ('a ' * 30))]


def made_up(folder, files):
    for path, text in files.items():
        os.makedirs(os.path.join(folder, os.path.dirname(path)), exist_ok=True)
        with open(os.path.join(folder, path), 'w', encoding='utf-8') as file:
            file.write(text)


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        made_up(folder, GOOD)
        assert places(folder) == {}, places(folder)
        assert {rule for rule, *_ in BAD} == set(RULES)
        for rule, path, text in UNDER:
            made_up(folder, {path: text})
            assert places(folder) == {}, (rule, places(folder))
            os.remove(os.path.join(folder, path))
        for rule, path, text, count in BAD:
            made_up(folder, {path: text})
            found = places(folder)
            assert list(found) == [(rule, path)], (rule, path, found)
            assert len(found[rule, path]) == count, (rule, path, found)
            assert not compare(found, {(rule, path): count})
            for listed, words in (({}, 'allows 0'), ({(rule, path): count + 1}, 'to %d' % count)):
                problems = compare(found, listed)
                assert (words in problems[0] if problems else rule in WORDS), (rule, problems)
            assert compare(found, {})
            os.remove(os.path.join(folder, path))
        made_up(folder, {'tests/unit/debt.txt': ''})
        rule, path, text, count = BAD[0]
        write_list(folder, {(rule, path): 2, ('line-columns', 'gone.c'): 3})
        made_up(folder, {path: text})
        with contextlib.redirect_stderr(io.StringIO()) as words:
            assert check(folder) == 1
        assert 'gone.c has 0, debt.txt says 3: remove the line' in words.getvalue()
        assert lower(folder) == 0 and read_list(folder) == {(rule, path): 1}
        write_list(folder, {(rule, 'gone.c'): 1})
        assert lower(folder) == 0 and read_list(folder) == {(rule, path): 1}  # a file that moved
        made_up(folder, {path: text * 2})
        with contextlib.redirect_stderr(io.StringIO()) as words:
            assert lower(folder) == 1 and read_list(folder) == {(rule, path): 1}
        assert '%s has 2, debt.txt allows 1' % path in words.getvalue(), words.getvalue()
    print('%d rules, %d files that break them' % (len(RULES), len(BAD)))
    return 0


def main():
    if sys.argv[1:] == ['--self-test']:
        return self_test()
    if len(sys.argv) < 2 or sys.argv[1].startswith('-'):
        print(__doc__, file=sys.stderr)
        return 2
    root, options = os.path.abspath(sys.argv[1]), sys.argv[2:]
    if not options:
        return check(root)
    if options == ['--lower']:
        return lower(root)
    if options == ['--rewrite']:
        write_list(root, {key: len(found) for key, found in places(root).items()})
        return 0
    if options[0] == '--places' and len(options) in (2, 3) and options[1] in RULES:
        for (rule, path), found in sorted(places(root).items()):
            if rule == options[1] and options[2:] in ([], [path]):
                for line, words in found:
                    print('%s:%d: %s' % (path, line, words))
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == '__main__':
    sys.exit(main())
