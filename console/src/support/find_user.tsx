import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { type FormEvent, type ReactNode, useState } from "react";
import { path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { PagedList, usePages } from "../parts/query_view.tsx";
import { Time } from "../parts/time.tsx";
import type { User, UserPageAnswer } from "./model.ts";

const WAYS = { id: "Id", phone: "Phone number", prefix: "Start of the id" } as const;
type Way = keyof typeof WAYS;

export function FindUserPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/users" });
  const search = useSearch({ from: "/t/$tenant/users" });
  const way = (Object.keys(WAYS) as Way[]).find((name) => search[name] !== undefined) ?? "prefix";
  const value = search[way] ?? "";
  const users = usePages<UserPageAnswer>(["users", tenant], path`/tenants/${tenant}/users`, { [way]: value });
  return (
    <>
      <h1>Users</h1>
      <SearchForm key={`${way} ${value}`} tenant={tenant} way={way} value={value} />
      <PagedList
        query={users}
        items={(page) => page.users}
        empty={{
          title: "No user found",
          hint: "Check the spelling. A phone number starts with + and the country.",
        }}
      >
        {(found) => <UserTable tenant={tenant} users={found} />}
      </PagedList>
    </>
  );
}

function SearchForm({ tenant, ...given }: { tenant: string; way: Way; value: string }) {
  const navigate = useNavigate();
  const [way, setWay] = useState(given.way);
  const [value, setValue] = useState(given.value);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void navigate({ to: "/t/$tenant/users", params: { tenant }, search: { [way]: value.trim() } });
  };
  return (
    <form className="search" onSubmit={submit}>
      <label>
        Find by
        <select value={way} onChange={(event) => setWay(event.target.value as Way)}>
          {Object.entries(WAYS).map(([name, title]) => (
            <option key={name} value={name}>
              {title}
            </option>
          ))}
        </select>
      </label>
      <label className="wide">
        {WAYS[way]}
        <input
          type={way === "phone" ? "tel" : "text"}
          value={value}
          required={way !== "prefix"}
          placeholder={way === "phone" ? "+4915112345678" : ""}
          onChange={(event) => setValue(event.target.value)}
        />
      </label>
      <button type="submit" className="primary">
        Find
      </button>
    </form>
  );
}

function UserTable({ tenant, users }: { tenant: string; users: User[] }) {
  return (
    <DataTable
      caption="Users"
      items={users}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Id",
          cell: ({ id }) => (
            <Link to="/t/$tenant/users/$user" params={{ tenant, user: id }}>
              {id}
            </Link>
          ),
        },
        { title: "Name", cell: ({ display_name }) => display_name },
        { title: "Phone", cell: ({ phone }) => phone },
        { title: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
        {
          title: "State",
          cell: ({ suspended_at }) => (suspended_at ? <span className="tag bad">suspended</span> : "active"),
        },
      ]}
    />
  );
}
