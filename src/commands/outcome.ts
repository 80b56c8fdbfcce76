import type { CommandOutcome, OutcomeBlock, OutcomeCell } from '../api/commands.ts'

/** An outcome that is one text. */
export function textOutcome(text: string, more: Omit<CommandOutcome, 'blocks'> = {}): CommandOutcome {
  return { blocks: [{ kind: 'text', text }], ...more }
}

/** A list as a table; `empty` says what fills it. */
export function tableOutcome<Row>(
  rows: readonly Row[],
  { columns, wide, empty, next }: { columns: Columns<Row>; wide: string; empty: string; next?: string },
): CommandOutcome {
  if (rows.length === 0) return textOutcome(empty)
  const names = Object.keys(columns)
  const cells = rows.map((row) => names.map((name) => columns[name]?.(row) ?? null))
  return { blocks: [{ kind: 'table', columns: names, rows: cells, wide }], ...(next !== undefined && { next }) }
}

type Columns<Row> = Record<string, (row: Row) => OutcomeCell | undefined>

type FactsBlock = Extract<OutcomeBlock, { kind: 'facts' }>

/** Names with their values; those without one are left out. */
export function factsBlock(facts: Record<string, OutcomeCell | undefined>): FactsBlock {
  const known = Object.entries(facts).filter((each): each is [string, string | number] => (each[1] ?? '') !== '')
  return { kind: 'facts', facts: known.map(([name, value]) => ({ name, value })) }
}
