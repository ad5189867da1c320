"""The inputs and the table of cases of tools/same.py. Standard library only.

A case is a few command lines with the same meaning in every build. Inputs are made from fixed
seeds, so both builds, and a record of an older one, get the same bytes. {in} is the folder of
inputs, {root} this repository.
"""

import os
import random
import subprocess
import sys
from collections import namedtuple

from . import weights

# name; commands: lists of arguments; device: a key of DEVICES; quick: also in the quick mode;
# codes: statuses of the commands that are right; kind: files | graph | launches | job
Case = namedtuple('Case', 'name commands device quick codes kind')

# name -> options, folder of the driver in a build, environment
DEVICES = {
    'cpu': (['--device', 'cpu', '--threads', '2'], None, {}),
    'cpu-1-thread': (['--device', 'cpu', '--threads', '1'], None, {}),
    'cpu-generic': (['--device', 'cpu', '--threads', '2', '--cpu-mask', 'generic'], None, {}),
    'reference': (['--device', 'reference', '--threads', '2'], None, {}),
    'sm_80': (['--device', 'cuda:0'], 'tests/gpu', {}),
    'sm_80-fp32': (['--device', 'cuda:0', '--precision', 'fp32'], 'tests/gpu', {}),
    'gfx90a': (['--device', 'hip:0'], 'tests/gpu', {}),
    'gfx908': (['--device', 'hip:0'], 'tests/gpu', {'FAKE_DRIVER_ARCH': 'gfx908'}),
    'gfx1100': (['--device', 'hip:0'], 'tests/gpu', {'FAKE_DRIVER_ARCH': 'gfx1100'}),
    'sm_90a': (['--device', 'cuda:0'], 'tests/gpu/hopper', {'NULL_DRIVER_GIB': '79'}),
    'sm_90a-fp32': (
        ['--device', 'cuda:0', '--precision', 'fp32'],
        'tests/gpu/hopper',
        {'NULL_DRIVER_GIB': '79'},
    ),
}
CPU = ['cpu', 'cpu-1-thread', 'cpu-generic', 'reference']
EMULATED = ['sm_80', 'sm_80-fp32', 'gfx90a', 'gfx908', 'gfx1100']
QUICK = ['cpu', 'cpu-generic', 'sm_80', 'gfx1100']
ACIDS = 'ACDEFGHIKLMNPQRSTVWY'


# ---- inputs ----


