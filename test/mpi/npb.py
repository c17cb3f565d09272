#!/usr/bin/env python3
"""The NAS Parallel Benchmarks under hark: does each verify its result, with processes that are killed, and what does it cost?

  npb.py build NPB WORK     compiles them; NPB is NPB3.3-MPI, as NASA publishes it
  npb.py verify WORK        runs each under hark: without failures, and with 1 to 3 processes killed (--seeds)
  npb.py cost WORK          runs each natively and under hark, in turns, and compares CPU and wall time (--rounds)

Each of --mpi, --programs, --classes, --ranks and --protocols takes several words; what was built is run. BT and SP need
a square number of processes, the others a power of two: programs that a number does not suit are left out. With --mpi
abi only IS is built, which is in C.

verify prints one line for each program and protocol, and a line for each run that went wrong, whose output is left in
WORK/wrong. A run is right if it ends with 0, the program says VERIFICATION SUCCESSFUL, and nobody rolled back who need
not: under scmel, team and camel only those who were killed, under hydee only their clusters. Exit status 1: some run
was wrong."""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

PROGRAMS = ['bt', 'cg', 'ep', 'ft', 'is', 'lu', 'mg', 'sp']
PROTOCOLS = ['hydee', 'sendet', 'scmel', 'team', 'camel', 'coordinated']
MPIEXEC = {'mpich': ['mpiexec.mpich'], 'openmpi': ['mpiexec.openmpi', '--allow-run-as-root', '--oversubscribe']}
MAKE_DEF = '''MPIF77 = {fortran}
FLINK = $(MPIF77)
FFLAGS = -O2 -std=legacy -fallow-argument-mismatch -fallow-invalid-boz -w
FLINKFLAGS = -O2
MPICC = {c}
CLINK = $(MPICC)
CMPI_INC = {include}
CMPI_LIB = {libraries}
CFLAGS = -O2 -w
CLINKFLAGS = -O2
CC = cc -w
BINDIR = ../bin
RAND = randi8
'''


def suits(program, ranks):
    return math.isqrt(ranks) ** 2 == ranks if program in ('bt', 'sp') else ranks & (ranks - 1) == 0


def binary(options, flavour, program, size, ranks):
    return options.work / flavour / f'{program}.{size}.{ranks}'


def built(options):
    """(flavour, program, class, ranks, file) of each that was asked for and is there."""
    for flavour in options.mpi:
        for size in options.classes:
            for ranks in options.ranks:
                for program in options.programs:
                    path = binary(options, flavour, program, size, ranks)
                    if path.exists():
                        yield flavour, program, size, ranks, path


# ---- building ---------------------------------------------------------------------------------------------------------

def compilers(flavour):
    if flavour != 'abi':
        return {'fortran': 'mpif77.' + flavour, 'c': 'mpicc.' + flavour, 'include': '', 'libraries': ''}
    include, libraries = (subprocess.run(['pkg-config', what, 'hark-mpi'], check=True, stdout=subprocess.PIPE, text=True)
                          .stdout.strip() for what in ('--cflags', '--libs'))
    return {'fortran': 'false', 'c': 'cc', 'include': include, 'libraries': libraries}


