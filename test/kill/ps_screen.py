#!/usr/bin/env python3
"""`hark ps` on a terminal: it is shown again and again, as the job goes on; q and Ctrl-C end it, and so does the end of the job; the
terminal is as it was. ps_screen.py HARK OBEDIENT"""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

PATIENCE = 60  # seconds
passed = failed = 0


def check(good, what):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print('FAILED', what)


def wait_for(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < end:
        os.sched_yield()
    check(condition(), what)


class Screen:
    """A command on a terminal of its own."""

    def __init__(self, *command, rows=30, columns=120):
        self.shown = b''
        self.terminal, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))
        self.before = termios.tcgetattr(other)
        self.other = other
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, preexec_fn=self.own)

    @staticmethod
    def own():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def until(self, pattern):
        """Reads on until a frame has that; what is before is forgotten."""
        end = time.monotonic() + PATIENCE
        while not (found := re.search(pattern, self.shown, re.DOTALL)) and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.2)[0]:
                self.shown += os.read(self.terminal, 65536)
        check(found, f'{pattern}: found {self.shown[-600:]}')
        text = found.group() if found else b''
        self.shown = self.shown[found.end():] if found else b''
        return text

    def ends(self, status, what):
        check(self.process.wait(PATIENCE) == status, f'{what}: status {self.process.returncode}, expected {status}')
        check(termios.tcgetattr(self.other)[3] == self.before[3], f'{what}: the terminal is as it was')
        os.close(self.other)
        os.close(self.terminal)


def main():
    hark, obedient = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        os.mkdir('t')
        os.environ.update(PLACE=place, TMPDIR=f'{place}/t')
        run = subprocess.Popen([hark, 'run', '-n', '3', '--protocol', 'coordinated', '--interval', '0', '--', obedient, 'make=up',
                                'steps-until=go'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: all(os.path.exists(f'up.{r}') for r in range(3)), 'it is up')
        job = Screen(hark, 'ps', str(run.pid))
        job.until(rb'\x1b\[2J.*RANK  STATE.*\r\n +2  [a-z]+ +0 .* 0\x1b\[K\r\n.*\x1b\[J')
        job.until(rb'0 failures.*RANK  STATE.*\x1b\[J')
        check(not termios.tcgetattr(job.other)[3] & termios.ECHO, 'keys are not shown')
        with open('up.1', encoding='ascii') as f:
            os.kill(int(f.read()), signal.SIGKILL)
        job.until(rb'1 failure, 1 recovery.*\r\n +2  [a-z]+ +1 .* 1\x1b\[K\r\n.*\x1b\[J')
        os.write(job.terminal, b'x')
        job.until(rb'\x1b\[H.*\x1b\[J')
        os.write(job.terminal, b'q')
        job.ends(0, 'q')
        every = Screen(hark, 'ps')
        every.until(rb'JOB  .*hark-%d-.*\x1b\[J' % run.pid)
        every.until(rb'\x1b\[H.*hark-%d-.*\x1b\[J' % run.pid)
        os.write(every.terminal, b'\x03')
        every.ends(0, 'Ctrl-C')
        small = Screen(hark, 'ps', str(run.pid), rows=5, columns=20)
        text = small.until(rb'\x1b\[2J\x1b\[H.*\x1b\[J')
        lines = text.replace(b'\x1b[2J\x1b[H', b'').split(b'\x1b[K\r\n')
        check(lines[3:] == [b'3 lines more: see --once', b'\x1b[J'] and all(len(line) == 20 for line in lines[1:3]), f'a small one: {lines}')
        small.process.send_signal(signal.SIGTERM)
        small.ends(128 + signal.SIGTERM, 'SIGTERM')
        last = Screen(hark, 'ps', str(run.pid))
        last.until(rb'RANK  STATE.*\x1b\[J')
        run.send_signal(signal.SIGSTOP)
        last.until(rb'\x1b\[Hhark-%d-[0-9a-f]*: its hark run, process %d, has not answered within 2 s: it is stopped\x1b\[K' % (run.pid, run.pid))
        run.send_signal(signal.SIGCONT)
        last.until(rb'\x1b\[Hjob hark-%d.*RANK  STATE.*\x1b\[J' % run.pid)
        with open('go', 'w', encoding='ascii'):
            pass
        check(run.wait(PATIENCE) == 0, 'the job: status')
        last.until(rb'job hark-%d-[0-9a-f]* has ended\r\n' % run.pid)
        last.ends(0, 'the end of the job')
        check(os.listdir('t') == [], 'nothing is left')
    print(f'{passed} passed, {failed} failed')
    return failed != 0


sys.exit(main())
