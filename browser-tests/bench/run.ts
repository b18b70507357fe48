/** Measure the packages in Chromium and print the figures as one line of JSON: node bench/run.ts --messages 10000 */

import { parseArgs } from "node:util";
import { chromium } from "@playwright/test";
import { servePage } from "../stack/app_server.ts";
import { CHROMIUM } from "../stack/chromium.ts";
import { LIMITS } from "../stack/global_setup.ts";
import { Installation } from "../stack/installation.ts";
import { measureAppends } from "./appends.ts";
import { countViolations } from "./axe.ts";
import { measureOpening } from "./opening.ts";
import { BenchPages } from "./pages.ts";
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
  return {
    append_ms_at_10000: appends.p95Ms,
    append_ms_median: appends.medianMs,
    rows_rerendered_per_append: appends.rowsPerAppend,
    open_offline_ms: await measureOpening(pages, rounds),
    axe_violations: await countViolations(pages),
    takeover_ms: await measureTakeover(pages, rounds),
  };
}

const [installation, page] = await Promise.all([Installation.start(LIMITS), servePage()]);
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
