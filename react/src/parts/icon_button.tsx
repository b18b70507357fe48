import { type ButtonHTMLAttributes, forwardRef } from "react";
import { Icon, type IconName } from "./icon.tsx";

export interface IconButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: IconName;
  /** Read by screen readers and shown as a tooltip. */
  label: string;
}

/** A button that shows only an icon. */
export const IconButton = /* @__PURE__ */ forwardRef<HTMLButtonElement, IconButtonProps>(function IconButton(
  { icon, label, className = "", ...rest },
  ref,
) {
  return (
    <button
      type="button"
      ref={ref}
      className={`td-icon-button ${className}`}
      aria-label={label}
      title={label}
      {...rest}
    >
      <Icon name={icon} />
    </button>
  );
});
