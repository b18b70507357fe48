import type { Chat, TimelineItem } from "@tidings/client";
import { type ReactNode, useContext, useMemo } from "react";
import { useSettings } from "../hooks/client.ts";
import { useObservable, useSelected } from "../hooks/observable.ts";
import { useUserNames } from "../hooks/user.ts";
import { LogContext } from "./log_context.ts";
import { useMessageText } from "./message_content.tsx";

/** The message that another one replies to. A click shows it in the log. */
export function ReplyQuote({ chat, sequence }: { chat: Chat; sequence: number }): ReactNode {
  const { locale } = useSettings();
  const { jumpTo } = useContext(LogContext);
  const key = useSelected(chat.timeline.keys, () => chat.timeline.keyOf(sequence));
  const item = useObservable(
    useMemo(() => (key === undefined ? undefined : chat.timeline.item(key)), [chat, key]),
  );
  return (
    <button type="button" className="td-quote" onClick={() => jumpTo(sequence)}>
      {item ? (
        <QuotedText item={item} />
      ) : (
        <span className="td-quote-text">{locale.text("showOriginal")}</span>
      )}
    </button>
  );
}

/** Author and text of a message, in two lines. */
export function QuotedText({ item }: { item: TimelineItem }): ReactNode {
  const name = useUserNames()(item.by);
  const text = useMessageText(item);
  return (
    <>
      <span className="td-quote-author" dir="auto">
        {name}
      </span>
      <span className="td-quote-text" dir="auto">
        {text}
      </span>
    </>
  );
}
