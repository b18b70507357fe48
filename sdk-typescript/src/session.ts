/**
 * Run connections one after the other, until the client ends or the server refuses it permanently.
 *
 * A thin shell around the state machine in `connection_protocol`: it performs the effects, waits between connections,
 * and returns answers to their callers. It does not depend on the outbox or the models.
 */

import { Backoff } from "./backoff.ts";
import { now } from "./clock.ts";
import { closeCodeForError, NO_CLOSE_FRAME } from "./close_codes.ts";
import { type AnswerTo, encodeRequest, type Push, type RequestKind } from "./codec.ts";
import { ConnectionProtocol, type Effect, type State } from "./connection_protocol.ts";
import type { Credentials } from "./credentials.ts";
import { deferred } from "./deferred.ts";
import { sdkError, TidingsError } from "./errors.ts";
import { type ErrorBody, type Requests, VERSION, type Welcome } from "./frames.gen.ts";
import { ReconnectPolicy } from "./reconnect_policy.ts";
import { RequestQueue, type RequestTarget } from "./request_queue.ts";
import type { Socket, SocketFactory, Timeouts } from "./types.ts";

const SDK = `tidings-typescript/${VERSION}`;
const DRAIN_MS = 5_000;
const MAX_TIMER_MS = 2 ** 31 - 1;

export interface DialOptions {
  readonly url: string;
  readonly socket: SocketFactory;
  readonly timeouts: Timeouts;
}

/** The client of a session. */
export interface SessionListener {
  device(): string | undefined;
  epoch(): number | undefined;
  positions(): Iterable<readonly [string, number]>;
  /** Accept the welcome. Throws `user_mismatch` if the credential belongs to another user. */
  welcomed(welcome: Welcome): void;
  onLive(): void;
  pushed(push: Push): void;
  /** `closed`: the next connection follows after `waitMs`. */
  stateChanged(state: State, waitMs?: number, reason?: string): void;
}

interface ConnectionEnd {
  readonly code: number;
  readonly reason: string;
}

export class Session implements RequestTarget {
  readonly #dial: DialOptions;
  readonly #credentials: Credentials;
  readonly #listener: SessionListener;
  readonly #backoff: Backoff;
  readonly #policy: ReconnectPolicy;
  readonly #requests: RequestQueue;
  #socket: Socket | undefined;
  #letIn = deferred<void>();
  #refusal: ErrorBody | undefined;
  #leaveAt = Infinity;
  #closedAt = Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #end: (end: ConnectionEnd) => void = () => undefined;
  #fail: (error: unknown) => void = () => undefined;
  #wakeAt = Infinity;
  #wake: () => void = () => undefined;
  #isDelayRequested = false;
  #isClosed = false;
  connection: ConnectionProtocol | undefined;
  epoch: number | undefined;

  constructor(dial: DialOptions, credentials: Credentials, listener: SessionListener) {
    this.#dial = dial;
    this.#credentials = credentials;
    this.#listener = listener;
    this.#backoff = new Backoff(Math.random, dial.timeouts.backoffFirstMs, dial.timeouts.backoffLongestMs);
    this.#requests = new RequestQueue(this, dial.timeouts.answerMs);
    this.#policy = new ReconnectPolicy(credentials, this.#backoff);
  }

