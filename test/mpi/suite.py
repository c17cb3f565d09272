#!/usr/bin/env python3
"""MPICH's test suite, natively and under hark.

  suite.py build SUITE WORK FOLDER...     compiles the tests of these folders (pt2pt, coll, f77/pt2pt, f08 ...)
  suite.py native WORK FOLDER...          runs them by mpiexec
  suite.py hark WORK FOLDER...            runs them by hark run
  suite.py table WORK FOLDER...           compares the runs, and names the tests that differ

SUITE is test/mpi of a checkout of MPICH. WORK is a folder for programs and results, made by `build`; what is there
already is not made again, so a run that was broken off goes on. Each run leaves a file in WORK/native or in
WORK/LABEL: the command, the verdict, the output. To repeat one, delete its file, or give --only.

Each line of a testlist counts once, whatever settings of MPICH (MPIR_CVAR_...) it has. Left out are lines for which
MPICH's own configure would ask for an extension, and those that need more than --memory GB."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time
import zlib

# What the suite's configure would find out on any Linux machine of today.
FACTS = '''HAVE_STDARG_H HAVE_STDINT_H HAVE_STDIO_H HAVE_STDLIB_H HAVE_STRING_H HAVE_STRINGS_H HAVE_UNISTD_H
HAVE_INTTYPES_H HAVE_MEMORY_H HAVE_SYS_TIME_H HAVE_SYS_TYPES_H HAVE_SYS_STAT_H HAVE_SYS_RESOURCE_H HAVE_PTHREAD_H
HAVE_STRDUP HAVE_USLEEP HAVE_GETRUSAGE HAVE_LONG_DOUBLE HAVE_LONG_LONG HAVE_LONG_LONG_INT HAVE__BOOL HAVE_FLOAT__COMPLEX
HAVE_DOUBLE__COMPLEX HAVE_LONG_DOUBLE__COMPLEX HAVE_INT8_T HAVE_INT16_T HAVE_INT32_T HAVE_INT64_T HAVE_UINT8_T
HAVE_UINT16_T HAVE_UINT32_T HAVE_UINT64_T HAVE_MPI_INIT_THREAD HAVE_MPI_TYPE_CREATE_STRUCT HAVE_MPI_WIN_CREATE
HAVE_MPI2_COMBINERS HAVE_MPI_IO HAVE_FORTRAN_BINDING HAVE_PTHREAD_BARRIER_INIT USE_LONG_DOUBLE_COMPLEX
USE_STRICT_MPI F77_NAME_LOWER_USCORE'''.split()
OTHER_FACTS = '#define THREAD_PACKAGE_NAME THREAD_PACKAGE_POSIX\n#define POINTERINT_t long\n'
# Those words in templates.
WORDS = {'PERL': '/usr/bin/perl', 'F77_MPI_ADDRESS': 'integer*8', 'F77_MPI_OFFSET': 'integer*8'}
# Prefixes of testlist lines that configure would remove.
KEPT_PREFIXES = {'ALLOCMEMF': 'allocmemf 1', 'ALLOCMEMFC': 'allocmemf90 1'}
COMPILERS = {'.c': 'cc', '.f': 'f77', '.f90': 'f90', '.cxx': 'cxx'}


def folders(root, names):
    """Each folder with a list of tests, below those named."""
    found = []
    for name in names:
        here = [p.parent for p in sorted((root / name).rglob('testlist*')) if p.suffix in ('', '.in', '.ap')]
        found += [str(p.relative_to(root)) for p in here if any(programs_of(root / p))]
    return list(dict.fromkeys(found))


# ---- what the suite's own files say -----------------------------------------------------------------------------------

def programs_of(folder):
    """Each line of the folder's lists as (program, processes, settings)."""
    for name in ('testlist.in', 'testlist', 'testlist.ap'):
        path = folder / name
        if not path.exists() or (name == 'testlist' and (folder / 'testlist.in').exists()):
            continue
        for line in path.read_text().splitlines():
            prefix = re.match(r'@(\w+)@(.*)', line)
            if prefix:
                line = prefix[2] and '' or KEPT_PREFIXES.get(prefix[1], '')
            words = line.split()
            if len(words) >= 2 and not line.startswith('#') and words[1].isdigit():
                yield words[0], int(words[1]), [w.split('=', 1) for w in words[2:] if '=' in w]


