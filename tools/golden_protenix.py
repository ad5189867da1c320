#!/usr/bin/env python3
"""Golden values of Protenix with small random weights: tests/golden/protenix/.

    golden_protenix.py shapes                          counts parameters as published
    PYTHONPATH=ORACLE golden_protenix.py make FOLDER

ORACLE has protenix_oracle.py, the network in NumPy in float64. `make` writes FOLDER/NAME.txt, names
and shapes of the tensors, for a small model as base v1.0.0, v2 and mini have them, and
FOLDER/NAME.safetensors with features and results. Weights follow from a formula: tensors are
numbered in the order of their names, and number k of tensor p is splitmix64(2^32 p + k), scaled by
the tensor's kind (`weight`). No published weights are used. `shapes` compares the numbers of
parameters of five published configurations with those that the specification counted in the
published modules. Needs numpy.
"""
import json
import math
import struct
import sys

from usage import usage

if __name__ == '__main__':
    usage(__doc__, 'numpy')

import numpy


def linear(name, n, m, bias=False):
    return [(name + '.weight', (n, m))] + ([(name + '.bias', (n,))] if bias else [])


def norm(name, n, bias=True):
    return [(name + '.weight', (n,))] + ([(name + '.bias', (n,))] if bias else [])


def transition(p, c, n):
    return (norm(p + 'layernorm1', c) + linear(p + 'linear_no_bias_a', n * c, c) +
            linear(p + 'linear_no_bias_b', n * c, c) + linear(p + 'linear_no_bias', c, n * c))


def pairs(p, c, hidden, heads, width, n):
    out = []
    for t in ('tri_mul_out.', 'tri_mul_in.'):
        for k in ('a_p', 'a_g', 'b_p', 'b_g'):
            out += linear(p + t + 'linear_' + k, hidden, c)
        out += linear(p + t + 'linear_g', c, c) + linear(p + t + 'linear_z', c, hidden)
        out += norm(p + t + 'layer_norm_in', c) + norm(p + t + 'layer_norm_out', hidden)
    for t in ('tri_att_start.', 'tri_att_end.'):
        out += norm(p + t + 'layer_norm', c) + linear(p + t + 'linear', heads, c)
        for k in 'qkvg':
            out += linear(p + t + 'mha.linear_' + k, heads * width, c)
        out += linear(p + t + 'mha.linear_o', c, heads * width)
    return out + transition(p + 'pair_transition.', c, n)


def attention(p, c, bias_of, heads, trunk):
    out = linear(p + 'attention.linear_q', c, c, True)
    for k in 'kvog':
        out += linear(p + 'attention.linear_' + k, c, c)
    out += norm(p + 'layernorm_z', bias_of, trunk)
    return out + linear(p + 'linear_nobias_z', heads, bias_of)


def block(p, f):
    return (pairs(p, f['z'], f['hidden'], f['heads'], f['width'], 4) +
            norm(p + 'attention_pair_bias.layernorm_a', f['s']) +
            attention(p + 'attention_pair_bias.', f['s'], f['z'], 16, True) +
            transition(p + 'single_transition.', f['s'], 4))


def adaptive(p, c, s):
    return (norm(p + 'layernorm_s', s, False) + linear(p + 'linear_s', c, s, True) +
            linear(p + 'linear_nobias_s', c, s))


def conditioned(p, c, s, bias_of, heads, cross):
    a, t = p + 'attention_pair_bias.', p + 'conditioned_transition_block.'
    out = adaptive(a + 'layernorm_a.', c, s)
    if cross:
        out += adaptive(a + 'layernorm_kv.', c, s)
    out += attention(a, c, bias_of, heads, False) + linear(a + 'linear_a_last', c, s, True)
    out += adaptive(t + 'adaln.', c, s) + linear(t + 'linear_nobias_a1', 2 * c, c)
    out += linear(t + 'linear_nobias_a2', 2 * c, c) + linear(t + 'linear_nobias_b', c, 2 * c)
    return out + linear(t + 'linear_s', c, s, True)


def atoms(p, f, n):
    out = []
    for i in range(n):
        out += conditioned(p + 'atom_transformer.diffusion_transformer.blocks.%d.' % i, f['atom'],
                           f['atom'], f['atom_pair'], 4, True)
    return out


