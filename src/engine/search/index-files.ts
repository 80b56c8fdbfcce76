import { relative } from 'node:path'
import { ownerText } from '../../domain/access/principal.ts'
import type { Millis } from '../../domain/clock.ts'
import { passagesIn } from '../../domain/text/passage.ts'
import { toStorable } from '../../domain/text/storable.ts'
import type { ProtectedPlaces } from '../../domain/tools/path-handle.ts'
import { withDigest } from '../../store/knowledge/passage-changes.ts'
import { changeThatLeft } from '../../store/rows/file-changes.ts'
import { findRun } from '../../store/rows/runs.ts'
import { ownerIn } from '../../store/rows/search/documents.ts'
import {
  passageStep,
  scheduleCheck,
  type WrittenContent,
  type WrittenFile,
} from '../../store/rows/search/written-files.ts'
import { findSessions } from '../../store/rows/sessions.ts'
import type { Reading } from '../../store/store.ts'
import { namesInFolders } from '../files/file-author.ts'
import { fileNow, fileStamp } from '../files/file-now.ts'
import type { Runtime } from '../runtime.ts'

/** Time after a change in which a file may change again within one tick of the disk's clock, or be written only now. */
const settleTime: Millis = 5000
/** A file is looked at again after a tenth of the time since its last change, within these bounds. */
const minInterval: Millis = 10_000
const maxInterval: Millis = 600_000
/** Bytes in which a NUL tells a binary file. */
const sniffed = 8192

type FileContext = Pick<Runtime, 'store' | 'clock'> & { protect: ProtectedPlaces }

/** Compares a file with its passages in the index; a changed one is indexed again. */
export async function lookAtFile(context: FileContext, file: WrittenFile, pause: () => Promise<void>): Promise<void> {
  const { store, clock } = context
  const stamp = await fileStamp(fileAddress(context, file))
  const isSame = stamp !== undefined && isCurrent(file, stamp)
  if (stamp !== undefined && !isSame) {
    const content = await readContent(context, file, stamp)
    for (let isDone = false; !isDone; await pause())
      isDone = await store.write('index', (tx) => passageStep(tx, file, content))
  }
  const now = clock.now()
  const { size, changedAt } = sizeAndTime(file, stamp)
  await store.write('index', (tx) => scheduleCheck(tx, { id: file.id, size, changedAt }, nextLook(changedAt, now)))
}

/** Whether a file has changed on the disk since its passages were indexed; false for a file of another machine. */
export async function isStale(context: Pick<FileContext, 'protect'>, file: WrittenFile): Promise<boolean> {
  const stamp = await fileStamp(fileAddress(context, file))
  return stamp !== undefined && !isCurrent(file, stamp)
}

type FileStamp = { bytes: number; changedAt: Millis } | null

function isCurrent({ size, changedAt }: WrittenFile, stamp: FileStamp): boolean {
  return stamp === null ? size === 0 && changedAt === 0 : stamp.bytes === size && stamp.changedAt === changedAt
}

/** A file that is gone has no size and no time. */
function sizeAndTime(file: WrittenFile, stamp: FileStamp | undefined): Pick<WrittenFile, 'size' | 'changedAt'> {
  if (stamp === undefined) return file
  return { size: stamp?.bytes ?? 0, changedAt: stamp?.changedAt ?? 0 }
}

function nextLook(changedAt: Millis, now: Millis): Millis {
  const age = now - changedAt
  return now + (age < settleTime ? settleTime : Math.min(maxInterval, Math.max(minInterval, Math.round(age / 10))))
}

function fileAddress({ protect }: Pick<FileContext, 'protect'>, { folder, path }: WrittenFile) {
  return { folder, path: relative(folder, path), protect }
}

/** What a file holds now; nothing if it is gone, binary or too large. */
async function readContent(context: FileContext, file: WrittenFile, stamp: FileStamp): Promise<WrittenContent> {
  const now = await fileNow(fileAddress(context, file)).catch(() => undefined)
  const isFile = now?.kind === 'file'
  const hash = isFile ? now.sha256 : 'none'
  const isText = isFile && !now.bytes.subarray(0, sniffed).includes(0)
  const written = await context.store.read((rows) => writerOf(rows, file.path, hash))
  return {
    ...sizeAndTime(file, stamp),
    hash,
    passages: isText ? passagesIn(toStorable(now.bytes.toString())).map(withDigest) : [],
    owner: written?.owner ?? { sessionId: null, principal: ownerText },
    at: written?.at ?? stamp?.changedAt ?? context.clock.now(),
  }
}

/** In whose session a file's content was written; undefined for what no run wrote, which is the owner's. */
async function writerOf(rows: Reading, path: string, hash: string) {
  const change = await changeThatLeft(rows, namesInFolders(path), hash)
  const run = change && change.runId !== null ? await findRun(rows, change.runId) : undefined
  const [session] = run?.sessionId ? await findSessions(rows, { id: run.sessionId }) : []
  const owner = session && ownerIn(session)
  return change && owner && { owner, at: change.at }
}
