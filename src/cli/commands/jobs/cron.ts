import type { FireView, JobSettings, JobTimes, JobView } from '../../../api/views/job.ts'
import { UsageError } from '../../../domain/errors.ts'
import { shortId } from '../../../domain/id.ts'
import { jobCleanups, missedPolicies } from '../../../domain/jobs/job.ts'
import { thinkingLevels } from '../../../domain/message.ts'
import type { Client } from '../../../gateway/api.ts'
import type { CommandContext, CommandResult, Register } from '../../command.ts'
import { secondsFrom, wholeNumber } from '../../input/counts.ts'
import { formatMoment, formatNextTime } from '../../pages/format-job-times.ts'
import { paint, printable, table } from '../../terminal/screen.ts'
import { numberOf } from '../plan-number.ts'
import { waitsForDaemon, withDaemonHint } from './daemon-hint.ts'

const timesHelp = [
  '',
  'Times:  --at "in 20 min"    --at "18:00 tomorrow"    --at 2026-12-24T18:00',
  '        --every 20s    --every "15 min"    --every "weekday at 08:30"',
  '        --cron "30 8 * * 1-5" --tz Europe/Berlin    --on deploy.done',
  'A message is a task for an agent, which starts with an empty context each time.',
  'An event is news for the main session, or the one you name.',
  'Jobs run while heddle up is running. More in docs/guide/cron.md.',
].join('\n')

/** Work that starts by itself. */
export const registerCron: Register = (program, run) => {
  const list = run(async (here) => {
    const client = await here.client()
    const jobs = await client.jobs()
    const { jobsHeld } = await client.status(here.folder, here.clock.now())
    const held = jobsHeld ? [heldLine(here)] : []
    const empty = 'no jobs yet    heddle cron add --every "day at 08:30" --message "What is new in this folder?"'
    return { json: { jobs }, text: [...held, jobs.length > 0 ? jobTable(here, jobs) : empty].join('\n') }
  })
  const cron = program
    .command('cron')
    .helpGroup('SET UP')
    .description('scheduled jobs: list, add, run, history')
    .addHelpText('after', timesHelp)
    .action(list)
  cron.command('list').description('the jobs, the next one first').action(list)
  withSettings(cron.command('add').description('add a job; shows its next 5 times'))
    .option('--dry-run', 'only show the times')
    .addHelpText('after', timesHelp)
    .action(
      run(async (here, _args, options) => {
        const client = await here.client()
        const settings = settingsFrom(options)
        const preview = await showTimes(here, client, settings)
        if (options['dryRun'] === true) return { json: preview, text: 'nothing was saved' }
        const job = await client.addJob(here.folder, settings)
        return saved(here, job, `added job ${job.id}`)
      }),
    )
  withSettings(cron.command('edit <id>').description('change the given settings of a job')).action(
    run(async (here, [id = ''], options) => {
      const client = await here.client()
      const change = settingsFrom(options)
      if (Object.keys(change).length === 0)
        throw new UsageError('nothing to change', `heddle cron edit ${id} --every 2h`, 'missing_option')
      if (hasTimes(change)) await showTimes(here, client, change)
      return saved(here, await client.editJob(numberOf(id, 'job'), change), `changed job ${id}`)
    }),
  )
  cron
    .command('rm <id>')
    .description('remove a job; its history and sessions stay')
    .action(
      run(async (here, [id = '']) => {
        await (await here.client()).removeJob(numberOf(id, 'job'))
        return { json: { ok: true }, text: `removed job ${id}` }
      }),
    )
  for (const enabled of [true, false]) {
    const word = enabled ? 'enable' : 'disable'
    cron
      .command(`${word} <id>`)
      .description(enabled ? 'enable a job again' : 'disable a job until you enable it again')
      .action(
        run(async (here, [id = '']) =>
          saved(here, await (await here.client()).enableJob(numberOf(id, 'job'), enabled), `${word}d job ${id}`),
        ),
      )
  }
  cron
    .command('run <id>')
    .description('run a job now; its schedule does not change')
    .action(
      run(async (here, [id = '']) => {
        const fire = await (await here.client()).runJob(numberOf(id, 'job'))
        const text =
          fire.outcome === 'fired' ? await withDaemonHint(here, fireWords(fire), waitsForDaemon) : fireWords(fire)
        return { json: { ok: fire.outcome === 'fired', ...fire }, text, ...codeOf(fire) }
      }),
    )
  cron
    .command('history [id]')
    .description('past runs of jobs, newest first')
    .option('--limit <n>', 'at most this many', '50')
    .action(
      run(async (here, [id], options) => {
        const limit = wholeNumber(options['limit'], { what: 'number of fires' })
        const fires = await (await here.client()).fires({
          limit,
          ...(id !== undefined && { job: numberOf(id, 'job') }),
        })
        const none = id === undefined ? 'no job has fired yet' : `job ${numberOf(id, 'job')} has not fired yet`
        const text = fires.length > 0 ? table(here.screen, fires.map(fireRow), 4) : `${none}    heddle cron list`
        return { json: { fires }, text }
      }),
    )
  cron
    .command('resume')
    .description('resume the jobs that restoring a backup paused')
    .action(
      run(async (here) => {
        const { jobs } = await (await here.client()).resumeJobs()
        return {
          json: { ok: true, jobs },
          text: `jobs resumed: ${jobs} ${jobs === 1 ? 'waits for its' : 'wait for their'} time`,
        }
      }),
    )
  cron
    .command('outbox')
    .description('messages that jobs have sent or could not send')
    .option('--dead', 'only those that could not be delivered')
    .action(
      run(async (here, _args, options) => {
        const messages = await (await here.client()).outbox(options['dead'] === true ? { state: 'dead' } : {})
        const rows = messages.map((message) => [
          String(message.id),
          message.state,
          printable(message.to),
          printable(message.lastError ?? message.title),
        ])
        const empty =
          options['dead'] === true ? 'no failed messages' : 'nothing was sent yet    heddle cron add --deliver …'
        return { json: { messages }, text: messages.length > 0 ? table(here.screen, rows, 3) : empty }
      }),
    )
  cron
    .command('resend <message>')
    .description('send an undelivered message again')
    .action(
      run(async (here, [id = '']) => {
        await (await here.client()).retryMessage(numberOf(id, 'message'))
        return { json: { ok: true }, text: `message ${id} is sent again    heddle cron outbox` }
      }),
    )
}

