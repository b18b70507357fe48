/** Measure the time from the navigation to the chat list, without a network. */

import { PARTS } from "../stack/parts.ts";
import { type BenchPages, isLive } from "./pages.ts";

const CHATS = 30;

declare global {
  interface Window {
    listShownAt: number | undefined;
  }
}

/** Return the time of each round. */
export async function measureOpening(pages: BenchPages, rounds: number): Promise<number[]> {
  const user = pages.newUser();
  for (let number = 0; number < CHATS; number++) {
    const chat = await pages.newGroup(user, pages.newUser());
    await pages.send(chat, user, `Hello ${number}`);
  }
  const device = await pages.device(user);
  await device.context.addInitScript((selector) => {
    new MutationObserver(() => {
      if (document.querySelector(selector)) window.listShownAt ??= performance.now();
    }).observe(document, { childList: true, subtree: true });
  }, PARTS["chat-row"]);
  const tab = await device.newTab();
  await isLive(tab);
  await tab.locator(PARTS["chat-row"]).nth(5).waitFor();
  // The service worker controls the page, and has cached it, from the second load on.
  await tab.reload();
  await isLive(tab);
  device.link.cut();
  await device.context.setOffline(true);
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    await tab.reload();
    await tab.locator(PARTS["chat-row"]).first().waitFor();
    times.push((await tab.evaluate(() => window.listShownAt)) ?? Number.POSITIVE_INFINITY);
  }
  await device.context.close();
  return times;
}
