#!/usr/bin/env python3
"""Golden samples of a small ESMFold2: FOLDER/structure.txt, from its trunk on.

    golden_esmfold2_structure.py FOLDER [REFERENCE]

Makes EsmFold2Model of transformers 5.24 with random weights of a fixed seed and saves it to FOLDER.
The network runs in float64: a copy of its source, written to REFERENCE (else a temporary folder),
has float64 where it casts to float32. Every parameter is drawn, as matrices of zeros would hide
errors. A case begins with "case NAME TOKENS ATOMS STEPS NOISE_SCALE STEP_SCALE". Then a line each
has a name, how many numbers follow, and the numbers. Of tokens: "asym", "ligand" (1 or 0),
"seen" (the atom by which distances are told), and for pairs "relations" (four columns of the
table of relative positions). Of atoms: "token", "numbers" (place, charge, 1), "codes" (columns of
features), "uid". Of the trunk: "single" and "pair". Of the sampler: "schedule", "start" (normal
numbers), "turns" (a rotation and a translation a step), "churn" (normal numbers a step). Results:
"places", "level" of atoms, "pae", "pde", "scores" (complex pLDDT and
ipLDDT, pTM, ipTM) and "chains" (ipTM of chains). A case of one step has no more than "places": the
network's own answer to atoms of that noise, "start" times it. Needs torch, transformers, numpy.
"""
import os
import re
import sys
import tempfile

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'torch transformers numpy')

import numpy
import torch
import transformers
from transformers.models.esmfold2.configuration_esmfold2 import EsmFold2Config

ATOMS = {
    'hidden_size': 32, 'num_hidden_layers': 2, 'num_attention_heads': 2, 'head_dim': 16,
    'intermediate_size': 40, 'num_spatial_rope_pairs_per_axis': 2, 'num_uid_rope_pairs': 2}
CONFIG = {
    'hidden_size': 24, 'pairwise_hidden_size': 16, 'single_inputs_size': 20 + 67,
    'pair_transition_intermediate_size': 64, 'sliding_window': 32, 'chunk_size': None,
    'folding_trunk_num_hidden_layers': 2, 'parcae_num_coda_layers': 1, 'num_loops': 1,
    'atom_encoder': {**ATOMS, 'output_dim': 20},
    'structure_head': {
        'num_distogram_bins': 12, 'inference_num_steps': 14, 'num_diffusion_samples': 1,
        'diffusion_module': {
            'hidden_size': 32, 'fourier_dim': 8, 'num_hidden_layers': 2, 'num_attention_heads': 2,
            'head_dim': 16, 'intermediate_size': 40, 'pair_intermediate_size': 24,
            'atom_encoder': {**ATOMS, 'output_dim': 32}}},
    'confidence_head': {'num_hidden_layers': 1, 'num_plddt_bins': 10, 'distogram_bins': 128},
    'msa_encoder': {'enabled': False}, 'lm_encoder': {'num_hidden_layers': 1},
    'esmc_config': {'model_type': 'esmc', 'hidden_size': 64, 'num_hidden_layers': 2,
                    'num_attention_heads': 1, 'intermediate_size': 64}}
CASES = (('complex', 14, 1.003, 1.5), ('plain', 14, 0.0, 1.0), ('short', 20, 1.003, 1.5))
RESULTS = ('plddt_per_atom', 'level'), ('pae', 'pae'), ('pde', 'pde')
SCORES = 'complex_plddt', 'complex_iplddt', 'ptm', 'iptm'


def reference(folder):
    """The two modules of the model, from copies of their source in float64."""
    source = os.path.join(os.path.dirname(transformers.__file__), 'models', 'esmfold2')
    os.makedirs(folder, exist_ok=True)
    for name in ('generation_esmfold2', 'modeling_esmfold2'):
        with open(os.path.join(source, name + '.py'), encoding='utf-8') as file:
            text = file.read()
        text = re.sub(r'from \.\.\. import', 'from transformers import', text)
        text = re.sub(r'from \.\.\.(\w)', r'from transformers.\1', text)
        text = re.sub(r'from \.\.(\w)', r'from transformers.models.\1', text)
        text = re.sub(r'from \.(generation|modeling)_', r'from \1_', text)
        text = text.replace('from .', 'from transformers.models.esmfold2.')
        text = text.replace('.float()', '.double()').replace('torch.float32', 'torch.float64')
        with open(os.path.join(folder, name + '.py'), 'w', encoding='utf-8') as file:
            file.write(text)
    sys.path.insert(0, folder)
    import generation_esmfold2
    import modeling_esmfold2
    return generation_esmfold2, modeling_esmfold2


