/** Each entry is delivered once and in order, even if pushes are repeated, late, early or lost. */
import { expect, test } from "vitest";
import { MemoryStore } from "../src/index.ts";
import { clientOf, live, record, seeded, storeAt, until } from "./clients.ts";
import { ScriptedServer } from "./scripted_server.ts";

const sequences = (events: readonly { entry: { sequence: number } }[]): number[] =>
  events.map(({ entry }) => entry.sequence);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

test.each(upTo(40))("each entry is delivered once and in order for any pushes (seed %i)", async (seed) => {
  const random = seeded(seed);
  const server = new ScriptedServer();
  for (let n = 0; n < 12; n++) server.add("g1");
  const client = clientOf(server, { store: await storeAt({ g1: 0 }) });
  const messages = record(client, "message");
  await live(client);
  for (const sequence of random.list(20, () => 1 + random.below(12))) {
    server.pushEntry("g1", sequence);
    if (random.below(10) > 0) continue;
    server.cut();
    await until(() => server.sockets.size);
  }
  await until(() => {
    server.pushEntry("g1", 12);
    return messages.length >= 12;
  });
  expect(sequences(messages)).toEqual(upTo(12));
});

test("a gap is filled before later entries are delivered", async () => {
  const server = new ScriptedServer();
  for (let n = 0; n < 500; n++) server.add("g1");
  const client = clientOf(server, { store: await storeAt({ g1: 0 }) });
  const messages = record(client, "message");
  await live(client);
  server.pushEntry("g1", 500);
  await until(() => messages.length === 500);
  expect(sequences(messages)).toEqual(upTo(500));
});

test("a range that was missed moves the position to its end", async () => {
  const server = new ScriptedServer();
  const store = new MemoryStore();
  const client = clientOf(server, { store });
  const changes = record(client, "change");
  await live(client);
  const edit = { sequence: 8, by: "ben", at: 1, kind: "edit", refers_to: 5 };
  server.push({ entries: { chat: "g1", after: 4, up_to: 9, entries: [edit] } });
  await until(() => store.state.positions.get("g1") === 9);
  expect(sequences(changes)).toEqual([8]);
});

test("positions are sent with the next connect", async () => {
  const server = new ScriptedServer();
  server.add("g1");
  const client = clientOf(server);
  const messages = record(client, "message");
  await live(client);
  server.pushEntry("g1", 1);
  await until(() => messages.length);
  server.cut();
  await until(() => server.hellos.length === 2);
  expect(server.hellos[0]).not.toHaveProperty("positions");
  expect(server.hellos[1]).toMatchObject({ positions: { g1: 1 }, epoch: 0, device: "d-1" });
});

test("delivered entries are acknowledged at intervals", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server, { store: await storeAt({ g1: 0 }) });
  await live(client);
  for (let n = 1; n <= 30; n++) {
    server.add("g1");
    server.pushEntry("g1", n);
  }
  const last = () => server.tries("ack").at(-1)?.delivered;
  await until(() => last()?.g1 === 30);
  expect(server.tries("ack").length).toBeLessThanOrEqual(2);
});

test("the position of a chat with only a row is its head", async () => {
  const server = new ScriptedServer();
  const store = new MemoryStore();
  for (let n = 0; n < 10; n++) for (const chat of ["g1", "g2"]) server.add(chat);
  const rows = ["g1", "g2"].map((chat) => ({ chat, head: 10, unread: 3 }));
  const entries = server
    .log("g2")
    .slice(7)
    .map((entry) => server.readable(entry));
  server.beforeResumed = [{ chats: { rows } }, { entries: { chat: "g2", after: 7, up_to: 10, entries } }];
  const client = clientOf(server, { store });
  const messages = record(client, "message");
  await until(() => store.state.positions.size === 2);
  expect(store.state.positions).toEqual(
    new Map([
      ["g1", 10],
      ["g2", 10],
    ]),
  );
  server.add("g1");
  server.pushEntry("g1", 11);
  await until(() => messages.length === 4);
  expect(messages.map(({ chat, entry, origin }) => [chat, entry.sequence, origin])).toEqual([
    ["g2", 8, "history"],
    ["g2", 9, "history"],
    ["g2", 10, "history"],
    ["g1", 11, "live"],
  ]);
  expect(server.tries("history"), "nothing was missing").toEqual([]);
});

test("entries of the time without a connection are missed ones", async () => {
  const server = new ScriptedServer();
  server.isResuming = true;
  const store = await storeAt({ g1: 0 });
  server.add("g1");
  const client = clientOf(server, { store });
  const messages = record(client, "message");
  await until(() => messages.length);
  server.add("g1");
  server.pushEntry("g1", 2);
  await until(() => messages.length === 2);
  expect(messages.map(({ origin }) => origin)).toEqual(["missed", "live"]);
});

test("positions are stored when the first sync is over, so that it is repeated otherwise", async () => {
  const server = new ScriptedServer();
  const store = new MemoryStore();
  server.add("g1");
  server.beforeResumed = [
    { entries: { chat: "g1", after: 0, up_to: 1, entries: [server.readable(server.log("g1")[0] ?? {})] } },
  ];
  // The connection ends before `resumed`.
  const socket = () => {
    const made = server.socket();
    const push = made.push.bind(made);
    made.push = (frame) => (frame.resumed ? made.shutLater(1006, "") : push(frame));
    return made;
  };
  const first = clientOf(server, { store, socket });
  const early = record(first, "message");
  await until(() => early.length);
  await first.close();
  expect(store.state.positions).toEqual(new Map());
  const second = clientOf(server, { store });
  const messages = record(second, "message");
  await until(() => store.state.positions.size);
  expect(messages.map(({ origin }) => origin)).toEqual(["history"]);
});

test("the newest page sets only the position of an unknown chat", async () => {
  const server = new ScriptedServer();
  const store = new MemoryStore();
  for (let n = 0; n < 60; n++) server.add("g1");
  const client = clientOf(server, { store });
  const messages = record(client, "message");
  await client.chat("g1").timeline.loadNewest();
  await until(() => store.state.positions.get("g1") === 60);
  server.add("g1");
  server.pushEntry("g1", 61);
  await until(() => messages.length);
  expect(sequences(messages)).toEqual([61]);
});

test("ephemeral events and connection states are events, and unknown pushes are ignored", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  const states = record(client, "connection");
  const typing = record(client, "typing");
  await live(client);
  server.push({ weather: { is: "fine" } });
  server.push({ typing: { chat: "g1", user: "ben" } });
  await until(() => typing.length);
  expect(states.map(({ state }) => state)).toEqual(["connecting", "resuming", "live"]);
  expect(typing).toMatchObject([{ chat: "g1", users: ["ben"] }]);
});

test("an error of a listener does not stop the client", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  const errors: unknown[] = [];
  globalThis.reportError = (error: unknown) => void errors.push(error);
  client.on("connection", ({ state }) => {
    if (state === "live") throw new Error("of the app");
  });
  await live(client);
  expect((await client.chat("g1").send("hi").outcome).sequence).toBe(1);
  expect(errors).toMatchObject([{ message: "of the app" }]);
  Reflect.deleteProperty(globalThis, "reportError");
});
