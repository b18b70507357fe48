import type { Client } from "@tidings/client";

/**
 * Return a function that creates one object for each client, and returns the same one afterwards. It returns `undefined` for
 * a client without an address of the REST API (`api`).
 */
export function perClient<T>(create: (client: Client) => T): (client: Client) => T | undefined {
  const known = new WeakMap<Client, T>();
  return (client) => {
    if (!client.options?.api) return undefined;
    let found = known.get(client);
    if (!found) {
      found = create(client);
      known.set(client, found);
    }
    return found;
  };
}
