import type {
  MemoryLine,
  MemoryMatch,
  MemoryView,
  PassageMatch,
  RecalledMemoryView,
  RecalledPassageView,
  SimilarMemory,
} from '../../api/views/memory.ts'
import { shortId } from '../../domain/id.ts'
import { passageLine } from '../../domain/text/passage.ts'
import { facts } from '../terminal/facts.ts'
import { formatAge, printable, type Screen, table, truncateToWidth, width } from '../terminal/screen.ts'

const maxTagsWidth = 20
const maxWordsWidth = 32
const maxPlaceWidth = 32
/** Max names shown of a long list. */
const maxNames = 5

/** Table of memories. */
export function memoryTable(screen: Screen, memories: readonly MemoryLine[], now: number): string {
  const rows = memories.map((memory) => [
    `memory:${memory.id}`,
    printableLine(memory.content),
    truncateToWidth(tagWords(memory), maxTagsWidth),
    trustWord(memory),
    formatAge(memory.createdAt, now),
  ])
  return table(screen, rows, 1)
}

/** Table of search results, memories first, with rank and matching words. */
export function foundTable(
  screen: Screen,
  memories: readonly MemoryMatch[],
  passages: readonly PassageMatch[] = [],
): string {
  const found = [
    ...memories.map((memory) => ({
      ...memory,
      name: `memory:${memory.id}`,
      text: memory.content,
      trust: trustWord(memory),
    })),
    ...passages.map((passage) => ({ ...passage, name: placeIn(passage), text: passageText(passage), trust: '' })),
  ]
  const rows = found.map(({ name, rank, text, trust, words }) => [
    name,
    rank.toFixed(2),
    printableLine(text),
    trust,
    words.length === 0 ? '(by meaning)' : truncateToWidth(words.map((word) => printable(word)).join(' '), maxTagsWidth),
  ])
  return table(screen, rows, 2)
}

/** Everything about a memory, including what replaced it. */
export function memoryPage(screen: Screen, memory: MemoryView): string {
  const { label, forgottenAt } = memory
  const head = facts(screen, `memory:${memory.id}`, [
    ['state', forgottenAt === undefined ? null : `forgotten ${forgottenAt}, its text is gone`],
    ['now', placeOf(screen, memory)],
    ['archived', memory.archived ? 'not found by searches until it is changed' : null],
    ['tags', memory.tags.map((tag) => printable(tag)).join(', ') || null],
    ['keywords', memory.keywords.map((word) => printable(word)).join(', ') || null],
    ['score', `${memory.score}, rank ${memory.rank}`],
    ['said by', saidBy(memory)],
    ['trust', label.integrity === 'untrusted' ? `untrusted: ${printable(label.sources.join(', '))}` : null],
    ['from', originOf(memory)],
    ['at', memory.createdAt],
    ['again', memory.saidAt ?? null],
    ['used', memory.recalledAt === memory.createdAt ? null : memory.recalledAt],
    ['shown to', joinFirst(memory.runs.map((id) => `run:${shortId(id)}`))],
    ['told in', joinFirst(memory.narratives.map((id) => `narrative:${id}`))],
    ['similar', joinFirst(memory.near.map(({ id }) => `memory:${id}`))],
    ['next', nextOf(memory)],
  ])
  const before = memory.older.map(({ id, content }) => [`  memory:${id}`, printableLine(content) || 'forgotten'])
  return [
    head,
    ...(memory.content === '' ? [] : ['', printable(memory.content, { lines: true })]),
    ...(before.length > 0 ? ['', 'replaces', table(screen, before, 1)] : []),
  ].join('\n')
}

/** Memories and passages shown to a turn's run, and the words that matched. */
export function remindersLines(
  screen: Screen,
  reminded: readonly RecalledMemoryView[],
  passages: readonly RecalledPassageView[] = [],
): string {
  const shown = [
    ...reminded.map(({ id, content, words }) => ({
      name: `memory:${id}`,
      text: printableLine(content) || 'forgotten since',
      words,
    })),
    ...passages.map((passage) => ({
      name: placeIn(passage),
      text: printableLine(passageText(passage)) || 'changed since',
      words: passage.words,
    })),
  ]
  const rows = shown.map(({ name, text, words }) => [
    `  ${name}`,
    text,
    truncateToWidth(`by ${words.map((word) => printable(word)).join(', ') || 'meaning'}`, maxWordsWidth),
  ])
  return table(screen, rows, 1)
}

/** A mention of a memory with the beginning of its text. */
export function memoryMention(screen: Screen, what: string, { id, content }: Pick<MemoryLine, 'id' | 'content'>) {
  return truncateToWidth(`  ${what} memory:${id}  ${printableLine(content)}`, screen.columns)
}

/** Line about a note that may say what was forgotten. */
export function noteMention(screen: Screen, place: string, text: string): string {
  return truncateToWidth(`  a note may say the same, change it there: ${place}  ${printableLine(text)}`, screen.columns)
}

/** A mention with its date, and whether it is untrusted. */
export function datedMention(
  screen: Screen,
  what: string,
  { id, content, day, trusted = true }: SimilarMemory & { trusted?: boolean },
): string {
  const text = [trustWord({ trusted }), printableLine(content)].filter((part) => part !== '').join('  ')
  return truncateToWidth(`  ${what} memory:${id}  ${day}  ${text}`, screen.columns)
}

/** The text of a memory in one line. */
export function contentLine(screen: Screen, { content }: Pick<MemoryLine, 'content'>): string {
  return truncateToWidth(`  ${printableLine(content)}`, screen.columns)
}

/** The first names, and how many more there are; null for none. */
export function joinFirst(names: readonly string[]): string | null {
  if (names.length === 0) return null
  const rest = names.length - maxNames
  return names.slice(0, maxNames).join(', ') + (rest > 0 ? ` and ${rest} more` : '')
}

function placeOf(screen: Screen, { replacedBy, forgottenAt }: MemoryView): string | null {
  if (replacedBy === undefined) return forgottenAt === undefined ? null : 'nothing replaced it'
  const { id, content, createdAt } = replacedBy
  return content === ''
    ? `memory:${id} replaced it and was forgotten`
    : truncateToWidth(
        `memory:${id} replaced it on ${createdAt.slice(0, 10)}: ${printableLine(content)}`,
        screen.columns - 10,
      )
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
  return runId === undefined ? who : `${who} in run:${shortId(runId)}`
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

/** `path:line`; of a long path only the end. */
function placeIn({ path, line }: PassageMatch): string {
  const place = printable(`${path}:${line}`)
  const letters = [...place]
  while (width(letters.join('')) > maxPlaceWidth) letters.shift()
  return letters.length === [...place].length ? place : `…${letters.slice(1).join('')}`
}

function passageText({ heading, text }: PassageMatch): string {
  return text === '' ? '' : passageLine({ heading: heading ?? null, text })
}

function trustWord({ trusted }: Pick<MemoryLine, 'trusted'>): string {
  return trusted ? '' : 'untrusted'
}

function tagWords({ tags }: MemoryLine): string {
  return tags.map((tag) => `#${printable(tag)}`).join(' ')
}

/** Text in one line: line breaks become spaces instead of visible escapes. */
function printableLine(text: string): string {
  return printable(text.slice(0, 1000).toWellFormed().replace(/\s+/g, ' '))
}
