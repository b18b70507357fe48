import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { PagedList, usePages } from "../parts/query_view.tsx";
import { Time } from "../parts/time.tsx";
import { DecisionButtons, ErasureView } from "./erasure.tsx";
import { type Erasure, type ErasurePage, STATE_TEXTS, STEP_TEXTS } from "./model.ts";

/** Erasures of a tenant's users, newest request first, and the deletion of the tenant. */
export function DataRequestsPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/data-requests" });
  const query = usePages<ErasurePage>(["data-requests", tenant], path`/tenants/${tenant}/erasures`);
  const deletion = query.data?.pages[0]?.deletion;
  return (
    <>
      <h1>Data requests</h1>
      <p className="hint">
        Start an export or an erasure on the page of a user. Exports that run are in the list of{" "}
        <Link to="/t/$tenant/jobs" params={{ tenant }}>
          jobs
        </Link>
        .
      </p>
      {deletion && (
        <section className="card" aria-labelledby="deletion">
          <h2 id="deletion">Deletion of the tenant {tenant}</h2>
          <ErasureView erasure={deletion} name={tenant} />
          <DecisionButtons
            url={path`/tenants/${tenant}/deletion`}
            operation="decide_deletion"
            erasure={deletion}
            name={tenant}
          />
        </section>
      )}
      <PagedList
        query={query}
        items={({ erasures }) => erasures}
        empty={{ title: "No erasure was requested", hint: "Requests of the last 400 days are listed here." }}
      >
        {(erasures) => <ErasureTable tenant={tenant} erasures={erasures} />}
      </PagedList>
    </>
  );
}

function ErasureTable({ tenant, erasures }: { tenant: string; erasures: Erasure[] }) {
  return (
    <DataTable
      caption="Erasures"
      items={erasures}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "User",
          cell: ({ user }) => (
            <Link to="/t/$tenant/users/$user" params={{ tenant, user }}>
              {user}
            </Link>
          ),
        },
        {
          title: "State",
          cell: ({ state }) => (
            <span className={state === "awaiting_approval" ? "tag warning" : "tag"}>
              {STATE_TEXTS[state]}
            </span>
          ),
        },
        { title: "Step", cell: ({ state, step }) => (state === "running" ? STEP_TEXTS[step] : "") },
        { title: "Requested", cell: ({ requested_at }) => <Time at={requested_at} /> },
        { title: "By", cell: ({ requested_by }) => <code>{requested_by}</code> },
        { title: "Decided by", cell: ({ decided_by }) => decided_by && <code>{decided_by}</code> },
      ]}
    />
  );
}
