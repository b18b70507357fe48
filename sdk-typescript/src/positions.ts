/**
 * The device's position in each chat, and gaps after it. Without I/O.
 *
 * A position moves over completely received ranges, never over a gap. Entries that are pushed after a gap are not kept,
 * only their highest sequence; the client reads the range from history. So memory does not grow while there is a gap.
 */
import { ascending, getOrCreate } from "./collections.ts";
import type { Entry } from "./frames.gen.ts";

interface ChatPosition {
  position: number | undefined;
  ahead: number;
  head: number;
}

export class Positions {
  readonly #chats = new Map<string, ChatPosition>();

  constructor(known: Iterable<readonly [string, number]> = []) {
    for (const [chat, position] of known) this.#of(chat).position = position;
  }

  /** Return the positions for `connect` and `resume`. */
  reported(): Map<string, number> {
    const known = new Map<string, number>();
    for (const [chat, { position }] of this.#chats) if (position !== undefined) known.set(chat, position);
    return known;
  }

  of(chat: string): number | undefined {
    return this.#chats.get(chat)?.position;
  }

  /**
   * Return the highest committed sequence that this process has seen, the `after` of a new message.
   *
   * It may be above the position: a new key is not in the log yet, so it is not below the head either. The stored
   * position is not used instead. It may be old, and from before a membership that ended and began again.
   */
  head(chat: string): number | undefined {
    return this.#chats.get(chat)?.head || undefined;
  }

  /** Forget the head after a refused send. The next send reads it again: the membership may have changed. */
  doubt(chat: string): void {
    this.#of(chat).head = 0;
  }

  /** Raise the head by an answer or a row. The position stays: the device does not have the entry yet. */
  committed(chat: string, sequence: number): void {
    const state = this.#of(chat);
    state.head = Math.max(state.head, sequence);
  }

  /** Apply a complete range `(after, upTo]`. Return its new entries in order, or none if there is a gap before it. */
  take(chat: string, after: number, upTo: number, entries: readonly Entry[]): Entry[] {
    const state = this.#of(chat);
    state.head = Math.max(state.head, upTo);
    const position = state.position ?? after;
    state.position = position;
    if (after > position) {
      state.ahead = Math.max(state.ahead, upTo);
      return [];
    }
    state.position = Math.max(position, upTo);
    return ascending(entries.filter(({ sequence }) => sequence > position && sequence <= upTo));
  }

  /** Record that entries up to `upTo` exist which this tab did not receive. They are read from history. */
  missed(chat: string, upTo: number): void {
    const state = this.#of(chat);
    state.head = Math.max(state.head, upTo);
    state.ahead = Math.max(state.ahead, upTo);
  }

  /** Set the position of an unknown chat that was read by other means. Events start after it. */
  begin(chat: string, upTo: number): void {
    const state = this.#of(chat);
    state.head = Math.max(state.head, upTo);
    state.position ??= upTo;
  }

  isBehind(chat: string): boolean {
    const state = this.#chats.get(chat);
    return state?.position !== undefined && state.position < state.ahead;
  }

  behind(): string[] {
    return [...this.#chats.keys()].filter((chat) => this.isBehind(chat));
  }

  /** Stop filling a gap that history does not have. The next push tries again. */
  abandonGap(chat: string): void {
    this.#of(chat).ahead = 0;
  }

  /** Delete all positions, after the installation was restored. */
  clear(): void {
    this.#chats.clear();
  }

  #of(chat: string): ChatPosition {
    return getOrCreate(this.#chats, chat, () => ({ position: undefined, ahead: 0, head: 0 }));
  }
}
