import { Chat, TidingsProvider } from "@tidings/react";
import { de } from "@tidings/react/locales";
import type { Connection } from "./connection.ts";

export function German(connection: Connection) {
  return (
    <TidingsProvider {...connection} locale={de} theme="dark">
      <Chat />
    </TidingsProvider>
  );
}
