/** A store in memory, for tests and where nothing may be kept. */
import type { ChatRow } from "../frames.gen.ts";
import type { OutboxEntry, Store, StoreBatch, StoredMessages, StoredState, StoreOwner } from "./store.ts";

/** A store that ends with the page. Pass the same object to the next client to keep its content. */
export class MemoryStore implements Store {
  #owner: StoreOwner | undefined;
  #opened: readonly string[] = [];
  #settled: readonly string[] = [];
  readonly #outbox = new Map<string, OutboxEntry>();
  readonly #positions = new Map<string, number>();
  readonly #chats = new Map<string, ChatRow>();
  readonly #messages = new Map<string, StoredMessages>();

  /** Return the content now. For tests. */
  get state(): StoredState {
    return {
      owner: this.#owner,
      outbox: [...this.#outbox.values()].sort((a, b) => a.number - b.number),
      positions: new Map(this.#positions),
      chats: [...this.#chats.values()],
      opened: this.#opened,
      settled: this.#settled,
    };
  }

  load(): Promise<StoredState> {
    return Promise.resolve(this.state);
  }

  messages(chat: string): Promise<StoredMessages | undefined> {
    return Promise.resolve(this.#messages.get(chat));
  }

  write({ owner, isReset, opened, settled, outbox, positions, chats, messages }: StoreBatch): Promise<void> {
    if (isReset) for (const table of [this.#positions, this.#chats, this.#messages]) table.clear();
    this.#owner = owner ?? this.#owner;
    this.#opened = opened ?? this.#opened;
    this.#settled = settled ?? this.#settled;
    apply(this.#outbox, outbox);
    apply(this.#positions, positions);
    apply(this.#chats, chats);
    apply(this.#messages, messages);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function apply<T>(table: Map<string, T>, changes: Map<string, T | null> | undefined): void {
  for (const [key, value] of changes ?? []) {
    if (value === null) table.delete(key);
    else table.set(key, value);
  }
}
