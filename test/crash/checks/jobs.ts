import type { Evidence, Row } from '../evidence.ts'
import { type Expect, json } from '../facts.ts'

/**
 * I3, I4: every job that was acknowledged has fired once, for one request, which ended with all that it started; its answer
 * was sent once, and came to its session once.
 */
export function checkJobs(evidence: Evidence, expect: Expect): void {
  const { rows, scheduled } = evidence
  for (const { scheduled: name } of scheduled) {
    const jobs = rows.cron_jobs.filter((job) => job['name'] === name)
    expect(jobs.length === 1, 'I3', `the job "${name}" was acknowledged, and is there ${jobs.length} times`)
  }
  for (const job of rows.cron_jobs) checkFires(evidence, job, expect)
  for (const message of rows.outbox) checkMessage(evidence, message, expect)
}

function checkFires({ rows }: Evidence, job: Row, expect: Expect): void {
  const name = `the job "${job['name']}"`
  const fires = rows.cron_fires.filter((fire) => fire['job_id'] === job['id'] && fire['outcome'] === 'fired')
  expect(fires.length === 1, 'I3', `${name} fired ${fires.length} times`)
  const begun = rows.runs.filter((run) => run['kind'] === 'cron' && run['id'] === run['root_run_id'])
  const own = begun.filter((run) => rows.sessions.some(isOwn(run, `cron:${job['id']}`)))
  expect(own.length === fires.length, 'I3', `${name} fired ${fires.length} times, and began ${own.length} requests`)
  for (const fire of fires) {
    const rest = rows.runs.filter((run) => run['root_run_id'] === fire['root_run_id'])
    const last = Math.max(...rest.map((run) => Number(run['finished_at'])))
    const isAtRest = fire['status'] === 'completed' && Number(fire['ended_at']) >= last
    expect(isAtRest, 'I3', `${name} was closed as ${fire['status']} before all of it had ended`)
    const sent = rows.outbox.filter((message) => message['run_id'] === fire['root_run_id'])
    expect(sent.length === 1, 'I4', `the answer of ${name} was sent ${sent.length} times`)
  }
}

function checkMessage({ rows }: Evidence, message: Row, expect: Expect): void {
  const name = `message ${message['id']}`
  expect(message['state'] === 'sent', 'I4', `${name} is left ${message['state']}`)
  const told = rows.inbox.filter((item) => json(item, 'payload_json').content.includes(message['title']))
  expect(told.length === 1, 'I4', `${name} came to its session ${told.length} times`)
}

function isOwn(run: Row, label: string) {
  return (session: Row) => session['id'] === run['session_id'] && session['label'] === label
}
