import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { onTestFinished } from 'vitest'
import { writeBackup } from '../../src/store/backup/backup.ts'
import type { Store } from '../../src/store/store.ts'
import { context } from '../setup/store-context.ts'

export const backupOptions = { ...context, heddleVersion: '0.1.0' }

/** A folder that goes with the test. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A backup of the store in a folder of its own. */
export async function backupOf(store: Store): Promise<string> {
  const file = join(newFolder(), 'heddle.backup')
  await writeBackup(store, file, backupOptions)
  return file
}

export function readLines(file: string): unknown[] {
  return gunzipSync(readFileSync(file))
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

/** Writes lines as a backup whose checksum and counts are right, whatever the lines say. */
export function writeLines(file: string, lines: unknown[]): void {
  const [header, ...rest] = lines as [{ tables: string[] }, ...unknown[]]
  const rows = rest.filter(Array.isArray)
  const text = [header, ...rows].map((line) => `${JSON.stringify(line)}\n`).join('')
  const counts = header.tables.map((table, index) => [table, rows.filter((row) => row[0] === index).length])
  const sha256 = createHash('sha256').update(text).digest('hex')
  writeFileSync(file, gzipSync(`${text}${JSON.stringify({ rows: Object.fromEntries(counts), sha256 })}\n`))
}
