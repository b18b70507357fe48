import type { Entry, TidingsError, TimelineItem, TimelineRange } from "@tidings/client";
import { ObservableValue } from "../../src/observable_value.ts";

const PAGE = 50;

export function messageItem(fields: Partial<TimelineItem> & { key: string }): TimelineItem {
  return {
    kind: "message",
    by: "ben",
    at: Date.UTC(2026, 10, 16, 14, 0),
    isOwn: false,
    state: "active",
    text: `Message ${fields.key}`,
    mentions: [],
    attachments: [],
    reactions: [],
    delivery: "committed",
    ...fields,
  };
}

/** A timeline over a log in memory. Loading takes `delayMs`. */
export class FakeTimeline {
  readonly keys = new ObservableValue<readonly string[]>([]);
  readonly range = new ObservableValue<TimelineRange>({
    isLoaded: false,
    hasOlder: false,
    hasNewer: false,
    isLoading: false,
  });
  readonly calls: string[] = [];
  /** The whole log, oldest first. Its item at index n has the sequence n + 1. */
  log: readonly TimelineItem[] = [];
  nextError: TidingsError | undefined;
  delayMs = 5;
  private readonly items = new Map<string, ObservableValue<TimelineItem | undefined>>();
  private from = 0;
  private to = 0;
  private outbox: string[] = [];

  /** Show the last `count` items of a log, as if they had been loaded. */
  open(log: readonly TimelineItem[], count = log.length): void {
    this.log = log.map((item, index) => ({ ...item, sequence: index + 1 }));
    this.show(log.length - count, log.length);
  }

  item(key: string): ObservableValue<TimelineItem | undefined> {
    let value = this.items.get(key);
    if (!value) {
      value = new ObservableValue<TimelineItem | undefined>(undefined);
      this.items.set(key, value);
    }
    return value;
  }

  /** Add a committed item at the end of the log. */
  append(item: TimelineItem): void {
    this.log = [...this.log, { ...item, sequence: this.log.length + 1 }];
    if (this.to === this.log.length - 1) this.show(this.from, this.log.length);
    else this.setRange({});
  }

  /** Change fields of an item. */
  change(key: string, fields: Partial<TimelineItem>): void {
    const value = this.item(key);
    const item = value.get();
    if (!item) return;
    value.set({ ...item, ...fields });
    this.log = this.log.map((old) => (old.key === key ? { ...old, ...fields } : old));
  }

  queue(item: TimelineItem): void {
    this.item(item.key).set(item);
    this.outbox = [...this.outbox, item.key];
    this.updateKeys();
  }

  /** Commit an item of the outbox. It keeps its key. */
  commit(key: string): void {
    const item = this.item(key).get();
    if (!item) return;
    this.outbox = this.outbox.filter((queued) => queued !== key);
    this.append({ ...item, delivery: "committed" });
  }

  keyOf(sequence: number): string | undefined {
    const isShown = sequence > this.from && sequence <= this.to;
    return isShown ? this.log[sequence - 1]?.key : undefined;
  }

  loadOlder(limit = PAGE): Promise<void> {
    return this.load("loadOlder", () => this.show(Math.max(0, this.from - limit), this.to));
  }

  loadNewer(limit = PAGE): Promise<void> {
    return this.load("loadNewer", () => this.show(this.from, Math.min(this.log.length, this.to + limit)));
  }

  loadAround(sequence: number): Promise<void> {
    const from = Math.max(0, sequence - PAGE / 2);
    return this.load("loadAround", () => this.show(from, Math.min(this.log.length, from + PAGE)));
  }

  loadNewest(): Promise<void> {
    const { isLoaded, hasNewer } = this.range.get();
    if (isLoaded && !hasNewer) return Promise.resolve();
    return this.load("loadNewest", () => this.show(Math.max(0, this.log.length - PAGE), this.log.length));
  }

  retry(key: string): void {
    this.calls.push(`retry ${key}`);
    this.change(key, { delivery: "pending" });
  }

  discard(key: string): void {
    this.calls.push(`discard ${key}`);
    this.outbox = this.outbox.filter((queued) => queued !== key);
    this.updateKeys();
  }

  private async load(name: string, apply: () => void): Promise<void> {
    this.calls.push(name);
    this.setRange({ isLoading: true });
    await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    const error = this.nextError;
    this.nextError = undefined;
    if (error) {
      this.setRange({ isLoading: false, error });
      throw error;
    }
    apply();
  }

  private show(from: number, to: number): void {
    this.from = from;
    this.to = to;
    for (const item of this.log.slice(from, to)) {
      const value = this.item(item.key);
      if (value.get()?.sequence === undefined) value.set(item);
    }
    this.updateKeys();
    this.range.set({
      isLoaded: true,
      isLoading: false,
      hasOlder: from > 0,
      hasNewer: to < this.log.length,
    });
  }

  private setRange(fields: Partial<TimelineRange>): void {
    this.range.set({ ...this.range.get(), hasNewer: this.to < this.log.length, ...fields });
  }

  private updateKeys(): void {
    // Like the client: while an older part is shown, the outbox is not.
    const queued = this.to < this.log.length ? [] : this.outbox;
    this.keys.set([...this.log.slice(this.from, this.to).map((item) => item.key), ...queued]);
  }
}

export function entryOf(fields: Partial<Entry>): Entry {
  return fields as Entry;
}
