import { Messenger } from "./messenger";

// A server component: it does not import the client. Read the user from your session here.
export default async function Page({ searchParams }: { searchParams: Promise<{ user?: string }> }) {
  const { user = "anna" } = await searchParams;
  return <Messenger user={user} url={process.env.TIDINGS_URL ?? "ws://127.0.0.1:8081/v1/socket"} />;
}
