import { lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { Check } from './check.ts'
import { readChecks } from './read-checks.ts'

const mostFiles = 500
const mostBytes = 5 * 1024 * 1024

/** A task for an agent, the files it is done in, and what must be so afterwards. */
export interface Fixture {
  /** The directory that holds it. */
  path: string
  task: string
  /** By path from the folder on. */
  files: { path: string; content: Buffer; isProgram: boolean }[]
  checks: Check[]
  timeoutSeconds?: number
}

/** Where an agent's test is: beside its file, with `.test` in the place of `.md`. */
export function fixturePath(agentFile: string): string {
  return agentFile.replace(/\.md$/i, '.test')
}

/** Whether there is something where a test would be. */
export function hasFixture(agentFile: string): boolean {
  return lstatSync(fixturePath(agentFile), { throwIfNoEntry: false }) !== undefined
}

/** Reads a test from its directory; nothing is taken from anywhere else. */
export function readFixture(path: string): Fixture {
  if (!lstatSync(path).isDirectory()) throw broken(path, ['it is not a directory of its own'])
  const task = textOf(join(path, 'task.md'))
  const checks = textOf(join(path, 'checks.json'))
  const read = checks === undefined ? undefined : readChecks(checks)
  const files = filesBelow(join(path, 'files'))
  const problems = [
    ...(task === undefined || task.trim() === '' ? ['task.md is missing or empty: write what the agent is asked'] : []),
    ...(read === undefined ? ['checks.json is missing: write what must be so afterwards'] : []),
    ...(read && 'problems' in read ? read.problems.map((problem) => `checks.json: ${problem}`) : []),
    ...files.problems,
  ]
  if (problems.length > 0 || task === undefined || read === undefined || 'problems' in read)
    throw broken(path, problems)
  return { path, task: task.trim(), files: files.found, ...read }
}

function broken(path: string, problems: string[]): HeddleError {
  const remedy = 'mend it; heddle agents test --help and docs/guide/agents.md say what belongs there'
  return new HeddleError('agent_test_broken', `the test in ${path} cannot be used:\n  ${problems.join('\n  ')}`, remedy)
}

/** A file's text; a link is no file, since it could bring in anything and hand it to a model. */
function textOf(path: string): string | undefined {
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
      if (found.length === mostFiles || bytes > mostBytes)
        return { found, problems: [`files holds more than ${mostFiles} files or 5 MB: take less`] }
      found.push({ path, content: readFileSync(join(root, path)), isProgram: (stats.mode & 0o100) !== 0 })
    }
  return { found, problems: [] }
}
