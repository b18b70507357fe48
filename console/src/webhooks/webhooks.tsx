import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { type Page, PagedList, QueryView, usePages } from "../parts/query_view.tsx";
import { Empty, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { WebhookActions } from "./actions.tsx";
import type { Delivery, Queued, Webhook } from "./model.ts";

export function WebhooksPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/webhooks" });
  const query = useQuery({
    queryKey: ["webhooks", tenant],
    queryFn: () => call<{ endpoints: Webhook[] }>("GET", path`/tenants/${tenant}/webhooks`),
  });
  return (
    <>
      <h1>Webhooks</h1>
      <QueryView query={query}>
        {({ endpoints }) =>
          endpoints.length ? (
            <DataTable
              caption="Webhook endpoints"
              items={endpoints}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Endpoint",
                  cell: ({ id, url }) => (
                    <Link to="/t/$tenant/webhooks/$endpoint" params={{ tenant, endpoint: id }}>
                      {url}
                    </Link>
                  ),
                },
                { title: "Description", cell: ({ description }) => description },
                {
                  title: "Status",
                  cell: ({ status }) => <Tag text={status} isBad={status === "disabled"} />,
                },
                { title: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
              ]}
            />
          ) : (
            <Empty title="This tenant has no webhook endpoint">
              Create one with POST /v1/webhooks, or with `tidings webhook create`.
            </Empty>
          )
        }
      </QueryView>
    </>
  );
}

export function WebhookPage(): ReactNode {
  const { tenant, endpoint } = useParams({ from: "/t/$tenant/webhooks/$endpoint" });
  const url = path`/tenants/${tenant}/webhooks/${endpoint}`;
  const query = useQuery({ queryKey: ["webhook", url], queryFn: () => call<Webhook>("GET", url) });
  return (
    <>
      <h1>Webhook endpoint</h1>
      <QueryView query={query}>
        {(webhook) => (
          <>
            {webhook.status === "disabled" && (
              <Notice kind="error">
                <span>
                  Disabled <Time at={webhook.disabled_at} />
                  {webhook.disabled_reason && `: ${webhook.disabled_reason}`}
                </span>
              </Notice>
            )}
            <Facts
              facts={{
                Address: <code>{webhook.url}</code>,
                Id: <code>{webhook.id}</code>,
                Description: webhook.description,
                Events: webhook.events.join(", "),
                Created: <Time at={webhook.created_at} />,
              }}
            />
            <WebhookActions url={url} webhook={webhook} />
          </>
        )}
      </QueryView>
      <section aria-labelledby="waiting">
        <h2 id="waiting">Waiting</h2>
        <Queue url={url} />
      </section>
      <section aria-labelledby="deliveries">
        <h2 id="deliveries">Attempts of the last seven days</h2>
        <Deliveries tenant={tenant} url={url} />
      </section>
    </>
  );
}

function Queue({ url }: { url: string }) {
  const query = useQuery({
    queryKey: ["webhook queue", url],
    queryFn: () => call<{ waiting: Queued[] }>("GET", `${url}/queue`),
  });
  return (
    <QueryView query={query}>
      {({ waiting }) =>
        waiting.length ? (
          <DataTable
            caption="Waiting events"
            items={waiting}
            keyOf={({ kind, key }) => `${kind} ${key}`}
            columns={[
              { title: "Events", cell: eventsOf },
              { title: "Failed attempts", cell: ({ attempts }) => attempts },
              { title: "Last failure", cell: ({ reason }) => reason },
              { title: "Next attempt", cell: ({ next_at }) => <Time at={next_at} /> },
            ]}
          />
        ) : (
          <p>Nothing waits for this endpoint.</p>
        )
      }
    </QueryView>
  );
}

function Tag({ text, isBad }: { text: string; isBad: boolean }) {
  return <span className={isBad ? "tag bad" : "tag"}>{text}</span>;
}

function eventsOf({ kind, key, type, first, last }: Queued): ReactNode {
  if (kind === "event") return type;
  if (kind === "replay") return "a replay that starts soon";
  return (
    <>
      entries {first} to {last} of <code>{key}</code>
      {kind === "replayed" && ", again"}
    </>
  );
}

function Deliveries({ tenant, url }: { tenant: string; url: string }) {
  const query = usePages<Page & { deliveries: Delivery[] }>(["webhook deliveries", url], `${url}/deliveries`);
  return (
    <PagedList
      query={query}
      items={({ deliveries }) => deliveries}
      empty={{ title: "No event was sent in the last seven days" }}
    >
      {(deliveries) => (
        <DataTable
          caption="Attempts"
          items={deliveries}
          keyOf={({ event, at, attempt }) => `${event} ${at} ${attempt}`}
          columns={[
            { title: "Time", cell: ({ at }) => <Time at={at} /> },
            { title: "Event", cell: ({ type }) => type },
            { title: "Entry", cell: (delivery) => <EntryLink tenant={tenant} delivery={delivery} /> },
            { title: "Attempt", cell: ({ attempt }) => attempt },
            {
              title: "Outcome",
              cell: ({ outcome }) => <Tag text={outcome} isBad={outcome !== "delivered"} />,
            },
            { title: "Answer", cell: ({ status, latency_ms }) => `${status ?? "none"}, ${latency_ms} ms` },
            { title: "Failure", cell: ({ reason }) => reason },
            { title: "Next attempt", cell: ({ next_at }) => next_at && <Time at={next_at} /> },
          ]}
        />
      )}
    </PagedList>
  );
}

function EntryLink({ tenant, delivery: { chat, sequence } }: { tenant: string; delivery: Delivery }) {
  if (!chat) return null;
  return (
    <Link to="/t/$tenant/chats/$chat" params={{ tenant, chat }}>
      {sequence} of {chat}
    </Link>
  );
}
