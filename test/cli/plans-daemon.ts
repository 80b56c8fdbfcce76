import type { App } from '../../src/api/app.ts'
import type { ApprovalView } from '../../src/api/views/approval.ts'
import type { PlanView, ResultLine } from '../../src/api/views/plan.ts'
import { HeddleError } from '../../src/domain/errors.ts'
import type { Event, EventKind } from '../../src/domain/event.ts'
import type { TaskChange } from '../../src/domain/plan.ts'
import { serve } from '../../src/gateway/server.ts'
import { homePaths } from '../../src/home/home.ts'
import { systemClock } from '../../src/system.ts'
import { heddleOf } from '../setup/owner-app.ts'
import { taskView } from './plan-views.ts'

/** What a daemon knows; tests change it and tell the event. */
export interface Known {
  plans: PlanView[]
  results: ResultLine[]
  approvals: ApprovalView[]
}

/** A daemon of a home that answers from data: the real socket and routes, for the real program to ask. */
export async function serveData(home: string, known: Known) {
  const asked: unknown[] = []
  const events: Event[] = []
  let stir = Promise.withResolvers<void>()
  const happens = (kind: EventKind, subject: string) => {
    events.push({ cursor: String(events.length + 1), at: events.length, kind, subject, payload: {} })
    stir.resolve()
    stir = Promise.withResolvers()
  }
  const decided = Promise.withResolvers<unknown>()
  const allTasks = () => known.plans.flatMap(({ tasks }) => tasks)
  const find = <T extends { id: number }>(list: T[], name: string): T => {
    const found = list.find(({ id }) => id === Number(name.slice(name.indexOf(':') + 1)))
    if (!found) throw new HeddleError('not_found', `there is no ${name}`, 'heddle plans lists them')
    return found
  }
  const app = {
    plans: async ({ folder }: { folder?: string } = {}) =>
      known.plans.filter((each) => folder === undefined || each.folder === folder),
    tasks: async ({ plan, status }: { plan?: string; status?: string } = {}) =>
      allTasks().filter((each) => (!plan || `plan:${each.planId}` === plan) && (!status || each.status === status)),
    results: async ({ unprocessed }: { unprocessed?: boolean } = {}) =>
      known.results.filter(({ processed }) => !unprocessed || !processed),
    changeTask: async (name: string, change: TaskChange) => {
      asked.push([name, change])
      const task = find(allTasks(), name)
      if (change.action === 'skip') task.status = 'skipped'
      if (change.skill !== undefined) task.skill = change.skill
      happens('task.changed', name)
      return { id: task.id, status: task.status, runId: null }
    },
    cancel: async (name: string, reason: string) => {
      asked.push(['cancel', name, reason])
      return { id: name.slice(name.indexOf(':') + 1), state: 'cancelled' }
    },
    retry: async (name: string) => {
      asked.push(['retry', name])
      return { runId: null }
    },
    show: async (_: string, name: string) => {
      if (name.startsWith('plan:')) return find(known.plans, name)
      if (name.startsWith('task:')) return taskView(find(allTasks(), name), `the brief of ${name}\nin two lines`)
      return { budget: { request: { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0.02 } } }
    },
    runs: async () => ({ rows: [] }),
    sessions: async () => ({ rows: [] }),
    countSessions: async () => 0,
    log: async () => [],
    agents: async () => [],
    agentRegistry: async () => ({ version: 0, registry: { version: 1, agents: [] } }),
    checkAgent: async () => undefined,
    grants: async () => [],
    personas: async () => [],
    approvals: async () => known.approvals,
    decide: async (name: string, said: unknown) => {
      known.approvals = []
      decided.resolve(said)
      happens('approval.answered', `approval:${name}`)
      return { id: Number(name), runId: 'run1', session: 'main', folder: '/', itemId: 'item' }
    },
    submit: async () => ({ itemId: 'item', runId: null, session: 'main' }),
    answer: async (folder: string) => {
      const base = { turnId: null, turns: [], runId: null, session: 'main', folder, text: '' }
      const usage = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, costUsd: 0 }
      const rest = { ...base, model: { requested: null, actual: null }, usage }
      if (known.approvals.length > 0)
        return { ...rest, ok: false, status: 'waiting', approvals: known.approvals.map(({ id }) => id) }
      return { ...rest, ok: true, status: 'completed', text: 'the plan is under way' }
    },
    status: async (folder: string) => ({
      folder,
      session: 'main',
      model: null,
      needsYou: [],
      running: 0,
      queued: 0,
      spentTodayUsd: 0,
      estimatedTodayUsd: 0,
      lostTodayUsd: 0,
      reservedTodayUsd: 0,
      dayLimitUsd: 20,
      sinceLast: [],
      nextFires: [],
    }),
    cursor: async () => events.at(-1)?.cursor ?? null,
    events: async () => [],
    async *follow({ after, signal }: { after?: string; signal: AbortSignal }) {
      let at = Number(after ?? 0)
      const gone = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      while (!signal.aborted) {
        const event = events[at]
        if (event) {
          at++
          yield event
        } else await Promise.race([stir.promise, gone])
      }
    },
  } as unknown as App
  const server = await serve(heddleOf(app), {
    runFolder: homePaths(home).run,
    health: { pid: process.pid, version: '0', since: '2026-01-01T00:00:00.000Z' },
    clock: systemClock,
    onError: (error) => {
      throw error
    },
  })
  return { asked, happens, decided: decided.promise, stop: () => server.stop() }
}