def make_model(network, settings=CONFIG):
    config = EsmFold2Config(**settings)
    config._attn_implementation = 'eager'
    made = network.EsmFold2Model(config).eval()
    draws = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, p in made.named_parameters():
            drawn = torch.randn(p.shape, generator=draws)
            if name.endswith('_weight') and p.ndim == 3:
                p.copy_(drawn / p.shape[1] ** 0.5)
            elif p.ndim > 1:
                p.copy_(drawn / p.shape[-1] ** 0.5 * (0.3 if 'adaln_linear' in name else 1))
            elif 'log_' in name or 'layer_weights' in name:
                p.copy_(0.5 * drawn)
            else:
                p.copy_(0.2 * drawn + (1 if name.endswith('weight') else 0))
    return made


def features(draws, sizes, chains):
    """Features of tokens, by numbers of atoms. Tokens of one atom are ligands."""
    n, asym = len(sizes), numpy.array(chains)
    token = numpy.repeat(numpy.arange(n), sizes)
    place = numpy.concatenate([numpy.arange(numpy.sum(asym == c)) for c in sorted(set(chains))])
    f = {'token_index': numpy.arange(n), 'asym_id': asym, 'sym_id': asym % 2,
         'entity_id': asym // 2, 'mol_type': numpy.where(numpy.array(sizes) == 1, 3, 0),
         'residue_index': numpy.where(numpy.array(sizes) == 1, 0, place),
         'res_type': draws.integers(2, 33, n), 'ref_pos': draws.normal(0, 2, (len(token), 3)),
         'ref_charge': draws.integers(-1, 2, len(token)).astype(float),
         'ref_element': draws.integers(1, 17, len(token)),
         'ref_atom_name_chars': draws.integers(0, 64, (len(token), 4)),
         'ref_space_uid': token, 'atom_to_token': token,
         'distogram_atom_idx': (numpy.searchsorted(token, numpy.arange(n)) +
                                (numpy.array(sizes) > 1))}
    for name in ('ref_pos', 'ref_charge'):  # as float32 has them
        f[name] = f[name].astype(numpy.float32).astype(float)
    return f


def relations(f):
    """The four columns of the table of relative positions that pairs (i, j) add up."""
    def gap(name, most, where):
        d = f[name][:, None] - f[name][None]
        return numpy.where(where, numpy.clip(d + most, 0, 2 * most), 2 * most + 1)
    chain = f['asym_id'][:, None] == f['asym_id'][None]
    residue = chain & (f['residue_index'][:, None] == f['residue_index'][None])
    entity = numpy.where(f['entity_id'][:, None] == f['entity_id'][None], 132, -1)
    return numpy.stack([gap('residue_index', 32, chain), 66 + gap('token_index', 32, residue),
                        entity, 133 + gap('sym_id', 2, ~chain)], -1)


def arguments(f, states):
    n, atoms = len(f['asym_id']), len(f['atom_to_token'])
    given = {name: torch.tensor(value)[None] for name, value in f.items()}
    return {**given, 'token_bonds': torch.zeros(1, n, n, 1),
            'attention_mask': torch.ones(1, n, dtype=torch.bool), 'num_loops': 1,
            'atom_attention_mask': torch.ones(1, atoms, dtype=torch.bool),
            'lm_hidden_states': torch.tensor(states)[None]}


def line(file, name, values):
    values = numpy.asarray(values, dtype=float).reshape(-1)
    print(name, len(values), *('%.9g' % v for v in values), file=file)


def write_tokens(file, f, trunk):
    token = f['atom_to_token']
    codes = 5 + numpy.concatenate([f['ref_element'][:, None],
                                   128 + 64 * numpy.arange(4) + f['ref_atom_name_chars']], -1)
    line(file, 'asym', f['asym_id'])
    line(file, 'ligand', f['mol_type'] == 3)
    line(file, 'seen', f['distogram_atom_idx'])
    line(file, 'relations', relations(f))
    line(file, 'token', token)
    line(file, 'numbers', numpy.concatenate([f['ref_pos'], f['ref_charge'][:, None],
                                             numpy.ones((len(token), 1))], -1))
    line(file, 'codes', codes)
    line(file, 'uid', f['ref_space_uid'])
    line(file, 'single', trunk.single_inputs[0])
    line(file, 'pair', trunk.pair_states[0])


