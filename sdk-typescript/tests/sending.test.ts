/** The outbox with a network that fails by a script: nothing is duplicated, lost or reordered. */
import { expect, test } from "vitest";
import { MemoryStore, type StoreBatch } from "../src/index.ts";
import { clientOf, seeded, until, wait } from "./clients.ts";
import { error, FAULTS, type Fault, ScriptedServer } from "./scripted_server.ts";

const CHATS = ["g1", "g2"];

/** A store whose writes take longer than a frame to the server. */
class SlowStore extends MemoryStore {
  override async write(batch: StoreBatch): Promise<void> {
    await wait(1);
    await super.write(batch);
  }
}

/** When a message first arrives at the server, the store has its row with the same `after`. */
function checkStored(server: ScriptedServer, store: MemoryStore): void {
  const known = new Set<string>();
  server.watch = (kind, { client_message_id: key, after }) => {
    if (kind !== "send" || known.has(key)) return;
    known.add(key);
    const row = store.state.outbox.find(({ body }) => body.client_message_id === key);
    expect(row?.body.after, "tried before it was stored").toBe(after);
  };
}

function expectOnceAndInOrder(server: ScriptedServer, chats: string[]): void {
  for (const chat of CHATS) {
    const own = server.log(chat).flatMap((entry) => (entry.by === "anna" ? [entry.text] : []));
    expect(own).toEqual(chats.flatMap((each, number) => (each === chat ? [`m${number}`] : [])));
  }
  expect(server.complaints).toEqual([]);
}

function expectSameInEveryTry(server: ScriptedServer, mayRise: boolean): void {
  const tries = Map.groupBy(server.tries(), (body) => body.client_message_id);
  for (const ofOne of tries.values()) {
    const afters = ofOne.map((body) => body.after);
    expect(new Set(ofOne.map((body) => body.text)).size).toBe(1);
    if (mayRise) expect(afters).toEqual([...afters].sort((a, b) => a - b));
    else expect(new Set(afters).size).toBe(1);
  }
}

test.each(Array.from({ length: 80 }, (_, seed) => seed))(
  "despite network faults, each message is in the log once and in order (seed %i)",
  async (seed) => {
    const random = seeded(seed);
    const script = random.list(14, () => random.pick(FAULTS)) as Fault[];
    const chats = [random.pick(CHATS), ...random.list(5, () => random.pick(CHATS))];
    const store = new SlowStore();
    const server = new ScriptedServer({ script, isPushing: random.below(2) === 1 });
    checkStored(server, store);
    server.add("g1");
    const client = clientOf(server, { store, timeouts: { answerMs: 200 } });
    const sends = chats.map((chat, number) => client.chat(chat).send(`m${number}`));
    for (const { outcome } of sends) {
      const sent = await outcome;
      expect(server.keys(sent.chat)[sent.sequence - 1]).toBe(sent.client_message_id);
    }
    await client.close();
    expectOnceAndInOrder(server, chats);
    expect(store.state.outbox).toEqual([]);
    expectSameInEveryTry(server, script.includes("catch up"));
  },
);

test.each(Array.from({ length: 40 }, (_, seed) => seed + 1000))(
  "the next client continues after any end of the last one (seed %i)",
  async (seed) => {
    const random = seeded(seed);
    const script = random.list(14, () => random.pick(FAULTS)) as Fault[];
    const chats = [random.pick(CHATS), ...random.list(5, () => random.pick(CHATS))];
    const store = new SlowStore();
    const server = new ScriptedServer({ script });
    checkStored(server, store);
    const first = clientOf(server, { store });
    await Promise.all(chats.map((chat, number) => first.chat(chat).send(`m${number}`).stored));
    await first.close();
    for (const more of [1 + random.below(5), ...random.list(2, () => 1 + random.below(5))]) {
      const untilSeen = server.seen.length + more;
      const client = clientOf(server, { store, timeouts: { answerMs: 200 } });
      await until(() => server.seen.length >= untilSeen || !store.state.outbox.length);
      await client.close();
    }
    await clientOf(server, { store, timeouts: { answerMs: 200 } }).flush();
    expectOnceAndInOrder(server, chats);
    expectSameInEveryTry(server, script.includes("catch up"));
  },
);

test("a message is pending at once, stored, and acknowledged with its sequence", async () => {
  const store = new MemoryStore();
  const client = clientOf(new ScriptedServer(), { store });
  const { key, stored, outcome } = client.chat("g1").send("hi");
  expect(client.chat("g1").timeline.item(key).get()).toMatchObject({ delivery: "pending", text: "hi" });
  await stored;
  expect(store.state.outbox.map(({ body }) => body.client_message_id)).toEqual([key]);
  expect(await outcome).toEqual({ chat: "g1", client_message_id: key, sequence: 1, is_repeat: false });
  expect(store.state.outbox).toEqual([]);
});

test("without faults each message is sent once and chats are independent", async () => {
  const server = new ScriptedServer();
  const client = clientOf(server);
  const sends = Array.from({ length: 30 }, (_, n) => client.chat(`g${n % 3}`).send(`m${n}`));
  const sent = await Promise.all(sends.map(({ outcome }) => outcome));
  expect(sent.map(({ sequence }) => sequence)).toEqual(
    Array.from({ length: 30 }, (_, n) => Math.floor(n / 3) + 1),
  );
  expect(server.tries()).toHaveLength(30);
});

test("after a rejoin the first send is refused and the next succeeds", async () => {
  // A membership is valid only if its join is at or before `after`, so `after` must be raised after a rejoin.
  const server = new ScriptedServer();
  const chat = clientOf(server).chat("g1");
  expect((await chat.send("before").outcome).sequence).toBe(1);
  server.add("g1", { kind: "leave", users: ["anna"] });
  server.add("g1", { kind: "join", users: ["anna"] });
  server.answers.send = ({ after }) => (after < 3 ? error("not_a_member") : { ok: { sequence: 4 } });
  await expect(chat.send("from before").outcome).rejects.toMatchObject({ code: "not_a_member" });
  expect((await chat.send("anew").outcome).sequence).toBe(4);
});

test("the outbox is bounded", async () => {
  const server = new ScriptedServer();
  server.isDown = true;
  const client = clientOf(server, { maxOutbox: 2 });
  const sends = ["a", "b", "c"].map((text) => client.chat("g1").send(text));
  await sends[1]?.stored;
  await expect(sends[2]?.stored).rejects.toMatchObject({ code: "outbox_full" });
  await expect(sends[2]?.outcome).rejects.toMatchObject({ code: "outbox_full" });
  expect(
    client
      .chat("g1")
      .timeline.item(sends[2]?.key ?? "")
      .get()?.delivery,
  ).toBe("failed");
});
