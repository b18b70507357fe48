import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useState } from "react";
import { call, Problem } from "../api.ts";
import { Facts } from "../parts/data_table.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import { ACTION_TEXTS, type Decision, type ReviewAction, type ReviewContext } from "./model.ts";

interface Wanted {
  action: ReviewAction;
  until?: string;
  reason?: string;
}

/** The decision of a review, or the form to decide. */
export function DecisionForm({ url, found }: { url: string; found: ReviewContext }): ReactNode {
  const mayDecide = useMay("decide_review");
  const decide = useDecide(url);
  const { state, decision } = found.review;
  return (
    <>
      {decision && <DecisionFacts decision={decision} />}
      {state === "applying" && decision && (
        <Notice kind="error">
          <p>The decision was recorded, and was not carried out completely.</p>
          {mayDecide && (
            <button
              type="button"
              disabled={decide.isPending}
              onClick={() => void decide.ask(again(decision))}
            >
              Carry it out again
            </button>
          )}
        </Notice>
      )}
      {state === "open" && mayDecide && <Choice found={found} decide={decide} />}
      {state === "open" && !mayDecide && <p>Your role does not allow decisions.</p>}
      {decide.error && <ErrorView error={decide.error} />}
    </>
  );
}

function DecisionFacts({ decision }: { decision: Decision }) {
  return (
    <Facts
      facts={{
        Decision: ACTION_TEXTS[decision.action].done,
        By: decision.by,
        Time: <Time at={decision.at} />,
        Until: decision.until && <Time at={decision.until} />,
        Reason: decision.reason,
      }}
    />
  );
}

function again({ action, until, reason }: Decision): Wanted {
  return { action, ...(until ? { until } : {}), ...(reason ? { reason } : {}) };
}

function Choice({ found, decide }: { found: ReviewContext; decide: ReturnType<typeof useDecide> }) {
  const actions = possibleActions(found);
  const [action, setAction] = useState<ReviewAction>("dismiss");
  const [until, setUntil] = useState("");
  const [reason, setReason] = useState("");
  const isRestriction = action === "mute" || action === "ban";
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void decide.ask({
      action,
      ...(isRestriction && until ? { until: new Date(until).toISOString() } : {}),
      ...(isRestriction && reason.trim() ? { reason: reason.trim() } : {}),
    });
  };
  return (
    <form className="decision" onSubmit={submit}>
      <fieldset>
        <legend className="hidden">Action</legend>
        {actions.map((each) => (
          <label key={each}>
            <input
              type="radio"
              name="action"
              value={each}
              checked={action === each}
              onChange={() => setAction(each)}
            />
            <span>{ACTION_TEXTS[each].name}</span>
            <span className="hint">{ACTION_TEXTS[each].effect}</span>
          </label>
        ))}
      </fieldset>
      {isRestriction && (
        <div className="search">
          <label>
            Until (empty: no end)
            <input type="datetime-local" value={until} onChange={(event) => setUntil(event.target.value)} />
          </label>
          <label className="wide">
            Reason that members see
            <input maxLength={60} value={reason} onChange={(event) => setReason(event.target.value)} />
          </label>
        </div>
      )}
      <button type="submit" className="primary" disabled={decide.isPending}>
        Decide …
      </button>
    </form>
  );
}

function possibleActions({ review, chat_type }: ReviewContext): ReviewAction[] {
  if (!review.message) return ["dismiss", "suspend"];
  return chat_type === "group"
    ? ["dismiss", "redact", "mute", "ban", "suspend"]
    : ["dismiss", "redact", "suspend"];
}

function useDecide(url: string) {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const change = useMutation({
    mutationFn: ({ wanted, reason }: { wanted: Wanted; reason: string }) =>
      call("POST", `${url}/decision`, { body: wanted, reason }),
    onSettled: (_, error) => {
      // The error stays visible with a form that is still valid. After another moderator's decision it is not.
      if (error instanceof Problem && error.code === "request_invalid") return undefined;
      void queries.invalidateQueries({ queryKey: ["reviews"] });
      return queries.invalidateQueries({ queryKey: ["review", url] });
    },
  });
  const ask = async (wanted: Wanted) => {
    const { name, effect } = ACTION_TEXTS[wanted.action];
    const reason = await askReason({ title: `${name}?`, text: effect, action: name });
    if (reason) change.mutate({ wanted, reason });
  };
  return { ask, error: change.error, isPending: change.isPending };
}
