/** Fill a chat with many messages, by many concurrent sends: the server commits those that arrive together as one. */

import { Agent, request } from "node:http";
import type { Installation } from "./installation.ts";

const IN_FLIGHT = 96;

/** Send messages over REST as one user. Returns a text with the rate. The order of the numbers is the order of the log. */
export async function seedChat(
  installation: Installation,
  chat: string,
  user: string,
  count: number,
): Promise<string> {
  const { api, server_key } = installation.client;
  const agent = new Agent({ keepAlive: true, maxSockets: IN_FLIGHT });
  const began = performance.now();
  const send = (number: number) => post(agent, `${api}/v1/chats/${chat}/messages`, server_key, user, number);
  // The first and the last message are sent alone, so that they are where a test expects them.
  await send(1);
  let next = 2;
  const sender = async () => {
    while (next < count) await send(next++);
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, sender));
  await send(count);
  agent.destroy();
  const seconds = (performance.now() - began) / 1000;
  return `${count} messages in ${seconds.toFixed(0)} s, ${(count / seconds).toFixed(0)} a second over REST`;
}

function post(agent: Agent, url: string, key: string, user: string, number: number): Promise<void> {
  const body = JSON.stringify({ text: `message ${number}`, client_message_id: `seed-${number}` });
  const headers = {
    Authorization: `Bearer ${key}`,
    "Tidings-User": user,
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.on("end", () => {
        if ((response.statusCode ?? 500) < 300) resolve();
        else reject(new Error(`The send of message ${number} was answered with ${response.statusCode}.`));
      });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}
