# Two programs for one theft. "server": listens on a free port of 127.0.0.1 as the user that runs it, prints the port, and when
# its input ends the cookies that browsers sent there. "browser": signs in on the page with a code, goes to another port of
# the same host, and comes back; its cookie jar is Python's own.
import http.cookiejar
import http.server
import json
import os
import sys
import threading
import urllib.error
import urllib.request


def server(_):
    stolen = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            stolen.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            # Planted, in the hope that the page takes it.
            self.send_header("Set-Cookie", "fleetwatch_approve=planted; Path=/card")
            self.end_headers()

        def log_message(self, *_):
            pass

    listener = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    print(listener.server_address[1], flush=True)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    sys.stdin.read()
    print(json.dumps(stolen), flush=True)
    os._exit(0)


def browser(wish):
    page, elsewhere = (f"http://127.0.0.1:{wish[name]}" for name in ("page", "elsewhere"))
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    )

    def status(address, data=None):
        headers = {"Origin": page, "Sec-Fetch-Site": "same-origin"} if data else {}
        try:
            with opener.open(urllib.request.Request(address, data, headers), timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    steps = [status(page + "/login", f"code={wish['code']}".encode()), status(page + "/")]
    steps += [status(elsewhere + "/"), status(page + "/")]
    print(json.dumps(steps), flush=True)


wish = json.loads(sys.stdin.readline())
{"server": server, "browser": browser}[wish["do"]](wish)
