/** Both stores give the same guarantees; IndexedDB gives them across a reload, and its failures degrade to memory. */
import { IDBFactory } from "fake-indexeddb";
import { beforeEach, expect, test } from "vitest";
import { decodeStruct } from "../src/codec.ts";
import {
  IndexedDbStore,
  MemoryStore,
  type OutboxEntry,
  type Store,
  type StoreBatch,
  type StoredMessages,
  type StoredState,
} from "../src/index.ts";
import { Outbox } from "../src/outbox.ts";
import { BatchedStore } from "../src/stores/batched_store.ts";
import { clientOf, live, record, until, wait } from "./clients.ts";
import { ScriptedServer } from "./scripted_server.ts";
import "fake-indexeddb/auto";

const row = (
  number: number,
  chat: string,
  key: string,
  more: Partial<OutboxEntry> = {},
): [string, OutboxEntry] => [
  key,
  {
    kind: "send",
    number,
    body: { chat, client_message_id: key, text: "Grüße 👋", data: { a: [1] }, mentions: ["ben"] },
    ...more,
  } as OutboxEntry,
];
const chat = (id: string) =>
  decodeStruct("ChatRow", { chat: id, head: 3, name: "Grüße", members: ["ben"] }) as never;

beforeEach(() => {
  globalThis.indexedDB = new IDBFactory();
});

const KINDS = ["memory", "indexeddb"];

/** Return a function that opens the store as the next page would. */
function reopening(kind: string): () => Promise<[Store, StoredState]> {
  let held: Store = new MemoryStore();
  return async () => {
    if (kind === "indexeddb") {
      await held.close();
      held = new IndexedDbStore("test");
    }
    return [held, await held.load()];
  };
}

test.each(KINDS)("rows are restored in their order: %s", async (kind) => {
  const again = reopening(kind);
  const [store] = await again();
  await store.write({ outbox: new Map([row(1, "g1", "k-9"), row(2, "g2", "k-1"), row(3, "g1", "k-2")]) });
  const changed = row(1, "g1", "k-9", { epoch: 7 });
  await store.write({ outbox: new Map<string, OutboxEntry | null>([changed, ["k-1", null]]) });
  const [, state] = await again();
  expect(state.outbox).toEqual([changed[1], row(3, "g1", "k-2")[1]]);
});

test.each(KINDS)("positions, chats and messages are deleted with their epoch: %s", async (kind) => {
  const again = reopening(kind);
  const [store] = await again();
  const messages = { after: 0, up_to: 1, entries: [] };
  await store.write({
    owner: { user: "anna", device: "d", epoch: 0 },
    positions: new Map([
      ["g1", 4],
      ["g2", 1],
    ]),
    chats: new Map([
      ["g1", chat("g1")],
      ["g2", chat("g2")],
    ]),
    messages: new Map([["g1", messages]]),
    opened: ["g1"],
  });
  await store.write({
    positions: new Map([["g1", 5]]),
    chats: new Map([
      ["g2", null],
      ["g9", null],
    ]),
  });
  let [reopened, state] = await again();
  expect(state).toEqual({
    owner: { user: "anna", device: "d", epoch: 0 },
    outbox: [],
    positions: new Map([
      ["g1", 5],
      ["g2", 1],
    ]),
    chats: [chat("g1")],
    opened: ["g1"],
    settled: [],
  });
  expect(await reopened.messages("g1")).toEqual(messages);
  await reopened.write({
    owner: { user: "anna", device: "d", epoch: 1 },
    isReset: true,
    positions: new Map([["g3", 2]]),
  });
  [reopened, state] = await again();
  expect(state).toMatchObject({ owner: { epoch: 1 }, chats: [], positions: new Map([["g3", 2]]) });
  expect(await reopened.messages("g1")).toBeUndefined();
});

test("a client that was replaced cannot write to the store", async () => {
  const [first, second] = [new IndexedDbStore("test"), new IndexedDbStore("test")];
  await first.load();
  await second.load();
  await expect(first.write({ outbox: new Map([row(1, "g1", "k-1")]) })).rejects.toMatchObject({
    code: "store_in_use",
  });
  await second.write({ positions: new Map([["g1", 1]]) });
  expect((await second.load()).outbox).toEqual([]);
});

