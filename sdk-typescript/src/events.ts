/**
 * The events that change the models of every tab. The leading tab creates them and sends them to the others.
 *
 * They are plain data, for the structured clone algorithm.
 */

import type { TrackedRow } from "./chat_list.ts";
import type { ErrorData } from "./errors.ts";
import type { BroadcastUpdate, ChatRow, Entry, InboxCounts, InboxUpdate, Receipts } from "./frames.gen.ts";
import type { OutboxRequest } from "./stores/store.ts";
import type { ConnectionStatus, EventOrigin, MessageSent, Presence } from "./types.ts";

/** A connection status as plain data. */
export type ConnectionData = Omit<ConnectionStatus, "error"> & { readonly error?: ErrorData | undefined };

export interface FailedSend {
  readonly request: OutboxRequest;
  readonly error: ErrorData;
}

export type TabEvent =
  /** A complete range `(after, upTo]` of a log, oldest first, with the origin of each entry. */
  | {
      readonly type: "entries";
      readonly chat: string;
      readonly after: number;
      readonly upTo: number;
      readonly entries: readonly Entry[];
      readonly origins: readonly EventOrigin[];
    }
  | { readonly type: "row"; readonly row: ChatRow }
  | { readonly type: "receipts"; readonly push: Receipts }
  /** The user has read a chat, in a tab of this device. */
  | { readonly type: "read"; readonly chat: string; readonly sequence: number }
  | { readonly type: "typing"; readonly chat: string; readonly users: readonly string[] }
  | { readonly type: "presence"; readonly presence: Presence }
  | { readonly type: "connection"; readonly status: ConnectionData }
  | { readonly type: "owner"; readonly user: string; readonly epoch: number }
  | { readonly type: "queued"; readonly request: OutboxRequest }
  | { readonly type: "sent"; readonly sent: MessageSent }
  | { readonly type: "sendFailed"; readonly failed: FailedSend }
  | { readonly type: "discarded"; readonly chat: string; readonly key: string }
  | { readonly type: "counts"; readonly counts: InboxCounts }
  | { readonly type: "inbox"; readonly update: InboxUpdate }
  | { readonly type: "broadcast"; readonly update: BroadcastUpdate }
  | { readonly type: "restored"; readonly epoch: number }
  | { readonly type: "storeDegraded"; readonly reason: string };

/** The state of the leading tab, for a tab that starts to follow it. */
export interface Snapshot {
  readonly user: string | undefined;
  readonly epoch: number | undefined;
  readonly status: ConnectionData;
  readonly isLoaded: boolean;
  readonly rows: readonly TrackedRow[];
  readonly positions: ReadonlyMap<string, number>;
  readonly outbox: readonly OutboxRequest[];
  readonly failed: readonly FailedSend[];
}
