import { useParams } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { type Page, PagedList, usePages } from "../parts/query_view.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";

interface AuditRecord {
  id: string;
  action_id: string;
  phase: "started" | "finished";
  at: string;
  source: "console" | "rest" | "cli" | "worker";
  actor: string;
  credential: string;
  operation: string;
  target: string;
  outcome?: string;
  before?: unknown;
  after?: unknown;
  reason?: string;
  address?: string;
}

interface AuditPageAnswer extends Page {
  records: AuditRecord[];
}

/** The administrative actions that concern a tenant. */
export function TenantAuditPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/audit" });
  return <AuditLog title={`Audit log of ${tenant}`} url={path`/tenants/${tenant}/audit`} />;
}

/** The administrative actions that concern the whole installation, such as sign-ins. */
export function InstallationAuditPage(): ReactNode {
  return <AuditLog title="Audit log of the installation" url="/audit" />;
}

function AuditLog({ title, url }: { title: string; url: string }) {
  const [month, setMonth] = useState(() => new Date().toISOString().slice(0, 7));
  const mayExport = useMay("export_audit");
  const records = usePages<AuditPageAnswer>(["audit", url], url, { month });
  return (
    <>
      <h1>{title}</h1>
      <div className="search">
        <label>
          Month
          <input type="month" required value={month} onChange={(event) => setMonth(event.target.value)} />
        </label>
        {mayExport && (
          <a className="button" href={`/admin/v1${url}/export?month=${month}`} download>
            Export the month
          </a>
        )}
      </div>
      <PagedList
        query={records}
        items={(page) => page.records}
        empty={{ title: "No action was recorded in this month" }}
      >
        {(found) => <AuditTable records={latestOfEach(found)} />}
      </PagedList>
    </>
  );
}

/** Return one record for each action: the finished one, or the started one if the action did not finish. */
function latestOfEach(records: AuditRecord[]): AuditRecord[] {
  const finished = new Set(records.filter(({ phase }) => phase === "finished").map((each) => each.action_id));
  return records.filter(({ phase, action_id }) => phase === "finished" || !finished.has(action_id));
}

function AuditTable({ records }: { records: AuditRecord[] }) {
  return (
    <DataTable
      caption="Actions"
      items={records}
      keyOf={({ id }) => id}
      columns={[
        { title: "Time", cell: ({ at }) => <Time at={at} /> },
        {
          title: "Actor",
          cell: ({ actor, source }) => (
            <>
              {actor} <span className="tag">{source}</span>
            </>
          ),
        },
        {
          title: "Action",
          cell: ({ operation, target }) => (
            <>
              {operation} <code>{target}</code>
            </>
          ),
        },
        { title: "Outcome", cell: (record) => <Outcome record={record} /> },
        { title: "Reason", cell: ({ reason }) => reason },
        { title: "Change", cell: (record) => <Change record={record} /> },
      ]}
    />
  );
}

function Outcome({ record }: { record: AuditRecord }) {
  if (record.phase === "started") return <span className="warning">not finished: the effect is unknown</span>;
  return <span className={record.outcome === "ok" ? "good" : "bad"}>{record.outcome}</span>;
}

function Change({ record: { before, after } }: { record: AuditRecord }) {
  if (before === undefined && after === undefined) return null;
  return (
    <details>
      <summary>Before and after</summary>
      <pre>{JSON.stringify(before ?? null, null, 2)}</pre>
      <pre>{JSON.stringify(after ?? null, null, 2)}</pre>
    </details>
  );
}
