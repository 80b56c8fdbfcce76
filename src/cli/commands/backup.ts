import { HeddleError } from '../../domain/errors.ts'
import { countNoun } from '../../domain/text/count-noun.ts'
import { type CommandContext, type Register, rareGroup } from '../command.ts'
import { canAsk, confirm } from '../terminal/prompt.ts'

export const registerBackup: Register = (program, run) => {
  program
    .command('backup <file>')
    .helpGroup(rareGroup)
    .description('write everything to one verified file; safe while work is running')
    .addHelpText('after', '\nExample: heddle backup ~/heddle-today.backup')
    .action(
      run(async (here, [file = '']) => {
        const client = await here.client()
        const done = await client.backup(here.pathOf(file))
        return {
          json: { ok: true, ...done },
          text: `wrote ${file}: ${done.turns} turns, ${size(done.bytes)}, read back and verified    heddle restore ${file}`,
        }
      }),
    )

  program
    .command('restore <file>')
    .helpGroup(rareGroup)
    .description('restore a backup; the current data is kept, not deleted')
    .option('-y, --yes', 'do not ask for confirmation')
    .action(
      run(async (here, [file = ''], options) => {
        if (options['yes'] !== true && !here.json && canAsk(here)) await askToReplace(here, file)
        const done = await here.restore(file)
        const aside = done.keptAside
          ? `\nwhat was there before is kept: ${done.keptAside}\nto go back: ${done.wayBack}`
          : ''
        const revoked =
          done.revokedTokens > 0
            ? `\nrevoked ${countNoun(done.revokedTokens, 'token')} of the backup    heddle tokens create --user ID`
            : ''
        return {
          json: { ok: true, ...done },
          text: `restored ${countNoun(done.turns, 'turn')} from ${file}    heddle sessions --all${revoked}${aside}`,
        }
      }),
    )
}

/** Shows what is replaced and with what. Throws unless the user agrees. */
async function askToReplace(here: CommandContext, file: string): Promise<void> {
  const { place, bytes, createdAt, turns } = await here.restoreFacts(file)
  const now = bytes === null || bytes === 0 ? place : `${place}, ${size(bytes)}`
  const from =
    createdAt === null ? '' : ` of ${createdAt.slice(0, 16).replace('T', ' ')} UTC, ${countNoun(turns ?? 0, 'turn')}`
  here.tell(`this replaces ${now}\n  with ${file}${from}\n  the current data is kept, and you can go back`)
  if (!(await confirm(here, 'replace it?')))
    throw new HeddleError('cancelled', 'nothing was replaced', `look at a backup: zcat ${file} | head`)
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} kB`
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`
}
