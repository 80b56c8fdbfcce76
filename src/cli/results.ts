import type { ResultLine } from '../domain/plan-views.ts'
import { type Register, rareGroup } from './cli.ts'
import { withoutLabel } from './plan-graph.ts'
import { ago, printable, table } from './screen.ts'

export const registerResults: Register = (program, run) => {
  program
    .command('results')
    .helpGroup(rareGroup)
    .description('what agents handed over, newest first')
    .option('--unprocessed', 'only what nobody has read yet')
    .addHelpText('after', '\nExample: heddle show result:12')
    .action(
      run(async (here, _args, options) => {
        const unprocessed = options['unprocessed'] === true
        const results = await (await here.door()).results({ unprocessed })
        const none = unprocessed
          ? 'everything has been read    heddle results'
          : 'no agent has handed over anything yet    heddle ask "…"'
        const now = here.clock.now()
        const rows = results.map((result) => row(result, now))
        return { json: { results }, text: results.length > 0 ? table(here.screen, rows, 4) : none }
      }),
    )
}

function row({ id, taskId, skillUsed, status, summary, processed, createdAt }: ResultLine, now: number): string[] {
  return [
    `result:${id}`,
    status,
    `@${printable(skillUsed ?? '–')}`,
    taskId === null ? '–' : `task:${taskId}`,
    printable(withoutLabel(summary)),
    processed ? ago(createdAt, now) : 'not read yet',
  ]
}