test("a client that was replaced stops, and does not send", async () => {
  const server = new ScriptedServer();
  const options = { store: "indexeddb" as const, tabs: false };
  const first = clientOf(server, options);
  await live(first);
  const second = clientOf(server, options);
  await live(second);
  await expect(first.chat("g1").send("late").stored).rejects.toMatchObject({ code: "store_in_use" });
  expect((await second.chat("g1").send("hi").outcome).sequence).toBe(1);
  expect(server.tries().map(({ text }) => text)).toEqual(["hi"]);
});

test("writes of one moment are one transaction, and later ones wait for it", async () => {
  const batches: StoreBatch[] = [];
  const memory = new MemoryStore();
  const inner: Store = Object.assign(Object.create(memory), {
    write: async (batch: StoreBatch) => {
      batches.push(batch);
      await new Promise((resolve) => setTimeout(resolve, 5));
      await memory.write(batch);
    },
  });
  const store = new BatchedStore(inner, () => undefined);
  const writes = [
    store.write({ positions: new Map([["g1", 1]]) }),
    store.write({ positions: new Map([["g1", 2]]), outbox: new Map([row(1, "g1", "k-1")]) }),
  ];
  await until(() => batches.length);
  writes.push(
    store.write({ outbox: new Map([["k-1", null]]) }),
    store.write({ positions: new Map([["g2", 1]]) }),
  );
  await Promise.all(writes);
  expect(batches).toEqual([
    { positions: new Map([["g1", 2]]), outbox: new Map([row(1, "g1", "k-1")]) },
    { outbox: new Map([["k-1", null]]), positions: new Map([["g2", 1]]) },
  ]);
  expect(memory.state).toMatchObject({
    outbox: [],
    positions: new Map([
      ["g1", 2],
      ["g2", 1],
    ]),
  });
});

test("a message that is put twice is one row, also while it is being stored", async () => {
  const memory = new MemoryStore();
  const outbox = new Outbox(new BatchedStore(memory, () => undefined), [], 10);
  const request = { kind: "send", body: { chat: "g1", client_message_id: "k-1", text: "hi" } } as const;
  await Promise.all([outbox.add(request), outbox.add(request)]);
  await outbox.add(request);
  expect([outbox.size, outbox.rows.length, memory.state.outbox.length]).toEqual([1, 1, 1]);
});

/** A store that fails from a given write on. */
class FailingStore extends MemoryStore {
  failAt = Infinity;
  writes = 0;
  readonly dropped: string[] = [];

  override write(batch: StoreBatch): Promise<void> {
    if (this.writes++ < this.failAt) return super.write(batch);
    const isDelete =
      Object.keys(batch).join() === "outbox" &&
      [...(batch.outbox?.values() ?? [])].every((each) => each === null);
    if (!isDelete) return Promise.reject(new DOMException("no space", "QuotaExceededError"));
    this.dropped.push(...(batch.outbox?.keys() ?? []));
    return super.write(batch);
  }
}

test("a full disk degrades to memory with one event, and messages are sent", async () => {
  const server = new ScriptedServer();
  const store = new FailingStore();
  const client = clientOf(server, { store });
  const events = record(client, "storeDegraded");
  await live(client);
  await client.chat("g1").send("before").outcome;
  store.failAt = 0;
  const outcomes = ["a", "b", "c"].map((text) => client.chat("g1").send(text).outcome);
  expect((await Promise.all(outcomes)).map(({ sequence }) => sequence)).toEqual([2, 3, 4]);
  expect(events).toHaveLength(1);
  expect(events[0]?.reason).toMatch(/QuotaExceeded|no space/);
});

test("a stored message that is tried after the failure is not sent again by the next client", async () => {
  // Its new `after` cannot be stored. With the old row, the next client would choose another `after`.
  const server = new ScriptedServer();
  server.isDown = true;
  const store = new FailingStore();
  const first = clientOf(server, { store });
  await first.chat("g1").send("hi").stored;
  store.failAt = 0;
  server.isDown = false;
  await first.flush();
  await first.close();
  expect(store.state.outbox).toEqual([]);
  server.add("g1");
  store.failAt = Infinity;
  await clientOf(server, { store }).flush();
  expect(server.log("g1").filter(({ by }) => by === "anna")).toHaveLength(1);
});

