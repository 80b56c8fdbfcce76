import type { JobApp } from '../../api/jobs.ts'
import type { JobSettings } from '../../api/views/job.ts'
import type { Checks, RulesOf } from './rule.ts'

export const jobRules: RulesOf<JobApp> = {
  jobs: { action: 'job.list' },
  jobWeek: { action: 'job.list' },
  previewJob: { action: 'job.list' },
  addJob: {
    action: 'job.change',
    async args(checks, folder, settings) {
      const at = await checks.folder(folder)
      return [at, await asNamed(checks, at, settings)]
    },
    about: (_, { name = '' }) => `job:${name}`,
    text: (_, { message, event }) => message ?? event,
  },
  editJob: {
    action: 'job.change',
    async args(checks, id, settings) {
      const folder = await checks.job(id)
      return [id, await asNamed(checks, folder, settings)]
    },
    about: (id) => `job:${id}`,
    text: (_, { message, event }) => message ?? event,
  },
  enableJob: { action: 'job.change', args: ownJob, about: (id) => `job:${id}` },
  removeJob: { action: 'job.change', args: ownJob, about: (id) => `job:${id}` },
  runJob: { action: 'job.change', args: ownJob, about: (id) => `job:${id}` },
  fires: {
    action: 'job.list',
    async args(checks, filter) {
      if (filter?.job !== undefined) await checks.job(filter.job)
      return [filter]
    },
  },
  emitEvent: { action: 'job.emit', about: (name) => `event:${name}`, text: (_, data) => data },
  resumeJobs: { action: 'job.resume' },
  outbox: { action: 'job.list' },
  retryMessage: {
    action: 'job.change',
    async args(checks, id) {
      await checks.message(id)
      return [id]
    },
    about: (id) => `message:${id}`,
  },
}

async function ownJob<Rest extends unknown[]>(checks: Checks, id: number, ...rest: Rest): Promise<[number, ...Rest]> {
  await checks.job(id)
  return [id, ...rest]
}

/** A job's turn is checked as every other; labels are the principal's own when it fires. */
async function asNamed(checks: Checks, folder: string, settings: JobSettings): Promise<JobSettings> {
  const { session } = settings
  if (!session?.startsWith('turn:')) return settings
  return { ...settings, session: await checks.named(session, folder) }
}
