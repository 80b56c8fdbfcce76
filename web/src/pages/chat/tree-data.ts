import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { TreeTurn } from '../../api/wire.ts'

const maxTurns = 400

/** Turns of the tree that the session's head belongs to, newest first. */
export function useTree(head: string | undefined): TreeTurn[] {
  const folder = useFolder()
  const { data } = useQuery({
    queryKey: ['tree', folder],
    enabled: head !== undefined,
    queryFn: async ({ signal }) =>
      (await get<{ turns: TreeTurn[] }>('/v1/turns/tree', { folder, kind: 'person', limit: maxTurns }, signal)).turns,
  })
  return useMemo(() => (head === undefined ? [] : treeOf(data ?? [], head)), [data, head])
}

/** Turns with the same root as this one, newest first. */
function treeOf(turns: readonly TreeTurn[], head: string): TreeTurn[] {
  const byId = new Map(turns.map((turn) => [turn.id, turn]))
  const rootOf = new Map<string, string>()
  const root = (id: string): string => {
    const known = rootOf.get(id)
    if (known !== undefined) return known
    // Up to the oldest turn that is listed.
    const path = [id]
    for (let turn = byId.get(id); turn?.parentId && byId.has(turn.parentId); turn = byId.get(turn.parentId))
      path.push(turn.parentId)
    const found = path.at(-1) ?? id
    for (const each of path) rootOf.set(each, found)
    return found
  }
  const wanted = root(head)
  return turns.filter(({ id }) => root(id) === wanted)
}
