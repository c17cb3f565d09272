#!/usr/bin/env python3
"""Mutants of the sources: a line of driver, processes, supervisor, agents, store or a transport is changed, and some test must notice.

    source.py [-n COUNT] [-s SEED] [-j JOBS] [--trust] [--list] [--sample | --explained] [FILE[:LINE]...]

Which lines change, and how (changes.py), the seed says. Each mutant is built in a copy of the sources, and the tests
run, those first that know most of the file and need least time, until one fails twice, or takes several times as long
as it should. A change that does not compile, or leaves the machine code as it is, is no mutant: another takes its
place. A survivor is printed as a difference. What survives because it is no fault stands in source_known.txt with the
reason; such mutants are counted and not run. Others stand there with the test that caught them: it comes first.

    FILE[:LINE]   only changes of these files, or of this line
    --trust       the tests have just passed: do not begin by running them on the sources as they are
    --list        only says which changes come first, compiled or not
    --sample      only of those that a test is known to catch: for every check
    --explained   only runs what is explained; those called equivalent must survive

CC: the compiler (gcc; with ccache, if there is one). MUTANTS: folder for copies and builds (build-mutants).
Tests run in a PID namespace of their own, for a mutant of the supervisor may kill any process it can: `unshare` must
be permitted.
Exit status 1: some mutant survived; 2: it could not be said; 77: there are no namespaces here.
"""
import argparse
import collections
import concurrent.futures
import difflib
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import changes

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
FOLDERS = ('src/agent', 'src/control', 'src/driver', 'src/process', 'src/store', 'src/supervisor', 'transports/shm', 'transports/uv',
           'transports/mixed')
REASONS = ('equivalent', 'speed', 'safety', 'sanitizer')
LIBRARIES = ('src/libhark.a', 'src/process/libhark_app.a', 'src/agent/libhark_agent.a', 'src/supervisor/libhark_supervisor.a')

# Tests and about how many seconds each takes; a mutant may take several times as long. The order is that of KNOW.
SECONDS = {
    'agent handshake': 0.4, 'agent stream': 0.3, 'agent hostile': 0.8, 'agent names': 0.3, 'agent faults': 0.1, 'agent connection': 1.5, 'agent cut': 3.5, 'agent depot': 1, 'agent coder': 0.5, 'agent keep': 0.1, 'agent flow': 7.5,
    'agent flood': 3,
    'driver': 0.1, 'stubs': 0.1, 'held': 0.1, 'interval': 0.1, 'clusters': 0.1, 'output': 0.1, 'quiet': 0.1,
    'janitor': 0.1, 'reduction': 1.5, 'match': 0.4,
    'log': 0.8, 'keeper': 2, 'inputs of fuzz frame': 1, 'transport shm_sleep': 0.1, 'transport shm_ring': 0.3,
    'transport shm_gone': 0.1, 'transport shm_direct': 0.1, 'transport shm_room': 7.5,
    'streams faults': 0.6, 'log faults': 2, 'store_system faults': 3, 'store_blocks_system faults': 3, 'interval of runs': 1.3, 'trace of runs': 1.5,
    'mistakes under hydee': 0.2,
    'inquiry': 0.1, 'status': 0.1, 'hark ps': 30, 'metrics': 25,
    'run_errors': 1.5, 'hark store': 1.6, 'signals': 5.5, 'what a replay puts off': 2.5,
    'a replay that goes astray': 5, 'master and workers': 4,
    'rollback': 5, 'transport uv unix': 5, 'transport shm': 5, 'transport uv tcp': 6.5, 'transport uv own': 7.5,
    'transport uv relay': 10, 'transport uv own, encrypted': 9, 'transport uv tcp, encrypted': 9,
    'transport mixed_own': 1, 'transport mixed_ways': 4, 'transport mixed, two hosts': 12, 'transport mixed, a host each': 14,
    'transport mixed, one host': 10, 'processes on several hosts': 30,
    'log of a team': 7, 'store': 0.5, 'store by blocks': 2, 'incremental checkpoints': 20, 'output of runs': 12.5, 'faults': 13, 'runtime faults': 15, 'supervisor': 15,
    'standard input': 6, 'standard input of several hosts': 25,
    'clusters that change': 15, 'collectives': 17, 'stall': 20, 'environment': 33, 'memory': 42,
    'kill matrix, a sample': 50,
}
RUNS = ('mistakes under hydee', 'interval of runs', 'trace of runs', 'run_errors', 'hark store', 'signals',
        'what a replay puts off', 'a replay that goes astray', 'master and workers', 'rollback', 'log of a team',
        'output of runs', 'faults', 'supervisor', 'clusters that change', 'collectives', 'stall', 'environment', 'memory',
        'kill matrix, a sample')
