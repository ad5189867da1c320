"""The canonical form of a graph's text dump (graph/dump.c): what is computed of what, whatever the
numbering.

A line for each node, input, weight and output:

    DEPTH NAME = op(NAME, -, NAME) : [shape], [shape]

A value's NAME is a hash of how it is made: of its op, shapes and the names of its operands. So it
does not depend on numbers or on the order in which nodes stand, and whatever is computed from a
changed value changes too; lines are sorted by depth, so the first line that differs is where the
change is. Attributes ({act=gelu}) are left out unless asked for. The first line of a dump, sizes
of the bucket, is left out: every shape has them. This form stays as it is while the engine
changes; where the dump's text changes, its parser here follows.
"""

import hashlib
import re

LEAF = re.compile(r'%(\d+) = (input|weight) "(.*)" (\S+) (\[.*\](?: kept)?(?: of each trip)?)$')
NODE = re.compile(
    r'((?:%\d+, )*%\d+)( \((?:each step|\d+ trips)\))? = (\w+)\((.*?)\)(?: \{(.*)\})? : (.*)$'
)
OUTPUT = re.compile(r'output %(\d+) "(.*)" layer (-?\d+)( kept)?$')


def canonical(dump, attributes=False):
    """Sorted lines of a dump. A line that is not understood is an error."""
    names, depths, lines = {}, {}, []

    def define(number, what, depth):
        names[number] = hashlib.sha256(what.encode()).hexdigest()[:12]
        depths[number] = depth

    for line in dump.splitlines():
        if not line or line.startswith('graph '):
            continue
        leaf, node, output = LEAF.match(line), NODE.match(line), OUTPUT.match(line)
        if leaf:
            number, *what = leaf.groups()
            define(number, ' '.join(what), 0)
            lines.append((0, '%s = %s "%s" %s %s' % (names[number], *what)))
        elif node:
            results, loop, op, operands, attrs, shapes = node.groups()
            operands = [o.strip() for o in operands.split(',') if o.strip()]
            made = ', '.join('-' if o == '-' else names[o[1:]] for o in operands)
            depth = 1 + max([depths[o[1:]] for o in operands if o != '-'], default=0)
            what = '%s%s(%s)%s : %s' % (
                loop.strip(' ()') + ' ' if loop else '',
                op,
                made,
                ' {%s}' % attrs if attributes and attrs else '',
                shapes,
            )
            for slot, result in enumerate(results.split(', ')):
                define(result[1:], '%d %s' % (slot, what), depth)
            lines.append(
                (depth, '%s = %s' % (', '.join(names[r[1:]] for r in results.split(', ')), what))
            )
        elif output:
            number, name, layer, kept = output.groups()
            what = 'output %s "%s" layer %s%s' % (names[number], name, layer, kept or '')
            lines.append((depths[number] + 1, what))
        else:
            raise ValueError('a dump has a line that is not understood: %s' % line)
    return ['%d %s' % line for line in sorted(lines)]