def encoder(p, f, n, token, coordinates):
    a, k = f['atom'], f['atom_pair']
    out = linear(p + 'linear_no_bias_ref_pos', a, 3) + linear(p + 'linear_no_bias_ref_charge', a, 1)
    out += linear(p + 'linear_no_bias_f', a, 385) + linear(p + 'linear_no_bias_d', k, 3)
    out += linear(p + 'linear_no_bias_invd', k, 1) + linear(p + 'linear_no_bias_v', k, 1)
    if coordinates:
        out += norm(p + 'layernorm_s', f['s'], False) + linear(p + 'linear_no_bias_s', a, f['s'])
        out += norm(p + 'layernorm_z', f['z'], False) + linear(p + 'linear_no_bias_z', k, f['z'])
        out += linear(p + 'linear_no_bias_r', a, 3)
    out += linear(p + 'linear_no_bias_cl', k, a) + linear(p + 'linear_no_bias_cm', k, a)
    for i in (1, 3, 5):
        out += linear(p + 'small_mlp.%d' % i, k, k)
    return out + atoms(p, f, n) + linear(p + 'linear_no_bias_q', token, a)


def tensors(f):
    """Names and shapes of a state_dict."""
    z, s, m, token, u = f['z'], f['s'], f['m'], f['token'], f['inputs']
    pair = (z, f['hidden'], f['heads'], f['width'], 4)
    out = encoder('input_embedder.atom_attention_encoder.', f, f['input_blocks'], u - 65, False)
    out += linear('relative_position_encoding.linear_no_bias', z, 139)
    p = 'template_embedder.'
    c = f['template']
    if c:
        out += linear(p + 'linear_no_bias_z', c, z) + norm(p + 'layernorm_z', z)
        out += linear(p + 'linear_no_bias_a', c, 108)
        for i in range(f['template_blocks']):
            out += pairs(p + 'pairformer_stack.blocks.%d.' % i, c, *f['template_pairs'], 2)
        out += norm(p + 'layernorm_v', c) + linear(p + 'linear_no_bias_u', z, c)
    p = 'msa_module.'
    out += linear(p + 'linear_no_bias_m', m, 34) + linear(p + 'linear_no_bias_s', m, u)
    for i in range(f['msa_blocks']):
        b = p + 'blocks.%d.' % i
        o = b + 'outer_product_mean_msa.'
        out += norm(o + 'layer_norm', m) + linear(o + 'linear_1', f['outer'], m)
        out += linear(o + 'linear_2', f['outer'], m)
        out += linear(o + 'linear_out', z, f['outer'] ** 2, True)
        if i + 1 < f['msa_blocks']:
            k = b + 'msa_stack.msa_pair_weighted_averaging.'
            v = f['average']
            out += norm(k + 'layernorm_m', m) + linear(k + 'linear_no_bias_mv', v, m)
            out += norm(k + 'layernorm_z', z) + linear(k + 'linear_no_bias_z', 8, z)
            out += linear(k + 'linear_no_bias_mg', v, m) + linear(k + 'linear_no_bias_out', m, v)
            out += transition(b + 'msa_stack.transition_m.', m, 4)
        out += pairs(b + 'pair_stack.', *pair)
    for i in range(f['blocks']):
        out += block('pairformer_stack.blocks.%d.' % i, f)
    d = 'diffusion_module.'
    c = d + 'diffusion_conditioning.'
    out += linear(c + 'relpe.linear_no_bias', z, 139) + norm(c + 'layernorm_z', 2 * z, False)
    out += linear(c + 'linear_no_bias_z', z, 2 * z)
    out += transition(c + 'transition_z1.', z, 2) + transition(c + 'transition_z2.', z, 2)
    out += norm(c + 'layernorm_s', s + u, False) + linear(c + 'linear_no_bias_s', s, s + u)
    out += [(c + 'fourier_embedding.' + k, (f['fourier'],)) for k in 'wb']
    out += norm(c + 'layernorm_n', f['fourier'], False)
    out += linear(c + 'linear_no_bias_n', s, f['fourier'])
    out += transition(c + 'transition_s1.', s, 2) + transition(c + 'transition_s2.', s, 2)
    out += encoder(d + 'atom_attention_encoder.', f, f['atom_blocks'], token, True)
    out += norm(d + 'layernorm_s', s, False) + linear(d + 'linear_no_bias_s', token, s)
    for i in range(f['token_blocks']):
        out += conditioned(d + 'diffusion_transformer.blocks.%d.' % i, token, s, z, 16, False)
    out += norm(d + 'layernorm_a', token, False)
    e = d + 'atom_attention_decoder.'
    out += linear(e + 'linear_no_bias_a', f['atom'], token)
    out += norm(e + 'layernorm_q', f['atom'], False)
    out += linear(e + 'linear_no_bias_out', 3, f['atom']) + atoms(e, f, f['atom_blocks'])
    out += linear('distogram_head.linear', 64, z, True)
    h = 'confidence_head.'
    out += [(h + 'lower_bins', (39,)), (h + 'upper_bins', (39,)), (h + 'plddt_weight', (24, s, 50)),
            (h + 'resolved_weight', (24, s, 2))]
    out += linear(h + 'linear_no_bias_s1', z, u) + linear(h + 'linear_no_bias_s2', z, u)
    out += linear(h + 'linear_no_bias_d', z, 39) + linear(h + 'linear_no_bias_d_wo_onehot', z, 1)
    for i in range(f['confidence_blocks']):
        out += block(h + 'pairformer_stack.blocks.%d.' % i, f)
    out += linear(h + 'linear_no_bias_pae', 64, z) + linear(h + 'linear_no_bias_pde', 64, z)
    for k, n in (('input_strunk_ln', s), ('pae_ln', z), ('pde_ln', z), ('plddt_ln', s),
                 ('resolved_ln', s)):
        out += norm(h + k, n)
    out += linear('linear_no_bias_sinit', s, u) + linear('linear_no_bias_zinit1', z, s)
    out += linear('linear_no_bias_zinit2', z, s) + linear('linear_no_bias_token_bond', z, 1)
    out += linear('linear_no_bias_z_cycle', z, z) + norm('layernorm_z_cycle', z)
    return out + linear('linear_no_bias_s', s, s) + norm('layernorm_s', s)

