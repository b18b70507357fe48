/** The operations on one chat. Changes of the log go through the outbox; other requests are sent at once. */

import { type Backend, once } from "./backend.ts";
import { getOrCreate } from "./collections.ts";
import type { ChatRow, Entry, Receipts } from "./frames.gen.ts";
import { batch, Cell } from "./observable.ts";
import { ChatReceipts } from "./receipts.ts";
import { newClientMessageId } from "./send_queues.ts";
import { Timeline } from "./timeline.ts";
import type {
  EditOptions,
  MessageReceipts,
  MessageStatus,
  Observable,
  QueuedSend,
  SendOptions,
} from "./types.ts";
import { validate } from "./validate.ts";

/** One chat. Get it with `client.chat(id)`. */
export class Chat {
  /** The id of the chat. */
  readonly id: string;
  /** The row of the chat in the user's chat list. */
  readonly row: Observable<ChatRow | undefined>;
  /** The messages of the chat, as a UI shows them. */
  readonly timeline: Timeline;
  readonly #backend: Backend;
  readonly #typing = new Cell<readonly string[]>([]);
  readonly #members = new Cell<readonly string[]>([]);
  readonly #statuses = new Map<number, Cell<MessageStatus>>();
  #receipts = new ChatReceipts();
  #isWatched = false;
  #readUpTo = 0;

  /** @internal */
  constructor(backend: Backend, id: string, row: Observable<ChatRow | undefined>) {
    this.#backend = backend;
    this.id = id;
    this.row = row;
    this.timeline = new Timeline(backend, id);
  }

  /** Other users who are typing, while the chat is watched. */
  get typing(): Observable<readonly string[]> {
    return this.#typing;
  }

  /** The members, while the chat is watched and not large. */
  get members(): Observable<readonly string[]> {
    return this.#members;
  }

  /**
   * Subscribe to receipts and typing of this chat, now and after each reconnect. Entries need no subscription.
   *
   * Watch the chats on the screen. Returns a function that ends the subscription; the last one counts.
   */
  watch(): () => void {
    validate({ chats: [this.id] });
    const names = [`chats ${this.id}`];
    this.#backend.watch(names, 1);
    this.#isWatched = true;
    return once(() => {
      if (!this.#backend.watch(names, -1).length) return;
      this.#isWatched = false;
      this.restored();
    });
  }

  /** The delivery status of one of the user's own messages, while the chat is watched. */
  status(sequence: number): Observable<MessageStatus> {
    return getOrCreate(this.#statuses, sequence, () => new Cell(this.receipts(sequence).status));
  }

  /** Return the members who have received and read one of the user's own messages. The event `receipts` announces changes. */
  receipts(sequence: number): MessageReceipts {
    return this.#receipts.status(sequence, this.#backend.userName());
  }

  /**
   * Put a message into the outbox. Messages of a chat are sent in order, also after a reload.
   *
   * Throws `request_invalid` for content that the server would refuse.
   */
  send(text: string, options: SendOptions = {}): QueuedSend {
    return this.#backend.put({
      kind: "send",
      body: { chat: this.id, client_message_id: newClientMessageId(), text, ...options },
    });
  }

  /** Replace the whole content of a message. Options that are not given become empty. */
  edit(sequence: number, text: string, options: EditOptions = {}): QueuedSend {
    return this.#backend.put({
      kind: "edit",
      body: { chat: this.id, client_message_id: newClientMessageId(), sequence, text, ...options },
    });
  }

  /** Delete the content of a message permanently. */
  redact(sequence: number): QueuedSend {
    return this.#backend.put({
      kind: "redact",
      body: { chat: this.id, client_message_id: newClientMessageId(), sequence },
    });
  }

  /** Add the user's reaction to a message, or remove it. */
  react(
    sequence: number,
    emoji: string,
    { is_removed = false }: { readonly is_removed?: boolean } = {},
  ): QueuedSend {
    const body = {
      chat: this.id,
      client_message_id: newClientMessageId(),
      sequence,
      emoji,
      is_removed: is_removed || undefined,
    };
    return this.#backend.put({ kind: "react", body });
  }

  /** Mark the chat as read up to `sequence`, on all devices. */
  async read(sequence: number): Promise<void> {
    this.#readUpTo = Math.max(this.#readUpTo, sequence);
    await this.#backend.request("read", { chat: this.id, sequence });
  }

  /**
   * Report that the user is typing. Call it on each keystroke: it is sent every few seconds only.
   *
   * Typing ends automatically after some seconds, and when a message is sent.
   */
  setTyping(isTyping = true): void {
    this.#backend.setTyping(this.id, isTyping);
  }

  /** @internal Return whether a read position came from another device. */
  isReadElsewhere(sequence: number): boolean {
    return sequence > this.#readUpTo;
  }

  /** @internal */
  setTypingUsers(users: readonly string[]): void {
    this.#typing.set(users);
  }

  /** @internal Apply a push. Return whether the receipts of others changed. */
  applyReceipts(push: Receipts): boolean {
    if (!this.#isWatched || !this.#receipts.applyReceipts(push)) return false;
    this.#onReceipts();
    return push.is_snapshot || push.members.some(({ user }) => user !== this.#backend.userName());
  }

  /** @internal Apply an entry of the log. Return whether the receipts of others changed. */
  saw(entry: Entry): boolean {
    if (!this.#isWatched || !this.#receipts.saw(entry)) return false;
    this.#onReceipts();
    return entry.by !== this.#backend.userName() || entry.kind !== "message";
  }

  /** @internal Forget the receipts, of which the sequences may belong to other entries now. */
  restored(): void {
    this.#receipts = new ChatReceipts();
    this.#readUpTo = 0;
    this.#onReceipts();
  }

  #onReceipts(): void {
    batch(() => {
      const members = this.#receipts.members;
      if (members.join() !== this.#members.get().join()) this.#members.set(members);
      for (const [sequence, cell] of this.#statuses) cell.set(this.receipts(sequence).status);
    });
  }
}
