import { useQuery } from "@tanstack/react-query";
import { Link, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { Empty, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import type { PushTrace, RecipientTrace, TimelineStep, Trace } from "./model.ts";

const STEPS: Record<TimelineStep["step"], string> = {
  committed: "Committed",
  published: "Published",
  handled: "Processed",
  delivered: "Delivered",
  read: "Read",
  waiting: "Waiting",
  stopped: "Stopped",
};

/** Where is this message? From the commit to each device, with the reason for every stop. */
export function TracePage(): ReactNode {
  const { tenant, message } = useParams({ from: "/t/$tenant/messages/$message" });
  const { user } = useSearch({ from: "/t/$tenant/messages/$message" });
  const chat = message.slice(0, message.lastIndexOf("."));
  const query = useQuery({
    queryKey: ["trace", tenant, message],
    queryFn: () => call<Trace>("GET", path`/tenants/${tenant}/messages/${message}/trace`),
  });
  return (
    <>
      <h1>Where is this message?</h1>
      <p>
        Message <code>{message}</code>{" "}
        <Link to="/t/$tenant/chats/$chat" params={{ tenant, chat }} search={user ? { user } : {}}>
          in its chat
        </Link>
      </p>
      <button type="button" disabled={query.isFetching} onClick={() => void query.refetch()}>
        Look again
      </button>
      <QueryView query={query}>{(trace) => <TraceView trace={trace} />}</QueryView>
    </>
  );
}

function TraceView({ trace }: { trace: Trace }) {
  return (
    <>
      <Notice kind={trace.outcome === "arrived" ? "good" : "info"}>
        <strong>{trace.verdict}</strong>
      </Notice>
      <Facts
        facts={{ Sender: trace.sender, Kind: trace.kind, Committed: <Time at={trace.committed_at} /> }}
      />
      <section aria-labelledby="timeline">
        <h2 id="timeline">Timeline</h2>
        <Timeline steps={trace.timeline} />
      </section>
      <section aria-labelledby="recipients">
        <h2 id="recipients">Recipients</h2>
        {trace.recipients.length ? (
          trace.recipients.map((recipient) => <Recipient key={recipient.user} recipient={recipient} />)
        ) : (
          <Empty title="The message has no recipient" />
        )}
        {trace.has_more_recipients && <p>There are more recipients than this page lists.</p>}
      </section>
    </>
  );
}

function Timeline({ steps }: { steps: TimelineStep[] }) {
  return (
    <ol className="timeline">
      {steps.map(({ step, at, user, text }) => (
        <li key={`${step} ${user ?? ""} ${text}`} data-step={step}>
          <strong>{STEPS[step] ?? step}</strong> {user && <span className="tag">{user}</span>}{" "}
          <Time at={at} />
          <p>{text}</p>
        </li>
      ))}
    </ol>
  );
}

function Recipient({ recipient }: { recipient: RecipientTrace }) {
  const { user, state, verdict, notes, devices, pushes } = recipient;
  return (
    <article className="card" aria-label={`Recipient ${user}`}>
      <h3>
        {user} <span className="tag">{state.replaceAll("_", " ")}</span>
      </h3>
      <p>{verdict}</p>
      {notes.length > 0 && (
        <ul>
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {devices.length > 0 && (
        <ul>
          {devices.map(({ id, gateway, connected_since }) => (
            <li key={id}>
              Device <code>{id}</code> at gateway <code>{gateway}</code> since <Time at={connected_since} />
            </li>
          ))}
        </ul>
      )}
      {pushes.map((push) => (
        <Push key={push.device ?? ""} push={push} />
      ))}
    </article>
  );
}

/** What happened to the push notification of one device, with every answer of the provider. */
function Push({ push: { device, outcome, verdict, at, attempts } }: { push: PushTrace }) {
  const name = device === null ? "Push notifications" : `Push to ${device}`;
  return (
    <section aria-label={name}>
      <h4>
        {name} <span className="tag">{outcome}</span>
      </h4>
      <p>
        {verdict}, <Time at={at} />
      </p>
      {attempts.length > 0 && (
        <DataTable
          caption={`Attempts: ${name}`}
          items={attempts}
          keyOf={(attempt) => attempt.at}
          columns={[
            { title: "Time", cell: (attempt) => <Time at={attempt.at} /> },
            { title: "Action", cell: (attempt) => attempt.action },
            { title: "Status", cell: (attempt) => attempt.status ?? "none" },
            { title: "Answer", cell: (attempt) => attempt.answer || attempt.provider_id },
          ]}
        />
      )}
    </section>
  );
}
