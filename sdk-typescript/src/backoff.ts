/** Compute the wait before the next try. Time and randomness are arguments. */

export const FIRST_MS = 1_000;
export const LONGEST_MS = 30_000;
/** After a connection that was live this long, the next failure counts as the first. */
const CALM_MS = 60_000;

/** Exponential backoff with full jitter, because all clients of a server lose it at the same time. */
export class Backoff {
  readonly #chance: () => number;
  readonly #firstMs: number;
  readonly #longestMs: number;
  #boundMs: number;
  #liveSince = Infinity;

  /** `chance` returns random numbers from 0 to 1. */
  constructor(chance: () => number = Math.random, firstMs = FIRST_MS, longestMs = LONGEST_MS) {
    this.#chance = chance;
    this.#firstMs = this.#boundMs = firstMs;
    this.#longestMs = longestMs;
  }

  isLive(now: number): void {
    this.#liveSince = now;
  }

  /**
   * Return the wait. A delay from the server is used as it is, because the server has spread it already.
   *
   * Without one, the wait is random below a bound that doubles with each failure.
   */
  waitMs(now: number, retryAfterMs?: number): number {
    if (now - this.#liveSince >= CALM_MS) this.#boundMs = this.#firstMs;
    this.#liveSince = Infinity;
    const boundMs = this.#boundMs;
    this.#boundMs = Math.min(2 * boundMs, this.#longestMs);
    return retryAfterMs ?? boundMs * this.#chance();
  }
}
