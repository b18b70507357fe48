import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, path } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { Empty, ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import { ApprovalSection } from "./approval.tsx";
import type { ApiKey, SigningKey, Tenant } from "./model.ts";
import { SearchSection } from "./search.tsx";

const SCOPES = ["users", "notifications", "act_as_user"];

export function TenantPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant" });
  const mayReadKeys = useMay("list_api_keys");
  return (
    <>
      <h1>Tenant {tenant}</h1>
      <TenantFacts tenant={tenant} />
      <SearchSection tenant={tenant} />
      <ApprovalSection tenant={tenant} />
      {mayReadKeys && (
        <>
          <section aria-labelledby="api-keys">
            <h2 id="api-keys">API keys</h2>
            <ApiKeys tenant={tenant} />
          </section>
          <section aria-labelledby="signing-keys">
            <h2 id="signing-keys">Signing keys</h2>
            <SigningKeys tenant={tenant} />
          </section>
        </>
      )}
    </>
  );
}

function TenantFacts({ tenant }: { tenant: string }) {
  const query = useQuery({
    queryKey: ["tenant", tenant],
    queryFn: () => call<Tenant>("GET", path`/tenants/${tenant}`),
  });
  return (
    <QueryView query={query}>
      {({ settings, created_at, updated_at }) => (
        <Facts
          facts={{
            ...Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, textOf(value)])),
            Created: <Time at={created_at} />,
            Updated: <Time at={updated_at} />,
          }}
        />
      )}
    </QueryView>
  );
}

function textOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join(", ") : String(value ?? "");
}

function ApiKeys({ tenant }: { tenant: string }) {
  const queries = useQueryClient();
  const askReason = useAskReason();
  const url = path`/tenants/${tenant}/api-keys`;
  const query = useQuery({
    queryKey: ["api-keys", tenant],
    queryFn: () => call<{ api_keys: ApiKey[] }>("GET", url),
  });
  const revoke = useMutation({
    mutationFn: ({ id, reason }: { id: string; reason: string }) =>
      call("DELETE", url + path`/${id}`, { reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["api-keys", tenant] }),
  });
  const mayRevoke = useMay("revoke_api_key");
  const start = async ({ id, title }: ApiKey) => {
    const reason = await askReason({
      title: `Revoke the key ${title}?`,
      text: "Servers that use it are refused at once. This cannot be undone.",
      action: "Revoke",
    });
    if (reason) revoke.mutate({ id, reason });
  };
  return (
    <>
      {useMay("issue_api_key") && <IssueForm tenant={tenant} />}
      {revoke.error && <ErrorView error={revoke.error} />}
      <QueryView query={query}>
        {({ api_keys }) =>
          api_keys.length ? (
            <DataTable
              caption="API keys"
              items={api_keys}
              keyOf={({ id }) => id}
              columns={[
                { title: "Name", cell: ({ title }) => title },
                { title: "Id", cell: ({ id }) => <code>{id}</code> },
                { title: "Scopes", cell: ({ scopes }) => scopes.join(", ") },
                { title: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
                { title: "State", cell: (key) => <KeyState apiKey={key} /> },
                {
                  title: "Action",
                  cell: (key) =>
                    mayRevoke &&
                    !key.revoked_at && (
                      <button type="button" onClick={() => void start(key)}>
                        Revoke
                      </button>
                    ),
                },
              ]}
            />
          ) : (
            <Empty title="This tenant has no API key" />
          )
        }
      </QueryView>
    </>
  );
}

function KeyState({ apiKey }: { apiKey: ApiKey }) {
  if (apiKey.revoked_at) return <span className="bad">revoked</span>;
  if (apiKey.expires_at && new Date(apiKey.expires_at) < new Date())
    return <span className="bad">expired</span>;
  return <span className="good">active</span>;
}

function IssueForm({ tenant }: { tenant: string }) {
  const queries = useQueryClient();
  const askReason = useAskReason();
  const [title, setTitle] = useState("");
  const [scopes, setScopes] = useState<string[]>(["notifications"]);
  const issue = useMutation({
    mutationFn: (reason: string) =>
      call<{ secret: string }>("POST", path`/tenants/${tenant}/api-keys`, {
        body: { title, scopes },
        reason,
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["api-keys", tenant] }),
  });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const reason = await askReason({
      title: `Issue the key ${title}?`,
      text: `It may use: ${scopes.join(", ")}. The secret is shown once.`,
      action: "Issue",
    });
    if (reason) issue.mutate(reason);
  };
  const toggle = (scope: string, isOn: boolean) =>
    setScopes((before) => [...before.filter((each) => each !== scope), ...(isOn ? [scope] : [])]);
  return (
    <form className="search" onSubmit={(event) => void submit(event)}>
      <label className="wide">
        Name of a new key
        <input required maxLength={100} value={title} onChange={(event) => setTitle(event.target.value)} />
      </label>
      <fieldset className="scopes">
        <legend>Scopes</legend>
        {SCOPES.map((scope) => (
          <label key={scope}>
            <input
              type="checkbox"
              checked={scopes.includes(scope)}
              onChange={(event) => toggle(scope, event.target.checked)}
            />
            {scope}
          </label>
        ))}
      </fieldset>
      <button type="submit" className="primary" disabled={issue.isPending || scopes.length === 0}>
        Issue a key
      </button>
      {issue.error && <ErrorView error={issue.error} />}
      {issue.data && (
        <Notice kind="good">
          <p>Copy the secret now. It is not shown again.</p>
          <code>{issue.data.secret}</code>
        </Notice>
      )}
    </form>
  );
}

function SigningKeys({ tenant }: { tenant: string }) {
  const query = useQuery({
    queryKey: ["signing-keys", tenant],
    queryFn: () => call<{ signing_keys: SigningKey[] }>("GET", path`/tenants/${tenant}/signing-keys`),
  });
  return (
    <QueryView query={query}>
      {({ signing_keys }) =>
        signing_keys.length ? (
          <DataTable
            caption="Signing keys"
            items={signing_keys}
            keyOf={({ kid }) => kid}
            columns={[
              { title: "Id", cell: ({ kid }) => <code>{kid}</code> },
              { title: "Kind", cell: ({ kind }) => kind },
              { title: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
              { title: "Valid until", cell: ({ not_after }) => <Time at={not_after} /> },
            ]}
          />
        ) : (
          <Empty title="This tenant has no signing key">Tokens cannot be verified without one.</Empty>
        )
      }
    </QueryView>
  );
}
