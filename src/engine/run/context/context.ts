import type { Millis } from '../../../domain/clock.ts'
import type { InboxItem } from '../../../domain/inbox.ts'
import type { Message } from '../../../domain/message.ts'
import type { ModelMessage } from '../../../domain/model.ts'
import type { Run } from '../../../domain/run.ts'
import type { Thread } from '../../../domain/turn.ts'
import { bytesOnPath, readMessagesOnPath, readStepsOnPath } from '../../../store/rows/threads.ts'
import type { Reading } from '../../../store/store.ts'
import { userMessage } from '../../model/model-messages.ts'
import { isBackground } from '../../model/role.ts'
import { bytesOfMessage } from '../../model/weight.ts'
import type { Engine } from '../../runtime.ts'
import { contextDepth } from '../../turns/history.ts'
import type { KnownPath, KnownPaths } from './known-paths.ts'
import { type PathTurn, pathTurn } from './path-turn.ts'

/** Conversation before a run: its session's path from the last compaction on, and the inputs it started with. */
export interface Context {
  path: readonly PathTurn[]
  inputs: InboxItem[]
}

/** Reads the context of a run. A background run sees its inputs only: they contain all that it needs. */
export async function readContext(
  { store, paths }: Engine,
  { run, head, items }: { run: Run; head: Thread | undefined; items: InboxItem[] },
  steeredItemIds: ReadonlySet<string>,
): Promise<Context> {
  if (isBackground(run)) return { path: [], inputs: items }
  const path = await store.read(async (rows) => {
    if (!head) return []
    const cached = paths.upTo(head)
    if (cached?.depth === head.depth) return cached.path
    return paths.keep(head, cached, await readSince(rows, head, cached))
  })
  return { path, inputs: items.filter(({ id }) => !steeredItemIds.has(id)) }
}

/** Turns of a path that are not cached yet, with the steps of their runs; the summary comes first. */
async function readSince(rows: Reading, head: Thread, cached: KnownPath | undefined): Promise<PathTurn[]> {
  const from = cached ? cached.depth + 1 : await contextDepth(rows, head)
  const since = await readMessagesOnPath(rows, head, from)
  const steps = since.some(({ hasCalls }) => hasCalls) ? await readStepsOnPath(rows, head, from) : new Map()
  const turns = since.map((turn) => pathTurn(turn, steps.get(turn.runId), turn.depth < head.contextStart))
  const isSummary = ({ depth }: PathTurn) => depth === head.contextStart
  return [...turns.filter(isSummary), ...turns.filter((turn) => !isSummary(turn))]
}

/** The context as model messages. */
export function contextMessages({ path, inputs }: Context): ModelMessage[] {
  const all: ModelMessage[] = []
  for (const { messages } of path) all.push(...messages)
  for (const input of inputs) all.push(userMessage(input))
  return all
}

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/**
 * The current local time. Must come last in a model request: everything after a changed text misses the provider's
 * cache.
 */
export function timeNote(now: Millis): string {
  const at = new Date(now)
  const pad = (number: number) => String(number).padStart(2, '0')
  const ahead = -at.getTimezoneOffset()
  const zone = `${ahead < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(ahead) / 60))}:${pad(Math.abs(ahead) % 60)}`
  const date = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`
  return `[now: ${weekdays[at.getDay()]} ${date} ${pad(at.getHours())}:${pad(at.getMinutes())} ${zone}]`
}

/** Lower bound for the size of a run's context, without reading all of it. */
export async function contextBytes(
  rows: Reading,
  { paths }: Pick<Engine, 'paths'>,
  head: Thread | undefined,
  items: InboxItem[],
): Promise<number> {
  return items.reduce(
    (sum, item) => sum + bytesOfMessage(userMessage(item)),
    head ? await pathBytes(rows, paths, head) : 0,
  )
}

/** Does not fill the cache: the rows may not be committed yet. */
async function pathBytes(rows: Reading, paths: KnownPaths, head: Thread): Promise<number> {
  const cached = paths.upTo(head)
  if (cached?.depth === head.depth) return cached.bytes
  const from = cached ? cached.depth + 1 : await contextDepth(rows, head)
  return (cached?.bytes ?? 0) + (await bytesOnPath(rows, head, from))
}

/** An input as a message of its turn. */
export function messageOf(item: InboxItem): Message {
  return {
    id: item.id,
    role: 'user',
    source: item.source,
    content: item.content,
    ...(item.parts.length > 0 && { parts: item.parts }),
    timestamp: item.createdAt,
    ...(item.label.integrity === 'untrusted' && { label: item.label }),
    ...(item.outerRef !== undefined && { outerRef: item.outerRef }),
    ...(item.toolCallId !== undefined && { toolCallId: item.toolCallId }),
  }
}