def prepare(folder, root, build, full):
    """Writes all inputs. build: its tests/mpnn_weights makes weights of LigandMPNN by a formula."""
    rng = random.Random(11)

    def put(name, text):
        with open(os.path.join(folder, name), 'w', encoding='ascii') as f:
            f.write(text)

    def letters(alphabet, n):
        return ''.join(rng.choices(alphabet, k=n))

    def fasta(alphabet, lengths, prefix='s'):
        return ''.join(
            '>%s%d\n%s\n' % (prefix, i, letters(alphabet, n)) for i, n in enumerate(lengths)
        )

    put(
        'short.fa',
        fasta(ACIDS, [1, 37, 12, 12, 20]) + '>copy\n' + 'MKTAYIAKQR\n>copied\nMKTAYIAKQR\n',
    )
    put('one.fa', '>one\nMKTAYIAKQRQISFVK\n')
    put('mutants.csv', 'mutant,dms\nM1A,0.5\nK2R:T3S,1\nR10L,2\n')
    put('many.fa', fasta(ACIDS, [rng.randint(20, 400) for _ in range(40)]))
    put(
        'lengths.fa',
        fasta(ACIDS, [20, 33, 64, 100, 128, 129, 200, 256, 300, 512, 700, 1000, 1022, 1500]),
    )
    put('queries.fa', fasta(ACIDS, [rng.randint(5, 300) for _ in range(30)] + [2000], 'q'))
    put('targets.fa', fasta(ACIDS, [rng.randint(5, 300) for _ in range(30)] + [2100], 't'))
    put('few.fa', fasta(ACIDS, [30, 5, 61, 120], 'q'))
    put('bases.fa', fasta('ACGT', [100, 400, 33], 'b'))
    put('other_bases.fa', fasta('ACGT', [90, 430, 40], 'b'))
    for name, bases in ('half', 5120), ('odd', 592), ('borzoi', 768), ('alpha', 8192):
        put(name + '.fa', fasta('ACGT', [bases, bases, bases], 'w'))
        genome = letters('ACGT', 3 * bases)
        at = 3 * bases // 2
        put(name + '.genome.fa', '>chr1\n%s\n' % genome)
        put(
            name + '.genome.fa.fai',
            'chr1\t%d\t6\t%d\t%d\n' % (len(genome), len(genome), len(genome) + 1),
        )
        put(
            name + '.bed',
            'chr1\t%d\t%d\tone\nchr1\t%d\t%d\ttwo\n' % (at, at + 40, at + 70, at + 90),
        )
        put(name + '.ism.bed', 'chr1\t%d\t%d\tone\n' % (at, at + 3))
        variants = ''
        for i, where in enumerate((at, at + 3, at + 60, at + 61)):
            ref = genome[where - 1]
            variants += 'chr1\t%d\tv%d\t%s\t%s\t.\t.\t.\n' % (
                where,
                i,
                ref,
                'A' if ref != 'A' else 'C',
            )
        put(
            name + '.vcf',
            '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n' + variants,
        )
    put('alpha.gtf', gene('G1', [(12000, 12100), (12200, 12400), (12700, 12800)]))
    put(
        'alpha.tsv',
        'head\tidentifier\tname\tstrand\tbiosample_name\n'
        + ''.join(
            'human.%s\tT%d%s\tT%d\t%s\tof %d\n' % (head, i, strand, i, strand, i)
            for head, strands in SCORED.items()
            for i, strand in enumerate(strands)
        ),
    )
    structures(folder, root)
    tool = os.path.join(build, 'tests', 'mpnn_weights')
    if os.path.exists(tool):
        subprocess.run([tool, 'ligand', os.path.join(folder, 'ligand.safetensors')], check=True)
    weights.esm2(os.path.join(folder, '8M'), '8M')
    if full:
        for_jobs(folder, root, put, fasta)
        for size in '150M', '650M':
            weights.esm2(os.path.join(folder, size), size)
        weights.enformer(os.path.join(folder, 'enformer'))
        put('window.fa', fasta('ACGT', [196608], 'w'))
        put('windows.fa', fasta('ACGT', [196608] * 5, 'w'))
        genome = letters('ACGT', 250000)
        put('window.genome.fa', '>chr1\n%s\n' % genome)
        put('window.genome.fa.fai', 'chr1\t250000\t6\t250000\t250001\n')
        put(
            'window.vcf',
            '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
            + ''.join(
                'chr1\t%d\tv%d\t%s\t%s\t.\t.\t.\n'
                % (at, at, genome[at - 1], 'A' if genome[at - 1] != 'A' else 'C')
                for at in (125000, 125040, 125900)
            ),
        )


def for_jobs(folder, root, put, fasta):
    """Inputs whose runs last, so that they can be killed."""
    tools = os.path.join(root, 'tools')
    run = [sys.executable, '-B', os.path.join(tools, 'tensornet_weights.py')]
    subprocess.run([*run, os.path.join(folder, 'tensornet')], check=True)
    run = [sys.executable, '-B', os.path.join(tools, 'dualbind_weights.py')]
    member = os.path.join(folder, 'member.safetensors')
    subprocess.run([*run, member, '--width', '16'], check=True)
    put('job.windows.fa', fasta('ACGT', [592] * 40, 'w'))
    with open(os.path.join(folder, 'odd.genome.fa'), encoding='ascii') as f:
        genome = f.read().split('\n')[1]
    put(
        'job.vcf',
        '##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
        + ''.join(
            'chr1\t%d\tv%d\t%s\t%s\t.\t.\t.\n'
            % (at, at, genome[at - 1], 'A' if genome[at - 1] != 'A' else 'C')
            for at in range(600, 1200, 7)
        ),
    )
    for name, copies in ('dualbind/poses.sdf', 8), ('tensornet/frames.xyz', 60):
        with open(os.path.join(root, 'tests', 'golden', name), encoding='ascii') as f:
            put('job.' + os.path.basename(name), f.read() * copies)
    put('job.one.xyz', '3\n\nO 0 0 0.12\nH 0 0.76 -0.48\nH 0 -0.76 -0.48\n')


