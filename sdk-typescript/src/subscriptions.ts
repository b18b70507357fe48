/** Subscribe each new connection to the watched chats and users, in parts that fit into a frame. */
import { Backoff } from "./backoff.ts";
import { now } from "./clock.ts";
import type { Answer } from "./codec.ts";
import { isTimeout } from "./errors.ts";
import type { RequestSender } from "./send_queues.ts";

/** Maximum of chats, and of users, in a frame. */
const MAX_SUBSCRIPTIONS = 100;

/** The kind of a watched name. Chats and users are kept together, as `chats g1` and `users ben`. */
type WatchedKind = "chats" | "users";

interface Part {
  readonly kind: "subscribe" | "unsubscribe";
  readonly names: readonly string[];
}

/** The subscriptions of the current connection. They end with it, so `onLive` sends all of them again. */
export class Subscriptions {
  readonly #session: Pick<RequestSender, "ask">;
  readonly #start: (task: Promise<void>) => void;
  readonly #sleep: (ms: number) => Promise<void>;
  #watched: ReadonlySet<string> = new Set();
  readonly #subscribed = new Set<string>();
  #isLive = false;
  #isRunning = false;
  #liveCount = 0;
  #maxNames = MAX_SUBSCRIPTIONS;

  constructor(
    session: Pick<RequestSender, "ask">,
    start: (task: Promise<void>) => void,
    sleep: (ms: number) => Promise<void>,
  ) {
    this.#session = session;
    this.#start = start;
    this.#sleep = sleep;
  }

  /** Set the watched names. Those in `renewed` are subscribed again, so that the server sends a new snapshot. */
  watch(names: Iterable<string>, renewed: Iterable<string>): void {
    this.#watched = new Set(names);
    for (const name of renewed) this.#subscribed.delete(name);
    this.#wake();
  }

  /** Subscribe to everything again, also after a `resume` on the same connection: events may be lost. */
  onLive(): void {
    this.#isLive = true;
    this.#maxNames = MAX_SUBSCRIPTIONS;
    this.#liveCount++;
    this.#subscribed.clear();
    this.#wake();
  }

  onDisconnected(): void {
    this.#isLive = false;
  }

  #wake(): void {
    if (!this.#isLive || this.#isRunning || !this.#next()) return;
    this.#isRunning = true;
    this.#start(this.#run());
  }

  async #run(): Promise<void> {
    const backoff = new Backoff();
    try {
      for (let part = this.#next(); this.#isLive && part; part = this.#next())
        await this.#send(part, backoff);
    } finally {
      this.#isRunning = false;
    }
  }

  async #send(part: Part, backoff: Backoff): Promise<void> {
    const liveCount = this.#liveCount;
    let answer: Answer<unknown> | undefined;
    try {
      answer = await this.#session.ask(part.kind, {
        chats: namesOf("chats", part),
        users: namesOf("users", part),
      });
    } catch (error) {
      // Most likely the connection is lost, and the next one subscribes again. Otherwise retry.
      if (!isTimeout(error)) throw error;
    }
    if (liveCount !== this.#liveCount) return;
    if (answer && !answer.error) this.#done(part);
    else if (answer?.error && !answer.error.retryable) this.#refused(part, answer.error.code);
    else await this.#sleep(backoff.waitMs(now(), answer?.error?.retry_after_ms));
  }

  #next(): Part | undefined {
    const missing = this.#first(this.#watched, this.#subscribed);
    if (missing.length) return { kind: "subscribe", names: missing };
    const surplus = this.#first(this.#subscribed, this.#watched);
    return surplus.length ? { kind: "unsubscribe", names: surplus } : undefined;
  }

  /** Return the first names that are not in `except`: as many chats and users as a frame may have, or one name. */
  #first(names: ReadonlySet<string>, except: ReadonlySet<string>): string[] {
    const wanted = [...names].filter((name) => !except.has(name));
    const first = (kind: WatchedKind) =>
      wanted.filter((name) => name.startsWith(kind)).slice(0, this.#maxNames);
    const found = [...first("chats"), ...first("users")];
    return this.#maxNames > 1 ? found : found.slice(0, 1);
  }

  #done({ kind, names }: Part): void {
    for (const name of names) this.#subscribed[kind === "subscribe" ? "add" : "delete"](name);
  }

  /** Handle a refused part. One refused name must not block the others: send them one by one from now on. */
  #refused(part: Part, code: string): void {
    if (part.kind === "unsubscribe" || code === "unknown_request") this.#isLive = false;
    else if (part.names.length > 1) this.#maxNames = 1;
    else this.#done(part);
  }
}

function namesOf(kind: WatchedKind, { names }: Part): string[] | undefined {
  const found = names.flatMap((name) => (name.startsWith(kind) ? [name.slice(kind.length + 1)] : []));
  return found.length ? found : undefined;
}
