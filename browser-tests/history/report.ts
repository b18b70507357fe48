/** The page that describes a run: its size, its faults, and the verdict of the harness. */

import { cpus, loadavg } from "node:os";

/** The fields of the harness's `verdict.json` that the page shows. */
export interface Verdict {
  is_good: boolean;
  sends: number;
  acked: number;
  unsettled: number;
  deliveries: number;
  devices: number;
  lost: number;
  doubled: number;
  breaches: Record<string, number>;
}

export interface RunFigures {
  verdict: Verdict;
  devices: number;
  seconds: number;
  faults: string[];
  settledMs: number;
  commit: string;
}

export function reportPage({ verdict, devices, seconds, faults, settledMs, commit }: RunFigures): string {
  const broken = Object.entries(verdict.breaches).map(([rule, count]) => `- ${rule}: ${count}`);
  const number = (value: number) => value.toLocaleString("en");
  return `# History of browser devices

Chromium pages with \`@tidings/client\` and its IndexedDB store talk in one group, on an installation that \`tidings dev\` started. Each page is a device in a browser context of its own. The run records what every page sends and what the client reports to the app, and \`tidings-harness check\` compares this history with the guarantees. Repeat the run with \`just web history --devices ${devices} --seconds ${seconds} --faults ${faults.length}\`.

| figure | value |
|---|---|
| browser devices | ${devices}, two for each user |
| duration | ${seconds} s |
| sends | ${number(verdict.sends)}, ${number(verdict.acked)} acknowledged, ${number(verdict.unsettled)} without a known outcome |
| deliveries to pages | ${number(verdict.deliveries)} |
| lost | ${verdict.lost} |
| doubled | ${verdict.doubled} |
| violated guarantees | ${broken.length === 0 ? "none" : broken.length} |
| time until every device had everything, after the last send | ${(settledMs / 1000).toFixed(1)} s |

Faults during the run:
${faults.map((fault) => `- ${fault}`).join("\n")}

The machine has ${cpus().length} cores (${cpus()[0]?.model}), which the browser shares with the installation; its load was ${loadavg()[0]?.toFixed(1)} at the end. Commit ${commit}, ${new Date().toISOString().slice(0, 10)}.
${broken.length ? `\nViolations:\n${broken.join("\n")}\n` : ""}`;
}