def gene(name, exons):
    """GTF of a gene of chr1 with one transcript."""
    about = 'gene_id "%s"; gene_type "protein_coding"; gene_name "%s";' % (name, name)
    more = about + ' transcript_id "%s-1";' % name
    rows = [('gene', exons[0][0], exons[-1][1], about)]
    rows += [('transcript', exons[0][0], exons[-1][1], more)]
    rows += [('exon', first, end, more) for first, end in exons]
    return ''.join('chr1\tT\t%s\t%d\t%d\t.\t+\t.\t%s\n' % (k, a + 1, b, t) for k, a, b, t in rows)


def structures(folder, root):
    """small.pdb and two.pdb have 12 residues of one chain and of two, tiny.pdb has 5."""
    with open(
        os.path.join(root, 'tests', 'golden', 'proteinmpnn', '5L33.pdb'), encoding='ascii'
    ) as f:
        lines = [line for line in f if line.startswith('ATOM')]
    first = int(lines[0][22:26])

    def chain(n, name='A', by=0.0):
        return (
            ''.join(
                line[:21] + name + line[22:30] + '%8.3f' % (float(line[30:38]) + by) + line[38:]
                for line in lines
                if int(line[22:26]) < first + n
            )
            + 'TER\n'
        )

    for name, content in (
        ('small', chain(12)),
        ('two', chain(12) + chain(12, 'B', 40)),
        ('tiny', chain(5)),
    ):
        with open(os.path.join(folder, name + '.pdb'), 'w', encoding='ascii') as f:
            f.write(content + 'END\n')


# ---- the table ----

