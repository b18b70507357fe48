import { forwardRef, type HTMLAttributes } from "react";
import { useSettings } from "../hooks/client.ts";

/** The outermost element of a component: it sets language, direction and theme for the stylesheet. */
export const Root = /* @__PURE__ */ forwardRef<HTMLDivElement, HTMLAttributes<HTMLDivElement>>(function Root(
  { className = "", ...rest },
  ref,
) {
  const { locale, theme } = useSettings();
  return (
    <div
      ref={ref}
      className={`td-root ${className}`}
      lang={locale.locale.code}
      dir={locale.locale.direction}
      data-theme={theme === "auto" ? undefined : theme}
      {...rest}
    />
  );
});
