import { z } from 'zod'
import { HeddleError } from '../domain/errors.ts'
import { idPattern } from '../domain/id.ts'
import { integrities, type Label } from '../domain/label.ts'
import { lazy } from '../domain/lazy.ts'
import { type Memory, type MemorySource, memorySources } from '../domain/memory.ts'
import { checkedContent } from './remember.ts'

const formatVersion = 1

/** A memory of an export file. */
export interface FileMemory {
  content: string
  tags: string[]
  keywords: string[]
  score: number
  source: MemorySource
  label: Label
  /** Undefined in a hand-written file without a date. */
  createdAt: number | undefined
  saidAt: number | undefined
  recalledAt: number | undefined
  runId: string | null
  turnId: string | null
  taskId: number | null
  resultId: number | null
  narrativeId: number | null
  isArchived: boolean
}

interface MemoryFile {
  /** The home that wrote it, if given: numeric ids are valid only there. */
  home: string | null
  memories: FileMemory[]
}

/** Beginning of a file: text for people and one machine-readable line. */
export function fileHead(facts: { home: string | null; exportedAt: number }): string {
  const line = { version: formatVersion, home: facts.home, exported: new Date(facts.exportedAt).toISOString() }
  return [
    '# What heddle knows',
    '',
    `<!-- heddle memories ${inComment(line)} -->`,
    '',
    'Each section is a memory. Edit the text as you like, but keep the comment line below it.',
    'Import it with: heddle memory import FILE',
    '',
    '',
  ].join('\n')
}

/** A section of the file. */
export function memorySection(memory: Memory, { isArchived = false } = {}): string {
  const { tags, keywords, score, source, label, runId, turnId, taskId, resultId, narrativeId } = memory
  const line = {
    ...(tags.length > 0 && { tags }),
    ...(keywords.length > 0 && { keywords }),
    score,
    source,
    integrity: label.integrity,
    ...(label.sources.length > 0 && { sources: label.sources }),
    created: new Date(memory.createdAt).toISOString(),
    ...(memory.saidAt !== memory.createdAt && { said: new Date(memory.saidAt).toISOString() }),
    recalled: new Date(memory.recalledAt).toISOString(),
    ...(runId !== null && { run: runId }),
    ...(turnId !== null && { turn: turnId }),
    ...(taskId !== null && { task: taskId }),
    ...(resultId !== null && { result: resultId }),
    ...(narrativeId !== null && { narrative: narrativeId }),
    ...(isArchived && { archived: true }),
  }
  const words = memory.content.split('\n').map((each) => each.replace(likeOurs, '\\$&'))
  return `## memory:${memory.id}\n\n${words.join('\n')}\n\n<!-- memory ${inComment(line)} -->\n\n`
}

/** Reads an export file, also after people edited it; throws with the line number of an error. */
export function readMemoryFile(text: string, name: string): MemoryFile {
  const file: MemoryFile = { home: null, memories: [] }
  let section: { line: number; words: string[]; isDone: boolean } | undefined
  for (const [at, line] of linesOf(text).entries()) {
    const bad = (message: string, remedy: string) => badLine(name, at + 1, message, remedy)
    if (heading.test(line)) {
      if (section && !section.isDone) throw unfinished(name, section.line)
      section = { line: at + 1, words: [], isDone: false }
    } else if (line.startsWith('<!-- memory')) {
      if (!section || section.isDone) throw bad('this line belongs to no memory', 'put it below the text of one')
      file.memories.push({ ...memoryContent(section, name), ...parseFacts(ownLine.exec(line)?.[1], bad) })
      section.isDone = true
    } else if (!section) {
      const head = headLine.exec(line)?.[1]
      if (head !== undefined) file.home = homeOf(head, bad)
    } else if (!section.isDone) section.words.push(line.replace(escaped, '$1'))
    else if (line.trim() !== '')
      throw bad('this text belongs to no memory', 'put it above the line before, or start with ## memory')
  }
  if (section && !section.isDone) throw unfinished(name, section.line)
  if (file.memories.length === 0)
    throw new HeddleError('bad_import', `${name} contains no memory`, 'use a file that `heddle memory export` wrote')
  return file
}

