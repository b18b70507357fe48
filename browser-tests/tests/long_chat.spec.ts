import { seedChat } from "../stack/seed.ts";
import { expect, test } from "./fixtures.ts";

for (const { count, tag } of [
  { count: 1_000, tag: "" },
  { count: 100_000, tag: "@long" },
]) {
  test(
    `${count} messages scroll to the top and back without jumps ${tag}`.trim(),
    async ({ open, unique, createGroup, installation }) => {
      test.setTimeout(count > 10_000 ? 1_200_000 : 180_000);
      const [anna, ben] = [unique("anna"), unique("ben")];
      const chat = await createGroup("Long", [anna, ben]);
      const seeded = await seedChat(installation, chat, ben, count);
      const device = await open(anna);
      await device.openChat(chat);
      await expect(device.message(`message ${count}`)).toBeVisible();

      await device.page.evaluate(loadMost, { chat, left: 1_000 });
      await expect(device.message(`message ${count}`)).toBeInViewport();
      const jumps = await device.page.evaluate(scrollToTop, chat);
      expect(jumps.loaded).toBeGreaterThanOrEqual(count);
      expect(jumps.worst).toBeLessThanOrEqual(2);
      await expect(device.message("message 1").first()).toBeVisible();

      await device.page.evaluate(scrollToBottom);
      await expect(device.message(`message ${count}`)).toBeVisible();
      test
        .info()
        .annotations.push({ type: "long chat", description: `${seeded}; moved at most ${jumps.worst} px` });
    },
  );
}

/**
 * Runs in the page: load all but the first messages in large pages, while the newest one stays in view. A page for each
 * view, as a user loads them, would take many minutes.
 */
async function loadMost({ chat, left }: { chat: string; left: number }): Promise<void> {
  const { timeline } = window.tidings.chat(chat);
  const first = () => timeline.item(timeline.keys.get()[0] ?? "").get()?.sequence ?? 0;
  while (timeline.range.get().hasOlder && first() > left) await timeline.loadOlder(200);
}

/**
 * Runs in the page: scroll up until the first message is in view, at last by views. Returns how far a message in view has
 * moved in any frame, apart from the scrolling itself.
 *
 * Only messages in view count: the virtual list renders rows above the view before it knows their height.
 */
async function scrollToTop(chat: string): Promise<{ worst: number; loaded: number }> {
  const list = document.querySelector(".td-log") as HTMLElement;
  const { timeline } = window.tidings.chat(chat);
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  const inView = () => {
    const view = list.getBoundingClientRect();
    const found = new Map<string, number>();
    for (const row of list.querySelectorAll<HTMLElement>("[data-td-key]")) {
      const { top, bottom } = row.getBoundingClientRect();
      if (bottom > view.top && top < view.bottom) found.set(row.dataset.tdKey ?? "", top);
    }
    return found;
  };
  const moved = (before: Map<string, number>, after: Map<string, number>) => {
    const moves = [...before].flatMap(([key, top]) => {
      const now = after.get(key);
      return now === undefined ? [] : [Math.abs(now - top)];
    });
    // No message is in both views: the list was blank, or showed another part.
    return moves.length ? Math.max(...moves) : Number.POSITIVE_INFINITY;
  };
  let worst = 0;
  const isFar = () => list.scrollTop > 30 * list.clientHeight;
  for (; isFar(); await frame()) list.scrollTop -= 20 * list.clientHeight;
  while (timeline.range.get().hasOlder || list.scrollTop > 0) {
    list.scrollTop = Math.max(0, list.scrollTop - list.clientHeight);
    await frame();
    const before = inView();
    for (let left = 3; left > 0; left -= timeline.range.get().isLoading ? 0 : 1) {
      await frame();
      worst = Math.max(worst, moved(before, inView()));
    }
  }
  return { worst, loaded: timeline.keys.get().length };
}

/** Runs in the page: scroll down until the newest message is in view. */
async function scrollToBottom(): Promise<void> {
  const list = document.querySelector(".td-log") as HTMLElement;
  while (list.scrollTop + list.clientHeight < list.scrollHeight - 1) {
    list.scrollTop += list.clientHeight * 20;
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}
