/**
 * Share one connection and one store between the tabs of a user.
 *
 * The tab that holds the Web Lock leads: it has the connection. The others follow it over a BroadcastChannel. When the
 * leading tab ends, the browser gives the lock to the next one. A tab that is frozen keeps its lock, so followers steal
 * it after some pings without an answer.
 */
import type { Command, CommandExecutor, Notice } from "./commands.ts";
import { type Deferred, deferred } from "./deferred.ts";
import { asTidingsError, type ErrorData, errorData, TidingsError } from "./errors.ts";
import type { Snapshot, TabEvent } from "./events.ts";
import { newClientMessageId } from "./send_queues.ts";

/** A steal follows after three pings without an answer: at most 1.6 seconds. Hidden pages ping less often. */
const PING_MS = 400;
const MAX_UNANSWERED = 3;
/** Hidden tabs ping once a minute at least. */
const FORGET_MS = 180_000;

/** The part of `BroadcastChannel` that tabs use. */
export interface TabChannel {
  postMessage(message: unknown): void;
  onmessage: ((event: { readonly data: unknown }) => void) | null;
  close(): void;
}

/** The part of `LockManager` that tabs use. `hold` keeps the lock until its promise settles. */
export interface TabLocks {
  request(
    name: string,
    options: { signal?: AbortSignal; steal?: boolean },
    hold: () => Promise<void>,
  ): Promise<unknown>;
}

/** How tabs find each other. */
export interface TabEnvironment {
  readonly locks: TabLocks;
  channel(name: string): TabChannel;
}

/** The client of this tab. */
export interface TabHost {
  /** This tab leads from now on. Call `announce` when it can answer. */
  lead(): void;
  /** Another tab leads now. */
  unlead(): void;
  /** Return the state for a follower, if this tab can answer. */
  snapshot(): Snapshot | undefined;
  execute(command: Command): Promise<unknown>;
  notify(notice: Notice, tab: string): void;
  forget(tab: string): void;
  /** A follower is alive. Its timers may be more exact than those of this tab. */
  poke(): void;
  /** Follow a leading tab: apply its state, and give it the commands. */
  follow(snapshot: Snapshot, executor: CommandExecutor): void;
  apply(event: TabEvent): void;
}

type TabMessage =
  | { readonly type: "leader" | "pong"; readonly leader: string }
  | { readonly type: "ping" | "hello" | "bye"; readonly tab: string }
  | { readonly type: "snapshot"; readonly leader: string; readonly to: string; readonly snapshot: Snapshot }
  | { readonly type: "event"; readonly leader: string; readonly event: TabEvent }
  | {
      readonly type: "command";
      readonly leader: string;
      readonly tab: string;
      readonly id: number;
      readonly command: Command;
    }
  | { readonly type: "notice"; readonly leader: string; readonly tab: string; readonly notice: Notice }
  | {
      readonly type: "answer";
      readonly leader: string;
      readonly to: string;
      readonly id: number;
      readonly value?: unknown;
      readonly error?: ErrorData;
    };

/** Return the environment of a browser, or undefined if it cannot share tabs. */
export function browserTabs(): TabEnvironment | undefined {
  const locks = globalThis.navigator?.locks;
  if (!locks || typeof BroadcastChannel === "undefined") return undefined;
  return { locks: locks as TabLocks, channel: (name) => new BroadcastChannel(name) as TabChannel };
}

/** Membership of one tab in the group of its name. */
export class TabGroup {
  readonly tab = newClientMessageId();
  readonly #name: string;
  readonly #locks: TabLocks;
  readonly #channel: TabChannel;
  readonly #host: TabHost;
  readonly #heardAt = new Map<string, number>();
  readonly #answers = new Map<number, Deferred<unknown>>();
  readonly #pinger: ReturnType<typeof setInterval>;
  #abort = new AbortController();
  #hold: Deferred<void> | undefined;
  /** The id of this tab as a leader. Later leaders have higher ids, so messages of earlier ones are recognized. */
  #ownId = "";
  /** The leading tab whose state this one has, and the latest that it asked for its state. */
  #leader = "";
  #greeted = "";
  #unanswered = 0;
  #lastId = 0;
  #isClosed = false;

  constructor(name: string, environment: TabEnvironment, host: TabHost) {
    this.#name = `tidings:${name}`;
    this.#locks = environment.locks;
    this.#host = host;
    this.#channel = environment.channel(this.#name);
    this.#channel.onmessage = ({ data }) => this.#received(data as TabMessage);
    this.#post({ type: "hello", tab: this.tab });
    this.#pinger = setInterval(() => this.#ping(), PING_MS);
    this.#compete({ signal: this.#abort.signal });
  }

  /** Tell the other tabs that this one leads. They ask for its state. */
  announce(): void {
    this.#post({ type: "leader", leader: this.#ownId });
  }

  /** Send an event to the followers. */
  broadcast(event: TabEvent): void {
    this.#post({ type: "event", leader: this.#ownId, event });
  }

  /** Leave the group. If this tab leads, another one takes over. */
  close(): void {
    this.#isClosed = true;
    clearInterval(this.#pinger);
    this.#post({ type: "bye", tab: this.tab });
    this.#channel.onmessage = null;
    this.#channel.close();
    this.#abort.abort();
    this.#hold?.resolve();
  }

  get #isLeading(): boolean {
    return this.#hold !== undefined;
  }

