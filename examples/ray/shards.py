#!/usr/bin/env python3
"""Embeds a FASTA file on a Ray cluster in shards and merges them: the same bytes as one run gives.

    examples/ray/shards.py proteins.fasta out.h5 --shards 64 --gpus 1 -- --weights NAME
    examples/ray/shards.py proteins.fasta out.h5 --shards 8 --cpus 4 -- --weights tiny

Every actor has GPUS GPUs, which Ray chooses, or CPUS cores, and computes one shard after the other.
A shard that is lost, with its actor, its machine or the process that computes it, is given to an
actor again and goes on where its journal ends, so input and output lie on a file system that all
machines see. Options behind -- go to bioinfer. Run again, the same command computes what is left.
Exit status 1 of bioinfer (some records have no result) is not a failure.
"""
import argparse
import glob
import os
import shutil
import subprocess
import sys

import ray

TRIES = 3  # a shard that has failed so often fails the run


class Failed(Exception):
    """A shard ended without a result; the words are those of bioinfer."""


class Worker:
    """Computes shards with what Ray has given to this actor."""

    def __init__(self, command, cpus):
        self.command, self.cpus = command, cpus

    def compute(self, shard, shards):
        devices = ray.get_gpu_ids()
        # Ray sets CUDA_VISIBLE_DEVICES: the first device is the first of this actor's
        where = ["--device", ",".join(f"cuda:{i}" for i in range(len(devices)))] if devices else \
            ["--device", "cpu", "--threads", str(self.cpus)]
        p = subprocess.run([*self.command, *where, "--shard", f"{shard}/{shards}", "--resume",
                            "--quiet"], capture_output=True, text=True, check=False)
        if p.returncode not in {0, 1}:
            raise Failed(f"shard {shard}: exit status {p.returncode}: {p.stderr.strip()}")
        return shard


def compute_all(workers, shards):
    """Hands shards to idle workers until all are done. Gives the failures that were final."""
    idle, left, busy, failures = list(workers), [(i, 1) for i in range(1, shards + 1)], {}, []
    while left or busy:
        while left and idle:
            worker, (shard, tries) = idle.pop(), left.pop(0)
            busy[worker.compute.remote(shard, shards)] = worker, shard, tries
        done, _ = ray.wait(list(busy), num_returns=1)
        worker, shard, tries = busy.pop(done[0])
        idle.append(worker)
        try:
            ray.get(done[0])
        except (Failed, ray.exceptions.RayError) as e:
            print(f"shard {shard}, try {tries}: {e}", file=sys.stderr)
            (failures if tries == TRIES else left).append((shard, tries + 1))
    return [shard for shard, _ in failures]


def main():
    own, more = sys.argv[1:], []
    if "--" in own:
        at = own.index("--")
        own, more = own[:at], own[at + 1:]
    p = argparse.ArgumentParser(usage=__doc__)
    p.add_argument("input")
    p.add_argument("output")
    p.add_argument("--shards", type=int, default=4)
    p.add_argument("--actors", type=int, default=0, help="0: as many as there is room for")
    p.add_argument("--gpus", type=int, default=0, help="of an actor")
    p.add_argument("--cpus", type=int, default=1, help="of an actor")
    p.add_argument("--model", default="esm2")
    p.add_argument("--bioinfer", default="bioinfer")
    o = p.parse_args(own)
    ray.init()  # joins the cluster of RAY_ADDRESS, or starts one here
    room = ray.cluster_resources()
    actors = o.actors or max(1, min(o.shards, int(room.get("GPU", 0) / o.gpus) if o.gpus else
                                    int(room.get("CPU", 1) / o.cpus)))
    output = os.path.abspath(o.output)
    command = [o.bioinfer, o.model, os.path.abspath(o.input), "-o", output, *more]
    actor = ray.remote(num_cpus=o.cpus, num_gpus=o.gpus, max_restarts=-1)(Worker)
    failed = compute_all([actor.remote(command, o.cpus) for _ in range(actors)], o.shards)
    if failed:
        sys.exit(f"shards {', '.join(map(str, failed))} are not finished; run this again")
    p = subprocess.run([o.bioinfer, "merge", output], check=False)
    if p.returncode > 1:
        sys.exit(p.returncode)
    for part in glob.glob(f"{glob.escape(output)}.part-*-of-{o.shards}"):
        shutil.rmtree(part)


if __name__ == "__main__":
    main()
