import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PlanLine, PlanView } from '../../src/api/views/plan.ts'
import type { RequestAnswer } from '../../src/api/views/question.ts'
import type { Spending } from '../../src/domain/spending.ts'
import type { ProviderLogLine } from '../../src/testing.ts'
import type { Watch } from '../crash/watch.ts'
import { endingOf } from '../testing/mediocre-endings.ts'
import { mostAgents, type Stage } from './stage.ts'

/** What came of one plan. Problems are sentences. */
export interface Outcome {
  kills: number
  planned: number
  ended: number
  /** Tasks that have not ended, and what they wait for. */
  unended: string[]
  /** What was acknowledged or begun and never came to an end. */
  lost: string[]
  /** What happened more than once where once was promised. */
  doubled: string[]
  /** What a person is told and is not so. */
  untrue: string[]
  usage: UsageDifference
  /** The most tasks that asked their model at the same moment. */
  sideBySide: number
}

/** Tokens that the provider told and Heddle does not count as spent. */
export interface UsageDifference {
  tokens: number
  /** Tokens of calls that are told as estimated or lost: `heddle usage` marks the figures with `~`. */
  marked: number
}

/** Runs that died three times without a step in between are ended by the runtime; the task has failed, and says so. */
const quarantined = /processes in a row crashed on this run/

/** How runs of mediocre models may end. */
const ends = ['completed', 'failed:looping', 'failed:nothing_returned', 'failed:no_plan']

/** What was done to a plan, and what whoever asked was told. */
export interface Played {
  kills: number
  accepted: { accepted: string; content: string }[]
  /** What a command that waited for the answer printed. */
  answered: RequestAnswer | undefined
}

/** Looks at what a plan has left, with a person's commands, the provider's log and the crash loop's checker. */
export async function judge(stage: Stage, checker: Watch, { kills, accepted, answered }: Played): Promise<Outcome> {
  const { plans } = await stage.json<{ plans: PlanLine[] }>('plans', '--all')
  const views: PlanView[] = []
  for (const { id } of plans) views.push(await stage.json('plans', `plan:${id}`))
  const tasks = views.flatMap((view) => view.tasks)
  const problems = await checker.judge(writeEvidence(stage, { kills, accepted }))
  const broken = (...ids: string[]) => problems.filter((problem) => ids.includes(problem.split(':')[0] ?? ''))
  const lost = broken('I1', 'I2', 'I4', 'I7', 'I8', 'I10', 'I11')
  return {
    kills,
    planned: tasks.length,
    ended: tasks.filter(isEnded).length,
    unended: tasks.filter((task) => !isEnded(task)).map((task) => whyUnended(task, tasks)),
    lost,
    doubled: problems.filter((problem) => !lost.includes(problem)),
    untrue: [...tasks.flatMap(untruthOf), ...(answered ? views.flatMap((view) => falseAnswer(answered, view)) : [])],
    usage: await usageDifference(stage),
    sideBySide: sideBySide(stage.provider.log, new Set(tasks.flatMap(({ runId }) => runId ?? []))),
  }
}

/** What is wrong with an outcome, in sentences. */
export function complaintsOf({ planned, unended, lost, doubled, untrue, usage, sideBySide }: Outcome): string[] {
  return [
    ...lost,
    ...doubled,
    ...untrue,
    ...(planned === 0 ? ['there is no plan'] : []),
    ...unended,
    ...(isAccounted(usage) ? [] : [unaccounted(usage)]),
    ...(sideBySide > mostAgents ? [`${sideBySide} tasks were at work side by side, and ${mostAgents} may be`] : []),
  ]
}

/** Whether nothing is missing beyond what is marked. */
export function isAccounted({ tokens, marked }: UsageDifference): boolean {
  return tokens >= 0 && tokens <= marked
}

function unaccounted({ tokens, marked }: UsageDifference): string {
  return `${tokens} tokens of the provider's log are neither spent nor marked; ${marked} are marked`
}

type TaskLine = PlanView['tasks'][number]

function isEnded({ status }: TaskLine): boolean {
  return status === 'completed' || status === 'failed'
}

function whyUnended({ id, title, status, dependsOn }: TaskLine, tasks: TaskLine[]): string {
  const held = tasks.filter((task) => dependsOn.includes(task.id)).map((task) => `task:${task.id}: ${task.summary}`)
  return `task:${id} "${title}" is ${status}${held.length > 0 ? `; it needs ${held.join(', ')}` : ''}`
}

function untruthOf({ id, title, status, summary = '' }: TaskLine): string[] {
  const { status: wanted, says } = endingOf(title)
  const isTrue = (status === wanted && says.test(summary)) || (status === 'failed' && quarantined.test(summary))
  return isTrue || status === 'blocked' ? [] : [`task:${id} "${title}" is told as ${status}: ${summary}`]
}

/** Whoever asked must hear that a plan did not complete, whatever its coordinator says. */
function falseAnswer({ ok, error }: RequestAnswer, { id, status, counts }: PlanView): string[] {
  if (ok !== (status === 'completed')) return [`plan:${id} is ${status}, and whoever asked was told ok: ${ok}`]
  if (error?.code !== 'plan_failed') return []
  const isCounted = Object.entries(counts).every(([each, count]) => error.message.includes(`${count} ${each}`))
  return isCounted ? [] : [`plan:${id} has other counts than whoever asked was told: ${error.message}`]
}

async function usageDifference({ json, provider }: Stage): Promise<UsageDifference> {
  const { total } = await json<{ total: Spending }>('usage')
  const told = provider.log.flatMap((line) => (line.kind === 'answered' && line.usage ? [line.usage] : []))
  const answered = told.reduce((sum, { inputTokens, outputTokens }) => sum + inputTokens + outputTokens, 0)
  const { estimatedInputTokens, estimatedOutputTokens, lostInputTokens, lostOutputTokens } = total
  const marked = estimatedInputTokens + estimatedOutputTokens + lostInputTokens + lostOutputTokens
  return { tokens: answered - total.inputTokens - total.outputTokens, marked }
}

/** The most runs of these that had a request under way at one moment. */
function sideBySide(log: readonly ProviderLogLine[], runs: ReadonlySet<string>): number {
  const open = new Map<number, string>()
  let most = 0
  for (const { n, kind, run } of log) {
    const [runId = ''] = run?.split('/') ?? []
    if (kind !== 'received') open.delete(n)
    else if (runs.has(runId)) open.set(n, runId)
    most = Math.max(most, new Set(open.values()).size)
  }
  return most
}

/** Puts down where everything is, for the checker. */
function writeEvidence(
  { directory, homes, database, providerLog }: Stage,
  { kills, accepted }: Pick<Played, 'kills' | 'accepted'>,
): string {
  const [file, toolLog] = [join(directory, 'evidence.json'), join(directory, 'tools.jsonl')]
  writeFileSync(toolLog, '')
  const told = { at: [], silences: kills, isLockTold: false, said: accepted, ends, moments: [] }
  writeFileSync(file, JSON.stringify({ homes, database, providerLog, toolLog, ...told }))
  return file
}
