import type { Chat, TimelineItem } from "@tidings/client";
import type { ReactNode } from "react";
import { useCurrentUser, useSettings } from "../hooks/client.ts";
import { useUserNames } from "../hooks/user.ts";

export interface ReactionsProps {
  chat: Chat;
  item: TimelineItem;
}

/** The reactions to a message. A click adds or removes the user's own. */
export function Reactions({ chat, item }: ReactionsProps): ReactNode {
  const { locale } = useSettings();
  const self = useCurrentUser();
  const nameOf = useUserNames();
  const { sequence } = item;
  return (
    <div className="td-reactions">
      {item.reactions.map(({ emoji, count, users }) => {
        const isOwn = self !== undefined && users.includes(self);
        return (
          <button
            key={emoji}
            type="button"
            className="td-reaction"
            aria-pressed={isOwn}
            title={locale.list(users.map(nameOf))}
            disabled={sequence === undefined}
            onClick={() => sequence !== undefined && chat.react(sequence, emoji, { is_removed: isOwn })}
          >
            <span className="td-hidden">{locale.text("reaction", { emoji, count })}</span>
            <span aria-hidden="true">{emoji}</span>
            <span className="td-reaction-count" aria-hidden="true">
              {locale.number(count)}
            </span>
          </button>
        );
      })}
    </div>
  );
}
