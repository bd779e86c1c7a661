"""An MCP server that speaks on standard input and output, behind HTTP for peers that speak nothing else.

Usage: stdio_bridge.py COMMAND... Prints its port on 127.0.0.1 and ends when its standard input does. Every `initialize` starts
the command anew and is a session; requests without a session go to one more of it, so their ids must differ. It changes no
message. Of the HTTP rules it knows one: the status of an error without a session, by its code.
"""

import http.server
import json
import os
import queue
import subprocess
import sys
import threading
import uuid

STATUS = {-32601: 404, -32602: 400, -32020: 400, -32021: 400, -32022: 400}
LATE = 60


class Server:
    """One run of the command."""

    def __init__(self):
        self.child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.waiting, self.lock = {}, threading.Lock()
        threading.Thread(target=self.hear, daemon=True).start()

    def hear(self):
        for line in self.child.stdout:
            waits = self.waiting.pop(json.dumps(json.loads(line).get("id")), None)
            if waits is not None:
                waits.put(line.strip())

    def tell(self, message):
        with self.lock:
            self.child.stdin.write(json.dumps(message) + "\n")
            self.child.stdin.flush()

    def ask(self, message):
        waits = self.waiting[json.dumps(message["id"])] = queue.Queue()
        self.tell(message)
        return waits.get(timeout=LATE)


class Sessions:
    def __init__(self):
        self.known, self.lock = {}, threading.Lock()

    def of(self, name, method):
        """The session's name, none without one, and its server."""
        with self.lock:
            if method == "initialize" and name is None:
                name = uuid.uuid4().hex
                self.known[name] = Server()
            elif name is None and None not in self.known:
                self.known[None] = Server()
            return name, self.known.get(name)


SESSIONS = Sessions()


class Front(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=b"", session=None):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if session is not None:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.reply(405)

    do_DELETE = do_GET

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        newest = self.headers.get("mcp-protocol-version", "").startswith("2026")
        method = None if newest else message.get("method")
        session, server = SESSIONS.of(self.headers.get("mcp-session-id"), method)
        if server is None:
            return self.reply(404)
        if "id" not in message or "method" not in message:
            server.tell(message)
            return self.reply(202)
        answer = server.ask(message)
        code = json.loads(answer).get("error", {}).get("code")
        self.reply(200 if session else STATUS.get(code, 200), answer.encode(), session)


class Fronts(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # A client may go away at any time.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def end_with_stdin():
    sys.stdin.read()
    os._exit(0)


threading.Thread(target=end_with_stdin, daemon=True).start()
FRONT = Fronts(("127.0.0.1", 0), Front)
print(FRONT.server_address[1], flush=True)
FRONT.serve_forever()
