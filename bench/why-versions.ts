import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { packLineHashes } from '../src/engine/files/line-hashes.ts'
import { mapContents, writeLineMap } from '../src/engine/files/line-map.ts'
import { packContent } from '../src/engine/files/pack-content.ts'
import { homePaths } from '../src/home/home.ts'
import { systemClock as clock } from '../src/system.ts'
import { hashOf } from '../src/tools/files/content-hash.ts'

/** Lines of the file. */
const length = 300

/**
 * A file with so many versions, of tools and commands by turns, each of which replaced a line, and a last line that was added
 * by hand. Every command has a step that says what it changed.
 */
export async function fillVersions(home: string, folder: string, path: string, versions: number): Promise<void> {
  const db = new DatabaseSync(homePaths(home).database, { enableForeignKeyConstraints: false })
  db.exec('PRAGMA synchronous = OFF; BEGIN')
  const runs = db.prepare('SELECT id FROM runs LIMIT ?').all(versions) as { id: string }[]
  const change = db.prepare(
    'INSERT INTO file_changes (run_id, call_id, folder, path, before_hash, after_hash, at, line_map, line_hashes) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
  )
  const command = db.prepare(
    `INSERT INTO command_changes (run_id, call_id, folder, path, before_hash, after_hash, line_map, line_hashes, follows, since, at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, (SELECT max(id) FROM file_changes), ?, ?)`,
  )
  const ended = db.prepare(
    `INSERT INTO steps (run_id, seq, kind, payload_json, at, touched_folder) VALUES (?, 1000, 'ended', ?, ?, ?)`,
  )
  const lines = Array.from({ length }, (_, at) => `line ${at} of the first version`)
  let before: Buffer | undefined
  const begun = clock.now() - versions * 1000
  for (const [number, { id }] of runs.entries()) {
    lines[(number * 7) % length] = `line of version ${number}`
    const after = Buffer.from(`${lines.join('\n')}\n`)
    const map = before ? writeLineMap(mapContents(before, after) ?? { map: [], choices: [] }) : null
    const hashes = [before ? hashOf(before) : null, hashOf(after)]
    const at = begun + number * 1000
    const added = packLineHashes({ before, after, isRecorded: before !== undefined })
    if (number % 2 === 0) change.run(id, 'call-1', folder, path, ...hashes, at, map, added)
    else {
      const touched = { folder, created: [], changed: [path], removed: [], more: 0, unrecorded: 0 }
      command.run(id, 'call-1', folder, path, ...hashes, map, added, at - 500, at)
      ended.run(id, JSON.stringify({ id: 'call-1', name: 'exec', status: 'ok', touched }), at, folder)
    }
    before = after
  }
  if (!before) throw new Error('there are no runs')
  const { hash, bytes, packed } = await packContent(hashOf(before), before)
  db.prepare('INSERT OR IGNORE INTO file_contents (hash, bytes, packed) VALUES (?, ?, ?)').run(hash, bytes, packed)
  db.exec('COMMIT')
  db.close()
  writeFileSync(join(folder, path), `${before}by hand\n`)
}
