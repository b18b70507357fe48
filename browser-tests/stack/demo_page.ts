/** The demo page of `tidings dev` in a browser. */

import { expect, type Locator, type Page } from "@playwright/test";
import { PARTS, type PartName } from "./parts.ts";

export class DemoPage {
  readonly page: Page;

  constructor(page: Page) {
    this.page = page;
  }

  /** The half of the page that shows what a user sees. */
  half(user: string): Locator {
    return this.page.locator(`.person[data-user="${user}"]`);
  }

  part(user: string, name: PartName): Locator {
    return this.half(user).locator(PARTS[name]);
  }

  message(user: string, text: string): Locator {
    return this.part(user, "message").filter({ hasText: text });
  }

  async write(user: string, text: string): Promise<void> {
    const composer = this.part(user, "composer");
    await composer.fill(text);
    await composer.press("Enter");
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  /** A row of the table that counts the messages. */
  count(name: string): Locator {
    return this.page.getByRole("row", { name: new RegExp(`^${name}`) }).getByRole("cell");
  }

  async isConnected(...users: string[]): Promise<void> {
    for (const user of users) await expect(this.half(user).locator(".connection")).toHaveText("Connected");
  }
}
