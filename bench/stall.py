#!/usr/bin/env python3
"""For how long a checkpoint stops its program, over the size of its image, beside a memcpy of as much memory.

  stall.py BUILD [MOST [FILE.svg]]

One process, images of 1 MiB to MOST MiB (1024), seven of each, in a store below the present folder. Of each size: the
memcpy and the stall (median, and that of the first image, which needs new memory for the copy) when the program rests before
each, so that the image before is written and the one before that deleted; when it does not rest; the stall with
--wait-for-checkpoints, and how fast images become durable beside a plain file that is written and synced (dd conv=fsync).
With FILE.svg also as a picture, both axes logarithmic."""
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

COUNT = 7


def run(build, folder, mib, pause, *options):
    """Pairs (memcpy, stall) in ms of each checkpoint, and how long the last image took to be durable, ms."""
    figures = folder / 'figures.json'
    store = folder / 'store'
    command = [str(build / 'src/cli/hark'), 'run', '-n', '1', '--protocol', 'coordinated', '--interval', '1ms', '--store', str(store),
               '--json', str(figures), *options, str(build / 'bench/stall'), str(mib), str(COUNT), str(pause)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    subprocess.run(['rm', '-rf', str(store)], check=True)
    if done.returncode:
        sys.exit(f'stall.py: {" ".join(command)}: exit status {done.returncode}\n{done.stderr[-2000:]}')
    pairs = [tuple(int(x) / 1e6 for x in line.split()) for line in done.stdout.splitlines()]
    return pairs, json.loads(figures.read_text())['checkpoint_written_ms']


def plain_file(folder, mib):
    """How long a file of so many MiB takes to be durable, ms."""
    block = os.urandom(1 << 20)
    path = folder / 'plain'
    began = time.monotonic()
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
    for _ in range(mib):
        os.write(file, block)
    os.fsync(file)
    os.close(file)
    took = (time.monotonic() - began) * 1e3
    path.unlink()
    return took


def picture(rows, file):
    sizes = [r['mib'] for r in rows]
    lines = [('memcpy', '#777', [r['memcpy'] for r in rows]), ('stall', '#1f5fa8', [r['stall'] for r in rows]),
             ('stall, --wait-for-checkpoints', '#b5651d', [r['waits'] for r in rows])]
    least = 10 ** math.floor(math.log10(min(min(v) for _, _, v in lines)))
    most = 10 ** math.ceil(math.log10(max(max(v) for _, _, v in lines)))

    def x(mib):
        return 70 + 500 * math.log(mib / sizes[0]) / math.log(max(2, sizes[-1] / sizes[0]))

    def y(ms):
        return 340 - 300 * math.log(ms / least) / math.log(most / least)
    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 790 400" width="790" height="400">',
           '<style>text { font: 12px sans-serif; fill: #333 } .title { font-size: 15px } .grid { stroke: #ddd }',
           'polyline { fill: none; stroke-width: 2 }</style>', '<rect width="790" height="400" fill="white"/>',
           '<text class="title" x="70" y="22">milliseconds for which a checkpoint stops its program</text>']
    ms = least
    while ms <= most * 1.001:
        out += [f'<line class="grid" x1="70" y1="{y(ms):.1f}" x2="570" y2="{y(ms):.1f}"/>',
                f'<text x="62" y="{y(ms) + 4:.1f}" text-anchor="end">{ms:g}</text>']
        ms *= 10
    out += [f'<text x="{x(m):.1f}" y="362" text-anchor="middle">{m}</text>' for m in sizes]
    out.append('<text x="320" y="388" text-anchor="middle">MiB of the image</text>')
    for name, colour, values in lines:
        points = ' '.join(f'{x(m):.1f},{y(v):.1f}' for m, v in zip(sizes, values))
        out += [f'<polyline stroke="{colour}" points="{points}"/>', f'<text x="578" y="{y(values[-1]) + 4:.1f}">{name}</text>']
    pathlib.Path(file).write_text('\n'.join(out + ['</svg>']) + '\n')


def main():
    if len(sys.argv) not in (2, 3, 4):
        sys.exit(__doc__)
    build, most = pathlib.Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    rows = []
    print('| MiB | memcpy, ms | stall | stall / memcpy | without rest | the first | waiting | MiB/s, image | MiB/s, plain file |')
    print('|-:|-:|-:|-:|-:|-:|-:|-:|-:|')
    with tempfile.TemporaryDirectory(dir='.') as name:
        folder = pathlib.Path(name).resolve()
        mib = 1
        while mib <= most:
            pairs, written = run(build, folder, mib, 20 + 3 * mib)
            at_once, _ = run(build, folder, mib, 0)
            waiting, _ = run(build, folder, mib, 0, '--wait-for-checkpoints')
            plain = statistics.median(plain_file(folder, mib) for _ in range(3))
            row = {'mib': mib, 'memcpy': statistics.median(p[0] for p in pairs), 'stall': statistics.median(p[1] for p in pairs[1:]),
                   'waits': statistics.median(p[1] for p in waiting)}
            ratio, busy = (statistics.median(p[1] / p[0] for p in of[1:]) for of in (pairs, at_once))
            print(f'| {mib} | {row["memcpy"]:.2f} | {row["stall"]:.2f} | {ratio:.2f} | {busy:.2f} | {pairs[0][1]:.2f} | {row["waits"]:.1f} '
                  f'| {mib / written * 1e3:.0f} | {mib / plain * 1e3:.0f} |', flush=True)
            rows.append(row)
            mib *= 4
    if len(sys.argv) == 4:
        picture(rows, sys.argv[3])


main()
