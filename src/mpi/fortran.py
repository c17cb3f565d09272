#!/usr/bin/env python3
"""Writes the Fortran functions for programs of Open MPI out of its mpi.h.

fortran.py OUT CC ARGUMENT...: CC preprocesses mpi.h and mpi-ext.h with these ARGUMENTs. OUT is C
that includes fortran.h. Each function converts its arguments, as fortran.h describes, calls the
PMPI_ name and converts back what that returns. Those of fortran.c are left out."""
import re
import subprocess
import sys

HANDLES = {'MPI_Comm': 'Comm', 'MPI_Datatype': 'Type', 'MPI_Errhandler': 'Errhandler',
           'MPI_File': 'File', 'MPI_Group': 'Group', 'MPI_Info': 'Info', 'MPI_Message': 'Message',
           'MPI_Op': 'Op', 'MPI_Request': 'Request', 'MPI_Win': 'Win'}
# Handles that a function reads before it changes them. All other pointers to handles are results.
CHANGED = {'Cancel': 'request', 'Comm_free': 'comm', 'Comm_disconnect': 'comm',
           'Errhandler_free': 'errhandler', 'File_close': 'fh', 'Group_free': 'group',
           'Info_free': 'info', 'Mrecv': 'message', 'Imrecv': 'message', 'Op_free': 'op',
           'Request_free': 'request', 'Start': 'request', 'Test': 'request', 'Wait': 'request',
           'Type_commit': 'type', 'Type_free': 'type', 'Win_free': 'win'}
# INTEGER in functions that MPI 3.0 deleted; the later ones have INTEGER(KIND=MPI_ADDRESS_KIND).
SHORT_ADDRESSES = {'Address', 'Type_extent', 'Type_hvector', 'Type_lb', 'Type_ub'}
# Functions of fortran.c, and those that Fortran does not have.
ELSEWHERE = re.compile(
    r'MPI_(T_\w+|\w+_(c2f|f2c)|(Comm|Type|Win)_(create_keyval|get_attr|set_attr)|Attr_(get|put)|'
    r'Keyval_create|Op_create|\w+_create_errhandler|Errhandler_create|Grequest_start|Init|'
    r'Init_thread|Pcontrol|Comm_spawn|Comm_spawn_multiple|Register_datarep|Buffer_detach|Wtime|'
    r'Wtick|Aint_add|Aint_diff|Type_struct|Type_hindexed)|MPIX_Query_cuda_support')


class Argument:
    """How one argument of a function in C is made from that in Fortran."""

    def __init__(self, function, text):
        found = re.fullmatch(r'(.*?)\s*(\w+)((?:\s*\[\w*\])*)', text)
        self.function, self.name, self.array = function, found[2], found[3]
        self.type = found[1].replace('const', '').replace(' ', '')
        self.const = 'const' in found[1]
        self.declared = f'MPI_Fint *{self.name}'
        self.length = None
        self.before, self.value, self.always, self.after, self.freed = [], '', [], [], []
        self.convert()

    def convert(self):
        base = self.type.rstrip('*')
        if base in HANDLES:
            self.handle(base)
        elif base == 'MPI_Status':
            self.value = f'fortran_status{"es" * self.plural()}({self.name})'
        elif base == 'char':
            self.string()
        elif base == 'void':
            self.declared = f'void *{self.name}'
            self.value = self.name if self.name == 'baseptr' else f'fortran_buffer({self.name})'
        elif base in ('int', 'MPI_Aint', 'MPI_Offset', 'MPI_Count'):
            self.number(base)
        else:
            sys.exit(f'{self.function}: no rule for the argument {self.type} {self.name}')

    def plural(self):
        return bool(self.array) or self.name.startswith('array_of')

    def number(self, base):
        short = base == 'MPI_Aint' and self.function in SHORT_ADDRESSES
        if base != 'int' and not short:
            self.declared = f'{base} *{self.name}'
        self.value = self.name if self.array or '*' in self.type else f'*{self.name}'
        if self.array == '[][3]':
            self.declared, self.value = f'MPI_Fint (*{self.name})[3]', self.name
        if 'weights' in self.name:
            self.value = f'fortran_weights({self.name})'
        if short and '*' in self.type:
            self.before = [f'MPI_Aint c_{self.name} = 0;']
            self.value = f'&c_{self.name}'
            self.after = [f'*{self.name} = (MPI_Fint)c_{self.name};']
        if self.function in ('Waitany', 'Testany') and self.name in ('index', 'indx'):
            self.after = [f'if (*{self.name} != MPI_UNDEFINED) ++*{self.name};']
        if self.name == 'array_of_indices':
            self.after = [f'for (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; i++) '
                          f'{self.name}[i]++;']

    def handle(self, base):
        kind, local = HANDLES[base], f'c_{self.name}'
        if self.array:
            self.handles(base)
        elif '*' not in self.type:
            self.value = f'PMPI_{kind}_f2c(*{self.name})'
        else:
            changed = CHANGED.get(self.function) == self.name
            first = f'PMPI_{kind}_f2c(*{self.name})' if changed else f'{base.upper()}_NULL'
            self.before = [f'{base} {local} = {first};']
            self.value = f'&{local}'
            back = f'*{self.name} = PMPI_{kind}_c2f({local});'
            self.always, self.after = ([back], []) if changed else ([], [back])

    def handles(self, base):
        """An array: of requests, which is changed, or of datatypes."""
        local = f'c_{self.name}'
        kind = {'MPI_Request': 'requests', 'MPI_Datatype': 'types'}[base]
        count = self.count()
        read = f'hark_fortran_{kind}(count_{self.name}, {self.name})'
        if self.function == 'Type_get_contents':
            read = f'hark_fortran_types(count_{self.name}, NULL)'
        self.before = [f'int count_{self.name} = {count};', f'{base} *{local} = {read};']
        self.value = local
        if not self.const:
            self.always = [f'hark_fortran_{kind}_back(count_{self.name}, {self.name}, {local});']
        elif not re.match(r'I|.*_init$', self.function):
            self.freed = [f'free({local});']
        # The arrays of a call that is not completed have to stay: they are not freed.

    def count(self):
        function = self.function.lower()
        if function == 'type_get_contents':
            return '*max_datatypes'
        if 'neighbor' in function:
            side = 'destinations' if self.name == 'sendtypes' else 'sources'
            return f'hark_fortran_{side}(PMPI_Comm_f2c(*comm))'
        if 'alltoallw' in function:
            peers = 'hark_fortran_peers(PMPI_Comm_f2c(*comm))'
            unused = self.name == 'sendtypes'
            return f'fortran_buffer(sendbuf) == MPI_IN_PLACE ? 0 : {peers}' if unused else peers
        return '*incount' if function in ('testsome', 'waitsome') else '*count'

    def string(self):
        self.declared, self.length = f'char *{self.name}', f'int {self.name}_length'
        local = f'c_{self.name}'
        if self.const:
            self.before = [f'char *{local} = hark_fortran_string({self.name}, {self.name}_length);']
            self.freed = [f'free({local});']
        elif self.function == 'Info_get':
            self.before = [f'char *{local} = calloc(1, (size_t)*valuelen + 1);']
            self.freed = [f'free({local});']
        else:
            self.before = [f'char {local}[MPI_MAX_PORT_NAME] = "";']
        self.value = local
        if not self.const:
            when = 'if (*flag) ' if self.function == 'Info_get' else ''
            self.after = [f'{when}hark_fortran_fill({self.name}, {self.name}_length, {local});']

    def allocated(self):
        return any(re.match(r'\w+ \*c_', line) for line in self.before)


