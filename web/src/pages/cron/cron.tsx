import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { get, post } from '../../api/request.ts'
import type { Fire, Job, JobWeek } from '../../api/wire.ts'
import { Ago } from '../../parts/ago.tsx'
import { Button } from '../../parts/button.tsx'
import { EmptyState, Failure, Loading } from '../../parts/notice.tsx'
import { Page } from '../../parts/page.tsx'
import { Reference } from '../../parts/reference.tsx'
import { State, stateOf } from '../../parts/state.tsx'
import { formatTime, shortPath } from '../../text/format.ts'
import { withoutBidi } from '../../text/safe-text.ts'
import styles from './cron.module.css'
import { WeekLine } from './week-line.tsx'

const lastFires = 8

/** Jobs: seven days of each, when it fires next, what came of the last times, and a way to run it now. */
export default function Cron(): ReactNode {
  const jobs = useQuery({
    queryKey: ['runs', 'jobs'],
    queryFn: ({ signal }) => get<{ jobs: Job[] }>('/v1/jobs', {}, signal),
  })
  const fires = useQuery({
    queryKey: ['runs', 'fires'],
    queryFn: ({ signal }) => get<{ fires: Fire[] }>('/v1/fires', { limit: 500 }, signal),
  })
  const week = useQuery({
    queryKey: ['runs', 'job-week'],
    queryFn: ({ signal }) => get<JobWeek>('/v1/jobs/week', {}, signal),
  })
  const byJob = Map.groupBy(fires.data?.fires ?? [], ({ jobId }) => jobId)
  return (
    <Page title="Cron">
      {jobs.isPending && <Loading />}
      {jobs.error && <Failure error={jobs.error} onRetry={() => jobs.refetch()} />}
      {jobs.data?.jobs.length === 0 && <NoJobs />}
      <ul>
        {jobs.data?.jobs.map((job) => (
          <JobRow
            key={job.id}
            job={job}
            fires={(byJob.get(job.id) ?? []).slice(0, lastFires)}
            line={
              week.data && (
                <WeekLine week={week.data} hours={week.data.jobs.find(({ jobId }) => jobId === job.id)?.hours ?? []} />
              )
            }
          />
        ))}
      </ul>
    </Page>
  )
}

function JobRow({ job, fires, line }: { job: Job; fires: Fire[]; line: ReactNode }): ReactNode {
  const queries = useQueryClient()
  const act = useMutation({
    mutationFn: (action: 'run' | 'enable' | 'disable') =>
      action === 'run'
        ? post(`/v1/jobs/${job.id}/run`)
        : post(`/v1/jobs/${job.id}/enable`, { enabled: action === 'enable' }),
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['runs'] }),
  })
  return (
    <li className={styles['job']}>
      <div>
        <p>
          <strong>{withoutBidi(job.name)}</strong>{' '}
          <span className="mono quiet">
            {job.kind} {withoutBidi(job.spec)}
          </span>
        </p>
        <p className={styles['content']}>{withoutBidi(job.content)}</p>
        <p className="row quiet small">
          <span>
            {job.enabled ? (job.nextAt === null ? 'no time left' : `next ${formatTime(job.nextAt)}`) : 'turned off'}
          </span>
          {job.disabledReason !== undefined && (
            <span className={styles['warning']}>{withoutBidi(job.disabledReason)}</span>
          )}
          {job.agent !== undefined && <span>@{withoutBidi(job.agent)}</span>}
          <span>
            {withoutBidi(job.session)} in {withoutBidi(shortPath(job.folder))}
          </span>
        </p>
        {act.error && <Failure error={act.error} />}
      </div>
      <ol className={styles['fires']} aria-label="Last times, the newest first">
        {fires.map((fire) => (
          <li key={fire.scheduledAt}>
            <State
              name={
                fire.status === undefined ? (fire.runId === undefined ? 'cancelled' : 'running') : stateOf(fire.status)
              }
              word={fire.status ?? fire.outcome}
            />{' '}
            <Ago at={fire.at} /> {fire.runId !== undefined && <Reference to={`run:${fire.runId}`} />}
            {fire.reason !== undefined && <span className="quiet"> {withoutBidi(fire.reason)}</span>}
          </li>
        ))}
        {fires.length === 0 && <li className="quiet">not fired yet</li>}
      </ol>
      <div className={styles['actions']}>
        <Button disabled={act.isPending} onClick={() => act.mutate('run')}>
          Run now
        </Button>
        <Button look="quiet" disabled={act.isPending} onClick={() => act.mutate(job.enabled ? 'disable' : 'enable')}>
          {job.enabled ? 'Turn off' : 'Turn on'}
        </Button>
      </div>
      {line}
    </li>
  )
}

function NoJobs(): ReactNode {
  return (
    <EmptyState title="No jobs yet">
      <p>A job gives an agent work at certain times, or when something happens. Copy this into a terminal:</p>
      <pre>heddle cron add --every "weekday at 08:30" --message "summarise src"</pre>
    </EmptyState>
  )
}
