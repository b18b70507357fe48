/**
 * Distinguish entries from before the client's first sync from new ones. Without I/O.
 *
 * The first sync ends when the client is live and has read every entry of it. Positions are stored only from then on. A
 * client that ends earlier repeats its first sync, and does not report old messages as new.
 */
import type { EventOrigin } from "./types.ts";

export class FirstSync {
  isOver: boolean;
  #isLive: boolean;
  readonly #upTo = new Map<string, number>();

  constructor(isOver: boolean) {
    this.isOver = this.#isLive = isOver;
  }

  /** Record that entries up to `upTo` exist. Before the client is live, all of them are history. */
  saw(chat: string, upTo: number): void {
    if (!this.#isLive) this.#upTo.set(chat, Math.max(this.#upTo.get(chat) ?? 0, upTo));
  }

  onLive(): void {
    this.#isLive = true;
  }

  origin(chat: string, sequence: number, isConnected: boolean): EventOrigin {
    if (sequence <= (this.#upTo.get(chat) ?? 0)) return "history";
    return isConnected ? "live" : "missed";
  }

  /** End the first sync if it is complete. `isBehind`: the client still has to read entries from the log. */
  finish(isBehind: boolean): void {
    if (this.#isLive && !isBehind) this.isOver = true;
  }

  /** Start a new first sync, after the installation was restored. */
  restart(): void {
    this.isOver = this.#isLive = false;
    this.#upTo.clear();
  }
}
