/** Reconnects: when, with which credential, and when the client stops. */
import { expect, test } from "vitest";
import { type Client, MemoryStore } from "../src/index.ts";
import { clientOf, live, record, storeWith, until } from "./clients.ts";
import { error, ScriptedServer } from "./scripted_server.ts";

function tokens(): { token: () => Promise<string>; readonly asked: number } {
  let asked = 0;
  return {
    token: async () => `token-${++asked}`,
    get asked() {
      return asked;
    },
  };
}

async function stoppedBy(client: Client): Promise<string | undefined> {
  await until(() => client.connection.get().state === "stopped");
  return client.connection.get().error?.code;
}

test.each([4000, 4001, 4002, 4005, 4499, 1001, 1005, 1006, 1011, 1012, 1013])(
  "the client reconnects after the close code %i",
  async (code) => {
    const server = new ScriptedServer();
    await live(clientOf(server));
    server.closeAll(code);
    await until(() => server.hellos.length === 2);
  },
);

test.each([
  [4500, "credential_refused"],
  [4501, "client_stopped"],
  [4504, "protocol_unsupported"],
  [4505, "client_stopped"],
  [4506, "credential_refused"],
  [4999, "client_stopped"],
  [1008, "client_stopped"],
])("the terminal close code %i stops the client and keeps the outbox", async (code, kind) => {
  const store = new MemoryStore();
  const server = new ScriptedServer({ answers: { send: () => error("overloaded", { retryable: true }) } });
  const client = clientOf(server, { store });
  const sent = client.chat("g1").send("hi");
  await until(() => server.tries().length);
  server.closeAll(code, "name");
  expect(await stoppedBy(client)).toBe(kind);
  expect(client.connection.get().error?.closeCode).toBe(code);
  await expect(sent.outcome).rejects.toMatchObject({ code: "send_unconfirmed" });
  await expect(client.chat("g1").send("more").stored).rejects.toMatchObject({ code: kind });
  await expect(client.flush()).rejects.toMatchObject({ code: kind });
  expect(server.hellos).toHaveLength(1);
  expect(store.state.outbox).toHaveLength(1);
});

test("a stopped client can be started again", async () => {
  const server = new ScriptedServer({ refuseConnect: [[error("forbidden"), 4507, "forbidden"]] });
  const client = clientOf(server);
  expect(await stoppedBy(client)).toBe("credential_refused");
  await client.close();
  client.start();
  await live(client);
});

test("the delay of a close is respected", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  await live(client);
  server.closeAll(4005, "try_again_later retry_after_ms=300");
  await until(() => client.connection.get().state === "waiting");
  expect(client.connection.get().waitMs).toBe(300);
  globalThis.dispatchEvent?.(new Event("online"));
  expect(server.hellos).toHaveLength(1);
  await until(() => server.hellos.length === 2);
});

test("a provider is called once, and again after expiry and refusal", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server, { token: tokens().token });
  for (const [count, code] of [4000, 4006, 4500].entries()) {
    await live(client);
    server.closeAll(code);
    await until(() => server.hellos.length === count + 2);
  }
  expect(server.hellos.map(({ credential }) => credential)).toEqual([
    "token-1",
    "token-1",
    "token-2",
    "token-3",
  ]);
});

test("a fresh credential that is refused stops the client", async () => {
  const server = new ScriptedServer({
    refuseConnect: [[error("credential_invalid"), 4500, "credential_invalid"]],
  });
  expect(await stoppedBy(clientOf(server, { token: tokens().token }))).toBe("credential_refused");
  expect(server.hellos).toHaveLength(1);
});

test("a refusal counts even if its close frame is lost", async () => {
  const server = new ScriptedServer({ refuseConnect: [[error("credential_invalid"), 1006, ""]] });
  expect(await stoppedBy(clientOf(server))).toBe("credential_refused");
});

test("a string that has expired stops the client", async () => {
  const server = new ScriptedServer({
    refuseConnect: [[error("credential_expired"), 4006, "credential_expired retry_after_ms=1"]],
  });
  expect(await stoppedBy(clientOf(server))).toBe("credential_refused");
});

