import { posix } from 'node:path'
import { isSettled, type Task } from '../../domain/plan.ts'
import { shownName } from '../../tools/files/shown-name.ts'
import { pathsUnder } from '../files/claimed-files.ts'
import type { AgentIndex } from '../runtime.ts'

/** A task, with whether its agent can write files. */
interface PlannedWork extends Pick<Task, 'id' | 'title' | 'context' | 'dependsOn'> {
  /** Whether its agent has a tool that changes files. */
  canWrite: boolean
}

/** A file named by several tasks that can run at the same time. */
interface SharedTarget {
  path: string
  tasks: number[]
  /** Every task declares that it writes the file; else some only mention it. */
  isDeclared: boolean
}

/** Max files reported, and max tasks compared per file. */
const [maxFiles, maxOfOne] = [10, 50]

/** Warnings about a plan: one line for each file that concurrent tasks may both write. */
export function targetWarnings(tasks: readonly Task[], agents: AgentIndex, folder: string): string[] {
  const skills = new Set(tasks.map(({ skill }) => skill))
  const writers = [...skills].filter((skill) => changesFiles(agents, skill, folder))
  const shared = sharedTargets(
    // A settled task overwrites nothing, but others may still depend on it.
    tasks.map((task) => ({ ...task, canWrite: !isSettled(task.status) && writers.includes(task.skill) })),
  )
  const more = shared.length - maxFiles
  return [...shared.slice(0, maxFiles).map(sharedLine), ...(more > 0 ? [`and ${more} more files likewise`] : [])]
}

function changesFiles(agents: AgentIndex, skill: string, folder: string): boolean {
  return agents.find(skill, folder)?.tools.some((tool) => tool === 'write_file' || tool === 'edit_file') === true
}

/** Files that several tasks name of which neither depends on the other. */
export function sharedTargets(tasks: readonly PlannedWork[]): SharedTarget[] {
  const mentions = tasks
    .filter(({ canWrite }) => canWrite)
    .flatMap(({ id, title, context }) => {
      const { paths, isDeclared } = targetsIn(`${title}\n${context}`)
      return paths.map((path) => ({ path, id, isDeclared }))
    })
  const needs = new Map(tasks.map(({ id, dependsOn }) => [id, dependsOn]))
  return [...Map.groupBy(mentions, ({ path }) => path)].flatMap(([path, by]) => {
    const ids = concurrentTasks(
      by.slice(0, maxOfOne).map(({ id }) => id),
      needs,
    )
    const isDeclared = by.every((each) => each.isDeclared || !ids.includes(each.id))
    return ids.length === 0 ? [] : [{ path, tasks: ids, isDeclared }]
  })
}

/** The given tasks that can run at the same time as another of them. */
function concurrentTasks(ids: readonly number[], needs: ReadonlyMap<number, readonly number[]>): number[] {
  if (ids.length < 2) return []
  const above = new Map(ids.map((id) => [id, allDependencies(id, needs)]))
  const isConcurrent = (a: number, b: number) => a !== b && !above.get(a)?.has(b) && !above.get(b)?.has(a)
  return ids.filter((id) => ids.some((other) => isConcurrent(id, other)))
}

/** All direct and indirect dependencies of a task. */
function allDependencies(id: number, needs: ReadonlyMap<number, readonly number[]>): Set<number> {
  const found = new Set<number>()
  const walk = [...(needs.get(id) ?? [])]
  for (let next = walk.pop(); next !== undefined; next = walk.pop()) {
    if (found.has(next)) continue
    found.add(next)
    walk.push(...(needs.get(next) ?? []))
  }
  return found
}

const declaration = /^[\s*_#>-]*(?:writes?|targets?)[\s*_]*:[\s*_]*/i

/** Files that a brief declares on lines `Writes:` or `Target:`; without such lines, all files it mentions. */
export function targetsIn(text: string): { paths: string[]; isDeclared: boolean } {
  const lines = text.split('\n')
  const declared = lines.flatMap((line, at) => {
    if (!declaration.test(line)) return []
    // If the line itself names files, a list below it is about something else.
    const isInline = line.replace(declaration, '').trim() !== ''
    return [pathsUnder(isInline ? [line] : lines, isInline ? 0 : at, declaration)]
  })
  const isDeclared = declared.length > 0
  const found = isDeclared ? declared.flat() : targetWords(text)
  return { paths: [...new Set(found.filter(isPath).map((path) => posix.normalize(path)))], isDeclared }
}

/** Text in backquotes and every other word, without surrounding marks and line numbers. */
function targetWords(text: string): string[] {
  const quoted = [...text.matchAll(/`([^`\n]+)`/g)].map(([, inside]) => inside ?? '')
  const words = text.replace(/`[^`\n]*`/g, ' ').split(/[\s"'()[\]{}<>,;|]+/)
  return [...quoted, ...words].map((word) => word.replace(/^[*_]+|[*_.:!?]+$/g, '').replace(/:\d+(?:-\d+)?$/, ''))
}

const domainSuffixes = new Set(['com', 'org', 'net', 'io'])

/** Whether a word is a file name with an extension, and not a URL, number or abbreviation. */
function isPath(word: string): boolean {
  const [, stem = '', extension = ''] =
    /^(?:[^/]+\/|\.{0,2}\/)*([^/]*[\p{L}\p{N}_)-])\.(\p{L}[\p{L}\p{N}]{0,7})$/u.exec(word) ?? []
  if (stem === '' || word.includes('://') || domainSuffixes.has(extension.toLowerCase())) return false
  return stem.length + extension.length > 2
}

/** Max tasks named in a line; the rest is counted. */
const maxNamed = 20

function sharedLine({ path, tasks, isDeclared }: SharedTarget): string {
  const names = tasks.slice(0, maxNamed).map((id) => `task:${id}`)
  const rest = tasks.length > names.length ? `, … (${tasks.length} in all)` : ''
  const word = `${tasks.length === 2 ? 'both' : 'all'} ${isDeclared ? 'write' : 'name'}`
  return `${names.join(', ')}${rest} ${word} ${shownName(path)} and can run at the same time`
}
