/** Keep the newest entries of chats that were opened in the store, so that they are shown without a connection. */
import { ascending } from "./collections.ts";
import type { Entry, HistoryPage } from "./frames.gen.ts";
import type { StoreBatch, StoredMessages } from "./stores/store.ts";
import { changedEntry, isChange } from "./timeline_items.ts";

const MAX_CHATS = 100;
const MAX_ENTRIES = 100;

export class RecentMessages {
  readonly #load: (chat: string) => Promise<StoredMessages | undefined>;
  /** Called after a change that no caller waits for. */
  readonly #onChanged: () => void;
  /** The chats that were opened, the last one last. Undefined: not read from the store yet. Null: nothing is stored. */
  readonly #chats = new Map<string, StoredMessages | null | undefined>();
  readonly #loading = new Map<string, Promise<void>>();
  readonly #changed = new Map<string, StoredMessages | null>();
  #isOrderChanged = false;

  constructor(
    opened: readonly string[],
    load: (chat: string) => Promise<StoredMessages | undefined>,
    onChanged: () => void,
  ) {
    this.#load = load;
    this.#onChanged = onChanged;
    for (const chat of opened) this.#chats.set(chat, undefined);
  }

  /** Keep the entries of a chat from now on, and return the stored ones. */
  async open(chat: string): Promise<StoredMessages | undefined> {
    const known = this.#chats.get(chat);
    this.#chats.delete(chat);
    this.#chats.set(chat, known);
    this.#isOrderChanged = true;
    const [oldest] = this.#chats.keys();
    if (this.#chats.size > MAX_CHATS && oldest !== undefined) this.#drop(oldest);
    if (known === undefined) await this.#read(chat);
    return this.#chats.get(chat) ?? undefined;
  }

  /** Apply a complete range of the log, oldest first. */
  apply(chat: string, range: StoredMessages): void {
    if (!this.#chats.has(chat)) return;
    if (this.#chats.get(chat) !== undefined) this.#extend(chat, range);
    else
      void this.#read(chat).then(() => {
        if (!this.#chats.has(chat)) return;
        this.#extend(chat, range);
        // Race: the checkpoint of this range was written while the store was read, without the range.
        this.#onChanged();
      });
  }

  /** Apply the newest page of a chat. */
  applyPage(chat: string, { after, up_to, entries }: HistoryPage): void {
    this.apply(chat, { after, up_to, entries: ascending(entries) });
  }

  /** Forget everything, after the installation was restored. The store does the same. */
  clear(): void {
    this.#chats.clear();
    this.#loading.clear();
    this.#changed.clear();
    this.#isOrderChanged = true;
  }

  /** Return and reset what changed since the last call. */
  changed(): StoreBatch {
    const batch: StoreBatch = {};
    if (this.#changed.size) batch.messages = new Map(this.#changed);
    if (this.#isOrderChanged) batch.opened = [...this.#chats.keys()];
    this.#changed.clear();
    this.#isOrderChanged = false;
    return batch;
  }

  #read(chat: string): Promise<void> {
    const running = this.#loading.get(chat);
    if (running) return running;
    const loading = this.#load(chat).then((stored) => {
      // Race: `clear` was called while the store was read, whose entries belong to another epoch.
      if (this.#loading.get(chat) !== loading) return;
      this.#loading.delete(chat);
      if (this.#chats.has(chat)) this.#chats.set(chat, stored ?? null);
    });
    this.#loading.set(chat, loading);
    return loading;
  }

  #extend(chat: string, range: StoredMessages): void {
    const messages = extended(this.#chats.get(chat), range);
    this.#chats.set(chat, messages);
    this.#changed.set(chat, messages);
  }

  #drop(chat: string): void {
    this.#chats.delete(chat);
    this.#changed.set(chat, null);
  }
}

/**
 * Return the newest contiguous entries after a range was applied.
 *
 * Null if a change came without the new state of a stored message: nothing is better than the old text.
 */
function extended(known: StoredMessages | null | undefined, range: StoredMessages): StoredMessages | null {
  const isContiguous = !!known && range.after <= known.up_to;
  if (isContiguous && range.up_to < known.up_to) return known;
  const entries = new Map((isContiguous ? known.entries : []).map((entry) => [entry.sequence, entry]));
  for (const entry of range.entries) {
    if (!isChange(entry)) {
      entries.set(entry.sequence, entry);
      continue;
    }
    const message = entries.get(entry.refers_to ?? 0);
    if (message && entry.changed) entries.set(message.sequence, changedEntry(message, entry.changed));
    else if (message && message.sequence <= range.after) return null;
  }
  return trimmed({
    after: isContiguous ? Math.min(known.after, range.after) : range.after,
    up_to: range.up_to,
    entries: ascending([...entries.values()]),
  });
}

function trimmed({ after, up_to, entries }: StoredMessages): StoredMessages {
  const dropped: Entry | undefined = entries.at(-MAX_ENTRIES - 1);
  return dropped
    ? { after: dropped.sequence, up_to, entries: entries.slice(-MAX_ENTRIES) }
    : { after, up_to, entries };
}
