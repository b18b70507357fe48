/**
 * The models of one tab, which events change. Every tab has its own, with the same content.
 *
 * An entry may arrive twice, when another tab takes the connection over and resumes from the stored positions. The tab
 * drops those that it has, and reads from history those that it missed.
 */

import type { Backend } from "./backend.ts";
import { Chat } from "./chat.ts";
import { ChatList } from "./chat_list.ts";
import { Sleeper } from "./clock.ts";
import type { AnswerTo } from "./codec.ts";
import { getOrCreate } from "./collections.ts";
import { type Deferred, deferred } from "./deferred.ts";
import { asTidingsError, sdkError, TidingsError } from "./errors.ts";
import type { ConnectionData, Snapshot, TabEvent } from "./events.ts";
import type { Entry, GetHistory, Receipts } from "./frames.gen.ts";
import { GapFiller } from "./gap_filler.ts";
import { Inbox } from "./inbox.ts";
import { batch, Cell, callListener } from "./observable.ts";
import { Positions } from "./positions.ts";
import { PresenceMap } from "./presence.ts";
import type { OutboxRequest, StoredState } from "./stores/store.ts";
import { isChange } from "./timeline_items.ts";
import type { ConnectionStatus, EventOrigin, Events, MessageSent, QueuedSend } from "./types.ts";

export class ClientState {
  readonly chats = new ChatList();
  readonly connection = new Cell<ConnectionStatus>({ state: "stopped" });
  readonly user = new Cell<string | undefined>(undefined);
  readonly presence: PresenceMap;
  readonly #backend: Backend;
  readonly #chats = new Map<string, Chat>();
  readonly #inboxes = new Map<string, Inbox>();
  readonly #positions = new Positions();
  readonly #gapFiller: GapFiller;
  readonly #outcomes = new Map<string, Deferred<MessageSent>>();
  /** The keys of messages of this tab that are not known to be in the store. */
  readonly #unstored = new Set<string>();
  readonly #listeners = new Map<keyof Events, Set<(event: never) => void>>();
  #epoch: number | undefined;

