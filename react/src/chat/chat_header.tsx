import type { ReactNode } from "react";
import { useTimeText } from "../clock.ts";
import { useChat } from "../hooks/chat.ts";
import { useChatRow, useLastChatRow } from "../hooks/chat_list.ts";
import { useSettings } from "../hooks/client.ts";
import { usePresence } from "../hooks/ephemeral.ts";
import { useObservable } from "../hooks/observable.ts";
import { directUser, useChatNames } from "../hooks/user.ts";
import { IconButton } from "../parts/icon_button.tsx";
import { ChatAvatar } from "./chat_list.tsx";

export interface ChatHeaderProps {
  chat: string;
  /** Id of the heading, which labels the chat. */
  titleId: string;
  /** Return to the list. The button is visible only where the list and the chat do not fit side by side. */
  onBack?: (() => void) | undefined;
  /** Search in this chat. Absent without search. */
  onSearch?: (() => void) | undefined;
}

/** The name of a chat, and the presence of the other user or the number of members. */
export function ChatHeader({ chat, titleId, onBack, onSearch }: ChatHeaderProps): ReactNode {
  const { locale } = useSettings();
  const isMember = useChatRow(chat) !== undefined;
  const row = useLastChatRow(chat);
  const name = useChatNames()(row, chat);
  const other = directUser(row);
  return (
    <header className="td-chat-header">
      {onBack && <IconButton icon="back" label={locale.text("back")} className="td-back" onClick={onBack} />}
      {row && <ChatAvatar row={row} />}
      <div className="td-chat-header-text">
        <h2 id={titleId} className="td-chat-title" dir="auto" tabIndex={-1}>
          {name}
        </h2>
        {other !== undefined ? <PresenceText user={other} /> : isMember && <MemberCount chat={chat} />}
      </div>
      {onSearch && (
        <IconButton
          icon="search"
          label={locale.text("searchInChat")}
          className="td-search-open"
          onClick={onSearch}
        />
      )}
    </header>
  );
}

function PresenceText({ user }: { user: string }) {
  const { locale } = useSettings();
  const presence = usePresence(user);
  const text = useTimeText((now) => {
    if (!presence) return "";
    if (presence.status === "online") return locale.text("online");
    if (presence.status === "away") return locale.text("away");
    if (presence.last_seen_at === undefined) return locale.text("offline");
    return locale.text("lastSeen", { time: locale.relative(presence.last_seen_at, now) });
  });
  return text && <p className="td-chat-subtitle">{text}</p>;
}

function MemberCount({ chat }: { chat: string }) {
  const { locale } = useSettings();
  const members = useObservable(useChat(chat).members);
  if (members.length === 0) return null;
  return <p className="td-chat-subtitle">{locale.text("members", { count: members.length })}</p>;
}
