import type { BrowserContextOptions } from "@playwright/test";
import { expect, expectAccessible, keepPicture, type OpenOptions, test } from "./fixtures.ts";

const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 780 },
  hasTouch: true,
  isMobile: true,
};

/** The short run in CI leaves out the looks that another one covers. */
const LOOKS: { name: string; tag?: "@slow"; options: OpenOptions }[] = [
  { name: "phone", options: { context: PHONE } },
  { name: "dark", tag: "@slow", options: { theme: "dark", context: { colorScheme: "dark" } } },
  { name: "right-to-left", tag: "@slow", options: { locale: "ar", context: { locale: "ar" } } },
  {
    name: "phone-right-to-left-dark",
    options: { locale: "ar", theme: "dark", context: { ...PHONE, colorScheme: "dark" } },
  },
  { name: "german", tag: "@slow", options: { locale: "de" } },
];

for (const { name, tag = [], options } of LOOKS) {
  test(`a chat is usable and accessible: ${name}`, { tag }, async ({ open, unique, createGroup, server }) => {
    const [anna, ben] = [unique("anna"), unique("ben")];
    const chat = await createGroup("Lunch", [anna, ben]);
    const texts = [
      "Lunch at noon?",
      "Fine with me. I bring cake, and everything that we need for the table.",
      "👍",
    ];
    for (const [index, text] of texts.entries()) {
      await server.call("send_message", { path: { chat }, user: index % 2 ? anna : ben, body: { text } });
    }
    const device = await open(anna, options);
    await expect(device.part("chat-row")).toBeVisible();
    await keepPicture(device.page, `list-${name}`);
    await device.openChat(chat);
    await expect(device.message("Lunch at noon?")).toBeVisible();
    await device.write("See you there");
    await expect(device.message("See you there")).toHaveAttribute("data-delivery", "committed");
    await expectAccessible(device.page);
    await keepPicture(device.page, `chat-${name}`);
    const overflow = await device.page.evaluate(
      () => document.documentElement.scrollWidth - window.innerWidth,
    );
    expect(overflow).toBeLessThanOrEqual(0);
  });

  test(`an inbox is usable and accessible: ${name}`, { tag }, async ({ open, unique, server }) => {
    const inbox = unique("look").slice(0, 30);
    const user = unique("anna");
    await server.call("set_inbox", { path: { inbox }, body: { title: "Notifications" } });
    const device = await open(user, { ...options, inbox, view: "inbox" });
    await expectAccessible(device.page);
    await keepPicture(device.page, `inbox-empty-${name}`);
    const message = { title: "Your order has shipped", body: "It arrives on Tuesday." };
    await server.call("send_notification", { path: { inbox }, body: { user_ids: [user], message } });
    await expect(device.part("notification").filter({ hasText: "shipped" })).toBeVisible();
    await expectAccessible(device.page);
    await keepPicture(device.page, `inbox-${name}`);
  });
}
