import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { programRoot } from '../../package-root.ts'

/** The checked-in schema as statements, and the number of the last migration that is part of it. */
export function newestSchema(): { version: number; statements: string } {
  const statements = readFileSync(join(programRoot, 'store/sqlite/schema.sql'), 'utf8')
  return { version: Number(/^-- Schema (\d+)$/m.exec(statements)?.[1] ?? 0), statements }
}
