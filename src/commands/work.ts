import { spendingKeys } from '../api/views/run.ts'
import { shortId } from '../domain/id.ts'
import { type TaskStatus, taskStatuses } from '../domain/plan.ts'
import { shortLabel } from '../domain/session.ts'
import { defineCommand } from './command.ts'
import { tableOutcome } from './outcome.ts'

const maxListed = 30

/** Commands about work under way: runs, plans, tasks, and what they cost. */
export const workCommands = [
  defineCommand({
    name: 'runs',
    usage: '/runs [--all]',
    summary: 'unfinished runs; with --all recent ones too',
    example: '/runs --all',
    action: 'run.list',
    parse: (words) => words.flags(['--all']).size > 0,
    run: async ({ app }, isAll) =>
      tableOutcome((await app.runs({ all: isAll, limit: maxListed })).rows, {
        columns: {
          run: ({ id, depth }) => `${'  '.repeat(Math.min(depth, 3))}run:${shortId(id)}`,
          state: ({ state, waitingFor }) => (waitingFor === undefined ? state : `${state} for ${waitingFor}`),
          agent: ({ agent }) => (agent === undefined ? '' : `@${agent}`),
          session: ({ session }) => session && shortLabel(session),
          doing: ({ doing }) => doing,
          usd: ({ costUsd, estimatedUsd }) => costUsd + estimatedUsd,
        },
        wide: 'doing',
        empty: isAll ? 'no runs yet: one starts with your first message' : 'nothing is running    /runs --all',
      }),
  }),
  defineCommand({
    name: 'plans',
    usage: '/plans',
    summary: 'the plans of this folder, newest first',
    example: '/plans',
    action: 'plan.list',
    async run({ app, folder }) {
      const plans = (await app.plans({ folder })).slice(0, maxListed)
      return tableOutcome(plans, {
        columns: {
          plan: ({ id }) => `plan:${id}`,
          status: ({ status }) => status,
          title: ({ title }) => title,
          tasks: ({ counts }) =>
            Object.entries(counts)
              .map(([status, count]) => `${count} ${status}`)
              .join(', '),
          made: ({ createdAt }) => createdAt,
        },
        wide: 'title',
        empty: 'no plans yet: ask for something with several parts',
        next: `/show plan:${plans[0]?.id}    /tasks plan:${plans[0]?.id}`,
      })
    },
  }),
  defineCommand({
    name: 'tasks',
    usage: '/tasks [plan] [status]',
    summary: 'the tasks of a plan, or the last ones of all',
    example: '/tasks plan:1 failed',
    action: 'plan.list',
    parse(words) {
      const plan = words.optionalWord()
      const isStatus = plan !== undefined && taskStatuses.some((known) => known === plan)
      const status = isStatus ? (plan as TaskStatus) : words.optionalChoice(taskStatuses, 'status of a task')
      return { ...(plan !== undefined && !isStatus && { plan }), ...(status && { status }) }
    },
    run: async ({ app }, filter) =>
      tableOutcome((await app.tasks(filter)).slice(-maxListed), {
        columns: {
          task: ({ id }) => `task:${id}`,
          plan: ({ planId }) => `plan:${planId}`,
          status: ({ status }) => status,
          agent: ({ skill }) => `@${skill}`,
          title: ({ title }) => title,
        },
        wide: 'title',
        empty: 'no such tasks    /plans',
      }),
  }),
  defineCommand({
    name: 'usage',
    usage: '/usage [by]',
    summary: `what was spent, by ${spendingKeys.slice(0, -1).join(', ')} or ${spendingKeys.at(-1)}`,
    example: '/usage session',
    action: 'run.usage',
    parse: (words) => words.optionalChoice(spendingKeys, 'key') ?? 'model',
    async run({ app }, by) {
      const { rows, total } = await app.usage(by, { limit: maxListed })
      return tableOutcome([...rows, ...(rows.length > 1 ? [{ ...total, key: 'total' }] : [])], {
        columns: {
          [by]: ({ key }) => shortLabel(key),
          in: ({ inputTokens, estimatedInputTokens }) => inputTokens + estimatedInputTokens,
          out: ({ outputTokens, estimatedOutputTokens }) => outputTokens + estimatedOutputTokens,
          calls: ({ calls }) => calls,
          usd: ({ costUsd, estimatedUsd }) => costUsd + estimatedUsd,
        },
        wide: by,
        empty: 'nothing was spent yet',
      })
    },
  }),
]
