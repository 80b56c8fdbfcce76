import { queryOptions } from '@tanstack/react-query'
import { get } from '../../api/request.ts'
import type { RunSteps } from '../../api/wire.ts'

/** Steps of a run with their words, inputs and outputs. */
export function stepsQuery(id: string) {
  return queryOptions({
    queryKey: ['steps', id],
    queryFn: ({ signal }) => get<RunSteps>(`/v1/runs/${id}/steps`, {}, signal),
  })
}
