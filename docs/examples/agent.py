"""Looks for a room, proposes to start its recording, and says where the proposal stands. A person decides.

Usage: agent.py ROOM fleetwatchctl mcp   (needs the package `mcp`, the official Python SDK)
"""

import asyncio
import sys

from mcp import Client, StdioServerParameters


async def main(room: str, command: str, *arguments: str) -> None:
    async with Client(StdioServerParameters(command=command, args=list(arguments))) as fleet:
        answer = await fleet.call_tool("get_changeable_devices", {})
        devices = answer.structured_content["data"]["devices"]
        unit = next(device["device_id"] for device in devices if device["name"] == room)
        change = {"action": "start", "device_ids": [f"{unit}-1"]}
        asked = {"tool": "batch_recording", "arguments": change, "reason": f"The lecture in {room} begins."}
        proposed = await fleet.call_tool("propose_change", asked)
        if proposed.is_error:
            sys.exit(proposed.content[0].text)
        number = proposed.structured_content["number"]
        status = await fleet.call_tool("proposal_status", {"number": number})
        print(f"Proposal {number} is {status.structured_content['state']}.")


asyncio.run(main(*sys.argv[1:]))
