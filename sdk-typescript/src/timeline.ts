/** The timeline of one chat: a contiguous part of its log, followed by its messages in the outbox. */

import type { Backend } from "./backend.ts";
import { ascending } from "./collections.ts";
import { asTidingsError, type TidingsError } from "./errors.ts";
import type { Entry, GetHistory, HistoryPage, MessageState, Send } from "./frames.gen.ts";
import { batch, Cell, KeyedCells } from "./observable.ts";
import { newClientMessageId } from "./send_queues.ts";
import { changedEntry, isChange, itemFromEntry, itemFromSend, keyOfEntry } from "./timeline_items.ts";
import type { MessageSent, Observable, TimelineItem, TimelineRange } from "./types.ts";

const PAGE = 50;
const EMPTY: TimelineRange = { isLoaded: false, hasOlder: false, hasNewer: false, isLoading: false };

interface DeliveredRange {
  readonly after: number;
  readonly upTo: number;
  readonly entries: readonly Entry[];
}

/**
 * The messages of a chat as a UI shows them. Get it with `chat.timeline`, and start with `loadNewest`.
 *
 * Loads do not reject: `range` has their error.
 */
export class Timeline {
  readonly #backend: Backend;
  readonly #chat: string;
  readonly #keys = new Cell<readonly string[]>([]);
  readonly #range = new Cell(EMPTY);
  readonly #items = new KeyedCells<TimelineItem>();
  /** The keys of the loaded entries, oldest first, and of the messages in the outbox. */
  #logKeys: readonly string[] = [];
  #outboxKeys: readonly string[] = [];
  readonly #keyBySequence = new Map<number, string>();
  readonly #sends = new Map<string, Send>();
  /** The entries of `(after, upTo]` are loaded. */
  #after = 0;
  #upTo = 0;
  /** Whether the newest entries were read from the server, not only from the store. */
  #isCurrent = false;
  #wantsNewest = false;
  #loads = new Map<string, Promise<void>>();
  /** Counts loads that replace the loaded part. */
  #generation = 0;
  /** Entries and changes that arrived while a page is read, which may have been answered before them. */
  #delivered: DeliveredRange[] = [];
  readonly #changes = new Map<number, MessageState>();

  /** @internal */
  constructor(backend: Backend, chat: string) {
    this.#backend = backend;
    this.#chat = chat;
  }

  /**
   * The keys of the items, oldest first. Changes only if items are added or removed.
   *
   * A message keeps its key when it is committed: own messages have their `client_message_id`, others `#<sequence>`.
   */
  get keys(): Observable<readonly string[]> {
    return this.#keys;
  }

  /** Which part of the chat is loaded, and the error of the last load. */
  get range(): Observable<TimelineRange> {
    return this.#range;
  }

  /** Return an item. An edit, a reaction or a change of its status notifies only its own subscribers. */
  item(key: string): Observable<TimelineItem | undefined> {
    return this.#items.at(key);
  }

  /** Return the key of a loaded entry. */
  keyOf(sequence: number): string | undefined {
    return this.#keyBySequence.get(sequence);
  }

  /** Load the newest entries and follow the chat from then on. Shows stored entries first, also without a connection. */
  loadNewest(): Promise<void> {
    this.#wantsNewest = true;
    if (this.#isCurrent && !this.#range.get().hasNewer) return Promise.resolve();
    return this.#load("newest", true, async (isValid) => {
      if (!this.#range.get().isLoaded) {
        const stored = await this.#backend.storedMessages(this.#chat);
        if (stored && isValid() && !this.#range.get().isLoaded) {
          this.#replace({ ...stored, has_older: stored.after > 0, has_newer: false });
        }
      }
      const page = await this.#history({ limit: PAGE });
      if (!isValid()) return;
      const { isLoaded, hasNewer } = this.#range.get();
      if (isLoaded && !hasNewer && page.after <= this.#upTo) {
        this.#extend(page);
        if (page.after < this.#after) this.#prepend(page);
      } else this.#replace(page);
      this.#isCurrent = true;
    });
  }

