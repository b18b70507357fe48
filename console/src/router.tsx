import { createRootRoute, createRoute, createRouter, Navigate, Outlet } from "@tanstack/react-router";
import { InstallationAuditPage, TenantAuditPage } from "./administration/audit.tsx";
import { TenantPage } from "./administration/tenant.tsx";
import { DataRequestsPage } from "./data_requests/list.tsx";
import { Layout } from "./layout.tsx";
import { ListsPage } from "./moderation/lists.tsx";
import { ModerationPage } from "./moderation/queue.tsx";
import { ReviewPage } from "./moderation/review.tsx";
import { InboxPage } from "./notifications/inbox.tsx";
import { InboxesPage } from "./notifications/inboxes.tsx";
import { JobDetailPage, JobsPage } from "./notifications/jobs.tsx";
import { SegmentPage, SegmentsPage } from "./notifications/segments.tsx";
import { DeadLetterPage, DeadLettersPage } from "./operations/dead_letters.tsx";
import { GatewaysPage } from "./operations/gateways.tsx";
import { HealthPage } from "./operations/health.tsx";
import { SettingsPage } from "./operations/settings.tsx";
import { QueryView } from "./parts/query_view.tsx";
import { Empty } from "./parts/states.tsx";
import { ChatPage } from "./support/chat.tsx";
import { FindUserPage } from "./support/find_user.tsx";
import { TracePage } from "./support/trace.tsx";
import { UnreadPage } from "./support/unread.tsx";
import { UserPage } from "./support/user.tsx";
import { useTenants } from "./tenants.ts";
import { WebhookPage, WebhooksPage } from "./webhooks/webhooks.tsx";

/** Search parameters are texts. Other values, such as a number, become texts. */
function texts<K extends string>(...names: K[]) {
  return (search: Record<string, unknown>): Partial<Record<K, string>> =>
    Object.fromEntries(
      names.flatMap((name) => (search[name] === undefined ? [] : [[name, String(search[name])]])),
    ) as Partial<Record<K, string>>;
}

const root = createRootRoute({
  component: () => (
    <Layout>
      <Outlet />
    </Layout>
  ),
  notFoundComponent: () => <Empty title="This page does not exist" />,
});

const home = createRoute({ getParentRoute: () => root, path: "/", component: Home });

function Home() {
  return (
    <QueryView query={useTenants()}>
      {({ tenants: [tenant] }) =>
        tenant ? (
          <Navigate to="/t/$tenant" params={{ tenant }} replace />
        ) : (
          <Empty title="There is no tenant">Run `tidings tenant create` to create one.</Empty>
        )
      }
    </QueryView>
  );
}

const tenant = createRoute({ getParentRoute: () => root, path: "/t/$tenant", component: TenantPage });
const tenantAudit = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/audit",
  component: TenantAuditPage,
});
const audit = createRoute({ getParentRoute: () => root, path: "/audit", component: InstallationAuditPage });

const users = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/users",
  validateSearch: texts("id", "phone", "prefix"),
  component: FindUserPage,
});
const user = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/users/$user",
  validateSearch: texts("inbox"),
  component: UserPage,
});
const unread = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/users/$user/chats/$chat",
  component: UnreadPage,
});
const chat = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/chats/$chat",
  validateSearch: texts("at", "user"),
  component: ChatPage,
});
const trace = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/messages/$message",
  validateSearch: texts("user"),
  component: TracePage,
});

const inboxes = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/inboxes",
  component: InboxesPage,
});
const inbox = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/inboxes/$inbox",
  component: InboxPage,
});
const segments = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/segments",
  component: SegmentsPage,
});
const segment = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/segments/$segment",
  component: SegmentPage,
});
const jobs = createRoute({ getParentRoute: () => root, path: "/t/$tenant/jobs", component: JobsPage });
const job = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/jobs/$job",
  component: JobDetailPage,
});

const webhooks = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/webhooks",
  component: WebhooksPage,
});
const webhook = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/webhooks/$endpoint",
  component: WebhookPage,
});

const moderation = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/moderation",
  validateSearch: texts("state"),
  component: ModerationPage,
});
const review = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/moderation/reviews/$review",
  component: ReviewPage,
});
const lists = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/moderation/lists",
  component: ListsPage,
});

const dataRequests = createRoute({
  getParentRoute: () => root,
  path: "/t/$tenant/data-requests",
  component: DataRequestsPage,
});

const health = createRoute({ getParentRoute: () => root, path: "/health", component: HealthPage });
const gateways = createRoute({ getParentRoute: () => root, path: "/gateways", component: GatewaysPage });
const deadLetters = createRoute({
  getParentRoute: () => root,
  path: "/dead-letters",
  validateSearch: texts("topic"),
  component: DeadLettersPage,
});
const deadLetter = createRoute({
  getParentRoute: () => root,
  path: "/dead-letters/$topic/$partition/$offset",
  component: DeadLetterPage,
});
const settings = createRoute({ getParentRoute: () => root, path: "/settings", component: SettingsPage });

const support = [users, user, unread, chat, trace, moderation, review, lists, dataRequests];
const notifications = [inboxes, inbox, segments, segment, jobs, job, webhooks, webhook];
const administration = [tenant, tenantAudit, audit];
const operations = [health, gateways, deadLetters, deadLetter, settings];

export const router = createRouter({
  routeTree: root.addChildren([home, ...support, ...notifications, ...administration, ...operations]),
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