GOLDEN = '{root}/tests/golden/'
MPNN = 'proteinmpnn --weights {root}/share/proteinmpnn/proteinmpnn_v_48_020.mpnn '
MODELS = [  # name, family, weights, kinds, quick
    ('esm2-d16', 'esm2', 'esm2/hf-d16', 'mean,per-residue,bos,logits,contacts', True),
    ('esm2-d64', 'esm2', 'esm2/hf-d64-bin-legacy', 'mean,per-residue,logits,contacts', False),
    ('esm2-d24', 'esm2', 'esm2/hf-d24-shards', 'mean,logits', False),
    ('esm2-d128', 'esm2', 'esm2/hf-d128', 'mean,logits,contacts', False),
    ('esm2-fair', 'esm2', 'esm2/fair-d32-f16/esm2_t2_tiny.pt', 'mean,logits,contacts', False),
    ('esmc-split', 'esmc', 'esmc/split', 'mean,per-residue,logits', True),
    ('esmc-fused', 'esmc', 'esmc/fused', 'mean,per-residue,logits', False),
    ('protbert', 'protbert', 'protbert/pretraining', 'mean,per-residue,bos,logits', True),
    ('protbert-trunk', 'protbert', 'protbert/trunk', 'mean,per-residue', False),
    ('prott5', 'prott5', 'prott5/full', 'mean,per-residue', True),
    ('prott5-gated', 'prott5', 'prott5/gated', 'mean,per-residue', False),
    ('prostt5', 'prott5', 'prott5/prostt5', 'mean,per-residue', False),
    ('esm1b', 'esm1b', 'esm1b/hf', 'mean,logits,contacts', False),
    ('esm1v-fair', 'esm1v', 'esm1v/fair/esm1v_t2_tiny.pt', 'mean,logits', False),
    ('ankh', 'ankh', 'ankh/base', 'mean,per-residue', False),
]
TRACKS = [  # name, family, weights with options, stem of the inputs
    ('enformer-half', 'enformer', GOLDEN + 'enformer/half --positions formula-pt', 'half'),
    ('enformer-odd', 'enformer', GOLDEN + 'enformer/odd --positions formula-pt', 'odd'),
    ('borzoi', 'borzoi', GOLDEN + 'borzoi/final', 'borzoi'),
    ('alphagenome', 'alphagenome', GOLDEN + 'alphagenome/small', 'alpha'),
]
ALPHA = GOLDEN + 'alphagenome/small'
SCORED = {  # heads whose tracks alpha.tsv names, with the strand of each
    'atac.1': '..',
    'contact_maps.2048': '...',
    'dnase.1': '.',
    'chip_tf.128': '...',
    'chip_histone.128': '..',
    'cage.1': '+',
    'procap.1': '-',
    'rna_seq.1': '+-',
    'splice_sites.1': '++--.',
    'splice_site_usage.1': '++--',
    'splice_junctions.1': '++--',
}
MORE_TRACKS = {  # name -> arguments in front of the weights
    'enformer-odd contributions': 'enformer {in}/odd.fa --positions formula-pt --contributions'
    ' --tracks 0 -o out.npz --weights %senformer/odd' % GOLDEN,
    'alphagenome outputs': 'alphagenome {in}/alpha.fa -o out.npz --head human.rna_seq.1,'
    'human.atac.128,human.contact_maps.2048,human.splice_junctions.1 --weights ' + ALPHA,
    'alphagenome contributions': 'alphagenome {in}/alpha.fa --contributions --tracks 0'
    ' --head human.chip_tf.128 -o out.npz --weights ' + ALPHA,
    'alphagenome scorers': 'alphagenome {in}/alpha.vcf --genome {in}/alpha.genome.fa'
    ' --gtf {in}/alpha.gtf --targets {in}/alpha.tsv --scorers recommended -o out.tsv'
    ' --weights ' + ALPHA,
}
TRACK_WORK = {  # name -> input, options; @ is the stem of the inputs
    'windows': '{in}/@.fa -o out.npz',
    'views': '{in}/@.fa --rc --shifts 0,1 -o out.npz',
    'intervals': '{in}/@.bed --genome {in}/@.genome.fa -o out.npz',
    'bedgraph': '{in}/@.ism.bed --genome {in}/@.genome.fa --format bedgraph -o out',
    'bigwig': '{in}/@.ism.bed --genome {in}/@.genome.fa --format bigwig -o out',
    'ism': '{in}/@.ism.bed --genome {in}/@.genome.fa --ism -o out.npz',
    'variants': '{in}/@.vcf --genome {in}/@.genome.fa --stats SAD,SAR,REF,ALT -o out.npz',
    'variants alone': '{in}/@.vcf --genome {in}/@.genome.fa --cluster 1 --rc -o out.tsv',
    'variants of one': '{in}/@.vcf --genome {in}/@.genome.fa --tracks 1 -o out.tsv',
}
DESIGNS = {  # name -> options after the structure
    'sample': '--num-seq 2 --temperature 0.1,0.5 --seed 5 -o out.fa',
    'torch': '--num-seq 2 --rng torch --seed 5 -o out.fa',
    'torch-mkl': '--num-seq 3 --batch 2 --rng torch-mkl --seed 5 -o out.fa',
    'torch-cuda': '--num-seq 2 --rng torch-cuda --seed 5 -o out.fa',
    'torch-noise': '--num-seq 2 --rng torch --backbone-noise 0.1 -o out.fa',
    'logprobs': '--num-seq 2 --include logprobs,probs --seed 5 -o out.npz',
    'score': '--score-only --num-seq 2 -o out.tsv',
    'conditional': '--conditional --include logprobs -o out.npz',
    'conditional-backbone': '--conditional-backbone --include logprobs -o out.npz',
    'unconditional': '--unconditional --include logprobs -o out.npz',
    'omit': '--omit-aa CX --chains A --backbone-noise 0.1 -o out.fa',
    'tied': '--tied homooligomer --num-seq 2 --include logprobs -o out.jsonl',
}
JOBS = {  # name -> a run that lasts long enough to be killed
    'embed': 'esm2 {in}/many.fa --weights {root}/share/bioinfer-tiny --batch-tokens 400 -o out.npz',
    'score': 'score esm2 {in}/many.fa --weights %sesm2/hf-d16 -o out.tsv' % GOLDEN,
    'design': MPNN + ' '.join(GOLDEN + 'proteinmpnn/%s.pdb' % s for s in ('5L33', '6MRR', '1BC8'))
    + ' {in}/two.pdb {in}/small.pdb {in}/tiny.pdb --num-seq 8 --seed 5 --batch-tokens 300'
    ' -o out.fa',
    'tracks': 'enformer {in}/job.windows.fa --positions formula-pt --weights %senformer/odd'
    ' -o out.safetensors' % GOLDEN,
    'variants': 'enformer {in}/job.vcf --genome {in}/odd.genome.fa --cluster 1 --positions'
    ' formula-pt --weights %senformer/odd -o out.tsv' % GOLDEN,
    'align': 'align {in}/queries.fa {in}/targets.fa --block-pairs 2 -o out.tsv',
    'affinity': 'dualbind %sdualbind/6w70.pdb.gz {in}/job.poses.sdf --batch-tokens 8000'
    ' --weights {in}/member.safetensors -o out.tsv' % GOLDEN,
    'energies': 'tensornet {in}/job.frames.xyz --weights {in}/tensornet --stress -o out.tsv',
    'md': 'md {in}/job.one.xyz --weights {in}/tensornet --steps 400 --every 2 -o out.extxyz',
}
ALIGN_WORK = {
    'pairs': '{in}/queries.fa {in}/targets.fa',
    'all': '{in}/few.fa --all-vs-all',
    'one': '{in}/one.fa {in}/targets.fa --one-vs-all',
    'ends-free': '{in}/queries.fa {in}/targets.fa --mode ends-free',
    'scores': '{in}/queries.fa {in}/targets.fa --score-only',
    'linear': '{in}/queries.fa {in}/targets.fa --gap-open 3 --gap-extend 3',
    'emboss': '{in}/queries.fa {in}/targets.fa --ties emboss',
    'wfa': '{in}/few.fa --all-vs-all --ties wfa --mode ends-free',
    'little memory': '{in}/queries.fa {in}/targets.fa --memory-limit 1',
    'bases': '{in}/bases.fa {in}/other_bases.fa',
    'match': '{in}/bases.fa {in}/other_bases.fa --match 2 --mismatch -3',
}


