import { type Entry, MODERATOR, type TimelineItem } from "@tidings/client";
import type { ReactNode } from "react";
import { useCurrentUser, useSettings } from "../hooks/client.ts";
import type { LocaleFormat } from "../locale/format.ts";

export interface SystemMessageProps {
  item: TimelineItem;
}

/** A join, a leave, a new name or role, a mute, a ban, new rules or a lost entry. */
export function SystemMessage({ item }: SystemMessageProps): ReactNode {
  const { locale, users } = useSettings();
  const self = useCurrentUser();
  const nameOf = (id: string) => {
    if (id === MODERATOR) return locale.text("moderator");
    return id === self ? locale.text("youObject") : (users(id)?.name ?? id);
  };
  const text = textOf(item, self, nameOf, locale);
  if (text === undefined) return null;
  return (
    <p className="td-system" data-td-key={item.key} tabIndex={-1}>
      {text}
    </p>
  );
}

/** Return what happened. Languages conjugate: the texts about the signed-in user are separate. */
function textOf(
  { kind, by: author, entry }: TimelineItem,
  self: string | undefined,
  nameOf: (id: string) => string,
  locale: LocaleFormat,
): string | undefined {
  const { users = [], name = "", role = "", until = 0 }: Partial<Entry> = entry ?? {};
  const isAboutAuthor = users.length === 0 || (users.length === 1 && users[0] === author);
  const values = { by: nameOf(author), names: locale.list(users.map(nameOf)), chat: name, role };
  const isOwn = author === self;
  switch (kind) {
    case "create":
      return locale.text(isOwn ? "youCreated" : "created", values);
    case "join":
      if (isAboutAuthor) return locale.text(isOwn ? "youJoined" : "joined", values);
      return locale.text(isOwn ? "youAdded" : "added", values);
    case "leave":
      if (role === "ban") return locale.text(isOwn ? "youBanned" : "banned", values);
      if (isAboutAuthor) return locale.text(isOwn ? "youLeft" : "left", values);
      return locale.text(isOwn ? "youRemoved" : "removed", values);
    case "rename":
      return locale.text(isOwn ? "youRenamed" : "renamed", values);
    case "role":
      if (users.length === 1 && users[0] === self) return locale.text("yourRoleChanged", values);
      return locale.text(isOwn ? "youRoleChanged" : "roleChanged", values);
    case "mute":
      if (until === 0) return locale.text(isOwn ? "youUnmutedMember" : "unmutedMember", values);
      return locale.text(isOwn ? "youMutedMember" : "mutedMember", values);
    case "ban":
      if (until === 0) return locale.text(isOwn ? "youUnbanned" : "unbanned", values);
      return locale.text(isOwn ? "youBanned" : "banned", values);
    case "rules":
      return locale.text(isOwn ? "youRulesChanged" : "rulesChanged", values);
    case "lost":
      return locale.text("lost");
    default:
      return undefined;
  }
}
