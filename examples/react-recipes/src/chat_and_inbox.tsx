import { Chat, Inbox, TidingsProvider } from "@tidings/react";
import "@tidings/react/styles.css";
import type { Connection } from "./connection.ts";

export function ChatAndInbox({ url, token, user }: Connection) {
  return (
    <TidingsProvider url={url} token={token} user={user}>
      <Inbox />
      <div style={{ height: "80vh" }}>
        <Chat />
      </div>
    </TidingsProvider>
  );
}