def write(prefix, name, text):
    arguments = [Argument(name, one.strip()) for one in text.split(',') if one.strip() != 'void']
    declared = [a.declared for a in arguments] + ['MPI_Fint *ierror']
    declared += [a.length for a in arguments if a.length]
    function = f'o{prefix.lower()}_{name.lower()}_f'
    signature = f'void {function}({", ".join(declared)})'
    call = f'P{prefix}_{name}({", ".join(a.value for a in arguments)})'
    body = [line for a in arguments for line in a.before]
    allocated = [f'!{a.value}' for a in arguments if a.allocated()]
    always = [line for a in arguments for line in a.always]
    after = [line for a in arguments for line in a.after]
    freed = [line for a in arguments for line in a.freed]
    if allocated:
        body += ['*ierror = MPI_ERR_NO_MEM;', f'if ({" || ".join(allocated)}) return;']
    body += [f'*ierror = {call};'] + always
    if after:
        body += ['if (*ierror == MPI_SUCCESS) {'] + [f'    {line}' for line in after] + ['}']
    body += freed
    macro = 'FORTRAN_EXTENSION' if prefix == 'MPIX' else 'FORTRAN_NAMES'
    names = [f'{macro}({name.lower()}, {name.upper()}, {name});']
    if any(a.name == 'baseptr' for a in arguments):
        names += [f'FORTRAN_POINTER({name.lower()}, {name.upper()}, {name});']
    return '\n'.join([f'{signature};', signature, '{'] + [f'    {line}' for line in body] +
                     ['}'] + names + [''])


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


def prototypes(command):
    text = subprocess.run(command + ['-E', '-P', '-xc', '-'], text=True, check=True,
                          input='#include <mpi.h>\n#include <mpi-ext.h>\n',
                          stdout=subprocess.PIPE).stdout
    found = re.findall(r'\b(?:int|double|MPI_Aint)\s+(MPIX?)_(\w+)\s*\(([^;]*)\)\s*;',
                       without_attributes(text))
    return {(prefix, name): re.sub(r'\s+', ' ', arguments) for prefix, name, arguments in found}


def main():
    out, *command = sys.argv[1:]
    with open(out, 'w', encoding='utf-8') as to:
        to.write('/* Made from mpi.h of Open MPI by fortran.py. */\n#include "fortran.h"\n\n'
                 '#pragma GCC visibility push(default)\n\n')
        for (prefix, name), arguments in prototypes(command).items():
            if not ELSEWHERE.fullmatch(f'{prefix}_{name}'):
                to.write(write(prefix, name, arguments) + '\n')
        to.write('#pragma GCC visibility pop\n')


main()
