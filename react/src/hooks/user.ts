import type { ChatRow } from "@tidings/client";
import { useCurrentUser, useSettings } from "./client.ts";

export interface UserView {
  readonly id: string;
  /** The name from the profile, else the id. */
  readonly name: string;
  readonly imageUrl: string | undefined;
}

/** Return how to show a user. */
export function useUser(id: string): UserView {
  const profile = useSettings().users(id);
  return { id, name: profile?.name ?? id, imageUrl: profile?.imageUrl };
}

/** Return a function that names users: "You" for the signed-in user. */
export function useUserNames(): (id: string) => string {
  const { users, locale } = useSettings();
  const self = useCurrentUser();
  return (id) => (id === self ? locale.text("you") : (users(id)?.name ?? id));
}

/** Return the other user of a direct chat, or `undefined` for a group. */
export function directUser(row: ChatRow | undefined): string | undefined {
  return row && !row.name && row.members?.length === 1 ? row.members[0] : undefined;
}

/** Return a function that names chats: the name of the chat, else the names of its members. */
export function useChatNames(): (row: ChatRow | undefined, id: string) => string {
  const { users, locale } = useSettings();
  return (row, id) => {
    if (row?.name) return row.name;
    const members = row?.members ?? [];
    return members.length > 0 ? locale.list(members.map((user) => users(user)?.name ?? user)) : id;
  };
}
