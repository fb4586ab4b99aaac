// Candidates as a table, and the filters that it shares with the tree.
import {
  type Column,
  type ColumnDef,
  type ColumnFiltersState,
  type RowData,
  type Table,
  flexRender,
  getCoreRowModel,
  getFacetedRowModel,
  getFacetedUniqueValues,
  getFilteredRowModel,
  getPaginationRowModel,
  getSortedRowModel,
  useReactTable,
} from "@tanstack/react-table";
import { useState } from "react";
import { type Row, duration, interval, percent, times } from "./data";

declare module "@tanstack/react-table" {
  interface ColumnMeta<TData extends RowData, TValue> {
    kind: string;
  }
}

const PAGE = 25;

// Two thirds of a search tree were never measured: they are shown on request.
const MEASURED: ColumnFiltersState = [{ id: "speedup", value: [Number.MIN_VALUE, Infinity] }];

const COLUMNS: ColumnDef<Row>[] = [
  { accessorKey: "id", header: "Id", meta: { kind: "number" } },
  { accessorKey: "rewrite", header: "Last rewrite", meta: { kind: "code" } },
  { accessorKey: "transform", header: "Transform", filterFn: "equalsString" },
  { accessorKey: "depth", header: "Rewrites", meta: { kind: "number rare" } },
  { accessorKey: "outcome", header: "Outcome", filterFn: "equalsString", meta: { kind: "less" } },
  {
    accessorKey: "speedup",
    header: "Speed-up",
    filterFn: "inNumberRange",
    sortUndefined: "last",
    cell: ({ row }) => times(row.original.speedup),
    meta: { kind: "number" },
  },
  {
    id: "interval",
    header: "Interval",
    enableSorting: false,
    cell: ({ row }) => interval(row.original),
    meta: { kind: "number rare" },
  },
  {
    accessorKey: "ns",
    header: "Per call",
    cell: ({ row }) => duration(row.original.ns),
    meta: { kind: "number less" },
  },
  {
    accessorKey: "share",
    header: "Roofline",
    cell: ({ row }) => percent(row.original.share),
    meta: { kind: "number less" },
  },
];

export function useCandidates(rows: Row[]): Table<Row> {
  const [columnFilters, onColumnFiltersChange] = useState<ColumnFiltersState>(MEASURED);
  return useReactTable({
    data: rows,
    columns: COLUMNS,
    state: { columnFilters },
    onColumnFiltersChange,
    initialState: {
      columnVisibility: { transform: false }, // the rewrite begins with it
      sorting: [{ id: "speedup", desc: true }],
      pagination: { pageIndex: 0, pageSize: PAGE },
    },
    // A search that adds candidates does not turn the page that somebody reads.
    autoResetPageIndex: false,
    getRowId: (row) => String(row.id),
    getCoreRowModel: getCoreRowModel(),
    getFilteredRowModel: getFilteredRowModel(),
    getSortedRowModel: getSortedRowModel(),
    getPaginationRowModel: getPaginationRowModel(),
    getFacetedRowModel: getFacetedRowModel(),
    getFacetedUniqueValues: getFacetedUniqueValues(),
  });
}

function Choice({ column, label }: { column: Column<Row>; label: string }) {
  const counted = [...column.getFacetedUniqueValues()].sort(([a], [b]) => (a < b ? -1 : 1));
  const chosen = (column.getFilterValue() as string) ?? "";
  return (
    <label>
      {label}
      <select value={chosen} onChange={(e) => column.setFilterValue(e.target.value || undefined)}>
        <option value="">all</option>
        {chosen && !counted.some(([value]) => value === chosen) && <option>{chosen}</option>}
        {counted.map(([value, count]) => (
          <option key={value} value={value}>
            {value} ({count})
          </option>
        ))}
      </select>
    </label>
  );
}

export function Filters({ table }: { table: Table<Row> }) {
  const speedup = table.getColumn("speedup")!;
  const rewrite = table.getColumn("rewrite")!;
  const range = speedup.getFilterValue() as [number, number] | undefined;
  const [least, setLeast] = useState("");
  const change = (measured: boolean, text: string) => {
    setLeast(text);
    const from = Number(text) || (measured ? Number.MIN_VALUE : 0);
    speedup.setFilterValue(from ? [from, Infinity] : undefined);
    table.setPageIndex(0);
  };
  const shown = table.getFilteredRowModel().rows.length;
  return (
    <div className="filters" role="search" aria-label="Filter candidates">
      <label>
        Rewrite contains
        <input
          type="search"
          size={14}
          value={(rewrite.getFilterValue() as string) ?? ""}
          onChange={(e) => {
            rewrite.setFilterValue(e.target.value || undefined);
            table.setPageIndex(0);
          }}
        />
      </label>
      <Choice column={table.getColumn("transform")!} label="Transform" />
      <Choice column={table.getColumn("outcome")!} label="Outcome" />
      <label>
        At least
        <span>
          <input
            type="number"
            min={0}
            step="any"
            className="short"
            value={least}
            onChange={(e) => change(Boolean(range), e.target.value)}
          />{" "}
          x
        </span>
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={Boolean(range)}
          onChange={(e) => change(e.target.checked, "")}
        />
        measured only
      </label>
      <output>
        {shown} of {table.getCoreRowModel().rows.length} candidates
      </output>
    </div>
  );
}

const ARIA = { asc: "ascending", desc: "descending" } as const;

interface Props {
  table: Table<Row>;
  chosen: number | null;
  choose(id: number): void;
}

export function Candidates({ table, chosen, choose }: Props) {
  const { pageIndex } = table.getState().pagination;
  const pages = Math.max(table.getPageCount(), 1);
  return (
    <>
      <div className="wide" role="region" aria-label="Candidates" tabIndex={0}>
        <table className="candidates">
          <thead>
            <tr>
              {table.getFlatHeaders().map(({ id, column }) => {
                const sorted = column.getIsSorted();
                const name = column.columnDef.header as string;
                return (
                  <th
                    key={id}
                    scope="col"
                    className={column.columnDef.meta?.kind}
                    aria-sort={sorted ? ARIA[sorted] : undefined}
                  >
                    {column.getCanSort() ? (
                      <button type="button" onClick={column.getToggleSortingHandler()}>
                        {name}
                        <span aria-hidden="true">{sorted ? { asc: " ▲", desc: " ▼" }[sorted] : ""}</span>
                      </button>
                    ) : (
                      name
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {table.getRowModel().rows.map((row) => (
              <tr
                key={row.id}
                className={row.original.id === chosen ? "chosen" : ""}
                onClick={() => choose(row.original.id)}
              >
                {row.getVisibleCells().map((cell) => (
                  <td key={cell.id} className={cell.column.columnDef.meta?.kind}>
                    {cell.column.id === "id" ? (
                      <button
                        type="button"
                        aria-label={`candidate ${row.id}`}
                        aria-pressed={row.original.id === chosen}
                        onClick={() => choose(row.original.id)}
                      >
                        {row.id}
                      </button>
                    ) : (
                      flexRender(cell.column.columnDef.cell, cell.getContext())
                    )}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <nav className="pages" aria-label="Pages of the table">
        <button type="button" disabled={!table.getCanPreviousPage()} onClick={table.previousPage}>
          Previous
        </button>
        <span>
          page {pageIndex + 1} of {pages}
        </span>
        <button type="button" disabled={!table.getCanNextPage()} onClick={table.nextPage}>
          Next
        </button>
      </nav>
    </>
  );
}
