/** Pages of users who exist for one measurement. */

import type { Browser, BrowserContext, BrowserContextOptions, Page } from "@playwright/test";
import { ServerClient, TokenSigner } from "@tidings/server";
import { fragmentOf, type PageOptions } from "../app/src/options.ts";
import type { Installation } from "../stack/installation.ts";
import { NetworkLink } from "../stack/network.ts";

export interface BenchDevice {
  user: string;
  context: BrowserContext;
  link: NetworkLink;
  address: string;
  newTab(): Promise<Page>;
}

export class BenchPages {
  readonly installation: Installation;
  readonly server: ServerClient;
  readonly #browser: Browser;
  readonly #app: string;
  readonly #signer: TokenSigner;
  readonly #links: NetworkLink[] = [];
  #users = 0;

  constructor(browser: Browser, app: string, installation: Installation) {
    const { api, server_key, tenant } = installation.client;
    this.installation = installation;
    this.server = new ServerClient({ url: api, apiKey: server_key });
    this.#browser = browser;
    this.#app = app;
    this.#signer = new TokenSigner({ tenant, key: installation.signingKey });
  }

  newUser(): string {
    return `bench-${this.#users++}`;
  }

  async newGroup(owner: string, ...members: string[]): Promise<string> {
    const body = { type: "group" as const, name: "Bench", members };
    return (await this.server.call("create_chat", { user: owner, body })).id;
  }

  /** Close the network links, which would keep this process alive. */
  async close(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.close()));
  }

  async send(chat: string, user: string, text: string): Promise<void> {
    await this.server.call("send_message", { path: { chat }, user, body: { text } });
  }

  async device(
    user: string,
    options: Partial<PageOptions> = {},
    given?: BrowserContextOptions,
  ): Promise<BenchDevice> {
    const link = await NetworkLink.to(this.installation.client.gateway);
    this.#links.push(link);
    const context = await this.#browser.newContext(given);
    const page = { url: link.url, token: this.#signer.sign(user), user, ...options };
    const address = `${this.#app}/${fragmentOf(page)}`;
    const newTab = async () => {
      const tab = await context.newPage();
      await tab.goto(address);
      return tab;
    };
    return { user, context, link, address, newTab };
  }
}

export async function isLive(page: Page): Promise<void> {
  await page.waitForFunction(() => window.tidings.connection.get().state === "live");
}

export function percentile(values: number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
