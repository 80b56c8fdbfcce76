import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { Result, Task } from '../../api/wire.ts'

/** A task with its brief and its results. */
export function useTask(id: string): UseQueryResult<Task> {
  return useQuery({
    queryKey: ['task', id],
    queryFn: ({ signal }) => get<Task>(`/v1/tasks/${encodeURIComponent(id)}`, {}, signal),
  })
}

/** What an agent handed in; it never changes. */
export function useResult(id: number): UseQueryResult<Result> {
  const folder = useFolder()
  return useQuery({
    queryKey: ['result', id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => get<Result>('/v1/show', { folder, reference: `result:${id}` }, signal),
  })
}
