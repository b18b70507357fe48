import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../api.ts";
import { QueryView } from "../parts/query_view.tsx";
import { Notice } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import type { Finding, FindingList } from "./model.ts";

const STATES = { wrong: "bad", warning: "warning", ok: "good", skipped: "hint" } as const;

/** The findings of `tidings doctor`: what is wrong first, and what is well in a list that is closed at first. */
export function Findings(): ReactNode {
  const isAllowed = useMay("list_findings");
  const query = useQuery({
    queryKey: ["findings"],
    enabled: isAllowed,
    queryFn: () => call<FindingList>("GET", "/findings"),
  });
  if (!isAllowed) return null;
  return (
    <section aria-labelledby="findings">
      <h2 id="findings">Findings</h2>
      <QueryView query={query}>
        {({ checked_at, findings }) => (
          <>
            <p className="hint">
              <code>tidings doctor</code> on the machine of the console, <Time at={checked_at} />
            </p>
            <FindingLists findings={findings} />
            <button type="button" disabled={query.isFetching} onClick={() => void query.refetch()}>
              {query.isFetching ? "Checking …" : "Check again"}
            </button>
          </>
        )}
      </QueryView>
    </section>
  );
}

function FindingLists({ findings }: { findings: Finding[] }) {
  const problems = (["wrong", "warning"] as const).flatMap((state) =>
    findings.filter((finding) => finding.state === state),
  );
  const others = findings.filter((finding) => !problems.includes(finding));
  return (
    <>
      {problems.length ? (
        problems.map((finding) => <Problem key={finding.check + finding.found} finding={finding} />)
      ) : (
        <Notice kind="good">No check found a problem.</Notice>
      )}
      {others.length > 0 && (
        <details>
          <summary>{others.length} checks without a problem</summary>
          <ul className="checks">
            {others.map(({ check, state, found }) => (
              <li key={check + found}>
                <strong>{check}</strong> <span className={STATES[state]}>{state}</span> {found}
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function Problem({ finding }: { finding: Finding }) {
  const { check, state, found, why, todo, details = [] } = finding;
  return (
    <article className="card" aria-label={`Finding ${check}`}>
      <h3>
        {check} <span className={`tag ${STATES[state]}`}>{state}</span>
      </h3>
      <p>{found}</p>
      {details.length > 0 && (
        <ul>
          {details.map((detail) => (
            <li key={detail}>{detail}</li>
          ))}
        </ul>
      )}
      {why && <p className="hint">{why}</p>}
      {todo && <p>{todo}</p>}
    </article>
  );
}
