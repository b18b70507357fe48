/** Measure how long an appended message takes from its frame to the committed row, and how many rows it renders. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Page } from "@playwright/test";
import { seedChat } from "../stack/seed.ts";
import { type BenchPages, isLive } from "./pages.ts";

/** The installation shares the cores with the browser. A frame arrives when the other processes have finished with its message. */
const LATENCY_MS = 80;
const PAUSE_MS = 160;
const WARM_UP = 30;

declare global {
  interface Window {
    /** By text: when the frame arrived and when the row was committed. */
    appends: Map<string, { frame: number; row?: number }>;
  }
}

export interface AppendFigures {
  timesMs: number[];
  rowsPerAppend: number;
}

export async function measureAppends(
  pages: BenchPages,
  messages: number,
  appends: number,
): Promise<AppendFigures> {
  const [reader, writer] = [pages.newUser(), pages.newUser()];
  const chat = await pages.newGroup(reader, writer);
  console.error(await seedChat(pages.installation, chat, writer, messages));
  const device = await pages.device(reader, { chat, countsRenders: true });
  await device.context.addInitScript(observeFrames);
  const page = await device.newTab();
  await isLive(page);
  await loadAll(page, chat, messages);
  const append = async (first: number, count: number) => {
    for (let number = first; number < first + count; number++) {
      await pages.send(chat, writer, `append ${number}.`);
      await sleep(PAUSE_MS);
    }
    const last = `append ${first + count - 1}.`;
    await page.waitForFunction((text) => window.appends.get(text)?.row !== undefined, last);
  };
  device.link.latencyMs = LATENCY_MS;
  // The first appends run code that the browser has not compiled yet.
  await append(0, WARM_UP);
  await page.evaluate(() => {
    window.renderedRows = 0;
    window.appends.clear();
  });
  await append(WARM_UP, appends);
  const { rendered, times } = await page.evaluate(() => ({
    rendered: window.renderedRows,
    times: [...window.appends.values()].flatMap(({ frame, row }) => (row === undefined ? [] : [row - frame])),
  }));
  await device.context.close();
  if (times.length !== appends) throw new Error(`${times.length} of ${appends} appended rows were observed.`);
  return { timesMs: times, rowsPerAppend: rendered / appends };
}

/** Load the whole history, then wait until the newest message is drawn. */
async function loadAll(page: Page, chat: string, messages: number): Promise<void> {
  const loaded = await page.evaluate(async (id) => {
    const { timeline } = window.tidings.chat(id);
    while (!timeline.range.get().isLoaded) await new Promise((resolve) => setTimeout(resolve, 20));
    while (timeline.range.get().hasOlder) await timeline.loadOlder(200);
    return timeline.keys.get().length;
  }, chat);
  if (loaded < messages) throw new Error(`${loaded} of ${messages} messages are loaded.`);
  await page.getByText(`message ${messages}`, { exact: true }).first().waitFor();
  await sleep(1_000);
}

/** Runs in the page before its scripts: note when a frame arrives and when the row with its text is in the document. */
function observeFrames(): void {
  window.appends = new Map();
  const Original = window.WebSocket;
  window.WebSocket = class extends Original {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols);
      // Added before the client's own listener, so it runs first.
      this.addEventListener("message", ({ data }) => {
        for (const [text] of String(data).matchAll(/append \d+\./g)) {
          if (!window.appends.has(text)) window.appends.set(text, { frame: performance.now() });
        }
      });
    }
  };
  // A mutation observer runs right after the task in which React has committed the row.
  new MutationObserver((changes) => {
    const now = performance.now();
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        const append = window.appends.get(/append \d+\./.exec(node.textContent ?? "")?.[0] ?? "");
        if (append) append.row ??= now;
      }
    }
  }).observe(document, { childList: true, subtree: true });
}
