import type { Chat, TimelineItem } from "@tidings/client";
import type { ReactNode } from "react";
import { useMessageStatus } from "../hooks/chat.ts";
import { useSettings } from "../hooks/client.ts";
import { Icon, type IconName } from "../parts/icon.tsx";

export interface DeliveryStatusProps {
  chat: Chat;
  item: TimelineItem;
}

type Status = "pending" | "failed" | "sent" | "delivered" | "read";

const icons: Record<Status, IconName> = {
  pending: "clock",
  failed: "alert",
  sent: "check",
  delivered: "checks",
  read: "checks",
};

/** Whether an own message is being sent, was sent, delivered or read. */
export function DeliveryStatus({ chat, item }: DeliveryStatusProps): ReactNode {
  const { locale } = useSettings();
  const committed = useMessageStatus(chat.id, item.sequence) ?? "sent";
  const status = item.delivery === "committed" ? committed : item.delivery;
  return (
    <span className="td-status" data-status={status} title={locale.text(status)}>
      <Icon name={icons[status]} />
      <span className="td-hidden">{locale.text(status)}</span>
    </span>
  );
}
