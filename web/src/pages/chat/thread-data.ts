import { type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query'
import { useFolder } from '../../api/folder.ts'
import { get, RequestError } from '../../api/request.ts'
import type { Turn, TurnLine } from '../../api/wire.ts'

/** Turns that are drawn at first, and how many more each time. */
export const windowSize = 30

interface Thread {
  lines: TurnLine[]
  turns: Turn[]
  isLoading: boolean
  error: unknown
}

/** The last turns on the path to a session's head or to a turn; empty for a session that has not begun. */
export function useThread(of: string, limit: number): Thread {
  const folder = useFolder()
  const log: UseQueryResult<TurnLine[]> = useQuery({
    queryKey: ['turns', folder, of, limit],
    placeholderData: (before, query) => (query?.queryKey[2] === of ? before : undefined),
    queryFn: ({ signal }) => readLog(folder, of, limit, signal),
  })
  const lines = log.data ?? []
  const turns = useQueries({
    queries: lines.map(({ id }) => ({
      queryKey: ['turn', id],
      // A turn never changes.
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: () => get<Turn>('/v1/show', { folder, reference: `turn:${id}` }),
    })),
    combine: (results) => results.flatMap(({ data }) => (data ? [data] : [])),
  })
  return { lines, turns, isLoading: log.isPending || turns.length < lines.length, error: log.error }
}

async function readLog(folder: string, of: string, limit: number, signal: AbortSignal): Promise<TurnLine[]> {
  try {
    return (await get<{ turns: TurnLine[] }>('/v1/turns', { folder, of, limit }, signal)).turns
  } catch (error) {
    if (error instanceof RequestError && error.status === 404) return []
    throw error
  }
}
