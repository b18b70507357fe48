import { readFileSync } from "node:fs";
import { TokenSigner } from "@tidings/server";

export const dynamic = "force-dynamic";

export function GET(request: Request): Response {
  // Your server reads the user from its own session here. This example trusts the query.
  const user = new URL(request.url).searchParams.get("user") ?? "";
  const key = JSON.parse(readFileSync(process.env.TIDINGS_KEY_FILE ?? "dev-key.json", "utf8"));
  const signer = new TokenSigner({ tenant: process.env.TIDINGS_TENANT ?? "dev", key });
  return Response.json({ token: signer.sign(user) });
}
