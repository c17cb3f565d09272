"""Changes of one line of C, each of which is likely to be a fault.

A change is a mistake of a kind that people make: a comparison that is off by one, `&&` for `||`, a statement that is
missing. Comments, strings and lines of the preprocessor stay as they are. The number of lines stays too.
"""
import hashlib
import re
from typing import NamedTuple


class Change(NamedTuple):
    path: str  # within the sources
    line: int  # from 1
    kind: str
    before: str  # the line, without its end
    after: str
    key: str  # the same for the same change, whatever else is in the file


class Token(NamedTuple):
    kind: str  # name, number, sign
    text: str
    line: int  # from 0
    column: int
    end: int  # column behind it


LEXER = re.compile(r'''
    (?P<skip>//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[ \t\r\n]+)
  | (?P<directive>(?<![^\n])[ \t]*\#(?:\\\n|[^\n])*)
  | (?P<number>\.?[0-9](?:[eEpP][+-]|[\w.])*)
  | (?P<name>[A-Za-z_]\w*)
  | (?P<sign><<=|>>=|\.\.\.|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
''', re.X | re.S)
OTHER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '==', '&&': '||', '||': '&&', '+=': '-=',
         '-=': '+=', '++': '--', '--': '++', '<<': '>>', '>>': '<<', '|=': '&=', '&=': '|=', 'true': 'false',
         'false': 'true', 'break': 'continue', 'continue': 'break'}
BINARY = {'+': '-', '-': '+', '&': '|', '|': '&'}
ASSIGNMENTS = {'=', '+=', '-=', '*=', '/=', '%=', '&=', '|=', '^=', '<<=', '>>='}
KEYWORDS = {'return', 'break', 'continue', 'goto', 'if', 'else', 'while', 'for', 'do', 'switch', 'case', 'default',
            'sizeof', 'static', 'const', 'struct', 'enum', 'union', 'typedef', 'extern', 'inline', 'unsigned', 'int',
            'char', 'bool', 'void', 'long', 'short', 'double', 'float', 'signed', 'va_end', 'va_start',
            '_Static_assert', 'static_assert'}


def tokens_of(text):
    """All that is neither comment, string, blank nor directive; a string is one sign, for what stands beside it."""
    tokens, line, start = [], 0, 0
    for m in LEXER.finditer(text):
        kind, word = m.lastgroup, m.group()
        if kind not in ('skip', 'directive') or word[0] in '"\'':
            column = m.start() - start
            kind = 'string' if word[0] in '"\'' else kind
            tokens.append(Token(kind, word, line, column, column + len(word)))
        newlines = word.count('\n')
        if newlines:
            line += newlines
            start = m.start() + word.rfind('\n') + 1
    return tokens


def partners_of(tokens):
    """For the number of each opening bracket that of its closing one, and the other way round."""
    partner, opened = {}, []
    for i, t in enumerate(tokens):
        if t.text in ('(', '[', '{'):
            opened.append(i)
        elif t.text in (')', ']', '}') and opened:
            partner[i] = opened.pop()
            partner[partner[i]] = i
    return partner


def begins_statement(tokens, partner, i):
    before = tokens[i - 1].text if i else ';'
    if before in (';', '{', '}', 'else', 'do'):
        return True
    if before == ':':  # of a case, not of a condition's two values
        k = i - 2
        while k >= 0 and tokens[k].text not in (';', '{', '}', '?', ':'):
            if tokens[k].text in ('case', 'default'):
                return True
            k -= 1
        return False
    if before == ')':
        opening = partner.get(i - 1, 0)
        return opening > 0 and tokens[opening - 1].text in ('if', 'while', 'for')
    return False


def end_of_statement(tokens, partner, i):
    """The number of the semicolon that ends the statement which begins at i; None if that is on another line."""
    line = tokens[i].line
    while i < len(tokens) and tokens[i].line == line:
        if tokens[i].text == ';':
            return i
        if tokens[i].text in ('{', '}'):
            return None
        i = partner.get(i, i) + 1 if tokens[i].text in ('(', '[') else i + 1
    return None


