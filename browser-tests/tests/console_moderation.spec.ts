/** A user reports, a moderator decides in the console, and users see the effect. */

import type { Page } from "@playwright/test";
import { expect, expectUsable, giveReason, LOOKS, test } from "./console_fixtures.ts";
import { type Device, expectAccessible, keepPicture } from "./fixtures.ts";

const TEXT = "Cheap watches at watches.example";

/** Report a message in the app, with the reason "Abuse or harassment". */
async function report(device: Device, text: string): Promise<void> {
  const message = device.message(text);
  await message.hover();
  await message.getByRole("button", { name: "Report" }).click();
  const dialog = device.page.getByRole("dialog");
  await dialog.getByLabel("Abuse or harassment").check();
  await dialog.getByLabel(/What is wrong/).fill("The same link in every group");
  await expectAccessible(device.page);
  await keepPicture(device.page, "report-message");
  await dialog.getByRole("button", { name: "Send report" }).click();
  await expect(dialog).toBeHidden();
}

async function openQueue(page: Page): Promise<void> {
  await page.goto(new URL("/t/dev/moderation", page.url()).href);
}

async function decide(page: Page, author: string, action: string): Promise<void> {
  await expect(async () => {
    await openQueue(page);
    await page.getByRole("link", { name: `Message of ${author}` }).click({ timeout: 3_000 });
  }).toPass({ timeout: 30_000 });
  await page.getByLabel(action).check();
  await page.getByRole("button", { name: "Decide" }).click();
  await giveReason(page, action);
}

test("a reported message is redacted, and its author muted, banned and suspended", async ({
  openConsole,
  open,
  createGroup,
  installation,
  server,
  unique,
}) => {
  test.setTimeout(180_000);
  const [anna, ben] = [unique("anna"), unique("ben")];
  await server.call("create_user", { body: { id: ben } });
  const group = await createGroup("Market", [anna, ben]);
  const { api } = installation.client;
  const reader = await open(anna, { api });
  const author = await open(ben, { api });
  const page = await openConsole();
  for (const device of [reader, author]) await device.openChat(group);

  await author.write(TEXT);
  await expect(reader.message(TEXT)).toBeVisible();
  await report(reader, TEXT);
  await openQueue(page);
  await page.getByRole("link", { name: `Message of ${ben}` }).click();
  await expect(page.getByText(TEXT)).toBeVisible();
  await expect(page.getByText("The same link in every group")).toBeVisible();
  await expectUsable(page);
  await keepPicture(page, "console-review");
  const phone = await openConsole(new URL(page.url()).pathname, LOOKS.phone);
  await expect(phone.getByText(TEXT)).toBeVisible();
  await expectUsable(phone);
  await keepPicture(phone, "console-review-phone");
  await decide(page, ben, "Redact the message");
  await expect(page.getByText("Message redacted")).toBeVisible();
  await expect(reader.part("messages").getByText("This message was deleted")).toBeVisible();

  await author.write("Second try");
  await report(reader, "Second try");
  await decide(page, ben, "Mute the author");
  await expect(author.page.getByText("You are muted in this group.")).toBeVisible();
  await expect(author.part("composer")).toBeDisabled();
  await keepPicture(author.page, "muted");
  await server.call("unmute_member", { path: { chat: group, user: ben }, user: anna });
  await expect(author.part("composer")).toBeEnabled();

  await author.write("Third try");
  await report(reader, "Third try");
  await decide(page, ben, "Ban the author");
  await expect(page.getByText("Author banned")).toBeVisible();
  await expect(reader.part("messages").getByText(/banned/)).toBeVisible();

  await server.call("report_user", { path: { user: ben }, user: anna, body: { reason: "spam" } });
  await openQueue(page);
  await page.getByRole("link", { name: `User ${ben}` }).click();
  await page.getByLabel("Suspend the user").check();
  await page.getByRole("button", { name: "Decide" }).click();
  await giveReason(page, "Suspend the user");
  await expect(page.getByText("User suspended")).toBeVisible();
  await expect(author.page.getByText(/Disconnected/).first()).toBeVisible({ timeout: 30_000 });
});

test("a dismissed report changes nothing, and a role without decisions sees no form", async ({
  openConsole,
  openAs,
  createGroup,
  server,
  unique,
}) => {
  const [anna, ben] = [unique("anna"), unique("ben")];
  const group = await createGroup("Market", [anna, ben]);
  const { id: message } = await server.call("send_message", {
    path: { chat: group },
    user: ben,
    body: { text: TEXT },
  });
  await server.call("report_message", { path: { message }, user: anna, body: { reason: "other" } });
  const review = `/t/dev/moderation/reviews/m.${message}`;
  const support = await openAs("support", review);
  await expect(support.getByText("Your role does not allow decisions.")).toBeVisible();
  const page = await openConsole(review);
  await page.getByLabel("Dismiss").check();
  await page.getByRole("button", { name: "Decide" }).click();
  await giveReason(page, "Dismiss");
  await expect(page.getByText("Dismissed")).toBeVisible();
  const shown = await server.call("get_message", { path: { message }, user: anna });
  expect(shown.state).toBe("active");
});

test("an operator edits the lists, and a flagged message enters the queue", async ({
  openConsole,
  createGroup,
  server,
  unique,
}) => {
  test.setTimeout(150_000);
  const [anna, ben] = [unique("anna"), unique("ben")];
  const word = unique("casino").replaceAll("-", "");
  const group = await createGroup("Market", [anna, ben]);
  const page = await openConsole("/t/dev/moderation/lists");
  await page.getByLabel("New word").fill(word);
  await page.getByLabel("Effect of the word").selectOption("flag");
  await page.getByRole("button", { name: "Add the word" }).click();
  await page.getByLabel("New domain").fill("bad.example");
  await page.getByLabel("Effect of the domain").selectOption("refuse");
  await page.getByRole("button", { name: "Add the domain" }).click();
  await expectUsable(page);
  await keepPicture(page, "console-lists");
  await page.getByRole("button", { name: "Save" }).click();
  await giveReason(page, "Save");
  await expect(page.getByText("Your changes are not saved yet.")).toBeHidden();
  try {
    // Processes use a change within 30 seconds.
    await expect(async () => {
      const body = { text: `To the ${word}` };
      await server.call("send_message", { path: { chat: group }, user: ben, body });
      await openQueue(page);
      await expect(page.getByRole("link", { name: `Message of ${ben}` }).first()).toBeVisible({
        timeout: 3_000,
      });
    }).toPass({ timeout: 90_000 });
    await expect(page.getByText("Listed word or domain").first()).toBeVisible();
    await expectUsable(page);
    await keepPicture(page, "console-moderation");
    const phone = await openConsole("/t/dev/moderation", LOOKS.phone);
    await expect(phone.getByRole("link", { name: `Message of ${ben}` }).first()).toBeVisible();
    await expectUsable(phone);
    await keepPicture(phone, "console-moderation-phone");
  } finally {
    await server.call("set_content_rules", { body: { words: [], domains: [] } });
  }
});