function withSettings<C extends ReturnType<Parameters<Register>[0]['command']>>(command: C): C {
  command
    .option('--name <name>', 'its name (default: the first words of the message)')
    .option('--at <time>', 'once, at this time')
    .option('--every <interval>', 'repeat, such as 15min or "weekday at 08:30"')
    .option('--cron <fields>', 'minute hour day month weekday')
    .option('--on <event>', 'when this event is emitted: heddle event emit NAME')
    .option('--tz <zone>', 'time zone (default: cron.timezone, else that of this machine)')
    .option('--active <hours>', 'only within these hours, such as 08:00-22:00')
    .option('--message <text>', 'a task for an agent')
    .option('--event <text>', 'news for a session, whose agent decides what to do')
    .option('--agent <@name>', 'the agent that answers')
    .option('-m, --model <name>', 'the model that answers')
    .option('--think <level>', `how much it thinks: ${thinkingLevels.join(', ')}`)
    .option('--timeout <seconds>', 'max running time per run')
    .option('--session <where>', 'main, isolated, a label, persona:ID, or turn:ID to begin at that turn')
    .option('--deliver <where...>', 'where the answer goes: session:LABEL, notify, file:PATH, webhook:NAME')
    .option(
      '--missed <policy>',
      `for times missed while heddle was not up: ${missedPolicies.join(', ')} (default: once)`,
    )
    .option('--cleanup <what>', `after it has completed: ${jobCleanups.join(', ')}`)
    .option('--delete-after', 'remove it after it has completed: --cleanup delete')
    .option('--max-failures <n>', 'failures in a row after which it is disabled (default: 5)')
  return command
}

