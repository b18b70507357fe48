import type { Chat, TimelineItem } from "@tidings/client";
import { memo, type ReactNode, useMemo, useState } from "react";
import { useTimeText } from "../clock.ts";
import { useSettings } from "../hooks/client.ts";
import { useObservable, useSelected } from "../hooks/observable.ts";
import { dayOf } from "../locale/format.ts";
import { useComponent } from "../slots.tsx";
import { Message } from "./message.tsx";
import { SystemMessage } from "./system_message.tsx";

const MINUTE_MS = 60_000;

export interface MessageRowProps {
  chat: Chat;
  messageKey: string;
  /** The message above. A row depends on nothing below it, so a new message renders one row. */
  previousKey: string | undefined;
  /** Whether older messages exist that are not loaded: it is not known whether the row starts a day. */
  isCut: boolean;
  isFirstUnread: boolean;
  isHighlighted: boolean;
}

/** One row of the log: a message or another entry, with the date separator and the unread divider above it. */
export const MessageRow = /* @__PURE__ */ memo(function MessageRow(props: MessageRowProps): ReactNode {
  const { chat, messageKey, previousKey } = props;
  const item = useObservable(useMemo(() => chat.timeline.item(messageKey), [chat, messageKey]));
  const previous = useMemo(
    () => (previousKey === undefined ? undefined : chat.timeline.item(previousKey)),
    [chat, previousKey],
  );
  const isSameDay = useSelected(previous, (above) => above && item && isOneDay(above, item)) ?? false;
  const isSameGroup = useSelected(previous, (above) => above && item && isOneGroup(above, item)) ?? false;
  // When older messages appear above, the row keeps its height while it is in the page, or it would move what the user
  // reads. Its heading and date are corrected the next time that it is scrolled into view.
  const [wasCut] = useState(props.isCut);
  const Separator = useComponent("DateSeparator", DateSeparator);
  const Divider = useComponent("UnreadDivider", UnreadDivider);
  const Entry = useComponent("SystemMessage", SystemMessage);
  const Content = useComponent("Message", Message);
  if (!item) return null;
  const isGroupStart = wasCut || !isSameGroup || props.isFirstUnread;
  return (
    <div className="td-row">
      {!wasCut && !isSameDay && <Separator at={item.at} />}
      {props.isFirstUnread && <Divider />}
      {item.kind === "message" ? (
        <Content chat={chat} item={item} isGroupStart={isGroupStart} isHighlighted={props.isHighlighted} />
      ) : (
        <Entry item={item} />
      )}
    </div>
  );
});

function isOneDay(above: TimelineItem, item: TimelineItem): boolean {
  return dayOf(above.at) === dayOf(item.at);
}

/** Return whether two messages share one heading: the same author in the same minute. */
function isOneGroup(above: TimelineItem, item: TimelineItem): boolean {
  return (
    above.kind === "message" &&
    above.by === item.by &&
    Math.floor(above.at / MINUTE_MS) === Math.floor(item.at / MINUTE_MS)
  );
}

export interface DateSeparatorProps {
  at: number;
}

/** The day of the messages below. */
export function DateSeparator({ at }: DateSeparatorProps): ReactNode {
  const { locale } = useSettings();
  const text = useTimeText((now) => locale.day(at, now));
  return (
    <div className="td-date">
      <time dateTime={new Date(at).toISOString().slice(0, 10)}>{text}</time>
    </div>
  );
}

/** Marks the first message that was unread when the chat was opened. */
export function UnreadDivider(): ReactNode {
  const { locale } = useSettings();
  return (
    <div className="td-unread-divider">
      <span>{locale.text("newMessages")}</span>
    </div>
  );
}
