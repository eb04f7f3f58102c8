// Which rows of a long list are drawn: those in sight, and a few around them.

/** The rows from `first` up to, and without, `end`. */
export interface VirtualWindow {
  readonly first: number;
  readonly end: number;
}

/** All lengths in pixels; `viewTop` is how far the top of the sight is below the top of the list, negative if above. */
export interface Sight {
  readonly count: number;
  readonly rowHeight: number;
  readonly viewTop: number;
  readonly viewHeight: number;
  /** How many rows are drawn beyond each edge, so that scrolling and Tab find them there. */
  readonly overscan: number;
}

/** The rows to draw. */
export function virtualWindow({ count, rowHeight, viewTop, viewHeight, overscan }: Sight): VirtualWindow {
  const firstSeen = Math.floor(viewTop / rowHeight);
  const endSeen = Math.ceil((viewTop + viewHeight) / rowHeight);
  const end = Math.min(count, Math.max(0, endSeen + overscan));
  return { first: Math.min(end, Math.max(0, firstSeen - overscan)), end };
}
