import type { Observable } from "@tidings/client";
import { useSyncExternalStore } from "react";

const MINUTE_MS = 60_000;

/** The time, once a minute. One timer serves all components, and stops when none is mounted. */
class MinuteClock implements Observable<number> {
  private now = Date.now();
  private timer: ReturnType<typeof setInterval> | undefined;
  private readonly listeners = new Set<() => void>();

  get(): number {
    return this.now;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    this.timer ??= setInterval(() => this.tick(), MINUTE_MS);
    // The clock had no listeners and was not updated.
    if (Date.now() - this.now > MINUTE_MS) this.tick();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      clearInterval(this.timer);
      this.timer = undefined;
    };
  }

  private tick(): void {
    this.now = Date.now();
    for (const listener of [...this.listeners]) listener();
  }
}

const clock = new MinuteClock();
const subscribe = (listener: () => void) => clock.subscribe(listener);

/** Return a text that depends on the current time. Renders again when the text changes, checked once a minute. */
export function useTimeText(format: (now: number) => string): string {
  const get = () => format(clock.get());
  return useSyncExternalStore(subscribe, get, get);
}
