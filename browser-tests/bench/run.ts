/** Measure the packages in Chromium and print the figures as one line of JSON: node bench/run.ts --messages 10000 */

import { parseArgs } from "node:util";
import { chromium } from "@playwright/test";
import { servePage } from "../stack/app_server.ts";
import { CHROMIUM } from "../stack/chromium.ts";
import { SETTINGS } from "../stack/global_setup.ts";
import { Installation } from "../stack/installation.ts";
import { measureAppends } from "./appends.ts";
import { countViolations } from "./axe.ts";
import { measureOpening } from "./opening.ts";
import { BenchPages, percentile } from "./pages.ts";
import { measureTakeover } from "./takeover.ts";

const { values } = parseArgs({
  options: {
    messages: { type: "string", default: "10000" },
    appends: { type: "string", default: "200" },
    rounds: { type: "string", default: "5" },
  },
});

async function measure(pages: BenchPages) {
  const rounds = Number(values.rounds);
  const appends = await measureAppends(pages, Number(values.messages), Number(values.appends));
  const openingMs = await measureOpening(pages, rounds);
  const violations = await countViolations(pages);
  const takeoverMs = await measureTakeover(pages, rounds);
  return {
    append_ms_at_10000: percentile(appends.timesMs, 0.95),
    ...spread("append_ms", appends.timesMs),
    rows_rerendered_per_append: appends.rowsPerAppend,
    open_offline_ms: percentile(openingMs, 0.5),
    ...spread("open_offline_ms", openingMs),
    axe_violations: violations,
    takeover_ms: Math.max(...takeoverMs),
    ...spread("takeover_ms", takeoverMs),
  };
}

function spread(name: string, times: number[]): Record<string, number> {
  return {
    [`${name}_min`]: Math.min(...times),
    [`${name}_median`]: percentile(times, 0.5),
    [`${name}_max`]: Math.max(...times),
  };
}

const [installation, page] = await Promise.all([Installation.start(SETTINGS), servePage()]);
const browser = await chromium.launch(CHROMIUM);
const pages = new BenchPages(browser, page.url, installation);
try {
  console.log(JSON.stringify(await measure(pages)));
} finally {
  await pages.close();
  await browser.close();
  await page.close();
  await installation.stop();
}
