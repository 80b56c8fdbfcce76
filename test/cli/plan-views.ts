import type { PlanView, TaskLine, TaskView } from '../../src/api/views/plan.ts'

/** A task of plan 1 that nobody has begun. */
export function task(id: number, more: Partial<TaskLine> = {}): TaskLine {
  return {
    id,
    planId: 1,
    key: `t${id}`,
    title: `task number ${id}`,
    skill: 'researcher',
    model: null,
    dependsOn: [],
    status: 'pending',
    attempts: 0,
    ...more,
  }
}

/** A plan under way, counted from its tasks. */
export function plan(tasks: TaskLine[], more: Partial<PlanView> = {}): PlanView {
  const counts: PlanView['counts'] = {}
  for (const { status } of tasks) counts[status] = (counts[status] ?? 0) + 1
  return {
    kind: 'plan',
    id: 1,
    title: 'survey the shop',
    status: 'running',
    session: 'main',
    folder: '/shop',
    counts,
    createdAt: '2026-01-01T00:00:00.000Z',
    finishedAt: null,
    goal: null,
    revision: 1,
    runId: '06b0000000000000007k2m',
    tasks,
    ...more,
  }
}

export function taskView(line: TaskLine, context: string): TaskView {
  return { ...line, kind: 'task', plan: 'survey the shop', context, briefHash: 'h', results: [], narratives: [] }
}

const done = (id: number, title: string, seconds: number, summary: string, resultId: number) =>
  task(id, { title, status: 'completed', attempts: 1, seconds, summary, resultId, runId: `run${id}` })

/** The survey of the first five minutes, two tasks in. */
export const survey = plan([
  done(1, 'summarise src/api', 1.2, '12 files, 31 exports, 4 TODO', 2),
  done(2, 'summarise src/web', 1.4, '20 files, 44 exports, 9 TODO', 3),
  task(3, {
    title: 'summarise src/db',
    status: 'running',
    attempts: 1,
    seconds: 0.8,
    doing: 'read_file src/db/migrate.ts',
    runId: 'run3',
  }),
  task(4, { title: 'write REPORT.md', skill: 'writer', dependsOn: [1, 2, 3] }),
  task(5, { title: 'check every number', skill: 'code-review', dependsOn: [4] }),
])
