import { withoutBidi } from './safe-text.ts'

const reportPattern =
  /^\[agent_result:\d+\] (?:run:\S+ )?(?:(@[\w-]+)|task:\d+) "(.*?)" (completed|failed|cancelled|timed out|timeout)\b/s

/** What a run does, without the hint which command line would help. */
export function doingOf(text: string): string {
  return withoutBidi(text.replace(/ \(heddle [^)]*\)/, ''))
}

/** Whether a report goes as far as how it ended: the beginning of a long one may not. */
export function isWholeReport(text: string): boolean {
  return reportPattern.test(text)
}

/** The beginning of an input on one line; a report by who made it, or by its task, and how it ended. */
export function previewOf(text: string): string {
  const [, agent, title = '', outcome] = reportPattern.exec(text) ?? []
  if (outcome !== undefined)
    return `${agent ?? `“${withoutBidi(title)}”`} ${outcome === 'completed' ? 'is done' : outcome}`
  return withoutBidi(text)
}
