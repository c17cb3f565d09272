#!/usr/bin/env python3
"""A terminal as standard input: terminal.py HARK INPUT. In the foreground rank 0 gets its lines; in the background
hark run leaves them to the shell, and is not stopped by them."""
import os
import pty
import select
import sys
import time

PATIENCE = 30  # seconds
passed, failed, shown = 0, 0, b''


def expect(text, what):
    """Waits for that in what the terminal shows, and forgets all up to there."""
    global passed, failed, shown
    end = time.monotonic() + PATIENCE
    while text not in shown and time.monotonic() < end:
        if select.select([terminal], [], [], 0.2)[0]:
            shown += os.read(terminal, 4096)
    if text in shown:
        passed += 1
        shown = shown[shown.index(text) + len(text):]
    else:
        failed += 1
        print(f'FAILED {what}: expected {text}, found {shown[-400:]}')


def type_in(text):
    os.write(terminal, text.encode())


shell, terminal = pty.fork()
if shell == 0:
    os.environ['PS1'] = '$ '
    os.execvp('bash', ['bash', '--norc', '-i'])
run = f'{sys.argv[1]} run -n 2 --protocol none -- sh -c \'echo u""p; exec {sys.argv[2]} stdio\''
expect(b'$ ', 'a shell')
type_in(run + '\n')
expect(b'up\r\n', 'in the foreground')
type_in('5\n')
expect(b'1: 5', 'a first line')
type_in('6\n')
expect(b'2: 11', 'a second line')
type_in('\x04')
expect(b'$ ', 'the end of the input')
type_in(run + ' &\n')
expect(b'up\r\n', 'in the background')
type_in('echo al""ive\n')
expect(b'alive', 'the shell has its terminal')
type_in('jobs\n')
expect(b'Running', 'the job was not stopped')
type_in('fg\n')
expect(b'stdio', 'back in the foreground')
type_in('7\n')
expect(b'1: 7', 'a first line, later')
type_in('\x1a')
expect(b'Stopped', 'stopped by the terminal')
type_in('fg\n')
expect(b'stdio', 'back in the foreground, again')
type_in('8\n')
expect(b'2: 15', 'a line after that')
type_in('\x03')
expect(b'$ ', 'interrupted')
type_in('echo st=$?\n')
expect(b'st=130', 'by SIGINT')
type_in('exit\n')
os.close(terminal)
os.waitpid(shell, 0)
print(f'{passed} passed, {failed} failed')
sys.exit(failed != 0)