test("a failing provider is called again", async () => {
  let tries = 0;
  const token = async () => {
    if (++tries < 3) throw new Error("the login is away");
    return "anna";
  };
  expect((await clientOf(new ScriptedServer(), { token }).chat("g1").send("hi").outcome).sequence).toBe(1);
});

test("the client waits for a server that starts later", async () => {
  const server = new ScriptedServer();
  server.isDown = true;
  const client = clientOf(server);
  const { outcome } = client.chat("g1").send("hi");
  await until(() => client.connection.get().state === "waiting");
  server.isDown = false;
  expect((await outcome).sequence).toBe(1);
});

test("the client retries at once when the network is back", async () => {
  const server = new ScriptedServer();
  server.isDown = true;
  const target = new EventTarget();
  const before = { add: globalThis.addEventListener, remove: globalThis.removeEventListener };
  Object.assign(globalThis, {
    addEventListener: target.addEventListener.bind(target),
    removeEventListener: target.removeEventListener.bind(target),
  });
  try {
    const client = clientOf(server, { timeouts: { backoffFirstMs: 1e7, backoffLongestMs: 1e7 } });
    await until(() => client.connection.get().state === "waiting");
    server.isDown = false;
    target.dispatchEvent(new Event("online"));
    await live(client);
    await client.close();
  } finally {
    Object.assign(globalThis, { addEventListener: before.add, removeEventListener: before.remove });
  }
});

test("a request to reconnect waits for the answers in flight", async () => {
  const server = new ScriptedServer({ script: ["answer", "leave"] });
  const client = clientOf(server);
  expect((await client.chat("g1").send("one").outcome).sequence).toBe(1);
  await until(() => server.hellos.length === 2);
  expect((await client.chat("g1").send("two").outcome).sequence).toBe(2);
  expect(server.tries()).toHaveLength(2);
});

test("a credential of another user stops the client", async () => {
  const client = clientOf(new ScriptedServer(), { user: "ben" });
  expect(await stoppedBy(client)).toBe("user_mismatch");
  expect(client.user.get()).toBeUndefined();
});

test("the outbox of another user is not sent", async () => {
  const store = await storeWith({ owner: { user: "ben", device: "d-1", epoch: 0 } });
  const server = new ScriptedServer();
  const client = clientOf(server, { store });
  const { outcome } = client.chat("g1").send("hi");
  expect(await stoppedBy(client)).toBe("user_mismatch");
  await expect(outcome).rejects.toMatchObject({ code: "send_unconfirmed" });
  expect(server.tries()).toEqual([]);
});

test("a refused request that is not of the outbox rejects", async () => {
  const server = new ScriptedServer({ answers: { read: () => error("unknown_request") } });
  await expect(clientOf(server).chat("g1").read(1)).rejects.toMatchObject({
    code: "unknown_request",
    retryable: false,
  });
});

test("a request without a connection rejects in time", async () => {
  const server = new ScriptedServer();
  server.isDown = true;
  const client = clientOf(server, { timeouts: { answerMs: 30 } });
  await expect(client.chat("g1").read(1)).rejects.toMatchObject({ code: "request_timeout", retryable: true });
});

test("pings are answered", async () => {
  const server = new ScriptedServer();
  await live(clientOf(server));
  server.push({ ping: {} });
  await until(() => server.tries("pong").length);
});

test("a URL that is not valid stops the client", async () => {
  const client = clientOf(new ScriptedServer(), {
    url: "not a url",
    socket: (url) => new WebSocket(url) as never,
  });
  expect(await stoppedBy(client)).toBe("client_stopped");
});

test("start and close may be repeated, with one connection at a time", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  client.start();
  void client.close();
  client.start();
  await live(client);
  await client.chat("g1").send("hi").outcome;
  expect(server.sockets.size).toBe(1);
  expect(server.hellos.length).toBe(1);
  await client.close();
  await client.close();
  expect(client.connection.get()).toEqual({ state: "stopped" });
  expect(server.sockets.size).toBe(0);
});

test("commands before the start wait for it", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  await client.close();
  const states = record(client, "connection");
  const { outcome } = client.chat("g1").send("early");
  expect(states).toEqual([]);
  client.start();
  expect((await outcome).sequence).toBe(1);
});
