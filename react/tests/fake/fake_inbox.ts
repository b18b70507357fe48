import type {
  FeedRange,
  InboxCounts,
  InboxPreferences,
  Notification,
  PreferenceChanges,
  TidingsError,
} from "@tidings/client";
import { ObservableValue } from "../../src/observable_value.ts";

const PAGE = 20;

export function notification(fields: Partial<Notification> & { id: string }): Notification {
  const at = fields.at ?? Date.now();
  return {
    at,
    delivered_at: at,
    message: { title: `Notification ${fields.id}` },
    is_read: false,
    is_seen: false,
    is_archived: false,
    version: 1,
    digest_count: 1,
    ...fields,
  };
}

/** Return preferences with the built-in channels. Values: whether the category is critical. */
export function preferencesOf(categories: Record<string, boolean>): InboxPreferences {
  const channels = { inbox: true, push: true, email: false, webhook: true };
  return {
    inbox: "default",
    channels,
    chosen: {},
    categories: Object.entries(categories).map(([name, is_critical]) => ({
      name,
      channels,
      chosen: {},
      is_critical,
    })),
  };
}

interface Filter {
  category?: string;
  is_unread?: boolean;
  is_archived?: boolean;
}

/** An inbox in memory. Marks are applied at once. */
export class FakeInbox {
  readonly name: string;
  readonly counts = new ObservableValue<InboxCounts | undefined>(undefined);
  readonly calls: unknown[][] = [];
  /** The next action fails with this error. */
  nextError: TidingsError | undefined;
  all: Notification[] = [];
  /** The stored preferences. A test replaces them. */
  chosen: InboxPreferences = preferencesOf({ news: false, security: true });
  private readonly feeds = new Map<string, FakeFeed>();
  private version = 0;

  constructor(name: string) {
    this.name = name;
  }

  /** Replace the notifications, newest first. */
  show(notifications: readonly Notification[]): void {
    this.all = [...notifications];
    this.update();
  }

  /** Deliver a notification. */
  add(added: Notification): void {
    this.all = [added, ...this.all];
    this.update();
  }

  feed(filter: Filter = {}): FakeFeed {
    const name = JSON.stringify(filter);
    let feed = this.feeds.get(name);
    if (!feed) {
      feed = new FakeFeed(this, filter);
      this.feeds.set(name, feed);
      feed.update();
    }
    return feed;
  }

  markRead(ids: readonly string[]): Promise<InboxCounts> {
    return this.mark("markRead", ids, { is_read: true });
  }

  markUnread(ids: readonly string[]): Promise<InboxCounts> {
    return this.mark("markUnread", ids, { is_read: false });
  }

  markAllRead(options: { before?: number; category?: string } = {}): Promise<InboxCounts> {
    this.calls.push(["markAllRead", options]);
    const matches = this.all.filter(({ category }) => !options.category || category === options.category);
    return this.mark(
      "",
      matches.map(({ id }) => id),
      { is_read: true },
    );
  }

  archive(ids: readonly string[]): Promise<InboxCounts> {
    return this.mark("archive", ids, { is_archived: true });
  }

  restore(ids: readonly string[]): Promise<InboxCounts> {
    return this.mark("restore", ids, { is_archived: false });
  }

  markSeen(): Promise<InboxCounts> {
    return this.mark(
      "markSeen",
      this.all.map(({ id }) => id),
      { is_seen: true },
    );
  }

  async preferences(): Promise<InboxPreferences> {
    this.fail();
    return this.chosen;
  }

  async changePreferences(changes: PreferenceChanges): Promise<InboxPreferences> {
    this.calls.push(["changePreferences", changes]);
    await Promise.resolve();
    this.fail();
    const general = changes.channels as Record<string, boolean> | undefined;
    this.chosen = {
      ...this.chosen,
      channels: { ...this.chosen.channels, ...general },
      categories: this.chosen.categories.map((each) => ({
        ...each,
        channels: {
          ...each.channels,
          ...(each.is_critical ? {} : general),
          ...(changes.categories?.[each.name] as Record<string, boolean> | undefined),
        },
      })),
    };
    return this.chosen;
  }

  private fail(): void {
    const error = this.nextError;
    this.nextError = undefined;
    if (error) throw error;
  }

  async refresh(): Promise<InboxCounts> {
    this.calls.push(["refresh"]);
    if (!this.counts.get()) this.update();
    return this.counts.get() as InboxCounts;
  }

  private async mark(
    name: string,
    ids: readonly string[],
    fields: Partial<Notification>,
  ): Promise<InboxCounts> {
    if (name) this.calls.push([name, ids]);
    this.fail();
    this.all = this.all.map((one) => (ids.includes(one.id) ? { ...one, ...fields } : one));
    this.update();
    return this.counts.get() as InboxCounts;
  }

  private update(): void {
    const unread = this.all.filter((one) => !one.is_read && !one.is_archived);
    const categories: Record<string, number> = {};
    for (const { category } of unread) {
      if (category) categories[category] = (categories[category] ?? 0) + 1;
    }
    this.version += 1;
    this.counts.set({
      inbox: this.name,
      version: this.version,
      at: Date.now(),
      unread: unread.length,
      unseen: unread.filter((one) => !one.is_seen).length,
      categories,
      broadcasts_up_to: 0,
    });
    for (const feed of this.feeds.values()) feed.update();
  }
}

export class FakeFeed {
  readonly ids = new ObservableValue<readonly string[]>([]);
  readonly range = new ObservableValue<FeedRange>({
    isLoaded: false,
    hasMore: false,
    isLoading: false,
  });
  opens = 0;
  /** Stay in the loading state, for the preview. */
  isFrozen = false;
  private limit = PAGE;
  private readonly inbox: FakeInbox;
  private readonly filter: Filter;
  private readonly notifications = new Map<string, ObservableValue<Notification | undefined>>();

  constructor(inbox: FakeInbox, filter: Filter) {
    this.inbox = inbox;
    this.filter = filter;
  }

  notification(id: string): ObservableValue<Notification | undefined> {
    let value = this.notifications.get(id);
    if (!value) {
      value = new ObservableValue<Notification | undefined>(undefined);
      this.notifications.set(id, value);
    }
    return value;
  }

  open(): () => void {
    this.opens += 1;
    this.update();
    return () => {
      this.opens -= 1;
    };
  }

  async loadMore(): Promise<void> {
    this.limit += PAGE;
    this.range.set({ isLoaded: true, hasMore: false, isLoading: false });
    this.update();
  }

  fail(error: TidingsError): void {
    this.isFrozen = true;
    this.range.set({ isLoaded: false, hasMore: false, isLoading: false, error });
  }

  update(): void {
    if (this.isFrozen) return;
    const { category, is_unread, is_archived = false } = this.filter;
    const matches = this.inbox.all.filter(
      (one) =>
        one.is_archived === is_archived &&
        (!is_unread || !one.is_read) &&
        (category === undefined || one.category === category),
    );
    for (const one of matches) {
      const value = this.notification(one.id);
      if (value.get() !== one) value.set(one);
    }
    const ids = matches.slice(0, this.limit).map(({ id }) => id);
    if (ids.join() !== this.ids.get().join()) this.ids.set(ids);
    this.range.set({ isLoaded: true, hasMore: matches.length > this.limit, isLoading: false });
  }
}