def case(name, device, *commands, quick=False, codes=(0,), kind='files'):
    """commands: words with spaces between them; options of the device are put behind them."""
    commands = [
        [*c.split(), *(() if c.startswith('merge') else DEVICES[device][0]), '--quiet']
        for c in commands
    ]
    return Case('%s / %s' % (name, device), commands, device, quick, codes, kind)


def embeddings():
    for name, family, folder, kinds, quick in MODELS:
        head = '%s {in}/short.fa --weights %s%s -o out.npz' % (family, GOLDEN, folder)
        everything = '%s --include %s --layers 0,1,-1' % (head, kinds)
        for device in CPU + EMULATED:
            yield case('embed %s mean' % name, device, head, quick=quick and device == 'cpu')
            few = quick and device in QUICK
            yield case('embed %s all' % name, device, everything, quick=few)
        for device in CPU:
            some = quick and device == 'cpu'
            maps = head + ' --include attentions'
            yield case('embed %s attentions' % name, device, maps, quick=some)
            yield case('embed %s unfused' % name, device, head + ' --no-rule all')
    head = 'esm2 {in}/short.fa --weights %sesm2/hf-d16 ' % GOLDEN
    for suffix in 'npy', 'safetensors', 'h5', 'jsonl', 'tsv':
        quick = suffix in ('h5', 'jsonl')
        yield case('embed to ' + suffix, 'cpu', head + '-o out.' + suffix, quick=quick)
    folder = head + '--format esm-pt --include mean,per-residue -o out'
    yield case('embed to esm-pt', 'cpu', folder)
    shards = [head + '-o out.npz --shard %d/2' % n for n in (1, 2)]
    yield case('embed shards', 'cpu', *shards, 'merge out.npz', quick=True)
    for device in CPU[:3]:
        many = 'esm2 {in}/many.fa --weights {root}/share/bioinfer-tiny -o out.npz'
        quick = device == 'cpu'
        yield case('embed tiny, many', device, many + ' --include mean,logits', quick=quick)
    head = 'prott5 {in}/short.fa --weights %sprott5/full -o out.tsv ' % GOLDEN
    for name in 'dssp3', 'location':
        file = '%sprott5/heads/prott5-%s.safetensors' % (GOLDEN, name)
        yield case('head ' + name, 'cpu', head + '--head ' + file, quick=True)


