/** Send bytes to the bucket with a signed request. */
import { sdkError } from "../errors.ts";

/** A request that the server has signed. The bucket refuses other headers and other bytes. */
export interface SignedRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** A connection without progress for this long counts as lost. */
const STALLED_MS = 30_000;
/** An expired signature is refused with 403; the next try is signed again. */
const RETRYABLE = [403, 408, 429];

/**
 * PUT a blob. `onSent` reports the bytes so far, where the platform reports them (`XMLHttpRequest`).
 *
 * Rejects with `request_timeout` if a retry may succeed, and with `upload_failed` if the bucket refuses the bytes.
 */
export function putBytes(
  { url, headers }: SignedRequest,
  bytes: Blob,
  onSent: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  // The platform sets the length itself, and refuses scripts that do.
  const sent = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "content-length");
  const put = typeof XMLHttpRequest === "undefined" ? putByFetch : putByRequest;
  return put(url, sent, bytes, onSent, signal);
}

type Put = (
  url: string,
  headers: [string, string][],
  bytes: Blob,
  onSent: (bytes: number) => void,
  signal: AbortSignal,
) => Promise<void>;

const putByFetch: Put = async (url, headers, bytes, onSent, signal) => {
  const response = await fetch(url, { method: "PUT", headers, body: bytes, signal }).catch((error) => {
    throw lost(String(error));
  });
  if (!response.ok) throw refused(response.status, await response.text());
  onSent(bytes.size);
};

const putByRequest: Put = (url, headers, bytes, onSent, signal) =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    let stalled = setTimeout(abort, STALLED_MS);
    const end = (settle: () => void) => () => {
      clearTimeout(stalled);
      signal.removeEventListener("abort", abort);
      settle();
    };
    request.upload.onprogress = ({ loaded }) => {
      clearTimeout(stalled);
      stalled = setTimeout(abort, STALLED_MS);
      onSent(loaded);
    };
    request.onload = end(() => {
      if (request.status >= 200 && request.status < 300) resolve();
      else reject(refused(request.status, request.responseText));
    });
    request.onerror = end(() => reject(lost("The connection was lost.")));
    request.onabort = end(() => reject(lost("The request was aborted.")));
    request.open("PUT", url);
    for (const [name, value] of headers) request.setRequestHeader(name, value);
    signal.addEventListener("abort", abort, { once: true });
    request.send(bytes);
  });

function lost(message: string) {
  return sdkError("request_timeout", `The file could not be sent: ${message}`);
}

function refused(status: number, answer: string) {
  const reason = /<Code>(.*?)<\/Code>/.exec(answer)?.[1] ?? "";
  const message = `The bucket answered with ${status} ${reason}`.trim();
  return sdkError(status >= 500 || RETRYABLE.includes(status) ? "request_timeout" : "upload_failed", message);
}
