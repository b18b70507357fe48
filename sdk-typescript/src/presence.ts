/** The presence of users. */
import { type Backend, once } from "./backend.ts";
import { KeyedCells } from "./observable.ts";
import type { Observable, Presence } from "./types.ts";
import { validate } from "./validate.ts";

/** The presence of watched users. Get it with `client.presence`. */
export class PresenceMap {
  readonly #backend: Backend;
  readonly #users = new KeyedCells<Presence>();

  /** @internal */
  constructor(backend: Backend) {
    this.#backend = backend;
  }

  /** The presence of a watched user. Undefined: not received yet, or there is no connection. */
  of(user: string): Observable<Presence | undefined> {
    return this.#users.at(user);
  }

  /** Subscribe to the presence of users, now and after each reconnect. Returns a function that ends it. */
  watch(users: readonly string[]): () => void {
    validate({ users });
    const names = users.map((user) => `users ${user}`);
    this.#backend.watch(names, 1);
    return once(() => {
      for (const name of this.#backend.watch(names, -1))
        this.#users.set(name.slice("users ".length), undefined);
    });
  }

  /** Set the user's presence on this device, now and after each reconnect. The default is `online`. */
  set(status: "online" | "away"): void {
    this.#backend.setPresence(status);
  }

  /** @internal */
  apply(presence: Presence): void {
    this.#users.set(presence.user, presence);
  }

  /** @internal Forget all: without a connection, nothing is known. */
  clear(): void {
    this.#users.clear();
  }
}
