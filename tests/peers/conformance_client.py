"""A person with a browser, as the client of the MCP conformance suite: a new assistant, `fleetwatchctl login`, one question.

Usage: conformance_client.py BINARIES URL, with the scenario's name in MCP_CONFORMANCE_SCENARIO. The suite starts it once a
scenario. When the sign-in is over after the question, the person signs in once more, as `status` advises. The first line of
its output is "signed-in" or "refused"; exit 1 when nobody is signed in.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.request

BINARIES, URL = pathlib.Path(sys.argv[1]), sys.argv[2]
POLICY = pathlib.Path(__file__).resolve().parents[2] / "policy" / "tool_policy.yaml"
BEHAVIOUR = "autonomy: observe\ndry_run: false\ntimezone: UTC\n"
# For one step on a busy machine.
PATIENCE = 60
BROWSER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def settings(folder):
    me = str(os.getuid())
    return {
        "PATH": os.environ.get("PATH", ""),
        "FLEETWATCH_RUN_DIR": str(folder / "run"),
        "FLEETWATCH_POLICY_DIR": str(folder / "policy"),
        "FLEETWATCH_SLOT": "sim",
        "FLEETWATCH_ASSISTANT_USER": me,
        "FLEETWATCH_EXECUTOR_USER": me,
        "FLEETWATCH_EPIPHAN_MCP_URL": URL,
        "FLEETWATCH_ASSISTANT_STATE_DIR": str(folder / "assistant"),
        "FLEETWATCH_OAUTH_CALLBACK_PORT": "0",
    }


def ctl(folder, *words, **more):
    command = [BINARIES / "fleetwatchctl", "--run-dir", folder / "run", *words]
    # No terminal: nothing may be asked of a person there.
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # The suite's servers are on this machine: only for the simulator's slot is such a link shown.
        env={"PATH": os.environ.get("PATH", ""), "FLEETWATCH_SLOT": "sim"},
        **more,
    )


def sign_in(folder):
    """Whether it worked; what went wrong is on standard error."""
    command = ctl(folder, "login")
    link = next((line.strip() for line in command.stdout if line.strip().startswith("http://")), None)
    if link is not None:
        try:
            # Says yes, and follows the server back to the callback.
            BROWSER.open(link, timeout=PATIENCE).read()
        except OSError as error:
            print("the browser:", error, file=sys.stderr)
            command.kill()
    command.stdout.read()
    return command.wait(PATIENCE) == 0


def said(folder, *words):
    command = ctl(folder, *words, stderr=subprocess.DEVNULL)
    text = command.communicate(timeout=PATIENCE)[0]
    return text


def is_signed_in(folder):
    return json.loads(said(folder, "status", "--json"))["assistant"]["sign_in"]


def visit(folder):
    """Whether somebody was signed in by the last of at most two sign-ins."""
    for _ in range(2):
        if not sign_in(folder):
            return False
        said(folder, "ask", "Which rooms are offline?")
        if is_signed_in(folder):
            return True
    return False


def main():
    with tempfile.TemporaryDirectory(prefix="fw-") as name:
        folder = pathlib.Path(name)
        for inner in ("run", "run/ask", "run/propose", "assistant", "policy"):
            (folder / inner).mkdir(mode=0o700)
        (folder / "policy/tool_policy.yaml").write_bytes(POLICY.read_bytes())
        (folder / "policy/policy.yaml").write_text(BEHAVIOUR)
        daemon = subprocess.Popen(
            [BINARIES / "fleetwatch-assistant", "--stop-with-stdin"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=(folder / "log").open("wb"),
            env=settings(folder),
        )
        try:
            until = time.monotonic() + PATIENCE
            while not (folder / "run/ask/ask.sock").exists():
                if daemon.poll() is not None or time.monotonic() > until:
                    sys.exit("the assistant does not start: " + (folder / "log").read_text())
                time.sleep(0.02)
            done = visit(folder)
        finally:
            daemon.kill()
            daemon.wait()
        print("signed-in" if done else "refused")
        return 0 if done else 1


# The suite's other scenarios are about tools that nobody reads here.
if os.environ.get("MCP_CONFORMANCE_SCENARIO", "").startswith("auth/"):
    sys.exit(main())
