#!/usr/bin/env python3
"""What many hosts cost the supervisor, with agents that are real and hosts that are all this machine.

  hosts.py BUILD [FILE.svg]

Two tables. In the first, hosts that run nothing but an agent: 4 processes, and 16 to 1,024 hosts. In the second, 16 to 256
processes on 16 hosts and a spare one. Of each: the time from the start to the first process and to the last one; memory, descriptors
and processor time of the supervisor while the job runs; then an agent and what runs there is killed: the time until that is found
out, from there until the processes run again, and how long they need for what they had done since their last checkpoint, which they
take each second. --host-timeout is 5 s. With FILE.svg the first table also as a picture."""
import json
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time


def children(pid):
    return [int(p) for p in pathlib.Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


def words(pid):
    try:
        return pathlib.Path(f'/proc/{pid}/cmdline').read_bytes().split(b'\0')
    except OSError:
        return []


def used(pid):
    fields = pathlib.Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


class Run:
    def __init__(self, build, folder, hosts, spares, ranks):
        (folder / 'hosts').write_text(f'h[{1:05}-{hosts:05}]\n')
        command = [str(build / 'src/cli/hark'), 'run', '-n', str(ranks), '--hostfile', str(folder / 'hosts'), '--spares', str(spares),
                   '--launcher', 'env HOST=%h', '--store', str(folder / 'store'), '--interval', '1s', '--verbose', '--json', str(folder / 'json'), '--',
                   str(build / 'examples/heat2d'), '256', '100000000']
        self.json, self.began = folder / 'json', time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def said(self, pattern):
        """When a line of that pattern comes, after the beginning, and the line."""
        for line in self.process.stderr:
            if re.search(pattern, line):
                return time.monotonic() - self.began, line
        sys.exit(f'hosts.py: hark run has ended before it said "{pattern}"')

    def victim(self):
        """The agent of the second host: that of the first one has the recovery process too."""
        agents = [p for p in children(self.process.pid) if words(p)[1:2] == [b'agent']]
        return sorted(agents)[1]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stderr.read()
        self.process.wait()


def measure(build, hosts, spares, ranks):
    with tempfile.TemporaryDirectory() as name:
        run = Run(build, pathlib.Path(name), hosts, spares, ranks)
        pid = run.process.pid
        first, _ = run.said('is process')
        last = first
        for _ in range(ranks):  # and the recovery process
            last, _ = run.said('is process')
        time.sleep(2)
        before, at = used(pid), time.monotonic()
        time.sleep(5)
        share = (used(pid) - before) / (time.monotonic() - at)
        memory = int(re.search(r'VmRSS:\s*(\d+)', pathlib.Path(f'/proc/{pid}/status').read_text())[1])
        descriptors = len(os.listdir(f'/proc/{pid}/fd'))
        victim, died = run.victim(), time.monotonic() - run.began
        os.kill(victim, signal.SIGKILL)
        found, _ = run.said('^hark: host .* died')
        run.said('^hark: recovered in')
        run.end()
        recovery, = json.loads(run.json.read_text())['recoveries']
        return {'first': first, 'last': last, 'memory': memory / 1024, 'descriptors': descriptors, 'share': share * 100,
                'found': found - died, 'back': recovery['detect_ms'] + recovery['restart_ms'], 'replay': recovery['replay_ms']}


def table(build, title, rows):
    print(f'| {title} | first process, s | last, s | memory, MiB | descriptors | processor, % | found out, s | run again, ms | replay, ms |')
    print('|-:|-:|-:|-:|-:|-:|-:|-:|-:|')
    found = []
    for count, hosts, spares, ranks in rows:
        m = measure(build, hosts, spares, ranks)
        found.append((count, m))
        print(f'| {count} | {m["first"]:.2f} | {m["last"]:.2f} | {m["memory"]:.1f} | {m["descriptors"]} | {m["share"]:.1f} '
              f'| {m["found"]:.2f} | {m["back"]:.0f} | {m["replay"]:.0f} |', flush=True)
    print()
    return found


def picture(found, file):
    lines = [('start of all, s', '#1f5fa8', 'last'), ('memory, MiB', '#777', 'memory'), ('processor, %', '#b5651d', 'share'),
             ('found out, s', '#2e7d32', 'found')]
    counts = [c for c, _ in found]

    def x(count):
        return 60 + 480 * math.log(count / counts[0]) / math.log(counts[-1] / counts[0])

    def y(value):
        return 320 - 280 * (math.log10(value) + 2) / 4
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 380" width="700" height="380">',
           '<style>text { font: 12px sans-serif; fill: #333 } .title { font-size: 15px } .grid { stroke: #ddd }',
           'polyline { fill: none; stroke-width: 2 }</style>', '<rect width="700" height="380" fill="white"/>',
           '<text class="title" x="60" y="22">what the supervisor needs for so many hosts</text>']
    for value in (0.01, 0.1, 1, 10, 100):
        out += [f'<line class="grid" x1="60" y1="{y(value):.1f}" x2="540" y2="{y(value):.1f}"/>',
                f'<text x="52" y="{y(value) + 4:.1f}" text-anchor="end">{value:g}</text>']
    out += [f'<text x="{x(c):.1f}" y="342" text-anchor="middle">{c}</text>' for c in counts]
    out.append('<text x="300" y="368" text-anchor="middle">hosts</text>')
    at = 0
    for name, colour, key in sorted(lines, key=lambda line: -found[-1][1][line[2]]):
        points = ' '.join(f'{x(c):.1f},{y(m[key]):.1f}' for c, m in found)
        at = max(at + 14, y(found[-1][1][key]) + 4)
        out += [f'<polyline stroke="{colour}" points="{points}"/>', f'<text x="548" y="{at:.1f}">{name}</text>']
    pathlib.Path(file).write_text('\n'.join(out + ['</svg>']) + '\n')


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build = pathlib.Path(sys.argv[1]).resolve()
    found = table(build, 'hosts', [(n, n, n - 4, 4) for n in (16, 64, 256, 1024)])
    table(build, 'processes on 16 hosts', [(n, 17, 1, n) for n in (16, 64, 256)])
    if len(sys.argv) == 3:
        picture(found, sys.argv[2])


main()
