/** The client of browsers: with IndexedDB, and with a connection that tabs share. */
import { type ClientOptions, LightClient } from "./light_client.ts";
import { IndexedDbStore } from "./stores/indexeddb.ts";
import { browserTabs, TabGroup } from "./tabs.ts";

/**
 * One device of one user. It reconnects automatically, and keeps its state in the store.
 *
 * @example
 * ```ts
 * const client = new Client({ url: "wss://chat.example.com/v1/socket", user: "anna", token: () => fetchToken() });
 * client.start();
 * client.on("message", ({ chat, entry }) => console.log(chat, entry.text));
 * await client.chat("d1").send("Hello!").outcome;
 * ```
 */
export class Client extends LightClient {
  constructor(options: ClientOptions) {
    const hasStore = typeof indexedDB !== "undefined";
    super(options, {
      newStore: (name) => (hasStore ? new IndexedDbStore(name) : undefined),
      // Node has locks and channels too. But clients without a common store must not share a connection.
      newTabGroup: (name, environment = hasStore ? browserTabs() : undefined, host) =>
        environment && new TabGroup(name, environment, host),
    });
  }
}
