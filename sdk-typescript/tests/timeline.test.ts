/** The timeline: a contiguous part of the log, with the outbox at its end. */
import { expect, test } from "vitest";
import { type Client, MemoryStore, type Timeline } from "../src/index.ts";
import { clientOf, live, until } from "./clients.ts";
import { error, ScriptedServer } from "./scripted_server.ts";

function serverWith(count: number, options = {}): ScriptedServer {
  const server = new ScriptedServer({ isPushing: true, ...options });
  for (let n = 1; n <= count; n++) server.add("g1", { text: `m${n}` });
  return server;
}

const texts = (timeline: Timeline): (string | undefined)[] =>
  timeline.keys.get().map((key) => timeline.item(key).get()?.text);
const upTo = (first: number, last: number): string[] =>
  Array.from({ length: last - first + 1 }, (_, n) => `m${first + n}`);

async function opened(server: ScriptedServer, options = {}): Promise<[Client, Timeline]> {
  const client = clientOf(server, options);
  const { timeline } = client.chat("g1");
  await timeline.loadNewest();
  return [client, timeline];
}

test("the newest entries are loaded and followed", async () => {
  const server = serverWith(60);
  const [, timeline] = await opened(server);
  expect(texts(timeline)).toEqual(upTo(11, 60));
  expect(timeline.range.get()).toEqual({ isLoaded: true, hasOlder: true, hasNewer: false, isLoading: false });
  server.add("g1", { text: "m61" });
  server.pushEntry("g1", 61);
  await until(() => timeline.keys.get().length === 51);
  expect(texts(timeline)).toEqual(upTo(11, 61));
  await timeline.loadOlder();
  expect(texts(timeline)).toEqual(upTo(1, 61));
  expect(timeline.range.get().hasOlder).toBe(false);
  expect(timeline.keyOf(5)).toBe("#5");
});

test("a message keeps its key when it is committed, and is shown once", async () => {
  const server = serverWith(1);
  const [client, timeline] = await opened(server);
  const lengths: number[] = [];
  timeline.keys.subscribe(() => lengths.push(timeline.keys.get().length));
  const { key, outcome } = client.chat("g1").send("mine");
  expect(timeline.keys.get()).toEqual(["#1", key]);
  expect(timeline.item(key).get()).toMatchObject({ delivery: "pending", isOwn: true, by: "anna" });
  await outcome;
  await until(() => timeline.item(key).get()?.entry);
  expect(timeline.keys.get()).toEqual(["#1", key]);
  expect(timeline.item(key).get()).toMatchObject({ delivery: "committed", sequence: 2, text: "mine" });
  expect(lengths, "the keys change only when the message is added").toEqual([2]);
});

test("an edit, a redaction and a reaction change their item only", async () => {
  const server = serverWith(3);
  const [client, timeline] = await opened(server);
  let keysChanged = 0;
  let othersChanged = 0;
  timeline.keys.subscribe(() => keysChanged++);
  timeline.item("#1").subscribe(() => othersChanged++);
  await client.chat("g1").edit(2, "edited").outcome;
  await until(() => timeline.item("#2").get()?.state === "edited");
  expect(timeline.item("#2").get()).toMatchObject({ text: "edited", edited_at: 2, sequence: 2 });
  await client.chat("g1").react(2, "👍").outcome;
  await until(() => timeline.item("#2").get()?.reactions.length);
  await client.chat("g1").redact(2).outcome;
  await until(() => timeline.item("#2").get()?.state === "redacted");
  expect(timeline.item("#2").get()?.text).toBe("");
  expect([keysChanged, othersChanged]).toEqual([0, 0]);
  expect(timeline.keys.get()).toHaveLength(3);
});

test("joins and renames are items", async () => {
  const server = serverWith(1);
  server.add("g1", { kind: "rename", name: "us" });
  const [, timeline] = await opened(server);
  expect(timeline.item("#2").get()).toMatchObject({ kind: "rename", entry: { name: "us" } });
});

test("a change that comes without its new state is read", async () => {
  const server = serverWith(3);
  const [, timeline] = await opened(server);
  const [message] = server.log("g1");
  Object.assign(message ?? {}, { text: "edited", edited_at: 2 });
  server.add("g1", { kind: "edit", refers_to: 1 });
  server.add("g1", { text: "m5" });
  // The gap is filled from history, whose entries have no `changed`.
  server.pushEntry("g1", 5);
  await until(() => timeline.item("#1").get()?.text === "edited");
});

test("a failed message can be sent again or discarded", async () => {
  const server = serverWith(0, { refusals: { bad: "blocked" } });
  const [client, timeline] = await opened(server);
  const { key, outcome } = client.chat("g1").send("bad", { reply_to: 1 });
  await expect(outcome).rejects.toMatchObject({ code: "blocked" });
  expect(timeline.item(key).get()).toMatchObject({ delivery: "failed", error: { code: "blocked" } });
  timeline.retry(key);
  const [again = ""] = timeline.keys.get().filter((each) => each !== key);
  await until(() => timeline.keys.get().length === 1 && timeline.item(again).get()?.delivery === "failed");
  expect(server.tries().map(({ reply_to }) => reply_to)).toEqual([1, 1]);
  timeline.discard(again);
  await until(() => !timeline.keys.get().length);
  server.refusals = {};
  const { key: third, outcome: sent } = client.chat("g1").send("good");
  await sent;
  timeline.discard(third);
  expect(timeline.item(third).get()).toBeDefined();
});

