import type { Millis } from '../domain/clock.ts'
import type { InboxItem } from '../domain/inbox.ts'
import type { Message } from '../domain/message.ts'
import type { ModelMessage } from '../domain/model.ts'
import type { Run } from '../domain/run.ts'
import type { Session } from '../domain/session.ts'
import type { Thread } from '../domain/turn.ts'
import type { Reading } from '../store/store.ts'
import { bytesOnPath, findThread, readSaid, readStepsOnPath } from '../store/threads.ts'
import { contextDepth } from './history.ts'
import type { KnownPath, KnownPaths } from './known-paths.ts'
import { said } from './model-messages.ts'
import { type PathTurn, pathTurn } from './path-turn.ts'
import { isBackground } from './role.ts'
import { routeToHead } from './route.ts'
import { bytesOfMessage } from './weight.ts'
import type { Engine } from './world.ts'

/** What lies before a run: the path of its session from the last compaction on, and the inputs it began with. */
export interface Context {
  path: readonly PathTurn[]
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
    return paths.keep(head, known, await readSince(rows, head, known))
  })
  return { path, inputs: items.filter(({ id }) => !heard.has(id)) }
}

/** The turns of a path that are not known yet, with what their runs did; the summary first. */
async function readSince(rows: Reading, head: Thread, known: KnownPath | undefined): Promise<PathTurn[]> {
  const from = known ? known.depth + 1 : await contextDepth(rows, head)
  const since = await readSaid(rows, head, from)
  const steps = since.some(({ hasCalls }) => hasCalls) ? await readStepsOnPath(rows, head, from) : new Map()
  const turns = since.map((turn) => pathTurn(turn, steps.get(turn.runId), turn.depth < head.contextStart))
  const isSummary = ({ depth }: PathTurn) => depth === head.contextStart
  return [...turns.filter(isSummary), ...turns.filter((turn) => !isSummary(turn))]
}

/** The context as a model is shown it. */
export function messagesOf({ path, inputs }: Context): ModelMessage[] {
  return [...path.flatMap(({ messages }) => messages), ...inputs.map(said)]
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
