// The keys that work everywhere.
import { useEffect } from "preact/hooks";
import { home } from "../route/route.ts";
import { usePage } from "../state/page.ts";
import { stepInfos } from "../views/step-info.ts";

export function useShortcuts(onHelp: () => void): void {
  const { navigation, settings } = usePage();
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const info = stepInfos[Number(event.key) - 1];
      if (event.key === "?") onHelp();
      else if (event.key === "/") document.getElementById("search")?.focus();
      else if (event.key === "t") settings.timeStyle.value = settings.timeStyle.value === "relative" ? "absolute" : "relative";
      else if (event.key === "0") navigation.go(home);
      else if (info !== undefined) navigation.go({ ...home, view: info.view });
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", onKeyDown);
    return () => removeEventListener("keydown", onKeyDown);
  }, [navigation, settings, onHelp]);
}

/** A dialog that was just closed keeps the focus until the next frame. */
function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input, textarea, select, dialog[open]") !== null;
}
