import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { call } from "./api.ts";

/** The tenants that the operator may see. */
export function useTenants() {
  return useQuery({
    queryKey: ["tenants"],
    queryFn: () => call<{ tenants: string[] }>("GET", "/tenants"),
    staleTime: 60_000,
  });
}

/** Return the tenant of the address, or of the list where the address has none. */
export function useTenant(): string | undefined {
  const { tenant } = useParams({ strict: false });
  const { data } = useTenants();
  return tenant ?? data?.tenants[0];
}