def is_removable(statement):
    """An assignment, a step or a call, but no declaration and nothing that directs the flow."""
    if statement[0].kind == 'name' and statement[0].text in KEYWORDS:
        return None
    depth = 0
    for k, t in enumerate(statement):
        depth += (t.text in '([') - (t.text in ')]') if t.kind == 'sign' and len(t.text) == 1 else 0
        if depth == 0 and t.text in ASSIGNMENTS:
            left = statement[:k]
            declared = any(a.kind == b.kind == 'name' for a, b in zip(left, left[1:])) or \
                any(a.kind == 'name' and b.text == '*' for a, b in zip(left, left[1:]))
            return None if declared else 'assignment removed'
    texts = [t.text for t in statement]
    if texts[0] in ('++', '--') or texts[-1] in ('++', '--'):
        return 'step removed'
    if texts[:3] == ['(', 'void', ')']:
        texts = texts[3:]
    if len(texts) > 2 and statement[-len(texts)].kind == 'name' and texts[1] == '(' and texts[-1] == ')':
        return 'call removed'
    return None


def is_hint(tokens, partner, i):
    """The last argument of __builtin_expect, which says only what is usual."""
    opening = partner.get(i + 1, 0)
    return tokens[i - 1].text == ',' and opening > 0 and tokens[opening - 1].text == '__builtin_expect'


def token_changes(tokens, partner):
    """(kind, line, column, end, what stands there instead) of changes of one token each."""
    for i, t in enumerate(tokens):
        before = tokens[i - 1] if i else t
        after = tokens[i + 1] if i + 1 < len(tokens) else t
        operand = before.kind in ('name', 'number') and before.text not in ('return', 'case') or before.text in ')]'
        apart = before.line != t.line or before.end < t.column  # else it is of one operand
        if t.kind in ('sign', 'name') and t.text in OTHER:
            yield OTHER[t.text] + ' for ' + t.text, t.line, t.column, t.end, OTHER[t.text]
        elif t.text in BINARY and operand and apart and after.column > t.end:
            yield BINARY[t.text] + ' for ' + t.text, t.line, t.column, t.end, BINARY[t.text]
        elif t.kind == 'number' and re.fullmatch('[01][uUlL]*', t.text) and not is_hint(tokens, partner, i):
            yield 'another constant', t.line, t.column, t.column + 1, '10'[int(t.text[0])]
        elif t.text == '!' and after.line == t.line:
            yield 'not removed', t.line, t.column, t.end, ''
        elif t.text in ('if', 'while') and after.text == '(' and i + 1 in partner:
            last = tokens[partner[i + 1]]
            if last.line == t.line:
                yield 'condition negated', t.line, after.end, last.column, None


def statement_changes(tokens, partner):
    for i, t in enumerate(tokens):
        if t.kind not in ('name', 'sign') or not (t.text == 'return' or begins_statement(tokens, partner, i)):
            continue
        end = end_of_statement(tokens, partner, i)
        if end is None or end == i:
            continue
        if t.text == 'return' and end > i + 1:
            value = ''.join(x.text for x in tokens[i + 1:end])
            instead = '-1' if value in ('0', 'HARK_OK') else '0'
            yield 'another status', t.line, tokens[i + 1].column, tokens[end].column, instead
        elif t.text != 'return':
            kind = is_removable(tokens[i:end])
            if kind:
                yield kind, t.line, t.column, tokens[end].column, '(void)0'


def changes_of(path, text, seed):
    """All changes of a file. In the order of their keys, which come of the seed, they are as if drawn by chance, and
    one that has been drawn stays so when other lines of the file change."""
    lines = text.split('\n')
    tokens = tokens_of(text)
    partner = partners_of(tokens)
    inside = {}  # lines of function bodies and of others: only where code is
    depth = 0
    for t in tokens:
        inside[t.line] = inside.get(t.line, False) or depth > 0
        depth += (t.text == '{') - (t.text == '}')
    times = {}
    count = []
    for line in lines:
        count.append(times.get(line.strip(), 0))
        times[line.strip()] = count[-1] + 1
    nth = {}
    for kind, line, column, end, instead in (*token_changes(tokens, partner), *statement_changes(tokens, partner)):
        before = lines[line]
        if not inside.get(line) or kind[-2:] in ('++', '--') and before.lstrip().startswith('for ('):
            continue  # such a loop would hardly end
        if instead is None:
            instead = '!(' + before[column:end] + ')'
        nth[line, kind] = nth.get((line, kind), 0) + 1
        name = '\0'.join((str(seed), path, before.strip(), str(count[line]), kind, str(nth[line, kind])))
        key = hashlib.sha256(name.encode()).hexdigest()
        yield Change(path, line + 1, kind, before, before[:column] + instead + before[end:], key)


def normal(line):
    return ' '.join(line.split())
