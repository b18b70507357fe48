/** A token bucket that keeps the client below the rate limit of the server. Without I/O. */

/** The share of the limit that requests use. The rest is for heartbeats and clock differences. */
const SHARE = 0.8;

export class TokenBucket {
  readonly #perMs: number;
  readonly #most: number;
  #left: number;
  #at: number;

  constructor(framesPerS: number, burst: number, now: number) {
    this.#perMs = Math.max(framesPerS * SHARE, 0.1) / 1000;
    this.#most = this.#left = Math.max(burst * SHARE, 1);
    this.#at = now;
  }

  /** Take a token and return 0. If there is none, take nothing and return the milliseconds until the next one. */
  take(now: number): number {
    this.#left = Math.min(this.#most, this.#left + (now - this.#at) * this.#perMs);
    this.#at = now;
    if (this.#left >= 1) {
      this.#left -= 1;
      return 0;
    }
    return (1 - this.#left) / this.#perMs;
  }
}
