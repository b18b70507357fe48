import { Client } from "@tidings/client";
import type { Theme } from "@tidings/react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { BreakPanel } from "./break_panel.tsx";
import { CodeToCopy } from "./code_to_copy.tsx";
import { DeviceNetwork } from "./device_network.ts";
import { Person } from "./person.tsx";
import { type DemoUser, fetchSession, fetchToken, type Session } from "./session.ts";

/** One half of the page: a device of one user. */
export interface Device {
  user: DemoUser;
  client: Client;
  network: DeviceNetwork;
}

export function Page(): ReactNode {
  const [session, setSession] = useState<Session>();
  const [problem, setProblem] = useState("");
  const [theme, setTheme] = useState<Theme>("auto");
  useEffect(() => {
    fetchSession().then(setSession, (error: Error) => setProblem(error.message));
  }, []);
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  return (
    <>
      <header className="bar">
        <h1>Tidings</h1>
        <p>Two people chat on this machine. Break something, and see that nothing is lost.</p>
        <ThemeChoice theme={theme} onChange={setTheme} />
      </header>
      {problem ? <Problem text={problem} /> : session && <Demo session={session} theme={theme} />}
    </>
  );
}

function Problem({ text }: { text: string }) {
  return (
    <main className="problem" role="alert">
      <h2>The demo cannot start</h2>
      <p>{text}</p>
      <p>
        Each start of <code>tidings dev</code> prints a new address, because the address contains a token.
      </p>
    </main>
  );
}

const THEMES: Record<Theme, string> = { auto: "System", light: "Light", dark: "Dark" };

function ThemeChoice({ theme, onChange }: { theme: Theme; onChange: (theme: Theme) => void }) {
  return (
    <label className="choice">
      Theme
      <select value={theme} onChange={(event) => onChange(event.target.value as Theme)}>
        {Object.entries(THEMES).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

function Demo({ session, theme }: { session: Session; theme: Theme }) {
  const [ids, setIds] = useState(session.users.slice(0, 2).map(({ id }) => id) as [string, string]);
  const devices = [useDevice(session, ids[0]), useDevice(session, ids[1])] as const;
  const [offline, setOffline] = useState<readonly string[]>([]);
  const setOnline = ({ user, network }: Device, isOnline: boolean) => {
    network.setOnline(isOnline);
    setOffline((before) => [...before.filter((id) => id !== user.id), ...(isOnline ? [] : [user.id])]);
  };
  // Choosing the user of the other half swaps the two: one user on both halves would show nothing.
  const choose = (side: 0 | 1, id: string) => {
    const other = ids[1 - side] as string;
    const kept = other === id ? (ids[side] as string) : other;
    setIds(side === 0 ? [id, kept] : [kept, id]);
    for (const device of devices) setOnline(device, true);
  };
  const shared = ids.includes("cleo") ? session.chats.group : session.chats.direct;
  return (
    <main>
      <div className="stage">
        {([0, 1] as const).map((side) => (
          <Person
            key={`${side} ${ids[side]} ${shared}`}
            device={devices[side]}
            users={session.users}
            chat={shared}
            inbox={session.inbox}
            hasSearch={session.search}
            theme={theme}
            isOnline={!offline.includes(ids[side])}
            onUserChange={(id) => choose(side, id)}
            onOnlineChange={(isOnline) => setOnline(devices[side], isOnline)}
          />
        ))}
        <BreakPanel
          key={ids.join(" ")}
          devices={devices}
          chat={shared}
          offline={offline}
          onOnlineChange={setOnline}
        />
      </div>
      <CodeToCopy session={session} />
    </main>
  );
}

function useDevice(session: Session, id: string): Device {
  const device = useMemo(() => {
    const user = session.users.find((each) => each.id === id) ?? { id, name: id };
    const network = new DeviceNetwork();
    const client = new Client({
      url: session.gateway,
      api: session.media ? session.api : undefined,
      user: id,
      token: () => fetchToken(id),
      socket: network.open,
      // Quick retries, because faults on this page last for seconds.
      timeouts: { backoffFirstMs: 250, backoffLongestMs: 1_000 },
    });
    return { user, client, network };
  }, [session, id]);
  useEffect(() => {
    device.client.start();
    return () => void device.client.close();
  }, [device]);
  return device;
}
