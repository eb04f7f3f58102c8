// The few pictures that are not about health.
import type { ComponentChildren, JSX } from "preact";

const line = { fill: "none", stroke: "currentColor", "stroke-width": 1.7, "stroke-linecap": "round", "stroke-linejoin": "round" } as const;

export function KeyIcon(): JSX.Element {
  return (
    <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="currentColor" />
      <g class="key-strokes" fill="none" stroke-width="3" stroke-linecap="round">
        <circle cx="11" cy="16" r="5" />
        <path d="M16 16h11M22 16v4.5M27 16v3" />
      </g>
    </svg>
  );
}

export function ThemeIcon({ theme }: { readonly theme: "system" | "light" | "dark" }): JSX.Element {
  return <SmallIcon>{themeShapes[theme]}</SmallIcon>;
}

export function ClockIcon(): JSX.Element {
  return (
    <SmallIcon>
      <circle cx="9" cy="9" r="6.6" />
      <path d="M9 5.2V9l2.6 1.8" />
    </SmallIcon>
  );
}

export function HelpIcon(): JSX.Element {
  return (
    <SmallIcon>
      <circle cx="9" cy="9" r="6.6" />
      <path d="M7.1 7.2a2 2 0 1 1 2.8 1.9c-.6.3-.9.7-.9 1.3M9 12.6v.1" />
    </SmallIcon>
  );
}

const themeShapes = {
  light: (
    <>
      <circle cx="9" cy="9" r="3.2" />
      <path d="M9 1.8v1.6M9 14.6v1.6M1.8 9h1.6M14.6 9h1.6M3.9 3.9 5 5M13 13l1.1 1.1M14.1 3.9 13 5M5 13l-1.1 1.1" />
    </>
  ),
  dark: <path d="M14.8 11A6.4 6.4 0 0 1 7 3.2 6.4 6.4 0 1 0 14.8 11z" />,
  system: (
    <>
      <circle cx="9" cy="9" r="6.6" />
      <path d="M9 2.4v13.2A6.6 6.6 0 0 0 9 2.4z" fill="currentColor" />
    </>
  ),
};

function SmallIcon({ children }: { readonly children: ComponentChildren }): JSX.Element {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden="true">
      <g {...line}>{children}</g>
    </svg>
  );
}
