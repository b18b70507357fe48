import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { call } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { QueryView } from "../parts/query_view.tsx";
import { Empty } from "../parts/states.tsx";
import type { Setting } from "./model.ts";

/** The settings of the console's process, with their origin. */
export function SettingsPage(): ReactNode {
  const [part, setPart] = useState("");
  const query = useQuery({
    queryKey: ["settings"],
    queryFn: () => call<{ settings: Setting[] }>("GET", "/settings"),
  });
  return (
    <>
      <h1>Settings</h1>
      <label>
        Part of the name
        <input type="search" value={part} onChange={(event) => setPart(event.target.value)} />
      </label>
      <QueryView query={query}>
        {({ settings }) => {
          const found = settings.filter(({ name }) => name.includes(part.trim()));
          if (!found.length) return <Empty title="No setting has this name" />;
          return (
            <DataTable
              caption="Settings"
              items={found}
              keyOf={({ name }) => name}
              columns={[
                { title: "Setting", cell: ({ name }) => <code>{name}</code> },
                { title: "Value", cell: ({ value }) => <code>{value}</code> },
                { title: "Origin", cell: ({ source }) => source },
              ]}
            />
          );
        }}
      </QueryView>
    </>
  );
}
