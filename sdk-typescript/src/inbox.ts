/**
 * One inbox of the user: counts that follow changes on all devices, and marks.
 *
 * Nothing is stored on the device. After each reconnect, the client requests the counts of the inboxes in use again.
 */

import type { Backend } from "./backend.ts";
import { decodeStruct } from "./codec.ts";
import { getOrCreate, partsOf } from "./collections.ts";
import { TidingsError } from "./errors.ts";
import { Feed } from "./feed.ts";
import type {
  BroadcastUpdate,
  ChangePreferences,
  InboxCounts,
  InboxPreferences,
  InboxUpdate,
  ListNotifications,
  MarkNotifications,
  Notification,
  NotificationPage,
} from "./frames.gen.ts";
import { batch, Cell, KeyedCells } from "./observable.ts";
import type { FeedFilter, Observable } from "./types.ts";

const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000];
const MAX_IDS = 100;
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The choices to change: for all categories, and for single ones. */
export type PreferenceChanges = Omit<ChangePreferences, "inbox">;

type Marked = Partial<Pick<Notification, "is_read" | "is_seen" | "is_archived">>;

/** One inbox. Get it with `client.inbox(name)`. Its first request subscribes to changes. */
export class Inbox {
  /** The name of the inbox. */
  readonly name: string;
  readonly #backend: Backend;
  readonly #counts = new Cell<InboxCounts | undefined>(undefined);
  readonly #notifications = new KeyedCells<Notification>();
  readonly #feeds = new Map<string, Feed>();
  #announcedUpTo = 0;
  #marking = 0;
  #lastMarks: Promise<unknown> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @internal */
  constructor(backend: Backend, name: string) {
    this.#backend = backend;
    this.name = name;
  }

  /** The exact counts. Undefined before the first answer. Requested again after a reconnect and after a broadcast. */
  get counts(): Observable<InboxCounts | undefined> {
    return this.#counts;
  }

