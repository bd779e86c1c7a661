"""A TLS front for one plain server on this machine: python3 tls_front.py CERTIFICATE KEY UPSTREAM_FILE.

Prints its port, then passes every connection on to the address that stands in UPSTREAM_FILE. Ends when its standard input does.
"""
import os
import socket
import ssl
import sys
import threading


def pump(source, sink):
    try:
        while chunk := source.recv(65536):
            sink.sendall(chunk)
    except OSError:
        pass
    for end in (source, sink):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(context, listener, upstream_file):
    while True:
        plain, _ = listener.accept()
        threading.Thread(target=connect, args=(context, plain, upstream_file), daemon=True).start()


def connect(context, plain, upstream_file):
    try:
        client = context.wrap_socket(plain, server_side=True)
        with open(upstream_file, encoding="ascii") as file:
            host, port = file.read().strip().rsplit(":", 1)
        server = socket.create_connection((host, int(port)))
    except OSError as error:
        print(f"refused: {error}", file=sys.stderr, flush=True)
        plain.close()
        return
    threading.Thread(target=pump, args=(client, server), daemon=True).start()
    pump(server, client)


def main():
    certificate, key, upstream_file = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    threading.Thread(target=serve, args=(context, listener, upstream_file), daemon=True).start()
    sys.stdin.read()
    os._exit(0)


main()