# Published configurations, and how many parameters their modules have.
BASE = dict(z=128, s=384, m=64, token=768, inputs=449, atom=128, atom_pair=16, hidden=128, heads=4,
            width=32, input_blocks=3, template=64, template_blocks=2, template_pairs=(128, 4, 32),
            msa_blocks=4, outer=32, average=64, blocks=48, fourier=256, atom_blocks=3,
            token_blocks=24, confidence_blocks=4)
MINI = dict(BASE, template_blocks=0, msa_blocks=1, blocks=16, atom_blocks=1, token_blocks=8)
PUBLISHED = {
    'base v1.0.0': (BASE, 368484735),
    'v2': (dict(BASE, z=256, m=128, hidden=256, heads=8, template_pairs=(64, 2, 32)), 464442431),
    'base v0.5.0': (dict(BASE, template_blocks=0), 368088191),
    'mini': (MINI, 134067007),
    'tiny': (dict(MINI, blocks=8), 109500223)}

SMALL = dict(z=12, s=32, m=10, token=32, inputs=24 + 65, atom=16, atom_pair=6, hidden=8, heads=2,
             width=5, input_blocks=3, template=8, template_blocks=2, template_pairs=(12, 3, 4),
             msa_blocks=2, outer=4, average=24, blocks=2, fourier=10, atom_blocks=2, token_blocks=2,
             confidence_blocks=2)
CASES = {
    'base': SMALL,
    'v2': dict(SMALL, z=16, m=12, hidden=16, heads=4, width=4, template_pairs=(8, 2, 4)),
    'mini': dict(SMALL, template_blocks=0, msa_blocks=1, blocks=1, atom_blocks=1, token_blocks=2,
                 confidence_blocks=1)}
STEPS = 4
NOISE = 7.5  # angstrom, of the answer that is compared by itself


def hash01(p, n):
    """n numbers of stream p in [0, 1), 24 bits each."""
    z = (numpy.uint64(p) << numpy.uint64(32)) + numpy.arange(n, dtype=numpy.uint64)
    z = z + numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    z = z ^ (z >> numpy.uint64(31))
    return (z >> numpy.uint64(40)).astype(numpy.float64) / 16777216


def weight(name, shape, p):
    u = 2 * hash01(p, math.prod(shape)).reshape(shape) - 1
    if name.endswith('_bins'):
        low = 3.25 + 1.25 * numpy.arange(39)
        return low if name.endswith('lower_bins') else numpy.append(low[1:], 1e6)
    if len(shape) > 1:
        return u * 1.5 / math.sqrt(shape[-2] if len(shape) == 3 else shape[-1])
    if name.endswith('.weight'):
        return 1 + 0.3 * u
    return u if 'fourier' in name else 0.2 * u


