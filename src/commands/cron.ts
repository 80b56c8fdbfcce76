import { shortId } from '../domain/id.ts'
import { defineCommand } from './command.ts'
import { tableOutcome, textOutcome } from './outcome.ts'

const maxListed = 20

export const cronCommands = [
  defineCommand({
    name: 'cron',
    usage: '/cron',
    summary: 'scheduled jobs, the next one first',
    example: '/cron',
    action: 'job.list',
    run: async ({ app }) =>
      tableOutcome(await app.jobs(), {
        columns: {
          job: ({ id }) => id,
          name: ({ name }) => name,
          when: ({ spec, timezone }) => (timezone === undefined ? spec : `${spec} ${timezone}`),
          next: ({ enabled, nextAt, disabledReason }) => (enabled ? nextAt : (disabledReason ?? 'disabled')),
          last: ({ lastStatus }) => lastStatus,
        },
        wide: 'name',
        empty: 'no jobs yet    heddle cron add --every "weekday at 08:30" --message "…"',
      }),
  }),
  defineCommand({
    name: 'cron run',
    usage: '/cron run job',
    summary: 'run a job now; its schedule does not change',
    example: '/cron run 3',
    action: 'job.change',
    parse: (words) => words.number('job'),
    async run({ app }, id) {
      const { runId, outcome, reason } = await app.runJob(id)
      if (outcome !== 'fired') return textOutcome(`job ${id} was not fired: ${reason ?? outcome}`)
      return textOutcome(`job ${id} fires`, runId === undefined ? {} : { next: `/show run:${shortId(runId)}` })
    },
  }),
  defineCommand({
    name: 'cron enable',
    usage: '/cron enable job',
    summary: 'enable a job again',
    example: '/cron enable 3',
    action: 'job.change',
    parse: (words) => words.number('job'),
    async run({ app }, id) {
      const { nextAt } = await app.enableJob(id, true)
      return textOutcome(`job ${id} is enabled${nextAt === null ? '' : `, next at ${nextAt}`}`)
    },
  }),
  defineCommand({
    name: 'cron disable',
    usage: '/cron disable job',
    summary: 'disable a job',
    example: '/cron disable 3',
    action: 'job.change',
    parse: (words) => words.number('job'),
    async run({ app }, id) {
      await app.enableJob(id, false)
      return textOutcome(`job ${id} is disabled`, { next: `/cron enable ${id}` })
    },
  }),
  defineCommand({
    name: 'cron history',
    usage: '/cron history [job]',
    summary: 'past runs of jobs, newest first',
    example: '/cron history 3',
    action: 'job.list',
    parse: (words) => words.optionalNumber('job'),
    run: async ({ app }, job) =>
      tableOutcome(await app.fires({ limit: maxListed, ...(job !== undefined && { job }) }), {
        columns: {
          job: ({ jobId }) => jobId,
          time: ({ scheduledAt }) => scheduledAt,
          outcome: ({ outcome, status }) => status ?? outcome,
          run: ({ runId }) => (runId === undefined ? '' : `run:${shortId(runId)}`),
          why: ({ reason }) => reason,
        },
        wide: 'why',
        empty: `${job === undefined ? 'no job has fired' : `job ${job} has not fired`} yet    /cron`,
      }),
  }),
]
