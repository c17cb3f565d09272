#!/usr/bin/env python3
"""Writes the functions of MPI that hark does not define: each prints why, and ends the process.

refused.py NAMES INTERFACE OUT NM OBJECT...

NAMES is names.txt, INTERFACE one of m, o, s (its second column). NM lists what each OBJECT defines,
an object file or a static library. OUT is C: for each function that the mpi.h of INTERFACE declares
and no object defines it has PMPI_X, and MPI_X as a weak alias, so that a profiling tool may define
MPI_X itself. Both call

    _Noreturn void hark_mpi_refuse(const char *name, const char *reason);

All names are defined, because a program that refers to a missing one fails in the dynamic linker,
whose message explains nothing. Status 1, and a line for each contradiction, if names.txt has `yes`
for a function that is not defined, or a reason for one that is."""
import re
import subprocess
import sys

INTERFACES = {'m': "MPICH's", 'o': "Open MPI's", 's': 'the standard ABI'}
NOT_YET = 'hark does not have this function'
HEAD = '''/* Made from names.txt: the functions that hark refuses, for programs with {interface}. */
#pragma GCC visibility push(default)
_Noreturn void hark_mpi_refuse(const char *name, const char *reason);
#define REFUSED(name, reason) \\
    int P##name(void); \\
    int P##name(void) \\
    {{ \\
        hark_mpi_refuse(#name, reason); \\
    }} \\
    extern __typeof__(P##name) name __attribute__((weak, alias("P" #name)))

'''


def fail(lines):
    print('\n'.join(lines), file=sys.stderr)
    sys.exit(1)


def read_names(path):
    """Of each function the interfaces that declare it, and what hark does with it."""
    names = {}
    with open(path, encoding='utf-8') as lines:
        for number, line in enumerate(lines, 1):
            if line.startswith('#') or not line.strip():
                continue
            fields = line.split(None, 3)
            if len(fields) < 4 or not re.fullmatch('[m-][o-][s-]', fields[1]):
                fail([f'{path}:{number}: expected a name, interfaces such as mos or m--, a family '
                      f'and yes, todo or a reason, found: {line.rstrip()}'])
            if fields[0] in names:
                fail([f'{path}:{number}: {fields[0]} is there twice'])
            names[fields[0]] = fields[1], fields[3].strip()
    return names


def read_defined(nm, objects):
    """The functions that are defined under their MPI_ or PMPI_ names."""
    defined = set()
    listed = subprocess.run([nm, '-P', '-g', '--defined-only'] + objects,
                            stdout=subprocess.PIPE, text=True, check=True)
    for line in listed.stdout.splitlines():
        if found := re.match(r'P?(MPIX?_\w+) [TWV] ', line):
            defined.add(found[1])
    return defined


def contradictions(path, names, interface, defined):
    for name, (interfaces, does) in names.items():
        if does == 'yes' and interface in interfaces and name not in defined:
            yield f'{path}: {name} is `yes`, but no object defines it'
        if does not in ('yes', 'todo') and name in defined:
            yield (f'{path}: {name} has a reason to be refused, but an object defines it: '
                   'write `yes`')
    for name in sorted(defined - set(names)):
        yield f'{path}: {name} is defined, but not named here'


def main():
    path, interface, out, nm, *objects = sys.argv[1:]
    if interface not in INTERFACES:
        fail([f'refused.py: expected one of {", ".join(INTERFACES)}, found {interface}'])
    names, defined = read_names(path), read_defined(nm, objects)
    if wrong := list(contradictions(path, names, interface, defined)):
        fail(wrong)
    with open(out, 'w', encoding='utf-8') as to:
        to.write(HEAD.format(interface=INTERFACES[interface]))
        for name, (interfaces, does) in names.items():
            if interface in interfaces and name not in defined:
                reason = NOT_YET if does == 'todo' else does
                quoted = reason.replace('\\', '\\\\').replace('"', '\\"')
                to.write(f'REFUSED({name}, "{quoted}");\n')
        to.write('#pragma GCC visibility pop\n')


main()
