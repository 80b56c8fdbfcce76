import { once } from 'node:events'
import type { RunLine } from '../domain/app.ts'
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
        const runs = await (await here.app()).runs({ all: options['all'] === true })
        const text =
          runs.length > 0 ? table(here.screen, runs.map(row), 3) : 'nothing runs    heddle ask "…", heddle ps --all'
        return { json: { runs }, text }
      }),
    )

  program
    .command('usage')
    .helpGroup('SEE')
    .description('tokens and money, lost calls included')
    .option('--by <key>', 'model, session, run or day', 'model')
    .action(
      run(async (here, _args, options) => {
        const by = (['model', 'session', 'run', 'day'] as const).find((known) => known === options['by'])
        if (!by) throw new Misuse(`"${options['by']}" is no way to sum up`, 'use --by model, session, run or day')
        const { rows, total } = await (await here.app()).usage(by)
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
        const app = await here.app()
        const reason = String(options['reason'])
        let now = await app.cancel(name, reason)
        const deadline = here.clock.monotonic() + waitForEnd
        while (now.state === 'running' && here.clock.monotonic() < deadline) {
          await here.clock.sleep(100)
          now = await app.cancel(now.id, reason)
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
        const retried = await (await here.app()).retry(name)
        return { json: { ok: true, ...retried }, text: 'queued again    heddle up does the work, heddle ps shows it' }
      }),
    )

  program
    .command('up')
    .helpGroup('SET UP')
    .description('run what is queued, in the foreground, until Ctrl-C')
    .action(
      run(async (here) => {
        const { stopped } = here
        const work = await (await here.app()).work()
        here.tell(`at work: ${work.resumed.length} runs resumed, ${work.quarantined.length} quarantined; Ctrl-C stops`)
        if (!stopped.aborted) await once(stopped, 'abort')
        await work.stop()
        return { json: { ok: true }, text: 'stopped; what was under way is queued again' }
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
