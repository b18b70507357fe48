/** Several tabs share one connection and one store. When the leading tab ends, nothing is lost and nothing is twice. */
import { IDBFactory } from "fake-indexeddb";
import { beforeEach, expect, test, vi } from "vitest";
import type { Client, LogEvent } from "../src/index.ts";
import { IndexedDbStore } from "../src/stores/indexeddb.ts";
import { clientOf, live, record, seeded, until, wait } from "./clients.ts";
import { ScriptedInbox } from "./scripted_inbox.ts";
import { error, ScriptedServer, type ScriptedSocket } from "./scripted_server.ts";
import { FakeBrowser, type FakeTab } from "./tab_environment.ts";
import "fake-indexeddb/auto";

interface OpenTab {
  readonly client: Client;
  readonly tab: FakeTab;
  readonly messages: LogEvent[];
  /** The sockets that the tab opened. */
  readonly sockets: ScriptedSocket[];
}

let server: ScriptedServer;
let browser: FakeBrowser;

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
  server = new ScriptedServer({ isPushing: true });
  server.isOneDevice = server.isResuming = true;
  browser = new FakeBrowser();
});

function openTab(): OpenTab {
  const tab = browser.newTab();
  const sockets: ScriptedSocket[] = [];
  const socket = () => {
    const made = server.socket();
    sockets.push(made);
    if (tab.isDead) made.close();
    // A frozen or crashed tab does nothing.
    const send = made.send.bind(made);
    made.send = (data) => (tab.isFrozen || tab.isDead ? undefined : send(data));
    return made;
  };
  const client = clientOf(server, { store: "indexeddb", tabs: tab, socket });
  return { client, tab, messages: record(client, "message"), sockets };
}

async function openTabs(count: number): Promise<OpenTab[]> {
  const first = openTab();
  await live(first.client);
  const tabs = [first, ...Array.from({ length: count - 1 }, openTab)];
  await Promise.all(tabs.map(({ client }) => live(client)));
  return tabs;
}

/** End a tab like a crash: no goodbye, no last write, the socket is cut. */
function crash({ tab, sockets }: OpenTab): void {
  tab.crash();
  for (const socket of sockets) if (socket.isOpen) socket.shut(1006, "");
}

const sequences = ({ messages }: OpenTab): number[] => messages.map(({ entry }) => entry.sequence);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

function addAndPush(chat = "g1", text = ""): void {
  const { sequence } = server.add(chat, { text }) as { sequence: number };
  server.pushEntry(chat, sequence);
}

test("four tabs have one connection, and all receive each entry once", async () => {
  const tabs = await openTabs(4);
  for (let n = 0; n < 5; n++) addAndPush();
  await until(() => tabs.every(({ messages }) => messages.length === 5));
  for (const tab of tabs) expect(sequences(tab)).toEqual(upTo(5));
  expect([server.hellos.length, server.sockets.size]).toEqual([1, 1]);
});

test("a follower has the state of the leader: rows, user, unread, timeline", async () => {
  server.beforeResumed = [{ chats: { rows: [{ chat: "g1", head: 0, name: "us", at: 5 }] } }];
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  for (let n = 1; n <= 3; n++) addAndPush("g1", `m${n}`);
  await until(() => follower.messages.length === 3);
  expect(follower.client.user.get()).toBe("anna");
  expect(follower.client.chats.get()).toEqual(leader.client.chats.get());
  const late = openTab();
  await live(late.client);
  expect(late.client.chats.get()).toMatchObject([{ chat: "g1", unread: 3, preview: "m3" }]);
  await late.client.chat("g1").timeline.loadNewest();
  expect(late.client.chat("g1").timeline.keys.get()).toEqual(["#1", "#2", "#3"]);
  await follower.client.chat("g1").read(2);
  await until(() => [leader, follower, late].every(({ client }) => client.chats.unread.get() === 1));
});

test("a tab that pings the next leader while that one loads its store follows it", async () => {
  const [leader, ...others] = (await openTabs(3)) as [OpenTab, OpenTab, OpenTab];
  const { load } = IndexedDbStore.prototype;
  const slow = vi.spyOn(IndexedDbStore.prototype, "load").mockImplementation(async function (
    this: IndexedDbStore,
  ) {
    await wait(1_000); // longer than two pings
    return load.call(this);
  });
  crash(leader);
  await until(() => server.hellos.length === 2);
  slow.mockRestore();
  addAndPush();
  await until(() => others.every(({ messages }) => messages.length === 1));
});