  /** Keep a connection until `close`. Rejects with a `TidingsError` if reconnecting cannot help. */
  async run(): Promise<void> {
    while (!this.#isClosed) {
      this.#listener.stateChanged("connecting");
      const end = await this.#runConnection();
      if (this.#isClosed) return;
      const { waitMs, isRequested } = this.#policy.after(end.code, end.reason, now());
      this.#isDelayRequested = isRequested;
      this.#listener.stateChanged("closed", waitMs, end.reason);
      await this.#sleep(waitMs);
    }
  }

  /** End the connection and all requests. */
  close(): void {
    this.#isClosed = true;
    const error = sdkError("client_stopped", "The client is closed.");
    this.#requests.close(error);
    this.#letIn.reject(error);
    this.#letIn = deferred();
    this.#letIn.reject(error);
    this.#end({ code: 1000, reason: "closed" });
    this.#wake();
  }

  /** Reconnect now, because the network is back, unless the server gave the delay. */
  retryNow(): void {
    if (!this.#isDelayRequested) this.#wake();
  }

  /** Check all deadlines. Browsers delay the timers of hidden pages by up to a minute. */
  poke(): void {
    if (now() >= this.#wakeAt) this.#wake();
    if (this.connection) this.#onTimer(this.connection);
  }

  /** Wait for a connection that accepts requests. Rejects with `client_stopped`. */
  letIn(): Promise<void> {
    return this.#letIn.promise;
  }

  /**
   * Send a request and return its answer, which may be an error.
   *
   * `epoch`: the epoch of the sequences in the request. Rejects with `request_timeout` if the connection has another
   * one, if it is lost, or if there is no answer in time.
   */
  ask<K extends RequestKind>(kind: K, body: Requests[K], epoch?: number): Promise<AnswerTo<K>> {
    if (this.#isClosed) return Promise.reject(sdkError("client_stopped", "The client is closed."));
    return this.#requests.ask(kind, body, epoch);
  }

  /** Send a request without an answer. Return false if there is no connection or the rate limit is reached. */
  send<K extends RequestKind>(kind: K, body: Requests[K]): boolean {
    if (!this.#isOpen || !this.#requests.take()) return false;
    this.write(encodeRequest(kind, body));
    return true;
  }

  get #isOpen(): boolean {
    return this.connection?.isLetIn ?? false;
  }

  write(data: string): void {
    try {
      this.#socket?.send(data);
    } catch {
      // The socket is closing. Its close event ends the connection.
    }
  }

  /** Run one connection, and return its end. */
  async #runConnection(): Promise<ConnectionEnd> {
    let credential: string;
    try {
      credential = await this.#credentials.get();
    } catch (error) {
      if (error instanceof TidingsError) throw error;
      return { code: NO_CLOSE_FRAME, reason: `No credential: ${error}` };
    }
    if (this.#isClosed) return { code: 1000, reason: "closed" };
    const socket = this.#open();
    try {
      return await new Promise<ConnectionEnd>((resolve, reject) => {
        this.#end = resolve;
        this.#fail = reject;
        this.#serve(socket, credential);
      });
    } finally {
      this.#onLost(socket);
    }
  }

  #open(): Socket {
    try {
      return this.#dial.socket(this.#dial.url);
    } catch (error) {
      throw sdkError("client_stopped", `The socket cannot be opened: ${error}`);
    }
  }

  #serve(socket: Socket, credential: string): void {
    this.#socket = socket;
    this.#refusal = undefined;
    this.#leaveAt = this.#closedAt = Infinity;
    this.#timer = setTimeout(
      () => this.#end({ code: NO_CLOSE_FRAME, reason: "The socket did not open in time." }),
      this.#dial.timeouts.openMs,
    );
    socket.onopen = () => {
      const connection = new ConnectionProtocol(() => this.#listener.positions(), now());
      this.connection = connection;
      const hello = { credential, device: this.#listener.device(), sdk: SDK, epoch: this.#listener.epoch() };
      this.#perform(connection.opened(hello));
      this.#setTimer();
      socket.onmessage = ({ data }) => {
        this.#perform(connection.received(data, now()));
        this.#leaveIfDrained();
      };
    };
    socket.onclose = ({ code, reason }) => this.#end(this.#endOf(code, reason));
    // A close event with the code follows.
    socket.onerror = () => undefined;
  }

  /** Return the end by the close frame. Without one: by the error that refused `connect`, or as a lost connection. */
  #endOf(code: number, reason: string): ConnectionEnd {
    if (code !== NO_CLOSE_FRAME || !this.#refusal)
      return { code, reason: reason || "The connection was lost." };
    return { code: closeCodeForError(this.#refusal.code), reason: this.#refusal.message };
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    const connection = this.connection;
    if (!connection || connection.state === "closed") return;
    const wakeAt = Math.min(connection.dueAt, this.#closedAt === Infinity ? this.#leaveAt : this.#closedAt);
    this.#timer = setTimeout(
      () => this.#onTimer(connection),
      Math.min(Math.max(wakeAt - now(), 0), MAX_TIMER_MS),
    );
  }

  #onTimer(connection: ConnectionProtocol): void {
    this.#perform(connection.onTimer(now()));
    this.#leaveIfDrained();
    this.#setTimer();
  }

  /** Leave a draining connection: after the last answer, or 5 seconds after the leave time. */
  #leaveIfDrained(): void {
    const at = now();
    if (at < this.#leaveAt) return;
    if (this.#closedAt === Infinity) {
      this.#requests.drain();
      this.#closedAt = at + DRAIN_MS;
    }
    if (!this.connection?.inFlight || at >= this.#closedAt)
      this.#end({ code: NO_CLOSE_FRAME, reason: "left" });
  }

  /** Perform effects. An error stops the client: it would only appear to work after a half applied frame. */
  #perform(effects: Effect[]): void {
    try {
      for (const effect of effects) this.#performOne(effect);
    } catch (error) {
      this.#fail(error);
    }
  }

  #performOne(effect: Effect): void {
    switch (effect.type) {
      case "write":
        this.write(effect.data);
        return;
      case "answered":
        this.#requests.onAnswer(effect.id, effect.answer);
        return;
      case "pushed":
        this.#listener.pushed(effect.push);
        return;
      case "authenticated":
        this.#onWelcome(effect.welcome);
        return;
      case "live":
        this.#backoff.isLive(now());
        this.#listener.onLive();
        this.#listener.stateChanged("live");
        return;
      case "connectRefused":
        this.#refusal = effect.error;
        return;
      case "reconnectRequested":
        this.#leaveAt = now() + effect.retryAfterMs + Math.random() * effect.spreadMs;
        this.#listener.stateChanged("draining");
        this.#setTimer();
        return;
      case "abandon":
        this.#end({ code: NO_CLOSE_FRAME, reason: effect.reason });
        return;
    }
  }

  #onWelcome(welcome: Welcome): void {
    this.#listener.welcomed(welcome);
    this.#credentials.wasGood();
    this.epoch = welcome.epoch;
    this.#listener.stateChanged("resuming");
    this.#setTimer();
    this.#letIn.resolve();
    this.#requests.onWelcome(welcome);
  }

  #onLost(socket: Socket): void {
    clearTimeout(this.#timer);
    // Callers that wait since before this connection keep waiting.
    if (this.#isOpen && !this.#isClosed) this.#letIn = deferred();
    this.connection?.lost();
    this.connection = this.#socket = undefined;
    this.#end = this.#fail = () => undefined;
    // Late events of this socket must not reach the next connection.
    socket.onopen = socket.onmessage = socket.onclose = socket.onerror = () => undefined;
    socket.close();
    this.#requests.onLost();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakeAt = now() + ms;
      this.#wake = () => {
        clearTimeout(timer);
        this.#wakeAt = Infinity;
        resolve();
      };
    });
  }
}
