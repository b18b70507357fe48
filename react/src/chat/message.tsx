import type { Chat, TimelineItem } from "@tidings/client";
import { type FocusEvent, type PointerEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useSettings } from "../hooks/client.ts";
import { useUser, useUserNames } from "../hooks/user.ts";
import { Avatar } from "../parts/avatar.tsx";
import { isOnlyEmoji } from "../parts/rich_text.tsx";
import { useComponent } from "../slots.tsx";
import { DeliveryStatus } from "./delivery_status.tsx";
import { MessageActions } from "./message_actions.tsx";
import { MessageAttachments } from "./message_attachments.tsx";
import { MessageContent, useMessageText } from "./message_content.tsx";
import { MessageLinkPreview } from "./message_link_preview.tsx";
import { Reactions } from "./reactions.tsx";
import { ReplyQuote } from "./reply_quote.tsx";

export interface MessageProps {
  chat: Chat;
  item: TimelineItem;
  /** Whether the message shows its author and time: the first of an author in a minute. */
  isGroupStart: boolean;
  /** Whether the user has just jumped here. */
  isHighlighted: boolean;
}

/** A message: bubble, author, time, status, reactions and actions. */
export function Message({ chat, item, isGroupStart, isHighlighted }: MessageProps): ReactNode {
  const { locale } = useSettings();
  const name = useUserNames()(item.by);
  const text = useMessageText(item);
  const { isEngaged, listeners } = useEngagement();
  const Actions = useComponent("MessageActions", MessageActions);
  const Footer = useComponent("Reactions", Reactions);
  useAnnounceFailure(item);
  return (
    <article
      className="td-message"
      data-td-key={item.key}
      data-own={item.isOwn || undefined}
      data-start={isGroupStart || undefined}
      data-highlighted={isHighlighted || undefined}
      data-delivery={item.delivery}
      aria-label={locale.text("messageLabel", { name, time: locale.time(item.at), text })}
      tabIndex={-1}
      {...listeners}
    >
      {!item.isOwn && <MessageAvatar user={item.by} isVisible={isGroupStart} />}
      <div className="td-message-main">
        {isGroupStart && <MessageHead item={item} name={name} />}
        <div className="td-bubble-line">
          <Bubble chat={chat} item={item} />
          {isEngaged && item.delivery === "committed" && isActive(item) && (
            <Actions chat={chat} item={item} />
          )}
        </div>
        {item.reactions.length > 0 && <Footer chat={chat} item={item} />}
        {item.delivery === "failed" && <FailedSend chat={chat} item={item} />}
      </div>
    </article>
  );
}

function isActive(item: TimelineItem): boolean {
  return item.state === "active" || item.state === "edited";
}

function MessageAvatar({ user, isVisible }: { user: string; isVisible: boolean }) {
  const { id, name, imageUrl } = useUser(user);
  const Picture = useComponent("Avatar", Avatar);
  return (
    <div className="td-message-avatar">
      {isVisible && <Picture id={id} name={name} imageUrl={imageUrl} size="small" />}
    </div>
  );
}

function MessageHead({ item, name }: { item: TimelineItem; name: string }) {
  const { locale } = useSettings();
  return (
    <div className="td-message-head">
      {!item.isOwn && (
        <span className="td-message-author" dir="auto">
          {name}
        </span>
      )}
      <time dateTime={new Date(item.at).toISOString()} title={locale.full(item.at)}>
        {locale.time(item.at)}
      </time>
    </div>
  );
}

function Bubble({ chat, item }: { chat: Chat; item: TimelineItem }) {
  const { locale } = useSettings();
  const Content = useComponent("MessageContent", MessageContent);
  const Status = useComponent("DeliveryStatus", DeliveryStatus);
  const Files = useComponent("MessageAttachments", MessageAttachments);
  const Link = useComponent("MessageLinkPreview", MessageLinkPreview);
  const hasFiles = isActive(item) && item.attachments?.length > 0;
  const isBare = isActive(item) && item.reply_to === undefined && !hasFiles && isOnlyEmoji(item.text);
  return (
    <div className="td-bubble" data-bare={isBare || undefined} data-gone={!isActive(item) || undefined}>
      {item.reply_to !== undefined && <ReplyQuote chat={chat} sequence={item.reply_to} />}
      {hasFiles && <Files chat={chat} item={item} />}
      {(item.text !== "" || !hasFiles) && <Content item={item} />}
      {isActive(item) && item.text !== "" && <Link chat={chat} item={item} />}
      <span className="td-bubble-meta">
        {isActive(item) && item.edited_at !== undefined && <span>{locale.text("edited")}</span>}
        {item.isOwn && <Status chat={chat} item={item} />}
      </span>
    </div>
  );
}

function FailedSend({ chat, item }: { chat: Chat; item: TimelineItem }) {
  const { locale } = useSettings();
  return (
    <p className="td-failed">
      <span title={item.error?.message}>{locale.text("failed")}</span>
      <button type="button" className="td-link" onClick={() => chat.timeline.retry(item.key)}>
        {locale.text("retry")}
      </button>
      <button type="button" className="td-link" onClick={() => chat.timeline.discard(item.key)}>
        {locale.text("discard")}
      </button>
    </p>
  );
}

/** Return whether the pointer or the focus is in the message. Its actions are rendered only then. */
function useEngagement() {
  const [isHovered, setIsHovered] = useState(false);
  const [isFocused, setIsFocused] = useState(false);
  const listeners = {
    onPointerEnter: (event: PointerEvent) => setIsHovered(event.pointerType !== "touch"),
    onPointerLeave: () => setIsHovered(false),
    onFocus: () => setIsFocused(true),
    onBlur: (event: FocusEvent<HTMLElement>) =>
      setIsFocused(event.currentTarget.contains(event.relatedTarget as Node | null)),
  };
  return { isEngaged: isHovered || isFocused, listeners };
}

function useAnnounceFailure({ delivery, text }: TimelineItem): void {
  const { announce, locale } = useSettings();
  const before = useRef(delivery);
  useEffect(() => {
    if (before.current === "pending" && delivery === "failed") announce(`${locale.text("failed")}: ${text}`);
    before.current = delivery;
  }, [delivery, text, announce, locale]);
}
