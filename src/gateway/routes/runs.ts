import { z } from 'zod'
import type { App } from '../../api/app.ts'
import type { RunApp } from '../../api/runs.ts'
import type { RequestAnswer } from '../../api/views/question.ts'
import { spendingKeys } from '../../api/views/run.ts'
import { maxOuterRef } from '../../domain/inbox.ts'
import { permissions } from '../../domain/persona.ts'
import { runOptions } from '../../domain/run-options.ts'
import { countInQuery, flag, folder, label, page, part, target } from './fields.ts'
import { get, idIn, post, type RequestContext, type RoutesOf } from './route.ts'

const maxWaitSeconds = 60

const question = z.strictObject({
  folder,
  session: target,
  content: z.string(),
  parts: z.array(part).max(100).exactOptional(),
  kind: z.enum(['message', 'steer', 'interrupt']).exactOptional(),
  ...runOptions().omit({ timeoutMs: true, deadline: true, ceiling: true, permissions: true, delegation: true }).shape,
  priority: z.int().min(-1000).max(1000).exactOptional(),
  from: label.exactOptional(),
  persona: label.exactOptional(),
  permissions: permissions().exactOptional(),
  timeoutSeconds: z.number().nonnegative().max(1_000_000).exactOptional(),
  dedupeKey: z.string().min(1).max(200).exactOptional(),
  outerRef: z.string().min(1).max(maxOuterRef).exactOptional(),
})
const reason = z.strictObject({ reason: z.string().max(1000).exactOptional() })

export const runRoutes: RoutesOf<RunApp> = {
  submit: [
    post('submit', {
      path: '/v1/inputs',
      summary: 'Queues an input for a session; durable when answered.',
      input: question,
      status: 202,
      call: (app, { folder, id: _, ...question }) => app.submit(folder, question),
      fields: (folder, question) => ({ folder, ...question }),
    }),
  ],
  answer: [
    get('answer', {
      path: '/v1/inputs/:id/answer',
      summary: 'The answer to an input; waits up to `wait` seconds for it.',
      input: z.strictObject({ folder, wait: z.coerce.number().min(0).max(maxWaitSeconds).default(0) }),
      call: (app, { folder, id, wait }, request) => answerWithin(app, { folder, id, wait }, request),
      fields: (folder, id) => ({ folder, id }),
    }),
  ],
  runs: [
    get('runs', {
      path: '/v1/runs',
      summary: 'Runs that are not over yet; with `all`, the others too.',
      input: z.strictObject({
        all: flag.default(false),
        folder: folder.exactOptional(),
        requestsOf: label.exactOptional(),
        root: z.string().max(100).exactOptional(),
        agent: z.string().max(200).exactOptional(),
        failed: flag.exactOptional(),
        ...page,
      }),
      answer: { rows: 'runs' },
      call: (app, { id: _, ...filter }) => app.runs(filter),
      fields: (filter = {}) => ({ ...filter }),
    }),
  ],
  cancel: [
    post('cancel', {
      path: '/v1/plans/:id/cancel',
      summary: 'Cancels a plan with all its tasks.',
      idForm: 'number',
      input: reason,
      call: (app, { id, reason }) => app.cancel(`plan:${id}`, reason),
      fields: (reference, reason) =>
        reference.startsWith('plan:') ? { id: reference.slice('plan:'.length), reason } : undefined,
    }),
    post('cancel', {
      path: '/v1/tasks/:id/cancel',
      summary: 'Cancels a task with its run.',
      idForm: 'number',
      input: reason,
      call: (app, { id, reason }) => app.cancel(`task:${id}`, reason),
      fields: (reference, reason) =>
        reference.startsWith('task:') ? { id: reference.slice('task:'.length), reason } : undefined,
    }),
    post('cancel', {
      path: '/v1/runs/:id/cancel',
      summary: 'Cancels a run with all runs that it started.',
      input: reason,
      call: (app, { id, reason }) => app.cancel(id, reason),
      fields: (reference, reason) => ({ id: idIn(reference, 'run') ?? reference, reason }),
    }),
  ],
  retry: [
    post('retry', {
      path: '/v1/tasks/:id/retry',
      summary: 'Runs a failed task again.',
      idForm: 'number',
      status: 202,
      call: (app, { id }) => app.retry(`task:${id}`),
      fields: (reference) => (reference.startsWith('task:') ? { id: reference.slice('task:'.length) } : undefined),
    }),
    post('retry', {
      path: '/v1/runs/:id/retry',
      summary: "Runs a run's inputs again.",
      status: 202,
      call: (app, { id }) => app.retry(id),
      fields: (reference) => ({ id: idIn(reference, 'run') ?? reference }),
    }),
  ],
  undo: [
    post('undo', {
      path: '/v1/runs/:id/undo',
      summary: 'Restores the files that a run and its descendants changed.',
      input: z.strictObject({ dryRun: z.boolean().default(false) }),
      answer: 'plain',
      call: (app, { id, dryRun }) => app.undo(id, { dryRun }),
      fields: (run, options = {}) => ({ id: idIn(run, 'run') ?? run, ...options }),
    }),
  ],
  usage: [
    get('usage', {
      path: '/v1/usage',
      summary: 'What was spent, by model, session, agent, day or run.',
      input: z.strictObject({ by: z.enum(spendingKeys).default('model'), today: flag.default(false), ...page }),
      call: (app, { by, id: _, ...options }) => app.usage(by, options),
      fields: (by, options = {}) => ({ by, ...options }),
    }),
  ],
  usageByDay: [
    get('usageByDay', {
      path: '/v1/usage/days',
      summary: 'What was spent on each of the last days, by model; oldest first.',
      input: z.strictObject({ days: countInQuery.default(30) }),
      answer: { key: 'days' },
      call: (app, { days }) => app.usageByDay(days),
      fields: (days) => ({ days }),
    }),
  ],
  runSteps: [
    get('runSteps', {
      path: '/v1/runs/:id/steps',
      summary: 'What a run did, step by step with the words, and its model calls.',
      call: (app, { id }) => app.runSteps(id),
      fields: (run) => ({ id: idIn(run, 'run') ?? run }),
    }),
  ],
  status: [
    get('status', {
      path: '/v1/status',
      summary: 'State of a folder, and its turns since a time in milliseconds.',
      input: z.strictObject({ folder, since: z.coerce.number().int().min(0).default(0) }),
      call: (app, { folder, since }) => app.status(folder, since),
      fields: (folder, since) => ({ folder, since }),
    }),
  ],
}

/** Waits for an answer until the time is up or the client hangs up; the status is then 'waiting'. */
async function answerWithin(
  app: Pick<App, 'answer'>,
  { folder, id, wait }: { folder: string; id: string; wait: number },
  { clock, gone }: RequestContext,
): Promise<RequestAnswer> {
  // Refuse an unknown input at once instead of waiting for it.
  const now = await app.answer(folder, id, AbortSignal.abort())
  if (wait === 0) return now
  const timedOut = new AbortController()
  const stop = AbortSignal.any([timedOut.signal, gone()])
  void clock.sleep(wait * 1000, stop).then(() => timedOut.abort())
  try {
    return await app.answer(folder, id, stop)
  } finally {
    timedOut.abort()
  }
}
