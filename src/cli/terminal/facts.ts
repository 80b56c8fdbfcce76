import { paint, type Screen } from './screen.ts'

/** A title and rows of facts; null values are left out. */
export function facts(screen: Screen, title: string, rows: [string, string | null][]): string {
  const wide = Math.max(...rows.map(([name]) => name.length))
  return [
    paint(screen, 'yellow', title),
    ...rows.flatMap(([name, value]) =>
      value === null ? [] : [`${paint(screen, 'dim', name.padEnd(wide))}  ${value}`],
    ),
  ].join('\n')
}
