import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HeddleError } from '../domain/errors.ts'
import type { TaskView } from '../domain/plan-views.ts'
import type { Here } from './cli.ts'

/** A task's brief as somebody left it in their editor; undefined when they left it as it was. */
export async function editedBrief(here: Here, { id, context }: TaskView): Promise<string | undefined> {
  const { runEditor } = await import('./set-up.ts')
  const folder = mkdtempSync(join(tmpdir(), 'heddle-brief-'))
  const file = join(folder, `task-${id}.md`)
  try {
    writeFileSync(file, context, { mode: 0o600 })
    const code = await runEditor(here, file, `tasks edit task:${id}`)
    if (code !== 0)
      throw new HeddleError(
        'editor_failed',
        `the editor ended with ${code}`,
        'nothing was changed; set EDITOR to another',
      )
    const text = readFileSync(file, 'utf8')
    // Editors end a file with a line break of their own.
    if (text.trim() === '' || text.trimEnd() === context.trimEnd()) return undefined
    return text.trimEnd()
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
