import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TaskView } from '../../api/views/plan.ts'
import { HeddleError } from '../../domain/errors.ts'
import type { CommandContext } from '../command.ts'

/** Opens a task's brief in the user's editor; undefined if it was not changed. */
export async function editedBrief(here: CommandContext, { id, context }: TaskView): Promise<string | undefined> {
  const { runEditor } = await import('../commands/set-up.ts')
  const folder = mkdtempSync(join(tmpdir(), 'heddle-brief-'))
  const file = join(folder, `task-${id}.md`)
  try {
    writeFileSync(file, context, { mode: 0o600 })
    const code = await runEditor(here, file, `tasks edit task:${id}`)
    if (code !== 0)
      throw new HeddleError(
        'editor_failed',
        `the editor exited with code ${code}`,
        'nothing was changed; set EDITOR to another editor',
      )
    const text = readFileSync(file, 'utf8')
    // Editors add a final line break.
    if (text.trim() === '' || text.trimEnd() === context.trimEnd()) return undefined
    return text.trimEnd()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
