#!/usr/bin/env python3
"""tasks.py BIOINFER SOURCE_ROOT CASE TASK N - a job of every task that is killed, cut and merged.

    points   BIOINFER is bioinfer-faults: killed before, within and behind every write, and before
             and behind every sync, cut, rename and removal, then resumed; so is its merge.
             N: at each Nth of these points
    kills    killed at N random moments in all, and resumed until it is complete
    shards   two and three shards, one of them killed and resumed, merged
    refused  what does not go together is said, with exit status 64
    emptied  a pipe that gives nothing when the job is resumed
    workers  1, 2 and 3 worker processes, N of them killed at random moments; and one that meets a
             record, or a cluster of variants, at which every worker ends

The output and the manifest must have the bytes of an undisturbed run, and nothing else is left; but
for the manifest's notes (notes.py), as every process names ten structures of a kind at most.
"""
import gzip
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from common import ACIDS, children, contents, has_bytes, kill, make_fasta

ROOT = EXE = ""
MODEL = os.path.join("tests", "golden", "esm2", "hf-d16")


class Task:
    """One way to call the command. `large` makes a run that lasts, to be killed midway."""
    code = 0
    output = "out.tsv"
    options = ()
    shards = True
    strict = True  # the command has this option
    to_stdout = ()
    to_merge = ()  # options without which a merge does not know the format
    poisoned = "r5"  # the id of a record that has a result
    others = ()  # options that decide results: (words of the refusal, option, value)

    @property
    def together(self):
        """The rows of the manifest that this record has."""
        return [self.poisoned]

    def __init__(self, folder, large):
        self.folder = folder
        self.input = self.make(large)

    def make(self, large):
        return make_fasta(os.path.join(self.folder, "in.fasta"), 300 if large else 13,
                          longest=60 if large else 9, copies=0)

    def change(self):
        """Changes the input, and says how a journal of the old one is refused."""
        with open(self.input, "a", encoding="ascii") as f:
            f.write(">late\nMKT\n")
        return "the size of the input"

    def changes(self):
        """Makes one change after the other of what decides results."""
        yield self.change()

    def choose(self, option, *value):
        """Gives an option another value, or one that is not there yet."""
        words = list(self.options)
        if option in words:
            at = words.index(option)
            del words[at:at + 1 + len(value)]
        self.options = (*words, option, *value)

    def args(self, path, *more):
        return [EXE, *self.words, "-o", path, "--threads", "1", "--quiet", *self.options, *more]

    @property
    def words(self):
        return ["score", "esm2", self.input, "--weights", os.path.join(ROOT, MODEL)]


class Embed(Task):
    code, output, to_stdout = 1, "out.npz", ("--format", "tsv")

    @property
    def words(self):
        return ["esm2", self.input, "--weights", os.path.join(ROOT, MODEL)]


class Scan(Task):
    code = 1


class Pppl(Task):
    code = 1
    options = ("--method", "pppl")


class Mutations(Task):
    """One unit: the wild type with its table, of which one row has no score."""
    code, output, shards, poisoned = 1, "out.csv", False, "wild"

    def make(self, large):
        rng = random.Random(4)
        wild = "".join(rng.choices(ACIDS, k=120 if large else 20))
        path = os.path.join(self.folder, "wild.fasta")
        with open(path, "w", encoding="ascii") as f:
            f.write(f">wild\n{wild}\n")
        with open(os.path.join(self.folder, "mutants.csv"), "w", encoding="ascii") as f:
            f.write("mutant,note\n")
            for i, letter in enumerate(wild):
                f.write(f"{letter}{i + 1}A,{i}\n")
            f.write("X1A,bad\n")
        return path

    @property
    def words(self):
        return super().words + ["--mutations", os.path.join(self.folder, "mutants.csv")]


def cut_structure(source, path, first, n):
    """Residues [first, first + n) of the file's first chain."""
    with open(os.path.join(ROOT, "tests", "golden", "proteinmpnn", source), encoding="ascii") as f:
        atoms = [line for line in f if line.startswith("ATOM")]
    residues = sorted({line[21:27] for line in atoms if line[21] == atoms[0][21]})
    with open(path, "w", encoding="ascii") as f:
        f.writelines(line for line in atoms if line[21:27] in residues[first:first + n])


