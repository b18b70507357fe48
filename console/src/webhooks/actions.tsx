import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "../api.ts";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView, Notice } from "../parts/states.tsx";
import { useMay } from "../session_gate.tsx";
import type { TestAnswer, Webhook } from "./model.ts";

const REPLAYED_HOURS = 24;
const QUESTIONS = {
  enable: {
    title: "Enable this endpoint?",
    text: "It receives events from now on. Replay it to send earlier ones.",
    action: "Enable",
  },
  disable: {
    title: "Disable this endpoint?",
    text: "It receives no events until it is enabled. Events that wait for it are dropped.",
    action: "Disable",
  },
  replay: {
    title: "Send past events again?",
    text: `All events of the last ${REPLAYED_HOURS} hours are sent again, with the same ids.`,
    action: "Replay",
  },
} as const;

type Question = keyof typeof QUESTIONS;

/** Actions of an operator on an endpoint. Other roles see nothing. */
export function WebhookActions({ url, webhook }: { url: string; webhook: Webhook }): ReactNode {
  const askReason = useAskReason();
  const refresh = useRefresh(url);
  const test = useMutation({
    mutationFn: () => call<TestAnswer>("POST", `${url}/test`),
    onSettled: refresh,
  });
  const retry = useMutation({ mutationFn: () => call("POST", `${url}/retry`), onSettled: refresh });
  const change = useMutation({
    mutationFn: ({ action, reason }: { action: Question; reason: string }) =>
      call("POST", `${url}/${action}`, {
        reason,
        ...(action === "replay" ? { body: { since: since() } } : {}),
      }),
    onSettled: refresh,
  });
  if (!useMay("enable_webhook")) return null;
  const ask = async (action: Question) => {
    const reason = await askReason(QUESTIONS[action]);
    if (reason) change.mutate({ action, reason });
  };
  const isBusy = [test, retry, change].some(({ isPending }) => isPending);
  const isEnabled = webhook.status === "enabled";
  const toggle = isEnabled ? "disable" : "enable";
  const error = test.error ?? retry.error ?? change.error;
  return (
    <>
      <div className="pager">
        <button type="button" disabled={isBusy} onClick={() => test.mutate()}>
          Send a test event
        </button>
        <button type="button" disabled={isBusy || !isEnabled} onClick={() => retry.mutate()}>
          Retry now
        </button>
        <button type="button" disabled={isBusy || !isEnabled} onClick={() => void ask("replay")}>
          Replay
        </button>
        <button type="button" disabled={isBusy} onClick={() => void ask(toggle)}>
          {QUESTIONS[toggle].action}
        </button>
      </div>
      {test.data && <TestResult answer={test.data} />}
      {error && <ErrorView error={error} />}
    </>
  );
}

function TestResult({ answer: { is_delivered, status, latency_ms, reason } }: { answer: TestAnswer }) {
  return (
    <Notice kind={is_delivered ? "good" : "error"}>
      {is_delivered ? `The endpoint answered ${status} in ${latency_ms} ms.` : `It failed: ${reason}.`}
    </Notice>
  );
}

function useRefresh(url: string) {
  const queries = useQueryClient();
  return () =>
    Promise.all(
      ["webhook", "webhook queue", "webhook deliveries"].map((name) =>
        queries.invalidateQueries({ queryKey: [name, url] }),
      ),
    );
}

function since(): string {
  return new Date(Date.now() - REPLAYED_HOURS * 3_600_000).toISOString();
}