function settingsFrom(options: Record<string, unknown>): JobSettings {
  const texts = {
    ...{ name: 'name', at: 'at', every: 'every', cron: 'cron', on: 'on', tz: 'timezone', active: 'activeHours' },
    ...{ message: 'message', event: 'event', agent: 'agent', model: 'model', session: 'session' },
  }
  const given = Object.entries(texts).flatMap(([option, field]) =>
    options[option] === undefined ? [] : [[field, String(options[option])]],
  )
  const { think, timeout, deliver, missed, cleanup, deleteAfter, maxFailures } = options
  return {
    ...(Object.fromEntries(given) as JobSettings),
    ...(think !== undefined && { thinking: parseChoice(think, thinkingLevels, '--think') }),
    ...(timeout !== undefined && { timeoutSeconds: secondsFrom(timeout) }),
    ...(Array.isArray(deliver) && { deliver: deliver.map(String) }),
    ...(missed !== undefined && { missed: parseChoice(missed, missedPolicies, '--missed') }),
    ...(cleanup !== undefined && { cleanup: parseChoice(cleanup, jobCleanups, '--cleanup') }),
    ...(deleteAfter === true && { cleanup: 'delete' as const }),
    ...(maxFailures !== undefined && { maxFailures: wholeNumber(maxFailures, { what: 'number of failures' }) }),
  }
}

function parseChoice<T extends string>(value: unknown, known: readonly T[], option: string): T {
  const found = known.find((each) => each === value)
  if (found !== undefined) return found
  throw new UsageError(`${option} cannot be "${printable(String(value))}"`, `use ${known.join(', ')}`, 'bad_option')
}

function timesOf({ at, every, cron, on, timezone, activeHours }: JobSettings): JobTimes {
  const all = Object.entries({ at, every, cron, on, timezone, activeHours }).filter(([, value]) => value !== undefined)
  return Object.fromEntries(all)
}

function hasTimes({ at, every, cron, on }: JobSettings): boolean {
  return [at, every, cron, on].some((each) => each !== undefined)
}

/** Shows the next times before anything is saved, in the time zone of the job. */
async function showTimes(here: CommandContext, client: Client, settings: JobSettings) {
  const preview = await client.previewJob(timesOf(settings))
  if (!here.json) {
    const lines = preview.times.map((time) => `  ${formatMoment(time, preview.timezone)}`)
    here.tell(lines.length > 0 ? ['next runs:', ...lines].join('\n') : `runs when ${preview.spec} is emitted`)
  }
  return preview
}

async function saved(here: CommandContext, job: JobView, done: string): Promise<CommandResult> {
  const next = job.nextAt === null ? '' : `, ${formatNextTime(job, here.clock.now())}`
  const text = `${done} "${printable(job.name)}"${next}    heddle cron history ${job.id}`
  return {
    json: { ok: true, ...job },
    text: job.enabled
      ? await withDaemonHint(here, text, 'Jobs run only while heddle up is running, and it is not.')
      : text,
  }
}

function jobTable(here: CommandContext, jobs: JobView[]): string {
  const now = here.clock.now()
  return table(
    here.screen,
    jobs.map((job) => [
      String(job.id),
      printable(job.name),
      printable(`${job.kind} ${job.spec}${job.timezone === undefined ? '' : ` ${job.timezone}`}`),
      printable(job.session),
      job.enabled
        ? formatNextTime(job, now)
        : `disabled${job.disabledReason === undefined ? '' : `: ${job.disabledReason}`}`,
      job.lastStatus === undefined ? '' : `last ${job.lastStatus}`,
    ]),
    1,
  )
}

function fireRow(fire: FireView): string[] {
  const run = fire.runId === undefined ? '' : `run:${shortId(fire.runId)}`
  const status = fire.outcome === 'fired' ? (fire.status ?? 'working') : ''
  return [String(fire.jobId), formatMoment(fire.scheduledAt), fire.outcome, status, printable(fire.reason ?? ''), run]
}

function fireWords(fire: FireView): string {
  if (fire.outcome !== 'fired') return `job ${fire.jobId} was ${fire.outcome}: ${fire.reason ?? ''}    heddle ps`
  return `job ${fire.jobId} fires now    heddle cron history ${fire.jobId}`
}

function codeOf(fire: FireView): { code?: number } {
  return fire.outcome === 'fired' ? {} : { code: 1 }
}

function heldLine({ screen }: CommandContext): string {
  const text = 'jobs are paused, because this home was restored from a backup    heddle cron resume'
  return paint(screen, 'yellow', text)
}
