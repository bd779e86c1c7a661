# Speaks to a socket, or searches processes and folders, as the user that runs it. One wish as JSON on standard input, one
# answer as JSON on standard output.
import json
import os
import socket
import stat
import struct
import sys

GONE = (BrokenPipeError, ConnectionResetError)
MOST = 64 * 1024 * 1024


def whole(stream, count):
    got = b""
    while len(got) < count:
        part = stream.recv(count - len(got))
        if not part:
            return None
        got += part
    return got


def frames(wish):
    answers = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.settimeout(60)
        stream.connect(wish["path"])
        try:
            for frame in map(bytes.fromhex, wish["frames"]):
                stream.sendall(struct.pack(">I", len(frame)) + frame)
                length = whole(stream, 4)
                if length is None:
                    break
                answers.append(whole(stream, struct.unpack(">I", length)[0]).hex())
        except GONE:
            pass
    return answers


def http(wish):
    host, port = wish["address"].split(":")
    answer = b""
    with socket.create_connection((host, int(port)), timeout=60) as stream:
        try:
            stream.sendall(bytes.fromhex(wish["bytes"]))
            while part := stream.recv(65536):
                answer += part
        except GONE:
            pass
    return answer.hex()


class Search:
    def __init__(self, needles):
        self.needles = [(name, bytes.fromhex(digits)) for name, digits in needles]
        self.found, self.denied, self.read = [], [], 0

    def look(self, name, content):
        self.read += 1
        self.found += [f"{name}: {what}" for what, needle in self.needles if needle in content]

    def file(self, path):
        try:
            with open(path, "rb") as file:
                self.look(path, file.read(MOST))
        except PermissionError:
            self.denied.append(path)
        except OSError:
            pass

    def folder(self, top):
        def unread(error):
            self.denied.append(error.filename)

        for place, _, names in os.walk(top, onerror=unread):
            for name in names:
                path = os.path.join(place, name)
                try:
                    plain = stat.S_ISREG(os.lstat(path).st_mode)
                except OSError:
                    continue
                if plain:
                    self.file(path)

    # Its memory itself is only tried: whoever may open it holds everything.
    def process(self, pid):
        for name in ("cmdline", "environ", "maps"):
            self.file(f"/proc/{pid}/{name}")
        try:
            with open(f"/proc/{pid}/mem", "rb"):
                pass
        except PermissionError:
            self.denied.append(f"/proc/{pid}/mem")
        except OSError:
            pass
        try:
            descriptors = os.listdir(f"/proc/{pid}/fd")
        except PermissionError:
            self.denied.append(f"/proc/{pid}/fd")
            return
        except OSError:
            return
        for descriptor in descriptors:
            path = f"/proc/{pid}/fd/{descriptor}"
            try:
                self.look(path, os.readlink(path).encode())
                plain = stat.S_ISREG(os.stat(path).st_mode)
            except OSError:
                continue
            if plain:
                self.file(path)


def search(wish):
    look = Search(wish["needles"])
    # This process was told what to look for.
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    for pid in wish["pids"] or others:
        look.process(pid)
    for folder in wish["folders"]:
        look.folder(folder)
    return {"found": look.found, "denied": look.denied, "read": look.read}


wish = json.load(sys.stdin)
json.dump({"frames": frames, "http": http, "search": search}[wish["do"]](wish), sys.stdout)
