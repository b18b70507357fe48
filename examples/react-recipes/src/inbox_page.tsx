import {
  Inbox,
  type InboxCategory,
  InboxPreferences,
  type NotificationContentProps,
  TidingsProvider,
} from "@tidings/react";
import type { Connection } from "./connection.ts";

const categories: InboxCategory[] = [
  { id: "orders", label: "Orders" },
  { id: "news", label: "News" },
];

function OrderNotification({ notification }: NotificationContentProps) {
  return <strong>{String(notification.message.title)}</strong>;
}

export function InboxPage(connection: Connection) {
  return (
    <TidingsProvider {...connection}>
      <Inbox
        inbox="default"
        variant="page"
        categories={categories}
        onSelect={(notification) => console.log("open", notification.message)}
        components={{ NotificationContent: OrderNotification }}
      />
    </TidingsProvider>
  );
}

export function PreferencesPage(connection: Connection) {
  return (
    <TidingsProvider {...connection}>
      <InboxPreferences inbox="default" categories={categories} channels={["inbox", "push", "email"]} />
    </TidingsProvider>
  );
}
