import { Option } from 'commander'
import type { ResultLine } from '../../api/views/plan.ts'
import { type Register, rareGroup } from '../command.ts'
import { withoutLabel } from '../pages/plan-graph.ts'
import { formatAge, printable, table } from '../terminal/screen.ts'

export const registerResults: Register = (program, run) => {
  program
    .command('results')
    .helpGroup(rareGroup)
    .description('results of agents, newest first')
    .option('--unprocessed', 'only unread ones')
    .addOption(new Option('--undelivered', 'only undelivered ones').conflicts('unprocessed'))
    .addHelpText('after', '\nExample: heddle show result:12')
    .action(
      run(async (here, _args, options) => {
        const unprocessed = options['unprocessed'] === true
        const undelivered = options['undelivered'] === true
        const results = await (await here.client()).results({ unprocessed, undelivered })
        const none = undelivered
          ? 'every result was delivered    heddle results'
          : unprocessed
            ? 'no unread results    heddle results'
            : 'no results yet    heddle ask "…"'
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
    processed ? formatAge(createdAt, now) : 'not read yet',
  ]
}