  /** Load a page before the loaded entries. */
  loadOlder(limit: number = PAGE): Promise<void> {
    if (!this.#range.get().hasOlder) return Promise.resolve();
    return this.#load("older", false, async (isValid) => {
      const page = await this.#history({ before: this.#after + 1, limit });
      if (isValid()) this.#prepend(page);
    });
  }

  /** Load a page after the loaded entries, after `loadAround`. */
  loadNewer(limit: number = PAGE): Promise<void> {
    if (!this.#range.get().hasNewer) return Promise.resolve();
    return this.#load("newer", false, async (isValid) => {
      const page = await this.#history({ after: this.#upTo, limit });
      if (!isValid()) return;
      this.#extend(page);
      this.#isCurrent ||= !page.has_newer;
    });
  }

  /** Load the entries around a sequence, instead of the loaded ones. Does nothing if it is loaded. */
  loadAround(sequence: number): Promise<void> {
    if (this.#range.get().isLoaded && sequence > this.#after && sequence <= this.#upTo)
      return Promise.resolve();
    this.#wantsNewest = false;
    return this.#load(`around ${sequence}`, true, async (isValid) => {
      const page = await this.#history({ around: sequence, limit: PAGE });
      if (!isValid()) return;
      this.#replace(page);
      this.#isCurrent = !page.has_newer;
    });
  }

  /** Send a failed message again, with a new `client_message_id`. */
  retry(key: string): void {
    const send = this.#sends.get(key);
    if (!send || this.#items.get(key)?.delivery !== "failed") return;
    const { after: _, ...body } = send;
    this.#backend.put({ kind: "send", body: { ...body, client_message_id: newClientMessageId() } });
    this.#backend.discard(this.#chat, key);
  }

  /** Remove a failed message. */
  discard(key: string): void {
    if (this.#items.get(key)?.delivery === "failed") this.#backend.discard(this.#chat, key);
  }

  /** @internal Apply a complete range of the log that was delivered to this tab, oldest first. */
  apply(after: number, upTo: number, entries: readonly Entry[]): void {
    batch(() => {
      const unknown = entries.filter((entry) => isChange(entry) && !this.#change(entry));
      if (this.#loads.size) this.#delivered.push({ after, upTo, entries });
      else this.#append({ after, upTo, entries });
      for (const { refers_to = 0 } of unknown) this.#refresh(refers_to);
    });
  }

  /** @internal */
  onQueued(send: Send): void {
    if (this.#items.get(send.client_message_id)) return;
    this.#sends.set(send.client_message_id, send);
    this.#items.set(send.client_message_id, itemFromSend(send, this.#backend.userName()));
    this.#outboxKeys = [...this.#outboxKeys, send.client_message_id];
    this.#publish();
  }

  /** @internal The item stays at the end until its entry arrives, because entries before it may be missing. */
  onSent({ client_message_id, sequence }: MessageSent): void {
    const item = this.#items.get(client_message_id);
    if (item?.delivery === "pending")
      this.#items.set(client_message_id, { ...item, sequence, delivery: "committed" });
  }

  /** @internal */
  onSendFailed(key: string, error: TidingsError): void {
    const item = this.#items.get(key);
    if (item?.delivery === "pending") this.#items.set(key, { ...item, delivery: "failed", error });
  }

  /** @internal */
  onDiscarded(key: string): void {
    if (!this.#outboxKeys.includes(key)) return;
    this.#leaveOutbox(key);
    this.#items.set(key, undefined);
    this.#publish();
  }

  /** @internal Forget the messages of the outbox that are settled: the leading tab does not have them. */
  keepQueued(keys: ReadonlySet<string>): void {
    for (const key of this.#outboxKeys)
      if (this.#items.get(key)?.delivery === "pending" && !keys.has(key)) this.onDiscarded(key);
  }

  /** @internal Read again what could not be read without a connection. */
  onLive(): void {
    if (this.#wantsNewest && !this.#isCurrent && !this.#loads.has("newest")) void this.loadNewest();
  }

  /** @internal Discard all entries: after a restore, their sequences belong to other ones. */
  restored(): void {
    batch(() => {
      this.#generation++;
      this.#replace({ after: 0, up_to: 0, entries: [], has_older: false, has_newer: false });
      this.#isCurrent = false;
      this.#range.set(EMPTY);
    });
  }

  #history(request: Omit<GetHistory, "chat">): Promise<HistoryPage> {
    return this.#backend.request("history", { chat: this.#chat, ...request });
  }

  /**
   * Run a load unless the same one is in progress.
   *
   * `isReplacing`: it decides what is shown, so the answers of earlier loads are dropped. `isValid` tells whether this is
   * still the last one.
   */
  #load(name: string, isReplacing: boolean, work: (isValid: () => boolean) => Promise<void>): Promise<void> {
    const running = this.#loads.get(name);
    if (running) return running;
    if (isReplacing) this.#generation++;
    const generation = this.#generation;
    const load = work(() => generation === this.#generation).then(
      () => this.#loaded(name, undefined),
      (error: unknown) => this.#loaded(name, asTidingsError(error)),
    );
    this.#loads.set(name, load);
    this.#range.set({ ...this.#range.get(), isLoading: true, error: undefined });
    return load;
  }

  #loaded(name: string, error: TidingsError | undefined): void {
    batch(() => {
      this.#loads.delete(name);
      this.#range.set({ ...this.#range.get(), isLoading: this.#loads.size > 0, error });
      if (this.#loads.size) return;
      const delivered = this.#delivered;
      this.#delivered = [];
      for (const range of delivered) this.#append(range);
      for (const [sequence, state] of this.#changes) this.#changeState(sequence, state);
      this.#changes.clear();
      if (!error) this.onLive();
    });
  }

  /** Append delivered entries if the timeline shows the end of the log. */
  #append({ after, upTo, entries }: DeliveredRange): void {
    const { isLoaded, hasNewer } = this.#range.get();
    if (isLoaded && !hasNewer && after <= this.#upTo) {
      this.#extend({ after, up_to: upTo, entries, has_older: false, has_newer: false });
      return;
    }
    for (const entry of entries) this.onDiscarded(keyOfEntry(entry));
    if (!isLoaded || hasNewer) return;
    // Entries before these are missing. Read them, and these too.
    this.#isCurrent = false;
    this.#range.set({ ...this.#range.get(), hasNewer: true });
    void this.loadNewer();
  }

  /** Add a page that overlaps or follows the end of the loaded part. Loaded entries take the state of the page. */
  #extend(page: HistoryPage): void {
    const entries = ascending(page.entries);
    this.#logKeys = [
      ...this.#logKeys,
      ...entries.filter(({ sequence }) => sequence > this.#upTo).flatMap((entry) => this.#add(entry)),
    ];
    for (const entry of entries) if (this.#keyBySequence.has(entry.sequence)) this.#setEntry(entry);
    this.#upTo = Math.max(this.#upTo, page.up_to);
    this.#range.set({ ...this.#range.get(), hasNewer: page.has_newer });
    this.#publish();
  }

  #prepend(page: HistoryPage): void {
    const entries = ascending(page.entries).filter(({ sequence }) => sequence <= this.#after);
    this.#logKeys = [...entries.flatMap((entry) => this.#add(entry)), ...this.#logKeys];
    this.#after = page.after;
    this.#range.set({ ...this.#range.get(), hasOlder: page.has_older });
    this.#publish();
  }

  /** Show a page instead of the loaded part. Items that are in both keep their identity. */
  #replace(page: HistoryPage): void {
    const old = new Set(this.#logKeys);
    this.#keyBySequence.clear();
    this.#logKeys = ascending(page.entries).flatMap((entry) => this.#add(entry));
    for (const key of this.#logKeys) old.delete(key);
    for (const key of old) this.#items.set(key, undefined);
    this.#after = page.after;
    this.#upTo = page.up_to;
    this.#range.set({
      ...this.#range.get(),
      isLoaded: true,
      hasOlder: page.has_older,
      hasNewer: page.has_newer,
    });
    this.#publish();
  }

  /** Add the item of an entry, and return its key, unless it is a change of another one. */
  #add(entry: Entry): string[] {
    if (isChange(entry)) return [];
    const key = keyOfEntry(entry);
    this.#keyBySequence.set(entry.sequence, key);
    this.#leaveOutbox(key);
    this.#setEntry(entry);
    return [key];
  }

  #setEntry(entry: Entry): void {
    this.#items.set(keyOfEntry(entry), itemFromEntry(entry, this.#backend.userName()));
  }

  #leaveOutbox(key: string): void {
    this.#sends.delete(key);
    if (this.#outboxKeys.includes(key)) this.#outboxKeys = this.#outboxKeys.filter((each) => each !== key);
  }

  /** Apply a change to its message. Return false if the new state is not known and must be read. */
  #change({ refers_to = 0, changed }: Entry): boolean {
    if (!changed) return !this.#keyBySequence.has(refers_to);
    if (this.#loads.size) this.#changes.set(refers_to, changed);
    this.#changeState(refers_to, changed);
    return true;
  }

  #changeState(sequence: number, state: MessageState): void {
    const entry = this.#items.get(this.#keyBySequence.get(sequence) ?? "")?.entry;
    if (entry) this.#setEntry(changedEntry(entry, state));
  }

  /** Read a message again whose change came without its new state, from a page of history. */
  #refresh(sequence: number): void {
    void this.#load(`refresh ${sequence}`, false, async (isValid) => {
      const { entries } = await this.#history({ after: sequence - 1, limit: 1 });
      for (const entry of entries)
        if (isValid() && this.#keyBySequence.has(entry.sequence)) this.#setEntry(entry);
    });
  }

  #publish(): void {
    const keys = this.#range.get().hasNewer ? this.#logKeys : [...this.#logKeys, ...this.#outboxKeys];
    const known = this.#keys.get();
    if (keys.length !== known.length || keys.some((key, index) => key !== known[index])) this.#keys.set(keys);
  }
}
