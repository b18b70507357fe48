/** Fixtures of the tests: the installation, the server of the tenant, and devices in browser contexts of their own. */

import AxeBuilder from "@axe-core/playwright";
import {
  type BrowserContext,
  type BrowserContextOptions,
  test as base,
  expect,
  type Page,
} from "@playwright/test";
import { ServerClient, TokenSigner } from "@tidings/server";
import { fragmentOf, type PageOptions } from "../app/src/options.ts";
import { Installation } from "../stack/installation.ts";
import { NetworkLink } from "../stack/network.ts";
import { chatRow, PARTS, type PartName } from "../stack/parts.ts";

export { expect };

const PICTURES = new URL("../../docs/pictures/web/", import.meta.url).pathname;

export interface OpenOptions extends Partial<Omit<PageOptions, "url" | "token" | "user">> {
  context?: BrowserContextOptions;
}

/** A browser context with its own store, which is a device of one user. */
export class Device {
  readonly user: string;
  readonly context: BrowserContext;
  readonly link: NetworkLink;
  readonly #address: string;
  #chat = "";
  page!: Page;

  constructor(user: string, context: BrowserContext, link: NetworkLink, address: string) {
    this.user = user;
    this.context = context;
    this.link = link;
    this.#address = address;
  }

  /** Open another tab of the same device. */
  async newTab(): Promise<Page> {
    const page = await this.context.newPage();
    await page.goto(this.#address);
    return page;
  }

  part(name: PartName, page = this.page) {
    return page.locator(PARTS[name]);
  }

  message(text: string, page = this.page) {
    return this.part("message", page).filter({ hasText: text });
  }

  async openChat(chat: string, page = this.page): Promise<void> {
    this.#chat = chat;
    await page.locator(chatRow(chat)).click();
  }

  async write(text: string, page = this.page): Promise<void> {
    const composer = this.part("composer", page);
    await composer.fill(text);
    await composer.press("Enter");
  }

  /** Press keys one after the other, where the focus is. */
  async press(...keys: string[]): Promise<void> {
    for (const key of keys) await this.page.keyboard.press(key);
  }

  /** The texts of the messages in the timeline of the chat that was opened last, in their order. */
  async texts(page = this.page): Promise<string[]> {
    return page.evaluate((chat) => {
      const { timeline } = window.tidings.chat(chat);
      const items = timeline.keys.get().map((key) => timeline.item(key).get());
      return items.filter((item) => item?.kind === "message").map((item) => item?.text ?? "");
    }, this.#chat);
  }

  async isLive(page = this.page): Promise<void> {
    await page.waitForFunction(() => window.tidings.connection.get().state === "live");
  }

  async goOffline(): Promise<void> {
    this.link.cut();
    await this.context.setOffline(true);
  }

  async goOnline(): Promise<void> {
    this.link.restore();
    await this.context.setOffline(false);
  }
}

export interface Fixtures {
  installation: Installation;
  server: ServerClient;
  /** A name that no other test uses. */
  unique: (name: string) => string;
  open: (user: string, options?: OpenOptions) => Promise<Device>;
  createGroup: (name: string, members: string[]) => Promise<string>;
  createDirect: (one: string, other: string) => Promise<string>;
}

let opened = 0;

export const test = base.extend<Fixtures>({
  installation: async ({}, use) => {
    await use(Installation.at(JSON.parse(process.env.TIDINGS_WEB_INSTALLATION ?? "{}")));
  },
  server: async ({ installation }, use) => {
    const { api, server_key } = installation.client;
    await use(new ServerClient({ url: api, apiKey: server_key }));
  },
  unique: async ({}, use) => {
    const mark = `${Date.now().toString(36)}${opened++}`;
    await use((name) => `${name}-${mark}`);
  },
  open: async ({ browser, installation }, use) => {
    const devices: Device[] = [];
    const signer = new TokenSigner({ tenant: installation.client.tenant, key: installation.signingKey });
    await use(async (user, { context: given, ...options } = {}) => {
      const link = await NetworkLink.to(installation.client.gateway);
      const context = await browser.newContext(given);
      const page = { url: link.url, token: signer.sign(user, { lifetimeS: 3600 }), user, ...options };
      const device = new Device(user, context, link, `${process.env.TIDINGS_WEB_PAGE}/${fragmentOf(page)}`);
      devices.push(device);
      device.page = await device.newTab();
      return device;
    });
    for (const { context, link } of devices) {
      await context.close();
      await link.close();
    }
  },
  createGroup: async ({ server }, use) => {
    await use(async (name, [owner = "", ...members]) => {
      const body = { type: "group" as const, name, members };
      return (await server.call("create_chat", { user: owner, body })).id;
    });
  },
  createDirect: async ({ server }, use) => {
    await use(async (user, other) => {
      const body = { type: "direct" as const, user: other };
      return (await server.call("create_chat", { user, body })).id;
    });
  },
});

/** Expect that axe finds no violation on the page. */
export async function expectAccessible(page: Page): Promise<void> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target).join("; ")}`);
  expect(found).toEqual([]);
}

/** Keep a picture of the page for the documentation, if `TIDINGS_WEB_PICTURES` is set. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (!process.env.TIDINGS_WEB_PICTURES) return;
  await page.screenshot({ path: `${PICTURES}${name}.png`, animations: "disabled" });
}
