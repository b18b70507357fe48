import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { QueryView } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { useMay } from "../session_gate.tsx";
import type { Tenant } from "./model.ts";

const QUESTIONS = {
  enable: {
    title: "Turn on search?",
    text: "The index then has words of all messages of this tenant, also of encrypted ones. A job indexes past messages.",
    action: "Turn on",
  },
  disable: {
    title: "Turn off search?",
    text: "Users cannot search any more. The tenant's part of the index is deleted within a minute.",
    action: "Turn off",
  },
} as const;

type Question = keyof typeof QUESTIONS;

/** Whether users of the tenant can search their messages. Owners can change it. */
export function SearchSection({ tenant }: { tenant: string }): ReactNode {
  const query = useQuery({
    queryKey: ["tenant", tenant],
    queryFn: () => call<Tenant>("GET", path`/tenants/${tenant}`),
  });
  return (
    <section aria-labelledby="search">
      <h2 id="search">Search</h2>
      <QueryView query={query}>
        {({ settings }) => <SearchSwitch tenant={tenant} isOn={settings.search === true} />}
      </QueryView>
    </section>
  );
}

function SearchSwitch({ tenant, isOn }: { tenant: string; isOn: boolean }) {
  const queries = useQueryClient();
  const askReason = useAskReason();
  const change = useMutation({
    mutationFn: ({ action, reason }: { action: Question; reason: string }) =>
      call<{ job: string } | undefined>("POST", path`/tenants/${tenant}/search/${action}`, { reason }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["tenant", tenant] }),
  });
  const mayChange = useMay("enable_search");
  const action = isOn ? "disable" : "enable";
  const ask = async () => {
    const reason = await askReason(QUESTIONS[action]);
    if (reason) change.mutate({ action, reason });
  };
  return (
    <>
      <p>{isOn ? "Users can search their messages." : "Users cannot search their messages."}</p>
      {mayChange && (
        <button type="button" disabled={change.isPending} onClick={() => void ask()}>
          {QUESTIONS[action].action} search
        </button>
      )}
      {change.error && <ErrorView error={change.error} />}
      {change.data && isOn && (
        <Notice kind="good">
          <p>
            Past messages are being indexed.{" "}
            <Link to="/t/$tenant/jobs/$job" params={{ tenant, job: change.data.job }}>
              Follow the job
            </Link>
          </p>
        </Notice>
      )}
    </>
  );
}
