import { dirname } from 'node:path'
import type { Millis } from '../../domain/clock.ts'
import { statement } from '../statement.ts'
import type { Reading, Tx } from '../store.ts'

/** A file whose content a run wrote that had read untrusted content. */
export interface UntrustedFile {
  /** Absolute. */
  path: string
  /** Null if it was too large to be read. */
  sha256: string | null
  sources: string[]
  /** Whether that run also gave it its name. */
  isCreated: boolean
  at: Millis
}

/** A command that may have changed files of a folder which no survey has seen. */
export interface UntrustedCommand {
  folder: string
  sources: string[]
  since: Millis
  /** Null while it is under way. */
  until: Millis | null
}

/** Records files that a run with untrusted content wrote. */
export async function insertUntrustedFiles(tx: Tx, runId: string, files: readonly UntrustedFile[]): Promise<void> {
  for (const { path, sha256, sources, isCreated, at } of files)
    await tx.run(
      tx.build
        .insertInto('untrusted_files')
        .values({
          path,
          sha256: sha256 ?? unknownContent,
          sources_json: sourcesJson(sources),
          created: isCreated ? 1 : 0,
          run_id: runId,
          at,
        })
        .onConflict((conflict) =>
          conflict.columns(['path', 'sha256']).doUpdateSet({ sources_json: sourcesJson(sources), run_id: runId, at }),
        ),
    )
}

/** A trusted run has written this content: it is no longer another's. A file that another run named keeps its row. */
export async function deleteUntrustedFiles(tx: Tx, { path, sha256 }: { path: string; sha256: string }): Promise<void> {
  await tx.run(deleteWritten({ path, sha256, unknown: unknownContent }))
}

/** Sources of untrusted contents among these; a content is the same wherever it was copied or moved. */
export async function sourcesOfContents(rows: Reading, hashes: readonly string[]): Promise<string[]> {
  if (hashes.length === 0) return []
  const found = await rows.all(
    rows.build
      .selectFrom('untrusted_files')
      .select('sources_json')
      .where('sha256', 'in', [...new Set(hashes)]),
  )
  return found.flatMap(({ sources_json }) => JSON.parse(sources_json) as string[])
}

/** Untrusted files below a folder, newest last. */
export async function untrustedFilesIn(rows: Reading, folder: string): Promise<UntrustedFile[]> {
  return (await rows.all(filesBelow(spanBelow(folder)))).map((row) => ({
    path: row.path,
    sha256: row.sha256 === unknownContent ? null : row.sha256,
    sources: JSON.parse(row.sources_json),
    isCreated: row.created === 1,
    at: row.at,
  }))
}

/** Records that a command of a run with untrusted content begins. */
export async function insertUntrustedCommand(
  tx: Tx,
  call: { runId: string; callId: string },
  { folder, sources, since, until }: UntrustedCommand,
): Promise<void> {
  await tx.run(
    tx.build
      .insertInto('untrusted_commands')
      .values({
        run_id: call.runId,
        call_id: call.callId,
        folder,
        sources_json: sourcesJson(sources),
        since,
        until,
      })
      .onConflict((conflict) => conflict.columns(['run_id', 'call_id']).doUpdateSet({ until })),
  )
}

/** All files that the command changed were seen. */
export async function deleteUntrustedCommand(tx: Tx, call: { runId: string; callId: string }): Promise<void> {
  await tx.run(
    tx.build.deleteFrom('untrusted_commands').where('run_id', '=', call.runId).where('call_id', '=', call.callId),
  )
}

/** Commands that may have changed files in or below a folder. */
export async function untrustedCommandsIn(rows: Reading, folder: string): Promise<UntrustedCommand[]> {
  const { from, to } = spanBelow(folder)
  const query = rows.build
    .selectFrom('untrusted_commands')
    .innerJoin('runs', 'runs.id', 'untrusted_commands.run_id')
    .select(['untrusted_commands.folder', 'untrusted_commands.sources_json', 'since', 'until', 'runs.finished_at'])
    .where(({ or, and, eb }) =>
      or([
        eb('untrusted_commands.folder', 'in', [folder, ...foldersAbove(folder)]),
        and([eb('untrusted_commands.folder', '>=', from), eb('untrusted_commands.folder', '<', to)]),
      ]),
    )
  return (await rows.all(query)).map((row) => ({
    folder: row.folder,
    sources: JSON.parse(row.sources_json),
    since: row.since,
    until: row.until ?? row.finished_at,
  }))
}

const unknownContent = ''

/** Never empty: no source would mean that it is trusted. */
function sourcesJson(sources: readonly string[]): string {
  return JSON.stringify(sources.length === 0 ? ['untrusted'] : sources)
}

/** Range of paths below a folder: '0' follows '/' in ASCII. */
function spanBelow(folder: string): { from: string; to: string } {
  return folder === '/' ? { from: '/', to: '0' } : { from: `${folder}/`, to: `${folder}0` }
}

function foldersAbove(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [] : [above, ...foldersAbove(above)]
}

const filesBelow = statement((db, arg: { from: string; to: string }) =>
  db.selectFrom('untrusted_files').selectAll().where('path', '>=', arg.from).where('path', '<', arg.to).orderBy('at'),
)

const deleteWritten = statement((db, arg: { path: string; sha256: string; unknown: string }) =>
  db
    .deleteFrom('untrusted_files')
    .where((where) =>
      where.or([
        where.and([where('sha256', '=', arg.sha256), where('created', '=', 0)]),
        where.and([where('path', '=', arg.path), where('sha256', 'in', [arg.sha256, arg.unknown])]),
      ]),
    ),
)
