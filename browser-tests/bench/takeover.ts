/** Measure the time until another tab sends, after the tab that owns the connection was closed or has crashed. */

import type { Page } from "@playwright/test";
import { leaderOf } from "../stack/leader.ts";
import { type BenchPages, isLive } from "./pages.ts";

/** Return two times for each round: after a close and after a crash. */
export async function measureTakeover(pages: BenchPages, rounds: number): Promise<number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    times.push(await takeoverMs(pages, (leader) => leader.close()));
    times.push(await takeoverMs(pages, crash));
  }
  return times;
}

async function takeoverMs(pages: BenchPages, end: (leader: Page) => Promise<void>): Promise<number> {
  const user = pages.newUser();
  const chat = await pages.newGroup(user, pages.newUser());
  const device = await pages.device(user, { chat });
  const tabs = [await device.newTab(), await device.newTab(), await device.newTab(), await device.newTab()];
  for (const tab of tabs) await isLive(tab);
  const leader = await leaderOf(tabs);
  const follower = tabs.find((tab) => tab !== leader) as Page;
  const began = performance.now();
  await end(leader);
  await follower.evaluate((id) => window.tidings.chat(id).send("after the takeover").outcome, chat);
  const tookMs = performance.now() - began;
  await device.context.close();
  return tookMs;
}

async function crash(leader: Page): Promise<void> {
  const crashed = new Promise((resolve) => leader.once("crash", resolve));
  void leader.goto("chrome://crash").catch(() => {});
  await crashed;
}
