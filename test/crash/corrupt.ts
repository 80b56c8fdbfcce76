import type { Moment, ProviderLine, Row } from './evidence.ts'
import type { Said } from './said.ts'

/** Real cycles whose evidence is changed. */
export const families = ['join', 'tools', 'budget', 'cancel', 'hall', 'access', 'jobs', 'tree', 'keep'] as const
export type Family = (typeof families)[number]

/** One thing that is made wrong in a copy of what a cycle left. */
export interface Planted {
  /** SQL; the copy has none of the constraints that would refuse it. */
  rows?: string
  provider?(lines: ProviderLine[]): ProviderLine[]
  tools?(lines: string[]): string[]
  /** What was kept when the process died. */
  moment?(moment: Moment): void
  /** What the processes said. */
  said?(said: Said[]): void
  /** A file that is left in the home. */
  lock?: string
}

/** Conditions that name one row. */
export const aChild = `id = (SELECT max(id) FROM runs WHERE kind = 'spawn')`
export const aResult = `id = (SELECT max(id) FROM inbox WHERE kind IN ('result', 'system'))`
/** The first of this kind. */
export const anEvent = (kind: string) => `seq = (SELECT min(seq) FROM events WHERE kind = '${kind}')`

/** A row a second time, changed a little. */
export function again(table: string, where: string, set: string): string {
  return `CREATE TEMP TABLE taken AS SELECT * FROM ${table} WHERE ${where}; UPDATE taken SET ${set};
          INSERT INTO ${table} SELECT * FROM taken`
}

/** Gives all of them these values. */
export function change(rows: Row[], to: Row): void {
  for (const row of rows) Object.assign(row, to)
}

/** As if all had ended before anything was done. */
export function endAll(moment: Moment): void {
  change(moment.rows.runs, { state: 'completed' })
  moment.tools = []
}

/** As if the parent had ended and its children had not, and no join were there. */
export function orphan({ rows }: Moment): void {
  rows.join_members = []
  for (const run of rows.runs) run['state'] = run['kind'] === 'spawn' ? 'queued' : 'completed'
}

/** All calls with another status. */
export function endedAs(status: string): string {
  return `UPDATE steps SET payload_json = replace(payload_json, '"ok"', '"${status}"') WHERE kind = 'ended'`
}

/** The first unsafe call in the log. */
export function pushes(lines: string[]): string[] {
  return lines.filter((line) => line.includes('"push"')).slice(0, 1)
}

/** The first request once more, with another part of its name. */
export function likeFirst(lines: ProviderLine[], part: RegExp, other: string): ProviderLine {
  const first = lines.find(({ kind }) => kind === 'received') as ProviderLine
  return { ...first, n: 99, run: first.run?.replace(part, other) ?? null }
}

type Messages = NonNullable<ProviderLine['body']>['messages']

/** Every request with other messages. */
export function withMessages(changed: (all: Messages) => Messages): (lines: ProviderLine[]) => ProviderLine[] {
  return (lines) =>
    lines.map((line) => (line.body ? { ...line, body: { ...line.body, messages: changed(line.body.messages) } } : line))
}
