/** The repository's Web Push test service, as a process of its own. It verifies and decrypts what Tidings sends. */

import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { PushMessage } from "@tidings/client/service-worker";
import { environment, type Installation } from "./installation.ts";

const SCRIPT = fileURLToPath(new URL("push_service.py", import.meta.url));
const DEADLINE_MS = 30_000;

/** What `PushSubscription.toJSON` returns. */
export interface SubscriptionJson {
  endpoint: string;
  keys: { p256dh: string; auth: string };
}

export class PushService {
  readonly messages: PushMessage[] = [];
  readonly refused: string[] = [];
  readonly #subscriptions: SubscriptionJson[] = [];
  readonly #process: ChildProcessWithoutNullStreams;

  constructor() {
    const process = spawn("python", [SCRIPT], { env: environment() });
    this.#process = process;
    process.stderr.on("data", (text) => console.error(String(text)));
    createInterface(process.stdout).on("line", (line) => {
      const { subscription, message, refused } = JSON.parse(line);
      if (subscription) this.#subscriptions.push(subscription);
      if (message) this.messages.push(message);
      if (refused) this.refused.push(refused);
    });
  }

  /** Return a new subscription of a browser that subscribed with this key. */
  async subscribe(serverKey: string): Promise<SubscriptionJson> {
    const before = this.#subscriptions.length;
    this.#process.stdin.write(`${serverKey}\n`);
    await this.#until(() => this.#subscriptions.length > before);
    return this.#subscriptions.at(-1) as SubscriptionJson;
  }

  stop(): void {
    this.#process.kill();
  }

  async #until(holds: () => boolean): Promise<void> {
    for (let waitedMs = 0; !holds(); waitedMs += 50) {
      if (waitedMs > DEADLINE_MS || this.#process.exitCode !== null)
        throw new Error("The push service does not answer.");
      await sleep(50);
    }
  }
}

/** Create a key pair for Web Push, and return the public key. */
export function createWebPushKey(installation: Installation): string {
  const { directory, client } = installation;
  const args = ["push", "set-web-push", client.tenant, "--subject", "mailto:ops@example.com"];
  const options = { cwd: directory, env: environment(), encoding: "utf8" } as const;
  return execFileSync("tidings", args, options).trim();
}
