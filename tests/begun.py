"""begun.py - what tests of tools/new_op.py and tools/new_task.py share: a copy of the tree that a
tool adds to, and what it changed there."""
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile


def contents(root):
    """Path -> bytes of every file."""
    found = {}
    for at, _, names in os.walk(root):
        for name in names:
            path = os.path.join(at, name)
            with open(path, 'rb') as file:
                found[os.path.relpath(path, root)] = file.read()
    return found


def run(*command, **more):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **more)
    if done.returncode:
        sys.exit('%s\n%s: status %d' % (done.stdout[-4000:], ' '.join(command), done.returncode))
    return done.stdout


@contextlib.contextmanager
def copy_of(root, whole):
    """A copy of the tree, without large files unless it is to be built."""
    large = () if whole else ('.safetensors', '.npz')

    def left_out(folder, names):
        return [name for name in names if name in ('.git', '__pycache__') or name.endswith(large) or
                (name.startswith('build') and folder == root)]
    with tempfile.TemporaryDirectory() as folder:
        tree = os.path.join(folder, 'tree')
        shutil.copytree(root, tree, ignore=left_out)
        yield tree


def add(tree, tool, stem, new, changed):
    """Runs tools/new_<kind>.py in the copy, and fails where it makes or changes other files than
    these, or does it twice. Gives the files before and after."""
    tool = os.path.join(tree, 'tools', tool)
    before = contents(tree)
    run(sys.executable, '-B', tool, stem)
    after = contents(tree)
    made = sorted(set(after) - set(before))
    other = sorted(path for path in before if before[path] != after.get(path))
    if made != sorted(new) or other != sorted(changed):
        sys.exit('new: %s, changed: %s' % (made, other))
    refused = subprocess.run([sys.executable, '-B', tool, stem], capture_output=True, text=True,
                             check=False)
    if not refused.returncode or 'is there already' not in refused.stderr:
        sys.exit('%s could be added twice: %s' % (stem, refused.stderr))
    if contents(tree) != after:
        sys.exit('what was refused has changed the tree')
    return before, after


def promises(root, tree, *tests):
    """Sees that the copy keeps what tests/unit/structure.py of `root` asks for."""
    for test in tests:
        run(sys.executable, '-B', os.path.join(root, 'tests', 'unit', 'structure.py'), tree, '-',
            test)


def build(tree, compiler, targets, *options):
    """Builds the copy without optimisation; gives the folder."""
    env = dict(os.environ, CC=compiler, CFLAGS='-O0 -g0', CXXFLAGS='-O0 -g0')
    folder = os.path.join(tree, 'build')
    run('meson', 'setup', folder, tree, '-Dgpu=disabled', '-Dhdf5=disabled', '-Doptimization=0',
        *options, env=env)
    run('ninja', '-C', folder, *targets, env=env)
    return folder
