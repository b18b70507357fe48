import type { Presence } from "@tidings/client";
import { useEffect, useMemo } from "react";
import { useChat } from "./chat.ts";
import { useClient } from "./client.ts";
import { useObservable } from "./observable.ts";

/** Return the ids of the other users who are typing in a chat. */
export function useTyping(chat: string): readonly string[] {
  return useObservable(useChat(chat).typing);
}

/** Return the presence of a user, and watch it while the component is mounted. */
export function usePresence(user: string | undefined): Presence | undefined {
  const { presence } = useClient();
  useEffect(() => (user === undefined ? undefined : presence.watch([user])), [presence, user]);
  return useObservable(useMemo(() => (user === undefined ? undefined : presence.of(user)), [presence, user]));
}
