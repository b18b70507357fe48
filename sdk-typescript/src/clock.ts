/** The clock and the waits of a client. */

/** Return the time in milliseconds, for durations. */
export const now = (): number => performance.now();

/** Waits that end with the client: after `close` they never end, so a waiting loop stops there and is collected. */
export class Sleeper {
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  #isClosed = false;

  readonly sleep = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      if (this.#isClosed) return;
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        resolve();
      }, ms);
      this.#timers.add(timer);
    });

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
