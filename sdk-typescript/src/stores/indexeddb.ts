/** A store in IndexedDB, for one client at a time: for one tab, or for the leading tab. */
import { deferred } from "../deferred.ts";
import { sdkError } from "../errors.ts";
import type { ChatRow } from "../frames.gen.ts";
import { newClientMessageId } from "../send_queues.ts";
import type { OutboxEntry, Store, StoreBatch, StoredMessages, StoredState } from "./store.ts";

const TABLES = ["outbox", "positions", "chats", "messages", "meta"] as const;
const VERSION = 1;

type Table = (typeof TABLES)[number];

/**
 * A store in the database `tidings:<name>`. It has unsent and received messages in plain text.
 *
 * The outbox is written with strict durability: a message that was reported as stored survives a crash of the machine.
 */
export class IndexedDbStore implements Store {
  readonly #name: string;
  /** Identifies the client that loaded the store last. Writes of earlier ones are refused. */
  readonly #client = newClientMessageId();
  #opened: Promise<IDBDatabase> | undefined;

  constructor(name: string) {
    this.#name = `tidings:${name}`;
  }

  async load(): Promise<StoredState> {
    const table = tablesOf((await this.#database()).transaction(TABLES, "readwrite"));
    table("meta").put(this.#client, "client");
    const [owner, opened = [], settled = [], outbox, chats, keys, positions] = (await Promise.all(
      [
        table("meta").get("owner"),
        table("meta").get("opened"),
        table("meta").get("settled"),
        table("outbox").getAll(),
        table("chats").getAll(),
        table("positions").getAllKeys(),
        table("positions").getAll(),
      ].map(resultOf),
    )) as [StoredState["owner"], string[]?, string[]?, ...[OutboxEntry[], ChatRow[], string[], number[]]];
    outbox.sort((a, b) => a.number - b.number);
    return {
      owner,
      outbox,
      positions: new Map(keys.map((chat, index) => [chat, positions[index] ?? 0])),
      chats,
      opened,
      settled,
    };
  }

  async messages(chat: string): Promise<StoredMessages | undefined> {
    const transaction = (await this.#database()).transaction(TABLES);
    return (await resultOf(tablesOf(transaction)("messages").get(chat))) as StoredMessages | undefined;
  }

  async write({ isReset, owner, opened, settled, ...changes }: StoreBatch): Promise<void> {
    const durability = changes.outbox ? "strict" : "default";
    const transaction = (await this.#database()).transaction(TABLES, "readwrite", { durability });
    const table = tablesOf(transaction);
    const done = deferred<void>();
    transaction.oncomplete = () => done.resolve();
    transaction.onabort = () => done.reject(transaction.error);
    // Race: a frozen tab wakes up after another one has taken over. Its state is old, so it must not write.
    if ((await resultOf(table("meta").get("client"))) !== this.#client) {
      throw sdkError("store_in_use", `Another client uses the store ${this.#name}.`);
    }
    if (isReset) for (const name of ["positions", "chats", "messages"] as const) table(name).clear();
    for (const [key, value] of Object.entries({ owner, opened, settled }))
      if (value) table("meta").put(value, key);
    for (const name of ["outbox", "positions", "chats", "messages"] as const) {
      for (const [key, value] of changes[name] ?? []) {
        if (value === null) table(name).delete(key);
        else table(name).put(value, key);
      }
    }
    await done.promise;
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    (await opened)?.close();
  }

  #database(): Promise<IDBDatabase> {
    this.#opened ??= new Promise((resolve, reject) => {
      const opening = indexedDB.open(this.#name, VERSION);
      opening.onupgradeneeded = () => {
        for (const name of TABLES) opening.result.createObjectStore(name);
      };
      opening.onerror = () => reject(opening.error);
      opening.onsuccess = () => {
        // Another tab deletes the database or opens a later version of it. Writes fail from now on.
        opening.result.onversionchange = () => opening.result.close();
        resolve(opening.result);
      };
    });
    return this.#opened;
  }
}

function tablesOf(transaction: IDBTransaction): (name: Table) => IDBObjectStore {
  return (name) => transaction.objectStore(name);
}

function resultOf(request: IDBRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
