# An assistant that belongs to somebody else now: everything at once, as its user, against all that this user can reach. One
# wish as a line of JSON on standard input; on standard output what came of it.
import collections
import json
import os
import random
import resource
import socket
import struct
import sys
import threading
import time

GONE = (BrokenPipeError, ConnectionResetError, ConnectionRefusedError, TimeoutError, BlockingIOError)
HELD = 300

wish = json.loads(sys.stdin.readline())
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
words = [bytes.fromhex(word) for word in wish["words"]]
session = [bytes.fromhex(word) for word in wish["session"]]
counts, lock = collections.Counter(), threading.Lock()


def count(what, many=1):
    with lock:
        counts[what] += many


def frame(word):
    return struct.pack(">I", len(word)) + word


def propose():
    stream = socket.socket(socket.AF_UNIX)
    stream.settimeout(5)
    stream.connect(wish["propose"])
    return stream


def page(patience=5):
    return socket.create_connection(("127.0.0.1", wish["port"]), timeout=patience)


def said(stream, data):
    try:
        stream.sendall(data)
        return stream.recv(65536)
    except GONE:
        return b""


# Connections that say a hello and stay, the oldest going when there are too many.
def crowd(make, many, first):
    held = collections.deque()
    for _ in range(many):
        try:
            stream = make()
        except GONE:
            count("connections refused")
            continue
        count("connections")
        held.append(stream)
        try:
            stream.setblocking(False)
            stream.send(first)
        except GONE:
            pass
        if len(held) > HELD:
            held.popleft().close()


def replays(many):
    for _ in range(many):
        with propose() as stream:
            for word in session:
                if said(stream, frame(word)):
                    count("answers to replays")


# Every known word, its prefixes, with bits turned over and with more behind it, as the first one and after a hello.
def forged():
    dice = random.Random(7)
    for number in range(wish["forged"]):
        word = bytearray(dice.choice(words))
        if number % 4 == 0:
            word = word[: dice.randrange(len(word) + 1)]
        elif number % 4 == 1:
            word[dice.randrange(len(word))] ^= 1 << dice.randrange(8)
        elif number % 4 == 2:
            word += dice.randbytes(dice.randrange(1, 64))
        with propose() as stream:
            if number % 2:
                said(stream, frame(session[0]))
            said(stream, frame(bytes(word)))
            count("forged")


def oversized():
    for length in (2**32 - 1, 2**31, 2**28, 2**18 + 1, 2**18):
        for _ in range(8):
            with propose() as stream:
                said(stream, frame(session[0]))
                try:
                    stream.sendall(struct.pack(">I", length))
                    for _ in range(64):
                        stream.sendall(b"\xff" * 65536)
                except GONE:
                    pass
                count("oversized")


def slow():
    makers = [(propose, frame(session[0])), (page, b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"A: b\r\n" * 500)]
    held = [(make(), text) for make, text in makers for _ in range(20)]
    for place in range(wish["seconds"] * 10):
        for stream, text in held:
            try:
                stream.send(text[place : place + 1] or b"x")
            except OSError:
                count("slow ones ended")
        time.sleep(0.1)


def guesses():
    for text in wish["requests"]:
        try:
            with page() as stream:
                stream.settimeout(20)
                stream.sendall(bytes.fromhex(text))
                answer = b""
                while part := stream.recv(65536):
                    answer += part
            count("page " + (answer.split(b" ")[1].decode() if answer else "silent"))
            if b"set-cookie" in answer.lower():
                count("cookies")
        except GONE:
            count("page silent")


def control():
    for _ in range(200):
        try:
            with socket.socket(socket.AF_UNIX) as stream:
                stream.connect(wish["control"])
                count("control reached")
        except PermissionError:
            count("control shut")


jobs = [
    lambda: crowd(propose, wish["connections"] - wish["of the page"], frame(session[0])),
    lambda: crowd(lambda: page(0.2), wish["of the page"], b"GET / HTTP/1.1\r\n"),
    lambda: replays(wish["replays"]),
    forged,
    oversized,
    slow,
    guesses,
    control,
]


def alone(job):
    try:
        job()
    except GONE:
        count("cut short")


# These are heard before the crowd comes.
replays(10)
threads = [threading.Thread(target=alone, args=(job,)) for job in jobs]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
json.dump(counts, sys.stdout)
sys.stdout.flush()
os._exit(0)
