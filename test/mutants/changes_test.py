#!/usr/bin/env python3
"""What changes.py changes, and what it leaves."""
import sys

sys.dont_write_bytecode = True
import changes  # noqa: E402

passed = failed = 0


def check(what, expected, found):
    global passed, failed
    if expected == found:
        passed += 1
    else:
        failed += 1
        print(f'FAILED {what}: expected {expected}, found {found}')


def after(*lines):
    """The statements, within a function, and all that a change makes of one of them."""
    text = '\n'.join(('void f(void)', '{', *lines, '}', ''))
    return {c.after.strip() for c in changes.changes_of('a.c', text, 1)}


check('comparison', {'if (a <= b) x += y;', 'if (!(a < b)) x += y;', 'if (a < b) x -= y;', 'if (a < b) (void)0;'},
      after('if (a < b) x += y;'))
check('condition of two', {'while (a || !b)', 'while (a && b)', 'while (!(a && !b))'}, after('while (a && !b)'))
check('status', {'return -1;', 'return 1;'}, after('return 0;'))
check('status of a call', {'return 0;'}, after('return g(a, b);'))
check('call', {'(void)0;'}, after('(void)g(a);'))
check('call for a declaration', set(), after('int s = g(b);'))
check('declaration', set(), after('struct s *a = b;'))
check('assignment through a pointer', {'(void)0;'}, after('*a = b;'))
check('constants', {'a[1] = b;', '(void)0;'}, after('a[0] = b;'))
check('not another constant', {'(void)0;'}, after('a[10] = b;'))
check('flow', {'break;'}, after('continue;'))
check('a case', {'case 3: (void)0; break;', 'case 3: g(); continue;'}, after('case 3: g(); break;'))
check('what is usual', set(),
      {x for x in after('if (__builtin_expect(a == 1, 0)) continue;') if x.endswith('1)) continue;')})
check('sum', {'(void)0;', 'a = b - c;'}, after('a = b + c;'))
check('sign', {'(void)0;'}, after('a = -c;'))
check('pointer', {'(void)0;'}, after('a = &c;'))
check('bits', {'(void)0;', 'a |= b | c;', 'a &= b & c;'}, after('a |= b & c;'))
check('loop', {'for (i = 0; i < n; i++) (void)0;', 'for (i = 0; i <= n; i++) g();', 'for (i = 1; i < n; i++) g();'},
      after('for (i = 0; i < n; i++) g();'))
check('comment, string, character', {'(void)0; /* a && b */ // x = 1;'},
      after('g("a < 1", \'0\'); /* a && b */ // x = 1;'))
check('comment of lines', set(), after('/* a = 1;', ' * b = 1;', ' */'))
check('directive', set(), after('#if A == 1 && B', '#endif'))
check('outside of functions', [], list(changes.changes_of('a.c', 'int a = 0;\n#define A (B == 1)\n', 1)))
check('lines', [3, 3], [c.line for c in changes.changes_of('a.c', 'void f(void)\n{\n    a = 1;\n}\n', 1)])

text = 'void f(void)\n{\n    a = 1;\n    b = 1;\n}\n'
one = {c.key for c in changes.changes_of('a.c', text, 1)}
more = {c.key for c in changes.changes_of('a.c', text.replace('{\n', '{\n    int c;\n    d = c;\n'), 1)}
check('keys stay when other lines come', True, one < more)
check('every change has its key', 4, len(one))
check('another seed, other keys', set(), one & {c.key for c in changes.changes_of('a.c', text, 2)})

print(f'{passed} passed, {failed} failed')
sys.exit(1 if failed or not passed else 0)
