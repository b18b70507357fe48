/** The outbox: messages in order for each chat, and the meaning of answers. The only I/O is writing to the store. */

import type { Answer } from "./codec.ts";
import { ascending } from "./collections.ts";
import { sdkError } from "./errors.ts";
import type { CommitResult, Entry, ErrorBody } from "./frames.gen.ts";
import type { BatchedStore } from "./stores/batched_store.ts";
import type { OutboxEntry, OutboxRequest } from "./stores/store.ts";

/** How often the server may answer a row with `internal` before the row fails, so that later rows are sent. */
export const MAX_FAILURES = 5;
/** These errors end the connection. The row waits for the next one. */
const NOT_ABOUT_THE_ROW = ["credential_expired", "credential_invalid"];

export interface Accepted {
  readonly type: "accepted";
  readonly sequence: number;
  readonly isRepeat: boolean;
}

export interface Rejected {
  readonly type: "rejected";
  readonly error: ErrorBody;
}

/** Send the same frame after this delay or the backoff. `isFailure`: the server had an internal error. */
export interface RetryLater {
  readonly type: "retry";
  readonly retryAfterMs?: number | undefined;
  readonly isFailure?: boolean;
}

/** `catchUp`: read the entries since `after` first. */
export type SendDecision = Accepted | Rejected | RetryLater | { readonly type: "catchUp" };

/** Decide what an answer means for a row. `failures`: how often the server answered the row with `internal`. */
export function decideSend({ ok, error }: Answer<unknown>, failures: number): SendDecision {
  if (!error)
    return {
      type: "accepted",
      sequence: (ok as CommitResult).sequence,
      isRepeat: (ok as CommitResult).is_repeat,
    };
  const retryAfterMs = error.retry_after_ms;
  if (error.code === "position_too_old") return { type: "catchUp" };
  if (error.code === "internal" && failures < MAX_FAILURES)
    return { type: "retry", retryAfterMs, isFailure: true };
  if (error.retryable || NOT_ABOUT_THE_ROW.includes(error.code)) return { type: "retry", retryAfterMs };
  return { type: "rejected", error };
}

/**
 * Search entries for the key of a row, or the end of the membership. The one with the lower sequence counts.
 *
 * `isOwn` is false if the user's right to send ended there. Tries from before are refused, so `after` must not be raised
 * over this entry.
 */
export function findInLog(
  row: OutboxRequest,
  user: string,
  entries: readonly Entry[],
): { readonly isOwn: boolean; readonly entry: Entry } | undefined {
  for (const entry of ascending(entries)) {
    if (entry.client_message_id === row.body.client_message_id && entry.by === user)
      return { isOwn: true, entry };
    if (endsMembership(row, user, entry)) return { isOwn: false, entry };
  }
  return undefined;
}

function endsMembership(row: OutboxRequest, user: string, { kind, users, by }: Entry): boolean {
  if (kind === "leave" || kind === "join")
    return users.includes(user) || (kind === "leave" && !users.length && by === user);
  if (kind === "role") return users.includes(user) && row.kind !== "send";
  if (kind === "mute") return users.includes(user);
  return kind === "block" || kind === "rules";
}

/** Return a row with the `after` of its next tries. */
export function sentAfter(row: OutboxEntry, after: number, epoch: number): OutboxEntry {
  return { ...row, body: { ...row.body, after }, epoch } as OutboxEntry;
}

export class Outbox {
  readonly #store: BatchedStore;
  readonly #maxRows: number;
  readonly #chats = new Map<string, OutboxEntry[]>();
  readonly #adding = new Map<string, Promise<void>>();
  #size = 0;
  #nextNumber = 1;

  constructor(store: BatchedStore, rows: readonly OutboxEntry[], maxRows: number) {
    this.#store = store;
    this.#maxRows = maxRows;
    for (const row of rows) {
      this.#append(row);
      this.#size++;
      this.#nextNumber = Math.max(this.#nextNumber, row.number + 1);
    }
  }

  get size(): number {
    return this.#size;
  }

  get chats(): string[] {
    return [...this.#chats.keys()];
  }

  get rows(): OutboxEntry[] {
    return [...this.#chats.values()].flat().sort((a, b) => a.number - b.number);
  }

  first(chat: string): OutboxEntry | undefined {
    return this.#chats.get(chat)?.[0];
  }

  /**
   * Add a row, unless there is one with its key. It is stored when this resolves, and is sent only then.
   *
   * `sent`: the `after` of its tries. Rejects with `outbox_full`.
   */
  add(request: OutboxRequest, sent?: { readonly after: number; readonly epoch: number }): Promise<void> {
    const { chat, client_message_id: key } = request.body;
    if (this.#chats.get(chat)?.some(({ body }) => body.client_message_id === key)) return Promise.resolve();
    const running = this.#adding.get(key);
    if (running) return running;
    const adding = this.#add(request, sent).finally(() => this.#adding.delete(key));
    this.#adding.set(key, adding);
    return adding;
  }

  async #add(
    request: OutboxRequest,
    sent: { readonly after: number; readonly epoch: number } | undefined,
  ): Promise<void> {
    if (this.#size >= this.#maxRows)
      throw sdkError("outbox_full", `The outbox is full: ${this.#maxRows} messages are waiting.`);
    const unsent: OutboxEntry = { ...request, number: this.#nextNumber++ };
    const row = sent ? sentAfter(unsent, sent.after, sent.epoch) : unsent;
    this.#size++;
    try {
      await this.#put(row);
    } catch (error) {
      this.#size--;
      throw error;
    }
    // Writes end in the order of their calls, so rows of a chat keep their order.
    this.#append(row);
  }

  /**
   * Store a new `after` of the first row. The key never changes.
   *
   * Race: a push settles the row while its sender reads the log or this call writes. Then another row is first, and the
   * row must not be stored again.
   */
  async changeFirst(row: OutboxEntry): Promise<void> {
    if (!this.#isFirst(row)) return;
    await this.#put(row);
    if (this.#isFirst(row)) this.#chats.get(row.body.chat)?.splice(0, 1, row);
  }

  /** Delete a settled row. Return false if it was deleted before. */
  remove({ body: { chat, client_message_id: key } }: OutboxRequest): boolean {
    const rows = this.#chats.get(chat) ?? [];
    const rest = rows.filter(({ body }) => body.client_message_id !== key);
    if (rest.length === rows.length) return false;
    void this.#store.write({ outbox: new Map([[key, null]]) });
    this.#size--;
    if (rest.length) this.#chats.set(chat, rest);
    else this.#chats.delete(chat);
    return true;
  }

  #isFirst(row: OutboxEntry): boolean {
    return this.first(row.body.chat)?.body.client_message_id === row.body.client_message_id;
  }

  #put(row: OutboxEntry): Promise<void> {
    return this.#store.write({ outbox: new Map([[row.body.client_message_id, row]]) });
  }

  #append(row: OutboxEntry): void {
    const rows = this.#chats.get(row.body.chat);
    if (rows) rows.push(row);
    else this.#chats.set(row.body.chat, [row]);
  }
}
