import type { Millis } from '../domain/clock.ts'
import type { InboxItem } from '../domain/inbox.ts'
import type { Message, Part } from '../domain/message.ts'
import type { ModelMessage } from '../domain/model.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { Thread } from '../domain/turn.ts'
import type { Reading } from '../store/store.ts'
import { bytesOnPath, findThread, readSaid, type SaidTurn } from '../store/threads.ts'
import { contextDepth } from './history.ts'
import type { KnownPaths } from './known-paths.ts'
import { isBackground } from './role.ts'
import { routeToHead } from './route.ts'
import { bytesOfMessage } from './weight.ts'
import type { Engine } from './world.ts'

/** What lies before a run: the path of its session from the last compaction on, and the inputs it began with. */
export interface Context {
  path: readonly SaidTurn[]
  inputs: InboxItem[]
}

/** The narrator is told what it needs each time: what it told before would only cost. */
export async function readContext(
  { store, paths }: Engine,
  { run, session, items }: { run: Run; session: Session; items: InboxItem[] },
  heard: ReadonlySet<string>,
): Promise<Context> {
  if (isBackground(run)) return { path: [], inputs: items }
  const path = await store.read(async (rows) => {
    const head = await routeToHead(rows, session.id)
    if (!head) return []
    const known = paths.upTo(head)
    if (known?.depth === head.depth) return known.path
    const since = await readSaid(rows, head, known ? known.depth + 1 : await contextDepth(rows, head))
    const isSummary = ({ depth }: SaidTurn) => depth === head.contextStart
    return paths.keep(head, known, [...since.filter(isSummary), ...since.filter((turn) => !isSummary(turn))])
  })
  return { path, inputs: items.filter(({ id }) => !heard.has(id)) }
}

/** The context as a model is shown it. */
export function messagesOf({ path, inputs }: Context): ModelMessage[] {
  return [...path.flatMap(told), ...inputs.map(said)]
}

/** An input as a model is given it: the text, then what came with it. */
export function said({ content, parts = [] }: { content: string; parts?: Part[] }): ModelMessage {
  return { role: 'user', content, ...(parts.length > 0 && { parts }) }
}

/** A turn as later ones are told of it. */
export function told(turn: SaidTurn): ModelMessage[] {
  // A summary is told as something the model is given: it answers nothing that could stand before it.
  if (turn.type === 'compaction') return [{ role: 'user', content: summaryOf(turn.responseMessage.content) }]
  return [...turn.queryMessages.map(said), { role: 'assistant', content: turn.responseMessage.content, calls: [] }]
}

/** A summary as a model is given it. */
export function summaryOf(text: string): string {
  return `[summary of what came before]\n${text}`
}

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/**
 * What time it is, where this machine stands. It goes after everything else that a model is shown: in front of it, it
 * would make everything that follows new to the provider's cache.
 */
export function timeNote(now: Millis): string {
  const at = new Date(now)
  const two = (number: number) => String(number).padStart(2, '0')
  const ahead = -at.getTimezoneOffset()
  const zone = `${ahead < 0 ? '-' : '+'}${two(Math.floor(Math.abs(ahead) / 60))}:${two(Math.abs(ahead) % 60)}`
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `[now: ${days[at.getDay()]} ${date} ${two(at.getHours())}:${two(at.getMinutes())} ${zone}]`
}

/** At least what a request for this would weigh, without reading it all. */
export async function bytesBefore(
  rows: Reading,
  { paths }: Pick<Engine, 'paths'>,
  session: Session,
  items: InboxItem[],
): Promise<number> {
  const head = session.headTurnId === null ? undefined : await findThread(rows, session.headTurnId)
  return items.reduce((sum, item) => sum + bytesOfMessage(said(item)), head ? await bytesOf(rows, paths, head) : 0)
}

/** What is weighed here may not be committed yet: it is not kept. */
async function bytesOf(rows: Reading, paths: KnownPaths, head: Thread): Promise<number> {
  const known = paths.upTo(head)
  if (known?.depth === head.depth) return known.bytes
  const from = known ? known.depth + 1 : await contextDepth(rows, head)
  return (known?.bytes ?? 0) + (await bytesOnPath(rows, head, from))
}

/** An input as the turn keeps it. */
export function messageOf(item: InboxItem): Message {
  return {
    id: item.id,
    role: 'user',
    source: item.source,
    content: item.content,
    ...(item.parts.length > 0 && { parts: item.parts }),
    timestamp: item.createdAt,
    ...(item.label.integrity === 'untrusted' && { label: item.label }),
  }
}
