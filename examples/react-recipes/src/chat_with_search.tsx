import { Chat, TidingsProvider } from "@tidings/react";
import type { Connection } from "./connection.ts";

export function ChatWithSearch(connection: Connection) {
  return (
    <TidingsProvider {...connection} api="https://chat.example.com">
      <Chat hasSearch />
    </TidingsProvider>
  );
}
