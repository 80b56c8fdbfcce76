import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { untilSo } from '../setup/until.ts'

/**
 * Resolves when the clock of the file system has gone on by more than what `why` takes for one moment: files that are written before and
 * after it have times that differ.
 */
export async function untilFilesAreLater(by = 25): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-clock-'))
  const timeNow = () => {
    writeFileSync(join(folder, 'probe'), 'now')
    return statSync(join(folder, 'probe')).mtimeMs
  }
  const since = timeNow()
  await untilSo(() => timeNow() > since + by)
  rmSync(folder, { recursive: true })
}
