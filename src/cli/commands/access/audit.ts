import { UsageError } from '../../../domain/errors.ts'
import { type Register, rareGroup } from '../../command.ts'
import { printable, table } from '../../terminal/screen.ts'

/** Who changed what. */
export const registerAudit: Register = (program, run) => {
  program
    .command('audit')
    .helpGroup(rareGroup)
    .description('what users changed, and what you changed about users, tokens and grants; newest first')
    .option('--limit <n>', 'how many lines', '50')
    .action(
      run(async (here, _, options) => {
        const limit = Number(options['limit'])
        if (!Number.isSafeInteger(limit) || limit < 1 || limit > 1000)
          throw new UsageError(`"${options['limit']}" is not a number of lines`, 'use 1 to 1000', 'bad_limit')
        const audit = await (await here.client()).audit({ limit })
        const rows = audit.map(({ at, principal, action, resource, outcome }) => [
          at.slice(0, 19).replace('T', ' '),
          printable(principal),
          action,
          printable(resource ?? ''),
          outcome,
        ])
        const text = audit.length > 0 ? table(here.screen, rows, 3) : 'nothing yet: no user has changed anything'
        return { json: { audit }, text }
      }),
    )
}
