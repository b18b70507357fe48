/**
 * Write batches in order, at most one at a time. Batches that arrive meanwhile are merged into the next.
 *
 * If the store fails, continue in memory.
 */
import { type Deferred, deferred } from "../deferred.ts";
import { asTidingsError } from "../errors.ts";
import { MemoryStore } from "./memory.ts";
import { mergeBatch, type Store, type StoreBatch, type StoredMessages, type StoredState } from "./store.ts";

interface PendingWrite {
  readonly batch: StoreBatch;
  readonly done: Deferred<void>;
}

export class BatchedStore {
  readonly #store: Store;
  readonly #onDegraded: (reason: string) => void;
  #memory: MemoryStore | undefined;
  #next: PendingWrite | undefined;
  #running: Promise<void> | undefined;

  constructor(store: Store, onDegraded: (reason: string) => void) {
    this.#store = store;
    this.#onDegraded = onDegraded;
  }

  async load(): Promise<StoredState> {
    try {
      return await this.#store.load();
    } catch (error) {
      return this.#degrade(error).load();
    }
  }

  async messages(chat: string): Promise<StoredMessages | undefined> {
    try {
      return await (this.#memory ?? this.#store).messages(chat);
    } catch (error) {
      return this.#degrade(error).messages(chat);
    }
  }

  /** Write a batch after all earlier ones. Rejects only with `store_in_use`. */
  write(batch: StoreBatch): Promise<void> {
    this.#next ??= { batch: {}, done: deferred<void>() };
    const next = this.#next;
    mergeBatch(next.batch, batch);
    // Start in a microtask: changes of one frame or one call go into one transaction.
    this.#running ??= Promise.resolve().then(() => this.#run());
    return next.done.promise;
  }

  /** Wait for all writes, and close the store. */
  async close(): Promise<void> {
    await this.#running;
    await this.#store.close().catch(() => undefined);
  }

  async #run(): Promise<void> {
    while (this.#next) {
      const { batch, done } = this.#next;
      this.#next = undefined;
      await this.#writeBatch(batch).then(done.resolve, done.reject);
    }
    this.#running = undefined;
  }

  async #writeBatch(batch: StoreBatch): Promise<void> {
    if (!this.#memory) {
      try {
        return await this.#store.write(batch);
      } catch (error) {
        if (asTidingsError(error).code === "store_in_use") throw error;
        this.#degrade(error);
      }
    }
    await this.#memory?.write(batch);
    // A stored row without its new `after` would be sent again with another `after`, as a second message. Deleting
    // usually works even if the quota is exceeded. Rows that were never tried stay for the next client.
    const keys = [...(batch.outbox?.keys() ?? [])];
    if (keys.length)
      await this.#store.write({ outbox: new Map(keys.map((key) => [key, null])) }).catch(() => undefined);
  }

  #degrade(error: unknown): MemoryStore {
    if (!this.#memory) {
      this.#memory = new MemoryStore();
      this.#onDegraded(String(error));
    }
    return this.#memory;
  }
}
