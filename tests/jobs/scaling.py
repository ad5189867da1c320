#!/usr/bin/env python3
"""scaling.py BIOINFER SOURCE_ROOT snakemake|slurm|ray [LIBRARY] - the examples on the engines:
shard, lose a shard to SIGKILL halfway, run the example again, which resumes it, and merge.
Exit 77 with the reason when the engine is not installed. slurm starts a cluster of this one
machine, as root, in a folder of its own; ray (PyPI, with pyarrow) one of this machine, and puts
embeddings by LIBRARY into Parquet."""
import array
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from common import Command, contents, lasting_fasta, make_fasta

SHARDS = 3

# the command as the engine calls it: the first time shard 2 is killed with some of it done
WRAPPER = """#!/bin/bash
if [[ "$*" == *"--shard 2/"* && ! -e {dir}/killed ]]; then
    {exe} "$@" --threads 1 --batch-tokens 64 &
    pid=$!
    while kill -0 $pid && [ ! -s {journal} ]; do sleep 0.01; done
    if kill -9 $pid; then touch {dir}/killed; fi
    wait $pid
    exit $?
fi
exec {exe} "$@"
"""


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def need(*programs):
    missing = [name for name in programs if not shutil.which(name)]
    if missing:
        skip(f"{', '.join(missing)} not installed")


class Example:
    def __init__(self, exe, root, folder):
        self.command, self.root, self.folder = Command(exe, root), os.path.abspath(root), folder
        self.fasta = lasting_fasta(self.command, self.path("in.fasta"), 1.5 * SHARDS, "--threads",
                                   "1", "--batch-tokens", "64")
        self.command.run(self.fasta, "-o", self.path("whole.npz"), code=1)
        self.want = contents(self.path("whole.npz"))

    def path(self, name):
        return os.path.join(self.folder, name)

    def wrapper(self, journal):
        path = self.path("bioinfer")
        with open(path, "w", encoding="ascii") as f:
            f.write(WRAPPER.format(exe=self.command.exe, dir=self.folder, journal=journal))
        os.chmod(path, 0o755)
        return path

    def check(self):
        assert os.path.exists(self.path("killed")), "no shard was killed"
        assert contents(self.path("out.npz")) == self.want, os.listdir(self.folder)


def snakemake(example):
    need("snakemake")
    folder = example.folder
    args = ["snakemake", "--nolock", "-s",
            os.path.join(example.root, "examples/snakemake/Snakefile"), "--cores", "2", "--config",
            f"input={example.fasta}", "output=out.npz", f"shards={SHARDS}", "bioinfer=" +
            example.wrapper(os.path.join(folder, "work", f"out.npz.part-2-of-{SHARDS}", "journal")),
            f"options=--weights {example.command.model}"]
    env = example.command.env(HOME=folder, XDG_CACHE_HOME=folder)
    p = subprocess.run(args, cwd=folder, env=env, capture_output=True, check=False, timeout=300)
    assert p.returncode != 0 and os.path.exists(example.path("killed")), p.stderr.decode()[-4000:]
    assert not os.path.exists(example.path("out.npz"))
    p = subprocess.run(args, cwd=folder, env=env, capture_output=True, check=False, timeout=300)
    assert p.returncode == 0, p.stderr.decode()[-4000:]
    example.check()
    print("snakemake: a shard was killed, resumed, and the merged output is equal")