class Fasta(Task):
    """A folder of structures, one of which holds no atom."""
    code, output, poisoned = 1, "out.fa", "s05"
    options = ("--num-seq", "2", "--temperature", "0.1,0.3", "--seed", "5")
    n_large = 32

    def make(self, large):
        if large:  # few structures at a time, so that results come while others are computed
            self.options = (*self.options, "--batch-tokens", "48")
        path = os.path.join(self.folder, "backbones")
        os.mkdir(path)
        for i in range(self.n_large if large else 4):
            cut_structure(["5L33.pdb", "6MRR.pdb", "4GYT.pdb"][i % 3],
                          os.path.join(path, f"s{i:02}.pdb"), i, 40 if large else 12)
        with open(os.path.join(path, "s03.pdb"), "w", encoding="ascii") as f:
            f.write("REMARK nothing\n")
        return path

    @property
    def words(self):
        return ["proteinmpnn", self.input]

    def change(self):
        cut_structure("5L33.pdb", os.path.join(self.input, "s00.pdb"), 3, 12)
        return "is not the one that this journal holds"


class Table(Fasta):
    output = "out.tsv"
    options = (*Fasta.options, "--include", "logprobs,probs")


class Arrays(Fasta):
    """This format begins with the fingerprint of the model, in runs without a journal, too."""
    output = "out.safetensors"
    options = (*Fasta.options, "--include", "logprobs,probs")


class Jsonl(Fasta):
    """In this format a record without a result could have a row."""
    output = "out.jsonl"


class Torch(Fasta):
    """PyTorch's numbers are drawn for one structure after the other, for noise too."""
    shards = False
    n_large = 10
    options = (*Fasta.options, "--rng", "torch", "--backbone-noise", "0.1")


def random_bases(rng, n):
    return "".join(rng.choices("ACGT", k=n))


class Windows(Task):
    """Records of FASTA that are windows of DNA, two of which have another length."""
    code, output, poisoned = 1, "out.safetensors", "w5"
    window = 5120
    options = ("--positions", "formula-pt")

    def make(self, large):
        rng = random.Random(6)
        path = os.path.join(self.folder, "windows.fasta")
        with open(path, "w", encoding="ascii") as f:
            for i in range(40 if large else 6):
                n = self.window if i % 5 != 3 else 100
                f.write(f">w{i}\n{random_bases(rng, n)}\n")
        return path

    def change(self):
        with open(self.input, "a", encoding="ascii") as f:
            f.write(">late\nACGT\n")
        return "the size of the input"

    @property
    def words(self):
        return ["enformer", self.input, "--weights",
                os.path.join(ROOT, "tests", "golden", "enformer", "half")]


class Intervals(Windows):
    """Intervals of BED over a genome; one is off its contig, one of no contig."""
    output, poisoned = "out.jsonl", "i5"

    def make(self, large):
        self.genome = os.path.join(self.folder, "genome.fa")
        self.bases = random_bases(random.Random(7), 30000)
        with open(self.genome, "w", encoding="ascii") as f:
            f.write(f">chrA\n{self.bases}\n")
        with open(self.genome + ".fai", "w", encoding="ascii") as f:
            f.write("chrA\t30000\t6\t30000\t30001\n")
        return self.places(os.path.join(self.folder, "input"), large)

    def places(self, path, large):
        with open(path, "w", encoding="ascii") as f:
            for i in range(40 if large else 6):
                chrom, start = ("chrB" if i == 2 else "chrA"), (29999 if i == 4 else 100 + 600 * i)
                f.write(f"{chrom}\t{start}\t{start + 2}\ti{i}\n")
        return path

    def change(self):
        with open(self.input, "a", encoding="ascii") as f:
            f.write("chrA\t10\t12\tlate\n")
        return "the size of the input"

    def changes(self):
        """The genome and its index decide results as the input does."""
        for path, expected in ((self.genome, "the content of the genome"),
                               (self.genome + ".fai", "the size of the genome index")):
            with open(path, "rb") as f:
                old = f.read()
            times = os.stat(path)
            with open(path, "wb") as f:
                f.write(old + b"chrC\t1\t7\t1\t2\n" if path.endswith(".fai") else old[:900] +
                        bytes([old[900] ^ 2]) + old[901:])
            yield expected
            with open(path, "wb") as f:
                f.write(old)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        yield self.change()

    @property
    def words(self):
        return [*super().words, "--genome", self.genome]


class BigWig(Intervals):
    """Windows as coverage: a folder with a file of each track. Some overlap by whole bins."""
    output = "tracks"
    options = (*Windows.options, "--format", "bigwig", "--tracks", "1,5")
    to_merge = ("--format", "bigwig")

    def places(self, path, large):
        with open(path, "w", encoding="ascii") as f:
            for i in range(40 if large else 6):
                chrom, start = ("chrB" if i == 2 else "chrA"), 256 * (i * 7 % 40)
                f.write(f"{chrom}\t{start}\t{start + 2}\ti{i}\n")
        return path

    def change(self):
        super().change()
        return "the size of the input"


