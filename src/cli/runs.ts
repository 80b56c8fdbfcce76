import { type RunLine, spendingKeys } from '../domain/app.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import { parseReference } from '../domain/reference.ts'
import { inThousands } from './answer-page.ts'
import type { Register } from './cli.ts'
import { printable, table } from './screen.ts'
import { spendingNotes, spendingRow } from './spending-words.ts'

const waitForEnd = 5000

export const registerRuns: Register = (program, run) => {
  program
    .command('ps')
    .helpGroup('SEE')
    .description('what is queued, running or waiting')
    .option('-a, --all', 'the last finished ones, too')
    .action(
      run(async (here, _args, options) => {
        const runs = await (await here.door()).runs({ all: options['all'] === true })
        const text =
          runs.length > 0 ? table(here.screen, runs.map(row), 4) : 'nothing runs    heddle ask "…", heddle ps --all'
        return { json: { runs }, text }
      }),
    )

  program
    .command('usage')
    .helpGroup('SEE')
    .description('tokens and money; ~ marks an estimate')
    .option('--by <key>', spendingKeys.join(', '), 'model')
    .option('--today', 'only what was spent since midnight, UTC')
    .action(
      run(async (here, _args, options) => {
        const by = spendingKeys.find((known) => known === options['by'])
        if (!by) throw new Misuse(`"${options['by']}" is no way to sum up`, `use --by ${spendingKeys.join(', ')}`)
        const { rows, total } = await (await here.door()).usage(by, { today: options['today'] === true })
        const lines = [...rows, { key: 'total', ...total }].map((each) =>
          spendingRow({ ...each, key: printable(each.key) }),
        )
        const text = [table(here.screen, lines, 0), ...spendingNotes(total)].join('\n')
        return { json: { rows, total }, text }
      }),
    )

  program
    .command('cancel <ref>')
    .helpGroup('DECIDE')
    .description('stop a run, a task or a plan for good; what there is of it is kept')
    .option('--reason <text>', 'told in the turn it leaves', 'cancelled by hand')
    .addHelpText('after', '\nExamples: heddle cancel run:4c1e07    heddle cancel task:3    heddle cancel plan:1')
    .action(
      run(async (here, [name = ''], options) => {
        const door = await here.door()
        const reason = String(options['reason'])
        let now = await door.cancel(name, reason)
        const deadline = here.clock.monotonic() + waitForEnd
        while (now.state === 'running' && here.clock.monotonic() < deadline) {
          await here.clock.sleep(100)
          now = await door.cancel(isPlanned(name) ? name : now.id, reason)
        }
        const what = isPlanned(name) ? printable(name) : `run:${tail(now.id)}`
        return { json: { ok: true, ...now }, text: `${what} is ${now.state}` }
      }),
    )

  program
    .command('retry <ref>')
    .helpGroup('DECIDE')
    .description('give the inputs of a finished run, or a task that failed, to a new one; the old turn stays')
    .addHelpText('after', '\nExamples: heddle retry run:4c1e07    heddle retry task:3')
    .action(
      run(async (here, [name = '']) => {
        const { kind, id } = parseReference(name)
        if (kind === 'plan')
          throw new Misuse(
            'a plan is not tried again as a whole',
            `see what failed: heddle tasks --plan ${printable(id)} --status failed, then: heddle retry task:N`,
          )
        const retried = await (await here.door()).retry(name)
        const run = retried.runId === null ? '' : ` run:${tail(retried.runId)}`
        const work = (await here.daemon()) ? '' : 'heddle up does the work, '
        const text =
          kind === 'task'
            ? `${printable(name)} is to be done again${run}    ${work}heddle plans -w shows it`
            : `queued again${run}    ${work}heddle watch${run} shows it`
        return { json: { ok: true, ...retried }, text }
      }),
    )
}

/** Whether it names a part of a plan, by whose own number the answer speaks. */
function isPlanned(name: string): boolean {
  return /^(?:task|plan):/.test(name)
}

/** Where a run of one's own is at home; of one that works for another, for whom: its session has a long name. */
function whose({ session, taskId, parentRunId, tellsOf }: RunLine): string {
  if (tellsOf !== undefined) return `tells of ${printable(tellsOf)}`
  if (taskId !== undefined) return `task:${taskId}`
  return parentRunId === null ? printable(session ?? '–') : `run:${tail(parentRunId)}`
}

function row(run: RunLine): string[] {
  return [
    `run:${tail(run.id)}`,
    run.state,
    run.agent === undefined ? '–' : `@${printable(run.agent)}`,
    whose(run),
    run.doing === run.state ? '' : printable(run.doing),
    `${run.ageSeconds}s`,
    `${inThousands(run.tokens)} tok`,
    `${run.estimatedUsd > 0 ? '~' : ''}$${(run.costUsd + run.estimatedUsd).toFixed(2)}`,
  ]
}
