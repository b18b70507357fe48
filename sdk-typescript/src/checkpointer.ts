/** Store the chat list, messages and positions about once a second, and acknowledge the positions. */

import { now } from "./clock.ts";
import { partsOf } from "./collections.ts";
import type { StoreBatch } from "./stores/store.ts";

const SAVE_EVERY_MS = 1_000;
const MAX_ACKS_PER_FRAME = 200;

export interface CheckpointerDeps {
  /** Return the rows and messages that changed since the last call. */
  readonly changes: () => StoreBatch;
  /** Return whether positions may be stored: the first sync has ended. */
  readonly mayStorePositions: () => boolean;
  readonly write: (batch: StoreBatch) => void;
  readonly ack: (delivered: Record<string, number>) => void;
}

export class Checkpointer {
  readonly #deps: CheckpointerDeps;
  readonly #moved = new Map<string, number>();
  readonly #processed = new Map<string, number>();
  #savedAt = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(deps: CheckpointerDeps) {
    this.#deps = deps;
  }

  /** Record a position that the device did not reach by entries: it is stored, and not acknowledged. */
  begun(chat: string, position: number): void {
    this.#moved.set(chat, position);
    this.schedule();
  }

  /** Record a position up to which all entries were delivered to the app. */
  delivered(chat: string, position: number): void {
    this.#processed.set(chat, position);
    this.begun(chat, position);
  }

  /** Forget all positions, after the installation was restored. */
  reset(): void {
    this.#moved.clear();
    this.#processed.clear();
  }

  /** Save soon: at once if the last time was a second ago, because browsers delay the timers of hidden pages. */
  schedule(): void {
    if (this.#timer !== undefined || this.#isClosed) return;
    const waitMs = this.#savedAt + SAVE_EVERY_MS - now();
    if (waitMs > 0) {
      this.#timer = setTimeout(() => this.save(), waitMs);
      return;
    }
    this.#savedAt = now();
    queueMicrotask(() => this.save());
  }

  /**
   * Write one batch. It is atomic: the list and the messages are never behind the positions, which would hide entries.
   *
   * If the batch is lost, entries are delivered again.
   */
  save(): void {
    if (this.#isClosed) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#savedAt = now();
    const batch = this.#deps.changes();
    if (this.#moved.size && this.#deps.mayStorePositions()) {
      batch.positions = new Map(this.#moved);
      this.#moved.clear();
    }
    if (Object.keys(batch).length) this.#deps.write(batch);
    const processed = [...this.#processed];
    this.#processed.clear();
    // Without a connection, the next `connect` acknowledges them.
    for (const part of partsOf(processed, MAX_ACKS_PER_FRAME)) this.#deps.ack(Object.fromEntries(part));
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