class BedGraph(BigWig):
    options = (*Windows.options, "--format", "bedgraph", "--tracks", "1,5")
    to_merge = ("--format", "bedgraph")


class Mutagenesis(Intervals):
    """Every substitution of intervals; one has no bases."""
    output = "out.npz"
    options = (*Windows.options, "--ism")

    def places(self, path, large):
        with open(path, "w", encoding="ascii") as f:
            for i in range(12 if large else 4):
                start = 3000 + 700 * i
                f.write(f"chrA\t{start}\t{start + (0 if i == 2 else 2)}\ti{i}\n")
        return path


class Variants(Intervals):
    """Clusters of one to five variants, as a table; among them such as have no scores."""
    output, poisoned = "out.tsv", "v1"  # which begins a cluster
    options = (*Windows.options, "--cluster", "40", "--stats", "SAD,REF")
    first_cluster = ()
    others = (("cluster=40", "--cluster", "41"), ("stats=SAD,REF", "--stats", "SAD"),
              ("indel=both", "--indel", "left"), ("indel=both", "--indel", "right"),
              ("rc=0", "--rc"), ("shifts=0", "--shifts", "1"), ("shifts=0", "--shifts", "0,1"),
              ("tracks=0,1,2,", "--tracks", "1,0"), ("no-rule=", "--no-rule", "all"),
              ("the fingerprint of model", "--positions", "formula-tf"))

    def places(self, path, large):
        rng = random.Random(8)
        with open(path, "w", encoding="ascii") as f:
            f.write("##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\n")
            number = 0
            for i in range(24 if large else 5):
                first = number
                for k in range(rng.randint(2, 5) if i % 3 else 1):
                    at = 3000 + 900 * i + 8 * k
                    ref = self.bases[at:at + 1 + k % 2]
                    if number % 7 == 4:
                        ref = "ACGT"[("ACGT".index(ref[0]) + 1) % 4]
                    chrom = "chrB" if number % 11 == 6 else "chrA"
                    f.write(f"{chrom}\t{at + 1}\tv{number}\t{ref}\t{'GT'[ref[0] == 'G']}\n")
                    number += 1
                if i == 1:
                    self.first_cluster = [f"v{k}" for k in range(first, number)]
        return path

    @property
    def together(self):
        return self.first_cluster

    def change(self):
        with open(self.input, "a", encoding="ascii") as f:
            f.write("chrA\t10\tlate\tA\tC\n")
        return "the size of the input"


class Alone(Variants):
    """The same variants with a window each."""
    options = (*Windows.options, "--tracks", "1,5-6")
    others = (("cluster=0", "--cluster", "40"), ("tracks=1,5,6", "--tracks", "1,5"))
    together = (Variants.poisoned,)


class Scores(Variants):
    """The same clusters as arrays, in a format where a variant without scores has a row."""
    output = "out.jsonl"


class Align(Task):
    """Pairs in order, a few to a block; some have no result."""
    code = 1
    options = ("--block-pairs", "3", "--cpu-mask", "generic")
    strict = False
    target = "target.fasta"
    poisoned = "0-15"  # a block

    def make(self, large):
        if large:
            self.options = ("--block-pairs", "16", "--cpu-mask", "generic")
        for seed, name in enumerate((self.target, "query.fasta")):
            path = make_fasta(os.path.join(self.folder, name), 1500 if large else 13, seed=seed,
                              longest=700 if large else 9, copies=0)
        return path

    def change(self):
        super().change()
        return "the size of the query"

    @property
    def words(self):
        return ["align", self.input, os.path.join(self.folder, self.target)]


class AlignAll(Align):
    """Every record with every one, in SAM, whose head is part of the first block."""
    output = "out.sam"
    options = (*Align.options[2:], "--block-pairs", "60", "--all-vs-all", "--matrix", "BLOSUM62")
    poisoned = "0-59"

    def make(self, large):
        for seed, name in enumerate((self.target, "query.fasta")):
            path = make_fasta(os.path.join(self.folder, name), 70 if large else 13, seed=seed,
                              longest=90 if large else 9, copies=0)
        return path

    def change(self):
        path = os.path.join(self.folder, self.target)
        with open(path, "rb") as f:
            text = f.read()
        with open(path, "wb") as f:
            f.write(text.replace(b"A", b"C"))
        return "the content of the target"


class AlignTop(AlignAll):
    """The best targets of each query: a block is a group of queries."""
    output = "out.tsv"
    options = (*Align.options[2:], "--block-pairs", "3", "--all-vs-all", "--matrix", "BLOSUM62",
               "--top", "4")
    poisoned = "0-2"


class AlignNeedle(Align):
    """As needle writes them: the file's name above the first, and lines below the last one."""
    output = "out.needle"