CONFIG = """ClusterName=test
SlurmctldHost={host}
SlurmctldPort={port}
SlurmdPort={port2}
AuthType=auth/munge
AuthInfo=socket={dir}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={dir}/state
SlurmdSpoolDir={dir}/spool
SlurmctldPidFile={dir}/slurmctld.pid
SlurmdPidFile={dir}/slurmd.pid
SlurmctldLogFile={dir}/slurmctld.log
SlurmdLogFile={dir}/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def slurm(example):
    need("slurmctld", "slurmd", "munged", "sbatch", "squeue")
    if os.geteuid():
        skip("a cluster is started as root only")
    folder = example.path("cluster")
    os.makedirs(folder + "/state")
    os.makedirs(folder + "/spool")
    os.chmod(example.folder, 0o755)
    host = socket.gethostname().split(".")[0]
    with open(folder + "/slurm.conf", "w", encoding="ascii") as f:
        f.write(CONFIG.format(host=host, port=free_port(), port2=free_port(), dir=folder,
                              cpus=os.cpu_count()))
    with open(folder + "/cgroup.conf", "w", encoding="ascii") as f:
        f.write("CgroupAutomount=no\n")
    with open(folder + "/munge.key", "wb") as f:
        f.write(os.urandom(128))
    os.chmod(folder + "/munge.key", 0o600)
    env = example.command.env(SLURM_CONF=folder + "/slurm.conf")
    started = []

    def start(*args):
        with open(folder + "/" + args[0] + ".out", "wb") as log:
            started.append(subprocess.Popen(args, env=env, cwd=folder, stdout=log, stderr=log))

    def logs():
        text = ""
        for name in sorted(os.listdir(folder)):
            if name.endswith((".log", ".out")):
                with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as f:
                    text += f"== {name}\n{f.read()[-1500:]}\n"
        return text

    def run(*args):
        return subprocess.run(args, env=env, cwd=example.folder, capture_output=True, check=False,
                              timeout=60)

    try:
        start("munged", "--foreground", "--force", "--socket", folder + "/munge.socket",
              "--key-file", folder + "/munge.key", "--pid-file", folder + "/munged.pid",
              "--log-file", folder + "/munged.log", "--seed-file", folder + "/munge.seed")
        deadline = time.monotonic() + 20
        while not os.path.exists(folder + "/munge.socket") and time.monotonic() < deadline:
            time.sleep(0.1)
        start("slurmctld", "-D", "-c")
        start("slurmd", "-D", "-N", host)
        deadline = time.monotonic() + 60
        while b"idle" not in run("sinfo", "-h", "-o", "%T").stdout:
            assert time.monotonic() < deadline, "no node came up\n" + logs()
            time.sleep(0.3)
        env["BIOINFER"] = example.wrapper(f"{example.folder}/out.npz.part-2-of-{SHARDS}/journal")
        env["SHARDS"] = str(SHARDS)
        for attempt in (1, 2):
            p = run(os.path.join(example.root, "examples/slurm/embed.sh"), example.fasta,
                    example.path("out.npz"), "--weights", example.command.model)
            assert p.returncode == 0, p.stderr.decode() + logs()
            deadline = time.monotonic() + 120
            while run("squeue", "-h").stdout.strip():
                assert time.monotonic() < deadline, "the jobs do not end\n" + logs()
                time.sleep(0.5)
            with open(example.path("out.npz.merge.log"), encoding="utf-8") as f:
                words = f.read()
            if attempt == 1:
                assert "shard 2 is not finished" in words, words + logs()
                assert not os.path.exists(example.path("out.npz"))
        example.check()
        assert not [n for n in os.listdir(example.folder) if ".part-" in n], "parts are left"
        print("slurm: a shard was killed, resumed, and the merged output is equal")
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def run_ray(example, name, *args):
    p = subprocess.run([sys.executable, os.path.join(example.root, "examples", "ray", name), *args],
                       cwd=example.folder, env=example.command.env(RAY_DEDUP_LOGS="0"),
                       capture_output=True, check=False, timeout=300)
    assert p.returncode == 0, p.stderr.decode()[-4000:]
    return p.stderr.decode()


def ray(example, library):
    library = os.path.abspath(library)
    for name in ("ray", "pyarrow"):
        if not importlib.util.find_spec(name):
            skip(f"{name} is not installed")
    import pyarrow.parquet
    wrapper = example.wrapper(example.path(f"out.npz.part-2-of-{SHARDS}/journal"))
    words = run_ray(example, "shards.py", example.fasta, "out.npz", "--shards", str(SHARDS),
                    "--actors", "2", "--bioinfer", wrapper, "--", "--weights",
                    example.command.model)
    assert "shard 2, try 1" in words, words
    example.check()
    assert not [n for n in os.listdir(example.folder) if ".part-" in n], "parts are left"
    print("ray: a shard was killed, resumed, and the merged output is equal")
    fasta = make_fasta(example.path("few.fasta"), 300)
    run_ray(example, "parquet.py", library, example.command.model, fasta, "rows", "--actors", "2",
            "--batch", "64")
    example.command.run(fasta, "-o", example.path("rows.tsv"), code=1)
    rows = pyarrow.parquet.read_table(example.path("rows")).to_pylist()
    found = {r["id"]: r["embedding"] and array.array("f", r["embedding"]) for r in rows}
    with open(example.path("rows.tsv"), encoding="utf-8") as f:
        cells = [line.rstrip("\n").split("\t") for line in f][1:]
    assert len(rows) == len(cells) == 300, (len(rows), len(cells))
    for cell in cells:
        want = array.array("f", map(float, cell[4:])) if cell[2] == "ok" else None
        assert found[cell[0]] == want, cell[:4]
    assert all(bool(r["message"]) == (r["embedding"] is None) for r in rows)
    print(f"ray: {len(rows)} rows of Parquet are equal to those of the command")


def main(exe, root, engine, *more):
    with tempfile.TemporaryDirectory(prefix="bioinfer-scaling-") as folder:
        run = {"snakemake": snakemake, "slurm": slurm, "ray": ray}[engine]
        run(Example(exe, root, folder), *more)


if __name__ == "__main__":
    main(*sys.argv[1:])
