/** The outbox with its send queues, and the outcomes that the tabs show. */
import type { Backoff } from "./backoff.ts";
import { deferred } from "./deferred.ts";
import { errorData, refusedError } from "./errors.ts";
import type { FailedSend, TabEvent } from "./events.ts";
import type { ErrorBody } from "./frames.gen.ts";
import type { Accepted, Outbox } from "./outbox.ts";
import type { Positions } from "./positions.ts";
import { type RequestSender, type SendOutcomeHandler, SendQueues } from "./send_queues.ts";
import type { BatchedStore } from "./stores/batched_store.ts";
import type { OutboxEntry, OutboxRequest } from "./stores/store.ts";

const MAX_FAILED = 100;
const MAX_SETTLED = 50;

export interface OutboxServiceDeps {
  readonly store: BatchedStore;
  readonly session: RequestSender;
  readonly outbox: Outbox;
  readonly positions: Positions;
  readonly emit: (event: TabEvent) => void;
  readonly user: () => string;
  readonly start: (task: Promise<void>) => void;
  readonly sleep: (ms: number) => Promise<void>;
  readonly newBackoff: () => Backoff;
}

export class OutboxService implements SendOutcomeHandler {
  readonly #deps: OutboxServiceDeps;
  readonly #queues: SendQueues;
  /** Refused messages, which the user may send again or discard. They are not stored. */
  #failed: readonly FailedSend[] = [];
  /** The keys of the last settled messages. A tab that has missed the outcome may put a message again. */
  #settled: readonly string[];
  #outcome = deferred<void>();

  constructor(deps: OutboxServiceDeps, settled: readonly string[]) {
    this.#deps = deps;
    this.#settled = settled;
    this.#queues = new SendQueues({ ...deps, outcomes: this });
  }

  get failed(): readonly FailedSend[] {
    return this.#failed;
  }

  get queued(): readonly OutboxEntry[] {
    return this.#deps.outbox.rows;
  }

  /** Send the rows of the store. */
  run(): void {
    for (const chat of this.#deps.outbox.chats) this.#queues.wake(chat);
  }

  /**
   * Store a message, and send it then. The key makes a repeated call harmless.
   *
   * `isConnected`: if it is the first one of its chat, `after` is stored with it. Otherwise before the first try.
   */
  async put(request: OutboxRequest, isConnected: boolean): Promise<void> {
    const { outbox, positions, session, emit } = this.#deps;
    const { chat, client_message_id: key } = request.body;
    if (this.#settled.includes(key)) return;
    const after = isConnected && !outbox.first(chat) ? positions.head(chat) : undefined;
    const { epoch } = session;
    await outbox.add(request, after !== undefined && epoch !== undefined ? { after, epoch } : undefined);
    // Race: this tab ends after the message was sent, and the tab that wrote it has no answer to its command. It would
    // give the message to the next leader, as a new one. So the tabs learn that it is stored before it is sent.
    emit({ type: "queued", request });
    this.#queues.wake(chat);
  }

  /** Settle a message whose entry arrived. */
  saw(chat: string, key: string, sequence: number): void {
    this.#queues.saw(chat, key, sequence);
  }

  async flush(): Promise<void> {
    while (this.#deps.outbox.size) await this.#outcome.promise;
  }

  discard(chat: string, key: string): void {
    this.#failed = this.#failed.filter(({ request }) => request.body.client_message_id !== key);
    this.#deps.emit({ type: "discarded", chat, key });
  }

  accepted({ body: { chat, client_message_id } }: OutboxEntry, { sequence, isRepeat }: Accepted): void {
    this.#deps.emit({ type: "sent", sent: { chat, client_message_id, sequence, is_repeat: isRepeat } });
    this.#onOutcome(client_message_id);
  }

  rejected({ kind, body }: OutboxEntry, error: ErrorBody): void {
    const failed = { request: { kind, body } as OutboxRequest, error: errorData(refusedError(error)) };
    if (kind === "send") this.#failed = [...this.#failed, failed].slice(-MAX_FAILED);
    this.#deps.emit({ type: "sendFailed", failed });
    this.#onOutcome(body.client_message_id);
  }

  ownName(): string {
    return this.#deps.user();
  }

  #onOutcome(key: string): void {
    this.#settled = [...this.#settled, key].slice(-MAX_SETTLED);
    // In the same transaction as the deletion of the row.
    this.#deps.start(this.#deps.store.write({ settled: this.#settled }));
    this.#outcome.resolve();
    this.#outcome = deferred();
  }
}
