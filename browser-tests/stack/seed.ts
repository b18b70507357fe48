/** Fill a chat with many messages. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { environment, type Installation } from "./installation.ts";

const SCRIPT = fileURLToPath(new URL("seed.py", import.meta.url));

/**
 * Append the messages `message 1` to `message <count>` as one user, in this order, and wait until they are delivered.
 * Returns a text with the rate.
 */
export async function seedChat(
  installation: Installation,
  chat: string,
  user: string,
  count: number,
): Promise<string> {
  const { directory, client } = installation;
  const began = performance.now();
  const args = [SCRIPT, client.tenant, chat, user, String(count)];
  await promisify(execFile)("python", args, { cwd: directory, env: environment() });
  const seconds = (performance.now() - began) / 1000;
  return `${count} messages in ${seconds.toFixed(0)} s, ${(count / seconds).toFixed(0)} a second`;
}
