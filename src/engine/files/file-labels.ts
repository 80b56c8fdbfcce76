import { join, relative, resolve } from 'node:path'
import { isUntrusted, joinLabels, type Label } from '../../domain/label.ts'
import type { Part } from '../../domain/message.ts'
import type { PathAddress } from '../../domain/tools/path-handle.ts'
import type { SeenFile, ToolOutcome } from '../../domain/tools/tool.ts'
import type { Touched } from '../../domain/tools/touched.ts'
import {
  deleteUntrustedCommand,
  deleteUntrustedFiles,
  insertUntrustedCommand,
  insertUntrustedFiles,
  sourcesOfContents,
  type UntrustedCommand,
  type UntrustedFile,
  untrustedCommandsIn,
  untrustedFilesIn,
} from '../../store/rows/untrusted-files.ts'
import type { Tx } from '../../store/store.ts'
import type { ReadyCall } from '../../tools/call.ts'
import { hashOf } from '../../tools/files/content-hash.ts'
import { plainName } from '../../tools/files/survey.ts'
import type { LabelledOutcome, RunHandle } from '../run/moments.ts'
import type { Engine } from '../runtime.ts'
import { prepareVersions } from './command-versions.ts'
import { changeTime, hasEntry, hashNow, realPath } from './file-now.ts'

/** Max files of a command that are read to recognise them later; of more, the time of their change counts. */
const maxHashed = 500
/** Clocks of file systems are coarser than ours. */
const slackMs = 1000

const trusted: Label = { integrity: 'trusted', sources: [] }

/**
 * Watches the files of a call. What it shows of files labels its outcome: a file has the label of the run that wrote its
 * content. A command can read every file of the folder, and what it changes gets the label of everything before it.
 */
export async function watchFiles(
  run: RunHandle<Engine>,
  { tool, call }: Pick<ReadyCall, 'tool' | 'call'>,
): Promise<(outcome: ToolOutcome) => Promise<LabelledOutcome>> {
  if (!tool.touchesFolder) return async (outcome) => ({ outcome: await labelShown(run, outcome) })
  const { engine, claimed } = run
  const folder = await realSessionFolder(run)
  const key = { runId: claimed.run.id, callId: call.id }
  const since = engine.clock.now()
  const before = await labelOfFolder(run, folder)
  const command = (label: Label): UntrustedCommand => ({ folder, sources: label.sources, since, until: null })
  const start = joinLabels([run.label, before])
  // Others may read a file before the command has ended.
  if (isUntrusted(start)) await run.write('step', (tx) => insertUntrustedCommand(tx, key, command(start)))
  return async (made) => {
    const span = { since, at: engine.clock.now() }
    const { outcome, record: recordVersions } = await prepareVersions(engine, made, { ...key, ...span })
    const read = joinLabels([before, await labelOfNewFiles(run, folder, since)])
    const label = joinLabels([run.label, read])
    const labelled = isUntrusted(read) ? { ...outcome, label: joinLabels([...labelsOf(outcome), read]) } : outcome
    if (!isUntrusted(label)) return { outcome: labelled, ...(recordVersions && { record: recordVersions }) }
    const files = await changedFiles(run, outcome.touched, label)
    return {
      outcome: labelled,
      async record(tx) {
        await recordVersions?.(tx)
        if (files) {
          await insertUntrustedFiles(tx, key.runId, files)
          await deleteUntrustedCommand(tx, key)
        } else await insertUntrustedCommand(tx, key, { ...command(label), until: engine.clock.now() })
      },
    }
  }
}

/** Adds the labels of the files that an outcome shows. */
async function labelShown(run: RunHandle<Engine>, { shows, ...outcome }: ToolOutcome): Promise<ToolOutcome> {
  const files = [...(outcome.seen ?? []), ...(shows?.parts ?? [])]
  const labels = [await labelOfFiles(run, files), await labelOfNames(run, shows?.names ?? [])].filter(isUntrusted)
  return labels.length === 0 ? outcome : { ...outcome, label: joinLabels([...labelsOf(outcome), ...labels]) }
}

function labelsOf({ label }: ToolOutcome): Label[] {
  return label ? [label] : []
}

/** Label of files of the session's folder, by their content, or by the time of their change where no survey saw it. */
export async function labelOfFiles(run: RunHandle<Engine>, files: readonly SeenFile[]): Promise<Label> {
  if (files.length === 0) return trusted
  const folder = await realSessionFolder(run)
  const { contents, commands, unread } = await run.engine.store.read(async (rows) => ({
    contents: await sourcesOfContents(
      rows,
      files.flatMap(({ sha256 }) => (sha256 === null || sha256 === emptyContent ? [] : [sha256])),
    ),
    commands: await untrustedCommandsIn(rows, folder),
    unread: files.some(({ sha256 }) => sha256 === null) ? await untrustedFilesIn(rows, folder) : [],
  }))
  const paths = new Set(files.map(({ path }) => join(folder, path)))
  const large = unread.filter(({ path, sha256 }) => sha256 === null && paths.has(path))
  const place = { folder: run.claimed.session.folder, protect: run.engine.protect }
  const unseen: string[] = []
  for (const path of commands.length === 0 ? [] : paths)
    unseen.push(...(await sourcesByTime({ ...place, path }, commands)))
  return untrustedBy([...contents, ...large.flatMap(({ sources }) => sources), ...unseen])
}

/**
 * Label of files that a person attaches, where only the time of their change tells who wrote them; what their contents are
 * labelled is looked up when they are accepted.
 */
