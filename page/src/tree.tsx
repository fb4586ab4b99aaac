// The search tree: every candidate below the one that it is a rewrite of.
import { hotkeysCoreFeature, selectionFeature, syncDataLoaderFeature } from "@headless-tree/core";
import { useTree } from "@headless-tree/react";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useMemo, useRef } from "react";
import { type Row, pathTo, times } from "./data";

const ROOT = "root";
const HEIGHT = 30;

/** Matches fewer than these are all unfolded. */
const FEW = 60;

interface Props {
  rows: Map<number, Row>;
  matching: Row[];
  chosen: number | null;
  choose(id: number): void;
}

/** Those that match with all above them: children by id, the fastest below first; the fastest
 * speed at or below each. */
function pruned(rows: Map<number, Row>, matching: Row[]) {
  const below = new Map<number, number>();
  for (const row of matching) {
    const fastest = row.speedup ?? 0;
    for (let at: Row | undefined = row; at; at = rows.get(at.parent ?? -1)) {
      const known = below.get(at.id);
      if (known !== undefined && known >= fastest) break;
      below.set(at.id, fastest);
    }
  }
  const shown = (ids: number[]) =>
    ids
      .filter((id) => below.has(id))
      .sort((a, b) => below.get(b)! - below.get(a)! || a - b)
      .map(String);
  const tops = [...rows.values()].filter((row) => row.parent === null).map((row) => row.id);
  const children = new Map<string, string[]>([[ROOT, shown(tops)]]);
  for (const id of below.keys()) children.set(String(id), shown(rows.get(id)!.children));
  return { children, below };
}

export function SearchTree({ rows, matching, chosen, choose }: Props) {
  const kept = useMemo(() => pruned(rows, matching), [rows, matching]);
  const now = useRef({ rows, kept, chosen });
  now.current = { rows, kept, chosen };
  const scroller = useRef<HTMLDivElement>(null);
  const tree = useTree<Row | null>({
    rootItemId: ROOT,
    initialState: {
      expandedItems: chosen === null ? [] : pathTo(rows, chosen).map((row) => String(row.id)),
      focusedItem: chosen === null ? null : String(chosen),
    },
    getItemName: (item) => item.getItemData()?.rewrite ?? "",
    isItemFolder: (item) => Boolean(now.current.kept.children.get(item.getId())?.length),
    dataLoader: {
      getItem: (id) => now.current.rows.get(Number(id)) ?? null,
      getChildren: (id) => now.current.kept.children.get(id) ?? [],
    },
    scrollToItem: (item) => virtual.scrollToIndex(item.getItemMeta().index),
    features: [syncDataLoaderFeature, selectionFeature, hotkeysCoreFeature],
  });
  useEffect(() => {
    if (matching.length <= FEW) {
      const above = matching.flatMap((row) => pathTo(now.current.rows, row.id).slice(0, -1));
      const open = tree.getState().expandedItems;
      const all = new Set([...open, ...above.map((row) => String(row.id))]);
      if (all.size > open.length) tree.applySubStateUpdate("expandedItems", [...all]);
    }
    tree.rebuildTree();
  }, [kept, tree, matching]);
  const items = tree.getItems().filter((item) => item.getItemData());
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => HEIGHT,
    overscan: 12,
  });
  const shown = items.findIndex((item) => item.getId() === String(now.current.chosen));
  useEffect(() => {
    if (shown >= 0) virtual.scrollToIndex(shown, { align: "center" });
    // When the page opens; later, who scrolls is left alone.
  }, []);
  // Who walks by the keys sees what is said of each.
  const focused = tree.getState().focusedItem;
  useEffect(() => {
    if (focused && scroller.current?.contains(document.activeElement)) choose(Number(focused));
  }, [focused, choose]);
  return (
    <div className="tree" ref={scroller}>
      <div
        {...tree.getContainerProps("Search tree")}
        style={{ height: virtual.getTotalSize(), position: "relative" }}
      >
        {virtual.getVirtualItems().map(({ index, start }) => {
          const item = items[index]!;
          const row = item.getItemData()!;
          const { level } = item.getItemMeta();
          const folder = item.isFolder();
          const best = kept.below.get(row.id) ?? 0;
          const props = item.getProps();
          return (
            <div
              key={row.id}
              {...props}
              aria-selected={row.id === chosen}
              aria-label={undefined} // it is what can be read
              className={row.id === chosen ? "item chosen" : "item"}
              style={{ top: start, height: HEIGHT, paddingInlineStart: 6 + 14 * level }}
              onClick={(event) => {
                props.onClick?.(event);
                choose(row.id);
              }}
            >
              <span className="fold" aria-hidden="true">
                {folder ? (item.isExpanded() ? "▾" : "▸") : ""}
              </span>
              <code>{row.rewrite}</code>
              {folder && !item.isExpanded() && best > (row.speedup ?? 0) && (
                <span className="below">{times(best)} below</span>
              )}
              <span className={row.speedup ? "speed" : "speed none"}>
                {row.speedup ? times(row.speedup) : row.outcome}
              </span>
            </div>
          );
        })}
      </div>
      {items.length === 0 && <p className="note">No candidate matches the filters.</p>}
    </div>
  );
}
