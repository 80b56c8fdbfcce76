import type { Undone } from '../domain/app.ts'
import type { Here, Register } from './cli.ts'
import { commandLines } from './command-lines.ts'
import { paint, printable } from './screen.ts'

export const registerUndo: Register = (program, run) => {
  program
    .command('undo <run>')
    .helpGroup('DECIDE')
    .description('put back the files that a run changed')
    .option('--dry-run', 'tell what would be put back, and change nothing')
    .action(
      run(async (here, [name = ''], options) => {
        const dryRun = options['dryRun'] === true
        const undone = await (await here.door()).undo(name, { dryRun })
        return { json: undone, text: page(here, undone, dryRun), code: undone.ok ? 0 : 1 }
      }),
    )
}

function page(here: Here, { restored, refused, cannotUndo }: Undone, dryRun: boolean): string {
  const lines = [
    ...restored.map((path) => `${dryRun ? 'would put back' : 'put back'}  ${fromHere(here, path)}`),
    ...refused.map(
      ({ path, why }) => `${paint(here.screen, 'red', 'left as it is')}  ${fromHere(here, path)}: ${printable(why)}`,
    ),
    ...(restored.length + refused.length === 0
      ? ['nothing to put back: this run left no change that is not undone']
      : []),
    ...(cannotUndo.length > 0 ? ['not put back, since nothing is kept of what commands change:'] : []),
    ...commandLines(cannotUndo),
  ]
  const next = nextOf({ restored, refused }, dryRun)
  return next === undefined ? lines.join('\n') : `${lines.join('\n')}\n  → ${next}`
}

function nextOf({ restored, refused }: Pick<Undone, 'restored' | 'refused'>, dryRun: boolean): string | undefined {
  if (refused.length > 0) return 'look at what is left with git diff or your editor, and change it by hand'
  if (restored.length === 0) return undefined
  return dryRun ? 'leave out --dry-run to do it' : 'the turn stays in the session: heddle log'
}

function fromHere({ folder }: Here, path: string): string {
  return printable(path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path)
}
