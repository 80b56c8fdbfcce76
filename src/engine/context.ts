import type { InboxItem } from '../domain/inbox.ts'
import type { Message } from '../domain/message.ts'
import type { ModelMessage } from '../domain/model.ts'
import type { PlacedTurn } from '../domain/turn.ts'
import type { Claimed } from './claim.ts'
import { contextPath } from './history.ts'
import { routeToHead } from './route.ts'
import type { Engine } from './world.ts'

/** What lies before a run: the path of its session from the last compaction on, and the inputs it began with. */
export async function contextOf(
  { store }: Engine,
  { session, items }: Claimed,
  heard: ReadonlySet<string>,
): Promise<ModelMessage[]> {
  const before = items.filter(({ id }) => !heard.has(id))
  const path = await store.read(async (rows) => {
    const head = await routeToHead(rows, session.id)
    return head ? contextPath(rows, head) : []
  })
  return [...path.flatMap(told), ...before.map(({ content }): ModelMessage => ({ role: 'user', content }))]
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

function told({ turn }: PlacedTurn): ModelMessage[] {
  return [
    ...turn.queryMessages.map(({ content }): ModelMessage => ({ role: 'user', content })),
    { role: 'assistant', content: turn.responseMessage.content, calls: [] },
  ]
}
