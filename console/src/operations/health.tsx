import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { call } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { Empty, Loading } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useDeadLetterTopics } from "./dead_letters.tsx";
import { Findings } from "./findings.tsx";
import type { MetricName, Process, Series } from "./model.ts";

/** The library for plots is loaded by this page only. */
const Plot = lazy(async () => ({ default: (await import("./plot.tsx")).Plot }));
const REFRESH_MS = 15_000;

export function HealthPage(): ReactNode {
  return (
    <>
      <h1>Health</h1>
      <section aria-labelledby="processes">
        <h2 id="processes">Processes and their engines</h2>
        <Processes />
      </section>
      <section aria-labelledby="waiting">
        <h2 id="waiting">Waiting and refused now</h2>
        <Waiting />
      </section>
      <section aria-labelledby="figures" className="figures">
        <h2 id="figures">The last three hours</h2>
        <Figures />
      </section>
      <Findings />
    </>
  );
}

function Processes() {
  const query = useQuery({
    queryKey: ["processes"],
    queryFn: () => call<{ processes: Process[] }>("GET", "/processes"),
    refetchInterval: REFRESH_MS,
  });
  return (
    <QueryView query={query} rows={6}>
      {({ processes }) =>
        processes.length ? (
          <ProcessTable processes={processes} />
        ) : (
          <Empty title="No process is known">Set `console.processes` to the addresses of admin ports.</Empty>
        )
      }
    </QueryView>
  );
}

function ProcessTable({ processes }: { processes: Process[] }) {
  return (
    <DataTable
      caption="Processes"
      items={processes}
      keyOf={({ address }) => address}
      columns={[
        { title: "Process", cell: ({ kind }) => kind ?? "unknown" },
        { title: "Address", cell: ({ address }) => <code>{address}</code> },
        { title: "State", cell: (process) => <ProcessState process={process} /> },
        {
          title: "Components",
          cell: ({ components }) => <Components names={Object.keys(components ?? {})} />,
        },
        { title: "Last answer", cell: ({ seen_at }) => <Time at={seen_at} /> },
      ]}
    />
  );
}

function Components({ names }: { names: string[] }) {
  if (!names.length) return null;
  return (
    <details>
      <summary>{names.length}</summary>
      {names.join(", ")}
    </details>
  );
}

export function ProcessState({ process }: { process: Process }) {
  const { error, is_ready, phase = "unknown", problems = [], components = {} } = process;
  if (error) return <span className="bad">does not answer: {error}</span>;
  const failing = Object.entries(components).filter(([, { ok }]) => !ok);
  const texts = [...problems, ...failing.map(([name, { state, reason }]) => `${name}: ${reason ?? state}`)];
  return (
    <>
      <span className={is_ready ? "good" : "warning"}>{is_ready ? "ready" : `not ready, ${phase}`}</span>
      {[...new Set(texts)].map((text) => (
        <p key={text} className="warning">
          {text}
        </p>
      ))}
    </>
  );
}

const useSeries = () =>
  useQuery({
    queryKey: ["series"],
    queryFn: () => call<{ series: Series[] }>("GET", "/series", { query: { since_s: 3 * 3600 } }),
    refetchInterval: REFRESH_MS,
  });

/** Dead letters, the lag of the workers, and what rate limits refuse. */
function Waiting() {
  const topics = useDeadLetterTopics();
  const series = useSeries();
  const found = series.data?.series ?? [];
  return (
    <QueryView query={topics} rows={1}>
      {({ topics: counted }) => (
        <Facts
          facts={{
            ...Object.fromEntries(
              counted.map(({ topic, waiting }) => [
                topic,
                <Link key={topic} to="/dead-letters" search={{ topic }} className={waiting ? "bad" : ""}>
                  {waiting} dead letters
                </Link>,
              ]),
            ),
            "Delivery behind": latest(found, "tidings_delivery_lag_records", "records"),
            "Notifications behind": latest(found, "tidings_notifications_lag_chunks", "chunks"),
            "Refused by rate limits": latest(
              found,
              "tidings_rate_limit_decisions_total",
              "a second",
              "rejected",
            ),
          }}
        />
      )}
    </QueryView>
  );
}

/** Return the sum of the latest values of a metric. With `label`, only of series that have this value of a label. */
function latest(series: Series[], metric: string, unit: string, label?: string): string | undefined {
  const values = series
    .filter(({ name, labels }) => name === metric && (!label || Object.values(labels).includes(label)))
    .map(({ points }) => points.at(-1)?.[1] ?? 0);
  if (!values.length) return undefined;
  const sum = values.reduce((total, value) => total + value, 0);
  return `${Number(sum.toPrecision(3)).toLocaleString()} ${unit}`;
}

function Figures() {
  const names = useQuery({
    queryKey: ["series names"],
    queryFn: () => call<{ names: MetricName[] }>("GET", "/series/names"),
  });
  const series = useSeries();
  return (
    <QueryView query={names}>
      {({ names: metrics }) => (
        <QueryView query={series}>
          {({ series: found }) => <Plots metrics={metrics} series={found} />}
        </QueryView>
      )}
    </QueryView>
  );
}

function Plots({ metrics, series }: { metrics: MetricName[]; series: Series[] }) {
  const byName = Map.groupBy(series, ({ name }) => name);
  const plotted = metrics.flatMap((metric) => {
    const group = byName.get(metric.name);
    return group ? [{ metric, group }] : [];
  });
  if (!plotted.length)
    return <Empty title="No figures yet">The console collects them every 15 seconds while it runs.</Empty>;
  return (
    <Suspense fallback={<Loading rows={6} />}>
      <div className="plots">
        {plotted.map(({ metric, group }) => (
          <Plot key={metric.name} metric={metric} series={group} />
        ))}
      </div>
    </Suspense>
  );
}
