import { withoutBidi } from './safe-text.ts'

const reportPattern =
  /^\[agent_result:\d+\] (?:run:\S+ )?(?:(@[\w-]+)|task:\d+) "(.*?)" (completed|failed|cancelled|timed out|timeout)\b/s
const reporterPattern = /^\[agent_result:\d+\] (?:run:\S+ )?(@[\w-]+|task:\d+) "/

/** What a run does, without the hint which command line would help. */
export function doingOf(text: string): string {
  return withoutBidi(text.replace(/ \(heddle [^)]*\)/, ''))
}

/**
 * The beginning of an input on one line; a report by who made it, or by its task, and how it ended. What is cut before its
 * end is told only as reported.
 */
export function previewOf(text: string): string {
  const [, agent, title = '', outcome] = reportPattern.exec(text) ?? []
  if (outcome !== undefined)
    return `${agent ?? `“${withoutBidi(title)}”`} ${outcome === 'completed' ? 'is done' : outcome}`
  const [, reporter] = reporterPattern.exec(text) ?? []
  return reporter === undefined ? withoutBidi(text) : `${reporter} reported`
}
