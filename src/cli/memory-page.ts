import { tail } from '../domain/id.ts'
import type {
  MemoryFound,
  MemoryLine,
  MemoryView,
  PassageFound,
  Reminded,
  RemindedPassage,
} from '../domain/memory-views.ts'
import { passageLine } from '../domain/passage.ts'
import { facts } from './facts.ts'
import { ago, cut, printable, type Screen, table, width } from './screen.ts'

const widestTags = 20
const widestWords = 32
const widestPlace = 32
/** Of long lists only so many are told. */
const mostNamed = 5

/** Memories as they are listed. */
export function memoryTable(screen: Screen, memories: readonly MemoryLine[], now: number): string {
  const rows = memories.map((memory) => [
    `memory:${memory.id}`,
    oneLine(memory.content),
    cut(tagWords(memory), widestTags),
    trustWord(memory),
    ago(memory.createdAt, now),
  ])
  return table(screen, rows, 1)
}

/** What a search found, memories first: how well it fits and by which words. */
export function foundTable(
  screen: Screen,
  memories: readonly MemoryFound[],
  passages: readonly PassageFound[] = [],
): string {
  const found = [
    ...memories.map((memory) => ({
      ...memory,
      name: `memory:${memory.id}`,
      said: memory.content,
      trust: trustWord(memory),
    })),
    ...passages.map((passage) => ({ ...passage, name: placeIn(passage), said: passageText(passage), trust: '' })),
  ]
  const rows = found.map(({ name, rank, said, trust, words }) => [
    name,
    rank.toFixed(2),
    oneLine(said),
    trust,
    words.length === 0 ? '(by meaning)' : cut(words.map((word) => printable(word)).join(' '), widestTags),
  ])
  return table(screen, rows, 2)
}

/** All of a memory; of one that no longer counts, what took its place. */
export function memoryPage(screen: Screen, memory: MemoryView): string {
  const { label, forgottenAt } = memory
  const head = facts(screen, `memory:${memory.id}`, [
    ['state', forgottenAt === undefined ? null : `forgotten ${forgottenAt}: what it said is gone`],
    ['now', placeOf(screen, memory)],
    ['kept', memory.archived ? 'in the archive: no search finds it until it is changed' : null],
    ['tags', memory.tags.map((tag) => printable(tag)).join(', ') || null],
    ['keywords', memory.keywords.map((word) => printable(word)).join(', ') || null],
    ['score', `${memory.score}, counts ${memory.rank}`],
    ['said by', saidBy(memory)],
    ['trust', label.integrity === 'untrusted' ? `untrusted: ${printable(label.sources.join(', '))}` : null],
    ['from', originOf(memory)],
    ['at', memory.createdAt],
    ['used', memory.recalledAt === memory.createdAt ? null : memory.recalledAt],
    ['shown to', few(memory.runs.map((id) => `run:${tail(id)}`))],
    ['cited by', few(memory.narratives.map((id) => `narrative:${id}`))],
    ['next', nextOf(memory)],
  ])
  const before = memory.older.map(({ id, content }) => [`  memory:${id}`, oneLine(content) || 'forgotten'])
  return [
    head,
    ...(memory.content === '' ? [] : ['', printable(memory.content, { lines: true })]),
    ...(before.length > 0 ? ['', 'in the place of', table(screen, before, 1)] : []),
  ].join('\n')
}

/** What a turn's run was reminded of, and by which words. */
export function remindersLines(
  screen: Screen,
  reminded: readonly Reminded[],
  passages: readonly RemindedPassage[] = [],
): string {
  const shown = [
    ...reminded.map(({ id, content, words }) => ({
      name: `memory:${id}`,
      said: oneLine(content) || 'forgotten since',
      words,
    })),
    ...passages.map((passage) => ({
      name: placeIn(passage),
      said: oneLine(passageText(passage)) || 'changed since',
      words: passage.words,
    })),
  ]
  const rows = shown.map(({ name, said, words }) => [
    `  ${name}`,
    said,
    cut(`by ${words.map((word) => printable(word)).join(', ') || 'meaning'}`, widestWords),
  ])
  return table(screen, rows, 1)
}

/** A memory with its beginning, below something else. */
export function memoryMention(screen: Screen, what: string, { id, content }: Pick<MemoryLine, 'id' | 'content'>) {
  return cut(`  ${what} memory:${id}  ${oneLine(content)}`, screen.columns)
}

/** The same with its day, and whether strangers said it. */
export function datedMention(screen: Screen, what: string, memory: MemoryLine): string {
  const { id, content, createdAt } = memory
  const said = [trustWord(memory), oneLine(content)].filter((part) => part !== '').join('  ')
  return cut(`  ${what} memory:${id}  ${createdAt.slice(0, 10)}  ${said}`, screen.columns)
}

/** What a memory says, below a line about it. */
export function contentLine(screen: Screen, { content }: Pick<MemoryLine, 'content'>): string {
  return cut(`  ${oneLine(content)}`, screen.columns)
}

/** The first of many, and how many more there are; null for none. */
export function few(names: readonly string[]): string | null {
  if (names.length === 0) return null
  const rest = names.length - mostNamed
  return names.slice(0, mostNamed).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

function placeOf(screen: Screen, { replacedBy, forgottenAt }: MemoryView): string | null {
  if (replacedBy === undefined) return forgottenAt === undefined ? null : 'nothing took its place'
  const { id, content, createdAt } = replacedBy
  return content === ''
    ? `memory:${id} took its place and was forgotten`
    : cut(`memory:${id} took its place on ${createdAt.slice(0, 10)}: ${oneLine(content)}`, screen.columns - 10)
}

function nextOf({ id, replacedBy, forgottenAt }: MemoryView): string | null {
  if (replacedBy !== undefined && replacedBy.content !== '') return `heddle show memory:${replacedBy.id}`
  if (forgottenAt !== undefined) return null
  return replacedBy === undefined
    ? `heddle memory edit ${id}, heddle memory forget ${id}`
    : `heddle memory add "…" says it again, heddle memory forget ${id}`
}

function saidBy({ source, runId }: MemoryView): string {
  const who = { user: 'you', agent: 'an agent', import: 'an imported file' }[source]
  return runId === undefined ? who : `${who} in run:${tail(runId)}`
}

function originOf({ turnId, taskId, resultId, narrativeId }: MemoryView): string | null {
  const from = [
    ...(turnId === undefined ? [] : [`turn:${turnId}`]),
    ...(taskId === undefined ? [] : [`task:${taskId}`]),
    ...(resultId === undefined ? [] : [`result:${resultId}`]),
    ...(narrativeId === undefined ? [] : [`narrative:${narrativeId}`]),
  ]
  return from.join(', ') || null
}

/** Where to look; of a long path the end, which tells the most. */
function placeIn({ path, line }: PassageFound): string {
  const place = printable(`${path}:${line}`)
  const letters = [...place]
  while (width(letters.join('')) > widestPlace) letters.shift()
  return letters.length === [...place].length ? place : `…${letters.slice(1).join('')}`
}

function passageText({ heading, text }: PassageFound): string {
  return text === '' ? '' : passageLine({ heading: heading ?? null, text })
}

function trustWord({ trusted }: MemoryLine): string {
  return trusted ? '' : 'untrusted'
}

function tagWords({ tags }: MemoryLine): string {
  return tags.map((tag) => `#${printable(tag)}`).join(' ')
}

/** Line breaks are no control characters to be shown where a text is cut to a line anyway. */
function oneLine(text: string): string {
  return printable(text.slice(0, 1000).toWellFormed().replace(/\s+/g, ' '))
}
