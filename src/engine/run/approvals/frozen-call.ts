import { hash } from 'node:crypto'
import { relative } from 'node:path'
import { type Approval, type Coverage, describeCoverage, type Fact } from '../../../domain/approval.ts'
import type { Millis } from '../../../domain/clock.ts'
import { isUntrusted, type Label } from '../../../domain/label.ts'
import { escapeInvisible } from '../../../domain/text/visible.ts'
import type { OwnChanges } from '../../../domain/tools/tool.ts'
import { baselineOf } from '../../../store/rows/approvals.ts'
import { changesInFolder } from '../../../store/rows/files/folder-changes.ts'
import { changedSincePreview, coverageOf, previewCall, type ReadyCall } from '../../../tools/call.ts'
import type { ActiveRun } from '../active-run.ts'

/** Max time between the row of a file change and the change itself. */
const maxWriteDelay: Millis = 60_000

/** A call as the user is shown it, with everything that must be unchanged when it is made. */
export interface FrozenCall {
  facts: Fact[]
  change: string
  hash: string
  /** The hash for a second question about the same call. */
  hashAgain: string
  covers: string
  coverage: Coverage
  baseline: string | null
}

/** Freezes a call as it is now, with what had led to it. Throws the error that would refuse the call. */
export async function freezeCall(run: ActiveRun, ready: ReadyCall, label: Label): Promise<FrozenCall> {
  const context = run.contextOf(ready.call.id)
  const { facts, change, frozen, baseline = null } = await previewCall(ready, context)
  const coverage = await coverageOf(ready, context)
  const [hash, hashAgain] = [false, true].map((isAskedAgain) =>
    hashOfCall(ready.call, run.claimed.session.folder, frozen, { isAskedAgain, label }),
  ) as [string, string]
  return { facts, change, hash, hashAgain, covers: escapeInvisible(describeCoverage(coverage)), coverage, baseline }
}

/**
 * Hash of a call, its folder and the state it depends on. Of a call that untrusted content led to, the sources are part of
 * it: a yes is for them, too. Differs for a second question.
 */
export function hashOfCall(
  { name, input }: { name: string; input: unknown },
  folder: string,
  frozen: unknown,
  { isAskedAgain, label }: Pick<Approval, 'isAskedAgain' | 'label'>,
): string {
  const sources = isUntrusted(label) ? [{ sources: label.sources }] : []
  const all = [name, input, folder, frozen, ...sources, ...(isAskedAgain ? ['again'] : [])]
  return hash('sha256', JSON.stringify(all))
}

/** Compares a call with its approval: changes, one line each, and the call as it is now. */
export async function changesSinceApproval(
  run: ActiveRun,
  ready: ReadyCall,
  approval: Approval,
): Promise<{ changed: string[]; now: FrozenCall }> {
  const { store } = run.engine
  // Freeze before comparing: a change in between is then seen by one of the two.
  // What the run has read since did not lead to this call.
  const now = await freezeCall(run, ready, approval.label)
  const hash = approval.isAskedAgain ? now.hashAgain : now.hash
  const changed = hash === approval.hash ? [] : ['what it would do, or where']
  const baseline = dependsOnFolder(ready) ? await store.read((rows) => baselineOf(rows, approval.id)) : null
  if (baseline !== null) {
    const own = await ownChanges(run, now.coverage.folder, approval.askedAt)
    changed.push(...(await changedSincePreview(ready, baseline, run.contextOf(ready.call.id), own)))
  }
  return { changed, now }
}

/** Whether a call is compared with the folder's files as they were when it was approved. */
export function dependsOnFolder({ tool }: ReadyCall): boolean {
  return tool.effect !== 'transactional' && tool.changedSince !== undefined
}

/** Files that this request itself has changed in a folder since then. */
async function ownChanges({ engine, claimed }: ActiveRun, folder: string, since: Millis): Promise<OwnChanges> {
  const all = await engine.store.read((rows) => changesInFolder(rows, folder, since - maxWriteDelay))
  const own = new Map<string, string[] | null>()
  for (const { rootRunId, path, after, at } of all) {
    if (rootRunId !== claimed.run.rootRunId || path === undefined) continue
    const name = relative(folder, path)
    const known = own.get(name)
    if (typeof after === 'string' && known !== null) own.set(name, [...(known ?? []), after])
    // No hash is known for files that a command changed.
    if (after === undefined && at !== null && at >= since) own.set(name, null)
  }
  return Object.fromEntries(own)
}