class AlignDistances(AlignAll):
    """Distances of one file with itself: a block is a tile of the matrix, whose rows need tiles of
    others."""
    output = "out.phy"
    options = (*Align.options[2:], "--block-pairs", "9", "--values", "distance", "--matrix",
               "BLOSUM62")
    poisoned = "0-2,3-5"

    def make(self, large):
        return make_fasta(os.path.join(self.folder, "query.fasta"), 120 if large else 13, seed=6,
                          longest=300 if large else 9, copies=0)

    def change(self):
        Align.change(self)
        return "the matrix was"

    @property
    def words(self):
        return ["align", self.input]


class AlignMatrix(AlignAll):
    """Scores of two files as an array, in tiles of seven rows and seven columns."""
    output, to_stdout = "out.npz", ("--format", "tsv")
    options = (*Align.options[2:], "--block-pairs", "49", "--values", "score", "--matrix",
               "BLOSUM62")
    poisoned = "7-12,0-6"

    def make(self, large):
        path = super().make(large)
        if large:
            self.poisoned = "7-13,0-6"
        return path


class AlignScores(Align):
    """Scores alone, by a matrix that is a file."""
    options = (*Align.options, "--score-only")
    poisoned = "3-5"

    def make(self, large):
        with open(os.path.join(self.folder, "m.txt"), "w", encoding="ascii") as f:
            f.write("   " + "  ".join(ACIDS) + "\n")
            for a in ACIDS:
                f.write(a + "".join(f" {3 if a == b else -1:2}" for b in ACIDS) + "\n")
        self.options = (*self.options, "--matrix", os.path.join(self.folder, "m.txt"))
        return super().make(False)

    def change(self):
        with open(os.path.join(self.folder, "m.txt"), "a", encoding="ascii") as f:
            f.write("# more\n")
        return "the size of the matrix"


class Screen(Task):
    """Ligands and one receptor; one ligand is broken, and one is far from the protein."""
    code, poisoned = 1, "pose5"

    def make(self, large):
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        sys.dont_write_bytecode = True
        import dualbind_weights
        self.weights = os.path.join(self.folder, "w.safetensors")
        dualbind_weights.write(self.weights, 16)
        self.receptor = os.path.join(self.folder, "p.pdb")
        with gzip.open(self.of("6w70.pdb.gz"), "rt") as f, \
                open(self.receptor, "w", encoding="ascii") as out:
            out.writelines(line for line in f if line.startswith("ATOM"))
        with open(self.of("poses.sdf"), encoding="ascii") as f:
            self.poses = [p for p in f.read().split("$$$$\n") if p]
        if large:
            self.options = ("--batch-tokens", "8000")
        return self.ligands(os.path.join(self.folder, "in.sdf"), 200 if large else 9)

    @staticmethod
    def of(name):
        return os.path.join(ROOT, "tests", "golden", "dualbind", name)

    def pose(self, i):
        """A pose with another name; every one is moved a little further."""
        lines = self.poses[i % len(self.poses)].splitlines()
        lines[0] = f"pose{i}"
        far = 500 if i == 7 else i / 100
        for k in range(4, 4 + int(lines[3][:3])):
            lines[k] = "%10.4f" % (float(lines[k][:10]) + far) + lines[k][10:]
        if i == 3:
            lines[3] = "broken"
        return "\n".join(lines) + "\n$$$$\n"

    def ligands(self, path, n):
        with open(path, "w", encoding="ascii") as f:
            f.writelines(self.pose(i) for i in range(n))
        return path

    def change(self):
        with open(self.input, "a", encoding="ascii") as f:
            f.write(self.pose(0))
        return "the size of the ligands"

    def changes(self):
        """The receptor decides results as the ligands do."""
        times = os.stat(self.receptor)
        with open(self.receptor, "rb") as f:
            old = f.read()
        with open(self.receptor, "wb") as f:
            f.write(old.replace(b"GLY", b"ALA", 1))
        yield "the content of the receptor"
        with open(self.receptor, "wb") as f:
            f.write(old)
        os.utime(self.receptor, ns=(times.st_atime_ns, times.st_mtime_ns))
        yield self.change()

    @property
    def words(self):
        return ["dualbind", self.receptor, self.input, "--weights", self.weights]


