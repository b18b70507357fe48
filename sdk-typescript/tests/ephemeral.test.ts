/** Ephemeral events over an unstable connection: watched chats and users, receipts, typing, presence, the chat list. */
import { expect, test, vi } from "vitest";
import { MemoryStore } from "../src/index.ts";
import { clientOf, live, record, storeAt, until } from "./clients.ts";
import { error, type Frame, ScriptedServer } from "./scripted_server.ts";

const PAIR = [
  { user: "anna", since: 1 },
  { user: "ben", since: 1 },
];
const subscribed = (server: ScriptedServer, what = "chats"): string[][] =>
  server.tries("subscribe").flatMap((body) => (body[what] ? [body[what]] : []));

test("each new connection subscribes to watched names", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  client.chat("g1").watch();
  client.presence.watch(["ben", "cleo"]);
  await until(() => server.tries("subscribe").length);
  server.cut();
  await until(() => server.tries("subscribe").length === 2);
  expect(subscribed(server)).toEqual([["g1"], ["g1"]]);
  expect(subscribed(server, "users")).toEqual([
    ["ben", "cleo"],
    ["ben", "cleo"],
  ]);
});

test("a resume on the same connection subscribes again", async () => {
  const server = new ScriptedServer({ answers: { resume: () => ({ ok: { epoch: 0 } }) } });
  clientOf(server).chat("g1").watch();
  await until(() => server.tries("subscribe").length);
  server.push({ resume: {} });
  await until(() => server.tries("subscribe").length === 2);
  expect(server.connections).toBe(1);
});

test("many subscriptions go in parts, and the last release unsubscribes", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  const names = Array.from({ length: 250 }, (_, n) => `g${n}`);
  const releases = names.map((name) => client.chat(name).watch());
  const second = client.chat("g7").watch();
  await until(() => subscribed(server).flat().length === 250);
  expect(Math.max(...subscribed(server).map((part) => part.length))).toBeLessThanOrEqual(100);
  expect(new Set(subscribed(server).flat())).toEqual(new Set(names));
  releases[7]?.();
  releases[7]?.();
  await client.chat("g1").send("hi").outcome;
  expect(server.tries("unsubscribe")).toEqual([]);
  second();
  await until(() => server.tries("unsubscribe").length);
  expect(server.tries("unsubscribe")).toEqual([{ chats: ["g7"] }]);
});

test("a refused name does not block other subscriptions", async () => {
  const answer = (body: Frame) => (body.chats?.includes("g2") ? error("not_a_member") : { ok: {} });
  const server = new ScriptedServer({ answers: { subscribe: answer } });
  const client = clientOf(server);
  for (const name of ["g1", "g2", "g3"]) client.chat(name).watch();
  client.presence.watch(["ben"]);
  await until(() => server.tries("subscribe").some((body) => !body.chats));
  const asked = [
    { chats: ["g1", "g2", "g3"], users: ["ben"] },
    { chats: ["g1"] },
    { chats: ["g2"] },
    { chats: ["g3"] },
    { users: ["ben"] },
  ];
  expect(server.tries("subscribe")).toEqual(asked);
  client.chat("g4").watch();
  await until(() => server.tries("subscribe").length > asked.length);
  expect(server.tries("subscribe")).toEqual([...asked, { chats: ["g4"] }]);
});

test("a subscription is retried on a busy server", async () => {
  const server = new ScriptedServer({ script: ["too fast", "answer"] });
  clientOf(server).chat("g1").watch();
  await until(() => server.tries("subscribe").length === 2);
});

test("invalid names are refused at once", () => {
  const client = clientOf(new ScriptedServer());
  expect(() => client.presence.watch(["ben#"])).toThrow(/users/);
  expect(() => client.chat("g#1").watch()).toThrow(/chats/);
});

