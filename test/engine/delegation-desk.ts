import type { ProfileValue } from '../../src/domain/profiles/profile.ts'
import type { Run } from '../../src/domain/run.ts'
import type { ClaimedRun } from '../../src/engine/run/claimed-run.ts'
import { executeRun } from '../../src/engine/run/loop.ts'
import { submit } from '../../src/engine/run/submit.ts'
import { insertOwner } from '../../src/store/rows/owners.ts'
import { viewOfClaimant } from '../../src/store/rows/queue.ts'
import { requeueRun } from '../../src/store/rows/released-runs.ts'
import { runsOf } from '../../src/store/rows/runs.ts'
import { readSteps } from '../../src/store/rows/steps.ts'
import { type ScriptedModel, scriptedModel } from '../../src/testing.ts'
import type { Database } from '../setup/places.ts'
import { claimNext } from './claim-next.ts'
import { type EntryDraft, register, writeProfile } from './policies.ts'
import { agentNamed, newOffice, type Office, type OfficeOptions, type Play, saidIn, whoIs } from './test-team.ts'

/** Profile of the registered agent `@poet`, which has no file. */
export const profileId = 'profile:poet:v1'

/** An office with a registered agent and the models `main`, the default, `small` and `big`. */
export function delegationDesk(database: Database) {
  let office: Office
  const files = [
    agentNamed('writer', { tools: ['read_file', 'write_file'] }),
    agentNamed('rhymes', { tools: ['search_files'] }),
    agentNamed('shell', { tools: ['exec', 'write_file'], ask: ['exec'] }),
  ]
  let small: ScriptedModel
  const big = () => scriptedModel(() => ({ text: 'from big' }), { name: 'big' })
  const plays: Record<string, Play> = {}
  const reply = (request: Parameters<typeof whoIs>[0] & Parameters<typeof saidIn>[0]) => {
    const said = saidIn(request)
    return plays[whoIs(request)]?.(said, said.at(-1) ?? '', request as never) ?? { text: `from ${whoIs(request)}` }
  }
  /** Calls `delegate` with this once, and then repeats what it is told. */
  const delegating =
    (input: object): Play =>
    (_, last) =>
      last === 'go' ? { calls: [{ name: 'delegate', input }] } : { text: `Told: ${last}` }

  async function open(
    input: object,
    {
      entry = {},
      profile = {},
      ...options
    }: OfficeOptions & { entry?: EntryDraft; profile?: Partial<ProfileValue> } = {},
  ) {
    small = scriptedModel((request) => reply(request), { name: 'small' })
    const never = big()
    const main = scriptedModel(
      (request) =>
        whoIs(request) === 'coordinator'
          ? delegating(input)(saidIn(request), saidIn(request).at(-1) ?? '', request)
          : reply(request),
      { name: 'main' },
    )
    office = await newOffice(database, {}, { agents: files, model: main, others: [small, never], ...options })
    await writeProfile(office.engine, profileId, { model: {}, ...profile })
    await register(office.engine, { agentId: '@poet', profileId, ...entry })
    return never
  }
  const answerOf = async (runId: string | null) => {
    const steps = await office.engine.store.read((rows) => readSteps(rows, runId ?? ''))
    const ended = steps.find(({ kind }) => kind === 'ended')?.payload as { output: Record<string, unknown> } | undefined
    return ended?.output
  }
  const childOf = (runId: string | null): Promise<Run> =>
    office.until(async (rows) =>
      (await runsOf(rows, { rootRunId: runId ?? '' })).find(
        ({ depth, finishedAt }) => depth === 1 && finishedAt !== null,
      ),
    )
  /** Asks, and waits for the delegated run. */
  const go = async (more: Parameters<Office['ask']>[1] = {}) => {
    const { runId } = await office.ask('go', more)
    return { answer: await answerOf(runId), child: await childOf(runId) }
  }
  const requestsTo = (who: string) => [
    ...office.requestsOf(who),
    ...small.requests.filter((each) => whoIs(each) === who),
  ]

  /** Executes the next run of this input without any other work going on. */
  async function executeNext(content: string): Promise<string> {
    const { runId } = await submit(office.engine, { folder: office.folder, label: 'main', content })
    const claimed = await claim()
    await executeRun(office.engine, claimed, {
      ...{
        signal: new AbortController().signal,
        leaseAtRisk: () => false,
        claimant: () => undefined,
        start: () => undefined,
      },
    })
    return runId ?? ''
  }
  async function claim(): Promise<ClaimedRun> {
    await office.engine.store.write('claim', async (tx) => {
      if (!(await viewOfClaimant(tx, 'claimer')))
        await insertOwner(tx, { id: 'claimer', pid: 1, startedAt: 1, beatAt: 1 })
    })
    const claimed = await claimNext(office.engine, { workerId: 'claimer' })
    if (!claimed) throw new Error('nothing is queued')
    return claimed
  }
  const requeue = (runId: string | null) => office.engine.store.write('step', (tx) => requeueRun(tx, runId ?? ''))
  return {
    get office() {
      return office
    },
    ...{ files, plays, delegating, open, answerOf, childOf, go, requestsTo, executeNext, claim, requeue },
  }
}