def scores():
    models = [('esm2', 'hf-d16'), ('esmc', 'split'), ('protbert', 'pretraining')]
    for family, name in models:
        weight = GOLDEN + family + '/' + name
        head = 'score %s {in}/one.fa --weights %s ' % (family, weight)
        for device in CPU + EMULATED:
            quick = family == 'esm2' and device in ('cpu', 'sm_80')
            for method in 'masked-marginals', 'wt-marginals', 'pppl':
                command = head + '-o out.tsv --method ' + method
                yield case('score %s %s' % (family, method), device, command, quick=quick)
            command = head + '-o out.csv --mutations {in}/mutants.csv'
            yield case('score %s mutants' % family, device, command, quick=quick)


def designs():
    for device in [d for d in CPU + EMULATED if d != 'sm_80-fp32']:  # there is no fp16 to leave
        gpu = device in EMULATED
        for what, options in DESIGNS.items():
            if gpu and device != 'sm_80' and what not in ('sample', 'score'):
                continue
            pdb = 'two' if what in ('tied', 'omit') else 'tiny' if gpu else 'small'
            command = MPNN + '{in}/%s.pdb %s' % (pdb, options)
            quick = device == 'cpu' or (what == 'sample' and device == 'sm_80')
            yield case('design ' + what, device, command, quick=quick)
    whole = GOLDEN + 'proteinmpnn/'
    many = MPNN + '%s5L33.pdb %s6MRR.pdb {in}/two.pdb --num-seq 2 --rng torch -o out.fa'
    ligand = 'proteinmpnn %s1BC8.pdb --weights {in}/ligand.safetensors ' % whole
    for device in CPU[:3]:
        yield case('design many', device, many % (whole, whole))
        sample = ligand + '--rng torch --num-seq 2 -o out.fa'
        score = ligand + '--score-only --include logprobs -o out.npz'
        yield case('design ligand', device, sample, score, quick=device == 'cpu')


def tracks():
    for name, family, weight, stem in TRACKS:
        for device in CPU + EMULATED:
            gpu = device in EMULATED
            for what, args in TRACK_WORK.items():
                if gpu and what in ('bedgraph', 'bigwig', 'intervals'):
                    continue  # as windows, but for the files
                if gpu and (device != 'sm_80' and stem == 'half' or stem == 'alpha'):
                    continue  # slow
                few = stem == 'odd' and device in QUICK and what in ('windows', 'variants')
                command = '%s %s --weights %s' % (family, args.replace('@', stem), weight)
                quick = device == 'cpu' or few
                yield case('tracks %s %s' % (name, what), device, command, quick=quick)
    for name, command in MORE_TRACKS.items():
        for device in CPU:
            yield case('tracks ' + name, device, command, quick=device == 'cpu')


