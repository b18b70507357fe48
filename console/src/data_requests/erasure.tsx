import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { Facts } from "../parts/data_table.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay, useSession } from "../session_gate.tsx";
import { type DecisionAction, type ErasureProgress, isErasing, STATE_TEXTS, STEP_TEXTS } from "./model.ts";

const STEPS = Object.keys(STEP_TEXTS);

/** How far an erasure is, what it has erased, and its certificate. */
export function ErasureView({ erasure, name }: { erasure: ErasureProgress; name: string }): ReactNode {
  const { state, step, counts, certificate } = erasure;
  const number = STEPS.indexOf(step) + 1;
  const erased = Object.entries(counts).flatMap(([kind, count]) => (count ? [[nameOf(kind), count]] : []));
  return (
    <>
      <Facts
        facts={{
          State: <span className="tag">{STATE_TEXTS[state]}</span>,
          Requested: <Time at={erasure.requested_at} />,
          "Requested by": <code>{erasure.requested_by}</code>,
          [state === "rejected" ? "Rejected by" : "Approved by"]: erasure.decided_by && (
            <code>{erasure.decided_by}</code>
          ),
          [state === "rejected" ? "Rejected" : "Approved"]: erasure.decided_by && (
            <Time at={erasure.decided_at} />
          ),
          Expires: erasure.expires_at && <Time at={erasure.expires_at} />,
        }}
      />
      {state === "running" && (
        <>
          <div className="steps">
            <progress aria-label={`Erasure of ${name}`} value={number - 1} max={STEPS.length - 1} />
            <span>
              Step {number} of {STEPS.length - 1}: {STEP_TEXTS[step] ?? step}
            </span>
          </div>
          <p className="hint">It takes at least 8 minutes, because processes cache permissions.</p>
        </>
      )}
      {isErasing(erasure) && erased.length > 0 && (
        <>
          <h3>Erased items</h3>
          <Facts facts={Object.fromEntries(erased)} />
        </>
      )}
      {certificate && (
        <a className="button" href={`data:application/jose,${certificate}`} download={`${name}.certificate`}>
          Download the certificate
        </a>
      )}
    </>
  );
}

/** Name a kind of item: `push_registrations` is "Push registrations". */
function nameOf(kind: string): string {
  const text = kind.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The buttons that approve and reject a request. The requester cannot approve it. */
export function DecisionButtons({
  url,
  operation,
  erasure,
  name,
}: {
  url: string;
  operation: "decide_erasure" | "decide_deletion";
  erasure: ErasureProgress;
  /** The id of the user or of the tenant that is erased. */
  name: string;
}): ReactNode {
  const { operator } = useSession();
  const mayDecide = useMay(operation);
  const askReason = useAskReason();
  const queries = useQueryClient();
  const decide = useMutation({
    mutationFn: ({ action, reason }: { action: DecisionAction; reason: string }) =>
      call("POST", `${url}/decision`, { body: { action }, reason }),
    onSettled: () => queries.invalidateQueries({ queryKey: ["data-requests"] }),
  });
  if (erasure.state !== "awaiting_approval") return decide.error && <ErrorView error={decide.error} />;
  const isRequester = operator.id === erasure.requested_by;
  const start = async (action: DecisionAction) => {
    const reason = await askReason(action === "approve" ? approval(name) : rejection(name));
    if (reason) decide.mutate({ action, reason });
  };
  return (
    <Notice kind="info">
      <p>
        <strong>Nothing is erased yet.</strong> Another operator or API key than{" "}
        <code>{erasure.requested_by}</code> must approve this request.
      </p>
      {isRequester && <p>You requested it, so you cannot approve it. You can withdraw it.</p>}
      {!mayDecide && <p>Your role does not allow decisions.</p>}
      {mayDecide && (
        <div className="pager">
          {!isRequester && (
            <button
              type="button"
              className="primary"
              disabled={decide.isPending}
              onClick={() => void start("approve")}
            >
              Approve …
            </button>
          )}
          <button type="button" disabled={decide.isPending} onClick={() => void start("reject")}>
            {isRequester ? "Withdraw …" : "Reject …"}
          </button>
        </div>
      )}
      {decide.error && <ErrorView error={decide.error} />}
    </Notice>
  );
}

function approval(name: string) {
  return {
    title: `Approve the erasure of ${name}?`,
    text: "It starts at once and cannot be undone or cancelled.",
    action: "Approve and erase",
    typed: name,
  };
}

function rejection(name: string) {
  return {
    title: `Reject the erasure of ${name}?`,
    text: "Nothing is erased. It can be requested again.",
    action: "Reject",
  };
}

/** The button that erases a user, or requests it if the tenant requires a second approver. */
export function EraseButton({ tenant, user }: { tenant: string; user: string }): ReactNode {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const erase = useMutation({
    mutationFn: (reason: string) => call("POST", path`/tenants/${tenant}/users/${user}/erasure`, { reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["data-requests"] }),
  });
  if (!useMay("erase_user")) return <p>Your role does not allow erasures.</p>;
  const start = async () => {
    const reason = await askReason({
      title: `Erase ${user}?`,
      text:
        "Keys, messages, files, notifications and the profile are erased permanently, and the id cannot be used again. " +
        "If the tenant requires a second approver, nothing is erased until another operator approves.",
      action: "Erase the user",
      typed: user,
    });
    if (reason) erase.mutate(reason);
  };
  return (
    <>
      <button type="button" className="bad" disabled={erase.isPending} onClick={() => void start()}>
        Erase user …
      </button>
      {erase.error && <ErrorView error={erase.error} />}
    </>
  );
}
