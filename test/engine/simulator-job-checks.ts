import type { Selectable } from 'kysely'
import type { Tables } from '../../src/store/tables.ts'

type Rows = { [T in 'cron_fires' | 'outbox' | 'inbox' | 'runs' | 'events']: Selectable<Tables[T]>[] }

/** Each time of a job fires once, after the fire before it was over, and is delivered once. */
export function fires({ cron_fires, outbox, inbox, runs, events }: Rows, arrived: readonly number[]): string[] {
  const fired = cron_fires
    .filter(({ outcome }) => outcome === 'fired')
    .sort((a, b) => a.scheduled_at - b.scheduled_at)
    .map((fire) => ({ ...fire, key: `${fire.job_id}:${fire.scheduled_at}` }))
  const taken = (key: string) => inbox.filter(({ dedupe_key }) => dedupe_key === key).length
  const messagesOf = (key: string) => outbox.filter(({ dedupe_key }) => dedupe_key === `fire:${key}:0`)
  const told = (kind: string, runId: string) =>
    events.findIndex((event) => event.kind === kind && event.subject === `run:${runId}`)
  const begun = (runId: string) => events.findIndex((event) => event.subject === `run:${runId}`)
  const runsOf = (root: string | null) => runs.filter(({ root_run_id }) => root_run_id === root)
  // A request that was cancelled is over at once, and one that is tried again goes on after its fire.
  const isOver = ({ root_run_id, status }: (typeof fired)[number], next: (typeof fired)[number]) =>
    root_run_id === next.root_run_id ||
    status === 'cancelled' ||
    runsOf(root_run_id).some(({ via }) => via === 'retry') ||
    runsOf(root_run_id).every(({ id }) => told('run.ended', id) < begun(next.root_run_id ?? ''))
  const isEarly = (fire: (typeof fired)[number]) => {
    const before = fired.findLast(
      ({ job_id, scheduled_at }) => job_id === fire.job_id && scheduled_at < fire.scheduled_at,
    )
    return before !== undefined && !isOver(before, fire)
  }
  const times = (id: number) => arrived.filter((each) => each === id).length
  const isDelivered = ({ id, kind, state, attempts }: Rows['outbox'][number]) => {
    if (kind === 'session') return state === 'sent' && taken(`outbox:${id}`) === 1
    return state === 'dead' ? times(id) <= attempts : times(id) >= 1 && times(id) <= attempts
  }
  return [
    ...fired.filter(({ status }) => status === null).map(({ key }) => `fire ${key} is not over`),
    ...fired.filter(({ key }) => taken(`cron:${key}`) !== 1).map(({ key }) => `fire ${key} started not one request`),
    ...fired.filter(isEarly).map(({ key }) => `fire ${key} began before the one before it was over`),
    ...fired.filter(({ key }) => messagesOf(key).length !== 1).map(({ key }) => `fire ${key} has not one message`),
    ...outbox
      .filter((message) => !isDelivered(message))
      .map(({ id, state }) => `message ${id} is ${state}, not as sent`),
  ]
}
