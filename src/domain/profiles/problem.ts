import type { z } from 'zod'
import { UsageError } from '../errors.ts'
import { escapeInvisible } from '../text/visible.ts'

/** One thing that is wrong with a profile or the registry, and where. */
export interface PolicyProblem {
  /** Such as `agents[2].description`; empty for the whole value. */
  path: string
  message: string
}

/** Max problems that an error lists. */
const maxListed = 20

/** All that a schema found wrong. */
export function problemsOf({ issues }: z.ZodError): PolicyProblem[] {
  return issues.map((issue) => ({
    path: pathText(issue.path),
    message:
      issue.code === 'unrecognized_keys' ? `has no such field: ${issue.keys.map(quoted).join(', ')}` : issue.message,
  }))
}

/** An error that lists every problem, each with its path. */
export function badPolicy(what: string, code: string, problems: readonly PolicyProblem[], remedy: string): UsageError {
  const lines = problems.slice(0, maxListed).map(({ path, message }) => `  ${path === '' ? what : path}: ${message}`)
  const more = problems.length - lines.length
  const count = problems.length === 1 ? 'a problem' : `${problems.length} problems`
  const rest = more > 0 ? [`  … and ${more} more`] : []
  return new UsageError([`${what} has ${count}:`, ...lines, ...rest].join('\n'), remedy, code)
}

function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`
    return text === '' ? escapeInvisible(String(key)) : `${text}.${escapeInvisible(String(key))}`
  }, '')
}

function quoted(text: string): string {
  return JSON.stringify(escapeInvisible(text.slice(0, 60)))
}
