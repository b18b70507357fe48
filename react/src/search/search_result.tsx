import type { SearchResult as Found } from "@tidings/client";
import type { ReactNode } from "react";
import { useTimeText } from "../clock.ts";
import { useChatRow } from "../hooks/chat_list.ts";
import { useSettings } from "../hooks/client.ts";
import { useChatNames, useUserNames } from "../hooks/user.ts";
import { Icon } from "../parts/icon.tsx";

export interface SearchResultProps {
  result: Found;
  /** Whether this is the message that the user has opened. */
  isSelected: boolean;
  /** Whether the Tab key stops here. The others are reached with the arrow keys. */
  isTabStop: boolean;
  onSelect: (result: Found) => void;
}

/** One found message: chat, time, sender, and an extract with marked matches. */
export function SearchResult({ result, isSelected, isTabStop, onSelect }: SearchResultProps): ReactNode {
  const { locale } = useSettings();
  const { chat, message, highlights } = result;
  const name = useChatNames()(useChatRow(chat), chat);
  const sender = useUserNames()(message.sender);
  const at = Date.parse(message.created_at);
  const time = useTimeText((now) => locale.short(at, now));
  return (
    <button
      type="button"
      className="td-found"
      data-td-item=""
      tabIndex={isTabStop ? 0 : -1}
      aria-current={isSelected ? "true" : undefined}
      onClick={() => onSelect(result)}
    >
      <span className="td-found-line">
        <span className="td-found-chat" dir="auto">
          {name}
        </span>
        <time className="td-found-time" dateTime={message.created_at} title={locale.full(at)}>
          {time}
        </time>
      </span>
      <span className="td-found-text" dir="auto">
        <span className="td-found-sender">{sender}: </span>
        {message.attachments?.length ? (
          <span className="td-found-file">
            <Icon name="attach" />
            <span className="td-hidden">{locale.text("attached")}</span>
          </span>
        ) : null}
        {highlights.map(({ text, is_match }, index) =>
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of an extract have no other identity.
          is_match ? <mark key={index}>{text}</mark> : <span key={index}>{text}</span>,
        )}
      </span>
    </button>
  );
}
