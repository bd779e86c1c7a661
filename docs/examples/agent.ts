// Looks for a room, proposes to start its recording, and says where the proposal stands. A person decides.
// Usage: agent ROOM fleetwatchctl mcp   (needs the package @modelcontextprotocol/sdk, the official TypeScript SDK)
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

type Answer = { isError?: boolean; structuredContent: any; content: { text: string }[] };
const [room, command, ...args] = process.argv.slice(2);
const fleet = new Client({ name: "agent", version: "1.0.0" });
await fleet.connect(new StdioClientTransport({ command, args }));
const call = async (name: string, input: Record<string, unknown>) =>
  (await fleet.callTool({ name, arguments: input })) as unknown as Answer;

const { devices } = (await call("get_changeable_devices", {})).structuredContent.data;
const unit = devices.find((device: { name: string }) => device.name === room).device_id;
const change = { action: "start", device_ids: [`${unit}-1`] };
const reason = `The lecture in ${room} begins.`;
const proposed = await call("propose_change", { tool: "batch_recording", arguments: change, reason });
if (proposed.isError) throw new Error(proposed.content[0].text);
const { number } = proposed.structuredContent;
console.log(`Proposal ${number} is ${(await call("proposal_status", { number })).structuredContent.state}.`);
await fleet.close();
