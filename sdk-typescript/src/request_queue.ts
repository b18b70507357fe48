/** Requests that wait for a connection or for their answer, within the limits of the connection. */
import { now } from "./clock.ts";
import type { AnswerTo, RequestKind } from "./codec.ts";
import type { ConnectionProtocol } from "./connection_protocol.ts";
import { sdkError, type TidingsError } from "./errors.ts";
import type { Requests, Welcome } from "./frames.gen.ts";
import { TokenBucket } from "./token_bucket.ts";

interface PendingRequest {
  readonly kind: RequestKind;
  readonly body: unknown;
  readonly epoch: number | undefined;
  settle(answer: unknown, error?: TidingsError): void;
}

/** Where to send requests. `connection` is undefined without one. */
export interface RequestTarget {
  readonly connection: ConnectionProtocol | undefined;
  readonly epoch: number | undefined;
  write(data: string): void;
}

export class RequestQueue {
  readonly #target: RequestTarget;
  readonly #timeoutMs: number;
  #waiting: PendingRequest[] = [];
  readonly #asked = new Map<number, PendingRequest>();
  #tokenBucket = new TokenBucket(1, 1, 0);
  #maxInFlight = 1;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(target: RequestTarget, timeoutMs: number) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
  }

  /** Send a request when the connection allows it. Rejects with `request_timeout`. */
  ask<K extends RequestKind>(kind: K, body: Requests[K], epoch: number | undefined): Promise<AnswerTo<K>> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#forget(request);
        request.settle(undefined, sdkError("request_timeout", "The server did not answer in time."));
      }, this.#timeoutMs);
      const request: PendingRequest = {
        kind,
        body,
        epoch,
        settle: (answer, error) => {
          clearTimeout(timer);
          if (error) reject(error);
          else resolve(answer as AnswerTo<K>);
        },
      };
      this.#waiting.push(request);
      this.pump();
    });
  }

  /** Take a token for a frame without an answer. Return false if the rate limit is reached. */
  take(): boolean {
    return !this.#tokenBucket.take(now());
  }

  onWelcome({ limits }: Welcome): void {
    this.#maxInFlight = Math.max(1, limits.in_flight - 1);
    this.#tokenBucket = new TokenBucket(limits.frames_per_s, limits.burst, now());
    this.pump();
  }

  /** Send no more requests on this connection. */
  drain(): void {
    this.#maxInFlight = 0;
  }

  onAnswer(id: number, answer: unknown): void {
    this.#asked.get(id)?.settle(answer);
    this.#asked.delete(id);
    this.pump();
  }

  onLost(): void {
    this.#rejectAll([...this.#asked.values()], sdkError("request_timeout", "The connection was lost."));
    this.#asked.clear();
  }

  close(error: TidingsError): void {
    clearTimeout(this.#timer);
    this.#rejectAll(this.#waiting.splice(0), error);
  }

  /** Send the waiting requests that the limits of the connection allow. */
  pump(): void {
    clearTimeout(this.#timer);
    const { connection, epoch } = this.#target;
    while (this.#waiting.length && connection?.isLetIn && connection.inFlight < this.#maxInFlight) {
      const waitMs = this.#tokenBucket.take(now());
      if (waitMs) {
        this.#timer = setTimeout(() => this.pump(), waitMs);
        return;
      }
      const request = this.#waiting.shift() as PendingRequest;
      if (request.epoch !== undefined && request.epoch !== epoch) {
        request.settle(undefined, sdkError("request_timeout", "The installation was restored meanwhile."));
        continue;
      }
      const [id, { data }] = connection.ask(request.kind, request.body as Requests[RequestKind]);
      this.#asked.set(id, request);
      this.#target.write(data);
    }
  }

  #forget(request: PendingRequest): void {
    this.#waiting = this.#waiting.filter((each) => each !== request);
    for (const [id, each] of this.#asked) {
      if (each !== request) continue;
      this.#asked.delete(id);
      this.#target.connection?.dropRequest(id);
    }
    this.pump();
  }

  #rejectAll(requests: PendingRequest[], error: TidingsError): void {
    for (const request of requests) request.settle(undefined, error);
  }
}
