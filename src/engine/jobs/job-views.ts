import type { FireView, JobView, MessageView } from '../../api/views/job.ts'
import type { Millis } from '../../domain/clock.ts'
import { deliveryText, type Fire, type Job } from '../../domain/jobs/job.ts'
import type { OutboxMessage } from '../../domain/jobs/outbox.ts'
import type { Schedule } from '../../domain/jobs/schedule.ts'

export function viewJob(job: Job): JobView {
  const { agent, model } = job.options
  return {
    id: job.id,
    name: job.name,
    ...viewSchedule(job.schedule),
    ...(job.activeHours && {
      activeHours: `${job.activeHours.from}-${job.activeHours.to}`,
      ...(job.schedule.kind !== 'cron' && { timezone: job.activeHours.timezone }),
    }),
    folder: job.folder,
    session: sessionText(job),
    payload: job.payload,
    content: job.content,
    ...(agent !== undefined && { agent }),
    ...(model !== undefined && { model }),
    deliver: job.deliver.map(deliveryText),
    missed: job.missed,
    cleanup: job.cleanup,
    enabled: job.isEnabled,
    ...(job.disabledReason !== null && { disabledReason: job.disabledReason }),
    failures: job.failures,
    nextAt: job.nextAt === null ? null : iso(job.nextAt),
    ...(job.lastAt !== null && { lastAt: iso(job.lastAt) }),
    ...(job.lastStatus !== null && { lastStatus: job.lastStatus }),
    principal: job.principal,
    createdAt: iso(job.createdAt),
  }
}

export function viewSchedule(schedule: Schedule): Pick<JobView, 'kind' | 'spec' | 'timezone'> {
  const { kind } = schedule
  if (kind === 'at') return { kind, spec: iso(schedule.at) }
  if (kind === 'every') return { kind, spec: intervalText(schedule.every) }
  if (kind === 'event') return { kind, spec: schedule.name }
  return { kind, spec: schedule.expression, timezone: schedule.timezone }
}

export function viewFire(fire: Omit<Fire, 'itemId' | 'endedAt'>): FireView {
  return {
    jobId: fire.jobId,
    scheduledAt: iso(fire.scheduledAt),
    at: iso(fire.at),
    outcome: fire.outcome,
    ...(fire.reason !== null && { reason: fire.reason }),
    ...(fire.rootRunId !== null && { runId: fire.rootRunId }),
    ...(fire.status !== null && { status: fire.status }),
  }
}

export function viewMessage(message: OutboxMessage): MessageView {
  return {
    id: message.id,
    to: deliveryText(message),
    title: message.title,
    ...(message.jobId !== null && { jobId: message.jobId }),
    state: message.state,
    attempts: message.attempts,
    ...(message.nextAt !== null && { nextAt: iso(message.nextAt) }),
    ...(message.lastError !== null && { lastError: message.lastError }),
    createdAt: iso(message.createdAt),
    ...(message.sentAt !== null && { sentAt: iso(message.sentAt) }),
  }
}

function sessionText({ session }: Job): string {
  if (session.kind === 'label') return session.label
  return session.fromTurn === undefined ? 'isolated' : `turn:${session.fromTurn}`
}

function intervalText(every: Millis): string {
  if (every % 3_600_000 === 0) return `${every / 3_600_000}h`
  return every % 60_000 === 0 ? `${every / 60_000}min` : `${every / 1000}s`
}

function iso(moment: Millis): string {
  return new Date(moment).toISOString()
}
