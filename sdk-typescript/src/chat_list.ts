/**
 * The user's chat list: rows from the server, updated by later entries. Without I/O.
 *
 * The unread count follows the server's rule: messages above the user's read position. A user who sends a message, from
 * any device, has read everything before it. The count is exact if the device has all messages since then. Otherwise the
 * server's count applies until the user reads further.
 */
import { attachmentsOf } from "./attachments/attachment_info.ts";
import { decodeStruct } from "./codec.ts";
import type { ChatRow, Entry, MessageState } from "./frames.gen.ts";
import { batch, Cell, KeyedCells, LazyCell } from "./observable.ts";
import type { Observable } from "./types.ts";

const MAX_TRACKED = 1_000;
const PREVIEW_CHARACTERS = 100;

/** A row with the messages since then. `messages`: all message sequences above `since`. */
export interface TrackedRow {
  row: ChatRow;
  since: number;
  messages: number[];
}

/** The chats of the user: pinned chats first, then newest activity first. Get it with `client.chats`. */
export class ChatList implements Observable<readonly ChatRow[]> {
  readonly #tracked = new Map<string, TrackedRow>();
  readonly #rows = new KeyedCells<ChatRow>();
  readonly #sorted = new LazyCell(() => sortRows([...this.#tracked.values()].map(({ row }) => row)));
  readonly #unread = new Cell(0);
  readonly #isLoaded = new Cell(false);
  #changed = new Set<string>();

  /** Return the rows. */
  readonly get = (): readonly ChatRow[] => this.#sorted.get();

  /** Call `listener` after each change of the list. Returns a function that ends this. */
  readonly subscribe = (listener: () => void): (() => void) => this.#sorted.subscribe(listener);

  /** The number of unread messages in all chats that are not muted. */
  get unread(): Observable<number> {
    return this.#unread;
  }

  /** Whether the rows of the store or of the server have been loaded. */
  get isLoaded(): Observable<boolean> {
    return this.#isLoaded;
  }

  /** Return the row of a chat. Changes of other rows do not notify its subscribers. */
  row(chat: string): Observable<ChatRow | undefined> {
    return this.#rows.at(chat);
  }

