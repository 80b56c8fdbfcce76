import { again } from './corrupt.ts'
import type { planted } from './planted.ts'

const aFire = `id = (SELECT root_run_id FROM cron_fires)`

/** The same of what a job leaves. */
export const plantedInJobs: typeof planted = [
  ['I3', 'a job that was acknowledged and is gone', 'jobs', /is there 0 times/, `UPDATE cron_jobs SET name = 'other'`],
  ['I3', 'a job that never fired', 'jobs', /fired 0 times/, `DELETE FROM cron_fires`],
  [
    'I3',
    'a job that fired twice',
    'jobs',
    /fired 2 times/,
    again('cron_fires', 'true', `scheduled_at = 1, item_id = 'x'`),
  ],
  [
    'I3',
    'a fire that began two requests',
    'jobs',
    /began 2 requests/,
    again('runs', aFire, `id = 'x', root_run_id = 'x'`),
  ],
  ['I3', 'a fire that was closed too early', 'jobs', /before all of it/, `UPDATE cron_fires SET ended_at = 1`],
  ['I4', 'an answer that was never sent', 'jobs', /was sent 0 times/, `DELETE FROM outbox`],
  [
    'I4',
    'an answer that was sent twice',
    'jobs',
    /was sent 2 times/,
    again('outbox', 'true', `id = 9, dedupe_key = 'x'`),
  ],
  ['I4', 'an answer that waits for ever', 'jobs', /is left queued/, `UPDATE outbox SET state = 'queued', next_at = 1`],
  [
    'I4',
    'an answer that came to its session twice',
    'jobs',
    /came to its session 2 times/,
    again('inbox', `payload_json LIKE '%[Cron: %'`, `id = 'x', seq = 9999`),
  ],
]
