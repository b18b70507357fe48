/**
 * The commands of a tab to the client that holds the connection: the tab itself, or the leading tab.
 *
 * A command without an answer is executed again when another client takes over. This is safe: requests are idempotent,
 * and messages have their `client_message_id`.
 */
import type { RequestKind } from "./codec.ts";
import { type Deferred, deferred } from "./deferred.ts";
import type { TidingsError } from "./errors.ts";
import type { OutboxRequest } from "./stores/store.ts";

export type Command =
  | { readonly type: "put"; readonly request: OutboxRequest }
  | { readonly type: "request"; readonly kind: RequestKind; readonly body: unknown }
  | { readonly type: "messages"; readonly chat: string }
  | { readonly type: "discard"; readonly chat: string; readonly key: string }
  | { readonly type: "flush" };

/** A message of a tab to the client that needs no answer. Only the latest `watch` and `presence` of a tab matter. */
export type Notice =
  | { readonly type: "watch"; readonly names: readonly string[] }
  | { readonly type: "typing"; readonly chat: string; readonly isTyping: boolean }
  | { readonly type: "presence"; readonly status: "online" | "away" };

/** Executes commands. Rejects with a `TidingsError`. */
export interface CommandExecutor {
  execute(command: Command): Promise<unknown>;
  notify(notice: Notice): void;
}

interface PendingCommand {
  readonly command: Command;
  readonly result: Deferred<unknown>;
}

export class CommandQueue {
  readonly #pending = new Set<PendingCommand>();
  #executor: CommandExecutor | undefined;

  /** Execute a command, now or when there is an executor. */
  run(command: Command): Promise<unknown> {
    const pending = { command, result: deferred<unknown>() };
    this.#pending.add(pending);
    this.#execute(pending);
    return pending.result.promise;
  }

  notify(notice: Notice): void {
    this.#executor?.notify(notice);
  }

  /** Use another executor, and give it all commands that have no answer. Without one, commands wait. */
  attach(executor: CommandExecutor | undefined): void {
    this.#executor = executor;
    for (const pending of [...this.#pending]) this.#execute(pending);
  }

  /** Answer the command of a message that is in the store. It must not be stored again when it has been sent. */
  onStored(key: string): void {
    for (const pending of [...this.#pending]) {
      const { command, result } = pending;
      if (command.type === "put" && command.request.body.client_message_id === key)
        this.#settle(pending, () => result.resolve(undefined));
    }
  }

  /** Reject all commands that have no answer. */
  reject(error: TidingsError): void {
    for (const pending of [...this.#pending]) this.#settle(pending, () => pending.result.reject(error));
  }

  #execute(pending: PendingCommand): void {
    const executor = this.#executor;
    // The answer of an executor that was replaced does not count: it may be its end.
    const settle = (settleResult: () => void) => {
      if (executor === this.#executor) this.#settle(pending, settleResult);
    };
    executor?.execute(pending.command).then(
      (value) => settle(() => pending.result.resolve(value)),
      (error: unknown) => settle(() => pending.result.reject(error)),
    );
  }

  #settle(pending: PendingCommand, settleResult: () => void): void {
    if (this.#pending.delete(pending)) settleResult();
  }
}
