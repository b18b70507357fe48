/**
 * Measure the demo page, the console and the documentation with Lighthouse: `node bench/lighthouse.ts`.
 *
 * The last line of the output is JSON. `--only TEXT` measures the pages with this text in their names. `--write FILE`
 * writes the report for the documentation. The exit code is 1 if a score is below 95.
 */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { CHROMIUM } from "../stack/chromium.ts";
import { environment, Installation } from "../stack/installation.ts";

const LIGHTHOUSE = "lighthouse@13.5.0";
const CATEGORIES = ["performance", "accessibility", "best-practices"] as const;
const LOWEST = 95;
const RUNS = 3;
const MAX_BUFFER = 64 * 1024 * 1024;

type Scores = Record<(typeof CATEGORIES)[number], number>;

interface Measured extends Scores {
  page: string;
  /** Audits that cost points, for the reader of the output. */
  lost: string[];
}

interface LighthouseReport {
  categories: Record<string, { score: number; auditRefs: { id: string; weight: number }[] }>;
  audits: Record<string, { score: number | null; title: string; displayValue?: string }>;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { write: { type: "string" }, only: { type: "string" } } });
  const installation = await Installation.start();
  const docs = await serveDocs();
  try {
    const { page, console: address, console_key: key } = installation.client;
    const pages = {
      demo: page,
      "console, tenant": `${address}/t/dev#key=${key}`,
      "console, health": `${address}/health#key=${key}`,
      "docs, landing page": docs.url,
      "docs, a guide": `${docs.url}howto/find-a-missing-message/`,
    };
    const measured: Measured[] = [];
    for (const [name, url] of Object.entries(pages)) {
      if (!name.includes(values.only ?? "")) continue;
      const found = await measure(name, url);
      console.error(`${name}: ${CATEGORIES.map((each) => `${each} ${found[each]}`).join(", ")}`);
      for (const audit of found.lost) console.error(`  ${audit}`);
      measured.push(found);
    }
    if (values.write) writeFileSync(values.write, reportOf(measured));
    const lowest = Math.min(...measured.flatMap((each) => CATEGORIES.map((name) => each[name])));
    console.log(JSON.stringify({ lighthouse: measured.map(({ lost, ...scores }) => scores), lowest }));
    if (lowest < LOWEST) process.exitCode = 1;
  } finally {
    docs.process.kill();
    await installation.stop();
  }
}

/** Serve the documentation as `tidings docs` does, which builds it if necessary. */
async function serveDocs(): Promise<{ url: string; process: ChildProcess }> {
  const child = spawn("tidings", ["docs", "--port", "0"], {
    env: { ...environment(), PYTHONUNBUFFERED: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const chunk of child.stdout ?? []) {
    const [url] = /http:\/\/\S+/.exec(String(chunk)) ?? [];
    if (!url) continue;
    // The first page redirects to the folder of the newest version.
    const [, folder] = /url=([^"]+)"/.exec(await (await fetch(url)).text()) ?? [];
    return { url: new URL(folder ?? "", url).href, process: child };
  }
  throw new Error("`tidings docs` ended without an address.");
}

/** Return the run with the median performance. Single runs differ by several points on a busy machine. */
async function measure(name: string, url: string): Promise<Measured> {
  const runs: Measured[] = [];
  for (let run = 0; run < RUNS; run++) runs.push(await measureOnce(name, url));
  const [median] = runs.toSorted((a, b) => a.performance - b.performance).slice(Math.floor(RUNS / 2));
  if (!median) throw new Error("There was no run.");
  return median;
}

async function measureOnce(name: string, url: string): Promise<Measured> {
  const path = join(tmpdir(), `tidings-lighthouse-${process.pid}.json`);
  const args = ["exec", "--yes", `--package=${LIGHTHOUSE}`, "--", "lighthouse", url];
  const options = [
    "--preset=desktop",
    "--quiet",
    "--output=json",
    `--output-path=${path}`,
    `--only-categories=${CATEGORIES.join(",")}`,
    `--chrome-flags=--headless=new ${CHROMIUM.args.join(" ")}`,
  ];
  const env = { ...process.env, CHROME_PATH: CHROMIUM.executablePath };
  await promisify(execFile)("npm", [...args, ...options], { env, cwd: tmpdir(), maxBuffer: MAX_BUFFER });
  const report: LighthouseReport = JSON.parse(readFileSync(path, "utf8"));
  const scores = Object.fromEntries(
    CATEGORIES.map((each) => [each, Math.round((report.categories[each]?.score ?? 0) * 100)]),
  ) as Scores;
  return { page: name, ...scores, lost: lostPoints(report) };
}

function lostPoints({ categories, audits }: LighthouseReport): string[] {
  return Object.values(categories).flatMap(({ auditRefs }) =>
    auditRefs.flatMap(({ id, weight }) => {
      const audit = audits[id];
      if (!audit || !weight || audit.score === null || audit.score >= 0.9) return [];
      return [`${id}: ${audit.title} ${audit.displayValue ?? ""}`];
    }),
  );
}

function reportOf(measured: Measured[]): string {
  const rows = measured.map(
    (each) => `| ${each.page} | ${CATEGORIES.map((name) => each[name]).join(" | ")} |`,
  );
  const [cpu] = cpus();
  return `# Lighthouse

Scores of ${LIGHTHOUSE.replace("@", " ")} in headless Chromium, with its settings for desktops, on an installation that \`tidings dev\` started and on the site that \`tidings docs\` serves. Each line is the median of ${RUNS} runs by performance. Repeat the run with \`just web lighthouse\`. It fails if a score is below ${LOWEST}.

| page | performance | accessibility | best practices |
|---|---|---|---|
${rows.join("\n")}

The machine has ${cpus().length} cores (${cpu?.model ?? "unknown"}), which the browser shares with the installation; its load was ${loadavg()[0]?.toFixed(1)} at the end. ${new Date().toISOString().slice(0, 10)}.
`;
}

await main();
