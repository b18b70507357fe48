/** The public types of the SDK that are not frames. Frame bodies keep the field names of the wire. */
import type { TidingsError } from "./errors.ts";
import type { BroadcastUpdate, Entry, InboxUpdate, JsonObject, Reaction } from "./frames.gen.ts";

/** A value that changes. `get` returns the same reference until it changes. */
export interface Observable<T> {
  get(): T;
  /** Call `listener` after each change. Returns a function that ends this. */
  subscribe(listener: () => void): () => void;
}

/**
 * The state of the connection.
 *
 * `waiting`: the client reconnects after `waitMs`. `stopped`: the client was closed, or cannot continue because of
 * `error`.
 */
export interface ConnectionStatus {
  readonly state: "connecting" | "resuming" | "live" | "waiting" | "stopped";
  readonly waitMs?: number | undefined;
  /** Why the last connection ended. */
  readonly reason?: string | undefined;
  readonly error?: TidingsError | undefined;
}

/** How long a client waits, in milliseconds. */
export interface Timeouts {
  /** For the socket to open. */
  readonly openMs: number;
  /** For the answer to a request, including the time without a connection. */
  readonly answerMs: number;
  /** The upper bound of the first wait before a reconnect. It doubles with each failure. */
  readonly backoffFirstMs: number;
  readonly backoffLongestMs: number;
}

/** A socket like `WebSocket`, as far as the client uses it. */
export interface Socket {
  send(data: string): void;
  close(code?: number, reason?: string): void;
  onopen: ((event: never) => void) | null;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  onclose: ((event: { readonly code: number; readonly reason: string }) => void) | null;
  onerror: ((event: never) => void) | null;
}

/** Opens a socket. */
export type SocketFactory = (url: string) => Socket;

/** When an entry was committed: before the first sync of this store, while the client was not connected, or now. */
export type EventOrigin = "history" | "missed" | "live";

/** An entry of the log. Each arrives once, in the order of the sequences of its chat. */
export interface LogEvent {
  readonly chat: string;
  readonly entry: Entry;
  readonly origin: EventOrigin;
}

/** A message, edit, redaction or reaction of the outbox was committed at `sequence`. */
export interface MessageSent {
  readonly chat: string;
  readonly client_message_id: string;
  readonly sequence: number;
  readonly is_repeat: boolean;
}

/** A message, edit, redaction or reaction of the outbox was refused. It will never be in the log. */
export interface MessageSendFailed {
  readonly chat: string;
  readonly client_message_id: string;
  readonly error: TidingsError;
}

/** The presence of a user. */
export interface Presence {
  readonly user: string;
  readonly status: "online" | "away" | "offline" | (string & {});
  /** When an offline user was last seen, in milliseconds, if the user shares it. */
  readonly last_seen_at?: number | undefined;
}

/** The events of `client.on`. Ignore unknown ones: later versions add more. */
export interface Events {
  /** A new message, also one of the user's own. */
  message: LogEvent;
  /** An edit, redaction or reaction. `entry.refers_to` is the sequence of the changed message. */
  change: LogEvent;
  /** A join, a leave, a new name or role, and kinds of entries that this SDK does not know. */
  chat: LogEvent;
  sent: MessageSent;
  sendFailed: MessageSendFailed;
  connection: ConnectionStatus;
  /** The installation was restored from a backup. Timelines and rows are read again. */
  restored: { readonly epoch: number };
  /** Receipts or members of a watched chat changed. */
  receipts: { readonly chat: string };
  /** The user has read the chat up to `sequence` on another device. */
  read: { readonly chat: string; readonly sequence: number };
  /** The users who are typing in a watched chat now. */
  typing: { readonly chat: string; readonly users: readonly string[] };
  presence: Presence;
  inbox: InboxUpdate;
  broadcast: BroadcastUpdate;
  /** The store failed. The client continues in memory; unsent messages end with the page. */
  storeDegraded: { readonly reason: string };
}

/** The delivery status of an own message: the lowest status of all recipients who are still members. */
export type MessageStatus = "sent" | "delivered" | "read";

/**
 * The receipts of an own message. `has_receipts` is false if no watermarks are known: in a large chat, or one that is not
 * watched.
 */
export interface MessageReceipts {
  readonly status: MessageStatus;
  readonly delivered_to: readonly string[];
  readonly read_by: readonly string[];
  readonly has_receipts: boolean;
}

/** The content of a message besides its text. */
export interface SendOptions {
  readonly data?: JsonObject | undefined;
  readonly reply_to?: number | undefined;
  readonly mentions?: readonly string[] | undefined;
  /** Ids of complete uploads of this chat. See `Attachments.send`. */
  readonly attachments?: readonly string[] | undefined;
  readonly content_type?: string | undefined;
  readonly ttl_seconds?: number | undefined;
}

/** The content of an edit besides its text. Fields that are not given become empty. */
export type EditOptions = Pick<SendOptions, "data" | "reply_to" | "mentions">;

/** A message in the outbox. */
export interface QueuedSend {
  /** The `client_message_id`, which is also the key of the message in the timeline. */
  readonly key: string;
  /** Settles when the message is in the store. From then on it is sent, now or by the next client with this store. */
  readonly stored: Promise<void>;
  /**
   * Resolves when the message is committed. Rejects with the server's code if the server refused it, and with
   * `send_unconfirmed` if the client ended before; then the message stays in the store. May be ignored.
   */
  readonly outcome: Promise<MessageSent>;
}

/** A message, or another entry, in a timeline. */
export interface TimelineItem {
  readonly key: string;
  /** Absent while the message waits in the outbox. */
  readonly sequence?: number | undefined;
  readonly kind: Entry["kind"];
  readonly by: string;
  readonly at: number;
  readonly isOwn: boolean;
  readonly state:
    | "active"
    | "edited"
    | "redacted"
    | "expired"
    | "archived"
    | "unreadable"
    | "erased"
    | (string & {});
  readonly text: string;
  readonly data?: JsonObject | undefined;
  readonly reply_to?: number | undefined;
  readonly mentions: readonly string[];
  /** Ids of the files of the message. `attachmentsOf` describes them. */
  readonly attachments: readonly string[];
  readonly reactions: readonly Reaction[];
  readonly edited_at?: number | undefined;
  readonly delivery: "pending" | "failed" | "committed";
  readonly error?: TidingsError | undefined;
  /** The entry of the log, if it is committed. */
  readonly entry?: Entry | undefined;
}

/** The loaded part of a chat. */
export interface TimelineRange {
  readonly isLoaded: boolean;
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
  readonly isLoading: boolean;
  readonly error?: TidingsError | undefined;
}

/** The loaded part of a feed. */
export interface FeedRange {
  readonly isLoaded: boolean;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly error?: TidingsError | undefined;
}

/** Which notifications a feed has. Default: all that are not archived. */
export interface FeedFilter {
  readonly category?: string | undefined;
  readonly is_unread?: boolean | undefined;
  readonly is_archived?: boolean | undefined;
}
