import { type ReactNode, useEffect, useRef, useState } from "react";
import { DeliveryTally, EMPTY, type Tally } from "./delivery_tally.ts";
import type { Device } from "./page.tsx";
import {
  type Fault,
  fetchStatus,
  injectFault,
  type ServiceState,
  type Status,
  sendNotification,
} from "./session.ts";

const POLL_MS = 1_000;
const TALLY_MS = 250;
/** Messages that each person sends, and the time between two of them. */
const TRAFFIC = { count: 10, everyMs: 500 };
const NAMES = { gateway: "Gateway", redis: "Redis", kafka: "Kafka" } as const;
const STATES: Record<ServiceState, string> = {
  running: "running",
  starting: "starting",
  stopped: "stopped",
  external: "not started by tidings dev",
};

export interface BreakPanelProps {
  devices: readonly [Device, Device];
  chat: string;
  offline: readonly string[];
  onOnlineChange: (device: Device, isOnline: boolean) => void;
}

export function BreakPanel({ devices, chat, offline, onOnlineChange }: BreakPanelProps): ReactNode {
  const { status, problem, run } = useFaults();
  const tally = useTally(devices, chat);
  const { isSending, send } = useTraffic(devices, chat);
  const [first] = devices;
  const isOffline = offline.includes(first.user.id);
  const inject = (fault: Fault) => {
    send();
    run(() => injectFault(fault));
  };
  const toggleOffline = () => {
    if (!isOffline) send();
    onOnlineChange(first, isOffline);
  };
  return (
    <section className="panel" aria-labelledby="break-title">
      <h2 id="break-title">Break something</h2>
      <p>Each button also sends {2 * TRAFFIC.count} messages. Keep typing, too.</p>
      <div className="faults">
        <button type="button" onClick={() => inject("kill-gateway")}>
          Kill the gateway
        </button>
        <button type="button" disabled={status?.redis === "external"} onClick={() => inject("empty-redis")}>
          Empty Redis
        </button>
        <KafkaButton state={status?.kafka} onFault={inject} />
        <button type="button" aria-pressed={isOffline} onClick={toggleOffline}>
          {isOffline ? `Take ${first.user.name} online` : `Take ${first.user.name} offline`}
        </button>
      </div>
      <ServiceList status={status} />
      <TallyView tally={tally} />
      <div className="more">
        <button type="button" disabled={isSending} onClick={send}>
          {isSending ? "Sending …" : `Send ${2 * TRAFFIC.count} messages`}
        </button>
        <button type="button" onClick={() => run(sendNotification)}>
          Send a notification
        </button>
      </div>
      {problem && (
        <p className="panel-problem" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}

function KafkaButton({
  state,
  onFault,
}: {
  state: ServiceState | undefined;
  onFault: (fault: Fault) => void;
}) {
  const isStopped = state === "stopped" || state === "starting";
  return (
    <button
      type="button"
      aria-pressed={isStopped}
      disabled={state === undefined || state === "starting" || state === "external"}
      onClick={() => onFault(isStopped ? "start-kafka" : "stop-kafka")}
    >
      {state === "starting" ? "Kafka is starting …" : isStopped ? "Start Kafka" : "Stop Kafka"}
    </button>
  );
}

function ServiceList({ status }: { status: Status | undefined }) {
  return (
    <ul className="services" aria-label="Services">
      {(Object.keys(NAMES) as (keyof Status)[]).map((name) => (
        <li key={name} data-state={status?.[name]}>
          <span>{NAMES[name]}</span> <span>{status ? STATES[status[name]] : "…"}</span>
        </li>
      ))}
    </ul>
  );
}

function TallyView({ tally }: { tally: Tally }) {
  const { sent, waiting, acknowledged, arrived, duplicated, misordered } = tally;
  const rows = [
    ["Sent", sent],
    ["Waiting on the device", waiting],
    ["Acknowledged", acknowledged],
    ["Arrived at the other person", arrived],
    ["Arrived twice", duplicated],
    ["Arrived in the wrong order", misordered],
  ] as const;
  return (
    <div className="tally">
      <table aria-label="Messages since the page was opened">
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p role="status" data-verdict={verdictOf(tally)}>
        {TEXTS[verdictOf(tally)](tally)}
      </p>
    </div>
  );
}

type Verdict = "none" | "pending" | "complete" | "wrong";

function verdictOf({ sent, arrived, duplicated, misordered }: Tally): Verdict {
  if (duplicated || misordered) return "wrong";
  if (sent === 0) return "none";
  return sent === arrived ? "complete" : "pending";
}

const TEXTS: Record<Verdict, (tally: Tally) => string> = {
  none: () => "Send a message, or break something.",
  pending: () => "Messages are on their way.",
  complete: ({ sent }) =>
    `Nothing is lost: ${sent === 1 ? "the message" : `all ${sent} messages`} arrived once and in order.`,
  wrong: () => "A message arrived twice or in the wrong order. Please report this as a bug.",
};

/** The state of the services, read every second, and the problem of the last action. */
function useFaults() {
  const [status, setStatus] = useState<Status>();
  const [problem, setProblem] = useState("");
  const run = (action: () => Promise<unknown>) => {
    setProblem("");
    action().catch((error: Error) => setProblem(error.message));
  };
  useEffect(() => {
    const read = () => fetchStatus().then(setStatus, () => setProblem("`tidings dev` does not answer."));
    void read();
    const timer = setInterval(read, POLL_MS);
    return () => clearInterval(timer);
  }, []);
  return { status, problem, run };
}

function useTally([first, second]: readonly [Device, Device], chat: string): Tally {
  const [tally, setTally] = useState(EMPTY);
  useEffect(() => {
    const counted = new DeliveryTally([first.client, second.client], [chat]);
    const end = counted.start();
    const timer = setInterval(() => {
      const next = counted.get();
      setTally((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
    }, TALLY_MS);
    return () => {
      clearInterval(timer);
      end();
    };
  }, [first, second, chat]);
  return tally;
}

/** Send numbered messages from both devices for some seconds. */
function useTraffic(devices: readonly [Device, Device], chat: string) {
  const [left, setLeft] = useState(0);
  const number = useRef(0);
  useEffect(() => {
    if (left === 0) return;
    const timer = setTimeout(() => {
      number.current++;
      for (const { client } of devices) client.chat(chat).send(`Message ${number.current}`);
      setLeft((before) => before - 1);
    }, TRAFFIC.everyMs);
    return () => clearTimeout(timer);
  }, [left, devices, chat]);
  return { isSending: left > 0, send: () => setLeft(TRAFFIC.count) };
}