test("the status follows receipts with an event", async () => {
  const server = new ScriptedServer({ isPushing: true });
  const client = clientOf(server, { store: await storeAt({ g1: 0 }) });
  const changes = record(client, "receipts");
  const presences = record(client, "presence");
  const chat = client.chat("g1");
  chat.watch();
  const { sequence } = await chat.send("hi").outcome;
  const status = chat.status(sequence);
  const seen: string[] = [];
  status.subscribe(() => seen.push(status.get()));
  await until(() => server.tries("subscribe").length);
  expect(chat.receipts(sequence).has_receipts).toBe(false);
  server.push({ receipts: { chat: "g1", members: PAIR, is_snapshot: true } });
  await until(() => changes.length);
  expect(status.get()).toBe("sent");
  expect(chat.members.get()).toEqual(["anna", "ben"]);
  server.push({ receipts: { chat: "g1", members: [{ user: "ben", delivered: 1 }] } });
  await until(() => status.get() === "delivered");
  server.push({ receipts: { chat: "g1", members: [{ user: "ben", read: 1 }] } });
  await until(() => status.get() === "read");
  expect(chat.receipts(1).read_by).toEqual(["ben"]);
  server.push({ receipts: { chat: "g1", members: [{ user: "ben", read: 1 }] } });
  server.push({ presence: { user: "ben", status: "online" } });
  await until(() => presences.length);
  expect(changes, "a push without an effect is no event").toHaveLength(3);
  expect(seen).toEqual(["delivered", "read"]);
});

test("the members follow joins and leaves in the log", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server, { store: await storeAt({ g1: 0 }) });
  const chat = client.chat("g1");
  const unwatch = chat.watch();
  await until(() => server.tries("subscribe").length);
  server.push({ receipts: { chat: "g1", members: PAIR, is_snapshot: true } });
  server.add("g1", { kind: "join", users: ["cleo"] });
  server.pushEntry("g1", 1);
  await until(() => chat.members.get().join() === "anna,ben,cleo");
  server.add("g1", { kind: "leave", users: ["ben"] });
  server.pushEntry("g1", 2);
  await until(() => chat.members.get().join() === "anna,cleo");
  unwatch();
  expect(chat.members.get()).toEqual([]);
});

test("reads on another device are events and own reads are not", async () => {
  const server = new ScriptedServer({ script: ["held"] });
  const client = clientOf(server);
  const reads = record(client, "read");
  await live(client);
  server.push({ chats: { rows: [{ chat: "g1", head: 9, unread: 4, read: 2 }] } });
  await until(() => client.chats.get().length);
  const reading = client.chat("g1").read(5);
  await until(() => server.tries("read").length);
  server.push({ receipts: { chat: "g1", members: [{ user: "anna", read: 5 }] } });
  await reading;
  server.push({ receipts: { chat: "g1", members: [{ user: "anna", read: 9 }] } });
  await until(() => reads.length);
  expect(reads).toEqual([{ chat: "g1", sequence: 9 }]);
  expect(client.chats.get()).toMatchObject([{ read: 9, unread: 0 }]);
});

test("typing of others ends with their message", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server, { store: await storeAt({ g1: 0 }) });
  const { typing } = client.chat("g1");
  await live(client);
  server.push({ typing: { chat: "g1", user: "ben" } });
  server.push({ typing: { chat: "g1", user: "cleo" } });
  await until(() => typing.get().join() === "ben,cleo");
  server.add("g1", { text: "hi" });
  server.pushEntry("g1", 1);
  await until(() => typing.get().join() === "cleo");
  server.push({ typing: { chat: "g1", user: "cleo", is_typing: false } });
  await until(() => !typing.get().length);
});

test("typing of others ends automatically", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  const events = record(client, "typing");
  await live(client);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  try {
    server.push({ typing: { chat: "g1", user: "ben" } });
    await vi.waitUntil(() => events.length === 1);
    vi.advanceTimersByTime(5_900);
    expect(events).toHaveLength(1);
    vi.advanceTimersByTime(200);
    expect(events.map(({ users }) => users)).toEqual([["ben"], []]);
  } finally {
    vi.useRealTimers();
  }
});

