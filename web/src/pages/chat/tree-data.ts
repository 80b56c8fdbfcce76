import { useQuery } from '@tanstack/react-query'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { TreeTurn } from '../../api/wire.ts'

const maxTurns = 400

/** The newest turns of the tree that a session belongs to, newest first; none of a session that has not begun. */
export function useTree(session: string, head: string | undefined): TreeTurn[] {
  const folder = useFolder()
  const { data } = useQuery({
    queryKey: ['tree', folder, session],
    enabled: head !== undefined,
    queryFn: async ({ signal }) =>
      (await get<{ turns: TreeTurn[] }>('/v1/turns/tree', { folder, of: session, limit: maxTurns }, signal)).turns,
  })
  return data ?? none
}

const none: TreeTurn[] = []
