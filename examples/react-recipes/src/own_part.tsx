import { Chat, MessageContent, type MessageContentProps, TidingsProvider } from "@tidings/react";
import type { Connection } from "./connection.ts";

function OrderContent(props: MessageContentProps) {
  const order = props.item.data?.order;
  return typeof order === "string" ? (
    <a href={`/orders/${order}`}>Order {order}</a>
  ) : (
    <MessageContent {...props} />
  );
}

export function OwnPart(connection: Connection) {
  return (
    <TidingsProvider {...connection} components={{ MessageContent: OrderContent }}>
      <Chat />
    </TidingsProvider>
  );
}