def build(options):
    for flavour in options.mpi:
        source = options.work / ('source-' + flavour)
        if not source.exists():
            shutil.copytree(options.npb, source)
            (source / 'config/make.def').write_text(MAKE_DEF.format(**compilers(flavour)))
            (source / 'bin').mkdir(exist_ok=True)
        (options.work / flavour).mkdir(exist_ok=True)
        for size in options.classes:
            for ranks in options.ranks:
                for program in options.programs:
                    target = binary(options, flavour, program, size, ranks)
                    if target.exists() or not suits(program, ranks) or (flavour == 'abi' and program != 'is'):
                        continue
                    # Object files of another class or number must not be taken for this one's.
                    subprocess.run(['make', 'clean'], cwd=source, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    made = subprocess.run(['make', program, f'NPROCS={ranks}', f'CLASS={size}'], cwd=source,
                                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                    result = source / 'bin' / target.name
                    if made.returncode or not result.exists():
                        sys.exit(f'npb.py: {flavour} {target.name} is not built:\n' + '\n'.join(made.stdout.splitlines()[-15:]))
                    result.rename(target)
                    print('built', flavour, target.name, flush=True)


# ---- are the answers right? -------------------------------------------------------------------------------------------

def ranks_of(text):
    """The numbers in `0-2,5`."""
    found = set()
    for part in text.split(','):
        first, _, last = part.partition('-')
        found |= set(range(int(first), int(last or first) + 1))
    return found


def who_may_roll_back(protocol, figures, killed, ranks):
    if protocol in ('hydee', 'team'):
        return set().union(*(group for group in map(ranks_of, figures['clusters']) if group & killed))
    return killed if protocol in ('scmel', 'camel') else set(range(ranks))


def fault_of(options, protocol, ranks, status, output, figures):
    """What is wrong with a run, or an empty string."""
    if status is None:
        return f'not done within {options.timeout:g} s'
    if status != 0:
        return f'exit status {status}'
    if not re.search(r'verification\s*(=)?\s*successful', output, re.I):
        return 'no successful verification'
    killed = {failure['rank'] for failure in figures['failures']}
    more = set(figures['restarted_ranks']) - who_may_roll_back(protocol, figures, killed, ranks)
    return f'rolled back though not affected: {sorted(more)}' if more else ''


def run(options, path, ranks, arguments):
    """One run under hark: status (None: too long), output, figures."""
    figures = options.work / 'figures.json'
    figures.unlink(missing_ok=True)
    command = [options.hark, 'run', '-n', str(ranks), *arguments, '--json', str(figures), '--', str(path)]
    with subprocess.Popen(command, cwd=options.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace') as process:
        try:
            output, _ = process.communicate(timeout=options.timeout)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.terminate()
            output, _ = process.communicate()
            status = None
    empty = {'clusters': [], 'failures': [], 'restarted_ranks': []}
    return status, output, json.loads(figures.read_text()) if figures.exists() else empty, command


def verify(options):
    wrong = options.work / 'wrong'
    wrong.mkdir(exist_ok=True)
    total = {'runs': 0, 'wrong': 0}
    print('| program | MPI | protocol | runs | right | killed | rolled back |\n|---|---|---|-:|-:|-:|-:|')
    for flavour, program, size, ranks, path in built(options):
        for protocol in ['none', *options.protocols]:
            seeds = options.seeds if protocol != 'none' else [0]
            count = dict.fromkeys(('right', 'killed', 'back'), 0)
            for seed in seeds:
                arguments = ['--protocol', protocol]
                if protocol != 'none':
                    arguments += ['--chaos', f'{seed}:{1 + seed % 3}', '--interval', options.interval]
                if protocol in ('hydee', 'team'):
                    arguments += ['--clusters', str(2 + seed % 3)]
                status, output, figures, command = run(options, path, ranks, arguments)
                fault = fault_of(options, protocol, ranks, status, output, figures)
                total['runs'] += 1
                count['right'] += not fault
                count['killed'] += len(figures['failures'])
                count['back'] += len(figures['restarted_ranks'])
                if fault:
                    total['wrong'] += 1
                    name = f'{flavour}-{path.name}-{protocol}-{seed}.txt'
                    (wrong / name).write_text(f'{fault}\n{" ".join(command)}\n{output}')
                    print(f'*** {name}: {fault}', flush=True)
            print(f'| {path.name} | {flavour} | {protocol} | {len(seeds)} | {count["right"]} | {count["killed"]} | '
                  f'{count["back"]} |', flush=True)
    print(f'\n{total["runs"]} runs, {total["runs"] - total["wrong"]} right, {total["wrong"]} wrong')
    return total['wrong'] > 0


# ---- what does it cost? -----------------------------------------------------------------------------------------------

def ways(options, flavour, path, ranks):
    """{name: command}: natively, without fault tolerance, and with every message logged."""
    if flavour in MPIEXEC:
        yield 'native', [*MPIEXEC[flavour], '-n', str(ranks), str(path)]
    for protocol in ['none', *options.protocols]:
        more = ['--clusters', str(ranks)] if protocol == 'hydee' else []
        yield protocol, [options.hark, 'run', '-n', str(ranks), '--protocol', protocol, *more, '--', str(path)]


def measured(options, command):
    """(CPU, wall, the program's own time) in seconds."""
    began = time.monotonic()
    with subprocess.Popen(command, cwd=options.work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors='replace') as process:
        output = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - began
    own = re.search(r'Time in seconds\s*=\s*([\d.]+)', output)
    if status or not own:
        sys.exit(f'npb.py: {" ".join(command)}: exit status {process.returncode}\n{output[-2000:]}')
    return used.ru_utime + used.ru_stime, wall, float(own[1])


def cost(options):
    print('| program | MPI | | CPU, s | wall, s | own, s | CPU / native | wall / native | own / native |\n|---|---|---|-:|-:|-:|-:|-:|-:|')
    ratios = {}
    for flavour, _, _, ranks, path in built(options):
        found = {}
        for _ in range(options.rounds):
            for name, command in ways(options, flavour, path, ranks):
                found.setdefault(name, []).append(measured(options, command))
        middle = {name: [statistics.median(column) for column in zip(*rows)] for name, rows in found.items()}
        for name, (cpu, wall, own) in middle.items():
            base = middle.get('native')
            against = [statistics.median(a[i] / b[i] for a, b in zip(found[name], found['native'])) for i in range(3)] if base else []
            print(f'| {path.name} | {flavour} | {name} | {cpu:.2f} | {wall:.2f} | {own:.2f} | '
                  + ' | '.join(f'{r:.3f}' for r in against) + ' |', flush=True)
            if against:
                ratios.setdefault((flavour, name), []).append(against)
    for (flavour, name), rows in ratios.items():
        cpu, wall, own = (statistics.median(column) for column in zip(*rows))
        print(f'{flavour}, {name}: median of {len(rows)} programs: CPU {cpu:.3f}, wall {wall:.3f}, own time {own:.3f} of native')


def numbers(text):
    first, _, last = text.partition('-')
    return list(range(int(first), int(last or first) + 1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['build', 'verify', 'cost'])
    parser.add_argument('paths', nargs='+', type=pathlib.Path)
    parser.add_argument('--mpi', nargs='+', default=['mpich', 'openmpi'])
    parser.add_argument('--programs', nargs='+', default=PROGRAMS)
    parser.add_argument('--classes', nargs='+', default=['S'])
    parser.add_argument('--ranks', nargs='+', type=int, default=[4])
    parser.add_argument('--protocols', nargs='+', default=None, help='verify: all; cost: hydee')
    parser.add_argument('--seeds', type=numbers, default=numbers('1-10'), help='FIRST-LAST: a run with each')
    parser.add_argument('--interval', default='50ms', help='between checkpoints, for programs that take some')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--timeout', type=float, default=120, help='seconds a run')
    parser.add_argument('--hark', default='hark')
    options = parser.parse_intermixed_args()
    if options.what == 'build':
        options.npb = options.paths.pop(0).resolve()
    options.work = options.paths.pop(0).resolve()
    options.work.mkdir(exist_ok=True)
    if options.protocols is None:
        options.protocols = PROTOCOLS if options.what == 'verify' else ['hydee']
    return {'build': build, 'verify': verify, 'cost': cost}[options.what](options)


sys.exit(main())
