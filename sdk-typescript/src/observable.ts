/** Values that UIs observe. Changes inside `batch` notify each listener once, at the end. */
import { getOrCreate } from "./collections.ts";
import type { Observable } from "./types.ts";

let depth = 0;
const changed = new Set<ListenerSet>();

/** Run `work`, and notify the listeners of all values that it changed when it ends. */
export function batch<T>(work: () => T): T {
  depth++;
  try {
    return work();
  } finally {
    depth--;
    notifyChanged();
  }
}

function notifyChanged(): void {
  while (!depth && changed.size) {
    const sets = [...changed];
    changed.clear();
    for (const set of sets) set.notify();
  }
}

/** Call a listener of the app. Its error must not stop the client, and is reported like an unhandled one. */
export function callListener<T>(listener: (value: T) => void, value: T): void {
  try {
    listener(value);
  } catch (error) {
    if (globalThis.reportError) globalThis.reportError(error);
    else console.error(error);
  }
}

class ListenerSet {
  readonly #listeners = new Set<() => void>();

  add(listener: () => void): () => void {
    // Two subscriptions of one function are two subscriptions.
    const own = () => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  change(): void {
    changed.add(this);
    notifyChanged();
  }

  notify(): void {
    for (const listener of [...this.#listeners]) callListener(listener, undefined);
  }
}

/** A value. `get` and `subscribe` are bound, for `useSyncExternalStore`. */
export class Cell<T> implements Observable<T> {
  readonly #listeners = new ListenerSet();
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  set(value: T): void {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    this.#listeners.change();
  }
}

/** A value that is computed when it is read after a change. */
export class LazyCell<T> implements Observable<T> {
  readonly #listeners = new ListenerSet();
  readonly #compute: () => T;
  #value: T | undefined;
  #isCurrent = false;

  constructor(compute: () => T) {
    this.#compute = compute;
  }

  readonly get = (): T => {
    if (!this.#isCurrent) {
      this.#value = this.#compute();
      this.#isCurrent = true;
    }
    return this.#value as T;
  };

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  invalidate(): void {
    this.#isCurrent = false;
    this.#listeners.change();
  }
}

/** Values by key. A change notifies only the listeners of its key. */
export class KeyedCells<T> {
  readonly #values = new Map<string, T>();
  readonly #cells = new Map<string, Cell<T | undefined>>();

  /** Return the observable of a key, always the same object. */
  at(key: string): Cell<T | undefined> {
    return getOrCreate(this.#cells, key, () => new Cell(this.#values.get(key)));
  }

  get(key: string): T | undefined {
    return this.#values.get(key);
  }

  set(key: string, value: T | undefined): void {
    if (value === undefined) this.#values.delete(key);
    else this.#values.set(key, value);
    this.#cells.get(key)?.set(value);
  }

  entries(): IterableIterator<[string, T]> {
    return this.#values.entries();
  }

  clear(): void {
    for (const key of [...this.#values.keys()]) this.set(key, undefined);
  }
}
