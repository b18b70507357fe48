import type { ServerClient } from "@tidings/server";
import { type Device, expect, expectAccessible, keepPicture, test } from "./fixtures.ts";

async function notify(server: ServerClient, inbox: string, user: string, title: string): Promise<string> {
  const body = { user_ids: [user], message: { title, body: "Open it to read more." } };
  return (await server.call("send_notification", { path: { inbox }, body })).id;
}

async function newInbox(server: ServerClient, name: string): Promise<string> {
  await server.call("set_inbox", { path: { inbox: name }, body: { title: "Notifications" } });
  return name;
}

async function expectBadge(device: Device, count: number): Promise<void> {
  if (count === 0) await expect(device.part("badge")).toHaveCount(0);
  else await expect(device.part("badge")).toHaveText(String(count));
}

test("the badge stays exact when another device reads, and mark all clears it", async ({
  open,
  unique,
  server,
}) => {
  const inbox = await newInbox(server, unique("news").slice(0, 30));
  const user = unique("anna");
  const [phone, laptop] = [
    await open(user, { inbox, view: "inbox" }),
    await open(user, { inbox, view: "inbox" }),
  ];
  for (const n of [1, 2, 3]) await notify(server, inbox, user, `Notification ${n}`);
  for (const device of [phone, laptop]) await expectBadge(device, 3);
  await expectAccessible(phone.page);
  await keepPicture(phone.page, "inbox");

  await laptop
    .part("notification")
    .filter({ hasText: "Notification 2" })
    .click({ position: { x: 60, y: 20 } });
  for (const device of [phone, laptop]) await expectBadge(device, 2);
  await expect(phone.part("notification").filter({ hasText: "Notification 2" })).not.toHaveAttribute(
    "data-unread",
    "true",
  );

  await phone.part("mark-all").first().click();
  for (const device of [phone, laptop]) await expectBadge(device, 0);
  await expect(laptop.page.locator(".td-notification[data-unread=true]")).toHaveCount(0);
});

test("the badge is exact after notifications and reads while the device was offline", async ({
  open,
  unique,
  server,
}) => {
  const inbox = await newInbox(server, unique("away").slice(0, 30));
  const user = unique("anna");
  const [phone, laptop] = [
    await open(user, { inbox, view: "inbox" }),
    await open(user, { inbox, view: "inbox" }),
  ];
  await notify(server, inbox, user, "First");
  for (const device of [phone, laptop]) await expectBadge(device, 1);
  await phone.goOffline();
  for (const n of [1, 2]) await notify(server, inbox, user, `Missed ${n}`);
  await expectBadge(laptop, 3);
  await laptop
    .part("notification")
    .filter({ hasText: "First" })
    .click({ position: { x: 60, y: 20 } });
  await expectBadge(laptop, 2);
  await phone.goOnline();
  await expectBadge(phone, 2);
  await expect(phone.part("notification").filter({ hasText: "Missed" })).toHaveCount(2);
});

test("a broadcast arrives live, and a recalled one disappears", async ({ open, unique, server }) => {
  const inbox = await newInbox(server, unique("all").slice(0, 30));
  const anna = await open(unique("anna"), { inbox, view: "inbox" });
  await anna.isLive();
  const { id } = await server.call("send_broadcast", {
    path: { inbox },
    body: { message: { title: "We are back" } },
  });
  await expect(anna.part("notification").filter({ hasText: "We are back" })).toBeVisible();
  await expectBadge(anna, 1);
  await server.call("redact_notification", { path: { inbox, notification: id } });
  await expect(anna.part("notification").filter({ hasText: "We are back" })).toHaveCount(0);
  await expectBadge(anna, 0);
});

test("the bell opens a list that the keyboard can use, and closes with Escape", async ({
  open,
  unique,
  server,
}) => {
  const inbox = await newInbox(server, unique("bell").slice(0, 30));
  const user = unique("anna");
  const anna = await open(user, { inbox });
  await notify(server, inbox, user, "Your order has shipped");
  await expectBadge(anna, 1);
  await anna.part("bell").first().focus();
  await anna.page.keyboard.press("Enter");
  await expect(anna.part("notification").filter({ hasText: "Your order has shipped" })).toBeVisible();
  await expectAccessible(anna.page);
  await keepPicture(anna.page, "bell");
  await anna.page.keyboard.press("Escape");
  await expect(anna.part("notification")).toHaveCount(0);
  await expect(anna.part("bell").first()).toBeFocused();
});
