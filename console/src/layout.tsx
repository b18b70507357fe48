import { useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call } from "./api.ts";
import { useSession } from "./session_gate.tsx";
import { useTenant, useTenants } from "./tenants.ts";

/** The frame of every page: the tenant, the navigation and the operator. */
export function Layout({ children }: { children: ReactNode }): ReactNode {
  return (
    <div className="frame">
      <a className="skip" href="#content">
        Skip to the content
      </a>
      <header className="top">
        <strong>Tidings</strong>
        <TenantChoice />
        <OperatorMenu />
      </header>
      <Navigation />
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function TenantChoice() {
  const navigate = useNavigate();
  const { data } = useTenants();
  const tenant = useTenant();
  return (
    <label className="tenant">
      Tenant
      <select
        value={tenant ?? ""}
        onChange={(event) => void navigate({ to: "/t/$tenant", params: { tenant: event.target.value } })}
      >
        {(data?.tenants ?? []).map((id) => (
          <option key={id} value={id}>
            {id}
          </option>
        ))}
      </select>
    </label>
  );
}

function OperatorMenu() {
  const { operator, role } = useSession();
  const queries = useQueryClient();
  const signOut = async () => {
    await call("DELETE", "/session");
    queries.setQueryData(["session"], null);
    queries.removeQueries({ predicate: ({ queryKey }) => queryKey[0] !== "session" });
  };
  return (
    <div className="operator">
      <span>
        {operator.name ?? operator.email ?? operator.id} <span className="tag">{role}</span>
      </span>
      <button type="button" onClick={() => void signOut()}>
        Sign out
      </button>
    </div>
  );
}

function Navigation() {
  const { permissions } = useSession();
  const tenant = useTenant();
  const may = (operation: string) => permissions.includes(operation);
  return (
    <nav aria-label="Console">
      {tenant && may("find_users") && (
        <Link to="/t/$tenant/users" params={{ tenant }}>
          Users
        </Link>
      )}
      {tenant && may("list_reviews") && (
        <Link to="/t/$tenant/moderation" params={{ tenant }}>
          Moderation
        </Link>
      )}
      {tenant && may("list_erasures") && (
        <Link to="/t/$tenant/data-requests" params={{ tenant }}>
          Data requests
        </Link>
      )}
      {tenant && may("list_inboxes") && (
        <Link to="/t/$tenant/inboxes" params={{ tenant }}>
          Inboxes
        </Link>
      )}
      {tenant && may("list_segments") && (
        <Link to="/t/$tenant/segments" params={{ tenant }}>
          Segments
        </Link>
      )}
      {tenant && may("list_jobs") && (
        <Link to="/t/$tenant/jobs" params={{ tenant }}>
          Jobs
        </Link>
      )}
      {tenant && may("list_webhooks") && (
        <Link to="/t/$tenant/webhooks" params={{ tenant }}>
          Webhooks
        </Link>
      )}
      {tenant && may("get_tenant") && (
        <Link to="/t/$tenant" params={{ tenant }} activeOptions={{ exact: true }}>
          Tenant
        </Link>
      )}
      {tenant && may("list_audit") && (
        <Link to="/t/$tenant/audit" params={{ tenant }}>
          Audit log
        </Link>
      )}
      {may("list_processes") && <Link to="/health">Health</Link>}
      {may("list_gateways") && <Link to="/gateways">Gateways</Link>}
      {may("list_dead_letters") && <Link to="/dead-letters">Dead letters</Link>}
      {may("list_settings") && <Link to="/settings">Settings</Link>}
      {may("list_installation_audit") && <Link to="/audit">Installation's audit log</Link>}
    </nav>
  );
}
