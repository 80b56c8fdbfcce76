import { queryOptions, type UseQueryResult, useQueries, useQuery } from '@tanstack/react-query'
import { useFolder } from './folder.ts'
import { lastVisit } from './last-visit.ts'
import { get } from './request.ts'
import { toServerTime } from './server-time.ts'
import type {
  AgentLine,
  Approval,
  ChatCommand,
  Plan,
  PlanLine,
  Run,
  RunLine,
  RunSteps,
  Session,
  Status,
  Turn,
} from './wire.ts'

// Keys begin with the noun that events name: live/refresh.ts marks them as stale.

/** What a person wants to know first of this folder. */
export function useStatus(): UseQueryResult<Status> {
  const folder = useFolder()
  const since = toServerTime(lastVisit())
  return useQuery({
    queryKey: ['status', folder, since],
    queryFn: ({ signal }) => get<Status>('/v1/status', { folder, since }, signal),
  })
}

/** People's sessions of this folder, most recently used first. */
export function useSessions(): UseQueryResult<Session[]> {
  const folder = useFolder()
  return useQuery({
    queryKey: ['sessions', folder],
    queryFn: async ({ signal }) =>
      (await get<{ sessions: Session[] }>('/v1/sessions', { folder, limit: 100 }, signal)).sessions,
  })
}

/** Calls that wait for an answer, oldest first. */
export function useApprovals(): UseQueryResult<Approval[]> {
  return useQuery({
    queryKey: ['approvals'],
    queryFn: async ({ signal }) => (await get<{ approvals: Approval[] }>('/v1/approvals', {}, signal)).approvals,
  })
}

interface RunQuery {
  all?: boolean
  folder?: string
  /** Only what was asked for in this session. */
  requestsOf?: string
  /** Only runs of this agent. */
  agent?: string
  limit?: number
}

/** Runs, oldest first. */
export function useRuns(query: RunQuery = {}): UseQueryResult<RunLine[]> {
  return useQuery({
    queryKey: ['runs', query],
    queryFn: async ({ signal }) => (await get<{ runs: RunLine[] }>('/v1/runs', { ...query }, signal)).runs,
  })
}

export function useRun(id: string): UseQueryResult<Run> {
  return useQuery({
    queryKey: ['run', id],
    queryFn: ({ signal }) => get<Run>(`/v1/runs/${encodeURIComponent(id)}`, {}, signal),
  })
}

/** What a run did, with the words. A run that has ended never changes; `isWanted` puts reading it off. */
export function useRunSteps(id: string, { isEnded = false, isWanted = true } = {}): UseQueryResult<RunSteps> {
  return useQuery({
    ...stepsQuery(id),
    enabled: isWanted,
    ...(isEnded && { staleTime: Number.POSITIVE_INFINITY }),
  })
}

/** The same of several runs at a time. */
export function useStepsOfRuns(ids: readonly string[]): Map<string, RunSteps> {
  return useQueries({
    queries: ids.map(stepsQuery),
    combine: (results) => new Map(results.flatMap(({ data }, at) => (data ? [[ids[at] ?? '', data]] : []))),
  })
}

function stepsQuery(id: string) {
  return queryOptions({
    queryKey: ['steps', id],
    queryFn: ({ signal }) => get<RunSteps>(`/v1/runs/${encodeURIComponent(id)}/steps`, {}, signal),
  })
}

/** All of a turn, by its id or the end of it; a turn never changes. */
export function turnQuery(folder: string, id: string) {
  return queryOptions({
    queryKey: ['turn', id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) => get<Turn>('/v1/show', { folder, reference: `turn:${id}` }, signal),
  })
}

/** Agents that can be given work in this folder. */
export function useAgents(): UseQueryResult<AgentLine[]> {
  const folder = useFolder()
  return useQuery({
    queryKey: ['agents', folder],
    queryFn: async ({ signal }) => (await get<{ agents: AgentLine[] }>('/v1/agents', { folder }, signal)).agents,
  })
}

/** Plans of all folders that only the user can carry on, newest first. */
export function useWaitingPlans(): UseQueryResult<PlanLine[]> {
  return useQuery({
    queryKey: ['plans', 'needs you'],
    queryFn: async ({ signal }) => (await get<{ plans: PlanLine[] }>('/v1/plans', { needsYou: true }, signal)).plans,
  })
}

export function usePlan(id: string): UseQueryResult<Plan> {
  return useQuery({
    queryKey: ['plan', id],
    queryFn: ({ signal }) => get<Plan>(`/v1/plans/${encodeURIComponent(id)}`, {}, signal),
  })
}

/** Plans of this folder, newest first. */
export function usePlans(): UseQueryResult<PlanLine[]> {
  const folder = useFolder()
  return useQuery({
    queryKey: ['plans', folder],
    queryFn: async ({ signal }) => (await get<{ plans: PlanLine[] }>('/v1/plans', { folder }, signal)).plans,
  })
}

/** Commands that can be typed in a chat; they do not change while the page is open. */
export function useChatCommands(): UseQueryResult<ChatCommand[]> {
  return useQuery({
    queryKey: ['commands'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => (await get<{ commands: ChatCommand[] }>('/v1/commands', {}, signal)).commands,
  })
}
