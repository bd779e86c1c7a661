"""A terminal for a test: runs a program on a pseudo terminal of its own and carries bytes both ways.

Usage: terminal.py PROGRAM [ARGUMENT...]. The first line of its output is "pid N", the program's process; everything
after it is what the program shows. What comes on standard input is typed, so a byte 3 is Ctrl-C. When standard input
ends, the terminal goes away as if its window were closed. Ends with the program's own exit code, or 128 and the signal.
The terminal is 100 columns wide, or what TERMINAL_COLUMNS says.
"""

import errno
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios

SIZE = struct.pack("HHHH", 50, int(os.environ.get("TERMINAL_COLUMNS", "100")), 0, 0)


def run(program: list[str]) -> int:
    """Runs the program to its end and gives its exit code."""
    pid, terminal = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, SIZE)
        # Whatever started the tests may ignore these; a person's shell does not.
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        try:
            os.execv(program[0], program)
        finally:
            os._exit(127)
    os.write(1, b"pid %d\n" % pid)
    carry(terminal)
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def carry(terminal: int) -> None:
    """Carries bytes until the program or standard input ends."""
    while True:
        ready, _, _ = select.select([0, terminal], [], [])
        if terminal in ready:
            try:
                shown = os.read(terminal, 65536)
            except OSError as error:
                # Linux says so when the last process with the terminal open is gone.
                if error.errno != errno.EIO:
                    raise
                return
            if not shown:
                return
            os.write(1, shown)
        if 0 in ready:
            typed = os.read(0, 65536)
            if not typed:
                return
            os.write(terminal, typed)


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