  #post(message: TabMessage): void {
    this.#channel.postMessage(message);
  }

  /** Wait for the lock, or steal it. */
  #compete(options: { signal?: AbortSignal; steal?: boolean }): void {
    const hold = deferred<void>();
    const held = this.#locks.request(this.#name, options, () => {
      if (this.#isClosed) return Promise.resolve();
      this.#lead(hold);
      return hold.promise;
    });
    // The request rejects if the lock was stolen from this tab, or if this tab stopped waiting to steal it.
    held.catch(() => this.#hold === hold && this.#unlead());
  }

  #lead(hold: Deferred<void>): void {
    this.#hold = hold;
    this.#leader = "";
    this.#ownId = newClientMessageId();
    this.#host.lead();
  }

  /** Follow the tab that has stolen the lock, and wait for it again. */
  #unlead(): void {
    if (!this.#isLeading || this.#isClosed) return;
    this.#hold?.resolve();
    this.#hold = undefined;
    this.#ownId = this.#leader = this.#greeted = "";
    this.#unanswered = 0;
    this.#heardAt.clear();
    this.#host.unlead();
    this.#abort = new AbortController();
    this.#compete({ signal: this.#abort.signal });
    this.#post({ type: "hello", tab: this.tab });
  }

  #ping(): void {
    if (this.#isLeading) return;
    if (this.#unanswered++ >= MAX_UNANSWERED) {
      this.#unanswered = 0;
      this.#abort.abort();
      this.#compete({ steal: true });
      return;
    }
    this.#post({ type: "ping", tab: this.tab });
  }

  #received(message: TabMessage): void {
    if (this.#isClosed) return;
    if ("leader" in message && message.type !== "command" && message.type !== "notice")
      this.#fromLeader(message);
    else if (this.#isLeading) this.#fromFollower(message);
  }

  #fromLeader(message: TabMessage & { readonly leader: string }): void {
    const { leader } = message;
    // Race: this tab was frozen while another one took over, and does not know yet that its lock was stolen.
    if (this.#isLeading && leader > this.#ownId) this.#unlead();
    if (this.#isLeading || leader < this.#leader) return;
    this.#unanswered = 0;
    if (message.type === "snapshot" && message.to === this.tab) this.#follow(leader, message.snapshot);
    else if (message.type === "event" && leader === this.#leader) this.#host.apply(message.event);
    else if (message.type === "answer" && message.to === this.tab)
      this.#answered(message.id, message.value, message.error);
    else if (leader > this.#leader && (message.type === "leader" || leader > this.#greeted)) {
      // Race: a tab answers pings as the new leader while it loads the store, and cannot answer a greeting yet. It
      // announces itself when it can, so an announcement is greeted again.
      this.#greeted = leader;
      this.#post({ type: "hello", tab: this.tab });
    }
  }

  #follow(leader: string, snapshot: Snapshot): void {
    // A second answer to two greetings. The commands are on their way already.
    if (leader === this.#leader) return;
    this.#leader = this.#greeted = leader;
    const { tab } = this;
    this.#host.follow(snapshot, {
      execute: (command) => {
        const id = ++this.#lastId;
        const answer = deferred<unknown>();
        this.#answers.set(id, answer);
        this.#post({ type: "command", leader, tab, id, command });
        return answer.promise;
      },
      notify: (notice) => this.#post({ type: "notice", leader, tab, notice }),
    });
  }

  #answered(id: number, value: unknown, error: ErrorData | undefined): void {
    const answer = this.#answers.get(id);
    this.#answers.delete(id);
    if (error) answer?.reject(new TidingsError(error));
    else answer?.resolve(value);
  }

  #fromFollower(message: TabMessage): void {
    if ("tab" in message) this.#heard(message.tab, message.type === "bye");
    if (message.type === "ping") {
      this.#post({ type: "pong", leader: this.#ownId });
      this.#host.poke();
    } else if (message.type === "hello") {
      const snapshot = this.#host.snapshot();
      if (snapshot) this.#post({ type: "snapshot", leader: this.#ownId, to: message.tab, snapshot });
    } else if (message.type === "command" && message.leader === this.#ownId) void this.#execute(message);
    else if (message.type === "notice" && message.leader === this.#ownId)
      this.#host.notify(message.notice, message.tab);
  }

  async #execute({ tab: to, id, command }: TabMessage & { readonly type: "command" }): Promise<void> {
    const leader = this.#ownId;
    const answer = await this.#host.execute(command).then(
      (value) => ({ value }),
      (error: unknown) => ({ error: errorData(asTidingsError(error)) }),
    );
    // A tab that was replaced does not answer: the next leader does.
    if (leader === this.#ownId && !this.#isClosed) this.#post({ type: "answer", leader, to, id, ...answer });
  }

  #heard(tab: string, isGone: boolean): void {
    if (isGone) this.#heardAt.delete(tab);
    else this.#heardAt.set(tab, Date.now());
    const gone = [...this.#heardAt].flatMap(([each, at]) => (at < Date.now() - FORGET_MS ? [each] : []));
    for (const each of isGone ? [...gone, tab] : gone) {
      this.#heardAt.delete(each);
      this.#host.forget(each);
    }
  }
}
