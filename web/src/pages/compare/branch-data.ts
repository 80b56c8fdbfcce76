import { useQueries, useQuery } from '@tanstack/react-query'
import { useFolder } from '../../api/folder.ts'
import { get } from '../../api/request.ts'
import type { Run, Turn } from '../../api/wire.ts'

/** One of two branches: its turns since the common one, and what they did. */
export interface Branch {
  /** As the address names it: a session's label, or the id of a turn. */
  name: string
  turns: Turn[]
  /** Tools with how often each was used. */
  tools: [name: string, count: number][]
  files: Run['files']
  models: string[]
  tokens: number
  costUsd: number
  /** Session to go on in; undefined if no session's head is here. */
  session: string | undefined
}

interface Comparison {
  ancestor: Turn | undefined
  a: Branch
  b: Branch
  isLoading: boolean
  error: unknown
}

/** Where two branches part, and what each did since. */
export function useComparison(a: string, b: string): Comparison {
  const folder = useFolder()
  const parted = useQuery({
    queryKey: ['turns', folder, 'diff', a, b],
    queryFn: ({ signal }) =>
      get<{ ancestor: string | null; a: string[]; b: string[] }>(
        '/v1/diff',
        { folder, a: referenceOf(a), b: referenceOf(b) },
        signal,
      ),
  })
  const ids = parted.data ? [...parted.data.a, ...parted.data.b] : []
  const turns = useTurns([...ids, ...(parted.data?.ancestor ? [parted.data.ancestor] : [])])
  const runs = useRunsById([...turns.values()].map(({ runId }) => runId))
  const branch = (name: string, own: string[]) =>
    branchOf(
      name,
      own.flatMap((id) => turns.get(id) ?? []),
      runs,
    )
  return {
    ancestor: turns.get(parted.data?.ancestor ?? ''),
    a: branch(a, parted.data?.a ?? []),
    b: branch(b, parted.data?.b ?? []),
    isLoading: parted.isPending || ids.some((id) => !turns.has(id)),
    error: parted.error,
  }
}

/** Ids of turns have 20 characters; everything else is a label. */
function referenceOf(name: string): string {
  return /^[0-9a-z]{20}$/.test(name) ? `turn:${name}` : name
}

function useTurns(ids: readonly string[]): Map<string, Turn> {
  const folder = useFolder()
  return useQueries({
    queries: ids.map((id) => ({
      queryKey: ['turn', id],
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: () => get<Turn>('/v1/show', { folder, reference: `turn:${id}` }),
    })),
    combine: (results) => new Map(results.flatMap(({ data }) => (data ? [[data.id, data] as const] : []))),
  })
}

function useRunsById(ids: readonly string[]): Map<string, Run> {
  return useQueries({
    queries: [...new Set(ids)].map((id) => ({
      queryKey: ['run', id],
      queryFn: () => get<Run>(`/v1/runs/${id}`),
    })),
    combine: (results) => new Map(results.flatMap(({ data }) => (data ? [[data.id, data] as const] : []))),
  })
}

function branchOf(name: string, turns: Turn[], runs: Map<string, Run>): Branch {
  const tools = new Map<string, number>()
  for (const call of turns.flatMap(({ toolCalls }) => toolCalls)) tools.set(call.name, (tools.get(call.name) ?? 0) + 1)
  const files = new Map(turns.flatMap(({ runId }) => runs.get(runId)?.files ?? []).map((file) => [file.path, file]))
  const costs = turns.map(({ usage }) => usage.costUsd + (usage.estimatedUsd ?? 0) + (usage.lostUsd ?? 0))
  return {
    name,
    turns,
    tools: [...tools].toSorted(([, one], [, other]) => other - one),
    files: [...files.values()],
    models: [...new Set(turns.flatMap(({ model }) => model.actual ?? model.requested ?? []))],
    tokens: turns.reduce((sum, { usage }) => sum + usage.inputTokens + usage.outputTokens, 0),
    costUsd: costs.reduce((sum, cost) => sum + cost, 0),
    session: turns.at(-1)?.sessions[0],
  }
}
