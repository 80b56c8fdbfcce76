import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { Check } from './check.ts'
import { readChecks } from './read-checks.ts'

const maxFiles = 500
const maxBytes = 5 * 1024 * 1024

/** A test of an agent: a task, the files to work on, and the checks. */
export interface Fixture {
  /** The directory that holds it. */
  path: string
  task: string
  /** Paths relative to the folder. */
  files: { path: string; content: Buffer; isProgram: boolean }[]
  checks: Check[]
  timeoutSeconds?: number
}

/** Directory of an agent's test: beside its file, with `.test` instead of `.md`. */
export function fixturePath(agentFile: string): string {
  return agentFile.replace(/\.md$/i, '.test')
}

/** Whether anything exists at the test's path. */
export function hasFixture(agentFile: string): boolean {
  return lstatSync(fixturePath(agentFile), { throwIfNoEntry: false }) !== undefined
}

/** Reads a test from its directory only. */
export function readFixture(path: string): Fixture {
  if (!lstatSync(path).isDirectory()) throw broken(path, ['it is not a directory of its own'])
  const task = readText(join(path, 'task.md'))
  const checks = readText(join(path, 'checks.json'))
  const read = checks === undefined ? undefined : readChecks(checks)
  const files = filesBelow(join(path, 'files'))
  const problems = [
    ...(task === undefined || task.trim() === '' ? ['task.md is missing or empty: write the task for the agent'] : []),
    ...(read === undefined ? ['checks.json is missing: list what must be true afterwards'] : []),
    ...(read && 'problems' in read ? read.problems.map((problem) => `checks.json: ${problem}`) : []),
    ...files.problems,
  ]
  if (problems.length > 0 || task === undefined || read === undefined || 'problems' in read)
    throw broken(path, problems)
  return { path, task: task.trim(), files: files.found, ...read }
}

function broken(path: string, problems: string[]): HeddleError {
  const remedy = 'fix it; heddle agents test --help and docs/guide/agents.md show what belongs there'
  return new HeddleError('agent_test_broken', `the test in ${path} cannot be used:\n  ${problems.join('\n  ')}`, remedy)
}

/** A file's text; links are not followed, since they could send any file to a model. */
function readText(path: string): string | undefined {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() ? readFileSync(path, 'utf8') : undefined
}

function filesBelow(root: string): { found: Fixture['files']; problems: string[] } {
  const top = lstatSync(root, { throwIfNoEntry: false })
  if (top === undefined) return { found: [], problems: [] }
  if (!top.isDirectory()) return { found: [], problems: ['files is not a directory'] }
  const found: Fixture['files'] = []
  const waiting = ['']
  let bytes = 0
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
    for (const entry of readdirSync(join(root, next), { withFileTypes: true })) {
      const path = next === '' ? entry.name : `${next}/${entry.name}`
      if (entry.isDirectory()) {
        waiting.push(path)
        continue
      }
      if (!entry.isFile()) return { found, problems: [`files/${path} is a link or no file: put a copy there`] }
      const stats = lstatSync(join(root, path))
      bytes += stats.size
      if (found.length === maxFiles || bytes > maxBytes)
        return { found, problems: [`files holds more than ${maxFiles} files or 5 MB: use less`] }
      found.push({ path, content: readFileSync(join(root, path)), isProgram: (stats.mode & 0o100) !== 0 })
    }
  return { found, problems: [] }
}