class Draws:
    """Records what a sampler draws, and the trunk that it samples of."""

    def __init__(self, generation, made, draws):
        self.start, self.turns, self.churn, self.trunk = None, [], [], None
        self.draws = draws
        generation._center_random_augmentation = self.turn
        generation.torch = self
        made._sample_structure.__func__.__globals__['torch'] = self
        forward = made.forward

        def keep(*args, **kwargs):
            self.trunk = forward(*args, **kwargs)
            return self.trunk
        made.forward = keep

    def __getattr__(self, name):
        return getattr(torch, name)

    def normal(self, shape):
        return self.draws.normal(size=shape).astype(numpy.float32).astype(float)

    def randn(self, *shape, **_):
        self.start = self.normal(shape)
        return torch.tensor(self.start)

    def randn_like(self, x):
        self.churn.append(self.normal(tuple(x.shape)))
        return torch.tensor(self.churn[-1])

    def turn(self, x, mask, second_coords=None):
        q = numpy.linalg.qr(self.draws.normal(size=(3, 3)))[0]
        q[:, 0] *= numpy.linalg.det(q)
        q, v = q.astype(numpy.float32).astype(float), self.normal(3)
        self.turns.append(numpy.concatenate([q.reshape(-1), v]))
        y = (x - x.mean(1, keepdim=True)) @ torch.tensor(q) + torch.tensor(v)
        return y, second_coords


def write_case(file, generation, made, draws, case, sizes, chains):
    name, points, noise_scale, step_scale = case
    head = made.config.structure_head
    head.noise_scale, head.step_scale = noise_scale, step_scale
    f = features(draws, sizes, chains)
    seen = Draws(generation, made, draws)
    with torch.no_grad():
        out = made.fold(num_diffusion_samples=1, num_sampling_steps=points,
                        **arguments(f, draws.normal(size=(len(sizes), 3, 64))))
    schedule = made._build_noise_schedule(points, torch.device('cpu'))[0]
    print('case', name, len(sizes), sum(sizes), len(schedule) - 1, noise_scale, step_scale,
          file=file)
    write_tokens(file, f, seen.trunk)
    line(file, 'schedule', schedule)
    line(file, 'start', seen.start)
    line(file, 'turns', numpy.stack(seen.turns))
    line(file, 'churn', numpy.stack(seen.churn))
    line(file, 'places', out.sample_atom_coords)
    for result, shown in RESULTS:
        line(file, shown, getattr(out, result))
    line(file, 'scores', [float(getattr(out, score)) for score in SCORES])
    line(file, 'chains', out.pair_chains_iptm)
    return f, seen


def write_answer(file, made, f, seen, sigma):
    """One call of the network for atoms of this noise, whose mean is 0."""
    trunk, start = seen.trunk, seen.start - seen.start.mean(1, keepdims=True)
    with torch.no_grad():
        conditions = made.structure_head.prepare_conditioning(
            atom_inputs=trunk.atom_inputs, pair_trunk=trunk.pair_states,
            relative_position_encoding=trunk.relative_position_encoding,
            single_inputs=trunk.single_inputs,
            attention_mask=torch.ones(1, len(f['asym_id']), dtype=torch.bool))
        out = made.structure_head(noisy_coords=sigma * torch.tensor(start),
                                  noise_level=torch.tensor([sigma]), conditioning=conditions)
    print('case', 'answer', len(f['asym_id']), len(f['atom_to_token']), 1, 0, 1, file=file)
    write_tokens(file, f, trunk)
    line(file, 'schedule', [sigma, 0])
    line(file, 'start', start)
    line(file, 'turns', [1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    line(file, 'churn', [])
    line(file, 'places', out)


def main():
    torch.set_num_threads(1)
    generation, network = reference(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp())
    made = make_model(network)
    made.float().save_pretrained(sys.argv[1])
    made = made.double()
    torch.set_default_dtype(torch.float64)
    draws = numpy.random.default_rng(3)
    sizes, chains = [4, 9, 5, 8, 11, 4, 14, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]
    with open(sys.argv[1] + '/structure.txt', 'w', encoding='ascii') as file:
        for case in CASES[:2]:
            f, seen = write_case(file, generation, made, draws, case, sizes, chains)
        write_answer(file, made, f, seen, 7.5)
        write_case(file, generation, made, draws, CASES[2], [7, 4], [0, 0])


if __name__ == '__main__':
    main()
