/**
 * Derive the delivery status of messages in watched chats, by the server's rule. Without I/O.
 *
 * The inputs are `receipts` pushes and entries of the log: joins, leaves and messages. Watermarks only move forward.
 * There are no receipts in large chats, so the status there stays `sent`. The server does not send membership intervals
 * that ended before the chat was watched: a member who rejoined counts from the last join.
 */
import { getOrCreate } from "./collections.ts";
import type { Entry, MemberWatermarks, Receipts } from "./frames.gen.ts";
import type { MessageReceipts, MessageStatus } from "./types.ts";

/**
 * A membership interval, from the join entry to the leave entry.
 *
 * `until` is infinite if the member has left, and the leave entry has not arrived yet.
 */
interface Interval {
  readonly since: number;
  until?: number;
}

class Member {
  delivered = 0;
  read = 0;
  readonly #intervals: Interval[] = [];

  get #last(): Interval | undefined {
    return this.#intervals.at(-1);
  }

  get isMember(): boolean {
    return this.#last !== undefined && this.#last.until === undefined;
  }

  wasGiven(sequence: number): boolean {
    return this.#intervals.some(
      ({ since, until }) => since <= sequence && (until === undefined || sequence <= until),
    );
  }

  onJoin(since: number): boolean {
    const last = this.#last;
    if (last && this.isMember) {
      if (last.since >= since) return false;
      last.until = since;
    }
    this.#intervals.push({ since });
    return true;
  }

  onLeave(at: number): boolean {
    const last = this.#last;
    const until = last?.until || Infinity;
    if (!last || at < last.since || (at >= until && until !== Infinity)) return false;
    const wasMember = this.isMember;
    last.until = at;
    return wasMember;
  }

  /** Advance the watermarks. A read message is also delivered. Return whether one changed. */
  got(delivered: number, read: number): boolean {
    const before = [this.delivered, this.read];
    this.read = Math.max(this.read, read);
    this.delivered = Math.max(this.delivered, delivered, this.read);
    return before[0] !== this.delivered || before[1] !== this.read;
  }
}

/** The receipts of one chat. Methods that apply a change return whether the state changed. */
export class ChatReceipts {
  readonly #members = new Map<string, Member>();
  #isCounted = false;

  /** The current members, as far as known. */
  get members(): string[] {
    return [...this.#members].flatMap(([user, member]) => (member.isMember ? [user] : [])).sort();
  }

  applyReceipts({ members, is_snapshot }: Receipts): boolean {
    return is_snapshot ? this.#replace(members) : applyAll(members.map((each) => this.#got(each)));
  }

  /** Apply an entry of the log. Ignored before the first snapshot. */
  saw({ kind, sequence, by, users }: Entry): boolean {
    if (!this.#isCounted) return false;
    if (kind === "join" || kind === "create")
      return applyAll(users.map((user) => this.#of(user).onJoin(sequence)));
    if (kind === "leave")
      return applyAll((users.length ? users : [by]).map((user) => this.#of(user).onLeave(sequence)));
    return kind === "message" && this.#of(by).got(sequence, sequence);
  }

  status(sequence: number, sender: string): MessageReceipts {
    if (!this.#isCounted) return { status: "sent", delivered_to: [], read_by: [], has_receipts: false };
    const given = [...this.#members].filter(([user, member]) => user !== sender && member.wasGiven(sequence));
    const names = (holds: (member: Member) => boolean) =>
      given.flatMap(([user, member]) => (holds(member) ? [user] : [])).sort();
    return {
      status: lowestStatus(
        sequence,
        given.map(([, member]) => member).filter(({ isMember }) => isMember),
      ),
      delivered_to: names(({ delivered }) => delivered >= sequence),
      read_by: names(({ read }) => read >= sequence),
      has_receipts: true,
    };
  }

  /** Apply a snapshot. Absent users are not members. Watermarks do not move back: a snapshot may be late. */
  #replace(snapshot: readonly MemberWatermarks[]): boolean {
    const current = new Set(snapshot.map(({ user }) => user));
    const left = applyAll(
      [...this.#members].map(([user, member]) => !current.has(user) && member.onLeave(Infinity)),
    );
    const changed = applyAll(snapshot.map((each) => this.#got(each, true)));
    const hadReceipts = this.#isCounted;
    this.#isCounted = true;
    return changed || left || !hadReceipts;
  }

  #got({ user, delivered = 0, read = 0, since }: MemberWatermarks, isMember = false): boolean {
    const member = this.#of(user);
    const joined = (isMember || since !== undefined) && member.onJoin(since ?? 0);
    return member.got(delivered, read) || joined;
  }

  #of(user: string): Member {
    return getOrCreate(this.#members, user, () => new Member());
  }
}

/** Return whether one of the changes, all of them applied already, had an effect. */
function applyAll(changes: boolean[]): boolean {
  return changes.includes(true);
}

function lowestStatus(sequence: number, members: Member[]): MessageStatus {
  if (!members.length || members.some(({ delivered }) => delivered < sequence)) return "sent";
  return members.some(({ read }) => read < sequence) ? "delivered" : "read";
}