const heading = /^## memory(:\d*)?\s*$/
const headLine = /^<!-- heddle memories (.*) -->\s*$/
const ownLine = /^<!-- memory (.*) -->\s*$/
/** Text that looks like our own lines is escaped with a backslash, which markdown does not show. */
const likeOurs = /^\\*(?:## memory|<!-- memory)/
const escaped = /^\\(\\*(?:## memory|<!-- memory))/

/** Splits lines; strips carriage returns if the first line has one. */
function linesOf(text: string): string[] {
  const lines = text.replace(/^\ufeff/, '').split('\n')
  return lines[0]?.endsWith('\r') ? lines.map((line) => line.replace(/\r$/, '')) : lines
}

function memoryContent({ line, words }: { line: number; words: string[] }, name: string): Pick<FileMemory, 'content'> {
  const text = words.join('\n')
  if (text.includes('\0')) throw badLine(name, line, 'this memory contains a NUL character', 'remove it')
  try {
    return { content: checkedContent(text) }
  } catch (error) {
    if (!(error instanceof HeddleError)) throw error
    throw badLine(name, line, error.message, error.remedy)
  }
}

type Bad = (message: string, remedy: string) => HeddleError

function parseFacts(json: string | undefined, bad: Bad): Omit<FileMemory, 'content'> {
  const { data, problem } = parseJson(factsSchema(), json)
  if (!data) throw bad(`this line cannot be read: ${problem}`, 'fix it; <!-- memory {} --> is enough')
  return {
    tags: data.tags,
    keywords: data.keywords,
    score: data.score,
    source: data.source,
    label: { integrity: data.integrity, sources: [...new Set(data.sources)].sort() },
    createdAt: data.created,
    saidAt: data.said,
    recalledAt: data.recalled,
    runId: data.run,
    turnId: data.turn,
    taskId: data.task,
    resultId: data.result,
    narrativeId: data.narrative,
    isArchived: data.archived,
  }
}

function homeOf(json: string, bad: Bad): string | null {
  const { data, problem } = parseJson(headFacts(), json)
  if (!data) throw bad(`this line cannot be read: ${problem}`, 'fix it or remove it')
  if (data.version > formatVersion) throw bad('a newer heddle wrote this file', 'upgrade heddle first')
  return data.home
}

const factsSchema = lazy(() => {
  const plain = z.string().refine((text) => !text.includes('\0'), 'contains a NUL character')
  const words = z.array(plain.min(1).max(1000)).max(1000).default([])
  const number = z.int().positive().nullable().default(null)
  const id = z.string().regex(idPattern, 'not an id of 20 characters').nullable().default(null)
  const moment = z.iso
    .datetime()
    .transform((text) => Date.parse(text))
    .optional()
  return z.strictObject({
    tags: words,
    keywords: words,
    score: z.int().min(-1_000_000).max(1_000_000).default(1),
    source: z.enum(memorySources).default('import'),
    integrity: z.enum(integrities).default('trusted'),
    sources: words,
    created: moment,
    said: moment,
    recalled: moment,
    run: id,
    turn: id,
    task: number,
    result: number,
    narrative: number,
    archived: z.boolean().default(false),
  })
})
const headFacts = lazy(() => z.object({ version: z.int(), home: z.string().nullable().default(null) }))

function parseJson<T>(schema: z.ZodType<T>, json: string | undefined): { data?: T; problem?: string } {
  let value: unknown
  try {
    value = JSON.parse(json ?? '')
  } catch {
    return { problem: 'its content is not JSON' }
  }
  const checked = schema.safeParse(value)
  if (checked.success) return { data: checked.data }
  const [issue] = checked.error.issues
  return { problem: `${issue?.path.join('.') || 'the line'}: ${issue?.message ?? 'unknown format'}` }
}

/** JSON that cannot end an HTML comment and has no invisible or control characters. */
function inComment(value: unknown): string {
  return JSON.stringify(value).replace(
    /[<>\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function unfinished(name: string, line: number): HeddleError {
  return badLine(
    name,
    line,
    'the comment line below this memory is missing',
    'add one: <!-- memory {} -->; the file may also be truncated',
  )
}

function badLine(name: string, line: number, message: string, remedy: string): HeddleError {
  return new HeddleError('bad_import', `${name}:${line} ${message}; nothing was imported`, remedy)
}