# What begins with these is tested by these, the last match first; then by what the others of the list find.
KNOW = (
    ('src/driver/', ('driver', 'stubs', 'held', 'inputs of fuzz frame', 'reduction', 'log', *RUNS)),
    ('src/driver/reduction', ('reduction', 'collectives')),
    ('src/driver/image', ('held', 'reduction')),
    ('src/driver/held', ('held', 'stubs')),
    ('src/driver/payload_log', ('reduction', 'collectives')),
    ('src/store/', ('log', 'log faults', 'store_system faults', 'streams faults', 'hark store', 'store',
                    'store by blocks', 'store_blocks_system faults', 'incremental checkpoints',
                    'runtime faults', *RUNS)),
    ('src/store/directory', ('store_system faults', 'store_blocks_system faults', 'store', 'store by blocks')),
    ('src/store/image', ('store_system faults', 'store')),
    ('src/store/temporary', ('store_system faults', 'store')),
    ('src/store/table', ('store_blocks_system faults', 'store by blocks')),
    ('src/store/increment', ('store_blocks_system faults', 'store by blocks')),
    ('src/store/unused', ('store_blocks_system faults', 'store by blocks')),
    ('src/store/compress', ('store by blocks', 'incremental checkpoints')),
    ('src/store/file', ('store_system faults', 'store')),
    ('transports/shm/', ('transport shm_ring', 'transport shm_sleep', 'transport shm_gone', 'transport shm_direct', 'transport shm',
                         'transport shm_room', 'streams faults', *RUNS)),
    ('transports/uv/', ('transport uv unix', 'transport uv own', 'transport uv tcp', 'transport uv relay', 'transport uv own, encrypted',
                        'transport uv tcp, encrypted', 'streams faults', *RUNS)),
    ('transports/mixed/', ('transport mixed_own', 'transport mixed_ways', 'transport mixed, two hosts', 'transport mixed, a host each',
                           'transport mixed, one host', 'processes on several hosts', *RUNS)),
    ('src/control/', ('interval', 'clusters', 'output', 'match', 'keeper', 'runtime faults', *RUNS)),
    ('src/process/', ('interval', 'clusters', 'output', 'match', 'keeper', 'runtime faults', *RUNS)),
    ('src/agent/', ('agent depot', 'agent coder', 'agent handshake', 'agent stream', 'agent hostile', 'agent names', 'agent faults', 'agent connection', 'agent cut', 'agent flow', 'agent flood', 'janitor',
        'runtime faults', *RUNS)),
    ('src/supervisor/', ('interval', 'clusters', 'output', 'match', 'keeper', 'runtime faults', *RUNS)),
    ('src/process/match', ('match', 'what a replay puts off')),
    ('src/process/queue', ('queue', 'match')),
    ('src/process/collective', ('collectives',)),
    ('src/process/open', ('interval of runs', 'a replay that goes astray')),
    ('src/process/observe', ('trace of runs',)),
    ('src/supervisor/output', ('output', 'output of runs')),
    ('src/supervisor/outlet', ('output of runs',)),
    ('src/supervisor/streams', ('output of runs',)),
    ('src/supervisor/stall', ('stall',)),
    ('src/supervisor/quiet', ('quiet', 'stall', 'supervisor')),
    ('src/supervisor/signals', ('signals', 'environment', 'supervisor')),
    ('src/supervisor/dispositions', ('signals', 'environment', 'supervisor')),
    ('src/supervisor/recluster', ('clusters that change',)),
    ('src/supervisor/recover', ('rollback', 'faults', 'supervisor')),
    ('src/supervisor/death', ('rollback', 'faults', 'supervisor')),
    ('src/supervisor/job', ('run_errors', 'environment')),
    ('src/supervisor/spawn', ('run_errors', 'environment')),
    ('src/agent/local', ('run_errors', 'environment', 'output of runs')),
    ('src/supervisor/inquiry', ('inquiry', 'hark ps', 'metrics')),
    ('src/supervisor/status', ('status', 'hark ps')),
    ('src/supervisor/http', ('inquiry', 'metrics')),
    ('src/supervisor/address', ('inquiry', 'metrics')),
    ('src/supervisor/metrics', ('metrics',)),
    ('src/process/rollback', ('rollback',)),
    ('src/supervisor/input', ('standard input', 'standard input of several hosts')),
    ('src/supervisor/source', ('standard input', 'standard input of several hosts')),
    ('src/agent/keep', ('agent keep',)),
    ('src/agent/feed', ('standard input', 'standard input of several hosts')),
    ('src/agent/input', ('standard input of several hosts',)),
    ('src/agent/janitor', ('janitor', 'runtime faults', 'supervisor', 'environment')),
    ('src/supervisor/keeper', ('keeper', 'runtime faults')),
)

