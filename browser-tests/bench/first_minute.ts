/** Measure the first minute of a new user and print it as one line of JSON: node bench/first_minute.ts --rounds 3 */

import { parseArgs } from "node:util";
import { type Browser, chromium } from "@playwright/test";
import { CHROMIUM } from "../stack/chromium.ts";
import { DemoPage } from "../stack/demo_page.ts";
import { Installation } from "../stack/installation.ts";

const { values } = parseArgs({ options: { rounds: { type: "string", default: "3" } } });

/** Start `tidings dev` in a new directory, open its page and send a message from one half to the other. */
async function measure(browser: Browser) {
  const began = performance.now();
  const secondsSince = () => (performance.now() - began) / 1000;
  const installation = await Installation.start();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  try {
    const ready_s = secondsSince();
    const demo = new DemoPage(await context.newPage());
    await demo.page.goto(installation.client.page);
    await demo.write("anna", "The first message");
    await demo.message("ben", "The first message").waitFor();
    return { ready_s, first_message_s: secondsSince() };
  } finally {
    await context.close();
    await installation.stop();
  }
}

function median(numbers: number[]): number {
  return numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

const browser = await chromium.launch(CHROMIUM);
const rounds = [];
try {
  for (let round = 0; round < Number(values.rounds); round++) rounds.push(await measure(browser));
} finally {
  await browser.close();
}
const ready_s = median(rounds.map((round) => round.ready_s));
const first_message_s = median(rounds.map((round) => round.first_message_s));
console.log(JSON.stringify({ ready_s, first_message_s }));
