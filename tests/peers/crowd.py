"""A crowd before the executor's doors, from a process of its own: python3 crowd.py PAGE_PORT COUNT [SOCKET...].

Opens COUNT connections to every Unix socket and says nothing on them; keeps COUNT idle connections open to the page and
puts a new one in the place of each that the page ends. Prints "there" once all are open. Ends when its standard input does.
"""
import os
import resource
import select
import socket
import sys
import threading

PORT, COUNT, SOCKETS = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]


def page():
    connection = socket.create_connection(("127.0.0.1", PORT), timeout=10)
    connection.setblocking(False)
    return connection


def silent(path):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(path)
    return connection


def replace(held):
    """Reads what came; whoever was ended is replaced."""
    poll = select.poll()
    by_number = {connection.fileno(): connection for connection in held}
    for number in by_number:
        poll.register(number, select.POLLIN | select.POLLHUP)
    for number, _ in poll.poll(200):
        connection = by_number[number]
        try:
            gone = not connection.recv(65536)
        except OSError:
            gone = True
        if gone:
            connection.close()
            held.remove(connection)
            try:
                held.append(page())
            except OSError:
                pass


def main():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    silent_ones = [silent(path) for path in SOCKETS for _ in range(COUNT)]
    held = [page() for _ in range(COUNT)]
    print("there", len(silent_ones) + len(held), flush=True)

    def wait_for_end():
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=wait_for_end, daemon=True).start()
    while True:
        replace(held)


main()