  constructor(backend: Backend) {
    this.#backend = backend;
    this.presence = new PresenceMap(backend);
    const { sleep } = new Sleeper();
    this.#gapFiller = new GapFiller({
      positions: this.#positions,
      ready: () => Promise.resolve(),
      history: (request) => this.#history(request),
      deliver: (chat, { after, up_to, entries }) => this.#deliver(chat, after, up_to, entries, []),
      start: (task) => void task.catch(() => undefined),
      sleep,
    });
  }

  chat(id: string): Chat {
    return getOrCreate(this.#chats, id, () => new Chat(this.#backend, id, this.chats.row(id)));
  }

  inbox(name: string): Inbox {
    return getOrCreate(this.#inboxes, name, () => new Inbox(this.#backend, name));
  }

  on<K extends keyof Events>(event: K, listener: (event: Events[K]) => void): () => void {
    const listeners = getOrCreate(this.#listeners, event, () => new Set());
    const own = (value: Events[K]) => listener(value);
    listeners.add(own);
    return () => void listeners.delete(own);
  }

  /** Show a message of this tab as pending. `stored` settles when it is in the store. */
  queue(request: OutboxRequest, stored: Promise<void>): QueuedSend {
    const key = request.body.client_message_id;
    const outcome = deferred<MessageSent>();
    this.#outcomes.set(key, outcome);
    this.#unstored.add(key);
    this.apply({ type: "queued", request });
    stored.then(
      () => this.#unstored.delete(key),
      (error: unknown) => {
        this.#unstored.delete(key);
        batch(() => this.#onSendFailed(request, asTidingsError(error)));
      },
    );
    return { key, stored, outcome: outcome.promise };
  }

  /** Apply an event. Listeners of the app are called when all models have changed. */
  apply(event: TabEvent): void {
    batch(() => this.#apply(event));
  }

  /** Take over the state of the leading tab. Later state of this tab stays. */
  applySnapshot({ user, epoch, status, isLoaded, rows, positions, outbox, failed }: Snapshot): void {
    batch(() => {
      this.#continueFrom({ user, epoch, positions, outbox });
      this.chats.replace(rows);
      if (isLoaded) this.chats.setLoaded();
      for (const { request, error } of failed) {
        const { chat, client_message_id } = request.body;
        this.#apply({ type: "queued", request });
        this.#chats.get(chat)?.timeline.onSendFailed(client_message_id, new TidingsError(error));
      }
      this.#onConnection(status);
    });
  }

  /** Take over the state of the store, when this tab starts to hold the connection. */
  applyStored({ owner, positions, outbox, chats }: StoredState): void {
    batch(() => {
      this.#continueFrom({ user: owner?.user, epoch: owner?.epoch, positions, outbox });
      this.chats.restore(chats);
      if (owner) this.chats.setLoaded();
    });
  }

  #continueFrom({
    user,
    epoch,
    positions,
    outbox,
  }: Pick<Snapshot, "user" | "epoch" | "positions" | "outbox">): void {
    if (epoch !== undefined && this.#epoch !== undefined && epoch !== this.#epoch)
      this.#apply({ type: "restored", epoch });
    this.#epoch = epoch ?? this.#epoch;
    if (user !== undefined) this.user.set(user);
    for (const [chat, position] of positions) this.#catchUp(chat, position);
    const queued = new Set([...this.#unstored, ...outbox.map(({ body }) => body.client_message_id)]);
    for (const chat of this.#chats.values()) chat.timeline.keepQueued(queued);
    for (const request of outbox) this.#apply({ type: "queued", request });
  }

  /** Report the end of the client to callers that wait for sends. The messages stay in the store. */
  end(why: string): void {
    for (const outcome of this.#outcomes.values())
      outcome.reject(sdkError("send_unconfirmed", `The client ended before the answer arrived${why}`));
    this.#outcomes.clear();
    for (const inbox of this.#inboxes.values()) inbox.close();
  }

  #emit<K extends keyof Events>(name: K, event: Events[K]): void {
    for (const listener of [...(this.#listeners.get(name) ?? [])])
      callListener(listener as (event: Events[K]) => void, event);
  }

  #apply(event: TabEvent): void {
    switch (event.type) {
      case "entries":
        this.#deliver(event.chat, event.after, event.upTo, event.entries, event.origins);
        return;
      case "row":
        this.chats.applyRow(event.row);
        return;
      case "receipts":
        this.#onReceipts(event.push);
        return;
      case "read":
        return void this.chats.read(event.chat, event.sequence);
      case "typing":
        this.chat(event.chat).setTypingUsers(event.users);
        this.#emit("typing", event);
        return;
      case "presence":
        this.presence.apply(event.presence);
        this.#emit("presence", event.presence);
        return;
      case "connection":
        this.#onConnection(event.status);
        return;
      case "owner":
        this.#epoch = event.epoch;
        this.user.set(event.user);
        return;
      case "restored":
        this.#restored(event.epoch);
        this.#emit("restored", event);
        return;
      case "storeDegraded":
        this.#emit("storeDegraded", event);
        return;
      default:
        this.#applyToOutboxOrInbox(event);
    }
  }

  #applyToOutboxOrInbox(event: TabEvent): void {
    switch (event.type) {
      case "queued":
        if (event.request.kind === "send")
          this.chat(event.request.body.chat).timeline.onQueued(event.request.body);
        return;
      case "sent":
        this.#onSent(event.sent);
        return;
      case "sendFailed":
        this.#onSendFailed(event.failed.request, new TidingsError(event.failed.error));
        return;
      case "discarded":
        this.#chats.get(event.chat)?.timeline.onDiscarded(event.key);
        return;
      case "counts":
        this.#inboxes.get(event.counts.inbox)?.onCounts(event.counts);
        return;
      case "inbox":
        this.#inboxes.get(event.update.counts.inbox)?.onUpdate(event.update);
        this.#emit("inbox", event.update);
        return;
      case "broadcast":
        this.#inboxes.get(event.update.inbox)?.onBroadcast(event.update);
        this.#emit("broadcast", event.update);
        return;
    }
  }

  /** Apply a complete range, as far as it is new in this tab. Without an origin, entries were missed. */
  #deliver(
    chat: string,
    after: number,
    upTo: number,
    entries: readonly Entry[],
    origins: readonly EventOrigin[],
  ): void {
    const from = this.#positions.of(chat) ?? after;
    const fresh = this.#positions.take(chat, after, upTo, entries);
    this.#gapFiller.wake(chat);
    const to = this.#positions.of(chat) ?? from;
    if (to === from) return;
    const user = this.user.get() ?? "";
    this.chats.applyEntries(chat, fresh, user);
    const model = this.#chats.get(chat);
    model?.timeline.apply(from, to, fresh);
    if (fresh.filter((entry) => model?.saw(entry)).length) this.#emit("receipts", { chat });
    for (const entry of fresh) {
      const key = entry.client_message_id;
      if (key !== undefined && entry.by === user && this.#outcomes.has(key)) {
        this.#onSent({ chat, client_message_id: key, sequence: entry.sequence, is_repeat: true });
      }
      const origin = origins[entries.indexOf(entry)] ?? "missed";
      this.#emit(entry.kind === "message" ? "message" : isChange(entry) ? "change" : "chat", {
        chat,
        entry,
        origin,
      });
    }
  }

  /** Follow a tab that has a chat up to `position`. Entries that this tab missed are read from history. */
  #catchUp(chat: string, position: number): void {
    if (this.#positions.of(chat) === undefined) this.#positions.begin(chat, position);
    else if ((this.#positions.of(chat) ?? 0) < position) this.#positions.missed(chat, position);
    this.#gapFiller.wake(chat);
  }

  async #history(request: GetHistory): Promise<AnswerTo<"history">> {
    try {
      return { ok: await this.#backend.request("history", request) };
    } catch (error) {
      if (error instanceof TidingsError && error.body) return { error: error.body };
      throw error;
    }
  }

  #onReceipts(push: Receipts): void {
    const { chat, members } = push;
    const user = this.user.get();
    for (const each of members) {
      if (each.user !== user || !each.read || !this.chats.read(chat, each.read)) continue;
      if (this.#chats.get(chat)?.isReadElsewhere(each.read) ?? true)
        this.#emit("read", { chat, sequence: each.read });
    }
    if (this.#chats.get(chat)?.applyReceipts(push)) this.#emit("receipts", { chat });
  }

  #onConnection({ error, ...status }: ConnectionData): void {
    const changed: ConnectionStatus = { ...status, ...(error && { error: new TidingsError(error) }) };
    this.connection.set(changed);
    if (status.state === "waiting" || status.state === "stopped") this.presence.clear();
    if (status.state === "live") {
      // All rows of the first sync were pushed.
      this.chats.setLoaded();
      for (const inbox of this.#inboxes.values()) inbox.onLive();
      for (const chat of this.#chats.values()) chat.timeline.onLive();
    }
    this.#emit("connection", changed);
  }

  #onSent(sent: MessageSent): void {
    this.#chats.get(sent.chat)?.timeline.onSent(sent);
    this.#outcomes.get(sent.client_message_id)?.resolve(sent);
    this.#outcomes.delete(sent.client_message_id);
    this.#emit("sent", sent);
  }

  #onSendFailed({ body: { chat, client_message_id } }: OutboxRequest, error: TidingsError): void {
    this.#chats.get(chat)?.timeline.onSendFailed(client_message_id, error);
    this.#outcomes.get(client_message_id)?.reject(error);
    this.#outcomes.delete(client_message_id);
    this.#emit("sendFailed", { chat, client_message_id, error });
  }

  #restored(epoch: number): void {
    this.#epoch = epoch;
    this.#positions.clear();
    this.chats.clear();
    for (const chat of this.#chats.values()) {
      chat.restored();
      chat.timeline.restored();
    }
    for (const inbox of this.#inboxes.values()) inbox.restored();
  }
}