test("a jump replaces the loaded part, and loading newer returns to the end", async () => {
  const server = serverWith(300);
  const [client, timeline] = await opened(server);
  await timeline.loadAround(100);
  expect(timeline.range.get()).toMatchObject({ hasOlder: true, hasNewer: true });
  expect(timeline.keyOf(100)).toBe("#100");
  expect(timeline.keyOf(300)).toBeUndefined();
  client.chat("g1").send("pending is at the end");
  expect(timeline.keys.get()).toHaveLength(50);
  while (timeline.range.get().hasNewer) await timeline.loadNewer(200);
  await until(() => timeline.keyOf(301));
  expect(timeline.keyOf(299)).toBe("#299");
  await timeline.loadAround(10);
  await timeline.loadNewest();
  expect(texts(timeline).at(-1)).toBe("pending is at the end");
  expect(timeline.range.get().hasNewer).toBe(false);
});

test("entries that arrive while a page is read are not lost", async () => {
  const server = serverWith(5);
  const client = clientOf(server);
  const { timeline } = client.chat("g1");
  await live(client);
  server.script = ["held"];
  const loading = timeline.loadNewest();
  await until(() => server.tries("history").length);
  // The page is answered without these, and they arrive before it.
  server.add("g1", { text: "m6" });
  server.pushEntry("g1", 6);
  server.push({
    entry: {
      chat: "g1",
      sequence: 7,
      by: "ben",
      at: 1,
      kind: "edit",
      refers_to: 2,
      changed: { text: "edited", edited_at: 2 },
    },
  });
  await loading;
  await until(() => timeline.keys.get().length === 6);
  expect(texts(timeline)).toEqual(["m1", "edited", "m3", "m4", "m5", "m6"]);
});

test("a jump wins over an earlier load", async () => {
  const server = serverWith(300);
  const client = clientOf(server);
  const { timeline } = client.chat("g1");
  await live(client);
  server.script = ["held"];
  const newest = timeline.loadNewest();
  await until(() => server.tries("history").length);
  await Promise.all([timeline.loadAround(100), newest]);
  expect(timeline.keyOf(100)).toBe("#100");
  expect(timeline.keyOf(300)).toBeUndefined();
});

test("without a connection the stored messages are shown, and later ones follow", async () => {
  const store = new MemoryStore();
  const server = serverWith(150);
  server.isResuming = true;
  const [first, shown] = await opened(server, { store });
  await shown.loadOlder();
  server.add("g1", { text: "m151" });
  server.pushEntry("g1", 151);
  await until(() => shown.keyOf(151));
  await first.close();
  server.isDown = true;
  server.add("g1", { text: "m152" });
  const second = clientOf(server, { store });
  const { timeline } = second.chat("g1");
  const loading = timeline.loadNewest();
  await until(() => timeline.range.get().isLoaded);
  expect(texts(timeline)).toEqual(upTo(101, 151));
  const { key } = second.chat("g1").send("offline");
  expect(timeline.keys.get().at(-1)).toBe(key);
  server.isDown = false;
  await loading;
  await until(() => timeline.item(key).get()?.entry);
  expect(texts(timeline)).toEqual([...upTo(101, 152), "offline"]);
});

test("a load that failed without a connection is repeated when there is one", async () => {
  const server = serverWith(3);
  server.isDown = true;
  const client = clientOf(server, { timeouts: { answerMs: 30 } });
  const { timeline } = client.chat("g1");
  await timeline.loadNewest();
  expect(timeline.range.get()).toMatchObject({
    isLoaded: false,
    isLoading: false,
    error: { code: "request_timeout" },
  });
  server.isDown = false;
  await until(() => timeline.range.get().isLoaded);
  expect(texts(timeline)).toEqual(upTo(1, 3));
  expect(timeline.range.get().error).toBeUndefined();
});

test("after a restore the timeline is read again", async () => {
  const server = serverWith(5);
  const [, timeline] = await opened(server);
  server.logs.clear();
  server.epoch = 1;
  server.add("g1", { text: "other" });
  server.cut();
  await until(() => texts(timeline).join() === "other");
});

test("stored messages follow edits, also those of chats that are not open", async () => {
  const store = new MemoryStore();
  const server = serverWith(3);
  const [first] = await opened(server, { store });
  await first.close();
  const second = clientOf(server, { store });
  await live(second);
  server.push({
    entry: {
      chat: "g1",
      sequence: 4,
      by: "ben",
      at: 1,
      kind: "edit",
      refers_to: 2,
      changed: { text: "edited", edited_at: 2 },
    },
  });
  await until(() => store.state.positions.get("g1") === 4);
  await second.close();
  expect((await store.messages("g1"))?.entries.map(({ text }) => text)).toEqual(["m1", "edited", "m3"]);
});

test("an error of a load is in the range", async () => {
  const server = serverWith(3, { answers: { history: () => error("not_a_member") } });
  const [, timeline] = await opened(server);
  expect(timeline.range.get()).toMatchObject({ isLoaded: false, error: { code: "not_a_member" } });
});
