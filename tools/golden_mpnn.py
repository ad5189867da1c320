#!/usr/bin/env python3
"""Goldens of the ProteinMPNN family, by the reference programs.

    golden_mpnn.py PROTEINMPNN LIGANDMPNN OUT [SCRIPT...]   checkouts of dauparas/ProteinMPNN and of
                                                  dauparas/LigandMPNN; OUT: tests/golden/proteinmpnn
                                                  (its structures are read); needs torch, prody

Two kinds:

    variant.*.npz  Weights that are not at hand (ligand context, membrane labels, CA only) are made
                   by a formula (tests/golden/mpnn_weights.c, compiled here); the reference classes
                   are evaluated in float64. log_probs: of the native sequence in the order of
                   torch.manual_seed(37); S: sequences sampled in float32 at T = 0.1 after the same
                   seed.
    script.*       protein_mpnn_run.py as it is, with the half precision weights of
                   share/proteinmpnn: conditional probabilities, noise, PSSM, bias, omitted
                   residues, tied positions with weights. Side files are written here too.

Two of them are of a build of PyTorch with MKL's exponential numbers (2.2.1): variant.ligand-mkl and
script.mkl. Such a build writes these two, any other build writes the rest.
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


def main():
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
