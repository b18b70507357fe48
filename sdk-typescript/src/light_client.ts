/** The client without the parts that only browsers have. `client_core` has its connection, `client_state` its models. */

import type { Backend } from "./backend.ts";
import { FIRST_MS, LONGEST_MS } from "./backoff.ts";
import type { Chat } from "./chat.ts";
import type { ChatList } from "./chat_list.ts";
import { ClientCore } from "./client_core.ts";
import { ClientState } from "./client_state.ts";
import type { RequestKind } from "./codec.ts";
import { REPLACED } from "./codes.gen.ts";
import { type CommandExecutor, CommandQueue } from "./commands.ts";
import { type CredentialProvider, Credentials } from "./credentials.ts";
import { errorData, sdkError, type TidingsError } from "./errors.ts";
import type { Snapshot, TabEvent } from "./events.ts";
import type { Answers, Requests } from "./frames.gen.ts";
import type { Inbox } from "./inbox.ts";
import type { PresenceMap } from "./presence.ts";
import { BatchedStore } from "./stores/batched_store.ts";
import { MemoryStore } from "./stores/memory.ts";
import type { OutboxRequest, Store, StoredMessages } from "./stores/store.ts";
import type { TabEnvironment, TabGroup, TabHost } from "./tabs.ts";
import type {
  ConnectionStatus,
  Events,
  Observable,
  QueuedSend,
  Socket,
  SocketFactory,
  Timeouts,
} from "./types.ts";
import { validate } from "./validate.ts";

/** The options of a client. */
export interface ClientOptions {
  /** The address of the gateway: `ws://…` or `wss://…`. */
  readonly url: string;
  /** The address of the REST API, such as `https://chat.example.com`. Attachments, moderation and search need it. */
  readonly api?: string | undefined;
  /**
   * The id of the signed-in user. Each user has a store of their own, and the tabs of one user share a connection.
   * The client stops with `user_mismatch` if the credential belongs to another user.
   */
  readonly user: string;
  /** The credential, or a function that returns one. It is called again when a credential has expired or was refused. */
  readonly token: string | CredentialProvider;
  /** Where the outbox, the positions and the chats are kept. Default: IndexedDB if there is one, otherwise memory. */
  readonly store?: Store | "memory" | "indexeddb";
  /** The name of the device. Default: named by the server and kept in the store. */
  readonly device?: string;
  /** Whether the tabs of a user share a connection. Default: if they share IndexedDB and the browser supports it. */
  readonly tabs?: boolean | TabEnvironment;
  /** Opens sockets. Default: `WebSocket`. */
  readonly socket?: SocketFactory;
  /** The maximum number of messages in the outbox. Default: 10,000. */
  readonly maxOutbox?: number;
  /** How long to wait for sockets, answers and reconnects. */
  readonly timeouts?: Partial<Timeouts>;
}

/** The parts of a client that a platform may have. */
export interface Platform {
  /** Return the persistent store of a name. */
  newStore?(name: string): Store | undefined;
  /** Share the connection with other tabs. `environment`: how to find them, if the app gave it. */
  newTabGroup?(name: string, environment: TabEnvironment | undefined, host: TabHost): TabGroup | undefined;
}

const TIMEOUTS: Timeouts = {
  openMs: 10_000,
  answerMs: 30_000,
  backoffFirstMs: FIRST_MS,
  backoffLongestMs: LONGEST_MS,
};
/** How long a replaced client waits for the news that another tab has taken over. */
const REPLACED_MS = 1_000;

/** A client for Node, React Native and tests: without IndexedDB and shared tabs. Pass it a `store` to keep its state. */
export class LightClient {
  /** @internal */
  readonly options: ClientOptions;
  readonly #platform: Platform;
  readonly #state: ClientState;
  readonly #commands = new CommandQueue();
  readonly #watched = new Map<string, number>();
  #ownPresence: "online" | "away" = "online";
  #isWatchChanged = false;
  #core: ClientCore | undefined;
  #memory: MemoryStore | undefined;
  #group: TabGroup | undefined;
  #closing: Promise<void> = Promise.resolve();
  /** Counts starts and closes: the result of an earlier start is dropped. */
  #generation = 0;
  #isStarted = false;
  readonly #onOnline = () => this.#core?.retryNow();