export async function labelOfAttachments(engine: Engine, folder: string, parts: readonly Part[]): Promise<Label> {
  const attached = parts.flatMap(({ path }) => path ?? [])
  if (attached.length === 0) return trusted
  const protect = engine.protect
  const real = (await realPath({ folder, path: '.', protect })) ?? folder
  const commands = await engine.store.read((rows) => untrustedCommandsIn(rows, real))
  const sources: string[] = []
  for (const path of attached)
    sources.push(...(await sourcesByTime({ folder: real, path: resolve(real, path), protect }, commands)))
  return untrustedBy(sources)
}

/** Only the kernel sets the time of a file's last change. */
async function sourcesByTime(address: PathAddress, commands: readonly UntrustedCommand[]): Promise<string[]> {
  const { path } = address
  const around = commands.filter(({ folder }) => path.startsWith(folder === '/' ? '/' : `${folder}/`))
  if (around.length === 0) return []
  const changedAt = await changeTime(address)
  return around
    .filter(
      ({ since, until }) =>
        changedAt === undefined || (changedAt >= since - slackMs && (until === null || changedAt <= until + slackMs)),
    )
    .flatMap(({ sources }) => sources)
}

/** A name that an untrusted run gave a file is its text as well; that of a directory, if it is more than a plain word. */
async function labelOfNames(run: RunHandle<Engine>, names: readonly string[]): Promise<Label> {
  if (names.length === 0) return trusted
  const folder = await realSessionFolder(run)
  const created = (await run.engine.store.read((rows) => untrustedFilesIn(rows, folder))).filter(
    ({ isCreated }) => isCreated,
  )
  if (created.length === 0) return trusted
  const shown = new Set(names.map((name) => join(folder, name)))
  const isShown = ({ path }: UntrustedFile) =>
    shown.has(path) || [...shown].some((each) => path.startsWith(`${each}/`) && !isPlain(relative(folder, each)))
  return untrustedBy(created.filter(isShown).flatMap(({ sources }) => sources))
}

function isPlain(path: string): boolean {
  return path.split('/').every((name) => plainName.test(name))
}

/** Label of the untrusted files that are in a folder now: a command could read any of them. */
async function labelOfFolder({ engine }: RunHandle<Engine>, folder: string): Promise<Label> {
  const { files, commands } = await engine.store.read(async (rows) => ({
    files: await untrustedFilesIn(rows, folder),
    commands: await untrustedCommandsIn(rows, folder),
  }))
  const sources = commands.flatMap((each) => each.sources)
  for (const { path, sha256, sources: written } of files) {
    if (written.every((source) => sources.includes(source))) continue
    const address = { folder, path, protect: engine.protect }
    const now = await hashNow(address)
    const isSame = now === null ? sha256 === null && (await hasEntry(address)) : now === (sha256 ?? undefined)
    if (isSame) sources.push(...written)
  }
  return untrustedBy(sources)
}

/** Label of the untrusted files that were written since. */
async function labelOfNewFiles({ engine }: RunHandle<Engine>, folder: string, since: number): Promise<Label> {
  const files = await engine.store.read((rows) => untrustedFilesIn(rows, folder))
  return untrustedBy(files.filter(({ at }) => at >= since).flatMap(({ sources }) => sources))
}

/** The files that a command changed; undefined if not all of them are known. */
async function changedFiles(
  { engine }: RunHandle<Engine>,
  touched: Touched | undefined,
  { sources }: Label,
): Promise<UntrustedFile[] | undefined> {
  if (!touched || 'unseen' in touched) return undefined
  const { folder, created, changed, more, passedOver = [], hidden, others } = touched
  const paths = [...created, ...changed, ...(hidden?.paths ?? []), ...(others?.paths ?? [])]
  const unnamed = more + (hidden?.more ?? 0) + (others?.more ?? 0)
  if (unnamed + passedOver.length > 0 || paths.length > maxHashed) return undefined
  const files: UntrustedFile[] = []
  const at = engine.clock.now()
  for (const path of paths) {
    const address = { folder, path, protect: engine.protect }
    const sha256 = await hashNow(address)
    const isCreated = !changed.includes(path)
    // Gone since, unless it is a link that leads nowhere.
    if (sha256 === null && !(await hasEntry(address))) continue
    // All that an empty file says is its name.
    if (sha256 === emptyContent && (!isCreated || isPlain(path))) continue
    files.push({ path: join(folder, path), sha256: sha256 ?? null, sources, isCreated, at })
  }
  return files
}

/** Records the label of a content that a run is about to write. */
export async function recordContentLabel(
  tx: Tx,
  runId: string,
  { label, ...file }: Omit<UntrustedFile, 'sources' | 'sha256'> & { sha256: string; label: Label },
): Promise<void> {
  if (isUntrusted(label)) await insertUntrustedFiles(tx, runId, [{ ...file, sources: label.sources }])
  else await deleteUntrustedFiles(tx, file)
}

function untrustedBy(sources: readonly string[]): Label {
  return sources.length === 0 ? trusted : joinLabels([{ integrity: 'untrusted', sources: [...sources] }])
}

/** An empty file says nothing. */
const emptyContent = hashOf(new Uint8Array())

/** The folder's real path, under which changes are stored. */
async function realSessionFolder({ engine, claimed }: RunHandle<Engine>): Promise<string> {
  const { folder } = claimed.session
  return (await realPath({ folder, path: '.', protect: engine.protect })) ?? folder
}