test("presence and typing are discarded with the connection", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  client.presence.watch(["ben"]);
  await live(client);
  server.push({ typing: { chat: "g1", user: "ben" } });
  server.push({ presence: { user: "ben", status: "offline", at: 7 } });
  const presence = client.presence.of("ben");
  await until(() => presence.get());
  expect(presence.get()).toEqual({ user: "ben", status: "offline", last_seen_at: 7 });
  server.cut();
  await until(() => !presence.get() && !client.chat("g1").typing.get().length);
});

test("own typing is sent once for many keys and ends with the message", async () => {
  const server = new ScriptedServer();
  const chat = clientOf(server).chat("g1");
  const sent = () => server.tries("typing").map(({ is_typing = true }) => is_typing);
  await chat.send("first").outcome;
  for (let key = 0; key < 20; key++) chat.setTyping();
  await chat.send("hello").outcome;
  chat.setTyping(false);
  chat.setTyping();
  chat.setTyping(false);
  await until(() => sent().length === 4);
  expect(sent(), "the second beginning comes soon after the message").toEqual([true, false, true, false]);
});

test("each new connection sends the presence status", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  await live(client);
  client.presence.set("away");
  await until(() => server.tries("presence").length);
  server.cut();
  await until(() => server.tries("presence").length === 2);
  expect(server.tries("presence")).toEqual([{ status: "away" }, { status: "away" }]);
});

test("the chat list is kept current, and only changed rows are notified", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  await live(client);
  server.push({
    chats: {
      rows: [
        { chat: "g1", head: 0, name: "us", at: 5 },
        { chat: "d1", head: 3, unread: 1, members: ["ben"], at: 4 },
      ],
    },
  });
  server.push({ resumed: { epoch: 0 } });
  await until(
    () =>
      client.chats
        .get()
        .map(({ chat }) => chat)
        .join() === "g1,d1",
  );
  let notified = 0;
  client.chats.row("g1").subscribe(() => notified++);
  const rows = client.chats.get();
  expect(client.chats.get()).toBe(rows);
  server.push({ entry: { chat: "d1", sequence: 4, by: "ben", at: 6, text: "hi" } });
  await until(
    () =>
      client.chats
        .get()
        .map(({ unread }) => unread)
        .join() === "2,0",
  );
  expect(client.chats.get()[0]).toMatchObject({ preview: "hi", members: ["ben"] });
  expect(client.chats.unread.get()).toBe(2);
  expect(notified).toBe(0);
  server.push({ chat: { chat: "d1", head: 4, unread: 2, is_muted: true } });
  await until(() => client.chats.unread.get() === 0);
  server.push({
    entry: { chat: "g9", sequence: 1, by: "ben", at: 9, kind: "create", name: "new", users: ["anna", "ben"] },
  });
  await until(() => client.chats.get()[0]?.chat === "g9");
  expect(client.chat("g9").row.get()).toMatchObject({ name: "new", members: ["ben"] });
});

test("the chat list is restored from the store, without a connection", async () => {
  // The server pushes no row for a chat that the device has a position in.
  const store = new MemoryStore();
  const server = new ScriptedServer();
  const first = clientOf(server, { store });
  await live(first);
  server.push({
    chats: { rows: ["g1", "g2"].map((chat) => ({ chat, head: 3, unread: 1, name: chat, at: 5 })) },
  });
  server.push({ entry: { chat: "g2", sequence: 4, by: "ben", at: 6, kind: "leave", users: ["anna"] } });
  server.push({ resumed: { epoch: 0 } });
  await until(
    () =>
      first.chats
        .get()
        .map(({ chat }) => chat)
        .join() === "g1",
  );
  await first.close();
  server.isDown = true;
  const second = clientOf(server, { store });
  await until(() => second.chats.isLoaded.get());
  expect(second.chats.get()).toMatchObject([{ name: "g1", unread: 1 }]);
  expect(second.user.get()).toBe("anna");
  server.isDown = false;
  await live(second);
  server.push({ entry: { chat: "g1", sequence: 4, by: "ben", at: 6, text: "hi" } });
  await until(() => second.chats.get()[0]?.unread === 2);
});
