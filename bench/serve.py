#!/usr/bin/env python3
"""Load of `bioinfer serve`: many clients at once, none of whose requests may be lost or changed.

    bench/serve.py BIOINFER [--clients 200] [--requests 10] [--records 2] [--length 60] [-- OPTIONS]

Every client sends its requests one after the other over one connection; OPTIONS go to the server
(default: --weights tiny). Each answer is compared with that of the same request alone. Prints one
line: requests, failures, residues in a second, and times of requests in ms. Standard library only.
"""
import argparse
import http.client
import random
import re
import signal
import subprocess
import sys
import threading
import time


def request(connection, body):
    connection.request("POST", "/v1/embed?floats=base64", body)
    answer = connection.getresponse()
    return answer.status, answer.read()


def client(address, bodies, times, answers, start):
    connection = http.client.HTTPConnection(address, timeout=600)
    connection.connect()
    start.wait()
    for i in bodies:
        begin = time.monotonic()
        try:
            answers[i] = request(connection, bodies[i])
        except (OSError, http.client.HTTPException) as error:
            answers[i] = (0, str(error))
            connection.close()
        times[i] = time.monotonic() - begin
    connection.close()


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("bioinfer")
    for name, value in (("clients", 200), ("requests", 10), ("records", 2), ("length", 60)):
        options.add_argument("--" + name, type=int, default=value)
    options.add_argument("more", nargs="*")
    o = options.parse_args()
    more = o.more or ["--weights", "tiny"]
    server = subprocess.Popen(
        [o.bioinfer, "serve", "esm2", "--listen", "127.0.0.1:0", "--max-queue", str(2 * o.clients),
         *more], stderr=subprocess.PIPE, text=True)
    address = re.search(r" at http://(\S+)", server.stderr.readline()).group(1)
    rng = random.Random(1)
    bodies = ["".join(">%d\n%s\n" % (k, "".join(rng.choices("ACDEFGHIKLMNPQRSTVWY", k=o.length)))
                      for k in range(o.records)) for _ in range(o.clients * o.requests)]
    alone = http.client.HTTPConnection(address, timeout=600)
    expected = [request(alone, body) for body in bodies]
    alone.close()
    times, answers = [0.0] * len(bodies), [None] * len(bodies)
    start = threading.Barrier(o.clients + 1)
    threads = [threading.Thread(target=client, args=(
        address, {i: bodies[i] for i in range(c, len(bodies), o.clients)}, times, answers, start))
               for c in range(o.clients)]
    for thread in threads:
        thread.start()
    start.wait()
    begin = time.monotonic()
    for thread in threads:
        thread.join()
    seconds = time.monotonic() - begin
    server.send_signal(signal.SIGTERM)
    code = server.wait()
    lost = sum(a is None or a[0] != 200 for a in answers)
    changed = sum(a != e for a, e in zip(answers, expected)) - lost
    times.sort()
    print("clients %d requests %d lost %d changed %d exit %d: %.0f requests/s %.0f residues/s, "
          "ms: median %.1f p99 %.1f longest %.1f" %
          (o.clients, len(bodies), lost, changed, code, len(bodies) / seconds,
           len(bodies) * o.records * o.length / seconds, 1e3 * times[len(times) // 2],
           1e3 * times[len(times) * 99 // 100], 1e3 * times[-1]))
    return 1 if lost or changed or code else 0


if __name__ == "__main__":
    sys.exit(main())
