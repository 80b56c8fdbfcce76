import type { AgentDiagnostic } from '../domain/agent.ts'

/** A diagnostic without its path, which the reader adds. */
export type Finding = Omit<AgentDiagnostic, 'path'>

export function errorFinding(message: string, remedy: string, line?: number): Finding {
  return { level: 'error', message, ...(line !== undefined && { line }), remedy }
}

export function warningFinding(message: string, remedy: string, line?: number): Finding {
  return { level: 'warning', message, ...(line !== undefined && { line }), remedy }
}

export function noteFinding(message: string, remedy?: string, line?: number): Finding {
  return { level: 'note', message, ...(line !== undefined && { line }), ...(remedy !== undefined && { remedy }) }
}
