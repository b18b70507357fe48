/** A device in a browser context of its own: it has its own store, and its own network link to the gateway. */

import type { Browser, BrowserContext, Page } from "@playwright/test";
import type { Observation } from "../app/src/history.ts";
import { fragmentOf } from "../app/src/options.ts";
import { NetworkLink } from "../stack/network.ts";
import {
  EVENT,
  entryFingerprint,
  type HistoryRecorder,
  messageNumber,
  messageText,
  OUTCOME,
} from "./recorder.ts";

const MEMBERSHIP: Record<string, number> = { create: EVENT.in, join: EVENT.in, leave: EVENT.out };

export interface DeviceSetup {
  browser: Browser;
  app: string;
  gateway: string;
  user: string;
  name: string;
  token: string;
  recorder: HistoryRecorder;
}

export class BrowserDevice {
  readonly user: string;
  readonly link: NetworkLink;
  readonly number: number;
  /** The highest sequence of each chat that the device has observed. */
  readonly positions = new Map<string, number>();
  /** Sends and reads without an outcome. */
  pending = 0;
  /** The highest sequence that this device has read, as far as the server has confirmed it. */
  readUpTo = 0;
  state = "";
  readonly #setup: DeviceSetup;
  readonly #connection: number;
  readonly #context: BrowserContext;
  readonly #page: Page;

  private constructor(setup: DeviceSetup, link: NetworkLink, context: BrowserContext, page: Page) {
    const { recorder, user, name } = setup;
    this.#setup = setup;
    this.user = user;
    this.link = link;
    this.#context = context;
    this.#page = page;
    this.number = recorder.name(`${user}/${name}`);
    this.#connection = this.number + 1;
    recorder.write({ kind: EVENT.device, device: this.number, value: recorder.name(user) });
  }

  static async open(setup: DeviceSetup): Promise<BrowserDevice> {
    const link = await NetworkLink.to(setup.gateway);
    const context = await setup.browser.newContext();
    const page = await context.newPage();
    const device = new BrowserDevice(setup, link, context, page);
    await page.exposeFunction("record", (observations: Observation[]) => {
      for (const each of observations) device.#observed(each);
    });
    const options = { url: link.url, token: setup.token, user: setup.user, view: "history" as const };
    await page.goto(`${setup.app}/${fragmentOf(options)}`);
    await page.waitForFunction(() => window.tidings.connection.get().state === "live");
    return device;
  }

  /** Send a message. The start is recorded before the page puts the message into its outbox. */
  async send(chat: string): Promise<void> {
    const { recorder } = this.#setup;
    const message = recorder.newMessage();
    recorder.write({ kind: EVENT.send, device: this.number, chat: recorder.name(chat), message });
    this.pending++;
    const given = [chat, String(message), messageText(message)] as const;
    await this.#page.evaluate(([to, id, text]) => window.device.send(to, id, text), given);
  }

  async read(chat: string): Promise<void> {
    const sequence = this.positions.get(chat);
    if (sequence === undefined) return;
    const { recorder } = this.#setup;
    const message = recorder.newMessage();
    this.pending++;
    recorder.write({ kind: EVENT.read, device: this.number, chat: recorder.name(chat), message, sequence });
    const given = [chat, String(message), sequence] as const;
    await this.#page.evaluate(([to, id, upTo]) => window.device.read(to, id, upTo), given);
  }

  /** Return the read position that this device shows. */
  async shownRead(chat: string): Promise<number> {
    return (await this.#page.evaluate((id) => window.device.row(id), chat))?.read ?? 0;
  }

  /** Record that the run has ended for this device, and the unread count that it shows. */
  async finish(chat: string): Promise<void> {
    const { recorder } = this.#setup;
    const row = await this.#page.evaluate((id) => window.device.row(id), chat);
    recorder.write({ kind: EVENT.quiet, device: this.number });
    if (!row) return;
    const value = recorder.name(this.user);
    const message = BigInt(row.unread);
    recorder.write({ kind: EVENT.row, chat: recorder.name(chat), value, message, sequence: row.read });
  }

  async close(): Promise<void> {
    await this.#context.close();
    await this.link.close();
  }

  #observed(observation: Observation): void {
    const { recorder } = this.#setup;
    if (observation.type === "entry") this.#received(observation);
    if (observation.type === "state") this.state = observation.state;
    if (observation.type !== "sent" && observation.type !== "read") return;
    const isSend = observation.type === "sent";
    this.pending--;
    if (!isSend && observation.outcome === "ok")
      this.readUpTo = Math.max(this.readUpTo, observation.sequence);
    recorder.write({
      kind: isSend ? EVENT.sent : EVENT.readDone,
      outcome: OUTCOME[observation.outcome],
      device: this.number,
      chat: recorder.name(observation.chat),
      message: BigInt(isSend ? observation.message : observation.operation),
      sequence: observation.sequence,
    });
  }

  #received(entry: Observation & { type: "entry" }): void {
    const { recorder } = this.#setup;
    const { chat, sequence, kind, by, text, users, name } = entry;
    const isMessage = kind === "message";
    const membership = MEMBERSHIP[kind];
    if (membership) for (const user of users) recorder.member(membership, chat, sequence, user);
    this.positions.set(chat, Math.max(sequence, this.positions.get(chat) ?? 0));
    recorder.write({
      kind: EVENT.given,
      device: this.number,
      chat: recorder.name(chat),
      connection: this.#connection,
      sequence,
      message: isMessage ? messageNumber(text) : entryFingerprint(kind, by, name, [...users].sort()),
      isMessage,
    });
  }
}
