/** Clients and waits for tests. */
import { afterEach, expect } from "vitest";
import {
  Client,
  type ClientOptions,
  type Events,
  MemoryStore,
  type OutboxEntry,
  type StoreBatch,
} from "../src/index.ts";
import type { ScriptedServer } from "./scripted_server.ts";

const running = new Set<Client>();

afterEach(async () => {
  await Promise.all([...running].map((client) => client.close()));
  running.clear();
});

/** Start a client that waits milliseconds instead of seconds. It is closed after the test. */
export function clientOf(server: ScriptedServer, options: Partial<ClientOptions> = {}): Client {
  const { timeouts, ...others } = options;
  const client = new Client({
    url: "ws://scripted",
    user: server.user,
    token: "anna",
    store: new MemoryStore(),
    socket: server.socket,
    timeouts: { answerMs: 5_000, backoffFirstMs: 2, backoffLongestMs: 20, ...timeouts },
    ...others,
  });
  running.add(client);
  client.start();
  return client;
}

/** Wait for a condition with a deadline. */
export async function until(holds: () => unknown, withinMs = 5_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await holds())) {
    if (performance.now() > deadline) expect.fail(`Not within ${withinMs} ms: ${holds}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

export const live = (client: Client): Promise<void> => until(() => client.connection.get().state === "live");
export const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Collect the events of some kinds. */
export function record<K extends keyof Events>(client: Client, ...kinds: K[]): Events[K][] {
  const events: Events[K][] = [];
  for (const kind of kinds) client.on(kind, (event) => events.push(event));
  return events;
}

export async function storeWith(batch: StoreBatch): Promise<MemoryStore> {
  const store = new MemoryStore();
  await store.write(batch);
  return store;
}

export const storeAt = (positions: Record<string, number>): Promise<MemoryStore> =>
  storeWith({ positions: new Map(Object.entries(positions)) });

/** The store of a client that died during a try. */
export function tried(after: number, epoch = 0): Promise<MemoryStore> {
  const row: OutboxEntry = {
    kind: "send",
    number: 1,
    epoch,
    body: { chat: "g1", client_message_id: "k-1", after, text: "hi" },
  };
  return storeWith({ owner: { user: "anna", device: "d-1", epoch }, outbox: new Map([["k-1", row]]) });
}

/** A generator of random numbers that repeats with its seed. */
export function seeded(seed: number): {
  below(bound: number): number;
  pick<T>(from: readonly T[]): T;
  list<T>(most: number, one: () => T): T[];
} {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (bound: number) => Math.floor(next() * bound);
  return {
    below,
    pick: (from) => from[below(from.length)] as never,
    list: (most, one) => Array.from({ length: below(most + 1) }, one),
  };
}
