import { Chat, Inbox, type Theme, TidingsProvider, type UserProfile, useConnection } from "@tidings/react";
import type { ReactNode } from "react";
import type { Device } from "./page.tsx";
import type { DemoUser } from "./session.ts";

export interface PersonProps {
  device: Device;
  users: readonly DemoUser[];
  chat: string;
  inbox: string;
  hasSearch: boolean;
  theme: Theme;
  isOnline: boolean;
  onUserChange: (id: string) => void;
  onOnlineChange: (isOnline: boolean) => void;
}

const PROFILES: Record<string, UserProfile> = {
  anna: { name: "Anna" },
  ben: { name: "Ben" },
  cleo: { name: "Cleo" },
};
const findUser = (id: string) => PROFILES[id];

/** The inbox and the chats of one person. */
export function Person(props: PersonProps): ReactNode {
  const { device, chat, inbox, hasSearch, theme } = props;
  return (
    <section className="person" aria-label={`What ${device.user.name} sees`} data-user={device.user.id}>
      <TidingsProvider client={device.client} users={findUser} theme={theme}>
        <PersonBar {...props} />
        <div className="person-bell">
          <Inbox inbox={inbox} />
        </div>
        <div className="person-chat">
          <Chat defaultChat={chat} hasSearch={hasSearch} />
        </div>
      </TidingsProvider>
    </section>
  );
}

function PersonBar({ device, users, isOnline, onUserChange, onOnlineChange }: PersonProps) {
  const { state } = useConnection();
  const text = !isOnline ? "Offline" : state === "live" ? "Connected" : "Connecting";
  return (
    <div className="person-bar">
      <select
        aria-label={`User on this half: ${device.user.name}`}
        value={device.user.id}
        onChange={(event) => onUserChange(event.target.value)}
      >
        {users.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      <span className="connection" data-state={text.toLowerCase()}>
        {text}
      </span>
      <button type="button" onClick={() => onOnlineChange(!isOnline)}>
        {isOnline ? "Go offline" : "Go online"}
      </button>
    </div>
  );
}
