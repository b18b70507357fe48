/** Search in a real browser, with a real index: filters, a jump to an old message, and changes that searches follow. */

import { DemoPage } from "../stack/demo_page.ts";
import type { Installation } from "../stack/installation.ts";
import { seedChat } from "../stack/seed.ts";
import { type Device, expect, expectAccessible, keepPicture, test } from "./fixtures.ts";

/** The API reads the settings of a tenant every 30 seconds, and the index follows the log within seconds. */
const INDEXED = { timeout: 60_000 };

/** Turn search on for the tenant, and wait until its past messages are indexed. */
function turnOn(installation: Installation): void {
  const { tenant } = installation.client;
  if (installation.tidings("search", "show", tenant).includes(": on")) return;
  installation.tidings("job", "watch", tenant, installation.tidings("search", "enable", tenant));
}

/** Search again until the results are as expected: the index is some seconds behind the log. */
async function finds(device: Device, text: string, count: number): Promise<void> {
  const field = device.page.getByRole("searchbox", { name: "Search messages" });
  await expect(async () => {
    await field.fill("");
    await field.fill(text);
    await expect(device.page.locator(".td-search .td-skeleton")).toHaveCount(0);
    await expect(device.part("found")).toHaveCount(count, { timeout: 2_000 });
  }).toPass(INDEXED);
}

test("a user finds a message, narrows the search, and opens it in its context", async ({
  open,
  unique,
  createGroup,
  installation,
}) => {
  test.setTimeout(240_000);
  turnOn(installation);
  const options = { api: installation.client.api };
  const [anna, ben] = [await open(unique("anna"), options), unique("ben")];
  const [chat, other] = [
    await createGroup("Long", [anna.user, ben]),
    await createGroup("Cake", [anna.user, ben]),
  ];
  await seedChat(installation, chat, ben, 400);
  await anna.openChat(other);
  const word = unique("Crème").replace("-", "");
  await anna.write(`${word} brûlée on Friday?`);
  await expect(anna.message(word)).toBeVisible();

  await anna.page.getByRole("button", { name: "Search messages" }).click();
  await finds(anna, word.replace("è", "e").slice(0, -1), 1);
  await expect(anna.part("found").locator("mark")).toHaveText(word);
  await finds(anna, "message 39", 11);
  await keepPicture(anna.page, "search");
  await expectAccessible(anna.page);

  await anna.page.getByRole("button", { name: "Filters" }).click();
  await anna.page.getByLabel("From").selectOption({ label: "You" });
  await expect(anna.page.getByText("No messages found")).toBeVisible();
  await anna.page.getByLabel("From").selectOption({ label: "Anyone" });
  await anna.page.getByLabel("First day").fill("2000-01-01");
  await anna.page.getByLabel("Last day").fill("2000-01-02");
  await expect(anna.page.getByText("No messages found")).toBeVisible();
  await anna.page.getByLabel("Last day").fill("2100-01-01");
  await anna.page.getByLabel("Chat", { exact: true }).selectOption({ label: "Long" });
  // The list is shorter under the filters, so the second page is loaded when the user scrolls.
  await finds(anna, "message 39", 10);
  await anna.part("found").last().scrollIntoViewIfNeeded();
  await expect(anna.part("found")).toHaveCount(11);

  await anna
    .part("found")
    .filter({ hasText: /message 39$/ })
    .click();
  const found = anna.part("message").filter({ hasText: /message 39$/ });
  await expect(found).toBeInViewport();
  await expect(anna.part("message").filter({ hasText: /message 40$/ })).toBeInViewport();
  await keepPicture(anna.page, "search-found");
});

test("in a phone, a result replaces the search, and redacted and edited words are not found", async ({
  open,
  unique,
  createGroup,
  installation,
}) => {
  test.setTimeout(240_000);
  turnOn(installation);
  const options = { api: installation.client.api, context: { viewport: { width: 390, height: 780 } } };
  const anna = await open(unique("anna"), options);
  const chat = await createGroup("Phone", [anna.user, unique("ben")]);
  await anna.openChat(chat);
  const word = unique("Pear").replace("-", "");
  await anna.write(`${word} juice`);
  await anna.write(`${word} cake`);
  await expect(anna.message(`${word} cake`)).toBeVisible();
  await anna.page.getByRole("button", { name: "Search in this chat" }).click();
  await expect(anna.part("composer")).toBeHidden();
  await finds(anna, word, 2);
  await keepPicture(anna.page, "search-phone");
  await expectAccessible(anna.page);
  await anna.part("found").last().click();
  await expect(anna.message(`${word} juice`)).toBeInViewport();
  await anna.page.getByRole("button", { name: "Back to the chats" }).click();
  await expect(anna.part("found").last()).toBeFocused();

  await anna.page.evaluate(async (id) => {
    const shown = window.tidings.chat(id);
    const [first, second] = shown.timeline.keys
      .get()
      .slice(-2)
      .map((key) => shown.timeline.item(key).get()?.sequence ?? 0);
    await shown.redact(first ?? 0).outcome;
    await shown.edit(second ?? 0, "tea").outcome;
  }, chat);
  // At once: the text that was read decides, also while the index has the former words.
  await finds(anna, word, 0);
  await expect(anna.page.getByText("No messages found")).toBeVisible();
  await finds(anna, "tea", 1);
});

test("the demo has a search if the tenant uses it", async ({ browser, installation, unique }) => {
  test.setTimeout(180_000);
  turnOn(installation);
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const demo = new DemoPage(await context.newPage());
  await expect(async () => {
    await demo.page.goto("about:blank");
    await demo.page.goto(installation.client.page);
    await demo.isConnected("anna", "ben");
    await expect(demo.half("anna").getByRole("button", { name: "Search in this chat" })).toBeVisible({
      timeout: 3_000,
    });
  }).toPass(INDEXED);
  const text = unique("Hello");
  await demo.write("anna", text);
  await expect(demo.message("ben", text)).toBeVisible();
  await demo.half("ben").getByRole("button", { name: "Search in this chat" }).click();
  const field = demo.half("ben").getByRole("searchbox", { name: "Search messages" });
  await expect(async () => {
    await field.fill("");
    await field.fill(text);
    await expect(demo.half("ben").locator(".td-found").first()).toBeVisible({ timeout: 2_000 });
  }).toPass(INDEXED);
  await keepPicture(demo.page, "search-demo");
  await context.close();
});
