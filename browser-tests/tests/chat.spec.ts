import type { Locator } from "@playwright/test";
import { type Device, expect, expectAccessible, keepPicture, test } from "./fixtures.ts";

test("two people chat, and see each other type, read and react", async ({ open, unique, createDirect }) => {
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createDirect(anna.user, ben.user);
  await anna.openChat(chat);
  await ben.openChat(chat);

  await anna.write("Lunch at noon?");
  await expect(ben.message("Lunch at noon?")).toBeVisible();
  await ben.part("composer").pressSequentially("Fine with m", { delay: 20 });
  await expect(anna.part("typing")).toContainText(/typing/);
  await ben.write("Fine with me.");
  await expect(anna.message("Fine with me.")).toBeVisible();
  await expect(anna.part("typing")).not.toContainText(/typing/);
  await expect(anna.message("Lunch at noon?").locator(".td-status[data-status=read]")).toBeVisible();
  await expectAccessible(anna.page);
  await keepPicture(anna.page, "chat");
});

test("nothing is lost, doubled or reordered by a network cut while writing", async ({
  open,
  unique,
  createGroup,
}) => {
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createGroup("Trip", [anna.user, ben.user]);
  await anna.openChat(chat);
  await ben.openChat(chat);
  await anna.write("before the cut");
  await expect(ben.message("before the cut")).toBeVisible();

  await anna.goOffline();
  for (const n of [1, 2, 3]) await anna.write(`offline ${n}`);
  await expect(anna.message("offline 3")).toHaveAttribute("data-delivery", "pending");
  for (const n of [1, 2]) await ben.write(`meanwhile ${n}`);
  await expect(ben.message("offline")).toHaveCount(0);
  await expect(anna.page.locator(".td-banner")).toContainText("You are offline");
  await keepPicture(anna.page, "offline");
  await expectAccessible(anna.page);

  await anna.goOnline();
  await expect(ben.message("offline 3")).toBeVisible();
  await expect(anna.message("offline 3")).toHaveAttribute("data-delivery", "committed");
  await expect(anna.message("meanwhile 2")).toBeVisible();
  const expected = ["before the cut", "meanwhile 1", "meanwhile 2", "offline 1", "offline 2", "offline 3"];
  for (const device of [anna, ben]) {
    const texts = await device.texts();
    expect([...texts].sort()).toEqual([...expected].sort());
    expect(texts.filter((text) => text.startsWith("offline"))).toEqual([
      "offline 1",
      "offline 2",
      "offline 3",
    ]);
    expect(texts.filter((text) => text.startsWith("meanwhile"))).toEqual(["meanwhile 1", "meanwhile 2"]);
  }
  expect(await anna.texts()).toEqual(await ben.texts());
});

test("a gateway that is killed while the user types loses nothing", async ({
  open,
  unique,
  createGroup,
  installation,
  server,
}) => {
  test.setTimeout(120_000);
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createGroup("Kill", [anna.user, ben.user]);
  await anna.openChat(chat);
  await ben.openChat(chat);
  await anna.isLive();
  await ben.isLive();

  const typed = anna.part("composer").pressSequentially("typed through the kill", { delay: 60 });
  // Entries that are pushed to a suspended gateway are lost when it is killed: resume must find them.
  installation.suspend("gateway");
  for (const n of [1, 2, 3]) {
    await server.call("send_message", {
      path: { chat },
      user: ben.user,
      body: { text: `while suspended ${n}` },
    });
  }
  installation.kill("gateway");
  await typed;
  await expect(anna.part("composer")).toHaveValue("typed through the kill");
  await anna.part("composer").press("Enter");

  for (const device of [anna, ben]) {
    // The gateway starts again in some seconds, and the client waits longer after each attempt.
    await expect(device.message("typed through the kill")).toHaveAttribute("data-delivery", "committed", {
      timeout: 45_000,
    });
    const texts = await device.texts();
    expect(texts.filter((text) => text.startsWith("while suspended"))).toEqual(
      [1, 2, 3].map((n) => `while suspended ${n}`),
    );
    expect(texts).toHaveLength(4);
  }
});

