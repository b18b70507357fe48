/** Sign tokens for the web examples: node token_server.ts KEY_FILE, on port 5180. */

import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { TokenSigner } from "@tidings/server";

const key = JSON.parse(readFileSync(process.argv[2] ?? "dev-key.json", "utf8"));
const signer = new TokenSigner({ tenant: process.env.TIDINGS_TENANT ?? "dev", key });

const server = createServer((request, response) => {
  // Your server reads the user from its own session here. This example trusts the query.
  const user = new URL(request.url ?? "/", "http://localhost").searchParams.get("user") ?? "";
  try {
    const token = signer.sign(user);
    response.setHeader("Content-Type", "application/json").end(JSON.stringify({ token }));
  } catch (error) {
    response.writeHead(400).end(String(error));
  }
});
server.listen(Number(process.env.PORT ?? 5180), "127.0.0.1");