class Pairs(Screen):
    """A table of files."""
    poisoned = "row5"

    def ligands(self, path, n):
        self.table = os.path.join(self.folder, "pairs.csv")
        with open(self.table, "w", encoding="ascii") as table:
            table.write("id,protein_path,ligand_path\n")
            for i in range(n):
                name = f"l{i}.sdf"
                with open(os.path.join(self.folder, name), "w", encoding="ascii") as f:
                    f.write(self.pose(i))
                table.write(f"row{i},{'none.pdb' if i == 4 else 'p.pdb'},{name}\n")
        return self.table

    def change(self):
        with open(self.table, "a", encoding="ascii") as f:
            f.write("late,p.pdb,l0.sdf\n")
        return "files="

    def changes(self):
        with open(self.receptor, "rb") as f:
            old = f.read()
        with open(self.receptor, "wb") as f:
            f.write(old.replace(b"GLY", b"ALA", 1))
        yield "files="
        with open(self.receptor, "wb") as f:
            f.write(old)
        path = os.path.join(self.folder, "l2.sdf")
        with open(path, encoding="ascii") as f:
            text = f.read()
        with open(path, "w", encoding="ascii") as f:
            f.write(self.pose(0))
        yield "files="
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        yield self.change()

    @property
    def words(self):
        return ["dualbind", self.input, "--weights", self.weights]


class Energies(Task):
    """A file of frames, periodic ones among them; one has an element that the model lacks."""
    code, poisoned = 1, "in:6"
    options = ("--stress",)

    def make(self, large):
        sys.path.insert(0, os.path.join(ROOT, "tools"))
        sys.dont_write_bytecode = True
        import tensornet_weights
        self.weights = os.path.join(self.folder, "model")
        tensornet_weights.write_matgl(self.weights)
        if large:
            self.options = (*self.options, "--batch-tokens", "64")
        path = os.path.join(self.folder, "in.xyz")
        with open(path, "w", encoding="ascii") as f:
            f.writelines(self.frame(i, 24 if large else 3) for i in range(150 if large else 9))
        return path

    @staticmethod
    def frame(i, n):
        rng = random.Random(i)
        cell = 'Lattice="9 0 0 1 8 0 0 -1 30" pbc="T T F" ' if i % 3 == 1 else ""
        atoms = [f"{'Au' if i == 3 else rng.choice('HCNO')} {1.3 * k + rng.random() / 5:.4f} "
                 f"{rng.random():.4f} {rng.random():.4f}\n" for k in range(n + i % 4)]
        return f"{len(atoms)}\n{cell}Properties=species:S:1:pos:R:3\n" + "".join(atoms)

    def change(self):
        with open(self.input, "a", encoding="ascii") as f:
            f.write(self.frame(5, 3))
        return "the size of the frames"

    @property
    def words(self):
        return ["tensornet", self.input, "--weights", self.weights]


class Frames(Energies):
    """Frames with forces: one that has no energy leaves nothing in the output."""
    output, options = "out.extxyz", ()


class Relax(Frames):
    """Frames that move: some come to rest before others, some do not, and one has fixed atoms."""
    options, strict = ("--steps", "8", "--fmax", "2"), False
    others = (("fmax=2", "--fmax", "2.1"), ("steps=8", "--steps", "9"), ("cell=0", "--cell"),
              ("pbc=file", "--pbc", "none"), ("pbc=file", "--pbc", "xyz"),
              ("charge=-", "--charge", "0"), ("no-rule=", "--no-rule", "all"))

    @staticmethod
    def frame(i, n):
        n_atoms, words, *atoms = Frames.frame(i, n).splitlines(True)
        if i == 5:
            words = words.replace("pos:R:3", "pos:R:3:move_mask:L:1")
            atoms = [f"{atom[:-1]} {'FT'[k > 0]}\n" for k, atom in enumerate(atoms)]
        return n_atoms + words + "".join(atoms)

    def changes(self):
        """Which atoms are fixed decides results, too."""
        times = os.stat(self.input)
        with open(self.input, encoding="ascii") as f:
            old = f.read()
        with open(self.input, "w", encoding="ascii") as f:
            f.write(old.replace(" F\n", " T\n", 1))
        os.utime(self.input, ns=(times.st_atime_ns, times.st_mtime_ns))
        yield "the content of the frames"
        with open(self.input, "w", encoding="ascii") as f:
            f.write(old)
        yield self.change()

    @property
    def words(self):
        return ["relax", self.input, "--weights", self.weights]


TASKS = {"screen": Screen, "pairs": Pairs, "energies": Energies, "frames": Frames,
         "relax": Relax,
         "align": Align, "alignall": AlignAll, "alignscores": AlignScores,
         "aligntop": AlignTop,
         "aligndistances": AlignDistances, "alignmatrix": AlignMatrix,
         "alignneedle": AlignNeedle,
         "windows": Windows, "intervals": Intervals, "bigwig": BigWig,
         "bedgraph": BedGraph, "mutagenesis": Mutagenesis,
         "variants": Variants, "alone": Alone, "scores": Scores,
         "fasta": Fasta, "table": Table, "arrays": Arrays, "jsonl": Jsonl, "torch": Torch,
         "embed": Embed, "scan": Scan, "pppl": Pppl, "mutations": Mutations}


