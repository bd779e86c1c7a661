# Tries doors as the user that runs it. One wish as a line of JSON on standard input; on standard output what came of each
# door: "done" or the system's name for the refusal.
import ctypes
import errno
import json
import os
import platform
import resource
import signal
import socket
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": {"ptrace": 101, "process_vm_readv": 310, "kcmp": 312},
    "aarch64": {"ptrace": 117, "process_vm_readv": 270, "kcmp": 272},
}[platform.machine()] | {"pidfd_getfd": 438}
PTRACE_SEIZE, KCMP_FILE = 0x4206, 0
READ = ("environ", "maps", "smaps", "auxv", "io")
LOOKED_THROUGH = ("cwd", "root", "exe", "ns/net")


class Part(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


def call(name, *arguments):
    wide = [ctypes.c_long(argument) for argument in arguments]
    if LIBC.syscall(ctypes.c_long(NUMBERS[name]), *wide) == -1:
        raise OSError(ctypes.get_errno(), name)


def opened(path, flags=os.O_RDONLY, read=False):
    handle = os.open(path, flags | os.O_CLOEXEC)
    try:
        if read:
            os.read(handle, 1)
    finally:
        os.close(handle)


def made(folder):
    path = os.path.join(folder, ".a-door-that-was-tried")
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    os.unlink(path)


def connected(path):
    with socket.socket(socket.AF_UNIX) as stream:
        stream.settimeout(10)
        stream.connect(path)


def memory(pid):
    # An address that nobody has: a refusal comes before the look at it.
    buffer = ctypes.create_string_buffer(8)
    here, there = Part(ctypes.addressof(buffer), 8), Part(8, 8)
    try:
        call("process_vm_readv", pid, ctypes.addressof(here), 1, ctypes.addressof(there), 1, 0)
    except OSError as error:
        if error.errno != errno.EFAULT:
            raise


def descriptor(pid):
    handle = os.pidfd_open(pid)
    try:
        call("pidfd_getfd", handle, 0, 0)
    finally:
        os.close(handle)


def by_handle(pid):
    handle = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(handle, 0)
    finally:
        os.close(handle)


def listened(family, address, reuse):
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT)[:reuse]:
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(address)
        listener.listen()


def process_doors(pid):
    place = f"/proc/{pid}"
    for name in READ:
        yield f"{name} of the process", lambda name=name: opened(f"{place}/{name}", read=True)
    for name in ("mem", "pagemap"):
        yield f"{name} of the process", lambda name=name: opened(f"{place}/{name}")
    yield "mem of the process, written", lambda: opened(f"{place}/mem", os.O_RDWR)
    for name in ("fd", "fdinfo", "map_files"):
        yield f"{name} of the process", lambda name=name: os.listdir(f"{place}/{name}")
    for name in LOOKED_THROUGH:
        yield f"{name} of the process", lambda name=name: os.readlink(f"{place}/{name}")
    for name in ("clear_refs", "oom_score_adj", "coredump_filter"):
        yield f"{name} of the process, written", lambda name=name: opened(f"{place}/{name}", os.O_WRONLY)
    yield "environ of its thread", lambda: opened(f"{place}/task/{pid}/environ", read=True)
    yield "memory by process_vm_readv", lambda: memory(pid)
    yield "descriptor by pidfd_getfd", lambda: descriptor(pid)
    yield "kcmp", lambda: call("kcmp", pid, os.getpid(), KCMP_FILE, 0, 0)
    yield "limits", lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE)
    yield "priority", lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid))
    yield "processors", lambda: os.sched_setaffinity(pid, os.sched_getaffinity(pid))
    yield "signal by handle", lambda: by_handle(pid)
    yield "ptrace", lambda: call("ptrace", PTRACE_SEIZE, pid, 0, 0)


def doors(wish, pid):
    for path in wish.get("files", ()):
        yield f"read {path}", lambda path=path: opened(path, read=True)
        yield f"write {path}", lambda path=path: opened(path, os.O_WRONLY | os.O_APPEND)
    for path in wish.get("folders", ()):
        yield f"list {path}", lambda path=path: os.listdir(path)
        yield f"a name in {path}", lambda path=path: made(path)
    for path in wish.get("sockets", ()):
        yield f"connect to {path}", lambda path=path: connected(path)
    if pid:
        yield from process_doors(pid)
    for name in wish.get("signals", ()):
        yield f"signal {name}", lambda name=name: os.kill(pid, int(name) if name == "0" else signal.Signals[f"SIG{name}"])
    for port in wish.get("ports", ()):
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for reuse in (1, 2):
                yield f"port of {host}, reuse {reuse}", lambda f=family, h=host, r=reuse: listened(f, (h, port), r)


def outcome(door):
    try:
        door()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return "done"


wish = json.loads(sys.stdin.readline())
# Within one session everybody may continue everybody.
os.setsid()
# A child of its own, which a kernel that lets only parents trace lets it trace as well.
child = subprocess.Popen(["/bin/sleep", "60"]) if wish.get("own") else None
found = {name: outcome(door) for name, door in doors(wish, child.pid if child else wish.get("pid", 0))}
if child:
    child.kill()
    child.wait()
json.dump(found, sys.stdout)
