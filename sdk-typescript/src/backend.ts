/** The interface of the client to the models of a tab: chats, timelines, inboxes. */
import type { RequestKind } from "./codec.ts";
import type { Answers, Requests } from "./frames.gen.ts";
import type { OutboxRequest, StoredMessages } from "./stores/store.ts";
import type { QueuedSend } from "./types.ts";

export interface Backend {
  /** The user of the credential, or "" before the first connection. */
  userName(): string;
  /** Send a request, now or when there is a connection. Rejects with a `TidingsError`. */
  request<K extends RequestKind>(kind: K, body: Requests[K]): Promise<Answers[K]>;
  /** Return the stored messages of a chat, and keep storing its newest ones. */
  storedMessages(chat: string): Promise<StoredMessages | undefined>;
  /** Put a request into the outbox. Throws `request_invalid`. */
  put(request: OutboxRequest): QueuedSend;
  /** Forget a failed message, in all tabs. */
  discard(chat: string, key: string): void;
  /** Change how often this tab watches names, like `chats g1` or `users ben`. Return those that end. */
  watch(names: readonly string[], by: 1 | -1): string[];
  setTyping(chat: string, isTyping: boolean): void;
  setPresence(status: "online" | "away"): void;
}

/** Return a function that calls `release` the first time only. */
export function once(release: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) release();
    isDone = true;
  };
}
