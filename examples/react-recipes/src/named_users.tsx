import { Chat, TidingsProvider, type UserProfile } from "@tidings/react";
import type { Connection } from "./connection.ts";

const people: Record<string, UserProfile> = {
  anna: { name: "Anna Berg" },
  ben: { name: "Ben Okafor", imageUrl: "/ben.svg" },
};

const findUser = (id: string) => people[id];

export function NamedUsers(connection: Connection) {
  return (
    <TidingsProvider {...connection} users={findUser}>
      <Chat />
    </TidingsProvider>
  );
}
