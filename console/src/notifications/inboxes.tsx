import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { Empty } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import type { InboxConfig } from "./model.ts";

export function InboxesPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/inboxes" });
  const query = useQuery({
    queryKey: ["inboxes", tenant],
    queryFn: () => call<{ inboxes: InboxConfig[] }>("GET", path`/tenants/${tenant}/inboxes`),
  });
  return (
    <>
      <h1>Inboxes</h1>
      <QueryView query={query}>
        {({ inboxes }) =>
          inboxes.length ? (
            <DataTable
              caption="Inboxes"
              items={inboxes}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: "Inbox",
                  cell: ({ id }) => (
                    <Link to="/t/$tenant/inboxes/$inbox" params={{ tenant, inbox: id }}>
                      {id}
                    </Link>
                  ),
                },
                { title: "Title", cell: ({ title }) => title },
                { title: "Categories", cell: ({ categories }) => categories.join(", ") },
                {
                  title: "Schema",
                  cell: ({ payload_schema, schema_version }) =>
                    payload_schema ? `version ${schema_version}` : "none",
                },
                { title: "Changed", cell: ({ updated_at }) => <Time at={updated_at} /> },
              ]}
            />
          ) : (
            <Empty title="This tenant has no inbox">
              Create one with PUT /v1/inboxes/{"{inbox}"}, or with `tidings inbox set`.
            </Empty>
          )
        }
      </QueryView>
    </>
  );
}