def tests_of(root, folder, memory):
    """{name: (program, processes, arguments, environment, expected, seconds)}; those that are the same count once."""
    tests, seen = {}, set()
    for program, size, settings in programs_of(root / folder):
        arguments = [v for k, v in settings if k == 'arg']
        environment = [v for k, v in settings if k == 'env' and not v.startswith('MPIR_CVAR')]
        one = dict(settings)
        key = (program, size, *arguments, *environment)
        if key in seen or float(one.get('mem', 0)) > memory:
            continue
        seen.add(key)
        name = '.'.join([program, str(size)] + [re.sub(r'[^\w=.-]', '_', a.lstrip('-')) for a in arguments])
        tests[name] = (program, size, arguments, environment, one.get('resultTest', ''), one.get('timeLimit'))
    return tests


def makefile(folder):
    """{program: (sources, flags)} where the folder's Makefile.am says them."""
    made = {}
    for name in ('Makefile.am', 'Makefile.ap'):
        path = folder / name
        text = path.read_text().replace('\\\n', ' ') if path.exists() else ''
        for line in text.splitlines():
            rule = re.match(r'\s*(\w+?)_(SOURCES|CPPFLAGS)\s*=(.*)', line)
            if rule:
                sources, flags = made.setdefault(rule[1], ([], []))
                words = [re.sub(r'\$\(\w+\)/', '', w) for w in rule[3].split()]
                kept = sources if rule[2] == 'SOURCES' else flags
                kept.extend(w for w in words if '$' not in w and w not in kept)
    return made


# ---- building ---------------------------------------------------------------------------------------------------------

