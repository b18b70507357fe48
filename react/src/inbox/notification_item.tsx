import type { Feed, Inbox, Notification } from "@tidings/client";
import { type MouseEvent, memo, type ReactNode } from "react";
import { useTimeText } from "../clock.ts";
import { useSettings } from "../hooks/client.ts";
import { useNotification } from "../hooks/inbox.ts";
import { IconButton } from "../parts/icon_button.tsx";
import { useComponent } from "../slots.tsx";

export interface NotificationItemProps {
  notification: Notification;
  /** Whether the Tab key stops here. The others are reached with the arrow keys. */
  isTabStop: boolean;
  /** The name of the category, if it should be shown. */
  category: string | undefined;
  onSelect: (notification: Notification, event: MouseEvent) => void;
  onMark: (action: "markRead" | "markUnread" | "archive" | "restore", id: string) => void;
}

export type NotificationEntryProps = Omit<NotificationItemProps, "notification" | "category"> & {
  feed: Feed;
  id: string;
  labelOf: (category: string) => string;
};

/** A row that renders again only when its own notification changes. */
export const NotificationEntry = /* @__PURE__ */ memo(function NotificationEntry(
  props: NotificationEntryProps,
): ReactNode {
  const { feed, id, labelOf, ...rest } = props;
  const notification = useNotification(feed, id);
  const ListItem = useComponent("NotificationItem", NotificationItem);
  if (!notification) return null;
  const category = notification.category === undefined ? undefined : labelOf(notification.category);
  return <ListItem notification={notification} category={category} {...rest} />;
});

/** One notification with its actions. A click marks it as read and opens its address, if it has one. */
export function NotificationItem(props: NotificationItemProps): ReactNode {
  const { notification, isTabStop, category, onSelect } = props;
  const { locale } = useSettings();
  const Content = useComponent("NotificationContent", NotificationContent);
  const url = urlOf(notification);
  const main = {
    className: "td-notification-main",
    "data-td-item": "",
    tabIndex: isTabStop ? 0 : -1,
    onClick: (event: MouseEvent) => onSelect(notification, event),
  };
  const content = (
    <>
      <span className="td-notification-dot" />
      {!notification.is_read && <span className="td-hidden">{locale.text("isUnread")}</span>}
      <Content notification={notification} category={category} />
    </>
  );
  return (
    <div className="td-notification" data-unread={!notification.is_read || undefined}>
      {url === undefined ? (
        <button type="button" {...main}>
          {content}
        </button>
      ) : (
        <a href={url} {...main}>
          {content}
        </a>
      )}
      <NotificationActions {...props} />
    </div>
  );
}

function NotificationActions({ notification, isTabStop, onMark }: NotificationItemProps) {
  const { locale } = useSettings();
  const { id, is_read, is_archived } = notification;
  const tabIndex = isTabStop ? 0 : -1;
  return (
    <span className="td-notification-actions">
      <IconButton
        icon={is_read ? "dot" : "check"}
        label={locale.text(is_read ? "markUnread" : "markRead")}
        tabIndex={tabIndex}
        onClick={() => onMark(is_read ? "markUnread" : "markRead", id)}
      />
      <IconButton
        icon={is_archived ? "restore" : "archive"}
        label={locale.text(is_archived ? "restore" : "archive")}
        tabIndex={tabIndex}
        onClick={() => onMark(is_archived ? "restore" : "archive", id)}
      />
    </span>
  );
}

export interface NotificationContentProps {
  notification: Notification;
  category: string | undefined;
}

/**
 * The content of a notification: `title` and `body` of its message, and how many others it stands for. The sender defines the content: replace this
 * part if yours has other fields.
 */
export function NotificationContent({ notification, category }: NotificationContentProps): ReactNode {
  const { locale } = useSettings();
  const { at, message, sender } = notification;
  const age = useTimeText((now) => locale.relative(at, now));
  const title = textOf(message.title) ?? notification.label ?? category ?? locale.text("notifications");
  const others = notification.digest_count - 1;
  const body = textOf(message.body) ?? textOf(message.text);
  return (
    <span className="td-notification-content">
      <span className="td-notification-title" dir="auto">
        {title}
      </span>
      {others > 0 && (
        <span className="td-notification-body">{locale.text("digestOthers", { count: others })}</span>
      )}
      {body !== undefined && (
        <span className="td-notification-body" dir="auto">
          {body}
        </span>
      )}
      <span className="td-notification-meta">
        <time dateTime={new Date(at).toISOString()} title={locale.full(at)}>
          {age}
        </time>
        {[category, sender].map((text) => text !== undefined && <span key={text}>{text}</span>)}
      </span>
    </span>
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Return the address of a notification. Only web addresses: `javascript:` would run the sender's code. */
export function urlOf({ message }: Pick<Notification, "message">): string | undefined {
  const url = textOf(message.url);
  return url !== undefined && /^(https?:\/\/|\/(?!\/)|#|\?)/iu.test(url) ? url : undefined;
}

/** Apply an action to one notification. */
export function applyMark(
  inbox: Inbox,
  action: Parameters<NotificationItemProps["onMark"]>[0],
  id: string,
): Promise<unknown> {
  return inbox[action]([id]);
}