def features(rng, kind):
    """Two copies of a chain of five residues and a ligand of four atoms."""
    chains = [(chain, r + 1, 0, chain, k) for chain in (0, 1)
              for r, k in enumerate((4, 9, 14, 5, 8))]
    chains += [(2, 1, 1, 0, 1)] * 4
    n = len(chains)
    asym, residue, entity, sym, atoms = numpy.array(chains).T
    token = numpy.repeat(numpy.arange(n), atoms)
    a = len(token)
    # the second residue lacks its first atom, as nucleotides within a chain do
    place = numpy.concatenate([numpy.arange(k) + (i % 5 == 1 and k > 1)
                               for i, k in enumerate(atoms)])
    first = numpy.concatenate([[0], numpy.cumsum(atoms)])
    seen = first[:-1] + numpy.minimum(1, atoms - 1)
    depth = 5
    f = dict(
        asym_id=asym, residue_index=residue, entity_id=entity, sym_id=sym,
        token_index=numpy.arange(n), type=rng.integers(0, 31, n), profile=rng.random((n, 32)),
        deletion_mean=rng.random(n), ref_pos=rng.normal(0, 2, (a, 3)),
        ref_charge=rng.integers(-1, 2, a), ref_mask=(rng.random(a) > 0.05).astype(int),
        element=rng.integers(0, 16, a), letters=rng.integers(0, 64, (a, 4)),
        ref_space_uid=numpy.where(asym[token] == 2, n, token), atom_to_token_idx=token,
        atom_to_tokatom_idx=place, seen=seen, token_bonds=(rng.random((n, n)) > 0.9).astype(int),
        msa=rng.integers(0, 32, (depth, n)),
        has_deletion=(rng.random((depth, n)) > 0.5).astype(int),
        deletion_value=rng.random((depth, n)), has_frame=(rng.random(n) > 0.2).astype(int),
        is_polymer=(asym[token] < 2).astype(int))
    if kind == 'base':  # two templates, then as the published program fills up to four
        f.update(template_aatype=rng.integers(0, 32, (2, n)),
                 template_bin=rng.integers(-1, 39, (2, n, n)),
                 template_pseudo_beta_mask=(rng.random((2, n, n)) > 0.3).astype(int),
                 template_unit_vector=rng.normal(size=(2, n, n, 3)),
                 template_backbone_frame_mask=(rng.random((2, n, n)) > 0.3).astype(int))
    f = {k: v.astype(numpy.float32) for k, v in f.items()}
    return f


def seen_by(f, template_blocks):
    """The features as the network in NumPy takes them."""
    o = {k: v.astype(numpy.float64) for k, v in f.items()}
    for k in ('asym_id', 'residue_index', 'entity_id', 'sym_id', 'token_index', 'type', 'element',
              'letters', 'ref_space_uid', 'atom_to_token_idx', 'atom_to_tokatom_idx', 'seen', 'msa',
              'has_frame', 'is_polymer'):
        o[k] = f[k].astype(int)
    n, a = len(o['type']), len(o['element'])
    o.update(restype=numpy.eye(32)[o['type']], ref_element=numpy.eye(128)[o['element']],
             ref_atom_name_chars=numpy.eye(64)[o['letters']],
             distogram_rep_atom_mask=numpy.isin(numpy.arange(a), o['seen']))
    if not template_blocks:
        return o
    shape = (4, n, n)
    real = 'template_aatype' in f
    t = dict(template_aatype=numpy.zeros((4, n), int),
             template_distogram=numpy.zeros(shape + (39,)),
             template_pseudo_beta_mask=numpy.zeros(shape),
             template_unit_vector=numpy.zeros(shape + (3,)),
             template_backbone_frame_mask=numpy.zeros(shape))
    t['template_aatype'][0] = 31
    if real:
        bins = f['template_bin'].astype(int)
        t['template_aatype'][:2] = f['template_aatype']
        t['template_distogram'][:2] = numpy.where((bins >= 0)[..., None], numpy.eye(39)[bins], 0)
        for k in ('pseudo_beta_mask', 'unit_vector', 'backbone_frame_mask'):
            t['template_' + k][:2] = f['template_' + k]
    o.update(t)
    return o


def rotation(rng):
    q, _ = numpy.linalg.qr(rng.normal(size=(3, 3)))
    if numpy.linalg.det(q) < 0:
        q[:, 0] *= -1
    return q.astype(numpy.float32).astype(numpy.float64)


def single(x):
    return numpy.asarray(x, numpy.float32).astype(numpy.float64)