test("a follower sends through the leader, and all tabs show the message", async () => {
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  await Promise.all([leader, follower].map(({ client }) => client.chat("g1").timeline.loadNewest()));
  const { key, stored, outcome } = follower.client.chat("g1").send("hi");
  expect(follower.client.chat("g1").timeline.keys.get()).toEqual([key]);
  await stored;
  expect((await outcome).sequence).toBe(1);
  await until(() => leader.client.chat("g1").timeline.item(key).get()?.entry);
  expect(leader.client.chat("g1").timeline.keys.get()).toEqual([key]);
  await expect(follower.client.chat("g1").send("hi").outcome).resolves.toMatchObject({ sequence: 2 });
  expect(server.hellos).toHaveLength(1);
});

test("errors reach the tab that asked, and failed messages all tabs", async () => {
  server.refusals = { bad: "blocked" };
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  const { key, outcome } = follower.client.chat("g1").send("bad");
  await expect(outcome).rejects.toMatchObject({ code: "blocked", name: "TidingsError" });
  const late = openTab();
  await live(late.client);
  const states = () =>
    [leader, follower, late].map(({ client }) => client.chat("g1").timeline.item(key).get()?.delivery);
  await until(() => states().every((state) => state === "failed"));
  late.client.chat("g1").timeline.discard(key);
  await until(() => states().every((state) => state === undefined));
  server.answers.read = () => error("not_a_member");
  await expect(follower.client.chat("g1").read(1)).rejects.toMatchObject({ code: "not_a_member" });
});

test("receipts, typing and presence reach all tabs that watch", async () => {
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  leader.client.chat("g1").watch();
  await until(() => server.tries("subscribe").length === 1);
  server.push({
    receipts: {
      chat: "g1",
      members: [
        { user: "anna", since: 1 },
        { user: "ben", since: 1 },
      ],
      is_snapshot: true,
    },
  });
  await until(() => leader.client.chat("g1").members.get().length === 2);
  // The follower has no snapshot yet, so the name is subscribed again.
  const unwatch = follower.client.chat("g1").watch();
  follower.client.presence.watch(["ben"]);
  await until(() => server.tries("subscribe").length === 2);
  expect(server.tries("subscribe")[1]).toEqual({ chats: ["g1"], users: ["ben"] });
  server.push({
    receipts: {
      chat: "g1",
      members: [
        { user: "anna", since: 1 },
        { user: "ben", since: 1, read: 3 },
      ],
      is_snapshot: true,
    },
  });
  server.push({ presence: { user: "ben", status: "online" } });
  server.push({ typing: { chat: "g1", user: "ben" } });
  await until(
    () =>
      follower.client.chat("g1").status(3).get() === "read" &&
      follower.client.presence.of("ben").get() &&
      follower.client.chat("g1").typing.get().length,
  );
  unwatch();
  await leader.client.chat("g1").send("hi").outcome;
  expect(server.tries("unsubscribe"), "the leader still watches").toEqual([]);
});

test("counts and marks of an inbox reach all tabs", async () => {
  const inbox = new ScriptedInbox(server);
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  await Promise.all([leader, follower].map(({ client }) => client.inbox().refresh()));
  const { id } = inbox.give();
  await until(() => [leader, follower].every(({ client }) => client.inbox().counts.get()?.unread === 1));
  const feed = leader.client.inbox().feed();
  feed.open();
  await until(() => feed.ids.get().length);
  await follower.client.inbox().markRead([id]);
  await until(() => leader.client.inbox().counts.get()?.unread === 0 && feed.notification(id).get()?.is_read);
});

test("when the leading tab is closed, another takes over without loss or duplicate", async () => {
  const [leader, ...followers] = (await openTabs(4)) as [OpenTab, ...OpenTab[]];
  for (let n = 0; n < 3; n++) addAndPush();
  await until(() => followers.every(({ messages }) => messages.length === 3));
  const began = performance.now();
  await leader.client.close();
  for (let n = 0; n < 3; n++) addAndPush();
  await until(() => followers.every(({ messages }) => messages.length === 6));
  expect(performance.now() - began).toBeLessThan(2_000);
  for (const tab of followers) expect(sequences(tab)).toEqual(upTo(6));
  expect(server.sockets.size).toBe(1);
  expect(server.hellos.at(-1)).toMatchObject({ device: "d-1", positions: { g1: 3 } });
});

test("when the leading tab crashes before it stored its position, nothing is twice", async () => {
  const [leader, ...followers] = (await openTabs(3)) as [OpenTab, ...OpenTab[]];
  addAndPush();
  await until(() => followers.every(({ messages }) => messages.length === 1));
  for (let n = 0; n < 4; n++) addAndPush();
  await until(() => followers.every(({ messages }) => messages.length === 5));
  crash(leader);
  addAndPush();
  await until(() => followers.every(({ messages }) => messages.length === 6));
  expect(server.hellos.at(-1)?.positions?.g1 ?? 0, "the stored position is behind").toBeLessThan(5);
  for (const tab of followers) expect(sequences(tab)).toEqual(upTo(6));
});

