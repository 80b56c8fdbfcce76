import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { PathTurn } from '../../api/wire.ts'

/** Turns that are read at once. */
const pageSize = 30
/** Pages that are read to find the turn of an address. */
const maxSearched = 40

interface TurnPage {
  turns: PathTurn[]
  next?: string
}

interface Thread {
  /** Oldest first. */
  turns: PathTurn[]
  isLoading: boolean
  error: unknown
  /** Reads earlier turns; undefined if all are there. */
  readEarlier: (() => void) | undefined
}

/** The last turns on the path to a session's head, and those back to the wanted one; none for a session that has not begun. */
export function useThread(session: string, wanted: string | undefined): Thread {
  const folder = useFolder()
  const { data, isPending, error, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ['turns', folder, session],
    initialPageParam: '',
    queryFn: ({ pageParam: after, signal }) =>
      get<TurnPage>('/v1/turns/window', { folder, session, limit: pageSize, ...(after !== '' && { after }) }, signal),
    getNextPageParam: ({ next }) => next,
  })
  const pages = data?.pages ?? []
  const turns = pages.toReversed().flatMap((page) => page.turns)
  const isMissing = wanted !== undefined && !turns.some(({ id }) => id === wanted)
  useEffect(() => {
    if (isMissing && hasNextPage && !isFetchingNextPage && pages.length < maxSearched) void fetchNextPage()
  }, [isMissing, hasNextPage, isFetchingNextPage, pages.length, fetchNextPage])
  return { turns, isLoading: isPending, error, readEarlier: hasNextPage ? () => void fetchNextPage() : undefined }
}
