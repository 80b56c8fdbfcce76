import { pathToFileURL } from 'node:url'
import { databaseCorrupt, explainSqlite } from '../failures.ts'
import type { DatabaseLocation } from '../open.ts'
import { redactedUrl } from '../postgres/server-address.ts'
import { migrations } from '../schema-version.ts'
import { SqliteConnection } from '../sqlite/connection.ts'
import { inspectFile, sizeOf } from '../sqlite/file.ts'
import { sqliteVersion } from '../sqlite/migrate.ts'

/** Result of a read-only database check; version 0 when there is no database yet. */
interface DatabaseCheck {
  place: string
  version: number
  newest: number
  bytes: number | null
}

/** Checks a whole database without changing it; throws what is wrong, with the remedy. */
export async function examineDatabase(place: DatabaseLocation): Promise<DatabaseCheck> {
  const newest = migrations.at(-1)?.id ?? 0
  if (place.kind === 'sqlite') return examineFile(place.file, newest)
  const { examineServer } = await import('../postgres/open-server.ts')
  return { place: redactedUrl(place.url), version: await examineServer(place.url), newest, bytes: null }
}

function examineFile(file: string, newest: number): DatabaseCheck {
  if (inspectFile(file) === 'missing') return { place: file, version: 0, newest, bytes: 0 }
  let connection: SqliteConnection | undefined
  try {
    connection = new SqliteConnection(immutableUrl(file), { readOnly: true })
    const [row] = connection.all({ sql: 'PRAGMA quick_check(1)', parameters: [] }) as { quick_check: string }[]
    if (row?.quick_check !== 'ok') throw databaseCorrupt(file, row?.quick_check ?? 'it cannot be checked')
    return { place: file, version: sqliteVersion(connection), newest, bytes: sizeOf(file) + sizeOf(`${file}-wal`) }
  } catch (error) {
    throw explainSqlite(error, file)
  } finally {
    connection?.close()
  }
}

/** Without a WAL no process is writing the file, so SQLite may open it as immutable and leave no files of its own. */
function immutableUrl(file: string): string | URL {
  if (sizeOf(`${file}-wal`) > 0) return file
  const url = pathToFileURL(file)
  url.searchParams.set('immutable', '1')
  return url
}
