/** A part of an inbox that a UI shows: the notifications that match a filter, newest first. */
import { once } from "./backend.ts";
import { asTidingsError } from "./errors.ts";
import type { ListNotifications, Notification, NotificationPage } from "./frames.gen.ts";
import { Cell, type KeyedCells } from "./observable.ts";
import type { FeedFilter, FeedRange, Observable } from "./types.ts";

const PAGE = 20;
const MAX_PAGE = 50;

interface NotificationSource {
  list(request: Omit<ListNotifications, "inbox" | "at_least">): Promise<NotificationPage>;
}

/** A list of notifications. Get it with `inbox.feed(filter)`. Loads do not reject: `range` has their error. */
export class Feed {
  readonly #source: NotificationSource;
  readonly #notifications: KeyedCells<Notification>;
  readonly #filter: FeedFilter;
  readonly #ids = new Cell<readonly string[]>([]);
  readonly #range = new Cell<FeedRange>({ isLoaded: false, hasMore: false, isLoading: false });
  /** The ids that were loaded or pushed, also those that do not match any more. */
  #loaded = new Set<string>();
  #cursor: string | undefined;
  #openCount = 0;
  #isStale = true;
  #reading: Promise<void> | undefined;

  /** @internal */
  constructor(source: NotificationSource, notifications: KeyedCells<Notification>, filter: FeedFilter) {
    this.#source = source;
    this.#notifications = notifications;
    this.#filter = filter;
  }

  /** The ids of the loaded notifications, newest first. */
  get ids(): Observable<readonly string[]> {
    return this.#ids;
  }

  /** Whether the feed is loaded, and the error of the last load. */
  get range(): Observable<FeedRange> {
    return this.#range;
  }

  /** Return a notification. A change of it notifies only its own subscribers. */
  notification(id: string): Observable<Notification | undefined> {
    return this.#notifications.at(id);
  }

  /** Load the feed, and follow changes until the returned function is called. */
  open(): () => void {
    this.#openCount++;
    if (this.#isStale) this.reload();
    return once(() => void this.#openCount--);
  }

  /** Load older notifications, or the first ones again if they could not be loaded. */
  async loadMore(): Promise<void> {
    await this.#reading?.catch(() => undefined);
    const { isLoaded, hasMore } = this.#range.get();
    if (hasMore || !isLoaded) await this.#read(!isLoaded);
  }

  /** @internal Read the feed again as far as it was loaded: now if it is open, otherwise when it is opened. */
  reload(): void {
    this.#isStale = true;
    if (this.#openCount && !this.#reading) void this.#read(true);
  }

  /** @internal Show changes of notifications. Those in `added` are newer than the loaded ones. */
  onChanged(added: readonly string[]): void {
    for (const id of added) if (this.#cursor === undefined || id > this.#cursor) this.#loaded.add(id);
    // Race: the page that is being read may have been answered before this change. Read it again.
    if (this.#reading) this.#isStale = true;
    this.#publish();
  }

  async #read(isReload: boolean): Promise<void> {
    this.#range.set({ ...this.#range.get(), isLoading: true, error: undefined });
    this.#reading = this.#readPages(isReload);
    try {
      await this.#reading;
      this.#range.set({ isLoaded: true, hasMore: this.#cursor !== undefined, isLoading: false });
    } catch (error) {
      this.#isStale ||= isReload;
      this.#range.set({ ...this.#range.get(), isLoading: false, error: asTidingsError(error) });
      return;
    } finally {
      this.#reading = undefined;
    }
    if (this.#isStale && this.#openCount) await this.#read(true);
  }

  /** Read the feed again as far as it was loaded, or the next page. A page may be empty although another follows. */
  async #readPages(isReload: boolean): Promise<void> {
    const wanted = isReload ? Math.max(PAGE, this.#loaded.size) : 1;
    const found: Notification[] = [];
    let cursor = isReload ? undefined : this.#cursor;
    if (isReload) this.#isStale = false;
    do {
      const limit = Math.min(MAX_PAGE, Math.max(PAGE, wanted - found.length));
      const page = await this.#source.list({
        ...this.#filter,
        limit,
        cursor,
      });
      found.push(...page.notifications);
      cursor = page.cursor;
    } while (cursor !== undefined && found.length < wanted);
    this.#cursor = cursor;
    if (isReload) this.#loaded = new Set();
    for (const each of found) {
      this.#loaded.add(each.id);
      if (!this.#isStale || !this.#notifications.get(each.id)) this.#notifications.set(each.id, each);
    }
    this.#publish();
  }

  #publish(): void {
    const { category, is_unread, is_archived } = this.#filter;
    const ids = [...this.#loaded].filter((id) => {
      const each = this.#notifications.get(id);
      return (
        each &&
        each.is_archived === is_archived &&
        !(is_unread && each.is_read) &&
        (category === undefined || each.category === category)
      );
    });
    ids.sort((a, b) => (a < b ? 1 : -1));
    if (ids.join() !== this.#ids.get().join()) this.#ids.set(ids);
  }
}