def results(oracle, w, f, o, kind, rng):
    """Results of the network in float64."""
    c = dict(template_blocks=f['template_blocks'], msa_blocks=f['msa_blocks'], blocks=f['blocks'],
             token_blocks=f['token_blocks'], confidence_blocks=f['confidence_blocks'],
             atom_blocks=f['atom_blocks'])
    n, a = len(o['type']), len(o['element'])
    r = {}
    for cycles in (1, 3):
        inputs, s, z = oracle.trunk(w, c, o, cycles)
        r.update({'inputs': inputs, 'single_%d' % cycles: s, 'pairs_%d' % cycles: z})
    inputs, s, z = single(inputs), single(s), single(z)
    d = w.sub('diffusion_module')
    pair = oracle.pair_condition(d.sub('diffusion_conditioning'), o, z)
    x = single(rng.normal(0, 12, (a, 3)))
    x = single(x - x.mean(0))
    chain = o['asym_id'][o['atom_to_token_idx']]
    x[chain == 1] = x[chain == 0] + 0.25
    r['atoms'] = x
    start = single(rng.normal(size=(a, 3)))
    start = single(start - start.mean(0))
    r['answer_start'] = start
    r['answer'] = oracle.denoise(d, c, o, inputs, s, pair, NOISE * start, NOISE)
    gamma, eta = (0, 1.0) if kind == 'mini' else (0.8, 1.5)
    draws = (single(rng.normal(size=(a, 3))),
             [(rotation(rng), single(rng.normal(size=3)), single(rng.normal(size=(a, 3))))
              for _ in range(STEPS)])
    r['start'] = draws[0]
    r['turns'] = numpy.array([t[0] for t in draws[1]])
    r['moves'] = numpy.array([t[1] for t in draws[1]])
    r['churn'] = numpy.array([t[2] for t in draws[1]])
    r['places'] = oracle.sample(w, c, o, inputs, s, z, STEPS, draws, gamma0=gamma, eta=eta)
    r['schedule'] = oracle.schedule(200)
    head = w.sub('confidence_head')
    plddt, pae, pde, resolved = oracle.confidence(head, c, o, inputs, s, z, x)
    contact = oracle.contact_probability(oracle.distogram(w.sub('distogram_head'), z))
    r.update(plddt=plddt, errors=oracle.softmax(pae), distance_errors=oracle.softmax(pde),
             resolved=resolved, contacts=contact)
    for name, at in (('clash', x), ('apart', x + 300.0 * chain[:, None])):
        summary = oracle.summary(o, plddt, pae, pde, contact, at)
        for k in ('plddt', 'gpde', 'ptm', 'iptm', 'has_clash', 'ranking_score'):
            r.setdefault('summary_' + name, []).append(summary[k])
        for k in ('chain_ptm', 'chain_iptm', 'chain_plddt', 'chain_pair_iptm',
                  'chain_pair_iptm_global'):
            r[k] = summary[k]
    return r


def save(path, arrays):
    head, blob = {}, b''
    for name, values in arrays.items():
        data = numpy.ascontiguousarray(values, numpy.float32)
        head[name] = {'dtype': 'F32', 'shape': list(data.shape),
                      'data_offsets': [len(blob), len(blob) + data.nbytes]}
        blob += data.tobytes()
    text = json.dumps(head, separators=(',', ':')).encode()
    text += b' ' * (-len(text) % 8)
    with open(path, 'wb') as file:
        file.write(struct.pack('<Q', len(text)) + text + blob)


def make(folder):
    import protenix_oracle
    for number, (kind, f) in enumerate(CASES.items()):
        rng = numpy.random.default_rng(41 + number)
        names = sorted(tensors(f))
        w = {name: single(weight(name, shape, p)) for p, (name, shape) in enumerate(names)}
        given = features(rng, kind)
        o = seen_by(given, f['template_blocks'])
        r = results(protenix_oracle, protenix_oracle.Weights(w), f, o, kind, rng)
        save('%s/%s.safetensors' % (folder, kind), {**given, **r})
        with open('%s/%s.txt' % (folder, kind), 'w', encoding='utf-8') as file:
            for name, shape in names:
                print(name, *shape, file=file)
        print(kind, sum(math.prod(s) for _, s in names), 'parameters,', 'atoms to',
              numpy.abs(r['places']).max(), 'pairs to', numpy.abs(r['pairs_3']).max(), 'summary',
              r['summary_clash'], r['summary_apart'])


def shapes():
    for name, (f, want) in PUBLISHED.items():
        got = sum(math.prod(shape) for _, shape in tensors(f))
        print('%s: %d parameters, published %d' % (name, got, want))
        if got != want:
            sys.exit(1)


if __name__ == '__main__':
    if sys.argv[1:] == ['shapes']:
        shapes()
    elif len(sys.argv) == 3 and sys.argv[1] == 'make':
        make(sys.argv[2])
    else:
        sys.exit(__doc__)
