import { relative } from 'node:path'
import { type Coverage, type Fact, type Grant, lapses } from '../../../domain/approval.ts'
import { shortId } from '../../../domain/id.ts'
import type { Persona } from '../../../domain/persona.ts'
import type { Run } from '../../../domain/run.ts'
import { escapeInvisible } from '../../../domain/text/visible.ts'
import { grantsFor } from '../../../store/rows/approvals.ts'
import { changesInFolder, type FolderChange } from '../../../store/rows/files/folder-changes.ts'
import { findRun } from '../../../store/rows/runs.ts'
import type { Reading } from '../../../store/store.ts'
import type { ActiveRun } from '../active-run.ts'

/** A grant that no longer holds, and why. */
export interface LapsedGrant {
  id: number
  why: string
}

/** Whether a grant covers a call. Lapsed grants are named in the next question. */
interface GrantCheck {
  isGranted: boolean
  lapsed: LapsedGrant[]
}

/**
 * Looks for a grant of the user's session, which holds for all agents of its requests, or of this agent in this folder. A
 * grant for commands without a sandbox lapses with the first change that a run makes in the folder, since the command
 * would run files that the user has not seen. `mustShowSources`: untrusted content led to a call that reaches a sink, which
 * only a grant covers that was given for such a call. One that lapses is for one exact command, and ends with the first
 * change that a run makes: that content has no say in what the command does.
 */
export function grantFor(
  { engine, claimed }: ActiveRun,
  covered: Coverage,
  { mustShowSources }: { mustShowSources: boolean },
): Promise<GrantCheck> {
  const { run, session, actor } = claimed
  return engine.store.read(async (rows) => {
    const root = run.rootRunId === run.id ? run : await findRun(rows, run.rootRunId)
    const sessionIds = [session.id, ...(root?.sessionId ? [root.sessionId] : [])]
    const agent = agentOf(run, actor.persona?.id ?? null)
    const applies = (grant: Grant) =>
      (grant.showedSources || !mustShowSources || lapses(covered)) &&
      (grant.scope === 'session'
        ? sessionIds.includes(grant.sessionId ?? '')
        : grant.agent === agent && grant.folder === covered.folder)
    const lapsed: LapsedGrant[] = []
    for (const grant of (await grantsFor(rows, covered)).filter(applies)) {
      const why = lapses(grant) ? await lapseReason(rows, grant) : undefined
      if (why === undefined) return { isGranted: true, lapsed: [] }
      lapsed.push({ id: grant.id, why })
    }
    return { isGranted: false, lapsed }
  })
}

export function lapsedFact({ id, why }: LapsedGrant): Fact {
  return { name: 'lapsed', value: `your grant ${id}: ${why}` }
}

/** The agent name that a grant is stored under. */
export function agentOf(run: Pick<Run, 'agent' | 'parentRunId'>, personaId: Persona['id'] | null): string {
  const [first, second] = run.parentRunId === null ? [personaId, run.agent] : [run.agent, personaId]
  return first ?? second ?? 'general'
}

async function lapseReason(rows: Reading, grant: Grant): Promise<string | undefined> {
  const { folder, createdAt } = grant
  const changes = await changesInFolder(rows, folder, createdAt)
  const [first, ...others] = changes.filter(({ by }) => by === undefined || !isCommandOf(grant, by))
  if (!first) return undefined
  const what =
    first.path === undefined ? 'may have changed files' : `changed ${escapeInvisible(relative(folder, first.path))}`
  return `run:${shortId(first.runId)} ${what}${others.length > 0 ? ` and ${others.length} more` : ''}`
}

/** Changes by the granted command itself do not end its grant: its first execution was already free to do all of this. */
function isCommandOf(grant: Grant, { cwd, pattern, confinement }: NonNullable<FolderChange['by']>): boolean {
  return grant.cwd === cwd && grant.pattern === pattern && grant.confinement === confinement
}
