import { relative } from 'node:path'
import { type Coverage, type Fact, type Grant, lapses } from '../domain/approval.ts'
import { tail } from '../domain/id.ts'
import type { Persona } from '../domain/persona.ts'
import type { Run } from '../domain/run.ts'
import { visible } from '../domain/visible.ts'
import { grantsFor } from '../store/approvals.ts'
import { changesIn, type FolderChange } from '../store/folder-changes.ts'
import { findRun } from '../store/runs.ts'
import type { Reading } from '../store/store.ts'
import type { ActiveRun } from './active-run.ts'

/** A grant that covers a call no longer, and why. */
export interface Lapsed {
  id: number
  why: string
}

/** Whether a call is covered by what somebody has granted; what has lapsed meanwhile is told in the next question. */
export interface Granted {
  isGranted: boolean
  lapsed: Lapsed[]
}

/**
 * Looks for a grant: of the person's session, which every agent of its requests has, or of this agent in this folder. One
 * for commands that no sandbox bounds ends with the first change that a run makes in the folder: what is run would be
 * something that nobody saw.
 */
export function grantFor({ engine, claimed }: ActiveRun, covered: Coverage): Promise<Granted> {
  const { run, session, persona } = claimed
  return engine.store.read(async (rows) => {
    const root = await findRun(rows, run.rootRunId)
    const sessionIds = [session.id, ...(root?.sessionId ? [root.sessionId] : [])]
    const agent = agentOf(run, persona?.id ?? null)
    const isTheirs = (grant: Grant) =>
      grant.scope === 'session'
        ? sessionIds.includes(grant.sessionId ?? '')
        : grant.agent === agent && grant.folder === covered.folder
    const lapsed: Lapsed[] = []
    for (const grant of (await grantsFor(rows, covered)).filter(isTheirs)) {
      const why = lapses(grant) ? await whyLapsed(rows, grant) : undefined
      if (why === undefined) return { isGranted: true, lapsed: [] }
      lapsed.push({ id: grant.id, why })
    }
    return { isGranted: false, lapsed }
  })
}

export function lapsedFact({ id, why }: Lapsed): Fact {
  return { name: 'lapsed', value: `your grant ${id}: ${why}` }
}

/** The name under which an agent is granted something. */
export function agentOf(run: Pick<Run, 'agent' | 'parentRunId'>, personaId: Persona['id'] | null): string {
  const [first, second] = run.parentRunId === null ? [personaId, run.agent] : [run.agent, personaId]
  return first ?? second ?? 'general'
}

async function whyLapsed(rows: Reading, grant: Grant): Promise<string | undefined> {
  const { folder, createdAt } = grant
  const changes = await changesIn(rows, folder, createdAt)
  const [first, ...others] = changes.filter(({ by }) => by === undefined || !isCommandOf(grant, by))
  if (!first) return undefined
  const what = first.path === undefined ? 'may have changed files' : `changed ${visible(relative(folder, first.path))}`
  return `run:${tail(first.runId)} ${what}${others.length > 0 ? ` and ${others.length} more` : ''}`
}

/** A command can do in its first run whatever it does in later ones with what it left behind. */
function isCommandOf(grant: Grant, { cwd, pattern, confinement }: NonNullable<FolderChange['by']>): boolean {
  return grant.cwd === cwd && grant.pattern === pattern && grant.confinement === confinement
}
