import { seedChat } from "../stack/seed.ts";
import { expect, test } from "./fixtures.ts";

/** A row that is drawn: its key and its distance from the top of the list. */
interface DrawnRow {
  key: string;
  top: number;
}

for (const { count, tag } of [
  { count: 3_000, tag: "@slow" },
  { count: 100_000, tag: "@long" },
]) {
  test(`${count} messages scroll to the top and back without jumps ${tag}`, async ({
    open,
    unique,
    createGroup,
    installation,
  }) => {
    test.setTimeout(count > 10_000 ? 3_600_000 : 180_000);
    const [anna, ben] = [unique("anna"), unique("ben")];
    const chat = await createGroup("Long", [anna, ben]);
    const seeded = await seedChat(installation, chat, ben, count);
    const device = await open(anna);
    await device.openChat(chat);
    await expect(device.message(`message ${count}`)).toBeVisible();

    const jumps = await device.page.evaluate(async (id) => {
      const list = document.querySelector(".td-log") as HTMLElement;
      const { timeline } = window.tidings.chat(id);
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const rows = () =>
        [...list.querySelectorAll<HTMLElement>("[data-td-key]")].map(
          (row): DrawnRow => ({ key: row.dataset.tdKey ?? "", top: row.getBoundingClientRect().top }),
        );
      let worst = 0;
      // Scroll up until the first entry is loaded. Where older messages are added above, the rows that were drawn
      // must stay where they were, apart from the scrolling itself.
      while (timeline.range.get().hasOlder || list.scrollTop > 0) {
        const length = timeline.keys.get().length;
        list.scrollTop = Math.max(0, list.scrollTop - list.clientHeight);
        await frame();
        const settled = rows();
        for (let waited = 0; timeline.range.get().isLoading && waited < 600; waited++) await frame();
        await frame();
        await frame();
        if (timeline.keys.get().length === length) continue;
        const after = new Map(rows().map(({ key, top }) => [key, top]));
        const same = settled.filter(({ key }) => after.has(key));
        for (const { key, top } of same) worst = Math.max(worst, Math.abs((after.get(key) ?? top) - top));
      }
      return { worst, loaded: timeline.keys.get().length };
    }, chat);
    expect(jumps.loaded).toBeGreaterThanOrEqual(count);
    expect(jumps.worst).toBeLessThanOrEqual(2);
    await expect(device.message("message 1").first()).toBeVisible();

    await device.page.evaluate(async () => {
      const list = document.querySelector(".td-log") as HTMLElement;
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      while (list.scrollTop + list.clientHeight < list.scrollHeight - 1) {
        list.scrollTop += list.clientHeight * 20;
        await frame();
      }
    });
    await expect(device.message(`message ${count}`)).toBeVisible();
    test
      .info()
      .annotations.push({ type: "long chat", description: `${seeded}; moved at most ${jumps.worst} px` });
  });
}
