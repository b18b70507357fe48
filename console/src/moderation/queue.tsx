import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { path } from "../api.ts";
import { DataTable } from "../parts/data_table.tsx";
import { type Page, PagedList, usePages } from "../parts/query_view.tsx";
import { Time } from "../parts/time.tsx";
import { ACTION_TEXTS, type Review, type ReviewState, reasonText } from "./model.ts";

const STATES: Record<string, string> = {
  open: "Open",
  applying: "Not carried out completely",
  decided: "Decided",
  all: "All",
};

/** The review queue of a tenant: reported and flagged messages, and reported users. */
export function ModerationPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/moderation" });
  const { state = "open" } = useSearch({ from: "/t/$tenant/moderation" });
  const navigate = useNavigate();
  const filter = state === "all" ? {} : { state };
  const query = usePages<Page & { reviews: Review[] }>(
    ["reviews", tenant],
    path`/tenants/${tenant}/reviews`,
    filter,
  );
  return (
    <>
      <h1>Moderation</h1>
      <div className="search">
        <label>
          Reviews
          <select
            value={state}
            onChange={(event) =>
              void navigate({
                to: "/t/$tenant/moderation",
                params: { tenant },
                search: { state: event.target.value },
              })
            }
          >
            {Object.entries(STATES).map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </label>
        <Link className="button" to="/t/$tenant/moderation/lists" params={{ tenant }}>
          Words and domains
        </Link>
      </div>
      <PagedList
        query={query}
        items={({ reviews }) => reviews}
        empty={{
          title: state === "open" ? "Nothing waits for a decision" : "There are no such reviews",
          hint: "Users report messages and other users in their apps.",
        }}
      >
        {(reviews) => <ReviewTable tenant={tenant} reviews={reviews} />}
      </PagedList>
    </>
  );
}

function ReviewTable({ tenant, reviews }: { tenant: string; reviews: Review[] }) {
  return (
    <DataTable
      caption="Reviews"
      items={reviews}
      keyOf={({ id }) => id}
      columns={[
        {
          title: "Target",
          cell: ({ id, message, author }) => (
            <Link to="/t/$tenant/moderation/reviews/$review" params={{ tenant, review: id }}>
              {message ? `Message of ${author}` : `User ${author}`}
            </Link>
          ),
        },
        { title: "Reports", cell: ({ count }) => count },
        { title: "Reasons", cell: ({ reasons }) => reasons.map(reasonText).join(", ") },
        { title: "Waits since", cell: ({ opened_at }) => <Time at={opened_at} /> },
        { title: "State", cell: ({ state, decision }) => <State state={state} action={decision?.action} /> },
      ]}
    />
  );
}

function State({ state, action }: { state: ReviewState; action: keyof typeof ACTION_TEXTS | undefined }) {
  const text = state === "decided" && action ? ACTION_TEXTS[action].done : STATES[state];
  return <span className={state === "applying" ? "tag bad" : "tag"}>{text}</span>;
}
