import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { QueryView } from "../parts/query_view.tsx";
import { DecisionButtons, EraseButton, ErasureView } from "./erasure.tsx";
import { ExportView } from "./export.tsx";
import { type DataRequests, isErasing } from "./model.ts";

const REFRESH_MS = 3_000;

/** Read the last export and the erasure of a user, again and again while one of them runs. */
export function useDataRequests(tenant: string, user: string) {
  return useQuery({
    queryKey: ["data-requests", tenant, user],
    queryFn: () => call<DataRequests>("GET", path`/tenants/${tenant}/users/${user}/data-requests`),
    refetchInterval: ({ state: { data } }) =>
      data?.erasure?.state === "running" || data?.export?.state === "running" ? REFRESH_MS : false,
  });
}

/** The sections that export and erase a user. */
export function UserDataRequests({ tenant, user }: { tenant: string; user: string }): ReactNode {
  const query = useDataRequests(tenant, user);
  return (
    <>
      {!isErasing(query.data?.erasure) && (
        <section aria-labelledby="export">
          <h2 id="export">Export</h2>
          <QueryView query={query}>
            {(found) => <ExportView tenant={tenant} user={user} found={found} />}
          </QueryView>
        </section>
      )}
      <section aria-labelledby="erasure">
        <h2 id="erasure">Erasure</h2>
        <QueryView query={query}>
          {({ erasure }) => <UserErasure tenant={tenant} user={user} erasure={erasure} />}
        </QueryView>
      </section>
    </>
  );
}

function UserErasure({
  tenant,
  user,
  erasure,
}: {
  tenant: string;
  user: string;
  erasure: DataRequests["erasure"];
}) {
  const canRequest = !erasure || erasure.state === "rejected" || erasure.state === "expired";
  return (
    <>
      {erasure && <ErasureView erasure={erasure} name={user} />}
      {erasure && (
        <DecisionButtons
          url={path`/tenants/${tenant}/users/${user}/erasure`}
          operation="decide_erasure"
          erasure={erasure}
          name={user}
        />
      )}
      {canRequest && <EraseButton tenant={tenant} user={user} />}
    </>
  );
}
