import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, path } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { type Page, PagedList, QueryView, usePages } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import { JsonField, useJsonDraft } from "./json_field.tsx";
import type { Reach, Segment } from "./model.ts";

const EXAMPLE = { attribute: "plan", in: ["pro", "team"] };
const NAME = "[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}";

interface SegmentProps {
  tenant: string;
  segment: Segment;
}

export function SegmentsPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/segments" });
  const query = usePages<Page & { segments: Segment[] }>(
    ["segments", tenant],
    path`/tenants/${tenant}/segments`,
  );
  return (
    <>
      <h1>Segments</h1>
      <PagedList
        query={query}
        items={({ segments }) => segments}
        empty={{
          title: "This tenant has no segment",
          hint: "Define one by a predicate below, or upload a list with `tidings segment upload`.",
        }}
      >
        {(segments) => <SegmentTable tenant={tenant} segments={segments} />}
      </PagedList>
      {useMay("set_segment") && <NewSegment tenant={tenant} />}
    </>
  );
}

function SegmentTable({ tenant, segments }: { tenant: string; segments: Segment[] }) {
  return (
    <DataTable
      caption="Segments"
      items={segments}
      keyOf={({ name }) => name}
      columns={[
        {
          title: "Segment",
          cell: ({ name }) => (
            <Link to="/t/$tenant/segments/$segment" params={{ tenant, segment: name }}>
              {name}
            </Link>
          ),
        },
        { title: "Selected by", cell: ({ kind }) => kind },
        {
          title: "Active",
          cell: ({ kind, active, newest }) =>
            kind === "list" ? `version ${active} of ${newest}` : "its predicate",
        },
        { title: "Changed", cell: ({ updated_at }) => <Time at={updated_at} /> },
      ]}
    />
  );
}

function useSetPredicate(tenant: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ name, predicate }: { name: string; predicate: object }) =>
      call<Segment>("PUT", path`/tenants/${tenant}/segments/${name}`, { body: { predicate } }),
    onSuccess: (_, { name }) =>
      Promise.all(
        [
          ["segments", tenant],
          ["segment", tenant, name],
          ["reach", tenant, name],
        ].map((queryKey) => queries.invalidateQueries({ queryKey })),
      ),
  });
}

function NewSegment({ tenant }: { tenant: string }) {
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const draft = useJsonDraft(EXAMPLE);
  const set = useSetPredicate(tenant);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!draft.value) return;
    await set.mutateAsync({ name, predicate: draft.value });
    await navigate({ to: "/t/$tenant/segments/$segment", params: { tenant, segment: name } });
  };
  return (
    <section aria-labelledby="new-segment">
      <h2 id="new-segment">Define a segment</h2>
      <form className="stack" onSubmit={(event) => void submit(event).catch(() => undefined)}>
        <label>
          Name
          <input required pattern={NAME} value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <JsonField label="Predicate over the attributes of users" draft={draft} rows={8} />
        <button type="submit" className="primary" disabled={!name || !draft.value || set.isPending}>
          Define
        </button>
        {set.error && <ErrorView error={set.error} />}
      </form>
    </section>
  );
}

export function SegmentPage(): ReactNode {
  const { tenant, segment } = useParams({ from: "/t/$tenant/segments/$segment" });
  const query = useQuery({
    queryKey: ["segment", tenant, segment],
    queryFn: () => call<Segment>("GET", path`/tenants/${tenant}/segments/${segment}`),
  });
  return (
    <>
      <h1>Segment {segment}</h1>
      <QueryView query={query}>
        {(found) => (
          <>
            <Facts
              facts={{
                "Selected by": found.kind,
                Active: found.kind === "list" && `version ${found.active}`,
                Newest: found.kind === "list" && `version ${found.newest}`,
                Changed: <Time at={found.updated_at} />,
              }}
            />
            <SegmentReach tenant={tenant} segment={found} />
            {found.kind === "list" ? (
              <Versions tenant={tenant} segment={found} />
            ) : (
              <Predicate key={found.version} tenant={tenant} segment={found} />
            )}
          </>
        )}
      </QueryView>
    </>
  );
}

function SegmentReach({ tenant, segment }: SegmentProps) {
  const query = useQuery({
    queryKey: ["reach", tenant, segment.name],
    queryFn: () => call<Reach>("GET", path`/tenants/${tenant}/segments/${segment.name}/reach`),
  });
  return (
    <section aria-labelledby="reach">
      <h2 id="reach">Reach</h2>
      <QueryView query={query}>
        {({ reach, low, high }) => (
          <p className="figure">
            <strong>{reach.toLocaleString()}</strong> {reach === 1 ? "user" : "users"} with a profile
            {low !== high && `, between ${low.toLocaleString()} and ${high.toLocaleString()}`}
          </p>
        )}
      </QueryView>
    </section>
  );
}

function Versions({ tenant, segment }: SegmentProps) {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const isAllowed = useMay("activate_segment");
  const activate = useMutation({
    mutationFn: ({ version, reason }: { version: number; reason: string }) =>
      call("POST", path`/tenants/${tenant}/segments/${segment.name}/activate`, { body: { version }, reason }),
    onSettled: () =>
      Promise.all(
        [
          ["segment", tenant, segment.name],
          ["reach", tenant, segment.name],
        ].map((queryKey) => queries.invalidateQueries({ queryKey })),
      ),
  });
  const newest = segment.newest ?? 0;
  const versions = [newest, newest - 1].filter((version) => version > 0);
  const start = async (version: number) => {
    const reason = await askReason({
      title: `Activate version ${version}?`,
      text: "Users of this version see broadcasts to the segment within five seconds. Users who are only in the other version no longer do.",
      action: "Activate",
    });
    if (reason) activate.mutate({ version, reason });
  };
  return (
    <section aria-labelledby="versions">
      <h2 id="versions">Versions</h2>
      {activate.error && <ErrorView error={activate.error} />}
      <DataTable
        caption="Versions"
        items={versions}
        keyOf={String}
        columns={[
          { title: "Version", cell: (version) => version },
          {
            title: "State",
            cell: (version) =>
              version === segment.active ? <span className="good">active</span> : "not active",
          },
          {
            title: "Action",
            cell: (version) =>
              isAllowed &&
              version !== segment.active && (
                <button type="button" disabled={activate.isPending} onClick={() => void start(version)}>
                  Activate
                </button>
              ),
          },
        ]}
      />
      <p className="hint">
        The newest version and the one before it can be activated. <code>tidings segment upload</code> adds a
        version.
      </p>
    </section>
  );
}

function Predicate({ tenant, segment }: SegmentProps) {
  const draft = useJsonDraft(segment.predicate ?? undefined);
  const isAllowed = useMay("set_segment");
  const set = useSetPredicate(tenant);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (draft.value) set.mutate({ name: segment.name, predicate: draft.value });
  };
  if (!isAllowed) return <pre className="raw">{draft.text}</pre>;
  return (
    <section aria-labelledby="predicate">
      <h2 id="predicate">Predicate</h2>
      <form className="stack" onSubmit={submit}>
        <JsonField label="Predicate over the attributes of users" draft={draft} rows={8} />
        <button type="submit" className="primary" disabled={!draft.value || set.isPending}>
          Save
        </button>
        {set.error && <ErrorView error={set.error} />}
        {set.isSuccess && <Notice kind="good">Saved. It applies everywhere within five seconds.</Notice>}
      </form>
    </section>
  );
}
