import type { ReactNode } from "react";

export interface Column<T> {
  title: string;
  cell: (item: T) => ReactNode;
}

export interface DataTableProps<T> {
  caption: string;
  columns: readonly Column<T>[];
  items: readonly T[];
  keyOf: (item: T) => string;
}

/** A table. On a narrow screen each row becomes a card, with the titles of the columns next to the values. */
export function DataTable<T>({ caption, columns, items, keyOf }: DataTableProps<T>): ReactNode {
  return (
    <table className="data">
      <caption className="hidden">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ title }) => (
            <th key={title} scope="col">
              {title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {items.map((item) => (
          <tr key={keyOf(item)}>
            {columns.map(({ title, cell }) => (
              <td key={title} data-title={title}>
                <div>{cell(item)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** Names with their values. Values that are absent are left out. */
export function Facts({ facts }: { facts: Record<string, ReactNode> }): ReactNode {
  const given = Object.entries(facts).filter(
    ([, value]) => value !== undefined && value !== null && value !== "",
  );
  return (
    <dl className="facts">
      {given.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
