import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { Time } from "../parts/time.tsx";
import { DecisionForm } from "./decision.tsx";
import { type ContextMessage, type Report, type ReviewContext, reasonText } from "./model.ts";

/** One review: the reported message in context, the reports, and the decision. */
export function ReviewPage(): ReactNode {
  const { tenant, review } = useParams({ from: "/t/$tenant/moderation/reviews/$review" });
  const url = path`/tenants/${tenant}/reviews/${review}`;
  // The audit log keeps each read, so the page reads only when it is opened and after a decision.
  const query = useQuery({
    queryKey: ["review", url],
    queryFn: () => call<ReviewContext>("POST", `${url}/context`),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return (
    <>
      <p>
        <Link to="/t/$tenant/moderation" params={{ tenant }}>
          Moderation
        </Link>
      </p>
      <QueryView query={query}>{(found) => <ReviewView tenant={tenant} url={url} found={found} />}</QueryView>
    </>
  );
}

function ReviewView({ tenant, url, found }: { tenant: string; url: string; found: ReviewContext }) {
  const { review, reports, chat, chat_type, messages } = found;
  return (
    <>
      <h1>{review.message ? `Message of ${review.author}` : `User ${review.author}`}</h1>
      <Facts
        facts={{
          Author: (
            <Link to="/t/$tenant/users/$user" params={{ tenant, user: review.author }}>
              {review.author}
            </Link>
          ),
          Chat: chat && (
            <Link to="/t/$tenant/chats/$chat" params={{ tenant, chat }}>
              {chat_type === "direct" ? "Direct chat" : "Group"} <code>{chat}</code>
            </Link>
          ),
          Reports: review.count,
          Reasons: review.reasons.map(reasonText).join(", "),
          "Waits since": <Time at={review.opened_at} />,
        }}
      />
      {review.message && (
        <section aria-labelledby="context">
          <h2 id="context">In context</h2>
          <ol className="excerpt">
            {messages.map((message) => (
              <ContextLine key={message.message} message={message} />
            ))}
          </ol>
        </section>
      )}
      <section aria-labelledby="decision">
        <h2 id="decision">Decision</h2>
        <DecisionForm url={url} found={found} />
      </section>
      {reports.length > 0 && (
        <section aria-labelledby="reports">
          <h2 id="reports">Reports</h2>
          <ReportTable tenant={tenant} reports={reports} />
        </section>
      )}
    </>
  );
}

function ContextLine({ message }: { message: ContextMessage }) {
  const { sender, at, state, text, is_reported } = message;
  return (
    <li data-reported={is_reported || undefined}>
      <p className="hint">
        <strong>{sender}</strong> <Time at={at} />
        {is_reported && <span className="tag bad">reported</span>}
      </p>
      <p className={text ? "" : "hint"}>{text ?? (state === "active" ? "no text" : state)}</p>
    </li>
  );
}

function ReportTable({ tenant, reports }: { tenant: string; reports: Report[] }) {
  return (
    <DataTable
      caption="Reports"
      items={reports}
      keyOf={({ reporter }) => reporter}
      columns={[
        {
          title: "Reporter",
          cell: ({ reporter }) => (
            <Link to="/t/$tenant/users/$user" params={{ tenant, user: reporter }}>
              {reporter}
            </Link>
          ),
        },
        { title: "Reason", cell: ({ reason }) => reasonText(reason) },
        { title: "Text", cell: ({ text }) => text },
        { title: "Time", cell: ({ at }) => <Time at={at} /> },
      ]}
    />
  );
}