def alignments():
    for device in CPU[:3] + ['sm_80', 'gfx90a', 'gfx1100']:
        for what, args in ALIGN_WORK.items():
            if device not in CPU:  # the emulation is slow
                args = args.replace('queries', 'few').replace('targets', 'few')
            quick = device in ('cpu', 'cpu-generic', 'sm_80')
            command = 'align %s -o out.tsv' % args
            yield case('align ' + what, device, command, quick=quick, codes=(0, 1))
    for suffix in 'paf', 'sam', 'needle':
        command = 'align {in}/queries.fa {in}/targets.fa --format %s -o out.%s' % (suffix, suffix)
        yield case('align to ' + suffix, 'cpu', command, quick=True)


def graphs():
    def dumps(name, command):
        for which in 'fused', 'plain':
            dump = '%s --dump-graph=%s' % (command, which)
            yield case('graph %s, %s' % (name, which), 'cpu', dump, quick=True, kind='graph')
        dump = command + ' --dump-graph'
        yield case('graph %s' % name, 'sm_90a', dump, quick=True, kind='graph')

    for name, family, folder, kinds, _ in MODELS:
        head = '%s {in}/short.fa --weights %s%s' % (family, GOLDEN, folder)
        yield from dumps(name + ' mean', head)
        yield from dumps(name + ' all', '%s --include %s --layers 0,1,-1' % (head, kinds))
        yield from dumps(name + ' attentions', head + ' --include attentions')
    for name, family, weight, stem in TRACKS:
        yield from dumps(name, '%s {in}/%s.fa --weights %s' % (family, stem, weight))
    for name, command in MORE_TRACKS.items():
        yield from dumps(name, command)
    for what in '', ' --score-only', ' --conditional', ' --unconditional':
        yield from dumps('proteinmpnn' + what, MPNN + '{in}/small.pdb' + what)


def launches():
    """Launches that a Hopper GPU would be asked for."""

    def logged(name, command, quick=False, device='sm_90a'):
        return case('launches ' + name, device, command, quick=quick, kind='launches')

    for name, family, folder, kinds, _ in MODELS:
        head = '%s {in}/short.fa --weights %s%s -o out.npz' % (family, GOLDEN, folder)
        for device in 'sm_90a', 'sm_90a-fp32':
            yield logged(name, head + ' --include ' + kinds, True, device)
    for size in '8M', '150M', '650M':
        head = 'esm2 {in}/lengths.fa -o out.npz --weights {in}/' + size
        everything = head + ' --include mean,per-residue,logits,contacts --batch-tokens 3000'
        yield logged('esm2 %s mean' % size, head, size == '8M')
        yield logged('esm2 %s all' % size, everything, size == '8M')
        if size == '8M':
            yield logged('esm2 8M mean', head, True, 'sm_90a-fp32')
    whole = GOLDEN + 'proteinmpnn/'
    for what in '', ' --score-only', ' --conditional', ' --unconditional':
        command = MPNN + '%s5L33.pdb %s3HTN.pdb --num-seq 8 --include logprobs -o out.npz'
        yield logged('proteinmpnn' + what, command % (whole, whole) + what, True)
    variants = '%s {in}/%s.vcf --genome {in}/%s.genome.fa --weights %s -o out.tsv'
    for name, family, weight, stem in TRACKS:
        yield logged(name, variants % (family, stem, stem, weight), True)
    for name, command in MORE_TRACKS.items():
        yield logged(name, command, True)
    full = '{in}/enformer --positions formula-pt'
    yield logged('enformer window', 'enformer {in}/window.fa -o out.npz --weights ' + full)
    yield logged('enformer windows', 'enformer {in}/windows.fa --rc -o out.npz --weights ' + full)
    command = variants % ('enformer', 'window', 'window', full)
    yield logged('enformer variants', command)
    yield logged('enformer variants alone', command + ' --cluster 1')
    yield logged('align', 'align {in}/queries.fa {in}/targets.fa -o out.tsv', True)


def jobs():
    """Jobs of each task, which OLD begins and NEW finishes (judge/handover.py)."""
    for what, command in JOBS.items():
        yield case('job ' + what, 'cpu', command, codes=(0, 1), kind='job')


def table():
    for part in graphs, launches, embeddings, scores, designs, tracks, alignments, jobs:
        yield from part()