test("a message is edited, answered, reacted to and deleted by keyboard", async ({
  open,
  unique,
  createGroup,
}) => {
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createGroup("Keys", [anna.user, ben.user]);
  await anna.openChat(chat);
  await ben.openChat(chat);
  await anna.write("Fist draft");
  await expect(ben.message("Fist draft")).toBeVisible();

  await anna.part("composer").press("ArrowUp");
  await expect(anna.part("composer")).toHaveValue("Fist draft");
  await anna.write("First draft");
  await expect(ben.message("First draft")).toContainText("edited");
  await expect(ben.message("Fist draft")).toHaveCount(0);

  await goToAction(ben, "Reply");
  await ben.press("Enter");
  await expect(ben.part("composer")).toBeFocused();
  await ben.press("N", "o", "t", "e", "d", "Enter");
  const answer = anna.message("Noted").filter({ has: anna.page.locator(".td-quote") });
  await expect(answer).toContainText("First draft");

  await goToAction(anna, "Add a reaction");
  await anna.press("Enter");
  await pressUntilFocused(anna, "ArrowRight", anna.page.getByRole("button", { name: "React with ❤️" }));
  await anna.press("Enter");
  await expect(ben.message("Noted").getByRole("button", { name: "❤️, 1 reaction" })).toBeVisible();

  await goToAction(ben, "Delete");
  await ben.press("Enter");
  await expect(ben.page.getByRole("button", { name: "Delete for everyone?" })).toBeFocused();
  await ben.press("Enter");
  for (const device of [anna, ben]) {
    await expect(device.message("This message was deleted")).toHaveCount(1);
    await expect(device.message("Noted")).toHaveCount(0);
  }
});

/** Walk with the keyboard from the composer to the newest message, and to one of its actions. */
async function goToAction(device: Device, name: string): Promise<void> {
  await device.part("composer").focus();
  // The quote, the actions and the reactions of the newest message are before the composer.
  await pressUntilFocused(device, "Shift+Tab", device.part("messages"));
  await device.press("ArrowUp");
  await expect(device.part("message").last()).toBeFocused();
  await device.press("Enter");
  const actions = device.page.getByRole("toolbar");
  await pressUntilFocused(device, "ArrowRight", actions.getByRole("button", { name, exact: true }));
}

async function pressUntilFocused(device: Device, key: string, target: Locator): Promise<void> {
  const isFocused = () => target.evaluate((element) => element === document.activeElement);
  for (let step = 0; step < 12 && !(await isFocused()); step++) await device.press(key);
  await expect(target).toBeFocused();
}

test("a failed send can be retried", async ({ open, unique, createGroup, server }) => {
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createGroup("Gone", [anna.user, ben.user]);
  await anna.openChat(chat);
  await ben.openChat(chat);
  await ben.isLive();
  await ben.goOffline();
  for (const text of ["sent after the removal", "not worth a retry"]) await ben.write(text);
  await server.call("remove_member", { path: { chat, user: ben.user }, user: anna.user });
  await ben.goOnline();
  const failed = ben.message("sent after the removal");
  await expect(failed).toHaveAttribute("data-delivery", "failed");
  await expect(ben.message("not worth a retry")).toHaveAttribute("data-delivery", "failed");
  await expect(ben.page.getByRole("heading", { name: "Gone" })).toBeVisible();
  await keepPicture(ben.page, "failed");
  await expectAccessible(ben.page);

  await server.call("add_members", { path: { chat }, user: anna.user, body: { users: [ben.user] } });
  await failed.getByRole("button", { name: "Try again" }).click();
  await expect(failed).toHaveAttribute("data-delivery", "committed");
  await ben.message("not worth a retry").getByRole("button", { name: "Discard" }).click();
  await expect(ben.message("not worth a retry")).toHaveCount(0);
  await expect(anna.message("sent after the removal")).toBeVisible();
  for (const device of [anna, ben]) expect(await device.texts()).toEqual(["sent after the removal"]);
});
