// The official TypeScript client: connect, list, call, be refused. Arguments: the server's command and its arguments.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import assert from "node:assert";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "typescript-sdk", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const { tools } = await client.listTools();
console.log(client.getServerVersion(), tools.map((tool) => tool.name).join(" "));
for (const [name, given] of [["search", { query: "hello" }], ["timeline", {}]]) {
  const result = await client.callTool({ name, arguments: given });
  assert.equal(result.isError, false);
  assert.ok(JSON.parse(result.content[0].text).footer.freshness);
}
assert.equal((await client.callTool({ name: "get", arguments: { id: "nothing" } })).isError, true);
await assert.rejects(client.callTool({ name: "nope", arguments: {} }), /Unknown tool: nope/);
await client.close();
