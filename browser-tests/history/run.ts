/**
 * Record the history of many browser devices under faults, and check it with the harness: node history/run.ts
 *
 * --devices 20 --seconds 300 --faults 2 --report docs/benchmarks/browser-history.md
 */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Browser, chromium } from "@playwright/test";
import { ServerClient, TokenSigner } from "@tidings/server";
import { servePage } from "../stack/app_server.ts";
import { HEADLESS } from "../stack/chromium.ts";
import { Installation } from "../stack/installation.ts";
import { BrowserDevice } from "./browser_device.ts";
import { EVENT, HistoryRecorder } from "./recorder.ts";
import { reportPage, type Verdict } from "./report.ts";

const DEVICES_PER_USER = 2;
const SEND_EVERY_MS = 250;
const READ_EVERY_MS = 1_500;
const QUIET_WITHIN_S = 120;

const { values } = parseArgs({
  options: {
    devices: { type: "string", default: "20" },
    seconds: { type: "string", default: "300" },
    faults: { type: "string", default: "2" },
    report: { type: "string" },
  },
});
const deviceCount = Number(values.devices);
const seconds = Number(values.seconds);

/** The faults, in the order in which a run injects them. */
const FAULTS: { name: string; inflict: (run: HistoryRun) => Promise<void> }[] = [
  { name: "the gateway is suspended for a second and killed with -9", inflict: killGateway },
  { name: "the network of half of the devices is cut for 8 seconds", inflict: cutNetwork },
];

interface HistoryRun {
  installation: Installation;
  devices: BrowserDevice[];
}

async function killGateway({ installation }: HistoryRun): Promise<void> {
  // Entries that are pushed to a suspended gateway are lost when it is killed: the devices must read them again.
  installation.suspend("gateway");
  await sleep(1_000);
  installation.kill("gateway");
}

async function cutNetwork({ devices }: HistoryRun): Promise<void> {
  const half = devices.filter((_, index) => index % 2 === 0);
  for (const { link } of half) link.cut();
  await sleep(8_000);
  for (const { link } of half) link.restore();
}

async function openDevices(
  browser: Browser,
  app: string,
  installation: Installation,
  recorder: HistoryRecorder,
): Promise<BrowserDevice[]> {
  const { gateway, tenant } = installation.client;
  const signer = new TokenSigner({ tenant, key: installation.signingKey });
  const devices: BrowserDevice[] = [];
  for (let index = 0; index < deviceCount; index++) {
    const user = `browser-${Math.floor(index / DEVICES_PER_USER)}`;
    const name = `device-${index % DEVICES_PER_USER}`;
    const token = signer.sign(user, { lifetimeS: 3 * 3600 });
    devices.push(await BrowserDevice.open({ browser, app, gateway, user, name, token, recorder }));
  }
  return devices;
}

async function createChat({ installation, devices }: HistoryRun): Promise<string> {
  const { api, server_key } = installation.client;
  const [owner = "", ...members] = new Set(devices.map(({ user }) => user));
  const body = { type: "group" as const, name: "History", members };
  const { id } = await new ServerClient({ url: api, apiKey: server_key }).call("create_chat", {
    user: owner,
    body,
  });
  return id;
}

async function talk(run: HistoryRun, chat: string, recorder: HistoryRecorder): Promise<void> {
  const { devices } = run;
  let turn = 0;
  const pick = () => devices[turn++ % devices.length] as BrowserDevice;
  const sender = setInterval(() => void pick().send(chat), SEND_EVERY_MS);
  const reader = setInterval(() => void pick().read(chat), READ_EVERY_MS);
  const faults = FAULTS.slice(0, Number(values.faults));
  const pause = (seconds * 1000) / (faults.length + 1);
  for (const fault of faults) {
    await sleep(pause);
    recorder.write({ kind: EVENT.step, value: recorder.name(fault.name) });
    console.log(fault.name);
    await fault.inflict(run);
  }
  await sleep(pause);
  clearInterval(sender);
  clearInterval(reader);
}

/**
 * Wait until every send and read has an outcome, every device has the newest entry, and the devices of a user show what
 * the user has read. Entries that are missing afterwards are lost.
 */
async function settle(devices: BrowserDevice[], chat: string): Promise<number> {
  const began = Date.now();
  while (!(await isSettled(devices, chat)) && Date.now() - began < QUIET_WITHIN_S * 1000) await sleep(200);
  const settledMs = Date.now() - began;
  await sleep(2_000);
  for (const device of devices) await device.finish(chat);
  return settledMs;
}

async function isSettled(devices: BrowserDevice[], chat: string): Promise<boolean> {
  const positions = devices.map((device) => device.positions.get(chat) ?? 0);
  if (devices.some(({ pending }) => pending > 0) || Math.min(...positions) < Math.max(...positions))
    return false;
  const shown = await Promise.all(devices.map((device) => device.shownRead(chat)));
  return devices.every(({ user }, index) => {
    const read = devices.filter((each) => each.user === user).map(({ readUpTo }) => readUpTo);
    return (shown[index] ?? 0) >= Math.max(...read);
  });
}

async function recordHistory(directory: string): Promise<number> {
  const recorder = new HistoryRecorder(directory);
  const installation = await Installation.start();
  const page = await servePage();
  const browser = await chromium.launch(HEADLESS);
  try {
    const devices = await openDevices(browser, page.url, installation, recorder);
    const run = { installation, devices };
    const chat = await createChat(run);
    console.log(`${devices.length} browser devices are live; they talk for ${seconds} s.`);
    await talk(run, chat, recorder);
    const settledMs = await settle(devices, chat);
    for (const device of devices) await device.close();
    return settledMs;
  } finally {
    await browser.close();
    await page.close();
    await installation.stop();
  }
}

function check(directory: string): Verdict {
  try {
    execFileSync("tidings-harness", ["check", directory], { encoding: "utf8" });
  } catch (error) {
    console.log((error as { stdout: string }).stdout);
  }
  return JSON.parse(readFileSync(join(directory, "verdict.json"), "utf8"));
}

const directory = join(mkdtempSync(join(tmpdir(), "tidings-history-")), "history");
const settledMs = await recordHistory(directory);
const verdict = check(directory);
const faults = FAULTS.slice(0, Number(values.faults)).map(({ name }) => name);
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
const text = reportPage({ verdict, devices: deviceCount, seconds, faults, settledMs, commit });
if (values.report) writeFileSync(values.report, text);
console.log(text);
process.exitCode = verdict.is_good ? 0 : 1;