test("a store that cannot be opened degrades to memory", async () => {
  const server = new ScriptedServer();
  const broken = new MemoryStore();
  broken.load = () => Promise.reject(new DOMException("corrupt", "UnknownError"));
  const events: string[] = [];
  const client = clientOf(server, { store: broken });
  client.on("storeDegraded", ({ reason }) => events.push(reason));
  expect((await client.chat("g1").send("hi").outcome).sequence).toBe(1);
  expect(events).toHaveLength(1);
});

test("without IndexedDB the store is in memory, and clients share nothing", async () => {
  const server = new ScriptedServer();
  const { indexedDB: factory } = globalThis;
  Reflect.deleteProperty(globalThis, "indexedDB");
  try {
    const clients = [1, 2].map(() => clientOf(server, { store: undefined as never }));
    await Promise.all(clients.map(live));
    expect(server.hellos).toHaveLength(2);
  } finally {
    globalThis.indexedDB = factory;
  }
});

test("with IndexedDB, a reload without a connection shows chats and messages at once", async () => {
  const server = new ScriptedServer({ isPushing: true });
  const options = { store: "indexeddb" as const, tabs: false };
  for (let n = 1; n <= 5; n++) server.add("g1", { text: `m${n}` });
  server.beforeResumed = [{ chats: { rows: [{ chat: "g1", head: 5, name: "us", at: 5, unread: 5 }] } }];
  const first = clientOf(server, options);
  await live(first);
  await first.chat("g1").timeline.loadNewest();
  await first.chat("g1").send("mine").outcome;
  await until(() => first.chat("g1").timeline.keyOf(6));
  await first.close();
  server.isDown = true;
  const second = clientOf(server, options);
  const { timeline } = second.chat("g1");
  void timeline.loadNewest();
  await until(() => second.chats.isLoaded.get() && timeline.range.get().isLoaded);
  expect(second.chats.get()).toMatchObject([{ chat: "g1", name: "us", unread: 0, preview: "mine" }]);
  expect(timeline.keys.get().map((key) => timeline.item(key).get()?.text)).toEqual([
    "m1",
    "m2",
    "m3",
    "m4",
    "m5",
    "mine",
  ]);
  expect(timeline.item(timeline.keys.get().at(-1) ?? "").get()?.isOwn).toBe(true);
});

test("the messages of a chat are in the store as soon as they are shown", async () => {
  const server = new ScriptedServer();
  for (let n = 1; n <= 3; n++) server.add("g1", { text: `m${n}` });
  const store = new MemoryStore();
  const client = clientOf(server, { store });
  await live(client);
  await client.chat("g1").timeline.loadNewest();
  // The page is closed now, less than a second after the last checkpoint.
  await wait(0);
  expect((await store.messages("g1"))?.entries.map(({ text }) => text)).toEqual(["m1", "m2", "m3"]);
});

/** Reading takes longer than the checkpoint that a message causes, as in IndexedDB. */
class SlowStore extends MemoryStore {
  override async messages(chat: string): Promise<StoredMessages | undefined> {
    await wait(20);
    return super.messages(chat);
  }
}

test("a message of a chat that was opened before the reload is stored, although nothing follows it", async () => {
  const server = new ScriptedServer();
  server.add("g1", { text: "m1" });
  const store = new SlowStore();
  const first = clientOf(server, { store });
  await live(first);
  await first.chat("g1").timeline.loadNewest();
  await first.close();
  const second = clientOf(server, { store });
  await live(second);
  await wait(1_100);
  server.add("g1", { text: "m2" });
  server.pushEntry("g1", 2);
  await until(async () => (await store.messages("g1"))?.up_to === 2);
  expect((await store.messages("g1"))?.entries.map(({ text }) => text)).toEqual(["m1", "m2"]);
});
