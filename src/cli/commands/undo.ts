import { existsSync } from 'node:fs'
import type { UndoReport } from '../../api/views/result.ts'
import type { CommandContext, Register } from '../command.ts'
import { commandLines } from '../pages/command-lines.ts'
import { paint, printable } from '../terminal/screen.ts'

export const registerUndo: Register = (program, run) => {
  program
    .command('undo <run>')
    .helpGroup('DECIDE')
    .description('restore the files that a run changed')
    .option('--dry-run', 'show what would be restored, and change nothing')
    .action(
      run(async (here, [name = ''], options) => {
        const dryRun = options['dryRun'] === true
        const undone = await (await here.client()).undo(name, { dryRun })
        return { json: undone, text: undoPage(here, undone, dryRun), code: undone.ok ? 0 : 1 }
      }),
    )
}

function undoPage(here: CommandContext, { restored, refused, cannotUndo }: UndoReport, dryRun: boolean): string {
  const lines = [
    ...restored.map((path) => undoneLine(here, path, dryRun)),
    ...refused.map(
      ({ path, why }) => `${paint(here.screen, 'red', 'not changed')}  ${fromHere(here, path)}: ${printable(why)}`,
    ),
    ...(restored.length + refused.length === 0 ? ['nothing to undo: no file changed, or already undone'] : []),
    ...(cannotUndo.length > 0 ? ['changed by commands, cannot be restored:'] : []),
    ...commandLines(cannotUndo),
  ]
  const next = nextOf({ restored, refused }, dryRun)
  return next === undefined ? lines.join('\n') : `${lines.join('\n')}\n  → ${next}`
}

/** One line about an undone file. A file that the run created is gone afterwards. */
function undoneLine(here: CommandContext, path: string, dryRun: boolean): string {
  const shown = fromHere(here, path)
  if (dryRun) return `would restore  ${shown}`
  return existsSync(path) ? `restored  ${shown}` : `removed  ${shown} (it did not exist before)`
}

function nextOf({ restored, refused }: Pick<UndoReport, 'restored' | 'refused'>, dryRun: boolean): string | undefined {
  if (refused.length > 0) return 'look at what is left with git diff or your editor, and change it by hand'
  if (restored.length === 0) return undefined
  return dryRun ? 'leave out --dry-run to do it' : 'the turn stays in the session: heddle log'
}

function fromHere({ folder }: CommandContext, path: string): string {
  return printable(path.startsWith(`${folder}/`) ? path.slice(folder.length + 1) : path)
}
