/** Count what axe finds on the screens of the components. */

import AxeBuilder from "@axe-core/playwright";
import type { BrowserContextOptions } from "@playwright/test";
import type { PageOptions } from "../app/src/options.ts";
import { PARTS } from "../stack/parts.ts";
import { type BenchPages, isLive } from "./pages.ts";

const PHONE: BrowserContextOptions = { viewport: { width: 390, height: 780 }, hasTouch: true };
const SCREENS: [Partial<PageOptions>, BrowserContextOptions?][] = [
  [{}],
  [{ view: "inbox" }],
  [{ theme: "dark" }],
  [{ theme: "dark", view: "inbox" }],
  [{ locale: "ar" }],
  [{ locale: "ar", view: "inbox" }],
  [{}, PHONE],
  [{ view: "inbox" }, PHONE],
];

export async function countViolations(pages: BenchPages): Promise<number> {
  let found = 0;
  for (const [options, context] of SCREENS) {
    const user = pages.newUser();
    const chat = await pages.newGroup(user, pages.newUser());
    await pages.send(chat, user, "Hello");
    const device = await pages.device(user, { chat, ...options }, context);
    const tab = await device.newTab();
    await isLive(tab);
    if (options.view !== "inbox") await tab.locator(PARTS.message).first().waitFor();
    const { violations } = await new AxeBuilder({ page: tab }).analyze();
    for (const { id, nodes } of violations)
      console.error(
        id,
        JSON.stringify(options),
        nodes.map(({ html }) => html),
      );
    found += violations.length;
    await device.context.close();
  }
  return found;
}
