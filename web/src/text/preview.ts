import { withoutBidi } from './safe-text.ts'

const reportPattern =
  /^\[agent_result:\d+\] (?:run:\S+ )?(@[\w-]+|task:\d+) .*? (completed|failed|cancelled|timed out|timeout)\b/s

/** What a run does, without the hint which command line would help. */
export function doingOf(text: string): string {
  return withoutBidi(text.replace(/ \(heddle [^)]*\)/, ''))
}

/** The beginning of an input on one line; a report by who made it and how it ended. */
export function previewOf(text: string): string {
  const [, who, outcome] = reportPattern.exec(text) ?? []
  if (who !== undefined) return `${who} ${outcome === 'completed' ? 'is done' : outcome}`
  return withoutBidi(text)
}