  /** @internal Add stored rows. Rows that are known already are newer, and stay. */
  restore(rows: readonly ChatRow[]): void {
    batch(() => {
      for (const row of rows)
        if (!this.#tracked.has(row.chat)) this.#set({ row, since: row.head, messages: [] });
    });
  }

  /** @internal Replace the list by that of the leading tab. Rows with later entries stay. */
  replace(rows: readonly TrackedRow[]): void {
    batch(() => {
      const listed = new Set(rows.map(({ row }) => row.chat));
      for (const chat of [...this.#tracked.keys()]) if (!listed.has(chat)) this.#remove(chat);
      for (const tracked of rows) {
        const known = this.#tracked.get(tracked.row.chat);
        if (!known || known.row.head <= tracked.row.head) this.#set(tracked);
      }
    });
  }

  /** @internal Return the rows with their tracked messages, for the other tabs. */
  snapshot(): TrackedRow[] {
    return [...this.#tracked.values()].map((tracked) => ({ ...tracked, messages: [...tracked.messages] }));
  }

  /** @internal */
  setLoaded(): void {
    this.#isLoaded.set(true);
  }

  /** @internal Apply a row of the server. It may be older than applied entries; a read position never moves back. */
  applyRow(row: ChatRow): void {
    const known = this.#tracked.get(row.chat);
    const read = Math.max(row.read, known?.row.read ?? 0);
    if (!known || known.row.head <= row.head) {
      this.#change({ row: { ...row, read }, since: row.head, messages: [] });
      return;
    }
    const { head, unread, at, by, preview, last, state } = known.row;
    this.#change({ ...known, row: changedRow(row, { head, unread, at, by, preview, last, state, read }) });
  }

  /** @internal Apply entries of the log, in order. If the chat is unknown, create its row. */
  applyEntries(chat: string, entries: readonly Entry[], user: string): void {
    batch(() => {
      for (const entry of entries) {
        const tracked = this.#tracked.get(chat) ?? newRow(chat, entry.sequence - 1);
        this.#change(applyEntry(tracked, entry, user));
        if (entry.kind === "leave" && (entry.users.length ? entry.users : [entry.by]).includes(user))
          this.#remove(chat);
      }
    });
  }

  /** @internal Apply a read position of the user, from any device. Return whether it advanced. */
  read(chat: string, sequence: number): boolean {
    const known = this.#tracked.get(chat);
    if (!known || sequence <= known.row.read) return false;
    const tracked = { ...known, row: { ...known.row, read: sequence } };
    const unread = sequence >= known.row.head ? 0 : unreadCount(tracked);
    this.#change({ ...tracked, row: { ...tracked.row, unread } });
    return true;
  }

  /** @internal Return and reset the rows that changed since the last call. Null: the chat was removed from the list. */
  changed(): Map<string, ChatRow | null> {
    const changed = this.#changed;
    this.#changed = new Set();
    return new Map([...changed].map((chat) => [chat, this.#tracked.get(chat)?.row ?? null]));
  }

  /** @internal */
  clear(): void {
    this.#tracked.clear();
    this.#changed.clear();
    this.#rows.clear();
    this.#onChange();
  }

  #change(tracked: TrackedRow): void {
    this.#changed.add(tracked.row.chat);
    this.#set(tracked);
  }

  #set(tracked: TrackedRow): void {
    this.#tracked.set(tracked.row.chat, tracked);
    if (this.#rows.get(tracked.row.chat) === tracked.row) return;
    this.#rows.set(tracked.row.chat, tracked.row);
    this.#onChange();
  }

  #remove(chat: string): void {
    this.#changed.add(chat);
    this.#tracked.delete(chat);
    this.#rows.set(chat, undefined);
    this.#onChange();
  }

  #onChange(): void {
    batch(() => {
      this.#sorted.invalidate();
      let unread = 0;
      for (const { row } of this.#tracked.values()) if (!row.is_muted) unread += row.unread;
      this.#unread.set(unread);
    });
  }
}

function sortRows(rows: ChatRow[]): readonly ChatRow[] {
  return rows.sort(
    (a, b) =>
      Number(b.is_pinned) - Number(a.is_pinned) || (b.at ?? 0) - (a.at ?? 0) || (a.chat < b.chat ? 1 : -1),
  );
}

function newRow(chat: string, head: number): TrackedRow {
  return { row: decodeStruct("ChatRow", { chat, head }), since: head, messages: [] };
}

/** Return a row with changed fields. Undefined removes a field. */
function changedRow(
  row: ChatRow,
  changes: { readonly [K in keyof ChatRow]?: ChatRow[K] | undefined },
): ChatRow {
  const fields = Object.entries({ ...row, ...changes }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields) as unknown as ChatRow;
}

function unreadCount({ row, since, messages }: TrackedRow): number {
  return row.read < since ? row.unread : messages.filter((sequence) => sequence > row.read).length;
}

/** Return the state and preview of a message. Like the server, show no preview of a message that expires. */
function previewOf(
  message: Entry | MessageState,
): Pick<ChatRow, "state"> & { readonly preview: string | undefined } {
  const { state, expires_at } = message;
  if (state !== "active") return { state, preview: undefined };
  if (expires_at !== undefined) return { state: "ephemeral", preview: undefined };
  return { state, preview: [...previewText(message)].slice(0, PREVIEW_CHARACTERS).join("") || undefined };
}

/** Return the text, or the name of the first file and the number of the others. The server has the same rule. */
function previewText(message: Entry | MessageState): string {
  const [first, ...others] = message.text ? [] : attachmentsOf(message);
  if (!first) return message.text;
  return ["📎", first.name, others.length > 0 && `+${others.length}`].filter(Boolean).join(" ");
}

/** Apply an entry above the row's head; the row covers the others already. */
function applyEntry(tracked: TrackedRow, entry: Entry, user: string): TrackedRow {
  if (entry.sequence <= tracked.row.head) return tracked;
  const row = { ...tracked.row, head: entry.sequence };
  if (entry.kind === "message") return countMessage({ ...tracked, row }, entry, user);
  if (!entry.changed) return { ...tracked, row: nameRow(row, entry, user) };
  return { ...tracked, row: entry.refers_to === row.last ? changedRow(row, previewOf(entry.changed)) : row };
}

function countMessage(tracked: TrackedRow, entry: Entry, user: string): TrackedRow {
  const messages = [...tracked.messages, entry.sequence];
  const since = messages.length > MAX_TRACKED ? (messages.shift() ?? 0) : tracked.since;
  const read = entry.by === user ? Math.max(tracked.row.read, entry.sequence) : tracked.row.read;
  const counted = { row: { ...tracked.row, read, unread: tracked.row.unread + 1 }, since, messages };
  return {
    ...counted,
    row: changedRow(counted.row, {
      unread: unreadCount(counted),
      at: entry.at,
      by: entry.by,
      last: entry.sequence,
      ...previewOf(entry),
    }),
  };
}

function nameRow(row: ChatRow, { kind, name, users, by, at }: Entry, user: string): ChatRow {
  const named = kind === "create" || kind === "rename" ? changedRow(row, { name }) : row;
  if (kind !== "create" && kind !== "join") return named;
  const members = [...new Set([...row.members, ...users, by])].filter((member) => member !== user).sort();
  return { ...named, members, at: row.at || at };
}
