/** Find the tab that owns the connection of a device. */

import type { Page } from "@playwright/test";

/** Return the tab whose client holds the lock. Raises an error if no tab holds it. */
export async function leaderOf(tabs: Page[]): Promise<Page> {
  for (const tab of tabs) {
    const isLeader = await tab.evaluate(() =>
      // A lock that this tab requests has the tab's client id, which shows whether the client's lock is its own.
      navigator.locks.request(`probe-${Math.random()}`, async (probe) => {
        const { held = [] } = await navigator.locks.query();
        const own = held.find(({ name }) => name === probe?.name)?.clientId;
        return held.some(({ name, clientId }) => name?.startsWith("tidings:") && clientId === own);
      }),
    );
    if (isLeader) return tab;
  }
  throw new Error("No tab holds the lock of the client.");
}
