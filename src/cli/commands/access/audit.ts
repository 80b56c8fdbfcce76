import { type Register, rareGroup } from '../../command.ts'
import { moreLine, pageOptions, readPages } from '../../input/pages.ts'
import { printable, table } from '../../terminal/screen.ts'

const lastLines = 50

/** Who changed what. */
export const registerAudit: Register = (program, run) => {
  program
    .command('audit')
    .helpGroup(rareGroup)
    .description('what users changed, and what you changed about users, tokens and grants; newest first')
    .option('--limit <n>', `at most n; 0 for all (default: ${lastLines})`)
    .option('--after <cursor>', 'continue after this cursor, the `next` of an earlier page')
    .action(
      run(async (here, _, options) => {
        const client = await here.client()
        const page = { ...pageOptions(options, lastLines, 'lines'), newest: 'first' } as const
        const { rows: audit, ...more } = await readPages((part) => client.audit(part), page)
        const rows = audit.map(({ at, principal, action, resource, outcome }) => [
          at.slice(0, 19).replace('T', ' '),
          printable(principal),
          action,
          printable(resource ?? ''),
          outcome,
        ])
        const lines = [table(here.screen, rows, 3), ...moreLine(more, 'heddle audit')]
        const text = audit.length > 0 ? lines.join('\n') : 'nothing yet: no user has changed anything'
        return { json: { audit, ...more }, text }
      }),
    )
}
