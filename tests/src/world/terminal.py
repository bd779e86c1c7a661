"""Runs a command at a pseudo terminal: argv is the steps as JSON, then the command.

Each step is [text to wait for, seconds to read, line to type]. Prints what stood on the terminal; the exit code is the
command's.
"""

import json
import os
import pty
import select
import sys
import time

PATIENCE = 60

steps, command = json.loads(sys.argv[1]), sys.argv[2:]
pid, terminal = pty.fork()
if pid == 0:
    os.execv(command[0], command)

deadline = time.monotonic() + PATIENCE
seen, start, over = b"", 0, False


def more():
    """Reads once; tells whether the command may still say something."""
    global seen
    ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
    if not ready:
        return False
    try:
        chunk = os.read(terminal, 65536)
    except OSError:
        return False
    seen += chunk
    return bool(chunk)


for wanted, seconds, line in steps:
    while not over and wanted.encode() not in seen[start:]:
        over = not more()
    if over:
        break
    start = seen.index(wanted.encode(), start) + len(wanted)
    time.sleep(seconds)
    os.write(terminal, line.encode() + b"\r")
while not over:
    over = not more()

sys.stdout.buffer.write(seen)
sys.stdout.buffer.flush()
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
