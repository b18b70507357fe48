/** Send the messages of the outbox: one queue per chat, in order, each with retries until its outcome is known. */
import type { Backoff } from "./backoff.ts";
import { now } from "./clock.ts";
import type { AnswerTo, RequestKind } from "./codec.ts";
import { isTimeout } from "./errors.ts";
import type { Entry, ErrorBody, GetHistory, HistoryPage, Requests } from "./frames.gen.ts";
import { type Accepted, decideSend, findInLog, type Outbox, type SendDecision, sentAfter } from "./outbox.ts";
import type { Positions } from "./positions.ts";
import type { OutboxEntry } from "./stores/store.ts";

const PAGE = 200;
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Return a new ULID: 48 bits of milliseconds and 80 random bits in 26 characters. ULIDs sort by time. */
export function newClientMessageId(): string {
  let time = Date.now();
  let id = "";
  for (let digit = 0; digit < 10; digit++, time = Math.floor(time / 32)) id = ALPHABET[time % 32] + id;
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) id += ALPHABET[byte % 32];
  return id;
}

/** The part of the session that sends requests. */
export interface RequestSender {
  readonly epoch: number | undefined;
  letIn(): Promise<void>;
  ask<K extends RequestKind>(kind: K, body: Requests[K], epoch?: number): Promise<AnswerTo<K>>;
}

/** Receives the outcome of each row once. The deletion from the store is on its way; a crash before it repeats the row. */
export interface SendOutcomeHandler {
  accepted(row: OutboxEntry, outcome: Accepted): void;
  rejected(row: OutboxEntry, error: ErrorBody): void;
  ownName(): string;
}

export interface SendQueueDeps {
  readonly session: RequestSender;
  readonly outbox: Outbox;
  readonly positions: Positions;
  readonly outcomes: SendOutcomeHandler;
  /** Run a task of the client. Its error stops the client. */
  readonly start: (task: Promise<void>) => void;
  readonly sleep: (ms: number) => Promise<void>;
  readonly newBackoff: () => Backoff;
}

/** An error of `history` while a row is sent, as a decision about the row. */
interface HistoryRefused {
  readonly decision: SendDecision;
}

export class SendQueues {
  readonly #deps: SendQueueDeps;
  readonly #running = new Set<string>();

  constructor(deps: SendQueueDeps) {
    this.#deps = deps;
  }

  wake(chat: string): void {
    if (this.#running.has(chat) || !this.#deps.outbox.first(chat)) return;
    this.#running.add(chat);
    this.#deps.start(this.#run(chat));
  }

  /** Settle the first row if its entry was pushed or read from the log. This replaces a lost answer. */
  saw(chat: string, key: string, sequence: number): void {
    const row = this.#deps.outbox.first(chat);
    if (row?.body.client_message_id === key)
      this.#finish(row, { type: "accepted", sequence, isRepeat: true });
  }

  async #run(chat: string): Promise<void> {
    try {
      for (let row = this.#deps.outbox.first(chat); row; row = this.#deps.outbox.first(chat))
        await this.#sendUntilSettled(row);
    } finally {
      this.#running.delete(chat);
    }
  }

  /** Send a row until it is settled. Each try reads the stored row again, because `after` may have changed. */
  async #sendUntilSettled(row: OutboxEntry): Promise<void> {
    const { session, outbox, sleep, newBackoff } = this.#deps;
    const backoff = newBackoff();
    let failures = 0;
    for (;;) {
      await session.letIn();
      const current = outbox.first(row.body.chat);
      if (current?.body.client_message_id !== row.body.client_message_id) return;
      const decision = await this.#try(current, failures);
      if (decision.type !== "retry") return this.#finish(current, decision);
      if (decision.isFailure) failures++;
      await sleep(backoff.waitMs(now(), decision.retryAfterMs));
    }
  }

  async #try(row: OutboxEntry, failures: number): Promise<SendDecision> {
    const { session } = this.#deps;
    const epoch = session.epoch;
    if (epoch === undefined) return { type: "retry" };
    try {
      if (row.body.after === undefined)
        row = await this.#store(row, await this.#firstAfter(row.body.chat, epoch), epoch);
      else if (row.epoch !== epoch) return await this.#catchUp(row, epoch);
      const decision = decideSend(
        await session.ask(row.kind, row.body as Requests[typeof row.kind], epoch),
        failures,
      );
      return decision.type === "catchUp" ? await this.#catchUp(row, epoch) : decision;
    } catch (error) {
      if ((error as HistoryRefused).decision) return (error as HistoryRefused).decision;
      if (isTimeout(error)) return { type: "retry", retryAfterMs: 0 };
      throw error;
    }
  }

  #finish(row: OutboxEntry, decision: SendDecision): void {
    const { outbox, positions, outcomes } = this.#deps;
    if (!outbox.remove(row)) return;
    if (decision.type === "accepted") {
      positions.committed(row.body.chat, decision.sequence);
      outcomes.accepted(row, decision);
    } else if (decision.type === "rejected") {
      positions.doubt(row.body.chat);
      outcomes.rejected(row, decision.error);
    }
  }

  async #firstAfter(chat: string, epoch: number): Promise<number> {
    return this.#deps.positions.head(chat) ?? (await this.#head(chat, epoch));
  }

  /**
   * Search the log after `after` for the row's key. If it is absent, raise `after` page by page.
   *
   * Never raise it over the end of a membership: the server refuses tries from before, so the message is not and will
   * not be in the log.
   */
  async #catchUp(row: OutboxEntry, epoch: number): Promise<SendDecision> {
    const { chat } = row.body;
    const head = await this.#head(chat, epoch);
    if ((row.body.after ?? 0) > head) {
      await this.#store(row, head, epoch);
      return { type: "retry", retryAfterMs: 0 };
    }
    for (;;) {
      const page = await this.#page({ chat, after: row.body.after ?? 0, limit: PAGE }, epoch);
      const found = findInLog(row, this.#deps.outcomes.ownName(), page.entries);
      if (found?.isOwn) return { type: "accepted", sequence: found.entry.sequence, isRepeat: true };
      if (found) return { type: "rejected", error: membershipEnded(found.entry) };
      row = await this.#store(row, page.up_to, epoch);
      if (!page.has_newer) return { type: "retry" };
    }
  }

  async #store(row: OutboxEntry, after: number, epoch: number): Promise<OutboxEntry> {
    const changed = sentAfter(row, after, epoch);
    await this.#deps.outbox.changeFirst(changed);
    return changed;
  }

  async #head(chat: string, epoch: number): Promise<number> {
    const { up_to } = await this.#page({ chat, limit: 1 }, epoch);
    this.#deps.positions.committed(chat, up_to);
    return up_to;
  }

  async #page(request: GetHistory, epoch: number): Promise<HistoryPage> {
    const answer = await this.#deps.session.ask("history", request, epoch);
    if (answer.error) throw { decision: decideSend(answer, 0) } satisfies HistoryRefused;
    return answer.ok;
  }
}

function membershipEnded({ sequence }: Entry): ErrorBody {
  return {
    code: "not_a_member",
    message: `The user's right to send ended at sequence ${sequence}, before the message was committed.`,
    hint: "If the user is a member again, send a new message.",
    retryable: false,
    docs: "",
  };
}
