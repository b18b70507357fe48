import type { BrowserContext, BrowserContextOptions, Page } from "@playwright/test";
import { test as base, expect, expectAccessible } from "./fixtures.ts";

const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
};
export const LOOKS = { phone: PHONE, dark: { colorScheme: "dark" as const } };

/** The full gate looks at each page in one of the two looks only. */
export const tagOf = (look: string): string[] => (look === "dark" ? ["@slow"] : []);
export const REASON = "Ticket 4711: a message is missing";

export { expect };

type Prepare = (context: BrowserContext) => Promise<void>;

export const test = base.extend<{
  /** Open an address of the console in a context of its own, and wait until the operator is signed in. */
  openSignedIn: (url: string, options: BrowserContextOptions, prepare?: Prepare) => Promise<Page>;
  openConsole: (path?: string, options?: BrowserContextOptions) => Promise<Page>;
  /** Open the console as an operator with this role for the tenant `dev`, or for all tenants with `*`. */
  openAs: (role: string, path?: string, tenants?: string) => Promise<Page>;
}>({
  openSignedIn: async ({ browser }, use) => {
    const contexts: BrowserContext[] = [];
    await use(async (url, options, prepare) => {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
      contexts.push(context);
      await prepare?.(context);
      const page = await context.newPage();
      await page.goto(url);
      await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();
      return page;
    });
    for (const context of contexts) await context.close();
  },
  openConsole: async ({ openSignedIn, installation }, use) => {
    await use((path = "/", options = {}) => {
      const { console: address, console_key: key } = installation.client;
      return openSignedIn(`${new URL(path, address).href}#key=${encodeURIComponent(key)}`, options);
    });
  },
  openAs: async ({ openSignedIn, installation }, use) => {
    await use((role, path = "/", tenants = "dev") => {
      const { console: url } = installation.client;
      return openSignedIn(new URL(path, url).href, {}, async (context) => {
        const value = installation.beginSession(role, tenants);
        await context.addCookies([{ name: "tidings_console", value, url }]);
      });
    });
  },
});

/** Expect that axe finds nothing and that the page is not wider than the screen. */
export async function expectUsable(page: Page): Promise<void> {
  await expectAccessible(page);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  expect(overflow).toBeLessThanOrEqual(0);
}

export async function giveReason(page: Page, action: string): Promise<void> {
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: action })).toBeDisabled();
  await dialog.getByLabel("Reason").fill(REASON);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: action }).click();
}
