/** The interface of a store, and the batches that are written to it. */
import type { ChatRow, Entry, Requests } from "../frames.gen.ts";

/** The user and device of the store, as the server reported them, and the epoch of the positions. */
export interface StoreOwner {
  readonly user: string;
  readonly device: string;
  readonly epoch: number;
}

export type OutboxKind = "send" | "edit" | "redact" | "react";
export type OutboxRequest = {
  [K in OutboxKind]: { readonly kind: K; readonly body: Requests[K] };
}[OutboxKind];

/**
 * A request in the outbox. `number`: its place in the order. `epoch`: the epoch of its `after`.
 *
 * It is stored before its first try, with the key and the `after` of all its tries. `after` is absent before the first.
 */
export type OutboxEntry = OutboxRequest & { readonly number: number; readonly epoch?: number };

/** The newest entries of a chat, oldest first. Complete in `(after, up_to]`. */
export interface StoredMessages {
  readonly after: number;
  readonly up_to: number;
  readonly entries: readonly Entry[];
}

/** The content of a store without messages. `opened`: the chats with stored messages, the last opened one last. */
export interface StoredState {
  readonly owner?: StoreOwner | undefined;
  readonly outbox: readonly OutboxEntry[];
  readonly positions: ReadonlyMap<string, number>;
  readonly chats: readonly ChatRow[];
  readonly opened: readonly string[];
  /** The keys of the last messages that left the outbox. */
  readonly settled: readonly string[];
}

/**
 * Changes that are applied together. A null deletes.
 *
 * `isReset`: first delete positions, chats and messages, because they belong to another epoch.
 */
export interface StoreBatch {
  owner?: StoreOwner | undefined;
  isReset?: boolean | undefined;
  opened?: readonly string[] | undefined;
  settled?: readonly string[] | undefined;
  /** By `client_message_id`. */
  outbox?: Map<string, OutboxEntry | null> | undefined;
  positions?: Map<string, number> | undefined;
  chats?: Map<string, ChatRow | null> | undefined;
  messages?: Map<string, StoredMessages | null> | undefined;
}

/**
 * Where a client keeps its outbox, positions, chat list and newest messages.
 *
 * One client at a time: `load` takes the store over, and later writes of the previous client reject with
 * `store_in_use`.
 */
export interface Store {
  load(): Promise<StoredState>;
  /** Return the stored messages of a chat. */
  messages(chat: string): Promise<StoredMessages | undefined>;
  /** Apply a batch atomically. Resolves when it is durable, as far as the store supports it. */
  write(batch: StoreBatch): Promise<void>;
  close(): Promise<void>;
}

/** Merge a later batch into an earlier one. */
export function mergeBatch(into: StoreBatch, later: StoreBatch): void {
  if (later.isReset) into.positions = into.chats = into.messages = undefined;
  for (const [name, value] of Object.entries(later)) {
    const known: unknown = into[name as keyof StoreBatch];
    const merged = value instanceof Map && known instanceof Map ? new Map([...known, ...value]) : value;
    Object.assign(into, { [name]: merged });
  }
}
