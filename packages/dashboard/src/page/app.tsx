// The frame around every view.
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { StageLayout } from "../contract/index.ts";
import { ConnectionState, CutBanner, DoubtStrip } from "./parts/connection-state.tsx";
import { HelpDialog, useShortcuts } from "./parts/help-dialog.tsx";
import { ClockIcon, HelpIcon, KeyIcon, ThemeIcon } from "./parts/icons.tsx";
import { LoginForm } from "./parts/login-form.tsx";
import { Overview, StageFlow } from "./views/overview.tsx";
import { formatRoute, home, type Route } from "./route.ts";
import { usePage, useStages, viewOf } from "./page-state.ts";
import { ObjectPage } from "./views/object.tsx";
import { StageView } from "./views/stage.tsx";

export function App(): JSX.Element {
  const { live, navigation } = usePage();
  const help = useRef<HTMLDialogElement>(null);
  const openHelp = (): void => {
    if (help.current?.open === false) help.current.showModal();
  };
  const main = useRef<HTMLElement>(null);
  const route = navigation.route.value;
  const stages = useStages();
  const connection = live.connection.value;
  const place = route.view === "object" ? JSON.stringify(route.object) : route.view;
  useShortcuts(openHelp);
  useNewPlace(place, main);
  useEffect(() => {
    document.title = `${titleOf(route, stages)} · Keyturn`;
  }, [place, stages]);
  return (
    <>
      <a class="skip-link" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <div class="shell-top">
        <header class="shell-bar">
          <a class="brand" href={formatRoute(home)} aria-current={route.view === "overview" ? "page" : undefined}>
            <KeyIcon />
            Keyturn
          </a>
          <StageFlow />
          <Tools onHelp={openHelp} />
        </header>
      </div>
      {connection.state === "login" ? null : <DoubtStrip />}
      <Progress />
      <main id="main" tabIndex={-1} ref={main} data-view={route.view}>
        {connection.state === "login" ? <LoginForm why={connection.why} message={connection.message} /> : <View key={place} route={route} />}
      </main>
      <CutBanner />
      <HelpDialog dialog={help} />
    </>
  );
}

function View({ route }: { readonly route: Route }): JSX.Element {
  const stage = useStages().find((each) => viewOf(each) === route.view);
  if (route.object !== undefined) return <ObjectPage name={route.object} />;
  return stage === undefined ? <Overview /> : <StageView stage={stage} />;
}

function titleOf({ view, object }: Route, stages: readonly StageLayout[]): string {
  return object?.name ?? stages.find((stage) => viewOf(stage) === view)?.title ?? "Overview";
}

/** Begins a new place at its top, and announces it to screen readers. */
function useNewPlace(place: string, main: { readonly current: HTMLElement | null }): void {
  const before = useRef(place);
  // With the drawing itself: who goes on at once must not lose the focus again.
  useLayoutEffect(() => {
    if (before.current === place) return;
    before.current = place;
    scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place, main]);
}

function Progress(): JSX.Element | null {
  const { live } = usePage();
  const share = live.progress.value;
  return share === 1 || live.connection.value.state !== "live" ? null : (
    <div class="progress" style={{ transform: `scaleX(${share})` }} aria-hidden="true" />
  );
}

const nextTheme = { system: "light", light: "dark", dark: "system" } as const;
const themeWords = { system: "as the system", light: "light", dark: "dark" } as const;

function Tools({ onHelp }: { readonly onHelp: () => void }): JSX.Element {
  const { live, settings } = usePage();
  const theme = settings.theme.value;
  const absolute = settings.timeStyle.value === "absolute";
  return (
    <div class="shell-tools">
      <ConnectionState />
      <button
        type="button"
        class="button plain icon"
        aria-pressed={absolute}
        aria-label="Times in full"
        title="Times in full (t)"
        onClick={() => (settings.timeStyle.value = absolute ? "relative" : "absolute")}
      >
        <ClockIcon />
      </button>
      <button
        type="button"
        class="button plain icon"
        aria-label={`Colours: ${themeWords[theme]}`}
        title={`Colours: ${themeWords[theme]}`}
        onClick={() => (settings.theme.value = nextTheme[theme])}
      >
        <ThemeIcon theme={theme} />
      </button>
      <button type="button" class="button plain icon" aria-label="Help" title="Help (?)" onClick={onHelp}>
        <HelpIcon />
      </button>
      {live.hello.value?.user === undefined ? null : (
        <button type="button" class="button plain" title={`Signed in as ${live.hello.value.user}`} onClick={() => live.leave()}>
          Sign out
        </button>
      )}
    </div>
  );
}
