import { z } from 'zod'
import type { JobApp } from '../../api/jobs.ts'
import { jobCleanups, missedPolicies } from '../../domain/jobs/job.ts'
import { outboxStates } from '../../domain/jobs/outbox.ts'
import { thinkingLevels } from '../../domain/message.ts'
import { folder, label } from './fields.ts'
import { get, post, type RoutesOf } from './route.ts'

const words = () => z.string().max(200).exactOptional()

const times = { at: words(), every: words(), cron: words(), on: words(), timezone: words(), activeHours: words() }

const settings = {
  ...times,
  name: words(),
  message: z.string().max(100_000).exactOptional(),
  event: z.string().max(100_000).exactOptional(),
  session: label.exactOptional(),
  agent: words(),
  model: words(),
  thinking: z.enum(thinkingLevels).exactOptional(),
  timeoutSeconds: z.number().min(0).max(1_000_000).exactOptional(),
  deliver: z.array(z.string().max(4096)).max(10).exactOptional(),
  missed: z.enum(missedPolicies).exactOptional(),
  cleanup: z.enum(jobCleanups).exactOptional(),
  maxFailures: z.int().min(1).max(1000).exactOptional(),
}

const limit = z.coerce.number().int().min(1).max(1000).exactOptional()

export const jobRoutes: RoutesOf<JobApp> = {
  jobs: [
    get('jobs', {
      path: '/v1/jobs',
      summary: 'Jobs, the next to fire first.',
      answer: { key: 'jobs' },
      call: (app) => app.jobs(),
      fields: () => ({}),
    }),
  ],
  jobWeek: [
    get('jobWeek', {
      path: '/v1/jobs/week',
      summary: 'What became of the times of jobs in the last three days, and which come in the next four, by hour.',
      call: (app) => app.jobWeek(),
      fields: () => ({}),
    }),
  ],
  previewJob: [
    get('previewJob', {
      path: '/v1/jobs/preview',
      summary: 'The next times of a schedule, without saving anything.',
      input: z.strictObject(times),
      call: (app, { id: _, ...when }) => app.previewJob(when),
      fields: (when) => ({ ...when }),
    }),
  ],
  addJob: [
    post('addJob', {
      path: '/v1/jobs',
      summary: 'Adds a job, which fires from now on.',
      input: z.strictObject({ folder, ...settings }),
      call: (app, { id: _, folder: at, ...job }) => app.addJob(at, job),
      fields: (at, job) => ({ folder: at, ...job }),
    }),
  ],
  editJob: [
    post('editJob', {
      path: '/v1/jobs/:id',
      summary: 'Changes what is named of a job.',
      idForm: 'number',
      input: z.strictObject(settings),
      call: (app, { id, ...change }) => app.editJob(Number(id), change),
      fields: (id, change) => ({ id: String(id), ...change }),
    }),
  ],
  enableJob: [
    post('enableJob', {
      path: '/v1/jobs/:id/enable',
      summary: 'Lets a job fire again from now on, or no more.',
      idForm: 'number',
      input: z.strictObject({ enabled: z.boolean().default(true) }),
      call: (app, { id, enabled }) => app.enableJob(Number(id), enabled),
      fields: (id, enabled) => ({ id: String(id), enabled }),
    }),
  ],
  removeJob: [
    post('removeJob', {
      path: '/v1/jobs/:id/remove',
      summary: 'Removes a job; its history stays.',
      idForm: 'number',
      call: (app, { id }) => app.removeJob(Number(id)),
      fields: (id) => ({ id: String(id) }),
    }),
  ],
  runJob: [
    post('runJob', {
      path: '/v1/jobs/:id/run',
      summary: 'Fires a job now, besides its times.',
      idForm: 'number',
      call: (app, { id }) => app.runJob(Number(id)),
      fields: (id) => ({ id: String(id) }),
    }),
  ],
  fires: [
    get('fires', {
      path: '/v1/fires',
      summary: 'What happened at the times of jobs, newest first.',
      input: z.strictObject({ job: z.coerce.number().int().min(1).exactOptional(), limit }),
      answer: { key: 'fires' },
      call: (app, { id: _, ...filter }) => app.fires(filter),
      fields: (filter) => ({ ...filter }),
    }),
  ],
  emitEvent: [
    post('emitEvent', {
      path: '/v1/jobs/emit',
      summary: 'Emits an event: the jobs that wait for it fire.',
      input: z.strictObject({ name: z.string().max(200), data: z.string().max(100_000).exactOptional() }),
      answer: { key: 'fires' },
      call: (app, { name, data }) => app.emitEvent(name, data),
      fields: (name, data) => ({ name, ...(data !== undefined && { data }) }),
    }),
  ],
  resumeJobs: [
    post('resumeJobs', {
      path: '/v1/jobs/resume',
      summary: 'Resumes jobs and messages that restoring a backup paused.',
      call: (app) => app.resumeJobs(),
      fields: () => ({}),
    }),
  ],
  outbox: [
    get('outbox', {
      path: '/v1/outbox',
      summary: 'Messages that jobs send, newest first.',
      input: z.strictObject({ state: z.enum(outboxStates).exactOptional(), limit }),
      answer: { key: 'messages' },
      call: (app, { id: _, ...filter }) => app.outbox(filter),
      fields: (filter) => ({ ...filter }),
    }),
  ],
  retryMessage: [
    post('retryMessage', {
      path: '/v1/outbox/:id/retry',
      summary: 'Sends an undelivered message again.',
      idForm: 'number',
      call: (app, { id }) => app.retryMessage(Number(id)),
      fields: (id) => ({ id: String(id) }),
    }),
  ],
}