# In a PID namespace all of a test ends with it. It sees a /tmp and a /dev/shm of its own: nothing is left there.
INIT = '''
mount -t tmpfs -o size=2g tmpfs /dev/shm || exit 125
mkdir -p "$0/sees" && mount --bind "$0" /mnt && mount -t tmpfs -o size=4g,mode=1777 tmpfs /tmp || exit 125
mkdir -p "$0" && mount --bind /mnt "$0" && umount /mnt || exit 125
export TMPDIR=/tmp
"$@"
exit $?
'''


def namespace():
    root = [] if os.geteuid() == 0 else ['--map-root-user']
    return ['unshare', *root, '--pid', '--mount', '--fork', '--kill-child', '--mount-proc', '--', 'sh', '-c', INIT]


def tests_for(path):
    known = [tests for prefix, tests in reversed(KNOW) if path.startswith(prefix)]
    order = [t for tests in known for t in tests]
    return list(dict.fromkeys(order))


class Stop(Exception):
    """Something is wrong that is not a mutant's; the text is for who called."""


class Job:
    """A copy of the sources with its build, in which one mutant after the other is tried."""
    running, lock = set(), threading.Lock()  # processes of all jobs

    def __init__(self, folder, compiler):
        self.folder, self.source, self.build = folder, folder / 'source', folder / 'source' / 'build'
        self.compiler = compiler
        self.tests, self.filenames = {}, {}
        self.changed = None  # the file, and its text before

    # ---- processes ----

    def call(self, command, log, limit=None, **more):
        """The exit status; None if it took longer."""
        with open(log, 'ab') as out:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       start_new_session=True, **more)
            with Job.lock:
                Job.running.add(process)
            try:
                return process.wait(limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
                with Job.lock:
                    Job.running.discard(process)

    def ninja(self, targets, mutant=True):
        environment = dict(os.environ, CCACHE_NOHASHDIR='1')
        environment.pop('HARK_MUTANT', None)
        if mutant:
            environment['HARK_MUTANT'] = '1'
        log = self.folder / 'ninja.log'
        log.write_bytes(b'')
        command = ['ninja', '-C', str(self.build), '-j', str(self.parallel), *targets]
        return self.call(command, log, env=environment) == 0

    # ---- the copy ----

    def copy(self):
        wanted = set()
        for root, folders, files in os.walk(TOP):
            folders[:] = [f for f in folders if f[0] != '.' and f != '__pycache__' and not f.startswith('build')
                          and not pathlib.Path(root, f, 'meson-private').exists()]
            wanted.update(pathlib.Path(root, f).relative_to(TOP) for f in files if not f.endswith('.log'))
        for path in wanted:
            true, mine = TOP / path, self.source / path
            if not mine.exists() or true.read_bytes() != mine.read_bytes():
                mine.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(true, mine)
        for root, folders, files in os.walk(self.source):
            if pathlib.Path(root) == self.source and 'build' in folders:
                folders.remove('build')
            for f in files:
                if pathlib.Path(root, f).relative_to(self.source) not in wanted:
                    pathlib.Path(root, f).unlink()

    def set_up(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.copy()
        wrapper = self.folder / 'cc'
        # warnings of a mutant are no errors; what is built without one is as in .ci/check, for ccache to have it
        text = f'#!/bin/sh\n[ -z "$HARK_MUTANT" ] || set -- "$@" -Wno-error -w\nexec {self.compiler} "$@"\n'
        if not wrapper.exists() or wrapper.read_text() != text:
            wrapper.write_text(text)
            wrapper.chmod(0o755)
        log = self.folder / 'meson.log'
        if not (self.build / 'build.ninja').exists():
            log.write_bytes(b'')
            environment = dict(os.environ, CC=str(wrapper), CCACHE_NOHASHDIR='1')
            environment.pop('HARK_MUTANT', None)
            setup = ['meson', 'setup', str(self.build), str(self.source), '--buildtype=debugoptimized',
                     '-Dwerror=true', '-Dtests=enabled', '-Dc_args=-g1', '-Dcpp_args=-g1']  # as .ci/check, for ccache
            if self.call(setup, log, env=environment) != 0:
                raise Stop(f'meson setup failed: {log}')
        if not self.ninja(LIBRARIES, mutant=False):
            raise Stop(f'the sources do not compile: {self.folder}/ninja.log')
        describe = ['meson', 'introspect', str(self.build), '--tests', '--targets']
        described = json.loads(subprocess.run(describe, check=True, capture_output=True).stdout)
        self.tests = {t['name']: t for t in described['tests']}
        self.filenames = {t['id']: t['filename'] for t in described['targets']}
        self.true_objects = {o: self.code(o) for o in self.objects()}

    # ---- machine code ----

    def objects(self):
        return sorted(o for library in LIBRARIES for o in (self.build / (library + '.p')).glob('*.o'))

    def code(self, o):
        """An object file without what only says where it comes from, and when it was looked at."""
        stripped = self.folder / 'stripped.o'
        subprocess.run(['objcopy', '--strip-debug', str(o), str(stripped)], check=True)
        return o.stat().st_mtime_ns, stripped.read_bytes()

    def differs(self):
        for o in self.objects():
            at, code = self.true_objects[o]
            if o.stat().st_mtime_ns != at:
                now = self.code(o)
                if now[1] != code:
                    return True
                self.true_objects[o] = now
        return False

    # ---- a mutant ----

    def restore(self):
        if self.changed:
            path, text = self.changed
            path.write_text(text)
            self.changed = None

    def put(self, change):
        self.restore()
        path = self.source / change.path
        text = path.read_text()
        lines = text.split('\n')
        assert lines[change.line - 1] == change.before
        lines[change.line - 1] = change.after
        path.write_text('\n'.join(lines))
        self.changed = path, text

    def run(self, name, mutant=True):
        """'' if the test passes, else how it does not."""
        test = self.tests.get(name)
        if test is None:
            raise Stop(f'there is no test "{name}" any more: mend the table in test/mutants/source.py')
        targets = [os.path.relpath(f, self.build) for t in test['depends'] for f in self.filenames[t]]
        if name == 'kill matrix, a sample':
            targets += ['test/kill/test-kill-faults', 'test/fault/test-fault-store_system']  # which it starts
        if not self.ninja(targets, mutant):
            return 'not built'
        log = self.folder / 'test.log'
        log.write_bytes(b'')
        limit = 15 + 5 * SECONDS[name]
        status = self.call([*namespace(), str(self.folder), *test['cmd']], log, limit, cwd=self.build,
                           preexec_fn=no_core, env=dict(os.environ, **test['env']))
        if status == 125:
            raise Stop(f'no namespace for a test: {log}')
        return '' if status == 0 else f'more than {limit:.0f} s' if status is None else f'status {status}'

    def try_one(self, change, first):
        """(verdict, test, how it failed)"""
        self.put(change)
        if not self.ninja(LIBRARIES):
            return 'does not compile', '', ''
        if not self.differs():
            return 'same code', '', ''
        once = []  # chance may have been against it, and not the mutant
        for name in dict.fromkeys((*first, *tests_for(change.path))):
            failed = self.run(name)
            if failed == 'not built':
                return 'does not compile', '', ''
            if failed and self.run(name):
                return 'caught', name, failed
            if failed:
                once.append(name)
        return 'survived', '', 'failed once of twice: ' + ', '.join(once) if once else ''


def no_core():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def known():
    """{(file, line, line of the mutant): (what it is, why or by what)}"""
    found = {}
    for block in (HERE / 'source_known.txt').read_text().split('\n\n'):
        lines = [x for x in block.strip('\n').split('\n') if not x.startswith('#')]
        if not ''.join(lines):
            continue
        what, _, why = ' '.join(lines[3:]).partition(': ')
        if [x[:2] for x in lines[1:3]] != ['- ', '+ '] or what not in (*REASONS, 'caught') or not why:
            raise Stop('source_known.txt: each needs a file, "- line", "+ line", and "caught: TEST", or one of '
                       f'{", ".join(REASONS)} with the reason:\n{block}')
        found[lines[0], changes.normal(lines[1][2:]), changes.normal(lines[2][2:])] = what, why
    return found


def key_of(change):
    return change.path, changes.normal(change.before), changes.normal(change.after)


def candidates(seed, only):
    """All changes in the order of the seed; of a line that has been changed the others come last."""
    found = []
    for folder in FOLDERS:
        for path in sorted((TOP / folder).glob('*.[ch]')):
            name = str(path.relative_to(TOP))
            if name != 'src/driver/point.h':
                found += changes.changes_of(name, path.read_text(), seed)
    if only:
        found = [c for c in found if c.path in only or f'{c.path}:{c.line}' in only]
    found.sort(key=lambda c: c.key)
    seen, first, others = set(), [], []
    for c in found:
        (others if (c.path, c.line) in seen else first).append(c)
        seen.add((c.path, c.line))
    return first + others


def difference(change):
    true = (TOP / change.path).read_text().split('\n')
    mutant = true[:change.line - 1] + [change.after] + true[change.line:]
    return '\n'.join(difflib.unified_diff(true, mutant, change.path, change.path, lineterm='', n=3))


class Campaign:
    def __init__(self, jobs):
        self.free = list(jobs)
        self.results = []  # (change, verdict, test)
        self.lock = threading.Lock()

    def one(self, change, what, why):
        with self.lock:
            job = self.free.pop()
        start = time.monotonic()
        try:
            if what in REASONS:
                verdict, test, how = 'explained', '', f'{what}: {why}'
            else:
                verdict, test, how = job.try_one(change, [why] if what else [])
        finally:
            with self.lock:
                self.free.append(job)
        with self.lock:
            self.results.append((change, verdict, test))
            if verdict in ('does not compile', 'same code'):
                return verdict
            seconds = time.monotonic() - start
            print(f'{verdict:9} {change.path}:{change.line}: {change.kind}; '
                  + ', '.join(x for x in (test, how, f'{seconds:.0f} s') if x), flush=True)
            if verdict == 'survived':
                print(difference(change), flush=True)
            return verdict

    def run(self, drawn, count, known_ones, jobs):
        """Deterministic, although several are tried at once: another is begun only if all in hand may be mutants."""
        mutants, pending = 0, set()
        drawn = iter(drawn)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            try:
                while True:
                    while mutants + len(pending) < count and len(pending) < jobs:
                        change = next(drawn, None)
                        if change is None:
                            break
                        pending.add(pool.submit(self.one, change, *known_ones.get(key_of(change), ('', ''))))
                    if not pending:
                        return
                    done, pending = concurrent.futures.wait(pending, return_when=concurrent.futures.FIRST_COMPLETED)
                    mutants += sum(f.result() not in ('does not compile', 'same code') for f in done)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                kill_all()
                raise

    def table(self):
        columns = collections.OrderedDict((f, collections.Counter()) for f in FOLDERS)
        catchers = collections.Counter()
        for change, verdict, test in self.results:
            columns[os.path.dirname(change.path)][verdict] += 1
            if verdict == 'caught':
                catchers[test] += 1
        verdicts = ('caught', 'explained', 'survived')
        machine = subprocess.run([TOP / 'bench' / 'machine.sh'], stdout=subprocess.PIPE, text=True, check=False)
        print('\n' + machine.stdout)
        print('| | tried | ' + ' | '.join(verdicts) + ' |\n|-|' + '-:|' * 4)
        for folder, n in (*columns.items(), ('all', sum(columns.values(), collections.Counter()))):
            print(f'| `{folder}` | {sum(n[v] for v in verdicts)} | ' + ' | '.join(str(n[v]) for v in verdicts) + ' |')
        print('\ncaught by: ' + ', '.join(f'{t} {n}' for t, n in catchers.most_common()))
        n = collections.Counter(v for _, v, _ in self.results)
        print(f'no mutants: {n["does not compile"]} did not compile, {n["same code"]} left the code as it is')
        return n


def kill_all():
    with Job.lock:
        for process in Job.running:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def begin(jobs, trust, names):
    """Builds, and sees all tests pass before anything is changed."""
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        list(pool.map(Job.set_up, jobs))
        if trust:
            return
        left = sorted(names, key=lambda n: -SECONDS[n])

        def some(job):
            while left:
                name = left.pop(0)
                failed = job.run(name, mutant=False)
                if failed:
                    raise Stop(f'{name} fails although nothing is changed ({failed}): {job.folder}/test.log')
        list(pool.map(some, jobs))


def arguments():
    p = argparse.ArgumentParser(usage=__doc__.split('\n\n')[1].strip())
    p.add_argument('-n', type=int, default=60)
    p.add_argument('-s', default='1')
    p.add_argument('-j', type=int, default=1)
    for flag in ('--trust', '--list', '--sample', '--explained'):
        p.add_argument(flag, action='store_true')
    p.add_argument('only', nargs='*')
    return p.parse_args()


def main():
    a = arguments()
    known_ones = known()
    drawn = candidates(a.s, a.only)
    there = {key_of(c) for c in drawn}
    for path, before, after in () if a.only else known_ones:
        if (path, before, after) not in there:
            print(f'source_known.txt: {path} has no such line any more, or no such change of it:\n'
                  f'- {before}\n+ {after}')
    if a.explained:
        drawn = [c for c in drawn if known_ones.get(key_of(c), ('',))[0] in REASONS]
    elif a.sample:
        drawn = [c for c in drawn if known_ones.get(key_of(c), ('',))[0] == 'caught']
    if a.list:
        for c in drawn[:a.n]:
            print(f'{c.path}:{c.line}: {c.kind}\n- {c.before.strip()}\n+ {c.after.strip()}')
        return 0
    probe = subprocess.run([*namespace()[:-3], 'true'], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        print('mutants-src: skipped: mutants run in a PID namespace of their own, and none can be made here: '
              + probe.stderr.strip())
        return 77
    compiler = os.environ.get('CC', 'gcc')
    if 'ccache' not in compiler and shutil.which('ccache'):
        compiler = 'ccache ' + compiler
    folder = pathlib.Path(os.environ.get('MUTANTS', TOP / 'build-mutants')).resolve()
    jobs = [Job(folder / str(i + 1), compiler) for i in range(a.j)]
    for job in jobs:
        job.parallel = max(1, (os.cpu_count() or 1) // a.j)
    start = time.monotonic()
    begin(jobs, a.trust, {t for c in drawn[:a.n * 2] for t in tests_for(c.path)})
    ready = time.monotonic()
    campaign = Campaign(jobs)
    try:
        campaign.run(drawn, len(drawn) if a.explained else a.n, {} if a.explained else known_ones, a.j)
    finally:
        for job in jobs:
            job.restore()
    n = campaign.table()
    tried = n['caught'] + n['explained'] + n['survived']
    print(f'{ready - start:.0f} s until tests have passed, {time.monotonic() - ready:.0f} s for {tried} mutants')
    if a.explained:
        wrong = [c for c, v, _ in campaign.results if v == 'caught' and known_ones[key_of(c)][0] == 'equivalent']
        for c in wrong:
            print(f'said to be equivalent, and caught: {c.path}:{c.line}')
        return 1 if wrong else 0
    print(f'{tried - n["survived"]} passed, {n["survived"]} failed')
    return 1 if n['survived'] or not tried else 0


if __name__ == '__main__':
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    try:
        sys.exit(main())
    except Stop as e:
        print(f'mutants-src: {e}', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        kill_all()
        sys.exit(2)
