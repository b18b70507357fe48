/**
 * The client that holds the connection: connects session, outbox, positions and store.
 *
 * There is one per device. It creates the events that change the models of all tabs, and executes their commands.
 */
import { Backoff } from "./backoff.ts";
import { Checkpointer } from "./checkpointer.ts";
import { Sleeper } from "./clock.ts";
import type { Push, RequestKind } from "./codec.ts";
import type { Command, CommandExecutor, Notice } from "./commands.ts";
import type { State } from "./connection_protocol.ts";
import type { CoreHost, CoreOptions } from "./core_host.ts";
import { EphemeralState } from "./ephemeral.ts";
import { asTidingsError, errorData, refusedError, sdkError } from "./errors.ts";
import type { ConnectionData, Snapshot, TabEvent } from "./events.ts";
import { FirstSync } from "./first_sync.ts";
import type * as frames from "./frames.gen.ts";
import { GapFiller } from "./gap_filler.ts";
import { Outbox } from "./outbox.ts";
import { OutboxService } from "./outbox_service.ts";
import { Positions } from "./positions.ts";
import { RecentMessages } from "./recent_messages.ts";
import { Session, type SessionListener } from "./session.ts";
import type { BatchedStore } from "./stores/batched_store.ts";
import type { StoreBatch, StoredState, StoreOwner } from "./stores/store.ts";
import { withChanged } from "./timeline_items.ts";

export class ClientCore implements SessionListener, CommandExecutor {
  readonly #host: CoreHost;
  readonly #store: BatchedStore;
  readonly #positions: Positions;
  readonly #firstSync: FirstSync;
  readonly #outbox: OutboxService;
  readonly #session: Session;
  readonly #gapFiller: GapFiller;
  readonly #ephemeral: EphemeralState;
  readonly #recent: RecentMessages;
  readonly #checkpointer: Checkpointer;
  readonly #sleeper = new Sleeper();
  readonly #user: string;
  readonly #device: string | undefined;
  #owner: StoreOwner | undefined;
  #state: State = "closed";
  #status: ConnectionData = { state: "connecting" };
  readonly #heads = new Map<string, number>();
  #isClosed = false;

