/** The service worker that shows push notifications. */
import { handlePushMessages, type PushWorkerScope } from "@tidings/client/service-worker";

handlePushMessages(self as unknown as PushWorkerScope, { url: ({ chat }) => `/#chat=${chat}` });
