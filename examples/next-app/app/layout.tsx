import "@tidings/react/styles.css";
import type { ReactNode } from "react";
import "./page.css";

export const metadata = { title: "Chat" };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body>
        <header>
          <h1>My app</h1>
        </header>
        <main>{children}</main>
      </body>
    </html>
  );
}
