import type { Client } from "@tidings/client";

interface Lifetime {
  users: number;
  closing: ReturnType<typeof setTimeout> | undefined;
}

const lifetimes = new WeakMap<Client, Lifetime>();

/**
 * Start a client and keep it open until the returned function is called. Calls are counted.
 *
 * The last release closes the client in the next task. React StrictMode mounts every component, unmounts it and
 * mounts it again in one task: closing at once would open a second connection.
 */
export function keepOpen(client: Client): () => void {
  const lifetime = lifetimes.get(client) ?? { users: 0, closing: undefined };
  lifetimes.set(client, lifetime);
  lifetime.users += 1;
  if (lifetime.closing !== undefined) {
    clearTimeout(lifetime.closing);
    lifetime.closing = undefined;
  } else if (lifetime.users === 1) {
    client.start();
  }
  let isReleased = false;
  return () => {
    if (isReleased) return;
    isReleased = true;
    lifetime.users -= 1;
    if (lifetime.users > 0) return;
    lifetime.closing = setTimeout(() => {
      lifetime.closing = undefined;
      void client.close();
    });
  };
}
