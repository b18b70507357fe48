import type { Page } from "@playwright/test";
import { leaderOf } from "../stack/leader.ts";
import { expect, expectAccessible, keepPicture, test } from "./fixtures.ts";

test("four tabs share one connection, and another tab continues when the leader is closed", async ({
  open,
  unique,
  createGroup,
}) => {
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createGroup("Tabs", [anna.user, ben.user]);
  const tabs = [anna.page, await anna.newTab(), await anna.newTab(), await anna.newTab()];
  for (const tab of tabs) await anna.openChat(chat, tab);
  await ben.openChat(chat);
  expect(anna.link.connections).toBe(1);

  await ben.write("to four tabs");
  for (const tab of tabs) await expect(anna.message("to four tabs", tab)).toBeVisible();

  const leader = await leaderOf(tabs);
  const others = tabs.filter((tab) => tab !== leader);
  const writer = others[0] as Page;
  const closed = leader.close();
  await anna.write("written during the takeover", writer);
  await ben.write("sent during the takeover");
  await closed;
  const began = Date.now();
  await expect(anna.message("written during the takeover", writer)).toHaveAttribute(
    "data-delivery",
    "committed",
  );
  const tookMs = Date.now() - began;
  for (const tab of others) {
    await expect(anna.message("sent during the takeover", tab)).toBeVisible();
    await expect(anna.message("written during the takeover", tab)).toHaveCount(1);
    const texts = await anna.texts(tab);
    expect([...texts].sort()).toEqual([
      "sent during the takeover",
      "to four tabs",
      "written during the takeover",
    ]);
  }
  expect(anna.link.connections).toBe(1);
  test.info().annotations.push({ type: "takeover", description: `${tookMs} ms` });
});

test("a reload without a network shows the chats and their last messages", async ({
  open,
  unique,
  createGroup,
}) => {
  const [anna, ben] = [await open(unique("anna")), await open(unique("ben"))];
  const chat = await createGroup("Kept", [anna.user, ben.user]);
  await ben.openChat(chat);
  await ben.write("still here offline");
  await anna.openChat(chat);
  await expect(anna.message("still here offline")).toBeVisible();
  // The service worker controls the page, and has cached it, from the second load on.
  await anna.page.reload();
  await anna.openChat(chat);
  await expect(anna.message("still here offline")).toBeVisible();

  await anna.goOffline();
  await anna.page.reload();
  await expect(anna.part("chat-row").filter({ hasText: "Kept" })).toBeVisible();
  await anna.openChat(chat);
  await expect(anna.message("still here offline")).toBeVisible();
  await expectAccessible(anna.page);
  await keepPicture(anna.page, "reloaded-offline");

  await anna.write("written after the reload");
  await anna.goOnline();
  await expect(ben.message("written after the reload")).toBeVisible();
  expect((await ben.texts()).filter((text) => text === "written after the reload")).toHaveLength(1);
});
