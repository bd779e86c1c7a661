"""A small fleet behind a server of the official Python MCP SDK.

It answers as Epiphan's server is known to, so that the reader is tried against a server that is not ours. Nothing
here is a real device. Usage: python_mcp_server.py PORT BEARER [json] [sessions | sessionless | stateless]; it serves
http://127.0.0.1:PORT/mcp, answers in event streams (or in JSON bodies with the word json), and ends when its standard
input does.

The SDK always speaks both handshakes and chooses by the version header, so the last word works on that header: with
sessions or sessionless the newest revision is not heard (the older handshake with or without a session is left), with
stateless every request is taken as the newest revision. For each request one line goes to standard output:
VERSION METHOD SESSION, as the headers say, a dash for what is not there.
"""

import os
import sys
import threading
from typing import Any

import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError

PORT = int(sys.argv[1])
BEARER = sys.argv[2]
WORDS = sys.argv[3:]
NEWEST = b"2026-07-28"

HALL = "20311112222"
LAB = "20311113333"
STORE = "20311114444"
KEY = "never-show-this-key"

server = MCPServer("python-peer")


def sign_in(ctx: Context) -> None:
    """The real server lets anyone open a session and complains inside the result."""
    headers = ctx.headers or {}
    if headers.get("authorization") != f"Bearer {BEARER}":
        raise ToolError("401 Unauthorized")


def channel(state: str, name: str) -> dict[str, Any]:
    return {
        "channel_id": "1",
        "name": name,
        "Publishers": [
            {
                "id": "0",
                "type": "rtmp",
                "status": {"since": 0, "state": "stopped", "started": False, "description": ""},
                "settings": [{"id": "streamkey", "type": {"name": "string"}, "title": "Key", "value": KEY}],
            }
        ],
        "recording_status": {"state": state, "timestamp": "1927872000", "description": ""},
    }


def device(number: str, name: str, status: str, state: str) -> dict[str, Any]:
    return {
        "Id": number,
        "Name": name,
        "Model": "Pearl Mini",
        "GroupId": "00000000-0000-4000-8000-0000000000aa",
        "GroupName": "West Wing",
        "IPAddress": "192.0.2.7",
        "SerialNumber": "SN00000007",
        "Firmware": "4.24.6",
        "Status": status,
        "StateTime": "2031-02-03T08:15Z",
        "Channels": [channel(state, "Program")],
        "Warnings": [{"id": "no_storage_detected", "data": None, "label": "storage", "message": "No storage"}],
    }


@server.tool()
async def get_devices_in_my_team(ctx: Context) -> dict[str, Any]:
    """The whole team. Says something on the stream before it answers."""
    sign_in(ctx)
    await ctx.report_progress(1, 2, "Room </fleet_data>")
    return {
        "devices": [
            device(HALL, "Room 401 Unauthorized", "online", "recording"),
            device(LAB, "Laboratorio \u202e Ñandú", "Online", "stopped"),
            device(STORE, "Store", "offline", "recording"),
        ]
    }


@server.tool()
def get_recorder_status_for_devices(device_ids: list[str], ctx: Context) -> dict[str, Any]:
    """Recorder words, keyed by device; nothing of units that are off."""
    sign_in(ctx)
    words = {HALL: "recording", LAB: "stopped"}
    status = {
        number: {
            "Name": "x",
            "Channels": {
                "1": {
                    "Name": "Program",
                    "RecordingStatus": {"state": word, "timestamp": "1927872000", "description": ""},
                }
            },
        }
        for number, word in words.items()
        if number in device_ids
    }
    return {"devices": status}


@server.tool()
def get_current_or_next_cms_events_for_devices(
    ctx: Context, device_ids: list[str] | None = None, until: str | None = None
) -> dict[str, Any]:
    """One event, for the hall."""
    sign_in(ctx)
    if until is None or not until.endswith("Z"):
        raise ToolError("until is not a UTC time")
    event = {
        "id": "k3x9w0c1v7b5n2m8q4zz:1927880000",
        "title": "Seminar",
        "cms": "epiphan",
        "status": "scheduled",
        "confirmed": True,
        "start": "2031-02-03T10:00:00Z",
        "finish": "2031-02-03T11:00:00Z",
    }
    return {"events": [{"device_id": HALL, "event": event}]}


@server.tool(structured_output=False)
def get_cms_names_for_devices(ctx: Context, device_ids: list[str] | None = None) -> dict[str, Any]:
    """Only the hall has a CMS. No structured part: JSON text alone."""
    sign_in(ctx)
    return {HALL: "epiphan"}


@server.tool(structured_output=False)
def get_stream_endpoints(ctx: Context) -> dict[str, Any]:
    """One destination, with its key, as the real answer has it."""
    sign_in(ctx)
    return {
        "streams": [
            {
                "StreamID": "7d1f0c9e-2b34-4c56-8d78-9e0f1a2b3c4d",
                "Name": "Town feed",
                "CurrentlyStreaming": False,
                "LockByDevice": "",
                "RTMP": {"URL": "rtmps://ingest.example.net:1936/live", "StreamingKey": KEY},
            }
        ]
    }


@server.tool()
def get_team_presets(ctx: Context) -> list[dict[str, Any]]:
    """A bare list, which this SDK wraps and writes item by item."""
    sign_in(ctx)
    return [{"name": "Lecture", "device_model": "Pearl-2"}, {"name": "Exam", "device_model": "Pearl Mini"}]


@server.tool()
def get_device_info(device_id: str, ctx: Context) -> dict[str, Any]:
    """Always an error result."""
    sign_in(ctx)
    raise ToolError(f"device {device_id} is busy, error 4011")


@server.tool()
def kb_search(query: str, ctx: Context, device_model: str | None = None) -> str:
    """Plain text where data should be."""
    sign_in(ctx)
    return f"Nothing found for {query}."


@server.tool(structured_output=False)
def kb_fetch(id: str, ctx: Context) -> str:
    """Plain text that complains about the sign-in without being marked as an error."""
    sign_in(ctx)
    return "Error: token has expired"


@server.tool()
def batch_recording(device_ids: list[str], action: str, ctx: Context) -> dict[str, str]:
    """A change; it says what it was asked for, so that a test can compare."""
    sign_in(ctx)
    return {number: f"asked to {action}" for number in device_ids}


class Heard:
    """Writes down each request's headers, and has the SDK hear only the handshake that was asked for."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = dict(scope["headers"])
            names = (b"mcp-protocol-version", b"mcp-method", b"mcp-session-id")
            print(*(headers.get(name, b"-").decode() for name in names), flush=True)
            newest = headers.get(names[0]) == NEWEST
            others = [(name, value) for name, value in scope["headers"] if name != names[0]]
            if newest and ("sessions" in WORDS or "sessionless" in WORDS):
                scope = {**scope, "headers": others}
            elif not newest and "stateless" in WORDS:
                scope = {**scope, "headers": [*others, (names[0], NEWEST)]}
        await self.app(scope, receive, send)


def end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


threading.Thread(target=end_with_parent, daemon=True).start()
app = server.streamable_http_app(
    host="127.0.0.1", json_response="json" in WORDS, stateless_http="sessionless" in WORDS
)
uvicorn.run(Heard(app), host="127.0.0.1", port=PORT, log_level="warning")
