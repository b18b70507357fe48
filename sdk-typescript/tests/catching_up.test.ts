/** `position_too_old`, a restored installation, and how a client finds its own messages in the log. */
import { expect, test } from "vitest";
import { MemoryStore, type OutboxEntry } from "../src/index.ts";
import { clientOf, live, record, storeWith, tried, until } from "./clients.ts";
import { error, ScriptedServer } from "./scripted_server.ts";

test("after is raised to the end of the page if the key is absent", async () => {
  const server = new ScriptedServer({ window: 5 });
  for (let n = 0; n < 300; n++) server.add("g1");
  await clientOf(server, { store: await tried(1) }).flush();
  expect(server.tries().map(({ after }) => after)).toEqual([1, 300]);
  expect(server.keys("g1").filter((key) => key === "k-1")).toHaveLength(1);
});

test("an own key in the log settles the message without a resend", async () => {
  const server = new ScriptedServer({ window: 5 });
  server.add("g1");
  server.add("g1", { by: "anna", client_message_id: "k-1" });
  for (let n = 0; n < 300; n++) server.add("g1");
  await clientOf(server, { store: await tried(1) }).flush();
  expect(server.tries().map(({ after }) => after)).toEqual([1]);
  expect(server.keys("g1").filter((key) => key === "k-1")).toHaveLength(1);
});

test.each(["leave", "join"])("after is not raised over the end of a membership: %s", async (kind) => {
  const store = await tried(1);
  const server = new ScriptedServer({ window: 5 });
  server.add("g1");
  server.add("g1", { kind, users: ["anna"] });
  for (let n = 0; n < 10; n++) server.add("g1");
  const failed = record(clientOf(server, { store }), "sendFailed");
  await until(() => failed.length);
  expect(failed[0]).toMatchObject({ client_message_id: "k-1", error: { code: "not_a_member" } });
  expect(server.tries().map(({ after }) => after)).toEqual([1]);
  expect(store.state.outbox).toEqual([]);
});

test("after a restore a lost message is sent with a current after", async () => {
  const row: OutboxEntry = {
    kind: "send",
    number: 1,
    epoch: 0,
    body: { chat: "g1", client_message_id: "k-1", after: 40, text: "hi" },
  };
  const store = await storeWith({
    owner: { user: "anna", device: "d-1", epoch: 0 },
    outbox: new Map([["k-1", row]]),
    positions: new Map([["g1", 40]]),
  });
  const server = new ScriptedServer({ epoch: 1 });
  server.add("g1");
  const client = clientOf(server, { store });
  const restored = record(client, "restored");
  await client.flush();
  expect(restored).toMatchObject([{ epoch: 1 }]);
  expect(store.state.positions).toEqual(new Map());
  expect(store.state.owner?.epoch).toBe(1);
  expect(server.tries().map(({ after }) => after)).toEqual([1]);
  expect(server.keys("g1")).toEqual(["ben-0", "k-1"]);
});

test("after a restore a message in the log is not sent again", async () => {
  const server = new ScriptedServer({ epoch: 1 });
  server.add("g1");
  server.add("g1", { by: "anna", client_message_id: "k-1" });
  await clientOf(server, { store: await tried(1, 0) }).flush();
  expect(server.tries()).toEqual([]);
});

test("a pushed own entry settles the message", async () => {
  const server = new ScriptedServer({ script: ["cut after"] });
  server.add("g1");
  const client = clientOf(server, { store: await tried(1) });
  const messages = record(client, "message");
  server.answers.send = () => error("outcome_unknown", { retryable: true });
  await until(() => server.tries().length > 1 && server.sockets.size);
  server.add("g1", { by: "anna", client_message_id: "k-1" });
  server.pushEntry("g1", 2);
  await client.flush();
  await until(() => messages.length);
  expect(messages[0]?.entry.sequence).toBe(2);
});

test("a refused message is reported and later ones are sent", async () => {
  const server = new ScriptedServer({ refusals: { bad: "blocked" } });
  const chat = clientOf(server).chat("g1");
  const [bad, good] = [chat.send("bad"), chat.send("good")];
  await expect(bad.outcome).rejects.toMatchObject({ code: "blocked" });
  expect((await good.outcome).sequence).toBe(1);
});

test("repeated internal errors of one row do not block later rows", async () => {
  const server = new ScriptedServer({ refusals: { bad: "internal" } });
  const chat = clientOf(server).chat("g1");
  const [bad, good] = [chat.send("bad"), chat.send("good")];
  await expect(bad.outcome).rejects.toMatchObject({ code: "internal" });
  const tries = server.tries().filter(({ text }) => text === "bad");
  expect(tries).toHaveLength(6);
  expect(new Set(tries.map(({ after }) => after)).size).toBe(1);
  expect((await good.outcome).sequence).toBe(1);
});

test("an unanswered message stays in the store for the next client", async () => {
  const store = new MemoryStore();
  const server = new ScriptedServer({ answers: { send: () => error("overloaded", { retryable: true }) } });
  const client = clientOf(server, { store });
  const { key, outcome } = client.chat("g1").send("hi");
  await until(() => server.tries().length);
  await client.close();
  await expect(outcome).rejects.toMatchObject({ code: "send_unconfirmed" });
  expect(store.state.outbox.map(({ body }) => body.client_message_id)).toEqual([key]);
  server.answers = {};
  await clientOf(server, { store }).flush();
  expect(server.keys("g1")).toEqual([key]);
  expect(new Set(server.tries().map(({ after }) => after)).size).toBe(1);
});

test("an invalid message is refused before it is stored", async () => {
  const store = new MemoryStore();
  const client = clientOf(new ScriptedServer(), { store });
  await live(client);
  const send =
    (chat: string, text: string, options = {}) =>
    () =>
      client.chat(chat).send(text, options);
  expect(send("g1", "x".repeat(4097))).toThrow(/length/);
  expect(send("g1", "half an emoji: \ud83d")).toThrow(/not allowed/);
  expect(send("g#1", "hi")).toThrow(/not allowed/);
  expect(send("g1", "hi", { mentions: ["ben", "b#n"] })).toThrow(/mentions/);
  expect(() => client.chat("g1").react(1, "")).toThrow(/emoji/);
  expect(send("g1", "👍".repeat(4096))).not.toThrow();
  await client.flush();
});
