import { type RunLine, spendingKeys } from '../domain/app.ts'
import { Misuse } from '../domain/errors.ts'
import { tail } from '../domain/id.ts'
import type { Register } from './cli.ts'
import { printable, table } from './screen.ts'

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
          runs.length > 0 ? table(here.screen, runs.map(row), 3) : 'nothing runs    heddle ask "…", heddle ps --all'
        return { json: { runs }, text }
      }),
    )

  program
    .command('usage')
    .helpGroup('SEE')
    .description('tokens and money, lost calls included')
    .option('--by <key>', spendingKeys.join(', '), 'model')
    .option('--today', 'only what was spent since midnight, UTC')
    .action(
      run(async (here, _args, options) => {
        const by = spendingKeys.find((known) => known === options['by'])
        if (!by) throw new Misuse(`"${options['by']}" is no way to sum up`, `use --by ${spendingKeys.join(', ')}`)
        const { rows, total } = await (await here.door()).usage(by, { today: options['today'] === true })
        const lines = [...rows, { key: 'total', ...total }].map((each) => [
          printable(each.key),
          `${each.inputTokens} in`,
          `${each.outputTokens} out`,
          `${each.calls} calls`,
          `$${each.costUsd.toFixed(4)}`,
        ])
        return { json: { rows, total }, text: table(here.screen, lines, 0) }
      }),
    )

  program
    .command('cancel <run>')
    .helpGroup('DECIDE')
    .description('stop a run for good; what there is of its answer is kept')
    .option('--reason <text>', 'told in the turn it leaves', 'cancelled by hand')
    .action(
      run(async (here, [name = ''], options) => {
        const door = await here.door()
        const reason = String(options['reason'])
        let now = await door.cancel(name, reason)
        const deadline = here.clock.monotonic() + waitForEnd
        while (now.state === 'running' && here.clock.monotonic() < deadline) {
          await here.clock.sleep(100)
          now = await door.cancel(now.id, reason)
        }
        return { json: { ok: true, ...now }, text: `run:${tail(now.id)} is ${now.state}` }
      }),
    )

  program
    .command('retry <run>')
    .helpGroup('DECIDE')
    .description('give the inputs of a finished run to a new one; the old turn stays')
    .action(
      run(async (here, [name = '']) => {
        const retried = await (await here.door()).retry(name)
        const run = retried.runId === null ? '' : ` run:${tail(retried.runId)}`
        const work = (await here.daemon()) ? '' : 'heddle up does the work, '
        return { json: { ok: true, ...retried }, text: `queued again${run}    ${work}heddle watch${run} shows it` }
      }),
    )
}

function row(run: RunLine): string[] {
  return [
    `run:${tail(run.id)}`,
    run.state,
    printable(run.session ?? '–'),
    printable(run.doing),
    `${run.ageSeconds}s`,
    `${run.tokens} tokens`,
    `$${run.costUsd.toFixed(4)}`,
  ]
}
