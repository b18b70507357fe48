"use client";

import { Chat, Inbox, TidingsProvider } from "@tidings/react";

async function fetchToken(user: string): Promise<string> {
  const response = await fetch(`/api/token?user=${encodeURIComponent(user)}`);
  if (!response.ok) throw new Error(`The token endpoint answered with ${response.status}.`);
  return (await response.json()).token;
}

export function Messenger({ user, url }: { user: string; url: string }) {
  return (
    <TidingsProvider url={url} token={() => fetchToken(user)} user={user}>
      <Inbox />
      <Chat />
    </TidingsProvider>
  );
}
