import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "@playwright/test";
import {
  EVENT,
  entryFingerprint,
  HistoryRecorder,
  messageNumber,
  messageText,
  OUTCOME,
} from "../history/recorder.ts";

const CHAT = "g1";
const MESSAGES = 5;

interface Delivery {
  device: number;
  sequence: number;
  message: bigint;
}

/** Record a run of two devices in which every delivery passes through `change`. */
function record(change: (deliveries: Delivery[]) => Delivery[]): {
  lost: number;
  doubled: number;
  is_good: boolean;
} {
  const directory = join(mkdtempSync(join(tmpdir(), "tidings-format-")), "history");
  const recorder = new HistoryRecorder(directory);
  const users = ["anna", "ben"];
  const devices = users.map((user) => recorder.name(`${user}/page`));
  const chat = recorder.name(CHAT);
  for (const [index, user] of users.entries()) {
    recorder.write({ kind: EVENT.device, device: devices[index] as number, value: recorder.name(user) });
    recorder.member(EVENT.in, CHAT, 1, user);
  }
  const log: bigint[] = [entryFingerprint("create", "anna", "Group", users)];
  for (let sequence = 2; sequence < MESSAGES + 2; sequence++) {
    const message = recorder.newMessage();
    const device = devices[0] as number;
    recorder.write({ kind: EVENT.send, device, chat, message });
    recorder.write({ kind: EVENT.sent, device, chat, message, sequence, outcome: OUTCOME.ok });
    log.push(messageNumber(messageText(message)));
  }
  const all = devices.flatMap((device) =>
    log.map((message, index) => ({ device, message, sequence: index + 1 })),
  );
  for (const { device, sequence, message } of change(all)) {
    recorder.write({
      kind: EVENT.given,
      device,
      chat,
      connection: device + 1,
      sequence,
      message,
      isMessage: sequence > 1,
    });
  }
  for (const device of devices) recorder.write({ kind: EVENT.quiet, device });
  try {
    execFileSync("tidings-harness", ["check", directory]);
  } catch {
    // The exit code is 1 if a guarantee was violated.
  }
  return JSON.parse(readFileSync(join(directory, "verdict.json"), "utf8"));
}

test("the harness accepts a complete history that the recorder wrote", () => {
  expect(record((all) => all)).toMatchObject({
    is_good: true,
    lost: 0,
    doubled: 0,
    sends: MESSAGES,
    devices: 2,
  });
});

test("the harness finds a lost entry", () => {
  expect(record((all) => all.slice(0, -1))).toMatchObject({ is_good: false, lost: 1, doubled: 0 });
});

test("the harness finds an entry that a device received twice", () => {
  expect(record((all) => [...all, all.at(-1) as Delivery])).toMatchObject({
    is_good: false,
    lost: 0,
    doubled: 1,
  });
});
