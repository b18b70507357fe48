/** The items of a timeline, from entries of the log and from messages of the outbox. Pure functions. */
import type { Entry, MessageState, Send } from "./frames.gen.ts";
import type { TimelineItem } from "./types.ts";

const CHANGES = ["edit", "redaction", "reaction"];
const STATE_FIELDS = [
  "state",
  "text",
  "data",
  "reply_to",
  "mentions",
  "attachments",
  "content_type",
  "edited_at",
  "redacted_at",
  "expires_at",
  "reactions",
] as const;

/** Return whether an entry changes another one, and is no item itself. */
export function isChange({ kind }: Entry): boolean {
  return CHANGES.includes(kind);
}

/** Return the key of an entry. An own message keeps the key that it had in the outbox. */
export function keyOfEntry({ client_message_id, sequence }: Entry): string {
  return client_message_id ?? `#${sequence}`;
}

/** Return the message with its current state. Fields that the state does not have are removed. */
export function changedEntry(entry: Entry, state: MessageState): Entry {
  const kept = Object.entries(entry).filter(
    ([field]) => !STATE_FIELDS.includes(field as (typeof STATE_FIELDS)[number]),
  );
  return { ...(Object.fromEntries(kept) as unknown as Entry), ...state };
}

/** Return the state of a message as in `changed` of a push. */
function stateOf(entry: Entry): MessageState {
  return Object.fromEntries(
    STATE_FIELDS.flatMap((field) => (entry[field] === undefined ? [] : [[field, entry[field]]])),
  ) as unknown as MessageState;
}

/**
 * Add `changed` to changes whose message is in the same range.
 *
 * The server omits it there, because the message has its current state. But a tab may have the message already, from
 * before the change, and would drop it as a duplicate.
 */
export function withChanged(entries: readonly Entry[]): readonly Entry[] {
  if (!entries.some((entry) => isChange(entry) && !entry.changed)) return entries;
  const bySequence = new Map(entries.map((entry) => [entry.sequence, entry]));
  return entries.map((entry) => {
    const message = isChange(entry) && !entry.changed ? bySequence.get(entry.refers_to ?? 0) : undefined;
    return message ? { ...entry, changed: stateOf(message) } : entry;
  });
}

export function itemFromEntry(entry: Entry, user: string): TimelineItem {
  const { sequence, kind, by, at, text, mentions, attachments, reactions, data, reply_to, edited_at } = entry;
  return {
    key: keyOfEntry(entry),
    sequence,
    kind,
    by,
    at,
    isOwn: by === user,
    state: entry.state === "active" && edited_at !== undefined ? "edited" : entry.state,
    text,
    mentions,
    attachments,
    reactions,
    data,
    reply_to,
    edited_at,
    delivery: "committed",
    entry,
  };
}

export function itemFromSend(
  { client_message_id, text = "", mentions = [], attachments = [], data, reply_to }: Send,
  user: string,
): TimelineItem {
  return {
    key: client_message_id,
    kind: "message",
    by: user,
    at: Date.now(),
    isOwn: true,
    state: "active",
    text,
    mentions,
    attachments,
    reactions: [],
    data,
    reply_to,
    delivery: "pending",
  };
}
