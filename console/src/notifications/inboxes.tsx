import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { type Page, PagedList, usePages } from "../parts/query_view.tsx";
import { Time } from "../parts/time.tsx";
import type { InboxConfig } from "./model.ts";

export function InboxesPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/inboxes" });
  const query = usePages<Page & { inboxes: InboxConfig[] }>(
    ["inboxes", tenant],
    path`/tenants/${tenant}/inboxes`,
  );
  return (
    <>
      <h1>Inboxes</h1>
      <PagedList
        query={query}
        items={({ inboxes }) => inboxes}
        empty={{
          title: "This tenant has no inbox",
          hint: "Create one with PUT /v1/inboxes/{inbox}, or with `tidings inbox set`.",
        }}
      >
        {(inboxes) => (
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
        )}
      </PagedList>
    </>
  );
}
