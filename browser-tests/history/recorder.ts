/** Write a history in the format of `tidings_harness.history`: records of 40 bytes, and a file of names. */

import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const RECORD_BYTES = 40;
const MAGIC = "tidings-history1";
const NUMBER_BITS = 40n;
const OTHER = 1n << 62n;
const WRITER = 1n;

/** As in `tidings_harness.history.events`. */
export const EVENT = {
  device: 1,
  send: 2,
  sent: 3,
  read: 4,
  readDone: 5,
  given: 6,
  in: 7,
  out: 8,
  row: 9,
  quiet: 10,
  step: 11,
} as const;
export const OUTCOME = { unknown: 0, ok: 1, failed: 2 } as const;

interface HistoryEvent {
  kind: number;
  device?: number;
  chat?: number;
  message?: bigint;
  connection?: number;
  sequence?: number;
  value?: number;
  outcome?: number;
  isMessage?: boolean;
}

export class HistoryRecorder {
  readonly #events: string;
  readonly #names: string;
  readonly #known = new Map<string, number>();
  readonly #members = new Set<string>();
  #last = 0n;

  constructor(directory: string) {
    mkdirSync(directory, { recursive: true });
    this.#events = join(directory, "0001.events");
    this.#names = join(directory, "0001.names");
    const head = Buffer.alloc(RECORD_BYTES);
    head.write(MAGIC);
    head.writeUInt32LE(Number(WRITER), MAGIC.length);
    head.writeBigUInt64LE(BigInt(Date.now()) * 1_000_000n, MAGIC.length + 4);
    writeFileSync(this.#events, head, { flag: "wx" });
    writeFileSync(this.#names, "", { flag: "wx" });
  }

  /** Return the number of a name. The name is written before any event that uses it. */
  name(text: string): number {
    let found = this.#known.get(text);
    if (found === undefined) {
      found = this.#known.size;
      this.#known.set(text, found);
      appendFileSync(this.#names, `${JSON.stringify(text)}\n`);
    }
    return found;
  }

  newMessage(): bigint {
    this.#last += 1n;
    return (WRITER << NUMBER_BITS) | this.#last;
  }

  /** Record that an entry added or removed a user, once, although many devices receive it. */
  member(kind: number, chat: string, sequence: number, user: string): void {
    const fact = JSON.stringify([kind, chat, sequence, user]);
    if (this.#members.has(fact)) return;
    this.#members.add(fact);
    this.write({ kind, chat: this.name(chat), sequence, value: this.name(user) });
  }

  write(event: HistoryEvent): void {
    const record = Buffer.alloc(RECORD_BYTES);
    record.writeBigUInt64LE(process.hrtime.bigint(), 0);
    record.writeBigUInt64LE(event.message ?? 0n, 8);
    record.writeUInt32LE(event.device ?? 0, 16);
    record.writeUInt32LE(event.chat ?? 0, 20);
    record.writeUInt32LE(event.connection ?? 0, 24);
    record.writeUInt32LE(event.sequence ?? 0, 28);
    record.writeUInt32LE(event.value ?? 0, 32);
    record.writeUInt8(event.kind, 36);
    record.writeUInt8(event.outcome ?? 0, 37);
    record.writeUInt8(event.isMessage ? 1 : 0, 38);
    appendFileSync(this.#events, record);
  }
}

/** The text of a message starts with its number, so that the checker recognises it in every device. */
export function messageText(message: bigint): string {
  return message.toString(16).padStart(16, "0").padEnd(40, ".");
}

export function messageNumber(text: string): bigint {
  return /^[0-9a-f]{16}/.test(text) ? BigInt(`0x${text.slice(0, 16)}`) : OTHER - 1n;
}

/** A number for an entry that is not a message: the same for all devices that received the same entry. */
export function entryFingerprint(...content: unknown[]): bigint {
  const digest = createHash("sha256").update(JSON.stringify(content)).digest();
  return OTHER | BigInt(`0x${digest.subarray(0, 7).toString("hex")}`);
}