def call(args, code, **env):
    p = subprocess.run(args, capture_output=True, timeout=300, check=False,
                       env=dict(os.environ, **env))
    words = p.stderr.decode(errors="replace")
    assert "Sanitizer" not in words, words
    assert p.returncode == code, (args, p.returncode, code, words[-1500:])
    return words


def finish(args, path, code):
    """Runs a command that goes on from a kill. Where the output is a folder that was there already,
    the kill has met the cleaning up: a folder is not made a second time."""
    p = subprocess.run(args, capture_output=True, timeout=300, check=False)
    words = p.stderr.decode(errors="replace")
    assert "Sanitizer" not in words, words
    if p.returncode in {73, 74} and os.path.isdir(path) and "is there already" in words:
        shutil.rmtree(path + ".part", ignore_errors=True)
        return
    assert p.returncode == code, (args, p.returncode, code, words[-1500:])


def merge(task, path, *parts):
    return [EXE, "merge", path, *parts, *task.to_merge]


def results(got):
    """All that belongs to an output but its manifest."""
    return {name: data for name, data in got.items() if name != ".manifest.tsv"}


def fresh(folder):
    path = os.path.join(folder, "run")
    shutil.rmtree(path, ignore_errors=True)
    os.mkdir(path)
    return path


def whole(task):
    """Bytes of an undisturbed run by the suffix of each file; the output is that of a run that
    keeps no journal."""
    path = os.path.join(fresh(task.folder), task.output)
    call(task.args(path, "--resume"), task.code)
    want = contents(path)
    plain = os.path.join(task.folder, "plain-" + task.output)
    call(task.args(plain), task.code)
    alone = {key: text.replace(plain.encode(), path.encode())  # needle's file names itself
             for key, text in contents(plain).items()}
    assert results(alone) == results(want), "another output without a journal"
    assert results(want) and all(results(want).values()), want
    assert want[".manifest.tsv"].count(b"\n") >= 2, want
    return want


def records_of(manifest):
    return b"".join(row for row in manifest.splitlines(True) if not row.startswith(b"\t\t\tnote\t"))


def same(path, want, about, shards=0):
    got, want = [{key: records_of(data) if key == ".manifest.tsv" else data
                  for key, data in files.items()} for files in (contents(path), want)]
    assert list(got) == list(want), (about, list(got), list(want))
    for key in want:
        assert got[key] == want[key], f"{about}: {os.path.basename(path)}{key} differs"
    left = [n for n in os.listdir(os.path.dirname(path)) if ".part" in n]
    assert len(left) == shards, (about, left)


def kill_at(args, n):
    """Whether the run came to its Nth point."""
    p = subprocess.run(args, capture_output=True, timeout=300, check=False,
                       env=dict(os.environ, BIOINFER_KILL_AT_CALL=str(n), BIOINFER_FAST_CLOCK="1"))
    return p.returncode == -signal.SIGKILL


def points(task, step):
    want, n = whole(task), 1 - step
    while True:
        n += step
        path = os.path.join(fresh(task.folder), task.output)
        killed = kill_at(task.args(path, "--resume"), n)
        if killed:
            finish(task.args(path, "--resume"), path, task.code)
        same(path, want, f"killed at point {n}")
        if not killed:
            break
    assert n > 60, n
    print(f"points up to {n} of a run, each {step}.")
    if not task.shards:
        return
    path = os.path.join(fresh(task.folder), task.output)
    parts = [f"{path}.part-{i}-of-2" for i in (1, 2)]
    for i in (1, 2):
        for k in range(5, 60, 9):
            kill_at(task.args(path, "--shard", f"{i}/2", "--resume"), k)
        run_shard(task, path, i, 2)
    n = 1 - step
    while True:
        n += step
        killed = kill_at(merge(task, path, *parts), n)
        if killed:
            finish(merge(task, path, *parts), path, task.code)
        same(path, want, f"merge killed at point {n}", shards=2)
        if not killed:
            break
        for name in list(os.listdir(os.path.dirname(path))):
            left = os.path.join(os.path.dirname(path), name)
            if ".part-" not in name:
                (shutil.rmtree if os.path.isdir(left) else os.remove)(left)
    assert n > 20, n
    print(f"points up to {n} of a merge")


def count_points(task):
    """How many points a run has that commits after every result."""
    path = os.path.join(fresh(task.folder), task.output)
    counted = os.path.join(task.folder, "points")
    call(task.args(path, "--resume"), task.code, BIOINFER_COUNT_CALLS=counted,
         BIOINFER_FAST_CLOCK="1")
    with open(counted, encoding="ascii") as f:
        return int(f.read())