  constructor(
    { dial, credentials, user, device, maxOutbox }: CoreOptions,
    store: BatchedStore,
    stored: StoredState,
    host: CoreHost,
  ) {
    this.#host = host;
    this.#store = store;
    this.#user = user;
    this.#device = device;
    this.#owner = stored.owner;
    this.#positions = new Positions(stored.positions);
    this.#firstSync = new FirstSync(stored.positions.size > 0);
    const schedule = () => this.#checkpointer.schedule();
    this.#recent = new RecentMessages(stored.opened, (chat) => store.messages(chat), schedule);
    const session = new Session(dial, credentials, this);
    this.#session = session;
    const { sleep } = this.#sleeper;
    const start = (task: Promise<void>) => this.#start(task);
    const positions = this.#positions;
    const emit = (event: TabEvent) => host.emit(event);
    this.#ephemeral = new EphemeralState(session, emit, start, sleep);
    const { backoffFirstMs, backoffLongestMs } = dial.timeouts;
    const newBackoff = () => new Backoff(Math.random, backoffFirstMs, backoffLongestMs);
    const outbox = new Outbox(store, stored.outbox, maxOutbox);
    this.#outbox = new OutboxService(
      { store, session, outbox, positions, emit, user: () => user, start, sleep, newBackoff },
      stored.settled,
    );
    this.#gapFiller = new GapFiller({
      positions,
      ready: () => session.letIn(),
      history: (request) => session.ask("history", request, session.epoch),
      deliver: (chat, { after, up_to, entries }) => this.#deliver(chat, after, up_to, entries),
      start,
      sleep,
    });
    this.#checkpointer = new Checkpointer({
      changes: () => this.#changes(),
      mayStorePositions: () => {
        this.#firstSync.finish(positions.behind().length > 0);
        return this.#firstSync.isOver;
      },
      write: (batch) => this.#start(store.write(batch)),
      ack: (delivered) => session.send("ack", { delivered }),
    });
  }

  run(): void {
    this.#start(this.#session.run());
    this.#outbox.run();
  }

  /** End the connection and store the last changes. Unanswered messages stay in the store. */
  async close(): Promise<void> {
    if (!this.#isClosed) {
      this.#checkpointer.save();
      this.#end();
    }
    await this.#store.close();
  }

  /** End without a last write, because another tab has taken the store over. */
  abort(): void {
    this.#end();
    void this.#store.close();
  }

  retryNow(): void {
    this.#session.retryNow();
  }

  poke(): void {
    this.#session.poke();
  }

  snapshot(): Snapshot {
    return {
      user: this.#owner?.user,
      epoch: this.#owner?.epoch,
      status: this.#status,
      isLoaded: this.#host.chats.isLoaded.get(),
      rows: this.#host.chats.snapshot(),
      positions: this.#positions.reported(),
      outbox: this.#outbox.queued,
      failed: this.#outbox.failed,
    };
  }

  notify(notice: Notice, tab = ""): void {
    this.#ephemeral.notify(tab, notice);
  }

  /** Forget what a closed tab watches. */
  forget(tab: string): void {
    this.#ephemeral.forget(tab);
  }

  async execute(command: Command): Promise<unknown> {
    if (this.#isClosed) throw sdkError("client_stopped", "The client is closed.");
    switch (command.type) {
      case "put":
        this.#ephemeral.sent(command.request.body.chat);
        return this.#outbox.put(command.request, this.#state === "resuming" || this.#state === "live");
      case "request":
        return this.#request(command.kind, command.body as frames.Requests[RequestKind]);
      case "messages":
        return this.#recent.open(command.chat);
      case "discard":
        return this.#outbox.discard(command.chat, command.key);
      case "flush":
        return this.#outbox.flush();
    }
  }

  async #request<K extends RequestKind>(kind: K, body: frames.Requests[K]): Promise<unknown> {
    const { ok, error } = await this.#session.ask(kind, body);
    if (error) throw refusedError(error);
    if (kind === "read") this.#host.emit({ type: "read", ...(body as frames.Read) });
    if (kind === "history") this.#onPage(body as frames.GetHistory, ok as frames.HistoryPage);
    if (kind === "counts" || kind === "mark")
      this.#host.emit({ type: "counts", counts: ok as frames.InboxCounts });
    if (kind === "notifications")
      this.#host.emit({ type: "counts", counts: (ok as frames.NotificationPage).counts });
    return ok;
  }

  /** The newest page sets the position of a chat that this device does not know yet. */
  #onPage({ chat, before, after, around }: frames.GetHistory, page: frames.HistoryPage): void {
    if (before !== undefined || after !== undefined || around !== undefined) return;
    this.#begin(chat, page.up_to);
    this.#recent.applyPage(chat, page);
    // At once: a reload right after the user has opened a chat must show it, also without a connection.
    this.#checkpointer.save();
  }

  /** Set the position of an unknown chat. A tab that has a lower one, from before this core, reads the entries between. */
  #begin(chat: string, position: number): void {
    if (this.#positions.of(chat) === undefined) {
      this.#checkpointer.begun(chat, position);
      this.#host.emit({ type: "entries", chat, after: position, upTo: position, entries: [], origins: [] });
    }
    this.#positions.begin(chat, position);
  }

  device(): string | undefined {
    return this.#device ?? this.#owner?.device;
  }

  epoch(): number | undefined {
    return this.#owner?.epoch;
  }

  positions(): Iterable<readonly [string, number]> {
    return this.#positions.reported();
  }

  welcomed({ user, device, epoch }: frames.Welcome): void {
    const old = this.#owner;
    const expected = old?.user ?? this.#user;
    if (expected !== user || this.#user !== user) {
      throw sdkError(
        "user_mismatch",
        `The client belongs to the user ${expected}, the credential to ${user}.`,
      );
    }
    if (old?.device === device && old.epoch === epoch) return;
    const isReset = old !== undefined && old.epoch !== epoch;
    this.#owner = { user, device, epoch };
    if (isReset) this.#restored(epoch);
    void this.#store.write({ owner: this.#owner, ...(isReset && { isReset, opened: [] }) });
    this.#host.emit({ type: "owner", user, epoch });
  }

  /**
   * Set positions, fill gaps and subscribe again.
   *
   * If only the row of a chat was pushed, its position is the head of the row: older entries are history.
   */
  onLive(): void {
    for (const [chat, head] of this.#heads) this.#begin(chat, head);
    this.#heads.clear();
    this.#firstSync.onLive();
    for (const chat of this.#positions.behind()) this.#gapFiller.wake(chat);
    this.#ephemeral.onLive();
    this.#checkpointer.schedule();
  }

  pushed(push: Push): void {
    switch (push.kind) {
      case "entry": {
        const { chat, ...entry } = push.body;
        this.#onEntries(chat, entry.sequence - 1, entry.sequence, [entry]);
        return;
      }
      case "entries":
        this.#onEntries(push.body.chat, push.body.after, push.body.up_to, push.body.entries);
        return;
      case "chat":
        this.#onRow(push.body);
        return;
      case "chats":
        for (const row of push.body.rows) {
          this.#onRow(row);
          this.#heads.set(row.chat, row.head);
        }
        return;
      case "inbox":
        this.#host.emit({ type: "inbox", update: push.body });
        return;
      case "broadcast":
        this.#host.emit({ type: "broadcast", update: push.body });
        return;
      default:
        this.#ephemeral.pushed(push);
        this.#checkpointer.schedule();
    }
  }

  stateChanged(state: State, waitMs?: number, reason?: string): void {
    this.#state = state;
    this.#ephemeral.stateChanged(state);
    if (state === "connecting" || state === "resuming" || state === "live") this.#setStatus({ state });
    if (state === "closed") this.#setStatus({ state: "waiting", waitMs, reason });
  }

  /** Process pushed entries. The send queues see them first: an entry with an own key replaces a lost answer. */
  #onEntries(chat: string, after: number, upTo: number, entries: readonly frames.Entry[]): void {
    this.#firstSync.saw(chat, upTo);
    for (const { client_message_id: key, by, sequence } of entries) {
      if (key !== undefined && by === this.#owner?.user) this.#outbox.saw(chat, key, sequence);
    }
    this.#deliver(chat, after, upTo, entries);
    this.#gapFiller.wake(chat);
  }

  #onRow(row: frames.ChatRow): void {
    this.#firstSync.saw(row.chat, row.head);
    this.#positions.committed(row.chat, row.head);
    this.#host.emit({ type: "row", row });
    this.#checkpointer.schedule();
  }

  /** Give a range to the tabs. Each entry is in one event, in order. */
  #deliver(chat: string, after: number, upTo: number, entries: readonly frames.Entry[]): void {
    const from = this.#positions.of(chat) ?? after;
    const fresh = withChanged(this.#positions.take(chat, after, upTo, entries));
    const to = this.#positions.of(chat) ?? from;
    if (to === from) return;
    const origins = fresh.map(({ sequence }) =>
      this.#firstSync.origin(chat, sequence, this.#state === "live"),
    );
    this.#checkpointer.delivered(chat, to);
    this.#recent.apply(chat, { after: from, up_to: to, entries: fresh });
    this.#host.emit({ type: "entries", chat, after: from, upTo: to, entries: fresh, origins });
    this.#ephemeral.delivered(chat, fresh);
  }

  #restored(epoch: number): void {
    this.#positions.clear();
    this.#firstSync.restart();
    this.#checkpointer.reset();
    this.#heads.clear();
    this.#recent.clear();
    this.#host.emit({ type: "restored", epoch });
  }

  #setStatus(status: ConnectionData): void {
    this.#status = status;
    this.#host.emit({ type: "connection", status });
  }

  #changes(): StoreBatch {
    const batch = this.#recent.changed();
    const chats = this.#host.chats.changed();
    if (chats.size) batch.chats = chats;
    return batch;
  }

  /** Run a task. Its error stops the client: without its session it would only appear to work. */
  #start(task: Promise<void>): void {
    task.catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.#end();
    const stop = asTidingsError(error);
    this.#status = { state: "stopped", error: errorData(stop) };
    this.#host.stopped(stop);
  }

  #end(): void {
    this.#isClosed = true;
    this.#checkpointer.close();
    this.#session.close();
    this.#sleeper.close();
    this.#ephemeral.close();
  }
}
