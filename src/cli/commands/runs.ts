import { type RunLine, spendingKeys } from '../../api/views/run.ts'
import type { Millis } from '../../domain/clock.ts'
import { UsageError } from '../../domain/errors.ts'
import { shortId } from '../../domain/id.ts'
import { parseReference } from '../../domain/reference.ts'
import type { Register } from '../command.ts'
import { moreLine, pageOptions, readPages } from '../input/pages.ts'
import { inThousands } from '../pages/answer-page.ts'
import { formatUntil } from '../pages/format-job-times.ts'
import { formatLost, spendingNotes, spendingRow } from '../pages/format-spending.ts'
import { printable, table } from '../terminal/screen.ts'

const cancelTimeout: Millis = 5000
/** Finished runs that `ps --all` shows. */
const lastRuns = 50
/** Rows of `usage` on screen. */
const screenRows = 30

export const registerRuns: Register = (program, run) => {
  program
    .command('ps')
    .helpGroup('SEE')
    .description('list queued, running and waiting runs')
    .option('-a, --all', 'also recently finished runs')
    .option('--limit <n>', `at most the last n; 0 for all (default: ${lastRuns} with --all, else all)`)
    .option('--after <cursor>', 'continue with those older than this cursor, the `next` of an earlier page')
    .action(
      run(async (here, _args, options) => {
        const client = await here.client()
        const all = options['all'] === true
        const { rows: runs, ...more } = await readPages((page) => client.runs({ all, ...page }), {
          ...pageOptions(options, all ? lastRuns : 0, 'runs'),
          newest: 'last',
        })
        const text =
          runs.length > 0
            ? [...moreLine(more, all ? 'heddle ps --all' : 'heddle ps'), table(here.screen, runs.map(row), 4)].join(
                '\n',
              )
            : all
              ? 'no runs yet    heddle ask "…"'
              : 'nothing is running    heddle ask "…", heddle ps --all'
        const { nextFires } = await client.status(here.folder, here.clock.now())
        const next = nextFires.map(
          ({ name, at }) => `${printable(name)} ${formatUntil(Date.parse(at) - here.clock.now())}`,
        )
        const jobs = next.length > 0 ? [`next jobs: ${next.join(', ')}    heddle cron`] : []
        return { json: { runs, ...more, nextFires }, text: [text, ...jobs].join('\n') }
      }),
    )

  program
    .command('usage')
    .helpGroup('SEE')
    .description('tokens and money; ~ marks an estimate')
    .option('--by <key>', spendingKeys.join(', '), 'model')
    .option('--today', 'only today (UTC)')
    .option('--limit <n>', `at most the last n rows; 0 for all (default: all in JSON, ${screenRows} on screen)`)
    .option('--after <cursor>', 'continue with rows older than this cursor, the `next` of an earlier page')
    .action(
      run(async (here, _args, options) => {
        const by = spendingKeys.find((known) => known === options['by'])
        if (!by)
          throw new UsageError(`usage cannot be grouped by "${options['by']}"`, `use --by ${spendingKeys.join(', ')}`)
        const client = await here.client()
        const today = options['today'] === true
        const page = pageOptions(options, here.json ? 0 : screenRows, 'rows')
        const { rows, total, ...more } = await readPages((part) => client.usage(by, { today, ...part }), {
          ...page,
          newest: 'last',
        })
        const lines = [...rows, { key: 'total', ...total }].map((each) =>
          spendingRow({ ...each, key: printable(each.key) }),
        )
        const command = `heddle usage --by ${by}${today ? ' --today' : ''}`
        const text = [...moreLine(more, command), table(here.screen, lines, 0), ...spendingNotes(total)].join('\n')
        return { json: { rows, total, ...more }, text }
      }),
    )

  program
    .command('cancel <ref>')
    .helpGroup('DECIDE')
    .description('stop a run, a task or a plan; its work so far is kept')
    .option('--reason <text>', 'reason, stored with the turn', 'cancelled by the user')
    .addHelpText(
      'after',
      '\nExamples: heddle cancel run:4c1e07    heddle cancel task:3\n          heddle cancel plan:1',
    )
    .action(
      run(async (here, [name = ''], options) => {
        const client = await here.client()
        const reason = String(options['reason'])
        let now = await client.cancel(name, reason)
        const deadline = here.clock.monotonic() + cancelTimeout
        while (now.state === 'running' && here.clock.monotonic() < deadline) {
          await here.clock.sleep(100)
          now = await client.cancel(isPlanned(name) ? name : now.id, reason)
        }
        const what = isPlanned(name) ? printable(name) : `run:${shortId(now.id)}`
        return { json: { ok: true, ...now }, text: `${what} is ${now.state}` }
      }),
    )

  program
    .command('retry <ref>')
    .helpGroup('DECIDE')
    .description('retry a finished run or a failed task; keeps the old turn')
    .addHelpText('after', '\nExamples: heddle retry run:4c1e07    heddle retry task:3')
    .action(
      run(async (here, [name = '']) => {
        const { kind, id } = parseReference(name)
        if (kind === 'plan')
          throw new UsageError(
            'a whole plan cannot be retried',
            `see what failed: heddle tasks --plan ${printable(id)} --status failed, then: heddle retry task:N`,
          )
        const retried = await (await here.client()).retry(name)
        const run = retried.runId === null ? '' : `run:${shortId(retried.runId)}`
        const work = (await here.daemon()) ? '' : 'heddle up runs it, '
        const text =
          kind === 'task'
            ? `${printable(name)} restarted${run && ` as ${run}`}    ${work}heddle plans -w shows it`
            : `queued again${run && ` as ${run}`}    ${work}heddle watch${run && ` ${run}`} shows it`
        return { json: { ok: true, ...retried }, text }
      }),
    )
}

/** Whether it names a plan or task; the output then uses that name instead of the run's. */
function isPlanned(name: string): boolean {
  return /^(?:task|plan):/.test(name)
}

/** The session of a top-level run; for other runs what they work for, since their session names are long. */
function purposeOf({ session, taskId, parentRunId, tellsOf }: RunLine): string {
  if (tellsOf !== undefined) return `summary of ${printable(tellsOf)}`
  if (taskId !== undefined) return `task:${taskId}`
  return parentRunId === null ? printable(session ?? '–') : `run:${shortId(parentRunId)}`
}

/** Where a queued run waits, if not in line with what people asked for. */
function laneWords({ state, lane }: RunLine): string {
  return state === 'queued' && lane !== 'main' ? `in the lane ${lane}` : ''
}

function row(run: RunLine): string[] {
  return [
    `run:${shortId(run.id)}`,
    run.state,
    run.agent === undefined ? '–' : `@${printable(run.agent)}`,
    purposeOf(run),
    run.doing === run.state ? laneWords(run) : printable(run.doing),
    `${run.ageSeconds}s`,
    `${inThousands(run.tokens)} tok`,
    `${run.estimatedUsd > 0 ? '~' : ''}$${(run.costUsd + run.estimatedUsd).toFixed(2)}${formatLost(run)}`,
  ]
}
