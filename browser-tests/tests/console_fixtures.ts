import type { BrowserContextOptions, Page } from "@playwright/test";
import { test as base, expect, expectAccessible } from "./fixtures.ts";

const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  hasTouch: true,
  isMobile: true,
};
export const LOOKS = { phone: PHONE, dark: { colorScheme: "dark" as const } };
export const REASON = "Ticket 4711: a message is missing";

export { expect };

export const test = base.extend<{
  openConsole: (path?: string, options?: BrowserContextOptions) => Promise<Page>;
  /** Open the console as an operator with this role for the tenant `dev`, or for all tenants with `*`. */
  openAs: (role: string, path?: string, tenants?: string) => Promise<Page>;
}>({
  openConsole: async ({ browser, installation }, use) => {
    const contexts: { close(): Promise<void> }[] = [];
    await use(async (path = "/", options = {}) => {
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
      contexts.push(context);
      const page = await context.newPage();
      const { console: address, console_key: key } = installation.client;
      await page.goto(`${new URL(path, address).href}#key=${encodeURIComponent(key)}`);
      await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();
      return page;
    });
    for (const context of contexts) await context.close();
  },
  openAs: async ({ browser, installation }, use) => {
    const contexts: { close(): Promise<void> }[] = [];
    await use(async (role, path = "/", tenants = "dev") => {
      const { console: address } = installation.client;
      const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
      contexts.push(context);
      const value = installation.beginSession(role, tenants);
      await context.addCookies([{ name: "tidings_console", value, url: address }]);
      const page = await context.newPage();
      await page.goto(new URL(path, address).href);
      await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();
      return page;
    });
    for (const context of contexts) await context.close();
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
