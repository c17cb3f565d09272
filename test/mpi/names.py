#!/usr/bin/env python3
"""names.txt and the headers agree: names.py NAMES INTERFACE CC ARGUMENT...

The functions that names.txt has for INTERFACE (m, o or s) are those that mpi.h declares when CC
preprocesses it with these ARGUMENTs, each under its MPI_ and its PMPI_ name; extensions (MPIX_)
need not have the latter."""
import re
import subprocess
import sys

FAMILIES = {'attribute', 'collective', 'communicator', 'datatype', 'deprecated', 'environment',
            'error', 'fortran', 'group', 'info', 'io', 'one-sided', 'point-to-point', 'process',
            'session', 'tool', 'topology'}

# The first name before a parenthesis, or `extern typeof(MPI_X) PMPI_X`.
DECLARED = re.compile(r'\s*(?:\w[\w\s*]*?\s*\b(P?MPIX?_\w+)\s*\(|extern __typeof__\(\w+\) (\w+)$)')


def without_attributes(text):
    """__attribute__((...)) contains parentheses and text: only counting finds its end."""
    while (start := text.find('__attribute__')) >= 0:
        at, depth = text.index('(', start), 0
        while True:
            depth += {'(': 1, ')': -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
        text = text[:start] + text[at:]
    return text


def declared(compiler, arguments):
    text = subprocess.run([compiler, '-E', '-P', '-xc', '-'] + arguments, text=True, check=True,
                          input='#include <mpi.h>\n', stdout=subprocess.PIPE).stdout
    names = set()
    for declaration in re.sub(r'\{[^{}]*\}', ';', without_attributes(text)).split(';'):
        if not declaration.lstrip().startswith('typedef'):
            names.update(found[1] or found[2] for found in [DECLARED.match(declaration)] if found)
    return names


def read(path):
    with open(path, encoding='utf-8') as lines:
        return [line.split(None, 3) for line in lines if line.strip() and not line.startswith('#')]


def form(rows):
    for row in rows:
        if len(row) != 4 or row[2] not in FAMILIES:
            yield f'{row[0]}: expected a name, interfaces, one of the families and what hark does'
    names = [row[0] for row in rows]
    if names != sorted(set(names)):
        yield 'the names are not in order, or one is there twice'


def differences(listed, found):
    everything = listed | {'P' + name for name in listed}
    optional = {name for name in everything if name.startswith('PMPIX_')}
    if len(found) < 800:
        yield f'mpi.h declares {len(found)} functions: that cannot be all'
    for name in sorted(everything - optional - found):
        yield f'{name} is in names.txt, but mpi.h does not declare it'
    for name in sorted(found - everything):
        yield f'mpi.h declares {name}, but names.txt does not have it'


def main():
    path, interface, compiler, *arguments = sys.argv[1:]
    rows = read(path)
    listed = {row[0] for row in rows if interface in row[1]}
    wrong = list(form(rows)) + list(differences(listed, declared(compiler, arguments)))
    print('\n'.join(wrong[:40] + [f'{not wrong:d} passed, {len(wrong)} failed']))
    return bool(wrong)


sys.exit(main())
