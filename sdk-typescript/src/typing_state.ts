/**
 * Which users are typing in which chat, and when to send the user's own typing. Without I/O and clock.
 *
 * Any typing push may be lost, so typing ends automatically: after 6 seconds without another push, and with the message.
 */
import { getOrCreate } from "./collections.ts";

export const ENDS_AFTER_MS = 6_000;
/** The server forwards at most one in three seconds and drops earlier ones. */
export const TYPING_EVERY_MS = 3_500;

/** Other users who are typing. Methods that apply a change return whether the state changed. */
export class TypingUsers {
  readonly #until = new Map<string, Map<string, number>>();

  of(chat: string): string[] {
    return [...(this.#until.get(chat)?.keys() ?? [])].sort();
  }

  onTyping(chat: string, user: string, now: number): boolean {
    const users = getOrCreate(this.#until, chat, () => new Map<string, number>());
    const isNew = !users.has(user);
    users.set(user, now + ENDS_AFTER_MS);
    return isNew;
  }

  /** End the typing of a user who stopped, or whose message arrived. */
  stopped(chat: string, user: string): boolean {
    return this.#until.get(chat)?.delete(user) ?? false;
  }

  /** End the typing that is due. Return the chats that changed. */
  endThoseDue(now: number): string[] {
    return [...this.#until].flatMap(([chat, users]) => {
      const due = [...users].filter(([, until]) => until <= now);
      for (const [user] of due) users.delete(user);
      return due.length ? [chat] : [];
    });
  }

  clear(): string[] {
    return this.endThoseDue(Infinity);
  }

  get dueAt(): number {
    return Math.min(...[...this.#until.values()].flatMap((users) => [...users.values()]));
  }
}

/**
 * Decide what to send of the user's own typing: a start (true), an end (false), or nothing.
 *
 * The app may call it on every keystroke.
 */
export class TypingSender {
  readonly #sentAt = new Map<string, number>();
  readonly #messageSent = new Set<string>();

  /**
   * Return what to send when the user types.
   *
   * Soon after a message, send an end first: the server would take the start for a repeat of the typing before the
   * message, and would not forward it.
   */
  begins(chat: string, now: number): boolean[] {
    const isRecent = now - (this.#sentAt.get(chat) ?? -Infinity) < TYPING_EVERY_MS;
    if (isRecent && !this.#messageSent.has(chat)) return [];
    this.#sentAt.set(chat, now);
    this.#messageSent.delete(chat);
    return isRecent ? [false, true] : [true];
  }

  /**
   * Return what to send when the user stops: an end, if others still see the typing.
   *
   * Nothing after a message, which has ended the typing for others already.
   */
  ends(chat: string, now: number): boolean[] {
    if (this.#messageSent.has(chat)) return [];
    const sentAt = this.#sentAt.get(chat) ?? -Infinity;
    this.#sentAt.delete(chat);
    return now - sentAt < ENDS_AFTER_MS ? [false] : [];
  }

  /** Record that a message was sent. It ends the typing for other users. */
  sent(chat: string): void {
    if (this.#sentAt.has(chat)) this.#messageSent.add(chat);
  }
}
