import { nearest } from '../domain/text/nearest.ts'
import { answerChecks } from './answer-checks.ts'
import type { Check, CheckReader } from './check.ts'
import { fileChecks } from './file-checks.ts'
import { planChecks } from './plan-checks.ts'
import { workChecks } from './work-checks.ts'

/** Every kind of check, by its name in `checks.json`. */
const checkKinds: Readonly<Record<string, CheckReader>> = {
  ...fileChecks,
  ...answerChecks,
  ...workChecks,
  ...planChecks,
}

/** Content of `checks.json`. */
interface WrittenChecks {
  checks: Check[]
  timeoutSeconds?: number
}

/** Parses a `checks.json`, or returns all its problems. */
export function readChecks(text: string): WrittenChecks | { problems: string[] } {
  const written = parseJson(text)
  if (!isMap(written)) return { problems: ['it must be a JSON object with a list of checks'] }
  const { checks: list, timeoutSeconds, ...others } = written
  if (!Array.isArray(list) || list.length === 0) return { problems: ['checks must be a list with at least one check'] }
  const read = list.map((each, at) => readCheck(each, `check ${at + 1}`))
  const isTime = timeoutSeconds === undefined || (Number.isInteger(timeoutSeconds) && Number(timeoutSeconds) > 0)
  const problems = [
    ...Object.keys(others).map((key) => `${key} is not known: only checks and timeoutSeconds are`),
    ...(isTime ? [] : ['timeoutSeconds must be a whole number above 0']),
    ...read.flatMap((each) => ('problem' in each ? [each.problem] : [])),
  ]
  if (problems.length > 0) return { problems }
  const checks = read.flatMap((each) => ('problem' in each ? [] : [each]))
  return { checks, ...(timeoutSeconds !== undefined && { timeoutSeconds: Number(timeoutSeconds) }) }
}

function readCheck(written: unknown, place: string): Check | { problem: string } {
  if (!isMap(written)) return { problem: `${place}: must be an object such as { "check": "file_exists", … }` }
  const { check: kind, says, ...rest } = written
  if (typeof kind !== 'string' || !Object.hasOwn(checkKinds, kind)) {
    const known = Object.keys(checkKinds)
    const close = typeof kind === 'string' ? nearest(kind, known) : undefined
    const advice = close ? `did you mean ${close}?` : `there are: ${known.join(', ')}`
    return { problem: `${place}: there is no check ${JSON.stringify(kind) ?? 'without a name'}; ${advice}` }
  }
  if (says !== undefined && (typeof says !== 'string' || says.trim() === ''))
    return { problem: `${place} (${kind}): says must be a sentence` }
  const read = checkKinds[kind]?.(rest)
  if (!read || 'problem' in read) return { problem: `${place} (${kind}): ${read?.problem}` }
  return { kind, ...read.check, says: typeof says === 'string' ? says : read.check.wants }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
