import type { Locale, TextKey } from "./texts.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export type TextValues = Readonly<Record<string, string | number>>;

/** Return the number of the day of a time in the user's time zone. Consecutive days have consecutive numbers. */
export function dayOf(at: number): number {
  const date = new Date(at);
  return Math.floor(Date.UTC(date.getFullYear(), date.getMonth(), date.getDate()) / DAY_MS);
}

/** Texts, dates, numbers and lists in one language. */
export class LocaleFormat {
  readonly locale: Locale;
  private readonly plural: Intl.PluralRules;
  private readonly numbers: Intl.NumberFormat;
  private readonly lists: Intl.ListFormat;
  private readonly relativeTimes: Intl.RelativeTimeFormat;
  private readonly dates = new Map<string, Intl.DateTimeFormat>();

  constructor(locale: Locale) {
    this.locale = locale;
    this.plural = new Intl.PluralRules(locale.code);
    this.numbers = new Intl.NumberFormat(locale.code);
    this.lists = new Intl.ListFormat(locale.code, { type: "conjunction" });
    this.relativeTimes = new Intl.RelativeTimeFormat(locale.code, { numeric: "auto" });
  }

  /** Return a text with its values filled in. `values.count` chooses the plural form. */
  text(key: TextKey, values: TextValues = {}): string {
    const found = this.locale.texts[key];
    const count = typeof values.count === "number" ? values.count : 0;
    const template = typeof found === "string" ? found : (found[this.plural.select(count)] ?? found.other);
    return template.replace(/\{(\w+)\}/g, (hole, name: string) => {
      const value = values[name];
      return value === undefined ? hole : typeof value === "number" ? this.number(value) : value;
    });
  }

  number(value: number): string {
    return this.numbers.format(value);
  }

  /** Return a count for a badge: at most "99+". */
  badge(count: number): string {
    return count > 99 ? `${this.number(99)}+` : this.number(count);
  }

  /** Return a size of a file: "23 byte", "1.4 MB". */
  fileSize(bytes: number): string {
    const step = bytes < 1_000 ? 0 : Math.min(3, Math.floor(Math.log10(bytes) / 3));
    const unit = ["byte", "kilobyte", "megabyte", "gigabyte"][step] as string;
    const options = { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: step < 2 ? 0 : 1 };
    return new Intl.NumberFormat(this.locale.code, options as Intl.NumberFormatOptions).format(
      bytes / 1_000 ** step,
    );
  }

  /** Return the length of a recording: "0:07". */
  duration(ms: number): string {
    const seconds = Math.round(ms / 1_000);
    const rest = new Intl.NumberFormat(this.locale.code, { minimumIntegerDigits: 2 }).format(seconds % 60);
    return `${this.number(Math.floor(seconds / 60))}:${rest}`;
  }

  percent(share: number): string {
    return new Intl.NumberFormat(this.locale.code, { style: "percent" }).format(share);
  }

  list(items: readonly string[]): string {
    return this.lists.format(items);
  }

  time(at: number): string {
    return this.date("time", { hour: "numeric", minute: "2-digit" }).format(at);
  }

  /** Return date and time in full, for titles and screen readers. */
  full(at: number): string {
    return this.date("full", { dateStyle: "full", timeStyle: "short" }).format(at);
  }

  /** Return a day for a date separator: "Today", "Yesterday", "Monday, 3 November". */
  day(at: number, now: number): string {
    const days = dayOf(at) - dayOf(now);
    if (days === 0 || days === -1)
      return capitalize(this.relativeTimes.format(days, "day"), this.locale.code);
    const isThisYear = new Date(at).getFullYear() === new Date(now).getFullYear();
    return isThisYear
      ? this.date("day", { weekday: "long", day: "numeric", month: "long" }).format(at)
      : this.date("year", { day: "numeric", month: "long", year: "numeric" }).format(at);
  }

  /** Return a short time for a row: "14:05", "Yesterday", "Mon", "3 Nov". */
  short(at: number, now: number): string {
    const days = dayOf(now) - dayOf(at);
    if (days <= 0) return this.time(at);
    if (days === 1) return capitalize(this.relativeTimes.format(-1, "day"), this.locale.code);
    if (days < 7) return this.date("weekday", { weekday: "short" }).format(at);
    return this.date("short", { day: "numeric", month: "short" }).format(at);
  }

  /** Return a time relative to now: "now", "5 minutes ago", "yesterday". */
  relative(at: number, now: number): string {
    const age = Math.max(0, now - at);
    if (age < MINUTE_MS) return this.relativeTimes.format(0, "second");
    if (age < HOUR_MS) return this.relativeTimes.format(-Math.floor(age / MINUTE_MS), "minute");
    if (age < DAY_MS) return this.relativeTimes.format(-Math.floor(age / HOUR_MS), "hour");
    if (age < 7 * DAY_MS) return this.relativeTimes.format(dayOf(at) - dayOf(now), "day");
    return this.date("medium", { dateStyle: "medium" }).format(at);
  }

  private date(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
    let format = this.dates.get(name);
    if (!format) {
      format = new Intl.DateTimeFormat(this.locale.code, options);
      this.dates.set(name, format);
    }
    return format;
  }
}

function capitalize(text: string, code: string): string {
  return text.charAt(0).toLocaleUpperCase(code) + text.slice(1);
}
