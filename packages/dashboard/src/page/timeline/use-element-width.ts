// The width of an element, now and later.
import { useLayoutEffect, useState } from "preact/hooks";

export function useElementWidth(ref: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(900);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    return () => observer.disconnect();
  }, [ref]);
  return width;
}