def kills(task, count):
    """Kills at random times, and in turns at random points of the middle third of a run, or soon
    behind one: times may all miss what a fast machine does, points depend on no machine."""
    rng = random.Random(count)
    begun = time.monotonic()
    want = whole(task)
    seconds = (time.monotonic() - begun) / 2
    n_points = count_points(task)
    done = jobs = midway = 0
    while done < count:
        path = os.path.join(fresh(task.folder), task.output)
        last = min(count, done + max(3, count // 10))
        while True:
            journal, env, delay = path + ".part/journal", dict(os.environ), rng.uniform(0, seconds)
            by_point = done < last and done % 2 and not has_bytes(journal)
            if by_point:
                at = rng.randint(n_points // 3, n_points * 2 // 3)
                env.update(BIOINFER_STOP_AT_CALL=str(at), BIOINFER_FAST_CLOCK="1")
            p = subprocess.Popen(task.args(path, "--resume"), stderr=subprocess.PIPE, env=env)
            if by_point:
                came = os.waitid(os.P_PID, p.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                # a run that finds a whole output (the one before was killed while it was cleaning
                # up) ends before the point
                assert came.si_code != os.CLD_STOPPED or not task.shards or has_bytes(journal), \
                    f"nothing is kept at point {at}"
                delay = 0
                if done % 4 == 3:
                    p.send_signal(signal.SIGCONT)
                    delay = rng.uniform(0, .002)
            try:
                p.wait(delay if done < last else 300)
            except subprocess.TimeoutExpired:
                p.send_signal(signal.SIGKILL)
            words = p.communicate()[1].decode(errors="replace")
            if p.returncode != -signal.SIGKILL:
                break
            done += 1
            midway += has_bytes(journal)
        if p.returncode == 73 and os.path.isdir(path) and "is there already" in words:
            shutil.rmtree(path + ".part", ignore_errors=True)  # killed while it was cleaning up
        else:
            assert p.returncode == task.code, (p.returncode, words)
        same(path, want, f"job {jobs}")
        jobs += 1
    print(f"{done} kills over {jobs} jobs, {midway} with a journal to go on from")
    assert not task.shards or midway, "no run was killed midway"


def shards(task):
    want = whole(task)
    for n in (2, 3):
        path = os.path.join(fresh(task.folder), task.output)
        for i in range(1, n + 1):
            kill_at(task.args(path, "--shard", f"{i}/{n}"), 30)
            run_shard(task, path, i, n)
        call(merge(task, path), task.code)
        same(path, want, f"{n} shards", shards=n)


def run_shard(task, path, i, n):
    """A shard ends with 1 only when a record of its own has no result."""
    p = subprocess.run(task.args(path, "--shard", f"{i}/{n}", "--resume"), capture_output=True,
                       timeout=300, check=False)
    assert p.returncode in {0, task.code}, p.stderr


def refused(task):
    path = os.path.join(fresh(task.folder), task.output)
    for how in (("--workers", "2"), ("--device", "cpu,cuda:0"), ("--device", "all")):
        if "torch" in task.options:
            words = call(task.args(path, *how), 64)
            assert f"{how[0]} do" in words or "several devices do" in words, words
    words = call(task.args("-", "--resume", *task.to_stdout), 64)
    assert "--resume needs a file" in words, words
    if not task.shards:
        words = call(task.args(path, "--shard", "1/2"), 64)
        assert "--shard" in words, words
        return
    if task.strict:
        words = call(task.args(path, "--shard", "1/2", "--strict"), 64)
        assert "--strict and --shard" in words, words
    run_shard(task, path, 1, 1)
    part = path + ".part-1-of-1"
    if not task.output.endswith((".npz", ".jsonl", ".safetensors", ".phy")) and not task.to_merge:
        other = os.path.join(task.folder, "x.npz")
        words = call([EXE, "merge", other, part, "--format", "npz"], 64)
        assert "finished text" in words, words
    refuse_others(task, path)
    for expected in task.changes():
        refuse(task, path, expected)


def refuse(task, path, expected):
    p = subprocess.run(task.args(path, "--shard", "1/1", "--resume"), capture_output=True,
                       timeout=300, check=False)
    assert p.returncode in {65, 73} and expected in p.stderr.decode(), (expected, p.stderr)


def refuse_others(task, path):
    """Options that decide results: neither a resume nor a merge takes another one."""
    usual, first, second = task.options, path + ".part-1-of-2", path + ".part-2-of-2"
    if task.others:
        run_shard(task, path, 1, 2)
    for expected, *option in task.others:
        task.choose(*option)
        refuse(task, path, expected)
        run_shard(task, path, 2, 2)
        words = call(merge(task, path, first, second), 65)
        assert expected in words, (expected, words)
        shutil.rmtree(second)
        task.options = usual


def emptied(task):
    """A pipe that gives nothing, where it gave records before, ends with an error and costs none of
    the journal."""
    with open(task.input, "rb") as f:
        records = f.read()
    path = os.path.join(fresh(task.folder), task.output)
    part = path + ".part"
    args = [a if a != task.input else "-" for a in task.args(path, "--resume")]

    def run(text, **env):
        return subprocess.run(args, input=text, capture_output=True, timeout=300, check=False,
                              env=dict(os.environ, **env))
    for n in range(5, 400, 5):  # killed when some records are in the journal
        shutil.rmtree(part, ignore_errors=True)
        run(records, BIOINFER_KILL_AT_CALL=str(n), BIOINFER_FAST_CLOCK="1")
        journal = os.path.join(part, "journal")
        if os.path.exists(journal) and os.path.getsize(journal) > 256:
            break
    before = os.path.getsize(journal) // 64 * 64  # whole records
    p = run(b"")
    assert p.returncode == 65, (p.returncode, p.stderr)
    assert os.path.getsize(journal) >= before, (os.path.getsize(journal), before, p.stderr)
    p = run(records)
    assert p.returncode == task.code, (p.returncode, p.stderr)
    assert contents(path)[""], path


def workers(task, count):
    want = whole(task)
    for n in (1, 2, 3):
        for how in ((), ("--resume",)):
            path = os.path.join(fresh(task.folder), task.output)
            call(task.args(path, "--workers", str(n), *how), task.code)
            got = contents(path)
            assert results(got) == results(want), f"{n} workers {how}: another output"
            assert not how or got == want, f"{n} workers: another manifest"
    rng, done, jobs = random.Random(count), 0, 0
    path = os.path.join(fresh(task.folder), task.output)
    begun = time.monotonic()
    call(task.args(path, "--workers", "2", "--resume=no"), task.code)
    seconds = time.monotonic() - begun
    while done < count:
        path = os.path.join(fresh(task.folder), task.output)
        p = subprocess.Popen(task.args(path, "--workers", "2", "--resume"), stderr=subprocess.PIPE)
        last = min(count, done + 4)
        while p.poll() is None:
            time.sleep(rng.uniform(0, seconds / 2))
            pids = children(p.pid) if p.poll() is None and done < last else []
            if pids:
                done += kill(rng.choice(pids), signal.SIGKILL)
        words = p.communicate()[1].decode(errors="replace")
        assert p.returncode == task.code, (p.returncode, words[-1500:])
        same(path, want, f"workers killed, job {jobs}")
        jobs += 1
    print(f"{done} workers killed over {jobs} jobs: all outputs equal")
    path = os.path.join(fresh(task.folder), task.output)
    fault = {"BIOINFER_WORKER_FAULT": f"crash:{task.poisoned}"}
    if not task.shards:
        words = call(task.args(path, "--workers", "2"), 69, **fault)
        assert f"'{task.poisoned}'" in words and "ended twice" in words, words
        assert not os.listdir(os.path.dirname(path)), "an output of nothing"
        return
    call(task.args(path, "--workers", "2", "--resume"), 1, **fault)
    rows = [records_of(c[".manifest.tsv"]).decode().splitlines() for c in (contents(path), want)]
    lost = [a.split("\t") for a, b in zip(*rows, strict=True) if a != b]
    assert [row[1] for row in lost] == list(task.together), lost
    for row in lost:
        assert row[3] == "device_error", row
        assert f"'{task.poisoned}'" in row[5] and "ended twice" in row[5], row
    # a resume computes what failed for want of a worker, and nothing else was touched
    path = os.path.join(fresh(task.folder), task.output)
    call(task.args(path, "--shard", "1/1", "--workers", "2"), 1, **fault)
    run_shard(task, path, 1, 1)
    call(merge(task, path), task.code)
    same(path, want, "a record that ended its worker, resumed", shards=1)


def main(exe, root, case, name, count):
    global EXE, ROOT
    EXE, ROOT = os.path.abspath(exe), os.path.abspath(root)
    with tempfile.TemporaryDirectory(prefix=f"bioinfer-{name}-") as folder:
        task = TASKS[name](folder, case in {"kills", "workers"})
        if case in {"kills", "points", "workers"}:
            {"kills": kills, "points": points, "workers": workers}[case](task, int(count))
        else:
            {"shards": shards, "refused": refused, "emptied": emptied}[case](task)


if __name__ == "__main__":
    main(*sys.argv[1:])