def prepare(suite, work):
    """A copy of the suite, with what its configure would write."""
    if (work / 'source').exists():
        return
    source = work / 'unfinished'
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(suite, source)
    facts = ''.join(f'#define {name} 1\n' for name in FACTS)
    (source / 'include/mpitestconf.h').write_text(facts + OTHER_FACTS)
    (source / 'dtpools/dtpoolsconf.h').write_text(facts)
    (source / 'include/mtest_mpix.h').touch()
    for template in [*source.rglob('*.h.in'), source / 'maint/testmerge.in']:
        text = template.read_text()
        for word, value in WORDS.items():
            text = text.replace(f'@{word}@', value)
        template.with_suffix('').write_text(text)
    merge = ['perl', str(source / 'maint/testmerge'), f'-defn={source}/maint/common.defn']
    for folder in (source / 'f77/io', source / 'f08/io'):  # tests that are one text with many fillings
        subprocess.run([*merge, 'ioharness.defn', 'ioharness.tlt'], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    for folder in sorted((source / 'f77').iterdir()):  # the tests of Fortran 90 are mostly made of those
        if folder.is_dir():
            (source / 'f90' / folder.name).mkdir(exist_ok=True)
            subprocess.run(['perl', 'maint/f77tof90', f'f77/{folder.name}', f'f90/{folder.name}', 'Makefile.am',
                            'Makefile.ap'], cwd=source, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    source.rename(work / 'source')


def compiled(options, source, flags, target):
    """The object file of a source, or raises with the compiler's lines."""
    target.parent.mkdir(parents=True, exist_ok=True)
    root = options.work / 'source'
    command = [getattr(options, COMPILERS[source.suffix]), '-w', '-g', '-c', source.name, '-o', str(target), *flags]
    command += [f'-I{p}' for p in (root / 'include', root / 'dtpools/include', root / 'util', target.parent)]
    if source.suffix in ('.f', '.f90'):
        command += ['-fallow-argument-mismatch', '-fcray-pointer', f'-J{target.parent}']
        command += [f'-I{p}' for p in sorted((root / 'f77').iterdir()) if p.is_dir()]  # their Makefiles copy headers
    subprocess.run(command, cwd=source.parent, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return str(target)


def helpers(options):
    """The object files that tests of each language are linked with."""
    root, at = options.work / 'source', options.work / 'objects'
    groups = {'c': ['util/mtest.c', 'util/mtest_common.c', 'util/mtest_single.c', 'util/dtypes.c']
              + [str(p.relative_to(root)) for p in sorted((root / 'dtpools/src').glob('*.c'))],
              'main': ['util/run_mpitests.c'], 'f77': ['util/mtest_f77.f'], 'f90': ['util/mtest_f90.f90'],
              'f08': ['util/mtest_f08.f90']}
    made = {}
    for group, names in groups.items():
        made[group] = []
        for name in names:
            target = at / group / (pathlib.Path(name).stem + '.o')
            made[group].append(str(target) if target.exists() else compiled(options, root / name, [], target))
    return made


def sources_of(root, folder, program, rules):
    where = root / folder
    names = rules.get(program, ([], []))[0] or [program + end for end in COMPILERS if (where / (program + end)).exists()]
    found = []
    for name in names:
        # Some Makefiles copy a source from the same folder of another language.
        places = [where, *(root / language / where.name for language in ('f77', 'f90', 'f08'))]
        found += [p / name for p in places if (p / name).exists()][:1]
    # A module comes before the program that uses it.
    return sorted((p for p in found if p.suffix in COMPILERS), key=lambda p: p.stem == program)


def build_one(options, folder, program, rules, parts):
    root, binary = options.work / 'source', options.work / 'programs' / folder / program
    failure = binary.with_suffix('.failed')
    if binary.exists() or failure.exists():
        return
    at = options.work / 'objects' / folder / program
    try:
        sources = sources_of(root, folder, program, rules)
        flags = rules.get(program, ([], []))[1]
        objects = [compiled(options, s, flags, at / (s.stem + '.o')) for s in sources]
        language = folder.split('/')[0] if folder[:3] in ('f77', 'f90', 'f08') else 'c'
        fortran = any(s.suffix in ('.f', '.f90') for s in sources)
        if fortran:
            objects += parts[language]
        else:
            objects += parts['c'] + ([] if any('main(' in s.read_text(errors='replace') for s in sources) else parts['main'])
        binary.parent.mkdir(parents=True, exist_ok=True)
        inside = ([f'-I{options.work}/objects/{language}'] if fortran else [])
        subprocess.run([options.f90 if fortran else options.cc, *objects, *inside, '-lm', '-lpthread', '-o', str(binary)],
                       check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except (subprocess.CalledProcessError, IndexError) as error:
        failure.parent.mkdir(parents=True, exist_ok=True)
        failure.write_text(str(getattr(error, 'output', error)))


def build(options):
    prepare(options.suite, options.work)
    root = options.work / 'source'
    parts = helpers(options)
    todo = []
    for folder in folders(root, options.folders):
        rules = makefile(root / folder)
        todo += [(folder, program, rules) for program in dict.fromkeys(t[0] for t in tests_of(root, folder, 1e9).values())]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for job in [pool.submit(build_one, options, *one, parts) for one in todo]:
            job.result()
    failed = [f'{f}/{p}' for f, p, _ in todo if (options.work / 'programs' / f / (p + '.failed')).exists()]
    print(f'{len(todo) - len(failed)} programs built; not built: {" ".join(failed) or "none"}')


# ---- running ----------------------------------------------------------------------------------------------------------

def run(command, where, seconds, environment):
    """Status (None: too long) and output; nothing of the run is left."""
    with subprocess.Popen(command, cwd=where, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          start_new_session=True, env={**os.environ, **dict(e.split('=', 1) for e in environment)},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0))) as process:
        try:
            output, _ = process.communicate(timeout=seconds)
            status = process.returncode
        except subprocess.TimeoutExpired:
            process.terminate()  # both end their processes then
            try:
                output, _ = process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                output, _ = process.communicate()
            status = None
    return status, output.decode(errors='replace')


def verdict(status, output, expected):
    """As the suite's own script judges: `No Errors` and no other line, and status 0; or an end with an error."""
    if status is None:
        return 'timeout'
    refused = re.search(r'^hark: (?:rank \d+: )?(\w+) is not there', output, re.M)
    if refused:
        return 'refused ' + refused[1]
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith('hark: ')]
    clean = [line for line in lines if re.fullmatch(r'\s*No [Ee]rrors\s*|\s*Test [Pp]assed\s*', line)]
    if expected in ('TestStatus', 'TestErrFatal'):
        return 'pass' if status else 'fail'
    if expected == 'TestStatusNoErrors':
        return 'pass' if status and clean else 'fail'
    stray = len(lines) > len(clean) and expected != 'TestAllowWarnings'
    return 'pass' if status == 0 and clean and not stray else 'fail'


def run_one(options, folder, name, test):
    program, size, arguments, environment, expected, seconds = test
    result = options.work / options.label / folder / (name + '.txt')
    binary = options.work / 'programs' / folder / program
    if result.exists() and not options.only or not binary.exists():
        return
    if options.what == 'hark' and verdict_of(options.work, 'native', folder, name) not in ('', 'pass'):
        return
    seed = zlib.crc32(f'{folder}/{name}'.encode()) % 1000
    under = [word.replace('SEED', str(seed)) for word in shlex.split(options.options)]
    command = shlex.split(options.mpiexec) if options.what == 'native' else [options.hark, 'run', *under]
    # The programs' working directory is theirs alone: some write files.
    scratch = options.work / 'scratch' / options.label / folder / name
    scratch.mkdir(parents=True, exist_ok=True)
    command += ['-n', str(size)] + ([] if options.what == 'native' else ['--']) + [str(binary), *arguments]
    began = time.monotonic()
    status, output = run(command, scratch, max(options.timeout, min(float(seconds or 0), 4 * options.timeout)), environment)
    shutil.rmtree(scratch)
    said = verdict(status, output, expected)
    result.parent.mkdir(parents=True, exist_ok=True)
    result.write_text(f'{said}\n{shlex.join(command)}\nstatus {status}, {time.monotonic() - began:.1f} s\n{output[:100000]}')
    if said != 'pass':
        print(f'{options.label} {folder}/{name}: {said}', flush=True)


def run_all(options):
    root = options.work / 'source'
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = [pool.submit(run_one, options, folder, name, test) for folder in folders(root, options.folders)
                for name, test in tests_of(root, folder, options.memory).items()
                if not options.only or re.fullmatch(options.only, f'{folder}/{name}')]
        for job in jobs:
            job.result()


# ---- the table --------------------------------------------------------------------------------------------------------

def verdict_of(work, label, folder, name):
    path = work / label / folder / (name + '.txt')
    return path.read_text(errors='replace').split('\n', 1)[0] if path.exists() else ''


def row(options, root, folder):
    count, differ = dict.fromkeys(('tests', 'native', 'pass', 'fail', 'refused'), 0), []
    for name in tests_of(root, folder, options.memory):
        count['tests'] += 1
        if verdict_of(options.work, 'native', folder, name) != 'pass':
            continue
        count['native'] += 1
        found = verdict_of(options.work, options.label, folder, name) or 'not run'
        count[found.split()[0] if found.split()[0] in count else 'fail'] += 1
        if found != 'pass':
            differ.append(f'{folder}/{name}: {found}')
    return count, differ


def table(options):
    root, total, differ = options.work / 'source', {}, []
    print('| folder | tests | native passes | hark passes | fails | refused |\n|---|---|---|---|---|---|')
    for folder in folders(root, options.folders):
        count, names = row(options, root, folder)
        differ += names
        total = {key: total.get(key, 0) + value for key, value in count.items()}
        print(f'| {folder} | ' + ' | '.join(str(v) for v in count.values()) + ' |')
    print('| all | ' + ' | '.join(str(v) for v in total.values()) + ' |\n')
    print('\n'.join(differ))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('what', choices=['build', 'native', 'hark', 'table'])
    parser.add_argument('paths', nargs='+')
    parser.add_argument('--cc', default='mpicc.mpich')
    parser.add_argument('--f77', default='mpif77.mpich')
    parser.add_argument('--f90', default='mpif90.mpich')
    parser.add_argument('--cxx', default='mpicxx.mpich')
    parser.add_argument('--mpiexec', default='mpiexec.mpich')
    parser.add_argument('--hark', default='hark')
    parser.add_argument('--options', default='--protocol none', help='of hark run; SEED is replaced by a number that the test has')
    parser.add_argument('--label', help='folder of the results in WORK: native, hark')
    parser.add_argument('--only', help='FOLDER/TEST, a regular expression; runs those again')
    parser.add_argument('--timeout', type=float, default=30, help='seconds a run, and at most four times as long where the list says so')
    parser.add_argument('--memory', type=float, default=1, help='GB a test may need')
    parser.add_argument('--jobs', type=int, default=2, help='at once')
    options = parser.parse_intermixed_args()
    if options.what == 'build':
        options.suite = pathlib.Path(options.paths.pop(0)).resolve()
    options.work = pathlib.Path(options.paths.pop(0)).resolve()
    options.folders = options.paths
    options.label = options.label or ('native' if options.what == 'native' else 'hark')
    {'build': build, 'native': run_all, 'hark': run_all, 'table': table}[options.what](options)


sys.exit(main())