  constructor(options: ClientOptions, platform: Platform = {}) {
    this.options = options;
    this.#platform = platform;
    this.#state = new ClientState(this.#backend());
  }

  /** The state of the connection. */
  get connection(): Observable<ConnectionStatus> {
    return this.#state.connection;
  }

  /** The user of the credential, from the server or the store. */
  get user(): Observable<string | undefined> {
    return this.#state.user;
  }

  /** The chat list of the user. */
  get chats(): ChatList {
    return this.#state.chats;
  }

  /** The presence of other users, and the own one. */
  get presence(): PresenceMap {
    return this.#state.presence;
  }

  /** Connect. Does not wait for the connection: earlier commands wait. May be called again, also after `close`. */
  start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    const generation = ++this.#generation;
    this.#state.apply({ type: "connection", status: { state: "connecting" } });
    globalThis.addEventListener?.("online", this.#onOnline);
    void this.#closing.then(() => {
      if (generation === this.#generation) this.#open();
    });
  }

  /** Close the connection and the store. Unanswered messages stay in the store. */
  close(): Promise<void> {
    if (!this.#isStarted) return this.#closing;
    this.#isStarted = false;
    this.#generation++;
    globalThis.removeEventListener?.("online", this.#onOnline);
    this.#commands.attach(undefined);
    this.#commands.reject(sdkError("client_stopped", "The client is closed."));
    this.#state.end(".");
    this.#state.apply({ type: "connection", status: { state: "stopped" } });
    const [core, group] = [this.#core, this.#group];
    this.#core = this.#group = undefined;
    // The next tab may lead when the last changes are stored.
    this.#closing = Promise.resolve(core?.close()).finally(() => group?.close());
    return this.#closing;
  }

  /** Return a chat by its id, always the same object, without a request to the server. */
  chat(id: string): Chat {
    return this.#state.chat(id);
  }

  /** Return an inbox, always the same object. */
  inbox(name = "default"): Inbox {
    return this.#state.inbox(name);
  }

  /** Call `listener` for each event of a kind. Returns a function that ends this. */
  on<K extends keyof Events>(event: K, listener: (event: Events[K]) => void): () => void {
    return this.#state.on(event, listener);
  }

  /** Wait until the outbox is empty. Rejects if the client stops before. */
  async flush(): Promise<void> {
    await this.#commands.run({ type: "flush" });
  }

  /** @internal Send a request, now or when there is a connection. Rejects with a `TidingsError`. */
  async request<K extends RequestKind>(kind: K, body: Requests[K]): Promise<Answers[K]> {
    validate(body);
    return (await this.#commands.run({ type: "request", kind, body })) as Answers[K];
  }

  #open(): void {
    const { store = "indexeddb", tabs = store === "indexeddb" } = this.options;
    const environment = typeof tabs === "object" ? tabs : undefined;
    this.#group = tabs ? this.#platform.newTabGroup?.(this.#name, environment, this.#tabHost()) : undefined;
    if (!this.#group) void this.#lead();
  }

  #tabHost(): TabHost {
    return {
      lead: () => void this.#lead(),
      unlead: () => this.#unlead(),
      snapshot: () => this.#core?.snapshot(),
      execute: (command) => this.#core?.execute(command) ?? new Promise(() => undefined),
      notify: (notice, tab) => this.#core?.notify(notice, tab),
      forget: (tab) => this.#core?.forget(tab),
      poke: () => this.#core?.poke(),
      follow: (snapshot, executor) => this.#follow(snapshot, executor),
      apply: (event) => {
        if (event.type === "queued") this.#commands.onStored(event.request.body.client_message_id);
        this.#state.apply(event);
      },
    };
  }

  /** Load the store and hold the connection. */
  async #lead(): Promise<void> {
    const generation = this.#generation;
    const { url, user, token, device, socket = newSocket, maxOutbox = 10_000, timeouts } = this.options;
    const store = new BatchedStore(this.#newStore(), (reason) =>
      this.#emit({ type: "storeDegraded", reason }),
    );
    const stored = await store.load();
    if (generation !== this.#generation) return void store.close();
    this.#state.applyStored(stored);
    const options = {
      dial: { url, socket, timeouts: { ...TIMEOUTS, ...timeouts } },
      credentials: new Credentials(token),
      user,
      device,
      maxOutbox,
    };
    const core: ClientCore = new ClientCore(options, store, stored, {
      chats: this.#state.chats,
      emit: (event) => this.#emit(event),
      stopped: (error) => this.#onStopped(core, error),
    });
    this.#core = core;
    core.run();
    this.#attach({ execute: (command) => core.execute(command), notify: (notice) => core.notify(notice) });
    this.#group?.announce();
  }

  #unlead(): void {
    // A store that is being loaded belongs to the tab that leads now.
    this.#generation++;
    this.#core?.abort();
    this.#core = undefined;
    this.#commands.attach(undefined);
  }

  #follow(snapshot: Snapshot, executor: CommandExecutor): void {
    for (const { body } of snapshot.outbox) this.#commands.onStored(body.client_message_id);
    this.#state.applySnapshot(snapshot);
    this.#attach(executor);
  }

  #attach(executor: CommandExecutor): void {
    this.#commands.attach(executor);
    this.#notifyWatched();
    if (this.#ownPresence !== "online")
      this.#commands.notify({ type: "presence", status: this.#ownPresence });
  }

  #emit(event: TabEvent): void {
    this.#state.apply(event);
    this.#group?.broadcast(event);
  }

  /** Report that the client cannot continue. If another tab has replaced it, this tab follows that one instead. */
  #onStopped(core: ClientCore, error: TidingsError): void {
    const stop = () => {
      if (this.#core !== core) return;
      this.#commands.attach({ execute: () => Promise.reject(error), notify: () => undefined });
      this.#state.end(`: ${error.message}`);
      this.#emit({ type: "connection", status: { state: "stopped", error: errorData(error) } });
    };
    if (!this.#group || (error.closeCode !== REPLACED && error.code !== "store_in_use")) {
      stop();
      return;
    }
    this.#commands.attach(undefined);
    setTimeout(stop, REPLACED_MS);
  }

  /** Names the database and the lock of the tabs. */
  get #name(): string {
    return `${this.options.user} ${this.options.url}`;
  }

  #newStore(): Store {
    const { store = "indexeddb" } = this.options;
    if (typeof store === "object") return store;
    const persistent = store === "indexeddb" ? this.#platform.newStore?.(this.#name) : undefined;
    // The same memory after `close` and `start`.
    this.#memory ??= new MemoryStore();
    return persistent ?? this.#memory;
  }

  #backend(): Backend {
    return {
      userName: () => this.options.user,
      request: (kind, body) => this.request(kind, body),
      storedMessages: (chat) =>
        this.#commands.run({ type: "messages", chat }) as Promise<StoredMessages | undefined>,
      put: (request) => this.#put(request),
      discard: (chat, key) => void this.#commands.run({ type: "discard", chat, key }).catch(() => undefined),
      watch: (names, by) => this.#watch(names, by),
      setTyping: (chat, isTyping) => {
        validate({ chat });
        this.#commands.notify({ type: "typing", chat, isTyping });
      },
      setPresence: (status) => {
        this.#ownPresence = status;
        this.#commands.notify({ type: "presence", status });
      },
    };
  }

  #put(request: OutboxRequest): QueuedSend {
    validate(request.body);
    // Only JSON can be sent, and other data could not be stored.
    request = JSON.parse(JSON.stringify(request));
    return this.#state.queue(request, this.#commands.run({ type: "put", request }) as Promise<void>);
  }

  #watch(names: readonly string[], by: number): string[] {
    const ended: string[] = [];
    for (const name of names) {
      const count = (this.#watched.get(name) ?? 0) + by;
      this.#watched.set(name, count);
      if (count > 0) continue;
      this.#watched.delete(name);
      ended.push(name);
    }
    // Combine the changes of one render.
    if (!this.#isWatchChanged) queueMicrotask(() => this.#notifyWatched());
    this.#isWatchChanged = true;
    return ended;
  }

  #notifyWatched(): void {
    this.#isWatchChanged = false;
    this.#commands.notify({ type: "watch", names: [...this.#watched.keys()] });
  }
}

function newSocket(url: string): Socket {
  return new WebSocket(url) as Socket;
}
