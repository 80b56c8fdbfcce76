import { type Register, rareGroup } from './cli.ts'

export const registerBackup: Register = (program, run) => {
  program
    .command('backup <file>')
    .helpGroup(rareGroup)
    .description('write everything to one verified file; work may go on meanwhile')
    .addHelpText('after', '\nExample: heddle backup ~/heddle-today.backup')
    .action(
      run(async (here, [file = '']) => {
        const app = await here.app()
        const done = await app.backup(here.pathOf(file))
        return {
          json: { ok: true, ...done },
          text: `wrote ${file}: ${done.turns} turns, ${size(done.bytes)}, read back and verified    heddle restore ${file}`,
        }
      }),
    )

  program
    .command('restore <file>')
    .helpGroup(rareGroup)
    .description('go back to a backup; what is there now is kept aside, not deleted')
    .action(
      run(async (here, [file = '']) => {
        const done = await here.restore(file)
        const aside = done.keptAside ? `\nwhat was there before is kept: ${done.keptAside}` : ''
        return {
          json: { ok: true, ...done },
          text: `restored ${done.turns} turns from ${file}    heddle sessions --all${aside}`,
        }
      }),
    )
}

function size(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} kB`
  return `${(bytes / 1024 ** 2).toFixed(1)} MB`
}