test("a command without an answer is sent again to the next leader", async () => {
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  leader.tab.isDead = true;
  const { outcome } = follower.client.chat("g1").send("hi");
  const reading = follower.client.chat("g1").read(1);
  await wait(20);
  crash(leader);
  expect((await outcome).sequence).toBe(1);
  await reading;
  expect(server.log("g1")).toHaveLength(1);
});

test("a message that was sent before the crash is not sent again", async () => {
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  await follower.client.chat("g1").send("before").outcome;
  server.script = ["cut after"];
  const { outcome } = follower.client.chat("g1").send("hi");
  await until(() => server.log("g1").length === 2);
  crash(leader);
  expect((await outcome).sequence).toBe(2);
  await follower.client.chat("g1").send("later").outcome;
  expect(server.log("g1").map(({ text }) => text)).toEqual(["before", "hi", "later"]);
});

test("a frozen leader is replaced within 2 seconds, and follows when it wakes up", async () => {
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  addAndPush();
  await until(() => leader.messages.length === 1 && follower.messages.length === 1);
  const began = performance.now();
  leader.tab.isFrozen = true;
  await until(
    () => follower.sockets.length === 1 && server.sockets.has(follower.sockets[0] as ScriptedSocket),
  );
  expect(performance.now() - began).toBeLessThan(2_000);
  addAndPush();
  await until(() => follower.messages.length === 2);
  // It wakes up with its old state, and does not know yet that it was replaced.
  const late = leader.client.chat("g1").send("late");
  leader.tab.thaw();
  await until(() => leader.messages.length >= 2);
  expect((await late.outcome).sequence).toBe(3);
  await until(() => leader.messages.length === 3 && follower.messages.length === 3);
  for (const tab of [leader, follower]) expect(sequences(tab)).toEqual(upTo(3));
  expect(server.log("g1").filter(({ by }) => by === "anna")).toHaveLength(1);
  expect(leader.client.connection.get().state).toBe("live");
  expect(server.sockets.size).toBe(1);
});

test("a tab that wakes up reads what it missed, and its requests are answered by the next leader", async () => {
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  addAndPush();
  await until(() => leader.messages.length === 1 && follower.messages.length === 1);
  leader.tab.isFrozen = true;
  const reading = leader.client.chat("g1").read(1);
  await until(
    () => follower.sockets.length === 1 && server.sockets.has(follower.sockets[0] as ScriptedSocket),
  );
  addAndPush();
  await until(() => follower.messages.length === 2);
  leader.tab.thaw();
  await reading;
  await until(() => leader.messages.length === 2);
  expect(leader.messages.map(({ origin }) => origin)).toEqual(["live", "missed"]);
});

test("after a restore all tabs start again", async () => {
  const [leader, follower] = (await openTabs(2)) as [OpenTab, OpenTab];
  addAndPush("g1", "old");
  await until(() => follower.messages.length === 1);
  await follower.client.chat("g1").timeline.loadNewest();
  server.logs.clear();
  server.add("g1", { text: "new" });
  server.epoch = 1;
  server.cut();
  const { timeline } = follower.client.chat("g1");
  await until(() => timeline.item(timeline.keys.get()[0] ?? "").get()?.text === "new");
  expect(leader.client.chats.get()).toEqual(follower.client.chats.get());
});

test.each(upTo(40))("random ends of tabs lose nothing and repeat nothing (seed %i)", async (seed) => {
  const random = seeded(seed);
  const tabs = await openTabs(4);
  addAndPush();
  await until(() => tabs.every(({ messages }) => messages.length === 1));
  const sends: Promise<unknown>[] = [];
  let count = 0;
  for (let step = 0; step < 14; step++) {
    const alive = tabs.filter(({ tab }) => !tab.isDead);
    const one = random.pick(alive);
    const what = random.below(10);
    if (what < 4) addAndPush("g1", `b${step}`);
    else if (what < 8) sends.push(one.client.chat("g1").send(`a${count++}`).stored);
    else if (what === 8) server.cut();
    else if (alive.length > 1) crash(one);
    if (random.below(2)) await wait(random.below(12));
  }
  await Promise.allSettled(sends);
  const survivors = tabs.filter(({ tab }) => !tab.isDead);
  await survivors[0]?.client.flush();
  const total = server.log("g1").length;
  await until(() => survivors.every(({ messages }) => messages.length >= total));
  for (const tab of survivors) expect(sequences(tab)).toEqual(upTo(total));
  const own = server.log("g1").flatMap(({ by, text }) => (by === "anna" ? [text] : []));
  expect(new Set(own).size, "nothing is twice").toBe(own.length);
});
