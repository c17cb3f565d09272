#!/usr/bin/env python3
"""How long from a SIGKILL until all is as before: the distribution over many kills.

  recovery_times.py [--kills N] HARK OPTION... -- PROGRAM [ARG]...

Runs `hark run OPTION... -- PROGRAM` again and again, with one process killed at a moment that is another each time,
until N recoveries were seen (200). Of each it takes, from hark's own figures, the time until the death was known, until
the new processes were up, until recovery was over, and until the last of them had received again what it had before.
Prints quantiles in milliseconds. What a program does again after its last checkpoint is part of the last column."""
import json
import pathlib
import subprocess
import sys
import tempfile

COLUMNS = {'known': 'detect_ms', 'restarted': 'restart_ms', 'recovered': 'replay_ms', 'caught up': 'caught_up_ms'}
QUANTILES = (0, 0.1, 0.5, 0.9, 0.99, 1)


def main():
    words = sys.argv[1:]
    kills = 200
    if words[:1] == ['--kills']:
        kills, words = int(words[1]), words[2:]
    if '--' not in words:
        sys.exit(__doc__)
    hark, *options = words[:words.index('--')]
    program = words[words.index('--'):]
    seen, runs = [], 0
    with tempfile.TemporaryDirectory() as folder:
        figures = pathlib.Path(folder) / 'figures.json'
        while len(seen) < kills and runs < 4 * kills:
            runs += 1
            command = [hark, 'run', *options, '--chaos', str(runs), '--json', str(figures), *program]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                sys.exit(f'recovery_times.py: {" ".join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}')
            seen += json.loads(figures.read_text())['recoveries']
    if not seen:
        sys.exit('recovery_times.py: no process was killed: the program ends too soon')
    print(f'{len(seen)} recoveries in {runs} runs, ms')
    print('| | ' + ' | '.join('least' if q == 0 else 'most' if q == 1 else f'{q:.0%}' for q in QUANTILES) + ' |')
    print('|---|' + '-:|' * len(QUANTILES))
    for name, key in COLUMNS.items():
        times = sorted(r[key] for r in seen)
        row = [times[min(len(times) - 1, int(q * len(times)))] for q in QUANTILES]
        print(f'| {name} | ' + ' | '.join(f'{t:.2f}' for t in row) + ' |')


main()
