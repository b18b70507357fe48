import { expect, expectAccessible, keepPicture, test } from "./fixtures.ts";

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
    await expect(device.message("typed through the kill")).toHaveAttribute("data-delivery", "committed");
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
  await expect(ben.message("First draft")).toBeVisible();
  await expect(ben.message("Fist draft")).toHaveCount(0);
});

test("a failed send can be retried", async ({ open, unique, createGroup, server }) => {
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createGroup("Gone", [anna.user, ben.user]);
  await ben.openChat(chat);
  await ben.isLive();
  await ben.goOffline();
  await ben.write("sent after the removal");
  await server.call("remove_member", { path: { chat, user: ben.user }, user: anna.user });
  await ben.goOnline();
  await expect(ben.message("sent after the removal")).toHaveAttribute("data-delivery", "failed");
  await keepPicture(ben.page, "failed");
  await expectAccessible(ben.page);
});