  /** Return the notifications that match a filter, always the same object for a filter. */
  feed({ category, is_unread = false, is_archived = false }: FeedFilter = {}): Feed {
    const filter = { is_unread, is_archived, category };
    return getOrCreate(
      this.#feeds,
      JSON.stringify(filter),
      () => new Feed(this, this.#notifications, filter),
    );
  }

  /** Request the counts. Rejects with a `TidingsError`. */
  async refresh(): Promise<InboxCounts> {
    return this.#take(await this.#backend.request("counts", { inbox: this.name, ...this.#atLeast }));
  }

  /** Mark notifications as read. Feeds show it at once, and undo it if the server refuses it. Returns exact counts. */
  markRead(ids: readonly string[]): Promise<InboxCounts> {
    return this.#markIds("read", ids, { is_read: true });
  }

  /** Mark notifications as unread. */
  markUnread(ids: readonly string[]): Promise<InboxCounts> {
    return this.#markIds("unread", ids, { is_read: false });
  }

  /** Archive notifications: they leave the feeds without `is_archived`. */
  archive(ids: readonly string[]): Promise<InboxCounts> {
    return this.#markIds("archived", ids, { is_archived: true });
  }

  /** Restore notifications from the archive. */
  restore(ids: readonly string[]): Promise<InboxCounts> {
    return this.#markIds("restored", ids, { is_archived: false });
  }

  /** Mark all notifications up to a time in milliseconds as read. Default: now. Later ones stay unread. */
  markAllRead({
    before,
    category,
  }: {
    readonly before?: number;
    readonly category?: string;
  } = {}): Promise<InboxCounts> {
    const isMarked = (each: Notification) =>
      (before === undefined || each.delivered_at <= before) &&
      (category === undefined || each.category === category);
    const request = {
      to: "read",
      before,
      category,
    } as const;
    return this.#mark(request, { is_read: true }, isMarked);
  }

  /** Mark the inbox as seen: `unseen` becomes 0. */
  markSeen(): Promise<InboxCounts> {
    return this.#mark({ to: "seen" }, { is_seen: true }, () => true);
  }

  /** Read the channels that the user's notifications take, for each category. Rejects with a `TidingsError`. */
  preferences(): Promise<InboxPreferences> {
    return this.#backend.request("preferences", { inbox: this.name });
  }

  /**
   * Switch channels on or off, for all categories or single ones, and return the result. `null` removes a choice, so
   * that the tenant's setting applies. Other choices stay as they are. Feeds are read again: broadcasts of a category
   * that is switched off leave them.
   */
  async changePreferences(changes: PreferenceChanges): Promise<InboxPreferences> {
    const found = await this.#backend.request("preferences", { inbox: this.name, ...changes });
    this.#reloadFeeds();
    return found;
  }

  /** @internal Read a page of notifications, newest first, after the marks that are on their way. */
  async list(request: Omit<ListNotifications, "inbox" | "at_least">): Promise<NotificationPage> {
    await this.#lastMarks;
    const page = await this.#backend.request("notifications", {
      inbox: this.name,
      ...request,
      ...this.#atLeast,
    });
    this.#take(page.counts);
    return page;
  }

  /** @internal Apply the counts that another tab received. If they are newer, notifications were marked there. */
  onCounts(counts: InboxCounts): void {
    const known = this.#counts.get();
    this.#take(counts);
    if (known && counts.version > known.version && !this.#marking) this.#reloadFeeds();
  }

  /** @internal Apply a push. For marks of other devices it has counts only, so the feeds are read again. */
  onUpdate({ counts, added, amended, removed, has_more }: InboxUpdate): void {
    batch(() => {
      const known = this.#counts.get();
      const isNewer = !known || counts.version > known.version;
      this.#take(counts);
      this.#change(added, amended, removed);
      if (has_more || (isNewer && !added.length && !amended.length && !removed.length)) this.#reloadFeeds();
    });
  }

  /** @internal Apply a broadcast. It has no counts, and not the user's own state: both are kept or requested. */
  onBroadcast({ up_to, added, amended, removed, has_more }: BroadcastUpdate): void {
    this.#announcedUpTo = Math.max(this.#announcedUpTo, up_to);
    const withOwnState = (each: Notification): Notification => {
      const { is_read, is_seen, is_archived } = this.#notifications.get(each.id) ?? each;
      return { ...each, is_read, is_seen, is_archived };
    };
    batch(() => this.#change(added.map(withOwnState), amended.map(withOwnState), removed));
    if (has_more) this.#reloadFeeds();
    else if (this.#counts.get()) this.#refreshWithRetries();
  }

  /** @internal Request everything again on a new connection. Changes of the time without one were not pushed. */
  onLive(): void {
    if (this.#counts.get()) this.#refreshWithRetries();
    this.#reloadFeeds();
  }

  /** @internal Reset after a restore from a backup, whose broadcast log may be shorter. */
  restored(): void {
    this.#announcedUpTo = 0;
    if (this.#counts.get())
      this.#counts.set(decodeStruct("InboxCounts", { inbox: this.name, version: 0, at: 0 }));
  }

  /** @internal */
  close(): void {
    clearTimeout(this.#timer);
  }

  /** The position in the broadcast log that answers must include, whichever process answers. */
  get #atLeast(): { at_least?: number } {
    const upTo = Math.max(this.#announcedUpTo, this.#counts.get()?.broadcasts_up_to ?? 0);
    return upTo ? { at_least: upTo } : {};
  }

  /** Mark notifications. An empty list sends nothing: the server takes `read` without ids as all. */
  async #markIds(to: MarkNotifications["to"], ids: readonly string[], marked: Marked): Promise<InboxCounts> {
    let counts = ids.length ? undefined : this.#counts.get();
    for (const part of partsOf(ids, MAX_IDS)) {
      counts = await this.#mark({ to, ids: part }, marked, ({ id }) => part.includes(id));
    }
    return counts ?? this.refresh();
  }

  /** Show marks at once, and undo them if the server refuses them. */
  async #mark(
    request: Omit<MarkNotifications, "inbox" | "at_least">,
    marked: Marked,
    isMarked: (each: Notification) => boolean,
  ): Promise<InboxCounts> {
    const before = [...this.#notifications.entries()].flatMap(([, each]) => (isMarked(each) ? [each] : []));
    this.#set(before.map((each) => ({ ...each, ...marked })));
    this.#marking++;
    const answer = this.#backend.request("mark", { inbox: this.name, ...request, ...this.#atLeast });
    this.#lastMarks = Promise.allSettled([this.#lastMarks, answer]);
    try {
      return this.#take(await answer);
    } catch (error) {
      this.#set(before);
      throw error;
    } finally {
      this.#marking--;
    }
  }

  #set(notifications: readonly Notification[]): void {
    batch(() => this.#change([], notifications, []));
  }

  #change(
    added: readonly Notification[],
    amended: readonly Notification[],
    removed: readonly string[],
  ): void {
    for (const each of amended) if (this.#notifications.get(each.id)) this.#notifications.set(each.id, each);
    for (const each of added) this.#notifications.set(each.id, each);
    for (const id of removed) this.#notifications.set(id, undefined);
    for (const feed of this.#feeds.values()) feed.onChanged(added.map(({ id }) => id));
  }

  /** Keep the counts unless newer ones are known. */
  #take(counts: InboxCounts): InboxCounts {
    const known = this.#counts.get();
    if (
      known &&
      (counts.version < known.version || (counts.version === known.version && counts.at < known.at))
    )
      return counts;
    this.#counts.set(counts);
    clearTimeout(this.#timer);
    if (counts.next_change_at !== undefined) {
      // A notification expires then. There is no push for it.
      const waitMs = Math.max(1_000, counts.next_change_at - counts.at + 100);
      this.#timer = setTimeout(() => this.onLive(), Math.min(waitMs, MAX_TIMER_MS));
    }
    return counts;
  }

  #reloadFeeds(): void {
    for (const feed of this.#feeds.values()) feed.reload();
  }

  async #refreshWithRetries(): Promise<void> {
    for (const waitMs of WAITS_MS) {
      try {
        return void (await this.refresh());
      } catch (error) {
        // Without an answer, the next connection requests them again.
        if (!(error instanceof TidingsError && error.body?.retryable)) return;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }
}
