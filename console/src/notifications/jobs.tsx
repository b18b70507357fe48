import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { call, path } from "../api.ts";
import { DataTable, Facts } from "../parts/data_table.tsx";
import { PagedList, QueryView, usePages } from "../parts/query_view.tsx";
import { useAskReason } from "../parts/reason_dialog.tsx";
import { ErrorView } from "../parts/states.tsx";
import { Time } from "../parts/time.tsx";
import { useMay } from "../session_gate.tsx";
import type { Job, JobPage } from "./model.ts";
import { Recall } from "./recall.tsx";

const REFRESH_MS = 1_000;

export function JobsPage(): ReactNode {
  const { tenant } = useParams({ from: "/t/$tenant/jobs" });
  const jobs = usePages<JobPage>(["jobs", tenant], path`/tenants/${tenant}/jobs`);
  return (
    <>
      <h1>Jobs</h1>
      <PagedList
        query={jobs}
        items={(page) => page.jobs}
        empty={{ title: "This tenant has no job", hint: "A send creates one." }}
      >
        {(found) => (
          <DataTable
            caption="Jobs"
            items={found}
            keyOf={({ id }) => id}
            columns={[
              {
                title: "Job",
                cell: ({ id }) => (
                  <Link to="/t/$tenant/jobs/$job" params={{ tenant, job: id }}>
                    {id}
                  </Link>
                ),
              },
              { title: "Kind", cell: ({ kind }) => kind },
              { title: "Inbox or chat", cell: ({ inbox, chat }) => inbox ?? chat },
              { title: "State", cell: ({ state }) => state },
              { title: "Progress", cell: (job) => <Progress job={job} /> },
              { title: "Created", cell: ({ created_at }) => <Time at={created_at} /> },
            ]}
          />
        )}
      </PagedList>
    </>
  );
}

function Progress({ job }: { job: Job }) {
  return (
    <>
      <progress aria-label={`Progress of ${job.id}`} value={job.done} max={Math.max(job.total, 1)} />{" "}
      {job.done} of {job.total}
    </>
  );
}

export function JobDetailPage(): ReactNode {
  const { tenant, job } = useParams({ from: "/t/$tenant/jobs/$job" });
  const query = useQuery({
    queryKey: ["job", tenant, job],
    queryFn: () => call<Job>("GET", path`/tenants/${tenant}/jobs/${job}`),
    refetchInterval: ({ state }) => (isOver(state.data) ? false : REFRESH_MS),
  });
  return (
    <>
      <h1>Job {job}</h1>
      <QueryView query={query}>
        {(found) => (
          <>
            <p>
              <Progress job={found} />
            </p>
            <Facts
              facts={{
                State: found.state,
                Kind: found.kind,
                Inbox: found.inbox,
                Notification: found.notification && <code>{found.notification}</code>,
                Chat: found.chat && <code>{found.chat}</code>,
                Failed: found.failed,
                Rate: isOver(found) ? undefined : `${found.rate_per_s.toFixed(0)} a second`,
                "Time left": found.remaining_s ? `${Math.ceil(found.remaining_s)} s` : undefined,
                Created: <Time at={found.created_at} />,
                Finished: found.finished_at ? <Time at={found.finished_at} /> : undefined,
              }}
            />
            <JobActions tenant={tenant} job={found} />
            {found.inbox && found.notification && found.kind !== "broadcast" && (
              <Recall tenant={tenant} inbox={found.inbox} notification={found.notification} />
            )}
          </>
        )}
      </QueryView>
    </>
  );
}

function isOver(job: Job | undefined): boolean {
  return job?.state === "done" || job?.state === "cancelled";
}

function JobActions({ tenant, job }: { tenant: string; job: Job }) {
  const askReason = useAskReason();
  const queries = useQueryClient();
  const isAllowed = useMay("pause_job");
  const change = useMutation({
    mutationFn: ({ action, reason }: { action: string; reason?: string }) =>
      call("POST", path`/tenants/${tenant}/jobs/${job.id}/${action}`, { reason }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["job", tenant, job.id] }),
  });
  if (!isAllowed || isOver(job)) return null;
  const cancel = async () => {
    const reason = await askReason({
      title: "Cancel this job?",
      text: "What is done stays: users who have the notification keep it, and users who joined the chat stay.",
      action: "Cancel the job",
    });
    if (reason) change.mutate({ action: "cancel", reason });
  };
  const next = job.state === "paused" ? "resume" : "pause";
  return (
    <>
      <div className="pager">
        <button type="button" onClick={() => change.mutate({ action: next })}>
          {next === "pause" ? "Pause" : "Resume"}
        </button>
        <button type="button" onClick={() => void cancel()}>
          Cancel
        </button>
      </div>
      {change.error && <ErrorView error={change.error} />}
    </>
  );
}
