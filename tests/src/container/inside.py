"""What the tests do inside the container, one command each; prints JSON."""

import ctypes
import errno
import json
import mmap
import os
import pty
import re
import select
import socket
import struct
import sys
import time
import urllib.error
import urllib.request

PATIENCE = 90
PLAIN = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url, headers=()):
    """Status and body of a page, redirects followed."""
    try:
        with PLAIN.open(urllib.request.Request(url, headers=dict(headers)), timeout=60) as answer:
            return {"status": answer.status, "body": answer.read().decode("utf-8", "replace")}
    except urllib.error.HTTPError as error:
        return {"status": error.code, "body": error.read().decode("utf-8", "replace")}
    except OSError as error:
        return {"status": 0, "body": str(error)}


def post(url, body, headers):
    """Status and body of what a JSON text is answered with."""
    request = urllib.request.Request(url, body.encode(), dict(headers, **{"content-type": "application/json"}))
    with PLAIN.open(request, timeout=60) as answer:
        return {"status": answer.status, "body": answer.read().decode("utf-8", "replace")}


def bind(port):
    """What the system says to somebody who wants this port too."""
    taker = socket.socket()
    for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
        taker.setsockopt(socket.SOL_SOCKET, option, 1)
    return tried(lambda: (taker.bind(("127.0.0.1", port)), taker.listen()))


def peer(path):
    """The uid of whoever listens there."""
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(10)
    try:
        caller.connect(path)
    except OSError as error:
        return errno.errorcode[error.errno]
    _, uid, _ = struct.unpack("3i", caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return uid


def at_terminal(steps, command):
    """Runs a command at a terminal. A step waits for a text, reads for so many seconds, and types a line; or it waits for a
    link and signs in there with an account."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    deadline, seen, start, over = time.monotonic() + PATIENCE, b"", 0, False
    for wanted, seconds, line, account in steps + [[None, 0, None, None]]:
        found = None
        while found is None and not over:
            found = wanted and re.compile(wanted.encode()).search(seen, start)
            if found is None:
                ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
                try:
                    more = os.read(terminal, 65536) if ready else b""
                except OSError:
                    more = b""
                seen, over = seen + more, not more
        if found is None:
            break
        start = found.end()
        time.sleep(seconds)
        if account:
            page = get(found.group().decode() + "&account=" + account)
            if page["status"] != 200:
                seen, over = seen + json.dumps(page).encode(), True
        else:
            os.write(terminal, line.encode() + b"\r")
    os.close(terminal)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return {"exit": code, "text": seen.decode("utf-8", "replace").replace("\r\n", "\n")}


def tried(act):
    """"done", or the name of the system's error."""
    try:
        act()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return "done"


def made(path):
    """Writes a new file and takes it away again."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    os.unlink(path)


def called(name, *arguments):
    """One call of the C library that may fail."""
    library = ctypes.CDLL(None, use_errno=True)

    def act():
        if getattr(library, name)(*arguments) == -1:
            raise OSError(ctypes.get_errno(), name)

    return tried(act)


def probe(state, closed, marker, everybodys):
    """What the system lets a process do where it is started as a service."""
    with open("/proc/self/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file)
    mask = os.umask(0o077)
    mine = f"{state}/probe-{os.getpid()}"
    made_file = tried(lambda: os.close(os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)))
    set_group = tried(lambda: os.chmod(mine, 0o2700))
    if made_file == "done":
        os.unlink(mine)
    new_user, traced, personality = 0x10000000, 0, 0x0008
    return {
        "no new privileges": status["NoNewPrivs"].strip(),
        "system calls filtered": status["Seccomp"].strip(),
        "rights": "some" if int(status["CapEff"], 16) else "none",
        "rights ever": "some" if int(status["CapBnd"], 16) else "none",
        "umask": f"{mask:04o}",
        "write to its state": made_file,
        "write to /usr": tried(lambda: made("/usr/fleetwatch-probe")),
        "write to /etc": tried(lambda: made("/etc/fleetwatch-probe")),
        "write where all may": tried(lambda: made(f"{everybodys}/probe")),
        "look into /home": tried(lambda: os.listdir("/home")),
        "look into the other's state": tried(lambda: os.listdir(closed)),
        "mode of the other's state": f"{os.stat(closed).st_mode & 0o777:04o}",
        "see a file in /tmp": tried(lambda: os.stat(marker)),
        "see other processes": tried(lambda: os.stat("/proc/1")),
        "set a group bit": set_group,
        "netlink socket": tried(lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()),
        "internet socket": tried(lambda: socket.socket(socket.AF_INET).close()),
        "code in writable memory": tried(lambda: mmap.mmap(-1, 4096, prot=7).close()),
        "new namespace": called("unshare", new_user),
        "be traced": called("ptrace", traced, 0, 0, 0),
        "personality": called("personality", personality),
    }


def main(command, *rest):
    if command == "get":
        return get(rest[0], [pair.split("=", 1) for pair in rest[1:]])
    if command == "post":
        return post(rest[0], rest[1], [pair.split("=", 1) for pair in rest[2:]])
    if command == "bind":
        return bind(int(rest[0]))
    if command == "peer":
        return peer(rest[0])
    if command == "terminal":
        return at_terminal(json.loads(rest[0]), rest[1:])
    if command == "probe":
        return probe(*rest)
    raise SystemExit(f"there is no {command}")


print(json.dumps(main(*sys.argv[1:])), flush=True)
