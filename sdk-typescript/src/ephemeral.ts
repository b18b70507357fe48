/** Typing, presence and subscriptions of the connection, for all tabs. Receipts are derived in each tab. */
import { now } from "./clock.ts";
import type { Push } from "./codec.ts";
import type { Notice } from "./commands.ts";
import type { State } from "./connection_protocol.ts";
import type { TabEvent } from "./events.ts";
import type { Entry } from "./frames.gen.ts";
import type { Session } from "./session.ts";
import { Subscriptions } from "./subscriptions.ts";
import { TypingSender, TypingUsers } from "./typing_state.ts";

export class EphemeralState {
  readonly #session: Session;
  readonly #emit: (event: TabEvent) => void;
  readonly #subscriptions: Subscriptions;
  readonly #typists = new TypingUsers();
  readonly #own = new TypingSender();
  readonly #watched = new Map<string, readonly string[]>();
  #presence: "online" | "away" = "online";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    session: Session,
    emit: (event: TabEvent) => void,
    start: (task: Promise<void>) => void,
    sleep: (ms: number) => Promise<void>,
  ) {
    this.#session = session;
    this.#emit = emit;
    this.#subscriptions = new Subscriptions(session, start, sleep);
  }

  notify(tab: string, notice: Notice): void {
    if (notice.type === "watch") {
      this.#watch(tab, notice.names);
      return;
    }
    if (notice.type === "presence") {
      this.#presence = notice.status;
      this.#session.send("presence", { status: notice.status });
      return;
    }
    const { chat, isTyping } = notice;
    for (const is_typing of this.#own[isTyping ? "begins" : "ends"](chat, now()))
      this.#session.send("typing", { chat, is_typing: is_typing && undefined });
  }

  /** Forget what a closed tab watches. */
  forget(tab: string): void {
    if (this.#watched.has(tab)) this.#watch(tab, []);
  }

  sent(chat: string): void {
    this.#own.sent(chat);
  }

  onLive(): void {
    this.#subscriptions.onLive();
    if (this.#presence !== "online") this.#session.send("presence", { status: this.#presence });
  }

  /** Discard typing when the connection ends. Each tab discards presence itself. */
  stateChanged(state: State): void {
    if (state === "resuming" || state === "live") return;
    this.#subscriptions.onDisconnected();
    if (state === "closed") this.#notifyTyping(this.#typists.clear());
  }

  pushed(push: Push): void {
    if (push.kind === "receipts") this.#emit({ type: "receipts", push: push.body });
    if (push.kind === "typing") {
      const { chat, user, is_typing } = push.body;
      if (is_typing ? this.#typists.onTyping(chat, user, now()) : this.#typists.stopped(chat, user))
        this.#notifyTyping([chat]);
      else this.#setTimer();
    }
    if (push.kind === "presence") {
      const { user, status, at } = push.body;
      this.#emit({
        type: "presence",
        presence: { user, status, last_seen_at: at },
      });
    }
  }

  delivered(chat: string, entries: readonly Entry[]): void {
    for (const { kind, by } of entries)
      if (kind === "message" && this.#typists.stopped(chat, by)) this.#notifyTyping([chat]);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  /** Watch what the tabs watch. A name that is new for a tab is subscribed again: the tab has no snapshot of it yet. */
  #watch(tab: string, names: readonly string[]): void {
    const before = this.#watched.get(tab) ?? [];
    if (names.length) this.#watched.set(tab, names);
    else this.#watched.delete(tab);
    const renewed = names.filter((name) => !before.includes(name));
    this.#subscriptions.watch([...this.#watched.values()].flat(), renewed);
  }

  #notifyTyping(chats: readonly string[]): void {
    for (const chat of chats) this.#emit({ type: "typing", chat, users: this.#typists.of(chat) });
    this.#setTimer();
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const { dueAt } = this.#typists;
    if (dueAt < Infinity)
      this.#timer = setTimeout(() => this.#notifyTyping(this.#typists.endThoseDue(now())), dueAt - now());
  }
}
